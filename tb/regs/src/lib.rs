// SPDX-License-Identifier: Apache-2.0
//! Registers of the unit. All but this file is made from `rtl/tpt_csr.rdl` by `make csr`.
//!
//! * [`table`]: offsets and bits as constants, and a table of all registers with their properties.
//! * [`csr`]: a type per register with a method per field, and typed access to the registers of a
//!   unit in the address space of the program, from PeakRDL-rust.

// Generated text: no house style.
#[allow(clippy::all, rustdoc::all, missing_docs)]
pub mod csr;
#[allow(rustdoc::broken_intra_doc_links)]
pub mod table;

/// How software sees a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read only.
    Ro,
    /// Read and write.
    Rw,
    /// Write only, reads as 0.
    Wo,
    /// Write 1 to clear.
    W1c,
    /// Write 1 to set.
    W1s,
    /// Write 1 for a pulse, reads as 0.
    W1p,
}

/// A field of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name.
    pub name: &'static str,
    /// Its bits.
    pub mask: u32,
    /// Access by software.
    pub access: Access,
    /// The hardware tells the value: there is no reset value.
    pub live: bool,
    /// Name of the lock that keeps software from writing it.
    pub lock: Option<&'static str>,
}

/// A register, or an array of equal ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register {
    /// Name.
    pub name: &'static str,
    /// Byte offset of the first one.
    pub offset: u16,
    /// How many there are.
    pub count: u16,
    /// Bytes from one to the next.
    pub stride: u16,
    /// What reads after reset, as far as the hardware does not tell it.
    pub reset: u32,
    /// Name of the lock that makes every write an error.
    pub lock: Option<&'static str>,
    /// Fields, from bit 0 on.
    pub fields: &'static [Field],
}

impl Register {
    /// Byte offsets of all of them.
    pub fn offsets(&self) -> impl Iterator<Item = u16> + '_ {
        (0..self.count).map(|n| self.offset + n * self.stride)
    }

    /// Bits of all fields with this access.
    pub fn bits(&self, access: Access) -> u32 {
        let chosen = self.fields.iter().filter(|field| field.access == access);
        chosen.fold(0, |bits, field| bits | field.mask)
    }

    /// Bits that the hardware tells.
    pub fn live(&self) -> u32 {
        let chosen = self.fields.iter().filter(|field| field.live);
        chosen.fold(0, |bits, field| bits | field.mask)
    }

    /// True if software can write some of it.
    pub fn writable(&self) -> bool {
        self.fields.iter().any(|field| field.access != Access::Ro)
    }
}

/// A register of [`csr`] with this value, to take its fields apart.
pub fn with_value<R: peakrdl_rust::reg::Register<Regwidth = u32>>(value: u32) -> R {
    // SAFETY: the type is a transparent word. Only fields with names for their values would make
    // some words invalid, and no register has one.
    unsafe { R::from_raw(value) }
}
