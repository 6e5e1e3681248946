// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

//! Register: Alarm of bad keys

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// Alarm of bad keys
///
/// Bad keys: requests refused with KEY_INDEX, KEY_STATE, KEY_TAG, PD or QP.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct Alarm(u32);

unsafe impl Send for Alarm {}
unsafe impl Sync for Alarm {}

impl core::default::Default for Alarm {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for Alarm {
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

impl Alarm {
    pub const STREAM_THRESHOLD_OFFSET: usize = 0;
    pub const STREAM_THRESHOLD_WIDTH: usize = 8;
    pub const STREAM_THRESHOLD_MASK: u32 = 0xFF;

    /// stream_threshold
    ///
    /// A stream with so many of them raises the alarm; 0: none does.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn stream_threshold(&self) -> u8 {
        let val = (self.0 >> Self::STREAM_THRESHOLD_OFFSET) & Self::STREAM_THRESHOLD_MASK;
        val as u8
    }

    /// stream_threshold
    ///
    /// A stream with so many of them raises the alarm; 0: none does.
    #[inline(always)]
    pub fn set_stream_threshold(&mut self, val: u8) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::STREAM_THRESHOLD_MASK << Self::STREAM_THRESHOLD_OFFSET))
            | ((val & Self::STREAM_THRESHOLD_MASK) << Self::STREAM_THRESHOLD_OFFSET);
    }

    pub const PD_THRESHOLD_OFFSET: usize = 8;
    pub const PD_THRESHOLD_WIDTH: usize = 8;
    pub const PD_THRESHOLD_MASK: u32 = 0xFF;

    /// pd_threshold
    ///
    /// A slot of PDs with so many of them raises the alarm; 0: none does.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn pd_threshold(&self) -> u8 {
        let val = (self.0 >> Self::PD_THRESHOLD_OFFSET) & Self::PD_THRESHOLD_MASK;
        val as u8
    }

    /// pd_threshold
    ///
    /// A slot of PDs with so many of them raises the alarm; 0: none does.
    #[inline(always)]
    pub fn set_pd_threshold(&mut self, val: u8) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::PD_THRESHOLD_MASK << Self::PD_THRESHOLD_OFFSET))
            | ((val & Self::PD_THRESHOLD_MASK) << Self::PD_THRESHOLD_OFFSET);
    }

    pub const BLOCK_OFFSET: usize = 16;
    pub const BLOCK_WIDTH: usize = 1;
    pub const BLOCK_MASK: u32 = 0x1;

    /// block
    ///
    /// A stream that reaches its threshold is blocked until ALARM_CLEAR.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn block(&self) -> bool {
        let val = (self.0 >> Self::BLOCK_OFFSET) & Self::BLOCK_MASK;
        val != 0
    }

    /// block
    ///
    /// A stream that reaches its threshold is blocked until ALARM_CLEAR.
    #[inline(always)]
    pub fn set_block(&mut self, val: bool) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::BLOCK_MASK << Self::BLOCK_OFFSET))
            | ((val & Self::BLOCK_MASK) << Self::BLOCK_OFFSET);
    }
}

impl core::fmt::Debug for Alarm {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Alarm")
            .field("stream_threshold", &self.stream_threshold())
            .field("pd_threshold", &self.pd_threshold())
            .field("block", &self.block())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = Alarm::default();
        assert_eq!(reg.stream_threshold(), 0);
        assert_eq!(reg.pd_threshold(), 0);
        assert_eq!(reg.block(), false);
    }
}
