// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

//! Register: Permutation secret

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// Permutation secret
///
/// Secret of the permutation of key index fields, word 0 in bits 31:0. Reads as 0.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct PermSecret(u32);

unsafe impl Send for PermSecret {}
unsafe impl Sync for PermSecret {}

impl core::default::Default for PermSecret {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for PermSecret {
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

impl PermSecret {
    pub const VALUE_OFFSET: usize = 0;
    pub const VALUE_WIDTH: usize = 32;
    pub const VALUE_MASK: u32 = 0xFFFF_FFFF;

    /// value
    #[inline(always)]
    pub fn set_value(&mut self, val: u32) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::VALUE_MASK << Self::VALUE_OFFSET))
            | ((val & Self::VALUE_MASK) << Self::VALUE_OFFSET);
    }
}

impl core::fmt::Debug for PermSecret {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("PermSecret").finish()
    }
}
