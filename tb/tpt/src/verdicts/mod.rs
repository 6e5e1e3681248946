// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Replay of recorded verdicts: registrations and accesses with what a driver answered.

pub mod judge;
pub mod keys;
pub mod memory;
pub mod parse;
pub mod pinning;
pub mod replay;
mod windows;
