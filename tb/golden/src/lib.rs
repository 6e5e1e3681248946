// SPDX-License-Identifier: Apache-2.0
//! Golden reference of the translation and protection unit, in plain Rust.
//!
//! An RDMA NIC reads and writes the memory of programs without asking the operating system. Two
//! tables make that safe. The *memory protection table* (MPT) has an entry for each registered
//! region: who may use it, for what, and which addresses it spans. The *memory translation table*
//! (MTT) gives the physical page behind each page of a region. This crate says how a unit that
//! works with these tables must behave; hardware is compared with it.
//!
//! ```text
//!   program            driver                       unit                      memory
//!   reg_mr  ─────────▶ pin pages, build MTT ─────────────────────────────────▶ MTT pages
//!   [host], [driver]   REG_MR ────────────────────▶ check, choose index ─────▶ MPT entry
//!   lkey, rkey ◀────── completion ◀──────────────── make keys
//!
//!   packet ──────────▶ {op, key, va, len, ...} ───▶ key → region → rules ────▶ segments
//!                                                                          or a syndrome
//! ```
//!
//! | module | what it knows |
//! |---|---|
//! | [`types`] | requests, beats, commands, completions, syndromes, statuses, rights |
//! | [`codec`] | how these look as bits; MPT and MTT entries in memory |
//! | [`regs`] | the registers |
//! | [`queue`] | slots of the queues in memory |
//! | [`device`] | the unit as a host sees it: registers and queues |
//! | [`keys`] | how keys are made and read |
//! | [`frames`] | the true pages of a region |
//! | [`mod@unit`] | **the rules**: what is refused, what is translated, what commands do |
//! | [`mem`] | sparse physical memory |
//! | [`host`] | processes, page tables, pins |
//! | [`mtt`] | builds translation tables |
//! | [`driver`] | registers memory as a kernel driver does |
//! | [`erdma`] | tables and commands as another driver makes them, and the shim between it and the unit |
//!
//! # Example
//!
//! Register 8 KiB that lie in two scattered pages, and write to them from the peer:
//!
//! ```
//! use tpt_golden::keys::KeyMaker;
//! use tpt_golden::types::*;
//! use tpt_golden::unit::Golden;
//!
//! let keys = KeyMaker::new([1, 2, 3, 4], [5, 6, 7, 8], false);
//! let mut unit = Golden::enabled(keys, 64, 3);
//!
//! let registered = unit.command(
//!     &Command {
//!         op: CmdOp::RegMr.code(),
//!         pd: 7,
//!         access: (Access::LOCAL_WRITE | Access::REMOTE_WRITE).0,
//!         start: 0x10_0000,
//!         length: 0x2000,
//!         log_page: 12,
//!         level: LEVEL_INLINE,
//!         frame: [0xa_0000, 0xb_0000, 0, 0],
//!         ..Command::default()
//!     },
//!     None,
//! );
//! assert_eq!(registered.status, Status::Ok);
//!
//! let mut request = Request {
//!     op: Op::RemoteWrite.code(),
//!     key: registered.rkey,
//!     va: 0x10_0ff0,
//!     len: 0x20,
//!     pd: 7,
//!     ..Request::default()
//! };
//! let beats: Vec<Beat> = unit.judge(&request).beats(&request).collect();
//! assert_eq!(beats.len(), 2); // the request crosses a page
//! assert_eq!((beats[0].pa, beats[0].len, beats[0].last), (0xa_0ff0, 0x10, false));
//! assert_eq!((beats[1].pa, beats[1].len, beats[1].last), (0xb_0000, 0x10, true));
//!
//! request.len = 0x2000; // past the end of the region
//! assert_eq!(unit.judge(&request).syndrome, Syndrome::Bounds);
//! request.key = registered.lkey; // the owner's key does not work for the peer
//! assert_eq!(unit.judge(&request).syndrome, Syndrome::KeyTag);
//! ```
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod alarm;
pub mod codec;
pub mod device;
pub mod driver;
pub mod erdma;
pub mod frames;
pub mod host;
pub mod keys;
pub mod mem;
pub mod mtt;
pub mod queue;
pub mod regs;
pub mod types;
pub mod unit;
