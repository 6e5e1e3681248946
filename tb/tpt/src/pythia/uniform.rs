// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! How long the refusal of a peer's request takes, by rule, and whether what it needs is cached.
//!
//! Without a time of refusals the latency tells which rule has failed and whether the entry was
//! cached, although the answer on the wire does not. With it all refusals of the idle unit must take
//! the same number of clocks, and accepted requests what they took before.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::Result;
use serde_json::{json, Value};
use tpt_bench::rig::Mr;
use tpt_bench::Issue;
use tpt_golden::codec::MPT_BYTES;
use tpt_golden::types::{flag, Access, Key, Op, Request, State, Status, Syndrome, LEVEL_INLINE};
use tpt_golden::unit::{Conditions, Region};

use super::stage::{latency, read, Setup, Stage, Tenant, PAGE, REMOTE};
use super::{Plan, PythiaError};
use crate::verbs::syndrome_name;

/// Entries of the table of regions.
const TABLE: u32 = 1024;
/// Times that each case is measured, quickly and not.
const SAMPLES: (u32, u32) = (6, 32);
/// What the time of refusals has beyond the slowest refusal, clocks.
const BEYOND: u32 = 16;
/// Rules 2 to 11.
const RULES: [Syndrome; 10] = [
    Syndrome::KeyIndex,
    Syndrome::KeyState,
    Syndrome::KeyTag,
    Syndrome::Pd,
    Syndrome::Qp,
    Syndrome::Rights,
    Syndrome::Wrap,
    Syndrome::Bounds,
    Syndrome::Align,
    Syndrome::Parent,
];
/// Accepted requests that are compared, in the order of [`accepted`].
const ACCEPTED: [&str; 6] = [
    "one page, nothing cached",
    "one page, all cached",
    "eight pages",
    "no bytes",
    "atomic",
    "local",
];

/// Latencies of one case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spread(Vec<u32>);

impl Spread {
    fn sorted(mut clocks: Vec<u32>) -> Self {
        clocks.sort_unstable();
        Self(clocks)
    }

    fn least(&self) -> u32 {
        self.0.first().copied().unwrap_or_default()
    }

    fn median(&self) -> u32 {
        self.0.get(self.0.len() / 2).copied().unwrap_or_default()
    }

    fn most(&self) -> u32 {
        self.0.last().copied().unwrap_or_default()
    }

    fn text(&self) -> String {
        format!("{}/{}/{}", self.least(), self.median(), self.most())
    }

    fn json(&self) -> Value {
        json!({"least": self.least(), "median": self.median(), "most": self.most(),
            "samples": self.0.len()})
    }
}

/// What was measured with one setting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Side {
    /// By rule: of the first request, for which nothing is cached, and of the same one again when
    /// everything is that can be.
    rules: Vec<(Syndrome, [Spread; 2])>,
    /// By case of [`ACCEPTED`].
    accepted: Vec<Spread>,
}

impl Side {
    fn refusals(&self) -> impl Iterator<Item = &Spread> {
        self.rules.iter().flat_map(|(_, spreads)| spreads)
    }

    fn slowest(&self) -> u32 {
        self.refusals().map(Spread::most).max().unwrap_or_default()
    }

    /// Clocks, and how many refusals of all rules took so long.
    fn histogram(&self) -> BTreeMap<u32, usize> {
        let mut bins = BTreeMap::new();
        for clocks in self.refusals().flat_map(|spread| &spread.0) {
            *bins.entry(*clocks).or_default() += 1;
        }
        bins
    }
}

/// Both settings.
#[derive(Clone, Debug)]
pub struct Report {
    off: Side,
    on: Side,
    time: u32,
}

impl Report {
    /// With the time set, all refusals take as long as each other.
    pub fn is_uniform(&self) -> bool {
        let first = self.on.refusals().next().map(Spread::least);
        let same = |spread: &Spread| Some(spread.least()) == first && Some(spread.most()) == first;
        self.on.refusals().count() > 0 && self.on.refusals().all(same)
    }

    /// Accepted requests are not slower for it.
    pub fn is_free(&self) -> bool {
        self.off.accepted == self.on.accepted
    }

    /// Refusals of a setting.
    fn refused(&self) -> usize {
        self.off.refusals().map(|spread| spread.0.len()).sum()
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut text = format!(
            "\nlatency of refusals to a peer, idle unit, clocks from acceptance to last beat: \
             least/median/most\ncold: nothing of it is cached; warm: all that can be; \
             REFUSAL_TIME {} where on\n\n{:<12} {:>14} {:>14} {:>14} {:>14}\n",
            self.time, "rule", "off, cold", "off, warm", "on, cold", "on, warm"
        );
        for ((rule, off), (_, on)) in self.off.rules.iter().zip(&self.on.rules) {
            let _ = writeln!(
                text,
                "{:<12} {:>14} {:>14} {:>14} {:>14}",
                syndrome_name(*rule),
                off[0].text(),
                off[1].text(),
                on[0].text(),
                on[1].text()
            );
        }
        let _ = writeln!(
            text,
            "\nhistogram of all refusals\n{:>6} {:>8} {:>8}",
            "clocks", "off", "on"
        );
        let (off, on) = (self.off.histogram(), self.on.histogram());
        let all: BTreeSet<u32> = off.keys().chain(on.keys()).copied().collect();
        for clocks in all {
            let of = |bins: &BTreeMap<u32, usize>| bins.get(&clocks).copied().unwrap_or(0);
            let bar = "#".repeat((of(&off).max(of(&on)) * 40).div_ceil(self.refused().max(1)));
            let _ = writeln!(text, "{clocks:>6} {:>8} {:>8}  {bar}", of(&off), of(&on));
        }
        let _ = writeln!(text, "\n{:<26} {:>14} {:>14}", "accepted", "off", "on");
        let sides = self.off.accepted.iter().zip(&self.on.accepted);
        for (what, (off, on)) in ACCEPTED.iter().zip(sides) {
            let _ = writeln!(text, "{what:<26} {:>14} {:>14}", off.text(), on.text());
        }
        let verdict = |good: bool, yes: &'static str, no: &'static str| if good { yes } else { no };
        let _ = writeln!(
            text,
            "\nrefusals with it: {}; accepted requests: {}",
            verdict(
                self.is_uniform(),
                "one latency for all",
                "NOT all the same latency"
            ),
            verdict(self.is_free(), "as without", "NOT as without")
        );
        text
    }

    /// For machines.
    pub fn json(&self) -> Value {
        let side = |side: &Side| {
            let rules: Vec<Value> = side
                .rules
                .iter()
                .map(|(rule, [cold, warm])| {
                    json!({"rule": syndrome_name(*rule), "cold": cold.json(),
                        "warm": warm.json()})
                })
                .collect();
            let accepted = ACCEPTED.iter().zip(&side.accepted);
            let accepted: Vec<Value> = accepted
                .map(|(what, spread)| json!({"what": what, "clocks": spread.json()}))
                .collect();
            let histogram: Vec<Value> = side
                .histogram()
                .iter()
                .map(|(clocks, refusals)| json!({"clocks": clocks, "refusals": refusals}))
                .collect();
            json!({"rules": rules, "accepted": accepted, "histogram": histogram})
        };
        json!({
            "refusal_time": self.time,
            "off": side(&self.off),
            "on": side(&self.on),
            "uniform": self.is_uniform(),
            "accepted_unchanged": self.is_free(),
        })
    }
}

/// A request that is to be refused.
struct Case {
    request: Request,
    /// What the reference must know for it.
    conditions: Conditions,
    /// A request that is accepted, and leaves in the cache what the refused one needs.
    good: Option<Request>,
}

impl Case {
    /// A good request that is changed.
    fn of(good: Request, request: Request) -> Self {
        Self {
            request,
            conditions: Conditions::default(),
            good: Some(good),
        }
    }
}

/// A window of type 2 to a region of its own.
fn window(stage: &mut Stage) -> Result<(Mr, Request)> {
    let mr = stage.register(Tenant::A, 1, LEVEL_INLINE)?;
    let mut window = stage.rig.alloc_mw(mr.spec.pd, flag::MW2)?;
    let range = mr.spec.start..mr.spec.start + mr.spec.length;
    let command = stage
        .rig
        .bind_command(&window, &mr, Access::REMOTE_READ, range);
    match stage.rig.bind(&mut window, command)? {
        Status::Ok => {}
        status => return Err(PythiaError::command(&command, status)),
    }
    let request = Request {
        stream: Tenant::A.stream(),
        ..window.request(Op::RemoteRead, mr.spec.start, 8)
    };
    Ok((mr, request))
}

/// The n-th request that this rule refuses, with entries of its own.
fn refused(stage: &mut Stage, rule: Syndrome, n: u32) -> Result<Case> {
    let key = |stage: &Stage, index: u32| Key::new(stage.remote_field(index), n as u8);
    if rule == Syndrome::Qp {
        let (_, good) = window(stage)?;
        let qpn = good.qpn + 1;
        return Ok(Case::of(good, Request { qpn, ..good }));
    }
    if rule == Syndrome::Parent {
        // The parent is of another generation than the one that was bound. No command leads there;
        // memory has changed behind the unit, and the entry is a good one for all that it can see.
        let (mr, request) = window(stage)?;
        if let Some(region) = stage.rig.bench.golden.current(mr.index) {
            let newer = Region {
                gen: region.gen.wrapping_add(1),
                ..Region::clone(region)
            };
            let bytes: [u8; MPT_BYTES] = newer.entry(State::Valid).encode();
            let at = stage.rig.bench.entry_address(mr.index);
            stage.rig.host.mem.write(at, &bytes);
        }
        let conditions = Conditions {
            parent_gone: true,
            ..Conditions::default()
        };
        return Ok(Case {
            request,
            conditions,
            good: None,
        });
    }
    let without = match rule {
        Syndrome::Rights => Access::REMOTE_READ,
        _ => Access::NONE,
    };
    let spec = stage.spec(Tenant::A, 1, LEVEL_INLINE, without);
    let mr = stage.register_spec(spec)?;
    let good = Request {
        len: 8,
        ..read(Tenant::A, &mr, 0)
    };
    let request = match rule {
        Syndrome::KeyIndex => Request {
            key: key(stage, TABLE + n),
            ..good
        },
        // The last entries are never given.
        Syndrome::KeyState => Request {
            key: key(stage, TABLE - 1 - n),
            ..good
        },
        Syndrome::KeyTag => Request {
            key: Key::new(good.key.field(), good.key.tag() ^ 1),
            ..good
        },
        Syndrome::Pd => Request {
            pd: good.pd + 1,
            ..good
        },
        Syndrome::Wrap => Request { va: !0 - 6, ..good },
        Syndrome::Bounds => Request {
            va: good.va + mr.spec.length,
            ..good
        },
        Syndrome::Align => Request {
            op: Op::RemoteAtomic.code(),
            va: good.va + 1,
            ..good
        },
        _ => good,
    };
    let case = Case::of(good, request);
    Ok(match rule {
        // There is nothing that could be cached.
        Syndrome::KeyIndex | Syndrome::KeyState => Case { good: None, ..case },
        // The good one is one that writes.
        Syndrome::Rights => Case {
            good: Some(Request {
                op: Op::RemoteWrite.code(),
                ..good
            }),
            ..case
        },
        _ => case,
    })
}

/// Latencies of accepted requests to a region of its own, in the order of [`ACCEPTED`].
fn accepted(stage: &mut Stage) -> Result<[u32; ACCEPTED.len()]> {
    let mr = stage.register(Tenant::A, 16, 1)?;
    let one = read(Tenant::A, &mr, 0);
    let pages = Request {
        len: 8 * PAGE as u32,
        ..one
    };
    let empty = Request { len: 0, ..one };
    let atomic = Request {
        op: Op::RemoteAtomic.code(),
        len: 8,
        ..one
    };
    let local = Request {
        op: Op::LocalRead.code(),
        key: mr.lkey,
        ..one
    };
    let mut clocks = [0; ACCEPTED.len()];
    for (clocks, request) in clocks
        .iter_mut()
        .zip([one, one, pages, empty, atomic, local])
    {
        *clocks = expect(stage, request, Conditions::default(), Syndrome::Ok)?;
    }
    Ok(clocks)
}

/// Sends a request to the idle unit, and wants this end of it.
fn expect(
    stage: &mut Stage,
    request: Request,
    conditions: Conditions,
    syndrome: Syndrome,
) -> Result<u32> {
    stage.rig.wait_idle()?;
    let issue = Issue {
        conditions,
        ..Issue::default()
    };
    let outcome = stage.access_with(REMOTE, request, issue)?;
    if outcome.syndrome != syndrome {
        return Err(PythiaError::Answer {
            expected: syndrome,
            got: outcome.syndrome,
        }
        .into());
    }
    Ok(latency(&outcome))
}

fn measure(setup: Setup, samples: u32) -> Result<Side> {
    let mut stage = Stage::new(&Setup {
        table: TABLE,
        ..setup
    })?;
    let mut side = Side::default();
    for rule in RULES {
        let (mut cold, mut warm) = (Vec::new(), Vec::new());
        for n in 0..samples {
            let case = refused(&mut stage, rule, n)?;
            let Case {
                request,
                conditions,
                good,
            } = case;
            cold.push(expect(&mut stage, request, conditions, rule)?);
            if let Some(good) = good {
                expect(&mut stage, good, Conditions::default(), Syndrome::Ok)?;
            }
            warm.push(expect(&mut stage, request, conditions, rule)?);
        }
        let spreads = [Spread::sorted(cold), Spread::sorted(warm)];
        side.rules.push((rule, spreads));
    }
    let mut all = vec![Vec::new(); ACCEPTED.len()];
    for _ in 0..samples {
        for (all, clocks) in all.iter_mut().zip(accepted(&mut stage)?) {
            all.push(clocks);
        }
    }
    side.accepted = all.into_iter().map(Spread::sorted).collect();
    Ok(side)
}

/// Measures without a time of refusals, then with one that is longer than the slowest refusal.
pub fn run(setup: Setup, plan: &Plan) -> Result<Report> {
    let samples = if plan.quick { SAMPLES.0 } else { SAMPLES.1 };
    let off = measure(setup, samples)?;
    let time = off.slowest() + BEYOND;
    let on = measure(
        Setup {
            refusal_time: time,
            ..setup
        },
        samples,
    )?;
    Ok(Report { off, on, time })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(refusals: [u32; 3], accepted: u32) -> Side {
        let spread = |clocks: &[u32]| Spread::sorted(clocks.to_vec());
        Side {
            rules: vec![(
                Syndrome::Pd,
                [spread(&refusals[..2]), spread(&refusals[2..])],
            )],
            accepted: vec![spread(&[accepted])],
        }
    }

    #[test]
    fn a_single_clock_is_told() {
        let report = |on, accepted| Report {
            off: side([68, 68, 21], 17),
            on: side(on, accepted),
            time: 84,
        };
        let good = report([86; 3], 17);
        assert!(good.is_uniform() && good.is_free());
        assert!(good.text().contains("one latency for all"));
        assert_eq!(
            good.off.histogram().into_iter().collect::<Vec<_>>(),
            [(21, 1), (68, 2)]
        );
        assert!(good.text().contains("    68        2        0  #"));
        assert!(good.text().contains("    86        0        3  #"));
        for lie in [[86, 86, 87], [85, 86, 86], [86, 87, 86]] {
            let lie = report(lie, 17);
            assert!(!lie.is_uniform());
            assert!(lie.text().contains("NOT all the same latency"));
            assert_eq!(lie.json()["uniform"], false);
        }
        let slow = report([86; 3], 18);
        assert!(!slow.is_free());
        assert!(slow.text().contains("accepted requests: NOT as without"));
        let nothing = Report {
            off: Side::default(),
            on: Side::default(),
            time: 0,
        };
        assert!(!nothing.is_uniform());
    }
}
