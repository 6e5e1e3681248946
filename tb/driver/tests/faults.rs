// SPDX-License-Identifier: Apache-2.0
//! Faults of the unit, of memory and of the caller: each is a typed error, no wait is without an end,
//! and no memory is lost.

mod fake;

use fake::{ok, Fake, Raw};
use tpt_driver::gen::{cmdq_slot, flag, CMDQ_VERSION};
use tpt_driver::mtt::{Layout, MttError, Run};
use tpt_driver::paging::Answer;
use tpt_driver::trace::{Step, Traced};
use tpt_driver::verbs::{AllocMr, Bind, Memory, Progress, RegMr, Region, ReregMr, WindowType};
use tpt_driver::{
    access, take_over, AccessError, Capabilities, Command, Config, Device, DmaMemory as _,
    Encoding, Error, Event, Limit, Op, Status, Wait as _,
};
use tpt_regs::table as regs;

const LIMIT: Limit = Limit::Polls(50);

fn config() -> Config {
    Config {
        mpt_entries: 16,
        log_commands: 2,
        log_completions: 2,
        ..Config::default()
    }
}

fn start(fake: &mut Fake) -> Device {
    Device::start(fake, &config(), LIMIT).expect("a start")
}

/// A unit that answers one operation PENDING, this often, and all others OK, and a region in it.
fn pending(pending: Op, times: usize) -> (Fake, Device, Region) {
    let mut fake = Fake::scripted(move |id, op| {
        if op != pending.code() {
            return vec![ok(id, op)];
        }
        let status = Status::Pending.code();
        vec![
            Raw {
                status,
                ..ok(id, op)
            };
            times
        ]
    });
    let mut device = start(&mut fake);
    let region = device.reg_mr(&mut fake, &region(), LIMIT);
    (fake, device, region.expect("registered"))
}

/// A unit that pages on demand, with room for one command, and a region in it.
fn demand(encoding: Encoding) -> (Fake, Device, Region) {
    let mut fake = Fake::default();
    fake.registers.insert(regs::CAP2, 3 | 1 << 7 | 4 << 24);
    let config = Config {
        log_commands: 1,
        log_completions: 2,
        ..Config::default()
    };
    let mut device = Device::start(&mut fake, &config, LIMIT).expect("a start");
    let region = device.reg_mr(&mut fake, &demand_args(encoding), LIMIT);
    (fake, device, region.expect("a region"))
}

const RUNS: [Run; 1] = [Run {
    address: 0x5_0000,
    bytes: 0x8000,
}];

fn region() -> RegMr<'static> {
    RegMr {
        pd: 1,
        start: 0x1000,
        length: 0x8000,
        access: 1,
        memory: Memory::Runs(
            &RUNS,
            Layout {
                log_page: Some(12),
                ..LAYOUT
            },
        ),
    }
}

const LAYOUT: Layout = Layout {
    log_page: None,
    level: None,
    log_tpage: None,
    encoding: tpt_driver::Encoding::Raw,
    writable: true,
};

#[test]
fn a_unit_that_is_not_known_is_refused() {
    let probe = |offset, value| {
        let mut fake = Fake::default();
        fake.registers.insert(offset, value);
        let probed = Capabilities::probe(&mut fake);
        let started = Device::start(&mut fake, &config(), LIMIT).map(|_| ());
        assert!(fake.taken.is_empty());
        if let Err(error) = &probed {
            assert_eq!(started.as_ref(), Err(error));
        }
        (probed, started)
    };
    let (probed, _) = probe(regs::ID, 0x1234_5678);
    let error = probed.expect_err("another ID");
    assert_eq!(
        error.to_string(),
        "ID reads 0x12345678, expected 0x54505430: this is no translation unit"
    );
    let (probed, _) = probe(regs::VERSION, regs::VERSION_VALUE + 0x100);
    assert!(matches!(probed, Err(Error::Version { .. })), "{probed:?}");
    let (probed, _) = probe(regs::VERSION, regs::VERSION_VALUE + 0x1_0000);
    assert!(matches!(probed, Err(Error::Version { .. })), "{probed:?}");
    let mut fake = Fake::default();
    fake.registers
        .insert(regs::VERSION, regs::VERSION_VALUE + 1);
    assert!(Capabilities::probe(&mut fake).is_ok(), "a patch");
    let (probed, _) = probe(regs::CAP, 2 | 7 << 4);
    assert!(
        matches!(probed, Err(Error::Capability { .. })),
        "{probed:?}"
    );
    let (probed, _) = probe(regs::CAP, 3 << 4);
    assert!(
        matches!(probed, Err(Error::Capability { .. })),
        "{probed:?}"
    );
    let (probed, started) = probe(regs::CAP2, 2);
    assert!(probed.is_ok_and(|caps| !caps.queues));
    assert_eq!(started, Err(Error::NoQueues));
}

#[test]
fn a_unit_in_use_is_refused_and_can_be_taken_over() {
    let mut fake = Fake::default();
    drop(start(&mut fake));
    let again = Device::start(&mut fake, &config(), LIMIT).map(|_| ());
    assert!(matches!(again, Err(Error::InUse { .. })), "{again:?}");
    assert_eq!(take_over(&mut fake, LIMIT), Ok(()));
    assert!(Device::start(&mut fake, &config(), LIMIT).is_ok());
}

#[test]
fn settings_out_of_range() {
    type Change = fn(&mut Config);
    let wrong: [(&str, Change); 6] = [
        ("mpt_entries", |c| c.mpt_entries = 0),
        ("mpt_entries", |c| c.mpt_entries = (1 << 23) + 1),
        ("log_commands", |c| c.log_commands = 0),
        ("log_commands", |c| c.log_commands = 17),
        ("log_completions", |c| c.log_completions = 1),
        ("log_completions", |c| c.log_completions = 17),
    ];
    for (name, change) in wrong {
        let mut fake = Fake::default();
        let mut settings = config();
        change(&mut settings);
        match Device::start(&mut fake, &settings, LIMIT) {
            Err(Error::Setting { what, .. }) => assert_eq!(what, name),
            other => panic!("{name}: {other:?}"),
        }
    }
    let mut fake = Fake::default();
    fake.registers.insert(regs::CAP, 2 | 3 << 4);
    let settings = Config {
        merge: true,
        ..config()
    };
    let refused = Device::start(&mut fake, &settings, LIMIT).map(|_| ());
    assert!(matches!(refused, Err(Error::Setting { what: "merge", .. })));
    let text = format!(
        "{:?}",
        Config {
            perm_secret: [0xdead_beef; 4],
            ..config()
        }
    );
    assert!(
        !text.contains("3735928559"),
        "secrets are not printed: {text}"
    );
}

/// Each register access of a start is refused once, and each allocation fails once.
#[test]
fn a_start_that_fails_gives_its_memory_back() {
    let mut whole = Fake::default();
    start(&mut whole);
    for n in 1..=whole.accesses {
        let mut fake = Fake {
            refuse: Some(n),
            ..Fake::default()
        };
        let error = Device::start(&mut fake, &config(), LIMIT).expect_err("refused");
        assert!(
            matches!(
                error,
                Error::Register {
                    source: AccessError::Bus,
                    ..
                }
            ),
            "{error}"
        );
        assert!(fake.taken.is_empty(), "access {n}");
    }
    for n in 1..=whole.allocations {
        let mut fake = Fake {
            no_memory: Some(n),
            ..Fake::default()
        };
        let error = Device::start(&mut fake, &config(), LIMIT).expect_err("no memory");
        assert!(matches!(error, Error::Memory(_)), "{error}");
        assert!(fake.taken.is_empty(), "allocation {n}");
    }
    assert_eq!(whole.allocations, 3);
}

/// From some register access on all are refused, also those of the stop: the error tells what
/// memory the unit may be using, and it can be given back when the unit is there again.
#[test]
fn a_start_that_cannot_be_undone_tells_its_memory() {
    let mut whole = Fake::default();
    start(&mut whole);
    let mut told = 0;
    for n in 1..=whole.accesses {
        let mut fake = Fake {
            dead_from: Some(n),
            ..Fake::default()
        };
        let error = Device::start(&mut fake, &config(), LIMIT).expect_err("dead");
        let Error::NotStopped {
            start,
            stop,
            memory,
        } = &error
        else {
            assert!(matches!(error, Error::Register { .. }), "{error}");
            assert!(fake.taken.is_empty(), "access {n}");
            continue;
        };
        for cause in [start, stop] {
            assert!(matches!(**cause, Error::Register { .. }), "{error}");
            assert!(error.to_string().contains(&cause.to_string()), "{error}");
        }
        assert_eq!(fake.taken, (*memory).into(), "access {n}");
        fake.dead_from = None;
        assert_eq!(take_over(&mut fake, LIMIT), Ok(()));
        memory.iter().for_each(|(at, bytes)| fake.free(*at, *bytes));
        assert!(fake.taken.is_empty(), "access {n}");
        told += 1;
    }
    // ID, VERSION, CAP, CAP2, STATUS, QUEUE_STATUS come before memory is taken.
    assert_eq!(told, whole.accesses - 6);
}

#[test]
fn a_unit_that_does_not_get_ready() {
    let mut fake = Fake {
        status: regs::status::CLEARING | regs::status::LOCKED,
        ..Fake::default()
    };
    let error = Device::start(&mut fake, &config(), LIMIT).expect_err("never ready");
    let what = "STATUS.ready";
    assert_eq!(error, Error::Timeout { what, limit: LIMIT });
    assert!(fake.idles < 60, "{} looks", fake.idles);
    assert!(fake.taken.is_empty());
    let mut fake = Fake {
        status: regs::status::CLEAR_ERROR | regs::status::LOCKED,
        ..Fake::default()
    };
    let error = Device::start(&mut fake, &config(), LIMIT).expect_err("clear error");
    assert!(matches!(error, Error::Clear { .. }), "{error}");
    assert!(fake.taken.is_empty());
}

#[test]
fn a_stop_that_does_not_end_keeps_the_memory() {
    let mut fake = Fake::default();
    let mut device = start(&mut fake);
    fake.stuck = true;
    let error = device.stop(&mut fake, LIMIT).expect_err("busy");
    assert!(matches!(error, Error::Timeout { .. }), "{error}");
    assert_eq!(fake.taken.len(), 3);
    let refused = device.submit(&mut fake, &Command::new(Op::Query, 1, 1));
    assert_eq!(refused, Err(Error::NotRunning));
    assert_eq!(device.poll(&mut fake), Err(Error::NotRunning));
    fake.stuck = false;
    assert_eq!(device.stop(&mut fake, LIMIT), Ok(()));
    assert!(fake.taken.is_empty());
}

/// Limits: looks, time on a clock, and no clock.
#[test]
fn waits_have_limits() {
    let mut fake = Fake::scripted(|_, _| Vec::new());
    let mut device = start(&mut fake);
    let id = device
        .submit(&mut fake, &Command::new(Op::Query, 1, 1))
        .expect("sent");
    let before = fake.idles;
    let error = device.wait(&mut fake, id, LIMIT).expect_err("no answer");
    assert!(matches!(error, Error::Timeout { .. }), "{error}");
    assert!(fake.idles - before <= 50);
    let limit = Limit::Time(200);
    assert_eq!(device.wait(&mut fake, id, limit), Err(Error::NoClock));
    fake.clock = Some(u64::MAX - 20);
    let error = device.wait(&mut fake, id, limit).expect_err("no answer");
    assert!(matches!(error, Error::Timeout { .. }), "{error}");
    assert_eq!(fake.clock, Some(179), "over the end of the clock");
    // Memory refused an access to a slot.
    fake.registers
        .insert(regs::QUEUE_STATUS, regs::queue_status::ERROR | 1);
    let error = device.wait(&mut fake, id, LIMIT).expect_err("stopped");
    assert!(matches!(error, Error::QueueStopped { .. }), "{error}");
}

/// A phase bit that never flips: the wait ends, the region is not registered, its table is kept until
/// the unit is stopped.
#[test]
fn a_phase_that_never_flips() {
    let mut fake = Fake::scripted(|id, op| {
        vec![Raw {
            stale: true,
            ..ok(id, op)
        }]
    });
    let mut device = start(&mut fake);
    let error = device
        .reg_mr(&mut fake, &region(), LIMIT)
        .expect_err("no completion");
    assert!(matches!(error, Error::Timeout { .. }), "{error}");
    assert_eq!(fake.taken.len(), 4, "the unit may be using the table");
    assert_eq!(device.stop(&mut fake, LIMIT), Ok(()));
    assert!(fake.taken.is_empty());
}

#[test]
fn wrong_completions_are_typed_errors() {
    type Change = fn(&mut Raw);
    type Check = fn(&Error) -> bool;
    let wrong: [(Change, Check); 8] = [
        (|raw| raw.id += 1, |e| matches!(e, Error::UnknownId { .. })),
        (
            |raw| (raw.id, raw.op) = (raw.id + 1, 15),
            |e| matches!(e, Error::UnknownOp { op: 15, .. }),
        ),
        (
            |raw| raw.op = 15,
            |e| matches!(e, Error::UnknownOp { op: 15, .. }),
        ),
        (
            |raw| raw.op = Op::DeregMr.code(),
            |e| matches!(e, Error::WrongOp { .. }),
        ),
        (
            |raw| raw.status = 77,
            |e| matches!(e, Error::UnknownStatus { status: 77, .. }),
        ),
        (
            |raw| raw.status = Status::Pending.code(),
            |e| matches!(e, Error::UnexpectedPending { .. }),
        ),
        (
            // Modulo the number of slots it would be right.
            |raw| raw.head = Some(5),
            |e| matches!(e, Error::Head { head: 5, .. }),
        ),
        (
            |raw| raw.head = Some(3),
            |e| matches!(e, Error::Head { head: 3, .. }),
        ),
    ];
    for (n, (change, check)) in wrong.into_iter().enumerate() {
        let mut fake = Fake::scripted(move |id, op| {
            let mut raw = ok(id, op);
            change(&mut raw);
            vec![raw]
        });
        let mut device = start(&mut fake);
        let error = device
            .reg_mr(&mut fake, &region(), LIMIT)
            .expect_err("a wrong completion");
        assert!(check(&error), "{n}: {error}");
        assert_eq!(fake.taken.len(), 4, "{n}: the table is kept");
        // The driver goes on.
        fake.script = Box::new(|id, op| vec![ok(id, op)]);
        let region = device.reg_mr(&mut fake, &region(), LIMIT);
        assert!(region.is_ok(), "{n}: {region:?}");
        assert_eq!(device.stop(&mut fake, LIMIT), Ok(()));
        assert_eq!(device.release(&mut fake, region.expect("is ok")), Ok(()));
        assert!(fake.taken.is_empty(), "{n}");
    }
}

#[test]
fn a_second_pending_is_an_error() {
    let (mut fake, mut device, mut region) = pending(Op::DeregMr, 2);
    let ended = device.dereg_mr(&mut fake, &mut region, LIMIT);
    assert_eq!(ended, Ok(Progress::Pending));
    let again = device.resume(&mut fake, &mut region, LIMIT);
    assert!(
        matches!(again, Err(Error::UnexpectedPending { .. })),
        "{again:?}"
    );
    assert!(
        !region.is_gone() && fake.taken.len() == 4,
        "its table stays"
    );
}

/// Every status but OK and PENDING is a refusal that names it; the table is given back at once. Only
/// with BUS it may be in use, and stays until the unit is stopped.
#[test]
fn every_status_is_a_refusal() {
    for status in Status::ALL {
        if matches!(status, Status::Ok | Status::Pending) {
            continue;
        }
        let mut fake = Fake::scripted(move |id, op| {
            vec![Raw {
                status: status.code(),
                ..ok(id, op)
            }]
        });
        let mut device = start(&mut fake);
        let error = device
            .reg_mr(&mut fake, &region(), LIMIT)
            .expect_err("refused");
        assert_eq!(error.status(), Some(status));
        let text = error.to_string();
        assert!(text.contains(status.name()), "{text}");
        let kept = if status == Status::Bus { 4 } else { 3 };
        assert_eq!(fake.taken.len(), kept, "{text}");
        assert_eq!(device.stop(&mut fake, LIMIT), Ok(()));
        assert!(fake.taken.is_empty(), "{text}");
    }
}

/// A refused change leaves region and window as they were.
#[test]
fn a_refused_change_changes_nothing() {
    let refuse = |op: Op| {
        move |id, code| {
            let mut raw = ok(id, code);
            if code == op.code() {
                raw.status = Status::Busy.code();
            }
            vec![raw]
        }
    };
    let mut fake = Fake::scripted(refuse(Op::ReregMr));
    let mut device = start(&mut fake);
    let mut mr = device
        .reg_mr(&mut fake, &region(), LIMIT)
        .expect("registered");
    let keys = (mr.lkey(), mr.rkey());
    let args = region();
    let change = ReregMr {
        translation: Some((args.start, args.length, args.memory)),
        pd: Some(2),
        access: None,
    };
    let error = device.rereg_mr(&mut fake, &mut mr, &change, LIMIT);
    assert_eq!(error.expect_err("busy").status(), Some(Status::Busy));
    assert_eq!((mr.lkey(), mr.rkey(), mr.pd()), (keys.0, keys.1, 1));
    assert_eq!(fake.taken.len(), 4, "the new table is gone");
    fake.script = Box::new(refuse(Op::Query));
    assert_eq!(
        device.rereg_mr(&mut fake, &mut mr, &change, LIMIT),
        Ok(Progress::Done)
    );
    assert_ne!((mr.lkey(), mr.rkey()), keys);
    assert_eq!((mr.pd(), fake.taken.len()), (2, 4), "the old table is gone");
    assert!(device.query(&mut fake, mr.lkey(), 2, LIMIT).is_err());

    fake.script = Box::new(refuse(Op::Invalidate));
    let mut window = device
        .alloc_mw(&mut fake, 1, WindowType::TwoB, LIMIT)
        .expect("a window");
    let bind = Bind {
        mkey: mr.lkey(),
        length: 16,
        ..Bind::default()
    };
    assert_eq!(
        device.bind_mw(&mut fake, &mut window, &bind, LIMIT),
        Ok(Progress::Done)
    );
    assert!(device.unbind_mw(&mut fake, &mut window, LIMIT).is_err());
    assert!(window.is_bound(), "it stays bound");
    assert_eq!(
        device.dealloc_mw(&mut fake, &mut window, LIMIT),
        Ok(Progress::Done)
    );
    let gone = device.dealloc_mw(&mut fake, &mut window, LIMIT);
    assert!(
        matches!(gone, Err(Error::State { found: "gone", .. })),
        "{gone:?}"
    );
}

/// A full queue is said, and has room again when the unit has taken commands.
#[test]
fn a_full_queue() {
    let mut fake = Fake {
        deaf: true,
        ..Fake::default()
    };
    let mut device = start(&mut fake);
    let command = Command::new(Op::Query, 1, 1);
    let ids: Vec<u16> = (0..3)
        .map(|_| device.submit(&mut fake, &command).expect("room"))
        .collect();
    assert_eq!(device.submit(&mut fake, &command), Err(Error::QueueFull));
    assert_eq!(device.in_flight(), 3);
    fake.deaf = false;
    for id in &ids {
        let done = device.wait(&mut fake, *id, LIMIT).expect("an answer");
        assert_eq!(done.entry, Some([0x5a; 64]));
    }
    assert!(device.submit(&mut fake, &command).is_ok());
    // What is finished is not waited for.
    let idles = fake.idles;
    let again = device.wait(&mut fake, ids[0], LIMIT);
    assert!(matches!(again, Err(Error::State { .. })), "{again:?}");
    assert_eq!(fake.idles, idles);
}

/// Many commands, out of order, around the rings many times: each answer is taken once.
#[test]
fn several_in_flight_and_out_of_order() {
    let mut held: Option<Raw> = None;
    let mut fake = Fake::scripted(move |id, op| {
        // Every second answer comes behind the next one.
        match held.take() {
            None => {
                held = Some(ok(id, op));
                Vec::new()
            }
            Some(first) => vec![ok(id, op), first],
        }
    });
    let mut device = start(&mut fake);
    for round in 0..1000 {
        let command = Command::new(Op::Query, round, 1);
        let a = device.post(&mut fake, &command).expect("room");
        let b = device.post(&mut fake, &command).expect("room");
        assert_eq!(device.ring(&mut fake), Ok(()));
        if round % 2 == 0 {
            // What is not waited for stays for poll.
            assert_eq!(device.wait(&mut fake, a, LIMIT).map(|c| c.id), Ok(a));
            let next = device.poll(&mut fake).expect("no error");
            assert!(
                matches!(next, Some(Event::Completion(c)) if c.id == b),
                "{next:?}"
            );
        } else {
            assert_eq!(device.wait(&mut fake, b, LIMIT).map(|c| c.id), Ok(b));
            assert_eq!(device.wait(&mut fake, a, LIMIT).map(|c| c.id), Ok(a));
        }
        assert_eq!(device.poll(&mut fake), Ok(None));
    }
    assert_eq!(device.in_flight(), 0);
    assert_eq!(device.stats.completions, 2000);
    assert_eq!(device.stats.command_doorbells, 1000);
}

#[test]
fn values_that_do_not_fit_are_not_sent() {
    let mut fake = Fake::default();
    let mut device = start(&mut fake);
    type Change = fn(&mut Command);
    let wrong: [(&str, Change); 3] = [
        ("pd", |c| c.pd = 1 << 24),
        ("new_pd", |c| c.new_pd = 1 << 24),
        ("qpn", |c| c.qpn = 1 << 24),
    ];
    for (name, change) in wrong {
        let mut command = Command::new(Op::BindMw, 1, 1);
        change(&mut command);
        match device.submit(&mut fake, &command) {
            Err(Error::Field { field, bits, .. }) => assert_eq!((field, bits), (name, 24)),
            other => panic!("{name}: {other:?}"),
        }
    }
    assert_eq!(device.stats.commands, 0);
    for pages in [0, 1 << 20] {
        let args = AllocMr {
            pd: 1,
            pages,
            log_page: 12,
            encoding: tpt_driver::Encoding::Raw,
            remote_inv: false,
        };
        let refused = device.alloc_mr(&mut fake, &args, LIMIT).map(|_| ());
        assert!(matches!(refused, Err(Error::Setting { what: "pages", .. })));
    }
    let refused = device.reset_client(&mut fake, 2, LIMIT);
    assert!(matches!(
        refused,
        Err(Error::Setting { what: "client", .. })
    ));
}

/// No memory for a table: what was taken of it is given back.
#[test]
fn a_table_that_cannot_be_had() {
    for n in 1..=3 {
        let mut fake = Fake::default();
        let mut device = start(&mut fake);
        fake.no_memory = Some(fake.allocations + n);
        let args = RegMr {
            memory: Memory::Runs(
                &RUNS,
                Layout {
                    log_page: Some(12),
                    level: Some(3),
                    ..LAYOUT
                },
            ),
            ..region()
        };
        let error = device
            .reg_mr(&mut fake, &args, LIMIT)
            .expect_err("no memory");
        assert!(matches!(error, Error::Memory(_)), "{error}");
        assert_eq!(fake.taken.len(), 3);
        assert_eq!(device.stats.commands, 0);
    }
}

/// Slots are given back when half of the queue is taken, even if there is always one more.
#[test]
fn half_of_the_queue_is_given_back() {
    let mut fake = Fake::default();
    let settings = Config {
        log_commands: 3,
        log_completions: 3,
        ..config()
    };
    let mut device = Device::start(&mut fake, &settings, LIMIT).expect("a start");
    for _ in 0..6 {
        let command = Command::new(Op::Query, 1, 1);
        device.submit(&mut fake, &command).expect("room");
    }
    (0..6).for_each(|_| fake.idle().expect("never fails"));
    for n in 0..6 {
        assert_eq!(device.stats.completion_doorbells, u64::from(n >= 4), "{n}");
        assert!(device.poll(&mut fake).is_ok_and(|event| event.is_some()));
    }
    assert_eq!(fake.registers[&regs::CPLQ_HEAD], 4);
    assert_eq!(device.poll(&mut fake), Ok(None));
    assert_eq!(fake.registers[&regs::CPLQ_HEAD], 6);
}

/// A command that is PENDING keeps its id, however many others there are.
#[test]
fn an_id_in_use_is_not_given_again() {
    let (mut fake, mut device, mut mr) = pending(Op::DeregMr, 1);
    let kept = device
        .submit(&mut fake, &Command::new(Op::DeregMr, mr.lkey(), 1))
        .expect("sent");
    assert!(device.wait(&mut fake, kept, LIMIT).is_ok());
    for _ in 0..66_000 {
        let id = device
            .submit(&mut fake, &Command::new(Op::Query, 1, 1))
            .expect("sent");
        assert_ne!(id, kept);
        assert!(device.wait(&mut fake, id, LIMIT).is_ok());
    }
    assert_eq!(device.in_flight(), 1);
    let ended = device.dereg_mr(&mut fake, &mut mr, LIMIT);
    assert_eq!(ended, Ok(Progress::Pending));
}

/// A command that nobody waits for any more keeps its id until its completion has been taken: it is
/// not taken for that of another command when the ids have gone round.
#[test]
fn an_id_is_not_given_again_before_its_completion_is_taken() {
    let mut fake = Fake::scripted(|_, _| Vec::new());
    let mut device = start(&mut fake);
    let query = Command::new(Op::Query, 1, 1);
    let late = device.submit(&mut fake, &query).expect("sent");
    let error = device.wait(&mut fake, late, LIMIT).expect_err("no answer");
    assert!(matches!(error, Error::Timeout { .. }), "{error}");
    fake.script = Box::new(|id, op| vec![ok(id, op)]);
    let round = |fake: &mut Fake, device: &mut Device| {
        let mut again = 0;
        for _ in 0..66_000 {
            let id = device.submit(fake, &query).expect("sent");
            again += u32::from(id == late);
            assert_eq!(device.wait(fake, id, LIMIT).map(|c| c.id), Ok(id));
        }
        again
    };
    // It comes while another command is waited for.
    let other = device.submit(&mut fake, &query).expect("sent");
    let stale = Raw {
        lkey: 0xdead,
        ..ok(late, Op::Query.code())
    };
    fake.complete(stale);
    assert!(device.wait(&mut fake, other, LIMIT).is_ok());
    assert_eq!(device.in_flight(), 0);
    assert_eq!(round(&mut fake, &mut device), 0);
    match device.poll(&mut fake) {
        Ok(Some(Event::Completion(c))) => assert_eq!((c.id, c.lkey), (late, 0xdead)),
        other => panic!("{other:?}"),
    }
    // Taken: the id is one as any other again.
    assert_ne!(round(&mut fake, &mut device), 0);
    assert_eq!(device.poll(&mut fake), Ok(None));
}

/// When every id has a completion that was not taken, that is said as a full queue, and passes.
#[test]
fn all_ids_in_use_is_a_full_queue() {
    let mut held: Vec<Raw> = Vec::new();
    let mut fake = Fake::scripted(move |id, op| {
        // The answer to the first of two comes behind that of the second.
        held.push(ok(id, op));
        match held.len() {
            2 => held.drain(..).rev().collect(),
            _ => Vec::new(),
        }
    });
    let mut device = start(&mut fake);
    let query = Command::new(Op::Query, 1, 1);
    // The answer to the second of two is left to poll.
    let two = |fake: &mut Fake, device: &mut Device| {
        let first = device.submit(fake, &query)?;
        device.submit(fake, &query)?;
        device.wait(fake, first, LIMIT)
    };
    let mut kept = 0;
    let full = loop {
        match two(&mut fake, &mut device) {
            Ok(_) => kept += 1,
            Err(error) => break error,
        }
        assert!(kept < 1 << 16, "more answers than ids");
    };
    assert_eq!(full, Error::QueueFull);
    assert_eq!(kept, u16::MAX.into());
    assert!(device.poll(&mut fake).is_ok_and(|event| event.is_some()));
    assert!(device.submit(&mut fake, &query).is_ok());
}

/// What a completion tells is read before its slot is given back.
#[test]
fn a_completion_is_read_before_its_slot_is_given_back() {
    let mut traced = Traced::new(Fake::default());
    let settings = Config {
        log_commands: 3,
        log_completions: 3,
        ..config()
    };
    let mut device = Device::start(&mut traced, &settings, LIMIT).expect("a start");
    let query = Command::new(Op::Query, 1, 1);
    for _ in 0..3 {
        let ids: Vec<u16> = (0..6)
            .map(|_| device.submit(&mut traced, &query).expect("room"))
            .collect();
        for id in ids {
            assert!(device.wait(&mut traced, id, LIMIT).is_ok());
        }
    }
    let (mut doorbells, mut read, mut behind) = (0, false, true);
    for (_, step) in traced.take() {
        match step {
            Step::Load { .. } => (read, behind) = (true, false),
            Step::ReleaseBarrier => behind = true,
            Step::Write { offset, .. } if offset == regs::CPLQ_HEAD => {
                assert!(read && behind, "doorbell {doorbells}: no barrier before it");
                doorbells += 1;
            }
            _ => {}
        }
    }
    assert_eq!(doorbells, device.stats.completion_doorbells);
    assert_ne!(doorbells, 0);
}

/// The doorbell that gives its slot back is refused: the completion is not lost.
#[test]
fn a_completion_whose_slot_cannot_be_given_back_is_kept() {
    let mut fake = Fake::default();
    let mut device = start(&mut fake);
    let query = Command::new(Op::Query, 1, 1);
    let id = device.submit(&mut fake, &query).expect("sent");
    fake.refuse = Some(fake.accesses + 1);
    let refused = device.wait(&mut fake, id, LIMIT);
    let name = "CPLQ_HEAD";
    assert!(
        matches!(refused, Err(Error::Register { name: at, .. }) if at == name),
        "{refused:?}"
    );
    assert_eq!(device.wait(&mut fake, id, LIMIT).map(|c| c.id), Ok(id));
    assert_eq!(device.poll(&mut fake), Ok(None), "and given back now");
    assert_eq!(device.stats.completion_doorbells, 1);
}

/// A bind that is refused after its wait ran out has bound nothing.
#[test]
fn a_late_refusal_leaves_a_window_as_it_was() {
    for status in [Status::Ok, Status::MrBounds] {
        let mut fake = Fake::default();
        let mut device = start(&mut fake);
        let mut window = device
            .alloc_mw(&mut fake, 1, WindowType::TwoB, LIMIT)
            .expect("a window");
        fake.script = Box::new(|_, _| Vec::new());
        let bind = Bind {
            length: 16,
            ..Bind::default()
        };
        let late = device.bind_mw(&mut fake, &mut window, &bind, LIMIT);
        assert!(matches!(late, Err(Error::Timeout { .. })), "{late:?}");
        assert!(window.is_pending());
        fake.complete(Raw {
            status: status.code(),
            ..ok(1, Op::BindMw.code())
        });
        let done = device.resume_mw(&mut fake, &mut window, LIMIT);
        assert_eq!(done.is_ok(), status == Status::Ok, "{done:?}");
        assert_eq!(window.is_bound(), status == Status::Ok);
        assert!(!window.is_pending());
    }
}

/// A region that is being changed takes no other change, and the one under way goes on.
#[test]
fn one_change_at_a_time() {
    let (mut fake, mut device, mut mr) = pending(Op::ReregMr, 1);
    let args = region();
    let change = ReregMr {
        translation: Some((args.start, args.length, args.memory)),
        ..ReregMr::default()
    };
    let changed = device.rereg_mr(&mut fake, &mut mr, &change, LIMIT);
    assert_eq!(changed, Ok(Progress::Pending));
    assert_eq!(fake.taken.len(), 5, "old and new table");
    for _ in 0..2 {
        let again = device.rereg_mr(&mut fake, &mut mr, &change, LIMIT);
        assert!(matches!(again, Err(Error::State { .. })), "{again:?}");
    }
    assert_eq!(fake.taken.len(), 5, "nothing was built in vain");
    // The driver has numbered it 1.
    fake.complete(ok(1, Op::ReregMr.code()));
    let changed = device.resume(&mut fake, &mut mr, LIMIT);
    assert_eq!(changed, Ok(Progress::Done));
    assert_eq!(fake.taken.len(), 4, "the old table is gone");
    assert_eq!(mr.lkey(), 0x101);
}

fn demand_args(encoding: Encoding) -> RegMr<'static> {
    RegMr {
        pd: 1,
        start: 0x1800,
        length: 0x8000,
        access: access::REMOTE_READ,
        memory: Memory::OnDemand(Layout {
            encoding,
            ..Layout::default()
        }),
    }
}

/// What the unit was built without is refused before anything is taken or sent.
#[test]
fn what_is_not_built_is_refused() {
    for (cap2, encoding, field) in [
        (3, Encoding::Raw, "CAP2.fault_slots"),
        (3 | 4 << 24, Encoding::Checked, "CAP2.checked"),
    ] {
        let mut fake = Fake::default();
        fake.registers.insert(regs::CAP2, cap2);
        let mut device = Device::start(&mut fake, &Config::default(), LIMIT).expect("a start");
        let taken = fake.taken.len();
        let error = device.reg_mr(&mut fake, &demand_args(encoding), LIMIT);
        let error = error.expect_err("not built");
        assert!(matches!(error, Error::NotBuilt { .. }), "{error}");
        assert!(error.to_string().contains(field), "{error}");
        assert_eq!((fake.taken.len(), device.in_flight()), (taken, 0));
    }
}

/// The page faults of the registers: each is answered once, whatever happens in between.
#[test]
fn each_page_fault_has_one_answer() {
    let (mut fake, mut device, region) = demand(Encoding::Checked);
    assert!(region.index() != 0 && region.is_on_demand());
    assert_eq!(device.take_fault(&mut fake), Ok(None));

    let index = region.index();
    let info = |slot: u32| 1 << 31 | slot << 24 | 1 << 23 | index;
    fake.registers.insert(regs::FAULT_INFO, info(2));
    fake.registers.insert(regs::FAULT_PAGE_LO, 8);
    let high = 1 << 31 | 1 << 20 | 0x155 << 8;
    fake.registers.insert(regs::FAULT_PAGE_HI, high);
    let fault = device.take_fault(&mut fake).expect("a fault");
    let mut fault = fault.expect("a fault");
    assert_eq!(
        (fault.slot(), fault.page(), fault.va()),
        (2, 8, Some(0x9000))
    );
    assert!(fault.writes() && fault.held());
    assert_eq!((fault.client(), fault.tag()), (1, 0x155));
    assert_eq!(fake.registers.get(&regs::FAULT_POP), Some(&1));
    // The same slot again, and one that does not exist.
    for slot in [2, 4] {
        fake.registers.insert(regs::FAULT_INFO, info(slot));
        let error = device.take_fault(&mut fake).expect_err("a defect");
        assert!(matches!(error, Error::FaultSlot { .. }), "{error}");
    }
    device
        .map_page(&mut fake, &region, 8, 0x7000, true)
        .expect("an entry");

    // No room, then no completion: the fault can still be answered, and once only.
    fake.deaf = true;
    let other = device
        .submit(&mut fake, &Command::new(Op::Query, 1, 1))
        .expect("sent");
    let full = device.page_ready(&mut fake, &mut fault, LIMIT);
    assert_eq!(full, Err(Error::QueueFull));
    assert_eq!(device.open_faults(), 1);
    fake.deaf = false;
    assert!(device.wait(&mut fake, other, LIMIT).is_ok());
    fake.deaf = true;
    let late = device.page_ready(&mut fake, &mut fault, LIMIT);
    assert!(matches!(late, Err(Error::Timeout { .. })), "{late:?}");
    fake.deaf = false;
    assert_eq!(device.page_ready(&mut fake, &mut fault, LIMIT), Ok(()));
    assert!(fault.is_answered());
    let again = device.refuse(&mut fake, &mut fault, LIMIT);
    assert!(matches!(again, Err(Error::State { .. })), "{again:?}");
    assert_eq!(device.open_faults(), 0);

    // Only on-demand regions have pages that come and go.
    let runs = [Run {
        address: 0x1_0000,
        bytes: 0x1000,
    }];
    let args = RegMr {
        pd: 1,
        start: 0x1_0000,
        length: 0x1000,
        access: 0,
        memory: Memory::Runs(&runs, Layout::default()),
    };
    let mut pinned = device.reg_mr(&mut fake, &args, LIMIT).expect("a region");
    let refused = device.unmap_pages(&mut fake, &mut pinned, 0, 1, LIMIT);
    assert!(matches!(refused, Err(Error::State { .. })), "{refused:?}");

    // A handler that fails: its fault is refused.
    fake.registers.insert(regs::FAULT_INFO, info(3));
    let served = device.serve_faults(&mut fake, LIMIT, |_, _, _| Err(Error::NotRunning));
    assert_eq!(served, Err(Error::NotRunning));
    assert_eq!(device.open_faults(), 0);
    // The registers of this unit never run dry: a call ends all the same.
    let served = device.serve_faults(&mut fake, LIMIT, |_, _, fault| {
        assert_eq!(fault.slot(), 3);
        Ok(Answer::Ready)
    });
    assert_eq!(served, Ok(4));
}

/// The command in the queue's only slots that has this operation: its key and flags.
fn sent(fake: &Fake, op: Op) -> Vec<(u32, u8)> {
    let base = fake.registers[&regs::CMDQ_BASE_LO];
    let slots = (0..2).map(|n| u64::from(base) + 128 * n);
    let byte = |slot: u64, at: usize| (fake.word(slot + at as u64 / 8 * 8) >> (at % 8 * 8)) as u8;
    slots
        .filter(|slot| byte(*slot, cmdq_slot::VERSION) == CMDQ_VERSION)
        .filter(|slot| byte(*slot, cmdq_slot::OP) == op.code())
        .map(|slot| {
            let key = fake.word(slot + cmdq_slot::KEY as u64) as u32;
            (key, byte(slot, cmdq_slot::FLAGS))
        })
        .collect()
}

/// A fault whose answer finds no room in the queue, or no completion, is answered by a later call,
/// with what its handler has said.
#[test]
fn an_answer_that_cannot_be_given_is_owed() {
    type Handler = fn() -> Result<Answer, Error>;
    let handlers: [(Handler, u8); 3] = [
        (|| Ok(Answer::Ready), 0),
        (|| Ok(Answer::Refuse), flag::REFUSE),
        (|| Err(Error::NoClock), flag::REFUSE),
    ];
    for (slot, (handler, flags)) in (1u32..).zip(handlers) {
        let (mut fake, mut device, region) = demand(Encoding::Raw);
        let failed = handler().err();
        let nobody = |_: &mut Device, _: &mut Fake, _: &_| panic!("it has been asked already");
        fake.deaf = true;
        let other = device
            .submit(&mut fake, &Command::new(Op::Query, 1, 1))
            .expect("sent");
        let info = 1 << 31 | slot << 24 | region.index();
        fake.registers.insert(regs::FAULT_INFO, info);
        let full = device.serve_faults(&mut fake, LIMIT, |_, _, _| handler());
        assert_eq!(full, Err(failed.unwrap_or(Error::QueueFull)));
        fake.registers.insert(regs::FAULT_INFO, 0);
        assert_eq!((device.owed_answers(), device.open_faults()), (1, 1));
        let full = device.serve_faults(&mut fake, LIMIT, nobody);
        assert_eq!(full, Err(Error::QueueFull));
        // Room, but no completion.
        fake.deaf = false;
        assert!(device.wait(&mut fake, other, LIMIT).is_ok());
        fake.deaf = true;
        let late = device.serve_faults(&mut fake, LIMIT, nobody);
        assert!(matches!(late, Err(Error::Timeout { .. })), "{late:?}");
        assert_eq!((device.owed_answers(), device.open_faults()), (1, 0));
        fake.deaf = false;
        assert_eq!(device.serve_faults(&mut fake, LIMIT, nobody), Ok(1));
        assert_eq!(sent(&fake, Op::PageReady), [(slot, flags)]);
        assert_eq!((device.owed_answers(), device.in_flight()), (0, 0));
        assert_eq!(device.serve_faults(&mut fake, LIMIT, nobody), Ok(0));
        assert_eq!(device.stats.commands, 3, "one answer");
    }
}

/// An answer that the unit refuses is given all the same: it is not owed.
#[test]
fn an_answer_that_is_refused_is_not_owed() {
    let (mut fake, mut device, region) = demand(Encoding::Raw);
    fake.script = Box::new(|id, op| {
        let status = Status::KeyState.code();
        vec![Raw {
            status,
            ..ok(id, op)
        }]
    });
    let info = 1 << 31 | region.index();
    fake.registers.insert(regs::FAULT_INFO, info);
    let refused = device.serve_faults(&mut fake, LIMIT, |_, _, _| Ok(Answer::Ready));
    let (op, status) = (Op::PageReady, Status::KeyState);
    assert_eq!(refused, Err(Error::Refused { op, status }));
    assert_eq!((device.owed_answers(), device.open_faults()), (0, 0));
}

/// A call that makes something, or asks, and whose wait runs out: a table stays taken until the
/// stop, and the late completion is an event, with its keys.
#[test]
fn what_a_wait_that_ran_out_leaves() {
    type Call = fn(&mut Device, &mut Fake) -> Result<(), Error>;
    let calls: [(Op, usize, Call); 5] = [
        (Op::RegMr, 1, |device, fake| {
            device.reg_mr(fake, &region(), LIMIT).map(drop)
        }),
        (Op::RegPhys, 0, |device, fake| {
            device.reg_phys(fake, 1, (0, 0x1000), 0, LIMIT).map(drop)
        }),
        (Op::AllocMr, 1, |device, fake| {
            let args = AllocMr {
                pd: 1,
                pages: 4,
                log_page: 12,
                encoding: Encoding::Raw,
                remote_inv: false,
            };
            device.alloc_mr(fake, &args, LIMIT).map(drop)
        }),
        (Op::AllocMw, 0, |device, fake| {
            let made = device.alloc_mw(fake, 1, WindowType::One, LIMIT);
            made.map(drop)
        }),
        (Op::Query, 0, |device, fake| {
            device.query(fake, 1, 1, LIMIT).map(drop)
        }),
    ];
    for (op, tables, call) in calls {
        let mut fake = Fake::scripted(|_, _| Vec::new());
        let mut device = start(&mut fake);
        let late = call(&mut device, &mut fake);
        assert!(
            matches!(late, Err(Error::Timeout { .. })),
            "{op:?}: {late:?}"
        );
        assert_eq!((fake.taken.len(), device.in_flight()), (3 + tables, 1));
        fake.complete(ok(0, op.code()));
        match device.poll(&mut fake) {
            Ok(Some(Event::Completion(c))) => {
                assert_eq!((c.id, c.op, c.lkey), (0, op.code(), 0x100));
            }
            other => panic!("{op:?}: {other:?}"),
        }
        assert_eq!((fake.taken.len(), device.in_flight()), (3 + tables, 0));
        assert_eq!(device.stop(&mut fake, LIMIT), Ok(()));
        assert!(fake.taken.is_empty(), "{op:?}");
    }
}

/// Pages are not made absent if there is no room for the command that tells the unit.
#[test]
fn a_full_queue_leaves_the_pages_present() {
    let (mut fake, mut device, mut region) = demand(Encoding::Flagged);
    for page in [0, 1] {
        let mapped = device.map_page(&mut fake, &region, page, 0x7000 + (page << 12), true);
        assert_eq!(mapped, Ok(()));
    }
    let (table, _) = region.table().expect("a table").parts()[0];
    let entries = [0x7003, 0x8003];
    let there = |fake: &Fake| [fake.word(table), fake.word(table + 8)];
    fake.deaf = true;
    let other = device
        .submit(&mut fake, &Command::new(Op::Query, 1, 1))
        .expect("sent");
    let full = device.unmap_pages(&mut fake, &mut region, 0, 2, LIMIT);
    assert_eq!(full, Err(Error::QueueFull));
    assert!(!region.is_pending());
    assert_eq!(there(&fake), entries, "nothing has been done");
    fake.deaf = false;
    assert!(device.wait(&mut fake, other, LIMIT).is_ok());
    let done = device.unmap_pages(&mut fake, &mut region, 0, 2, LIMIT);
    assert_eq!(done, Ok(Progress::Done));
    assert_eq!(there(&fake), [0, 0]);
    assert_eq!(device.stop(&mut fake, LIMIT), Ok(()));
    let stopped = device.unmap_pages(&mut fake, &mut region, 0, 2, LIMIT);
    assert_eq!(stopped, Err(Error::NotRunning));
}

/// Page sizes that do not exist are refused before a page list is taken.
#[test]
fn a_page_list_of_a_page_size_that_does_not_exist() {
    let mut fake = Fake::default();
    let mut device = start(&mut fake);
    for log_page in [0, 11, 44, 64, 255] {
        let args = AllocMr {
            pd: 1,
            pages: 4,
            log_page,
            encoding: Encoding::Raw,
            remote_inv: false,
        };
        let refused = device.alloc_mr(&mut fake, &args, LIMIT).map(drop);
        let what = "log2 of the page size";
        let (value, least, most) = (log_page, 12, 43);
        let shape = MttError::Shape {
            what,
            value,
            least,
            most,
        };
        assert_eq!(refused, Err(Error::Mtt(shape)));
        assert_eq!((fake.taken.len(), device.stats.commands), (3, 0));
    }
}
