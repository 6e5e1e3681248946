// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

//! Register: Blocked streams

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// Blocked streams
///
/// Streams 32 n to 32 n + 31, counted over the clients: 64 to each.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct AlarmBlocked(u32);

unsafe impl Send for AlarmBlocked {}
unsafe impl Sync for AlarmBlocked {}

impl core::default::Default for AlarmBlocked {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for AlarmBlocked {
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

impl AlarmBlocked {
    pub const STREAMS_OFFSET: usize = 0;
    pub const STREAMS_WIDTH: usize = 32;
    pub const STREAMS_MASK: u32 = 0xFFFF_FFFF;

    /// streams
    ///
    /// Bit s: the stream is blocked.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn streams(&self) -> u32 {
        let val = (self.0 >> Self::STREAMS_OFFSET) & Self::STREAMS_MASK;
        val
    }
}

impl core::fmt::Debug for AlarmBlocked {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("AlarmBlocked")
            .field("streams", &self.streams())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = AlarmBlocked::default();
        assert_eq!(reg.streams(), 0);
    }
}
