// SPDX-License-Identifier: Apache-2.0
//! Host driver of the translation and protection unit.
//!
//! It speaks registers and the command and completion queue in host memory, and nothing else:
//! docs/registers.md, docs/queues.md; the sequences are shown in docs/driver.md. What it needs of the
//! system are the traits of [`platform`]; it does not know whether hardware is behind them.
//!
//! | module | what |
//! |---|---|
//! | [`platform`] | registers, memory of the device, waiting: implemented by the user |
//! | [`probe`] | what unit is there |
//! | [`device`] | start, stop, commands and completions, interrupts, errors, counters |
//! | [`command`] | commands, completions and their slots |
//! | [`mtt`] | translation tables |
//! | [`paging`] | on-demand regions: page faults, pages that are taken back |
//! | [`verbs`] | registration, fast registration and windows, one call each |
//! | [`trace`] | a platform that writes down what goes through it |
//! | [`gen`] | numbers, made from `rtl/tpt_pkg.sv` |
//!
//! ```no_run
//! use tpt_driver::mtt::{Layout, Run};
//! use tpt_driver::verbs::{Memory, RegMr};
//! use tpt_driver::{access, Config, Device, Error, Limit, Platform};
//!
//! # fn example(platform: &mut impl Platform, secret: [[u32; 4]; 2]) -> Result<(), Error> {
//! let limit = Limit::default();
//! let config = Config {
//!     perm_secret: secret[0],
//!     tag_secret: secret[1],
//!     ..Config::default()
//! };
//! let mut device = Device::start(platform, &config, limit)?;
//! let pinned = [Run { address: 0x8000_3000, bytes: 0x2000 }];
//! let args = RegMr {
//!     pd: 7,
//!     start: 0x7f00_1000,
//!     length: 0x2000,
//!     access: access::LOCAL_WRITE | access::REMOTE_WRITE,
//!     memory: Memory::Runs(&pinned, Layout::default()),
//! };
//! let mut region = device.reg_mr(platform, &args, limit)?;
//! println!("L_Key {:#x}, R_Key {:#x}", region.lkey(), region.rkey());
//! let ended = device.dereg_mr(platform, &mut region, limit)?;
//! // PENDING: somebody still holds a segment; the pages stay pinned until `resume` says done.
//! # let _ = ended;
//! device.stop(platform, limit)
//! # }
//! ```
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod command;
pub mod device;
mod error;
pub mod gen;
pub mod mtt;
pub mod paging;
pub mod platform;
pub mod probe;
pub mod registers;
pub mod trace;
pub mod verbs;

pub use command::{Command, Completion};
pub use device::{take_over, Config, Device, Event, Refusal, Stats};
pub use error::Error;
pub use gen::{access, flag, rereg, Encoding, Op, Status, Syndrome};
pub use platform::{AccessError, DmaMemory, Limit, Platform, Registers, Wait};
pub use probe::Capabilities;
