#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the descriptions of the project for FuseSoC (opentpt.core, CAPI2) and Bender (Bender.yml).

The sources come from rtl/tpt.f, the parameters and their defaults from rtl/tpt_top.sv, the named
configurations from rtl/configs.toml, the version from rtl/tpt_csr.rdl.

    tools/gen_packages.py            write
    tools/gen_packages.py --check    only compare; exit code 1 if a file is out of date
"""

import argparse
import re

import common
import csr
from common import ROOT, ToolError

TOP = "rtl/tpt_top.sv"
CORE = "opentpt.core"
BENDER = "Bender.yml"
VENDOR, LIBRARY, NAME = "opentpt", "rdma", "tpt"
SUMMARY = "Translation and protection unit of an RDMA NIC"
NOTE = "# Made by tools/gen_packages.py from rtl/tpt.f, rtl/configs.toml, rtl/tpt_top.sv and\n" \
       "# rtl/tpt_csr.rdl: change those files, not this one.\n"
# Sources that other sources include, and what Verilator needs to know about the sources.
INCLUDES = ("rtl/tpt_assert.svh",)
WAIVERS = "rtl/lint/verilator.vlt"
PARAMETER = re.compile(r"^\s*parameter\s+int\s+unsigned\s+(\w+)\s*=\s*(\d+),?\s*$")


def parameters(text):
    """Parameters of tpt_top and their default values, in order."""
    head = re.search(r"#\(\n(.*?)^\) \(", text, re.S | re.M)
    if not head:
        raise ToolError(f"{TOP}: no list of parameters found")
    found = {}
    for line in head[1].splitlines():
        if not re.match(r"\s*parameter\b", line):
            continue
        match = PARAMETER.match(line.split("//")[0])
        if not match:
            raise ToolError(f"{TOP}: cannot read the parameter `{line.strip()}`; it must be "
                            f"`parameter int unsigned NAME = NUMBER`")
        found[match[1]] = int(match[2])
    return found


def version(registers=None):
    """The version of the hardware, from the register VERSION: major.minor.patch."""
    fields = {field.name: field.reset for field in (registers or csr.Map())["VERSION"].fields}
    return ".".join(str(fields[name]) for name in ("major", "minor", "patch"))


def includes(root=ROOT):
    """Folders of include files, from the +incdir+ lines of rtl/tpt.f and from INCLUDES."""
    folders = re.findall(r"^\+incdir\+(\S+)", (root / "rtl/tpt.f").read_text(), re.M)
    for name in INCLUDES:
        if not (root / name).exists():
            raise ToolError(f"tools/gen_packages.py: {name} of INCLUDES does not exist")
        folders.append(name.rsplit("/", 1)[0])
    return sorted(set(folders))


def core(files, defaults, configs, number):
    """Text of opentpt.core."""
    lines = ["CAPI=2:", "# SPDX-License-Identifier: Apache-2.0", NOTE.rstrip(),
             f"name: {VENDOR}:{LIBRARY}:{NAME}:{number}",
             f"description: {SUMMARY}", "", "filesets:", "  rtl:",
             "    file_type: systemVerilogSource", "    files:"]
    lines += [f"      - {name}: {{is_include_file: true, include_path: {name.rsplit('/', 1)[0]}}}"
              for name in INCLUDES]
    lines += [f"      - {name}" for name in files]
    lines += ["  # What Verilator shall not tell, each with its reason.", "  verilator_waivers:",
              "    files:", f"      - {WAIVERS}: {{file_type: vlt}}", "", "parameters:"]
    for name, value in defaults.items():
        lines += [f"  {name}:", "    datatype: int", f"    default: {value}",
                  "    paramtype: vlogparam"]
    every = ", ".join(defaults)
    lines += ["", "targets:", "  # The sources, for cores that depend on this one.",
              "  default:", "    filesets: [rtl]", "    toplevel: tpt_top",
              "    parameters:", f"      [{_wrap(every, 7)}]", "",
              "  # All warnings of Verilator are errors. Without a configuration: the defaults of",
              "  # tpt_top, or as the command line says, for example --NumClients=1."]
    lines += _lint("lint", defaults)
    for name, values in configs.items():
        lines += ["", f"  # Configuration {name} of rtl/configs.toml."]
        lines += _lint(f"lint_{name}", [f"{key}={value}" for key, value in values.items()])
    return "\n".join(lines) + "\n"


def _lint(name, values):
    """A target that lints the unit with Verilator."""
    return [f"  {name}:", "    filesets: [verilator_waivers, rtl]", "    toplevel: tpt_top",
            "    parameters:", f"      [{_wrap(', '.join(values), 7)}]",
            "    flow: lint", "    flow_options:", "      tool: verilator",
            "      verilator_options: [-Wall, --assert]"]


def _wrap(text, indent):
    """A list over several lines of at most 100 columns."""
    lines, line = [], ""
    for word in text.split(" "):
        if line and len(line) + len(word) + indent > 97:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return ("\n" + " " * indent).join(lines + [line])


def bender(files, folders):
    """Text of Bender.yml."""
    lines = ["# SPDX-License-Identifier: Apache-2.0", NOTE.rstrip(), "package:",
             "  name: opentpt", f"  description: {SUMMARY}",
             "  authors: [OpenTPT contributors]", "",
             f"export_include_dirs: [{', '.join(folders)}]", "", "sources:",
             f"  - include_dirs: [{', '.join(folders)}]", "    files:"]
    return "\n".join(lines + [f"      - {name}" for name in files]) + "\n"


def texts(root=ROOT):
    """The files to be: {name: text}."""
    files = common.file_list(root)
    defaults = parameters((root / TOP).read_text(encoding="utf-8"))
    configs = common.configs(root)
    for name, values in configs.items():
        for key in values:
            if key not in defaults:
                raise ToolError(f"rtl/configs.toml: [{name}] sets {key}, which is no parameter of "
                                f"tpt_top; there are {', '.join(defaults)}")
    return {CORE: core(files, defaults, configs, version()),
            BENDER: bender(files, includes(root))}


def differences(wanted, root=ROOT, again="tools/gen_packages.py"):
    """What is different in the files, a text each; `again` is the tool that makes them."""
    found = []
    for name, text in wanted.items():
        path = root / name
        if not path.exists():
            found.append(f"{name} is missing: {again} makes it")
            continue
        old, new = path.read_text(encoding="utf-8").split("\n"), text.split("\n")
        if old != new:
            place = next((number for number, (a, b) in enumerate(zip(old, new)) if a != b),
                         min(len(old), len(new)))
            is_now, will_be = ((lines[place].strip() if place < len(lines) else "(its end)")
                               for lines in (old, new))
            found.append(f"{name}:{place + 1}: is `{is_now}`, must be `{will_be}`: {again} makes "
                         f"the file anew")
    return found


def main():
    """Writes or compares the files."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    wanted = texts()
    if args.check:
        found = differences(wanted)
        if found:
            print("\n".join(found))
            return 1
        print(f"gen_packages: {', '.join(wanted)} are what rtl/tpt.f says")
        return 0
    for name, text in wanted.items():
        (ROOT / name).write_text(text, encoding="utf-8")
        print(f"gen_packages: wrote {name}")
    return 0


if __name__ == "__main__":
    common.program(main)
