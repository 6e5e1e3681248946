// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! The simulated unit as a target. Its bench compares every beat and every completion with the
//! golden reference.

use std::collections::HashMap;
use std::ops::{Range, RangeInclusive};
use std::path::PathBuf;

use tpt_bench::axi::{AxiConfig, Fault, FaultOn};
use tpt_bench::driver::{to_driver, to_golden, BenchPlatform, Heap, RtlUnit};
use tpt_bench::{
    Bench, BenchError, BenchOptions, Clocks, CommandExtra, DonePolicy, Issue, Outcome, Pattern,
    Ticket, UnitConfig,
};
use tpt_driver::{Config as DriverConfig, Device, Error as DriverError, Limit, Stats, Wait as _};
use tpt_golden::frames::Translation;
use tpt_golden::mem::PhysMem;
use tpt_golden::regs::{self, counter};
use tpt_golden::types::{Command, Completion, Status, Syndrome};
use tpt_golden::unit::{Conditions, Golden};
use tpt_verilated::{Config, DutError};

use crate::machine::{secrets, Machine, Port, Posted, MPT_BASE};
use crate::target::{Access1, Answer, CommandPath, Counters, TargetError};

/// Clocks without any progress after which a run gives up, besides the time of memory accesses.
const PATIENCE: u64 = 200_000;
/// Memory accesses in sequence, with room to spare, that progress may have to wait for.
const ACCESSES: u64 = 16;
/// Memory for the driver, from the table of regions on.
const HEAP: u64 = 1 << 38;
/// log2 of the slots of the command queue and of the completion queue.
const LOG_QUEUES: (u8, u8) = (6, 7);

/// How the simulated unit is set up.
#[derive(Debug, Clone)]
pub struct RtlOptions {
    /// Name of the configuration: `small`, `default` or `large`.
    pub config: String,
    /// Seed.
    pub seed: u64,
    /// Entries of the table of regions.
    pub table: u32,
    /// Limit of a fence in clocks.
    pub fence_time: u32,
    /// Clocks from a read to its answer.
    pub latency: RangeInclusive<u32>,
    /// Answers overtake each other.
    pub reorder: bool,
    /// Percentage of clocks in which each memory channel stalls.
    pub stalls: u32,
    /// Waves, and the clock from which they are recorded.
    pub waves: Option<(PathBuf, u64)>,
    /// Commands on the direct channel instead of the queue in memory.
    pub direct: bool,
}

/// The Verilated unit behind a port.
pub struct BenchPort {
    rtl: RtlUnit,
    unit: UnitConfig,
    /// The driver of the queue, while commands go through it.
    device: Option<Device>,
    path: CommandPath,
    /// What of the driver's counts is in `path`.
    counted: Stats,
    direct: bool,
    faults: Vec<Range<u64>>,
    last: [u32; counter::COUNT],
    totals: [u64; counter::COUNT],
    access_clocks: u64,
    next_id: u16,
}

/// The simulated unit with its host.
pub type RtlTarget = Machine<BenchPort>;

impl RtlTarget {
    /// A simulated unit with its host; not enabled.
    pub fn rtl(options: &RtlOptions) -> Result<Self, TargetError> {
        let config = Config::ALL
            .into_iter()
            .find(|c| c.name() == options.config)
            .ok_or_else(|| {
                TargetError::Failed(format!("no configuration named {:?}", options.config))
            })?;
        let open = |percent: u32| match percent {
            0 => Pattern::Always,
            p => Pattern::Random {
                percent: (100 - p.min(99)) as u8,
            },
        };
        let ready = open(options.stalls);
        let latency = Clocks::range(
            (*options.latency.start()).max(1),
            (*options.latency.end()).max(1),
        );
        let patience = PATIENCE + ACCESSES * u64::from(latency.max);
        let (waves, waves_from) = match &options.waves {
            Some((path, from)) => (Some(path.clone()), *from),
            None => (None, 0),
        };
        let bench_options = BenchOptions {
            config,
            seed: options.seed,
            waves,
            waves_from,
            axi: AxiConfig {
                read_latency: latency,
                write_latency: latency,
                reorder: options.reorder,
                interleave: options.reorder,
                ar_ready: ready,
                aw_ready: ready,
                w_ready: ready,
                r_valid: ready,
                b_valid: ready,
                ..AxiConfig::default()
            },
            patience,
            ..BenchOptions::default()
        };
        let mut host = Self::host(options.seed);
        let bench = Bench::new(&mut host.mem, bench_options).map_err(error)?;
        let (perm_secret, tag_secret) = secrets(options.seed);
        let port = BenchPort {
            rtl: RtlUnit::new(bench, Heap::new(MPT_BASE, HEAP)),
            device: None,
            path: CommandPath::default(),
            counted: Stats::default(),
            direct: options.direct,
            unit: UnitConfig {
                phys: true,
                mpt_base: MPT_BASE,
                mpt_size: options.table,
                perm_secret,
                tag_secret,
                plain: false,
                merge: false,
                fence_time: options.fence_time,
                ..UnitConfig::default()
            },
            faults: Vec::new(),
            last: [0; counter::COUNT],
            totals: [0; counter::COUNT],
            access_clocks: 0,
            next_id: 0,
        };
        Ok(Self::with_host(port, host))
    }
}

/// A failure of the bench: a mismatch, unless the bench itself could not be used.
fn error(e: BenchError) -> TargetError {
    let clock = match &e {
        BenchError::Mismatch { clock, .. }
        | BenchError::Protocol { clock, .. }
        | BenchError::Timeout { clock, .. }
        | BenchError::Dut(DutError::Assertion { clock, .. }) => Some(*clock),
        _ => None,
    };
    if e.is_mismatch() {
        TargetError::Mismatch {
            clock,
            text: e.to_string(),
        }
    } else {
        TargetError::Failed(e.to_string())
    }
}

fn answer(outcome: &Outcome) -> Answer {
    Answer {
        syndrome: outcome.syndrome,
        segments: outcome
            .beats
            .iter()
            .filter(|b| b.syndrome == Syndrome::Ok && b.len > 0)
            .map(|b| (b.pa, b.len))
            .collect(),
    }
}

impl BenchPort {
    /// The bench.
    pub fn bench(&mut self) -> &mut Bench {
        &mut self.rtl.bench
    }

    fn free_id(&mut self) -> u16 {
        loop {
            self.next_id = self.next_id.wrapping_add(1);
            if !self.rtl.bench.is_id_in_use(self.next_id) {
                return self.next_id;
            }
        }
    }

    /// What an error of the driver means: a defect of the unit, or of the way to it.
    fn driver_error(&mut self, failed: DriverError) -> TargetError {
        match self.rtl.error.take() {
            Some(cause) => error(cause),
            None => TargetError::Mismatch {
                clock: Some(self.rtl.bench.clock()),
                text: format!("driver: {failed}"),
            },
        }
    }

    /// What the driver has done since the last time.
    fn count(&mut self, device: &Device) {
        let (now, before) = (device.stats, self.counted);
        self.path.completions += now.completions - before.completions;
        self.path.doorbells += now.command_doorbells - before.command_doorbells;
        self.counted = now;
    }

    /// How long the driver waits: until nothing can move any more.
    fn limit(&self) -> Limit {
        Limit::Time(4 * self.rtl.bench.options().patience)
    }

    /// Writes a command into the queue and announces it. Returns the driver's id.
    fn submit(
        &mut self,
        mem: &mut PhysMem,
        command: &Command,
        extra: CommandExtra,
    ) -> Result<u16, TargetError> {
        let Some(mut device) = self.device.take() else {
            return Err(TargetError::Failed("there is no queue".into()));
        };
        self.rtl.bench.expect_extra(extra);
        let mut patience = self.rtl.bench.options().patience;
        let unit = &mut self.rtl;
        let sent = loop {
            let mut platform = BenchPlatform { unit, mem };
            match device.submit(&mut platform, &to_driver(command)) {
                Err(DriverError::QueueFull) if patience > 0 => {
                    patience -= 1;
                    if let Err(failed) = platform.idle() {
                        break Err(failed.into());
                    }
                }
                other => break other,
            }
        };
        self.count(&device);
        self.device = Some(device);
        sent.map_err(|failed| self.driver_error(failed))
    }

    /// Waits for the final completion of a command.
    fn finish(
        &mut self,
        mem: &mut PhysMem,
        id: u16,
        of_driver: u16,
    ) -> Result<Completion, TargetError> {
        let limit = self.limit();
        let Some(mut device) = self.device.take() else {
            return Err(TargetError::Failed("there is no queue".into()));
        };
        let unit = &mut self.rtl;
        let mut platform = BenchPlatform { unit, mem };
        let done = loop {
            match device.wait(&mut platform, of_driver, limit) {
                Ok(done) if done.status == tpt_driver::Status::Pending => {}
                other => break other,
            }
        };
        self.count(&device);
        self.device = Some(device);
        // The bench has compared them.
        while self.rtl.bench.poll_completion().is_some() {}
        match done {
            Ok(done) => Ok(to_golden(id, &done)),
            Err(failed) => Err(self.driver_error(failed)),
        }
    }

    fn collect(&mut self, answers: &mut HashMap<Ticket, Answer>) {
        while let Some(outcome) = self.rtl.bench.poll() {
            answers.insert(outcome.ticket, answer(&outcome));
        }
    }
}

impl Port for BenchPort {
    fn command(
        &mut self,
        mem: &mut PhysMem,
        command: &Command,
        pages: Option<Translation>,
        release: Vec<Range<u64>>,
    ) -> Result<Completion, TargetError> {
        let extra = CommandExtra { pages, release };
        if self.device.is_some() {
            let id = self.submit(mem, command, extra)?;
            return self.finish(mem, command.id, id);
        }
        let mut command = *command;
        if self.rtl.bench.is_id_in_use(command.id) {
            command.id = self.free_id();
        }
        let mut done = self.rtl.bench.command(mem, command, extra).map_err(error)?;
        self.path.completions += 1;
        while done.status == Status::Pending {
            done = self
                .rtl
                .bench
                .wait_completion(mem, command.id)
                .map_err(error)?;
            self.path.completions += 1;
        }
        Ok(done)
    }

    fn allow(&mut self, range: Range<u64>) {
        self.rtl.bench.axi.allow(range);
    }

    fn access(
        &mut self,
        mem: &mut PhysMem,
        batch: &[Access1],
        posted: Vec<Posted>,
    ) -> Result<(Vec<Answer>, Vec<Completion>), TargetError> {
        let start = self.rtl.bench.clock();
        let accepted = self.rtl.bench.stats.requests;
        let tickets: Vec<Ticket> = batch
            .iter()
            .map(|a| {
                let issue = Issue {
                    keep_beats: true,
                    ..Issue::default()
                };
                self.rtl
                    .bench
                    .issue_with(usize::from(a.client), a.request, issue)
            })
            .collect();
        let mut ids = Vec::with_capacity(posted.len());
        for p in posted {
            let due = accepted + p.after.min(batch.len()) as u64;
            let mut patience = self.rtl.bench.options().patience;
            while self.rtl.bench.stats.requests < due {
                self.rtl.bench.step(mem).map_err(error)?;
                patience -= 1;
                if patience == 0 {
                    return Err(TargetError::Mismatch {
                        clock: Some(self.rtl.bench.clock()),
                        text: "requests are not accepted any more".into(),
                    });
                }
            }
            let extra = CommandExtra {
                release: p.release,
                ..CommandExtra::default()
            };
            let id = p.command.id;
            if self.device.is_some() {
                ids.push((id, self.submit(mem, &p.command, extra)?));
            } else {
                self.rtl.bench.post(p.command, extra);
                ids.push((id, id));
            }
        }
        self.rtl.bench.wait_idle(mem).map_err(error)?;

        let mut final_ones: HashMap<u16, Completion> = HashMap::new();
        if self.device.is_some() {
            for (id, of_driver) in &ids {
                final_ones.insert(*id, self.finish(mem, *id, *of_driver)?);
            }
        }
        self.access_clocks += self.rtl.bench.clock() - start;

        let mut by_ticket = HashMap::with_capacity(batch.len());
        self.collect(&mut by_ticket);
        let answers = tickets
            .iter()
            .map(|t| {
                by_ticket
                    .remove(t)
                    .ok_or_else(|| TargetError::Failed("an access without an answer".into()))
            })
            .collect::<Result<Vec<_>, _>>()?;

        while let Some(finished) = self.rtl.bench.poll_completion() {
            self.path.completions += 1;
            if finished.completion.status != Status::Pending {
                final_ones.insert(finished.completion.id, finished.completion);
            }
        }
        let completions = ids
            .iter()
            .map(|(id, _)| {
                final_ones
                    .remove(id)
                    .ok_or_else(|| TargetError::Failed("a command without a completion".into()))
            })
            .collect::<Result<Vec<_>, _>>()?;
        Ok((answers, completions))
    }

    fn access_under(
        &mut self,
        mem: &mut PhysMem,
        access: &Access1,
        conditions: Conditions,
    ) -> Result<Answer, TargetError> {
        let client = usize::from(access.client);
        let issue = Issue {
            conditions: Conditions {
                // The bench knows itself which tags are in use.
                tag_busy: false,
                ..conditions
            },
            keep_beats: true,
            ..Issue::default()
        };
        if !conditions.tag_busy {
            let outcome = self
                .rtl
                .bench
                .access_with(mem, client, access.request, issue)
                .map_err(error)?;
            return Ok(answer(&outcome));
        }
        self.rtl.bench.set_done_policy(client, DonePolicy::Withheld);
        let first = self
            .rtl
            .bench
            .access_with(mem, client, access.request, issue.clone())
            .map_err(error)?;
        let second = Issue {
            tag: Some(first.request.tag),
            ..issue
        };
        let outcome = self
            .rtl
            .bench
            .access_with(mem, client, access.request, second)
            .map_err(error)?;
        self.rtl
            .bench
            .set_done_policy(client, DonePolicy::IMMEDIATE);
        self.rtl.bench.release_dones(client);
        self.rtl.bench.wait_idle(mem).map_err(error)?;
        Ok(answer(&outcome))
    }

    fn enable(&mut self, mem: &mut PhysMem) -> Result<(), TargetError> {
        if !self.direct {
            let cap2 = self.rtl.bench.host_read(mem, regs::CAP2).map_err(error)?;
            self.path.missing = cap2 & regs::cap2::QUEUES == 0;
        }
        if self.direct || self.path.missing {
            let unit = self.unit.clone();
            return self.rtl.bench.enable(mem, &unit).map_err(error);
        }
        let config = DriverConfig {
            mpt_entries: self.unit.mpt_size,
            perm_secret: self.unit.perm_secret,
            tag_secret: self.unit.tag_secret,
            fence_time: self.unit.fence_time,
            merge: self.unit.merge,
            phys: self.unit.phys,
            plain: self.unit.plain,
            log_commands: LOG_QUEUES.0,
            log_completions: LOG_QUEUES.1,
        };
        // Every entry is written once.
        let entry = 2000 + u64::from(self.rtl.bench.axi.config().write_latency.max);
        let clear = u64::from(self.unit.mpt_size) * entry;
        let limit = Limit::Time(self.rtl.bench.options().patience + clear);
        let unit = &mut self.rtl;
        let mut platform = BenchPlatform { unit, mem };
        if let Some(device) = &mut self.device {
            let stopped = device.stop(&mut platform, limit);
            stopped.map_err(|failed| self.driver_error(failed))?;
        }
        let unit = &mut self.rtl;
        let mut platform = BenchPlatform { unit, mem };
        match Device::start(&mut platform, &config, limit) {
            Ok(device) => {
                self.path.queue = true;
                self.counted = Stats::default();
                self.device = Some(device);
                Ok(())
            }
            Err(failed) => Err(self.driver_error(failed)),
        }
    }

    fn commands(&self) -> Option<CommandPath> {
        Some(self.path)
    }

    fn golden(&mut self) -> &mut Golden {
        &mut self.rtl.bench.golden
    }

    fn bus_fault(&mut self, range: Range<u64>, on: bool) {
        if on {
            self.faults.push(range);
        } else {
            self.faults.retain(|r| *r != range);
        }
        self.rtl.bench.axi.clear_faults();
        for range in &self.faults {
            self.rtl
                .bench
                .axi
                .inject(Fault::always(range.clone(), FaultOn::Read));
        }
    }

    fn expect_damaged_entries(&mut self, on: bool) {
        self.rtl.bench.expect_mpt_bad = on;
    }

    fn counters(&mut self, mem: &mut PhysMem) -> Result<Option<Counters>, TargetError> {
        let now = self.rtl.bench.read_counters(mem).map_err(error)?;
        for ((total, last), now) in self.totals.iter_mut().zip(&mut self.last).zip(now) {
            *total += u64::from(now.wrapping_sub(*last));
            *last = now;
        }
        let t = &self.totals;
        Ok(Some(Counters {
            clocks: self.access_clocks,
            requests: t[counter::REQUESTS],
            mpt_hits: t[counter::MPT_HIT],
            mpt_misses: t[counter::MPT_MISS],
            mtt_hits: t[counter::MTT_HIT],
            mtt_misses: t[counter::MTT_MISS],
            mpt_reads: t[counter::MPT_READ],
            mtt_reads: t[counter::MTT_READ],
            beats: t[counter::SEGMENTS],
        }))
    }

    fn clock(&self) -> Option<u64> {
        Some(self.rtl.bench.clock())
    }

    fn line_bytes(&self) -> u64 {
        u64::from(self.rtl.bench.config().sizes().axi_bytes)
    }
}
