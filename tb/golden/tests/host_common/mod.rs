// SPDX-License-Identifier: Apache-2.0
//! Shared by the tests of host, tables and driver.
#![allow(dead_code)] // each test file uses a part

use std::collections::VecDeque;
use tpt_golden::driver::{CommandPort, PortError};
use tpt_golden::host::{AllocMode, Host, HostConfig, PhysRange};
use tpt_golden::mem::PhysMem;
use tpt_golden::types::{CmdOp, Command, Completion, Encoding, Key, Status};

/// A host with 1 GiB of RAM at 1 MiB and 2 GiB at 4 GiB.
pub fn host(mode: AllocMode, seed: u64) -> Host {
    let ram = |pa, len| PhysRange { pa, len };
    Host::new(HostConfig {
        ram: vec![ram(1 << 20, 1 << 30), ram(4 << 30, 2 << 30)],
        mode,
        seed,
    })
}

/// Memory in pieces of up to 64 KiB.
pub const FRAGMENTED: AllocMode = AllocMode::Fragmented { max_run: 16 };

/// Why the walk below stops.
#[derive(Debug, PartialEq, Eq)]
pub enum Stop {
    /// No entry.
    Absent,
    /// An illegal entry.
    Bad,
}

/// The check of encoding CHECKED, a nibble at a time from a table.
pub fn check21(region: u32, number: u64, level: u8, word: u64) -> u64 {
    // n x^21 modulo x^21 + x^2 + 1 is n (x^2 + 1), which has degree 5 at most.
    let step = |n: u64| n << 2 ^ n;
    let message = u128::from(region >> 8) << 93
        | u128::from(number) << 53
        | u128::from(region & 0xff) << 45
        | u128::from(level) << 42
        | u128::from(word >> 12 & 0xff_ffff_ffff) << 2
        | u128::from(word & 3);
    (0..27).rev().fold(0, |rest: u64, nibble| {
        let next = (message >> (4 * nibble)) as u64 & 15;
        let above = rest >> 17 ^ next;
        (rest << 4 & 0x1f_ffff) ^ step(above)
    })
}

/// Is it an entry of encoding CHECKED for this place?
fn is_intact(word: u64, region: u32, number: u64, level: u8) -> bool {
    let stored = word >> 2 & 0x3ff | (word >> 52 & 0x7ff) << 10;
    stored == check21(region, number, level, word)
        && word.count_ones() % 2 == 1
        && word & 1 == 1
        && word >> 12 & 0xff_ffff_ffff != 0
}

/// [`walk_region`] where the index does not matter.
pub fn walk(mem: &PhysMem, cmd: &Command, index: u64) -> Result<u64, Stop> {
    walk_region(mem, cmd, 0, index)
}

/// A plain walk over physical memory, written from the format's definition alone: the address of
/// page `index` of the region that the command describes, `region` being its MPT index.
pub fn walk_region(mem: &PhysMem, cmd: &Command, region: u32, index: u64) -> Result<u64, Stop> {
    let flagged = cmd.encoding == Encoding::Flagged as u8;
    let checked = cmd.encoding == Encoding::Checked as u8;
    let decode = |word: u64, log: u8, level: u8, number: u64| {
        let mut word = word;
        if checked && word != 0 {
            if !is_intact(word, region, number, level) {
                return Err(Stop::Bad);
            }
            word &= 0xf_ffff_ffff_f000;
        }
        let absent = if flagged { word & 1 == 0 } else { word == 0 };
        let flags = if flagged { 3 } else { 0 };
        let low = word & ((1u64 << log) - 1);
        if absent {
            Err(Stop::Absent)
        } else if low & !flags != 0 {
            Err(Stop::Bad)
        } else {
            Ok(word - low)
        }
    };
    let load = |pa: u64| {
        let mut bytes = [0; 8];
        mem.read(pa, &mut bytes);
        u64::from_le_bytes(bytes)
    };
    match cmd.level {
        0 => match cmd.frame[index as usize] {
            0 => Err(Stop::Absent),
            pa if pa % (1 << cmd.log_page) != 0 => Err(Stop::Bad),
            pa => Ok(pa),
        },
        5 => {
            let number = index + (cmd.frame[0] >> 3 & 0x1ff);
            decode(load(cmd.frame[0] + 8 * index), cmd.log_page, 1, number)
        }
        levels => {
            let per_page = (1u64 << cmd.log_tpage) / 8;
            let mut table = cmd.frame[0];
            for level in (0..u32::from(levels)).rev() {
                let slot = index / per_page.pow(level) % per_page;
                let log = if level == 0 {
                    cmd.log_page
                } else {
                    cmd.log_tpage
                };
                let number = index / per_page.pow(level);
                table = decode(load(table + 8 * slot), log, level as u8 + 1, number)?;
            }
            Ok(table)
        }
    }
}

/// Hardware that answers as it is told: OK with new keys when nothing is said.
#[derive(Default)]
pub struct Script {
    /// Answers still to give.
    pub answers: VecDeque<Result<Status, PortError>>,
    /// Commands seen.
    pub seen: Vec<Command>,
}

impl Script {
    pub fn say(answer: Result<Status, PortError>) -> Script {
        Script {
            answers: [answer].into(),
            ..Script::default()
        }
    }

    pub fn last(&self) -> Command {
        *self.seen.last().expect("a command")
    }
}

impl CommandPort for Script {
    fn submit(&mut self, _mem: &mut PhysMem, cmd: &Command) -> Result<Completion, PortError> {
        let answer = self.answers.pop_front().unwrap_or(Ok(Status::Ok));
        if !matches!(answer, Err(PortError::NotSent(_))) {
            self.seen.push(*cmd);
        }
        Ok(complete(cmd, answer?, self.seen.len() as u32))
    }
}

/// A completion of `cmd`, with keys made from `n`.
pub fn complete(cmd: &Command, status: Status, n: u32) -> Completion {
    let mut cpl = Completion::plain(cmd.id, cmd.op, status);
    let gives_keys = [CmdOp::RegMr.code(), CmdOp::ReregMr.code()].contains(&cmd.op);
    if status == Status::Ok && gives_keys {
        cpl.lkey = Key(n << 8 | 1);
        cpl.rkey = Key(n << 8 | 2);
    }
    cpl
}
