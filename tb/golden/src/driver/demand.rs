// SPDX-License-Identifier: Apache-2.0
//! On-demand regions: memory of a process that is not pinned as a whole.
//!
//! ```text
//! prepare_reg_demand   check arguments ─ reserve the table, all absent ─► REG_MR command
//! page fault           pin the page ─ write its entry ─────────────────► PAGE_READY
//! notifier             clear the entries ──────────────────────────────► INVALIDATE_RANGE
//! finish_reclaim       completion OK: unpin; PENDING: keep until the final one
//! ```
//!
//! A page is pinned while its entry is present, so that the host cannot take it away behind the back
//! of the device. When the host wants it, it asks by [`Driver::prepare_reclaim`], and has it when
//! [`Driver::finish_reclaim`] says so. Encodings that can say "not writable" get a page for reading
//! first, and the right to write with the first fault that writes.
//!
//! ```
//! use tpt_golden::driver::{Driver, RegArgs};
//! use tpt_golden::host::{Host, PageSize, Prot};
//! use tpt_golden::types::{Access, Completion, Key, Status};
//!
//! let (mut host, mut driver) = (Host::default(), Driver::default());
//! let pid = host.spawn();
//! let va = host.mmap(pid, None, 1 << 20, Prot::ReadWrite, PageSize::Size4K)?;
//! let access = Access::LOCAL_WRITE | Access::ON_DEMAND;
//! let args = RegArgs::process(pid, 7, va, 1 << 20, access);
//! let (command, handle) = driver.prepare_reg_demand(&mut host, &args)?;
//! let mut completion = Completion::plain(command.id, command.op, Status::Ok);
//! completion.lkey = Key(0x1234_5678);
//! let mut region = driver.finish_reg_demand(&mut host, handle, &completion)?;
//! assert_eq!(host.stats().pinned_frames, 0);
//! region.page_in(&mut host, 3, true, 100)?; // a page fault of the device
//! assert_eq!(host.stats().pinned_frames, 1);
//! # Ok::<(), tpt_golden::driver::DriverError>(())
//! ```

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::{check_all, match_status, needs_write, translation_fields};
use super::{CommandPort, Driver, DriverError, Lost, Memory, PortError, RegArgs, Released};
use crate::frames::PagedList;
use crate::host::{Host, Pid, Pinned};
use crate::mtt::paged::PagedTable;
use crate::mtt::{frame_list, page_count, MttError};
use crate::types::{flag, Access, CmdOp, Command, Completion, Encoding, Key, Status};

/// A page that is present.
#[derive(Debug)]
struct Mapped {
    pinned: Pinned,
    writable: bool,
}

/// An on-demand region.
///
/// It owns the pages that are present, and the table: hand it to [`Driver::prepare_dereg_demand`] in
/// the end.
#[derive(Debug)]
#[must_use = "pages may be pinned until the region is deregistered"]
pub struct DemandMr {
    lkey: Key,
    rkey: Key,
    args: RegArgs,
    pid: Pid,
    addr: u64,
    log_page: u8,
    table: PagedTable,
    mapped: BTreeMap<u64, Mapped>,
}

impl DemandMr {
    /// L_Key.
    pub fn lkey(&self) -> Key {
        self.lkey
    }

    /// R_Key; 0 if the region grants nothing to the peer.
    pub fn rkey(&self) -> Key {
        self.rkey
    }

    /// The arguments it was registered with.
    pub fn args(&self) -> &RegArgs {
        &self.args
    }

    /// Its table.
    pub fn table(&self) -> &PagedTable {
        &self.table
    }

    /// The pages, with their history.
    pub fn translation(&self) -> Arc<PagedList> {
        self.table.pages()
    }

    /// Pages that are present.
    pub fn resident(&self) -> usize {
        self.mapped.len()
    }

    /// The part of the region that lies in page `index`: (first address, bytes), as the device sees
    /// it; `None` if there is none.
    pub fn span(&self, index: u64) -> Option<(u64, u64)> {
        let size = 1u128 << self.log_page;
        let (iova, length) = (u128::from(self.args.iova), u128::from(self.args.length));
        let page = iova / size * size + u128::from(index) * size;
        let first = page.max(iova);
        let end = (page + size).min(iova + length);
        (first < end).then(|| (first as u64, (end - first) as u64))
    }

    /// The answer to a page fault: pins the page for what the access needs, and writes its entry.
    /// A page that is present for reading is made writable. The device is told by PAGE_READY.
    pub fn page_in(
        &mut self,
        host: &mut Host,
        index: u64,
        write: bool,
        now: u64,
    ) -> Result<(), DriverError> {
        let (first, length) = self.span(index).ok_or(DriverError::NoPage(index))?;
        // Entries of encoding RAW cannot refuse a write.
        let can_refuse = self.args.shape.encoding != Encoding::Raw;
        let write = write || !can_refuse && needs_write(self.args.access);
        if self
            .mapped
            .get(&index)
            .is_some_and(|page| page.writable || !write)
        {
            return Ok(());
        }
        let addr = self.addr + (first - self.args.iova);
        let pinned = host.pin(self.pid, addr, length, write)?;
        let list = frame_list(&pinned.ranges(), first, self.log_page, write);
        let page = list.and_then(|list| match list.runs() {
            [run] if run.pages == 1 => Some(run.page),
            _ => None,
        });
        let entered = page
            .ok_or(MttError::PageSize)
            .and_then(|page| self.table.set(&mut host.mem, index, page, now));
        if let Err(error) = entered {
            host.unpin(pinned);
            return Err(error.into());
        }
        let mapped = Mapped {
            pinned,
            writable: write,
        };
        // The same frame: a pinned page does not move.
        if let Some(before) = self.mapped.insert(index, mapped) {
            host.unpin(before.pinned);
        }
        Ok(())
    }

    fn release(self, host: &mut Host) -> Released {
        let mut released = Released {
            tables: self.table.table().ranges().collect(),
            frames: Vec::new(),
        };
        self.table.free(host);
        for page in self.mapped.into_values() {
            released.frames.extend(page.pinned.frames());
            host.unpin(page.pinned);
        }
        released
    }
}

impl Lost {
    fn of_demand(mr: DemandMr) -> impl Iterator<Item = Lost> {
        let table = Lost {
            table: Some(mr.table.into_table()),
            pinned: None,
        };
        let pages = mr.mapped.into_values().map(|page| Lost {
            table: None,
            pinned: Some(page.pinned),
        });
        std::iter::once(table).chain(pages)
    }
}

/// A registration or deregistration on its way.
#[derive(Debug)]
#[must_use = "owns the region: give it to the `finish` function of its command"]
pub struct DemandHandle {
    id: u16,
    mr: DemandMr,
}

impl DemandHandle {
    /// `id` of the command.
    pub fn id(&self) -> u16 {
        self.id
    }

    /// The pages, for whoever judges the answers.
    pub fn translation(&self) -> Arc<PagedList> {
        self.mr.table.pages()
    }
}

/// Pages that are being taken back.
#[derive(Debug)]
#[must_use = "owns pinned pages: give it to `finish_reclaim`"]
pub struct ReclaimHandle {
    id: u16,
    pages: Vec<Pinned>,
}

impl ReclaimHandle {
    /// `id` of the command.
    pub fn id(&self) -> u16 {
        self.id
    }
}

/// What a completion of INVALIDATE_RANGE leads to.
#[derive(Debug)]
pub enum ReclaimOutcome {
    /// The pages are the host's again.
    Done(Released),
    /// The device may still use them: wait for the final completion.
    Pending(ReclaimHandle),
}

/// What a completion of DEREG_MR leads to.
#[derive(Debug)]
pub enum DemandOutcome {
    /// The region is gone and its memory given back.
    Done(Released),
    /// The device may still use the memory: wait for the final completion.
    Pending(Box<DemandHandle>),
}

/// A deregistration that failed. The region, if it is here, lives on.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct DemandUnchanged {
    /// The region; `None` if its state is not known any more.
    pub mr: Option<Box<DemandMr>>,
    /// Why.
    #[source]
    pub error: DriverError,
}

impl Driver {
    /// Checks the arguments and reserves the table. Nothing is pinned.
    pub fn prepare_reg_demand(
        &mut self,
        host: &mut Host,
        args: &RegArgs,
    ) -> Result<(Command, DemandHandle), DriverError> {
        check_all(args)?;
        if args.access.contains(Access::MW_BIND) || !args.access.contains(Access::ON_DEMAND) {
            return Err(DriverError::UnknownFlags(args.access.0));
        }
        let Memory::Process { pid, addr } = args.memory else {
            return Err(DriverError::OnDemand);
        };
        if args.shape.encoding == Encoding::Checked && self.keys.is_none() {
            return Err(DriverError::NoSecrets);
        }
        let log_page = args.shape.log_page.unwrap_or(12);
        if log_page > 63 || self.caps.page_sizes >> log_page & 1 == 0 {
            return Err(MttError::PageSize.into());
        }
        let pages = page_count(args.iova, args.length, log_page);
        let levels = self.caps.max_levels;
        let table = PagedTable::build(host, pages, log_page, &args.shape, levels)?;
        let id = self.new_id();
        let command = Command {
            id,
            op: CmdOp::RegMr.code(),
            pd: args.pd,
            access: args.access.0,
            ..translation_fields(args, table.table())
        };
        let mr = DemandMr {
            lkey: Key::NONE,
            rkey: Key::NONE,
            args: args.clone(),
            pid,
            addr,
            log_page,
            table,
            mapped: BTreeMap::new(),
        };
        Ok((command, DemandHandle { id, mr }))
    }

    /// Turns the completion into a region, or frees everything.
    pub fn finish_reg_demand(
        &mut self,
        host: &mut Host,
        handle: DemandHandle,
        completion: &Completion,
    ) -> Result<DemandMr, DriverError> {
        let DemandHandle { id, mut mr } = handle;
        self.outstanding.remove(&id);
        match match_status(id, CmdOp::RegMr, completion) {
            Ok(Status::Ok) => {
                if let Some(keys) = &self.keys {
                    mr.table.set_index(keys.decode(completion.lkey).1);
                }
                (mr.lkey, mr.rkey) = (completion.lkey, completion.rkey);
                Ok(mr)
            }
            Ok(status) if status != Status::Pending => {
                mr.release(host);
                Err(DriverError::Refused(status))
            }
            other => {
                self.lost.extend(Lost::of_demand(mr));
                Err(other.err().unwrap_or(DriverError::WrongCompletion {
                    expected: id,
                    got: id,
                }))
            }
        }
    }

    /// Gives up a registration whose command was never sent.
    pub fn abort_reg_demand(&mut self, host: &mut Host, handle: DemandHandle) {
        self.outstanding.remove(&handle.id);
        handle.mr.release(host);
    }

    /// Registers an on-demand region, blocking.
    pub fn reg_demand(
        &mut self,
        host: &mut Host,
        port: &mut impl CommandPort,
        args: &RegArgs,
    ) -> Result<DemandMr, DriverError> {
        let (command, handle) = self.prepare_reg_demand(host, args)?;
        match port.submit(&mut host.mem, &command) {
            Ok(completion) => self.finish_reg_demand(host, handle, &completion),
            Err(e) => {
                match e {
                    PortError::NotSent(_) => self.abort_reg_demand(host, handle),
                    PortError::Lost(_) => self.lost.extend(Lost::of_demand(handle.mr)),
                }
                Err(e.into())
            }
        }
    }

    /// The answer to the page fault in `slot`: the page is there, or with `refuse` it will not come.
    pub fn page_ready(&mut self, slot: u8, refuse: bool) -> Command {
        Command {
            id: self.new_id(),
            op: CmdOp::PageReady.code(),
            key: Key(slot.into()),
            flags: if refuse { flag::REFUSE } else { 0 },
            ..Command::default()
        }
    }

    /// The completion of PAGE_READY.
    pub fn finish_page_ready(
        &mut self,
        command: &Command,
        completion: &Completion,
    ) -> Result<(), DriverError> {
        self.outstanding.remove(&command.id);
        match match_status(command.id, CmdOp::PageReady, completion)? {
            Status::Ok => Ok(()),
            status => Err(DriverError::Refused(status)),
        }
    }

    /// The notifier: makes pages absent. They stay pinned until the completion. `None` if none of
    /// them is present, or in the region.
    pub fn prepare_reclaim(
        &mut self,
        host: &mut Host,
        mr: &mut DemandMr,
        pages: Range<u64>,
        now: u64,
    ) -> Option<(Command, ReclaimHandle)> {
        let taken: Vec<u64> = mr.mapped.range(pages).map(|(index, _)| *index).collect();
        let (first, last) = (*taken.first()?, *taken.last()?);
        let ((start, _), (end, bytes)) = (mr.span(first)?, mr.span(last)?);
        mr.table.clear(&mut host.mem, first..last + 1, now);
        let pages = taken.iter().filter_map(|index| mr.mapped.remove(index));
        let pages = pages.map(|page| page.pinned).collect();
        let id = self.new_id();
        let command = Command {
            id,
            op: CmdOp::InvalidateRange.code(),
            key: mr.lkey,
            pd: mr.args.pd,
            start,
            length: end - start + bytes,
            ..Command::default()
        };
        Some((command, ReclaimHandle { id, pages }))
    }

    /// Gives the pages back after the final completion. If the device refused the command, it may use
    /// them for ever: they are kept.
    pub fn finish_reclaim(
        &mut self,
        host: &mut Host,
        handle: ReclaimHandle,
        completion: &Completion,
    ) -> Result<ReclaimOutcome, DriverError> {
        let status = match_status(handle.id, CmdOp::InvalidateRange, completion);
        if matches!(status, Ok(Status::Pending)) {
            return Ok(ReclaimOutcome::Pending(handle));
        }
        self.outstanding.remove(&handle.id);
        let error = match status {
            Ok(Status::Ok) => {
                let mut released = Released::default();
                for pinned in handle.pages {
                    released.frames.extend(pinned.frames());
                    host.unpin(pinned);
                }
                return Ok(ReclaimOutcome::Done(released));
            }
            Ok(status) => DriverError::Refused(status),
            Err(error) => error,
        };
        self.lost
            .extend(handle.pages.into_iter().map(|pinned| Lost {
                table: None,
                pinned: Some(pinned),
            }));
        Err(error)
    }

    /// The command that ends a region. Nothing is freed yet.
    pub fn prepare_dereg_demand(&mut self, mr: DemandMr) -> (Command, DemandHandle) {
        let command = self.dereg_command(mr.lkey, mr.args.pd);
        let id = command.id;
        (command, DemandHandle { id, mr })
    }

    /// Frees table and pages after the final completion.
    pub fn finish_dereg_demand(
        &mut self,
        host: &mut Host,
        handle: DemandHandle,
        completion: &Completion,
    ) -> Result<DemandOutcome, DemandUnchanged> {
        let status = match_status(handle.id, CmdOp::DeregMr, completion);
        if matches!(status, Ok(Status::Pending)) {
            return Ok(DemandOutcome::Pending(Box::new(handle)));
        }
        let DemandHandle { id, mr } = handle;
        self.outstanding.remove(&id);
        match status {
            Ok(Status::Ok) => Ok(DemandOutcome::Done(mr.release(host))),
            Ok(status) => Err(DemandUnchanged {
                mr: Some(Box::new(mr)),
                error: DriverError::Refused(status),
            }),
            Err(error) => {
                self.lost.extend(Lost::of_demand(mr));
                Err(DemandUnchanged { mr: None, error })
            }
        }
    }
}
