// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

//! Register: Page faults waiting

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// Page faults waiting
///
/// Page faults that nobody has taken yet.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct FaultCount(u32);

unsafe impl Send for FaultCount {}
unsafe impl Sync for FaultCount {}

impl core::default::Default for FaultCount {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for FaultCount {
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

impl FaultCount {
    pub const WAITING_OFFSET: usize = 0;
    pub const WAITING_WIDTH: usize = 8;
    pub const WAITING_MASK: u32 = 0xFF;

    /// waiting
    ///
    /// Their number; the oldest is described by FAULT_INFO and FAULT_PAGE.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn waiting(&self) -> u8 {
        let val = (self.0 >> Self::WAITING_OFFSET) & Self::WAITING_MASK;
        val as u8
    }
}

impl core::fmt::Debug for FaultCount {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("FaultCount")
            .field("waiting", &self.waiting())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = FaultCount::default();
        assert_eq!(reg.waiting(), 0);
    }
}
