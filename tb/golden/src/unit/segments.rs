// SPDX-License-Identifier: Apache-2.0
//! How an accepted request is cut into physical segments.

use std::ops::{Deref, RangeInclusive};
use std::sync::Arc;

use super::Region;
use crate::types::*;

/// Ranges of physical memory in which translated addresses must lie, both ends included. If there is
/// none, they may lie anywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostWindows(Arc<[RangeInclusive<u64>]>);

impl HostWindows {
    /// These ranges.
    pub fn new(ranges: &[RangeInclusive<u64>]) -> Self {
        HostWindows(ranges.into())
    }

    /// Do `len` bytes (at least 1) at `pa` all lie in one of them?
    pub fn allow(&self, pa: u64, len: u64) -> bool {
        let Some(last) = pa.checked_add(len - 1) else {
            return self.0.is_empty();
        };
        self.0.is_empty() || self.0.iter().any(|r| *r.start() <= pa && last <= *r.end())
    }
}

/// The beats that answer a request, one by one. See
/// [`Golden::beats`](super::Golden::beats).
#[derive(Clone, Debug)]
pub struct Beats<R> {
    request: Request,
    first: bool,
    relaxed: bool,
    windows: HostWindows,
    rest: Rest<R>,
}

#[derive(Clone, Debug)]
enum Rest<R> {
    /// One beat without an address.
    Answer(Syndrome),
    /// `left` bytes from `offset` inside page `page` on.
    Walk {
        region: R,
        page: u64,
        offset: u64,
        left: u64,
    },
    /// Nothing.
    End,
}

impl<R: Deref<Target = Region>> Beats<R> {
    /// The single beat of a refused (or empty) request.
    pub fn answer(request: &Request, syndrome: Syndrome) -> Self {
        Beats {
            request: *request,
            first: true,
            relaxed: false,
            windows: HostWindows::default(),
            rest: Rest::Answer(syndrome),
        }
    }

    /// The same with host windows in force.
    pub fn within(self, windows: &HostWindows) -> Self {
        Beats {
            windows: windows.clone(),
            ..self
        }
    }

    /// The segments of a request for a region that passed the rules up to 11.
    pub fn segments(region: R, request: &Request) -> Self {
        let va = request.va;
        Beats::walk(region, va, request)
    }

    /// The segments of a request for a window that passed the rules up to 11: pages of its parent.
    pub fn through(window: &Region, parent: R, request: &Request) -> Self {
        Beats::walk(parent, window.in_parent(request.va), request)
    }

    fn walk(region: R, va: u64, request: &Request) -> Self {
        let from_first_page =
            u128::from(va.wrapping_sub(region.base())) + u128::from(region.first_offset());
        let relaxed = region.access.contains(Access::RELAXED_ORDERING)
            && request.operation() != Some(Op::RemoteAtomic);
        let rest = Rest::Walk {
            page: (from_first_page >> region.log_page) as u64,
            offset: from_first_page as u64 & region.page_mask(),
            left: request.len.into(),
            region,
        };
        Beats {
            request: *request,
            first: true,
            relaxed,
            windows: HostWindows::default(),
            rest,
        }
    }

    /// The beat of the next page.
    fn segment(&mut self, found: Result<u64, Syndrome>) -> Beat {
        match (found, &mut self.rest) {
            (
                Ok(pa),
                Rest::Walk {
                    region,
                    page,
                    offset,
                    left,
                },
            ) => {
                let pa = pa + *offset;
                let len = (region.page_mask() - *offset).min(*left - 1) + 1;
                if !self.windows.allow(pa, len) {
                    return self.beat(Syndrome::HostWin, 0, 0, true);
                }
                *page += 1;
                *offset = 0;
                *left -= len;
                let last = *left == 0;
                self.beat(Syndrome::Ok, pa, len as u32, last)
            }
            (found, _) => self.beat(found.err().unwrap_or(Syndrome::Ok), 0, 0, true),
        }
    }

    fn beat(&mut self, syndrome: Syndrome, pa: u64, len: u32, last: bool) -> Beat {
        let first = std::mem::replace(&mut self.first, false);
        if last {
            self.rest = Rest::End;
        }
        let Request { tag, stream, .. } = self.request;
        Beat {
            tag,
            stream,
            syndrome,
            pa,
            len,
            relaxed: self.relaxed && len > 0,
            first,
            last,
        }
    }
}

impl<R: Deref<Target = Region> + Clone> Beats<R> {
    /// The beats that may come next at clock `to` if the request was accepted at clock `from`, each
    /// with what comes after it. More than one only in an on-demand region: a page that was there in
    /// between, and a page fault that was not (RETRY, or MTT_ABSENT if the host has refused it).
    ///
    /// `line`: entries of a line of the table. A fault keeps back the pages before it in its line. An
    /// old line in a cache is read again before it is a fault, but for want of a slot even that may end
    /// as RETRY.
    pub fn next_of(&self, from: u64, to: u64, line: u64) -> Vec<(Beat, Self)> {
        let write = self.request.operation().is_some_and(Op::writes);
        let Rest::Walk {
            region,
            page,
            offset,
            left,
        } = &self.rest
        else {
            return self.only_next();
        };
        if !region.access.contains(Access::ON_DEMAND) {
            return self.only_next();
        }
        let fault = Err(Syndrome::Retry);
        let mut found = region.pages_met(*page, write, from, to);
        let before = match region.level {
            LEVEL_FLAT => region.frame[0] >> 3 & 0x1ff,
            _ => 0,
        };
        let last = page + ((offset + (left - 1)) >> region.log_page);
        let end = (page + before) / line * line + line - before;
        let faults = (*page..end.min(last + 1)).any(|page| region.may_fault(page, write, from, to));
        if faults && !found.contains(&fault) {
            found.push(fault);
        }
        let mut all = Vec::with_capacity(found.len() + 1);
        for found in found {
            let refused = (found == fault).then_some(Err(Syndrome::MttAbsent));
            for found in [Some(found), refused].into_iter().flatten() {
                let mut behind = self.clone();
                let beat = behind.segment(found);
                all.push((beat, behind));
            }
        }
        all
    }

    fn only_next(&self) -> Vec<(Beat, Self)> {
        let mut behind = self.clone();
        let next = behind.next();
        next.into_iter()
            .map(|beat| (beat, behind.clone()))
            .collect()
    }
}

impl<R: Deref<Target = Region>> Iterator for Beats<R> {
    type Item = Beat;

    fn next(&mut self) -> Option<Beat> {
        let write = self.request.operation().is_some_and(Op::writes);
        match &self.rest {
            Rest::End => None,
            Rest::Answer(syndrome) => {
                let syndrome = *syndrome;
                Some(self.beat(syndrome, 0, 0, true))
            }
            Rest::Walk { region, page, .. } => {
                let found = region.page(*page, write);
                Some(self.segment(found))
            }
        }
    }
}
