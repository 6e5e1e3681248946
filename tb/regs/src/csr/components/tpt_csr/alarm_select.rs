// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

//! Register: What is shown and cleared

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// What is shown and cleared
///
/// Chooses for ALARM_STREAM, ALARM_PD and ALARM_CLEAR.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct AlarmSelect(u32);

unsafe impl Send for AlarmSelect {}
unsafe impl Sync for AlarmSelect {}

impl core::default::Default for AlarmSelect {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for AlarmSelect {
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

impl AlarmSelect {
    pub const STREAM_OFFSET: usize = 0;
    pub const STREAM_WIDTH: usize = 6;
    pub const STREAM_MASK: u32 = 0x3F;

    /// stream
    ///
    /// Stream.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn stream(&self) -> u8 {
        let val = (self.0 >> Self::STREAM_OFFSET) & Self::STREAM_MASK;
        val as u8
    }

    /// stream
    ///
    /// Stream.
    #[inline(always)]
    pub fn set_stream(&mut self, val: u8) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::STREAM_MASK << Self::STREAM_OFFSET))
            | ((val & Self::STREAM_MASK) << Self::STREAM_OFFSET);
    }

    pub const CLIENT_OFFSET: usize = 6;
    pub const CLIENT_WIDTH: usize = 2;
    pub const CLIENT_MASK: u32 = 0x3;

    /// client
    ///
    /// Its client.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn client(&self) -> u8 {
        let val = (self.0 >> Self::CLIENT_OFFSET) & Self::CLIENT_MASK;
        val as u8
    }

    /// client
    ///
    /// Its client.
    #[inline(always)]
    pub fn set_client(&mut self, val: u8) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::CLIENT_MASK << Self::CLIENT_OFFSET))
            | ((val & Self::CLIENT_MASK) << Self::CLIENT_OFFSET);
    }

    pub const SLOT_OFFSET: usize = 8;
    pub const SLOT_WIDTH: usize = 8;
    pub const SLOT_MASK: u32 = 0xFF;

    /// slot
    ///
    /// Slot of PDs, modulo the number of slots (CAP2.log_alarm_pds).
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn slot(&self) -> u8 {
        let val = (self.0 >> Self::SLOT_OFFSET) & Self::SLOT_MASK;
        val as u8
    }

    /// slot
    ///
    /// Slot of PDs, modulo the number of slots (CAP2.log_alarm_pds).
    #[inline(always)]
    pub fn set_slot(&mut self, val: u8) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::SLOT_MASK << Self::SLOT_OFFSET))
            | ((val & Self::SLOT_MASK) << Self::SLOT_OFFSET);
    }
}

impl core::fmt::Debug for AlarmSelect {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("AlarmSelect")
            .field("stream", &self.stream())
            .field("client", &self.client())
            .field("slot", &self.slot())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = AlarmSelect::default();
        assert_eq!(reg.stream(), 0);
        assert_eq!(reg.client(), 0);
        assert_eq!(reg.slot(), 0);
    }
}
