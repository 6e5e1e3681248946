// SPDX-License-Identifier: Apache-2.0
//! The truth about a region: which physical page is behind each of its pages.
//!
//! The golden unit translates with this list and never looks at a table, so that a mistake in
//! building or walking tables cannot hide. The list is kept as runs, so that a contiguous region
//! costs one run, whatever its size.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// One page of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Page {
    /// The page is at this physical address.
    Present {
        /// Physical address of the first byte.
        pa: u64,
        /// The table entry allows writing. Entries of encoding RAW cannot say no.
        writable: bool,
    },
    /// The walk finds no entry.
    Absent,
    /// The walk finds an illegal entry.
    Bad,
    /// The memory answers the walk with an error.
    Bus,
}

impl Page {
    /// A writable page at `pa`.
    pub const fn at(pa: u64) -> Page {
        Page::Present { pa, writable: true }
    }

    /// The page `pages` further on in the same run.
    fn step(self, pages: u64, log_page: u32) -> Page {
        match self {
            Page::Present { pa, writable } => Page::Present {
                pa: pa.wrapping_add(pages.checked_shl(log_page).unwrap_or(0)),
                writable,
            },
            fault => fault,
        }
    }
}

/// Gives the pages of a region.
pub trait PageSource: fmt::Debug + Send + Sync {
    /// Page `index` of the region; `Absent` past its end.
    fn page(&self, index: u64) -> Page;
}

/// The pages of one region, shared between its incarnations and whoever else wants to know.
pub type Translation = Arc<dyn PageSource>;

/// Pages that follow each other: page k of the run is k pages above the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Number of the first page inside the region.
    pub first: u64,
    /// Number of pages.
    pub pages: u64,
    /// The first page.
    pub page: Page,
}

/// A list of pages as runs of contiguous ones.
///
/// ```
/// use tpt_golden::frames::{FrameList, Page, PageSource};
///
/// let mut list = FrameList::new(12);
/// list.push(1 << 24, Page::at(0x1_0000_0000)); // 64 GiB of 4 KiB pages: one run
/// assert_eq!(list.page(5), Page::at(0x1_0000_5000));
/// list.set(5..6, Page::Absent); // plant a fault
/// assert_eq!(list.page(5), Page::Absent);
/// assert_eq!(list.page(6), Page::at(0x1_0000_6000));
/// assert_eq!((list.pages(), list.runs().len()), (1 << 24, 3));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameList {
    log_page: u8,
    runs: Vec<Run>,
}

impl FrameList {
    /// An empty list of pages of 2^`log_page` bytes.
    pub const fn new(log_page: u8) -> FrameList {
        FrameList {
            log_page,
            runs: Vec::new(),
        }
    }

    /// `pages` writable pages from `pa` on.
    pub fn contiguous(log_page: u8, pa: u64, pages: u64) -> FrameList {
        let mut list = FrameList::new(log_page);
        list.push(pages, Page::at(pa));
        list
    }

    /// A list of writable pages, one by one.
    pub fn from_addresses(log_page: u8, addresses: impl IntoIterator<Item = u64>) -> FrameList {
        let mut list = FrameList::new(log_page);
        addresses
            .into_iter()
            .for_each(|pa| list.push(1, Page::at(pa)));
        list
    }

    /// log2 of the page size.
    pub const fn log_page(&self) -> u8 {
        self.log_page
    }

    /// Number of pages.
    pub fn pages(&self) -> u64 {
        self.runs.last().map_or(0, |run| run.first + run.pages)
    }

    /// The runs, in order and without gaps.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Appends `pages` pages that start with `page`; joins them to the last run if they go on.
    pub fn push(&mut self, pages: u64, page: Page) {
        if pages == 0 {
            return;
        }
        let log_page = u32::from(self.log_page);
        let first = self.pages();
        match self.runs.last_mut() {
            Some(run) if run.page.step(run.pages, log_page) == page => run.pages += pages,
            _ => self.runs.push(Run { first, pages, page }),
        }
    }

    /// Replaces the pages of `range` (as far as the list has them) by a run that starts with
    /// `page`: how tests plant faults.
    pub fn set(&mut self, range: Range<u64>, page: Page) {
        let log_page = u32::from(self.log_page);
        let range = range.start.min(self.pages())..range.end.min(self.pages());
        let mut list = FrameList::new(self.log_page);
        let mut planted = range.is_empty();
        for run in &self.runs {
            let end = run.first + run.pages;
            let before = range.start.clamp(run.first, end) - run.first;
            list.push(before, run.page);
            if !planted && end > range.start {
                list.push(range.end - range.start, page);
                planted = true;
            }
            let after = range.end.clamp(run.first, end).max(run.first + before);
            list.push(end - after, run.page.step(after - run.first, log_page));
        }
        *self = list;
    }
}

impl PageSource for FrameList {
    fn page(&self, index: u64) -> Page {
        let above = self.runs.partition_point(|run| run.first <= index);
        match self.runs[..above].last() {
            Some(run) if index - run.first < run.pages => {
                run.page.step(index - run.first, u32::from(self.log_page))
            }
            _ => Page::Absent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_page() -> impl Strategy<Value = Page> {
        prop_oneof![
            (0u64..64, any::<bool>()).prop_map(|(n, writable)| Page::Present {
                pa: n << 12,
                writable
            }),
            Just(Page::Absent),
            Just(Page::Bad),
            Just(Page::Bus),
        ]
    }

    proptest! {
        /// The list of runs behaves as a plain vector of pages, and stays without gaps.
        #[test]
        fn is_a_vector_of_pages(
            pushes in prop::collection::vec((0u64..6, any_page()), 0..12),
            sets in prop::collection::vec((0u64..40, 0u64..8, any_page()), 0..6),
        ) {
            let mut list = FrameList::new(12);
            let mut plain = Vec::new();
            for (pages, page) in pushes {
                list.push(pages, page);
                plain.extend((0..pages).map(|k| page.step(k, 12)));
            }
            for (start, pages, page) in sets {
                list.set(start..start + pages, page);
                for k in 0..pages {
                    if let Some(place) = plain.get_mut((start + k) as usize) {
                        *place = page.step(k, 12);
                    }
                }
            }
            prop_assert_eq!(list.pages(), plain.len() as u64);
            for index in 0..plain.len() as u64 + 3 {
                let expected = plain.get(index as usize).copied().unwrap_or(Page::Absent);
                prop_assert_eq!(list.page(index), expected);
            }
            let mut next = 0;
            for run in list.runs() {
                prop_assert_eq!(run.first, next);
                next += run.pages;
            }
        }
    }
}
