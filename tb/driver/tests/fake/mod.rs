// SPDX-License-Identifier: Apache-2.0
//! A unit that does what a test tells it: registers as a table, completions as scripted. It knows no
//! rules; that the driver agrees with the real unit is tested elsewhere.
#![allow(dead_code)] // each test uses a part

use std::collections::{BTreeMap, VecDeque};

use tpt_driver::gen::{cmdq_slot, cplq_slot};
use tpt_driver::{AccessError, DmaMemory, Registers, Status, Wait};
use tpt_regs::table as regs;

/// Where memory begins, and its bytes.
const BASE: u64 = 0x1_0000;
const BYTES: usize = 1 << 22;

/// A completion as it is written.
#[derive(Clone, Copy, Debug)]
pub struct Raw {
    pub id: u16,
    pub op: u8,
    pub status: u8,
    pub lkey: u32,
    pub rkey: u32,
    /// `None`: the head as it is.
    pub head: Option<u16>,
    /// The phase is wrong.
    pub stale: bool,
}

/// What a command is answered.
pub type Script = Box<dyn FnMut(u16, u8) -> Vec<Raw>>;

pub struct Fake {
    pub registers: BTreeMap<u16, u32>,
    pub memory: Vec<u8>,
    pub free_at: u64,
    /// Bytes by address.
    pub taken: BTreeMap<u64, u64>,
    pub script: Script,
    /// Completions are written by this many looks later.
    pub queued: VecDeque<Raw>,
    pub head: u16,
    pub tail: u16,
    pub written: u16,
    pub phase: u8,
    /// Register accesses so far, and which one is refused.
    pub accesses: usize,
    pub refuse: Option<usize>,
    /// From which one on all are refused.
    pub dead_from: Option<usize>,
    /// Allocations so far, and which one fails.
    pub allocations: usize,
    pub no_memory: Option<usize>,
    /// STATUS after enabling.
    pub status: u32,
    /// QUEUE_STATUS.busy stays.
    pub stuck: bool,
    /// The unit takes no command.
    pub deaf: bool,
    /// Idle calls.
    pub idles: u64,
    pub clock: Option<u64>,
}

pub fn ok(id: u16, op: u8) -> Raw {
    Raw {
        id,
        op,
        status: Status::Ok.code(),
        lkey: 0x100 + u32::from(id),
        rkey: 0x8000_0100 + u32::from(id),
        head: None,
        stale: false,
    }
}

impl Default for Fake {
    fn default() -> Self {
        let registers = [
            (regs::ID, regs::ID_VALUE),
            (regs::VERSION, regs::VERSION_VALUE),
            (regs::CAP, 2 | 3 << 4 | 1 << 30),
            (regs::CAP2, 3 | 17 << 8 | 4 << 16),
        ];
        Self {
            registers: registers.into(),
            memory: vec![0xa5; BYTES],
            free_at: BASE,
            taken: BTreeMap::new(),
            script: Box::new(|id, op| vec![ok(id, op)]),
            queued: VecDeque::new(),
            head: 0,
            tail: 0,
            written: 0,
            phase: 1,
            accesses: 0,
            refuse: None,
            dead_from: None,
            allocations: 0,
            no_memory: None,
            status: regs::status::READY | regs::status::LOCKED,
            stuck: false,
            deaf: false,
            idles: 0,
            clock: None,
        }
    }
}

impl Fake {
    pub fn scripted(script: impl FnMut(u16, u8) -> Vec<Raw> + 'static) -> Self {
        Self {
            script: Box::new(script),
            ..Self::default()
        }
    }

    fn register(&self, offset: u16) -> u32 {
        self.registers.get(&offset).copied().unwrap_or(0)
    }

    fn pair(&self, low: u16) -> u64 {
        u64::from(self.register(low)) | u64::from(self.register(low + 4)) << 32
    }

    fn mask(&self, log: u16) -> u16 {
        ((1u32 << self.register(log)) - 1) as u16
    }

    fn range(&self, address: u64, bytes: usize) -> std::ops::Range<usize> {
        let at = (address - BASE) as usize;
        at..at + bytes
    }

    pub fn word(&self, address: u64) -> u64 {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.memory[self.range(address, 8)]);
        u64::from_le_bytes(bytes)
    }

    /// Takes the commands that were announced.
    fn take(&mut self) {
        while self.head != self.tail && !self.deaf {
            let slot = self.pair(regs::CMDQ_BASE_LO) + 128 * u64::from(self.head);
            let at = self.range(slot, 128).start;
            let id = u16::from_le_bytes([
                self.memory[at + cmdq_slot::ID],
                self.memory[at + cmdq_slot::ID + 1],
            ]);
            let op = self.memory[at + cmdq_slot::OP];
            self.head = (self.head + 1) & self.mask(regs::CMDQ_LOG_SIZE);
            let answers = (self.script)(id, op);
            self.queued.extend(answers);
        }
    }

    /// Writes a completion at once.
    pub fn complete(&mut self, raw: Raw) {
        let slot = self.pair(regs::CPLQ_BASE_LO) + 128 * u64::from(self.written);
        let at = self.range(slot, 128).start;
        let phase = if raw.stale {
            self.phase ^ 1
        } else {
            self.phase
        };
        let head = raw.head.unwrap_or(self.head);
        let mut put = |place: usize, bytes: &[u8]| {
            self.memory[at + place..at + place + bytes.len()].copy_from_slice(bytes);
        };
        put(cplq_slot::ID, &raw.id.to_le_bytes());
        put(cplq_slot::OP, &[raw.op]);
        put(cplq_slot::STATUS, &[raw.status]);
        put(cplq_slot::LKEY, &raw.lkey.to_le_bytes());
        put(cplq_slot::RKEY, &raw.rkey.to_le_bytes());
        put(cplq_slot::INDEX, &raw.lkey.to_le_bytes());
        put(cplq_slot::CMDQ_HEAD, &head.to_le_bytes());
        put(cplq_slot::PHASE, &[phase]);
        put(cplq_slot::ENTRY, &[0x5a; 64]);
        self.written = (self.written + 1) & self.mask(regs::CPLQ_LOG_SIZE);
        if self.written == 0 {
            self.phase ^= 1;
        }
    }

    fn access(&mut self) -> Result<(), AccessError> {
        self.accesses += 1;
        let dead = self.dead_from.is_some_and(|from| self.accesses >= from);
        match dead || self.refuse == Some(self.accesses) {
            true => Err(AccessError::Bus),
            false => Ok(()),
        }
    }
}

impl Registers for Fake {
    fn read32(&mut self, offset: u16) -> Result<u32, AccessError> {
        self.access()?;
        Ok(match offset {
            regs::CMDQ_HEAD => self.head.into(),
            regs::CPLQ_TAIL => self.written.into(),
            regs::QUEUE_STATUS if self.stuck => self.register(offset) | regs::queue_status::BUSY,
            _ => self.register(offset),
        })
    }

    fn write32(&mut self, offset: u16, value: u32) -> Result<(), AccessError> {
        self.access()?;
        self.registers.insert(offset, value);
        match offset {
            regs::CTRL => {
                let on = value & regs::ctrl::ENABLE != 0;
                let status = if on { self.status } else { 0 };
                self.registers.insert(regs::STATUS, status);
            }
            regs::QUEUE_CTRL => {
                self.registers.insert(regs::QUEUE_STATUS, value & 1);
            }
            regs::CMDQ_TAIL => {
                self.tail = value as u16;
                self.take();
            }
            _ => {}
        }
        Ok(())
    }
}

impl DmaMemory for Fake {
    fn allocate(&mut self, bytes: u64, align: u64) -> Result<u64, AccessError> {
        self.allocations += 1;
        if self.no_memory == Some(self.allocations) {
            return Err(AccessError::System("no memory".into()));
        }
        let at = self.free_at.next_multiple_of(align);
        self.free_at = at + bytes;
        assert!(self.free_at - BASE <= BYTES as u64, "the test needs more");
        self.taken.insert(at, bytes);
        Ok(at)
    }

    fn free(&mut self, address: u64, bytes: u64) {
        assert_eq!(self.taken.remove(&address), Some(bytes), "not taken");
    }

    fn read(&mut self, address: u64, to: &mut [u8]) -> Result<(), AccessError> {
        to.copy_from_slice(&self.memory[self.range(address, to.len())]);
        Ok(())
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), AccessError> {
        let range = self.range(address, from.len());
        self.memory[range].copy_from_slice(from);
        Ok(())
    }

    fn write_barrier(&mut self) {}

    fn read_barrier(&mut self) {}

    fn release_barrier(&mut self) {}
}

impl Wait for Fake {
    fn idle(&mut self) -> Result<(), AccessError> {
        self.idles += 1;
        self.clock = self.clock.map(|clock| clock.wrapping_add(10));
        self.take();
        if let Some(raw) = self.queued.pop_front() {
            self.complete(raw);
        }
        Ok(())
    }

    fn now(&mut self) -> Option<u64> {
        self.clock
    }
}
