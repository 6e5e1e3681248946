// SPDX-License-Identifier: Apache-2.0
//! The driver: what `ibv_reg_mr` and its relatives do before and after the hardware's part.
//!
//! ```text
//! prepare_reg   check arguments ─ pin pages ─ choose page size ─ write table ─► REG_MR command
//! hardware                                              check, allocate index, make keys, write MPT
//! finish_reg    completion OK: a region;  anything else: free table, unpin, error
//!
//! prepare_dereg                                                            ─► DEREG_MR command
//! hardware                                        keys dead, nothing in flight, index free
//! finish_dereg  completion OK: free table, then unpin;  PENDING: keep all until the final one
//! ```
//!
//! Fast-registration regions are in [`fast`], windows in [`window`], physical regions in [`phys`],
//! on-demand regions in [`demand`].
//!
//! Every operation exists in two phases, so that traffic can run between them, and as one blocking
//! call over a [`CommandPort`]. Between the phases a handle owns the pages and the table; nothing is
//! freed while the hardware might still use it. If it is not known whether the hardware does (the
//! port lost the command, or a completion belongs to something else), memory is kept for ever rather
//! than freed: see [`Driver::lost`].
//!
//! Beside each command the driver hands out the [`FrameList`], the pages as the host's page tables
//! had them when they were pinned. It is what answers are judged by, and does not come from the
//! table.
//!
//! ```
//! use tpt_golden::driver::{Driver, RegArgs};
//! use tpt_golden::host::{Host, PageSize, Prot};
//! use tpt_golden::types::{Access, Completion, Key, Status};
//!
//! let (mut host, mut driver) = (Host::default(), Driver::default());
//! let pid = host.spawn();
//! let va = host.mmap(pid, None, 1 << 20, Prot::ReadWrite, PageSize::Size4K)?;
//! let args = RegArgs::process(pid, 7, va, 1 << 20, Access::LOCAL_WRITE | Access::REMOTE_READ);
//! let (command, handle) = driver.prepare_reg(&mut host, &args)?;
//! // ... the command goes to the hardware, which answers:
//! let mut completion = Completion::plain(command.id, command.op, Status::Ok);
//! (completion.lkey, completion.rkey) = (Key(0x1234_5678), Key(0x9abc_def0));
//! let region = driver.finish_reg(&mut host, handle, &completion)?;
//! assert_eq!(region.length(), 1 << 20);
//! assert_eq!(host.stats().pinned_frames, 256);
//! # Ok::<(), tpt_golden::driver::DriverError>(())
//! ```

pub mod demand;
pub mod fast;
pub mod phys;
pub mod window;

use crate::frames::{FrameList, Page};
use crate::host::{FrameRun, Host, HostError, PhysRange, Pid, Pinned, FRAME, LOG_FRAME};
use crate::keys::KeyMaker;
use crate::mem::PhysMem;
use crate::mtt::{best_page_size, frame_list, page_count, plan, MttError, Shape, Table};
use crate::mtt::{MAX_PAGES, PAGE_SIZES};
use crate::types::{rereg, Access, CmdOp, Command, Completion, Encoding, Key, Status};
use crate::types::{LEVEL_FLAT, LEVEL_INLINE};
use std::collections::HashSet;
use std::sync::Arc;
use thiserror::Error;

/// Error numbers of Linux, as `ibv_reg_mr` leaves them in `errno`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Errno {
    /// Not permitted: physical regions, or objects of two protection domains.
    Eperm = 1,
    /// Input/output error: the hardware or the way to it failed.
    Eio = 5,
    /// Try again.
    Eagain = 11,
    /// No memory, or no free entry in the hardware's table.
    Enomem = 12,
    /// Bad address: not mapped, or the mapping does not allow the access.
    Efault = 14,
    /// Busy: windows are bound.
    Ebusy = 16,
    /// Invalid argument.
    Einval = 22,
    /// Not supported.
    Eopnotsupp = 95,
}

impl Errno {
    /// The number.
    pub fn code(self) -> i32 {
        self as i32
    }
}

/// Why an operation failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DriverError {
    /// A region of no bytes.
    #[error("length is 0")]
    ZeroLength,
    /// `address + length` or `iova + length` passes 2^64.
    #[error("{start:#x} + {length:#x} passes 2^64")]
    Wrap {
        /// First address.
        start: u64,
        /// Bytes.
        length: u64,
    },
    /// Access flags that nobody knows.
    #[error("unknown access flags {0:#x}")]
    UnknownFlags(u32),
    /// On-demand regions are memory of a process, and made by [`Driver::prepare_reg_demand`].
    #[error("ON_DEMAND is not supported by this kind of registration: use an on-demand region of a process")]
    OnDemand,
    /// The driver does not know the index of a region without the secrets of the keys.
    #[error("encoding CHECKED needs the secrets of the keys: give them to the driver first")]
    NoSecrets,
    /// The region has no such page.
    #[error("the region has no page {0}")]
    NoPage(u64),
    /// REMOTE_WRITE or REMOTE_ATOMIC without LOCAL_WRITE.
    #[error("remote write or atomic without local write")]
    NoLocalWrite,
    /// Protection domains have 24 bits.
    #[error("protection domain {0:#x} does not exist")]
    Pd(u32),
    /// The iova is at another place inside its page than the address.
    #[error("page offset of iova {iova:#x} differs from that of address {addr:#x}")]
    PageOffset {
        /// Address the device is to use.
        iova: u64,
        /// Address of the process.
        addr: u64,
    },
    /// The list of frames does not have as many pages as the region.
    #[error("the region has {needed} pages, the list {given}")]
    FrameCount {
        /// Pages of the region.
        needed: u64,
        /// Pages of the list.
        given: u64,
    },
    /// Re-registration that changes nothing.
    #[error("nothing to change")]
    NothingToChange,
    /// Queue pair numbers have 24 bits.
    #[error("queue pair {0:#x} does not exist")]
    Qpn(u32),
    /// A fast-registration region of no pages, or of more than the unit takes.
    #[error("a page list of {0} pages")]
    ListLength(u32),
    /// Pages are to be mapped that were pinned for reading only, or for nothing at all.
    #[error("no pages are mapped that allow the access")]
    NotMapped,
    /// The region is registered: the device uses its page list.
    #[error("the region is registered")]
    Registered,
    /// The region is not registered, or the window not bound.
    #[error("nothing to invalidate")]
    NotRegistered,
    /// A window and its region are of two protection domains.
    #[error("window and region are of two protection domains")]
    TwoDomains,
    /// Physical regions are not allowed.
    #[error("physical regions are not allowed")]
    NotPermitted,
    /// No table could be built.
    #[error(transparent)]
    Mtt(#[from] MttError),
    /// The host refused: memory not mapped, not writable, or none left.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The hardware refused.
    #[error("refused by the hardware: {0}")]
    Refused(Status),
    /// The completion is not that of the command. What the command used is kept: [`Driver::lost`].
    #[error("completion {got} instead of {expected}")]
    WrongCompletion {
        /// `id` of the command.
        expected: u16,
        /// `id` of the completion (the same if the operation or the status is wrong).
        got: u16,
    },
    /// The way to the hardware failed.
    #[error(transparent)]
    Port(#[from] PortError),
}

impl DriverError {
    /// What `errno` would be.
    pub fn errno(&self) -> Errno {
        use DriverError::*;
        match self {
            ZeroLength | Wrap { .. } | UnknownFlags(_) | NoLocalWrite | Pd(_) => Errno::Einval,
            PageOffset { .. } | FrameCount { .. } | NothingToChange => Errno::Einval,
            NoSecrets => Errno::Einval,
            NoPage(_) => Errno::Efault,
            Qpn(_) | ListLength(_) | NotMapped | NotRegistered => Errno::Einval,
            Registered => Errno::Ebusy,
            TwoDomains | NotPermitted => Errno::Eperm,
            OnDemand => Errno::Eopnotsupp,
            Mtt(MttError::Host(e)) | Host(e) => match e {
                HostError::OutOfMemory | HostError::TooManyUsers { .. } => Errno::Enomem,
                HostError::Unmapped { .. } | HostError::Protection { .. } => Errno::Efault,
                _ => Errno::Einval,
            },
            Mtt(_) => Errno::Einval,
            Refused(status) => match status {
                Status::NoIndex => Errno::Enomem,
                Status::Bound => Errno::Ebusy,
                Status::Privilege => Errno::Eperm,
                Status::Busy => Errno::Eagain,
                Status::Bus | Status::MptBad | Status::Disabled => Errno::Eio,
                _ => Errno::Einval,
            },
            WrongCompletion { .. } | Port(_) => Errno::Eio,
        }
    }
}

/// The way to the hardware failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PortError {
    /// The hardware has certainly not seen the command.
    #[error("command not sent: {0}")]
    NotSent(String),
    /// The hardware may have executed the command.
    #[error("no completion: {0}")]
    Lost(String),
}

/// Executes commands: the simulated unit, or the golden one.
pub trait CommandPort {
    /// Sends one command and waits for its first completion.
    fn submit(&mut self, mem: &mut PhysMem, command: &Command) -> Result<Completion, PortError>;
}

/// The memory under a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Memory of a process, from `addr` on.
    Process {
        /// The process.
        pid: Pid,
        /// First address.
        addr: u64,
    },
    /// Given pages, from the one that holds the first byte on. If all are present and writable,
    /// the page size of the region may differ from that of the list; otherwise it is the list's.
    Frames(FrameList),
}

/// Arguments of a registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegArgs {
    /// The memory.
    pub memory: Memory,
    /// First address as the device sees it. With ZERO_BASED only its place inside a page matters.
    pub iova: u64,
    /// Bytes.
    pub length: u64,
    /// Protection domain.
    pub pd: u32,
    /// `IBV_ACCESS_*`.
    pub access: Access,
    /// Page size and table, as far as the caller wants to choose.
    pub shape: Shape,
}

impl RegArgs {
    /// As `ibv_reg_mr`: the device uses the addresses of the process.
    pub fn process(pid: Pid, pd: u32, addr: u64, length: u64, access: Access) -> Self {
        Self {
            memory: Memory::Process { pid, addr },
            iova: addr,
            length,
            pd,
            access,
            shape: Shape::default(),
        }
    }

    /// Given frames that appear at `iova`.
    pub fn frames(pd: u32, list: FrameList, iova: u64, length: u64, access: Access) -> Self {
        Self {
            memory: Memory::Frames(list),
            iova,
            length,
            pd,
            access,
            shape: Shape::default(),
        }
    }

    /// The same at another iova.
    pub fn at(self, iova: u64) -> Self {
        Self { iova, ..self }
    }

    /// The same with another page size or table.
    pub fn with_shape(self, shape: Shape) -> Self {
        Self { shape, ..self }
    }
}

/// What the unit can do and the driver may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Depth of the walk.
    pub max_levels: u8,
    /// Page sizes as a mask: bit n stands for 2^n bytes.
    pub page_sizes: u64,
    /// Physical regions are allowed.
    pub phys: bool,
}

impl Default for Caps {
    fn default() -> Self {
        Self {
            max_levels: 3,
            page_sizes: PAGE_SIZES,
            phys: false,
        }
    }
}

/// Pinned pages and the table over them. Table first, then the pages: that is the order of release.
#[derive(Debug)]
struct Backing {
    table: Table,
    pinned: Pinned,
    list: Arc<FrameList>,
}

impl Backing {
    fn release(self, host: &mut Host) -> Released {
        let released = Released {
            tables: self.table.ranges().collect(),
            frames: self.pinned.frames().to_vec(),
        };
        self.table.free(host);
        host.unpin(self.pinned);
        released
    }
}

/// What a finished operation gave back to the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Released {
    /// Table memory: the device must not read it any more.
    pub tables: Vec<PhysRange>,
    /// Frames that are pinned once less.
    pub frames: Vec<FrameRun>,
}

/// A memory region.
///
/// It owns pinned pages and a table: hand it to [`Driver::prepare_dereg`] in the end.
#[derive(Debug)]
#[must_use = "the pages stay pinned until the region is deregistered"]
pub struct Mr {
    lkey: Key,
    rkey: Key,
    args: RegArgs,
    backing: Backing,
}

impl Mr {
    /// L_Key.
    pub fn lkey(&self) -> Key {
        self.lkey
    }

    /// R_Key; 0 if the region grants nothing to the peer.
    pub fn rkey(&self) -> Key {
        self.rkey
    }

    /// Protection domain.
    pub fn pd(&self) -> u32 {
        self.args.pd
    }

    /// Access rights.
    pub fn access(&self) -> Access {
        self.args.access
    }

    /// First address as the device sees it.
    pub fn iova(&self) -> u64 {
        self.args.iova
    }

    /// Bytes.
    pub fn length(&self) -> u64 {
        self.args.length
    }

    /// The arguments it was registered with, changes by re-registration included.
    pub fn args(&self) -> &RegArgs {
        &self.args
    }

    /// Its table.
    pub fn table(&self) -> &Table {
        &self.backing.table
    }

    /// The pages, from the host's page tables.
    pub fn translation(&self) -> Arc<FrameList> {
        Arc::clone(&self.backing.list)
    }
}

/// A registration on its way.
#[derive(Debug)]
#[must_use = "owns pinned pages: give it to `finish_reg` or `abort_reg`"]
pub struct RegHandle {
    id: u16,
    args: RegArgs,
    backing: Backing,
}

impl RegHandle {
    /// `id` of the command.
    pub fn id(&self) -> u16 {
        self.id
    }

    /// The pages, for whoever judges the answers.
    pub fn translation(&self) -> Arc<FrameList> {
        Arc::clone(&self.backing.list)
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.backing.table
    }
}

/// A deregistration on its way.
#[derive(Debug)]
#[must_use = "owns the region: give it to `finish_dereg` or `abort_dereg`"]
pub struct DeregHandle {
    id: u16,
    mr: Mr,
}

impl DeregHandle {
    /// `id` of the command.
    pub fn id(&self) -> u16 {
        self.id
    }

    /// The region.
    pub fn mr(&self) -> &Mr {
        &self.mr
    }
}

/// What to change in a region. `None` leaves it as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReregArgs {
    /// Other memory: memory, iova, length, shape.
    pub translation: Option<(Memory, u64, u64, Shape)>,
    /// Another protection domain.
    pub pd: Option<u32>,
    /// Other rights.
    pub access: Option<Access>,
}

/// A re-registration on its way.
#[derive(Debug)]
#[must_use = "owns the region: give it to `finish_rereg` or `abort_rereg`"]
pub struct ReregHandle {
    id: u16,
    mr: Mr,
    args: RegArgs,
    backing: Option<Backing>,
}

impl ReregHandle {
    /// `id` of the command.
    pub fn id(&self) -> u16 {
        self.id
    }

    /// The region as it was.
    pub fn mr(&self) -> &Mr {
        &self.mr
    }

    /// The pages that the region will have.
    pub fn translation(&self) -> Arc<FrameList> {
        let backing = self.backing.as_ref().unwrap_or(&self.mr.backing);
        Arc::clone(&backing.list)
    }

    /// The new table, if there is one.
    pub fn new_table(&self) -> Option<&Table> {
        self.backing.as_ref().map(|b| &b.table)
    }
}

/// What a completion of DEREG_MR leads to.
#[derive(Debug)]
pub enum DeregOutcome {
    /// The region is gone and its memory given back.
    Done(Released),
    /// The keys are dead, but the device may still use the memory: wait for the final completion
    /// and call [`Driver::finish_dereg`] again.
    Pending(DeregHandle),
}

/// What a completion of REREG_MR leads to.
#[derive(Debug)]
pub enum ReregOutcome {
    /// The region with its new keys, and what the old one gave back.
    Done(Mr, Released),
    /// The old keys are dead, new ones come with the final completion: then call
    /// [`Driver::finish_rereg`] again.
    Pending(ReregHandle),
}

/// A change that failed. The region, if it is here, lives on unchanged.
#[derive(Debug, Error)]
#[error("{error}")]
pub struct Unchanged {
    /// The region; `None` if its state is not known any more.
    pub mr: Option<Box<Mr>>,
    /// Why.
    #[source]
    pub error: DriverError,
}

impl Unchanged {
    fn new(mr: Mr, error: impl Into<DriverError>) -> Self {
        Self {
            mr: Some(Box::new(mr)),
            error: error.into(),
        }
    }
}

/// The driver of one device.
#[derive(Debug)]
pub struct Driver {
    caps: Caps,
    next_id: u16,
    /// Commands without their final completion.
    outstanding: HashSet<u16>,
    lost: Vec<Lost>,
    /// How keys name an index: entries of encoding CHECKED are made with it.
    keys: Option<KeyMaker>,
}

/// Memory that the hardware might still use.
#[derive(Debug)]
struct Lost {
    table: Option<Table>,
    pinned: Option<Pinned>,
}

impl From<Backing> for Lost {
    fn from(backing: Backing) -> Lost {
        Lost {
            table: Some(backing.table),
            pinned: Some(backing.pinned),
        }
    }
}

impl Default for Driver {
    fn default() -> Self {
        Self::new(Caps::default())
    }
}

impl Driver {
    /// The driver of a device that can do `caps`.
    pub fn new(caps: Caps) -> Self {
        Self {
            caps,
            next_id: 0,
            outstanding: HashSet::new(),
            lost: Vec::new(),
            keys: None,
        }
    }

    /// The secrets that the host has written into the registers. Without them no region of encoding
    /// CHECKED can be made.
    pub fn set_keys(&mut self, keys: KeyMaker) {
        self.keys = Some(keys);
    }

    /// The MPT index that a key names, if the secrets are known.
    fn index_of(&self, key: Key) -> Option<u32> {
        self.keys.as_ref().map(|keys| keys.decode(key).1)
    }

    /// A command number that no unfinished command has.
    fn new_id(&mut self) -> u16 {
        // 65,536 unfinished commands are more than any unit holds.
        while !self.outstanding.insert(self.next_id) {
            self.next_id = self.next_id.wrapping_add(1);
        }
        let id = self.next_id;
        self.next_id = id.wrapping_add(1);
        id
    }

    /// Registrations whose memory is kept because the hardware might still use it.
    pub fn lost(&self) -> usize {
        self.lost.len()
    }

    /// Frees the memory of lost registrations. Right only after the device was reset.
    pub fn release_lost(&mut self, host: &mut Host) {
        for lost in self.lost.drain(..) {
            if let Some(table) = lost.table {
                table.free(host);
            }
            if let Some(pinned) = lost.pinned {
                host.unpin(pinned);
            }
        }
    }

    // ---------------------------------------------------------------------------------------------
    // Registration
    // ---------------------------------------------------------------------------------------------

    /// Checks the arguments, pins the memory, writes the table. If anything fails, nothing stays
    /// pinned or allocated.
    pub fn prepare_reg(
        &mut self,
        host: &mut Host,
        args: &RegArgs,
    ) -> Result<(Command, RegHandle), DriverError> {
        check(args)?;
        let backing = self.build(host, args)?;
        let id = self.new_id();
        let command = Command {
            id,
            op: CmdOp::RegMr.code(),
            pd: args.pd,
            access: args.access.0,
            ..translation_fields(args, &backing.table)
        };
        let args = args.clone();
        Ok((command, RegHandle { id, args, backing }))
    }

    /// Turns the completion into a region, or frees everything.
    pub fn finish_reg(
        &mut self,
        host: &mut Host,
        handle: RegHandle,
        completion: &Completion,
    ) -> Result<Mr, DriverError> {
        let RegHandle {
            id,
            args,
            mut backing,
        } = handle;
        self.outstanding.remove(&id);
        match match_status(id, CmdOp::RegMr, completion) {
            Ok(Status::Ok) => {
                if let Some(index) = self.index_of(completion.lkey) {
                    backing.table.complete(host, &backing.list, index);
                }
                Ok(Mr {
                    lkey: completion.lkey,
                    rkey: completion.rkey,
                    args,
                    backing,
                })
            }
            Ok(status) if status != Status::Pending => {
                backing.release(host);
                Err(DriverError::Refused(status))
            }
            // Registration knows no PENDING.
            Ok(_) => {
                self.lost.push(backing.into());
                Err(DriverError::WrongCompletion {
                    expected: id,
                    got: id,
                })
            }
            Err(e) => {
                self.lost.push(backing.into());
                Err(e)
            }
        }
    }

    /// Gives up a registration whose command was never sent.
    pub fn abort_reg(&mut self, host: &mut Host, handle: RegHandle) {
        self.outstanding.remove(&handle.id);
        handle.backing.release(host);
    }

    /// `ibv_reg_mr`, blocking.
    #[allow(clippy::too_many_arguments)] // those of ibv_reg_mr, and whom to ask
    pub fn reg_mr(
        &mut self,
        host: &mut Host,
        port: &mut impl CommandPort,
        pid: Pid,
        pd: u32,
        addr: u64,
        length: u64,
        access: Access,
    ) -> Result<Mr, DriverError> {
        self.reg(host, port, &RegArgs::process(pid, pd, addr, length, access))
    }

    /// `ibv_reg_mr_iova`, blocking: the device sees the memory at `iova`.
    #[allow(clippy::too_many_arguments)] // those of ibv_reg_mr_iova, and whom to ask
    pub fn reg_mr_iova(
        &mut self,
        host: &mut Host,
        port: &mut impl CommandPort,
        pid: Pid,
        pd: u32,
        addr: u64,
        length: u64,
        iova: u64,
        access: Access,
    ) -> Result<Mr, DriverError> {
        let args = RegArgs::process(pid, pd, addr, length, access).at(iova);
        self.reg(host, port, &args)
    }

    /// Registers given pages, without a process; blocking.
    #[allow(clippy::too_many_arguments)] // those of ibv_reg_mr_iova, and whom to ask
    pub fn reg_frames(
        &mut self,
        host: &mut Host,
        port: &mut impl CommandPort,
        pd: u32,
        list: FrameList,
        iova: u64,
        length: u64,
        access: Access,
    ) -> Result<Mr, DriverError> {
        self.reg(host, port, &RegArgs::frames(pd, list, iova, length, access))
    }

    /// Any registration, blocking.
    pub fn reg(
        &mut self,
        host: &mut Host,
        port: &mut impl CommandPort,
        args: &RegArgs,
    ) -> Result<Mr, DriverError> {
        let (command, handle) = self.prepare_reg(host, args)?;
        match port.submit(&mut host.mem, &command) {
            Ok(completion) => self.finish_reg(host, handle, &completion),
            Err(e) => {
                match e {
                    PortError::NotSent(_) => self.abort_reg(host, handle),
                    PortError::Lost(_) => self.lost.push(handle.backing.into()),
                }
                Err(e.into())
            }
        }
    }

    /// Pins the memory and writes the table.
    fn build(&self, host: &mut Host, args: &RegArgs) -> Result<Backing, DriverError> {
        if args.shape.encoding == Encoding::Checked && self.keys.is_none() {
            return Err(DriverError::NoSecrets);
        }
        let pinned = pin(host, args)?;
        match self.build_table(host, args, &pinned) {
            Ok((list, table)) => Ok(Backing {
                table,
                pinned,
                list,
            }),
            Err(e) => {
                host.unpin(pinned);
                Err(e)
            }
        }
    }

    fn build_table(
        &self,
        host: &mut Host,
        args: &RegArgs,
        pinned: &Pinned,
    ) -> Result<(Arc<FrameList>, Table), DriverError> {
        let shape = &args.shape;
        let sizes = match shape.log_page {
            Some(n @ 0..=63) => self.caps.page_sizes & 1 << n,
            Some(_) => 0,
            None => self.caps.page_sizes,
        };
        let list = match &args.memory {
            Memory::Frames(list) if !is_plain(list) => {
                if sizes >> list.log_page() & 1 == 0 {
                    return Err(MttError::PageSize.into());
                }
                list.clone()
            }
            _ => {
                let ranges = pinned.ranges();
                let best = match shape.log_page {
                    Some(n) if sizes != 0 => Some(n),
                    Some(_) => None,
                    None => best_page_size(&ranges, args.iova, sizes),
                };
                best.and_then(|n| frame_list(&ranges, args.iova, n, pinned.writable()))
                    .ok_or(MttError::PageSize)?
            }
        };
        let (level, _) = plan(list.pages(), shape, self.caps.max_levels)?;
        let list = match level == LEVEL_INLINE || shape.encoding == Encoding::Raw {
            true => always_writable(&list),
            false => list,
        };
        let list = Arc::new(list);
        let table = Table::build(host, &list, shape, self.caps.max_levels)?;
        Ok((list, table))
    }

    // ---------------------------------------------------------------------------------------------
    // Deregistration
    // ---------------------------------------------------------------------------------------------

    /// The command that ends a region. Nothing is freed yet.
    pub fn prepare_dereg(&mut self, mr: Mr) -> (Command, DeregHandle) {
        let command = self.dereg_command(mr.lkey, mr.args.pd);
        let id = command.id;
        (command, DeregHandle { id, mr })
    }

    /// DEREG_MR.
    fn dereg_command(&mut self, key: Key, pd: u32) -> Command {
        Command {
            id: self.new_id(),
            op: CmdOp::DeregMr.code(),
            key,
            pd,
            ..Command::default()
        }
    }

    /// Frees table and pages after the final completion. If the hardware refused, the region lives.
    pub fn finish_dereg(
        &mut self,
        host: &mut Host,
        handle: DeregHandle,
        completion: &Completion,
    ) -> Result<DeregOutcome, Unchanged> {
        let status = match match_status(handle.id, CmdOp::DeregMr, completion) {
            Ok(Status::Pending) => return Ok(DeregOutcome::Pending(handle)),
            other => other,
        };
        let DeregHandle { id, mr } = handle;
        self.outstanding.remove(&id);
        match status {
            Ok(Status::Ok) => Ok(DeregOutcome::Done(mr.backing.release(host))),
            Ok(status) => Err(Unchanged::new(mr, DriverError::Refused(status))),
            Err(error) => {
                self.lost.push(mr.backing.into());
                Err(Unchanged { mr: None, error })
            }
        }
    }

    /// Gives up a deregistration whose command was never sent; the region lives.
    pub fn abort_dereg(&mut self, handle: DeregHandle) -> Mr {
        self.outstanding.remove(&handle.id);
        handle.mr
    }

    /// `ibv_dereg_mr`, blocking until the first completion.
    pub fn dereg_mr(
        &mut self,
        host: &mut Host,
        port: &mut impl CommandPort,
        mr: Mr,
    ) -> Result<DeregOutcome, Unchanged> {
        let (command, handle) = self.prepare_dereg(mr);
        match port.submit(&mut host.mem, &command) {
            Ok(completion) => self.finish_dereg(host, handle, &completion),
            Err(e @ PortError::NotSent(_)) => Err(Unchanged::new(self.abort_dereg(handle), e)),
            Err(e @ PortError::Lost(_)) => {
                self.lost.push(handle.mr.backing.into());
                Err(Unchanged {
                    mr: None,
                    error: e.into(),
                })
            }
        }
    }

    // ---------------------------------------------------------------------------------------------
    // Re-registration
    // ---------------------------------------------------------------------------------------------

    /// Checks the change and, if there is new memory, pins it and writes its table. The old memory
    /// stays until the completion.
    ///
    /// Rights that need writable memory over pages that were pinned for reading make the driver pin
    /// again, for writing, and replace the table too.
    pub fn prepare_rereg(
        &mut self,
        host: &mut Host,
        mr: Mr,
        change: ReregArgs,
    ) -> Result<(Command, ReregHandle), Unchanged> {
        let mut flags = 0;
        let mut args = mr.args.clone();
        if let Some((memory, iova, length, shape)) = change.translation {
            flags |= rereg::TRANSLATION;
            args = RegArgs {
                memory,
                iova,
                length,
                shape,
                ..args
            };
        }
        if let Some(pd) = change.pd {
            flags |= rereg::PD;
            args.pd = pd;
        }
        if let Some(access) = change.access {
            flags |= rereg::ACCESS;
            args.access = access;
            if needs_write(access) && !mr.backing.pinned.writable() {
                flags |= rereg::TRANSLATION;
            }
        }
        if flags == 0 {
            return Err(Unchanged::new(mr, DriverError::NothingToChange));
        }
        if let Err(e) = check(&args) {
            return Err(Unchanged::new(mr, e));
        }
        let backing = match flags & rereg::TRANSLATION {
            0 => None,
            _ => match self.build(host, &args) {
                Ok(mut backing) => {
                    // The index stays.
                    if let Some(index) = self.index_of(mr.lkey) {
                        backing.table.complete(host, &backing.list, index);
                    }
                    Some(backing)
                }
                Err(e) => return Err(Unchanged::new(mr, e)),
            },
        };
        let id = self.new_id();
        let command = Command {
            id,
            op: CmdOp::ReregMr.code(),
            key: mr.lkey,
            pd: mr.args.pd,
            rereg: flags,
            new_pd: change.pd.unwrap_or(0),
            access: change.access.map_or(0, |a| a.0),
            ..backing
                .as_ref()
                .map_or_else(Command::default, |b| translation_fields(&args, &b.table))
        };
        let handle = ReregHandle {
            id,
            mr,
            args,
            backing,
        };
        Ok((command, handle))
    }

    /// Turns the final completion into the changed region and frees what it does not use any more;
    /// if the hardware refused, frees the new memory, and the region lives on unchanged.
    pub fn finish_rereg(
        &mut self,
        host: &mut Host,
        handle: ReregHandle,
        completion: &Completion,
    ) -> Result<ReregOutcome, Unchanged> {
        let status = match match_status(handle.id, CmdOp::ReregMr, completion) {
            Ok(Status::Pending) => return Ok(ReregOutcome::Pending(handle)),
            other => other,
        };
        match status {
            Ok(Status::Ok) => {
                self.outstanding.remove(&handle.id);
                let (backing, released) = match handle.backing {
                    Some(new) => (new, handle.mr.backing.release(host)),
                    None => (handle.mr.backing, Released::default()),
                };
                let mr = Mr {
                    lkey: completion.lkey,
                    rkey: completion.rkey,
                    args: handle.args,
                    backing,
                };
                Ok(ReregOutcome::Done(mr, released))
            }
            Ok(status) => {
                let mr = self.abort_rereg(host, handle);
                Err(Unchanged::new(mr, DriverError::Refused(status)))
            }
            Err(error) => {
                self.lose_rereg(handle);
                Err(Unchanged { mr: None, error })
            }
        }
    }

    /// Gives up a re-registration whose command was never sent; the region lives on unchanged.
    pub fn abort_rereg(&mut self, host: &mut Host, handle: ReregHandle) -> Mr {
        self.outstanding.remove(&handle.id);
        if let Some(new) = handle.backing {
            new.release(host);
        }
        handle.mr
    }

    fn lose_rereg(&mut self, handle: ReregHandle) {
        self.lost.push(handle.mr.backing.into());
        self.lost.extend(handle.backing.map(Lost::from));
    }

    /// `ibv_rereg_mr`, blocking until the first completion.
    pub fn rereg_mr(
        &mut self,
        host: &mut Host,
        port: &mut impl CommandPort,
        mr: Mr,
        change: ReregArgs,
    ) -> Result<ReregOutcome, Unchanged> {
        let (command, handle) = self.prepare_rereg(host, mr, change)?;
        match port.submit(&mut host.mem, &command) {
            Ok(completion) => self.finish_rereg(host, handle, &completion),
            Err(e @ PortError::NotSent(_)) => {
                Err(Unchanged::new(self.abort_rereg(host, handle), e))
            }
            Err(e @ PortError::Lost(_)) => {
                self.lose_rereg(handle);
                Err(Unchanged {
                    mr: None,
                    error: e.into(),
                })
            }
        }
    }

    // ---------------------------------------------------------------------------------------------
    // Query
    // ---------------------------------------------------------------------------------------------

    /// The command that reads the MPT entry of a region. Its completion needs no second phase but
    /// [`finish_query`](Self::finish_query).
    pub fn prepare_query(&mut self, mr: &Mr) -> Command {
        Command {
            id: self.new_id(),
            op: CmdOp::Query.code(),
            key: mr.lkey,
            pd: mr.args.pd,
            ..Command::default()
        }
    }

    /// The entry as it is in memory.
    pub fn finish_query(
        &mut self,
        command: &Command,
        completion: &Completion,
    ) -> Result<[u8; 64], DriverError> {
        self.outstanding.remove(&command.id);
        match match_status(command.id, CmdOp::Query, completion)? {
            Status::Ok => Ok(completion.entry),
            status => Err(DriverError::Refused(status)),
        }
    }

    /// Reads the MPT entry of a region, blocking.
    pub fn query_mr(
        &mut self,
        host: &mut Host,
        port: &mut impl CommandPort,
        mr: &Mr,
    ) -> Result<[u8; 64], DriverError> {
        let command = self.prepare_query(mr);
        match port.submit(&mut host.mem, &command) {
            Ok(completion) => self.finish_query(&command, &completion),
            Err(e) => {
                if matches!(e, PortError::NotSent(_)) {
                    self.outstanding.remove(&command.id);
                }
                Err(e.into())
            }
        }
    }
}

/// Pins the memory of a registration, for what its rights need.
fn pin(host: &mut Host, args: &RegArgs) -> Result<Pinned, DriverError> {
    match &args.memory {
        Memory::Process { pid, addr } => {
            Ok(host.pin(*pid, *addr, args.length, needs_write(args.access))?)
        }
        Memory::Frames(list) => pin_list(host, list, args),
    }
}

/// Whether the memory must be writable: the device writes it, or a window may be bound that does.
fn needs_write(access: Access) -> bool {
    access.intersects(Access::LOCAL_WRITE | Access::MW_BIND)
}

/// The rules that need no look at the memory, of a region whose pages stay.
fn check(args: &RegArgs) -> Result<(), DriverError> {
    match check_all(args) {
        Ok(()) if args.access.contains(Access::ON_DEMAND) => Err(DriverError::OnDemand),
        other => other,
    }
}

/// The rules that need no look at the memory.
fn check_all(args: &RegArgs) -> Result<(), DriverError> {
    let length = args.length;
    let wraps = |start: u64| length - 1 > u64::MAX - start;
    if length == 0 {
        return Err(DriverError::ZeroLength);
    }
    let addr = match args.memory {
        Memory::Process { addr, .. } => addr,
        Memory::Frames(_) => args.iova,
    };
    for start in [addr, args.iova] {
        if wraps(start) {
            return Err(DriverError::Wrap { start, length });
        }
    }
    let unknown = args.access.0 & !(Access::KNOWN | Access::ON_DEMAND).0;
    if unknown != 0 {
        return Err(DriverError::UnknownFlags(unknown));
    }
    let needs_local = Access::REMOTE_WRITE | Access::REMOTE_ATOMIC;
    if args.access.intersects(needs_local) && !args.access.contains(Access::LOCAL_WRITE) {
        return Err(DriverError::NoLocalWrite);
    }
    if args.pd >> 24 != 0 {
        return Err(DriverError::Pd(args.pd));
    }
    if (addr ^ args.iova) & (FRAME - 1) != 0 {
        let iova = args.iova;
        return Err(DriverError::PageOffset { iova, addr });
    }
    Ok(())
}

/// The fields of a command that describe memory and table.
fn translation_fields(args: &RegArgs, table: &Table) -> Command {
    Command {
        start: args.iova,
        length: args.length,
        log_page: table.log_page(),
        level: table.level(),
        // Levels without table pages ignore the field.
        log_tpage: match table.level() {
            LEVEL_INLINE | LEVEL_FLAT => *crate::mtt::LOG_TPAGE.start(),
            _ => table.log_tpage(),
        },
        encoding: table.encoding().code(),
        frame: table.frame(),
        ..Command::default()
    }
}

fn match_status(id: u16, op: CmdOp, completion: &Completion) -> Result<Status, DriverError> {
    if completion.id == id && completion.op == op.code() {
        Ok(completion.status)
    } else {
        Err(DriverError::WrongCompletion {
            expected: id,
            got: completion.id,
        })
    }
}

/// Whether every page is simply there.
fn is_plain(list: &FrameList) -> bool {
    let plain = |page| matches!(page, Page::Present { writable: true, .. });
    list.runs().iter().all(|run| plain(run.page))
}

/// The list as an encoding without a writable flag tells it.
fn always_writable(list: &FrameList) -> FrameList {
    let mut out = FrameList::new(list.log_page());
    for run in list.runs() {
        let page = match run.page {
            Page::Present { pa, .. } => Page::at(pa),
            fault => fault,
        };
        out.push(run.pages, page);
    }
    out
}

/// Pins the pages of a given list that are present.
fn pin_list(host: &mut Host, list: &FrameList, args: &RegArgs) -> Result<Pinned, DriverError> {
    let log_page = list.log_page();
    if !(LOG_FRAME..64).contains(&u32::from(log_page)) {
        return Err(MttError::PageSize.into());
    }
    let needed = page_count(args.iova, args.length, log_page);
    let given = list.pages();
    if needed != given {
        return Err(DriverError::FrameCount { needed, given });
    }
    // More pages than a region can have would overflow the frame counts below.
    let shift = u32::from(log_page) - LOG_FRAME;
    let small = given <= MAX_PAGES && given.leading_zeros() > shift + 12;
    if !small {
        return Err(MttError::TooManyPages { pages: given }.into());
    }
    let mask = (1u64 << log_page) - 1;
    let misaligned = |page| matches!(page, Page::Present { pa, .. } if pa & mask != 0);
    if list.runs().iter().any(|run| misaligned(run.page)) {
        return Err(MttError::PageSize.into());
    }
    let frames: Vec<FrameRun> = list
        .runs()
        .iter()
        .filter_map(|run| match run.page {
            Page::Present { pa, .. } => Some(FrameRun {
                pfn: pa >> LOG_FRAME,
                count: run.pages << shift,
            }),
            _ => None,
        })
        .collect();
    let offset = args.iova & mask;
    Ok(host.pin_frames(&frames, offset, args.length)?)
}
