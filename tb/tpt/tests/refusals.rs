// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Traces in which requests are refused, made by hand: each way a program can see it.

mod common;

use common::{last_line, stdout, temporary, tpt};

/// Two processes, a queue pair each (17 and 18), and a region on each side.
const HEAD: &str = r#"{"ev":"meta","name":"hand made"}
{"ev":"pd","proc":"a","ctx":3,"pd":0,"errno":0}
{"ev":"pd","proc":"b","ctx":3,"pd":0,"errno":0}
{"ev":"reg_mr","proc":"a","ctx":3,"pd":0,"addr":"0x10010","iova":"0x10010","length":8192,"access":1,"lkey":4660,"rkey":0,"handle":1,"errno":0,"map":"rw-p"}
{"ev":"pages","proc":"a","ctx":3,"lkey":4660,"page_size":4096,"first_page":0,"npages":3,"total_pages":3,"sampled":false,"pfns":[[100,1],[0,1],[70,1]]}
{"ev":"reg_mr","proc":"b","ctx":3,"pd":0,"addr":"0x20000","iova":"0x20000","length":4096,"access":7,"lkey":8738,"rkey":8738,"handle":1,"errno":0,"map":"rw-p"}
{"ev":"pages","proc":"b","ctx":3,"lkey":8738,"page_size":4096,"first_page":0,"npages":1,"total_pages":1,"sampled":false,"pfns":[[200,1]]}
{"ev":"qp","proc":"a","ctx":3,"qpn":17,"pd":0,"type":"TYPE","srq":null,"errno":0}
{"ev":"qp","proc":"b","ctx":3,"qpn":18,"pd":0,"type":"TYPE","srq":null,"errno":0}
{"ev":"modify_qp","proc":"b","ctx":3,"qpn":18,"errno":0,"access":ACCESS,"state":"INIT"}
{"ev":"modify_qp","proc":"a","ctx":3,"qpn":17,"errno":0,"dest_qpn":18,"state":"RTR"}
{"ev":"modify_qp","proc":"b","ctx":3,"qpn":18,"errno":0,"dest_qpn":17,"state":"RTR"}
"#;

fn replay_as(kind: &str, access: u32, name: &str, lines: &[&str]) -> (Option<i32>, String, String) {
    let head = HEAD
        .replace("TYPE", kind)
        .replace("ACCESS", &access.to_string());
    let path = temporary(name, format!("{head}{}", lines.join("\n")).as_bytes());
    let out = tpt(["replay", "--golden-only", &path.display().to_string()]);
    (out.status.code(), last_line(&out), stdout(&out))
}

fn agrees(name: &str, lines: &[&str], replayed: u64) {
    let (code, line, all) = replay_as("RC", 14, name, lines);
    assert_eq!(code, Some(0), "{name}: {all}");
    // The two registrations agree too.
    assert_eq!(
        line,
        format!(
            "replayed: {0}, agreed: {0}, known differences: 0, disagreed: 0",
            replayed + 2
        ),
        "{name}: {all}"
    );
}

fn disagrees(name: &str, lines: &[&str]) {
    let (code, line, all) = replay_as("RC", 14, name, lines);
    assert_eq!(code, Some(1), "{name}: {all}");
    assert!(line.ends_with("disagreed: 1"), "{name}: {all}");
}

const WRITE: &str = r#"{"ev":"send","proc":"a","ctx":3,"qpn":17,"opcode":"write","wr_id":"0x1","flags":2,"sges":[["0x10010",64,4660]],"raddr":"0x20000","rkey":8738,"errno":0}"#;

fn wc(status: &str) -> String {
    format!(
        r#"{{"ev":"wc","proc":"a","ctx":3,"qpn":17,"wr_id":"0x1","status":"{status}","opcode":"write"}}"#
    )
}

fn wc_send(status: &str) -> String {
    wc(status).replace("\"opcode\":\"write\"", "\"opcode\":\"send\"")
}

#[test]
fn accepted_and_refused_writes() {
    agrees("write.jsonl", &[WRITE, &wc("SUCCESS")], 1);
    disagrees("write_lie.jsonl", &[WRITE, &wc("REM_ACCESS_ERR")]);
    // Another low byte, another range, another right.
    for (name, from, to) in [
        ("w_tag.jsonl", "\"rkey\":8738", "\"rkey\":8739"),
        ("w_index.jsonl", "\"rkey\":8738", "\"rkey\":8994"),
        ("w_end.jsonl", "0x20000", "0x20fc1"),
        (
            "w_atomic.jsonl",
            "\"opcode\":\"write\"",
            "\"opcode\":\"faa\"",
        ),
    ] {
        let bad = WRITE.replace(from, to);
        agrees(name, &[&bad, &wc("REM_ACCESS_ERR")], 1);
        disagrees(name, &[&bad, &wc("SUCCESS")]);
        disagrees(name, &[&bad, &wc("REM_INV_REQ_ERR")]);
        disagrees(name, &[&bad, &wc("LOC_PROT_ERR")]);
    }
}

#[test]
fn empty_writes_need_no_key() {
    let empty = WRITE
        .replace("[[\"0x10010\",64,4660]]", "[]")
        .replace("\"rkey\":8738", "\"rkey\":2823974512");
    agrees("empty.jsonl", &[&empty, &wc("SUCCESS")], 1);
}

#[test]
fn own_elements() {
    let bad = WRITE.replace("64,4660", "64,4661");
    agrees("lkey.jsonl", &[&bad, &wc("LOC_QP_OP_ERR")], 1);
    agrees("lkey.jsonl", &[&bad, &wc("LOC_PROT_ERR")], 1);
    disagrees("lkey.jsonl", &[&bad, &wc("REM_ACCESS_ERR")]);
    // Inline data has no key.
    let inline = bad.replace("\"flags\":2", "\"flags\":10,\"inline\":true");
    agrees("inline.jsonl", &[&inline, &wc("SUCCESS")], 1);
}

#[test]
fn queue_pair_flags_hold_for_empty_messages_too() {
    let lines = [WRITE, &wc("REM_INV_REQ_ERR")];
    let (code, line, all) = replay_as("RC", 4, "flags.jsonl", &lines);
    assert_eq!(code, Some(0), "{line} {all}");
    let empty = WRITE.replace("[[\"0x10010\",64,4660]]", "[]");
    let lines = [empty.as_str(), &wc("REM_INV_REQ_ERR")];
    let (code, line, all) = replay_as("RC", 4, "flags0.jsonl", &lines);
    assert_eq!(code, Some(0), "{line} {all}");
}

/// On an unreliable connection a refused write is dropped without a word.
#[test]
fn unreliable_connections_do_not_tell() {
    let bad = WRITE.replace("\"rkey\":8738", "\"rkey\":8739");
    let lines = [bad.as_str(), &wc("SUCCESS")];
    let (code, line, all) = replay_as("UC", 14, "uc.jsonl", &lines);
    assert_eq!(code, Some(0), "{line} {all}");
    let bad = WRITE.replace("64,4660", "64,4661");
    let lines = [bad.as_str(), &wc("SUCCESS")];
    let (code, line, all) = replay_as("UC", 14, "uc_local.jsonl", &lines);
    assert_eq!(code, Some(1), "{line} {all}");
}

const RECV: &str = r#"{"ev":"recv","proc":"b","ctx":3,"qpn":18,"wr_id":"0x9","sges":[["0x20000",64,8738]],"errno":0}"#;
const SEND: &str = r#"{"ev":"send","proc":"a","ctx":3,"qpn":17,"opcode":"send","wr_id":"0x1","flags":2,"sges":[["0x10010",64,4660]],"errno":0}"#;

fn received(status: &str, bytes: u64) -> String {
    format!(
        r#"{{"ev":"wc","proc":"b","ctx":3,"qpn":18,"wr_id":"0x9","status":"{status}","opcode":"recv","byte_len":{bytes}}}"#
    )
}

#[test]
fn receives() {
    let ok = received("SUCCESS", 64);
    agrees("recv.jsonl", &[RECV, SEND, &wc_send("SUCCESS"), &ok], 2);
    // Only the part that the message reaches counts.
    let longer = RECV.replace("64,8738]]", "64,8738],[\"0x20000\",64,1]]");
    agrees(
        "overhang.jsonl",
        &[&longer, SEND, &wc_send("SUCCESS"), &ok],
        2,
    );
    let more = received("SUCCESS", 65);
    disagrees(
        "reached.jsonl",
        &[&longer, SEND, &wc_send("SUCCESS"), &more],
    );

    let bad = RECV.replace("8738", "8739");
    disagrees("recv_bad.jsonl", &[&bad, SEND, &wc_send("SUCCESS"), &ok]);
    let failed = received("LOC_QP_OP_ERR", 0);
    // Seen by both sides, in either order, or by the sender alone.
    agrees(
        "recv_bad1.jsonl",
        &[&bad, SEND, &failed, &wc_send("REM_OP_ERR")],
        2,
    );
    agrees(
        "recv_bad2.jsonl",
        &[&bad, SEND, &wc_send("REM_OP_ERR"), &failed],
        2,
    );
    let (code, line, all) = replay_as(
        "RC",
        14,
        "recv_bad3.jsonl",
        &[&bad, SEND, &wc_send("REM_OP_ERR")],
    );
    assert_eq!(code, Some(0), "{line} {all}");
    // The same with a good receive is a lie.
    disagrees("recv_lie.jsonl", &[RECV, SEND, &wc_send("REM_OP_ERR")]);
    // Too short.
    let short = RECV.replace("64,8738", "63,8738");
    let (code, line, all) = replay_as(
        "RC",
        14,
        "short.jsonl",
        &[&short, SEND, &failed, &wc_send("REM_OP_ERR")],
    );
    assert_eq!(code, Some(0), "{line} {all}");
}

#[test]
fn windows_are_left_out() {
    let lines = [
        r#"{"ev":"alloc_mw","proc":"b","ctx":3,"pd":0,"rkey":134218000,"handle":7,"type":2,"errno":0}"#,
        r#"{"ev":"send","proc":"b","ctx":3,"qpn":18,"opcode":"bind_mw","wr_id":"0x5","flags":2,"rkey":134218001,"mw_addr":"0x20000","mw_length":64,"mw_access":2,"mw_mr_lkey":8738,"errno":0}"#,
        r#"{"ev":"wc","proc":"b","ctx":3,"qpn":18,"wr_id":"0x5","status":"SUCCESS","opcode":"bind_mw"}"#,
        &WRITE.replace("\"rkey\":8738", "\"rkey\":134218001"),
        &wc("SUCCESS"),
    ];
    let (code, line, all) = replay_as("RC", 14, "windows.jsonl", &lines);
    assert_eq!(code, Some(0), "{all}");
    assert!(line.starts_with("replayed: 2, agreed: 2,"), "{all}");
    assert!(
        all.contains("left out because they need windows or invalidation: 2"),
        "{all}"
    );
}

#[test]
fn stale_keys_and_refused_registrations() {
    let dereg =
        r#"{"ev":"dereg_mr","proc":"b","ctx":3,"lkey":8738,"rkey":8738,"handle":1,"errno":0}"#;
    agrees("stale.jsonl", &[dereg, WRITE, &wc("REM_ACCESS_ERR")], 1);
    disagrees("stale.jsonl", &[dereg, WRITE, &wc("SUCCESS")]);
    let reg = |access: u32, errno: i64| {
        format!(
            r#"{{"ev":"reg_mr","proc":"a","ctx":3,"pd":0,"addr":"0x50000","iova":"0x50000","length":4096,"access":{access},"lkey":0,"rkey":0,"handle":0,"errno":{errno},"map":"rw-p"}}"#
        )
    };
    // REMOTE_WRITE alone, unknown flags, an on-demand region with windows.
    for access in [2, 1 << 10, 1 | 1 << 4 | 1 << 6] {
        agrees("reg.jsonl", &[&reg(access, 22)], 1);
    }
    // Paging on demand: that the recorder has not got it says nothing about protection.
    agrees("demand.jsonl", &[&reg(1 | 1 << 6, 22)], 0);
    // Posts that failed did nothing.
    let failed = WRITE
        .replace("\"errno\":0", "\"errno\":22")
        .replace("8738", "1");
    agrees("failed.jsonl", &[&failed], 0);
}
