// SPDX-License-Identifier: Apache-2.0
//! Registers of the unit: byte offsets on the AXI4-Lite port, 32 bits each, and their bits. All of
//! it is made from `rtl/tpt_csr.rdl`; here is what the testbench wants beside that.

use tpt_regs::csr::components::tpt_csr::cap::Cap;
pub use tpt_regs::table::*;
pub use tpt_regs::{csr, with_value, Access, Field, Register};

/// First counter; counter n is at `COUNTERS + 4 n`, see [`counter`].
pub const COUNTERS: u16 = CNT_REQUESTS;

/// What a unit is built with, as [`CAP2`] tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    /// Command and completion queue in memory.
    pub queues: bool,
    /// Host windows.
    pub host_windows: u32,
    /// Table entries may be CHECKED.
    pub checked: bool,
    /// Slots for page faults.
    pub fault_slots: u32,
    /// Bad keys are counted.
    pub guess_alarm: bool,
    /// Slots of PDs that count them, a power of two.
    pub alarm_pds: u32,
    /// Refusals of peers can wait for a fixed time.
    pub refusal_time: bool,
    /// Most partitions of caches and contexts, a power of two.
    pub partitions: u32,
}

impl Features {
    /// What [`CAP2`] reads.
    pub const fn cap2(self) -> u32 {
        put(cap2::QUEUES, self.queues as u32)
            | put(cap2::FRMR, 1)
            | put(cap2::WINDOWS, self.host_windows)
            | put(cap2::CHECKED, self.checked as u32)
            | put(cap2::SYNDROMES, count_of(SYN_COUNT))
            | put(cap2::LOG_ENTRIES, count_of(LOG))
            | put(cap2::FAULT_SLOTS, self.fault_slots)
            | put(cap2::ALARM, self.guess_alarm as u32)
            | put(
                cap2::LOG_ALARM_PDS,
                self.guess_alarm as u32 * self.alarm_pds.trailing_zeros(),
            )
            | put(cap2::REFUSAL_TIME, self.refusal_time as u32)
            | put(cap2::LOG_PARTS, self.partitions.trailing_zeros())
    }
}

/// A value in the bits of a field.
pub const fn put(mask: u32, value: u32) -> u32 {
    (value << mask.trailing_zeros()) & mask
}

/// How many registers begin at this offset.
const fn count_of(offset: u16) -> u32 {
    let mut n = 0;
    while n < REGISTERS.len() {
        if REGISTERS[n].offset == offset {
            return REGISTERS[n].count as u32;
        }
        n += 1;
    }
    0
}

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
    /// From the value of the register.
    pub fn from_register(value: u32) -> Capabilities {
        let cap: Cap = tpt_regs::with_value(value);
        Capabilities {
            clients: cap.clients().into(),
            max_levels: cap.max_levels().into(),
            streams: 1 << cap.log_streams(),
            contexts: 1 << cap.log_ctx(),
            axi_data: 128 << cap.log_axi_data(),
            mpt_sets: 1 << cap.log_mpt_sets(),
            mpt_ways: 1 << cap.log_mpt_ways(),
            mtt_sets: 1 << cap.log_mtt_sets(),
            mtt_ways: 1 << cap.log_mtt_ways(),
            lanes: 1 << cap.log_lanes(),
            merge: cap.merge(),
        }
    }
}
