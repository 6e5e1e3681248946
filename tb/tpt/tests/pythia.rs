// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! `tpt pythia` as a user meets it: without partitions each attack works, with them none does.
#![cfg(feature = "rtl")]

mod common;

use common::{last_line, stderr, stdout, tpt};
use serde_json::Value;

/// Runs it with a report, and reads that.
fn report(name: &str, arguments: &[&str]) -> (std::process::Output, Value) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    let mut all = vec!["pythia", "--json"];
    let file = path.display().to_string();
    all.push(&file);
    all.extend(arguments);
    let output = tpt(all);
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let value = serde_json::from_str(&text).unwrap_or(Value::Null);
    (output, value)
}

fn attack<'a>(report: &'a Value, name: &str, isolated: bool) -> &'a Value {
    let rows = report["attacks"].as_array().expect("rows");
    let this = |row: &&Value| row["name"] == name && row["isolated"] == isolated;
    rows.iter().find(this).expect("the row")
}

/// What partitions close.
const CLOSED: [&str; 5] = ["mpt", "mpt-reload", "mtt", "dir", "covert"];

/// An attack that does not work without partitions would prove nothing with them.
#[test]
fn every_attack_works_without_partitions_and_none_with_them() {
    let (output, report) = report("all", &["--trials", "200"]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
    assert_eq!(last_line(&output), "pythia: 0 failed");
    for name in CLOSED {
        let off = attack(&report, name, false);
        assert!(off["accuracy"].as_f64() > Some(0.95), "{off}");
        let on = attack(&report, name, true);
        // There is nothing to see at all.
        assert_eq!(on["kinds"], 1, "{on}");
        assert_eq!(on["verdict"], "pass", "{on}");
    }
    // What tells nothing, with partitions or without them.
    for name in ["covert-sweep", "arbiter"] {
        for isolated in [false, true] {
            let row = attack(&report, name, isolated);
            assert_eq!(row["kinds"], 1, "{row}");
            assert_eq!(row["verdict"], "pass", "{row}");
        }
    }
    for name in ["port", "fence"] {
        assert_eq!(attack(&report, name, true)["verdict"], "measured");
    }
    let twins = report["twins"].as_array().expect("twins");
    for twin in twins {
        let different = twin["different"].as_u64().expect("a number");
        assert_eq!(different == 0, twin["isolated"] == true, "{text}");
    }
    assert_eq!(twins.len(), 4);
    assert_eq!(report["refusals"]["uniform"], true, "{text}");
    assert_eq!(report["refusals"]["accepted_unchanged"], true, "{text}");
}

/// What was not uniform before: the rule, and whether the entry is cached.
#[test]
fn without_a_time_refusals_tell_what_is_cached() {
    let (output, report) = report("uniform", &["--quick", "--target", "uniform"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let rules = report["refusals"]["off"]["rules"]
        .as_array()
        .expect("rules");
    assert_eq!(rules.len(), 10);
    let rule = |name: &str| rules.iter().find(|rule| rule["rule"] == name).expect("it");
    let clocks = |name: &str, state: &str| rule(name)[state]["median"].as_u64().expect("clocks");
    assert!(clocks("PD", "cold") > clocks("PD", "warm"));
    assert!(clocks("PARENT", "warm") > clocks("PD", "warm"));
    // What is not VALID is not kept.
    assert_eq!(clocks("KEY_STATE", "cold"), clocks("KEY_STATE", "warm"));
}

#[test]
fn the_same_seed_is_the_same_run() {
    let run = |seed: &str| {
        let arguments = ["--trials", "40", "--target", "mtt", "--isolation", "off"];
        let (output, report) = report("seed", &[&arguments[..], &["--seed", seed]].concat());
        assert!(stdout(&output).contains(&format!("seed {seed},")));
        report["attacks"].clone()
    };
    assert_eq!(run("7"), run("7"));
    assert_ne!(run("7")[0]["right"], Value::Null);
    assert_ne!(run("7")[0]["clocks"], run("8")[0]["clocks"]);
}

#[test]
fn bad_use_is_refused_with_a_message() {
    for (arguments, word) in [
        (&["--config", "huge"][..], "small, default"),
        (&["--target", "all", "--trials", "19"], "20..=10000000"),
        (&["--target", "cache"], "covert"),
        (&["--isolation", "maybe"], "both"),
        (&["--json", "no/such/folder/r.json"], "no/such/folder"),
    ] {
        let refused = tpt([&["pythia"], arguments].concat());
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}");
        assert!(
            stderr(&refused).contains(word),
            "{arguments:?}: {}",
            stderr(&refused)
        );
    }
}
