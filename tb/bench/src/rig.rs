// SPDX-License-Identifier: Apache-2.0
//! A bench, a host memory and helpers to make regions by hand: what the tests stand on.
//!
//! Unlike the golden driver nothing is checked here before it goes to the unit.

use std::ops::Range;
use std::sync::Arc;

use tpt_golden::frames::{FrameList, Page, PageSource, PagedList};
use tpt_golden::host::{Host, HostConfig, PhysRange};
use tpt_golden::mtt::paged::PagedTable;
use tpt_golden::mtt::{Shape, Table};
use tpt_golden::types::{
    Access, CmdOp, Command, Completion, Encoding, Key, Op, Request, Status, Syndrome,
};
use tpt_golden::unit::page_count;

use crate::bench::{Bench, BenchOptions, CommandExtra, UnitConfig};
use crate::client::Outcome;
use crate::error::BenchError;
use crate::paging::Pager;

/// A region that is to be registered.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Protection domain.
    pub pd: u32,
    /// First address.
    pub start: u64,
    /// Bytes.
    pub length: u64,
    /// Rights.
    pub access: Access,
    /// The physical pages, as many as the region has.
    pub list: FrameList,
    /// Table.
    pub shape: Shape,
}

/// Every right but ZERO_BASED.
pub const ALL_RIGHTS: Access = Access(0x1f);

impl Spec {
    /// `length` bytes from `start` on, of scattered pages of 2^`log_page` bytes above `pa`, with
    /// all rights, in PD 1.
    pub fn new(start: u64, length: u64, log_page: u8, pa: u64) -> Self {
        let pages = page_count(start, length, log_page) as u64;
        Self {
            pd: 1,
            start,
            length,
            access: ALL_RIGHTS,
            list: scatter(log_page, pa, pages),
            shape: Shape::pages_of(log_page),
        }
    }

    /// With other rights.
    pub fn access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// With a table of this level.
    pub fn level(mut self, level: u8) -> Self {
        self.shape.level = Some(level);
        self
    }
}

/// Pages that never follow each other: a wrong page number gives a wrong address.
pub fn scatter(log_page: u8, pa: u64, pages: u64) -> FrameList {
    let mut list = FrameList::new(log_page);
    if pages > 4096 {
        // Long lists stay short runs, in falling order.
        let run = pages.div_ceil(64);
        let mut done = 0;
        while done < pages {
            let n = run.min(pages - done);
            list.push(
                n,
                Page::at(pa + ((pages - done + 5 * (64 - done / run)) << log_page)),
            );
            done += n;
        }
        return list;
    }
    for n in 0..pages {
        // Multiplication by an odd number modulo a power of two is one to one.
        let places = pages.next_power_of_two() * 2;
        list.push(1, Page::at(pa + (((n * 5 + 3) % places) << log_page)));
    }
    list
}

/// A registered region.
#[derive(Debug)]
pub struct Mr {
    /// L_Key.
    pub lkey: Key,
    /// R_Key.
    pub rkey: Key,
    /// Index in the MPT.
    pub index: u32,
    /// What it is.
    pub spec: Spec,
    /// Its table.
    pub table: Table,
}

impl Mr {
    /// The key for an operation.
    pub fn key(&self, op: Op) -> Key {
        match op {
            Op::LocalRead | Op::LocalWrite => self.lkey,
            _ => self.rkey,
        }
    }

    /// A request that passes if the range does.
    pub fn request(&self, op: Op, va: u64, len: u32) -> Request {
        Request {
            op: op.code(),
            key: self.key(op),
            va,
            len,
            pd: self.spec.pd,
            qpn: 0x77,
            ..Request::default()
        }
    }

    /// Memory of its table.
    pub fn table_ranges(&self) -> Vec<Range<u64>> {
        self.table.ranges().map(|r| r.pa..r.pa + r.len).collect()
    }
}

/// Every right of an on-demand region but ZERO_BASED: it cannot have windows.
pub const PAGED_RIGHTS: Access = Access(0x4f);

/// A registered on-demand region. Its table is with the [`Pager`].
#[derive(Clone, Debug)]
pub struct PagedMr {
    /// L_Key.
    pub lkey: Key,
    /// R_Key.
    pub rkey: Key,
    /// Index in the MPT.
    pub index: u32,
    /// What it is; the list says how many pages it has, and nothing else.
    pub spec: Spec,
    /// The pages, and their history.
    pub pages: Arc<PagedList>,
}

impl PagedMr {
    /// A request that passes if the range does.
    pub fn request(&self, op: Op, va: u64, len: u32) -> Request {
        Request {
            op: op.code(),
            key: match op {
                Op::LocalRead | Op::LocalWrite => self.lkey,
                _ => self.rkey,
            },
            va,
            len,
            pd: self.spec.pd,
            qpn: 0x77,
            ..Request::default()
        }
    }

    /// A request for `len` bytes from the beginning of a page on; the start is on a page.
    pub fn at(&self, op: Op, page: u64, len: u32) -> Request {
        let size = 1 << self.spec.list.log_page();
        self.request(op, self.spec.start + page * size, len)
    }
}

/// A window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// R_Key.
    pub rkey: Key,
    /// Index in the MPT.
    pub index: u32,
    /// Protection domain.
    pub pd: u32,
}

impl Window {
    /// A request of QP 0x77 through the window.
    pub fn request(&self, op: Op, va: u64, len: u32) -> Request {
        Request {
            op: op.code(),
            key: self.rkey,
            va,
            len,
            pd: self.pd,
            qpn: 0x77,
            ..Request::default()
        }
    }
}

/// The bench and its memory.
pub struct Rig {
    /// Memory and frames.
    pub host: Host,
    /// The unit.
    pub bench: Bench,
    next_id: u16,
}

impl Rig {
    /// The unit, enabled.
    pub fn new(options: BenchOptions, unit: &UnitConfig) -> Result<Self, BenchError> {
        let mut rig = Self::disabled(options)?;
        rig.bench.enable(&mut rig.host.mem, unit)?;
        Ok(rig)
    }

    /// The unit, enabled, in a host whose memory is there.
    pub fn with_ram(
        options: BenchOptions,
        unit: &UnitConfig,
        ram: Vec<PhysRange>,
    ) -> Result<Self, BenchError> {
        let mut rig = Self::disabled_with_ram(options, ram)?;
        rig.bench.enable(&mut rig.host.mem, unit)?;
        Ok(rig)
    }

    /// The unit after its reset.
    pub fn disabled(options: BenchOptions) -> Result<Self, BenchError> {
        Self::disabled_with_ram(options, HostConfig::default().ram)
    }

    fn disabled_with_ram(options: BenchOptions, ram: Vec<PhysRange>) -> Result<Self, BenchError> {
        let mut host = Host::new(HostConfig {
            ram,
            seed: options.seed,
            ..HostConfig::default()
        });
        let bench = Bench::new(&mut host.mem, options)?;
        Ok(Self {
            host,
            bench,
            next_id: 0,
        })
    }

    /// The small configuration with everything at its default.
    pub fn small() -> Result<Self, BenchError> {
        Self::new(BenchOptions::default(), &UnitConfig::default())
    }

    /// A command id that is not in use.
    pub fn id(&mut self) -> u16 {
        loop {
            self.next_id = self.next_id.wrapping_add(1);
            if !self.bench.is_id_in_use(self.next_id) {
                return self.next_id;
            }
        }
    }

    /// Builds the table of a region.
    ///
    /// # Panics
    /// If the host has no memory for it: tests do not ask for that much.
    pub fn build_table(&mut self, spec: &Spec) -> Table {
        let list = Arc::new(spec.list.clone());
        let levels = self.bench.config().sizes().max_levels;
        let table = Table::build(&mut self.host, &list, &spec.shape, levels)
            .unwrap_or_else(|error| panic!("no table for {spec:?}: {error}"));
        // (Encoding CHECKED: the entries are written by `Rig::complete`.)
        // Frames of earlier tables may be in use again.
        for range in table.ranges() {
            self.bench.axi.allow(range.pa..range.pa + range.len);
        }
        table
    }

    /// Writes a table of encoding CHECKED, now that the index of its region is known.
    pub fn complete(&mut self, table: &mut Table, list: &FrameList, index: u32) {
        if table.encoding() == Encoding::Checked {
            table.complete(&mut self.host, &Arc::new(list.clone()), index);
        }
    }

    /// The REG_MR command of a region with this table.
    pub fn reg_command(&mut self, spec: &Spec, table: &Table) -> Command {
        Command {
            id: self.id(),
            op: CmdOp::RegMr.code(),
            pd: spec.pd,
            access: spec.access.0,
            start: spec.start,
            length: spec.length,
            log_page: spec.list.log_page(),
            level: table.level(),
            log_tpage: table.log_tpage(),
            encoding: table.encoding().code(),
            frame: table.frame(),
            ..Command::default()
        }
    }

    /// What goes with the REG_MR command of a region.
    pub fn pages(spec: &Spec) -> CommandExtra {
        let pages: Arc<dyn PageSource> = Arc::new(spec.list.clone());
        CommandExtra {
            pages: Some(pages),
            ..CommandExtra::default()
        }
    }

    /// Sends a command.
    pub fn command(
        &mut self,
        command: Command,
        extra: CommandExtra,
    ) -> Result<Completion, BenchError> {
        self.bench.command(&mut self.host.mem, command, extra)
    }

    /// Registers a region.
    ///
    /// # Panics
    /// If the unit says no.
    pub fn register(&mut self, spec: Spec) -> Result<Mr, BenchError> {
        let table = self.build_table(&spec);
        let command = self.reg_command(&spec, &table);
        let completion = self.command(command, Self::pages(&spec))?;
        assert_eq!(completion.status, Status::Ok, "{command:?}");
        let index = self.bench.golden.keys().decode(completion.lkey).1;
        let mut table = table;
        self.complete(&mut table, &spec.list, index);
        Ok(Mr {
            lkey: completion.lkey,
            rkey: completion.rkey,
            index,
            spec,
            table,
        })
    }

    /// Registers an on-demand region, all absent; the pager has its table from here on.
    ///
    /// # Panics
    /// If the unit says no, or the host has no memory for the table.
    pub fn register_paged(&mut self, pager: &Pager, spec: Spec) -> Result<PagedMr, BenchError> {
        let table = self.build_paged(&spec);
        let command = self.reg_command(&spec, table.table());
        let pages = table.pages();
        let extra = CommandExtra {
            pages: Some(pages.clone()),
            ..CommandExtra::default()
        };
        let completion = self.command(command, extra)?;
        assert_eq!(completion.status, Status::Ok, "{command:?}");
        let index = self.bench.golden.keys().decode(completion.lkey).1;
        self.give_to_pager(pager, index, table);
        Ok(PagedMr {
            lkey: completion.lkey,
            rkey: completion.rkey,
            index,
            spec,
            pages,
        })
    }

    /// Reserves the table of an on-demand region.
    ///
    /// # Panics
    /// If the host has no memory for it.
    pub fn build_paged(&mut self, spec: &Spec) -> PagedTable {
        let levels = self.bench.config().sizes().max_levels;
        let (pages, log_page) = (spec.list.pages(), spec.list.log_page());
        let table = PagedTable::build(&mut self.host, pages, log_page, &spec.shape, levels)
            .unwrap_or_else(|error| panic!("no table for {spec:?}: {error}"));
        for range in table.table().ranges() {
            self.bench.axi.allow(range.pa..range.pa + range.len);
        }
        table
    }

    /// The region that was registered has this index.
    pub fn give_to_pager(&mut self, pager: &Pager, index: u32, mut table: PagedTable) {
        table.set_index(index);
        if let Some(old) = pager.insert(index, table) {
            old.free(&mut self.host);
        }
    }

    /// Makes pages of an on-demand region present and writable. Nothing is told to the unit.
    pub fn page_in(&mut self, pager: &Pager, mr: &PagedMr, pages: Range<u64>) {
        let now = self.bench.clock();
        for page in pages {
            pager.page_in(&mut self.host.mem, mr.index, page, true, now);
        }
    }

    /// The INVALIDATE_RANGE command of pages of a region, as far as they are in it.
    pub fn invalidate_command(&mut self, mr: &PagedMr, pages: Range<u64>) -> Command {
        let spec = &mr.spec;
        let log_page = spec.list.log_page();
        let base = spec.start >> log_page << log_page;
        let end = u128::from(spec.start) + u128::from(spec.length);
        let from = (base + (pages.start << log_page)).max(spec.start);
        let to = (u128::from(base) + (u128::from(pages.end) << log_page)).min(end);
        Command {
            id: self.id(),
            op: CmdOp::InvalidateRange.code(),
            key: mr.lkey,
            pd: spec.pd,
            start: from,
            length: (to - u128::from(from)) as u64,
            ..Command::default()
        }
    }

    /// Takes pages of an on-demand region back: their entries are cleared, and the range is
    /// invalidated.
    pub fn reclaim(
        &mut self,
        pager: &Pager,
        mr: &PagedMr,
        pages: Range<u64>,
    ) -> Result<Completion, BenchError> {
        let now = self.bench.clock();
        pager.clear(&mut self.host.mem, mr.index, pages.clone(), now);
        let command = self.invalidate_command(mr, pages);
        self.command(command, CommandExtra::default())
    }

    /// PAGE_READY, and its completion.
    pub fn page_ready(&mut self, slot: u8, refuse: bool) -> Result<Status, BenchError> {
        let id = self.id();
        let command = self.bench.page_ready(id, slot, refuse);
        Ok(self.command(command, CommandExtra::default())?.status)
    }

    /// The DEREG_MR command of a region.
    pub fn dereg_command(&mut self, mr: &Mr) -> (Command, CommandExtra) {
        let command = Command {
            id: self.id(),
            op: CmdOp::DeregMr.code(),
            key: mr.lkey,
            pd: mr.spec.pd,
            ..Command::default()
        };
        (
            command,
            CommandExtra {
                release: mr.table_ranges(),
                ..CommandExtra::default()
            },
        )
    }

    /// Deregisters a region and gives its table back.
    ///
    /// # Panics
    /// If the unit says no.
    pub fn deregister(&mut self, mr: Mr) -> Result<(), BenchError> {
        let (command, extra) = self.dereg_command(&mr);
        let completion = self.command(command, extra)?;
        assert_eq!(completion.status, Status::Ok, "{command:?}");
        mr.table.free(&mut self.host);
        Ok(())
    }

    /// ALLOC_MR: a fast-registration region of at most `pages` pages of 4 KiB in PD 1, with flag
    /// REMOTE_INV of [`tpt_golden::types::flag`] or none.
    pub fn alloc_mr(&mut self, pages: u64, flags: u8) -> Result<Completion, BenchError> {
        let command = Command {
            id: self.id(),
            op: CmdOp::AllocMr.code(),
            pd: 1,
            length: pages,
            log_page: 12,
            flags,
            ..Command::default()
        };
        self.command(command, CommandExtra::default())
    }

    /// ALLOC_MW: with flags MW2 and MW2A of [`tpt_golden::types::flag`], or none for type 1.
    pub fn alloc_mw(&mut self, pd: u32, flags: u8) -> Result<Window, BenchError> {
        let command = Command {
            id: self.id(),
            op: CmdOp::AllocMw.code(),
            pd,
            flags,
            ..Command::default()
        };
        let completion = self.command(command, CommandExtra::default())?;
        let index = self.bench.golden.keys().decode(completion.rkey).1;
        Ok(Window {
            rkey: completion.rkey,
            index,
            pd,
        })
    }

    /// The BIND_MW command of a window to a part of a region, with QP 0x77 and tag 1 for type 2.
    pub fn bind_command(
        &mut self,
        window: &Window,
        mr: &Mr,
        access: Access,
        range: Range<u64>,
    ) -> Command {
        Command {
            id: self.id(),
            op: CmdOp::BindMw.code(),
            key: window.rkey,
            mkey: mr.lkey,
            pd: window.pd,
            access: access.0,
            start: range.start,
            length: range.end.wrapping_sub(range.start),
            tag: 1,
            qpn: 0x77,
            ..Command::default()
        }
    }

    /// Binds a window; its key is the new one afterwards, if the unit says yes.
    pub fn bind(&mut self, window: &mut Window, command: Command) -> Result<Status, BenchError> {
        let completion = self.command(command, CommandExtra::default())?;
        if completion.status == Status::Ok {
            window.rkey = completion.rkey;
        }
        Ok(completion.status)
    }

    /// A command that names a key and a PD, and nothing else.
    pub fn plain(&mut self, op: CmdOp, key: Key, pd: u32) -> Result<Completion, BenchError> {
        let command = Command {
            id: self.id(),
            op: op.code(),
            key,
            pd,
            ..Command::default()
        };
        self.command(command, CommandExtra::default())
    }

    /// Sends a request and waits.
    pub fn access(&mut self, client: usize, request: Request) -> Result<Outcome, BenchError> {
        self.bench.access(&mut self.host.mem, client, request)
    }

    /// Sends a request and wants this end of it. (That every beat is right is checked anyway.)
    ///
    /// # Panics
    /// If it ends otherwise.
    pub fn expect(
        &mut self,
        client: usize,
        request: Request,
        syndrome: Syndrome,
    ) -> Result<Outcome, BenchError> {
        let outcome = self.access(client, request)?;
        assert_eq!(outcome.syndrome, syndrome, "{request:?}");
        Ok(outcome)
    }

    /// Clocks.
    pub fn run(&mut self, clocks: u64) -> Result<(), BenchError> {
        self.bench.run(&mut self.host.mem, clocks)
    }

    /// Waits until everything is finished.
    pub fn wait_idle(&mut self) -> Result<(), BenchError> {
        self.bench.wait_idle(&mut self.host.mem)
    }

    /// Reads a counter of the unit.
    pub fn counter(&mut self, n: usize) -> Result<u32, BenchError> {
        self.bench.read_register(
            &mut self.host.mem,
            tpt_golden::regs::COUNTERS + 4 * n as u16,
        )
    }
}
