// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

//! Register: Version

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// Version
///
/// Version of the hardware.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct Version(u32);

unsafe impl Send for Version {}
unsafe impl Sync for Version {}

impl core::default::Default for Version {
    fn default() -> Self {
        Self(0x200)
    }
}

impl peakrdl_rust::reg::Register for Version {
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

impl Version {
    pub const PATCH_OFFSET: usize = 0;
    pub const PATCH_WIDTH: usize = 8;
    pub const PATCH_MASK: u32 = 0xFF;

    /// patch
    ///
    /// Patch number.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn patch(&self) -> u8 {
        let val = (self.0 >> Self::PATCH_OFFSET) & Self::PATCH_MASK;
        val as u8
    }

    pub const MINOR_OFFSET: usize = 8;
    pub const MINOR_WIDTH: usize = 8;
    pub const MINOR_MASK: u32 = 0xFF;

    /// minor
    ///
    /// Minor number.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn minor(&self) -> u8 {
        let val = (self.0 >> Self::MINOR_OFFSET) & Self::MINOR_MASK;
        val as u8
    }

    pub const MAJOR_OFFSET: usize = 16;
    pub const MAJOR_WIDTH: usize = 8;
    pub const MAJOR_MASK: u32 = 0xFF;

    /// major
    ///
    /// Major number.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn major(&self) -> u8 {
        let val = (self.0 >> Self::MAJOR_OFFSET) & Self::MAJOR_MASK;
        val as u8
    }
}

impl core::fmt::Debug for Version {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Version")
            .field("patch", &self.patch())
            .field("minor", &self.minor())
            .field("major", &self.major())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = Version::default();
        assert_eq!(reg.patch(), 0);
        assert_eq!(reg.minor(), 2);
        assert_eq!(reg.major(), 0);
    }
}
