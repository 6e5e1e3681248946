// SPDX-License-Identifier: Apache-2.0
//! On-demand regions: registration, page faults, and pages that are taken back.

mod verbs_common;

use std::sync::Arc;

use proptest::prelude::*;
use tpt_golden::driver::demand::{DemandOutcome, ReclaimOutcome};
use tpt_golden::driver::{CommandPort, Driver, DriverError, Errno, PortError, RegArgs};
use tpt_golden::frames::{Page, PageSource, PagedList};
use tpt_golden::host::{Host, HostError, PageSize, Prot};
use tpt_golden::mem::PhysMem;
use tpt_golden::mtt::paged::PagedTable;
use tpt_golden::mtt::{MttError, Shape};
use tpt_golden::types::*;
use tpt_golden::unit::{FaultError, Golden, Outcome};
use verbs_common::*;

const SLOTS: usize = 4;
const OD: Access = Access(Access::ON_DEMAND.0 | Access::LOCAL_WRITE.0 | Access::REMOTE_READ.0);

fn paging() -> Golden {
    let mut unit = unit();
    unit.build_with(true, SLOTS);
    unit
}

fn reg_od() -> Command {
    Command {
        access: OD.0,
        level: LEVEL_FLAT,
        frame: [0x8000, 0, 0, 0],
        ..reg()
    }
}

fn region_od(unit: &mut Golden) -> (Completion, Arc<PagedList>) {
    let pages = Arc::new(PagedList::new(12));
    let done = unit.command(&reg_od(), Some(pages.clone()));
    assert_eq!(done.status, Status::Ok);
    (done, pages)
}

fn ready(slot: u32) -> Command {
    named(CmdOp::PageReady, Key(slot))
}

fn inval(lkey: Key, start: u64, length: u64) -> Command {
    Command {
        start,
        length,
        ..named(CmdOp::InvalidateRange, lkey)
    }
}

fn read(key: Key, va: u64, len: u32) -> Request {
    Request {
        op: Op::LocalRead.code(),
        key,
        va,
        len,
        pd: PD,
        ..Request::default()
    }
}

#[test]
fn a_unit_without_slots_says_no() {
    let mut old = unit();
    assert_eq!(status(&mut old, reg_od()), Status::BadFlags);
    let encoded = Command {
        encoding: Encoding::Checked.code(),
        ..reg()
    };
    assert_eq!(status(&mut old, encoded), Status::BadEncoding);
    let list = Command {
        encoding: Encoding::Checked.code(),
        ..alloc_mr(4)
    };
    assert_eq!(status(&mut old, list), Status::BadEncoding);
    assert_eq!(status(&mut old, ready(0)), Status::BadOp);
    let lkey = region(&mut old).lkey;
    assert_eq!(status(&mut old, inval(lkey, START, 1)), Status::BadOp);
    let access = Command {
        access: OD.0,
        rereg: rereg::ACCESS,
        ..named(CmdOp::ReregMr, lkey)
    };
    assert_eq!(status(&mut old, access), Status::BadFlags);

    // What it is built with survives a reset.
    let mut unit = paging();
    unit.reset();
    assert_eq!(unit.fault_slots(), SLOTS);
    unit.enable(10);
    unit.ready(10);
    assert_eq!(status(&mut unit, encoded), Status::Ok);
    assert_eq!(status(&mut unit, list), Status::Ok);
}

#[test]
fn rules_of_registration() {
    let mut unit = paging();
    let with = |access: Access| Command {
        access: access.0,
        ..reg_od()
    };
    for access in [OD, Access::ON_DEMAND, OD | Access::ZERO_BASED] {
        assert_eq!(status(&mut unit, with(access)), Status::Ok, "{access:?}");
    }
    let windows = with(OD | Access::MW_BIND);
    assert_eq!(status(&mut unit, windows), Status::BadFlags);
    let unwritable = with(Access::ON_DEMAND | Access::REMOTE_WRITE);
    assert_eq!(status(&mut unit, unwritable), Status::BadAccess);
    let inline = Command {
        level: LEVEL_INLINE,
        ..reg_od()
    };
    assert_eq!(status(&mut unit, inline), Status::BadLevel);
    // The order: windows before rights, encoding before level, level before the size of the table.
    for (command, expected) in [
        (
            Command {
                access: (Access::ON_DEMAND | Access::MW_BIND | Access::REMOTE_WRITE).0,
                ..reg_od()
            },
            Status::BadFlags,
        ),
        (
            Command {
                encoding: 3,
                ..inline
            },
            Status::BadEncoding,
        ),
        (
            Command {
                log_page: 11,
                ..inline
            },
            Status::BadPageSize,
        ),
        (
            Command {
                length: 1 << 20,
                ..inline
            },
            Status::BadLevel,
        ),
        (
            Command {
                length: 0,
                ..windows
            },
            Status::BadLength,
        ),
    ] {
        assert_eq!(status(&mut unit, command), expected, "{command:?}");
    }
    let list = good(&mut unit, alloc_mr(4));
    let fast = Command {
        access: OD.0,
        level: LEVEL_FLAT,
        frame: [0x8000, 0, 0, 0],
        ..fast_reg(list.lkey, 9)
    };
    assert_eq!(status(&mut unit, fast), Status::BadFlags);
    let phys = Command {
        op: CmdOp::RegPhys.code(),
        ..reg_od()
    };
    assert_eq!(status(&mut unit, phys), Status::BadFlags);
}

#[test]
fn rules_of_reregistration() {
    let mut unit = paging();
    let rereg = |lkey, flags, access: Access| Command {
        rereg: flags,
        access: access.0,
        level: LEVEL_FLAT,
        frame: [0x8000, 0, 0, 0],
        start: START,
        length: LENGTH,
        log_page: 12,
        ..named(CmdOp::ReregMr, lkey)
    };
    let lkey = region(&mut unit).lkey;
    // Pages inside the entry stay, whichever half of the arguments is new.
    let asked = status(&mut unit, rereg(lkey, rereg::ACCESS, OD));
    assert_eq!(asked, Status::BadLevel);
    let both = rereg::ACCESS | rereg::TRANSLATION;
    let windows = rereg(lkey, both, OD | Access::MW_BIND);
    assert_eq!(status(&mut unit, windows), Status::BadFlags);
    let lkey = good(&mut unit, rereg(lkey, both, OD)).lkey;
    let inline = Command {
        level: LEVEL_INLINE,
        ..rereg(lkey, rereg::TRANSLATION, Access::NONE)
    };
    assert_eq!(status(&mut unit, inline), Status::BadLevel);
    let lkey = good(&mut unit, rereg(lkey, rereg::ACCESS, Access::LOCAL_WRITE)).lkey;
    let lkey = good(&mut unit, rereg(lkey, rereg::ACCESS, OD)).lkey;
    let index = unit.keys().decode(lkey).1;
    let region = unit.current(index).expect("valid");
    assert!(region.access.contains(Access::ON_DEMAND));
}

#[test]
fn answers_to_page_faults() {
    let mut unit = paging();
    for (slot, expected) in [
        (0, Status::KeyState),
        (SLOTS as u32 - 1, Status::KeyState),
        (SLOTS as u32, Status::KeyIndex),
        (u32::MAX, Status::KeyIndex),
    ] {
        assert_eq!(status(&mut unit, ready(slot)), expected, "slot {slot}");
    }
    assert_eq!(unit.fault_told(2), Ok(()));
    assert_eq!(unit.fault_told(2), Err(FaultError::Waiting { slot: 2 }));
    let none = FaultError::NoSlot { slot: 4, slots: 4 };
    assert_eq!(unit.fault_told(4), Err(none));
    assert_eq!(unit.faults_waiting(), 1);
    let anyone = Command {
        pd: PD + 1,
        ..ready(2)
    };
    assert_eq!(status(&mut unit, anyone), Status::Ok, "no PD is looked at");
    assert_eq!(status(&mut unit, ready(2)), Status::KeyState, "once");
    assert_eq!(unit.fault_told(2), Ok(()));
    unit.disabled(100);
    assert_eq!(status(&mut unit, ready(2)), Status::Disabled);
    unit.enable(110);
    unit.ready(120);
    assert_eq!(unit.faults_waiting(), 0, "forgotten");
    assert_eq!(status(&mut unit, ready(2)), Status::KeyState);
    let two = ready(1);
    assert_eq!(unit.fault_told(1), Ok(()));
    unit.begin(&two, None, 130);
    // It may be told again before the completion of its answer is seen.
    assert_eq!(unit.fault_told(1), Ok(()));
    let done = Completion::plain(two.id, two.op, Status::Ok);
    assert_eq!(unit.complete(&done, 140), Ok(Outcome::Finished));
    assert!(unit.is_told(1));
}

/// Every refusal of INVALIDATE_RANGE, in its order: each command has all later faults as well.
#[test]
fn refusals_of_invalidate_range() {
    let mut unit = paging();
    let (done, _) = region_od(&mut unit);
    let plain = region(&mut unit).lkey;
    let nothing = |key, pd| Command {
        pd,
        ..inval(key, START - 1, 0)
    };
    let outside = unit.keys().field(Role::Local, 70);
    let free = unit.keys().keys(9, 1, Access::NONE).0;
    for (command, expected) in [
        (nothing(Key::new(outside, 0), 0), Status::KeyIndex),
        (nothing(free, 0), Status::KeyState),
        (nothing(done.rkey, 0), Status::KeyTag),
        (nothing(Key(done.lkey.0 ^ 1), 0), Status::KeyTag),
        (nothing(plain, 0), Status::KeyKind),
        (nothing(done.lkey, PD + 1), Status::KeyPd),
        (nothing(done.lkey, PD), Status::BadLength),
        (inval(done.lkey, u64::MAX, 2), Status::BadWrap),
        (inval(done.lkey, START - 1, 2), Status::MrBounds),
        (inval(done.lkey, START, LENGTH + 1), Status::MrBounds),
        (inval(done.lkey, START + LENGTH, 1), Status::MrBounds),
        (inval(done.lkey, START, LENGTH), Status::Ok),
        (inval(done.lkey, START + LENGTH - 1, 1), Status::Ok),
    ] {
        assert_eq!(status(&mut unit, command), expected, "{command:?}");
    }
    let based = Command {
        access: (OD | Access::ZERO_BASED).0,
        ..reg_od()
    };
    let lkey = good(&mut unit, based).lkey;
    let offset = status(&mut unit, inval(lkey, 0, 1));
    assert_eq!(offset, Status::MrBounds, "addresses, not offsets");
    assert_eq!(status(&mut unit, inval(lkey, START, 1)), Status::Ok);
    unit.disabled(1000);
    let off = status(&mut unit, inval(Key(0), 0, 0));
    assert_eq!(off, Status::Disabled);
}

/// The generation counts up and wraps, the keys stay, and the next registration has the keys that
/// follow, as if there had been no invalidation.
#[test]
fn generations_of_invalidate_range() {
    let mut unit = Golden::enabled(keys(), 2, 3);
    unit.build_with(true, SLOTS);
    let (done, _) = region_od(&mut unit);
    let index = unit.keys().decode(done.lkey).1;
    for n in 0..300u32 {
        let expected = (1 + n % 256) as u8;
        let region = unit.current(index).expect("valid");
        assert_eq!(region.gen, expected);
        assert_eq!((region.lkey, region.rkey), (done.lkey, done.rkey));
        let entry = good(&mut unit, named(CmdOp::Query, done.lkey)).entry;
        assert_eq!(entry[6], expected, "as in memory");
        assert_eq!(entry[11], (n % 256) as u8, "in the place of the queue pair");
        assert_eq!(unit.check_entry(index, &entry), Ok(()));
        good(&mut unit, inval(done.lkey, START, 1));
    }
    let made = |unit: &Golden, registration| {
        let access = Access::LOCAL_WRITE | Access::REMOTE_READ;
        unit.keys().keys(index, registration, access)
    };
    assert_eq!((done.lkey, done.rkey), made(&unit, 1));
    // REREG_MR: the next tag, and the generation goes on.
    let renamed = Command {
        rereg: rereg::PD,
        new_pd: PD,
        ..named(CmdOp::ReregMr, done.lkey)
    };
    let again = good(&mut unit, renamed);
    assert_eq!((again.lkey, again.rkey), made(&unit, 2));
    assert_eq!(unit.slot(index).1, (302 % 256) as u8);
    good(&mut unit, inval(again.lkey, START, 1));
    good(&mut unit, named(CmdOp::DeregMr, again.lkey));
    assert_eq!(unit.slot(index), (State::Free, 303u32 as u8));
    // Whatever becomes of the index, its tags follow its registrations.
    for number in 3..9u8 {
        let kept = 301u32 as u8;
        let (index_of, key) = match number % 3 {
            0 => {
                let window = good(&mut unit, alloc_mw(Kind::Mw2));
                assert_eq!(
                    window.rkey.tag(),
                    unit.keys().tag(Role::Remote, index, number)
                );
                assert_eq!(unit.current(index).map(|region| region.kind), None);
                (window.index, (CmdOp::DeallocMw, window.rkey))
            }
            1 => {
                let region = good(&mut unit, alloc_mr(3));
                assert_eq!(region.lkey, made(&unit, number).0);
                (region.index, (CmdOp::DeregMr, region.lkey))
            }
            _ => {
                let region = region_od(&mut unit).0;
                assert_eq!((region.lkey, region.rkey), made(&unit, number));
                (region.index, (CmdOp::DeregMr, region.lkey))
            }
        };
        assert_eq!(index_of, index);
        assert_eq!(unit.count(index).ranges, kept);
        good(&mut unit, named(key.0, key.1));
        assert_eq!(unit.count(index).registrations(), number);
    }
}

/// In flight: PENDING, BUSY, and a memory that refuses the write.
#[test]
fn invalidate_range_in_flight() {
    let mut unit = paging();
    let (done, _) = region_od(&mut unit);
    let index = unit.keys().decode(done.lkey).1;
    let command = |id| Command {
        id,
        ..inval(done.lkey, START, 1)
    };
    let answer = |id, status| Completion::plain(id, CmdOp::InvalidateRange.code(), status);
    assert_eq!(unit.begin(&command(5), None, 100).status, Status::Ok);
    let request = read(done.lkey, START, 8);
    assert_eq!(unit.judge(&request).syndrome, Syndrome::Ok, "the key lives");
    let pending = unit.complete(&answer(5, Status::Pending), 110);
    assert_eq!(pending, Ok(Outcome::Pending));
    assert_eq!(unit.judge(&request).syndrome, Syndrome::Ok);
    let gen = unit.slot(index).1;
    unit.begin(&command(6), None, 120);
    let busy = unit.complete(&answer(6, Status::Busy), 130);
    assert_eq!(busy, Ok(Outcome::Refused(Status::Busy)));
    assert_eq!(unit.slot(index).1, gen, "nothing was changed");
    let last = unit.complete(&answer(5, Status::Ok), 140);
    assert_eq!(last, Ok(Outcome::Finished));

    // The unit writes the new entry again: memory says which one is there.
    let before = unit.current(index).expect("valid").entry(State::Valid);
    assert_eq!(before.qpn, 1);
    unit.begin(&command(7), None, 150);
    let refused = unit.complete(&answer(7, Status::Bus), 160);
    assert_eq!(refused, Ok(Outcome::Refused(Status::Bus)));
    assert!(!unit.recover(index, &before.encode(), 160));
    assert_eq!(unit.slot(index).1, gen);
    let mut after = before;
    (after.gen, after.qpn) = (gen + 1, before.qpn + 1);
    assert!(!unit.recover(index, &after.encode(), 160));
    assert_eq!(unit.slot(index).1, gen + 1);
    assert_eq!(unit.check_entry(index, &after.encode()), Ok(()));
    after.gen = gen + 3;
    assert!(unit.recover(index, &after.encode(), 170), "no such entry");
}

/// Which beats may come, while pages come and go.
#[test]
fn beats_of_pages_that_come_and_go() {
    let mut unit = paging();
    let (done, pages) = region_od(&mut unit);
    let request = read(done.lkey, START, 0x1000);
    let verdict = unit.judge(&request);
    let beats = || verdict.beats(&request);
    let syndromes = |from, to| -> Vec<Syndrome> {
        let next = beats().next_of(from, to, 1);
        next.iter().map(|(beat, _)| beat.syndrome).collect()
    };
    let absent = [Syndrome::Retry, Syndrome::MttAbsent];
    assert_eq!(syndromes(10, 20), absent);
    assert_eq!(beats().next().map(|b| b.syndrome), Some(Syndrome::Retry));
    pages.set(0, Page::at(0x5000), 30);
    assert_eq!(syndromes(10, 29), absent, "not yet");
    assert_eq!(syndromes(10, 30).len(), 3, "both");
    assert_eq!(
        syndromes(31, 40).len(),
        3,
        "a cache may still hold the absent entry"
    );
    pages.invalidated(0..1, 32, 33);
    assert_eq!(syndromes(34, 40), [Syndrome::Ok]);
    let next = beats().next_of(34, 40, 1);
    assert_eq!(
        (next[0].0.pa, next[0].0.len, next[0].0.last),
        (0x5800, 0x800, false)
    );
    let after = next[0].1.next_of(34, 40, 1);
    assert_eq!(after.len(), 2, "the second page is absent");
    assert!(after.iter().all(|(beat, _)| beat.last && !beat.first));
    // Taken back: an old entry may be used until the range is invalidated.
    pages.set(0, Page::Absent, 50);
    pages.set(0, Page::at(0x6000), 60);
    let addresses = |from, to| -> Vec<u64> {
        let next = beats().next_of(from, to, 1);
        let with = next.iter().filter(|(beat, _)| beat.pa != 0);
        with.map(|(beat, _)| beat.pa - 0x800).collect()
    };
    assert_eq!(addresses(70, 80), [0x5000, 0x6000]);
    pages.invalidated(0..1, 49, 90);
    assert_eq!(addresses(91, 92), [0x5000, 0x6000], "it was cleared later");
    pages.invalidated(1..9, 95, 96);
    assert_eq!(addresses(97, 98), [0x5000, 0x6000], "another page");
    pages.invalidated(0..1, 100, 110);
    assert_eq!(addresses(70, 110), [0x5000, 0x6000], "at the last moment");
    assert_eq!(addresses(70, 111), [0x6000]);
    assert!(pages.in_use(0, 0x6000) && !pages.in_use(0, 0x5000));
}

/// Writes to what is not writable are page faults; bad entries stay bad.
#[test]
fn read_only_pages_are_absent_for_writes() {
    for encoding in Encoding::ALL.iter().copied() {
        let mut unit = paging();
        let pages = Arc::new(PagedList::new(12));
        let command = Command {
            encoding: encoding.code(),
            ..reg_od()
        };
        let done = unit.command(&command, Some(pages.clone()));
        let read_only = Page::Present {
            pa: 0x7000,
            writable: false,
        };
        let result = |op: Op| {
            let request = Request {
                op: op.code(),
                ..read(done.lkey, START, 8)
            };
            unit.judge(&request)
                .beats(&request)
                .next()
                .map(|b| b.syndrome)
        };
        pages.set(0, read_only, 10);
        let refused = encoding != Encoding::Raw;
        let expected = if refused {
            Syndrome::Retry
        } else {
            Syndrome::Ok
        };
        assert_eq!(result(Op::LocalWrite), Some(expected), "{encoding}");
        assert_eq!(result(Op::LocalRead), Some(Syndrome::Ok), "{encoding}");
        pages.set(0, Page::Bad, 20);
        assert_eq!(result(Op::LocalWrite), Some(Syndrome::MttBad), "{encoding}");
        let odd = Page::Present {
            pa: 0x7800,
            writable: false,
        };
        pages.set(0, odd, 30);
        assert_eq!(result(Op::LocalWrite), Some(Syndrome::MttBad), "{encoding}");
    }
}

// -------------------------------------------------------------------------------------------------
// Tables
// -------------------------------------------------------------------------------------------------

/// Directories are absent in the beginning, become present with the first page under them, and hide
/// pages when they are cleared.
#[test]
fn directories_come_and_go() {
    let mut host = Host::default();
    let shape = Shape {
        level: Some(3),
        ..Shape::pages_of(12)
    };
    let before = host.stats();
    let mut table = PagedTable::build(&mut host, 1 << 18, 12, &shape, 3).expect("fits");
    let root = table.table().frame()[0];
    assert_eq!(host.mem.read_u64(root), 0);
    let pages = table.pages();
    let page = |n: u64| Page::at((n + 1) << 12);
    for n in [700, 701, 0x2_0000] {
        table.set(&mut host.mem, n, page(n), 10).expect("set");
        assert_eq!(pages.page(n), page(n));
    }
    assert_ne!(host.mem.read_u64(root), 0);
    assert_eq!(pages.present(), [700, 701, 0x2_0000]);
    table.clear_directory(&mut host.mem, 2, 1, 20);
    assert_eq!(pages.present(), [0x2_0000]);
    assert_eq!(table.leaf(700), page(700), "the leaf stays");
    // Another page under it shows them again.
    table.set(&mut host.mem, 900, page(900), 30).expect("set");
    assert_eq!(pages.present(), [700, 701, 900, 0x2_0000]);
    table.clear_directory(&mut host.mem, 3, 0, 40);
    assert!(pages.present().is_empty());
    table.clear(&mut host.mem, 0..1 << 18, 50);
    table.set(&mut host.mem, 5, page(5), 60).expect("set");
    assert_eq!(pages.present(), [5]);
    let high = Page::at(1 << 52);
    assert_eq!(table.set(&mut host.mem, 6, high, 70), Ok(()), "RAW");
    table.free(&mut host);
    assert_eq!(host.stats(), before);

    let shape = Shape {
        encoding: Encoding::Checked,
        ..shape
    };
    let mut table = PagedTable::build(&mut host, 8, 12, &shape, 3).expect("fits");
    let error = table.set(&mut host.mem, 6, high, 70);
    assert_eq!(error, Err(MttError::Address(1 << 52)));
    table.free(&mut host);
    let inline = Shape {
        level: Some(LEVEL_INLINE),
        ..shape
    };
    let error = PagedTable::build(&mut host, 2, 12, &inline, 3).expect_err("level 0");
    assert_eq!(error, MttError::Level(LEVEL_INLINE));
    let free = PagedTable::build(&mut host, 2, 12, &Shape::default(), 3).expect("fits");
    assert_eq!(free.table().level(), 1);
    free.free(&mut host);
}

// -------------------------------------------------------------------------------------------------
// The driver
// -------------------------------------------------------------------------------------------------

/// The golden unit behind a port.
struct Port {
    unit: Golden,
    pages: Option<Arc<PagedList>>,
    /// What to answer instead, once.
    say: Option<Status>,
}

impl CommandPort for Port {
    fn submit(&mut self, _: &mut PhysMem, command: &Command) -> Result<Completion, PortError> {
        if let Some(status) = self.say.take() {
            return Ok(Completion::plain(command.id, command.op, status));
        }
        let pages = self.pages.clone();
        Ok(self.unit.command(command, pages.map(|pages| pages as _)))
    }
}

fn args(host: &mut Host, encoding: Encoding) -> RegArgs {
    let pid = host.spawn();
    let va = host.mmap(pid, None, 1 << 16, Prot::ReadWrite, PageSize::Size4K);
    let va = va.expect("mapped");
    RegArgs::process(pid, PD, va + 0x100, 0xf000, OD).with_shape(Shape {
        encoding,
        ..Shape::default()
    })
}

/// Fault in, write upgrade, reclaim, swap, fault in again: the page is where the host says.
#[test]
fn pages_of_a_process() {
    for encoding in Encoding::ALL.iter().copied() {
        let (mut host, mut driver) = (Host::default(), Driver::default());
        let mut port = Port {
            unit: paging(),
            pages: None,
            say: None,
        };
        let args = args(&mut host, encoding);
        if encoding == Encoding::Checked {
            let error = driver.prepare_reg_demand(&mut host, &args).err();
            assert_eq!(error, Some(DriverError::NoSecrets));
        }
        driver.set_keys(port.unit.keys().clone());
        let before = host.stats();
        let (command, handle) = driver.prepare_reg_demand(&mut host, &args).expect("good");
        port.pages = Some(handle.translation());
        let done = port.submit(&mut host.mem, &command).expect("answers");
        let mut mr = driver
            .finish_reg_demand(&mut host, handle, &done)
            .expect("registers");
        assert_eq!(host.stats().pinned_frames, 0);
        let Some(va) = mr.span(2).map(|(va, _)| va) else {
            panic!("there is a third page");
        };
        let lkey = mr.lkey();
        let result = |port: &Port, op: Op| {
            let request = Request {
                op: op.code(),
                ..read(lkey, va, 16)
            };
            let beat = port.unit.judge(&request).beats(&request).next();
            beat.map(|beat| (beat.syndrome, beat.pa))
        };
        assert_eq!(result(&port, Op::LocalRead), Some((Syndrome::Retry, 0)));
        mr.page_in(&mut host, 2, false, 10).expect("faults in");
        let pid = match args.memory {
            tpt_golden::driver::Memory::Process { pid, .. } => pid,
            _ => unreachable!(),
        };
        let here = host.translate(pid, va).expect("present");
        assert_eq!(result(&port, Op::LocalRead), Some((Syndrome::Ok, here)));
        let first = match encoding {
            Encoding::Raw => (Syndrome::Ok, here),
            _ => (Syndrome::Retry, 0),
        };
        assert_eq!(result(&port, Op::LocalWrite), Some(first));
        mr.page_in(&mut host, 2, true, 20).expect("upgrades");
        assert_eq!(host.stats().pins, 1);
        assert!(matches!(
            host.swap_out(pid, va),
            Err(HostError::Pinned { .. })
        ));
        let last = mr.page_in(&mut host, 14, true, 25);
        last.expect("the last page, in part");
        let error = mr.page_in(&mut host, 16, true, 25).expect_err("outside");
        assert_eq!(
            (&error, error.errno()),
            (&DriverError::NoPage(16), Errno::Efault)
        );

        assert!(driver
            .prepare_reclaim(&mut host, &mut mr, 3..9, 30)
            .is_none());
        let reclaim = driver.prepare_reclaim(&mut host, &mut mr, 0..9, 30);
        let (command, handle) = reclaim.expect("one page");
        assert_eq!((command.start, command.length), (va, 0x1000));
        assert!(matches!(
            host.swap_out(pid, va),
            Err(HostError::Pinned { .. })
        ));
        let pending = Completion::plain(command.id, command.op, Status::Pending);
        let Ok(ReclaimOutcome::Pending(handle)) =
            driver.finish_reclaim(&mut host, handle, &pending)
        else {
            panic!("PENDING keeps the pages");
        };
        assert!(matches!(
            host.swap_out(pid, va),
            Err(HostError::Pinned { .. })
        ));
        let done = port.submit(&mut host.mem, &command).expect("answers");
        let outcome = driver.finish_reclaim(&mut host, handle, &done);
        assert!(matches!(outcome, Ok(ReclaimOutcome::Done(r)) if r.frames.len() == 1));
        let moved = host.migrate(pid, va).expect("it is the host's again");
        assert_ne!(moved, here);
        host.swap_out(pid, va).expect("also out");
        mr.page_in(&mut host, 2, true, 40).expect("faults in");
        assert_eq!(mr.resident(), 2);

        // A reclaim that the unit refuses may not give the page away.
        let reclaim = driver.prepare_reclaim(&mut host, &mut mr, 2..3, 50);
        let (command, handle) = reclaim.expect("one page");
        let refused = Completion::plain(command.id, command.op, Status::Bus);
        let error = driver.finish_reclaim(&mut host, handle, &refused);
        assert!(matches!(error, Err(DriverError::Refused(Status::Bus))));
        assert_eq!(driver.lost(), 1);
        assert!(matches!(
            host.swap_out(pid, va),
            Err(HostError::Pinned { .. })
        ));
        driver.release_lost(&mut host);

        let (command, handle) = driver.prepare_dereg_demand(mr);
        let done = port.submit(&mut host.mem, &command).expect("answers");
        let outcome = driver.finish_dereg_demand(&mut host, handle, &done);
        assert!(matches!(outcome, Ok(DemandOutcome::Done(_))));
        let after = host.stats();
        assert_eq!((after.table_frames, after.pins), (before.table_frames, 0));
    }
}

#[test]
fn registrations_that_fail() {
    let (mut host, mut driver) = (Host::default(), Driver::default());
    let good = args(&mut host, Encoding::Raw);
    let before = host.stats();
    for (wrong, errno) in [
        (
            RegArgs {
                access: OD | Access::MW_BIND,
                ..good.clone()
            },
            Errno::Einval,
        ),
        (
            RegArgs {
                access: Access::ON_DEMAND | Access::REMOTE_WRITE,
                ..good.clone()
            },
            Errno::Einval,
        ),
        (
            RegArgs {
                length: 0,
                ..good.clone()
            },
            Errno::Einval,
        ),
        (
            good.clone().with_shape(Shape {
                level: Some(LEVEL_INLINE),
                ..Shape::default()
            }),
            Errno::Einval,
        ),
    ] {
        let error = driver.prepare_reg_demand(&mut host, &wrong).err();
        assert_eq!(error.map(|e| e.errno()), Some(errno), "{wrong:?}");
    }
    let error = driver.prepare_reg(&mut host, &good).err();
    assert_eq!(error, Some(DriverError::OnDemand), "another way in");
    let mut port = Port {
        unit: paging(),
        pages: None,
        say: Some(Status::NoIndex),
    };
    let error = driver.reg_demand(&mut host, &mut port, &good).err();
    assert_eq!(error.map(|e| e.errno()), Some(Errno::Enomem));
    assert_eq!(host.stats(), before, "nothing stays");
    let page = driver.page_ready(3, true);
    assert_eq!((page.key, page.flags), (Key(3), flag::REFUSE));
    let done = Completion::plain(page.id, page.op, Status::KeyState);
    let error = driver.finish_page_ready(&page, &done);
    assert_eq!(error, Err(DriverError::Refused(Status::KeyState)));
}

proptest! {
    /// The history against a plain one: a list of everything that was, looked through each time.
    #[test]
    fn history_of_pages(
        events in prop::collection::vec((0u8..4, 0u64..3, 1u64..6), 1..16),
        from in 0u64..60, span in 0u64..20,
    ) {
        let list = PagedList::new(12);
        // (page, what, from, until, gone)
        let mut plain: Vec<(u64, Page, u64, u64, u64)> =
            (0..3).map(|n| (n, Page::Absent, 0, u64::MAX, u64::MAX)).collect();
        let mut now = 1;
        for (kind, index, pa) in events {
            now += 2;
            if kind == 3 {
                list.invalidated(index..index + 1, now - 1, now);
                for spell in plain.iter_mut().filter(|s| s.0 == index && s.3 < now) {
                    spell.4 = spell.4.min(now);
                }
                continue;
            }
            let page = if kind == 0 { Page::Absent } else { Page::at(pa << 12) };
            list.set(index, page, now);
            let Some(last) = plain.iter_mut().filter(|s| s.0 == index).last() else {
                continue;
            };
            if last.1 != page {
                last.3 = now;
                plain.push((index, page, now, u64::MAX, u64::MAX));
            }
        }
        let to = from + span;
        for index in 0..3 {
            let mut expected: Vec<Page> = plain
                .iter()
                .filter(|s| s.0 == index && s.2 <= to)
                .filter(|s| match s.1 {
                    Page::Absent => from <= s.3,
                    _ => to <= s.4,
                })
                .map(|s| s.1)
                .collect();
            let mut met = list.met(index, from, to);
            let order = |page: &Page| format!("{page:?}");
            expected.sort_by_key(order);
            expected.dedup();
            met.sort_by_key(order);
            prop_assert_eq!(met, expected);
        }
    }
}
