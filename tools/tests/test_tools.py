# SPDX-License-Identifier: Apache-2.0
"""Tests of the tools: each check must pass what is right and find what is wrong."""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOOLS))

import btor  # noqa: E402
import check_docs  # noqa: E402
import common  # noqa: E402
import csr  # noqa: E402
import equiv  # noqa: E402
import gate_sim  # noqa: E402
import formal  # noqa: E402
import gen_csr  # noqa: E402
import gen_formats  # noqa: E402
import gen_queue  # noqa: E402
import licence  # noqa: E402
import lint  # noqa: E402
import mutants  # noqa: E402
import run_all  # noqa: E402
import run_tests  # noqa: E402
import testplan  # noqa: E402


class Equivalence(unittest.TestCase):
    """The reader of BTOR2, the solver behind it, the list of proofs."""

    # A register of 4 bits that adds its input: q' = q + i. bad_o: {q is 0, q is not what came in}.
    ADDER = textwrap.dedent("""
        1 sort bitvec 1
        2 sort bitvec 4
        3 input 2 i ; x.sv:1
        4 state 2 q
        5 add 2 4 3
        6 next 2 4 5
        7 state 2 last_i
        8 next 2 7 3
        9 state 2 last_q
        10 next 2 9 4
        11 add 2 9 7
        12 neq 1 4 11 name
        13 redor 1 4
        14 sort bitvec 2
        15 concat 14 -13 12
        16 output 15 bad_o
        17 output 12 differs
        """)

    def test_what_holds_after_any_state_is_proved(self):
        self.assertEqual(btor.prove(self.ADDER, 2, 10, "differs"), ("proved", {}))

    def test_the_first_clock_is_any_state(self):
        self.assertEqual(btor.prove(self.ADDER, 1, 10, "differs")[0], "failed")

    def test_what_does_not_hold_is_shown(self):
        verdict, detail = btor.prove(self.ADDER, 2, 10, "bad_o")
        self.assertEqual((verdict, detail["bad_o[1]"]), ("failed", "1"))
        self.assertIn("i in clock 0", detail)

    def test_what_cannot_happen_is_vacuous(self):
        never = self.ADDER + "18 constd 1 0\n19 output 18 never\n20 output 6 i_again\n"
        never = never.replace("output 6 i_again", "output 13 seen_o")
        self.assertEqual(btor.prove(never, 2, 10, "differs", "seen_o"), ("proved", {}))
        verdict, detail = btor.prove(never, 2, 10, "differs", "never")
        self.assertEqual((verdict, list(detail)), ("vacuous", ["never[0]"]))

    def test_a_counterexample_from_reset(self):
        reset = self.ADDER.replace("6 next 2 4 5", "21 input 1 rst_ni\n22 constd 2 0\n"
                                   "23 ite 2 21 5 22\n6 next 2 4 23")
        reset += "24 redor 1 4\n25 output 24 not_zero\n"
        self.assertEqual(btor.prove(reset, 2, 10, "not_zero", reset="rst_ni")[0], "proved")
        verdict, detail = btor.prove(reset, 3, 10, "not_zero", reset="rst_ni")
        self.assertEqual((verdict, detail["rst_ni in clock 0"]), ("failed", "0x0"))
        self.assertEqual(btor.prove(reset, 2, 10, "not_zero")[0], "failed")
        with self.assertRaisesRegex(btor.BtorError, "no input rst"):
            btor.prove(reset, 2, 10, "not_zero", reset="rst")

    def test_only_inputs_find_a_mutant(self):
        self.assertEqual(equiv.judge({}, "failed", "bad_o[0] = 1; x in clock 0 = 0x1"), "found")
        by = {"by": "bad_o[2]"}
        self.assertEqual(equiv.judge(by, "failed", "bad_o[2] = 1; x"), "found")
        self.assertEqual(equiv.judge(by, "failed", "bad_o[0] = 1"), "not found by bad_o[2]")
        self.assertEqual(equiv.judge({"by": "seen_o[0]"}, "vacuous", "seen_o[0] = always"), "found")
        self.assertEqual(equiv.judge({"by": "seen_o[0]"}, "proved", ""), "not found")
        for verdict in ("error", "unknown", "vacuous"):
            self.assertEqual(equiv.judge({}, verdict, ""), verdict)

    def test_an_empty_choice_names_what_there_is(self):
        proofs = equiv.read_list()
        args = argparse.Namespace(only=["nothing"], quick=False)
        with self.assertRaisesRegex(common.ToolError, "no proof nothing .*; there are check-rules"):
            equiv.choose(proofs, args)
        slow = [proof for proof in proofs if not proof.quick]
        with self.assertRaisesRegex(common.ToolError, "is quick; there are check-rules-no"):
            equiv.choose(slow, argparse.Namespace(only=None, quick=True))

    def test_results_are_of_the_sources(self):
        proof = equiv.read_list()[0]
        good = {"result": "proved", "seconds": 1, "found": 1, "mutants": len(proof.mutants),
                "digest": proof.digest()}
        self.assertEqual(equiv.stale([proof], {proof.name: good}), [])
        for known in ({}, {proof.name: good | {"digest": "older"}},
                      {proof.name: good | {"mutants": 0}}):
            self.assertEqual(equiv.stale([proof], known), [proof.name])
        table = equiv.page_table([proof], {proof.name: good})
        self.assertIn("| `check-rules` (quick) | table of rules | MttChecked = 1 | proved | 1 |",
                      table)

    def test_a_digest_is_of_what_counts(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)

            def of(text, name):
                (root / name).write_text(text, encoding="utf-8")
                return common.digest([name], root=root)
            for name, same, other in (
                    ("x.sv", "a = b;  // why\n/* c\n */", "a = c;"),
                    ("x.sby", "# limit: 3\na = b;", "a = b ;"), ("x.rs", "a = b;", "a = b; // x")):
                self.assertEqual(of("a = b;", name), of(same, name))
                self.assertNotEqual(of("a = b;", name), of(other, name))
            self.assertNotEqual(of("a", "x.sv"), common.digest(["x.sv"], "more", root))

    def test_the_netlist_is_judged_by_mismatches_alone(self):
        for code, output, found in (
                (1, "mismatches: 2\n", True), (1, "replayed: 9, agreed: 8, disagreed: 1\n", True),
                (1, "no such file\n", False), (1, "mismatches: 0\n", False),
                (2, "mismatches: 2\n", False), (101, "panicked", False), (0, "", False),
                (None, "mismatches: 2\n", False)):
            self.assertEqual(gate_sim.found(common.Result(code, output, 1.0)), found)

    def test_unknown_lines_are_refused(self):
        for line, text in (("18 frobnicate 1 4", "frobnicate"), ("18 init 2 4 3", "initial value"),
                           ("18 sort array 1 2", "array"), ("18 add 2 4", "cannot read")):
            with self.assertRaisesRegex(btor.BtorError, text):
                btor.prove(self.ADDER + line + "\n", 2, 10, "bad_o")
        with self.assertRaisesRegex(btor.BtorError, "no output nothing"):
            btor.prove(self.ADDER, 2, 10, "nothing")

    def test_the_status_of_yosys(self):
        said = "Of those cells {} are proven and {} are unproven.\n"
        self.assertEqual(equiv.read_status(said.format(7, 0))[0], "proved")
        self.assertEqual(equiv.read_status(said.format(7, 2)), ("failed", "2 of 9 points differ"))
        self.assertEqual(equiv.read_status(said.format(0, 0))[0], "error")
        self.assertEqual(equiv.read_status("")[0], "error")

    def test_every_proof_has_mutants_that_fit(self):
        self.assertTrue(any(proof.quick for proof in equiv.read_list()))

    def test_a_mutant_that_fits_nowhere_is_refused(self):
        mutant = {"file": "a.sv", "find": "x", "replace": "y"}
        with self.assertRaisesRegex(common.ToolError, "2 times in a.sv"):
            equiv.apply("p", mutant, "x x")
        self.assertEqual(equiv.apply("p", mutant, "a x"), "a y")

    def test_the_fault_of_the_netlist_fits(self):
        name, find, _ = gate_sim.FAULT
        self.assertEqual((TOOLS.parent / name).read_text(encoding="utf-8").count(find), 1)


class Package(unittest.TestCase):
    """The reader of the SystemVerilog package."""

    TEXT = textwrap.dedent("""
        package p;
          localparam int unsigned W = 8;  // a width
          localparam logic [11:0] BitA = 12'h0a0;  // a bit
          typedef enum logic [1:0] {
            StA = 2'd0,  // first
            StB = 2'd3
          } state_e;
          typedef struct packed {
            logic [W-1:0]      hi;    // 15:8 the upper part
            logic [1:0][W/4-1:0] mid; // 7:4
            logic              one;   // 3
            logic [2:0]        low;   // 2:0
          } mpt_entry_t;
        endpackage
        """)

    def test_values_and_places(self):
        package = gen_formats.Package(self.TEXT)
        self.assertEqual(package.params["BitA"], 0xA0)
        self.assertEqual(package.enums["state_e"], [("StA", 0, "first"), ("StB", 3, "")])
        places = {f.name: (f.low, f.width) for f in package.structs["mpt_entry_t"]}
        self.assertEqual(places, {"low": (0, 3), "one": (3, 1), "mid": (4, 4), "hi": (8, 8)})

    def test_wrong_bit_comment_is_found(self):
        with self.assertRaisesRegex(gen_formats.PackageError, "mid is said to be at 7:5"):
            gen_formats.Package(self.TEXT.replace("// 7:4", "// 7:5"))

    def test_unknown_parameter_is_found(self):
        with self.assertRaisesRegex(gen_formats.PackageError, "`X`"):
            gen_formats.Package(self.TEXT.replace("[W/4-1:0]", "[X-1:0]"))

    def test_page_is_filled_and_stable(self):
        package = gen_formats.Package(self.TEXT)
        page = "a\n<!-- generated: bits Bit -->\nold\n<!-- end -->\nb\n"
        once = gen_formats.fill(package, "page", page)
        self.assertIn("| 160 | `BitA` | a bit |", once)
        self.assertNotIn("old", once)
        self.assertEqual(gen_formats.fill(package, "page", once), once)

    def test_unknown_table_is_found(self):
        package = gen_formats.Package(self.TEXT)
        with self.assertRaises(gen_formats.PackageError):
            gen_formats.fill(package, "page", "<!-- generated: enum nix_e -->\n<!-- end -->")

    def test_the_real_package(self):
        package = gen_formats.Package((common.ROOT / gen_formats.PACKAGE).read_text())
        self.assertEqual(package.width("mpt_entry_t"), 512)
        self.assertEqual(package.width("done_t"), package.params["TagW"])


class Registers(unittest.TestCase):
    """The reader of the registers' description, and what is made from it."""

    TEXT = textwrap.dedent("""
        addrmap m {
          default regwidth = 32;
          signal { name = "closed by a lock"; } lock;
          reg {
            desc = "Two fields.";
            field { sw = rw; hw = r; reset = 3; desc = "Low."; } low[3:0];
            field { sw = rw; hw = r; reset = 0; onwrite = woclr; swwel = lock; } high[31:31];
          } A @ 0x10;
          reg {
            field { sw = rw; hw = r; reset = 0; swwel = lock; } value[31:0];
          } B[3] @ 0x20;
          reg { field { sw = r; hw = w; } value[31:0]; } C @ 0x40;
        };
        """)

    def read(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "m.rdl"
            path.write_text(text)
            return csr.Map(path)

    def test_registers_and_fields(self):
        registers = self.read(self.TEXT)
        a, b, c = registers.registers
        self.assertEqual((a.name, a.offset, a.access, a.reset), ("A", 0x10, "RW, W1C", 3))
        self.assertEqual((a.fields[1].mask, a.fields[1].lock.words), (1 << 31, "closed by a lock"))
        self.assertIsNone(a.lock, "only a part of it is locked")
        self.assertEqual((b.count, b.stride, b.lock.name), (3, 4, "lock"))
        self.assertEqual((c.live, c.access, c.written), (0xffff_ffff, "RO", []))

    def test_wrong_descriptions_are_found(self):
        for wrong, message in [
                (self.TEXT.replace("reset = 3; ", ""), "A.low has no reset value"),
                (self.TEXT.replace("woclr", "wot"), "onwrite = wot is not known"),
                (self.TEXT.replace("swwel = lock", "swwel"), "swwel must name the signal")]:
            with self.assertRaisesRegex(common.ToolError, message):
                self.read(wrong)
        with self.assertRaisesRegex(common.ToolError, "has no register D; it has A, B, C"):
            _ = self.read(self.TEXT)["D"]

    def test_tables(self):
        registers = self.read(self.TEXT)
        table = gen_formats.register_table(registers, "registers", [])
        self.assertIn("| 0x010 | `A` | RW, W1C | 0x3 | Two fields. |", table)
        self.assertIn("| 0x020 + 4 n | `B[3]` | RW | 0x0 |  Closed by a lock. |", table)
        fields = gen_formats.register_table(registers, "fields", ["A"])
        self.assertIn("| 3:0 | `low` | RW | 0x3 | Low. |", fields)
        with self.assertRaisesRegex(gen_formats.PackageError, "starts with X"):
            gen_formats.register_table(registers, "registers", ["X"])

    def test_differences_say_where(self):
        self.assertIsNone(gen_csr.difference("f", "a\nb\n", "a\nb\n"))
        self.assertRegex(gen_csr.difference("f", "a\nb\n", "a\nc\n"), "^f:2: .*make csr")
        self.assertRegex(gen_csr.difference("f", None, "a"), "^f is missing: .*make csr")
        self.assertRegex(gen_csr.difference("f", "a", None), "^f does not come from")

    def test_the_c_header_compiles(self):
        for language in ("c", "c++"):
            result = common.run(["g++", "-fsyntax-only", "-Wall", "-Werror", "-x", language,
                                 str(common.ROOT / gen_csr.HEADER)], timeout=60)
            self.assertEqual(result.output, "")


class Queues(unittest.TestCase):
    """The C header of the queues."""

    def test_the_c_header_compiles(self):
        for language in ("c", "c++"):
            result = common.run(["g++", "-fsyntax-only", "-Wall", "-Werror", "-x", language,
                                 str(common.ROOT / gen_queue.HEADER)], timeout=60)
            self.assertEqual(result.output, "")

    def test_the_driver_in_c_compiles(self):
        for language in ("c", "c++"):
            result = common.run(["g++", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic",
                                 "-Werror", "-x", language,
                                 str(common.ROOT / "include/tpt_driver.h")], timeout=60)
            self.assertEqual(result.output, "")

    def test_header_and_module_have_the_same_numbers(self):
        package = gen_formats.Package((common.ROOT / gen_formats.PACKAGE).read_text(
            encoding="utf-8"))
        header, module = gen_queue.make(package), gen_queue.make_rust(package)
        for name, value, _ in package.enums["status_e"]:
            name = name.removeprefix("Sts")
            self.assertIn(f"TPT_STS_{gen_queue.upper(name)} {value}", header)
            self.assertIn(f"    {name} = {value},\n", module)
        self.assertIn("pub const LOG_TPAGE: usize = 50;", module)
        self.assertIn('log_tpage) == 50, "log_tpage"', header)

    def test_a_field_at_an_odd_place_is_refused(self):
        text = (common.ROOT / gen_formats.PACKAGE).read_text(encoding="utf-8")
        for wrong in ("logic [6:0]       flags;", "logic [31:0]      flags;"):
            bad = text.replace("logic [7:0]       flags;", wrong)
            self.assertNotEqual(bad, text)
            with self.assertRaisesRegex(gen_formats.PackageError, "has no type in C"):
                gen_queue.make(gen_formats.Package(bad))


class Ports(unittest.TestCase):
    """The reader of a module's ports."""

    TEXT = "\n".join([
        "module m #(", "  parameter int unsigned N = 1", ") (", "  // Clock",
        "  input  logic            clk_i,", "  output logic [N*W-1:0]  data_o,",
        "  input  logic [7:0]      byte_i  // eight", ");", ""])

    def test_rows(self):
        self.assertEqual(gen_formats.read_ports(self.TEXT), [
            ("**Clock**", "", ""), ("`clk_i`", "in", "1"), ("`data_o`", "out", "N*W"),
            ("`byte_i`", "in", "8")])

    def test_unknown_line(self):
        with self.assertRaisesRegex(gen_formats.PackageError, "cannot read the port"):
            gen_formats.read_ports(self.TEXT.replace("input  logic [7:0]", "wibble"))


class Mutants(unittest.TestCase):
    """The list of mutants and the judgement of a run."""

    def test_the_list_fits(self):
        self.assertGreaterEqual(len(mutants.read_list()), 13)

    def test_text_must_be_there_once(self):
        mutant = mutants.Mutant({"name": "n", "rule": 1, "file": "f", "find": "a", "replace": "b"})
        self.assertEqual(mutant.apply("x a y"), "x b y")
        for text in ("x y", "a a"):
            with self.assertRaises(common.ToolError):
                mutant.apply(text)

    def test_verdict(self):
        ran = "   Compiling tpt-verilated v0.1.0 (x)\n     Running tests/rules.rs (x)\n"
        stale = "     Running tests/rules.rs (x)\n"
        for code, output, word in ((0, ran, "survived"), (101, ran, "killed"),
                                   (0, stale, "was not built"), (101, stale, "was not built"),
                                   (101, "error: could not compile", "does not build"),
                                   (None, ran, "killed (hang)")):
            self.assertEqual(mutants.verdict(common.Result(code, output, 1)), word)

    def test_killers(self):
        self.assertEqual(mutants.killers("test a::b ... FAILED\ntest c ... ok\n"), ["a::b"])


class Formal(unittest.TestCase):
    """The runner of the formal proofs: reading of .sby files, judging of what sby prints."""

    SBY = textwrap.dedent("""
        # shows: something
        # quick: a_prove
        # limit: 77

        [tasks]
        a_prove prove a
        a_cover cover a
        b_bmc bmc

        [options]
        prove: mode prove
        prove: depth 3
        cover: mode cover
        cover: depth 9
        bmc: mode bmc
        b_bmc: depth 20

        [files]
        rtl/x.sv

        [file y.sv]
        --pycode-begin--
        output(open("rtl/y.sv").read())
        --pycode-end--
        """)
    MODEL = "; yosys-smt2-assert 0 a\n; yosys-smt2-assert 1 b\n; yosys-smt2-cover 0 c\n"

    def block(self, change=("", "")):
        return formal.Block("x", self.SBY.replace(*change) if change[0] else self.SBY)

    def judge(self, name, output, model=MODEL, code=0):
        task = next(task for task in self.block().tasks if task.name == name)
        return formal.judge(task, output, model, code, 1.0)

    def test_tasks(self):
        block = self.block()
        self.assertEqual([(t.name, t.mode, t.depth, t.limit, t.quick) for t in block.tasks],
                         [("a_prove", "prove", 3, 77, True), ("a_cover", "cover", 9, 77, False),
                          ("b_bmc", "bmc", 20, 77, False)])
        self.assertEqual(block.files, ["rtl/x.sv", "rtl/y.sv"])

    def test_what_is_missing_is_told(self):
        for change, text in ((("# shows: something\n", ""), "shows"),
                             (("quick: a_prove", "quick: nope"), "nope"),
                             (("a_cover cover a\n", ""), "mode cover"),
                             (("b_bmc: depth 20\n", ""), "no depth"),
                             (("mode bmc", "mode live"), "mode must")):
            with self.assertRaisesRegex(common.ToolError, text):
                self.block(change)

    def test_proved_and_bounded(self):
        done = "SBY DONE (PASS, rc=0)"
        self.assertEqual(self.judge("a_prove", done).status, "proved")
        outcome = self.judge("b_bmc", done)
        self.assertEqual((outcome.status, outcome.cell()), ("bounded", "bounded, 20 clocks"))
        self.assertEqual(outcome.asserts, 2)

    def test_nothing_to_prove_fails(self):
        self.assertFalse(self.judge("a_prove", "SBY DONE (PASS, rc=0)", "; nothing").ok)
        self.assertFalse(self.judge("a_cover", "SBY DONE (PASS, rc=0)", "; nothing").ok)

    def test_failures(self):
        failed = "##  Assert failed in top: sub.Name_A (x)\nDONE (FAIL, rc=2)"
        outcome = self.judge("a_prove", failed)
        self.assertEqual((outcome.status, outcome.text), ("failed", "counterexample: sub.Name_A"))
        outcome = self.judge("a_prove", failed.replace("FAIL", "UNKNOWN"))
        self.assertEqual(outcome.status, "unknown")
        self.assertEqual(self.judge("a_prove", "x.sv: ERROR: no\nDONE (ERROR, rc=16)").status,
                         "error")
        self.assertEqual(self.judge("a_prove", "", code=None).status, "out of time")
        self.assertFalse(self.judge("a_prove", "").ok)

    def test_covers(self):
        reached = "##  Reached cover statement in step 6 at top: C\nDONE (PASS, rc=0)"
        outcome = self.judge("a_cover", reached)
        self.assertEqual((outcome.status, outcome.reached, outcome.covers), ("covered", 1, 1))
        missing = "##  Unreached cover statement at top: C\nDONE (FAIL, rc=2)"
        outcome = self.judge("a_cover", missing)
        self.assertEqual((outcome.ok, outcome.reached), (False, 0))
        self.assertIn("top: C", outcome.text)

    def test_last_line(self):
        done = "DONE (PASS, rc=0)"
        reached = "Reached cover statement in step 6 at top: C\n" + done
        outcomes = [self.judge("a_prove", done), self.judge("b_bmc", done),
                    self.judge("a_cover", reached), self.judge("a_prove", "", code=None)]
        self.assertEqual(formal.last_line(outcomes),
                         "formal: 1 proved, 1 bounded, 1 failed, covers 1 of 1")

    def test_mutants_fit(self):
        blocks = formal.read_blocks()
        self.assertGreater(len(formal.read_mutants(blocks)), len(blocks))
        entry = {"name": "m", "file": "f", "why": "w", "find": "a", "replace": "b",
                 "task": "x/a_prove"}
        tasks = {task.title: task for task in self.block().tasks}
        mutant = formal.Mutant(entry, tasks)
        self.assertEqual(mutant.apply("xay"), "xby")
        for text in ("", "aa"):
            with self.assertRaisesRegex(common.ToolError, "once"):
                mutant.apply(text)
        for wrong in ("x/none", "x/a_cover"):
            with self.assertRaises(common.ToolError):
                formal.Mutant(entry | {"task": wrong}, tasks)

    def test_a_mutant_is_searched_for(self):
        block = formal.Block("x", formal.searching(self.SBY, 12))
        self.assertEqual([(t.mode, t.depth) for t in block.tasks],
                         [("bmc", 12), ("cover", 9), ("bmc", 20)])

    def test_results_are_kept_for_the_same_sources(self):
        blocks = [block for block in formal.read_blocks() if block.name in ("fifo", "rr_arb")]
        first = blocks[0].tasks[0]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "results.json"
            formal.store(blocks, [formal.Outcome(first, "proved", 1.0, 5)], path)
            found = formal.stored(blocks, path)
            self.assertEqual([(o.status, o.asserts) for o in found if o.task is first],
                             [("proved", 5)])
            self.assertEqual({o.status for o in found if o.task is not first}, {"not run"})
            path.write_text(path.read_text().replace(formal.digest(blocks[0]), "older"))
            self.assertEqual({o.status for o in formal.stored(blocks, path)}, {"not run"})

    def test_page(self):
        table = formal.page_table([self.block()], [self.judge("b_bmc", "DONE (PASS, rc=0)")])
        self.assertIn("| x | something | b_bmc | bounded, 20 clocks | 2 | 1 |", table)

    def test_stale_results_are_told(self):
        blocks = [self.block()]
        outcomes = [self.judge("a_prove", "DONE (PASS, rc=0)"), self.judge(
            "a_cover", "Reached cover statement in step 6 at top: C\nDONE (PASS, rc=0)"),
            self.judge("b_bmc", "DONE (PASS, rc=0)")]

        def problems(outcomes, text=None):
            table = formal.page_table(blocks, outcomes)
            page = common.with_table("p", "<!-- proofs -->\n<!-- end proofs -->", "proofs", table)
            return formal.problems_of(blocks, outcomes, text or page)
        self.assertEqual(problems(outcomes), [])
        old = [formal.Outcome(outcomes[0].task, "not run", 0.0), *outcomes[1:]]
        self.assertRegex("".join(problems(old)), "no result of x .*tools/formal.py --only x,")
        bad = [self.judge("a_prove", "", code=None), *outcomes[1:]]
        self.assertRegex("".join(problems(bad)), "not shown: x")
        other = "<!-- proofs -->\nx\n<!-- end proofs -->"
        self.assertRegex("".join(problems(outcomes, other)), "table of docs/formal.md is not")
        blocks[0].apart = "takes hours"
        self.assertEqual(problems(old), [])

    def test_an_empty_choice_names_what_there_is(self):
        blocks = [self.block()]
        self.assertEqual(len(formal.chosen(blocks, None, False)), 3)
        with self.assertRaisesRegex(common.ToolError, "no y in tb/formal; there are x"):
            formal.chosen(blocks, ["y"], False)
        with self.assertRaisesRegex(common.ToolError, "quick are x/a_prove"):
            formal.chosen(blocks, ["x/b_bmc"], True)


class Style(unittest.TestCase):
    """House style."""

    def test_good(self):
        self.assertEqual(lint.style_problems("rtl/a.sv", "module a;\nendmodule\n"), [])

    def test_bad(self):
        for text, word in (("\tx\n", "tab"), ("x \n", "blanks"), ("x" * 101 + "\n", "columns"),
                           ("x", "newline")):
            problems = lint.style_problems("a.py", text)
            self.assertEqual(len(problems), 1, text)
            self.assertIn(word, problems[0])

    def test_module_and_file(self):
        for text in ("module b;\nendmodule\n", "module a;\nendmodule\nmodule b;\nendmodule\n"):
            self.assertEqual(len(lint.style_problems("rtl/a.sv", text)), 1)

    def test_waiver_in_source(self):
        text = "module a;\n// verilator lint_off WIDTH\nendmodule\n"
        self.assertIn("waiver", lint.style_problems("rtl/a.sv", text)[0])


class Licence(unittest.TestCase):
    """Licence lines and expressions."""

    def test_lines(self):
        soft = "# SPDX-License-Identifier: Apache-2.0\n"
        hard = "// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1\n"
        self.assertIsNone(licence.spdx_problem("tools/a.py", soft))
        self.assertIsNone(licence.spdx_problem("rtl/a.sv", hard))
        self.assertIsNotNone(licence.spdx_problem("tools/a.py", hard))
        self.assertIsNotNone(licence.spdx_problem("rtl/a.sv", soft))
        self.assertIsNotNone(licence.spdx_problem("rtl/a.sv", "module a;\n"))

    def test_every_workspace_is_looked_at(self):
        found = {name for name in common.tracked_files() if name.endswith("Cargo.toml")
                 and "[workspace]" in (common.ROOT / name).read_text(encoding="utf-8")}
        self.assertEqual(found, set(licence.MANIFESTS))

    def test_expressions(self):
        for good in ("MIT", "MIT OR GPL-3.0-only", "MIT/Apache-2.0", "(MIT OR Apache-2.0) AND ISC",
                     "Apache-2.0 WITH LLVM-exception OR X"):
            self.assertTrue(licence.permissive(good), good)
        for bad in ("GPL-3.0-only", "MIT AND GPL-3.0-only", "LGPL-2.1 OR GPL-2.0"):
            self.assertFalse(licence.permissive(bad), bad)


class Pages(unittest.TestCase):
    """Links and names on pages."""

    def test_links(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "b.md").write_text("# The `big` Head, two\n")
            good = "[x](b.md) [y](b.md#the-big-head-two) [z](https://example.org)\n"
            self.assertEqual(check_docs.link_problems("a.md", good, root), [])
            for bad in ("[x](c.md)", "[x](b.md#nix)", "![p](img/x.svg)", '<img src="x.svg">'):
                self.assertEqual(len(check_docs.link_problems("a.md", bad, root)), 1, bad)

    def test_names(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            self.assertEqual(check_docs.name_problems("a.md", "`make run`\n", {"run"}, root), [])
            self.assertEqual(len(check_docs.name_problems("a.md", "    make x\n", {"run"}, root)),
                             1)
            self.assertEqual(len(check_docs.name_problems("a.md", "`rtl/x.sv`", set(), root)), 1)


class Plan(unittest.TestCase):
    """The test plan: what it names must be there."""

    GOOD = {"id": "a", "feature": "A", "stimulus": "s", "check": "c", "tests": ["bench/rules::one"],
            "mutants": ["m"], "commands": ["run"], "proven": ["fence"], "equal": ["e"]}
    PAGE = ("<!-- proofs -->\n| block | what | task | result | covers |\n"
            "| --- | --- | --- | --- | --- |\n"
            "| {} | s | prove | {} | 3 |\n|  |  | c | covered | 1 of 1 |\n<!-- end proofs -->\n")

    def problems(self, result="proved", **change):
        """Problems of a plan of one feature in a project of one test, mutant, target, proof."""
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            for path, text in [
                    ("tb/bench/tests/rules.rs",
                     "#[test]\nfn one() {}\n#[test]\n#[should_panic]\nfn two() {}\n"
                     "fn help() {}\n"),
                    ("tb/mutants.toml", '[[mutant]]\nname = "m"\n'), ("Makefile", "run: x\n"),
                    ("docs/formal.md", self.PAGE.format("fence", result)),
                    ("docs/equivalence.md", self.PAGE.format("`e` (quick)", "proved"))]:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text, encoding="utf-8")
            return testplan.problems_of([{**self.GOOD, **change}], root)

    def test_a_plan_that_is_right(self):
        self.assertEqual(self.problems(), [])
        self.assertEqual(self.problems(tests=["bench/rules::two"]), [])

    def test_what_does_not_exist_is_named(self):
        for change, word in [
                ({"tests": ["bench/rules::help"]}, "no such test"),
                ({"tests": ["bench/other::one"]}, "no file tb/bench/tests/other.rs"),
                ({"tests": ["rules::one"]}, "CRATE/FILE::TEST"),
                ({"tests": []}, "`tests` is missing"),
                ({"mutants": []}, "m stands in no feature"), ({"mutants": ["m", "x"]}, "no x in"),
                ({"mutants": ["m", "m"]}, "m stands twice"), ({"commands": ["walk"]}, "no walk in"),
                ({"proven": ["fence", "all"]}, "no all in"), ({"check": ""}, "`check` is missing"),
                ({"equal": []}, "e is proved, and stands as `equal` in no feature"),
                ({"proven": []}, "fence is proved, and stands as `proven` in no feature"),
                ({"result": "not run"}, "fence is not proved in the table of docs/formal.md"),
                ({"result": "covered"}, "fence is not proved"),
                ({"colour": 1}, "no such field: colour")]:
            found = self.problems(**change)
            self.assertEqual(len(found), 1, found)
            self.assertIn(word, found[0])

    def test_the_table(self):
        table = testplan.feature_table([self.GOOD, {"id": "b", "feature": "B", "built": False}])
        self.assertIn("| A | yes | 1 test, 1 mutant | fence, 1 equivalence |\n"
                      "| B | no | – | – |", table)
        begin, end = "<!-- features -->", "<!-- end features -->"
        self.assertEqual(common.with_table("p", f"x\n{begin}\nold\n{end}\ny\n", "features", "t"),
                         f"x\n{begin}\nt\n{end}\ny\n")
        with self.assertRaisesRegex(common.ToolError, "p must have one line"):
            common.with_table("p", "x", "features", "t")


class Counting(unittest.TestCase):
    """Counting results of others."""

    OUTPUT = textwrap.dedent("""\
             Running unittests src/lib.rs (target/release/deps/tpt_golden-0123456789abcdef)
        running 2 tests
        test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out
             Running tests/rules.rs (target/release/deps/rules-0123456789abcdef)
        running 3 tests
        test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out
             Running tests/dead.rs (target/release/deps/dead-0123456789abcdef)
        running 1 test
        """)

    def test_cargo(self):
        rows = run_tests.count_cargo(self.OUTPUT)
        self.assertEqual([row[1:] for row in rows], [(2, 0, 0), (2, 1, 0), (0, 1, 0)])

    def test_findings(self):
        self.assertEqual(run_all.findings("mismatches: 0\n"), 0)
        self.assertEqual(run_all.findings("mismatches: 2\n"), 2)
        self.assertEqual(run_all.findings(
            "replayed: 5, agreed: 3, known differences: 1, disagreed: 1\n"), 1)
        self.assertIsNone(run_all.findings("nothing to see\n"))


class Running(unittest.TestCase):
    """Running commands."""

    def test_exit_code_and_output(self):
        result = common.run([sys.executable, "-c", "print('hello'); raise SystemExit(3)"], 30)
        self.assertEqual((result.code, result.output, result.ok), (3, "hello\n", False))

    def test_time_limit_ends_children_too(self):
        start = time.monotonic()
        result = common.run(["bash", "-c", "sleep 60 & sleep 60; wait"], 1)
        self.assertIsNone(result.code)
        self.assertFalse(result.ok)
        self.assertLess(time.monotonic() - start, 20)

    def ended_with_their_parent(self, script):
        """Starts a script, whose commands write their numbers to its second argument, asks it to
        end; no command may run on."""
        script = ("import sys, pathlib, threading, time\nsys.path.insert(0, sys.argv[1])\n"
                  "import common\ncommon.end_cleanly()\n"
                  "child = ['bash', '-c', 'echo $$ >>' + sys.argv[2] + '; sleep 60']\n" + script)
        with tempfile.TemporaryDirectory() as folder:
            note = pathlib.Path(folder) / "pid"
            parent = subprocess.Popen([sys.executable, "-c", script, str(TOOLS), str(note)])
            limit = time.monotonic() + 20
            while not (note.exists() and note.read_text().strip()) and time.monotonic() < limit:
                time.sleep(0.05)
            parent.terminate()
            self.assertEqual(parent.wait(timeout=30), 143)

            def runs(number):
                try:
                    stat = (pathlib.Path("/proc") / number / "stat").read_text()
                    return stat.rsplit(")", 1)[1].split()[0] != "Z"
                except (FileNotFoundError, ProcessLookupError):
                    return False
            limit = time.monotonic() + 20
            while any(map(runs, note.read_text().split())) and time.monotonic() < limit:
                time.sleep(0.05)
            numbers = note.read_text().split()
            self.assertFalse(any(map(runs, numbers)))
            return len(numbers)

    def test_request_to_end_reaches_the_children(self):
        self.assertEqual(self.ended_with_their_parent("common.run(child, 60)\n"), 1)

    def test_request_to_end_reaches_the_children_of_other_threads(self):
        # What such a thread starts next does not run either.
        count = self.ended_with_their_parent(
            "def lane():\n"
            "    common.run(child, 60)\n"
            "    common.run(child, 60)\n"
            "threading.Thread(target=lane, daemon=True).start()\n"
            "time.sleep(60)\n")
        self.assertEqual(count, 1)

    def test_a_command_that_cannot_be_started_leaves_nothing_behind(self):
        with self.assertRaises(FileNotFoundError):
            common.run(["/nothing/of/this/name"], 5)
        self.assertEqual(common._starting, [])

    def test_a_line_ends_it(self):
        script = "echo begun; echo FAILED; sleep 30; echo late"
        result = common.run(["sh", "-c", script], 20, until=re.compile("^FAILED$"))
        self.assertLess(result.seconds, 10)
        self.assertNotIn(result.code, (0, None))
        self.assertEqual(result.output, "begun\nFAILED\n")

    def test_heartbeat(self):
        beats = []
        common.run(["sleep", "3"], 20, heartbeat=lambda *what: beats.append(what), beat=0.3)
        self.assertGreaterEqual(len(beats), 2)

    def test_without_cocotb_it_says_how_to_get_it(self):
        result = common.run([sys.executable, "-S", str(TOOLS / "cocotb_bench.py"), "--probe"], 30)
        self.assertEqual(result.code, 3, result.output)
        self.assertIn("make bench-cocotb", result.output)

    def test_table(self):
        self.assertEqual(common.table([("a", 1)], ["x", "long"]), "x  long\n-  ----\na  1")


if __name__ == "__main__":
    unittest.main()
