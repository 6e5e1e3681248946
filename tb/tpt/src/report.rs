// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Figures for people and machines.

use serde_json::{json, Value};

use crate::target::Counters;

/// Counters of the unit, for machines.
pub fn counters(c: &Counters) -> Value {
    json!({
        "clocks": c.clocks,
        "requests": c.requests,
        "mpt_hits": c.mpt_hits,
        "mpt_misses": c.mpt_misses,
        "mpt_reads": c.mpt_reads,
        "mtt_hits": c.mtt_hits,
        "mtt_misses": c.mtt_misses,
        "mtt_reads": c.mtt_reads,
        "beats": c.beats,
    })
}
