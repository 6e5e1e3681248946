// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

//! Register: Capabilities 2

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// Capabilities 2
///
/// What is built into this instance.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct Cap2(u32);

unsafe impl Send for Cap2 {}
unsafe impl Sync for Cap2 {}

impl core::default::Default for Cap2 {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for Cap2 {
    type Regwidth = u32;
    type Accesswidth = u32;
    type Access = peakrdl_rust::access::R;
    type ByteEndian = peakrdl_rust::endian::LittleEndian;
    type WordEndian = peakrdl_rust::endian::LittleEndian;

    unsafe fn from_raw(val: Self::Regwidth) -> Self {
        Self(val)
    }

    fn to_raw(self) -> Self::Regwidth {
        self.0
    }
}

impl Cap2 {
    pub const QUEUES_OFFSET: usize = 0;
    pub const QUEUES_WIDTH: usize = 1;
    pub const QUEUES_MASK: u32 = 0x1;

    /// queues
    ///
    /// Command and completion queue in memory.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn queues(&self) -> bool {
        let val = (self.0 >> Self::QUEUES_OFFSET) & Self::QUEUES_MASK;
        val != 0
    }

    pub const FRMR_OFFSET: usize = 1;
    pub const FRMR_WIDTH: usize = 1;
    pub const FRMR_MASK: u32 = 0x1;

    /// frmr
    ///
    /// Fast registration, windows, invalidation and physical regions.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn frmr(&self) -> bool {
        let val = (self.0 >> Self::FRMR_OFFSET) & Self::FRMR_MASK;
        val != 0
    }

    pub const ALARM_OFFSET: usize = 2;
    pub const ALARM_WIDTH: usize = 1;
    pub const ALARM_MASK: u32 = 0x1;

    /// alarm
    ///
    /// Bad keys are counted, and their streams can be blocked.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn alarm(&self) -> bool {
        let val = (self.0 >> Self::ALARM_OFFSET) & Self::ALARM_MASK;
        val != 0
    }

    pub const REFUSAL_TIME_OFFSET: usize = 3;
    pub const REFUSAL_TIME_WIDTH: usize = 1;
    pub const REFUSAL_TIME_MASK: u32 = 0x1;

    /// refusal_time
    ///
    /// Refusals of peers can wait for a fixed time (REFUSAL_TIME).
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn refusal_time(&self) -> bool {
        let val = (self.0 >> Self::REFUSAL_TIME_OFFSET) & Self::REFUSAL_TIME_MASK;
        val != 0
    }

    pub const WINDOWS_OFFSET: usize = 4;
    pub const WINDOWS_WIDTH: usize = 3;
    pub const WINDOWS_MASK: u32 = 0x7;

    /// windows
    ///
    /// Number of host windows.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn windows(&self) -> u8 {
        let val = (self.0 >> Self::WINDOWS_OFFSET) & Self::WINDOWS_MASK;
        val as u8
    }

    pub const CHECKED_OFFSET: usize = 7;
    pub const CHECKED_WIDTH: usize = 1;
    pub const CHECKED_MASK: u32 = 0x1;

    /// checked
    ///
    /// Table entries may be CHECKED.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn checked(&self) -> bool {
        let val = (self.0 >> Self::CHECKED_OFFSET) & Self::CHECKED_MASK;
        val != 0
    }

    pub const SYNDROMES_OFFSET: usize = 8;
    pub const SYNDROMES_WIDTH: usize = 5;
    pub const SYNDROMES_MASK: u32 = 0x1F;

    /// syndromes
    ///
    /// Number of SYN_COUNT counters, one for each syndrome from 1 on.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn syndromes(&self) -> u8 {
        let val = (self.0 >> Self::SYNDROMES_OFFSET) & Self::SYNDROMES_MASK;
        val as u8
    }

    pub const LOG_PARTS_OFFSET: usize = 13;
    pub const LOG_PARTS_WIDTH: usize = 2;
    pub const LOG_PARTS_MASK: u32 = 0x3;

    /// log_parts
    ///
    /// log2 of the most partitions of caches, contexts and slots for page faults.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn log_parts(&self) -> u8 {
        let val = (self.0 >> Self::LOG_PARTS_OFFSET) & Self::LOG_PARTS_MASK;
        val as u8
    }

    pub const LOG_ENTRIES_OFFSET: usize = 16;
    pub const LOG_ENTRIES_WIDTH: usize = 3;
    pub const LOG_ENTRIES_MASK: u32 = 0x7;

    /// log_entries
    ///
    /// Number of entries of the log of refusals.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn log_entries(&self) -> u8 {
        let val = (self.0 >> Self::LOG_ENTRIES_OFFSET) & Self::LOG_ENTRIES_MASK;
        val as u8
    }

    pub const LOG_ALARM_PDS_OFFSET: usize = 19;
    pub const LOG_ALARM_PDS_WIDTH: usize = 4;
    pub const LOG_ALARM_PDS_MASK: u32 = 0xF;

    /// log_alarm_pds
    ///
    /// log2 of the slots of PDs that count bad keys; 0 without an alarm.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn log_alarm_pds(&self) -> u8 {
        let val = (self.0 >> Self::LOG_ALARM_PDS_OFFSET) & Self::LOG_ALARM_PDS_MASK;
        val as u8
    }

    pub const FAULT_SLOTS_OFFSET: usize = 24;
    pub const FAULT_SLOTS_WIDTH: usize = 8;
    pub const FAULT_SLOTS_MASK: u32 = 0xFF;

    /// fault_slots
    ///
    /// Slots for page faults; 0: no on-demand regions.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn fault_slots(&self) -> u8 {
        let val = (self.0 >> Self::FAULT_SLOTS_OFFSET) & Self::FAULT_SLOTS_MASK;
        val as u8
    }
}

impl core::fmt::Debug for Cap2 {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Cap2")
            .field("queues", &self.queues())
            .field("frmr", &self.frmr())
            .field("alarm", &self.alarm())
            .field("refusal_time", &self.refusal_time())
            .field("windows", &self.windows())
            .field("checked", &self.checked())
            .field("syndromes", &self.syndromes())
            .field("log_parts", &self.log_parts())
            .field("log_entries", &self.log_entries())
            .field("log_alarm_pds", &self.log_alarm_pds())
            .field("fault_slots", &self.fault_slots())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = Cap2::default();
        assert_eq!(reg.queues(), false);
        assert_eq!(reg.frmr(), false);
        assert_eq!(reg.alarm(), false);
        assert_eq!(reg.refusal_time(), false);
        assert_eq!(reg.windows(), 0);
        assert_eq!(reg.checked(), false);
        assert_eq!(reg.syndromes(), 0);
        assert_eq!(reg.log_parts(), 0);
        assert_eq!(reg.log_entries(), 0);
        assert_eq!(reg.log_alarm_pds(), 0);
        assert_eq!(reg.fault_slots(), 0);
    }
}
