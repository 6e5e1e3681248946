// SPDX-License-Identifier: Apache-2.0
//! Tables as the Linux erdma driver lays them out, registered through the command channel and walked
//! by the RTL, unchanged. Every beat is compared with the golden, which knows the true pages, and
//! with the address that an erdma device would compute from the same words and tables.
//!
//! Waits end by the patience of the bench. `TPT_CASES` is the number of random cases, `TPT_SEED` the
//! seed.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestError, TestRng, TestRunner};
use tpt_bench::axi::AxiConfig;
use tpt_bench::rig::{scatter, Rig};
use tpt_bench::{BenchError, BenchOptions, CommandExtra, UnitConfig};
use tpt_golden::erdma::{
    build, device_lookup, Args, DeregMr, Iommu, Machine, RegMr, Registration, Repair, Shim,
    ShimError, StagMap, Translated,
};
use tpt_golden::frames::{FrameList, Page, PageSource};
use tpt_golden::host::AllocMode;
use tpt_golden::types::{
    CmdOp, Command, Completion, Op, Request, Role, Status, Syndrome, LEVEL_FLAT,
};

type Result<T = ()> = std::result::Result<T, BenchError>;

/// Where the pages are: above every table.
const PA: u64 = 1 << 50;
const GIB: u64 = 1 << 30;

/// A rig whose table pages lie in random places, at most two neighbours in a row.
fn scattered(options: BenchOptions) -> Result<Rig> {
    let mut rig = Rig::new(options, &UnitConfig::default())?;
    rig.host
        .set_alloc_mode(AllocMode::Fragmented { max_run: 2 });
    Ok(rig)
}

/// A region with these pages that fills its first page from `offset` on, and its last page whole.
fn args(log_page: u8, pages: u64, offset: u64) -> Args {
    let list = Arc::new(scatter(log_page, PA, pages));
    Args::new((0x55 << 40) + offset, (pages << log_page) - offset, list)
}

fn lazy(args: Args) -> Args {
    Args { lazy: true, ..args }
}

fn flat(args: Args, flat_offset: u64) -> Args {
    Args {
        force_flat: true,
        flat_offset,
        ..args
    }
}

/// A region that the erdma driver has laid out and the unit has registered.
struct Region {
    args: Args,
    words: RegMr,
    made: Registration,
    translated: Translated,
    done: Completion,
}

impl Region {
    fn request(&self, op: Op, va: u64, len: u64) -> Request {
        Request {
            op: op.code(),
            key: match op.role() {
                Role::Local => self.done.lkey,
                Role::Remote => self.done.rkey,
            },
            va,
            len: len as u32,
            pd: self.args.pd,
            ..Request::default()
        }
    }

    /// First address of page `number` that belongs to the region.
    fn va(&self, number: u64) -> u64 {
        let log_page = self.args.pages.log_page();
        (((self.args.iova >> log_page) + number) << log_page).max(self.args.iova)
    }

    fn last(&self) -> u64 {
        self.args.iova + (self.args.length - 1)
    }

    /// An access that must pass; each of its beats is where an erdma device would go.
    fn passes(&self, rig: &mut Rig, op: Op, va: u64, len: u64) -> Result {
        let client = (va >> 3 & 1) as usize;
        let outcome = rig.expect(client, self.request(op, va, len), Syndrome::Ok)?;
        let mut at = va;
        for beat in &outcome.beats {
            let by_device = device_lookup(&rig.host.mem, &self.words, at);
            assert_eq!(Some(beat.pa), by_device, "{at:#x} of {:?}", self.words);
            at += u64::from(beat.len);
        }
        assert_eq!(at, va + len);
        Ok(())
    }

    /// First and last byte of page `number`, and the bytes on both sides of its start.
    fn probe(&self, rig: &mut Rig, number: u64) -> Result {
        let page = 1u64 << self.args.pages.log_page();
        let first = self.va(number);
        let last = ((first | (page - 1)).min(self.last())).max(first);
        self.passes(rig, Op::LocalRead, first, 1)?;
        self.passes(rig, Op::RemoteWrite, last, 1)?;
        if number > 0 {
            let before = 8.min(first - self.args.iova);
            let behind = 8.min(self.last() - first + 1);
            self.passes(rig, Op::RemoteRead, first - before, before + behind)?;
        }
        Ok(())
    }
}

/// Lays out, translates, registers.
fn register(rig: &mut Rig, machine: &Machine, args: &Args) -> Result<Region> {
    let args = Args {
        cookie: rig.id(),
        ..args.clone()
    };
    let made = build(&mut rig.host, machine, &args).expect("the driver registers it");
    for range in made.ranges() {
        rig.bench.axi.allow(range.pa..range.pa + range.len);
    }
    let words = *made.words();
    let shim = Shim {
        max_levels: rig.bench.config().sizes().max_levels,
        ..Shim::default()
    };
    let translated = shim
        .reg_mr(&rig.host.mem, &words, Some(args.length))
        .expect("the shim takes it");
    assert_eq!(translated.command.id, args.cookie);
    let done = command(rig, translated.command, args.pages.clone())?;
    assert_eq!(done.status, Status::Ok, "{:?}", translated.command);
    Ok(Region {
        args,
        words,
        made,
        translated,
        done,
    })
}

/// Sends a REG_MR command; the pages are what the golden translates with.
fn command(rig: &mut Rig, command: Command, pages: Arc<FrameList>) -> Result<Completion> {
    let extra = CommandExtra {
        pages: Some(pages),
        ..CommandExtra::default()
    };
    rig.command(command, extra)
}

/// Ends a region by an erdma DEREG_MR: behind its completion no read of the table may come, which the
/// bench watches; then the table goes.
fn deregister(rig: &mut Rig, region: Region) -> Result {
    let mut stags = StagMap::default();
    stags.insert(&region.words, &region.done).expect("new");
    let dereg = DeregMr::new(region.words.stag(), rig.id());
    let extra = CommandExtra {
        release: region.made.ranges().map(|r| r.pa..r.pa + r.len).collect(),
        ..CommandExtra::default()
    };
    let request = region.request(Op::LocalRead, region.args.iova, 1);
    let done = rig.command(stags.dereg_mr(&dereg).expect("known"), extra)?;
    assert_eq!(stags.remove(&dereg, &done), Ok(true));
    region.made.free(&mut rig.host);
    rig.expect(0, request, Syndrome::KeyState)?;
    Ok(())
}

/// First and last entry of the table pages: of all of them if they are few, otherwise of the first and
/// last ones and those at both ends of a directory page.
fn edges(pages: u64, per_page: u64) -> Vec<u64> {
    let tables = pages.div_ceil(per_page);
    let interesting: Vec<u64> = match tables {
        0..=8 => (0..tables).collect(),
        _ => [0, 1, 2, tables / 2, tables - 2, tables - 1]
            .into_iter()
            .chain([1, tables / per_page].map(|k| k * per_page))
            .chain([1, tables / per_page].map(|k| (k * per_page).saturating_sub(1)))
            .filter(|&table| table < tables)
            .collect(),
    };
    let mut all = vec![1, 2, 3];
    for table in interesting {
        all.extend([table * per_page, (table + 1) * per_page - 1]);
    }
    all.push(pages - 1);
    all.retain(|&number| number < pages);
    all.sort_unstable();
    all.dedup();
    all
}

/// Registers, looks at the edges and at whole runs of pages, deregisters.
fn walk(rig: &mut Rig, machine: &Machine, args: &Args, level: u8) -> Result {
    let region = register(rig, machine, args)?;
    assert_eq!(region.translated.command.level, level, "{args:?}");
    let pages = args.pages.pages();
    for number in edges(pages, 1 << (machine.log_host_page - 3)) {
        region.probe(rig, number)?;
    }
    // Whole tables' ends in one request: every entry from there on, in order.
    let most = args
        .length
        .min((48u64 << args.pages.log_page()).min(1 << 31));
    region.passes(rig, Op::LocalWrite, args.iova, most)?;
    region.passes(rig, Op::RemoteRead, region.last() - (most - 1), most)?;
    let past = region.request(Op::RemoteRead, region.last(), 2);
    rig.expect(0, past, Syndrome::Bounds)?;
    deregister(rig, region)
}

// -------------------------------------------------------------------------------------------------
// Levels
// -------------------------------------------------------------------------------------------------

/// Levels 0 to 3 with 4 KiB table pages, at the numbers of pages where the level changes.
#[test]
fn table_pages_of_4_kib() -> Result {
    let mut rig = scattered(BenchOptions::default())?;
    for (pages, level) in [
        (1, 0),
        (4, 0),
        (5, LEVEL_FLAT),
        (512, LEVEL_FLAT),
        (513, 2),
        (1024, 2),
        (1025, 2),
        (262_144, 2),
        (262_145, 3),
        (262_144 + 513, 3),
    ] {
        walk(&mut rig, &Machine::default(), &args(12, pages, 0), level)?;
    }
    Ok(())
}

/// The same with 64 KiB table pages, which hold 8,192 entries; and 16 KiB ones.
#[test]
fn table_pages_of_64_kib() -> Result {
    let mut rig = scattered(BenchOptions::default())?;
    for (log_tpage, pages, level) in [
        (16, 4, 0),
        (16, 5, LEVEL_FLAT),
        (16, 8192, LEVEL_FLAT),
        (16, 8193, 2),
        (16, 16_385, 2),
        (16, 262_145, 2),
        (14, 2048, LEVEL_FLAT),
        (14, 2049, 2),
        (14, 3 * 2048 + 1, 2),
    ] {
        let machine = Machine::with_pages(log_tpage);
        walk(&mut rig, &machine, &args(12, pages, 0x321), level)?;
    }
    Ok(())
}

/// The largest trees: 134,217,728 pages in three levels of 4 KiB; 67,108,864 and one more with 64 KiB.
/// The lowest level is computed when it is read.
#[test]
fn largest_trees() -> Result {
    let mut rig = Rig::small()?;
    for (log_tpage, pages, level) in [
        (12, 134_217_728u64, 3),
        (16, 67_108_864, 2),
        (16, 67_108_865, 3),
    ] {
        let machine = Machine::with_pages(log_tpage);
        walk(&mut rig, &machine, &lazy(args(12, pages, 0)), level)?;
    }
    Ok(())
}

/// Flat tables on multiples of 8, for a device without trees or a caller that insists, up to more
/// entries than the command can count.
#[test]
fn flat_tables() -> Result {
    let mut rig = scattered(BenchOptions::default())?;
    let no_trees = Machine {
        mtt_va: false,
        ..Machine::default()
    };
    for (pages, offset) in [
        (5, 0),
        (5, 8),
        (5, 0xff8),
        (9, 0x38),
        (512, 0x40),
        (513, 0x208),
        (1500, 0x7f0),
        (9000, 0xff8),
    ] {
        let args = args(12, pages, 1);
        walk(
            &mut rig,
            &Machine::default(),
            &flat(args.clone(), offset),
            LEVEL_FLAT,
        )?;
        let placed = Args {
            flat_offset: offset,
            ..args
        };
        walk(&mut rig, &no_trees, &placed, LEVEL_FLAT)?;
    }
    for pages in [(1 << 20) - 1, 1 << 20, (1 << 20) + 1] {
        let args = lazy(flat(args(12, pages, 0), 0x18));
        walk(&mut rig, &Machine::default(), &args, LEVEL_FLAT)?;
    }
    Ok(())
}

/// What lies before and behind a flat table in memory is the business of others: addresses there are
/// never taken for entries, at any place inside a line of the bus.
#[test]
fn neighbours_of_a_flat_table() -> Result {
    let mut rig = Rig::small()?;
    for slot in 0..16 {
        let args = flat(args(12, 11, 0x800), 0x200 + 8 * slot);
        let region = register(&mut rig, &Machine::default(), &args)?;
        let root = region.words.phy_addr[0];
        for n in 1..=16 {
            rig.host
                .mem
                .write_u64(root - 8 * n, 0xbad_0000_0000 + (n << 12));
            let behind = root + 8 * (10 + n);
            rig.host.mem.write_u64(behind, 0xdead_0000_0000 + (n << 12));
        }
        for number in 0..11 {
            region.probe(&mut rig, number)?;
        }
        region.passes(&mut rig, Op::LocalRead, args.iova, args.length)?;
        let before = region.request(Op::LocalRead, args.iova - 1, 1);
        rig.expect(0, before, Syndrome::Bounds)?;
        let behind = region.request(Op::LocalRead, region.last(), 2);
        rig.expect(0, behind, Syndrome::Bounds)?;
        deregister(&mut rig, region)?;
    }
    Ok(())
}

/// Page sizes and places of the start in its page, in each kind of table. 2^31 bytes are the most that
/// one request can have.
#[test]
fn page_sizes_and_offsets() -> Result {
    let mut rig = scattered(BenchOptions::default())?;
    for log_page in [12u8, 16, 21, 30] {
        let page = 1u64 << log_page;
        for offset in [0, 1, page / 2, page - 1] {
            for (log_tpage, pages, flat_at, level) in [
                (12, 1, None, 0),
                (12, 4, None, 0),
                (12, 5, None, LEVEL_FLAT),
                (12, 70, Some(0xfe8), LEVEL_FLAT),
                (12, 513, None, 2),
                (16, 8193, None, 2),
            ] {
                let args = args(log_page, pages, offset);
                let args = match flat_at {
                    Some(at) => flat(args, at),
                    None => args,
                };
                walk(&mut rig, &Machine::with_pages(log_tpage), &args, level)?;
            }
        }
    }
    Ok(())
}

// -------------------------------------------------------------------------------------------------
// Absent entries
// -------------------------------------------------------------------------------------------------

/// Zeros behind the last entry of a table page, of a directory page and of an array are absent pages:
/// a command whose length is longer than its table gets no further. What comes before is handed out.
#[test]
fn zero_tails_are_absent() -> Result {
    let mut rig = scattered(BenchOptions::default())?;
    for (log_tpage, pages, claimed, flat_at, absent) in [
        (12, 6, 512, None, vec![6, 7, 511]),
        (
            12,
            600,
            4096,
            None,
            vec![600, 601, 1023, 1024, 1535, 1536, 4095],
        ),
        (
            12,
            262_145,
            1 << 27,
            None,
            vec![262_145, 262_655, 262_656, 524_287, 524_288, (1 << 27) - 1],
        ),
        (
            16,
            9000,
            1 << 20,
            None,
            vec![9000, 16_383, 16_384, 20_000, (1 << 20) - 1],
        ),
        (12, 100, 120, Some(0x88), vec![100, 101, 119]),
    ] {
        let args = match flat_at {
            Some(at) => flat(args(12, pages, 0), at),
            None => args(12, pages, 0),
        };
        let made = build(&mut rig.host, &Machine::with_pages(log_tpage), &args).expect("built");
        for range in made.ranges() {
            rig.bench.axi.allow(range.pa..range.pa + range.len);
        }
        let words = *made.words();
        let translated = Shim::default()
            .reg_mr(&rig.host.mem, &words, Some(args.length))
            .expect("taken");
        // The shim refuses this length; only a command past the shim gets so far.
        let longer: u64 = claimed << 12;
        assert!(Shim::default()
            .reg_mr(&rig.host.mem, &words, Some(longer))
            .is_err());
        let sent = Command {
            id: rig.id(),
            length: longer,
            ..translated.command
        };
        let done = command(&mut rig, sent, args.pages.clone())?;
        assert_eq!(done.status, Status::Ok);
        let region = Region {
            args,
            words,
            made,
            translated,
            done,
        };
        for number in absent {
            let va = region.va(number);
            for round in 0..2 {
                let request = region.request(Op::LocalRead, va + 5, 8);
                let outcome = rig.expect(round, request, Syndrome::MttAbsent)?;
                assert_eq!((outcome.segments, outcome.bytes), (0, 0));
            }
        }
        for number in [0, pages - 1] {
            let request = region.request(Op::LocalRead, region.va(number), 4096);
            rig.expect(0, request, Syndrome::Ok)?;
        }
        // Over the edge: the last page is handed out, then it ends.
        let request = region.request(Op::RemoteWrite, region.va(pages - 1) + 16, 8192);
        let outcome = rig.expect(1, request, Syndrome::MttAbsent)?;
        assert_eq!((outcome.segments, outcome.bytes), (1, 4080));
        deregister(&mut rig, region)?;
    }
    Ok(())
}

// -------------------------------------------------------------------------------------------------
// Hazards
// -------------------------------------------------------------------------------------------------

/// Lengths of more than 32 bits that were sent with 32: the whole region is there. Taken at its word
/// the command would be refused, or the region would be too short.
#[test]
fn length_of_33_bits() -> Result {
    let mut rig = scattered(BenchOptions::default())?;
    for (log_page, pages, cut_off, level, at_its_word) in [
        (30, 4, 0, 0, Status::BadLength),
        (30, 5, 0, LEVEL_FLAT, Status::Ok),
        (30, 512, 9, LEVEL_FLAT, Status::Ok),
        (23, 512, 0, LEVEL_FLAT, Status::BadLength),
    ] {
        let whole = args(log_page, pages, 0);
        let args = Args {
            length: whole.length - cut_off,
            ..whole
        };
        let region = register(&mut rig, &Machine::default(), &args)?;
        let (sent, length) = (args.length as u32, args.length);
        assert!(args.length >> 32 != 0 && region.words.version() == 0);
        let repair = Repair::Length { sent, length };
        assert!(region.translated.repairs.contains(&repair));
        assert_eq!(region.translated.command.level, level);
        for at in [0, GIB - 1, GIB, u64::from(sent), 1 << 32] {
            if at < length {
                region.passes(&mut rig, Op::RemoteRead, args.iova + at, 1)?;
            }
        }
        region.passes(&mut rig, Op::RemoteWrite, region.last(), 1)?;
        let past = region.request(Op::RemoteWrite, region.last() + 1, 1);
        rig.expect(0, past, Syndrome::Bounds)?;

        let literal = Command {
            id: rig.id(),
            length: u64::from(sent),
            ..region.translated.command
        };
        let done = command(&mut rig, literal, args.pages.clone())?;
        assert_eq!(done.status, at_its_word);
        if done.status == Status::Ok {
            let request = Request {
                key: done.rkey,
                ..region.request(Op::RemoteRead, args.iova + u64::from(sent), 1)
            };
            rig.expect(0, request, Syndrome::Bounds)?;
        }
        deregister(&mut rig, region)?;
    }
    Ok(())
}

/// Garbage in the address fields that are not used does not reach the entry, even if a shim leaves it
/// in the command: the entry is the same, and so are the answers.
#[test]
fn garbage_in_unused_fields() -> Result {
    let mut rig = scattered(BenchOptions::default())?;
    for (pages, flat_at) in [
        (1, None),
        (2, None),
        (3, None),
        (40, None),
        (40, Some(8)),
        (600, None),
    ] {
        for garbage in [1, u64::MAX] {
            let args = Args {
                garbage,
                ..args(12, pages, 7)
            };
            let args = match flat_at {
                Some(at) => flat(args, at),
                None => args,
            };
            let mut region = register(&mut rig, &Machine::default(), &args)?;
            let raw = Command {
                id: rig.id(),
                frame: region.words.phy_addr,
                ..region.translated.command
            };
            assert_ne!(raw.frame, region.translated.command.frame);
            let done = command(&mut rig, raw, args.pages.clone())?;
            assert_eq!(done.status, Status::Ok);
            let clean = std::mem::replace(&mut region.done, done);
            let query = Command {
                id: rig.id(),
                op: CmdOp::Query.code(),
                key: region.done.lkey,
                pd: args.pd,
                ..Command::default()
            };
            // The entry is compared with the golden's, whose unused frames are 0.
            let entry = rig.command(query, CommandExtra::default())?;
            assert_eq!(entry.status, Status::Ok);
            for number in [0, pages / 2, pages - 1] {
                region.probe(&mut rig, number)?;
            }
            region.done = clean;
            region.probe(&mut rig, pages - 1)?;
            deregister(&mut rig, region)?;
        }
    }
    Ok(())
}

/// Table pages merged by an IOMMU: what the shim refuses would hand out the pages of others, as the
/// table says, and then end as absent. Nothing hangs, and the unit goes on.
#[test]
fn merged_table_pages() -> Result {
    let mut rig = Rig::small()?;
    let machine = Machine {
        iommu: Iommu::Merging { limit: 8192 },
        ..Machine::default()
    };
    let args = args(12, 5 * 512, 0);
    let made = build(&mut rig.host, &machine, &args).expect("built");
    let words = *made.words();
    let refused = Shim::default().reg_mr(&rig.host.mem, &words, Some(args.length));
    let (level, expected, found) = (2, 5, 3);
    let error = ShimError::Merged {
        level,
        expected,
        found,
    };
    assert_eq!(refused, Err(error));
    // Past the shim: the golden is told what the table says.
    let mut list = FrameList::new(12);
    for number in 0..args.pages.pages() {
        let pa = device_lookup(&rig.host.mem, &words, args.iova + (number << 12));
        list.push(1, pa.map_or(Page::Absent, Page::at));
    }
    let list = Arc::new(list);
    assert_eq!(list.page(512), args.pages.page(1024));
    let sent = Command {
        id: rig.id(),
        op: CmdOp::RegMr.code(),
        pd: args.pd,
        access: args.access.0,
        start: args.iova,
        length: args.length,
        log_page: 12,
        level: words.level(),
        log_tpage: words.log_tpage(),
        frame: words.phy_addr,
        ..Command::default()
    };
    let done = command(&mut rig, sent, list.clone())?;
    assert_eq!(done.status, Status::Ok);
    for number in edges(args.pages.pages(), 512) {
        let request = Request {
            op: Op::LocalRead.code(),
            key: done.lkey,
            va: args.iova + (number << 12),
            len: 4096,
            pd: args.pd,
            ..Request::default()
        };
        let syndrome = match list.page(number) {
            Page::Absent => Syndrome::MttAbsent,
            _ => Syndrome::Ok,
        };
        rig.expect(0, request, syndrome)?;
        assert_eq!(syndrome == Syndrome::MttAbsent, number >= 3 * 512);
    }
    // All of them merged: one array, and right.
    let machine = Machine {
        iommu: Iommu::Merging { limit: 1 << 20 },
        ..Machine::default()
    };
    walk(&mut rig, &machine, &args, LEVEL_FLAT)?;
    made.free(&mut rig.host);
    Ok(())
}

// -------------------------------------------------------------------------------------------------
// Random
// -------------------------------------------------------------------------------------------------

#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    regions: Vec<(u8, bool, u64, u8, u64, u64)>,
    accesses: Vec<(u8, u8, u64, u64)>,
}

fn case() -> impl Strategy<Value = Case> {
    let pages = prop_oneof![1u64..6, 400u64..1600, 8150u64..8250];
    let region = (
        prop::sample::select(vec![12u8, 14, 16]),
        any::<bool>(),
        0u64..512,
        12u8..=30,
        pages,
        any::<u64>(),
    );
    let access = (any::<u8>(), 0u8..5, any::<u64>(), any::<u64>());
    (
        any::<u64>(),
        prop::collection::vec(region, 1..4),
        prop::collection::vec(access, 1..150),
    )
        .prop_map(|(seed, regions, accesses)| Case {
            seed,
            regions,
            accesses,
        })
}

/// Several regions at once, of any kind, over a memory that does all that AXI allows.
fn run(case: &Case) -> Result {
    let options = BenchOptions {
        seed: case.seed,
        axi: AxiConfig::hostile(60),
        ..BenchOptions::default()
    };
    let mut rig = scattered(options)?;
    let mut regions = Vec::new();
    for (n, &(log_tpage, force_flat, slot, log_page, pages, place)) in
        case.regions.iter().enumerate()
    {
        let page = 1u64 << log_page;
        let offset = place % page;
        let list = Arc::new(scatter(log_page, PA * (n as u64 + 1), pages));
        let iova = (place >> 16 & !(page - 1)) + offset;
        let args = Args {
            index: n as u32,
            force_flat,
            flat_offset: slot * 8,
            garbage: place,
            ..Args::new(iova, pages * page - offset, list)
        };
        regions.push(register(&mut rig, &Machine::with_pages(log_tpage), &args)?);
    }
    for &(which, op, at, len) in &case.accesses {
        let region = &regions[usize::from(which) % regions.len()];
        let within = |number: u64, of: u64| ((u128::from(number) * u128::from(of)) >> 64) as u64;
        let offset = within(at, region.args.length);
        let most = (region.args.length - offset).min(40 << region.args.pages.log_page());
        let op = [
            Op::LocalRead,
            Op::LocalWrite,
            Op::RemoteRead,
            Op::RemoteWrite,
        ][usize::from(op % 4)];
        let len = 1 + within(len, most.min(1 << 31));
        let request = Request {
            stream: which % 8,
            ..region.request(op, region.args.iova + offset, len)
        };
        rig.bench.issue(usize::from(which & 1), request);
    }
    rig.wait_idle()?;
    while let Some(outcome) = rig.bench.poll() {
        assert_eq!(outcome.syndrome, Syndrome::Ok);
    }
    regions
        .into_iter()
        .try_for_each(|region| deregister(&mut rig, region))
}

#[test]
fn random_regions() {
    let number = |name: &str, default: u64| match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name}: `{text}` is no number")),
        Err(_) => default,
    };
    let seed = number("TPT_SEED", 1);
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let settings = ProptestConfig {
        cases: number("TPT_CASES", 25) as u32,
        failure_persistence: None,
        max_shrink_iters: 200,
        ..ProptestConfig::default()
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let result = TestRunner::new_with_rng(settings, rng).run(&case(), |case| {
        run(&case).map_err(|error| TestCaseError::fail(error.to_string()))
    });
    match result {
        Ok(()) => {}
        Err(TestError::Fail(reason, case)) => panic!("TPT_SEED={seed}: {case:?}\n{reason}"),
        Err(error) => panic!("TPT_SEED={seed}: {error}"),
    }
}
