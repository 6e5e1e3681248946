// SPDX-License-Identifier: Apache-2.0
//! The truth about a region: which physical page is behind each of its pages.
//!
//! The golden unit translates with this list and never looks at a table, so that a mistake in
//! building or walking tables cannot hide. The list is kept as runs, so that a contiguous region
//! costs one run, whatever its size.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

    /// What an access that came at clock `from` may find of page `index` at clock `to`. More than one
    /// thing only where pages come and go, see [`PagedList`].
    fn met(&self, index: u64, from: u64, to: u64) -> Vec<Page> {
        let _ = (from, to);
        vec![self.page(index)]
    }

    /// What a cached line of the table may hold of page `index` for such an access, be it older than
    /// the table.
    fn cached(&self, index: u64, from: u64, to: u64) -> Vec<Page> {
        self.met(index, from, to)
    }

    /// The list itself, if its pages come and go.
    fn paged(&self) -> Option<&PagedList> {
        None
    }
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

/// One thing that a page of an on-demand region was for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spell {
    page: Page,
    /// In the table from here on.
    from: u64,
    /// Not in the table any more from here on.
    until: Option<u64>,
    /// The unit has not used it since: the range was invalidated.
    gone: Option<u64>,
}

impl Spell {
    /// May an access between these clocks have found it? What is absent is read again before it
    /// counts; what is present may come from a cache until the range is invalidated.
    fn met(&self, from: u64, to: u64) -> bool {
        let in_table = self.from <= to && self.until.map_or(true, |until| from <= until);
        match self.page {
            Page::Present { .. } => self.from <= to && self.gone.map_or(true, |gone| to <= gone),
            _ => in_table,
        }
    }
}

/// The pages of an on-demand region, which come and go, and when they did.
///
/// ```
/// use tpt_golden::frames::{Page, PageSource, PagedList};
///
/// let pages = PagedList::new(12);
/// pages.set(3, Page::at(0x5000), 100);
/// assert_eq!(pages.page(3), Page::at(0x5000));
/// pages.set(3, Page::Absent, 200);
/// // A cache may still know it, until the range is invalidated.
/// assert!(pages.met(3, 250, 260).contains(&Page::at(0x5000)));
/// pages.invalidated(0..8, 270, 300);
/// assert_eq!(pages.met(3, 310, 320), [Page::Absent]);
/// ```
#[derive(Debug, Default)]
pub struct PagedList {
    log_page: u8,
    spells: Mutex<BTreeMap<u64, Vec<Spell>>>,
}

impl PagedList {
    /// Pages of 2^`log_page` bytes, all of them absent.
    pub fn new(log_page: u8) -> PagedList {
        PagedList {
            log_page,
            spells: Mutex::default(),
        }
    }

    /// log2 of the page size.
    pub fn log_page(&self) -> u8 {
        self.log_page
    }

    fn spells(&self) -> MutexGuard<'_, BTreeMap<u64, Vec<Spell>>> {
        // Nothing is left half done if a holder panics.
        self.spells.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From clock `now` on the table holds this for page `index`.
    pub fn set(&self, index: u64, page: Page, now: u64) {
        let mut spells = self.spells();
        let list = spells.entry(index).or_insert_with(|| {
            vec![Spell {
                page: Page::Absent,
                from: 0,
                until: None,
                gone: None,
            }]
        });
        if let Some(last) = list.last_mut() {
            if last.page == page {
                return;
            }
            last.until = Some(now);
        }
        list.push(Spell {
            page,
            from: now,
            until: None,
            gone: None,
        });
    }

    /// An INVALIDATE_RANGE over these pages, accepted at clock `accepted`, has completed at clock
    /// `now`: what was taken out of the table before it is not used any more.
    pub fn invalidated(&self, pages: Range<u64>, accepted: u64, now: u64) {
        for list in self.spells().range_mut(pages).map(|(_, list)| list) {
            for spell in list.iter_mut() {
                if spell.until.is_some_and(|until| until <= accepted) {
                    spell.gone.get_or_insert(now);
                }
            }
            // A region may live for long: what nobody can have met any more goes.
            let last = list.len().saturating_sub(16);
            let mut n = 0;
            list.retain(|spell| {
                n += 1;
                n > last || spell.gone.is_none()
            });
        }
    }

    fn which(&self, index: u64, fits: impl Fn(&Spell) -> bool) -> Vec<Page> {
        let spells = self.spells();
        let Some(list) = spells.get(&index) else {
            return vec![Page::Absent];
        };
        let mut which: Vec<Page> = Vec::new();
        for spell in list.iter().filter(|spell| fits(spell)) {
            if !which.contains(&spell.page) {
                which.push(spell.page);
            }
        }
        which
    }

    /// Is the page at `pa` one that the unit may still use?
    pub fn in_use(&self, index: u64, pa: u64) -> bool {
        let spells = self.spells();
        let list = spells.get(&index);
        list.into_iter().flatten().any(|spell| {
            let here = matches!(spell.page, Page::Present { pa: there, .. } if there == pa);
            here && spell.gone.is_none()
        })
    }

    /// The pages that are present, in order.
    pub fn present(&self) -> Vec<u64> {
        let here = |list: &Vec<Spell>| {
            let last = list.last().map(|spell| spell.page);
            matches!(last, Some(Page::Present { .. }))
        };
        let spells = self.spells();
        let known = spells.iter().filter(|(_, list)| here(list));
        known.map(|(index, _)| *index).collect()
    }
}

impl PageSource for PagedList {
    fn paged(&self) -> Option<&PagedList> {
        Some(self)
    }

    fn page(&self, index: u64) -> Page {
        let spells = self.spells();
        let last = spells.get(&index).and_then(|list| list.last());
        last.map_or(Page::Absent, |spell| spell.page)
    }

    fn met(&self, index: u64, from: u64, to: u64) -> Vec<Page> {
        self.which(index, |spell| spell.met(from, to))
    }

    fn cached(&self, index: u64, from: u64, to: u64) -> Vec<Page> {
        self.which(index, |spell| {
            spell.from <= to && spell.gone.map_or(true, |gone| from <= gone)
        })
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
