// SPDX-License-Identifier: Apache-2.0
//! Situations that users of such units reported, and those that random tests meet too seldom.

use std::sync::Arc;

use tpt_bench::axi::{AxiConfig, Fault, FaultOn};
use tpt_bench::rig::{Mr, Rig, Spec, ALL_RIGHTS};
use tpt_bench::{
    BenchError, BenchOptions, Clocks, CommandExtra, DonePolicy, Issue, Outcome, Pattern,
    QueueConfig, UnitConfig,
};
use tpt_golden::codec::MptEntry;
use tpt_golden::frames::{FrameList, Page};
use tpt_golden::host::PhysRange;
use tpt_golden::keys::KeyMaker;
use tpt_golden::mtt::{boundary_matrix, Shape};
use tpt_golden::regs;
use tpt_golden::regs::counter;
use tpt_golden::types::{
    Access, CmdOp, Command, Encoding, Key, Op, Request, Role, State, Status, Syndrome, LEVEL_FLAT,
    LEVEL_INLINE,
};
use tpt_golden::unit::Conditions;
use tpt_verilated::Config;

type Result<T = ()> = std::result::Result<T, BenchError>;

const PA: u64 = 0x40_0000_0000;

fn with_latency(clocks: u32) -> BenchOptions {
    let mut options = BenchOptions::default();
    options.axi.read_latency = Clocks::fixed(clocks);
    options
}

fn tree(start: u64, pages: u64, pa: u64) -> Spec {
    Spec::new(start, pages << 12, 12, pa).level(if pages > 512 { 2 } else { 1 })
}

// -------------------------------------------------------------------------------------------------
// Merging of neighbouring pages
// -------------------------------------------------------------------------------------------------

/// Pages of 4 KiB in runs of `run` neighbours.
fn runs(pages: u64, run: u64) -> Spec {
    let mut spec = tree(0x10_0000, pages, PA);
    for page in 0..pages {
        let frame = PA + ((page / run) * (run + 1) + page % run) * 4096;
        spec.list.set(page..page + 1, Page::at(frame));
    }
    spec
}

/// As many segments as there are runs of neighbours, over the ends of table lines, cold and warm;
/// and one for each page while merging is off.
#[test]
fn neighbouring_pages_are_one_segment() -> Result {
    for (merge, run, segments) in [
        (true, 3, 80),
        (true, 240, 1),
        (true, 1, 240),
        (false, 3, 240),
    ] {
        let unit = UnitConfig {
            merge,
            ..UnitConfig::default()
        };
        let mut rig = Rig::new(with_latency(60), &unit)?;
        let mr = rig.register(runs(240, run))?;
        for _ in 0..2 {
            let request = mr.request(Op::LocalRead, 0x10_0000, 240 << 12);
            let outcome = rig.expect(0, request, Syndrome::Ok)?;
            assert_eq!(outcome.segments, segments, "runs of {run}, merging {merge}");
            assert_eq!(outcome.bytes, 240 << 12);
        }
        // from inside a page to inside another one
        let request = mr.request(Op::RemoteWrite, 0x10_0000 + 5000, 20_000);
        rig.expect(1, request, Syndrome::Ok)?;
    }
    Ok(())
}

/// A fault behind merged pages keeps its own beat; what was merged before it is handed out.
#[test]
fn a_fault_ends_a_merged_segment() -> Result {
    let unit = UnitConfig {
        merge: true,
        ..UnitConfig::default()
    };
    let mut rig = Rig::new(BenchOptions::default(), &unit)?;
    let mut spec = runs(64, 64);
    spec.list.set(20..21, Page::Absent);
    let mr = rig.register(spec)?;
    let request = mr.request(Op::LocalRead, 0x10_0000, 64 << 12);
    let outcome = rig.expect(0, request, Syndrome::MttAbsent)?;
    assert_eq!((outcome.segments, outcome.bytes), (1, 20 << 12));
    Ok(())
}

/// Requests that follow each other in their stream and in memory keep their own segments.
#[test]
fn merging_ends_with_the_request() -> Result {
    let unit = UnitConfig {
        merge: true,
        ..UnitConfig::default()
    };
    let mut rig = Rig::new(BenchOptions::default(), &unit)?;
    let mr = rig.register(runs(64, 64))?;
    for pages in [1, 2, 2, 4] {
        for n in 0..16 {
            let va = 0x10_0000 + ((n * pages) << 12);
            let request = mr.request(Op::LocalRead, va, (pages as u32) << 12);
            rig.bench.issue(0, request);
        }
        rig.wait_idle()?;
        while rig.bench.poll().is_some() {}
    }
    Ok(())
}

/// The merge bit is locked while the unit is enabled, like the others.
#[test]
fn merging_is_locked_while_enabled() -> Result {
    let mut rig = Rig::small()?;
    let answer = rig.bench.write_register(
        &mut rig.host.mem,
        regs::CTRL,
        regs::ctrl::ENABLE | regs::ctrl::MERGE,
    );
    assert!(answer.is_err(), "CTRL took another merge bit");
    Ok(())
}

// -------------------------------------------------------------------------------------------------
// Hits and misses
// -------------------------------------------------------------------------------------------------

/// The cause of a refusal is the same on a miss and on a hit, of both caches.
#[test]
fn same_cause_on_hit_and_miss() -> Result {
    let mut rig = Rig::small()?;
    let mut spec = tree(0x10_0000, 8, PA);
    spec.access = Access::REMOTE_READ | Access::LOCAL_WRITE;
    spec.list.set(3..4, Page::Absent);
    spec.list.set(5..6, Page::Bad);
    let mr = rig.register(spec)?;
    let good = mr.request(Op::RemoteRead, 0x10_0000, 8);
    let cases = [
        (
            Request {
                key: Key(good.key.0 ^ 1),
                ..good
            },
            Syndrome::KeyTag,
        ),
        (Request { pd: 2, ..good }, Syndrome::Pd),
        (
            Request {
                op: Op::RemoteWrite.code(),
                ..good
            },
            Syndrome::Rights,
        ),
        (
            Request {
                va: 0xf_ffff,
                ..good
            },
            Syndrome::Bounds,
        ),
        (
            Request {
                va: 0x10_3000,
                ..good
            },
            Syndrome::MttAbsent,
        ),
        (
            Request {
                va: 0x10_5000,
                ..good
            },
            Syndrome::MttBad,
        ),
        (
            Request {
                va: 0x10_2ffc,
                ..good
            },
            Syndrome::MttAbsent,
        ),
    ];
    for (request, syndrome) in cases {
        for round in 0..4 {
            // What is read for a wrong tag or PD is not kept.
            let foreign = matches!(syndrome, Syndrome::KeyTag | Syndrome::Pd);
            if round == 1 && foreign && request.key.field() == good.key.field() {
                rig.expect(0, good, Syndrome::Ok)?;
            }
            let before = rig.counter(counter::MPT_READ)?;
            let outcome = rig.expect(round & 1, request, syndrome)?;
            assert!(
                outcome
                    .beats
                    .iter()
                    .rev()
                    .skip(1)
                    .all(|beat| beat.syndrome == Syndrome::Ok),
                "only the last beat carries a fault"
            );
            let reads = rig.counter(counter::MPT_READ)? - before;
            match round {
                // Disabling clears the caches, and the table with them: register again instead.
                0 => {}
                _ => assert_eq!(reads, 0, "{request:?} must hit"),
            }
        }
        evict_mpt(&mut rig)?;
    }
    Ok(())
}

/// Uses so many other regions that no earlier entry is left in the MPT cache.
fn evict_mpt(rig: &mut Rig) -> Result {
    let size = rig.bench.unit().mpt_size;
    for index in 1..size {
        let field = rig.bench.golden.keys().field(Role::Local, index);
        let request = Request {
            key: Key::new(field, 0),
            len: 1,
            ..Request::default()
        };
        rig.bench.issue(0, request);
    }
    rig.wait_idle()?;
    while rig.bench.poll().is_some() {}
    Ok(())
}

/// An absent entry is not remembered: when the driver fills it in, it is seen.
#[test]
fn refused_entries_are_not_kept() -> Result {
    let mut rig = Rig::small()?;
    let mut spec = tree(0x10_0000, 16, PA);
    spec.list.set(6..7, Page::Absent);
    let mr = rig.register(spec)?;
    let request = mr.request(Op::LocalRead, 0x10_6000, 8);
    rig.expect(0, request, Syndrome::MttAbsent)?;
    rig.expect(1, request, Syndrome::MttAbsent)?;
    let entry = mr.table.entry_pa(6).expect("a table");
    rig.host.mem.write_u64(entry, 0x123_4567_8000);
    let mut list = mr.spec.list.clone();
    list.set(6..7, Page::at(0x123_4567_8000));
    rig.bench.golden.set_pages(mr.index, Arc::new(list));
    let outcome = rig.expect(0, request, Syndrome::Ok)?;
    assert_eq!(outcome.beats[0].pa, 0x123_4567_8000);
    Ok(())
}

/// Requests for the same missing entry and line share one read each.
#[test]
fn misses_of_one_line_are_merged() -> Result {
    let mut rig = Rig::new(with_latency(400), &UnitConfig::default())?;
    let mr = rig.register(tree(0x10_0000, 8, PA))?;
    let before = rig.bench.axi.counters;
    for n in 0..12u8 {
        let request = mr.request(Op::LocalRead, 0x10_0000 + u64::from(n) * 8, 8);
        rig.bench.issue(
            usize::from(n & 1),
            Request {
                stream: n,
                ..request
            },
        );
    }
    rig.wait_idle()?;
    let after = rig.bench.axi.counters;
    assert_eq!(after.mpt_reads - before.mpt_reads, 1);
    assert_eq!(after.reads - before.reads, 2);
    Ok(())
}

/// A second access of the same page reads nothing.
#[test]
fn hits_read_nothing() -> Result {
    let mut rig = Rig::small()?;
    let mr = rig.register(tree(0x10_0000, 600, PA))?;
    let request = mr.request(Op::LocalRead, 0x10_0000 + (555 << 12), 4096);
    rig.expect(0, request, Syndrome::Ok)?;
    let before = rig.bench.axi.counters.reads;
    let hits = rig.counter(counter::MTT_HIT)?;
    for client in [0, 1, 0, 1] {
        rig.expect(client, request, Syndrome::Ok)?;
    }
    assert_eq!(rig.bench.axi.counters.reads, before);
    assert!(rig.counter(counter::MTT_HIT)? >= hits + 4);
    Ok(())
}

/// An answer that goes past the sequencer does not overtake the request in front of it in its
/// stream, whatever the distance between them.
#[test]
fn straight_answers_keep_order() -> Result {
    let mut rig = Rig::small()?;
    let mr = rig.register(tree(0x10_0000, 16, PA))?;
    let whole = mr.request(Op::LocalRead, 0x10_0000, 16 << 12);
    rig.expect(0, whole, Syndrome::Ok)?;
    for gap in 0..16 {
        for pages in 1..5u32 {
            let front = mr.request(Op::LocalRead, 0x10_0000, pages << 12);
            rig.bench.issue(0, front);
            rig.run(gap)?;
            let behind = mr.request(Op::LocalRead, 0x10_9000, 8);
            rig.bench.issue(0, behind);
            rig.wait_idle()?;
            while rig.bench.poll().is_some() {}
        }
    }
    Ok(())
}

/// Requests of one stream back to back, each of several beats: the next one comes while the one
/// before it moves up, at every distance.
#[test]
fn one_stream_back_to_back() -> Result {
    let mut rig = Rig::small()?;
    let mr = rig.register(tree(0x10_0000, 16, PA))?;
    let whole = mr.request(Op::LocalRead, 0x10_0000, 16 << 12);
    rig.expect(0, whole, Syndrome::Ok)?;
    for gap in 0..12 {
        for n in 0..60u64 {
            let pages = 1 + n % 3;
            let request = mr.request(Op::LocalRead, 0x10_0000, (pages << 12) as u32);
            rig.bench.issue(0, request);
            rig.run(gap)?;
        }
        rig.wait_idle()?;
        while rig.bench.poll().is_some() {}
    }
    Ok(())
}

/// Long requests of many streams of both clients, the first chunk of each one page long: its
/// context is kept until the walk of the chunk behind it has begun, however long that takes.
#[test]
fn short_first_chunks_of_many_streams() -> Result {
    let mut rig = Rig::small()?;
    let mr = rig.register(tree(0x10_0000, 64, PA))?;
    let whole = mr.request(Op::LocalRead, 0x10_0000, 64 << 12);
    rig.expect(0, whole, Syndrome::Ok)?;
    for round in 0..40u64 {
        for stream in 0..6u8 {
            for client in 0..2 {
                let page = 1 + 2 * ((u64::from(stream) + round) % 16);
                let pages = 2 + (round + u64::from(stream)) % 5;
                rig.bench.issue(
                    client,
                    Request {
                        stream,
                        ..mr.request(
                            Op::LocalRead,
                            0x10_0000 + (page << 12),
                            (pages << 12) as u32,
                        )
                    },
                );
            }
        }
        rig.run(round % 7)?;
    }
    rig.wait_idle()?;
    while rig.bench.poll().is_some() {}
    Ok(())
}

/// A line that was removed leaves its key behind in the tags of its way. When it comes back in
/// another way, that one is read.
#[test]
fn a_line_comes_back_in_another_way() -> Result {
    let mut rig = Rig::small()?;
    let mr = rig.register(tree(0x10_0000, 256, PA))?;
    let at = |page: u64| mr.request(Op::LocalRead, 0x10_0000 + (page << 12), 8);
    let table = mr.table.frame()[0];
    // lines of one set: their numbers are 33 apart
    let (first, second, third) = (0u64, 66u64, 132u64);
    let mut list = mr.spec.list.clone();
    let mut absent = |rig: &mut Rig, page: u64| {
        rig.host.mem.write_u64(table + 8 * page, 0);
        list.set(page..page + 1, Page::Absent);
        rig.bench.golden.set_pages(mr.index, Arc::new(list.clone()));
    };
    absent(&mut rig, second + 1);
    absent(&mut rig, third);
    rig.expect(0, at(first), Syndrome::Ok)?;
    rig.expect(0, at(second), Syndrome::Ok)?;
    // read, then removed
    rig.expect(0, at(third), Syndrome::MttAbsent)?;
    rig.expect(0, at(second + 1), Syndrome::MttAbsent)?;
    // the third line again: its other page is there
    for _ in 0..3 {
        rig.expect(0, at(third + 1), Syndrome::Ok)?;
    }
    Ok(())
}

/// The first request of a stream, whatever the distance to the beginning of a long one of another
/// stream: what the empty stream was left with is not taken for a chunk of its own.
#[test]
fn first_request_beside_a_long_one() -> Result {
    for gap in 0..80 {
        let mut rig = Rig::new(with_latency(4), &UnitConfig::default())?;
        let long = rig.register(tree(0x10_0000, 16, PA))?;
        let other = rig.register(tree(0x80_0000, 16, PA + 0x100_0000))?;
        // until the clients have cleared their tags, so that the distance is what it says
        rig.run(1100)?;
        for stream in [1, 0] {
            let mr = if stream == 1 { &long } else { &other };
            let start = if stream == 1 { 0x10_0000 } else { 0x80_0000 };
            rig.bench.issue(
                0,
                Request {
                    stream,
                    ..mr.request(Op::LocalRead, start, 16 << 12)
                },
            );
            rig.run(gap)?;
        }
        rig.wait_idle()?;
        while rig.bench.poll().is_some() {}
    }
    Ok(())
}

/// The clocks that docs/theory-of-operation.md names, in the idle unit: from the acceptance of a
/// request to its first beat.
#[test]
fn clocks_of_a_request() -> Result {
    let mut figures = Vec::new();
    for merge in [false, true] {
        let unit = UnitConfig {
            merge,
            ..UnitConfig::default()
        };
        let mut rig = Rig::new(with_latency(4), &unit)?;
        let mr = rig.register(tree(0x10_0000, 16, PA))?;
        let read = |len| mr.request(Op::LocalRead, 0x10_0000, len);
        let refused = Request {
            pd: mr.spec.pd ^ 1,
            ..read(8)
        };
        rig.expect(0, read(16 << 12), Syndrome::Ok)?;
        for request in [read(8), refused, read(2 << 12)] {
            while rig.bench.poll().is_some() {}
            rig.bench.issue(0, request);
            rig.wait_idle()?;
            let outcome = rig.bench.poll().expect("answered");
            figures.push(outcome.first_beat - outcome.accepted);
        }
    }
    // one page, refused, two pages; then the same with merging
    assert_eq!(figures, [17, 21, 27, 19, 23, 29]);
    Ok(())
}

/// The entries beside the one that a walk used are in the directory, too. An absent one is not
/// used: where its address 0 would lead, good table entries lie.
#[test]
fn absent_neighbour_in_the_directory() -> Result {
    let mut rig = Rig::small()?;
    let mr = rig.register(tree(0x10_0000, 1024, PA))?;
    let root = mr.table.frame()[0];
    rig.host.mem.write_u64(root + 8, 0);
    for entry in 0..512u64 {
        rig.host.mem.write_u64(entry * 8, PA + (entry << 12));
    }
    let mut list = mr.spec.list.clone();
    list.set(512..1024, Page::Absent);
    rig.bench.golden.set_pages(mr.index, Arc::new(list));
    for (page, syndrome) in [
        (5u64, Syndrome::Ok),
        (700, Syndrome::MttAbsent),
        (9, Syndrome::Ok),
        (701, Syndrome::MttAbsent),
    ] {
        let request = mr.request(Op::LocalRead, 0x10_0000 + (page << 12), 8);
        rig.expect(0, request, syndrome)?;
    }
    Ok(())
}

// -------------------------------------------------------------------------------------------------
// Regions that have something in common
// -------------------------------------------------------------------------------------------------

/// The same pages seen with different page sizes: no line of one serves the other.
#[test]
fn no_false_hits_between_page_sizes() -> Result {
    let mut rig = Rig::small()?;
    let start = 1 << 32;
    let mut regions = Vec::new();
    for (round, log_page) in [12u8, 21, 16, 30, 13, 25].into_iter().enumerate() {
        let pa = (round as u64 + 1) << 45;
        regions.push(rig.register(Spec::new(start, 16 << log_page, log_page, pa).level(1))?);
    }
    for _ in 0..2 {
        for page in 0..16u64 {
            for mr in &regions {
                let log_page = mr.spec.list.log_page();
                let va = start + (page << log_page);
                rig.bench.issue(0, mr.request(Op::RemoteRead, va, 8));
                rig.bench
                    .issue(1, mr.request(Op::LocalWrite, start + (page << 12), 8));
            }
        }
        rig.wait_idle()?;
    }
    Ok(())
}

/// A region that ends off the boundary of its last huge page: the rest of the page is not its own.
#[test]
fn ends_inside_a_huge_page() -> Result {
    let mut rig = Rig::small()?;
    for log_page in [16u8, 21, 30] {
        let size = 1u64 << log_page;
        let start = 5 * size + size / 2;
        let length = size + size / 4 + 3;
        let mr = rig.register(Spec::new(start, length, log_page, 1 << 45))?;
        let end = start + length;
        rig.expect(0, mr.request(Op::RemoteRead, end - 1, 1), Syndrome::Ok)?;
        rig.expect(0, mr.request(Op::RemoteRead, end - 8, 8), Syndrome::Ok)?;
        rig.expect(0, mr.request(Op::RemoteRead, end, 1), Syndrome::Bounds)?;
        rig.expect(0, mr.request(Op::RemoteRead, end - 8, 9), Syndrome::Bounds)?;
        rig.expect(
            0,
            mr.request(Op::RemoteRead, start - 1, 1),
            Syndrome::Bounds,
        )?;
        rig.expect(0, mr.request(Op::RemoteRead, 5 * size, 1), Syndrome::Bounds)?;
    }
    Ok(())
}

/// Two regions of two owners in one frame: each reaches its own bytes only.
#[test]
fn two_regions_in_one_frame() -> Result {
    let mut rig = Rig::small()?;
    let frame = FrameList::contiguous(12, 0x55_5000, 1);
    let mut first = Spec {
        list: frame.clone(),
        ..Spec::new(0x1000, 0x800, 12, 0)
    };
    let mut second = Spec {
        list: frame,
        ..Spec::new(0x9800, 0x800, 12, 0)
    };
    (first.pd, second.pd) = (1, 2);
    let (first, second) = (rig.register(first)?, rig.register(second)?);
    for _ in 0..2 {
        let outcome = rig.expect(0, first.request(Op::RemoteWrite, 0x17ff, 1), Syndrome::Ok)?;
        assert_eq!(outcome.beats[0].pa, 0x55_57ff);
        let outcome = rig.expect(0, second.request(Op::RemoteWrite, 0x9800, 1), Syndrome::Ok)?;
        assert_eq!(outcome.beats[0].pa, 0x55_5800);
        rig.expect(
            0,
            first.request(Op::RemoteWrite, 0x17ff, 2),
            Syndrome::Bounds,
        )?;
        rig.expect(
            0,
            second.request(Op::RemoteWrite, 0x97ff, 1),
            Syndrome::Bounds,
        )?;
        let thief = Request {
            pd: 2,
            ..first.request(Op::RemoteWrite, 0x1000, 1)
        };
        rig.expect(0, thief, Syndrome::Pd)?;
    }
    Ok(())
}

/// Two regions that follow each other in address and in memory: the key of one does not reach into
/// the other.
#[test]
fn neighbours_are_not_joined() -> Result {
    let mut rig = Rig::small()?;
    let list = |page: u64| FrameList::contiguous(21, (9 + page) << 21, 1);
    let first = rig.register(Spec {
        list: list(0),
        ..Spec::new(0, 1 << 21, 21, 0)
    })?;
    let second = rig.register(Spec {
        list: list(1),
        ..Spec::new(1 << 21, 1 << 21, 21, 0)
    })?;
    let across = |mr: &Mr| mr.request(Op::RemoteRead, (1 << 21) - 4, 8);
    rig.expect(0, across(&first), Syndrome::Bounds)?;
    rig.expect(0, across(&second), Syndrome::Bounds)?;
    Ok(())
}

// -------------------------------------------------------------------------------------------------
// Reuse
// -------------------------------------------------------------------------------------------------

/// An index that is used again while lines of its old table are still in the cache, and the table
/// pages as well.
#[test]
fn index_reuse_with_stale_lines() -> Result {
    let unit = UnitConfig {
        mpt_size: 3,
        ..UnitConfig::default()
    };
    let mut rig = Rig::new(BenchOptions::default(), &unit)?;
    let other = rig.register(tree(0x90_0000, 4, PA >> 1))?;
    for round in 0..20u64 {
        let mr = rig.register(tree(0x10_0000, 8, PA + (round << 30)))?;
        assert_eq!(mr.index, 2);
        for page in [round % 8, 7 - round % 8] {
            let request = mr.request(Op::LocalRead, 0x10_0000 + (page << 12), 4096);
            rig.expect((round & 1) as usize, request, Syndrome::Ok)?;
        }
        rig.deregister(mr)?;
        rig.expect(
            0,
            other.request(Op::LocalRead, 0x90_0000, 0x4000),
            Syndrome::Ok,
        )?;
    }
    Ok(())
}

/// The directory of an earlier registration of an index, whose table pages belong to others now.
#[test]
fn index_reuse_with_stale_directory() -> Result {
    let unit = UnitConfig {
        mpt_size: 2,
        ..UnitConfig::default()
    };
    let mut rig = Rig::new(BenchOptions::default(), &unit)?;
    let mut others = Vec::new();
    for round in 1..9u64 {
        let mr = rig.register(tree(0x10_0000, 700, PA + (round << 30)))?;
        assert_eq!(mr.index, 1);
        for page in [3u64, 600] {
            let request = mr.request(Op::LocalRead, 0x10_0000 + (page << 12), 4096);
            rig.expect(0, request, Syndrome::Ok)?;
        }
        rig.deregister(mr)?;
        // takes the pages of that table
        others.push(rig.build_table(&tree(0x10_0000, 700, PA)));
    }
    for table in others {
        table.free(&mut rig.host);
    }
    Ok(())
}

/// The generation comes again after 256 registrations, but the directory of then is not used.
#[test]
fn generation_wrap_clears_the_directory() -> Result {
    let unit = UnitConfig {
        mpt_size: 2,
        ..UnitConfig::default()
    };
    let mut rig = Rig::new(BenchOptions::default(), &unit)?;
    let mut other = None;
    for round in 0..257u64 {
        let mr = rig.register(tree(0x10_0000, 1536, PA + ((round + 1) << 30)))?;
        // The directory line of the first pages is written in rounds 0 and 256 only.
        let page: u64 = if round % 256 == 0 { 7 } else { 1100 };
        let request = mr.request(Op::LocalRead, 0x10_0000 + (page << 12), 8);
        rig.expect(0, request, Syndrome::Ok)?;
        rig.deregister(mr)?;
        if round == 0 {
            // takes the pages of that table
            other = Some(rig.build_table(&tree(0x10_0000, 1536, PA)));
        }
    }
    if let Some(table) = other {
        table.free(&mut rig.host);
    }
    Ok(())
}

/// 256 re-registrations of one index: the generation comes again, and no line of then is taken for
/// one of now. Every key of one round differs from that of the next.
#[test]
fn generation_wrap() -> Result {
    let unit = UnitConfig {
        mpt_size: 2,
        ..UnitConfig::default()
    };
    let mut rig = Rig::new(BenchOptions::default(), &unit)?;
    let mut keys = Vec::new();
    for round in 0..258u64 {
        let mr = rig.register(tree(0x10_0000, 8, PA + (round << 30)))?;
        // Line 0 is used in rounds 0, 256 and around only: nothing else throws it out.
        let page = if round % 256 < 2 {
            0
        } else {
            2 + (round % 3) * 2
        };
        rig.expect(
            0,
            mr.request(Op::LocalRead, 0x10_0000 + (page << 12), 8),
            Syndrome::Ok,
        )?;
        keys.push(mr.lkey);
        rig.deregister(mr)?;
    }
    for distance in 1..256 {
        assert_ne!(keys[0], keys[distance], "registration {distance}");
    }
    assert_eq!(
        keys[0], keys[256],
        "a tag is used again after 256 registrations, not before"
    );
    Ok(())
}

/// The index whose field is 0, in whichever role, is left out: when its turn comes, when a write
/// behind it fails, and when the list of free indices is gone through.
#[test]
fn the_index_of_field_0_is_left_out() -> Result {
    for role in [Role::Local, Role::Remote] {
        let mut unit = UnitConfig::default();
        let entries = unit.mpt_size;
        let of_zero = |secret| KeyMaker::new(secret, unit.tag_secret, false).decode(Key::NONE);
        let secret = (1..=u32::MAX)
            .map(|seed| [seed, seed.rotate_left(16), !seed, 0x5eed])
            .find(|secret| {
                let (owner, index) = of_zero(*secret);
                owner == role && (3..entries).contains(&index)
            })
            .expect("one secret of 140,000");
        let left_out = of_zero(secret).1;
        unit.perm_secret = secret;
        let mut rig = Rig::new(BenchOptions::default(), &unit)?;
        let spec = |index: u32| tree(0x10_0000, 8, PA + (u64::from(index) << 30));
        let mut regions = Vec::new();
        for round in 0..2 {
            for index in (1..entries).filter(|index| *index != left_out) {
                if round == 0 && index + 1 == left_out {
                    // A write that fails gives its index back while the next one is left out.
                    let entry = rig.bench.entry_address(index);
                    let fault = Fault::once(entry..entry + 64, FaultOn::Write);
                    rig.bench.axi.inject(fault);
                    let mut posted = Vec::new();
                    for _ in 0..2 {
                        let spec = spec(index);
                        let table = rig.build_table(&spec);
                        let command = rig.reg_command(&spec, &table);
                        rig.bench.post(command, Rig::pages(&spec));
                        posted.push((command.id, table));
                    }
                    for (n, (id, table)) in posted.into_iter().enumerate() {
                        let done = rig.bench.wait_completion(&mut rig.host.mem, id)?;
                        let status = [Status::Bus, Status::Ok][n];
                        assert_eq!(done.status, status);
                        table.free(&mut rig.host);
                        if status == Status::Ok {
                            assert_eq!(done.index, index);
                            let gone = rig.plain(CmdOp::DeregMr, done.lkey, 1)?;
                            assert_eq!(gone.status, Status::Ok);
                        }
                    }
                    continue;
                }
                let mr = rig.register(spec(index))?;
                if round == 0 {
                    assert_eq!(mr.index, index);
                }
                assert_ne!(mr.index, left_out);
                let request = mr.request(Op::RemoteRead, 0x10_0000, 8);
                rig.expect(0, request, Syndrome::Ok)?;
                regions.push(mr);
            }
            if round == 0 {
                regions.push(rig.register(spec(left_out))?);
            }
            let full = rig.plain(CmdOp::AllocMw, Key::NONE, 1)?;
            assert_eq!(full.status, Status::NoIndex);
            for mr in regions.drain(..) {
                rig.deregister(mr)?;
            }
        }
    }
    Ok(())
}

/// The same by REREG_MR.
#[test]
fn generation_wrap_by_reregistration() -> Result {
    let mut rig = Rig::small()?;
    let mut mr = rig.register(tree(0x10_0000, 8, PA))?;
    for round in 0..258u64 {
        let page = if round % 256 < 2 {
            0
        } else {
            2 + (round % 3) * 2
        };
        rig.expect(
            1,
            mr.request(Op::LocalRead, 0x10_0000 + (page << 12), 8),
            Syndrome::Ok,
        )?;
        let spec = tree(0x10_0000, 8, PA + ((round + 1) << 30));
        let table = rig.build_table(&spec);
        let command = Command {
            op: CmdOp::ReregMr.code(),
            key: mr.lkey,
            rereg: 1,
            ..rig.reg_command(&spec, &table)
        };
        let extra = CommandExtra {
            release: mr.table_ranges(),
            ..Rig::pages(&spec)
        };
        let completion = rig.command(command, extra)?;
        assert_eq!(completion.status, Status::Ok);
        let index = mr.index;
        mr.table.free(&mut rig.host);
        mr = Mr {
            lkey: completion.lkey,
            rkey: completion.rkey,
            index,
            spec,
            table,
        };
    }
    Ok(())
}

// -------------------------------------------------------------------------------------------------
// Independence
// -------------------------------------------------------------------------------------------------

/// A client that takes no response for ever blocks only itself.
#[test]
fn a_stalled_client_blocks_only_itself() -> Result {
    let mut rig = Rig::small()?;
    let mr = rig.register(tree(0x10_0000, 400, PA))?;
    let other = rig.register(tree(0x80_0000, 16, PA))?;
    rig.bench.set_response_ready(0, Pattern::Never);
    for n in 0..64u8 {
        let request = mr.request(Op::RemoteRead, 0x10_0000, 300 << 12);
        rig.bench.issue(
            0,
            Request {
                stream: n,
                ..request
            },
        );
    }
    rig.run(3000)?;
    for n in 0..200u64 {
        let request = other.request(Op::RemoteRead, 0x80_0000 + (n % 15) * 0x1000, 0x1800);
        rig.bench.issue(
            1,
            Request {
                stream: n as u8 & 63,
                ..request
            },
        );
    }
    rig.bench.wait_client(&mut rig.host.mem, 1)?;
    // Regions that it does not use come and go... as long as it holds nothing that was accepted
    // earlier. Its fence is a grace period, so it waits for what is inside.
    let fresh = rig.register(tree(0xa0_0000, 8, PA))?;
    rig.expect(1, fresh.request(Op::LocalRead, 0xa0_0000, 8), Syndrome::Ok)?;
    let (command, extra) = rig.dereg_command(&mr);
    rig.bench.post(command, extra);
    rig.run(5000)?;
    assert!(
        rig.bench.poll_completion().is_none(),
        "the stalled client uses the region"
    );
    rig.bench.set_response_ready(0, Pattern::Always);
    let completion = rig.bench.wait_completion(&mut rig.host.mem, command.id)?;
    assert_eq!(completion.status, Status::Ok);
    rig.wait_idle()
}

/// While one stream waits for memory, hits of other streams of the same client pass, many of them.
#[test]
fn a_miss_does_not_stop_hits_of_other_streams() -> Result {
    let mut rig = Rig::small()?;
    let hot = rig.register(Spec::new(0x1000, 0x1000, 12, PA))?;
    let cold = rig.register(tree(0x10_0000, 64, PA))?;
    rig.expect(0, hot.request(Op::LocalRead, 0x1000, 8), Syndrome::Ok)?;
    let slow = AxiConfig {
        read_latency: Clocks::fixed(3000),
        ..AxiConfig::default()
    };
    rig.bench.axi.configure(slow);
    let miss = rig.bench.issue(
        0,
        Request {
            stream: 1,
            ..cold.request(Op::LocalRead, 0x10_0000, 8)
        },
    );
    for n in 0..500u32 {
        let stream = 2 + (n % 14) as u8;
        rig.bench.issue(
            0,
            Request {
                stream,
                ..hot.request(Op::LocalRead, 0x1000, 8)
            },
        );
    }
    let start = rig.bench.clock();
    rig.wait_idle()?;
    let outcomes: Vec<Outcome> = std::iter::from_fn(|| rig.bench.poll_client(0)).collect();
    let last_hit = outcomes
        .iter()
        .filter(|outcome| outcome.ticket != miss)
        .map(|outcome| outcome.finished)
        .max()
        .unwrap_or(0);
    assert!(
        last_hit - start < 2500,
        "500 hits took {} clocks",
        last_hit - start
    );
    assert_eq!(outcomes.last().map(|outcome| outcome.ticket), Some(miss));
    Ok(())
}

/// A flood of requests with a dead key, whose entry is not kept in the cache and is read again and
/// again: an earlier request for the same entry, and the fence behind it, still come to an end.
#[test]
fn dead_keys_starve_nobody() -> Result {
    let mut rig = Rig::new(with_latency(300), &UnitConfig::default())?;
    let dead = rig.register(Spec::new(0x1000, 0x1000, 12, PA))?;
    let other = rig.register(Spec::new(0x8000, 0x1000, 12, PA))?;
    let request = dead.request(Op::RemoteRead, 0x1000, 8);
    rig.deregister(dead)?;
    for n in 0..400u32 {
        let stream = (n % 64) as u8;
        rig.bench.issue(1, Request { stream, ..request });
    }
    rig.run(2000)?;
    let outcome = rig.expect(0, request, Syndrome::KeyState)?;
    let clocks = outcome.finished - outcome.accepted;
    // At most one read for each context before it.
    assert!(clocks < 17 * 350, "{clocks} clocks");
    let start = rig.bench.clock();
    rig.deregister(other)?;
    let clocks = rig.bench.clock() - start;
    assert!(clocks < 40 * 350, "the fence took {clocks} clocks");
    rig.wait_idle()
}

/// Deregistration under load of both clients: the load of other regions goes on.
#[test]
fn deregistration_under_load() -> Result {
    let mut options = BenchOptions {
        seed: 5,
        ..BenchOptions::default()
    };
    options.axi = AxiConfig::hostile(60);
    let mut rig = Rig::new(options, &UnitConfig::default())?;
    let stays = rig.register(tree(0x80_0000, 300, PA))?;
    for client in [0, 1] {
        rig.bench
            .set_done_policy(client, DonePolicy::After(Clocks::range(0, 60)));
    }
    let mut alive = 0;
    for round in 0..30u64 {
        let victim = rig.register(tree(0x10_0000, 100, PA + (round << 30)))?;
        for n in 0..120u64 {
            let random = rig.bench.rng().next_u64();
            let mr = if n % 3 == 0 { &stays } else { &victim };
            let va = mr.spec.start + (random % 90) * 0x1000 + random % 5000;
            let request = mr.request(Op::RemoteWrite, va, 1 + (random >> 20) as u32 % 20_000);
            let stream = (random >> 50) as u8 & 63;
            rig.bench
                .issue((n & 1) as usize, Request { stream, ..request });
        }
        let wait = rig.bench.rng().below(300);
        rig.run(wait)?;
        let (command, extra) = rig.dereg_command(&victim);
        let completion = rig.command(command, extra)?;
        assert_eq!(completion.status, Status::Ok);
        victim.table.free(&mut rig.host);
        while let Some(outcome) = rig.bench.poll() {
            alive += u32::from(outcome.syndrome == Syndrome::Ok);
        }
    }
    rig.wait_idle()?;
    assert!(alive > 500 && rig.bench.stats.by_syndrome[Syndrome::KeyState as usize] > 100);
    Ok(())
}

/// Many deregistrations wait for one client at once, more than the fence queue holds.
#[test]
fn more_deregistrations_than_the_fence_queue_holds() -> Result {
    let mut rig = Rig::small()?;
    let mut regions = Vec::new();
    for n in 0..40u64 {
        regions.push(rig.register(Spec::new(n << 20, 0x1000, 12, PA))?);
    }
    rig.bench.set_done_policy(0, DonePolicy::Withheld);
    rig.expect(0, regions[0].request(Op::LocalRead, 0, 8), Syndrome::Ok)?;
    for mr in &regions {
        let (command, extra) = rig.dereg_command(mr);
        rig.bench.post(command, extra);
    }
    rig.run(20_000)?;
    assert!(rig.bench.poll_completion().is_none());
    rig.bench.release_dones(0);
    rig.wait_idle()?;
    let done = std::iter::from_fn(|| rig.bench.poll_completion())
        .filter(|finished| finished.completion.status == Status::Ok)
        .count();
    assert_eq!(done, 40);
    // With a time limit: PENDING for what waits, BUSY when no more can wait, nothing lost.
    let mut regions = Vec::new();
    for n in 0..40u64 {
        regions.push(rig.register(Spec::new(n << 20, 0x1000, 12, PA))?);
    }
    rig.bench.set_fence_time(&mut rig.host.mem, 200)?;
    rig.expect(0, regions[0].request(Op::LocalRead, 0, 8), Syndrome::Ok)?;
    let (mut pending, mut busy) = (0, Vec::new());
    for mr in regions {
        let (command, extra) = rig.dereg_command(&mr);
        match rig.command(command, extra)?.status {
            Status::Pending => pending += 1,
            Status::Busy => busy.push(mr),
            status => panic!("{status}"),
        }
    }
    assert!(
        pending >= 8 && !busy.is_empty(),
        "{pending} pending, {} busy",
        busy.len()
    );
    for mr in &busy {
        rig.expect(1, mr.request(Op::LocalRead, mr.spec.start, 8), Syndrome::Ok)?;
    }
    rig.bench.release_dones(0);
    rig.wait_idle()?;
    while rig.bench.poll_completion().is_some() {}
    rig.bench.set_done_policy(0, DonePolicy::IMMEDIATE);
    for mr in busy {
        rig.deregister(mr)?;
    }
    Ok(())
}

// -------------------------------------------------------------------------------------------------
// Memory errors, resets
// -------------------------------------------------------------------------------------------------

/// An error at each level of a walk, and after it a good walk.
#[test]
fn bus_errors_at_each_level() -> Result {
    let mut rig = Rig::small()?;
    let half = 512 * 512u64;
    for level in 0..3 {
        let mut spec = Spec::new(0, (half + 9) << 12, 12, PA);
        spec.shape.encoding = Encoding::Flagged;
        let mr = rig.register(spec)?;
        let root = mr.table.frame()[0];
        // The line of the root has the entries of both halves of the region.
        let (address, pages) = match level {
            0 => (root, 0..half + 9),
            1 => (rig.host.mem.read_u64(root + 8) & !0xfff, half..half + 9),
            _ => (
                mr.table.entry_pa(half + 4).expect("a table"),
                half + 4..half + 6,
            ),
        };
        let fault = Fault::always(address..address + 16, FaultOn::Read);
        rig.bench.axi.inject(fault);
        let mut list = mr.spec.list.clone();
        list.set(pages, Page::Bus);
        rig.bench.golden.set_pages(mr.index, Arc::new(list));
        let request = mr.request(Op::RemoteWrite, ((half + 4) << 12) + 7, 8);
        for client in [0, 1] {
            rig.expect(client, request, Syndrome::Bus)?;
        }
        rig.bench.axi.clear_faults();
        let good = Arc::new(mr.spec.list.clone());
        rig.bench.golden.set_pages(mr.index, good);
        rig.expect(0, request, Syndrome::Ok)?;
        rig.deregister(mr)?;
    }
    Ok(())
}

/// Commands whose reads or writes fail: status BUS, and everything as before.
#[test]
fn bus_errors_of_commands() -> Result {
    let unit = UnitConfig {
        mpt_size: 8,
        ..UnitConfig::default()
    };
    let mut rig = Rig::new(BenchOptions::default(), &unit)?;
    let spec = Spec::new(0x1000, 0x1000, 12, PA);
    let all = unit.mpt_range();
    // REG: the write fails, is undone; the index is not lost.
    rig.bench
        .axi
        .inject(Fault::once(all.clone(), FaultOn::Write));
    let table = rig.build_table(&spec);
    let command = rig.reg_command(&spec, &table);
    assert_eq!(rig.command(command, Rig::pages(&spec))?.status, Status::Bus);
    let mr = rig.register(spec.clone())?;
    assert_eq!(mr.index, 1);
    // DEREG, REREG, QUERY: the read or the first write fails; the region lives on.
    for op in [CmdOp::DeregMr, CmdOp::ReregMr, CmdOp::Query] {
        for on in [FaultOn::Read, FaultOn::Write] {
            if (op, on) == (CmdOp::Query, FaultOn::Write) {
                continue;
            }
            rig.bench.axi.inject(Fault::once(all.clone(), on));
            let command = Command {
                id: rig.id(),
                op: op.code(),
                key: mr.lkey,
                pd: 1,
                rereg: 2,
                new_pd: 1,
                ..Command::default()
            };
            let completion = rig.command(command, CommandExtra::default())?;
            assert_eq!(completion.status, Status::Bus, "{op:?} {on:?}");
            rig.expect(0, mr.request(Op::LocalRead, 0x1000, 8), Syndrome::Ok)?;
        }
    }
    // DEREG whose second write fails: the keys are dead, the index is retired.
    rig.bench.set_done_policy(0, DonePolicy::Withheld);
    rig.expect(0, mr.request(Op::LocalRead, 0x1000, 8), Syndrome::Ok)?;
    let (command, extra) = rig.dereg_command(&mr);
    rig.bench.post(command, extra);
    rig.run(500)?;
    rig.bench
        .axi
        .inject(Fault::once(all.clone(), FaultOn::Write));
    rig.bench.release_dones(0);
    let completion = rig.bench.wait_completion(&mut rig.host.mem, command.id)?;
    assert_eq!(completion.status, Status::Bus);
    rig.bench.set_done_policy(0, DonePolicy::IMMEDIATE);
    rig.expect(0, mr.request(Op::LocalRead, 0x1000, 8), Syndrome::KeyState)?;
    let mut regions = Vec::new();
    for index in 2..8 {
        regions.push(rig.register(spec.clone())?);
        assert_eq!(regions.last().map(|mr| mr.index), Some(index));
    }
    let table = rig.build_table(&spec);
    let command = rig.reg_command(&spec, &table);
    assert_eq!(
        rig.command(command, Rig::pages(&spec))?.status,
        Status::NoIndex
    );
    // A REG that takes an index from the free list has to read it.
    let freed = regions.remove(3);
    rig.deregister(freed)?;
    rig.bench.axi.inject(Fault::once(all, FaultOn::Read));
    let command = rig.reg_command(&spec, &table);
    assert_eq!(rig.command(command, Rig::pages(&spec))?.status, Status::Bus);
    let again = rig.register(spec)?;
    assert_eq!(again.index, 5);
    Ok(())
}

/// Writes of several commands wait for their answers at once, and one of them fails: what follows
/// is done as if the failed one had never been, and completions keep the order of their commands.
/// Tables, MPT, queues and pages at addresses in which every bit is 0 once and 1 once.
#[test]
fn every_bit_of_an_address_counts() -> Result {
    const ALL: u64 = 0x000f_ffff_ffff_f000;
    for pattern in [ALL / 3, ALL / 3 * 2].map(|bits| bits & ALL) {
        let unit = UnitConfig {
            mpt_base: pattern ^ ALL,
            ..UnitConfig::default()
        };
        let ram = vec![PhysRange {
            pa: pattern,
            len: 1 << 30,
        }];
        let mut rig = Rig::with_ram(with_latency(5), &unit, ram)?;
        let queue = QueueConfig {
            cmdq_base: pattern ^ 1 << 49,
            cplq_base: pattern ^ ALL ^ 1 << 49,
            ..QueueConfig::default()
        };
        rig.bench.queue_enable(&mut rig.host.mem, queue)?;
        let command = Command {
            id: rig.id(),
            op: CmdOp::Query.code(),
            key: Key(1),
            ..Command::default()
        };
        let extra = CommandExtra::default();
        let completion = rig.bench.queue_command(&mut rig.host.mem, command, extra)?;
        assert_ne!(completion.status, Status::Ok);
        for (level, pages) in [(LEVEL_INLINE, 2), (1, 40), (3, 40), (LEVEL_FLAT, 700)] {
            for pa in [pattern ^ 1 << 48, pattern ^ ALL ^ 1 << 48] {
                let spec = Spec::new(0x1000_0000, pages << 12, 12, pa).level(level);
                let mr = rig.register(spec)?;
                for page in [0, pages - 1] {
                    let va = 0x1000_0008 + (page << 12);
                    let request = mr.request(Op::RemoteRead, va, 64);
                    rig.expect(0, request, Syndrome::Ok)?;
                }
                rig.deregister(mr)?;
            }
        }
    }
    Ok(())
}

#[test]
fn bus_errors_of_posted_writes() -> Result {
    for latency in [5, 60, 250] {
        for fresh in [true, false] {
            let unit = UnitConfig {
                mpt_size: if fresh { 64 } else { 16 },
                ..UnitConfig::default()
            };
            let mut rig = Rig::new(with_latency(latency), &unit)?;
            let spec = Spec::new(0x1000, 0x1000, 12, PA);
            let mut regions = Vec::new();
            for _ in 1..16 {
                regions.push(rig.register(spec.clone())?);
            }
            let kept = regions.split_off(11);
            for mr in regions {
                rig.deregister(mr)?;
            }
            let next = rig.bench.golden.next_index().expect("a free index");
            let entry = |index: u32| {
                let first = unit.mpt_base + 64 * u64::from(index);
                first..first + 64
            };
            // The write of the first REG; of the first DEREG; of all that this index sees.
            for (victim, times) in [(next, 1), (kept[0].index, 1), (kept[1].index, 3)] {
                rig.bench.axi.inject(Fault {
                    times: Some(times),
                    ..Fault::always(entry(victim), FaultOn::Write)
                });
                let table = rig.build_table(&spec);
                let first = rig.reg_command(&spec, &table);
                rig.bench.post(first, Rig::pages(&spec));
                let mr = kept.iter().find(|mr| mr.index == victim);
                let (ended, extra) = rig.dereg_command(mr.unwrap_or(&kept[3]));
                if mr.is_some() {
                    rig.bench.post(ended, extra);
                }
                let query = Command {
                    id: rig.id(),
                    op: CmdOp::Query.code(),
                    key: kept[2].lkey,
                    pd: spec.pd,
                    ..Command::default()
                };
                let second = rig.reg_command(&spec, &table);
                rig.bench.post(second, Rig::pages(&spec));
                rig.bench.post(query, CommandExtra::default());
                rig.wait_idle()?;
                let done: Vec<_> = std::iter::from_fn(|| rig.bench.poll_completion())
                    .map(|finished| (finished.completion.id, finished.completion.status))
                    .collect();
                let mut expected = vec![(first.id, Status::Ok)];
                if mr.is_some() {
                    expected.push((ended.id, Status::Bus));
                } else {
                    expected[0].1 = Status::Bus;
                }
                expected.push((second.id, Status::Ok));
                expected.push((query.id, Status::Ok));
                assert_eq!(done, expected, "latency {latency}, index {victim}");
                for mr in &kept[..2] {
                    let alive = rig.bench.golden.current(mr.index).is_some();
                    let syndrome = if alive {
                        Syndrome::Ok
                    } else {
                        Syndrome::KeyState
                    };
                    rig.expect(0, mr.request(Op::LocalRead, 0x1000, 8), syndrome)?;
                }
                rig.bench.axi.clear_faults();
            }
        }
    }
    Ok(())
}

/// A memory that refuses while the table is cleared.
#[test]
fn bus_error_while_clearing() -> Result {
    let mut rig = Rig::disabled(BenchOptions::default())?;
    let unit = UnitConfig::default();
    let entry = unit.mpt_base + 64 * 33;
    rig.bench
        .axi
        .inject(Fault::once(entry..entry + 64, FaultOn::Write));
    rig.bench.configure(&mut rig.host.mem, &unit)?;
    rig.bench.start_enable(&mut rig.host.mem)?;
    rig.run(5000)?;
    let status = rig.bench.read_register(&mut rig.host.mem, regs::STATUS)?;
    assert_eq!(status & regs::status::READY, 0);
    assert_ne!(status & regs::status::CLEAR_ERROR, 0);
    let key = Key::new(rig.bench.golden.keys().field(Role::Local, 33), 0);
    let request = Request {
        key,
        len: 8,
        ..Request::default()
    };
    rig.expect(0, request, Syndrome::Disabled)?;
    // Disabled and enabled again it works.
    rig.bench.disable(&mut rig.host.mem)?;
    rig.bench.enable(&mut rig.host.mem, &unit)?;
    rig.expect(0, request, Syndrome::KeyState).map(drop)
}

/// Resets at many moments under load; answers to reads from before are still to come.
#[test]
fn reset_in_mid_flight() -> Result {
    let mut options = BenchOptions {
        seed: 3,
        ..BenchOptions::default()
    };
    options.axi = AxiConfig {
        read_latency: Clocks::range(50, 900),
        ..AxiConfig::hostile(1)
    };
    let unit = UnitConfig {
        mpt_size: 16,
        ..UnitConfig::default()
    };
    let mut rig = Rig::new(options, &unit)?;
    for round in 0..25u64 {
        // The same keys and indices each time, but other pages: an old answer would be noticed.
        let mr = rig.register(tree(0x10_0000, 64, PA + (round << 30)))?;
        let probe = mr.request(Op::LocalRead, 0x10_0000 + ((round % 60) << 12), 4096);
        rig.expect(0, probe, Syndrome::Ok)?;
        for n in 0..40u64 {
            let request = mr.request(Op::RemoteRead, 0x10_0000 + ((n * 7 % 60) << 12), 0x3000);
            rig.bench.issue(
                (n & 1) as usize,
                Request {
                    stream: n as u8,
                    ..request
                },
            );
        }
        let (command, extra) = rig.dereg_command(&mr);
        rig.bench.post(command, extra);
        let wait = rig.bench.rng().below(700);
        rig.run(wait)?;
        rig.bench.drop_queued();
        rig.bench.reset(&mut rig.host.mem)?;
        rig.bench.drop_queued();
        // Everything is refused until it is enabled.
        let refused = Request { stream: 1, ..probe };
        rig.expect(0, refused, Syndrome::Disabled)?;
        rig.bench.enable(&mut rig.host.mem, &unit)?;
        while rig.bench.poll_completion().is_some() {}
        while rig.bench.poll().is_some() {}
    }
    Ok(())
}

/// Every response pattern of the memory, with every ready pattern of the clients, one long and many
/// short requests.
#[test]
fn back_pressure_everywhere() -> Result {
    let mut rig = Rig::small()?;
    let mr = rig.register(tree(0x10_0000, 400, PA))?;
    let patterns = [
        Pattern::Always,
        Pattern::Random { percent: 20 },
        Pattern::Cyclic { on: 1, off: 7 },
    ];
    for memory in patterns {
        for client in patterns {
            for interleave in [false, true] {
                rig.bench.axi.configure(AxiConfig {
                    read_latency: Clocks::range(1, 30),
                    write_latency: Clocks::range(1, 30),
                    reorder: interleave,
                    interleave,
                    ar_ready: memory,
                    aw_ready: memory,
                    w_ready: memory,
                    r_valid: memory,
                    b_valid: memory,
                    ..AxiConfig::default()
                });
                for c in [0, 1] {
                    rig.bench.set_response_ready(c, client);
                    rig.bench.set_request_valid(c, client);
                    let long = mr.request(Op::LocalRead, 0x10_0123, 60 << 12);
                    rig.bench.issue(c, Request { stream: 9, ..long });
                    for n in 0..40u64 {
                        let va = 0x10_0000 + (n * 37 % 399) * 0x1000;
                        let request = mr.request(Op::RemoteWrite, va, 0x1001);
                        rig.bench.issue(
                            c,
                            Request {
                                stream: n as u8 % 16,
                                ..request
                            },
                        );
                    }
                }
                rig.bench.set_completion_ready(client);
                let other = rig.register(Spec::new(0x7000, 0x2000, 12, PA))?;
                rig.expect(
                    0,
                    other.request(Op::LocalRead, 0x7000, 0x2000),
                    Syndrome::Ok,
                )?;
                rig.deregister(other)?;
                rig.wait_idle()?;
                while rig.bench.poll().is_some() {}
            }
        }
    }
    Ok(())
}

/// More outstanding requests than tags, contexts and streams: nothing is lost.
#[test]
fn all_tags_in_use() -> Result {
    let mut rig = Rig::small()?;
    let mr = rig.register(tree(0x10_0000, 16, PA))?;
    rig.bench.set_done_policy(0, DonePolicy::Withheld);
    for n in 0..1500u32 {
        let request = mr.request(Op::LocalRead, 0x10_0000 + u64::from(n), 8);
        rig.bench.issue(
            0,
            Request {
                stream: (n % 64) as u8,
                ..request
            },
        );
    }
    rig.run(30_000)?;
    assert_eq!(rig.bench.dones_withheld(0), 1024);
    rig.bench.set_done_policy(0, DonePolicy::IMMEDIATE);
    rig.bench.release_dones(0);
    rig.wait_idle()?;
    assert_eq!(rig.bench.stats.by_syndrome[0], 1500);
    Ok(())
}

// -------------------------------------------------------------------------------------------------
// Sizes
// -------------------------------------------------------------------------------------------------

/// Registers every region of the matrix and translates its first, last and table-crossing pages.
fn matrix(config: Config, log_tpage: u8, level: Option<u8>) -> Result {
    let mut options = BenchOptions {
        config,
        ..BenchOptions::default()
    };
    options.axi.read_latency = Clocks::range(1, 6);
    let mut rig = Rig::new(
        options,
        &UnitConfig {
            mpt_size: 32,
            ..UnitConfig::default()
        },
    )?;
    let mut registered = 0;
    for case in boundary_matrix() {
        if level.is_some() && case.pages > 3000 {
            continue;
        }
        let spec = Spec {
            pd: 1,
            start: case.iova,
            length: case.length,
            access: ALL_RIGHTS,
            list: case.list.clone(),
            shape: Shape {
                log_tpage: Some(log_tpage),
                level,
                ..case.shape
            },
        };
        let mr = rig.register(spec)?;
        let last = case.iova + (case.length - 1);
        for (n, probe) in case.probes(log_tpage).into_iter().enumerate() {
            let outcome =
                rig.expect(n & 1, mr.request(Op::RemoteRead, probe.va, 1), Syndrome::Ok)?;
            assert_eq!(outcome.beats[0].pa, probe.pa, "{case:?} {probe:?}");
            let len = (last - probe.va).saturating_add(1).min(9000) as u32;
            rig.expect(
                n & 1,
                mr.request(Op::LocalWrite, probe.va, len),
                Syndrome::Ok,
            )?;
        }
        rig.expect(0, mr.request(Op::RemoteRead, last + 1, 1), Syndrome::Bounds)?;
        rig.expect(
            0,
            mr.request(Op::RemoteRead, case.iova - 1, 1),
            Syndrome::Bounds,
        )?;
        rig.deregister(mr)?;
        registered += 1;
    }
    assert!(registered > 100);
    Ok(())
}

#[test]
fn boundary_matrix_small() -> Result {
    matrix(Config::Small, 12, None)
}

#[test]
fn boundary_matrix_large_table_pages() -> Result {
    matrix(Config::Small, 16, None)
}

#[test]
fn boundary_matrix_flat() -> Result {
    matrix(Config::Small, 12, Some(LEVEL_FLAT))
}

#[test]
fn boundary_matrix_default() -> Result {
    matrix(Config::Default, 12, None)
}

/// One request of the longest length over small pages: half a million segments in order.
#[test]
fn two_gigabytes_in_one_request() -> Result {
    let mut options = BenchOptions::default();
    options.axi.read_latency = Clocks::fixed(4);
    let mut rig = Rig::new(options, &UnitConfig::default())?;
    let mut spec = Spec::new(0x123, (1 << 31) + 0x1000, 12, 1 << 50);
    spec.shape.lazy = true;
    let mr = rig.register(spec)?;
    let request = mr.request(Op::LocalRead, 0x123, 1 << 31);
    let issue = Issue::default();
    let outcome = rig
        .bench
        .access_with(&mut rig.host.mem, 0, request, issue)?;
    assert_eq!((outcome.syndrome, outcome.bytes), (Syndrome::Ok, 1 << 31));
    assert_eq!(outcome.segments, (1 << 19) + 1);
    Ok(())
}

/// The table of regions at its smallest: one usable index.
#[test]
fn table_of_two_entries_and_of_one() -> Result {
    let mut rig = Rig::new(
        BenchOptions::default(),
        &UnitConfig {
            mpt_size: 2,
            ..UnitConfig::default()
        },
    )?;
    let spec = Spec::new(0x1000, 0x1000, 12, PA);
    let mr = rig.register(spec.clone())?;
    let table = rig.build_table(&spec);
    let command = rig.reg_command(&spec, &table);
    assert_eq!(
        rig.command(command, Rig::pages(&spec))?.status,
        Status::NoIndex
    );
    rig.deregister(mr)?;
    rig.register(spec.clone())?;
    let mut rig = Rig::new(
        BenchOptions::default(),
        &UnitConfig {
            mpt_size: 1,
            ..UnitConfig::default()
        },
    )?;
    let command = Command { id: 3, ..command };
    assert_eq!(
        rig.command(command, Rig::pages(&spec))?.status,
        Status::NoIndex
    );
    Ok(())
}

/// Settings that cannot work are refused at enable.
#[test]
fn bad_settings_do_not_enable() -> Result {
    let mut rig = Rig::disabled(BenchOptions::default())?;
    let good = UnitConfig::default();
    for unit in [
        UnitConfig {
            mpt_size: 0,
            ..good.clone()
        },
        UnitConfig {
            mpt_size: (1 << 23) + 1,
            ..good.clone()
        },
    ] {
        rig.bench.configure(&mut rig.host.mem, &unit)?;
        let refused = rig.bench.start_enable(&mut rig.host.mem);
        assert!(
            matches!(refused, Err(BenchError::Register { .. })),
            "{unit:?}"
        );
    }
    rig.bench.golden.reset();
    rig.bench.enable(&mut rig.host.mem, &good)?;
    let mr = rig.register(Spec::new(0x1000, 0x1000, 12, PA))?;
    rig.expect(0, mr.request(Op::LocalRead, 0x1000, 1), Syndrome::Ok)
        .map(drop)
}

/// An entry that is corrupted in memory behind a DEREG_MR: it says so and nothing is changed.
#[test]
fn corrupted_entry_at_deregistration() -> Result {
    let mut rig = Rig::small()?;
    let mr = rig.register(Spec::new(0x1000, 0x1000, 12, PA))?;
    let address = rig.bench.entry_address(mr.index);
    let good = rig.host.mem.read_u64(address + 16);
    rig.host.mem.write_u64(address + 16, good ^ 4);
    rig.bench.expect_mpt_bad = true;
    let (command, extra) = rig.dereg_command(&mr);
    // The reference would say the region is gone; it is told that it is not.
    let completion = rig.command(
        command,
        CommandExtra {
            release: Vec::new(),
            ..extra
        },
    )?;
    assert_eq!(completion.status, Status::MptBad);
    rig.bench.expect_mpt_bad = false;
    let conditions = Conditions {
        mpt_bad: true,
        ..Conditions::default()
    };
    let issue = Issue {
        conditions,
        region: None,
        ..Issue::default()
    };
    let request = mr.request(Op::LocalRead, 0x1000, 1);
    let outcome = rig
        .bench
        .access_with(&mut rig.host.mem, 0, request, issue)?;
    assert_eq!(outcome.syndrome, Syndrome::MptBad);
    let (state, _) = rig.bench.golden.slot(mr.index);
    assert_eq!(state, State::Invalid);
    Ok(())
}

/// The entry of another index, of both halves of the place: requests with its key and commands on it
/// say MPT_BAD, and nothing is changed. Indices 5 and 65,541 have the same lower 16 bits.
#[test]
fn misplaced_entries_are_found() -> Result {
    let unit = UnitConfig {
        mpt_size: 1 << 17,
        plain: true,
        ..UnitConfig::default()
    };
    let mut rig = Rig::new(with_latency(4), &unit)?;
    rig.bench.stop_at_mismatch(false);
    let spec = Spec::new(0x1000, 0x1000, 12, PA);
    let first = rig.register(spec.clone())?;
    let second = rig.register(spec)?;
    assert_eq!((first.index, second.index), (1, 2));
    let good = rig.bench.golden.current(first.index).cloned();
    let good = good
        .map(|region| region.entry(State::Valid))
        .expect("valid");
    // What lies at the second index, and of which index it is.
    for of in [1, 3, 0x1_0002, 0x7f_0002] {
        let entry = MptEntry { index: of, ..good }.encode();
        let here = MptEntry { index: 2, ..good };
        for (bytes, found) in [(entry, true), (here.encode(), false)] {
            let address = rig.bench.entry_address(second.index);
            rig.host.mem.write(address, &bytes);
            let tag = here.lkey_tag;
            let field = rig.bench.golden.keys().field(Role::Local, second.index);
            let key = Key::new(field, tag);
            let request = Request {
                key,
                ..second.request(Op::LocalRead, 0x1000, 8)
            };
            let issue = Issue {
                conditions: Conditions {
                    mpt_bad: found,
                    ..Conditions::default()
                },
                ..Issue::default()
            };
            let mem = &mut rig.host.mem;
            if found {
                let outcome = rig.bench.access_with(mem, 0, request, issue)?;
                assert_eq!(outcome.syndrome, Syndrome::MptBad, "entry of {of:#x}");
            }
            rig.bench.expect_mpt_bad = found;
            let query = Command {
                id: rig.id(),
                op: CmdOp::Query.code(),
                key,
                pd: 1,
                ..Command::default()
            };
            let completion = rig.command(query, CommandExtra::default())?;
            let status = if found { Status::MptBad } else { Status::Ok };
            assert_eq!(completion.status, status, "entry of {of:#x}");
        }
    }
    Ok(())
}

/// A list of free indices with some of its entries: those of these indices, first freed first.
fn with_free(rig: &mut Rig, count: u32) -> Result<Vec<Mr>> {
    let spec = Spec::new(0x1000, 0x1000, 12, PA);
    let mut all = Vec::new();
    while rig.bench.golden.next_index().is_some() {
        all.push(rig.register(spec.clone())?);
    }
    let kept = all.split_off(count as usize);
    for mr in all {
        rig.deregister(mr)?;
    }
    Ok(kept)
}

/// Entries of the list of free indices that are of another place, or were cleared: REG_MR says
/// MPT_BAD and takes nothing.
#[test]
fn misplaced_entries_of_the_free_list() -> Result {
    let unit = UnitConfig {
        mpt_size: 8,
        ..UnitConfig::default()
    };
    let spec = Spec::new(0x1000, 0x1000, 12, PA);
    for (free, from) in [
        (3, Some(2)),
        (3, Some(7)),
        (3, None),
        (1, None),
        (1, Some(0)),
    ] {
        let mut rig = Rig::new(BenchOptions::default(), &unit)?;
        with_free(&mut rig, free)?;
        let mut bytes = [0; 64];
        if let Some(from) = from {
            rig.host.mem.read(rig.bench.entry_address(from), &mut bytes);
        }
        let address = rig.bench.entry_address(1);
        let mut good = [0; 64];
        rig.host.mem.read(address, &mut good);
        rig.host.mem.write(address, &bytes);
        rig.bench.expect_mpt_bad = true;
        let table = rig.build_table(&spec);
        let command = rig.reg_command(&spec, &table);
        let completion = rig.command(command, Rig::pages(&spec))?;
        assert_eq!(completion.status, Status::MptBad, "{free} {from:?}");
        rig.bench.expect_mpt_bad = false;
        rig.host.mem.write(address, &good);
        for index in 1..=free {
            assert_eq!(rig.register(spec.clone())?.index, index);
        }
    }
    Ok(())
}

/// The entry that was freed last comes back as it was while VALID, and DEREG_MR with the old key ends
/// it once more: the list of free indices has it once.
#[test]
fn freed_last_and_freed_again() -> Result {
    let unit = UnitConfig {
        mpt_size: 8,
        ..UnitConfig::default()
    };
    let spec = Spec::new(0x1000, 0x1000, 12, PA);
    for free in [1, 3] {
        let mut rig = Rig::new(BenchOptions::default(), &unit)?;
        let kept = with_free(&mut rig, free - 1)?;
        let last = &kept[0];
        let address = rig.bench.entry_address(last.index);
        let mut old = [0; 64];
        rig.host.mem.read(address, &mut old);
        let (command, extra) = rig.dereg_command(last);
        assert_eq!(rig.command(command, extra)?.status, Status::Ok);
        rig.host.mem.write(address, &old);
        // The reference knows nothing of the entry that has come back.
        rig.bench.judge_answers = false;
        let again = Command {
            id: rig.id(),
            ..command
        };
        let ended = rig.command(again, CommandExtra::default())?;
        assert_eq!(ended.status, Status::Ok);
        rig.bench.take_doubts();
        rig.bench.judge_answers = true;
        for index in 1..=free {
            assert_eq!(rig.register(spec.clone())?.index, index, "of {free}");
        }
        let table = rig.build_table(&spec);
        let command = rig.reg_command(&spec, &table);
        let full = rig.command(command, Rig::pages(&spec))?;
        assert_eq!(full.status, Status::NoIndex);
    }
    Ok(())
}
