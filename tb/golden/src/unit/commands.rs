// SPDX-License-Identifier: Apache-2.0
//! Commands in time: acceptance, completion, and what becomes of those in between.
//!
//! What a command answers is in `evaluate`, what it changes in `change`.

use super::change::{Before, Change};
use super::evaluate::Effect;
use super::region::meaning;
use super::{Golden, Slot};
use crate::codec::MptEntry;
use crate::frames::Translation;
use crate::types::*;

/// A command that was accepted and has no final completion yet.
#[derive(Clone, Debug)]
pub(super) struct InFlight {
    command: Command,
    pages: Option<Translation>,
    /// Clock of acceptance.
    since: u64,
    /// Number of the enabling under which it was accepted.
    era: u32,
    expected: Completion,
    /// Refusals that are right too: it may have been executed while commands before it stood in its
    /// way that have finished since.
    or_refused: Vec<Completion>,
    /// What it has begun to change, and what was there.
    started: Option<(Change, Before)>,
    /// What it may have begun to change instead, if it was executed only after commands before it
    /// had finished, or after one before it was refused.
    supposed: Vec<Change>,
    /// It was reported PENDING.
    pending: bool,
    /// It was accepted while the enable bit was being cleared.
    ending: bool,
}

impl InFlight {
    /// It waits for a fence.
    fn waits(&self) -> bool {
        let change = self.started.as_ref().map(|(change, _)| change);
        change.is_some_and(Change::waits)
    }

    /// The index of what the command ends.
    fn ends(&self) -> Option<u32> {
        self.started.as_ref().and_then(|(change, _)| change.ends())
    }
}

/// What a completion means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The command is finished, as predicted.
    Finished,
    /// The fence ran out of time; a second completion will come.
    Pending,
    /// The command failed for a reason that the regions do not tell (`Bus`, `MptBad`, `Busy`).
    /// Whoever injected the error must judge. The model goes on as if nothing was changed, which is
    /// what the unit does if it can; where a bus error has left a region dead or an index unusable,
    /// tell the model with [`Golden::retire`].
    Refused(Status),
}

/// A completion that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompletionError {
    /// No command waits for it.
    #[error("completion of command {id}, which is not in flight")]
    Unknown {
        /// The id of the completion.
        id: u16,
    },
    /// Its content is wrong.
    #[error("command {}: expected {expected}, got {actual}", actual.id)]
    Wrong {
        /// As it should be.
        expected: Box<Completion>,
        /// As it is.
        actual: Box<Completion>,
    },
}

impl Golden {
    /// Runs a command from acceptance to final completion. `pages` are the true pages of the
    /// region, for commands that bring a table; without them, level 0 takes the addresses in the
    /// command and every other region has no page.
    pub fn command(&mut self, command: &Command, pages: Option<Translation>) -> Completion {
        let now = self.clock + 1;
        let expected = self.begin(command, pages, now);
        // The newest command with this id, should the caller have several.
        if let Some(newest) = self.in_flight.pop_back() {
            self.clock = now;
            self.settle(newest, now);
            self.look_again();
        }
        expected
    }

    /// The unit has accepted a command at clock `now`. Returns the completion that will come if
    /// nothing outside the regions (a bus error, a full fence queue) prevents it.
    pub fn begin(&mut self, command: &Command, pages: Option<Translation>, now: u64) -> Completion {
        self.clock = self.clock.max(now);
        // What the unit gets is what fits into the channel.
        let command = Command::unpack(&command.pack());
        let (expected, change) = self.predict(&command, pages.as_ref());
        let started = change.map(|change| {
            let before = self.start(&change, now);
            (change, before)
        });
        let (era, pending) = (self.era, false);
        let ending = self
            .power
            .is_some_and(|power| power.dying_from.is_some() && power.dead_by.is_none());
        self.in_flight.push_back(InFlight {
            command,
            pages,
            since: now,
            era,
            expected,
            or_refused: Vec::new(),
            started,
            supposed: Vec::new(),
            pending,
            ending,
        });
        self.look_aside();
        expected
    }

    /// A completion has come at clock `now`: judges it, and applies what it reports.
    ///
    /// A command is judged as of its acceptance or, where commands before it have changed the
    /// table since, as of now. One that was accepted while the enable bit was being cleared may have
    /// been executed or not.
    pub fn complete(&mut self, actual: &Completion, now: u64) -> Result<Outcome, CompletionError> {
        self.clock = self.clock.max(now);
        let place = self
            .in_flight
            .iter()
            .position(|flight| (flight.command.id, flight.expected.op) == (actual.id, actual.op))
            .ok_or(CompletionError::Unknown { id: actual.id })?;

        let flight = &self.in_flight[place];
        if self.agrees(&flight.expected, actual) {
            if let Some(flight) = self.in_flight.remove(place) {
                self.settle(flight, now);
                self.look_again();
            }
            return Ok(Outcome::Finished);
        }
        if flight.or_refused.contains(actual) {
            self.rewind(place);
            self.in_flight.remove(place);
            self.replay(place, true);
            self.look_aside();
            return Ok(Outcome::Finished);
        }
        if flight.ending {
            // Refused, or as while enabled, on a table of which nothing is left.
            if actual.status == Status::Pending {
                return Ok(Outcome::Pending);
            }
            self.in_flight.remove(place);
            return Ok(Outcome::Finished);
        }
        let plain = Completion::plain(actual.id, actual.op, actual.status) == *actual;
        let from_outside = matches!(
            actual.status,
            Status::Pending | Status::Busy | Status::Bus | Status::MptBad
        );
        let late = plain && from_outside && flight.started.is_none() && !flight.supposed.is_empty();
        if late {
            // It may have been executed only after commands before it had finished.
            self.rewind(place);
            self.replay(place, true);
        }
        let flight = &self.in_flight[place];
        let ends = flight.ends();
        let waits = flight.waits();
        let first = !flight.pending;
        match actual.status {
            Status::Pending if plain && first && waits => {
                let known = flight.era == self.era;
                self.in_flight[place].pending = true;
                if known {
                    ends.into_iter().for_each(|index| self.bury(index, now));
                }
                return Ok(Outcome::Pending);
            }
            Status::Bus | Status::MptBad if plain => {}
            Status::Busy if plain && first && waits => {}
            _ => return self.reconsider(place, actual, now),
        }
        let doubtful = late || !self.in_flight[place].or_refused.is_empty();
        self.refuse(place, actual.status, now, doubtful);
        Ok(Outcome::Refused(actual.status))
    }

    /// A command was refused from outside: takes it back, and lets later ones have what it took.
    /// `doubtful`: it is not certain that it had begun; refusals of later ones stay right.
    fn refuse(&mut self, place: usize, status: Status, now: u64, doubtful: bool) {
        if self.in_flight[place].started.is_none() {
            // It had nothing that others could have missed.
            self.in_flight.remove(place);
            return;
        }
        let (ends, ghost) = {
            let flight = &self.in_flight[place];
            let change = flight.started.as_ref().map(|(change, _)| change);
            // What was to be made of an entry in use may have been in the table until the failed
            // write was undone; of a new one nobody knows the keys.
            let ghost = change
                .filter(|change| !change.takes && !flight.pending && status != Status::Busy)
                .and_then(Change::newborn);
            (flight.ends(), ghost.map(|r| (r.clone(), flight.since)))
        };
        self.rewind(place);
        if let Some((region, since)) = ghost {
            self.haunt(region, since, now);
        }
        if let Some(refused) = self.in_flight.remove(place) {
            if let Some(index) = ends.filter(|_| refused.era == self.era) {
                let slot = &mut self.slots[index as usize];
                let valid = slot.state == State::Valid;
                if refused.pending {
                    self.retire(index, now);
                } else if let (true, Some(current)) = (valid, slot.incarnations.back_mut()) {
                    if status != Status::Busy {
                        current.life.add_doubt(refused.since, now);
                    }
                }
            }
        }
        self.replay(place, doubtful);
        self.look_aside();
    }

    /// A bus error has made an index unusable: its region, if there is one, is dead, and the index
    /// is not handed out again until the unit is enabled the next time.
    ///
    /// This is so after the completion of a command with status `Bus` (or `MptBad`, for the second
    /// half of a REREG_MR):
    ///
    /// * commands that end a registration or binding: if the entry in memory is not what it was;
    /// * REG_MR and the others that take an index: if the unit could not undo its write either. The index is the one that was to be
    ///   registered, that is, [`Golden::next_index`].
    pub fn retire(&mut self, index: u32, now: u64) {
        self.clock = self.clock.max(now);
        if index >= self.fresh {
            self.fresh = index + 1;
        }
        self.free.retain(|free| *free != index);
        let places = self.slots.len().max(index as usize + 1);
        self.slots.resize(places, Slot::EMPTY);
        let slot = &mut self.slots[index as usize];
        slot.retired = true;
        (slot.state, slot.dormant) = (State::Invalid, None);
        for incarnation in &mut slot.incarnations {
            let life = &mut incarnation.life;
            if life.dead_by.is_none() {
                let doubt = life.doubt.map_or(now, |(start, _)| start);
                life.dying_from.get_or_insert(doubt);
                life.dead_by = Some(now);
                self.graves.push_back(index);
            }
        }
    }

    /// Commands without their final completion.
    pub fn commands_in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Judges a completion that is not as predicted by the table as it is now.
    fn reconsider(
        &mut self,
        place: usize,
        actual: &Completion,
        now: u64,
    ) -> Result<Outcome, CompletionError> {
        let expected = self.in_flight[place].expected;
        for first in (0..=place).rev() {
            let flight = &self.in_flight[first];
            // Or one before it, refused when it was accepted, has been executed late.
            let late = flight.started.is_none()
                && !flight.pending
                && flight.expected.status != Status::Ok
                && !flight.supposed.is_empty();
            if first != place && !late {
                continue;
            }
            self.rewind(first);
            self.replay(first, true);
            let flight = &self.in_flight[place];
            if self.agrees(&flight.expected, actual) || flight.or_refused.contains(actual) {
                return self.complete(actual, now);
            }
        }
        Err(CompletionError::Wrong {
            expected: Box::new(expected),
            actual: Box::new(*actual),
        })
    }

    /// Is it the completion that is expected? Of an entry only what means something is compared,
    /// and windows that come or go meanwhile may be counted or not.
    fn agrees(&self, expected: &Completion, actual: &Completion) -> bool {
        if expected == actual {
            return true;
        }
        let same_head = Completion {
            entry: expected.entry,
            ..*actual
        } == *expected;
        let query = expected.op == CmdOp::Query.code() && expected.status == Status::Ok;
        let asked = self.in_flight.iter().find_map(|flight| {
            let asks = flight.command.id == actual.id && flight.expected.op == actual.op;
            asks.then(|| self.keys.decode(flight.command.key).1)
        });
        let Some(index) = asked else {
            return false;
        };
        let Ok(found) = MptEntry::decode(&actual.entry, index) else {
            return false;
        };
        let wanted = meaning(MptEntry::parse(&expected.entry, index));
        let mut found = meaning(found);
        if same_head && query && found.bound != wanted.bound {
            // Only the count of a region's windows can change under a query.
            let is_of = |flight: &&InFlight| {
                let change = flight.started.as_ref().map(|(change, _)| change);
                let parent = change.filter(|c| c.fence).and_then(|c| c.binds);
                parent.is_some_and(|parent| parent.index == index)
            };
            let coming = self.in_flight.iter().filter(is_of).count() as u32;
            let region = self.current(index);
            if let Some(region) = region.filter(|region| !region.kind.is_window()) {
                let least = wanted.bound.min(region.bound).saturating_sub(coming);
                let most = wanted.bound.max(region.bound);
                if (least..=most).contains(&found.bound) {
                    found.bound = wanted.bound;
                }
            }
        }
        same_head && query && wanted == found
    }

    /// Takes back what the commands from `place` on have started, the newest first. Those that
    /// were reported pending are beyond recall.
    fn rewind(&mut self, place: usize) {
        for n in (place..self.in_flight.len()).rev() {
            let era = self.era;
            let flight = &mut self.in_flight[n];
            if flight.pending || flight.era != era {
                continue;
            }
            if let Some((change, before)) = flight.started.take() {
                self.take_back(&change, before);
            }
        }
    }

    /// Predicts and starts the commands from `place` on again, after [`Golden::rewind`]. With `both`
    /// a refusal that was predicted before stays right.
    fn replay(&mut self, place: usize, both: bool) {
        for n in place..self.in_flight.len() {
            let flight = &self.in_flight[n];
            if flight.pending || flight.era != self.era {
                continue;
            }
            let since = flight.since;
            let (expected, change) = self.predict(&flight.command, flight.pages.as_ref());
            let started = change.map(|change| {
                let before = self.start(&change, since);
                (change, before)
            });
            let flight = &mut self.in_flight[n];
            let before = std::mem::replace(&mut flight.expected, expected);
            flight.started = started;
            let known = before == expected || flight.or_refused.contains(&before);
            if both && before.status != Status::Ok && !known {
                flight.or_refused.push(before);
            }
        }
    }

    /// A command has finished: those behind it may have been executed only after it, and then do
    /// something else than was predicted. Finds out what, for the requests that meet it.
    fn look_again(&mut self) {
        let refused = |flight: &InFlight| {
            flight.started.is_none() && !flight.pending && flight.expected.status != Status::Ok
        };
        if let Some(first) = self.in_flight.iter().position(refused) {
            self.suppose(first, |_, _| false);
        }
        self.look_aside();
    }

    /// Commands that may have been refused after all leave to those behind them what they would have
    /// taken.
    fn look_aside(&mut self) {
        let or_refused = |flight: &InFlight| !flight.or_refused.is_empty();
        let doubtful = |flight: &InFlight| flight.started.is_some() && or_refused(flight);
        let Some(first) = self.in_flight.iter().position(doubtful) else {
            return;
        };
        for end in first + 1..self.in_flight.len() {
            let refused = |flight: &InFlight| {
                or_refused(flight)
                    || flight.started.is_none() && flight.expected.status != Status::Ok
            };
            self.suppose(first, |n, flight| n < end && refused(flight));
        }
    }

    /// What the commands from `first` on would do if they were executed now, without those that
    /// `skipped` says.
    fn suppose(&mut self, first: usize, skipped: impl Fn(usize, &InFlight) -> bool) {
        let skip: Vec<bool> = self
            .in_flight
            .iter()
            .enumerate()
            .map(|(n, flight)| skipped(n, flight))
            .collect();
        let recalled = |flight: &InFlight, era| !flight.pending && flight.era == era;
        let era = self.era;
        for n in (first..self.in_flight.len()).rev() {
            if let Some((change, before)) = self.in_flight[n].started.clone() {
                if recalled(&self.in_flight[n], era) {
                    self.take_back(&change, before);
                }
            }
        }
        let mut now = Vec::new();
        for (n, skip) in skip.iter().enumerate().skip(first) {
            let flight = &self.in_flight[n];
            let since = flight.since;
            let change = match recalled(flight, era) && !skip {
                true => self.predict(&flight.command, flight.pages.as_ref()).1,
                false => None,
            };
            now.push(change.map(|change| {
                let before = self.start(&change, since);
                (change, before)
            }));
        }
        for n in (first..self.in_flight.len()).rev() {
            let Some((change, before)) = now.pop().flatten() else {
                continue;
            };
            self.take_back(&change, before);
            let started = self.in_flight[n].started.as_ref();
            if !started.is_some_and(|(started, _)| started.index == change.index) {
                let supposed = &mut self.in_flight[n].supposed;
                supposed.retain(|known| known.index != change.index);
                supposed.push(change);
            }
        }
        for n in first..self.in_flight.len() {
            let since = self.in_flight[n].since;
            let started = self.in_flight[n].started.take();
            self.in_flight[n].started =
                started.map(|(change, before)| match recalled(&self.in_flight[n], era) {
                    true => {
                        let before = self.start(&change, since);
                        (change, before)
                    }
                    false => (change, before),
                });
        }
    }

    /// What commands in flight may have made of an index until clock `to`.
    pub(super) fn supposed(&self, index: u32, to: u64) -> impl Iterator<Item = &Change> {
        let of_index = move |change: &&Change| change.index == index;
        self.in_flight
            .iter()
            .filter(move |flight| flight.era == self.era && flight.since <= to)
            .flat_map(|flight| &flight.supposed)
            .filter(of_index)
    }

    /// The completion of a command, and what it changes.
    fn predict(
        &self,
        command: &Command,
        pages: Option<&Translation>,
    ) -> (Completion, Option<Change>) {
        let plain = |status| Completion::plain(command.id, command.op, status);
        match self.evaluate(command, pages) {
            Err(status) => (plain(status), None),
            Ok(Effect::Query(entry)) => {
                let entry = entry.encode();
                let answer = Completion {
                    entry,
                    ..plain(Status::Ok)
                };
                (answer, None)
            }
            Ok(Effect::Change(change)) => {
                let invalidation = command.operation() == Some(CmdOp::Invalidate);
                let made = change.then.as_ref().filter(|_| !invalidation);
                let (lkey, rkey, index) = made.map_or((Key::NONE, Key::NONE, 0), |(_, region)| {
                    (region.lkey, region.rkey, region.index)
                });
                let answer = Completion {
                    lkey,
                    rkey,
                    index,
                    ..plain(Status::Ok)
                };
                (answer, Some(change))
            }
        }
    }

    /// The index of the next registration: fresh ones first, then the one that is free for the
    /// longest time.
    pub fn next_index(&self) -> Option<u32> {
        let mut fresh = self.fresh..self.table_size;
        fresh
            .find(|index| !self.keys.has_zero_field(*index))
            .or_else(|| self.free.front().copied())
    }

    fn settle(&mut self, flight: InFlight, now: u64) {
        if let Some((change, _)) = flight.started.filter(|_| flight.era == self.era) {
            self.finish(&change, now);
        }
    }
}
