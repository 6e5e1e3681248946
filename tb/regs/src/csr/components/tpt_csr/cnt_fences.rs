// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

//! Register: CNT_FENCES

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// CNT_FENCES
///
/// Grace periods that began.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct CntFences(u32);

unsafe impl Send for CntFences {}
unsafe impl Sync for CntFences {}

impl core::default::Default for CntFences {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for CntFences {
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

impl CntFences {
    pub const VALUE_OFFSET: usize = 0;
    pub const VALUE_WIDTH: usize = 32;
    pub const VALUE_MASK: u32 = 0xFFFF_FFFF;

    /// value
    ///
    /// Events, modulo 2^32.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn value(&self) -> u32 {
        let val = (self.0 >> Self::VALUE_OFFSET) & Self::VALUE_MASK;
        val
    }
}

impl core::fmt::Debug for CntFences {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("CntFences")
            .field("value", &self.value())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = CntFences::default();
        assert_eq!(reg.value(), 0);
    }
}
