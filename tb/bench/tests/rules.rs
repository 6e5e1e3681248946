// SPDX-License-Identifier: Apache-2.0
//! One quick directed check per rule, on the small configuration: every syndrome, every status, the
//! fence, keys, generations. This is the test that planted mutants of the RTL must fail.

use std::ops::RangeInclusive;
use std::sync::Arc;

use tpt_bench::axi::{Fault, FaultOn};
use tpt_bench::rig::{Mr, Rig, Spec, ALL_RIGHTS};
use tpt_bench::{BenchError, BenchOptions, Clocks, CommandExtra, DonePolicy, Issue, UnitConfig};
use tpt_golden::codec::{MptEntry, MPT_BYTES};
use tpt_golden::frames::{FrameList, Page};
use tpt_golden::mtt::Shape;
use tpt_golden::regs;
use tpt_golden::types::{
    rereg, Access, CmdOp, Command, Encoding, Key, Kind, Op, Request, Role, State, Status, Syndrome,
    LEVEL_FLAT, LEVEL_INLINE,
};
use tpt_golden::unit::{Conditions, Region};

type Result<T = ()> = std::result::Result<T, BenchError>;

const START: u64 = 0x1000_0234;
const PA: u64 = 0x40_0000_0000;

fn fast() -> BenchOptions {
    let mut options = BenchOptions {
        patience: 20_000,
        ..BenchOptions::default()
    };
    options.axi.read_latency = Clocks::range(1, 8);
    options.axi.write_latency = Clocks::range(1, 3);
    options
}

fn rig() -> Result<Rig> {
    Rig::new(fast(), &UnitConfig::default())
}

/// A region of 6 pages that starts inside its first page.
fn region(rig: &mut Rig) -> Result<Mr> {
    rig.register(Spec::new(START, 0x5300, 12, PA))
}

/// Refused twice (as a miss and as a hit), and afterwards a good request still passes.
fn refused(rig: &mut Rig, mr: &Mr, request: Request, syndrome: Syndrome) -> Result {
    for client in [0, 1] {
        let outcome = rig.expect(client, request, syndrome)?;
        assert_eq!((outcome.segments, outcome.beats.len()), (0, 1));
    }
    rig.expect(0, mr.request(Op::LocalRead, mr.spec.start, 1), Syndrome::Ok)?;
    Ok(())
}

// -------------------------------------------------------------------------------------------------
// Rules 0 to 12
// -------------------------------------------------------------------------------------------------

#[test]
fn rule_0_atomics_are_8_bytes_long_before_anything_else() -> Result {
    let mut rig = rig()?;
    let mr = region(&mut rig)?;
    for len in [0, 1, 4, 7, 9, 16, 0x8000_0001] {
        let request = mr.request(Op::RemoteAtomic, START + 4, len);
        refused(&mut rig, &mr, request, Syndrome::Align)?;
        let wrong_key = Request {
            key: Key(0xdead_beef),
            ..request
        };
        refused(&mut rig, &mr, wrong_key, Syndrome::Align)?;
    }
    rig.expect(0, mr.request(Op::RemoteAtomic, START + 4, 8), Syndrome::Ok)?;
    Ok(())
}

#[test]
fn rule_0_empty_requests_pass_without_a_key() -> Result {
    let mut rig = rig()?;
    let mr = region(&mut rig)?;
    for op in [
        Op::LocalRead,
        Op::LocalWrite,
        Op::RemoteRead,
        Op::RemoteWrite,
    ] {
        for key in [Key::NONE, Key(0xffff_ffff), mr.lkey] {
            let request = Request {
                key,
                pd: 0x99,
                ..mr.request(op, !0, 0)
            };
            let outcome = rig.expect(1, request, Syndrome::Ok)?;
            let beat = outcome.beats[0];
            assert_eq!(
                (beat.pa, beat.len, beat.first, beat.last),
                (0, 0, true, true)
            );
            assert_eq!(outcome.beats.len(), 1);
        }
    }
    // The unused operation codes are no atomics.
    rig.expect(
        0,
        Request {
            op: 6,
            ..mr.request(Op::LocalRead, 0, 0)
        },
        Syndrome::Ok,
    )?;
    Ok(())
}

#[test]
fn rule_1_length() -> Result {
    let mut rig = rig()?;
    let mut list = FrameList::new(30);
    for page in [9u64, 4, 7] {
        list.push(1, Page::at(page << 40));
    }
    let spec = Spec {
        list,
        ..Spec::new(1 << 34, 3 << 30, 30, 0)
    };
    let mr = rig.register(spec)?;
    for (op, va) in [
        (Op::RemoteRead, 1 << 34),
        (Op::LocalWrite, (1 << 34) + 0x1234),
    ] {
        let outcome = rig.expect(0, mr.request(op, va, 1 << 31), Syndrome::Ok)?;
        assert_eq!(outcome.bytes, 1 << 31);
        refused(
            &mut rig,
            &mr,
            mr.request(op, va, (1 << 31) + 1),
            Syndrome::Length,
        )?;
        refused(
            &mut rig,
            &mr,
            mr.request(op, va, u32::MAX),
            Syndrome::Length,
        )?;
        // The key is not looked at.
        let wrong = Request {
            key: Key(7),
            ..mr.request(op, va, (1 << 31) + 1)
        };
        refused(&mut rig, &mr, wrong, Syndrome::Length)?;
    }
    Ok(())
}

#[test]
fn rule_2_key_index() -> Result {
    let mut rig = rig()?;
    let mr = region(&mut rig)?;
    let size = rig.bench.unit().mpt_size;
    for (op, role) in [(Op::LocalRead, Role::Local), (Op::RemoteRead, Role::Remote)] {
        for index in [size, size + 1, size + mr.index, 1 << 22, (1 << 23) - 1] {
            let key = Key::new(rig.bench.golden.keys().field(role, index), 0x5a);
            let request = Request {
                key,
                ..mr.request(op, START, 1)
            };
            refused(&mut rig, &mr, request, Syndrome::KeyIndex)?;
        }
        let key = Key::new(rig.bench.golden.keys().field(role, size - 1), 0x5a);
        let request = Request {
            key,
            ..mr.request(op, START, 1)
        };
        refused(&mut rig, &mr, request, Syndrome::KeyState)?;
    }
    Ok(())
}

#[test]
fn rule_3_key_state() -> Result {
    let mut rig = rig()?;
    let mr = region(&mut rig)?;
    let gone = region(&mut rig)?;
    let request = gone.request(Op::RemoteRead, START, 8);
    let local = gone.request(Op::LocalWrite, START, 8);
    rig.expect(0, request, Syndrome::Ok)?;
    rig.deregister(gone)?;
    refused(&mut rig, &mr, request, Syndrome::KeyState)?;
    refused(&mut rig, &mr, local, Syndrome::KeyState)?;
    // An entry that nobody ever used, index 0 among them.
    for index in [0, 17] {
        let field = rig.bench.golden.keys().field(Role::Local, index);
        let fresh = Request {
            key: Key::new(field, 0),
            ..mr.request(Op::LocalRead, START, 1)
        };
        refused(&mut rig, &mr, fresh, Syndrome::KeyState)?;
    }
    Ok(())
}

#[test]
fn rule_4_tag_and_role() -> Result {
    let mut rig = rig()?;
    let mr = region(&mut rig)?;
    for bit in 0..8 {
        for op in [Op::LocalRead, Op::RemoteRead] {
            let mut request = mr.request(op, START, 1);
            request.key = Key(request.key.0 ^ 1 << bit);
            refused(&mut rig, &mr, request, Syndrome::KeyTag)?;
        }
    }
    // Neither key works in the other's role.
    let local = Request {
        key: mr.rkey,
        ..mr.request(Op::LocalRead, START, 1)
    };
    refused(&mut rig, &mr, local, Syndrome::KeyTag)?;
    for op in [Op::RemoteRead, Op::RemoteWrite, Op::RemoteAtomic] {
        let remote = Request {
            key: mr.lkey,
            ..mr.request(op, START + 4, 8)
        };
        refused(&mut rig, &mr, remote, Syndrome::KeyTag)?;
    }
    // The field of one role with the tag of the other.
    let mixed = Key::new(mr.lkey.field(), mr.rkey.tag());
    assert_ne!(mr.lkey.tag(), mr.rkey.tag(), "a test needs two tags");
    refused(
        &mut rig,
        &mr,
        Request {
            key: mixed,
            ..local
        },
        Syndrome::KeyTag,
    )?;
    Ok(())
}

#[test]
fn rule_4_a_region_without_remote_rights_has_no_r_key() -> Result {
    let mut rig = rig()?;
    let mr = rig.register(Spec::new(START, 0x2000, 12, PA).access(Access::LOCAL_WRITE))?;
    assert_eq!(mr.rkey, Key::NONE);
    let field = rig.bench.golden.keys().field(Role::Remote, mr.index);
    for tag in 0..=255 {
        let key = Key::new(field, tag);
        let request = Request {
            key,
            ..mr.request(Op::RemoteRead, START, 1)
        };
        rig.expect(0, request, Syndrome::KeyTag)?;
    }
    Ok(())
}

#[test]
fn rule_5_protection_domain() -> Result {
    let mut rig = rig()?;
    let mr = rig.register(Spec {
        pd: 0xa5_5a11,
        ..Spec::new(START, 0x2000, 12, PA)
    })?;
    for bit in 0..24 {
        let request = mr.request(Op::RemoteRead, START, 1);
        let request = Request {
            pd: request.pd ^ 1 << bit,
            ..request
        };
        refused(&mut rig, &mr, request, Syndrome::Pd)?;
    }
    Ok(())
}

/// Writes an entry into the MPT behind the unit's back, on an index it does not use yet.
fn plant(rig: &mut Rig, region: Region) -> Arc<Region> {
    let region = Arc::new(region);
    let address = rig.bench.entry_address(region.index);
    rig.host
        .mem
        .write(address, &region.entry(State::Valid).encode());
    region
}

/// A region as the unit would make it, for [`plant`].
fn planted(rig: &Rig, index: u32, spec: &Spec) -> Region {
    let (lkey, rkey) = rig.bench.golden.keys().keys(index, 3, spec.access);
    Region {
        index,
        gen: 3,
        kind: Kind::Mr,
        pd: spec.pd,
        qpn: 0,
        access: spec.access,
        start: spec.start,
        length: spec.length,
        log_page: spec.list.log_page(),
        level: LEVEL_INLINE,
        log_tpage: 12,
        encoding: Encoding::Raw,
        frame: [PA, 0, 0, 0],
        lkey,
        rkey,
        pages: Arc::new(FrameList::contiguous(12, PA, 1)),
        ..Region::default()
    }
}

fn ask(rig: &mut Rig, region: &Arc<Region>, request: Request, syndrome: Syndrome) -> Result {
    for _ in 0..2 {
        let issue = Issue {
            region: Some(region.clone()),
            keep_beats: true,
            ..Issue::default()
        };
        let outcome = rig
            .bench
            .access_with(&mut rig.host.mem, 0, request, issue)?;
        assert_eq!(outcome.syndrome, syndrome, "{request:?}");
    }
    Ok(())
}

#[test]
fn rule_6_queue_pair_of_a_type_2_window() -> Result {
    let mut rig = rig()?;
    let spec = Spec::new(0x1000, 0x1000, 12, PA);
    let window = planted(&rig, 40, &spec);
    let window = plant(
        &mut rig,
        Region {
            kind: Kind::Mw2,
            qpn: 0x51_2345,
            ..window
        },
    );
    let request = Request {
        op: Op::RemoteRead.code(),
        key: window.rkey,
        va: 0x1000,
        len: 8,
        pd: 1,
        qpn: 0x51_2345,
        ..Request::default()
    };
    for bit in 0..24 {
        let request = Request {
            qpn: request.qpn ^ 1 << bit,
            ..request
        };
        ask(&mut rig, &window, request, Syndrome::Qp)?;
    }
    // Another PD comes first; a window has no L_Key.
    let other = Request {
        pd: 2,
        qpn: 0,
        ..request
    };
    ask(&mut rig, &window, other, Syndrome::Pd)?;
    let local = Request {
        op: Op::LocalRead.code(),
        key: window.lkey,
        ..request
    };
    ask(&mut rig, &window, local, Syndrome::KeyTag)?;
    // A region takes any queue pair.
    let region = planted(&rig, 41, &spec);
    let region = plant(
        &mut rig,
        Region {
            qpn: 0x51_2345,
            ..region
        },
    );
    let any = Request {
        key: region.rkey,
        qpn: 5,
        ..request
    };
    ask(&mut rig, &region, any, Syndrome::Ok)
}

#[test]
fn rule_7_rights() -> Result {
    let mut rig = rig()?;
    let needs = [
        (Op::LocalRead, Access::NONE),
        (Op::LocalWrite, Access::LOCAL_WRITE),
        (Op::RemoteRead, Access::REMOTE_READ),
        (Op::RemoteWrite, Access::REMOTE_WRITE),
        (Op::RemoteAtomic, Access::REMOTE_ATOMIC),
    ];
    for bits in 0..16u32 {
        let access = Access(bits);
        let changes = access.intersects(Access::REMOTE_WRITE | Access::REMOTE_ATOMIC);
        if changes && !access.contains(Access::LOCAL_WRITE) {
            continue;
        }
        let mr = rig.register(Spec::new(START, 0x1000, 12, PA).access(access))?;
        for (op, need) in needs {
            let mut request = mr.request(op, START + 4, 8);
            let remote = op.role() == Role::Remote;
            let syndrome = if remote && !access.intersects(Access::ANY_REMOTE) {
                let field = rig.bench.golden.keys().field(Role::Remote, mr.index);
                request.key = Key::new(field, 0);
                Syndrome::KeyTag
            } else if access.contains(need) {
                Syndrome::Ok
            } else {
                Syndrome::Rights
            };
            rig.expect(0, request, syndrome)?;
        }
        for op in 5..8 {
            let request = Request {
                op,
                ..mr.request(Op::RemoteRead, START, 1)
            };
            let syndrome = if mr.rkey == Key::NONE {
                Syndrome::KeyState
            } else {
                Syndrome::Rights
            };
            if mr.rkey != Key::NONE {
                rig.expect(1, request, syndrome)?;
            }
        }
        rig.deregister(mr)?;
    }
    Ok(())
}

#[test]
fn rule_8_wrap() -> Result {
    let mut rig = rig()?;
    // A region that ends exactly at 2^64.
    let start = 0u64.wrapping_sub(0x3000);
    let mr = rig.register(Spec::new(start, 0x3000, 12, PA))?;
    rig.expect(0, mr.request(Op::RemoteRead, !0, 1), Syndrome::Ok)?;
    rig.expect(0, mr.request(Op::RemoteRead, start, 0x3000), Syndrome::Ok)?;
    refused(
        &mut rig,
        &mr,
        mr.request(Op::RemoteRead, !0, 2),
        Syndrome::Wrap,
    )?;
    refused(
        &mut rig,
        &mr,
        mr.request(Op::LocalRead, start, 0x3001),
        Syndrome::Wrap,
    )?;
    refused(
        &mut rig,
        &mr,
        mr.request(Op::LocalRead, start + 1, 0x3000),
        Syndrome::Wrap,
    )?;
    // An address that wraps into a region at the bottom.
    let low = rig.register(Spec::new(0x10, 0x1000, 12, PA))?;
    let request = low.request(Op::RemoteWrite, 0u64.wrapping_sub(0x40), 0x60);
    refused(&mut rig, &low, request, Syndrome::Wrap)?;
    let request = low.request(Op::RemoteWrite, 0u64.wrapping_sub(0x40), 0x40);
    refused(&mut rig, &low, request, Syndrome::Bounds)
}

#[test]
fn rule_9_bounds() -> Result {
    let mut rig = rig()?;
    let (start, length) = (START, 0x5300u64);
    let mr = region(&mut rig)?;
    for (va, len, good) in [
        (start, 1, true),
        (start, length as u32, true),
        (start + length - 1, 1, true),
        (start + 0x1000, 0x4300, true),
        (start - 1, 1, false),
        (start - 1, 2, false),
        (start + length - 1, 2, false),
        (start + length, 1, false),
        (start + length + 1, 1, false),
        (start, length as u32 + 1, false),
        (start + 1, length as u32, false),
        (start & !0xfff, 1, false),
        (start + (1 << 32), 1, false),
        (start | 1 << 63, 1, false),
        (0, 1, false),
        (0x234, 1, false),
        (start, 1 << 31, false),
    ] {
        for op in [Op::LocalWrite, Op::RemoteRead] {
            let syndrome = if good { Syndrome::Ok } else { Syndrome::Bounds };
            rig.expect(0, mr.request(op, va, len), syndrome)?;
        }
    }
    Ok(())
}

#[test]
fn rule_9_zero_based_regions_count_from_zero() -> Result {
    let mut rig = rig()?;
    let access = ALL_RIGHTS | Access::ZERO_BASED;
    let mr = rig.register(Spec::new(START, 0x5300, 12, PA).access(access))?;
    for (va, len, syndrome) in [
        (0, 1, Syndrome::Ok),
        (0, 0x5300, Syndrome::Ok),
        (0x52ff, 1, Syndrome::Ok),
        (0xdcb, 2, Syndrome::Ok),
        (0x52ff, 2, Syndrome::Bounds),
        (0x5300, 1, Syndrome::Bounds),
        (START, 1, Syndrome::Bounds),
        (!0, 1, Syndrome::Bounds),
        (!0, 2, Syndrome::Wrap),
    ] {
        rig.expect(0, mr.request(Op::RemoteRead, va, len), syndrome)?;
    }
    Ok(())
}

#[test]
fn rule_10_atomics_are_aligned() -> Result {
    let mut rig = rig()?;
    let mr = rig.register(Spec::new(0x8000, 0x2000, 12, PA))?;
    for offset in 0..16 {
        let syndrome = if offset % 8 == 0 {
            Syndrome::Ok
        } else {
            Syndrome::Align
        };
        rig.expect(
            0,
            mr.request(Op::RemoteAtomic, 0x8ff0 + offset, 8),
            syndrome,
        )?;
    }
    // Other operations may start anywhere.
    rig.expect(0, mr.request(Op::RemoteWrite, 0x8ff3, 8), Syndrome::Ok)?;
    Ok(())
}

#[test]
fn rules_are_applied_in_their_order() -> Result {
    let mut rig = rig()?;
    let mr = rig.register(Spec::new(START, 0x5300, 12, PA).access(Access::REMOTE_READ))?;
    let good = mr.request(Op::RemoteRead, START + 4, 8);
    let wrong_tag = Key(good.key.0 ^ 1);
    let free = Key::new(rig.bench.golden.keys().field(Role::Remote, 50), 0);
    let outside = Key::new(rig.bench.golden.keys().field(Role::Remote, 1000), 0);
    let write = Op::RemoteWrite.code();
    let atomic = Op::RemoteAtomic.code();
    let top = !0 - 3;
    for (request, syndrome) in [
        (
            Request {
                op: atomic,
                len: 9,
                key: outside,
                pd: 9,
                va: top,
                ..good
            },
            Syndrome::Align,
        ),
        (
            Request {
                len: !0,
                key: outside,
                pd: 9,
                va: top,
                op: write,
                ..good
            },
            Syndrome::Length,
        ),
        (
            Request {
                key: outside,
                pd: 9,
                va: top,
                op: write,
                ..good
            },
            Syndrome::KeyIndex,
        ),
        (
            Request {
                key: free,
                pd: 9,
                va: top,
                op: write,
                ..good
            },
            Syndrome::KeyState,
        ),
        (
            Request {
                key: wrong_tag,
                pd: 9,
                va: top,
                op: write,
                ..good
            },
            Syndrome::KeyTag,
        ),
        (
            Request {
                pd: 9,
                va: top,
                op: write,
                ..good
            },
            Syndrome::Pd,
        ),
        (
            Request {
                va: top,
                op: write,
                ..good
            },
            Syndrome::Rights,
        ),
        (
            Request {
                va: top,
                op: atomic,
                ..good
            },
            Syndrome::Rights,
        ),
        (Request { va: top, ..good }, Syndrome::Wrap),
        (Request { va: 1, ..good }, Syndrome::Bounds),
    ] {
        rig.expect(0, request, syndrome)?;
    }
    // Bounds before alignment.
    let rw = rig.register(Spec::new(START, 0x5300, 12, PA))?;
    rig.expect(
        0,
        rw.request(Op::RemoteAtomic, START - 1, 8),
        Syndrome::Bounds,
    )?;
    rig.expect(
        0,
        rw.request(Op::RemoteAtomic, START + 1, 8),
        Syndrome::Align,
    )?;
    rig.expect(0, rw.request(Op::RemoteAtomic, !0 - 6, 8), Syndrome::Wrap)?;
    Ok(())
}

#[test]
fn rule_11_a_window_without_its_parent() -> Result {
    let mut rig = rig()?;
    let spec = Spec::new(0x1000, 0x1000, 12, PA);
    let window = planted(&rig, 40, &spec);
    let window = plant(
        &mut rig,
        Region {
            kind: Kind::Mw1,
            bound: 5,
            ..window
        },
    );
    let request = Request {
        op: Op::RemoteRead.code(),
        key: window.rkey,
        va: 0x1000,
        len: 8,
        pd: 1,
        ..Request::default()
    };
    for (request, syndrome) in [
        (request, Syndrome::Parent),
        (
            Request {
                va: 0x1ff9,
                ..request
            },
            Syndrome::Bounds,
        ),
    ] {
        let conditions = Conditions {
            parent_gone: true,
            ..Conditions::default()
        };
        let issue = Issue {
            region: Some(window.clone()),
            conditions,
            ..Issue::default()
        };
        let outcome = rig
            .bench
            .access_with(&mut rig.host.mem, 0, request, issue)?;
        assert_eq!(outcome.syndrome, syndrome);
    }
    Ok(())
}

/// A region of `pages` pages whose page `at` is `fault`.
fn faulty(encoding: Encoding, pages: u64, at: u64, fault: Page) -> Spec {
    let mut spec = Spec::new(0x10_0000, pages << 12, 12, PA);
    spec.list.set(at..at + 1, fault);
    spec.shape = Shape {
        encoding,
        level: Some(1),
        ..spec.shape
    };
    spec
}

#[test]
fn rule_12_absent_and_bad_entries() -> Result {
    let mut rig = rig()?;
    for encoding in Encoding::ALL.iter().copied() {
        for (fault, syndrome) in [
            (Page::Absent, Syndrome::MttAbsent),
            (Page::Bad, Syndrome::MttBad),
        ] {
            for at in [0, 1, 4, 7] {
                let mr = rig.register(faulty(encoding, 8, at, fault))?;
                let base = mr.spec.start;
                for client in [0, 1] {
                    // The pages before it come out, then the fault ends the request.
                    let all = mr.request(Op::RemoteRead, base, 8 << 12);
                    let outcome = rig.expect(client, all, syndrome)?;
                    assert_eq!(outcome.segments, at);
                    let beat = outcome.beats[at as usize];
                    assert_eq!((beat.pa, beat.len, beat.first), (0, 0, at == 0));
                }
                // Only who touches it meets it.
                let page = base + (at << 12);
                rig.expect(0, mr.request(Op::LocalRead, page + 0xfff, 1), syndrome)?;
                // Absent is judged before bad: an empty entry is not writable either.
                rig.expect(0, mr.request(Op::LocalWrite, page, 1), syndrome)?;
                if at > 0 {
                    rig.expect(0, mr.request(Op::LocalRead, page - 1, 1), Syndrome::Ok)?;
                    rig.expect(0, mr.request(Op::LocalRead, page - 1, 2), syndrome)?;
                }
                if at < 7 {
                    rig.expect(0, mr.request(Op::LocalRead, page + 0x1000, 1), Syndrome::Ok)?;
                }
                rig.deregister(mr)?;
            }
        }
    }
    Ok(())
}

/// A unit with these host windows in force.
fn hosted(windows: &[RangeInclusive<u64>], merge: bool) -> Result<Rig> {
    let unit = UnitConfig {
        host_windows: windows.to_vec(),
        merge,
        phys: true,
        ..UnitConfig::default()
    };
    Rig::new(fast(), &unit)
}

/// Page `at` of eight lies outside of the host windows: the pages before it come out, then HOST_WIN
/// ends the request, the first time and out of the caches; requests to the other pages are good.
/// Four windows, in each of which two of the pages lie.
#[test]
fn rule_12_host_windows() -> Result {
    let window = |n: u64| PA + (n << 30)..=PA + (n << 30) + 0x1fff;
    let page = |at: u64| PA + ((at / 2) << 30) + (at % 2) * 0x1000;
    let windows: Vec<_> = (0..4).map(window).collect();
    let outside = [
        PA - 0x1000,
        PA + 0x2000,
        PA + (3 << 30) + 0x2000,
        page(3) | 1 << 63,
        0x1000,
        !0xfff,
    ];
    for merge in [false, true] {
        let mut rig = hosted(&windows, merge)?;
        for (turn, at) in [0, 1, 4, 7].into_iter().enumerate() {
            for level in [1, 2, LEVEL_FLAT] {
                let mut spec = Spec::new(0x10_0000, 8 << 12, 12, PA).level(level);
                for n in 0..8 {
                    spec.list.set(n..n + 1, Page::at(page(n)));
                }
                let bad = outside[(turn + usize::from(level)) % outside.len()];
                spec.list.set(at..at + 1, Page::at(bad));
                let mr = rig.register(spec)?;
                let base = mr.spec.start;
                for client in [0, 1] {
                    let all = mr.request(Op::RemoteRead, base, 8 << 12);
                    let outcome = rig.expect(client, all, Syndrome::HostWin)?;
                    let last = outcome.beats.last().expect("a beat");
                    assert_eq!((last.pa, last.len, last.first), (0, 0, at == 0));
                    assert_eq!(outcome.bytes, at << 12);
                }
                for n in 0..8 {
                    let syndrome = match n == at {
                        true => Syndrome::HostWin,
                        false => Syndrome::Ok,
                    };
                    for op in [Op::LocalRead, Op::RemoteWrite] {
                        let va = base + (n << 12);
                        rig.expect(0, mr.request(op, va, 0x1000), syndrome)?;
                        rig.expect(1, mr.request(op, va + 0xff8, 8), syndrome)?;
                    }
                }
                rig.deregister(mr)?;
            }
        }
    }
    Ok(())
}

/// A segment counts whole: pages of 2 MiB of which a window holds a part, and physical regions.
#[test]
fn rule_12_segments_over_the_edge_of_a_host_window() -> Result {
    let first = PA + 0x20_0000 + 0x3000;
    let last = PA + 0x20_0000 + 0x7fff;
    let mut rig = hosted(&[0x1000..=0x1fff, first..=last], false)?;
    let mut spec = Spec::new(0, 4 << 21, 21, PA).level(1);
    for n in 0..4 {
        spec.list.set(n..n + 1, Page::at(PA + (n << 21)));
    }
    let mr = rig.register(spec)?;
    let phys = Command {
        start: PA,
        length: 4 << 21,
        access: 0xf,
        pd: 1,
        op: CmdOp::RegPhys.code(),
        id: rig.id(),
        ..Command::default()
    };
    let phys = rig.command(phys, CommandExtra::default())?;
    assert_eq!(phys.status, Status::Ok);
    let (first, last) = (first - PA, last - PA);
    for (va, len, inside) in [
        (first, 1, true),
        (first, 0x5000, true),
        (last, 1, true),
        (first - 1, 1, false),
        (first - 1, 2, false),
        (first, 0x5001, false),
        (last, 2, false),
        (last + 1, 1, false),
        (first - 1, 0x5002, false),
        // Over the end of the page, and from the page before.
        (last, 0x40_0000, false),
        (first - 0x1000, 0x40_0000, false),
    ] {
        let syndrome = match inside {
            true => Syndrome::Ok,
            false => Syndrome::HostWin,
        };
        for client in [0, 1] {
            rig.expect(client, mr.request(Op::LocalRead, va, len), syndrome)?;
            let request = Request {
                op: Op::RemoteWrite.code(),
                key: phys.rkey,
                va: PA + va,
                len,
                pd: 1,
                ..Request::default()
            };
            rig.expect(client, request, syndrome)?;
        }
    }
    // What is refused by an earlier rule does not become HOST_WIN.
    let wrong = Request {
        pd: 2,
        ..mr.request(Op::LocalRead, 0, 1)
    };
    rig.expect(0, wrong, Syndrome::Pd)?;
    rig.expect(0, mr.request(Op::LocalRead, 0, 0), Syndrome::Ok)?;
    Ok(())
}

/// Long requests of several streams, some of which leave the windows in the middle, at once: every
/// answer is right, nothing is left inside, and each is counted.
#[test]
fn rule_12_host_windows_with_many_streams() -> Result {
    for merge in [false, true] {
        let mut rig = hosted(&[PA..=PA + 0x3f_ffff], merge)?;
        let mut regions = Vec::new();
        for n in 0..4u64 {
            let mut spec = Spec::new(0x10_0000, 64 << 12, 12, PA + (n << 19)).level(1);
            for at in (n * 16..64).step_by(17) {
                spec.list
                    .set(at..at + 1, Page::at(PA + 0x40_0000 + (at << 12)));
            }
            regions.push(rig.register(spec)?);
        }
        let before = rig.bench.stats.by_syndrome[usize::from(Syndrome::HostWin.code())];
        for n in 0..400u64 {
            let mr = &regions[(n % 4) as usize];
            let first = n * 7 % 60;
            let pages = 1 + n * 5 % (64 - first);
            let request = Request {
                stream: (n % 11) as u8,
                ..mr.request(
                    Op::LocalRead,
                    0x10_0000 + (first << 12),
                    (pages << 12) as u32,
                )
            };
            rig.bench.issue((n % 2) as usize, request);
        }
        rig.wait_idle()?;
        let after = rig.bench.stats.by_syndrome[usize::from(Syndrome::HostWin.code())];
        assert!(after - before > 100, "{}", after - before);
        let mem = &mut rig.host.mem;
        let at = regs::SYN_COUNT + 4 * (u16::from(Syndrome::HostWin.code()) - 1);
        let counted = rig.bench.read_register(mem, at)?;
        assert_eq!(u64::from(counted), after);
    }
    Ok(())
}

/// With windows in force a hit of one page goes the way of longer ones; without, nothing changes.
#[test]
fn hits_with_host_windows_take_the_longer_way() -> Result {
    let mut clocks = Vec::new();
    for windows in [vec![], vec![PA..=PA + 0xff_ffff]] {
        let mut rig = hosted(&windows, false)?;
        let mr = rig.register(Spec::new(0x10_0000, 16 << 12, 12, PA).level(1))?;
        for len in [8, 2 << 12] {
            let request = mr.request(Op::LocalRead, 0x10_0000, len);
            rig.expect(0, request, Syndrome::Ok)?;
            let outcome = rig.expect(0, request, Syndrome::Ok)?;
            clocks.push(outcome.first_beat - outcome.accepted);
        }
    }
    assert_eq!(clocks, [17, 27, 27, 27]);
    Ok(())
}

#[test]
fn rule_12_read_only_entries() -> Result {
    let mut rig = rig()?;
    let read_only = Page::Present {
        pa: 0x77_7000,
        writable: false,
    };
    for encoding in [Encoding::Flagged, Encoding::Checked] {
        let mr = rig.register(faulty(encoding, 8, 3, read_only))?;
        let page = mr.spec.start + 0x3000;
        for (op, syndrome) in [
            (Op::LocalRead, Syndrome::Ok),
            (Op::RemoteRead, Syndrome::Ok),
            (Op::LocalWrite, Syndrome::MttBad),
            (Op::RemoteWrite, Syndrome::MttBad),
            (Op::RemoteAtomic, Syndrome::MttBad),
        ] {
            rig.expect(0, mr.request(op, page + 8, 8), syndrome)?;
            rig.expect(0, mr.request(op, page - 8, 8), Syndrome::Ok)?;
        }
    }
    // In encoding RAW there is no such flag.
    let mr = rig.register(faulty(Encoding::Raw, 8, 3, read_only))?;
    rig.expect(
        0,
        mr.request(Op::LocalWrite, mr.spec.start + 0x3008, 8),
        Syndrome::Ok,
    )?;
    Ok(())
}

/// Every bit of an entry that must be zero, in both encodings and two page sizes.
#[test]
fn rule_12_bits_below_the_page_size() -> Result {
    let mut rig = rig()?;
    for encoding in [Encoding::Raw, Encoding::Flagged] {
        for log_page in [12u8, 16] {
            // Two pages per bit: each has a line of its own, which nobody has read before.
            let mut spec = Spec::new(0x10_0000, 32 << log_page, log_page, PA);
            spec.shape = Shape {
                encoding,
                level: Some(1),
                ..spec.shape
            };
            let mr = rig.register(spec)?;
            let flags = if encoding == Encoding::Flagged { 2 } else { 0 };
            for bit in flags..log_page {
                let page = 2 * u64::from(bit);
                let entry = mr.table.entry_pa(page).expect("a table");
                let good = rig.host.mem.read_u64(entry);
                let mut list = mr.spec.list.clone();
                list.set(page..page + 1, Page::Bad);
                rig.host.mem.write_u64(entry, good | 1 << bit);
                rig.bench.golden.set_pages(mr.index, Arc::new(list));
                let request = mr.request(Op::RemoteRead, 0x10_0000 + (page << log_page), 8);
                rig.expect(0, request, Syndrome::MttBad)?;
                // A refused line is not kept: repaired memory is seen.
                rig.host.mem.write_u64(entry, good);
                let list = Arc::new(mr.spec.list.clone());
                rig.bench.golden.set_pages(mr.index, list);
                rig.expect(0, request, Syndrome::Ok)?;
            }
            rig.deregister(mr)?;
        }
    }
    Ok(())
}

/// A directory entry is missing or misaligned, at each level of a three-level table.
#[test]
fn rule_12_directories() -> Result {
    let mut rig = rig()?;
    let half = 512 * 512u64;
    let pages = half + 7;
    for (encoding, wrong, syndrome) in [
        (Encoding::Raw, 0u64, Syndrome::MttAbsent),
        (Encoding::Raw, 8, Syndrome::MttBad),
        (Encoding::Flagged, 0, Syndrome::MttAbsent),
        (Encoding::Flagged, 1 << 11 | 1, Syndrome::MttBad),
        (Encoding::Flagged, 2, Syndrome::MttAbsent),
    ] {
        for level in [3, 2] {
            let mut spec = Spec::new(0, pages << 12, 12, PA);
            spec.shape = Shape {
                encoding,
                lazy: false,
                ..spec.shape
            };
            let mr = rig.register(spec)?;
            assert_eq!(mr.table.level(), 3);
            let root = mr.table.frame()[0];
            let address = match level {
                3 => root + 8,
                _ => rig.host.mem.read_u64(root + 8) & !0xfff,
            };
            let good = rig.host.mem.read_u64(address);
            assert_ne!(good, 0);
            let value = if wrong > 2 {
                (good & !3) | wrong
            } else {
                wrong
            };
            rig.host.mem.write_u64(address, value);
            let mut list = mr.spec.list.clone();
            let page = match syndrome {
                Syndrome::MttBad => Page::Bad,
                _ => Page::Absent,
            };
            list.set(half..pages, page);
            rig.bench.golden.set_pages(mr.index, Arc::new(list));
            let request = mr.request(Op::LocalRead, ((half + 3) << 12) + 5, 1);
            rig.expect(0, request, syndrome)?;
            rig.expect(1, request, syndrome)?;
            // The last good page and the first bad one.
            let edge = mr.request(Op::LocalRead, (half << 12) - 1, 2);
            let outcome = rig.expect(0, edge, syndrome)?;
            assert_eq!(outcome.segments, 1);
            rig.host.mem.write_u64(address, good);
            let list = Arc::new(mr.spec.list.clone());
            rig.bench.golden.set_pages(mr.index, list);
            rig.expect(0, request, Syndrome::Ok)?;
            rig.deregister(mr)?;
        }
    }
    Ok(())
}

#[test]
fn rule_12_bus_errors_of_tables() -> Result {
    let mut rig = rig()?;
    let mr = rig.register(faulty(Encoding::Raw, 16, 0, Page::at(0x123_4000)))?;
    // A line of the small configuration has two entries: pages 6 and 7.
    let entry = mr.table.entry_pa(6).expect("an entry");
    rig.bench
        .axi
        .inject(Fault::always(entry..entry + 16, FaultOn::Read));
    let mut list = mr.spec.list.clone();
    list.set(6..8, Page::Bus);
    rig.bench.golden.set_pages(mr.index, Arc::new(list));
    let base = mr.spec.start;
    for client in [0, 1, 0] {
        let outcome = rig.expect(
            client,
            mr.request(Op::LocalWrite, base, 16 << 12),
            Syndrome::Bus,
        )?;
        assert_eq!(outcome.segments, 6);
        rig.expect(
            client,
            mr.request(Op::LocalWrite, base + 0x7fff, 1),
            Syndrome::Bus,
        )?;
        rig.expect(
            client,
            mr.request(Op::LocalWrite, base + 0x5fff, 1),
            Syndrome::Ok,
        )?;
        rig.expect(
            client,
            mr.request(Op::LocalWrite, base + 0x8000, 1),
            Syndrome::Ok,
        )?;
    }
    // An error is not remembered.
    rig.bench.axi.clear_faults();
    rig.bench
        .golden
        .set_pages(mr.index, Arc::new(mr.spec.list.clone()));
    rig.expect(0, mr.request(Op::LocalWrite, base, 16 << 12), Syndrome::Ok)?;
    let sticky = rig.bench.read_register(&mut rig.host.mem, regs::ERROR)?;
    assert_ne!(sticky & regs::error::BUS, 0);
    Ok(())
}

// -------------------------------------------------------------------------------------------------
// MPT entries that are not what the unit wrote
// -------------------------------------------------------------------------------------------------

#[test]
fn bus_error_of_an_mpt_entry() -> Result {
    let mut rig = rig()?;
    let mr = region(&mut rig)?;
    let address = rig.bench.entry_address(mr.index);
    rig.bench
        .axi
        .inject(Fault::always(address..address + 64, FaultOn::Read));
    let issue = Issue {
        conditions: Conditions {
            bus: true,
            ..Conditions::default()
        },
        ..Issue::default()
    };
    for client in [0, 1, 0] {
        let request = mr.request(Op::RemoteRead, START, 8);
        let outcome = rig
            .bench
            .access_with(&mut rig.host.mem, client, request, issue.clone())?;
        assert_eq!(outcome.syndrome, Syndrome::Bus);
    }
    rig.bench.axi.clear_faults();
    rig.expect(0, mr.request(Op::RemoteRead, START, 8), Syndrome::Ok)?;
    Ok(())
}

#[test]
fn corrupted_mpt_entries_are_found() -> Result {
    let mut rig = rig()?;
    let issue = Issue {
        conditions: Conditions {
            mpt_bad: true,
            ..Conditions::default()
        },
        ..Issue::default()
    };
    let mr = region(&mut rig)?;
    let address = rig.bench.entry_address(mr.index);
    let mut good = [0; MPT_BYTES];
    rig.host.mem.read(address, &mut good);
    // Single bits all over the entry, the CRC itself included. Nothing corrupted is kept, so the
    // next request reads again.
    for bit in (0..512).step_by(7).chain(112..128) {
        let mut bad = good;
        bad[bit / 8] ^= 1 << (bit % 8);
        rig.host.mem.write(address, &bad);
        let request = mr.request(Op::RemoteRead, START, 8);
        let outcome = rig
            .bench
            .access_with(&mut rig.host.mem, 0, request, issue.clone())?;
        assert_eq!(outcome.syndrome, Syndrome::MptBad, "bit {bit}");
    }
    rig.host.mem.write(address, &good);
    rig.expect(0, mr.request(Op::RemoteRead, START, 8), Syndrome::Ok)?;
    let sticky = rig.bench.read_register(&mut rig.host.mem, regs::ERROR)?;
    assert_ne!(sticky & regs::error::MPT_BAD, 0);
    Ok(())
}

#[test]
fn illegal_fields_with_a_right_crc() -> Result {
    let mut rig = rig()?;
    let spec = Spec::new(0x1000, 0x1000, 12, PA);
    let changes: [fn(&mut MptEntry); 12] = [
        |e| (e.kind, e.log_page, e.level) = (Kind::Phys.code(), 42, LEVEL_INLINE),
        |e| e.kind = 6,
        |e| e.kind = 7,
        |e| e.log_page = 11,
        |e| e.log_page = 44,
        |e| e.level = 6,
        |e| e.level = 7,
        |e| e.log_tpage = 5,
        |e| e.encoding = 3,
        // Such an entry that is not VALID is just that.
        |e| (e.state, e.log_page) = (State::Free.code(), 0),
        |e| (e.state, e.encoding) = (State::Invalid.code(), 3),
        |e| (e.state, e.kind) = (State::Alloc.code(), 7),
    ];
    for (index, change) in (20..).zip(changes) {
        let region = planted(&rig, index, &spec);
        let mut entry = region.entry(State::Valid);
        change(&mut entry);
        let address = rig.bench.entry_address(index);
        rig.host.mem.write(address, &entry.encode());
        let request = Request {
            op: Op::LocalRead.code(),
            key: region.lkey,
            va: 0x1000,
            len: 8,
            pd: 1,
            ..Request::default()
        };
        let dead = entry.state != State::Valid.code();
        let (mpt_bad, syndrome) = if dead {
            (false, Syndrome::KeyState)
        } else {
            (true, Syndrome::MptBad)
        };
        for client in [0, 1] {
            let conditions = Conditions {
                mpt_bad,
                ..Conditions::default()
            };
            let issue = Issue {
                conditions,
                ..Issue::default()
            };
            let mem = &mut rig.host.mem;
            let outcome = rig.bench.access_with(mem, client, request, issue)?;
            assert_eq!(outcome.syndrome, syndrome, "index {index}");
        }
    }
    Ok(())
}

// -------------------------------------------------------------------------------------------------
// Disabled, tags, done, client reset
// -------------------------------------------------------------------------------------------------

#[test]
fn disabled_until_ready_and_after() -> Result {
    let mut rig = Rig::disabled(fast())?;
    let request = Request {
        op: 2,
        key: Key(0x1234),
        len: 8,
        ..Request::default()
    };
    rig.expect(0, request, Syndrome::Disabled)?;
    // Even what needs no key.
    rig.expect(1, Request { len: 0, ..request }, Syndrome::Disabled)?;
    let register = Command {
        id: 1,
        op: CmdOp::RegMr.code(),
        length: 1,
        ..Command::default()
    };
    let completion = rig.command(register, CommandExtra::default())?;
    assert_eq!(completion.status, Status::Disabled);
    rig.bench
        .enable(&mut rig.host.mem, &UnitConfig::default())?;
    let mr = region(&mut rig)?;
    let request = mr.request(Op::RemoteRead, START, 100);
    rig.expect(0, request, Syndrome::Ok)?;
    rig.bench.disable(&mut rig.host.mem)?;
    rig.expect(0, request, Syndrome::Disabled)?;
    let completion = rig.command(register, CommandExtra::default())?;
    assert_eq!(completion.status, Status::Disabled);
    // Enabled again: the table is cleared, the old keys are dead, keys start again.
    rig.bench
        .enable(&mut rig.host.mem, &UnitConfig::default())?;
    rig.expect(0, request, Syndrome::KeyState)?;
    let again = region(&mut rig)?;
    assert_eq!((again.index, again.lkey), (mr.index, mr.lkey));
    Ok(())
}

#[test]
fn registers_are_locked_while_enabled() -> Result {
    let mut rig = rig()?;
    let mem = &mut rig.host.mem;
    let locked = [regs::MPT_BASE_LO, regs::MPT_BASE_HI, regs::MPT_SIZE];
    let secrets = (0..4).flat_map(|n| [regs::PERM_SECRET + 4 * n, regs::TAG_SECRET + 4 * n]);
    for address in locked.into_iter().chain(secrets) {
        let before = rig.bench.read_register(mem, address)?;
        let refused = rig.bench.write_register(mem, address, 0x1000);
        let expected = BenchError::Register {
            address,
            resp: 2,
            write: true,
        };
        assert_eq!(refused, Err(expected));
        assert_eq!(rig.bench.read_register(mem, address)?, before);
    }
    for n in 0..4 {
        assert_eq!(
            rig.bench.read_register(mem, regs::PERM_SECRET + 4 * n)?,
            0,
            "write only"
        );
        assert_eq!(
            rig.bench.read_register(mem, regs::TAG_SECRET + 4 * n)?,
            0,
            "write only"
        );
    }
    let mr = region(&mut rig)?;
    rig.expect(0, mr.request(Op::LocalRead, START, 1), Syndrome::Ok)?;
    Ok(())
}

/// The registers of a disabled unit stay locked while a client holds a segment: only when they are
/// unlocked may the host unpin without DEREG_MR.
#[test]
fn disabling_waits_for_done() -> Result {
    let mut rig = rig()?;
    let mr = region(&mut rig)?;
    rig.bench.set_done_policy(0, DonePolicy::Withheld);
    rig.expect(0, mr.request(Op::RemoteRead, START, 8), Syndrome::Ok)?;
    rig.bench.disable(&mut rig.host.mem)?;
    rig.run(3000)?;
    let status = rig.bench.read_register(&mut rig.host.mem, regs::STATUS)?;
    assert_ne!(status & regs::status::LOCKED, 0, "a done is owed");
    assert_eq!(status & regs::status::IDLE, 0, "a done is owed");
    assert_eq!(rig.bench.release_dones(0), 1);
    rig.run(100)?;
    let status = rig.bench.read_register(&mut rig.host.mem, regs::STATUS)?;
    assert_eq!(status & regs::status::LOCKED, 0);
    assert_ne!(status & regs::status::IDLE, 0);
    Ok(())
}

#[test]
fn a_tag_is_busy_until_its_done() -> Result {
    let mut rig = rig()?;
    let mr = region(&mut rig)?;
    rig.bench.set_done_policy(0, DonePolicy::Withheld);
    let request = mr.request(Op::RemoteRead, START, 8);
    let with_tag = |tag| Issue {
        tag: Some(tag),
        ..Issue::default()
    };
    let mem = &mut rig.host.mem;
    for tag in [5, 1023, 0] {
        let first = rig.bench.access_with(mem, 0, request, with_tag(tag))?;
        assert_eq!(first.syndrome, Syndrome::Ok);
        for _ in 0..3 {
            let second = rig.bench.access_with(mem, 0, request, with_tag(tag))?;
            assert_eq!(second.syndrome, Syndrome::TagBusy);
        }
        // Another client has its own tags.
        let other = rig.bench.access_with(mem, 1, request, with_tag(tag))?;
        assert_eq!(other.syndrome, Syndrome::Ok);
        assert_eq!(rig.bench.release_dones(0), 1);
        rig.bench.wait_idle(mem)?;
        let third = rig.bench.access_with(mem, 0, request, with_tag(tag))?;
        assert_eq!(third.syndrome, Syndrome::Ok);
        rig.bench.release_dones(0);
        rig.bench.wait_idle(mem)?;
    }
    let sticky = rig.bench.read_register(mem, regs::ERROR)?;
    assert_ne!(sticky & regs::error::TAG_BUSY, 0);
    assert_eq!(sticky & regs::error::BAD_DONE, 0);
    Ok(())
}

#[test]
fn dones_that_nobody_owes_are_counted_and_ignored() -> Result {
    let mut rig = rig()?;
    let mr = region(&mut rig)?;
    rig.bench.set_done_policy(0, DonePolicy::Withheld);
    rig.expect(0, mr.request(Op::RemoteRead, START, 8), Syndrome::Ok)?;
    for tag in [700, 701, 700] {
        rig.bench.forge_done(0, tag);
    }
    rig.wait_idle()?;
    rig.run(20)?;
    assert_eq!(rig.counter(regs::counter::BAD_DONE)?, 3);
    let sticky = rig.bench.read_register(&mut rig.host.mem, regs::ERROR)?;
    assert_ne!(sticky & regs::error::BAD_DONE, 0);
    rig.bench
        .write_register(&mut rig.host.mem, regs::ERROR, regs::error::BAD_DONE)?;
    let sticky = rig.bench.read_register(&mut rig.host.mem, regs::ERROR)?;
    assert_eq!(sticky & regs::error::BAD_DONE, 0);
    // They did not end the fence of the one that is owed.
    let (command, extra) = rig.dereg_command(&mr);
    rig.bench.post(command, extra);
    rig.run(2000)?;
    assert!(rig.bench.poll_completion().is_none(), "the fence must wait");
    rig.bench.release_dones(0);
    let completion = rig.bench.wait_completion(&mut rig.host.mem, command.id)?;
    assert_eq!(completion.status, Status::Ok);
    Ok(())
}

#[test]
fn a_client_reset_frees_tags_and_fences() -> Result {
    let mut rig = rig()?;
    let mr = region(&mut rig)?;
    rig.bench.set_done_policy(0, DonePolicy::Withheld);
    rig.bench.set_response_ready(0, tpt_bench::Pattern::Never);
    for n in 0..6 {
        rig.bench.issue(
            0,
            Request {
                stream: n,
                ..mr.request(Op::RemoteRead, START, 0x3000)
            },
        );
    }
    rig.run(500)?;
    let (command, extra) = rig.dereg_command(&mr);
    rig.bench.post(command, extra);
    rig.run(2000)?;
    assert!(rig.bench.poll_completion().is_none(), "the fence must wait");
    // The other client goes on.
    let other = rig.register(Spec::new(0x5000, 0x1000, 12, PA))?;
    rig.expect(1, other.request(Op::LocalRead, 0x5000, 8), Syndrome::Ok)?;
    rig.bench.reset_client(&mut rig.host.mem, 0)?;
    let completion = rig.bench.wait_completion(&mut rig.host.mem, command.id)?;
    assert_eq!(completion.status, Status::Ok);
    // All tags are free again and answers belong to new requests.
    rig.bench.set_response_ready(0, tpt_bench::Pattern::Always);
    rig.bench.set_done_policy(0, DonePolicy::IMMEDIATE);
    for tag in 0..20 {
        let request = other.request(Op::LocalRead, 0x5000, 8);
        let issue = Issue {
            tag: Some(tag),
            ..Issue::default()
        };
        let outcome = rig
            .bench
            .access_with(&mut rig.host.mem, 0, request, issue)?;
        assert_eq!(outcome.syndrome, Syndrome::Ok);
    }
    rig.wait_idle()
}

// -------------------------------------------------------------------------------------------------
// The fence
// -------------------------------------------------------------------------------------------------

#[test]
fn deregistration_waits_for_done() -> Result {
    let mut rig = rig()?;
    let mr = region(&mut rig)?;
    for client in [0, 1] {
        let victim = region(&mut rig)?;
        rig.bench.set_done_policy(client, DonePolicy::Withheld);
        let request = victim.request(Op::RemoteRead, START, 8);
        rig.expect(client, request, Syndrome::Ok)?;
        let (command, extra) = rig.dereg_command(&victim);
        rig.bench.post(command, extra);
        rig.run(3000)?;
        assert!(
            rig.bench.poll_completion().is_none(),
            "client {client} holds a segment"
        );
        // The key is dead at once; other regions live, and their traffic does not hold it up.
        rig.expect(1 - client, request, Syndrome::KeyState)?;
        rig.expect(
            1 - client,
            mr.request(Op::RemoteRead, START, 8),
            Syndrome::Ok,
        )?;
        assert_eq!(rig.bench.release_dones(client), 1);
        let completion = rig.bench.wait_completion(&mut rig.host.mem, command.id)?;
        assert_eq!(completion.status, Status::Ok);
        rig.bench.set_done_policy(client, DonePolicy::IMMEDIATE);
    }
    Ok(())
}

#[test]
fn reregistration_waits_for_done() -> Result {
    let mut rig = rig()?;
    let mr = region(&mut rig)?;
    rig.bench.set_done_policy(1, DonePolicy::Withheld);
    let old = mr.request(Op::RemoteWrite, START, 8);
    rig.expect(1, old, Syndrome::Ok)?;
    let command = Command {
        id: 77,
        op: CmdOp::ReregMr.code(),
        key: mr.lkey,
        pd: 1,
        rereg: rereg::PD,
        new_pd: 9,
        ..Command::default()
    };
    rig.bench.post(command, CommandExtra::default());
    rig.run(3000)?;
    assert!(rig.bench.poll_completion().is_none(), "the fence must wait");
    rig.expect(0, old, Syndrome::KeyState)?;
    rig.bench.release_dones(1);
    let completion = rig.bench.wait_completion(&mut rig.host.mem, 77)?;
    assert_eq!(completion.status, Status::Ok);
    assert_ne!((completion.lkey, completion.rkey), (mr.lkey, mr.rkey));
    rig.expect(0, old, Syndrome::KeyTag)?;
    let new = Request {
        key: completion.rkey,
        ..old
    };
    rig.expect(0, new, Syndrome::Pd)?;
    rig.expect(0, Request { pd: 9, ..new }, Syndrome::Ok)?;
    Ok(())
}

#[test]
fn a_fence_that_runs_out_of_time_completes_twice() -> Result {
    let mut rig = rig()?;
    let mr = region(&mut rig)?;
    rig.bench.set_fence_time(&mut rig.host.mem, 500)?;
    rig.bench.set_done_policy(0, DonePolicy::Withheld);
    let request = mr.request(Op::RemoteRead, START, 8);
    rig.expect(0, request, Syndrome::Ok)?;
    let (command, extra) = rig.dereg_command(&mr);
    let first = rig.command(command, extra)?;
    assert_eq!(first.status, Status::Pending);
    // The index is kept, the key is dead.
    let next = region(&mut rig)?;
    assert_ne!(next.index, mr.index);
    rig.expect(1, request, Syndrome::KeyState)?;
    rig.run(2000)?;
    assert!(rig.bench.poll_completion().is_none());
    rig.bench.release_dones(0);
    let last = rig.bench.wait_completion(&mut rig.host.mem, command.id)?;
    assert_eq!(last.status, Status::Ok);
    let sticky = rig.bench.read_register(&mut rig.host.mem, regs::ERROR)?;
    assert_ne!(sticky & regs::error::FENCE_TIME, 0);
    Ok(())
}

// -------------------------------------------------------------------------------------------------
// Commands
// -------------------------------------------------------------------------------------------------

/// A registration that is good but for what `change` does to it.
fn status_of(rig: &mut Rig, change: impl FnOnce(&mut Command)) -> Result<Status> {
    let mut command = Command {
        id: rig.id(),
        op: CmdOp::RegMr.code(),
        pd: 1,
        access: ALL_RIGHTS.0,
        start: 0x10_0000,
        length: 0x10_0000,
        log_page: 12,
        level: 1,
        log_tpage: 12,
        frame: [0x80_0000, 0, 0, 0],
        ..Command::default()
    };
    change(&mut command);
    Ok(rig.command(command, CommandExtra::default())?.status)
}

#[test]
fn registration_arguments() -> Result {
    let mut rig = rig()?;
    // `must` says what is expected; the golden reference agrees or the bench fails.
    let mut must = |status: Status, change: &dyn Fn(&mut Command)| -> Result {
        assert_eq!(status_of(&mut rig, change)?, status);
        Ok(())
    };
    must(Status::BadOp, &|c| c.op = 0)?;
    must(Status::BadOp, &|c| c.op = 15)?;
    must(Status::BadLength, &|c| c.length = 0)?;
    must(Status::BadWrap, &|c| c.start = !0 - 0xf_fffe)?;
    must(Status::BadWrap, &|c| (c.start, c.length) = (!0, !0))?;
    must(Status::Ok, &|c| c.start = !0 - 0xf_ffff)?;
    for bit in 0..32 {
        let known = Access::KNOWN.0 >> bit & 1 == 1;
        let status = if known { Status::Ok } else { Status::BadFlags };
        must(status, &|c| c.access |= 1 << bit)?;
    }
    for access in [Access::REMOTE_WRITE, Access::REMOTE_ATOMIC] {
        must(Status::BadAccess, &|c| c.access = access.0)?;
        must(Status::Ok, &|c| c.access = access.0 | 1)?;
    }
    must(Status::Ok, &|c| c.access = Access::REMOTE_READ.0)?;
    must(Status::BadPageSize, &|c| c.log_page = 11)?;
    must(Status::BadPageSize, &|c| c.log_page = 44)?;
    must(Status::Ok, &|c| c.log_page = 43)?;
    must(Status::BadEncoding, &|c| c.encoding = 3)?;
    must(Status::Ok, &|c| c.encoding = 1)?;
    must(Status::Ok, &|c| c.encoding = 2)?;
    for level in [4, 6, 7] {
        must(Status::BadLevel, &|c| c.level = level)?;
    }
    must(Status::BadLevel, &|c| c.log_tpage = 11)?;
    must(Status::BadLevel, &|c| c.log_tpage = 17)?;
    must(Status::Ok, &|c| c.log_tpage = 16)?;
    Ok(())
}

#[test]
fn registration_table_sizes() -> Result {
    let mut rig = rig()?;
    let mut must = |status: Status, change: &dyn Fn(&mut Command)| -> Result {
        assert_eq!(status_of(&mut rig, change)?, status);
        Ok(())
    };
    // Level 0: four pages; the start decides how many there are.
    for (start, length, status) in [
        (0, 0x4000, Status::Ok),
        (0, 0x4001, Status::TableSmall),
        (1, 0x4000, Status::TableSmall),
        (1, 0x3fff, Status::Ok),
        (0xfff, 0x3001, Status::Ok),
        (0xfff, 0x3002, Status::TableSmall),
    ] {
        must(status, &|c| {
            (c.level, c.start, c.length) = (0, start, length);
            c.frame = [0x1000, 0x2000, 0x3000, 0x4000];
        })?;
    }
    // Levels 1 to 3 with both ends of the table page size.
    for log_tpage in [12u8, 16] {
        for level in 1..=3u8 {
            let pages = 1u64 << (u32::from(level) * (u32::from(log_tpage) - 3)).min(40);
            for (length, status) in [
                (pages << 12, Status::Ok),
                ((pages << 12) + 1, Status::TableSmall),
            ] {
                must(status, &|c| {
                    (c.level, c.log_tpage, c.start, c.length) = (level, log_tpage, 0, length);
                })?;
            }
        }
    }
    // Flat: 2^39 pages.
    must(Status::Ok, &|c| {
        (c.level, c.start, c.length) = (5, 0, 1 << 51)
    })?;
    must(Status::TableSmall, &|c| {
        (c.level, c.start, c.length) = (5, 0, (1 << 51) + 1)
    })?;
    // Alignment of the root and of inline pages (only of those in use).
    must(Status::TableAlign, &|c| c.frame[0] |= 0x800)?;
    must(Status::TableAlign, &|c| {
        (c.log_tpage, c.frame[0]) = (16, 0x8000)
    })?;
    must(Status::TableAlign, &|c| (c.level, c.frame[0]) = (5, 0x1004))?;
    must(Status::Ok, &|c| (c.level, c.frame[0]) = (5, 0x1ff8))?;
    for at in 0..4u64 {
        for (pages, status) in [(at + 1, Status::TableAlign), (at, Status::Ok)] {
            if pages == 0 {
                continue;
            }
            must(status, &|c| {
                (c.level, c.start, c.length) = (0, 0, pages << 13);
                c.log_page = 13;
                c.frame = [0x2000, 0x4000, 0x6000, 0x8000];
                c.frame[at as usize] |= 0x1000;
            })?;
        }
    }
    Ok(())
}

#[test]
fn commands_check_the_whole_key() -> Result {
    let mut rig = rig()?;
    let mr = region(&mut rig)?;
    let keys = rig.bench.golden.keys().clone();
    for op in [CmdOp::DeregMr, CmdOp::ReregMr, CmdOp::Query] {
        let good = Command {
            op: op.code(),
            key: mr.lkey,
            pd: 1,
            rereg: rereg::PD,
            new_pd: 1,
            ..Command::default()
        };
        let outside = Key::new(keys.field(Role::Local, 64), mr.lkey.tag());
        let free = Key::new(keys.field(Role::Local, 33), mr.lkey.tag());
        for (command, status) in [
            (
                Command {
                    key: outside,
                    ..good
                },
                Status::KeyIndex,
            ),
            (Command { key: free, ..good }, Status::KeyState),
            (
                Command {
                    key: mr.rkey,
                    ..good
                },
                Status::KeyTag,
            ),
            (
                Command {
                    key: Key(mr.lkey.0 ^ 0x80),
                    ..good
                },
                Status::KeyTag,
            ),
            (
                Command {
                    pd: 0x80_0001,
                    ..good
                },
                Status::KeyPd,
            ),
        ] {
            let command = Command {
                id: rig.id(),
                ..command
            };
            let completion = rig.command(command, CommandExtra::default())?;
            assert_eq!(completion.status, status, "{command:?}");
        }
    }
    for flags in [0, 8] {
        // Only three bits reach the unit: 8 is 0.
        let command = Command {
            id: rig.id(),
            op: CmdOp::ReregMr.code(),
            key: mr.lkey,
            pd: 1,
            rereg: flags,
            ..Command::default()
        };
        let completion = rig.command(command, CommandExtra::default())?;
        assert_eq!(completion.status, Status::BadRereg);
    }
    rig.expect(0, mr.request(Op::RemoteRead, START, 8), Syndrome::Ok)?;
    Ok(())
}

#[test]
fn commands_refuse_windows_and_bound_regions() -> Result {
    let mut rig = rig()?;
    rig.bench.stop_at_mismatch(false);
    let spec = Spec::new(0x1000, 0x1000, 12, PA);
    let plain = planted(&rig, 40, &spec);
    let bound = plant(
        &mut rig,
        Region {
            bound: 1,
            ..plain.clone()
        },
    );
    let other = planted(&rig, 41, &spec);
    let kind = plant(
        &mut rig,
        Region {
            kind: Kind::Phys,
            log_page: 43,
            frame: [0; 4],
            ..other
        },
    );
    for (region, op, status) in [
        (&bound, CmdOp::DeregMr, Status::Bound),
        (&bound, CmdOp::ReregMr, Status::Bound),
        (&bound, CmdOp::Query, Status::Ok),
        (&kind, CmdOp::ReregMr, Status::KeyKind),
        (&kind, CmdOp::FastRegMr, Status::KeyKind),
        (&kind, CmdOp::Invalidate, Status::KeyTag),
        (&kind, CmdOp::BindMw, Status::KeyTag),
        (&kind, CmdOp::DeallocMw, Status::KeyTag),
        (&kind, CmdOp::Query, Status::Ok),
    ] {
        let command = Command {
            id: rig.id(),
            op: op.code(),
            key: region.lkey,
            pd: 1,
            rereg: rereg::ACCESS,
            ..Command::default()
        };
        // The reference knows nothing of planted entries: its opinion does not count here.
        let completion = rig.command(command, CommandExtra::default())?;
        assert_eq!(completion.status, status, "{op:?}");
        if status == Status::Ok {
            assert_eq!(completion.entry, region.entry(State::Valid).encode());
        }
    }
    Ok(())
}

#[test]
fn query_returns_the_entry() -> Result {
    let mut rig = rig()?;
    let mr = region(&mut rig)?;
    let command = Command {
        id: 9,
        op: CmdOp::Query.code(),
        key: mr.lkey,
        pd: 1,
        ..Command::default()
    };
    let completion = rig.command(command, CommandExtra::default())?;
    assert_eq!(completion.status, Status::Ok);
    let mut bytes = [0; MPT_BYTES];
    rig.host
        .mem
        .read(rig.bench.entry_address(mr.index), &mut bytes);
    assert_eq!(completion.entry, bytes);
    Ok(())
}

#[test]
fn a_full_table_says_so_and_reuses_late() -> Result {
    let unit = UnitConfig {
        mpt_size: 8,
        ..UnitConfig::default()
    };
    let mut rig = Rig::new(fast(), &unit)?;
    let mut regions = std::collections::VecDeque::new();
    for index in 1..8 {
        let mr = region(&mut rig)?;
        assert_eq!(mr.index, index, "fresh indices in ascending order");
        regions.push_back(mr);
    }
    assert_eq!(status_of(&mut rig, |_| ())?, Status::NoIndex);
    // First freed, first reused; the key differs each time.
    let mut keys = std::collections::HashSet::new();
    for _ in 0..2 {
        let first = regions.pop_front().expect("seven regions");
        let second = regions.pop_front().expect("seven regions");
        let (a, b) = (first.index, second.index);
        rig.deregister(second)?;
        rig.deregister(first)?;
        for index in [b, a] {
            let mr = region(&mut rig)?;
            assert_eq!(mr.index, index);
            assert!(keys.insert(mr.lkey) && keys.insert(mr.rkey));
            regions.push_back(mr);
        }
        assert_eq!(status_of(&mut rig, |_| ())?, Status::NoIndex);
    }
    Ok(())
}

#[test]
fn reregistration_changes_what_it_is_asked_to() -> Result {
    let mut rig = rig()?;
    let mr = region(&mut rig)?;
    let request = mr.request(Op::RemoteWrite, START, 0x5300);
    rig.expect(0, request, Syndrome::Ok)?;
    // Translation: other pages, other start, another table.
    let spec = Spec::new(0x77_0000, 0x9000, 12, PA << 3).level(LEVEL_FLAT);
    let table = rig.build_table(&spec);
    let command = Command {
        op: CmdOp::ReregMr.code(),
        key: mr.lkey,
        rereg: rereg::TRANSLATION,
        ..rig.reg_command(&spec, &table)
    };
    let extra = CommandExtra {
        release: mr.table_ranges(),
        ..Rig::pages(&spec)
    };
    let moved = rig.command(command, extra)?;
    assert_eq!(moved.status, Status::Ok);
    rig.expect(0, request, Syndrome::KeyTag)?;
    let new = Request {
        key: moved.rkey,
        va: 0x77_0000,
        len: 0x9000,
        ..request
    };
    rig.expect(0, new, Syndrome::Ok)?;
    rig.expect(0, Request { va: START, ..new }, Syndrome::Bounds)?;
    // Rights.
    let command = Command {
        id: rig.id(),
        op: CmdOp::ReregMr.code(),
        key: moved.lkey,
        pd: 1,
        rereg: rereg::ACCESS,
        access: Access::REMOTE_READ.0,
        ..Command::default()
    };
    let fewer = rig.command(command, CommandExtra::default())?;
    assert_eq!(fewer.status, Status::Ok);
    let write = Request {
        key: fewer.rkey,
        ..new
    };
    rig.expect(0, write, Syndrome::Rights)?;
    rig.expect(
        0,
        Request {
            op: Op::RemoteRead.code(),
            ..write
        },
        Syndrome::Ok,
    )?;
    // A failure changes nothing.
    let command = Command {
        id: rig.id(),
        key: fewer.lkey,
        access: 2,
        ..command
    };
    let failed = rig.command(command, CommandExtra::default())?;
    assert_eq!(failed.status, Status::BadAccess);
    rig.expect(
        0,
        Request {
            op: Op::RemoteRead.code(),
            ..write
        },
        Syndrome::Ok,
    )?;
    rig.wait_idle()
}

// -------------------------------------------------------------------------------------------------
// Translation
// -------------------------------------------------------------------------------------------------

/// Every level and encoding, two table page sizes: first, last and crossing pages.
#[test]
fn levels_and_encodings() -> Result {
    let mut rig = rig()?;
    for encoding in Encoding::ALL.iter().copied() {
        for (level, pages, log_tpage) in [
            (LEVEL_INLINE, 4u64, 12),
            (1, 512, 12),
            (2, 513, 12),
            (3, 512 * 512 + 1, 12),
            (2, 8193, 16),
            (LEVEL_FLAT, 1500, 12),
        ] {
            let mut spec = Spec::new(0x4321_0321, (pages << 12) - 0x321 - 5, 12, PA);
            spec.shape = Shape {
                encoding,
                level: Some(level),
                log_tpage: Some(log_tpage),
                flat_offset: 0xff8,
                ..spec.shape
            };
            let mr = rig.register(spec)?;
            let base = mr.spec.start & !0xfff;
            let last = mr.spec.start + mr.spec.length - 1;
            for page in [
                0,
                1,
                2,
                3,
                7,
                8,
                511,
                512,
                8191,
                8192,
                512 * 512 - 1,
                512 * 512,
            ] {
                let va = base + (page << 12);
                for (va, len) in [(va, 0x1000), (va.wrapping_sub(1), 2), (va + 0xffc, 0x3008)] {
                    let va = va.max(mr.spec.start);
                    if va > last {
                        continue;
                    }
                    let len = len.min(last - va + 1) as u32;
                    rig.expect(0, mr.request(Op::LocalWrite, va, len), Syndrome::Ok)?;
                }
            }
            rig.expect(1, mr.request(Op::RemoteRead, last, 1), Syndrome::Ok)?;
            let tail = 0x2_0000.min(mr.spec.length);
            let request = mr.request(Op::RemoteRead, last + 1 - tail, tail as u32);
            rig.expect(1, request, Syndrome::Ok)?;
            rig.deregister(mr)?;
        }
    }
    Ok(())
}

#[test]
fn page_sizes() -> Result {
    let mut rig = rig()?;
    for log_page in [12u8, 13, 16, 21, 25, 30, 31, 32, 40, 43] {
        let size = 1u64 << log_page;
        for level in [LEVEL_INLINE, 1] {
            let start = (3 << log_page) + size / 2 + 1;
            let spec = Spec::new(start, 2 * size, log_page, 1 << 50).level(level);
            let mr = rig.register(spec)?;
            for (va, len) in [
                (start, 8),
                (4 * size - 1, 2),
                (4 * size, 1),
                (5 * size - 4, 8),
                (start + 2 * size - 1, 1),
                (start, (1u64 << 31).min(2 * size) as u32),
            ] {
                rig.expect(0, mr.request(Op::RemoteWrite, va, len), Syndrome::Ok)?;
            }
            rig.expect(
                0,
                mr.request(Op::RemoteWrite, start - 1, 1),
                Syndrome::Bounds,
            )?;
            rig.deregister(mr)?;
        }
    }
    Ok(())
}

/// An index that is used again while lines of its old table are in the cache.
#[test]
fn generations_separate_table_lines() -> Result {
    let unit = UnitConfig {
        mpt_size: 2,
        ..UnitConfig::default()
    };
    let mut rig = Rig::new(fast(), &unit)?;
    for round in 0..300u64 {
        let mut spec = Spec::new(0x10_0000, 6 << 12, 12, PA + (round << 24));
        spec.shape.level = Some(1);
        let mr = rig.register(spec)?;
        assert_eq!(mr.index, 1);
        // Different lines in different rounds, so that some stay for long.
        let page = round % 3;
        for page in [page, 2 - page / 2] {
            let va = 0x10_0000 + (page << 13);
            rig.expect(0, mr.request(Op::LocalRead, va, 0x2000), Syndrome::Ok)?;
        }
        rig.deregister(mr)?;
    }
    Ok(())
}

/// Requests of one stream are answered in order even if the first waits for memory; another stream
/// overtakes it.
#[test]
fn order_in_a_stream_and_freedom_between() -> Result {
    let mut options = fast();
    options.axi.read_latency = Clocks::fixed(300);
    let mut rig = Rig::new(options, &UnitConfig::default())?;
    let hot = rig.register(Spec::new(0x1000, 0x1000, 12, PA))?;
    let mut cold = Spec::new(0x20_0000, 64 << 12, 12, PA);
    cold.shape.level = Some(1);
    let cold = rig.register(cold)?;
    rig.expect(0, hot.request(Op::LocalRead, 0x1000, 8), Syndrome::Ok)?;
    let slow = cold.request(Op::LocalRead, 0x20_0000, 8);
    let first = rig.bench.issue(0, Request { stream: 3, ..slow });
    let same = Request {
        stream: 3,
        ..hot.request(Op::LocalRead, 0x1000, 8)
    };
    let second = rig.bench.issue(0, same);
    let third = rig.bench.issue(0, Request { stream: 4, ..same });
    rig.wait_idle()?;
    let order: Vec<_> = std::iter::from_fn(|| rig.bench.poll_client(0)).collect();
    let tickets: Vec<_> = order.iter().map(|outcome| outcome.ticket).collect();
    assert_eq!(tickets, [third, first, second]);
    assert!(order[0].finished < order[1].first_beat);
    Ok(())
}
