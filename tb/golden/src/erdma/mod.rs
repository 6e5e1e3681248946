// SPDX-License-Identifier: Apache-2.0
//! Tables and commands as the Linux driver of erdma (Alibaba's elastic RDMA device) makes them, and
//! what a shim has to do so that this unit walks the same tables, unchanged.
//!
//! ```text
//!   erdma driver                         shim                            this unit
//!   build ──► tables in memory ───────────────────────────────────────▶ walked as they are
//!        └──► RegMr command words ──▶ Shim::reg_mr ──▶ REG_MR Command ─▶ check, keys, entry
//!                                     repairs, or refuses with a typed error
//! ```
//!
//! [`build()`] is a second builder, independent of [`mtt`](crate::mtt): it writes what that driver
//! writes, habits that can hurt included. [`device_lookup`] is the translation rule of the erdma
//! device itself. [`Shim`] turns the command into one of this unit. `docs/erdma.md` has the fields
//! side by side and a worked example.
//!
//! # Where the layout comes from
//!
//! Facts about the Linux driver `drivers/infiniband/hw/erdma` (`erdma_verbs.c`, `erdma_hw.h`; since
//! its hierarchical tables), described here in other words; no code of it is used. Addresses are
//! what the device sees: DMA addresses.
//!
//! # Example
//!
//! A region of exactly 4 GiB in four 1 GiB pages: the driver sends a length of 0, and the shim, which
//! knows the true one, repairs that.
//!
//! ```
//! use std::sync::Arc;
//! use tpt_golden::erdma::{build, Args, Machine, Repair, Shim};
//! use tpt_golden::frames::FrameList;
//! use tpt_golden::host::Host;
//!
//! let mut host = Host::default();
//! let pages = Arc::new(FrameList::contiguous(30, 1 << 40, 4));
//! let registration = build(&mut host, &Machine::default(), &Args::new(0, 4 << 30, pages))?;
//! let words = *registration.words();
//! assert_eq!((words.size, words.version(), words.level()), (0, 0, 0));
//!
//! let translated = Shim::default().reg_mr(&host.mem, &words, Some(4 << 30))?;
//! assert_eq!(translated.command.length, 4 << 30);
//! assert!(translated.repairs.contains(&Repair::Length { sent: 0, length: 4 << 30 }));
//! registration.free(&mut host);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod build;
mod shim;
mod words;

pub use build::{
    build, dma_command, frmr_command, page_count, table_pages, Args, BuildError, Iommu, Machine,
    Registration,
};
pub use shim::{cqe_status, Repair, Shim, ShimError, StagMap, Translated};
pub use words::{device_lookup, DeregMr, MrKind, RegMr, Rights};

/// Bytes of a table entry: one DMA address, little-endian, without any flag.
pub const ENTRY_BYTES: u64 = 8;
/// Page addresses that fit into the command; more need a table.
pub const INLINE_ENTRIES: u64 = 4;
/// Deepest tree that the driver builds.
pub const MAX_LEVEL: u8 = 3;
/// log2 of the page sizes of a region: 4 KiB to 1 GiB.
pub const LOG_PAGE: std::ops::RangeInclusive<u8> = 12..=30;
/// log2 of the table page sizes, which are the pages of the host: 4 KiB (x86, arm64), 16 KiB and
/// 64 KiB (arm64); 8 and 32 KiB exist in the field only.
pub const LOG_TPAGE: std::ops::RangeInclusive<u8> = 12..=16;
/// Bits of the number of table entries in command version 0.
pub const COUNT_BITS: u32 = 20;
/// Bits of the length in command version 0.
pub const SIZE_BITS: u32 = 32;
