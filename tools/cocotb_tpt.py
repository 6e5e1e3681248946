# SPDX-License-Identifier: Apache-2.0
"""The cocotb test that tools/cocotb_bench.py runs: a memory, a client, a comparison of every beat.

It works like the bench in Rust: inputs change while the clock is low, outputs are read before the
rising edge. A transfer happens where valid and ready are both high then. The memory answers reads
in order after a fixed latency and takes a write in every clock.
"""

import collections
import json
import os
import time

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly

# Tags that are used.
TAGS = 256
# Clocks after which the unit has hung, whatever it was doing.
PATIENCE = 2_000_000
PERIOD = 10  # ns


class Memory:
    """AXI4 subordinate over a dictionary of 64-byte lines."""

    def __init__(self, dut, latency):
        self.dut, self.latency = dut, latency
        self.beat = len(dut.m_axi_rdata) // 8
        self.lines = collections.defaultdict(lambda: bytearray(64))
        self.reads = collections.deque()
        self.writes, self.data, self.answers = (collections.deque() for _ in range(3))
        self.rvalid = self.bvalid = False
        for name in ("arready", "awready", "wready"):
            getattr(dut, f"m_axi_{name}").value = 1
        dut.m_axi_rvalid.value = 0
        dut.m_axi_bvalid.value = 0

    def write(self, address, data):
        """Puts bytes that lie in whole lines or in one."""
        for at in range(0, len(data), 8):
            place = address + at
            offset = place % 64
            self.lines[place // 64][offset:offset + 8] = data[at:at + 8]

    def drive(self, clock):
        """The memory's side of the next clock."""
        if not self.rvalid and self.reads and self.reads[0][0] <= clock:
            _, ident, address, left = self.reads[0]
            line = self.lines[address // 64]
            offset = address % 64
            self.dut.m_axi_rid.value = ident
            self.dut.m_axi_rdata.value = int.from_bytes(line[offset:offset + self.beat], "little")
            self.dut.m_axi_rresp.value = 0
            self.dut.m_axi_rlast.value = int(left == 1)
            self.dut.m_axi_rvalid.value = 1
            self.rvalid = True
        elif not self.rvalid:
            self.dut.m_axi_rvalid.value = 0
        if not self.bvalid and self.answers and self.answers[0][0] <= clock:
            self.dut.m_axi_bid.value = self.answers[0][1]
            self.dut.m_axi_bresp.value = 0
            self.dut.m_axi_bvalid.value = 1
            self.bvalid = True
        elif not self.bvalid:
            self.dut.m_axi_bvalid.value = 0

    def observe(self, clock):
        """What was handed over in this clock."""
        dut = self.dut
        if int(dut.m_axi_arvalid.value):
            self.reads.append((clock + self.latency, int(dut.m_axi_arid.value),
                               int(dut.m_axi_araddr.value), int(dut.m_axi_arlen.value) + 1))
        if self.rvalid and int(dut.m_axi_rready.value):
            self.rvalid = False
            due, ident, address, left = self.reads.popleft()
            if left > 1:
                self.reads.appendleft((due, ident, address + self.beat, left - 1))
        if int(dut.m_axi_awvalid.value):
            self.writes.append((int(dut.m_axi_awid.value), int(dut.m_axi_awaddr.value)))
        if int(dut.m_axi_wvalid.value):
            self.data.append((int(dut.m_axi_wdata.value).to_bytes(self.beat, "little"),
                              int(dut.m_axi_wlast.value)))
        while self.writes and any(last for _, last in self.data):
            ident, address = self.writes.popleft()
            last = 0
            while not last:
                data, last = self.data.popleft()
                self.write(address, data)
                address += self.beat
            self.answers.append((clock + self.latency, ident))
        if self.bvalid and int(dut.m_axi_bready.value):
            self.bvalid = False
            self.answers.popleft()


class Bench:
    """The unit, its memory, and the clock."""

    def __init__(self, dut, latency):
        self.dut, self.clock = dut, 0
        for handle in dut:
            name = handle._name  # pylint: disable=protected-access
            if name.startswith("s_ax") and name.endswith(("valid", "data", "addr", "strb")):
                handle.value = 0
        for name in ("s_axil_bready", "s_axil_rready", "m_axis_rsp_tready", "m_axis_cpl_tready"):
            getattr(dut, name).value = 0
        self.memory = Memory(dut, latency)

    async def step(self):
        """Everything up to the values before the next rising edge."""
        self.memory.drive(self.clock)
        await ReadOnly()
        self.memory.observe(self.clock)
        self.clock += 1

    async def next(self):
        """To the low half after that edge."""
        await FallingEdge(self.dut.clk_i)

    async def write_register(self, address, value):
        """AXI4-Lite write."""
        dut = self.dut
        dut.s_axil_awaddr.value, dut.s_axil_wdata.value, dut.s_axil_wstrb.value = address, value, 15
        dut.s_axil_awvalid.value = dut.s_axil_wvalid.value = dut.s_axil_bready.value = 1
        done = False
        while not done:
            await self.step()
            sent = int(dut.s_axil_awready.value), int(dut.s_axil_wready.value)
            done = bool(int(dut.s_axil_bvalid.value))
            await self.next()
            if sent[0]:
                dut.s_axil_awvalid.value = 0
            if sent[1]:
                dut.s_axil_wvalid.value = 0
        dut.s_axil_bready.value = 0

    async def read_register(self, address):
        """AXI4-Lite read."""
        dut = self.dut
        dut.s_axil_araddr.value, dut.s_axil_arvalid.value, dut.s_axil_rready.value = address, 1, 1
        while True:
            await self.step()
            sent, valid = int(dut.s_axil_arready.value), int(dut.s_axil_rvalid.value)
            data = int(dut.s_axil_rdata.value)
            await self.next()
            if sent:
                dut.s_axil_arvalid.value = 0
            if valid:
                dut.s_axil_rready.value = 0
                return data


def decode(word, layout):
    """A payload: its fields by name. The layout is [lowest bit, width] by name."""
    return {name: word >> lsb & (1 << width) - 1 for name, (lsb, width) in layout.items()}


async def requests_through(bench, requests, plan):
    """Sends all requests of client 0 and compares every beat; returns the number of beats."""
    dut = bench.dut
    rsp_mask = (1 << len(dut.m_axis_rsp_tdata) // 2) - 1
    free = collections.deque(range(TAGS))
    inside = collections.defaultdict(collections.deque)
    ahead, response, tag_lsb = plan["ahead"], plan["response"], plan["request"]["tag"][0]
    dones = collections.deque()
    dut.m_axis_rsp_tready.value = 1
    sent = answered = beats = 0
    offered = None
    while answered < len(requests) or dones:
        if offered is None and sent < len(requests) and sent - answered < ahead and free:
            request, expected = requests[sent]
            sent += 1
            offered = (free.popleft(), decode(request, plan["request"])["stream"], expected)
            dut.s_axis_req_tdata.value = request | offered[0] << tag_lsb
            dut.s_axis_req_tvalid.value = 1
        elif offered is None:
            dut.s_axis_req_tvalid.value = 0
        if dones:
            dut.s_axis_done_tdata.value = dones[0]
        dut.s_axis_done_tvalid.value = int(bool(dones))
        await bench.step()
        if offered is not None and int(dut.s_axis_req_tready.value) & 1:
            inside[offered[1] & 15].append([offered[0], offered[1], collections.deque(offered[2])])
            offered = None
        if dones and int(dut.s_axis_done_tready.value) & 1:
            free.append(dones.popleft())
        if int(dut.m_axis_rsp_tvalid.value) & 1:
            beat = decode(int(dut.m_axis_rsp_tdata.value) & rsp_mask, response)
            tag, stream = beat.pop("tag"), beat.pop("stream")
            beats += 1
            oldest = inside[stream & 15][0]
            assert (tag, stream) == tuple(oldest[:2]), f"clock {bench.clock}: tag {tag} is early"
            want = oldest[2].popleft()
            assert beat == want, f"clock {bench.clock}: expected {want}, got {beat}"
            if beat["last"]:
                assert not oldest[2], f"clock {bench.clock}: a beat is missing"
                inside[stream & 15].popleft()
                dones.append(tag)
                answered += 1
        await bench.next()
    return beats


@cocotb.test(timeout_time=PATIENCE * PERIOD, timeout_unit="ns")
async def speed(dut):
    """All requests of the file; the time is that of the requests alone."""
    with open(os.environ["TPT_REQUESTS"], encoding="utf-8") as file:
        plan = json.load(file)
    requests = [(int(r["payload"], 16), r["beats"]) for r in plan["requests"]]
    Clock(dut.clk_i, PERIOD, unit="ns").start(start_high=False)
    dut.rst_ni.value = 0
    bench = Bench(dut, 1)
    for _ in range(8):
        await bench.next()
    dut.rst_ni.value = 1
    for address, value in plan["registers"]:
        await bench.write_register(address, value)
    address, ready = plan["status"]
    while not await bench.read_register(address) & ready:
        pass
    for place, data in plan["memory"]:
        bench.memory.write(int(place, 16), bytes.fromhex(data))
    bench.memory.latency = plan["latency"]
    clock, start = bench.clock, time.process_time()
    beats = await requests_through(bench, requests, plan)
    seconds, clocks = time.process_time() - start, bench.clock - clock
    with open(os.environ["TPT_RESULT"], "w", encoding="utf-8") as file:
        json.dump({"clocks": clocks, "seconds": round(seconds, 3), "beats": beats,
                   "clocks_per_second": round(clocks / seconds, 1),
                   "cocotb": cocotb.__version__}, file)
