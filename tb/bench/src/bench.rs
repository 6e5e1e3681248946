// SPDX-License-Identifier: Apache-2.0
//! The unit with everything around it.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tpt_golden::alarm::{Alarm, AlarmConfig, Expect};
use tpt_golden::codec::{CHECKED_ADDRESS, CPL_WORDS, MPT_BYTES, RSP_WORDS};
use tpt_golden::driver::{CommandPort, PortError};
use tpt_golden::frames::Translation;
use tpt_golden::keys::KeyMaker;
use tpt_golden::mem::PhysMem;
use tpt_golden::regs;
use tpt_golden::types::{
    Access, Beat, CmdOp, Command, Completion, Encoding, Key, Request, Status, Syndrome, LEVEL_FLAT,
    LEVEL_INLINE,
};
use tpt_golden::unit::{Beats, Conditions, Golden, HostWindows, Outcome as GoldenOutcome, Region};
use tpt_verilated::{Config, Dut, DutOptions, Inputs, Outputs, MAX_CLIENTS};

mod faults;
mod observe;
mod queue;

pub use queue::QueueConfig;

use crate::axi::{AxiConfig, AxiMem};
use crate::client::{Client, DonePolicy, Issue, Outcome, Queued, Tag, Ticket};
use crate::cover::Cover;
use crate::error::BenchError;
use crate::rng::{Gate, Pattern, Rng};

type Walk = Beats<Arc<Region>>;

/// Most beats of a right answer that an outcome tells.
const MOST_BEATS: usize = 1 << 16;

/// Order is kept between requests whose stream numbers agree in these bits (`NumStreams` = 16).
const STREAM_MASK: u8 = 15;
const STREAMS: usize = 16;
/// What the key of an ended region may be answered if its index has a new one already.
const UNFORESEEN: [Syndrome; 6] = [
    Syndrome::KeyTag,
    Syndrome::Pd,
    Syndrome::Rights,
    Syndrome::Wrap,
    Syndrome::Bounds,
    Syndrome::Align,
];

/// Number of the page of a region in which an address lies.
fn page_of(region: &Region, va: u64) -> u64 {
    let base = match region.access.contains(Access::ZERO_BASED) {
        true => 0,
        false => region.start,
    };
    (va.wrapping_sub(base).wrapping_add(region.first_offset())) >> region.log_page
}

/// Addresses of the table entries that lead to a page, from the root on, as far as they are there.
fn walked(mem: &PhysMem, region: &Region, page: u64) -> Vec<u64> {
    const ENTRY: u64 = 8;
    let bits = u32::from(region.log_tpage).saturating_sub(3);
    let mut table = region.frame[0];
    match region.level {
        LEVEL_INLINE => Vec::new(),
        LEVEL_FLAT => vec![table.wrapping_add(page.wrapping_mul(ENTRY))],
        level => {
            let mut path = Vec::new();
            for above in (0..u32::from(level)).rev() {
                let place = (page >> (above * bits)) & ((1 << bits) - 1);
                let entry = table.wrapping_add(place * ENTRY);
                path.push(entry);
                let below = match region.encoding {
                    Encoding::Checked => CHECKED_ADDRESS,
                    _ => !0xfff,
                };
                table = mem.read_u64(entry) & below;
                if table == 0 {
                    break;
                }
            }
            path
        }
    }
}

/// How a bench is made.
#[derive(Clone, Debug)]
pub struct BenchOptions {
    /// Configuration of the unit.
    pub config: Config,
    /// Seed of all random choices.
    pub seed: u64,
    /// FST file of the whole run.
    pub waves: Option<PathBuf>,
    /// Record waves only from this clock on (and to `waves`).
    pub waves_from: u64,
    /// Behaviour of the memory.
    pub axi: AxiConfig,
    /// Clocks without any progress after which a wait gives up.
    pub patience: u64,
    /// A mismatch ends the run; otherwise it is counted and the run goes on.
    pub stop_at_mismatch: bool,
}

impl Default for BenchOptions {
    fn default() -> Self {
        Self {
            config: Config::Small,
            seed: 1,
            waves: None,
            waves_from: 0,
            axi: AxiConfig::default(),
            patience: 50_000,
            stop_at_mismatch: true,
        }
    }
}

/// What the host writes into the registers before it enables the unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitConfig {
    /// Physical address of the MPT, on 4 KiB.
    pub mpt_base: u64,
    /// Entries.
    pub mpt_size: u32,
    /// Secret of the key permutation.
    pub perm_secret: [u32; 4],
    /// Secret of the tags.
    pub tag_secret: [u32; 4],
    /// Plain index: no permutation.
    pub plain: bool,
    /// Neighbouring pages of a request come as one segment.
    pub merge: bool,
    /// Physical regions may be registered.
    pub phys: bool,
    /// Time limit of fences in clocks, 0: none.
    pub fence_time: u32,
    /// Ranges of physical memory in which translated addresses must lie, in whole pages of 4 KiB; at
    /// most as many as the unit has host windows.
    pub host_windows: Vec<RangeInclusive<u64>>,
    /// How caches, contexts and slots for page faults are divided among tenants.
    pub tenants: Tenants,
    /// Clocks after which the refusal of a peer's request leaves; 0: at once.
    pub refusal_time: u16,
    /// Thresholds of bad keys.
    pub alarm: AlarmConfig,
}

/// How caches, contexts and slots for page faults are divided among tenants (registers ISOLATION,
/// PART_MAP).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tenants {
    /// log2 of the partitions.
    pub log_parts: u8,
    /// A PD belongs to group (PD >> pd_shift) modulo 16.
    pub pd_shift: u8,
    /// Partition of group g in bits 2 g + 1 to 2 g.
    pub map: u32,
}

impl Tenants {
    /// The partition of a PD.
    pub fn part(&self, pd: u32) -> u8 {
        let group = pd.checked_shr(self.pd_shift.into()).unwrap_or(0) % 16;
        (self.map >> (2 * group)) as u8 & ((1 << self.log_parts) - 1)
    }
}

impl Default for UnitConfig {
    fn default() -> Self {
        Self {
            mpt_base: 0x9000_0000,
            mpt_size: 64,
            perm_secret: [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
            tag_secret: [0xa409_3822, 0x299f_31d0, 0x082e_fa98, 0xec4e_6c89],
            plain: false,
            merge: false,
            phys: false,
            fence_time: 0,
            host_windows: Vec::new(),
            tenants: Tenants::default(),
            refusal_time: 0,
            alarm: AlarmConfig::default(),
        }
    }
}

impl UnitConfig {
    /// Where the table is.
    pub fn mpt_range(&self) -> Range<u64> {
        self.mpt_base..self.mpt_base + u64::from(self.mpt_size) * MPT_BYTES as u64
    }

    /// CTRL without the enable bit.
    fn control(&self) -> u32 {
        let bit = |on, bit| if on { bit } else { 0 };
        bit(self.plain, regs::ctrl::PLAIN)
            | bit(self.merge, regs::ctrl::MERGE)
            | bit(self.phys, regs::ctrl::PHYS)
    }

    fn keys(&self) -> KeyMaker {
        KeyMaker::new(self.perm_secret, self.tag_secret, self.plain)
    }
}

/// What comes with a command beside its words.
#[derive(Clone, Debug, Default)]
pub struct CommandExtra {
    /// The true pages of the region, for REG_MR and REREG_MR.
    pub pages: Option<Translation>,
    /// Memory that must not be read any more once the command has succeeded: the old tables.
    pub release: Vec<Range<u64>>,
}

/// A completion that was handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The completion.
    pub completion: Completion,
    /// Its command; not of a slot that the unit has refused.
    pub command: Option<Command>,
    /// Clock in which its command was accepted.
    pub accepted: u64,
    /// Clock of the completion.
    pub clock: u64,
}

/// A completion, or what it left in memory, that the reference does not agree with, while
/// [`Bench::judge_answers`] is off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// Id of the command.
    pub id: u16,
    /// The completion is right, but the entry in memory is not.
    pub of_entry: bool,
    /// What is not as expected.
    pub text: String,
}

/// Numbers of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Requests accepted.
    pub requests: u64,
    /// Requests answered, by the syndrome of their last beat.
    pub by_syndrome: [u64; 21],
    /// Requests answered, by operation code.
    pub by_op: [u64; 8],
    /// Segments.
    pub segments: u64,
    /// Bytes of all segments.
    pub bytes: u64,
    /// Sum of clocks from acceptance to the last beat.
    pub request_clocks: u64,
    /// Completions by status.
    pub by_status: [u64; 32],
    /// Completions by command code.
    pub by_command: [u64; 16],
    /// Sum of clocks from the acceptance of a command to its final completion.
    pub command_clocks: u64,
    /// Dones given.
    pub dones: u64,
    /// Dones that nobody owed.
    pub bad_dones: u64,
    /// Mismatches and broken rules.
    pub mismatches: u64,
}

struct Live {
    ticket: Ticket,
    request: Request,
    conditions: Conditions,
    planted: Option<Arc<Region>>,
    planted_parent: Option<Arc<Region>>,
    keep_beats: bool,
    owes_done: bool,
    accepted: u64,
    first_beat: u64,
    count: u64,
    /// Pages answered so far.
    pages: u64,
    segments: u64,
    bytes: u64,
    beats: Vec<Beat>,
    candidates: Vec<Candidate>,
    expected: Vec<Vec<Beat>>,
    holds: Option<(u32, u8)>,
}

struct Candidate {
    walk: Walk,
    /// The region whose pages are reached.
    reached: Option<Arc<Region>>,
    region: Option<(u32, u8)>,
}

/// How a command came to the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Direct,
    Queue,
}

struct Posted {
    source: Source,
    command: Command,
    extra: CommandExtra,
    accepted: u64,
    /// It was predicted to find the table full.
    no_index: bool,
    /// It has completed PENDING.
    pending: bool,
}

impl Posted {
    fn new(command: Command, extra: CommandExtra) -> Self {
        Self {
            source: Source::Direct,
            command,
            extra,
            accepted: 0,
            no_index: false,
            pending: false,
        }
    }
}

/// The Verilated unit, its memory port, its clients, and the golden reference that judges it.
///
/// Memory is not owned: every call gets it, so that a host model can work on it in between.
pub struct Bench {
    dut: Dut,
    inputs: Inputs,
    outputs: Outputs,
    /// The memory port.
    pub axi: AxiMem,
    /// The reference.
    pub golden: Golden,
    clients: Vec<Client>,
    streams: Vec<VecDeque<Live>>,
    commands: VecDeque<Posted>,
    command_driving: Option<Posted>,
    posted: Vec<Posted>,
    queue: Option<queue::HostQueue>,
    /// Registers as a host of its own has written them, see [`Bench::host_write`].
    written: HashMap<u16, u32>,
    /// What goes with the next commands of such a host.
    expected_extras: VecDeque<CommandExtra>,
    finished: VecDeque<Finished>,
    completion_gate: Gate,
    held_completion: Option<[u32; CPL_WORDS]>,
    pages_of_next: Option<Translation>,
    /// Regions whose segments are held by clients: requests without `done`.
    holders: HashMap<(u32, u8), u32>,
    /// Regions that ended lately, and when: kept as long as a request can have met them.
    ended: Vec<((u32, u8), u64)>,
    /// Entries that an error may have changed.
    doubtful: Vec<u32>,
    faults: faults::Faults,
    /// Bad keys, as the reference counts them.
    pub alarm: Alarm,
    /// The latest completions, for reports.
    recent: VecDeque<(u64, Command, Completion)>,
    rng: Rng,
    clock: u64,
    progress: u64,
    last_death: u64,
    /// Latest clock in which fences had a time limit, before the present setting.
    fence_limited: u64,
    tickets: u64,
    unit: UnitConfig,
    options: BenchOptions,
    /// MPT entries may be corrupted behind the unit's back: its complaint is accepted.
    pub expect_mpt_bad: bool,
    /// What requests and commands are answered is compared with the reference. Without it (memory is
    /// corrupted, and the reference does not know) only the rules of the channels are checked;
    /// outcomes then tell what would have been right, and the rest is in [`Bench::take_doubts`].
    pub judge_answers: bool,
    doubts: Vec<Doubt>,
    mismatches: Vec<BenchError>,
    port_error: Option<BenchError>,
    cover: Option<Cover>,
    /// Numbers since the start.
    pub stats: Stats,
}

/// What a configuration is built with.
fn features_of(config: Config) -> regs::Features {
    let sizes = config.sizes();
    regs::Features {
        queues: sizes.queues,
        host_windows: sizes.host_windows,
        checked: sizes.checked,
        fault_slots: sizes.fault_slots,
        guess_alarm: sizes.guess_alarm,
        alarm_pds: sizes.alarm_pds,
        refusal_time: sizes.refusal_time,
        partitions: sizes.partitions,
    }
}

/// Says why CAP2 does not tell what the configuration is built with.
fn wrong_cap2(config: Config, found: u32) -> Option<String> {
    let expected = features_of(config).cap2();
    let name = config.name();
    (found != expected)
        .then(|| format!("CAP2 reads {found:#010x}, the configuration {name} is {expected:#010x}"))
}

impl Bench {
    /// The unit after its reset, disabled.
    pub fn new(mem: &mut PhysMem, options: BenchOptions) -> Result<Self, BenchError> {
        let whole = options.waves.clone().filter(|_| options.waves_from == 0);
        let dut_options = DutOptions {
            seed: options.seed,
            waves: whole,
        };
        let dut = Dut::new(options.config, &dut_options)?;
        let unit = UnitConfig::default();
        let clients = options.config.sizes().clients as usize;
        let mut bench = Self {
            dut,
            inputs: Inputs::default(),
            outputs: Outputs::default(),
            axi: AxiMem::new(
                options.config.sizes().axi_bytes,
                options.axi.clone(),
                options.seed,
            ),
            golden: Golden::new(
                unit.keys(),
                unit.mpt_size,
                options.config.sizes().max_levels,
            ),
            clients: (0..clients).map(|_| Client::new()).collect(),
            streams: (0..clients * STREAMS).map(|_| VecDeque::new()).collect(),
            commands: VecDeque::new(),
            command_driving: None,
            posted: Vec::new(),
            queue: None,
            written: HashMap::new(),
            expected_extras: VecDeque::new(),
            finished: VecDeque::new(),
            completion_gate: Gate::default(),
            held_completion: None,
            pages_of_next: None,
            holders: HashMap::new(),
            ended: Vec::new(),
            doubtful: Vec::new(),
            faults: faults::Faults::new(clients),
            alarm: Alarm::with_slots(options.config.sizes().alarm_pds),
            recent: VecDeque::new(),
            rng: Rng::new(options.seed),
            clock: 0,
            progress: 0,
            last_death: 0,
            fence_limited: 0,
            tickets: 0,
            unit,
            options,
            expect_mpt_bad: false,
            judge_answers: true,
            doubts: Vec::new(),
            mismatches: Vec::new(),
            port_error: None,
            cover: Cover::new(),
            stats: Stats::default(),
        };
        bench.reset(mem)?;
        let found = bench.read_register(mem, regs::CAP2)?;
        let features = features_of(bench.config());
        if let Some(text) = wrong_cap2(bench.config(), found) {
            return Err(BenchError::Mismatch {
                clock: bench.clock,
                text,
            });
        }
        let slots = features.fault_slots as usize;
        bench.golden.build_with(features.checked, slots);
        Ok(bench)
    }

    /// Clocks so far.
    pub fn clock(&self) -> u64 {
        self.clock
    }

    /// How the bench was made.
    pub fn options(&self) -> &BenchOptions {
        &self.options
    }

    /// Configuration of the unit.
    pub fn config(&self) -> Config {
        self.options.config
    }

    /// What the registers were set to.
    pub fn unit(&self) -> &UnitConfig {
        &self.unit
    }

    /// Mismatches that did not end the run.
    pub fn mismatches(&self) -> &[BenchError] {
        &self.mismatches
    }

    /// Whether a mismatch ends the run, see [`BenchOptions::stop_at_mismatch`].
    pub fn stop_at_mismatch(&mut self, stop: bool) {
        self.options.stop_at_mismatch = stop;
    }

    /// The error that ended the last `CommandPort::submit`.
    pub fn port_error(&self) -> Option<&BenchError> {
        self.port_error.as_ref()
    }

    /// Random numbers of the bench, for those who drive it.
    pub fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }

    /// Records waves from now on.
    pub fn open_waves(&mut self, path: &Path) -> Result<(), BenchError> {
        Ok(self.dut.open_waves(path)?)
    }

    // ---------------------------------------------------------------------------------------------
    // One clock
    // ---------------------------------------------------------------------------------------------

    /// Clients of the unit.
    pub fn clients(&self) -> usize {
        self.clients.len()
    }

    /// One clock.
    pub fn step(&mut self, mem: &mut PhysMem) -> Result<(), BenchError> {
        let now = self.clock;
        if self.options.waves_from != 0 && self.options.waves_from == now {
            if let Some(path) = &self.options.waves {
                self.dut.open_waves(path)?;
            }
        }
        self.axi.drive(mem, &mut self.inputs.axi);
        for c in 0..self.clients.len() {
            let client = &mut self.clients[c];
            if client.drive(now, &mut self.rng) {
                self.inputs.req[c * 7..c * 7 + 7].copy_from_slice(&client.request_words);
            }
            self.inputs.req_valid[c] = client.driving.is_some();
            self.inputs.rsp_ready[c] = client.response_gate.next(&mut self.rng);
            self.inputs.done_valid[c] = client.done_driving.is_some();
            if let Some((tag, _)) = client.done_driving {
                self.inputs.done_tag[c] = tag;
            }
        }
        if self.command_driving.is_none() {
            if let Some(posted) = self.commands.pop_front() {
                self.inputs.cmd = posted.command.pack();
                self.command_driving = Some(posted);
            }
        }
        self.inputs.cmd_valid = self.command_driving.is_some();
        self.inputs.cpl_ready = self.completion_gate.next(&mut self.rng);

        self.dut.tick(&self.inputs, &mut self.outputs)?;

        self.axi.observe(mem, &self.inputs.axi, &self.outputs.axi);
        for c in 0..self.clients.len() {
            self.observe_client(mem, c, now)?;
        }
        if self.inputs.cmd_valid && self.outputs.cmd_ready {
            self.command_accepted(now);
        }
        if self.outputs.cpl_valid || self.held_completion.is_some() {
            self.observe_completion(mem, now)?;
        }
        if self.queue.is_some() {
            self.observe_queue(mem, now)?;
        }
        self.observe_faults(now);
        self.clock += 1;
        if self.axi.is_violated() {
            for violation in self.axi.take_violations() {
                self.report(BenchError::Protocol {
                    clock: violation.clock,
                    text: violation.text,
                })?;
            }
        }
        Ok(())
    }

    /// `n` clocks.
    pub fn run(&mut self, mem: &mut PhysMem, n: u64) -> Result<(), BenchError> {
        let end = self.clock + n;
        while self.clock < end {
            self.step(mem)?;
            self.serve_faults(mem)?;
        }
        Ok(())
    }

    /// Steps until `until` holds. Gives up after `limit` clocks.
    pub fn run_until(
        &mut self,
        mem: &mut PhysMem,
        what: &str,
        limit: u64,
        mut until: impl FnMut(&mut Self) -> bool,
    ) -> Result<(), BenchError> {
        let end = self.clock + limit;
        while !until(self) {
            if self.clock >= end {
                return self.timeout(what);
            }
            self.step(mem)?;
            self.serve_faults(mem)?;
        }
        Ok(())
    }

    /// Steps until `until` holds. Gives up when nothing moves any more.
    fn run_while_moving(
        &mut self,
        mem: &mut PhysMem,
        what: &str,
        mut until: impl FnMut(&mut Self) -> bool,
    ) -> Result<(), BenchError> {
        self.progress = self.clock;
        while !until(self) {
            if self.clock > self.progress + self.options.patience {
                return self.timeout(what);
            }
            self.step(mem)?;
            self.serve_faults(mem)?;
        }
        Ok(())
    }

    fn timeout(&self, what: &str) -> Result<(), BenchError> {
        Err(BenchError::Timeout {
            clock: self.clock,
            what: what.to_owned(),
            outstanding: self.describe(),
        })
    }

    fn report(&mut self, error: BenchError) -> Result<(), BenchError> {
        self.stats.mismatches += 1;
        if self.options.stop_at_mismatch {
            return Err(error);
        }
        if self.mismatches.len() < 1000 {
            self.mismatches.push(error);
        }
        Ok(())
    }

    fn mismatch(&mut self, text: String) -> Result<(), BenchError> {
        self.report(BenchError::Mismatch {
            clock: self.clock,
            text,
        })
    }

    /// The reference does not agree with what a command did: a mismatch, if answers are judged.
    fn doubt(&mut self, id: u16, of_entry: bool, text: String) -> Result<(), BenchError> {
        if self.judge_answers {
            return self.mismatch(text);
        }
        self.doubts.push(Doubt { id, of_entry, text });
        Ok(())
    }

    /// Checks of memory may say that entries of the MPT are bad, see [`Bench::expect_mpt_bad`]; nobody
    /// compares answers, see [`Bench::judge_answers`].
    pub fn stop_judging(&mut self, mpt: bool) {
        (self.judge_answers, self.expect_mpt_bad) = (false, mpt);
    }

    /// What the reference did not agree with since the last call, while [`Bench::judge_answers`] was
    /// off.
    pub fn take_doubts(&mut self) -> Vec<Doubt> {
        std::mem::take(&mut self.doubts)
    }

    fn protocol(&mut self, text: &str) -> Result<(), BenchError> {
        self.report(BenchError::Protocol {
            clock: self.clock,
            text: text.to_owned(),
        })
    }

    /// What is under way, for reports.
    pub fn describe(&self) -> String {
        let mut text = String::new();
        for (c, client) in self.clients.iter().enumerate() {
            let live: usize = self.streams[c * STREAMS..(c + 1) * STREAMS]
                .iter()
                .map(VecDeque::len)
                .sum();
            let _ = writeln!(
                text,
                "client {c}: {live} requests inside, {} queued, {} offered, {} dones to give, \
                 {} withheld{}",
                client.queue.len(),
                u8::from(client.driving.is_some()),
                client.dones_pending(),
                client.withheld.len(),
                if client.is_stalled() { ", stalled" } else { "" },
            );
            for stream in &self.streams[c * STREAMS..(c + 1) * STREAMS] {
                for live in stream.iter().take(3) {
                    let _ = writeln!(
                        text,
                        "  {:?} accepted at clock {}, {} beats so far",
                        live.request, live.accepted, live.count
                    );
                }
            }
        }
        for posted in self.posted.iter().take(8) {
            let _ = writeln!(
                text,
                "command {} ({:?}) accepted at clock {}",
                posted.command.id,
                posted.command.operation(),
                posted.accepted
            );
        }
        let _ = writeln!(
            text,
            "{} commands queued, {} offered",
            self.commands.len(),
            u8::from(self.command_driving.is_some())
        );
        text + &self.axi.describe()
    }

    // ---------------------------------------------------------------------------------------------
    // Clients
    // ---------------------------------------------------------------------------------------------

    /// Queues a request.
    pub fn issue(&mut self, client: usize, request: Request) -> Ticket {
        self.issue_with(client, request, Issue::default())
    }

    /// Queues a request with more to say about it.
    pub fn issue_with(&mut self, client: usize, request: Request, issue: Issue) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.clients[client].queue.push_back(Queued {
            ticket,
            request,
            issue,
        });
        ticket
    }

    /// The next request that was answered, of any client.
    pub fn poll(&mut self) -> Option<Outcome> {
        self.clients
            .iter_mut()
            .find_map(|client| client.outcomes.pop_front())
    }

    /// The next request of a client that was answered.
    pub fn poll_client(&mut self, client: usize) -> Option<Outcome> {
        self.clients[client].outcomes.pop_front()
    }

    /// Issues a request and waits for its answer. Outcomes of other requests stay.
    pub fn access(
        &mut self,
        mem: &mut PhysMem,
        client: usize,
        request: Request,
    ) -> Result<Outcome, BenchError> {
        self.access_with(
            mem,
            client,
            request,
            Issue {
                keep_beats: true,
                ..Issue::default()
            },
        )
    }

    /// [`Bench::access`] with more to say about it.
    pub fn access_with(
        &mut self,
        mem: &mut PhysMem,
        client: usize,
        request: Request,
        issue: Issue,
    ) -> Result<Outcome, BenchError> {
        let ticket = self.issue_with(client, request, issue);
        let mut found = None;
        self.run_while_moving(mem, "the answer to a request", |bench| {
            let outcomes = &mut bench.clients[client].outcomes;
            if let Some(place) = outcomes.iter().position(|outcome| outcome.ticket == ticket) {
                found = outcomes.remove(place);
            }
            found.is_some()
        })?;
        match found {
            Some(outcome) => Ok(outcome),
            None => unreachable!("the wait ends with an outcome"),
        }
    }

    /// Requests of a client that are queued, offered or inside.
    pub fn requests_pending(&self, client: usize) -> usize {
        let queued = self.clients[client].queue.len();
        let offered = usize::from(self.clients[client].driving.is_some());
        queued + offered + self.requests_inside(client)
    }

    /// Requests of a client that were accepted and have not got their last beat.
    pub fn requests_inside(&self, client: usize) -> usize {
        self.streams[client * STREAMS..(client + 1) * STREAMS]
            .iter()
            .map(VecDeque::len)
            .sum()
    }

    /// Waits until all requests and commands are answered and all dones given (except of clients
    /// that are stalled or withhold them).
    pub fn wait_idle(&mut self, mem: &mut PhysMem) -> Result<(), BenchError> {
        self.run_while_moving(mem, "everything to be finished", |bench| {
            bench.commands.is_empty()
                && bench.command_driving.is_none()
                && bench.posted.is_empty()
                && (0..bench.clients.len()).all(|c| {
                    bench.clients[c].is_stalled()
                        || (bench.requests_pending(c) == 0 && bench.clients[c].dones_pending() == 0)
                })
        })
    }

    /// Waits until all requests of a client are answered.
    pub fn wait_client(&mut self, mem: &mut PhysMem, client: usize) -> Result<(), BenchError> {
        self.run_while_moving(mem, "the answers of a client", |bench| {
            bench.requests_pending(client) == 0
        })
    }

    /// When the client takes responses.
    pub fn set_response_ready(&mut self, client: usize, pattern: Pattern) {
        self.clients[client].response_gate = Gate::new(pattern);
    }

    /// When the client offers its next request.
    pub fn set_request_valid(&mut self, client: usize, pattern: Pattern) {
        self.clients[client].request_gate = Gate::new(pattern);
    }

    /// When completions are taken.
    pub fn set_completion_ready(&mut self, pattern: Pattern) {
        self.completion_gate = Gate::new(pattern);
    }

    /// When the client gives its dones, from now on.
    pub fn set_done_policy(&mut self, client: usize, policy: DonePolicy) {
        self.clients[client].done_policy = policy;
    }

    /// Gives the dones that the client has withheld so far; returns how many.
    pub fn release_dones(&mut self, client: usize) -> usize {
        let now = self.clock;
        let client = &mut self.clients[client];
        let tags: Vec<u16> = client.withheld.drain(..).collect();
        tags.iter().for_each(|tag| client.give_done(*tag, now));
        tags.len()
    }

    /// Dones that the client withholds.
    pub fn dones_withheld(&self, client: usize) -> usize {
        self.clients[client].withheld.len()
    }

    /// Sends a done that nobody owes. The tag must not be owed at this moment.
    pub fn forge_done(&mut self, client: usize, tag: u16) {
        self.clients[client].forge_done(tag);
    }

    /// True if the tag is not in use by the client.
    pub fn is_tag_free(&self, client: usize, tag: u16) -> bool {
        self.clients[client].tags[usize::from(tag)] == Tag::Free
    }

    fn observe_client(&mut self, mem: &PhysMem, c: usize, now: u64) -> Result<(), BenchError> {
        if self.inputs.req_valid[c] && self.outputs.req_ready[c] {
            if let Some(queued) = self.clients[c].driving.take() {
                self.request_accepted(c, queued, now);
            }
        }
        if self.outputs.rsp_valid[c] || self.clients[c].held.is_some() {
            let words: [u32; RSP_WORDS] =
                std::array::from_fn(|word| self.outputs.rsp[c * RSP_WORDS + word]);
            if let Some(held) = self.clients[c].held {
                if !self.outputs.rsp_valid[c] {
                    self.protocol("response withdrawn")?;
                } else if held != words {
                    self.protocol("response changed while stalled")?;
                }
            }
            let stalled = self.outputs.rsp_valid[c] && !self.inputs.rsp_ready[c];
            self.clients[c].held = stalled.then_some(words);
            if self.outputs.rsp_valid[c] && self.inputs.rsp_ready[c] {
                self.progress = now;
                match Beat::unpack(&words) {
                    Ok(beat) => self.beat(mem, c, beat, now)?,
                    Err(error) => self.mismatch(format!("client {c}: {error}"))?,
                }
            }
        }
        if self.inputs.done_valid[c] && self.outputs.done_ready[c] {
            self.progress = now;
            if let Some((tag, owed)) = self.clients[c].done_driving.take() {
                if owed {
                    self.stats.dones += 1;
                    self.faults.released(c, tag);
                    let holds = self.clients[c].released(tag);
                    self.release(holds);
                } else {
                    self.stats.bad_dones += 1;
                }
            }
        }
        Ok(())
    }

    fn release(&mut self, holds: Option<(u32, u8)>) {
        if let Some(region) = holds {
            if let Some(count) = self.holders.get_mut(&region) {
                *count -= 1;
                if *count == 0 {
                    self.holders.remove(&region);
                }
            }
        }
    }

    fn request_accepted(&mut self, c: usize, queued: Queued, now: u64) {
        self.progress = now;
        self.stats.requests += 1;
        let Queued {
            ticket,
            request,
            issue,
        } = queued;
        let tag = &mut self.clients[c].tags[usize::from(request.tag)];
        let mut conditions = issue.conditions;
        conditions.tag_busy = *tag != Tag::Free;
        if conditions.tag_busy {
            self.clients[c].doubled.push(request.tag);
        } else {
            *tag = Tag::Busy;
        }
        let stream = c * STREAMS + usize::from(request.stream & STREAM_MASK);
        self.streams[stream].push_back(Live {
            ticket,
            request,
            conditions,
            planted: issue.region,
            planted_parent: issue.parent,
            keep_beats: issue.keep_beats,
            owes_done: !conditions.tag_busy,
            accepted: now,
            first_beat: 0,
            count: 0,
            pages: 0,
            segments: 0,
            bytes: 0,
            beats: Vec::new(),
            candidates: Vec::new(),
            expected: Vec::new(),
            holds: None,
        });
    }

    /// Compares one beat with all outcomes that are right.
    fn beat(&mut self, mem: &PhysMem, c: usize, beat: Beat, now: u64) -> Result<(), BenchError> {
        let stream = c * STREAMS + usize::from(beat.stream & STREAM_MASK);
        let Some(mut live) = self.streams[stream].pop_front() else {
            return self.mismatch(format!("client {c}: beat without a request: {beat:?}"));
        };
        if (live.request.tag, live.request.stream) != (beat.tag, beat.stream) {
            let text = format!(
                "client {c}: {beat:?} out of order: the oldest request of its stream is {:?}",
                live.request
            );
            self.streams[stream].push_front(live);
            return self.mismatch(text);
        }
        if live.count == 0 {
            live.first_beat = now;
            live.candidates = self.candidates(&live, now);
            let key = (c, live.request.stream & STREAM_MASK);
            let first = matches!(beat.syndrome, Syndrome::Disabled | Syndrome::TagBusy);
            match self.alarm.expect(key.0, key.1, live.accepted) {
                Expect::Served => {}
                Expect::Either if beat.syndrome != Syndrome::Blocked => {}
                Expect::Blocked if first => {}
                Expect::Either | Expect::Blocked => {
                    live.candidates = vec![Candidate {
                        walk: Walk::answer(&live.request, Syndrome::Blocked),
                        reached: None,
                        region: None,
                    }];
                }
            }
            if !self.judge_answers {
                let whole = |candidate: &Candidate| candidate.walk.clone().take(MOST_BEATS);
                live.expected = live.candidates.iter().map(|c| whole(c).collect()).collect();
            }
        }
        let pages_before = live.pages;
        let before: Vec<Beat> = if live.candidates.len() == 1 {
            // The usual case, without allocation on a match.
            let window = (live.accepted, now, self.line_entries());
            let walk = &mut live.candidates[0].walk;
            let (right, expected, pages) = expect(walk, &beat, self.unit.merge, window);
            if right {
                live.pages += pages;
                Vec::new()
            } else {
                live.candidates.clear();
                expected
            }
        } else {
            let mut expected = Vec::new();
            let mut answered = 0;
            let window = (live.accepted, now, self.line_entries());
            live.candidates.retain_mut(|candidate| {
                let (right, next, pages) =
                    expect(&mut candidate.walk, &beat, self.unit.merge, window);
                expected.extend(next);
                answered = if right { pages } else { answered };
                right
            });
            live.pages += answered;
            expected
        };
        live.count += 1;
        let mut text = None;
        if !self.judge_answers {
            text = misshapen(&live, &beat).map(|what| {
                format!(
                    "client {c}: {:?}, accepted at clock {}, beat {}: {what}: {beat:?}",
                    live.request,
                    live.accepted,
                    live.count - 1
                )
            });
        } else if live.candidates.is_empty() {
            let injected = beat.syndrome == Syndrome::Bus
                && (beat.pa, beat.len, beat.last) == (0, 0, true)
                && beat.first == (live.count == 1)
                && self.bus_error_has_cause(mem, &live);
            // A registration that was predicted to find no index may get one that becomes free
            // before it is executed. An old key of that index then meets another region.
            let unforeseen = beat.first
                && beat.last
                && (beat.pa, beat.len) == (0, 0)
                && UNFORESEEN.contains(&beat.syndrome)
                && before.iter().any(|b| b.syndrome == Syndrome::KeyState)
                && self.posted.iter().any(|posted| posted.no_index);
            if !injected && !unforeseen {
                text = Some(
                    format!(
                    "client {c}: {:?}, accepted at clock {}, beat {}: expected {}, got {beat:?}",
                    live.request,
                    live.accepted,
                    live.count - 1,
                    expected_text(&before),
                ) + &self.history(live.request.key),
                );
            }
        }
        if text.is_none() && self.golden.fault_slots() > 0 && !live.candidates.is_empty() {
            if let Err(reason) = self.judge_paged(c, &live, &beat, now) {
                text = Some(format!(
                    "client {c}: {:?}, accepted at clock {}: {beat:?}: {reason}",
                    live.request, live.accepted
                ));
            }
            if beat.len > 0 {
                self.note_pages(c, &live, &beat, live.pages - pages_before);
            }
        }
        if beat.syndrome == Syndrome::Ok && beat.len > 0 {
            live.segments += 1;
            live.bytes += u64::from(beat.len);
            self.stats.segments += 1;
            self.stats.bytes += u64::from(beat.len);
            let region = live
                .candidates
                .last()
                .and_then(|candidate| candidate.region);
            if live.segments == 1 && live.owes_done {
                live.holds = region;
                if let Some(region) = region {
                    *self.holders.entry(region).or_insert(0) += 1;
                }
            }
            let known = !live.candidates.is_empty();
            if self.last_death >= live.accepted && text.is_none() && known {
                let all_dead = live.candidates.iter().all(|candidate| {
                    candidate
                        .region
                        .is_some_and(|region| self.is_dead(region, now))
                });
                if all_dead {
                    text = Some(format!(
                        "client {c}: {beat:?} of {:?} after the end of its region",
                        live.request
                    ));
                }
            }
        }
        if live.keep_beats {
            live.beats.push(beat);
        }
        if beat.last {
            self.note_past(c, &live, beat.syndrome == Syndrome::Ok, now);
            self.answered(c, live, beat, now);
        } else {
            self.streams[stream].push_front(live);
        }
        match text {
            Some(text) => self.mismatch(text),
            None => Ok(()),
        }
    }

    /// Entries of a line of the table.
    fn line_entries(&self) -> u64 {
        u64::from(self.options.config.sizes().axi_bytes) / 8
    }

    /// What is known of the index that a key names, for reports.
    fn history(&self, key: Key) -> String {
        let (role, index) = self.golden.keys().decode(key);
        let mut text = format!(
            "\n  {role:?} key of index {index}, {:?}",
            self.golden.slot(index)
        );
        for incarnation in self.golden.incarnations(index) {
            let region = &incarnation.region;
            let _ = write!(
                text,
                "\n  generation {}: keys {:?} {:?}, PD {}, {:?}",
                region.gen, region.lkey, region.rkey, region.pd, incarnation.life
            );
        }
        for (clock, command, completion) in &self.recent {
            let of = |key| self.golden.keys().decode(key).1 == index && key != Key::NONE;
            if of(command.key) || of(completion.lkey) || completion.status == Status::Bus {
                let _ = write!(
                    text,
                    "\n  clock {clock}: {:?} {} key {:?}: {:?} {:?}",
                    command.operation(),
                    command.id,
                    command.key,
                    completion.status,
                    completion.lkey
                );
            }
        }
        text
    }

    /// All right answers to a request whose first beat comes now.
    fn candidates(&self, live: &Live, now: u64) -> Vec<Candidate> {
        if let Some(region) = &live.planted {
            let parent = live.planted_parent.as_ref();
            let (syndrome, _) = self.golden.check_with(
                &live.conditions,
                Some(region),
                parent.map(Arc::as_ref),
                &live.request,
            );
            let walk = match (syndrome, parent) {
                (Syndrome::Ok, Some(parent)) if live.request.len > 0 => {
                    Walk::through(region, parent.clone(), &live.request)
                }
                (Syndrome::Ok, None) if live.request.len > 0 => {
                    Walk::segments(region.clone(), &live.request)
                }
                _ => Walk::answer(&live.request, syndrome),
            };
            let walk = walk.within(self.golden.host_windows());
            return vec![Candidate {
                walk,
                reached: None,
                region: None,
            }];
        }
        self.golden
            .allowed(&live.conditions, &live.request, live.accepted, now)
            .into_iter()
            .map(|verdict| Candidate {
                region: verdict
                    .region
                    .as_ref()
                    .map(|region| (region.index, region.first_gen)),
                walk: verdict.beats(&live.request),
                reached: verdict.parent.or(verdict.region),
            })
            .collect()
    }

    /// Was a read that this request needs for its present beat answered with an error while it was
    /// inside: that of its MPT entry, or of a table line on the way to the page of the beat?
    fn bus_error_has_cause(&self, mem: &PhysMem, live: &Live) -> bool {
        let mut errors = self.axi.errors_since(live.accepted).peekable();
        if errors.peek().is_none() {
            return false;
        }
        let index = self.golden.keys().decode(live.request.key).1;
        let line = !u64::from(self.options.config.sizes().axi_bytes - 1);
        let mut causes = vec![self.entry_address(index)];
        let incarnations = self.golden.incarnations(index).map(|i| &i.region);
        for region in incarnations.chain(&live.planted) {
            let Some(parent) = region.parent else {
                let page = page_of(region, live.request.va).wrapping_add(live.pages);
                causes.extend(walked(mem, region, page).iter().map(|entry| entry & line));
                continue;
            };
            causes.push(self.entry_address(parent.index));
            let va = region.in_parent(live.request.va);
            let parents = self.golden.incarnations(parent.index).map(|i| &i.region);
            for parent in parents.chain(&live.planted_parent) {
                let page = page_of(parent, va).wrapping_add(live.pages);
                causes.extend(walked(mem, parent, page).iter().map(|entry| entry & line));
            }
        }
        errors.any(|address| causes.contains(&address))
    }

    /// The final completion of the command that ended the region has come before.
    fn is_dead(&self, region: (u32, u8), now: u64) -> bool {
        self.ended
            .iter()
            .any(|(other, clock)| *other == region && *clock < now)
    }

    fn answered(&mut self, c: usize, live: Live, beat: Beat, now: u64) {
        self.stats.by_syndrome[usize::from(beat.syndrome.code())] += 1;
        self.stats.by_op[usize::from(live.request.op & 7)] += 1;
        let (stream, pd) = (live.request.stream & STREAM_MASK, live.request.pd);
        self.alarm.answered(c, stream, pd, beat.syndrome, now);
        self.stats.request_clocks += now - live.accepted;
        if let Some(cover) = self.cover.as_mut().filter(|_| self.judge_answers) {
            let index = self.golden.keys().decode(live.request.key).1;
            let named = live.planted.as_ref().or_else(|| self.golden.current(index));
            let reached = live.candidates.last().and_then(|c| c.reached.as_deref());
            let (named, syndrome) = (named.map(Arc::as_ref), beat.syndrome);
            cover.answer(&live.request, syndrome, named, reached);
        }
        if live.conditions.tag_busy {
            let doubled = &mut self.clients[c].doubled;
            if let Some(place) = doubled.iter().position(|tag| *tag == live.request.tag) {
                doubled.swap_remove(place);
            }
        }
        if live.owes_done {
            self.clients[c].finished(live.request.tag, live.holds, now, &mut self.rng);
        }
        self.clients[c].outcomes.push_back(Outcome {
            ticket: live.ticket,
            client: c,
            request: live.request,
            syndrome: beat.syndrome,
            segments: live.segments,
            bytes: live.bytes,
            accepted: live.accepted,
            first_beat: live.first_beat,
            finished: now,
            beats: live.beats,
            expected: live.expected,
        });
        // Old registrations are needed as long as a request can have met them.
        if self.last_death != 0 && self.tickets % 64 == 0 {
            let oldest = self
                .streams
                .iter()
                .filter_map(|s| s.front())
                .map(|l| l.accepted)
                .min();
            let oldest = oldest.unwrap_or(now);
            self.golden.forget_before(oldest);
            self.ended.retain(|(_, clock)| *clock >= oldest);
        }
    }

    // ---------------------------------------------------------------------------------------------
    // Commands
    // ---------------------------------------------------------------------------------------------

    /// Queues a command. Its id must not be in use.
    pub fn post(&mut self, command: Command, extra: CommandExtra) {
        self.commands.push_back(Posted::new(command, extra));
    }

    /// The next completion that came. PENDING ones are among them.
    pub fn poll_completion(&mut self) -> Option<Finished> {
        self.finished.pop_front()
    }

    /// Commands that are queued, offered, or without their final completion.
    pub fn commands_pending(&self) -> usize {
        self.commands.len() + usize::from(self.command_driving.is_some()) + self.posted.len()
    }

    /// True if a command with this id is under way.
    pub fn is_id_in_use(&self, id: u16) -> bool {
        self.posted
            .iter()
            .chain(&self.commands)
            .chain(&self.command_driving)
            .any(|posted| posted.command.id == id)
            || self.queue.as_ref().is_some_and(|queue| queue.uses_id(id))
    }

    /// Posts a command and waits for its next completion, final or PENDING.
    pub fn command(
        &mut self,
        mem: &mut PhysMem,
        command: Command,
        extra: CommandExtra,
    ) -> Result<Completion, BenchError> {
        self.post(command, extra);
        self.wait_completion(mem, command.id)
    }

    /// Waits for the next completion of a command.
    pub fn wait_completion(
        &mut self,
        mem: &mut PhysMem,
        id: u16,
    ) -> Result<Completion, BenchError> {
        let mut found = None;
        self.run_while_moving(mem, "a completion", |bench| {
            let place = bench.finished.iter().position(|f| f.completion.id == id);
            if let Some(place) = place {
                found = bench.finished.remove(place);
            }
            found.is_some()
        })?;
        match found {
            Some(finished) => Ok(finished.completion),
            None => unreachable!("the wait ends with a completion"),
        }
    }

    /// The true pages of the next REG_MR or REREG_MR that comes without them, through
    /// `CommandPort`.
    pub fn set_next_pages(&mut self, pages: Translation) {
        self.pages_of_next = Some(pages);
    }

    fn command_accepted(&mut self, now: u64) {
        self.progress = now;
        let Some(mut posted) = self.command_driving.take() else {
            return;
        };
        posted.accepted = now;
        let pages = posted.extra.pages.clone();
        let expected = self.golden.begin(&posted.command, pages, now);
        posted.no_index = expected.status == Status::NoIndex;
        self.fault_answered(&posted.command, expected.status == Status::Ok);
        self.posted.push(posted);
    }

    fn observe_completion(&mut self, mem: &mut PhysMem, now: u64) -> Result<(), BenchError> {
        if let Some(held) = self.held_completion {
            if !self.outputs.cpl_valid {
                self.protocol("completion withdrawn")?;
            } else if held != self.outputs.cpl {
                self.protocol("completion changed while stalled")?;
            }
        }
        let stalled = self.outputs.cpl_valid && !self.inputs.cpl_ready;
        self.held_completion = stalled.then_some(self.outputs.cpl);
        if !self.outputs.cpl_valid || !self.inputs.cpl_ready {
            return Ok(());
        }
        self.progress = now;
        match Completion::unpack(&self.outputs.cpl) {
            Ok(completion) => self.completion(mem, completion, Source::Direct, now),
            Err(error) => self.mismatch(format!("completion: {error}")),
        }
    }

    fn completion(
        &mut self,
        mem: &mut PhysMem,
        completion: Completion,
        source: Source,
        now: u64,
    ) -> Result<(), BenchError> {
        self.stats.by_status[usize::from(completion.status.code())] += 1;
        self.stats.by_command[usize::from(completion.op & 15)] += 1;
        let Some(place) = self.posted.iter().position(|p| {
            let command = (p.command.id, p.command.op & 15);
            (command, p.source) == ((completion.id, completion.op), source)
        }) else {
            return self.mismatch(format!("completion of no command: {completion:?}"));
        };
        let command = self.posted[place].command;
        let accepted = self.posted[place].accepted;
        if self.recent.len() == 24 {
            self.recent.pop_front();
        }
        self.recent.push_back((now, command, completion));
        if let Some(cover) = self.cover.as_mut().filter(|_| self.judge_answers) {
            cover.command(&command, &completion);
        }
        if !Self::silent(&self.posted[place]) {
            self.finished.push_back(Finished {
                completion,
                command: Some(command),
                accepted,
                clock: now,
            });
        }
        let old = self.named_region(&command);
        let uncounted = self.is_uncounted(&command);
        // An entry that an error of memory may have taken away is one that is not there: refused from
        // outside, as one that is corrupted. Whether it is gone says memory, when nothing changes it.
        let (_, named) = self.golden.keys().decode(command.key);
        let gone = completion.status == Status::KeyState && self.doubtful.contains(&named);
        let judged = match gone {
            true => Completion::plain(completion.id, completion.op, Status::MptBad),
            false => completion,
        };
        let outcome = self.golden.complete(&judged, now);
        if completion.status != Status::Pending {
            self.stats.command_clocks += now - accepted;
        }
        let posted = match &outcome {
            Ok(GoldenOutcome::Pending) => None,
            _ => {
                self.fault_closed(&command, completion.status, now);
                Some(self.posted.remove(place))
            }
        };
        self.recover_doubtful(mem, now);
        match outcome {
            Err(error) => {
                return self.doubt(
                    completion.id,
                    false,
                    format!("command {command:?}: {error}"),
                );
            }
            Ok(GoldenOutcome::Pending) => {
                self.posted[place].pending = true;
                self.last_death = now;
                if self.unit.fence_time == 0 && accepted > self.fence_limited {
                    return self.mismatch(format!("PENDING without a fence time: {command:?}"));
                }
            }
            Ok(GoldenOutcome::Refused(status)) => {
                if status != Status::Busy {
                    self.judge_refused(mem, &command, now);
                }
                let reason = match status {
                    Status::Bus => {
                        let mpt = self.unit.mpt_range();
                        self.axi.errors_since(accepted).any(|a| mpt.contains(&a))
                    }
                    Status::MptBad => self.expect_mpt_bad || uncounted || gone,
                    Status::Busy => self.posted.iter().any(|posted| posted.pending),
                    _ => false,
                };
                if !reason {
                    let text = format!("command {command:?}: {status} without a reason");
                    return self.doubt(completion.id, false, text);
                }
            }
            Ok(GoldenOutcome::Finished) => {
                if completion.status == Status::Ok {
                    return self.command_done(mem, &command, posted, old, &completion, now);
                }
            }
        }
        Ok(())
    }

    /// Does the command name a window that its region does not count? Errors of memory, one on a write
    /// of a BIND_MW and one on the write that undoes it, leave it so.
    fn is_uncounted(&self, command: &Command) -> bool {
        let (_, index) = self.golden.keys().decode(command.key);
        let held = self.golden.held(index).and_then(|(_, held)| held.parent);
        held.is_some_and(|parent| {
            let region = self.golden.current(parent.index);
            region.map_or(true, |region| region.bound == 0)
        })
    }

    /// A command on an entry has met a memory error. Whether the entry, and those of the regions of
    /// a window, are still what they were says memory.
    fn judge_refused(&mut self, mem: &PhysMem, command: &Command, now: u64) {
        match command.operation() {
            None | Some(CmdOp::Query | CmdOp::PageReady) => return,
            Some(op) if makes(op) => return,
            Some(_) => {}
        }
        let (_, index) = self.golden.keys().decode(command.key);
        let (_, region) = self.golden.keys().decode(command.mkey);
        self.doubtful.extend(self.golden.parents(index));
        if command.operation() == Some(CmdOp::BindMw) {
            self.doubtful.push(region);
        }
        let current = self.golden.current(index);
        let fresh = current.is_some_and(|region| region.lkey == command.key);
        match command.operation() {
            // Others on the same region may be under way, but none that brings it back.
            Some(CmdOp::DeregMr | CmdOp::ReregMr) if fresh => self.recover(mem, index, now),
            _ => self.doubtful.push(index),
        }
        self.recover_doubtful(mem, now);
    }

    /// Looks at the entries that an error may have changed, when nothing changes them any more.
    fn recover_doubtful(&mut self, mem: &PhysMem, now: u64) {
        for index in std::mem::take(&mut self.doubtful) {
            match self.may_change(index) {
                true => self.doubtful.push(index),
                false => self.recover(mem, index, now),
            }
        }
    }

    fn recover(&mut self, mem: &PhysMem, index: u32, now: u64) {
        if index < self.unit.mpt_size && self.golden.held(index).is_some() {
            let mut bytes = [0; MPT_BYTES];
            mem.read(self.entry_address(index), &mut bytes);
            if self.golden.recover(index, &bytes, now) {
                self.last_death = now;
            }
        }
    }

    /// A command that is under way may change this entry.
    fn may_change(&self, index: u32) -> bool {
        self.posted.iter().any(|other| {
            let command = &other.command;
            let named = self.golden.keys().decode(command.key).1;
            let Some(op) = command.operation() else {
                return false;
            };
            match op {
                CmdOp::Query | CmdOp::PageReady => false,
                CmdOp::BindMw => {
                    named == index
                        || self.golden.keys().decode(command.mkey).1 == index
                        || self.golden.parents(named).contains(&index)
                }
                CmdOp::Invalidate | CmdOp::DeallocMw => {
                    named == index || self.golden.parents(named).contains(&index)
                }
                op => named == index || makes(op),
            }
        })
    }

    /// Forgets requests and commands that were not offered to the unit yet.
    pub fn drop_queued(&mut self) {
        self.commands.clear();
        for client in &mut self.clients {
            client.queue.clear();
        }
    }

    /// The registration that a command ends: the oldest one of the named index that is dying.
    fn named_region(&self, command: &Command) -> Option<(u32, u8)> {
        if !command.operation().is_some_and(ends) {
            return None;
        }
        let (role, index) = self.golden.keys().decode(command.key);
        self.golden
            .incarnations(index)
            .filter(|i| i.life.dying_from.is_some() && i.region.key(role) == command.key)
            .last()
            .map(|i| (index, i.region.first_gen))
    }

    /// A command has succeeded: what must hold from here on.
    fn command_done(
        &mut self,
        mem: &mut PhysMem,
        command: &Command,
        posted: Option<Posted>,
        old: Option<(u32, u8)>,
        completion: &Completion,
        now: u64,
    ) -> Result<(), BenchError> {
        let key = match command.operation() {
            None | Some(CmdOp::Query | CmdOp::PageReady) => return Ok(()),
            Some(CmdOp::AllocMw) => completion.rkey,
            Some(op) if makes(op) => completion.lkey,
            Some(_) => command.key,
        };
        let (_, index) = self.golden.keys().decode(key);
        if let Some(region) = self.golden.current(index) {
            // Generations come again after 256 registrations.
            let newborn = (index, region.first_gen);
            self.ended.retain(|(region, _)| *region != newborn);
        }
        if command.operation() == Some(CmdOp::InvalidateRange) {
            let accepted = posted.as_ref().map_or(now, |posted| posted.accepted);
            self.range_invalidated(command, accepted, now)?;
        }
        if command.operation().is_some_and(ends) {
            self.last_death = now;
            if let Some(region) = old {
                self.ended.push((region, now));
                if let Some(count) = self.holders.get(&region) {
                    let text = format!(
                        "command {command:?} finished while {count} requests with segments of \
                         index {} generation {} are not done",
                        region.0, region.1
                    );
                    self.mismatch(text)?;
                }
            }
            for range in posted.into_iter().flat_map(|posted| posted.extra.release) {
                self.axi.forbid(range);
            }
        }
        // The entries as they are in memory, unless a later command may have begun to change them.
        let mut touched = vec![index];
        if command.operation() == Some(CmdOp::BindMw) && command.length > 0 {
            touched.push(self.golden.keys().decode(command.mkey).1);
        }
        for index in touched {
            if self.may_change(index) {
                continue;
            }
            let mut bytes = [0; MPT_BYTES];
            mem.read(self.entry_address(index), &mut bytes);
            if let Err(error) = self.golden.check_entry(index, &bytes) {
                self.doubt(
                    command.id,
                    true,
                    format!("after command {command:?}: {error}"),
                )?;
            }
        }
        Ok(())
    }

    /// Physical address of the MPT entry `index`.
    pub fn entry_address(&self, index: u32) -> u64 {
        self.unit.mpt_base + u64::from(index) * MPT_BYTES as u64
    }

    // ---------------------------------------------------------------------------------------------
    // Registers
    // ---------------------------------------------------------------------------------------------

    /// The interrupt, in the last clock.
    pub fn irq(&self) -> bool {
        self.outputs.irq
    }

    /// Reads a register. Traffic goes on meanwhile.
    pub fn read_register(&mut self, mem: &mut PhysMem, address: u16) -> Result<u32, BenchError> {
        self.inputs.axil.arvalid = true;
        self.inputs.axil.araddr = address;
        self.run_register(mem, "a register read address", |bench| {
            bench.outputs.axil.arready
        })?;
        self.inputs.axil.arvalid = false;
        self.inputs.axil.rready = true;
        self.run_register(mem, "register read data", |bench| bench.outputs.axil.rvalid)?;
        self.inputs.axil.rready = false;
        match self.outputs.axil.rresp {
            0 => Ok(self.outputs.axil.rdata),
            resp => Err(BenchError::Register {
                address,
                resp,
                write: false,
            }),
        }
    }

    /// Writes a register; address and data come in any order.
    pub fn write_register(
        &mut self,
        mem: &mut PhysMem,
        address: u16,
        value: u32,
    ) -> Result<(), BenchError> {
        self.write_register_strobed(mem, address, value, 15)
    }

    /// Writes the bytes of a register that `strobes` says.
    pub fn write_register_strobed(
        &mut self,
        mem: &mut PhysMem,
        address: u16,
        value: u32,
        strobes: u8,
    ) -> Result<(), BenchError> {
        self.inputs.axil.awaddr = address;
        self.inputs.axil.wdata = value;
        self.inputs.axil.wstrb = strobes;
        let mut lead = self.rng.below(4);
        let address_first = self.rng.chance(1, 2);
        let (mut address_left, mut data_left) = (true, true);
        let end = self.clock + 1000;
        while address_left || data_left {
            let wait = lead > 0;
            lead = lead.saturating_sub(1);
            // A valid that was raised stays.
            self.inputs.axil.awvalid =
                address_left && (address_first || !wait || self.inputs.axil.awvalid);
            self.inputs.axil.wvalid =
                data_left && (!address_first || !wait || self.inputs.axil.wvalid);
            self.step(mem)?;
            address_left &= !(self.inputs.axil.awvalid && self.outputs.axil.awready);
            data_left &= !(self.inputs.axil.wvalid && self.outputs.axil.wready);
            if self.clock > end {
                return self.timeout("a register write");
            }
        }
        self.inputs.axil.awvalid = false;
        self.inputs.axil.wvalid = false;
        self.inputs.axil.bready = true;
        self.run_register(mem, "a register write response", |bench| {
            bench.outputs.axil.bvalid
        })?;
        self.inputs.axil.bready = false;
        match self.outputs.axil.bresp {
            0 => Ok(()),
            resp => Err(BenchError::Register {
                address,
                resp,
                write: true,
            }),
        }
    }

    fn run_register(
        &mut self,
        mem: &mut PhysMem,
        what: &str,
        mut until: impl FnMut(&Self) -> bool,
    ) -> Result<(), BenchError> {
        let end = self.clock + 1000;
        loop {
            self.step(mem)?;
            if until(self) {
                return Ok(());
            }
            if self.clock > end {
                return self.timeout(what);
            }
        }
    }

    /// All counters.
    pub fn read_counters(
        &mut self,
        mem: &mut PhysMem,
    ) -> Result<[u32; regs::counter::COUNT], BenchError> {
        let mut values = [0; regs::counter::COUNT];
        for (n, value) in values.iter_mut().enumerate() {
            *value = self.read_register(mem, regs::COUNTERS + 4 * n as u16)?;
        }
        Ok(values)
    }

    // ---------------------------------------------------------------------------------------------
    // Reset, enable, client reset
    // ---------------------------------------------------------------------------------------------

    /// Resets the unit: everything inside is lost, what the memory still has to answer stays. Queued
    /// requests and commands stay queued.
    pub fn reset(&mut self, mem: &mut PhysMem) -> Result<(), BenchError> {
        self.inputs.rst_n = false;
        self.inputs.axil = Default::default();
        for clocks in 0..8 {
            self.inputs.req_valid = [false; MAX_CLIENTS];
            self.inputs.done_valid = [false; MAX_CLIENTS];
            self.inputs.cmd_valid = false;
            self.inputs.cpl_ready = false;
            self.inputs.rsp_ready = [false; MAX_CLIENTS];
            self.axi.drive(mem, &mut self.inputs.axi);
            // Nothing is handed over during a reset.
            let mut quiet = self.inputs.axi.clone();
            quiet.arready = false;
            quiet.awready = false;
            quiet.wready = false;
            quiet.rvalid = false;
            quiet.bvalid = false;
            std::mem::swap(&mut self.inputs.axi, &mut quiet);
            self.dut.tick(&self.inputs, &mut self.outputs)?;
            std::mem::swap(&mut self.inputs.axi, &mut quiet);
            if clocks == 0 {
                self.axi.unit_reset();
            }
            self.axi.idle_clock();
            self.clock += 1;
        }
        self.inputs.rst_n = true;
        self.golden.reset();
        self.streams.iter_mut().for_each(VecDeque::clear);
        self.clients.iter_mut().for_each(Client::restart);
        if let Some(posted) = self.command_driving.take() {
            self.commands.push_front(posted);
        }
        self.posted.clear();
        self.queue = None;
        self.written.clear();
        self.expected_extras.clear();
        self.axi.set_queues(0..0, 0..0);
        self.held_completion = None;
        self.holders.clear();
        self.ended.clear();
        self.doubtful.clear();
        self.faults.forget(true);
        self.unit.fence_time = 0;
        self.unit.tenants = Tenants::default();
        self.unit.refusal_time = 0;
        self.alarm = Alarm::with_slots(self.alarm.pd_slots());
        Ok(())
    }

    /// Writes the registers without enabling.
    pub fn configure(&mut self, mem: &mut PhysMem, unit: &UnitConfig) -> Result<(), BenchError> {
        self.write_register(mem, regs::MPT_BASE_LO, unit.mpt_base as u32)?;
        self.write_register(mem, regs::MPT_BASE_HI, (unit.mpt_base >> 32) as u32)?;
        self.write_register(mem, regs::MPT_SIZE, unit.mpt_size)?;
        for word in 0..4 {
            let offset = 4 * word as u16;
            self.write_register(mem, regs::PERM_SECRET + offset, unit.perm_secret[word])?;
            self.write_register(mem, regs::TAG_SECRET + offset, unit.tag_secret[word])?;
        }
        self.set_fence_time(mem, unit.fence_time)?;
        self.set_tenants(mem, unit)?;
        self.unit = unit.clone();
        self.golden.configure(unit.keys(), unit.mpt_size);
        self.golden.allow_phys(unit.phys);
        self.set_host_windows(mem, &unit.host_windows)?;
        self.axi.set_mpt(unit.mpt_range());
        Ok(())
    }

    /// Partitions, time of refusals and alarm, if they are others than before.
    fn set_tenants(&mut self, mem: &mut PhysMem, unit: &UnitConfig) -> Result<(), BenchError> {
        if unit.tenants != self.unit.tenants {
            let tenants = unit.tenants;
            let word = regs::put(regs::isolation::LOG_PARTS, tenants.log_parts.into())
                | regs::put(regs::isolation::PD_SHIFT, tenants.pd_shift.into());
            self.write_register(mem, regs::ISOLATION, word)?;
            self.write_register(mem, regs::PART_MAP, tenants.map)?;
        }
        if unit.refusal_time != self.unit.refusal_time {
            self.write_register(mem, regs::REFUSAL_TIME, unit.refusal_time.into())?;
        }
        self.set_alarm(mem, unit.alarm)
    }

    /// Thresholds of bad keys. What is counted and blocked stays.
    pub fn set_alarm(&mut self, mem: &mut PhysMem, alarm: AlarmConfig) -> Result<(), BenchError> {
        if alarm != self.alarm.config() {
            let word = regs::put(regs::alarm::STREAM_THRESHOLD, alarm.stream_threshold.into())
                | regs::put(regs::alarm::PD_THRESHOLD, alarm.pd_threshold.into())
                | regs::put(regs::alarm::BLOCK, alarm.block.into());
            self.write_register(mem, regs::ALARM, word)?;
            self.alarm.configure(alarm);
        }
        Ok(())
    }

    /// Clears the count of bad keys of a stream, which is served again.
    pub fn clear_stream(
        &mut self,
        mem: &mut PhysMem,
        client: usize,
        stream: u8,
    ) -> Result<(), BenchError> {
        let select = regs::put(regs::alarm_select::CLIENT, client as u32)
            | regs::put(regs::alarm_select::STREAM, stream.into());
        self.write_register(mem, regs::ALARM_SELECT, select)?;
        self.write_register(mem, regs::ALARM_CLEAR, regs::alarm_clear::STREAM)?;
        let place = client * STREAMS + usize::from(stream & STREAM_MASK);
        let quiet = self.streams[place].is_empty();
        self.alarm.clear_stream(client, stream & STREAM_MASK, quiet);
        Ok(())
    }

    /// Reads what the alarm has counted of each stream and slot, and says what differs from the
    /// reference. No request may be inside.
    pub fn compare_alarm(&mut self, mem: &mut PhysMem) -> Result<Result<(), String>, BenchError> {
        if !features_of(self.options.config).guess_alarm {
            return Ok(Ok(()));
        }
        let mut blocked = [0; 2 * MAX_CLIENTS];
        for client in 0..self.clients.len() {
            for stream in 0..STREAMS as u8 {
                let Some((count, stopped)) = self.alarm.stream(client, stream) else {
                    return Ok(Ok(()));
                };
                let select = regs::put(regs::alarm_select::CLIENT, client as u32)
                    | regs::put(regs::alarm_select::STREAM, stream.into());
                self.write_register(mem, regs::ALARM_SELECT, select)?;
                let found = self.read_register(mem, regs::ALARM_STREAM)?;
                let right = regs::put(regs::alarm_stream::COUNT, count)
                    | regs::put(regs::alarm_stream::BLOCKED, stopped.into());
                if found != right {
                    let text = format!(
                        "client {client}, stream {stream}: ALARM_STREAM reads {found:#x},                          not {right:#x}"
                    );
                    return Ok(Err(text));
                }
                blocked[2 * client] |= u32::from(stopped) << stream;
            }
        }
        for slot in 0..self.alarm.pd_slots() {
            let select = regs::put(regs::alarm_select::SLOT, slot);
            self.write_register(mem, regs::ALARM_SELECT, select)?;
            let found = self.read_register(mem, regs::ALARM_PD)?;
            let Some((count, _)) = self.alarm.slot(slot) else {
                continue;
            };
            // Which of two PDs was the last one is not known: answers of two streams overtake.
            let last = (found & regs::alarm_pd::PD) >> regs::alarm_pd::PD.trailing_zeros();
            let of_slot = count == 0 || self.alarm.slot_of(last) == slot;
            if found & regs::alarm_pd::COUNT != count || !of_slot {
                let text = format!("slot {slot}: ALARM_PD reads {found:#x}, its count is {count}");
                return Ok(Err(text));
            }
        }
        for (n, right) in (0..).zip(blocked) {
            let found = self.read_register(mem, regs::ALARM_BLOCKED + 4 * n)?;
            if found != right {
                let text = format!("ALARM_BLOCKED {n} reads {found:#x}, not {right:#x}");
                return Ok(Err(text));
            }
        }
        Ok(Ok(()))
    }

    /// True if a request of this client in this partition would get a context at once.
    pub fn has_room(&self, client: usize, part: u8) -> bool {
        self.outputs.req_room >> (4 * client + usize::from(part)) & 1 != 0
    }

    /// Puts host windows in force: no others, and none if there are none.
    fn set_host_windows(
        &mut self,
        mem: &mut PhysMem,
        windows: &[RangeInclusive<u64>],
    ) -> Result<(), BenchError> {
        if windows.is_empty() && *self.golden.host_windows() == HostWindows::default() {
            return Ok(());
        }
        for (n, window) in (0..).zip(windows) {
            let (first, last) = (*window.start(), *window.end());
            let words = [first, first >> 32, last, last >> 32];
            for (word, value) in (0..).zip(words) {
                let address = regs::HOSTWIN_BASE_LO + 0x10 * n + 4 * word;
                self.write_register(mem, address, value as u32)?;
            }
        }
        let enable = (1 << windows.len()) - 1;
        self.write_register(mem, regs::HOSTWIN_ENABLE, enable)?;
        self.golden.set_host_windows(HostWindows::new(windows));
        Ok(())
    }

    /// Time limit of fences in clocks, 0: none.
    pub fn set_fence_time(&mut self, mem: &mut PhysMem, clocks: u32) -> Result<(), BenchError> {
        self.write_register(mem, regs::FENCE_TIME, clocks)?;
        if self.unit.fence_time != 0 {
            self.fence_limited = self.clock;
        }
        self.unit.fence_time = clocks;
        Ok(())
    }

    /// Configures and enables the unit and waits until it is ready.
    pub fn enable(&mut self, mem: &mut PhysMem, unit: &UnitConfig) -> Result<(), BenchError> {
        self.configure(mem, unit)?;
        self.start_enable(mem)?;
        self.wait_ready(mem)
    }

    /// Sets the enable bit.
    pub fn start_enable(&mut self, mem: &mut PhysMem) -> Result<(), BenchError> {
        self.golden.enable(self.clock);
        self.faults.forget(false);
        self.write_register(mem, regs::CTRL, regs::ctrl::ENABLE | self.unit.control())
    }

    /// Waits until the table is cleared.
    pub fn wait_ready(&mut self, mem: &mut PhysMem) -> Result<(), BenchError> {
        // Every entry is written once.
        let entry = 2000 + u64::from(self.axi.config().write_latency.max);
        let end = self.clock + self.options.patience + u64::from(self.unit.mpt_size) * entry;
        while self.read_register(mem, regs::STATUS)? & regs::status::READY == 0 {
            if self.clock > end {
                return self.timeout("the unit to be ready");
            }
            self.run(mem, 10)?;
        }
        self.golden.ready(self.clock);
        Ok(())
    }

    /// Clears the enable bit.
    pub fn disable(&mut self, mem: &mut PhysMem) -> Result<(), BenchError> {
        self.golden.disabling(self.clock);
        self.write_register(mem, regs::CTRL, self.unit.control())?;
        self.last_death = self.clock;
        self.golden.disabled(self.clock);
        Ok(())
    }

    /// Resets one client and waits for the end: its requests are dropped, its tags are free.
    pub fn reset_client(&mut self, mem: &mut PhysMem, client: usize) -> Result<(), BenchError> {
        let bit = 1 << client;
        // The client itself is reset: it offers nothing and keeps nothing.
        self.clients[client].hold = true;
        let owed: Vec<(u32, u8)> = self.clients[client]
            .tags
            .iter()
            .filter_map(|tag| {
                if let Tag::Owed(holds) = tag {
                    *holds
                } else {
                    None
                }
            })
            .collect();
        owed.into_iter()
            .for_each(|region| self.release(Some(region)));
        let until = self.clock + self.options.patience;
        self.faults.client_reset(client, until);
        // What is inside holds nothing any more, whenever the reset gets through.
        let mut holds = Vec::new();
        for stream in &mut self.streams[client * STREAMS..(client + 1) * STREAMS] {
            for live in stream {
                holds.push(live.holds.take());
                live.owes_done = false;
                let stream = live.request.stream & STREAM_MASK;
                self.alarm.lost(client, stream);
            }
        }
        holds.into_iter().for_each(|holds| self.release(holds));
        self.clients[client].restart();
        // Beats may come until the reset has got through, and are checked as ever; then what is
        // held may vanish.
        let response_gate = self.clients[client].response_gate.clone();
        self.clients[client].response_gate = Gate::new(Pattern::Always);
        let written = self.write_register(mem, regs::CLIENT_RESET, bit);
        let mut result = written;
        let end = self.clock + self.options.patience;
        while result.is_ok() {
            match self.read_register(mem, regs::CLIENT_RESET) {
                Ok(value) if value & bit == 0 => break,
                Ok(_) if self.clock > end => result = self.timeout("the end of a client reset"),
                Ok(_) => {}
                Err(error) => result = Err(error),
            }
        }
        let state = &mut self.clients[client];
        state.response_gate = response_gate;
        state.hold = false;
        state.restart();
        let now = self.clock;
        self.faults.client_reset(client, now);
        for stream in client * STREAMS..(client + 1) * STREAMS {
            for live in std::mem::take(&mut self.streams[stream]) {
                self.note_past(client, &live, false, now);
            }
        }
        result
    }
}

impl CommandPort for Bench {
    /// Blocking. The true pages of the region are those of [`Bench::set_next_pages`].
    fn submit(&mut self, mem: &mut PhysMem, command: &Command) -> Result<Completion, PortError> {
        if self.is_id_in_use(command.id) {
            return Err(PortError::NotSent(format!("id {} is in use", command.id)));
        }
        let extra = CommandExtra {
            pages: self.pages_of_next.take(),
            release: Vec::new(),
        };
        self.command(mem, *command, extra).map_err(|error| {
            let text = error.to_string();
            self.port_error = Some(error);
            PortError::Lost(text)
        })
    }
}

/// Commands that take a free index.
fn makes(op: CmdOp) -> bool {
    matches!(
        op,
        CmdOp::RegMr | CmdOp::AllocMr | CmdOp::AllocMw | CmdOp::RegPhys
    )
}

/// Commands that end a registration or a binding, if there is one.
fn ends(op: CmdOp) -> bool {
    matches!(
        op,
        CmdOp::DeregMr | CmdOp::ReregMr | CmdOp::Invalidate | CmdOp::DeallocMw | CmdOp::BindMw
    )
}

/// What is wrong with a beat whatever memory holds, if anything. `live.count` counts it already.
fn misshapen(live: &Live, beat: &Beat) -> Option<&'static str> {
    let left = u64::from(live.request.len).saturating_sub(live.bytes);
    let len = u64::from(beat.len);
    if beat.first != (live.count == 1) {
        Some("\"first\" is wrong")
    } else if beat.syndrome != Syndrome::Ok {
        let bare = (beat.pa, beat.len, beat.relaxed) == (0, 0, false);
        (!bare || !beat.last).then_some("a refusal with an address, or not the last beat")
    } else if len > left || (len == 0 && live.request.len != 0) {
        Some("more bytes than were asked for, or none")
    } else if beat.last != (len == left) {
        Some("\"last\" does not fit the bytes")
    } else if len == 0 && (beat.pa, beat.relaxed) != (0, false) {
        Some("an address of no bytes")
    } else {
        None
    }
}

/// Is it a beat that `walk` says may come next? Then the walk has gone on. With what was expected, and
/// how many pages the beat answers. With merging, neighbouring pages may come as one segment: as many
/// as `beat` has bytes for. `window`: clocks of acceptance and of the beat, and
/// entries of a table line.
fn expect(
    walk: &mut Walk,
    beat: &Beat,
    merge: bool,
    window: (u64, u64, u64),
) -> (bool, Vec<Beat>, u64) {
    let next = |walk: &Walk| walk.next_of(window.0, window.1, window.2);
    let mut all = Vec::new();
    for (mut expected, mut behind) in next(walk) {
        let mut pages = 1;
        let mut more = merge && expected.syndrome == Syndrome::Ok;
        while more && expected.len < beat.len && !expected.last {
            let joins = |next: &Beat| {
                next.syndrome == Syndrome::Ok
                    && next.pa == expected.pa.wrapping_add(expected.len.into())
            };
            match next(&behind).into_iter().find(|(next, _)| joins(next)) {
                Some((next, after)) => {
                    expected.len += next.len;
                    expected.last = next.last;
                    pages += 1;
                    behind = after;
                }
                None => more = false,
            }
        }
        if expected == *beat {
            *walk = behind;
            return (true, Vec::new(), pages);
        }
        all.push(expected);
    }
    (false, all, 0)
}

fn expected_text(beats: &[Beat]) -> String {
    match beats {
        [] => "nothing".to_owned(),
        [beat] => format!("{beat:?}"),
        beats => format!("one of {beats:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Planted lies: a register that does not tell what the configuration is built with.
    #[test]
    fn a_unit_that_is_not_what_its_configuration_says_is_refused() {
        for config in Config::ALL {
            let right = features_of(config).cap2();
            assert_eq!(wrong_cap2(config, right), None, "{}", config.name());
            for mask in [
                regs::cap2::QUEUES,
                regs::cap2::WINDOWS,
                regs::cap2::CHECKED,
                regs::cap2::SYNDROMES,
                regs::cap2::LOG_ENTRIES,
                regs::cap2::FAULT_SLOTS,
            ] {
                assert!(right & mask != 0, "{mask:#x} is there");
                let text = wrong_cap2(config, right & !mask).unwrap_or_default();
                assert!(text.contains(config.name()), "{mask:#x}: {text}");
            }
        }
    }
}
