// SPDX-License-Identifier: Apache-2.0
//! Host memory: page tables, faults, swapping, migration, pinning; and why pinning exists.

mod host_common;

use host_common::{host, FRAGMENTED};
use proptest::prelude::*;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use tpt_golden::frames::{FrameList, Page, PageSource};
use tpt_golden::host::{
    AllocMode, FrameRun, Host, HostConfig, HostError, Owner, PageSize, PhysRange, Pid, Pinned, Prot,
};
use tpt_golden::mtt::{frame_list, Shape, Table};

const RW: Prot = Prot::ReadWrite;
const K4: PageSize = PageSize::Size4K;

/// What a device with this table would write to: byte `offset` of the region.
fn dma_write(host: &mut Host, table: &Table, offset: u64, data: &[u8]) {
    let entry = table.entry_pa(offset >> 12).expect("not inline");
    let pa = host.mem.read_u64(entry) + offset % 4096;
    host.mem.write(pa, data);
}

fn table_over(host: &mut Host, frames: &[FrameRun], va: u64) -> Table {
    let ranges: Vec<_> = frames.iter().map(FrameRun::range).collect();
    let list = Arc::new(frame_list(&ranges, va, 12, true).expect("4 KiB always fits"));
    let shape = Shape {
        level: Some(1),
        ..Shape::pages_of(12)
    };
    Table::build(host, &list, &shape, 3).expect("table")
}

/// The disaster: a driver that does not pin. The page moves, its frame goes to another process, and
/// the device writes into the other's memory.
#[test]
fn stale_table_writes_into_another_owner() {
    let mut host = host(AllocMode::Contiguous, 1);
    let victim = host.spawn();
    let app = host.spawn();
    let va = host.mmap(app, None, 8 << 12, RW, K4).expect("mmap");
    host.write(app, va, b"application").expect("write");

    // The driver notes the frames, but pins nothing.
    let frames = host.frames_unpinned(app, va, 8 << 12).expect("frames");
    let table = table_over(&mut host, &frames, va);
    let before = host.translate(app, va).expect("present");

    // While nothing moves, the device writes where it should.
    dma_write(&mut host, &table, 0, b"device data");
    let mut buf = [0; 11];
    host.read(app, va, &mut buf).expect("read");
    assert_eq!(&buf, b"device data");

    // Compaction moves the page; the application does not notice.
    let after = host.migrate(app, va).expect("not pinned, so it moves");
    assert_ne!(before, after);
    host.read(app, va, &mut buf).expect("read");
    assert_eq!(&buf, b"device data");

    // The frame goes to the next one who asks.
    let secret = host.mmap(victim, None, 1 << 12, RW, K4).expect("mmap");
    host.write(victim, secret, b"my password").expect("write");
    assert_eq!(
        host.translate(victim, secret),
        Some(before),
        "same frame, other owner"
    );
    assert_eq!(host.owner_at(before), Some(Owner::Process(victim)));

    // The device still has the old address.
    dma_write(&mut host, &table, 0, b"overwritten");
    host.read(victim, secret, &mut buf).expect("read");
    assert_eq!(&buf, b"overwritten", "the other process's bytes changed");
    host.read(app, va, &mut buf).expect("read");
    assert_eq!(&buf, b"device data", "and the application got nothing");
    table.free(&mut host);
}

/// The same with pinning: the page refuses to move, and the frame is nobody else's.
#[test]
fn pinned_page_stays() {
    let mut host = host(AllocMode::Contiguous, 1);
    let app = host.spawn();
    let va = host.mmap(app, None, 8 << 12, RW, K4).expect("mmap");
    let pinned = host.pin(app, va, 8 << 12, true).expect("pin");
    let table = table_over(&mut host, pinned.frames(), va);
    let before = host.translate(app, va);

    let refused = HostError::Pinned {
        pfn: before.expect("present") >> 12,
        pins: 1,
    };
    assert_eq!(host.migrate(app, va), Err(refused));
    assert_eq!(host.swap_out(app, va), Err(refused));
    let other = host.spawn();
    let secret = host.mmap(other, None, 64 << 12, RW, K4).expect("mmap");
    host.write(other, secret, &vec![0x55; 64 << 12])
        .expect("write");
    dma_write(&mut host, &table, 0, b"device data");
    let mut buf = [0; 11];
    host.read(app, va, &mut buf).expect("read");
    assert_eq!(&buf, b"device data");
    assert_eq!(host.translate(app, va), before);

    // Even a process that unmaps the page, or dies, does not free the frame.
    host.munmap(app, va, 4 << 12).expect("munmap");
    host.exit(app).expect("exit");
    assert_eq!(
        host.owner_at(before.expect("present")),
        Some(Owner::Process(app))
    );
    assert_eq!(host.stats().pinned_frames, 8);
    table.free(&mut host);
    host.unpin(pinned);
    assert_eq!(host.owner_at(before.expect("present")), None);
    assert_eq!(host.stats().pinned_frames, 0);
}

#[test]
fn pins_count() {
    let mut host = host(AllocMode::Contiguous, 1);
    let pid = host.spawn();
    let va = host.mmap(pid, None, 4 << 12, RW, K4).expect("mmap");
    let a = host.pin(pid, va + 100, 2 << 12, true).expect("pin"); // pages 0, 1, 2
    let b = host.pin(pid, va + (1 << 12), 1, false).expect("pin"); // page 1
    let pins: Vec<u32> = (0..3)
        .map(|i| host.pins_at(host.translate(pid, va + (i << 12)).expect("present")))
        .collect();
    assert_eq!(pins, [1, 2, 1]);
    assert_eq!(
        host.translate(pid, va + (3 << 12)),
        None,
        "page 3 was not asked for"
    );
    assert_eq!((host.stats().pins, host.stats().pinned_frames), (4, 3));
    host.unpin(a);
    assert!(matches!(
        host.migrate(pid, va + (1 << 12)),
        Err(HostError::Pinned { pins: 1, .. })
    ));
    assert!(host.migrate(pid, va).is_ok());
    host.unpin(b);
    assert!(host.migrate(pid, va + (1 << 12)).is_ok());
}

#[test]
fn permissions_and_holes() {
    let mut host = host(AllocMode::Contiguous, 1);
    let pid = host.spawn();
    let rw = host
        .mmap(pid, Some(0x10_0000), 2 << 12, RW, K4)
        .expect("mmap");
    let ro = host
        .mmap(pid, Some(0x10_2000), 2 << 12, Prot::ReadOnly, K4)
        .expect("mmap");
    let none = host
        .mmap(pid, Some(0x10_4000), 2 << 12, Prot::None, K4)
        .expect("mmap");
    assert_eq!(
        host.mmap(pid, Some(0x10_1000), 2 << 12, RW, K4),
        Err(HostError::Overlap { va: 0x10_1000 })
    );
    assert!(host
        .pin(pid, rw, 4 << 12, false)
        .map(|p| host.unpin(p))
        .is_ok());
    let refused = HostError::Protection { va: ro };
    assert_eq!(host.pin(pid, rw, 4 << 12, true), Err(refused));
    assert_eq!(
        host.write(pid, ro + 5, &[1]),
        Err(HostError::Protection { va: ro + 5 })
    );
    assert!(host.read(pid, ro, &mut [0; 10]).is_ok());
    let refused = HostError::Protection { va: none };
    assert_eq!(host.pin(pid, rw, 5 << 12, false), Err(refused));
    let hole = none + (2 << 12);
    assert_eq!(
        host.read(pid, hole, &mut [0]),
        Err(HostError::Unmapped { va: hole })
    );
    assert_eq!(
        host.pin(pid, hole - 1, 2, false),
        Err(HostError::Unmapped { va: hole })
    );
    assert!(matches!(
        host.pin(pid, rw, 0, false),
        Err(HostError::BadRange { .. })
    ));
    assert!(matches!(
        host.pin(pid, rw, u64::MAX, false),
        Err(HostError::BadRange { .. })
    ));
    assert_eq!(host.stats().pins, 0, "a refused pin leaves none behind");
    assert_eq!(
        host.read(Pid(99), rw, &mut [0]),
        Err(HostError::NoProcess(Pid(99)))
    );
}

/// The last page below 2^64 can be mapped and pinned.
#[test]
fn top_of_the_address_space() {
    let mut host = host(AllocMode::Contiguous, 1);
    let pid = host.spawn();
    let va = 0u64.wrapping_sub(2 << 12);
    assert!(host.mmap(pid, Some(va), 3 << 12, RW, K4).is_err());
    host.mmap(pid, Some(va), 2 << 12, RW, K4).expect("mmap");
    let pinned = host.pin(pid, va, 2 << 12, true).expect("pin");
    assert_eq!(pinned.ranges().iter().map(|r| r.len).sum::<u64>(), 2 << 12);
    assert!(host.pin(pid, va, (2 << 12) + 1, true).is_err());
    host.unpin(pinned);
}

#[test]
fn huge_pages_move_and_pin_as_a_whole() {
    let mut host = host(AllocMode::Contiguous, 1);
    let pid = host.spawn();
    let m2 = PageSize::Size2M;
    let va = host.mmap(pid, None, (4 << 20) - 5, RW, m2).expect("mmap");
    assert_eq!(va % (2 << 20), 0);
    host.write(pid, va + (3 << 20), b"x").expect("write");
    assert_eq!(host.stats().process_frames, 512, "one huge page came");
    assert_eq!(
        host.translate(pid, va + (3 << 20)).map(|pa| pa % (2 << 20)),
        Some(1 << 20)
    );
    assert_eq!(host.translate(pid, va), None);
    // A byte of the huge page is pinned: all of it stays.
    let pinned = host.pin(pid, va + (2 << 20) + 7, 1, true).expect("pin");
    assert_eq!(host.stats().pinned_frames, 1);
    assert!(matches!(
        host.migrate(pid, va + (3 << 20)),
        Err(HostError::Pinned { .. })
    ));
    host.unpin(pinned);
    let pa = host.migrate(pid, va + (3 << 20)).expect("moves");
    assert_eq!(host.mem.read_u64(pa) & 0xff, u64::from(b'x'));
    // A huge page cannot be cut.
    assert!(matches!(
        host.munmap(pid, va, 4096),
        Err(HostError::BadRange { .. })
    ));
    host.munmap(pid, va, 4 << 20).expect("munmap");
    assert_eq!(host.stats().process_frames, 0);

    let g1 = PageSize::Size1G;
    let va = host.mmap(pid, None, 1 << 30, RW, g1).expect("mmap");
    host.write(pid, va + 12345, b"y").expect("write");
    let pa = host.translate(pid, va).expect("present");
    assert_eq!(pa % (1 << 30), 0);
    assert!(host.mem.frame_count() <= 3, "sparse: only what was written");
}

#[test]
fn swapped_page_comes_back_elsewhere_with_its_bytes() {
    let mut host = host(FRAGMENTED, 7);
    let pid = host.spawn();
    let va = host.mmap(pid, None, 3 << 12, RW, K4).expect("mmap");
    host.write(pid, va + (1 << 12), b"kept").expect("write");
    let before = host.translate(pid, va + (1 << 12)).expect("present");
    host.swap_out(pid, va + (1 << 12)).expect("swap out");
    assert_eq!(host.translate(pid, va + (1 << 12)), None);
    assert_eq!(
        (host.owner_at(before), host.stats().swapped_frames),
        (None, 1)
    );
    let mut buf = [0; 4];
    host.read(pid, va + (1 << 12), &mut buf).expect("faults in");
    assert_eq!(&buf, b"kept");
    assert_ne!(host.translate(pid, va + (1 << 12)), Some(before));
    assert_eq!(host.swap_in(pid, va), Err(HostError::NotSwapped { va }));
    host.swap_out(pid, va + (1 << 12)).expect("swap out");
    host.swap_in(pid, va + (1 << 12)).expect("swap in");
    // Registration brings swapped pages back, too.
    host.swap_out(pid, va + (1 << 12)).expect("swap out");
    let pinned = host.pin(pid, va, 3 << 12, false).expect("pin");
    assert_eq!(
        (host.stats().swapped_frames, host.stats().pinned_frames),
        (0, 3)
    );
    host.unpin(pinned);
}

/// New memory is zero, whatever its frame held before.
#[test]
fn frames_are_wiped_for_a_new_owner() {
    let mut host = host(AllocMode::Contiguous, 1);
    let (a, b) = (host.spawn(), host.spawn());
    let va = host.mmap(a, None, 4096, RW, K4).expect("mmap");
    host.write(a, va, &[0xff; 4096]).expect("write");
    let pa = host.translate(a, va);
    host.exit(a).expect("exit");
    let va = host.mmap(b, None, 4096, RW, K4).expect("mmap");
    let mut buf = [1; 4096];
    host.read(b, va, &mut buf).expect("read");
    assert_eq!(host.translate(b, va), pa);
    assert!(buf.iter().all(|&x| x == 0));
}

#[test]
fn given_frames() {
    let mut host = host(AllocMode::Contiguous, 1);
    let (a, b) = (host.spawn(), host.spawn());
    let free = host.stats().free_frames;
    let run = |pfn, count| FrameRun { pfn, count };
    // Out of order, RAM and no RAM, and one frame in two processes.
    let va = host
        .mmap_frames(
            a,
            None,
            RW,
            &[run(0x9_0000, 2), run(0x200, 1), run(1 << 40, 1)],
        )
        .expect("mmap");
    let vb = host
        .mmap_frames(b, None, RW, &[run(0x9_0001, 1)])
        .expect("mmap");
    assert_eq!(host.translate(a, va + 0x2004), Some(0x20_0004));
    assert_eq!(host.translate(a, va + 0x3000), Some(1 << 52));
    assert_eq!(
        host.stats().free_frames,
        free - 1,
        "0x90000 is between the two RAM ranges"
    );
    host.write(a, va + 0x1000, b"shared").expect("write");
    let mut buf = [0; 6];
    host.read(b, vb, &mut buf).expect("read");
    assert_eq!(&buf, b"shared");
    assert_eq!(
        host.migrate(b, vb),
        Err(HostError::Shared { pfn: 0x9_0001 })
    );
    let too_far = [run((1 << 52) - 1, 2)];
    assert!(host.mmap_frames(a, None, RW, &too_far).is_err());
    host.exit(a).expect("exit");
    host.exit(b).expect("exit");
    assert_eq!(host.stats().free_frames, free);
    // Table memory cannot become process memory.
    let table = host
        .alloc_contiguous(Owner::Table, 4096, 4096)
        .expect("alloc");
    let pfn = table.pa >> 12;
    let c = host.spawn();
    assert_eq!(
        host.mmap_frames(c, None, RW, &[run(0x9_0000, 1), run(pfn, 1)]),
        Err(HostError::FrameInUse { pfn })
    );
    assert_eq!(host.stats().process_frames, 0);
    assert_eq!(
        host.pin_frames(&[run(pfn, 1)], 0, 1),
        Err(HostError::FrameInUse { pfn })
    );
    host.free(&[table]);
}

#[test]
fn sixty_four_gib_cost_little() {
    let mut host = Host::new(HostConfig::default());
    let pid = host.spawn();
    let va = host.mmap(pid, None, 64 << 30, RW, K4).expect("mmap");
    let pinned = host.pin(pid, va, 64 << 30, true).expect("pin");
    assert_eq!(host.stats().pinned_frames, 16_777_216);
    assert_eq!(pinned.ranges().len(), 1);
    assert_eq!(host.mem.frame_count(), 0);
    host.unpin(pinned);
    host.exit(pid).expect("exit");
    assert_eq!(host.stats().process_frames, 0);
}

#[test]
fn fragmented_memory_is_in_pieces() {
    let mut host = host(FRAGMENTED, 3);
    let pid = host.spawn();
    let va = host.mmap(pid, None, 16 << 20, RW, K4).expect("mmap");
    let pinned = host.pin(pid, va, 16 << 20, true).expect("pin");
    let longest = pinned.frames().iter().map(|r| r.count).max();
    assert!(
        pinned.frames().len() > 256,
        "{} pieces",
        pinned.frames().len()
    );
    assert!(longest <= Some(32), "longest piece {longest:?}");
    host.unpin(pinned);
}

#[test]
fn memory_runs_out_without_losing_any() {
    for mode in [AllocMode::Contiguous, FRAGMENTED] {
        let ram = |pa, len| PhysRange { pa, len };
        let mut host = Host::new(HostConfig {
            ram: vec![ram(0x1800, 32 << 20), ram(4 << 30, 16 << 20)],
            mode,
            seed: 5,
        });
        let before = host.stats();
        assert_eq!(before.free_frames, (48 << 8) - 1, "whole frames only");
        let pid = host.spawn();
        let va = host.mmap(pid, None, 4 << 30, RW, K4).expect("mmap");
        assert_eq!(
            host.pin(pid, va, 4 << 30, true),
            Err(HostError::OutOfMemory)
        );
        assert_eq!(host.stats().free_frames, before.free_frames);
        // The last frame can be had, and no more.
        let all = before.free_frames << 12;
        let pinned = host.pin(pid, va, all, true).expect("all of it");
        assert_eq!(host.stats().free_frames, 0);
        assert_eq!(
            host.touch(pid, va + all, 1, true),
            Err(HostError::OutOfMemory)
        );
        host.unpin(pinned);
        host.exit(pid).expect("exit");
        assert_eq!(host.stats(), before);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Map { slot: u64, pages: u64, huge: bool },
    Unmap { slot: u64 },
    Write { slot: u64, offset: u64, byte: u8 },
    SwapOut { slot: u64, offset: u64 },
    Migrate { slot: u64, offset: u64 },
    Pin { slot: u64, offset: u64, len: u64 },
    Unpin { nth: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let slot = 0u64..4;
    let offset = 0u64..(4 << 20);
    prop_oneof![
        2 => (slot.clone(), 1u64..20, any::<bool>())
            .prop_map(|(slot, pages, huge)| Step::Map { slot, pages, huge }),
        1 => slot.clone().prop_map(|slot| Step::Unmap { slot }),
        6 => (slot.clone(), 0u64..0x1_4000, any::<u8>())
            .prop_map(|(slot, offset, byte)| Step::Write { slot, offset, byte }),
        2 => (slot.clone(), 0u64..0x1_4000).prop_map(|(slot, offset)| Step::SwapOut { slot, offset }),
        3 => (slot.clone(), 0u64..0x1_4000).prop_map(|(slot, offset)| Step::Migrate { slot, offset }),
        3 => (slot, offset, 1u64..0x8000)
            .prop_map(|(slot, offset, len)| Step::Pin { slot, offset: offset % 0x1_4000, len }),
        2 => (0usize..4).prop_map(|nth| Step::Unpin { nth }),
    ]
}

fn base(slot: u64) -> u64 {
    0x4000_0000 * (slot + 1)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Whatever the host does behind its back, a process reads what it wrote; pinned pages keep
    /// their frames; no frame is lost or given out twice.
    #[test]
    fn memory_is_kept(steps in prop::collection::vec(step(), 1..80), fragmented: bool, seed: u64) {
        let mode = if fragmented { FRAGMENTED } else { AllocMode::Contiguous };
        let mut host = host(mode, seed);
        let total = host.stats().free_frames;
        let pid = host.spawn();
        let mut bytes: BTreeMap<u64, u8> = BTreeMap::new();
        let mut lens: HashMap<u64, u64> = HashMap::new();
        let mut pins: Vec<(u64, Option<u64>, Pinned)> = Vec::new();
        for step in steps {
            match step {
                Step::Map { slot, pages, huge } => {
                    let page = if huge { PageSize::Size2M } else { K4 };
                    let len = pages << 12;
                    let got = host.mmap(pid, Some(base(slot)), len, RW, page);
                    prop_assert_eq!(got.is_ok(), !lens.contains_key(&slot));
                    lens.entry(slot).or_insert(len.next_multiple_of(page.bytes()));
                }
                Step::Unmap { slot } => {
                    if let Some(len) = lens.remove(&slot) {
                        host.munmap(pid, base(slot), len).expect("whole mapping");
                        bytes.retain(|va, _| !(base(slot)..base(slot) + len).contains(va));
                        for p in &mut pins {
                            if p.0 >= base(slot) && p.0 - base(slot) < len {
                                p.1 = None; // unmapped: the process sees the frame no more
                            }
                        }
                    }
                }
                Step::Write { slot, offset, byte } => {
                    let va = base(slot) + offset;
                    let mapped = lens.get(&slot).is_some_and(|len| offset < *len);
                    prop_assert_eq!(host.write(pid, va, &[byte]).is_ok(), mapped);
                    if mapped {
                        bytes.insert(va, byte);
                    }
                }
                Step::SwapOut { slot, offset } => {
                    let _ = host.swap_out(pid, base(slot) + offset);
                }
                Step::Migrate { slot, offset } => {
                    let va = base(slot) + offset;
                    let before = host.translate(pid, va);
                    if let Ok(pa) = host.migrate(pid, va) {
                        prop_assert_ne!(Some(pa), before);
                        prop_assert_eq!(host.translate(pid, va), Some(pa));
                    }
                }
                Step::Pin { slot, offset, len } => {
                    let va = base(slot) + offset;
                    let mapped = lens.get(&slot).is_some_and(|l| offset + len <= *l);
                    let pinned = host.pin(pid, va, len, true);
                    prop_assert_eq!(pinned.is_ok(), mapped);
                    if let Ok(p) = pinned {
                        pins.push((va, host.translate(pid, va), p));
                    }
                }
                Step::Unpin { nth } => {
                    if nth < pins.len() {
                        host.unpin(pins.swap_remove(nth).2);
                    }
                }
            }
            for (va, pa, pinned) in &pins {
                prop_assert!(host.pins_at(pinned.ranges()[0].pa) > 0);
                if pa.is_some() {
                    prop_assert_eq!(host.translate(pid, *va), *pa, "a pinned page moved");
                    prop_assert_eq!(Some(pinned.ranges()[0].pa), *pa);
                }
            }
            let s = host.stats();
            prop_assert_eq!(s.free_frames + s.process_frames, total, "frames lost");
        }
        for (va, byte) in bytes {
            let mut got = [0];
            host.read(pid, va, &mut got).expect("mapped");
            prop_assert_eq!(got[0], byte, "byte at {:#x}", va);
        }
        for p in pins {
            host.unpin(p.2);
        }
        host.exit(pid).expect("exit");
        let s = host.stats();
        prop_assert_eq!((s.free_frames, s.pins), (total, 0));
    }
}

/// A page list read from the page table agrees with it page by page.
#[test]
fn frame_list_equals_page_table() {
    let mut host = host(FRAGMENTED, 11);
    let pid = host.spawn();
    let va = host.mmap(pid, None, 300 << 12, RW, K4).expect("mmap");
    let pinned = host.pin(pid, va + 123, 299 << 12, true).expect("pin");
    let list: FrameList = frame_list(&pinned.ranges(), va + 123, 12, true).expect("fits");
    assert_eq!(list.pages(), 300);
    for i in 0..300 {
        let pa = host.translate(pid, va + (i << 12)).expect("present");
        assert_eq!(list.page(i), Page::at(pa));
    }
    host.unpin(pinned);
}
