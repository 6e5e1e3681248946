// SPDX-License-Identifier: Apache-2.0
//! `tpt_mpt_check` on its own: the cases that the table of rules is compared on, one per clock,
//! every verdict compared with the golden rules. What is handed on is computed here once more.

use std::collections::VecDeque;

use tpt_golden::keys::KeyMaker;
use tpt_golden::types::{Access, Kind, Op, Request, Role, State, Syndrome, LEVEL_FLAT};
use tpt_golden::unit::{Golden, Region};
use tpt_rulemodel::cases::{Case, Draw, TABLE_SIZE};
use tpt_verilated::{DutOptions, FlatDut, PortRef};

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
    let mut draw = Draw::new(seed);
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
        let send = sent < count && !draw.once_in(10);
        dut.set_u64(valid, send.into());
        let mut wants_lookup = None;
        if send {
            let case = Case::draw(&mut draw);
            wants_lookup = Some(case.needs_key());
            let lookup = case.looked_up();
            dut.set_u64(pay, sent.into());
            dut.set(req, &case.request.pack());
            dut.set_u64(role, case.remote.into());
            dut.set_u64(index, case.index.into());
            dut.set_u64(index_ok, (case.index < TABLE_SIZE).into());
            dut.set_u64(looked_up, lookup.into());
            dut.set(entry_port, &words(&case.entry().encode()));
            dut.set_u64(bus, (lookup && case.bus).into());
            dut.set_u64(bad, (lookup && case.crc_bad).into());
            dut.set_u64(parent, case.window.is_some().into());
            dut.set_u64(disabled, case.disabled.into());
            dut.set_u64(busy, case.tag_busy.into());
            let (syndrome, mask, again) = case.golden(&golden);
            seen[usize::from(syndrome.code())] += 1;
            queue.push_back(Expected {
                pay: sent,
                mask: case.whole().then_some(mask),
                request: case.request,
                region: case.region,
                syndrome,
                index: case.index,
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
