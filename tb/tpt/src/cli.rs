// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! The commands of `tpt`, without the parsing of arguments.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, IsTerminal, Write};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use anyhow::{bail, Context as _, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{json, Value};

use crate::input::{kind_of, Kind, Lines};
use crate::machine::GoldenTarget;
use crate::report::{Counted, Operations};
use crate::scenario::parse::{Memory, Scenario, Unit};
use crate::tally::Tally;
use crate::target::{Target, TargetError};
use crate::trace::parse::Names;
use crate::trace::replay::TraceReport;
use crate::{scenario, textbook, trace, verdicts};

/// Clocks recorded before a mismatch.
pub(crate) const WAVES_BEFORE: u64 = 2000;

/// Options of all commands.
#[derive(Debug, Clone, Default)]
pub struct Common {
    /// Named configuration.
    pub config: Option<String>,
    /// No simulated unit.
    pub golden_only: bool,
    /// Commands on the direct channel instead of the queue in memory.
    pub direct: bool,
    /// Clocks from a read to its answer.
    pub latency: Option<RangeInclusive<u32>>,
    /// Seed.
    pub seed: Option<u64>,
    /// FST file.
    pub waves: Option<PathBuf>,
    /// Record the whole run.
    pub waves_whole: bool,
    /// Report for machines.
    pub json: Option<PathBuf>,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// All is well.
    Good,
    /// A mismatch or a disagreement.
    Mismatch,
}

/// Settings of a target.
#[derive(Debug, Clone)]
struct Setup {
    unit: Unit,
    #[cfg_attr(not(feature = "rtl"), allow(dead_code))]
    memory: Memory,
}

impl Setup {
    fn new(common: &Common, scenario: Option<&Scenario>) -> Self {
        let mut unit = scenario.map(|s| s.unit.clone()).unwrap_or_default();
        let mut memory = scenario.map(|s| s.memory.clone()).unwrap_or_default();
        if let Some(config) = &common.config {
            unit.config = Some(config.clone());
        }
        if let Some(seed) = common.seed {
            unit.seed = seed;
        }
        if let Some(latency) = &common.latency {
            memory.latency = latency.clone();
        }
        Self { unit, memory }
    }

    fn config(&self) -> &str {
        self.unit.config.as_deref().unwrap_or("default")
    }

    /// A target that is not enabled. `waves_from`: record from this clock on.
    fn target(
        &self,
        common: &Common,
        waves_from: Option<u64>,
    ) -> Result<Box<dyn Target>, TargetError> {
        if common.golden_only {
            return Ok(Box::new(GoldenTarget::golden(
                self.unit.seed,
                self.unit.table,
            )));
        }
        #[cfg(feature = "rtl")]
        {
            let waves = match (&common.waves, common.waves_whole, waves_from) {
                (Some(path), _, Some(from)) => Some((path.clone(), from)),
                (Some(path), true, None) => Some((path.clone(), 0)),
                _ => None,
            };
            Ok(Box::new(crate::rtl::RtlTarget::rtl(
                &crate::rtl::RtlOptions {
                    config: self.config().to_owned(),
                    seed: self.unit.seed,
                    table: self.unit.table,
                    fence_time: self.unit.fence_time,
                    latency: self.memory.latency.clone(),
                    reorder: self.memory.reorder,
                    stalls: self.memory.stalls,
                    waves,
                    direct: common.direct,
                },
            )?))
        }
        #[cfg(not(feature = "rtl"))]
        {
            let _ = waves_from;
            Err(TargetError::Failed(
                "this build has no simulated unit (feature \"rtl\"); use --golden-only".into(),
            ))
        }
    }
}

/// A file that the command writes. It is opened before the run, so that a run is not done for
/// nothing, and removed if it is new and nothing was written.
#[derive(Debug)]
pub(crate) struct Output {
    path: PathBuf,
    file: File,
    new: bool,
}

impl Output {
    /// Opens a file for the option `option`. A file that is there keeps its content until
    /// [`Output::write`]. `inputs` are files that must not be overwritten.
    pub(crate) fn open(option: &str, path: &Path, inputs: &[&Path]) -> Result<Self> {
        if path.is_dir() {
            bail!(
                "{option} {}: is a folder; expected the name of a file",
                path.display()
            );
        }
        if inputs.iter().any(|i| same_file(i, path)) {
            bail!(
                "{option} {}: is another file of this command; expected a file of its own",
                path.display()
            );
        }
        let new = !path.exists();
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .with_context(|| {
                format!(
                    "{option} {}: cannot be written; expected a file in a folder that is there",
                    path.display()
                )
            })?;
        Ok(Self {
            path: path.to_owned(),
            file,
            new,
        })
    }

    /// Replaces the content.
    pub(crate) fn write(mut self, text: &str) -> Result<()> {
        let regular = self.file.metadata().is_ok_and(|m| m.is_file());
        let done = if regular {
            self.file.set_len(0)
        } else {
            Ok(())
        };
        done.and_then(|()| self.file.write_all(text.as_bytes()))
            .and_then(|()| self.file.flush())
            .with_context(|| format!("{}: cannot be written", self.path.display()))?;
        self.new = false;
        Ok(())
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        // By the name: the writer of waves puts a file of its own there.
        if self.new
            && self
                .path
                .metadata()
                .is_ok_and(|m| m.is_file() && m.len() == 0)
        {
            // Nothing can be done about it, and the file is empty.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Do two names mean one file?
fn same_file(a: &Path, b: &Path) -> bool {
    #[cfg(unix)]
    if let (Ok(a), Ok(b)) = (a.metadata(), b.metadata()) {
        use std::os::unix::fs::MetadataExt as _;
        return (a.dev(), a.ino()) == (b.dev(), b.ino());
    }
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => a == b,
    }
}

/// What a command writes besides its words.
#[derive(Debug)]
struct Outputs {
    json: Option<Output>,
    /// Holds the place of the waves, which the simulated unit writes by itself.
    _waves: Option<Output>,
}

/// Checks the options and opens the outputs.
fn check(common: &Common, inputs: &[&Path]) -> Result<Outputs> {
    if common.waves.is_some() && common.golden_only {
        bail!("--waves needs the simulated unit; expected no --golden-only");
    }
    let mut taken = inputs.to_vec();
    let waves = match &common.waves {
        Some(path) => {
            let waves = Output::open("--waves", path, &taken)?;
            // The writer of waves goes back in its file.
            if !waves.file.metadata().is_ok_and(|m| m.is_file()) {
                bail!(
                    "--waves {}: is a device or a pipe; expected the name of a file",
                    path.display()
                );
            }
            taken.push(path);
            Some(waves)
        }
        None => None,
    };
    let json = match common.json.as_deref() {
        Some(path) if path != Path::new("-") => Some(Output::open("--json", path, &taken)?),
        _ => None,
    };
    Ok(Outputs {
        json,
        _waves: waves,
    })
}

/// A progress bar, if somebody can see it.
pub(crate) fn bar(length: u64, what: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(
        Some(length),
        if std::io::stderr().is_terminal() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        },
    );
    if let Ok(style) =
        ProgressStyle::with_template("{msg} [{bar:40}] {human_pos}/{human_len} {eta} left")
    {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_message(what.to_owned());
    bar
}

/// Writes to a standard stream. A reader that has gone away ends nothing and is no error: the
/// verdict is in the exit code.
pub(crate) fn put(mut to: impl Write, name: &str, text: &str) -> Result<()> {
    match to.write_all(text.as_bytes()).and_then(|()| to.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(e).with_context(|| format!("the {name} cannot be written"))
        }
        _ => Ok(()),
    }
}

/// Prints for people and writes the report for machines. The words go to the standard error if the
/// standard output is for machines.
fn tell(common: &Common, outputs: Outputs, text: &str, report: &Value) -> Result<()> {
    let mut machine = serde_json::to_string_pretty(report)?;
    machine.push('\n');
    let on_stdout = common.json.as_deref() == Some(Path::new("-"));
    let said = if on_stdout {
        put(std::io::stderr().lock(), "standard error", text)
    } else {
        put(std::io::stdout().lock(), "standard output", text)
    };
    let written = match outputs.json {
        Some(file) => file.write(&machine),
        None if on_stdout => put(std::io::stdout().lock(), "standard output", &machine),
        None => Ok(()),
    };
    said.and(written)
}

/// Says so if waves were asked for and there was nothing to record.
fn note_waves(common: &Common, recorded: bool) {
    if common.waves.is_some() && !common.waves_whole && !recorded {
        // If nobody can read it, nothing is lost.
        let _ = writeln!(
            std::io::stderr(),
            "tpt: unit and reference never differed, so no waves were recorded"
        );
    }
}

/// Where waves of a mismatch begin.
fn waves_start(common: &Common, error: &TargetError) -> Option<u64> {
    match error {
        TargetError::Mismatch {
            clock: Some(clock), ..
        } if common.waves.is_some() && !common.waves_whole => {
            Some(clock.saturating_sub(WAVES_BEFORE).max(1))
        }
        _ => None,
    }
}

/// `tpt run`.
pub fn run(path: &Path, common: &Common) -> Result<Exit> {
    let outputs = check(common, &[path])?;
    let scenario = scenario::parse::open(path)?;
    let setup = Setup::new(common, Some(&scenario));
    let length = scenario::run::length(&scenario);
    let once = |waves_from| {
        let bar = bar(length, "requests");
        let mut target = setup.target(common, waves_from)?;
        let result = scenario::run::run(&mut *target, &scenario, setup.unit.seed, &mut |n| {
            bar.inc(n)
        });
        bar.finish_and_clear();
        Ok::<_, TargetError>(result)
    };
    let mut recorded = false;
    let (report, failure) = match once(None)? {
        Ok(report) => (report, None),
        Err((report, error)) => {
            if let Some(from) = waves_start(common, &error) {
                let _ = once(Some(from))?;
                recorded = true;
            }
            (*report, Some(error))
        }
    };
    note_waves(common, recorded);
    let mut machine = report.json();
    machine["scenario"] = json!(path.display().to_string());
    machine["seed"] = json!(setup.unit.seed);
    tell(
        common,
        outputs,
        &format!(
            "scenario {}, {}, seed {}\n{}",
            path.display(),
            if common.golden_only {
                "golden reference alone".to_owned()
            } else {
                format!("configuration {}", setup.config())
            },
            setup.unit.seed,
            report.text()
        ),
        &machine,
    )?;
    match failure {
        Some(TargetError::Failed(text)) => bail!("{text}"),
        _ if report.mismatch_count > 0 => Ok(Exit::Mismatch),
        _ => Ok(Exit::Good),
    }
}

/// What a replay of one file found.
struct Replayed {
    trace: Option<TraceReport>,
    rebased: u64,
}

fn replay_file(
    target: &mut dyn Target,
    path: &Path,
    limit: Option<u64>,
    families: Option<&str>,
    tally: &mut Tally,
) -> Result<Replayed> {
    let file = path.display().to_string();
    let mut lines = Lines::open(path)?;
    let Some((place, first)) = lines.next_object()? else {
        return Err(crate::input::BadInput {
            file,
            line: 1,
            what: "the file is empty".into(),
            expected: "recorded verdicts or a trace, one JSON object per line".into(),
        }
        .into());
    };
    let kind = kind_of(&place, &first)?;
    let bar = bar(0, &file);
    let limit = limit.unwrap_or(u64::MAX);
    let mut next = Some((place, first));
    let mut read = 0u64;
    match kind {
        Kind::Verdicts => {
            let mut replayer = verdicts::replay::Replayer::new();
            while let Some((place, object)) = next {
                if read >= limit {
                    break;
                }
                read += 1;
                let case = verdicts::parse::parse(&place, &object)?;
                if families.map_or(true, |f| f.contains(case.family)) {
                    replayer.run(target, &file, case, tally)?;
                }
                bar.inc_length(1);
                bar.inc(1);
                next = lines.next_object()?;
            }
            replayer.finish(target, &file, tally)?;
            bar.finish_and_clear();
            Ok(Replayed {
                trace: None,
                rebased: replayer.rebased,
            })
        }
        Kind::Trace => {
            let mut names = Names::default();
            let mut events = Vec::new();
            while let Some((place, object)) = next {
                if read >= limit {
                    break;
                }
                read += 1;
                events.push(trace::parse::parse(&place, &object, &mut names)?);
                next = lines.next_object()?;
            }
            bar.set_length(events.len() as u64);
            let report = trace::replay::run(target, &file, &events, tally, &mut |n| bar.inc(n))?;
            bar.finish_and_clear();
            Ok(Replayed {
                trace: Some(report),
                rebased: 0,
            })
        }
    }
}

/// `tpt replay`.
pub fn replay(
    files: &[PathBuf],
    limit: Option<u64>,
    families: Option<&str>,
    common: &Common,
) -> Result<Exit> {
    if common.waves_whole && files.len() > 1 {
        bail!("--waves-whole records one run; expected one file to replay");
    }
    let inputs: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    let outputs = check(common, &inputs)?;
    let setup = Setup::new(common, None);
    let mut tally = Tally::default();
    let mut traces = Vec::new();
    let mut operations = Operations::default();
    let mut rebased = 0;
    let mut empty = Vec::new();
    let mut recorded = false;
    for path in files {
        let before = tally.total.replayed;
        // Every file gets a unit of its own: figures do not depend on what ran before.
        let mut target = setup.target(common, None)?;
        target.enable()?;
        let mut counted = Counted::new(&mut *target);
        match replay_file(&mut counted, path, limit, families, &mut tally) {
            Ok(r) => {
                operations.add(&counted.finish()?);
                rebased += r.rebased;
                traces.extend(r.trace);
            }
            Err(e) => {
                // A mismatch between unit and reference ends the file; anything else ends all.
                let Some(error @ TargetError::Mismatch { .. }) = e.downcast_ref::<TargetError>()
                else {
                    return Err(e);
                };
                // Only of the first mismatch.
                if let Some(from) = waves_start(common, error).filter(|_| !recorded) {
                    recorded = true;
                    let mut again = setup.target(common, Some(from))?;
                    again.enable()?;
                    let _ = replay_file(&mut *again, path, limit, families, &mut Tally::default());
                }
                let text = format!("unit and reference differ: {error}");
                tally.count(
                    &path.display().to_string(),
                    "unit",
                    || path.display().to_string(),
                    || "-".into(),
                    crate::tally::Judgement::Disagreed(text),
                );
            }
        }
        if tally.total.replayed == before {
            empty.push(path);
        }
    }
    note_waves(common, recorded);
    let mut text = operations.text();
    text.push('\n');
    if !traces.is_empty() {
        text += &format!("{}\n", TraceReport::head());
        for t in &traces {
            text += &format!("{}\n", t.row());
        }
        text.push('\n');
    }
    text += &tally.text();
    for path in &empty {
        text += &format!("\nnothing was replayed of {}\n", path.display());
    }
    if rebased > 0 {
        text += &format!(
            "\nown elements of ZERO_BASED regions, given to the unit as offsets: {rebased}\n"
        );
    }
    text += &format!("\n{}\n", tally.summary());
    tell(
        common,
        outputs,
        &text,
        &json!({
            "config": if common.golden_only { "golden" } else { setup.config() },
            "seed": setup.unit.seed,
            "operations": operations.json(),
            "tally": tally.json(),
            "traces": traces.iter().map(TraceReport::json).collect::<Vec<_>>(),
            "rebased": rebased,
        }),
    )?;
    if tally.total.replayed == 0 {
        bail!(
            "nothing was replayed; expected recordings with something to replay{}",
            if limit.is_some() || families.is_some() {
                " after --limit and --families"
            } else {
                ""
            }
        );
    }
    Ok(if tally.total.disagreed > 0 {
        Exit::Mismatch
    } else {
        Exit::Good
    })
}

/// `tpt textbook`.
pub fn textbook(common: &Common) -> Result<Exit> {
    let outputs = check(common, &[])?;
    let setup = Setup::new(common, None);
    let cases = textbook::cases();
    let once = |waves_from| {
        let bar = bar(cases.len() as u64, "regions");
        let mut target = setup.target(common, waves_from)?;
        target.enable()?;
        let (report, error) = textbook::run(&mut *target, &cases, &mut |n| bar.inc(n));
        bar.finish_and_clear();
        Ok::<_, TargetError>((report, error, target.commands()))
    };
    let (report, error, commands) = once(None)?;
    let from = error.as_ref().and_then(|e| waves_start(common, e));
    if from.is_some() {
        let _ = once(from)?;
    }
    note_waves(common, from.is_some());
    let (mut text, mut machine) = (report.text(), report.json());
    if let Some(path) = commands {
        text = format!("commands: {path}\n{text}");
        machine["commands"] = path.json();
    }
    tell(common, outputs, &text, &machine)?;
    match error {
        Some(TargetError::Failed(text)) => bail!("{text}"),
        _ if !report.mismatches.is_empty() => Ok(Exit::Mismatch),
        _ => Ok(Exit::Good),
    }
}
