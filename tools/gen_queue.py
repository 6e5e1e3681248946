#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what drivers know of the queues from rtl/tpt_pkg.sv: the C header include/tpt_queue.h and
the Rust module tb/driver/src/gen.rs.

    tools/gen_queue.py            write
    tools/gen_queue.py --check    only compare; exit code 1 if one of them is out of date
"""

import argparse
import re

import common
from common import ROOT
from gen_formats import PACKAGE, Package, PackageError, c_name, c_type

HEADER = "include/tpt_queue.h"
MODULE = "tb/driver/src/gen.rs"
COLUMNS = 100
HEAD = f"""\
// SPDX-License-Identifier: Apache-2.0
// Made from {PACKAGE} by tools/gen_queue.py: change that file, not this one.

// Slots of the command queue and of the completion queue in host memory: docs/queues.md.
// All fields are little-endian.

#ifndef TPT_QUEUE_H
#define TPT_QUEUE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif
"""
TAIL = """\
#ifdef __cplusplus
}
#endif

#endif
"""
# Structs: name in the package, name in C, what it is.
STRUCTS = [
    ("cmdq_slot_t", "tpt_cmdq_slot", "Slot of the command queue."),
    ("cplq_slot_t", "tpt_cplq_slot", "Slot of the completion queue. The unit writes `entry` only "
     "for a QUERY with status OK."),
]
# Modules of Rust: name in the package, module, what it is.
MODULES = [
    ("cmdq_slot_t", "cmdq_slot", "Bytes of a slot of the command queue where its fields begin."),
    ("cplq_slot_t", "cplq_slot", "Bytes of a slot of the completion queue where its fields begin."),
]
# Numbers of Rust alone: name in the package, type, what it is.
RUST_PARAMS = [
    ("QueueSlotBytes", "usize", "Bytes of a slot of either queue."),
    ("CmdqVersion", "u8", "Version of a command slot."),
    ("MinLogCmdQueue", "u8", "log2 of the smallest command queue."),
    ("MinLogCplQueue", "u8", "log2 of the smallest completion queue."),
    ("MaxLogQueue", "u8", "log2 of the largest queue."),
    ("MptBytes", "u64", "Bytes of an MPT entry."),
    ("MaxMptSize", "u32", "Most entries of the MPT."),
    ("PdW", "u32", "Bits of a protection domain."),
    ("QpnW", "u32", "Bits of the number of a queue pair."),
    ("CapW", "u32", "Bits of the number of pages that a fast registration may have."),
    ("PageIdxW", "u32", "Bits of the number of a page in a region."),
    ("MinLogPage", "u8", "log2 of the smallest page."),
    ("MaxLogPage", "u8", "log2 of the largest page."),
    ("MinLogTPage", "u8", "log2 of the smallest table page."),
    ("MaxLogTPage", "u8", "log2 of the largest table page."),
    ("LevelInline", "u8", "`level` of pages inside the command."),
    ("LevelFlat", "u8", "`level` of a flat table."),
    ("KnownAccess", "u32", "Access bits that a region takes."),
    ("KnownMwAccess", "u32", "Access bits that a bind takes."),
    ("KnownPhysAccess", "u32", "Access bits that a physical region takes."),
]
# Enumerations of Rust: name in the package, prefix of its names there, in Rust, what it is.
RUST_ENUMS = [
    ("cmd_op_e", "Cmd", "Op", "Commands: values of `op`."),
    ("status_e", "Sts", "Status", "How a command ended: values of `status`."),
    ("enc_e", "Enc", "Encoding", "Encodings of table entries: values of `encoding`."),
    ("syndrome_e", "Syn", "Syndrome", "Why a request was refused: numbers of the log and of the "
     "counters."),
]
# Numbers: name in the package.
PARAMS = ["QueueSlotBytes", "CmdqVersion", "MinLogCmdQueue", "MinLogCplQueue", "MaxLogQueue",
          "MptBytes", "MaxMptSize"]
# Enumerations: name in the package, prefix of its names there, prefix in C, what it is.
ENUMS = [
    ("cmd_op_e", "Cmd", "TPT_CMD", "Values of `op`."),
    ("status_e", "Sts", "TPT_STS", "Values of `status`."),
    ("enc_e", "Enc", "TPT_ENC", "Values of `encoding`."),
]
# Bit numbers: prefix in the package, in C, what it is.
BITS = [
    ("Flag", "TPT_FLAG", "Bits of `flags`."),
    ("Rereg", "TPT_REREG", "Bits of `rereg`."),
]


def upper(name):
    """FastRegMr as FAST_REG_MR."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).upper()


def note(text):
    """A comment behind a line."""
    return f"  // {text}" if text else ""


def make(package):
    """The text of the header."""
    out = [HEAD]
    out += [f"#define TPT_{upper(name)} {package.params[name]}" for name in PARAMS]
    for name, prefix, c_prefix, what in ENUMS:
        out += ["", f"// {what}"]
        out += [f"#define {c_prefix}_{upper(member.removeprefix(prefix))} {value}{note(text)}"
                for member, value, text in package.enums[name]]
    for prefix, c_prefix, what in BITS:
        out += ["", f"// {what}"]
        out += [f"#define {c_prefix}_{upper(name.removeprefix(prefix))} (1u << "
                f"{package.params[name]}){note(package.notes[name])}"
                for name in package.order if re.fullmatch(prefix + r"[A-Z]\w*", name)]
    for name, c_struct, what in STRUCTS:
        fields = list(reversed(package.structs[name]))
        out += ["", f"// {what}", f"struct {c_struct} {{"]
        out += [f"  {c_type(field)} {c_name(field)};{note(field.note)}" for field in fields]
        out += ["};"]
        out += [f"static_assert(offsetof(struct {c_struct}, {field.name}) == {field.low // 8}, "
                f"\"{field.name}\");" for field in fields]
        out += [f"static_assert(sizeof(struct {c_struct}) == {package.width(name) // 8}, "
                f"\"{c_struct}\");"]
    text = "\n".join(out) + "\n\n" + TAIL
    for line in text.split("\n"):
        if len(line) > COLUMNS:
            raise PackageError(f"{HEADER}: more than {COLUMNS} columns: {line}")
    return text


def rust_enum(package, name, prefix, rust, what):
    """An enumeration of Rust, in the layout of rustfmt."""
    members = [(member.removeprefix(prefix), value, text.replace('"', "'"))
               for member, value, text in package.enums[name] if text != "reserved"]
    out = ["", f"/// {what}", "#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]",
           "#[repr(u8)]", f"pub enum {rust} {{"]
    for member, value, text in members:
        out += [f"    /// {(text[:1].upper() + text[1:]).rstrip('.')}.", f"    {member} = {value},"]
    out += ["}", "", f"impl {rust} {{", "    /// Every value."]
    every, head = [f"{rust}::{row[0]}" for row in members], f"[{rust}; {len(members)}]"
    if len(", ".join(every)) < 58:
        out += [f"    pub const ALL: {head} = [{', '.join(every)}];"]
    else:
        out += [f"    pub const ALL: {head} = [", *(f"        {one}," for one in every), "    ];"]
    out += ["", "    /// The value with this code.",
            f"    pub const fn from_code(code: u8) -> Option<{rust}> {{", "        match code {"]
    out += [f"            {value} => Some({rust}::{member})," for member, value, _ in members]
    out += ["            _ => None,", "        }", "    }", "", "    /// The code.",
            "    pub const fn code(self) -> u8 {", "        self as u8", "    }", "",
            "    /// The name, as the documentation writes it.",
            "    pub const fn name(self) -> &'static str {", "        match self {"]
    out += [f"            {rust}::{member} => \"{upper(member)}\"," for member, _, _ in members]
    out += ["        }", "    }", "", "    /// What it means.",
            "    pub const fn meaning(self) -> &'static str {", "        match self {"]
    for member, _, text in members:
        line = f"            {rust}::{member} => \"{text}\","
        if len(line) > COLUMNS:
            out += [f"            {rust}::{member} => {{", f"                \"{text}\"",
                    "            }"]
        else:
            out.append(line)
    return out + ["        }", "    }", "}"]


def make_rust(package):
    """The text of the Rust module."""
    out = ["// SPDX-License-Identifier: Apache-2.0",
           f"// Made from {PACKAGE} by tools/gen_queue.py: change that file, not this one.", "",
           "//! Numbers of commands, completions and their slots (docs/queues.md)."]
    for name, kind, what in RUST_PARAMS:
        value = package.params[name]
        shown = f"{value:#x}" if name.startswith("Known") else value
        out += ["", f"/// {what}", f"pub const {upper(name)}: {kind} = {shown};"]
    for row in RUST_ENUMS:
        out += rust_enum(package, *row)
    for prefix, module, what in (("Flag", "flag", "Bits of `flags`."),
                                 ("Rereg", "rereg", "Bits of `rereg`.")):
        out += ["", f"/// {what}", f"pub mod {module} {{"]
        out += [f"    /// {package.notes[name]}.\n    pub const "
                f"{upper(name.removeprefix(prefix))}: u8 = 1 << {package.params[name]};"
                for name in package.order if re.fullmatch(prefix + r"[A-Z]\w*", name)]
        out += ["}"]
    out += ["", "/// Access bits of a command, as verbs number them (`IBV_ACCESS_*`).",
            "pub mod access {"]
    relaxed = package.params["VerbsRelaxedOrdering"]
    for name in package.order:
        if re.fullmatch(r"Acc[A-Z]\w+", name) and name != "AccessW":
            bit = relaxed if name == "AccRelaxedOrdering" else package.params[name]
            out += [f"    /// {package.notes[name]}.",
                    f"    pub const {upper(name.removeprefix('Acc'))}: u32 = 1 << {bit};"]
    out += ["}"]
    for name, module, what in MODULES:
        out += ["", f"/// {what}", f"pub mod {module} {{"]
        for field in reversed(package.structs[name]):
            if field.name.startswith("rsvd"):
                continue
            note_text = field.note.replace("[", "\\[").replace("]", "\\]")  # not a link
            out += [f"    /// {note_text}.",
                    f"    pub const {upper(field.name)}: usize = {field.low // 8};"]
        out += ["}"]
    return "\n".join(out) + "\n"


def main():
    """Writes or compares the header and the module."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    package = Package((ROOT / PACKAGE).read_text(encoding="utf-8"))
    old = 0
    for name, text in ((HEADER, make(package)), (MODULE, make_rust(package))):
        path = ROOT / name
        if not args.check:
            path.write_text(text, encoding="utf-8")
            print(f"gen_queue: wrote {name}")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            print(f"gen_queue: {name} is out of date; run tools/gen_queue.py")
            old = 1
        else:
            print(f"gen_queue: {name} agrees with {PACKAGE}")
    return old


if __name__ == "__main__":
    common.program(main)
