// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

//! Register: Page of the oldest page fault, high

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// Page of the oldest page fault, high
///
/// Rest of the number, and the request.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct FaultPageHi(u32);

unsafe impl Send for FaultPageHi {}
unsafe impl Sync for FaultPageHi {}

impl core::default::Default for FaultPageHi {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for FaultPageHi {
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

impl FaultPageHi {
    pub const PAGE_OFFSET: usize = 0;
    pub const PAGE_WIDTH: usize = 8;
    pub const PAGE_MASK: u32 = 0xFF;

    /// page
    ///
    /// Number of the page, bits 39:32.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn page(&self) -> u8 {
        let val = (self.0 >> Self::PAGE_OFFSET) & Self::PAGE_MASK;
        val as u8
    }

    pub const TAG_OFFSET: usize = 8;
    pub const TAG_WIDTH: usize = 10;
    pub const TAG_MASK: u32 = 0x3FF;

    /// tag
    ///
    /// Tag of the request.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn tag(&self) -> u16 {
        let val = (self.0 >> Self::TAG_OFFSET) & Self::TAG_MASK;
        val as u16
    }

    pub const CLIENT_OFFSET: usize = 20;
    pub const CLIENT_WIDTH: usize = 2;
    pub const CLIENT_MASK: u32 = 0x3;

    /// client
    ///
    /// Client that asked.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn client(&self) -> u8 {
        let val = (self.0 >> Self::CLIENT_OFFSET) & Self::CLIENT_MASK;
        val as u8
    }

    pub const HELD_OFFSET: usize = 31;
    pub const HELD_WIDTH: usize = 1;
    pub const HELD_MASK: u32 = 0x1;

    /// held
    ///
    /// The request waits for PAGE_READY; 0: it was answered RETRY.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn held(&self) -> bool {
        let val = (self.0 >> Self::HELD_OFFSET) & Self::HELD_MASK;
        val != 0
    }
}

impl core::fmt::Debug for FaultPageHi {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("FaultPageHi")
            .field("page", &self.page())
            .field("tag", &self.tag())
            .field("client", &self.client())
            .field("held", &self.held())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = FaultPageHi::default();
        assert_eq!(reg.page(), 0);
        assert_eq!(reg.tag(), 0);
        assert_eq!(reg.client(), 0);
        assert_eq!(reg.held(), false);
    }
}
