// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! The chance of a blind guess: the formula, and requests with guessed keys to the simulated unit.
//!
//! Of the 2^32 keys, one is the R_Key of each live region or window: its index field is the image
//! of {remote, index} under a permutation of 24 bits, and its tag is one of 2^8. So of n live
//! R_Keys
//!
//! * a random key is one of them with chance n / 2^32 (and an index field leads to a live entry, in
//!   one of its two roles, with chance 2 n / 2^24);
//! * the right index field with a random tag opens with chance 1 / 2^8, or 1 / 255 if the tag of
//!   another generation of the same index is known, because tags of one index do not repeat;
//! * in plain mode, where index fields are {role, index}, a random index of a table of T entries
//!   with a random tag opens with chance n / (T - 1) / 2^8.
//!
//! The attacker here is as good as one can be who has no key: it knows the protection domain, the
//! addresses and the rights. The unit answers, and the golden reference judges every answer.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use tpt_bench::axi::{AxiConfig, Sample};
use tpt_bench::rig::{Rig, Spec};
use tpt_bench::rng::Rng;
use tpt_bench::{BenchError, BenchOptions, Clocks, Issue, UnitConfig};
use tpt_golden::mtt::Shape;
use tpt_golden::types::{Key, Op, Request, Role, Syndrome, LEVEL_INLINE};
use tpt_golden::unit::Region;
use tpt_verilated::Config;

use super::perm::secrets;
use super::report::{Cell, Claim, Report, Table};
use super::stats::Binomial;
use super::CONFIDENCE;
use crate::bench::scene::Scene;
use crate::verbs::syndrome_name;

/// log2 of the bytes of a region.
const LOG_REGION: u8 = 30;
/// Its protection domain.
const PD: u32 = 1;
/// Guesses per second of an attacker that gets one request per clock through, at 100 MHz.
const PER_SECOND: f64 = 1e8;

/// What the attacker knows, and does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attack {
    /// Nothing: a random number.
    RandomKey,
    /// That the unit is in plain mode, and the size of the table: a random index and tag.
    PlainIndex,
    /// The index field of a live R_Key: a random tag.
    Field,
    /// The same, and the tag of the generation before: another tag.
    FieldAndOldTag,
    /// The L_Key of a live region.
    LKey,
    /// The R_Key that the index had in the generation before.
    OldRKey,
    /// A live R_Key, but the queue pair is in another protection domain.
    OtherPd,
}

impl Attack {
    /// What it is.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RandomKey => "random 32-bit key",
            Self::PlainIndex => "plain mode, random index and tag",
            Self::Field => "index field known, random tag",
            Self::FieldAndOldTag => "and the tag of the generation before",
            Self::LKey => "L_Key of the region",
            Self::OldRKey => "R_Key of the generation before",
            Self::OtherPd => "live R_Key, other protection domain",
        }
    }

    /// The chance that a guess opens, with `live` R_Keys in a table of `entries`.
    pub fn chance(self, live: u32, entries: u32) -> f64 {
        let live = f64::from(live);
        match self {
            Self::RandomKey => live / 2f64.powi(32),
            Self::PlainIndex => live / f64::from(entries - 1) / 256.0,
            Self::Field => 1.0 / 256.0,
            Self::FieldAndOldTag => 1.0 / 255.0,
            Self::LKey | Self::OldRKey | Self::OtherPd => 0.0,
        }
    }

    /// The formula of it.
    const fn formula(self) -> &'static str {
        match self {
            Self::RandomKey => "n / 2^32",
            Self::PlainIndex => "n / (T - 1) / 2^8",
            Self::Field => "1 / 2^8",
            Self::FieldAndOldTag => "1 / 255",
            Self::LKey | Self::OldRKey | Self::OtherPd => "0",
        }
    }
}

/// One row of the experiment.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// The attack.
    pub attack: Attack,
    /// log2 of the live regions; the table has twice as many entries.
    pub log_live: u32,
    /// Registered by command; otherwise their entries are written into the table.
    pub by_command: bool,
    /// log2 of the guesses.
    pub log_guesses: u32,
}

const fn trial(attack: Attack, log_live: u32, by_command: bool, log_guesses: u32) -> Trial {
    Trial {
        attack,
        log_live,
        by_command,
        log_guesses,
    }
}

/// The rows. Rows of the same unit follow each other.
pub fn trials(quick: bool) -> Vec<Trial> {
    use Attack::*;
    if quick {
        return vec![
            trial(RandomKey, 8, true, 14),
            trial(RandomKey, 14, false, 17),
            trial(Field, 8, true, 15),
            trial(FieldAndOldTag, 8, false, 15),
            trial(LKey, 8, true, 11),
            trial(OldRKey, 8, true, 11),
            trial(OtherPd, 8, true, 11),
            trial(PlainIndex, 10, false, 15),
        ];
    }
    vec![
        trial(RandomKey, 8, true, 18),
        trial(RandomKey, 10, false, 18),
        trial(RandomKey, 12, false, 19),
        trial(RandomKey, 14, false, 21),
        trial(RandomKey, 16, false, 21),
        trial(Field, 8, true, 18),
        trial(Field, 14, false, 18),
        trial(FieldAndOldTag, 8, true, 18),
        trial(LKey, 8, true, 14),
        trial(OldRKey, 8, true, 14),
        trial(OtherPd, 8, true, 14),
        trial(PlainIndex, 8, true, 18),
        trial(PlainIndex, 14, false, 18),
    ]
}

/// A unit with live regions.
struct Victim {
    scene: Scene,
    entries: u32,
    regions: Vec<Arc<Region>>,
    /// Regions whose entries were written into the table, by index.
    planted: HashMap<u32, Arc<Region>>,
}

impl Victim {
    fn new(config: Config, trial: &Trial, refusal_time: u16, rng: &mut Rng) -> Result<Self> {
        let live = 1u32 << trial.log_live;
        let entries = 2 * live;
        let (perm_secret, tag_secret) = secrets(rng);
        let options = BenchOptions {
            config,
            seed: rng.next_u64(),
            axi: AxiConfig {
                read_latency: Clocks::fixed(1),
                write_latency: Clocks::fixed(1),
                sample: Sample::Early,
                ..AxiConfig::default()
            },
            ..BenchOptions::default()
        };
        let unit = UnitConfig {
            mpt_size: entries,
            perm_secret,
            tag_secret,
            plain: trial.attack == Attack::PlainIndex,
            refusal_time,
            ..UnitConfig::default()
        };
        let rig = Rig::new(options, &unit)?;
        let mut scene = Scene::over(rig, rng.next_u64(), entries);
        let mut spec = Spec::new(0, 1 << LOG_REGION, LOG_REGION, 1 << LOG_REGION);
        spec.pd = PD;
        spec.shape = Shape::pages_of(LOG_REGION);
        let spec = spec.level(LEVEL_INLINE);
        let mut victim = if trial.by_command {
            for _ in 0..live {
                scene.register(spec.clone())?;
            }
            let regions = scene.rig.bench.golden.regions().cloned().collect();
            Self {
                scene,
                entries,
                regions,
                planted: HashMap::new(),
            }
        } else {
            let table = scene.rig.build_table(&spec);
            let regions: Vec<_> = (0..live).map(|_| scene.plant(&spec, &table)).collect();
            let by_index = regions.iter().map(|region| (region.index, region.clone()));
            Self {
                planted: by_index.collect(),
                scene,
                entries,
                regions,
            }
        };
        victim.scene.rig.wait_idle()?;
        Ok(victim)
    }

    /// The next guess.
    fn guess(&self, attack: Attack, rng: &mut Rng) -> Request {
        let keys = self.scene.rig.bench.golden.keys();
        let region = &self.regions[rng.below(self.regions.len() as u64) as usize];
        let (index, field) = (region.index, region.rkey.field());
        let before = region.count().registrations().wrapping_sub(1);
        let old_tag = keys.tag(Role::Remote, index, before);
        let random_tag = rng.next_u64() as u8;
        let key = match attack {
            Attack::RandomKey => Key(rng.next_u64() as u32),
            Attack::PlainIndex => {
                let index = 1 + rng.below(u64::from(self.entries) - 1) as u32;
                Key::new(1 << 23 | index, random_tag)
            }
            Attack::Field => Key::new(field, random_tag),
            Attack::FieldAndOldTag => {
                let other = 1 + rng.below(255) as u8;
                Key::new(field, old_tag.wrapping_add(other))
            }
            Attack::LKey => region.lkey,
            Attack::OldRKey => Key::new(field, old_tag),
            Attack::OtherPd => region.rkey,
        };
        Request {
            op: Op::RemoteRead.code(),
            key,
            va: rng.below((1 << LOG_REGION) - 8),
            len: 8,
            pd: if attack == Attack::OtherPd {
                PD + 1
            } else {
                PD
            },
            qpn: 0x77,
            stream: rng.below(16) as u8,
            ..Request::default()
        }
    }

    /// Sends guesses; the answers by syndrome.
    fn attack(
        &mut self,
        attack: Attack,
        guesses: u64,
        rng: &mut Rng,
    ) -> Result<Vec<u64>, BenchError> {
        let before = self.scene.rig.bench.stats.by_syndrome;
        let most = self.scene.rig.bench.config().sizes().contexts as usize + 4;
        let mut sent = 0;
        loop {
            while sent < guesses && self.scene.rig.bench.requests_pending(0) < most {
                let request = self.guess(attack, rng);
                let (_, index) = self.scene.rig.bench.golden.keys().decode(request.key);
                let issue = Issue {
                    region: self.planted.get(&index).cloned(),
                    ..Issue::default()
                };
                self.scene.rig.bench.issue_with(0, request, issue);
                sent += 1;
            }
            if self.scene.rig.bench.requests_pending(0) == 0 {
                break;
            }
            self.scene.rig.bench.step(&mut self.scene.rig.host.mem)?;
            while self.scene.rig.bench.poll().is_some() {}
        }
        self.scene.rig.wait_idle()?;
        let after = self.scene.rig.bench.stats.by_syndrome;
        let counted = after.iter().zip(before);
        Ok(counted.map(|(after, before)| after - before).collect())
    }
}

/// One thing that was counted, beside what the formula says.
#[derive(Clone, Debug, PartialEq)]
pub struct Counted {
    /// What.
    pub what: String,
    /// The formula.
    pub formula: &'static str,
    /// Live R_Keys.
    pub live: u32,
    /// Entries of the table.
    pub entries: u32,
    /// What is to be expected.
    pub expected: Binomial,
    /// What was counted.
    pub hits: u64,
}

impl Counted {
    /// Inside the interval of the formula.
    pub fn is_good(&self) -> bool {
        let (least, most) = self.expected.interval(CONFIDENCE);
        (least..=most).contains(&self.hits)
    }

    fn row(&self) -> Vec<Cell> {
        let (least, most) = self.expected.interval(CONFIDENCE);
        vec![
            self.what.clone().into(),
            u64::from(self.live).into(),
            u64::from(self.entries).into(),
            self.formula.into(),
            Cell::chance(self.expected.p),
            self.expected.trials.into(),
            Cell::real(self.expected.mean(), 1),
            format!("{least}..{most}").into(),
            self.hits.into(),
        ]
    }
}

/// Runs the rows through the simulated unit.
pub fn measure(config: Config, trials: &[Trial], rng: &mut Rng) -> Result<Report> {
    let refusals = refusals(config, rng)?;
    let mut all = Vec::new();
    let mut unit: Option<((u32, bool, bool), Victim)> = None;
    for trial in trials {
        let plain = trial.attack == Attack::PlainIndex;
        let same = (trial.log_live, trial.by_command, plain);
        if unit.as_ref().map_or(true, |(known, _)| *known != same) {
            // Only one at a time.
            drop(unit.take());
            let victim = Victim::new(config, trial, 0, rng).context("a unit with live regions")?;
            unit = Some((same, victim));
        }
        let Some((_, victim)) = &mut unit else {
            continue;
        };
        let guesses = 1 << trial.log_guesses;
        let counts = victim
            .attack(trial.attack, guesses, rng)
            .with_context(|| format!("guesses: {}", trial.attack.name()))?;
        all.extend(counted(trial, victim.entries, guesses, &counts));
    }
    let mut report = report(&all);
    report.add(refusals);
    Ok(report)
}

/// Clocks from a read to its answer where refusals are timed.
const FAR: u32 = 100;
/// REFUSAL_TIME there: more than any look-up takes.
const REFUSAL_TIME: u16 = 400;

/// Clocks of two refusals of each kind.
struct Refusals {
    rows: Vec<(&'static str, [u64; 2], Syndrome)>,
}

impl Refusals {
    fn measure(config: Config, refusal_time: u16, rng: &mut Rng) -> Result<Self> {
        let trial = trial(Attack::Field, 4, true, 0);
        let mut victim = Victim::new(config, &trial, refusal_time, rng)?;
        let axi = AxiConfig {
            read_latency: Clocks::fixed(FAR),
            ..AxiConfig::default()
        };
        victim.scene.rig.bench.axi.configure(axi);
        let keys = victim.scene.rig.bench.golden.keys().clone();
        let wrong = |region: &Region| Key(region.rkey.0 ^ 1);
        let of = |index: u32| Key::new(keys.field(Role::Remote, index), 0x55);
        let (idle, used) = (victim.regions[0].clone(), victim.regions[1].clone());
        let mut rows = Vec::new();
        for (what, key, by_owner) in [
            ("an index beyond the table", of(victim.entries), false),
            ("a free entry", of(victim.entries - 1), false),
            (
                "a live entry that nobody uses, wrong tag",
                wrong(&idle),
                false,
            ),
            ("a live entry in use, wrong tag", wrong(&used), true),
        ] {
            if by_owner {
                victim.ask(used.rkey)?;
            }
            let first = victim.ask(key)?;
            let second = victim.ask(key)?;
            rows.push((what, [first.0, second.0], second.1));
        }
        Ok(Self { rows })
    }
}

impl Victim {
    /// One request to the idle unit: the clocks to its answer, and the answer.
    fn ask(&mut self, key: Key) -> Result<(u64, Syndrome), BenchError> {
        let request = Request {
            op: Op::RemoteRead.code(),
            key,
            len: 8,
            pd: PD,
            qpn: 0x77,
            ..Request::default()
        };
        let rig = &mut self.scene.rig;
        let outcome = rig.bench.access(&mut rig.host.mem, 0, request)?;
        rig.wait_idle()?;
        rig.run(64)?;
        Ok((outcome.finished - outcome.accepted, outcome.syndrome))
    }
}

/// How long the unit takes to refuse, by what the key leads to.
fn refusals(config: Config, rng: &mut Rng) -> Result<Report> {
    let at_once = Refusals::measure(config, 0, rng)?;
    let timed = match config.sizes().refusal_time {
        true => Some(Refusals::measure(config, REFUSAL_TIME, rng)?),
        false => None,
    };
    let mut table = Table::new(
        "How long a refusal takes",
        &format!(
            "Clocks from the request to its answer, idle unit, {FAR} clocks from a read of memory \
             to its answer; for two requests with the key, without REFUSAL_TIME and with \
             {REFUSAL_TIME}."
        ),
        &[
            "the key leads to",
            "first",
            "second",
            "timed, first",
            "timed, second",
            "answer",
        ],
    );
    for (n, (what, clocks, answer)) in at_once.rows.iter().enumerate() {
        let later = timed.as_ref().map(|timed| timed.rows[n].1);
        let later = later.map_or([Cell::none(), Cell::none()], |clocks| {
            clocks.map(Cell::from)
        });
        let mut row = vec![Cell::from(*what)];
        row.extend(clocks.map(Cell::from));
        row.extend(later);
        row.push(syndrome_name(*answer).into());
        table.rows.push(row);
    }
    let traceless = at_once
        .rows
        .iter()
        .all(|(_, clocks, _)| clocks[0] == clocks[1]);
    let mut claims = vec![Claim::new(
        "a refused guess leaves nothing in the cache by which the next one is faster",
        if traceless {
            "no difference"
        } else {
            "the second is faster"
        },
        traceless,
    )];
    if let Some(timed) = timed {
        let all = timed.rows.iter().flat_map(|(_, clocks, _)| *clocks);
        let (least, most) = all.fold((u64::MAX, 0), |(least, most), clocks| {
            (least.min(clocks), most.max(clocks))
        });
        claims.push(Claim::new(
            "with REFUSAL_TIME every refusal takes the same time",
            format!("{least} to {most} clocks"),
            least == most,
        ));
    }
    Ok(Report {
        tables: vec![table],
        claims,
    })
}

/// What the answers to the guesses of a row say.
fn counted(trial: &Trial, entries: u32, guesses: u64, counts: &[u64]) -> Vec<Counted> {
    let live = 1u32 << trial.log_live;
    let of = |syndrome: Syndrome| {
        let at = usize::from(syndrome.code());
        counts.get(at).copied().unwrap_or_default()
    };
    let opened = of(Syndrome::Ok);
    let expected = |p| Binomial { trials: guesses, p };
    let one = |what: &str, formula, p, hits| Counted {
        what: what.to_owned(),
        formula,
        live,
        entries,
        expected: expected(p),
        hits,
    };
    let attack = trial.attack;
    let mut all = vec![one(
        attack.name(),
        attack.formula(),
        attack.chance(live, entries),
        opened,
    )];
    if attack == Attack::RandomKey {
        let fields = 2f64.powi(24);
        all.push(one(
            "- its field leads to a live entry",
            "2 n / 2^24",
            2.0 * f64::from(live) / fields,
            opened + of(Syndrome::KeyTag),
        ));
        all.push(one(
            "- its field leads into the table",
            "2 T / 2^24",
            2.0 * f64::from(entries) / fields,
            guesses - of(Syndrome::KeyIndex),
        ));
    }
    all
}

fn report(all: &[Counted]) -> Report {
    let mut table = Table::new(
        "Guessed keys, answered by the simulated unit",
        "n live R_Keys in a table of T entries; range: 99.99 % of all outcomes of the binomial \
         distribution of the formula; hits: counted.",
        &[
            "guess", "n", "T", "formula", "chance", "guesses", "expected", "range", "hits",
        ],
    );
    table.rows.extend(all.iter().map(Counted::row));
    let outside: Vec<&Counted> = all.iter().filter(|row| !row.is_good()).collect();
    let claims = vec![
        Claim::new(
            "guesses hit as often as the formula says (99.99 %)",
            match outside.first() {
                None => format!("{} of {} rows", all.len(), all.len()),
                Some(row) => format!(
                    "{} rows do not, such as \"{}\" with {} live R_Keys: {} hits",
                    outside.len(),
                    row.what,
                    row.live,
                    row.hits
                ),
            },
            outside.is_empty() && !all.is_empty(),
        ),
        Claim::new(
            "some guesses hit, so that the formula was put to a test",
            format!("{} hits", all.iter().map(|row| row.hits).sum::<u64>()),
            all.iter().any(|row| row.hits > 0),
        ),
    ];
    Report {
        tables: vec![table, times()],
        claims,
    }
}

/// Requests to the first hit of an attacker with a clock, on average, if all live entries are in
/// use and nothing hides the time of a refusal. A request to a random index field tells whether its
/// entry is live, with chance 2 n / 2^24 each. Every other one is that of the L_Key: 256 tags in
/// vain, and then 128 for that of the R_Key.
fn with_a_clock(live: u32) -> f64 {
    2f64.powi(24) / f64::from(live) + 256.0 + 128.0
}

/// What the formula means for somebody who guesses as fast as the unit answers.
fn times() -> Table {
    let mut table = Table::new(
        "Guessing online, by the formula",
        "Nothing measured: mean number of requests to the first hit, and seconds at 100 million \
         requests a second that nobody stops; the same for an attacker that tells live entries in \
         use by the time of their refusals, without REFUSAL_TIME; and the chance of a hit before a \
         stream with so many bad keys is blocked.",
        &[
            "live R_Keys",
            "chance of a guess",
            "requests",
            "s",
            "requests, clock",
            "s, clock",
            "hit in 16",
            "hit in 255",
        ],
    );
    let mut row = |name: String, p: f64, clock: f64| {
        let within = |n: f64| Cell::chance(-(n * (-p).ln_1p()).exp_m1());
        table.rows.push(vec![
            name.into(),
            Cell::chance(p),
            Cell::real(1.0 / p, 0),
            Cell::chance(1.0 / p / PER_SECOND),
            Cell::real(clock, 0),
            Cell::chance(clock / PER_SECOND),
            within(16.0),
            within(255.0),
        ]);
    };
    for log_live in [0, 4, 8, 12, 16, 20] {
        let live = 1u32 << log_live;
        let p = Attack::RandomKey.chance(live, 1 << 23);
        row(format!("{live}"), p, with_a_clock(live));
    }
    // One after the other, and not at random: half of the tags, and one.
    row("field known".into(), Attack::Field.chance(1, 2), 128.5);
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Planted lie: a tag of 7 bits is guessed twice as often.
    #[test]
    fn other_chances_than_those_of_the_formula_are_told() {
        let trial = trial(Attack::Field, 8, false, 16);
        let hits = |n: u64| {
            let mut counts = vec![0; 20];
            counts[0] = n;
            counts[usize::from(Syndrome::KeyTag.code())] = (1 << 16) - n;
            counted(&trial, 512, 1 << 16, &counts)
        };
        assert!(report(&hits(256)).is_good());
        assert!(!report(&hits(512)).is_good());
        assert!(!report(&hits(128)).is_good());
        assert!(!report(&[]).is_good());
        // What must never open.
        let never = super::trial(Attack::OldRKey, 8, false, 10);
        let mut counts = vec![0; 20];
        assert!(counted(&never, 512, 1 << 10, &counts)[0].is_good());
        counts[0] = 1;
        assert!(!counted(&never, 512, 1 << 10, &counts)[0].is_good());
    }

    #[test]
    fn the_formula() {
        assert_eq!(Attack::RandomKey.chance(1 << 14, 1 << 15), 2f64.powi(-18));
        assert_eq!(Attack::PlainIndex.chance(256, 513), 1.0 / 512.0);
        let rows = times().rows.len();
        assert_eq!(rows, 7);
    }
}
