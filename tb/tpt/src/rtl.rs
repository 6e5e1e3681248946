// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! The simulated unit as a target. Its bench compares every beat and every completion with the
//! golden reference.

use std::collections::HashMap;
use std::ops::{Range, RangeInclusive};
use std::path::PathBuf;

use tpt_bench::axi::{AxiConfig, Fault, FaultOn};
use tpt_bench::{
    Bench, BenchError, BenchOptions, Clocks, CommandExtra, DonePolicy, Issue, Outcome, Pattern,
    Ticket, UnitConfig,
};
use tpt_golden::frames::Translation;
use tpt_golden::mem::PhysMem;
use tpt_golden::regs::counter;
use tpt_golden::types::{Command, Completion, Status, Syndrome};
use tpt_golden::unit::{Conditions, Golden};
use tpt_verilated::{Config, DutError};

use crate::machine::{secrets, Machine, Port, Posted, MPT_BASE};
use crate::target::{Access1, Answer, Counters, TargetError};

/// Clocks without any progress after which a run gives up, besides the time of memory accesses.
const PATIENCE: u64 = 200_000;
/// Memory accesses in sequence, with room to spare, that progress may have to wait for.
const ACCESSES: u64 = 16;

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
}

/// The Verilated unit behind a port.
pub struct BenchPort {
    bench: Bench,
    unit: UnitConfig,
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
            bench,
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
        &mut self.bench
    }

    fn free_id(&mut self) -> u16 {
        loop {
            self.next_id = self.next_id.wrapping_add(1);
            if !self.bench.is_id_in_use(self.next_id) {
                return self.next_id;
            }
        }
    }

    fn collect(&mut self, answers: &mut HashMap<Ticket, Answer>) {
        while let Some(outcome) = self.bench.poll() {
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
        let mut command = *command;
        if self.bench.is_id_in_use(command.id) {
            command.id = self.free_id();
        }
        let extra = CommandExtra { pages, release };
        let mut done = self.bench.command(mem, command, extra).map_err(error)?;
        while done.status == Status::Pending {
            done = self.bench.wait_completion(mem, command.id).map_err(error)?;
        }
        Ok(done)
    }

    fn allow(&mut self, range: Range<u64>) {
        self.bench.axi.allow(range);
    }

    fn access(
        &mut self,
        mem: &mut PhysMem,
        batch: &[Access1],
        posted: Vec<Posted>,
    ) -> Result<(Vec<Answer>, Vec<Completion>), TargetError> {
        let start = self.bench.clock();
        let accepted = self.bench.stats.requests;
        let tickets: Vec<Ticket> = batch
            .iter()
            .map(|a| {
                let issue = Issue {
                    keep_beats: true,
                    ..Issue::default()
                };
                self.bench
                    .issue_with(usize::from(a.client), a.request, issue)
            })
            .collect();
        let ids: Vec<u16> = posted.iter().map(|p| p.command.id).collect();
        for p in posted {
            let due = accepted + p.after.min(batch.len()) as u64;
            let mut patience = self.bench.options().patience;
            while self.bench.stats.requests < due {
                self.bench.step(mem).map_err(error)?;
                patience -= 1;
                if patience == 0 {
                    return Err(TargetError::Mismatch {
                        clock: Some(self.bench.clock()),
                        text: "requests are not accepted any more".into(),
                    });
                }
            }
            let extra = CommandExtra {
                release: p.release,
                ..CommandExtra::default()
            };
            self.bench.post(p.command, extra);
        }
        self.bench.wait_idle(mem).map_err(error)?;
        self.access_clocks += self.bench.clock() - start;

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

        let mut final_ones: HashMap<u16, Completion> = HashMap::new();
        while let Some(finished) = self.bench.poll_completion() {
            if finished.completion.status != Status::Pending {
                final_ones.insert(finished.completion.id, finished.completion);
            }
        }
        let completions = ids
            .iter()
            .map(|id| {
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
                .bench
                .access_with(mem, client, access.request, issue)
                .map_err(error)?;
            return Ok(answer(&outcome));
        }
        self.bench.set_done_policy(client, DonePolicy::Withheld);
        let first = self
            .bench
            .access_with(mem, client, access.request, issue.clone())
            .map_err(error)?;
        let second = Issue {
            tag: Some(first.request.tag),
            ..issue
        };
        let outcome = self
            .bench
            .access_with(mem, client, access.request, second)
            .map_err(error)?;
        self.bench.set_done_policy(client, DonePolicy::IMMEDIATE);
        self.bench.release_dones(client);
        self.bench.wait_idle(mem).map_err(error)?;
        Ok(answer(&outcome))
    }

    fn enable(&mut self, mem: &mut PhysMem) -> Result<(), TargetError> {
        let unit = self.unit.clone();
        self.bench.enable(mem, &unit).map_err(error)
    }

    fn golden(&mut self) -> &mut Golden {
        &mut self.bench.golden
    }

    fn bus_fault(&mut self, range: Range<u64>, on: bool) {
        if on {
            self.faults.push(range);
        } else {
            self.faults.retain(|r| *r != range);
        }
        self.bench.axi.clear_faults();
        for range in &self.faults {
            self.bench
                .axi
                .inject(Fault::always(range.clone(), FaultOn::Read));
        }
    }

    fn expect_damaged_entries(&mut self, on: bool) {
        self.bench.expect_mpt_bad = on;
    }

    fn counters(&mut self, mem: &mut PhysMem) -> Result<Option<Counters>, TargetError> {
        let now = self.bench.read_counters(mem).map_err(error)?;
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
        Some(self.bench.clock())
    }

    fn line_bytes(&self) -> u64 {
        u64::from(self.bench.config().sizes().axi_bytes)
    }
}
