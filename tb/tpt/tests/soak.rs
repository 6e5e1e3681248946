// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! `tpt soak` and `tpt campaign`: the same episodes whoever runs them, and what they say.
#![cfg(feature = "rtl")]

mod common;

use serde_json::Value;

/// What a command ended with and said.
struct Ended {
    code: i32,
    stdout: String,
    stderr: String,
}

fn tpt(arguments: &[&str]) -> Ended {
    let output = common::tpt(arguments);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ended {
        code: output.status.code().unwrap_or(-1),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    }
}

fn report(path: &std::path::Path) -> Value {
    let text = std::fs::read_to_string(path).expect("a report");
    serde_json::from_str(&text).expect("JSON")
}

/// Threads, processes, and shards that are added up by hand: the same report.
#[test]
fn shards_are_the_same_as_the_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name);
    let path = |name: &str| file(name).display().to_string();
    let soak = ["soak", "--configs", "small", "--jobs"];
    let whole = tpt(&[
        &soak[..],
        &["2", "--seeds", "3..11", "--json", &path("whole")],
    ]
    .concat());
    assert_eq!(whole.code, 0, "{}{}", whole.stdout, whole.stderr);
    assert!(
        whole
            .stdout
            .ends_with(" operations in 8 episodes, 0 mismatches\n"),
        "{}",
        whole.stdout
    );
    for (seeds, name) in [("3..7", "a"), ("7..11", "b")] {
        let part = tpt(&[&soak[..], &["1", "--seeds", seeds, "--json", &path(name)]].concat());
        assert_eq!(part.code, 0, "{}", part.stderr);
    }
    let merged = tpt(&[
        "campaign",
        "--json",
        &path("merged"),
        "--merge",
        &path("a"),
        &path("b"),
    ]);
    assert_eq!(merged.code, 0, "{}", merged.stderr);
    let shards = [
        "campaign",
        "--configs",
        "small",
        "--jobs",
        "2",
        "--seeds",
        "3..11",
    ];
    let shards = tpt(&[&shards[..], &["--json", &path("shards")]].concat());
    assert_eq!(shards.code, 0, "{}{}", shards.stdout, shards.stderr);
    let whole = report(&file("whole"));
    assert!(
        whole["configs"]["small"]["requests"].as_u64() > Some(100),
        "{whole}"
    );
    for name in ["merged", "shards"] {
        assert_eq!(report(&file(name))["configs"], whole["configs"], "{name}");
    }
    // The same shard twice would count twice.
    let twice = tpt(&["campaign", "--merge", &path("a"), &path("a")]);
    assert_eq!(twice.code, 2);
    assert!(
        twice.stderr.contains("expected each number once"),
        "{}",
        twice.stderr
    );
}

#[test]
fn an_episode_is_run_again_alone() {
    let once = tpt(&["soak", "--configs", "small", "--replay", "5"]);
    assert_eq!(once.code, 0, "{}", once.stderr);
    assert!(once.stdout.contains("episode 5 is good"), "{}", once.stdout);
}

/// What fails is told by whoever runs it, with the command that runs it again; and that one fails.
#[test]
fn a_failing_episode_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let json = folder.path().join("r.json").display().to_string();
    let waves = folder.path().join("w.fst");
    let small = ["--configs", "small", "--plant", "5"];
    let again = "again: tpt soak --configs small --replay 5 --waves FILE.fst";
    for command in [
        ["soak", "--jobs", "2", "--seeds", "3..7"],
        ["soak", "--jobs", "1", "--seeds", "3..7"],
    ] {
        let failed = tpt(&[&command[..], &small, &["--json", &json]].concat());
        assert_eq!(failed.code, 1, "{}", failed.stderr);
        assert!(failed.stdout.contains("planted"), "{}", failed.stdout);
        assert!(failed.stdout.contains(again), "{}", failed.stdout);
        let end = "in 3 episodes, 1 mismatches\n";
        assert!(failed.stdout.ends_with(end), "{}", failed.stdout);
        assert_eq!(report(std::path::Path::new(&json))["failed"][0]["seed"], 5);
    }
    let path = waves.display().to_string();
    let once = tpt(&[&["soak", "--replay", "5", "--waves", &path], &small[..]].concat());
    assert_eq!(once.code, 1, "{}", once.stderr);
    assert!(once.stdout.contains("waves from clock"), "{}", once.stdout);
    assert!(waves.metadata().expect("waves").len() > 1000);
}

/// The episode is not in the command line of a shard's parent, so its failure comes through.
#[test]
fn a_failing_shard_and_a_missing_one_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let small = ["--configs", "small", "--plant", "5"];
    let failed = tpt(&[&["campaign", "--jobs", "2", "--seeds", "3..7"], &small[..]].concat());
    assert_eq!(failed.code, 1, "{}{}", failed.stdout, failed.stderr);
    assert!(
        failed.stdout.ends_with("in 3 episodes, 1 mismatches\n"),
        "{}",
        failed.stdout
    );
    for (seeds, name) in [("3..5", "a"), ("6..7", "b")] {
        let part = [
            "soak",
            "--configs",
            "small",
            "--seeds",
            seeds,
            "--json",
            &path(name),
        ];
        assert_eq!(tpt(&part).code, 0);
    }
    let merged = tpt(&["campaign", "--merge", &path("a"), &path("b")]);
    assert_eq!(merged.code, 1);
    assert!(
        merged.stdout.contains("seeds 5..6: no report"),
        "{}",
        merged.stdout
    );
    let short = tpt(&["campaign", "--seeds", "3..9", "--merge", &path("a")]);
    assert_eq!(short.code, 1);
    assert!(
        short.stdout.contains("seeds 5..9: no report"),
        "{}",
        short.stdout
    );
}

#[test]
fn bad_use_is_refused_with_a_message() {
    for (arguments, word) in [
        (&["soak", "--seeds", "9..9"][..], "FIRST below END"),
        (&["soak", "--seeds", "x"], "FIRST..END"),
        (
            &["soak", "--configs", "huge", "--seeds", "0..1"],
            "huge is not built; expected",
        ),
        (&["soak", "--minutes", "0"], "1..=100000"),
        (&["soak", "--waves", "a.fst"], "--replay"),
        (&["campaign"], "--seeds"),
        (&["campaign", "--seeds", "5.."], "needs numbers with an end"),
        (
            &["soak", "--seeds", "0..1", "--json", "no/such/folder/r.json"],
            "no/such/folder",
        ),
        (&["campaign", "--merge", "no/such/file"], "no/such/file"),
    ] {
        let refused = tpt(arguments);
        assert_eq!(refused.code, 2, "{arguments:?}");
        assert!(
            refused.stderr.contains(word),
            "{arguments:?}: {}",
            refused.stderr
        );
    }
}
