#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Coverage of the RTL by the tests: lines, branches, cover points, and the cases that were judged.

The models are built with counters (feature `cov`; tb/verilated/sv/cover has the cover points),
all tests of tb/bench and tb/tpt run, and what their processes have written is added up:

* line and branch: as Verilator counts them, over all instances and parameters of a block. A line
  that nothing runs must be waived with a reason in tb/coverage.toml; a waiver that is not needed
  is an error, too. With --toggle bits of signals are counted as well.
* points: the cover properties.
* cases: what the scoreboard has judged (`goals` below): each operation, granted and out of bounds,
  with kind of table, page size and place in the region; each syndrome with each operation; each
  command done and each status given. Syndromes, operations, commands and statuses are all that
  tb/golden/src/types.rs has, seen or not.

    tools/coverage.py [--configs A,B] [--toggle] [--jobs N] [--timeout SECONDS]
    tools/coverage.py --report      only from what a former run has left
    tools/coverage.py --write       ... and renew docs/data/coverage.json and docs/coverage.md

The report is printed; build/coverage has lcov.info, and html/ if `genhtml` (Debian: lcov) is there.
The exit code is 1 if a line, point or case is neither met nor waived.
"""

import argparse
import collections
import itertools
import json
import os
import re
import shutil
import tomllib

import common
from common import BUILD, ROOT, ToolError

WORK = BUILD / "coverage"
WAIVERS = "tb/coverage.toml"
TYPES = "tb/golden/src/types.rs"
RESULT, PAGE, MARK = "docs/data/coverage.json", "docs/coverage.md", "coverage"
CARGO = os.environ.get("CARGO", "cargo")
# Written by another program, or no hardware: not counted.
LEFT_OUT = ("rtl/gen/",)

POINT = re.compile(r"\x01([^\x02]+)\x02([^\x01]*)")


class Counter:
    """A counter of Verilator: its file, line, kind, the lines it is about, a name, its count."""

    def __init__(self, key, count):
        fields = dict(POINT.findall(key))
        self.file, self.line = fields["f"], int(fields["l"])
        self.kind = fields["page"].split("/")[0].removeprefix("v_")
        self.name = fields.get("o", "")
        self.column = fields.get("n", "")
        self.lines = set()
        for part in fields.get("S", fields["l"]).split(","):
            first, _, last = part.partition("-")
            self.lines.update(range(int(first), int(last or first) + 1))
        self.count = count

    @property
    def key(self):
        """The same for all instances and parameters of a block."""
        return self.file, self.line, self.column, self.kind, self.name


def read_counters(folder):
    """All counters that processes have left in a folder, added up."""
    found = {}
    for path in sorted(folder.glob("*.dat")):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            match = re.fullmatch(r"C '(.*)' (\d+)", line)
            if not match:
                continue
            counter = Counter(match[1], int(match[2]))
            if counter.key in found:
                found[counter.key].count += counter.count
                found[counter.key].lines |= counter.lines
            else:
                found[counter.key] = counter
    return list(found.values())


def read_cases(folder):
    """The cases that the scoreboards have judged, {case: count}."""
    cases = collections.Counter()
    for path in sorted(folder.glob("*.points")):
        for line in path.read_text(encoding="utf-8").splitlines():
            case, _, count = line.rpartition(" ")
            cases[case] += int(count)
    return cases


class Waivers:
    """Lines, branches, points and cases that need not be met, each with a reason."""

    def __init__(self, root=ROOT):
        with open(root / WAIVERS, "rb") as file:
            tables = tomllib.load(file)
        self.lines, self.names = tables.get("line", []), tables.get("name", [])
        self.used = set()
        for waiver in self.lines + self.names:
            wanted = ("file", "text", "reason") if waiver in self.lines else ("match", "reason")
            missing = [key for key in wanted if not waiver.get(key)]
            if missing:
                raise ToolError(f"{WAIVERS}: {waiver}: {', '.join(missing)} is missing")

    def line(self, name, text):
        """Is a line of a file waived?"""
        for number, waiver in enumerate(self.lines):
            if waiver["file"] == name and waiver["text"] in text:
                self.used.add(("line", number))
                return True
        return False

    def name(self, name):
        """Is a point or a case waived?"""
        for number, waiver in enumerate(self.names):
            if re.fullmatch(waiver["match"], name):
                self.used.add(("name", number))
                return True
        return False

    def idle(self):
        """Waivers that nothing needed."""
        return ([waiver["text"] for number, waiver in enumerate(self.lines)
                 if ("line", number) not in self.used]
                + [waiver["match"] for number, waiver in enumerate(self.names)
                   if ("name", number) not in self.used])


class Share:
    """How many of how many are met, the waived ones, and those that are missing."""

    def __init__(self):
        self.met, self.waived, self.missing = 0, 0, []

    def add(self, met, waived, name):
        """One more; `waived` is a function that is only asked if it is not met."""
        if met:
            self.met += 1
        elif waived():
            self.waived += 1
        else:
            self.missing.append(name)

    @property
    def total(self):
        """All."""
        return self.met + self.waived + len(self.missing)

    def text(self):
        """For people."""
        percent = 100 * (self.met + self.waived) / self.total if self.total else 100
        return (f"{self.met} of {self.total} met, {self.waived} waived, "
                f"{len(self.missing)} missing ({percent:.1f} %)")

    def data(self):
        """For docs/data."""
        return {"met": self.met, "waived": self.waived, "missing": len(self.missing)}




def codes(name, root=ROOT):
    """The values of an enumeration of tb/golden/src/types.rs, by name."""
    text = (root / TYPES).read_text(encoding="utf-8")
    body = re.search(rf"^    {name} \{{\n(.*?)^    \}}", text, re.M | re.S)
    found = re.findall(r"^        (\w+) = \d+,", body[1], re.M) if body else []
    if not found:
        raise ToolError(f"{TYPES} has no enumeration {name}")
    return tuple(found)


OPS = codes("Op")
LEVELS = ("inline", "flat", "l1", "l2", "l3")
PAGES = ("4K", "to64K", "to1M", "to512M", "from1G")
LOCAL = ("LocalRead", "LocalWrite")
# What no request can be answered: windows have no L_Key, every region may be read by its owner, and
# only an atomic has to be aligned, and 8 bytes long before anything else is looked at.
IMPOSSIBLE = {("Rights", "LocalRead"), ("Length", "RemoteAtomic"),
              *itertools.product(("Qp", "Parent"), LOCAL),
              *(("Align", op) for op in OPS if op != "RemoteAtomic")}
INSIDE = ("start", "inside", "end", "whole")
OUTSIDE = ("before", "past", "behind", "wrap")


def goals(seen):
    """The cases that must be met: {family: [(name, met)]}, from the cases that were seen."""
    answers = collections.defaultdict(set)
    for case in seen:
        words = case.split()
        if words[0] == "answer":
            answers[words[1], words[2]].add(tuple(words[3:]))
    families = collections.defaultdict(list)

    def goal(family, name, met):
        families[family].append((name, bool(met)))

    granted = {op: answers["Ok", op] for op in OPS}
    for op, level, page in itertools.product(OPS, LEVELS, PAGES):
        goal("granted: operation, kind of table, page size", f"Ok {op} {level} {page}",
             any(case[:2] == (level, page) for case in granted[op]))
    for op, place, cross in itertools.product(OPS, INSIDE, ("one-page", "pages")):
        if (op, cross) == ("RemoteAtomic", "pages"):
            continue  # 8 bytes, aligned
        goal("granted: operation, place, pages", f"Ok {op} {place} {cross}",
             any(case[2:4] == (place, cross) for case in granted[op]))
    for level, page, place in itertools.product(LEVELS, PAGES, INSIDE):
        goal("granted: kind of table, page size, place", f"Ok {level} {page} {place}",
             any(case[:3] == (level, page, place) for op in OPS for case in granted[op]))
    for op, place in itertools.product(OPS, OUTSIDE):
        goal("out of bounds: operation, place", f"Bounds {op} {place}",
             any(case[2] == place for case in answers["Bounds", op] | answers["Wrap", op]))
    for level, page, place in itertools.product(LEVELS, PAGES, OUTSIDE):
        goal("out of bounds: kind of table, page size, place", f"Bounds {level} {page} {place}",
             any(case[:3] == (level, page, place) for op in OPS
                 for case in answers["Bounds", op] | answers["Wrap", op]))
    for syndrome, op in itertools.product(codes("Syndrome"), OPS):
        if (syndrome, op) not in IMPOSSIBLE:
            goal("syndrome, operation", f"{syndrome} {op}", answers[syndrome, op])
    commands = [case.split()[1:] for case in seen if case.startswith("command ")]
    for op in codes("CmdOp"):
        goal("commands done", f"{op} Ok", [op, "Ok"] in commands)
    for status in codes("Status"):
        goal("statuses of commands", status, any(case[1] == status for case in commands))
    return families


def judge(counters, cases, waivers):
    """{measure: Share}."""
    shares = {name: Share() for name in ("lines", "branches", "points", "toggles")}
    blocks = collections.defaultdict(list)
    for counter in counters:
        if not counter.file.startswith("rtl/") and counter.kind != "user":
            continue
        if counter.file.startswith(LEFT_OUT):
            continue
        if counter.kind in ("line", "branch"):
            for line in counter.lines:
                blocks[counter.file, line].append(counter)
    texts = {name: (ROOT / name).read_text(encoding="utf-8").splitlines()
             for name in {name for name, _ in blocks}}

    def text_of(name, line):
        return texts[name][line - 1] if name in texts and line <= len(texts[name]) else ""

    for (name, line), found in sorted(blocks.items()):
        shares["lines"].add(all(counter.count for counter in found),
                            lambda n=name, k=line: waivers.line(n, text_of(n, k)),
                            f"{name}:{line}: {text_of(name, line).strip()}")
    for counter in sorted(counters, key=lambda c: c.key):
        measure = {"branch": "branches", "user": "points", "toggle": "toggles"}.get(counter.kind)
        if not measure or counter.file.startswith(LEFT_OUT):
            continue
        if counter.kind != "user" and not counter.file.startswith("rtl/"):
            continue
        name = (counter.name if counter.kind == "user"
                else f"{counter.file}:{counter.line}: {counter.name}")
        waived = (lambda n=name: waivers.name(n)) if counter.kind == "user" else (
            lambda c=counter: waivers.line(c.file, text_of(c.file, c.line)))
        shares[measure].add(counter.count, waived, name)
    for family, found in goals(cases).items():
        share = shares[f"cases: {family}"] = Share()
        for name, met in found:
            share.add(met, lambda n=name: waivers.name(n), name)
    return {name: share for name, share in shares.items() if share.total}


def write_lcov(counters, path):
    """The counters of lines and branches, as lcov's tools read them."""
    files = collections.defaultdict(list)
    for counter in counters:
        if counter.file.startswith("rtl/") and counter.kind in ("line", "branch"):
            files[counter.file].append(counter)
    out = ["TN:"]
    for name, found in sorted(files.items()):
        out.append(f"SF:{ROOT / name}")
        lines = collections.defaultdict(list)
        for counter in found:
            for line in counter.lines:
                lines[line].append(counter.count)
        for number, counter in enumerate(sorted(found, key=lambda c: c.key)):
            if counter.kind == "branch":
                out.append(f"BRDA:{counter.line},{number},0,{counter.count or '-'}")
        out += [f"DA:{line},{min(counts)}" for line, counts in sorted(lines.items())]
        out.append("end_of_record")
    path.write_text("\n".join(out) + "\n", encoding="utf-8")


def measure(args):
    """Builds with counters, runs all tests."""
    data = WORK / "data"
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True)
    target = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "coverage"
    env = common.environment(TPT_COVERAGE_DIR=str(data), CARGO_TARGET_DIR=str(target),
                             TPT_TOGGLE="1" if args.toggle else "0")
    if args.configs:
        env["TPT_CONFIGS"] = args.configs
    command = [CARGO, "test", "--release", "--no-fail-fast", "-p", "tpt-bench", "-p", "tpt",
               "--features", "tpt-bench/cov,tpt/cov", "--tests"]

    def say(past, line):
        print(f"coverage: {past:.0f} s; {line[:90]}", flush=True)

    built = common.run([*command, "--no-run"], args.timeout, env=env, log=WORK / "build.log",
                       heartbeat=say)
    if not built.ok:
        raise ToolError("the tests do not build, see build/coverage/build.log")
    print(f"coverage: built in {built.seconds:.0f} s", flush=True)
    ran = common.run(command, args.timeout, env=env, log=WORK / "test.log", heartbeat=say)
    failed = re.findall(r"^    (\S+)$", ran.output, re.M)
    print(f"coverage: tests in {ran.seconds:.0f} s" +
          (f"; failed: {', '.join(sorted(set(failed)))}" if not ran.ok else ""), flush=True)
    if ran.code is None:
        raise ToolError("the tests ran out of time, see build/coverage/test.log")
    return ran.ok


def page_table(result):
    """The table of docs/coverage.md."""
    rows = ["| measure | met | waived | missing | share |", "| --- | --- | --- | --- | --- |"]
    for name, counts in result.items():
        total = sum(counts.values())
        share = 100 * (total - counts["missing"]) / total if total else 100
        rows.append(f"| {name} | {counts['met']} | {counts['waived']} | {counts['missing']} | "
                    f"{share:.1f} % |")
    return "\n".join(rows)


def check():
    """Is the table that of what is kept?"""
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    rows = page_table(json.loads((ROOT / RESULT).read_text(encoding="utf-8")))
    if text != common.with_table(PAGE, text, MARK, rows):
        raise ToolError(f"the table of {PAGE} is not that of {RESULT}: run tools/coverage.py "
                        "--write")


def report(args):
    """Adds up, prints, writes; True if nothing is missing."""
    data = WORK / "data"
    counters, cases = read_counters(data), read_cases(data)
    if not counters or not cases:
        raise ToolError("there is nothing in build/coverage/data; run without --report")
    waivers = Waivers()
    shares = judge(counters, cases, waivers)
    for name, share in shares.items():
        if share.missing and name != "toggles":
            print(f"\n{name}, missing:")
            print("\n".join(f"  {line}" for line in share.missing[:args.show]))
            if len(share.missing) > args.show:
                print(f"  ... and {len(share.missing) - args.show} more (--show)")
    print()
    for name, share in shares.items():
        print(f"coverage: {name}: {share.text()}")
    idle = waivers.idle()
    for text in idle:
        print(f"coverage: the waiver `{text}` is not needed")
    write_lcov(counters, WORK / "lcov.info")
    if shutil.which("genhtml"):
        made = common.run(["genhtml", "--quiet", "--branch-coverage", "-o", str(WORK / "html"),
                           str(WORK / "lcov.info")], 300, log=WORK / "genhtml.log")
        print("coverage: build/coverage/html/index.html" if made.ok else
              "coverage: genhtml failed, see build/coverage/genhtml.log")
    if args.write:
        result = {name: share.data() for name, share in shares.items()}
        (ROOT / RESULT).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        page = ROOT / PAGE
        page.write_text(common.with_table(PAGE, page.read_text(encoding="utf-8"), MARK,
                                          page_table(result)), encoding="utf-8")
    missing = sum(len(share.missing) for name, share in shares.items() if name != "toggles")
    return not missing and not idle


def main():
    """Measures and reports."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--configs", metavar="A,B", help="only these models")
    parser.add_argument("--toggle", action="store_true", help="count bits of signals, too")
    parser.add_argument("--report", action="store_true", help="only report")
    parser.add_argument("--write", action="store_true", help="report, and renew the page")
    parser.add_argument("--check", action="store_true",
                        help="hold the table against the data, and no more")
    parser.add_argument("--show", type=int, default=40, metavar="N", help="lines of each kind")
    parser.add_argument("--timeout", type=int, default=3600, metavar="SECONDS",
                        help="for the build, and for the tests")
    args = parser.parse_args()
    if args.check:
        check()
        return 0
    WORK.mkdir(parents=True, exist_ok=True)
    passed = True
    if not args.report and not args.write:
        passed = measure(args)
    return 0 if report(args) and passed else 1


if __name__ == "__main__":
    common.program(main)
