// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! The golden reference as a target: no clocks, no hardware.

use std::collections::HashMap;
use std::sync::Arc;

use tpt_golden::keys::KeyMaker;
use tpt_golden::types::{CmdOp, Command, Completion, Key, Status, Syndrome, LEVEL_FLAT};
use tpt_golden::unit::Golden;

use crate::target::{
    Access1, Answer, Counters, Region, RegionId, Registration, Target, TargetError,
};

/// The golden reference alone.
#[derive(Debug)]
pub struct GoldenTarget {
    unit: Golden,
    next: u32,
    regions: HashMap<RegionId, (Key, u32)>,
}

impl GoldenTarget {
    /// An enabled unit with `table_size` entries; the secrets follow from the seed.
    pub fn new(seed: u64, table_size: u32, max_levels: u8) -> Self {
        let (perm, tag) = secrets(seed);
        Self {
            unit: Golden::enabled(KeyMaker::new(perm, tag, false), table_size, max_levels),
            next: 0,
            regions: HashMap::new(),
        }
    }
}

/// Secrets for a seed.
pub fn secrets(seed: u64) -> ([u32; 4], [u32; 4]) {
    let mut x = seed;
    let mut next = || {
        x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as u32
    };
    (std::array::from_fn(|_| next()), std::array::from_fn(|_| next()))
}

impl Target for GoldenTarget {
    fn register(&mut self, a: &Registration) -> Result<Result<Region, Status>, TargetError> {
        let command = Command {
            op: CmdOp::RegMr.code(),
            pd: a.pd,
            access: a.access.0,
            start: a.start,
            length: a.length,
            log_page: 12,
            level: LEVEL_FLAT,
            frame: [0x1000, 0, 0, 0],
            ..Command::default()
        };
        let done = self.unit.command(&command, Some(Arc::new(a.frames.clone())));
        if done.status != Status::Ok {
            return Ok(Err(done.status));
        }
        self.next += 1;
        let id = RegionId(self.next);
        self.regions.insert(id, (done.lkey, a.pd));
        Ok(Ok(Region {
            id,
            lkey: done.lkey,
            rkey: done.rkey,
            log_page: 12,
            level: LEVEL_FLAT,
            entries: a.frames.pages(),
            table_bytes: 8 * a.frames.pages(),
        }))
    }

    fn deregister(&mut self, id: RegionId) -> Result<Status, TargetError> {
        let Some((key, pd)) = self.regions.remove(&id) else {
            return Err(TargetError::Failed(format!("no region {}", id.0)));
        };
        let command = Command {
            op: CmdOp::DeregMr.code(),
            key,
            pd,
            ..Command::default()
        };
        let done = self.unit.command(&command, None);
        self.unit.forget_before(u64::MAX);
        Ok(done.status)
    }

    fn refused_command(&mut self, command: &Command) -> Result<Completion, TargetError> {
        Ok(self.unit.command(command, None))
    }

    fn access(&mut self, batch: &[Access1]) -> Result<Vec<Answer>, TargetError> {
        let mut out = Vec::with_capacity(batch.len());
        for a in batch {
            let mut answer = Answer {
                syndrome: Syndrome::Ok,
                segments: Vec::new(),
            };
            let verdict = self.unit.judge(&a.request);
            for beat in verdict.beats(&a.request) {
                if beat.syndrome != Syndrome::Ok {
                    answer.syndrome = beat.syndrome;
                } else if beat.len > 0 {
                    answer.segments.push((beat.pa, beat.len));
                }
            }
            out.push(answer);
        }
        Ok(out)
    }

    fn counters(&mut self) -> Option<Counters> {
        None
    }
}
