# SPDX-License-Identifier: Apache-2.0
"""Tests of the mutation of the RTL: which cells are changed, and what counts as found."""

import argparse
import pathlib
import sys
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import common  # noqa: E402
import formal  # noqa: E402
import mutation  # noqa: E402

LINE = (r"mutate -mode const0 -module tpt_fence$tpt_top.u_core.u_fence -cell $5 -port A -portbit 3 "
        "-src rtl/tpt_assert.svh:1.1-1.2 -src rtl/tpt_fence.sv:90.22-90.39")


class Choice(unittest.TestCase):
    """Which cells are changed."""

    def test_every_block_gets_its_part_once(self):
        live = {"tpt_fifo$a": {str(n): "$and" for n in range(5)},
                "tpt_fifo$b": {str(n): "$and" for n in range(9)},
                "tpt_core$c": {str(n): "$and" for n in range(100)}}
        shares = dict(mutation.shares(live, 40))
        self.assertEqual(set(shares), {"tpt_fifo$b", "tpt_core$c"})
        self.assertEqual(sum(shares.values()), 40)
        self.assertGreater(shares["tpt_core$c"], shares["tpt_fifo$b"])
        with self.assertRaisesRegex(common.ToolError, "at least 12"):
            mutation.shares(live, 11)

    def test_clocks_are_never_changed(self):
        for pin, fixed in (("$dff.CLK", True), ("$memrd_v2.EN", True), ("$memwr_v2.EN", False),
                           ("$meminit.DATA", True), ("None.A", True), ("$mux.S", False)):
            self.assertEqual(bool(mutation.FIXED.fullmatch(pin)), fixed, pin)

    def test_a_line_of_yosys(self):
        mutant = mutation.Mutant(7, LINE)
        self.assertEqual((mutant.block, mutant.place, mutant.cell, mutant.port, mutant.bit),
                         ("tpt_fence", "rtl/tpt_assert.svh:1", "$5", "A", "3"))
        self.assertTrue(mutant.command().startswith("mutate -ctrl mutsel 16 7 -mode const0 "))


class Verdict(unittest.TestCase):
    """What counts as found."""

    def suite(self, *results):
        suite = mutation.Suite({test: test for test in mutation.TESTS}, 100)
        suite.took = {test: 1 for test in mutation.TESTS}
        answers = iter(results)
        return suite, mock.patch.object(
            suite, "ask", lambda *_, **__: next(answers, common.Result(0, "", 1)))

    def judged(self, *results):
        suite, asked = self.suite(*results)
        with asked:
            return suite.judge(argparse.Namespace(number=1))[:2]

    def test_a_failed_test_kills(self):
        output = "test one ... ok\ntest two ... FAILED\n"
        self.assertEqual(self.judged(common.Result(-9, output, 1)),
                         ("killed", f"{mutation.TESTS[0]}/two"))

    def test_no_end_is_a_hang(self):
        self.assertEqual(self.judged(common.Result(0, "", 1), common.Result(None, "", 1)),
                         ("hang", mutation.TESTS[1]))

    def test_all_passed_survives(self):
        self.assertEqual(self.judged(), ("survived", ""))

    def test_a_test_that_fails_without_a_mutant_is_told(self):
        suite, asked = self.suite(common.Result(
            101, "test a ... FAILED\n---- a stdout ----\nwrong\n", 1))
        with asked, self.assertRaisesRegex(common.ToolError, "/a fails without a mutant"):
            suite.first()

    def test_a_missing_model_is_left_out(self):
        suite, asked = self.suite(common.Result(
            101, 'test a ... FAILED\n---- a stdout ----\nError: Dut(NoModel("x"))\n', 1))
        with asked, mock.patch("builtins.print"):
            suite.first()
        self.assertEqual(suite.skip[mutation.TESTS[0]], ["a"])

    def test_the_line_that_ends_a_run(self):
        self.assertTrue(mutation.FAILED.search("test a::b ... FAILED\n"))
        self.assertFalse(mutation.FAILED.search("test a::b ... ok\n"))


class Proofs(unittest.TestCase):
    """The same cell in what a proof reads."""

    NETLIST = ('  attribute \\src "tpt_fence.sv:90.22-90.39"\n  cell $and $7\n    connect \\A \\x\n'
               '  end\n  cell $or $8\n  end\n')

    def test_place_and_type(self):
        mutant = mutation.Mutant(7, LINE)
        self.assertEqual(mutation.same_cell(self.NETLIST, mutant, "$and"), "$7")
        self.assertIsNone(mutation.same_cell(self.NETLIST, mutant, "$or"))

    def test_steps_of_a_task(self):
        text = (common.ROOT / formal.WHERE / "fence.sby").read_text(encoding="utf-8")
        tags = mutation.tags_of(text, "c1_prove")
        self.assertEqual(tags, ["c1_prove", "prove", "c1"])
        steps = mutation.first_steps(text, tags)
        self.assertEqual(len(steps), 1)
        self.assertIn("-G NumClients=1", steps[0])


class Page(unittest.TestCase):
    """What is kept."""

    ROWS = [{"number": 1, "block": "a", "place": "p", "what": "inv A[0] of $1",
             "verdict": "killed"},
            {"number": 2, "block": "a", "place": "q", "what": "inv B[0] of $1",
             "verdict": "survived", "analysis": "makes no difference"},
            {"number": 3, "block": "b", "place": "r", "what": "inv C[0] of $1",
             "verdict": "proof"}]

    def test_sums(self):
        self.assertEqual(mutation.sums(self.ROWS), {"a": [2, 1, 0, 1], "b": [1, 0, 1, 0]})
        self.assertIn("2 of 3 killed, 1 survivors (seed 5; 1 by tests, 1 by proofs)",
                      mutation.last_line(self.ROWS, 5))

    def test_table(self):
        table = mutation.page_table({"seed": 5, "rows": self.ROWS})
        self.assertIn("| 2 | q | inv B[0] | makes no difference |", table)


if __name__ == "__main__":
    unittest.main()
