// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! The command `tpt`: runs scenarios, replays recordings, reports.
//!
//! Exit code 0: all is well. 1: a mismatch or a disagreement. 2: bad input or bad use.
#![forbid(unsafe_code)]

use std::io::Write as _;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use tpt::cli::{self, Common, Exit};
use tpt::scenario::parse::latency;

/// Runs scenarios and recordings through the simulated translation and protection unit and its
/// golden reference.
#[derive(Debug, Parser)]
#[command(name = "tpt", version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Runs a scenario file: registers regions and sends traffic.
    Run(Run),
    /// Replays recordings: verdicts of drivers, and traces of programs (.jsonl or .jsonl.gz).
    Replay(Replay),
    /// Registers the regions of the textbook numbers and of the boundary matrix.
    Textbook(Textbook),
    /// Measures the simulated unit and prints every figure beside its target.
    #[cfg(feature = "rtl")]
    Bench(Bench),
    /// Runs a scenario on a board over a serial line, or on the Verilated board (--port sim).
    #[cfg(feature = "rtl")]
    Board(Board),
    /// Puts faults into memory, its port, hosts and clients, and says what became of each.
    #[cfg(feature = "rtl")]
    Faults(Faults),
    /// Attacks one tenant from another by timing (Pythia), without and with partitions.
    #[cfg(feature = "rtl")]
    Pythia(Pythia),
    /// Runs random episodes, each judged in all that it does, until time or numbers end.
    #[cfg(feature = "rtl")]
    Soak(Soak),
    /// Runs random episodes in shards, each in a process of its own, and adds their reports up.
    #[cfg(feature = "rtl")]
    Campaign(Campaign),
    /// Measures how hard keys are to guess: entropy, permutation, tags, guesses at the simulated unit.
    #[cfg(feature = "rtl")]
    Keys(Keys),
}

#[derive(Debug, Args)]
struct Shared {
    /// Configuration of the unit [default: default].
    #[arg(long, value_parser = ["small", "default", "large"])]
    config: Option<String>,
    /// Only the golden reference, no simulated unit.
    #[arg(long)]
    golden_only: bool,
    /// Gives commands on the direct channel instead of through the queue in memory.
    #[arg(long, conflicts_with = "golden_only")]
    direct: bool,
    /// Clocks from a memory read to its answer: a number or a range such as 20..200.
    #[arg(long, value_name = "N|A..B", value_parser = parse_latency)]
    latency: Option<RangeInclusive<u32>>,
    /// Start of all random choices.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Records waves of the clocks around the first mismatch, by running again with the same seed.
    #[arg(long, value_name = "FILE.fst")]
    waves: Option<PathBuf>,
    /// Records waves of the whole run instead.
    #[arg(long, requires = "waves")]
    waves_whole: bool,
    /// Writes the report for machines to a file, or to the standard output (-).
    #[arg(long, value_name = "FILE|-")]
    json: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct Run {
    /// Scenario file.
    scenario: PathBuf,
    #[command(flatten)]
    shared: Shared,
}

#[derive(Debug, Args)]
struct Replay {
    /// Recordings.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Stops after so many lines of each file.
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Only these families of recorded verdicts, such as A,B or ABC.
    #[arg(long, value_name = "LIST", value_parser = parse_families)]
    families: Option<String>,
    #[command(flatten)]
    shared: Shared,
}

#[derive(Debug, Args)]
struct Textbook {
    #[command(flatten)]
    shared: Shared,
}

#[cfg(feature = "rtl")]
#[derive(Debug, Args)]
struct Bench {
    /// Only rows whose names begin so.
    #[arg(value_name = "ROW")]
    rows: Vec<String>,
    /// Shorter windows and fewer points.
    #[arg(long)]
    quick: bool,
    /// Configuration of the unit.
    #[arg(long, value_parser = ["small", "default", "large"], default_value = "default")]
    config: String,
    /// Start of all random choices.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Folder of the recorded programs.
    #[arg(long, value_name = "DIR", default_value = "data/traces")]
    traces: PathBuf,
    /// Writes the report for machines to a file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Folder of the reports of tools/fmax.py.
    #[arg(long, value_name = "DIR", default_value = "build/fmax")]
    fmax: PathBuf,
    /// Python that has cocotb, for the row of that name.
    #[arg(long, value_name = "FILE", default_value = ".venv/bin/python")]
    python: PathBuf,
    /// Earlier report; exit code 1 if a clock figure is more than 5 % worse.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
}

#[cfg(feature = "rtl")]
#[derive(Debug, Args)]
struct Faults {
    /// Number of faults.
    #[arg(long, value_name = "N", default_value_t = 10_000,
          value_parser = clap::value_parser!(u64).range(1..=tpt::faults::NUMBERS))]
    count: u64,
    /// Start of all random choices.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Configuration of the unit.
    #[arg(long, value_parser = ["small", "default", "large"], default_value = "small")]
    config: String,
    /// Only the experiment of this number, with all that is known of it.
    #[arg(long, value_name = "NUMBER", conflicts_with = "count",
          value_parser = clap::value_parser!(u64).range(..tpt::faults::NUMBERS))]
    only: Option<u64>,
    /// Experiments at a time. The report is the same with any number.
    #[arg(long, value_name = "N", default_value_t = 2,
          value_parser = clap::value_parser!(u8).range(1..=64))]
    jobs: u8,
    /// Writes the report for machines to a file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[cfg(feature = "rtl")]
#[derive(Debug, Args)]
struct Pythia {
    /// Configuration of the unit.
    #[arg(long, value_parser = ["small", "default"], default_value = "small")]
    config: String,
    /// Trials of each attack [default: 10000, with --quick 400].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(20..=10_000_000))]
    trials: Option<u64>,
    /// Start of all random choices.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Fewer trials, and fewer samples of each refusal.
    #[arg(long)]
    quick: bool,
    /// Writes the report for machines to a file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// What is attacked: the cache of entries, that of table lines, the directory, both ends of a
    /// covert channel; contention is only measured; twins are units that differ in what the victim
    /// does; uniform is the latency of refusals.
    #[arg(long, value_parser = tpt::pythia::Target::NAMES, default_value = "all")]
    target: String,
    /// Without partitions, with them, or both.
    #[arg(long, value_parser = ["off", "on", "both"], default_value = "both")]
    isolation: String,
}

#[cfg(feature = "rtl")]
#[derive(Debug, Args)]
struct Soak {
    /// No episode begins after so many minutes [default: 10, without --seeds].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    minutes: Option<u32>,
    /// Numbers of the episodes; the same number is the same episode. Without an end: 5..
    #[arg(long, value_name = "A..B", value_parser = parse_seeds)]
    seeds: Option<std::ops::Range<u64>>,
    /// Configurations to choose from [default: all that are built].
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    configs: Vec<String>,
    /// Episodes at a time.
    #[arg(long, value_name = "N", default_value_t = 2,
          value_parser = clap::value_parser!(u8).range(1..=64))]
    jobs: u8,
    /// Writes the report for machines to a file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Runs the episode of this number alone, not shrunk.
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["minutes", "seeds", "json"])]
    replay: Option<u64>,
    /// Records the clocks around its mismatch.
    #[arg(long, value_name = "FILE.fst", requires = "replay")]
    waves: Option<PathBuf>,
    /// Ends when the input ends.
    #[arg(long, hide = true)]
    with_parent: bool,
    /// The episode of this number fails at its end.
    #[arg(long, hide = true)]
    plant: Option<u64>,
}

#[cfg(feature = "rtl")]
#[derive(Debug, Args)]
struct Campaign {
    /// Numbers of the episodes.
    #[arg(long, value_name = "A..B", value_parser = parse_seeds,
          required_unless_present = "merge")]
    seeds: Option<std::ops::Range<u64>>,
    /// Configurations to choose from [default: all that are built].
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    configs: Vec<String>,
    /// Processes at a time.
    #[arg(long, value_name = "N", default_value_t = 2,
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: u16,
    /// Adds up reports of `tpt soak --json` instead, as of the array jobs of a cluster. The numbers of
    /// --seeds, or those between the first and the last, must all be there.
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "configs")]
    merge: Vec<PathBuf>,
    /// The episode of this number fails at its end.
    #[arg(long, hide = true)]
    plant: Option<u64>,
    /// Writes the report for machines to a file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[cfg(feature = "rtl")]
#[derive(Debug, Args)]
struct Keys {
    /// Fewer samples.
    #[arg(long)]
    quick: bool,
    /// Start of all random choices.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Only the best trails of the permutation, with more rounds and the sums over trails.
    #[arg(long)]
    trails: bool,
    /// Prints the tables for a page of the documentation.
    #[arg(long)]
    markdown: bool,
    /// Configuration of the unit.
    #[arg(long, value_parser = ["small", "default", "large"], default_value = "small")]
    config: String,
    /// Folder of the recorded verdicts.
    #[arg(long, value_name = "DIR", default_value = "data/conformance")]
    recordings: PathBuf,
    /// Writes the report for machines to a file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Measures keys with this weakness.
    #[arg(long, hide = true, value_parser = parse_plant, conflicts_with = "trails")]
    plant: Option<tpt::keys::sequence::Plant>,
}

#[cfg(feature = "rtl")]
fn parse_plant(text: &str) -> Result<tpt::keys::sequence::Plant, String> {
    let all = tpt::keys::sequence::Plant::ALL;
    let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
    let known = all.iter().find(|(name, _)| *name == text);
    known
        .map(|(_, plant)| *plant)
        .ok_or_else(|| format!("expected one of {}", names.join(", ")))
}

fn parse_seeds(text: &str) -> Result<std::ops::Range<u64>, String> {
    let expected = "expected FIRST..END or FIRST.. with FIRST below END, such as 0..1000";
    let (first, end) = text.split_once("..").ok_or(expected)?;
    let number = |text: &str| text.trim().parse::<u64>().map_err(|_| expected.to_owned());
    let end = match end.trim() {
        "" => u64::MAX,
        end => number(end)?,
    };
    let first = number(first)?;
    match first < end {
        true => Ok(first..end),
        false => Err(expected.into()),
    }
}

#[cfg(feature = "rtl")]
#[derive(Debug, Args)]
struct Board {
    /// Serial port of the board, such as /dev/ttyUSB0; `sim` for the Verilated board.
    #[arg(long, value_name = "FILE|sim")]
    port: PathBuf,
    /// Bits per second of a serial port, instead of those that boards have (3,000,000).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1200..=12_000_000))]
    baud: Option<u32>,
    /// Scenario file, instead of the built-in one (scenarios/board.tpt).
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// Requests in all, instead of those of the scenario.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    requests: Option<u64>,
    /// Start of all random choices.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Noise on the simulated line: flip=N,drop=N (of a million bytes), pull=FROM+TIME (nothing comes
    /// through), unplug=AT (the port goes away); times in microseconds of the board.
    #[arg(long, value_name = "LIST")]
    noise: Option<tpt::board::sim::Noise>,
    /// Writes the report for machines to a file, or to the standard output (-).
    #[arg(long, value_name = "FILE|-")]
    json: Option<PathBuf>,
}

fn parse_latency(text: &str) -> Result<RangeInclusive<u32>, String> {
    latency(text).map_err(|expected| format!("expected {expected}"))
}

fn parse_families(text: &str) -> Result<String, String> {
    let letters: String = text
        .chars()
        .filter(|c| *c != ',' && !c.is_whitespace())
        .collect();
    let known = |c: char| {
        tpt::verdicts::parse::FAMILIES
            .iter()
            .any(|f| f.starts_with(c))
    };
    if letters.is_empty() || !letters.chars().all(known) {
        Err(format!(
            "expected letters out of {}",
            tpt::verdicts::parse::FAMILIES.join(", ")
        ))
    } else {
        Ok(letters)
    }
}

fn common(s: Shared) -> Common {
    Common {
        config: s.config,
        golden_only: s.golden_only,
        direct: s.direct,
        latency: s.latency,
        seed: s.seed,
        waves: s.waves,
        waves_whole: s.waves_whole,
        json: s.json,
    }
}

#[cfg(feature = "rtl")]
fn bench(b: Bench) -> anyhow::Result<Exit> {
    tpt::bench::bench(&tpt::bench::Options {
        config: b.config.parse()?,
        seed: b.seed,
        quick: b.quick,
        only: b.rows,
        traces: b.traces,
        json: b.json,
        fmax: b.fmax,
        python: b.python,
        baseline: b.baseline,
    })
}

#[cfg(feature = "rtl")]
fn faults(f: Faults) -> anyhow::Result<Exit> {
    tpt::faults::faults(&tpt::faults::Options {
        config: f.config.parse()?,
        count: f.count,
        seed: f.seed,
        only: f.only,
        json: f.json,
        jobs: f.jobs.into(),
    })
}

#[cfg(feature = "rtl")]
fn pythia(p: Pythia) -> anyhow::Result<Exit> {
    let default = if p.quick { tpt::pythia::QUICK } else { 10_000 };
    tpt::pythia::pythia(&tpt::pythia::Options {
        config: p.config.parse()?,
        trials: p.trials.unwrap_or(default),
        seed: p.seed,
        quick: p.quick,
        json: p.json,
        targets: tpt::pythia::Target::named(&p.target).to_vec(),
        sides: match &p.isolation[..] {
            "off" => vec![false],
            "on" => vec![true],
            _ => vec![false, true],
        },
    })
}

#[cfg(feature = "rtl")]
fn soak(s: Soak) -> anyhow::Result<Exit> {
    use std::time::Duration;
    if s.with_parent {
        tpt::soak::end_with_parent();
    }
    if let Some(number) = s.replay {
        let plant = s.plant == Some(number);
        return tpt::soak::replay(number, &s.configs, s.waves.as_deref(), plant);
    }
    let minutes = match (s.minutes, &s.seeds) {
        (None, Some(seeds)) if seeds.end != u64::MAX => None,
        (minutes, _) => Some(minutes.unwrap_or(10)),
    };
    tpt::soak::soak(&tpt::soak::Options {
        configs: s.configs,
        seeds: s.seeds.unwrap_or(0..u64::MAX),
        time: minutes.map(|minutes| Duration::from_secs(60 * u64::from(minutes))),
        jobs: s.jobs.into(),
        json: s.json,
        plant: s.plant,
    })
}

#[cfg(feature = "rtl")]
fn campaign(c: Campaign) -> anyhow::Result<Exit> {
    if !c.merge.is_empty() {
        return tpt::soak::merge(&c.merge, c.seeds.as_ref(), c.json.as_deref());
    }
    let Some(seeds) = c.seeds else {
        anyhow::bail!("--seeds is missing; expected --seeds FIRST..END or --merge FILE...");
    };
    tpt::soak::campaign(&tpt::soak::Options {
        configs: c.configs,
        seeds,
        time: None,
        jobs: c.jobs.into(),
        json: c.json,
        plant: c.plant,
    })
}

#[cfg(feature = "rtl")]
fn keys(k: Keys) -> anyhow::Result<Exit> {
    tpt::keys::keys(&tpt::keys::Options {
        config: k.config.parse()?,
        seed: k.seed,
        quick: k.quick,
        trails: k.trails,
        markdown: k.markdown,
        recordings: k.recordings,
        json: k.json,
        plant: k.plant,
    })
}

#[cfg(feature = "rtl")]
fn board(b: Board) -> anyhow::Result<Exit> {
    tpt::board::board(&tpt::board::Options {
        port: b.port,
        baud: b.baud,
        scenario: b.scenario,
        requests: b.requests,
        seed: b.seed,
        noise: b.noise.unwrap_or_default(),
        json: b.json,
    })
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        What::Run(r) => cli::run(&r.scenario, &common(r.shared)),
        What::Replay(r) => cli::replay(&r.files, r.limit, r.families.as_deref(), &common(r.shared)),
        What::Textbook(t) => cli::textbook(&common(t.shared)),
        #[cfg(feature = "rtl")]
        What::Bench(b) => bench(b),
        #[cfg(feature = "rtl")]
        What::Faults(f) => faults(f),
        #[cfg(feature = "rtl")]
        What::Pythia(p) => pythia(p),
        #[cfg(feature = "rtl")]
        What::Soak(s) => soak(s),
        #[cfg(feature = "rtl")]
        What::Campaign(c) => campaign(c),
        #[cfg(feature = "rtl")]
        What::Board(b) => board(b),
        #[cfg(feature = "rtl")]
        What::Keys(k) => keys(k),
    };
    match result {
        Ok(Exit::Good) => ExitCode::SUCCESS,
        Ok(Exit::Mismatch) => ExitCode::from(1),
        Err(e) => {
            // If the standard error cannot be written, the exit code has to do.
            let _ = writeln!(std::io::stderr(), "tpt: {e:#}");
            ExitCode::from(2)
        }
    }
}
