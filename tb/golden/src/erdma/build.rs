// SPDX-License-Identifier: Apache-2.0
//! The builder: tables and REG_MR words as the erdma driver makes them.

use super::words::{header, put, MrKind, RegMr, Rights, OPCODE_REG_MR};
use super::{COUNT_BITS, ENTRY_BYTES, INLINE_ENTRIES, LOG_PAGE, LOG_TPAGE, MAX_LEVEL, SIZE_BITS};
use crate::driver::Errno;
use crate::frames::{FrameList, Page, PageSource};
use crate::host::{Host, HostError, Owner, PhysRange, FRAME};
use crate::mem::PhysMem;
use crate::types::Access;
use std::sync::Arc;
use thiserror::Error;

/// What the mapping of table pages for the device does with pages that are neighbours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Iommu {
    /// Each table page is a segment of its own.
    #[default]
    Direct,
    /// Neighbours become one segment of at most `limit` bytes.
    Merging {
        /// Longest segment in bytes.
        limit: u64,
    },
}

/// The machine that the driver runs on, and what its device says it can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// log2 of the host's page size in bytes, which is the table page size: 12 or 16 (14 exists).
    pub log_host_page: u8,
    /// The device walks trees of table pages. Without it every table is one flat array.
    pub mtt_va: bool,
    /// log2 of the longest region in bytes (an 8-bit field of the device; from 64 on no limit).
    pub log_max_mr: u8,
    /// Mapping of table pages.
    pub iommu: Iommu,
}

impl Default for Machine {
    /// 4 KiB pages, trees, no limit, no merging.
    fn default() -> Self {
        Self {
            log_host_page: 12,
            mtt_va: true,
            log_max_mr: 64,
            iommu: Iommu::Direct,
        }
    }
}

impl Machine {
    /// With pages of 2^`log_host_page` bytes.
    pub fn with_pages(log_host_page: u8) -> Self {
        Self {
            log_host_page,
            ..Self::default()
        }
    }

    /// Longest region in bytes.
    pub fn max_mr_size(&self) -> u64 {
        1u64.checked_shl(self.log_max_mr.into()).unwrap_or(u64::MAX)
    }
}

/// What is to be registered.
#[derive(Clone, Debug)]
pub struct Args {
    /// First address as the device sees it.
    pub iova: u64,
    /// Bytes.
    pub length: u64,
    /// The pages, with their size; the first one holds the first byte.
    pub pages: Arc<FrameList>,
    /// Protection domain, 20 bits.
    pub pd: u32,
    /// `IBV_ACCESS_*`.
    pub access: Access,
    /// Index that the driver has chosen, 20 bits; 0 is possible.
    pub index: u32,
    /// Cookie of the command queue.
    pub cookie: u16,
    /// The caller wants a flat table whatever the device can do.
    pub force_flat: bool,
    /// Flat table: its byte offset in the first frame, a multiple of 8, as an allocator of small
    /// objects would place it.
    pub flat_offset: u64,
    /// Seed of what was on the stack: in every field that the driver does not write.
    pub garbage: u64,
    /// Compute the lowest level of a tree when it is read instead of storing it: for tables that are
    /// too large for a test. It is contiguous then.
    pub lazy: bool,
}

impl Args {
    /// `length` bytes of `pages` at `iova`, in protection domain 1, with all rights.
    pub fn new(iova: u64, length: u64, pages: Arc<FrameList>) -> Self {
        Self {
            iova,
            length,
            pages,
            pd: 1,
            access: Access(0xf),
            index: 1,
            cookie: 0,
            force_flat: false,
            flat_offset: 0,
            garbage: 0x6b6b_6b6b_5a5a_5a5a,
            lazy: false,
        }
    }
}

/// Why the driver does not register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BuildError {
    /// Nothing, or more than the device says it can do.
    #[error("a region of {length:#x} bytes: must be 1 to {max:#x}")]
    Length {
        /// Bytes asked for.
        length: u64,
        /// Longest region in bytes.
        max: u64,
    },
    /// The region passes 2^64.
    #[error("{iova:#x} + {length:#x} passes 2^64")]
    Wrap {
        /// First address.
        iova: u64,
        /// Bytes.
        length: u64,
    },
    /// Page size outside 4 KiB to 1 GiB.
    #[error("pages of 2^{0} bytes are not supported")]
    PageSize(u8),
    /// Host page size outside 4 KiB to 64 KiB.
    #[error("host pages of 2^{0} bytes are not supported")]
    HostPage(u8),
    /// The list has not as many pages as the region.
    #[error("the region has {needed} pages, the list {given}")]
    PageCount {
        /// Pages of the region.
        needed: u64,
        /// Pages of the list.
        given: u64,
    },
    /// A page that is absent, or not aligned to its size.
    #[error("page {0} cannot be mapped")]
    Page(u64),
    /// The flat table does not start on a multiple of 8 inside its first frame.
    #[error("a flat table cannot start at offset {0}")]
    FlatOffset(u64),
    /// The value does not fit into its field.
    #[error("{name} {value:#x} has more than {bits} bits")]
    Field {
        /// Name of the field.
        name: &'static str,
        /// The value.
        value: u64,
        /// Width of the field.
        bits: u32,
    },
    /// The tree would need a fourth level.
    #[error("{pages} pages need more than three levels")]
    TooDeep {
        /// Pages of the region.
        pages: u64,
    },
    /// No memory for the table.
    #[error(transparent)]
    Host(#[from] HostError),
}

impl BuildError {
    /// What the driver returns.
    pub fn errno(&self) -> Errno {
        match self {
            BuildError::TooDeep { .. } | BuildError::Host(_) => Errno::Enomem,
            _ => Errno::Einval,
        }
    }
}

/// Pages of 2^`log_page` bytes that a region touches: `ceil((length + iova mod P) / P)`, one more than
/// `length / P` if the start is not aligned.
pub fn page_count(iova: u64, length: u64, log_page: u8) -> u64 {
    let page = 1u128 << log_page.min(64);
    (u128::from(length) + u128::from(iova) % page).div_ceil(page) as u64
}

/// Table pages of each level of the tree over `entries` pages, from the lowest level up. The levels end
/// where one table page is enough; a fourth one is refused.
pub fn table_pages(entries: u64, log_tpage: u8) -> Result<Vec<u64>, BuildError> {
    if !LOG_TPAGE.contains(&log_tpage) {
        return Err(BuildError::HostPage(log_tpage));
    }
    let per_page = (1u64 << log_tpage) / ENTRY_BYTES;
    let mut levels = Vec::new();
    let mut below = entries.max(1);
    loop {
        below = below.div_ceil(per_page);
        levels.push(below);
        match below {
            1 => return Ok(levels),
            _ if levels.len() == usize::from(MAX_LEVEL) => {
                return Err(BuildError::TooDeep { pages: entries })
            }
            _ => {}
        }
    }
}

/// One level of a table.
#[derive(Debug, Default)]
struct Level {
    ranges: Vec<PhysRange>,
    /// Where each segment starts, as the device sees it.
    segments: Vec<u64>,
    pages: u64,
}

/// What the driver made: the command, and the table that it points at.
///
/// It owns the frames of the table: give them back with [`Registration::free`].
#[derive(Debug)]
#[must_use = "the frames of the table stay in use until `Registration::free`"]
pub struct Registration {
    words: RegMr,
    log_tpage: u8,
    entries: u64,
    levels: Vec<Level>,
    generated: Option<u64>,
}

impl Registration {
    /// The command.
    pub fn words(&self) -> &RegMr {
        &self.words
    }

    /// Pages of the region.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Table pages of each level of a tree, from the lowest up; empty if inline or flat.
    pub fn table_pages(&self) -> Vec<u64> {
        self.levels
            .iter()
            .map(|l| l.pages)
            .filter(|&n| n > 0)
            .collect()
    }

    /// Segments that the table pages of each level were mapped to: as many as pages, unless the IOMMU
    /// has merged some.
    pub fn segments(&self) -> Vec<u64> {
        self.levels
            .iter()
            .map(|l| l.segments.len() as u64)
            .collect()
    }

    /// Memory of the table, from the lowest level up.
    pub fn ranges(&self) -> impl Iterator<Item = PhysRange> + '_ {
        self.levels.iter().flat_map(|l| l.ranges.iter().copied())
    }

    /// log2 of the bytes of a table page.
    pub fn log_tpage(&self) -> u8 {
        self.log_tpage
    }

    /// Gives the frames of the table back.
    pub fn free(self, host: &mut Host) {
        if let Some(start) = self.generated {
            host.mem.unmap_generator(start);
        }
        for level in &self.levels {
            host.free(&level.ranges);
        }
    }

    /// One array for all entries.
    fn flat(&mut self, host: &mut Host, args: &Args) -> Result<(), BuildError> {
        let bytes = args.flat_offset + self.entries * ENTRY_BYTES;
        let range = host.alloc_contiguous(Owner::Table, bytes, 1)?;
        let root = range.pa + args.flat_offset;
        self.levels.push(Level {
            ranges: vec![range],
            segments: vec![root],
            pages: 0,
        });
        if args.lazy {
            self.generate(host, args, root..root + self.entries * ENTRY_BYTES);
        } else {
            let chunk = self.entries.min(1 << 12);
            let places = (0..self.entries.div_ceil(chunk)).map(|k| root + k * chunk * ENTRY_BYTES);
            fill(&mut host.mem, places, chunk, addresses(&args.pages));
        }
        Ok(())
    }

    /// Table pages, level by level, until the device sees one segment.
    fn tree(&mut self, host: &mut Host, args: &Args, iommu: Iommu) -> Result<(), BuildError> {
        let size = 1u64 << self.log_tpage;
        let per_page = size / ENTRY_BYTES;
        let mut below = self.entries;
        loop {
            let lazy = args.lazy && self.levels.is_empty();
            let pages = below.div_ceil(per_page);
            let ranges = match lazy {
                true => vec![host.alloc_contiguous(Owner::Table, pages * size, size)?],
                false => host.alloc_blocks(Owner::Table, pages, size)?,
            };
            let level = Level {
                segments: map(&ranges, size, iommu),
                ranges,
                pages,
            };
            let places = level
                .ranges
                .iter()
                .flat_map(|r| (0..r.len / size).map(move |k| r.pa + k * size));
            match self.levels.last() {
                None if lazy => {
                    let start = level.ranges[0].pa;
                    self.generate(host, args, start..start + pages * size);
                }
                None => fill(&mut host.mem, places, per_page, addresses(&args.pages)),
                // One entry for each segment, not for each page: if neighbours were merged, the
                // entries behind them are in the wrong place.
                Some(lower) => {
                    fill(
                        &mut host.mem,
                        places,
                        per_page,
                        lower.segments.iter().copied(),
                    );
                }
            }
            below = level.segments.len() as u64;
            self.levels.push(level);
            match below {
                1 => return Ok(()),
                _ if self.levels.len() == usize::from(MAX_LEVEL) => {
                    return Err(BuildError::TooDeep {
                        pages: self.entries,
                    })
                }
                _ => {}
            }
        }
    }

    fn generate(&mut self, host: &mut Host, args: &Args, range: std::ops::Range<u64>) {
        let pages = Arc::clone(&args.pages);
        self.generated = Some(range.start);
        host.mem.map_generator(range, move |n| match pages.page(n) {
            Page::Present { pa, .. } => pa,
            _ => 0,
        });
    }
}

/// Segment starts of table pages of `size` bytes.
fn map(ranges: &[PhysRange], size: u64, iommu: Iommu) -> Vec<u64> {
    let limit = match iommu {
        Iommu::Direct => size,
        Iommu::Merging { limit } => limit.max(size),
    };
    let mut segments = Vec::new();
    let mut last: Option<PhysRange> = None;
    for pa in ranges
        .iter()
        .flat_map(|r| (0..r.len / size).map(move |k| r.pa + k * size))
    {
        match &mut last {
            Some(s) if s.pa + s.len == pa && s.len + size <= limit => s.len += size,
            _ => {
                segments.push(pa);
                last = Some(PhysRange { pa, len: size });
            }
        }
    }
    segments
}

/// Writes the words, `per_place` of them to each place. What follows the last one stays zero.
fn fill(
    mem: &mut PhysMem,
    places: impl Iterator<Item = u64>,
    per_place: u64,
    mut words: impl Iterator<Item = u64>,
) {
    let mut bytes = Vec::with_capacity((per_place * ENTRY_BYTES) as usize);
    for pa in places {
        bytes.clear();
        for word in words.by_ref().take(per_place as usize) {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        mem.write(pa, &bytes);
    }
}

/// Address of each page. All of them are present: [`build`] has looked.
fn addresses(list: &FrameList) -> impl Iterator<Item = u64> + '_ {
    let log_page = u32::from(list.log_page());
    list.runs().iter().flat_map(move |run| {
        let first = match run.page {
            Page::Present { pa, .. } => pa,
            _ => 0,
        };
        (0..run.pages).map(move |k| first.wrapping_add(k << log_page))
    })
}

/// Numbers to fill a stack with (SplitMix64).
fn garbage(seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed;
    std::iter::from_fn(move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        Some(z ^ z >> 31)
    })
}

/// A command that nobody has written yet, but for its header.
fn uninitialised(seed: u64, cookie: u16) -> RegMr {
    let mut bytes = [0; RegMr::BYTES];
    for (place, word) in bytes.chunks_exact_mut(8).zip(garbage(seed)) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    RegMr {
        hdr: header(cookie, OPCODE_REG_MR),
        ..RegMr::from_bytes(&bytes)
    }
}

fn cfg0(valid: bool, version: u8, index: u32) -> u32 {
    // The key byte is always 0.
    (put(valid.into(), 31, 31) | put(version.into(), 30, 28) | put(index.into(), 19, 0)) as u32
}

fn cfg1(pd: u32, kind: MrKind, rights: Rights) -> u32 {
    (put(pd.into(), 31, 12) | put(kind.code().into(), 7, 6) | put(rights.0.into(), 5, 1)) as u32
}

/// Builds the table of a region as the erdma driver does, and its REG_MR command.
///
/// On an error no frame stays in use.
pub fn build(host: &mut Host, machine: &Machine, args: &Args) -> Result<Registration, BuildError> {
    check(machine, args)?;
    let entries = args.pages.pages();
    let mut made = Registration {
        words: uninitialised(args.garbage, args.cookie),
        log_tpage: machine.log_host_page,
        entries,
        levels: Vec::new(),
        generated: None,
    };
    let flat = args.force_flat || !machine.mtt_va;
    let built = match entries <= INLINE_ENTRIES {
        true => Ok(()),
        false if flat => made.flat(host, args),
        // The driver finds out when it has built three levels; here it costs nothing.
        false if machine.iommu == Iommu::Direct => {
            table_pages(entries, made.log_tpage).and_then(|_| made.tree(host, args, machine.iommu))
        }
        false => made.tree(host, args, machine.iommu),
    };
    if let Err(error) = built {
        made.free(host);
        return Err(error);
    }

    let level = made.levels.len() as u64;
    // Only a tree of more than one level is sent in the longer layout.
    let version = u8::from(level > 1);
    let words = &mut made.words;
    words.cfg0 = cfg0(true, version, args.index);
    words.cfg1 = cfg1(args.pd, MrKind::Normal, Rights::from_access(args.access));
    words.start_va = args.iova;
    words.size = args.length as u32; // whatever is above is lost
    let log_tpage = match version {
        1 => machine.log_host_page - 12,
        _ => 0,
    };
    words.cfg2 = (put(args.pages.log_page().into(), 31, 27)
        | put(log_tpage.into(), 26, 24)
        | put(level, 21, 20)
        | put(entries, 19, 0)) as u32;
    match made.levels.last() {
        // As many as there are; the other places keep what they held.
        None => {
            for (place, address) in words.phy_addr.iter_mut().zip(addresses(&args.pages)) {
                *place = address;
            }
        }
        Some(top) => words.phy_addr[0] = top.segments[0],
    }
    if version == 1 {
        words.phy_addr[1] =
            put(args.length >> SIZE_BITS, 31, 0) | put(entries >> COUNT_BITS, 63, 32);
    }
    Ok(made)
}

fn check(machine: &Machine, args: &Args) -> Result<(), BuildError> {
    let (iova, length) = (args.iova, args.length);
    let max = machine.max_mr_size();
    if length == 0 || length > max {
        return Err(BuildError::Length { length, max });
    }
    if u128::from(iova) + u128::from(length) > 1 << 64 {
        return Err(BuildError::Wrap { iova, length });
    }
    let log_page = args.pages.log_page();
    if !LOG_PAGE.contains(&log_page) {
        return Err(BuildError::PageSize(log_page));
    }
    if !LOG_TPAGE.contains(&machine.log_host_page) {
        return Err(BuildError::HostPage(machine.log_host_page));
    }
    if args.flat_offset % ENTRY_BYTES != 0 || args.flat_offset >= FRAME {
        return Err(BuildError::FlatOffset(args.flat_offset));
    }
    for (name, value, bits) in [("pd", args.pd, 20), ("index", args.index, 20)] {
        if value >> bits != 0 {
            let value = value.into();
            return Err(BuildError::Field { name, value, bits });
        }
    }
    let (needed, given) = (page_count(iova, length, log_page), args.pages.pages());
    if needed != given {
        return Err(BuildError::PageCount { needed, given });
    }
    for run in args.pages.runs() {
        match run.page {
            Page::Present { pa, .. } if pa.trailing_zeros() >= log_page.into() => {}
            _ => return Err(BuildError::Page(run.first)),
        }
    }
    Ok(())
}

/// The command for a region that spans all of memory: address, length, level and `phy_addr` are not
/// written at all, and the page size is the logarithm of nothing (all ones).
pub fn dma_command(index: u32, pd: u32, access: Access, seed: u64) -> RegMr {
    let words = uninitialised(seed, 0);
    RegMr {
        cfg0: cfg0(true, 0, index),
        cfg1: cfg1(pd, MrKind::Dma, Rights::from_access(access)),
        cfg2: put(31, 31, 27) as u32,
        ..words
    }
}

/// The command for a region of fast registration: not valid yet, with room for `entries` in a flat
/// table at `table`; address and length come with a later work request and are not written.
pub fn frmr_command(index: u32, pd: u32, table: u64, entries: u64, seed: u64) -> RegMr {
    let words = uninitialised(seed, 0);
    let [_, a, b, c] = words.phy_addr;
    RegMr {
        cfg0: cfg0(false, 0, index),
        cfg1: cfg1(pd, MrKind::Frmr, Rights(0b11110)),
        cfg2: (put(12, 31, 27) | put(1, 21, 20) | put(entries, 19, 0)) as u32,
        phy_addr: [table, a, b, c],
        ..words
    }
}
