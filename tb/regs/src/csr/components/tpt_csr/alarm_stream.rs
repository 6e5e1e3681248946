// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

//! Register: Bad keys of a stream

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// Bad keys of a stream
///
/// Of the stream that ALARM_SELECT names; 0 if there is none.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct AlarmStream(u32);

unsafe impl Send for AlarmStream {}
unsafe impl Sync for AlarmStream {}

impl core::default::Default for AlarmStream {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for AlarmStream {
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

impl AlarmStream {
    pub const COUNT_OFFSET: usize = 0;
    pub const COUNT_WIDTH: usize = 8;
    pub const COUNT_MASK: u32 = 0xFF;

    /// count
    ///
    /// Bad keys since it was cleared; stays at 255.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn count(&self) -> u8 {
        let val = (self.0 >> Self::COUNT_OFFSET) & Self::COUNT_MASK;
        val as u8
    }

    pub const BLOCKED_OFFSET: usize = 31;
    pub const BLOCKED_WIDTH: usize = 1;
    pub const BLOCKED_MASK: u32 = 0x1;

    /// blocked
    ///
    /// Its requests are refused with BLOCKED.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn blocked(&self) -> bool {
        let val = (self.0 >> Self::BLOCKED_OFFSET) & Self::BLOCKED_MASK;
        val != 0
    }
}

impl core::fmt::Debug for AlarmStream {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("AlarmStream")
            .field("count", &self.count())
            .field("blocked", &self.blocked())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = AlarmStream::default();
        assert_eq!(reg.count(), 0);
        assert_eq!(reg.blocked(), false);
    }
}
