// SPDX-License-Identifier: Apache-2.0
//! Tables: every byte of a region is found where its run has it, by a walk that is written from
//! docs/formats.md; and shapes that cannot be are refused.

mod fake;

use fake::Fake;
use proptest::prelude::*;
use tpt_driver::mtt::{largest_page, page_count, Layout, MttError, Run, Table};
use tpt_driver::{Encoding, Error};

/// Physical address of the byte at `va`, as the unit walks. Panics on an entry that it would refuse.
fn walk(fake: &Fake, table: &Table, start: u64, va: u64) -> u64 {
    let fields = table.fields();
    let (log_page, log_tpage) = (u32::from(fields.log_page), u32::from(fields.log_tpage));
    let page = (va >> log_page) - (start >> log_page);
    let flags: u64 = if fields.encoding == 1 { 3 } else { 0 };
    let frame = |word: u64, log: u32| {
        if fields.encoding == 1 {
            assert_eq!(word & 1, 1, "present");
        } else {
            assert_ne!(word, 0, "present");
        }
        assert_eq!(word & ((1 << log) - 1) & !flags, 0, "aligned: {word:#x}");
        word & !((1 << log) - 1)
    };
    let base = match fields.level {
        0 => fields.frame[page as usize],
        5 => frame(fake.word(fields.frame[0] + 8 * page), log_page),
        level => {
            let bits = log_tpage - 3;
            let mut at = fields.frame[0];
            for above in (1..u32::from(level)).rev() {
                let n = (page >> (above * bits)) & ((1 << bits) - 1);
                at = frame(fake.word(at + 8 * n), log_tpage);
            }
            frame(fake.word(at + 8 * (page & ((1 << bits) - 1))), log_page)
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
        shape in (0u8..6, 12u8..17, any::<bool>(), any::<bool>()),
        probes in prop::collection::vec(any::<u64>(), 20),
    ) {
        let (level, log_tpage, flagged, small) = shape;
        let length: u64 = runs.iter().map(|run| run.bytes).sum();
        let layout = Layout {
            log_page: small.then_some(12),
            level: match level {
                0 => None,
                4 => Some(5),
                level => Some(level.min(3)),
            },
            log_tpage: (log_tpage > 13).then_some(log_tpage),
            encoding: if flagged { Encoding::Flagged } else { Encoding::Raw },
            writable: true,
        };
        let mut fake = Fake::default();
        let table = match Table::build(&mut fake, &runs, start, length, &layout, 3) {
            Ok(table) => table,
            // Only a level that was asked for can be too small here.
            Err(Error::Mtt(MttError::TooManyPages { .. })) if layout.level.is_some() => {
                prop_assert!(fake.taken.is_empty());
                return Ok(());
            }
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        };
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
