// SPDX-License-Identifier: Apache-2.0
//! Random sequences of everything that hosts, drivers, clients and memories may do, judged by the
//! golden reference. A failing sequence is shrunk to a short one and told with its seed.
//!
//! A [`Run`] is a number of sequences in one configuration; an [`Episode`] is one sequence of which
//! everything, the configuration too, follows from one number.

mod steps;
mod world;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use proptest::prelude::*;
use proptest::test_runner::{
    Config as ProptestConfig, RngAlgorithm, TestError, TestRng, TestRunner,
};
use serde::{Deserialize, Serialize};
use tpt_golden::types::{CmdOp, Status, Syndrome};
use tpt_verilated::Config;

use crate::rng::Rng;
use crate::BenchError;
use steps::Step;
use world::World;

/// Milliseconds after which a failing sequence is told as far as it is shrunk.
const SHRINK_MS: u32 = 60_000;

/// What sequences are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    /// Everything, about as often as it is worth.
    All,
    /// Much paging: regions whose pages come and go under traffic.
    Paging,
    /// Much traffic: short accesses without a break.
    Traffic,
}

/// Sequences to run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Configuration of the unit.
    pub config: Config,
    /// What the sequences are made of.
    pub mix: Mix,
    /// Commands go through the queue in memory, not on the direct channel.
    pub through_queue: bool,
    /// Sequences.
    pub cases: u32,
    /// Steps of each: fewer than this, at least 1.
    pub length: usize,
    /// Start of all random choices.
    pub seed: u64,
    /// Makes runs of one seed different.
    pub salt: u64,
    /// Attempts to shrink a failing sequence.
    pub shrink: u32,
    /// For tests of those who run sequences: each one fails at its end.
    pub plant: bool,
}

/// What was done and seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Sequences.
    pub cases: u64,
    /// Requests answered, every beat of them compared.
    pub requests: u64,
    /// Segments with an address.
    pub segments: u64,
    /// Commands completed, each compared.
    pub commands: u64,
    /// Page faults told to the host.
    pub faults: u64,
    /// Requests that were held for a page fault and came through.
    pub resumed: u64,
    /// Clocks.
    pub clocks: u64,
    /// Requests answered, by the code of their syndrome.
    pub by_syndrome: BTreeMap<u8, u64>,
    /// Commands completed, by the code of the operation, then of the status.
    pub by_end: BTreeMap<u8, BTreeMap<u8, u64>>,
}

impl Tally {
    /// Adds another one.
    pub fn add(&mut self, other: &Tally) {
        self.cases += other.cases;
        self.requests += other.requests;
        self.segments += other.segments;
        self.commands += other.commands;
        self.faults += other.faults;
        self.resumed += other.resumed;
        self.clocks += other.clocks;
        for (code, count) in &other.by_syndrome {
            *self.by_syndrome.entry(*code).or_default() += count;
        }
        for (op, ends) in &other.by_end {
            let mine = self.by_end.entry(*op).or_default();
            for (status, count) in ends {
                *mine.entry(*status).or_default() += count;
            }
        }
    }

    /// Requests answered with a syndrome.
    pub fn syndrome(&self, syndrome: Syndrome) -> u64 {
        self.by_syndrome.get(&syndrome.code()).copied().unwrap_or(0)
    }

    /// Commands completed with a status.
    pub fn ended(&self, op: CmdOp, status: Status) -> u64 {
        let ends = self.by_end.get(&op.code());
        let count = ends.and_then(|ends| ends.get(&status.code()));
        count.copied().unwrap_or(0)
    }

    /// Requests and commands.
    pub fn operations(&self) -> u64 {
        self.requests + self.commands
    }
}

/// A sequence that failed, shrunk as far as it went.
#[derive(Clone, Debug, thiserror::Error)]
pub struct Failure {
    /// Seed of the run.
    pub seed: u64,
    /// Seed of the bench in the failing sequence.
    pub bench_seed: u64,
    /// The steps, one text each.
    pub steps: Vec<String>,
    /// What was wrong.
    pub reason: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        writeln!(f, "seed {}, bench seed {}:", self.seed, self.bench_seed)?;
        for step in &self.steps {
            writeln!(f, "    {step}")?;
        }
        f.write_str(&self.reason)
    }
}

/// Waves of a sequence: file, and the clock to begin with.
pub type Waves = (PathBuf, u64);

type Sequence = (u64, Vec<Step>);

impl Run {
    fn strategy(&self) -> impl Strategy<Value = Sequence> {
        let step = match self.mix {
            Mix::All => steps::step().boxed(),
            Mix::Paging => steps::paging_step().boxed(),
            Mix::Traffic => steps::traffic_step().boxed(),
        };
        (
            any::<u64>(),
            prop::collection::vec(step, 1..self.length.max(2)),
        )
    }

    fn runner(&self) -> TestRunner {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&self.seed.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.salt.to_le_bytes());
        let settings = ProptestConfig {
            cases: self.cases,
            failure_persistence: None,
            max_shrink_iters: self.shrink,
            max_shrink_time: SHRINK_MS,
            ..ProptestConfig::default()
        };
        TestRunner::new_with_rng(settings, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
    }

    /// Runs a sequence.
    fn once(&self, sequence: &Sequence, waves: Option<Waves>) -> Result<Tally, BenchError> {
        let (seed, steps) = sequence;
        let mut world = World::new(self.config, *seed, self.through_queue, waves)?;
        // Half of them begin with one good command of each.
        let prelude = match seed % 2 {
            0 => steps::prelude(),
            _ => Vec::new(),
        };
        for step in prelude.iter().chain(steps) {
            world.execute(step)?;
            world.ring()?;
        }
        world.finish()?;
        if self.plant {
            return Err(world.wrong("planted".into()));
        }
        let bench = &world.rig.bench;
        let answered = bench.stats.by_syndrome.iter().enumerate();
        let by_syndrome: BTreeMap<u8, u64> = answered
            .filter(|(_, count)| **count > 0)
            .map(|(code, count)| (code as u8, *count))
            .collect();
        let mut by_end = BTreeMap::<u8, BTreeMap<u8, u64>>::new();
        for ((op, status), count) in &world.seen {
            by_end
                .entry(*op)
                .or_default()
                .insert(status.code(), u64::from(*count));
        }
        Ok(Tally {
            cases: 1,
            requests: by_syndrome.values().sum(),
            segments: bench.stats.segments,
            commands: bench.stats.by_command.iter().sum(),
            faults: bench.faults_told(),
            resumed: bench.faults_resumed(),
            clocks: bench.clock(),
            by_syndrome,
            by_end,
        })
    }

    /// Runs all sequences; the first one that fails is shrunk.
    pub fn run(&self) -> Result<Tally, Box<Failure>> {
        let tally = RefCell::new(Tally::default());
        let result = self.runner().run(&self.strategy(), |sequence| {
            match self.once(&sequence, None) {
                Ok(more) => tally.borrow_mut().add(&more),
                Err(error) => {
                    return Err(TestCaseError::fail(error.to_string()));
                }
            }
            Ok(())
        });
        match result {
            Ok(()) => Ok(tally.into_inner()),
            Err(TestError::Fail(reason, (bench_seed, steps))) => Err(Box::new(Failure {
                seed: self.seed,
                bench_seed,
                steps: steps.iter().map(|step| format!("{step:?}")).collect(),
                reason: reason.to_string(),
            })),
            Err(TestError::Abort(reason)) => Err(Box::new(Failure {
                seed: self.seed,
                bench_seed: 0,
                steps: Vec::new(),
                reason: reason.to_string(),
            })),
        }
    }

    /// Runs the first sequence once more as it is, unshrunk, and records waves.
    pub fn record(&self, waves: Option<Waves>) -> Result<Tally, BenchError> {
        let first = RefCell::new(None);
        let one = Run {
            cases: 1,
            ..self.clone()
        };
        let made = one.runner().run(&one.strategy(), |sequence| {
            *first.borrow_mut() = Some(sequence);
            Ok(())
        });
        let Some(sequence) = first.into_inner() else {
            return Err(BenchError::Mismatch {
                clock: 0,
                text: format!("no sequence could be made: {made:?}"),
            });
        };
        self.once(&sequence, waves)
    }
}

/// One sequence of which everything follows from one number.
#[derive(Clone, Debug)]
pub struct Episode {
    /// As a run of one sequence.
    pub run: Run,
}

impl Episode {
    /// The episode with this number; its configuration is one of `configs`, which must not be empty.
    pub fn new(number: u64, configs: &[Config]) -> Self {
        let mut rng = Rng::new(number ^ 0x5eed_0fa1_1000_1000);
        let pick = rng.below(configs.len().max(1) as u64) as usize;
        let config = configs.get(pick).copied().unwrap_or(Config::Small);
        let mix = match rng.below(4) {
            0 => Mix::Paging,
            1 => Mix::All,
            _ => Mix::Traffic,
        };
        Self {
            run: Run {
                config,
                mix,
                through_queue: rng.below(3) == 0,
                cases: 1,
                length: [30, 120, 300][rng.below(3) as usize],
                seed: number,
                salt: 0x50a4,
                shrink: 400,
                plant: false,
            },
        }
    }
}
