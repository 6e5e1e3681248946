// SPDX-License-Identifier: Apache-2.0
//! AXI4 subordinate over the sparse physical memory.
//!
//! Latency, reordering between IDs, interleaving of bursts, back-pressure and idle clocks on every
//! channel, injected error responses, and a protocol checker that is always on. Nothing is
//! allocated per clock once the tables have grown to the traffic.
//!
//! In every clock [`AxiMem::drive`] sets the memory's side of the port, the model is evaluated, and
//! [`AxiMem::observe`] looks at what happened. Answers to reads from before a reset of the unit are
//! kept and still delivered: it is the unit that must drop them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::ops::Range;

use tpt_golden::mem::PhysMem;
use tpt_verilated::{AxiIn, AxiOut, AXI_WORDS};

use crate::rng::{Clocks, Gate, Pattern, Rng};

/// Error responses of AXI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum AxiError {
    /// The subordinate refuses.
    SlvErr = 2,
    /// Nobody is at this address.
    DecErr = 3,
}

/// Which accesses a fault hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultOn {
    /// Reads.
    Read,
    /// Writes; a refused write changes nothing.
    Write,
    /// Both.
    Both,
}

/// An error response to inject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Addresses; a burst that touches one is hit.
    pub range: Range<u64>,
    /// Direction.
    pub on: FaultOn,
    /// Response.
    pub error: AxiError,
    /// How many of the accesses that it would hit are let pass first.
    pub after: u32,
    /// How often it still happens; `None`: always.
    pub times: Option<u32>,
    /// Percent of the accesses that are hit.
    pub percent: u8,
}

impl Fault {
    /// Every access of `on` to `range` is answered SLVERR.
    pub fn always(range: Range<u64>, on: FaultOn) -> Self {
        Self {
            range,
            on,
            error: AxiError::SlvErr,
            after: 0,
            times: None,
            percent: 100,
        }
    }

    /// The next access of `on` to `range` is answered SLVERR.
    pub fn once(range: Range<u64>, on: FaultOn) -> Self {
        Self {
            times: Some(1),
            ..Self::always(range, on)
        }
    }
}

/// When a read looks at the memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sample {
    /// Either, by chance: the strictest for the unit.
    #[default]
    Mixed,
    /// When the address is accepted.
    Early,
    /// When the first data beat is answered.
    Late,
}

/// Behaviour of the memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AxiConfig {
    /// Clocks from the address of a read to its first data, at least 1.
    pub read_latency: Clocks,
    /// Clocks from the last data of a write to its response, at least 1.
    pub write_latency: Clocks,
    /// Reads of different IDs overtake each other.
    pub reorder: bool,
    /// Beats of bursts of different IDs are mixed.
    pub interleave: bool,
    /// Read address ready.
    pub ar_ready: Pattern,
    /// Write address ready.
    pub aw_ready: Pattern,
    /// Write data ready.
    pub w_ready: Pattern,
    /// Clocks in which a read data beat may start.
    pub r_valid: Pattern,
    /// Clocks in which a write response may start.
    pub b_valid: Pattern,
    /// When reads look at the memory.
    pub sample: Sample,
}

impl Default for AxiConfig {
    fn default() -> Self {
        Self {
            read_latency: Clocks::fixed(10),
            write_latency: Clocks::fixed(5),
            reorder: false,
            interleave: false,
            ar_ready: Pattern::Always,
            aw_ready: Pattern::Always,
            w_ready: Pattern::Always,
            r_valid: Pattern::Always,
            b_valid: Pattern::Always,
            sample: Sample::Mixed,
        }
    }
}

impl AxiConfig {
    /// Everything that AXI allows: random latency, reordering, interleaving, back-pressure.
    pub fn hostile(max_latency: u32) -> Self {
        Self {
            read_latency: Clocks::range(1, max_latency.max(1)),
            write_latency: Clocks::range(1, max_latency.max(1)),
            reorder: true,
            interleave: true,
            ar_ready: Pattern::Random { percent: 60 },
            aw_ready: Pattern::Random { percent: 50 },
            w_ready: Pattern::Random { percent: 50 },
            r_valid: Pattern::Random { percent: 70 },
            b_valid: Pattern::Random { percent: 50 },
            sample: Sample::Mixed,
        }
    }
}

/// What went over the port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AxiCounters {
    /// Read bursts accepted.
    pub reads: u64,
    /// Of them inside the MPT (see [`AxiMem::set_mpt`]).
    pub mpt_reads: u64,
    /// Write bursts finished.
    pub writes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Sum over all reads of the clocks from address to last data.
    pub read_clocks: u64,
    /// Error responses to reads.
    pub read_errors: u64,
    /// Error responses to writes.
    pub write_errors: u64,
    /// Most reads outstanding at once.
    pub most_outstanding: u32,
}

/// A rule of AXI or of the unit that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Clock.
    pub clock: u64,
    /// What.
    pub text: String,
}

/// An error that was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// Clock of the access.
    pub clock: u64,
    /// First address of the burst.
    pub address: u64,
    /// It was a write.
    pub write: bool,
}

const NONE: u32 = u32::MAX;
/// Bytes of the longest burst: every access of the unit is one MPT entry or one line.
const BURST_BYTES: usize = 256;
/// More reads than any configuration can have outstanding.
const MAX_READS: usize = 4096;

#[derive(Clone)]
struct Read {
    id: u16,
    address: u64,
    beats: u16,
    at: u16,
    accepted: u64,
    sampled: bool,
    due_passed: bool,
    /// Next read of the same ID.
    next: u32,
    /// Response, and the beat that carries it (`NONE`: all).
    error: Option<(AxiError, u32)>,
    data: [u8; BURST_BYTES],
}

#[derive(Clone, Copy)]
struct Lane {
    head: u32,
    tail: u32,
}

#[derive(Clone)]
struct WriteJob {
    id: u16,
    address: u64,
    beats: u16,
}

struct WriteData {
    beats: u16,
    data: [u8; BURST_BYTES],
}

/// A write that waits for its response; its data may reach the memory as late as that.
struct Response {
    due: u64,
    id: u16,
    resp: u8,
    address: u64,
    /// Bytes that are not in the memory yet.
    late: usize,
    data: [u8; BURST_BYTES],
}

impl Response {
    fn apply(&mut self, memory: &mut PhysMem) {
        memory.write(self.address, &self.data[..self.late]);
        self.late = 0;
    }
}

/// Held payload of a channel that stalls.
#[derive(Clone, Default)]
struct Held {
    ar: Option<(u16, u64, u8, u8, u8)>,
    aw: Option<(u16, u64, u8, u8, u8)>,
    w: Option<(bool, u64, [u32; AXI_WORDS])>,
}

/// The memory's side of the port.
pub struct AxiMem {
    config: AxiConfig,
    rng: Rng,
    clock: u64,
    beat_bytes: usize,
    log_beat: u8,
    gates: Gates,

    reads: Vec<Read>,
    spare: Vec<u32>,
    lanes: Vec<Lane>,
    due: BinaryHeap<Reverse<(u64, u32)>>,
    last_due: u64,
    ready: VecDeque<u32>,
    /// The read whose beat is on the port, and the one that must go on without interleaving.
    driven: u32,
    burst: u32,

    jobs: VecDeque<WriteJob>,
    filled: VecDeque<WriteData>,
    filling: WriteData,
    responses: VecDeque<Response>,
    b_driven: bool,

    held: Held,
    faults: Vec<Fault>,
    answered: Vec<Answered>,
    forbidden: BTreeMap<u64, u64>,
    mpt: Range<u64>,
    /// Command queue: its slots are read in one burst. Completion queue: it is written.
    queues: [Range<u64>; 2],
    violations: Vec<Violation>,
    r_stall: u32,
    /// Clock and first address of the latest error responses that were handed over.
    errors: VecDeque<(u64, u64)>,
    log: Option<Vec<(u64, u64)>>,
    /// Counters since the start.
    pub counters: AxiCounters,
}

struct Gates {
    ar: Gate,
    aw: Gate,
    w: Gate,
    r: Gate,
    b: Gate,
}

impl Gates {
    fn new(config: &AxiConfig) -> Self {
        Self {
            ar: Gate::new(config.ar_ready),
            aw: Gate::new(config.aw_ready),
            w: Gate::new(config.w_ready),
            r: Gate::new(config.r_valid),
            b: Gate::new(config.b_valid),
        }
    }
}

impl WriteData {
    fn new() -> Self {
        Self {
            beats: 0,
            data: [0; BURST_BYTES],
        }
    }
}

impl AxiMem {
    /// A memory port of `beat_bytes` bytes (16, 32 or 64).
    pub fn new(beat_bytes: u32, config: AxiConfig, seed: u64) -> Self {
        let beat_bytes = beat_bytes as usize;
        Self {
            gates: Gates::new(&config),
            config,
            rng: Rng::new(seed ^ 0xa81_0000_0000),
            clock: 0,
            beat_bytes,
            log_beat: beat_bytes.trailing_zeros() as u8,
            reads: Vec::new(),
            spare: Vec::new(),
            lanes: vec![
                Lane {
                    head: NONE,
                    tail: NONE
                };
                1 << 16
            ],
            due: BinaryHeap::new(),
            last_due: 0,
            ready: VecDeque::new(),
            driven: NONE,
            burst: NONE,
            jobs: VecDeque::new(),
            filled: VecDeque::new(),
            filling: WriteData::new(),
            responses: VecDeque::new(),
            b_driven: false,
            held: Held::default(),
            faults: Vec::new(),
            answered: Vec::new(),
            forbidden: BTreeMap::new(),
            mpt: 0..0,
            queues: [0..0, 0..0],
            violations: Vec::new(),
            r_stall: 0,
            errors: VecDeque::new(),
            log: None,
            counters: AxiCounters::default(),
        }
    }

    /// Changes the behaviour from now on; reads that are under way keep their latency.
    pub fn configure(&mut self, config: AxiConfig) {
        self.gates = Gates::new(&config);
        self.config = config;
    }

    /// The behaviour.
    pub fn config(&self) -> &AxiConfig {
        &self.config
    }

    /// Adds an error to inject.
    pub fn inject(&mut self, fault: Fault) {
        self.faults.push(fault);
    }

    /// Forgets all errors to inject.
    pub fn clear_faults(&mut self) {
        self.faults.clear();
    }

    /// Errors that were answered since the last call.
    pub fn take_answered(&mut self) -> Vec<Answered> {
        std::mem::take(&mut self.answered)
    }

    /// True if an error was answered that [`AxiMem::take_answered`] has not returned yet.
    pub fn has_answered(&self) -> bool {
        !self.answered.is_empty()
    }

    /// First addresses of the accesses whose error responses were handed over since `clock`, the
    /// latest first. The last 4096 are remembered.
    pub fn errors_since(&self, clock: u64) -> impl Iterator<Item = u64> + '_ {
        let recent = self.errors.iter().rev();
        recent
            .take_while(move |(when, _)| *when >= clock)
            .map(|(_, address)| *address)
    }

    /// Forgets the error responses to accesses whose first address is the line of `address`: for
    /// tests that want an error without a cause.
    pub fn forget_errors_at(&mut self, address: u64) {
        let line = address & !(self.beat_bytes as u64 - 1);
        self.errors.retain(|(_, first)| *first != line);
    }

    fn remember_error(&mut self, address: u64) {
        if self.errors.len() == 4096 {
            self.errors.pop_front();
        }
        self.errors.push_back((self.clock, address));
    }

    /// A clock without the memory: the unit is in reset.
    pub fn idle_clock(&mut self) {
        self.clock += 1;
    }

    /// Where the MPT is: its reads are counted apart.
    pub fn set_mpt(&mut self, range: Range<u64>) {
        self.mpt = range;
    }

    /// Where the command queue and the completion queue are.
    pub fn set_queues(&mut self, commands: Range<u64>, completions: Range<u64>) {
        self.queues = [commands, completions];
    }

    /// From now on any read inside `range` is a violation, and so is one that is under way.
    pub fn forbid(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        for id in 0..self.lanes.len() {
            let mut at = self.lanes[id].head;
            while at != NONE {
                let read = &self.reads[at as usize];
                let end = read.address + u64::from(read.beats) * self.beat_bytes as u64;
                if read.address < range.end && range.start < end {
                    let text = format!(
                        "read of {:#x} (ID {id}) still under way when its table was released",
                        read.address
                    );
                    self.violations.push(Violation {
                        clock: self.clock,
                        text,
                    });
                }
                at = self.reads[at as usize].next;
            }
        }
        self.forbidden.insert(range.start, range.end);
    }

    /// Ends a [`AxiMem::forbid`] for every range that touches this one.
    pub fn allow(&mut self, range: Range<u64>) {
        self.forbidden
            .retain(|start, end| *start >= range.end || range.start >= *end);
    }

    /// Rules that were broken since the last call.
    pub fn take_violations(&mut self) -> Vec<Violation> {
        std::mem::take(&mut self.violations)
    }

    /// True if a rule was broken.
    #[inline]
    pub fn is_violated(&self) -> bool {
        !self.violations.is_empty()
    }

    /// Starts (or restarts) a list of all reads: clock and address.
    pub fn start_log(&mut self) {
        self.log = Some(Vec::new());
    }

    /// The list since [`AxiMem::start_log`], which goes on empty.
    pub fn take_log(&mut self) -> Vec<(u64, u64)> {
        self.log.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Reads that are under way.
    pub fn outstanding(&self) -> usize {
        self.reads.len() - self.spare.len()
    }

    /// Nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.outstanding() == 0
            && self.jobs.is_empty()
            && self.filled.is_empty()
            && self.filling.beats == 0
            && self.responses.is_empty()
    }

    /// What is under way, for a report.
    pub fn describe(&self) -> String {
        let mut text = format!(
            "memory: {} reads, {} write addresses, {} write bursts, {} write responses under way",
            self.outstanding(),
            self.jobs.len(),
            self.filled.len(),
            self.responses.len()
        );
        let mut shown = 0;
        for (id, lane) in self.lanes.iter().enumerate() {
            let mut at = lane.head;
            while at != NONE && shown < 16 {
                let read = &self.reads[at as usize];
                text += &format!(
                    "\n  read ID {id} address {:#x} beat {}/{} since clock {}",
                    read.address, read.at, read.beats, read.accepted
                );
                shown += 1;
                at = read.next;
            }
        }
        text
    }

    /// The unit is in reset: a write without all of its data is lost, held payloads are free to
    /// change. Reads stay under way.
    pub fn unit_reset(&mut self) {
        self.held = Held::default();
        self.jobs.clear();
        self.filled.clear();
        self.filling = WriteData::new();
        // Write responses would be dropped by the unit as well, but a read that is being presented
        // must not change.
        self.r_stall = 0;
    }

    /// Sets the memory's side for the next clock.
    #[inline]
    pub fn drive(&mut self, memory: &mut PhysMem, port: &mut AxiIn) {
        port.arready = self.gates.ar.next(&mut self.rng) && self.outstanding() < MAX_READS;
        port.awready = self.gates.aw.next(&mut self.rng);
        port.wready = self.gates.w.next(&mut self.rng);
        while let Some(Reverse((due, at))) = self.due.peek().copied() {
            if due > self.clock {
                break;
            }
            self.due.pop();
            self.reads[at as usize].due_passed = true;
            if self.lanes[usize::from(self.reads[at as usize].id)].head == at {
                self.ready.push_back(at);
            }
        }
        if self.driven == NONE && !self.ready.is_empty() && self.gates.r.next(&mut self.rng) {
            self.choose(memory, port);
        }
        port.rvalid = self.driven != NONE;
        if !self.b_driven {
            if let Some(response) = self.responses.front_mut() {
                if response.due <= self.clock && self.gates.b.next(&mut self.rng) {
                    self.b_driven = true;
                    port.bid = response.id;
                    port.bresp = response.resp;
                    response.apply(memory);
                }
            }
        }
        port.bvalid = self.b_driven;
    }

    /// Puts the next read beat on the port.
    fn choose(&mut self, memory: &PhysMem, port: &mut AxiIn) {
        let at = if self.burst != NONE && !self.config.interleave {
            self.burst
        } else {
            let place = if self.config.reorder {
                self.rng.below(self.ready.len() as u64) as usize
            } else {
                0
            };
            self.ready[place]
        };
        self.driven = at;
        self.burst = at;
        let bytes = self.beat_bytes;
        let read = &mut self.reads[at as usize];
        if !read.sampled {
            read.sampled = true;
            let length = usize::from(read.beats) * bytes;
            memory.read(read.address, &mut read.data[..length]);
        }
        let offset = usize::from(read.at) * bytes;
        for (word, place) in port.rdata[..bytes / 4].iter_mut().enumerate() {
            let byte = offset + word * 4;
            let chunk = [
                read.data[byte],
                read.data[byte + 1],
                read.data[byte + 2],
                read.data[byte + 3],
            ];
            *place = u32::from_le_bytes(chunk);
        }
        port.rid = read.id;
        port.rlast = read.at + 1 == read.beats;
        port.rresp = 0;
        if let Some((error, beat)) = read.error {
            if beat == NONE || beat == u32::from(read.at) {
                port.rresp = error as u8;
                // The data of an error beat means nothing; make it look like something.
                for word in &mut port.rdata[..bytes / 4] {
                    *word = self.rng.next_u64() as u32 & !0xffe;
                }
            }
        }
    }

    /// Looks at the clock that was evaluated: `input` is what [`AxiMem::drive`] set.
    #[inline]
    pub fn observe(&mut self, memory: &mut PhysMem, input: &AxiIn, port: &AxiOut) {
        if port.arvalid || self.held.ar.is_some() {
            self.observe_ar(memory, input, port);
        }
        if port.awvalid || self.held.aw.is_some() {
            self.observe_aw(input, port);
        }
        if port.wvalid || self.held.w.is_some() {
            self.observe_w(input, port);
        }
        if !self.jobs.is_empty() && !self.filled.is_empty() {
            self.finish_write(memory);
        }
        if input.rvalid {
            if port.rready {
                if input.rresp != 0 {
                    self.remember_error(self.reads[self.driven as usize].address);
                }
                self.r_stall = 0;
                self.taken();
            } else {
                self.r_stall += 1;
                if self.r_stall == 100_000 {
                    self.violate("read data not taken for 100000 clocks".to_owned());
                }
            }
        }
        if input.bvalid && port.bready {
            let answered = self.responses.pop_front();
            if let Some(response) = answered.filter(|_| input.bresp != 0) {
                self.remember_error(response.address);
            }
            self.b_driven = false;
        }
        self.clock += 1;
    }

    fn violate(&mut self, text: String) {
        if self.violations.len() < 64 {
            self.violations.push(Violation {
                clock: self.clock,
                text,
            });
        }
    }

    /// Checks the rules for an address; false: the burst cannot be served.
    fn check_burst(&mut self, what: &str, address: u64, len: u8, size: u8, burst: u8) -> bool {
        let bytes = (u64::from(len) + 1) << self.log_beat;
        if size != self.log_beat {
            self.violate(format!(
                "{what} {address:#x}: size {size}, want {}",
                self.log_beat
            ));
        }
        if burst != 1 && (len != 0 || burst != 0) {
            self.violate(format!(
                "{what} {address:#x}: burst type {burst}, want INCR"
            ));
        }
        if address % self.beat_bytes as u64 != 0 {
            self.violate(format!("{what} {address:#x}: not aligned to the beat"));
        }
        if bytes > self.beat_bytes as u64 && address % 64 != 0 {
            self.violate(format!(
                "{what} {address:#x}: burst not aligned to 64 bytes"
            ));
        }
        if (address & 0xfff) + bytes > 4096 {
            self.violate(format!(
                "{what} {address:#x}: {bytes} bytes cross a 4 KiB boundary"
            ));
        }
        let slot = what == "AR" && self.queues[0].contains(&address);
        if slot && (bytes != 128 || address % 128 != 0) || !slot && bytes > 64 {
            self.violate(format!("{what} {address:#x}: burst of {bytes} bytes"));
        }
        bytes <= BURST_BYTES as u64
    }

    fn observe_ar(&mut self, memory: &PhysMem, input: &AxiIn, port: &AxiOut) {
        let now = (
            port.arid,
            port.araddr,
            port.arlen,
            port.arsize,
            port.arburst,
        );
        if let Some(held) = self.held.ar {
            if !port.arvalid {
                self.violate(format!("AR {:#x} withdrawn", held.1));
            } else if held != now {
                self.violate(format!("AR changed while stalled: {held:x?} to {now:x?}"));
            }
        }
        self.held.ar = (port.arvalid && !input.arready).then_some(now);
        if !port.arvalid || !input.arready {
            return;
        }
        if !self.check_burst("AR", port.araddr, port.arlen, port.arsize, port.arburst) {
            return;
        }
        let beats = u16::from(port.arlen) + 1;
        let bytes = u64::from(beats) << self.log_beat;
        let end = port.araddr.saturating_add(bytes);
        if let Some((start, last)) = self.forbidden.range(..end).next_back() {
            if *last > port.araddr {
                let text = format!(
                    "read of {:#x} in released memory {start:#x}..{last:#x}",
                    port.araddr
                );
                self.violate(text);
            }
        }
        let error = self.fault(port.araddr..end, false).map(|error| {
            let some = self.rng.chance(1, 2);
            (
                error,
                if some {
                    self.rng.below(u64::from(beats)) as u32
                } else {
                    NONE
                },
            )
        });
        let early = match self.config.sample {
            Sample::Early => true,
            Sample::Late => false,
            Sample::Mixed => self.rng.chance(1, 2),
        };
        let at = match self.spare.pop() {
            Some(at) => at,
            None => {
                self.reads.push(Read {
                    id: 0,
                    address: 0,
                    beats: 0,
                    at: 0,
                    accepted: 0,
                    sampled: false,
                    due_passed: false,
                    next: NONE,
                    error: None,
                    data: [0; BURST_BYTES],
                });
                (self.reads.len() - 1) as u32
            }
        };
        let read = &mut self.reads[at as usize];
        read.id = port.arid;
        read.address = port.araddr;
        read.beats = beats;
        read.at = 0;
        read.accepted = self.clock;
        read.sampled = early;
        read.due_passed = false;
        read.next = NONE;
        read.error = error;
        if early {
            memory.read(read.address, &mut read.data[..bytes as usize]);
        }
        let lane = &mut self.lanes[usize::from(port.arid)];
        if lane.head == NONE {
            lane.head = at;
        } else {
            self.reads[lane.tail as usize].next = at;
        }
        lane.tail = at;
        let mut due = self.clock + self.config.read_latency.draw(&mut self.rng).max(1);
        if !self.config.reorder {
            due = due.max(self.last_due);
            self.last_due = due;
        }
        self.due.push(Reverse((due, at)));
        self.counters.reads += 1;
        self.counters.read_bytes += bytes;
        if self.mpt.contains(&port.araddr) {
            self.counters.mpt_reads += 1;
        }
        self.counters.most_outstanding = self
            .counters
            .most_outstanding
            .max((self.reads.len() - self.spare.len()) as u32);
        if let Some(log) = &mut self.log {
            log.push((self.clock, port.araddr));
        }
    }

    /// The error of the first fault that hits.
    fn fault(&mut self, range: Range<u64>, write: bool) -> Option<AxiError> {
        if self.faults.is_empty() {
            return None;
        }
        for place in 0..self.faults.len() {
            let fault = &self.faults[place];
            let direction = match fault.on {
                FaultOn::Both => true,
                FaultOn::Write => write,
                FaultOn::Read => !write,
            };
            let touches = fault.range.start < range.end && range.start < fault.range.end;
            if !direction || !touches || !self.rng.chance(u64::from(fault.percent), 100) {
                continue;
            }
            let error = fault.error;
            if fault.after > 0 {
                self.faults[place].after -= 1;
                continue;
            }
            if let Some(times) = &mut self.faults[place].times {
                *times -= 1;
                if *times == 0 {
                    self.faults.remove(place);
                }
            }
            self.answered.push(Answered {
                clock: self.clock,
                address: range.start,
                write,
            });
            if write {
                self.counters.write_errors += 1;
            } else {
                self.counters.read_errors += 1;
            }
            return Some(error);
        }
        None
    }

    /// The read beat on the port was taken.
    fn taken(&mut self) {
        let at = self.driven;
        self.driven = NONE;
        let read = &mut self.reads[at as usize];
        read.at += 1;
        if read.at < read.beats {
            return;
        }
        self.counters.read_clocks += self.clock - read.accepted;
        let (id, next) = (usize::from(read.id), read.next);
        self.burst = NONE;
        if let Some(place) = self.ready.iter().position(|other| *other == at) {
            if place == 0 {
                self.ready.pop_front();
            } else {
                self.ready.swap_remove_back(place);
            }
        }
        self.lanes[id].head = next;
        if next == NONE {
            self.lanes[id].tail = NONE;
        } else if self.reads[next as usize].due_passed {
            self.ready.push_back(next);
        }
        self.spare.push(at);
    }

    fn observe_aw(&mut self, input: &AxiIn, port: &AxiOut) {
        let now = (
            port.awid,
            port.awaddr,
            port.awlen,
            port.awsize,
            port.awburst,
        );
        if let Some(held) = self.held.aw {
            if !port.awvalid {
                self.violate(format!("AW {:#x} withdrawn", held.1));
            } else if held != now {
                self.violate(format!("AW changed while stalled: {held:x?} to {now:x?}"));
            }
        }
        self.held.aw = (port.awvalid && !input.awready).then_some(now);
        if port.awvalid && input.awready {
            if !self.check_burst("AW", port.awaddr, port.awlen, port.awsize, port.awburst) {
                return;
            }
            if port.awaddr % 64 != 0 || (u64::from(port.awlen) + 1) << self.log_beat != 64 {
                self.violate(format!("AW {:#x}: not one MPT entry", port.awaddr));
            }
            let ours = self.mpt.contains(&port.awaddr) || self.queues[1].contains(&port.awaddr);
            if !self.mpt.is_empty() && !ours {
                self.violate(format!(
                    "AW {:#x}: write outside the MPT and the completion queue",
                    port.awaddr
                ));
            }
            let beats = u16::from(port.awlen) + 1;
            self.jobs.push_back(WriteJob {
                id: port.awid,
                address: port.awaddr,
                beats,
            });
        }
    }

    fn observe_w(&mut self, input: &AxiIn, port: &AxiOut) {
        let strobes = if self.beat_bytes == 64 {
            u64::MAX
        } else {
            (1u64 << self.beat_bytes) - 1
        };
        let now = (port.wlast, port.wstrb, port.wdata);
        if let Some(held) = &self.held.w {
            if !port.wvalid {
                self.violate("W withdrawn".to_owned());
            } else if *held != now {
                self.violate("W changed while stalled".to_owned());
            }
        }
        self.held.w = (port.wvalid && !input.wready).then_some(now);
        if !port.wvalid || !input.wready {
            return;
        }
        if port.wstrb != strobes {
            self.violate(format!("W: strobes {:#x}, want all", port.wstrb));
        }
        let offset = usize::from(self.filling.beats) * self.beat_bytes;
        if offset + self.beat_bytes > BURST_BYTES {
            self.violate("W: too many beats without WLAST".to_owned());
            return;
        }
        for (word, value) in port.wdata[..self.beat_bytes / 4].iter().enumerate() {
            let byte = offset + word * 4;
            self.filling.data[byte..byte + 4].copy_from_slice(&value.to_le_bytes());
        }
        self.filling.beats += 1;
        if port.wlast {
            self.filled
                .push_back(std::mem::replace(&mut self.filling, WriteData::new()));
        }
    }

    /// Address and data of a write are complete.
    fn finish_write(&mut self, memory: &mut PhysMem) {
        let (Some(job), Some(data)) = (self.jobs.pop_front(), self.filled.pop_front()) else {
            return;
        };
        if job.beats != data.beats {
            self.violate(format!(
                "W: {} beats for {:#x}, AW said {}",
                data.beats, job.address, job.beats
            ));
        }
        let bytes = usize::from(data.beats) * self.beat_bytes;
        let error = self.fault(job.address..job.address.saturating_add(bytes as u64), true);
        let mut response = Response {
            due: self.clock + self.config.write_latency.draw(&mut self.rng).max(1),
            id: job.id,
            resp: error.map_or(0, |error| error as u8),
            address: job.address,
            late: if error.is_some() { 0 } else { bytes },
            data: data.data,
        };
        // Writes reach the memory in order, at any time up to their response.
        let behind = self.responses.iter().any(|earlier| earlier.late != 0);
        if !behind && self.rng.chance(1, 2) {
            response.apply(memory);
        }
        self.responses.push_back(response);
        self.counters.writes += 1;
        self.counters.write_bytes += bytes as u64;
    }
}
