// SPDX-License-Identifier: Apache-2.0
//! The unit as a host sees it: registers, and queues in memory, on top of the rules of
//! [`mod@crate::unit`]. Pure software: a driver can be run against it without any RTL.
//!
//! A command is executed by [`Device::step`], one for each call, so that a driver has to wait as it
//! has to with hardware. The true pages of a region are handed in with [`Device::expect_pages`]; the
//! tables in memory are never looked at.
//!
//! A request that meets a page fault is held until the host's answer, as in hardware:
//! [`Device::poll`] then has its beats. There is no traffic that would starve a client, so of the
//! reasons not to wait only a fence, a stop and the want of a slot are left.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::codec::MPT_BYTES;
use crate::frames::Translation;
use crate::keys::KeyMaker;
use crate::mem::PhysMem;
use crate::queue::{self, Slot, SLOT_BYTES};
use crate::regs;
use crate::types::LEVEL_FLAT;
use crate::types::{flag, Beat, CmdOp, Command, Completion, Op, Request, Status, Syndrome};
use crate::unit::Golden;

/// A register access that is answered SLVERR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("register access at {0:#05x} is answered SLVERR")]
pub struct Slverr(pub u16);

/// What [`regs::CAP`] reads: the sizes of the configuration `small`.
const CAP: u32 = regs::put(regs::cap::CLIENTS, 2)
    | regs::put(regs::cap::MAX_LEVELS, MAX_LEVELS as u32)
    | regs::put(regs::cap::LOG_STREAMS, 4)
    | regs::put(regs::cap::LOG_CTX, 4)
    | regs::put(regs::cap::LOG_MPT_SETS, 5)
    | regs::put(regs::cap::LOG_MPT_WAYS, 1)
    | regs::put(regs::cap::LOG_MTT_SETS, 5)
    | regs::put(regs::cap::LOG_MTT_WAYS, 2)
    | regs::put(regs::cap::MERGE, 1);
/// Slots for page faults of a unit without hardware.
pub const FAULT_SLOTS: usize = 4;
/// What [`regs::CAP2`] reads: everything but host windows and what parts tenants.
const CAP2: u32 = regs::Features {
    queues: true,
    host_windows: 0,
    checked: true,
    fault_slots: FAULT_SLOTS as u32,
    guess_alarm: false,
    alarm_pds: 16,
    refusal_time: false,
    partitions: 1,
}
.cap2();
/// Levels that [`CAP`] tells.
const MAX_LEVELS: u8 = 3;

/// Queues that are enabled.
#[derive(Debug)]
struct Queues {
    commands: u64,
    command_mask: u16,
    completions: u64,
    completion_mask: u16,
    head: u16,
    tail: u16,
    /// Slot of the next completion, its phase, and the host's head.
    written: u16,
    phase: bool,
    taken: u16,
}

impl Queues {
    /// Slots of the completion queue that may be written.
    fn room(&self) -> u16 {
        let used = self.written.wrapping_sub(self.taken) & self.completion_mask;
        self.completion_mask - used
    }
}

/// A page fault that nobody has taken yet: the registers that tell it.
#[derive(Clone, Copy, Debug)]
struct Fault {
    slot: usize,
    info: u32,
    page: u64,
    high: u32,
}

/// The unit with its registers.
#[derive(Debug)]
pub struct Device {
    /// The rules.
    pub golden: Golden,
    /// Commands that wait for a fence are answered PENDING, until [`Device::release_fences`].
    pub hold_fences: bool,
    /// Memory refuses the writes with which the table is cleared.
    pub fail_clearing: bool,
    values: BTreeMap<u16, u32>,
    clearing: bool,
    queues: Option<Queues>,
    arm: bool,
    held: Vec<Completion>,
    ready_answers: VecDeque<Completion>,
    pages: VecDeque<Option<Translation>>,
    log: VecDeque<u32>,
    faults: VecDeque<Fault>,
    /// Slots whose fault has no answer yet.
    slots: BTreeSet<usize>,
    /// Requests that wait for PAGE_READY, by slot.
    waiting: BTreeMap<usize, (u32, Request)>,
    answers: VecDeque<(u32, Vec<Beat>)>,
    clock: u64,
}

impl Default for Device {
    fn default() -> Self {
        Self::new()
    }
}

impl Device {
    /// A unit after its reset.
    pub fn new() -> Self {
        let mut golden = Golden::new(KeyMaker::new([0; 4], [0; 4], false), 1, MAX_LEVELS);
        golden.build_with(true, FAULT_SLOTS);
        Self {
            golden,
            hold_fences: false,
            fail_clearing: false,
            values: BTreeMap::new(),
            clearing: false,
            queues: None,
            arm: false,
            held: Vec::new(),
            ready_answers: VecDeque::new(),
            pages: VecDeque::new(),
            log: VecDeque::new(),
            faults: VecDeque::new(),
            slots: BTreeSet::new(),
            waiting: BTreeMap::new(),
            answers: VecDeque::new(),
            clock: 0,
        }
    }

    /// The true pages of the next command, for those that bring a table; `None` for others.
    pub fn expect_pages(&mut self, pages: Option<Translation>) {
        self.pages.push_back(pages);
    }

    fn value(&self, offset: u16) -> u32 {
        self.values.get(&offset).copied().unwrap_or(0)
    }

    fn set(&mut self, offset: u16, bits: u32) {
        *self.values.entry(offset).or_default() |= bits;
    }

    fn pair(&self, low: u16) -> u64 {
        u64::from(self.value(low)) | u64::from(self.value(low + 4)) << 32
    }

    fn enabled(&self) -> bool {
        self.value(regs::CTRL) & regs::ctrl::ENABLE != 0
    }

    /// Whether the interrupt is raised.
    pub fn irq(&self) -> bool {
        self.value(regs::INT_STATUS) & self.value(regs::INT_ENABLE) != 0
    }

    fn status(&self) -> u32 {
        let bit = |on, bit| if on { bit } else { 0 };
        let failed = self.enabled() && !self.clearing && !self.golden.is_ready();
        bit(self.golden.is_ready(), regs::status::READY)
            | bit(self.clearing, regs::status::CLEARING)
            | bit(failed, regs::status::CLEAR_ERROR)
            | bit(!self.held.is_empty(), regs::status::FENCE_BUSY)
            | regs::status::IDLE
            | bit(self.enabled(), regs::status::LOCKED)
    }

    fn busy(&self) -> bool {
        !self.held.is_empty()
            || !self.ready_answers.is_empty()
            || self.queues.as_ref().is_some_and(|q| q.head != q.tail)
    }

    /// Reads a register.
    pub fn read32(&self, offset: u16) -> Result<u32, Slverr> {
        let queue = self.queues.as_ref();
        Ok(match offset {
            regs::ID => regs::ID_VALUE,
            regs::VERSION => regs::VERSION_VALUE,
            regs::CAP => CAP,
            regs::CAP2 => CAP2,
            regs::STATUS => self.status(),
            regs::QUEUE_CTRL => {
                let bit = |on, bit| if on { bit } else { 0 };
                bit(queue.is_some(), regs::queue_ctrl::ENABLE)
                    | bit(self.arm, regs::queue_ctrl::ARM)
            }
            regs::QUEUE_STATUS => match (queue.is_some(), self.busy()) {
                (true, true) => regs::queue_status::ENABLED | regs::queue_status::BUSY,
                (true, false) => regs::queue_status::ENABLED,
                (false, true) => regs::queue_status::BUSY,
                (false, false) => 0,
            },
            regs::CMDQ_HEAD => queue.map_or(0, |q| q.head.into()),
            regs::CPLQ_TAIL => queue.map_or(0, |q| q.written.into()),
            regs::FAULT_COUNT => self.faults.len() as u32,
            regs::FAULT_INFO => self.faults.front().map_or(0, |fault| fault.info),
            regs::FAULT_PAGE_LO => self.faults.front().map_or(0, |fault| fault.page as u32),
            regs::FAULT_PAGE_HI => self.faults.front().map_or(0, |fault| fault.high),
            regs::FAULT_POP => 0,
            _ => {
                let entry = |n: u16| offset == regs::LOG + 4 * n;
                if let Some(n) = (0..4).find(|n| entry(*n)) {
                    return Ok(self.log.get(usize::from(n)).copied().unwrap_or(0));
                }
                let register = find(offset).ok_or(Slverr(offset))?;
                match register.fields.iter().all(|f| f.access == regs::Access::Wo) {
                    true => 0,
                    false => self.values.get(&offset).copied().unwrap_or(register.reset),
                }
            }
        })
    }

    /// Writes a register.
    pub fn write32(&mut self, offset: u16, value: u32) -> Result<(), Slverr> {
        let refused = Err(Slverr(offset));
        let Some(register) = find(offset) else {
            return refused;
        };
        let locked = match register.lock {
            Some("locked") => self.enabled(),
            Some("queue_locked") => self.queues.is_some() || self.busy(),
            Some(_) => true,
            None => false,
        };
        if !register.writable() || locked {
            return refused;
        }
        match offset {
            regs::CTRL => return self.control(value),
            regs::QUEUE_CTRL => return self.queue_control(value),
            regs::CMDQ_TAIL | regs::CPLQ_HEAD => return self.doorbell(offset, value),
            regs::ERROR | regs::INT_STATUS => {
                *self.values.entry(offset).or_default() &= !value;
            }
            regs::CLIENT_RESET => {}
            regs::FAULT_POP => {
                if value & regs::fault_pop::POP != 0 {
                    if let Some(fault) = self.faults.pop_front() {
                        let told = self.golden.fault_told(fault.slot);
                        debug_assert!(told.is_ok(), "{told:?}");
                    }
                }
            }
            _ => {
                self.values.insert(offset, value);
            }
        }
        Ok(())
    }

    fn control(&mut self, value: u32) -> Result<(), Slverr> {
        let was = self.value(regs::CTRL);
        let locked = regs::ctrl::PLAIN | regs::ctrl::MERGE | regs::ctrl::PHYS;
        if value & regs::ctrl::ENABLE == 0 {
            self.values.insert(regs::CTRL, value);
            self.clearing = false;
            self.end_waits();
            self.golden.disabled(self.clock);
            return Ok(());
        }
        if self.enabled() {
            return match (was ^ value) & locked {
                0 => Ok(()),
                _ => Err(Slverr(regs::CTRL)),
            };
        }
        let (base, size) = (self.pair(regs::MPT_BASE_LO), self.value(regs::MPT_SIZE));
        let bytes = u64::from(size) * MPT_BYTES as u64;
        if base % 4096 != 0
            || size == 0
            || size > regs::MAX_MPT_SIZE
            || base.checked_add(bytes - 1).is_none()
        {
            return Err(Slverr(regs::CTRL));
        }
        let secret = |first: u16| std::array::from_fn(|n| self.value(first + 4 * n as u16));
        let keys = KeyMaker::new(
            secret(regs::PERM_SECRET),
            secret(regs::TAG_SECRET),
            value & regs::ctrl::PLAIN != 0,
        );
        self.golden.configure(keys, size);
        self.golden.allow_phys(value & regs::ctrl::PHYS != 0);
        self.golden.enable(self.clock);
        self.faults.clear();
        self.slots.clear();
        self.clearing = true;
        self.values.insert(regs::CTRL, value);
        Ok(())
    }

    fn queue_control(&mut self, value: u32) -> Result<(), Slverr> {
        let enable = value & regs::queue_ctrl::ENABLE != 0;
        self.arm = enable && (self.arm || value & regs::queue_ctrl::ARM != 0);
        if !enable {
            self.queues = None;
            self.ready_answers.clear();
            return Ok(());
        }
        if self.queues.is_some() {
            return Ok(());
        }
        let sizes = (
            self.value(regs::CMDQ_LOG_SIZE) as u8,
            self.value(regs::CPLQ_LOG_SIZE) as u8,
        );
        if self.busy()
            || !queue::CMDQ_LOG_RANGE.contains(&sizes.0)
            || !queue::CPLQ_LOG_RANGE.contains(&sizes.1)
        {
            return Err(Slverr(regs::QUEUE_CTRL));
        }
        let mask = |log: u8| ((1u32 << log) - 1) as u16;
        self.queues = Some(Queues {
            commands: self.pair(regs::CMDQ_BASE_LO),
            command_mask: mask(sizes.0),
            completions: self.pair(regs::CPLQ_BASE_LO),
            completion_mask: mask(sizes.1),
            head: 0,
            tail: 0,
            written: 0,
            phase: true,
            taken: 0,
        });
        Ok(())
    }

    fn doorbell(&mut self, offset: u16, value: u32) -> Result<(), Slverr> {
        let moved = match (&mut self.queues, offset) {
            (Some(q), regs::CMDQ_TAIL) => {
                // The new tail is not in front of the old one, nor behind the head.
                let span = |to: u16| to.wrapping_sub(q.head) & q.command_mask;
                let fits = value <= q.command_mask.into() && span(value as u16) >= span(q.tail);
                if fits {
                    q.tail = value as u16;
                }
                fits
            }
            (Some(q), _) => {
                let span = |to: u16| to.wrapping_sub(q.taken) & q.completion_mask;
                let fits =
                    value <= q.completion_mask.into() && span(value as u16) <= span(q.written);
                if fits {
                    q.taken = value as u16;
                }
                fits
            }
            (None, _) => false,
        };
        if moved {
            self.values.insert(offset, value);
            return Ok(());
        }
        self.set(regs::ERROR, regs::error::DOORBELL);
        self.set(regs::INT_STATUS, regs::int_status::ERROR);
        Err(Slverr(offset))
    }

    /// Lets the unit do one thing: clear its table, execute a command, or write a completion.
    pub fn step(&mut self, mem: &mut PhysMem) {
        self.clock += 1;
        if self.clearing {
            self.clearing = false;
            if !self.fail_clearing {
                let base = self.pair(regs::MPT_BASE_LO);
                for entry in 0..u64::from(self.value(regs::MPT_SIZE)) {
                    mem.write(base + entry * MPT_BYTES as u64, &[0; MPT_BYTES]);
                }
                self.golden.ready(self.clock);
            }
            self.set(regs::INT_STATUS, regs::int_status::CLEAR_DONE);
            return;
        }
        let Some(queues) = &mut self.queues else {
            self.ready_answers.clear();
            return;
        };
        let room = queues.room();
        if let Some(answer) = self.ready_answers.pop_front() {
            if room == 0 {
                self.ready_answers.push_front(answer);
                return;
            }
            self.write_completion(mem, &answer);
            return;
        }
        let promised = self.held.len() as u16;
        if queues.head == queues.tail || room < promised + 2 {
            return;
        }
        let mut slot: Slot = [0; SLOT_BYTES];
        let place = queues.commands + SLOT_BYTES as u64 * u64::from(queues.head);
        mem.read(place, &mut slot);
        queues.head = queues.head.wrapping_add(1) & queues.command_mask;
        let pages = self.pages.pop_front().flatten();
        let answer = match queue::decode(&slot) {
            Ok(command) => self.execute(&command, pages),
            Err(status) => {
                let id = queue::get(queue::CMD_FIELDS, &slot, "id", 0) as u16;
                Completion::plain(id, slot[2], status)
            }
        };
        self.ready_answers.push_back(answer);
    }

    fn execute(&mut self, command: &Command, pages: Option<Translation>) -> Completion {
        let expected = self.golden.begin(command, pages, self.clock);
        let pending = Completion::plain(command.id, command.op, Status::Pending);
        if expected.status == Status::Ok && queue::may_pend(command.op) {
            self.end_waits();
        }
        if self.hold_fences
            && expected.status == Status::Ok
            && queue::may_pend(command.op)
            && self.golden.complete(&pending, self.clock).is_ok()
        {
            self.held.push(expected);
            self.set(regs::ERROR, regs::error::FENCE_TIME);
            return pending;
        }
        // The reference always takes back what it has foretold.
        let taken = self.golden.complete(&expected, self.clock);
        debug_assert!(taken.is_ok(), "{taken:?}");
        if command.op == CmdOp::PageReady.code() && expected.status == Status::Ok {
            let slot = command.key.0 as usize;
            self.slots.remove(&slot);
            if let Some((client, request)) = self.waiting.remove(&slot) {
                let refused = command.flags & flag::REFUSE != 0;
                self.look_again(client, request, refused.then_some(Syndrome::MttAbsent));
            }
        }
        expected
    }

    /// A held request goes on. `end`: how it ends if its page is still not there; `None`: it is held
    /// again.
    fn look_again(&mut self, client: u32, request: Request, end: Option<Syndrome>) {
        let mut beats = self.beats(&request);
        let fault = beats.last().is_some_and(|b| b.syndrome == Syndrome::Retry);
        match (fault, end) {
            (true, None) => {
                if let Some(beats) = self.hold(client, &request, beats) {
                    self.answers.push_back((client, beats));
                }
                return;
            }
            (true, Some(syndrome)) => beats.iter_mut().rev().take(1).for_each(|beat| {
                beat.syndrome = syndrome;
            }),
            (false, _) => {}
        }
        self.count(client, &request, &beats);
        self.answers.push_back((client, beats));
    }

    /// No request waits for the host any more. The slots stay in use.
    fn end_waits(&mut self) {
        for (client, request) in std::mem::take(&mut self.waiting).into_values() {
            self.look_again(client, request, Some(Syndrome::Retry));
        }
    }

    /// Ends the fences that were held: their final completions come.
    pub fn release_fences(&mut self) {
        self.hold_fences = false;
        for answer in std::mem::take(&mut self.held) {
            let taken = self.golden.complete(&answer, self.clock);
            debug_assert!(taken.is_ok(), "{taken:?}");
            self.ready_answers.push_back(answer);
        }
    }

    fn write_completion(&mut self, mem: &mut PhysMem, answer: &Completion) {
        let Some(queues) = &mut self.queues else {
            return;
        };
        let place = queues.completions + SLOT_BYTES as u64 * u64::from(queues.written);
        let mut slot: Slot = [0; SLOT_BYTES];
        mem.read(place, &mut slot);
        let mut put = |name, value| queue::put(queue::CPL_FIELDS, &mut slot, name, 0, value);
        put("id", answer.id.into());
        put("op", answer.op.into());
        put("status", answer.status.code().into());
        put("lkey", answer.lkey.0.into());
        put("rkey", answer.rkey.0.into());
        put("index", answer.index.into());
        put("cmdq_head", queues.head.into());
        put("phase", queues.phase.into());
        if answer.op == CmdOp::Query.code() && answer.status == Status::Ok {
            slot[64..].copy_from_slice(&answer.entry);
        }
        mem.write(place, &slot);
        queues.written = queues.written.wrapping_add(1) & queues.completion_mask;
        queues.phase ^= queues.written == 0;
        if std::mem::take(&mut self.arm) {
            self.set(regs::INT_STATUS, regs::int_status::COMPLETION);
        }
    }

    /// A request of a client: its beats. None of them are there if it waits for the answer to a page
    /// fault: then [`Device::poll`] will have them.
    pub fn request(&mut self, client: u32, request: &Request) -> Vec<Beat> {
        self.start(client, request).unwrap_or_default()
    }

    /// A request of a client, whose beats [`Device::poll`] will have.
    pub fn issue(&mut self, client: u32, request: &Request) {
        if let Some(beats) = self.start(client, request) {
            self.answers.push_back((client, beats));
        }
    }

    /// The beats of a request of [`Device::issue`], or of one that was held.
    pub fn poll(&mut self, client: u32) -> Option<Vec<Beat>> {
        let place = self.answers.iter().position(|(of, _)| *of == client)?;
        self.answers.remove(place).map(|(_, beats)| beats)
    }

    fn beats(&self, request: &Request) -> Vec<Beat> {
        self.golden.judge(request).beats(request).collect()
    }

    fn start(&mut self, client: u32, request: &Request) -> Option<Vec<Beat>> {
        let beats = self.beats(request);
        match beats.last() {
            Some(beat) if beat.syndrome == Syndrome::Retry => self.hold(client, request, beats),
            _ => {
                self.count(client, request, &beats);
                Some(beats)
            }
        }
    }

    /// A request that meets a page fault: it is told, if there is a slot, and waits, if it may.
    fn hold(&mut self, client: u32, request: &Request, beats: Vec<Beat>) -> Option<Vec<Beat>> {
        let region = self.golden.judge(request).region;
        let free = (0..FAULT_SLOTS).find(|slot| !self.slots.contains(slot));
        let may_wait = self.held.is_empty() && self.enabled();
        if let (Some(slot), Some(region)) = (free, region) {
            let first = request
                .va
                .wrapping_sub(region.base())
                .wrapping_add(region.first_offset());
            let before = match region.level {
                LEVEL_FLAT => region.frame[0] >> 3 & 0x1ff,
                _ => 0,
            };
            let page = (first >> region.log_page) + beats.len() as u64 - 1 + before;
            let bit = |on, bit| if on { bit } else { 0 };
            let writes = request.operation().is_some_and(Op::writes);
            self.slots.insert(slot);
            self.faults.push_back(Fault {
                slot,
                info: region.index
                    | bit(writes, regs::fault_info::WRITE)
                    | (slot as u32) << regs::fault_info::SLOT.trailing_zeros()
                    | regs::fault_info::VALID,
                page,
                high: (page >> 32) as u32
                    | u32::from(request.tag) << regs::fault_page_hi::TAG.trailing_zeros()
                    | client << regs::fault_page_hi::CLIENT.trailing_zeros()
                    | bit(may_wait, regs::fault_page_hi::HELD),
            });
            self.set(regs::INT_STATUS, regs::int_status::PAGE_FAULT);
            if may_wait {
                self.waiting.insert(slot, (client, *request));
                return None;
            }
        }
        self.count(client, request, &beats);
        Some(beats)
    }

    /// What an answer does to counters and log.
    fn count(&mut self, client: u32, request: &Request, beats: &[Beat]) {
        let mut count = |offset: u16| {
            let value = self.values.entry(offset).or_default();
            *value = value.wrapping_add(1);
        };
        count(regs::CNT_REQUESTS);
        let code = beats.last().map_or(0, |beat| beat.syndrome.code());
        if code != Syndrome::Ok.code() {
            count(regs::CNT_REFUSED);
            count(regs::SYN_COUNT + 4 * (u16::from(code) - 1));
            let number = self.value(regs::LOG_COUNT);
            let word = u32::from(request.tag)
                | u32::from(request.stream) << 10
                | u32::from(code) << 16
                | client << 21
                | (number & 0xff) << 24;
            self.log.push_front(word);
            self.log.truncate(4);
            self.values.insert(regs::LOG_COUNT, number.wrapping_add(1));
            self.set(regs::INT_STATUS, regs::int_status::REFUSED);
        }
    }
}

fn find(offset: u16) -> Option<&'static regs::Register> {
    regs::REGISTERS
        .iter()
        .find(|register| register.offsets().any(|at| at == offset))
}
