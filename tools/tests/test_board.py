# SPDX-License-Identifier: Apache-2.0
"""Tests of the tools for boards: the bitstream, the link's constants, what is installed."""

import copy
import json
import pathlib
import re
import sys
import tempfile
import types
import unittest
from unittest import mock

TOOLS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOOLS))

import bitstream  # noqa: E402
import common  # noqa: E402
import gen_formats  # noqa: E402
import gen_link  # noqa: E402

ROOT = common.ROOT


class Bitstream(unittest.TestCase):
    """tools/bitstream.py and fpga/boards.toml."""

    def refuse(self, text, **changes):
        """The table of the ULX3S with a change must be refused."""
        known = copy.deepcopy(common.boards())
        known["ulx3s"].update(changes)
        known["ulx3s"] = {key: value for key, value in known["ulx3s"].items() if value is not None}
        with self.assertRaisesRegex(common.ToolError, text):
            bitstream.described(known, "ulx3s")

    def test_the_real_boards(self):
        for name in common.boards():
            bitstream.described(common.boards(), name)

    def test_a_missing_key_or_a_wrong_one_is_named(self):
        board, (_, keys) = common.boards()["ulx3s"], bitstream.BUILDERS["ecp5"]
        for key in {**bitstream.KEYS, **keys}:
            self.assertIn(key, board)
            self.refuse(rf"\[ulx3s\] {key} is None; expected", **{key: None})
        self.refuse("clock_mhz is '30'; expected int", clock_mhz="30")
        self.refuse("family is 'ecp6'; expected one of ecp5", family="ecp6")
        with self.assertRaisesRegex(common.ToolError, "no board nope in .*; there are ulx3s"):
            bitstream.described(common.boards(), "nope")

    def commands(self, **args):
        """Commands of synthesis and of place and route."""
        args = types.SimpleNamespace(**{"smoke": False, "clock": None, "seed": None, "timeout": 1,
                                        **args})
        found = []

        def step(_, command, _timeout, log):
            found.append(" ".join(command))
            if len(found) == 2:
                raise StopIteration
            (log.parent / "stat.json").write_text(json.dumps(
                {"design": {"num_cells_by_type": {"LUT4": 1}}}))
        (common.BUILD / "tests").mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=common.BUILD / "tests") as folder, \
                mock.patch.object(bitstream, "step", step), self.assertRaises(StopIteration):
            bitstream.build_ecp5(common.boards()["ulx3s"], "ulx3s", args, pathlib.Path(folder))
        return found

    def test_clock_and_seed(self):
        board = common.boards()["ulx3s"]
        for args, clock, seed in (({}, board["clock_mhz"], board["seed"]),
                                  ({"smoke": True}, board["smoke_clock_mhz"], board["seed"]),
                                  ({"clock": 50, "seed": 0}, 50, 0)):
            synthesis, route = self.commands(**args)
            self.assertIn(f"-G ClkMhz={clock} ", synthesis)
            self.assertIn(f"--seed {seed} ", route)

    def test_bad_numbers_are_refused(self):
        for args in (["--clock", "0"], ["--clock", "-5"], ["--timeout", "0"]):
            result = common.run([sys.executable, str(TOOLS / "bitstream.py"), "--board", "ulx3s",
                                 *args], timeout=60)
            self.assertEqual(result.code, 2)
            self.assertRegex(result.output, f"{args[0]}: .*from 1 on|{args[0]}: expected")


class Link(unittest.TestCase):
    """tools/gen_link.py."""

    def setUp(self):
        self.text = (ROOT / gen_link.PACKAGE).read_text()

    def sizes(self, old="", new=""):
        """Package and operands with a text replaced."""
        self.assertIn(old, self.text)
        text = self.text.replace(old, new)
        package = gen_formats.Package(text)
        return package, gen_link.sizes(package, text, "link_operands")[0]

    def test_the_real_one(self):
        package, operands = self.sizes()
        self.assertEqual(gen_link.note_problems(package, operands), [])
        self.assertEqual((operands["LinkRequest"], operands["LinkReset"]), (26, 0))

    def test_a_comment_that_differs_is_found(self):
        for old, new in (("// client 1, tag 2", "// client 1, tag 3"),
                         ("LinkDone:                                         return 5'd3",
                          "LinkDone:                                         return 5'd4")):
            found = gen_link.note_problems(*self.sizes(old, new))
            self.assertEqual(len(found), 1)
            self.assertIn("the comment of LinkDone tells", found[0])

    def test_what_cannot_be_read_is_refused(self):
        for old, new, text in (
                ("return 5'd3;", "return op[4:0];", "cannot evaluate|not a parameter|cannot read"),
                ("LinkFill, LinkWriteCsr:  ", "LinkFil, LinkWriteCsr:  ", "expected operations"),
                ("link_operands(logic", "link_args(logic", "no function link_operands")):
            with self.assertRaisesRegex((common.ToolError, gen_formats.PackageError), text):
                self.sizes(old, new)


class Setup(unittest.TestCase):
    """tools/setup.sh."""

    def test_what_it_installs_is_told(self):
        text = (ROOT / "tools/setup.sh").read_text()
        packages = set(re.findall(r"p\+=\((\S+)\)", text))
        self.assertGreater(len(packages), 5)
        head = text.split("set -euo")[0]
        for place, told in (("README.md", (ROOT / "README.md").read_text()),
                            ("tools/setup.sh", head)):
            missing = {name for name in packages if not re.search(rf"\b{re.escape(name)}(?!\w)",
                                                                  told)}
            self.assertEqual(missing, set(), place)


if __name__ == "__main__":
    unittest.main()
