// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

//! Register: Completion queue tail

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// Completion queue tail
///
/// The slot behind the last completion that the unit has written.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct CplqTail(u32);

unsafe impl Send for CplqTail {}
unsafe impl Sync for CplqTail {}

impl core::default::Default for CplqTail {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for CplqTail {
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

impl CplqTail {
    pub const SLOT_OFFSET: usize = 0;
    pub const SLOT_WIDTH: usize = 16;
    pub const SLOT_MASK: u32 = 0xFFFF;

    /// slot
    ///
    /// Number of a slot.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn slot(&self) -> u16 {
        let val = (self.0 >> Self::SLOT_OFFSET) & Self::SLOT_MASK;
        val as u16
    }
}

impl core::fmt::Debug for CplqTail {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("CplqTail")
            .field("slot", &self.slot())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = CplqTail::default();
        assert_eq!(reg.slot(), 0);
    }
}
