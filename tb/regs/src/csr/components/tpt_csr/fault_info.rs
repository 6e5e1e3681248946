// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

//! Register: Oldest page fault

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// Oldest page fault
///
/// All 0 if none waits.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct FaultInfo(u32);

unsafe impl Send for FaultInfo {}
unsafe impl Sync for FaultInfo {}

impl core::default::Default for FaultInfo {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for FaultInfo {
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

impl FaultInfo {
    pub const INDEX_OFFSET: usize = 0;
    pub const INDEX_WIDTH: usize = 23;
    pub const INDEX_MASK: u32 = 0x7F_FFFF;

    /// index
    ///
    /// MPT index of the region.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn index(&self) -> u32 {
        let val = (self.0 >> Self::INDEX_OFFSET) & Self::INDEX_MASK;
        val
    }

    pub const WRITE_OFFSET: usize = 23;
    pub const WRITE_WIDTH: usize = 1;
    pub const WRITE_MASK: u32 = 0x1;

    /// write
    ///
    /// The access needs a writable page.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn write(&self) -> bool {
        let val = (self.0 >> Self::WRITE_OFFSET) & Self::WRITE_MASK;
        val != 0
    }

    pub const SLOT_OFFSET: usize = 24;
    pub const SLOT_WIDTH: usize = 7;
    pub const SLOT_MASK: u32 = 0x7F;

    /// slot
    ///
    /// Names the fault until PAGE_READY.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn slot(&self) -> u8 {
        let val = (self.0 >> Self::SLOT_OFFSET) & Self::SLOT_MASK;
        val as u8
    }

    pub const VALID_OFFSET: usize = 31;
    pub const VALID_WIDTH: usize = 1;
    pub const VALID_MASK: u32 = 0x1;

    /// valid
    ///
    /// A fault waits.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn valid(&self) -> bool {
        let val = (self.0 >> Self::VALID_OFFSET) & Self::VALID_MASK;
        val != 0
    }
}

impl core::fmt::Debug for FaultInfo {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("FaultInfo")
            .field("index", &self.index())
            .field("write", &self.write())
            .field("slot", &self.slot())
            .field("valid", &self.valid())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = FaultInfo::default();
        assert_eq!(reg.index(), 0);
        assert_eq!(reg.write(), false);
        assert_eq!(reg.slot(), 0);
        assert_eq!(reg.valid(), false);
    }
}
