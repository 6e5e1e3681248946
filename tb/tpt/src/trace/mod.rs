// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Replay of traces: what programs registered, over which frames, and every request they posted.

pub mod follow;
pub mod parse;
pub mod replay;
