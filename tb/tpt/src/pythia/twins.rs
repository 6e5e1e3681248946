// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Twins: two units that do the same, but for what one tenant does.
//!
//! No attacker has a twin of his unit; this says more than an attack can. Both units are made alike.
//! In one of them the victim does something in its slots: requests of every kind, good and refused,
//! short and long, many at once, through both clients, and registrations. In the other one it rests.
//! Then the attacker sends random requests of every kind, the same in both, one at a time; and
//! several at once, on several streams and both clients, which also asks the arbiters. With
//! partitions every latency has to be the same in both units, to the clock: then nothing that the
//! victim has done can be seen in it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::Result;
use serde_json::{json, Value};
use tpt_bench::rig::{Mr, Spec};
use tpt_bench::rng::Rng;
use tpt_bench::CommandExtra;
use tpt_golden::mtt::Table;
use tpt_golden::types::{
    flag, Access, CmdOp, Command, Key, Op, Request, Status, LEVEL_FLAT, LEVEL_INLINE,
};

use super::stage::{latency, read, Setup, Stage, Tenant, LOCAL, PAGE, REMOTE};
use super::{Plan, PythiaError};

/// Entries of the table of regions.
const TABLE: u32 = 256;
/// Clocks in which the victim is at work.
const SLOT: u64 = 3000;
/// So many trials of an attack are one slot.
const SLOW: u64 = 20;
/// But no fewer than this.
const LEAST: u64 = 50;
/// Requests of the victim in a slot, at most.
const ACTS: u64 = 8;
/// Requests of the attacker behind each.
const LOOKS: usize = 16;
/// Requests at once, where there are several.
const BURST: usize = 4;
/// Pages of the longest request.
const LONG: u64 = 40;

/// What a request is, its client, and itself.
type Drawn = (&'static str, usize, Request);

/// What a tenant has.
struct Holdings {
    tenant: Tenant,
    inline: Vec<Mr>,
    flat: Mr,
    tree: Mr,
    window: Request,
    /// To be registered and ended.
    spare: (Spec, Table),
}

impl Holdings {
    fn new(stage: &mut Stage, tenant: Tenant) -> Result<Self> {
        let inline = (0..48).map(|_| stage.register(tenant, 1, LEVEL_INLINE));
        let inline = inline.collect::<Result<Vec<_>>>()?;
        let flat = stage.register(tenant, 2048, LEVEL_FLAT)?;
        let tree = stage.register(tenant, 1 << 16, 3)?;
        let mut window = stage.rig.alloc_mw(tenant.pd(), flag::MW2)?;
        let range = flat.spec.start..flat.spec.start + flat.spec.length;
        let command = stage
            .rig
            .bind_command(&window, &flat, Access::REMOTE_READ, range);
        match stage.rig.bind(&mut window, command)? {
            Status::Ok => {}
            status => return Err(PythiaError::command(&command, status)),
        }
        let window = Request {
            stream: tenant.stream(),
            ..window.request(Op::RemoteRead, flat.spec.start, 64)
        };
        let spec = stage.spec(tenant, 8, 1, Access::NONE);
        let table = stage.rig.build_table(&spec);
        Ok(Self {
            tenant,
            inline,
            flat,
            tree,
            window,
            spare: (spec, table),
        })
    }

    /// A random request of this tenant: what it is, its client, and itself. It may use keys of the
    /// other one, in vain.
    fn draw(&self, other: &Self, rng: &mut Rng, bad_field: u32) -> Drawn {
        let inline = &self.inline[rng.below(self.inline.len() as u64) as usize];
        let one = read(self.tenant, inline, 0);
        let flat = read(self.tenant, &self.flat, rng.below(2048 - LONG));
        let tree = read(self.tenant, &self.tree, rng.below(1 << 16));
        let theirs = &other.inline[rng.below(other.inline.len() as u64) as usize];
        let (what, request) = match rng.below(16) {
            0..=3 => ("no table", one),
            4..=5 => ("flat table", flat),
            6..=8 => ("table of three levels", tree),
            9 => {
                let len = ((1 + rng.below(LONG)) * PAGE) as u32;
                ("many pages", Request { len, ..flat })
            }
            10 => ("window", self.window),
            11 => {
                let op = Op::RemoteAtomic.code();
                ("atomic", Request { op, len: 8, ..one })
            }
            12 => {
                let key = Key::new(one.key.field(), one.key.tag() ^ 1);
                ("wrong tag", Request { key, ..one })
            }
            13 => {
                let (key, va) = (theirs.rkey, theirs.spec.start);
                ("key of the other", Request { key, va, ..one })
            }
            14 => {
                let key = Key::new(bad_field, 1);
                ("no such index", Request { key, ..one })
            }
            _ => {
                let (op, key) = (Op::LocalRead.code(), self.flat.lkey);
                return ("local", LOCAL, Request { op, key, ..flat });
            }
        };
        (what, REMOTE, request)
    }
}

/// A unit and its tenants.
struct Twin {
    stage: Stage,
    a: Holdings,
    b: Holdings,
    bad_field: u32,
}

impl Twin {
    fn new(setup: Setup) -> Result<Self> {
        let mut stage = Stage::new(&Setup {
            table: TABLE,
            ..setup
        })?;
        let a = Holdings::new(&mut stage, Tenant::A)?;
        let b = Holdings::new(&mut stage, Tenant::B)?;
        let bad_field = stage.remote_field(TABLE + 1);
        Ok(Self {
            stage,
            a,
            b,
            bad_field,
        })
    }

    /// What the victim does in its slot.
    fn act(&mut self, rng: &mut Rng) -> Result<()> {
        if rng.chance(1, 4) {
            let (spec, table) = &self.b.spare;
            let made = self.stage.register_table(spec, table)?;
            let request = Request {
                key: made.rkey,
                va: spec.start,
                ..self.b.window
            };
            self.stage.latency(request)?;
            let command = Command {
                id: self.stage.rig.id(),
                op: CmdOp::DeregMr.code(),
                key: made.lkey,
                pd: spec.pd,
                ..Command::default()
            };
            self.stage.command(command, CommandExtra::default())?;
        }
        for _ in 0..=rng.below(ACTS) {
            let (_, client, mut request) = self.b.draw(&self.a, rng, self.bad_field);
            // On some streams of its own, so that several are inside at once.
            request.stream = 8 + rng.below(4) as u8;
            self.stage.rig.bench.issue(client, request);
        }
        self.stage.rig.wait_idle()?;
        while self.stage.rig.bench.poll().is_some() {}
        Ok(())
    }

    /// Sends these at once, and waits until nothing is under way.
    fn look(&mut self, requests: &[Drawn]) -> Result<Vec<u32>> {
        let bench = &mut self.stage.rig.bench;
        for (_, client, request) in requests {
            bench.issue(*client, *request);
        }
        self.stage.rig.wait_idle()?;
        let bench = &mut self.stage.rig.bench;
        let mut outcomes: Vec<_> = std::iter::from_fn(|| bench.poll()).collect();
        outcomes.sort_by_key(|outcome| outcome.ticket);
        Ok(outcomes.iter().map(latency).collect())
    }
}

/// One comparison of twins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// The attacker sends several requests at once.
    pub burst: bool,
    /// Slots.
    pub slots: u64,
    /// Latencies that were compared.
    pub latencies: u64,
    /// Of them not the same.
    pub different: u64,
    /// What these were of, and how much longer they took than where the victim rests: how often.
    pub kinds: BTreeMap<(&'static str, i64), u64>,
}

impl Compared {
    /// With partitions nothing may differ; without them something has to.
    pub fn is_good(&self, isolated: bool) -> bool {
        self.latencies > 0 && (self.different == 0) == isolated
    }

    /// For people.
    pub fn text(&self, isolated: bool) -> String {
        let mut text = format!(
            "twins, isolation {}, {}: after {} slots {} latencies of the attacker, {} not the same \
             as where the victim rests: {}\n",
            if isolated { "on" } else { "off" },
            if self.burst { "several at once" } else { "one at a time" },
            self.slots,
            self.latencies,
            self.different,
            match (self.is_good(isolated), isolated) {
                (true, _) => "pass",
                (false, true) => "LEAKS",
                (false, false) => "SHOWS NOTHING",
            }
        );
        if isolated {
            for ((what, clocks), count) in &self.kinds {
                let _ = writeln!(text, "  {what}: {clocks:+} clocks, {count} times");
            }
        }
        text
    }

    /// For machines.
    pub fn json(&self, isolated: bool) -> Value {
        json!({
            "isolated": isolated,
            "burst": self.burst,
            "slots": self.slots,
            "latencies": self.latencies,
            "different": self.different,
            "kinds": self.kinds.iter().map(|((what, clocks), count)| {
                json!({"request": what, "clocks": clocks, "times": count})
            }).collect::<Vec<_>>(),
            "good": self.is_good(isolated),
        })
    }
}

fn compare(setup: Setup, plan: &Plan, burst: bool) -> Result<Compared> {
    let mut busy = Twin::new(setup)?;
    let mut rests = Twin::new(setup)?;
    let mut acts = Rng::new(plan.seed ^ 0x6163_7473);
    let mut looks = Rng::new(plan.seed ^ 0x6c6f_6f6b);
    let at_once = if burst { BURST } else { 1 };
    let mut compared = Compared {
        burst,
        slots: plan.trials.div_ceil(SLOW).max(LEAST),
        ..Compared::default()
    };
    for _ in 0..compared.slots {
        let ends = [&busy, &rests].map(|twin| twin.stage.rig.bench.clock() + SLOT);
        busy.act(&mut acts)?;
        busy.stage.wait_until(ends[0], SLOT)?;
        rests.stage.wait_until(ends[1], SLOT)?;
        for _ in 0..LOOKS / at_once {
            let draw = |n: usize| {
                let mut drawn = busy.a.draw(&busy.b, &mut looks, busy.bad_field);
                // Streams of its own, so that none waits for another one.
                drawn.2.stream += 2 * (n as u8);
                drawn
            };
            let requests: Vec<Drawn> = (0..at_once).map(draw).collect();
            let (here, there) = (busy.look(&requests)?, rests.look(&requests)?);
            for ((what, ..), (here, there)) in requests.iter().zip(here.iter().zip(&there)) {
                compared.latencies += 1;
                if here != there {
                    compared.different += 1;
                    let more = i64::from(*here) - i64::from(*there);
                    *compared.kinds.entry((what, more)).or_default() += 1;
                }
            }
        }
    }
    Ok(compared)
}

/// Compares twins: with requests of the attacker one at a time, and with several at once.
pub fn run(setup: Setup, plan: &Plan) -> Result<[Compared; 2]> {
    Ok([compare(setup, plan, false)?, compare(setup, plan, true)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_difference_is_told() {
        let same = Compared {
            slots: 1,
            latencies: 16,
            ..Compared::default()
        };
        assert!(same.is_good(true) && !same.is_good(false));
        assert!(same.text(false).ends_with("SHOWS NOTHING\n"));
        let lie = Compared {
            different: 1,
            kinds: BTreeMap::from([(("window", -1), 1)]),
            burst: true,
            ..same
        };
        assert!(lie.is_good(false) && !lie.is_good(true));
        let text = lie.text(true);
        assert!(
            text.ends_with("LEAKS\n  window: -1 clocks, 1 times\n"),
            "{text}"
        );
        assert_eq!(lie.json(true)["good"], false);
        assert!(!Compared::default().is_good(true));
    }
}
