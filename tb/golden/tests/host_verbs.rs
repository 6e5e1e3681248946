// SPDX-License-Identifier: Apache-2.0
//! The driver's part of fast registration, windows and physical regions: arguments, pins, page lists,
//! and failure at every step; then the whole job with the golden unit.

mod host_common;

use host_common::{host, Script, FRAGMENTED};
use tpt_golden::codec::{Mtt, Place};
use tpt_golden::driver::fast::{AllocMrArgs, FastMr, FastOutcome};
use tpt_golden::driver::phys::PhysArgs;
use tpt_golden::driver::window::{BindArgs, Mw, MwOutcome, MwType};
use tpt_golden::driver::{
    Caps, CommandPort, DeregOutcome, Driver, DriverError, Errno, Memory, PortError, RegArgs,
};
use tpt_golden::host::{AllocMode, Host, HostError, PageSize, Pid, Prot};
use tpt_golden::keys::KeyMaker;
use tpt_golden::mem::PhysMem;
use tpt_golden::mtt::MttError;
use tpt_golden::types::*;
use tpt_golden::unit::{Golden, MAX_CAP};

const K4: PageSize = PageSize::Size4K;
const LW: Access = Access::LOCAL_WRITE;
const RR: Access = Access::REMOTE_READ;
const RW: Access = Access::REMOTE_WRITE;
const MIB: u64 = 1 << 20;

/// The golden unit behind a port; page lists are read back from memory, as hardware would.
struct Port {
    unit: Golden,
    /// What to answer instead, once.
    say: Option<Result<Status, PortError>>,
}

impl Port {
    fn new() -> Port {
        let keys = KeyMaker::new([1, 2, 3, 4], [5, 6, 7, 8], false);
        let mut unit = Golden::enabled(keys, 64, 3);
        unit.allow_phys(true);
        unit.build_with(true, 4);
        Port { unit, say: None }
    }

    fn syndrome(&self, op: Op, key: Key, va: u64, len: u32) -> Syndrome {
        self.unit.judge(&request(op, key, va, len)).syndrome
    }
}

fn request(op: Op, key: Key, va: u64, len: u32) -> Request {
    Request {
        op: op.code(),
        key,
        va,
        len,
        pd: 7,
        qpn: 3,
        ..Request::default()
    }
}

impl CommandPort for Port {
    fn submit(&mut self, mem: &mut PhysMem, cmd: &Command) -> Result<Completion, PortError> {
        if let Some(answer) = self.say.take() {
            return Ok(Completion::plain(cmd.id, cmd.op, answer?));
        }
        // A flat table of up to 512 pages, read from memory.
        let table = (cmd.level == LEVEL_FLAT && cmd.frame[0] != 0).then(|| {
            let words = (0..512).map(|n| mem.read_u64(cmd.frame[0] + 8 * n));
            let list = tpt_golden::frames::FrameList::from_addresses(12, words);
            std::sync::Arc::new(list) as tpt_golden::frames::Translation
        });
        Ok(self.unit.command(cmd, table))
    }
}

fn setup(mode: AllocMode) -> (Host, Driver, Port, Pid, u64) {
    let mut host = host(mode, 42);
    let pid = host.spawn();
    let va = host
        .mmap(pid, None, 4 * MIB, Prot::ReadWrite, K4)
        .expect("mmap");
    host.touch(pid, va, 4 * MIB, true).expect("touch");
    (host, Driver::default(), Port::new(), pid, va)
}

fn list_of(pages: u32) -> AllocMrArgs {
    AllocMrArgs {
        pd: 7,
        pages,
        log_page: 12,
        encoding: Encoding::Raw,
        remote_inv: true,
    }
}

fn ready(outcome: FastOutcome) -> FastMr {
    match outcome {
        FastOutcome::Ready(mr, _) => mr,
        other => panic!("{other:?}"),
    }
}

fn window(outcome: MwOutcome) -> Mw {
    match outcome {
        MwOutcome::Ready(mw) => mw,
        other => panic!("{other:?}"),
    }
}

#[test]
fn arguments_of_alloc_mr() {
    let (mut host, mut driver, mut port, ..) = setup(AllocMode::Contiguous);
    let before = host.stats();
    for (args, errno) in [
        (list_of(0), Errno::Einval),
        (list_of(MAX_CAP + 1), Errno::Einval),
        (
            AllocMrArgs {
                pd: 1 << 24,
                ..list_of(1)
            },
            Errno::Einval,
        ),
        (
            AllocMrArgs {
                log_page: 11,
                ..list_of(1)
            },
            Errno::Einval,
        ),
        (
            AllocMrArgs {
                log_page: 64,
                ..list_of(1)
            },
            Errno::Einval,
        ),
    ] {
        let error = driver.alloc_mr(&mut host, &mut port, &args);
        let error = error.map(|mr| format!("{mr:?}")).expect_err("refused");
        assert_eq!(error.errno(), errno, "{args:?}");
        assert_eq!(host.stats(), before, "{args:?}");
    }
    // Refused by the hardware, or not even sent: nothing stays; lost: the list does.
    for (answer, kept) in [
        (Ok(Status::NoIndex), 0),
        (Err(PortError::NotSent("down".into())), 0),
        (Err(PortError::Lost("timeout".into())), 1),
        (Ok(Status::Pending), 2),
    ] {
        port.say = Some(answer);
        assert!(driver.alloc_mr(&mut host, &mut port, &list_of(9)).is_err());
        assert_eq!(driver.lost(), kept);
    }
    driver.release_lost(&mut host);
    assert_eq!(host.stats(), before);
}

/// What the page list holds is what the process's page tables say; what was there is gone.
#[test]
fn page_lists_are_written() {
    let (mut host, mut driver, mut port, pid, va) = setup(FRAGMENTED);
    let without = driver.alloc_mr(
        &mut host,
        &mut port,
        &AllocMrArgs {
            encoding: Encoding::Checked,
            ..list_of(20)
        },
    );
    let error = without.expect_err("the index is not known");
    assert_eq!(error, DriverError::NoSecrets);
    driver.set_keys(port.unit.keys().clone());
    for encoding in Encoding::ALL.iter().copied() {
        let args = AllocMrArgs {
            encoding,
            ..list_of(20)
        };
        let mut mr = driver.alloc_mr(&mut host, &mut port, &args).expect("list");
        for (offset, length, writable) in
            [(0, 20 << 12, true), (0x800, 0x1000, true), (0, 9, false)]
        {
            let memory = Memory::Process {
                pid,
                addr: va + offset,
            };
            let range = (0x7000_0000 + offset, length);
            driver
                .map_pages(&mut host, &mut mr, &memory, range, writable)
                .expect("maps");
            assert_eq!(mr.range(), Some(range));
            let pages = mr.translation().expect("mapped").pages();
            assert_eq!(u64::from(host.stats().pinned_frames as u32), pages);
            for n in 0..20 {
                let word = host.mem.read_u64(mr.table().frame()[0] + 8 * n);
                let flags = match (encoding, writable) {
                    (Encoding::Raw, _) => 0,
                    (_, true) => 3,
                    (_, false) => 1,
                };
                let root = mr.table().frame()[0];
                let place = Place {
                    index: port.unit.keys().decode(mr.lkey()).1,
                    number: n + (root >> 3 & 0x1ff),
                    level: 1,
                };
                let page = |n: u64| host.translate(pid, va + (n << 12)).expect("present");
                let expected = match n < pages {
                    true if encoding == Encoding::Checked => Mtt {
                        pa: page(n),
                        writable,
                    }
                    .encode(encoding, place),
                    true => page(n) | flags,
                    false => 0,
                };
                assert_eq!(word, expected, "{encoding} page {n}");
            }
        }
        let gone = driver.dereg_fast(&mut host, &mut port, mr).expect("ends");
        assert!(matches!(gone, FastOutcome::Gone(_)));
        assert_eq!(host.stats().pinned_frames, 0);
        assert_eq!(host.stats().table_frames, 0);
    }
}

/// Mapping that fails changes nothing, and nothing is mapped under the device's nose.
#[test]
fn mapping_that_fails() {
    let (mut host, mut driver, mut port, pid, va) = setup(FRAGMENTED);
    let mut mr = driver
        .alloc_mr(&mut host, &mut port, &list_of(4))
        .expect("list");
    let at = |addr| Memory::Process { pid, addr };
    driver
        .map_pages(&mut host, &mut mr, &at(va), (va, 0x2000), true)
        .expect("maps");
    let held = host.stats();
    let word = host.mem.read_u64(mr.table().frame()[0]);
    let too_many = DriverError::Mtt(MttError::TooManyPages { pages: 5 });
    for (addr, iova, length, error) in [
        (va, va, 0, DriverError::ZeroLength),
        (va + 0x800, va + 0x800, 0x4000, too_many.clone()),
        (va, va, 0x4001, too_many),
        (
            va,
            va + 1,
            8,
            DriverError::PageOffset {
                iova: va + 1,
                addr: va,
            },
        ),
        (0, 0, 8, DriverError::Host(HostError::Unmapped { va: 0 })),
    ] {
        let got = driver.map_pages(&mut host, &mut mr, &at(addr), (iova, length), true);
        assert_eq!(got, Err(error), "{length:#x} bytes at {addr:#x}");
        assert_eq!(host.stats(), held);
        assert_eq!(host.mem.read_u64(mr.table().frame()[0]), word);
    }
    let mut mr = ready(
        driver
            .fast_reg(&mut host, &mut port, mr, LW | RR, 9)
            .expect("registers"),
    );
    let got = driver.map_pages(&mut host, &mut mr, &at(va), (va, 8), true);
    assert_eq!(got, Err(DriverError::Registered));
    assert_eq!(
        driver
            .map_pages(&mut host, &mut mr, &at(va), (va, 8), true)
            .map_err(|e| e.errno()),
        Err(Errno::Ebusy)
    );
    let gone = driver.dereg_fast(&mut host, &mut port, mr).expect("ends");
    assert!(matches!(gone, FastOutcome::Gone(_)), "registered or not");
    assert_eq!(host.stats().pinned_frames, 0);
}

/// Register, use, invalidate, register other memory: old keys are dead, pins follow the hardware.
#[test]
fn life_of_a_fast_registration() {
    let (mut host, mut driver, mut port, pid, va) = setup(FRAGMENTED);
    let mut mr = driver
        .alloc_mr(&mut host, &mut port, &list_of(8))
        .expect("list");
    let mut old = Vec::new();
    for n in 0..4u8 {
        let addr = va + u64::from(n) * 0x8000 + 0x123;
        let memory = Memory::Process { pid, addr };
        driver
            .map_pages(&mut host, &mut mr, &memory, (addr, 0x5000), true)
            .expect("maps");
        let tag = mr.lkey().tag().wrapping_add(1);
        mr = ready(
            driver
                .fast_reg(&mut host, &mut port, mr, LW | RW | RR, tag)
                .expect("registers"),
        );
        assert_eq!(mr.registered(), Some(LW | RW | RR));
        assert_eq!(mr.lkey().tag(), tag);
        let write = request(Op::RemoteWrite, mr.rkey(), addr + 0x1000, 8);
        let beat = port
            .unit
            .judge(&write)
            .beats(&write)
            .next()
            .expect("a beat");
        assert_eq!(Some(beat.pa), host.translate(pid, addr + 0x1000));
        for key in &old {
            assert_ne!(port.syndrome(Op::RemoteWrite, *key, addr, 8), Syndrome::Ok);
        }
        // A pinned page stays where it is.
        assert!(host.migrate(pid, addr).is_err());
        let (lkey, rkey) = (mr.lkey(), mr.rkey());
        mr = match n % 2 {
            0 => ready(driver.local_inv(&mut host, &mut port, mr).expect("ends")),
            _ => ready(driver.remote_inv(&mut host, &mut port, mr).expect("ends")),
        };
        assert_eq!(mr.registered(), None);
        assert_eq!(host.stats().pinned_frames, 0);
        assert!(host.migrate(pid, addr).is_ok(), "let go");
        assert_eq!(
            port.syndrome(Op::LocalRead, lkey, addr, 8),
            Syndrome::KeyState
        );
        old.push(rkey);
    }
    let again = driver.local_inv(&mut host, &mut port, mr);
    let unchanged = again.expect_err("nothing to end");
    assert_eq!(unchanged.error, DriverError::NotRegistered);
    let mr = *unchanged.mr.expect("the region lives");
    let gone = driver.dereg_fast(&mut host, &mut port, mr).expect("ends");
    let FastOutcome::Gone(released) = gone else {
        panic!("{gone:?}")
    };
    assert_eq!(released.tables.len(), 1);
    assert_eq!(host.stats().table_frames, 0);
}

/// Rights need pins: what was pinned for reading cannot be registered for writing.
#[test]
fn rights_fit_the_pins() {
    let (mut host, mut driver, mut port, pid, _) = setup(FRAGMENTED);
    let ro = host.mmap(pid, None, MIB, Prot::ReadOnly, K4).expect("mmap");
    let memory = Memory::Process { pid, addr: ro };
    let mut mr = driver
        .alloc_mr(&mut host, &mut port, &list_of(8))
        .expect("list");
    let unmapped = driver.fast_reg(&mut host, &mut port, mr, RR, 9);
    let unchanged = unmapped.expect_err("nothing is mapped");
    assert_eq!(unchanged.error, DriverError::NotMapped);
    mr = *unchanged.mr.expect("the region lives");
    let got = driver.map_pages(&mut host, &mut mr, &memory, (ro, 0x3000), true);
    assert_eq!(got, Err(HostError::Protection { va: ro }.into()));
    driver
        .map_pages(&mut host, &mut mr, &memory, (ro, 0x3000), false)
        .expect("for reading");
    for access in [LW, Access::MW_BIND, LW | RR] {
        let refused = driver.fast_reg(&mut host, &mut port, mr, access, 9);
        let unchanged = refused.expect_err("not writable");
        assert_eq!(unchanged.error, DriverError::NotMapped, "{access:?}");
        mr = *unchanged.mr.expect("the region lives");
    }
    for (access, errno) in [
        (RW, Errno::Einval),
        (Access::ON_DEMAND, Errno::Eopnotsupp),
        (Access(1 << 30), Errno::Einval),
    ] {
        let refused = driver.fast_reg(&mut host, &mut port, mr, access, 9);
        let unchanged = refused.expect_err("bad flags");
        assert_eq!(unchanged.error.errno(), errno, "{access:?}");
        mr = *unchanged.mr.expect("the region lives");
    }
    mr = ready(
        driver
            .fast_reg(&mut host, &mut port, mr, RR, 9)
            .expect("for reading"),
    );
    assert_eq!(
        port.syndrome(Op::RemoteRead, mr.rkey(), ro, 8),
        Syndrome::Ok
    );
    let unchanged = driver
        .fast_reg(&mut host, &mut port, mr, RR, 10)
        .expect_err("twice");
    assert_eq!(unchanged.error, DriverError::Registered);
    let mr = *unchanged.mr.expect("the region lives");
    assert!(driver.dereg_fast(&mut host, &mut port, mr).is_ok());
    assert_eq!(host.stats().pinned_frames, 0);
}

/// PENDING keeps the pins until the final completion; a lost command keeps them for ever.
#[test]
fn pins_outlive_the_fence() {
    let (mut host, mut driver, mut port, pid, va) = setup(FRAGMENTED);
    let before = host.stats();
    let memory = Memory::Process { pid, addr: va };
    let make = |host: &mut Host, driver: &mut Driver, port: &mut Port| {
        let mut mr = driver.alloc_mr(host, port, &list_of(8)).expect("list");
        driver
            .map_pages(host, &mut mr, &memory, (va, 0x4000), true)
            .expect("maps");
        ready(driver.fast_reg(host, port, mr, LW, 9).expect("registers"))
    };
    for dereg in [false, true] {
        let mr = make(&mut host, &mut driver, &mut port);
        let (command, handle) = match dereg {
            false => driver.prepare_local_inv(mr).expect("registered"),
            true => driver.prepare_dereg_fast(mr),
        };
        let plain = |status| Completion::plain(command.id, command.op, status);
        let pending = driver.finish_fast(&mut host, handle, &plain(Status::Pending));
        let Ok(FastOutcome::Pending(handle)) = pending else {
            panic!("{pending:?}")
        };
        assert_eq!(host.stats().pinned_frames, 4);
        let done = port.unit.command(&command, None);
        let outcome = driver.finish_fast(&mut host, handle, &done).expect("ends");
        assert_eq!(host.stats().pinned_frames, 0);
        if let FastOutcome::Ready(mr, released) = outcome {
            assert_eq!(released.frames.iter().map(|run| run.count).sum::<u64>(), 4);
            assert!(driver.dereg_fast(&mut host, &mut port, mr).is_ok());
        }
    }
    assert_eq!(host.stats(), before);
    // Refused: all stays as it is.
    let mut mr = make(&mut host, &mut driver, &mut port);
    for status in [Status::Busy, Status::Bound, Status::Bus] {
        port.say = Some(Ok(status));
        let unchanged = driver
            .local_inv(&mut host, &mut port, mr)
            .expect_err("refused");
        assert_eq!(unchanged.error, DriverError::Refused(status));
        assert_eq!(host.stats().pinned_frames, 4);
        mr = *unchanged.mr.expect("the region lives");
        assert_eq!(mr.registered(), Some(LW));
    }
    port.say = Some(Err(PortError::Lost("timeout".into())));
    let unchanged = driver
        .local_inv(&mut host, &mut port, mr)
        .expect_err("lost");
    assert!(unchanged.mr.is_none());
    assert_eq!((driver.lost(), host.stats().pinned_frames), (1, 4));
    // An answer to something else.
    let mr = make(&mut host, &mut driver, &mut port);
    let (command, handle) = driver.prepare_dereg_fast(mr);
    let other = Completion::plain(command.id, CmdOp::Query.code(), Status::Ok);
    assert!(driver.finish_fast(&mut host, handle, &other).is_err());
    assert_eq!(driver.lost(), 2);
    driver.release_lost(&mut host);
    assert_eq!(host.stats(), before);
}

/// Windows, as a program uses them, and what the driver refuses itself.
#[test]
fn windows() {
    let (mut host, mut driver, mut port, pid, va) = setup(FRAGMENTED);
    let args = RegArgs::process(pid, 7, va, MIB, LW | Access::MW_BIND);
    let mr = driver.reg(&mut host, &mut port, &args).expect("registers");
    for kind in [MwType::One, MwType::TwoA, MwType::TwoB] {
        let mut mw = driver
            .alloc_mw(&mut host, &mut port, 7, kind)
            .expect("window");
        let part = BindArgs::to(&mr, va + 0x1000, 0x2000, RW | RR).for_queue_pair(3, 0x55);
        // By the driver.
        let zero = Access::ZERO_BASED;
        let mut cases = vec![
            (
                BindArgs { access: LW, ..part },
                DriverError::UnknownFlags(1),
            ),
            (
                BindArgs {
                    qpn: 1 << 24,
                    ..part
                },
                DriverError::Qpn(1 << 24),
            ),
            (
                BindArgs {
                    mr_pd: Some(8),
                    ..part
                },
                DriverError::TwoDomains,
            ),
            (
                BindArgs {
                    addr: u64::MAX,
                    ..part
                },
                DriverError::Wrap {
                    start: u64::MAX,
                    length: 0x2000,
                },
            ),
        ];
        match kind {
            MwType::One => {
                let access = zero | RR;
                cases.push((
                    BindArgs { access, ..part },
                    DriverError::UnknownFlags(zero.0),
                ));
            }
            _ => cases.push((BindArgs { length: 0, ..part }, DriverError::ZeroLength)),
        }
        // By the unit.
        let outside = BindArgs {
            length: MIB,
            ..part
        };
        cases.push((outside, DriverError::Refused(Status::MrBounds)));
        for (args, error) in cases {
            let refused = driver.bind_mw(&mut host, &mut port, mw, &args);
            let unchanged = refused.expect_err("refused");
            assert_eq!(unchanged.error, error, "{kind:?}");
            mw = *unchanged.mw.expect("the window lives");
        }
        mw = window(
            driver
                .bind_mw(&mut host, &mut port, mw, &part)
                .expect("binds"),
        );
        assert_eq!(mw.bound(), Some(&part));
        let key = mw.rkey();
        assert_eq!(
            port.syndrome(Op::RemoteWrite, key, va + 0x1000, 8),
            Syndrome::Ok
        );
        assert_eq!(port.syndrome(Op::RemoteWrite, key, va, 8), Syndrome::Bounds);
        mw = match kind {
            MwType::One => {
                let nothing = BindArgs::nothing();
                window(
                    driver
                        .bind_mw(&mut host, &mut port, mw, &nothing)
                        .expect("unbinds"),
                )
            }
            MwType::TwoA => {
                let refused = driver.remote_inv_mw(&mut host, &mut port, mw, 4);
                let unchanged = refused.expect_err("another queue pair");
                assert_eq!(unchanged.error, DriverError::Refused(Status::KeyQp));
                let mw = *unchanged.mw.expect("the window lives");
                window(
                    driver
                        .remote_inv_mw(&mut host, &mut port, mw, 3)
                        .expect("ends"),
                )
            }
            MwType::TwoB => window(driver.local_inv_mw(&mut host, &mut port, mw).expect("ends")),
        };
        assert_eq!(mw.bound(), None);
        assert_ne!(
            port.syndrome(Op::RemoteWrite, key, va + 0x1000, 8),
            Syndrome::Ok
        );
        let refused = driver.local_inv_mw(&mut host, &mut port, mw);
        let unchanged = refused.expect_err("not bound");
        assert_eq!(unchanged.error, DriverError::NotRegistered);
        mw = *unchanged.mw.expect("the window lives");
        let gone = driver.dealloc_mw(&mut host, &mut port, mw).expect("freed");
        assert!(matches!(gone, MwOutcome::Gone));
    }
    assert_eq!(
        driver.prepare_alloc_mw(1 << 24, MwType::One).map(|_| ()),
        Err(DriverError::Pd(1 << 24))
    );
    let gone = driver.dereg_mr(&mut host, &mut port, mr).expect("ends");
    assert!(matches!(gone, DeregOutcome::Done(_)));
}

/// A region stays pinned while a window is bound to it, and while the unbinding is PENDING.
#[test]
fn windows_hold_their_region() {
    let (mut host, mut driver, mut port, pid, va) = setup(FRAGMENTED);
    let args = RegArgs::process(pid, 7, va, 0x4000, LW | Access::MW_BIND);
    let mut mr = driver.reg(&mut host, &mut port, &args).expect("registers");
    let mw = driver
        .alloc_mw(&mut host, &mut port, 7, MwType::TwoB)
        .expect("window");
    let part = BindArgs::to(&mr, va, 0x1000, RR).for_queue_pair(3, 1);
    let mw = window(
        driver
            .bind_mw(&mut host, &mut port, mw, &part)
            .expect("binds"),
    );
    let unchanged = driver
        .dereg_mr(&mut host, &mut port, mr)
        .expect_err("bound");
    assert_eq!(unchanged.error.errno(), Errno::Ebusy);
    assert_eq!(host.stats().pinned_frames, 4);
    mr = *unchanged.mr.expect("the region lives");
    let (command, handle) = driver.prepare_dealloc_mw(mw);
    let pending = Completion::plain(command.id, command.op, Status::Pending);
    let Ok(MwOutcome::Pending(handle)) = driver.finish_mw(handle, &pending) else {
        panic!("pending")
    };
    let done = port.unit.command(&command, None);
    let gone = driver.finish_mw(handle, &done).expect("freed");
    assert!(matches!(gone, MwOutcome::Gone));
    assert!(driver.dereg_mr(&mut host, &mut port, mr).is_ok());
    assert_eq!(host.stats().pinned_frames, 0);
    // Binds of type 2 know no PENDING.
    let mw = driver
        .alloc_mw(&mut host, &mut port, 7, MwType::TwoB)
        .expect("window");
    let (command, handle) = driver.prepare_bind_mw(mw, &part).expect("good");
    let pending = Completion::plain(command.id, command.op, Status::Pending);
    assert!(driver.finish_mw(handle, &pending).is_err());
    // Commands that were not sent leave the window as it is.
    let mw = driver
        .alloc_mw(&mut host, &mut port, 7, MwType::One)
        .expect("window");
    port.say = Some(Err(PortError::NotSent("down".into())));
    let unchanged = driver
        .dealloc_mw(&mut host, &mut port, mw)
        .expect_err("down");
    let mw = *unchanged.mw.expect("the window lives");
    port.say = Some(Err(PortError::Lost("timeout".into())));
    let unchanged = driver
        .dealloc_mw(&mut host, &mut port, mw)
        .expect_err("lost");
    assert!(unchanged.mw.is_none());
    let mut script = Script::say(Ok(Status::NoIndex));
    let refused = driver.alloc_mw(&mut host, &mut script, 7, MwType::One);
    assert_eq!(
        refused.map(|_| ()).map_err(|e| e.errno()),
        Err(Errno::Enomem)
    );
}

#[test]
fn physical_regions() {
    let (mut host, mut driver, mut port, ..) = setup(AllocMode::Contiguous);
    let args = PhysArgs {
        pd: 7,
        start: 0x1000,
        length: 0x1000,
        access: LW | RW,
    };
    let refused = driver.reg_phys(&mut host, &mut port, &args);
    assert_eq!(refused, Err(DriverError::NotPermitted));
    assert_eq!(DriverError::NotPermitted.errno(), Errno::Eperm);
    let mut driver = Driver::new(Caps {
        phys: true,
        ..Caps::default()
    });
    for (args, error) in [
        (PhysArgs { length: 0, ..args }, DriverError::ZeroLength),
        (
            PhysArgs {
                start: u64::MAX,
                ..args
            },
            DriverError::Wrap {
                start: u64::MAX,
                length: 0x1000,
            },
        ),
        (
            PhysArgs {
                access: Access::MW_BIND,
                ..args
            },
            DriverError::UnknownFlags(16),
        ),
        (PhysArgs { access: RW, ..args }, DriverError::NoLocalWrite),
        (
            PhysArgs {
                pd: 1 << 24,
                ..args
            },
            DriverError::Pd(1 << 24),
        ),
    ] {
        assert_eq!(driver.reg_phys(&mut host, &mut port, &args), Err(error));
    }
    port.unit.allow_phys(false);
    let refused = driver.reg_phys(&mut host, &mut port, &args);
    let refused = refused.expect_err("by the unit");
    assert_eq!(refused, DriverError::Refused(Status::Privilege));
    assert_eq!(refused.errno(), Errno::Eperm);
    port.unit.allow_phys(true);
    let before = host.stats();
    let mr = driver
        .reg_phys(&mut host, &mut port, &args)
        .expect("registers");
    assert_eq!(host.stats(), before, "nothing is pinned");
    assert_eq!(
        port.syndrome(Op::RemoteWrite, mr.rkey(), 0x1ff8, 8),
        Syndrome::Ok
    );
    assert_eq!(
        port.syndrome(Op::RemoteWrite, mr.rkey(), 0x1ff9, 8),
        Syndrome::Bounds
    );
    let command = driver.prepare_dereg_phys(&mr);
    let pending = Completion::plain(command.id, command.op, Status::Pending);
    assert_eq!(driver.finish_dereg_phys(&command, &pending), Ok(false));
    let done = port.unit.command(&command, None);
    assert_eq!(driver.finish_dereg_phys(&command, &done), Ok(true));
    assert_eq!(
        port.syndrome(Op::LocalRead, mr.lkey(), 0x1000, 8),
        Syndrome::KeyState
    );
}
