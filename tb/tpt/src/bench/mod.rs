// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! `tpt bench`: figures of the simulated unit beside their targets.
//!
//! Clock figures come from the Verilated model with fixed seeds: they are the same on every
//! machine. Only the rows that say so depend on the machine.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{bail, Context as _, Result};
use serde_json::{json, Value};
use tpt_verilated::Config;

mod cocotb;
mod programs;
mod rows;
pub mod scene;

use crate::cli::Exit;

/// A clock figure that is worse than the baseline by more than this fails.
const TOLERANCE: f64 = 0.05;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// Configuration of the unit.
    pub config: Config,
    /// Start of all random choices.
    pub seed: u64,
    /// Shorter windows, fewer points.
    pub quick: bool,
    /// Only rows whose names begin with one of these; empty: all.
    pub only: Vec<String>,
    /// Folder of the traces.
    pub traces: PathBuf,
    /// Report for machines.
    pub json: Option<PathBuf>,
    /// Folder of the reports of `tools/fmax.py`.
    pub fmax: PathBuf,
    /// Python that has cocotb, for the row of that name.
    pub python: PathBuf,
    /// Earlier report: fails if a clock figure got worse.
    pub baseline: Option<PathBuf>,
}

impl Options {
    fn pick(&self, quick: u64, full: u64) -> u64 {
        if self.quick {
            quick
        } else {
            full
        }
    }

    /// Whether some row whose name begins with `group` is asked for.
    fn wants(&self, group: &str) -> bool {
        self.only.is_empty()
            || self
                .only
                .iter()
                .any(|only| only.starts_with(group) || group.starts_with(only.as_str()))
    }

    /// Tells what is going on.
    fn say(&self, text: &str) {
        let _ = writeln!(std::io::stderr(), "{text}");
    }
}

/// A target.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Goal {
    AtLeast(f64),
    AtMost(f64),
}

impl Goal {
    fn met(self, figure: f64) -> bool {
        match self {
            Self::AtLeast(goal) => figure >= goal,
            Self::AtMost(goal) => figure <= goal,
        }
    }

    fn text(self) -> String {
        match self {
            Self::AtLeast(goal) => format!(">= {}", number(goal)),
            Self::AtMost(goal) => format!("<= {}", number(goal)),
        }
    }
}

fn number(x: f64) -> String {
    if x.abs() >= 1000.0 || x == x.trunc() {
        format!("{x:.0}")
    } else {
        format!("{x:.3}")
    }
}

/// One line of the table.
#[derive(Clone, Debug, Default)]
struct Row {
    id: String,
    what: String,
    goal: Option<Goal>,
    /// `None`: not measured, the note says why.
    figure: Option<f64>,
    unit: &'static str,
    /// Depends on the machine.
    wall: bool,
    /// A point of a plot, without a target.
    plot_only: bool,
    note: String,
    data: Value,
}

impl Row {
    fn verdict(&self) -> &'static str {
        match (self.figure, self.goal) {
            (Some(figure), Some(goal)) if goal.met(figure) => "pass",
            (Some(_), _) => "falls short",
            (None, _) => "not measured",
        }
    }

    fn json(&self) -> Value {
        let (kind, goal) = match self.goal {
            Some(Goal::AtLeast(goal)) => ("at least", Some(goal)),
            Some(Goal::AtMost(goal)) => ("at most", Some(goal)),
            None => ("none", None),
        };
        json!({
            "id": self.id,
            "what": self.what,
            "goal": goal,
            "goal_is": kind,
            "figure": self.figure,
            "unit": self.unit,
            "verdict": if self.plot_only { "point" } else { self.verdict() },
            "wall_time": self.wall,
            "note": self.note,
            "data": self.data,
        })
    }
}

fn unmeasured(id: &str, what: &str, goal: Goal, unit: &'static str, why: &str) -> Row {
    Row {
        id: id.into(),
        what: what.into(),
        goal: Some(goal),
        unit,
        note: why.into(),
        ..Row::default()
    }
}

/// Targets that this command does not measure itself.
fn others(options: &Options) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (config, lut) in [("default", 20_000.0), ("small", 8_000.0)] {
        let report = options.fmax.join(format!("{config}.json"));
        let report: Value = match std::fs::read_to_string(&report) {
            Ok(text) => serde_json::from_str(&text)
                .with_context(|| format!("{}: no report", report.display()))?,
            Err(_) => Value::Null,
        };
        let place = |id: String, what: String, goal: Goal, unit: &'static str, figure: &Value| {
            let figure = figure.as_f64();
            Row {
                id,
                what,
                goal: Some(goal),
                figure,
                unit,
                wall: true,
                note: match figure {
                    Some(_) => format!("tools/fmax.py, seed {}", report["seed"]),
                    None => "place and route is a run of its own: tools/fmax.py".into(),
                },
                data: report.clone(),
                ..Row::default()
            }
        };
        for (grade, mhz) in [("6", 150.0), ("8", 170.0)] {
            rows.push(place(
                format!("ecp5-{config}-clock-{grade}"),
                format!("clock on ECP5-85F, configuration {config}, speed grade {grade}"),
                Goal::AtLeast(mhz),
                "MHz",
                &report["grades"][grade],
            ));
        }
        rows.push(place(
            format!("ecp5-{config}-lut4"),
            format!("size on ECP5-85F, configuration {config}, without block RAM"),
            Goal::AtMost(lut),
            "LUT4",
            &report["cells"]["LUT4"],
        ));
    }
    Ok(rows)
}

type Measure = fn(&Options) -> Result<Vec<Row>>;

/// Names of the groups of rows and what measures them.
const GROUPS: [(&str, Measure); 13] = [
    ("hits", rows::hits),
    ("long", rows::long),
    ("little", rows::little),
    ("peers", rows::peers),
    ("latency", rows::latency),
    ("isolation", rows::isolation),
    ("churn", rows::churn),
    ("commands", rows::commands),
    ("flat", rows::flat),
    ("merge", rows::merge),
    ("neighbours", rows::neighbours),
    ("lanes", rows::lanes),
    ("programs", programs::programs),
];

fn line(row: &Row) -> String {
    let goal = row.goal.map(Goal::text).unwrap_or_default();
    let figure = row.figure.map(number).unwrap_or_else(|| "-".into());
    format!(
        "{:<22} {:>10} {:>10} {:<14} {:<12} {}\n{:<22} {}",
        row.id,
        goal,
        figure,
        row.unit,
        row.verdict(),
        row.what,
        "",
        row.note
    )
}

/// `tpt bench`.
pub fn bench(options: &Options) -> Result<Exit> {
    if !options.config.sizes().built {
        bail!(
            "the configuration {} is not part of this build",
            options.config.name()
        );
    }
    let start = Instant::now();
    let mut rows: Vec<Row> = Vec::new();
    let alone: [(&str, Measure); 2] = [("speed", rows::speed), ("cocotb", cocotb::cocotb)];
    for (name, measure) in GROUPS.iter().chain(&alone) {
        if !options.wants(name) {
            continue;
        }
        options.say(&format!(
            "bench: {name} ({:.0} s)",
            start.elapsed().as_secs_f64()
        ));
        rows.extend(measure(options).with_context(|| format!("measuring {name}"))?);
    }
    rows.extend(others(options)?);
    let named = |row: &Row| {
        options.only.is_empty()
            || options
                .only
                .iter()
                .any(|only| row.id.starts_with(only.as_str()))
    };
    rows.retain(named);
    let mut out = format!(
        "configuration {}, seed {}, memory latency {} clocks unless the row says otherwise\n\n\
         {:<22} {:>10} {:>10} {:<14} {:<12} what\n",
        options.config.name(),
        options.seed,
        rows::LATENCY,
        "row",
        "target",
        "figure",
        "unit",
        "verdict",
    );
    let (mut met, mut of) = (0, 0);
    for row in rows.iter().filter(|row| !row.plot_only) {
        out += &line(row);
        out.push('\n');
        of += 1;
        met += usize::from(row.verdict() == "pass");
    }
    let worse = match &options.baseline {
        Some(path) => regressions(options, &rows, path)?,
        None => Vec::new(),
    };
    for text in &worse {
        out += &format!("worse than the baseline: {text}\n");
    }
    if let (false, Some(path)) = (worse.is_empty(), &options.baseline) {
        out += &format!(
            "figures gone or more than {1:.0} % worse than in {2}: {0}.\n\
             If that is meant, renew the baseline: make bench-quick-baseline\n",
            worse.len(),
            TOLERANCE * 100.0,
            path.display()
        );
    }
    out += &format!("\nbench: {met} of {of} targets met\n");
    print!("{out}");
    if let Some(path) = &options.json {
        let value = json!({
            "config": options.config.name(),
            "seed": options.seed,
            "quick": options.quick,
            "memory_latency": rows::LATENCY,
            "targets": of,
            "met": met,
            "rows": rows.iter().map(Row::json).collect::<Vec<_>>(),
        });
        let mut text = serde_json::to_string_pretty(&value)?;
        text.push('\n');
        std::fs::write(path, text)
            .with_context(|| format!("{}: cannot be written", path.display()))?;
    }
    Ok(if worse.is_empty() {
        Exit::Good
    } else {
        Exit::Mismatch
    })
}

/// Clock figures that are worse than in an earlier report, a line each: row, figure, baseline.
/// Figures that depend on the machine are never among them.
fn regressions(options: &Options, rows: &[Row], path: &Path) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("{}: cannot be read", path.display()))?;
    let old: Value =
        serde_json::from_str(&text).with_context(|| format!("{}: no report", path.display()))?;
    for (what, then, now) in [
        (
            "configuration",
            &old["config"],
            json!(options.config.name()),
        ),
        ("seed", &old["seed"], json!(options.seed)),
        ("quick", &old["quick"], json!(options.quick)),
    ] {
        if *then != now {
            bail!(
                "{}: a report with {what} {then} cannot be the baseline of one with {what} {now}",
                path.display()
            );
        }
    }
    let known = old["rows"].as_array().map_or(&[][..], Vec::as_slice);
    let mut worse = Vec::new();
    // Rows that are gone.
    for old in known.iter().filter(|_| options.only.is_empty()) {
        let id = old["id"].as_str().unwrap_or_default();
        let judged = old["goal"].is_number() && old["wall_time"] != true;
        if judged && old["figure"].is_number() && rows.iter().all(|row| row.id != id) {
            worse.push(format!("{id}: the row is gone"));
        }
    }
    for row in rows.iter().filter(|row| !row.wall) {
        let before = known
            .iter()
            .find(|old| old["id"] == row.id.as_str())
            .and_then(|old| old["figure"].as_f64());
        let (Some(before), Some(goal)) = (before, row.goal) else {
            continue;
        };
        let Some(now) = row.figure else {
            worse.push(format!(
                "{}: no figure, baseline {} {}",
                row.id,
                number(before),
                row.unit
            ));
            continue;
        };
        let bad = match goal {
            Goal::AtLeast(_) => now < before * (1.0 - TOLERANCE),
            Goal::AtMost(_) => now > before * (1.0 + TOLERANCE),
        };
        if bad {
            let change = match before {
                0.0 => String::new(),
                _ => format!(", {:+.1} %", (now / before - 1.0) * 100.0),
            };
            worse.push(format!(
                "{}: {} {}, baseline {}{change}",
                row.id,
                number(now),
                row.unit,
                number(before)
            ));
        }
    }
    Ok(worse)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(figure: f64, goal: Goal) -> Row {
        Row {
            id: "x".into(),
            goal: Some(goal),
            figure: Some(figure),
            ..Row::default()
        }
    }

    #[test]
    fn verdicts_follow_the_goal() {
        assert_eq!(row(0.99, Goal::AtLeast(0.99)).verdict(), "pass");
        assert_eq!(row(0.98, Goal::AtLeast(0.99)).verdict(), "falls short");
        assert_eq!(row(18.0, Goal::AtMost(18.0)).verdict(), "pass");
        assert_eq!(row(19.0, Goal::AtMost(18.0)).verdict(), "falls short");
        let none = unmeasured("x", "", Goal::AtMost(1.0), "", "");
        assert_eq!(none.verdict(), "not measured");
    }

    fn options() -> Options {
        Options {
            config: Config::Small,
            seed: 1,
            quick: true,
            only: Vec::new(),
            traces: PathBuf::new(),
            json: None,
            fmax: PathBuf::new(),
            python: PathBuf::new(),
            baseline: None,
        }
    }

    #[test]
    fn five_percent_are_tolerated() {
        let path = std::env::temp_dir().join(format!("tpt-baseline-{}.json", std::process::id()));
        let write = |seed: u64| {
            let text = json!({"config": "small", "seed": seed, "quick": true,
                "rows": [{"id": "x", "figure": 100.0}]});
            std::fs::write(&path, text.to_string()).unwrap();
        };
        write(1);
        let count = |row: Row| regressions(&options(), &[row], &path).unwrap().len();
        assert_eq!(count(row(95.5, Goal::AtLeast(1.0))), 0);
        assert_eq!(count(row(94.0, Goal::AtLeast(1.0))), 1);
        assert_eq!(count(row(104.0, Goal::AtMost(1.0))), 0);
        assert_eq!(count(row(106.0, Goal::AtMost(1.0))), 1);
        // A figure that is gone is worse, one of this machine is never.
        assert_eq!(count(unmeasured("x", "", Goal::AtMost(1.0), "", "")), 1);
        let slow = Row {
            wall: true,
            ..row(1.0, Goal::AtLeast(1.0))
        };
        assert_eq!(count(slow), 0);
        // And so is a row that is gone.
        let text = json!({"config": "small", "seed": 1, "quick": true,
            "rows": [{"id": "y", "figure": 1.0, "goal": 1.0, "wall_time": false}]});
        std::fs::write(&path, text.to_string()).unwrap();
        assert_eq!(count(row(1.0, Goal::AtLeast(1.0))), 1);
        // What was measured otherwise is no baseline.
        write(2);
        assert!(regressions(&options(), &[], &path).is_err());
        std::fs::remove_file(&path).unwrap();
    }
}
