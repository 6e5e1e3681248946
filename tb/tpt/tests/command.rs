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

/// A run that replayed nothing must not look green.
#[test]
fn nothing_replayed_is_code_2() {
    let good = recording("conformance/rxe").display().to_string();
    let siw = recording("conformance/siw").display().to_string();
    let meta = temporary("meta.jsonl", b"{\"ev\":\"meta\",\"name\":\"t\"}\n");
    let meta = meta.display().to_string();
    for args in [
        vec![good.as_str(), "--limit", "0"],
        vec![good.as_str(), "--limit", "5", "--families", "X"],
        vec![meta.as_str()],
    ] {
        let out = tpt(["replay", "--golden-only"].iter().chain(&args));
        assert_eq!(out.status.code(), Some(2), "{args:?}: {}", stdout(&out));
        assert!(
            stderr(&out).contains("nothing was replayed; expected"),
            "{args:?}: {}",
            stderr(&out)
        );
        assert!(stdout(&out).contains(&format!("nothing was replayed of {}", args[0])));
    }
    // Beside a file that does replay, it is said but is no error.
    let out = tpt(["replay", "--golden-only", &meta, &siw]);
    assert_eq!(out.status.code(), Some(0));
    assert!(stdout(&out).contains(&format!("nothing was replayed of {meta}")));
}

/// Nothing is left out, and what was done with windows is said.
#[test]
fn windows_are_replayed_and_counted() {
    let good = recording("conformance/rxe").display().to_string();
    let out = tpt(["replay", "--golden-only", &good, "--families", "G,H"]);
    assert_eq!(out.status.code(), Some(0));
    let text = stdout(&out);
    for name in ["windows allocated", "windows bound", "invalidations"] {
        assert!(text.lines().any(|l| l.starts_with(name)), "{name}: {text}");
    }
    assert!(!text.contains("left out"), "{text}");
}

/// Paths that cannot be written are noticed before the run, and no input is overwritten.
#[test]
fn outputs_are_checked_before_the_run() {
    let lines = common::lines(&recording("conformance/rxe"));
    let input = temporary("output_input.jsonl", lines[..20].join("\n").as_bytes());
    let input = input.display().to_string();
    let folder = env!("CARGO_TARGET_TMPDIR");
    let missing = format!("{folder}/no/such/folder/x");
    let linked = format!("{folder}/linked.jsonl");
    let _ = std::fs::remove_file(&linked);
    std::fs::hard_link(&input, &linked).unwrap_or_else(|e| panic!("{e}"));
    let other = format!("{folder}/twice.out");
    for (args, message) in [
        (
            vec!["--golden-only", "--json", &missing],
            "cannot be written",
        ),
        (vec!["--golden-only", "--json", folder], "is a folder"),
        (vec!["--golden-only", "--json", &input], "is another file"),
        (vec!["--golden-only", "--json", &linked], "is another file"),
        (vec!["--waves", &missing], "cannot be written"),
        (vec!["--waves", folder], "is a folder"),
        (vec!["--waves", &input], "is another file"),
        (vec!["--waves", "/dev/null"], "is a device"),
        (vec!["--waves", &other, "--json", &other], "is another file"),
    ] {
        let all = ["replay", input.as_str()].into_iter().chain(args.clone());
        let out = tpt(all);
        assert_eq!(out.status.code(), Some(2), "{args:?}: {}", stdout(&out));
        assert!(stdout(&out).is_empty(), "{args:?}: the run was done");
        assert!(
            stderr(&out).contains(message) && stderr(&out).contains("expected"),
            "{args:?}: {}",
            stderr(&out)
        );
    }
    assert!(!std::path::Path::new(&other).exists());
    let content = std::fs::read_to_string(&input).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(content, lines[..20].join("\n"));

    // A report that is there stays if the run fails, and is replaced if it does not.
    let old = temporary("old.json", &[b'x'; 100_000]);
    let old = old.display().to_string();
    let out = tpt(["replay", "--golden-only", "missing", "--json", &old]);
    assert_eq!(out.status.code(), Some(2));
    assert_eq!(std::fs::read(&old).map(|b| b.len()).ok(), Some(100_000));
    let out = tpt(["replay", "--golden-only", &input, "--json", &old]);
    assert_eq!(out.status.code(), Some(0));
    let text = std::fs::read_to_string(&old).unwrap_or_else(|e| panic!("{e}"));
    let report: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(report["tally"]["total"]["replayed"], 20);
    // A new one is not left behind empty.
    let new = format!("{folder}/new.json");
    let out = tpt(["replay", "--golden-only", "missing", "--json", &new]);
    assert_eq!(out.status.code(), Some(2));
    assert!(!std::path::Path::new(&new).exists());
}

/// Standard streams that are full or closed: an exit code, never a panic.
#[cfg(target_os = "linux")]
#[test]
fn full_and_closed_streams() {
    use std::process::{Command, Stdio};
    let good = recording("conformance/rxe").display().to_string();
    let full = || {
        Stdio::from(
            std::fs::OpenOptions::new()
                .write(true)
                .open("/dev/full")
                .unwrap_or_else(|e| panic!("{e}")),
        )
    };
    let command = |args: &[&str]| {
        let mut c = Command::new(env!("CARGO_BIN_EXE_tpt"));
        c.args(args);
        c
    };
    let replay = ["replay", "--golden-only", &good, "--limit", "50"];
    let json = [&replay[..], &["--json", "-"]].concat();
    for args in [&replay[..], &json] {
        let out = command(args).stdout(full()).output();
        let out = out.unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(out.status.code(), Some(2));
        assert!(
            stderr(&out).contains("the standard output cannot be written"),
            "{}",
            stderr(&out)
        );
        let mut child = command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|e| panic!("{e}"));
        drop(child.stdout.take());
        let out = child.wait_with_output().unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
        assert!(!stderr(&out).contains("panic"), "{}", stderr(&out));
    }
    for (args, code) in [
        (&json[..], 2),
        (&["replay", "--golden-only", "missing"][..], 2),
        (&["run", "--golden-only", "missing"][..], 2),
    ] {
        let status = command(args).stdout(Stdio::null()).stderr(full()).status();
        let status = status.unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(status.code(), Some(code), "{args:?}");
    }
}
