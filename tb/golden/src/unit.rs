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

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::Arc;

use crate::codec::{MptEntry, MptError, LOG_PAGE_RANGE, LOG_TPAGE_RANGE, MPT_BYTES};
use crate::frames::{FrameList, Page, Translation};
use crate::keys::KeyMaker;
use crate::types::*;

/// Longest request in bytes: the maximum message size of IBTA.
pub const MAX_REQUEST: u32 = 1 << 31;
/// Most pages that one region may have.
pub const MAX_PAGES: u128 = 1 << 40;
/// Pages that fit into an MPT entry (level 0).
pub const INLINE_PAGES: u128 = 4;
/// The address space: one past the last byte.
const ADDRESS_SPACE: u128 = 1 << 64;

// -------------------------------------------------------------------------------------------------
// Regions
// -------------------------------------------------------------------------------------------------

/// One registration of a memory region: what the unit knows about it, and its true pages.
#[derive(Clone, Debug)]
pub struct Region {
    /// Index in the table of regions.
    pub index: u32,
    /// Counts the registrations of the index, modulo 256.
    pub gen: u8,
    /// Kind of the entry.
    pub kind: Kind,
    /// Protection domain.
    pub pd: u32,
    /// Queue pair of a type-2 window.
    pub qpn: u32,
    /// Rights and options, without the optional flags that the unit does not store.
    pub access: Access,
    /// Start address (iova).
    pub start: u64,
    /// Bytes.
    pub length: u64,
    /// log2 of the page size.
    pub log_page: u8,
    /// 0 inline, 1 to 4 tree, 5 flat.
    pub level: u8,
    /// log2 of the table page size; 12 where it has no meaning (inline, flat).
    pub log_tpage: u8,
    /// Encoding of the table.
    pub encoding: Encoding,
    /// Level 0: page addresses; otherwise the root of the table first. Unused ones are 0.
    pub frame: [u64; 4],
    /// L_Key.
    pub lkey: Key,
    /// R_Key; 0 if nothing is granted to the peer.
    pub rkey: Key,
    /// Number of windows that are bound to the region.
    pub bound: u32,
    /// The physical pages.
    pub pages: Translation,
}

impl Region {
    /// The lowest address that requests may name: 0 in a zero-based region.
    pub fn base(&self) -> u64 {
        if self.access.contains(Access::ZERO_BASED) {
            0
        } else {
            self.start
        }
    }

    /// Bytes from the start of the first page to the start of the region.
    pub fn first_offset(&self) -> u64 {
        self.start & self.page_mask()
    }

    /// Number of pages.
    pub fn page_count(&self) -> u128 {
        page_count(self.start, self.length, self.log_page)
    }

    /// Does the role exist? Windows have no L_Key, and only a remote right makes an R_Key.
    pub fn has_role(&self, role: Role) -> bool {
        match role {
            Role::Local => !self.kind.is_window(),
            Role::Remote => self.access.intersects(Access::ANY_REMOTE),
        }
    }

    /// The key of a role.
    pub fn key(&self, role: Role) -> Key {
        match role {
            Role::Local => self.lkey,
            Role::Remote => self.rkey,
        }
    }

    /// Physical address of page `index`, or why the walk ends there (rule 12).
    pub fn page(&self, index: u64, write: bool) -> Result<u64, Syndrome> {
        // Pages inside the MPT entry are bare addresses, as those of encoding RAW.
        let flagged = self.encoding == Encoding::Flagged && self.level != LEVEL_INLINE;
        match self.pages.page(index) {
            Page::Absent => Err(Syndrome::MttAbsent),
            Page::Bad => Err(Syndrome::MttBad),
            Page::Bus => Err(Syndrome::Bus),
            Page::Present { pa: 0, .. } if !flagged => Err(Syndrome::MttAbsent),
            Page::Present { pa, .. } if pa & self.page_mask() != 0 => Err(Syndrome::MttBad),
            Page::Present {
                writable: false, ..
            } if flagged && write => Err(Syndrome::MttBad),
            Page::Present { pa, .. } => Ok(pa),
        }
    }

    /// The MPT entry of the region in `state`.
    pub fn entry(&self, state: State) -> MptEntry {
        let root = self.frame[0];
        let frame = match self.level {
            LEVEL_INLINE => self.frame.map(|pa| pa >> 12),
            // A flat table starts anywhere on 8 bytes: the next field takes bits 11:3 of the root.
            LEVEL_FLAT => [root >> 12, root >> 3 & 0x1ff, 0, 0],
            _ => [root >> 12, 0, 0, 0],
        };
        MptEntry {
            state: state.code(),
            kind: self.kind.code(),
            access: self.access.to_stored(),
            log_page: self.log_page,
            level: self.level,
            log_tpage: self.log_tpage - *LOG_TPAGE_RANGE.start(),
            encoding: self.encoding.code(),
            rinv_en: false,
            lkey_tag: self.lkey.tag(),
            rkey_tag: self.rkey.tag(),
            gen: self.gen,
            pd: self.pd,
            qpn: self.qpn,
            start: self.start,
            length: self.length,
            frame,
            bound: self.bound,
        }
    }

    fn page_mask(&self) -> u64 {
        (1 << self.log_page) - 1
    }
}

/// Pages of `length` bytes from `start` on: one more than `length / P` if the start is not aligned.
///
/// ```
/// assert_eq!(tpt_golden::unit::page_count(0x1000, 0x1000, 12), 1);
/// assert_eq!(tpt_golden::unit::page_count(0x1fff, 0x1001, 12), 2);
/// ```
pub fn page_count(start: u64, length: u64, log_page: u8) -> u128 {
    let page = 1u128 << log_page.min(64);
    (u128::from(length) + u128::from(start) % page).div_ceil(page)
}

/// Pages that a table can hold: `None` if there is no such level.
pub fn table_capacity(level: u8, log_tpage: u8) -> Option<u128> {
    let pages = match level {
        LEVEL_INLINE => INLINE_PAGES,
        1..=4 => {
            let bits = u32::from(level) * u32::from(log_tpage).saturating_sub(3);
            1u128.checked_shl(bits).unwrap_or(MAX_PAGES)
        }
        LEVEL_FLAT => MAX_PAGES,
        _ => return None,
    };
    Some(pages.min(MAX_PAGES))
}

// -------------------------------------------------------------------------------------------------
// Segments
// -------------------------------------------------------------------------------------------------

/// The beats that answer a request, one by one. See [`Golden::beats`].
#[derive(Clone, Debug)]
pub struct Beats<R> {
    request: Request,
    first: bool,
    rest: Rest<R>,
}

#[derive(Clone, Debug)]
enum Rest<R> {
    /// One beat without an address.
    Answer(Syndrome),
    /// `left` bytes from `offset` inside page `page` on.
    Walk {
        region: R,
        page: u64,
        offset: u64,
        left: u64,
    },
    /// Nothing.
    End,
}

impl<R: Deref<Target = Region>> Beats<R> {
    /// The single beat of a refused (or empty) request.
    pub fn answer(request: &Request, syndrome: Syndrome) -> Self {
        Beats {
            request: *request,
            first: true,
            rest: Rest::Answer(syndrome),
        }
    }

    /// The segments of a request that passed the rules up to 11.
    pub fn segments(region: R, request: &Request) -> Self {
        let from_first_page =
            u128::from(request.va.wrapping_sub(region.base())) + u128::from(region.first_offset());
        let rest = Rest::Walk {
            page: (from_first_page >> region.log_page) as u64,
            offset: from_first_page as u64 & region.page_mask(),
            left: request.len.into(),
            region,
        };
        Beats {
            request: *request,
            first: true,
            rest,
        }
    }

    fn beat(&mut self, syndrome: Syndrome, pa: u64, len: u32, last: bool) -> Beat {
        let first = std::mem::replace(&mut self.first, false);
        if last {
            self.rest = Rest::End;
        }
        let Request { tag, stream, .. } = self.request;
        Beat {
            tag,
            stream,
            syndrome,
            pa,
            len,
            first,
            last,
        }
    }
}

impl<R: Deref<Target = Region>> Iterator for Beats<R> {
    type Item = Beat;

    fn next(&mut self) -> Option<Beat> {
        let write = self.request.operation().is_some_and(Op::writes);
        match &mut self.rest {
            Rest::End => None,
            Rest::Answer(syndrome) => {
                let syndrome = *syndrome;
                Some(self.beat(syndrome, 0, 0, true))
            }
            Rest::Walk {
                region,
                page,
                offset,
                left,
            } => match region.page(*page, write) {
                Err(fault) => Some(self.beat(fault, 0, 0, true)),
                Ok(pa) => {
                    let pa = pa + *offset;
                    let len = (region.page_mask() - *offset).min(*left - 1) + 1;
                    *page += 1;
                    *offset = 0;
                    *left -= len;
                    let last = *left == 0;
                    Some(self.beat(Syndrome::Ok, pa, len as u32, last))
                }
            },
        }
    }
}

// -------------------------------------------------------------------------------------------------
// Verdicts and lives
// -------------------------------------------------------------------------------------------------

/// What is to be answered to a request.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The first failure, or `Ok`.
    pub syndrome: Syndrome,
    /// Every rule that fails: bit n is syndrome n.
    pub mask: u32,
    /// The region whose pages are reached; `None` if no address is given out.
    pub region: Option<Arc<Region>>,
}

impl Verdict {
    /// The beats of the answer. The walk may still end with a fault.
    pub fn beats(&self, request: &Request) -> Beats<Arc<Region>> {
        match &self.region {
            Some(region) => Beats::segments(region.clone(), request),
            None => Beats::answer(request, self.syndrome),
        }
    }

    fn same_as(&self, other: &Verdict) -> bool {
        self.syndrome == other.syndrome
            && match (&self.region, &other.region) {
                (Some(a), Some(b)) => Arc::ptr_eq(a, b),
                (None, None) => true,
                _ => false,
            }
    }
}

/// Facts from outside the region that decide about a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// The unit is not enabled or not ready.
    pub disabled: bool,
    /// The tag belongs to a request that is not done.
    pub tag_busy: bool,
    /// The entry could not be read.
    pub bus: bool,
    /// The entry is corrupted.
    pub mpt_bad: bool,
    /// The entry is in state INVALID (a region given beside it is judged all the same, for the
    /// mask).
    pub invalid: bool,
    /// The parent of a window is gone.
    pub parent_gone: bool,
}

/// When something (a region, the unit itself) can have been alive: four clocks, see the
/// [module](self).
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

    fn add_doubt(&mut self, from: u64, to: u64) {
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

// -------------------------------------------------------------------------------------------------
// Commands in flight
// -------------------------------------------------------------------------------------------------

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
struct InFlight {
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

// -------------------------------------------------------------------------------------------------
// The unit
// -------------------------------------------------------------------------------------------------

/// One place of the table of regions.
#[derive(Clone, Debug)]
struct Slot {
    state: State,
    gen: u8,
    /// A bus error has made the slot unusable.
    retired: bool,
    /// Registrations that requests in flight may still meet, oldest first. The last one is the
    /// current one unless the slot is free.
    incarnations: VecDeque<Incarnation>,
}

impl Slot {
    const EMPTY: Slot = Slot {
        state: State::Free,
        gen: 0,
        retired: false,
        incarnations: VecDeque::new(),
    };

    /// The region that holds the slot.
    fn current(&self) -> Option<&Incarnation> {
        match self.state {
            State::Free => None,
            State::Valid | State::Invalid => self.incarnations.back(),
        }
    }
}

/// The golden model of the unit. See the [module](self).
#[derive(Clone, Debug)]
pub struct Golden {
    keys: KeyMaker,
    table_size: u32,
    max_levels: u8,
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
            ..Golden::new(self.keys.clone(), self.table_size, self.max_levels)
        };
    }

    /// The host sets the enable bit: the table will be cleared. Every generation starts again.
    pub fn enable(&mut self, now: u64) {
        self.clock = self.clock.max(now);
        self.end_all(now, now);
        self.power = Some(Life::from(now));
        self.era += 1;
        self.fresh = 1;
        self.free.clear();
        for slot in &mut self.slots {
            (slot.state, slot.gen, slot.retired) = (State::Free, 0, false);
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
                slot.state = State::Free;
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
    // Requests
    // ---------------------------------------------------------------------------------------------

    /// Applies rules 0 to 11 to a request and the valid region that its key names (`None`: the
    /// entry is not valid). Returns the first failure and the mask of all failures that can be
    /// known: without a region, those of rules 0 to 3.
    pub fn check(&self, region: Option<&Region>, request: &Request) -> (Syndrome, u32) {
        self.check_under(&Conditions::default(), region, request)
    }

    /// [`Golden::check`] when there is more to know than the region.
    pub fn check_under(
        &self,
        conditions: &Conditions,
        region: Option<&Region>,
        request: &Request,
    ) -> (Syndrome, u32) {
        let mut failures = Failures::default();
        let mut refuse_if = |syndrome, failed| failures.note(syndrome, failed);
        let operation = request.operation();
        let atomic = operation == Some(Op::RemoteAtomic);
        let len = u64::from(request.len);
        let (role, index) = self.keys.decode(request.key);

        refuse_if(Syndrome::Disabled, conditions.disabled);
        refuse_if(Syndrome::TagBusy, conditions.tag_busy);

        // Rule 0: atomics are 8 bytes long; an empty request never looks at its key.
        if atomic {
            refuse_if(Syndrome::Align, len != 8);
        } else if len == 0 {
            return failures.result();
        }
        // Rules 1 and 2.
        refuse_if(Syndrome::Length, request.len > MAX_REQUEST);
        refuse_if(Syndrome::KeyIndex, index >= self.table_size);
        // The entry.
        refuse_if(Syndrome::Bus, conditions.bus);
        refuse_if(Syndrome::MptBad, conditions.mpt_bad);
        // Rule 3.
        if index < self.table_size && !conditions.bus && !conditions.mpt_bad {
            refuse_if(Syndrome::KeyState, region.is_none() || conditions.invalid);
        }
        let Some(region) = region else {
            return failures.result();
        };

        // Rule 4: a key works in its own role only, and only if the region has that role.
        let tag_fits = region.key(role).tag() == request.key.tag();
        let key_fits = role == request.role() && region.has_role(role) && tag_fits;
        refuse_if(Syndrome::KeyTag, !key_fits);
        // Rules 5 and 6.
        refuse_if(Syndrome::Pd, region.pd != request.pd);
        refuse_if(
            Syndrome::Qp,
            region.kind == Kind::Mw2 && region.qpn != request.qpn,
        );
        // Rule 7.
        let granted = operation.is_some_and(|op| region.access.contains(op.needed_right()));
        refuse_if(Syndrome::Rights, !granted);
        // Rule 8: the last byte may be the last of the address space.
        refuse_if(
            Syndrome::Wrap,
            u128::from(request.va) + u128::from(len) > ADDRESS_SPACE,
        );
        // Rule 9, by subtraction: no sum that could wrap.
        let inside = match request.va.checked_sub(region.base()) {
            Some(offset) => offset <= region.length && len <= region.length - offset,
            None => false,
        };
        refuse_if(Syndrome::Bounds, !inside);
        // Rule 10.
        refuse_if(Syndrome::Align, atomic && request.va % 8 != 0);
        // Rule 11.
        refuse_if(
            Syndrome::Parent,
            region.kind.is_window() && conditions.parent_gone,
        );
        failures.result()
    }

    /// The beats that answer a request, given the valid region that its key names.
    pub fn beats<'r>(&self, region: Option<&'r Region>, request: &Request) -> Beats<&'r Region> {
        match (self.check(region, request).0, region) {
            (Syndrome::Ok, Some(region)) if request.len > 0 => Beats::segments(region, request),
            (syndrome, _) => Beats::answer(request, syndrome),
        }
    }

    /// The verdict on a request at this moment, when no command is in flight.
    pub fn judge(&self, request: &Request) -> Verdict {
        let region = self.current(self.keys.decode(request.key).1);
        let conditions = Conditions {
            disabled: !self.is_ready(),
            ..Conditions::default()
        };
        self.verdict(&conditions, region, request)
    }

    /// Every right verdict on a request that was accepted at clock `from` and answered at clock
    /// `to`. `conditions.disabled` is found out here.
    pub fn allowed(
        &self,
        conditions: &Conditions,
        request: &Request,
        from: u64,
        to: u64,
    ) -> Vec<Verdict> {
        let mut verdicts = Vec::with_capacity(1);
        if !self.power.is_some_and(|power| power.lives(from, to)) {
            let disabled = Conditions {
                disabled: true,
                ..*conditions
            };
            verdicts.push(self.verdict(&disabled, None, request));
        }
        if !self.power.is_some_and(|power| power.may_live(from, to)) {
            return verdicts;
        }
        let enabled = Conditions {
            disabled: false,
            ..*conditions
        };
        let index = self.keys.decode(request.key).1;
        let alive: Vec<_> = self
            .incarnations(index)
            .filter(|known| known.life.may_live(from, to))
            .collect();
        // Two registrations of one index are never alive at once.
        let candidates: Vec<_> = match alive.iter().find(|known| known.life.lives(from, to)) {
            Some(certain) => vec![Some(&certain.region)],
            None => alive
                .iter()
                .map(|known| Some(&known.region))
                .chain([None])
                .collect(),
        };
        for region in candidates {
            let verdict = self.verdict(&enabled, region, request);
            if !verdicts.iter().any(|known| known.same_as(&verdict)) {
                verdicts.push(verdict);
            }
        }
        verdicts
    }

    fn verdict(
        &self,
        conditions: &Conditions,
        region: Option<&Arc<Region>>,
        request: &Request,
    ) -> Verdict {
        let (syndrome, mask) = self.check_under(conditions, region.map(Arc::as_ref), request);
        let reached = syndrome == Syndrome::Ok && request.len > 0;
        Verdict {
            syndrome,
            mask,
            region: region.filter(|_| reached).cloned(),
        }
    }

    // ---------------------------------------------------------------------------------------------
    // The table of regions
    // ---------------------------------------------------------------------------------------------

    /// The valid region of an index.
    pub fn current(&self, index: u32) -> Option<&Arc<Region>> {
        let slot = self.slots.get(index as usize)?;
        match slot.state {
            State::Valid => slot.current().map(|incarnation| &incarnation.region),
            State::Free | State::Invalid => None,
        }
    }

    /// All valid regions, in the order of their indices.
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
            .map_or((State::Free, 0), |slot| (slot.state, slot.gen))
    }

    /// Replaces the pages of the current region of an index: for tests that change the table
    /// behind the back of the driver. Does nothing if there is none.
    pub fn set_pages(&mut self, index: u32, pages: Translation) {
        let slot = self
            .slots
            .get_mut(index as usize)
            .filter(|slot| slot.state != State::Free);
        if let Some(current) = slot.and_then(|slot| slot.incarnations.back_mut()) {
            current.region = Arc::new(Region {
                pages,
                ..Region::clone(&current.region)
            });
        }
    }

    /// Compares an entry in memory with what it must be, when no command on it is in flight.
    ///
    /// Of a free entry only state and generation are looked at: the unit may keep its list of free
    /// entries in the rest. A retired entry is whatever the memory has kept.
    pub fn check_entry(&self, index: u32, bytes: &[u8; MPT_BYTES]) -> Result<(), EntryError> {
        if self
            .slots
            .get(index as usize)
            .is_some_and(|slot| slot.retired)
        {
            return Ok(());
        }
        let found =
            MptEntry::decode(bytes).map_err(|source| EntryError::Corrupt { index, source })?;
        let (state, gen) = self.slot(index);
        let current = self.slots.get(index as usize).and_then(Slot::current);
        let (expected, compared) = match current {
            Some(Incarnation { region, .. }) => (region.entry(state), found),
            None => {
                let free = MptEntry {
                    gen,
                    ..MptEntry::default()
                };
                (
                    free,
                    MptEntry {
                        gen: found.gen,
                        state: found.state,
                        ..free
                    },
                )
            }
        };
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

    // ---------------------------------------------------------------------------------------------
    // Commands
    // ---------------------------------------------------------------------------------------------

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
        // Refused from outside: take it back, and let later registrations have the index.
        self.rewind(place);
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

/// Collects failures in the order of the rules.
#[derive(Default)]
struct Failures {
    first: Option<Syndrome>,
    mask: u32,
}

impl Failures {
    fn note(&mut self, syndrome: Syndrome, failed: bool) {
        if failed {
            self.first.get_or_insert(syndrome);
            self.mask |= syndrome.bit();
        }
    }

    fn result(&self) -> (Syndrome, u32) {
        (self.first.unwrap_or(Syndrome::Ok), self.mask)
    }
}
