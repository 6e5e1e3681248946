// SPDX-License-Identifier: Apache-2.0
//! AXI memory, clients, scoreboard and random tests around the Verilated unit.
//!
//! [`Bench`] is the unit in one configuration with an AXI4 memory ([`axi::AxiMem`]) on its manager
//! port, its registers, a driver per client, and the golden reference as judge: every beat of every
//! request and every completion is compared.
//!
//! ```no_run
//! use tpt_bench::{Bench, BenchOptions, UnitConfig};
//! use tpt_golden::mem::PhysMem;
//! use tpt_golden::types::{Key, Request, Syndrome};
//!
//! # fn main() -> Result<(), tpt_bench::BenchError> {
//! let mut mem = PhysMem::new();
//! let mut bench = Bench::new(&mut mem, BenchOptions::default())?;
//! bench.enable(&mut mem, &UnitConfig::default())?;
//! let request = Request { key: Key(0x1234_5678), len: 1, ..Request::default() };
//! let outcome = bench.access(&mut mem, 0, request)?;
//! assert_ne!(outcome.syndrome, Syndrome::Ok);
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod axi;
mod bench;
mod client;
mod cover;
pub mod driver;
mod error;
pub mod paging;
pub mod random;
pub mod rig;
pub mod rng;

pub use bench::{
    Bench, BenchOptions, CommandExtra, Doubt, Finished, QueueConfig, Stats, Tenants, UnitConfig,
};
pub use client::{DonePolicy, Issue, Outcome, Ticket, TAGS};
pub use error::BenchError;
pub use rng::{Clocks, Pattern};
