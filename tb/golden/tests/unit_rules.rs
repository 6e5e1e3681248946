// SPDX-License-Identifier: Apache-2.0
//! The rules of the check, one by one and against each other, and the split into segments.

use std::sync::Arc;

use proptest::prelude::*;
use tpt_golden::frames::{FrameList, Page, PageSource};
use tpt_golden::keys::KeyMaker;
use tpt_golden::types::*;
use tpt_golden::unit::*;

const TABLE_SIZE: u32 = 1000;
const INDEX: u32 = 77;
const EVERY_RIGHT: Access = Access(0x30f);

fn unit() -> Golden {
    Golden::enabled(
        KeyMaker::new([1, 2, 3, 4], [5, 6, 7, 8], false),
        TABLE_SIZE,
        3,
    )
}

/// A region of 16 MiB with every right, in pages of 4 KiB scattered in steps of 64 KiB.
fn region(unit: &Golden) -> Region {
    let access = EVERY_RIGHT;
    let (lkey, rkey) = unit.keys().keys(INDEX, 3, access);
    let pages = (0..1 << 12).map(|n| 0x10_0000_0000 + (n << 16));
    Region {
        index: INDEX,
        gen: 3,
        kind: Kind::Mr,
        pd: 0xab_cdef,
        qpn: 0,
        access,
        start: 0x7f00_0000_0000,
        length: 1 << 24,
        log_page: 12,
        level: 2,
        log_tpage: 12,
        encoding: Encoding::Flagged,
        frame: [0x5000, 0, 0, 0],
        lkey,
        rkey,
        pages: Arc::new(FrameList::from_addresses(12, pages)),
        ..Region::default()
    }
}

/// Makes a window of 64 KiB of `region`, for queue pair 0x1234.
fn window(kind: Kind, region: &Region) -> Region {
    Region {
        index: INDEX + 1,
        gen: 8,
        kind,
        qpn: 0x1234,
        lkey: Key::NONE,
        length: 0x1_0000,
        pages: Arc::new(FrameList::new(12)),
        parent: Some(Parent {
            index: region.index,
            gen: region.gen,
            field: region.lkey.field(),
        }),
        ..region.clone()
    }
}

fn request(region: &Region, op: Op) -> Request {
    Request {
        tag: 9,
        stream: 4,
        op: op.code(),
        key: region.key(op.role()),
        va: region.start.wrapping_add(0x1000),
        len: 8,
        pd: region.pd,
        qpn: 0x1234,
    }
}

/// A scene in which some rules fail.
#[derive(Clone)]
struct Scene {
    conditions: Conditions,
    region: Option<Region>,
    parent: Option<Region>,
    request: Request,
}

/// A way to break one rule and no other before it in the order of decision.
type Breaker = (Syndrome, fn(&mut Scene));

fn with_region(scene: &mut Scene, change: fn(&mut Region)) {
    if let Some(region) = &mut scene.region {
        change(region);
    }
}

/// From here on it is about a window of the region.
fn through_window(scene: &mut Scene) {
    if let Some(region) = scene.region.take() {
        scene.region = Some(match region.kind {
            Kind::Mr => window(Kind::Mw2, &region),
            _ => region.clone(),
        });
        if region.kind == Kind::Mr {
            scene.parent = Some(region);
        }
    }
}

/// In the order of decision.
const BREAKERS: &[Breaker] = &[
    (Syndrome::Disabled, |s| s.conditions.disabled = true),
    (Syndrome::TagBusy, |s| s.conditions.tag_busy = true),
    (Syndrome::Length, |s| s.request.len = MAX_REQUEST + 1),
    (Syndrome::KeyIndex, |s| {
        let field = unit().keys().field(Role::Remote, TABLE_SIZE);
        s.request.key = Key::new(field, s.request.key.tag());
        s.region = None;
    }),
    (Syndrome::Bus, |s| {
        s.conditions.bus = true;
        s.region = None;
    }),
    (Syndrome::MptBad, |s| {
        s.conditions.mpt_bad = true;
        s.region = None;
    }),
    (Syndrome::KeyState, |s| s.region = None),
    (Syndrome::KeyTag, |s| s.request.key.0 ^= 0x80),
    (Syndrome::Pd, |s| s.request.pd ^= 1 << 23),
    (Syndrome::Qp, |s| {
        through_window(s);
        s.request.qpn = 0x1235;
    }),
    (Syndrome::Rights, |s| {
        with_region(s, |r| r.access = Access::REMOTE_READ)
    }),
    (Syndrome::Wrap, |s| s.request.va = u64::MAX - 6),
    (Syndrome::Bounds, |s| s.request.va -= 0x1001),
    (Syndrome::Parent, |s| {
        through_window(s);
        s.conditions.parent_gone = true;
    }),
];

fn good_scene(op: Op) -> Scene {
    let region = region(&unit());
    let request = request(&region, op);
    Scene {
        conditions: Conditions::default(),
        region: Some(region),
        parent: None,
        request,
    }
}

fn check(scene: &Scene) -> (Syndrome, u32) {
    let (region, parent) = (scene.region.as_ref(), scene.parent.as_ref());
    unit().check_with(&scene.conditions, region, parent, &scene.request)
}

#[test]
fn good_requests_pass() {
    for &op in Op::ALL {
        assert_eq!(check(&good_scene(op)), (Syndrome::Ok, 0), "{op}");
    }
}

#[test]
fn each_rule_alone() {
    for (syndrome, breaker) in BREAKERS {
        let mut scene = good_scene(Op::RemoteWrite);
        breaker(&mut scene);
        let (first, mask) = check(&scene);
        assert_eq!(first, *syndrome);
        assert_ne!(mask & syndrome.bit(), 0);
        let follows = match syndrome {
            // What is too long or wraps is outside of every region too.
            Syndrome::Length | Syndrome::Wrap => Syndrome::Bounds.bit(),
            _ => 0,
        };
        assert_eq!(mask, syndrome.bit() | follows, "{syndrome}");
    }
}

/// Of any two failures the one that is earlier in the order of decision wins.
#[test]
fn each_pair_of_rules() {
    for (n, (first, break_first)) in BREAKERS.iter().enumerate() {
        for (second, break_second) in &BREAKERS[n + 1..] {
            let mut scene = good_scene(Op::RemoteWrite);
            break_second(&mut scene);
            break_first(&mut scene);
            assert_eq!(check(&scene).0, *first, "{first} before {second}");
        }
    }
}

/// The same failure has the same syndrome whoever asks, in every role.
#[test]
fn rights_of_every_operation() {
    let unit = unit();
    for &op in Op::ALL {
        for bits in 0..64 {
            let rights = bits & 0xf | (bits & 0x30) << 4;
            let access = Access(rights);
            let mut region = region(&unit);
            region.access = access;
            let (got, _) = unit.check(Some(&region), &request(&region, op));
            let has = |bit: u32| rights & bit != 0;
            let expected = match op {
                Op::LocalRead => Syndrome::Ok,
                Op::LocalWrite if has(1) => Syndrome::Ok,
                Op::LocalWrite => Syndrome::Rights,
                // Without any remote right there is no R_Key at all.
                _ if rights & 0b11_0000_1110 == 0 => Syndrome::KeyTag,
                Op::RemoteWrite if has(2) => Syndrome::Ok,
                Op::RemoteRead if has(4) => Syndrome::Ok,
                Op::RemoteAtomic if has(8) => Syndrome::Ok,
                Op::FlushGlobal if has(0x100) => Syndrome::Ok,
                Op::FlushPersist if has(0x200) => Syndrome::Ok,
                Op::FlushBoth if has(0x100) && has(0x200) => Syndrome::Ok,
                _ => Syndrome::Rights,
            };
            assert_eq!(got, expected, "{op} with {access:?}");
        }
    }
}

#[test]
fn keys_do_not_work_in_the_other_role() {
    let unit = unit();
    let region = region(&unit);
    for &op in Op::ALL {
        let other = match op.role() {
            Role::Local => region.rkey,
            Role::Remote => region.lkey,
        };
        let swapped = Request {
            key: other,
            ..request(&region, op)
        };
        assert_eq!(
            unit.check(Some(&region), &swapped),
            (Syndrome::KeyTag, 1 << 4),
            "{op}"
        );
    }
    for tag in 0..=255 {
        let key = Key::new(region.rkey.field(), tag);
        let request = Request {
            key,
            ..request(&region, Op::RemoteRead)
        };
        let passes = unit.check(Some(&region), &request).0 == Syndrome::Ok;
        assert_eq!(passes, key == region.rkey, "tag {tag}");
    }
}

/// A window has no L_Key, even if the tag fits; its R_Key is there even if it grants nothing.
#[test]
fn windows_are_remote_only() {
    let unit = unit();
    let parent = region(&unit);
    for kind in [Kind::Mw1, Kind::Mw2, Kind::Mw2a] {
        let window = window(kind, &parent);
        let judge = |window: &Region, request: &Request| {
            let conditions = Conditions::default();
            unit.check_with(&conditions, Some(window), Some(&parent), request)
                .0
        };
        let key = Key::new(unit.keys().field(Role::Local, window.index), 0);
        let local = Request {
            key,
            ..request(&window, Op::LocalRead)
        };
        assert_eq!(judge(&window, &local), Syndrome::KeyTag);
        let remote = request(&window, Op::RemoteRead);
        assert_eq!(judge(&window, &remote), Syndrome::Ok);
        let stranger = Request {
            qpn: 0x1235,
            ..remote
        };
        let expected = match kind {
            Kind::Mw1 => Syndrome::Ok,
            _ => Syndrome::Qp,
        };
        assert_eq!(judge(&window, &stranger), expected, "{kind}");
        let other_pd = Request { pd: 1, ..remote };
        let expected = match kind {
            Kind::Mw2a => Syndrome::Ok,
            _ => Syndrome::Pd,
        };
        assert_eq!(judge(&window, &other_pd), expected, "{kind}");
        let nothing = Region {
            access: Access::NONE,
            ..window
        };
        assert_eq!(judge(&nothing, &remote), Syndrome::Rights);
    }
}

/// Rule 11: the parent is valid, of the generation that was bound, a region with addresses, and
/// holds the range. Errors of its entry come at the same place.
#[test]
fn parents_of_windows() {
    let unit = unit();
    let parent = region(&unit);
    let window = window(Kind::Mw1, &parent);
    let good = request(&window, Op::RemoteWrite);
    let judge = |parent: Option<&Region>, conditions: &Conditions, request: &Request| {
        unit.check_with(conditions, Some(&window), parent, request)
    };
    let fine = Conditions::default();
    assert_eq!(judge(Some(&parent), &fine, &good), (Syndrome::Ok, 0));
    type Change = fn(&mut Region);
    let changes: [(&str, Change); 6] = [
        ("generation", |r| r.gen += 1),
        ("physical", |r| r.kind = Kind::Phys),
        ("a window", |r| r.kind = Kind::Mw1),
        ("zero-based", |r| r.access |= Access::ZERO_BASED),
        ("shorter", |r| r.length = 0x1007),
        ("begins later", |r| r.start += 0x1001),
    ];
    for (name, change) in changes {
        let mut other = parent.clone();
        change(&mut other);
        let expected = (Syndrome::Parent, Syndrome::Parent.bit());
        assert_eq!(judge(Some(&other), &fine, &good), expected, "{name}");
    }
    assert_eq!(judge(None, &fine, &good).0, Syndrome::Parent, "not valid");
    let fast = Region {
        kind: Kind::Frmr,
        pd: 1,
        length: 0x1008,
        ..parent.clone()
    };
    assert_eq!(judge(Some(&fast), &fine, &good).0, Syndrome::Ok);
    let bus = Conditions {
        parent_bus: true,
        ..fine
    };
    assert_eq!(judge(None, &bus, &good).0, Syndrome::Bus);
    let bad = Conditions {
        parent_bad: true,
        ..fine
    };
    assert_eq!(judge(None, &bad, &good).0, Syndrome::MptBad);
    // Whatever is wrong with the window itself comes first.
    let outside = Request {
        va: window.start + 0x1_0000,
        ..good
    };
    for conditions in [bus, bad] {
        assert_eq!(judge(None, &conditions, &outside).0, Syndrome::Bounds);
    }
    let crooked = Request {
        va: good.va + 1,
        ..request(&window, Op::RemoteAtomic)
    };
    assert_eq!(judge(None, &bad, &crooked).0, Syndrome::Align);
}

/// The attribute of every beat with an address, but not of atomics.
#[test]
fn relaxed_ordering() {
    let unit = unit();
    let access = region(&unit).access | Access::RELAXED_ORDERING;
    let relaxed = Region {
        access,
        ..region(&unit)
    };
    for &op in Op::ALL {
        let request = match op {
            Op::RemoteAtomic => request(&relaxed, op),
            _ => Request {
                len: 0x1800,
                ..request(&relaxed, op)
            },
        };
        let expected = op != Op::RemoteAtomic;
        let beats: Vec<_> = unit.beats(Some(&relaxed), &request).collect();
        assert!(beats.iter().all(|b| b.relaxed == expected), "{op}");
        let strict = region(&unit);
        assert!(unit.beats(Some(&strict), &request).all(|b| !b.relaxed));
        let empty = Request { len: 0, ..request };
        assert!(unit.beats(Some(&relaxed), &empty).all(|b| !b.relaxed));
    }
    // A fault behind good pages has no address, and so no attribute.
    let mut pages = FrameList::contiguous(12, 0x10_0000, 4096);
    pages.set(2..3, Page::Absent);
    let torn = Region {
        pages: Arc::new(pages),
        ..relaxed
    };
    let request = Request {
        len: 0x2000,
        ..request(&torn, Op::RemoteRead)
    };
    let told: Vec<_> = unit
        .beats(Some(&torn), &request)
        .map(|b| b.relaxed)
        .collect();
    assert_eq!(told, [true, false]);
}

/// Rule 0: an empty request passes with any key; an empty atomic does not.
#[test]
fn empty_requests() {
    let unit = unit();
    for &op in Op::ALL {
        let request = Request {
            op: op.code(),
            key: Key(0xdead_beef),
            len: 0,
            ..Request::default()
        };
        let beats: Vec<_> = unit.judge(&request).beats(&request).collect();
        let syndrome = if op == Op::RemoteAtomic {
            Syndrome::Align
        } else {
            Syndrome::Ok
        };
        let beat = Beat {
            tag: 0,
            stream: 0,
            syndrome,
            pa: 0,
            len: 0,
            relaxed: false,
            first: true,
            last: true,
        };
        assert_eq!(beats, [beat], "{op}");
    }
    let off = Golden::new(unit.keys().clone(), TABLE_SIZE, 3);
    assert_eq!(off.judge(&Request::default()).syndrome, Syndrome::Disabled);
}

#[test]
fn atomics() {
    let unit = unit();
    let region = region(&unit);
    let good = request(&region, Op::RemoteAtomic);
    for len in [0, 1, 4, 7, 9, 16, MAX_REQUEST, MAX_REQUEST + 1, u32::MAX] {
        // Refused by its length before anything else is looked at.
        let bad = Request {
            len,
            key: Key(0),
            pd: 0,
            ..good
        };
        assert_eq!(unit.check(None, &bad).0, Syndrome::Align, "{len} bytes");
    }
    for offset in 1..8 {
        let bad = Request {
            va: good.va + offset,
            ..good
        };
        assert_eq!(
            unit.check(Some(&region), &bad),
            (Syndrome::Align, Syndrome::Align.bit())
        );
        let worse = Request { pd: 0, ..bad };
        assert_eq!(
            unit.check(Some(&region), &worse).0,
            Syndrome::Pd,
            "rule 5 before rule 10"
        );
    }
}

/// Addresses and lengths around every edge, with sums that would wrap in 64 bits.
#[test]
fn edges_of_regions() {
    let unit = unit();
    let top = u64::MAX;
    for (start, length) in [
        (0, 1),
        (0, 0x1000),
        (16, 0x1000),
        (0x7f00_0000_0fff, 2),
        (top, 1),                 // ends exactly at 2^64
        (top - 0xffff, 0x1_0000), // so does this
        (1, top),                 // almost everything
        (0, top),
        (1 << 63, 1 << 63),
    ] {
        let region = Region {
            start,
            length,
            log_page: 43,
            ..region(&unit)
        };
        let addresses = [
            0,
            1,
            15,
            16,
            0x1000,
            1 << 63,
            top - 0x1_0000,
            top - 96,
            top - 63,
            top,
        ];
        let near = [start, start.wrapping_add(length)]
            .into_iter()
            .flat_map(|edge| (0..=4u64).map(move |d| edge.wrapping_add(d).wrapping_sub(2)));
        for va in addresses.into_iter().chain(near) {
            for len in [1, 2, 3, 64, 96, 0x1000, MAX_REQUEST] {
                let request = Request {
                    va,
                    len,
                    ..request(&region, Op::RemoteWrite)
                };
                let end = u128::from(va) + u128::from(len);
                let region_end = u128::from(start) + u128::from(length);
                let expected = if end > 1 << 64 {
                    Syndrome::Wrap
                } else if va >= start && end <= region_end {
                    Syndrome::Ok
                } else {
                    Syndrome::Bounds
                };
                let (got, _) = unit.check(Some(&region), &request);
                assert_eq!(
                    got, expected,
                    "{len} bytes at {va:#x} in {start:#x} + {length:#x}"
                );
            }
        }
    }
}

/// In a zero-based region addresses are offsets; pages still begin where the start says.
#[test]
fn zero_based() {
    let unit = unit();
    let plain = region(&unit);
    let access = plain.access | Access::ZERO_BASED;
    let region = Region {
        access,
        start: plain.start + 0xffc,
        length: 0x1008,
        ..plain
    };
    let all = Request {
        va: 0,
        len: 0x1008,
        ..request(&region, Op::RemoteRead)
    };
    let beats: Vec<_> = unit
        .beats(Some(&region), &all)
        .map(|b| (b.pa, b.len))
        .collect();
    assert_eq!(
        beats,
        [
            (0x10_0000_0ffc, 4),
            (0x10_0001_0000, 0x1000),
            (0x10_0002_0000, 4)
        ]
    );
    let beyond = Request { va: 1, ..all };
    assert_eq!(unit.check(Some(&region), &beyond).0, Syndrome::Bounds);
    let absolute = Request {
        va: region.start,
        len: 8,
        ..all
    };
    assert_eq!(unit.check(Some(&region), &absolute).0, Syndrome::Bounds);
}

/// The longest request: 2 GiB of 4 KiB pages are 524,288 segments.
#[test]
fn longest_request() {
    let unit = unit();
    let pages = Arc::new(FrameList::contiguous(12, 1 << 40, 1 << 20));
    let region = Region {
        length: 1 << 32,
        pages,
        ..region(&unit)
    };
    let request = Request {
        len: MAX_REQUEST,
        ..request(&region, Op::RemoteRead)
    };
    let mut count = 0u64;
    for beat in unit.beats(Some(&region), &request) {
        assert_eq!(beat.pa, (1 << 40) + 0x1000 + (count << 12));
        assert_eq!((beat.len, beat.first), (4096, count == 0));
        count += 1;
        assert_eq!(beat.last, count == 524_288);
    }
    assert_eq!(count, 524_288);
    let longer = Request {
        len: MAX_REQUEST + 1,
        ..request
    };
    assert_eq!(
        unit.check(Some(&region), &longer),
        (Syndrome::Length, Syndrome::Length.bit())
    );
}

/// A walk that fails ends the request; pages before it have been given out.
#[test]
fn walk_faults() {
    let unit = unit();
    let plain = region(&unit);
    let read_only = Page::Present {
        pa: 0x9000,
        writable: false,
    };
    let fault_of = |page, op, encoding, level| {
        let mut pages = FrameList::contiguous(12, 0x10_0000, 4096);
        pages.set(3..4, page);
        let region = Region {
            pages: Arc::new(pages),
            encoding,
            level,
            ..plain.clone()
        };
        let request = Request {
            va: plain.start + 0x1800,
            len: 0x4000,
            ..request(&region, op)
        };
        let request = if op == Op::RemoteAtomic {
            Request {
                va: plain.start + 0x3ff8,
                len: 8,
                ..request
            }
        } else {
            request
        };
        let beats: Vec<_> = unit.beats(Some(&region), &request).collect();
        let last = *beats.last().expect("at least one beat");
        assert!(last.last && beats.iter().filter(|b| b.last).count() == 1);
        assert!(beats[0].first && beats.iter().filter(|b| b.first).count() == 1);
        if last.syndrome != Syndrome::Ok {
            assert_eq!((last.pa, last.len), (0, 0));
            assert_eq!(beats.len(), if op == Op::RemoteAtomic { 1 } else { 3 });
        }
        last.syndrome
    };
    use Encoding::*;
    for &op in Op::ALL {
        let writes = matches!(op, Op::LocalWrite | Op::RemoteWrite | Op::RemoteAtomic);
        let refused_write = if writes {
            Syndrome::MttBad
        } else {
            Syndrome::Ok
        };
        for (page, flagged, raw) in [
            (Page::Absent, Syndrome::MttAbsent, Syndrome::MttAbsent),
            (Page::Bad, Syndrome::MttBad, Syndrome::MttBad),
            (Page::Bus, Syndrome::Bus, Syndrome::Bus),
            (Page::at(0x9100), Syndrome::MttBad, Syndrome::MttBad),
            (Page::at(0), Syndrome::Ok, Syndrome::MttAbsent),
            (read_only, refused_write, Syndrome::Ok),
        ] {
            assert_eq!(
                fault_of(page, op, Flagged, 2),
                flagged,
                "{op} {page:?} flagged"
            );
            assert_eq!(fault_of(page, op, Raw, 2), raw, "{op} {page:?} raw");
            assert_eq!(fault_of(page, op, Flagged, 0), raw, "{op} {page:?} inline");
        }
    }
}

/// Every refusal is a single beat without an address.
#[test]
fn refusals_give_no_address() {
    for (syndrome, breaker) in BREAKERS {
        let mut scene = good_scene(Op::RemoteWrite);
        breaker(&mut scene);
        let beats: Vec<_> = unit()
            .beats(scene.region.as_ref(), &scene.request)
            .collect();
        if scene.conditions == Conditions::default() {
            let Request { tag, stream, .. } = scene.request;
            let syndrome = *syndrome;
            let beat = Beat {
                tag,
                stream,
                syndrome,
                pa: 0,
                len: 0,
                relaxed: false,
                first: true,
                last: true,
            };
            assert_eq!(beats, [beat]);
        }
    }
}

#[test]
fn classes_towards_verbs() {
    use ErrorClass::*;
    let class = |syndrome: Syndrome| (syndrome.class(Role::Remote), syndrome.class(Role::Local));
    assert_eq!(class(Syndrome::Ok), (None, None));
    assert_eq!(
        class(Syndrome::Length),
        (Some(RemoteInvalidRequest), Some(LocalLength))
    );
    assert_eq!(class(Syndrome::Align).0, Some(RemoteInvalidRequest));
    assert_eq!(class(Syndrome::Bus).0, Some(RemoteOperation));
    for n in [2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13] {
        let syndrome = Syndrome::from_code(n).expect("a syndrome");
        assert_eq!(
            class(syndrome),
            (Some(RemoteAccess), Some(LocalProtection)),
            "{syndrome}"
        );
    }
}

proptest! {
    /// Byte by byte: the segments cover the request once, in order, each byte at its own address,
    /// and no segment leaves its page.
    #[test]
    fn segments_are_the_bytes(
        log_page in 12u8..16, start: u64, length in 1u64..200_000, zero_based: bool,
        at in 0.0..1.0, len in 1u32..200_000, seed: u64,
    ) {
        let unit = unit();
        let start = start.min(u64::MAX - 300_000);
        let n = page_count(start, length, log_page) as u64;
        // Scattered, but never the same page twice and never page 0.
        let pages: Vec<u64> =
            (0..n).map(|k| ((k ^ (seed % 8)) + 8 * (k + 1) * (seed % 1000 + 1)) << log_page).collect();
        let access = Access::ANY_REMOTE | Access::LOCAL_WRITE
            | if zero_based { Access::ZERO_BASED } else { Access::NONE };
        let list = FrameList::from_addresses(log_page, pages.iter().copied());
        let region = Region {
            start, length, log_page, access, pages: Arc::new(list.clone()), ..region(&unit)
        };
        let offset = (at * length as f64) as u64;
        let len = len.min((length - offset) as u32);
        prop_assume!(len > 0);
        let va = if zero_based { offset } else { start + offset };
        let request = Request { va, len, ..request(&region, Op::RemoteWrite) };
        let mut address = start + offset;
        let mut left = u64::from(len);
        for beat in unit.beats(Some(&region), &request) {
            prop_assert_eq!(beat.syndrome, Syndrome::Ok);
            prop_assert_eq!(beat.pa >> log_page, (beat.pa + u64::from(beat.len) - 1) >> log_page);
            for k in 0..u64::from(beat.len) {
                let page = (address >> log_page) - (start >> log_page);
                let expected = pages[page as usize] + address % (1 << log_page);
                prop_assert_eq!(list.page(page), Page::at(pages[page as usize]));
                prop_assert_eq!(beat.pa + k, expected);
                address += 1;
            }
            left -= u64::from(beat.len);
            prop_assert_eq!(beat.last, left == 0);
        }
        prop_assert_eq!(left, 0);
    }

    /// The mask holds the first failure, and nothing if all is well.
    #[test]
    fn mask_holds_the_first(
        broken in prop::sample::subsequence((0..BREAKERS.len()).collect::<Vec<_>>(), 0..5),
    ) {
        let mut scene = good_scene(Op::RemoteWrite);
        for n in &broken {
            BREAKERS[*n].1(&mut scene);
        }
        let (first, mask) = check(&scene);
        if broken.is_empty() {
            prop_assert_eq!((first, mask), (Syndrome::Ok, 0));
        } else {
            prop_assert_ne!(first, Syndrome::Ok);
            prop_assert_ne!(mask & first.bit(), 0);
            prop_assert_eq!(mask & 1, 0);
        }
    }
}
