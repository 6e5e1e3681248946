// SPDX-License-Identifier: Apache-2.0
//! The world that the steps act on: hosts, drivers, clients and memory around the unit.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;

use tpt_golden::alarm::AlarmConfig;
use tpt_golden::codec::MPT_BYTES;
use tpt_golden::frames::{FrameList, Page, PageSource};
use tpt_golden::host::{HostConfig, PhysRange};
use tpt_golden::mtt::paged::PagedTable;
use tpt_golden::mtt::{capacity, Shape, Table};
use tpt_golden::regs;
use tpt_golden::types::{
    rereg, Access, CmdOp, Command, Encoding, Key, Kind, Op, Request, State, Status, LEVEL_FLAT,
    LEVEL_INLINE,
};
use tpt_verilated::Config;

use super::steps::{RegionStep, Step};
use crate::axi::{AxiConfig, Fault, FaultOn, Sample};
use crate::paging::{Pager, PagerPolicy};
use crate::rig::{scatter, Mr, PagedMr, Rig, Spec};
use crate::rng::Rng;
use crate::{
    BenchError, BenchOptions, Clocks, CommandExtra, DonePolicy, Issue, Pattern, QueueConfig,
    Tenants, UnitConfig,
};

/// What accesses need to know of a region; kept after its end.
#[derive(Clone, Debug)]
struct Template {
    lkey: Key,
    rkey: Key,
    pd: u32,
    base: u64,
    length: u64,
}

/// Fast-registration regions, windows and physical regions: what is known of them.
#[derive(Clone, Debug)]
struct Thing {
    index: u32,
    kind: Kind,
    lkey: Key,
    rkey: Key,
    pd: u32,
    log_page: u8,
    encoding: Encoding,
    tables: Vec<std::ops::Range<u64>>,
}

impl Thing {
    /// Its own key: a window has an R_Key only.
    fn key(&self) -> Key {
        match self.kind.is_window() {
            true => self.rkey,
            false => self.lkey,
        }
    }
}

impl Template {
    fn of(lkey: Key, rkey: Key, spec: &Spec) -> Self {
        let zero = spec.access.contains(Access::ZERO_BASED);
        let base = if zero { 0 } else { spec.start };
        Self {
            lkey,
            rkey,
            pd: spec.pd,
            base,
            length: spec.length,
        }
    }
}

enum Pending {
    RegisterPaged {
        spec: Spec,
        table: PagedTable,
    },
    DeregisterPaged {
        mr: PagedMr,
    },
    Register {
        spec: Spec,
        table: Table,
    },
    Deregister {
        mr: Mr,
    },
    Reregister {
        mr: Mr,
        spec: Spec,
        table: Option<Table>,
    },
    /// A new one.
    Make(Thing),
    /// Its keys change; with the range that they then open.
    Change {
        index: u32,
        base: u64,
        length: u64,
    },
    /// It goes.
    End {
        index: u32,
    },
    Nothing,
}

pub(super) struct World {
    pub(super) rig: Rig,
    unit: UnitConfig,
    live: Vec<Mr>,
    paged: Vec<PagedMr>,
    pager: Pager,
    things: Vec<Thing>,
    templates: Vec<Template>,
    pending: HashMap<u16, Pending>,
    /// Commands go through the queue, if it is there; some wait for room in it.
    queue: Option<QueueConfig>,
    backlog: VecDeque<(Command, CommandExtra)>,
    bases: u64,
    bad_dones: u32,
    /// How often which command had which end.
    pub(super) seen: BTreeMap<(u8, Status), u32>,
}

type Result<T = ()> = std::result::Result<T, BenchError>;

/// How the three PDs of an episode are divided among partitions, in every third one.
fn tenants(seed: u64) -> Tenants {
    if seed % 3 != 2 {
        return Tenants::default();
    }
    Tenants {
        log_parts: 1 + (seed / 3 % 2) as u8,
        pd_shift: (seed / 6 % 2) as u8,
        map: (seed as u32).wrapping_mul(0x9e37_79b1),
    }
}

/// Thresholds of bad keys, in every second episode.
fn alarm(seed: u64) -> AlarmConfig {
    if seed / 2 % 2 == 0 {
        return AlarmConfig::default();
    }
    AlarmConfig {
        stream_threshold: 1 + (seed / 4 % 12) as u8,
        pd_threshold: (seed / 8 % 50) as u8,
        block: seed / 4 % 3 != 0,
    }
}

/// Host windows: all memory but some of the pages of the first three regions.
fn holed(seed: u64) -> Vec<RangeInclusive<u64>> {
    let hole = |n: u64| (1 << 50) + (n << 40) + ((seed % 61) << 12);
    let size = 0x8000;
    vec![
        0..=hole(1) - 1,
        hole(1) + size..=hole(2) - 1,
        hole(2) + size..=hole(3) - 1,
        hole(3) + size..=!0,
    ]
}

/// Where things of the host are in physical memory: addresses of 52 bits, each of which counts.
struct Places {
    /// The tables.
    ram: Vec<PhysRange>,
    mpt: u64,
    cmdq: u64,
    cplq: u64,
}

/// Half of the hosts have all of it where a PC has it (`None`), the others anywhere.
fn places(seed: u64) -> Option<Places> {
    const TOP: u64 = 1 << 51;
    let mut rng = Rng::new(seed ^ 0x91ace5);
    if rng.below(2) == 0 {
        return None;
    }
    // The tables in one half of what can be addressed, the MPT in the other, the queues behind it.
    let half = if rng.below(2) == 0 { 0 } else { TOP };
    let mut page = |most: u64| rng.below(most) & !0xfff;
    let ram = page(TOP - (128 << 30)) + half;
    let mpt = page(TOP / 2) + (half ^ TOP);
    let cmdq = page(TOP / 4) + TOP / 2 + (half ^ TOP);
    Some(Places {
        ram: vec![PhysRange {
            pa: ram,
            len: 128 << 30,
        }],
        mpt,
        cmdq,
        cplq: cmdq + TOP / 4,
    })
}

fn encoding(n: u8) -> Encoding {
    Encoding::ALL[usize::from(n) % Encoding::ALL.len()]
}

impl World {
    pub(super) fn new(
        config: Config,
        seed: u64,
        through_queue: bool,
        waves: Option<(PathBuf, u64)>,
    ) -> Result<Self> {
        let (waves, waves_from) = match waves {
            Some((path, from)) => (Some(path), from),
            None => (None, 0),
        };
        let mut options = BenchOptions {
            config,
            seed,
            waves,
            waves_from,
            // Requests with one dead key read its entry one after the other, and one segment may
            // be all pages of a long request, read from a slow memory beside others.
            patience: 1_000_000.max(1_000 * u64::from(config.sizes().contexts)),
            ..BenchOptions::default()
        };
        options.axi.read_latency = Clocks::range(1, 20);
        let normal = (UnitConfig::default(), QueueConfig::default());
        let places = places(seed).unwrap_or_else(|| Places {
            ram: HostConfig::default().ram,
            mpt: normal.0.mpt_base,
            cmdq: normal.1.cmdq_base,
            cplq: normal.1.cplq_base,
        });
        let unit = UnitConfig {
            mpt_base: places.mpt,
            mpt_size: 5 + (seed % 43) as u32,
            plain: seed % 7 == 0,
            merge: seed % 3 == 0,
            phys: seed % 5 != 0,
            host_windows: if seed % 4 == 1 {
                holed(seed)
            } else {
                Vec::new()
            },
            tenants: tenants(seed),
            refusal_time: [0, 0, 5, (seed * 37 % 3000) as u16][(seed / 3 % 4) as usize],
            alarm: alarm(seed),
            ..UnitConfig::default()
        };
        let queue = through_queue.then_some(QueueConfig {
            cmdq_base: places.cmdq,
            cplq_base: places.cplq,
            cmdq_log: 1 + (seed % 5) as u8,
            cplq_log: 2 + (seed / 5 % 5) as u8,
        });
        let mut rig = Rig::with_ram(options, &unit, places.ram)?;
        if let Some(queue) = queue {
            rig.bench.queue_enable(&mut rig.host.mem, queue)?;
        }
        let pager = Pager::default();
        rig.bench.set_fault_handler(Some(Box::new(pager.clone())));
        Ok(Self {
            paged: Vec::new(),
            pager,
            rig,
            unit,
            queue,
            backlog: VecDeque::new(),
            live: Vec::new(),
            things: Vec::new(),
            templates: Vec::new(),
            pending: HashMap::new(),
            bases: 0,
            bad_dones: 0,
            seen: BTreeMap::new(),
        })
    }

    fn spec(&mut self, step: &RegionStep) -> Spec {
        self.bases += 1;
        let log_page = step.log_page;
        let size = 1u64 << log_page;
        let whole = step.pages * size;
        let tail = step.tail.min(whole - 1);
        let start = match step.place {
            0 => self.bases << 32,
            1 => (self.bases << 32) + ((size / 2) | 0x123),
            2 => (self.bases << 32) + size - 1,
            _ => 0u64.wrapping_sub(whole),
        };
        let first = start & (size - 1);
        let length = if step.place == 3 {
            whole
        } else {
            (whole - first).saturating_sub(tail).max(1)
        };
        let pages = tpt_golden::unit::page_count(start, length, log_page) as u64;
        let mut list: FrameList = scatter(log_page, (1 << 50) + (self.bases << 40), pages);
        let mut level = step.level.filter(|level| match *level {
            LEVEL_INLINE => pages <= 4,
            LEVEL_FLAT => true,
            level => capacity(level, step.log_tpage) >= pages,
        });
        if let Some((page, fault)) = step.fault {
            let page = page % pages;
            let fault = match fault {
                0 => Page::Absent,
                1 => Page::Bad,
                _ => match list.page(page) {
                    Page::Present { pa, .. } => Page::Present {
                        pa,
                        writable: false,
                    },
                    other => other,
                },
            };
            list.set(page..page + 1, fault);
            if level.unwrap_or(0) == LEVEL_INLINE {
                level = Some(1).filter(|_| pages <= 512);
            }
            if level.is_none() {
                level = Some(LEVEL_FLAT);
            }
        }
        let encoding = encoding(step.encoding);
        Spec {
            pd: step.pd,
            start,
            length,
            access: Access(step.access),
            list,
            shape: Shape {
                log_page: Some(log_page),
                level,
                log_tpage: Some(step.log_tpage),
                encoding,
                flat_offset: (self.bases * 8) % 4096,
                lazy: false,
            },
        }
    }

    fn post(&mut self, command: Command, extra: CommandExtra, pending: Pending) {
        self.pending.insert(command.id, pending);
        match self.queue {
            Some(_) => self.backlog.push_back((command, extra)),
            None => self.rig.bench.post(command, extra),
        }
    }

    /// Puts waiting commands into the queue and rings.
    pub(super) fn ring(&mut self) -> Result {
        if self.queue.is_none() {
            return Ok(());
        }
        let mem = &mut self.rig.host.mem;
        while let Some((command, extra)) = self.backlog.pop_front() {
            if !self.rig.bench.queue_post(mem, command, extra.clone()) {
                self.backlog.push_front((command, extra));
                break;
            }
        }
        self.rig.bench.queue_ring(mem)
    }

    /// Waits until all commands of the queue are completed.
    fn empty_queue(&mut self) -> Result {
        while !self.backlog.is_empty() || self.rig.bench.queue_pending() > 0 {
            if self.rig.bench.clocks_without_progress() > 1_000_000 {
                let mem = &mut self.rig.host.mem;
                let status = self.rig.bench.read_register(mem, regs::QUEUE_STATUS)?;
                let text = self.rig.bench.describe();
                return Err(BenchError::Timeout {
                    clock: self.rig.bench.clock(),
                    what: format!("the queue to move, QUEUE_STATUS {status:#x}"),
                    outstanding: text,
                });
            }
            self.ring()?;
            self.rig.run(20)?;
            self.rig.bench.queue_refresh(&mut self.rig.host.mem)?;
        }
        self.ring()
    }

    /// Takes in what was answered.
    fn pump(&mut self) {
        while self.rig.bench.poll().is_some() {}
        while let Some(finished) = self.rig.bench.poll_completion() {
            let completion = finished.completion;
            *self
                .seen
                .entry((completion.op, completion.status))
                .or_default() += 1;
            if completion.status == Status::Pending {
                continue;
            }
            let ok = completion.status == Status::Ok;
            let index = |rig: &Rig, key| rig.bench.golden.keys().decode(key).1;
            match self.pending.remove(&completion.id) {
                Some(Pending::RegisterPaged { spec, table }) if ok => {
                    let index = index(&self.rig, completion.lkey);
                    let (lkey, rkey) = (completion.lkey, completion.rkey);
                    self.templates.push(Template::of(lkey, rkey, &spec));
                    let pages = table.pages();
                    self.rig.give_to_pager(&self.pager, index, table);
                    self.paged.push(PagedMr {
                        lkey,
                        rkey,
                        index,
                        spec,
                        pages,
                    });
                }
                Some(Pending::RegisterPaged { table, .. }) => table.free(&mut self.rig.host),
                Some(Pending::DeregisterPaged { mr }) if ok => {
                    if let Some(table) = self.pager.remove(mr.index) {
                        table.free(&mut self.rig.host);
                    }
                }
                Some(Pending::DeregisterPaged { mr }) => {
                    let current = self.rig.bench.golden.current(mr.index);
                    if current.is_some_and(|region| region.lkey == mr.lkey) {
                        self.paged.push(mr);
                    }
                }
                Some(Pending::Register { spec, mut table }) if ok => {
                    let index = index(&self.rig, completion.lkey);
                    let (lkey, rkey) = (completion.lkey, completion.rkey);
                    self.templates.push(Template::of(lkey, rkey, &spec));
                    self.rig.complete(&mut table, &spec.list, index);
                    self.live.push(Mr {
                        lkey,
                        rkey,
                        index,
                        spec,
                        table,
                    });
                }
                Some(Pending::Register { table, .. }) => table.free(&mut self.rig.host),
                Some(Pending::Deregister { mr }) if ok => mr.table.free(&mut self.rig.host),
                Some(Pending::Deregister { mr }) => self.keep_if_alive(mr),
                Some(Pending::Reregister {
                    mut mr,
                    spec,
                    table,
                }) if ok => {
                    (mr.lkey, mr.rkey) = (completion.lkey, completion.rkey);
                    self.templates.push(Template::of(mr.lkey, mr.rkey, &spec));
                    mr.spec = spec;
                    if let Some(table) = table {
                        let old = std::mem::replace(&mut mr.table, table);
                        old.free(&mut self.rig.host);
                    }
                    self.live.push(mr);
                }
                Some(Pending::Reregister { mr, table, .. }) => {
                    if self.is_alive(&mr) {
                        if let Some(table) = table {
                            table.free(&mut self.rig.host);
                        }
                    }
                    self.keep_if_alive(mr);
                }
                Some(Pending::Make(thing)) if ok => {
                    let (lkey, rkey) = (completion.lkey, completion.rkey);
                    let key = if thing.kind.is_window() { rkey } else { lkey };
                    let index = index(&self.rig, key);
                    self.things.push(Thing {
                        index,
                        lkey,
                        rkey,
                        ..thing.clone()
                    });
                    if thing.kind == Kind::Phys {
                        self.templates.push(Template {
                            lkey,
                            rkey,
                            pd: thing.pd,
                            base: thing.tables[0].start,
                            length: thing.tables[0].end - thing.tables[0].start,
                        });
                    }
                }
                Some(Pending::Change {
                    index,
                    base,
                    length,
                }) if ok => {
                    if let Some(thing) = self.things.iter_mut().find(|t| t.index == index) {
                        (thing.lkey, thing.rkey) = (completion.lkey, completion.rkey);
                        self.templates.push(Template {
                            lkey: thing.key(),
                            rkey: thing.rkey,
                            pd: thing.pd,
                            base,
                            length,
                        });
                    }
                }
                Some(Pending::End { index }) if ok => self.things.retain(|t| t.index != index),
                _ => {}
            }
        }
    }

    fn is_alive(&self, mr: &Mr) -> bool {
        self.rig
            .bench
            .golden
            .current(mr.index)
            .is_some_and(|region| region.lkey == mr.lkey)
    }

    /// After a failed command: the region goes on, or its memory is never used again.
    fn keep_if_alive(&mut self, mr: Mr) {
        if self.is_alive(&mr) {
            self.live.push(mr);
        }
    }

    fn take(&mut self, which: u8) -> Option<Mr> {
        if self.live.is_empty() {
            return None;
        }
        let place = usize::from(which) % self.live.len();
        Some(self.live.swap_remove(place))
    }

    fn template(&self, which: u8) -> Option<&Template> {
        // The younger half mostly.
        let count = self.templates.len();
        if count == 0 {
            return None;
        }
        let back = usize::from(which) % count.min(if which % 4 == 0 { 64 } else { 8 });
        self.templates.get(count - 1 - back)
    }

    fn request(
        &self,
        which: u8,
        op: u8,
        stream: u8,
        place: u8,
        len: u8,
        wrong: u8,
    ) -> Option<Request> {
        let t = self.template(which)?;
        let operation = Op::from_code(op % 8).unwrap_or(Op::RemoteRead);
        let local = matches!(operation, Op::LocalRead | Op::LocalWrite);
        let end = t.base.wrapping_add(t.length);
        let len = match len {
            0 => 0,
            1 => 1,
            2 | 3 => 8,
            4 => 4096,
            5 => 4097,
            6 => 30_000,
            7 => t.length.min(1 << 31) as u32,
            8 => (t.length.min(1 << 31) as u32).wrapping_add(1),
            _ => 1 << 31,
        };
        let va = match place {
            0 => t.base,
            1 => t.base.wrapping_add(t.length / 2) & !7,
            2 => end.wrapping_sub(len.into()),
            3 => end.wrapping_sub(1),
            4 => end,
            5 => t.base.wrapping_sub(1),
            6 => end.wrapping_sub(len.into()).wrapping_add(1),
            7 => t.base.wrapping_add(0xff8) & !7,
            8 => t.base.wrapping_add(0x1fff),
            9 => t.base.wrapping_add(t.length / 3),
            10 => !0 - 3,
            _ => t.base.wrapping_add(8) & !7,
        };
        let mut request = Request {
            tag: 0,
            stream,
            op: op % 8,
            key: if local { t.lkey } else { t.rkey },
            va,
            len,
            pd: t.pd,
            qpn: 7,
        };
        match wrong {
            0 => request.key = Key(request.key.0 ^ 1 << (va % 32)),
            1 => request.pd ^= 1,
            2 => request.key = if local { t.rkey } else { t.lkey },
            3 => request.op = 5,
            _ => {}
        }
        Some(request)
    }

    fn pattern(pattern: u8) -> Pattern {
        match pattern {
            0 => Pattern::Always,
            1 => Pattern::Random { percent: 50 },
            2 => Pattern::Random { percent: 10 },
            3 => Pattern::Cyclic { on: 1, off: 5 },
            _ => Pattern::Never,
        }
    }

    pub(super) fn execute(&mut self, step: &Step) -> Result {
        const MOST_COMMANDS: usize = 20;
        const MOST_REQUESTS: usize = 400;
        let room = self.pending.len() < MOST_COMMANDS;
        match step {
            Step::Register(region) if room && self.live.len() < 40 => {
                let spec = self.spec(region);
                let table = self.rig.build_table(&spec);
                let command = self.rig.reg_command(&spec, &table);
                let extra = Rig::pages(&spec);
                self.post(command, extra, Pending::Register { spec, table });
            }
            Step::RegisterPaged(region) if room && self.paged.len() < 12 => {
                self.register_paged(region);
            }
            Step::DeregisterPaged(which) if room && !self.paged.is_empty() => {
                let place = usize::from(*which) % self.paged.len();
                let mr = self.paged.swap_remove(place);
                self.deregister_paged(mr);
            }
            Step::PageIn {
                which,
                first,
                count,
                writable,
            } if !self.paged.is_empty() => {
                let mr = &self.paged[usize::from(*which) % self.paged.len()];
                let pages = mr.spec.list.pages();
                let now = self.rig.bench.clock();
                for n in 0..u64::from(*count) {
                    let page = (u64::from(*first) * 9 + n) % pages;
                    let mem = &mut self.rig.host.mem;
                    self.pager.page_in(mem, mr.index, page, *writable, now);
                }
            }
            Step::Reclaim {
                which,
                first,
                count,
                level,
            } if room && !self.paged.is_empty() => {
                let mr = self.paged[usize::from(*which) % self.paged.len()].clone();
                self.reclaim(&mr, u64::from(*first) * 9, u64::from(*count), *level);
            }
            Step::Faults { policy, queue } => {
                let policy = match policy {
                    0 => PagerPolicy::PageInWritable,
                    1 => PagerPolicy::Refuse,
                    2 => PagerPolicy::Lie,
                    3 => PagerPolicy::Later,
                    _ => PagerPolicy::PageIn,
                };
                self.pager.set_policy(policy);
                self.rig.bench.answer_through_queue(*queue);
            }
            Step::Deregister(which) if room => {
                if let Some(mr) = self.take(*which) {
                    let (command, extra) = self.rig.dereg_command(&mr);
                    self.post(command, extra, Pending::Deregister { mr });
                }
            }
            Step::Reregister {
                which,
                flags,
                region,
            } if room => {
                if let Some(mr) = self.take(*which) {
                    self.reregister(mr, *flags, region);
                }
            }
            Step::Query { which } if room => {
                let Some(t) = self.template(*which).cloned() else {
                    return Ok(());
                };
                let (id, op) = (self.rig.id(), CmdOp::Query.code());
                let command = Command {
                    id,
                    op,
                    key: t.lkey,
                    pd: t.pd,
                    ..Command::default()
                };
                self.post(command, CommandExtra::default(), Pending::Nothing);
            }
            Step::BadCommand { which, op, wrong } if room => self.bad_command(*which, *op, *wrong),
            Step::AllocMr {
                pd,
                log_page,
                cap,
                flags,
                encoding: code,
            } if room && self.things.len() < 24 => {
                let encoding = encoding(*code);
                let command = Command {
                    id: self.rig.id(),
                    op: CmdOp::AllocMr.code(),
                    pd: *pd,
                    flags: *flags,
                    length: (*cap).into(),
                    log_page: *log_page,
                    encoding: encoding.code(),
                    ..Command::default()
                };
                let thing = Thing {
                    log_page: *log_page,
                    encoding,
                    ..Self::thing(Kind::Frmr, *pd)
                };
                self.post(command, CommandExtra::default(), Pending::Make(thing));
            }
            Step::AllocMw { pd, flags } if room && self.things.len() < 24 => {
                let kind = match flags >> 1 {
                    0 => Kind::Mw1,
                    1 => Kind::Mw2,
                    _ => Kind::Mw2a,
                };
                let command = Command {
                    id: self.rig.id(),
                    op: CmdOp::AllocMw.code(),
                    pd: *pd,
                    flags: *flags,
                    ..Command::default()
                };
                let thing = Self::thing(kind, *pd);
                self.post(command, CommandExtra::default(), Pending::Make(thing));
            }
            Step::FastRegister { which, tag, region } if room => {
                if let Some(thing) = self.pick(*which, |kind| kind == Kind::Frmr) {
                    self.fast_register(&thing, *tag, region);
                }
            }
            Step::Bind {
                which,
                region,
                place,
                access,
                tag,
                qpn,
            } if room => {
                if let Some(thing) = self.pick(*which, Kind::is_window) {
                    self.bind(&thing, *region, *place, *access, *tag, *qpn);
                }
            }
            Step::RegPhys { place, access, pd } if room && self.things.len() < 24 => {
                let (start, length) = match place {
                    0 => (0, u64::MAX),
                    1 => (0u64.wrapping_sub(1 << 32), 1 << 32),
                    2 => ((1 << 43) - 0x1800, 0x2800),
                    3 => (0x1234, 1),
                    _ => (!0, 2),
                };
                let command = Command {
                    id: self.rig.id(),
                    op: CmdOp::RegPhys.code(),
                    pd: *pd,
                    access: (*access).into(),
                    start,
                    length,
                    ..Command::default()
                };
                let mut thing = Self::thing(Kind::Phys, *pd);
                thing
                    .tables
                    .push(start..start.wrapping_add(length).max(start));
                self.post(command, CommandExtra::default(), Pending::Make(thing));
            }
            Step::End { which, how } if room => {
                if let Some(thing) = self.pick(*which, |_| true) {
                    self.end(&thing, *how);
                }
            }
            Step::Access {
                client,
                which,
                op,
                stream,
                place,
                len,
                wrong,
            } => {
                let client = self.client(*client);
                if self.rig.bench.requests_pending(client) < MOST_REQUESTS {
                    if let Some(request) = self.request(*which, *op, *stream, *place, *len, *wrong)
                    {
                        self.issue(client, request);
                    }
                }
            }
            Step::Burst { count, seed } => {
                let mut rng = Rng::new(u64::from(*seed));
                for _ in 0..*count {
                    let lens = [1, 2, 2, 4, 4, 5, 6, 7];
                    self.issue_random(&mut rng, [0, 1, 2, 3, 4, 5, 6, 7], lens, MOST_REQUESTS);
                }
            }
            Step::Flood { count, seed } => self.flood(*count, u64::from(*seed))?,
            Step::Ready { client, pattern } => {
                let pattern = Self::pattern(*pattern);
                self.rig
                    .bench
                    .set_response_ready(self.client(*client), pattern);
            }
            Step::Done { client, policy } => {
                let policy = match policy {
                    0 => DonePolicy::IMMEDIATE,
                    1 => DonePolicy::After(Clocks::range(0, 40)),
                    2 => DonePolicy::After(Clocks::range(0, 2000)),
                    _ => DonePolicy::Withheld,
                };
                self.rig.bench.set_done_policy(self.client(*client), policy);
            }
            Step::ReleaseDones { client } => {
                self.rig.bench.release_dones(self.client(*client));
            }
            Step::ForgeDone { client, tag }
                if self.rig.bench.is_tag_free(self.client(*client), *tag) =>
            {
                self.rig.bench.forge_done(self.client(*client), *tag);
                self.bad_dones += 1;
            }
            Step::BusyTag { client, tag, which } => {
                if let Some(request) = self.request(*which, 0, 5, 0, 2, 15) {
                    let issue = Issue {
                        tag: Some(*tag),
                        ..Issue::default()
                    };
                    self.rig
                        .bench
                        .issue_with(self.client(*client), request, issue);
                }
            }
            Step::Memory { kind, latency } => self.memory(*kind, u32::from(*latency)),
            Step::BusError { which, kind } => self.bus_error(*which, *kind),
            Step::ClientReset { client } => {
                let client = self.client(*client);
                self.rig
                    .bench
                    .reset_client(&mut self.rig.host.mem, client)?;
                self.bad_dones = self.counter(regs::counter::BAD_DONE)?;
            }
            Step::FenceTime(clocks) => {
                let clocks = u32::from(*clocks);
                self.rig
                    .bench
                    .set_fence_time(&mut self.rig.host.mem, clocks)?;
            }
            Step::ClearStream { client, stream } => {
                let client = self.client(*client);
                let mem = &mut self.rig.host.mem;
                self.rig.bench.clear_stream(mem, client, *stream)?;
            }
            Step::Completions { pattern } => {
                self.rig.bench.set_completion_ready(Self::pattern(*pattern));
            }
            Step::Run(clocks) => self.rig.run(u64::from(*clocks))?,
            Step::Restart { reset } => self.restart(*reset)?,
            _ => {}
        }
        self.rig.run(3)?;
        self.pump();
        Ok(())
    }

    fn thing(kind: Kind, pd: u32) -> Thing {
        Thing {
            index: 0,
            kind,
            lkey: Key::NONE,
            rkey: Key::NONE,
            pd,
            log_page: 12,
            encoding: Encoding::Raw,
            tables: Vec::new(),
        }
    }

    fn pick(&self, which: u8, wanted: impl Fn(Kind) -> bool) -> Option<Thing> {
        let fitting: Vec<&Thing> = self.things.iter().filter(|t| wanted(t.kind)).collect();
        let place = usize::from(which).checked_rem(fitting.len())?;
        Some(fitting[place].clone())
    }

    fn fast_register(&mut self, thing: &Thing, tag: u8, region: &RegionStep) {
        let mut spec = self.spec(&RegionStep {
            pages: region.pages.min(64),
            log_page: thing.log_page,
            encoding: thing.encoding.code(),
            pd: thing.pd,
            ..region.clone()
        });
        spec.pd = thing.pd;
        let mut table = self.rig.build_table(&spec);
        self.rig.complete(&mut table, &spec.list, thing.index);
        let command = Command {
            op: CmdOp::FastRegMr.code(),
            key: thing.lkey,
            tag,
            ..self.rig.reg_command(&spec, &table)
        };
        let extra = Rig::pages(&spec);
        // The table is never given back: nobody has to know when the registration has ended.
        if let Some(known) = self.things.iter_mut().find(|t| t.index == thing.index) {
            known.tables = table.ranges().map(|r| r.pa..r.pa + r.len).collect();
        }
        let zero = spec.access.contains(Access::ZERO_BASED);
        let pending = Pending::Change {
            index: thing.index,
            base: if zero { 0 } else { spec.start },
            length: spec.length,
        };
        self.post(command, extra, pending);
    }

    fn bind(&mut self, thing: &Thing, region: u8, place: u8, access: u8, tag: u8, qpn: u8) {
        // Mostly a region that allows it; sometimes any key that there ever was.
        let fitting = |mr: &&Mr| {
            let rights = Access::MW_BIND | Access::LOCAL_WRITE;
            let zero = mr.spec.access.contains(Access::ZERO_BASED);
            mr.spec.pd == thing.pd && mr.spec.access.contains(rights) && !zero
        };
        let fit: Vec<Template> = self
            .live
            .iter()
            .filter(fitting)
            .map(|mr| Template::of(mr.lkey, mr.rkey, &mr.spec))
            .collect();
        let t = match usize::from(region).checked_rem(fit.len()) {
            Some(n) if region % 5 != 0 => fit[n].clone(),
            _ => match self.template(region) {
                Some(t) => t.clone(),
                None => return,
            },
        };
        let (start, length) = match place {
            0 | 1 => (t.base, t.length),
            2 => (t.base, 1),
            3 => (t.base.wrapping_add(t.length / 3), t.length / 2),
            4 => (t.base.wrapping_add(t.length).wrapping_sub(9), 9),
            5 => (t.base, 0),
            6 => (t.base, t.length.wrapping_add(1)),
            7 => (t.base.wrapping_sub(1), 2),
            8 => (!0 - 4, 9),
            9 => (t.base.wrapping_add(t.length), 1),
            _ => (t.base.wrapping_add(0x123), 0x2000),
        };
        let access = match access % 8 {
            0 => access.into(),
            1 => 0,
            2 => 0x2e,
            _ => 0xe,
        };
        let command = Command {
            id: self.rig.id(),
            op: CmdOp::BindMw.code(),
            key: thing.rkey,
            mkey: t.lkey,
            pd: thing.pd,
            access,
            start,
            length,
            tag,
            qpn: if qpn == 0 { 8 } else { 7 },
            ..Command::default()
        };
        let zero = access & Access::ZERO_BASED.0 != 0;
        let pending = Pending::Change {
            index: thing.index,
            base: if zero { 0 } else { start },
            length,
        };
        self.post(command, CommandExtra::default(), pending);
    }

    fn end(&mut self, thing: &Thing, how: u8) {
        let op = match (how, thing.kind) {
            (0..=8, _) => CmdOp::Invalidate,
            (9, _) => CmdOp::Query,
            (_, kind) if kind.is_window() => CmdOp::DeallocMw,
            _ => CmdOp::DeregMr,
        };
        let remote = how < 4;
        let command = Command {
            id: self.rig.id(),
            op: op.code(),
            key: if op == CmdOp::Invalidate && how % 2 == 0 {
                thing.rkey
            } else {
                thing.key()
            },
            pd: thing.pd,
            flags: u8::from(remote && op == CmdOp::Invalidate),
            qpn: if how == 1 { 8 } else { 7 },
            ..Command::default()
        };
        let index = thing.index;
        let (pending, release) = match op {
            CmdOp::DeallocMw => (Pending::End { index }, Vec::new()),
            CmdOp::DeregMr if thing.kind == Kind::Phys => (Pending::End { index }, Vec::new()),
            CmdOp::DeregMr => (Pending::End { index }, thing.tables.clone()),
            CmdOp::Invalidate if thing.kind == Kind::Frmr => {
                (Pending::Nothing, thing.tables.clone())
            }
            _ => (Pending::Nothing, Vec::new()),
        };
        // A later registration of the same region may come before the answer: then its table
        // must not be forbidden.
        let alone = self.pending.is_empty();
        let extra = CommandExtra {
            release: if alone { release } else { Vec::new() },
            ..CommandExtra::default()
        };
        self.post(command, extra, pending);
    }

    /// Issues a random access, mostly a right one, with one of these codes of operations and of
    /// lengths of [`World::request`]; not if its client has `most` or more pending. Says whether it
    /// did.
    fn issue_random(&mut self, rng: &mut Rng, ops: [u8; 8], lens: [u8; 8], most: usize) -> bool {
        let random = rng.next_u64();
        let byte = |n: u32| (random >> (8 * n)) as u8;
        let client = self.client(byte(7));
        if self.rig.bench.requests_pending(client) >= most {
            return false;
        }
        let wrong = if byte(1) < 16 { byte(2) % 4 } else { 15 };
        let place = if byte(3) < 20 {
            byte(4) % 12
        } else {
            [0, 1, 2, 9][(byte(4) % 4) as usize]
        };
        let len = lens[(byte(2) >> 5) as usize];
        let op = ops[usize::from(byte(5) % 8)];
        let request = self.request(byte(0), op, byte(6) % 64, place, len, wrong);
        if let Some(request) = request {
            self.issue(client, request);
        }
        true
    }

    /// Issues `count` short accesses as room becomes free; gives up when nothing moves.
    fn flood(&mut self, count: u16, seed: u64) -> Result {
        const MOST_PENDING: usize = 64;
        const CLOCKS: u64 = 16;
        const MOST_IDLE: u32 = 20;
        let mut rng = Rng::new(seed);
        // Rarely a FLUSH, whose rights few regions have.
        let ops = [0, 0, 1, 2, 2, 3, 4, 5 + (seed % 3) as u8];
        let lens = [0, 1, 1, 2, 2, 2, 3, 4];
        let mut left = count;
        let mut idle = 0;
        while left > 0 && idle < MOST_IDLE {
            let before = left;
            while left > 0 && self.issue_random(&mut rng, ops, lens, MOST_PENDING) {
                left -= 1;
            }
            idle = if left == before { idle + 1 } else { 0 };
            self.rig.run(CLOCKS)?;
            self.pump();
        }
        Ok(())
    }

    fn client(&self, n: u8) -> usize {
        usize::from(n) % self.rig.bench.clients()
    }

    fn issue(&mut self, client: usize, request: Request) {
        // Two gigabytes of 4 KiB pages would be half a million beats.
        let request = if request.len > 1 << 24 && request.len < 1 << 31 {
            Request {
                len: 1 << 24,
                ..request
            }
        } else {
            request
        };
        self.rig.bench.issue(client, request);
    }

    fn reregister(&mut self, mr: Mr, flags: u8, region: &RegionStep) {
        let mut spec = mr.spec.clone();
        let new = self.spec(region);
        let mut table = None;
        let mut command = Command {
            id: self.rig.id(),
            op: CmdOp::ReregMr.code(),
            key: mr.lkey,
            pd: mr.spec.pd,
            rereg: flags,
            ..Command::default()
        };
        let mut extra = CommandExtra::default();
        if flags & rereg::TRANSLATION != 0 {
            let mut built = self.rig.build_table(&new);
            self.rig.complete(&mut built, &new.list, mr.index);
            let words = self.rig.reg_command(&new, &built);
            command = Command {
                start: words.start,
                length: words.length,
                log_page: words.log_page,
                level: words.level,
                log_tpage: words.log_tpage,
                encoding: words.encoding,
                frame: words.frame,
                ..command
            };
            spec.start = new.start;
            spec.length = new.length;
            spec.list = new.list.clone();
            spec.shape = new.shape;
            let pages: Arc<dyn PageSource> = Arc::new(new.list);
            extra.pages = Some(pages);
            extra.release = mr.table_ranges();
            table = Some(built);
        }
        if flags & rereg::PD != 0 {
            command.new_pd = region.pd;
            spec.pd = region.pd;
        }
        if flags & rereg::ACCESS != 0 {
            command.access = region.access;
            spec.access = Access(region.access);
        }
        self.post(command, extra, Pending::Reregister { mr, spec, table });
    }

    fn bad_command(&mut self, which: u8, op: u8, wrong: u8) {
        let Some(t) = self.template(which).cloned() else {
            return;
        };
        let mut command = Command {
            id: self.rig.id(),
            op,
            key: t.lkey,
            pd: t.pd,
            rereg: rereg::PD,
            access: 1,
            length: 0,
            ..Command::default()
        };
        match wrong {
            0 => command.key = t.rkey,
            1 => command.key = Key(t.lkey.0 ^ 0x10),
            2 => command.pd ^= 0x80_0000,
            3 => command.key = Key(t.lkey.0 ^ 0x4000_0000),
            4 => command.op = 14,
            _ => command.key = Key::NONE,
        }
        if command.key == t.lkey && command.pd == t.pd && command.op != 14 {
            return;
        }
        // A key that is not known might be that of a region: then it must not be hit.
        if self.live.iter().any(|mr| mr.lkey == command.key) {
            return;
        }
        if self.paged.iter().any(|mr| mr.lkey == command.key) {
            return;
        }
        // It could name a slot with a fault that is just being read.
        if command.op == CmdOp::PageReady.code() && command.key == Key::NONE {
            return;
        }
        let known = |t: &Thing| [t.lkey, t.rkey].contains(&command.key);
        if self.things.iter().any(known) {
            return;
        }
        self.post(command, CommandExtra::default(), Pending::Nothing);
    }

    fn register_paged(&mut self, region: &RegionStep) {
        let mut spec = self.spec(&RegionStep {
            level: region.level.filter(|level| *level != LEVEL_INLINE),
            // no windows
            access: (region.access | Access::ON_DEMAND.0) & !Access::MW_BIND.0,
            fault: None,
            ..region.clone()
        });
        spec.shape.level = spec.shape.level.filter(|level| *level != LEVEL_INLINE);
        let table = self.rig.build_paged(&spec);
        let command = self.rig.reg_command(&spec, table.table());
        let extra = CommandExtra {
            pages: Some(table.pages()),
            ..CommandExtra::default()
        };
        self.post(command, extra, Pending::RegisterPaged { spec, table });
    }

    fn deregister_paged(&mut self, mr: PagedMr) {
        let command = Command {
            id: self.rig.id(),
            op: CmdOp::DeregMr.code(),
            key: mr.lkey,
            pd: mr.spec.pd,
            ..Command::default()
        };
        let ranges = self.pager.with(mr.index, |table| {
            let ranges = table.table().ranges();
            ranges.map(|r| r.pa..r.pa + r.len).collect()
        });
        let extra = CommandExtra {
            release: ranges.unwrap_or_default(),
            ..CommandExtra::default()
        };
        self.post(command, extra, Pending::DeregisterPaged { mr });
    }

    fn reclaim(&mut self, mr: &PagedMr, first: u64, count: u64, level: u8) {
        let all = mr.spec.list.pages();
        let first = first % all;
        let mut pages = first..(first + count).min(all);
        let now = self.rig.bench.clock();
        let mem = &mut self.rig.host.mem;
        if level == 1 {
            self.pager.clear(mem, mr.index, pages.clone(), now);
        } else {
            let cleared = self.pager.with(mr.index, |table| {
                let bits = u32::from(table.table().log_tpage()).saturating_sub(3);
                let n = first >> (bits * u32::from(level - 1));
                table.clear_directory(mem, level, n, now);
            });
            if cleared.is_some() {
                pages = 0..all;
            }
        }
        let command = self.rig.invalidate_command(mr, pages);
        self.post(command, CommandExtra::default(), Pending::Nothing);
    }

    fn memory(&mut self, kind: u8, latency: u32) {
        let fixed = |clocks| AxiConfig {
            read_latency: Clocks::fixed(clocks),
            write_latency: Clocks::fixed(clocks),
            ..AxiConfig::default()
        };
        let config = match kind {
            0 => fixed(1),
            1 => fixed(latency),
            2 => fixed(4 * latency),
            3 => AxiConfig {
                ar_ready: Pattern::Random { percent: 8 },
                ..fixed(latency)
            },
            4 => AxiConfig {
                sample: Sample::Late,
                r_valid: Pattern::Cyclic { on: 1, off: 3 },
                ..AxiConfig::hostile(latency)
            },
            5 => AxiConfig {
                sample: Sample::Early,
                ..AxiConfig::hostile(8 * latency)
            },
            _ => AxiConfig::hostile(latency),
        };
        self.rig.bench.axi.configure(config);
    }

    fn bus_error(&mut self, which: u8, kind: u8) {
        if kind > 5 {
            if let Some(thing) = self.pick(which, |_| true) {
                let entry = self.rig.bench.entry_address(thing.index);
                let on = match kind {
                    6 => FaultOn::Read,
                    _ => FaultOn::Write,
                };
                let fault = Fault::once(entry..entry + 64, on);
                self.rig.bench.axi.inject(fault);
            }
            return;
        }
        if self.live.is_empty() {
            return;
        }
        let mr = &self.live[usize::from(which) % self.live.len()];
        let entry = self.rig.bench.entry_address(mr.index);
        let fault = match kind {
            0 => Fault::once(entry..entry + 64, FaultOn::Read),
            1 => Fault::once(entry..entry + 64, FaultOn::Write),
            2 | 3 => match mr.table_ranges().first() {
                Some(range) => Fault {
                    times: Some(3),
                    ..Fault::always(range.clone(), FaultOn::Read)
                },
                None => return,
            },
            4 => Fault {
                percent: 5,
                times: Some(4),
                // an error of a slot would stop the queue
                ..Fault::always(0..QueueConfig::default().cmdq_base, FaultOn::Read)
            },
            _ => return self.rig.bench.axi.clear_faults(),
        };
        self.rig.bench.axi.inject(fault);
    }

    fn release_everything(&mut self) {
        self.rig.bench.axi.clear_faults();
        self.rig.bench.set_completion_ready(Pattern::Always);
        // Every fault gets its answer.
        self.pager.set_policy(PagerPolicy::PageIn);
        for fault in self.rig.bench.unanswered_faults() {
            let mem = &mut self.rig.host.mem;
            let now = self.rig.bench.clock();
            let there = self.pager.page_in(mem, fault.index, fault.page, true, now);
            let refuse = there.is_none();
            self.rig.bench.answer_open(fault.slot, refuse);
        }
        for client in 0..self.rig.bench.clients() {
            self.rig.bench.set_response_ready(client, Pattern::Always);
            self.rig
                .bench
                .set_done_policy(client, DonePolicy::IMMEDIATE);
            self.rig.bench.release_dones(client);
        }
    }

    fn settle(&mut self) -> Result {
        self.release_everything();
        self.empty_queue()?;
        self.rig.wait_idle()?;
        self.pump();
        match self.pending.len() {
            0 => Ok(()),
            n => Err(self.wrong(format!("{n} commands have no completion"))),
        }
    }

    /// All regions end with a reset, or with the enable bit.
    fn restart(&mut self, reset: bool) -> Result {
        if reset {
            self.rig.bench.drop_queued();
            self.rig.bench.reset(&mut self.rig.host.mem)?;
            self.rig.bench.drop_queued();
            self.bad_dones = 0;
            self.release_everything();
        } else {
            self.settle()?;
            self.rig.bench.disable(&mut self.rig.host.mem)?;
        }
        // Tables of dead regions may be read until the unit is enabled again: they stay.
        self.backlog.clear();
        self.pending.clear();
        self.live.clear();
        self.paged.clear();
        self.pager.forget();
        self.things.clear();
        // Generations start again: an old key may be that of a region to come.
        self.templates.clear();
        while self.rig.bench.poll_completion().is_some() {}
        self.rig
            .bench
            .enable(&mut self.rig.host.mem, &self.unit.clone())?;
        match self.queue.filter(|_| reset) {
            Some(queue) => self.rig.bench.queue_enable(&mut self.rig.host.mem, queue),
            None => Ok(()),
        }
    }

    /// What is found at the end, now.
    pub(super) fn wrong(&self, text: String) -> BenchError {
        BenchError::Mismatch {
            clock: self.rig.bench.clock(),
            text,
        }
    }

    fn counter(&mut self, n: usize) -> Result<u32> {
        self.rig.counter(n)
    }

    /// The end: everything comes to rest, all regions go, the table is as it must be.
    pub(super) fn finish(&mut self) -> Result {
        self.settle()?;
        // Windows first: regions under them cannot go.
        for windows in [true, false] {
            for thing in self.things.clone() {
                if thing.kind.is_window() == windows {
                    self.end(&thing, 15);
                    self.settle()?;
                }
            }
        }
        while let Some(mr) = self.paged.pop() {
            self.deregister_paged(mr);
            self.settle()?;
        }
        while let Some(mr) = self.live.pop() {
            let (command, extra) = self.rig.dereg_command(&mr);
            self.post(command, extra, Pending::Deregister { mr });
            if self.live.len() % 8 == 0 {
                self.settle()?;
            }
        }
        self.settle()?;
        for index in 0..self.unit.mpt_size {
            let mut bytes = [0; MPT_BYTES];
            self.rig
                .host
                .mem
                .read(self.rig.bench.entry_address(index), &mut bytes);
            // Retired indices keep what the memory kept.
            if self.rig.bench.golden.slot(index).0 != State::Invalid {
                if let Err(error) = self.rig.bench.golden.check_entry(index, &bytes) {
                    return Err(self.wrong(format!("at the end: {error}")));
                }
            }
        }
        if self.rig.bench.stats.by_command[usize::from(CmdOp::PageReady.code())] > 0 {
            let good = (CmdOp::PageReady.code(), Status::Ok);
            *self.seen.entry(good).or_default() += 1;
        }
        // Counters lag a few clocks behind what they count.
        self.rig.run(4)?;
        let counted = self.counter(regs::counter::BAD_DONE)?;
        if counted != self.bad_dones {
            let text = format!("BAD_DONE counts {counted}, {} were given", self.bad_dones);
            return Err(self.wrong(text));
        }
        if let Err(reason) = self.rig.bench.compare_alarm(&mut self.rig.host.mem)? {
            return Err(self.wrong(reason));
        }
        let status = self
            .rig
            .bench
            .read_register(&mut self.rig.host.mem, regs::STATUS)?;
        let busy = status & regs::status::FENCE_BUSY != 0;
        match status & regs::status::IDLE != 0 && !busy {
            true => Ok(()),
            false => Err(self.wrong(format!("at the end STATUS is {status:#x}, not idle"))),
        }
    }
}
