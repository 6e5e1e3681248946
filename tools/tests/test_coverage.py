# SPDX-License-Identifier: Apache-2.0
"""Tests of the coverage of the RTL: what is missing must not count as met."""

import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import common  # noqa: E402
import coverage  # noqa: E402


def dat(file, line, page, count, name="block", lines=None, block="tpt_fifo", column=3):
    """A line of a file that Verilator's runtime writes."""
    fields = {"f": file, "l": line, "n": column, "page": f"{page}/{block}", "o": name}
    if lines:
        fields["S"] = lines
    key = "".join(f"\x01{key}\x02{value}" for key, value in fields.items())
    return f"C '{key}\x01h\x02tpt.*' {count}\n"


class Folder(unittest.TestCase):
    """With a folder for what processes leave."""

    def setUp(self):
        keep = tempfile.TemporaryDirectory()
        self.addCleanup(keep.cleanup)
        self.folder = pathlib.Path(keep.name)

    def counters(self, *texts):
        for number, text in enumerate(texts):
            (self.folder / f"{number}.dat").write_text("# SystemC::Coverage-3\n" + text,
                                                       encoding="utf-8")
        return coverage.read_counters(self.folder)


class Counters(Folder):
    """What processes leave is added up over processes, instances and parameters."""

    def test_sum(self):
        found = self.counters(
            dat("rtl/a.sv", 7, "v_line", 2, lines="7-8,11") + dat("rtl/a.sv", 9, "v_branch", 0),
            dat("rtl/a.sv", 7, "v_line", 3, lines="7-8,11", block="tpt_fifo__D4"))
        counts = {(counter.line, counter.kind): counter for counter in found}
        self.assertEqual(counts[7, "line"].count, 5)
        self.assertEqual(counts[7, "line"].lines, {7, 8, 11})
        self.assertEqual(counts[9, "branch"].count, 0)

    def test_cases(self):
        (self.folder / "1.points").write_text("answer Ok X 3\ncommand Query Ok 1\n")
        (self.folder / "2.points").write_text("answer Ok X 4\n")
        self.assertEqual(coverage.read_cases(self.folder),
                         {"answer Ok X": 7, "command Query Ok": 1})


class Judgement(Folder):
    """A line counts only if all of its blocks were run."""

    def judged(self, text, waivers="", cases=None):
        root = self.folder / "root"
        (root / "rtl").mkdir(parents=True)
        (root / "tb").mkdir()
        (root / "rtl/a.sv").write_text("".join(f"line {n}\n" for n in range(1, 12)))
        (root / coverage.WAIVERS).write_text(waivers)
        counters = self.counters(text)
        with mock.patch.object(coverage, "ROOT", root):
            known = coverage.Waivers(root)
            return coverage.judge(counters, cases or {}, known), known

    def test_line(self):
        shares, _ = self.judged(dat("rtl/a.sv", 1, "v_line", 1, lines="1-3")
                                + dat("rtl/a.sv", 3, "v_branch", 0, name="else"))
        self.assertEqual((shares["lines"].met, shares["lines"].missing),
                         (2, ["rtl/a.sv:3: line 3"]))
        self.assertEqual(len(shares["branches"].missing), 1)

    def test_waiver(self):
        shares, known = self.judged(
            dat("rtl/a.sv", 5, "v_line", 0),
            '[[line]]\nfile = "rtl/a.sv"\ntext = "line 5"\nreason = "x"\n'
            '[[name]]\nmatch = "Idle_C"\nreason = "y"\n')
        self.assertEqual((shares["lines"].met, shares["lines"].waived), (0, 1))
        self.assertEqual(known.idle(), ["Idle_C"])

    def test_waiver_without_a_reason(self):
        with self.assertRaisesRegex(common.ToolError, "reason is missing"):
            self.judged("", '[[line]]\nfile = "rtl/a.sv"\ntext = "line 5"\n')

    def test_points(self):
        shares, _ = self.judged(dat("tb/verilated/sv/cover.sv", 5, "v_user", 0, name="Full_C")
                                + dat("tb/verilated/sv/cover.sv", 6, "v_user", 2, name="One_C"))
        self.assertEqual((shares["points"].met, shares["points"].missing), (1, ["Full_C"]))

    def test_what_is_kept_gives_the_table(self):
        table = coverage.page_table({"lines": {"met": 3, "waived": 1, "missing": 4}})
        self.assertIn("| lines | 3 | 1 | 4 | 50.0 % |", table)

    def test_generated_files_are_not_counted(self):
        shares, _ = self.judged(dat("rtl/gen/b.sv", 1, "v_line", 0))
        self.assertNotIn("lines", shares)


class Goals(unittest.TestCase):
    """The cases that must be met."""

    def test_a_case_meets_its_goals_only(self):
        found = coverage.goals({"answer Ok LocalRead l1 4K end one-page": 1})
        granted = dict(found["granted: operation, kind of table, page size"])
        self.assertTrue(granted["Ok LocalRead l1 4K"])
        self.assertEqual(sum(granted.values()), 1)
        places = dict(found["granted: operation, place, pages"])
        self.assertTrue(places["Ok LocalRead end one-page"])
        self.assertFalse(any(met for _, met in found["out of bounds: operation, place"]))

    def test_a_syndrome_that_is_never_seen_is_missing(self):
        found = dict(coverage.goals({})["syndrome, operation"])
        self.assertIn("HostWin RemoteRead", found)
        self.assertNotIn("Align RemoteRead", found)
        self.assertFalse(any(found.values()))

    def test_commands_and_statuses(self):
        found = coverage.goals({"command RegMr Busy": 2})
        self.assertEqual([name for name, met in found["statuses of commands"] if met], ["Busy"])
        self.assertFalse(any(met for _, met in found["commands done"]))

    def test_names_come_from_the_reference(self):
        self.assertEqual(coverage.codes("Role"), ("Local", "Remote"))
        with self.assertRaisesRegex(common.ToolError, "no enumeration Nope"):
            coverage.codes("Nope")


if __name__ == "__main__":
    unittest.main()
