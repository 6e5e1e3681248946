// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! `tpt faults`: corrupted memory, errors of the memory port, resets in flight, hostile hosts and
//! clients. Every experiment is a scene of its own with one fault, and is the same whenever it is run
//! again with the same seed and number.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::ops::Range;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Instant;

use anyhow::{anyhow, bail, Context as _, Result};
use serde_json::{json, Value};
use tpt_verilated::Config;

mod check;
pub mod class;
mod experiment;
pub mod judge;
mod world;

use crate::cli::{bar, Exit, Output};
use check::Capacities;
use class::Class;
pub use experiment::Report;
use judge::Severity;

/// Numbers of experiments end before this one.
pub const NUMBERS: u64 = 100_000_000;
/// Known findings that a class may have, beside one in so many of its faults.
const KNOWN: (u64, u64) = (3, 8);
/// Of the faults that redundancy must find, so many in ten must have an effect: what nothing has met
/// shows nothing.
const MET: u64 = 9;
/// Examples that the report keeps of each kind of outcome that needs a look.
const EXAMPLES: usize = 20;

/// What to do.
#[derive(Clone, Debug)]
pub struct Options {
    /// Configuration of the unit.
    pub config: Config,
    /// Number of faults.
    pub count: u64,
    /// Seed of the campaign.
    pub seed: u64,
    /// Only this experiment, with all that is known of it.
    pub only: Option<u64>,
    /// Report for machines.
    pub json: Option<PathBuf>,
    /// Experiments at a time.
    pub jobs: usize,
}

/// Outcomes of one class, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Experiments.
    pub faults: u64,
    /// Faults that something has met: not every answer is the one without the fault.
    pub effective: u64,
    /// The same answers as without the fault.
    pub harmless: u64,
    /// A syndrome or an error status, and no address that is not right.
    pub reported: u64,
    /// An address that is not the true one, inside memory of the host.
    pub inside: u64,
    /// And outside of it.
    pub outside: u64,
    /// A wait came to its end.
    pub hangs: u64,
    /// Something was lost.
    pub leaks: u64,
    /// What the rules forbid even under the fault.
    pub wrong: u64,
    /// Silent although redundancy must find it.
    pub missed: u64,
    /// Ended by an assertion that is known to fail; these are in no other outcome.
    pub known: u64,
    /// Reads outside of the MPT and of all tables.
    pub stray_reads: u64,
}

impl Tally {
    /// Counts an experiment.
    pub fn add(&mut self, report: &Report) {
        self.faults += 1;
        self.stray_reads += report.stray_reads;
        self.leaks += u64::from(report.leak.is_some());
        let ended = report.hang.is_some() || report.leak.is_some() || report.known.is_some();
        self.effective += u64::from(ended || report.severity > Severity::Harmless);
        self.hangs += u64::from(report.hang.is_some());
        self.known += u64::from(report.known.is_some());
        // What it would have answered is not known.
        let open = report.hang.is_some() || report.known.is_some();
        if open && report.severity < Severity::Wrong {
            return;
        }
        match report.severity {
            Severity::Harmless => self.harmless += 1,
            Severity::Reported => self.reported += 1,
            Severity::SilentInside => self.inside += 1,
            Severity::SilentOutside => self.outside += 1,
            Severity::Wrong => self.wrong += 1,
        }
        let silent = matches!(
            report.severity,
            Severity::SilentInside | Severity::SilentOutside
        );
        self.missed += u64::from(silent && report.must_be_found());
    }

    fn sum(self, other: &Tally) -> Tally {
        Tally {
            faults: self.faults + other.faults,
            effective: self.effective + other.effective,
            harmless: self.harmless + other.harmless,
            reported: self.reported + other.reported,
            inside: self.inside + other.inside,
            outside: self.outside + other.outside,
            hangs: self.hangs + other.hangs,
            leaks: self.leaks + other.leaks,
            wrong: self.wrong + other.wrong,
            missed: self.missed + other.missed,
            known: self.known + other.known,
            stray_reads: self.stray_reads + other.stray_reads,
        }
    }

    /// Nothing that the unit may not do.
    pub fn is_good(&self) -> bool {
        (self.hangs, self.leaks, self.wrong, self.missed) == (0, 0, 0, 0)
    }

    fn json(&self) -> Value {
        json!({
            "faults": self.faults,
            "effective": self.effective,
            "harmless": self.harmless,
            "reported": self.reported,
            "silent_inside": self.inside,
            "silent_outside": self.outside,
            "hangs": self.hangs,
            "leaks": self.leaks,
            "wrong": self.wrong,
            "silent_though_redundant": self.missed,
            "known": self.known,
            "stray_reads": self.stray_reads,
        })
    }
}

/// A campaign, as far as it has come.
#[derive(Debug)]
pub struct Campaign {
    rows: Vec<(Class, Tally)>,
    clocks: u64,
    /// Outcomes that the unit must not have.
    bad: Vec<String>,
    /// Silent ones that nothing can find.
    silent: Vec<String>,
    /// Known findings by their names, how often, and the command for the first.
    known: Vec<(&'static str, u64, String)>,
    again: String,
}

impl Campaign {
    /// Nothing counted. `config` and `seed` are for the commands that make an experiment again.
    pub fn new(config: &str, seed: u64) -> Self {
        Self {
            rows: Class::all()
                .into_iter()
                .map(|(class, _)| (class, Tally::default()))
                .collect(),
            clocks: 0,
            bad: Vec::new(),
            silent: Vec::new(),
            known: Vec::new(),
            again: format!("tpt faults --config {config} --seed {seed} --only"),
        }
    }

    /// Counts an experiment.
    pub fn add(&mut self, report: &Report) {
        self.clocks += report.clocks;
        if let Some((_, tally)) = self.rows.iter_mut().find(|(c, _)| *c == report.class) {
            tally.add(report);
        }
        if let Some(name) = report.known {
            match self.known.iter_mut().find(|(known, ..)| *known == name) {
                Some((_, count, _)) => *count += 1,
                None => {
                    let again = format!("{} {}", self.again, report.number);
                    self.known.push((name, 1, again));
                }
            }
        }
        let to = match (report.is_good(), report.severity) {
            (false, _) => &mut self.bad,
            (true, Severity::SilentInside | Severity::SilentOutside) => &mut self.silent,
            _ => return,
        };
        if to.len() < EXAMPLES {
            to.push(format!(
                "{}\n  {} {}",
                story(report),
                self.again,
                report.number
            ));
        }
    }

    /// Classes that redundancy must find, too many of whose faults had no effect: they show nothing.
    pub fn not_shown(&self) -> Vec<Class> {
        let corrupts = |class: Class| matches!(class, Class::Mpt(_) | Class::Mtt { .. });
        let rows = self.rows.iter();
        rows.filter(|(class, tally)| {
            corrupts(*class) && class.must_be_found() && tally.effective * 10 < tally.faults * MET
        })
        .map(|(class, _)| *class)
        .collect()
    }

    /// Classes with more known findings than there can be by chance.
    pub fn too_often_known(&self) -> Vec<Class> {
        let (some, part) = KNOWN;
        let rows = self.rows.iter();
        rows.filter(|(_, tally)| tally.known > some + tally.faults / part)
            .map(|(class, _)| *class)
            .collect()
    }

    /// Nothing that the unit may not do, and every class has shown what it must.
    pub fn is_good(&self) -> bool {
        self.total().is_good() && self.not_shown().is_empty() && self.too_often_known().is_empty()
    }

    /// The sum of all rows.
    pub fn total(&self) -> Tally {
        let sum = |sum: Tally, (_, tally): &(Class, Tally)| sum.sum(tally);
        self.rows.iter().fold(Tally::default(), sum)
    }

    /// The sums of the encodings, in the order in which they first come.
    fn per_encoding(&self) -> Vec<(&'static str, Tally)> {
        let mut sums: Vec<(&'static str, Tally)> = Vec::new();
        for (class, tally) in &self.rows {
            match sums.iter_mut().find(|(name, _)| *name == class.encoding()) {
                Some((_, sum)) => *sum = sum.sum(tally),
                None => sums.push((class.encoding(), *tally)),
            }
        }
        sums
    }

    /// For people: the table, what must not be, and the last line.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut line = |name: &str, encoding: &str, cells: [String; 9]| {
            let _ = write!(text, "{name:<32} {encoding:<8}");
            for cell in &cells {
                let _ = write!(text, " {cell:>9}");
            }
            text.push('\n');
        };
        let heads = [
            "faults",
            "harmless",
            "reported",
            "s.inside",
            "s.outside",
            "hangs",
            "leaks",
            "wrong",
            "known",
        ];
        line("class", "encoding", heads.map(str::to_owned));
        let cells = |t: &Tally| {
            [
                t.faults, t.harmless, t.reported, t.inside, t.outside, t.hangs, t.leaks, t.wrong,
                t.known,
            ]
            .map(|n| n.to_string())
        };
        for (class, tally) in self.rows.iter().filter(|(_, tally)| tally.faults > 0) {
            line(&class.to_string(), class.encoding(), cells(tally));
        }
        for (encoding, tally) in self.per_encoding() {
            line("all", encoding, cells(&tally));
        }
        let total = self.total();
        let _ = writeln!(
            text,
            "\ns.inside, s.outside: silent, an address that is not the true one, inside and outside \
             of the memory that the host has given to the unit.\n\
             reads outside of the MPT and of all tables: {}",
            total.stray_reads
        );
        for (name, count, again) in &self.known {
            let _ = writeln!(text, "known finding, {count} times: {name}\n  {again}");
        }
        for bad in &self.bad {
            let _ = writeln!(text, "\nmust not be: {bad}");
        }
        for class in self.not_shown() {
            let _ = writeln!(
                text,
                "\nmust not be: of the faults of \"{class}\" ({}) fewer than {MET} in ten had any \
                 effect",
                class.encoding()
            );
        }
        for class in self.too_often_known() {
            let _ = writeln!(
                text,
                "\nmust not be: more than {} and one in {} of \"{class}\" are known findings",
                KNOWN.0, KNOWN.1
            );
        }
        let _ = writeln!(
            text,
            "\nfaults: {} faults, {} hangs, {} leaks, {} wrong, {} reported, {} silent inside, {} \
             silent outside, {} silent though redundant, {} known",
            total.faults,
            total.hangs,
            total.leaks,
            total.wrong,
            total.reported,
            total.inside,
            total.outside,
            total.missed,
            total.known
        );
        text
    }

    /// For machines.
    pub fn json(&self) -> Value {
        let row = |(class, tally): &(Class, Tally)| {
            let mut row = tally.json();
            row["class"] = json!(class.to_string());
            row["encoding"] = json!(class.encoding());
            row["must_be_found"] = json!(class.must_be_found());
            row
        };
        let per_encoding: serde_json::Map<String, Value> = self
            .per_encoding()
            .iter()
            .map(|(name, tally)| ((*name).to_owned(), tally.json()))
            .collect();
        json!({
            "clocks": self.clocks,
            "rows": self.rows.iter().map(row).collect::<Vec<_>>(),
            "encodings": per_encoding,
            "total": self.total().json(),
            "good": self.is_good(),
            "not_shown": self.not_shown().iter().map(Class::to_string).collect::<Vec<_>>(),
            "bad": self.bad,
            "silent": self.silent,
            "known": self.known,
        })
    }
}

/// What is to be told of an experiment.
fn story(report: &Report) -> String {
    let mut text = format!(
        "experiment {}, {} ({}): {:?}",
        report.number,
        report.class,
        report.class.encoding(),
        report.severity
    );
    for (what, told) in [
        ("", &report.why),
        ("hang: ", &report.hang),
        ("leak: ", &report.leak),
    ] {
        if let Some(told) = told {
            let _ = write!(text, "\n  {what}{told}");
        }
    }
    text
}

/// Runs experiments, `jobs` at a time, and tells their reports in the order of their numbers: the same
/// report, however many threads there are.
fn conduct<E: Into<anyhow::Error>>(
    jobs: usize,
    numbers: Range<u64>,
    run: impl Fn(u64) -> std::result::Result<Report, E> + Sync,
    mut tell: impl FnMut(&Report),
) -> Result<()> {
    let next = AtomicU64::new(numbers.start);
    std::thread::scope(|scope| {
        let (sender, reports) = mpsc::channel();
        for _ in 0..jobs.max(1) {
            let (sender, next, end, run) = (sender.clone(), &next, numbers.end, &run);
            scope.spawn(move || loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= end {
                    return;
                }
                let report = match catch_unwind(AssertUnwindSafe(|| run(number))) {
                    Ok(report) => report.map_err(Into::into),
                    Err(panic) => Err(anyhow!(
                        "experiment {number} has panicked: {}",
                        message_of(panic.as_ref())
                    )),
                };
                if sender.send((number, report)).is_err() {
                    // Somebody else has met an error.
                    return;
                }
            });
        }
        drop(sender);
        let mut waiting = BTreeMap::new();
        let mut told = numbers.start;
        for (number, report) in reports {
            waiting.insert(number, report?);
            while let Some(report) = waiting.remove(&told) {
                tell(&report);
                told += 1;
            }
        }
        match told == numbers.end {
            true => Ok(()),
            false => bail!("experiment {told} has ended without a report"),
        }
    })
}

/// What a panic says.
fn message_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("it does not say why")
}

/// `tpt faults`.
pub fn faults(options: &Options) -> Result<Exit> {
    let name = options.config.name();
    if !options.config.sizes().built {
        bail!("the configuration {name} is not part of this build");
    }
    let numbers = match options.only {
        Some(number) => number..number.saturating_add(1),
        None => 0..options.count,
    };
    if numbers.is_empty() || numbers.end > NUMBERS {
        bail!(
            "experiments have numbers from 0 to {}, and there must be one",
            NUMBERS - 1
        );
    }
    let json = match &options.json {
        Some(path) => Some(Output::open("--json", path, &[])?),
        None => None,
    };
    let capacities = Capacities::of_new_unit(options.config, options.seed)
        .context("a new unit does not work as it must")?;
    let mut campaign = Campaign::new(name, options.seed);
    let start = Instant::now();
    let bar = bar(numbers.end - numbers.start, "faults");
    let run = |number| experiment::run(options.config, options.seed, number, &capacities);
    conduct(options.jobs, numbers, run, |report| {
        campaign.add(report);
        if options.only.is_some() {
            // If it cannot be written, the exit code has to do.
            let _ = writeln!(std::io::stderr(), "{}", story(report));
        }
        bar.inc(1);
    })?;
    bar.finish_and_clear();
    let mut machine = campaign.json();
    machine["config"] = json!(name);
    machine["seed"] = json!(options.seed);
    let text = format!(
        "configuration {name}, seed {}, {:.1} million clocks in {:.0} s\n\n{}",
        options.seed,
        campaign.clocks as f64 / 1e6,
        start.elapsed().as_secs_f64(),
        campaign.text()
    );
    // A reader that has gone away is no error: the verdict is in the exit code.
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
    if let Some(file) = json {
        file.write(&format!("{}\n", serde_json::to_string_pretty(&machine)?))?;
    }
    Ok(match campaign.is_good() {
        true => Exit::Good,
        false => Exit::Mismatch,
    })
}

#[cfg(test)]
mod tests {
    use super::class::{MptFault, MttFault};
    use super::*;
    use tpt_golden::types::Encoding;

    fn report(class: Class, severity: Severity) -> Report {
        Report {
            number: 7,
            class,
            severity,
            why: Some("a lie".into()),
            hang: None,
            leak: None,
            known: None,
            found: false,
            stray_reads: 0,
            clocks: 1,
        }
    }

    fn leaf(encoding: Encoding) -> Class {
        Class::Mtt {
            encoding,
            directory: false,
            fault: MttFault::OneBit,
        }
    }

    fn campaign(reports: &[Report]) -> Campaign {
        let mut campaign = Campaign::new("small", 3);
        reports.iter().for_each(|report| campaign.add(report));
        campaign
    }

    #[test]
    fn what_is_silent_counts_where_nothing_can_find_it_and_fails_where_something_must() {
        for encoding in [Encoding::Raw, Encoding::Flagged] {
            let silent = campaign(&[report(leaf(encoding), Severity::SilentOutside)]);
            assert!(silent.is_good());
            assert_eq!(silent.total().outside, 1);
        }
        for fault in [MptFault::OneBit, MptFault::TwoBits, MptFault::Burst] {
            let lie = campaign(&[report(Class::Mpt(fault), Severity::SilentInside)]);
            assert!(!lie.is_good());
            assert_eq!(lie.total().missed, 1);
            let text = lie.text();
            assert!(text.contains("must not be: experiment 7"), "{text}");
            assert!(text.contains("tpt faults --config small --seed 3 --only 7"));
            assert!(
                text.ends_with("1 silent though redundant, 0 known\n"),
                "{text}"
            );
        }
    }

    #[test]
    fn hangs_leaks_and_what_is_wrong_fail() {
        let good = report(Class::Late, Severity::Reported);
        assert!(campaign(std::slice::from_ref(&good)).is_good());
        let hang = Report {
            hang: Some("gave up".into()),
            ..good.clone()
        };
        let leak = Report {
            leak: Some("an index".into()),
            ..good.clone()
        };
        let wrong = report(Class::Late, Severity::Wrong);
        for (bad, counts) in [(hang, (1, 0, 0)), (leak, (0, 1, 0)), (wrong, (0, 0, 1))] {
            let campaign = campaign(&[good.clone(), bad]);
            let total = campaign.total();
            assert!(!campaign.is_good());
            assert_eq!((total.hangs, total.leaks, total.wrong), counts);
        }
    }

    #[test]
    fn a_known_finding_is_counted_and_only_that_one() {
        use super::experiment::known;
        let stale = Class::Mpt(MptFault::Stale);
        let text = "tpt_reg_engine.sv: Assertion failed in FreedOnce_A";
        assert!(known(stale, true, text).is_some());
        assert!(known(stale, true, "Assertion failed in GivenOnce_A").is_none());
        // Planted lies: the same assertion of another command, or of another class.
        assert!(known(stale, false, text).is_none());
        for (class, _) in Class::all() {
            assert_eq!(
                known(class, true, text).is_some(),
                class == stale,
                "{class}"
            );
        }
        // Whatever it was before, it is in its own column only.
        for severity in [
            Severity::Harmless,
            Severity::Reported,
            Severity::SilentInside,
        ] {
            let report = Report {
                known: known(stale, true, text),
                ..report(stale, severity)
            };
            let campaign = campaign(&[report]);
            assert!(campaign.is_good());
            assert!(campaign.text().contains("known finding, 1 times: "));
            assert_eq!(campaign.json()["total"]["known"], 1);
            let total = campaign.total();
            assert_eq!(
                (total.faults, total.harmless, total.reported, total.inside),
                (1, 0, 0, 0)
            );
        }
    }

    /// A planted lie: what is known to be rare is all that happens.
    #[test]
    fn a_known_finding_has_a_limit() {
        let stale = Class::Mpt(MptFault::Stale);
        let silent = report(stale, Severity::SilentInside);
        let known = Report {
            known: Some("a name"),
            ..report(stale, Severity::Harmless)
        };
        let mut reports = vec![silent; 10];
        reports.extend(vec![known.clone(); 4]);
        assert!(campaign(&reports).is_good());
        reports.push(known.clone());
        reports.push(known);
        let lie = campaign(&reports);
        assert!(!lie.is_good());
        assert!(lie
            .text()
            .contains("must not be: more than 3 and one in 8 of \"MPT stale\""));
    }

    /// A planted lie: faults of a class that must be found, none of which anything has met.
    #[test]
    fn what_had_no_effect_shows_nothing() {
        let checked = leaf(Encoding::Checked);
        let met = report(checked, Severity::Reported);
        let unmet = report(checked, Severity::Harmless);
        let mut reports = vec![met; 9];
        reports.push(unmet.clone());
        assert!(campaign(&reports).is_good());
        reports.push(unmet);
        let lie = campaign(&reports);
        assert!(!lie.is_good());
        assert_eq!(lie.not_shown(), [checked]);
        assert_eq!(lie.json()["good"], false);
        let text = lie.text();
        assert!(
            text.contains(
                "must not be: of the faults of \"MTT leaf 1 bit\" (CHECKED) fewer than 9"
            ),
            "{text}"
        );
        // Where nothing must be found, nothing must be shown.
        assert!(campaign(&[report(leaf(Encoding::Raw), Severity::Harmless)]).is_good());
    }

    /// A planted lie: random words whose CRC is wrong, and yet an address.
    #[test]
    fn what_the_crc_says_must_be_found_whatever_the_class() {
        let words = Class::Mpt(MptFault::Words);
        let silent = report(words, Severity::SilentInside);
        assert!(campaign(std::slice::from_ref(&silent)).is_good());
        let lie = campaign(&[Report {
            found: true,
            ..silent
        }]);
        assert!(!lie.is_good());
        assert_eq!(lie.total().missed, 1);
    }

    #[test]
    fn a_panic_and_an_error_of_an_experiment_are_told() {
        let run = |number| match number {
            5 => panic!("index {number} of nothing"),
            9 => Err(anyhow!("no model")),
            _ => Ok(report(Class::Late, Severity::Harmless)),
        };
        for jobs in [1, 2] {
            let told = |numbers| conduct(jobs, numbers, run, |_| {}).map_err(|e| e.to_string());
            assert_eq!(
                told(3..7),
                Err("experiment 5 has panicked: index 5 of nothing".into())
            );
            assert_eq!(told(8..11), Err("no model".into()));
            assert_eq!(told(0..5), Ok(()));
        }
    }

    #[test]
    fn the_table_and_the_report_for_machines_say_the_same() {
        let campaign = campaign(&[
            report(leaf(Encoding::Raw), Severity::SilentInside),
            report(leaf(Encoding::Flagged), Severity::Reported),
            report(Class::Mpt(MptFault::Words), Severity::Harmless),
        ]);
        let machine = campaign.json();
        assert_eq!(machine["total"]["faults"], 3);
        assert_eq!(machine["encodings"]["RAW"]["silent_inside"], 1);
        assert_eq!(machine["encodings"]["FLAGGED"]["reported"], 1);
        assert_eq!(machine["encodings"]["CRC"]["harmless"], 1);
        assert_eq!(machine["good"], true);
        let text = campaign.text();
        let last = text.lines().last().unwrap_or_default();
        assert_eq!(
            last,
            "faults: 3 faults, 0 hangs, 0 leaks, 0 wrong, 1 reported, 1 silent inside, 0 silent \
             outside, 0 silent though redundant, 0 known"
        );
    }
}
