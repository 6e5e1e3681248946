// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

//! Register: Command queue head

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// Command queue head
///
/// The slot of the next command that the unit takes.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct CmdqHead(u32);

unsafe impl Send for CmdqHead {}
unsafe impl Sync for CmdqHead {}

impl core::default::Default for CmdqHead {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for CmdqHead {
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

impl CmdqHead {
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

impl core::fmt::Debug for CmdqHead {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("CmdqHead")
            .field("slot", &self.slot())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = CmdqHead::default();
        assert_eq!(reg.slot(), 0);
    }
}
