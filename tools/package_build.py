#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the unit through its package descriptions, each with its own tool: opentpt.core with
FuseSoC, Bender.yml with Bender. Both lint it with Verilator, all warnings being errors, and the
files that the tool hands to Verilator must be those of rtl/tpt.f, in that order.

    tools/package_build.py [--only fusesoc|bender]... [--config NAME] [--timeout SECONDS]

Bender is a Rust program: without one on PATH it is built from crates.io into build/bender, once.
"""

import argparse
import os
import pathlib
import re
import shutil

import common
import gen_packages
import lint
from common import BUILD, ROOT, ToolError

CARGO = os.environ.get("CARGO", "cargo")
# The newest that builds with Rust 1.85.0, the oldest that the project takes.
BENDER_VERSION = "0.28.2"
BENDER_HOME = BUILD / "bender"
CORE_NAME = f"{gen_packages.VENDOR}:{gen_packages.LIBRARY}:{gen_packages.NAME}"


def run(command, timeout, what, **env):
    """Runs a command; its output, or a ToolError that holds its end."""
    result = common.run(command, timeout=timeout, env=common.environment(**env),
                        heartbeat=lambda seconds, line: print(
                            f"package_build: {what}: {seconds:.0f} s; {line[:70]}", flush=True))
    if not result.ok:
        raise ToolError(f"{what}: " + (f"not finished after {timeout} s" if result.code is None
                                       else f"exit code {result.code}")
                        + f":\n{result.output[-4000:].rstrip()}")
    return result.output


def list_problems(what, told, root=ROOT):
    """Differences between the sources that a tool names and rtl/tpt.f."""
    wanted = common.file_list(root)
    problems = [f"{what}: {name} of rtl/tpt.f is missing" for name in wanted if name not in told]
    problems += [f"{what}: {name} is not in rtl/tpt.f" for name in told if name not in wanted]
    if not problems and told != wanted:
        place = next(number for number, (a, b) in enumerate(zip(told, wanted)) if a != b)
        problems.append(f"{what}: {told[place]} comes where rtl/tpt.f has {wanted[place]}")
    return problems


def fusesoc(config, timeout, root=ROOT):
    """Lints with FuseSoC: what is wrong."""
    out = BUILD / "fusesoc"
    shutil.rmtree(out, ignore_errors=True)
    target = f"lint_{config}"
    # FuseSoC calls `verilator`: the one that the project uses comes first.
    path = os.pathsep.join([str(pathlib.Path(common.verilator()).resolve().parent),
                            os.environ.get("PATH", "")])
    run([common.tool("fusesoc"), "--cores-root", str(root), "run", "--build-root", str(out),
         f"--target={target}", CORE_NAME], timeout, f"fusesoc, target {target}", PATH=path)
    script = sorted(out.glob(f"*/{target}/*.vc"))
    if len(script) != 1:
        raise ToolError(f"fusesoc: no script for Verilator in {out.relative_to(ROOT)}")
    text = script[0].read_text()
    told = [re.sub(r"^src/[^/]+/", "", line) for line in text.splitlines()
            if line.endswith(".sv")]
    problems = list_problems("opentpt.core", told, root)
    sets = {key: value for key, value in re.findall(r"-G(\w+)=(\S+)", text)}
    wanted = {key: str(value) for key, value in common.configs(root)[config].items()}
    if sets != wanted:
        problems.append(f"opentpt.core: {target} sets {sets}, in rtl/configs.toml [{config}] is "
                        f"{wanted}")
    if "-Wall" not in text:
        problems.append(f"opentpt.core: {target} lints without -Wall")
    return problems


def bender_program(timeout):
    """Path of Bender: on PATH in the right version, or built."""
    found = shutil.which("bender") or str(BENDER_HOME / "bin" / "bender")
    if pathlib.Path(found).exists():
        version = run([found, "--version"], 60, "bender --version").split()[-1]
        if version == BENDER_VERSION:
            return found
        print(f"package_build: {found} is {version}, not {BENDER_VERSION}", flush=True)
    print(f"package_build: building Bender {BENDER_VERSION} from crates.io, once", flush=True)
    # Without optimisation: it reads one file, and is built in half the time.
    run([CARGO, "install", "bender", "--version", BENDER_VERSION, "--locked", "--debug", "--force",
         "--root", str(BENDER_HOME)], timeout, f"cargo install bender {BENDER_VERSION}",
        CARGO_PROFILE_DEV_DEBUG="0", CARGO_TARGET_DIR=str(BENDER_HOME / "target"))
    shutil.rmtree(BENDER_HOME / "target", ignore_errors=True)
    return str(BENDER_HOME / "bin" / "bender")


def bender(config, timeout, root=ROOT):
    """Lints what Bender hands to Verilator: what is wrong."""
    program = bender_program(timeout)
    # --local: what it names is there, nothing is fetched. It has no dependencies.
    text = run([program, "--local", "-d", str(root), "script", "verilator"], 120,
               "bender script verilator")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [os.path.relpath(line, root) for line in lines if line.endswith(".sv")]
    problems = list_problems("Bender.yml", told, root)
    folders = [os.path.relpath(line.split("+incdir+")[1], root) for line in lines
               if line.startswith("+incdir+")]
    if folders != gen_packages.includes(root):
        problems.append(f"Bender.yml: the folders of includes are {folders}, must be "
                        f"{gen_packages.includes(root)}")
    script = BUILD / "bender" / "verilator.f"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text("\n".join(lines) + "\n")
    command = [common.verilator(), "--lint-only",
               *lint.verilator_args("tpt_top", common.configs(root)[config])]
    # The list is Bender's: the folder of includes, too.
    command = [word for word in command if word != "-Irtl"] + ["-f", str(script)]
    run(command, timeout, "Verilator with the script of Bender")
    return problems


TOOLS = {"fusesoc": fusesoc, "bender": bender}


def main():
    """Runs the tools and prints what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", action="append", choices=list(TOOLS))
    parser.add_argument("--config", default="small", metavar="NAME")
    parser.add_argument("--timeout", type=int, default=600, metavar="SECONDS", help="of each step")
    args = parser.parse_args()
    common.configuration(args.config)
    problems = []
    for name in args.only or TOOLS:
        found = TOOLS[name](args.config, args.timeout)
        print(f"package_build: {name}, {args.config}: "
              + (f"{len(found)} problems" if found else "ok"), flush=True)
        problems += found
    for problem in problems:
        print(f"package_build: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    common.program(main)
