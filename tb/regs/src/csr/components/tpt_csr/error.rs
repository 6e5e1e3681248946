// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

//! Register: Errors

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// Errors
///
/// Sticky; write 1 to clear.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct Error(u32);

unsafe impl Send for Error {}
unsafe impl Sync for Error {}

impl core::default::Default for Error {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for Error {
    type Regwidth = u32;
    type Accesswidth = u32;
    type Access = peakrdl_rust::access::RW;
    type ByteEndian = peakrdl_rust::endian::LittleEndian;
    type WordEndian = peakrdl_rust::endian::LittleEndian;

    unsafe fn from_raw(val: Self::Regwidth) -> Self {
        Self(val)
    }

    fn to_raw(self) -> Self::Regwidth {
        self.0
    }
}

impl Error {
    pub const BAD_DONE_OFFSET: usize = 0;
    pub const BAD_DONE_WIDTH: usize = 1;
    pub const BAD_DONE_MASK: u32 = 0x1;

    /// bad_done
    ///
    /// Unknown, early or second done.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn bad_done(&self) -> bool {
        let val = (self.0 >> Self::BAD_DONE_OFFSET) & Self::BAD_DONE_MASK;
        val != 0
    }

    /// bad_done
    ///
    /// Unknown, early or second done.
    #[inline(always)]
    pub fn set_bad_done(&mut self, val: bool) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::BAD_DONE_MASK << Self::BAD_DONE_OFFSET))
            | ((val & Self::BAD_DONE_MASK) << Self::BAD_DONE_OFFSET);
    }

    pub const TAG_BUSY_OFFSET: usize = 1;
    pub const TAG_BUSY_WIDTH: usize = 1;
    pub const TAG_BUSY_MASK: u32 = 0x1;

    /// tag_busy
    ///
    /// Request with a tag still in use.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn tag_busy(&self) -> bool {
        let val = (self.0 >> Self::TAG_BUSY_OFFSET) & Self::TAG_BUSY_MASK;
        val != 0
    }

    /// tag_busy
    ///
    /// Request with a tag still in use.
    #[inline(always)]
    pub fn set_tag_busy(&mut self, val: bool) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::TAG_BUSY_MASK << Self::TAG_BUSY_OFFSET))
            | ((val & Self::TAG_BUSY_MASK) << Self::TAG_BUSY_OFFSET);
    }

    pub const BUS_OFFSET: usize = 2;
    pub const BUS_WIDTH: usize = 1;
    pub const BUS_MASK: u32 = 0x1;

    /// bus
    ///
    /// An AXI error response.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn bus(&self) -> bool {
        let val = (self.0 >> Self::BUS_OFFSET) & Self::BUS_MASK;
        val != 0
    }

    /// bus
    ///
    /// An AXI error response.
    #[inline(always)]
    pub fn set_bus(&mut self, val: bool) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::BUS_MASK << Self::BUS_OFFSET))
            | ((val & Self::BUS_MASK) << Self::BUS_OFFSET);
    }

    pub const MPT_BAD_OFFSET: usize = 3;
    pub const MPT_BAD_WIDTH: usize = 1;
    pub const MPT_BAD_MASK: u32 = 0x1;

    /// mpt_bad
    ///
    /// MPT entry with a wrong CRC.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn mpt_bad(&self) -> bool {
        let val = (self.0 >> Self::MPT_BAD_OFFSET) & Self::MPT_BAD_MASK;
        val != 0
    }

    /// mpt_bad
    ///
    /// MPT entry with a wrong CRC.
    #[inline(always)]
    pub fn set_mpt_bad(&mut self, val: bool) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::MPT_BAD_MASK << Self::MPT_BAD_OFFSET))
            | ((val & Self::MPT_BAD_MASK) << Self::MPT_BAD_OFFSET);
    }

    pub const FENCE_TIME_OFFSET: usize = 4;
    pub const FENCE_TIME_WIDTH: usize = 1;
    pub const FENCE_TIME_MASK: u32 = 0x1;

    /// fence_time
    ///
    /// A fence ran into its time limit.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn fence_time(&self) -> bool {
        let val = (self.0 >> Self::FENCE_TIME_OFFSET) & Self::FENCE_TIME_MASK;
        val != 0
    }

    /// fence_time
    ///
    /// A fence ran into its time limit.
    #[inline(always)]
    pub fn set_fence_time(&mut self, val: bool) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::FENCE_TIME_MASK << Self::FENCE_TIME_OFFSET))
            | ((val & Self::FENCE_TIME_MASK) << Self::FENCE_TIME_OFFSET);
    }

    pub const DOORBELL_OFFSET: usize = 5;
    pub const DOORBELL_WIDTH: usize = 1;
    pub const DOORBELL_MASK: u32 = 0x1;

    /// doorbell
    ///
    /// A doorbell was refused: slot number out of range, or queues not enabled.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn doorbell(&self) -> bool {
        let val = (self.0 >> Self::DOORBELL_OFFSET) & Self::DOORBELL_MASK;
        val != 0
    }

    /// doorbell
    ///
    /// A doorbell was refused: slot number out of range, or queues not enabled.
    #[inline(always)]
    pub fn set_doorbell(&mut self, val: bool) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::DOORBELL_MASK << Self::DOORBELL_OFFSET))
            | ((val & Self::DOORBELL_MASK) << Self::DOORBELL_OFFSET);
    }

    pub const LATE_OFFSET: usize = 6;
    pub const LATE_WIDTH: usize = 1;
    pub const LATE_MASK: u32 = 0x1;

    /// late
    ///
    /// A refusal was known too late for REFUSAL_TIME, and left when it was.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn late(&self) -> bool {
        let val = (self.0 >> Self::LATE_OFFSET) & Self::LATE_MASK;
        val != 0
    }

    /// late
    ///
    /// A refusal was known too late for REFUSAL_TIME, and left when it was.
    #[inline(always)]
    pub fn set_late(&mut self, val: bool) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::LATE_MASK << Self::LATE_OFFSET))
            | ((val & Self::LATE_MASK) << Self::LATE_OFFSET);
    }
}

impl core::fmt::Debug for Error {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Error")
            .field("bad_done", &self.bad_done())
            .field("tag_busy", &self.tag_busy())
            .field("bus", &self.bus())
            .field("mpt_bad", &self.mpt_bad())
            .field("fence_time", &self.fence_time())
            .field("doorbell", &self.doorbell())
            .field("late", &self.late())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = Error::default();
        assert_eq!(reg.bad_done(), false);
        assert_eq!(reg.tag_busy(), false);
        assert_eq!(reg.bus(), false);
        assert_eq!(reg.mpt_bad(), false);
        assert_eq!(reg.fence_time(), false);
        assert_eq!(reg.doorbell(), false);
        assert_eq!(reg.late(), false);
    }
}
