// SPDX-License-Identifier: Apache-2.0
//! Fast-registration regions: `ib_alloc_mr`, `ib_map_mr_sg`, the work requests REG_MR and LOCAL_INV,
//! SEND with invalidate.
//!
//! ```text
//! prepare_alloc_mr   page list in memory                            ─► ALLOC_MR    both keys
//! map_pages          pin pages ─ write the page list
//! prepare_fast_reg   rights fit the pins                            ─► FAST_REG_MR new low byte
//! prepare_local_inv  (prepare_remote_inv: what the NIC does)        ─► INVALIDATE  then: unpin
//! prepare_dereg_fast                                                ─► DEREG_MR    then: all free
//! ```
//!
//! The page list is written only while the region is not registered, and pages are unpinned only
//! after the completion of the command that ends the registration.

use super::{check, match_status, needs_write, pin, CommandPort, Driver, DriverError, Lost};
use super::{Memory, PortError, RegArgs, Released};
use crate::frames::FrameList;
use crate::host::{Host, Pinned};
use crate::mtt::{frame_list, MttError, Shape, Table};
use crate::types::{flag, Access, CmdOp, Command, Completion, Encoding, Key, Status, LEVEL_FLAT};
use crate::unit::MAX_CAP;
use std::sync::Arc;
use thiserror::Error;

/// Arguments of `ib_alloc_mr`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocMrArgs {
    /// Protection domain.
    pub pd: u32,
    /// Pages that a registration may have.
    pub pages: u32,
    /// log2 of the page size.
    pub log_page: u8,
    /// Encoding of the page list.
    pub encoding: Encoding,
    /// The peer may invalidate.
    pub remote_inv: bool,
}

/// Pages that are pinned and written into the page list.
#[derive(Debug)]
struct Mapped {
    pinned: Pinned,
    list: Arc<FrameList>,
    iova: u64,
    length: u64,
}

/// A fast-registration region.
///
/// It owns its page list, and pinned pages while some are mapped: hand it to
/// [`Driver::prepare_dereg_fast`] in the end.
#[derive(Debug)]
#[must_use = "its page list stays in use until the region is deregistered"]
pub struct FastMr {
    lkey: Key,
    rkey: Key,
    args: AllocMrArgs,
    table: Table,
    mapped: Option<Mapped>,
    /// Rights, while it is registered.
    registered: Option<Access>,
}

impl FastMr {
    /// L_Key.
    pub fn lkey(&self) -> Key {
        self.lkey
    }

    /// R_Key; 0 if the registration grants nothing to the peer.
    pub fn rkey(&self) -> Key {
        self.rkey
    }

    /// How it was allocated.
    pub fn args(&self) -> &AllocMrArgs {
        &self.args
    }

    /// The page list in memory.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Rights of the registration, if there is one.
    pub fn registered(&self) -> Option<Access> {
        self.registered
    }

    /// The mapped pages, from the host's page tables.
    pub fn translation(&self) -> Option<Arc<FrameList>> {
        self.mapped.as_ref().map(|mapped| Arc::clone(&mapped.list))
    }

    /// First address and bytes of the mapped pages.
    pub fn range(&self) -> Option<(u64, u64)> {
        self.mapped
            .as_ref()
            .map(|mapped| (mapped.iova, mapped.length))
    }

    fn unmap(&mut self, host: &mut Host) -> Released {
        let mut released = Released::default();
        if let Some(mapped) = self.mapped.take() {
            released.frames = mapped.pinned.frames().to_vec();
            host.unpin(mapped.pinned);
        }
        released
    }

    fn release(mut self, host: &mut Host) -> Released {
        let released = Released {
            tables: self.table.ranges().collect(),
            ..self.unmap(host)
        };
        self.table.free(host);
        released
    }
}

/// A command about a fast-registration region on its way.
#[derive(Debug)]
#[must_use = "owns the region: give it to `finish_fast` or `abort_fast`"]
pub struct FastHandle {
    id: u16,
    op: CmdOp,
    mr: FastMr,
    access: Access,
}

impl FastHandle {
    /// `id` of the command.
    pub fn id(&self) -> u16 {
        self.id
    }

    /// The region as it was.
    pub fn mr(&self) -> &FastMr {
        &self.mr
    }
}

/// What a completion leads to.
#[derive(Debug)]
pub enum FastOutcome {
    /// The region, as the command made it, and what was given back.
    Ready(FastMr, Released),
    /// The region is gone and its memory given back.
    Gone(Released),
    /// The keys are dead, but the device may still use the memory: wait for the final completion
    /// and call [`Driver::finish_fast`] again.
    Pending(FastHandle),
}

/// A command that failed. The region, if it is here, lives on unchanged.
#[derive(Debug, Error)]
#[error("{error}")]
pub struct FastUnchanged {
    /// The region; `None` if it was not made or its state is not known any more.
    pub mr: Option<Box<FastMr>>,
    /// Why.
    #[source]
    pub error: DriverError,
}

impl FastUnchanged {
    fn new(mr: FastMr, error: impl Into<DriverError>) -> Self {
        Self {
            mr: Some(Box::new(mr)),
            error: error.into(),
        }
    }

    fn lost(error: impl Into<DriverError>) -> Self {
        Self {
            mr: None,
            error: error.into(),
        }
    }
}

impl Driver {
    /// Checks the arguments and reserves the page list.
    pub fn prepare_alloc_mr(
        &mut self,
        host: &mut Host,
        args: &AllocMrArgs,
    ) -> Result<(Command, FastHandle), DriverError> {
        if args.pages == 0 || args.pages > MAX_CAP {
            return Err(DriverError::ListLength(args.pages));
        }
        if args.pd >> 24 != 0 {
            return Err(DriverError::Pd(args.pd));
        }
        if args.log_page > 63 || self.caps.page_sizes >> args.log_page & 1 == 0 {
            return Err(MttError::PageSize.into());
        }
        if args.encoding == Encoding::Checked && self.keys.is_none() {
            return Err(DriverError::NoSecrets);
        }
        let table = Table::reserve(host, args.pages.into(), args.log_page, args.encoding)?;
        let mr = FastMr {
            lkey: Key::NONE,
            rkey: Key::NONE,
            args: *args,
            table,
            mapped: None,
            registered: None,
        };
        let (command, handle) = self.about(CmdOp::AllocMr, mr);
        let command = Command {
            length: args.pages.into(),
            log_page: args.log_page,
            encoding: args.encoding.code(),
            flags: if args.remote_inv { flag::REMOTE_INV } else { 0 },
            ..command
        };
        Ok((command, handle))
    }

    /// Pins memory and writes its pages into the page list, in place of what was mapped before. No
    /// command: the device learns of it by the registration. If it fails, nothing has changed.
    ///
    /// `writable`: pins for writing, as every right to write (and to bind windows) will need.
    pub fn map_pages(
        &mut self,
        host: &mut Host,
        mr: &mut FastMr,
        memory: &Memory,
        (iova, length): (u64, u64),
        writable: bool,
    ) -> Result<(), DriverError> {
        if mr.registered.is_some() {
            return Err(DriverError::Registered);
        }
        let args = RegArgs {
            memory: memory.clone(),
            iova,
            length,
            pd: mr.args.pd,
            access: match writable {
                true => Access::LOCAL_WRITE,
                false => Access::NONE,
            },
            shape: Shape::pages_of(mr.args.log_page),
        };
        check(&args)?;
        let pinned = pin(host, &args)?;
        let pages = frame_list(
            &pinned.ranges(),
            iova,
            mr.args.log_page,
            mr.args.encoding == Encoding::Raw || pinned.writable(),
        );
        let filled = pages.ok_or(MttError::PageSize).and_then(|list| {
            mr.table.fill(host, &list)?;
            Ok(list)
        });
        match filled {
            Ok(list) => {
                mr.unmap(host);
                mr.mapped = Some(Mapped {
                    pinned,
                    list: Arc::new(list),
                    iova,
                    length,
                });
                Ok(())
            }
            Err(e) => {
                host.unpin(pinned);
                Err(e.into())
            }
        }
    }

    /// The command that registers the mapped pages. `tag` becomes the low byte of both keys: other
    /// than the last one, so that old keys do not work.
    pub fn prepare_fast_reg(
        &mut self,
        mr: FastMr,
        access: Access,
        tag: u8,
    ) -> Result<(Command, FastHandle), FastUnchanged> {
        if mr.registered.is_some() {
            return Err(FastUnchanged::new(mr, DriverError::Registered));
        }
        let Some(mapped) = &mr.mapped else {
            return Err(FastUnchanged::new(mr, DriverError::NotMapped));
        };
        if needs_write(access) && !mapped.pinned.writable() {
            return Err(FastUnchanged::new(mr, DriverError::NotMapped));
        }
        let (iova, length) = (mapped.iova, mapped.length);
        let list = FrameList::new(mr.args.log_page);
        let args = RegArgs::frames(mr.args.pd, list, iova, length, access);
        if let Err(error) = check(&args) {
            return Err(FastUnchanged::new(mr, error));
        }
        let frame = mr.table.frame();
        let (command, handle) = self.about(CmdOp::FastRegMr, mr);
        let command = Command {
            tag,
            access: access.0,
            start: iova,
            length,
            level: LEVEL_FLAT,
            frame,
            ..command
        };
        Ok((command, FastHandle { access, ..handle }))
    }

    /// The work request LOCAL_INV: ends the registration. Nothing is unpinned yet.
    pub fn prepare_local_inv(
        &mut self,
        mr: FastMr,
    ) -> Result<(Command, FastHandle), FastUnchanged> {
        match mr.registered {
            None => Err(FastUnchanged::new(mr, DriverError::NotRegistered)),
            Some(_) => Ok(self.about(CmdOp::Invalidate, mr)),
        }
    }

    /// What the NIC does when a SEND with invalidate names the region: the same, by the R_Key.
    pub fn prepare_remote_inv(
        &mut self,
        mr: FastMr,
    ) -> Result<(Command, FastHandle), FastUnchanged> {
        let (command, handle) = self.prepare_local_inv(mr)?;
        let command = Command {
            key: handle.mr.rkey,
            flags: flag::REMOTE_INV,
            ..command
        };
        Ok((command, handle))
    }

    /// The command that ends a fast-registration region, registered or not. Nothing is freed yet.
    pub fn prepare_dereg_fast(&mut self, mr: FastMr) -> (Command, FastHandle) {
        self.about(CmdOp::DeregMr, mr)
    }

    fn about(&mut self, op: CmdOp, mr: FastMr) -> (Command, FastHandle) {
        let id = self.new_id();
        let command = Command {
            id,
            op: op.code(),
            key: mr.lkey,
            pd: mr.args.pd,
            ..Command::default()
        };
        let access = Access::NONE;
        (command, FastHandle { id, op, mr, access })
    }

    /// What the completion of any of these commands leads to.
    pub fn finish_fast(
        &mut self,
        host: &mut Host,
        handle: FastHandle,
        completion: &Completion,
    ) -> Result<FastOutcome, FastUnchanged> {
        let fence = matches!(handle.op, CmdOp::Invalidate | CmdOp::DeregMr);
        let status = match match_status(handle.id, handle.op, completion) {
            Ok(Status::Pending) if fence => return Ok(FastOutcome::Pending(handle)),
            Ok(Status::Pending) => Err(DriverError::WrongCompletion {
                expected: handle.id,
                got: completion.id,
            }),
            other => other,
        };
        match status {
            Ok(Status::Ok) => {
                self.outstanding.remove(&handle.id);
                let FastHandle {
                    op, mut mr, access, ..
                } = handle;
                match op {
                    CmdOp::DeregMr => return Ok(FastOutcome::Gone(mr.release(host))),
                    CmdOp::Invalidate => {
                        mr.registered = None;
                        let released = mr.unmap(host);
                        return Ok(FastOutcome::Ready(mr, released));
                    }
                    CmdOp::FastRegMr => mr.registered = Some(access),
                    _ => {}
                }
                (mr.lkey, mr.rkey) = (completion.lkey, completion.rkey);
                if let Some(index) = self.index_of(mr.lkey) {
                    mr.table.set_index(index);
                }
                Ok(FastOutcome::Ready(mr, Released::default()))
            }
            Ok(status) => {
                let mr = self.abort_fast(host, handle).map(Box::new);
                let error = DriverError::Refused(status);
                Err(FastUnchanged { mr, error })
            }
            Err(error) => {
                self.lose_fast(handle);
                Err(FastUnchanged::lost(error))
            }
        }
    }

    /// Gives up a command that was never sent; the region lives, unless it was to be allocated.
    pub fn abort_fast(&mut self, host: &mut Host, handle: FastHandle) -> Option<FastMr> {
        self.outstanding.remove(&handle.id);
        if handle.op == CmdOp::AllocMr {
            handle.mr.release(host);
            return None;
        }
        Some(handle.mr)
    }

    fn lose_fast(&mut self, handle: FastHandle) {
        self.lost.push(Lost {
            table: Some(handle.mr.table),
            pinned: handle.mr.mapped.map(|mapped| mapped.pinned),
        });
    }

    /// Sends a command and handles its first completion.
    fn run_fast(
        &mut self,
        host: &mut Host,
        port: &mut impl CommandPort,
        (command, handle): (Command, FastHandle),
    ) -> Result<FastOutcome, FastUnchanged> {
        match port.submit(&mut host.mem, &command) {
            Ok(completion) => self.finish_fast(host, handle, &completion),
            Err(e @ PortError::NotSent(_)) => {
                let mr = self.abort_fast(host, handle).map(Box::new);
                let error = e.into();
                Err(FastUnchanged { mr, error })
            }
            Err(e @ PortError::Lost(_)) => {
                self.lose_fast(handle);
                Err(FastUnchanged::lost(e))
            }
        }
    }

    /// `ib_alloc_mr`, blocking.
    pub fn alloc_mr(
        &mut self,
        host: &mut Host,
        port: &mut impl CommandPort,
        args: &AllocMrArgs,
    ) -> Result<FastMr, DriverError> {
        let prepared = self.prepare_alloc_mr(host, args)?;
        let expected = prepared.1.id;
        match self.run_fast(host, port, prepared) {
            Ok(FastOutcome::Ready(mr, _)) => Ok(mr),
            Ok(_) => Err(DriverError::WrongCompletion {
                expected,
                got: expected,
            }),
            Err(unchanged) => Err(unchanged.error),
        }
    }

    /// Maps nothing, but registers what is mapped; blocking.
    pub fn fast_reg(
        &mut self,
        host: &mut Host,
        port: &mut impl CommandPort,
        mr: FastMr,
        access: Access,
        tag: u8,
    ) -> Result<FastOutcome, FastUnchanged> {
        let prepared = self.prepare_fast_reg(mr, access, tag)?;
        self.run_fast(host, port, prepared)
    }

    /// LOCAL_INV, blocking until the first completion.
    pub fn local_inv(
        &mut self,
        host: &mut Host,
        port: &mut impl CommandPort,
        mr: FastMr,
    ) -> Result<FastOutcome, FastUnchanged> {
        let prepared = self.prepare_local_inv(mr)?;
        self.run_fast(host, port, prepared)
    }

    /// Remote invalidation, blocking until the first completion.
    pub fn remote_inv(
        &mut self,
        host: &mut Host,
        port: &mut impl CommandPort,
        mr: FastMr,
    ) -> Result<FastOutcome, FastUnchanged> {
        let prepared = self.prepare_remote_inv(mr)?;
        self.run_fast(host, port, prepared)
    }

    /// `ib_dereg_mr` of a fast-registration region, blocking until the first completion.
    pub fn dereg_fast(
        &mut self,
        host: &mut Host,
        port: &mut impl CommandPort,
        mr: FastMr,
    ) -> Result<FastOutcome, FastUnchanged> {
        let prepared = self.prepare_dereg_fast(mr);
        self.run_fast(host, port, prepared)
    }
}
