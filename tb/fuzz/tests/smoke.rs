// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Every fuzz target with mutated good input, with stable Rust.
//!
//! `TPT_SEED=n` takes other input, `TPT_SEED=time` new input, `TPT_CASES` is the number of cases of a
//! target. What makes a target panic is shrunk, told, and written to `tb/fuzz/libfuzzer/artifacts/`.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};
use tpt_fuzz::TARGETS;

/// Cases of a target, if `TPT_CASES` does not say it.
const CASES: u32 = 400;
/// Most time of a case: nothing that is read may keep the reader for long.
const PATIENCE: Duration = Duration::from_secs(20);

/// A change of the input.
#[derive(Clone, Debug)]
enum Change {
    /// A byte is another one.
    Byte(Index, u8),
    /// Bytes are gone.
    Cut(Index, usize),
    /// Bytes of this input, or of the other one, stand here once more.
    Copy(Index, Index, usize, bool),
    /// A word that parsers like stands here.
    Word(Index, usize),
    /// A number in the text is another one.
    Number(Index, u64),
    /// It ends here.
    End(Index),
}

const WORDS: [&str; 12] = [
    "-1",
    "18446744073709551615",
    "0x10000000000000000",
    "null",
    "\"\"",
    "[]",
    "{}",
    "1e308",
    "\u{0}",
    "\n",
    "[unit]",
    "=",
];

fn change() -> impl Strategy<Value = Change> {
    let at = any::<Index>;
    prop_oneof![
        (at(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
        (at(), 1..200usize).prop_map(|(at, n)| Change::Cut(at, n)),
        (at(), at(), 1..400usize, any::<bool>())
            .prop_map(|(from, to, n, other)| Change::Copy(from, to, n, other)),
        (at(), 0..WORDS.len()).prop_map(|(at, word)| Change::Word(at, word)),
        (
            at(),
            prop_oneof![Just(0), Just(u64::MAX), any::<u64>(), 0..64u64]
        )
            .prop_map(|(at, value)| Change::Number(at, value)),
        at().prop_map(Change::End),
    ]
}

fn apply(data: &mut Vec<u8>, other: &[u8], change: &Change) {
    let place = |at: &Index, len: usize| at.index(len + 1);
    match change {
        Change::Byte(at, byte) => {
            if !data.is_empty() {
                let at = at.index(data.len());
                data[at] = *byte;
            }
        }
        Change::Cut(at, n) => {
            let at = place(at, data.len());
            data.drain(at..data.len().min(at + n));
        }
        Change::Copy(from, to, n, of_other) => {
            let source = if *of_other { other } else { &data[..] };
            let from = place(from, source.len());
            let bytes = source[from..source.len().min(from + n)].to_vec();
            let to = place(to, data.len());
            data.splice(to..to, bytes);
        }
        Change::Word(at, word) => {
            let at = place(at, data.len());
            data.splice(at..at, WORDS[*word].bytes());
        }
        Change::Number(at, value) => {
            let at = place(at, data.len());
            let is_digit = |byte: &u8| byte.is_ascii_digit();
            if let Some(start) = data[at..].iter().position(is_digit).map(|n| at + n) {
                let digits = data[start..].iter().take_while(|b| is_digit(b)).count();
                data.splice(start..start + digits, value.to_string().bytes());
            }
        }
        Change::End(at) => data.truncate(place(at, data.len())),
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Pieces of a file with a few lines each, of everywhere in it.
fn pieces(path: &str) -> Vec<Vec<u8>> {
    let packed = std::fs::read(root().join(path)).expect(path);
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(&packed[..])
        .read_to_string(&mut text)
        .expect(path);
    let lines: Vec<&str> = text.lines().collect();
    let parts = lines.chunks(lines.len().div_ceil(40).max(1));
    parts
        .map(|part| (part[..part.len().min(12)].join("\n") + "\n").into_bytes())
        .collect()
}

/// Good input of a target.
fn seeds(target: &str) -> Vec<Vec<u8>> {
    let mut seeds = match target {
        "scenario" => std::fs::read_dir(root().join("scenarios"))
            .expect("scenarios")
            .map(|entry| std::fs::read(entry.expect("scenarios").path()).expect("a scenario"))
            .collect(),
        "trace" => ["ucx_ucp_put_bw_s8192", "py_test_cq_events", "mpi_rma_np2"]
            .iter()
            .flat_map(|name| {
                let all = pieces(&format!("data/traces/{name}.jsonl.gz"));
                // What a piece speaks of is made in the first one.
                let first = all[0].clone();
                all.into_iter()
                    .map(move |piece| [first.clone(), piece].concat())
            })
            .collect(),
        "verdicts" => [
            pieces("data/conformance/rxe.jsonl.gz"),
            pieces("data/conformance/siw.jsonl.gz"),
        ]
        .concat(),
        "objects" => {
            let plain = pieces("data/conformance/rxe.jsonl.gz");
            let packed = plain.iter().map(|piece| {
                let mut packed =
                    flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                packed.write_all(piece).expect("memory");
                packed.finish().expect("memory")
            });
            packed.chain(plain.iter().cloned()).collect()
        }
        "frames" => {
            let content: Vec<u8> = (0..=255).collect();
            vec![
                tpt::board::frame::encode(&content),
                tpt::board::frame::encode(&[1]),
            ]
        }
        _ => Vec::new(),
    };
    // Binary formats: mostly zeros, and anything.
    seeds.push(vec![0; 160]);
    seeds.push(
        (0..160u32)
            .map(|n| (n.wrapping_mul(0x9e37_79b1) >> 11) as u8)
            .collect(),
    );
    seeds
}

fn seed() -> u64 {
    match std::env::var("TPT_SEED").as_deref() {
        Ok("time") => std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(1, |past| past.as_nanos() as u64),
        Ok(text) => text.parse().expect("TPT_SEED: a number, or time"),
        Err(_) => 1,
    }
}

/// Calls a target in a thread of its own; `Err`: what it panicked with, or that it does not end.
fn call(target: fn(&[u8]), data: &[u8], patience: Duration) -> Result<(), String> {
    let (done, ended) = mpsc::channel();
    let data = data.to_vec();
    let thread = std::thread::Builder::new().spawn(move || {
        target(&data);
        let _ = done.send(());
    });
    let thread = thread.map_err(|error| error.to_string())?;
    match ended.recv_timeout(patience) {
        Ok(()) => Ok(()),
        Err(mpsc::RecvTimeoutError::Timeout) => Err(format!("not done after {patience:?}")),
        Err(mpsc::RecvTimeoutError::Disconnected) => match thread.join() {
            Ok(()) => Ok(()),
            Err(panic) => Err(panic
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
                .unwrap_or_default()),
        },
    }
}

/// Runs a target on mutated seeds. `Err`: what is wrong, and the least input that shows it.
fn smoke(name: &str, target: fn(&[u8]), seeds: &[Vec<u8>]) -> Result<(), (String, Vec<u8>)> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed().to_le_bytes());
    for (byte, letter) in bytes[8..].iter_mut().zip(name.bytes()) {
        *byte = letter;
    }
    let cases = std::env::var("TPT_CASES").ok();
    let settings = Config {
        cases: cases.map_or(CASES, |n| n.parse().expect("TPT_CASES: a number")),
        failure_persistence: None,
        ..Config::default()
    };
    let make = |from: &Index, other: &Index, changes: &[Change]| {
        let mut data = from.get(seeds).clone();
        for change in changes {
            apply(&mut data, other.get::<Vec<u8>>(seeds), change);
        }
        data
    };
    for data in seeds {
        call(target, data, PATIENCE).map_err(|why| (why, data.clone()))?;
    }
    let input = (
        any::<Index>(),
        any::<Index>(),
        prop::collection::vec(change(), 0..6),
    );
    let mut runner =
        TestRunner::new_with_rng(settings, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let result = runner.run(&input, |(from, other, changes)| {
        call(target, &make(&from, &other, &changes), PATIENCE).map_err(TestCaseError::fail)
    });
    match result {
        Ok(()) => Ok(()),
        Err(TestError::Fail(why, (from, other, changes))) => {
            Err((why.to_string(), make(&from, &other, &changes)))
        }
        Err(TestError::Abort(why)) => Err((why.to_string(), Vec::new())),
    }
}

#[test]
fn no_input_makes_a_target_panic() {
    let mut bad = Vec::new();
    for (name, target) in TARGETS {
        let Err((why, data)) = smoke(name, *target, &seeds(name)) else {
            continue;
        };
        let folder = root().join("tb/fuzz/libfuzzer/artifacts").join(name);
        std::fs::create_dir_all(&folder).expect("artifacts");
        let file = folder.join("smoke");
        std::fs::write(&file, &data).expect("artifacts");
        let text = String::from_utf8_lossy(&data);
        bad.push(format!("{name}: {why}\n{} holds {text:?}", file.display()));
    }
    assert!(bad.is_empty(), "TPT_SEED={}\n{}", seed(), bad.join("\n"));
}

/// A planted fault: it is found, and what is told of it is little.
#[test]
fn a_parser_that_panics_is_found() {
    fn lie(data: &[u8]) {
        assert!(
            data.iter().filter(|byte| **byte == b'-').count() < 2,
            "two dashes"
        );
    }
    let seeds = [vec![b'.'; 300], b"one - dash".to_vec()];
    let Err((why, data)) = smoke("lie", lie, &seeds) else {
        panic!("nothing was found");
    };
    assert!(why.contains("two dashes"), "{why}");
    assert_eq!(data.iter().filter(|byte| **byte == b'-').count(), 2);
}

/// A planted fault: it does not come back.
#[test]
fn a_parser_that_does_not_end_is_found() {
    fn lie(_: &[u8]) {
        std::thread::sleep(Duration::from_secs(5));
    }
    let told = call(lie, &[], Duration::from_millis(20));
    assert_eq!(told, Err("not done after 20ms".to_owned()));
}

/// The list of the programs is that of the targets.
#[test]
fn every_target_has_a_program_of_cargo_fuzz() {
    let manifest = include_str!("../libfuzzer/Cargo.toml");
    for (name, _) in TARGETS {
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name}");
        let file =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("libfuzzer/fuzz_targets/{name}.rs"));
        let text = std::fs::read_to_string(&file).expect("a program");
        assert!(text.contains(&format!("tpt_fuzz::{name}(data)")), "{name}");
    }
    assert_eq!(manifest.matches("[[bin]]").count(), TARGETS.len());
}
