// SPDX-License-Identifier: Apache-2.0
//! The host side of page faults: what the FAULT registers tell, and who answers.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tpt_golden::frames::Page;
use tpt_golden::mem::PhysMem;
use tpt_golden::mtt::paged::PagedTable;
use tpt_golden::regs::{fault_info, fault_page_hi};

use crate::client::Ticket;

/// A page fault as the unit told it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageFault {
    /// Names it until PAGE_READY.
    pub slot: u8,
    /// MPT index of the region.
    pub index: u32,
    /// Number of the page; in a flat table of the entry, bits 11:3 of the root added.
    pub number: u64,
    /// Number of the page in its region.
    pub page: u64,
    /// The access needs a writable page.
    pub write: bool,
    /// Client that asked.
    pub client: u8,
    /// Tag of the request.
    pub tag: u16,
    /// The request waits; otherwise it was answered RETRY.
    pub held: bool,
    /// The request, if it is still inside, and no one before it may have had the tag and the fault.
    pub ticket: Option<Ticket>,
    /// The request, if it is still inside, certain or not.
    pub maybe: Option<Ticket>,
    /// Clock in which it was read.
    pub clock: u64,
}

impl PageFault {
    /// From FAULT_INFO, FAULT_PAGE_LO and FAULT_PAGE_HI; `None` if no fault waits.
    pub fn from_registers(info: u32, low: u32, high: u32, clock: u64) -> Option<Self> {
        let field = |word: u32, mask: u32| (word & mask) >> mask.trailing_zeros();
        if info & fault_info::VALID == 0 {
            return None;
        }
        let number = u64::from(field(high, fault_page_hi::PAGE)) << 32 | u64::from(low);
        Some(Self {
            slot: field(info, fault_info::SLOT) as u8,
            index: field(info, fault_info::INDEX),
            number,
            page: number,
            write: info & fault_info::WRITE != 0,
            client: field(high, fault_page_hi::CLIENT) as u8,
            tag: field(high, fault_page_hi::TAG) as u16,
            held: high & fault_page_hi::HELD != 0,
            ticket: None,
            maybe: None,
            clock,
        })
    }
}

/// What a handler wants to be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// PAGE_READY.
    Ready,
    /// PAGE_READY with REFUSE.
    Refuse,
    /// Nothing yet: the fault stays open.
    Later,
}

/// Answers page faults.
pub trait FaultHandler {
    /// The fault was taken from the registers at clock `now`.
    fn handle(&mut self, mem: &mut PhysMem, fault: &PageFault, now: u64) -> Answer;
}

/// What a [`Pager`] does with a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PagerPolicy {
    /// Makes the page present, writable only if the access writes.
    PageIn,
    /// Makes the page present and writable.
    PageInWritable,
    /// Refuses.
    Refuse,
    /// Says that the page is there, but does nothing.
    Lie,
    /// Leaves the fault open.
    Later,
}

struct PagerState {
    tables: BTreeMap<u32, PagedTable>,
    policy: PagerPolicy,
    /// Frames so far: none is used twice, so that an old one is always seen.
    frames: u64,
    handled: u64,
}

/// The memory behind on-demand regions, shared by a test and the bench.
#[derive(Clone)]
pub struct Pager(Arc<Mutex<PagerState>>);

impl Default for Pager {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(PagerState {
            tables: BTreeMap::new(),
            policy: PagerPolicy::PageIn,
            frames: 0,
            handled: 0,
        })))
    }
}

impl Pager {
    fn state(&self) -> MutexGuard<'_, PagerState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is done with the next faults.
    pub fn set_policy(&self, policy: PagerPolicy) {
        self.state().policy = policy;
    }

    /// Faults that were handled.
    pub fn handled(&self) -> u64 {
        self.state().handled
    }

    /// The region with this index has this table; the one that it had before, if there was one.
    pub fn insert(&self, index: u32, table: PagedTable) -> Option<PagedTable> {
        self.state().tables.insert(index, table)
    }

    /// The region is gone.
    pub fn remove(&self, index: u32) -> Option<PagedTable> {
        self.state().tables.remove(&index)
    }

    /// All regions are gone; their tables stay in memory.
    pub fn forget(&self) {
        self.state().tables.clear();
    }

    /// Does something with the table of a region.
    pub fn with<R>(&self, index: u32, act: impl FnOnce(&mut PagedTable) -> R) -> Option<R> {
        self.state().tables.get_mut(&index).map(act)
    }

    /// Makes a page present, in a frame that nobody had before; one that is present for reading keeps
    /// its frame. Returns its address; `None` if there is no such region.
    pub fn page_in(
        &self,
        mem: &mut PhysMem,
        index: u32,
        page: u64,
        writable: bool,
        now: u64,
    ) -> Option<u64> {
        let mut state = self.state();
        let frame = state.frames;
        let table = state.tables.get_mut(&index)?;
        let log_page = u32::from(table.table().log_page());
        let (pa, writable, fresh) = match table.leaf(page) {
            Page::Present { pa, writable: may } => (pa, writable || may, 0),
            _ => ((1 << 44) + (frame << log_page.max(20)), writable, 1),
        };
        let entry = Page::Present { pa, writable };
        if let Err(error) = table.set(mem, page, entry, now) {
            // Frames stay below 2^52.
            unreachable!("page {page} of index {index} at {pa:#x}: {error}");
        }
        state.frames += fresh;
        Some(pa)
    }

    /// Makes pages absent: before INVALIDATE_RANGE.
    pub fn clear(&self, mem: &mut PhysMem, index: u32, pages: Range<u64>, now: u64) {
        if let Some(table) = self.state().tables.get_mut(&index) {
            table.clear(mem, pages, now);
        }
    }
}

impl FaultHandler for Pager {
    fn handle(&mut self, mem: &mut PhysMem, fault: &PageFault, now: u64) -> Answer {
        let policy = {
            let mut state = self.state();
            state.handled += 1;
            state.policy
        };
        match policy {
            PagerPolicy::Refuse => Answer::Refuse,
            PagerPolicy::Lie => Answer::Ready,
            PagerPolicy::Later => Answer::Later,
            PagerPolicy::PageIn | PagerPolicy::PageInWritable => {
                let writable = fault.write || policy == PagerPolicy::PageInWritable;
                let there = self.page_in(mem, fault.index, fault.page, writable, now);
                // A region that is gone has no page.
                there.map_or(Answer::Refuse, |_| Answer::Ready)
            }
        }
    }
}
