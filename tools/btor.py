# SPDX-License-Identifier: Apache-2.0
"""Unrolls a design that Yosys wrote as BTOR2, and asks an SMT solver (Bitwuzla) about it.

The first clock begins with registers of any value, the inputs are free in every clock. So what is
proved about the last of n clocks holds n clocks after any state: for a pipeline shorter than that,
always.
"""

import argparse
import json
import pathlib
import sys

import bitwuzla
from bitwuzla import Kind

UNARY = {"not": Kind.BV_NOT, "neg": Kind.BV_NEG, "redand": Kind.BV_REDAND,
         "redor": Kind.BV_REDOR, "redxor": Kind.BV_REDXOR}
BINARY = {"add": Kind.BV_ADD, "sub": Kind.BV_SUB, "mul": Kind.BV_MUL, "and": Kind.BV_AND,
          "or": Kind.BV_OR, "xor": Kind.BV_XOR, "xnor": Kind.BV_XNOR, "nand": Kind.BV_NAND,
          "nor": Kind.BV_NOR, "concat": Kind.BV_CONCAT, "sll": Kind.BV_SHL, "srl": Kind.BV_SHR,
          "sra": Kind.BV_ASHR}
COMPARE = {"eq": Kind.EQUAL, "neq": Kind.DISTINCT, "ult": Kind.BV_ULT, "ulte": Kind.BV_ULE,
           "ugt": Kind.BV_UGT, "ugte": Kind.BV_UGE, "slt": Kind.BV_SLT, "slte": Kind.BV_SLE,
           "sgt": Kind.BV_SGT, "sgte": Kind.BV_SGE}


class BtorError(Exception):
    """The file says something that is not known here."""


class Design:
    """The lines of a BTOR2 file."""

    def __init__(self, text):
        self.width, self.nodes, self.next = {}, {}, {}
        self.states, self.inputs, self.bads, self.constraints = {}, {}, [], []
        self.outputs = {}
        for number, line in enumerate(text.splitlines(), 1):
            words = line.split(";", 1)[0].split()
            if not words:
                continue
            try:
                self._line(int(words[0]), words[1], words[2:])
            except (ValueError, IndexError, KeyError) as error:
                raise BtorError(f"line {number}: cannot read `{line}`: {error!r}") from error

    def _line(self, node, op, rest):
        if op == "sort":
            if rest[0] != "bitvec":
                raise BtorError(f"sort {rest[0]}: only bit vectors are known, map memories first")
            self.width[node] = int(rest[1])
        elif op in ("input", "state"):
            kept = self.inputs if op == "input" else self.states
            kept[node] = rest[1] if len(rest) > 1 else f"n{node}"
            self.nodes[node] = (op, self.width[int(rest[0])], (), ())
        elif op == "next":
            self.next[int(rest[1])] = int(rest[2])
        elif op == "output":
            self.outputs[rest[1] if len(rest) > 1 else f"n{node}"] = int(rest[0])
        elif op == "bad":
            self.bads.append(int(rest[0]))
        elif op == "constraint":
            self.constraints.append(int(rest[0]))
        elif op == "init":
            raise BtorError("a register with an initial value: every state must be possible")
        elif op in ("const", "constd", "consth", "zero", "one", "ones"):
            width = self.width[int(rest[0])]
            value = {"zero": 0, "one": 1, "ones": (1 << width) - 1}.get(op)
            if value is None:
                value = int(rest[1], {"const": 2, "constd": 10, "consth": 16}[op])
            self.nodes[node] = ("const", width, (), (value % (1 << width),))
        else:
            count = 3 if op == "ite" else 2 if op in BINARY or op in COMPARE else 1
            known = op in UNARY or op in BINARY or op in COMPARE or op in (
                "ite", "slice", "uext", "sext")
            if not known:
                raise BtorError(f"operation {op} is not known")
            numbers = {"slice": 2, "uext": 1, "sext": 1}.get(op, 0)
            args = tuple(int(word) for word in rest[1:1 + count])
            if len(args) != count:
                raise ValueError(f"{op} has {count} operands")
            self.nodes[node] = (op, self.width[int(rest[0])], args,
                                tuple(int(word) for word in rest[1 + count:1 + count + numbers]))


class Unrolled:
    """The design over some clocks, as terms of the solver."""

    def __init__(self, design, clocks, wanted):
        self.design, self.clocks = design, clocks
        self.tm = bitwuzla.TermManager()
        self.terms = {}
        self.one = self.tm.mk_bv_value(self.tm.mk_bv_sort(1), 1)
        self.zero = self.tm.mk_bv_value(self.tm.mk_bv_sort(1), 0)
        need = [set() for _ in range(clocks)]
        ask = list(wanted)
        for clock in reversed(range(clocks)):
            todo = [abs(node) for node in ask + design.constraints]
            while todo:
                node = todo.pop()
                if node not in need[clock]:
                    need[clock].add(node)
                    todo.extend(abs(arg) for arg in design.nodes[node][2])
            ask = [design.next[node] for node in need[clock]
                   if node in design.states and node in design.next]
        for clock in range(clocks):
            for node in sorted(need[clock]):
                self.terms[clock, node] = self._term(clock, node)

    def term(self, clock, node):
        """Value of a node (negative: each bit the other way) in a clock."""
        term = self.terms[clock, abs(node)]
        return self.tm.mk_term(Kind.BV_NOT, [term]) if node < 0 else term

    def _term(self, clock, node):
        design, tm = self.design, self.tm
        op, width, args, numbers = design.nodes[node]
        if op == "state" and clock > 0 and node in design.next:
            return self.term(clock - 1, design.next[node])
        if op == "state" and clock > 0:
            # without `next`: Yosys means a constant that may be anything
            return self.terms.get((clock - 1, node)) or self._fresh(clock, node, width)
        if op in ("input", "state"):
            return self._fresh(clock, node, width)
        if op == "const":
            return tm.mk_bv_value(tm.mk_bv_sort(width), numbers[0])
        terms = [self.term(clock, arg) for arg in args]
        if op in UNARY:
            return tm.mk_term(UNARY[op], terms)
        if op in BINARY:
            return tm.mk_term(BINARY[op], terms)
        if op in COMPARE:
            return self._bit(tm.mk_term(COMPARE[op], terms))
        if op == "ite":
            return tm.mk_term(Kind.ITE, [tm.mk_term(Kind.EQUAL, [terms[0], self.one]), *terms[1:]])
        if op == "slice":
            return tm.mk_term(Kind.BV_EXTRACT, terms, [numbers[0], numbers[1]])
        if op in ("uext", "sext"):
            kind = Kind.BV_ZERO_EXTEND if op == "uext" else Kind.BV_SIGN_EXTEND
            return terms[0] if numbers[0] == 0 else tm.mk_term(kind, terms, [numbers[0]])
        raise BtorError(f"operation {op} is not known")

    def _bit(self, truth):
        return self.tm.mk_term(Kind.ITE, [truth, self.one, self.zero])

    def _fresh(self, clock, node, width):
        names = self.design.inputs if node in self.design.inputs else self.design.states
        return self.tm.mk_const(self.tm.mk_bv_sort(width), f"{names[node]}@{clock}")


class Solver:
    """Questions about the last clock of a design."""

    def __init__(self, text, clocks, outputs, timeout, reset=None):
        self.design, self.timeout = Design(text), timeout
        for output in outputs:
            if output not in self.design.outputs:
                raise BtorError(f"there is no output {output}; there are "
                                f"{', '.join(self.design.outputs)}")
        nodes = [self.design.outputs[output] for output in outputs]
        self.unrolled = Unrolled(self.design, clocks, nodes)
        self.known = [(clock, node, 1) for clock in range(clocks)
                      for node in self.design.constraints]
        if reset:
            node = {name: node for node, name in self.design.inputs.items()}.get(reset)
            if (0, node) not in self.unrolled.terms:
                raise BtorError(f"there is no input {reset} that matters in the first clock")
            self.known.append((0, node, 0))

    def bits(self, output):
        """Bits of an output."""
        return range(self.design.nodes[abs(self.design.outputs[output])][1])

    def reach(self, output, bit):
        """Can that bit be 1? None: not decided in time; else {input: value}, empty if it cannot."""
        tm, unrolled, design = self.unrolled.tm, self.unrolled, self.design
        options = bitwuzla.Options()
        options.set(bitwuzla.Option.PRODUCE_MODELS, True)
        options.set(bitwuzla.Option.TIME_LIMIT_PER, int(self.timeout * 1000))
        solver = bitwuzla.Bitwuzla(tm, options)
        for clock, node, value in self.known:
            solver.assert_formula(tm.mk_term(Kind.EQUAL, [
                unrolled.term(clock, node), unrolled.one if value else unrolled.zero]))
        whole = unrolled.term(unrolled.clocks - 1, design.outputs[output])
        one = tm.mk_term(Kind.BV_EXTRACT, [whole], [bit, bit])
        solver.assert_formula(tm.mk_term(Kind.EQUAL, [one, unrolled.one]))
        result = solver.check_sat()
        if result == bitwuzla.Result.UNSAT:
            return {}
        if result != bitwuzla.Result.SAT:
            return None
        shown = {f"{output}[{bit}]": "1"}
        for (clock, at), term in sorted(unrolled.terms.items()):
            # Yosys makes inputs without a name where a value does not matter.
            if at in design.inputs and not design.inputs[at].startswith("n"):
                value = int(str(solver.get_value(term).value(16)), 16)
                shown[f"{design.inputs[at]} in clock {clock}"] = f"{value:#x}"
        return shown


def prove(text, clocks, timeout, output, seen=None, reset=None):
    """Can a bit of `output` be 1 in the last of `clocks` clocks? Each bit of `seen` must be able
    to be.

    With `reset`, that input is 0 in the first clock. Returns (verdict, detail): "proved"; "failed"
    with {bit and inputs of each clock}; "vacuous" with the bit of `seen`; "unknown" with what was
    not decided in `timeout` seconds per bit.
    """
    solver = Solver(text, clocks, [output, *([seen] if seen else [])], timeout, reset)
    undecided = []
    for bit in solver.bits(output):
        shown = solver.reach(output, bit)
        if shown:
            return "failed", shown
        if shown is None:
            undecided.append(f"{output}[{bit}]")
    if undecided:
        return "unknown", {"undecided": f"{', '.join(undecided)} after {timeout} s each"}
    for bit in solver.bits(seen) if seen else ():
        shown = solver.reach(seen, bit)
        if not shown:
            name = f"{seen}[{bit}]"
            return ("unknown", {"undecided": name}) if shown is None else (
                "vacuous", {name: "always 0: what it stands for cannot happen"})
    return "proved", {}


def main():
    """Proves one file and prints the answer as JSON: [verdict, detail]."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file")
    parser.add_argument("clocks", type=int)
    parser.add_argument("seconds", type=float)
    parser.add_argument("output")
    parser.add_argument("--seen", metavar="OUTPUT", help="its bits must be able to be 1")
    parser.add_argument("--reset", metavar="INPUT", help="is 0 in the first clock")
    args = parser.parse_args()
    try:
        text = pathlib.Path(args.file).read_text(encoding="utf-8")
        print(json.dumps(prove(text, args.clocks, args.seconds, args.output, args.seen,
                               args.reset)))
    except (BtorError, OSError) as error:
        sys.exit(f"btor: {args.file}: {error}")


if __name__ == "__main__":
    main()
