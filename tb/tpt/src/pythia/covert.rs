// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! A covert channel: who sends registers a region, uses it and ends it again, or does nothing; who
//! receives measures its own accesses afterwards.
//!
//! The sender has all of the table of regions but one entry, so that each of its registrations has
//! the same index, and its keys the same field. Beside that channel stands a slow one: as many
//! registrations of one index as make the unit forget all that it knows of table pages.

use anyhow::Result;
use tpt_bench::rig::Spec;
use tpt_bench::rng::Rng;
use tpt_bench::CommandExtra;
use tpt_golden::mtt::Table;
use tpt_golden::types::{Access, CmdOp, Command, Key, Op, Request, LEVEL_INLINE};

use super::attack::{colliding, entry_group, entry_set, Found, Group, Line, Tree};
use super::rule::{Rule, Trial};
use super::stage::{read, Setup, Stage, Tenant, BYTES};
use super::{Plan, PythiaError};

/// Clocks in which a region is registered, used and ended.
const SLOT: u64 = 800;
/// Registrations of an index after which the unit sweeps it.
const SWEEP: u64 = 128;
/// Clocks of one of these.
const ROUND: u64 = 500;
/// So many trials of the fast channel are one of the slow one.
const SLOW: u64 = 100;
/// But no fewer than this.
const SLOW_LEAST: u64 = 24;
/// Pages of the sender's region: a table, but a small one.
const PAGES: u64 = 8;

/// How the sender sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    /// One registration per bit, and a use of it.
    Fast,
    /// So many that the index is swept.
    Slow,
}

struct Channel {
    stage: Stage,
    group: Group,
    leaf: Line,
    spec: Spec,
    table: Table,
    /// Field of all keys of the sender.
    field: u32,
    fastest: u32,
    pace: Pace,
}

impl Channel {
    fn new(setup: Setup, pace: Pace) -> Result<Self> {
        let sizes = setup.config.sizes();
        let ways = sizes.mpt_ways as usize;
        // More than it takes to find as many keys as are wanted here.
        let table_size = (4 * (sizes.mpt_ways + 1) * sizes.mpt_sets).next_power_of_two();
        let mut stage = Stage::new(&Setup {
            table: table_size,
            ..setup
        })?;
        let spec = stage.spec(Tenant::B, PAGES, 1, Access::NONE);
        let table = stage.rig.build_table(&spec);
        let first = stage.register_table(&spec, &table)?;
        let set = entry_set(first.rkey, sizes.mpt_sets);
        let keys = colliding(&mut stage, Tenant::A, set, ways + 1)?;
        let tree = Tree::new(&stage);
        let region = stage.register(Tenant::A, tree.pages(1), 3)?;
        let leaf = tree.line(read(Tenant::A, &region, 0), 0);
        // Index 0 is not used. What is left but for one entry the sender takes.
        let taken = stage.rig.bench.golden.regions().count();
        for _ in taken..table_size as usize - 1 {
            stage.register(Tenant::B, 1, LEVEL_INLINE)?;
        }
        let mut channel = Self {
            stage,
            group: entry_group(&keys, ways),
            leaf,
            spec,
            table,
            field: first.rkey.field(),
            fastest: u32::MAX,
            pace,
        };
        channel.end(first.lkey)?;
        Ok(channel)
    }

    fn end(&mut self, lkey: Key) -> Result<()> {
        let command = Command {
            id: self.stage.rig.id(),
            op: CmdOp::DeregMr.code(),
            key: lkey,
            pd: self.spec.pd,
            ..Command::default()
        };
        self.stage.command(command, CommandExtra::default())?;
        Ok(())
    }

    /// Registers the region. All its keys have the same field, or nothing could be agreed on.
    fn begin(&mut self) -> Result<(Key, Key)> {
        let made = self.stage.register_table(&self.spec, &self.table)?;
        if made.rkey.field() != self.field {
            return Err(PythiaError::OtherIndex.into());
        }
        Ok((made.lkey, made.rkey))
    }

    fn send(&mut self) -> Result<()> {
        if self.pace == Pace::Slow {
            for _ in 0..SWEEP {
                let (lkey, _) = self.begin()?;
                self.end(lkey)?;
            }
            return Ok(());
        }
        let (lkey, rkey) = self.begin()?;
        let request = Request {
            op: Op::RemoteRead.code(),
            key: rkey,
            va: self.spec.start,
            len: BYTES,
            pd: self.spec.pd,
            stream: Tenant::B.stream(),
            ..Request::default()
        };
        self.stage.latency(request)?;
        self.end(lkey)
    }

    fn trial(&mut self, secret: bool) -> Result<Trial> {
        self.group.prime(&mut self.stage, &mut self.fastest)?;
        self.stage.latency(self.leaf.step())?;
        // A bit that is sent slowly takes long; nobody would wait so long for the other one.
        let clocks = match (self.pace, secret) {
            (Pace::Fast, _) => SLOT,
            (Pace::Slow, false) => ROUND,
            (Pace::Slow, true) => SWEEP * ROUND,
        };
        let end = self.stage.rig.bench.clock() + clocks;
        if secret {
            self.send()?;
        }
        self.stage.wait_until(end, clocks)?;
        let mut seen = vec![self.stage.latency(self.leaf.step())?];
        self.group.probe(&mut self.stage, &mut seen)?;
        Ok(Trial { secret, seen })
    }
}

fn run(setup: Setup, pace: Pace, plan: &Plan, how: &str) -> Result<Found> {
    let mut channel = Channel::new(setup, pace)?;
    let mut secrets = Rng::new(plan.seed ^ 0x636f_7665_7274);
    let mut trials = |count: u64| -> Result<Vec<Trial>> {
        let count = match pace {
            Pace::Fast => count,
            Pace::Slow => count.div_ceil(SLOW).max(SLOW_LEAST),
        };
        let mut one = || channel.trial(secrets.chance(1, 2));
        (0..count).map(|_| one()).collect()
    };
    let known = trials(plan.training)?;
    let score = Rule::learn(&known).score(&trials(plan.trials)?);
    Ok(Found {
        score,
        how: how.into(),
        clocks: channel.stage.rig.bench.clock(),
    })
}

/// One registration per bit.
pub fn fast(setup: Setup, plan: &Plan) -> Result<Found> {
    let how = "a registration and a use per bit; set from the field of the sender's R_Key";
    run(setup, Pace::Fast, plan, how)
}

/// As many as a sweep takes.
pub fn slow(setup: Setup, plan: &Plan) -> Result<Found> {
    let how = "128 registrations of an index per bit, so that it is swept";
    run(setup, Pace::Slow, plan, how)
}
