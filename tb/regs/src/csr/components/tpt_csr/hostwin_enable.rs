// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

//! Register: Host windows

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// Host windows
///
/// Which windows are in force. If none is, every address is allowed.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct HostwinEnable(u32);

unsafe impl Send for HostwinEnable {}
unsafe impl Sync for HostwinEnable {}

impl core::default::Default for HostwinEnable {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for HostwinEnable {
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

impl HostwinEnable {
    pub const ENABLE_OFFSET: usize = 0;
    pub const ENABLE_WIDTH: usize = 4;
    pub const ENABLE_MASK: u32 = 0xF;

    /// enable
    ///
    /// Bit n: a translated address may lie in HOSTWIN[n].
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn enable(&self) -> u8 {
        let val = (self.0 >> Self::ENABLE_OFFSET) & Self::ENABLE_MASK;
        val as u8
    }

    /// enable
    ///
    /// Bit n: a translated address may lie in HOSTWIN[n].
    #[inline(always)]
    pub fn set_enable(&mut self, val: u8) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::ENABLE_MASK << Self::ENABLE_OFFSET))
            | ((val & Self::ENABLE_MASK) << Self::ENABLE_OFFSET);
    }
}

impl core::fmt::Debug for HostwinEnable {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("HostwinEnable")
            .field("enable", &self.enable())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = HostwinEnable::default();
        assert_eq!(reg.enable(), 0);
    }
}
