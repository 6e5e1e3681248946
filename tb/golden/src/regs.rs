// SPDX-License-Identifier: Apache-2.0
//! Registers of the unit: byte offsets on the AXI4-Lite port, 32 bits each, and their bits.

/// Identification, reads [`ID_VALUE`].
pub const ID: u16 = 0x000;
/// What [`ID`] reads: "TPT0".
pub const ID_VALUE: u32 = u32::from_be_bytes(*b"TPT0");
/// Version, reads [`VERSION_VALUE`].
pub const VERSION: u16 = 0x004;
/// What [`VERSION`] reads: major, minor and patch number in bits 23:16, 15:8, 7:0.
pub const VERSION_VALUE: u32 = 0x0000_0100;
/// Sizes of the configuration, see [`Capabilities`].
pub const CAP: u16 = 0x008;
/// Control, see [`ctrl`].
pub const CTRL: u16 = 0x010;
/// Status, see [`status`].
pub const STATUS: u16 = 0x014;
/// Physical address of the MPT, low word. Locked while enabled.
pub const MPT_BASE_LO: u16 = 0x018;
/// Physical address of the MPT, high word. Locked while enabled.
pub const MPT_BASE_HI: u16 = 0x01c;
/// Entries of the MPT. Locked while enabled.
pub const MPT_SIZE: u16 = 0x020;
/// Secret of the key permutation, 4 words, write only. Locked while enabled.
pub const PERM_SECRET: u16 = 0x030;
/// Secret of the tags, 4 words, write only. Locked while enabled.
pub const TAG_SECRET: u16 = 0x040;
/// Client reset: write 1 to bit c, reads 1 until finished.
pub const CLIENT_RESET: u16 = 0x050;
/// Time limit of fences in clocks; 0: none.
pub const FENCE_TIME: u16 = 0x054;
/// Sticky errors, write 1 to clear, see [`error`].
pub const ERROR: u16 = 0x058;
/// First counter; counter n is at `COUNTERS + 4 n`, see [`counter`].
pub const COUNTERS: u16 = 0x080;

/// Largest table of regions, in entries.
pub const MAX_MPT_SIZE: u32 = 1 << 23;

/// What [`CAP`] tells about the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Number of clients.
    pub clients: u32,
    /// Deepest tree of tables.
    pub max_levels: u32,
    /// Streams of a client.
    pub streams: u32,
    /// Requests inside the unit at a time.
    pub contexts: u32,
    /// Bits of the memory port.
    pub axi_data: u32,
    /// Sets of the MPT cache.
    pub mpt_sets: u32,
    /// Ways of the MPT cache.
    pub mpt_ways: u32,
    /// Sets of the MTT cache.
    pub mtt_sets: u32,
    /// Ways of the MTT cache.
    pub mtt_ways: u32,
    /// Requests taken per clock.
    pub lanes: u32,
    /// Segments of neighbouring pages can be merged.
    pub merge: bool,
}

impl Capabilities {
    /// The fields of [`CAP`]: position of the lowest bit, and width. The first two are numbers,
    /// the last one is yes or no, the others are log2 of numbers.
    pub const FIELDS: [(u32, u32); 11] = [
        (0, 4),
        (4, 3),
        (7, 3),
        (10, 4),
        (14, 2),
        (16, 4),
        (20, 2),
        (22, 4),
        (26, 2),
        (28, 2),
        (30, 1),
    ];

    /// From the value of the register.
    pub fn from_register(value: u32) -> Capabilities {
        let raw = Self::FIELDS.map(|(lsb, width)| value >> lsb & ((1 << width) - 1));
        let [clients, max_levels, logs @ .., merge] = raw;
        let [streams, contexts, data, mpt_sets, mpt_ways, mtt_sets, mtt_ways, lanes] =
            logs.map(|n| 1 << n);
        let axi_data = 128 * data;
        Capabilities {
            clients,
            max_levels,
            streams,
            contexts,
            axi_data,
            mpt_sets,
            mpt_ways,
            mtt_sets,
            mtt_ways,
            lanes,
            merge: merge != 0,
        }
    }
}

/// Bits of [`CTRL`].
pub mod ctrl {
    /// Serve requests and commands.
    pub const ENABLE: u32 = 1 << 0;
    /// Plain index: the key permutation is off.
    pub const PLAIN: u32 = 1 << 1;
    /// Neighbouring pages of a request come as one segment.
    pub const MERGE: u32 = 1 << 2;
    /// Physical regions may be registered.
    pub const PHYS: u32 = 1 << 3;
}

/// Bits of [`STATUS`].
pub mod status {
    /// The MPT is cleared and the unit serves.
    pub const READY: u32 = 1 << 0;
    /// The MPT is being cleared.
    pub const CLEARING: u32 = 1 << 1;
    /// The memory refused a write while the MPT was cleared.
    pub const CLEAR_ERROR: u32 = 1 << 2;
    /// A command or its fence is not finished.
    pub const FENCE_BUSY: u32 = 1 << 3;
    /// No request is inside the unit, and no `done` is owed.
    pub const IDLE: u32 = 1 << 4;
    /// The locked registers refuse writes.
    pub const LOCKED: u32 = 1 << 5;
}

/// Bits of [`ERROR`].
pub mod error {
    /// Unknown, early or second done.
    pub const BAD_DONE: u32 = 1 << 0;
    /// A request with a tag that is still in use.
    pub const TAG_BUSY: u32 = 1 << 1;
    /// The memory answered with an error.
    pub const BUS: u32 = 1 << 2;
    /// An MPT entry with a wrong checksum.
    pub const MPT_BAD: u32 = 1 << 3;
    /// A fence ran out of time.
    pub const FENCE_TIME: u32 = 1 << 4;
}

/// Numbers of the counters, 32 bits each, wrapping.
pub mod counter {
    /// Number of counters.
    pub const COUNT: usize = 12;
    /// Requests accepted.
    pub const REQUESTS: usize = 0;
    /// MPT cache hits.
    pub const MPT_HIT: usize = 1;
    /// MPT cache misses.
    pub const MPT_MISS: usize = 2;
    /// Reads of MPT entries.
    pub const MPT_READ: usize = 3;
    /// MTT cache hits.
    pub const MTT_HIT: usize = 4;
    /// MTT cache misses.
    pub const MTT_MISS: usize = 5;
    /// Reads of MTT lines.
    pub const MTT_READ: usize = 6;
    /// Segments handed out.
    pub const SEGMENTS: usize = 7;
    /// Requests refused.
    pub const REFUSED: usize = 8;
    /// Unknown, early or second done.
    pub const BAD_DONE: usize = 9;
    /// Fences finished.
    pub const FENCES: usize = 10;
    /// Lines evicted.
    pub const EVICT: usize = 11;
    /// Names, in order.
    pub const NAMES: [&str; COUNT] = [
        "Requests", "MptHit", "MptMiss", "MptRead", "MttHit", "MttMiss", "MttRead", "Segments",
        "Refused", "BadDone", "Fences", "Evict",
    ];
}
