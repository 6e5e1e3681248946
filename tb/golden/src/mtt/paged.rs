// SPDX-License-Identifier: Apache-2.0
//! Tables whose pages come and go: those of on-demand regions.
//!
//! The table is allocated for all pages and is all zeros in the beginning: every entry is absent, in
//! the directories too. [`PagedTable::set`] makes a page present, from the leaf up, as the device may
//! walk the table meanwhile. A [`PagedList`] keeps the history, for whoever judges the answers.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::{check_addresses, MttError, Shape, Table};
use crate::frames::{FrameList, Page, PageSource, PagedList};
use crate::host::Host;
use crate::mem::PhysMem;
use crate::types::{Encoding, LEVEL_FLAT, LEVEL_INLINE};

/// The table of an on-demand region.
///
/// It owns its frames: give them back with [`PagedTable::free`].
#[derive(Debug)]
#[must_use = "the frames of the table stay in use until `PagedTable::free`"]
pub struct PagedTable {
    table: Table,
    /// What the leaf entries hold, whether the directories lead to them or not.
    leaves: BTreeMap<u64, Page>,
    pages: Arc<PagedList>,
}

impl PagedTable {
    /// A table for `pages` pages of 2^`log_page` bytes, all of them absent. Level 0 cannot be paged:
    /// without a wish for a level it becomes level 1.
    pub fn build(
        host: &mut Host,
        pages: u64,
        log_page: u8,
        shape: &Shape,
        max_levels: u8,
    ) -> Result<PagedTable, MttError> {
        let (level, _) = super::plan(pages, shape, max_levels)?;
        let shape = match (level, shape.level) {
            (LEVEL_INLINE, Some(_)) => return Err(MttError::Level(LEVEL_INLINE)),
            (LEVEL_INLINE, None) => Shape {
                level: Some(1),
                ..*shape
            },
            _ => *shape,
        };
        Ok(PagedTable {
            table: Table::empty(host, pages, log_page, &shape, max_levels)?,
            leaves: BTreeMap::new(),
            pages: Arc::new(PagedList::new(log_page)),
        })
    }

    /// The MPT index of the region, which entries of encoding CHECKED are made with.
    pub fn set_index(&mut self, index: u32) {
        self.table.set_index(index);
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The pages, and their history.
    pub fn pages(&self) -> Arc<PagedList> {
        Arc::clone(&self.pages)
    }

    /// What the entry of page `index` holds.
    pub fn leaf(&self, index: u64) -> Page {
        self.leaves.get(&index).copied().unwrap_or(Page::Absent)
    }

    /// Writes the entry of page `index` at clock `now`, and the directory entries that lead to it as
    /// far as they are absent. A page past the end of the table is left alone.
    pub fn set(
        &mut self,
        mem: &mut PhysMem,
        index: u64,
        page: Page,
        now: u64,
    ) -> Result<(), MttError> {
        let encoding = self.table.encoding();
        if let (Page::Present { pa, .. }, Encoding::Checked) = (page, encoding) {
            check_addresses(&FrameList::contiguous(self.table.log_page(), pa, 1))?;
        }
        let Some(entry) = self.table.entry_pa(index) else {
            return Ok(());
        };
        let ink = self.table.ink();
        mem.write_u64(entry, ink.leaf(index, page));
        self.leaves.insert(index, page);
        let mut shown = index..index + 1;
        if page != Page::Absent {
            for level in 2..=self.depth() {
                let n = self.number(level, index);
                let child = n << self.bits(1);
                let at = self.table.entry_at(level, n);
                let below = self.table.entry_at(level - 1, child);
                if let (Some(at), Some(below)) = (at, below) {
                    if mem.read_u64(at) == 0 {
                        mem.write_u64(at, ink.directory(level, n, below));
                        shown = self.under(level, n);
                    }
                }
            }
        }
        self.show(mem, shown, now);
        Ok(())
    }

    /// Makes entry `n` of the directories of `level` (2 and up) absent, and with it all pages under
    /// it.
    pub fn clear_directory(&mut self, mem: &mut PhysMem, level: u8, n: u64, now: u64) {
        if let Some(at) = self.table.entry_at(level, n).filter(|_| level > 1) {
            mem.write_u64(at, 0);
            self.show(mem, self.under(level, n), now);
        }
    }

    /// Makes pages absent.
    pub fn clear(&mut self, mem: &mut PhysMem, pages: Range<u64>, now: u64) {
        let known: Vec<u64> = self.leaves.range(pages).map(|(index, _)| *index).collect();
        for index in known {
            if let Some(entry) = self.table.entry_pa(index) {
                mem.write_u64(entry, 0);
            }
            self.leaves.remove(&index);
            self.pages.set(index, Page::Absent, now);
        }
    }

    /// Gives the frames of the table back.
    pub fn free(self, host: &mut Host) {
        self.table.free(host);
    }

    /// The table alone, as it is.
    pub(crate) fn into_table(self) -> Table {
        self.table
    }

    /// Levels of a tree; 1 of a flat table.
    fn depth(&self) -> u8 {
        match self.table.level() {
            LEVEL_FLAT => 1,
            level => level,
        }
    }

    /// Bits of a page number that table pages of `levels` levels take.
    fn bits(&self, levels: u8) -> u32 {
        u32::from(levels) * u32::from(self.table.log_tpage()).saturating_sub(3)
    }

    /// Number of the entry of `level` that leads to a page.
    fn number(&self, level: u8, index: u64) -> u64 {
        index >> self.bits(level - 1)
    }

    /// The pages under entry `n` of `level`.
    fn under(&self, level: u8, n: u64) -> Range<u64> {
        let bits = self.bits(level - 1);
        n << bits..(n + 1) << bits
    }

    /// Tells the history what the table shows now.
    fn show(&self, mem: &PhysMem, pages: Range<u64>, now: u64) {
        for (index, page) in self.leaves.range(pages) {
            let reached = (2..=self.depth()).all(|level| {
                let at = self.table.entry_at(level, self.number(level, *index));
                at.is_some_and(|at| mem.read_u64(at) != 0)
            });
            let page = if reached { *page } else { Page::Absent };
            if self.pages.page(*index) != page {
                self.pages.set(*index, page, now);
            }
        }
    }
}
