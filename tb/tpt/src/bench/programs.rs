// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Recorded programs, back to back: all accesses of a trace in its order, as fast as the unit takes
//! them.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use anyhow::{bail, Context as _, Result};
use serde_json::{json, Value};
use tpt_bench::axi::{AxiConfig, Sample};
use tpt_bench::rig::Rig;
use tpt_bench::{BenchOptions, Clocks, CommandExtra, UnitConfig};
use tpt_golden::driver::{Caps, Driver, DriverError, Mr, RegArgs};
use tpt_golden::frames::Translation;
use tpt_golden::regs::counter;
use tpt_golden::types::{Command, Completion, Request, Status, Syndrome};

use super::rows::LATENCY;
use super::scene::{counted, Load, Scene, Window, CLIENTS};
use super::{Goal, Options, Row};
use crate::input::{kind_of, Kind, Lines};
use crate::machine::{GoldenTarget, MAX_LEVELS, MPT_BASE};
use crate::tally::Tally;
use crate::target::{
    Access1, Answer, Counters, Damage, Refused, Region, RegionId, Registration, Target, TargetError,
};
use crate::trace;

/// Traces with at least so many accesses have the target.
const LONG: u64 = 10_000;
/// Percent of the accesses that are not measured, at the beginning of a run.
const WARM: u64 = 10;
/// Beats per clock that they shall reach.
const RATE: f64 = 0.9;
/// Entries of the table of regions.
const TABLE: u32 = 1 << 12;

/// Registers what the trace registers, and keeps the accesses for later. Regions are not
/// deregistered: all accesses come after all registrations.
struct Recorder {
    scene: Scene,
    driver: Driver,
    regions: Vec<Mr>,
    requests: [VecDeque<Request>; CLIENTS],
    order: u64,
}

fn failed(error: impl std::fmt::Display) -> TargetError {
    TargetError::Failed(error.to_string())
}

impl Recorder {
    fn command(
        &mut self,
        mut command: Command,
        pages: Option<Translation>,
    ) -> Result<Completion, TargetError> {
        command.id = self.scene.rig.id();
        let extra = CommandExtra {
            pages,
            ..CommandExtra::default()
        };
        self.scene.rig.command(command, extra).map_err(failed)
    }
}

impl Target for Recorder {
    fn register(&mut self, a: &Registration) -> Result<Result<Region, Refused>, TargetError> {
        let args = RegArgs::from(a);
        let host = &mut self.scene.rig.host;
        let (command, handle) = match self.driver.prepare_reg(host, &args) {
            Ok(prepared) => prepared,
            Err(error) => return Ok(Err(Refused::Driver(error.to_string()))),
        };
        let pages: Translation = handle.translation();
        let mut done = self.command(command, Some(pages))?;
        done.id = command.id;
        match self
            .driver
            .finish_reg(&mut self.scene.rig.host, handle, &done)
        {
            Ok(mr) => {
                let region = Region {
                    id: RegionId(self.regions.len() as u32),
                    lkey: mr.lkey(),
                    rkey: mr.rkey(),
                    log_page: mr.table().log_page(),
                    level: mr.table().level(),
                    entries: mr.table().entries(),
                    table_bytes: mr.table().table_bytes(),
                };
                self.regions.push(mr);
                Ok(Ok(region))
            }
            Err(DriverError::Refused(status)) => Ok(Err(Refused::Unit(status))),
            Err(other) => Err(failed(other)),
        }
    }

    fn deregister(&mut self, _id: RegionId) -> Result<Status, TargetError> {
        Ok(Status::Ok)
    }

    fn refused_command(&mut self, command: &Command) -> Result<Completion, TargetError> {
        self.command(*command, None)
    }

    fn access(&mut self, batch: &[Access1]) -> Result<Vec<Answer>, TargetError> {
        let golden = &self.scene.rig.bench.golden;
        let mut answers = Vec::with_capacity(batch.len());
        for access in batch {
            let request = &access.request;
            let mut answer = Answer {
                syndrome: Syndrome::Ok,
                segments: Vec::new(),
            };
            for beat in golden.judge(request).beats(request) {
                if beat.syndrome != Syndrome::Ok {
                    answer.syndrome = beat.syndrome;
                } else if beat.len > 0 {
                    answer.segments.push((beat.pa, beat.len));
                }
            }
            answers.push(answer);
            self.requests[usize::from(access.client)].push_back(*request);
            self.order += 1;
        }
        Ok(answers)
    }

    fn access_while(
        &mut self,
        batch: &[Access1],
        _deregister: &[(usize, RegionId)],
    ) -> Result<Vec<Answer>, TargetError> {
        self.access(batch)
    }

    fn damage(&mut self, _id: RegionId, _what: Damage, _on: bool) -> Result<(), TargetError> {
        Err(failed("nothing is damaged here"))
    }

    fn access_disabled(&mut self, _access: &Access1) -> Result<Answer, TargetError> {
        Err(failed("the unit is enabled"))
    }

    fn enable(&mut self) -> Result<(), TargetError> {
        Ok(())
    }

    fn access_tag_busy(&mut self, _access: &Access1) -> Result<Answer, TargetError> {
        Err(failed("no tag is in use"))
    }

    fn counters(&mut self) -> Result<Option<Counters>, TargetError> {
        Ok(None)
    }

    fn clock(&self) -> Option<u64> {
        None
    }
}

/// A scene whose memory is where no recorded frame is.
fn scene(o: &Options) -> Result<Scene> {
    let options = BenchOptions {
        config: o.config,
        seed: o.seed,
        axi: AxiConfig {
            read_latency: Clocks::fixed(1),
            write_latency: Clocks::fixed(1),
            sample: Sample::Early,
            ..AxiConfig::default()
        },
        patience: 200_000,
        ..BenchOptions::default()
    };
    let unit = UnitConfig {
        mpt_base: MPT_BASE,
        mpt_size: TABLE,
        ..UnitConfig::default()
    };
    let mut rig = Rig::disabled(options)?;
    rig.host = GoldenTarget::host(o.seed);
    rig.bench.enable(&mut rig.host.mem, &unit)?;
    Ok(Scene::over(rig, o.seed, TABLE))
}

/// All accesses, as fast as they are taken; measured behind the first of them.
fn play(
    scene: &mut Scene,
    requests: &mut [VecDeque<Request>; CLIENTS],
    total: u64,
) -> Result<Window> {
    let mut loads = Vec::new();
    for (client, queue) in requests.iter_mut().enumerate() {
        loads.push(Load {
            client,
            limit: None,
            next: Box::new(move |_| queue.pop_front().map(Into::into)),
        });
    }
    scene.run_all(&mut loads, total * WARM / 100, total)
}

fn one(o: &Options, path: &Path) -> Result<Option<Value>> {
    let mut lines = Lines::open(path)?;
    let Some((place, first)) = lines.next_object()? else {
        bail!("{}: empty", path.display());
    };
    if !matches!(kind_of(&place, &first)?, Kind::Trace) {
        return Ok(None);
    }
    let mut names = trace::parse::Names::default();
    let mut events = Vec::new();
    let mut next = Some((place, first));
    while let Some((place, object)) = next {
        events.push(trace::parse::parse(&place, &object, &mut names)?);
        next = lines.next_object()?;
    }
    let mut recorder = Recorder {
        scene: scene(o)?,
        driver: Driver::new(Caps {
            max_levels: MAX_LEVELS,
            ..Caps::default()
        }),
        regions: Vec::new(),
        requests: Default::default(),
        order: 0,
    };
    let file = path.display().to_string();
    let report = trace::replay::run(
        &mut recorder,
        &file,
        &events,
        &mut Tally::default(),
        &mut |_| {},
    )
    .with_context(|| file.clone())?;
    let Recorder {
        mut scene,
        mut requests,
        order: total,
        ..
    } = recorder;
    if total == 0 {
        return Ok(None);
    }
    let lengths = [requests[0].len(), requests[1].len()];
    scene.latency(LATENCY);
    let before = scene.counters()?;
    let start = (scene.rig.bench.clock(), scene.rig.bench.stats.segments);
    let mut again = requests.clone();
    let window = play(&mut scene, &mut requests, total)?;
    let clocks = scene.rig.bench.clock() - start.0;
    let beats = scene.rig.bench.stats.segments - start.1;
    let after = scene.counters()?;
    let count = |n| counted(&before, &after, n);
    // The same once more: what was a first touch is none now.
    let second = play(&mut scene, &mut again, total)?;
    // Nothing without look-ups: pages inside entries need no table.
    let rate =
        |hits: u64, misses: u64| (hits + misses > 0).then(|| hits as f64 / (hits + misses) as f64);
    // A window shorter than a few memory latencies says nothing.
    let warm = window.clocks >= 8 * u64::from(LATENCY);
    let name = path
        .file_name()
        .map(|n| n.to_string_lossy().replace(".jsonl.gz", ""))
        .unwrap_or_default();
    Ok(Some(json!({
        "name": name,
        "accesses": total,
        "by_client": lengths,
        "registrations": report.registrations,
        "beats": beats,
        "beats_per_access": beats as f64 / total as f64,
        "whole_clocks": clocks,
        "clocks_per_access": clocks as f64 / total as f64,
        "warm_clocks": window.clocks,
        "warm_beats": window.beats,
        "warm_beats_per_clock": warm.then(|| window.beats_per_clock()),
        "warm_accesses_per_clock": warm.then(|| window.rate()),
        "again_beats_per_clock": warm.then(|| second.beats_per_clock()),
        "again_reads_per_access": warm.then(|| second.reads_per_request()),
        "mpt_hit_rate": rate(count(counter::MPT_HIT), count(counter::MPT_MISS)),
        "mtt_hit_rate": rate(count(counter::MTT_HIT), count(counter::MTT_MISS)),
        "reads_per_access":
            (count(counter::MPT_READ) + count(counter::MTT_READ)) as f64 / total as f64,
        "warm_reads_per_access": warm.then(|| window.reads_per_request()),
    })))
}

/// All traces of a folder, or a few of them.
pub fn programs(o: &Options) -> Result<Vec<Row>> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&o.traces)
        .with_context(|| format!("{}: the recordings are not there", o.traces.display()))?
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|p| p.to_string_lossy().ends_with(".jsonl.gz"))
        .collect();
    paths.sort();
    if o.quick {
        let few = [
            "pt_write_bw_s64.",
            "pt_read_bw_s4096_q4.",
            "frag_fi_rdm.",
            "mpi_rma_np2.",
        ];
        paths.retain(|p| few.iter().any(|f| p.to_string_lossy().contains(f)));
    }
    let mut traces = Vec::new();
    for path in &paths {
        o.say(&format!("  {}", path.display()));
        traces.extend(one(o, path)?);
    }
    let number = |t: &Value, key: &str| t[key].as_f64().unwrap_or(0.0);
    let long: Vec<&Value> = traces
        .iter()
        .filter(|t| number(t, "accesses") >= LONG as f64)
        .collect();
    let row = |id: &str, key: &str, what: String| {
        let worst = long
            .iter()
            .min_by(|a, b| number(a, key).total_cmp(&number(b, key)))
            .map(|t| (number(t, key), t["name"].clone()));
        let good = long.iter().filter(|t| number(t, key) >= RATE).count();
        let note = match &worst {
            Some((_, name)) => format!(
                "worst: {}; {good} of {} traces reach it; {} shorter ones in the JSON",
                name.as_str().unwrap_or("?"),
                long.len(),
                traces.len() - long.len()
            ),
            None => "no trace of this length".to_owned(),
        };
        Row {
            id: id.into(),
            what,
            goal: Some(Goal::AtLeast(RATE)),
            figure: worst.map(|w| w.0),
            unit: "beats/clock",
            note,
            ..Row::default()
        }
    };
    let what = format!(
        "recorded programs of {LONG} accesses or more, back to back, 250-clock memory, after the \
         first {WARM} %"
    );
    let mut rows = vec![
        row(
            "programs",
            "again_beats_per_clock",
            format!("{what}, warm: the same has run before"),
        ),
        row(
            "programs-first",
            "warm_beats_per_clock",
            format!("{what} of the first run"),
        ),
    ];
    rows[0].data = json!({ "traces": traces });
    Ok(rows)
}
