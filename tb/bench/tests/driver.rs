// SPDX-License-Identifier: Apache-2.0
//! The driver of the unit against the unit: the golden host registers through it, and it registers
//! memory of the golden host itself, both on the reference in software and on the RTL. Both get the
//! same requests, and every verdict and every address is compared with the host's page tables.

use std::ops::Range;
use std::sync::Arc;

use tpt_bench::driver::{Heap, QueuePort, RtlUnit, SoftUnit, Unit};
use tpt_bench::{Bench, BenchOptions, CommandExtra, DonePolicy, Issue};
use tpt_driver::mtt::{largest_page, Layout, MttError, Run};
use tpt_driver::paging::{Answer, PageFault};
use tpt_driver::verbs::{
    AllocMr, Bind, FastRegMr, Memory as DriverMemory, Progress, RegMr, Region, ReregMr, WindowType,
};
use tpt_driver::{access, Config, Device, Encoding, Error, Limit, Platform, Wait};
use tpt_driver::{Op as DriverOp, Status as DriverStatus};
use tpt_golden::driver::fast::{AllocMrArgs, FastOutcome};
use tpt_golden::driver::window::{BindArgs, MwOutcome, MwType};
use tpt_golden::driver::{
    Caps, DeregOutcome, Driver, Memory, Mr, RegArgs, ReregArgs, ReregOutcome,
};
use tpt_golden::frames::{FrameList, Page, PagedList, Translation};
use tpt_golden::host::{AllocMode, Host, HostConfig, PageSize, Pid, Prot};
use tpt_golden::mem::PhysMem;
use tpt_golden::mtt::{best_page_size, frame_list, Shape, PAGE_SIZES};
use tpt_golden::regs;
use tpt_golden::types::Syndrome;
use tpt_golden::types::{Access, Beat, Encoding as GoldenEncoding, Key, Op, Request, Status};

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
    /// A request that may have to wait.
    fn issue(&mut self, client: usize, request: Request);
    /// Its answer, within so many clocks.
    fn answer(&mut self, mem: &mut PhysMem, client: usize, clocks: u64) -> Option<Verdict>;
    fn clock(&mut self, mem: &mut PhysMem) -> u64 {
        self.platform(mem).now().expect("a clock")
    }
    /// From now on fences do not end: somebody keeps a segment.
    fn hold(&mut self, mem: &mut PhysMem, request: Request);
    fn release(&mut self, mem: &mut PhysMem);
    fn heap(&self) -> &Heap;
}

fn verdict(beats: &[Beat]) -> Verdict {
    let last = beats.last().expect("a request has a beat");
    match last.syndrome {
        Syndrome::Ok => Ok(beats.iter().map(|b| (b.pa, b.len)).collect()),
        syndrome => Err(syndrome),
    }
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
        verdict(&self.device.request(0, &request))
    }

    fn issue(&mut self, client: usize, request: Request) {
        self.device.issue(client as u32, &request);
    }

    fn answer(&mut self, _mem: &mut PhysMem, client: usize, _clocks: u64) -> Option<Verdict> {
        self.device.poll(client as u32).map(|beats| verdict(&beats))
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
        verdict(&outcome.beats)
    }

    fn issue(&mut self, client: usize, request: Request) {
        let issue = Issue {
            keep_beats: true,
            ..Issue::default()
        };
        self.bench.issue_with(client, request, issue);
    }

    fn answer(&mut self, mem: &mut PhysMem, client: usize, clocks: u64) -> Option<Verdict> {
        for _ in 0..clocks {
            if let Some(outcome) = self.bench.poll_client(client) {
                return Some(verdict(&outcome.beats));
            }
            self.bench.run(mem, 1).expect("clocks");
        }
        None
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
    // Encoding CHECKED in each kind of table.
    let checked = [
        (None, None),
        (Some(1), None),
        (Some(2), None),
        (Some(3), Some(13)),
        (Some(5), None),
    ];
    let checked = checked.map(|(level, log_tpage)| Layout {
        log_page: Some(12),
        level,
        log_tpage,
        encoding: Encoding::Checked,
        ..default
    });
    let checked = checked.map(|layout| (small + 0x1_0004, 0x20_000, layout));
    let mut regions = Vec::new();
    for (va, bytes, layout) in layouts.into_iter().chain(checked) {
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

    // To a table of encoding CHECKED, and from one: the index is known before.
    for encoding in [Encoding::Checked, Encoding::Flagged] {
        let layout = Layout {
            log_page: Some(12),
            encoding,
            ..default
        };
        let (va, bytes) = (small + 0x3_0000, 0x2_0000);
        let (runs, pinned) = pin(&mut bed.host, bed.pid, va, bytes);
        bed.port.unit.expect(CommandExtra {
            pages: Some(pages(&pinned, va, 12)),
            release: Vec::new(),
        });
        let change = ReregMr {
            translation: Some((va, bytes, DriverMemory::Runs(&runs, layout))),
            access: Some(rights),
            ..ReregMr::default()
        };
        let (region, old, at) = &mut regions[1];
        let index = region.index();
        let changed = bed.call(|device, p| device.rereg_mr(p, region, &change, LIMIT));
        assert_eq!(changed, Ok(Progress::Done));
        assert_eq!(region.index(), index);
        let key = Key(region.rkey());
        bed.host.unpin(std::mem::replace(old, pinned));
        *at = va;
        bed.grant(Op::RemoteWrite, key, va + 0x1_fff0, 16);
        bed.grant(Op::RemoteRead, key, va + 0xffe, 0x8000);
    }

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
    for encoding in [Encoding::Flagged, Encoding::Checked] {
        let args = AllocMr {
            pd: PD,
            pages: 8,
            log_page: 12,
            encoding,
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
    }

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

/// An on-demand region, what it truly has, and the frames of its pages.
struct Paged {
    region: Region,
    truth: Arc<PagedList>,
    start: u64,
}

const FRAME: u64 = 1 << 34;

impl<U: TestUnit> Bed<U> {
    fn reg_demand(&mut self, start: u64, bytes: u64, layout: Layout) -> Paged {
        let truth = Arc::new(PagedList::new(layout.log_page.unwrap_or(12)));
        self.port.unit.expect(CommandExtra {
            pages: Some(truth.clone()),
            release: Vec::new(),
        });
        let args = RegMr {
            pd: PD,
            start,
            length: bytes,
            access: access::LOCAL_WRITE | access::REMOTE_WRITE | access::REMOTE_READ,
            memory: DriverMemory::OnDemand(layout),
        };
        let region = self
            .call(|device, p| device.reg_mr(p, &args, LIMIT))
            .expect("REG_MR on demand");
        assert!(region.is_on_demand());
        self.note("on demand", (Key(region.lkey()), Key(region.rkey())));
        Paged {
            region,
            truth,
            start,
        }
    }

    /// Waits for the interrupt of a page fault, and takes it.
    fn fault(&mut self) -> PageFault {
        let fault = self.call(|device, p| {
            (0..2000).find_map(|_| {
                p.idle().expect("a clock");
                let bits = device.take_interrupts(p).expect("INT_STATUS");
                match bits & regs::int_status::PAGE_FAULT {
                    0 => None,
                    _ => Some(device.take_fault(p).expect("FAULT").expect("a fault")),
                }
            })
        });
        let fault = fault.expect("a page fault");
        self.log.push(format!(
            "fault: index {} page {} va {:x?} write {} held {} client {}",
            fault.index(),
            fault.page(),
            fault.va(),
            fault.writes(),
            fault.held(),
            fault.client()
        ));
        fault
    }

    fn map_page(&mut self, paged: &mut Paged, page: u64, frame: u64, writable: bool) {
        let pa = FRAME + (frame << 12);
        let now = self.port.unit.clock(&mut self.host.mem);
        paged.truth.set(page, Page::Present { pa, writable }, now);
        let region = &paged.region;
        self.call(|device, p| device.map_page(p, region, page, pa, writable))
            .expect("an entry");
    }

    fn unmap(&mut self, paged: &mut Paged, first: u64, count: u64) -> Result<Progress, Error> {
        let now = self.port.unit.clock(&mut self.host.mem);
        for page in first..first + count {
            paged.truth.set(page, Page::Absent, now);
        }
        let region = &mut paged.region;
        self.call(|device, p| device.unmap_pages(p, region, first, count, LIMIT))
    }

    fn issue(&mut self, client: usize, op: Op, key: u32, va: u64, len: u32) {
        let request = request(op, Key(key), va, len);
        self.port.unit.issue(client, request);
    }

    fn answered(&mut self, client: usize) -> Verdict {
        let answer = self.port.unit.answer(&mut self.host.mem, client, 2000);
        let answer = answer.expect("an answer");
        self.log.push(format!("client {client}: {answer:x?}"));
        answer
    }

    fn waits(&mut self, client: usize) {
        let answer = self.port.unit.answer(&mut self.host.mem, client, 300);
        assert_eq!(answer, None, "it is held");
    }
}

/// Page faults through the driver: pages come and go.
fn page_faults<U: TestUnit>() -> Vec<String> {
    let mut bed = Bed::<U>::new();
    let ready = |bed: &mut Bed<U>, fault: &mut PageFault| {
        let done = bed.call(|device, p| device.page_ready(p, fault, LIMIT));
        assert_eq!(done, Ok(()));
    };
    let start = 0x7f00_0000_0800;
    for encoding in [Encoding::Raw, Encoding::Flagged, Encoding::Checked] {
        for level in [None, Some(2), Some(3), Some(5)] {
            let layout = Layout {
                level,
                encoding,
                ..Layout::default()
            };
            // 601 pages: table pages of level 2 and 3 have neighbours.
            let mut paged = bed.reg_demand(start, 600 << 12, layout);
            let at = |page: u64| start - 0x800 + (page << 12);
            let key = paged.region.rkey();

            // Fault, page in, granted.
            let writable = encoding == Encoding::Raw;
            for (n, page) in [0, 1, 511, 512, 600].into_iter().enumerate() {
                let va = at(page).max(start) + 0x10;
                bed.issue(0, Op::RemoteRead, key, va, 16);
                let mut fault = bed.fault();
                assert_eq!((fault.index(), fault.page()), (paged.region.index(), page));
                assert_eq!((fault.va(), fault.writes()), (Some(at(page)), false));
                assert!(fault.held());
                bed.waits(0);
                assert_eq!(bed.port.device.open_faults(), 1);
                bed.map_page(&mut paged, page, 3 * n as u64 + 1, writable);
                ready(&mut bed, &mut fault);
                let pa = FRAME + ((3 * n as u64 + 1) << 12) + (va & 0xfff);
                assert_eq!(bed.answered(0), Ok(vec![(pa, 16)]));
                // Once and not twice.
                let again = bed.call(|device, p| device.page_ready(p, &mut fault, LIMIT));
                assert!(matches!(again, Err(Error::State { .. })), "{again:?}");
                assert!(fault.is_answered());
                assert_eq!(bed.port.device.open_faults(), 0);
                let verdict = bed.request(Op::RemoteRead, Key(key), va, 16);
                assert_eq!(verdict, Ok(vec![(pa, 16)]));
            }

            // Present for reading, and then somebody writes.
            if encoding != Encoding::Raw {
                bed.issue(1, Op::RemoteWrite, key, at(511), 8);
                let mut fault = bed.fault();
                assert!(fault.writes() && fault.client() == 1);
                bed.map_page(&mut paged, 511, 7, true);
                ready(&mut bed, &mut fault);
                assert_eq!(bed.answered(1), Ok(vec![(FRAME + (7 << 12), 8)]));
            }

            // A page that does not come.
            bed.issue(0, Op::LocalRead, paged.region.lkey(), at(300), 8);
            let mut fault = bed.fault();
            let done = bed.call(|device, p| device.refuse(p, &mut fault, LIMIT));
            assert_eq!(done, Ok(()));
            assert_eq!(bed.answered(0), Err(Syndrome::MttAbsent));

            // The first and the last page are in the region with a part only.
            for page in [0, 600] {
                assert_eq!(bed.unmap(&mut paged, page, 1), Ok(Progress::Done));
            }

            // A page that goes: the next access is a fault, and gets another frame.
            assert_eq!(bed.unmap(&mut paged, 511, 2), Ok(Progress::Done));
            assert_eq!(paged.region.rkey(), key, "the keys stay");
            bed.issue(0, Op::RemoteRead, key, at(511), 8);
            let mut fault = bed.fault();
            bed.map_page(&mut paged, 511, 100, true);
            ready(&mut bed, &mut fault);
            assert_eq!(bed.answered(0), Ok(vec![(FRAME + (100 << 12), 8)]));

            // What cannot be.
            let region = &mut paged.region;
            let wrong = bed.call(|device, p| {
                [
                    device.map_page(p, region, 601, FRAME, true),
                    device.map_page(p, region, 5, FRAME + 8, true),
                    device.unmap_pages(p, region, 600, 2, LIMIT).map(drop),
                    device.unmap_pages(p, region, 3, 0, LIMIT).map(drop),
                ]
            });
            assert!(
                wrong.iter().all(|result| matches!(
                    result,
                    Err(Error::Mtt(
                        MttError::NoPage { .. } | MttError::Unaligned { .. }
                    ))
                )),
                "{wrong:?}"
            );
            let high = bed.call(|device, p| device.map_page(p, region, 5, 1 << 52, true));
            let refused = Err(MttError::CheckedAddress { address: 1 << 52 }.into());
            if encoding == Encoding::Checked {
                assert_eq!(high, refused);
            }

            let ended = bed.call(|device, p| device.dereg_mr(p, &mut paged.region, LIMIT));
            assert_eq!(ended, Ok(Progress::Done));
            bed.refuse(Op::RemoteRead, Key(key), at(1), 8, Syndrome::KeyState);
        }
    }

    // Somebody keeps a segment: the frames stay in use until the final completion, and faults are
    // answered meanwhile.
    let mut paged = bed.reg_demand(start, 64 << 12, Layout::default());
    let key = paged.region.rkey();
    let at = |page: u64| start - 0x800 + (page << 12);
    for page in [1, 2] {
        bed.map_page(&mut paged, page, page, true);
    }
    let read = request(Op::RemoteRead, Key(key), at(1), 8);
    bed.port.unit.hold(&mut bed.host.mem, read);
    assert_eq!(bed.unmap(&mut paged, 1, 1), Ok(Progress::Pending));
    assert!(paged.region.is_pending());
    let second = bed.unmap(&mut paged, 2, 1);
    assert!(matches!(second, Err(Error::State { .. })), "{second:?}");
    let pa = FRAME + (2 << 12);
    let now = bed.port.unit.clock(&mut bed.host.mem);
    paged
        .truth
        .set(2, Page::Present { pa, writable: true }, now);
    let verdict = bed.request(Op::RemoteRead, Key(key), at(2), 8);
    assert_eq!(verdict, Ok(vec![(pa, 8)]));
    bed.issue(0, Op::RemoteRead, key, at(9), 8);
    let mut fault = bed.fault();
    assert!(!fault.held(), "a fence is under way");
    assert_eq!(bed.answered(0), Err(Syndrome::Retry));
    bed.map_page(&mut paged, 9, 9, true);
    ready(&mut bed, &mut fault);
    bed.port.unit.release(&mut bed.host.mem);
    let ended = bed.call(|device, p| device.resume(p, &mut paged.region, LIMIT));
    assert_eq!(ended, Ok(Progress::Done));
    assert!(!paged.region.is_pending() && !paged.region.is_gone());
    assert_eq!(paged.start, start);

    // A handler of a few lines: pages come in order of their faults.
    for page in [20, 21] {
        bed.issue(0, Op::RemoteWrite, key, at(page), 8);
        let mut served = 0;
        for _ in 0..200 {
            let now = bed.port.unit.clock(&mut bed.host.mem);
            let (region, truth) = (&paged.region, &paged.truth);
            served += bed
                .call(|device, p| {
                    p.idle()?;
                    device.serve_faults(p, LIMIT, |device, p, fault| {
                        if fault.page() == 21 {
                            return Ok(Answer::Refuse);
                        }
                        let pa = FRAME + (fault.page() << 12);
                        let there = Page::Present { pa, writable: true };
                        truth.set(fault.page(), there, now);
                        device.map_page(p, region, fault.page(), pa, true)?;
                        Ok(Answer::Ready)
                    })
                })
                .expect("served");
        }
        assert_eq!(served, 1);
        let want = match page {
            20 => Ok(vec![(FRAME + (20 << 12), 8)]),
            _ => Err(Syndrome::MttAbsent),
        };
        assert_eq!(bed.answered(0), want);
    }
    assert_eq!(bed.call(|device, p| device.take_fault(p)), Ok(None));

    // Level 0 has no entries that could be absent.
    let layout = Layout {
        level: Some(0),
        ..Layout::default()
    };
    let args = RegMr {
        pd: PD,
        start,
        length: 0x1000,
        access: access::REMOTE_READ,
        memory: DriverMemory::OnDemand(layout),
    };
    let refused = bed.call(|device, p| device.reg_mr(p, &args, LIMIT));
    assert!(
        matches!(refused, Err(Error::Mtt(MttError::Shape { .. }))),
        "{refused:?}"
    );

    bed.port.stop(&mut bed.host.mem).expect("a stop");
    bed.call(|device, p| device.release(p, paged.region))
        .expect("stopped");
    assert_eq!(bed.port.unit.heap().taken(), 0);
    bed.log
}

#[test]
fn pages_come_and_go_through_the_driver_the_same_on_both_units() {
    let soft = page_faults::<SoftUnit>();
    let rtl = page_faults::<RtlUnit>();
    for (soft, rtl) in soft.iter().zip(&rtl) {
        assert_eq!(soft, rtl);
    }
    assert_eq!(soft.len(), rtl.len());
}
