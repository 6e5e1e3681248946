# SPDX-License-Identifier: Apache-2.0
"""Tests of the simulation of the netlist: what is wrong must not pass."""

import argparse
import pathlib
import sys
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import common  # noqa: E402
import gate_ram  # noqa: E402
import gate_sim  # noqa: E402


class BlockRam(unittest.TestCase):
    """The check of the model of the block RAM."""

    MODEL = gate_ram.MODEL.read_text(encoding="utf-8")
    NETLIST = ("module ram_shapes(clk_i);\n  DP16KD #(\n    .CLKAMUX(\"CLKA\"),\n"
               "    .DATA_WIDTH_A(32'd36),\n    .DATA_WIDTH_B(32'sd18)\n  ) _1_ (\n"
               "    .ADA0(_2_)\n  );\nendmodule\n")

    def test_widths(self):
        self.assertEqual(gate_ram.widths(self.NETLIST), {(36, 18)})
        self.assertEqual(gate_ram.widths("module m; endmodule"), set())

    def test_each_fault_changes_a_module_of_its_own(self):
        for number, fault in enumerate(gate_ram.FAULTS, 1):
            text = gate_ram.broken(self.MODEL, fault, number)
            self.assertIn(f"module DP16KD_{number} #(", text)
            self.assertIn(fault[2], text)
            self.assertNotIn("module DP16KD ", text)

    def test_a_fault_that_fits_nowhere_is_refused(self):
        with self.assertRaisesRegex(common.ToolError, "0 times in dp16kd.v"):
            gate_ram.broken(self.MODEL, ("x", "no such text", ""), 1)

    def test_each_copy_of_the_netlist_has_its_model(self):
        text = gate_ram.models(self.MODEL, self.NETLIST)
        count = len(gate_ram.FAULTS) + 1
        self.assertIn(f"Models = {count};", text)
        for number in range(count):
            gates = text.split(f"module ram_gates_{number}(")[1].split("endmodule")[0]
            self.assertIn(f"DP16KD_{number} #(" if number else "DP16KD #(", gates)

    def test_what_the_bench_says(self):
        rows = [f"model {n}: {5 * n} differ" for n in range(len(gate_ram.FAULTS) + 1)]
        reads, good, faults = gate_ram.judge("\n".join(rows + ["reads: 70", ""]))
        self.assertEqual((reads, good, faults[0], len(faults)), (70, 0, 5, len(gate_ram.FAULTS)))
        for output in ("\n".join(rows), "\n".join(rows[1:] + ["reads: 70"]), ""):
            with self.assertRaisesRegex(common.ToolError, "did not run to its end"):
                gate_ram.judge(output)

    def test_differences_and_faults_that_are_not_seen_fail(self):
        count = len(gate_ram.FAULTS)
        for counts, text in (([1] * (count + 1), "1 of 70 reads differ"),
                             ([0] * (count + 1), "is not found: " + gate_ram.FAULTS[0][0])):
            output = "".join(f"model {n}: {c} differ\n" for n, c in enumerate(counts))
            with self.assertRaisesRegex(common.ToolError, text):
                gate_ram.verdict(output + "reads: 70\n")


class Netlist(unittest.TestCase):
    """Simulation of the whole unit."""

    def test_requests(self):
        self.assertEqual(gate_sim.requests("requests      12\n  reads  3\n"), 12)
        self.assertEqual(gate_sim.requests("\nreplayed: 7, agreed: 7, disagreed: 0\n"), 7)
        self.assertEqual(gate_sim.requests("nothing"), 0)

    def test_only_a_mismatch_that_was_told_finds_the_fault(self):
        for code, output, found in ((1, "mismatches: 3\n", True), (1, "mismatches: 0\n", False),
                                    (101, "mismatches: 3\n", False), (1, "panic\n", False),
                                    (None, "mismatches: 3\n", False)):
            self.assertEqual(gate_sim.found(common.Result(code, output, 1.0)), found)

    def test_block_rams_that_were_not_checked_are_refused(self):
        args = argparse.Namespace(config="small", mutant=False, netlist=__file__, timeout=1)
        with mock.patch.object(gate_ram, "widths", return_value={(36, 36), (2, 2)}):
            with self.assertRaisesRegex(common.ToolError, r"\[\(2, 2\)\] bits"):
                gate_sim.simulate(args, {(36, 36)})


if __name__ == "__main__":
    unittest.main()
