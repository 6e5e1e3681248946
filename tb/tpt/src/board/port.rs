// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! The unit of a board behind a port: commands through the driver and the queue in the board's memory,
//! requests and responses over the link, everything compared with the golden reference.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Range;

use tpt_bench::driver::{to_driver, to_golden};
use tpt_driver::{
    AccessError, Config as DriverConfig, Device, DmaMemory, Error as DriverError, Limit, Registers,
    Stats, Wait,
};
use tpt_golden::frames::Translation;
use tpt_golden::host::{AllocMode, Host, HostConfig, PhysRange};
use tpt_golden::mem::PhysMem;
use tpt_golden::types::{Beat, Command, Completion, Request, Status, Syndrome};
use tpt_golden::unit::{Beats, Conditions, Golden, Outcome, Region};

use super::gen;
use super::link::{Batch, Link, LinkError, Reply};
use super::serial::Line;
use crate::machine::{key_maker, secrets, Machine, Port, Posted, MAX_LEVELS};
use crate::target::{Access1, Answer, CommandPath, Counters, TargetError};

/// The part of the memory that the driver has: table of regions and queues. The rest is for tables.
const DRIVER_BYTES: u64 = 32 << 10;
/// What memory holds before anything is written: nothing may rely on zeros.
const RUBBISH: u8 = 0xa5;
/// log2 of the slots of the command queue and of the completion queue.
const LOG_QUEUES: (u8, u8) = (3, 4);
/// Looks at the unit before a command is given up.
const POLLS: u64 = 4000;
/// Exchanges without any progress before requests are given up.
const PATIENCE: u32 = 400;
/// How often a `done` that is not taken is given again.
const DONE_TRIES: u32 = 64;
/// Requests of a client that are under way at a time, at most.
const WINDOW: usize = 8;
/// Beats of a client that are taken at a time, at most.
const BEATS: u8 = 24;
/// Most bytes of an operation on memory.
const CHUNK: usize = 240;
/// Slots for page faults of the golden unit: those of tpt_board.
const FAULT_SLOTS: usize = 4;
/// Bits of a stream number that decide about order: 16 streams.
const STREAM_MASK: u8 = 15;
/// Tags.
const TAGS: u16 = 1 << 10;

/// A link to any line.
pub type AnyLink = Link<Box<dyn Line>>;

/// The board as the platform of a driver.
struct BoardPlatform {
    link: AnyLink,
    base: u64,
    taken: BTreeMap<u64, u64>,
    /// Why the last access failed.
    error: Option<LinkError>,
    /// Looks at the unit, as a clock for limits.
    looks: u64,
}

impl BoardPlatform {
    fn failed(&mut self, error: LinkError) -> AccessError {
        if let LinkError::Refused { status, .. } = &error {
            if *status == gen::status::BUS {
                return AccessError::Bus;
            }
        }
        let text = error.to_string();
        self.error = Some(error);
        AccessError::System(text)
    }

    fn offset(&self, address: u64, bytes: usize) -> Result<u32, AccessError> {
        let size = u64::from(self.link.identity().ram_bytes);
        let inside = |offset: &u64| offset.saturating_add(bytes as u64) <= size;
        let offset = address.checked_sub(self.base).filter(inside);
        offset.map(|offset| offset as u32).ok_or_else(|| {
            AccessError::System(format!(
                "{bytes} bytes at {address:#x} are outside of the board's memory; expected \
                 {:#x} to {:#x}",
                self.base,
                self.base + size
            ))
        })
    }

    /// Fills whole lines.
    fn fill(&mut self, address: u64, bytes: u64, byte: u8) -> Result<(), AccessError> {
        let offset = self.offset(address, bytes as usize)?;
        let mut batch = Batch::default();
        batch.fill(offset, (bytes / gen::LINE as u64) as u16, byte);
        self.link
            .all(&batch)
            .map(drop)
            .map_err(|error| self.failed(error))
    }

    /// Writes many pieces.
    fn write_all(&mut self, pieces: &[(u64, &[u8])]) -> Result<(), AccessError> {
        let mut batch = Batch::default();
        for (address, data) in pieces {
            let first = self.offset(*address, data.len())?;
            for (n, part) in data.chunks(CHUNK).enumerate() {
                if !batch.has_room(gen::op::WRITE_MEM, part.len()) {
                    self.link.all(&batch).map_err(|error| self.failed(error))?;
                    batch = Batch::default();
                }
                let at = first + (n * CHUNK) as u32;
                // A piece of one value is filled: tables begin as zeros.
                let lines = part.len() / gen::LINE;
                let whole = part.len() % gen::LINE == 0 && at as usize % gen::LINE == 0;
                if lines > 0 && whole && part.iter().all(|byte| *byte == part[0]) {
                    batch.fill(at, lines as u16, part[0]);
                } else {
                    batch.write_mem(at, part);
                }
            }
        }
        if batch.is_empty() {
            return Ok(());
        }
        self.link
            .all(&batch)
            .map(drop)
            .map_err(|error| self.failed(error))
    }
}

impl Registers for BoardPlatform {
    fn read32(&mut self, offset: u16) -> Result<u32, AccessError> {
        let mut batch = Batch::default();
        batch.read_csr(offset);
        let replies = self.link.all(&batch).map_err(|error| self.failed(error))?;
        match replies.first() {
            Some(Reply::Done(data)) if data.len() == 4 => {
                Ok(u32::from_le_bytes([data[0], data[1], data[2], data[3]]))
            }
            _ => Err(AccessError::System("a register without a value".into())),
        }
    }

    fn write32(&mut self, offset: u16, value: u32) -> Result<(), AccessError> {
        let mut batch = Batch::default();
        batch.write_csr(offset, value);
        self.link
            .all(&batch)
            .map(drop)
            .map_err(|error| self.failed(error))
    }
}

impl DmaMemory for BoardPlatform {
    fn allocate(&mut self, bytes: u64, align: u64) -> Result<u64, AccessError> {
        let up = |at: u64| at.next_multiple_of(align.max(gen::LINE as u64));
        let bytes = bytes.next_multiple_of(gen::LINE as u64);
        let mut at = up(self.base);
        for (start, length) in &self.taken {
            if at + bytes <= *start {
                break;
            }
            at = up(at.max(start + length));
        }
        if bytes == 0 || at + bytes > self.base + DRIVER_BYTES {
            return Err(AccessError::System(format!(
                "no room for {bytes} bytes in the board's memory; expected at most {DRIVER_BYTES} \
                 for table of regions and queues together: choose a smaller table"
            )));
        }
        self.taken.insert(at, bytes);
        self.fill(at, bytes, RUBBISH)?;
        Ok(at)
    }

    fn free(&mut self, address: u64, _bytes: u64) {
        self.taken.remove(&address);
    }

    fn read(&mut self, address: u64, to: &mut [u8]) -> Result<(), AccessError> {
        let first = self.offset(address, to.len())?;
        for (n, part) in to.chunks_mut(CHUNK).enumerate() {
            let mut batch = Batch::default();
            batch.read_mem(first + (n * CHUNK) as u32, part.len());
            let replies = self.link.all(&batch).map_err(|error| self.failed(error))?;
            match replies.first() {
                Some(Reply::Done(data)) if data.len() == part.len() => part.copy_from_slice(data),
                _ => return Err(AccessError::System("memory without content".into())),
            }
        }
        Ok(())
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), AccessError> {
        self.write_all(&[(address, from)])
    }

    // Every access has had its effect when it returns.
    fn write_barrier(&mut self) {}
    fn read_barrier(&mut self) {}

    fn release_barrier(&mut self) {}
}

impl Wait for BoardPlatform {
    fn idle(&mut self) -> Result<(), AccessError> {
        self.looks += 1;
        Ok(())
    }

    fn now(&mut self) -> Option<u64> {
        Some(self.looks)
    }
}

/// How the unit is set up.
#[derive(Debug, Clone, Copy)]
pub struct BoardOptions {
    /// Seed.
    pub seed: u64,
    /// Entries of the table of regions.
    pub table: u32,
    /// Limit of a fence in clocks.
    pub fence_time: u32,
}

/// A request under way.
struct Flight {
    place: usize,
    request: Request,
    conditions: Conditions,
    from: u64,
    /// What may come next, once the first beat has come.
    due: Option<Vec<Beats<std::sync::Arc<Region>>>>,
    answer: Answer,
}

/// The requester's or the responder's side of the unit.
#[derive(Default)]
struct Client {
    flights: HashMap<u16, Flight>,
    /// Tags of each stream in order of their requests.
    order: HashMap<u8, VecDeque<u16>>,
    next_tag: u16,
    /// Tags whose `done` is to be given.
    ended: VecDeque<u16>,
}

/// The unit of a board behind a port.
pub struct BoardPort {
    platform: BoardPlatform,
    options: BoardOptions,
    device: Option<Device>,
    golden: Golden,
    clients: Vec<Client>,
    /// Events so far: the clock of the reference.
    now: u64,
    path: CommandPath,
    counted: Stats,
    /// Tables, by their pages, and what of them is in the board's memory.
    tables: BTreeMap<u64, [u8; PAGE]>,
    faults: Vec<Range<u64>>,
    poisoned: Option<u64>,
    /// How often a `done` was not taken, since one was.
    refused: u32,
}

const PAGE: usize = 4096;

/// A board with its host.
pub type BoardTarget = Machine<BoardPort>;

impl BoardTarget {
    /// A board with its host; the unit is not enabled. What is there before is reset.
    pub fn board(link: AnyLink, options: BoardOptions) -> Result<Self, TargetError> {
        let identity = link.identity();
        let base = identity.ram_base;
        let size = u64::from(identity.ram_bytes);
        if size < 2 * DRIVER_BYTES || identity.clients < 2 {
            return Err(TargetError::Failed(format!(
                "the board has {} bytes of memory and {} clients; expected at least {} bytes and 2 \
                 clients: a reduced bitstream is not for traffic",
                size,
                identity.clients,
                2 * DRIVER_BYTES
            )));
        }
        let mut golden = Golden::new(key_maker(options.seed), options.table, MAX_LEVELS);
        golden.build_with(true, FAULT_SLOTS);
        golden.allow_phys(true);
        let mut port = BoardPort {
            platform: BoardPlatform {
                link,
                base,
                taken: BTreeMap::new(),
                error: None,
                looks: 0,
            },
            options,
            device: None,
            golden,
            clients: (0..identity.clients).map(|_| Client::default()).collect(),
            now: 0,
            path: CommandPath::default(),
            counted: Stats::default(),
            tables: BTreeMap::new(),
            faults: Vec::new(),
            poisoned: None,
            refused: 0,
        };
        port.reset(size)?;
        let host = Host::new(HostConfig {
            ram: vec![PhysRange {
                pa: base + DRIVER_BYTES,
                len: size - DRIVER_BYTES,
            }],
            mode: AllocMode::Fragmented { max_run: 4 },
            seed: options.seed,
        });
        Ok(Self::with_host(port, host))
    }
}

fn packed<const N: usize>(words: &[u32]) -> [u8; N] {
    let mut bytes = [0; N];
    let all = words.iter().flat_map(|word| word.to_le_bytes());
    for (to, from) in bytes.iter_mut().zip(all) {
        *to = from;
    }
    bytes
}

fn mismatch(text: String) -> TargetError {
    TargetError::Mismatch { clock: None, text }
}

fn link_error(error: LinkError) -> TargetError {
    TargetError::Failed(error.to_string())
}

impl BoardPort {
    /// The link.
    pub fn link(&mut self) -> &mut AnyLink {
        &mut self.platform.link
    }

    fn reset(&mut self, size: u64) -> Result<(), TargetError> {
        let mut batch = Batch::default();
        batch.reset();
        batch.poison(false, 0);
        self.platform.link.all(&batch).map_err(link_error)?;
        let base = self.platform.base;
        let filled = self.platform.fill(base, size, RUBBISH);
        filled.map_err(|error| self.access_error(&error))
    }

    fn access_error(&mut self, error: &AccessError) -> TargetError {
        match self.platform.error.take() {
            Some(cause) => link_error(cause),
            None => TargetError::Failed(error.to_string()),
        }
    }

    /// What an error of the driver means: a broken link, or a defect of the unit.
    fn driver_error(&mut self, error: DriverError) -> TargetError {
        match self.platform.error.take() {
            Some(cause) => link_error(cause),
            None => mismatch(format!("driver: {error}")),
        }
    }

    fn tick(&mut self) -> u64 {
        self.now += 1;
        self.now
    }

    fn count(&mut self, device: &Device) {
        let (now, before) = (device.stats, self.counted);
        self.path.completions += now.completions - before.completions;
        self.path.doorbells += now.command_doorbells - before.command_doorbells;
        self.counted = now;
    }

    /// Brings tables and poison of the board to what the host has.
    fn bring(&mut self, mem: &PhysMem) -> Result<(), TargetError> {
        let mut pieces: Vec<(u64, Vec<u8>)> = Vec::new();
        for (page, known) in &mut self.tables {
            let mut now = [0; PAGE];
            mem.read(*page, &mut now);
            if now == *known {
                continue;
            }
            let mut run: Option<(usize, usize)> = None;
            let mut runs = Vec::new();
            for line in 0..PAGE / gen::LINE {
                let at = line * gen::LINE..(line + 1) * gen::LINE;
                if now[at.clone()] == known[at.clone()] {
                    runs.extend(run.take());
                } else {
                    run = Some((run.map_or(at.start, |r| r.0), at.end));
                }
            }
            runs.extend(run);
            pieces.extend(
                runs.into_iter()
                    .map(|(from, to)| (*page + from as u64, now[from..to].to_vec())),
            );
            *known = now;
        }
        if !pieces.is_empty() {
            let pieces: Vec<(u64, &[u8])> = pieces.iter().map(|(at, b)| (*at, &b[..])).collect();
            let written = self.platform.write_all(&pieces);
            written.map_err(|error| self.access_error(&error))?;
        }
        let wanted = self.faults.last().map(|range| range.start);
        if wanted != self.poisoned {
            let at = wanted.unwrap_or(self.platform.base);
            let offset = self.platform.offset(at, gen::LINE);
            let offset = offset.map_err(|error| self.access_error(&error))?;
            let mut batch = Batch::default();
            batch.poison(wanted.is_some(), offset);
            self.platform.link.all(&batch).map_err(link_error)?;
            self.poisoned = wanted;
        }
        Ok(())
    }

    /// Writes a command into the queue and announces it. Returns the driver's id.
    fn submit(
        &mut self,
        mem: &PhysMem,
        command: &Command,
        pages: Option<Translation>,
    ) -> Result<u16, TargetError> {
        self.bring(mem)?;
        let Some(mut device) = self.device.take() else {
            return Err(TargetError::Failed(
                "the unit is not enabled; expected a command after it is".into(),
            ));
        };
        let before = self.tick();
        let mut looks = 0;
        let sent = loop {
            match device.submit(&mut self.platform, &to_driver(command)) {
                Err(DriverError::QueueFull) if looks < POLLS => looks += 1,
                other => break other,
            }
        };
        self.count(&device);
        self.device = Some(device);
        let id = sent.map_err(|error| self.driver_error(error))?;
        let known = Command { id, ..*command };
        self.golden.begin(&known, pages, before);
        Ok(id)
    }

    /// Waits for the final completion of a command. Every completion is compared with the reference.
    fn finish(&mut self, command: &Command, id: u16) -> Result<Completion, TargetError> {
        loop {
            let Some(mut device) = self.device.take() else {
                return Err(TargetError::Failed("there is no queue".into()));
            };
            let done = device.wait(&mut self.platform, id, Limit::Polls(POLLS));
            self.count(&device);
            self.device = Some(device);
            let done = done.map_err(|error| self.driver_error(error))?;
            let now = self.tick();
            match self.golden.complete(&to_golden(id, &done), now) {
                Ok(Outcome::Finished) => return Ok(to_golden(command.id, &done)),
                Ok(Outcome::Pending) => {}
                Ok(Outcome::Refused(Status::Busy)) => return Ok(to_golden(command.id, &done)),
                Ok(Outcome::Refused(status)) => {
                    return Err(mismatch(format!(
                        "{command:?} was refused with {status}, though memory is in order"
                    )))
                }
                Err(error) => return Err(mismatch(error.to_string())),
            }
        }
    }

    /// One exchange for requests: takes beats, gives `done`, sends what has room. Returns how many
    /// requests were accepted and whether anything moved.
    fn round(
        &mut self,
        waiting: &mut VecDeque<(usize, Access1, Conditions, Option<u16>)>,
        answers: &mut [Option<Answer>],
    ) -> Result<(usize, bool), TargetError> {
        let mut batch = Batch::default();
        let mut plan = Vec::new();
        for (n, client) in self.clients.iter_mut().enumerate() {
            let room = client.ended.len().min(WINDOW);
            for tag in client.ended.drain(..room) {
                batch.done(n as u8, tag);
                plan.push(Planned::Done(n, tag));
            }
            if !client.flights.is_empty() {
                batch.responses(n as u8, BEATS);
                plan.push(Planned::Beats(n));
            }
        }
        let from = self.tick();
        let mut sent = Vec::new();
        while let Some((place, access, conditions, tag)) = waiting.front().copied() {
            let Some(client) = self.clients.get_mut(usize::from(access.client)) else {
                return Err(TargetError::Failed(format!(
                    "client {}: the board has {}",
                    access.client,
                    self.clients.len()
                )));
            };
            if client.flights.len() >= WINDOW || !batch.has_room(gen::op::REQUEST, 0) {
                break;
            }
            let tag = tag.unwrap_or_else(|| loop {
                client.next_tag = (client.next_tag + 1) % TAGS;
                let tag = client.next_tag;
                if !client.flights.contains_key(&tag) && !client.ended.contains(&tag) {
                    break tag;
                }
            });
            let request = Request {
                tag,
                ..access.request
            };
            batch.request(access.client, &packed(&request.pack()));
            plan.push(Planned::Request);
            waiting.pop_front();
            let stream = request.stream & STREAM_MASK;
            client.order.entry(stream).or_default().push_back(tag);
            client.flights.insert(
                tag,
                Flight {
                    place,
                    request,
                    conditions,
                    from,
                    due: None,
                    answer: Answer {
                        syndrome: Syndrome::Ok,
                        segments: Vec::new(),
                    },
                },
            );
            sent.push((place, access, conditions, Some(tag)));
        }
        if batch.is_empty() {
            return Ok((0, false));
        }
        let replies = self.platform.link.run(&batch).map_err(link_error)?;
        let now = self.tick();
        let mut accepted = 0;
        let mut moved = false;
        for (planned, reply) in plan.iter().zip(&replies) {
            match (planned, reply) {
                (Planned::Done(..), Reply::Done(_)) => {
                    self.refused = 0;
                    moved = true;
                }
                (Planned::Request, Reply::Done(_)) => {
                    accepted += 1;
                    moved = true;
                }
                (Planned::Beats(client), Reply::Beats(beats)) => {
                    moved |= !beats.is_empty();
                    for beat in beats {
                        self.beat(*client, beat, now, answers)?;
                    }
                }
                (Planned::Request, Reply::Refused(gen::status::BUSY)) => {}
                (Planned::Done(client, tag), Reply::Refused(gen::status::BUSY)) => {
                    self.refused += 1;
                    if self.refused > DONE_TRIES {
                        return Err(mismatch(format!(
                            "client {client}: `done` of tag {tag} was not taken {} times; expected \
                             a unit that takes it",
                            self.refused
                        )));
                    }
                }
                (_, Reply::Refused(status)) => {
                    return Err(mismatch(format!(
                        "the board refuses an operation on a client: status {status}"
                    )))
                }
                (_, reply) => {
                    return Err(TargetError::Failed(format!(
                        "a reply of a wrong kind: {reply:?}"
                    )))
                }
            }
        }
        // What was not accepted is sent again. A refused operation is the last one that was done.
        let refused = matches!(replies.last(), Some(Reply::Refused(_)));
        for planned in plan[replies.len() - usize::from(refused)..].iter().rev() {
            if let Planned::Done(client, tag) = planned {
                self.clients[*client].ended.push_front(*tag);
            }
        }
        for (place, access, conditions, tag) in sent.into_iter().skip(accepted).rev() {
            let client = &mut self.clients[usize::from(access.client)];
            let tag_number = tag.unwrap_or_default();
            client.flights.remove(&tag_number);
            let stream = access.request.stream & STREAM_MASK;
            if let Some(order) = client.order.get_mut(&stream) {
                order.pop_back();
            }
            waiting.push_front((place, access, conditions, tag));
        }
        Ok((accepted, moved))
    }

    /// A beat has come: it must be the next one of its request, and that the oldest of its stream.
    fn beat(
        &mut self,
        client: usize,
        bytes: &[u8; gen::RSP_BYTES],
        now: u64,
        answers: &mut [Option<Answer>],
    ) -> Result<(), TargetError> {
        let mut words = [0u32; gen::RSP_BYTES.div_ceil(4)];
        for (n, byte) in bytes.iter().enumerate() {
            words[n / 4] |= u32::from(*byte) << (8 * (n % 4));
        }
        let beat = Beat::unpack(&words)
            .map_err(|error| mismatch(format!("client {client}: a beat with {error}")))?;
        let line = self.line_bytes() / 8;
        let state = &mut self.clients[client];
        let stream = beat.stream & STREAM_MASK;
        let order = state.order.entry(stream).or_default();
        if order.front() != Some(&beat.tag) {
            return Err(mismatch(format!(
                "client {client}: {beat:?}, expected a beat of tag {:?} in stream {stream}",
                order.front()
            )));
        }
        let Some(flight) = state.flights.get_mut(&beat.tag) else {
            return Err(mismatch(format!("client {client}: {beat:?} of no request")));
        };
        let request = flight.request;
        let due = flight.due.take().unwrap_or_else(|| {
            let allowed = self
                .golden
                .allowed(&flight.conditions, &request, flight.from, now);
            allowed.iter().map(|v| v.beats(&request)).collect()
        });
        let next: Vec<_> = due
            .iter()
            .flat_map(|beats| beats.next_of(flight.from, now, line))
            .collect();
        let kept: Vec<_> = next
            .iter()
            .filter(|(expected, _)| *expected == beat)
            .map(|(_, behind)| behind.clone())
            .collect();
        if kept.is_empty() {
            let expected: Vec<_> = next.iter().map(|(beat, _)| beat).collect();
            return Err(mismatch(format!(
                "client {client}: {request:?}: got {beat:?}, expected one of {expected:?}"
            )));
        }
        flight.due = Some(kept);
        if beat.syndrome != Syndrome::Ok {
            flight.answer.syndrome = beat.syndrome;
        } else if beat.len > 0 {
            flight.answer.segments.push((beat.pa, beat.len));
        }
        if beat.last {
            order.pop_front();
            if let Some(flight) = state.flights.remove(&beat.tag) {
                answers[flight.place] = Some(flight.answer);
            }
            // The answer to a tag that was in use needs no `done`.
            if beat.syndrome != Syndrome::TagBusy {
                state.ended.push_back(beat.tag);
            }
        }
        Ok(())
    }

    /// Gives all `done` that are due.
    fn give_done(&mut self) -> Result<(), TargetError> {
        // A round gives one, or is refused, which it counts.
        while self.clients.iter().any(|client| !client.ended.is_empty()) {
            self.round(&mut VecDeque::new(), &mut [])?;
        }
        Ok(())
    }

    /// Sends requests and waits for all answers. `due` is called with the number of accepted ones.
    fn send(
        &mut self,
        requests: Vec<(Access1, Conditions, Option<u16>)>,
        mut due: impl FnMut(&mut Self, usize) -> Result<(), TargetError>,
    ) -> Result<Vec<Answer>, TargetError> {
        let mut answers: Vec<Option<Answer>> = vec![None; requests.len()];
        let mut waiting: VecDeque<_> = requests
            .into_iter()
            .enumerate()
            .map(|(place, (access, conditions, tag))| (place, access, conditions, tag))
            .collect();
        let mut accepted = 0;
        let mut idle = 0;
        due(self, 0)?;
        while answers.iter().any(Option::is_none) {
            let (more, moved) = self.round(&mut waiting, &mut answers)?;
            accepted += more;
            if more > 0 {
                due(self, accepted)?;
            }
            idle = if moved { 0 } else { idle + 1 };
            if idle > PATIENCE {
                let left = answers.iter().filter(|answer| answer.is_none()).count();
                return Err(mismatch(format!(
                    "{left} requests are without an answer after {idle} looks at the unit; \
                     {} of them were not accepted",
                    waiting.len()
                )));
            }
        }
        Ok(answers.into_iter().flatten().collect())
    }

    fn forget(&mut self) {
        if self.golden.commands_in_flight() == 0 {
            self.golden.forget_before(self.now);
        }
    }
}

/// What an operation of a round was for.
#[derive(Debug, Clone, Copy)]
enum Planned {
    Done(usize, u16),
    Request,
    Beats(usize),
}

impl Port for BoardPort {
    fn command(
        &mut self,
        mem: &mut PhysMem,
        command: &Command,
        pages: Option<Translation>,
        _release: Vec<Range<u64>>,
    ) -> Result<Completion, TargetError> {
        let id = self.submit(mem, command, pages)?;
        let done = self.finish(command, id)?;
        self.forget();
        Ok(done)
    }

    fn allow(&mut self, range: Range<u64>) {
        let first = range.start & !(PAGE as u64 - 1);
        for page in (first..range.end).step_by(PAGE) {
            self.tables.entry(page).or_insert([RUBBISH; PAGE]);
        }
    }

    fn access(
        &mut self,
        mem: &mut PhysMem,
        batch: &[Access1],
        posted: Vec<Posted>,
    ) -> Result<(Vec<Answer>, Vec<Completion>), TargetError> {
        self.bring(mem)?;
        let requests = batch
            .iter()
            .map(|access| (*access, Conditions::default(), None))
            .collect();
        let mut posted: VecDeque<Posted> = posted.into();
        let mut ids = Vec::new();
        let count = batch.len();
        let answers = self.send(requests, |port, accepted| {
            // Not more than the queue holds at a time: each is finished before the next one.
            while posted
                .front()
                .is_some_and(|p| p.after.min(count) <= accepted)
            {
                if let Some(p) = posted.pop_front() {
                    let id = port.submit(mem, &p.command, None)?;
                    ids.push((p.command, id));
                }
            }
            Ok(())
        })?;
        self.give_done()?;
        let mut completions = Vec::with_capacity(ids.len());
        for (command, id) in ids {
            completions.push(self.finish(&command, id)?);
        }
        self.forget();
        Ok((answers, completions))
    }

    fn access_under(
        &mut self,
        mem: &mut PhysMem,
        access: &Access1,
        conditions: Conditions,
    ) -> Result<Answer, TargetError> {
        self.bring(mem)?;
        let none = |_: &mut Self, _| Ok(());
        let conditions = Conditions {
            // The reference knows by itself whether the unit is enabled.
            disabled: false,
            ..conditions
        };
        if !conditions.tag_busy {
            let answers = self.send(vec![(*access, conditions, None)], none)?;
            self.give_done()?;
            return one(answers);
        }
        // The first request is answered, and its `done` is kept back.
        let client = usize::from(access.client);
        self.send(vec![(*access, Conditions::default(), None)], none)?;
        let kept = std::mem::take(&mut self.clients[client].ended);
        let answers = self.send(vec![(*access, conditions, kept.back().copied())], none)?;
        self.clients[client].ended.extend(kept);
        self.give_done()?;
        one(answers)
    }

    fn enable(&mut self, _mem: &mut PhysMem) -> Result<(), TargetError> {
        let (perm_secret, tag_secret) = secrets(self.options.seed);
        let config = DriverConfig {
            mpt_entries: self.options.table,
            perm_secret,
            tag_secret,
            fence_time: self.options.fence_time,
            merge: false,
            phys: true,
            plain: false,
            log_commands: LOG_QUEUES.0,
            log_completions: LOG_QUEUES.1,
        };
        let before = self.tick();
        let device = Device::start(&mut self.platform, &config, Limit::Polls(POLLS))
            .map_err(|error| self.driver_error(error))?;
        let now = self.tick();
        self.golden.enable(before);
        self.golden.ready(now);
        self.path.queue = true;
        self.counted = Stats::default();
        self.device = Some(device);
        Ok(())
    }

    fn commands(&self) -> Option<CommandPath> {
        Some(self.path)
    }

    fn golden(&mut self) -> &mut Golden {
        &mut self.golden
    }

    fn bus_fault(&mut self, range: Range<u64>, on: bool) {
        if on {
            self.faults.push(range);
        } else {
            self.faults.retain(|known| *known != range);
        }
    }

    fn expect_damaged_entries(&mut self, _on: bool) {}

    fn flip_entry(
        &mut self,
        _mem: &mut PhysMem,
        index: u32,
        byte: u64,
        mask: u8,
    ) -> Result<(), TargetError> {
        let Some(device) = &self.device else {
            return Err(TargetError::Failed("the unit is not enabled".into()));
        };
        let at = device.mpt().0 + 64 * u64::from(index) + byte;
        let mut value = [0];
        let mut flip = || {
            self.platform.read(at, &mut value)?;
            self.platform.write(at, &[value[0] ^ mask])
        };
        let flipped = flip();
        flipped.map_err(|error| self.access_error(&error))
    }

    // Of no use without the clocks that they belong to.
    fn counters(&mut self, _mem: &mut PhysMem) -> Result<Option<Counters>, TargetError> {
        Ok(None)
    }

    fn clock(&self) -> Option<u64> {
        None
    }

    fn line_bytes(&self) -> u64 {
        gen::LINE as u64
    }
}

fn one(answers: Vec<Answer>) -> Result<Answer, TargetError> {
    let none = || TargetError::Failed("an access without an answer".into());
    answers.into_iter().next().ok_or_else(none)
}
