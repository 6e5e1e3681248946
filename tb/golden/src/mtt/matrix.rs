// SPDX-License-Identifier: Apache-2.0
//! Regions of every size at which something changes.

use super::{page_count, smallest_level, Shape};
use crate::driver::RegArgs;
use crate::frames::{FrameList, Page, PageSource};
use crate::types::Access;

/// Numbers of pages around the limits: inline to table (4), one table page (512), two levels
/// (262,144), 20-bit counters (2^20), three levels (2^27).
const PAGES: [u64; 14] = [
    1,
    2,
    3,
    4,
    5,
    511,
    512,
    513,
    262_143,
    262_144,
    262_145,
    (1 << 20) - 1,
    1 << 20,
    1 << 27,
];
/// log2 of the page sizes: 4 KiB, 8 KiB, 64 KiB, 2 MiB, 32 MiB, 1 GiB.
const LOG_PAGES: [u8; 6] = [12, 13, 16, 21, 25, 30];
/// From here on tables are generated instead of written.
const LAZY: u64 = 1 << 26;
/// Physical address above which the regions lie, far from any RAM.
const FRAMES_AT: u64 = 1 << 60;

/// One region of the matrix.
#[derive(Clone, Debug)]
pub struct Case {
    /// Pages of the region.
    pub pages: u64,
    /// log2 of the page size.
    pub log_page: u8,
    /// First address.
    pub iova: u64,
    /// Bytes.
    pub length: u64,
    /// The physical pages.
    pub list: FrameList,
    /// Smallest level that holds the region with 4 KiB table pages.
    pub level: u8,
    /// Page size, and whether the table is generated; everything else is left to the driver.
    pub shape: Shape,
}

/// One byte of a region whose translation is worth a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Page number inside the region.
    pub index: u64,
    /// Address in the region.
    pub va: u64,
    /// Physical address.
    pub pa: u64,
}

impl Case {
    fn new(pages: u64, log_page: u8, offset: u64, full: bool) -> Case {
        let size = 1u64 << log_page;
        // A start that no page size but the wanted one explains, well above 2^32.
        let iova = (0x1234_5000_0000_0000 & !(size - 1)) + offset;
        let length = match (full, pages) {
            (true, _) => pages * size - offset,
            (false, 1) => 1,
            (false, _) => (pages - 1) * size - offset + 1,
        };
        Case {
            pages,
            log_page,
            iova,
            length,
            list: scattered(pages, log_page),
            level: smallest_level(pages, 12),
            shape: Shape {
                lazy: pages >= LAZY,
                ..Shape::pages_of(log_page)
            },
        }
    }

    /// The arguments that register it.
    pub fn args(&self, pd: u32, access: Access) -> RegArgs {
        RegArgs::frames(pd, self.list.clone(), self.iova, self.length, access)
            .with_shape(self.shape)
    }

    /// First and last byte of the first and the last page, and of the pages on both sides of the
    /// boundaries of table pages of 2^`log_tpage` bytes (12: 512 entries): the first and the last
    /// boundary of every level.
    pub fn probes(&self, log_tpage: u8) -> Vec<Probe> {
        let mut pages = vec![0, self.pages - 1, self.pages / 2];
        for level in 1..4 {
            let Some(size) = 1u64.checked_shl(level * (u32::from(log_tpage) - 3)) else {
                continue;
            };
            for boundary in [size, (self.pages - 1) / size * size] {
                if boundary > 0 && boundary < self.pages {
                    pages.extend([boundary - 1, boundary]);
                }
            }
        }
        pages.sort_unstable();
        pages.dedup();
        pages.into_iter().flat_map(|i| self.probe_page(i)).collect()
    }

    /// First and last byte of page `index` that belong to the region.
    fn probe_page(&self, index: u64) -> [Probe; 2] {
        let size = 1u64 << self.log_page;
        let page_va = (self.iova & !(size - 1)) + index * size;
        let last = self.iova + (self.length - 1);
        let probe = |va: u64| {
            let pa = match self.list.page(index) {
                Page::Present { pa, .. } => pa + (va - page_va),
                _ => 0,
            };
            Probe { index, va, pa }
        };
        [
            probe(page_va.max(self.iova)),
            probe((page_va + (size - 1)).min(last)),
        ]
    }
}

/// Up to seven runs of pages, in falling order in physical memory and with holes between them, so
/// that a wrong page number never gives the right address.
fn scattered(pages: u64, log_page: u8) -> FrameList {
    let mut list = FrameList::new(log_page);
    let run = (pages / 7).max(1);
    let mut done = 0;
    let mut base = FRAMES_AT + ((10 * (run + 7)) << log_page);
    while done < pages {
        let n = match pages - done {
            rest if rest < 2 * run => rest,
            _ => run,
        };
        list.push(n, Page::at(base));
        base -= (run + 3) << log_page;
        done += n;
    }
    list
}

/// Every number of pages at which levels, counters or shapes change, in every page size, with
/// starts on, just after, in the middle, and at the end of a page. Some end with the page, some one
/// byte into their last page. 336 regions, the largest 2^57 bytes; none needs memory but for its
/// table.
///
/// Each case registers with [`args`](Case::args); its
/// [`probes`](Case::probes) say where addresses must go.
pub fn boundary_matrix() -> Vec<Case> {
    let mut cases = Vec::new();
    for log_page in LOG_PAGES {
        let size = 1u64 << log_page;
        for pages in PAGES {
            for (k, offset) in [0, 1, size / 2, size - 1].into_iter().enumerate() {
                let case = Case::new(pages, log_page, offset, k % 2 == 0);
                debug_assert_eq!(page_count(case.iova, case.length, log_page), pages);
                cases.push(case);
            }
        }
    }
    cases
}
