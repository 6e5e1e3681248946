// SPDX-License-Identifier: Apache-2.0
//! Registrations in time.

use std::sync::Arc;

use super::Region;

/// When something (a region, the unit itself) can have been alive: four clocks, see the
/// [module](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life {
    /// Not alive before.
    pub born_from: u64,
    /// Alive from here on; `None`: not yet.
    pub born_by: Option<u64>,
    /// Alive until here; `None`: nobody wants its end.
    pub dying_from: Option<u64>,
    /// Not alive after; `None`: not ended.
    pub dead_by: Option<u64>,
    /// A time in which it may have been dead for a while: a command began to end it and failed.
    pub doubt: Option<(u64, u64)>,
}

impl Life {
    /// A life that begins at `clock`, at the earliest.
    pub const fn from(clock: u64) -> Life {
        Life {
            born_from: clock,
            born_by: None,
            dying_from: None,
            dead_by: None,
            doubt: None,
        }
    }

    /// Can it have been alive at some moment of the window?
    pub fn may_live(&self, from: u64, to: u64) -> bool {
        self.born_from <= to && self.dead_by.map_or(true, |dead| from <= dead)
    }

    /// Was it alive for sure, all through the window?
    pub fn lives(&self, from: u64, to: u64) -> bool {
        self.born_by.is_some_and(|born| born <= from)
            && self.dying_from.map_or(true, |dying| to <= dying)
            && !self
                .doubt
                .is_some_and(|(start, end)| start <= to && from <= end)
    }

    pub(super) fn add_doubt(&mut self, from: u64, to: u64) {
        let (start, end) = self.doubt.unwrap_or((from, to));
        self.doubt = Some((start.min(from), end.max(to)));
    }
}

/// One registration of an index, and when it was.
#[derive(Clone, Debug)]
pub struct Incarnation {
    /// The region.
    pub region: Arc<Region>,
    /// Its time.
    pub life: Life,
}
