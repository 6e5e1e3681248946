// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

//! Register: Partitions

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// Partitions
///
/// How caches, contexts and slots for page faults are divided among tenants.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct Isolation(u32);

unsafe impl Send for Isolation {}
unsafe impl Sync for Isolation {}

impl core::default::Default for Isolation {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for Isolation {
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

impl Isolation {
    pub const LOG_PARTS_OFFSET: usize = 0;
    pub const LOG_PARTS_WIDTH: usize = 2;
    pub const LOG_PARTS_MASK: u32 = 0x3;

    /// log_parts
    ///
    /// log2 of the partitions, at most CAP2.log_parts.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn log_parts(&self) -> u8 {
        let val = (self.0 >> Self::LOG_PARTS_OFFSET) & Self::LOG_PARTS_MASK;
        val as u8
    }

    /// log_parts
    ///
    /// log2 of the partitions, at most CAP2.log_parts.
    #[inline(always)]
    pub fn set_log_parts(&mut self, val: u8) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::LOG_PARTS_MASK << Self::LOG_PARTS_OFFSET))
            | ((val & Self::LOG_PARTS_MASK) << Self::LOG_PARTS_OFFSET);
    }

    pub const PD_SHIFT_OFFSET: usize = 8;
    pub const PD_SHIFT_WIDTH: usize = 5;
    pub const PD_SHIFT_MASK: u32 = 0x1F;

    /// pd_shift
    ///
    /// A PD belongs to group (PD >> pd_shift) modulo 16.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn pd_shift(&self) -> u8 {
        let val = (self.0 >> Self::PD_SHIFT_OFFSET) & Self::PD_SHIFT_MASK;
        val as u8
    }

    /// pd_shift
    ///
    /// A PD belongs to group (PD >> pd_shift) modulo 16.
    #[inline(always)]
    pub fn set_pd_shift(&mut self, val: u8) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::PD_SHIFT_MASK << Self::PD_SHIFT_OFFSET))
            | ((val & Self::PD_SHIFT_MASK) << Self::PD_SHIFT_OFFSET);
    }
}

impl core::fmt::Debug for Isolation {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Isolation")
            .field("log_parts", &self.log_parts())
            .field("pd_shift", &self.pd_shift())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = Isolation::default();
        assert_eq!(reg.log_parts(), 0);
        assert_eq!(reg.pd_shift(), 0);
    }
}
