// SPDX-License-Identifier: Apache-2.0
//! The data path of windows, fast-registration regions and physical regions, and FLUSH.

mod verbs_common;

use std::sync::Arc;

use tpt_golden::frames::{FrameList, Page};
use tpt_golden::types::*;
use verbs_common::*;

/// A window has its own range: what lies in the region but outside of the window is refused.
#[test]
fn windows_have_their_own_range() {
    for kind in WINDOWS {
        let mut unit = unit();
        let lkey = region(&mut unit).lkey;
        let window = bound(&mut unit, kind, lkey);
        let first = START + 0x400;
        for (va, len, expected) in [
            (first, 0x1000, Syndrome::Ok),
            (first - 1, 1, Syndrome::Bounds),
            (first - 1, 8, Syndrome::Bounds),
            (first + 0xfff, 1, Syndrome::Ok),
            (first + 0xfff, 2, Syndrome::Bounds),
            (first + 0x1000, 1, Syndrome::Bounds),
            (START, 8, Syndrome::Bounds),
            (START + LENGTH - 8, 8, Syndrome::Bounds),
            (first, 0x1001, Syndrome::Bounds),
            (u64::MAX, 1, Syndrome::Bounds),
            (u64::MAX, 2, Syndrome::Wrap),
            (first + 16, u32::MAX >> 1, Syndrome::Bounds),
        ] {
            for op in [Op::RemoteRead, Op::RemoteWrite] {
                let request = Request {
                    va,
                    len,
                    ..access(op, window)
                };
                assert_eq!(
                    verdict(&unit, &request),
                    expected,
                    "{kind}: {len} at {va:#x}"
                );
            }
        }
        let whole = Request {
            va: first,
            len: 0x1000,
            ..access(Op::RemoteWrite, window)
        };
        let pages = [(0x1_0c00, 0x400), (0x5_0000, 0xc00)];
        assert_eq!(segments(&unit, &whole), pages, "pages of the region");
        // Nothing is looked at for a length of 0.
        let empty = Request {
            len: 0,
            va: 0,
            pd: 1,
            qpn: 1,
            key: Key(window.0 ^ 1),
            ..whole
        };
        assert_eq!(verdict(&unit, &empty), Syndrome::Ok);
        assert_eq!(segments(&unit, &empty), [(0, 0)]);
    }
}

/// Every right by itself, and none that the region has but the window has not.
#[test]
fn windows_have_their_own_rights() {
    let rights = [
        (Op::RemoteWrite, Access::REMOTE_WRITE),
        (Op::RemoteRead, Access::REMOTE_READ),
        (Op::RemoteAtomic, Access::REMOTE_ATOMIC),
    ];
    for kind in WINDOWS {
        for bits in 0..8u32 {
            let mut unit = unit();
            let every = Command {
                access: 0x31f,
                ..reg()
            };
            let lkey = good(&mut unit, every).lkey;
            let window = good(&mut unit, alloc_mw(kind)).rkey;
            let command = Command {
                access: bits << 1,
                ..bind(window, lkey)
            };
            let window = good(&mut unit, command).rkey;
            for (op, right) in rights {
                let expected = match Access(bits << 1).contains(right) {
                    true => Syndrome::Ok,
                    false => Syndrome::Rights,
                };
                assert_eq!(verdict(&unit, &access(op, window)), expected, "{kind} {op}");
            }
            // FLUSH is not to be had through a window, whatever the region grants.
            for op in [Op::FlushGlobal, Op::FlushPersist, Op::FlushBoth] {
                assert_eq!(verdict(&unit, &access(op, window)), Syndrome::Rights);
            }
            for op in [Op::LocalRead, Op::LocalWrite] {
                assert_eq!(verdict(&unit, &access(op, window)), Syndrome::KeyTag);
            }
        }
    }
}

/// Protection domain and queue pair, by the type.
#[test]
fn windows_belong_to_somebody() {
    for (kind, other_pd, other_qp) in [
        (Kind::Mw1, Syndrome::Pd, Syndrome::Ok),
        (Kind::Mw2, Syndrome::Pd, Syndrome::Qp),
        (Kind::Mw2a, Syndrome::Ok, Syndrome::Qp),
    ] {
        let mut unit = unit();
        let lkey = region(&mut unit).lkey;
        let window = bound(&mut unit, kind, lkey);
        let good = access(Op::RemoteRead, window);
        let stranger = |pd, qpn| verdict(&unit, &Request { pd, qpn, ..good });
        assert_eq!(stranger(PD, QPN), Syndrome::Ok);
        assert_eq!(stranger(PD + 1, QPN), other_pd, "{kind}");
        assert_eq!(stranger(PD, QPN + 1), other_qp, "{kind}");
        let both = match kind {
            Kind::Mw2a => Syndrome::Qp,
            _ => Syndrome::Pd,
        };
        assert_eq!(stranger(PD + 1, QPN + 1), both, "{kind}");
    }
}

/// Addresses of a zero-based window are offsets from its start.
#[test]
fn zero_based_windows() {
    for kind in [Kind::Mw2, Kind::Mw2a] {
        let mut unit = unit();
        let lkey = region(&mut unit).lkey;
        let window = good(&mut unit, alloc_mw(kind)).rkey;
        let command = Command {
            access: (WINDOW_RIGHTS | Access::ZERO_BASED).0,
            ..bind(window, lkey)
        };
        let window = good(&mut unit, command).rkey;
        let at = |va, len| Request {
            va,
            len,
            ..access(Op::RemoteWrite, window)
        };
        assert_eq!(segments(&unit, &at(0, 8)), [(0x1_0c00, 8)]);
        assert_eq!(
            segments(&unit, &at(0, 0x1000)),
            [(0x1_0c00, 0x400), (0x5_0000, 0xc00)]
        );
        assert_eq!(segments(&unit, &at(0xfff, 1)), [(0x5_0bff, 1)]);
        assert_eq!(verdict(&unit, &at(0xfff, 2)), Syndrome::Bounds);
        assert_eq!(verdict(&unit, &at(0x1000, 1)), Syndrome::Bounds);
        assert_eq!(verdict(&unit, &at(START + 0x400, 8)), Syndrome::Bounds);
        assert_eq!(verdict(&unit, &at(u64::MAX, 1)), Syndrome::Bounds);
        // Alignment is that of the address that is given.
        let atomic = |va| Request {
            va,
            ..access(Op::RemoteAtomic, window)
        };
        assert_eq!(verdict(&unit, &atomic(8)), Syndrome::Ok);
        assert_eq!(verdict(&unit, &atomic(4)), Syndrome::Align);
    }
}

/// The parent is a second stage: faults of its walk, and its end, reach the window.
#[test]
fn windows_follow_their_parent() {
    let mut unit = unit();
    let lkey = region(&mut unit).lkey;
    let window = bound(&mut unit, Kind::Mw2, lkey);
    let index = unit.keys().decode(lkey).1;
    let read = access(Op::RemoteRead, window);
    let mut pages = FrameList::from_addresses(12, PAGES);
    pages.set(0..1, Page::Absent);
    unit.set_pages(index, Arc::new(pages));
    let last = unit.judge(&read).beats(&read).last().expect("a beat");
    assert_eq!(last.syndrome, Syndrome::MttAbsent);
    unit.set_pages(index, Arc::new(FrameList::from_addresses(12, PAGES)));
    let verdict = unit.judge(&read);
    let named = verdict.region.as_ref().map(|region| region.kind);
    let reached = verdict.parent.as_ref().map(|region| region.index);
    assert_eq!((named, reached), (Some(Kind::Mw2), Some(index)));
    // A bus error has made the region unusable: nothing can be reached through the window.
    unit.retire(index, 5);
    assert_eq!(unit.judge(&read).syndrome, Syndrome::Parent);
    assert_eq!(allowed(&unit, &read, 6, 7), [Syndrome::Parent]);
    let outside = Request { va: START, ..read };
    assert_eq!(unit.judge(&outside).syndrome, Syndrome::Bounds);
}

/// A write through a window needs writable pages, as one through the region.
#[test]
fn windows_over_read_only_pages() {
    let mut unit = unit();
    let mut pages = FrameList::new(12);
    for pa in PAGES {
        let writable = false;
        pages.push(1, Page::Present { pa, writable });
    }
    let flagged = Command {
        level: LEVEL_FLAT,
        encoding: Encoding::Flagged.code(),
        frame: [0x8000, 0, 0, 0],
        ..reg()
    };
    let lkey = unit.command(&flagged, Some(Arc::new(pages))).lkey;
    let window = bound(&mut unit, Kind::Mw1, lkey);
    let last = |op| {
        let request = access(op, window);
        let beat = unit.judge(&request).beats(&request).last();
        beat.map(|beat| beat.syndrome)
    };
    assert_eq!(last(Op::RemoteRead), Some(Syndrome::Ok));
    assert_eq!(last(Op::RemoteWrite), Some(Syndrome::MttBad));
    assert_eq!(last(Op::RemoteAtomic), Some(Syndrome::MttBad));
}

/// `relaxed` through a window is that of the region.
#[test]
fn relaxed_ordering_of_windows() {
    for (region_bits, expected) in [(0x11, false), (0x11 | 1 << 20, true)] {
        let mut unit = unit();
        let parent = Command {
            access: region_bits,
            ..reg()
        };
        let lkey = good(&mut unit, parent).lkey;
        let window = bound(&mut unit, Kind::Mw2, lkey);
        for (op, expected) in [
            (Op::RemoteRead, expected),
            (Op::RemoteWrite, expected),
            (Op::RemoteAtomic, false),
        ] {
            let request = access(op, window);
            let relaxed: Vec<_> = unit.judge(&request).beats(&request).collect();
            assert!(relaxed.iter().all(|beat| beat.relaxed == expected), "{op}");
        }
    }
}

/// Windows of a fast-registration region.
#[test]
fn windows_of_fast_registrations() {
    let mut unit = unit();
    let mr = good(&mut unit, alloc_mr(3)).lkey;
    let mr = good(&mut unit, fast_reg(mr, 9)).lkey;
    let window = bound(&mut unit, Kind::Mw2a, mr);
    let read = access(Op::RemoteRead, window);
    assert_eq!(segments(&unit, &read), [(0x1_0c00, 8)]);
    assert_eq!(status(&mut unit, invalidate(mr)), Status::Bound);
    assert_eq!(status(&mut unit, dereg(mr)), Status::Bound);
    good(&mut unit, dealloc(window));
    good(&mut unit, invalidate(mr));
    // The next registration is another one: nothing of the window is left.
    good(&mut unit, fast_reg(mr, 10));
    assert_eq!(verdict(&unit, &read), Syndrome::KeyState);
}

/// Each operation of FLUSH needs each right that it asks for.
#[test]
fn flush_rights() {
    for (bits, expected) in [
        (0, [Syndrome::KeyTag; 3]),
        (1, [Syndrome::Ok, Syndrome::Rights, Syndrome::Rights]),
        (2, [Syndrome::Rights, Syndrome::Ok, Syndrome::Rights]),
        (3, [Syndrome::Ok; 3]),
    ] {
        let mut unit = unit();
        let command = Command {
            access: bits << 8,
            ..reg()
        };
        let mr = good(&mut unit, command);
        assert_eq!(mr.rkey == Key::NONE, bits == 0);
        let key = Key::new(
            keys().field(Role::Remote, unit.keys().decode(mr.lkey).1),
            mr.rkey.tag(),
        );
        let ops = [Op::FlushGlobal, Op::FlushPersist, Op::FlushBoth];
        for (op, expected) in ops.into_iter().zip(expected) {
            assert_eq!(
                verdict(&unit, &access(op, key)),
                expected,
                "{op} with {bits}"
            );
            // The L_Key is of the wrong role.
            let local = access(op, mr.lkey);
            assert_eq!(verdict(&unit, &local), Syndrome::KeyTag);
        }
        // No other remote operation comes with it.
        if bits != 0 {
            assert_eq!(
                verdict(&unit, &access(Op::RemoteRead, key)),
                Syndrome::Rights
            );
        }
    }
    // A FLUSH writes nothing: pages need not be writable; the range is checked as any other.
    let mut unit = unit();
    let command = Command {
        access: 0x300,
        ..reg()
    };
    let key = good(&mut unit, command).rkey;
    let whole = Request {
        va: START,
        len: LENGTH as u32,
        ..access(Op::FlushBoth, key)
    };
    assert_eq!(segments(&unit, &whole).len(), 3);
    let longer = Request {
        len: LENGTH as u32 + 1,
        ..whole
    };
    assert_eq!(verdict(&unit, &longer), Syndrome::Bounds);
    let empty = Request { len: 0, ..longer };
    assert_eq!(verdict(&unit, &empty), Syndrome::Ok);
}

/// Physical regions: the address is the address, cut at multiples of 8 TiB, up to 2^64.
#[test]
fn physical_regions() {
    const PAGE: u64 = 1 << 43;
    let mut unit = unit();
    let mut of = |start: u64, length: u64| good(&mut unit, reg_phys(start, length)).rkey;
    let low = of(0, 0x1000);
    let across = of(PAGE - 0x100, 0x1_0000_0000);
    let top = of(u64::MAX - 0xfff, 0x1000);
    let all = of(1, u64::MAX);
    let at = |key, va, len| Request {
        va,
        len,
        ..access(Op::RemoteWrite, key)
    };
    assert_eq!(
        segments(&unit, &at(low, 0, 8)),
        [(0, 8)],
        "address 0 is one"
    );
    assert_eq!(segments(&unit, &at(low, 0xff8, 8)), [(0xff8, 8)]);
    assert_eq!(verdict(&unit, &at(low, 0xff9, 8)), Syndrome::Bounds);
    assert_eq!(
        segments(&unit, &at(across, PAGE - 0x100, 0x8000_0000)),
        [(PAGE - 0x100, 0x100), (PAGE, 0x8000_0000 - 0x100)]
    );
    assert_eq!(segments(&unit, &at(across, PAGE - 8, 8)), [(PAGE - 8, 8)]);
    assert_eq!(segments(&unit, &at(across, PAGE, 8)), [(PAGE, 8)]);
    assert_eq!(
        segments(&unit, &at(top, u64::MAX - 0xfff, 0x1000)),
        [(u64::MAX - 0xfff, 0x1000)]
    );
    assert_eq!(verdict(&unit, &at(top, u64::MAX, 2)), Syndrome::Wrap);
    assert_eq!(segments(&unit, &at(all, u64::MAX, 1)), [(u64::MAX, 1)]);
    assert_eq!(verdict(&unit, &at(all, 0, 1)), Syndrome::Bounds);
    assert_eq!(
        segments(&unit, &at(all, 2 * PAGE - 1, 2)),
        [(2 * PAGE - 1, 1), (2 * PAGE, 1)]
    );
    // The other rules are those of a region.
    let read = Request {
        op: Op::RemoteRead.code(),
        ..at(low, 0, 8)
    };
    assert_eq!(verdict(&unit, &read), Syndrome::Rights);
    let other = Request {
        pd: 6,
        ..at(low, 0, 8)
    };
    assert_eq!(verdict(&unit, &other), Syndrome::Pd);
    let relaxed = Command {
        access: 1 | 1 << 20,
        ..reg_phys(0, 0x1000)
    };
    let lkey = good(&mut unit, relaxed).lkey;
    let read = at(lkey, 0, 8);
    let read = Request {
        op: Op::LocalRead.code(),
        ..read
    };
    assert!(unit.judge(&read).beats(&read).all(|beat| beat.relaxed));
}
