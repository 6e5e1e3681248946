// SPDX-License-Identifier: Apache-2.0
//! On-demand regions: pages that come with page faults, and go when the host wants them back.
//!
//! ```text
//! reg_mr, Memory::OnDemand   a table for all pages, all absent
//! take_fault                 FAULT registers ─ FAULT_POP
//! map_page                   the entry ─ write barrier
//! page_ready, refuse         PAGE_READY: each fault has exactly one answer
//! unmap_pages                room in the queue? ─ entries cleared ─ INVALIDATE_RANGE; when it is
//!                            done the frames are free
//! ```
//!
//! [`Device::serve_faults`] does all of it but the decision what to do with a page:
//!
//! ```no_run
//! use std::collections::BTreeMap;
//! use tpt_driver::paging::Answer;
//! use tpt_driver::verbs::Region;
//! use tpt_driver::{Device, Error, Limit, Platform};
//!
//! # fn frame_of(_: u64) -> Option<u64> { None }
//! fn handle(
//!     device: &mut Device,
//!     p: &mut impl Platform,
//!     regions: &BTreeMap<u32, Region>,
//! ) -> Result<u32, Error> {
//!     device.serve_faults(p, Limit::default(), |device, p, fault| {
//!         let region = regions.get(&fault.index());
//!         match (region, fault.va().and_then(frame_of)) {
//!             (Some(region), Some(frame)) => {
//!                 device.map_page(p, region, fault.page(), frame, fault.writes())?;
//!                 Ok(Answer::Ready)
//!             }
//!             _ => Ok(Answer::Refuse),
//!         }
//!     })
//! }
//! ```

use crate::command::Command;
use crate::device::Device;
use crate::error::Error;
use crate::gen::{flag, Op, Status, LEVEL_FLAT, LEVEL_INLINE};
use crate::platform::{Limit, Platform};
use crate::registers::{field, read, write};
use crate::verbs::{Progress, Region};
use tpt_regs::table as regs;

/// What a host says to a page fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The page is there: its entry has been written.
    Ready,
    /// The page will not come: the request ends with MTT_ABSENT.
    Refuse,
}

/// How far the answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Open,
    Sent(u16),
    Answered,
}

/// A page fault that was taken. It is the only one with its slot until it is answered, and must be
/// answered once, also if its request has ended.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "its slot is in use until `page_ready` or `refuse`"]
pub struct PageFault {
    slot: u8,
    index: u32,
    page: u64,
    va: Option<u64>,
    writes: bool,
    held: bool,
    client: u8,
    tag: u16,
    told: Told,
}

impl PageFault {
    /// Slot of the unit.
    pub fn slot(&self) -> u8 {
        self.slot
    }

    /// MPT index of the region.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Number of the page in its region.
    pub fn page(&self) -> u64 {
        self.page
    }

    /// First address of the page; `None`: no on-demand region of this driver has the index (any more).
    pub fn va(&self) -> Option<u64> {
        self.va
    }

    /// The access needs a writable page.
    pub fn writes(&self) -> bool {
        self.writes
    }

    /// The request waits for the answer; otherwise it was answered RETRY.
    pub fn held(&self) -> bool {
        self.held
    }

    /// Client that asked.
    pub fn client(&self) -> u8 {
        self.client
    }

    /// Tag of the request.
    pub fn tag(&self) -> u16 {
        self.tag
    }

    /// PAGE_READY has completed.
    pub fn is_answered(&self) -> bool {
        self.told == Told::Answered
    }
}

/// What the driver remembers of an on-demand region, for the addresses of its faults.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    start: u64,
    log_page: u8,
    /// Number of the first page as the unit counts: in a flat table that of its entry.
    first: u64,
}

impl Device {
    /// A region has come, has changed or is gone.
    pub(crate) fn note_demand(&mut self, region: &Region) {
        let fields = region.extent.fields;
        if region.is_gone() || !region.is_on_demand() || fields.level == LEVEL_INLINE {
            self.demand.remove(&region.index());
            return;
        }
        let demand = Demand {
            start: region.extent.start,
            log_page: fields.log_page,
            first: match fields.level {
                LEVEL_FLAT => fields.frame[0] >> 3 & 0x1ff,
                _ => 0,
            },
        };
        self.demand.insert(region.index(), demand);
    }

    /// Page faults that were taken, and of which the unit has not been told an answer.
    pub fn open_faults(&self) -> usize {
        self.faults.len()
    }

    /// Page faults that [`Device::serve_faults`] could not finish: its next call goes on with them.
    pub fn owed_answers(&self) -> usize {
        self.owed.len()
    }

    /// Takes the oldest page fault; `None`: none waits.
    pub fn take_fault(&mut self, p: &mut impl Platform) -> Result<Option<PageFault>, Error> {
        if !self.is_running() {
            return Err(Error::NotRunning);
        }
        let info = read(p, regs::FAULT_INFO)?;
        if info & regs::fault_info::VALID == 0 {
            return Ok(None);
        }
        let low = read(p, regs::FAULT_PAGE_LO)?;
        let high = read(p, regs::FAULT_PAGE_HI)?;
        write(p, regs::FAULT_POP, regs::fault_pop::POP)?;
        let slot = field(info, regs::fault_info::SLOT) as u8;
        let slots = self.capabilities().fault_slots;
        if u32::from(slot) >= slots || !self.faults.insert(slot) {
            return Err(Error::FaultSlot { slot, slots });
        }
        let index = field(info, regs::fault_info::INDEX);
        let number = u64::from(field(high, regs::fault_page_hi::PAGE)) << 32 | u64::from(low);
        let known = self.demand.get(&index);
        let page = number.wrapping_sub(known.map_or(0, |known| known.first));
        let va = known.map(|known| {
            let base = known.start >> known.log_page << known.log_page;
            base.wrapping_add(page << known.log_page)
        });
        Ok(Some(PageFault {
            slot,
            index,
            page,
            va,
            writes: info & regs::fault_info::WRITE != 0,
            held: high & regs::fault_page_hi::HELD != 0,
            client: field(high, regs::fault_page_hi::CLIENT) as u8,
            tag: field(high, regs::fault_page_hi::TAG) as u16,
            told: Told::Open,
        }))
    }

    /// The page of a fault is there: its entry was written by [`Device::map_page`]. After an error
    /// that is no refusal it may be called again: the fault is answered once all the same.
    pub fn page_ready(
        &mut self,
        p: &mut impl Platform,
        fault: &mut PageFault,
        limit: Limit,
    ) -> Result<(), Error> {
        self.answer(p, fault, 0, limit)
    }

    /// The page of a fault will not come.
    pub fn refuse(
        &mut self,
        p: &mut impl Platform,
        fault: &mut PageFault,
        limit: Limit,
    ) -> Result<(), Error> {
        self.answer(p, fault, flag::REFUSE, limit)
    }

    fn answer(
        &mut self,
        p: &mut impl Platform,
        fault: &mut PageFault,
        flags: u8,
        limit: Limit,
    ) -> Result<(), Error> {
        let op = Op::PageReady;
        let id = match fault.told {
            Told::Answered => {
                return Err(Error::State {
                    found: "answered",
                    expected: "a page fault that is not",
                })
            }
            Told::Sent(id) => id,
            Told::Open => {
                let command = Command {
                    flags,
                    ..Command::new(op, fault.slot.into(), 0)
                };
                let id = self.post(p, &command)?;
                fault.told = Told::Sent(id);
                // From the doorbell on the unit may use the slot for another one.
                self.faults.remove(&fault.slot);
                id
            }
        };
        self.ring(p)?;
        let completion = self.wait(p, id, limit)?;
        fault.told = Told::Answered;
        match completion.status {
            Status::Ok => Ok(()),
            status => Err(Error::Refused { op, status }),
        }
    }

    /// Takes the page faults that wait, at most as many as the unit has slots, and answers each with
    /// what the handler says. Returns their number: call again until it is 0. If the handler fails, its
    /// fault is refused, and the handler's error returned.
    ///
    /// If an answer cannot be given, because the queue is full or no completion comes within the
    /// limit, that is an error, but the fault is not lost: the next call begins with the answers
    /// that are owed ([`Device::owed_answers`]), without asking the handler again.
    pub fn serve_faults<P: Platform>(
        &mut self,
        p: &mut P,
        limit: Limit,
        mut handler: impl FnMut(&mut Device, &mut P, &PageFault) -> Result<Answer, Error>,
    ) -> Result<u32, Error> {
        let mut served = 0;
        while let Some((fault, answer)) = self.owed.pop_front() {
            self.reply(p, fault, answer, limit)?;
            served += 1;
        }
        while served < self.capabilities().fault_slots {
            let Some(fault) = self.take_fault(p)? else {
                break;
            };
            match handler(self, p, &fault) {
                Ok(answer) => self.reply(p, fault, answer, limit)?,
                Err(error) => {
                    // What the handler has met is the cause; an answer that failed is owed.
                    let _ = self.reply(p, fault, Answer::Refuse, limit);
                    return Err(error);
                }
            }
            served += 1;
        }
        Ok(served)
    }

    /// Answers a fault, or keeps it for the next call of [`Device::serve_faults`].
    fn reply(
        &mut self,
        p: &mut impl Platform,
        mut fault: PageFault,
        answer: Answer,
        limit: Limit,
    ) -> Result<(), Error> {
        let given = match answer {
            Answer::Ready => self.page_ready(p, &mut fault, limit),
            Answer::Refuse => self.refuse(p, &mut fault, limit),
        };
        if !fault.is_answered() {
            self.owed.push_front((fault, answer));
        }
        given
    }

    /// Makes a page of an on-demand region present: writes its entry, and a write barrier. The frame
    /// must stay until [`Device::unmap_pages`] or the end of the region is [`Progress::Done`]. A page
    /// that is present keeps its frame until then, too; it may be made writable.
    pub fn map_page(
        &mut self,
        p: &mut impl Platform,
        region: &Region,
        page: u64,
        address: u64,
        writable: bool,
    ) -> Result<(), Error> {
        region.core.pages_live()?;
        let table = region.demand_table()?;
        table.set(p, page, address, writable)?;
        p.write_barrier();
        Ok(())
    }

    /// Makes `count` pages of an on-demand region absent, from `first` on: clears the entries, and sees
    /// to it that nobody uses them any more. With [`Progress::Done`] the frames may be used otherwise;
    /// with [`Progress::Pending`] only when [`Device::resume`] says so. If the unit has refused it
    /// (status BUSY), the entries are cleared, but the frames still in use, and the call may be
    /// repeated. With [`Error::QueueFull`] nothing has been done.
    pub fn unmap_pages(
        &mut self,
        p: &mut impl Platform,
        region: &mut Region,
        first: u64,
        count: u64,
        limit: Limit,
    ) -> Result<Progress, Error> {
        region.core.live()?;
        region.demand_table()?;
        // An entry is not taken out unless the unit can be told so.
        self.room(p)?;
        region.demand_table()?.clear(p, first, count)?;
        let (start, length) = region.range(first, count);
        let op = Op::InvalidateRange;
        let command = Command {
            start,
            length,
            ..Command::new(op, region.core.lkey, region.core.pd)
        };
        let result = self.run(p, &mut region.core, op, &command, limit);
        self.after(p, region, op, result)
    }
}

impl Region {
    fn demand_table(&self) -> Result<&crate::mtt::Table, Error> {
        match &self.table {
            Some(table) if self.is_on_demand() => Ok(table),
            _ => Err(Error::State {
                found: "not an on-demand region with a table of the driver",
                expected: "one",
            }),
        }
    }

    /// First address and bytes of pages, as far as they are in the region.
    fn range(&self, first: u64, count: u64) -> (u64, u64) {
        let extent = &self.extent;
        let log_page = extent.fields.log_page;
        let base = u128::from(extent.start >> log_page << log_page);
        let at = |page: u64| base + (u128::from(page) << log_page);
        let begin = at(first).max(extent.start.into());
        let end = at(first + count).min(u128::from(extent.start) + u128::from(extent.length));
        (begin as u64, end.saturating_sub(begin) as u64)
    }
}
