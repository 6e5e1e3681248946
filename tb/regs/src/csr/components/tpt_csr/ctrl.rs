// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

//! Register: Control

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// Control
///
/// Enabling is refused with bad settings, and with other values of the locked bits.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct Ctrl(u32);

unsafe impl Send for Ctrl {}
unsafe impl Sync for Ctrl {}

impl core::default::Default for Ctrl {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for Ctrl {
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

impl Ctrl {
    pub const ENABLE_OFFSET: usize = 0;
    pub const ENABLE_WIDTH: usize = 1;
    pub const ENABLE_MASK: u32 = 0x1;

    /// enable
    ///
    /// Serve requests and commands.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn enable(&self) -> bool {
        let val = (self.0 >> Self::ENABLE_OFFSET) & Self::ENABLE_MASK;
        val != 0
    }

    /// enable
    ///
    /// Serve requests and commands.
    #[inline(always)]
    pub fn set_enable(&mut self, val: bool) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::ENABLE_MASK << Self::ENABLE_OFFSET))
            | ((val & Self::ENABLE_MASK) << Self::ENABLE_OFFSET);
    }

    pub const PLAIN_OFFSET: usize = 1;
    pub const PLAIN_WIDTH: usize = 1;
    pub const PLAIN_MASK: u32 = 0x1;

    /// plain
    ///
    /// Key index fields are not permuted.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn plain(&self) -> bool {
        let val = (self.0 >> Self::PLAIN_OFFSET) & Self::PLAIN_MASK;
        val != 0
    }

    /// plain
    ///
    /// Key index fields are not permuted.
    #[inline(always)]
    pub fn set_plain(&mut self, val: bool) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::PLAIN_MASK << Self::PLAIN_OFFSET))
            | ((val & Self::PLAIN_MASK) << Self::PLAIN_OFFSET);
    }

    pub const MERGE_OFFSET: usize = 2;
    pub const MERGE_WIDTH: usize = 1;
    pub const MERGE_MASK: u32 = 0x1;

    /// merge
    ///
    /// Neighbouring pages of a request are one segment.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn merge(&self) -> bool {
        let val = (self.0 >> Self::MERGE_OFFSET) & Self::MERGE_MASK;
        val != 0
    }

    /// merge
    ///
    /// Neighbouring pages of a request are one segment.
    #[inline(always)]
    pub fn set_merge(&mut self, val: bool) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::MERGE_MASK << Self::MERGE_OFFSET))
            | ((val & Self::MERGE_MASK) << Self::MERGE_OFFSET);
    }

    pub const PHYS_OFFSET: usize = 3;
    pub const PHYS_WIDTH: usize = 1;
    pub const PHYS_MASK: u32 = 0x1;

    /// phys
    ///
    /// Physical regions may be registered.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn phys(&self) -> bool {
        let val = (self.0 >> Self::PHYS_OFFSET) & Self::PHYS_MASK;
        val != 0
    }

    /// phys
    ///
    /// Physical regions may be registered.
    #[inline(always)]
    pub fn set_phys(&mut self, val: bool) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::PHYS_MASK << Self::PHYS_OFFSET))
            | ((val & Self::PHYS_MASK) << Self::PHYS_OFFSET);
    }
}

impl core::fmt::Debug for Ctrl {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Ctrl")
            .field("enable", &self.enable())
            .field("plain", &self.plain())
            .field("merge", &self.merge())
            .field("phys", &self.phys())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = Ctrl::default();
        assert_eq!(reg.enable(), false);
        assert_eq!(reg.plain(), false);
        assert_eq!(reg.merge(), false);
        assert_eq!(reg.phys(), false);
    }
}
