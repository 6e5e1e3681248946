// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

//! Register: Take page fault

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// Take page fault
///
/// Takes the oldest page fault out of the queue. Reads as 0.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct FaultPop(u32);

unsafe impl Send for FaultPop {}
unsafe impl Sync for FaultPop {}

impl core::default::Default for FaultPop {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for FaultPop {
    type Regwidth = u32;
    type Accesswidth = u32;
    type Access = peakrdl_rust::access::W;
    type ByteEndian = peakrdl_rust::endian::LittleEndian;
    type WordEndian = peakrdl_rust::endian::LittleEndian;

    unsafe fn from_raw(val: Self::Regwidth) -> Self {
        Self(val)
    }

    fn to_raw(self) -> Self::Regwidth {
        self.0
    }
}

impl FaultPop {
    pub const POP_OFFSET: usize = 0;
    pub const POP_WIDTH: usize = 1;
    pub const POP_MASK: u32 = 0x1;

    /// pop
    ///
    /// Write 1: the next fault moves up.
    #[inline(always)]
    pub fn set_pop(&mut self, val: bool) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::POP_MASK << Self::POP_OFFSET))
            | ((val & Self::POP_MASK) << Self::POP_OFFSET);
    }
}

impl core::fmt::Debug for FaultPop {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("FaultPop").finish()
    }
}
