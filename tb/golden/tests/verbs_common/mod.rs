// SPDX-License-Identifier: Apache-2.0
//! Shared by the tests of fast registration, windows and physical regions.
#![allow(dead_code)] // each test file uses a part

use tpt_golden::keys::KeyMaker;
use tpt_golden::types::*;
use tpt_golden::unit::*;

/// Protection domain of everything that has no other one.
pub const PD: u32 = 5;
/// Queue pair of the type-2 windows.
pub const QPN: u32 = 0x77;
/// Start of the region of [`region`].
pub const START: u64 = 0x40_0800;
/// Its bytes: three pages, from the middle of the first to the middle of the last.
pub const LENGTH: u64 = 0x2000;
/// Its pages.
pub const PAGES: [u64; 3] = [0x1_0000, 0x5_0000, 0x3_0000];

pub fn keys() -> KeyMaker {
    KeyMaker::new([1, 2, 3, 4], [5, 6, 7, 8], false)
}

pub fn unit() -> Golden {
    let mut unit = Golden::enabled(keys(), 64, 3);
    unit.allow_phys(true);
    unit
}

pub fn status(unit: &mut Golden, command: Command) -> Status {
    unit.command(&command, None).status
}

/// Runs a command that must succeed.
pub fn good(unit: &mut Golden, command: Command) -> Completion {
    let done = unit.command(&command, None);
    assert_eq!(done.status, Status::Ok, "{command:?}");
    done
}

fn command(op: CmdOp) -> Command {
    Command {
        id: 1,
        op: op.code(),
        pd: PD,
        ..Command::default()
    }
}

pub fn named(op: CmdOp, key: Key) -> Command {
    Command { key, ..command(op) }
}

/// Three pages inside the entry, all that a parent needs.
pub fn reg() -> Command {
    Command {
        access: (Access::LOCAL_WRITE | Access::REMOTE_READ | Access::MW_BIND).0,
        start: START,
        length: LENGTH,
        log_page: 12,
        frame: [PAGES[0], PAGES[1], PAGES[2], 0],
        ..command(CmdOp::RegMr)
    }
}

pub fn region(unit: &mut Golden) -> Completion {
    good(unit, reg())
}

pub fn alloc_mr(pages: u64) -> Command {
    Command {
        length: pages,
        log_page: 12,
        flags: flag::REMOTE_INV,
        ..command(CmdOp::AllocMr)
    }
}

pub fn fast_reg(lkey: Key, tag: u8) -> Command {
    Command {
        op: CmdOp::FastRegMr.code(),
        key: lkey,
        tag,
        ..reg()
    }
}

pub fn alloc_mw(kind: Kind) -> Command {
    Command {
        flags: match kind {
            Kind::Mw2 => flag::MW2,
            Kind::Mw2a => flag::MW2 | flag::MW2A,
            _ => 0,
        },
        ..command(CmdOp::AllocMw)
    }
}

pub const WINDOWS: [Kind; 3] = [Kind::Mw1, Kind::Mw2, Kind::Mw2a];

/// Rights of [`bind`].
pub const WINDOW_RIGHTS: Access =
    Access(Access::REMOTE_WRITE.0 | Access::REMOTE_READ.0 | Access::REMOTE_ATOMIC.0);

/// Binds to 0x1000 bytes from 0x400 on inside the region.
pub fn bind(window: Key, lkey: Key) -> Command {
    Command {
        mkey: lkey,
        start: START + 0x400,
        length: 0x1000,
        access: WINDOW_RIGHTS.0,
        qpn: QPN,
        tag: 0x3c,
        ..named(CmdOp::BindMw, window)
    }
}

pub fn invalidate(key: Key) -> Command {
    named(CmdOp::Invalidate, key)
}

pub fn remote(command: Command) -> Command {
    Command {
        flags: flag::REMOTE_INV,
        qpn: QPN,
        ..command
    }
}

pub fn dereg(key: Key) -> Command {
    named(CmdOp::DeregMr, key)
}

pub fn dealloc(key: Key) -> Command {
    named(CmdOp::DeallocMw, key)
}

pub fn reg_phys(start: u64, length: u64) -> Command {
    Command {
        access: (Access::LOCAL_WRITE | Access::REMOTE_WRITE).0,
        start,
        length,
        ..command(CmdOp::RegPhys)
    }
}

/// Allocates and binds a window. Returns its key.
pub fn bound(unit: &mut Golden, kind: Kind, lkey: Key) -> Key {
    let window = good(unit, alloc_mw(kind)).rkey;
    good(unit, bind(window, lkey)).rkey
}

/// Eight bytes for the window of [`bind`], or the region of [`reg`].
pub fn access(op: Op, key: Key) -> Request {
    Request {
        op: op.code(),
        key,
        va: START + 0x400,
        len: 8,
        pd: PD,
        qpn: QPN,
        ..Request::default()
    }
}

pub fn verdict(unit: &Golden, request: &Request) -> Syndrome {
    unit.judge(request).syndrome
}

/// Addresses and bytes of the segments of a request that must pass.
pub fn segments(unit: &Golden, request: &Request) -> Vec<(u64, u32)> {
    let beats: Vec<Beat> = unit.judge(request).beats(request).collect();
    assert!(
        beats.iter().all(|b| b.syndrome == Syndrome::Ok),
        "{beats:?}"
    );
    beats.iter().map(|b| (b.pa, b.len)).collect()
}

/// Outcomes that are right, by their syndromes.
pub fn allowed(unit: &Golden, request: &Request, from: u64, to: u64) -> Vec<Syndrome> {
    let verdicts = unit.allowed(&Conditions::default(), request, from, to);
    let mut syndromes: Vec<_> = verdicts.iter().map(|verdict| verdict.syndrome).collect();
    syndromes.sort();
    syndromes.dedup();
    syndromes
}

/// A command at `from`, its completion at `to`; both must go as predicted. Returns the completion.
pub fn run(unit: &mut Golden, command: Command, from: u64, to: u64) -> Completion {
    let done = unit.begin(&command, None, from);
    assert_eq!(unit.complete(&done, to), Ok(Outcome::Finished));
    done
}

/// Bound windows of a region.
pub fn windows_of(unit: &Golden, lkey: Key) -> u32 {
    let index = unit.keys().decode(lkey).1;
    unit.held(index).map_or(0, |(_, region)| region.bound)
}

/// State of the entry of a key.
pub fn state(unit: &Golden, key: Key) -> State {
    unit.slot(unit.keys().decode(key).1).0
}

/// The entry of a key as QUERY tells it.
pub fn query(unit: &mut Golden, key: Key) -> tpt_golden::codec::MptEntry {
    let done = good(unit, named(CmdOp::Query, key));
    let index = unit.keys().decode(key).1;
    assert_eq!(unit.check_entry(index, &done.entry), Ok(()));
    tpt_golden::codec::MptEntry::decode(&done.entry, index).expect("a good entry")
}

/// A status, and a way to bring it about.
pub type Breaker = (Status, fn(&mut Command));

/// Every refusal of a command in the order of its checks: each entry breaks one check, and where
/// two are broken, the earlier one is told. Nothing changes.
pub fn in_order(unit: &Golden, right: Command, breakers: &[Breaker]) {
    for (n, (first, break_first)) in breakers.iter().enumerate() {
        let mut alone = right;
        break_first(&mut alone);
        let mut copy = unit.clone();
        assert_eq!(status(&mut copy, alone), *first, "{alone:?}");
        let count = |unit: &Golden| (1..64).map(|n| unit.slot(n)).collect::<Vec<_>>();
        assert_eq!(count(&copy), count(unit), "{first} changes nothing");
        for (second, break_second) in &breakers[n + 1..] {
            let mut both = right;
            break_second(&mut both);
            break_first(&mut both);
            let mut copy = unit.clone();
            let got = status(&mut copy, both);
            assert_eq!(got, *first, "{first} before {second}: {both:?}");
        }
    }
    let mut copy = unit.clone();
    assert_eq!(status(&mut copy, right), Status::Ok, "{right:?}");
}
