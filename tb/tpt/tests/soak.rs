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
