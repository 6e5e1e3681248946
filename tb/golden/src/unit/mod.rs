// SPDX-License-Identifier: Apache-2.0
//! The golden unit: registration and protection, as they must behave.
//!
//! [`Golden`] answers three questions:
//!
//! * **What does a command do?** [`Golden::command`] gives the completion, with the status and the
//!   keys that the hardware must give. A bench that watches hardware at work splits this into
//!   [`Golden::begin`] (the command was accepted) and [`Golden::complete`] (its completion came).
//! * **May a request pass?** [`Golden::check`] applies the rules, in the order of their numbers,
//!   to one region; [`Golden::judge`] finds the region by the key first.
//! * **Where does it go?** [`Golden::beats`] cuts an accepted request into physical segments.
//!
//! Regions come with their true pages (a [`Translation`]); tables in memory are never read.
//!
//! # Races
//!
//! A request may overlap a command that gives birth to a region or ends it. Each registration of
//! an index is an *incarnation* with a [`Life`] of four clocks:
//!
//! ```text
//!   born_from       born_by                     dying_from       dead_by
//!   REG accepted    REG completion              DEREG accepted   DEREG completion
//!  ─────┼───────────────┼──────────────────────────┼────────────────┼─────▶ clock
//!  dead │   may live    │          lives           │    may live    │ dead
//! ```
//!
//! A request that was inside the unit during a window of clocks may be judged as of any moment of
//! that window: [`Golden::allowed`] lists the right outcomes. Outside of races it is exactly one.
//!
//! Fast registrations and bindings of windows are incarnations too, from FAST_REG_MR or BIND_MW to
//! INVALIDATE and the like. In between the entry is in state ALLOC, and nothing of it is alive.

mod arguments;
mod change;
mod commands;
mod evaluate;
mod life;
mod recover;
mod region;
mod rules;
mod segments;

use std::collections::VecDeque;
use std::sync::Arc;

use crate::codec::{MptEntry, MptError, MPT_BYTES};
use crate::frames::Translation;
use crate::keys::KeyMaker;
use crate::types::*;

use commands::InFlight;
pub use commands::{CompletionError, Outcome};
pub use life::{Incarnation, Life};
use region::meaning;
pub use region::{page_count, table_capacity, IndexCounts, Parent, Region};
pub use region::{INLINE_PAGES, LOG_PHYS_PAGE, MAX_CAP, MAX_FLAT_PAGES, MAX_PAGES};
pub use rules::{Conditions, Verdict, MAX_REQUEST};
pub use segments::{Beats, HostWindows};

/// The address space: one past the last byte.
const ADDRESS_SPACE: u128 = 1 << 64;

/// Why an entry in memory is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// It is corrupted.
    #[error("entry {index}: {source}")]
    Corrupt {
        /// Index of the entry.
        index: u32,
        /// What is wrong.
        source: MptError,
    },
    /// It is not the entry of the region.
    #[error("entry {index}: expected {expected:?}, found {found:?}")]
    Differs {
        /// Index of the entry.
        index: u32,
        /// As it should be.
        expected: Box<MptEntry>,
        /// As it is.
        found: Box<MptEntry>,
    },
}

/// One place of the table of regions.
#[derive(Clone, Debug)]
struct Slot {
    state: State,
    count: IndexCounts,
    /// A bus error has made the slot unusable.
    retired: bool,
    /// Registrations and bindings that requests in flight may still meet, oldest first. The last
    /// one is the current one if the slot is valid.
    incarnations: VecDeque<Incarnation>,
    /// What the slot holds without being valid: a region that is not registered, a window that is
    /// not bound.
    dormant: Option<Arc<Region>>,
}

impl Slot {
    const EMPTY: Slot = Slot {
        state: State::Free,
        count: IndexCounts { gen: 0, ranges: 0 },
        retired: false,
        incarnations: VecDeque::new(),
        dormant: None,
    };

    /// What holds the slot.
    fn held(&self) -> Option<&Arc<Region>> {
        let last = self.incarnations.back();
        match self.state {
            State::Free => None,
            State::Alloc => self.dormant.as_ref(),
            State::Valid => last.map(|i| &i.region),
            State::Invalid => self.dormant.as_ref().or(last.map(|i| &i.region)),
        }
    }
}

/// A slot for page faults: it waits for an answer while more was told than answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct FaultSlot {
    told: u64,
    answered: u64,
}

/// A page fault that should not have been told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultError {
    /// There is no such slot.
    #[error("a page fault in slot {slot} of {slots}")]
    NoSlot {
        /// The slot.
        slot: usize,
        /// Slots of the unit.
        slots: usize,
    },
    /// The fault that was told before has no answer yet.
    #[error("a second page fault in slot {slot}, which waits for an answer")]
    Waiting {
        /// The slot.
        slot: usize,
    },
}

/// The golden model of the unit. See the [module](self).
#[derive(Clone, Debug)]
pub struct Golden {
    keys: KeyMaker,
    table_size: u32,
    max_levels: u8,
    /// Physical regions may be registered.
    phys: bool,
    /// Where translated addresses may lie.
    windows: HostWindows,
    /// Table entries may be CHECKED.
    checked: bool,
    /// Slots for page faults.
    faults: Vec<FaultSlot>,
    /// When the unit serves; `None`: it was never enabled since reset.
    power: Option<Life>,
    era: u32,
    /// Slots that were ever used; index 0 is never handed out.
    slots: Vec<Slot>,
    /// The lowest index that was never handed out.
    fresh: u32,
    /// Indices that came back, in the order in which they will be used again.
    free: VecDeque<u32>,
    in_flight: VecDeque<InFlight>,
    /// Indices with dead incarnations, in the order of their deaths.
    graves: VecDeque<u32>,
    /// The latest clock that was mentioned.
    clock: u64,
}

impl Golden {
    /// A unit after reset: disabled, with a table of `table_size` entries (1 to 2^23; index 0 is
    /// not used), walking up to `max_levels` levels.
    pub fn new(keys: KeyMaker, table_size: u32, max_levels: u8) -> Golden {
        Golden {
            keys,
            table_size,
            max_levels,
            phys: false,
            windows: HostWindows::default(),
            checked: false,
            faults: Vec::new(),
            power: None,
            era: 0,
            slots: Vec::new(),
            fresh: 1,
            free: VecDeque::new(),
            in_flight: VecDeque::new(),
            graves: VecDeque::new(),
            clock: 0,
        }
    }

    /// A unit that serves from clock 0 on.
    pub fn enabled(keys: KeyMaker, table_size: u32, max_levels: u8) -> Golden {
        let mut golden = Golden::new(keys, table_size, max_levels);
        golden.enable(0);
        golden.ready(0);
        golden
    }

    /// The maker of keys.
    pub fn keys(&self) -> &KeyMaker {
        &self.keys
    }

    /// Replaces the secrets and the table size, as is allowed while the unit is disabled.
    pub fn configure(&mut self, keys: KeyMaker, table_size: u32) {
        self.keys = keys;
        self.table_size = table_size;
    }

    /// Allows physical regions, or forbids new ones ([`crate::regs::ctrl::PHYS`]).
    pub fn allow_phys(&mut self, on: bool) {
        self.phys = on;
    }

    /// Puts host windows in force, as is allowed while the unit is disabled.
    pub fn set_host_windows(&mut self, windows: HostWindows) {
        self.windows = windows;
    }

    /// The host windows in force.
    pub fn host_windows(&self) -> &HostWindows {
        &self.windows
    }

    /// What the unit is built with: the encoding CHECKED, and this many slots for page faults (0: no
    /// on-demand regions). A new unit has neither.
    pub fn build_with(&mut self, checked: bool, fault_slots: usize) {
        self.checked = checked;
        self.faults = vec![FaultSlot::default(); fault_slots];
    }

    /// Slots for page faults.
    pub fn fault_slots(&self) -> usize {
        self.faults.len()
    }

    /// The host has read a page fault in this slot.
    pub fn fault_told(&mut self, slot: usize) -> Result<(), FaultError> {
        let slots = self.faults.len();
        let waiting = self.is_told(slot);
        match self.faults.get_mut(slot) {
            None => Err(FaultError::NoSlot { slot, slots }),
            Some(_) if waiting => Err(FaultError::Waiting { slot }),
            Some(known) => {
                known.told += 1;
                Ok(())
            }
        }
    }

    /// Does a page fault of this slot wait for an answer?
    pub fn is_told(&self, slot: usize) -> bool {
        self.faults
            .get(slot)
            .is_some_and(|slot| slot.told > slot.answered)
    }

    /// Page faults that wait for an answer.
    pub fn faults_waiting(&self) -> usize {
        (0..self.faults.len())
            .filter(|slot| self.is_told(*slot))
            .count()
    }

    /// Entries in the table.
    pub fn table_size(&self) -> u32 {
        self.table_size
    }

    // ---------------------------------------------------------------------------------------------
    // Enable and reset
    // ---------------------------------------------------------------------------------------------

    /// Reset: everything is forgotten, the unit is disabled.
    pub fn reset(&mut self) {
        *self = Golden {
            era: self.era + 1,
            clock: self.clock,
            checked: self.checked,
            faults: vec![FaultSlot::default(); self.faults.len()],
            ..Golden::new(self.keys.clone(), self.table_size, self.max_levels)
        };
    }

    /// The host sets the enable bit: the table will be cleared. Every generation starts again.
    pub fn enable(&mut self, now: u64) {
        self.clock = self.clock.max(now);
        self.end_all(now, now);
        self.power = Some(Life::from(now));
        self.era += 1;
        // All page faults are forgotten.
        self.faults.fill(FaultSlot::default());
        self.fresh = 1;
        self.free.clear();
        for slot in &mut self.slots {
            (slot.state, slot.count, slot.retired) = (State::Free, IndexCounts::default(), false);
        }
    }

    /// The host has seen the status bit "ready".
    pub fn ready(&mut self, now: u64) {
        self.clock = self.clock.max(now);
        if let Some(power) = &mut self.power {
            power.born_by.get_or_insert(now);
        }
    }

    /// The host begins to clear the enable bit: from here on requests may be refused.
    pub fn disabling(&mut self, now: u64) {
        self.clock = self.clock.max(now);
        if let Some(power) = &mut self.power {
            power.dying_from.get_or_insert(now);
        }
    }

    /// The enable bit is cleared: later requests are refused, and all keys are dead.
    pub fn disabled(&mut self, now: u64) {
        self.disabling(now);
        let mut from = now;
        if let Some(power) = &mut self.power {
            power.dead_by.get_or_insert(now);
            from = power.dying_from.unwrap_or(now);
        }
        self.end_all(from, now);
    }

    /// Does the unit serve, as far as the host knows?
    pub fn is_ready(&self) -> bool {
        self.power
            .is_some_and(|power| power.born_by.is_some() && power.dying_from.is_none())
    }

    fn end_all(&mut self, from: u64, by: u64) {
        for (index, slot) in self.slots.iter_mut().enumerate() {
            if slot.state != State::Free {
                (slot.state, slot.dormant) = (State::Free, None);
                if let Some(last) = slot.incarnations.back_mut() {
                    last.life.dying_from.get_or_insert(from);
                    if last.life.dead_by.is_none() {
                        last.life.dead_by = Some(by);
                        self.graves.push_back(index as u32);
                    }
                }
            }
        }
    }

    // ---------------------------------------------------------------------------------------------
    // The table of regions
    // ---------------------------------------------------------------------------------------------

    /// The valid region or window of an index.
    pub fn current(&self, index: u32) -> Option<&Arc<Region>> {
        match self.held(index) {
            Some((State::Valid, region)) => Some(region),
            _ => None,
        }
    }

    /// What holds an index, valid or not, and the state of its entry.
    pub fn held(&self, index: u32) -> Option<(State, &Arc<Region>)> {
        let slot = self.slots.get(index as usize)?;
        slot.held().map(|region| (slot.state, region))
    }

    /// All valid regions and windows, in the order of their indices.
    pub fn regions(&self) -> impl Iterator<Item = &Arc<Region>> {
        (0..self.slots.len() as u32).filter_map(|index| self.current(index))
    }

    /// The registrations of an index that are remembered, oldest first.
    pub fn incarnations(&self, index: u32) -> impl Iterator<Item = &Incarnation> {
        self.slots
            .get(index as usize)
            .into_iter()
            .flat_map(|slot| &slot.incarnations)
    }

    /// State and generation of an index.
    pub fn slot(&self, index: u32) -> (State, u8) {
        self.slots
            .get(index as usize)
            .map_or((State::Free, 0), |slot| (slot.state, slot.count.gen))
    }

    /// What an index has been through.
    pub fn count(&self, index: u32) -> IndexCounts {
        let slot = self.slots.get(index as usize);
        slot.map_or(IndexCounts::default(), |slot| slot.count)
    }

    /// A bus error has made the index unusable, see [`Golden::retire`].
    pub fn is_retired(&self, index: u32) -> bool {
        self.slots
            .get(index as usize)
            .is_some_and(|slot| slot.retired)
    }

    /// Replaces the pages of the current region of an index: for tests that change the table
    /// behind the back of the driver. Does nothing if there is none.
    pub fn set_pages(&mut self, index: u32, pages: Translation) {
        let slot = self
            .slots
            .get_mut(index as usize)
            .filter(|slot| matches!(slot.state, State::Valid | State::Invalid));
        if let Some(current) = slot.and_then(|slot| slot.incarnations.back_mut()) {
            current.region = Arc::new(Region {
                pages,
                ..Region::clone(&current.region)
            });
        }
    }

    /// Compares an entry in memory with what it must be, when no command on it is in flight.
    ///
    /// Only what means something is compared: of a free entry state and counts (the unit may keep
    /// its list of free entries in the rest), of a window nothing of a table, and so on. A retired
    /// entry is whatever the memory has kept.
    pub fn check_entry(&self, index: u32, bytes: &[u8; MPT_BYTES]) -> Result<(), EntryError> {
        if self.is_retired(index) {
            return Ok(());
        }
        let found = MptEntry::decode(bytes, index)
            .map_err(|source| EntryError::Corrupt { index, source })?;
        let expected = match self.held(index) {
            Some((state, region)) => region.entry(state),
            None => MptEntry {
                index,
                gen: self.count(index).gen,
                qpn: self.count(index).ranges.into(),
                ..MptEntry::default()
            },
        };
        let (expected, compared) = (meaning(expected), meaning(found));
        if compared == expected {
            Ok(())
        } else {
            Err(EntryError::Differs {
                index,
                expected: Box::new(expected),
                found: Box::new(found),
            })
        }
    }

    /// Forgets what ended before `oldest`, the clock at which the oldest request in flight was
    /// accepted. Keeps memory bounded in long runs.
    pub fn forget_before(&mut self, oldest: u64) {
        while let Some(&index) = self.graves.front() {
            let incarnations = &mut self.slots[index as usize].incarnations;
            match incarnations
                .front()
                .and_then(|incarnation| incarnation.life.dead_by)
            {
                Some(dead) if dead >= oldest => return,
                Some(_) => {
                    incarnations.pop_front();
                }
                None => {}
            }
            self.graves.pop_front();
        }
    }
}
