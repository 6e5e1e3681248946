// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Recorded verdicts made by hand: right ones agree, and every lie is found.

mod common;

use common::{last_line, stderr, stdout, temporary, tpt};

/// A work request: `{op}`, `{sub}`, `{driver}`, `{sges}`, `{more}` and `{outcome}` are filled in.
const CASE: &str = r#"{"id":"t","family":"X","sub":"{sub}","driver":"{driver}","mrs":[{"name":"T","pd":0,"va":"0x10000","length":8192,"access":15,"lkey":"0x501","rkey":"0x501","state":"valid"},{"name":"L","pd":0,"va":"0x30000","length":8192,"access":1,"lkey":"0x602","rkey":"0x602","state":"valid"}],"op":{"op":"{op}","check":"both","sges":{sges},{more}"req_pd":0,"resp_pd":0,"resp_qp_access":14,"req_qpn":17,"resp_qpn":18},"outcome":{outcome}}"#;

const GOOD_SGES: &str = r#"[{"addr":"0x30000","length":64,"lkey":"0x602"}]"#;
const BAD_SGES: &str = r#"[{"addr":"0x30000","length":64,"lkey":"0x777"}]"#;
const WORD: &str = r#"[{"addr":"0x30000","length":8,"lkey":"0x602"}]"#;
const GOOD_KEY: &str = r#""remote_addr":"0x10000","rkey":"0x501","#;
const BAD_KEY: &str = r#""remote_addr":"0x10000","rkey":"0x999","#;
const SHORT: &str = r#""recv_sges":[{"addr":"0x10000","length":32,"lkey":"0x501"}],"#;
const LONG: &str = r#""recv_sges":[{"addr":"0x10000","length":64,"lkey":"0x501"}],"#;

fn case(op: &str, sges: &str, more: &str, outcome: &str) -> String {
    CASE.replace("{op}", op)
        .replace("{sges}", sges)
        .replace("{more}", more)
        .replace("{outcome}", outcome)
}

fn rxe(line: &str) -> String {
    line.replace("{driver}", "rxe").replace("{sub}", "s")
}

fn siw(line: &str) -> String {
    line.replace("{driver}", "siw").replace("{sub}", "s")
}

fn accepted() -> String {
    r#"{"post_errno":0,"wc_status":"SUCCESS","wc_num":0,"accepted":true,"data_ok":true}"#.into()
}

fn refused(status: &str) -> String {
    format!(r#"{{"post_errno":0,"wc_status":"{status}","accepted":false,"data_ok":true}}"#)
}

fn not_posted() -> String {
    r#"{"post_errno":22,"wc_status":"NONE","wc_num":-1,"accepted":false,"data_ok":true}"#.into()
}

/// Replays lines; exit code, last line of the output, everything that was said.
fn replay(lines: &[String]) -> (Option<i32>, String, String) {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("verdict_{}.jsonl", NEXT.fetch_add(1, Ordering::Relaxed));
    let path = temporary(&name, lines.join("\n").as_bytes());
    let out = tpt(["replay", "--golden-only", &path.display().to_string()]);
    let all = format!("{}{}", stdout(&out), stderr(&out));
    (out.status.code(), last_line(&out), all)
}

fn agrees(line: &str) {
    let (code, last, all) = replay(&[line.to_owned()]);
    assert_eq!(code, Some(0), "{line}\n{all}");
    assert_eq!(
        last, "replayed: 1, agreed: 1, known differences: 0, disagreed: 0",
        "{line}\n{all}"
    );
}

fn disagrees(line: &str) {
    let (code, last, all) = replay(&[line.to_owned()]);
    assert_eq!(code, Some(1), "{line}\n{all}");
    assert_eq!(
        last, "replayed: 1, agreed: 0, known differences: 0, disagreed: 1",
        "{line}\n{all}"
    );
}

fn is_known(line: &str) {
    let (code, last, all) = replay(&[line.to_owned()]);
    assert_eq!(code, Some(0), "{line}\n{all}");
    assert_eq!(
        last, "replayed: 1, agreed: 0, known differences: 1, disagreed: 0",
        "{line}\n{all}"
    );
}

fn is_bad(line: &str, message: &str) {
    let (code, _, all) = replay(&[line.to_owned()]);
    assert_eq!(code, Some(2), "{line}\n{all}");
    assert!(
        all.contains(".jsonl:1: ") && all.contains(message) && all.contains("; expected "),
        "{line}\n{all}"
    );
}

#[test]
fn statuses_are_a_closed_list() {
    let bad_key = |status: &str| case("write", GOOD_SGES, BAD_KEY, &refused(status));
    agrees(&rxe(&bad_key("REM_ACCESS_ERR")));
    for status in ["BOGUS", "rem_access_err", "REM_ACCESS_ERROR", ""] {
        for driver in [rxe, siw] {
            is_bad(
                &driver(&bad_key(status)),
                &format!("\"outcome.wc_status\" is {status:?}"),
            );
        }
    }
    for status in [
        "RETRY_EXC_ERR",
        "REM_INV_REQ_ERR",
        "REM_OP_ERR",
        "LOC_PROT_ERR",
        "LOC_LEN_ERR",
        "WR_FLUSH_ERR",
        "GENERAL_ERR",
        "MW_BIND_ERR",
        "NONE",
        "SUCCESS",
    ] {
        disagrees(&rxe(&bad_key(status)));
    }
    let no_status = bad_key("X").replace(r#""wc_status":"X","#, "");
    is_bad(&rxe(&no_status), "\"outcome.wc_status\" is missing");
    // The other sides.
    let receive = r#""recv_sges":[{"addr":"0x10000","length":64,"lkey":"0x999"}],"#;
    let bad_receive = |status: &str| rxe(&case("send", GOOD_SGES, receive, &refused(status)));
    agrees(&bad_receive("REM_OP_ERR"));
    disagrees(&bad_receive("REM_ACCESS_ERR"));
    disagrees(&bad_receive("LOC_PROT_ERR"));
    let bad_local = |status: &str| rxe(&case("write", BAD_SGES, GOOD_KEY, &refused(status)));
    agrees(&bad_local("LOC_PROT_ERR"));
    agrees(&bad_local("LOC_QP_OP_ERR"));
    disagrees(&bad_local("REM_ACCESS_ERR"));
    disagrees(&bad_local("WR_FLUSH_ERR"));
}

#[test]
fn the_forms_of_iwarp() {
    let probe = |status: &str, probe: &str| {
        format!(
            r#"{{"post_errno":0,"wc_status":"{status}","probe_wc":"{probe}","accepted":false}}"#
        )
    };
    let bad = |outcome: &str| siw(&case("write", GOOD_SGES, BAD_KEY, outcome));
    agrees(&bad(&probe("SUCCESS", "WR_FLUSH_ERR")));
    agrees(&bad(&probe("SUCCESS", "NONE")));
    agrees(&bad(&refused("WR_FLUSH_ERR")));
    agrees(&bad(&refused("LOC_QP_OP_ERR")));
    disagrees(&bad(&probe("SUCCESS", "SUCCESS")));
    disagrees(&bad(&refused("SUCCESS")));
    disagrees(&bad(&refused("LOC_PROT_ERR")));
    disagrees(&bad(&refused("REM_ACCESS_ERR")));
    is_bad(&bad(&probe("SUCCESS", "FOO")), "\"outcome.probe_wc\"");
    // A read that is refused never ends well at the requester.
    let read = |outcome: &str| siw(&case("read", GOOD_SGES, BAD_KEY, outcome));
    agrees(&read(&refused("WR_FLUSH_ERR")));
    disagrees(&read(&probe("SUCCESS", "WR_FLUSH_ERR")));
    let atomic = |outcome: &str| siw(&case("faa", WORD, GOOD_KEY, outcome));
    agrees(&atomic(&not_posted()));
    disagrees(&atomic(&accepted()));
}

#[test]
fn only_what_the_requester_knows_fails_at_the_post() {
    disagrees(&rxe(&case("write", GOOD_SGES, BAD_KEY, &not_posted())));
    disagrees(&rxe(&case("write", BAD_SGES, GOOD_KEY, &not_posted())));
    let misaligned = r#""remote_addr":"0x10004","rkey":"0x501","#;
    agrees(&rxe(&case("cas", WORD, misaligned, &not_posted())));
    agrees(&rxe(&case(
        "cas",
        WORD,
        misaligned,
        &refused("REM_INV_REQ_ERR"),
    )));
    disagrees(&rxe(&case("cas", WORD, GOOD_KEY, &not_posted())));
    let seven = WORD.replace("\"length\":8", "\"length\":7");
    agrees(&rxe(&case("faa", &seven, GOOD_KEY, &not_posted())));
    let far = not_posted().replace("22", "9000");
    is_bad(
        &rxe(&case("faa", &seven, GOOD_KEY, &far)),
        "\"outcome.post_errno\" is 9000",
    );
}

#[test]
fn outcomes_that_contradict_themselves() {
    let good = |outcome: &str| rxe(&case("write", GOOD_SGES, GOOD_KEY, outcome));
    agrees(&good(&accepted()));
    for (from, to) in [
        ("\"post_errno\":0", "\"post_errno\":22"),
        ("SUCCESS", "REM_ACCESS_ERR"),
        ("SUCCESS", "NONE"),
        ("\"wc_num\":0", "\"wc_num\":10"),
        ("\"data_ok\":true", "\"data_ok\":false"),
        ("{", "{\"post_recv_errno\":22,"),
        (
            "{",
            "{\"resp_wc\":[{\"status\":\"LOC_PROT_ERR\",\"num\":4}],",
        ),
        ("{", "{\"probe_wc\":\"WR_FLUSH_ERR\","),
    ] {
        disagrees(&good(&accepted().replacen(from, to, 1)));
    }
    let bad = |outcome: &str| rxe(&case("write", GOOD_SGES, BAD_KEY, outcome));
    disagrees(&bad(&refused("SUCCESS")));
    disagrees(&bad(&not_posted().replace("NONE", "REM_ACCESS_ERR")));
    let outside = refused("REM_ACCESS_ERR").replacen(
        '{',
        "{\"changed\":{\"arena\":\"T\",\"count\":9,\"outside_target\":9},",
        1,
    );
    disagrees(&bad(&outside));
}

#[test]
fn only_a_receive_that_is_too_short_is_too_short() {
    for sub in ["recv_short", "other"] {
        let with = |line: String| line.replace("{driver}", "rxe").replace("{sub}", sub);
        agrees(&with(case(
            "send",
            GOOD_SGES,
            SHORT,
            &refused("REM_OP_ERR"),
        )));
        agrees(&with(case(
            "send",
            GOOD_SGES,
            SHORT,
            &refused("REM_INV_REQ_ERR"),
        )));
        disagrees(&with(case(
            "send",
            GOOD_SGES,
            SHORT,
            &refused("REM_ACCESS_ERR"),
        )));
        disagrees(&with(case("send", GOOD_SGES, LONG, &refused("REM_OP_ERR"))));
        disagrees(&with(case(
            "write",
            GOOD_SGES,
            BAD_KEY,
            &refused("LOC_PROT_ERR"),
        )));
        disagrees(&with(case(
            "write",
            GOOD_SGES,
            BAD_KEY,
            &refused("REM_OP_ERR"),
        )));
    }
}

/// A registration: `{family}`, `{seq}`, `{access}`, `{mapping}` and `{outcome}` are filled in.
const REGISTRATION: &str = r#"{"id":"r","family":"{family}","sub":"reg_keep_live","driver":"rxe","mrs":[],"op":{"op":"reg_mr",{seq}"qp_pd":0,"addr":"0x200000000000","length":4096,"access":{access}{mapping}},"outcome":{outcome}}"#;
const MADE: &str = r#"{"errno":0,"accepted":true,"lkey":"0x266","rkey":"0x266"}"#;
const EINVAL: &str = r#"{"errno":22,"accepted":false}"#;

fn registration(family: &str, seq: bool, access: u32, mapping: &str, outcome: &str) -> String {
    let mapping = if mapping.is_empty() {
        String::new()
    } else {
        format!(",\"mapping\":\"{mapping}\"")
    };
    REGISTRATION
        .replace("{family}", family)
        .replace("{seq}", if seq { "\"seq\":0," } else { "" })
        .replace("{access}", &access.to_string())
        .replace("{mapping}", &mapping)
        .replace("{outcome}", outcome)
}

#[test]
fn key_sequences_are_judged() {
    let h =
        |access, mapping: &str, outcome: &str| registration("H", true, access, mapping, outcome);
    agrees(&h(7, "", MADE));
    disagrees(&h(7, "", EINVAL));
    disagrees(&h(7, "", &MADE.replace("\"errno\":0", "\"errno\":12")));
    disagrees(&h(7, "", &EINVAL.replace("22", "0")));
    // REMOTE_WRITE without LOCAL_WRITE.
    agrees(&h(2, "", EINVAL));
    disagrees(&h(2, "", MADE));
    // Memory that cannot be written.
    agrees(&h(1, "none", &EINVAL.replace("22", "14")));
    disagrees(&h(1, "none", MADE));
    is_known(&h(7, "", EINVAL).replacen('{', "{\"differs_from_ib\":true,", 1));
    // A lie leaves nothing behind: the next ones agree.
    let mut lines = vec![h(7, "", EINVAL)];
    lines.extend((0..600).map(|_| h(7, "", MADE)));
    let (code, last, all) = replay(&lines);
    assert_eq!(code, Some(1), "{all}");
    assert_eq!(
        last,
        "replayed: 601, agreed: 600, known differences: 0, disagreed: 1"
    );
    // The number of a sequence says nothing in another family: there the mapping must be given.
    disagrees(&registration("B", true, 7, "rw", EINVAL));
    is_bad(&registration("B", true, 7, "", EINVAL), "\"op.mapping\"");
}

#[test]
fn registrations_are_judged() {
    let a =
        |access, mapping: &str, outcome: &str| registration("A", false, access, mapping, outcome);
    agrees(&a(7, "rw", MADE));
    agrees(&a(7, "kernel", EINVAL));
    agrees(&a(4, "ro_shared_file", MADE));
    agrees(&a(1, "rx_private_anon", EINVAL));
    disagrees(&a(7, "kernel", MADE));
    disagrees(&a(7, "noncanonical", MADE));
    disagrees(&a(1, "ro_private_file", MADE));
    disagrees(&a(7, "rw", &MADE.replace("\"errno\":0", "\"errno\":22")));
    disagrees(&a(7, "kernel", &EINVAL.replace("22", "0")));
    // names of the same build as the known ones
    agrees(&a(7, "rw_hugetlb", MADE));
    agrees(&a(1, "ro_hugetlb", EINVAL));
    disagrees(&a(7, "past_the_end", MADE));
    for name in ["bogus", "rwx_typo", "RW", "roo", ""] {
        let line = a(7, "rw", EINVAL).replace("\"rw\"", &format!("{name:?}"));
        is_bad(&line, &format!("\"op.mapping\" is {name:?}"));
    }
    is_bad(
        &a(7, "rw", MADE).replace("\"errno\":0,", ""),
        "\"outcome.errno\" is missing",
    );
    for driver in ["mlx5", "RXE", ""] {
        is_bad(
            &a(7, "rw", MADE).replace("\"rxe\"", &format!("{driver:?}")),
            &format!("\"driver\" is {driver:?}"),
        );
    }
}

#[test]
fn deregistrations_are_replayed() {
    let line = |mws: &str, outcome: &str| {
        case("dereg_mr", "[]", "\"mr\":\"T\",", outcome)
            .replace("{driver}", "rxe")
            .replace("\"access\":15", "\"access\":31")
            .replace(
                "\"family\":\"X\"",
                &format!("\"family\":\"G\",\"mws\":[{mws}]"),
            )
    };
    let window = |state: &str| window(1, state, "T", 0);
    let made = r#"{"errno":0,"accepted":true}"#;
    agrees(&line("", made));
    agrees(&line(&window("deallocated"), made));
    disagrees(&line("", EINVAL));
    disagrees(&line("", &made.replace("\"errno\":0", "\"errno\":22")));
    is_bad(
        &line("", made).replace("\"mr\":\"T\"", "\"mr\":\"Z\""),
        "\"op.mr\" is \"Z\"",
    );
    // With a window bound to it, it cannot go; its keys die only with it.
    disagrees(&line(&window("valid"), made));
    let transfer = rxe(&case("write", GOOD_SGES, GOOD_KEY, &accepted()));
    let gone = rxe(&case(
        "write",
        GOOD_SGES,
        GOOD_KEY,
        &refused("REM_ACCESS_ERR"),
    ))
    .replacen("\"valid\"", "\"deregistered\"", 1);
    let (code, last, all) = replay(&[
        transfer.clone(),
        line(&window("valid"), EINVAL),
        transfer.clone(),
        line("", made),
        gone,
        transfer,
    ]);
    assert_eq!(code, Some(0), "{all}");
    assert_eq!(
        last,
        "replayed: 6, agreed: 6, known differences: 0, disagreed: 0"
    );
    // Windows elsewhere hide nothing.
    let hidden = rxe(&case("write", GOOD_SGES, GOOD_KEY, &accepted())).replacen(
        '{',
        &format!("{{\"mws\":[{}],", window("valid")),
        1,
    );
    is_bad(&hidden, "windows are listed in a line of family X");
}

/// A window `W` with R_Key 0x8000101: bytes 0x100 to 0x4ff of the region `mr`.
fn window(kind: u32, state: &str, mr: &str, qpn: u32) -> String {
    let bound = state == "valid" || state == "deallocated";
    let (mr, va, length, access) = match bound {
        true => (mr, "0x10100", 1024, 14),
        false => ("", "0x0", 0, 0),
    };
    format!(
        r#"{{"name":"W","type":{kind},"pd":0,"mr":"{mr}","va":"{va}","length":{length},"access":{access},"rkey":"0x8000101","state":"{state}","qpn":{qpn}}}"#
    )
}

/// Regions to which windows may be bound: `T` with every right, `R` that nobody may write, `U` of
/// another domain. `{mws}`, `{op}` and `{outcome}` are filled in.
const WINDOWS: &str = r#"{"id":"w","family":"G","sub":"s","driver":"rxe","mrs":[{"name":"T","pd":0,"va":"0x10000","length":8192,"access":31,"lkey":"0x501","rkey":"0x501","state":"valid"},{"name":"R","pd":0,"va":"0x50000","length":8192,"access":16,"lkey":"0x703","rkey":"0x0","state":"valid"},{"name":"U","pd":1,"va":"0x10000","length":8192,"access":31,"lkey":"0x804","rkey":"0x804","state":"valid"},{"name":"L","pd":0,"va":"0x30000","length":8192,"access":1,"lkey":"0x602","rkey":"0x602","state":"valid"}],"mws":[{mws}],"op":{op},"outcome":{outcome}}"#;

fn with_window(mws: &str, op: &str, outcome: &str) -> String {
    WINDOWS
        .replace("{mws}", mws)
        .replace("{op}", op)
        .replace("{outcome}", outcome)
}

const ACCESS: &str = r#"{"op":"write","check":"remote","sges":[{"addr":"0x30000","length":64,"lkey":"0x602"}],"remote_addr":"0x10100","rkey":"0x8000101","req_pd":0,"resp_pd":0,"resp_qp_access":14,"req_qpn":17,"resp_qpn":18}"#;

/// Turned-over verdicts of accesses through a window, one for each rule.
#[test]
fn accesses_through_windows_are_judged() {
    let yes = accepted();
    let no = refused("REM_ACCESS_ERR");
    let both = |kind: u32, op: &str, good: bool| {
        let line = |outcome: &str| with_window(&window(kind, "valid", "T", 18), op, outcome);
        let (right, wrong) = if good { (&yes, &no) } else { (&no, &yes) };
        agrees(&line(right));
        disagrees(&line(wrong));
        if !good {
            disagrees(&line(&refused("REM_INV_REQ_ERR")));
            disagrees(&line(&refused("LOC_PROT_ERR")));
        }
    };
    for kind in [1, 2] {
        both(kind, ACCESS, true);
        // The last byte, one more, one before: the region goes on there.
        both(kind, &ACCESS.replace("0x10100", "0x104c0"), true);
        both(kind, &ACCESS.replace("0x10100", "0x104c1"), false);
        both(kind, &ACCESS.replace("0x10100", "0x100ff"), false);
        // Key and domain; the queue pair, for type 2.
        both(kind, &ACCESS.replace("0x8000101", "0x8000100"), false);
        both(kind, &ACCESS.replace("0x8000101", "0x8000201"), false);
        both(
            kind,
            &ACCESS.replace("\"resp_pd\":0", "\"resp_pd\":1"),
            false,
        );
        let other = ACCESS.replace("\"resp_qpn\":18", "\"resp_qpn\":19");
        both(kind, &other, kind == 1);
    }
    // Rights, one missing.
    for (op, right) in [("write", 2), ("read", 4), ("faa", 8)] {
        let op = ACCESS
            .replace("\"write\"", &format!("\"{op}\""))
            .replace("\"length\":64", "\"length\":8");
        for access in 0..8 {
            let access = access << 1;
            let w = window(1, "valid", "T", 0)
                .replace("\"access\":14", &format!("\"access\":{access}"));
            let good = access & right != 0;
            agrees(&with_window(&w, &op, if good { &yes } else { &no }));
            disagrees(&with_window(&w, &op, if good { &no } else { &yes }));
        }
    }
    // Windows that are not bound, or gone, or that the rules refuse to bind.
    for state in ["free", "unbound", "deallocated"] {
        let line = |outcome: &str| with_window(&window(2, state, "T", 18), ACCESS, outcome);
        agrees(&line(&no));
        disagrees(&line(&yes));
    }
    for mr in ["R", "U"] {
        let line = |outcome: &str| with_window(&window(1, "valid", mr, 0), ACCESS, outcome);
        agrees(&line(&no));
        disagrees(&line(&yes));
    }
    // Flagged, it counts as known and says why.
    let outside = ACCESS.replace("0x10100", "0x10600");
    let line = with_window(&window(1, "valid", "T", 0), &outside, &yes);
    let line = line.replacen('{', "{\"differs_from_ib\":true,", 1);
    is_known(&line);
    let (_, _, all) = replay(&[line]);
    assert!(all.contains("refused: a window has its own range"), "{all}");
    // A zero-based one.
    let zero = window(2, "valid", "T", 18).replace("\"access\":14", "\"access\":46");
    for (addr, good) in [
        ("0x0", true),
        ("0x3c0", true),
        ("0x3c1", false),
        ("0x10100", false),
    ] {
        let op = ACCESS.replace("0x10100", addr);
        agrees(&with_window(&zero, &op, if good { &yes } else { &no }));
        disagrees(&with_window(&zero, &op, if good { &no } else { &yes }));
    }
}

const BIND: &str = r#"{"op":"bind_mw","check":"bind","mw":"W","mr":"T","mw_type":1,"addr":"0x10100","length":1024,"access":6,"mw_rkey":"0x8000101","mr_lkey":"0x501","new_rkey":"0x8000102","qp_pd":0,"qpn":18}"#;

/// Turned-over verdicts of binds, one for each check.
#[test]
fn binds_are_judged() {
    let yes = accepted();
    let no = refused("MW_BIND_ERR");
    let both = |mws: &str, op: &str, good: bool| {
        let (right, wrong) = if good { (&yes, &no) } else { (&no, &yes) };
        agrees(&with_window(mws, op, right));
        disagrees(&with_window(mws, op, wrong));
        if !good {
            disagrees(&with_window(mws, op, &refused("REM_ACCESS_ERR")));
            disagrees(&with_window(mws, op, &refused("LOC_QP_OP_ERR")));
        }
    };
    for kind in [1, 2] {
        let free = window(kind, if kind == 1 { "unbound" } else { "free" }, "", 0);
        both(&free, BIND, true);
        for (from, to) in [
            ("\"mr_lkey\":\"0x501\"", "\"mr_lkey\":\"0x500\""),
            ("\"mr_lkey\":\"0x501\"", "\"mr_lkey\":\"0x601\""),
            ("\"mw_rkey\":\"0x8000101\"", "\"mw_rkey\":\"0x8000103\""),
            ("\"mw_rkey\":\"0x8000101\"", "\"mw_rkey\":\"0x501\""),
            ("0x10100", "0xffff"),
            ("0x10100", "0x11c01"),
            ("\"length\":1024", "\"length\":18446744073709551600"),
            ("\"access\":6", "\"access\":5"),
            ("\"access\":6", "\"access\":16"),
            ("\"qp_pd\":0", "\"qp_pd\":1"),
            (
                "\"mr\":\"T\",\"mw_type\":1,\"addr\":\"0x10100\",\"length\":1024,\"access\":6",
                "\"mr\":\"R\",\"mw_type\":1,\"addr\":\"0x50100\",\"length\":1024,\"access\":6",
            ),
        ] {
            let op = BIND.replace(from, to);
            assert_ne!(op, BIND, "{from}");
            let op = match to.contains("\"mr\":\"R\"") {
                true => op.replace("\"0x501\"", "\"0x703\""),
                false => op,
            };
            both(&free, &op, false);
        }
        let other_pd = BIND
            .replace("\"mr\":\"T\"", "\"mr\":\"U\"")
            .replace("\"0x501\"", "\"0x804\"");
        both(&free, &other_pd, false);
        // The library sees domains and flags, but no ranges or keys.
        let early = not_posted().replace("22", "1");
        agrees(&with_window(&free, &other_pd, &early));
        let range = BIND.replace("0x10100", "0xffff");
        disagrees(&with_window(&free, &range, &early));
        // Bound already: type 1 may, type 2 may not. Nothing: the other way round.
        both(&window(kind, "valid", "T", 18), BIND, kind == 1);
        let nothing = BIND.replace("\"length\":1024", "\"length\":0");
        both(&window(kind, "valid", "T", 18), &nothing, kind == 1);
        both(&free, &nothing, kind == 1);
        let zero = BIND.replace("\"access\":6", "\"access\":36");
        both(&free, &zero, kind == 2);
    }
    // A lie leaves nothing behind: the next ones agree.
    let free = window(2, "free", "", 0);
    let lines = [
        with_window(&free, BIND, &no),
        with_window(&free, BIND, &yes),
        with_window(&window(2, "valid", "T", 18), ACCESS, &yes),
        with_window(&free, ACCESS, &refused("REM_ACCESS_ERR")),
    ];
    let (code, last, all) = replay(&lines);
    assert_eq!(code, Some(1), "{all}");
    assert_eq!(
        last,
        "replayed: 4, agreed: 3, known differences: 0, disagreed: 1"
    );
    let known = with_window(&free, BIND, &no).replacen('{', "{\"differs_from_ib\":true,", 1);
    is_known(&known);
    for (from, to, message) in [
        ("\"mw\":\"W\"", "\"mw\":\"V\"", "\"op.mw\" is \"V\""),
        ("\"mr\":\"T\"", "\"mr\":\"V\"", "\"op.mr\" is \"V\""),
        ("\"length\":1024,", "", "op.length"),
    ] {
        is_bad(&with_window(&free, &BIND.replace(from, to), &yes), message);
    }
    is_bad(
        &with_window(&window(3, "free", "", 0), BIND, &yes),
        "\"mws.type\" is 3",
    );
    is_bad(
        &with_window(&window(2, "valid", "V", 0), BIND, &yes),
        "\"mws.mr\" is \"V\"",
    );
}

const LOCAL_INV: &str = r#"{"op":"local_inv","check":"invalidate","inv_key":"0x8000101","on":"resp","sges":[],"req_pd":1,"resp_pd":0,"resp_qp_access":14,"req_qpn":17,"resp_qpn":18}"#;
const SEND_INV: &str = r#"{"op":"send_inv","check":"invalidate","inv_key":"0x8000101","sges":[{"addr":"0x30000","length":16,"lkey":"0x602"}],"recv_sges":[{"addr":"0x10000","length":64,"lkey":"0x501"}],"req_pd":0,"resp_pd":0,"resp_qp_access":14,"req_qpn":17,"resp_qpn":18}"#;

/// Turned-over verdicts of invalidations by the owner and by the peer.
#[test]
fn invalidations_are_judged() {
    let yes = accepted();
    let no = refused("LOC_QP_OP_ERR");
    let local = |mws: &str, op: &str, good: bool| {
        let (right, wrong) = if good { (&yes, &no) } else { (&no, &yes) };
        agrees(&with_window(mws, op, right));
        disagrees(&with_window(mws, op, wrong));
        if !good {
            disagrees(&with_window(mws, op, &refused("REM_ACCESS_ERR")));
            disagrees(&with_window(mws, op, &not_posted()));
        }
    };
    let bound = |kind| window(kind, "valid", "T", 18);
    local(&bound(2), LOCAL_INV, true);
    local(&bound(1), LOCAL_INV, false);
    local(&window(2, "free", "", 0), LOCAL_INV, false);
    // On a queue pair of another domain; by another key; of a region.
    local(
        &bound(2),
        &LOCAL_INV.replace("resp\",\"sges", "req\",\"sges"),
        false,
    );
    local(
        &bound(2),
        &LOCAL_INV.replace("0x8000101", "0x8000100"),
        false,
    );
    for key in ["0x501", "0x0", "0xffffffff"] {
        local("", &LOCAL_INV.replace("0x8000101", key), false);
    }

    let told = |status: &str| {
        let accepted = status == "SUCCESS";
        format!(
            r#"{{"post_errno":0,"wc_status":"SUCCESS","wc_num":0,"resp_wc":[{{"status":"{status}"}}],"accepted":{accepted},"data_ok":true}}"#
        )
    };
    let (yes, no) = (told("SUCCESS"), told("REM_INV_REQ_ERR"));
    let send = |mws: &str, op: &str, good: bool| {
        let (right, wrong) = if good { (&yes, &no) } else { (&no, &yes) };
        agrees(&with_window(mws, op, right));
        disagrees(&with_window(mws, op, wrong));
        if !good {
            disagrees(&with_window(mws, op, &told("LOC_PROT_ERR")));
            disagrees(&with_window(mws, op, &refused("REM_INV_REQ_ERR")));
        }
    };
    send(&bound(2), SEND_INV, true);
    send(&bound(1), SEND_INV, false);
    send(&window(2, "free", "", 0), SEND_INV, false);
    // Another queue pair: the window is bound to 18.
    send(
        &bound(2),
        &SEND_INV.replace("\"resp_qpn\":18", "\"resp_qpn\":20"),
        false,
    );
    send(
        &bound(2),
        &SEND_INV.replace("0x8000101", "0x8000111"),
        false,
    );
    send("", &SEND_INV.replace("0x8000101", "0x501"), false);
    // A message that does not arrive invalidates nothing: its own refusal counts.
    let lost = SEND_INV.replace("\"lkey\":\"0x602\"", "\"lkey\":\"0x777\"");
    agrees(&with_window(&bound(2), &lost, &refused("LOC_PROT_ERR")));
    disagrees(&with_window(&bound(2), &lost, &yes));
    let flagged = with_window(&bound(2), SEND_INV, &no);
    is_known(&flagged.replacen('{', "{\"differs_from_ib\":true,", 1));
    is_bad(
        &with_window(
            "",
            &LOCAL_INV.replace("resp\",\"sges", "both\",\"sges"),
            &yes,
        ),
        "\"op.on\" is \"both\"",
    );
}

/// Allocations of windows in a sequence.
#[test]
fn allocations_of_windows_are_judged() {
    let line = |sub: &str, outcome: &str| {
        format!(
            r#"{{"id":"a","family":"H","sub":"{sub}","driver":"rxe","mrs":[],"op":{{"op":"alloc_mw","seq":0,"qp_pd":0}},"outcome":{outcome}}}"#
        )
    };
    let made = r#"{"errno":0,"accepted":true}"#;
    for sub in ["mw1_alloc_then_dealloc", "mw2_alloc_then_dealloc"] {
        agrees(&line(sub, made));
        disagrees(&line(sub, EINVAL));
        disagrees(&line(sub, &EINVAL.replace("22", "0")));
        disagrees(&line(sub, &made.replace("\"errno\":0", "\"errno\":22")));
    }
    is_bad(&line("other", made), "mw_type");
}

/// Lines that were not run go through the unit all the same, and count as known.
#[test]
fn lines_that_were_not_run_go_through_the_unit() {
    let whole = rxe(&case(
        "write",
        GOOD_SGES,
        GOOD_KEY,
        r#"{"not_run":"crashes the guest"}"#,
    ));
    let half = r#"{"id":"h","family":"E","sub":"multi_sge","driver":"siw","mrs":[],"op":{"op":"send","check":"local","qp_pd":0,"sges":[{"addr":"0x30000","length":64,"lkey":"0x602"}]},"outcome":{"not_run":"crashes the guest"}}"#;
    let none = r#"{"id":"n","family":"B","sub":"x","driver":"siw","mrs":[],"op":{"op":"reg_mr"},"outcome":{"unsupported":true}}"#;
    for line in [&whole, half, none] {
        is_known(line);
    }
    let (_, _, all) = replay(&[whole.clone(), half.to_owned()]);
    let count = all
        .lines()
        .find_map(|l| l.strip_prefix("  local read "))
        .map(str::trim);
    assert_eq!(count, Some("2"), "{all}");
    assert!(all.contains("not run by the recorder: nothing to compare (send)"));
    // What is there must be right.
    is_bad(
        &whole.replace("\"length\":64", "\"length\":-1"),
        "sges[0].length",
    );
}
