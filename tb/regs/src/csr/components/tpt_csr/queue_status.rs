// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

//! Register: Queue status

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// Queue status
///
/// State of the queues.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct QueueStatus(u32);

unsafe impl Send for QueueStatus {}
unsafe impl Sync for QueueStatus {}

impl core::default::Default for QueueStatus {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for QueueStatus {
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

impl QueueStatus {
    pub const ENABLED_OFFSET: usize = 0;
    pub const ENABLED_WIDTH: usize = 1;
    pub const ENABLED_MASK: u32 = 0x1;

    /// enabled
    ///
    /// The queues are in use.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn enabled(&self) -> bool {
        let val = (self.0 >> Self::ENABLED_OFFSET) & Self::ENABLED_MASK;
        val != 0
    }

    pub const BUSY_OFFSET: usize = 1;
    pub const BUSY_WIDTH: usize = 1;
    pub const BUSY_MASK: u32 = 0x1;

    /// busy
    ///
    /// A slot is being read or written, or a command has no completion yet.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn busy(&self) -> bool {
        let val = (self.0 >> Self::BUSY_OFFSET) & Self::BUSY_MASK;
        val != 0
    }

    pub const ERROR_OFFSET: usize = 2;
    pub const ERROR_WIDTH: usize = 1;
    pub const ERROR_MASK: u32 = 0x1;

    /// error
    ///
    /// Memory refused an access to a slot; disable to leave.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn error(&self) -> bool {
        let val = (self.0 >> Self::ERROR_OFFSET) & Self::ERROR_MASK;
        val != 0
    }

    pub const FULL_OFFSET: usize = 3;
    pub const FULL_WIDTH: usize = 1;
    pub const FULL_MASK: u32 = 0x1;

    /// full
    ///
    /// A command waits until the completion queue has room for its completions.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn full(&self) -> bool {
        let val = (self.0 >> Self::FULL_OFFSET) & Self::FULL_MASK;
        val != 0
    }
}

impl core::fmt::Debug for QueueStatus {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("QueueStatus")
            .field("enabled", &self.enabled())
            .field("busy", &self.busy())
            .field("error", &self.error())
            .field("full", &self.full())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = QueueStatus::default();
        assert_eq!(reg.enabled(), false);
        assert_eq!(reg.busy(), false);
        assert_eq!(reg.error(), false);
        assert_eq!(reg.full(), false);
    }
}
