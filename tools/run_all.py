#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `make run` shows: the textbook scenario, recorded programs, recorded verdicts, the textbook
numbers. Prints every report; the last line is `mismatches: N`, the sum over all of them.

    tools/run_all.py --tpt PROGRAM --config NAME --scenario FILE --traces FILE... --verdicts FILE...
"""

import argparse
import re

import common

FINDINGS = re.compile(r"^\s*(?:mismatches:\s*(\d+)|replayed: .*disagreed:\s*(\d+))\s*$", re.M)


def findings(output):
    """Sum of the last mismatch count of a report and of every `disagreed` count; None if none."""
    found = FINDINGS.findall(output)
    mismatches = [int(a) for a, _ in found if a]
    disagreed = [int(b) for _, b in found if b]
    if not mismatches and not disagreed:
        return None
    return (mismatches[-1] if mismatches else 0) + (disagreed[-1] if disagreed else 0)


def show(title, command, timeout):
    """Runs one part; returns (title, text, mismatches)."""
    print(f"\n======== {title}\n$ {' '.join(command)}\n", flush=True)
    result = common.run(command, timeout=timeout, echo=True, heartbeat=lambda seconds, line: print(
        f"({title}: {seconds:.0f} s, still running)", flush=True))
    count = findings(result.output)
    if result.code is None:
        return title, f"stopped after {timeout} s", max(count or 0, 1), result.seconds
    if result.code != 0:
        return title, f"exit code {result.code}", max(count or 0, 1), result.seconds
    if count is None:
        return title, "no count in the report", 1, result.seconds
    return title, "ok" if count == 0 else "mismatches", count, result.seconds


def main():
    """Runs the parts."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tpt", required=True)
    parser.add_argument("--config", default="default")
    parser.add_argument("--scenario", required=True)
    parser.add_argument("--traces", nargs="+", required=True)
    parser.add_argument("--verdicts", nargs="+", required=True)
    args = parser.parse_args()
    replay = [args.tpt, "replay", "--config", args.config]
    parts = [
        ("scenario of the source text", [args.tpt, "run", args.scenario], 600),
        ("recorded programs", [*replay, *args.traces], 600),
        ("recorded verdicts", [*replay, *args.verdicts], 600),
        ("textbook numbers and boundaries", [args.tpt, "textbook", "--config", args.config], 600),
    ]
    rows = [show(*part) for part in parts]
    total = sum(row[2] for row in rows)
    print("\n======== summary\n")
    print(common.table([(title, text, count, f"{seconds:.1f}")
                        for title, text, count, seconds in rows],
                       ["part", "result", "mismatches", "seconds"]))
    print(f"\nmismatches: {total}", flush=True)
    return 1 if total else 0


if __name__ == "__main__":
    common.program(main)
