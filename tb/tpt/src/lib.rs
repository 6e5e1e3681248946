// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Everything behind the command `tpt`: recordings and scenarios, what lies before the unit, the
//! judgement, the reports.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod addresses;
#[cfg(feature = "rtl")]
pub mod bench;
#[cfg(feature = "rtl")]
pub mod board;
/// The line to a board.
#[cfg(not(feature = "rtl"))]
pub mod board {
    pub mod frame;
    #[allow(dead_code)]
    #[rustfmt::skip]
    pub mod gen;
}
pub mod cli;
#[cfg(feature = "rtl")]
pub mod faults;
pub mod input;
#[cfg(feature = "rtl")]
pub mod keys;
pub mod machine;
#[cfg(feature = "rtl")]
pub mod pythia;
pub mod report;
#[cfg(feature = "rtl")]
pub mod rtl;
pub mod scenario;
#[cfg(feature = "rtl")]
pub mod soak;
pub mod tally;
pub mod target;
pub mod textbook;
pub mod trace;
pub mod verbs;
pub mod verdicts;
