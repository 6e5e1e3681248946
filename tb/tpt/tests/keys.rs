// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! `tpt keys` as a user meets it. That each measure finds a lie is tested beside the measures, in
//! `tb/tpt/src/keys`.
#![cfg(feature = "rtl")]

mod common;

use std::path::Path;

use common::{last_line, stderr, stdout, tpt};
use serde_json::Value;

/// `tpt keys` with the recordings of the project.
fn keys(arguments: &[&str]) -> std::process::Output {
    let folder = common::root().join("data/conformance");
    let folder = folder.display().to_string();
    tpt([&["keys", "--recordings", &folder][..], arguments].concat())
}

fn report(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).expect("a report");
    serde_json::from_str(&text).expect("JSON")
}

/// The table whose title begins so.
fn table<'a>(report: &'a Value, title: &str) -> &'a Vec<Value> {
    let tables = report["tables"].as_array().expect("tables");
    let named = |table: &&Value| {
        let name = table["title"].as_str().unwrap_or_default();
        name.starts_with(title)
    };
    let table = tables.iter().find(named);
    table
        .and_then(|table| table["rows"].as_array())
        .unwrap_or_else(|| panic!("no table \"{title}\""))
}

/// The row of a table whose first cell is this.
fn row<'a>(rows: &'a [Value], column: &str, name: &str) -> &'a Value {
    let found = rows.iter().find(|row| row[column] == name);
    found.unwrap_or_else(|| panic!("no row \"{name}\""))
}

#[test]
fn all_claims_hold_and_the_same_seed_says_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("keys.json");
    let file = path.display().to_string();
    let first = keys(&["--quick", "--json", &file]);
    assert_eq!(
        first.status.code(),
        Some(0),
        "{}{}",
        stdout(&first),
        stderr(&first)
    );
    let last = last_line(&first);
    assert!(
        last.starts_with("keys: ") && last.ends_with(" claims, 0 failed"),
        "{last}"
    );
    assert!(stdout(&first).starts_with("configuration small, seed 1, quick\n"));
    assert_eq!(stdout(&first), stdout(&keys(&["--quick"])));

    let report = report(&path);
    assert_eq!(report["good"], true);
    assert_eq!(report["seed"], 1);
    // What the project says of others is what the recordings say.
    let entropy = table(&report, "Entropy of the next key, 5");
    let steps = |name: &str| row(entropy, "keys of", name)["k=1"].as_f64().expect("bits");
    assert!(steps("soft-RoCE, regions") < steps("unit, hidden"));
    assert_eq!(steps("model: step 0x100"), 0.0);
    let predicted = table(&report, "The next key, predicted");
    let fields = |name: &str| {
        let row = row(predicted, "keys of", name);
        (row["field"].as_u64(), row["trials"].as_u64())
    };
    let (hits, trials) = fields("soft-RoCE, regions");
    assert!(hits.is_some() && hits == trials, "{hits:?} of {trials:?}");
    let (hits, trials) = fields("unit, plain");
    assert!(hits.is_some() && hits == trials, "{hits:?} of {trials:?}");
    assert_eq!(fields("unit, hidden").0, Some(0));
    // Guesses went through the unit, and some of them hit.
    let guesses = table(&report, "Guessed keys");
    let known = row(guesses, "guess", "index field known, random tag");
    assert!(known["hits"].as_u64() > Some(0), "{known}");
    let old = row(guesses, "guess", "R_Key of the generation before");
    assert_eq!(old["hits"], 0);
}

/// Planted lie: two rounds of the permutation.
#[test]
fn a_weak_permutation_is_told() {
    let weak = keys(&["--quick", "--plant", "two-rounds"]);
    assert_eq!(
        weak.status.code(),
        Some(1),
        "{}{}",
        stdout(&weak),
        stderr(&weak)
    );
    let text = stdout(&weak);
    assert!(
        text.contains("FAILS  2 rounds: each input bit flips"),
        "{text}"
    );
    assert!(text.contains("FAILS  chi-square of index fields"), "{text}");
}

/// Planted lie: tags out of a shift register.
#[test]
fn weak_tags_are_told() {
    let weak = keys(&["--quick", "--plant", "lfsr"]);
    assert_eq!(
        weak.status.code(),
        Some(1),
        "{}{}",
        stdout(&weak),
        stderr(&weak)
    );
    let text = stdout(&weak);
    for claim in [
        "FAILS  hidden mode: the next key has at least",
        "FAILS  hidden mode: no predictor hits more tags",
        "FAILS  chi-square of tags, tags over indices",
        "FAILS  no {index, tag} comes twice",
    ] {
        assert!(text.contains(claim), "{claim}: {text}");
    }
}

#[test]
fn trails_alone() {
    let trails = keys(&["--trails", "--quick", "--markdown"]);
    assert_eq!(trails.status.code(), Some(0), "{}", stderr(&trails));
    let text = stdout(&trails);
    assert!(text.contains("\n| 10 | 28 | 28 | -23."), "{text}");
    assert!(stderr(&trails).contains("keys: trails took "));
}

#[test]
fn bad_use_is_told() {
    let told = |output: std::process::Output| {
        assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
        stderr(&output)
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().display().to_string();
    let missing = told(tpt(["keys", "--quick", "--recordings", &path]));
    assert!(
        missing.contains("rxe.jsonl.gz: cannot be opened"),
        "{missing}"
    );
    let line = br#"{"id":"x-A-0","family":"A","sub":"flags","op":{"op":"reg_mr"}}"#;
    std::fs::write(folder.path().join("rxe.jsonl.gz"), line).expect("a file");
    let none = told(tpt(["keys", "--quick", "--recordings", &path]));
    assert!(none.contains("no sequence of keys is recorded"), "{none}");
    let line = br#"{"family":"H","sub":"reg_keep_live","outcome":{"accepted":true,"lkey":"x"}}"#;
    std::fs::write(folder.path().join("rxe.jsonl.gz"), line).expect("a file");
    let bad = told(tpt(["keys", "--quick", "--recordings", &path]));
    assert!(
        bad.contains("rxe.jsonl.gz:1: \"outcome.lkey\" is "),
        "{bad}"
    );
    told(keys(&["--plant", "nothing"]));
    told(keys(&["--quick", "--json", &path]));
}
