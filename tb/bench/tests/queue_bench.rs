// SPDX-License-Identifier: Apache-2.0
//! `tpt_cmd_queue` on its own: a host that writes slots and takes completions, an engine that
//! completes in any order, a memory that answers late and with errors. Every command and every
//! completion is compared, and that nothing is written where the host has not given a slot back.

use std::collections::{HashMap, VecDeque};

use tpt_bench::rng::Rng;
use tpt_golden::queue::{self, Slot, CMD_FIELDS, SLOT_BYTES};
use tpt_golden::types::{CmdOp, Command, Completion, Key, Status};
use tpt_verilated::{DutOptions, FlatDut, PortRef};

const CMDQ: u64 = 0x12_3456_7000;
const CPLQ: u64 = 0xf_ffff_ffff_f000;
const BEAT: usize = 16;
/// Clocks after which a wait has failed.
const PATIENCE: u64 = 20_000;

/// How likely things are, in percent of the clocks.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// Host: writes a command, rings, takes a completion, gives slots back.
    host: [u8; 4],
    /// Engine: takes a command, completes one.
    engine: [u8; 2],
    /// Memory: address ready, data beat, write ready, write answer.
    memory: [u8; 4],
    /// Commands that are malformed or unknown, and completions that are PENDING first.
    odd: [u8; 2],
}

impl Pace {
    const FAST: Pace = Pace {
        host: [100, 100, 100, 100],
        engine: [100, 50],
        memory: [100, 100, 50, 50],
        odd: [0, 0],
    };

    fn random(rng: &mut Rng) -> Pace {
        let mut one = || match rng.below(4) {
            0 => 100,
            1 => 3 + rng.below(8) as u8,
            _ => 10 + rng.below(90) as u8,
        };
        let mut pace = Pace {
            host: std::array::from_fn(|_| one()),
            engine: std::array::from_fn(|_| one()),
            memory: std::array::from_fn(|_| one()),
            odd: [0, 0],
        };
        pace.odd = [rng.below(50) as u8, rng.below(100) as u8];
        pace
    }
}

/// A write that waits for its answer.
struct Write {
    address: u64,
    data: [u8; 64],
    landed: bool,
    err: bool,
}

/// A command in the engine.
struct Work {
    command: Command,
    pended: bool,
}

struct Bench {
    dut: FlatDut,
    ports: HashMap<&'static str, PortRef>,
    rng: Rng,
    pace: Pace,
    log_cmd: u8,
    log_cpl: u8,
    cmdq: Vec<Slot>,
    cplq: Vec<Slot>,
    // host
    tail: u16,  // next slot that is written
    head: u16,  // next slot of the unit, as completions say
    taken: u16, // next completion slot that is looked at
    phase: bool,
    rung_tail: u16,
    rung_head: u16,
    serial: u16,
    to_write: u32,
    /// Commands that the engine must get, in order.
    due: VecDeque<Command>,
    /// Completions that the host must get, by id, in order.
    expected: HashMap<u16, VecDeque<(u8, Completion)>>,
    got: u64,
    pending: u64,
    // engine
    work: Vec<Work>,
    offered: Option<Completion>,
    // memory
    read: Option<(u64, usize)>,
    writes: VecDeque<Write>,
    /// Reads and writes that go wrong: in so many accesses from now on.
    read_error: Option<u32>,
    write_error: Option<u32>,
    /// First halves written and answered, and slots given back, since enabling.
    written: u64,
    landed: u64,
    given: u64,
    events: u64,
    clock: u64,
    stop_engine: bool,
}

impl Bench {
    fn new(seed: u64, log_cmd: u8, log_cpl: u8) -> Self {
        let options = DutOptions {
            seed,
            waves: std::env::var_os("TPT_WAVES").map(Into::into),
        };
        let dut = FlatDut::new("tb_cmd_queue", &options).expect("the model is built");
        let names = [
            "rst_ni",
            "enable_i",
            "cmdq_page_i",
            "cmdq_log_size_i",
            "cplq_page_i",
            "cplq_log_size_i",
            "cmdq_tail_i",
            "cplq_head_i",
            "db_value_i",
            "cmdq_tail_bad_o",
            "cplq_head_bad_o",
            "db_clear_o",
            "cmdq_head_o",
            "cplq_tail_o",
            "enabled_o",
            "busy_o",
            "error_o",
            "full_o",
            "event_o",
            "err_bus_o",
            "cmd_valid_o",
            "cmd_ready_i",
            "cmd_o",
            "cpl_valid_i",
            "cpl_ready_o",
            "cpl_i",
            "rd_valid_o",
            "rd_ready_i",
            "rd_addr_o",
            "rd_beat_i",
            "rd_last_i",
            "rd_data_i",
            "rd_err_i",
            "wr_valid_o",
            "wr_ready_i",
            "wr_addr_o",
            "wr_data_o",
            "wr_done_i",
            "wr_err_i",
        ];
        let ports = names.map(|name| (name, dut.port(name))).into();
        let mut bench = Bench {
            dut,
            ports,
            rng: Rng::new(seed),
            pace: Pace::FAST,
            log_cmd,
            log_cpl,
            cmdq: Vec::new(),
            cplq: Vec::new(),
            tail: 0,
            head: 0,
            taken: 0,
            phase: true,
            rung_tail: 0,
            rung_head: 0,
            serial: 0,
            to_write: 0,
            due: VecDeque::new(),
            expected: HashMap::new(),
            got: 0,
            pending: 0,
            work: Vec::new(),
            offered: None,
            read: None,
            writes: VecDeque::new(),
            read_error: None,
            write_error: None,
            written: 0,
            landed: 0,
            given: 0,
            events: 0,
            clock: 0,
            stop_engine: false,
        };
        bench.set("cmdq_page_i", CMDQ >> 12);
        bench.set("cplq_page_i", CPLQ >> 12);
        bench.set("cmdq_log_size_i", log_cmd.into());
        bench.set("cplq_log_size_i", log_cpl.into());
        bench.reset();
        bench
    }

    fn set(&mut self, name: &str, value: u64) {
        self.dut.set_u64(self.ports[name], value);
    }

    fn get(&self, name: &str) -> u64 {
        self.dut.get_u64(self.ports[name])
    }

    fn is(&self, name: &str) -> bool {
        self.get(name) != 0
    }

    fn chance(&mut self, percent: u8) -> bool {
        self.rng.chance(percent.into(), 100)
    }

    fn cmd_mask(&self) -> u16 {
        ((1u32 << self.log_cmd) - 1) as u16
    }

    fn cpl_mask(&self) -> u16 {
        ((1u32 << self.log_cpl) - 1) as u16
    }

    /// Reset: memory and engine forget what was on its way.
    fn reset(&mut self) {
        self.set("enable_i", 0);
        self.set("rst_ni", 0);
        self.read = None;
        self.writes.clear();
        self.work.clear();
        self.offered = None;
        for name in [
            "rd_ready_i",
            "rd_beat_i",
            "wr_ready_i",
            "wr_done_i",
            "cmd_ready_i",
            "cpl_valid_i",
            "cmdq_tail_i",
            "cplq_head_i",
        ] {
            self.set(name, 0);
        }
        for _ in 0..3 {
            self.dut.tick().expect("no assertion fails");
        }
        self.set("rst_ni", 1);
        self.clean();
    }

    /// Queues as the host makes them before it enables.
    fn clean(&mut self) {
        self.cmdq = vec![[0xff; SLOT_BYTES]; 1 << self.log_cmd];
        self.cplq = vec![[0; SLOT_BYTES]; 1 << self.log_cpl];
        (self.tail, self.head, self.taken, self.phase) = (0, 0, 0, true);
        (self.rung_tail, self.rung_head) = (0, 0);
        (self.written, self.landed, self.given, self.events) = (0, 0, 0, 0);
        self.due.clear();
        self.expected.clear();
        self.read_error = None;
        self.write_error = None;
        self.set("cmdq_tail_i", 0);
        self.set("cplq_head_i", 0);
    }

    fn enable(&mut self) {
        self.set("enable_i", 1);
        self.step();
        self.step();
        assert!(self.is("enabled_o") && !self.is("db_clear_o"));
    }

    /// Disables and waits until the block is off; the engine goes on.
    fn disable(&mut self) {
        self.set("enable_i", 0);
        self.set("cmdq_tail_i", 0);
        self.set("cplq_head_i", 0);
        self.to_write = 0;
        let end = self.clock + PATIENCE;
        self.step();
        while self.is("enabled_o") || self.is("busy_o") {
            assert!(self.clock < end, "the block does not stop");
            self.step_without_host();
        }
        assert!(self.work.is_empty() && self.offered.is_none());
        assert!(self.writes.is_empty() && self.read.is_none());
        let before = self.cplq.clone();
        for _ in 0..100 {
            self.step_without_host();
            assert!(!self.is("wr_valid_o") && !self.is("rd_valid_o") && !self.is("cmd_valid_o"));
            assert!(!self.is("error_o") && !self.is("event_o"));
        }
        assert_eq!(before, self.cplq, "a stale completion");
        self.clean();
    }

    /// Asks whether a doorbell value would be bad; takes a clock.
    fn bad(&mut self, value: u32) -> (bool, bool) {
        self.set("db_value_i", value.into());
        self.step_without_host();
        (self.is("cmdq_tail_bad_o"), self.is("cplq_head_bad_o"))
    }

    fn random_command(&mut self) -> Command {
        let mut word = || self.rng.next_u64();
        let mut command = Command {
            id: 0,
            op: word() as u8 & 15,
            flags: word() as u8 & 15,
            tag: word() as u8,
            qpn: word() as u32 & 0xff_ffff,
            mkey: Key(word() as u32),
            key: Key(word() as u32),
            pd: word() as u32 & 0xff_ffff,
            access: word() as u32,
            start: word(),
            length: word(),
            log_page: word() as u8 & 63,
            level: word() as u8 & 7,
            log_tpage: word() as u8 & 31,
            encoding: word() as u8 & 3,
            rereg: word() as u8 & 7,
            new_pd: word() as u32 & 0xff_ffff,
            frame: std::array::from_fn(|_| word()),
        };
        // Ids are unique while they are in use.
        loop {
            self.serial = self.serial.wrapping_add(1);
            if !self.expected.contains_key(&self.serial) {
                break;
            }
        }
        command.id = self.serial;
        command
    }

    /// The host writes a slot.
    fn write(&mut self, slot: Slot) {
        let id = queue::get(CMD_FIELDS, &slot, "id", 0) as u16;
        let op = queue::get(CMD_FIELDS, &slot, "op", 0) as u8;
        let expected = self.expected.entry(id).or_default();
        assert!(expected.is_empty());
        match queue::decode(&slot) {
            Ok(command) => self.due.push_back(command),
            Err(status) => expected.push_back((op, Completion::plain(id, op, status))),
        }
        self.cmdq[usize::from(self.tail)] = slot;
        self.tail = (self.tail + 1) & self.cmd_mask();
    }

    fn room(&self) -> bool {
        (self.tail + 1) & self.cmd_mask() != self.head
    }

    fn host(&mut self) {
        if self.to_write > 0 && self.room() && self.chance(self.pace.host[0]) {
            self.to_write -= 1;
            let command = self.random_command();
            let mut slot = queue::encode(&command);
            if self.chance(self.pace.odd[0]) {
                match self.rng.below(4) {
                    0 => slot[3] = self.rng.next_u64() as u8,
                    1 => slot[2] = 16 + self.rng.below(240) as u8,
                    2 => slot[51 + self.rng.below(13) as usize] |= 1 << self.rng.below(8),
                    _ => slot[96 + self.rng.below(32) as usize] |= 1 << self.rng.below(8),
                }
            }
            self.write(slot);
        }
        if self.rung_tail != self.tail && self.chance(self.pace.host[1]) {
            self.rung_tail = self.tail;
            self.set("cmdq_tail_i", self.tail.into());
        }
        if self.chance(self.pace.host[2]) {
            self.take();
        }
        if self.rung_head != self.taken && self.chance(self.pace.host[3]) {
            let step = u64::from(self.taken.wrapping_sub(self.rung_head) & self.cpl_mask());
            self.given += step;
            self.rung_head = self.taken;
            self.set("cplq_head_i", self.taken.into());
        }
    }

    /// The host takes a completion, if there is one.
    fn take(&mut self) {
        let slot = self.cplq[usize::from(self.taken)];
        if !queue::is_ready(&slot, self.phase) {
            return;
        }
        self.taken = (self.taken + 1) & self.cpl_mask();
        self.phase ^= self.taken == 0;
        let cpl = queue::decode_completion(&slot).expect("a completion");
        let actual = cpl.completion;
        self.head = cpl.cmdq_head;
        let queue = self.expected.get_mut(&actual.id);
        let queue = queue.unwrap_or_else(|| panic!("completion of nothing: {actual:?}"));
        let (op, expected) = queue
            .pop_front()
            .unwrap_or_else(|| panic!("too early: {actual:?}"));
        assert_eq!((op, expected), (cpl.op, actual));
        if actual.status == Status::Pending {
            self.pending += 1;
        } else {
            assert!(queue.is_empty());
            self.expected.remove(&actual.id);
        }
        self.got += 1;
    }

    fn step(&mut self) {
        self.host();
        self.step_without_host();
    }

    fn step_without_host(&mut self) {
        // Engine
        let ready = self.chance(self.pace.engine[0]);
        self.set("cmd_ready_i", ready.into());
        if self.offered.is_none()
            && !self.work.is_empty()
            && !self.stop_engine
            && self.chance(self.pace.engine[1])
        {
            let place = self.rng.below(self.work.len() as u64) as usize;
            let pend = !self.work[place].pended
                && queue::may_pend(self.work[place].command.op)
                && self.chance(self.pace.odd[1]);
            let (id, op) = (self.work[place].command.id, self.work[place].command.op);
            let completion = if pend {
                self.work[place].pended = true;
                Completion::plain(id, op, Status::Pending)
            } else {
                self.work.swap_remove(place);
                let mut completion = Completion::plain(id, op, Status::Ok);
                if self.rng.chance(1, 4) {
                    completion.status = Status::KeyTag;
                } else if op == CmdOp::Query.code() {
                    completion.entry = std::array::from_fn(|_| self.rng.next_u64() as u8);
                } else {
                    completion.lkey = Key(self.rng.next_u64() as u32);
                    completion.rkey = Key(self.rng.next_u64() as u32);
                }
                completion
            };
            self.offered = Some(completion);
            self.dut.set(self.ports["cpl_i"], &completion.pack());
            if let Some(queue) = self.expected.get_mut(&id) {
                queue.push_back((op, completion));
            }
        }
        let offered = self.offered.is_some();
        self.set("cpl_valid_i", offered.into());
        // Memory
        let ready = self.read.is_none() && self.chance(self.pace.memory[0]);
        self.set("rd_ready_i", ready.into());
        let beat = self.read.is_some() && self.chance(self.pace.memory[1]);
        self.set("rd_beat_i", beat.into());
        self.set("rd_last_i", 0);
        self.set("rd_err_i", 0);
        if let Some((address, at)) = self.read.filter(|_| beat) {
            let slot = self.cmdq[((address - CMDQ) / SLOT_BYTES as u64) as usize];
            let words: Vec<u32> = slot[at * BEAT..(at + 1) * BEAT]
                .chunks(4)
                .map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]))
                .collect();
            self.dut.set(self.ports["rd_data_i"], &words);
            let last = at + 1 == SLOT_BYTES / BEAT;
            self.set("rd_last_i", last.into());
            let err = self.read_error == Some(at as u32);
            self.set("rd_err_i", err.into());
            self.read = (!last).then_some((address, at + 1));
        }
        let ready = self.chance(self.pace.memory[2]);
        let done = !self.writes.is_empty() && self.chance(self.pace.memory[3]);
        self.set("wr_done_i", done.into());
        let mut done_err = false;
        let mut done_first = false;
        if done {
            self.land(1);
            if let Some(write) = self.writes.pop_front() {
                done_err = write.err;
                done_first = write.address % 128 == 0;
            }
        } else if self.rng.chance(1, 8) {
            let n = self.rng.below(3) as usize;
            self.land(n);
        }
        self.set("wr_err_i", done_err.into());
        // The writer takes what is offered; it must be stable, so look first.
        self.set("wr_ready_i", ready.into());

        self.dut.tick().expect("no assertion fails");
        self.clock += 1;

        if self.is("cmd_valid_o") && self.is("cmd_ready_i") {
            let words = self.dut.get(self.ports["cmd_o"]).to_vec();
            let command = Command::unpack(&words.try_into().expect("a command"));
            let due = self.due.pop_front();
            assert_eq!(due, Some(command), "the engine got another command");
            self.work.push(Work {
                command,
                pended: false,
            });
        }
        if offered && self.is("cpl_ready_o") {
            self.offered = None;
        }
        if self.is("rd_valid_o") && self.is("rd_ready_i") {
            let address = self.get("rd_addr_o");
            let slot = (address - CMDQ) / SLOT_BYTES as u64;
            assert!(
                address % 128 == 0 && slot < self.cmdq.len() as u64,
                "{address:#x}"
            );
            assert!(self.read.is_none());
            self.read = Some((address, 0));
        }
        if done && done_first && !done_err {
            self.landed += 1;
        }
        if self.is("wr_valid_o") {
            let address = self.get("wr_addr_o");
            let offset = address.wrapping_sub(CPLQ);
            let slot = offset / SLOT_BYTES as u64;
            assert!(
                offset % 64 == 0 && slot < self.cplq.len() as u64,
                "{address:#x}"
            );
            assert_eq!(
                slot,
                self.written % (self.cplq.len() as u64),
                "not the next slot"
            );
            assert!(
                self.written - self.given < self.cplq.len() as u64 - 1,
                "a slot that the host has not given back is written"
            );
            if offset % 128 == 0 {
                let second = self.writes.iter().any(|write| write.address % 128 != 0);
                assert!(
                    !second,
                    "first half offered before the second one is in memory"
                );
            }
            if ready {
                self.written += u64::from(offset % 128 == 0);
                let words = self.dut.get(self.ports["wr_data_o"]);
                let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                let err = match &mut self.write_error {
                    Some(0) => true,
                    Some(n) => {
                        *n -= 1;
                        false
                    }
                    None => false,
                };
                if err {
                    self.write_error = None;
                }
                assert!(self.writes.len() < 3, "too many writes");
                self.writes.push_back(Write {
                    address,
                    data: bytes.try_into().expect("64 bytes"),
                    landed: false,
                    err,
                });
            }
        }
        self.events += u64::from(self.is("event_o"));
        assert!(
            self.events <= self.landed,
            "an event before its completion is in memory"
        );
    }

    /// The oldest `n` writes reach the memory.
    fn land(&mut self, n: usize) {
        for write in self.writes.iter_mut().take(n) {
            if !write.landed && !write.err {
                let offset = (write.address - CPLQ) as usize;
                let (slot, half) = (offset / SLOT_BYTES, offset % SLOT_BYTES);
                self.cplq[slot][half..half + 64].copy_from_slice(&write.data);
                write.landed = true;
            }
        }
    }

    /// Runs until all commands are written and completed.
    fn finish(&mut self) {
        let mut end = self.clock + PATIENCE;
        let mut before = self.got;
        while self.to_write > 0 || !self.expected.is_empty() {
            if self.got != before {
                (before, end) = (self.got, self.clock + PATIENCE);
            }
            assert!(
                self.clock < end,
                "{} completions are missing",
                self.expected.len()
            );
            self.step();
        }
        // Answers and events of the last ones.
        let end = self.clock + PATIENCE;
        while self.is("busy_o") || self.events != self.written {
            assert!(self.clock < end, "still busy");
            self.step();
        }
        assert!(self.due.is_empty() && self.work.is_empty());
        assert_eq!(self.get("cmdq_head_o") as u16, self.tail);
        assert_eq!(self.get("cplq_tail_o"), self.landed % (1 << self.log_cpl));
        assert!(!self.is("error_o") && !self.is("full_o"));
    }

    fn until(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> bool) {
        let end = self.clock + PATIENCE;
        while !done(self) {
            assert!(self.clock < end, "no {what}");
            self.step();
        }
    }
}

/// Queues of all small sizes, commands and completions at random paces, over many rounds.
#[test]
fn random_traffic_wraps_and_keeps_its_phase() {
    let mut pending = 0;
    for seed in 0..60 {
        let mut rng = Rng::new(seed ^ 0x51e5);
        let (log_cmd, log_cpl) = (rng.range(1, 5) as u8, rng.range(2, 6) as u8);
        let mut bench = Bench::new(seed, log_cmd, log_cpl);
        bench.pace = Pace::random(&mut rng);
        bench.enable();
        bench.to_write = 300;
        bench.finish();
        pending += bench.pending;
    }
    assert!(pending > 100, "{pending}");
}

/// Every bit of a slot: it must be 0, or it arrives in its field.
#[test]
fn every_bit_of_a_slot() {
    let mut bench = Bench::new(7, 4, 4);
    bench.enable();
    for random in [false, true] {
        for bit in 0..SLOT_BYTES * 8 {
            let command = bench.random_command();
            let mut slot = queue::encode(&match random {
                true => command,
                false => Command {
                    id: command.id,
                    ..Command::default()
                },
            });
            // The id must stay unique.
            if bit >= 16 {
                slot[bit / 8] ^= 1 << (bit % 8);
            }
            let before = bench.got;
            bench.write(slot);
            bench.until("completion", |bench| bench.got != before);
        }
    }
    bench.finish();
    assert_eq!(bench.got, 2048 + bench.pending);
}

/// Unknown versions and operation codes: every value.
#[test]
fn unknown_versions_and_operations() {
    let mut bench = Bench::new(8, 4, 4);
    bench.enable();
    for value in 0..=255 {
        for byte in [2, 3] {
            let command = bench.random_command();
            let mut slot = queue::encode(&command);
            slot[byte] = value;
            bench.until("room", |bench| bench.room());
            bench.write(slot);
        }
    }
    bench.finish();
}

/// A full completion queue stops the taking of commands and loses nothing.
#[test]
fn full_completion_queue_waits() {
    for log_cpl in 2..5 {
        let mut bench = Bench::new(9, 6, log_cpl);
        bench.pace.host[2] = 0;
        bench.enable();
        bench.to_write = 40;
        bench.until("full queue", |bench| {
            bench.is("full_o") && bench.written == bench.landed
        });
        for _ in 0..500 {
            bench.step();
        }
        assert!(bench.is("full_o") && bench.is("busy_o") && !bench.is("error_o"));
        let size = 1 << log_cpl;
        // one slot stays empty, and perhaps one that a command of two completions would need
        assert!(
            (size - 3..size).contains(&bench.written),
            "{}",
            bench.written
        );
        assert_eq!(bench.got, 0);
        bench.pace.host[2] = 100;
        bench.finish();
        assert_eq!(bench.got, 40 + bench.pending);
    }
}

/// Doorbells: which values are bad, for every state of small queues.
#[test]
fn doorbells_out_of_range() {
    let mut bench = Bench::new(10, 3, 3);
    assert_eq!(bench.bad(0), (true, true), "not enabled");
    bench.enable();
    let mut seen = [0; 4];
    for round in 0..400 {
        // Commands that the engine does not take, completions that the host does not give back.
        bench.pace = Pace::random(&mut Rng::new(round));
        bench.to_write = bench.rng.below(6) as u32;
        for _ in 0..bench.rng.below(40) {
            bench.step();
        }
        let value = match bench.rng.below(4) {
            0 => bench.rng.next_u64() as u32,
            1 => 1 << bench.rng.below(32),
            _ => bench.rng.below(10) as u32,
        };
        bench.pace.engine = [0, 0];
        bench.pace.memory[1] = 0;
        let before = (bench.get("cmdq_head_o"), bench.written);
        let bad = bench.bad(value);
        if before != (bench.get("cmdq_head_o"), bench.written) || bench.is("wr_valid_o") {
            continue;
        }
        let head = before.0 as u32;
        let far = |to: u32, from: u32| to.wrapping_sub(from) & 7;
        let tail_bad = value > 7 || far(value, head) < far(bench.rung_tail.into(), head);
        let slot = bench.written as u32 & 7;
        let head_bad = value > 7 || far(slot, value) > far(slot, bench.rung_head.into());
        assert_eq!(bad, (tail_bad, head_bad), "{value:#x}");
        for (n, bad) in [tail_bad, head_bad].into_iter().enumerate() {
            seen[2 * n + usize::from(bad)] += 1;
        }
    }
    assert!(seen.iter().all(|n| *n > 15), "{seen:?}");
}

/// An error in any beat of a slot stops the taking of commands; those in work are completed.
#[test]
fn read_errors() {
    for beat in 0..8 {
        let mut bench = Bench::new(beat, 4, 4);
        bench.enable();
        // Two commands in the engine, then the error.
        bench.stop_engine = true;
        bench.to_write = 2;
        bench.until("two commands", |bench| bench.work.len() == 2);
        bench.read_error = Some(beat as u32);
        bench.to_write = 2;
        bench.until("error", |bench| bench.is("error_o"));
        assert!(bench.is("busy_o"));
        assert_eq!(bench.get("cmdq_head_o"), 2, "the slot that failed");
        bench.read_error = None;
        bench.stop_engine = false;
        bench.until("completions", |bench| bench.got == 2);
        for _ in 0..200 {
            bench.step();
        }
        assert_eq!((bench.got, bench.get("cmdq_head_o")), (2, 2));
        assert!(bench.is("error_o") && !bench.is("busy_o"));
        bench.disable();
        bench.enable();
        bench.to_write = 20;
        bench.finish();
    }
}

/// An error of a completion's write: later completions are dropped, the engine is not held up.
#[test]
fn write_errors() {
    for seed in 0..40 {
        let mut bench = Bench::new(seed, 4, 4);
        bench.pace = Pace::random(&mut Rng::new(seed));
        bench.enable();
        bench.to_write = 30;
        bench.write_error = Some(seed as u32 % 9);
        bench.until("error", |bench| bench.is("error_o"));
        bench.to_write = 0;
        bench.until("quiet", |bench| !bench.is("busy_o"));
        assert!(bench.work.is_empty() && bench.offered.is_none());
        let written = bench.written;
        for _ in 0..200 {
            bench.step();
        }
        assert!(bench.is("error_o") && written == bench.written);
        bench.disable();
        bench.enable();
        bench.to_write = 30;
        bench.finish();
    }
}

/// Disabling and resets in the middle: nothing comes afterwards, and the next start is a clean one.
#[test]
fn disable_and_reset_in_the_middle() {
    let mut bench = Bench::new(11, 3, 3);
    for round in 0..150 {
        bench.pace = Pace::random(&mut Rng::new(round));
        bench.enable();
        bench.to_write = 50;
        let clocks = bench.rng.below(300);
        for _ in 0..clocks {
            bench.step();
        }
        bench.to_write = 0;
        if round % 3 == 0 {
            bench.reset();
        } else {
            bench.disable();
        }
        if round % 4 == 0 {
            bench.enable();
            bench.to_write = 30;
            bench.finish();
            bench.disable();
        }
    }
}

/// The largest queues: slot numbers and addresses of 16 bits.
#[test]
fn largest_queues_wrap() {
    let mut bench = Bench::new(12, 16, 16);
    bench.pace = Pace::FAST;
    bench.pace.engine = [100, 100];
    bench.pace.memory = [100; 4];
    bench.enable();
    bench.to_write = 66_000;
    bench.finish();
    assert!(bench.written > 65_536);
}
