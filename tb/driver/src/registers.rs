// SPDX-License-Identifier: Apache-2.0
//! Access to registers, with names for reports.

use crate::error::Error;
use crate::platform::Registers;
use tpt_regs::table;

/// Name of the register at an offset; elements of an array share one.
pub fn name(offset: u16) -> &'static str {
    table::REGISTERS
        .iter()
        .find(|register| register.offsets().any(|at| at == offset))
        .map_or("?", |register| register.name)
}

/// The field of `value` under `mask`.
pub(crate) fn field(value: u32, mask: u32) -> u32 {
    (value & mask) >> mask.trailing_zeros()
}

pub(crate) fn read(p: &mut (impl Registers + ?Sized), offset: u16) -> Result<u32, Error> {
    p.read32(offset).map_err(|source| Error::Register {
        name: name(offset),
        offset,
        write: false,
        source,
    })
}

pub(crate) fn write(
    p: &mut (impl Registers + ?Sized),
    offset: u16,
    value: u32,
) -> Result<(), Error> {
    p.write32(offset, value).map_err(|source| Error::Register {
        name: name(offset),
        offset,
        write: true,
        source,
    })
}

/// Writes an address to a pair of registers.
pub(crate) fn write_address(
    p: &mut (impl Registers + ?Sized),
    low: u16,
    high: u16,
    address: u64,
) -> Result<(), Error> {
    write(p, low, address as u32)?;
    write(p, high, (address >> 32) as u32)
}
