// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! The Verilated board behind a pseudo-terminal: a thread gives it clocks, turns bytes into bits and
//! bits into bytes, and damages them on demand. The host opens the other side as any serial port.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::fs::{fcntl_setfl, Mode, OFlags};
use rustix::pty::{grantpt, openpt, ptsname, unlockpt, OpenptFlags};
use tpt_verilated::{DutOptions, FlatDut, PortRef, BOARD};

use super::serial::{Line, LineError, Serial};

/// Clock of the simulated board: that of the bitstream, from fpga/boards.toml.
pub const CLOCK_HZ: u64 = BOARD.clock_hz as u64;
/// Bits per second of its line, from fpga/rtl/tpt_board.sv.
pub const BAUD: u32 = BOARD.baud;
/// Name of the model.
const MODEL: &str = "board";

/// What happens to bytes on the line. Times are simulated, from the first byte of a host on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Noise {
    /// Of a million bytes so many have a flipped bit.
    pub flip: u32,
    /// Of a million bytes so many are lost.
    pub drop: u32,
    /// From this microsecond on, for so many microseconds, nothing comes through.
    pub pull: Option<(u64, u64)>,
    /// At this microsecond the port goes away.
    pub unplug: Option<u64>,
}

impl std::str::FromStr for Noise {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "expected a list such as flip=200,drop=200,pull=3000+500,unplug=4000 \
                        (of a million bytes; microseconds of the board)";
        let mut noise = Noise::default();
        for part in text.split(',') {
            let (name, value) = part
                .split_once('=')
                .ok_or_else(|| format!("{part:?}: {expected}"))?;
            let number = |text: &str| {
                text.parse::<u64>()
                    .map_err(|_| format!("{part:?}: {expected}"))
            };
            let share = |text: &str| match number(text)? {
                n @ 0..=1_000_000 => Ok(n as u32),
                _ => Err(format!(
                    "{part:?}: more than a million of a million; {expected}"
                )),
            };
            match name {
                "flip" => noise.flip = share(value)?,
                "drop" => noise.drop = share(value)?,
                "pull" => {
                    let (from, time) = value
                        .split_once('+')
                        .ok_or_else(|| format!("{part:?}: {expected}"))?;
                    noise.pull = Some((number(from)?, number(time)?));
                }
                "unplug" => noise.unplug = Some(number(value)?),
                _ => return Err(format!("{part:?}: {expected}")),
            }
        }
        Ok(noise)
    }
}

/// A sender of bits: the model of a UART of the other side.
#[derive(Debug)]
pub struct BitSender {
    /// Clocks of a bit, in 1/65536.
    step: i64,
    /// What is left of the bit that is on the line, in 1/65536 clocks.
    left: i64,
    bits: u32,
    count: u32,
}

impl BitSender {
    /// Sends at this speed.
    pub fn new(baud: f64) -> Self {
        Self {
            step: (CLOCK_HZ as f64 / baud * 65536.0) as i64,
            left: 0,
            bits: 0,
            count: 0,
        }
    }

    /// Can a byte be given?
    pub fn is_free(&self) -> bool {
        self.count == 0
    }

    /// Gives a byte; `stop`: the level of its stop bit.
    pub fn give(&mut self, byte: u8, stop: bool) {
        self.bits = u32::from(byte) << 1 | u32::from(stop) << 9;
        self.count = 10;
        self.left += self.step;
    }

    /// The level of the line in the next clock.
    pub fn clock(&mut self) -> bool {
        if self.count == 0 {
            self.left = 0;
            return true;
        }
        let level = self.bits & 1 == 1;
        self.left -= 65536;
        if self.left <= 0 {
            self.bits >>= 1;
            self.count -= 1;
            if self.count > 0 {
                self.left += self.step;
            }
        }
        level
    }
}

/// A receiver of bits.
#[derive(Debug)]
pub struct BitReceiver {
    step: u64,
    /// Until the middle of the next bit, in 1/65536 clocks.
    left: u64,
    /// Bits taken; `None` while the line is idle.
    count: Option<u32>,
    byte: u8,
}

impl BitReceiver {
    /// Takes bits of this speed.
    pub fn new(baud: f64) -> Self {
        Self {
            step: (CLOCK_HZ as f64 / baud * 65536.0) as u64,
            left: 0,
            count: None,
            byte: 0,
        }
    }

    /// Takes the level of the line in this clock. A byte, or `Err` for one without a stop bit.
    pub fn clock(&mut self, level: bool) -> Option<Result<u8, ()>> {
        let Some(count) = self.count else {
            if !level {
                self.count = Some(0);
                self.left = self.step / 2;
            }
            return None;
        };
        if self.left >= 65536 {
            self.left -= 65536;
            return None;
        }
        self.left += self.step - 65536;
        match count {
            0 => {
                self.count = (!level).then_some(1);
                None
            }
            1..=8 => {
                self.byte = self.byte >> 1 | u8::from(level) << 7;
                self.count = Some(count + 1);
                None
            }
            _ => {
                self.count = None;
                Some(if level { Ok(self.byte) } else { Err(()) })
            }
        }
    }
}

/// The Verilated board with its pins.
pub struct Board {
    dut: FlatDut,
    rst: PortRef,
    rx: PortRef,
    tx: PortRef,
    led: PortRef,
}

impl Board {
    /// A board after its reset.
    pub fn new(seed: u64) -> Result<Self, LineError> {
        if !FlatDut::is_built(MODEL) {
            return Err(LineError::Board(format!(
                "this build has none; expected a build with the environment variable TPT_CONFIGS \
                 unset, or with `{MODEL}` in it"
            )));
        }
        let options = DutOptions {
            seed,
            ..DutOptions::default()
        };
        let dut = FlatDut::new(MODEL, &options).map_err(|e| LineError::Board(e.to_string()))?;
        let port = |name| dut.port(name);
        let (rst, rx, tx, led) = (port("rst_ni"), port("rx_i"), port("tx_o"), port("led_o"));
        let mut board = Self {
            dut,
            rst,
            rx,
            tx,
            led,
        };
        board.dut.set_u64(rx, 1);
        for clock in 0..16 {
            board.dut.set_u64(board.rst, u64::from(clock >= 8));
            board.clock(true)?;
        }
        Ok(board)
    }

    /// One clock with this level of the line; the level that the board drives.
    pub fn clock(&mut self, rx: bool) -> Result<bool, LineError> {
        self.dut.set_u64(self.rx, rx.into());
        self.dut
            .tick()
            .map_err(|e| LineError::Board(e.to_string()))?;
        Ok(self.dut.get_u64(self.tx) == 1)
    }

    /// Lamps.
    pub fn lamps(&self) -> u8 {
        self.dut.get_u64(self.led) as u8
    }

    /// Clocks so far.
    pub fn clocks(&self) -> u64 {
        self.dut.clock()
    }
}

/// What host and thread share.
#[derive(Debug, Default)]
struct Shared {
    clocks: AtomicU64,
    stop: AtomicBool,
    failed: Mutex<Option<String>>,
}

/// A simulated board that runs, in a thread of its own.
#[derive(Debug)]
pub struct SimBoard {
    path: PathBuf,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// A port to a simulated board, which runs at least as long.
#[derive(Debug)]
pub struct SimPort {
    serial: Serial,
    board: Arc<SimBoard>,
}

/// Simulated time that passes between a frame and its answer, at most: filling the whole memory takes
/// 8,192 clocks, and a register a thousand.
const TURNAROUND: Duration = Duration::from_micros(1500);
/// The thread must go on within this time.
const HANG: Duration = Duration::from_secs(120);

impl SimBoard {
    /// Starts a board.
    pub fn start(seed: u64, noise: Noise) -> Result<Arc<Self>, LineError> {
        let system = |what: &str, e: rustix::io::Errno| {
            LineError::Board(format!("no pseudo-terminal: {what}: {e}"))
        };
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
        let master = openpt(flags).map_err(|e| system("openpt", e))?;
        grantpt(&master).map_err(|e| system("grantpt", e))?;
        unlockpt(&master).map_err(|e| system("unlockpt", e))?;
        let name = ptsname(&master, Vec::new()).map_err(|e| system("ptsname", e))?;
        fcntl_setfl(&master, OFlags::RDWR | OFlags::NONBLOCK).map_err(|e| system("fcntl", e))?;
        let path = PathBuf::from(name.to_string_lossy().into_owned());
        // Held open, so that the other side does not hang up while no host has it open.
        let holder = rustix::fs::open(&path, OFlags::RDWR | OFlags::NOCTTY, Mode::empty())
            .map_err(|e| system("open", e))?;
        let shared = Arc::new(Shared::default());
        let theirs = shared.clone();
        // A model stays in its thread.
        let thread = std::thread::spawn(move || {
            let run = || {
                let mut shovel = Shovel {
                    board: Board::new(seed)?,
                    noise,
                    random: seed ^ 0x006e_6f69_7365,
                    master: Some(master),
                    holder: Some(holder),
                    shared: theirs.clone(),
                    to_board: VecDeque::new(),
                    to_host: VecDeque::new(),
                    first: None,
                };
                shovel.run()
            };
            let text = match run() {
                Ok(()) => return,
                Err(LineError::Board(text)) => text,
                Err(other) => other.to_string(),
            };
            if let Ok(mut failed) = theirs.failed.lock() {
                *failed = Some(text);
            }
        });
        let board = Self {
            path,
            shared,
            thread: Some(thread),
        };
        let start = Instant::now();
        while board.shared.clocks.load(Ordering::Relaxed) == 0 {
            board.check()?;
            if start.elapsed() > HANG {
                return Err(LineError::Board("no clock after its start".into()));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(Arc::new(board))
    }

    fn check(&self) -> Result<(), LineError> {
        let failed = self.shared.failed.lock();
        match failed.ok().and_then(|failed| failed.clone()) {
            Some(text) => Err(LineError::Board(text)),
            None => Ok(()),
        }
    }
}

impl Drop for SimBoard {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // What it had to say is in `failed`.
            let _ = thread.join();
        }
    }
}

impl SimPort {
    /// Opens the port of a board, as any serial port.
    pub fn open(board: &Arc<SimBoard>) -> Result<Self, LineError> {
        Ok(Self {
            serial: Serial::open(&board.path, BAUD)?,
            board: board.clone(),
        })
    }
}

impl Line for SimPort {
    fn send(&mut self, bytes: &[u8]) -> Result<(), LineError> {
        self.board.check()?;
        self.serial.send(bytes)
    }

    fn receive(&mut self, to: &mut Vec<u8>) -> Result<(), LineError> {
        let before = self.board.shared.clocks.load(Ordering::Relaxed);
        let start = Instant::now();
        loop {
            self.board.check()?;
            self.serial.receive(to)?;
            if self.board.shared.clocks.load(Ordering::Relaxed) != before {
                return Ok(());
            }
            if start.elapsed() > HANG {
                return Err(LineError::Board(format!(
                    "no clock within {} s",
                    HANG.as_secs()
                )));
            }
        }
    }

    fn now(&self) -> Duration {
        let clocks = self.board.shared.clocks.load(Ordering::Relaxed);
        Duration::from_nanos(clocks * 1_000_000_000 / CLOCK_HZ)
    }

    fn turnaround(&self) -> Duration {
        TURNAROUND
    }
}

/// The thread of the board.
struct Shovel {
    board: Board,
    noise: Noise,
    random: u64,
    master: Option<OwnedFd>,
    holder: Option<OwnedFd>,
    shared: Arc<Shared>,
    to_board: VecDeque<u8>,
    to_host: VecDeque<u8>,
    /// Clock of the first byte.
    first: Option<u64>,
}

impl Shovel {
    /// Clocks between two looks at the terminal.
    const LOOK: u64 = 256;

    fn chance(&mut self, of_a_million: u32) -> bool {
        if of_a_million == 0 {
            return false;
        }
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 16) % 1_000_000 < u64::from(of_a_million)
    }

    /// Microseconds since the first byte.
    fn time(&self) -> u64 {
        let first = self.first.unwrap_or(u64::MAX);
        self.board.clocks().saturating_sub(first) / (CLOCK_HZ / 1_000_000)
    }

    /// What becomes of a byte on the line.
    fn through(&mut self, byte: u8) -> Option<u8> {
        let now = self.time();
        if let Some((from, time)) = self.noise.pull {
            if now >= from && now - from < time {
                return None;
            }
        }
        if self.chance(self.noise.drop) {
            return None;
        }
        if self.chance(self.noise.flip) {
            return Some(byte ^ 1 << (self.random >> 40 & 7));
        }
        Some(byte)
    }

    fn run(&mut self) -> Result<(), LineError> {
        let mut sender = BitSender::new(BAUD.into());
        let mut receiver = BitReceiver::new(BAUD.into());
        while !self.shared.stop.load(Ordering::Relaxed) {
            self.look()?;
            for _ in 0..Self::LOOK {
                if sender.is_free() {
                    while let Some(byte) = self.to_board.pop_front() {
                        if let Some(byte) = self.through(byte) {
                            sender.give(byte, true);
                            break;
                        }
                    }
                }
                let level = self.board.clock(sender.clock())?;
                if let Some(Ok(byte)) = receiver.clock(level) {
                    let byte = self.through(byte);
                    self.to_host.extend(byte);
                }
            }
            self.shared
                .clocks
                .store(self.board.clocks(), Ordering::Relaxed);
        }
        Ok(())
    }

    /// Moves bytes between the terminal and the queues.
    fn look(&mut self) -> Result<(), LineError> {
        let now = self.time();
        if self.noise.unplug.is_some_and(|at| now >= at) {
            self.master = None;
            self.holder = None;
        }
        let Some(master) = &self.master else {
            self.to_host.clear();
            return Ok(());
        };
        let quiet = |e: rustix::io::Errno| {
            use rustix::io::Errno;
            matches!(e, Errno::AGAIN | Errno::INTR | Errno::IO)
        };
        if self.to_board.len() < 64 {
            let mut bytes = [0; 256];
            match rustix::io::read(master, &mut bytes) {
                Ok(n) => {
                    self.first.get_or_insert(self.board.clocks());
                    self.to_board.extend(&bytes[..n]);
                }
                Err(e) if quiet(e) => {}
                Err(e) => return Err(LineError::Board(format!("pseudo-terminal: {e}"))),
            }
        }
        let (first, _) = self.to_host.as_slices();
        if !first.is_empty() {
            match rustix::io::write(master, first) {
                Ok(n) => drop(self.to_host.drain(..n)),
                Err(e) if quiet(e) => {}
                Err(e) => return Err(LineError::Board(format!("pseudo-terminal: {e}"))),
            }
        }
        Ok(())
    }
}
