// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! The simulated unit: all recordings of the project, the scenarios, the textbook, waves.
#![cfg(feature = "rtl")]

mod common;

use std::io::Write as _;
use std::path::PathBuf;

use common::{last_line, recording, recordings, root, stderr, stdout, temporary, tpt};
use serde_json::Value;
use tpt::machine::GoldenTarget;
use tpt::rtl::{RtlOptions, RtlTarget};
use tpt::target::{Access1, Damage, Registration, Target, TargetError, REQUESTER};
use tpt_golden::frames::FrameList;
use tpt_golden::mtt::Shape;
use tpt_golden::types::{Access, Op, Request, Syndrome};

fn agrees(args: &[&str], files: &[PathBuf]) -> Value {
    let out = tpt(args
        .iter()
        .map(|s| (*s).to_owned())
        .chain(["--json".to_owned(), "-".to_owned()])
        .chain(files.iter().map(|f| f.display().to_string())));
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    // Straight to the log, also of a test that passes: who tests wants to see the counts.
    let _ = writeln!(std::io::stderr(), "\n{}", stderr(&out));
    serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {}", stdout(&out)))
}

#[test]
fn recorded_verdicts_agree_in_both_configurations() {
    for config in ["default", "small"] {
        let report = agrees(
            &["replay", "--config", config, "--latency", "5..60"],
            &recordings("conformance"),
        );
        let total = &report["tally"]["total"];
        assert_eq!(total["replayed"], 9213, "{config}");
        assert_eq!(total["known_differences"], 408, "{config}");
        assert_eq!(total["disagreed"], 0, "{config}");
        assert_eq!(total["needs_windows"], 0, "{config}");
    }
}

#[test]
fn traces_agree() {
    let files = recordings("traces");
    let report = agrees(&["replay"], &files);
    assert_eq!(report["tally"]["total"]["disagreed"], 0);
    let traces = report["traces"].as_array().cloned().unwrap_or_default();
    assert_eq!(traces.len(), files.len());
    for t in &traces {
        // Every access went through the unit, and its own counters say so.
        assert_eq!(t["unit"]["requests"], t["accesses"], "{t}");
        assert_eq!(t["unit"]["beats"], t["beats"], "{t}");
        assert!(
            t["unit"]["clocks"].as_u64() > t["accesses"].as_u64().map(|a| a / 2),
            "{t}"
        );
    }
}

#[test]
fn traces_agree_in_the_small_configuration_with_a_slow_memory() {
    let names = [
        "pt_write_bw_s1M",
        "ucx_tag_lat_iov",
        "mpi_rma_np2",
        "qemu_migrate_dynamic",
    ];
    let files: Vec<_> = names
        .iter()
        .map(|n| recording(&format!("traces/{n}")))
        .collect();
    let report = agrees(
        &[
            "replay",
            "--config",
            "small",
            "--latency",
            "20..400",
            "--seed",
            "9",
        ],
        &files,
    );
    assert_eq!(report["tally"]["total"]["disagreed"], 0);
}

/// A lie is found just the same when the simulated unit answers.
#[test]
fn a_planted_lie_is_found() {
    let mut lines: Vec<String> = common::lines(&recording("conformance/siw"))
        .into_iter()
        .filter(|l| l.contains("\"family\":\"D\""))
        .take(50)
        .collect();
    let place = lines
        .iter()
        .position(|l| l.contains("\"accepted\":false"))
        .unwrap_or_else(|| panic!("no refused case"));
    lines[place] = lines[place].replace("\"accepted\":false", "\"accepted\":true");
    let path = temporary("rtl_lie.jsonl", lines.join("\n").as_bytes());
    let out = tpt(["replay", &path.display().to_string()]);
    assert_eq!(out.status.code(), Some(1));
    assert!(
        last_line(&out).ends_with("disagreed: 1"),
        "{}",
        stdout(&out)
    );
}

#[test]
fn scenarios_have_no_mismatch() {
    for name in ["quick", "errors", "churn", "source-text", "windows"] {
        let path = root().join(format!("scenarios/{name}.tpt"));
        let out = tpt(["run", &path.display().to_string()]);
        eprintln!("{}", stdout(&out));
        assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
        assert_eq!(last_line(&out), "mismatches: 0");
    }
}

/// The slowest memory that a scenario may ask for is slow, not a fault of the unit.
#[test]
fn a_very_slow_memory_is_no_mismatch() {
    let text = "[unit]\nconfig = small\ntable = 64\n[memory]\nlatency = 100000\n\
                [region r]\nsize = 64 KiB\n[traffic t]\nrequests = 6\n";
    let file = temporary("very-slow.tpt", text.as_bytes());
    let out = tpt(["run", &file.display().to_string()]);
    assert_eq!(
        out.status.code(),
        Some(0),
        "{}{}",
        stdout(&out),
        stderr(&out)
    );
    assert_eq!(last_line(&out), "mismatches: 0");
}

#[test]
fn textbook_has_no_mismatch() {
    let out = tpt(["textbook"]);
    eprintln!("{}", stdout(&out));
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    assert_eq!(last_line(&out), "mismatches: 0");
}

#[test]
fn the_same_seed_gives_the_same_clocks() {
    let path = root().join("scenarios/quick.tpt").display().to_string();
    let run = |seed: &str| stdout(&tpt(["run", &path, "--seed", seed]));
    assert_eq!(run("11"), run("11"));
    assert_ne!(run("11"), run("12"));
}

#[test]
fn waves_of_a_whole_run() {
    let path = temporary("whole.fst", b"");
    let file = recording("traces/pt_write_bw_s1M").display().to_string();
    let out = tpt([
        "replay",
        "--config",
        "small",
        "--limit",
        "40",
        "--waves",
        &path.display().to_string(),
        "--waves-whole",
        &file,
    ]);
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    let size = std::fs::metadata(&path).map(|m| m.len()).unwrap_or(0);
    assert!(size > 1000, "{size} bytes of waves");
}

fn options(waves: Option<(PathBuf, u64)>) -> RtlOptions {
    RtlOptions {
        config: "small".into(),
        seed: 3,
        table: 64,
        fence_time: 0,
        latency: 10..=30,
        reorder: true,
        stalls: 10,
        waves,
        direct: false,
    }
}

fn registration() -> Registration {
    Registration {
        pd: 4,
        start: 0x10_0000,
        length: 0x8000,
        access: Access(0xf),
        frames: FrameList::from_addresses(
            12,
            [
                0x1000, 0x5000, 0x3000, 0x9000, 0x7000, 0xd000, 0xb000, 0xf000,
            ]
            .map(|pa| (1u64 << 50) + pa),
        ),
        shape: Shape::pages_of(12),
    }
}

fn access(region: &tpt::target::Region, va: u64, len: u32) -> Access1 {
    Access1 {
        client: REQUESTER,
        request: Request {
            op: Op::LocalWrite.code(),
            key: region.lkey,
            va,
            len,
            pd: 4,
            ..Request::default()
        },
    }
}

/// A reference that believes in other frames than the table: a mismatch with its clock, and the
/// same clock again with the same seed, this time with waves.
#[test]
fn a_mismatch_is_an_error_with_a_clock_and_waves() {
    let once = |waves| -> (TargetError, u64) {
        let mut t = RtlTarget::rtl(&options(waves)).unwrap_or_else(|e| panic!("{e}"));
        t.enable().unwrap_or_else(|e| panic!("{e}"));
        let region = t
            .register(&registration())
            .unwrap_or_else(|e| panic!("{e}"))
            .unwrap_or_else(|e| panic!("{e}"));
        let good = t.access(&[access(&region, 0x10_0000, 64)]);
        assert_eq!(good.map(|a| a[0].syndrome), Ok(Syndrome::Ok));
        use tpt::machine::Port as _;
        let golden = t.port().golden();
        let index = golden.keys().decode(region.lkey).1;
        let wrong = FrameList::contiguous(12, 1 << 51, 8);
        golden.set_pages(index, std::sync::Arc::new(wrong));
        match t.access(&[access(&region, 0x10_2000, 64)]) {
            Err(
                e @ TargetError::Mismatch {
                    clock: Some(clock), ..
                },
            ) => (e, clock),
            other => panic!("no mismatch, but {other:?}"),
        }
    };
    let (first, clock) = once(None);
    let path = temporary("mismatch.fst", b"");
    let (second, again) = once(Some((path.clone(), clock.saturating_sub(50))));
    assert_eq!((&first, clock), (&second, again));
    assert!(first.to_string().contains("mismatch"), "{first}");
    let size = std::fs::metadata(&path).map(|m| m.len()).unwrap_or(0);
    assert!(size > 500, "{size} bytes of waves");
}

/// The golden reference alone and the simulated unit give the same answers, damage included.
#[test]
fn both_targets_answer_alike() {
    let mut rtl = RtlTarget::rtl(&options(None)).unwrap_or_else(|e| panic!("{e}"));
    let mut golden = GoldenTarget::golden(3, 64);
    let run = |t: &mut dyn Target, damage: Option<Damage>| -> Result<Vec<_>, TargetError> {
        let region = t
            .register(&registration())?
            .unwrap_or_else(|e| panic!("{e}"));
        if let Some(d) = damage {
            t.damage(region.id, d, true)?;
        }
        let answers = t.access(&[
            access(&region, 0x10_0000, 0x8000),
            access(&region, 0x10_7fff, 1),
            access(&region, 0x10_7fff, 2),
            access(&region, 0x10_4ffc, 8),
        ])?;
        if let Some(d) = damage {
            t.damage(region.id, d, false)?;
        }
        t.deregister(region.id)?;
        Ok(answers)
    };
    rtl.enable().unwrap_or_else(|e| panic!("{e}"));
    golden.enable().unwrap_or_else(|e| panic!("{e}"));
    for damage in [
        None,
        Some(Damage::Absent(4)),
        Some(Damage::Misaligned(5)),
        Some(Damage::Entry),
    ] {
        let a = run(&mut rtl, damage);
        let b = run(&mut golden, damage);
        assert_eq!(a, b, "{damage:?}");
        assert!(a.is_ok(), "{a:?}");
    }
}

/// Commands go through the queue, and every one has its completion; the direct channel does the
/// same work.
#[test]
fn commands_go_through_the_queue_or_on_the_direct_channel() {
    let path = root().join("scenarios/quick.tpt").display().to_string();
    let run = |more: &[&str]| -> serde_json::Value {
        let mut args = vec!["run", &path, "--config", "small", "--json", "-"];
        args.extend(more);
        let out = tpt(args);
        assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
        serde_json::from_str(&stdout(&out)).unwrap_or_else(|e| panic!("{e}"))
    };
    let (queue, direct) = (run(&[]), run(&["--direct"]));
    assert_eq!(queue["commands"]["queue"], true);
    assert_eq!(direct["commands"]["queue"], false);
    assert_eq!(direct["commands"]["doorbells"], 0);
    let completions = queue["commands"]["completions"].as_u64();
    assert!(completions > Some(20), "{queue}");
    assert_eq!(queue["commands"]["doorbells"].as_u64(), completions);
    assert_eq!(direct["commands"]["completions"].as_u64(), completions);
    assert_eq!(queue["registered"], direct["registered"]);
    let out = tpt(["run", &path, "--config", "small"]);
    assert!(stdout(&out).contains("commands: through the queue, "));
    let out = tpt(["run", &path, "--direct", "--golden-only"]);
    assert_eq!(out.status.code(), Some(2), "both make no sense");
}

/// A unit without queues is said to be one.
#[test]
fn a_unit_without_queues_is_named() {
    let path = tpt::target::CommandPath {
        missing: true,
        completions: 3,
        ..Default::default()
    };
    let text = "direct channel (the unit was built without queues), 3 completions";
    assert_eq!(path.to_string(), text);
}
