// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! `tpt soak` and `tpt campaign`: random episodes without an end, each judged by the golden
//! reference in all that it does.
//!
//! An episode ([`tpt_bench::random::Episode`]) follows from its number alone: configuration, memory,
//! hosts, clients, commands. `soak` runs a range of numbers, or as many as there is time for, on
//! threads; `campaign` runs a range in processes of their own, so that one that dies is only one
//! shard, and adds their reports up. The report of a shard is a file, and shards that ran elsewhere
//! are added up in the same way.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{bail, Context as _, Result};
use serde::{Deserialize, Serialize};
use tpt_bench::random::{Episode, Tally};
use tpt_bench::BenchError;
use tpt_golden::types::Syndrome;
use tpt_verilated::Config;

use crate::cli::{Exit, WAVES_BEFORE};
use crate::verbs::syndrome_name;

/// Failures that are told in full, and after which a run ends.
const MOST_FAILURES: usize = 16;
/// Shards per process of a campaign, so that a slow one does not keep the others waiting.
const SHARDS_PER_JOB: u64 = 4;
/// How often a report is written while a run goes on.
const REPORT_EVERY: Duration = Duration::from_secs(60);
/// A shard that has written no report for so long is given up.
const SHARD_STALLS: Duration = Duration::from_secs(900);

/// Options of `tpt soak`.
#[derive(Debug, Clone)]
pub struct Options {
    /// Names of configurations; empty: all that are built.
    pub configs: Vec<String>,
    /// Numbers of the episodes.
    pub seeds: Range<u64>,
    /// No episode begins after so much time.
    pub time: Option<Duration>,
    /// Threads, or processes of a campaign.
    pub jobs: usize,
    /// Report for machines.
    pub json: Option<PathBuf>,
    /// For tests of this command: the episode with this number fails at its end.
    pub plant: Option<u64>,
}

/// An episode that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// Its number.
    pub seed: u64,
    /// Its configuration.
    pub config: String,
    /// What was wrong, and after which steps.
    pub text: String,
}

/// What a run, a shard or a whole campaign has gone through.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Configurations that the numbers choose from, in their order: with other ones, the same
    /// number is another episode.
    pub choice: Vec<String>,
    /// Ranges of numbers, as far as they were run: first, and the one behind the last.
    pub seeds: Vec<(u64, u64)>,
    /// By configuration.
    pub configs: BTreeMap<String, Tally>,
    /// Episodes that failed.
    pub failed: Vec<Failed>,
    /// Shards of which nothing is known.
    pub lost: Vec<String>,
}

impl Report {
    /// Adds the report of another shard of the same choice of configurations.
    pub fn add(&mut self, other: Report) -> Result<()> {
        if self.choice != other.choice {
            bail!(
                "shards of different configurations: {} and {}; expected the same --configs",
                self.choice.join(","),
                other.choice.join(",")
            );
        }
        let overlaps = |a: &(u64, u64), b: &(u64, u64)| a.0 < b.1 && b.0 < a.1;
        for range in &other.seeds {
            if let Some(known) = self.seeds.iter().find(|known| overlaps(known, range)) {
                bail!(
                    "seeds {}..{} are in two shards ({}..{}); expected each number once",
                    range.0,
                    range.1,
                    known.0,
                    known.1
                );
            }
        }
        self.seeds.extend(other.seeds);
        self.seeds.sort_unstable();
        for (name, counts) in &other.configs {
            self.configs.entry(name.clone()).or_default().add(counts);
        }
        self.failed.extend(other.failed);
        self.failed.sort_by_key(|failed| failed.seed);
        self.lost.extend(other.lost);
        Ok(())
    }

    /// The sum of all configurations.
    pub fn total(&self) -> Tally {
        let mut total = Tally::default();
        for counts in self.configs.values() {
            total.add(counts);
        }
        total
    }

    /// Says it if numbers of `wanted`, or between those that were run, have no result.
    pub fn look_for_gaps(&mut self, wanted: Option<&Range<u64>>) {
        let ends = (self.seeds.first(), self.seeds.last());
        let (first, end) = match (wanted, ends) {
            (Some(wanted), _) => (wanted.start, wanted.end),
            (None, (Some(first), Some(last))) => (first.0, last.1),
            (None, _) => return,
        };
        let mut at = first;
        for (start, stop) in self.seeds.iter().chain([&(end, end)]) {
            if *start > at && at < end {
                let gap = format!("seeds {at}..{}: no report", start.min(&end));
                self.lost.push(gap);
            }
            at = at.max(*stop);
        }
    }

    /// Numbers that were run.
    fn numbers(&self) -> u64 {
        self.seeds.iter().map(|(start, end)| end - start).sum()
    }

    /// Nothing failed, nothing is missing, and something was done.
    pub fn is_good(&self) -> bool {
        let cases = self.total().cases;
        self.failed.is_empty() && self.lost.is_empty() && cases > 0 && cases == self.numbers()
    }

    /// For people.
    pub fn text(&self, command: &str) -> String {
        let mut text = String::new();
        let total = self.total();
        let _ = writeln!(
            text,
            "{:<10} {:>9} {:>11} {:>11} {:>10} {:>9} {:>9} {:>13}",
            "", "episodes", "requests", "segments", "commands", "faults", "resumed", "clocks"
        );
        let all = self
            .configs
            .iter()
            .map(|(name, counts)| (&name[..], counts));
        for (name, c) in all.chain([("all", &total)]) {
            let _ = writeln!(
                text,
                "{name:<10} {:>9} {:>11} {:>11} {:>10} {:>9} {:>9} {:>13}",
                c.cases, c.requests, c.segments, c.commands, c.faults, c.resumed, c.clocks
            );
        }
        let _ = writeln!(text, "\nrequests by syndrome");
        for (code, count) in &total.by_syndrome {
            let name = Syndrome::from_code(*code).map_or("?".into(), syndrome_name);
            let _ = writeln!(text, "{count:>12}  {name}");
        }
        let kinds: usize = total.by_end.values().map(BTreeMap::len).sum();
        let _ = writeln!(text, "\n{kinds} pairs of command and status were seen");
        for (start, end) in &self.seeds {
            let _ = writeln!(text, "seeds {start}..{end}");
        }
        for failed in &self.failed {
            let _ = writeln!(
                text,
                "\nepisode {}, configuration {}: {}\n  again: tpt soak --configs {} --replay {} \
                 --waves FILE.fst",
                failed.seed,
                failed.config,
                failed.text,
                self.choice.join(","),
                failed.seed
            );
        }
        for lost in &self.lost {
            let _ = writeln!(text, "\n{lost}");
        }
        let operations = total.operations();
        let _ = writeln!(
            text,
            "\n{command}: {operations} operations in {} episodes, {} mismatches{}",
            total.cases,
            self.failed.len(),
            match self.lost.len() {
                0 => String::new(),
                n => format!(", {n} ranges of seeds without a result"),
            }
        );
        text
    }

    /// Reads the report of a shard.
    pub fn read(path: &Path) -> Result<Self> {
        let name = path.display();
        let text = std::fs::read_to_string(path).with_context(|| format!("{name}"))?;
        serde_json::from_str(&text)
            .with_context(|| format!("{name}: expected a file that tpt soak --json wrote"))
    }

    /// Writes it: the file is whole, or as it was.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut beside = path.as_os_str().to_owned();
        beside.push(format!(".part-{}", std::process::id()));
        let beside = PathBuf::from(beside);
        let text = serde_json::to_string_pretty(self)? + "\n";
        std::fs::write(&beside, text).with_context(|| format!("{}", beside.display()))?;
        std::fs::rename(&beside, path).with_context(|| format!("{}", path.display()))
    }
}

/// The configurations with these names, all built; all that are built if there is none.
fn configs(names: &[String]) -> Result<Vec<Config>> {
    let built = |config: &Config| config.sizes().built;
    let all: Vec<Config> = Config::ALL.into_iter().filter(built).collect();
    if names.is_empty() {
        return match all.is_empty() {
            true => bail!("no configuration is built; expected one at least (see TPT_CONFIGS)"),
            false => Ok(all),
        };
    }
    let find = |name: &String| {
        let known = all.iter().find(|config| config.name() == name);
        known.copied().with_context(|| {
            let known: Vec<_> = all.iter().map(|config| config.name()).collect();
            format!(
                "configuration {name} is not built; expected {}",
                known.join(", ")
            )
        })
    };
    names.iter().map(find).collect()
}

/// What `work` answers; a panic is a failure like any other.
fn caught<T, E: ToString>(work: impl FnOnce() -> Result<T, E>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()));
            Err(format!("panic: {}", text.unwrap_or_default()))
        }
    }
}

/// Runs an episode.
fn run_one(number: u64, choice: &[Config], plant: bool) -> (Config, Result<Tally, Failed>) {
    let mut run = Episode::new(number, choice).run;
    run.plant = plant;
    let config = run.config;
    let result = caught(|| run.run()).map_err(|text| Failed {
        seed: number,
        config: config.name().into(),
        text,
    });
    (config, result)
}

/// Runs episodes until the numbers or the time are at their end.
pub fn run(options: &Options) -> Result<Report> {
    let choice = configs(&options.configs)?;
    if options.seeds.is_empty() {
        bail!(
            "seeds {}..{} are none; expected FIRST..END with FIRST below END",
            options.seeds.start,
            options.seeds.end
        );
    }
    let start = Instant::now();
    let next = AtomicU64::new(options.seeds.start);
    let report = Report {
        choice: choice.iter().map(|config| config.name().into()).collect(),
        ..Report::default()
    };
    if let Some(path) = &options.json {
        // A place where nothing can be written is told before hours have gone by.
        report.write(path)?;
    }
    let report = Mutex::new(report);
    let locked = || report.lock().unwrap_or_else(|error| error.into_inner());
    let told = Mutex::new(start);
    std::thread::scope(|scope| {
        for _ in 0..options.jobs.max(1) {
            scope.spawn(|| loop {
                let late = options.time.is_some_and(|time| start.elapsed() >= time);
                if late || locked().failed.len() >= MOST_FAILURES {
                    return;
                }
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= options.seeds.end {
                    return;
                }
                let (config, result) = run_one(number, &choice, options.plant == Some(number));
                let mut report = locked();
                match result {
                    Ok(tally) => {
                        let counts = report.configs.entry(config.name().into()).or_default();
                        counts.add(&tally);
                    }
                    Err(failed) => report.failed.push(failed),
                }
                let mut told = told.lock().unwrap_or_else(|error| error.into_inner());
                if told.elapsed() >= REPORT_EVERY {
                    *told = Instant::now();
                    let total = report.total();
                    eprintln!(
                        "soak: {} min, {} operations, {} failed",
                        start.elapsed().as_secs() / 60,
                        total.operations(),
                        report.failed.len()
                    );
                    if let Some(path) = &options.json {
                        // The last one counts, and says what is wrong if there is something.
                        let _ = report.write(path);
                    }
                }
            });
        }
    });
    let mut report = report
        .into_inner()
        .unwrap_or_else(|error| error.into_inner());
    let end = next.into_inner().min(options.seeds.end);
    report.seeds.push((options.seeds.start, end));
    report.failed.sort_by_key(|failed| failed.seed);
    Ok(report)
}

fn finish(report: &Report, command: &str, json: Option<&Path>) -> Result<Exit> {
    print!("{}", report.text(command));
    if let Some(path) = json {
        report.write(path)?;
    }
    Ok(match report.is_good() {
        true => Exit::Good,
        false => Exit::Mismatch,
    })
}

/// `tpt soak`.
pub fn soak(options: &Options) -> Result<Exit> {
    finish(&run(options)?, "soak", options.json.as_deref())
}

/// `tpt soak --replay`: one episode, as it is; with waves if it fails.
pub fn replay(number: u64, names: &[String], waves: Option<&Path>, plant: bool) -> Result<Exit> {
    let choice = configs(names)?;
    let mut run = Episode::new(number, &choice).run;
    run.plant = plant;
    println!(
        "episode {number}: configuration {}, {:?}, {}",
        run.config.name(),
        run.mix,
        match run.through_queue {
            true => "commands through the queue",
            false => "commands on the direct channel",
        }
    );
    let clock = Cell::new(None);
    let record = |waves| {
        caught(|| {
            let result = run.record(waves);
            clock.set(result.as_ref().err().and_then(BenchError::clock));
            result
        })
    };
    let Err(text) = record(None) else {
        println!("soak: episode {number} is good");
        return Ok(Exit::Good);
    };
    println!("{text}");
    if let Some(path) = waves {
        // Of a panic the clock is not known: then all of it is recorded.
        let from = clock.get().unwrap_or(0).saturating_sub(WAVES_BEFORE);
        match record(Some((path.to_owned(), from))) {
            Err(again) if again == text => {
                println!("waves from clock {from} on in {}", path.display());
            }
            Err(other) => bail!("--waves {}: {other}", path.display()),
            Ok(_) => bail!("the episode was good when it was run again; expected the same end"),
        }
    }
    println!("soak: episode {number} failed");
    Ok(Exit::Mismatch)
}

/// Shards of a range, about equal.
fn shards(seeds: &Range<u64>, count: u64) -> Vec<Range<u64>> {
    let length = seeds.end - seeds.start;
    let count = count.clamp(1, length.max(1));
    let edge =
        |n: u64| seeds.start + (u128::from(length) * u128::from(n) / u128::from(count)) as u64;
    (0..count).map(|n| edge(n)..edge(n + 1)).collect()
}

/// A shard that runs in a process of its own. It is killed when this is dropped, and ends by itself
/// when this process is gone, as its input then ends.
struct Running {
    seeds: Range<u64>,
    file: PathBuf,
    child: Child,
    seen: (Instant, Option<SystemTime>),
}

impl Running {
    /// How it ended; `None` if it goes on.
    fn ended(&mut self) -> Result<Option<String>> {
        if let Some(status) = self.child.try_wait().context("a shard")? {
            return Ok(Some(status.to_string()));
        }
        let written = self.file.metadata().and_then(|data| data.modified()).ok();
        if written != self.seen.1 {
            self.seen = (Instant::now(), written);
        }
        let seconds = SHARD_STALLS.as_secs();
        Ok((self.seen.0.elapsed() > SHARD_STALLS)
            .then(|| format!("no report for {seconds} s; it was killed")))
    }

    /// Its report, if it is whole.
    fn report(&self, ended: &str) -> Result<Report> {
        let report = Report::read(&self.file)?;
        let all = report.seeds == [(self.seeds.start, self.seeds.end)];
        let fits = match ended {
            "exit status: 0" => all && report.is_good(),
            "exit status: 1" => {
                all && !report.failed.is_empty() || report.failed.len() >= MOST_FAILURES
            }
            _ => false,
        };
        match fits {
            true => Ok(report),
            false => bail!(
                "its report is of seeds {:?}, {} failed",
                report.seeds,
                report.failed.len()
            ),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `tpt campaign`: the numbers in shards, each in a process of its own.
pub fn campaign(options: &Options) -> Result<Exit> {
    let choice = configs(&options.configs)?;
    let names: Vec<String> = choice.iter().map(|config| config.name().into()).collect();
    let seeds = &options.seeds;
    if seeds.is_empty() || seeds.end == u64::MAX {
        bail!("a campaign needs numbers with an end; expected --seeds FIRST..END");
    }
    let jobs = options.jobs.max(1);
    let me = std::env::current_exe().context("the path of this program")?;
    let folder = tempfile::tempdir().context("a folder for the shards")?;
    let mut waiting = shards(seeds, jobs as u64 * SHARDS_PER_JOB).into_iter();
    let mut running: Vec<Running> = Vec::new();
    let mut report = Report {
        choice: names.clone(),
        ..Report::default()
    };
    if let Some(path) = &options.json {
        report.write(path)?;
    }
    loop {
        while running.len() < jobs && report.failed.len() < MOST_FAILURES {
            let Some(seeds) = waiting.next() else { break };
            let file = folder.path().join(format!("{}.json", seeds.start));
            let mut command = Command::new(&me);
            command
                .args(["soak", "--with-parent", "--jobs", "1", "--configs"])
                .arg(names.join(","))
                .args(["--seeds", &format!("{}..{}", seeds.start, seeds.end)])
                .arg("--json")
                .arg(&file);
            if let Some(number) = options.plant {
                command.args(["--plant", &number.to_string()]);
            }
            let child = command
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .spawn()
                .with_context(|| format!("{}", me.display()))?;
            running.push(Running {
                seeds,
                file,
                child,
                seen: (Instant::now(), None),
            });
        }
        if running.is_empty() {
            break;
        }
        let mut n = 0;
        while n < running.len() {
            let Some(ended) = running[n].ended()? else {
                n += 1;
                continue;
            };
            let shard = running.swap_remove(n);
            match shard.report(&ended) {
                Ok(part) => report.add(part)?,
                Err(error) => eprintln!(
                    "campaign: shard of seeds {}..{}: {ended}: {error:#}\n  again: tpt soak \
                     --configs {} --seeds {}..{}",
                    shard.seeds.start,
                    shard.seeds.end,
                    names.join(","),
                    shard.seeds.start,
                    shard.seeds.end
                ),
            }
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    report.look_for_gaps(Some(seeds));
    finish(&report, "campaign", options.json.as_deref())
}

/// `tpt campaign --merge`: reports of shards that ran elsewhere. `wanted`: numbers that must be
/// there; else those between the first and the last.
pub fn merge(files: &[PathBuf], wanted: Option<&Range<u64>>, json: Option<&Path>) -> Result<Exit> {
    let mut sum: Option<Report> = None;
    for file in files {
        let part = Report::read(file)?;
        match &mut sum {
            Some(sum) => sum
                .add(part)
                .with_context(|| format!("{}", file.display()))?,
            None => sum = Some(part),
        }
    }
    let mut sum = sum.unwrap_or_default();
    sum.look_for_gaps(wanted);
    finish(&sum, "campaign", json)
}

/// Ends this process when the one that started it is gone.
pub fn end_with_parent() {
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(2);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(seeds: (u64, u64), episodes: u64) -> Report {
        let counts = Tally {
            cases: episodes,
            requests: 10 * episodes,
            by_syndrome: [(Syndrome::Ok.code(), episodes)].into(),
            by_end: [(1, [(0, episodes)].into())].into(),
            ..Tally::default()
        };
        Report {
            choice: vec!["small".into()],
            seeds: vec![seeds],
            configs: [("small".into(), counts)].into(),
            ..Report::default()
        }
    }

    #[test]
    fn shards_cover_the_range_once() {
        for (start, length, count) in [(0, 10, 4), (5, 3, 8), (u64::MAX - 7, 7, 3), (1, 1, 1)] {
            let all = shards(&(start..start + length), count);
            let mut at = start;
            for shard in &all {
                assert_eq!(shard.start, at);
                assert!(shard.end > at);
                at = shard.end;
            }
            assert_eq!(at, start + length);
        }
    }

    #[test]
    fn shards_add_up_and_are_told_apart() {
        let mut sum = part((0, 4), 4);
        sum.add(part((4, 9), 5)).expect("it fits");
        assert_eq!(sum.total().cases, 9);
        assert_eq!(sum.total().syndrome(Syndrome::Ok), 9);
        assert_eq!(sum.total().by_end[&1][&0], 9);
        assert!(sum.is_good());
        let twice = sum
            .clone()
            .add(part((8, 10), 2))
            .expect_err("8 is there twice");
        assert!(
            twice.to_string().contains("8..10 are in two shards"),
            "{twice}"
        );
        let mut other = part((20, 21), 1);
        other.choice = vec!["large".into()];
        assert!(sum.add(other).is_err());
        let mut bad = part((9, 12), 2);
        bad.seeds = vec![(9, 12)];
        bad.failed.push(Failed {
            seed: 11,
            config: "small".into(),
            text: "a mismatch".into(),
        });
        sum.add(bad).expect("it fits");
        assert!(!sum.is_good());
        let text = sum.text("campaign");
        assert!(text.contains("--configs small --replay 11"), "{text}");
        assert!(
            text.ends_with("110 operations in 11 episodes, 1 mismatches\n"),
            "{text}"
        );
    }

    #[test]
    fn gaps_are_seen() {
        let lost = |seeds: &[(u64, u64)], wanted: Option<Range<u64>>| {
            let mut sum = part((0, 0), 0);
            sum.seeds = seeds.to_vec();
            sum.look_for_gaps(wanted.as_ref());
            sum.lost
        };
        assert!(lost(&[(0, 4), (4, 9)], None).is_empty());
        assert!(lost(&[(0, 4), (4, 9)], Some(0..9)).is_empty());
        assert_eq!(lost(&[(0, 4), (6, 9)], None), ["seeds 4..6: no report"]);
        assert_eq!(lost(&[(2, 4)], Some(0..4)), ["seeds 0..2: no report"]);
        assert_eq!(lost(&[(2, 4)], Some(2..9)), ["seeds 4..9: no report"]);
        assert_eq!(lost(&[], Some(2..9)), ["seeds 2..9: no report"]);
        // A number that was run, but of which nothing is told.
        assert!(!part((0, 5), 4).is_good());
    }

    #[test]
    fn reports_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.json");
        let report = part((0, 4), 4);
        report.write(&path).expect("a file");
        assert_eq!(Report::read(&path).expect("it is there"), report);
        std::fs::write(&path, "{").expect("a file");
        let error = format!("{:#}", Report::read(&path).expect_err("it is cut"));
        assert!(
            error.contains("expected a file that tpt soak --json wrote"),
            "{error}"
        );
        assert!(!Report::default().is_good(), "nothing was done");
    }
}
