// SPDX-License-Identifier: Apache-2.0
//! What commands change: how it begins, takes effect, and is taken back.

use std::sync::Arc;

use super::{Golden, Incarnation, IndexCounts, Life, Parent, Region, Slot};
use crate::types::State;

/// What a command changes, if it succeeds.
#[derive(Clone, Debug)]
pub(super) struct Change {
    /// The entry.
    pub index: u32,
    /// The index is a free one, and is taken.
    pub takes: bool,
    /// What is there ends: its keys die, and the rest happens when the fence is over.
    pub fence: bool,
    /// State and content of the entry afterwards; `None`: free.
    pub then: Option<(State, Arc<Region>)>,
    /// A window more is bound to this region, at once.
    pub binds: Option<Parent>,
    /// A window less is bound to this region, when the fence is over.
    pub frees: Option<Parent>,
    /// The generation counts one up, at once; what is there lives on.
    pub renews: bool,
    /// The slot of a page fault that is answered. Nothing else changes.
    pub answers: Option<usize>,
}

/// A slot as it was before a change.
#[derive(Clone, Debug)]
pub(super) struct Before {
    state: State,
    count: IndexCounts,
    dormant: Option<Arc<Region>>,
    /// The index had never been handed out: which was the first of those.
    fresh: Option<u32>,
}

impl Before {
    const NOTHING: Before = Before {
        state: State::Free,
        count: IndexCounts { gen: 0, ranges: 0 },
        dormant: None,
        fresh: None,
    };
}

impl Change {
    /// A free index becomes this.
    pub fn birth(state: State, region: Region) -> Change {
        Change {
            takes: true,
            ..Change::turn(state, region)
        }
    }

    /// An entry whose keys are not alive becomes this.
    pub fn turn(state: State, region: Region) -> Change {
        Change {
            index: region.index,
            takes: false,
            fence: false,
            then: Some((state, Arc::new(region))),
            binds: None,
            frees: None,
            renews: false,
            answers: None,
        }
    }

    /// What is in an entry ends.
    pub fn end(index: u32, then: Option<(State, Arc<Region>)>) -> Change {
        Change {
            index,
            takes: false,
            fence: true,
            then,
            binds: None,
            frees: None,
            renews: false,
            answers: None,
        }
    }

    /// Old table entries of a region end: it gets the next generation.
    pub fn renew(index: u32) -> Change {
        Change {
            fence: false,
            renews: true,
            ..Change::end(index, None)
        }
    }

    /// A page fault is answered.
    pub fn answer(slot: usize) -> Change {
        Change {
            fence: false,
            answers: Some(slot),
            ..Change::end(0, None)
        }
    }

    /// The command waits for a fence.
    pub fn waits(&self) -> bool {
        self.fence || self.renews
    }

    /// The index of what the command ends.
    pub fn ends(&self) -> Option<u32> {
        self.fence.then_some(self.index)
    }

    /// The registration or binding that the command makes.
    pub fn newborn(&self) -> Option<&Arc<Region>> {
        match &self.then {
            Some((State::Valid, region)) => Some(region),
            _ => None,
        }
    }
}

impl Slot {
    /// The region that is there has been through this from here on.
    pub(super) fn renew(&mut self, count: IndexCounts) {
        self.count = count;
        if let Some(current) = self.incarnations.back_mut() {
            let region = Arc::make_mut(&mut current.region);
            (region.gen, region.ranges) = (count.gen, count.ranges);
        }
    }

    fn put(&mut self, state: State, region: &Arc<Region>) {
        self.state = state;
        self.dormant = (state == State::Alloc).then(|| region.clone());
    }
}

impl Golden {
    /// A command begins to take effect. Returns what [`Golden::take_back`] needs.
    pub(super) fn start(&mut self, change: &Change, now: u64) -> Before {
        if let Some(slot) = change.answers {
            self.faults[slot].answered += 1;
            return Before::NOTHING;
        }
        let fresh = (change.takes && change.index >= self.fresh).then_some(self.fresh);
        if change.takes {
            if fresh.is_some() {
                self.fresh = change.index + 1;
            } else {
                self.free.pop_front();
            }
            let places = self.slots.len().max(change.index as usize + 1);
            self.slots.resize(places, Slot::EMPTY);
        }
        let slot = &mut self.slots[change.index as usize];
        let before = Before {
            state: slot.state,
            count: slot.count,
            dormant: slot.dormant.clone(),
            fresh,
        };
        if change.fence {
            if let (State::Valid, Some(current)) = (slot.state, slot.incarnations.back_mut()) {
                current.life.dying_from = Some(now);
            }
            slot.state = State::Invalid;
        }
        if change.renews {
            slot.renew(slot.count.renewed());
        }
        if let Some((state, region)) = &change.then {
            slot.count = region.count();
            if *state == State::Valid {
                slot.incarnations.push_back(Incarnation {
                    region: region.clone(),
                    life: Life::from(now),
                });
            }
            if !change.fence {
                slot.put(*state, region);
            }
        }
        if let Some(parent) = change.binds {
            self.count_window(parent, 1);
        }
        before
    }

    /// A command that was started is not to take effect after all. Later ones must have been taken
    /// back before.
    pub(super) fn take_back(&mut self, change: &Change, before: Before) {
        if let Some(slot) = change.answers {
            self.faults[slot].answered -= 1;
            return;
        }
        if let Some(parent) = change.binds {
            self.count_window(parent, -1);
        }
        let slot = &mut self.slots[change.index as usize];
        if change.newborn().is_some() {
            slot.incarnations.pop_back();
        }
        if change.takes {
            (slot.state, slot.count, slot.dormant) = (State::Free, before.count, None);
            match before.fresh {
                Some(first) => self.fresh = first,
                None => self.free.push_front(change.index),
            }
            return;
        }
        if change.renews {
            slot.renew(before.count);
            return;
        }
        slot.count = before.count;
        // Whatever has ended everything meanwhile stays.
        if slot.state == State::Free || slot.retired {
            return;
        }
        if let (true, State::Valid, Some(current)) =
            (change.fence, before.state, slot.incarnations.back_mut())
        {
            current.life.dying_from = None;
        }
        (slot.state, slot.dormant) = (before.state, before.dormant);
    }

    /// A command has taken effect.
    pub(super) fn finish(&mut self, change: &Change, now: u64) {
        if change.fence {
            self.bury(change.index, now);
            let slot = &mut self.slots[change.index as usize];
            if slot.state != State::Free {
                match &change.then {
                    Some((state, region)) => slot.put(*state, region),
                    None => {
                        (slot.state, slot.dormant) = (State::Free, None);
                        self.free.push_back(change.index);
                    }
                }
            }
            if let Some(parent) = change.frees {
                self.count_window(parent, -1);
            }
        }
        if let Some(region) = change.newborn() {
            let incarnations = self.slots[change.index as usize].incarnations.iter_mut();
            if let Some(newborn) = incarnations
                .rev()
                .find(|i| i.region.first_gen == region.first_gen)
            {
                newborn.life.born_by.get_or_insert(now);
            }
        }
    }

    /// The incarnation that is dying is dead: requests accepted later cannot meet it.
    pub(super) fn bury(&mut self, index: u32, now: u64) {
        let incarnations = self.slots[index as usize].incarnations.iter_mut();
        let mut dying =
            incarnations.filter(|i| i.life.dying_from.is_some() && i.life.dead_by.is_none());
        if let Some(dying) = dying.next() {
            dying.life.dead_by = Some(now);
            self.graves.push_back(index);
        }
    }

    /// What a command wanted to make may have been in the table for a while, until its failed write
    /// was undone.
    pub(super) fn haunt(&mut self, region: Arc<Region>, since: u64, now: u64) {
        let index = region.index;
        let slot = &mut self.slots[index as usize];
        let life = Life {
            dying_from: Some(since),
            dead_by: Some(now),
            ..Life::from(since)
        };
        // The last incarnation of a valid entry is the one that is alive.
        let place = match slot.state {
            State::Valid => slot.incarnations.len().saturating_sub(1),
            _ => slot.incarnations.len(),
        };
        slot.incarnations
            .insert(place, Incarnation { region, life });
        self.graves.push_back(index);
    }

    /// One window more or less is bound to a region.
    fn count_window(&mut self, parent: Parent, by: i32) {
        let Some(slot) = self.slots.get_mut(parent.index as usize) else {
            return;
        };
        let mut incarnations = slot.incarnations.iter_mut().rev();
        if let Some(known) = incarnations.find(|i| i.region.gen == parent.gen) {
            let region = Arc::make_mut(&mut known.region);
            region.bound = region.bound.saturating_add_signed(by);
        }
    }
}
