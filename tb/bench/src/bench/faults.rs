// SPDX-License-Identifier: Apache-2.0
//! Page faults: what the unit tells, what it may answer, and the answers of the host.
//!
//! What is not known from outside, and so accepted wherever it is possible:
//!
//! * RETRY for want of a slot: faults that nobody has read yet count too, and one long request may
//!   have several. It is accepted if the slots of its partition (of one lane) could be full at any
//!   time since the request came in:
//!   of faults that are open, or were answered since; of pages that were absent, of requests that
//!   are inside, or that ended with a refusal when the host had not seen yet that no fault waits.
//! * RETRY because the client is starved: accepted if it has offered a request that was not taken
//!   while the request was inside.
//! * RETRY because of a fence: accepted if a command that may need one was under way meanwhile.
//!
//! * Whether a fault was held: a tag may be in use again when the fault is read.
//!
//! The directed tests rule each of them out in turn.

use std::sync::Arc;

use tpt_golden::frames::PagedList;
use tpt_golden::mem::PhysMem;
use tpt_golden::queue::may_pend;
use tpt_golden::regs;
use tpt_golden::types::{flag, Access, Beat, CmdOp, Command, Key, Op, Request, Status, Syndrome};
use tpt_golden::types::{LEVEL_FLAT, LEVEL_INLINE};
use tpt_golden::unit::Region;

use super::{page_of, Bench, CommandExtra, Live, Posted, Source, STREAMS};
use crate::client::Ticket;
use crate::error::BenchError;
use crate::paging::{Answer, FaultHandler, PageFault};

/// Ids of the commands that answer faults on behalf of a handler.
const ANSWER_IDS: std::ops::RangeInclusive<u16> = 0xff00..=0xffff;
/// Answered requests that a fault may still be told of.
const PAST: usize = 4096;
/// Clocks in which a fault of a request that has ended shows in FAULT_COUNT, at most.
const LAG: u64 = 32;

/// A request that was answered, or dropped by a client reset.
struct Past {
    ticket: Ticket,
    client: usize,
    request: Request,
    accepted: u64,
    ended: u64,
    /// It came through: no fault of it can be open.
    good: bool,
    /// Faults that it may have had.
    left: u64,
}

/// A page that a request has got an address of.
#[derive(Clone, Copy, Debug)]
struct Used {
    region: (u32, u8),
    page: u64,
    pa: u64,
}

/// What the bench knows of page faults.
#[derive(Default)]
pub(super) struct Faults {
    handler: Option<Box<dyn FaultHandler>>,
    /// Handlers answer through the command queue.
    through_queue: bool,
    /// Told and not answered, oldest first.
    open: Vec<PageFault>,
    past: std::collections::VecDeque<Past>,
    /// Requests that were refused by the host.
    refused: std::collections::HashSet<Ticket>,
    /// Requests with a fault that was held, and how many of such came through.
    waited: std::collections::HashSet<Ticket>,
    resumed: u64,
    /// Pages of on-demand regions that requests without `done` hold: by client and tag.
    used: std::collections::HashMap<(usize, u16), Vec<Used>>,
    next_id: u16,
    /// Latest clock in which a command that may need a fence was under way.
    fenced: u64,
    /// Latest clock in which a client offered a request in vain.
    starved: Vec<u64>,
    /// Latest clock of a reset of a client.
    reset: Vec<u64>,
    /// Faults told since the start.
    told: u64,
    interrupt: bool,
    /// There may be more to take, without another interrupt.
    more: bool,
    /// Latest clock in which no fault waited to be taken; slots of the last ones that were answered,
    /// and when.
    empty: u64,
    closed: std::collections::VecDeque<(u32, u64)>,
    /// What a host has read last: FAULT_INFO, FAULT_PAGE_LO and FAULT_PAGE_HI.
    read: [u32; 3],
}

impl Faults {
    pub(super) fn new(clients: usize) -> Self {
        Self {
            starved: vec![0; clients],
            reset: vec![0; clients],
            ..Self::default()
        }
    }

    /// The unit was reset, or enabled again.
    pub(super) fn forget(&mut self, everything: bool) {
        self.open.clear();
        self.closed.clear();
        self.past.clear();
        self.refused.clear();
        self.waited.clear();
        if everything {
            self.used.clear();
            self.interrupt = false;
        }
    }

    pub(super) fn released(&mut self, client: usize, tag: u16) {
        self.used.remove(&(client, tag));
    }

    pub(super) fn client_reset(&mut self, client: usize, now: u64) {
        self.used.retain(|(other, _), _| *other != client);
        self.reset[client] = now;
    }
}

/// Pages that the request touches, counted in its region: first and number.
fn pages_of(region: &Region, request: &Request) -> (u64, u64) {
    let first = page_of(region, request.va);
    let last = page_of(region, request.va.wrapping_add(u64::from(request.len) - 1));
    (first, last - first + 1)
}

fn writes(request: &Request) -> bool {
    request.operation().is_some_and(Op::writes)
}

fn is_paged(region: &Region) -> bool {
    region.access.contains(Access::ON_DEMAND) && region.level != LEVEL_INLINE
}

/// PAGE_READY under way: the slot is free when it completes.
fn is_answer_of_host(posted: &Posted) -> bool {
    posted.command.op == CmdOp::PageReady.code()
}

impl Bench {
    /// Answers page faults from now on, whenever the bench runs; `None`: nobody does. It is told by
    /// the interrupt.
    pub fn set_fault_handler(&mut self, handler: Option<Box<dyn FaultHandler>>) {
        self.faults.handler = handler;
    }

    /// Through which channel a handler answers: the command queue, if it is on, or the command
    /// channel.
    pub fn answer_through_queue(&mut self, on: bool) {
        self.faults.through_queue = on;
    }

    /// Faults that were told and wait for an answer.
    pub fn open_faults(&self) -> &[PageFault] {
        &self.faults.open
    }

    /// Open faults whose answer is not on its way yet.
    pub fn unanswered_faults(&self) -> Vec<PageFault> {
        let answers = self.posted.iter().chain(&self.commands);
        let answers = answers.chain(&self.command_driving);
        let on_their_way: Vec<u32> = answers
            .filter(|posted| posted.command.op == CmdOp::PageReady.code())
            .map(|posted| posted.command.key.0)
            .collect();
        let open = self.faults.open.iter().copied();
        open.filter(|fault| {
            let slot = u32::from(fault.slot);
            !on_their_way.contains(&slot) && !self.queue_answers(slot)
        })
        .collect()
    }

    /// Faults that were told since the start.
    pub fn faults_told(&self) -> u64 {
        self.faults.told
    }

    /// Requests that were held for a page fault and came through.
    pub fn faults_resumed(&self) -> u64 {
        self.faults.resumed
    }

    /// Takes the oldest page fault out of the registers; `None` if none waits.
    pub fn take_fault(&mut self, mem: &mut PhysMem) -> Result<Option<PageFault>, BenchError> {
        let began = self.clock;
        let waiting = self.read_register(mem, regs::FAULT_COUNT)? & regs::fault_count::WAITING;
        if waiting as usize > self.golden.fault_slots() {
            let slots = self.golden.fault_slots();
            self.mismatch(format!("{waiting} page faults wait in {slots} slots"))?;
        }
        let info = self.read_register(mem, regs::FAULT_INFO)?;
        let low = self.read_register(mem, regs::FAULT_PAGE_LO)?;
        let high = self.read_register(mem, regs::FAULT_PAGE_HI)?;
        let Some(fault) = PageFault::from_registers(info, low, high, self.clock) else {
            self.faults.empty = began;
            if waiting > 0 {
                self.mismatch(format!("{waiting} page faults, but FAULT_INFO says none"))?;
            }
            return Ok(None);
        };
        self.write_register(mem, regs::FAULT_POP, regs::fault_pop::POP)?;
        self.faults.told += 1;
        let fault = self.judge_fault(fault)?;
        self.faults.open.push(fault);
        Ok(Some(fault))
    }

    /// A host has read a register.
    pub(super) fn fault_read(&mut self, address: u16, value: u32) {
        let registers = [regs::FAULT_INFO, regs::FAULT_PAGE_LO, regs::FAULT_PAGE_HI];
        if let Some(place) = registers.iter().position(|register| *register == address) {
            self.faults.read[place] = value;
        }
    }

    /// A host has taken the page fault that it has read.
    pub(super) fn fault_popped(&mut self) -> Result<(), BenchError> {
        let [info, low, high] = std::mem::take(&mut self.faults.read);
        match PageFault::from_registers(info, low, high, self.clock) {
            None => self.mismatch("FAULT_POP without a page fault that was read before".into()),
            Some(fault) => {
                self.faults.told += 1;
                let fault = self.judge_fault(fault)?;
                self.faults.open.push(fault);
                Ok(())
            }
        }
    }

    /// Waits until a page fault waits, and takes it.
    pub fn wait_fault(&mut self, mem: &mut PhysMem) -> Result<PageFault, BenchError> {
        let end = self.clock + self.options.patience;
        loop {
            if let Some(fault) = self.take_fault(mem)? {
                return Ok(fault);
            }
            if self.clock > end {
                return self
                    .timeout("a page fault")
                    .map(|()| unreachable!("a wait that fails is an error"));
            }
            self.run_quietly(mem, 4)?;
        }
    }

    /// The command that answers a fault.
    pub fn page_ready(&self, id: u16, slot: u8, refuse: bool) -> Command {
        Command {
            id,
            op: CmdOp::PageReady.code(),
            key: Key(slot.into()),
            flags: if refuse { flag::REFUSE } else { 0 },
            ..Command::default()
        }
    }

    /// Posts the answer to an open fault; its completion is compared, and not handed out.
    pub fn answer_fault(
        &mut self,
        mem: &mut PhysMem,
        slot: u8,
        refuse: bool,
    ) -> Result<(), BenchError> {
        let command = self.answer(slot, refuse);
        if self.faults.through_queue && self.queue_config().is_some() {
            self.queue_refresh(mem)?;
            if self.queue_post(mem, command, CommandExtra::default()) {
                return self.queue_ring(mem);
            }
        }
        self.post(command, CommandExtra::default());
        Ok(())
    }

    /// [`Bench::answer_fault`] through the command channel, in any case.
    pub fn answer_open(&mut self, slot: u8, refuse: bool) {
        let command = self.answer(slot, refuse);
        self.post(command, CommandExtra::default());
    }

    fn answer(&mut self, slot: u8, refuse: bool) -> Command {
        let mut id = self.faults.next_id | *ANSWER_IDS.start();
        while self.is_id_in_use(id) {
            id = id.wrapping_add(1) | *ANSWER_IDS.start();
        }
        self.faults.next_id = id.wrapping_add(1);
        self.page_ready(id, slot, refuse)
    }

    /// True for commands of [`Bench::answer_fault`].
    pub(super) fn is_answer(command: &Command) -> bool {
        command.op == CmdOp::PageReady.code() && ANSWER_IDS.contains(&command.id)
    }

    /// Handles the faults that wait, if there is a handler and the interrupt is up.
    pub(super) fn serve_faults(&mut self, mem: &mut PhysMem) -> Result<(), BenchError> {
        if self.faults.handler.is_none() || self.golden.fault_slots() == 0 {
            return Ok(());
        }
        if !self.faults.interrupt {
            self.faults.interrupt = true;
            let enabled = self.read_register(mem, regs::INT_ENABLE)?;
            let value = enabled | regs::int_enable::PAGE_FAULT;
            self.write_register(mem, regs::INT_ENABLE, value)?;
        }
        if !self.irq() && !self.faults.more {
            return Ok(());
        }
        if self.irq() {
            let bit = regs::int_status::PAGE_FAULT;
            if self.read_register(mem, regs::INT_STATUS)? & bit == 0 {
                return Ok(());
            }
            self.write_register(mem, regs::INT_STATUS, bit)?;
        }
        // A handler that lies gets the next fault at once: its answers must not keep this busy.
        self.faults.more = true;
        for _ in 0..self.golden.fault_slots() {
            let Some(fault) = self.take_fault(mem)? else {
                self.faults.more = false;
                break;
            };
            let Some(mut handler) = self.faults.handler.take() else {
                break;
            };
            let answer = handler.handle(mem, &fault, self.clock);
            self.faults.handler = Some(handler);
            match answer {
                Answer::Ready => self.answer_fault(mem, fault.slot, false)?,
                Answer::Refuse => self.answer_fault(mem, fault.slot, true)?,
                Answer::Later => {}
            }
        }
        Ok(())
    }

    /// In every clock.
    pub(super) fn observe_faults(&mut self, now: u64) {
        for client in 0..self.clients.len() {
            if self.inputs.req_valid[client] && !self.outputs.req_ready[client] {
                self.faults.starved[client] = now;
            }
        }
        let fences = |posted: &Posted| may_pend(posted.command.op);
        if self.posted.iter().any(fences) {
            self.faults.fenced = now;
        }
    }

    /// A command was accepted: does it answer a fault?
    pub(super) fn fault_answered(&mut self, command: &Command, good: bool) {
        if command.op != CmdOp::PageReady.code() || !good {
            return;
        }
        let slot = command.key.0;
        let open = &mut self.faults.open;
        let Some(place) = open.iter().position(|fault| u32::from(fault.slot) == slot) else {
            return;
        };
        let fault = open.remove(place);
        if command.flags & flag::REFUSE != 0 {
            self.faults.refused.extend(fault.maybe);
        }
    }

    /// A command has completed: has it freed the slot of a fault?
    pub(super) fn fault_closed(&mut self, command: &Command, status: Status, now: u64) {
        if command.op != CmdOp::PageReady.code() || status != Status::Ok {
            return;
        }
        if self.faults.closed.len() == PAST {
            self.faults.closed.pop_front();
        }
        self.faults.closed.push_back((command.key.0, now));
    }

    /// Into how many shares the slots of a lane are divided: one for each partition, if there are so
    /// many slots.
    fn slot_shares(&self) -> u32 {
        let lanes = self.options.config.sizes().lanes.max(1);
        let slots = self.golden.fault_slots() as u32 / lanes;
        (1 << self.unit.tenants.log_parts).min(slots).max(1)
    }

    /// The share of a request: its slots are the ones that are equal to it modulo the shares.
    fn share_of(&self, request: &Request) -> u32 {
        u32::from(self.unit.tenants.part(request.pd)) % self.slot_shares()
    }

    /// The regions that a request to a key can have met.
    fn regions_met(&self, key: Key, from: u64, to: u64) -> Vec<Arc<Region>> {
        let index = self.golden.keys().decode(key).1;
        self.golden
            .incarnations(index)
            .filter(|known| known.life.may_live(from, to))
            .map(|known| Arc::clone(&known.region))
            .collect()
    }

    /// Is it a fault of a request that is or was inside, at a page that was not there?
    fn judge_fault(&mut self, mut fault: PageFault) -> Result<PageFault, BenchError> {
        if let Err(error) = self.golden.fault_told(fault.slot.into()) {
            self.mismatch(format!("{fault:?}: {error}"))?;
        }
        let now = self.clock;
        let client = usize::from(fault.client);
        let live: Vec<(Ticket, Request, u64, u64, u64)> = self
            .streams
            .iter()
            .skip(client * STREAMS)
            .take(STREAMS)
            .flatten()
            .map(|live| (live.ticket, live.request, live.accepted, now, live.pages))
            .collect();
        let past = self.faults.past.iter().rev();
        let past = past.filter(|past| past.client == client && !past.good);
        let past = past.map(|p| (p.ticket, p.request, p.accepted, p.ended, 0));
        let mut why = Vec::new();
        let mut found = Vec::new();
        for (ticket, request, from, to, answered) in live.into_iter().chain(past) {
            if request.tag != fault.tag || request.len == 0 {
                continue;
            }
            if u32::from(fault.slot) % self.slot_shares() != self.share_of(&request) {
                why.push(format!("{request:?} has no share of that slot"));
                continue;
            }
            if writes(&request) != fault.write {
                why.push(format!("{request:?} does not need that"));
                continue;
            }
            for region in self.regions_met(request.key, from, to) {
                if region.index != fault.index || !is_paged(&region) {
                    why.push(format!("{request:?} goes to another region"));
                    continue;
                }
                let before = match region.level {
                    LEVEL_FLAT => region.frame[0] >> 3 & 0x1ff,
                    _ => 0,
                };
                let (first, pages) = pages_of(&region, &request);
                let page = fault.number.wrapping_sub(before);
                let inside = page >= first + answered && page < first + pages;
                let met = region.pages_met(page, fault.write, from, to);
                if !inside || !met.contains(&Err(Syndrome::Retry)) {
                    let left = first + answered..first + pages;
                    why.push(format!(
                        "{request:?}: pages {left:?}, page {page} was {met:?}"
                    ));
                    continue;
                }
                found.push((ticket, page));
            }
        }
        match found.as_slice() {
            [(ticket, page), others @ ..] => {
                // One before it may have had the tag, and the fault.
                let certain = others.iter().all(|(other, _)| other == ticket);
                fault.maybe = self.is_inside(client, *ticket).then_some(*ticket);
                fault.ticket = fault.maybe.filter(|_| certain);
                if fault.held {
                    self.faults.waited.extend(fault.ticket);
                }
                fault.page = *page;
            }
            [] => {
                let why = why.join("; ");
                self.mismatch(format!("{fault:?} is of no request: {why}"))?;
            }
        }
        Ok(fault)
    }

    fn is_inside(&self, client: usize, ticket: Ticket) -> bool {
        let streams = self.streams.iter().skip(client * STREAMS).take(STREAMS);
        streams.flatten().any(|live| live.ticket == ticket)
    }

    /// A beat that its walk allows, of a request to an on-demand region: is there a reason for it?
    /// `Err`: why not.
    pub(super) fn judge_paged(
        &self,
        c: usize,
        live: &Live,
        beat: &Beat,
        now: u64,
    ) -> Result<(), String> {
        let reached = live.candidates.iter().filter_map(|c| c.reached.as_ref());
        let regions: Vec<&Arc<Region>> = reached.collect();
        match beat.syndrome {
            Syndrome::Ok if beat.len > 0 => {
                let of_this = |fault: &&PageFault| {
                    fault.held && fault.ticket == Some(live.ticket) && fault.clock < now
                };
                let Some(region) = regions.first().filter(|region| is_paged(region)) else {
                    return Ok(());
                };
                // live.pages counts the pages of this beat as well.
                let end = page_of(region, live.request.va) + live.pages;
                match self
                    .faults
                    .open
                    .iter()
                    .filter(of_this)
                    .find(|f| f.page < end)
                {
                    Some(fault) => Err(format!("handed out while {fault:?} is open")),
                    None => Ok(()),
                }
            }
            Syndrome::MttAbsent if regions.iter().all(|region| is_paged(region)) => {
                match self.faults.refused.contains(&live.ticket) {
                    true => Ok(()),
                    false => Err("MTT_ABSENT, but the host has refused no page of it".to_owned()),
                }
            }
            Syndrome::Retry => self.judge_retry(c, live, now),
            _ => Ok(()),
        }
    }

    /// Did something happen since that ends the wait of held requests of a client?
    fn must_not_wait(&self, c: usize, since: u64) -> bool {
        let faults = &self.faults;
        let happened = [
            faults.starved[c],
            faults.fenced,
            faults.reset[c],
            self.last_death,
        ];
        !self.golden.is_ready() || happened.iter().any(|clock| *clock >= since)
    }

    /// How many faults a request may have had at a time, told or not: as many as there are pages of it
    /// that were absent, or looked so in an old line, and not more than there are contexts.
    fn possible_faults(&self, live: &Live, now: u64) -> u64 {
        let (request, from) = (&live.request, live.accepted);
        if request.len == 0 {
            return 0;
        }
        let contexts = self.options.config.sizes().contexts as usize;
        let write = writes(request);
        let count = |region: &Arc<Region>| {
            let (first, pages) = pages_of(region, request);
            (first..first + pages)
                .filter(|page| region.may_fault(*page, write, from, now))
                .take(contexts + 1)
                .count() as u64
        };
        let regions = self.regions_met(request.key, from, now);
        let paged = regions.iter().filter(|region| is_paged(region));
        paged.map(count).max().unwrap_or(0)
    }

    fn judge_retry(&self, c: usize, live: &Live, now: u64) -> Result<(), String> {
        let since = live.accepted;
        let faults = &self.faults;
        if self.must_not_wait(c, since) {
            return Ok(());
        }
        // Only those of its share count: what other partitions do takes no slot away.
        let (shares, share) = (self.slot_shares(), self.share_of(&live.request));
        let here = |slot: u32| slot % shares == share;
        let inside = self.streams.iter().flatten().chain([live]);
        let possible: u64 = inside
            .filter(|live| self.share_of(&live.request) == share)
            .map(|live| self.possible_faults(live, now))
            .sum();
        let open = faults.open.iter().filter(|f| here(f.slot.into()));
        let waiting = open.count() as u64;
        let leaving = self
            .posted
            .iter()
            .filter(|posted| is_answer_of_host(posted) && here(posted.command.key.0))
            .count() as u64;
        let answered = faults
            .closed
            .iter()
            .filter(|(slot, clock)| here(*slot) && *clock >= since)
            .count() as u64;
        let untold = |past: &&Past| {
            !past.good && past.ended + LAG >= faults.empty && self.share_of(&past.request) == share
        };
        let owed: u64 = faults
            .past
            .iter()
            .filter(untold)
            .map(|past| past.left)
            .sum();
        // The page that is answered RETRY has no slot itself. A region has those of its lane only;
        // which lane that is, and so which faults are in it, is not looked at.
        let slots = self.golden.fault_slots() as u64;
        let full = slots / u64::from(self.options.config.sizes().lanes.max(1) * shares);
        if possible + waiting + leaving + answered + owed > full {
            return Ok(());
        }
        Err(format!(
            "RETRY without a reason: since clock {since} no fence, client not starved, {waiting} \
             of {full} slots of its share open at clock {now}"
        ))
    }

    /// Pages that a beat has given out; `pages` of them, the last ones of the request so far.
    pub(super) fn note_pages(&mut self, c: usize, live: &Live, beat: &Beat, pages: u64) {
        let Some(region) = live.candidates.last().and_then(|c| c.reached.as_ref()) else {
            return;
        };
        if !is_paged(region) || !live.owes_done {
            return;
        }
        let size = 1u64 << region.log_page;
        let first = page_of(region, live.request.va) + live.pages - pages;
        let used = self.faults.used.entry((c, live.request.tag)).or_default();
        used.extend((0..pages).map(|k| Used {
            region: (region.index, region.first_gen),
            page: first + k,
            pa: (beat.pa & !(size - 1)).wrapping_add(k * size),
        }));
    }

    /// A request is not inside any more.
    pub(super) fn note_past(&mut self, c: usize, live: &Live, good: bool, now: u64) {
        if self.golden.fault_slots() == 0 || live.request.len == 0 {
            return;
        }
        if self.faults.past.len() == PAST {
            self.faults.past.pop_front();
        }
        let left = match good {
            true => 0,
            false => self.possible_faults(live, now),
        };
        self.faults.refused.remove(&live.ticket);
        if self.faults.waited.remove(&live.ticket) && good {
            self.faults.resumed += 1;
        }
        for fault in &mut self.faults.open {
            if fault.maybe == Some(live.ticket) {
                (fault.ticket, fault.maybe) = (None, None);
            }
        }
        self.faults.past.push_back(Past {
            ticket: live.ticket,
            client: c,
            request: live.request,
            accepted: live.accepted,
            ended: now,
            good,
            left,
        });
    }

    /// INVALIDATE_RANGE has completed: nobody uses an old page, and nobody will.
    pub(super) fn range_invalidated(
        &mut self,
        command: &Command,
        accepted: u64,
        now: u64,
    ) -> Result<(), BenchError> {
        let index = self.golden.keys().decode(command.key).1;
        let Some(region) = self.golden.current(index).cloned() else {
            return Ok(());
        };
        let Some(list) = region.pages.paged() else {
            return Ok(());
        };
        let base = region.start - region.first_offset();
        let first = (command.start - base) >> region.log_page;
        let last = (command.start - base + (command.length - 1)) >> region.log_page;
        list.invalidated(first..last + 1, accepted, now);
        let owner = (region.index, region.first_gen);
        self.still_used(owner, first..last + 1, list)
    }

    fn still_used(
        &mut self,
        owner: (u32, u8),
        pages: std::ops::Range<u64>,
        list: &PagedList,
    ) -> Result<(), BenchError> {
        let mut text = None;
        for ((client, tag), used) in &self.faults.used {
            let old = used.iter().find(|used| {
                used.region == owner
                    && pages.contains(&used.page)
                    && !list.in_use(used.page, used.pa)
            });
            if let Some(old) = old {
                text = Some(format!(
                    "INVALIDATE_RANGE finished while client {client} is not done with tag {tag}: {old:?}"
                ));
            }
        }
        text.map_or(Ok(()), |text| self.mismatch(text))
    }

    /// `n` clocks in which no handler runs.
    pub fn run_quietly(&mut self, mem: &mut PhysMem, n: u64) -> Result<(), BenchError> {
        (0..n).try_for_each(|_| self.step(mem))
    }

    /// Answers of handlers that have no completion yet.
    pub fn answers_pending(&self) -> usize {
        let direct = self.posted.iter().chain(&self.commands);
        let all = direct.chain(&self.command_driving);
        all.filter(|posted| Self::is_answer(&posted.command))
            .count()
    }

    /// Was it posted through this channel?
    pub(super) fn silent(posted: &Posted) -> bool {
        matches!(posted.source, Source::Direct | Source::Queue) && Self::is_answer(&posted.command)
    }
}
