#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs all tests: the tools' own and those of every crate, and adds up the counts.

The last line is `N passed, N failed`. A test binary that dies or does not compile counts as a
failure. The output goes to the terminal as it comes.

    tools/run_tests.py [--timeout SECONDS] [-- ARGUMENTS OF CARGO TEST]
"""

import argparse
import os
import re
import sys

import common

RESULT = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", re.M)
RUNNING = re.compile(r"^\s+(?:Running|Doc-tests) (.*)$", re.M)


def count_cargo(output):
    """[(name, passed, failed, ignored)] of the test binaries in the output of `cargo test`."""
    rows = []
    places = [(m.start(), m[1]) for m in RUNNING.finditer(output)]
    for index, (start, name) in enumerate(places):
        end = places[index + 1][0] if index + 1 < len(places) else len(output)
        found = RESULT.search(output, start, end)
        name = re.sub(r" \(.*", "", name)
        crate = re.search(r"\(.*/([\w-]+)-[0-9a-f]{16}\)", places[index][1])
        label = f"{crate[1].replace('_', '-')}: {name}" if crate else f"{name} (doc)"
        rows.append((label, *map(int, found.groups())) if found else (label, 0, 1, 0))
    return rows


def cargo_tests(extra, timeout):
    """Runs `cargo test`; returns its rows."""
    command = [os.environ.get("CARGO", "cargo"), "test", "--release", "--workspace",
               "--no-fail-fast", *extra]
    result = common.run(command, timeout=timeout, echo=True, heartbeat=lambda seconds, line: print(
        f"run_tests: {seconds:.0f} s, last line: {line}", flush=True))
    rows = count_cargo(result.output)
    failed = sum(row[2] for row in rows)
    if result.code is None:
        rows.append((f"cargo test did not end within {timeout} s", 0, 1, 0))
    elif result.code != 0 and not failed:
        rows.append((f"cargo test ended with exit code {result.code}", 0, 1, 0))
    elif not rows:
        rows.append(("cargo test ran no test", 0, 1, 0))
    return rows


def tool_tests():
    """Runs the tests of tools/."""
    command = [sys.executable, "-m", "unittest", "discover", "-v", "-s", "tools/tests"]
    result = common.run(command, timeout=300, echo=True)
    ran = re.search(r"^Ran (\d+) tests?", result.output, re.M)
    if result.code is None or not ran or int(ran[1]) == 0:
        return [("tools", 0, 1, 0)]
    bad = sum(int(n) for n in re.findall(r"(?:failures|errors)=(\d+)", result.output))
    if result.code != 0 and bad == 0:
        bad = 1
    return [("tools", int(ran[1]) - bad, bad, 0)]


def main():
    """Runs both and prints the sum."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--timeout", type=int, default=1800, metavar="SECONDS")
    parser.add_argument("extra", nargs="*", help="arguments of cargo test")
    args = parser.parse_args()
    rows = tool_tests() + cargo_tests(args.extra, args.timeout)
    print("\n" + common.table(rows, ["tests", "passed", "failed", "ignored"]) + "\n")
    passed, failed, ignored = (sum(row[i] for row in rows) for i in (1, 2, 3))
    if ignored:
        print(f"{ignored} tests are ignored; none may be")
        failed += ignored
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    common.program(main)
