#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes everything that follows from the registers' description rtl/tpt_csr.rdl.

PeakRDL writes the register block (rtl/gen/tpt_csr_regs*.sv), the C header (include/tpt_csr.h), the
Rust types (tb/regs/src/csr) and the HTML pages (build/csr-html, not kept in the repository). This
tool adds what PeakRDL has no generator for: rtl/gen/tpt_csr_pkg.sv (offsets, bits and locks for the
RTL) and tb/regs/src/table.rs (the same for the testbench).

    tools/gen_csr.py            write
    tools/gen_csr.py --check    only compare; exit code 1 if a file is out of date
"""

import argparse
import os
import shutil

import common
import csr
from common import BUILD, ROOT, ToolError

SOURCE = csr.SOURCE
WORK = BUILD / "csr"
HTML = BUILD / "csr-html"
BLOCK = "tpt_csr_regs"
PACKAGE = "rtl/gen/tpt_csr_pkg.sv"
HEADER = "include/tpt_csr.h"
RUST_TYPES = "tb/regs/src/csr"
RUST_TABLE = "tb/regs/src/table.rs"
# Folders of which every file is generated.
OWN_DIRS = ("rtl/gen", RUST_TYPES)
ADDRESS_BITS = 12

HARDWARE_HEAD = """\
// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
"""
SOFTWARE_HEAD = "// SPDX-License-Identifier: Apache-2.0\n"
NOTE = f"// Made from {SOURCE} by `make csr`: change that file, not this one.\n"


def peakrdl(generator, output, *options):
    """Runs one generator of PeakRDL."""
    command = [common.tool("peakrdl"), generator, str(ROOT / SOURCE), "-o", str(output), *options]
    result = common.run(command, timeout=120)
    if not result.ok:
        raise ToolError(f"`peakrdl {generator}` failed on {SOURCE}:\n{result.output.rstrip()}")


def put(path, head, text):
    """Writes a generated text with its head, without blanks at line ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    body = "\n".join(line.rstrip() for line in text.rstrip().split("\n"))
    path.write_text(f"{head}{NOTE}\n{body}\n", encoding="utf-8")


def make(out):
    """Makes all files below the folder `out`."""
    registers = csr.Map()
    shutil.rmtree(out, ignore_errors=True)
    block = out / "rtl/gen"
    block.mkdir(parents=True)
    peakrdl("regblock", block, "--cpuif", "passthrough", "--module-name", BLOCK,
            "--package-name", f"{BLOCK}_pkg", "--addr-width", str(ADDRESS_BITS),
            "--default-reset", "rst_n", "--err-if-bad-addr", "--err-if-bad-rw",
            "--rt-read-fanin", "--type-style", "hier")
    for path in block.glob("*.sv"):
        put(path, HARDWARE_HEAD, path.read_text(encoding="utf-8"))
    put(out / PACKAGE, HARDWARE_HEAD, sv_package(registers))

    header = out / HEADER
    header.parent.mkdir(parents=True)
    peakrdl("c-header", header, "--std", "gnu11", "--type-style", "hier")
    put(header, SOFTWARE_HEAD, header.read_text(encoding="utf-8"))

    types = out / RUST_TYPES
    types.parent.mkdir(parents=True)
    peakrdl("rust", types)
    for path in types.rglob("*.rs"):
        put(path, SOFTWARE_HEAD, path.read_text(encoding="utf-8"))
    put(out / RUST_TABLE, SOFTWARE_HEAD, rust_table(registers))
    rustfmt = common.run(
        [os.environ.get("RUSTFMT", "rustfmt"), "--edition", "2021", "--config-path",
         str(ROOT / "rustfmt.toml"), str(types / "mod.rs"), str(out / RUST_TABLE)], timeout=120)
    if not rustfmt.ok:
        raise ToolError(f"rustfmt failed on the generated files:\n{rustfmt.output.rstrip()}")


def sv_package(registers):
    """Offsets, bits and locks for the RTL."""
    lines = [
        "/// Offsets, bits and locks of the registers.",
        "package tpt_csr_pkg;",
        "",
        "  /// Width of a register address.",
        f"  localparam int unsigned CsrAddrW = {ADDRESS_BITS};",
        "",
        "  // Offsets; of an array: of its first register, and how many there are",
    ]
    for register in registers.registers:
        lines.append(f"  localparam logic [CsrAddrW-1:0] Csr{csr.camel(register.name)} = "
                     f"{ADDRESS_BITS}'h{register.offset:03x};  // {register.access}")
        if register.is_array:
            lines.append(f"  localparam int unsigned Num{csr.camel(register.name)} = "
                         f"{register.count};")
    lines += ["", "  // Fields: number of the lowest bit"]
    for register in registers.registers:
        for field in register.fields:
            if field.width < 32:
                lines.append(f"  localparam int unsigned {csr.camel(register.name)}"
                             f"{csr.camel(field.name)} = {field.low};")
    lines += ["", "  // Numbers of the counters",
              f"  localparam int unsigned NumCounters = {len(registers.counters)};"]
    for number, register in enumerate(registers.counters):
        lines.append(f"  localparam int unsigned {csr.camel(register.name)} = {number};")
    lines += ["", "  // Sticky error bits",
              f"  localparam int unsigned NumErrors = {top_bit(registers['ERROR'])};"]
    for name in sorted(registers.locks):
        closed = [register for register in registers.registers
                  if register.lock and register.lock.name == name]
        lines += ["", f"  /// The signal `{name}` closes all of the register at this address.",
                  *sv_function(f"csr_{name}", closed)]
    lines += ["", "  /// The register at this address can be written and reads as 0.",
              *sv_function("csr_reads_zero", [register for register in registers.registers
                                              if register.reads_zero])]
    return "\n".join(lines + ["", "endpackage"])


def top_bit(register):
    """How many bits a register's fields reach up to."""
    return max(field.low + field.width for field in register.fields)


def sv_function(name, chosen):
    """A function that knows the addresses of some registers."""
    addresses = [f"{ADDRESS_BITS}'h{register.offset + n * register.stride:03x}"
                 for register in chosen for n in range(register.count)]
    if not addresses:
        raise ToolError(f"{SOURCE}: no register for the function {name}: remove what it is for")
    rows = [", ".join(addresses[at:at + 8]) for at in range(0, len(addresses), 8)]
    return [f"  function automatic logic {name}(logic [CsrAddrW-1:0] addr);",
            "    unique case (addr)",
            "      " + ",\n      ".join(rows) + ": return 1'b1;",
            "      default: return 1'b0;",
            "    endcase",
            "  endfunction"]


def rust_doc(*texts):
    """A documentation comment."""
    text = " ".join(text.rstrip(".") + "." for text in texts if text)
    return f"/// {text or 'See the register.'}"


def rust_table(registers):
    """Offsets, bits and properties for the testbench."""
    lines = [
        "//! Offsets, bits and properties of the registers.",
        "",
        "use crate::{Access, Field, Register};",
        "",
    ]
    for register in registers.registers:
        lock = register.lock.words.capitalize() if register.lock else ""
        lines += [rust_doc(register.title, register.text, lock),
                  f"pub const {register.name}: u16 = 0x{register.offset:03x};"]
        if register.constant:
            lines += [f"/// What [`{register.name}`] reads.",
                      f"pub const {register.name}_VALUE: u32 = 0x{register.reset:08x};"]
    for register in registers.registers:
        fields = [field for field in register.fields if field.width < 32]
        if not fields:
            continue
        lines += ["", f"/// Bits of [`{register.name}`].",
                  f"pub mod {register.name.lower()} {{"]
        for field in fields:
            lines += [rust_doc(field.text), f"pub const {field.name.upper()}: u32 = "
                      f"0x{field.mask:x};"]
        lines.append("}")
    counters = registers.counters
    lines += ["", "/// Numbers of the counters, 32 bits each, wrapping.", "pub mod counter {",
              "/// Number of counters.", f"pub const COUNT: usize = {len(counters)};"]
    for number, register in enumerate(counters):
        lines += [rust_doc(register.text),
                  f"pub const {register.name.removeprefix('CNT_')}: usize = {number};"]
    names = ", ".join(f'"{csr.camel(register.name.removeprefix("CNT_"))}"' for register in counters)
    lines += ["/// Names, in order.", f"pub const NAMES: [&str; COUNT] = [{names}];", "}"]
    lines += ["", "/// All registers, in the order of their offsets.",
              "pub const REGISTERS: &[Register] = &["]
    for register in registers.registers:
        fields = ", ".join(
            f'Field {{ name: "{field.name}", mask: 0x{field.mask:x}, access: '
            f"Access::{field.access.capitalize()}, live: {rust_bool(field.reset is None)}, "
            f"lock: {rust_lock(field.lock)} }}" for field in register.fields)
        lines.append(
            f'Register {{ name: "{register.name}", offset: {register.name}, count: '
            f"{register.count}, stride: {register.stride}, reset: 0x{register.reset:x}, "
            f"lock: {rust_lock(register.lock)}, fields: &[{fields}] }},")
    lines.append("];")
    return "\n".join(lines)


def rust_bool(value):
    """A truth value."""
    return "true" if value else "false"


def rust_lock(lock):
    """Name of a lock, if there is one."""
    return f'Some("{lock.name}")' if lock else "None"


def texts(root):
    """What is generated, below a root: {name: text}."""
    found = [path for folder in OWN_DIRS for path in (root / folder).rglob("*") if path.is_file()]
    found += [path for path in [root / RUST_TABLE, root / HEADER] if path.is_file()]
    return {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in found}


def difference(name, old, new):
    """What is wrong with one file, or None."""
    again = f"`make csr` makes it from {SOURCE}"
    if old is None:
        return f"{name} is missing: {again}"
    if new is None:
        return f"{name} does not come from {SOURCE}: remove it, or move it out of this folder"
    if old == new:
        return None
    lines = zip(old.split("\n"), new.split("\n"))
    place = next((number for number, (a, b) in enumerate(lines, 1) if a != b),
                 min(old.count("\n"), new.count("\n")) + 1)
    return f"{name}:{place}: not what follows from {SOURCE}: {again}"


def main():
    """Writes or compares all files."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    make(WORK)
    old, new = texts(ROOT), texts(WORK)
    problems = [difference(name, old.get(name), new.get(name)) for name in sorted({*old, *new})]
    problems = [problem for problem in problems if problem]
    if args.check:
        print("\n".join([*problems, f"gen_csr: {len(new)} files compared with what follows from "
                                    f"{SOURCE}, {len(problems)} problems"]))
        return 1 if problems else 0
    for name in sorted(set(old) - set(new)):
        (ROOT / name).unlink()
        print(f"gen_csr: removed {name}")
    for name, text in sorted(new.items()):
        if old.get(name) != text:
            (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / name).write_text(text, encoding="utf-8")
            print(f"gen_csr: wrote {name}")
    shutil.rmtree(HTML, ignore_errors=True)
    peakrdl("html", HTML, "--title", csr.Map().title)
    print(f"gen_csr: {len(new)} files agree with {SOURCE}; the HTML pages are in "
          f"{HTML.relative_to(ROOT)}/index.html")
    return 0


if __name__ == "__main__":
    common.program(main)
