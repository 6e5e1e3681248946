// SPDX-License-Identifier: Apache-2.0
//! Tenants: bad keys and blocked streams, refusals that leave at their time, partitions of caches,
//! contexts and slots for page faults.

use tpt_bench::paging::Pager;
use tpt_bench::rig::{Mr, PagedMr, Rig, Spec, ALL_RIGHTS, PAGED_RIGHTS};
use tpt_bench::{BenchError, BenchOptions, Clocks, Pattern, Tenants, UnitConfig};
use tpt_golden::alarm::AlarmConfig;
use tpt_golden::regs;
use tpt_golden::types::{Access, Key, Op, Request, Role, Status, Syndrome};
use tpt_verilated::Config;

type Result<T = ()> = std::result::Result<T, BenchError>;

const PA: u64 = 1 << 40;

fn rig(unit: &UnitConfig, latency: u32) -> Result<Rig> {
    let mut options = BenchOptions::default();
    options.axi.read_latency = Clocks::fixed(latency);
    Rig::new(options, unit)
}

fn alarm(stream: u8, pd: u8, block: bool) -> UnitConfig {
    UnitConfig {
        alarm: AlarmConfig {
            stream_threshold: stream,
            pd_threshold: pd,
            block,
        },
        ..UnitConfig::default()
    }
}

/// Two partitions: even PDs in one, odd ones in the other.
fn two_parts() -> UnitConfig {
    UnitConfig {
        mpt_size: 1024,
        tenants: Tenants {
            log_parts: 1,
            pd_shift: 0,
            map: 0x4444_4444,
        },
        ..UnitConfig::default()
    }
}

fn region(rig: &mut Rig, pd: u32, n: u64) -> Result<Mr> {
    let mut spec = Spec::new(n << 24, 0x4000, 12, PA + (n << 24)).level(1);
    spec.pd = pd;
    rig.register(spec)
}

fn read(mr: &Mr, stream: u8) -> Request {
    Request {
        stream,
        ..mr.request(Op::RemoteRead, mr.spec.start, 64)
    }
}

/// A key of which only the tag is wrong.
fn bad(mr: &Mr, stream: u8) -> Request {
    let request = read(mr, stream);
    Request {
        key: Key(request.key.0 ^ 1),
        ..request
    }
}

fn register(rig: &mut Rig, offset: u16) -> Result<u32> {
    rig.bench.read_register(&mut rig.host.mem, offset)
}

fn alarm_agrees(rig: &mut Rig) -> Result {
    let compared = rig.bench.compare_alarm(&mut rig.host.mem)?;
    assert_eq!(compared, Ok(()));
    Ok(())
}

#[test]
fn a_stream_is_blocked_after_its_bad_keys() -> Result {
    let mut rig = rig(&alarm(3, 0, true), 4)?;
    let mr = region(&mut rig, 1, 1)?;
    for client in [0, 1] {
        for n in 0..3 {
            rig.expect(client, read(&mr, 5), Syndrome::Ok)?;
            let pending = register(&mut rig, regs::INT_STATUS)? & regs::int_status::ALARM;
            assert_eq!(pending != 0, client == 1, "before bad key {n}");
            rig.expect(client, bad(&mr, 5), Syndrome::KeyTag)?;
        }
        rig.expect(client, read(&mr, 5), Syndrome::Blocked)?;
        rig.expect(client, bad(&mr, 5), Syndrome::Blocked)?;
        // others of the client, and the same number at the other client
        rig.expect(client, read(&mr, 4), Syndrome::Ok)?;
        if client == 0 {
            rig.expect(1, read(&mr, 5), Syndrome::Ok)?;
        }
        assert_ne!(
            register(&mut rig, regs::INT_STATUS)? & regs::int_status::ALARM,
            0
        );
        alarm_agrees(&mut rig)?;
    }
    rig.bench.clear_stream(&mut rig.host.mem, 0, 5)?;
    rig.expect(0, read(&mr, 5), Syndrome::Ok)?;
    rig.expect(1, read(&mr, 5), Syndrome::Blocked)?;
    alarm_agrees(&mut rig)
}

/// Without blocking a stream goes on; the alarm is raised once for each threshold.
#[test]
fn an_alarm_without_blocking() -> Result {
    let mut rig = rig(&alarm(2, 4, false), 4)?;
    let mr = region(&mut rig, 1, 1)?;
    let mut raised = Vec::new();
    for n in 1..=6 {
        rig.expect(0, bad(&mr, 9), Syndrome::KeyTag)?;
        if register(&mut rig, regs::INT_STATUS)? & regs::int_status::ALARM != 0 {
            raised.push(n);
            let (at, bit) = (regs::INT_STATUS, regs::int_status::ALARM);
            rig.bench.write_register(&mut rig.host.mem, at, bit)?;
        }
    }
    assert_eq!(raised, [2, 4]);
    rig.expect(0, read(&mr, 9), Syndrome::Ok)?;
    alarm_agrees(&mut rig)
}

/// Every refusal that a guess can end with is counted for its PD, and no other.
#[test]
fn bad_keys_of_a_pd() -> Result {
    let mut rig = rig(&alarm(0, 0, false), 4)?;
    let mr = region(&mut rig, 1, 1)?;
    // Of another PD with the same slot, whatever their number.
    let mut foreign = read(&mr, 0);
    foreign.pd = 0x12_3407;
    rig.expect(0, foreign, Syndrome::Pd)?;
    let keys = rig.bench.golden.keys().clone();
    let dead = Key(keys.field(Role::Remote, 40) << 8);
    let outside = Key(keys.field(Role::Remote, 0x7f_fff0) << 8);
    rig.expect(
        0,
        Request {
            key: dead,
            ..foreign
        },
        Syndrome::KeyState,
    )?;
    rig.expect(
        0,
        Request {
            key: outside,
            ..foreign
        },
        Syndrome::KeyIndex,
    )?;
    let mut beyond = read(&mr, 0);
    beyond.len = 0x8000;
    rig.expect(0, beyond, Syndrome::Bounds)?;
    let select = regs::put(regs::alarm_select::SLOT, 7);
    rig.bench
        .write_register(&mut rig.host.mem, regs::ALARM_SELECT, select)?;
    let found = register(&mut rig, regs::ALARM_PD)?;
    assert_eq!(found, 0x12_3407 << 8 | 3);
    // A slot beyond the last one is the one that is equal modulo their number.
    let slots = Config::Small.sizes().alarm_pds;
    for (slot, count) in [(7 + slots, 3), (7 + 15 * slots, 3), (8 + slots, 0)] {
        let select = regs::put(regs::alarm_select::SLOT, slot);
        rig.bench
            .write_register(&mut rig.host.mem, regs::ALARM_SELECT, select)?;
        assert_eq!(register(&mut rig, regs::ALARM_SELECT)?, select);
        let found = register(&mut rig, regs::ALARM_PD)?;
        assert_eq!(found & regs::alarm_pd::COUNT, count, "slot {slot}");
    }
    rig.bench
        .write_register(&mut rig.host.mem, regs::ALARM_SELECT, select)?;
    alarm_agrees(&mut rig)?;
    rig.bench
        .write_register(&mut rig.host.mem, regs::ALARM_SELECT, select)?;
    rig.bench
        .write_register(&mut rig.host.mem, regs::ALARM_CLEAR, regs::alarm_clear::PD)?;
    assert_eq!(register(&mut rig, regs::ALARM_PD)?, 0);
    rig.bench.write_register(
        &mut rig.host.mem,
        regs::ALARM_CLEAR,
        regs::alarm_clear::EVERY,
    )?;
    rig.bench.alarm.clear_all();
    alarm_agrees(&mut rig)
}

/// PDs below the number of slots have counts of their own; those equal modulo it share one.
fn pds_and_their_slots(config: Config) -> Result {
    let options = BenchOptions {
        config,
        ..BenchOptions::default()
    };
    let mut rig = Rig::new(options, &alarm(0, 0, false))?;
    let mr = region(&mut rig, 1, 1)?;
    let slots = config.sizes().alarm_pds;
    let log = regs::put(regs::cap2::LOG_ALARM_PDS, slots.ilog2());
    let cap2 = register(&mut rig, regs::CAP2)?;
    assert_eq!(cap2 & regs::cap2::LOG_ALARM_PDS, log);
    let (first, last) = (5, slots - 1);
    for pd in [first, first, last, first + slots, first + 0x100 * slots] {
        let request = Request { pd, ..read(&mr, 0) };
        rig.expect(0, request, Syndrome::Pd)?;
    }
    for (slot, found) in [
        (first, (first + 0x100 * slots) << 8 | 4),
        (first + 1, 0),
        (first + slots / 2, 0),
        (last, last << 8 | 1),
    ] {
        let select = regs::put(regs::alarm_select::SLOT, slot);
        rig.bench
            .write_register(&mut rig.host.mem, regs::ALARM_SELECT, select)?;
        assert_eq!(register(&mut rig, regs::ALARM_PD)?, found, "slot {slot}");
    }
    alarm_agrees(&mut rig)
}

#[test]
fn pds_modulo_the_slots_share_a_count() -> Result {
    pds_and_their_slots(Config::Small)
}

#[test]
fn large_configuration_counts_more_pds() -> Result {
    pds_and_their_slots(Config::Large)
}

/// The requests of other streams take no longer beside a blocked one that keeps on asking than
/// beside one that asks for nothing: empty requests are answered like blocked ones.
#[test]
fn a_blocked_stream_disturbs_nobody() -> Result {
    let mut times = Vec::new();
    for guesses in [false, true] {
        let mut rig = rig(&alarm(1, 0, true), 4)?;
        let mr = region(&mut rig, 1, 1)?;
        rig.expect(0, read(&mr, 0), Syndrome::Ok)?;
        if guesses {
            rig.expect(0, bad(&mr, 3), Syndrome::KeyTag)?;
        }
        for n in 0..400 {
            let empty = Request {
                len: 0,
                ..read(&mr, 3)
            };
            let other = if guesses { bad(&mr, 3) } else { empty };
            let request = if n % 2 == 0 { read(&mr, 8) } else { other };
            rig.bench.issue(0, Request { tag: n, ..request });
        }
        rig.wait_idle()?;
        let mut total = 0;
        while let Some(outcome) = rig.bench.poll_client(0) {
            if outcome.request.stream == 8 {
                assert_eq!(outcome.syndrome, Syndrome::Ok);
                total += outcome.finished - outcome.accepted;
            } else if guesses {
                assert_eq!(outcome.syndrome, Syndrome::Blocked);
            }
        }
        times.push(total);
        alarm_agrees(&mut rig)?;
    }
    let (alone, beside) = (times[0], times[1]);
    assert_eq!(beside, alone);
    Ok(())
}

/// A refused request of every rule from 2 on that a single region can show, with its entry cached
/// or not.
fn refusals(rig: &mut Rig) -> Result<Vec<(Request, Syndrome)>> {
    let mut spec = Spec::new(1 << 24, 0x4000, 12, PA).access(ALL_RIGHTS);
    spec.pd = 1;
    let mr = rig.register(spec)?;
    let mut spec = Spec::new(2 << 24, 0x4000, 12, PA + 0x10_0000).access(Access::REMOTE_READ);
    spec.pd = 1;
    let meek = rig.register(spec)?;
    let keys = rig.bench.golden.keys().clone();
    let good = read(&mr, 0);
    let key = |index| Key(keys.field(Role::Remote, index) << 8);
    Ok(vec![
        (
            Request {
                key: key(0x7f_fff0),
                ..good
            },
            Syndrome::KeyIndex,
        ),
        (
            Request {
                key: key(40),
                ..good
            },
            Syndrome::KeyState,
        ),
        (
            Request {
                key: Key(good.key.0 ^ 1),
                ..good
            },
            Syndrome::KeyTag,
        ),
        (Request { pd: 3, ..good }, Syndrome::Pd),
        (
            meek.request(Op::RemoteWrite, meek.spec.start, 8),
            Syndrome::Rights,
        ),
        (
            Request {
                va: !7,
                len: 64,
                ..good
            },
            Syndrome::Wrap,
        ),
        (
            Request {
                len: 0x4001,
                ..good
            },
            Syndrome::Bounds,
        ),
        (
            mr.request(Op::RemoteAtomic, mr.spec.start + 4, 8),
            Syndrome::Align,
        ),
    ])
}

#[test]
fn refusals_leave_at_their_time() -> Result {
    let mut accepted = Vec::new();
    for clocks in [0, 200, 201, 4095] {
        let unit = UnitConfig {
            refusal_time: clocks,
            ..UnitConfig::default()
        };
        let mut rig = rig(&unit, 60)?;
        let cases = refusals(&mut rig)?;
        let mut times = Vec::new();
        for (request, syndrome) in &cases {
            for _ in 0..3 {
                let outcome = rig.expect(0, *request, *syndrome)?;
                times.push(outcome.finished - outcome.accepted);
            }
        }
        let (least, most) = (times.iter().min(), times.iter().max());
        if clocks == 0 {
            assert_ne!(least, most, "cached or not makes a difference");
        } else {
            assert_eq!(least, most, "with {clocks} clocks: {times:?}");
            let time = times[0];
            let clocks = u64::from(clocks);
            assert!((clocks..clocks + 16).contains(&time), "{time} for {clocks}");
        }
        // What is accepted, local, or refused without a look at the key does not wait.
        let mr = region(&mut rig, 1, 4)?;
        let mut quick = Vec::new();
        for request in [
            read(&mr, 0),
            read(&mr, 0),
            mr.request(Op::LocalRead, 0, 64),
            mr.request(Op::RemoteRead, mr.spec.start, 0),
        ] {
            let outcome = rig.access(0, request)?;
            quick.push(outcome.finished - outcome.accepted);
        }
        accepted.push(quick);
        assert_eq!(rig.counter(regs::counter::LATE)?, 0);
    }
    assert!(
        accepted.iter().all(|times| *times == accepted[0]),
        "{accepted:?}"
    );
    Ok(())
}

/// Many refused requests at once, of two clients: each still leaves at its time.
#[test]
fn many_refusals_leave_in_order() -> Result {
    let unit = UnitConfig {
        refusal_time: 300,
        ..UnitConfig::default()
    };
    let mut rig = rig(&unit, 20)?;
    let cases = refusals(&mut rig)?;
    let good = region(&mut rig, 1, 4)?;
    rig.expect(0, read(&good, 0), Syndrome::Ok)?;
    let mut tag = 0;
    for round in 0..20 {
        for client in 0..2 {
            for (n, (request, _)) in cases.iter().enumerate().take(6) {
                // streams of their own: nothing waits for the one before it
                let stream = ((round * 6 + n) % 16) as u8;
                rig.bench.issue(
                    client,
                    Request {
                        tag,
                        stream,
                        ..*request
                    },
                );
                tag = (tag + 1) % 512;
            }
        }
        rig.wait_idle()?;
        for client in 0..2 {
            while let Some(outcome) = rig.bench.poll_client(client) {
                if outcome.syndrome != Syndrome::Ok {
                    let time = outcome.finished - outcome.accepted;
                    assert!((300..=330).contains(&time), "{time}: {:?}", outcome.request);
                }
            }
        }
    }
    assert_eq!(rig.counter(regs::counter::LATE)?, 0);
    Ok(())
}

/// A refusal that is known after its time leaves at once, and is told.
#[test]
fn a_late_refusal_is_told() -> Result {
    let unit = UnitConfig {
        refusal_time: 50,
        ..UnitConfig::default()
    };
    for latency in [100, 5_000, 9_000] {
        let mut rig = rig(&unit, latency)?;
        let cases = refusals(&mut rig)?;
        let (request, syndrome) = cases[1];
        let outcome = rig.expect(0, request, syndrome)?;
        let time = outcome.finished - outcome.accepted;
        let latency = u64::from(latency);
        assert!(
            (latency..latency + 60).contains(&time),
            "{time} for {latency}"
        );
        rig.run(4)?;
        assert_eq!(rig.counter(regs::counter::LATE)?, 1);
        assert_ne!(register(&mut rig, regs::ERROR)? & regs::error::LATE, 0);
    }
    Ok(())
}

/// One tenant fills the caches again and again; what the other one has stays there. Without
/// partitions it does not.
#[test]
fn a_tenant_evicts_nothing_of_another() -> Result {
    for isolated in [false, true] {
        let mut unit = two_parts();
        if !isolated {
            unit.tenants = Tenants::default();
        }
        let mut rig = rig(&unit, 4)?;
        let mine: Vec<Mr> = (0..4)
            .map(|n| region(&mut rig, 2, 1 + n))
            .collect::<Result<_>>()?;
        let others: Vec<Mr> = (0..200)
            .map(|n| region(&mut rig, 1, 16 + n))
            .collect::<Result<_>>()?;
        let all = |rig: &mut Rig, regions: &[Mr]| -> Result {
            for mr in regions {
                for page in 0..4 {
                    let va = mr.spec.start + page * 0x1000;
                    rig.expect(0, mr.request(Op::RemoteRead, va, 64), Syndrome::Ok)?;
                }
            }
            Ok(())
        };
        all(&mut rig, &mine)?;
        all(&mut rig, &mine)?;
        all(&mut rig, &others)?;
        rig.run(4)?;
        let misses = |rig: &mut Rig| -> Result<u32> {
            Ok(rig.counter(regs::counter::MPT_MISS)? + rig.counter(regs::counter::MTT_MISS)?)
        };
        let before = misses(&mut rig)?;
        all(&mut rig, &mine)?;
        rig.run(4)?;
        let missed = misses(&mut rig)? - before;
        match isolated {
            true => assert_eq!(missed, 0),
            false => assert_ne!(missed, 0),
        }
    }
    Ok(())
}

/// Keys end in every partition: regions of all of them are used, end, and are refused.
#[test]
fn keys_end_in_every_partition() -> Result {
    for log_parts in [0, 1, 2] {
        let unit = UnitConfig {
            mpt_size: 1024,
            tenants: Tenants {
                log_parts,
                pd_shift: 4,
                map: 0xe4e4_e4e4,
            },
            ..UnitConfig::default()
        };
        let mut rig = rig(&unit, 4)?;
        for n in 0..24 {
            let mr = region(&mut rig, (n as u32 % 6) << 4 | 3, 1 + n)?;
            let request = read(&mr, 0);
            rig.expect(0, request, Syndrome::Ok)?;
            rig.expect(1, request, Syndrome::Ok)?;
            rig.deregister(mr)?;
            rig.expect(0, request, Syndrome::KeyState)?;
        }
    }
    Ok(())
}

/// More requests than its share of contexts, all waiting for memory: a source that asks `req_room`
/// gets the requests of another tenant through beside them.
#[test]
fn a_tenant_never_takes_the_contexts_of_another() -> Result {
    let mut rig = rig(&two_parts(), 2_000)?;
    let mine = region(&mut rig, 2, 1)?;
    let others: Vec<Mr> = (0..16)
        .map(|n| region(&mut rig, 1, 16 + n))
        .collect::<Result<_>>()?;
    rig.expect(0, read(&mine, 0), Syndrome::Ok)?;
    let mut tag = 0;
    let mut sent = 0;
    for mr in &others {
        if rig.bench.has_room(0, 1) {
            rig.bench.issue(
                0,
                Request {
                    tag,
                    ..read(mr, 1 + tag as u8 % 8)
                },
            );
            tag += 1;
            sent += 1;
            rig.run(3)?;
        }
    }
    assert_eq!(
        sent,
        Config::Small.sizes().contexts / 2 / 2,
        "its share, and no more"
    );
    assert!(!rig.bench.has_room(0, 1) && rig.bench.has_room(0, 0));
    for _ in 0..20 {
        assert!(rig.bench.has_room(0, 0));
        let outcome = rig.expect(
            0,
            Request {
                tag: 900,
                ..read(&mine, 0)
            },
            Syndrome::Ok,
        )?;
        let time = outcome.finished - outcome.accepted;
        assert!(time < 40, "{time} clocks");
    }
    assert!(rig.bench.poll_client(0).is_none(), "the others still wait");
    rig.wait_idle()
}

/// Long requests of one tenant take contexts for their next chunks, but never the last one that a
/// request of their tenant could want, and none of another.
#[test]
fn long_requests_keep_to_their_share() -> Result {
    let mut rig = rig(&two_parts(), 300)?;
    let mine = region(&mut rig, 2, 1)?;
    let mut spec = Spec::new(1 << 32, 64 << 12, 12, PA).level(1);
    spec.pd = 1;
    let long = rig.register(spec)?;
    rig.expect(0, read(&mine, 0), Syndrome::Ok)?;
    rig.bench.set_response_ready(0, Pattern::Always);
    rig.bench.issue(
        0,
        Request {
            stream: 3,
            ..long.request(Op::RemoteRead, 1 << 32, 64 << 12)
        },
    );
    for n in 0..12 {
        rig.run(40)?;
        assert!(rig.bench.has_room(0, 0));
        let outcome = rig.expect(
            0,
            Request {
                tag: 700 + n,
                ..read(&mine, 0)
            },
            Syndrome::Ok,
        )?;
        assert!(outcome.finished - outcome.accepted < 60);
    }
    rig.wait_idle()
}

/// A guess at a key of a region that lives leaves its entry as little in the cache as one at an
/// index that is free: whoever has the key reads it from memory all the same.
#[test]
fn a_guess_leaves_no_trace() -> Result {
    let mut rig = rig(&UnitConfig::default(), 4)?;
    let mr = region(&mut rig, 1, 1)?;
    let misses = |rig: &mut Rig| -> Result<u32> {
        rig.run(4)?;
        rig.counter(regs::counter::MPT_MISS)
    };
    let good = read(&mr, 0);
    for (guess, syndrome) in [
        (bad(&mr, 0), Syndrome::KeyTag),
        (Request { pd: 2, ..good }, Syndrome::Pd),
    ] {
        let before = misses(&mut rig)?;
        for _ in 0..3 {
            rig.expect(0, guess, syndrome)?;
        }
        assert_eq!(misses(&mut rig)? - before, 3, "{syndrome:?}");
    }
    let before = misses(&mut rig)?;
    rig.expect(0, good, Syndrome::Ok)?;
    assert_eq!(misses(&mut rig)? - before, 1);
    rig.expect(0, good, Syndrome::Ok)?;
    assert_eq!(misses(&mut rig)? - before, 1);
    Ok(())
}

/// Who does not ask waits for his own: of more requests than his share only that is inside.
#[test]
fn a_request_beyond_its_share_waits() -> Result {
    let mut rig = rig(&two_parts(), 2_000)?;
    let others: Vec<Mr> = (0..8)
        .map(|n| region(&mut rig, 1, 16 + n))
        .collect::<Result<_>>()?;
    let before = rig.counter(regs::counter::MPT_READ)?;
    for (tag, mr) in (0..).zip(&others) {
        let request = read(mr, tag as u8 % 8);
        rig.bench.issue(0, Request { tag, ..request });
    }
    rig.run(200)?;
    let share = Config::Small.sizes().contexts / 2 / 2;
    assert_eq!(rig.counter(regs::counter::MPT_READ)? - before, share);
    rig.wait_idle()?;
    assert_eq!(rig.counter(regs::counter::MPT_READ)? - before, 8);
    Ok(())
}

/// A tenant whose page faults nobody answers fills its share of the slots, and then its requests are
/// answered RETRY; those of every other partition are held, told and answered as ever. Without
/// partitions they are answered RETRY, too.
#[test]
fn a_tenant_never_takes_the_fault_slots_of_another() -> Result {
    let slots = u64::from(Config::Small.sizes().fault_slots);
    for log_parts in [0, 1, 2] {
        let parts = 1 << log_parts;
        let share = slots / parts;
        let unit = UnitConfig {
            tenants: Tenants {
                log_parts,
                pd_shift: 0,
                map: 0xe4e4_e4e4,
            },
            ..UnitConfig::default()
        };
        let mut rig = rig(&unit, 4)?;
        let pager = Pager::default();
        // Of partitions 1, 2, 3 and 0, if there are so many.
        let regions: Vec<PagedMr> = (1..=4)
            .map(|pd| {
                let start = u64::from(pd) << 32;
                let mut spec = Spec::new(start, 64 << 12, 12, PA)
                    .access(PAGED_RIGHTS)
                    .level(1);
                spec.pd = pd;
                rig.register_paged(&pager, spec)
            })
            .collect::<Result<_>>()?;
        let touch = |mr: &PagedMr, page: u64| Request {
            stream: (page % 16) as u8,
            ..mr.at(Op::RemoteRead, 3 * page, 8)
        };
        let greedy = &regions[0];
        for n in 0..share {
            rig.bench.issue(0, touch(greedy, n));
            let fault = rig.bench.wait_fault(&mut rig.host.mem)?;
            assert_eq!((fault.index, fault.held), (greedy.index, true));
        }
        // Nobody answers. What it asks for now finds no slot, and is not told.
        rig.expect(0, touch(greedy, 15), Syndrome::Retry)?;
        assert_eq!(rig.bench.take_fault(&mut rig.host.mem)?, None);
        for other in &regions[1..] {
            let part = |mr: &PagedMr| unit.tenants.part(mr.spec.pd);
            if part(other) == part(greedy) {
                rig.expect(1, touch(other, 9), Syndrome::Retry)?;
                continue;
            }
            for page in 0..3 {
                rig.bench.issue(1, touch(other, page));
                let fault = rig.bench.wait_fault(&mut rig.host.mem)?;
                assert_eq!((fault.index, fault.held), (other.index, true));
                rig.page_in(&pager, other, fault.page..fault.page + 1);
                assert_eq!(rig.page_ready(fault.slot, false)?, Status::Ok);
                rig.bench.wait_client(&mut rig.host.mem, 1)?;
                let outcome = rig.bench.poll_client(1).expect("an answer");
                assert_eq!(outcome.syndrome, Syndrome::Ok);
            }
        }
        let held = rig.bench.requests_inside(0) as u64;
        assert_eq!(held, share, "the greedy one still waits");
        for fault in rig.bench.unanswered_faults() {
            rig.page_in(&pager, greedy, fault.page..fault.page + 1);
            assert_eq!(rig.page_ready(fault.slot, false)?, Status::Ok);
        }
        rig.wait_idle()?;
    }
    Ok(())
}
