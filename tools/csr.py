# SPDX-License-Identifier: Apache-2.0
"""Reads the registers from rtl/tpt_csr.rdl: what tools/gen_csr.py and tools/gen_formats.py write
down comes from here."""

from systemrdl import RDLCompileError, RDLCompiler
from systemrdl.node import RegNode
from systemrdl.rdltypes import OnWriteType

from common import ROOT, ToolError

SOURCE = "rtl/tpt_csr.rdl"
# Access of a field, as the pages call it.
RO, RW, WO, W1C, W1S, W1P = "RO", "RW", "WO", "W1C", "W1S", "W1P"
ACCESS = {
    RO: "read only",
    RW: "read, write",
    WO: "write only, reads as 0",
    W1C: "write 1 to clear",
    W1S: "write 1 to set",
    W1P: "write 1 for a pulse, reads as 0",
}


class Lock:
    """A signal that closes fields: its name, and how the pages call it."""

    def __init__(self, name, words):
        self.name, self.words = name, words


class Field:
    """A field of a register. `reset` is None if the hardware tells the value."""

    def __init__(self, node):
        self.name = node.inst_name
        self.low, self.width = node.low, node.width
        self.text = one_line(node.get_property("desc"))
        self.access = access_of(node)
        # constants have a reset value and no hardware that could change it
        self.constant = self.access == RO and not node.is_hw_writable and \
            not node.get_property("counter")
        live = node.is_hw_writable and not node.implements_storage
        reset = node.get_property("reset")
        if reset is None and not live:
            raise ToolError(f"{SOURCE}: {node.get_path()} has no reset value: give it one")
        self.reset = None if live else reset
        lock = node.get_property("swwel")
        if lock is True:
            raise ToolError(f"{SOURCE}: {node.get_path()}: swwel must name the signal that locks "
                            f"it")
        self.lock = None if not lock else Lock(lock.inst_name, one_line(lock.get_property("name")))

    @property
    def mask(self):
        """Its bits in the register."""
        return ((1 << self.width) - 1) << self.low


class Register:
    """A register, or an array of equal ones."""

    def __init__(self, node):
        self.name = "_".join(segment.split("[")[0] for segment in node.get_path_segments()[1:])
        self.title = one_line(node.get_property("name"))
        self.text = one_line(node.get_property("desc"))
        arrays = [n for n in (node.parent, node) if n.is_array]
        if len(arrays) > 1 or arrays and len(arrays[0].array_dimensions) > 1:
            raise ToolError(f"{SOURCE}: {node.get_path()} is an array of arrays, which the tools "
                            f"do not know")
        self.is_array = bool(arrays)
        self.count = arrays[0].array_dimensions[0] if arrays else 1
        self.stride = arrays[0].array_stride if arrays else 4
        self.offset = node.raw_absolute_address
        self.fields = [Field(field) for field in node.fields()]

    @property
    def access(self):
        """Accesses of its fields in words of the pages, such as `RW` or `RW, W1S`."""
        return ", ".join(sorted({field.access for field in self.fields}))

    @property
    def written(self):
        """Fields that software can write."""
        return [field for field in self.fields if field.access != RO]

    @property
    def reads_zero(self):
        """True if it can be written but shows nothing."""
        return all(field.access in (WO, W1P) for field in self.fields)

    @property
    def lock(self):
        """The lock that closes all of it, or None."""
        locks = {field.lock.name if field.lock else None for field in self.written}
        if len(locks) == 1 and None not in locks:
            return self.written[0].lock
        return None

    @property
    def constant(self):
        """True if it always reads the same value."""
        return all(field.constant for field in self.fields)

    @property
    def reset(self):
        """Value after reset; bits that the hardware tells are 0 here."""
        return sum((field.reset or 0) << field.low for field in self.fields
                   if field.access not in (WO, W1P))

    def mask(self, *accesses):
        """Bits of all fields with one of these accesses."""
        return sum(field.mask for field in self.fields if field.access in accesses)

    @property
    def live(self):
        """Bits that the hardware tells."""
        return sum(field.mask for field in self.fields if field.reset is None)


class Map:
    """All registers of the file, in the order of their offsets."""

    def __init__(self, path=None):
        compiler = RDLCompiler()
        try:
            compiler.compile_file(str(path or ROOT / SOURCE))
            top = compiler.elaborate().top
        except RDLCompileError as error:
            raise ToolError(f"{SOURCE}: {error}; see the messages above") from error
        self.title = one_line(top.get_property("name"))
        self.registers = [Register(node) for node in top.descendants(unroll=False)
                          if isinstance(node, RegNode)]
        self.registers.sort(key=lambda register: register.offset)
        self.locks = {}
        for register in self.registers:
            for field in register.fields:
                if field.lock:
                    self.locks.setdefault(field.lock.name, field.lock)

    def __getitem__(self, name):
        for register in self.registers:
            if register.name == name:
                return register
        raise ToolError(f"{SOURCE} has no register {name}; it has "
                        f"{', '.join(register.name for register in self.registers)}")

    @property
    def counters(self):
        """The event counters, which follow each other."""
        found = [register for register in self.registers if register.name.startswith("CNT_")]
        for number, register in enumerate(found):
            if register.offset != found[0].offset + 4 * number:
                raise ToolError(f"{SOURCE}: {register.name} is at {register.offset:#05x}, must be "
                                f"at {found[0].offset + 4 * number:#05x}: counters follow each "
                                f"other")
        return found


def one_line(text):
    """A description without line breaks."""
    return " ".join((text or "").split())


def camel(name):
    """FOO_BAR as FooBar."""
    return "".join(word.capitalize() for word in name.lower().split("_"))


def access_of(node):
    """How software sees a field."""
    if node.get_property("singlepulse"):
        return W1P
    if not node.is_sw_writable:
        return RO
    if not node.is_sw_readable:
        return WO
    action = node.get_property("onwrite")
    known = {None: RW, OnWriteType.woclr: W1C, OnWriteType.woset: W1S}
    if action not in known:
        raise ToolError(f"{SOURCE}: {node.get_path()}: onwrite = {action.name} is not known to the "
                        f"tools; woclr and woset are")
    return known[action]
