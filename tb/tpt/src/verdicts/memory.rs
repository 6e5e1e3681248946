// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! The memory under replayed registrations of recorded verdicts.
//!
//! The recordings do not say which frames the kernel used, so they are invented: a fixed function
//! of the process's address, so that two registrations of the same bytes lie on the same frames.
//! Half of the 2 MiB blocks are in one piece (as transparent huge pages are), the pages of the
//! others are scattered.

use tpt_golden::frames::{FrameList, Page};

/// log2 of a 4 KiB frame.
pub const LOG_FRAME: u32 = 12;
/// From this number of pages on a table is computed when it is read instead of written.
pub const LAZY: u64 = 1 << 22;
const LOG_BLOCK: u32 = 21;
const PAGES_PER_BLOCK: u64 = 1 << (LOG_BLOCK - LOG_FRAME);
/// From this number of pages on, a region is laid out in one piece.
const CONTIGUOUS: u64 = 1 << 14;
/// Frames of scattered pages, of blocks and of contiguous regions, in separate ranges.
const SCATTERED: u64 = 1 << 46;
const BLOCKS: u64 = 1 << 53;
const PIECES: u64 = 1 << 54;

/// Mixes a number (the finaliser of SplitMix64: a bijection on 64 bits).
fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A bijection of the numbers below 2^32: three rounds of a balanced Feistel network.
fn scatter(n: u32) -> u32 {
    let (mut l, mut r) = (n >> 16, n & 0xffff);
    for round in 0..3u64 {
        let f = mix(u64::from(r) | round << 32) as u32 & 0xffff;
        (l, r) = (r, l ^ f);
    }
    l << 16 | r
}

/// Physical address of the page with this number in the process, inside a region of `pages`.
fn frame(page: u64, pages: u64) -> u64 {
    if pages > CONTIGUOUS {
        return PIECES + ((page << LOG_FRAME) & (PIECES - 1));
    }
    let block = page / PAGES_PER_BLOCK;
    let within = page % PAGES_PER_BLOCK;
    // Numbers of 32 bits: a hash of the GiB, and the position inside it.
    let gib = mix(block >> 9);
    if mix(block) & 1 == 0 {
        let number = (gib & 0x7f_ffff) << 9 | (block & 0x1ff);
        BLOCKS + (u64::from(scatter(number as u32)) << LOG_BLOCK) + (within << LOG_FRAME)
    } else {
        let number = (gib & 0x3fff) << 18 | (page & 0x3_ffff);
        SCATTERED + (u64::from(scatter(number as u32)) << LOG_FRAME)
    }
}

/// The frames under a region of `length` bytes at `addr`.
pub fn frames(addr: u64, length: u64) -> FrameList {
    let pages = pages(addr, length);
    let first = addr >> LOG_FRAME;
    let mut list = FrameList::new(LOG_FRAME as u8);
    if pages > CONTIGUOUS {
        list.push(pages, Page::at(frame(first, pages)));
    } else {
        for page in 0..pages {
            list.push(1, Page::at(frame(first + page, pages)));
        }
    }
    list
}

/// Pages of 4 KiB that a region touches.
pub fn pages(addr: u64, length: u64) -> u64 {
    let offset = addr & ((1 << LOG_FRAME) - 1);
    ((u128::from(length) + u128::from(offset)).div_ceil(1 << LOG_FRAME)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn different_pages_have_different_frames() {
        let mut seen = HashSet::new();
        for arena in [0x2000_0000_0000u64, 0x3000_0000_0000, 0x3100_0000_0000] {
            for page in 0..8192 {
                assert!(seen.insert(frame((arena >> 12) + page, 8192)));
            }
        }
    }

    #[test]
    fn same_bytes_lie_on_same_frames() {
        let whole = frames(0x2000_0000_0000, 1 << 22);
        let part = frames(0x2000_0010_0028, 20_000);
        use tpt_golden::frames::PageSource;
        for k in 0..part.pages() {
            assert_eq!(part.page(k), whole.page(0x100 + k));
        }
    }
}
