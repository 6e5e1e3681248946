#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the host's constants of the link to a board, and the tables of docs/board.md, from
fpga/rtl/tpt_link_pkg.sv.

    tools/gen_link.py            write
    tools/gen_link.py --check    only compare; exit code 1 if something is out of date
"""

import argparse
import re

import common
import gen_formats
from common import ROOT, ToolError

PACKAGE = "fpga/rtl/tpt_link_pkg.sv"
RUST = "tb/tpt/src/board/gen.rs"
PAGE = "docs/board.md"
ENUMS = {"link_op_e": "op", "link_status_e": "status"}


def upper(name):
    """LinkReadMem -> READ_MEM."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.removeprefix("Link")).upper()


def doc(text, indent=""):
    """A doc comment."""
    return f"{indent}/// {text[:1].upper()}{text[1:]}." if text else None


def sizes(package, text, function):
    """Bytes by operation, from a function of the package, and its doc comment."""
    found = re.search(r"/// ([^\n]*)\n  function automatic [^\n]*\b"
                      rf"{function}\(logic \[7:0\] op\);\n"
                      r"\s*unique case \(op\)\n(.*?)\n\s*endcase", text, re.S)
    if not found:
        raise ToolError(f"{PACKAGE}: there is no function {function} of one `unique case (op)`")
    known = [name for name, _, _ in package.enums["link_op_e"]]
    by_op = {}
    for line in found[2].splitlines():
        arm = re.fullmatch(r"\s*([\w, ]+):\s*return ([^;]+);", line)
        if not arm:
            raise ToolError(f"{PACKAGE}: {function}: cannot read `{line.strip()}`; expected "
                            f"`OPERATION, ...: return NUMBER;`")
        value = package.value(re.sub(r"\d+'\(", "(", arm[2]))
        by_op.update(dict.fromkeys(re.findall(r"\w+", arm[1]), value))
    if by_op.pop("default", None) != 0 or not by_op.keys() <= set(known):
        raise ToolError(f"{PACKAGE}: {function}: expected operations of link_op_e, and 0 for the "
                        f"others")
    return {name: by_op.get(name, 0) for name in known}, found[1]


def note_problems(package, operands):
    """Operations whose comment does not tell the bytes of their operands."""
    problems = []
    for name, _, note in package.enums["link_op_e"]:
        told = re.split(r"[:;]|answer", note)[0]
        total = sum(map(int, re.findall(r"\w+ (\d+)\b", told)))
        if total != operands[name]:
            problems.append(f"{PACKAGE}: the comment of {name} tells {total} bytes of operands, "
                            f"link_operands says {operands[name]}")
    return problems


def rust(package, text):
    """The text of the Rust module."""
    lines = ["// Copyright OpenTPT contributors.", "// SPDX-License-Identifier: Apache-2.0", "",
             f"//! Constants of the link, made by tools/gen_link.py from {PACKAGE}.",
             "#![allow(missing_docs)]", ""]
    for name in package.order:
        value = package.params[name]
        kind = "u32" if re.search(r"Crc(Poly|Start|Good)|Magic", name) else \
            "usize" if re.search(r"Max|Bytes|Counters|Line$", name) else "u8"
        shown = f"0x{value >> 16:04x}_{value & 0xffff:04x}" if kind == "u32" else str(value)
        lines.append(f"pub const {upper(name)}: {kind} = {shown};")
    for enum, module in ENUMS.items():
        lines += ["", f"/// `{enum}`.", f"pub mod {module} {{"]
        for name, value, note in package.enums[enum]:
            if note:
                lines.append(doc(note, "    "))
            lines.append(f"    pub const {upper(name)}: u8 = {value};")
        if module == "status":
            lines += ["", "    /// Names and meanings, in order of their numbers.",
                      f"    pub const NAMES: [(&str, &str); {len(package.enums[enum])}] = ["]
            for name, _, note in package.enums[enum]:
                lines.append(f'        ("{upper(name)}", "{note or "done"}"),')
            lines.append("    ];")
        lines.append("}")
    lines += ["", "/// Places of the fields of the identity: first byte, bytes.", "pub mod ident {"]
    for field in reversed(package.structs["link_ident_t"]):
        if field.low % 8 or field.width % 8:
            raise ToolError(f"{PACKAGE}: link_ident_t.{field.name} is not of whole bytes")
        lines.append(f"    pub const {field.name.upper()}: (usize, usize) = "
                     f"({field.low // 8}, {field.width // 8});")
    lines.append("}")
    for function in ("link_operands", "link_answer"):
        by_op, note = sizes(package, text, function)
        lines += ["", f"/// {note}", f"pub const fn {function.removeprefix('link_')}(code: u8) "
                  f"-> usize {{", "    match code {"]
        lines += [f"        op::{upper(name)} => {size}," for name, size in by_op.items() if size]
        lines += ["        _ => 0,", "    }", "}"]
    return "\n".join(lines) + "\n"


def main():
    """Writes or compares."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    text = (ROOT / PACKAGE).read_text(encoding="utf-8")
    package = gen_formats.Package(text)
    for enum in ENUMS:
        values = [value for _, value, _ in package.enums[enum]]
        if values != list(range(values[0], values[0] + len(values))):
            raise ToolError(f"{PACKAGE}: the numbers of {enum} have gaps")
    problems = note_problems(package, sizes(package, text, "link_operands")[0])
    if problems:
        raise ToolError("\n".join(problems))
    page = ROOT / PAGE
    wanted = {ROOT / RUST: rust(package, text)}
    if page.exists():
        wanted[page] = gen_formats.fill(package, PAGE, page.read_text(encoding="utf-8"))
    stale = [path for path, text in wanted.items()
             if not path.exists() or path.read_text(encoding="utf-8") != text]
    names = ", ".join(str(path.relative_to(ROOT)) for path in stale)
    if args.check and stale:
        print(f"gen_link: out of date: {names}; run tools/gen_link.py")
        return 1
    for path in stale:
        path.write_text(wanted[path], encoding="utf-8")
    print(f"gen_link: wrote {names}" if stale else f"gen_link: all agree with {PACKAGE}")
    return 0


if __name__ == "__main__":
    common.program(main)
