#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Everything that a change must pass, one step after the other.

Each step has a time limit, and says every minute that it is still running and what it printed
last, so that a hang shows its place. The output of each step is kept in build/ci/. Steps that keep
one processor busy for long run beside the others; what they printed comes when they end. The last
line is `N passed, N failed`: every test counts as one, and so does every other step.

    tools/ci.py [--only STEP]... [--list]
"""

import argparse
import os
import re
import sys
import threading
import time

import common
from common import BUILD

CARGO = os.environ.get("CARGO", "cargo")
PY = sys.executable
COUNT = re.compile(r"^(\d+) passed, (\d+) failed$", re.M)


class Step:
    """A step: name, command, time limit in seconds, extra environment; may it run beside others?"""

    def __init__(self, name, command, timeout, beside=False, **env):
        self.name, self.command, self.timeout, self.env = name, command, timeout, env
        self.beside = beside


STEPS = [
    Step("format", ["make", "--no-print-directory", "fmt-check"], 120),
    Step("licence", [PY, "tools/licence.py"], 300),
    Step("pages", [PY, "tools/check_docs.py"], 120),
    Step("test plan", [PY, "tools/testplan.py", "--check"], 60),
    Step("proofs", [PY, "tools/formal.py", "--check"], 60),
    Step("equivalences", [PY, "tools/equiv.py", "--check"], 60),
    Step("coverage page", [PY, "tools/coverage.py", "--check"], 60),
    Step("registers", [PY, "tools/gen_csr.py", "--check"], 120),
    Step("queue header", [PY, "tools/gen_queue.py", "--check"], 60),
    Step("tables", [PY, "tools/gen_formats.py", "--check"], 60),
    Step("link", [PY, "tools/gen_link.py", "--check"], 60),
    Step("drawings", [PY, "tools/draw.py", "--check"], 60),
    Step("plots", [PY, "tools/plot.py", "--check"], 60),
    Step("packages", [PY, "tools/gen_packages.py", "--check"], 60),
    Step("ip-xact", [PY, "tools/ipxact.py", "--check"], 300),
    Step("vivado scripts", [PY, "tools/amd_check.py"], 120),
    Step("rtl lint", [PY, "tools/lint.py"], 900),
    # The tools of chips use neither cargo's folder nor what it builds.
    Step("bitstream", [PY, "tools/bitstream.py", "--board", "ulx3s", "--smoke"], 1500,
         beside=True),
    Step("synthesis", [PY, "tools/synth.py", "--config", "small"], 900, beside=True),
    Step("portability", [PY, "tools/route.py", "xcup", "--timeout", "900"], 1000, beside=True),
    Step("fusesoc", [PY, "tools/package_build.py", "--only", "fusesoc"], 300, beside=True),
    Step("formal", [PY, "tools/formal.py", "--quick"], 900, beside=True),
    Step("block RAM model", [PY, "tools/gate_ram.py"], 400, beside=True),
    Step("build", [CARGO, "build", "--release", "--workspace", "--locked"], 1800),
    Step("test", [PY, "tools/run_tests.py", "--timeout", "1500"], 1600),
    Step("run", ["make", "--no-print-directory", "run"], 600),
    Step("board", ["make", "--no-print-directory", "board-sim"], 300),
    Step("faults", ["make", "--no-print-directory", "faults-quick"], 300),
    Step("pythia", ["make", "--no-print-directory", "pythia-quick"], 300),
    Step("bench", ["make", "--no-print-directory", "bench-quick"], 180),
    # These two need no models.
    Step("clippy", ["make", "--no-print-directory", "clippy"], 900, TPT_CONFIGS="small",
         TPT_CHECK="1"),
    Step("api docs", [CARGO, "doc", "--release", "--workspace", "--no-deps"], 600,
         RUSTDOCFLAGS="-D warnings", TPT_CONFIGS="small", TPT_CHECK="1"),
    Step("bender", [PY, "tools/package_build.py", "--only", "bender"], 900),
    Step("equivalence", [PY, "tools/equiv.py", "--quick"], 1200),
    Step("mutants", [PY, "tools/mutants.py", "--sample", "1", "--seed", "1"], 1500),
]


def run_step(step):
    """Runs one step; returns (passed, failed, seconds, text)."""
    print(f"\n=== {step.name}: {' '.join(step.command)} (at most {step.timeout} s)", flush=True)
    log = BUILD / "ci" / (step.name.replace(" ", "-") + ".log")
    result = common.run(
        step.command, step.timeout, env=common.environment(**step.env), log=log,
        echo=not step.beside,
        heartbeat=lambda seconds, line: print(
            f"=== {step.name}: still running after {seconds:.0f} s; last line: {line[:120]}",
            flush=True))
    if step.beside:
        print(f"\n=== {step.name} ended; the end of what it printed:\n{result.output[-3000:]}",
              flush=True)
    if result.code is None:
        return 0, 1, result.seconds, f"stopped after {step.timeout} s"
    counts = COUNT.findall(result.output)
    if step.name == "test" and counts:
        passed, failed = map(int, counts[-1])
        if result.code != 0 and failed == 0:
            failed = 1
        return passed, failed, result.seconds, f"{passed} passed, {failed} failed"
    if result.code != 0:
        return 0, 1, result.seconds, f"exit code {result.code}"
    return 1, 0, result.seconds, "ok"


def main():
    """Runs the steps and prints the table and the sum."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", action="append", metavar="STEP")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    names = [step.name for step in STEPS]
    if args.list:
        print("\n".join(names))
        return 0
    for name in args.only or []:
        if name not in names:
            sys.exit(f"ci: there is no step {name}; there are: {', '.join(names)}")
    (BUILD / "ci").mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    steps = [step for step in STEPS if not args.only or step.name in args.only]
    results = {}

    def run_all(these):
        for step in these:
            results[step.name] = run_step(step)
            _, _, seconds, text = results[step.name]
            print(f"=== {step.name}: {text}, {seconds:.0f} s", flush=True)

    first = next((n for n, step in enumerate(steps) if step.beside), len(steps))
    run_all(steps[:first])
    lane = threading.Thread(
        target=run_all, args=([step for step in steps if step.beside],), daemon=True)
    lane.start()
    run_all([step for step in steps[first:] if not step.beside])
    lane.join()
    # A step without a result is one whose lane broke.
    lost = (0, 1, 0, "did not run")
    rows, passed, failed = [], 0, 0
    for step in steps:
        good, bad, seconds, text = results.get(step.name, lost)
        passed, failed = passed + good, failed + bad
        rows.append((step.name, text, f"{seconds:.0f}"))
    print("\n" + common.table(rows, ["step", "result", "seconds"]))
    print(f"\ntotal: {time.monotonic() - start:.0f} s\n")
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    common.program(main)
