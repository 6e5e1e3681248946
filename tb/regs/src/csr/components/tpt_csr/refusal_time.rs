// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

//! Register: Time of a refusal

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// Time of a refusal
///
/// When the refusal of a peer's request leaves.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct RefusalTime(u32);

unsafe impl Send for RefusalTime {}
unsafe impl Sync for RefusalTime {}

impl core::default::Default for RefusalTime {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for RefusalTime {
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

impl RefusalTime {
    pub const CLOCKS_OFFSET: usize = 0;
    pub const CLOCKS_WIDTH: usize = 12;
    pub const CLOCKS_MASK: u32 = 0xFFF;

    /// clocks
    ///
    /// Clocks after it was accepted, if it is known by then; 0: at once.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn clocks(&self) -> u16 {
        let val = (self.0 >> Self::CLOCKS_OFFSET) & Self::CLOCKS_MASK;
        val as u16
    }

    /// clocks
    ///
    /// Clocks after it was accepted, if it is known by then; 0: at once.
    #[inline(always)]
    pub fn set_clocks(&mut self, val: u16) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::CLOCKS_MASK << Self::CLOCKS_OFFSET))
            | ((val & Self::CLOCKS_MASK) << Self::CLOCKS_OFFSET);
    }
}

impl core::fmt::Debug for RefusalTime {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("RefusalTime")
            .field("clocks", &self.clocks())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = RefusalTime::default();
        assert_eq!(reg.clocks(), 0);
    }
}
