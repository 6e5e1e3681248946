// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Traces that say what no device can have said: each is found, or visibly not judged.

mod common;

use common::{last_line, stderr, stdout, temporary, tpt};
use serde_json::{json, Value};

/// Two processes, a region and a queue pair each; a send, a write and an atomic that succeed.
fn base() -> Vec<Value> {
    let mut lines = vec![json!({"ev": "meta", "name": "hand made"})];
    for (proc, qpn) in [("server", 17), ("client", 18)] {
        lines.push(json!({"ev": "open", "proc": proc}));
        lines.push(json!({"ev": "pd", "proc": proc, "pd": 0, "errno": 0}));
        lines.push(
            json!({"ev": "qp", "proc": proc, "qpn": qpn, "pd": 0, "type": "RC",
            "srq": null, "errno": 0}),
        );
    }
    for (proc, addr, key, frame) in [
        ("server", "0x10000", 0x501, 1000),
        ("client", "0x20000", 0x602, 2000),
    ] {
        lines.push(
            json!({"ev": "reg_mr", "proc": proc, "pd": 0, "addr": addr, "iova": addr,
            "length": 8192, "access": 15, "lkey": key, "rkey": key, "handle": 1, "errno": 0,
            "map": "rw-p"}),
        );
        lines.push(
            json!({"ev": "pages", "proc": proc, "lkey": key, "page_size": 4096,
            "first_page": 0, "npages": 2, "total_pages": 2, "sampled": false,
            "pfns": [[frame, 2]], "missing": 0}),
        );
    }
    for (proc, qpn, peer) in [("server", 17, 18), ("client", 18, 17)] {
        lines.push(
            json!({"ev": "modify_qp", "proc": proc, "qpn": qpn, "errno": 0,
            "state": "INIT", "access": 15}),
        );
        lines.push(
            json!({"ev": "modify_qp", "proc": proc, "qpn": qpn, "errno": 0,
            "state": "RTR", "dest_qpn": peer}),
        );
    }
    let send = |opcode: &str, wr_id: &str, len: u32| {
        json!({"ev": "send", "proc": "client", "qpn": 18, "opcode": opcode, "wr_id": wr_id,
            "flags": 2, "sges": [["0x20000", len, 0x602]], "errno": 0, "raddr": "0x10100",
            "rkey": 0x501})
    };
    let wc = |opcode: &str, wr_id: &str| {
        json!({"ev": "wc", "proc": "client", "qpn": 18, "wr_id": wr_id, "status": "SUCCESS",
            "opcode": opcode})
    };
    lines.push(
        json!({"ev": "recv", "proc": "server", "qpn": 17, "wr_id": "0x1",
        "sges": [["0x10000", 256, 0x501]], "errno": 0}),
    );
    lines.push(send("send", "0x10", 64));
    lines.push(
        json!({"ev": "wc", "proc": "server", "qpn": 17, "wr_id": "0x1",
        "status": "SUCCESS", "opcode": "recv", "byte_len": 64}),
    );
    lines.push(wc("send", "0x10"));
    lines.push(send("write", "0x11", 64));
    lines.push(wc("write", "0x11"));
    lines.push(send("faa", "0x12", 8));
    lines.push(wc("faa", "0x12"));
    for (proc, key) in [("server", 0x501), ("client", 0x602)] {
        lines.push(
            json!({"ev": "dereg_mr", "proc": proc, "lkey": key, "rkey": key,
            "handle": 1, "errno": 0}),
        );
    }
    lines
}

/// The place of the line with these values.
fn at(lines: &[Value], what: &Value) -> usize {
    let fields = what.as_object().expect("an object");
    lines
        .iter()
        .position(|l| fields.iter().all(|(k, v)| l.get(k) == Some(v)))
        .unwrap_or_else(|| panic!("no line with {what}"))
}

/// Changes values of a line.
fn set(lines: &mut [Value], what: Value, values: Value) {
    let n = at(lines, &what);
    for (k, v) in values.as_object().expect("an object") {
        lines[n][k] = v.clone();
    }
}

/// Puts a line in front of another.
fn before(lines: &mut Vec<Value>, what: &Value, line: Value) {
    let n = at(lines, what);
    lines.insert(n, line);
}

/// Moves a line in front of another.
fn move_before(lines: &mut Vec<Value>, what: &Value, to: &Value) {
    let n = at(lines, what);
    let line = lines.remove(n);
    before(lines, to, line);
}

fn remove(lines: &mut Vec<Value>, what: &Value) -> Value {
    let n = at(lines, what);
    lines.remove(n)
}

struct Outcome {
    code: Option<i32>,
    last: String,
    all: String,
    errors: String,
}

/// Replays the changed trace. Times are given here: in the order of the lines.
fn replay(name: &str, change: impl FnOnce(&mut Vec<Value>)) -> Outcome {
    let mut lines = base();
    change(&mut lines);
    let mut text = String::new();
    for (n, line) in lines.iter_mut().enumerate() {
        for (k, v) in [("t", json!(1000 * n)), ("tid", json!(1)), ("ctx", json!(3))] {
            if line.get(k).is_none() {
                line[k] = v;
            }
        }
        text += &format!("{line}\n");
    }
    let path = temporary(&format!("lie_{name}.jsonl"), text.as_bytes());
    let out = tpt(["replay", "--golden-only", &path.display().to_string()]);
    Outcome {
        code: out.status.code(),
        last: last_line(&out),
        all: stdout(&out),
        errors: stderr(&out),
    }
}

fn agrees(name: &str, judged: u64, change: impl FnOnce(&mut Vec<Value>)) -> String {
    let o = replay(name, change);
    assert_eq!(o.code, Some(0), "{name}: {}{}", o.all, o.errors);
    assert_eq!(
        o.last,
        format!("replayed: {judged}, agreed: {judged}, known differences: 0, disagreed: 0"),
        "{name}: {}",
        o.all
    );
    o.all
}

fn disagrees(name: &str, text: &str, change: impl FnOnce(&mut Vec<Value>)) {
    let o = replay(name, change);
    assert_eq!(o.code, Some(1), "{name}: {}{}", o.all, o.errors);
    assert!(o.all.contains(text), "{name}: {}", o.all);
    assert!(!o.last.ends_with("disagreed: 0"), "{name}: {}", o.all);
}

fn bad(name: &str, text: &str, change: impl FnOnce(&mut Vec<Value>)) {
    let o = replay(name, change);
    assert_eq!(o.code, Some(2), "{name}: {}{}", o.all, o.errors);
    assert!(
        o.errors.contains(text) && o.errors.contains("; expected "),
        "{name}: {}",
        o.errors
    );
}

fn write() -> Value {
    json!({"ev": "send", "opcode": "write"})
}
fn write_wc() -> Value {
    json!({"ev": "wc", "wr_id": "0x11"})
}
fn recv() -> Value {
    json!({"ev": "recv"})
}
fn recv_wc() -> Value {
    json!({"ev": "wc", "proc": "server"})
}
fn send_wc() -> Value {
    json!({"ev": "wc", "wr_id": "0x10"})
}
/// The trace ends after the send.
fn only_the_send(l: &mut Vec<Value>) {
    let n = at(l, &write());
    l.truncate(n);
}

#[test]
fn the_base_agrees() {
    agrees("base", 6, |_| {});
}

#[test]
fn requests_without_an_end_are_not_counted_as_agreed() {
    let all = agrees("no_end", 4, |l| {
        l.retain(|e| e["ev"] != "wc" || e["wr_id"] == "0x10" || e["wr_id"] == "0x1");
    });
    let line = "checked against the reference only, no end in the recording: 2";
    assert!(all.contains(line), "{all}");
    let all = agrees("no_end_bad", 2, |l| {
        l.retain(|e| e["ev"] != "wc");
        for e in l.iter_mut().filter(|e| e["ev"] == "send") {
            e["sges"] = json!([["0x1", 8, 9]]);
        }
    });
    assert!(all.contains("not judged: 3"), "{all}");
    // A completion too many, where one of the same name asked for none.
    disagrees("twice_implied", "which was not posted or has ended", |l| {
        let mut other = l[at(l, &json!({"opcode": "faa"}))].clone();
        let wc = l[at(l, &json!({"ev": "wc", "wr_id": "0x12"}))].clone();
        other["flags"] = json!(0);
        let end = json!({"ev": "dereg_mr"});
        before(l, &end, other);
        before(l, &end, wc);
    });
    // Unsignaled requests of one name: a later completion speaks for them.
    agrees("implied", 7, |l| {
        let mut first = l[at(l, &write())].clone();
        first["flags"] = json!(0);
        before(l, &write(), first);
    });
    disagrees("implied_lie", "later requests succeed", |l| {
        let mut first = l[at(l, &write())].clone();
        first["flags"] = json!(0);
        first["rkey"] = json!(0x777);
        before(l, &write(), first);
    });
}

#[test]
fn names_come_out_of_closed_lists() {
    for status in ["FOO", "success", "NONSENSE", ""] {
        bad("status", "\"status\" is", |l| {
            set(l, write_wc(), json!({ "status": status }));
        });
    }
    bad("qp_type", "\"type\" is \"rc\"", |l| {
        set(l, json!({"ev": "qp", "qpn": 18}), json!({"type": "rc"}));
    });
    bad("ev", "\"ev\" is \"dereg\"", |l| {
        set(l, json!({"ev": "dereg_mr"}), json!({"ev": "dereg"}));
    });
    bad("state", "\"state\" is \"rtr\"", |l| {
        set(l, json!({"ev": "modify_qp"}), json!({"state": "rtr"}));
    });
    bad("opcode", "\"opcode\" is \"RECV\"", |l| {
        set(l, recv_wc(), json!({"opcode": "RECV"}));
    });
    bad("no_opcode", "\"opcode\" is missing", |l| {
        set(l, recv_wc(), json!({"opcode": null}));
    });
    bad("no_byte_len", "\"byte_len\" is missing", |l| {
        set(l, recv_wc(), json!({"byte_len": null}));
    });
    bad("byte_len", "\"byte_len\" is \"many\"", |l| {
        set(l, recv_wc(), json!({"byte_len": "many"}));
    });
}

#[test]
fn without_a_responder_nothing_is_judged_of_it() {
    for (name, status) in [("success", "SUCCESS"), ("refused", "REM_ACCESS_ERR")] {
        let all = agrees(&format!("no_peer_{name}"), 4, |l| {
            remove(l, &json!({"ev": "modify_qp", "qpn": 18, "state": "RTR"}));
            set(l, write(), json!({"rkey": 0x777}));
            l.retain(|e| e["wr_id"] != "0x12");
            set(l, write_wc(), json!({ "status": status }));
        });
        assert!(all.contains("not judged: 1"), "{all}");
    }
    disagrees("no_peer_local", "local element", |l| {
        remove(l, &json!({"ev": "modify_qp", "qpn": 18, "state": "RTR"}));
        set(l, write(), json!({"sges": [["0x20000", 64, 7]]}));
    });
    let all = agrees("uc", 5, |l| {
        set(l, json!({"ev": "qp", "qpn": 18}), json!({"type": "UC"}));
        set(l, write(), json!({"rkey": 0x777}));
    });
    assert!(
        all.contains("1  refused by a responder that does not tell"),
        "{all}"
    );
}

#[test]
fn failed_receives_have_a_cause() {
    for status in [
        "LOC_PROT_ERR",
        "LOC_QP_OP_ERR",
        "LOC_LEN_ERR",
        "LOC_ACCESS_ERR",
        "REM_ACCESS_ERR",
        "REM_INV_REQ_ERR",
        "RETRY_EXC_ERR",
    ] {
        disagrees(
            "recv_status",
            &format!("nothing is wrong that ends a receive with {status}"),
            |l| set(l, recv_wc(), json!({ "status": status })),
        );
    }
    disagrees("recv_flush", "flushed, but nothing failed before", |l| {
        set(l, recv_wc(), json!({"status": "WR_FLUSH_ERR"}));
    });
    disagrees("all_flushed", "flushed, but nothing failed before", |l| {
        for e in l.iter_mut().filter(|e| e["ev"] == "wc") {
            e["status"] = json!("WR_FLUSH_ERR");
        }
    });
    // After the program itself, or an error, has stopped the queue pair.
    let all = agrees("stopped", 4, |l| {
        before(
            l,
            &write_wc(),
            json!({"ev": "modify_qp", "proc": "client", "qpn": 18, "state": "ERR", "errno": 0}),
        );
        for name in ["0x11", "0x12"] {
            set(
                l,
                json!({"ev": "wc", "wr_id": name}),
                json!({"status": "WR_FLUSH_ERR"}),
            );
        }
    });
    assert!(all.contains("no end in the recording: 2"), "{all}");
    agrees("flushed", 5, |l| {
        set(l, write(), json!({"rkey": 0x777}));
        set(l, write_wc(), json!({"status": "REM_ACCESS_ERR"}));
        set(
            l,
            json!({"ev": "wc", "wr_id": "0x12"}),
            json!({"status": "WR_FLUSH_ERR"}),
        );
    });
    // A bad element; too short, as the standard and as one driver tell it.
    agrees("recv_bad", 4, |l| {
        only_the_send(l);
        set(l, recv(), json!({"sges": [["0x99999", 256, 0x501]]}));
        set(l, recv_wc(), json!({"status": "LOC_PROT_ERR"}));
        set(l, send_wc(), json!({"status": "REM_OP_ERR"}));
    });
    for (name, own, theirs) in [
        ("standard", "LOC_LEN_ERR", "REM_INV_REQ_ERR"),
        ("rxe", "LOC_QP_OP_ERR", "REM_OP_ERR"),
    ] {
        agrees(&format!("recv_short_{name}"), 4, |l| {
            only_the_send(l);
            set(l, recv(), json!({"sges": [["0x10000", 8, 0x501]]}));
            set(l, recv_wc(), json!({ "status": own }));
            set(l, send_wc(), json!({ "status": theirs }));
        });
    }
    disagrees("recv_long_enough", "nothing is wrong", |l| {
        only_the_send(l);
        set(l, recv_wc(), json!({"status": "LOC_LEN_ERR"}));
        set(l, send_wc(), json!({"status": "REM_INV_REQ_ERR"}));
    });
}

#[test]
fn lengths_and_operations_of_completions() {
    disagrees("longer", "received 1000 bytes in 256", |l| {
        set(l, recv_wc(), json!({"byte_len": 1000}));
    });
    for bytes in [0, 200] {
        disagrees("other_length", "bytes, but 64 were sent", |l| {
            set(l, recv_wc(), json!({ "byte_len": bytes }));
        });
    }
    disagrees("too_short", "received 64 bytes in 8", |l| {
        set(l, recv(), json!({"sges": [["0x10000", 8, 0x501]]}));
    });
    disagrees("immediate", "received as \"recv_write_imm\"", |l| {
        set(l, recv_wc(), json!({"opcode": "recv_write_imm"}));
    });
    disagrees("nothing_sent", "received, but no message was sent", |l| {
        l.retain(|e| e["wr_id"] != "0x10");
    });
    let datagrams = |l: &mut Vec<Value>, bytes: u64| {
        only_the_send(l);
        l.retain(|e| e["state"] != "RTR");
        for qpn in [17, 18] {
            set(l, json!({"ev": "qp", "qpn": qpn}), json!({"type": "UD"}));
        }
        set(l, json!({"ev": "send"}), json!({"dest_qpn": 17}));
        set(l, recv_wc(), json!({ "byte_len": bytes }));
    };
    agrees("datagram", 4, |l| datagrams(l, 104));
    disagrees("datagram_lie", "no message of this length was sent", |l| {
        datagrams(l, 105);
    });
    disagrees("as_read", "completed as \"read\"", |l| {
        set(l, write_wc(), json!({"opcode": "read"}));
    });
    disagrees("read_length", "read 5 bytes, but 64", |l| {
        set(l, write(), json!({"opcode": "read"}));
        set(l, write_wc(), json!({"opcode": "read", "byte_len": 5}));
    });
}

#[test]
fn completions_without_a_request() {
    let stray = "which was not posted or has ended";
    disagrees("failed_post", stray, |l| {
        set(l, write(), json!({"errno": 22}))
    });
    disagrees("never_posted", stray, |l| {
        let mut line = l[at(l, &write_wc())].clone();
        line["wr_id"] = json!("0xabc");
        l.push(line);
    });
    disagrees("before_post", stray, |l| {
        move_before(l, &write_wc(), &write());
    });
    disagrees("twice", stray, |l| {
        let line = l[at(l, &write_wc())].clone();
        before(l, &write_wc(), line);
    });
    bad("wc_qpn", "no queue pair 5555 was made", |l| {
        set(l, write_wc(), json!({"qpn": 5555}));
    });
    disagrees(
        "after_error",
        "SUCCESS after an error on the same send queue",
        |l| {
            set(l, write(), json!({"rkey": 0x777}));
            set(l, write_wc(), json!({"status": "REM_ACCESS_ERR"}));
        },
    );
    // Requests are missing after the mark.
    let all = agrees("capped", 6, |l| {
        l.push(json!({"ev": "capped", "proc": "client"}));
        let mut line = l[at(l, &write_wc())].clone();
        line["wr_id"] = json!("0xabc");
        l.push(line);
    });
    assert!(
        all.contains("a completion whose request is not in the trace"),
        "{all}"
    );
}

#[test]
fn lifetimes() {
    disagrees("early_recv", "not registered when it is posted", |l| {
        move_before(l, &recv(), &json!({"ev": "reg_mr"}));
    });
    bad("dereg_unknown", "which no live region has", |l| {
        set(l, json!({"ev": "dereg_mr"}), json!({"lkey": 0x9999}));
    });
    bad("dereg_twice", "which no live region has", |l| {
        let line = l[l.len() - 1].clone();
        l.push(line);
    });
    bad("same_key", "which a live region has", |l| {
        let line = l[at(l, &json!({"ev": "reg_mr"}))].clone();
        before(l, &recv(), line);
    });
    let destroy =
        |proc: &str, qpn: u32| json!({"ev": "destroy_qp", "proc": proc, "qpn": qpn, "errno": 0});
    bad("destroyed", "queue pair 18 was destroyed", |l| {
        before(l, &write(), destroy("client", 18));
    });
    disagrees(
        "peer_destroyed",
        "the responder's queue pair was destroyed",
        |l| {
            before(l, &write(), destroy("server", 17));
        },
    );
    bad("unknown_qp", "no queue pair 77 was made", |l| {
        set(l, write(), json!({"qpn": 77}));
    });
    bad("time", "but the line before has", |l| {
        set(l, write(), json!({"t": 5}));
    });
    disagrees(
        "read_only",
        "accepted over a mapping with the permissions r--p",
        |l| {
            set(l, json!({"ev": "reg_mr"}), json!({"map": "r--p"}));
        },
    );
    disagrees("inline_read", "local element", |l| {
        let bad = json!([["0x1", 64, 7]]);
        set(
            l,
            write(),
            json!({"opcode": "read", "inline": true, "sges": bad}),
        );
        set(l, write_wc(), json!({"opcode": "read", "byte_len": 64}));
    });
    disagrees("inline_atomic", "local element", |l| {
        let bad = json!([["0x1", 8, 7]]);
        set(
            l,
            json!({"opcode": "faa"}),
            json!({"inline": true, "sges": bad}),
        );
    });
    // A completion may be polled late.
    agrees("late_poll", 6, |l| {
        let line = remove(l, &recv_wc());
        l.push(line);
    });
    disagrees("dereg_before_send", "refused (receive element", |l| {
        l.retain(|e| e["wr_id"] != "0x11" && e["wr_id"] != "0x12");
        move_before(l, &json!({"ev": "dereg_mr"}), &json!({"opcode": "send"}));
    });
    bad("srq", "no shared receive queue 4 was made", |l| {
        set(l, recv(), json!({"ev": "srq_recv", "srq": 4}));
    });
}

#[test]
fn page_lists_fit_their_region() {
    let pages = || json!({"ev": "pages", "proc": "server"});
    for (name, text, values) in [
        (
            "many",
            "\"npages\" is 2; expected 50",
            json!({"pfns": [[1000, 50]]}),
        ),
        (
            "few",
            "\"npages\" is 2; expected 1",
            json!({"pfns": [[1000, 1]]}),
        ),
        ("empty", "\"npages\" is 2; expected 0", json!({"pfns": []})),
        ("npages", "\"npages\" is 77", json!({"npages": 77})),
        (
            "npages_text",
            "\"npages\" is \"many\"",
            json!({"npages": "many"}),
        ),
        (
            "total",
            "\"total_pages\" is 5; expected 2",
            json!({"total_pages": 5}),
        ),
        (
            "sampled",
            "\"sampled\" is \"maybe\"",
            json!({"sampled": "maybe"}),
        ),
        ("lkey", "which no live region has", json!({"lkey": 0x9999})),
        ("first", "the pages end at", json!({"first_page": 7})),
        (
            "part",
            "expected all 2 pages",
            json!({"npages": 1, "pfns": [[1000, 1]]}),
        ),
    ] {
        bad(&format!("pages_{name}"), text, |l| set(l, pages(), values));
    }
    bad("pages_twice", "given twice", |l| {
        let mut line = l[at(l, &pages())].clone();
        line["pfns"] = json!([[7777, 2]]);
        let n = at(l, &pages());
        l.insert(n + 1, line);
    });
    let all = agrees("pages_sampled", 6, |l| {
        let part = json!({"sampled": true, "npages": 1, "pfns": [[1000, 1]]});
        set(l, pages(), part);
    });
    assert!(all.contains("invented: 1"), "{all}");
}

#[test]
fn windows_hide_nothing_but_themselves() {
    let alloc = |rkey: u32| {
        json!({"ev": "alloc_mw", "proc": "server", "pd": 0, "rkey": rkey, "handle": 2, "type": 1,
            "errno": 0})
    };
    bad("mw_of_mr", "whose index a live region has", |l| {
        before(l, &write(), alloc(0x5ff));
    });
    let window = |l: &mut Vec<Value>| {
        before(l, &write(), alloc(0x900));
        let bind = json!({"ev": "bind_mw", "proc": "server", "qpn": 17, "wr_id": "0x2",
            "rkey": 0x901, "mw_addr": "0x10000", "mw_length": 4096, "mw_access": 2,
            "mw_mr_lkey": 0x501, "mw_old_rkey": 0x900, "mw_type": 1, "errno": 0});
        before(l, &write(), bind);
        let wc = json!({"ev": "wc", "proc": "server", "qpn": 17, "wr_id": "0x2",
            "status": "SUCCESS", "opcode": "bind_mw"});
        before(l, &write(), wc);
    };
    let all = agrees("window", 5, |l| {
        window(l);
        set(l, write(), json!({"rkey": 0x901}));
    });
    let line = "left out because they need windows or invalidation: 2";
    assert!(all.contains(line), "{all}");
    disagrees("window_local", "local element", |l| {
        window(l);
        set(l, write(), json!({"rkey": 0x901, "sges": [["0x5", 64, 7]]}));
    });
    disagrees("send_inv_local", "local element", |l| {
        let bad = json!([["0x5", 64, 7]]);
        set(
            l,
            json!({"ev": "send", "opcode": "send"}),
            json!({"opcode": "send_inv", "inv_rkey": 5, "sges": bad}),
        );
    });
    // The index of a window that is gone is a region's.
    let reused = |l: &mut Vec<Value>, raddr: &str| {
        window(l);
        let gone = json!({"ev": "dealloc_mw", "proc": "server", "rkey": 0x901, "errno": 0});
        before(l, &write(), gone);
        let mut reg = l[at(l, &json!({"ev": "reg_mr"}))].clone();
        for (k, v) in [
            ("addr", json!("0x50000")),
            ("iova", json!("0x50000")),
            ("lkey", json!(0x905)),
            ("rkey", json!(0x905)),
            ("handle", json!(5)),
        ] {
            reg[k] = v;
        }
        before(l, &write(), reg);
        set(l, write(), json!({"rkey": 0x905, "raddr": raddr}));
    };
    agrees("reused", 7, |l| reused(l, "0x50000"));
    disagrees("reused_lie", "BOUNDS", |l| reused(l, "0x99950000"));
}

#[test]
fn re_registrations_are_followed() {
    let rereg = |l: &mut Vec<Value>, values: Value| {
        let mut line = l[at(l, &json!({"ev": "reg_mr", "proc": "server"}))].clone();
        line["ev"] = json!("rereg_mr");
        for (k, v) in values.as_object().expect("an object") {
            line[k] = v.clone();
        }
        before(l, &write(), line);
    };
    // The rights alone.
    let rights = json!({"flags": 4, "access": 1, "lkey": 0x701, "rkey": 0});
    disagrees("rereg_rights", "refused (remote access", |l| {
        rereg(l, rights.clone());
        set(l, json!({"ev": "dereg_mr"}), json!({"lkey": 0x701}));
    });
    // New keys, and a longer region.
    let longer = json!({"flags": 1, "length": 65536, "lkey": 0x703, "rkey": 0x703});
    agrees("rereg_longer", 7, |l| {
        rereg(l, longer.clone());
        set(l, write(), json!({"rkey": 0x703, "raddr": "0x1f000"}));
        set(l, json!({"opcode": "faa"}), json!({"rkey": 0x703}));
        set(l, json!({"ev": "dereg_mr"}), json!({"lkey": 0x703}));
    });
    disagrees("rereg_old_key", "refused (remote access", |l| {
        rereg(l, longer.clone());
        set(l, json!({"opcode": "faa"}), json!({"rkey": 0x703}));
        set(l, json!({"ev": "dereg_mr"}), json!({"lkey": 0x703}));
    });
    // Another domain: the queue pair is not in it.
    disagrees("rereg_pd", "(PD)", |l| {
        rereg(l, json!({"flags": 2, "pd": 9}));
    });
    bad("rereg_flags", "\"flags\" is 8", |l| {
        rereg(l, json!({"flags": 8}))
    });
    bad("rereg_handle", "no live region has this \"handle\"", |l| {
        rereg(l, json!({"flags": 4, "handle": 77}));
    });
}
