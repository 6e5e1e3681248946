// SPDX-License-Identifier: Apache-2.0
//! Regions and their sizes.

use crate::codec::{MptEntry, LOG_TPAGE_RANGE};
use crate::frames::{Page, Translation};
use crate::types::*;

/// Most pages that one region may have.
pub const MAX_PAGES: u128 = 1 << 40;
/// Most pages of a region with a flat table. Page numbers of a flat table are counted from the 4 KiB
/// boundary before its root, up to 511 more than pages, and must still fit.
pub const MAX_FLAT_PAGES: u128 = 1 << 39;
/// Pages that fit into an MPT entry (level 0).
pub const INLINE_PAGES: u128 = 4;

/// One registration of a memory region: what the unit knows about it, and its true pages.
#[derive(Clone, Debug)]
pub struct Region {
    /// Index in the table of regions.
    pub index: u32,
    /// Counts the registrations of the index, modulo 256.
    pub gen: u8,
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
    /// The physical pages.
    pub pages: Translation,
}

impl Region {
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

    /// Does the role exist? Windows have no L_Key, and only a remote right makes an R_Key.
    pub fn has_role(&self, role: Role) -> bool {
        match role {
            Role::Local => !self.kind.is_window(),
            Role::Remote => self.access.intersects(Access::ANY_REMOTE),
        }
    }

    /// The key of a role.
    pub fn key(&self, role: Role) -> Key {
        match role {
            Role::Local => self.lkey,
            Role::Remote => self.rkey,
        }
    }

    /// Physical address of page `index`, or why the walk ends there (rule 12).
    pub fn page(&self, index: u64, write: bool) -> Result<u64, Syndrome> {
        // Pages inside the MPT entry are bare addresses, as those of encoding RAW.
        let flagged = self.encoding == Encoding::Flagged && self.level != LEVEL_INLINE;
        match self.pages.page(index) {
            Page::Absent => Err(Syndrome::MttAbsent),
            Page::Bad => Err(Syndrome::MttBad),
            Page::Bus => Err(Syndrome::Bus),
            Page::Present { pa: 0, .. } if !flagged => Err(Syndrome::MttAbsent),
            Page::Present { pa, .. } if pa & self.page_mask() != 0 => Err(Syndrome::MttBad),
            Page::Present {
                writable: false, ..
            } if flagged && write => Err(Syndrome::MttBad),
            Page::Present { pa, .. } => Ok(pa),
        }
    }

    /// The MPT entry of the region in `state`.
    pub fn entry(&self, state: State) -> MptEntry {
        let root = self.frame[0];
        let frame = match self.level {
            LEVEL_INLINE => self.frame.map(|pa| pa >> 12),
            // A flat table starts anywhere on 8 bytes: the next field takes bits 11:3 of the root.
            LEVEL_FLAT => [root >> 12, root >> 3 & 0x1ff, 0, 0],
            _ => [root >> 12, 0, 0, 0],
        };
        MptEntry {
            state: state.code(),
            kind: self.kind.code(),
            access: self.access.to_stored(),
            log_page: self.log_page,
            level: self.level,
            log_tpage: self.log_tpage - *LOG_TPAGE_RANGE.start(),
            encoding: self.encoding.code(),
            rinv_en: false,
            lkey_tag: self.lkey.tag(),
            rkey_tag: self.rkey.tag(),
            gen: self.gen,
            pd: self.pd,
            qpn: self.qpn,
            start: self.start,
            length: self.length,
            frame,
            bound: self.bound,
        }
    }

    pub(super) fn page_mask(&self) -> u64 {
        (1 << self.log_page) - 1
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
