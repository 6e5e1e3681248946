// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Scenarios: readable text files that say what to register and which traffic to send.

pub mod parse;
pub mod run;
