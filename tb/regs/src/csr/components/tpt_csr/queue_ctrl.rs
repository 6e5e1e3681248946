// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

//! Register: Queue control

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// Queue control
///
/// Enabling is refused with bad settings, and if the unit has no queues (CAP2.queues).
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct QueueCtrl(u32);

unsafe impl Send for QueueCtrl {}
unsafe impl Sync for QueueCtrl {}

impl core::default::Default for QueueCtrl {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for QueueCtrl {
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

impl QueueCtrl {
    pub const ENABLE_OFFSET: usize = 0;
    pub const ENABLE_WIDTH: usize = 1;
    pub const ENABLE_MASK: u32 = 0x1;

    /// enable
    ///
    /// Use the queues. Both indices start at slot 0.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn enable(&self) -> bool {
        let val = (self.0 >> Self::ENABLE_OFFSET) & Self::ENABLE_MASK;
        val != 0
    }

    /// enable
    ///
    /// Use the queues. Both indices start at slot 0.
    #[inline(always)]
    pub fn set_enable(&mut self, val: bool) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::ENABLE_MASK << Self::ENABLE_OFFSET))
            | ((val & Self::ENABLE_MASK) << Self::ENABLE_OFFSET);
    }

    pub const ARM_OFFSET: usize = 1;
    pub const ARM_WIDTH: usize = 1;
    pub const ARM_MASK: u32 = 0x1;

    /// arm
    ///
    /// Write 1: the next completion sets INT_STATUS.completion; reads 1 until then.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn arm(&self) -> bool {
        let val = (self.0 >> Self::ARM_OFFSET) & Self::ARM_MASK;
        val != 0
    }

    /// arm
    ///
    /// Write 1: the next completion sets INT_STATUS.completion; reads 1 until then.
    #[inline(always)]
    pub fn set_arm(&mut self, val: bool) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::ARM_MASK << Self::ARM_OFFSET))
            | ((val & Self::ARM_MASK) << Self::ARM_OFFSET);
    }
}

impl core::fmt::Debug for QueueCtrl {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("QueueCtrl")
            .field("enable", &self.enable())
            .field("arm", &self.arm())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = QueueCtrl::default();
        assert_eq!(reg.enable(), false);
        assert_eq!(reg.arm(), false);
    }
}
