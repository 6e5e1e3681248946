// SPDX-License-Identifier: Apache-2.0
//! What the driver needs of the system it runs on: registers, memory for the device, a way to wait.

use thiserror::Error;

/// An access to a register or to memory of the device failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AccessError {
    /// It was answered with an error (AXI: SLVERR or DECERR).
    #[error("answered with an error")]
    Bus,
    /// The system could not do it.
    #[error("{0}")]
    System(String),
}

/// Registers of the unit, by byte offset.
pub trait Registers {
    /// Reads a register.
    fn read32(&mut self, offset: u16) -> Result<u32, AccessError>;
    /// Writes a register. It has had its effect when this returns.
    fn write32(&mut self, offset: u16, value: u32) -> Result<(), AccessError>;
}

/// Memory that host and unit share, by the addresses that the unit uses (bus addresses).
pub trait DmaMemory {
    /// Takes `bytes`, contiguous for the unit, at a multiple of `align` (a power of two). Its content
    /// is anything.
    fn allocate(&mut self, bytes: u64, align: u64) -> Result<u64, AccessError>;
    /// Gives memory back, by what [`DmaMemory::allocate`] has returned.
    fn free(&mut self, address: u64, bytes: u64);
    /// Reads memory.
    fn read(&mut self, address: u64, to: &mut [u8]) -> Result<(), AccessError>;
    /// Writes memory.
    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), AccessError>;
    /// What was written before is seen by the unit before a register write that follows.
    fn write_barrier(&mut self);
    /// What is read from now on is as new as what was read before.
    fn read_barrier(&mut self);
    /// What was read before has been read when a register write that follows has its effect: that
    /// write lets the unit use the memory again.
    fn release_barrier(&mut self);
}

/// How to wait for the unit.
pub trait Wait {
    /// Called between two looks: sleeps, yields, or lets simulated time go on.
    fn idle(&mut self) -> Result<(), AccessError>;
    /// A clock for [`Limit::Time`], in any unit that the caller likes.
    fn now(&mut self) -> Option<u64> {
        None
    }
}

/// All that the driver needs.
pub trait Platform: Registers + DmaMemory + Wait {}

impl<T: Registers + DmaMemory + Wait> Platform for T {}

/// How long a wait may last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// So many looks, with [`Wait::idle`] between them.
    Polls(u64),
    /// So much time on the clock of [`Wait::now`].
    Time(u64),
}

impl Default for Limit {
    fn default() -> Self {
        Limit::Polls(1_000_000)
    }
}

impl<T: Registers + ?Sized> Registers for &mut T {
    fn read32(&mut self, offset: u16) -> Result<u32, AccessError> {
        (**self).read32(offset)
    }

    fn write32(&mut self, offset: u16, value: u32) -> Result<(), AccessError> {
        (**self).write32(offset, value)
    }
}

impl<T: DmaMemory + ?Sized> DmaMemory for &mut T {
    fn allocate(&mut self, bytes: u64, align: u64) -> Result<u64, AccessError> {
        (**self).allocate(bytes, align)
    }

    fn free(&mut self, address: u64, bytes: u64) {
        (**self).free(address, bytes);
    }

    fn read(&mut self, address: u64, to: &mut [u8]) -> Result<(), AccessError> {
        (**self).read(address, to)
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), AccessError> {
        (**self).write(address, from)
    }

    fn write_barrier(&mut self) {
        (**self).write_barrier();
    }

    fn read_barrier(&mut self) {
        (**self).read_barrier();
    }

    fn release_barrier(&mut self) {
        (**self).release_barrier();
    }
}

impl<T: Wait + ?Sized> Wait for &mut T {
    fn idle(&mut self) -> Result<(), AccessError> {
        (**self).idle()
    }

    fn now(&mut self) -> Option<u64> {
        (**self).now()
    }
}
