// SPDX-License-Identifier: Apache-2.0
//! Commands: what they answer, and what they change.

use std::sync::Arc;

use super::{page_count, table_capacity, Golden, Incarnation, Life, Region, Slot, ADDRESS_SPACE};
use crate::codec::{MptEntry, LOG_PAGE_RANGE, LOG_TPAGE_RANGE};
use crate::frames::{FrameList, Translation};
use crate::types::*;

/// What a command changes, if it succeeds.
#[derive(Clone, Debug)]
enum Plan {
    Nothing,
    Register(Arc<Region>),
    Deregister(u32),
    Reregister(Arc<Region>),
}

impl Plan {
    /// The index of the region that the command ends.
    fn ends(&self) -> Option<u32> {
        match self {
            Plan::Deregister(index) => Some(*index),
            Plan::Reregister(region) => Some(region.index),
            Plan::Nothing | Plan::Register(_) => None,
        }
    }
}

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
    plan: Plan,
    /// It was reported PENDING.
    pending: bool,
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
        }
        expected
    }

    /// The unit has accepted a command at clock `now`. Returns the completion that will come if
    /// nothing outside the regions (a bus error, a full fence queue) prevents it.
    pub fn begin(&mut self, command: &Command, pages: Option<Translation>, now: u64) -> Completion {
        self.clock = self.clock.max(now);
        // What the unit gets is what fits into the channel.
        let command = Command::unpack(&command.pack());
        let (expected, plan) = self.predict(&command, pages.as_ref());
        self.start(&plan, now);
        let (era, pending) = (self.era, false);
        self.in_flight.push_back(InFlight {
            command,
            pages,
            since: now,
            era,
            expected,
            plan,
            pending,
        });
        expected
    }

    /// A completion has come at clock `now`: judges it, and applies what it reports.
    ///
    /// A command is judged as of its acceptance or, where commands before it have changed the
    /// table since, as of now.
    pub fn complete(&mut self, actual: &Completion, now: u64) -> Result<Outcome, CompletionError> {
        self.clock = self.clock.max(now);
        let place = self
            .in_flight
            .iter()
            .position(|flight| (flight.command.id, flight.expected.op) == (actual.id, actual.op))
            .ok_or(CompletionError::Unknown { id: actual.id })?;

        let flight = &mut self.in_flight[place];
        if *actual == flight.expected {
            if let Some(flight) = self.in_flight.remove(place) {
                self.settle(flight, now);
            }
            return Ok(Outcome::Finished);
        }
        let plain = Completion::plain(actual.id, actual.op, actual.status) == *actual;
        let ends = flight.plan.ends();
        let first = !flight.pending;
        match actual.status {
            Status::Pending if plain && first && ends.is_some() => {
                flight.pending = true;
                if flight.era == self.era {
                    ends.into_iter().for_each(|index| self.bury(index, now));
                }
                return Ok(Outcome::Pending);
            }
            Status::Bus | Status::MptBad if plain => {}
            Status::Busy if plain && first && ends.is_some() => {}
            _ => return self.reconsider(place, actual, now),
        }
        // Refused from outside: take it back, and let later registrations have the index. What a
        // REREG_MR wanted to make may have been in the table until its failed write was undone.
        let ghost = match &flight.plan {
            Plan::Reregister(region) if !flight.pending && actual.status != Status::Busy => {
                Some((region.clone(), flight.since))
            }
            _ => None,
        };
        self.rewind(place);
        if let Some((region, since)) = ghost {
            let index = region.index;
            let incarnations = &mut self.slots[index as usize].incarnations;
            let life = Life {
                dying_from: Some(since),
                dead_by: Some(now),
                ..Life::from(since)
            };
            let current = incarnations.len().saturating_sub(1);
            incarnations.insert(current, Incarnation { region, life });
            self.graves.push_back(index);
        }
        if let Some(refused) = self.in_flight.remove(place) {
            if let Some(index) = ends.filter(|_| refused.era == self.era) {
                let current = self.slots[index as usize].incarnations.back_mut();
                if refused.pending {
                    self.retire(index, now);
                } else if let Some(current) = current.filter(|_| actual.status != Status::Busy) {
                    current.life.add_doubt(refused.since, now);
                }
            }
        }
        self.replay(place);
        Ok(Outcome::Refused(actual.status))
    }

    /// A bus error has made an index unusable: its region, if there is one, is dead, and the index
    /// is not handed out again until the unit is enabled the next time.
    ///
    /// This is so after the completion of a command with status `Bus` (or `MptBad`, for the second
    /// half of a REREG_MR):
    ///
    /// * DEREG_MR and REREG_MR: if the entry in memory is not the valid one that it was;
    /// * REG_MR: if the unit could not undo its write either. The index is the one that was to be
    ///   registered, that is, [`Golden::next_index`].
    pub fn retire(&mut self, index: u32, now: u64) {
        self.clock = self.clock.max(now);
        if index == self.fresh {
            self.fresh += 1;
        }
        self.free.retain(|free| *free != index);
        let places = self.slots.len().max(index as usize + 1);
        self.slots.resize(places, Slot::EMPTY);
        let slot = &mut self.slots[index as usize];
        slot.retired = true;
        slot.state = State::Invalid;
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
        self.rewind(place);
        self.replay(place);
        if self.in_flight[place].expected == *actual {
            return self.complete(actual, now);
        }
        Err(CompletionError::Wrong {
            expected: Box::new(expected),
            actual: Box::new(*actual),
        })
    }

    /// Takes back what the commands from `place` on have started, the newest first. Those that
    /// were reported pending are beyond recall.
    fn rewind(&mut self, place: usize) {
        for n in (place..self.in_flight.len()).rev() {
            let flight = &self.in_flight[n];
            if flight.pending || flight.era != self.era {
                continue;
            }
            match flight.plan.clone() {
                Plan::Nothing => {}
                Plan::Register(region) => {
                    let slot = &mut self.slots[region.index as usize];
                    slot.incarnations.pop_back();
                    slot.state = State::Free;
                    slot.gen = slot.gen.wrapping_sub(1);
                    if region.index + 1 == self.fresh {
                        self.fresh -= 1;
                    } else {
                        self.free.push_front(region.index);
                    }
                }
                Plan::Deregister(index) => self.revive(index),
                Plan::Reregister(region) => {
                    let slot = &mut self.slots[region.index as usize];
                    slot.incarnations.pop_back();
                    slot.gen = slot.gen.wrapping_sub(1);
                    self.revive(region.index);
                }
            }
            self.in_flight[n].plan = Plan::Nothing;
        }
    }

    /// Predicts and starts the commands from `place` on again, after [`Golden::rewind`].
    fn replay(&mut self, place: usize) {
        for n in place..self.in_flight.len() {
            let flight = &self.in_flight[n];
            if flight.pending || flight.era != self.era {
                continue;
            }
            let since = flight.since;
            let (expected, plan) = self.predict(&flight.command, flight.pages.as_ref());
            self.start(&plan, since);
            self.in_flight[n].expected = expected;
            self.in_flight[n].plan = plan;
        }
    }

    /// The completion of a command, and what it changes.
    fn predict(&self, command: &Command, pages: Option<&Translation>) -> (Completion, Plan) {
        let plain = |status| Completion::plain(command.id, command.op, status);
        match self.evaluate(command, pages) {
            Err(status) => (plain(status), Plan::Nothing),
            Ok(Effect::Query(entry)) => (
                Completion {
                    entry: entry.encode(),
                    ..plain(Status::Ok)
                },
                Plan::Nothing,
            ),
            Ok(Effect::Change(plan)) => {
                let (lkey, rkey) = match &plan {
                    Plan::Register(region) | Plan::Reregister(region) => (region.lkey, region.rkey),
                    Plan::Nothing | Plan::Deregister(_) => (Key::NONE, Key::NONE),
                };
                (
                    Completion {
                        lkey,
                        rkey,
                        ..plain(Status::Ok)
                    },
                    plan,
                )
            }
        }
    }

    fn evaluate(&self, command: &Command, pages: Option<&Translation>) -> Result<Effect, Status> {
        if !self.is_ready() {
            return Err(Status::Disabled);
        }
        match command.operation().ok_or(Status::BadOp)? {
            CmdOp::RegMr => {
                let arguments = Arguments::of_command(command);
                arguments.check(true, true, self.max_levels)?;
                let index = self.next_index().ok_or(Status::NoIndex)?;
                let gen = self.slot(index).1.wrapping_add(1);
                let pages = pages_of(command, pages);
                let region = self.region(index, gen, command.pd, &arguments, pages);
                Ok(Effect::Change(Plan::Register(Arc::new(region))))
            }
            CmdOp::DeregMr => {
                let region = self.named(command)?;
                not_bound(region)?;
                Ok(Effect::Change(Plan::Deregister(region.index)))
            }
            CmdOp::ReregMr => {
                if command.rereg == 0 || command.rereg & !rereg::ALL != 0 {
                    return Err(Status::BadRereg);
                }
                let old = self.named(command)?;
                not_bound(old)?;
                let asks = |bit| command.rereg & bit != 0;
                let mut arguments = Arguments::of_region(old);
                let mut new_pages = old.pages.clone();
                if asks(rereg::TRANSLATION) {
                    let access = arguments.access;
                    arguments = Arguments {
                        access,
                        ..Arguments::of_command(command)
                    };
                    new_pages = pages_of(command, pages);
                }
                if asks(rereg::ACCESS) {
                    arguments.access = Access(command.access);
                }
                arguments.check(
                    asks(rereg::TRANSLATION),
                    asks(rereg::ACCESS),
                    self.max_levels,
                )?;
                let pd = if asks(rereg::PD) {
                    command.new_pd
                } else {
                    old.pd
                };
                let gen = old.gen.wrapping_add(1);
                let region = self.region(old.index, gen, pd, &arguments, new_pages);
                Ok(Effect::Change(Plan::Reregister(Arc::new(region))))
            }
            CmdOp::Query => Ok(Effect::Query(self.named(command)?.entry(State::Valid))),
        }
    }

    /// The region that a command names by L_Key and protection domain: all of both must fit.
    fn named(&self, command: &Command) -> Result<&Arc<Region>, Status> {
        let (role, index) = self.keys.decode(command.key);
        if index >= self.table_size {
            return Err(Status::KeyIndex);
        }
        let region = self.current(index).ok_or(Status::KeyState)?;
        if role != Role::Local || region.lkey.tag() != command.key.tag() {
            return Err(Status::KeyTag);
        }
        if region.kind != Kind::Mr {
            return Err(Status::KeyKind);
        }
        if region.pd != command.pd {
            return Err(Status::KeyPd);
        }
        Ok(region)
    }

    /// The index of the next registration: fresh ones first, then the one that is free for the
    /// longest time.
    pub fn next_index(&self) -> Option<u32> {
        if self.fresh < self.table_size {
            Some(self.fresh)
        } else {
            self.free.front().copied()
        }
    }

    fn region(
        &self,
        index: u32,
        gen: u8,
        pd: u32,
        arguments: &Arguments,
        pages: Translation,
    ) -> Region {
        let access = Access::from_stored(arguments.access.to_stored());
        let (lkey, rkey) = self.keys.keys(index, gen, access);
        let tree = (1..=4).contains(&arguments.level);
        let used = match arguments.level {
            LEVEL_INLINE => arguments.page_count() as usize,
            _ => 1,
        };
        Region {
            index,
            gen,
            kind: Kind::Mr,
            pd,
            qpn: 0,
            access,
            start: arguments.start,
            length: arguments.length,
            log_page: arguments.log_page,
            level: arguments.level,
            log_tpage: if tree {
                arguments.log_tpage
            } else {
                *LOG_TPAGE_RANGE.start()
            },
            encoding: Encoding::from_code(arguments.encoding).unwrap_or(Encoding::Raw),
            frame: std::array::from_fn(|k| if k < used { arguments.frame[k] } else { 0 }),
            lkey,
            rkey,
            bound: 0,
            pages,
        }
    }

    /// A command begins to take effect.
    fn start(&mut self, plan: &Plan, now: u64) {
        let newborn = |region: &Arc<Region>| Incarnation {
            region: region.clone(),
            life: Life::from(now),
        };
        if let Some(index) = plan.ends() {
            let slot = &mut self.slots[index as usize];
            slot.state = State::Invalid;
            if let Some(current) = slot.incarnations.back_mut() {
                current.life.dying_from = Some(now);
            }
        }
        match plan {
            Plan::Nothing | Plan::Deregister(_) => {}
            Plan::Register(region) => {
                if region.index == self.fresh {
                    self.fresh += 1;
                } else {
                    self.free.pop_front();
                }
                let places = self.slots.len().max(region.index as usize + 1);
                self.slots.resize(places, Slot::EMPTY);
                let slot = &mut self.slots[region.index as usize];
                slot.gen = region.gen;
                slot.state = State::Valid;
                slot.incarnations.push_back(newborn(region));
            }
            Plan::Reregister(region) => {
                let slot = &mut self.slots[region.index as usize];
                slot.gen = region.gen;
                slot.incarnations.push_back(newborn(region));
            }
        }
    }

    /// A command has taken effect.
    fn settle(&mut self, flight: InFlight, now: u64) {
        if flight.era != self.era {
            return;
        }
        match &flight.plan {
            Plan::Nothing => {}
            Plan::Register(region) => self.born(region, now),
            Plan::Deregister(index) => {
                self.bury(*index, now);
                let slot = &mut self.slots[*index as usize];
                if slot.state != State::Free {
                    slot.state = State::Free;
                    self.free.push_back(*index);
                }
            }
            Plan::Reregister(region) => {
                self.bury(region.index, now);
                let slot = &mut self.slots[region.index as usize];
                if slot.state != State::Free {
                    slot.state = State::Valid;
                }
                self.born(region, now);
            }
        }
    }

    fn born(&mut self, region: &Arc<Region>, now: u64) {
        let incarnations = self.slots[region.index as usize].incarnations.iter_mut();
        if let Some(newborn) = incarnations.rev().find(|i| i.region.gen == region.gen) {
            newborn.life.born_by.get_or_insert(now);
        }
    }

    /// The incarnation that is dying is dead: requests accepted later cannot meet it.
    fn bury(&mut self, index: u32, now: u64) {
        let incarnations = self.slots[index as usize].incarnations.iter_mut();
        let mut dying =
            incarnations.filter(|i| i.life.dying_from.is_some() && i.life.dead_by.is_none());
        if let Some(dying) = dying.next() {
            dying.life.dead_by = Some(now);
            self.graves.push_back(index);
        }
    }

    /// A region is not to end after all.
    fn revive(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        if slot.state == State::Invalid {
            slot.state = State::Valid;
            if let Some(current) = slot.incarnations.back_mut() {
                current.life.dying_from = None;
            }
        }
    }
}

/// What a good command does.
enum Effect {
    Query(MptEntry),
    Change(Plan),
}

fn not_bound(region: &Region) -> Result<(), Status> {
    match region.bound {
        0 => Ok(()),
        _ => Err(Status::Bound),
    }
}

fn pages_of(command: &Command, pages: Option<&Translation>) -> Translation {
    match pages {
        Some(pages) => pages.clone(),
        None if command.level == LEVEL_INLINE => {
            Arc::new(FrameList::from_addresses(command.log_page, command.frame))
        }
        None => Arc::new(FrameList::new(command.log_page)),
    }
}

/// What registration has to check.
struct Arguments {
    access: Access,
    start: u64,
    length: u64,
    log_page: u8,
    level: u8,
    log_tpage: u8,
    encoding: u8,
    frame: [u64; 4],
}

impl Arguments {
    fn of_command(command: &Command) -> Arguments {
        Arguments {
            access: Access(command.access),
            start: command.start,
            length: command.length,
            log_page: command.log_page,
            level: command.level,
            log_tpage: command.log_tpage,
            encoding: command.encoding,
            frame: command.frame,
        }
    }

    fn of_region(region: &Region) -> Arguments {
        Arguments {
            access: region.access,
            start: region.start,
            length: region.length,
            log_page: region.log_page,
            level: region.level,
            log_tpage: region.log_tpage,
            encoding: region.encoding.code(),
            frame: region.frame,
        }
    }

    fn page_count(&self) -> u128 {
        page_count(self.start, self.length, self.log_page)
    }

    /// The argument rules of registration, in their order. `translation` and `access` say which
    /// part is new.
    fn check(&self, translation: bool, access: bool, max_levels: u8) -> Result<(), Status> {
        let refuse_if = |failed, status| if failed { Err(status) } else { Ok(()) };
        let tree = (1..=4).contains(&self.level);
        if translation {
            refuse_if(self.length == 0, Status::BadLength)?;
            let end = u128::from(self.start) + u128::from(self.length);
            refuse_if(end > ADDRESS_SPACE, Status::BadWrap)?;
        }
        if access {
            refuse_if(!Access::KNOWN.contains(self.access), Status::BadFlags)?;
            let changes = self
                .access
                .intersects(Access::REMOTE_WRITE | Access::REMOTE_ATOMIC);
            let local = self.access.contains(Access::LOCAL_WRITE);
            refuse_if(changes && !local, Status::BadAccess)?;
        }
        if translation {
            refuse_if(
                !LOG_PAGE_RANGE.contains(&self.log_page),
                Status::BadPageSize,
            )?;
            refuse_if(
                Encoding::from_code(self.encoding).is_none(),
                Status::BadEncoding,
            )?;
            let too_deep = self.level > max_levels && self.level != LEVEL_FLAT;
            let bad_tpage = tree && !LOG_TPAGE_RANGE.contains(&self.log_tpage);
            refuse_if(too_deep || bad_tpage, Status::BadLevel)?;
            let capacity = table_capacity(self.level, self.log_tpage).ok_or(Status::BadLevel)?;
            refuse_if(self.page_count() > capacity, Status::TableSmall)?;
            let (addresses, log_align) = match self.level {
                LEVEL_INLINE => (&self.frame[..self.page_count() as usize], self.log_page),
                LEVEL_FLAT => (&self.frame[..1], 3),
                _ => (&self.frame[..1], self.log_tpage),
            };
            let misaligned = addresses
                .iter()
                .any(|pa| pa.trailing_zeros() < log_align.into());
            refuse_if(misaligned, Status::TableAlign)?;
        }
        Ok(())
    }
}
