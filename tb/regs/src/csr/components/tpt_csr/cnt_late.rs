// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

//! Register: CNT_LATE

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// CNT_LATE
///
/// Refusals that were known too late for REFUSAL_TIME.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct CntLate(u32);

unsafe impl Send for CntLate {}
unsafe impl Sync for CntLate {}

impl core::default::Default for CntLate {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for CntLate {
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

impl CntLate {
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

impl core::fmt::Debug for CntLate {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("CntLate")
            .field("value", &self.value())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = CntLate::default();
        assert_eq!(reg.value(), 0);
    }
}
