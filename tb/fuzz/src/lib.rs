// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Fuzz targets: each takes any bytes and panics if a parser or codec does what it must not.
//!
//! `libfuzzer/` has one program for each, for `cargo fuzz` (`make fuzz`); `tests/smoke.rs` runs all
//! of them with mutated good input, with stable Rust and without coverage.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

use std::io::Cursor;

use tpt::board::{frame, gen};
use tpt::input::{kind_of, BadInput, Lines, Object};
use tpt::machine::GoldenTarget;
use tpt::tally::Tally;
use tpt::target::Target;
use tpt::{scenario, trace, verdicts};
use tpt_golden::codec::{self, MptEntry, Mtt, Place};
use tpt_golden::erdma::RegMr;
use tpt_golden::queue;
use tpt_golden::types::{Beat, Command, Completion, Done, Encoding, Request};

/// A fuzz target: its name, and what it does with bytes.
pub type FuzzTarget = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: &[FuzzTarget] = &[
    ("objects", objects),
    ("scenario", scenario),
    ("trace", trace),
    ("verdicts", verdicts),
    ("channels", channels),
    ("entries", entries),
    ("tables", tables),
    ("queue", queue),
    ("erdma", erdma),
    ("frames", frames),
];

/// Lines that a case may have: what is looked for is in the first ones.
const LINES: usize = 64;
/// Entries of the table of a unit that recordings are replayed on.
const TABLE: u32 = 1 << 10;

/// Input that is refused says where, what and what would be right.
fn told(error: &BadInput) {
    assert_eq!(error.file, NAME);
    assert!(
        !error.what.is_empty() && !error.expected.is_empty(),
        "{error:?}"
    );
}

const NAME: &str = "input";

fn lines(data: &[u8]) -> Lines {
    match Lines::from_reader(NAME, Cursor::new(data.to_vec())) {
        Ok(lines) => lines,
        Err(error) => panic!("memory cannot be read: {error}"),
    }
}

/// The objects of a file with one a line; the file may be compressed.
pub fn objects(data: &[u8]) {
    let mut lines = lines(data);
    for _ in 0..LINES {
        match lines.next_object() {
            Ok(Some((place, object))) => {
                if let Err(error) = kind_of(&place, &object) {
                    told(&error);
                }
            }
            Ok(None) => return,
            Err(error) => return told(&error),
        }
    }
}

/// A scenario: what is read names something.
pub fn scenario(data: &[u8]) {
    match scenario::parse::read(lines(data)) {
        Ok(scenario) => {
            let _ = scenario::run::length(&scenario);
        }
        Err(error) => told(&error),
    }
}

fn each(data: &[u8], mut take: impl FnMut(&tpt::input::Place, &Object) -> Result<(), BadInput>) {
    let mut lines = lines(data);
    for _ in 0..LINES {
        match lines.next_object() {
            Ok(Some((place, object))) => {
                if let Err(error) = take(&place, &object) {
                    return told(&error);
                }
            }
            Ok(None) => return,
            Err(error) => return told(&error),
        }
    }
}

fn unit() -> GoldenTarget {
    let mut unit = GoldenTarget::golden(1, TABLE);
    match unit.enable() {
        Ok(()) => unit,
        Err(error) => panic!("the golden unit is not enabled: {error}"),
    }
}

/// A recording of a program: what is good is replayed on the golden reference.
pub fn trace(data: &[u8]) {
    let mut names = trace::parse::Names::default();
    let mut events = Vec::new();
    each(data, |place, object| {
        events.push(trace::parse::parse(place, object, &mut names)?);
        Ok(())
    });
    let mut tally = Tally::default();
    // An error is an answer.
    let _ = trace::replay::run(&mut unit(), NAME, &events, &mut tally, &mut |_| ());
}

/// Recorded verdicts: what is good is replayed on the golden reference.
pub fn verdicts(data: &[u8]) {
    let mut cases = Vec::new();
    each(data, |place, object| {
        cases.push(verdicts::parse::parse(place, object)?);
        Ok(())
    });
    let (mut unit, mut tally) = (unit(), Tally::default());
    let mut replayer = verdicts::replay::Replayer::new();
    for case in cases {
        if replayer.run(&mut unit, NAME, case, &mut tally).is_err() {
            return;
        }
    }
    let _ = replayer.finish(&mut unit, NAME, &mut tally);
}

/// The first bytes as an array; zeros where there are too few.
fn bytes<const N: usize>(data: &[u8]) -> [u8; N] {
    let mut bytes = [0; N];
    let n = data.len().min(N);
    bytes[..n].copy_from_slice(&data[..n]);
    bytes
}

fn words<const N: usize>(data: &[u8]) -> [u32; N] {
    std::array::from_fn(|k| u32::from_le_bytes(bytes(data.get(4 * k..).unwrap_or_default())))
}

/// Payloads of the channels: what is taken apart and put together again is the same.
pub fn channels(data: &[u8]) {
    let request = Request::unpack(&words(data));
    assert_eq!(Request::unpack(&request.pack()), request);
    let done = Done::unpack(&words(data));
    assert_eq!(Done::unpack(&done.pack()), done);
    let command = Command::unpack(&words(data));
    assert_eq!(Command::unpack(&command.pack()), command);
    if let Ok(beat) = Beat::unpack(&words(data)) {
        assert_eq!(Beat::unpack(&beat.pack()).ok(), Some(beat));
    }
    if let Ok(completion) = Completion::unpack(&words(data)) {
        assert_eq!(
            Completion::unpack(&completion.pack()).ok(),
            Some(completion)
        );
    }
}

/// Entries of the MPT: a good one comes back, one bit off is refused.
pub fn entries(data: &[u8]) {
    let index = u32::from_le_bytes(bytes(data)) & 0x7f_ffff;
    let mut entry: [u8; codec::MPT_BYTES] = bytes(data.get(4..).unwrap_or_default());
    let _ = MptEntry::decode(&entry, index);
    let _ = MptEntry::parse(&entry, index).legal();
    codec::seal(&mut entry, index);
    let parsed = MptEntry::parse(&entry, index);
    let again = MptEntry::parse(&parsed.encode(), index);
    assert_eq!(again, parsed);
    if let Ok(decoded) = MptEntry::decode(&entry, index) {
        assert_eq!(decoded, parsed);
        assert_eq!(decoded.legal(), Ok(()));
        let bit = usize::from(bytes::<1>(data)[0]) * 2 % (8 * codec::MPT_BYTES);
        entry[bit / 8] ^= 1 << (bit % 8);
        assert!(
            MptEntry::decode(&entry, index).is_err(),
            "bit {bit} was not missed"
        );
    }
}

/// Entries of tables: what is good is an address that fits, and comes back.
pub fn tables(data: &[u8]) {
    let [encoding, log_page, level, write, ..] = bytes::<8>(data);
    let word = u64::from_le_bytes(bytes(data.get(8..).unwrap_or_default()));
    let encoding = [Encoding::Raw, Encoding::Flagged, Encoding::Checked][usize::from(encoding) % 3];
    let place = Place {
        index: u32::from_le_bytes(bytes(data.get(16..).unwrap_or_default())) & 0x7f_ffff,
        number: u64::from_le_bytes(bytes(data.get(20..).unwrap_or_default())) & 0xff_ffff_ffff,
        level: level % 4 + 1,
    };
    let log_page = 12 + log_page % 32;
    let write = write & 1 == 1;
    let decoded = Mtt::decode(word, encoding, place, log_page, write);
    let _ = Mtt::decode_on_demand(word, encoding, place, log_page, write);
    let _ = Mtt::decode_directory(word, encoding, place, 12 + log_page % 5);
    if let Ok(entry) = decoded {
        assert_eq!(entry.pa & ((1 << log_page) - 1), 0);
        assert!(entry.writable || !write);
        let word = entry.encode(encoding, place);
        assert_eq!(
            Mtt::decode(word, encoding, place, log_page, write),
            Ok(entry)
        );
        if encoding == Encoding::Checked {
            let bit = 1u64 << (bytes::<1>(data)[0] % 64);
            assert!(Mtt::decode(word ^ bit, encoding, place, log_page, write).is_err());
        }
    }
}

/// Slots of the queues: what is good comes back.
pub fn queue(data: &[u8]) {
    let slot: queue::Slot = bytes(data);
    if let Ok(command) = queue::decode(&slot) {
        assert_eq!(queue::decode(&queue::encode(&command)), Ok(command));
    }
    for phase in [false, true] {
        let _ = queue::is_ready(&slot, phase);
    }
    match queue::decode_completion(&slot) {
        Ok(_) => {}
        Err(error) => assert!(!error.is_empty()),
    }
}

/// Words of the erdma driver.
pub fn erdma(data: &[u8]) {
    let request = RegMr::from_bytes(&bytes(data));
    let again = RegMr::from_bytes(&request.to_bytes());
    assert_eq!(again, request);
}

/// The line to a board: frames are never longer than they may be, and come back when sent again.
pub fn frames(data: &[u8]) {
    let mut decoder = frame::Decoder::default();
    let mut found = Vec::new();
    for byte in data {
        found.extend(decoder.push(*byte));
    }
    for content in found {
        assert!(!content.is_empty() && content.len() <= gen::MAX_FRAME);
        let mut decoder = frame::Decoder::default();
        let mut again = Vec::new();
        for byte in frame::encode(&content) {
            again.extend(decoder.push(byte));
        }
        assert_eq!(again, [content]);
    }
}
