// SPDX-License-Identifier: Apache-2.0
//! What a run can end with.

use tpt_verilated::DutError;

/// Something is not as it must be, or cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BenchError {
    /// An assertion of the RTL failed, or the model is not built.
    #[error(transparent)]
    Dut(#[from] DutError),
    /// The unit and the golden reference differ.
    #[error("clock {clock}: mismatch: {text}")]
    Mismatch {
        /// Clock.
        clock: u64,
        /// What was expected, what came.
        text: String,
    },
    /// A channel rule was broken.
    #[error("clock {clock}: protocol: {text}")]
    Protocol {
        /// Clock.
        clock: u64,
        /// Which rule.
        text: String,
    },
    /// A wait came to its end.
    #[error("clock {clock}: gave up waiting for {what}\n{outstanding}")]
    Timeout {
        /// Clock.
        clock: u64,
        /// What did not happen.
        what: String,
        /// All that was under way.
        outstanding: String,
    },
    /// A register access was refused.
    #[error("register {address:#05x}: response {resp} to a {}", if *write { "write" } else { "read" })]
    Register {
        /// Byte offset.
        address: u16,
        /// AXI response.
        resp: u8,
        /// Direction.
        write: bool,
    },
}

impl BenchError {
    /// The clock at which it was found, if it is known.
    pub fn clock(&self) -> Option<u64> {
        match self {
            Self::Mismatch { clock, .. }
            | Self::Protocol { clock, .. }
            | Self::Timeout { clock, .. }
            | Self::Dut(DutError::Assertion { clock, .. }) => Some(*clock),
            Self::Dut(_) | Self::Register { .. } => None,
        }
    }

    /// True for everything that says that the unit is wrong (and not the user of the bench).
    pub fn is_mismatch(&self) -> bool {
        !matches!(self, Self::Dut(DutError::NoModel(_) | DutError::Waves(_)))
    }
}
