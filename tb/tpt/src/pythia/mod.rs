// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! `tpt pythia`: what one tenant learns about another from the time that its own requests take.
//!
//! The attacks are those of "Pythia: Remote Oracles for the Masses" (Tsai, Payer and Zhang, USENIX
//! Security 2019) on the caches of this unit, and a covert channel by registrations. Each is run
//! with the tenants sharing the caches, where it has to work, or it would prove nothing; and with
//! partitions ([`tpt_golden::regs::ISOLATION`]), where it has to be no better than a coin.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{bail, Context as _, Result};
use serde_json::{json, Value};
use tpt_golden::types::{Command, Status, Syndrome};
use tpt_verilated::Config;

mod attack;
mod contention;
mod covert;
pub mod rule;
mod stage;
mod twins;
mod uniform;

use crate::cli::{Exit, Output};
use attack::Found;
use rule::{Score, FULL};
use stage::Setup;
use twins::Compared;

/// Trials with `--quick`.
pub const QUICK: u64 = 400;
/// Trials whose secrets the attacker knows: so many of those that are counted,
const TRAINING: u64 = 20;
/// but at least, and at most, so many.
const TRAINING_IN: (u64, u64) = (100, 500);

/// What cannot be measured, or does not go as it has to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PythiaError {
    /// The unit has no partitions.
    #[error("the unit is built without partitions; expected --isolation off")]
    NoPartitions,
    /// The unit has no time of refusals.
    #[error("the unit is built without a time of refusals")]
    NoRefusalTime,
    /// The time of refusals is too short for the slowest of them.
    #[error("refusals take up to {clocks} clocks; expected at most {most}, as REFUSAL_TIME holds")]
    LongRefusal {
        /// Clocks.
        clocks: u32,
        /// Largest value of the register.
        most: u32,
    },
    /// No more keys that collide.
    #[error("no {count} keys were found in set {set}")]
    Keys {
        /// Keys that were wanted.
        count: usize,
        /// Set of the cache.
        set: u32,
    },
    /// A tenant was not done at the end of its slot.
    #[error("a slot of {clocks} clocks was too short by {late}")]
    Slot {
        /// Clocks of the slot.
        clocks: u64,
        /// Clocks behind it.
        late: u64,
    },
    /// A registration got another index than the one that is free.
    #[error("a registration got an index that should not have been free")]
    OtherIndex,
    /// A command was refused.
    #[error("command {op} ended with {status:?}")]
    Command {
        /// Operation code.
        op: u8,
        /// How it ended.
        status: Status,
    },
    /// A request ended otherwise than it has to.
    #[error("a request ended with {got}, expected {expected}")]
    Answer {
        /// How it has to end.
        expected: Syndrome,
        /// How it ended.
        got: Syndrome,
    },
}

impl PythiaError {
    fn command(command: &Command, status: Status) -> anyhow::Error {
        let op = command.op;
        Self::Command { op, status }.into()
    }
}

/// What is attacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The cache of entries: which region.
    Mpt,
    /// The cache of table lines: which page.
    Mtt,
    /// The directory: which part of a table.
    Dir,
    /// The covert channels.
    Covert,
    /// Contention, which is only measured.
    Contention,
    /// Units that differ in what the victim does.
    Twins,
    /// Latency of refusals.
    Uniform,
}

impl Target {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Mpt,
        Self::Mtt,
        Self::Dir,
        Self::Covert,
        Self::Contention,
        Self::Twins,
        Self::Uniform,
    ];
    /// Names for [`Target::named`].
    pub const NAMES: [&'static str; 8] = [
        "all",
        "mpt",
        "mtt",
        "dir",
        "covert",
        "contention",
        "twins",
        "uniform",
    ];

    /// What a name of [`Target::NAMES`] stands for; nothing if it is none.
    pub fn named(name: &str) -> &'static [Self] {
        match Self::NAMES.iter().position(|known| *known == name) {
            Some(0) => &Self::ALL,
            Some(n) => &Self::ALL[n - 1..n],
            None => &[],
        }
    }
}

/// Options of `tpt pythia`.
#[derive(Clone, Debug)]
pub struct Options {
    /// Configuration of the unit.
    pub config: Config,
    /// Trials of each attack.
    pub trials: u64,
    /// Start of all random choices.
    pub seed: u64,
    /// Fewer samples of each refusal.
    pub quick: bool,
    /// Report for machines.
    pub json: Option<PathBuf>,
    /// What is attacked.
    pub targets: Vec<Target>,
    /// Without partitions, with them: which of the two.
    pub sides: Vec<bool>,
}

/// What every attack is told.
#[derive(Clone, Copy, Debug)]
struct Plan {
    seed: u64,
    trials: u64,
    training: u64,
    quick: bool,
}

/// What has to come of an attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    /// It works without partitions, and not with them.
    Closed,
    /// It does not work: what it would use is the same for all without partitions, too.
    Never,
    /// Nothing is closed: it is only measured.
    Open,
}

/// One attack, with or without partitions.
#[derive(Clone, Debug)]
struct Row {
    name: &'static str,
    isolated: bool,
    wanted: Wanted,
    found: Found,
}

impl Row {
    /// It has to be as good as a coin; it has to work; neither.
    fn coin(&self) -> Option<bool> {
        match self.wanted {
            Wanted::Closed => Some(self.isolated),
            Wanted::Never => Some(true),
            Wanted::Open => None,
        }
    }

    fn is_good(&self) -> bool {
        let score = &self.found.score;
        match self.coin() {
            Some(true) => score.is_coin(),
            Some(false) => score.works(),
            None => true,
        }
    }

    fn wanted(&self) -> String {
        match self.coin() {
            Some(true) => {
                let beside = 100.0 * Score::beside(self.found.score.trials);
                format!("50 +- {beside:.1} %")
            }
            Some(false) => ">= 75 %".into(),
            None => "-".into(),
        }
    }

    fn verdict(&self) -> &'static str {
        match (self.coin(), self.is_good()) {
            (None, _) => "measured",
            (_, true) => "pass",
            (Some(false), false) => "DOES NOT WORK",
            (Some(true), false) => "LEAKS",
        }
    }

    fn text(&self) -> String {
        let score = &self.found.score;
        let (low, high) = score.interval();
        format!(
            "{:<13} {:<4} {:>7} {:>8.2} % {:>6.2}..{:>6.2} {:>7} {:>12}  {:<13} {}\n",
            self.name,
            if self.isolated { "on" } else { "off" },
            score.trials,
            100.0 * score.accuracy(),
            100.0 * low,
            100.0 * high,
            score.kinds,
            self.wanted(),
            self.verdict(),
            self.found.how,
        )
    }

    fn json(&self) -> Value {
        let mut value = self.found.score.json();
        value["name"] = json!(self.name);
        value["isolated"] = json!(self.isolated);
        value["how"] = json!(self.found.how);
        value["clocks"] = json!(self.found.clocks);
        value["verdict"] = json!(self.verdict());
        value
    }
}

type Attempt = fn(Setup, &Plan) -> Result<Found>;

/// An attack: its name, what has to come of it, and what runs it.
type Attack = (&'static str, Wanted, Attempt);

/// The attacks of a target.
fn attacks(target: Target) -> Vec<Attack> {
    use Wanted::{Closed, Never, Open};
    match target {
        Target::Mpt => vec![
            ("mpt", Closed, attack::mpt),
            ("mpt-reload", Closed, attack::reload),
        ],
        Target::Mtt => vec![("mtt", Closed, attack::mtt)],
        Target::Dir => vec![("dir", Closed, attack::dir)],
        Target::Covert => vec![
            ("covert", Closed, covert::fast),
            ("covert-sweep", Never, covert::slow),
        ],
        Target::Contention => vec![
            ("port", Open, contention::port),
            ("arbiter", Never, contention::arbiter),
            ("fence", Open, contention::fence),
        ],
        Target::Twins | Target::Uniform => Vec::new(),
    }
}

/// Does something without and with partitions, at the same time.
fn both<T: Send>(
    name: &str,
    setup: Setup,
    sides: &[bool],
    run: impl Fn(Setup) -> Result<T> + Sync,
) -> Result<Vec<(bool, T)>> {
    let one = |isolated: bool| -> Result<(bool, T)> {
        let side = if isolated { "on" } else { "off" };
        let ended = run(Setup { isolated, ..setup });
        Ok((
            isolated,
            ended.with_context(|| format!("{name}, isolation {side}"))?,
        ))
    };
    std::thread::scope(|scope| {
        let one = &one;
        let threads: Vec<_> = sides
            .iter()
            .map(|side| scope.spawn(move || one(*side)))
            .collect();
        let ended = threads.into_iter().map(|thread| match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        ended.collect()
    })
}

/// `tpt pythia`.
pub fn pythia(options: &Options) -> Result<Exit> {
    let name = options.config.name();
    if !options.config.sizes().built {
        bail!("the configuration {name} is not part of this build");
    }
    let json = match &options.json {
        Some(path) => Some(Output::open("--json", path, &[])?),
        None => None,
    };
    let start = Instant::now();
    let plan = Plan {
        seed: options.seed,
        trials: options.trials,
        training: (options.trials / TRAINING).clamp(TRAINING_IN.0, TRAINING_IN.1),
        quick: options.quick,
    };
    let setup = Setup {
        config: options.config,
        seed: options.seed,
        table: 0,
        isolated: false,
        refusal_time: 0,
    };
    let say = |name: &str| {
        let seconds = start.elapsed().as_secs();
        let _ = writeln!(std::io::stderr(), "pythia: {name} ({seconds} s)");
    };
    let mut rows = Vec::new();
    let mut twins = Vec::new();
    let mut refusals = None;
    for target in &options.targets {
        for (name, wanted, attempt) in attacks(*target) {
            say(name);
            let found = both(name, setup, &options.sides, |setup| attempt(setup, &plan))?;
            rows.extend(found.into_iter().map(|(isolated, found)| Row {
                name,
                isolated,
                wanted,
                found,
            }));
        }
        if *target == Target::Twins {
            say("twins");
            let sides = both("twins", setup, &options.sides, |setup| {
                twins::run(setup, &plan)
            })?;
            let flat = |(on, two): (bool, [Compared; 2])| two.map(|twins| (on, twins));
            twins = sides.into_iter().flat_map(flat).collect();
        }
        if *target == Target::Uniform {
            say("uniform");
            let report = uniform::run(setup, &plan).context("latency of refusals")?;
            refusals = Some(report);
        }
    }
    let mut text = format!(
        "configuration {name}, seed {}, hidden keys, memory latency {} clocks, {} trials with known \
         secrets first\n",
        options.seed,
        stage::MEMORY,
        plan.training
    );
    if !rows.is_empty() {
        let _ = writeln!(
            text,
            "\n{:<13} {:<4} {:>7} {:>10} {:>14} {:>7} {:>12}  {:<13} how",
            "attack", "iso", "trials", "right", "95 %", "kinds", "wanted", "verdict"
        );
        rows.iter().for_each(|row| text += &row.text());
        text += "kinds: different observations; 1 means that there was nothing to see\n";
    }
    let mut failed = rows.iter().filter(|row| !row.is_good()).count();
    if !twins.is_empty() {
        text.push('\n');
    }
    for (isolated, compared) in &twins {
        text += &compared.text(*isolated);
        failed += usize::from(!compared.is_good(*isolated));
    }
    if let Some(report) = &refusals {
        text += &report.text();
        failed += usize::from(!report.is_uniform()) + usize::from(!report.is_free());
    }
    if rows.iter().any(|row| row.coin().is_some()) && options.trials < FULL {
        let _ = writeln!(
            text,
            "\nfewer than {FULL} trials: a small leak would not be seen"
        );
    }
    let _ = writeln!(text, "\npythia: {failed} failed");
    // A reader that has gone away is no error: the verdict is in the exit code.
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
    if let Some(file) = json {
        let value = json!({
            "config": name,
            "seed": options.seed,
            "memory_latency": stage::MEMORY,
            "training": plan.training,
            "attacks": rows.iter().map(Row::json).collect::<Vec<_>>(),
            "twins": twins.iter().map(|(on, twins)| twins.json(*on)).collect::<Vec<_>>(),
            "refusals": refusals.as_ref().map(uniform::Report::json),
            "failed": failed,
        });
        file.write(&format!("{}\n", serde_json::to_string_pretty(&value)?))?;
    }
    Ok(match failed {
        0 => Exit::Good,
        _ => Exit::Mismatch,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(isolated: bool, wanted: Wanted, right: u64) -> Row {
        Row {
            name: "x",
            isolated,
            wanted,
            found: Found {
                score: Score {
                    trials: 10_000,
                    right,
                    kinds: 2,
                },
                how: String::new(),
                clocks: 1,
            },
        }
    }

    #[test]
    fn verdicts() {
        assert_eq!(row(false, Wanted::Closed, 9_900).verdict(), "pass");
        assert_eq!(row(false, Wanted::Closed, 5_000).verdict(), "DOES NOT WORK");
        assert_eq!(row(true, Wanted::Closed, 5_100).verdict(), "pass");
        assert_eq!(row(true, Wanted::Closed, 5_300).verdict(), "LEAKS");
        // A rule that is always wrong tells as much as one that is always right.
        assert_eq!(row(true, Wanted::Closed, 4_700).verdict(), "LEAKS");
        assert_eq!(row(true, Wanted::Open, 9_900).verdict(), "measured");
        assert!(row(true, Wanted::Open, 9_900).is_good());
        for isolated in [false, true] {
            assert_eq!(row(isolated, Wanted::Never, 5_000).verdict(), "pass");
            assert_eq!(row(isolated, Wanted::Never, 9_900).verdict(), "LEAKS");
        }
    }

    #[test]
    fn names() {
        assert_eq!(Target::named("all"), Target::ALL);
        assert_eq!(Target::named("mtt"), [Target::Mtt]);
        assert_eq!(Target::named("uniform"), [Target::Uniform]);
        assert!(Target::named("nothing").is_empty());
    }
}
