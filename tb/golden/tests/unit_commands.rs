// SPDX-License-Identifier: Apache-2.0
//! Commands: every status, indices and generations, and races with requests.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use proptest::prelude::*;
use tpt_golden::codec::{MptEntry, CMD_WORDS};
use tpt_golden::frames::FrameList;
use tpt_golden::keys::KeyMaker;
use tpt_golden::types::*;
use tpt_golden::unit::*;

const RIGHTS: Access = Access(0xf);

fn keys() -> KeyMaker {
    KeyMaker::new([1, 2, 3, 4], [5, 6, 7, 8], false)
}

fn unit(table_size: u32) -> Golden {
    Golden::enabled(keys(), table_size, 3)
}

/// Two pages inside the entry.
fn reg() -> Command {
    Command {
        id: 1,
        op: CmdOp::RegMr.code(),
        pd: 5,
        access: RIGHTS.0,
        start: 0x40_0000,
        length: 0x2000,
        log_page: 12,
        level: LEVEL_INLINE,
        frame: [0x1_0000, 0x2_0000, 0, 0],
        ..Command::default()
    }
}

fn named(op: CmdOp, key: Key) -> Command {
    Command {
        id: 2,
        op: op.code(),
        key,
        pd: 5,
        ..Command::default()
    }
}

fn dereg(key: Key) -> Command {
    named(CmdOp::DeregMr, key)
}

fn read(key: Key) -> Request {
    Request {
        op: Op::RemoteRead.code(),
        key,
        va: 0x40_0000,
        len: 16,
        pd: 5,
        ..Request::default()
    }
}

fn status(unit: &mut Golden, command: Command) -> Status {
    unit.command(&command, None).status
}

fn register(unit: &mut Golden) -> Completion {
    let done = unit.command(&reg(), None);
    assert_eq!(done.status, Status::Ok);
    done
}

#[test]
fn registration_statuses() {
    let mut unit = unit(64);
    let top = u64::MAX;
    let tree = Command {
        level: 1,
        log_tpage: 12,
        frame: [0x3000, 0, 0, 0],
        ..reg()
    };
    let flat = Command {
        level: LEVEL_FLAT,
        log_tpage: 31,
        frame: [0x3008, 0, 0, 0],
        ..reg()
    };
    for (name, command, expected) in [
        ("good", reg(), Status::Ok),
        ("unknown command", Command { op: 0, ..reg() }, Status::BadOp),
        (
            "unknown command",
            Command { op: 12, ..reg() },
            Status::BadOp,
        ),
        ("empty", Command { length: 0, ..reg() }, Status::BadLength),
        (
            "to 2^64",
            Command {
                start: top - 0x1fff,
                ..reg()
            },
            Status::Ok,
        ),
        (
            "past 2^64",
            Command {
                start: top - 0x1ffe,
                ..reg()
            },
            Status::BadWrap,
        ),
        (
            "on demand",
            Command {
                access: 0x40,
                ..reg()
            },
            Status::BadFlags,
        ),
        (
            "flush rights",
            Command {
                access: 0x300,
                ..reg()
            },
            Status::Ok,
        ),
        (
            "bit 10",
            Command {
                access: 0x400,
                ..reg()
            },
            Status::BadFlags,
        ),
        (
            "bit 19",
            Command {
                access: 1 << 19,
                ..reg()
            },
            Status::BadFlags,
        ),
        (
            "bit 30",
            Command {
                access: 1 << 30,
                ..reg()
            },
            Status::BadFlags,
        ),
        (
            "optional bits",
            Command {
                access: 0x3ff0_0000,
                ..reg()
            },
            Status::Ok,
        ),
        (
            "huge pages hint",
            Command {
                access: 0x80,
                ..reg()
            },
            Status::Ok,
        ),
        (
            "remote write alone",
            Command { access: 2, ..reg() },
            Status::BadAccess,
        ),
        (
            "remote atomic alone",
            Command { access: 8, ..reg() },
            Status::BadAccess,
        ),
        (
            "remote read alone",
            Command { access: 4, ..reg() },
            Status::Ok,
        ),
        (
            "2 KiB pages",
            Command {
                log_page: 11,
                ..reg()
            },
            Status::BadPageSize,
        ),
        (
            "16 TiB pages",
            Command {
                log_page: 44,
                ..reg()
            },
            Status::BadPageSize,
        ),
        (
            "8 TiB pages",
            Command {
                log_page: 43,
                frame: [1 << 43; 4],
                ..reg()
            },
            Status::Ok,
        ),
        (
            "reserved encoding",
            Command {
                encoding: 2,
                ..reg()
            },
            Status::BadEncoding,
        ),
        (
            "encoding 3",
            Command {
                encoding: 3,
                ..reg()
            },
            Status::BadEncoding,
        ),
        ("too deep", Command { level: 4, ..tree }, Status::BadLevel),
        ("level 6", Command { level: 6, ..tree }, Status::BadLevel),
        ("level 7", Command { level: 7, ..tree }, Status::BadLevel),
        (
            "small table pages",
            Command {
                log_tpage: 11,
                ..tree
            },
            Status::BadLevel,
        ),
        (
            "large table pages",
            Command {
                log_tpage: 17,
                ..tree
            },
            Status::BadLevel,
        ),
        (
            "inline ignores table pages",
            Command {
                log_tpage: 31,
                ..reg()
            },
            Status::Ok,
        ),
        (
            "5 pages inline",
            Command {
                length: 0x4001,
                ..reg()
            },
            Status::TableSmall,
        ),
        (
            "513 pages, level 1",
            Command {
                length: 0x20_0001,
                ..tree
            },
            Status::TableSmall,
        ),
        (
            "512 pages, level 1",
            Command {
                length: 0x20_0000,
                ..tree
            },
            Status::Ok,
        ),
        (
            "513 by offset",
            Command {
                start: 1,
                length: 0x20_0000,
                ..tree
            },
            Status::TableSmall,
        ),
        (
            "level 3 full",
            Command {
                level: 3,
                length: 1 << 39,
                ..tree
            },
            Status::Ok,
        ),
        (
            "level 3, one more",
            Command {
                level: 3,
                length: (1 << 39) + 1,
                ..tree
            },
            Status::TableSmall,
        ),
        (
            "flat, 2^39 pages",
            Command {
                start: 0,
                length: 1 << 51,
                ..flat
            },
            Status::Ok,
        ),
        (
            "flat, one more",
            Command {
                start: 0,
                length: (1 << 51) + 1,
                ..flat
            },
            Status::TableSmall,
        ),
        (
            "flat, odd root",
            Command {
                frame: [0x3004, 0, 0, 0],
                ..flat
            },
            Status::TableAlign,
        ),
        (
            "root not aligned",
            Command {
                frame: [0x3008, 0, 0, 0],
                ..tree
            },
            Status::TableAlign,
        ),
        (
            "root of 64 KiB",
            Command {
                log_tpage: 16,
                ..tree
            },
            Status::TableAlign,
        ),
        (
            "second page",
            Command {
                frame: [0, 0x800, 0, 0],
                ..reg()
            },
            Status::TableAlign,
        ),
        (
            "unused page",
            Command {
                frame: [0, 0, 0x800, 1],
                ..reg()
            },
            Status::Ok,
        ),
    ] {
        assert_eq!(status(&mut unit, command), expected, "{name}");
    }
}

/// Of two mistakes the one that is checked earlier is reported.
#[test]
fn registration_order_of_checks() {
    type Breaker = (Status, fn(&mut Command));
    let breakers: &[Breaker] = &[
        (Status::BadOp, |c| c.op = 15),
        (Status::BadLength, |c| c.length = 0),
        (Status::BadWrap, |c| c.start = u64::MAX),
        (Status::BadFlags, |c| c.access |= 0x40),
        (Status::BadAccess, |c| c.access = c.access & 0x40 | 2),
        (Status::BadPageSize, |c| c.log_page = 50),
        (Status::BadEncoding, |c| c.encoding = 3),
        (Status::BadLevel, |c| c.level = 7),
        (Status::TableSmall, |c| {
            c.length = (c.length << 10).max(c.length)
        }),
        (Status::TableAlign, |c| c.frame[0] = 4),
    ];
    for (n, (first, break_first)) in breakers.iter().enumerate() {
        for (second, break_second) in &breakers[n + 1..] {
            let mut command = reg();
            break_second(&mut command);
            break_first(&mut command);
            let mut unit = unit(8);
            assert_eq!(
                status(&mut unit, command),
                *first,
                "{first} before {second}"
            );
            assert_eq!(unit.regions().count(), 0, "nothing is allocated");
        }
    }
    let mut off = Golden::new(keys(), 8, 3);
    assert_eq!(
        off.command(&Command { op: 15, ..reg() }, None).status,
        Status::Disabled
    );
}

#[test]
fn statuses_of_commands_with_a_key() {
    for op in [CmdOp::DeregMr, CmdOp::ReregMr, CmdOp::Query] {
        let mut unit = unit(64);
        let first = register(&mut unit);
        let base = Command {
            rereg: rereg::ACCESS,
            access: Access::REMOTE_READ.0,
            ..named(op, first.lkey)
        };
        let outside = Key::new(unit.keys().field(Role::Local, 64), 0);
        let unused = Key::new(unit.keys().field(Role::Local, 9), 0);
        for (name, command, expected) in [
            (
                "index",
                Command {
                    key: outside,
                    pd: 0,
                    ..base
                },
                Status::KeyIndex,
            ),
            (
                "state",
                Command {
                    key: unused,
                    pd: 0,
                    ..base
                },
                Status::KeyState,
            ),
            (
                "R_Key",
                Command {
                    key: first.rkey,
                    pd: 0,
                    ..base
                },
                Status::KeyTag,
            ),
            (
                "tag",
                Command {
                    key: Key(first.lkey.0 ^ 1),
                    pd: 0,
                    ..base
                },
                Status::KeyTag,
            ),
            ("pd", Command { pd: 4, ..base }, Status::KeyPd),
            ("good", base, Status::Ok),
        ] {
            assert_eq!(status(&mut unit, command), expected, "{op}, {name}");
        }
    }
}

#[test]
fn query_gives_the_entry() {
    let mut unit = unit(64);
    let first = register(&mut unit);
    let answer = unit.command(&named(CmdOp::Query, first.lkey), None);
    let entry = MptEntry::decode(&answer.entry, 1).expect("a good entry");
    let expected = MptEntry {
        index: 1,
        state: 1,
        access: 0xf,
        log_page: 12,
        lkey_tag: first.lkey.tag(),
        rkey_tag: first.rkey.tag(),
        gen: 1,
        pd: 5,
        start: 0x40_0000,
        length: 0x2000,
        frame: [0x10, 0x20, 0, 0],
        ..MptEntry::default()
    };
    assert_eq!(entry, expected);
    assert_eq!(unit.check_entry(1, &answer.entry), Ok(()));
    assert_eq!(
        unit.check_entry(2, &[0; 64]),
        Ok(()),
        "an entry that was never used"
    );
    assert!(unit.check_entry(1, &[0; 64]).is_err());
    assert!(unit.check_entry(2, &answer.entry).is_err());
}

/// Roots of tables, as they are kept in the entry.
#[test]
fn entries_of_tables() {
    let mut unit = unit(64);
    let junk = 0xdead_beef_dead_beef;
    let root = 0x0012_3456_789a_b000;
    for (level, root, frame) in [
        (1, root, [root >> 12, 0, 0, 0]),
        (3, root, [root >> 12, 0, 0, 0]),
        (LEVEL_FLAT, root | 0xff8, [root >> 12, 0x1ff, 0, 0]),
        (LEVEL_FLAT, root | 0x008, [root >> 12, 1, 0, 0]),
    ] {
        let command = Command {
            level,
            log_tpage: 12,
            frame: [root, junk, junk, junk],
            ..reg()
        };
        let done = unit.command(&command, None);
        assert_eq!(done.status, Status::Ok);
        let region = unit
            .current(unit.keys().decode(done.lkey).1)
            .expect("registered");
        assert_eq!(region.entry(State::Valid).frame, frame, "level {level}");
    }
}

/// Fresh indices first, then the longest free one; NO_INDEX when all are used.
#[test]
fn indices_are_reused_as_late_as_possible() {
    let mut unit = unit(4);
    let index = |unit: &Golden, done: &Completion| unit.keys().decode(done.lkey).1;
    let all: Vec<_> = (0..3).map(|_| register(&mut unit)).collect();
    assert_eq!(
        all.iter()
            .map(|done| index(&unit, done))
            .collect::<Vec<_>>(),
        [1, 2, 3]
    );
    assert_eq!(status(&mut unit, reg()), Status::NoIndex);
    for n in [2, 0, 1] {
        assert_eq!(status(&mut unit, dereg(all[n].lkey)), Status::Ok);
    }
    let again: Vec<_> = (0..3).map(|_| register(&mut unit)).collect();
    assert_eq!(
        again
            .iter()
            .map(|done| index(&unit, done))
            .collect::<Vec<_>>(),
        [3, 1, 2]
    );
    for (old, new) in [(2, 0), (0, 1), (1, 2)] {
        assert_eq!(all[old].lkey.field(), again[new].lkey.field());
        assert_ne!(
            all[old].lkey, again[new].lkey,
            "a reused index has a new tag"
        );
    }
}

/// 256 registrations of one index give 256 keys, and then the first comes again.
#[test]
fn generations() {
    let mut unit = unit(2);
    let mut seen = HashSet::new();
    for n in 1..=256u32 {
        let done = register(&mut unit);
        assert_eq!(unit.slot(1), (State::Valid, n as u8));
        assert!(seen.insert((done.lkey, done.rkey)), "registration {n}");
        assert_eq!(status(&mut unit, dereg(done.lkey)), Status::Ok);
        assert_eq!(unit.judge(&read(done.rkey)).syndrome, Syndrome::KeyState);
    }
    let done = register(&mut unit);
    assert!(seen.contains(&(done.lkey, done.rkey)));
}

#[test]
fn reregistration() {
    let mut unit = unit(8);
    let first = register(&mut unit);
    let rereg = |key, rereg| Command {
        rereg,
        ..named(CmdOp::ReregMr, key)
    };

    assert_eq!(status(&mut unit, rereg(first.lkey, 0)), Status::BadRereg);
    assert_eq!(
        status(&mut unit, rereg(Key(0), 0)),
        Status::BadRereg,
        "before the key"
    );

    // Rights: the translation of the command is not looked at.
    let rights = Command {
        access: Access::REMOTE_READ.0,
        ..rereg(first.lkey, rereg::ACCESS)
    };
    assert_eq!(
        status(
            &mut unit,
            Command {
                access: 2,
                ..rights
            }
        ),
        Status::BadAccess
    );
    assert_eq!(
        unit.judge(&read(first.rkey)).syndrome,
        Syndrome::Ok,
        "a failure changes nothing"
    );
    let second = unit.command(&rights, None);
    assert_eq!(second.status, Status::Ok);
    assert_ne!((second.lkey, second.rkey), (first.lkey, first.rkey));
    assert_eq!(unit.slot(1), (State::Valid, 2));
    assert_eq!(unit.judge(&read(first.rkey)).syndrome, Syndrome::KeyTag);
    assert_eq!(unit.judge(&read(second.rkey)).syndrome, Syndrome::Ok);
    let write = Request {
        op: Op::RemoteWrite.code(),
        ..read(second.rkey)
    };
    assert_eq!(unit.judge(&write).syndrome, Syndrome::Rights);

    // Protection domain: named by the old one.
    let third = unit.command(
        &Command {
            new_pd: 9,
            ..rereg(second.lkey, rereg::PD)
        },
        None,
    );
    assert_eq!(third.status, Status::Ok);
    assert_eq!(unit.judge(&read(third.rkey)).syndrome, Syndrome::Pd);
    let request = Request {
        pd: 9,
        ..read(third.rkey)
    };
    assert_eq!(
        unit.judge(&request).beats(&request).next().map(|b| b.pa),
        Some(0x1_0000)
    );

    // Translation: rights stay.
    let moved = Command {
        pd: 9,
        start: 0x123_4567,
        length: 0x10,
        log_page: 30,
        level: LEVEL_FLAT,
        frame: [0x7008, 0, 0, 0],
        ..rereg(third.lkey, rereg::TRANSLATION)
    };
    assert_eq!(
        status(&mut unit, Command { length: 0, ..moved }),
        Status::BadLength
    );
    assert_eq!(
        status(
            &mut unit,
            Command {
                access: 0x40,
                ..moved
            }
        ),
        Status::Ok
    );
    let fourth_key = unit.current(1).expect("still there").lkey;
    let fourth = Command {
        key: fourth_key,
        ..moved
    };
    let pages = Arc::new(FrameList::contiguous(30, 5 << 30, 1));
    let fifth = unit.command(&fourth, Some(pages));
    assert_eq!(fifth.status, Status::Ok);
    let request = Request {
        pd: 9,
        va: 0x123_4567,
        len: 0x10,
        ..read(fifth.rkey)
    };
    let beats: Vec<_> = unit
        .judge(&request)
        .beats(&request)
        .map(|b| (b.pa, b.len))
        .collect();
    assert_eq!(beats, [((5 << 30) + 0x123_4567, 0x10)]);
    let region = unit.current(1).expect("still there");
    assert_eq!(
        (region.gen, region.access, region.pd),
        (5, Access::REMOTE_READ, 9)
    );
    assert_eq!(unit.incarnations(1).count(), 5);
    unit.forget_before(u64::MAX);
    assert_eq!(unit.incarnations(1).count(), 1);
}

/// Outcomes that are right, by their syndromes.
fn allowed(unit: &Golden, request: &Request, from: u64, to: u64) -> Vec<Syndrome> {
    let verdicts = unit.allowed(&Conditions::default(), request, from, to);
    let mut syndromes: Vec<_> = verdicts.iter().map(|verdict| verdict.syndrome).collect();
    syndromes.sort();
    syndromes
}

#[test]
fn races_with_a_life() {
    use Syndrome::{KeyState, Ok as Fine};
    let mut unit = unit(8);
    let born = unit.begin(&reg(), None, 10);
    assert_eq!(unit.complete(&born, 20), Ok(Outcome::Finished));
    let dying = unit.begin(&dereg(born.lkey), None, 50);
    assert_eq!(unit.complete(&dying, 60), Ok(Outcome::Finished));
    let request = read(born.rkey);
    for (from, to, expected) in [
        (1, 9, &[KeyState][..]),
        (1, 10, &[Fine, KeyState]),
        (12, 19, &[Fine, KeyState]),
        (20, 20, &[Fine]),
        (20, 50, &[Fine]),
        (19, 50, &[Fine, KeyState]),
        (20, 51, &[Fine, KeyState]),
        (55, 70, &[Fine, KeyState]),
        (60, 70, &[Fine, KeyState]),
        (61, 70, &[KeyState]),
    ] {
        assert_eq!(
            allowed(&unit, &request, from, to),
            expected,
            "{from} to {to}"
        );
    }
    unit.forget_before(60);
    assert_eq!(allowed(&unit, &request, 60, 61), [Fine, KeyState]);
    unit.forget_before(61);
    assert_eq!(allowed(&unit, &request, 61, 62), [KeyState]);
    assert_eq!(unit.incarnations(1).count(), 0);
}

/// PENDING: the keys are dead, the index is kept, and the final completion frees it.
#[test]
fn races_with_a_pending_fence() {
    use Syndrome::{KeyState, Ok as Fine};
    let mut unit = unit(2);
    let born = unit.begin(&reg(), None, 10);
    assert_eq!(unit.complete(&born, 20), Ok(Outcome::Finished));
    let last = unit.begin(&dereg(born.lkey), None, 50);
    let pending = Completion::plain(2, CmdOp::DeregMr.code(), Status::Pending);
    assert_eq!(unit.complete(&pending, 60), Ok(Outcome::Pending));
    assert!(unit.complete(&pending, 61).is_err(), "it is reported once");
    assert_eq!(allowed(&unit, &read(born.rkey), 60, 65), [Fine, KeyState]);
    assert_eq!(allowed(&unit, &read(born.rkey), 61, 65), [KeyState]);
    assert_eq!(unit.slot(1).0, State::Invalid);
    assert_eq!(
        unit.begin(&Command { id: 3, ..reg() }, None, 70).status,
        Status::NoIndex
    );
    let full = Completion::plain(3, CmdOp::RegMr.code(), Status::NoIndex);
    assert_eq!(unit.complete(&full, 71), Ok(Outcome::Finished));
    assert_eq!(unit.complete(&last, 80), Ok(Outcome::Finished));
    assert_eq!(unit.slot(1).0, State::Free);
    assert_eq!(unit.begin(&reg(), None, 90).status, Status::Ok);
    assert_eq!(unit.commands_in_flight(), 1);
}

/// Between the two lives of a re-registered index the key is refused.
#[test]
fn races_with_a_reregistration() {
    use Syndrome::{KeyState, KeyTag, Ok as Fine};
    let mut unit = unit(2);
    let born = unit.begin(&reg(), None, 10);
    assert_eq!(unit.complete(&born, 20), Ok(Outcome::Finished));
    let command = Command {
        rereg: rereg::ACCESS,
        access: Access::REMOTE_READ.0,
        ..named(CmdOp::ReregMr, born.lkey)
    };
    let again = unit.begin(&command, None, 30);
    assert_eq!(unit.complete(&again, 40), Ok(Outcome::Finished));
    let (old, new) = (read(born.rkey), read(again.rkey));
    assert_eq!(allowed(&unit, &old, 20, 30), [Fine]);
    assert_eq!(allowed(&unit, &old, 35, 36), [Fine, KeyState, KeyTag]);
    assert_eq!(allowed(&unit, &old, 41, 50), [KeyTag]);
    assert_eq!(allowed(&unit, &new, 20, 29), [KeyTag]);
    assert_eq!(allowed(&unit, &new, 35, 36), [Fine, KeyState, KeyTag]);
    assert_eq!(allowed(&unit, &new, 39, 50), [Fine, KeyState, KeyTag]);
    assert_eq!(allowed(&unit, &new, 40, 50), [Fine]);
    assert_eq!(allowed(&unit, &new, 41, 50), [Fine]);
}

#[test]
fn completions_are_judged() {
    let mut unit = unit(8);
    let good = unit.begin(&reg(), None, 1);
    let wrong_key = Completion {
        lkey: Key(good.lkey.0 ^ 1),
        ..good
    };
    let error = unit
        .complete(&wrong_key, 2)
        .expect_err("a wrong key is an error");
    assert!(matches!(error, CompletionError::Wrong { .. }), "{error}");
    let refused = Completion::plain(good.id, good.op, Status::KeyPd);
    assert!(unit.complete(&refused, 2).is_err());
    let pending = Completion::plain(good.id, good.op, Status::Pending);
    assert!(
        unit.complete(&pending, 2).is_err(),
        "registration has no fence"
    );
    let busy = Completion::plain(good.id, good.op, Status::Busy);
    assert!(
        unit.complete(&busy, 2).is_err(),
        "registration needs no place in the queue"
    );
    let keys_with_error = Completion {
        status: Status::Bus,
        ..good
    };
    assert!(
        unit.complete(&keys_with_error, 2).is_err(),
        "no key beside an error"
    );
    let unknown = Completion { id: 7, ..good };
    assert_eq!(
        unit.complete(&unknown, 2),
        Err(CompletionError::Unknown { id: 7 })
    );
    assert_eq!(unit.complete(&good, 3), Ok(Outcome::Finished));
}

/// A registration that fails on the bus gives its index to the next one.
#[test]
fn refusals_from_outside_change_nothing() {
    let mut unit = unit(8);
    let first = unit.begin(&reg(), None, 1);
    let second = unit.begin(&Command { id: 2, ..reg() }, None, 2);
    assert_ne!(first.lkey, second.lkey);
    let bus = Completion::plain(1, first.op, Status::Bus);
    assert_eq!(unit.complete(&bus, 3), Ok(Outcome::Refused(Status::Bus)));
    let now_first = Completion { id: 2, ..first };
    assert_eq!(unit.complete(&now_first, 4), Ok(Outcome::Finished));
    assert_eq!(unit.slot(1), (State::Valid, 1));
    assert_eq!(unit.slot(2), (State::Free, 0));

    // A full fence queue leaves the region alive; the command behind it is judged anew.
    let busy = unit.begin(&dereg(first.lkey), None, 10);
    let again = unit.begin(
        &Command {
            id: 3,
            ..dereg(first.lkey)
        },
        None,
        11,
    );
    assert_eq!((busy.status, again.status), (Status::Ok, Status::KeyState));
    let refused = Completion::plain(2, busy.op, Status::Busy);
    assert_eq!(
        unit.complete(&refused, 12),
        Ok(Outcome::Refused(Status::Busy))
    );
    assert_eq!(allowed(&unit, &read(first.rkey), 4, 10), [Syndrome::Ok]);
    let done = Completion::plain(3, busy.op, Status::Ok);
    assert_eq!(unit.complete(&done, 13), Ok(Outcome::Finished));
    assert_eq!(unit.slot(1).0, State::Free);
}

/// Bus errors in the middle of a command: the region may have been refused for a while, and an
/// index may be lost.
#[test]
fn bus_errors_and_retired_indices() {
    use Syndrome::{KeyState, Ok as Fine};
    let mut unit = unit(4);
    let first = unit.begin(&reg(), None, 1);
    assert_eq!(unit.complete(&first, 2), Ok(Outcome::Finished));
    let request = read(first.rkey);

    let failed = unit.begin(&dereg(first.lkey), None, 10);
    let bus = Completion::plain(2, failed.op, Status::Bus);
    assert_eq!(unit.complete(&bus, 20), Ok(Outcome::Refused(Status::Bus)));
    assert_eq!(allowed(&unit, &request, 3, 9), [Fine]);
    assert_eq!(allowed(&unit, &request, 3, 10), [Fine, KeyState]);
    assert_eq!(allowed(&unit, &request, 20, 21), [Fine, KeyState]);
    assert_eq!(allowed(&unit, &request, 21, 30), [Fine], "alive again");
    unit.retire(1, 31); // had the entry been found invalid in memory
    assert_eq!(allowed(&unit, &request, 32, 33), [KeyState]);
    assert_eq!(unit.check_entry(1, &[0xff; 64]), Ok(()));

    // A registration whose write could not be undone: the next one gets another index.
    let lost = unit.begin(&reg(), None, 40);
    let bus = Completion::plain(1, lost.op, Status::Bus);
    assert_eq!(unit.complete(&bus, 41), Ok(Outcome::Refused(Status::Bus)));
    assert_eq!(unit.next_index(), Some(2));
    unit.retire(2, 41);
    let third = unit.begin(&reg(), None, 50);
    assert_eq!(unit.keys().decode(third.lkey), (Role::Local, 3));
    assert_eq!(unit.complete(&third, 51), Ok(Outcome::Finished));

    // The end of a pending command fails: the keys stay dead, the index is lost.
    let failed = unit.begin(&dereg(third.lkey), None, 60);
    let pending = Completion::plain(2, failed.op, Status::Pending);
    assert_eq!(unit.complete(&pending, 61), Ok(Outcome::Pending));
    let bus = Completion {
        status: Status::Bus,
        ..pending
    };
    assert_eq!(unit.complete(&bus, 62), Ok(Outcome::Refused(Status::Bus)));
    assert_eq!(allowed(&unit, &read(third.rkey), 62, 63), [KeyState]);
    assert_eq!(status(&mut unit, reg()), Status::NoIndex);
    unit.enable(100);
    unit.ready(101);
    assert_eq!(
        unit.next_index(),
        Some(1),
        "clearing the table brings everything back"
    );
}

/// What was in flight before a command may change what it finds.
#[test]
fn commands_are_judged_as_of_now_too() {
    let mut unit = unit(2);
    let first = register(&mut unit);
    let gone = unit.begin(&dereg(first.lkey), None, 10);
    let full = unit.begin(&Command { id: 3, ..reg() }, None, 11);
    assert_eq!(full.status, Status::NoIndex, "the index is not back yet");
    assert_eq!(unit.complete(&gone, 12), Ok(Outcome::Finished));
    let (lkey, rkey) = unit.keys().keys(1, 2, RIGHTS);
    let late = Completion {
        status: Status::Ok,
        lkey,
        rkey,
        index: 1,
        ..full
    };
    assert_eq!(unit.complete(&late, 13), Ok(Outcome::Finished));
    assert_eq!(unit.slot(1), (State::Valid, 2));
}

#[test]
fn enable_disable_reset() {
    use Syndrome::{Disabled, KeyState, Ok as Fine};
    let mut unit = Golden::new(keys(), 8, 3);
    assert_eq!(status(&mut unit, reg()), Status::Disabled);
    unit.enable(10);
    assert_eq!(
        status(&mut unit, reg()),
        Status::Disabled,
        "the table is being cleared"
    );
    unit.ready(20);
    let first = unit.begin(&reg(), None, 21);
    assert_eq!(unit.complete(&first, 22), Ok(Outcome::Finished));
    let request = read(first.rkey);
    assert_eq!(allowed(&unit, &request, 1, 9), [Disabled]);
    assert_eq!(allowed(&unit, &request, 15, 16), [KeyState, Disabled]);
    assert_eq!(allowed(&unit, &request, 25, 30), [Fine]);
    unit.disabling(40);
    unit.disabled(50);
    assert_eq!(allowed(&unit, &request, 30, 40), [Fine]);
    assert_eq!(allowed(&unit, &request, 30, 41), [Fine, KeyState, Disabled]);
    assert_eq!(allowed(&unit, &request, 51, 60), [Disabled]);
    unit.enable(70);
    unit.ready(80);
    assert_eq!(
        allowed(&unit, &request, 81, 82),
        [KeyState],
        "all keys are dead"
    );
    let second = unit.begin(&reg(), None, 90);
    assert_eq!(second.lkey, first.lkey, "index and generation start again");
    unit.reset();
    assert_eq!(unit.commands_in_flight(), 0);
    assert_eq!(allowed(&unit, &request, 91, 92), [Disabled]);
}

/// A model of the allocator so simple that it is right at a glance.
#[derive(Default)]
struct Shelf {
    next: u32,
    queue: VecDeque<u32>,
}

proptest! {
    /// Any sequence of registrations and deregistrations: indices as the simple model says, keys
    /// alive exactly while registered, never two equal live keys, statuses as expected.
    #[test]
    fn registrations_come_and_go(
        size in 2u32..9,
        steps in prop::collection::vec((any::<bool>(), any::<prop::sample::Index>()), 1..120),
    ) {
        let mut unit = unit(size);
        let mut shelf = Shelf { next: 1, ..Shelf::default() };
        let mut live: Vec<(u32, Completion)> = Vec::new();
        let mut dead: Vec<Completion> = Vec::new();
        for (register, pick) in steps {
            if register {
                let index = if shelf.next < size {
                    shelf.next += 1;
                    Some(shelf.next - 1)
                } else {
                    shelf.queue.pop_front()
                };
                let done = unit.command(&reg(), None);
                match index {
                    None => prop_assert_eq!(done.status, Status::NoIndex),
                    Some(index) => {
                        prop_assert_eq!(done.status, Status::Ok);
                        prop_assert_eq!(unit.keys().decode(done.lkey), (Role::Local, index));
                        prop_assert_eq!(unit.keys().decode(done.rkey), (Role::Remote, index));
                        live.push((index, done));
                    }
                }
            } else if !live.is_empty() {
                let (index, done) = live.swap_remove(pick.index(live.len()));
                prop_assert_eq!(status(&mut unit, dereg(done.lkey)), Status::Ok);
                shelf.queue.push_back(index);
                dead.push(done);
            }
            let keys: HashSet<Key> =
                live.iter().flat_map(|(_, done)| [done.lkey, done.rkey]).collect();
            prop_assert_eq!(keys.len(), 2 * live.len());
            prop_assert_eq!(unit.regions().count(), live.len());
            for (_, done) in &live {
                prop_assert_eq!(unit.judge(&read(done.rkey)).syndrome, Syndrome::Ok);
            }
            for done in &dead {
                prop_assert_ne!(unit.judge(&read(done.rkey)).syndrome, Syndrome::Ok);
            }
        }
    }

    /// No command, however odd, makes the model panic or leaves it inconsistent.
    #[test]
    fn odd_commands_do_no_harm(
        commands in prop::collection::vec((any::<[u32; CMD_WORDS]>(), 0u8..13, any::<bool>()), 1..20),
    ) {
        let mut unit = unit(4);
        let first = register(&mut unit);
        for (words, op, hit) in commands {
            let mut command = Command { op, ..Command::unpack(&words) };
            if hit {
                (command.key, command.pd) = (first.lkey, 5);
            }
            let done = unit.command(&command, None);
            prop_assert_eq!((done.id, done.op), (command.id, command.op));
            if done.status != Status::Ok {
                prop_assert_eq!(done, Completion::plain(done.id, done.op, done.status));
            }
            for region in unit.regions() {
                let entry = region.entry(State::Valid);
                prop_assert_eq!(unit.check_entry(region.index, &entry.encode()), Ok(()));
            }
            prop_assert_eq!(unit.commands_in_flight(), 0);
        }
    }
}
