// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! What replays and scenarios drive: the golden reference alone, or the simulated unit whose every
//! beat is compared with it.

use serde_json::{json, Value};
pub use tpt_golden::driver::window::MwType;
use tpt_golden::driver::{Memory, RegArgs};
use tpt_golden::frames::FrameList;
use tpt_golden::mtt::Shape;
use tpt_golden::types::{Access, Command, Completion, Encoding, Key, Request, Status, Syndrome};

/// Client number of the requester side (sends, gathers, sinks of reads).
pub const REQUESTER: u8 = 0;
/// Client number of the responder side (remote accesses, receives).
pub const RESPONDER: u8 = 1;

/// A registration.
#[derive(Debug, Clone)]
pub struct Registration {
    /// Protection domain, 24 bits.
    pub pd: u32,
    /// First address (iova).
    pub start: u64,
    /// Bytes.
    pub length: u64,
    /// `IBV_ACCESS_*`.
    pub access: Access,
    /// The frames under the region, from the page that holds `start` on.
    pub frames: FrameList,
    /// Page size and table, as far as they are not left to the driver.
    pub shape: Shape,
}

impl From<&Registration> for RegArgs {
    fn from(a: &Registration) -> RegArgs {
        RegArgs {
            memory: Memory::Frames(a.frames.clone()),
            iova: a.start,
            length: a.length,
            pd: a.pd,
            access: a.access,
            shape: a.shape,
        }
    }
}

/// What to change in a region. `None` leaves it as it is.
#[derive(Debug, Clone, Default)]
pub struct Change {
    /// Other memory: frames, first address (iova), bytes, shape.
    pub translation: Option<(FrameList, u64, u64, Shape)>,
    /// Another protection domain.
    pub pd: Option<u32>,
    /// Other rights.
    pub access: Option<Access>,
}

/// A fast-registration region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FastRegion {
    /// Protection domain, 24 bits.
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

/// What to register in a fast-registration region.
#[derive(Debug, Clone)]
pub struct FastRegistration {
    /// First address (iova).
    pub start: u64,
    /// Bytes.
    pub length: u64,
    /// `IBV_ACCESS_*`.
    pub access: Access,
    /// The frames under it, from the page that holds `start` on.
    pub frames: FrameList,
    /// Low byte of both keys.
    pub tag: u8,
}

/// Name of a window of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WindowId(pub u32);

/// A window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Name.
    pub id: WindowId,
    /// R_Key.
    pub rkey: Key,
}

/// What to bind a window to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bind {
    /// The region; `None` (with a length of 0) unbinds a window of type 1.
    pub region: Option<RegionId>,
    /// First address, in the address space of the region.
    pub start: u64,
    /// Bytes.
    pub length: u64,
    /// Rights, and ZERO_BASED.
    pub access: Access,
    /// Type 2: queue pair.
    pub qpn: u32,
    /// Type 2: low byte of the key.
    pub tag: u8,
}

/// Who invalidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Invalidator {
    /// The owner, with a work request.
    Local,
    /// The peer, with a message that arrives on a queue pair.
    Peer {
        /// Number of the queue pair.
        qpn: u32,
    },
}

/// Name of a live registration of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegionId(pub u32);

/// A live registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// Name.
    pub id: RegionId,
    /// L_Key.
    pub lkey: Key,
    /// R_Key; 0 without a remote right.
    pub rkey: Key,
    /// log2 of the page size that was chosen.
    pub log_page: u8,
    /// Table level that was chosen.
    pub level: u8,
    /// Entries of the bottom level of the table.
    pub entries: u64,
    /// Bytes of table in memory.
    pub table_bytes: u64,
}

/// Why a registration was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// By the unit.
    #[error("{0}")]
    Unit(Status),
    /// By the driver, before the unit saw it.
    #[error("by the driver: {0}")]
    Driver(String),
}

/// What is damaged on purpose, to see that the unit notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// The table entry of this page is zero.
    Absent(u64),
    /// The table entry of this page has a bit set that must be zero.
    Misaligned(u64),
    /// Memory answers reads of this page's table entry with an error.
    Bus(u64),
    /// A bit of the region's entry is turned over.
    Entry,
}

/// One access. The tag of the request is the target's to choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access1 {
    /// Client that sends it.
    pub client: u8,
    /// Request.
    pub request: Request,
}

/// The whole answer to an access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// `Ok`, or why it was refused (or ended early).
    pub syndrome: Syndrome,
    /// Segments handed out: physical address and bytes.
    pub segments: Vec<(u64, u32)>,
}

/// A failure of the target itself: not a refusal but a defect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// The unit does something else than the reference, breaks a rule of its ports, or hangs.
    #[error("{text}")]
    Mismatch {
        /// Clock, if there is one.
        clock: Option<u64>,
        /// What was expected and what came.
        text: String,
    },
    /// Anything else that stops the run.
    #[error("{0}")]
    Failed(String),
}

/// Work counters of the simulated unit since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Clocks.
    pub clocks: u64,
    /// Requests accepted at the port.
    pub requests: u64,
    /// Lookups of entries that were in the cache.
    pub mpt_hits: u64,
    /// Lookups of entries that were not.
    pub mpt_misses: u64,
    /// Lookups of table lines that were in the cache.
    pub mtt_hits: u64,
    /// Lookups of table lines that were not.
    pub mtt_misses: u64,
    /// AXI read bursts for entries.
    pub mpt_reads: u64,
    /// AXI read bursts for table lines.
    pub mtt_reads: u64,
    /// Beats handed out.
    pub beats: u64,
}

impl std::ops::Sub for Counters {
    type Output = Counters;
    fn sub(self, o: Counters) -> Counters {
        Counters {
            clocks: self.clocks.wrapping_sub(o.clocks),
            requests: self.requests.wrapping_sub(o.requests),
            mpt_hits: self.mpt_hits.wrapping_sub(o.mpt_hits),
            mpt_misses: self.mpt_misses.wrapping_sub(o.mpt_misses),
            mtt_hits: self.mtt_hits.wrapping_sub(o.mtt_hits),
            mtt_misses: self.mtt_misses.wrapping_sub(o.mtt_misses),
            mpt_reads: self.mpt_reads.wrapping_sub(o.mpt_reads),
            mtt_reads: self.mtt_reads.wrapping_sub(o.mtt_reads),
            beats: self.beats.wrapping_sub(o.beats),
        }
    }
}

impl std::ops::Add for Counters {
    type Output = Counters;
    fn add(self, o: Counters) -> Counters {
        let zero = Counters::default();
        self - (zero - o)
    }
}

/// How commands went to the unit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CommandPath {
    /// Through the queue in memory, by the driver of the unit; otherwise on the direct channel.
    pub queue: bool,
    /// The unit was built without queues.
    pub missing: bool,
    /// Completions taken, PENDING ones included.
    pub completions: u64,
    /// Doorbells of the command queue.
    pub doorbells: u64,
}

impl CommandPath {
    /// Adds those of another run.
    pub fn add(&mut self, other: &CommandPath) {
        self.queue |= other.queue;
        self.missing |= other.missing;
        self.completions += other.completions;
        self.doorbells += other.doorbells;
    }

    /// For machines.
    pub fn json(&self) -> Value {
        json!({
            "queue": self.queue,
            "queue_missing": self.missing,
            "completions": self.completions,
            "doorbells": self.doorbells,
        })
    }
}

impl std::fmt::Display for CommandPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let CommandPath {
            completions,
            doorbells,
            ..
        } = self;
        if self.queue {
            write!(
                f,
                "through the queue, {doorbells} doorbells, {completions} completions"
            )
        } else {
            let why = match self.missing {
                true => " (the unit was built without queues)",
                false => "",
            };
            write!(f, "direct channel{why}, {completions} completions")
        }
    }
}

/// Sends a batch of accesses; one answer for each, or an error.
pub fn answers(t: &mut dyn Target, batch: &[Access1]) -> Result<Vec<Answer>, TargetError> {
    let answers = t.access(batch)?;
    if answers.len() != batch.len() {
        return Err(TargetError::Failed(format!(
            "{} answers to {} accesses",
            answers.len(),
            batch.len()
        )));
    }
    Ok(answers)
}

fn nothing_like(what: &str, detail: &dyn std::fmt::Debug) -> TargetError {
    TargetError::Failed(format!("{what} is not possible here: {detail:?}"))
}

/// The golden reference alone, or the simulated unit.
pub trait Target {
    /// Registers memory as a driver does it.
    fn register(&mut self, args: &Registration) -> Result<Result<Region, Refused>, TargetError>;

    /// Changes a region as a driver does it: it keeps its name and gets new keys. If it is refused,
    /// the region lives on unchanged.
    fn reregister(
        &mut self,
        id: RegionId,
        change: &Change,
    ) -> Result<Result<Region, Refused>, TargetError> {
        let _ = change;
        Err(TargetError::Failed(format!(
            "region {} cannot be changed here",
            id.0
        )))
    }

    /// Makes a fast-registration region, which is registered by [`Target::fast_register`] and ended
    /// by [`Target::deregister`].
    fn allocate_region(
        &mut self,
        args: &FastRegion,
    ) -> Result<Result<Region, Refused>, TargetError> {
        Err(nothing_like("a fast-registration region", args))
    }

    /// Maps pages and registers them in a fast-registration region. If it is refused, the region is
    /// what it was.
    fn fast_register(
        &mut self,
        id: RegionId,
        args: &FastRegistration,
    ) -> Result<Result<Region, Refused>, TargetError> {
        let _ = id;
        Err(nothing_like("a fast registration", args))
    }

    /// Ends a fast registration. Returns when the fence is done.
    fn invalidate_region(
        &mut self,
        id: RegionId,
        by: Invalidator,
    ) -> Result<Result<(), Refused>, TargetError> {
        let _ = id;
        Err(nothing_like("an invalidation", &by))
    }

    /// Allocates a window.
    fn allocate_window(
        &mut self,
        pd: u32,
        kind: MwType,
    ) -> Result<Result<Window, Refused>, TargetError> {
        let _ = pd;
        Err(nothing_like("a window", &kind))
    }

    /// Binds a window, or unbinds one of type 1. If it is refused, the window is what it was.
    fn bind_window(
        &mut self,
        id: WindowId,
        bind: &Bind,
    ) -> Result<Result<Window, Refused>, TargetError> {
        let _ = id;
        Err(nothing_like("a bind", bind))
    }

    /// Ends the binding of a type-2 window. Returns when the fence is done.
    fn invalidate_window(
        &mut self,
        id: WindowId,
        by: Invalidator,
    ) -> Result<Result<(), Refused>, TargetError> {
        let _ = id;
        Err(nothing_like("an invalidation", &by))
    }

    /// Frees a window, bound or not. Returns when the fence is done.
    fn free_window(&mut self, id: WindowId) -> Result<Status, TargetError> {
        Err(nothing_like("the end of a window", &id))
    }

    /// Deregisters. Returns when the fence is done. If it is refused, the region lives on.
    fn deregister(&mut self, id: RegionId) -> Result<Status, TargetError>;

    /// Sends a bare command past the driver, for arguments that a driver would refuse itself.
    /// If the unit accepts it, the caller takes it back by another one.
    fn refused_command(&mut self, command: &Command) -> Result<Completion, TargetError>;

    /// Sends the accesses in order (as many in flight as the unit takes) and returns the answers
    /// in the same order.
    fn access(&mut self, batch: &[Access1]) -> Result<Vec<Answer>, TargetError>;

    /// The same, while regions are deregistered: each when so many accesses of the batch have been
    /// accepted. Later accesses may or may not find the region.
    fn access_while(
        &mut self,
        batch: &[Access1],
        deregister: &[(usize, RegionId)],
    ) -> Result<Vec<Answer>, TargetError>;

    /// Damages the table or the entry of a region, or (`false`) undoes it. The unit must not have
    /// seen what is damaged before.
    fn damage(&mut self, id: RegionId, what: Damage, on: bool) -> Result<(), TargetError>;

    /// Sends an access while the unit is disabled. Only before [`Target::enable`].
    fn access_disabled(&mut self, access: &Access1) -> Result<Answer, TargetError>;

    /// Enables the unit; needed before anything else but [`Target::access_disabled`].
    fn enable(&mut self) -> Result<(), TargetError>;

    /// Sends an access with the tag of an earlier one that is not done.
    fn access_tag_busy(&mut self, access: &Access1) -> Result<Answer, TargetError>;

    /// Counters; `None` for the golden reference, which has no clocks.
    fn counters(&mut self) -> Result<Option<Counters>, TargetError>;

    /// How commands went to the unit; `None` for the golden reference.
    fn commands(&self) -> Option<CommandPath> {
        None
    }

    /// Clocks since the start, without asking the unit.
    fn clock(&self) -> Option<u64>;
}
