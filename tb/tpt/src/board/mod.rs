// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! `tpt board`: a scenario on a board, or on the same board Verilated behind a pseudo-terminal, over a
//! serial line. Every answer is compared with the golden reference.

pub mod frame;
#[rustfmt::skip]
pub mod gen;
pub mod link;
pub mod port;
pub mod serial;
pub mod sim;

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{bail, Context as _, Result};
use serde_json::json;

use crate::cli::{bar, put, Exit, Output};
use crate::input::Lines;
use crate::scenario::parse::{self, Scenario, Step};
use crate::scenario::run;
use crate::target::TargetError;
use link::{BoardStatus, Identity, Link, LinkStats};
use port::{AnyLink, BoardOptions, BoardTarget};
use serial::Serial;
use sim::{Noise, SimBoard, SimPort};

/// The scenario that runs if none is given.
const SCENARIO: &str = include_str!("../../../../scenarios/board.tpt");
/// Name of the port of the simulated board.
pub const SIM: &str = "sim";

/// Options of `tpt board`.
#[derive(Debug, Clone)]
pub struct Options {
    /// A serial port, or `sim`.
    pub port: PathBuf,
    /// Bits per second of a serial port; `None`: those that boards have.
    pub baud: Option<u32>,
    /// Scenario file; `None` for the built-in one.
    pub scenario: Option<PathBuf>,
    /// Requests in all; `None` as the scenario says.
    pub requests: Option<u64>,
    /// Seed; `None` as the scenario says.
    pub seed: Option<u64>,
    /// Noise on the line of the simulated board.
    pub noise: Noise,
    /// Report for machines.
    pub json: Option<PathBuf>,
}

/// The traffic of a scenario, stretched or shortened to so many requests in all.
fn scale(scenario: &mut Scenario, requests: u64) {
    let all = run::length(scenario).max(1);
    for step in &mut scenario.steps {
        if let Step::Traffic(traffic) = step {
            let share = u128::from(traffic.requests) * u128::from(requests) / u128::from(all);
            traffic.requests = (share as u64).max(1);
        }
    }
}

fn open(options: &Options, seed: u64) -> Result<AnyLink> {
    let sim = options.port == Path::new(SIM);
    if !sim && options.noise != Noise::default() {
        bail!(
            "--noise: {} is no simulated board; expected --port {SIM}",
            options.port.display()
        );
    }
    if sim && options.baud.is_some() {
        bail!(
            "--baud: the simulated board has {} baud; expected --baud only with a serial port",
            sim::BAUD
        );
    }
    let baud = options.baud.unwrap_or(sim::BAUD);
    let line: Box<dyn serial::Line> = if sim {
        Box::new(SimPort::open(&SimBoard::start(seed, options.noise)?)?)
    } else {
        Box::new(Serial::open(&options.port, baud)?)
    };
    let time = SystemTime::now().duration_since(UNIX_EPOCH);
    // Any number that an earlier run has not used.
    let nonce = time.map_or(0, |t| t.as_nanos() as u32) ^ std::process::id();
    Ok(Link::start(line, baud, nonce)?)
}

fn words(identity: &Identity, stats: &LinkStats, status: Option<&BoardStatus>) -> String {
    let mut out = format!(
        "board: {} clients, {} KiB of memory at {:#x}, unit at {:.1} MHz, line at {} baud\n",
        identity.clients,
        identity.ram_bytes >> 10,
        identity.ram_base,
        f64::from(identity.clock_hz) / 1e6,
        identity.baud
    );
    let LinkStats {
        frames,
        repeated,
        damaged,
        strange,
        sent,
        received,
    } = stats;
    out += &format!(
        "link: {frames} frames, {sent} bytes out, {received} in; {repeated} sent again, \
         {damaged} came damaged, {strange} came late\n"
    );
    if let Some(s) = status {
        out += &format!(
            "board saw: {} damaged, {} late, {} answered again, {} out of order\n",
            s.bad, s.late, s.repeated, s.strange
        );
    }
    out
}

/// Runs a scenario on a board.
pub fn board(options: &Options) -> Result<Exit> {
    let (name, mut scenario) = match &options.scenario {
        Some(path) => (path.display().to_string(), parse::open(path)?),
        None => {
            let lines = Lines::from_reader("built-in scenario", SCENARIO.as_bytes())?;
            ("built in".to_owned(), parse::read(lines)?)
        }
    };
    if let Some(requests) = options.requests {
        scale(&mut scenario, requests);
    }
    let seed = options.seed.unwrap_or(scenario.unit.seed);
    let json = match options.json.as_deref() {
        Some(path) if path != Path::new("-") => Some(Output::open("--json", path, &[])?),
        _ => None,
    };
    let port = options.port.display().to_string();
    let link = open(options, seed).with_context(|| format!("--port {port}"))?;
    let identity = link.identity();
    let mut target = BoardTarget::board(
        link,
        BoardOptions {
            seed,
            table: scenario.unit.table,
            fence_time: scenario.unit.fence_time,
        },
    )?;
    let bar = bar(run::length(&scenario), "requests");
    let result = run::run(&mut target, &scenario, seed, &mut |n| bar.inc(n));
    bar.finish_and_clear();
    let (report, failure) = match result {
        Ok(report) => (report, None),
        Err((report, error)) => (*report, Some(error)),
    };
    let link = target.port().link();
    let stats = link.stats;
    // After a failure of the link there is nobody to ask.
    let status = match &failure {
        Some(TargetError::Failed(_)) => None,
        _ => Some(link.status()?),
    };
    let mut machine = report.json();
    machine["scenario"] = json!(name);
    machine["seed"] = json!(seed);
    machine["port"] = json!(port);
    machine["clock_hz"] = json!(identity.clock_hz);
    machine["frames"] = json!(stats.frames);
    machine["frames_repeated"] = json!(stats.repeated);
    machine["frames_damaged"] = json!(stats.damaged);
    let text = format!(
        "scenario {name}, board at {port}, seed {seed}\n{}{}",
        words(&identity, &stats, status.as_ref()),
        report.text()
    );
    let mut machine = serde_json::to_string_pretty(&machine)?;
    machine.push('\n');
    let on_stdout = options.json.as_deref() == Some(Path::new("-"));
    if on_stdout {
        put(std::io::stderr().lock(), "standard error", &text)?;
        put(std::io::stdout().lock(), "standard output", &machine)?;
    } else {
        put(std::io::stdout().lock(), "standard output", &text)?;
    }
    if let Some(file) = json {
        file.write(&machine)?;
    }
    match failure {
        Some(TargetError::Failed(text)) => bail!("{text}"),
        _ if report.mismatch_count > 0 => Ok(Exit::Mismatch),
        _ => Ok(Exit::Good),
    }
}
