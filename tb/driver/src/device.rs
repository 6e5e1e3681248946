// SPDX-License-Identifier: Apache-2.0
//! The unit: start, stop, commands on their way, completions, interrupts, reports.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::command::{may_pend, Command, Completion, RawCompletion};
use crate::error::Error;
use crate::gen::{
    cplq_slot, Op, Status, Syndrome, MAX_LOG_QUEUE, MAX_MPT_SIZE, MIN_LOG_CMD_QUEUE,
    MIN_LOG_CPL_QUEUE, MPT_BYTES, QUEUE_SLOT_BYTES,
};
use crate::mtt::Table;
use crate::paging::{Answer, Demand, PageFault};
use crate::platform::{Limit, Platform, Registers, Wait};
use crate::probe::Capabilities;
use crate::registers::{field, read, write, write_address};
use tpt_regs::table as regs;

/// Where queues and tables begin: a multiple of this.
const ALIGN: u64 = 4096;
/// Bytes of half a slot.
const HALF: usize = QUEUE_SLOT_BYTES / 2;

/// Settings of a unit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Entries of the MPT: regions and windows at a time, and one that is not used.
    pub mpt_entries: u32,
    /// Secret of the permutation of key indices: random, and new for every start.
    pub perm_secret: [u32; 4],
    /// Secret of the tags of keys: random, and new for every start.
    pub tag_secret: [u32; 4],
    /// Time limit of fences in clocks; 0: none.
    pub fence_time: u32,
    /// Neighbouring pages come as one segment.
    pub merge: bool,
    /// Physical regions may be registered.
    pub phys: bool,
    /// Key indices are not permuted: for tests.
    pub plain: bool,
    /// log2 of the slots of the command queue.
    pub log_commands: u8,
    /// log2 of the slots of the completion queue.
    pub log_completions: u8,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mpt_entries: 1024,
            perm_secret: [0; 4],
            tag_secret: [0; 4],
            fence_time: 0x10_0000,
            merge: false,
            phys: false,
            plain: false,
            log_commands: 6,
            log_completions: 7,
        }
    }
}

/// Without the secrets.
impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config")
            .field("mpt_entries", &self.mpt_entries)
            .field("fence_time", &self.fence_time)
            .field("merge", &self.merge)
            .field("phys", &self.phys)
            .field("plain", &self.plain)
            .field("log_commands", &self.log_commands)
            .field("log_completions", &self.log_completions)
            .finish_non_exhaustive()
    }
}

impl Config {
    fn check(&self, caps: &Capabilities) -> Result<(), Error> {
        let range = |what, value: u64, least: u64, most: u64| match (least..=most).contains(&value)
        {
            true => Ok(()),
            false => Err(Error::Setting {
                what,
                value,
                expected: format!("{least} to {most}"),
            }),
        };
        range(
            "mpt_entries",
            self.mpt_entries.into(),
            1,
            MAX_MPT_SIZE.into(),
        )?;
        let most = MAX_LOG_QUEUE.into();
        range(
            "log_commands",
            self.log_commands.into(),
            MIN_LOG_CMD_QUEUE.into(),
            most,
        )?;
        range(
            "log_completions",
            self.log_completions.into(),
            MIN_LOG_CPL_QUEUE.into(),
            most,
        )?;
        let absent = |what| Error::Setting {
            what,
            value: 1,
            expected: "0: the unit was built without it".into(),
        };
        if self.merge && !caps.merge {
            return Err(absent("merge"));
        }
        if self.phys && !caps.fast {
            return Err(absent("phys"));
        }
        Ok(())
    }

    fn control(&self) -> u32 {
        let bit = |on, bit| if on { bit } else { 0 };
        bit(self.plain, regs::ctrl::PLAIN)
            | bit(self.merge, regs::ctrl::MERGE)
            | bit(self.phys, regs::ctrl::PHYS)
    }
}

/// Something that the unit has said through the completion queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The answer to a command.
    Completion(Completion),
}

/// A command without its final completion.
#[derive(Clone, Copy, Debug)]
struct Flight {
    op: u8,
    pending: bool,
}

/// A ring in memory.
#[derive(Clone, Copy, Debug)]
struct Ring {
    base: u64,
    log: u8,
}

impl Ring {
    fn bytes(self) -> u64 {
        (QUEUE_SLOT_BYTES as u64) << self.log
    }

    fn mask(self) -> u16 {
        ((1u32 << self.log) - 1) as u16
    }

    fn slot(self, n: u16) -> u64 {
        self.base + QUEUE_SLOT_BYTES as u64 * u64::from(n)
    }
}

/// Counts of a driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Commands written into the queue.
    pub commands: u64,
    /// Completions taken.
    pub completions: u64,
    /// Of these, PENDING ones.
    pub pending: u64,
    /// Writes of CMDQ_TAIL.
    pub command_doorbells: u64,
    /// Writes of CPLQ_HEAD.
    pub completion_doorbells: u64,
}

/// A request that was refused, from the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Low 8 bits of its number since reset.
    pub number: u8,
    /// Client that asked.
    pub client: u8,
    /// Stream of the request.
    pub stream: u8,
    /// Tag of the request.
    pub tag: u16,
    /// Number of the syndrome.
    pub code: u8,
}

impl Refusal {
    /// Why; `None`: a syndrome that this driver does not know.
    pub fn syndrome(&self) -> Option<Syndrome> {
        Syndrome::from_code(self.code)
    }
}

/// A unit that was started.
///
/// The platform is not owned: every call gets it.
#[derive(Debug)]
pub struct Device {
    caps: Capabilities,
    config: Config,
    mpt: u64,
    commands: Ring,
    completions: Ring,
    running: bool,
    /// The memory above is taken.
    holds: bool,
    /// Slot behind the last command; as far as the unit knows; oldest that it may not have taken.
    tail: u16,
    rung: u16,
    head: u16,
    /// Next completion, its phase, and what was given back.
    next: u16,
    phase: u8,
    given: u16,
    flights: BTreeMap<u16, Flight>,
    last_id: u16,
    backlog: VecDeque<Event>,
    /// Ids whose final completion is in the backlog: they are not given to new commands.
    answered: BTreeSet<u16>,
    /// Tables that the unit may still use: of registrations that were given up.
    lost: Vec<Table>,
    /// On-demand regions by MPT index.
    pub(crate) demand: BTreeMap<u32, Demand>,
    /// Slots of page faults that were taken and are not answered.
    pub(crate) faults: BTreeSet<u8>,
    /// Page faults whose answer is known and could not be given yet.
    pub(crate) owed: VecDeque<(PageFault, Answer)>,
    /// Counts since the start.
    pub stats: Stats,
}

impl Device {
    // ---------------------------------------------------------------------------------------------
    // Start and stop
    // ---------------------------------------------------------------------------------------------

    /// Probes the unit, gives it its memory and its queues, and waits until it is ready. After an
    /// error nothing is started and no memory taken, but for [`Error::NotStopped`].
    pub fn start(p: &mut impl Platform, config: &Config, limit: Limit) -> Result<Device, Error> {
        let caps = Capabilities::probe(p)?;
        if !caps.queues {
            return Err(Error::NoQueues);
        }
        config.check(&caps)?;
        let status = read(p, regs::STATUS)?;
        let queues = read(p, regs::QUEUE_STATUS)?;
        if status & regs::status::LOCKED != 0
            || queues & (regs::queue_status::ENABLED | regs::queue_status::BUSY) != 0
        {
            return Err(Error::InUse { status, queues });
        }
        let ring = |log| Ring { base: 0, log };
        let mut device = Device {
            caps,
            config: *config,
            mpt: 0,
            commands: ring(config.log_commands),
            completions: ring(config.log_completions),
            running: false,
            holds: false,
            tail: 0,
            rung: 0,
            head: 0,
            next: 0,
            phase: 1,
            given: 0,
            flights: BTreeMap::new(),
            last_id: u16::MAX,
            backlog: VecDeque::new(),
            answered: BTreeSet::new(),
            lost: Vec::new(),
            demand: BTreeMap::new(),
            faults: BTreeSet::new(),
            owed: VecDeque::new(),
            stats: Stats::default(),
        };
        device.allocate(p)?;
        match device.enable(p, limit) {
            Ok(()) => Ok(device),
            Err(error) => {
                // Memory is given back only if the unit surely does not use it.
                match device.stop(p, limit) {
                    Ok(()) => Err(error),
                    Err(stop) => Err(Error::NotStopped {
                        start: Box::new(error),
                        stop: Box::new(stop),
                        memory: device.memory(),
                    }),
                }
            }
        }
    }

    /// What [`Device::allocate`] takes.
    fn memory(&self) -> [(u64, u64); 3] {
        [
            (self.mpt, self.mpt_bytes()),
            (self.commands.base, self.commands.bytes()),
            (self.completions.base, self.completions.bytes()),
        ]
    }

    fn mpt_bytes(&self) -> u64 {
        u64::from(self.config.mpt_entries) * MPT_BYTES
    }

    fn allocate(&mut self, p: &mut impl Platform) -> Result<(), Error> {
        let sizes = [
            self.mpt_bytes(),
            self.commands.bytes(),
            self.completions.bytes(),
        ];
        let mut taken = Vec::new();
        for bytes in sizes {
            match p.allocate(bytes, ALIGN) {
                Ok(address) => taken.push((address, bytes)),
                Err(error) => {
                    taken.into_iter().for_each(|(at, bytes)| p.free(at, bytes));
                    return Err(error.into());
                }
            }
        }
        self.mpt = taken[0].0;
        self.commands.base = taken[1].0;
        self.completions.base = taken[2].0;
        self.holds = true;
        Ok(())
    }

    fn enable(&mut self, p: &mut impl Platform, limit: Limit) -> Result<(), Error> {
        write_address(p, regs::MPT_BASE_LO, regs::MPT_BASE_HI, self.mpt)?;
        write(p, regs::MPT_SIZE, self.config.mpt_entries)?;
        for word in 0..4u16 {
            let (perm, tag) = (self.config.perm_secret, self.config.tag_secret);
            write(p, regs::PERM_SECRET + 4 * word, perm[usize::from(word)])?;
            write(p, regs::TAG_SECRET + 4 * word, tag[usize::from(word)])?;
        }
        write(p, regs::FENCE_TIME, self.config.fence_time)?;
        write(p, regs::CTRL, self.config.control() | regs::ctrl::ENABLE)?;
        let mut status = 0;
        wait(p, "STATUS.ready", limit, |p| {
            status = read(p, regs::STATUS)?;
            Ok(status & (regs::status::READY | regs::status::CLEAR_ERROR) != 0)
        })?;
        if status & regs::status::CLEAR_ERROR != 0 {
            return Err(Error::Clear { base: self.mpt });
        }
        let zeros = [0; QUEUE_SLOT_BYTES];
        for slot in 0..=self.completions.mask() {
            p.write(self.completions.slot(slot), &zeros)?;
        }
        p.write_barrier();
        write_address(
            p,
            regs::CMDQ_BASE_LO,
            regs::CMDQ_BASE_HI,
            self.commands.base,
        )?;
        write(p, regs::CMDQ_LOG_SIZE, self.commands.log.into())?;
        write_address(
            p,
            regs::CPLQ_BASE_LO,
            regs::CPLQ_BASE_HI,
            self.completions.base,
        )?;
        write(p, regs::CPLQ_LOG_SIZE, self.completions.log.into())?;
        write(p, regs::QUEUE_CTRL, regs::queue_ctrl::ENABLE)?;
        self.running = true;
        Ok(())
    }

    /// Stops queues and unit and gives their memory back. Every key is dead then, every command that
    /// had no completion has none any more, and pages of regions may be unpinned. If it fails, it can
    /// be tried again: the unit may still use its memory.
    pub fn stop(&mut self, p: &mut impl Platform, limit: Limit) -> Result<(), Error> {
        self.running = false;
        quiesce(p, self.config.control(), limit)?;
        self.flights.clear();
        self.backlog.clear();
        self.answered.clear();
        self.faults.clear();
        self.owed.clear();
        for table in self.lost.drain(..) {
            table.free(p);
        }
        if std::mem::take(&mut self.holds) {
            for (address, bytes) in self.memory() {
                p.free(address, bytes);
            }
        }
        Ok(())
    }

    /// An error if the unit may still use memory.
    pub(crate) fn at_rest(&self) -> Result<(), Error> {
        match self.holds {
            false => Ok(()),
            true => Err(Error::State {
                found: "of a unit that is not stopped",
                expected: "of one that is",
            }),
        }
    }

    /// What the unit can do.
    pub fn capabilities(&self) -> &Capabilities {
        &self.caps
    }

    /// How it was started.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// False after [`Device::stop`].
    pub fn is_running(&self) -> bool {
        self.running
    }

    /// Where the MPT is, and its bytes.
    pub fn mpt(&self) -> (u64, u64) {
        (self.mpt, self.mpt_bytes())
    }

    /// Keeps a table that the unit may still use until the unit is stopped.
    pub(crate) fn keep(&mut self, table: Table) {
        self.lost.push(table);
    }

    // ---------------------------------------------------------------------------------------------
    // Commands and completions
    // ---------------------------------------------------------------------------------------------

    /// Commands without their final completion.
    pub fn in_flight(&self) -> usize {
        self.flights.len()
    }

    /// Writes a command into the queue and announces it. Returns its id.
    pub fn submit(&mut self, p: &mut impl Platform, command: &Command) -> Result<u16, Error> {
        let id = self.post(p, command)?;
        self.ring(p)?;
        Ok(id)
    }

    /// Writes a command into the queue without announcing it: [`Device::ring`] announces all at once.
    ///
    /// Its id is that of no other command whose final completion has not been taken yet, by
    /// [`Device::wait`] or [`Device::poll`], also if nobody waits for it any more.
    pub fn post(&mut self, p: &mut impl Platform, command: &Command) -> Result<u16, Error> {
        let id = self.room(p)?;
        let slot = command.encode(id)?;
        p.write(self.commands.slot(self.tail), &slot)?;
        self.tail = self.behind();
        self.last_id = id;
        self.stats.commands += 1;
        let (op, pending) = (command.op, false);
        self.flights.insert(id, Flight { op, pending });
        Ok(id)
    }

    /// The slot behind the tail.
    fn behind(&self) -> u16 {
        self.tail.wrapping_add(1) & self.commands.mask()
    }

    /// The id of the next command, if there is room for it; [`Error::QueueFull`] otherwise.
    pub(crate) fn room(&mut self, p: &mut impl Platform) -> Result<u16, Error> {
        if !self.running {
            return Err(Error::NotRunning);
        }
        let mut id = self.last_id.wrapping_add(1);
        while self.flights.contains_key(&id) || self.answered.contains(&id) {
            if id == self.last_id {
                return Err(Error::QueueFull);
            }
            id = id.wrapping_add(1);
        }
        if self.behind() == self.head {
            // Completions tell the head, but they may come late.
            self.refresh(p)?;
            if self.behind() == self.head {
                return Err(Error::QueueFull);
            }
        }
        Ok(id)
    }

    /// Announces the commands that were written since the last time.
    pub fn ring(&mut self, p: &mut impl Platform) -> Result<(), Error> {
        if self.rung != self.tail {
            p.write_barrier();
            write(p, regs::CMDQ_TAIL, self.tail.into())?;
            self.rung = self.tail;
            self.stats.command_doorbells += 1;
        }
        Ok(())
    }

    /// Reads CMDQ_HEAD.
    fn refresh(&mut self, p: &mut impl Platform) -> Result<(), Error> {
        let head = read(p, regs::CMDQ_HEAD)?;
        self.move_head(head as u16)
    }

    fn move_head(&mut self, head: u16) -> Result<(), Error> {
        let mask = self.commands.mask();
        let (from, to) = (self.head, self.rung);
        if head > mask || head.wrapping_sub(from) & mask > to.wrapping_sub(from) & mask {
            return Err(Error::Head { head, from, to });
        }
        self.head = head;
        Ok(())
    }

    /// The next event, if there is one.
    pub fn poll(&mut self, p: &mut impl Platform) -> Result<Option<Event>, Error> {
        match self.backlog.pop_front() {
            Some(event) => {
                self.taken(&event);
                Ok(Some(event))
            }
            None => self.poll_ring(p),
        }
    }

    /// Keeps an event for [`Device::poll`] or another [`Device::wait`].
    fn put_by(&mut self, event: Event) {
        let Event::Completion(completion) = event;
        if completion.status != Status::Pending {
            self.answered.insert(completion.id);
        }
        self.backlog.push_back(event);
    }

    /// An event leaves the backlog.
    fn taken(&mut self, event: &Event) {
        let Event::Completion(completion) = event;
        if completion.status != Status::Pending {
            self.answered.remove(&completion.id);
        }
    }

    fn poll_ring(&mut self, p: &mut impl Platform) -> Result<Option<Event>, Error> {
        if !self.running {
            return Err(Error::NotRunning);
        }
        let place = self.completions.slot(self.next);
        let mut phase = [0];
        p.read(place + cplq_slot::PHASE as u64, &mut phase)?;
        if phase[0] & 1 != self.phase {
            self.give_back(p)?;
            return Ok(None);
        }
        p.read_barrier();
        let mut half = [0; HALF];
        p.read(place, &mut half)?;
        let raw = RawCompletion::decode(&half);
        let mut entry = None;
        if (raw.op, raw.status) == (Op::Query.code(), Status::Ok.code()) {
            let mut bytes = [0; HALF];
            p.read(place + HALF as u64, &mut bytes)?;
            entry = Some(bytes);
        }
        self.next = self.next.wrapping_add(1) & self.completions.mask();
        if self.next == 0 {
            self.phase ^= 1;
        }
        self.stats.completions += 1;
        let moved = self.move_head(raw.cmdq_head);
        let event = moved.and_then(|()| self.event(&raw, entry));
        let kept = self.next.wrapping_sub(self.given) & self.completions.mask();
        if kept > self.completions.mask() / 2 {
            self.give_back_behind(p, event).map(Some)
        } else {
            event.map(Some)
        }
    }

    /// Gives slots back behind an event, which stays for later if that fails.
    fn give_back_behind(
        &mut self,
        p: &mut impl Platform,
        event: Result<Event, Error>,
    ) -> Result<Event, Error> {
        match (self.give_back(p), event) {
            (Ok(()), event) => event,
            (Err(error), Ok(event)) => {
                self.put_by(event);
                Err(error)
            }
            (Err(_), Err(error)) => Err(error),
        }
    }

    /// What a completion is about. What is no answer to a command has an operation code of its own.
    fn event(&mut self, raw: &RawCompletion, entry: Option<[u8; 64]>) -> Result<Event, Error> {
        let RawCompletion { id, op, .. } = *raw;
        let Some(flight) = self.flights.get_mut(&id) else {
            return Err(match Op::from_code(op) {
                Some(_) => Error::UnknownId { id, op },
                None => Error::UnknownOp { id, op },
            });
        };
        if flight.op != op {
            let (found, expected) = (op, flight.op);
            return Err(match Op::from_code(op) {
                Some(_) => Error::WrongOp {
                    id,
                    found,
                    expected,
                },
                None => Error::UnknownOp { id, op },
            });
        }
        let Some(status) = Status::from_code(raw.status) else {
            let status = raw.status;
            return Err(Error::UnknownStatus { id, status });
        };
        if status == Status::Pending {
            if flight.pending || !may_pend(op) {
                return Err(Error::UnexpectedPending { id });
            }
            flight.pending = true;
            self.stats.pending += 1;
        } else {
            self.flights.remove(&id);
        }
        Ok(Event::Completion(Completion {
            id,
            op,
            status,
            lkey: raw.lkey,
            rkey: raw.rkey,
            index: raw.index,
            entry,
        }))
    }

    /// Gives the slots of completions that were taken back. [`Device::poll`] does it when it finds
    /// nothing more, or half of the queue is to be given back.
    pub fn give_back(&mut self, p: &mut impl Platform) -> Result<(), Error> {
        if self.given != self.next {
            p.release_barrier();
            write(p, regs::CPLQ_HEAD, self.next.into())?;
            self.given = self.next;
            self.stats.completion_doorbells += 1;
        }
        Ok(())
    }

    /// Waits for the next completion of a command, final or PENDING. Others stay for
    /// [`Device::poll`]. After [`Error::Timeout`] it may be waited for again, or its completion
    /// left to [`Device::poll`].
    pub fn wait(
        &mut self,
        p: &mut impl Platform,
        id: u16,
        limit: Limit,
    ) -> Result<Completion, Error> {
        let is_it = |event: &Event| matches!(event, Event::Completion(c) if c.id == id);
        let flight = self.flights.get(&id);
        let kept = self.answered.contains(&id) || flight.is_some_and(|flight| flight.pending);
        let place = match kept {
            true => self.backlog.iter().position(is_it),
            false => None,
        };
        if let Some(event) = place.and_then(|place| self.backlog.remove(place)) {
            self.taken(&event);
            let Event::Completion(completion) = event;
            return Ok(completion);
        }
        if !self.flights.contains_key(&id) {
            return Err(Error::State {
                found: "not under way",
                expected: "a command without its final completion",
            });
        }
        let mut found = None;
        let waited = wait(p, "a completion", limit, |p| {
            match self.poll_ring(p)? {
                Some(event @ Event::Completion(completion)) => match is_it(&event) {
                    true => found = Some(completion),
                    false => self.put_by(event),
                },
                None => {}
            }
            Ok(found.is_some())
        });
        match (waited, found) {
            (Ok(()), Some(completion)) => {
                let event = Event::Completion(completion);
                self.give_back_behind(p, Ok(event))?;
                Ok(completion)
            }
            (Err(error @ Error::Timeout { .. }), _) => {
                self.check_queues(p)?;
                Err(error)
            }
            (Err(error), _) => Err(error),
            (Ok(()), None) => Err(Error::NotRunning),
        }
    }

    /// An error if memory refused an access to a slot: then the queues have stopped, and only
    /// [`Device::stop`] helps.
    pub fn check_queues(&mut self, p: &mut impl Platform) -> Result<(), Error> {
        if read(p, regs::QUEUE_STATUS)? & regs::queue_status::ERROR != 0 {
            let head = read(p, regs::CMDQ_HEAD)?;
            let tail = read(p, regs::CPLQ_TAIL)?;
            return Err(Error::QueueStopped { head, tail });
        }
        Ok(())
    }

    // ---------------------------------------------------------------------------------------------
    // Interrupts, errors, refusals, counters
    // ---------------------------------------------------------------------------------------------

    /// Lets these bits of INT_STATUS make an interrupt ([`tpt_regs::table::int_enable`]).
    pub fn enable_interrupts(&self, p: &mut impl Registers, bits: u32) -> Result<(), Error> {
        write(p, regs::INT_ENABLE, bits)
    }

    /// The next completion sets INT_STATUS.completion. Poll once more afterwards: one may have come
    /// before.
    pub fn arm(&self, p: &mut impl Registers) -> Result<(), Error> {
        if !self.running {
            return Err(Error::NotRunning);
        }
        let bits = regs::queue_ctrl::ENABLE | regs::queue_ctrl::ARM;
        write(p, regs::QUEUE_CTRL, bits)
    }

    /// What has happened since the last call: reads INT_STATUS and clears what was read.
    pub fn take_interrupts(&self, p: &mut impl Registers) -> Result<u32, Error> {
        let bits = read(p, regs::INT_STATUS)?;
        if bits != 0 {
            write(p, regs::INT_STATUS, bits)?;
        }
        Ok(bits)
    }

    /// Errors since the last call: reads ERROR and clears what was read.
    pub fn take_errors(&self, p: &mut impl Registers) -> Result<u32, Error> {
        let bits = read(p, regs::ERROR)?;
        if bits != 0 {
            write(p, regs::ERROR, bits)?;
        }
        Ok(bits)
    }

    /// Refused requests since reset, modulo 2^32, and the newest of them, the newest first.
    pub fn refusals(&self, p: &mut impl Registers) -> Result<(u32, Vec<Refusal>), Error> {
        let count = read(p, regs::LOG_COUNT)?;
        let mut found: Vec<Refusal> = Vec::new();
        for n in 0..self.caps.log_entries {
            let word = read(p, regs::LOG + 4 * n)?;
            let refusal = Refusal {
                number: field(word, regs::log::REFUSAL) as u8,
                client: field(word, regs::log::CLIENT) as u8,
                stream: field(word, regs::log::STREAM) as u8,
                tag: field(word, regs::log::TAG) as u16,
                code: field(word, regs::log::SYNDROME) as u8,
            };
            // Entries move up while requests are refused: one may be read twice.
            if refusal.code != 0 && found.iter().all(|other| other.number != refusal.number) {
                found.push(refusal);
            }
        }
        Ok((count, found))
    }

    /// Refused requests by syndrome: its number, and how many.
    pub fn refusal_counts(&self, p: &mut impl Registers) -> Result<Vec<(u8, u32)>, Error> {
        (1..=self.caps.syndromes)
            .map(|n| Ok((n as u8, read(p, regs::SYN_COUNT + 4 * (n - 1))?)))
            .collect()
    }

    /// All counters, by name.
    pub fn counters(&self, p: &mut impl Registers) -> Result<Vec<(&'static str, u32)>, Error> {
        let names = regs::counter::NAMES.iter();
        names
            .zip((regs::CNT_REQUESTS..).step_by(4))
            .map(|(name, offset)| Ok((*name, read(p, offset)?)))
            .collect()
    }

    /// Changes the time limit of fences.
    pub fn set_fence_time(&mut self, p: &mut impl Registers, clocks: u32) -> Result<(), Error> {
        write(p, regs::FENCE_TIME, clocks)?;
        self.config.fence_time = clocks;
        Ok(())
    }

    /// Drops everything of a client that has stopped touching memory, and waits for the end.
    pub fn reset_client(
        &self,
        p: &mut impl Platform,
        client: u32,
        limit: Limit,
    ) -> Result<(), Error> {
        if client >= self.caps.clients {
            return Err(Error::Setting {
                what: "client",
                value: client.into(),
                expected: format!("0 to {}", self.caps.clients - 1),
            });
        }
        write(p, regs::CLIENT_RESET, 1 << client)?;
        wait(p, "the end of a client reset", limit, |p| {
            Ok(read(p, regs::CLIENT_RESET)? & 1 << client == 0)
        })
    }
}

/// Stops queues and unit, whoever has started them, and waits until nothing is used any more.
pub(crate) fn quiesce(p: &mut impl Platform, control: u32, limit: Limit) -> Result<(), Error> {
    write(p, regs::QUEUE_CTRL, 0)?;
    wait(p, "QUEUE_STATUS.enabled and .busy to be 0", limit, |p| {
        let on = regs::queue_status::ENABLED | regs::queue_status::BUSY;
        Ok(read(p, regs::QUEUE_STATUS)? & on == 0)
    })?;
    write(p, regs::CTRL, control & !regs::ctrl::ENABLE)?;
    wait(p, "STATUS.locked to be 0", limit, |p| {
        Ok(read(p, regs::STATUS)? & regs::status::LOCKED == 0)
    })
}

/// Stops a unit that somebody else has left enabled, so that [`Device::start`] can begin.
pub fn take_over(p: &mut impl Platform, limit: Limit) -> Result<(), Error> {
    Capabilities::probe(p)?;
    let control = read(p, regs::CTRL)?;
    quiesce(p, control, limit)
}

/// Looks until `look` says yes.
fn wait<P: Wait + ?Sized>(
    p: &mut P,
    what: &'static str,
    limit: Limit,
    mut look: impl FnMut(&mut P) -> Result<bool, Error>,
) -> Result<(), Error> {
    let begin = match limit {
        Limit::Time(_) => p.now().ok_or(Error::NoClock)?,
        Limit::Polls(_) => 0,
    };
    let mut looks = 0;
    while !look(p)? {
        looks += 1;
        let over = match limit {
            Limit::Polls(most) => looks >= most,
            Limit::Time(most) => p.now().ok_or(Error::NoClock)?.wrapping_sub(begin) >= most,
        };
        if over {
            return Err(Error::Timeout { what, limit });
        }
        p.idle()?;
    }
    Ok(())
}
