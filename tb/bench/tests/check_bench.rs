// SPDX-License-Identifier: Apache-2.0
//! `tpt_mpt_check` on its own: random requests and entries, biased to boundaries, one per clock,
//! every verdict compared with the golden rules.

use std::collections::VecDeque;
use std::sync::Arc;

use tpt_bench::rng::Rng;
use tpt_golden::codec::MptEntry;
use tpt_golden::frames::FrameList;
use tpt_golden::keys::KeyMaker;
use tpt_golden::types::{
    Access, Encoding, Key, Kind, Op, Request, Role, State, Syndrome, LEVEL_FLAT, LEVEL_INLINE,
};
use tpt_golden::unit::{Conditions, Golden, Parent, Region};
use tpt_verilated::{DutOptions, FlatDut, PortRef};

const TABLE_SIZE: u32 = 1000;

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes
        .chunks(4)
        .map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]))
        .collect()
}

/// Bits `lsb..lsb + width` of a port.
fn field(words: &[u32], lsb: usize, width: usize) -> u64 {
    (0..width).fold(0, |value, bit| {
        let at = lsb + bit;
        value | u64::from(words[at / 32] >> (at % 32) & 1) << bit
    })
}

/// One of the values, or one next to it.
fn near(rng: &mut Rng, values: &[u64]) -> u64 {
    let value = values[rng.below(values.len() as u64) as usize];
    match rng.below(6) {
        0 => value.wrapping_sub(1),
        1 => value.wrapping_add(1),
        2 => value.wrapping_add(rng.below(5000)),
        3 => value & !7,
        _ => value,
    }
}

/// An entry as a region, and how it looks in memory.
fn entry(rng: &mut Rng) -> (Region, MptEntry) {
    let kind = match rng.below(8) {
        0 => Kind::Mw2,
        1 | 2 => Kind::from_code(rng.below(6) as u8).unwrap_or(Kind::Mr),
        _ => Kind::Mr,
    };
    let log_page = match rng.below(8) {
        _ if kind == Kind::Phys => 43,
        0 => 43,
        1 => 30 + rng.below(14) as u8,
        2 => 21,
        _ => 12 + rng.below(10) as u8,
    };
    let size = 1u64 << log_page;
    let low = rng.next_u64() >> rng.below(64);
    let start = near(
        rng,
        &[0, size, low, 0u64.wrapping_sub(size), low & !(size - 1)],
    );
    let room = (0u64.wrapping_sub(start)).wrapping_sub(1);
    let random = rng.next_u64() >> rng.below(64);
    let length = near(
        rng,
        &[1, 8, size, 1 << 31, random, room, room.wrapping_add(1)],
    )
    .min(room.saturating_add(1))
    .max(1);
    let access = Access::from_stored(if rng.chance(3, 4) {
        0x1f | (rng.next_u64() as u16 & 0x20)
    } else {
        rng.next_u64() as u16 & 0x7ff
    });
    // A physical region is never zero-based.
    let access = match kind {
        Kind::Phys => Access(access.0 & !Access::ZERO_BASED.0),
        _ => access,
    };
    let level = match kind {
        Kind::Phys => LEVEL_INLINE,
        _ => rng.below(6) as u8,
    };
    let mut frame = [0; 4];
    for pa in &mut frame {
        *pa = rng.next_u64() & !0xfff;
    }
    if level == LEVEL_FLAT {
        frame[0] |= rng.next_u64() & 0xff8;
    }
    let region = Region {
        index: rng.below(1 << 23) as u32,
        gen: rng.next_u64() as u8,
        first_gen: 0,
        kind,
        pd: rng.below(1 << 24) as u32,
        qpn: rng.below(1 << 24) as u32,
        access,
        start,
        length,
        log_page,
        level,
        log_tpage: 12 + rng.below(5) as u8,
        encoding: Encoding::ALL[rng.below(3) as usize],
        frame,
        lkey: Key(rng.next_u64() as u32),
        rkey: Key(rng.next_u64() as u32),
        bound: rng.below(1 << 23) as u32,
        cap: rng.below(1 << 20) as u32,
        remote_inv: rng.chance(1, 2),
        parent: kind.is_window().then(|| Parent {
            index: rng.below(1 << 23) as u32,
            gen: rng.next_u64() as u8,
            field: rng.below(1 << 24) as u32,
        }),
        pages: Arc::new(FrameList::new(log_page)),
    };
    let state = match rng.below(16) {
        0 => State::Free,
        1 => State::Invalid,
        _ => State::Valid,
    };
    let mut entry = region.entry(state);
    match rng.below(64) {
        0 => entry.state = 3,
        1 => entry.kind = 6 + rng.below(2) as u8,
        2 => entry.log_page = rng.below(12) as u8,
        3 => entry.log_page = 44 + rng.below(20) as u8,
        4 => entry.level = 6 + rng.below(2) as u8,
        5 => entry.log_tpage = 5 + rng.below(3) as u8,
        6 => entry.encoding = 3,
        _ => {}
    }
    (region, entry)
}

fn request(rng: &mut Rng, region: &Region) -> (Request, bool, u32) {
    let op = if rng.chance(1, 20) {
        5 + rng.below(3) as u8
    } else {
        rng.below(5) as u8
    };
    let base = region.base();
    let end = base.wrapping_add(region.length);
    let len = if op == Op::RemoteAtomic.code() && rng.chance(7, 8) {
        8
    } else {
        let whole = region.length;
        near(rng, &[0, 1, 8, 4096, 1 << 31, whole, 1 << 20]) as u32
    };
    let last = end.wrapping_sub(len.into());
    let va = near(
        rng,
        &[
            base,
            base,
            last,
            last,
            end,
            0,
            u64::MAX,
            base | 8,
            base & !7,
        ],
    );
    let local = op < 2;
    let role_is_right = rng.chance(15, 16);
    let remote_key = local != role_is_right;
    let index = if rng.chance(15, 16) {
        region.index % TABLE_SIZE
    } else {
        near(rng, &[u64::from(TABLE_SIZE), 0, (1 << 23) - 1]) as u32 & 0x7f_ffff
    };
    let key = if remote_key { region.rkey } else { region.lkey };
    let tag = key.tag() ^ u8::from(rng.chance(1, 12)) << rng.below(8);
    let wrong_pd = u32::from(rng.chance(1, 12)) << rng.below(24);
    let wrong_qpn = u32::from(rng.chance(1, 4)) << rng.below(24);
    let request = Request {
        tag: rng.below(1024) as u16,
        stream: rng.below(64) as u8,
        op,
        key: Key::new(u32::from(remote_key) << 23 | index, tag),
        va,
        len,
        pd: region.pd ^ wrong_pd,
        qpn: region.qpn ^ wrong_qpn,
    };
    (request, remote_key, index)
}

/// The same request as that of a window that allows it, whose parent is looked up: as it comes to
/// the check, and as the client has sent it.
fn second(rng: &mut Rng, region: &Region, request: &mut Request) -> (Region, Request) {
    let gen = match rng.below(6) {
        0 => region.gen ^ 1 << rng.below(8),
        _ => region.gen,
    };
    if matches!(request.operation(), Some(Op::LocalRead | Op::LocalWrite)) {
        request.op += 2;
    }
    if request.op == Op::RemoteAtomic.code() {
        (request.len, request.va) = (8, request.va & !7);
    }
    // What the window has decided: it would not have let these pass.
    request.len = request.len.clamp(1, 1 << 31);
    request.va = request.va.min(0u64.wrapping_sub(request.len.into()));
    request.key = Key::new(rng.below(1 << 24) as u32, gen);
    let window = Region {
        kind: Kind::Mw1,
        access: Access(Access::ANY_REMOTE.0 | Access::FLUSH_GLOBAL.0 | Access::FLUSH_PERSISTENT.0),
        start: request.va,
        length: request.len.into(),
        rkey: Key::new(1 << 23 | 5, 9),
        parent: Some(Parent {
            index: 0,
            gen,
            field: request.key.field(),
        }),
        ..Region::default()
    };
    let sent = Request {
        key: window.rkey,
        pd: window.pd,
        ..*request
    };
    (window, sent)
}

struct Expected {
    pay: u32,
    request: Request,
    region: Region,
    syndrome: Syndrome,
    mask: Option<u32>,
    index: u32,
    /// A window whose rules hold: to come again.
    again: bool,
}

struct Ports {
    valid: PortRef,
    pay: PortRef,
    syndrome: PortRef,
    empty: PortRef,
    again: PortRef,
    mask: PortRef,
    desc: PortRef,
    pos: PortRef,
}

fn compare(dut: &FlatDut, ports: &Ports, expected: &Expected) {
    let Expected {
        request, region, ..
    } = expected;
    assert_eq!(dut.get_u64(ports.pay) as u32, expected.pay, "order");
    let context = || format!("{request:?}\n{region:?}");
    let syndrome = dut.get_u64(ports.syndrome) as u8;
    assert_eq!(syndrome, expected.syndrome.code(), "{}", context());
    let mask = dut.get_u64(ports.mask) as u32;
    match expected.mask {
        Some(golden) => assert_eq!(mask, golden, "mask {}", context()),
        None if expected.syndrome == Syndrome::Ok => assert_eq!(mask, 0, "mask {}", context()),
        None => assert_ne!(mask & expected.syndrome.bit(), 0, "mask {}", context()),
    }
    let ok = expected.syndrome == Syndrome::Ok;
    let empty = ok && request.len == 0;
    let again = dut.get_u64(ports.again) != 0;
    assert_eq!(again, expected.again, "{}", context());
    assert_eq!(dut.get_u64(ports.empty) != 0, empty, "{}", context());
    let (desc, pos) = (dut.get(ports.desc), dut.get(ports.pos));
    if !ok || empty {
        // What is refused says nothing about the region.
        assert!(
            desc.iter().chain(pos).all(|word| *word == 0),
            "{}",
            context()
        );
        return;
    }
    let mut entry = region.entry(State::Valid);
    let phys = region.kind == Kind::Phys;
    if phys {
        // No table: the page of the address and the next one, not to be judged.
        let page = request.va >> 43;
        entry.encoding = 3;
        entry.frame = [page << 31, (page + 1) << 31 & ((1 << 52) - 1), 0, 0];
    }
    for (k, frame) in entry.frame.iter().enumerate() {
        assert_eq!(field(desc, 52 * k, 52), *frame, "frame {k}, {}", context());
    }
    let relaxed = region.access.contains(Access::RELAXED_ORDERING)
        && request.operation() != Some(Op::RemoteAtomic);
    let write = request.operation().is_some_and(Op::writes);
    for (what, lsb, width, value) in [
        ("write", 208, 1, u64::from(write)),
        ("encoding", 209, 2, u64::from(entry.encoding)),
        ("log_tpage", 211, 3, u64::from(entry.log_tpage)),
        ("log_page", 214, 6, u64::from(entry.log_page)),
        ("level", 220, 3, u64::from(entry.level)),
        ("gen", 223, 8, u64::from(entry.gen)),
        ("index", 231, 23, u64::from(expected.index)),
        ("relaxed", 254, 1, u64::from(relaxed)),
        (
            "ondemand",
            255,
            1,
            u64::from(region.access.contains(Access::ON_DEMAND)),
        ),
        ("tag", 256, 10, u64::from(request.tag)),
    ] {
        assert_eq!(field(desc, lsb, width), value, "{what}, {}", context());
    }
    let size = 1u128 << region.log_page;
    let from_page =
        u128::from(request.va.wrapping_sub(region.base())) + u128::from(region.start) % size;
    let offset = from_page % size;
    let flat = if region.level == LEVEL_FLAT {
        region.frame[0] >> 3 & 0x1ff
    } else {
        0
    };
    let pages = (offset + u128::from(request.len)).div_ceil(size);
    for (what, lsb, width, value) in [
        ("rem", 0, 32, u128::from(request.len)),
        ("off", 32, 43, offset),
        ("np", 75, 20, pages),
        (
            "idx",
            95,
            40,
            match phys {
                true => 0,
                false => (from_page / size + u128::from(flat)) % (1 << 40),
            },
        ),
    ] {
        assert_eq!(
            u128::from(field(pos, lsb, width)),
            value,
            "{what}, {}",
            context()
        );
    }
}

fn run(seed: u64, count: u32) {
    let mut dut = FlatDut::new("tb_mpt_check", &DutOptions::default()).expect("built");
    let mut rng = Rng::new(seed);
    let golden = Golden::enabled(KeyMaker::new([0; 4], [0; 4], true), TABLE_SIZE, 3);
    let ports = Ports {
        valid: dut.port("valid_o"),
        pay: dut.port("pay_o"),
        syndrome: dut.port("syndrome_o"),
        empty: dut.port("empty_o"),
        again: dut.port("again_o"),
        mask: dut.port("mask_o"),
        desc: dut.port("desc_o"),
        pos: dut.port("pos_o"),
    };
    let input = |dut: &FlatDut, name: &str| dut.port(name);
    let (reset, valid) = (input(&dut, "rst_ni"), input(&dut, "valid_i"));
    let (pay, req) = (input(&dut, "pay_i"), input(&dut, "req_i"));
    let (role, index) = (input(&dut, "role_i"), input(&dut, "index_i"));
    let (index_ok, looked_up) = (input(&dut, "index_ok_i"), input(&dut, "looked_up_i"));
    let (entry_port, bus) = (input(&dut, "entry_i"), input(&dut, "bus_err_i"));
    let (bad, parent) = (input(&dut, "mpt_bad_i"), input(&dut, "parent_i"));
    let (disabled, busy) = (input(&dut, "disabled_i"), input(&dut, "tag_busy_i"));
    let needs = dut.port("needs_lookup_o");
    for _ in 0..4 {
        dut.tick().expect("reset");
    }
    dut.set_u64(reset, 1);
    let mut queue: VecDeque<Expected> = VecDeque::new();
    let (mut sent, mut got) = (0, 0);
    let mut seen = [0u32; 18];
    while got < count {
        let send = sent < count && rng.chance(9, 10);
        dut.set_u64(valid, send.into());
        let mut wants_lookup = None;
        if send {
            let (region, entry) = entry(&mut rng);
            let (mut request, mut remote, key_index) = request(&mut rng, &region);
            let window = rng.chance(1, 4).then(|| {
                remote = rng.chance(1, 10);
                second(&mut rng, &region, &mut request)
            });
            let atomic = request.op == Op::RemoteAtomic.code();
            let needed =
                !(atomic && request.len != 8) && request.len != 0 && request.len <= 1 << 31;
            wants_lookup = Some(needed);
            let in_table = key_index < TABLE_SIZE;
            let crc_bad = rng.chance(1, 40);
            let mut conditions = Conditions {
                disabled: rng.chance(1, 40),
                tag_busy: rng.chance(1, 40) && window.is_none(),
                bus: rng.chance(1, 40),
                mpt_bad: crc_bad || entry.state == State::Valid.code() && entry.legal().is_err(),
                invalid: [State::Invalid, State::Alloc]
                    .iter()
                    .any(|state| state.code() == entry.state),
                ..Conditions::default()
            };
            let lookup = needed && in_table && !conditions.disabled && !conditions.tag_busy;
            dut.set_u64(pay, sent.into());
            dut.set(req, &request.pack());
            dut.set_u64(role, remote.into());
            dut.set_u64(index, key_index.into());
            dut.set_u64(index_ok, in_table.into());
            dut.set_u64(looked_up, lookup.into());
            dut.set(entry_port, &words(&entry.encode()));
            dut.set_u64(bus, (lookup && conditions.bus).into());
            dut.set_u64(bad, (lookup && crc_bad).into());
            dut.set_u64(parent, window.is_some().into());
            dut.set_u64(disabled, conditions.disabled.into());
            dut.set_u64(busy, conditions.tag_busy.into());
            if !lookup {
                (conditions.bus, conditions.mpt_bad, conditions.invalid) = (false, false, false);
            }
            let known = lookup && entry.state != State::Free.code();
            let valid = entry.state == State::Valid.code();
            let (syndrome, mask, again) = match &window {
                Some((window, sent)) => {
                    let conditions = Conditions {
                        disabled: conditions.disabled,
                        parent_bus: conditions.bus,
                        parent_bad: conditions.mpt_bad,
                        parent_gone: remote || !in_table,
                        ..Conditions::default()
                    };
                    let parent = (lookup && valid).then_some(&region);
                    let (syndrome, mask) =
                        golden.check_with(&conditions, Some(window), parent, sent);
                    (syndrome, mask, false)
                }
                None => {
                    // If there is a parent in order.
                    let parent = region.parent.map(|parent| Region {
                        gen: parent.gen,
                        start: region.in_parent(request.va),
                        length: request.len.into(),
                        ..Region::default()
                    });
                    let (syndrome, mask) = golden.check_with(
                        &conditions,
                        known.then_some(&region),
                        parent.as_ref(),
                        &request,
                    );
                    let again = syndrome == Syndrome::Ok && lookup && region.kind.is_window();
                    match again {
                        true => (Syndrome::Parent, 0, true),
                        false => (syndrome, mask, false),
                    }
                }
            };
            // Where the entry is in order both masks are complete.
            let clean = lookup && !conditions.bus && !conditions.mpt_bad;
            let whole = clean && valid;
            seen[usize::from(syndrome.code())] += 1;
            queue.push_back(Expected {
                pay: sent,
                request,
                region,
                syndrome,
                mask: whole.then_some(mask),
                index: key_index,
                again,
            });
            sent += 1;
        }
        dut.tick().unwrap_or_else(|error| panic!("{error}"));
        if let Some(needed) = wants_lookup {
            assert_eq!(dut.get_u64(needs) != 0, needed);
        }
        if dut.get_u64(ports.valid) != 0 {
            let expected = queue.pop_front().expect("a verdict without a request");
            compare(&dut, &ports, &expected);
            got += 1;
        }
        assert!(queue.len() <= 8, "the latency is fixed and short");
    }
    let walk = [Syndrome::MttAbsent, Syndrome::MttBad].map(|s| usize::from(s.code()));
    for (code, count) in seen.iter().enumerate() {
        assert!(
            walk.contains(&code) || *count > 20 || got < 100_000,
            "syndrome {code}: {count} times"
        );
    }
}

#[test]
fn random_requests() {
    run(1, 150_000);
}

#[test]
fn random_requests_with_another_seed() {
    run(0xfeed, 150_000);
}

/// The same request and entry give the same verdict, whatever went before.
#[test]
fn verdicts_do_not_depend_on_neighbours() {
    for seed in 0..20 {
        run(1000 + seed, 3_000);
    }
}

/// `Role` of the codec and of the wrapper are the same bit.
#[test]
fn roles_are_numbered_alike() {
    assert_eq!((Role::Local.code(), Role::Remote.code()), (0, 1));
}
