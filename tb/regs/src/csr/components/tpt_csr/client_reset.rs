// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

//! Register: Client reset

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// Client reset
///
/// Write 1 to start, reads 1 until finished.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct ClientReset(u32);

unsafe impl Send for ClientReset {}
unsafe impl Sync for ClientReset {}

impl core::default::Default for ClientReset {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for ClientReset {
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

impl ClientReset {
    pub const CLIENT0_OFFSET: usize = 0;
    pub const CLIENT0_WIDTH: usize = 1;
    pub const CLIENT0_MASK: u32 = 0x1;

    /// client0
    ///
    /// Reset of client 0.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn client0(&self) -> bool {
        let val = (self.0 >> Self::CLIENT0_OFFSET) & Self::CLIENT0_MASK;
        val != 0
    }

    /// client0
    ///
    /// Reset of client 0.
    #[inline(always)]
    pub fn set_client0(&mut self, val: bool) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::CLIENT0_MASK << Self::CLIENT0_OFFSET))
            | ((val & Self::CLIENT0_MASK) << Self::CLIENT0_OFFSET);
    }

    pub const CLIENT1_OFFSET: usize = 1;
    pub const CLIENT1_WIDTH: usize = 1;
    pub const CLIENT1_MASK: u32 = 0x1;

    /// client1
    ///
    /// Reset of client 1.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn client1(&self) -> bool {
        let val = (self.0 >> Self::CLIENT1_OFFSET) & Self::CLIENT1_MASK;
        val != 0
    }

    /// client1
    ///
    /// Reset of client 1.
    #[inline(always)]
    pub fn set_client1(&mut self, val: bool) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::CLIENT1_MASK << Self::CLIENT1_OFFSET))
            | ((val & Self::CLIENT1_MASK) << Self::CLIENT1_OFFSET);
    }

    pub const CLIENT2_OFFSET: usize = 2;
    pub const CLIENT2_WIDTH: usize = 1;
    pub const CLIENT2_MASK: u32 = 0x1;

    /// client2
    ///
    /// Reset of client 2.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn client2(&self) -> bool {
        let val = (self.0 >> Self::CLIENT2_OFFSET) & Self::CLIENT2_MASK;
        val != 0
    }

    /// client2
    ///
    /// Reset of client 2.
    #[inline(always)]
    pub fn set_client2(&mut self, val: bool) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::CLIENT2_MASK << Self::CLIENT2_OFFSET))
            | ((val & Self::CLIENT2_MASK) << Self::CLIENT2_OFFSET);
    }

    pub const CLIENT3_OFFSET: usize = 3;
    pub const CLIENT3_WIDTH: usize = 1;
    pub const CLIENT3_MASK: u32 = 0x1;

    /// client3
    ///
    /// Reset of client 3.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn client3(&self) -> bool {
        let val = (self.0 >> Self::CLIENT3_OFFSET) & Self::CLIENT3_MASK;
        val != 0
    }

    /// client3
    ///
    /// Reset of client 3.
    #[inline(always)]
    pub fn set_client3(&mut self, val: bool) {
        let val = val as u32;
        self.0 = (self.0 & !(Self::CLIENT3_MASK << Self::CLIENT3_OFFSET))
            | ((val & Self::CLIENT3_MASK) << Self::CLIENT3_OFFSET);
    }
}

impl core::fmt::Debug for ClientReset {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("ClientReset")
            .field("client0", &self.client0())
            .field("client1", &self.client1())
            .field("client2", &self.client2())
            .field("client3", &self.client3())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = ClientReset::default();
        assert_eq!(reg.client0(), false);
        assert_eq!(reg.client1(), false);
        assert_eq!(reg.client2(), false);
        assert_eq!(reg.client3(), false);
    }
}
