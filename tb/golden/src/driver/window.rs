// SPDX-License-Identifier: Apache-2.0
//! Windows: `ibv_alloc_mw`, `ibv_bind_mw` and the work request BIND_MW, LOCAL_INV, SEND with
//! invalidate, `ibv_dealloc_mw`.
//!
//! A window owns no memory. Its region does, and the unit refuses to end a region to which windows
//! are bound: so the pins stay.

use super::{match_status, CommandPort, Driver, DriverError, Mr, PortError};
use crate::host::Host;
use crate::types::{flag, Access, CmdOp, Command, Completion, Key, Status};
use thiserror::Error;

/// Types of windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MwType {
    /// Type 1: the unit chooses the keys, and a bind may replace another.
    One,
    /// Type 2A: of one queue pair.
    TwoA,
    /// Type 2B: of one queue pair and protection domain.
    TwoB,
}

impl MwType {
    /// Flags of ALLOC_MW.
    const fn flags(self) -> u8 {
        match self {
            MwType::One => 0,
            MwType::TwoA => flag::MW2 | flag::MW2A,
            MwType::TwoB => flag::MW2,
        }
    }
}

/// What to bind a window to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BindArgs {
    /// L_Key of the region.
    pub lkey: Key,
    /// Protection domain of the region, if the caller knows it.
    pub mr_pd: Option<u32>,
    /// First address, in the address space of the region.
    pub addr: u64,
    /// Bytes; 0 unbinds a window of type 1.
    pub length: u64,
    /// Rights: remote write, read, atomic; type 2: ZERO_BASED.
    pub access: Access,
    /// Type 2: queue pair.
    pub qpn: u32,
    /// Type 2: low byte of the key.
    pub tag: u8,
}

impl BindArgs {
    /// A part of a region.
    pub fn to(mr: &Mr, addr: u64, length: u64, access: Access) -> Self {
        Self {
            lkey: mr.lkey(),
            mr_pd: Some(mr.pd()),
            addr,
            length,
            access,
            qpn: 0,
            tag: 0,
        }
    }

    /// Nothing: unbinds a window of type 1.
    pub fn nothing() -> Self {
        Self {
            lkey: Key::NONE,
            mr_pd: None,
            addr: 0,
            length: 0,
            access: Access::NONE,
            qpn: 0,
            tag: 0,
        }
    }

    /// The same for a queue pair, with a low byte of the key: type 2.
    pub fn for_queue_pair(self, qpn: u32, tag: u8) -> Self {
        Self { qpn, tag, ..self }
    }
}

/// A window.
#[derive(Debug)]
#[must_use = "the window stays allocated until it is handed to `prepare_dealloc_mw`"]
pub struct Mw {
    rkey: Key,
    pd: u32,
    kind: MwType,
    bound: Option<BindArgs>,
}

impl Mw {
    /// R_Key: names the window in commands, and gives access while it is bound.
    pub fn rkey(&self) -> Key {
        self.rkey
    }

    /// Protection domain.
    pub fn pd(&self) -> u32 {
        self.pd
    }

    /// Type.
    pub fn kind(&self) -> MwType {
        self.kind
    }

    /// What it is bound to.
    pub fn bound(&self) -> Option<&BindArgs> {
        self.bound.as_ref()
    }
}

/// A command about a window on its way.
#[derive(Debug)]
#[must_use = "owns the window: give it to `finish_mw` or `abort_mw`"]
pub struct MwHandle {
    id: u16,
    op: CmdOp,
    mw: Mw,
    then: Option<BindArgs>,
}

impl MwHandle {
    /// `id` of the command.
    pub fn id(&self) -> u16 {
        self.id
    }

    /// The window as it was.
    pub fn mw(&self) -> &Mw {
        &self.mw
    }
}

/// What a completion leads to.
#[derive(Debug)]
pub enum MwOutcome {
    /// The window, as the command made it.
    Ready(Mw),
    /// The window is gone.
    Gone,
    /// The key is dead, but accesses may be under way: wait for the final completion and call
    /// [`Driver::finish_mw`] again.
    Pending(MwHandle),
}

/// A command that failed. The window, if it is here, lives on unchanged.
#[derive(Debug, Error)]
#[error("{error}")]
pub struct MwUnchanged {
    /// The window; `None` if it was not made or its state is not known any more.
    pub mw: Option<Box<Mw>>,
    /// Why.
    #[source]
    pub error: DriverError,
}

impl MwUnchanged {
    fn new(mw: Mw, error: impl Into<DriverError>) -> Self {
        Self {
            mw: Some(Box::new(mw)),
            error: error.into(),
        }
    }
}

/// The rules of a bind that need no look at the region.
fn check_bind(mw: &Mw, args: &BindArgs) -> Result<(), DriverError> {
    let known = match mw.kind {
        MwType::One => Access::KNOWN_WINDOW.0 & !Access::ZERO_BASED.0,
        _ => Access::KNOWN_WINDOW.0,
    };
    let unknown = args.access.0 & !known;
    if unknown != 0 {
        return Err(DriverError::UnknownFlags(unknown));
    }
    if args.qpn >> 24 != 0 {
        return Err(DriverError::Qpn(args.qpn));
    }
    let (start, length) = (args.addr, args.length);
    if length == 0 {
        return match mw.kind {
            MwType::One => Ok(()),
            _ => Err(DriverError::ZeroLength),
        };
    }
    if length - 1 > u64::MAX - start {
        return Err(DriverError::Wrap { start, length });
    }
    if args.mr_pd.is_some_and(|pd| pd != mw.pd) {
        return Err(DriverError::TwoDomains);
    }
    Ok(())
}

impl Driver {
    /// `ibv_alloc_mw`.
    pub fn prepare_alloc_mw(
        &mut self,
        pd: u32,
        kind: MwType,
    ) -> Result<(Command, MwHandle), DriverError> {
        if pd >> 24 != 0 {
            return Err(DriverError::Pd(pd));
        }
        let mw = Mw {
            rkey: Key::NONE,
            pd,
            kind,
            bound: None,
        };
        let (command, handle) = self.about_mw(CmdOp::AllocMw, mw);
        let flags = kind.flags();
        Ok((Command { flags, ..command }, handle))
    }

    /// Binds the window, or unbinds one of type 1 (length 0).
    pub fn prepare_bind_mw(
        &mut self,
        mw: Mw,
        args: &BindArgs,
    ) -> Result<(Command, MwHandle), MwUnchanged> {
        if let Err(error) = check_bind(&mw, args) {
            return Err(MwUnchanged::new(mw, error));
        }
        let (command, handle) = self.about_mw(CmdOp::BindMw, mw);
        let command = Command {
            mkey: args.lkey,
            access: args.access.0,
            start: args.addr,
            length: args.length,
            qpn: args.qpn,
            tag: args.tag,
            ..command
        };
        let then = (args.length != 0).then_some(*args);
        Ok((command, MwHandle { then, ..handle }))
    }

    /// The work request LOCAL_INV: ends the binding of a type-2 window.
    pub fn prepare_local_inv_mw(&mut self, mw: Mw) -> Result<(Command, MwHandle), MwUnchanged> {
        match mw.bound {
            None => Err(MwUnchanged::new(mw, DriverError::NotRegistered)),
            Some(_) => Ok(self.about_mw(CmdOp::Invalidate, mw)),
        }
    }

    /// What the NIC does when a SEND with invalidate names the window on queue pair `qpn`.
    pub fn prepare_remote_inv_mw(
        &mut self,
        mw: Mw,
        qpn: u32,
    ) -> Result<(Command, MwHandle), MwUnchanged> {
        let (command, handle) = self.prepare_local_inv_mw(mw)?;
        let flags = flag::REMOTE_INV;
        Ok((
            Command {
                flags,
                qpn,
                ..command
            },
            handle,
        ))
    }

    /// `ibv_dealloc_mw`, bound or not.
    pub fn prepare_dealloc_mw(&mut self, mw: Mw) -> (Command, MwHandle) {
        self.about_mw(CmdOp::DeallocMw, mw)
    }

    fn about_mw(&mut self, op: CmdOp, mw: Mw) -> (Command, MwHandle) {
        let id = self.new_id();
        let command = Command {
            id,
            op: op.code(),
            key: mw.rkey,
            pd: mw.pd,
            ..Command::default()
        };
        let then = None;
        (command, MwHandle { id, op, mw, then })
    }

    /// What the completion of any of these commands leads to.
    pub fn finish_mw(
        &mut self,
        handle: MwHandle,
        completion: &Completion,
    ) -> Result<MwOutcome, MwUnchanged> {
        let expected = handle.id;
        let fence = match handle.op {
            CmdOp::Invalidate | CmdOp::DeallocMw => true,
            CmdOp::BindMw => handle.mw.kind == MwType::One,
            _ => false,
        };
        let status = match match_status(expected, handle.op, completion) {
            Ok(Status::Pending) if fence => return Ok(MwOutcome::Pending(handle)),
            other => other,
        };
        self.outstanding.remove(&expected);
        let MwHandle {
            op, mut mw, then, ..
        } = handle;
        match status {
            Ok(Status::Ok) => {
                if op == CmdOp::DeallocMw {
                    return Ok(MwOutcome::Gone);
                }
                mw.bound = then;
                if op != CmdOp::Invalidate {
                    mw.rkey = completion.rkey;
                }
                Ok(MwOutcome::Ready(mw))
            }
            Ok(Status::Pending) => Err(MwUnchanged {
                mw: None,
                error: DriverError::WrongCompletion {
                    expected,
                    got: expected,
                },
            }),
            Ok(status) if op == CmdOp::AllocMw => Err(MwUnchanged {
                mw: None,
                error: DriverError::Refused(status),
            }),
            Ok(status) => Err(MwUnchanged::new(mw, DriverError::Refused(status))),
            Err(error) => Err(MwUnchanged { mw: None, error }),
        }
    }

    /// Gives up a command that was never sent; the window lives, unless it was to be allocated.
    pub fn abort_mw(&mut self, handle: MwHandle) -> Option<Mw> {
        self.outstanding.remove(&handle.id);
        (handle.op != CmdOp::AllocMw).then_some(handle.mw)
    }

    /// Sends a command and handles its first completion.
    fn run_mw(
        &mut self,
        host: &mut Host,
        port: &mut impl CommandPort,
        (command, handle): (Command, MwHandle),
    ) -> Result<MwOutcome, MwUnchanged> {
        match port.submit(&mut host.mem, &command) {
            Ok(completion) => self.finish_mw(handle, &completion),
            Err(e @ PortError::NotSent(_)) => Err(MwUnchanged {
                mw: self.abort_mw(handle).map(Box::new),
                error: e.into(),
            }),
            Err(e @ PortError::Lost(_)) => Err(MwUnchanged {
                mw: None,
                error: e.into(),
            }),
        }
    }

    /// `ibv_alloc_mw`, blocking.
    pub fn alloc_mw(
        &mut self,
        host: &mut Host,
        port: &mut impl CommandPort,
        pd: u32,
        kind: MwType,
    ) -> Result<Mw, DriverError> {
        let prepared = self.prepare_alloc_mw(pd, kind)?;
        let expected = prepared.1.id;
        match self.run_mw(host, port, prepared) {
            Ok(MwOutcome::Ready(mw)) => Ok(mw),
            Ok(_) => Err(DriverError::WrongCompletion {
                expected,
                got: expected,
            }),
            Err(unchanged) => Err(unchanged.error),
        }
    }

    /// `ibv_bind_mw`, blocking until the first completion.
    pub fn bind_mw(
        &mut self,
        host: &mut Host,
        port: &mut impl CommandPort,
        mw: Mw,
        args: &BindArgs,
    ) -> Result<MwOutcome, MwUnchanged> {
        let prepared = self.prepare_bind_mw(mw, args)?;
        self.run_mw(host, port, prepared)
    }

    /// LOCAL_INV of a window, blocking until the first completion.
    pub fn local_inv_mw(
        &mut self,
        host: &mut Host,
        port: &mut impl CommandPort,
        mw: Mw,
    ) -> Result<MwOutcome, MwUnchanged> {
        let prepared = self.prepare_local_inv_mw(mw)?;
        self.run_mw(host, port, prepared)
    }

    /// Remote invalidation of a window, blocking until the first completion.
    pub fn remote_inv_mw(
        &mut self,
        host: &mut Host,
        port: &mut impl CommandPort,
        mw: Mw,
        qpn: u32,
    ) -> Result<MwOutcome, MwUnchanged> {
        let prepared = self.prepare_remote_inv_mw(mw, qpn)?;
        self.run_mw(host, port, prepared)
    }

    /// `ibv_dealloc_mw`, blocking until the first completion.
    pub fn dealloc_mw(
        &mut self,
        host: &mut Host,
        port: &mut impl CommandPort,
        mw: Mw,
    ) -> Result<MwOutcome, MwUnchanged> {
        let prepared = self.prepare_dealloc_mw(mw);
        self.run_mw(host, port, prepared)
    }
}
