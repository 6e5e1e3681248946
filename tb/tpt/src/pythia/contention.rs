// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! What tenants share whether there are partitions or not.
//!
//! While the victim is at work the attacker waits for it: they share the pipeline, the memory port
//! and the fence. This is measured and printed, not judged.
//!
//! An arbiter that remembers whom it has served last tells that to whoever asks it twice at the same
//! time. Those of the unit forget when nobody asks, so that attack must see nothing.

use anyhow::Result;
use tpt_bench::rig::Mr;
use tpt_bench::rng::Rng;
use tpt_bench::{Clocks, CommandExtra, DonePolicy};
use tpt_golden::types::{Access, CmdOp, Command, Op, Request, LEVEL_FLAT, LEVEL_INLINE};

use super::attack::Found;
use super::rule::{Rule, Trial};
use super::stage::{latency, read, Setup, Stage, Tenant, LOCAL, REMOTE};
use super::Plan;

/// Requests of the victim, as fast as the unit takes them; every second one reads memory.
const BURST: u64 = 64;
/// Accesses of the attacker meanwhile; every second one reads memory.
const LOOKS: u64 = 6;
/// Clocks of a trial.
const SLOT: u64 = 1200;
/// Clocks for which the victim keeps a segment.
const KEPT: u32 = 400;

/// Learns and guesses, with trials of this kind.
fn judge(
    plan: &Plan,
    how: &str,
    stage: &mut Stage,
    mut trial: impl FnMut(&mut Stage, bool) -> Result<Vec<u32>>,
) -> Result<Found> {
    let mut secrets = Rng::new(plan.seed ^ 0x7368_6172_6564);
    let mut trials = |count: u64| -> Result<Vec<Trial>> {
        let mut one = || {
            let secret = secrets.chance(1, 2);
            let seen = trial(stage, secret)?;
            Ok(Trial { secret, seen })
        };
        (0..count).map(|_| one()).collect()
    };
    let known = trials(plan.training)?;
    let score = Rule::learn(&known).score(&trials(plan.trials)?);
    Ok(Found {
        score,
        how: how.into(),
        clocks: stage.rig.bench.clock(),
    })
}

/// A local read of a tenant from a page of its region on.
fn read_local(tenant: Tenant, mr: &Mr, page: u64) -> Request {
    Request {
        op: Op::LocalRead.code(),
        key: mr.lkey,
        ..read(tenant, mr, page)
    }
}

/// The pipeline and the memory port: the victim reads much, or nothing.
pub fn port(setup: Setup, plan: &Plan) -> Result<Found> {
    let mut stage = Stage::new(&Setup { table: 64, ..setup })?;
    // Lines that are gone when it is their turn again.
    let sizes = stage.sizes();
    let lines = 2 * u64::from(sizes.mtt_ways) * u64::from(sizes.mtt_sets);
    let log_line = stage.log_line();
    let mine = stage.register(Tenant::A, lines << log_line, LEVEL_FLAT)?;
    let theirs = stage.register(Tenant::B, lines << log_line, LEVEL_FLAT)?;
    let (mut mine_at, mut theirs_at) = (0, 0);
    let how = "the victim sends 64 requests on the other client meanwhile, half of them misses";
    judge(plan, how, &mut stage, |stage, secret| {
        let end = stage.rig.bench.clock() + SLOT;
        let burst = if secret { BURST } else { 0 };
        for _ in 0..burst {
            theirs_at += 1;
            let line = if theirs_at % 2 == 0 { theirs_at / 2 } else { 0 };
            let request = Request {
                // Streams of their own, so that they do not wait for each other.
                stream: 8 + (theirs_at % 8) as u8,
                ..read_local(Tenant::B, &theirs, (line % lines) << log_line)
            };
            stage.rig.bench.issue(LOCAL, request);
        }
        let mut seen = Vec::new();
        for _ in 0..LOOKS {
            mine_at += 1;
            let line = if mine_at % 2 == 0 { mine_at / 2 } else { 0 };
            let page = (line % lines) << log_line;
            seen.push(stage.latency(read(Tenant::A, &mine, page))?);
        }
        stage.wait_until(end, SLOT)?;
        while stage.rig.bench.poll_client(LOCAL).is_some() {}
        Ok(seen)
    })
}

/// The arbiter of the clients: the victim has been served last, or has not. It must not tell.
pub fn arbiter(setup: Setup, plan: &Plan) -> Result<Found> {
    let mut stage = Stage::new(&Setup { table: 64, ..setup })?;
    let mine = stage.register(Tenant::A, 1, LEVEL_INLINE)?;
    let theirs = stage.register(Tenant::B, 1, LEVEL_INLINE)?;
    let how = "the attacker sends on both clients at once, after the victim's request";
    judge(plan, how, &mut stage, |stage, secret| {
        stage.access(LOCAL, read_local(Tenant::A, &mine, 0))?;
        let end = stage.rig.bench.clock() + SLOT / 8;
        if secret {
            stage.latency(read(Tenant::B, &theirs, 0))?;
        }
        stage.wait_until(end, SLOT / 8)?;
        stage
            .rig
            .bench
            .issue(LOCAL, read_local(Tenant::A, &mine, 0));
        stage.rig.bench.issue(REMOTE, read(Tenant::A, &mine, 0));
        stage.rig.wait_idle()?;
        let bench = &mut stage.rig.bench;
        let outcomes = [LOCAL, REMOTE].map(|client| bench.poll_client(client));
        Ok(outcomes.iter().flatten().map(latency).collect())
    })
}

/// The fence: the victim keeps a segment, or does not, while the attacker ends a region.
pub fn fence(setup: Setup, plan: &Plan) -> Result<Found> {
    let mut stage = Stage::new(&Setup { table: 64, ..setup })?;
    let theirs = stage.register(Tenant::B, 1, LEVEL_INLINE)?;
    let spec = stage.spec(Tenant::A, 1, LEVEL_INLINE, Access::NONE);
    let table = stage.rig.build_table(&spec);
    let kept = DonePolicy::After(Clocks::fixed(KEPT));
    stage.rig.bench.set_done_policy(LOCAL, kept);
    let how = "the attacker ends a region while the victim keeps a segment";
    judge(plan, how, &mut stage, |stage, secret| {
        let made = stage.register_table(&spec, &table)?;
        if secret {
            let request = read_local(Tenant::B, &theirs, 0);
            stage.access(LOCAL, request)?;
        }
        let command = Command {
            id: stage.rig.id(),
            op: CmdOp::DeregMr.code(),
            key: made.lkey,
            pd: spec.pd,
            ..Command::default()
        };
        let begin = stage.rig.bench.clock();
        stage.command(command, CommandExtra::default())?;
        let seen = vec![(stage.rig.bench.clock() - begin) as u32];
        stage.rig.wait_idle()?;
        Ok(seen)
    })
}
