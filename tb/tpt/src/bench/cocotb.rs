// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Speed of the simulation beside cocotb: the same model text, the same requests, the same expected
//! beats, one after the other on the same machine.
//!
//! The requests go through the unit here first, judged by the reference as ever. They and their
//! beats are written into a file, with the memory that the unit needs; `tools/cocotb_bench.py` reads
//! it, sends the requests again and compares every beat.

use std::path::Path;
use std::process::Command;

use anyhow::{bail, Context as _, Result};
use serde_json::{json, Value};
use tpt_bench::Issue;
use tpt_golden::codec::{req, rsp, Field, MPT_BYTES};
use tpt_golden::regs;
use tpt_golden::types::LEVEL_FLAT;
use tpt_golden::types::{Beat, Request};

use super::rows::{pages_of, Stopwatch, LATENCY, PAGE, START};
use super::scene::{Scene, STREAMS};
use super::{unmeasured, Goal, Options, Row};

const ID: &str = "cocotb";
const WHAT: &str = "simulation speed against cocotb on the same RTL and requests";
const GOAL: Goal = Goal::AtLeast(30.0);
/// Pages of the region: more table lines than `small` keeps.
const PAGES: u64 = 2048;
/// Requests that are queued at once.
const AHEAD: usize = 64;
/// Exit code of the tool if cocotb is not there.
const NOT_INSTALLED: i32 = 3;

/// Why the row is not measured.
fn without(why: &str) -> Vec<Row> {
    vec![unmeasured(ID, WHAT, GOAL, "ratio", why)]
}

/// The payload of a request as one number, in hexadecimal.
fn payload(request: &Request) -> String {
    let words = request.pack();
    words
        .iter()
        .rev()
        .map(|word| format!("{word:08x}"))
        .collect()
}

/// A beat by the names of its fields; the tag is given anew each time a request is sent.
fn beat(beat: &Beat) -> Value {
    json!({"syndrome": beat.syndrome.code(), "pa": beat.pa, "len": beat.len,
        "relaxed": u8::from(beat.relaxed),
        "first": u8::from(beat.first), "last": u8::from(beat.last)})
}

/// Lowest bit and width of each field of a payload.
fn layout(fields: &[Field]) -> Value {
    fields
        .iter()
        .map(|field| (field.name.to_owned(), json!([field.lsb, field.width])))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn bytes(scene: &Scene, pa: u64, length: u64) -> Value {
    let mut data = vec![0; length as usize];
    scene.rig.host.mem.read(pa, &mut data);
    let text: String = data.iter().map(|byte| format!("{byte:02x}")).collect();
    json!([format!("{pa:x}"), text])
}

/// Sends all requests; the answers in the order of the requests.
fn send(
    scene: &mut Scene,
    requests: &[Request],
    region: &std::sync::Arc<tpt_golden::unit::Region>,
    keep_beats: bool,
) -> Result<Vec<Vec<Beat>>> {
    let (bench, mem) = (&mut scene.rig.bench, &mut scene.rig.host.mem);
    let mut answers = vec![Vec::new(); requests.len()];
    let (mut sent, mut answered, mut first) = (0, 0, None);
    while answered < requests.len() {
        while sent < requests.len() && sent - answered < AHEAD {
            let issue = Issue {
                region: Some(region.clone()),
                keep_beats,
                ..Issue::default()
            };
            let ticket = bench.issue_with(0, requests[sent], issue).0;
            first.get_or_insert(ticket);
            sent += 1;
        }
        bench.step(mem)?;
        while let Some(outcome) = bench.poll() {
            let place = outcome.ticket.0 - first.unwrap_or(0);
            answers[place as usize] = outcome.beats;
            answered += 1;
        }
    }
    bench.wait_idle(mem)?;
    Ok(answers)
}

/// Both speeds and their ratio.
pub fn cocotb(o: &Options) -> Result<Vec<Row>> {
    if o.quick && o.only.is_empty() {
        return Ok(without("not part of the quick run"));
    }
    let tool = Path::new("tools/cocotb_bench.py");
    if !o.python.exists() || !tool.exists() {
        return Ok(without(
            "needs tools/ and .venv of the project: run it in the project's folder, after make setup",
        ));
    }
    let probe = Command::new(&o.python)
        .arg(tool)
        .arg("--probe")
        .output()
        .with_context(|| format!("running {}", o.python.display()))?;
    if probe.status.code() == Some(NOT_INSTALLED) {
        return Ok(without(
            "cocotb is not installed; make bench-cocotb installs and runs it",
        ));
    }

    let mut scene = Scene::new(o.config, 64, o.seed)?;
    let spec = pages_of(START, PAGES, Some(LEVEL_FLAT));
    let table = scene.rig.build_table(&spec);
    let region = scene.plant(&spec, &table);
    scene.latency(LATENCY);
    let count = o.pick(300, 3_000);
    let mut requests = Vec::new();
    for _ in 0..count {
        // Mostly single pages of a small part that stays cached, some anywhere and over some pages.
        let rng = scene.rng();
        let (pages, len) = match rng.below(10) {
            0 => (PAGES - 8, 1 + rng.below(6 * PAGE) as u32),
            _ => (64, 64),
        };
        let va = START + rng.below(pages) * PAGE + rng.below(64) * 64;
        let stream = rng.below(STREAMS) as u8;
        let mut request = Scene::read_planted(&region, va, len).request;
        request.stream = stream;
        requests.push(request);
    }
    let answers = send(&mut scene, &requests, &region, true)?;

    let mut memory = vec![bytes(
        &scene,
        scene.rig.bench.entry_address(region.index),
        MPT_BYTES as u64,
    )];
    for range in table.ranges() {
        memory.push(bytes(&scene, range.pa, range.len));
    }
    let unit = scene.rig.bench.unit().clone();
    let mut registers = vec![
        (regs::MPT_BASE_LO, unit.mpt_base as u32),
        (regs::MPT_BASE_HI, (unit.mpt_base >> 32) as u32),
        (regs::MPT_SIZE, unit.mpt_size),
    ];
    for word in 0..4u16 {
        let place = usize::from(word);
        registers.push((regs::PERM_SECRET + 4 * word, unit.perm_secret[place]));
        registers.push((regs::TAG_SECRET + 4 * word, unit.tag_secret[place]));
    }
    registers.push((regs::CTRL, regs::ctrl::ENABLE));
    let list: Vec<Value> = requests
        .iter()
        .zip(&answers)
        .map(|(request, beats)| {
            json!({"payload": payload(request),
                "beats": beats.iter().map(beat).collect::<Vec<_>>()})
        })
        .collect();
    let folder = Path::new("build/cocotb");
    std::fs::create_dir_all(folder).context("build/cocotb")?;
    let file = folder.join(format!("requests-{}.json", o.config.name()));
    let text = json!({"config": o.config.name(), "latency": LATENCY, "ahead": AHEAD,
        "request": layout(req::FIELDS), "response": layout(rsp::FIELDS),
        "registers": registers, "status": [regs::STATUS, regs::status::READY],
        "memory": memory, "requests": list});
    std::fs::write(&file, text.to_string())
        .with_context(|| format!("{}: cannot be written", file.display()))?;

    // Here: the same requests again and again, for long enough, the best of three.
    let mut ours = 0f64;
    for _ in 0..3 {
        let (start, from) = (Stopwatch::start(), scene.rig.bench.clock());
        while scene.rig.bench.clock() < from + o.pick(40_000, 300_000) {
            send(&mut scene, &requests, &region, true)?;
        }
        ours = ours.max((scene.rig.bench.clock() - from) as f64 / start.seconds());
    }
    let output = Command::new(&o.python)
        .arg(tool)
        .arg(&file)
        .output()
        .with_context(|| format!("running {}", o.python.display()))?;
    let said = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        bail!(
            "tools/cocotb_bench.py ended with {}:\n{said}{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let last = said.lines().last().unwrap_or_default();
    let theirs: Value = serde_json::from_str(last)
        .with_context(|| format!("the last line of tools/cocotb_bench.py: {last}"))?;
    let speed = theirs["clocks_per_second"]
        .as_f64()
        .with_context(|| format!("no speed in {last}"))?;
    Ok(vec![Row {
        id: ID.into(),
        what: WHAT.into(),
        goal: Some(GOAL),
        figure: Some(ours / speed),
        unit: "ratio",
        wall: true,
        note: format!(
            "configuration {}, {count} requests, {} beats compared by both: {ours:.0} against \
             {speed:.0} clocks/s, processor time of one core",
            o.config.name(),
            theirs["beats"]
        ),
        data: json!({"clocks_per_second": ours, "cocotb": theirs, "requests": count}),
        ..Row::default()
    }])
}

#[cfg(test)]
mod tests {
    use super::*;
    use tpt_golden::types::Syndrome;

    /// The other bench compares all fields of a beat but those that it gives itself.
    #[test]
    fn a_beat_has_all_fields_of_the_channel() {
        let one = Beat {
            tag: 0,
            stream: 0,
            syndrome: Syndrome::Ok,
            pa: 0,
            len: 1,
            relaxed: true,
            first: true,
            last: true,
        };
        let Value::Object(fields) = beat(&one) else {
            panic!("a beat is an object");
        };
        let mut named: Vec<&str> = fields.keys().map(String::as_str).collect();
        named.extend(["tag", "stream"]);
        named.sort_unstable();
        let mut channel: Vec<&str> = rsp::FIELDS.iter().map(|field| field.name).collect();
        channel.sort_unstable();
        assert_eq!(named, channel);
    }
}
