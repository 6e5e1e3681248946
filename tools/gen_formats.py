#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of docs/ from rtl/tpt_pkg.sv and rtl/tpt_csr.rdl, so that they cannot differ.

A page marks the place of a table with
    <!-- generated: KIND NAME -->
    <!-- end -->
KIND is `struct` (a packed struct as bit fields), `slot` (a struct of whole bytes), `enum` (names
and numbers), `bits` (bit numbers: all parameters whose name starts with NAME), `params` (values of
the listed parameters),
`registers` (the register map; with names: registers whose name starts with one of them), `fields`
(fields of the registers named), `counters` or `ports` (ports of rtl/tpt_top.sv).

    tools/gen_formats.py            write
    tools/gen_formats.py --check    only compare; exit code 1 if a page is out of date
"""

import argparse
import re

import common
import csr
from common import ROOT, ToolError

PACKAGE = "rtl/tpt_pkg.sv"
TOP = "rtl/tpt_top.sv"
PAGES = ["docs/formats.md", "docs/registers.md", "docs/rules.md", "docs/integration.md",
         "docs/queues.md"]


class PackageError(common.ToolError):
    """The package says something this tool cannot read, or contradicts itself."""


class Field:
    """A field of a packed struct."""

    def __init__(self, name, width, note, enum_width):
        self.name, self.width, self.note, self.enum_width = name, width, note, enum_width
        self.low = 0
        self.element = width   # width of an element, if it is an array


class Package:
    """Parameters, enums and structs of a SystemVerilog package."""

    def __init__(self, text):
        self.params = {}
        self.notes = {}
        self.order = []
        self.enums = {}
        self.structs = {}
        self._read(text)

    def value(self, expression):
        """Value of a constant expression of parameters, numbers, + - * / ( ) and $bits."""
        text = re.sub(r"\$bits\((\w+)\)", lambda m: str(self.width(m[1])), expression)
        text = re.sub(r"\d*'([hdbo])([0-9a-fA-F_]+)", lambda m: str(
            int(m[2].replace("_", ""), {"h": 16, "d": 10, "b": 2, "o": 8}[m[1]])), text)
        text = re.sub(r"[A-Za-z]\w*", lambda m: str(self._param(m[0], expression)), text)
        if not re.fullmatch(r"[\d+\-*/() ]+", text):
            raise PackageError(f"cannot evaluate `{expression}`")
        return int(eval(text.replace("/", "//"), {"__builtins__": {}}))  # digits and + - * / only

    def _param(self, name, expression):
        if name not in self.params:
            raise PackageError(f"`{name}` in `{expression}` is not a parameter seen so far")
        return self.params[name]

    def width(self, struct):
        """Width of a struct in bits."""
        return sum(field.width for field in self.structs[struct])

    def _read(self, text):
        lines = text.split("\n")
        doc = []
        index = 0
        while index < len(lines):
            line = lines[index].strip()
            index += 1
            if line.startswith("//"):
                doc.append(line.lstrip("/ ").strip())
                continue
            found = re.match(r"localparam\s+([^=]*?)(\w+)\s*=\s*([^;]+);\s*(?://\s*(.*))?$", line)
            if found:
                name = found[2]
                self.params[name] = self.value(found[3])
                own = (found[4] or "").strip()
                self.notes[name] = own
                self.order.append(name)
            elif line.startswith("typedef enum"):
                index = self._enum(lines, index - 1)
            elif line.startswith("typedef struct packed"):
                index = self._struct(lines, index)
            doc = []

    def _enum(self, lines, index):
        members = []
        while True:
            line = lines[index].strip()
            index += 1
            for name, value, note in re.findall(
                    r"(\w+)\s*=\s*([\w']+)\s*,?\s*(?://\s*(.*))?$", line):
                members.append((name, self.value(value), note.strip()))
            end = re.match(r"}\s*(\w+);", line)
            if end:
                self.enums[end[1]] = members
                return index

    def _struct(self, lines, index):
        fields = []
        while True:
            line = lines[index].strip()
            index += 1
            end = re.match(r"}\s*(\w+);", line)
            if end:
                break
            found = re.match(r"(\w+)\s*((?:\[[^\]]+\])*)\s*(\w+);\s*(?://\s*(.*))?$", line)
            if not found:
                if line and not line.startswith("//"):
                    raise PackageError(f"cannot read the struct line `{line}`")
                continue
            width = 1 if found[1] == "logic" else self.width(found[1])
            element = width
            for high, low in re.findall(r"\[([^:\]]+):([^\]]+)\]", found[2]):
                element = self.value(high) - self.value(low) + 1
                width *= element
            fields.append(Field(found[3], width, (found[4] or "").strip(), found[1]))
            fields[-1].element = element
        low = 0
        for field in reversed(fields):
            field.low = low
            low += field.width
        name = end[1]
        for field in fields:
            stated = re.match(r"(\d+)(?::(\d+))?(?=\s|$)\s*(.*)", field.note)
            if name == "mpt_entry_t" and stated:
                high, low = int(stated[1]), int(stated[2] or stated[1])
                if (high, low) != (field.low + field.width - 1, field.low):
                    raise PackageError(
                        f"{name}.{field.name} is said to be at {high}:{low} but is at "
                        f"{field.low + field.width - 1}:{field.low}")
                field.note = stated[3]
        self.structs[name] = fields
        return index


def bits(low, width):
    """Bit range as text."""
    return str(low) if width == 1 else f"{low + width - 1}:{low}"


def markdown(header, rows):
    """A Markdown table."""
    def clean(cell):
        return str(cell).replace("|", "\\|")
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    lines += ["| " + " | ".join(clean(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def c_type(field):
    """Type in C of an element of a field that has whole bytes at its natural place."""
    if field.element not in (8, 16, 32, 64) or field.low % field.element:
        raise PackageError(f"`{field.name}` has no type in C: {field.element} bits at {field.low}")
    return f"uint{field.element}_t"


def c_name(field):
    """Name in C, with the number of elements of an array."""
    count = field.width // field.element
    return field.name if count == 1 else f"{field.name}[{count}]"


def make_table(package, kind, names):
    """The text of one generated table."""
    first = names[0] if names else ""
    if kind == "struct":
        rows = []
        for field in reversed(package.structs[first]):
            note = field.note
            if first == "mpt_entry_t":
                rows.append((bits(field.low, field.width), mpt_place(field),
                             f"`{field.name}`", field.width, note))
            else:
                rows.append((bits(field.low, field.width), f"`{field.name}`", field.width, note))
        if first == "mpt_entry_t":
            return markdown(("bits", "bytes", "field", "width", "meaning"), rows)
        text = markdown(("bits", "field", "width", "meaning"), rows)
        return text + f"\n\nTotal: {package.width(first)} bits."
    if kind == "slot":
        return markdown(("byte", "type", "field", "meaning"),
                        [(field.low // 8, c_type(field), f"`{c_name(field)}`", field.note)
                         for field in reversed(package.structs[first])])
    if kind == "enum":
        return markdown(("value", "name", "meaning"),
                        [(value, f"`{name}`", note) for name, value, note in package.enums[first]])
    if kind == "bits":
        rows = [(package.params[name], f"`{name}`", package.notes[name]) for name in package.order
                if re.fullmatch(first + r"[A-Z]\w*", name) and name not in (first + "W",)]
        return markdown(("bit", "name", "meaning"), rows)
    if kind == "params":
        rows = [(f"`{name}`", package.params[name], package.notes[name]) for name in names]
        return markdown(("name", "value", "meaning"), rows)
    if kind in ("registers", "fields", "counters"):
        return register_table(csr.Map(), kind, names)
    if kind == "ports":
        return markdown(("port", "direction", "width"),
                        read_ports((ROOT / TOP).read_text(encoding="utf-8")))
    raise PackageError(f"unknown kind of table: {kind}")


def register_table(registers, kind, names):
    """A table of registers or of fields."""
    if kind == "registers":
        chosen = [register for register in registers.registers
                  if not names or register.name.startswith(tuple(names))]
        if not chosen:
            raise PackageError(f"{csr.SOURCE} has no register that starts with "
                               f"{' or '.join(names)}")
        return markdown(("offset", "register", "access", "reset", "meaning"),
                        [register_row(register) for register in chosen])
    if kind == "fields":
        rows = []
        for name in names:
            for field in registers[name].fields:
                where = f"`{field.name}`" if len(names) == 1 else f"`{name}.{field.name}`"
                rows.append((bits(field.low, field.width), where, field.access, reset(field),
                             meaning(field.text, field.lock)))
        return markdown(("bit", "name", "access", "reset", "meaning"), rows)
    return markdown(("offset", "counter", "counts"),
                    [(f"0x{register.offset:03x}", f"`{register.name}`", register.text)
                     for register in registers.counters])


def register_row(register):
    """Row of one register in the map."""
    name, offset = register.name, f"0x{register.offset:03x}"
    if register.is_array:
        name += f"[{register.count}]"
        offset += f" + {register.stride} n" if register.stride < 10 else \
            f" + 0x{register.stride:x} n"
    told = register.live and not register.reset
    return (offset, f"`{name}`", register.access, "" if told else f"0x{register.reset:x}",
            meaning(register.text, register.lock))


def reset(field):
    """Reset value of a field as text."""
    return "" if field.reset is None or field.access in (csr.WO, csr.W1P) else f"0x{field.reset:x}"


def meaning(text, lock):
    """What the pages say of a register or a field."""
    return f"{text} {lock.words.capitalize()}." if lock else text


def read_ports(text):
    """Rows (name, direction, width) of the ports of a module, with a row per comment above them."""
    rows = []
    body = re.search(r"^\) \(\n(.*?)^\);", text, re.S | re.M)
    if not body:
        raise PackageError(f"{TOP}: no list of ports found")
    for line in body[1].split("\n"):
        line = line.strip()
        found = re.match(r"(input|output)\s+logic\s*(\[[^\]]+\])?\s*(\w+),?\s*(?://.*)?$", line)
        if found:
            width = "1"
            if found[2]:
                high, _, low = found[2][1:-1].partition(":")
                width = high.strip().removesuffix("-1") if low.strip() == "0" and \
                    high.strip().endswith("-1") else str(int(high) - int(low) + 1)
            rows.append((f"`{found[3]}`", "in" if found[1] == "input" else "out", width))
        elif line.startswith("//"):
            rows.append((f"**{line.lstrip('/ ')}**", "", ""))
        elif line:
            raise PackageError(f"{TOP}: cannot read the port `{line}`")
    return rows


def mpt_place(field):
    """Bytes of the 64-byte entry that a field touches."""
    low, high = field.low // 8, (field.low + field.width - 1) // 8
    return str(low) if low == high else f"{low}..{high}"


def fill(package, page, text):
    """The page with all its tables made anew."""
    marker = re.compile(r"(<!-- generated: (\w+) ?([^>]*?) -->\n).*?(<!-- end -->)", re.S)

    def replace(found):
        try:
            table = make_table(package, found[2], found[3].split())
        except (PackageError, ToolError, KeyError) as error:
            raise PackageError(f"{page}: table `{found[2]} {found[3]}`: {error}") from error
        return f"{found[1]}\n{table}\n\n{found[4]}"

    return marker.sub(replace, text)


def main():
    """Writes or compares all pages."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    package = Package((ROOT / PACKAGE).read_text(encoding="utf-8"))
    stale = []
    for page in PAGES:
        path = ROOT / page
        old = path.read_text(encoding="utf-8")
        new = fill(package, page, old)
        if new != old:
            stale.append(page)
            if not args.check:
                path.write_text(new, encoding="utf-8")
                print(f"gen_formats: wrote {page}")
    if args.check and stale:
        print(f"gen_formats: out of date: {', '.join(stale)}; run tools/gen_formats.py")
        return 1
    print(f"gen_formats: {len(PAGES)} pages agree with {PACKAGE} and {csr.SOURCE}"
          if args.check or not stale
          else f"gen_formats: {len(stale)} of {len(PAGES)} pages were out of date")
    return 0


if __name__ == "__main__":
    common.program(main)
