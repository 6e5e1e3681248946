// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

//! Register: Completion queue base, low

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// Completion queue base, low
///
/// Physical address of the completion queue, bits 31:0.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct CplqBaseLo(u32);

unsafe impl Send for CplqBaseLo {}
unsafe impl Sync for CplqBaseLo {}

impl core::default::Default for CplqBaseLo {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for CplqBaseLo {
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

impl CplqBaseLo {
    pub const PAGE_OFFSET: usize = 12;
    pub const PAGE_WIDTH: usize = 20;
    pub const PAGE_MASK: u32 = 0xF_FFFF;

    /// page
    ///
    /// Bits 31:12 of the address; bits 11:0 are not kept and read as 0.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn page(&self) -> u32 {
        let val = (self.0 >> Self::PAGE_OFFSET) & Self::PAGE_MASK;
        val
    }

    /// page
    ///
    /// Bits 31:12 of the address; bits 11:0 are not kept and read as 0.
    #[inline(always)]
    pub fn set_page(&mut self, val: u32) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::PAGE_MASK << Self::PAGE_OFFSET))
            | ((val & Self::PAGE_MASK) << Self::PAGE_OFFSET);
    }
}

impl core::fmt::Debug for CplqBaseLo {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("CplqBaseLo")
            .field("page", &self.page())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = CplqBaseLo::default();
        assert_eq!(reg.page(), 0);
    }
}
