// SPDX-License-Identifier: Apache-2.0
//! Translation tables: what a plain walk over physical memory finds is what the page tables say.

mod host_common;

use host_common::{host, walk, walk_region, Script, Stop, FRAGMENTED};
use proptest::prelude::*;
use std::sync::Arc;
use std::time::Instant;
use tpt_golden::driver::{Driver, RegArgs};
use tpt_golden::frames::{FrameList, Page, PageSource};
use tpt_golden::host::{AllocMode, Host, Owner, PageSize, Prot};
use tpt_golden::mtt::{boundary_matrix, smallest_level, MttError, Shape, Table};
use tpt_golden::types::{Access, Command, Encoding};

const RW: Access = Access(Access::LOCAL_WRITE.0 | Access::REMOTE_WRITE.0 | Access::REMOTE_READ.0);
const GIB: u64 = 1 << 30;

/// A region of `len` bytes in 4 KiB pages of a contiguous mapping.
fn register(host: &mut Host, len: u64, shape: Shape) -> (tpt_golden::driver::Mr, Command) {
    let pid = host.spawn();
    let va = host
        .mmap(pid, None, len, Prot::ReadWrite, PageSize::Size4K)
        .expect("mmap");
    let mut port = Script::default();
    let args = RegArgs::process(pid, 1, va, len, RW).with_shape(shape);
    let mr = Driver::default()
        .reg(host, &mut port, &args)
        .expect("registration");
    // The software walk against the page table.
    let cmd = port.last();
    let pages = mr.table().entries();
    for i in [
        0,
        1,
        511,
        512,
        513,
        262_143,
        262_144,
        pages / 2,
        pages - 2,
        pages - 1,
    ] {
        if i < pages {
            // The mapping starts on a boundary of every page size that can be chosen.
            let want = host
                .translate(pid, va + (i << cmd.log_page))
                .expect("present");
            assert_eq!(walk(&host.mem, &cmd, i), Ok(want), "page {i}");
        }
    }
    (mr, cmd)
}

/// "A 2 GiB region of 4 KiB pages has 524,288 entries, 4 MiB of table."
#[test]
fn two_gib() {
    let mut host = Host::default();
    let (mr, cmd) = register(&mut host, 2 * GIB, Shape::pages_of(12));
    let table = mr.table();
    assert_eq!(table.entries(), 524_288);
    assert_eq!(table.entry_bytes(), 4 << 20);
    assert_eq!((cmd.level, cmd.log_page, cmd.log_tpage), (3, 12, 12));
    // 512 entries per table page.
    assert_eq!(table.table_pages(), [524_288 / 512, 2, 1]);
    assert_eq!(walk(&host.mem, &cmd, 524_288), Err(Stop::Absent));
}

/// "A 64 GiB region has 16,777,216 entries, 128 MiB of table", in three levels; and writing it takes
/// a second or two, not minutes.
#[test]
fn sixty_four_gib() {
    let mut host = Host::default();
    let started = Instant::now();
    let (mr, cmd) = register(&mut host, 64 * GIB, Shape::pages_of(12));
    let table = mr.table();
    assert_eq!(table.entries(), 16_777_216);
    assert_eq!(table.entry_bytes(), 128 << 20);
    assert_eq!(cmd.level, 3);
    assert_eq!(table.table_pages(), [32_768, 64, 1]);
    assert_eq!(table.table_bytes(), (32_768 + 64 + 1) << 12);
    assert_eq!(host.stats().table_frames, 32_768 + 64 + 1);
    assert!(
        started.elapsed().as_secs() < 30,
        "took {:?}",
        started.elapsed()
    );
}

/// The same memory with the page size left to the driver needs no table at all.
#[test]
fn sixty_four_gib_of_contiguous_memory() {
    let mut host = Host::default();
    let (mr, cmd) = register(&mut host, 64 * GIB, Shape::default());
    assert_eq!((cmd.log_page, cmd.level), (32, 1), "RAM starts at 4 GiB");
    assert_eq!(mr.table().entries(), 16);
}

/// 64 GiB of 2 MiB pages: 32,768 entries, two levels; of 1 GiB pages: 64 entries, one.
#[test]
fn sixty_four_gib_of_huge_pages() {
    for (page, level, pages) in [
        (PageSize::Size2M, 2, vec![64, 1]),
        (PageSize::Size1G, 1, vec![1]),
    ] {
        let mut host = Host::default();
        let pid = host.spawn();
        let va = host
            .mmap(pid, None, 64 * GIB, Prot::ReadWrite, page)
            .expect("mmap");
        let shape = Shape::pages_of(page.log2() as u8);
        let args = RegArgs::process(pid, 1, va, 64 * GIB, RW).with_shape(shape);
        let mut port = Script::default();
        let mr = Driver::default()
            .reg(&mut host, &mut port, &args)
            .expect("registration");
        assert_eq!(mr.table().entries(), (64 * GIB) >> page.log2());
        assert_eq!(
            (mr.table().level(), mr.table().table_pages()),
            (level, pages)
        );
        let last = mr.table().entries() - 1;
        let want = host
            .translate(pid, va + (last << page.log2()))
            .expect("present");
        assert_eq!(walk(&host.mem, &port.last(), last), Ok(want));
    }
}

/// Tables on both sides of every limit, in every page size; the largest are generated.
#[test]
fn boundary_matrix_walks_right() {
    let cases = boundary_matrix();
    assert_eq!(cases.len(), 14 * 6 * 4);
    let mut host = Host::default();
    let before = host.stats();
    let mut probes = 0;
    for case in &cases {
        let mut port = Script::default();
        let mut driver = Driver::default();
        let mr = driver
            .reg(&mut host, &mut port, &case.args(1, RW))
            .unwrap_or_else(|e| panic!("{e}: {} pages of 2^{}", case.pages, case.log_page));
        let cmd = port.last();
        let name = format!(
            "{} pages of 2^{} at {:#x}",
            case.pages, case.log_page, case.iova
        );
        // The expected level by definition, not by the function under test.
        let level = match case.pages {
            1..=4 => 0,
            5..=512 => 1,
            513..=262_144 => 2,
            _ => 3,
        };
        assert_eq!((cmd.level, case.level), (level, level), "{name}");
        assert_eq!(cmd.log_page, case.log_page, "{name}");
        assert_eq!(mr.table().entries(), case.pages, "{name}");
        assert_eq!((cmd.start, cmd.length), (case.iova, case.length), "{name}");
        let mut before_that = None;
        for probe in case.probes(12) {
            let size = 1u64 << case.log_page;
            let index = (probe.va >> case.log_page) - (case.iova >> case.log_page);
            assert_eq!(index, probe.index, "{name}");
            let page = walk(&host.mem, &cmd, index).expect("present");
            assert_eq!(page + probe.va % size, probe.pa, "{name}: page {index}");
            assert!(before_that.replace(probe.va) <= Some(probe.va));
            probes += 1;
        }
        // The first and the last byte of the region are probed.
        let probed: Vec<_> = case.probes(12).iter().map(|p| p.va).collect();
        assert_eq!(probed.first(), Some(&case.iova), "{name}");
        assert_eq!(
            probed.last(),
            Some(&(case.iova + (case.length - 1))),
            "{name}"
        );
        if level > 0 && case.pages % 512 != 0 {
            assert_eq!(
                walk(&host.mem, &cmd, case.pages),
                Err(Stop::Absent),
                "{name}"
            );
        }
        driver
            .dereg_mr(&mut host, &mut port, mr)
            .expect("deregistration");
        assert_eq!(host.stats(), before, "{name}");
    }
    assert!(probes > 3000, "{probes}");
}

/// The matrix has what its description promises.
#[test]
fn boundary_matrix_is_complete() {
    let cases = boundary_matrix();
    for log_page in [12, 13, 16, 21, 25, 30] {
        for pages in [
            1,
            2,
            3,
            4,
            5,
            511,
            512,
            513,
            262_143,
            262_144,
            262_145,
            1 << 27,
        ] {
            for offset in [0, 1, 1u64 << (log_page - 1), (1 << log_page) - 1] {
                let found = cases.iter().filter(|c| {
                    c.log_page == log_page && c.pages == pages && c.iova % (1 << log_page) == offset
                });
                assert_eq!(
                    found.count(),
                    1,
                    "{pages} pages of 2^{log_page}, offset {offset}"
                );
            }
        }
    }
    assert!(cases.iter().any(|c| c.length == 1));
    assert!(cases.iter().any(|c| c.length > 1 << 56));
}

fn any_page(log_page: u8) -> impl Strategy<Value = Page> {
    (1u64..1 << 20).prop_map(move |n| Page::at(n << log_page))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Every shape, written and generated: the walk finds every page of the list, absent and bad
    /// entries where the list has them, and nothing after the end.
    #[test]
    fn walk_equals_list(
        log_page in 12u8..44,
        runs in prop::collection::vec((1u64..700, 0u8..12), 1..8),
        pages in prop::collection::vec(any_page(43), 8),
        level in prop_oneof![1u8..=4, Just(5)],
        log_tpage in 12u8..=16,
        (flagged, checked) in any::<(bool, bool)>(),
        lazy: bool,
        flat_offset in 0u64..600,
        fragmented: bool,
    ) {
        // Entries of encoding CHECKED hold addresses below 2^52.
        let log_page = if checked { log_page.min(30) } else { log_page };
        let mut list = FrameList::new(log_page);
        for (&(n, kind), page) in runs.iter().zip(pages) {
            let page = match page {
                Page::Present { pa, .. } if checked => Page::at(pa >> 13),
                page => page,
            };
            let page = match (kind, page) {
                (0, _) => Page::Absent,
                (1, _) => Page::Bad,
                (2, Page::Present { pa, .. }) if flagged || checked => Page::Present { pa, writable: false },
                (_, page) => page,
            };
            list.push(n, page);
        }
        let n = list.pages();
        let list = Arc::new(list);
        let mode = if fragmented { FRAGMENTED } else { AllocMode::Contiguous };
        let mut host = host(mode, n);
        let before = host.stats();
        let encoding = match (flagged, checked) {
            (_, true) => Encoding::Checked,
            (true, _) => Encoding::Flagged,
            _ => Encoding::Raw,
        };
        let shape = Shape {
            log_page: Some(log_page),
            level: Some(level),
            log_tpage: Some(log_tpage),
            encoding,
            flat_offset: 8 * flat_offset,
            lazy,
        };
        let region = (n as u32 * 0x1_0071) & 0x7f_ffff;
        let fits = level == 5 || n <= 1u64 << (u32::from(level) * (u32::from(log_tpage) - 3));
        let table = match Table::build(&mut host, &list, &shape, 4) {
            Ok(mut table) => {
                table.complete(&mut host, &list, region);
                table
            }
            Err(e) => {
                prop_assert!(!fits, "{}", e);
                prop_assert_eq!(host.stats(), before);
                return Ok(());
            }
        };
        prop_assert!(fits);
        let cmd = Command {
            log_page,
            level,
            log_tpage,
            encoding: encoding as u8,
            frame: table.frame(),
            ..Command::default()
        };
        let align = if level == 5 { 8 } else { 1 << log_tpage };
        prop_assert_eq!(cmd.frame[0] % align, 0);
        for i in 0..n {
            let want = match list.page(i) {
                Page::Present { pa, .. } => Ok(pa),
                Page::Bad => Err(Stop::Bad),
                _ => Err(Stop::Absent),
            };
            prop_assert_eq!(walk_region(&host.mem, &cmd, region, i), want, "page {}", i);
            let entry = table.entry_pa(i).expect("in range");
            prop_assert_eq!(host.owner_at(entry), Some(Owner::Table));
            if let (true, Page::Present { writable, .. }) = (flagged || checked, list.page(i)) {
                prop_assert_eq!(host.mem.read_u64(entry) & 2 != 0, writable);
            }
        }
        prop_assert_eq!(table.entry_pa(n), None);
        let frames: u64 = table.ranges().map(|r| r.len >> 12).sum();
        prop_assert_eq!(host.stats().table_frames, frames);
        table.free(&mut host);
        prop_assert_eq!(host.stats(), before);
    }

    /// The driver's choices on random memory: every byte of the region goes where the page table
    /// says, whatever page size and level it took.
    #[test]
    fn best_page_size_translates_right(
        seed: u64,
        max_run in 1u64..200,
        start in 0u64..0x20_0000,
        len in 1u64..0x40_0000,
        page_2m: bool,
        shift in prop_oneof![Just(0u64), Just(0x1000), Just(0x1_0000), Just(0x20_0000), Just(0x4000_0000)],
        probes in prop::collection::vec(any::<prop::sample::Index>(), 20),
    ) {
        let mut host = host(AllocMode::Fragmented { max_run }, seed);
        let pid = host.spawn();
        let page = if page_2m { PageSize::Size2M } else { PageSize::Size4K };
        let base = host.mmap(pid, None, 8 << 20, Prot::ReadWrite, page).expect("mmap");
        let (va, iova) = (base + start, base + start + shift);
        let args = RegArgs::process(pid, 1, va, len, RW).at(iova);
        let mut port = Script::default();
        let mr = Driver::default().reg(&mut host, &mut port, &args).expect("registration");
        let cmd = port.last();
        let size = 1u64 << cmd.log_page;
        let list = mr.translation();
        prop_assert_eq!(cmd.level, smallest_level(list.pages(), 12));
        let offsets = probes.iter().map(|p| p.index(len as usize) as u64);
        for off in offsets.chain([0, len - 1]) {
            let at = iova + off;
            let index = (at >> cmd.log_page) - (iova >> cmd.log_page);
            let want = host.translate(pid, va + off).expect("pinned");
            let page = walk(&host.mem, &cmd, index).expect("present");
            prop_assert_eq!(page + at % size, want, "byte {:#x}", off);
            prop_assert_eq!(list.page(index), Page::at(page));
        }
        if page_2m && shift % 0x20_0000 == 0 && len >= 0x20_0000 {
            prop_assert!(cmd.log_page >= 21, "huge pages are used as such");
        }
    }
}

/// Directory entries come with and without the writable flag, which means nothing in them.
#[test]
fn directories_have_both_kinds_of_entries() {
    for lazy in [false, true] {
        let mut host = host(AllocMode::Contiguous, 1);
        let list = Arc::new(FrameList::contiguous(12, 1 << 40, 1024));
        let shape = Shape {
            encoding: Encoding::Flagged,
            lazy,
            ..Shape::default()
        };
        let table = Table::build(&mut host, &list, &shape, 3).expect("table");
        let flags = [0, 8, 16].map(|at| host.mem.read_u64(table.frame()[0] + at) & 3);
        assert_eq!(flags, [1, 3, 0]);
        table.free(&mut host);
    }
}

#[test]
fn wrong_shapes_are_refused() {
    let mut host = host(AllocMode::Contiguous, 1);
    let before = host.stats();
    let list = Arc::new(FrameList::contiguous(12, 1 << 40, 600));
    let mut build = |shape: Shape| Table::build(&mut host, &list, &shape, 3).map(|t| t.level());
    let base = Shape::default();
    let with = |level, log_tpage| Shape {
        level: Some(level),
        log_tpage,
        ..base
    };
    let too_many = Err(MttError::TooManyPages { pages: 600 });
    assert_eq!(build(with(0, None)), too_many);
    assert_eq!(build(with(1, Some(12))), too_many);
    assert_eq!(build(with(4, None)), Err(MttError::Level(4)));
    assert_eq!(build(with(7, None)), Err(MttError::Level(7)));
    assert_eq!(build(with(2, Some(11))), Err(MttError::TablePage(11)));
    assert_eq!(build(with(2, Some(17))), Err(MttError::TablePage(17)));
    let odd = Shape {
        flat_offset: 4,
        ..with(5, None)
    };
    assert_eq!(build(odd), Err(MttError::FlatOffset(4)));
    assert_eq!(host.stats(), before);

    let mut list = FrameList::contiguous(12, 1 << 40, 4);
    list.set(2..3, Page::Bad);
    let built = Table::build(&mut host, &Arc::new(list), &base, 3);
    assert!(matches!(built, Err(MttError::Inline(2))));
}

/// One level more than needed is a tree like any other; table pages grow when levels run out.
#[test]
fn the_caller_may_choose() {
    let mut host = host(AllocMode::Contiguous, 1);
    let list = Arc::new(FrameList::contiguous(12, 1 << 40, 600));
    let one_big = Shape {
        level: Some(1),
        ..Shape::default()
    };
    let table = Table::build(&mut host, &list, &one_big, 3).expect("fits in 8 KiB");
    assert_eq!(
        (table.level(), table.log_tpage(), table.table_pages()),
        (1, 13, vec![1])
    );
    table.free(&mut host);
    let deep = Shape {
        level: Some(3),
        log_tpage: Some(16),
        ..Shape::default()
    };
    let table = Table::build(&mut host, &list, &deep, 3).expect("fits");
    assert_eq!(
        (table.table_pages(), table.table_bytes()),
        (vec![1, 1, 1], 3 << 16)
    );
    table.free(&mut host);
    let shallow = Table::build(&mut host, &list, &Shape::default(), 1).expect("fits");
    assert_eq!((shallow.level(), shallow.log_tpage()), (1, 13));
    shallow.free(&mut host);
}
