// SPDX-License-Identifier: Apache-2.0
//! Regions, windows and their sizes.

use std::sync::Arc;

use crate::codec::{MptEntry, LOG_PAGE_RANGE, LOG_TPAGE_RANGE};
use crate::frames::{FrameList, Page, Translation};
use crate::types::*;

/// Most pages that one region may have.
pub const MAX_PAGES: u128 = 1 << 40;
/// Most pages of a region with a flat table. Page numbers of a flat table are counted from the 4 KiB
/// boundary before its root, up to 511 more than pages, and must still fit.
pub const MAX_FLAT_PAGES: u128 = 1 << 39;
/// Pages that fit into an MPT entry (level 0).
pub const INLINE_PAGES: u128 = 4;

/// log2 of the pages of a physical region: as large as there are.
pub const LOG_PHYS_PAGE: u8 = *LOG_PAGE_RANGE.end();
/// Most pages that a registration of a fast-registration region may have.
pub const MAX_CAP: u32 = (1 << 20) - 1;

/// The region under a window, as its entry names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Parent {
    /// Index of the region.
    pub index: u32,
    /// Generation that was bound.
    pub gen: u8,
    /// Index field of the region's L_Key.
    pub field: u32,
}

/// What has been done at an index, counted modulo 256.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct IndexCounts {
    /// Generation: registrations and bindings of the index, and invalidations of ranges.
    pub gen: u8,
    /// Of these, the invalidations of ranges.
    pub ranges: u8,
}

impl IndexCounts {
    /// After one registration more.
    pub fn next(self) -> IndexCounts {
        IndexCounts {
            gen: self.gen.wrapping_add(1),
            ..self
        }
    }

    /// After an invalidation of a range more.
    pub fn renewed(self) -> IndexCounts {
        IndexCounts {
            ranges: self.ranges.wrapping_add(1),
            ..self.next()
        }
    }

    /// Registrations and bindings: what tags are made of.
    pub fn registrations(self) -> u8 {
        self.gen.wrapping_sub(self.ranges)
    }
}

/// One registration of a memory region or one binding of a window: what the unit knows about it,
/// and its true pages. (Fast-registration regions and windows have an entry before they are
/// registered or bound as well; it grants nothing.)
#[derive(Clone, Debug)]
pub struct Region {
    /// Index in the table of regions.
    pub index: u32,
    /// Counts the registrations of the index, and the invalidations of ranges, modulo 256.
    pub gen: u8,
    /// The generation when it was registered.
    pub first_gen: u8,
    /// Of `gen`, the invalidations of ranges, modulo 256.
    pub ranges: u8,
    /// Kind of the entry.
    pub kind: Kind,
    /// Protection domain.
    pub pd: u32,
    /// Queue pair of a type-2 window.
    pub qpn: u32,
    /// Rights and options, without the optional flags that the unit does not store.
    pub access: Access,
    /// Start address (iova).
    pub start: u64,
    /// Bytes.
    pub length: u64,
    /// log2 of the page size.
    pub log_page: u8,
    /// 0 inline, 1 to 4 tree, 5 flat.
    pub level: u8,
    /// log2 of the table page size; 12 where it has no meaning (inline, flat).
    pub log_tpage: u8,
    /// Encoding of the table.
    pub encoding: Encoding,
    /// Level 0: page addresses; otherwise the root of the table first. Unused ones are 0.
    pub frame: [u64; 4],
    /// L_Key.
    pub lkey: Key,
    /// R_Key; 0 if nothing is granted to the peer.
    pub rkey: Key,
    /// Number of windows that are bound to the region.
    pub bound: u32,
    /// Pages that a registration may have, if it is a fast-registration region.
    pub cap: u32,
    /// The peer may invalidate it.
    pub remote_inv: bool,
    /// What a window is bound to. Windows have no pages of their own.
    pub parent: Option<Parent>,
    /// The physical pages.
    pub pages: Translation,
}

impl Default for Region {
    /// A region of no bytes and no right, with keys of 0: for others to fill in.
    fn default() -> Region {
        Region {
            index: 0,
            gen: 0,
            first_gen: 0,
            ranges: 0,
            kind: Kind::Mr,
            pd: 0,
            qpn: 0,
            access: Access::NONE,
            start: 0,
            length: 0,
            log_page: *LOG_PAGE_RANGE.start(),
            level: LEVEL_INLINE,
            log_tpage: *LOG_TPAGE_RANGE.start(),
            encoding: Encoding::Raw,
            frame: [0; 4],
            lkey: Key::NONE,
            rkey: Key::NONE,
            bound: 0,
            cap: 0,
            remote_inv: false,
            parent: None,
            pages: Arc::new(FrameList::new(*LOG_PAGE_RANGE.start())),
        }
    }
}

impl Region {
    /// What its index has been through.
    pub fn count(&self) -> IndexCounts {
        IndexCounts {
            gen: self.gen,
            ranges: self.ranges,
        }
    }

    /// The lowest address that requests may name: 0 in a zero-based region.
    pub fn base(&self) -> u64 {
        if self.access.contains(Access::ZERO_BASED) {
            0
        } else {
            self.start
        }
    }

    /// Bytes from the start of the first page to the start of the region.
    pub fn first_offset(&self) -> u64 {
        self.start & self.page_mask()
    }

    /// Number of pages.
    pub fn page_count(&self) -> u128 {
        page_count(self.start, self.length, self.log_page)
    }

    /// Does the role exist? Windows have an R_Key only; a region has one if it grants a remote
    /// right.
    pub fn has_role(&self, role: Role) -> bool {
        let window = self.kind.is_window();
        match role {
            Role::Local => !window,
            Role::Remote => window || self.access.intersects(Access::ANY_REMOTE),
        }
    }

    /// May windows be bound to it, going by its kind and addresses? Rule 11 asks it again of the
    /// parent at every access.
    pub fn can_be_parent(&self) -> bool {
        matches!(self.kind, Kind::Mr | Kind::Frmr) && !self.access.contains(Access::ZERO_BASED)
    }

    /// Lie `length` bytes from `va` on inside? By subtraction: no sum that could wrap.
    pub fn contains(&self, va: u64, length: u64) -> bool {
        match va.checked_sub(self.base()) {
            Some(offset) => offset <= self.length && length <= self.length - offset,
            None => false,
        }
    }

    /// The address inside its parent of an address that requests give to a window.
    pub fn in_parent(&self, va: u64) -> u64 {
        match self.access.contains(Access::ZERO_BASED) {
            true => va.wrapping_add(self.start),
            false => va,
        }
    }

    /// The key of a role.
    pub fn key(&self, role: Role) -> Key {
        match role {
            Role::Local => self.lkey,
            Role::Remote => self.rkey,
        }
    }

    /// Physical address of page `index`, or why the walk ends there (rule 12). A page fault that
    /// nobody answers is RETRY.
    pub fn page(&self, index: u64, write: bool) -> Result<u64, Syndrome> {
        if self.kind == Kind::Phys {
            // No table: the addresses of the region are physical ones, the one of page 0 too.
            let first = self.start & !self.page_mask();
            return Ok(first.wrapping_add(index << self.log_page));
        }
        self.found(self.pages.page(index), write)
    }

    /// What an access that came at clock `from` may find at page `index` at clock `to`: as
    /// [`Region::page`], but of an on-demand region it may be one of several.
    pub fn pages_met(
        &self,
        index: u64,
        write: bool,
        from: u64,
        to: u64,
    ) -> Vec<Result<u64, Syndrome>> {
        if self.kind == Kind::Phys {
            return vec![self.page(index, write)];
        }
        let mut found = Vec::with_capacity(1);
        for page in self.pages.met(index, from, to) {
            let page = self.found(page, write);
            if !found.contains(&page) {
                found.push(page);
            }
        }
        found
    }

    /// May such an access meet a page fault at page `index`, or an old line of the table that looks
    /// like one?
    pub fn may_fault(&self, index: u64, write: bool, from: u64, to: u64) -> bool {
        let mut cached = self.pages.cached(index, from, to).into_iter();
        cached.any(|page| self.found(page, write) == Err(Syndrome::Retry))
    }

    /// An entry of the table, judged. In an on-demand region what is absent is a page fault, which
    /// ends as RETRY if nobody answers it.
    fn found(&self, page: Page, write: bool) -> Result<u64, Syndrome> {
        // Pages inside the MPT entry are bare addresses, as those of encoding RAW.
        let flagged = self.encoding != Encoding::Raw && self.level != LEVEL_INLINE;
        let checked = flagged && self.encoding == Encoding::Checked;
        let on_demand = self.access.contains(Access::ON_DEMAND);
        let (absent, read_only) = match on_demand {
            true => (Syndrome::Retry, Syndrome::Retry),
            false => (Syndrome::MttAbsent, Syndrome::MttBad),
        };
        match page {
            Page::Absent => Err(absent),
            Page::Bad => Err(Syndrome::MttBad),
            Page::Bus => Err(Syndrome::Bus),
            Page::Present { pa: 0, .. } if !flagged => Err(absent),
            Page::Present { pa: 0, .. } if checked => Err(Syndrome::MttBad),
            Page::Present { pa, .. } if pa & self.page_mask() != 0 => Err(Syndrome::MttBad),
            Page::Present {
                writable: false, ..
            } if flagged && write => Err(read_only),
            Page::Present { pa, .. } => Ok(pa),
        }
    }

    /// The MPT entry of the region in `state`.
    pub fn entry(&self, state: State) -> MptEntry {
        let root = self.frame[0];
        let frame = match self.level {
            _ if self.kind.is_window() => {
                let parent = |p: Parent| u64::from(p.gen) << 24 | u64::from(p.field);
                [self.parent.map_or(0, parent), 0, 0, 0]
            }
            LEVEL_INLINE => self.frame.map(|pa| pa >> 12),
            // A flat table starts anywhere on 8 bytes: the next field takes bits 11:3 of the root.
            LEVEL_FLAT => [root >> 12, root >> 3 & 0x1ff, 0, 0],
            _ => [root >> 12, 0, 0, 0],
        };
        MptEntry {
            index: self.index,
            state: state.code(),
            kind: self.kind.code(),
            access: self.access.to_stored(),
            log_page: self.log_page,
            level: self.level,
            log_tpage: self.log_tpage - *LOG_TPAGE_RANGE.start(),
            encoding: self.encoding.code(),
            rinv_en: self.remote_inv,
            lkey_tag: self.lkey.tag(),
            rkey_tag: self.rkey.tag(),
            gen: self.gen,
            pd: self.pd,
            qpn: match self.kind.is_window() {
                true => self.qpn,
                false => self.ranges.into(),
            },
            start: self.start,
            length: self.length,
            frame,
            bound: self.parent.map_or(self.bound, |parent| parent.index),
            cap: match self.kind.is_window() {
                true => self.ranges.into(),
                false => self.cap,
            },
        }
    }

    pub(super) fn page_mask(&self) -> u64 {
        (1 << self.log_page) - 1
    }
}

/// An entry without the fields that mean nothing, so that two entries can be compared: memory may
/// hold anything there.
///
/// * Of a free entry state, generation and the invalidations of ranges count: the rest belongs to the
///   list of free entries.
/// * A window has no L_Key and no table, and before it is bound no range, rights and parent. One of
///   type 1 has no queue pair.
/// * A fast-registration region that is not registered has no range, rights and table. Without a
///   remote right it has no R_Key.
/// * A physical region has no table.
pub(super) fn meaning(entry: MptEntry) -> MptEntry {
    let (state, kind) = (
        State::from_code(entry.state),
        Kind::from_code(entry.kind).unwrap_or(Kind::Mr),
    );
    let mut told = entry;
    if kind.is_window() {
        (told.lkey_tag, told.rinv_en, told.cap) = (0, false, entry.cap & 0xff);
        (told.log_page, told.level, told.log_tpage, told.encoding) = (0, 0, 0, 0);
        told.frame = [entry.frame[0], 0, 0, 0];
        if kind == Kind::Mw1 {
            told.qpn = 0;
        }
    } else {
        told.qpn &= 0xff;
    }
    match kind {
        Kind::Phys => {
            (told.level, told.log_tpage, told.encoding, told.frame) = (0, 0, 0, [0; 4]);
        }
        Kind::Frmr if !Access::from_stored(entry.access).intersects(Access::ANY_REMOTE) => {
            told.rkey_tag = 0;
        }
        _ => {}
    }
    match state {
        Some(State::Free) => MptEntry {
            index: entry.index,
            state: entry.state,
            gen: entry.gen,
            qpn: entry.qpn & 0xff,
            ..MptEntry::default()
        },
        Some(State::Alloc) => {
            (told.start, told.length, told.access, told.frame) = (0, 0, 0, [0; 4]);
            (told.level, told.log_tpage) = (0, 0);
            if kind.is_window() {
                (told.bound, told.qpn) = (0, 0);
            } else {
                told.rkey_tag = 0;
            }
            told
        }
        _ => told,
    }
}

/// Pages of `length` bytes from `start` on: one more than `length / P` if the start is not aligned.
///
/// ```
/// assert_eq!(tpt_golden::unit::page_count(0x1000, 0x1000, 12), 1);
/// assert_eq!(tpt_golden::unit::page_count(0x1fff, 0x1001, 12), 2);
/// ```
pub fn page_count(start: u64, length: u64, log_page: u8) -> u128 {
    let page = 1u128 << log_page.min(64);
    (u128::from(length) + u128::from(start) % page).div_ceil(page)
}

/// Pages that a table can hold: `None` if there is no such level.
pub fn table_capacity(level: u8, log_tpage: u8) -> Option<u128> {
    let pages = match level {
        LEVEL_INLINE => INLINE_PAGES,
        1..=4 => {
            let bits = u32::from(level) * u32::from(log_tpage).saturating_sub(3);
            1u128.checked_shl(bits).unwrap_or(MAX_PAGES)
        }
        LEVEL_FLAT => MAX_FLAT_PAGES,
        _ => return None,
    };
    Some(pages.min(MAX_PAGES))
}
