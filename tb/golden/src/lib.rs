// SPDX-License-Identifier: Apache-2.0
//! Golden reference of the translation and protection unit, in plain Rust.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod codec;
pub mod driver;
pub mod frames;
pub mod host;
pub mod keys;
pub mod mem;
pub mod mtt;
pub mod regs;
pub mod types;
pub mod unit;
