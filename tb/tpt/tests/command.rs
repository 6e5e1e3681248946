// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! The command line: exit codes, messages, reports. Golden reference only.

mod common;

use common::{last_line, recording, root, stderr, stdout, temporary, tpt};
use serde_json::Value;

fn scenario(name: &str) -> String {
    root()
        .join(format!("scenarios/{name}.tpt"))
        .display()
        .to_string()
}

#[test]
fn scenarios_run_and_report() {
    for name in ["quick", "errors", "churn", "source-text"] {
        let out = tpt(["run", &scenario(name), "--golden-only"]);
        assert_eq!(out.status.code(), Some(0), "{name}: {}", stderr(&out));
        assert_eq!(last_line(&out), "mismatches: 0");
    }
}

/// The scenario of the source text meets every syndrome that can occur without windows.
#[test]
fn source_text_has_every_syndrome() {
    let out = tpt([
        "run",
        &scenario("source-text"),
        "--golden-only",
        "--json",
        "-",
    ]);
    let report: Value = serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}"));
    for syndrome in [
        "LENGTH",
        "KEY_INDEX",
        "KEY_STATE",
        "KEY_TAG",
        "PD",
        "RIGHTS",
        "WRAP",
        "BOUNDS",
        "ALIGN",
        "MTT_ABSENT",
        "MTT_BAD",
        "BUS",
        "MPT_BAD",
        "DISABLED",
        "TAG_BUSY",
    ] {
        assert!(
            report["by_syndrome"][syndrome].as_u64() > Some(0),
            "{syndrome}: {report}"
        );
    }
    assert_eq!(report["mismatches"], 0);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = |seed: &str| {
        stdout(&tpt([
            "run",
            &scenario("quick"),
            "--golden-only",
            "--seed",
            seed,
        ]))
    };
    assert_eq!(run("3"), run("3"));
    assert_ne!(run("3"), run("4"));
}

#[test]
fn textbook_numbers() {
    let out = tpt(["textbook", "--golden-only", "--json", "-"]);
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    let report: Value = serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}"));
    let named = |n: usize| {
        let r = &report["named"][n];
        (
            r["entries"].as_u64(),
            r["entry_bytes"].as_u64(),
            r["levels"].as_u64(),
            r["table_pages"].as_u64(),
        )
    };
    assert_eq!(named(0), (Some(512), Some(4096), Some(1), Some(1)));
    assert_eq!(
        named(1),
        (Some(524_288), Some(4 << 20), Some(3), Some(1024 + 2 + 1))
    );
    assert_eq!(
        named(2),
        (
            Some(16_777_216),
            Some(128 << 20),
            Some(3),
            Some(32_768 + 64 + 1)
        )
    );
    assert_eq!(report["matrix_regions"], 336);
    assert_eq!(report["mismatches"], Value::Array(Vec::new()));
}

#[test]
fn bad_input_is_code_2_and_a_message() {
    let garbage = temporary("garbage.jsonl", b"not json\n");
    let empty = temporary("empty.jsonl", b"");
    let good = recording("conformance/rxe").display().to_string();
    for (args, message) in [
        (
            vec!["replay", "--golden-only", "no-such-file.jsonl"],
            "tpt: no-such-file.jsonl: cannot be opened",
        ),
        (
            vec!["replay", "--golden-only", garbage.to_str().unwrap_or("")],
            "garbage.jsonl:1: the line is not JSON (expected ident at column 2); expected one \
             JSON object per line",
        ),
        (
            vec!["replay", "--golden-only", empty.to_str().unwrap_or("")],
            "empty.jsonl:1: the file is empty; expected recorded verdicts or a trace",
        ),
        (
            vec!["replay", "--golden-only", &good, "--latency", "9..1"],
            "expected clocks such as 100 or a range such as 20..200",
        ),
        (
            vec!["replay", "--golden-only", &good, "--families", "Q"],
            "expected letters out of A, B, C, D, E, F, G, H, X",
        ),
        (
            vec!["replay", "--golden-only", &good, "--waves", "x.fst"],
            "--waves needs the simulated unit; expected no --golden-only",
        ),
        (vec!["replay", "--golden-only"], "FILE"),
        (
            vec!["run", "--golden-only", garbage.to_str().unwrap_or("")],
            "garbage.jsonl:1: \"not json\" is neither a section nor a setting",
        ),
    ] {
        let out = tpt(&args);
        assert_eq!(out.status.code(), Some(2), "{args:?}: {}", stdout(&out));
        assert!(stderr(&out).contains(message), "{args:?}: {}", stderr(&out));
    }
}

#[test]
fn limit_and_families_choose_lines() {
    let good = recording("conformance/rxe").display().to_string();
    let out = tpt(["replay", "--golden-only", &good, "--limit", "10"]);
    assert_eq!(
        last_line(&out),
        "replayed: 10, agreed: 10, known differences: 0, disagreed: 0"
    );
    let out = tpt(["replay", "--golden-only", &good, "--families", "D,F"]);
    assert_eq!(
        last_line(&out),
        "replayed: 618, agreed: 618, known differences: 0, disagreed: 0"
    );
}
