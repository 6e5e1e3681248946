// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! `tpt bench` as a user meets it.
#![cfg(feature = "rtl")]

use std::process::Command;

fn run(args: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_tpt"))
        .arg("bench")
        .args(args)
        .output()
        .expect("the command runs");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    (output.status.code(), text)
}

#[test]
fn the_last_line_counts_the_targets_and_the_report_is_json() {
    let path = std::env::temp_dir().join(format!("tpt-bench-{}.json", std::process::id()));
    let file = path.to_str().expect("UTF-8");
    let (code, text) = run(&[
        "--quick",
        "--config",
        "small",
        "--fmax",
        "/nowhere",
        "--json",
        file,
        "merge",
        "ecp5-small",
    ]);
    assert_eq!(code, Some(0), "{text}");
    let last = text.lines().last().unwrap_or_default();
    assert!(
        last.starts_with("bench: ") && last.ends_with(" of 4 targets met"),
        "{last}"
    );
    let report: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&path).expect("the report")).expect("JSON");
    let rows = report["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 4);
    let merge = rows.iter().find(|row| row["id"] == "merge").expect("merge");
    assert!(merge["figure"].as_f64().is_some_and(|figure| figure > 0.0));
    let clock = rows
        .iter()
        .find(|row| row["id"] == "ecp5-small-clock-6")
        .expect("clock");
    assert!(clock["figure"].is_null());
    assert_eq!(clock["verdict"], "not measured");

    // The same run again cannot be worse than itself; a better past is noticed.
    let same = run(&["--quick", "--config", "small", "--baseline", file, "merge"]);
    assert_eq!(same.0, Some(0), "{}", same.1);
    let better = std::fs::read_to_string(&path)
        .expect("the report")
        .replace("\"figure\": 1.0", "\"figure\": 0.5");
    std::fs::write(&path, better).expect("written");
    let worse = run(&["--quick", "--config", "small", "--baseline", file, "merge"]);
    std::fs::remove_file(&path).expect("removed");
    assert_eq!(worse.0, Some(1), "{}", worse.1);
    for part in [
        "worse than the baseline: merge: 1 reads/line, baseline 0.500, +100.0 %",
        "make bench-quick-baseline",
        file,
    ] {
        assert!(worse.1.contains(part), "{part}: {}", worse.1);
    }
}

#[test]
fn a_folder_without_recordings_is_named() {
    let output = Command::new(env!("CARGO_BIN_EXE_tpt"))
        .args([
            "bench",
            "--quick",
            "--config",
            "small",
            "--traces",
            "no/such/folder",
            "programs",
        ])
        .output()
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("no/such/folder"), "{text}");
}

#[test]
fn without_cocotb_its_row_is_not_measured_and_nothing_fails() {
    let (code, text) = run(&[
        "--quick",
        "--config",
        "small",
        "--python",
        "no/such/python",
        "cocotb",
    ]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("not measured"), "{text}");
    assert!(text.contains("make setup"), "{text}");
}
