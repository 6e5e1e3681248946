// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

//! Register: Identification

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// Identification
///
/// "TPT0".
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct Id(u32);

unsafe impl Send for Id {}
unsafe impl Sync for Id {}

impl core::default::Default for Id {
    fn default() -> Self {
        Self(0x5450_5430)
    }
}

impl peakrdl_rust::reg::Register for Id {
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

impl Id {
    pub const VALUE_OFFSET: usize = 0;
    pub const VALUE_WIDTH: usize = 32;
    pub const VALUE_MASK: u32 = 0xFFFF_FFFF;

    /// value
    ///
    /// 0x54505430.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn value(&self) -> u32 {
        let val = (self.0 >> Self::VALUE_OFFSET) & Self::VALUE_MASK;
        val
    }
}

impl core::fmt::Debug for Id {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Id").field("value", &self.value()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = Id::default();
        assert_eq!(reg.value(), 1414550576);
    }
}
