#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the test plan docs/testplan.toml against the project, and writes the feature table of
README.md from it.

Every test, mutant and target of the Makefile that the plan names must exist, what it calls proved
must be proved by the tables of docs/formal.md and docs/equivalence.md, and every mutant and
everything that is proved must stand in the plan.

    tools/testplan.py [--check]
"""

import argparse
import re
import tomllib

import common
from common import ROOT, ToolError

PLAN = "docs/testplan.toml"
MARK = "features"
# Pages with a table of proofs, by the field of the plan: name in the first column, result in the
# fourth.
PROOFS = {"proven": "docs/formal.md", "equal": "docs/equivalence.md"}
KEYS = {"id", "feature", "built", "state", "stimulus",
        "check", "tests", "mutants", "commands", *PROOFS}
PYTHON_TEST = re.compile(r"^class (\w+)|^    def (test_\w+)", re.M)
TEST = re.compile(r"#\[test\]\s*(?:#\[[^\]]*\]\s*)*(?:pub )?fn (\w+)")
TARGET = re.compile(r"^([a-z][a-z-]*):", re.M)


def tests_of(path):
    """Names of the tests in a Rust file; in a Python file with their class: `Class.test_name`."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".rs":
        return set(TEST.findall(text))
    names, owner = set(), ""
    for found in PYTHON_TEST.finditer(text):
        owner = found[1] or owner
        if found[2]:
            names.add(f"{owner}.{found[2]}")
    return names


def proved(text):
    """What a page with a table of proofs calls proved, and what else stands there: of a name with
    several rows, one must say so, and the others must not say less than `covered` or `bounded`."""
    results, name = {}, ""
    table = text.partition("<!-- proofs -->")[2].partition("<!-- end proofs -->")[0]
    for line in table.split("\n"):
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) < 4 or cells[3] in ("result", "---"):
            continue
        name = re.sub(r"`| \(quick\)", "", cells[0]) or name
        results.setdefault(name, []).append(cells[3].split(",")[0])
    good = {name for name, told in results.items()
            if "proved" in told and set(told) <= {"proved", "covered", "bounded"}}
    return good, set(results) - good


def problems_of(features, root=ROOT):
    """What the plan names that does not exist, and what it lacks."""
    problems, seen, files = [], set(), {}
    mutants = {m["name"] for m in tomllib.loads(
        (root / "tb/mutants.toml").read_text(encoding="utf-8"))["mutant"]}
    targets = set(TARGET.findall((root / "Makefile").read_text(encoding="utf-8")))
    pages = {field: proved((root / page).read_text(encoding="utf-8"))
             for field, page in PROOFS.items()}
    for number, feature in enumerate(features, 1):
        name = feature.get("id", f"feature {number}")
        unknown = set(feature) - KEYS
        if unknown:
            problems.append(f"{name}: no such field: {', '.join(sorted(unknown))}")
        if name in seen:
            problems.append(f"{name}: stands twice")
        seen.add(name)
        if not feature.get("feature"):
            problems.append(f"{name}: `feature` is missing")
        if feature.get("built", True):
            for field in ("stimulus", "check", "tests"):
                if not feature.get(field):
                    problems.append(f"{name}: `{field}` is missing")
        for test in feature.get("tests", []):
            found = re.fullmatch(r"(\w+)/(\w+)::([\w.]+)", test)
            if not found:
                problems.append(f"{name}: {test}: should be CRATE/FILE::TEST")
                continue
            path = root / "tb" / found[1] / "tests" / f"{found[2]}.rs"
            if found[1] == "tools":
                path = root / "tools" / "tests" / f"{found[2]}.py"
            if path not in files:
                files[path] = tests_of(path) if path.exists() else None
            if files[path] is None:
                problems.append(f"{name}: {test}: there is no file {path.relative_to(root)}")
            elif found[3] not in files[path]:
                problems.append(f"{name}: {test}: there is no such test in that file")
        for field, known, what in (("mutants", mutants, "in tb/mutants.toml"),
                                   ("commands", targets, "in the Makefile"),
                                   *((field, pages[field][0], f"in the table of {page}")
                                     for field, page in PROOFS.items())):
            listed = feature.get(field, [])
            for item in listed:
                if field in pages and item in pages[field][1]:
                    problems.append(f"{name}: {field}: {item} is not proved {what}")
                elif item not in known:
                    problems.append(f"{name}: {field}: there is no {item} {what}")
            for item in sorted({i for i in listed if listed.count(i) > 1}):
                problems.append(f"{name}: {field}: {item} stands twice")
    planned = {mutant for feature in features for mutant in feature.get("mutants", [])}
    problems += [f"tb/mutants.toml: {name} stands in no feature of the plan"
                 for name in sorted(mutants - planned)]
    for field, page in PROOFS.items():
        planned = {item for feature in features for item in feature.get(field, [])}
        problems += [f"{page}: {name} is proved, and stands as `{field}` in no feature of the plan"
                     for name in sorted(pages[field][0] - planned)]
    return problems


def count(number, word):
    """`1 test`, `2 tests`."""
    return f"{number} {word}" + ("" if number == 1 else "s")


def feature_table(features):
    """The table of README.md."""
    rows = ["| feature | implemented | tested | proven |", "| --- | --- | --- | --- |"]
    for feature in features:
        built = feature.get("built", True)
        tested = "–"
        if built:
            tested = count(len(feature["tests"]), "test")
            if feature.get("mutants"):
                tested += ", " + count(len(feature["mutants"]), "mutant")
        state = feature.get("state", "yes" if built else "no")
        proven = ", ".join(feature.get("proven", []))
        if feature.get("equal"):
            proven += (", " if proven else "") + count(len(feature["equal"]), "equivalence")
        proven = proven or "–"
        rows.append(f"| {feature['feature']} | {state} | {tested} | {proven} |")
    return "\n".join(rows)


def main():
    """Checks, then writes or compares."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare only")
    args = parser.parse_args()
    try:
        features = tomllib.loads((ROOT / PLAN).read_text(encoding="utf-8"))["feature"]
    except (tomllib.TOMLDecodeError, KeyError) as error:
        raise ToolError(f"{PLAN}: {error}") from error
    problems = problems_of(features)
    for problem in problems:
        print(f"{PLAN}: {problem}")
    if problems:
        print(f"testplan: {count(len(problems), 'problem')}")
        return 1
    path = ROOT / "README.md"
    old = path.read_text(encoding="utf-8")
    new = common.with_table("README.md", old, MARK, feature_table(features))
    if old != new and args.check:
        print("testplan: the feature table of README.md is not that of the plan; "
              "run tools/testplan.py")
        return 1
    if old != new:
        path.write_text(new, encoding="utf-8")
    tests = {test for feature in features for test in feature.get("tests", [])}
    mutants = {mutant for feature in features for mutant in feature.get("mutants", [])}
    print(f"testplan: {count(len(features), 'feature')}, {count(len(tests), 'test')} and "
          f"{count(len(mutants), 'mutant')}, all there")
    return 0


if __name__ == "__main__":
    common.program(main)
