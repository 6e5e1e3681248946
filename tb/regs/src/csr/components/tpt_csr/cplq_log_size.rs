// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

//! Register: Completion queue size

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// Completion queue size
///
/// Size of the completion queue.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct CplqLogSize(u32);

unsafe impl Send for CplqLogSize {}
unsafe impl Sync for CplqLogSize {}

impl core::default::Default for CplqLogSize {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for CplqLogSize {
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

impl CplqLogSize {
    pub const VALUE_OFFSET: usize = 0;
    pub const VALUE_WIDTH: usize = 5;
    pub const VALUE_MASK: u32 = 0x1F;

    /// value
    ///
    /// log2 of the number of slots, 2 to 16.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn value(&self) -> u8 {
        let val = (self.0 >> Self::VALUE_OFFSET) & Self::VALUE_MASK;
        val as u8
    }

    /// value
    ///
    /// log2 of the number of slots, 2 to 16.
    #[inline(always)]
    pub fn set_value(&mut self, val: u8) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::VALUE_MASK << Self::VALUE_OFFSET))
            | ((val & Self::VALUE_MASK) << Self::VALUE_OFFSET);
    }
}

impl core::fmt::Debug for CplqLogSize {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("CplqLogSize")
            .field("value", &self.value())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = CplqLogSize::default();
        assert_eq!(reg.value(), 0);
    }
}
