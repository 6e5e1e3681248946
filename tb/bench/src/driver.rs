// SPDX-License-Identifier: Apache-2.0
//! The driver of the unit (`tpt-driver`) beside the unit: platforms that lead to the Verilated one
//! and to the reference, and the way of the golden host through it.

use std::collections::BTreeMap;
use std::ops::Range;

use tpt_driver::{AccessError, Config, Device, DmaMemory, Error, Limit, Platform, Registers, Wait};
use tpt_golden::device::Device as SoftDevice;
use tpt_golden::driver::{CommandPort, PortError};
use tpt_golden::mem::PhysMem;
use tpt_golden::types::{Command, Completion, Key, Status};

use crate::bench::{Bench, CommandExtra};
use crate::error::BenchError;

/// Memory that a driver takes: first fit in one range, filled with rubbish so that nothing relies on
/// zeros.
#[derive(Clone, Debug)]
pub struct Heap {
    start: u64,
    end: u64,
    taken: BTreeMap<u64, u64>,
}

impl Heap {
    /// Memory of `bytes` from `start` on.
    pub fn new(start: u64, bytes: u64) -> Self {
        Self {
            start,
            end: start + bytes,
            taken: BTreeMap::new(),
        }
    }

    /// Bytes that are taken.
    pub fn taken(&self) -> u64 {
        self.taken.values().sum()
    }

    fn allocate(&mut self, mem: &mut PhysMem, bytes: u64, align: u64) -> Result<u64, AccessError> {
        let up = |at: u64| at.next_multiple_of(align.max(8));
        let mut at = up(self.start);
        for (start, length) in &self.taken {
            if at + bytes <= *start {
                break;
            }
            at = up(at.max(start + length));
        }
        if bytes == 0 || at + bytes > self.end {
            return Err(AccessError::System(format!("no room for {bytes} bytes")));
        }
        self.taken.insert(at, bytes);
        let rubbish = [0xa5; 4096];
        let mut filled = 0;
        while filled < bytes {
            let part = (bytes - filled).min(4096);
            mem.write(at + filled, &rubbish[..part as usize]);
            filled += part;
        }
        Ok(at)
    }

    fn free(&mut self, address: u64, bytes: u64) {
        assert_eq!(
            self.taken.remove(&address),
            Some(bytes),
            "memory is given back that was not taken"
        );
    }
}

impl Default for Heap {
    fn default() -> Self {
        Self::new(0x90_0000_0000, 1 << 32)
    }
}

/// A unit that a driver can be put to.
pub trait Unit {
    /// The platform of a driver, for one call.
    fn platform<'a>(&'a mut self, mem: &'a mut PhysMem) -> impl Platform + 'a;

    /// What goes with the next command: every command needs one, in order.
    fn expect(&mut self, extra: CommandExtra);

    /// Memory of a table that is in use (again).
    fn allow(&mut self, range: Range<u64>);
}

/// The Verilated unit with memory for its driver.
pub struct RtlUnit {
    /// The unit.
    pub bench: Bench,
    /// Memory for the driver.
    pub heap: Heap,
    /// Why the last access failed, if it was more than an answer of the bus.
    pub error: Option<BenchError>,
}

impl RtlUnit {
    /// A unit that is not started.
    pub fn new(bench: Bench, heap: Heap) -> Self {
        let error = None;
        Self { bench, heap, error }
    }
}

impl Unit for RtlUnit {
    fn platform<'a>(&'a mut self, mem: &'a mut PhysMem) -> impl Platform + 'a {
        BenchPlatform { unit: self, mem }
    }

    fn expect(&mut self, extra: CommandExtra) {
        self.bench.expect_extra(extra);
    }

    fn allow(&mut self, range: Range<u64>) {
        self.bench.axi.allow(range);
    }
}

/// The Verilated unit as the platform of a driver.
pub struct BenchPlatform<'a> {
    /// The unit.
    pub unit: &'a mut RtlUnit,
    /// Memory.
    pub mem: &'a mut PhysMem,
}

impl BenchPlatform<'_> {
    fn failed(&mut self, error: BenchError) -> AccessError {
        if matches!(error, BenchError::Register { .. }) {
            return AccessError::Bus;
        }
        let text = error.to_string();
        self.unit.error = Some(error);
        AccessError::System(text)
    }
}

impl Registers for BenchPlatform<'_> {
    fn read32(&mut self, offset: u16) -> Result<u32, AccessError> {
        let read = self.unit.bench.host_read(self.mem, offset);
        read.map_err(|error| self.failed(error))
    }

    fn write32(&mut self, offset: u16, value: u32) -> Result<(), AccessError> {
        let written = self.unit.bench.host_write(self.mem, offset, value);
        written.map_err(|error| self.failed(error))
    }
}

impl DmaMemory for BenchPlatform<'_> {
    fn allocate(&mut self, bytes: u64, align: u64) -> Result<u64, AccessError> {
        let address = self.unit.heap.allocate(self.mem, bytes, align)?;
        self.unit.bench.axi.allow(address..address + bytes);
        Ok(address)
    }

    fn free(&mut self, address: u64, bytes: u64) {
        self.unit.heap.free(address, bytes);
        // The unit must not read it any more.
        self.unit.bench.axi.forbid(address..address + bytes);
    }

    fn read(&mut self, address: u64, to: &mut [u8]) -> Result<(), AccessError> {
        self.mem.read(address, to);
        Ok(())
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), AccessError> {
        self.mem.write(address, from);
        Ok(())
    }

    fn write_barrier(&mut self) {}

    fn read_barrier(&mut self) {}

    fn release_barrier(&mut self) {}
}

impl Wait for BenchPlatform<'_> {
    fn idle(&mut self) -> Result<(), AccessError> {
        let stepped = self.unit.bench.step(self.mem);
        stepped.map_err(|error| self.failed(error))
    }

    fn now(&mut self) -> Option<u64> {
        Some(self.unit.bench.clock())
    }
}

/// The reference with its registers and queues, and memory for its driver.
#[derive(Debug, Default)]
pub struct SoftUnit {
    /// The unit.
    pub device: SoftDevice,
    /// Memory for the driver.
    pub heap: Heap,
    steps: u64,
}

impl Unit for SoftUnit {
    fn platform<'a>(&'a mut self, mem: &'a mut PhysMem) -> impl Platform + 'a {
        SoftPlatform { unit: self, mem }
    }

    fn expect(&mut self, extra: CommandExtra) {
        self.device.expect_pages(extra.pages);
    }

    fn allow(&mut self, _range: Range<u64>) {}
}

/// The reference as the platform of a driver.
pub struct SoftPlatform<'a> {
    /// The unit.
    pub unit: &'a mut SoftUnit,
    /// Memory.
    pub mem: &'a mut PhysMem,
}

impl Registers for SoftPlatform<'_> {
    fn read32(&mut self, offset: u16) -> Result<u32, AccessError> {
        let read = self.unit.device.read32(offset);
        read.map_err(|_| AccessError::Bus)
    }

    fn write32(&mut self, offset: u16, value: u32) -> Result<(), AccessError> {
        let written = self.unit.device.write32(offset, value);
        written.map_err(|_| AccessError::Bus)
    }
}

impl DmaMemory for SoftPlatform<'_> {
    fn allocate(&mut self, bytes: u64, align: u64) -> Result<u64, AccessError> {
        self.unit.heap.allocate(self.mem, bytes, align)
    }

    fn free(&mut self, address: u64, bytes: u64) {
        self.unit.heap.free(address, bytes);
    }

    fn read(&mut self, address: u64, to: &mut [u8]) -> Result<(), AccessError> {
        self.mem.read(address, to);
        Ok(())
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), AccessError> {
        self.mem.write(address, from);
        Ok(())
    }

    fn write_barrier(&mut self) {}

    fn read_barrier(&mut self) {}

    fn release_barrier(&mut self) {}
}

impl Wait for SoftPlatform<'_> {
    fn idle(&mut self) -> Result<(), AccessError> {
        self.unit.device.step(self.mem);
        self.unit.steps += 1;
        Ok(())
    }

    fn now(&mut self) -> Option<u64> {
        Some(self.unit.steps)
    }
}

/// A command of the golden host in the words of the driver.
pub fn to_driver(command: &Command) -> tpt_driver::Command {
    tpt_driver::Command {
        op: command.op,
        flags: command.flags,
        tag: command.tag,
        rereg: command.rereg,
        encoding: command.encoding,
        key: command.key.0,
        mkey: command.mkey.0,
        pd: command.pd,
        new_pd: command.new_pd,
        qpn: command.qpn,
        access: command.access,
        start: command.start,
        length: command.length,
        log_page: command.log_page,
        level: command.level,
        log_tpage: command.log_tpage,
        frame: command.frame,
    }
}

/// A completion in the words of the golden host, as the answer to its command `id`.
pub fn to_golden(id: u16, completion: &tpt_driver::Completion) -> Completion {
    let code = completion.status.code();
    Completion {
        id,
        op: completion.op,
        // Both lists are those of the package.
        status: Status::from_code(code).unwrap_or(Status::BadSlot),
        lkey: Key(completion.lkey),
        rkey: Key(completion.rkey),
        index: completion.index,
        entry: completion.entry.unwrap_or([0; 64]),
    }
}

/// The golden host's way to a unit: through the driver and the queue.
pub struct QueuePort<U> {
    /// The unit.
    pub unit: U,
    /// The driver.
    pub device: Device,
    /// Limit of a wait.
    pub limit: Limit,
    /// What goes with the next command.
    pub extra: CommandExtra,
    /// Ids of commands that were answered PENDING: of the golden host, of the driver.
    pending: BTreeMap<u16, u16>,
}

impl<U: Unit> QueuePort<U> {
    /// Starts the unit.
    pub fn start(
        mut unit: U,
        mem: &mut PhysMem,
        config: &Config,
        limit: Limit,
    ) -> Result<Self, Error> {
        let device = Device::start(&mut unit.platform(mem), config, limit)?;
        Ok(Self {
            unit,
            device,
            limit,
            extra: CommandExtra::default(),
            pending: BTreeMap::new(),
        })
    }

    /// A call of the driver.
    pub fn call<R>(
        &mut self,
        mem: &mut PhysMem,
        call: impl FnOnce(&mut Device, &mut &mut dyn Platform) -> R,
    ) -> R {
        let mut platform = self.unit.platform(mem);
        let mut platform: &mut dyn Platform = &mut platform;
        call(&mut self.device, &mut platform)
    }

    /// Announces a command without waiting. Returns the driver's id.
    pub fn post(&mut self, mem: &mut PhysMem, command: &Command) -> Result<u16, Error> {
        self.unit.expect(std::mem::take(&mut self.extra));
        let platform = &mut self.unit.platform(mem);
        self.device.submit(platform, &to_driver(command))
    }

    /// Sends a command and waits for its next completion.
    pub fn send(&mut self, mem: &mut PhysMem, command: &Command) -> Result<Completion, Error> {
        let id = self.post(mem, command)?;
        let platform = &mut self.unit.platform(mem);
        let done = self.device.wait(platform, id, self.limit)?;
        if done.status == tpt_driver::Status::Pending {
            self.pending.insert(command.id, id);
        }
        Ok(to_golden(command.id, &done))
    }

    /// Waits for the final completion of a command that was answered PENDING, by the golden host's
    /// id.
    pub fn finish(&mut self, mem: &mut PhysMem, id: u16) -> Result<Completion, Error> {
        let of_driver = self.pending.remove(&id).unwrap_or(id);
        let platform = &mut self.unit.platform(mem);
        let done = self.device.wait(platform, of_driver, self.limit)?;
        Ok(to_golden(id, &done))
    }

    /// Stops the unit.
    pub fn stop(&mut self, mem: &mut PhysMem) -> Result<(), Error> {
        let platform = &mut self.unit.platform(mem);
        self.device.stop(platform, self.limit)
    }
}

impl<U: Unit> CommandPort for QueuePort<U> {
    fn submit(&mut self, mem: &mut PhysMem, command: &Command) -> Result<Completion, PortError> {
        let sent = self.send(mem, command);
        sent.map_err(|error| match error {
            Error::QueueFull | Error::NotRunning => PortError::NotSent(error.to_string()),
            _ => PortError::Lost(error.to_string()),
        })
    }
}
