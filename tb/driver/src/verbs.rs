// SPDX-License-Identifier: Apache-2.0
//! Registration, fast registration and windows: one call each, which waits for the completion.
//!
//! Regions and windows are objects that own their tables. A command that ends something may be
//! answered PENDING, if somebody still holds a segment ([`Progress::Pending`]): the keys are dead
//! then, but index, tables and pages are in use until the final completion, for which
//! [`Device::resume`] and its relatives wait. Until then, and after a wait that ran out of time, the
//! object keeps its tables and takes no other call. Pages must stay pinned as long.
//!
//! A call that makes something returns no object if its wait runs out of time ([`Error::Timeout`]),
//! but the unit may come to make it all the same: its table stays taken, and its pages must stay
//! pinned, until the unit has been stopped. The late completion is left to [`Device::poll`].

use crate::command::{Command, Completion};
use crate::device::Device;
use crate::error::Error;
use crate::gen::{access, flag, rereg, Encoding, Op, Status, CAP_W, LEVEL_FLAT};
use crate::mtt::{Layout, Run, Table, TableFields};
use crate::platform::{Limit, Platform};

/// How far a command has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It is finished.
    Done,
    /// The keys are dead, but the unit may still use the memory.
    Pending,
}

/// Where the pages of a region are.
#[derive(Clone, Copy, Debug)]
pub enum Memory<'a> {
    /// Pinned memory, of which the driver builds the table.
    Runs(&'a [Run], Layout),
    /// A table that the caller has built and owns. It must stay until the region is gone. Entries of
    /// encoding CHECKED are written when [`Region::index`] is known.
    Table(TableFields),
    /// Pages come and go: a table for all of them, all absent. The region gets right
    /// [`crate::gen::access::ON_DEMAND`]; see [`crate::paging`].
    OnDemand(Layout),
}

/// Arguments of a registration.
#[derive(Clone, Copy, Debug)]
pub struct RegMr<'a> {
    /// Protection domain.
    pub pd: u32,
    /// First address, as the keys' users name it.
    pub start: u64,
    /// Bytes.
    pub length: u64,
    /// Bits of [`crate::gen::access`].
    pub access: u32,
    /// The memory.
    pub memory: Memory<'a>,
}

/// What to change in a region; `None` leaves it as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReregMr<'a> {
    /// Other memory: first address, bytes, pages.
    pub translation: Option<(u64, u64, Memory<'a>)>,
    /// Another protection domain.
    pub pd: Option<u32>,
    /// Other rights.
    pub access: Option<u32>,
}

/// Arguments of a fast-registration region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocMr {
    /// Protection domain.
    pub pd: u32,
    /// Pages that a registration may have.
    pub pages: u32,
    /// log2 of the page size.
    pub log_page: u8,
    /// Encoding of the page list.
    pub encoding: Encoding,
    /// The peer may invalidate it.
    pub remote_inv: bool,
}

/// Arguments of a fast registration.
#[derive(Clone, Copy, Debug)]
pub struct FastRegMr<'a> {
    /// Pinned memory.
    pub runs: &'a [Run],
    /// FLAGGED and CHECKED: the pages may be written.
    pub writable: bool,
    /// First address.
    pub start: u64,
    /// Bytes.
    pub length: u64,
    /// Bits of [`crate::gen::access`].
    pub access: u32,
    /// New low byte of both keys: other than the last one.
    pub tag: u8,
}

/// Types of windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowType {
    /// Type 1: bound and unbound by the driver.
    One,
    /// Type 2A: of one queue pair.
    TwoA,
    /// Type 2B: of one queue pair and protection domain.
    TwoB,
}

/// Arguments of a bind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bind {
    /// L_Key of the region.
    pub mkey: u32,
    /// First address.
    pub start: u64,
    /// Bytes.
    pub length: u64,
    /// Bits of [`crate::gen::access`].
    pub access: u32,
    /// Type 2: the queue pair.
    pub qpn: u32,
    /// Type 2: new low byte of the key, other than the last one.
    pub tag: u8,
}

/// Keys, and the command that is under way.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Core {
    pub(crate) lkey: u32,
    rkey: u32,
    index: u32,
    pub(crate) pd: u32,
    waits: Option<(u16, Op)>,
    gone: bool,
}

impl Core {
    fn of(pd: u32) -> Self {
        Self {
            pd,
            ..Self::default()
        }
    }

    pub(crate) fn live(&self) -> Result<(), Error> {
        let expected = "one that no command is ending or changing";
        match (self.gone, self.waits) {
            (true, _) => Err(Error::State {
                found: "gone",
                expected,
            }),
            (_, Some(_)) => Err(Error::State {
                found: "being ended or changed by a command",
                expected,
            }),
            _ => Ok(()),
        }
    }

    /// Its pages may come and go: it is alive, or pages are being taken out of it.
    pub(crate) fn pages_live(&self) -> Result<(), Error> {
        match self.waits {
            Some((_, Op::InvalidateRange)) if !self.gone => Ok(()),
            _ => self.live(),
        }
    }
}

/// What a registration has said of a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) start: u64,
    pub(crate) length: u64,
    pub(crate) access: u32,
    /// The table as the command had it.
    pub(crate) fields: TableFields,
}

/// A new table, and what comes with it.
#[derive(Debug, PartialEq, Eq)]
struct Next {
    table: Option<Table>,
    replaces: bool,
    pd: u32,
    extent: Extent,
}

/// A memory region, or a physical one.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "its keys live until `dereg_mr`"]
pub struct Region {
    pub(crate) core: Core,
    pub(crate) table: Option<Table>,
    pub(crate) extent: Extent,
    next: Option<Next>,
}

/// A fast-registration region.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "its keys live until `dereg_fast`"]
pub struct FastRegion {
    core: Core,
    table: Option<Table>,
    registered: bool,
}

/// A window.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "its key lives until `dealloc_mw`"]
pub struct Window {
    core: Core,
    kind: WindowType,
    bound: bool,
    /// Whether it was bound before the command that is under way.
    was_bound: bool,
}

macro_rules! common {
    ($($object:ident)+) => { $(
        impl $object {
            /// L_Key; 0 for a window.
            pub fn lkey(&self) -> u32 {
                self.core.lkey
            }

            /// R_Key; 0 if nothing is granted to the peer.
            pub fn rkey(&self) -> u32 {
                self.core.rkey
            }

            /// Protection domain.
            pub fn pd(&self) -> u32 {
                self.core.pd
            }

            /// MPT index.
            pub fn index(&self) -> u32 {
                self.core.index
            }

            /// A command on it has no final completion yet.
            pub fn is_pending(&self) -> bool {
                self.core.waits.is_some()
            }

            /// It has been deregistered or freed.
            pub fn is_gone(&self) -> bool {
                self.core.gone
            }
        }
    )+ };
}
common!(Region FastRegion Window);

impl Region {
    /// Its table, if the driver has built one.
    pub fn table(&self) -> Option<&Table> {
        self.table.as_ref()
    }

    /// Its pages may be absent.
    pub fn is_on_demand(&self) -> bool {
        self.extent.access & access::ON_DEMAND != 0
    }
}

impl FastRegion {
    /// Its page list, until it is gone.
    pub fn table(&self) -> Option<&Table> {
        self.table.as_ref()
    }

    /// It is registered.
    pub fn is_registered(&self) -> bool {
        self.registered
    }
}

impl Window {
    /// Its type.
    pub fn kind(&self) -> WindowType {
        self.kind
    }

    /// It is bound.
    pub fn is_bound(&self) -> bool {
        self.bound
    }
}

/// The translation of a registration in its command.
fn with_table(command: Command, fields: TableFields) -> Command {
    Command {
        log_page: fields.log_page,
        level: fields.level,
        log_tpage: fields.log_tpage,
        encoding: fields.encoding,
        frame: fields.frame,
        ..command
    }
}

impl Device {
    /// Sends a command about an object and waits; `None`: PENDING.
    pub(crate) fn run(
        &mut self,
        p: &mut impl Platform,
        core: &mut Core,
        op: Op,
        command: &Command,
        limit: Limit,
    ) -> Result<Option<Completion>, Error> {
        core.live()?;
        let id = self.post(p, command)?;
        core.waits = Some((id, op));
        self.ring(p)?;
        self.settle(p, core, limit)
    }

    /// Waits for the next completion of the command under way; `None`: PENDING.
    fn settle(
        &mut self,
        p: &mut impl Platform,
        core: &mut Core,
        limit: Limit,
    ) -> Result<Option<Completion>, Error> {
        let Some((id, op)) = core.waits else {
            return Err(Error::State {
                found: "not being ended or changed",
                expected: "one with a command under way",
            });
        };
        let completion = self.wait(p, id, limit)?;
        match completion.status {
            Status::Pending => return Ok(None),
            _ => core.waits = None,
        }
        match completion.status {
            Status::Ok => Ok(Some(completion)),
            status => Err(Error::Refused { op, status }),
        }
    }

    /// Sends a command that makes something and waits.
    fn make(
        &mut self,
        p: &mut impl Platform,
        core: &mut Core,
        op: Op,
        command: &Command,
        limit: Limit,
    ) -> Result<(), Error> {
        if let Some(completion) = self.run(p, core, op, command, limit)? {
            (core.lkey, core.rkey) = (completion.lkey, completion.rkey);
            core.index = completion.index;
        }
        Ok(())
    }

    /// An error if the unit was built without what a registration needs.
    fn supports(&self, encoding: u8, demand: bool) -> Result<(), Error> {
        let caps = self.capabilities();
        let absent = |what, field| Err(Error::NotBuilt { what, field });
        match (encoding == Encoding::Checked.code(), demand) {
            (true, _) if !caps.checked => absent("encoding CHECKED", "CAP2.checked"),
            (_, true) if caps.fault_slots == 0 => absent("on-demand regions", "CAP2.fault_slots"),
            _ => Ok(()),
        }
    }

    /// The table of a registration; `index`: that of the region, if it is known.
    fn table(
        &self,
        p: &mut impl Platform,
        memory: &Memory<'_>,
        (start, length): (u64, u64),
        access: u32,
        index: Option<u32>,
    ) -> Result<(Option<Table>, Extent), Error> {
        let mut extent = Extent {
            start,
            length,
            access,
            fields: TableFields::default(),
        };
        if matches!(memory, Memory::OnDemand(_)) {
            extent.access |= access::ON_DEMAND;
        }
        let encoding = match memory {
            Memory::Table(fields) => fields.encoding,
            Memory::Runs(_, layout) | Memory::OnDemand(layout) => layout.encoding.code(),
        };
        self.supports(encoding, extent.access & access::ON_DEMAND != 0)?;
        let levels = self.capabilities().max_levels;
        let table = match memory {
            Memory::Table(fields) => {
                extent.fields = *fields;
                return Ok((None, extent));
            }
            Memory::Runs(runs, layout) => Table::build(p, runs, start, length, layout, levels)?,
            Memory::OnDemand(layout) => Table::absent(p, start, length, layout, levels)?,
        };
        extent.fields = table.fields();
        let mut table = Some(table);
        if let (Some(index), Some(there)) = (index, &mut table) {
            if let Err(error) = Self::indexed(p, there, memory, start, index) {
                table.into_iter().for_each(|table| table.free(p));
                return Err(error);
            }
        }
        Ok((table, extent))
    }

    /// The index is known: the rest of a table of encoding CHECKED.
    fn indexed(
        p: &mut impl Platform,
        table: &mut Table,
        memory: &Memory<'_>,
        start: u64,
        index: u32,
    ) -> Result<(), Error> {
        table.set_index(p, index)?;
        if let Memory::Runs(runs, layout) = memory {
            table.enter(p, runs, start, layout.writable)?;
        }
        // Nobody has a key yet, but the first request may come at once.
        p.write_barrier();
        Ok(())
    }

    /// What becomes of a table whose command has failed: if the unit may be using it, it stays until
    /// the unit is stopped. With status BUS that is so, too: memory may hold the entry.
    fn drop_table(
        &mut self,
        p: &mut impl Platform,
        core: &Core,
        table: Option<Table>,
        error: &Error,
    ) {
        let doubtful = core.waits.is_some() || error.status() == Some(Status::Bus);
        match table {
            Some(table) if doubtful => self.keep(table),
            Some(table) => table.free(p),
            None => {}
        }
    }

    // ---------------------------------------------------------------------------------------------
    // Regions
    // ---------------------------------------------------------------------------------------------

    /// Registers a region. After [`Error::Timeout`] its pages must stay pinned until the unit has
    /// been stopped: it may be registered.
    pub fn reg_mr(
        &mut self,
        p: &mut impl Platform,
        args: &RegMr<'_>,
        limit: Limit,
    ) -> Result<Region, Error> {
        let range = (args.start, args.length);
        let (table, extent) = self.table(p, &args.memory, range, args.access, None)?;
        let command = Command {
            access: extent.access,
            start: args.start,
            length: args.length,
            ..with_table(Command::new(Op::RegMr, 0, args.pd), extent.fields)
        };
        let mut core = Core::of(args.pd);
        if let Err(error) = self.make(p, &mut core, Op::RegMr, &command, limit) {
            self.drop_table(p, &core, table, &error);
            return Err(error);
        }
        let next = None;
        let mut region = Region {
            core,
            table,
            extent,
            next,
        };
        if extent.fields.encoding == Encoding::Checked.code() {
            let index = region.core.index;
            let entered = match &mut region.table {
                Some(table) => Self::indexed(p, table, &args.memory, args.start, index),
                None => Ok(()),
            };
            if let Err(error) = entered {
                // The keys go to nobody.
                let _ = self.dereg_mr(p, &mut region, limit);
                region.table.into_iter().for_each(|table| self.keep(table));
                return Err(error);
            }
        }
        self.note_demand(&region);
        Ok(region)
    }

    /// Registers physical memory, if [`crate::Config::phys`] allows it.
    pub fn reg_phys(
        &mut self,
        p: &mut impl Platform,
        pd: u32,
        (start, length): (u64, u64),
        access: u32,
        limit: Limit,
    ) -> Result<Region, Error> {
        let command = Command {
            start,
            length,
            access,
            ..Command::new(Op::RegPhys, 0, pd)
        };
        let mut core = Core::of(pd);
        self.make(p, &mut core, Op::RegPhys, &command, limit)?;
        let extent = Extent {
            start,
            length,
            access,
            ..Extent::default()
        };
        Ok(Region {
            core,
            table: None,
            extent,
            next: None,
        })
    }

    /// Ends a region. Its table is given back when the unit is finished with it; only then, that is
    /// with [`Progress::Done`], may its pages be unpinned.
    pub fn dereg_mr(
        &mut self,
        p: &mut impl Platform,
        region: &mut Region,
        limit: Limit,
    ) -> Result<Progress, Error> {
        let command = Command::new(Op::DeregMr, region.core.lkey, region.core.pd);
        let result = self.run(p, &mut region.core, Op::DeregMr, &command, limit);
        self.after(p, region, Op::DeregMr, result)
    }

    /// Changes a region: same index, new keys. If it fails, the region is what it was.
    pub fn rereg_mr(
        &mut self,
        p: &mut impl Platform,
        region: &mut Region,
        change: &ReregMr<'_>,
        limit: Limit,
    ) -> Result<Progress, Error> {
        region.core.live()?;
        let mut command = Command::new(Op::ReregMr, region.core.lkey, region.core.pd);
        let mut table = None;
        let rights = change.access.unwrap_or(region.extent.access);
        let mut extent = Extent {
            access: rights,
            ..region.extent
        };
        if let Some((start, length, memory)) = &change.translation {
            let index = Some(region.core.index);
            (table, extent) = self.table(p, memory, (*start, *length), rights, index)?;
            command = with_table(command, extent.fields);
            command.rereg |= rereg::TRANSLATION;
            (command.start, command.length) = (*start, *length);
        } else {
            self.supports(extent.fields.encoding, rights & access::ON_DEMAND != 0)?;
        }
        if let Some(pd) = change.pd {
            command.rereg |= rereg::PD;
            command.new_pd = pd;
        }
        if change.access.is_some() || extent.access != region.extent.access {
            command.rereg |= rereg::ACCESS;
            command.access = extent.access;
        }
        region.next = Some(Next {
            table,
            replaces: change.translation.is_some(),
            pd: change.pd.unwrap_or(region.core.pd),
            extent,
        });
        let result = self.run(p, &mut region.core, Op::ReregMr, &command, limit);
        self.after(p, region, Op::ReregMr, result)
    }

    /// Waits for the final completion of a region's command.
    pub fn resume(
        &mut self,
        p: &mut impl Platform,
        region: &mut Region,
        limit: Limit,
    ) -> Result<Progress, Error> {
        let op = region.core.waits.map_or(Op::DeregMr, |(_, op)| op);
        let result = self.settle(p, &mut region.core, limit);
        self.after(p, region, op, result)
    }

    /// What a completion of a region's command leads to.
    pub(crate) fn after(
        &mut self,
        p: &mut impl Platform,
        region: &mut Region,
        op: Op,
        result: Result<Option<Completion>, Error>,
    ) -> Result<Progress, Error> {
        let completion = match result {
            Ok(Some(completion)) => completion,
            Ok(None) => return Ok(Progress::Pending),
            Err(error) => {
                if region.core.waits.is_none() {
                    let table = region.next.take().and_then(|next| next.table);
                    self.drop_table(p, &region.core, table, &error);
                }
                return Err(error);
            }
        };
        let mut old = None;
        match (op, region.next.take()) {
            (Op::ReregMr, Some(next)) => {
                if next.replaces {
                    old = std::mem::replace(&mut region.table, next.table);
                }
                region.core.pd = next.pd;
                region.extent = next.extent;
                region.core.lkey = completion.lkey;
                region.core.rkey = completion.rkey;
            }
            (Op::InvalidateRange, _) => {}
            _ => {
                region.core.gone = true;
                old = region.table.take();
            }
        }
        if let Some(table) = old {
            table.free(p);
        }
        self.note_demand(region);
        Ok(Progress::Done)
    }

    /// Reads the MPT entry of a region (by its L_Key) or window (by its R_Key).
    pub fn query(
        &mut self,
        p: &mut impl Platform,
        key: u32,
        pd: u32,
        limit: Limit,
    ) -> Result<[u8; 64], Error> {
        let command = Command::new(Op::Query, key, pd);
        let done = self.run(p, &mut Core::of(pd), Op::Query, &command, limit)?;
        let entry = done.and_then(|completion| completion.entry);
        Ok(entry.unwrap_or([0; 64]))
    }

    // ---------------------------------------------------------------------------------------------
    // Fast registration
    // ---------------------------------------------------------------------------------------------

    /// Makes a fast-registration region and reserves its page list.
    pub fn alloc_mr(
        &mut self,
        p: &mut impl Platform,
        args: &AllocMr,
        limit: Limit,
    ) -> Result<FastRegion, Error> {
        if args.pages == 0 || args.pages >> CAP_W != 0 {
            return Err(Error::Setting {
                what: "pages",
                value: args.pages.into(),
                expected: format!("1 to {}", (1u32 << CAP_W) - 1),
            });
        }
        self.supports(args.encoding.code(), false)?;
        let mut table = Table::reserve(p, args.pages.into(), args.log_page, args.encoding)?;
        let command = Command {
            length: args.pages.into(),
            log_page: args.log_page,
            encoding: args.encoding.code(),
            flags: if args.remote_inv { flag::REMOTE_INV } else { 0 },
            ..Command::new(Op::AllocMr, 0, args.pd)
        };
        let mut core = Core::of(args.pd);
        match self.make(p, &mut core, Op::AllocMr, &command, limit) {
            Ok(()) => {
                // (A flat table has no directories: nothing is written.)
                if let Err(error) = table.set_index(p, core.index) {
                    self.keep(table);
                    return Err(error);
                }
                Ok(FastRegion {
                    core,
                    table: Some(table),
                    registered: false,
                })
            }
            Err(error) => {
                self.drop_table(p, &core, Some(table), &error);
                Err(error)
            }
        }
    }

    /// Writes the page list and registers it.
    pub fn fast_reg_mr(
        &mut self,
        p: &mut impl Platform,
        region: &mut FastRegion,
        args: &FastRegMr<'_>,
        limit: Limit,
    ) -> Result<(), Error> {
        region.core.live()?;
        let table = match (&region.table, region.registered) {
            (Some(table), false) => table,
            _ => {
                return Err(Error::State {
                    found: "registered",
                    expected: "one that is not: its page list is in use",
                })
            }
        };
        table.fill(p, args.runs, args.start, args.length, args.writable)?;
        let fields = table.fields();
        let command = Command {
            tag: args.tag,
            access: args.access,
            start: args.start,
            length: args.length,
            level: LEVEL_FLAT,
            log_tpage: fields.log_tpage,
            frame: fields.frame,
            ..Command::new(Op::FastRegMr, region.core.lkey, region.core.pd)
        };
        self.make(p, &mut region.core, Op::FastRegMr, &command, limit)?;
        region.registered = true;
        Ok(())
    }

    /// Ends a fast registration. With [`Progress::Done`] its pages may be unpinned.
    pub fn invalidate_mr(
        &mut self,
        p: &mut impl Platform,
        region: &mut FastRegion,
        limit: Limit,
    ) -> Result<Progress, Error> {
        self.end_fast(p, region, Op::Invalidate, limit)
    }

    /// Ends a fast-registration region, registered or not.
    pub fn dereg_fast(
        &mut self,
        p: &mut impl Platform,
        region: &mut FastRegion,
        limit: Limit,
    ) -> Result<Progress, Error> {
        self.end_fast(p, region, Op::DeregMr, limit)
    }

    fn end_fast(
        &mut self,
        p: &mut impl Platform,
        region: &mut FastRegion,
        op: Op,
        limit: Limit,
    ) -> Result<Progress, Error> {
        let command = Command::new(op, region.core.lkey, region.core.pd);
        let result = self.run(p, &mut region.core, op, &command, limit);
        Self::after_fast(p, region, op, result)
    }

    /// Waits for the completion of a fast-registration region's command.
    pub fn resume_fast(
        &mut self,
        p: &mut impl Platform,
        region: &mut FastRegion,
        limit: Limit,
    ) -> Result<Progress, Error> {
        let op = region.core.waits.map_or(Op::DeregMr, |(_, op)| op);
        let result = self.settle(p, &mut region.core, limit);
        Self::after_fast(p, region, op, result)
    }

    fn after_fast(
        p: &mut impl Platform,
        region: &mut FastRegion,
        op: Op,
        result: Result<Option<Completion>, Error>,
    ) -> Result<Progress, Error> {
        let Some(completion) = result? else {
            return Ok(Progress::Pending);
        };
        match op {
            Op::Invalidate => region.registered = false,
            Op::FastRegMr => {
                region.registered = true;
                (region.core.lkey, region.core.rkey) = (completion.lkey, completion.rkey);
            }
            _ => {
                region.core.gone = true;
                if let Some(table) = region.table.take() {
                    table.free(p);
                }
            }
        }
        Ok(Progress::Done)
    }

    // ---------------------------------------------------------------------------------------------
    // Windows
    // ---------------------------------------------------------------------------------------------

    /// Makes a window.
    pub fn alloc_mw(
        &mut self,
        p: &mut impl Platform,
        pd: u32,
        kind: WindowType,
        limit: Limit,
    ) -> Result<Window, Error> {
        let command = Command {
            flags: match kind {
                WindowType::One => 0,
                WindowType::TwoA => flag::MW2 | flag::MW2A,
                WindowType::TwoB => flag::MW2,
            },
            ..Command::new(Op::AllocMw, 0, pd)
        };
        let mut core = Core::of(pd);
        self.make(p, &mut core, Op::AllocMw, &command, limit)?;
        Ok(Window {
            core,
            kind,
            bound: false,
            was_bound: false,
        })
    }

    /// Binds a window to a part of a region. Of a bound window of type 1 the old binding ends.
    pub fn bind_mw(
        &mut self,
        p: &mut impl Platform,
        window: &mut Window,
        bind: &Bind,
        limit: Limit,
    ) -> Result<Progress, Error> {
        let command = Command {
            mkey: bind.mkey,
            start: bind.start,
            length: bind.length,
            access: bind.access,
            qpn: bind.qpn,
            tag: bind.tag,
            ..Command::new(Op::BindMw, window.core.rkey, window.core.pd)
        };
        self.change(p, window, Op::BindMw, &command, bind.length != 0, limit)
    }

    /// Unbinds a window: of type 1 by a bind of nothing, of type 2 by an invalidation.
    pub fn unbind_mw(
        &mut self,
        p: &mut impl Platform,
        window: &mut Window,
        limit: Limit,
    ) -> Result<Progress, Error> {
        let op = match window.kind {
            WindowType::One => Op::BindMw,
            _ => Op::Invalidate,
        };
        let command = Command::new(op, window.core.rkey, window.core.pd);
        self.change(p, window, op, &command, false, limit)
    }

    /// Frees a window, bound or not.
    pub fn dealloc_mw(
        &mut self,
        p: &mut impl Platform,
        window: &mut Window,
        limit: Limit,
    ) -> Result<Progress, Error> {
        let command = Command::new(Op::DeallocMw, window.core.rkey, window.core.pd);
        self.change(p, window, Op::DeallocMw, &command, false, limit)
    }

    fn change(
        &mut self,
        p: &mut impl Platform,
        window: &mut Window,
        op: Op,
        command: &Command,
        binds: bool,
        limit: Limit,
    ) -> Result<Progress, Error> {
        window.core.live()?;
        window.was_bound = std::mem::replace(&mut window.bound, binds);
        let result = self.run(p, &mut window.core, op, command, limit);
        Self::after_window(window, op, result)
    }

    /// Waits for the completion of a window's command.
    pub fn resume_mw(
        &mut self,
        p: &mut impl Platform,
        window: &mut Window,
        limit: Limit,
    ) -> Result<Progress, Error> {
        let op = window.core.waits.map_or(Op::DeallocMw, |(_, op)| op);
        let result = self.settle(p, &mut window.core, limit);
        Self::after_window(window, op, result)
    }

    fn after_window(
        window: &mut Window,
        op: Op,
        result: Result<Option<Completion>, Error>,
    ) -> Result<Progress, Error> {
        let completion = match result {
            Ok(Some(completion)) => completion,
            Ok(None) => return Ok(Progress::Pending),
            Err(error) => {
                // Refused, at once or after a wait that ran out: nothing has changed.
                if window.core.waits.is_none() {
                    window.bound = window.was_bound;
                }
                return Err(error);
            }
        };
        window.was_bound = window.bound;
        match op {
            Op::BindMw => window.core.rkey = completion.rkey,
            Op::DeallocMw => window.core.gone = true,
            _ => {}
        }
        Ok(Progress::Done)
    }

    // ---------------------------------------------------------------------------------------------
    // After a stop
    // ---------------------------------------------------------------------------------------------

    /// Gives the tables of a region back that a stop has ended.
    pub fn release(&self, p: &mut impl Platform, region: Region) -> Result<(), Error> {
        self.at_rest()?;
        let next = region.next.and_then(|next| next.table);
        for table in region.table.into_iter().chain(next) {
            table.free(p);
        }
        Ok(())
    }

    /// Gives the page list of a fast-registration region back that a stop has ended.
    pub fn release_fast(&self, p: &mut impl Platform, region: FastRegion) -> Result<(), Error> {
        self.at_rest()?;
        if let Some(table) = region.table {
            table.free(p);
        }
        Ok(())
    }
}
