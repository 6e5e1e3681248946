# SPDX-License-Identifier: Apache-2.0
"""Unrolls a design that Yosys wrote as BTOR2, and asks an SMT solver (Bitwuzla) about it.

The first clock begins with registers of any value, the inputs are free in every clock. So what is
proved about the last of n clocks holds n clocks after any state: for a pipeline shorter than that,
always.
"""

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


def prove(text, clocks, timeout, output):
    """Can a bit of `output` be 1 in the last of `clocks` clocks?

    Returns (verdict, detail): "proved"; "failed" with {bit and inputs of each clock};
    "unknown" with what was not decided in `timeout` seconds per bit.
    """
    design = Design(text)
    if output not in design.outputs:
        raise BtorError(f"there is no output {output}; there are {', '.join(design.outputs)}")
    node = design.outputs[output]
    unrolled = Unrolled(design, clocks, [node])
    tm = unrolled.tm
    whole = unrolled.term(clocks - 1, node)
    undecided = []
    for bit in range(design.nodes[abs(node)][1]):
        options = bitwuzla.Options()
        options.set(bitwuzla.Option.PRODUCE_MODELS, True)
        options.set(bitwuzla.Option.TIME_LIMIT_PER, int(timeout * 1000))
        solver = bitwuzla.Bitwuzla(tm, options)
        for clock in range(clocks):
            for constraint in design.constraints:
                solver.assert_formula(tm.mk_term(
                    Kind.EQUAL, [unrolled.term(clock, constraint), unrolled.one]))
        one = tm.mk_term(Kind.BV_EXTRACT, [whole], [bit, bit])
        solver.assert_formula(tm.mk_term(Kind.EQUAL, [one, unrolled.one]))
        result = solver.check_sat()
        if result == bitwuzla.Result.SAT:
            shown = {f"{output}": f"bit {bit}"}
            for (clock, at), term in sorted(unrolled.terms.items()):
                # Yosys makes inputs without a name where a value does not matter.
                if at in design.inputs and not design.inputs[at].startswith("n"):
                    value = int(str(solver.get_value(term).value(16)), 16)
                    shown[f"{design.inputs[at]} in clock {clock}"] = f"{value:#x}"
            return "failed", shown
        if result != bitwuzla.Result.UNSAT:
            undecided.append(bit)
    if undecided:
        return "unknown", {"undecided": f"bits {undecided} after {timeout} s each"}
    return "proved", {}


def main():
    """Proves one file and prints the answer as JSON: [verdict, detail]."""
    if len(sys.argv) != 5:
        sys.exit("usage: tools/btor.py FILE CLOCKS SECONDS OUTPUT")
    try:
        text = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
        print(json.dumps(prove(text, int(sys.argv[2]), float(sys.argv[3]), sys.argv[4])))
    except (BtorError, OSError) as error:
        sys.exit(f"btor: {sys.argv[1]}: {error}")


if __name__ == "__main__":
    main()
