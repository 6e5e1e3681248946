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
            .replace(
                "\"family\":\"X\"",
                &format!("\"family\":\"G\",\"mws\":[{mws}]"),
            )
    };
    let window = |state: &str| {
        format!(r#"{{"name":"W","type":1,"mr":"T","rkey":"0x8000101","state":"{state}"}}"#)
    };
    let made = r#"{"errno":0,"accepted":true}"#;
    agrees(&line("", made));
    agrees(&line(&window("deallocated"), made));
    disagrees(&line("", EINVAL));
    disagrees(&line("", &made.replace("\"errno\":0", "\"errno\":22")));
    is_bad(
        &line("", made).replace("\"mr\":\"T\"", "\"mr\":\"Z\""),
        "\"op.mr\" is \"Z\"",
    );
    // With a window bound to it, it needs windows; its keys die only with it.
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
        "replayed: 5, agreed: 5, known differences: 0, disagreed: 0"
    );
    assert!(all.contains("  dereg_mr         1"), "{all}");
    // Windows elsewhere hide nothing.
    let hidden = rxe(&case("write", GOOD_SGES, GOOD_KEY, &accepted())).replacen(
        '{',
        &format!("{{\"mws\":[{}],", window("valid")),
        1,
    );
    is_bad(&hidden, "windows are listed in a line of family X");
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
