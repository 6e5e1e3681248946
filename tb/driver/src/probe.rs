// SPDX-License-Identifier: Apache-2.0
//! What unit is there, and what it can do.

use crate::error::Error;
use crate::platform::Registers;
use crate::registers::{field, read};
use tpt_regs::table as regs;

/// What a unit can do, from VERSION, CAP and CAP2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Version: major, minor, patch.
    pub version: (u8, u8, u8),
    /// Number of clients.
    pub clients: u32,
    /// Deepest tree of tables.
    pub max_levels: u8,
    /// Streams of a client.
    pub streams: u32,
    /// Requests inside at a time.
    pub contexts: u32,
    /// Requests per clock.
    pub lanes: u32,
    /// Bits of the memory port.
    pub memory_bits: u32,
    /// Segments of neighbouring pages can be merged.
    pub merge: bool,
    /// Command and completion queue are there.
    pub queues: bool,
    /// Fast registration, windows, invalidation and physical regions are there.
    pub fast: bool,
    /// Number of host windows.
    pub host_windows: u32,
    /// Number of counters of refusals, for syndromes from 1 on.
    pub syndromes: u16,
    /// Entries of the log of refusals.
    pub log_entries: u16,
    /// Table entries may be of encoding CHECKED.
    pub checked: bool,
    /// Page faults that can wait at a time; 0: there are no on-demand regions.
    pub fault_slots: u32,
    /// Bad keys are counted, and their streams can be blocked.
    pub alarm: bool,
    /// Slots of PDs that count bad keys: PDs that are equal modulo this number share one; 0 without an
    /// alarm.
    pub alarm_pds: u32,
    /// Refusals of peers can wait for a fixed time.
    pub refusal_time: bool,
    /// Most partitions of caches and contexts.
    pub partitions: u32,
}

impl Capabilities {
    /// Looks what is there. Refuses what this driver was not made for.
    pub fn probe(registers: &mut (impl Registers + ?Sized)) -> Result<Self, Error> {
        let found = read(registers, regs::ID)?;
        if found != regs::ID_VALUE {
            let expected = regs::ID_VALUE;
            return Err(Error::Identification { found, expected });
        }
        let found = read(registers, regs::VERSION)?;
        let part = |mask| field(found, mask) as u8;
        let version = (
            part(regs::version::MAJOR),
            part(regs::version::MINOR),
            part(regs::version::PATCH),
        );
        // Patches change no interface.
        if (found ^ regs::VERSION_VALUE) & !regs::version::PATCH != 0 {
            let expected = regs::VERSION_VALUE;
            return Err(Error::Version { found, expected });
        }
        let cap = read(registers, regs::CAP)?;
        let cap2 = read(registers, regs::CAP2)?;
        let wrong = |register, found, what| Error::Capability {
            register,
            found,
            what,
        };
        let max_levels = field(cap, regs::cap::MAX_LEVELS) as u8;
        if !(1..=4).contains(&max_levels) {
            return Err(wrong("CAP", cap, "max_levels is not 1 to 4"));
        }
        let clients = field(cap, regs::cap::CLIENTS);
        if clients == 0 {
            return Err(wrong("CAP", cap, "clients is 0"));
        }
        let syndromes = field(cap2, regs::cap2::SYNDROMES) as u16;
        if regs::SYN_COUNT + 4 * syndromes > regs::LOG_COUNT {
            return Err(wrong(
                "CAP2",
                cap2,
                "more syndromes than there are counters",
            ));
        }
        let log_entries = field(cap2, regs::cap2::LOG_ENTRIES) as u16;
        if regs::LOG + 4 * log_entries > regs::FAULT_COUNT {
            return Err(wrong(
                "CAP2",
                cap2,
                "more log entries than there are registers",
            ));
        }
        Ok(Self {
            version,
            clients,
            max_levels,
            streams: 1 << field(cap, regs::cap::LOG_STREAMS),
            contexts: 1 << field(cap, regs::cap::LOG_CTX),
            lanes: 1 << field(cap, regs::cap::LOG_LANES),
            memory_bits: 128 << field(cap, regs::cap::LOG_AXI_DATA),
            merge: field(cap, regs::cap::MERGE) != 0,
            queues: field(cap2, regs::cap2::QUEUES) != 0,
            fast: field(cap2, regs::cap2::FRMR) != 0,
            host_windows: field(cap2, regs::cap2::WINDOWS),
            syndromes,
            log_entries,
            checked: field(cap2, regs::cap2::CHECKED) != 0,
            fault_slots: field(cap2, regs::cap2::FAULT_SLOTS),
            alarm: field(cap2, regs::cap2::ALARM) != 0,
            alarm_pds: match field(cap2, regs::cap2::LOG_ALARM_PDS) {
                0 => 0,
                log => 1 << log,
            },
            refusal_time: field(cap2, regs::cap2::REFUSAL_TIME) != 0,
            partitions: 1 << field(cap2, regs::cap2::LOG_PARTS),
        })
    }
}
