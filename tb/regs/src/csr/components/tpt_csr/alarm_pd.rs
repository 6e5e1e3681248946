// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

//! Register: Bad keys of a slot of PDs

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// Bad keys of a slot of PDs
///
/// Of the slot that ALARM_SELECT names.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct AlarmPd(u32);

unsafe impl Send for AlarmPd {}
unsafe impl Sync for AlarmPd {}

impl core::default::Default for AlarmPd {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for AlarmPd {
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

impl AlarmPd {
    pub const COUNT_OFFSET: usize = 0;
    pub const COUNT_WIDTH: usize = 8;
    pub const COUNT_MASK: u32 = 0xFF;

    /// count
    ///
    /// Bad keys since it was cleared; stays at 255.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn count(&self) -> u8 {
        let val = (self.0 >> Self::COUNT_OFFSET) & Self::COUNT_MASK;
        val as u8
    }

    pub const PD_OFFSET: usize = 8;
    pub const PD_WIDTH: usize = 24;
    pub const PD_MASK: u32 = 0xFF_FFFF;

    /// pd
    ///
    /// PD of the last one.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn pd(&self) -> u32 {
        let val = (self.0 >> Self::PD_OFFSET) & Self::PD_MASK;
        val
    }
}

impl core::fmt::Debug for AlarmPd {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("AlarmPd")
            .field("count", &self.count())
            .field("pd", &self.pd())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = AlarmPd::default();
        assert_eq!(reg.count(), 0);
        assert_eq!(reg.pd(), 0);
    }
}
