#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sends the requests of `tpt bench cocotb` through the same RTL with cocotb and times it.

Builds tpt_top with cocotb's own runner and the Verilator of the project, runs tools/cocotb_tpt.py,
which compares every response beat, and prints the speed as JSON in the last line. Only
`make bench-cocotb` needs it. Exit code 3: cocotb is not installed.

    tools/cocotb_bench.py --probe
    tools/cocotb_bench.py build/cocotb/requests-small.json
"""

import argparse
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import common
from common import BUILD, ROOT, ToolError

NOT_INSTALLED = 3


def installed():
    """True if cocotb and what it needs are there."""
    return all(importlib.util.find_spec(name) for name in ("cocotb", "find_libpython"))


def measure(requests):
    """Builds and runs; returns what the test wrote."""
    import find_libpython  # pylint: disable=import-outside-toplevel
    from cocotb_tools.runner import get_runner  # pylint: disable=import-outside-toplevel

    if find_libpython.find_libpython() is None:
        raise ToolError("cocotb needs the shared library of Python: on Debian and Ubuntu "
                        "`apt-get install libpython3-dev`")
    config = json.loads(requests.read_text(encoding="utf-8"))["config"]
    verilator = pathlib.Path(common.verilator())
    if verilator.is_absolute():
        os.environ["PATH"] = f"{verilator.parent}{os.pathsep}{os.environ['PATH']}"
    if "VERILATOR" not in os.environ:
        os.environ.pop("VERILATOR_ROOT", None)
    # For the make that the runner calls. Some builds of Verilator lack the flag that takes a
    # precompiled header in.
    os.environ["MAKEFLAGS"] = "OPT_FAST=-O3 CFG_CXXFLAGS_PCH_I=-include"
    out = BUILD / "cocotb" / f"result-{config}.json"
    out.unlink(missing_ok=True)
    folder = BUILD / "cocotb" / config
    runner = get_runner("verilator")
    try:
        # The flags of tb/verilated/build.rs; a VPI needs its own on top, which the runner adds.
        runner.build(
            sources=[ROOT / name for name in common.file_list()],
            includes=[ROOT / "rtl"], parameters=common.configs()[config], hdl_toplevel="tpt_top",
            build_args=["-O3", "--assert", "--x-assign", "fast", "--x-initial", "unique",
                        "-Wno-fatal", str(ROOT / "rtl" / "lint" / "verilator.vlt")],
            timescale=("1ns", "1ps"), build_dir=folder, log_file=BUILD / "cocotb" / "build.log")
    except subprocess.CalledProcessError as error:
        raise ToolError("the model for cocotb was not built; the output is in "
                        "build/cocotb/build.log") from error
    runner.test(
        test_module="cocotb_tpt", hdl_toplevel="tpt_top", build_dir=folder, test_dir=folder,
        extra_env={"TPT_REQUESTS": str(requests.resolve()), "TPT_RESULT": str(out),
                   "COCOTB_LOG_LEVEL": "WARNING"},
        log_file=BUILD / "cocotb" / "test.log")
    if not out.exists():
        raise ToolError("the cocotb test failed; its output is in build/cocotb/test.log")
    return json.loads(out.read_text(encoding="utf-8"))


def main():
    """Measures, or says whether it could."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--probe", action="store_true", help="only say whether cocotb is there")
    parser.add_argument("requests", nargs="?", type=pathlib.Path, metavar="FILE")
    args = parser.parse_args()
    if not installed():
        print("cocotb is not installed: make bench-cocotb installs and runs it "
              "(or pip install -r tools/requirements-cocotb.txt)")
        return NOT_INSTALLED
    if args.probe:
        return 0
    if args.requests is None:
        parser.error("expected the file that `tpt bench cocotb` writes")
    try:
        print(json.dumps(measure(args.requests)))
    except ToolError as error:
        sys.exit(f"cocotb_bench: {error}")
    return 0


if __name__ == "__main__":
    common.program(main)
