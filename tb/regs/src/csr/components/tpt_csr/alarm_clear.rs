// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

//! Register: Clear counts of bad keys

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// Clear counts of bad keys
///
/// What is cleared. Reads as 0.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct AlarmClear(u32);

unsafe impl Send for AlarmClear {}
unsafe impl Sync for AlarmClear {}

impl core::default::Default for AlarmClear {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for AlarmClear {
    type Regwidth = u32;
    type Accesswidth = u32;
    type Access = peakrdl_rust::access::W;
    type ByteEndian = peakrdl_rust::endian::LittleEndian;
    type WordEndian = peakrdl_rust::endian::LittleEndian;

    unsafe fn from_raw(val: Self::Regwidth) -> Self {
        Self(val)
    }

    fn to_raw(self) -> Self::Regwidth {
        self.0
    }
}

impl AlarmClear {
    pub const STREAM_OFFSET: usize = 0;
    pub const STREAM_WIDTH: usize = 1;
    pub const STREAM_MASK: u32 = 0x1;

    /// stream
    ///
    /// Write 1: the stream that ALARM_SELECT names; it is not blocked any more.
    #[inline(always)]
    pub fn set_stream(&mut self, val: bool) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::STREAM_MASK << Self::STREAM_OFFSET))
            | ((val & Self::STREAM_MASK) << Self::STREAM_OFFSET);
    }

    pub const PD_OFFSET: usize = 1;
    pub const PD_WIDTH: usize = 1;
    pub const PD_MASK: u32 = 0x1;

    /// pd
    ///
    /// Write 1: the slot of PDs that ALARM_SELECT names.
    #[inline(always)]
    pub fn set_pd(&mut self, val: bool) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::PD_MASK << Self::PD_OFFSET))
            | ((val & Self::PD_MASK) << Self::PD_OFFSET);
    }

    pub const EVERY_OFFSET: usize = 2;
    pub const EVERY_WIDTH: usize = 1;
    pub const EVERY_MASK: u32 = 0x1;

    /// every
    ///
    /// Write 1: all counts; no stream is blocked any more.
    #[inline(always)]
    pub fn set_every(&mut self, val: bool) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::EVERY_MASK << Self::EVERY_OFFSET))
            | ((val & Self::EVERY_MASK) << Self::EVERY_OFFSET);
    }
}

impl core::fmt::Debug for AlarmClear {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("AlarmClear").finish()
    }
}
