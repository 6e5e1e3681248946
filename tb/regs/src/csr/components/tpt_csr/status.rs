// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

//! Register: Status

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// Status
///
/// State of the unit.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct Status(u32);

unsafe impl Send for Status {}
unsafe impl Sync for Status {}

impl core::default::Default for Status {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for Status {
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

impl Status {
    pub const READY_OFFSET: usize = 0;
    pub const READY_WIDTH: usize = 1;
    pub const READY_MASK: u32 = 0x1;

    /// ready
    ///
    /// Enabled and MPT cleared: requests are served.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn ready(&self) -> bool {
        let val = (self.0 >> Self::READY_OFFSET) & Self::READY_MASK;
        val != 0
    }

    pub const CLEARING_OFFSET: usize = 1;
    pub const CLEARING_WIDTH: usize = 1;
    pub const CLEARING_MASK: u32 = 0x1;

    /// clearing
    ///
    /// Enabled, MPT being cleared.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn clearing(&self) -> bool {
        let val = (self.0 >> Self::CLEARING_OFFSET) & Self::CLEARING_MASK;
        val != 0
    }

    pub const CLEAR_ERROR_OFFSET: usize = 2;
    pub const CLEAR_ERROR_WIDTH: usize = 1;
    pub const CLEAR_ERROR_MASK: u32 = 0x1;

    /// clear_error
    ///
    /// Clearing met a bus error; disable to leave.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn clear_error(&self) -> bool {
        let val = (self.0 >> Self::CLEAR_ERROR_OFFSET) & Self::CLEAR_ERROR_MASK;
        val != 0
    }

    pub const FENCE_BUSY_OFFSET: usize = 3;
    pub const FENCE_BUSY_WIDTH: usize = 1;
    pub const FENCE_BUSY_MASK: u32 = 0x1;

    /// fence_busy
    ///
    /// A command or its fence is not finished.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn fence_busy(&self) -> bool {
        let val = (self.0 >> Self::FENCE_BUSY_OFFSET) & Self::FENCE_BUSY_MASK;
        val != 0
    }

    pub const IDLE_OFFSET: usize = 4;
    pub const IDLE_WIDTH: usize = 1;
    pub const IDLE_MASK: u32 = 0x1;

    /// idle
    ///
    /// No request inside, no done owed.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn idle(&self) -> bool {
        let val = (self.0 >> Self::IDLE_OFFSET) & Self::IDLE_MASK;
        val != 0
    }

    pub const LOCKED_OFFSET: usize = 5;
    pub const LOCKED_WIDTH: usize = 1;
    pub const LOCKED_MASK: u32 = 0x1;

    /// locked
    ///
    /// Locked registers refuse writes.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn locked(&self) -> bool {
        let val = (self.0 >> Self::LOCKED_OFFSET) & Self::LOCKED_MASK;
        val != 0
    }
}

impl core::fmt::Debug for Status {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Status")
            .field("ready", &self.ready())
            .field("clearing", &self.clearing())
            .field("clear_error", &self.clear_error())
            .field("fence_busy", &self.fence_busy())
            .field("idle", &self.idle())
            .field("locked", &self.locked())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = Status::default();
        assert_eq!(reg.ready(), false);
        assert_eq!(reg.clearing(), false);
        assert_eq!(reg.clear_error(), false);
        assert_eq!(reg.fence_busy(), false);
        assert_eq!(reg.idle(), false);
        assert_eq!(reg.locked(), false);
    }
}
