// SPDX-License-Identifier: Apache-2.0
//! Fast registration, windows and invalidation in time: requests and commands that overlap, fences
//! that take too long, refusals from outside.

mod verbs_common;

use tpt_golden::types::*;
use tpt_golden::unit::*;
use verbs_common::*;
use Syndrome::{KeyState, KeyTag, Ok as Fine};

/// Runs a command at once; then the clock of the unit is at `clock`.
fn at(unit: &mut Golden, command: Command, clock: u64) -> Completion {
    run(unit, command, clock, clock)
}

#[test]
fn fast_registration_and_invalidation() {
    let mut unit = unit();
    let mr = at(&mut unit, alloc_mr(3), 1);
    let made = unit.begin(&fast_reg(mr.lkey, 9), None, 10);
    let read = access(Op::RemoteRead, made.rkey);
    assert_eq!(allowed(&unit, &read, 5, 9), [KeyState]);
    assert_eq!(allowed(&unit, &read, 5, 10), [Fine, KeyState]);
    assert_eq!(unit.complete(&made, 20), Ok(Outcome::Finished));
    assert_eq!(allowed(&unit, &read, 15, 25), [Fine, KeyState]);
    assert_eq!(allowed(&unit, &read, 20, 25), [Fine]);
    // The key of before.
    let old = access(Op::RemoteRead, mr.rkey);
    assert_eq!(allowed(&unit, &old, 5, 15), [KeyState, KeyTag]);
    assert_eq!(allowed(&unit, &old, 21, 25), [KeyTag]);

    let ended = unit.begin(&invalidate(made.lkey), None, 30);
    assert_eq!(allowed(&unit, &read, 20, 30), [Fine]);
    assert_eq!(allowed(&unit, &read, 31, 32), [Fine, KeyState]);
    assert_eq!(state(&unit, made.lkey), State::Invalid);
    assert_eq!(unit.complete(&ended, 40), Ok(Outcome::Finished));
    assert_eq!(allowed(&unit, &read, 40, 45), [Fine, KeyState]);
    assert_eq!(allowed(&unit, &read, 41, 45), [KeyState]);
    assert_eq!(state(&unit, made.lkey), State::Alloc);
    unit.forget_before(41);
    let index = unit.keys().decode(made.lkey).1;
    assert_eq!(unit.incarnations(index).count(), 0);
}

/// A window and its region: both may be met in other states while commands are under way.
#[test]
fn binding_and_unbinding() {
    for kind in WINDOWS {
        let mut unit = unit();
        let lkey = at(&mut unit, reg(), 1).lkey;
        let window = at(&mut unit, alloc_mw(kind), 2).rkey;
        let bound = unit.begin(&bind(window, lkey), None, 10);
        let read = access(Op::RemoteRead, bound.rkey);
        assert_eq!(windows_of(&unit, lkey), 1, "counted at once");
        assert_eq!(allowed(&unit, &read, 5, 9), [KeyState]);
        assert_eq!(allowed(&unit, &read, 12, 14), [Fine, KeyState]);
        assert_eq!(unit.complete(&bound, 20), Ok(Outcome::Finished));
        assert_eq!(allowed(&unit, &read, 20, 25), [Fine]);
        let refused = unit.begin(
            &Command {
                id: 9,
                ..dereg(lkey)
            },
            None,
            21,
        );
        assert_eq!(refused.status, Status::Bound);
        assert_eq!(unit.complete(&refused, 22), Ok(Outcome::Finished));

        let unbind = match kind {
            Kind::Mw1 => Command {
                length: 0,
                ..bind(bound.rkey, lkey)
            },
            _ => invalidate(bound.rkey),
        };
        let ended = unit.begin(&unbind, None, 30);
        assert_eq!(windows_of(&unit, lkey), 1, "until the fence is over");
        assert_eq!(allowed(&unit, &read, 29, 30), [Fine]);
        assert_eq!(allowed(&unit, &read, 31, 32), [Fine, KeyState]);
        // Still bound for a command that comes before the end of the fence ...
        let early = unit.begin(
            &Command {
                id: 9,
                ..dereg(lkey)
            },
            None,
            35,
        );
        assert_eq!(early.status, Status::Bound);
        assert_eq!(unit.complete(&early, 36), Ok(Outcome::Finished));
        // ... and not for one that is executed behind it.
        let late = unit.begin(
            &Command {
                id: 9,
                ..dereg(lkey)
            },
            None,
            37,
        );
        assert_eq!(late.status, Status::Bound);
        assert_eq!(unit.complete(&ended, 40), Ok(Outcome::Finished));
        assert_eq!(windows_of(&unit, lkey), 0);
        assert_eq!(allowed(&unit, &read, 41, 45), [KeyState]);
        let mut refused = unit.clone();
        assert_eq!(refused.complete(&late, 50), Ok(Outcome::Finished));
        assert_eq!(
            state(&refused, lkey),
            State::Valid,
            "it came before the end"
        );
        let gone = Completion::plain(9, late.op, Status::Ok);
        assert_eq!(unit.complete(&gone, 50), Ok(Outcome::Finished));
        assert_eq!(state(&unit, lkey), State::Free);
    }
}

/// Rebinding a type-1 window: the old key dies at once, the new one lives after the fence.
#[test]
fn rebinding_is_a_fence() {
    let mut unit = unit();
    let first = at(&mut unit, reg(), 1).lkey;
    let second = at(&mut unit, reg(), 2).lkey;
    let window = at(&mut unit, alloc_mw(Kind::Mw1), 3).rkey;
    let one = at(&mut unit, bind(window, first), 4).rkey;
    let moved = unit.begin(&bind(one, second), None, 10);
    let (old, new) = (
        access(Op::RemoteRead, one),
        access(Op::RemoteRead, moved.rkey),
    );
    assert_eq!(
        (windows_of(&unit, first), windows_of(&unit, second)),
        (1, 1)
    );
    assert_eq!(allowed(&unit, &old, 5, 10), [Fine]);
    assert_eq!(allowed(&unit, &old, 12, 13), [Fine, KeyState, KeyTag]);
    assert_eq!(allowed(&unit, &new, 12, 13), [Fine, KeyState, KeyTag]);
    // PENDING: the old key is dead for sure.
    let pending = Completion::plain(moved.id, moved.op, Status::Pending);
    assert_eq!(unit.complete(&pending, 20), Ok(Outcome::Pending));
    assert!(unit.complete(&pending, 21).is_err(), "it is reported once");
    assert_eq!(allowed(&unit, &old, 21, 22), [KeyState, KeyTag]);
    assert_eq!(
        (windows_of(&unit, first), windows_of(&unit, second)),
        (1, 1)
    );
    for key in [one, moved.rkey] {
        assert_eq!(status(&mut unit, bind(key, first)), Status::KeyState);
    }
    assert_eq!(status(&mut unit, dereg(first)), Status::Bound);
    assert_eq!(status(&mut unit, dereg(second)), Status::Bound);
    assert_eq!(unit.complete(&moved, 30), Ok(Outcome::Finished));
    assert_eq!(
        (windows_of(&unit, first), windows_of(&unit, second)),
        (0, 1)
    );
    assert_eq!(allowed(&unit, &new, 30, 31), [Fine]);
    assert_eq!(allowed(&unit, &old, 31, 32), [KeyTag]);
}

/// BUSY changes nothing, of every command that needs a fence; those that need none are never BUSY
/// or PENDING.
#[test]
fn busy_and_pending() {
    let mut unit = unit();
    let lkey = at(&mut unit, reg(), 1).lkey;
    let fast = at(&mut unit, alloc_mr(3), 2).lkey;
    let fast = at(&mut unit, fast_reg(fast, 9), 3).lkey;
    let idle = at(&mut unit, alloc_mr(3), 4).lkey;
    let key_of = |unit: &mut Golden, kind, clock| {
        let window = at(unit, alloc_mw(kind), clock).rkey;
        at(unit, bind(window, lkey), clock).rkey
    };
    let one = key_of(&mut unit, Kind::Mw1, 5);
    let two = key_of(&mut unit, Kind::Mw2, 6);
    let fresh = at(&mut unit, alloc_mw(Kind::Mw1), 7).rkey;
    let fresh2 = at(&mut unit, alloc_mw(Kind::Mw2), 7).rkey;
    let phys = at(&mut unit, reg_phys(0, 8), 8).lkey;
    let unbind = |key| Command {
        length: 0,
        ..bind(key, lkey)
    };
    let fences = [
        ("unbind", unbind(one)),
        ("rebind", bind(one, lkey)),
        ("invalidate window", invalidate(two)),
        ("invalidate region", invalidate(fast)),
        ("dealloc", dealloc(two)),
        ("dealloc type 1", dealloc(one)),
        ("dealloc unbound", dealloc(fresh)),
        ("dereg of a fast one", dereg(fast)),
        ("dereg of an idle one", dereg(idle)),
        ("dereg physical", dereg(phys)),
    ];
    for (name, command) in fences {
        let states = |unit: &Golden| (1..9).map(|n| unit.slot(n)).collect::<Vec<_>>();
        let mut copy = unit.clone();
        let done = copy.begin(&command, None, 20);
        assert_eq!(done.status, Status::Ok, "{name}");
        assert_ne!(states(&copy), states(&unit), "{name}");
        let plain = |status| Completion::plain(done.id, done.op, status);
        let busy = plain(Status::Busy);
        let outcome = copy.complete(&busy, 21);
        assert_eq!(outcome, Ok(Outcome::Refused(Status::Busy)), "{name}");
        assert_eq!(states(&copy), states(&unit), "{name}");
        assert_eq!(windows_of(&copy, lkey), 2, "{name}");
        for key in [one, two] {
            let read = access(Op::RemoteRead, key);
            assert_eq!(allowed(&copy, &read, 10, 30), [Fine], "{name}");
        }
        // After PENDING only the end is missing.
        let done = copy.begin(&command, None, 40);
        assert_eq!(
            copy.complete(&plain(Status::Pending), 41),
            Ok(Outcome::Pending)
        );
        assert!(copy.complete(&busy, 42).is_err(), "{name}");
        let (_, index) = copy.keys().decode(command.key);
        assert_eq!(copy.slot(index).0, State::Invalid, "{name}");
        assert_eq!(
            windows_of(&copy, lkey),
            if name == "rebind" { 3 } else { 2 }
        );
        assert_eq!(copy.complete(&done, 50), Ok(Outcome::Finished), "{name}");
        assert_ne!(copy.slot(index).0, State::Invalid, "{name}");
        let all_zero = command.key == one || command.key == two;
        let left = match name {
            "rebind" => 2,
            _ if all_zero => 1,
            _ => 2,
        };
        assert_eq!(windows_of(&copy, lkey), left, "{name}");
    }
    for command in [
        fast_reg(idle, 1),
        bind(fresh, lkey),
        bind(fresh2, lkey),
        unbind(fresh),
        alloc_mr(1),
        alloc_mw(Kind::Mw1),
        reg_phys(0, 1),
    ] {
        let mut copy = unit.clone();
        let done = copy.begin(&command, None, 20);
        assert_eq!(done.status, Status::Ok);
        for status in [Status::Busy, Status::Pending] {
            let wrong = Completion::plain(done.id, done.op, status);
            assert!(copy.complete(&wrong, 21).is_err(), "{command:?}");
        }
        assert_eq!(copy.complete(&done, 22), Ok(Outcome::Finished));
    }
}

/// A bus error in the middle: nothing has changed, but what was to be made may have been there for
/// a while, and what was to end may have been refused.
#[test]
fn bus_errors() {
    let mut unit = unit();
    let lkey = at(&mut unit, reg(), 1).lkey;
    let window = at(&mut unit, alloc_mw(Kind::Mw2), 2).rkey;
    let failed = unit.begin(&bind(window, lkey), None, 10);
    let read = access(Op::RemoteRead, failed.rkey);
    let bus = |done: &Completion| Completion::plain(done.id, done.op, Status::Bus);
    let outcome = unit.complete(&bus(&failed), 20);
    assert_eq!(outcome, Ok(Outcome::Refused(Status::Bus)));
    assert_eq!(state(&unit, window), State::Alloc);
    assert_eq!(windows_of(&unit, lkey), 0);
    assert_eq!(allowed(&unit, &read, 15, 16), [Fine, KeyState]);
    assert_eq!(allowed(&unit, &read, 21, 22), [KeyState]);
    // The same again, well.
    let made = run(&mut unit, bind(window, lkey), 30, 40);
    assert_eq!(made.rkey, failed.rkey);
    assert_eq!(allowed(&unit, &read, 41, 42), [Fine]);
    let ended = unit.begin(&invalidate(made.rkey), None, 50);
    assert_eq!(
        unit.complete(&bus(&ended), 60),
        Ok(Outcome::Refused(Status::Bus))
    );
    assert_eq!(allowed(&unit, &read, 55, 56), [Fine, KeyState]);
    assert_eq!(allowed(&unit, &read, 61, 62), [Fine], "alive again");
    assert_eq!(windows_of(&unit, lkey), 1);
    assert_eq!(status(&mut unit, dereg(lkey)), Status::Bound);
    // A fence that was PENDING and fails: the window is lost, and holds its region.
    let ended = unit.begin(&invalidate(made.rkey), None, 70);
    let pending = Completion::plain(ended.id, ended.op, Status::Pending);
    assert_eq!(unit.complete(&pending, 71), Ok(Outcome::Pending));
    assert_eq!(
        unit.complete(&bus(&ended), 72),
        Ok(Outcome::Refused(Status::Bus))
    );
    assert_eq!(allowed(&unit, &read, 73, 74), [KeyState]);
    assert_eq!(state(&unit, window), State::Invalid);
    assert_eq!(status(&mut unit, dereg(lkey)), Status::Bound);

    // A failed fast registration.
    let mr = at(&mut unit, alloc_mr(3), 80).lkey;
    let failed = unit.begin(&fast_reg(mr, 9), None, 90);
    assert_eq!(
        unit.complete(&bus(&failed), 95),
        Ok(Outcome::Refused(Status::Bus))
    );
    let read = access(Op::RemoteRead, failed.rkey);
    assert_eq!(allowed(&unit, &read, 91, 92), [Fine, KeyState]);
    assert_eq!(allowed(&unit, &read, 96, 97), [KeyState]);
    let (_, index) = unit.keys().decode(mr);
    assert_eq!(unit.slot(index), (State::Alloc, 1), "the generation too");
    let made = run(&mut unit, fast_reg(mr, 9), 100, 101);
    assert_eq!(unit.slot(index), (State::Valid, 2));
    assert_eq!(made.lkey, failed.lkey);
}

/// Commands behind one another: each is judged as of its acceptance or as of now, and what it has
/// made may be met as soon as the one before it has finished.
#[test]
fn a_row_of_commands() {
    let mut unit = unit();
    let mr = at(&mut unit, alloc_mr(3), 1).lkey;
    let mr = at(&mut unit, fast_reg(mr, 9), 2).lkey;
    let id = |id, command| Command { id, ..command };
    let ended = unit.begin(&id(1, invalidate(mr)), None, 10);
    // Accepted while the fence runs: executed before or after its end.
    let early = unit.begin(&id(2, fast_reg(mr, 10)), None, 11);
    assert_eq!(early.status, Status::KeyState);
    let (lkey, rkey) = (Key::new(mr.field(), 10), {
        let index = unit.keys().decode(mr).1;
        Key::new(unit.keys().field(Role::Remote, index), 10)
    });
    let window = unit.begin(&id(3, alloc_mw(Kind::Mw2)), None, 12);
    let bound = unit.begin(&id(4, bind(window.rkey, lkey)), None, 13);
    assert_eq!(bound.status, Status::MrKey);
    assert_eq!(unit.complete(&ended, 20), Ok(Outcome::Finished));
    let read = access(Op::RemoteRead, rkey);
    assert_eq!(allowed(&unit, &read, 21, 22), [Fine, KeyState]);

    let mut early_one = unit.clone();
    assert_eq!(early_one.complete(&early, 23), Ok(Outcome::Finished));
    assert_eq!(allowed(&early_one, &read, 24, 25), [KeyState]);
    assert_eq!(early_one.complete(&window, 26), Ok(Outcome::Finished));
    assert_eq!(early_one.complete(&bound, 27), Ok(Outcome::Finished));
    assert_eq!(early_one.commands_in_flight(), 0);

    let late = Completion {
        status: Status::Ok,
        lkey,
        rkey,
        index: unit.keys().decode(lkey).1,
        ..early
    };
    assert_eq!(unit.complete(&late, 23), Ok(Outcome::Finished));
    assert_eq!(allowed(&unit, &read, 24, 25), [Fine]);
    assert_eq!(unit.complete(&window, 26), Ok(Outcome::Finished));
    let made = Completion {
        status: Status::Ok,
        rkey: Key::new(window.rkey.field(), 0x3c),
        index: window.index,
        ..bound
    };
    assert_eq!(unit.complete(&made, 27), Ok(Outcome::Finished));
    assert_eq!(
        allowed(&unit, &access(Op::RemoteRead, made.rkey), 28, 29),
        [Fine]
    );
    assert_eq!(windows_of(&unit, lkey), 1);
}

/// A deregistration that is accepted while the last window is on its way out, and is executed
/// behind that: its fence may take long, find no place, or meet a bus error.
#[test]
fn fences_of_commands_that_are_executed_late() {
    let mut unit = unit();
    let lkey = at(&mut unit, reg(), 1).lkey;
    let window = at(&mut unit, alloc_mw(Kind::Mw2), 2).rkey;
    let window = at(&mut unit, bind(window, lkey), 3).rkey;
    let read = access(Op::LocalRead, lkey);
    let ended = unit.begin(&invalidate(window), None, 10);
    let late = unit.begin(
        &Command {
            id: 9,
            ..dereg(lkey)
        },
        None,
        11,
    );
    let plain = |status| Completion::plain(9, late.op, status);
    assert_eq!(late.status, Status::Bound);
    let mut early = unit.clone();
    assert!(early.complete(&plain(Status::Pending), 12).is_err());
    assert_eq!(allowed(&unit, &read, 12, 13), [Fine]);
    assert_eq!(unit.complete(&ended, 20), Ok(Outcome::Finished));
    assert_eq!(
        allowed(&unit, &read, 21, 22),
        [Fine, KeyState],
        "it may have begun"
    );

    let mut pending = unit.clone();
    assert_eq!(
        pending.complete(&plain(Status::Pending), 30),
        Ok(Outcome::Pending)
    );
    assert_eq!(allowed(&pending, &read, 31, 32), [KeyState]);
    assert_eq!(
        pending.complete(&plain(Status::Ok), 40),
        Ok(Outcome::Finished)
    );
    assert_eq!(state(&pending, lkey), State::Free);

    for status in [Status::Busy, Status::Bus] {
        let mut refused = unit.clone();
        let outcome = refused.complete(&plain(status), 30);
        assert_eq!(outcome, Ok(Outcome::Refused(status)));
        assert_eq!(allowed(&refused, &read, 31, 32), [Fine]);
        let during = match status {
            Status::Busy => &[Fine][..],
            _ => &[Fine, KeyState],
        };
        assert_eq!(allowed(&refused, &read, 25, 26), during);
        assert_eq!(refused.commands_in_flight(), 0);
    }
}

/// A query beside commands that count windows may see the one or the other number.
#[test]
fn queries_beside_unbindings() {
    let mut unit = unit();
    let lkey = at(&mut unit, reg(), 1).lkey;
    let window = at(&mut unit, alloc_mw(Kind::Mw1), 2).rkey;
    let window = at(&mut unit, bind(window, lkey), 3).rkey;
    let again = unit.begin(&bind(window, lkey), None, 10);
    let asked = Command {
        id: 7,
        ..named(CmdOp::Query, lkey)
    };
    let told = unit.begin(&asked, None, 11);
    let index = unit.keys().decode(lkey).1;
    let with = |bound| {
        let entry = tpt_golden::codec::MptEntry::parse(&told.entry, index);
        Completion {
            entry: tpt_golden::codec::MptEntry { bound, ..entry }.encode(),
            ..told
        }
    };
    for (bound, right) in [(0, false), (1, true), (2, true), (3, false)] {
        let mut copy = unit.clone();
        assert_eq!(copy.complete(&with(bound), 12).is_ok(), right, "{bound}");
    }
    assert_eq!(unit.complete(&again, 20), Ok(Outcome::Finished));
    for (bound, right) in [(0, false), (1, true), (2, true), (3, false)] {
        let mut copy = unit.clone();
        assert_eq!(copy.complete(&with(bound), 21).is_ok(), right, "{bound}");
    }
    // Anything else in the entry is exact, its checksum too.
    let mut torn = with(1);
    torn.entry[17] ^= 4;
    assert!(unit.complete(&torn, 22).is_err());
}

/// A command that found no index is refused for a bus error: it was executed only when there was one. Of
/// those behind it the first may have got that index then, or may have been too early for it, and then
/// the second has it.
#[test]
fn an_index_that_comes_back_while_others_wait_for_it() {
    let mut unit = Golden::enabled(keys(), 3, 3);
    at(&mut unit, reg(), 1);
    let window = at(&mut unit, alloc_mw(Kind::Mw1), 2).rkey;
    let begin = |unit: &mut Golden, id, command, clock| {
        let command = Command { id, ..command };
        unit.begin(&command, None, clock)
    };
    let ended = begin(&mut unit, 2, named(CmdOp::DeallocMw, window), 10);
    let third = begin(&mut unit, 3, alloc_mw(Kind::Mw1), 11);
    let fourth = begin(&mut unit, 4, Command { pd: 6, ..reg() }, 12);
    assert_eq!(third.status, Status::NoIndex);
    assert_eq!(fourth.status, Status::NoIndex);
    assert_eq!(unit.complete(&ended, 20), Ok(Outcome::Finished));
    let fifth = begin(&mut unit, 5, reg(), 21);
    assert_eq!(fifth.status, Status::Ok);
    let bus = Completion::plain(3, CmdOp::AllocMw.code(), Status::Bus);
    let outcome = unit.complete(&bus, 22);
    assert_eq!(outcome, Ok(Outcome::Refused(Status::Bus)));

    // Both would have the same keys.
    let of_fifth = access(Op::RemoteRead, fifth.rkey);
    let of_fourth = Request { pd: 6, ..of_fifth };
    for request in [of_fourth, of_fifth] {
        let syndromes = allowed(&unit, &request, 23, 24);
        assert!(syndromes.contains(&Fine), "{request:?}: {syndromes:?}");
    }
    let mut late = unit.clone();
    let made = Completion { id: 4, ..fifth };
    assert_eq!(late.complete(&made, 30), Ok(Outcome::Finished));
    let none = Completion {
        id: 5,
        op: CmdOp::RegMr.code(),
        ..fourth
    };
    assert_eq!(late.complete(&none, 31), Ok(Outcome::Finished));
    assert_eq!(allowed(&late, &of_fourth, 32, 33), [Fine]);
    assert_eq!(allowed(&late, &of_fifth, 32, 33), [Syndrome::Pd]);
    assert_eq!(unit.complete(&fourth, 30), Ok(Outcome::Finished));
    assert_eq!(unit.complete(&fifth, 31), Ok(Outcome::Finished));
    assert_eq!(allowed(&unit, &of_fifth, 32, 33), [Fine]);
    assert_eq!(allowed(&unit, &of_fourth, 32, 33), [Syndrome::Pd]);
}

/// Disabling ends everything; enabling begins anew.
#[test]
fn disable_ends_windows_and_regions() {
    let mut unit = unit();
    let lkey = at(&mut unit, reg(), 1).lkey;
    let window = at(&mut unit, alloc_mw(Kind::Mw2), 2).rkey;
    let window = at(&mut unit, bind(window, lkey), 3).rkey;
    at(&mut unit, alloc_mr(3), 4);
    let ended = unit.begin(&invalidate(window), None, 5);
    unit.disabling(10);
    unit.disabled(20);
    assert_eq!(unit.complete(&ended, 21), Ok(Outcome::Finished));
    unit.enable(30);
    unit.ready(40);
    for index in 1..5 {
        assert_eq!(unit.slot(index), (State::Free, 0));
        assert_eq!(unit.check_entry(index, &[0; 64]), Ok(()));
    }
    assert_eq!(
        allowed(&unit, &access(Op::RemoteRead, window), 41, 42),
        [KeyState]
    );
    let again = at(&mut unit, reg(), 50);
    assert_eq!((again.lkey, windows_of(&unit, again.lkey)), (lkey, 0));
}
