// SPDX-License-Identifier: Apache-2.0
//! The driver of the unit against the unit: the golden host registers through it, and it registers
//! memory of the golden host itself, both on the reference in software and on the RTL. Both get the
//! same requests, and every verdict and every address is compared with the host's page tables.

use std::ops::Range;
use std::sync::Arc;

use tpt_bench::driver::{Heap, QueuePort, RtlUnit, SoftUnit, Unit};
use tpt_bench::{Bench, BenchOptions, CommandExtra, DonePolicy, Issue};
use tpt_driver::mtt::{largest_page, Layout, Run};
use tpt_driver::verbs::{
    AllocMr, Bind, FastRegMr, Memory as DriverMemory, Progress, RegMr, ReregMr, WindowType,
};
use tpt_driver::{access, Config, Device, Encoding, Error, Limit, Platform, Wait};
use tpt_driver::{Op as DriverOp, Status as DriverStatus};
use tpt_golden::driver::fast::{AllocMrArgs, FastOutcome};
use tpt_golden::driver::window::{BindArgs, MwOutcome, MwType};
use tpt_golden::driver::{
    Caps, DeregOutcome, Driver, Memory, Mr, RegArgs, ReregArgs, ReregOutcome,
};
use tpt_golden::frames::{FrameList, Translation};
use tpt_golden::host::{AllocMode, Host, HostConfig, PageSize, Pid, Prot};
use tpt_golden::mem::PhysMem;
use tpt_golden::mtt::{best_page_size, frame_list, Shape, PAGE_SIZES};
use tpt_golden::regs;
use tpt_golden::types::{Access, Encoding as GoldenEncoding, Key, Op, Request, Status, Syndrome};

/// Polls of a wait: more than any command takes, and over soon if one hangs.
const LIMIT: Limit = Limit::Polls(20_000);
const PD: u32 = 0x2a;
const QPN: u32 = 0x77;

/// What a request was answered: segments, or a syndrome.
type Verdict = Result<Vec<(u64, u32)>, Syndrome>;

/// What the tests do to a unit beside its driver.
trait TestUnit: Unit + Sized {
    fn create() -> (Self, Host);
    fn request(&mut self, mem: &mut PhysMem, request: Request) -> Verdict;
    /// From now on fences do not end: somebody keeps a segment.
    fn hold(&mut self, mem: &mut PhysMem, request: Request);
    fn release(&mut self, mem: &mut PhysMem);
    fn heap(&self) -> &Heap;
}

fn host() -> Host {
    Host::new(HostConfig {
        mode: AllocMode::Fragmented { max_run: 4 },
        seed: 7,
        ..HostConfig::default()
    })
}

impl TestUnit for SoftUnit {
    fn create() -> (Self, Host) {
        (SoftUnit::default(), host())
    }

    fn request(&mut self, _mem: &mut PhysMem, request: Request) -> Verdict {
        let beats = self.device.request(0, &request);
        let last = beats.last().expect("a request has a beat");
        match last.syndrome {
            Syndrome::Ok => Ok(beats.iter().map(|b| (b.pa, b.len)).collect()),
            syndrome => Err(syndrome),
        }
    }

    fn hold(&mut self, _mem: &mut PhysMem, _request: Request) {
        self.device.hold_fences = true;
    }

    fn release(&mut self, _mem: &mut PhysMem) {
        self.device.release_fences();
    }

    fn heap(&self) -> &Heap {
        &self.heap
    }
}

impl TestUnit for RtlUnit {
    fn create() -> (Self, Host) {
        let mut host = host();
        let bench = Bench::new(&mut host.mem, BenchOptions::default()).expect("a model");
        (RtlUnit::new(bench, Heap::default()), host)
    }

    fn request(&mut self, mem: &mut PhysMem, request: Request) -> Verdict {
        let issue = Issue {
            keep_beats: true,
            ..Issue::default()
        };
        let outcome = self
            .bench
            .access_with(mem, 0, request, issue)
            .expect("the bench agrees");
        match outcome.syndrome {
            Syndrome::Ok => Ok(outcome.beats.iter().map(|b| (b.pa, b.len)).collect()),
            syndrome => Err(syndrome),
        }
    }

    fn hold(&mut self, mem: &mut PhysMem, request: Request) {
        self.bench.set_done_policy(1, DonePolicy::Withheld);
        let outcome = self.bench.access(mem, 1, request).expect("a request");
        assert_eq!(outcome.syndrome, Syndrome::Ok);
    }

    fn release(&mut self, mem: &mut PhysMem) {
        self.bench.set_done_policy(1, DonePolicy::IMMEDIATE);
        self.bench.release_dones(1);
        self.bench.run(mem, 20).expect("clocks");
    }

    fn heap(&self) -> &Heap {
        &self.heap
    }
}

fn config() -> Config {
    Config {
        mpt_entries: 64,
        perm_secret: [0x1111_2222, 0x3333_4444, 0x5555_6666, 0x7777_8888],
        tag_secret: [0x9999_aaaa, 0xbbbb_cccc, 0xdddd_eeee, 0xffff_0001],
        fence_time: 400,
        phys: true,
        log_commands: 3,
        log_completions: 3,
        ..Config::default()
    }
}

/// A unit that was started, with its host.
struct Bed<U> {
    port: QueuePort<U>,
    host: Host,
    pid: Pid,
    /// All that was answered.
    log: Vec<String>,
}

impl<U: TestUnit> Bed<U> {
    fn new() -> Self {
        let (unit, mut host) = U::create();
        let port = QueuePort::start(unit, &mut host.mem, &config(), LIMIT).expect("a start");
        let pid = host.spawn();
        Self {
            port,
            host,
            pid,
            log: Vec::new(),
        }
    }

    fn map(&mut self, bytes: u64, page: PageSize) -> u64 {
        let va = self
            .host
            .mmap(self.pid, None, bytes, Prot::ReadWrite, page)
            .expect("memory");
        self.host
            .touch(self.pid, va, bytes, true)
            .expect("memory is there");
        va
    }

    fn call<R>(&mut self, call: impl FnOnce(&mut Device, &mut &mut dyn Platform) -> R) -> R {
        self.port.call(&mut self.host.mem, call)
    }

    fn extra(&mut self, pages: Option<Translation>, release: Vec<Range<u64>>) {
        self.port.extra = CommandExtra { pages, release };
    }

    fn request(&mut self, op: Op, key: Key, va: u64, len: u32) -> Verdict {
        let request = request(op, key, va, len);
        let verdict = self.port.unit.request(&mut self.host.mem, request);
        self.log.push(format!("{request:?}: {verdict:?}"));
        verdict
    }

    /// A request that must be granted, with the addresses of the host's page tables.
    fn grant(&mut self, op: Op, key: Key, va: u64, len: u32) {
        let segments = self.request(op, key, va, len);
        let segments = segments.unwrap_or_else(|syndrome| panic!("{va:#x}: {syndrome:?}"));
        let mut at = va;
        for (pa, bytes) in segments {
            for byte in [0, u64::from(bytes) - 1] {
                let want = self.host.translate(self.pid, at + byte);
                assert_eq!(Some(pa + byte), want, "address {:#x}", at + byte);
            }
            at += u64::from(bytes);
        }
        assert_eq!(at, va + u64::from(len), "all bytes have an address");
    }

    fn refuse(&mut self, op: Op, key: Key, va: u64, len: u32, why: Syndrome) {
        assert_eq!(self.request(op, key, va, len), Err(why), "{op:?} {va:#x}");
    }

    fn note(&mut self, what: &str, keys: (Key, Key)) {
        self.log.push(format!("{what}: {keys:?}"));
    }
}

fn request(op: Op, key: Key, va: u64, len: u32) -> Request {
    Request {
        op: op.code(),
        key,
        va,
        len,
        pd: PD,
        qpn: QPN,
        ..Request::default()
    }
}

fn ranges(mr: &Mr) -> Vec<Range<u64>> {
    let table = mr.table().ranges();
    table.map(|r| r.pa..r.pa + r.len).collect()
}

/// `reg_mr` of the golden host in its two halves, so that the reference gets the true pages.
fn golden_reg<U: TestUnit>(bed: &mut Bed<U>, driver: &mut Driver, args: &RegArgs) -> Mr {
    let (command, handle) = driver.prepare_reg(&mut bed.host, args).expect("arguments");
    for range in handle.table().ranges() {
        bed.port.unit.allow(range.pa..range.pa + range.len);
    }
    bed.extra(Some(handle.translation()), Vec::new());
    let done = bed.port.send(&mut bed.host.mem, &command).expect("sent");
    let mr = driver
        .finish_reg(&mut bed.host, handle, &done)
        .expect("REG_MR");
    bed.note("registered", (mr.lkey(), mr.rkey()));
    mr
}

/// The golden host and its driver: every verb through registers and queues.
fn golden_verbs<U: TestUnit>() -> Vec<String> {
    let mut bed = Bed::<U>::new();
    let mut driver = Driver::new(Caps {
        phys: true,
        ..Caps::default()
    });
    let all = Access::LOCAL_WRITE
        | Access::REMOTE_WRITE
        | Access::REMOTE_READ
        | Access::REMOTE_ATOMIC
        | Access::MW_BIND;

    // Regions of one page, of a table, of huge pages, of another table shape.
    let small = bed.map(0x3000, PageSize::Size4K);
    let large = bed.map(3 << 20, PageSize::Size4K);
    let huge = bed.map(8 << 20, PageSize::Size2M);
    let mut mrs = Vec::new();
    for (va, bytes, shape) in [
        (small + 0x10, 0x2100, Shape::default()),
        (large + 0x123, (3 << 20) - 0x400, Shape::pages_of(12)),
        (huge, 8 << 20, Shape::default()),
        (
            large,
            64 << 12,
            Shape {
                log_page: Some(12),
                level: Some(3),
                encoding: GoldenEncoding::Flagged,
                ..Shape::default()
            },
        ),
    ] {
        let args = RegArgs::process(bed.pid, PD, va, bytes, all).with_shape(shape);
        let mr = golden_reg(&mut bed, &mut driver, &args);
        for (at, len) in [(va, 1), (va + bytes / 2 - 7, 4100), (va + bytes - 9, 9)] {
            bed.grant(Op::RemoteWrite, mr.rkey(), at, len);
            bed.grant(Op::LocalRead, mr.lkey(), at, len);
        }
        bed.refuse(
            Op::RemoteRead,
            mr.rkey(),
            va + bytes - 1,
            2,
            Syndrome::Bounds,
        );
        bed.refuse(Op::RemoteRead, mr.lkey(), va, 1, Syndrome::KeyTag);
        mrs.push(mr);
    }

    // QUERY, blocking.
    let entry = driver
        .query_mr(&mut bed.host, &mut bed.port, &mrs[0])
        .expect("QUERY");
    bed.log.push(format!("entry {entry:02x?}"));
    assert_ne!(entry, [0; 64]);

    // REREG_MR: other rights, new keys.
    let old = (mrs[0].lkey(), mrs[0].rkey());
    let change = ReregArgs {
        access: Some(Access::REMOTE_READ),
        ..ReregArgs::default()
    };
    let (command, handle) = driver
        .prepare_rereg(&mut bed.host, mrs.remove(0), change)
        .expect("a change");
    bed.extra(Some(handle.translation()), Vec::new());
    let done = bed.port.send(&mut bed.host.mem, &command).expect("sent");
    let mr = match driver.finish_rereg(&mut bed.host, handle, &done) {
        Ok(ReregOutcome::Done(mr, _)) => mr,
        other => panic!("{other:?}"),
    };
    assert_ne!((mr.lkey(), mr.rkey()), old);
    bed.refuse(Op::RemoteRead, old.1, small + 0x10, 4, Syndrome::KeyTag);
    bed.grant(Op::RemoteRead, mr.rkey(), small + 0x10, 4);
    bed.refuse(
        Op::RemoteWrite,
        mr.rkey(),
        small + 0x10,
        4,
        Syndrome::Rights,
    );
    mrs.push(mr);

    // A window over the second region, refused out of bounds first.
    let mut mw = driver
        .alloc_mw(&mut bed.host, &mut bed.port, PD, MwType::TwoB)
        .expect("ALLOC_MW");
    let big = &mrs[0];
    let outside =
        BindArgs::to(big, large + (3 << 20), 16, Access::REMOTE_READ).for_queue_pair(QPN, 3);
    let unchanged = driver
        .bind_mw(&mut bed.host, &mut bed.port, mw, &outside)
        .expect_err("not inside");
    assert_eq!(
        unchanged.error,
        tpt_golden::driver::DriverError::Refused(Status::MrBounds)
    );
    mw = *unchanged.mw.expect("the window lives");
    let inside =
        BindArgs::to(big, large + 0x2000, 0x1000, Access::REMOTE_READ).for_queue_pair(QPN, 3);
    mw = match driver.bind_mw(&mut bed.host, &mut bed.port, mw, &inside) {
        Ok(MwOutcome::Ready(mw)) => mw,
        other => panic!("{other:?}"),
    };
    bed.note("bound", (Key::NONE, mw.rkey()));
    bed.grant(Op::RemoteRead, mw.rkey(), large + 0x2ff0, 16);
    bed.refuse(
        Op::RemoteRead,
        mw.rkey(),
        large + 0x2ff1,
        16,
        Syndrome::Bounds,
    );
    // The region cannot go before its window.
    let (command, handle) = driver.prepare_dereg(mrs.remove(0));
    let done = bed.port.send(&mut bed.host.mem, &command).expect("sent");
    let unchanged = driver
        .finish_dereg(&mut bed.host, handle, &done)
        .expect_err("bound");
    mrs.insert(0, *unchanged.mr.expect("the region lives"));
    let rkey = mw.rkey();
    mw = match driver.local_inv_mw(&mut bed.host, &mut bed.port, mw) {
        Ok(MwOutcome::Ready(mw)) => mw,
        other => panic!("{other:?}"),
    };
    bed.refuse(Op::RemoteRead, rkey, large + 0x2000, 16, Syndrome::KeyState);
    assert!(matches!(
        driver.dealloc_mw(&mut bed.host, &mut bed.port, mw),
        Ok(MwOutcome::Gone)
    ));

    // Fast registration.
    let args = AllocMrArgs {
        pd: PD,
        pages: 16,
        log_page: 12,
        encoding: GoldenEncoding::Flagged,
        remote_inv: true,
    };
    let mut fast = driver
        .alloc_mr(&mut bed.host, &mut bed.port, &args)
        .expect("ALLOC_MR");
    for range in fast.table().ranges() {
        bed.port.unit.allow(range.pa..range.pa + range.len);
    }
    let memory = Memory::Process {
        pid: bed.pid,
        addr: large + 0x5000,
    };
    driver
        .map_pages(
            &mut bed.host,
            &mut fast,
            &memory,
            (large + 0x5000, 0x8000),
            true,
        )
        .expect("pages");
    let pages: Translation = fast.translation().expect("mapped");
    bed.extra(Some(pages), Vec::new());
    let (command, handle) = driver
        .prepare_fast_reg(fast, Access::LOCAL_WRITE | Access::REMOTE_WRITE, 0x5a)
        .expect("rights");
    let done = bed.port.send(&mut bed.host.mem, &command).expect("sent");
    fast = match driver.finish_fast(&mut bed.host, handle, &done) {
        Ok(FastOutcome::Ready(fast, _)) => fast,
        other => panic!("{other:?}"),
    };
    bed.note("fast", (fast.lkey(), fast.rkey()));
    bed.grant(Op::RemoteWrite, fast.rkey(), large + 0x5ffc, 8);
    fast = match driver.remote_inv(&mut bed.host, &mut bed.port, fast) {
        Ok(FastOutcome::Ready(fast, _)) => fast,
        other => panic!("{other:?}"),
    };
    bed.refuse(
        Op::RemoteWrite,
        fast.rkey(),
        large + 0x5ffc,
        8,
        Syndrome::KeyState,
    );
    assert!(matches!(
        driver.dereg_fast(&mut bed.host, &mut bed.port, fast),
        Ok(FastOutcome::Gone(_))
    ));

    // A deregistration that somebody holds up: PENDING, pins and table stay; then all is given back.
    let mr = mrs.pop().expect("a region");
    let read = request(Op::RemoteRead, mr.rkey(), small + 0x10, 4);
    bed.port.unit.hold(&mut bed.host.mem, read);
    let release = ranges(&mr);
    let pinned = bed.host.stats().pinned_frames;
    let (command, handle) = driver.prepare_dereg(mr);
    bed.extra(None, release);
    let done = bed.port.send(&mut bed.host.mem, &command).expect("sent");
    assert_eq!(done.status, Status::Pending);
    let Ok(DeregOutcome::Pending(handle)) = driver.finish_dereg(&mut bed.host, handle, &done)
    else {
        panic!("not pending");
    };
    assert_eq!(bed.host.stats().pinned_frames, pinned, "pins stay");
    let key = handle.mr().rkey();
    bed.refuse(Op::RemoteRead, key, small + 0x10, 4, Syndrome::KeyState);
    bed.port.unit.release(&mut bed.host.mem);
    let done = bed
        .port
        .finish(&mut bed.host.mem, handle.id())
        .expect("the final completion");
    assert!(matches!(
        driver.finish_dereg(&mut bed.host, handle, &done),
        Ok(DeregOutcome::Done(_))
    ));

    for mr in mrs {
        let key = mr.rkey();
        let va = mr.iova();
        let release = ranges(&mr);
        bed.extra(None, release);
        assert!(matches!(
            driver.dereg_mr(&mut bed.host, &mut bed.port, mr),
            Ok(DeregOutcome::Done(_))
        ));
        bed.refuse(Op::RemoteRead, key, va, 4, Syndrome::KeyState);
    }
    assert_eq!(bed.host.stats().pinned_frames, 0, "nothing stays pinned");
    assert_eq!(driver.lost(), 0);
    let stats = bed.port.device.stats;
    assert!(
        stats.completions > stats.commands,
        "one was PENDING: {stats:?}"
    );
    assert!(stats.command_doorbells > 8, "the rings have come round");
    bed.port.stop(&mut bed.host.mem).expect("a stop");
    assert_eq!(bed.port.unit.heap().taken(), 0, "memory of the driver");
    bed.log
}

#[test]
fn the_golden_host_registers_through_the_queue_the_same_on_both_units() {
    let soft = golden_verbs::<SoftUnit>();
    let rtl = golden_verbs::<RtlUnit>();
    for (soft, rtl) in soft.iter().zip(&rtl) {
        assert_eq!(soft, rtl);
    }
    assert_eq!(soft.len(), rtl.len());
    assert!(soft.len() > 40, "{} answers", soft.len());
}

/// The pinned memory of a range, as runs, and what the reference is to know of its pages.
fn pin(host: &mut Host, pid: Pid, va: u64, bytes: u64) -> (Vec<Run>, tpt_golden::host::Pinned) {
    let pinned = host.pin(pid, va, bytes, true).expect("memory");
    let run = |r: &tpt_golden::host::PhysRange| Run {
        address: r.pa,
        bytes: r.len,
    };
    (pinned.ranges().iter().map(run).collect(), pinned)
}

fn pages(pinned: &tpt_golden::host::Pinned, va: u64, log_page: u8) -> Arc<FrameList> {
    Arc::new(frame_list(&pinned.ranges(), va, log_page, true).expect("the page size fits"))
}

/// The driver's own tables and its calls.
fn driver_verbs<U: TestUnit>() -> Vec<String> {
    let mut bed = Bed::<U>::new();
    let rights = access::LOCAL_WRITE | access::REMOTE_WRITE | access::REMOTE_READ | access::MW_BIND;
    let small = bed.map(2 << 20, PageSize::Size4K);
    let huge = bed.map(8 << 20, PageSize::Size2M);

    let default = Layout::default();
    let layouts = [
        (small + 0x800, 0x1000, default),
        (small, 2 << 20, default),
        (huge + 0x1234, 5 << 20, default),
        (
            small + 0x3000,
            0x20_000,
            Layout {
                log_page: Some(12),
                level: Some(3),
                encoding: Encoding::Flagged,
                ..default
            },
        ),
        (
            small + 0x3000,
            0x20_000,
            Layout {
                level: Some(5),
                ..default
            },
        ),
        (
            small + 0x3000,
            0x20_000,
            Layout {
                level: Some(2),
                log_tpage: Some(14),
                ..default
            },
        ),
    ];
    let mut regions = Vec::new();
    for (va, bytes, layout) in layouts {
        let (runs, pinned) = pin(&mut bed.host, bed.pid, va, bytes);
        let best = largest_page(&runs, va, bytes).expect("a page size");
        let golden = best_page_size(&pinned.ranges(), va, PAGE_SIZES).expect("a page size");
        assert_eq!(best, golden, "the largest page of {va:#x}");
        let log_page = layout.log_page.unwrap_or(best);
        bed.port.unit.expect(CommandExtra {
            pages: Some(pages(&pinned, va, log_page)),
            release: Vec::new(),
        });
        let args = RegMr {
            pd: PD,
            start: va,
            length: bytes,
            access: rights,
            memory: DriverMemory::Runs(&runs, layout),
        };
        let region = bed
            .call(|device, p| device.reg_mr(p, &args, LIMIT))
            .expect("REG_MR");
        let keys = (Key(region.lkey()), Key(region.rkey()));
        bed.note("registered", keys);
        for (at, len) in [(va, 1), (va + bytes / 2 - 7, 2000), (va + bytes - 9, 9)] {
            bed.grant(Op::RemoteWrite, keys.1, at, len);
            bed.grant(Op::LocalWrite, keys.0, at, len);
        }
        bed.refuse(Op::RemoteRead, keys.1, va - 1, 1, Syndrome::Bounds);
        regions.push((region, pinned, va));
    }

    // REREG_MR to other memory, and the old table is given back.
    let taken = bed.port.unit.heap().taken();
    let (va, bytes) = (small + 0x1_0000, 0x1_0000);
    let (runs, pinned) = pin(&mut bed.host, bed.pid, va, bytes);
    let log_page = largest_page(&runs, va, bytes).expect("a page size");
    bed.port.unit.expect(CommandExtra {
        pages: Some(pages(&pinned, va, log_page)),
        release: Vec::new(),
    });
    let change = ReregMr {
        translation: Some((va, bytes, DriverMemory::Runs(&runs, default))),
        access: Some(access::REMOTE_READ),
        ..ReregMr::default()
    };
    let (region, old, at) = &mut regions[1];
    let key = Key(region.rkey());
    let changed = bed.call(|device, p| device.rereg_mr(p, region, &change, LIMIT));
    assert_eq!(changed, Ok(Progress::Done));
    bed.host.unpin(std::mem::replace(old, pinned));
    *at = va;
    let new = Key(region.rkey());
    bed.refuse(Op::RemoteRead, key, va, 4, Syndrome::KeyTag);
    bed.grant(Op::RemoteRead, new, va + 0xffe, 4);
    bed.refuse(Op::RemoteWrite, new, va, 4, Syndrome::Rights);
    assert_eq!(bed.port.unit.heap().taken(), taken, "one table for another");

    // A window of type 1 and one of type 2: bound, used, PENDING, unbound, freed.
    for kind in [WindowType::One, WindowType::TwoB] {
        let mut window = bed
            .call(|device, p| device.alloc_mw(p, PD, kind, LIMIT))
            .expect("ALLOC_MW");
        let (region, _, va) = &regions[0];
        let va = *va;
        let mut bind = Bind {
            mkey: region.lkey(),
            start: va + 0x10,
            length: 0x1000,
            access: access::REMOTE_WRITE,
            qpn: 0,
            tag: 0,
        };
        if kind == WindowType::TwoB {
            (bind.qpn, bind.tag) = (QPN, 9);
        }
        let refused = bed.call(|device, p| device.bind_mw(p, &mut window, &bind, LIMIT));
        let want = Error::Refused {
            op: DriverOp::BindMw,
            status: DriverStatus::MrBounds,
        };
        assert_eq!(refused, Err(want));
        assert!(!window.is_bound());
        bind.length = 0xff0;
        let bound = bed.call(|device, p| device.bind_mw(p, &mut window, &bind, LIMIT));
        assert_eq!(bound, Ok(Progress::Done));
        let key = Key(window.rkey());
        bed.note("bound", (Key::NONE, key));
        bed.grant(Op::RemoteWrite, key, va + 0x10, 0xff0);
        bed.refuse(Op::RemoteWrite, key, va + 0xf, 1, Syndrome::Bounds);
        let write = request(Op::RemoteWrite, key, va + 0x10, 4);
        bed.port.unit.hold(&mut bed.host.mem, write);
        let unbound = bed.call(|device, p| device.unbind_mw(p, &mut window, LIMIT));
        assert_eq!(unbound, Ok(Progress::Pending));
        let busy = bed.call(|device, p| device.bind_mw(p, &mut window, &bind, LIMIT));
        assert!(matches!(busy, Err(Error::State { .. })), "{busy:?}");
        bed.port.unit.release(&mut bed.host.mem);
        let unbound = bed.call(|device, p| device.resume_mw(p, &mut window, LIMIT));
        assert_eq!(unbound, Ok(Progress::Done));
        assert!(!window.is_bound());
        let freed = bed.call(|device, p| device.dealloc_mw(p, &mut window, LIMIT));
        assert_eq!(freed, Ok(Progress::Done));
        bed.refuse(Op::RemoteWrite, key, va + 0x10, 4, Syndrome::KeyState);
    }

    // Fast registration, twice with the same page list.
    let args = AllocMr {
        pd: PD,
        pages: 8,
        log_page: 12,
        encoding: Encoding::Flagged,
        remote_inv: false,
    };
    let mut fast = bed
        .call(|device, p| device.alloc_mr(p, &args, LIMIT))
        .expect("ALLOC_MR");
    for (tag, va) in [(1, small + 0x4000), (2, small + 0x9000)] {
        let (runs, pinned) = pin(&mut bed.host, bed.pid, va, 0x3000);
        bed.port.unit.expect(CommandExtra {
            pages: Some(pages(&pinned, va, 12)),
            release: Vec::new(),
        });
        let args = FastRegMr {
            runs: &runs,
            writable: true,
            start: va,
            length: 0x3000,
            access: access::LOCAL_WRITE | access::REMOTE_WRITE,
            tag,
        };
        let registered = bed.call(|device, p| device.fast_reg_mr(p, &mut fast, &args, LIMIT));
        assert_eq!(registered, Ok(()));
        assert_eq!(fast.rkey() & 0xff, u32::from(tag));
        let again = bed.call(|device, p| device.fast_reg_mr(p, &mut fast, &args, LIMIT));
        assert!(matches!(again, Err(Error::State { .. })), "{again:?}");
        bed.grant(Op::RemoteWrite, Key(fast.rkey()), va + 0xffe, 0x1004);
        let ended = bed.call(|device, p| device.invalidate_mr(p, &mut fast, LIMIT));
        assert_eq!(ended, Ok(Progress::Done));
        bed.refuse(Op::RemoteWrite, Key(fast.rkey()), va, 4, Syndrome::KeyState);
        bed.host.unpin(pinned);
    }
    assert_eq!(
        bed.call(|device, p| device.dereg_fast(p, &mut fast, LIMIT)),
        Ok(Progress::Done)
    );

    // A physical region, and a query of it.
    let mut phys = bed
        .call(|device, p| device.reg_phys(p, PD, (0x12_3456, 0x1000), access::REMOTE_READ, LIMIT))
        .expect("REG_PHYS");
    let entry = bed
        .call(|device, p| device.query(p, phys.lkey(), PD, LIMIT))
        .expect("QUERY");
    bed.log.push(format!("entry {entry:02x?}"));
    let verdict = bed.request(Op::RemoteRead, Key(phys.rkey()), 0x12_3460, 16);
    assert_eq!(verdict, Ok(vec![(0x12_3460, 16)]));
    assert_eq!(
        bed.call(|device, p| device.dereg_mr(p, &mut phys, LIMIT)),
        Ok(Progress::Done)
    );
    let again = bed.call(|device, p| device.dereg_mr(p, &mut phys, LIMIT));
    assert!(matches!(again, Err(Error::State { .. })), "{again:?}");

    // PENDING: the table stays until the final completion, then it is given back.
    let (mut region, pinned, va) = regions.pop().expect("a region");
    let read = request(Op::RemoteRead, Key(region.rkey()), va, 4);
    bed.port.unit.hold(&mut bed.host.mem, read);
    let taken = bed.port.unit.heap().taken();
    let ended = bed.call(|device, p| device.dereg_mr(p, &mut region, LIMIT));
    assert_eq!(ended, Ok(Progress::Pending));
    assert!(region.is_pending());
    drop(bed.request(Op::RemoteRead, Key(region.rkey()), va, 4));
    assert_eq!(bed.port.unit.heap().taken(), taken, "the table stays");
    bed.port.unit.release(&mut bed.host.mem);
    let ended = bed.call(|device, p| device.resume(p, &mut region, LIMIT));
    assert_eq!(ended, Ok(Progress::Done));
    assert!(region.is_gone() && bed.port.unit.heap().taken() < taken);
    bed.host.unpin(pinned);

    // Interrupt, refusals, counters.
    let bits = bed
        .call(|device, p| device.take_interrupts(p))
        .expect("INT_STATUS");
    assert_ne!(bits & regs::int_status::CLEAR_DONE, 0);
    assert_ne!(bits & regs::int_status::REFUSED, 0);
    bed.call(|device, p| device.arm(p)).expect("armed");
    let (mut first, pinned, _) = regions.remove(0);
    assert_eq!(
        bed.call(|device, p| device.dereg_mr(p, &mut first, LIMIT)),
        Ok(Progress::Done)
    );
    bed.host.unpin(pinned);
    // The interrupt comes when memory has answered; the completion may have been seen before.
    let bits = bed.call(|device, p| {
        (0..100).find_map(|_| {
            p.idle().expect("a clock");
            Some(device.take_interrupts(p).expect("INT_STATUS")).filter(|bits| *bits != 0)
        })
    });
    assert_eq!(
        bits.map(|b| b & regs::int_status::COMPLETION),
        Some(regs::int_status::COMPLETION)
    );
    assert_eq!(bed.call(|device, p| device.take_interrupts(p)), Ok(0));
    let (count, log) = bed.call(|device, p| device.refusals(p)).expect("LOG");
    let counts = bed
        .call(|device, p| device.refusal_counts(p))
        .expect("SYN_COUNT");
    assert_eq!(log.len(), 4);
    assert_eq!(u32::from(log[0].number), count - 1);
    assert_eq!(counts.iter().map(|(_, n)| n).sum::<u32>(), count);
    let bounds = Syndrome::Bounds.code();
    let bounds = counts.iter().find(|(code, _)| *code == bounds);
    assert!(bounds.is_some_and(|(_, n)| *n > 0));
    let counters = bed.call(|device, p| device.counters(p)).expect("counters");
    assert!(counters.contains(&("Refused", count)), "{counters:?}");
    bed.log.push(format!("refusals {counts:?}"));

    // A stop ends the other regions; then their memory can be given back.
    bed.port.stop(&mut bed.host.mem).expect("a stop");
    for (region, pinned, _) in regions {
        bed.call(|device, p| device.release(p, region))
            .expect("stopped");
        drop(pinned);
    }
    assert_eq!(bed.port.unit.heap().taken(), 0);
    bed.log
}

#[test]
fn the_driver_registers_with_its_own_tables_the_same_on_both_units() {
    let soft = driver_verbs::<SoftUnit>();
    let rtl = driver_verbs::<RtlUnit>();
    for (soft, rtl) in soft.iter().zip(&rtl) {
        assert_eq!(soft, rtl);
    }
    assert_eq!(soft.len(), rtl.len());
}
