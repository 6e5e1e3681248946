// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Readers of recordings and scenarios: exact messages, and no panic on anything.

mod common;

use std::io::Cursor;
use std::sync::OnceLock;

use proptest::prelude::*;
use tpt::input::{kind_of, Kind, Lines};
use tpt::machine::GoldenTarget;
use tpt::tally::Tally;
use tpt::target::Target;
use tpt::trace::parse::Names;
use tpt::{scenario, trace, verdicts};

/// Reads and replays a recording on the golden reference; the message of the first error.
fn replay(content: &[u8]) -> Result<Tally, String> {
    let mut lines =
        Lines::from_reader("file", Cursor::new(content.to_vec())).map_err(|e| e.to_string())?;
    let mut tally = Tally::default();
    let mut t = GoldenTarget::golden(1, 256);
    t.enable().map_err(|e| e.to_string())?;
    let mut replayer = verdicts::replay::Replayer::new();
    let mut names = Names::default();
    let mut events = Vec::new();
    let mut kind = None;
    while let Some((p, o)) = lines.next_object().map_err(|e| e.to_string())? {
        if kind.is_none() {
            kind = Some(kind_of(&p, &o).map_err(|e| e.to_string())?);
        }
        match kind {
            Some(Kind::Verdicts) => {
                let case = verdicts::parse::parse(&p, &o).map_err(|e| e.to_string())?;
                replayer
                    .run(&mut t, "file", case, &mut tally)
                    .map_err(|e| e.to_string())?;
            }
            _ => events.push(trace::parse::parse(&p, &o, &mut names).map_err(|e| e.to_string())?),
        }
    }
    replayer
        .finish(&mut t, "file", &mut tally)
        .map_err(|e| e.to_string())?;
    trace::replay::run(&mut t, "file", &events, &mut tally, &mut |_| {})
        .map_err(|e| e.to_string())?;
    Ok(tally)
}

fn message(content: &str) -> String {
    match replay(content.as_bytes()) {
        Err(text) => text,
        Ok(tally) => panic!("no error, but {}", tally.summary()),
    }
}

const CASE: &str = r#"{"id":"x-B-1","family":"B","sub":"range","driver":"rxe","mrs":[{"name":"L","pd":0,"va":"0x1000","host_addr":"0x1000","length":4096,"access":15,"lkey":"0x11","rkey":"0x12","state":"valid"}],"op":{"op":"write","check":"remote","req_pd":0,"resp_pd":0,"resp_qp_access":14,"req_qpn":17,"resp_qpn":18,"remote_addr":"0x1000","rkey":"0x12","sges":[{"addr":"0x1000","length":1,"lkey":"0x11"}]},"outcome":{"post_errno":0,"wc_status":"SUCCESS","accepted":true,"data_ok":true}}"#;

const META: &str = r#"{"ev":"meta","name":"t"}"#;

#[test]
fn a_good_case_agrees() {
    let tally = replay(CASE.as_bytes()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(
        tally.summary(),
        "replayed: 1, agreed: 1, known differences: 0, disagreed: 0"
    );
}

#[test]
fn messages_say_file_line_what_is_wrong_and_what_would_be_right() {
    let number = "a whole number from 0 to 2^64-1, or a string such as \"0x200000100000\"";
    for (content, expected) in [
        (
            "{\n".to_owned(),
            "file:1: the line is not JSON (EOF while parsing an object at column 1); \
             expected one JSON object per line"
                .to_owned(),
        ),
        (
            "[1,2]".to_owned(),
            "file:1: the line is a list of 2 items; expected one JSON object per line".to_owned(),
        ),
        (
            "\n\n{\"a\":1}".to_owned(),
            "file:3: the first line is of no known kind; expected an object with \"family\" and \
             \"op\" (recorded verdicts) or with \"ev\" (a trace)"
                .to_owned(),
        ),
        (
            format!("{CASE}\n{}", CASE.replace("\"B\"", "\"Q\"")),
            "file:2: \"family\" is \"Q\"; expected one of A, B, C, D, E, F, G, H, X".to_owned(),
        ),
        (
            CASE.replace("\"remote_addr\":\"0x1000\",", ""),
            format!("file:1: \"op.remote_addr\" is missing; expected {number}"),
        ),
        (
            CASE.replace("\"remote_addr\":\"0x1000\"", "\"remote_addr\":\"0xzz\""),
            format!("file:1: \"op.remote_addr\" is \"0xzz\"; expected {number}"),
        ),
        (
            CASE.replace("\"length\":1,", "\"length\":-1,"),
            "file:1: \"op.sges[0].length\" is -1; expected a whole number of at most 32 bits"
                .to_owned(),
        ),
        (
            CASE.replace("\"state\":\"valid\"", "\"state\":\"gone\""),
            "file:1: \"mrs[0].state\" is \"gone\"; expected one of valid, deregistered, \
             invalidated"
                .to_owned(),
        ),
        (
            CASE.replace("\"accepted\":true", "\"accepted\":\"yes\""),
            "file:1: \"outcome.accepted\" is \"yes\"; expected true or false".to_owned(),
        ),
        (
            format!("{META}\n{{\"ev\":\"wc\",\"qpn\":1,\"wr_id\":\"0x1\"}}"),
            "file:2: \"status\" is missing; expected a string".to_owned(),
        ),
        (
            format!("{META}\n{{\"ev\":\"recv\",\"qpn\":16777216,\"wr_id\":1}}"),
            "file:2: \"qpn\" is 16777216; expected a whole number of at most 24 bits".to_owned(),
        ),
        (
            format!("{META}\n{{\"ev\":\"recv\",\"qpn\":1,\"wr_id\":1,\"sges\":[[1,2]]}}"),
            "file:2: \"sges[0]\" is a list of 2 items; expected a list of [address, length, lkey]"
                .to_owned(),
        ),
        (
            format!(
                "{META}\n{{\"ev\":\"pages\",\"lkey\":1,\"first_page\":0,\
                 \"pfns\":[[4503599627370496,1]]}}"
            ),
            "file:2: \"pfns[0]\" is the frames 4503599627370496 to 4503599627370496+1; expected \
             frame numbers of at most 52 bits"
                .to_owned(),
        ),
    ] {
        assert_eq!(message(&content), expected, "for {content}");
    }
}

#[test]
fn unknown_fields_and_blank_lines_do_not_matter() {
    let more = CASE.replace("\"sub\"", "\"new\":[{}],\"sub\"");
    let content = format!("\u{feff}{CASE}\n\n   \n{more}\r\n");
    let tally = replay(content.as_bytes()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(tally.total.agreed, 2);
    let trace = format!("{META}\n{{\"ev\":\"open\",\"x\":1}}\n");
    assert!(replay(trace.as_bytes()).is_ok());
}

#[test]
fn a_cut_gzip_file_is_named() {
    let whole =
        std::fs::read(common::recording("conformance/rxe")).unwrap_or_else(|e| panic!("{e}"));
    let text = match replay(&whole[..whole.len() / 2]) {
        Err(text) => text,
        Ok(tally) => panic!("no error, but {}", tally.summary()),
    };
    assert!(
        text.contains("the compressed data is damaged or ends early")
            && text.ends_with("expected a complete gzip file"),
        "{text}"
    );
}

fn scenario_message(content: &str) -> String {
    let lines = Lines::from_reader("s.tpt", Cursor::new(content.as_bytes().to_vec()))
        .unwrap_or_else(|e| panic!("{e}"));
    match scenario::parse::read(lines) {
        Err(e) => e.to_string(),
        Ok(s) => panic!("no error, but {s:?}"),
    }
}

#[test]
fn messages_about_scenarios() {
    for (content, expected) in [
        (
            "x = 1",
            "s.tpt:1: a setting before the first section; expected [unit], [memory], \
             [region NAME], [window NAME], [traffic NAME], [invalidate NAME] or \
             [deregister NAME]",
        ),
        (
            "[unit]\nhello",
            "s.tpt:2: \"hello\" is neither a section nor a setting; expected \"[section]\" or \
             \"setting = value\"",
        ),
        (
            "[cache]",
            "s.tpt:1: [cache] is no section; expected [unit], [memory], [region NAME], \
             [window NAME], [traffic NAME], [invalidate NAME] or [deregister NAME]",
        ),
        (
            "[region]",
            "s.tpt:1: [region] has no name; expected [region NAME]",
        ),
        (
            "[region a]\nsize = 4 KB",
            "s.tpt:2: \"size\" is \"4 KB\"; expected a size such as 64 KiB or a range such as \
             4 KiB..1 MiB",
        ),
        (
            "[region a]\ncount = 2",
            "s.tpt:1: [region a] has no size; expected \"size = 64 KiB\" or \
             \"size = 4 KiB..1 MiB\"",
        ),
        (
            "[region a]\nsize = 1 MiB\npage = 3 KiB",
            "s.tpt:3: \"page\" is \"3 KiB\"; expected a power of two from 4 KiB to 8 TiB",
        ),
        (
            "[region a]\nsize = 1 MiB\naccess = remote-write",
            "s.tpt:3: \"access\" is \"remote-write\"; expected local-write as well, where \
             remote-write or remote-atomic is given",
        ),
        (
            "[memory]\nlatency = 5..1",
            "s.tpt:2: \"latency\" is \"5..1\"; expected clocks such as 100 or a range such as \
             20..200, at most 100000",
        ),
        (
            "[region a]\nsize = 1 MiB\n[traffic t]\nregions = b",
            "s.tpt:4: \"b\" is no region; expected one of a",
        ),
        (
            "[unit]\nseed = 1\nseed = 2",
            "s.tpt:3: \"seed\" is given twice in this section; expected one value",
        ),
        (
            "# nothing\n[unit]\n",
            "s.tpt:2: the scenario does nothing; expected a [region NAME] section and a \
             [traffic NAME] section",
        ),
        (
            "[window w]\nsize = 64 B",
            "s.tpt:1: [window w] names no regions; expected \"of = NAME\"",
        ),
        (
            "[region a]\nsize = 1 MiB\n[window w]\nof = a",
            "s.tpt:3: [window w] has no size; expected \"size = 64 B\" or \
             \"size = 64 B..4 KiB\"",
        ),
        (
            "[region a]\nsize = 1 MiB\n[window w]\nof = a\nsize = 4\naccess = local-write",
            "s.tpt:6: \"local-write\" is no access right; expected names out of remote-write, \
             remote-read, remote-atomic, zero-based",
        ),
        (
            "[region a]\nsize = 1 MiB\n[window a]\nof = a\nsize = 4",
            "s.tpt:3: [window a] is there twice; expected another name",
        ),
        (
            "[region a]\nsize = 4\n[window w]\nof = a\nsize = 4\n[window v]\nof = w\nsize = 4",
            "s.tpt:7: \"w\" is a group of windows; expected the names of regions",
        ),
        (
            "[region a]\nsize = 1 MiB\n[window w]\nof = a\nsize = 4\ntype = 3",
            "s.tpt:6: \"type\" is \"3\"; expected one of 1, 2a, 2b",
        ),
        (
            "[region a]\nsize = 1 MiB\n[invalidate i]\nregions = a",
            "s.tpt:4: \"a\" is registered for good; expected windows, and regions with \
             \"fast = yes\"",
        ),
        (
            "[invalidate i]\nby = peer",
            "s.tpt:1: [invalidate i] names no regions; expected \"regions = NAME\"",
        ),
        (
            "[region a]\nsize = 1 MiB\nremote-invalidate = yes",
            "s.tpt:1: [region a] is to be invalidated; expected \"fast = yes\" as well",
        ),
        (
            "[region a]\nsize = 4 GiB\nfast = yes",
            "s.tpt:1: [region a] is a fast one of this level or size; expected no level (it is a \
             flat list of pages), and fewer than 2^20 - 1 pages",
        ),
        (
            "[region a]\nsize = 4\n[traffic t]\n[deregister d]\nregions = a\nunder = t\n\
             refused = bound",
            "s.tpt:4: [deregister d] has traffic around it; expected no windows and no \
             \"refused\" with \"under\"",
        ),
    ] {
        assert_eq!(scenario_message(content), expected, "for {content:?}");
    }
}

#[test]
fn the_scenarios_of_the_project_are_good() {
    let mut n = 0;
    for entry in
        std::fs::read_dir(common::root().join("scenarios")).unwrap_or_else(|e| panic!("{e}"))
    {
        let path = entry.unwrap_or_else(|e| panic!("{e}")).path();
        scenario::parse::open(&path).unwrap_or_else(|e| panic!("{e}"));
        n += 1;
    }
    assert!(n >= 5);
}

/// Changes a text: cuts, doubles, replaces bytes and numbers.
fn mutate(text: &str, changes: &[(usize, u8, u64)]) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for &(at, how, value) in changes {
        if bytes.is_empty() {
            break;
        }
        let at = at % bytes.len();
        match how % 6 {
            0 => bytes[at] = value as u8,
            1 => bytes.truncate(at),
            2 => {
                let tail = bytes[at..].to_vec();
                bytes.extend(tail);
            }
            // The number around this place becomes another one: the JSON stays whole.
            _ => {
                let digit = |b: u8| b.is_ascii_digit();
                if let Some(start) = (at..bytes.len()).find(|&i| digit(bytes[i])) {
                    let end = (start..bytes.len())
                        .find(|&i| !digit(bytes[i]))
                        .unwrap_or(bytes.len());
                    let number = match how % 3 {
                        0 => value.to_string(),
                        1 => (value % 17).to_string(),
                        _ => (u64::MAX - value % 3).to_string(),
                    };
                    bytes.splice(start..end, number.into_bytes());
                }
            }
        }
    }
    bytes
}

fn changes() -> impl Strategy<Value = Vec<(usize, u8, u64)>> {
    prop::collection::vec((any::<usize>(), any::<u8>(), any::<u64>()), 1..8)
}

fn sample_of_verdicts() -> &'static [String] {
    static SAMPLE: OnceLock<Vec<String>> = OnceLock::new();
    SAMPLE.get_or_init(|| {
        ["conformance/rxe", "conformance/siw"]
            .iter()
            .flat_map(|n| {
                common::lines(&common::recording(n))
                    .into_iter()
                    .step_by(211)
            })
            .collect()
    })
}

fn sample_of_trace() -> &'static str {
    static SAMPLE: OnceLock<String> = OnceLock::new();
    SAMPLE.get_or_init(|| {
        let lines = common::lines(&common::recording("traces/rc_rping_S64"));
        lines[..60].join("\n")
    })
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: std::env::var("TPT_CASES")
            .ok()
            .and_then(|v| v.parse().ok())
            .unwrap_or(300),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn nothing_panics_on_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = replay(&bytes);
    }

    #[test]
    fn nothing_panics_on_changed_verdicts(pick in any::<prop::sample::Index>(), c in changes()) {
        let sample = sample_of_verdicts();
        let content = mutate(&sample[pick.index(sample.len())], &c);
        let _ = replay(&content);
    }

    #[test]
    fn nothing_panics_on_changed_traces(c in changes()) {
        let content = mutate(sample_of_trace(), &c);
        let _ = replay(&content);
    }

    #[test]
    fn nothing_panics_on_changed_scenarios(pick in 0usize..4, c in changes()) {
        let name = ["quick", "errors", "churn", "source-text"][pick];
        let path = common::root().join(format!("scenarios/{name}.tpt"));
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let content = mutate(&text, &c);
        if let Ok(lines) = Lines::from_reader("s.tpt", Cursor::new(content)) {
            let _ = scenario::parse::read(lines);
        }
    }
}
