// SPDX-License-Identifier: Apache-2.0
//! A platform that writes down what goes through it.

use std::fmt;

use crate::platform::{AccessError, DmaMemory, Registers, Wait};
use crate::registers;

/// One access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A register was read.
    Read {
        /// Byte offset.
        offset: u16,
        /// What it read.
        value: Result<u32, AccessError>,
    },
    /// A register was written.
    Write {
        /// Byte offset.
        offset: u16,
        /// What was written.
        value: u32,
        /// Whether it was refused.
        done: Result<(), AccessError>,
    },
    /// Memory was taken.
    Allocate {
        /// Where.
        address: u64,
        /// Bytes.
        bytes: u64,
    },
    /// Memory was given back.
    Free {
        /// Where.
        address: u64,
        /// Bytes.
        bytes: u64,
    },
    /// Memory was read.
    Load {
        /// Where.
        address: u64,
        /// What was there.
        data: Vec<u8>,
    },
    /// Memory was written.
    Store {
        /// Where.
        address: u64,
        /// What was written.
        data: Vec<u8>,
    },
    /// A write barrier.
    WriteBarrier,
    /// A read barrier.
    ReadBarrier,
    /// A release barrier.
    ReleaseBarrier,
    /// Waiting.
    Idle,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let refused = |done: bool| if done { "" } else { ", refused" };
        match self {
            Step::Read { offset, value } => {
                write!(f, "read  {} ", registers::name(*offset))?;
                match value {
                    Ok(value) => write!(f, "= {value:#x}"),
                    Err(_) => f.write_str("refused"),
                }
            }
            Step::Write {
                offset,
                value,
                done,
            } => {
                let name = registers::name(*offset);
                write!(f, "write {name} = {value:#x}{}", refused(done.is_ok()))
            }
            Step::Allocate { address, bytes } => {
                write!(f, "take  {bytes:#x} bytes at {address:#x}")
            }
            Step::Free { address, bytes } => write!(f, "free  {bytes:#x} bytes at {address:#x}"),
            Step::Load { address, data } => {
                write!(f, "load  {:#x} bytes from {address:#x}", data.len())
            }
            Step::Store { address, data } => {
                write!(f, "store {:#x} bytes to {address:#x}", data.len())
            }
            Step::WriteBarrier => f.write_str("write barrier"),
            Step::ReadBarrier => f.write_str("read barrier"),
            Step::ReleaseBarrier => f.write_str("release barrier"),
            Step::Idle => f.write_str("wait"),
        }
    }
}

/// A platform and what went through it.
#[derive(Debug, Default)]
pub struct Traced<P> {
    /// The platform.
    pub inner: P,
    /// What went through, in order, and when it was over, if the platform has a clock.
    pub steps: Vec<(Option<u64>, Step)>,
}

impl<P> Traced<P> {
    /// Writes down what goes to `inner`.
    pub fn new(inner: P) -> Self {
        let steps = Vec::new();
        Self { inner, steps }
    }

    /// What went through since the last call.
    pub fn take(&mut self) -> Vec<(Option<u64>, Step)> {
        std::mem::take(&mut self.steps)
    }
}

impl<P: Wait> Traced<P> {
    fn note(&mut self, step: Step) {
        let now = self.inner.now();
        self.steps.push((now, step));
    }
}

impl<P: Registers + Wait> Registers for Traced<P> {
    fn read32(&mut self, offset: u16) -> Result<u32, AccessError> {
        let value = self.inner.read32(offset);
        self.note(Step::Read {
            offset,
            value: value.clone(),
        });
        value
    }

    fn write32(&mut self, offset: u16, value: u32) -> Result<(), AccessError> {
        let done = self.inner.write32(offset, value);
        self.note(Step::Write {
            offset,
            value,
            done: done.clone(),
        });
        done
    }
}

impl<P: DmaMemory + Wait> DmaMemory for Traced<P> {
    fn allocate(&mut self, bytes: u64, align: u64) -> Result<u64, AccessError> {
        let address = self.inner.allocate(bytes, align)?;
        self.note(Step::Allocate { address, bytes });
        Ok(address)
    }

    fn free(&mut self, address: u64, bytes: u64) {
        self.inner.free(address, bytes);
        self.note(Step::Free { address, bytes });
    }

    fn read(&mut self, address: u64, to: &mut [u8]) -> Result<(), AccessError> {
        self.inner.read(address, to)?;
        let data = to.to_vec();
        self.note(Step::Load { address, data });
        Ok(())
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), AccessError> {
        self.inner.write(address, from)?;
        let data = from.to_vec();
        self.note(Step::Store { address, data });
        Ok(())
    }

    fn write_barrier(&mut self) {
        self.inner.write_barrier();
        self.note(Step::WriteBarrier);
    }

    fn read_barrier(&mut self) {
        self.inner.read_barrier();
        self.note(Step::ReadBarrier);
    }

    fn release_barrier(&mut self) {
        self.inner.release_barrier();
        self.note(Step::ReleaseBarrier);
    }
}

impl<P: Wait> Wait for Traced<P> {
    fn idle(&mut self) -> Result<(), AccessError> {
        self.note(Step::Idle);
        self.inner.idle()
    }

    fn now(&mut self) -> Option<u64> {
        self.inner.now()
    }
}
