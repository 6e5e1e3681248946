#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clock of each block of the unit alone on an ECP5-85F: what bounds the clock of the whole.

    tools/block_clocks.py [--config NAME] [--grade N] [--seed N] [--only BLOCK]... [--paths]
                          [--timeout SECONDS]

A block is an instance inside tpt_top, with the parameters it has there. Its inputs come from
registers and its outputs go into registers, so what is measured is the slowest path inside it, with
a chip that is empty but for it: the unit as a whole is not faster than its slowest block. Without
place and route of the whole that takes minutes, not hours. With --paths the cells and nets of each
slowest path are listed. Figures go to build/fmax/NAME-blocks-alone.json.
"""

import argparse
import json
import re

import common
import fmax
import synth
from common import ROOT, ToolError
from fmax import OUT

# What is measured: the path of an instance under tpt_top.u_core, the first of several alike.
BLOCKS = {
    "tpt_client": "g_client[0].u_client",
    "tpt_client_tags": "g_client[0].u_client.u_tags",
    "tpt_page_split": "g_client[0].u_client.u_split",
    "tpt_mpt_lookup": "g_lane[0].u_mpt",
    "tpt_cache (MPT)": "g_lane[0].u_mpt.u_cache",
    "tpt_key_dec": "g_lane[0].u_mpt.u_key_dec",
    "tpt_mpt_check": "g_lane[0].u_check",
    "tpt_mtt_walker": "g_lane[0].u_walker",
    "tpt_cache (MTT)": "g_lane[0].u_walker.u_cache",
    "tpt_page_fault": "g_lane[0].u_walker.g_faults.u_slots",
    "tpt_reg_engine": "u_engine",
    "tpt_key_gen": "u_engine.u_key_gen",
    "tpt_fence": "u_fence",
    "tpt_axi_rd": "u_axi_rd",
    "tpt_axi_wr": "u_axi_wr",
    "tpt_csr": "u_csr",
    "tpt_cmd_queue": "g_cmd_queue.u_queue",
}
PORT = re.compile(r"(input|output) (\[\d+:0\]) (\w+)")


def ports(text):
    """Ports from what Yosys' `portlist` prints: (direction, range, name)."""
    found = []
    for line in text.strip().splitlines()[1:-1]:
        match = PORT.fullmatch(line.strip())
        if not match:
            raise ToolError(f"a port that cannot be read: {line!r}; expected `input [3:0] name`")
        found.append(match.groups())
    if "clk_i" not in {name for _, _, name in found}:
        raise ToolError("a block without clk_i: there is no clock to measure")
    return found


def slowest(report):
    """The slowest path between registers that nextpnr reports, as lines."""
    clocked = [path for path in report["critical_paths"]
               if path["from"].startswith("posedge") and path["to"].startswith("posedge")]
    lines = []
    for step in max(clocked, key=lambda path: sum(step["delay"] for step in path["path"]))["path"]:
        where = step["to"] if step["type"] == "routing" else step["from"]
        lines.append(f"{step['delay']:6.2f} ns {step['type']:9} "
                     f"{where['cell']}.{where['port']} {step.get('net', '')}")
    return lines


def measure(block, parts, args):
    """One block: its row, and its slowest path."""
    rtlil, modules = parts
    path = f"tpt_top.u_core.{BLOCKS[block]}"
    module = next((name for name in modules if name.split("$", 1)[-1] == path), None)
    if module is None:
        return None
    name = f"{args.config}-{re.sub('[^a-z0-9_]+', '-', block.lower()).strip('-')}"
    here = OUT.relative_to(ROOT)

    def yosys(script, what):
        fmax.yosys(script, OUT / f"{name}-{what}.log", args.timeout, f"{block}: {what}")

    yosys(f"read_rtlil {rtlil}; tee -q -o {here}/{name}-ports.txt portlist \\{module}", "ports")
    found = ports((OUT / f"{name}-ports.txt").read_text())
    (OUT / f"{name}.sv").write_text(fmax.enclosed("alone", ("", ()), found,
                                                  f"\\{module} u_block"))
    yosys(f"read_rtlil {rtlil}; read_verilog -sv {here}/{name}.sv; hierarchy -check -top alone; "
          f"synth_ecp5 -top alone -json {here}/{name}-netlist.json; "
          f"tee -q -o {here}/{name}-stat.json stat -json", "synthesis")
    cells = dict(synth.summary(json.loads((OUT / f"{name}-stat.json").read_text())))
    report = fmax.place_and_route(f"{here}/{name}", name, args.grade, args, block)
    (OUT / f"{name}-netlist.json").unlink()
    return {"block": block, "MHz": round(fmax.clock_of(report), 1), "LUT4": cells["LUT4"],
            "path": slowest(report)}


def main():
    """Measures and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--config", default="small", metavar="NAME")
    parser.add_argument("--grade", type=int, default=6, choices=(6, 7, 8))
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--only", action="append", metavar="BLOCK")
    parser.add_argument("--paths", action="store_true", help="list the slowest path of each")
    parser.add_argument("--timeout", type=int, default=1800, metavar="SECONDS",
                        help="of each step")
    args = parser.parse_args()
    parameters = common.configuration(args.config)
    for block in args.only or []:
        if block not in BLOCKS:
            raise ToolError(f"there is no block {block}; there are {', '.join(BLOCKS)}")
    OUT.mkdir(parents=True, exist_ok=True)
    here = OUT.relative_to(ROOT)
    sets = " ".join(f"-G {key}={value}" for key, value in parameters.items())
    rtlil = f"{here}/{args.config}.il"
    fmax.yosys(f"read_slang --threads 1 -D SYNTHESIS -I rtl --keep-hierarchy --top tpt_top {sets} "
               f"{' '.join(common.file_list())}; proc; opt_clean; write_rtlil {rtlil}; "
               f"tee -q -o {here}/{args.config}-modules.txt ls",
               OUT / f"{args.config}-modules.log", args.timeout, "elaboration")
    modules = (OUT / f"{args.config}-modules.txt").read_text().split()
    rows = []
    for block in args.only or BLOCKS:
        row = measure(block, (rtlil, modules), args)
        if row is None:
            print(f"{block}: not in this configuration", flush=True)
            continue
        rows.append(row)
        print(f"{block}: {row['MHz']} MHz", flush=True)
        if args.paths:
            print("\n".join(row["path"]), flush=True)
        del row["path"]
    if not rows:
        raise ToolError("no block of these is in this configuration")
    (OUT / f"{args.config}-blocks-alone.json").write_text(json.dumps(
        {"config": args.config, "grade": args.grade, "seed": args.seed, "blocks": rows},
        indent=2) + "\n")
    rows.sort(key=lambda row: row["MHz"])
    print("\n" + common.table([[row["block"], f"{row['MHz']:.1f}", row["LUT4"]] for row in rows],
                              ["block alone, with its wrapper", f"MHz, grade {args.grade}",
                               "LUT4"]))
    return 0


if __name__ == "__main__":
    common.program(main)
