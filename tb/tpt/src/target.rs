// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! What replays and scenarios drive: the golden reference alone, or the simulated unit whose every
//! beat is compared with it.

use tpt_golden::frames::FrameList;
use tpt_golden::types::{Access, Command, Completion, Encoding, Key, Request, Status, Syndrome};

/// Client number of the requester side (sends, gathers, sinks of reads).
pub const REQUESTER: u8 = 0;
/// Client number of the responder side (remote accesses, receives).
pub const RESPONDER: u8 = 1;

/// How a region is laid out. `None` leaves the choice to the driver: best page size, smallest
/// table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// log2 of the page size.
    pub log_page: Option<u8>,
    /// Table level: 0 to 4, or 5 for a flat table.
    pub level: Option<u8>,
    /// log2 of the table page.
    pub log_tpage: u8,
    /// Encoding of the table entries.
    pub encoding: Encoding,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            log_page: None,
            level: None,
            log_tpage: 12,
            encoding: Encoding::Raw,
        }
    }
}

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
    /// The frames under the region, as pages of 4 KiB from the one that holds `start`.
    pub frames: FrameList,
    /// Layout.
    pub shape: Shape,
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

/// A failure of the target itself: not a refusal but a defect (a mismatch found by the
/// scoreboard, a hang, an assertion).
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// Unit and reference disagree.
    #[error("mismatch: {0}")]
    Mismatch(String),
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

/// The golden reference alone, or the simulated unit.
pub trait Target {
    /// Registers memory as a driver does it. The inner error is the status of a refused command.
    fn register(&mut self, args: &Registration) -> Result<Result<Region, Status>, TargetError>;

    /// Deregisters. Returns when the fence is done.
    fn deregister(&mut self, id: RegionId) -> Result<Status, TargetError>;

    /// Sends a bare command past the driver, for arguments that a driver would refuse itself.
    /// It must not be one that the unit accepts.
    fn refused_command(&mut self, command: &Command) -> Result<Completion, TargetError>;

    /// Sends the accesses in order (as many in flight as the unit takes) and returns the answers
    /// in the same order.
    fn access(&mut self, batch: &[Access1]) -> Result<Vec<Answer>, TargetError>;

    /// Counters; `None` for the golden reference, which has no clocks.
    fn counters(&mut self) -> Option<Counters>;
}
