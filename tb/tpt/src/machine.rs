// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! A host with its driver, and a unit behind a port: the golden one here, the simulated one in
//! the module `rtl` (feature `rtl`).

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use tpt_golden::driver::fast::{AllocMrArgs, FastHandle, FastMr, FastOutcome, FastUnchanged};
use tpt_golden::driver::window::{BindArgs, Mw, MwHandle, MwOutcome, MwUnchanged};
use tpt_golden::driver::{
    Caps, DeregHandle, DeregOutcome, Driver, DriverError, Memory, Mr, RegArgs, ReregArgs,
    ReregOutcome,
};
use tpt_golden::frames::{FrameList, Page, Translation};
use tpt_golden::host::{AllocMode, Host, HostConfig, PhysRange};
use tpt_golden::keys::KeyMaker;
use tpt_golden::mem::PhysMem;
use tpt_golden::mtt::Table;
use tpt_golden::types::{Command, Completion, Encoding, Key, Status, Syndrome};
use tpt_golden::unit::{Conditions, Golden};

use crate::target::{
    Access1, Answer, Bind, Change, CommandPath, Counters, Damage, FastRegion, FastRegistration,
    Invalidator, MwType, Refused, Region, RegionId, Registration, Target, TargetError, Window,
    WindowId,
};

/// Tables and everything else of the host lie from here on: above the frames of recorded guests,
/// below invented ones.
const RAM: PhysRange = PhysRange {
    pa: 1 << 40,
    len: 1 << 38,
};
/// The table of regions.
pub const MPT_BASE: u64 = 1 << 39;
/// Levels that the unit walks.
pub const MAX_LEVELS: u8 = 3;

/// Secrets of the unit for a seed.
pub fn secrets(seed: u64) -> ([u32; 4], [u32; 4]) {
    let mut x = seed;
    let mut next = || {
        x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as u32
    };
    (
        std::array::from_fn(|_| next()),
        std::array::from_fn(|_| next()),
    )
}

/// The key maker of the unit for a seed.
pub fn key_maker(seed: u64) -> KeyMaker {
    let (perm, tag) = secrets(seed);
    KeyMaker::new(perm, tag, false)
}

/// A deregistration that is issued while accesses are under way.
#[derive(Debug, Clone)]
pub struct Posted {
    /// Issued when so many accesses of the batch have been accepted.
    pub after: usize,
    /// Command.
    pub command: Command,
    /// Its tables: not to be read any more after its success.
    pub release: Vec<Range<u64>>,
}

/// How a unit is reached.
pub trait Port {
    /// Sends a command and waits for its final completion.
    fn command(
        &mut self,
        mem: &mut PhysMem,
        command: &Command,
        pages: Option<Translation>,
        release: Vec<Range<u64>>,
    ) -> Result<Completion, TargetError>;

    /// Memory that is in use again (new tables).
    fn allow(&mut self, range: Range<u64>);

    /// Sends accesses, and commands between them; the completions are in the order of the commands.
    fn access(
        &mut self,
        mem: &mut PhysMem,
        batch: &[Access1],
        posted: Vec<Posted>,
    ) -> Result<(Vec<Answer>, Vec<Completion>), TargetError>;

    /// One access under special conditions.
    fn access_under(
        &mut self,
        mem: &mut PhysMem,
        access: &Access1,
        conditions: Conditions,
    ) -> Result<Answer, TargetError>;

    /// Enables the unit.
    fn enable(&mut self, mem: &mut PhysMem) -> Result<(), TargetError>;

    /// The reference.
    fn golden(&mut self) -> &mut Golden;

    /// Reads in this range are answered with an error, or no longer.
    fn bus_fault(&mut self, range: Range<u64>, on: bool);

    /// Turns over bits of a byte of an entry in the table of regions.
    fn flip_entry(
        &mut self,
        mem: &mut PhysMem,
        index: u32,
        byte: u64,
        mask: u8,
    ) -> Result<(), TargetError> {
        let at = MPT_BASE + 64 * u64::from(index) + byte;
        let mut value = [0u8; 1];
        mem.read(at, &mut value);
        mem.write(at, &[value[0] ^ mask]);
        Ok(())
    }

    /// Entries with a damaged checksum are expected, or no longer.
    fn expect_damaged_entries(&mut self, on: bool);

    /// Counters.
    fn counters(&mut self, mem: &mut PhysMem) -> Result<Option<Counters>, TargetError>;

    /// How commands went to the unit; `None` without hardware.
    fn commands(&self) -> Option<CommandPath> {
        None
    }

    /// Clocks.
    fn clock(&self) -> Option<u64>;

    /// Bytes of a memory beat: what one read of table entries returns.
    fn line_bytes(&self) -> u64;
}

/// Host, driver and unit.
pub struct Machine<P> {
    host: Host,
    driver: Driver,
    port: P,
    regions: HashMap<RegionId, Mr>,
    fast: HashMap<RegionId, FastMr>,
    windows: HashMap<WindowId, Mw>,
    damaged: HashMap<u32, Key>,
    next: u32,
}

impl<P: Port> Machine<P> {
    /// A machine; its unit is not enabled.
    pub fn new(port: P, seed: u64) -> Self {
        Self::with_host(port, Self::host(seed))
    }

    /// The host of a machine.
    pub fn host(seed: u64) -> Host {
        Host::new(HostConfig {
            ram: vec![RAM],
            // Table pages apart from each other: nothing may rely on their order.
            mode: AllocMode::Fragmented { max_run: 4 },
            seed,
        })
    }

    /// A machine on a host whose memory the port has used already.
    pub fn with_host(port: P, host: Host) -> Self {
        Self {
            host,
            driver: Driver::new(Caps {
                max_levels: MAX_LEVELS,
                ..Caps::default()
            }),
            port,
            regions: HashMap::new(),
            fast: HashMap::new(),
            windows: HashMap::new(),
            damaged: HashMap::new(),
            next: 0,
        }
    }

    /// The unit's port.
    pub fn port(&mut self) -> &mut P {
        &mut self.port
    }

    fn mr(&self, id: RegionId) -> Result<&Mr, TargetError> {
        self.regions
            .get(&id)
            .ok_or_else(|| TargetError::Failed(format!("no region {}", id.0)))
    }

    fn index(&mut self, key: Key) -> u32 {
        self.port.golden().keys().decode(key).1
    }

    fn finish_dereg(
        &mut self,
        id: RegionId,
        handle: DeregHandle,
        completion: &Completion,
    ) -> Result<Status, TargetError> {
        match self.driver.finish_dereg(&mut self.host, handle, completion) {
            Ok(DeregOutcome::Done(_)) => Ok(Status::Ok),
            Ok(DeregOutcome::Pending(_)) => Err(pending("a deregistration")),
            Err(unchanged) => match unchanged.error {
                DriverError::Refused(status) => {
                    if let Some(mr) = unchanged.mr {
                        self.regions.insert(id, *mr);
                    }
                    Ok(status)
                }
                other => Err(TargetError::Failed(other.to_string())),
            },
        }
    }

    fn new_region(&mut self) -> RegionId {
        self.next += 1;
        RegionId(self.next)
    }

    /// What a driver error means: a refusal, or a defect of the unit.
    fn refused<T>(&self, error: DriverError) -> Result<Result<T, Refused>, TargetError> {
        match error {
            DriverError::Refused(status) => Ok(Err(Refused::Unit(status))),
            DriverError::WrongCompletion { .. } | DriverError::Port(_) => {
                Err(TargetError::Mismatch {
                    clock: self.port.clock(),
                    text: error.to_string(),
                })
            }
            other => Ok(Err(Refused::Driver(other.to_string()))),
        }
    }

    /// Sends a command about a fast-registration region and handles its completion. `None`: the
    /// region is gone.
    fn fast_command(
        &mut self,
        id: RegionId,
        (command, handle): (Command, FastHandle),
        pages: Option<Translation>,
        release: Vec<Range<u64>>,
    ) -> Result<Result<Option<Region>, Refused>, TargetError> {
        let done = self
            .port
            .command(&mut self.host.mem, &command, pages, release)?;
        match self.driver.finish_fast(&mut self.host, handle, &done) {
            Ok(FastOutcome::Ready(mr, _)) => {
                let region = fast_region(id, &mr);
                self.fast.insert(id, mr);
                Ok(Ok(Some(region)))
            }
            Ok(FastOutcome::Gone(_)) => Ok(Ok(None)),
            Ok(FastOutcome::Pending(_)) => Err(pending("a command on a region")),
            Err(unchanged) => self.fast_unchanged(id, unchanged),
        }
    }

    fn fast_unchanged<T>(
        &mut self,
        id: RegionId,
        unchanged: FastUnchanged,
    ) -> Result<Result<T, Refused>, TargetError> {
        if let Some(mr) = unchanged.mr {
            self.fast.insert(id, *mr);
        }
        self.refused(unchanged.error)
    }

    fn take_fast(&mut self, id: RegionId) -> Result<FastMr, TargetError> {
        let none = || TargetError::Failed(format!("no fast-registration region {}", id.0));
        self.fast.remove(&id).ok_or_else(none)
    }

    /// Sends a command about a window and handles its completion. `None`: the window is gone.
    fn window_command(
        &mut self,
        id: WindowId,
        prepared: Result<(Command, MwHandle), MwUnchanged>,
    ) -> Result<Result<Option<Window>, Refused>, TargetError> {
        let outcome = match prepared {
            Ok((command, handle)) => {
                let done = self
                    .port
                    .command(&mut self.host.mem, &command, None, Vec::new())?;
                self.driver.finish_mw(handle, &done)
            }
            Err(unchanged) => Err(unchanged),
        };
        match outcome {
            Ok(MwOutcome::Ready(mw)) => {
                let rkey = mw.rkey();
                self.windows.insert(id, mw);
                Ok(Ok(Some(Window { id, rkey })))
            }
            Ok(MwOutcome::Gone) => Ok(Ok(None)),
            Ok(MwOutcome::Pending(_)) => Err(pending("a command on a window")),
            Err(unchanged) => {
                if let Some(mw) = unchanged.mw {
                    self.windows.insert(id, *mw);
                }
                self.refused(unchanged.error)
            }
        }
    }

    fn take_window(&mut self, id: WindowId) -> Result<Mw, TargetError> {
        let none = || TargetError::Failed(format!("no window {}", id.0));
        self.windows.remove(&id).ok_or_else(none)
    }
}

/// A deregistration on its way.
enum Ending {
    Plain(DeregHandle),
    Fast(FastHandle),
}

fn pending(what: &str) -> TargetError {
    TargetError::Failed(format!("{what} is pending after its final completion"))
}

fn fast_region(id: RegionId, mr: &FastMr) -> Region {
    Region {
        id,
        lkey: mr.lkey(),
        rkey: mr.rkey(),
        log_page: mr.table().log_page(),
        level: mr.table().level(),
        entries: mr.table().entries(),
        table_bytes: mr.table().table_bytes(),
    }
}

fn table_ranges(table: &Table) -> Vec<Range<u64>> {
    table.ranges().map(|r| r.pa..r.pa + r.len).collect()
}

fn region(id: RegionId, mr: &Mr) -> Region {
    Region {
        id,
        lkey: mr.lkey(),
        rkey: mr.rkey(),
        log_page: mr.table().log_page(),
        level: mr.table().level(),
        entries: mr.table().entries(),
        table_bytes: mr.table().table_bytes(),
    }
}

fn ranges(mr: &Mr) -> Vec<Range<u64>> {
    table_ranges(mr.table())
}

impl<P: Port> Target for Machine<P> {
    fn register(&mut self, a: &Registration) -> Result<Result<Region, Refused>, TargetError> {
        let args = RegArgs::from(a);
        let (command, handle) = match self.driver.prepare_reg(&mut self.host, &args) {
            Ok(x) => x,
            Err(e) => return Ok(Err(Refused::Driver(e.to_string()))),
        };
        for range in handle.table().ranges() {
            self.port.allow(range.pa..range.pa + range.len);
        }
        let pages: Translation = handle.translation();
        let done = self
            .port
            .command(&mut self.host.mem, &command, Some(pages), Vec::new())?;
        match self.driver.finish_reg(&mut self.host, handle, &done) {
            Ok(mr) => {
                let id = self.new_region();
                let region = region(id, &mr);
                self.regions.insert(id, mr);
                Ok(Ok(region))
            }
            Err(DriverError::Refused(status)) => Ok(Err(Refused::Unit(status))),
            Err(other) => Err(TargetError::Mismatch {
                clock: self.port.clock(),
                text: other.to_string(),
            }),
        }
    }

    fn reregister(
        &mut self,
        id: RegionId,
        change: &Change,
    ) -> Result<Result<Region, Refused>, TargetError> {
        let Some(mr) = self.regions.remove(&id) else {
            return Err(TargetError::Failed(format!("no region {}", id.0)));
        };
        let old = ranges(&mr);
        let args = ReregArgs {
            translation: change
                .translation
                .clone()
                .map(|(frames, start, length, shape)| {
                    (Memory::Frames(frames), start, length, shape)
                }),
            pd: change.pd,
            access: change.access,
        };
        let (command, handle) = match self.driver.prepare_rereg(&mut self.host, mr, args) {
            Ok(x) => x,
            Err(unchanged) => {
                if let Some(mr) = unchanged.mr {
                    self.regions.insert(id, *mr);
                }
                return Ok(Err(Refused::Driver(unchanged.error.to_string())));
            }
        };
        // The old table is not to be read any more only if there is a new one.
        let mut release = Vec::new();
        if let Some(table) = handle.new_table() {
            release = old;
            for range in table.ranges() {
                self.port.allow(range.pa..range.pa + range.len);
            }
        }
        let pages: Translation = handle.translation();
        let done = self
            .port
            .command(&mut self.host.mem, &command, Some(pages), release)?;
        match self.driver.finish_rereg(&mut self.host, handle, &done) {
            Ok(ReregOutcome::Done(mr, _)) => {
                let changed = region(id, &mr);
                self.regions.insert(id, mr);
                Ok(Ok(changed))
            }
            Ok(ReregOutcome::Pending(_)) => Err(TargetError::Failed(
                "a re-registration is pending after its final completion".into(),
            )),
            Err(unchanged) => {
                if let Some(mr) = unchanged.mr {
                    self.regions.insert(id, *mr);
                }
                match unchanged.error {
                    DriverError::Refused(status) => Ok(Err(Refused::Unit(status))),
                    other => Err(TargetError::Mismatch {
                        clock: self.port.clock(),
                        text: other.to_string(),
                    }),
                }
            }
        }
    }

    fn allocate_region(
        &mut self,
        args: &FastRegion,
    ) -> Result<Result<Region, Refused>, TargetError> {
        let args = AllocMrArgs {
            pd: args.pd,
            pages: args.pages,
            log_page: args.log_page,
            encoding: args.encoding,
            remote_inv: args.remote_inv,
        };
        let prepared = match self.driver.prepare_alloc_mr(&mut self.host, &args) {
            Ok(prepared) => prepared,
            Err(error) => return self.refused(error),
        };
        let id = self.new_region();
        match self.fast_command(id, prepared, None, Vec::new())? {
            Ok(Some(region)) => Ok(Ok(region)),
            Ok(None) => Err(TargetError::Failed("an allocation made nothing".into())),
            Err(refused) => Ok(Err(refused)),
        }
    }

    fn fast_register(
        &mut self,
        id: RegionId,
        a: &FastRegistration,
    ) -> Result<Result<Region, Refused>, TargetError> {
        let mut mr = self.take_fast(id)?;
        let memory = Memory::Frames(a.frames.clone());
        let range = (a.start, a.length);
        let mapped = self
            .driver
            .map_pages(&mut self.host, &mut mr, &memory, range, true);
        if let Err(error) = mapped {
            self.fast.insert(id, mr);
            return self.refused(error);
        }
        let prepared = match self.driver.prepare_fast_reg(mr, a.access, a.tag) {
            Ok(prepared) => prepared,
            Err(unchanged) => return self.fast_unchanged(id, unchanged),
        };
        for range in table_ranges(prepared.1.mr().table()) {
            self.port.allow(range);
        }
        let pages = prepared.1.mr().translation();
        let pages = pages.map(|pages| -> Translation { pages });
        match self.fast_command(id, prepared, pages, Vec::new())? {
            Ok(Some(region)) => Ok(Ok(region)),
            Ok(None) => Err(TargetError::Failed("a registration ended a region".into())),
            Err(refused) => Ok(Err(refused)),
        }
    }

    fn invalidate_region(
        &mut self,
        id: RegionId,
        by: Invalidator,
    ) -> Result<Result<(), Refused>, TargetError> {
        let mr = self.take_fast(id)?;
        let prepared = match by {
            Invalidator::Local => self.driver.prepare_local_inv(mr),
            Invalidator::Peer { qpn } => {
                let prepared = self.driver.prepare_remote_inv(mr);
                prepared.map(|(command, handle)| (Command { qpn, ..command }, handle))
            }
        };
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(unchanged) => return self.fast_unchanged(id, unchanged),
        };
        let release = table_ranges(prepared.1.mr().table());
        let ended = self.fast_command(id, prepared, None, release)?;
        Ok(ended.map(|_| ()))
    }

    fn allocate_window(
        &mut self,
        pd: u32,
        kind: MwType,
    ) -> Result<Result<Window, Refused>, TargetError> {
        let prepared = match self.driver.prepare_alloc_mw(pd, kind) {
            Ok(prepared) => prepared,
            Err(error) => return self.refused(error),
        };
        self.next += 1;
        let id = WindowId(self.next);
        match self.window_command(id, Ok(prepared))? {
            Ok(Some(window)) => Ok(Ok(window)),
            Ok(None) => Err(TargetError::Failed("an allocation made nothing".into())),
            Err(refused) => Ok(Err(refused)),
        }
    }

    fn bind_window(
        &mut self,
        id: WindowId,
        bind: &Bind,
    ) -> Result<Result<Window, Refused>, TargetError> {
        let (lkey, mr_pd) = match bind.region {
            None => (Key::NONE, None),
            Some(region) => match (self.regions.get(&region), self.fast.get(&region)) {
                (Some(mr), _) => (mr.lkey(), Some(mr.pd())),
                (_, Some(mr)) => (mr.lkey(), Some(mr.args().pd)),
                _ => return Err(TargetError::Failed(format!("no region {}", region.0))),
            },
        };
        let args = BindArgs {
            lkey,
            mr_pd,
            addr: bind.start,
            length: bind.length,
            access: bind.access,
            qpn: bind.qpn,
            tag: bind.tag,
        };
        let mw = self.take_window(id)?;
        let prepared = self.driver.prepare_bind_mw(mw, &args);
        match self.window_command(id, prepared)? {
            Ok(Some(window)) => Ok(Ok(window)),
            Ok(None) => Err(TargetError::Failed("a bind ended a window".into())),
            Err(refused) => Ok(Err(refused)),
        }
    }

    fn invalidate_window(
        &mut self,
        id: WindowId,
        by: Invalidator,
    ) -> Result<Result<(), Refused>, TargetError> {
        let mw = self.take_window(id)?;
        let prepared = match by {
            Invalidator::Local => self.driver.prepare_local_inv_mw(mw),
            Invalidator::Peer { qpn } => self.driver.prepare_remote_inv_mw(mw, qpn),
        };
        Ok(self.window_command(id, prepared)?.map(|_| ()))
    }

    fn free_window(&mut self, id: WindowId) -> Result<Status, TargetError> {
        let mw = self.take_window(id)?;
        let prepared = self.driver.prepare_dealloc_mw(mw);
        match self.window_command(id, Ok(prepared))? {
            Ok(_) => Ok(Status::Ok),
            Err(Refused::Unit(status)) => Ok(status),
            Err(Refused::Driver(why)) => Err(TargetError::Failed(why)),
        }
    }

    fn deregister(&mut self, id: RegionId) -> Result<Status, TargetError> {
        if self.fast.contains_key(&id) {
            let mr = self.take_fast(id)?;
            let release = table_ranges(mr.table());
            let prepared = self.driver.prepare_dereg_fast(mr);
            return match self.fast_command(id, prepared, None, release)? {
                Ok(_) => Ok(Status::Ok),
                Err(Refused::Unit(status)) => Ok(status),
                Err(Refused::Driver(why)) => Err(TargetError::Failed(why)),
            };
        }
        let Some(mr) = self.regions.remove(&id) else {
            return Err(TargetError::Failed(format!("no region {}", id.0)));
        };
        let release = ranges(&mr);
        let (command, handle) = self.driver.prepare_dereg(mr);
        let done = self
            .port
            .command(&mut self.host.mem, &command, None, release)?;
        self.finish_dereg(id, handle, &done)
    }

    fn refused_command(&mut self, command: &Command) -> Result<Completion, TargetError> {
        self.port
            .command(&mut self.host.mem, command, None, Vec::new())
    }

    fn access(&mut self, batch: &[Access1]) -> Result<Vec<Answer>, TargetError> {
        if !self.damaged.is_empty() {
            // The reference cannot know which entries are damaged: one by one, and say so.
            let mut answers = Vec::with_capacity(batch.len());
            for access in batch {
                let index = self.index(access.request.key);
                let conditions = Conditions {
                    mpt_bad: self.damaged.contains_key(&index),
                    ..Conditions::default()
                };
                answers.push(
                    self.port
                        .access_under(&mut self.host.mem, access, conditions)?,
                );
            }
            return Ok(answers);
        }
        Ok(self.port.access(&mut self.host.mem, batch, Vec::new())?.0)
    }

    fn access_while(
        &mut self,
        batch: &[Access1],
        deregister: &[(usize, RegionId)],
    ) -> Result<Vec<Answer>, TargetError> {
        let mut posted = Vec::new();
        let mut handles = Vec::new();
        for &(after, id) in deregister {
            let (command, release, handle) = if self.fast.contains_key(&id) {
                let mr = self.take_fast(id)?;
                let release = table_ranges(mr.table());
                let (command, handle) = self.driver.prepare_dereg_fast(mr);
                (command, release, Ending::Fast(handle))
            } else {
                let Some(mr) = self.regions.remove(&id) else {
                    return Err(TargetError::Failed(format!("no region {}", id.0)));
                };
                let release = ranges(&mr);
                let (command, handle) = self.driver.prepare_dereg(mr);
                (command, release, Ending::Plain(handle))
            };
            posted.push(Posted {
                after,
                command,
                release,
            });
            handles.push((id, handle));
        }
        let (answers, completions) = self.port.access(&mut self.host.mem, batch, posted)?;
        for ((id, handle), completion) in handles.into_iter().zip(&completions) {
            let status = match handle {
                Ending::Plain(handle) => self.finish_dereg(id, handle, completion)?,
                Ending::Fast(handle) => {
                    match self.driver.finish_fast(&mut self.host, handle, completion) {
                        Ok(FastOutcome::Gone(_)) => Status::Ok,
                        Ok(_) => return Err(pending("a deregistration")),
                        Err(unchanged) => match self.fast_unchanged::<()>(id, unchanged)? {
                            Err(Refused::Unit(status)) => status,
                            other => {
                                return Err(TargetError::Failed(format!(
                                    "a deregistration ended with {other:?}"
                                )))
                            }
                        },
                    }
                }
            };
            if status != Status::Ok {
                return Err(TargetError::Mismatch {
                    clock: self.port.clock(),
                    text: format!("a deregistration ended with {status}"),
                });
            }
        }
        Ok(answers)
    }

    fn damage(&mut self, id: RegionId, what: Damage, on: bool) -> Result<(), TargetError> {
        let mr = self.mr(id)?;
        let (key, log_page) = (mr.lkey(), mr.table().log_page());
        let entry_of = |page| {
            mr.table().entry_pa(page).ok_or_else(|| {
                TargetError::Failed(format!("page {page} of the region has no table entry"))
            })
        };
        let true_pages = mr.translation();
        let flagged = mr.table().encoding() == Encoding::Flagged;
        let word = |page: Page| match page {
            Page::Present { pa, writable } if flagged => pa | 1 | u64::from(writable) << 1,
            Page::Present { pa, .. } => pa,
            _ => 0,
        };
        let replace = |pages: FrameList| -> Translation { Arc::new(pages) };
        use tpt_golden::frames::PageSource as _;
        match what {
            Damage::Absent(page) | Damage::Misaligned(page) => {
                let pa = entry_of(page)?;
                let good = word(true_pages.page(page));
                let mut pages = (*true_pages).clone();
                let value = match (on, what) {
                    (false, _) => good,
                    (true, Damage::Absent(_)) => {
                        pages.set(page..page + 1, Page::Absent);
                        0
                    }
                    (true, _) => {
                        pages.set(page..page + 1, Page::Bad);
                        good | 1 << (log_page - 1)
                    }
                };
                let index = self.index(key);
                self.host.mem.write_u64(pa, value);
                self.port.golden().set_pages(index, replace(pages));
            }
            Damage::Bus(page) => {
                // All pages of the line fail.
                let line = self.port.line_bytes();
                let pa = entry_of(page)? & !(line - 1);
                let mut pages = (*true_pages).clone();
                if on {
                    let first = (0..line / 8)
                        .map(|k| page.saturating_sub(k))
                        .take_while(|p| {
                            self.regions[&id]
                                .table()
                                .entry_pa(*p)
                                .is_some_and(|at| at >= pa && at < pa + line)
                        })
                        .min()
                        .unwrap_or(page);
                    let end = (0..line / 8)
                        .map(|k| page + k)
                        .take_while(|p| {
                            self.regions[&id]
                                .table()
                                .entry_pa(*p)
                                .is_some_and(|at| at >= pa && at < pa + line)
                        })
                        .max()
                        .unwrap_or(page)
                        + 1;
                    pages.set(first..end, Page::Bus);
                }
                let index = self.index(key);
                self.port.bus_fault(pa..pa + line, on);
                self.port.golden().set_pages(index, replace(pages));
            }
            Damage::Entry => {
                let index = self.index(key);
                self.port.flip_entry(&mut self.host.mem, index, 24, 0x10)?;
                if on {
                    self.damaged.insert(index, key);
                } else {
                    self.damaged.remove(&index);
                }
                let expected = !self.damaged.is_empty();
                self.port.expect_damaged_entries(expected);
            }
        }
        Ok(())
    }

    fn access_disabled(&mut self, access: &Access1) -> Result<Answer, TargetError> {
        self.port
            .access_under(&mut self.host.mem, access, Conditions::default())
    }

    fn enable(&mut self) -> Result<(), TargetError> {
        self.port.enable(&mut self.host.mem)
    }

    fn access_tag_busy(&mut self, access: &Access1) -> Result<Answer, TargetError> {
        self.port.access_under(
            &mut self.host.mem,
            access,
            Conditions {
                tag_busy: true,
                ..Conditions::default()
            },
        )
    }

    fn counters(&mut self) -> Result<Option<Counters>, TargetError> {
        self.port.counters(&mut self.host.mem)
    }

    fn commands(&self) -> Option<CommandPath> {
        self.port.commands()
    }

    fn clock(&self) -> Option<u64> {
        self.port.clock()
    }
}

/// The golden unit: no clocks, no hardware.
pub struct GoldenPort {
    unit: Golden,
}

impl GoldenPort {
    /// A unit that is not enabled, with `table_size` entries.
    pub fn new(seed: u64, table_size: u32) -> Self {
        let mut unit = Golden::new(key_maker(seed), table_size, MAX_LEVELS);
        unit.build_with(true, tpt_golden::device::FAULT_SLOTS);
        Self { unit }
    }

    fn answer(&self, access: &Access1, conditions: Conditions) -> Answer {
        let request = &access.request;
        let mut answer = Answer {
            syndrome: Syndrome::Ok,
            segments: Vec::new(),
        };
        if conditions != Conditions::default() {
            answer.syndrome = self.unit.check_under(&conditions, None, request).0;
            return answer;
        }
        for beat in self.unit.judge(request).beats(request) {
            if beat.syndrome != Syndrome::Ok {
                answer.syndrome = beat.syndrome;
            } else if beat.len > 0 {
                answer.segments.push((beat.pa, beat.len));
            }
        }
        answer
    }
}

/// The golden reference alone.
pub type GoldenTarget = Machine<GoldenPort>;

impl GoldenTarget {
    /// A golden unit with its host; not enabled.
    pub fn golden(seed: u64, table_size: u32) -> Self {
        Self::new(GoldenPort::new(seed, table_size), seed)
    }
}

impl Port for GoldenPort {
    fn command(
        &mut self,
        _mem: &mut PhysMem,
        command: &Command,
        pages: Option<Translation>,
        _release: Vec<Range<u64>>,
    ) -> Result<Completion, TargetError> {
        let done = self.unit.command(command, pages);
        // Nothing is ever under way here.
        self.unit.forget_before(u64::MAX);
        Ok(done)
    }

    fn allow(&mut self, _range: Range<u64>) {}

    fn access(
        &mut self,
        mem: &mut PhysMem,
        batch: &[Access1],
        mut posted: Vec<Posted>,
    ) -> Result<(Vec<Answer>, Vec<Completion>), TargetError> {
        let mut answers = Vec::with_capacity(batch.len());
        let mut completions = Vec::with_capacity(posted.len());
        posted.reverse();
        for (n, access) in batch.iter().enumerate() {
            while posted.last().is_some_and(|p| p.after <= n) {
                if let Some(p) = posted.pop() {
                    completions.push(self.command(mem, &p.command, None, p.release)?);
                }
            }
            answers.push(self.answer(access, Conditions::default()));
        }
        while let Some(p) = posted.pop() {
            completions.push(self.command(mem, &p.command, None, p.release)?);
        }
        Ok((answers, completions))
    }

    fn access_under(
        &mut self,
        _mem: &mut PhysMem,
        access: &Access1,
        conditions: Conditions,
    ) -> Result<Answer, TargetError> {
        Ok(self.answer(access, conditions))
    }

    fn enable(&mut self, _mem: &mut PhysMem) -> Result<(), TargetError> {
        self.unit.enable(0);
        self.unit.ready(0);
        Ok(())
    }

    fn golden(&mut self) -> &mut Golden {
        &mut self.unit
    }

    fn bus_fault(&mut self, _range: Range<u64>, _on: bool) {}

    fn expect_damaged_entries(&mut self, _on: bool) {}

    fn counters(&mut self, _mem: &mut PhysMem) -> Result<Option<Counters>, TargetError> {
        Ok(None)
    }

    fn clock(&self) -> Option<u64> {
        None
    }

    fn line_bytes(&self) -> u64 {
        64
    }
}
