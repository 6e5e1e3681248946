// SPDX-License-Identifier: Apache-2.0
//! Tables: every byte of a region is found where its run has it, by a walk that is written from
//! docs/formats.md; and shapes that cannot be are refused.

mod fake;

use fake::Fake;
use proptest::prelude::*;
use tpt_driver::mtt::{
    checked_entry, largest_page, page_count, Layout, MttError, Place, Run, Table,
};
use tpt_driver::{Encoding, Error};

/// MPT index of the regions.
const INDEX: u32 = 0x0034_5678;

/// The address of an entry of encoding CHECKED, after a division bit by bit: the remainder of message
/// and check is 0, and the number of ones odd.
fn checked(word: u64, number: u64, level: u8) -> u64 {
    let bits = |value: u64, low: u32, count: u32| {
        (0..count).rev().map(move |n| value >> (low + n) & 1 == 1)
    };
    let index = INDEX.into();
    let message: Vec<bool> = bits(index, 8, 15)
        .chain(bits(number, 0, 40))
        .chain(bits(index, 0, 8))
        .chain(bits(level.into(), 0, 3))
        .chain(bits(word, 12, 40))
        .chain(bits(word, 0, 2))
        .chain(bits(word, 52, 11))
        .chain(bits(word, 2, 10))
        .collect();
    assert_eq!(message.len(), 15 + 40 + 8 + 3 + 40 + 2 + 21);
    let mut rest = 0u32;
    for bit in message {
        rest = rest << 1 | u32::from(bit);
        if rest >> 21 != 0 {
            rest ^= 1 << 21 | 1 << 2 | 1;
        }
    }
    assert_eq!(
        rest, 0,
        "check of {word:#x}, entry {number} of level {level}"
    );
    assert_eq!(word.count_ones() % 2, 1, "parity of {word:#x}");
    word & 0x000f_ffff_ffff_f003
}

/// Physical address of the byte at `va`, as the unit walks. Panics on an entry that it would refuse.
fn walk(fake: &Fake, table: &Table, start: u64, va: u64) -> u64 {
    let fields = table.fields();
    let (log_page, log_tpage) = (u32::from(fields.log_page), u32::from(fields.log_tpage));
    let page = (va >> log_page) - (start >> log_page);
    let flags: u64 = if fields.encoding == 0 { 0 } else { 3 };
    let frame = |word: u64, log: u32, number: u64, level: u8| {
        let word = match fields.encoding {
            2 if fields.level != 0 => checked(word, number, level),
            _ => word,
        };
        if fields.encoding != 0 {
            assert_eq!(word & 1, 1, "present");
        } else {
            assert_ne!(word, 0, "present");
        }
        assert_eq!(word & ((1 << log) - 1) & !flags, 0, "aligned: {word:#x}");
        word & !((1 << log) - 1)
    };
    let base = match fields.level {
        0 => fields.frame[page as usize],
        5 => frame(fake.word(fields.frame[0] + 8 * page), log_page, page, 1),
        level => {
            let bits = log_tpage - 3;
            let mut at = fields.frame[0];
            for above in (1..u32::from(level)).rev() {
                let n = (page >> (above * bits)) & ((1 << bits) - 1);
                let number = page >> (above * bits);
                at = frame(fake.word(at + 8 * n), log_tpage, number, above as u8 + 1);
            }
            frame(
                fake.word(at + 8 * (page & ((1 << bits) - 1))),
                log_page,
                page,
                1,
            )
        }
    };
    base + (va & ((1 << log_page) - 1))
}

/// Where the byte at `va` is.
fn truth(runs: &[Run], start: u64, va: u64) -> u64 {
    let mut left = va - start;
    for run in runs {
        if left < run.bytes {
            return run.address + left;
        }
        left -= run.bytes;
    }
    panic!("outside");
}

/// Runs that fit pages of 2^log bytes: the ends of the region are anywhere.
fn runs() -> impl Strategy<Value = (u64, Vec<Run>)> {
    let sizes = prop::collection::vec((1u64..60, 1u64..1 << 20), 1..20);
    (12u32..17, 0u64..1 << 20, any::<u64>(), any::<u64>(), sizes).prop_map(
        |(log, page, head, tail, sizes)| {
            let size = 1u64 << log;
            let (head, tail) = (head % size, tail % size);
            let count = sizes.len();
            let start = (page << log) + head;
            let mut runs = Vec::new();
            for (n, (pages, place)) in sizes.into_iter().enumerate() {
                let mut run = Run {
                    address: (1 + place) << log,
                    bytes: pages << log,
                };
                if n == 0 {
                    run.address += head;
                    run.bytes -= head;
                }
                if n + 1 == count && run.bytes > tail {
                    run.bytes -= tail;
                }
                runs.push(run);
            }
            (start, runs)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_byte_is_found(
        (start, runs) in runs(),
        shape in (0u8..6, 12u8..17, 0usize..3, any::<bool>()),
        probes in prop::collection::vec(any::<u64>(), 20),
    ) {
        let (level, log_tpage, encoding, small) = shape;
        let length: u64 = runs.iter().map(|run| run.bytes).sum();
        let layout = Layout {
            log_page: small.then_some(12),
            level: match level {
                0 => None,
                4 => Some(5),
                level => Some(level.min(3)),
            },
            log_tpage: (log_tpage > 13).then_some(log_tpage),
            encoding: Encoding::ALL[encoding],
            writable: true,
        };
        let mut fake = Fake::default();
        let mut table = match Table::build(&mut fake, &runs, start, length, &layout, 3) {
            Ok(table) => table,
            // Only a level that was asked for can be too small here.
            Err(Error::Mtt(MttError::TooManyPages { .. })) if layout.level.is_some() => {
                prop_assert!(fake.taken.is_empty());
                return Ok(());
            }
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        };
        // All absent until the index is known.
        if layout.encoding == Encoding::Checked {
            for (address, bytes) in table.parts() {
                let mut words = (*address..address + bytes).step_by(8);
                prop_assert!(words.all(|at| fake.word(at) == 0));
            }
        }
        table.set_index(&mut fake, INDEX).expect("memory");
        table.enter(&mut fake, &runs, start, true).expect("memory");
        let ends = [0, length - 1];
        let cuts = runs.iter().scan(0, |at, run| { *at += run.bytes; Some(*at) });
        let cuts: Vec<u64> = cuts.flat_map(|at| [at - 1, at]).filter(|at| *at < length).collect();
        for at in probes.iter().map(|p| p % length).chain(ends).chain(cuts) {
            let va = start + at;
            prop_assert_eq!(walk(&fake, &table, start, va), truth(&runs, start, va));
        }
        let pages = page_count(start, length, table.fields().log_page);
        prop_assert_eq!(table.pages(), pages);
        table.free(&mut fake);
        prop_assert!(fake.taken.is_empty());
    }

    /// No larger page fits, unless one is enough already.
    #[test]
    fn the_page_is_the_largest((start, runs) in runs()) {
        let length: u64 = runs.iter().map(|run| run.bytes).sum();
        let best = largest_page(&runs, start, length).expect("4 KiB fits");
        let fits = |log: u8| {
            let layout = Layout { log_page: Some(log), level: Some(5), ..Layout::default() };
            let mut fake = Fake::default();
            Table::build(&mut fake, &runs, start, length, &layout, 3).is_ok()
        };
        prop_assert!(fits(best));
        prop_assert!(page_count(start, length, best) == 1 || !fits(best + 1));
    }
}

fn one(address: u64, bytes: u64) -> Vec<Run> {
    vec![Run { address, bytes }]
}

fn build(runs: &[Run], start: u64, length: u64, layout: Layout) -> Result<Table, MttError> {
    let mut fake = Fake::default();
    match Table::build(&mut fake, runs, start, length, &layout, 3) {
        Ok(table) => Ok(table),
        Err(Error::Mtt(error)) => {
            assert!(fake.taken.is_empty());
            Err(error)
        }
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let default = Layout::default();
    let refused = |runs: &[Run], start, length, layout| {
        build(runs, start, length, layout).expect_err("refused")
    };
    let error = refused(&one(0x1000, 0x1000), 0x2000, 0x1001, default);
    assert_eq!(
        error.to_string(),
        "the runs have 4096 bytes, the region 4097"
    );
    for (address, start, length) in [
        (0x1000, 0x2000, 0),
        (0x1000, u64::MAX, 2),
        (u64::MAX, 0x2fff, 2),
    ] {
        let error = refused(&one(address, length), start, length, default);
        assert!(matches!(error, MttError::Range { .. }), "{error}");
    }
    let error = refused(&one(0x1800, 0x1000), 0x2000, 0x1000, default);
    assert!(matches!(error, MttError::PageSize { .. }), "{error}");
    let gap = [one(0x1000, 0x800), one(0x5800, 0x800)].concat();
    let error = refused(&gap, 0x2000, 0x1000, default);
    assert!(
        matches!(error, MttError::PageSize { run: 1, .. }),
        "{error}"
    );
    let error = refused(&one(0, 0x1000), 0, 0x1000, default);
    assert_eq!(error, MttError::PageZero { page: 0 });
    let many = |level, log_tpage| Layout {
        log_page: Some(12),
        level: Some(level),
        log_tpage,
        ..default
    };
    for (layout, what) in [
        (many(0, None), "too many"),
        (many(1, Some(12)), "too many"),
        (many(4, None), "shape"),
        (many(6, None), "shape"),
        (many(1, Some(11)), "shape"),
        (many(1, Some(17)), "shape"),
        (
            Layout {
                log_page: Some(11),
                ..default
            },
            "shape",
        ),
        (
            Layout {
                log_page: Some(44),
                ..default
            },
            "shape",
        ),
    ] {
        let error = refused(&one(0x1000, 513 << 12), 0x1000, 513 << 12, layout);
        let right = match what {
            "shape" => matches!(error, MttError::Shape { .. }),
            _ => matches!(error, MttError::TooManyPages { pages: 513, .. }),
        };
        assert!(right, "{layout:?}: {error}");
    }
}

/// Level and table page follow the number of pages.
#[test]
fn the_smallest_table_is_chosen() {
    let pages_of = |log_page| Layout {
        log_page: Some(log_page),
        ..Layout::default()
    };
    for (pages, level) in [(1, 0), (4, 0), (5, 1), (512, 1), (513, 2)] {
        let runs = one(0x10_0000, pages << 12);
        let table = build(&runs, 0x10_0000, pages << 12, pages_of(12)).expect("a table");
        assert_eq!(table.fields().level, level, "{pages} pages");
    }
    // A page that may not be written must not lose its flag in the command.
    let layout = Layout {
        encoding: Encoding::Flagged,
        writable: false,
        ..pages_of(12)
    };
    let table = build(&one(0x1000, 0x1000), 0x1000, 0x1000, layout).expect("a table");
    assert_eq!(table.fields().level, 1);
    // Address 0 is a page in FLAGGED, not in RAW.
    let layout = Layout {
        encoding: Encoding::Flagged,
        level: Some(1),
        ..pages_of(12)
    };
    assert!(build(&one(0, 0x1000), 0, 0x1000, layout).is_ok());
    // Up to the end of the address space.
    let start = 0u64.wrapping_sub(1 << 30);
    let best = largest_page(&one(1 << 30, 1 << 30), start, 1 << 30);
    assert_eq!(best, Ok(30));
}

/// Entry by entry: present, not writable, absent; directories lead there; others stay as they are.
#[test]
fn pages_come_and_go() {
    let start = 0x7f00_0000_0000;
    for encoding in Encoding::ALL {
        for level in [None, Some(3), Some(5)] {
            let layout = Layout {
                encoding,
                level,
                ..Layout::default()
            };
            let mut fake = Fake::default();
            let mut table =
                Table::absent(&mut fake, start, 600 << 12, &layout, 3).expect("a table");
            assert_eq!(table.pages(), 600);
            let early = table.set(&mut fake, 0, 0x5000, true);
            let refused = Err(Error::Mtt(MttError::NoIndex));
            assert_eq!(early == refused, encoding == Encoding::Checked, "{early:?}");
            table.clear(&mut fake, 0, 1).expect("cleared");
            table.set_index(&mut fake, INDEX).expect("memory");
            let before = fake.memory.clone();
            for (page, address) in [(0, 0x5000), (511, 0x7000), (512, 0x9000), (599, 0xb000)] {
                table.set(&mut fake, page, address, true).expect("an entry");
                let va = start + (page << 12) + 5;
                assert_eq!(walk(&fake, &table, start, va), address + 5);
            }
            let changed = fake.memory.chunks(8).zip(before.chunks(8));
            assert_eq!(changed.filter(|(new, old)| new != old).count(), 4);
            let read_only = table.set(&mut fake, 4, 0x5000, false);
            let refused = Err(Error::Mtt(MttError::Writable));
            assert_eq!(read_only == refused, encoding == Encoding::Raw);
            for (first, count) in [(0, 5), (511, 2), (599, 1)] {
                table.clear(&mut fake, first, count).expect("cleared");
            }
            assert_eq!(fake.memory, before, "all absent again");
            for (first, count) in [(600, 1), (599, 2), (0, 0), (u64::MAX, 2)] {
                let error = table.clear(&mut fake, first, count).expect_err("outside");
                assert!(
                    matches!(error, Error::Mtt(MttError::NoPage { .. })),
                    "{error}"
                );
            }
            let error = table.set(&mut fake, 1, 0x5800, true).expect_err("no page");
            assert!(
                matches!(error, Error::Mtt(MttError::Unaligned { .. })),
                "{error}"
            );
            table.free(&mut fake);
            assert!(fake.taken.is_empty());
        }
    }
    for (start, length) in [(start, 0), (u64::MAX, 2)] {
        let mut fake = Fake::default();
        let error = Table::absent(&mut fake, start, length, &Layout::default(), 3);
        assert!(
            matches!(error, Err(Error::Mtt(MttError::Range { .. }))),
            "{error:?}"
        );
    }
}

/// What an entry of encoding CHECKED cannot hold; and entries of two places are not the same.
#[test]
fn checked_entries() {
    for address in [0, 1 << 52, u64::MAX, 0x1001, 0xfff] {
        let entry = checked_entry(address, true, Place::default());
        assert_eq!(entry, Err(MttError::CheckedAddress { address }));
    }
    let place = Place {
        index: INDEX,
        number: 7,
        level: 1,
    };
    let entry = checked_entry(0x000f_ffff_ffff_f000, false, place).expect("an entry");
    assert_eq!(checked(entry, 7, 1), 0x000f_ffff_ffff_f001);
    for other in [
        Place { index: 1, ..place },
        Place { number: 6, ..place },
        Place { level: 2, ..place },
    ] {
        let moved = checked_entry(0x000f_ffff_ffff_f000, false, other).expect("an entry");
        assert_ne!(moved, entry);
    }
    // What is wider than its field is refused: its high bits would be lost, or change another
    // field.
    let ends = Place {
        index: (1 << 23) - 1,
        number: (1 << 40) - 1,
        level: 7,
    };
    assert!(checked_entry(0x1000, true, ends).is_ok());
    for (other, what, value, bits) in [
        (
            Place {
                index: 1 << 23,
                ..ends
            },
            "index",
            1 << 23,
            23,
        ),
        (
            Place {
                index: u32::MAX,
                ..place
            },
            "index",
            u32::MAX.into(),
            23,
        ),
        (
            Place {
                number: 1 << 40,
                ..place
            },
            "number",
            1 << 40,
            40,
        ),
        (
            Place {
                number: u64::MAX,
                ..place
            },
            "number",
            u64::MAX,
            40,
        ),
        (Place { level: 8, ..ends }, "level", 8, 3),
    ] {
        let entry = checked_entry(0x1000, true, other);
        assert_eq!(entry, Err(MttError::Place { what, value, bits }));
    }
    let layout = Layout {
        encoding: Encoding::Checked,
        ..Layout::default()
    };
    let mut fake = Fake::default();
    let mut table = Table::absent(&mut fake, 0x1000, 0x9000, &layout, 3).expect("a table");
    let wide = table.set_index(&mut fake, 1 << 23);
    let (what, value, bits) = ("index", 1 << 23, 23);
    assert_eq!(wide, Err(MttError::Place { what, value, bits }.into()));
    let early = table.set(&mut fake, 0, 0x5000, true);
    assert_eq!(early, Err(MttError::NoIndex.into()), "it has none");
    table.free(&mut fake);
    for address in [0, 1 << 52] {
        let runs = one(address, 0x1000);
        let error = build(&runs, 0x1000, 0x1000, layout).expect_err("refused");
        assert_eq!(error, MttError::CheckedAddress { address });
    }
}

/// A page list has a page size that exists and at least one page; pages inside the command have no
/// entries.
#[test]
fn page_lists_that_cannot_be() {
    let mut fake = Fake::default();
    for log_page in [0, 11, 44, 64, 255] {
        let refused = Table::reserve(&mut fake, 8, log_page, Encoding::Raw).map(drop);
        assert!(
            matches!(refused, Err(Error::Mtt(MttError::Shape { value, .. })) if value == log_page),
            "{refused:?}"
        );
    }
    for pages in [0, 1 << 40, u64::MAX] {
        let refused = Table::reserve(&mut fake, pages, 12, Encoding::Raw).map(drop);
        assert!(
            matches!(
                refused,
                Err(Error::Mtt(
                    MttError::Range { .. } | MttError::TooManyPages { .. }
                ))
            ),
            "{refused:?}"
        );
    }
    for log_page in [12, 43] {
        let table = Table::reserve(&mut fake, 8, log_page, Encoding::Raw).expect("a list");
        assert_eq!(table.fields().log_page, log_page);
        table.free(&mut fake);
    }
    let runs = one(0x1000, 0x1000);
    let table = Table::build(&mut fake, &runs, 0x1000, 0x1000, &Layout::default(), 3);
    let table = table.expect("a page inside the command");
    for refused in [
        table.set(&mut fake, 0, 0x1000, true),
        table.clear(&mut fake, 0, 1),
    ] {
        assert!(
            matches!(refused, Err(Error::Mtt(MttError::Shape { value: 0, .. }))),
            "{refused:?}"
        );
    }
    table.free(&mut fake);
    assert!(fake.taken.is_empty());
}
