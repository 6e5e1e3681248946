// SPDX-License-Identifier: Apache-2.0
//! Windows, fast registration, invalidation, physical regions, FLUSH and relaxed ordering, in the
//! unit. What each command and each request must be answered is said by the golden reference, which
//! every one is compared with; the tests say which case they are.

use std::ops::Range;

use tpt_bench::axi::{Fault, FaultOn};
use tpt_bench::rig::{Mr, Rig, Spec, Window};
use tpt_bench::{BenchError, BenchOptions, CommandExtra, DonePolicy, Pattern, UnitConfig};
use tpt_golden::types::{flag, Access, CmdOp, Command, Key, Op, State, Status};
use tpt_golden::types::{Syndrome, LEVEL_FLAT};

const START: u64 = 0x7000_0000_0800;
const LENGTH: u64 = 0x9000;
const PA: u64 = 0x40_0000_0000;

type Result = std::result::Result<(), BenchError>;

fn rig() -> std::result::Result<Rig, BenchError> {
    let unit = UnitConfig {
        phys: true,
        ..UnitConfig::default()
    };
    Rig::new(BenchOptions::default(), &unit)
}

fn region(rig: &mut Rig) -> std::result::Result<Mr, BenchError> {
    rig.register(Spec::new(START, LENGTH, 12, PA).level(1))
}

fn part() -> Range<u64> {
    START + 0x1234..START + 0x5678
}

const READ_WRITE: Access = Access(Access::REMOTE_READ.0 | Access::REMOTE_WRITE.0);
/// No flags, type 2B, type 2A.
const TYPES: [u8; 3] = [0, flag::MW2, flag::MW2 | flag::MW2A];

/// A window of this type that is bound to [`part`] of the region.
fn bound(rig: &mut Rig, mr: &Mr, flags: u8) -> std::result::Result<Window, BenchError> {
    let mut window = rig.alloc_mw(1, flags)?;
    let command = rig.bind_command(&window, mr, READ_WRITE, part());
    assert_eq!(rig.bind(&mut window, command)?, Status::Ok);
    Ok(window)
}

#[test]
fn a_window_is_checked_by_its_own_range_and_rights() -> Result {
    for flags in TYPES {
        let mut rig = rig()?;
        let mr = region(&mut rig)?;
        let window = rig.alloc_mw(1, flags)?;
        rig.expect(
            0,
            window.request(Op::RemoteRead, part().start, 8),
            Syndrome::KeyState,
        )?;
        let window = bound(&mut rig, &mr, flags)?;
        let Range { start, end } = part();
        for (op, va, len, syndrome) in [
            (Op::RemoteRead, start, 1, Syndrome::Ok),
            (Op::RemoteWrite, end - 1, 1, Syndrome::Ok),
            (Op::RemoteRead, start, (end - start) as u32, Syndrome::Ok),
            (Op::RemoteRead, start - 1, 1, Syndrome::Bounds),
            (Op::RemoteRead, end - 1, 2, Syndrome::Bounds),
            (Op::RemoteRead, START, 8, Syndrome::Bounds),
            (Op::RemoteAtomic, start + 4, 8, Syndrome::Rights),
            (Op::FlushGlobal, start, 8, Syndrome::Rights),
            (Op::LocalRead, start, 8, Syndrome::KeyTag),
            (Op::RemoteRead, !0 - 3, 8, Syndrome::Wrap),
        ] {
            rig.expect(0, window.request(op, va, len), syndrome)?;
            // Hits as well as misses.
            rig.expect(1, window.request(op, va, len), syndrome)?;
        }
        let mut other = window.request(Op::RemoteRead, start, 8);
        other.qpn ^= 0x100;
        let foreign = if flags == 0 {
            Syndrome::Ok
        } else {
            Syndrome::Qp
        };
        rig.expect(0, other, foreign)?;
        let mut other = window.request(Op::RemoteRead, start, 8);
        other.pd ^= 4;
        let foreign = match flags & flag::MW2A {
            0 => Syndrome::Pd,
            _ => Syndrome::Ok,
        };
        rig.expect(0, other, foreign)?;
    }
    Ok(())
}

#[test]
fn a_zero_based_window_counts_from_its_start() -> Result {
    let mut rig = rig()?;
    let mr = region(&mut rig)?;
    let mut window = rig.alloc_mw(1, flag::MW2)?;
    let access = READ_WRITE | Access::ZERO_BASED;
    let command = rig.bind_command(&window, &mr, access, part());
    assert_eq!(rig.bind(&mut window, command)?, Status::Ok);
    let length = (part().end - part().start) as u32;
    rig.expect(0, window.request(Op::RemoteRead, 0, length), Syndrome::Ok)?;
    rig.expect(
        0,
        window.request(Op::RemoteRead, 1, length),
        Syndrome::Bounds,
    )?;
    rig.expect(
        0,
        window.request(Op::RemoteRead, part().start, 1),
        Syndrome::Bounds,
    )?;
    Ok(())
}

#[test]
fn what_a_bind_refuses() -> Result {
    let mut rig = rig()?;
    let mr = region(&mut rig)?;
    let spec = |access| Spec::new(START, LENGTH, 12, PA).access(access);
    let plain = rig.register(spec(Access::LOCAL_WRITE))?;
    let read_only = rig.register(spec(Access::MW_BIND | Access::REMOTE_READ))?;
    let zero = rig.register(spec(
        Access::MW_BIND | Access::LOCAL_WRITE | Access::ZERO_BASED,
    ))?;
    let mut foreign = spec(Access::MW_BIND | Access::LOCAL_WRITE);
    foreign.pd = 2;
    let foreign = rig.register(foreign)?;
    for flags in TYPES {
        let mut window = rig.alloc_mw(1, flags)?;
        let good = rig.bind_command(&window, &mr, READ_WRITE, part());
        let end = START + LENGTH;
        type Change<'a> = Box<dyn Fn(Command) -> Command + 'a>;
        let cases: Vec<(Status, Change)> = vec![
            (
                Status::KeyTag,
                Box::new(|c| Command {
                    key: Key(c.key.0 ^ 1),
                    ..c
                }),
            ),
            (Status::KeyTag, Box::new(|c| Command { key: mr.lkey, ..c })),
            (Status::KeyKind, Box::new(|c| Command { key: mr.rkey, ..c })),
            (Status::KeyPd, Box::new(|c| Command { pd: 3, ..c })),
            (Status::BadFlags, Box::new(|c| Command { access: 1, ..c })),
            (
                Status::BadFlags,
                Box::new(|c| Command { access: 0x100, ..c }),
            ),
            (
                Status::BadWrap,
                Box::new(|c| Command {
                    start: !0,
                    length: 2,
                    ..c
                }),
            ),
            (
                Status::MrKey,
                Box::new(|c| Command {
                    mkey: Key::NONE,
                    ..c
                }),
            ),
            (Status::MrKey, Box::new(|c| Command { mkey: mr.rkey, ..c })),
            (Status::MrKey, Box::new(|c| Command { mkey: c.key, ..c })),
            (
                Status::MrKey,
                Box::new(|c| Command {
                    mkey: Key(mr.lkey.0 ^ 0x80),
                    ..c
                }),
            ),
            (
                Status::MrPd,
                Box::new(|c| Command {
                    mkey: foreign.lkey,
                    ..c
                }),
            ),
            (
                Status::MrRights,
                Box::new(|c| Command {
                    mkey: plain.lkey,
                    ..c
                }),
            ),
            (
                Status::MrRights,
                Box::new(|c| Command {
                    mkey: read_only.lkey,
                    ..c
                }),
            ),
            (
                Status::MrRights,
                Box::new(|c| Command {
                    mkey: zero.lkey,
                    ..c
                }),
            ),
            (
                Status::MrBounds,
                Box::new(|c| Command {
                    start: START - 1,
                    length: 2,
                    ..c
                }),
            ),
            (
                Status::MrBounds,
                Box::new(move |c| Command {
                    start: end - 1,
                    length: 2,
                    ..c
                }),
            ),
            (
                Status::MrBounds,
                Box::new(|c| Command {
                    start: START,
                    length: LENGTH + 1,
                    ..c
                }),
            ),
        ];
        for (status, change) in cases {
            let command = Command {
                id: rig.id(),
                ..change(good)
            };
            assert_eq!(rig.bind(&mut window, command)?, status, "{command:?}");
        }
        let zero_based = Access::ZERO_BASED | Access::REMOTE_READ;
        let command = rig.bind_command(&window, &mr, zero_based, part());
        let status = if flags == 0 {
            Status::BadFlags
        } else {
            Status::Ok
        };
        assert_eq!(rig.bind(&mut window, command)?, status);
        let command = rig.bind_command(&window, &mr, Access::REMOTE_READ, START..START);
        let status = if flags == 0 {
            Status::Ok
        } else {
            Status::KeyState
        };
        assert_eq!(rig.bind(&mut window, command)?, status);
        // What was refused has left nothing behind: the regions can go when the window is gone.
        assert_eq!(
            rig.plain(CmdOp::DeallocMw, window.rkey, 1)?.status,
            Status::Ok
        );
    }
    for mr in [mr, plain, read_only, zero, foreign] {
        rig.deregister(mr)?;
    }
    Ok(())
}

#[test]
fn a_region_with_windows_stays() -> Result {
    let mut rig = rig()?;
    let mr = region(&mut rig)?;
    let windows = [
        bound(&mut rig, &mr, 0)?,
        bound(&mut rig, &mr, flag::MW2)?,
        bound(&mut rig, &mr, flag::MW2 | flag::MW2A)?,
    ];
    for (n, window) in windows.into_iter().enumerate() {
        let (command, extra) = rig.dereg_command(&mr);
        assert_eq!(rig.command(command, extra)?.status, Status::Bound);
        let command = Command {
            id: rig.id(),
            op: CmdOp::ReregMr.code(),
            key: mr.lkey,
            pd: 1,
            rereg: 4,
            access: 1,
            ..Command::default()
        };
        let completion = rig.command(command, CommandExtra::default())?;
        assert_eq!(completion.status, Status::Bound);
        // Freed while bound; or unbound first.
        if n == 1 {
            let status = rig.plain(CmdOp::Invalidate, window.rkey, 1)?.status;
            assert_eq!(status, Status::Ok);
        }
        let status = rig.plain(CmdOp::DeallocMw, window.rkey, 1)?.status;
        assert_eq!(status, Status::Ok);
        rig.expect(
            0,
            window.request(Op::RemoteRead, part().start, 8),
            Syndrome::KeyState,
        )?;
    }
    rig.deregister(mr)?;
    Ok(())
}

#[test]
fn a_type_1_window_moves_from_region_to_region() -> Result {
    let mut rig = rig()?;
    let one = region(&mut rig)?;
    let two = rig.register(Spec::new(START, LENGTH, 13, PA * 2).level(LEVEL_FLAT))?;
    let mut window = bound(&mut rig, &one, 0)?;
    for round in 0..300 {
        let old = window;
        let mr = if round % 2 == 0 { &two } else { &one };
        let command = match round % 7 {
            6 => rig.bind_command(&window, mr, READ_WRITE, START..START),
            _ => rig.bind_command(&window, mr, READ_WRITE, part()),
        };
        assert_eq!(rig.bind(&mut window, command)?, Status::Ok);
        assert_ne!(old.rkey, window.rkey);
        let now = match round % 7 {
            6 => Syndrome::KeyState,
            _ => Syndrome::Ok,
        };
        let request = window.request(Op::RemoteWrite, part().start + 0x100, 0x1800);
        rig.expect(0, request, now)?;
        let request = old.request(Op::RemoteWrite, part().start, 8);
        let then = if now == Syndrome::Ok {
            Syndrome::KeyTag
        } else {
            now
        };
        rig.expect(0, request, then)?;
    }
    let status = rig.plain(CmdOp::DeallocMw, window.rkey, 1)?.status;
    assert_eq!(status, Status::Ok);
    rig.deregister(one)?;
    rig.deregister(two)?;
    Ok(())
}

/// The end of a binding waits for those who still hold its segments, and the region with it.
#[test]
fn invalidation_waits_for_done() -> Result {
    for op in [CmdOp::Invalidate, CmdOp::DeallocMw, CmdOp::BindMw] {
        let mut rig = rig()?;
        let mr = region(&mut rig)?;
        let flags = if op == CmdOp::BindMw { 0 } else { flag::MW2 };
        let window = bound(&mut rig, &mr, flags)?;
        rig.bench.set_done_policy(0, DonePolicy::Withheld);
        rig.expect(
            0,
            window.request(Op::RemoteRead, part().start, 8),
            Syndrome::Ok,
        )?;
        let command = match op {
            CmdOp::BindMw => rig.bind_command(&window, &mr, Access::REMOTE_READ, part()),
            op => Command {
                id: rig.id(),
                op: op.code(),
                key: window.rkey,
                pd: 1,
                ..Command::default()
            },
        };
        rig.bench.post(command, CommandExtra::default());
        rig.run(2000)?;
        assert!(rig.bench.poll_completion().is_none(), "{op:?}");
        // Dead at once; and its region cannot go yet.
        rig.expect(
            1,
            window.request(Op::RemoteRead, part().start, 8),
            Syndrome::KeyState,
        )?;
        let (dereg, extra) = rig.dereg_command(&mr);
        assert_eq!(rig.command(dereg, extra)?.status, Status::Bound);
        rig.bench.release_dones(0);
        let completion = rig.bench.wait_completion(&mut rig.host.mem, command.id)?;
        assert_eq!(completion.status, Status::Ok);
        if op == CmdOp::BindMw {
            rig.plain(CmdOp::DeallocMw, completion.rkey, 1)?;
        }
        rig.deregister(mr)?;
    }
    Ok(())
}

#[test]
fn remote_invalidation_needs_the_queue_pair_or_the_right() -> Result {
    let mut rig = rig()?;
    let mr = region(&mut rig)?;
    for flags in [flag::MW2, flag::MW2 | flag::MW2A] {
        let window = bound(&mut rig, &mr, flags)?;
        let remote = |rig: &mut Rig, qpn| Command {
            id: rig.id(),
            op: CmdOp::Invalidate.code(),
            key: window.rkey,
            pd: 1,
            flags: flag::REMOTE_INV,
            qpn,
            ..Command::default()
        };
        for (qpn, status) in [
            (0x78, Status::KeyQp),
            (0x77, Status::Ok),
            (0x77, Status::KeyState),
        ] {
            let command = remote(&mut rig, qpn);
            let completion = rig.command(command, CommandExtra::default())?;
            assert_eq!(completion.status, status);
        }
    }
    let window = bound(&mut rig, &mr, 0)?;
    let status = rig.plain(CmdOp::Invalidate, window.rkey, 1)?.status;
    assert_eq!(status, Status::KeyKind, "type 1");
    Ok(())
}

/// A fast-registration region: its keys, and the pages of one registration after the other.
#[test]
fn fast_registration() -> Result {
    for remote_inv in [0, flag::REMOTE_INV] {
        let mut rig = rig()?;
        let made = rig.alloc_mr(9, remote_inv)?;
        assert_eq!(made.status, Status::Ok);
        let (mut lkey, mut rkey) = (made.lkey, made.rkey);
        for round in 0..300u64 {
            let start = START + round * 0x1_0000;
            let length = [0x1000, 0x9000, 0x8801, 0x8800][(round % 4) as usize];
            let spec = Spec::new(start, length, 12, PA + (round << 24));
            let table = rig.build_table(&spec);
            let good = Command {
                op: CmdOp::FastRegMr.code(),
                key: lkey,
                tag: round as u8,
                ..rig.reg_command(&spec, &table)
            };
            if round < 4 {
                for (status, bad) in [
                    (Status::KeyTag, Command { key: rkey, ..good }),
                    (
                        Status::KeyTag,
                        Command {
                            key: Key(lkey.0 ^ 4),
                            ..good
                        },
                    ),
                    (Status::KeyPd, Command { pd: 2, ..good }),
                    (Status::BadLength, Command { length: 0, ..good }),
                    (Status::BadAccess, Command { access: 2, ..good }),
                    (
                        Status::TableSmall,
                        Command {
                            length: 0xa000,
                            ..good
                        },
                    ),
                ] {
                    let bad = Command {
                        id: rig.id(),
                        ..bad
                    };
                    let completion = rig.command(bad, CommandExtra::default())?;
                    assert_eq!(completion.status, status, "{bad:?}");
                }
            }
            let pages = (start % 0x1000 + length).div_ceil(0x1000);
            let completion = rig.command(good, Rig::pages(&spec))?;
            if pages > 9 {
                assert_eq!(completion.status, Status::TableSmall);
                continue;
            }
            assert_eq!(completion.status, Status::Ok);
            let old = (lkey, rkey);
            (lkey, rkey) = (completion.lkey, completion.rkey);
            assert_eq!((lkey.tag(), rkey.tag()), (round as u8, round as u8));
            assert_eq!((lkey.field(), rkey.field()), (old.0.field(), old.1.field()));
            let ranges = table.ranges().map(|r| r.pa..r.pa + r.len).collect();
            let mr = Mr {
                lkey,
                rkey,
                index: rig.bench.golden.keys().decode(lkey).1,
                spec,
                table,
            };
            rig.expect(
                0,
                mr.request(Op::RemoteWrite, start, length as u32),
                Syndrome::Ok,
            )?;
            rig.expect(
                1,
                mr.request(Op::LocalRead, start + length - 8, 8),
                Syndrome::Ok,
            )?;
            let again = Command {
                id: rig.id(),
                key: lkey,
                ..good
            };
            let completion = rig.command(again, CommandExtra::default())?;
            assert_eq!(completion.status, Status::KeyState, "registered already");
            let remote = Command {
                id: rig.id(),
                op: CmdOp::Invalidate.code(),
                key: if round % 2 == 0 { rkey } else { lkey },
                pd: 1,
                flags: if round % 3 == 0 { flag::REMOTE_INV } else { 0 },
                ..Command::default()
            };
            let extra = CommandExtra {
                release: ranges,
                ..CommandExtra::default()
            };
            let status = rig.command(remote, extra)?.status;
            let by_peer = round % 3 == 0;
            let expected = match (by_peer, round % 2 == 0, remote_inv) {
                (true, false, _) => Status::KeyTag,
                (true, true, 0) => Status::RemoteInv,
                _ => Status::Ok,
            };
            assert_eq!(status, expected);
            if status != Status::Ok {
                let status = rig.plain(CmdOp::Invalidate, lkey, 1)?.status;
                assert_eq!(status, Status::Ok);
            }
            rig.expect(0, mr.request(Op::RemoteWrite, start, 8), Syndrome::KeyState)?;
        }
        let status = rig.plain(CmdOp::DeregMr, lkey, 1)?.status;
        assert_eq!(status, Status::Ok, "without a registration");
    }
    Ok(())
}

#[test]
fn physical_regions() -> Result {
    let mut rig = rig()?;
    let reg = |rig: &mut Rig, start: u64, length: u64| Command {
        id: rig.id(),
        op: CmdOp::RegPhys.code(),
        pd: 1,
        access: (Access::LOCAL_WRITE | READ_WRITE).0,
        start,
        length,
        ..Command::default()
    };
    const TOP: u64 = 1 << 43;
    for (start, length, va, len, segments) in [
        (0, u64::MAX, 0, 1, 1),
        (0, u64::MAX, TOP - 1, 2, 2),
        (0, u64::MAX, 5 * TOP - 0x8000_0000, 0x8000_0000u32, 1),
        (0, u64::MAX, 5 * TOP - 1, 0x8000_0000, 2),
        (!0, 1, !0, 1, 1),
        (1 << 63, 1 << 63, 0u64.wrapping_sub(0x1000), 0x1000, 1),
        (0x1234, 0x10, 0x1236, 8, 1),
    ] {
        let command = reg(&mut rig, start, length);
        let made = rig.command(command, CommandExtra::default())?;
        assert_eq!(made.status, Status::Ok);
        let window = Window {
            rkey: made.rkey,
            index: 0,
            pd: 1,
        };
        let outcome = rig.expect(0, window.request(Op::RemoteWrite, va, len), Syndrome::Ok)?;
        assert_eq!(outcome.segments, segments);
        assert_eq!(outcome.beats[0].pa, va);
        let past = window.request(Op::RemoteRead, start.wrapping_add(length), 1);
        let outcome = rig.access(0, past)?;
        assert_ne!(outcome.syndrome, Syndrome::Ok);
        assert_eq!(rig.plain(CmdOp::DeregMr, made.lkey, 1)?.status, Status::Ok);
    }
    for (change, status) in [
        (
            Command {
                length: 0,
                ..Command::default()
            },
            Status::BadLength,
        ),
        (
            Command {
                start: 2,
                length: !0,
                ..Command::default()
            },
            Status::BadWrap,
        ),
        (
            Command {
                access: 0x20,
                length: 1,
                ..Command::default()
            },
            Status::BadFlags,
        ),
        (
            Command {
                access: 0x10,
                length: 1,
                ..Command::default()
            },
            Status::BadFlags,
        ),
        (
            Command {
                access: 2,
                length: 1,
                ..Command::default()
            },
            Status::BadAccess,
        ),
    ] {
        let command = Command {
            id: rig.id(),
            op: CmdOp::RegPhys.code(),
            ..change
        };
        assert_eq!(
            rig.command(command, CommandExtra::default())?.status,
            status
        );
    }
    // Only if the host allows it.
    let mut rig = Rig::small()?;
    let command = reg(&mut rig, 0, u64::MAX);
    let completion = rig.command(command, CommandExtra::default())?;
    assert_eq!(completion.status, Status::Privilege);
    Ok(())
}

#[test]
fn flush_needs_each_right_that_it_asks_for() -> Result {
    let mut rig = rig()?;
    for access in [0u32, 0x100, 0x200, 0x300] {
        let mr = rig.register(Spec::new(START, LENGTH, 12, PA).access(Access(access)))?;
        for (op, needs) in [
            (Op::FlushGlobal, 0x100),
            (Op::FlushPersist, 0x200),
            (Op::FlushBoth, 0x300),
        ] {
            let syndrome = match access & needs == needs {
                true => Syndrome::Ok,
                false if access == 0 => Syndrome::KeyTag,
                false => Syndrome::Rights,
            };
            let mut request = mr.request(op, START, 0x1800);
            if access == 0 {
                // There is no R_Key: the number that it would have.
                request.key = rig.bench.golden.keys().keys(mr.index, 1, Access(0x100)).1;
            }
            rig.expect(0, request, syndrome)?;
        }
    }
    Ok(())
}

#[test]
fn relaxed_ordering_goes_with_the_beats() -> Result {
    let mut rig = rig()?;
    let relaxed = Access(Access::RELAXED_ORDERING.0 | 0x1f);
    let mr = rig.register(Spec::new(START, LENGTH, 12, PA).level(1).access(relaxed))?;
    let strict = region(&mut rig)?;
    let window = bound(&mut rig, &mr, flag::MW2)?;
    for (request, expected) in [
        (mr.request(Op::RemoteWrite, START, 0x3000), true),
        (mr.request(Op::RemoteWrite, START, 8), true),
        (mr.request(Op::LocalRead, START, 8), true),
        (mr.request(Op::RemoteAtomic, START, 8), false),
        (window.request(Op::RemoteRead, part().start, 0x1800), true),
        (strict.request(Op::RemoteWrite, START, 0x3000), false),
    ] {
        let outcome = rig.expect(0, request, Syndrome::Ok)?;
        assert!(outcome.beats.iter().all(|beat| beat.relaxed == expected));
    }
    Ok(())
}

/// Each write of a bind in turn is refused by memory: nothing is left behind.
#[test]
fn a_bind_that_memory_refuses_leaves_nothing_behind() -> Result {
    for moved in [false, true] {
        for failing in 0..4 {
            let mut rig = rig()?;
            let one = region(&mut rig)?;
            let two = rig.register(Spec::new(START, LENGTH, 12, PA * 2))?;
            let mut window = match moved {
                true => bound(&mut rig, &one, 0)?,
                false => rig.alloc_mw(1, 0)?,
            };
            let index = [window.index, two.index, one.index, window.index][failing];
            let entry = rig.bench.entry_address(index);
            let on = if failing == 3 {
                FaultOn::Read
            } else {
                FaultOn::Write
            };
            rig.bench.axi.inject(Fault::once(entry..entry + 64, on));
            let command = rig.bind_command(&window, &two, READ_WRITE, part());
            let status = rig.bind(&mut window, command)?;
            let expected = match (failing, moved) {
                (2, false) => Status::Ok,
                _ => Status::Bus,
            };
            assert_eq!(status, expected, "write {failing}, moved {moved}");
            rig.bench.axi.clear_faults();
            rig.wait_idle()?;
            let held = rig.bench.golden.held(window.index).map(|(state, _)| state);
            // The tail has failed at the parent: the window is lost, and counts for both regions.
            if (failing, moved) == (2, true) {
                assert_ne!(held, Some(State::Alloc));
                for mr in [&one, &two] {
                    let (command, extra) = rig.dereg_command(mr);
                    assert_eq!(rig.command(command, extra)?.status, Status::Bound);
                }
            } else {
                let status = rig.plain(CmdOp::DeallocMw, window.rkey, 1)?.status;
                assert_eq!(status, Status::Ok, "write {failing}, moved {moved}");
                rig.deregister(one)?;
                rig.deregister(two)?;
            }
        }
    }
    Ok(())
}

/// Windows under load: bound and unbound while requests go through them.
#[test]
fn bindings_come_and_go_under_load() -> Result {
    let mut rig = rig()?;
    let mr = region(&mut rig)?;
    let mut windows = vec![];
    for flags in [0, flag::MW2, 0, flag::MW2 | flag::MW2A] {
        windows.push(bound(&mut rig, &mr, flags)?);
    }
    rig.bench
        .set_response_ready(1, Pattern::Random { percent: 60 });
    for round in 0..60u64 {
        for n in 0..40u64 {
            let window = windows[((n * 7 + round) % 4) as usize];
            let at = part().start + (n * 0x351) % 0x4000;
            let mut request = window.request(Op::RemoteRead, at, 1 + (n * 97 % 0x444) as u32);
            request.stream = (n % 16) as u8;
            rig.bench.issue((n % 2) as usize, request);
        }
        let which = (round % 4) as usize;
        if which % 2 == 1 {
            let status = rig.plain(CmdOp::Invalidate, windows[which].rkey, 1)?.status;
            assert_eq!(status, Status::Ok);
        }
        let mut window = windows[which];
        let command = Command {
            tag: round as u8,
            ..rig.bind_command(&window, &mr, READ_WRITE, part())
        };
        assert_eq!(rig.bind(&mut window, command)?, Status::Ok);
        windows[which] = window;
    }
    rig.wait_idle()?;
    assert!(rig.bench.stats.by_syndrome[0] > 1000);
    Ok(())
}

/// Clocks of a hit through a window in the idle unit: the look-up and the check twice.
#[test]
fn clocks_of_a_hit_through_a_window() -> Result {
    let mut rig = rig()?;
    let mr = region(&mut rig)?;
    let window = bound(&mut rig, &mr, flag::MW2)?;
    rig.run(1100)?;
    let mut clocks = |request| -> std::result::Result<u64, BenchError> {
        for _ in 0..3 {
            rig.run(100)?;
            rig.expect(0, request, Syndrome::Ok)?;
        }
        rig.run(100)?;
        let outcome = rig.expect(0, request, Syndrome::Ok)?;
        Ok(outcome.first_beat - outcome.accepted)
    };
    let plain = clocks(mr.request(Op::RemoteRead, part().start, 8))?;
    let through = clocks(window.request(Op::RemoteRead, part().start, 8))?;
    assert_eq!((plain, through), (17, 28));
    Ok(())
}
