#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants the faults of tb/mutants.toml in the RTL, one at a time; the tests must fail on each.

The work is done in a copy under build/mutants, where only the model of the small configuration (or
of those that a mutant names) is built again for each mutant; what the copy depends on is shared
with the ordinary build. First the unchanged copy must pass the tests. A mutant that does not build
is an error of tb/mutants.toml, not a success.

With --run the judge is not the tests but what `make run` shows: the textbook scenario and the
recorded verdicts, in the small configuration. Only the mutants of the check's rules are tried then;
rules 6 and 11 are about windows, which no command can make yet, so no scenario can show them.

    tools/mutants.py [--run] [--sample N --seed S] [--only NAME]... [--check] [--list]
                     [--timeout SECONDS]
"""

import argparse
import os
import random
import re
import shutil
import time
import tomllib

import common
from common import BUILD, ROOT, ToolError

LIST = "tb/mutants.toml"
WORK = BUILD / "mutants"
TREE = WORK / "tree"
# What the copy does not need.
LEFT_OUT = ("docs/", "data/", ".ci/", "constraints/")
# The check's rules of docs/rules.md; each must have a mutant.
RULES = [str(number) for number in range(13)]
# Tests that need the model of another configuration; they are left out if it is not built.
OTHERS = {"default": ["default_configuration", "boundary_matrix_default"],
          "large": ["large_configuration"], "lanes2": ["two_lanes"], "lanes4": ["four_lanes"]}
# Rules that `make run` cannot show.
WINDOW_RULES = ("6", "11")


class Mutant:
    """One planted fault."""

    def __init__(self, entry):
        try:
            self.name, self.rule = entry["name"], str(entry["rule"])
            self.file, self.find, self.replace = entry["file"], entry["find"], entry["replace"]
        except KeyError as error:
            raise ToolError(f"{LIST}: mutant {entry.get('name', '?')} has no {error}") from error
        self.test = entry.get("test", "rules")
        self.package = entry.get("package", "tpt-bench")
        self.configs = entry.get("configs", "small")
        self.find = self.find.strip("\n")
        self.replace = self.replace.strip("\n")

    def apply(self, text):
        """The text of the file with the fault."""
        count = text.count(self.find)
        if count != 1:
            raise ToolError(f"{LIST}: {self.name}: the text to find is {count} times in "
                            f"{self.file}, must be there once")
        if self.find == self.replace:
            raise ToolError(f"{LIST}: {self.name}: changes nothing")
        return text.replace(self.find, self.replace)


def read_list(root=ROOT):
    """All mutants, each checked to fit its file; every rule must have one."""
    path = root / LIST
    if not path.exists():
        raise ToolError(f"{LIST} does not exist")
    with open(path, "rb") as file:
        mutants = [Mutant(entry) for entry in tomllib.load(file)["mutant"]]
    names = [mutant.name for mutant in mutants]
    for name in names:
        if names.count(name) > 1:
            raise ToolError(f"{LIST}: the name {name} is there twice")
    for mutant in mutants:
        source = root / mutant.file
        if not source.exists():
            raise ToolError(f"{LIST}: {mutant.name}: {mutant.file} does not exist")
        mutant.apply(source.read_text(encoding="utf-8"))
    missing = [rule for rule in RULES if not any(m.rule.split()[0] == rule for m in mutants)]
    if missing:
        raise ToolError(f"{LIST}: no mutant for rule {', '.join(missing)}")
    return mutants


def copy_tree():
    """Brings the copy up to date; files that are the same keep their time."""
    wanted = {name for name in common.tracked_files() if not name.startswith(LEFT_OUT)}
    for name in wanted:
        source, goal = ROOT / name, TREE / name
        if goal.exists() and goal.read_bytes() == source.read_bytes():
            continue
        goal.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, goal)
        shutil.copymode(source, goal)
    for path in TREE.rglob("*"):
        if path.is_file() and not path.is_symlink() and str(path.relative_to(TREE)) not in wanted \
                and ".venv" not in path.relative_to(TREE).parts:
            path.unlink()
    link = TREE / ".venv"
    if not link.is_symlink():
        link.symlink_to(ROOT / ".venv")


def cargo_test(package, test, timeout, log, configs="small"):
    """Runs one test file of a package in the copy, with the models of these configurations."""
    command = [os.environ.get("CARGO", "cargo"), "test", "--release", "-p", package,
               "--test", test, "--no-fail-fast", "--"]
    built = configs.split(",")
    for name in (name for other, names in OTHERS.items() if other not in built for name in names):
        command += ["--skip", name]
    target = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
    env = common.environment(TPT_CONFIGS=configs, TPT_TREE=str(TREE),
                             CARGO_TARGET_DIR=str(target))
    return common.run(command, timeout, cwd=TREE, env=env, log=log, heartbeat=lambda seconds, line:
                      print(f"mutants: ... {seconds:.0f} s; {line[:100]}", flush=True))


def make_run(timeout, log):
    """Builds the command in the copy and does what `make run` does, in the small configuration."""
    target = WORK / "target-run"
    env = common.environment(TPT_CONFIGS="small", CARGO_TARGET_DIR=str(target))
    build = [os.environ.get("CARGO", "cargo"), "build", "--release", "-p", "tpt"]
    result = common.run(build, timeout, cwd=TREE, env=env, log=log)
    if result.code != 0:
        return "does not build" if result.code is not None else "build ran out of time", ""
    tpt = str(target / "release" / "tpt")
    verdicts = sorted(str(path) for path in (ROOT / "data/conformance").glob("*.jsonl.gz"))
    for command in ([tpt, "run", "--config", "small", str(ROOT / "scenarios/source-text.tpt")],
                    [tpt, "replay", "--config", "small", *verdicts]):
        result = common.run(command, timeout, cwd=ROOT, env=env, log=log)
        if result.code is None:
            return "killed (hang)", "tpt " + command[1]
        if result.code != 0:
            return "killed", "tpt " + command[1]
    return "survived", ""


def verdict(result):
    """`killed`, `survived`, `killed (hang)`, `does not build` or `was not built`."""
    built = re.search(r"^\s+Running ", result.output, re.M)
    if not built:
        return "does not build"
    if not re.search(r"^\s+Compiling tpt-verilated ", result.output, re.M):
        return "was not built"
    if result.code is None:
        return "killed (hang)"
    return "survived" if result.code == 0 else "killed"


def killers(output):
    """Names of the failed tests."""
    return sorted(set(re.findall(r"^test (\S+) \.\.\. FAILED$", output, re.M)))


def try_mutant(mutant, timeout, by_run=False):
    """Plants one mutant, runs the tests, takes it out again; returns (verdict, tests, seconds)."""
    path = TREE / mutant.file
    original = path.read_text(encoding="utf-8")
    log = WORK / "logs" / f"{mutant.name}.log"
    start = time.monotonic()
    try:
        path.write_text(mutant.apply(original), encoding="utf-8")
        if by_run:
            text, by = make_run(timeout, log)
            return text, [by] if by else [], time.monotonic() - start
        result = cargo_test(mutant.package, mutant.test, timeout, log, mutant.configs)
    finally:
        path.write_text(original, encoding="utf-8")
    if result.code is None and not re.search(r"^\s+Running ", result.output, re.M):
        return "build ran out of time", [], time.monotonic() - start
    return verdict(result), killers(result.output), time.monotonic() - start


def choose(mutants, args):
    """The mutants to try: by name, or a sample over different files and rules."""
    if args.run:
        rules = [rule for rule in RULES if rule not in WINDOW_RULES]
        mutants = [mutant for mutant in mutants if mutant.rule.split()[0] in rules]
    if args.only:
        known = {mutant.name: mutant for mutant in mutants}
        unknown = [name for name in args.only if name not in known]
        if unknown:
            raise ToolError(f"there is no mutant {', '.join(unknown)} in {LIST}")
        return [known[name] for name in args.only]
    if args.sample is None:
        return mutants
    return random.Random(args.seed).sample(mutants, min(args.sample, len(mutants)))


def main():
    """Tries the chosen mutants and reports."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sample", type=int, metavar="N", help="try only N, chosen by --seed")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--only", action="append", metavar="NAME")
    parser.add_argument("--run", action="store_true",
                        help="judge by what `make run` shows, not by the tests")
    parser.add_argument("--check", action="store_true", help="only check that all of them fit")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--timeout", type=int, default=600, metavar="SECONDS",
                        help="for building and testing one mutant")
    args = parser.parse_args()
    mutants = read_list()
    if args.list:
        print(common.table([(m.name, m.rule, m.file) for m in mutants], ["name", "rule", "file"]))
        return 0
    if args.check:
        print(f"mutants: {len(mutants)} fit their files")
        return 0
    chosen = choose(mutants, args)
    (WORK / "logs").mkdir(parents=True, exist_ok=True)
    copy_tree()
    if args.run:
        text, by = make_run(3 * args.timeout, WORK / "logs" / "unchanged-run.log")
        if text != "survived":
            print(f"mutants: the unchanged copy must pass, but: {text} {by}")
            return 1
    kinds = {(m.configs, m.package, m.test) for m in chosen} if not args.run else set()
    for configs, package, test in sorted(kinds):
        print(f"mutants: the unchanged copy, test {test}, {configs}", flush=True)
        log = WORK / "logs" / f"unchanged-{test}.log"
        result = cargo_test(package, test, 2 * args.timeout, log, configs)
        if result.code != 0:
            print(result.output[-4000:])
            print(f"mutants: the unchanged copy must pass the test {test}, but: {verdict(result)}")
            return 1
    rows = []
    for number, mutant in enumerate(chosen, 1):
        text, tests, seconds = try_mutant(mutant, args.timeout, args.run)
        by = tests[0] + (f" and {len(tests) - 1} more" if len(tests) > 1 else "") if tests else ""
        rows.append((mutant.name, mutant.rule, text, f"{seconds:.0f}", by))
        print(f"mutants: {number}/{len(chosen)} {mutant.name}: {text} ({seconds:.0f} s)",
              flush=True)
    print("\n" + common.table(rows, ["mutant", "rule", "result", "seconds", "failed test"]))
    killed = sum(row[2].startswith("killed") for row in rows)
    survivors = [row[0] for row in rows if row[2] == "survived"]
    broken = [row[0] for row in rows if not row[2].startswith("killed") and row[2] != "survived"]
    print(f"\nmutants: {killed} of {len(rows)} killed")
    if survivors:
        print(f"mutants: survived: {', '.join(survivors)}")
    if broken:
        print(f"mutants: did not build: {', '.join(broken)}")
    return 1 if survivors or broken else 0


if __name__ == "__main__":
    common.program(main)
