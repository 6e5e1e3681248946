// SPDX-License-Identifier: Apache-2.0
//! Command queue and completion queue of the whole unit: commands of every kind through the queue,
//! beside the direct channel, with full queues, bad slots, bad doorbells, memory errors, and what
//! ends them in the middle. The golden reference judges every completion.

use tpt_bench::axi::{AxiConfig, Fault, FaultOn};
use tpt_bench::rig::{Mr, Rig, Spec};
use tpt_bench::{
    BenchError, BenchOptions, Clocks, CommandExtra, DonePolicy, Finished, Pattern, QueueConfig,
    UnitConfig,
};
use tpt_golden::queue::{self, CMD_FIELDS, SLOT_BYTES};
use tpt_golden::regs::{self, error, int_status, queue_ctrl, queue_status};
use tpt_golden::types::{CmdOp, Command, Completion, Op, Status, Syndrome};

type Result<T = ()> = std::result::Result<T, BenchError>;

fn rig_with(options: BenchOptions, queue: QueueConfig) -> Result<Rig> {
    let mut rig = Rig::new(options, &UnitConfig::default())?;
    rig.bench.queue_enable(&mut rig.host.mem, queue)?;
    Ok(rig)
}

fn with_queue(cmdq_log: u8, cplq_log: u8) -> Result<Rig> {
    let config = QueueConfig {
        cmdq_log,
        cplq_log,
        ..QueueConfig::default()
    };
    rig_with(BenchOptions::default(), config)
}

fn spec(n: u64) -> Spec {
    Spec::new(0x10_0000 * n, 4096 * (1 + n % 3), 12, (1 << 40) + (n << 32))
}

fn read(rig: &mut Rig, address: u16) -> Result<u32> {
    rig.bench.read_register(&mut rig.host.mem, address)
}

fn write(rig: &mut Rig, address: u16, value: u32) -> Result {
    rig.bench.write_register(&mut rig.host.mem, address, value)
}

/// A write that must be answered SLVERR.
fn refused(rig: &mut Rig, address: u16, value: u32) {
    match write(rig, address, value) {
        Err(BenchError::Register { resp: 2, .. }) => {}
        other => panic!("write of {value:#x} to {address:#x}: {other:?}"),
    }
}

fn command(rig: &mut Rig, command: Command, extra: CommandExtra) -> Result<Completion> {
    rig.bench.queue_command(&mut rig.host.mem, command, extra)
}

fn post(rig: &mut Rig, command: Command, extra: CommandExtra) -> bool {
    rig.bench.queue_post(&mut rig.host.mem, command, extra)
}

fn ring(rig: &mut Rig) -> Result {
    rig.bench.queue_ring(&mut rig.host.mem)
}

fn finish(rig: &mut Rig) -> Result {
    rig.bench.queue_finish(&mut rig.host.mem)
}

fn register(rig: &mut Rig, spec: Spec) -> Result<Mr> {
    let table = rig.build_table(&spec);
    let reg = rig.reg_command(&spec, &table);
    let completion = command(rig, reg, Rig::pages(&spec))?;
    assert_eq!(completion.status, Status::Ok);
    let index = rig.bench.golden.keys().decode(completion.lkey).1;
    Ok(Mr {
        lkey: completion.lkey,
        rkey: completion.rkey,
        index,
        spec,
        table,
    })
}

fn query(rig: &mut Rig, mr: &Mr) -> Command {
    Command {
        id: rig.id(),
        op: CmdOp::Query.code(),
        key: mr.lkey,
        pd: mr.spec.pd,
        ..Command::default()
    }
}

fn polled(rig: &mut Rig) -> Vec<Finished> {
    std::iter::from_fn(|| rig.bench.poll_completion()).collect()
}

#[test]
fn registration_query_and_deregistration() -> Result {
    let mut rig = with_queue(4, 5)?;
    let mr = register(&mut rig, spec(1))?;
    rig.expect(
        0,
        mr.request(Op::RemoteRead, mr.spec.start, 64),
        Syndrome::Ok,
    )?;
    let ask = query(&mut rig, &mr);
    let completion = command(&mut rig, ask, CommandExtra::default())?;
    assert_eq!(completion.status, Status::Ok);
    assert_ne!(completion.entry, [0; 64], "judged by the reference");
    let (dereg, extra) = rig.dereg_command(&mr);
    let completion = command(&mut rig, dereg, extra)?;
    assert_eq!(completion.status, Status::Ok);
    let request = mr.request(Op::RemoteRead, mr.spec.start, 64);
    rig.expect(1, request, Syndrome::KeyState)?;
    let ask = query(&mut rig, &mr);
    let completion = command(&mut rig, ask, CommandExtra::default())?;
    assert_eq!(completion.status, Status::KeyState);
    assert_eq!(rig.bench.queue_count(), 4);
    assert_eq!(read(&mut rig, regs::CMDQ_HEAD)?, 4);
    assert_eq!(read(&mut rig, regs::CPLQ_TAIL)?, 4);
    assert_eq!(read(&mut rig, regs::QUEUE_STATUS)?, queue_status::ENABLED);
    Ok(())
}

/// Small queues of every size, many rounds; back to back, with back-pressure everywhere.
#[test]
fn wraps_over_several_rounds() -> Result {
    for (cmdq_log, cplq_log) in [(1, 2), (1, 5), (3, 2), (2, 3), (5, 4)] {
        let options = BenchOptions {
            axi: AxiConfig::hostile(30),
            seed: u64::from(cmdq_log * 8 + cplq_log),
            ..BenchOptions::default()
        };
        let config = QueueConfig {
            cmdq_log,
            cplq_log,
            ..QueueConfig::default()
        };
        let mut rig = rig_with(options, config)?;
        let mrs: Vec<Mr> = (1..4)
            .map(|n| register(&mut rig, spec(n)))
            .collect::<Result<_>>()?;
        let mut left = 4u32 << cmdq_log.max(cplq_log);
        while left > 0 {
            let mr = &mrs[left as usize % 3];
            let mut ask = query(&mut rig, mr);
            if left % 5 == 0 {
                ask.op = 13;
            }
            if post(&mut rig, ask, CommandExtra::default()) {
                left -= 1;
            } else {
                ring(&mut rig)?;
                rig.run(3)?;
                rig.bench.queue_refresh(&mut rig.host.mem)?;
            }
        }
        finish(&mut rig)?;
        polled(&mut rig);
        for mr in mrs {
            let (dereg, extra) = rig.dereg_command(&mr);
            assert_eq!(command(&mut rig, dereg, extra)?.status, Status::Ok);
        }
    }
    Ok(())
}

/// A full completion queue stops the queue, loses nothing, and does not stop the direct channel.
#[test]
fn full_completion_queue() -> Result {
    let mut rig = with_queue(5, 3)?;
    let mr = register(&mut rig, spec(1))?;
    let wanted = rig.bench.queue_count() + 20;
    for _ in 0..20 {
        let ask = query(&mut rig, &mr);
        assert!(post(&mut rig, ask, CommandExtra::default()));
    }
    ring(&mut rig)?;
    rig.run(3000)?;
    let full = queue_status::ENABLED | queue_status::BUSY | queue_status::FULL;
    assert_eq!(read(&mut rig, regs::QUEUE_STATUS)?, full);
    // the registration's slot was given back, so 7 of 8 are full now
    assert_eq!(rig.bench.queue_count(), wanted - 20 + 7);
    rig.run(2000)?;
    assert_eq!(rig.bench.queue_count(), wanted - 20 + 7);
    // the direct channel goes on
    let ask = query(&mut rig, &mr);
    assert_eq!(
        rig.command(ask, CommandExtra::default())?.status,
        Status::Ok
    );
    let other = rig.register(spec(2))?;
    rig.deregister(other)?;
    rig.expect(0, mr.request(Op::LocalRead, mr.spec.start, 8), Syndrome::Ok)?;
    finish(&mut rig)?;
    assert_eq!(rig.bench.queue_count(), wanted);
    assert_eq!(read(&mut rig, regs::QUEUE_STATUS)?, queue_status::ENABLED);
    Ok(())
}

/// Both channels at once, with the same ids: every completion goes back where its command came
/// from.
#[test]
fn both_channels_at_once() -> Result {
    for seed in 0..6 {
        let options = BenchOptions {
            axi: AxiConfig::hostile(20),
            seed,
            ..BenchOptions::default()
        };
        let mut rig = rig_with(options, QueueConfig::default())?;
        rig.bench
            .set_completion_ready(Pattern::Random { percent: 30 });
        let mr = register(&mut rig, spec(1))?;
        let other = register(&mut rig, spec(2))?;
        let mut regions = Vec::new();
        let mut ends = 0;
        for round in 0..60u64 {
            // One registers through the queue while the other one asks, then the other way round.
            let id = rig.id();
            let queue_asks = round / 8 % 2 == 0;
            let mut ask = query(&mut rig, if round % 2 == 0 { &mr } else { &other });
            ask.id = id;
            let mut change;
            let mut extra;
            if regions.len() > 5 {
                let mr: Mr = regions.remove(0);
                (change, extra) = rig.dereg_command(&mr);
                ends += 1;
            } else {
                let spec = spec(3 + round);
                let table = rig.build_table(&spec);
                change = rig.reg_command(&spec, &table);
                extra = Rig::pages(&spec);
            }
            change.id = id;
            let is_reg = change.op == CmdOp::RegMr.code();
            let plain = CommandExtra::default();
            let (queued, direct) = if queue_asks {
                ((ask, plain), (change, std::mem::take(&mut extra)))
            } else {
                ((change, std::mem::take(&mut extra)), (ask, plain))
            };
            rig.bench.post(direct.0, direct.1);
            assert!(post(&mut rig, queued.0, queued.1));
            ring(&mut rig)?;
            finish(&mut rig)?;
            rig.wait_idle()?;
            let done = polled(&mut rig);
            assert_eq!(done.len(), 2, "{done:?}");
            for finished in done {
                let completion = finished.completion;
                assert_eq!(completion.status, Status::Ok, "{completion:?}");
                if is_reg && completion.op == CmdOp::RegMr.code() {
                    let spec = spec(3 + round);
                    let index = rig.bench.golden.keys().decode(completion.lkey).1;
                    let table = rig.build_table(&spec);
                    regions.push(Mr {
                        lkey: completion.lkey,
                        rkey: completion.rkey,
                        index,
                        spec,
                        table,
                    });
                }
            }
        }
        assert!(ends > 10);
    }
    Ok(())
}

/// Many commands of both channels overlap; neither starves.
#[test]
fn channels_share_the_engine() -> Result {
    let mut rig = with_queue(6, 7)?;
    let mr = register(&mut rig, spec(1))?;
    for _ in 0..40 {
        let ask = query(&mut rig, &mr);
        assert!(post(&mut rig, ask, CommandExtra::default()));
        let ask = query(&mut rig, &mr);
        rig.bench.post(ask, CommandExtra::default());
    }
    let before = rig.bench.queue_count();
    ring(&mut rig)?;
    rig.bench
        .run_until(&mut rig.host.mem, "20 completions", 10_000, |bench| {
            bench.queue_count() >= before + 20
        })?;
    let direct = polled(&mut rig).len() as u64 - 20;
    assert!((10..=32).contains(&direct), "{direct} beside 20");
    finish(&mut rig)?;
    rig.wait_idle()
}

/// PENDING and the final completion both come through the queue; room is kept for both.
#[test]
fn pending_commands() -> Result {
    let mut rig = with_queue(4, 3)?;
    rig.bench.set_fence_time(&mut rig.host.mem, 300)?;
    let mrs: Vec<Mr> = (1..6)
        .map(|n| register(&mut rig, spec(n)))
        .collect::<Result<_>>()?;
    rig.bench.set_done_policy(0, DonePolicy::Withheld);
    rig.expect(
        0,
        mrs[4].request(Op::LocalRead, mrs[4].spec.start, 8),
        Syndrome::Ok,
    )?;
    for mr in &mrs[..4] {
        let (dereg, extra) = rig.dereg_command(mr);
        assert!(post(&mut rig, dereg, extra));
    }
    let before = rig.bench.queue_count();
    rig.bench.queue_ring(&mut rig.host.mem)?;
    rig.run(3000)?;
    // Room for 7 completions: three commands are taken, the fourth waits.
    assert_eq!(rig.bench.queue_count() - before, 3);
    assert_ne!(
        read(&mut rig, regs::QUEUE_STATUS)? & queue_status::FULL,
        0,
        "the fourth waits for room"
    );
    ring(&mut rig)?;
    rig.run(2000)?;
    rig.bench.release_dones(0);
    rig.bench.set_done_policy(0, DonePolicy::IMMEDIATE);
    finish(&mut rig)?;
    let ends: Vec<Status> = polled(&mut rig)
        .iter()
        .map(|finished| finished.completion.status)
        .collect();
    let count = |status| ends.iter().filter(|end| **end == status).count();
    assert_eq!(count(Status::Ok), 4, "{ends:?}");
    assert!(count(Status::Pending) >= 3, "{ends:?}");
    Ok(())
}

/// Every reserved byte, every unknown version and operation.
#[test]
fn malformed_slots() -> Result {
    let mut rig = with_queue(6, 7)?;
    let mr = register(&mut rig, spec(1))?;
    let mut slots = Vec::new();
    for field in CMD_FIELDS.iter().filter(|field| field.bits == 0) {
        slots.extend((field.at..field.at + field.count).map(|byte| (byte, 0x40)));
    }
    assert_eq!(slots.len(), 45);
    for field in CMD_FIELDS {
        if field.bits > 0 && field.bits < field.bytes * 8 && field.name != "op" {
            slots.push((field.at + field.bits / 8, 1 << (field.bits % 8)));
        }
    }
    slots.extend([0, 2, 0x80, 0xff].map(|version| (3, version ^ queue::VERSION)));
    let ops = (0..256)
        .filter(|op| *op == 0 || *op > 13)
        .map(|op| (2, op as u8));
    slots.extend(ops.map(|(byte, op)| (byte, op ^ CmdOp::Query.code())));
    let wanted = slots.len();
    let (mut bad_slot, mut bad_op) = (0, 0);
    for (byte, flip) in slots {
        let ask = query(&mut rig, &mr);
        let mut slot = queue::encode(&ask);
        slot[byte] ^= flip;
        while !rig
            .bench
            .queue_post_slot(&mut rig.host.mem, slot, ask, CommandExtra::default())
        {
            ring(&mut rig)?;
            rig.run(20)?;
        }
    }
    finish(&mut rig)?;
    for finished in polled(&mut rig) {
        match finished.completion.status {
            Status::BadSlot => bad_slot += 1,
            Status::BadOp => bad_op += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((bad_slot, bad_op), (wanted - 243, 243));
    // nothing has happened to the region
    let ask = query(&mut rig, &mr);
    assert_eq!(
        command(&mut rig, ask, CommandExtra::default())?.status,
        Status::Ok
    );
    assert_eq!(read(&mut rig, regs::ERROR)?, 0);
    Ok(())
}

/// Doorbells that claim what is not there: SLVERR, ERROR.doorbell, and nothing else.
#[test]
fn doorbells_out_of_range() -> Result {
    let mut rig = Rig::small()?;
    for address in [regs::CMDQ_TAIL, regs::CPLQ_HEAD] {
        refused(&mut rig, address, 0);
    }
    assert_eq!(read(&mut rig, regs::ERROR)?, error::DOORBELL);
    write(&mut rig, regs::ERROR, error::DOORBELL)?;
    let config = QueueConfig {
        cmdq_log: 3,
        cplq_log: 3,
        ..QueueConfig::default()
    };
    rig.bench.queue_enable(&mut rig.host.mem, config)?;
    let mr = register(&mut rig, spec(1))?;
    // One command was taken: 1..8 and 0 are tails that may be, 9 and more are none.
    for tail in [8, 9, 0xffff, 0x1_0001] {
        refused(&mut rig, regs::CMDQ_TAIL, tail);
        refused(&mut rig, regs::CPLQ_HEAD, tail);
        assert_eq!(read(&mut rig, regs::ERROR)?, error::DOORBELL);
        write(&mut rig, regs::ERROR, error::DOORBELL)?;
    }
    // More completions than there are
    refused(&mut rig, regs::CPLQ_HEAD, 2);
    refused(&mut rig, regs::CPLQ_HEAD, 0);
    write(&mut rig, regs::CPLQ_HEAD, 1)?;
    // Commands cannot be taken back, nor can more than fit be claimed. A full completion queue
    // keeps the unit from taking them meanwhile.
    for _ in 0..6 {
        let ask = query(&mut rig, &mr);
        assert!(post(&mut rig, ask, CommandExtra::default()));
    }
    rig.bench.queue_ring(&mut rig.host.mem)?;
    finish(&mut rig)?;
    for posted in 0..14 {
        let ask = query(&mut rig, &mr);
        if !post(&mut rig, ask, CommandExtra::default()) {
            rig.run(1000)?;
            rig.bench.queue_refresh(&mut rig.host.mem)?;
            if !post(&mut rig, ask, CommandExtra::default()) {
                assert!(posted >= 7, "{posted}");
                break;
            }
        }
        rig.bench.queue_announce(&mut rig.host.mem)?;
    }
    let head = read(&mut rig, regs::CMDQ_HEAD)?;
    let tail = read(&mut rig, regs::CMDQ_TAIL)?;
    assert_eq!((head + 7) % 8, tail, "the command queue is full");
    for back in 1..8 {
        refused(&mut rig, regs::CMDQ_TAIL, (tail + 8 - back) % 8);
    }
    write(&mut rig, regs::CMDQ_TAIL, tail)?;
    assert_eq!(read(&mut rig, regs::ERROR)?, error::DOORBELL);
    Ok(())
}

/// A slot that memory does not give: the queue stops there, and starts again after disabling.
#[test]
fn memory_error_while_a_slot_is_read() -> Result {
    for seed in 0..4 {
        let options = BenchOptions {
            seed,
            ..BenchOptions::default()
        };
        let mut rig = rig_with(options, QueueConfig::default())?;
        let mr = register(&mut rig, spec(1))?;
        write(&mut rig, regs::INT_ENABLE, int_status::ERROR)?;
        let config = QueueConfig::default();
        let slot = config.command_slot(3);
        rig.bench
            .axi
            .inject(Fault::always(slot..slot + 128, FaultOn::Read));
        for _ in 0..4 {
            let ask = query(&mut rig, &mr);
            assert!(post(&mut rig, ask, CommandExtra::default()));
        }
        ring(&mut rig)?;
        rig.bench
            .run_until(&mut rig.host.mem, "the interrupt", 5000, |bench| {
                bench.irq()
            })?;
        rig.run(500)?;
        // those before it are completed
        assert_eq!(rig.bench.queue_count(), 3);
        let stopped = queue_status::ENABLED | queue_status::ERROR;
        assert_eq!(read(&mut rig, regs::QUEUE_STATUS)?, stopped);
        assert_eq!(read(&mut rig, regs::CMDQ_HEAD)?, 3);
        assert_eq!(read(&mut rig, regs::ERROR)?, error::BUS);
        let causes = read(&mut rig, regs::INT_STATUS)?;
        assert_eq!(causes & !int_status::CLEAR_DONE, int_status::ERROR);
        // the direct channel goes on
        let ask = query(&mut rig, &mr);
        assert_eq!(
            rig.command(ask, CommandExtra::default())?.status,
            Status::Ok
        );
        rig.bench.axi.clear_faults();
        rig.run(500)?;
        assert_eq!(rig.bench.queue_count(), 3);
        rig.bench.queue_disable(&mut rig.host.mem)?;
        assert_eq!(read(&mut rig, regs::QUEUE_STATUS)?, 0);
        rig.bench.queue_enable(&mut rig.host.mem, config)?;
        let ask = query(&mut rig, &mr);
        assert_eq!(
            command(&mut rig, ask, CommandExtra::default())?.status,
            Status::Ok
        );
    }
    Ok(())
}

/// A completion that memory does not take, first or second half.
#[test]
fn memory_error_while_a_completion_is_written() -> Result {
    for half in [0, 64] {
        let mut rig = with_queue(4, 5)?;
        let mr = register(&mut rig, spec(1))?;
        let config = QueueConfig::default();
        let slot = config.completion_slot(2) + half;
        rig.bench
            .axi
            .inject(Fault::always(slot..slot + 64, FaultOn::Write));
        for _ in 0..5 {
            let ask = query(&mut rig, &mr);
            assert!(post(&mut rig, ask, CommandExtra::default()));
        }
        ring(&mut rig)?;
        rig.run(3000)?;
        assert_eq!(rig.bench.queue_count(), 2);
        assert_eq!(read(&mut rig, regs::CPLQ_TAIL)?, 2);
        let stopped = queue_status::ENABLED | queue_status::ERROR;
        assert_eq!(read(&mut rig, regs::QUEUE_STATUS)?, stopped);
        assert_eq!(read(&mut rig, regs::ERROR)?, error::BUS);
        let ask = query(&mut rig, &mr);
        assert_eq!(
            rig.command(ask, CommandExtra::default())?.status,
            Status::Ok
        );
        rig.bench.axi.clear_faults();
        rig.bench.queue_disable(&mut rig.host.mem)?;
        rig.bench.queue_enable(&mut rig.host.mem, config)?;
        let ask = query(&mut rig, &mr);
        assert_eq!(
            command(&mut rig, ask, CommandExtra::default())?.status,
            Status::Ok
        );
    }
    Ok(())
}

/// Disabled at any clock of a command: nothing is written afterwards, and the next start is clean.
#[test]
fn disable_in_the_middle() -> Result {
    let mut rig = with_queue(4, 5)?;
    let mr = register(&mut rig, spec(1))?;
    let config = QueueConfig::default();
    for clocks in 0..100 {
        for _ in 0..3 {
            let ask = query(&mut rig, &mr);
            assert!(post(&mut rig, ask, CommandExtra::default()));
        }
        ring(&mut rig)?;
        rig.run(2 * clocks)?;
        rig.bench.queue_disable(&mut rig.host.mem)?;
        rig.bench
            .axi
            .forbid(config.cmdq_range().start..config.cmdq_range().end);
        let mut before = vec![0; SLOT_BYTES << config.cplq_log];
        let mut after = before.clone();
        rig.host.mem.read(config.cplq_base, &mut before);
        rig.run(200)?;
        rig.host.mem.read(config.cplq_base, &mut after);
        assert_eq!(before, after, "a stale completion");
        rig.bench.axi.allow(config.cmdq_range());
        polled(&mut rig);
        rig.bench.queue_enable(&mut rig.host.mem, config)?;
        let ask = query(&mut rig, &mr);
        assert_eq!(
            command(&mut rig, ask, CommandExtra::default())?.status,
            Status::Ok
        );
    }
    Ok(())
}

/// A reset at any clock.
#[test]
fn reset_in_the_middle() -> Result {
    let mut options = BenchOptions::default();
    options.axi.read_latency = Clocks::range(1, 60);
    let config = QueueConfig::default();
    let mut rig = rig_with(options, config)?;
    for clocks in 0..60 {
        let mr = register(&mut rig, spec(1))?;
        for n in 0..3 {
            let ask = query(&mut rig, &mr);
            assert!(post(&mut rig, ask, CommandExtra::default()));
            let spec = spec(2 + n);
            let table = rig.build_table(&spec);
            let reg = rig.reg_command(&spec, &table);
            assert!(post(&mut rig, reg, Rig::pages(&spec)));
        }
        ring(&mut rig)?;
        rig.run(7 * clocks)?;
        rig.bench.reset(&mut rig.host.mem)?;
        polled(&mut rig);
        assert_eq!(read(&mut rig, regs::QUEUE_STATUS)?, 0);
        assert_eq!(read(&mut rig, regs::CMDQ_TAIL)?, 0);
        rig.bench
            .enable(&mut rig.host.mem, &UnitConfig::default())?;
        rig.bench.queue_enable(&mut rig.host.mem, config)?;
    }
    Ok(())
}

/// The interrupt comes when the completion is in memory, once per arming.
#[test]
fn interrupt_on_completion() -> Result {
    let mut options = BenchOptions::default();
    options.axi.write_latency = Clocks::range(1, 60);
    let mut rig = rig_with(options, QueueConfig::default())?;
    let mr = register(&mut rig, spec(1))?;
    write(&mut rig, regs::INT_ENABLE, int_status::COMPLETION)?;
    assert_eq!(
        read(&mut rig, regs::INT_STATUS)? & int_status::COMPLETION,
        0
    );
    assert!(!rig.bench.irq(), "not armed");
    // The answer to the write of a completion that has been taken already would be told, too.
    rig.run(100)?;
    for _ in 0..30 {
        write(
            &mut rig,
            regs::QUEUE_CTRL,
            queue_ctrl::ENABLE | queue_ctrl::ARM,
        )?;
        let before = rig.bench.queue_count();
        for _ in 0..2 {
            let ask = query(&mut rig, &mr);
            assert!(post(&mut rig, ask, CommandExtra::default()));
        }
        ring(&mut rig)?;
        rig.bench
            .run_until(&mut rig.host.mem, "the interrupt", 5000, |bench| {
                bench.irq()
            })?;
        assert!(rig.bench.queue_count() > before, "the completion is there");
        finish(&mut rig)?;
        rig.run(100)?;
        write(&mut rig, regs::INT_STATUS, int_status::COMPLETION)?;
        rig.run(3)?;
        assert!(!rig.bench.irq(), "armed once, told once");
        assert_eq!(
            read(&mut rig, regs::QUEUE_CTRL)?,
            queue_ctrl::ENABLE,
            "not armed any more"
        );
    }
    Ok(())
}

/// The unit need not be enabled: commands are answered then, too.
#[test]
fn unit_disabled() -> Result {
    let mut rig = Rig::disabled(BenchOptions::default())?;
    rig.bench
        .queue_enable(&mut rig.host.mem, QueueConfig::default())?;
    let reg = Command {
        id: rig.id(),
        op: CmdOp::RegMr.code(),
        ..Command::default()
    };
    let completion = command(&mut rig, reg, CommandExtra::default())?;
    assert_eq!(completion.status, Status::Disabled);
    Ok(())
}

/// Clocks of a REG_MR: from the write of the doorbell to the completion in memory, and of one that
/// comes on the direct channel beside an idle queue, which must not cost a clock.
fn latency(clocks: u32, queues: bool) -> Result<(u64, u64)> {
    let mut options = BenchOptions::default();
    options.axi.read_latency = Clocks::fixed(clocks);
    options.axi.write_latency = Clocks::fixed(clocks);
    let mut rig = Rig::new(options, &UnitConfig::default())?;
    if queues {
        rig.bench
            .queue_enable(&mut rig.host.mem, QueueConfig::default())?;
    }
    let mut direct = 0;
    let mut through = 0;
    for n in 1..5 {
        let spec = spec(n);
        let table = rig.build_table(&spec);
        let reg = rig.reg_command(&spec, &table);
        rig.bench.post(reg, Rig::pages(&spec));
        let mut done = None;
        rig.bench
            .run_until(&mut rig.host.mem, "a completion", 10_000, |bench| {
                done = done.or(bench.poll_completion());
                done.is_some()
            })?;
        direct = done.map_or(0, |done| done.clock - done.accepted);
        if queues {
            let reg = Command {
                id: rig.id(),
                ..reg
            };
            assert!(post(&mut rig, reg, Rig::pages(&spec)));
            ring(&mut rig)?;
            let rung = rig.bench.clock();
            let mut done = None;
            rig.bench
                .run_until(&mut rig.host.mem, "a completion", 10_000, |bench| {
                    done = done.or(bench.poll_completion());
                    done.is_some()
                })?;
            through = done.map_or(0, |done| done.clock - rung);
            ring(&mut rig)?;
        }
    }
    Ok((direct, through))
}

/// Clocks per registration, of many in the queue.
fn period(clocks: u32, queue: bool) -> Result<u64> {
    const MANY: u64 = 32;
    let mut options = BenchOptions::default();
    options.axi.read_latency = Clocks::fixed(clocks);
    options.axi.write_latency = Clocks::fixed(clocks);
    let config = QueueConfig {
        cmdq_log: 6,
        cplq_log: 7,
        ..QueueConfig::default()
    };
    let mut rig = rig_with(options, config)?;
    for n in 0..MANY {
        let spec = spec(1 + n);
        let table = rig.build_table(&spec);
        let reg = rig.reg_command(&spec, &table);
        if queue {
            assert!(post(&mut rig, reg, Rig::pages(&spec)));
        } else {
            rig.bench.post(reg, Rig::pages(&spec));
        }
    }
    let start = rig.bench.clock();
    ring(&mut rig)?;
    finish(&mut rig)?;
    rig.wait_idle()?;
    Ok((rig.bench.clock() - start) / MANY)
}

#[test]
fn clocks_of_a_registration() -> Result {
    for clocks in [1, 250] {
        let (alone, _) = latency(clocks, false)?;
        let (direct, through) = latency(clocks, true)?;
        println!("memory {clocks}: direct {direct}, through the queue {through}");
        let (many, many_direct) = (period(clocks, true)?, period(clocks, false)?);
        println!("one of many: direct {many_direct}, through the queue {many}");
        assert_eq!(alone, direct, "an idle queue costs nothing");
        // a read and a write of memory more, and what the beats and the stages need
        assert!(through <= direct + 2 * u64::from(clocks) + 60, "{through}");
    }
    Ok(())
}
