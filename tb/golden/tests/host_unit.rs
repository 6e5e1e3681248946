// SPDX-License-Identifier: Apache-2.0
//! The whole job in software: an application registers memory, the golden unit checks accesses and
//! says where they go, data moves by physical address, and the application finds it.

mod host_common;

use host_common::{host, walk, FRAGMENTED};
use proptest::prelude::*;
use tpt_golden::driver::{DeregOutcome, Driver, Mr, RegArgs, ReregArgs, ReregOutcome};
use tpt_golden::host::{AllocMode, Host, PageSize, Prot};
use tpt_golden::keys::KeyMaker;
use tpt_golden::mtt::{boundary_matrix, smallest_level, Shape};
use tpt_golden::types::{
    Access, Command, Encoding, Key, Op, Request, Syndrome, LEVEL_FLAT, LEVEL_INLINE,
};
use tpt_golden::unit::Golden;

const ALL: Access = Access(0b1111);

fn unit(max_levels: u8) -> Golden {
    let keys = KeyMaker::new([1, 2, 3, 4], [5, 6, 7, 8], false);
    Golden::enabled(keys, 1024, max_levels)
}

fn register(
    host: &mut Host,
    driver: &mut Driver,
    unit: &mut Golden,
    args: &RegArgs,
) -> (Mr, Command) {
    let (cmd, handle) = driver.prepare_reg(host, args).expect("driver");
    let cpl = unit.command(&cmd, Some(handle.translation()));
    let mr = driver.finish_reg(host, handle, &cpl).expect("unit");
    (mr, cmd)
}

fn deregister(host: &mut Host, driver: &mut Driver, unit: &mut Golden, mr: Mr) {
    let (cmd, handle) = driver.prepare_dereg(mr);
    let cpl = unit.command(&cmd, None);
    let outcome = driver.finish_dereg(host, handle, &cpl).expect("unit");
    assert!(matches!(outcome, DeregOutcome::Done(_)));
}

fn request(op: Op, key: Key, pd: u32, va: u64, len: u32) -> Request {
    Request {
        op: op.code(),
        key,
        va,
        len,
        pd,
        ..Request::default()
    }
}

/// What a NIC does with a request: asks the unit, then moves bytes by physical address.
fn device_write(host: &mut Host, unit: &Golden, req: &Request, data: &[u8]) -> Syndrome {
    let mut done = 0;
    for beat in unit.judge(req).beats(req) {
        if beat.syndrome != Syndrome::Ok {
            return beat.syndrome;
        }
        let part = beat.len as usize;
        host.mem.write(beat.pa, &data[done..done + part]);
        done += part;
    }
    assert_eq!(done, data.len(), "segments cover the request");
    Syndrome::Ok
}

#[test]
fn register_write_deregister() {
    let mut host = host(FRAGMENTED, 2);
    let mut driver = Driver::default();
    let mut unit = unit(3);
    let pid = host.spawn();
    let va = host
        .mmap(pid, None, 1 << 20, Prot::ReadWrite, PageSize::Size4K)
        .expect("mmap");
    let args = RegArgs::process(pid, 7, va + 100, 200_000, ALL);
    let (mr, _) = register(&mut host, &mut driver, &mut unit, &args);
    assert_ne!((mr.lkey(), mr.rkey()), (Key::NONE, Key::NONE));

    let data: Vec<u8> = (0..50_000u32).map(|i| (i * 7 % 251) as u8).collect();
    let rkey = mr.rkey();
    let req = request(Op::RemoteWrite, rkey, 7, va + 12_345, data.len() as u32);
    assert_eq!(device_write(&mut host, &unit, &req, &data), Syndrome::Ok);
    let mut got = vec![0; data.len()];
    host.read(pid, va + 12_345, &mut got).expect("read");
    assert_eq!(got, data);

    // One byte too far, another PD, the other role: refused, and nothing is written.
    let end = va + 100 + 200_000;
    for (req, want) in [
        (
            request(Op::RemoteWrite, rkey, 7, end - 3, 4),
            Syndrome::Bounds,
        ),
        (
            request(Op::RemoteWrite, rkey, 7, va + 99, 4),
            Syndrome::Bounds,
        ),
        (request(Op::RemoteWrite, rkey, 8, va + 100, 4), Syndrome::Pd),
        (
            request(Op::RemoteWrite, mr.lkey(), 7, va + 100, 4),
            Syndrome::KeyTag,
        ),
    ] {
        assert_eq!(device_write(&mut host, &unit, &req, &[1; 4]), want);
    }

    let before = host.translate(pid, va + 12_345);
    deregister(&mut host, &mut driver, &mut unit, mr);
    let req = request(Op::RemoteWrite, rkey, 7, va + 12_345, 4);
    assert_eq!(
        device_write(&mut host, &unit, &req, &[1; 4]),
        Syndrome::KeyState
    );
    assert!(
        host.migrate(pid, va + 12_345).is_ok(),
        "now the page may move"
    );
    assert_ne!(host.translate(pid, va + 12_345), before);
    host.read(pid, va + 12_345, &mut got).expect("read");
    assert_eq!(got, data);
}

#[test]
fn reregistered_memory_is_found_elsewhere() {
    let mut host = host(FRAGMENTED, 3);
    let mut driver = Driver::default();
    let mut unit = unit(3);
    let pid = host.spawn();
    let va = host
        .mmap(pid, None, 2 << 20, Prot::ReadWrite, PageSize::Size4K)
        .expect("mmap");
    let args = RegArgs::process(pid, 7, va, 1 << 20, ALL);
    let (mr, _) = register(&mut host, &mut driver, &mut unit, &args);
    let old = mr.rkey();
    let memory = tpt_golden::driver::Memory::Process {
        pid,
        addr: va + (1 << 20),
    };
    let change = ReregArgs {
        translation: Some((memory, va, 1 << 20, Shape::default())),
        ..ReregArgs::default()
    };
    let (cmd, handle) = driver.prepare_rereg(&mut host, mr, change).expect("driver");
    let cpl = unit.command(&cmd, Some(handle.translation()));
    let Ok(ReregOutcome::Done(mr, _)) = driver.finish_rereg(&mut host, handle, &cpl) else {
        panic!("refused: {cpl:?}");
    };
    let req = request(Op::RemoteWrite, old, 7, va + 5, 3);
    assert_eq!(
        device_write(&mut host, &unit, &req, b"old"),
        Syndrome::KeyTag
    );
    let req = request(Op::RemoteWrite, mr.rkey(), 7, va + 5, 3);
    assert_eq!(device_write(&mut host, &unit, &req, b"new"), Syndrome::Ok);
    let mut got = [0; 3];
    host.read(pid, va + (1 << 20) + 5, &mut got).expect("read");
    assert_eq!(&got, b"new");
    deregister(&mut host, &mut driver, &mut unit, mr);
    assert_eq!((host.stats().pins, host.stats().table_frames), (0, 0));
}

/// The unit accepts every region of the boundary matrix and sends its probes where they belong.
#[test]
fn boundary_matrix_translates_right() {
    let mut host = Host::default();
    let mut driver = Driver::default();
    let mut unit = unit(3);
    for case in boundary_matrix() {
        let (mr, _) = register(&mut host, &mut driver, &mut unit, &case.args(7, ALL));
        for probe in case.probes(12) {
            let req = request(Op::RemoteRead, mr.rkey(), 7, probe.va, 1);
            let beats: Vec<_> = unit.judge(&req).beats(&req).collect();
            assert_eq!(beats.len(), 1);
            assert_eq!((beats[0].syndrome, beats[0].pa), (Syndrome::Ok, probe.pa));
        }
        let end = case.iova + (case.length - 1);
        for (va, len) in [
            (case.iova - 1, 1),
            (case.iova - 1, 2),
            (end, 2),
            (end + 1, 1),
        ] {
            let req = request(Op::RemoteRead, mr.rkey(), 7, va, len);
            assert_eq!(unit.judge(&req).syndrome, Syndrome::Bounds);
        }
        deregister(&mut host, &mut driver, &mut unit, mr);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Random memory in every shape: the unit takes the command, and page table, table in memory
    /// and the unit's segments agree on every byte that is asked for.
    #[test]
    fn three_views_of_one_region(
        seed: u64,
        max_run in 0u64..64,
        start in 0u64..0x4000,
        len in 1u64..0x18_0000,
        small: bool,
        zero_based: bool,
        flagged: bool,
        log_page in prop_oneof![Just(None), Just(Some(12))],
        level in prop_oneof![Just(None), (1u8..=4).prop_map(Some), Just(Some(LEVEL_FLAT))],
        log_tpage in prop_oneof![Just(None), (12u8..=16).prop_map(Some)],
        flat_offset in 0u64..512,
        accesses in prop::collection::vec((any::<prop::sample::Index>(), 1u32..0x4000), 1..12),
    ) {
        let len = if small { len % 0x5000 + 1 } else { len };
        let mode = match max_run {
            0 => AllocMode::Contiguous,
            max_run => AllocMode::Fragmented { max_run },
        };
        let mut host = host(mode, seed);
        let mut driver = Driver::new(tpt_golden::driver::Caps {
            max_levels: 4,
            ..Default::default()
        });
        let mut unit = unit(4);
        let pid = host.spawn();
        let base = host
            .mmap(pid, None, 2 << 20, Prot::ReadWrite, PageSize::Size4K)
            .expect("mmap");
        let before = host.stats();
        let va = base + start;
        let shape = Shape {
            log_page,
            level,
            log_tpage,
            encoding: if flagged { Encoding::Flagged } else { Encoding::Raw },
            flat_offset: flat_offset * 8,
            lazy: false,
        };
        let access = if zero_based { ALL | Access::ZERO_BASED } else { ALL };
        let args = RegArgs::process(pid, 7, va, len, access).with_shape(shape);
        let (mr, cmd) = register(&mut host, &mut driver, &mut unit, &args);
        if level.is_none() && log_tpage.is_none() {
            prop_assert_eq!(cmd.level, smallest_level(mr.translation().pages(), 12));
        }
        if cmd.level != LEVEL_INLINE && cmd.level != LEVEL_FLAT {
            prop_assert_eq!(log_tpage.unwrap_or(cmd.log_tpage), cmd.log_tpage);
        }
        for (at, size) in accesses {
            let off = at.index(len as usize) as u64;
            let size = u64::from(size).min(len - off) as u32;
            let first = if zero_based { off } else { va + off };
            let req = request(Op::RemoteWrite, mr.rkey(), 7, first, size);
            let mut done = 0;
            for beat in unit.judge(&req).beats(&req) {
                prop_assert_eq!(beat.syndrome, Syndrome::Ok);
                for at in [done, done + u64::from(beat.len) - 1] {
                    let byte = va + off + at;
                    let pa = beat.pa + (at - done);
                    prop_assert_eq!(host.translate(pid, byte), Some(pa), "byte {:#x}", byte);
                    let index = (byte >> cmd.log_page) - (va >> cmd.log_page);
                    let page = walk(&host.mem, &cmd, index);
                    prop_assert_eq!(page, Ok(pa >> cmd.log_page << cmd.log_page));
                }
                done += u64::from(beat.len);
            }
            prop_assert_eq!(done, u64::from(size));
        }
        deregister(&mut host, &mut driver, &mut unit, mr);
        let after = host.stats();
        prop_assert_eq!((after.pins, after.table_frames), (0, 0));
        prop_assert_eq!(after.free_frames + after.process_frames,
            before.free_frames + before.process_frames);
    }
}
