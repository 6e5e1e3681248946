#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the C header of the queues, include/tpt_queue.h, from rtl/tpt_pkg.sv.

    tools/gen_queue.py            write
    tools/gen_queue.py --check    only compare; exit code 1 if the header is out of date
"""

import argparse
import re
import sys

from common import ROOT
from gen_formats import PACKAGE, Package, PackageError, c_name, c_type

HEADER = "include/tpt_queue.h"
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
# Numbers: name in the package.
PARAMS = ["QueueSlotBytes", "CmdqVersion", "MinLogCmdQueue", "MinLogCplQueue", "MaxLogQueue"]
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


def main():
    """Writes or compares the header."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    text = make(Package((ROOT / PACKAGE).read_text(encoding="utf-8")))
    path = ROOT / HEADER
    if args.check:
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            print(f"gen_queue: {HEADER} is out of date; run tools/gen_queue.py")
            return 1
        print(f"gen_queue: {HEADER} agrees with {PACKAGE}")
        return 0
    path.write_text(text, encoding="utf-8")
    print(f"gen_queue: wrote {HEADER}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PackageError as error:
        sys.exit(f"gen_queue: {error}")
