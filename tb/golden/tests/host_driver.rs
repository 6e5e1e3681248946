// SPDX-License-Identifier: Apache-2.0
//! The driver: argument rules, clean failure at every step, order of release.

mod host_common;

use host_common::{complete, host, walk, Script, FRAGMENTED};
use tpt_golden::driver::{
    Caps, DeregOutcome, Driver, DriverError, Errno, Memory, Mr, PortError, RegArgs, ReregArgs,
    ReregOutcome,
};
use tpt_golden::frames::{FrameList, Page, PageSource};
use tpt_golden::host::{AllocMode, Host, HostError, HostStats, Owner, PageSize, Pid, Prot};
use tpt_golden::mtt::{MttError, Shape};
use tpt_golden::types::{rereg, Access, CmdOp, Encoding, Key, Status};

const K4: PageSize = PageSize::Size4K;
const LW: Access = Access::LOCAL_WRITE;
const RR: Access = Access::REMOTE_READ;

/// A host, and a process with 16 MiB of memory that is in use already.
fn setup(mode: AllocMode) -> (Host, Pid, u64) {
    let mut host = host(mode, 42);
    let pid = host.spawn();
    let va = host
        .mmap(pid, None, 16 << 20, Prot::ReadWrite, K4)
        .expect("mmap");
    host.touch(pid, va, 16 << 20, true).expect("touch");
    (host, pid, va)
}

fn small_pages(args: RegArgs) -> RegArgs {
    args.with_shape(Shape::pages_of(12))
}

fn done(outcome: DeregOutcome) -> tpt_golden::driver::Released {
    match outcome {
        DeregOutcome::Done(released) => released,
        DeregOutcome::Pending(h) => panic!("pending: {h:?}"),
    }
}

fn changed(outcome: ReregOutcome) -> Mr {
    match outcome {
        ReregOutcome::Done(mr, _) => mr,
        ReregOutcome::Pending(h) => panic!("pending: {h:?}"),
    }
}

#[test]
fn arguments() {
    let (mut host, pid, va) = setup(AllocMode::Contiguous);
    let ro = host
        .mmap(pid, None, 1 << 20, Prot::ReadOnly, K4)
        .expect("mmap");
    let none = host.mmap(pid, None, 1 << 20, Prot::None, K4).expect("mmap");
    let before = host.stats();
    let mut driver = Driver::default();
    let mut port = Script::default();
    let mut try_reg = |addr: u64, len: u64, access: u32, iova: u64| {
        let args = RegArgs::process(pid, 1, addr, len, Access(access)).at(iova);
        let result = driver.reg(&mut host, &mut port, &args);
        match result {
            Ok(mr) => {
                let gone = driver.dereg_mr(&mut host, &mut port, mr);
                assert!(gone.is_ok());
                Ok(())
            }
            Err(e) => Err((e.errno(), e)),
        }
    };
    let mut same = |addr, len, access| try_reg(addr, len, access, addr);

    assert!(same(va, 4096, 0).is_ok());
    // Length and wrap.
    assert_eq!(
        same(va, 0, 1),
        Err((Errno::Einval, DriverError::ZeroLength))
    );
    for (start, length) in [(va, u64::MAX), (va, u64::MAX - va + 2), (u64::MAX, 2)] {
        let e = DriverError::Wrap { start, length };
        assert_eq!(same(start, length, 1), Err((Errno::Einval, e)));
    }
    // Up to 2^64 exactly there is no wrap, but no memory either.
    let e = same(va, u64::MAX - va + 1, 1).map_err(|e| e.0);
    assert_eq!(e, Err(Errno::Efault));
    // Flags: every bit alone, with LOCAL_WRITE.
    for bit in 0..32 {
        let got = same(va, 4096, 1 << bit | 1).map_err(|e| e.0);
        let want = match bit {
            6 => Err(Errno::Eopnotsupp),
            10..=19 | 30 | 31 => Err(Errno::Einval),
            _ => Ok(()),
        };
        assert_eq!(got, want, "bit {bit}");
    }
    assert_eq!(
        same(va, 4096, 0xc00f_fc00 | 1),
        Err((Errno::Einval, DriverError::UnknownFlags(0xc00f_fc00)))
    );
    // Remote write and atomic need local write; remote read and bind do not.
    for access in [2, 8, 10, 2 | 4, 8 | 16] {
        let e = (Errno::Einval, DriverError::NoLocalWrite);
        assert_eq!(same(va, 4096, access), Err(e), "access {access}");
    }
    for access in [4, 16, 3, 9, 15] {
        assert!(same(va, 4096, access).is_ok(), "access {access}");
    }
    // Memory: not mapped, one byte too far, not readable, not writable.
    assert_eq!(same(0, 8, 0).map_err(|e| e.0), Err(Errno::Efault));
    let e = HostError::Unmapped {
        va: va + (16 << 20),
    };
    assert_eq!(same(va, (16 << 20) + 1, 0), Err((Errno::Efault, e.into())));
    assert!(same(va, 16 << 20, 0).is_ok());
    let e = HostError::Protection { va: none };
    assert_eq!(same(none, 1, 0), Err((Errno::Efault, e.into())));
    for access in [1, 16, 3, 16 | 4] {
        let e = HostError::Protection { va: ro };
        assert_eq!(
            same(ro, 4096, access),
            Err((Errno::Efault, e.into())),
            "access {access}"
        );
    }
    for access in [0, 4, 0x20] {
        assert!(same(ro, 4096, access).is_ok(), "access {access}");
    }
    // iova: another page is fine, another place inside the page is not.
    assert!(try_reg(va + 100, 4096, 7, 0x7000 + 100).is_ok());
    assert!(try_reg(va + 100, 4096, 7 | 0x20, 100).is_ok());
    let (iova, addr) = (0x7000 + 101, va + 100);
    let e = DriverError::PageOffset { iova, addr };
    assert_eq!(try_reg(addr, 4096, 7, iova), Err((Errno::Einval, e)));
    let (start, length) = (0u64.wrapping_sub(4096), 4097);
    let e = DriverError::Wrap { start, length };
    assert_eq!(try_reg(va, length, 7, start), Err((Errno::Einval, e)));
    assert!(
        try_reg(va, 4096, 7, start).is_ok(),
        "may end exactly at 2^64"
    );
    // PD.
    let args = RegArgs::process(pid, 1 << 24, va, 1, LW);
    let refused = driver.prepare_reg(&mut host, &args).map(|_| ());
    assert_eq!(refused, Err(DriverError::Pd(1 << 24)));

    let after = host.stats();
    assert_eq!(after.pins, 0);
    // Read-only pages came by demand, and stay: they are the process's.
    assert_eq!(after.table_frames, before.table_frames);
    assert_eq!(driver.lost(), 0);
}

#[test]
fn command_fields() {
    let (mut host, pid, va) = setup(FRAGMENTED);
    let mut driver = Driver::default();
    let mut port = Script::default();
    let shape = Shape {
        level: Some(2),
        log_tpage: Some(16),
        encoding: Encoding::Flagged,
        ..Shape::pages_of(12)
    };
    let access = LW | RR | Access::RELAXED_ORDERING;
    let args = RegArgs::process(pid, 0xabcdef, va + 5, 1 << 20, access)
        .at(0xffff_0000_0000_0005)
        .with_shape(shape);
    let mr = driver
        .reg(&mut host, &mut port, &args)
        .expect("registration");
    let cmd = port.last();
    assert_eq!(cmd.op, CmdOp::RegMr.code());
    assert_eq!((cmd.pd, cmd.access), (0xabcdef, 1 | 4 | 1 << 20));
    assert_eq!((cmd.start, cmd.length), (0xffff_0000_0000_0005, 1 << 20));
    assert_eq!(
        (cmd.log_page, cmd.level, cmd.log_tpage, cmd.encoding),
        (12, 2, 16, 1)
    );
    assert_eq!(
        (cmd.frame[0] % (1 << 16), &cmd.frame[1..]),
        (0, &[0, 0, 0][..])
    );
    assert_eq!(
        mr.table().entries(),
        257,
        "an unaligned start needs one page more"
    );
    assert_eq!((mr.lkey(), mr.rkey()), (Key(0x101), Key(0x102)));
    for i in 0..257 {
        let want = host.translate(pid, va + (i << 12)).expect("present");
        assert_eq!(walk(&host.mem, &cmd, i), Ok(want));
        assert_eq!(mr.translation().page(i), Page::at(want));
    }
    // Every frame that the device may read is a table frame.
    assert!(mr
        .table()
        .ranges()
        .all(|r| host.owner_at(r.pa) == Some(Owner::Table)));

    let entry = driver.query_mr(&mut host, &mut port, &mr).expect("query");
    assert_eq!(entry, [0; 64]);
    assert_eq!(
        (port.last().op, port.last().key, port.last().pd),
        (4, mr.lkey(), 0xabcdef)
    );
    let (lkey, id) = (mr.lkey(), port.last().id);
    done(
        driver
            .dereg_mr(&mut host, &mut port, mr)
            .expect("deregistration"),
    );
    let cmd = port.last();
    assert_eq!(
        (cmd.op, cmd.key, cmd.pd),
        (CmdOp::DeregMr.code(), lkey, 0xabcdef)
    );
    assert_ne!(cmd.id, id);
}

/// Read-only memory in FLAGGED tables has entries that do not allow writing.
#[test]
fn writable_flag() {
    let (mut host, pid, _) = setup(FRAGMENTED);
    let ro = host
        .mmap(pid, None, 64 << 12, Prot::ReadOnly, K4)
        .expect("mmap");
    let mut driver = Driver::default();
    let mut port = Script::default();
    for (encoding, level) in [
        (Encoding::Flagged, Some(1)),
        (Encoding::Raw, Some(1)),
        (Encoding::Flagged, Some(0)),
    ] {
        let shape = Shape {
            level,
            encoding,
            ..Shape::pages_of(12)
        };
        let len = if level == Some(0) { 4 << 12 } else { 64 << 12 };
        let args = RegArgs::process(pid, 1, ro, len, RR).with_shape(shape);
        let mr = driver
            .reg(&mut host, &mut port, &args)
            .expect("registration");
        let says_no = encoding == Encoding::Flagged && level == Some(1);
        let Page::Present { writable, .. } = mr.translation().page(3) else {
            panic!("page 3 is present");
        };
        assert_eq!(writable, !says_no);
        if let Some(pa) = mr.table().entry_pa(3) {
            assert_eq!(host.mem.read_u64(pa) % 4, if says_no { 1 } else { 0 });
        }
        done(
            driver
                .dereg_mr(&mut host, &mut port, mr)
                .expect("deregistration"),
        );
    }
}

/// Failure at every step of a registration: nothing stays pinned, no frame is lost.
#[test]
fn every_failure_of_registration_frees_everything() {
    for mode in [AllocMode::Contiguous, AllocMode::Fragmented { max_run: 1 }] {
        for (level, lazy) in [
            (None, false),
            (Some(5), false),
            (Some(3), false),
            (Some(2), true),
        ] {
            let (mut host, pid, va) = setup(mode);
            let shape = Shape {
                level,
                lazy,
                ..Shape::pages_of(12)
            };
            let args = RegArgs::process(pid, 1, va, 3 << 20, LW).with_shape(shape);
            let before = host.stats();
            let mut driver = Driver::default();

            // How many allocations does it take?
            let steps = host.alloc_steps();
            let (_, handle) = driver.prepare_reg(&mut host, &args).expect("registration");
            let steps = host.alloc_steps() - steps;
            assert!(steps > 0);
            assert_eq!(host.stats().pins, 768);
            driver.abort_reg(&mut host, handle);
            assert_eq!(host.stats(), before, "given up before it was sent");

            for n in 0..steps {
                host.inject_alloc_failure(Some(n));
                let mut port = Script::default();
                let e = driver.reg(&mut host, &mut port, &args).map(|_| ());
                assert_eq!(
                    e,
                    Err(MttError::Host(HostError::OutOfMemory).into()),
                    "step {n}"
                );
                assert_eq!(e.map_err(|e| e.errno()), Err(Errno::Enomem));
                assert_eq!(host.stats(), before, "allocation {n} fails");
                assert!(port.seen.is_empty(), "the hardware saw nothing");
            }
            host.inject_alloc_failure(None);

            for &status in Status::ALL {
                if matches!(status, Status::Ok | Status::Pending) {
                    continue;
                }
                let mut port = Script::say(Ok(status));
                let e = driver.reg(&mut host, &mut port, &args).map(|_| ());
                assert_eq!(e, Err(DriverError::Refused(status)));
                assert_eq!(host.stats(), before, "status {status}");
            }
            let mut port = Script::say(Err(PortError::NotSent("down".into())));
            let e = driver.reg(&mut host, &mut port, &args).map(|_| ());
            assert_eq!(e.map_err(|e| e.errno()), Err(Errno::Eio));
            assert_eq!((host.stats(), driver.lost()), (before, 0));

            let mut port = Script::default();
            let mr = driver
                .reg(&mut host, &mut port, &args)
                .expect("and then it works");
            done(
                driver
                    .dereg_mr(&mut host, &mut port, mr)
                    .expect("deregistration"),
            );
            assert_eq!(host.stats(), before);
        }
    }
}

/// Memory that is not there yet: the fault of each page can fail.
#[test]
fn failing_page_faults_pin_nothing() {
    let mut host = host(AllocMode::Fragmented { max_run: 2 }, 9);
    let pid = host.spawn();
    let va = host
        .mmap(pid, None, 64 << 12, Prot::ReadWrite, K4)
        .expect("mmap");
    let mut driver = Driver::default();
    let mut port = Script::default();
    let args = small_pages(RegArgs::process(pid, 1, va, 64 << 12, LW));
    let mut failures = 0;
    for n in 0.. {
        host.inject_alloc_failure(Some(n));
        let before = host.stats();
        match driver.reg(&mut host, &mut port, &args) {
            Ok(mr) => {
                done(
                    driver
                        .dereg_mr(&mut host, &mut port, mr)
                        .expect("deregistration"),
                );
                break;
            }
            Err(e) => {
                failures += 1;
                assert_eq!(e.errno(), Errno::Enomem);
                let after = host.stats();
                assert_eq!((after.pins, after.table_frames), (0, 0));
                assert_eq!(
                    after.free_frames + after.process_frames,
                    before.free_frames + before.process_frames
                );
            }
        }
        // Start over with no page present.
        host.munmap(pid, va, 64 << 12).expect("munmap");
        host.mmap(pid, Some(va), 64 << 12, Prot::ReadWrite, K4)
            .expect("mmap");
    }
    assert!(failures > 32, "{failures}");
    // A hole in the middle of a large region.
    host.munmap(pid, va + (32 << 12), 4096).expect("munmap");
    let e = driver.reg(&mut host, &mut port, &args).map(|_| ());
    assert_eq!(
        e,
        Err(HostError::Unmapped {
            va: va + (32 << 12)
        }
        .into())
    );
    assert_eq!((host.stats().pins, host.stats().table_frames), (0, 0));
}

/// Hardware first, then tables, then pins; and what can move again afterwards.
#[test]
fn deregistration_waits_for_the_hardware() {
    let (mut host, pid, va) = setup(AllocMode::Contiguous);
    let before = host.stats();
    let mut driver = Driver::default();
    let mut port = Script::default();
    let args = small_pages(RegArgs::process(pid, 1, va, 4 << 20, LW));
    let mr = driver
        .reg(&mut host, &mut port, &args)
        .expect("registration");
    let tables: Vec<_> = mr.table().ranges().collect();
    let held = host.stats();
    assert_eq!((held.pins, held.table_frames), (1024, 3));

    let (cmd, handle) = driver.prepare_dereg(mr);
    assert_eq!(host.stats(), held, "nothing is freed before the completion");
    assert!(host.migrate(pid, va).is_err());

    // Fence time ran out: keys dead, the device may still write.
    let pending = complete(&cmd, Status::Pending, 0);
    let handle = match driver.finish_dereg(&mut host, handle, &pending) {
        Ok(DeregOutcome::Pending(handle)) => handle,
        other => panic!("{other:?}"),
    };
    assert_eq!(host.stats(), held, "pins and tables are kept");
    assert!(host.swap_out(pid, va).is_err());

    let last = complete(&cmd, Status::Ok, 0);
    let released = done(
        driver
            .finish_dereg(&mut host, handle, &last)
            .expect("final"),
    );
    assert_eq!(host.stats(), before);
    assert_eq!(released.tables, tables);
    assert_eq!(released.frames.iter().map(|r| r.count).sum::<u64>(), 1024);
    assert!(tables.iter().all(|r| host.owner_at(r.pa).is_none()));
    assert!(host.migrate(pid, va).is_ok());
}

#[test]
fn refused_deregistration_keeps_the_region() {
    let (mut host, pid, va) = setup(AllocMode::Contiguous);
    let before = host.stats();
    let mut driver = Driver::default();
    let mut port = Script::default();
    let mut mr = driver
        .reg_mr(&mut host, &mut port, pid, 1, va, 1 << 20, LW)
        .expect("reg");
    let held = host.stats();
    let answers = [
        (Ok(Status::Bound), Errno::Ebusy),
        (Ok(Status::Busy), Errno::Eagain),
        (Ok(Status::Disabled), Errno::Eio),
        (Err(PortError::NotSent("full".into())), Errno::Eio),
    ];
    for (answer, errno) in answers {
        let mut port = Script::say(answer);
        let kept = driver
            .dereg_mr(&mut host, &mut port, mr)
            .expect_err("refused");
        assert_eq!(kept.error.errno(), errno);
        assert_eq!(host.stats(), held);
        mr = *kept.mr.expect("the region lives");
    }
    done(
        driver
            .dereg_mr(&mut host, &mut port, mr)
            .expect("deregistration"),
    );
    assert_eq!(host.stats(), before);
}

/// If nobody knows what the device does, its memory is never given to anybody else.
#[test]
fn lost_commands_keep_their_memory() {
    let (mut host, pid, va) = setup(AllocMode::Contiguous);
    let before = host.stats();
    let mut driver = Driver::default();
    let lost = || Script::say(Err(PortError::Lost("watchdog".into())));
    let args = small_pages(RegArgs::process(pid, 1, va, 1 << 20, LW));
    let e = driver.reg(&mut host, &mut lost(), &args).map(|_| ());
    assert!(matches!(e, Err(DriverError::Port(PortError::Lost(_)))));
    assert_eq!((driver.lost(), host.stats().pins), (1, 256));

    let mr = driver
        .reg(&mut host, &mut Script::default(), &args)
        .expect("registration");
    let gone = driver
        .dereg_mr(&mut host, &mut lost(), mr)
        .expect_err("lost");
    assert!(gone.mr.is_none());
    let mr = driver
        .reg(&mut host, &mut Script::default(), &args)
        .expect("registration");
    let change = ReregArgs {
        translation: Some((
            Memory::Process { pid, addr: va },
            va,
            4096,
            Shape::default(),
        )),
        ..ReregArgs::default()
    };
    let gone = driver
        .rereg_mr(&mut host, &mut lost(), mr, change)
        .expect_err("lost");
    assert!(gone.mr.is_none());
    assert_eq!((driver.lost(), host.stats().pins), (4, 3 * 256 + 1));

    // A completion of another command says nothing about this one.
    let (cmd, handle) = driver.prepare_reg(&mut host, &args).expect("registration");
    let mut other = complete(&cmd, Status::Ok, 1);
    other.id += 1;
    let e = driver.finish_reg(&mut host, handle, &other).map(|_| ());
    assert!(matches!(e, Err(DriverError::WrongCompletion { .. })));
    let (cmd, handle) = driver.prepare_reg(&mut host, &args).expect("registration");
    let e = driver
        .finish_reg(&mut host, handle, &complete(&cmd, Status::Pending, 1))
        .map(|_| ());
    assert!(
        matches!(e, Err(DriverError::WrongCompletion { .. })),
        "REG_MR has no PENDING"
    );
    assert_eq!(driver.lost(), 6);

    driver.release_lost(&mut host); // after a reset of the device
    assert_eq!((host.stats(), driver.lost()), (before, 0));
}

#[test]
fn reregistration() {
    let (mut host, pid, va) = setup(FRAGMENTED);
    let before = host.stats();
    let mut driver = Driver::default();
    let mut port = Script::default();
    let args = small_pages(RegArgs::process(pid, 1, va, 1 << 20, LW));
    let mr = driver
        .reg(&mut host, &mut port, &args)
        .expect("registration");
    let old_lkey = mr.lkey();
    let old_table = mr.table().frame();

    // Rights and PD alone: same memory, same table, new keys.
    let change = ReregArgs {
        pd: Some(2),
        access: Some(LW | RR),
        ..ReregArgs::default()
    };
    let mr = changed(
        driver
            .rereg_mr(&mut host, &mut port, mr, change)
            .expect("rereg"),
    );
    let cmd = port.last();
    assert_eq!((cmd.op, cmd.key, cmd.pd, cmd.new_pd), (3, old_lkey, 1, 2));
    assert_eq!((cmd.rereg, cmd.access), (rereg::PD | rereg::ACCESS, 1 | 4));
    assert_eq!(
        (mr.pd(), mr.access(), mr.table().frame()),
        (2, LW | RR, old_table)
    );
    assert_ne!(mr.lkey(), old_lkey);

    // Other memory: both are pinned until the completion, then only the new one.
    let addr = va + (1 << 20) - (8 << 12); // overlaps the old one by 8 pages
    let change = ReregArgs {
        translation: Some((
            Memory::Process { pid, addr },
            0x1_0000,
            2 << 20,
            Shape::pages_of(12),
        )),
        ..ReregArgs::default()
    };
    let (cmd, handle) = driver.prepare_rereg(&mut host, mr, change).expect("rereg");
    assert_eq!(
        (cmd.rereg, cmd.start, cmd.length),
        (rereg::TRANSLATION, 0x1_0000, 2 << 20)
    );
    assert_eq!(
        (host.stats().pins, host.stats().pinned_frames),
        (256 + 512, 256 + 512 - 8)
    );
    assert_eq!(
        handle.translation().page(0),
        Page::at(host.translate(pid, addr).expect("pinned"))
    );
    assert_eq!(handle.mr().translation().pages(), 256);
    let pending = complete(&cmd, Status::Pending, 9);
    let handle = match driver.finish_rereg(&mut host, handle, &pending) {
        Ok(ReregOutcome::Pending(handle)) => handle,
        other => panic!("{other:?}"),
    };
    assert_eq!(host.stats().pins, 256 + 512);
    let last = complete(&cmd, Status::Ok, 10);
    let (mr, released) = match driver.finish_rereg(&mut host, handle, &last) {
        Ok(ReregOutcome::Done(mr, released)) => (mr, released),
        other => panic!("{other:?}"),
    };
    assert_eq!((mr.iova(), mr.length(), mr.pd()), (0x1_0000, 2 << 20, 2));
    assert_eq!(released.tables[0].pa, old_table[0] & !0xfff);
    assert_eq!((host.stats().pins, host.stats().table_frames), (512, 1));
    assert_eq!(
        walk(&host.mem, &cmd, 511),
        Ok(host.translate(pid, addr + (511 << 12)).unwrap_or(0))
    );
    done(
        driver
            .dereg_mr(&mut host, &mut port, mr)
            .expect("deregistration"),
    );
    assert_eq!(host.stats(), before);
}

#[test]
fn failed_reregistration_changes_nothing() {
    let (mut host, pid, va) = setup(FRAGMENTED);
    let none = host.mmap(pid, None, 4096, Prot::None, K4).expect("mmap");
    let mut driver = Driver::default();
    let args = small_pages(RegArgs::process(pid, 1, va, 1 << 20, LW));
    let mut mr = driver
        .reg(&mut host, &mut Script::default(), &args)
        .expect("registration");
    let held = host.stats();
    let lkey = mr.lkey();
    let memory = |addr, iova, len| ReregArgs {
        translation: Some((
            Memory::Process { pid, addr },
            iova,
            len,
            Shape::pages_of(12),
        )),
        ..ReregArgs::default()
    };
    let access = |bits| ReregArgs {
        access: Some(Access(bits)),
        ..ReregArgs::default()
    };
    let good = memory(va + 4096, va, 2 << 20);
    let cases = [
        (ReregArgs::default(), None, Errno::Einval),
        (access(2), None, Errno::Einval),
        (access(1 << 10), None, Errno::Einval),
        (access(1 << 6), None, Errno::Eopnotsupp),
        (memory(va, va, 0), None, Errno::Einval),
        (memory(va, va + 1, 5), None, Errno::Einval),
        (memory(va, u64::MAX - 4095, 4097), None, Errno::Einval),
        (memory(none, none, 5), None, Errno::Efault),
        (good.clone(), Some(Ok(Status::Bound)), Errno::Ebusy),
        (good.clone(), Some(Ok(Status::TableSmall)), Errno::Einval),
        (access(5), Some(Ok(Status::Busy)), Errno::Eagain),
        (
            good.clone(),
            Some(Err(PortError::NotSent("down".into()))),
            Errno::Eio,
        ),
    ];
    for (change, answer, errno) in cases {
        let mut port = answer.clone().map_or_else(Script::default, Script::say);
        let text = format!("{change:?} {answer:?}");
        let kept = driver
            .rereg_mr(&mut host, &mut port, mr, change)
            .expect_err("refused");
        assert_eq!(kept.error.errno(), errno, "{text}");
        assert_eq!(host.stats(), held, "{text}");
        assert_eq!(
            port.seen.is_empty(),
            !matches!(answer, Some(Ok(_))),
            "{text}"
        );
        mr = *kept.mr.expect("the region lives");
        assert_eq!(
            (mr.lkey(), mr.access(), mr.length()),
            (lkey, LW, 1 << 20),
            "{text}"
        );
    }
    host.inject_alloc_failure(Some(0));
    let kept = driver
        .rereg_mr(&mut host, &mut Script::default(), mr, good)
        .expect_err("refused");
    assert_eq!(kept.error.errno(), Errno::Enomem);
    assert_eq!(host.stats(), held);
    let mr = *kept.mr.expect("the region lives");
    done(
        driver
            .dereg_mr(&mut host, &mut Script::default(), mr)
            .expect("deregistration"),
    );
}

/// A region over memory that was pinned for reading gets the right to write: the driver pins for
/// writing, which fails on read-only memory.
#[test]
fn new_write_rights_need_writable_memory() {
    let (mut host, pid, va) = setup(FRAGMENTED);
    let ro = host
        .mmap(pid, None, 1 << 20, Prot::ReadOnly, K4)
        .expect("mmap");
    let mut driver = Driver::default();
    let mut port = Script::default();
    let shape = Shape {
        level: Some(5),
        encoding: Encoding::Flagged,
        ..Shape::pages_of(12)
    };
    let write = ReregArgs {
        access: Some(LW),
        ..ReregArgs::default()
    };
    let args = |addr| RegArgs::process(pid, 1, addr, 1 << 20, RR).with_shape(shape);
    let mr = driver
        .reg(&mut host, &mut port, &args(ro))
        .expect("registration");
    let kept = driver
        .rereg_mr(&mut host, &mut port, mr, write.clone())
        .expect_err("read-only");
    assert_eq!(kept.error, HostError::Protection { va: ro }.into());
    done(
        driver
            .dereg_mr(&mut host, &mut port, *kept.mr.expect("lives"))
            .expect("dereg"),
    );

    let mr = driver
        .reg(&mut host, &mut port, &args(va))
        .expect("registration");
    let entry = mr.table().entry_pa(0).expect("table");
    assert_eq!(host.mem.read_u64(entry) & 3, 1, "pinned for reading");
    let mr = changed(
        driver
            .rereg_mr(&mut host, &mut port, mr, write)
            .expect("rereg"),
    );
    assert_eq!(port.last().rereg, rereg::ACCESS | rereg::TRANSLATION);
    let entry = mr.table().entry_pa(0).expect("table");
    assert_eq!(host.mem.read_u64(entry) & 3, 3);
    // Back and forth costs no new table any more.
    let read = ReregArgs {
        access: Some(RR),
        ..ReregArgs::default()
    };
    let mr = changed(
        driver
            .rereg_mr(&mut host, &mut port, mr, read)
            .expect("rereg"),
    );
    assert_eq!(port.last().rereg, rereg::ACCESS);
    done(driver.dereg_mr(&mut host, &mut port, mr).expect("dereg"));
    assert_eq!((host.stats().pins, host.stats().table_frames), (0, 0));
}

#[test]
fn given_frames() {
    let mut host = host(AllocMode::Contiguous, 1);
    let before = host.stats();
    let mut driver = Driver::default();
    let mut port = Script::default();
    // 2 MiB of frames that lie together although the list does not say so.
    let list = FrameList::from_addresses(12, (0..512).map(|i| 0x40_0020_0000 + (i << 12)));
    let iova = 0x7f00_0000_0000 + 0x123;
    let len = (2 << 20) - 0x123;
    let mr = driver
        .reg_frames(&mut host, &mut port, 3, list, iova, len, LW)
        .expect("reg");
    assert_eq!((port.last().log_page, port.last().level), (21, 0));
    assert_eq!(port.last().frame, [0x40_0020_0000, 0, 0, 0]);
    assert_eq!(host.stats().pins, 512);
    done(driver.dereg_mr(&mut host, &mut port, mr).expect("dereg"));

    // Too few, too many, misaligned.
    let mut try_list = |list: FrameList, len| {
        let args = RegArgs::frames(1, list, iova, len, LW);
        driver.reg(&mut host, &mut port, &args).map(|_| ())
    };
    let short = FrameList::contiguous(12, 1 << 30, 1);
    let (needed, given) = (2, 1);
    assert_eq!(
        try_list(short.clone(), 4096),
        Err(DriverError::FrameCount { needed, given })
    );
    assert!(try_list(FrameList::contiguous(12, 1 << 30, 3), 4096).is_err());
    let crooked = FrameList::contiguous(12, (1 << 30) + 8, 1);
    assert_eq!(try_list(crooked, 1), Err(MttError::PageSize.into()));
    let beyond = FrameList::contiguous(12, u64::MAX - 4095, 2);
    assert!(
        try_list(beyond, 4096).is_err(),
        "past the end of physical memory"
    );
    assert_eq!(host.stats(), before);

    // Faults in the list: its page size is kept, the table has the faults.
    let mut list = FrameList::contiguous(16, 1 << 40, 100);
    list.set(7..8, Page::Absent);
    list.set(8..9, Page::Bad);
    let args = RegArgs::frames(1, list.clone(), 0x10_0000, 100 << 16, LW);
    let mr = driver.reg(&mut host, &mut port, &args).expect("reg");
    assert_eq!(
        (port.last().log_page, mr.translation().as_ref()),
        (16, &list)
    );
    let cmd = port.last();
    assert_eq!(walk(&host.mem, &cmd, 6), Ok((1 << 40) + (6 << 16)));
    assert_eq!(walk(&host.mem, &cmd, 7), Err(host_common::Stop::Absent));
    assert_eq!(walk(&host.mem, &cmd, 8), Err(host_common::Stop::Bad));
    done(driver.dereg_mr(&mut host, &mut port, mr).expect("dereg"));
    assert_eq!(host.stats(), before);
}

#[test]
fn page_sizes_of_the_unit() {
    let (mut host, pid, va) = setup(AllocMode::Contiguous);
    let mut port = Script::default();
    let caps = Caps {
        max_levels: 2,
        page_sizes: 1 << 12 | 1 << 16,
        phys: false,
    };
    let mut driver = Driver::new(caps);
    let args = RegArgs::process(pid, 1, va, 16 << 20, LW);
    let before = host.stats();
    let mr = driver
        .reg(&mut host, &mut port, &args)
        .expect("registration");
    assert_eq!(port.last().log_page, 16, "the largest that the unit has");
    done(driver.dereg_mr(&mut host, &mut port, mr).expect("dereg"));
    for log_page in [0, 11, 13, 21, 63, 64, 255] {
        let args = args.clone().with_shape(Shape::pages_of(log_page));
        let e = driver.reg(&mut host, &mut port, &args).map(|_| ());
        assert_eq!(e, Err(MttError::PageSize.into()), "2^{log_page}");
        assert_eq!(e.map_err(|e| e.errno()), Err(Errno::Einval));
    }
    let deep = Shape {
        level: Some(3),
        ..Shape::default()
    };
    let e = driver
        .reg(&mut host, &mut port, &args.with_shape(deep))
        .map(|_| ());
    assert_eq!(e, Err(MttError::Level(3).into()));
    assert_eq!(host.stats(), before);
}

/// Registering the same memory twice pins it twice; each deregistration lets go once.
#[test]
fn overlapping_regions() {
    let (mut host, pid, va) = setup(FRAGMENTED);
    let mut driver = Driver::default();
    let mut port = Script::default();
    let a = driver
        .reg_mr(&mut host, &mut port, pid, 1, va, 0x1800, LW)
        .expect("reg");
    let iova = 0x5_0000 + 0x17ff;
    let b = driver
        .reg_mr_iova(
            &mut host,
            &mut port,
            pid,
            1,
            va + 0x17ff,
            0x1000,
            iova - 0x1000,
            LW,
        )
        .expect("reg");
    let HostStats {
        pins,
        pinned_frames,
        ..
    } = host.stats();
    assert_eq!((pins, pinned_frames), (4, 3));
    done(driver.dereg_mr(&mut host, &mut port, a).expect("dereg"));
    assert!(host.migrate(pid, va).is_ok());
    assert!(host.migrate(pid, va + 0x1000).is_err());
    done(driver.dereg_mr(&mut host, &mut port, b).expect("dereg"));
    assert!(host.migrate(pid, va + 0x1000).is_ok());
}

/// Command numbers repeat only when their command is over.
#[test]
fn command_numbers() {
    let (mut host, pid, va) = setup(AllocMode::Contiguous);
    let mut driver = Driver::default();
    let mut port = Script::default();
    let mr = driver
        .reg_mr(&mut host, &mut port, pid, 1, va, 1, LW)
        .expect("reg");
    let (held, handle) = driver.prepare_dereg(mr);
    let mr = driver
        .reg_mr(&mut host, &mut port, pid, 1, va, 1, LW)
        .expect("reg");
    for _ in 0..70_000 {
        let query = driver.prepare_query(&mr);
        assert_ne!(query.id, held.id);
        let done = driver.finish_query(&query, &complete(&query, Status::Ok, 0));
        assert!(done.is_ok());
    }
    done(
        driver
            .finish_dereg(&mut host, handle, &complete(&held, Status::Ok, 0))
            .expect("dereg"),
    );
    done(driver.dereg_mr(&mut host, &mut port, mr).expect("dereg"));
}
