// SPDX-License-Identifier: Apache-2.0
//! Translation tables (MTT): choosing the page size and the shape, and writing the table.
//!
//! A table entry is 8 bytes: the physical address of one page of the region. Up to four pages fit
//! into the MPT entry itself (level 0). More need a *tree* of table pages: level 1 is one table page
//! of 2^(T-3) entries, and each further level is an array of addresses of the table pages below.
//! A *flat* table is a single array of any length that is physically contiguous.
//!
//! ```text
//!                        level 3                level 2                level 1         page
//!   root ──► ┌────┐   ┌─► ┌────┐            ┌─► ┌────┐
//!            │  0 │───┘   │  0 │────────────┘   │  0 │───────────► 2^P bytes
//!            │  1 │──► …  │  1 │──► …           │  1 │───────────► 2^P bytes
//!            └────┘       └────┘                └────┘
//!   index:   i >> 2e      (i >> e) mod 2^e      i mod 2^e          e = T - 3, i = page number
//! ```
//!
//! The contents come from a [`FrameList`], that is, from the page tables of the host; the list stays
//! with the registration as the truth that the table is judged by.

mod matrix;
pub mod paged;

pub use matrix::{boundary_matrix, Case, Probe};

use crate::codec::{Mtt, Place, CHECKED_ADDRESS, LOG_TPAGE_RANGE};
use crate::frames::{FrameList, Page, PageSource};
use crate::host::{Host, HostError, Owner, PhysRange};
use crate::types::{Encoding, LEVEL_FLAT, LEVEL_INLINE};
use crate::unit;
use std::sync::Arc;
use thiserror::Error;

/// Bytes of a table entry.
pub const ENTRY_BYTES: u64 = 8;
/// Pages that fit into the MPT entry.
pub const INLINE_PAGES: u64 = unit::INLINE_PAGES as u64;
/// Most pages of one region.
pub const MAX_PAGES: u64 = unit::MAX_PAGES as u64;
/// Most pages of a region with a flat table (its root need not start a 4 KiB page).
pub const MAX_FLAT_PAGES: u64 = unit::MAX_FLAT_PAGES as u64;
/// Page sizes of the unit, as a mask: bit n stands for 2^n bytes, 4 KiB to 8 TiB.
pub const PAGE_SIZES: u64 = ((1 << 44) - 1) & !((1 << 12) - 1);
/// log2 of the smallest and largest table page: 4 KiB and 64 KiB.
pub const LOG_TPAGE: std::ops::RangeInclusive<u8> = LOG_TPAGE_RANGE;

/// Why no table could be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MttError {
    /// No supported page size fits the memory, or the one asked for does not.
    #[error("no fitting page size")]
    PageSize,
    /// The level does not exist, or is deeper than the unit walks.
    #[error("level {0} is not supported")]
    Level(u8),
    /// Table page size outside 4 KiB to 64 KiB.
    #[error("table pages of 2^{0} bytes are not supported")]
    TablePage(u8),
    /// The flat table does not start on a multiple of 8.
    #[error("a flat table cannot start at offset {0}")]
    FlatOffset(u64),
    /// The shape cannot hold so many pages.
    #[error("{pages} pages do not fit")]
    TooManyPages {
        /// Pages of the region.
        pages: u64,
    },
    /// Entries of encoding CHECKED hold physical addresses below 2^52.
    #[error("address {0:#x} does not fit into a CHECKED entry: it must be a multiple of 4 KiB below 2^52")]
    Address(u64),
    /// A page list with a fault cannot be put into the MPT entry.
    #[error("page {0} cannot be an inline page")]
    Inline(u64),
    /// No memory for the table.
    #[error(transparent)]
    Host(#[from] HostError),
}

/// What the caller wants to decide itself; the default leaves everything to the driver: best page
/// size, smallest level, 4 KiB table pages, RAW entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// log2 of the page size; `None`: the best one.
    pub log_page: Option<u8>,
    /// Level 0 to 4, or [`LEVEL_FLAT`]; `None`: the smallest that holds the region.
    pub level: Option<u8>,
    /// log2 of the table page size, 12 to 16; `None`: 12, or larger if the region needs it.
    pub log_tpage: Option<u8>,
    /// Encoding of the entries.
    pub encoding: Encoding,
    /// Flat tables: byte offset of the table inside its first frame, a multiple of 8.
    pub flat_offset: u64,
    /// Compute entries when they are read instead of writing them: for tables that would be too
    /// large to write in a test. A lazy tree is contiguous in memory.
    pub lazy: bool,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            log_page: None,
            level: None,
            log_tpage: None,
            encoding: Encoding::Raw,
            flat_offset: 0,
            lazy: false,
        }
    }
}

impl Shape {
    /// The default shape with a given page size.
    pub fn pages_of(log_page: u8) -> Self {
        Self {
            log_page: Some(log_page),
            ..Self::default()
        }
    }
}

/// The best page size for memory that is to appear at `iova`, as log2 of the bytes.
///
/// The rule of the Linux kernel (`ib_umem_find_best_pgsz`): the largest supported size for which
/// * physical address and iova agree in all bits below the size, in every piece of memory, and
/// * every piece but the first starts on a page boundary of the iova space, so that only the first
///   and the last page are partly used;
///
/// but not larger than the smallest size that covers the whole region with one page.
///
/// `ranges` are the bytes of the region in order; `supported` is a mask of sizes (bit n: 2^n).
pub fn best_page_size(ranges: &[PhysRange], iova: u64, supported: u64) -> Option<u8> {
    let length: u64 = ranges.iter().map(|r| r.len).sum();
    let last = iova.wrapping_add(length).wrapping_sub(1);
    // Bits in which addresses of the region differ: from this size on, one page is enough.
    let whole = u64::BITS - (iova ^ last).leading_zeros();
    let mut differ = supported & u64::MAX.checked_shl(whole).unwrap_or(0);
    let mut va = iova;
    for (i, r) in ranges.iter().enumerate() {
        differ |= r.pa ^ va;
        if i > 0 {
            differ |= va;
        }
        va = va.wrapping_add(r.len);
    }
    let top = differ.trailing_zeros();
    let fitting = if top < 63 {
        supported & ((2 << top) - 1)
    } else {
        supported
    };
    fitting.checked_ilog2().map(|n| n as u8)
}

/// The pages of memory that is to appear at `iova`, in pages of 2^`log_page` bytes.
///
/// `None` if a page of that size would not be whole: see [`best_page_size`] for the rule.
pub fn frame_list(
    ranges: &[PhysRange],
    iova: u64,
    log_page: u8,
    writable: bool,
) -> Option<FrameList> {
    let mask = (1u64 << log_page) - 1;
    let mut list = FrameList::new(log_page);
    let mut va = iova;
    for (i, r) in ranges.iter().enumerate() {
        if (r.pa ^ va) & mask != 0 || (i > 0 && va & mask != 0) {
            return None;
        }
        let pa = r.pa & !mask;
        let bytes = u128::from(va & mask) + u128::from(r.len);
        let pages = bytes.div_ceil(1 << log_page) as u64;
        list.push(pages, Page::Present { pa, writable });
        va = va.wrapping_add(r.len);
    }
    Some(list)
}

/// Pages of 2^`log_page` bytes that a region of `length` bytes at `iova` touches.
pub fn page_count(iova: u64, length: u64, log_page: u8) -> u64 {
    let offset = iova & ((1u64 << log_page) - 1);
    ((u128::from(length) + u128::from(offset)).div_ceil(1 << log_page)) as u64
}

/// Most pages that a tree of `level` levels holds.
pub fn capacity(level: u8, log_tpage: u8) -> u64 {
    let bits = u32::from(level) * (u32::from(log_tpage) - 3);
    1u64.checked_shl(bits).unwrap_or(u64::MAX).min(MAX_PAGES)
}

/// The smallest level that holds `pages` pages with table pages of 2^`log_tpage` bytes.
pub fn smallest_level(pages: u64, log_tpage: u8) -> u8 {
    if pages <= INLINE_PAGES {
        return LEVEL_INLINE;
    }
    (1..)
        .find(|&k| pages <= capacity(k, log_tpage) || k == 8)
        .unwrap_or(8)
}

/// Level and table page size of a region of `pages` pages, by the caller's wish and the unit's
/// depth.
pub(crate) fn plan(pages: u64, shape: &Shape, max_levels: u8) -> Result<(u8, u8), MttError> {
    let too_many = MttError::TooManyPages { pages };
    if pages > MAX_PAGES {
        return Err(too_many);
    }
    if let Some(t) = shape.log_tpage {
        if !LOG_TPAGE.contains(&t) {
            return Err(MttError::TablePage(t));
        }
    }
    let tpages = match shape.log_tpage {
        Some(t) => t..=t,
        None => LOG_TPAGE,
    };
    match shape.level {
        Some(LEVEL_INLINE) if pages <= INLINE_PAGES => Ok((LEVEL_INLINE, 0)),
        Some(LEVEL_INLINE) => Err(too_many),
        Some(LEVEL_FLAT) if shape.flat_offset % ENTRY_BYTES != 0 => {
            Err(MttError::FlatOffset(shape.flat_offset))
        }
        Some(LEVEL_FLAT) if pages > MAX_FLAT_PAGES => Err(too_many),
        Some(LEVEL_FLAT) => Ok((LEVEL_FLAT, 0)),
        Some(level) if level > max_levels => Err(MttError::Level(level)),
        Some(level) => tpages
            .into_iter()
            .find(|&t| pages <= capacity(level, t))
            .map(|t| (level, t))
            .ok_or(too_many),
        None => tpages
            .into_iter()
            .map(|t| (smallest_level(pages, t), t))
            .find(|&(level, _)| level <= max_levels)
            .map(|(level, t)| (level, if level == LEVEL_INLINE { 0 } else { t }))
            .ok_or(too_many),
    }
}

/// What the entries of a table are written with.
#[derive(Clone, Copy, Debug)]
struct Ink {
    encoding: Encoding,
    /// MPT index of the region.
    index: u32,
    log_tpage: u8,
    /// Entries between the 4 KiB boundary before a flat table and its root.
    before: u64,
}

impl Ink {
    fn place(self, level: u8, number: u64) -> Place {
        Place {
            index: self.index,
            number: number + self.before,
            level,
        }
    }

    /// The leaf entry of page `number`. Faults of the list become entries that the walk finds at
    /// fault, except `Bus`, which the memory has to produce.
    fn leaf(self, number: u64, page: Page) -> u64 {
        let encoding = self.encoding;
        let word = |entry: Mtt| entry.encode(encoding, self.place(1, number));
        match (page, encoding) {
            (Page::Present { pa, writable }, _) => word(Mtt { pa, writable }),
            (Page::Absent | Page::Bus, _) => 0,
            // A bit below the page size that is no flag.
            (Page::Bad, Encoding::Raw) => 1 << 2,
            (Page::Bad, Encoding::Flagged) => 1 << 2 | 3,
            // An entry of another page.
            (Page::Bad, Encoding::Checked) => {
                Mtt::at(1 << 51).encode(encoding, self.place(1, number ^ 1))
            }
        }
    }

    /// The `n`-th directory entry of table pages of `level`, which names the table page at `pa`. The
    /// writable flag means nothing in a directory: every second entry has it.
    fn directory(self, level: u8, n: u64, pa: u64) -> u64 {
        Mtt {
            pa,
            writable: n % 2 == 1,
        }
        .encode(self.encoding, self.place(level, n))
    }
}

/// A table in physical memory.
///
/// It owns its frames: give them back with [`Table::free`].
#[derive(Debug)]
#[must_use = "the frames of the table stay in use until `Table::free`"]
pub struct Table {
    level: u8,
    log_page: u8,
    log_tpage: u8,
    encoding: Encoding,
    frame: [u64; 4],
    entries: u64,
    index: u32,
    lazy: bool,
    levels: Vec<Vec<PhysRange>>,
    generated: Vec<u64>,
}

impl Table {
    /// Writes the table of `list`. A table of encoding CHECKED stays all zeros, since the index of its
    /// region is not known yet: [`Table::complete`] writes it.
    ///
    /// `max_levels` is the depth of the unit. On an error no frame stays in use.
    pub fn build(
        host: &mut Host,
        list: &Arc<FrameList>,
        shape: &Shape,
        max_levels: u8,
    ) -> Result<Table, MttError> {
        let pages = list.pages();
        let (level, log_tpage) = plan(pages, shape, max_levels)?;
        if level != LEVEL_INLINE && shape.encoding == Encoding::Checked {
            check_addresses(list)?;
        }
        let mut table =
            Table::reserve_shape(host, pages, list.log_page(), level, log_tpage, shape)?;
        match (level, shape.encoding) {
            (LEVEL_INLINE, _) => table.build_inline(list)?,
            (_, Encoding::Checked) => {}
            _ => table.write(host, list),
        }
        Ok(table)
    }

    /// A table for `pages` pages in which everything is absent: the directories as well. It is for
    /// pages that come and go, see [`paged`].
    pub fn empty(
        host: &mut Host,
        pages: u64,
        log_page: u8,
        shape: &Shape,
        max_levels: u8,
    ) -> Result<Table, MttError> {
        let (level, log_tpage) = plan(pages, shape, max_levels)?;
        Table::reserve_shape(host, pages, log_page, level, log_tpage, shape)
    }

    /// Takes the frames of a table; they are all zeros.
    fn reserve_shape(
        host: &mut Host,
        pages: u64,
        log_page: u8,
        level: u8,
        log_tpage: u8,
        shape: &Shape,
    ) -> Result<Table, MttError> {
        let mut table = Table {
            level,
            log_page,
            log_tpage,
            encoding: shape.encoding,
            frame: [0; 4],
            entries: pages,
            index: 0,
            lazy: shape.lazy,
            levels: Vec::new(),
            generated: Vec::new(),
        };
        let reserved = match level {
            LEVEL_INLINE => Ok(()),
            LEVEL_FLAT => table.reserve_flat(host, shape),
            _ => table.reserve_tree(host),
        };
        match reserved {
            Ok(()) => Ok(table),
            Err(e) => {
                table.free(host);
                Err(e)
            }
        }
    }

    /// Writes a table of encoding CHECKED for the region with this MPT index, which is known when the
    /// region is registered. Does nothing for other encodings.
    pub fn complete(&mut self, host: &mut Host, list: &Arc<FrameList>, index: u32) {
        self.index = index;
        if self.encoding == Encoding::Checked && self.level != LEVEL_INLINE {
            self.write(host, list);
        }
    }

    fn ink(&self) -> Ink {
        Ink {
            encoding: self.encoding,
            index: self.index,
            log_tpage: self.log_tpage,
            before: match self.level {
                LEVEL_FLAT => self.frame[0] >> 3 & 0x1ff,
                _ => 0,
            },
        }
    }

    /// Writes all entries, leaves first.
    fn write(&mut self, host: &mut Host, list: &Arc<FrameList>) {
        let ink = self.ink();
        if self.level == LEVEL_FLAT {
            let part = PhysRange {
                pa: self.frame[0],
                len: self.entries * ENTRY_BYTES,
            };
            match self.lazy {
                true => self.generate_leaves(host, list, part.pa, part.len),
                false => self.write_leaves(host, list, &[part]),
            }
            return;
        }
        let per_page = (1u64 << self.log_tpage) / ENTRY_BYTES;
        let mut children = self.entries;
        for k in 0..self.level {
            let pages = children.div_ceil(per_page);
            let level = usize::from(k);
            let first = self.levels[level][0].pa;
            match (k, self.lazy) {
                (0, false) => self.write_leaves(host, list, &self.levels[0]),
                (0, true) => self.generate_leaves(host, list, first, pages << ink.log_tpage),
                (_, false) => self.write_directory(host, level),
                (_, true) => {
                    let child = self.levels[level - 1][0].pa;
                    let log = ink.log_tpage;
                    let end = first + (pages << log);
                    host.mem
                        .map_generator(first..end, move |n| match n < children {
                            true => ink.directory(k + 1, n, child + (n << log)),
                            false => 0,
                        });
                    self.generated.push(first);
                }
            }
            children = pages;
        }
    }

    /// A flat table with room for `pages` pages, all absent: the page list of a fast-registration
    /// region. [`Table::fill`] writes it, as often as is wanted.
    pub fn reserve(
        host: &mut Host,
        pages: u64,
        log_page: u8,
        encoding: Encoding,
    ) -> Result<Table, MttError> {
        if pages > MAX_FLAT_PAGES {
            return Err(MttError::TooManyPages { pages });
        }
        let range = host.alloc_contiguous(Owner::Table, pages * ENTRY_BYTES, 1)?;
        Ok(Table {
            level: LEVEL_FLAT,
            log_page,
            log_tpage: 0,
            encoding,
            frame: [range.pa, 0, 0, 0],
            entries: pages,
            index: 0,
            lazy: false,
            levels: vec![vec![range]],
            generated: Vec::new(),
        })
    }

    /// The MPT index of the region, which entries of encoding CHECKED are made with.
    pub fn set_index(&mut self, index: u32) {
        self.index = index;
    }

    /// Writes the pages of `list` into a flat table; what is behind them becomes absent. The device
    /// must not be using the table. Encoding CHECKED: after [`Table::set_index`].
    pub fn fill(&mut self, host: &mut Host, list: &FrameList) -> Result<(), MttError> {
        if self.encoding == Encoding::Checked {
            check_addresses(list)?;
        }
        let pages = list.pages();
        if self.level != LEVEL_FLAT {
            return Err(MttError::Level(self.level));
        }
        if list.log_page() != self.log_page {
            return Err(MttError::PageSize);
        }
        if pages > self.entries {
            return Err(MttError::TooManyPages { pages });
        }
        let mut whole = list.clone();
        whole.push(self.entries - pages, Page::Absent);
        let part = PhysRange {
            pa: self.frame[0],
            len: self.entries * ENTRY_BYTES,
        };
        self.write_leaves(host, &whole, &[part]);
        Ok(())
    }

    fn build_inline(&mut self, list: &FrameList) -> Result<(), MttError> {
        for i in 0..self.entries {
            // Frame 0 is how an inline page says "not present".
            self.frame[i as usize] = match list.page(i) {
                Page::Present { pa, .. } => pa,
                Page::Absent => 0,
                Page::Bad | Page::Bus => return Err(MttError::Inline(i)),
            };
        }
        Ok(())
    }

    fn reserve_flat(&mut self, host: &mut Host, shape: &Shape) -> Result<(), MttError> {
        let bytes = shape.flat_offset + self.entries * ENTRY_BYTES;
        let range = host.alloc_contiguous(Owner::Table, bytes, 1)?;
        self.levels.push(vec![range]);
        self.frame[0] = range.pa + shape.flat_offset;
        Ok(())
    }

    fn reserve_tree(&mut self, host: &mut Host) -> Result<(), MttError> {
        let size = 1u64 << self.log_tpage;
        let per_page = size / ENTRY_BYTES;
        let mut pages = self.entries;
        for _ in 0..self.level {
            pages = pages.div_ceil(per_page);
            let ranges = match self.lazy {
                true => {
                    let bytes = pages << self.log_tpage;
                    vec![host.alloc_contiguous(Owner::Table, bytes, size)?]
                }
                false => host.alloc_blocks(Owner::Table, pages, size)?,
            };
            self.levels.push(ranges);
        }
        self.frame[0] = self.levels[usize::from(self.level) - 1][0].pa;
        Ok(())
    }

    fn generate_leaves(&mut self, host: &mut Host, list: &Arc<FrameList>, pa: u64, bytes: u64) {
        let (list, ink) = (Arc::clone(list), self.ink());
        host.mem
            .map_generator(pa..pa + bytes, move |n| ink.leaf(n, list.page(n)));
        self.generated.push(pa);
    }

    /// Writes the entries of all pages into `ranges`, one after the other. New frames are zero, so
    /// what follows the last entry stays zero.
    fn write_leaves(&self, host: &mut Host, list: &FrameList, ranges: &[PhysRange]) {
        let (log_page, ink) = (u32::from(self.log_page), self.ink());
        let words = list.runs().iter().flat_map(|run| {
            let (page, first) = (run.page, run.first);
            (0..run.pages).map(move |k| match page {
                Page::Present { pa, writable } => {
                    let pa = pa.wrapping_add(k << log_page);
                    ink.leaf(first + k, Page::Present { pa, writable })
                }
                fault => ink.leaf(first + k, fault),
            })
        });
        write_words(host, ranges, words);
    }

    /// Writes the addresses of the table pages of level `k` (0-based, counted from the leaves) - 1.
    fn write_directory(&self, host: &mut Host, k: usize) {
        let ink = self.ink();
        let log = ink.log_tpage;
        let words = self.levels[k - 1]
            .iter()
            .flat_map(|r| (0..r.len >> log).map(move |i| r.pa + (i << log)))
            .zip(0u64..)
            .map(|(pa, n)| ink.directory(k as u8 + 1, n, pa));
        write_words(host, &self.levels[k], words);
    }

    /// Gives the frames of the table back.
    pub fn free(self, host: &mut Host) {
        for start in self.generated {
            host.mem.unmap_generator(start);
        }
        for ranges in &self.levels {
            host.free(ranges);
        }
    }

    /// Level: 0 inline, 1 to 4 tree, 5 flat.
    pub fn level(&self) -> u8 {
        self.level
    }

    /// log2 of the page size.
    pub fn log_page(&self) -> u8 {
        self.log_page
    }

    /// log2 of the table page size; 0 where the level has none.
    pub fn log_tpage(&self) -> u8 {
        self.log_tpage
    }

    /// Encoding of the entries.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// The four frame fields of a REG_MR command: inline pages, or the root and zeros.
    pub fn frame(&self) -> [u64; 4] {
        self.frame
    }

    /// Number of entries: pages of the region.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Bytes of the entries alone, 8 for each page of the region; 0 if they are inline.
    pub fn entry_bytes(&self) -> u64 {
        match self.level {
            LEVEL_INLINE => 0,
            _ => self.entries * ENTRY_BYTES,
        }
    }

    /// Bytes of all frames of the table.
    pub fn table_bytes(&self) -> u64 {
        self.ranges().map(|r| r.len).sum()
    }

    /// Number of table pages of each level, from the leaves up.
    pub fn table_pages(&self) -> Vec<u64> {
        match self.level {
            LEVEL_INLINE | LEVEL_FLAT => Vec::new(),
            _ => self
                .levels
                .iter()
                .map(|ranges| ranges.iter().map(|r| r.len >> self.log_tpage).sum())
                .collect(),
        }
    }

    /// The memory of the table, level by level from the leaves up. The device must not read it any
    /// more once it is freed.
    pub fn ranges(&self) -> impl Iterator<Item = PhysRange> + '_ {
        self.levels.iter().flatten().copied()
    }

    /// Physical address of the leaf entry of page `index`; `None` if it is inline or out of range.
    pub fn entry_pa(&self, index: u64) -> Option<u64> {
        match self.level {
            LEVEL_INLINE => None,
            LEVEL_FLAT if index < self.entries => Some(self.frame[0] + index * ENTRY_BYTES),
            LEVEL_FLAT => None,
            _ => self.entry_at(1, index),
        }
    }

    /// Physical address of entry `n` of the table pages of `level` (1: leaves) of a tree; `None` if
    /// there is none.
    pub fn entry_at(&self, level: u8, n: u64) -> Option<u64> {
        let tree = (1..=4).contains(&self.level);
        if !tree || n >= self.entries_of(level)? {
            return None;
        }
        let mut at = n * ENTRY_BYTES;
        for r in &self.levels[usize::from(level) - 1] {
            if at < r.len {
                return Some(r.pa + at);
            }
            at -= r.len;
        }
        None
    }

    /// Entries in use of the table pages of `level` (1: leaves) of a tree or flat table.
    pub fn entries_of(&self, level: u8) -> Option<u64> {
        let flat = self.level == LEVEL_FLAT && level == 1;
        if !flat && (level == 0 || level > self.level || self.level == LEVEL_FLAT) {
            return None;
        }
        let bits = u32::from(level - 1) * (u32::from(self.log_tpage).saturating_sub(3));
        Some(self.entries.div_ceil(1 << bits))
    }
}

/// Do all addresses of the list fit into entries of encoding CHECKED?
fn check_addresses(list: &FrameList) -> Result<(), MttError> {
    for run in list.runs() {
        if let Page::Present { pa, .. } = run.page {
            let last = u128::from(pa) + (u128::from(run.pages - 1) << list.log_page());
            if pa & !CHECKED_ADDRESS != 0 || last > CHECKED_ADDRESS.into() {
                return Err(MttError::Address(pa));
            }
        }
    }
    Ok(())
}

/// Writes 64-bit words into ranges, a frame at a time.
fn write_words(host: &mut Host, ranges: &[PhysRange], mut words: impl Iterator<Item = u64>) {
    let mut buf = Vec::with_capacity(4096);
    for r in ranges {
        let mut pa = r.pa;
        let end = r.pa + r.len;
        while pa < end {
            let room = (4096 - pa % 4096).min(end - pa) / ENTRY_BYTES;
            buf.clear();
            for word in words.by_ref().take(room as usize) {
                buf.extend_from_slice(&word.to_le_bytes());
            }
            if buf.is_empty() {
                return;
            }
            host.mem.write(pa, &buf);
            pa += room * ENTRY_BYTES;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(pa: u64, len: u64) -> PhysRange {
        PhysRange { pa, len }
    }

    /// The case of the kernel fix a40c20dabdf9: bytes 61440..90112 at their own address. 32 KiB pages
    /// would fit but need two; 128 KiB is the smallest size that covers all with one.
    #[test]
    fn smallest_size_that_covers_all() {
        let r = [range(61440, 90112 - 61440)];
        assert_eq!(best_page_size(&r, 61440, PAGE_SIZES), Some(17));
        assert_eq!(
            best_page_size(&r, 61440, 1 << 12 | 1 << 15 | 1 << 16),
            Some(16)
        );
        assert_eq!(frame_list(&r, 61440, 17, true).map(|l| l.pages()), Some(1));
    }

    /// A page larger than the alignment of (iova xor address) would name the wrong memory.
    #[test]
    fn iova_and_address_agree_below_the_size() {
        let r = [range(0x4000_0000, 0x80_0000)];
        assert_eq!(best_page_size(&r, 0x4000_0000, PAGE_SIZES), Some(23));
        assert_eq!(best_page_size(&r, 0x4010_0000, PAGE_SIZES), Some(20));
        assert_eq!(best_page_size(&r, 0x4000_1000, PAGE_SIZES), Some(12));
        assert_eq!(best_page_size(&r, 0x4000_0800, PAGE_SIZES), None);
        assert_eq!(frame_list(&r, 0x4010_0000, 21, true), None);
    }

    /// Only the first and the last page may be partly used.
    #[test]
    fn pieces_meet_on_page_boundaries() {
        let r = [
            range(0x10_f000, 0x1000), // last 4 KiB of a 64 KiB block
            range(0x40_0000, 0x2_0000),
            range(0x80_0000, 0x100),
        ];
        assert_eq!(best_page_size(&r, 0xf000, PAGE_SIZES), Some(16));
        let list = frame_list(&r, 0xf000, 16, true).expect("64 KiB fits");
        let pages: Vec<_> = (0..5).map(|i| list.page(i)).collect();
        let want = [0x10_0000, 0x40_0000, 0x41_0000, 0x80_0000].map(Page::at);
        assert_eq!(pages[..4], want);
        assert_eq!(pages[4], Page::Absent);
    }

    /// Two pieces that agree with their addresses far above 4 KiB, but meet inside a larger page.
    #[test]
    fn pieces_that_meet_inside_a_page() {
        let r = [range(0x10_0000, 0x1000), range(0x20_1000, 0xf000)];
        assert_eq!(best_page_size(&r, 0, PAGE_SIZES), Some(12));
        assert_eq!(frame_list(&r, 0, 13, true), None);
        assert_eq!(frame_list(&r, 0, 12, true).map(|l| l.pages()), Some(16));
    }

    /// A system with pages larger than 4 KiB: the first entry is the first 4 KiB that is used.
    #[test]
    fn small_pages_start_at_the_first_byte_used() {
        let r = [range(0x12_3000, 0x9000)];
        let list = frame_list(&r, 0x7000, 12, true).expect("4 KiB always fits");
        assert_eq!(list.page(0), Page::at(0x12_3000));
        assert_eq!(list.pages(), 9);
    }

    #[test]
    fn region_up_to_the_end_of_the_address_space() {
        let r = [range(0, 1 << 30)];
        let iova = 0u64.wrapping_sub(1 << 30);
        assert_eq!(best_page_size(&r, iova, PAGE_SIZES), Some(30));
        let r = [range(0x7fff_ffff_f000, 0x2000)];
        assert_eq!(
            best_page_size(&r, 0x7fff_ffff_ffff_f000, PAGE_SIZES),
            Some(43)
        );
    }

    #[test]
    fn levels_change_where_they_must() {
        for (pages, level) in [
            (1, 0),
            (4, 0),
            (5, 1),
            (512, 1),
            (513, 2),
            (262_144, 2),
            (262_145, 3),
            (1 << 27, 3),
            ((1 << 27) + 1, 4),
        ] {
            assert_eq!(smallest_level(pages, 12), level, "{pages} pages");
        }
        let plan = |pages, shape| plan(pages, &shape, 3);
        let default = Shape::default();
        assert_eq!(
            plan((1 << 27) + 1, default),
            Ok((3, 13)),
            "larger table pages help"
        );
        assert!(plan((1 << 40) + 1, default).is_err());
        let level = |l| Shape {
            level: Some(l),
            log_tpage: Some(12),
            ..default
        };
        assert_eq!(
            plan(3, level(3)),
            Ok((3, 12)),
            "deeper than needed is allowed"
        );
        assert_eq!(
            plan(513, level(1)),
            Err(MttError::TooManyPages { pages: 513 })
        );
        assert_eq!(plan(5, level(0)), Err(MttError::TooManyPages { pages: 5 }));
        assert_eq!(plan(5, level(4)), Err(MttError::Level(4)));
        assert_eq!(plan(5, level(6)), Err(MttError::Level(6)));
    }
}
