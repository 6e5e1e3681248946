#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the Vivado scripts of fpga/amd with tclsh and stand-ins for Vivado's commands, and checks
what they called: no Vivado is needed, and none is replaced: the flow was not run with Vivado.

Checked are: syntax, commands and their options (of those that fpga/amd/dry_run.tcl knows), that all
files of rtl/tpt.f are read in its order, that the parameters are those of rtl/configs.toml, that
constraints/amd_ooc.xdc names ports of tpt_top, puts one clock on clk_i and leaves no port without a
delay, and that a clock that is not met ends with exit code 1.

    tools/amd_check.py
"""

import os
import re
import shutil

import common
import gen_formats
import gen_packages
from common import BUILD, ROOT, ToolError

STAND_INS = "fpga/amd/dry_run.tcl"
SCRIPTS = ("fpga/amd/ooc.tcl", "fpga/amd/package_ip.tcl")
CONSTRAINTS = "constraints/amd_ooc.xdc"


def words(text):
    """A Tcl list, of words and braced words, as Python has it."""
    found, depth, word, seen = [], 0, "", False
    for sign in text:
        if sign == "{":
            word += sign if depth else ""
            depth, seen = depth + 1, True
        elif sign == "}":
            depth -= 1
            word += sign if depth else ""
        elif sign.isspace() and not depth:
            if word or seen:
                found.append(word)
            word, seen = "", False
        else:
            word += sign
    return found + ([word] if word or seen else [])


class Call:
    """A recorded call: name, options, other words."""

    def __init__(self, line):
        self.name, options, others = words(line)
        pairs = words(options)
        self.options = dict(zip(pairs[::2], pairs[1::2]))
        self.others = words(others)


def dry_run(script, *args, root=ROOT, slack="0.1"):
    """Runs a script with the stand-ins: (exit code, output, calls)."""
    tclsh = shutil.which("tclsh")
    if not tclsh:
        raise ToolError("tclsh is not installed: run `make setup`, or install the package tcl")
    out = BUILD / "amd"
    out.mkdir(parents=True, exist_ok=True)
    log = out / f"dry-run-{os.getpid()}.txt"
    ports = [(name.strip("`"), direction.upper()) for name, direction, _ in
             gen_formats.read_ports((root / gen_packages.TOP).read_text()) if direction]
    env = common.environment(TPT_DRY_RUN=str(log), TPT_SLACK=slack,
                             TPT_PORTS=" ".join(f"{{{name} {way}}}" for name, way in ports))
    result = common.run([tclsh, str(root / STAND_INS), str(root / script), *args], timeout=60,
                        cwd=root, env=env)
    calls = [Call(line) for line in log.read_text().splitlines()] if log.exists() else []
    log.unlink(missing_ok=True)
    return result.code, result.output, calls


def sources(calls, command, root):
    """Files that a command was given, relative to the root."""
    return [os.path.relpath(file, root) for call in calls if call.name == command
            for file in words(call.others[0])]


def order_problems(script, told, wanted):
    """Differences between the files that a script reads and those it should read."""
    if told == wanted:
        return []
    place = next((number for number, (a, b) in enumerate(zip(told, wanted)) if a != b),
                 min(len(told), len(wanted)))
    is_now, must_be = ((names[place] if place < len(names) else "nothing more")
                       for names in (told, wanted))
    return [f"{script}: file {place + 1} that it reads is {is_now}, by rtl/tpt.f it must be "
            f"{must_be}"]


def ooc_problems(name, values, root=ROOT):
    """What is wrong with the synthesis script, of one configuration."""
    script = SCRIPTS[0]
    code, output, calls = dry_run(script, "-config", name, root=root)
    if code != 0:
        return [f"{script} -config {name}: exit code {code}: {output.strip()}"]
    problems = order_problems(script, sources(calls, "read_verilog", root), common.file_list(root))
    by_name = {call.name: call for call in calls}
    if "synth_design" not in by_name or "route_design" not in by_name:
        return problems + [f"{script}: it must call synth_design and route_design"]
    synth = by_name["synth_design"].options
    generics = dict(item.split("=", 1) for item in words(synth.get("-generic", "")))
    if generics != {key: str(value) for key, value in values.items()}:
        problems.append(f"{script} -config {name}: the parameters are {generics}, in "
                        f"rtl/configs.toml they are {values}")
    for option, value in (("-top", "tpt_top"), ("-mode", "out_of_context"),
                          ("-verilog_define", "SYNTHESIS")):
        if synth.get(option) != value:
            problems.append(f"{script}: synth_design {option} is {synth.get(option)}, must be "
                            f"{value}")
    return problems + constraint_problems(calls, root)


def constraint_problems(calls, root):
    """What is wrong with the constraints that were read."""
    problems = []
    clocks = [call for call in calls if call.name == "create_clock"]
    if [call.others for call in clocks] != [["clk_i"]]:
        problems.append(f"{CONSTRAINTS}: it must have one clock, on clk_i")
    ways = {"IN": set(), "OUT": set()}
    for name, direction, _ in gen_formats.read_ports((root / gen_packages.TOP).read_text()):
        if direction and name != "`clk_i`":
            ways[direction.upper()].add(name.strip("`"))
    for command, way in (("set_input_delay", "IN"), ("set_output_delay", "OUT")):
        for edge in ("-max", "-min"):
            told = set()
            for call in calls:
                if call.name == command and edge in call.options:
                    told |= set(words(call.others[1]))
            for port in sorted(ways[way] ^ told):
                problems.append(f"{CONSTRAINTS}: {command} {edge} "
                                f"{'leaves out' if port in ways[way] else 'must not have'} {port}")
    return problems


def package_problems(root=ROOT):
    """What is wrong with the packaging script."""
    script = SCRIPTS[1]
    code, output, calls = dry_run(script, root=root)
    if code != 0:
        return [f"{script}: exit code {code}: {output.strip()}"]
    problems = order_problems(script, sources(calls, "add_files", root),
                              [*common.file_list(root), *gen_packages.INCLUDES])
    names = [call.name for call in calls]
    for needed in ("ipx::package_project", "ipx::check_integrity", "ipx::save_core"):
        if needed not in names:
            problems.append(f"{script}: it must call {needed}")
    version = [call.others[1] for call in calls
               if call.name == "set_property" and call.others[0] == "version"]
    if version != [gen_packages.version()]:
        problems.append(f"{script}: the version of the IP is {version}, the register VERSION is "
                        f"{gen_packages.version()}")
    return problems


def slack_problems(root=ROOT):
    """The synthesis script must fail if the clock is not met."""
    name = next(iter(common.configs(root)))
    code, output, _ = dry_run(SCRIPTS[0], "-config", name, root=root, slack="-0.1")
    if code == 1 and re.search(r"ERROR: the clock .* is not met", output):
        return []
    return [f"{SCRIPTS[0]}: with a slack of -0.1 ns it must say so and exit with 1, not with "
            f"{code}: {output.strip()}"]


def all_problems(root=ROOT):
    """Everything that is wrong."""
    problems = []
    for name, values in common.configs(root).items():
        problems += ooc_problems(name, values, root)
    return list(dict.fromkeys(problems)) + package_problems(root) + slack_problems(root)


def main():
    """Prints what is wrong."""
    problems = all_problems()
    print("\n".join(problems + [f"amd_check: {' and '.join(SCRIPTS)} with stand-ins for Vivado, "
                                f"{len(common.configs())} configurations, {len(problems)} "
                                f"problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    common.program(main)
