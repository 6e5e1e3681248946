// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

//! Register: Interrupt status

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// Interrupt status
///
/// What has happened; write 1 to clear. Bits that INT_ENABLE lets through raise irq_o.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct IntStatus(u32);

unsafe impl Send for IntStatus {}
unsafe impl Sync for IntStatus {}

impl core::default::Default for IntStatus {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for IntStatus {
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

impl IntStatus {
    pub const ERROR_OFFSET: usize = 0;
    pub const ERROR_WIDTH: usize = 1;
    pub const ERROR_MASK: u32 = 0x1;

    /// error
    ///
    /// A bit of ERROR was set (again).
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn error(&self) -> bool {
        let val = (self.0 >> Self::ERROR_OFFSET) & Self::ERROR_MASK;
        val != 0
    }

    /// error
    ///
    /// A bit of ERROR was set (again).
    #[inline(always)]
    pub fn set_error(&mut self, val: bool) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::ERROR_MASK << Self::ERROR_OFFSET))
            | ((val & Self::ERROR_MASK) << Self::ERROR_OFFSET);
    }

    pub const REFUSED_OFFSET: usize = 1;
    pub const REFUSED_WIDTH: usize = 1;
    pub const REFUSED_MASK: u32 = 0x1;

    /// refused
    ///
    /// A request was refused.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn refused(&self) -> bool {
        let val = (self.0 >> Self::REFUSED_OFFSET) & Self::REFUSED_MASK;
        val != 0
    }

    /// refused
    ///
    /// A request was refused.
    #[inline(always)]
    pub fn set_refused(&mut self, val: bool) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::REFUSED_MASK << Self::REFUSED_OFFSET))
            | ((val & Self::REFUSED_MASK) << Self::REFUSED_OFFSET);
    }

    pub const COMPLETION_OFFSET: usize = 2;
    pub const COMPLETION_WIDTH: usize = 1;
    pub const COMPLETION_MASK: u32 = 0x1;

    /// completion
    ///
    /// A completion was written while QUEUE_CTRL.arm was set.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn completion(&self) -> bool {
        let val = (self.0 >> Self::COMPLETION_OFFSET) & Self::COMPLETION_MASK;
        val != 0
    }

    /// completion
    ///
    /// A completion was written while QUEUE_CTRL.arm was set.
    #[inline(always)]
    pub fn set_completion(&mut self, val: bool) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::COMPLETION_MASK << Self::COMPLETION_OFFSET))
            | ((val & Self::COMPLETION_MASK) << Self::COMPLETION_OFFSET);
    }

    pub const PAGE_FAULT_OFFSET: usize = 3;
    pub const PAGE_FAULT_WIDTH: usize = 1;
    pub const PAGE_FAULT_MASK: u32 = 0x1;

    /// page_fault
    ///
    /// A page fault began to wait.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn page_fault(&self) -> bool {
        let val = (self.0 >> Self::PAGE_FAULT_OFFSET) & Self::PAGE_FAULT_MASK;
        val != 0
    }

    /// page_fault
    ///
    /// A page fault began to wait.
    #[inline(always)]
    pub fn set_page_fault(&mut self, val: bool) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::PAGE_FAULT_MASK << Self::PAGE_FAULT_OFFSET))
            | ((val & Self::PAGE_FAULT_MASK) << Self::PAGE_FAULT_OFFSET);
    }

    pub const CLEAR_DONE_OFFSET: usize = 4;
    pub const CLEAR_DONE_WIDTH: usize = 1;
    pub const CLEAR_DONE_MASK: u32 = 0x1;

    /// clear_done
    ///
    /// Clearing has ended: STATUS.ready or STATUS.clear_error has become 1.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn clear_done(&self) -> bool {
        let val = (self.0 >> Self::CLEAR_DONE_OFFSET) & Self::CLEAR_DONE_MASK;
        val != 0
    }

    /// clear_done
    ///
    /// Clearing has ended: STATUS.ready or STATUS.clear_error has become 1.
    #[inline(always)]
    pub fn set_clear_done(&mut self, val: bool) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::CLEAR_DONE_MASK << Self::CLEAR_DONE_OFFSET))
            | ((val & Self::CLEAR_DONE_MASK) << Self::CLEAR_DONE_OFFSET);
    }

    pub const ALARM_OFFSET: usize = 5;
    pub const ALARM_WIDTH: usize = 1;
    pub const ALARM_MASK: u32 = 0x1;

    /// alarm
    ///
    /// A count of bad keys has reached its threshold (ALARM).
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn alarm(&self) -> bool {
        let val = (self.0 >> Self::ALARM_OFFSET) & Self::ALARM_MASK;
        val != 0
    }

    /// alarm
    ///
    /// A count of bad keys has reached its threshold (ALARM).
    #[inline(always)]
    pub fn set_alarm(&mut self, val: bool) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::ALARM_MASK << Self::ALARM_OFFSET))
            | ((val & Self::ALARM_MASK) << Self::ALARM_OFFSET);
    }
}

impl core::fmt::Debug for IntStatus {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("IntStatus")
            .field("error", &self.error())
            .field("refused", &self.refused())
            .field("completion", &self.completion())
            .field("page_fault", &self.page_fault())
            .field("clear_done", &self.clear_done())
            .field("alarm", &self.alarm())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = IntStatus::default();
        assert_eq!(reg.error(), false);
        assert_eq!(reg.refused(), false);
        assert_eq!(reg.completion(), false);
        assert_eq!(reg.page_fault(), false);
        assert_eq!(reg.clear_done(), false);
        assert_eq!(reg.alarm(), false);
    }
}
