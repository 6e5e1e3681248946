// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

//! Register: Log of refusals

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// Log of refusals
///
/// The last four refused requests, the newest first; 0 if there were fewer.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct Log(u32);

unsafe impl Send for Log {}
unsafe impl Sync for Log {}

impl core::default::Default for Log {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for Log {
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

impl Log {
    pub const TAG_OFFSET: usize = 0;
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

    pub const STREAM_OFFSET: usize = 10;
    pub const STREAM_WIDTH: usize = 6;
    pub const STREAM_MASK: u32 = 0x3F;

    /// stream
    ///
    /// Stream of the request.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn stream(&self) -> u8 {
        let val = (self.0 >> Self::STREAM_OFFSET) & Self::STREAM_MASK;
        val as u8
    }

    pub const SYNDROME_OFFSET: usize = 16;
    pub const SYNDROME_WIDTH: usize = 5;
    pub const SYNDROME_MASK: u32 = 0x1F;

    /// syndrome
    ///
    /// Why it was refused; 0: the entry is empty.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn syndrome(&self) -> u8 {
        let val = (self.0 >> Self::SYNDROME_OFFSET) & Self::SYNDROME_MASK;
        val as u8
    }

    pub const CLIENT_OFFSET: usize = 21;
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

    pub const REFUSAL_OFFSET: usize = 24;
    pub const REFUSAL_WIDTH: usize = 8;
    pub const REFUSAL_MASK: u32 = 0xFF;

    /// refusal
    ///
    /// Bits 7:0 of the number of the refusal; the first one after reset is 0.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn refusal(&self) -> u8 {
        let val = (self.0 >> Self::REFUSAL_OFFSET) & Self::REFUSAL_MASK;
        val as u8
    }
}

impl core::fmt::Debug for Log {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Log")
            .field("tag", &self.tag())
            .field("stream", &self.stream())
            .field("syndrome", &self.syndrome())
            .field("client", &self.client())
            .field("refusal", &self.refusal())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = Log::default();
        assert_eq!(reg.tag(), 0);
        assert_eq!(reg.stream(), 0);
        assert_eq!(reg.syndrome(), 0);
        assert_eq!(reg.client(), 0);
        assert_eq!(reg.refusal(), 0);
    }
}
