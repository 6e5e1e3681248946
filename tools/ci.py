#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Everything that a change must pass, one step after the other.

Each step has a time limit, and says every minute that it is still running and what it printed
last, so that a hang shows its place. The output of each step is kept in build/ci/. The last line
is `N passed, N failed`: every test counts as one, and so does every other step.

    tools/ci.py [--only STEP]... [--list]
"""

import argparse
import os
import re
import sys
import time

import common
from common import BUILD

CARGO = os.environ.get("CARGO", "cargo")
PY = sys.executable
COUNT = re.compile(r"^(\d+) passed, (\d+) failed$", re.M)


class Step:
    """A step: name, command, time limit in seconds, extra environment."""

    def __init__(self, name, command, timeout, **env):
        self.name, self.command, self.timeout, self.env = name, command, timeout, env


STEPS = [
    Step("format", [CARGO, "fmt", "--all", "--", "--check"], 120),
    Step("licence", [PY, "tools/licence.py"], 300),
    Step("pages", [PY, "tools/check_docs.py"], 120),
    Step("test plan", [PY, "tools/testplan.py", "--check"], 60),
    Step("registers", [PY, "tools/gen_csr.py", "--check"], 120),
    Step("queue header", [PY, "tools/gen_queue.py", "--check"], 60),
    Step("tables", [PY, "tools/gen_formats.py", "--check"], 60),
    Step("drawings", [PY, "tools/draw.py", "--check"], 60),
    Step("plots", [PY, "tools/plot.py", "--check"], 60),
    Step("rtl lint", [PY, "tools/lint.py"], 900),
    Step("formal", [PY, "tools/formal.py", "--quick"], 900),
    Step("build", [CARGO, "build", "--release", "--workspace", "--locked"], 1500),
    Step("test", [PY, "tools/run_tests.py", "--timeout", "1500"], 1600),
    Step("run", ["make", "--no-print-directory", "run"], 600),
    Step("faults", ["make", "--no-print-directory", "faults-quick"], 300),
    Step("bench", ["make", "--no-print-directory", "bench-quick"], 180),
    # These two build the models anew, in a profile of their own: one is enough.
    Step("clippy", [CARGO, "clippy", "--release", "--workspace", "--all-targets", "--",
                    "-D", "warnings"], 600, TPT_CONFIGS="small"),
    Step("api docs", [CARGO, "doc", "--release", "--workspace", "--no-deps"], 600,
         RUSTDOCFLAGS="-D warnings", TPT_CONFIGS="small"),
    Step("synthesis", [PY, "tools/synth.py", "--config", "small"], 900),
    Step("mutants", [PY, "tools/mutants.py", "--sample", "3", "--seed", "1"], 1500),
]


def run_step(step):
    """Runs one step; returns (passed, failed, seconds, text)."""
    print(f"\n=== {step.name}: {' '.join(step.command)} (at most {step.timeout} s)", flush=True)
    log = BUILD / "ci" / (step.name.replace(" ", "-") + ".log")
    result = common.run(
        step.command, step.timeout, env=common.environment(**step.env), log=log, echo=True,
        heartbeat=lambda seconds, line: print(
            f"=== {step.name}: still running after {seconds:.0f} s; last line: {line[:120]}",
            flush=True))
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
    rows, passed, failed = [], 0, 0
    for step in STEPS:
        if args.only and step.name not in args.only:
            continue
        good, bad, seconds, text = run_step(step)
        passed, failed = passed + good, failed + bad
        rows.append((step.name, text, f"{seconds:.0f}"))
        print(f"=== {step.name}: {text}, {seconds:.0f} s", flush=True)
    print("\n" + common.table(rows, ["step", "result", "seconds"]))
    print(f"\ntotal: {time.monotonic() - start:.0f} s\n")
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    common.end_cleanly()
    sys.exit(main())
