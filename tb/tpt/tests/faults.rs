// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! `tpt faults` as a user meets it. That each judge finds a lie is tested beside the judges, in
//! `tb/tpt/src/faults`.
#![cfg(feature = "rtl")]

use std::process::Command;

fn run(args: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_tpt"))
        .arg("faults")
        .args(args)
        .output()
        .expect("the command runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn a_short_campaign_passes_and_says_so_twice() {
    let path = std::env::temp_dir().join(format!("tpt-faults-{}.json", std::process::id()));
    let file = path.to_str().expect("UTF-8");
    let (code, text, error) = run(&["--config", "small", "--count", "60", "--json", file]);
    assert_eq!(code, Some(0), "{text}{error}");
    let last = text.lines().last().unwrap_or_default();
    assert!(
        last.starts_with("faults: 60 faults, 0 hangs, 0 leaks, 0 wrong, "),
        "{last}"
    );
    let machine = std::fs::read_to_string(&path).expect("the report");
    std::fs::remove_file(&path).expect("removed");
    let machine: serde_json::Value = serde_json::from_str(&machine).expect("JSON");
    assert_eq!(machine["total"]["faults"], 60);
    assert_eq!(machine["good"], true);
    for encoding in ["CRC", "RAW", "FLAGGED", "CHECKED", "-"] {
        let faults = &machine["encodings"][encoding]["faults"];
        assert!(faults.as_u64().is_some_and(|n| n > 0), "{encoding}");
    }
}

#[test]
fn the_same_seed_gives_the_same_campaign() {
    let table = |seed: &str| {
        let (code, text, error) = run(&["--config", "small", "--count", "12", "--seed", seed]);
        assert_eq!(code, Some(0), "{text}{error}");
        text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(table("5"), table("5"));
}

#[test]
fn one_job_and_two_give_the_same_campaign() {
    let table = |jobs: &str| {
        let path = std::env::temp_dir().join(format!("tpt-jobs-{jobs}-{}", std::process::id()));
        let file = path.to_str().expect("UTF-8");
        let (code, text, error) = run(&["--count", "24", "--jobs", jobs, "--json", file]);
        assert_eq!(code, Some(0), "{text}{error}");
        let machine = std::fs::read_to_string(&path).expect("the report");
        std::fs::remove_file(&path).expect("removed");
        let lines: Vec<String> = text.lines().skip(1).map(str::to_owned).collect();
        (lines, machine)
    };
    let one = table("1");
    assert!(one.0.len() > 20, "{:?}", one.0);
    assert_eq!(one, table("2"));
}

#[test]
fn one_experiment_alone_is_told() {
    let (code, text, error) = run(&["--config", "small", "--only", "3"]);
    assert_eq!(code, Some(0), "{text}{error}");
    assert!(error.contains("experiment 3, "), "{error}");
    assert!(text.contains("faults: 1 faults, "), "{text}");
}

#[test]
fn bad_use_is_refused_with_a_message() {
    for (args, message) in [
        (&["--count", "0"][..], "--count"),
        (&["--count", "many"][..], "--count"),
        (&["--seed", "-1"][..], "-1"),
        (&["--config", "huge"][..], "huge"),
        (&["--count", "3", "--only", "1"][..], "--only"),
        (&["--only", "100000000"][..], "0..100000000"),
        (&["--only", "18446744073709551615"][..], "0..100000000"),
        (&["--only", "-1"][..], "-1"),
        (&["--jobs", "0"][..], "--jobs"),
        (
            &["--count", "1", "--json", "/no/such/folder/f"][..],
            "--json",
        ),
        (&["--count", "1", "--json", "/"][..], "--json"),
        (&["extra"][..], "extra"),
    ] {
        let (code, text, error) = run(args);
        assert_eq!(code, Some(2), "{args:?}: {text}{error}");
        assert!(error.contains(message), "{args:?}: {error}");
    }
}
