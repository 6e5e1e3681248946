// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

//! Register: Completion queue doorbell

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// Completion queue doorbell
///
/// The slot of the next completion that the host takes. Not beyond CPLQ_TAIL.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct CplqHead(u32);

unsafe impl Send for CplqHead {}
unsafe impl Sync for CplqHead {}

impl core::default::Default for CplqHead {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for CplqHead {
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

impl CplqHead {
    pub const SLOT_OFFSET: usize = 0;
    pub const SLOT_WIDTH: usize = 16;
    pub const SLOT_MASK: u32 = 0xFFFF;

    /// slot
    ///
    /// Number of a slot, below the number of slots.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn slot(&self) -> u16 {
        let val = (self.0 >> Self::SLOT_OFFSET) & Self::SLOT_MASK;
        val as u16
    }

    /// slot
    ///
    /// Number of a slot, below the number of slots.
    #[inline(always)]
    pub fn set_slot(&mut self, val: u16) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::SLOT_MASK << Self::SLOT_OFFSET))
            | ((val & Self::SLOT_MASK) << Self::SLOT_OFFSET);
    }
}

impl core::fmt::Debug for CplqHead {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("CplqHead")
            .field("slot", &self.slot())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = CplqHead::default();
        assert_eq!(reg.slot(), 0);
    }
}
