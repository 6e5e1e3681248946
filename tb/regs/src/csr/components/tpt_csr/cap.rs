// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

//! Register: Capabilities

#[allow(unused_imports)]
use super::_root; // alias to root module of generated code

/// Capabilities
///
/// Sizes of this instance.
#[repr(transparent)]
#[derive(Copy, Clone, Eq, PartialEq)]
pub struct Cap(u32);

unsafe impl Send for Cap {}
unsafe impl Sync for Cap {}

impl core::default::Default for Cap {
    fn default() -> Self {
        Self(0x0)
    }
}

impl peakrdl_rust::reg::Register for Cap {
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

impl Cap {
    pub const CLIENTS_OFFSET: usize = 0;
    pub const CLIENTS_WIDTH: usize = 4;
    pub const CLIENTS_MASK: u32 = 0xF;

    /// clients
    ///
    /// Number of clients.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn clients(&self) -> u8 {
        let val = (self.0 >> Self::CLIENTS_OFFSET) & Self::CLIENTS_MASK;
        val as u8
    }

    pub const MAX_LEVELS_OFFSET: usize = 4;
    pub const MAX_LEVELS_WIDTH: usize = 3;
    pub const MAX_LEVELS_MASK: u32 = 0x7;

    /// max_levels
    ///
    /// Deepest tree of tables.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn max_levels(&self) -> u8 {
        let val = (self.0 >> Self::MAX_LEVELS_OFFSET) & Self::MAX_LEVELS_MASK;
        val as u8
    }

    pub const LOG_STREAMS_OFFSET: usize = 7;
    pub const LOG_STREAMS_WIDTH: usize = 3;
    pub const LOG_STREAMS_MASK: u32 = 0x7;

    /// log_streams
    ///
    /// log2 of the streams of a client.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn log_streams(&self) -> u8 {
        let val = (self.0 >> Self::LOG_STREAMS_OFFSET) & Self::LOG_STREAMS_MASK;
        val as u8
    }

    pub const LOG_CTX_OFFSET: usize = 10;
    pub const LOG_CTX_WIDTH: usize = 4;
    pub const LOG_CTX_MASK: u32 = 0xF;

    /// log_ctx
    ///
    /// log2 of the contexts.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn log_ctx(&self) -> u8 {
        let val = (self.0 >> Self::LOG_CTX_OFFSET) & Self::LOG_CTX_MASK;
        val as u8
    }

    pub const LOG_AXI_DATA_OFFSET: usize = 14;
    pub const LOG_AXI_DATA_WIDTH: usize = 2;
    pub const LOG_AXI_DATA_MASK: u32 = 0x3;

    /// log_axi_data
    ///
    /// log2(AXI data width in bits / 128).
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn log_axi_data(&self) -> u8 {
        let val = (self.0 >> Self::LOG_AXI_DATA_OFFSET) & Self::LOG_AXI_DATA_MASK;
        val as u8
    }

    pub const LOG_MPT_SETS_OFFSET: usize = 16;
    pub const LOG_MPT_SETS_WIDTH: usize = 4;
    pub const LOG_MPT_SETS_MASK: u32 = 0xF;

    /// log_mpt_sets
    ///
    /// log2 of the sets of the MPT cache.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn log_mpt_sets(&self) -> u8 {
        let val = (self.0 >> Self::LOG_MPT_SETS_OFFSET) & Self::LOG_MPT_SETS_MASK;
        val as u8
    }

    pub const LOG_MPT_WAYS_OFFSET: usize = 20;
    pub const LOG_MPT_WAYS_WIDTH: usize = 2;
    pub const LOG_MPT_WAYS_MASK: u32 = 0x3;

    /// log_mpt_ways
    ///
    /// log2 of the ways of the MPT cache.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn log_mpt_ways(&self) -> u8 {
        let val = (self.0 >> Self::LOG_MPT_WAYS_OFFSET) & Self::LOG_MPT_WAYS_MASK;
        val as u8
    }

    pub const LOG_MTT_SETS_OFFSET: usize = 22;
    pub const LOG_MTT_SETS_WIDTH: usize = 4;
    pub const LOG_MTT_SETS_MASK: u32 = 0xF;

    /// log_mtt_sets
    ///
    /// log2 of the sets of the MTT cache.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn log_mtt_sets(&self) -> u8 {
        let val = (self.0 >> Self::LOG_MTT_SETS_OFFSET) & Self::LOG_MTT_SETS_MASK;
        val as u8
    }

    pub const LOG_MTT_WAYS_OFFSET: usize = 26;
    pub const LOG_MTT_WAYS_WIDTH: usize = 2;
    pub const LOG_MTT_WAYS_MASK: u32 = 0x3;

    /// log_mtt_ways
    ///
    /// log2 of the ways of the MTT cache.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn log_mtt_ways(&self) -> u8 {
        let val = (self.0 >> Self::LOG_MTT_WAYS_OFFSET) & Self::LOG_MTT_WAYS_MASK;
        val as u8
    }

    pub const LOG_LANES_OFFSET: usize = 28;
    pub const LOG_LANES_WIDTH: usize = 2;
    pub const LOG_LANES_MASK: u32 = 0x3;

    /// log_lanes
    ///
    /// log2 of the lanes.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn log_lanes(&self) -> u8 {
        let val = (self.0 >> Self::LOG_LANES_OFFSET) & Self::LOG_LANES_MASK;
        val as u8
    }

    pub const MERGE_OFFSET: usize = 30;
    pub const MERGE_WIDTH: usize = 1;
    pub const MERGE_MASK: u32 = 0x1;

    /// merge
    ///
    /// Segments can be merged.
    #[inline(always)]
    #[allow(clippy::missing_panics_doc)]
    #[must_use]
    pub fn merge(&self) -> bool {
        let val = (self.0 >> Self::MERGE_OFFSET) & Self::MERGE_MASK;
        val != 0
    }
}

impl core::fmt::Debug for Cap {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Cap")
            .field("clients", &self.clients())
            .field("max_levels", &self.max_levels())
            .field("log_streams", &self.log_streams())
            .field("log_ctx", &self.log_ctx())
            .field("log_axi_data", &self.log_axi_data())
            .field("log_mpt_sets", &self.log_mpt_sets())
            .field("log_mpt_ways", &self.log_mpt_ways())
            .field("log_mtt_sets", &self.log_mtt_sets())
            .field("log_mtt_ways", &self.log_mtt_ways())
            .field("log_lanes", &self.log_lanes())
            .field("merge", &self.merge())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_default() {
        let reg = Cap::default();
        assert_eq!(reg.clients(), 0);
        assert_eq!(reg.max_levels(), 0);
        assert_eq!(reg.log_streams(), 0);
        assert_eq!(reg.log_ctx(), 0);
        assert_eq!(reg.log_axi_data(), 0);
        assert_eq!(reg.log_mpt_sets(), 0);
        assert_eq!(reg.log_mpt_ways(), 0);
        assert_eq!(reg.log_mtt_sets(), 0);
        assert_eq!(reg.log_mtt_ways(), 0);
        assert_eq!(reg.log_lanes(), 0);
        assert_eq!(reg.merge(), false);
    }
}
