// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! All recordings of the project against the golden reference.

mod common;

use common::{last_line, recording, recordings, stderr, stdout, temporary, tpt};
use serde_json::Value;

fn json_of(args: &[&str], files: &[std::path::PathBuf]) -> (i32, Value) {
    let out = tpt(args
        .iter()
        .map(|s| (*s).to_owned())
        .chain(["--json".to_owned(), "-".to_owned()])
        .chain(files.iter().map(|f| f.display().to_string())));
    let value = serde_json::from_slice(&out.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}\n{}", stdout(&out), stderr(&out)));
    eprintln!("{}", stderr(&out));
    (out.status.code().unwrap_or(-1), value)
}

/// (group, replayed, known differences)
const VERDICTS: &[(&str, u64, u64)] = &[
    ("rxe A", 344, 14),
    ("rxe B", 1496, 1),
    ("rxe C", 444, 17),
    ("rxe D", 393, 0),
    ("rxe E", 452, 0),
    ("rxe F", 225, 0),
    ("rxe G", 665, 134),
    ("rxe H", 772, 16),
    ("rxe X", 513, 0),
    ("siw A", 356, 34),
    ("siw B", 1520, 73),
    ("siw C", 225, 31),
    ("siw D", 298, 2),
    ("siw E", 346, 36),
    ("siw F", 2, 1),
    ("siw G", 26, 3),
    ("siw H", 572, 16),
    ("siw X", 564, 30),
];

#[test]
fn recorded_verdicts_agree_family_by_family() {
    let (code, report) = json_of(&["replay", "--golden-only"], &recordings("conformance"));
    assert_eq!(code, 0);
    let groups = &report["tally"]["groups"];
    assert_eq!(
        groups.as_object().map(serde_json::Map::len),
        Some(VERDICTS.len())
    );
    for (name, replayed, known) in VERDICTS {
        let g = &groups[*name];
        assert_eq!(g["replayed"], *replayed, "{name}");
        assert_eq!(g["known_differences"], *known, "{name}");
        assert_eq!(g["needs_windows"], 0, "{name}");
        assert_eq!(g["disagreed"], 0, "{name}");
        assert_eq!(g["agreed"], replayed - known, "{name}");
    }
    // Every line of the recordings.
    let lines: usize = recordings("conformance")
        .iter()
        .map(|file| common::lines(file).len())
        .sum();
    assert_eq!(report["tally"]["total"]["replayed"], lines as u64);
    // Windows and invalidations went through the unit.
    let operations = &report["operations"];
    for (name, least) in [("windows", 600), ("bound", 400), ("invalidated", 4)] {
        assert!(
            operations[name].as_u64() >= Some(least),
            "{name}: {operations}"
        );
    }
}

/// What is followed instead of the recorder, of windows and of FLUSH.
#[test]
fn known_differences_are_listed_by_rule() {
    let (_, report) = json_of(&["replay", "--golden-only"], &recordings("conformance"));
    let known = report["tally"]["known_differences"].as_array().cloned();
    let known = known.unwrap_or_default();
    let items = |source: &str, rule: &str| {
        let entry = known
            .iter()
            .find(|k| k["source"] == source && k["rule"] == rule);
        entry.and_then(|k| k["items"].as_u64())
    };
    for (source, rule, expected) in [
        ("rxe", "refused: a window has its own range", 106),
        (
            "rxe",
            "refused: addresses of a ZERO_BASED window are offsets inside it",
            4,
        ),
        (
            "rxe",
            "refused: a window that the rules refuse to bind does not exist",
            4,
        ),
        (
            "rxe",
            "bind_mw refused: a bind grants remote rights only",
            10,
        ),
        ("rxe", "bind_mw refused: address + length past 2^64", 3),
        (
            "rxe",
            "bind_mw refused: window, region and queue pair are of one protection domain",
            2,
        ),
        ("rxe", "registration accepted: rights of FLUSH exist", 3),
        ("siw", "registration accepted: rights of FLUSH exist", 1),
        ("rxe", "registration accepted: on-demand regions exist", 5),
        ("siw", "registration accepted: on-demand regions exist", 7),
    ] {
        assert_eq!(items(source, rule), Some(expected), "{source}: {rule}");
    }
}

/// A known difference is only ever a line that the recording flags itself, or a registration with
/// rights of FLUSH or with ON_DEMAND, which those kernels do not know.
#[test]
fn only_flagged_lines_are_known_differences() {
    let mut flagged = 0;
    for file in recordings("conformance") {
        for line in common::lines(&file) {
            let v: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}"));
            let flush = v["family"] == "A"
                && v["op"]["access"]
                    .as_u64()
                    .is_some_and(|access| access & 0x300 != 0 && access & !0x3ff0_03bf == 0)
                && v["outcome"]["errno"] == 22;
            // Not with MW_BIND, and not remote writes or atomics without local writes.
            let demand = v["family"] == "A"
                && v["op"]["access"].as_u64().is_some_and(|access| {
                    let changes = access & 0xa != 0 && access & 1 == 0;
                    access & 0x40 != 0 && access & 0x10 == 0 && !changes && access >> 10 == 0
                })
                && v["outcome"]["errno"] == 22;
            if v["differs_from_ib"] == true
                || v["unsupported"] == true
                || v["outcome"]["unsupported"] == true
                || v["outcome"]["not_run"].is_string()
                || flush
                || demand
            {
                flagged += 1;
            }
        }
    }
    let known: u64 = VERDICTS.iter().map(|(_, _, known)| known).sum();
    assert_eq!(flagged, known);
}

#[test]
fn traces_agree() {
    let files = recordings("traces");
    let (code, report) = json_of(&["replay", "--golden-only"], &files);
    assert_eq!(code, 0);
    let total = &report["tally"]["total"];
    assert_eq!(total["disagreed"], 0);
    assert_eq!(total["known_differences"], 0);
    assert_eq!(total["agreed"], total["replayed"]);
    // What the recordings tell the end of; all others are mostly receives that nothing used.
    assert_eq!(total["replayed"], 63_835);
    assert_eq!(total["reference_only"], 154_720);
    assert_eq!(total["not_judged"], 0);
    let traces = report["traces"].as_array().cloned().unwrap_or_default();
    assert_eq!(traces.len(), files.len());
    for t in &traces {
        assert_eq!(t["refused"], 0, "{t}");
        assert_eq!(t["not_judged"], 0, "{t}");
        assert!(t["accesses"].as_u64() > Some(0), "{t}");
        assert!(t["beats"].as_u64() > Some(0), "{t}");
    }
    let one = |name: &str, field: &str| {
        traces
            .iter()
            .find(|t| t["name"] == name)
            .and_then(|t| t[field].as_u64())
    };
    // Every RDMA write: one own element and one remote access.
    assert_eq!(one("pt_write_bw_s4096_q4", "accesses"), Some(8000));
    // 60 sends of 1 MiB in hugetlb pages: one segment each, on both sides.
    assert_eq!(one("pt_huge_write_bw_s1M", "beats"), Some(120));
    assert_eq!(one("mpi_rma_np2", "registrations"), Some(46));
}

/// A case file with one verdict turned over: exactly that line disagrees.
#[test]
fn a_planted_lie_is_found() {
    let lines = common::lines(&recording("conformance/rxe"));
    let mut cases: Vec<String> = lines
        .iter()
        .filter(|l| l.contains("\"family\":\"B\""))
        .take(200)
        .cloned()
        .collect();
    assert_eq!(cases.len(), 200);
    let honest = temporary("honest.jsonl", cases.join("\n").as_bytes());
    let out = tpt(["replay", "--golden-only", &honest.display().to_string()]);
    assert_eq!(out.status.code(), Some(0));
    for (n, from, to) in [
        (3, "\"accepted\":true", "\"accepted\":false"),
        (1, "\"accepted\":false", "\"accepted\":true"),
        (1, "\"REM_ACCESS_ERR\"", "\"REM_INV_REQ_ERR\""),
        (1, "\"REM_ACCESS_ERR\"", "\"LOC_PROT_ERR\""),
    ] {
        let mut lie = cases.clone();
        let place = lie
            .iter()
            .enumerate()
            .filter(|(_, l)| l.contains(from))
            .map(|(i, _)| i)
            .nth(n)
            .unwrap_or_else(|| panic!("no line with {from}"));
        lie[place] = lie[place].replace(from, to);
        let path = temporary("lie.jsonl", lie.join("\n").as_bytes());
        let out = tpt(["replay", "--golden-only", &path.display().to_string()]);
        assert_eq!(out.status.code(), Some(1), "{}", stdout(&out));
        assert_eq!(
            last_line(&out),
            "replayed: 200, agreed: 199, known differences: 0, disagreed: 1"
        );
        assert!(
            stdout(&out).contains(&format!("lie.jsonl:{} rxe-B-", place + 1)),
            "{}",
            stdout(&out)
        );
    }
    // A flag does not hide anything but its own line.
    cases[7] = cases[7].replacen('{', "{\"differs_from_ib\": true, ", 1);
    let path = temporary("flagged.jsonl", cases.join("\n").as_bytes());
    let out = tpt(["replay", "--golden-only", &path.display().to_string()]);
    assert_eq!(
        last_line(&out),
        "replayed: 200, agreed: 199, known differences: 1, disagreed: 0"
    );
}

/// The same for a trace: a completion turned over, a key exchanged, a shorter region.
#[test]
fn planted_lies_in_traces_are_found() {
    let lines = common::lines(&recording("traces/rc_rping_S64"));
    let check = |name: &str, changed: Vec<String>| {
        let path = temporary(name, changed.join("\n").as_bytes());
        let out = tpt(["replay", "--golden-only", &path.display().to_string()]);
        (out.status.code(), last_line(&out))
    };
    assert_eq!(check("rping.jsonl", lines.clone()).0, Some(0));

    let mut lie = lines.clone();
    let wc = lie
        .iter()
        .position(|l| l.contains("\"status\":\"SUCCESS\",\"opcode\":\"read\""))
        .unwrap_or_else(|| panic!("no read"));
    lie[wc] = lie[wc].replace("SUCCESS", "REM_ACCESS_ERR");
    let (code, line) = check("rping_wc.jsonl", lie);
    assert_eq!(code, Some(1));
    // The read, and the next request: nothing succeeds after an error.
    assert!(line.ends_with("disagreed: 2"), "{line}");

    let mut lie = lines.clone();
    let post = lie
        .iter()
        .position(|l| l.contains("\"opcode\":\"write\""))
        .unwrap_or_else(|| panic!("no write"));
    lie[post] = lie[post].replace("\"rkey\":", "\"rkey\":1");
    let (code, line) = check("rping_key.jsonl", lie);
    assert_eq!(code, Some(1));
    assert!(line.ends_with("disagreed: 1"), "{line}");

    let mut lie = lines;
    let reg = lie
        .iter()
        .position(|l| l.contains("\"ev\":\"reg_mr\"") && l.contains("\"length\":64"))
        .unwrap_or_else(|| panic!("no region of 64 bytes"));
    lie[reg] = lie[reg].replace("\"length\":64", "\"length\":63");
    let (code, line) = check("rping_length.jsonl", lie);
    assert_eq!(code, Some(1));
    assert!(!line.ends_with("disagreed: 0"), "{line}");
}
