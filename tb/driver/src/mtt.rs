// SPDX-License-Identifier: Apache-2.0
//! Translation tables: page size, level, and the words in memory (docs/formats.md).

use crate::error::Error;
use crate::gen::{
    Encoding, LEVEL_FLAT, LEVEL_INLINE, MAX_LOG_PAGE, MAX_LOG_TPAGE, MIN_LOG_PAGE, MIN_LOG_TPAGE,
    PAGE_IDX_W,
};
use crate::platform::DmaMemory;
use thiserror::Error;

/// Bytes of a table entry.
const ENTRY: u64 = 8;
/// Pages that a command can carry itself.
const INLINE_PAGES: u64 = 4;

/// A contiguous run of memory, as the unit addresses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// First byte.
    pub address: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Why no table can be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MttError {
    /// The runs do not have as many bytes as the region.
    #[error("the runs have {given} bytes, the region {needed}")]
    Length {
        /// Bytes of the region.
        needed: u64,
        /// Bytes of the runs.
        given: u64,
    },
    /// The region or a run passes 2^64, or has no bytes.
    #[error("a range of {bytes:#x} bytes from {start:#x} on does not exist")]
    Range {
        /// First byte.
        start: u64,
        /// Bytes.
        bytes: u64,
    },
    /// No page size fits, or the one asked for does not.
    #[error("no page size fits: run {run} at {address:#x} is not where address {iova:#x} is inside its page")]
    PageSize {
        /// Number of the run.
        run: usize,
        /// Where it begins.
        address: u64,
        /// Address of the region that it begins at.
        iova: u64,
    },
    /// A page size, level or table page size that does not exist.
    #[error("{what} {value} is not possible, expected {least} to {most}")]
    Shape {
        /// Which.
        what: &'static str,
        /// What it was.
        value: u8,
        /// Least possible.
        least: u8,
        /// Most possible.
        most: u8,
    },
    /// The level cannot hold the pages.
    #[error("{pages} pages do not fit into a table of level {level}")]
    TooManyPages {
        /// Pages of the region.
        pages: u64,
        /// Level, or the deepest one.
        level: u8,
    },
    /// A page at address 0 would read as absent.
    #[error("page {page} is at address 0, which means \"not present\" in this encoding")]
    PageZero {
        /// Its number.
        page: u64,
    },
}

/// What the caller wants to decide itself. The default leaves everything to the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// log2 of the page size; `None`: the largest that fits.
    pub log_page: Option<u8>,
    /// Level; `None`: the smallest that holds the region.
    pub level: Option<u8>,
    /// log2 of the table page size; `None`: 12, or larger if the region needs it.
    pub log_tpage: Option<u8>,
    /// Encoding.
    pub encoding: Encoding,
    /// FLAGGED: the pages may be written.
    pub writable: bool,
}

impl Default for Layout {
    fn default() -> Self {
        Self {
            log_page: None,
            level: None,
            log_tpage: None,
            encoding: Encoding::Raw,
            writable: true,
        }
    }
}

/// The fields of a command that describe a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableFields {
    /// log2 of the page size.
    pub log_page: u8,
    /// Level.
    pub level: u8,
    /// log2 of the table page size.
    pub log_tpage: u8,
    /// [`Encoding`] code.
    pub encoding: u8,
    /// Page addresses, or the root.
    pub frame: [u64; 4],
}

/// Pages that a range touches.
pub fn page_count(start: u64, length: u64, log_page: u8) -> u64 {
    if length == 0 {
        return 0;
    }
    let last = start.wrapping_add(length - 1);
    // Over 2^64 the difference still counts the pages.
    (last >> log_page).wrapping_sub(start >> log_page) + 1
}

/// Checks that the runs cover the region from `iova` on.
fn check(runs: &[Run], iova: u64, length: u64) -> Result<(), MttError> {
    let exists = |start: u64, bytes: u64| match bytes != 0 && start.checked_add(bytes - 1).is_some()
    {
        true => Ok(()),
        false => Err(MttError::Range { start, bytes }),
    };
    exists(iova, length)?;
    let mut given = 0u64;
    for run in runs {
        exists(run.address, run.bytes)?;
        given = given.saturating_add(run.bytes);
    }
    match given == length {
        true => Ok(()),
        false => Err(MttError::Length {
            needed: length,
            given,
        }),
    }
}

/// The first run that does not allow pages of this size: it must lie inside its pages as the region
/// does, and pages are cut by the ends of the region only.
fn misfit(runs: &[Run], iova: u64, log_page: u8) -> Option<MttError> {
    let below = (1u64 << log_page) - 1;
    let mut at = iova;
    for (run, Run { address, bytes }) in runs.iter().enumerate() {
        if address & below != at & below || (run > 0 && at & below != 0) {
            return Some(MttError::PageSize {
                run,
                address: *address,
                iova: at,
            });
        }
        at = at.wrapping_add(*bytes);
    }
    None
}

/// The largest page size that fits, as log2: not larger than what puts the region into one page.
pub fn largest_page(runs: &[Run], iova: u64, length: u64) -> Result<u8, MttError> {
    check(runs, iova, length)?;
    if let Some(error) = misfit(runs, iova, MIN_LOG_PAGE) {
        return Err(error);
    }
    let mut best = MIN_LOG_PAGE;
    while best < MAX_LOG_PAGE
        && page_count(iova, length, best) > 1
        && misfit(runs, iova, best + 1).is_none()
    {
        best += 1;
    }
    Ok(best)
}

/// Pages that a tree of `level` levels holds.
fn capacity(level: u8, log_tpage: u8) -> u64 {
    let bits = u32::from(level) * (u32::from(log_tpage) - 3);
    1 << bits.min(PAGE_IDX_W)
}

/// Level and table page size for so many pages.
fn shape(pages: u64, layout: &Layout, max_levels: u8) -> Result<(u8, u8), MttError> {
    let range = |what, value, least, most| match (least..=most).contains(&value) {
        true => Ok(()),
        false => Err(MttError::Shape {
            what,
            value,
            least,
            most,
        }),
    };
    if let Some(log) = layout.log_tpage {
        range(
            "log2 of the table page size",
            log,
            MIN_LOG_TPAGE,
            MAX_LOG_TPAGE,
        )?;
    }
    let too_many = |level| MttError::TooManyPages { pages, level };
    let sizes = match layout.log_tpage {
        Some(log) => log..=log,
        None => MIN_LOG_TPAGE..=MAX_LOG_TPAGE,
    };
    // Pages inside the command are judged as RAW: that would lose a write protection.
    let protects = layout.encoding == Encoding::Flagged && !layout.writable;
    match layout.level {
        Some(LEVEL_INLINE) if pages <= INLINE_PAGES => Ok((LEVEL_INLINE, MIN_LOG_TPAGE)),
        Some(LEVEL_INLINE) => Err(too_many(LEVEL_INLINE)),
        Some(LEVEL_FLAT) if pages < 1 << PAGE_IDX_W => Ok((LEVEL_FLAT, MIN_LOG_TPAGE)),
        Some(LEVEL_FLAT) => Err(too_many(LEVEL_FLAT)),
        Some(level) => {
            range("level", level, 1, max_levels)?;
            sizes
                .into_iter()
                .find(|log| pages <= capacity(level, *log))
                .map(|log| (level, log))
                .ok_or(too_many(level))
        }
        None if pages <= INLINE_PAGES && !protects => Ok((LEVEL_INLINE, MIN_LOG_TPAGE)),
        None => sizes
            .into_iter()
            .flat_map(|log| (1..=max_levels).map(move |level| (level, log)))
            .find(|(level, log)| pages <= capacity(*level, *log))
            .ok_or(too_many(max_levels)),
    }
}

/// A table in memory of the device. It must be given back with [`Table::free`], once the unit does
/// not use it any more.
#[derive(Debug, Default, PartialEq, Eq)]
#[must_use = "its memory stays taken until `Table::free`"]
pub struct Table {
    fields: TableFields,
    pages: u64,
    /// Address and bytes of what was allocated, from the leaves up.
    parts: Vec<(u64, u64)>,
}

impl Table {
    /// Builds the table of a region. If it fails, no memory stays taken.
    pub fn build(
        p: &mut (impl DmaMemory + ?Sized),
        runs: &[Run],
        iova: u64,
        length: u64,
        layout: &Layout,
        max_levels: u8,
    ) -> Result<Table, Error> {
        let log_page = match layout.log_page {
            None => largest_page(runs, iova, length)?,
            Some(value) if (MIN_LOG_PAGE..=MAX_LOG_PAGE).contains(&value) => {
                check(runs, iova, length)?;
                match misfit(runs, iova, value) {
                    Some(error) => return Err(error.into()),
                    None => value,
                }
            }
            Some(value) => {
                let (least, most) = (MIN_LOG_PAGE, MAX_LOG_PAGE);
                let what = "log2 of the page size";
                return Err(MttError::Shape {
                    what,
                    value,
                    least,
                    most,
                }
                .into());
            }
        };
        let pages = page_count(iova, length, log_page);
        let (level, log_tpage) = shape(pages, layout, max_levels)?;
        let zero_is_absent = level == LEVEL_INLINE || layout.encoding == Encoding::Raw;
        let addresses = Addresses::new(runs, iova, log_page);
        if zero_is_absent {
            if let Some(page) = addresses.clone().position(|address| address == 0) {
                return Err(MttError::PageZero { page: page as u64 }.into());
            }
        }
        let mut table = Table {
            fields: TableFields {
                log_page,
                level,
                log_tpage,
                encoding: layout.encoding.code(),
                frame: [0; 4],
            },
            pages,
            parts: Vec::new(),
        };
        if level == LEVEL_INLINE {
            for (frame, address) in table.fields.frame.iter_mut().zip(addresses) {
                *frame = address;
            }
            return Ok(table);
        }
        let flags = match (layout.encoding, layout.writable) {
            (Encoding::Raw, _) => 0,
            (Encoding::Flagged, false) => 1,
            (Encoding::Flagged, true) => 3,
        };
        let words = addresses.map(|address| address | flags);
        let built = match level {
            LEVEL_FLAT => table.write_flat(p, words),
            _ => table.write_tree(p, words, flags & 1),
        };
        match built {
            Ok(root) => {
                table.fields.frame[0] = root;
                Ok(table)
            }
            Err(error) => {
                table.free(p);
                Err(error)
            }
        }
    }

    /// A flat table for `pages` pages, all absent: the page list of a fast-registration region.
    pub fn reserve(
        p: &mut (impl DmaMemory + ?Sized),
        pages: u64,
        log_page: u8,
        encoding: Encoding,
    ) -> Result<Table, Error> {
        let mut table = Table {
            fields: TableFields {
                log_page,
                level: LEVEL_FLAT,
                log_tpage: MIN_LOG_TPAGE,
                encoding: encoding.code(),
                frame: [0; 4],
            },
            pages,
            parts: Vec::new(),
        };
        match table.write_flat(p, std::iter::empty()) {
            Ok(root) => table.fields.frame[0] = root,
            Err(error) => {
                table.free(p);
                return Err(error);
            }
        }
        Ok(table)
    }

    /// Writes the pages of a range into a reserved table, and absent ones behind them. The unit must
    /// not be using it.
    pub fn fill(
        &self,
        p: &mut (impl DmaMemory + ?Sized),
        runs: &[Run],
        iova: u64,
        length: u64,
        writable: bool,
    ) -> Result<(), Error> {
        let log_page = self.fields.log_page;
        check(runs, iova, length)?;
        if let Some(error) = misfit(runs, iova, log_page) {
            return Err(error.into());
        }
        let pages = page_count(iova, length, log_page);
        if pages > self.pages {
            let level = LEVEL_FLAT;
            return Err(MttError::TooManyPages { pages, level }.into());
        }
        let raw = self.fields.encoding == Encoding::Raw.code();
        let addresses = Addresses::new(runs, iova, log_page);
        if raw {
            if let Some(page) = addresses.clone().position(|address| address == 0) {
                return Err(MttError::PageZero { page: page as u64 }.into());
            }
        }
        let flags = match (raw, writable) {
            (true, _) => 0,
            (false, false) => 1,
            (false, true) => 3,
        };
        let words = addresses.map(|address| address | flags);
        write_words(p, self.fields.frame[0], self.pages * ENTRY, words)
    }

    fn take(
        &mut self,
        p: &mut (impl DmaMemory + ?Sized),
        bytes: u64,
        align: u64,
    ) -> Result<u64, Error> {
        let address = p.allocate(bytes, align)?;
        self.parts.push((address, bytes));
        Ok(address)
    }

    fn write_flat(
        &mut self,
        p: &mut (impl DmaMemory + ?Sized),
        words: impl Iterator<Item = u64>,
    ) -> Result<u64, Error> {
        let bytes = self.pages * ENTRY;
        let root = self.take(p, bytes, 4096)?;
        write_words(p, root, bytes, words)?;
        Ok(root)
    }

    /// Writes a tree from the leaves up; returns its root.
    fn write_tree(
        &mut self,
        p: &mut (impl DmaMemory + ?Sized),
        mut words: impl Iterator<Item = u64>,
        present: u64,
    ) -> Result<u64, Error> {
        let size = 1u64 << self.fields.log_tpage;
        let per_page = size / ENTRY;
        let mut entries = self.pages;
        let mut below: Vec<u64> = Vec::new();
        for level in 0..self.fields.level {
            let count = entries.div_ceil(per_page);
            let mut directory = below.iter().map(|address| address | present);
            let mut here = Vec::new();
            for _ in 0..count {
                let address = p.allocate(size, size)?;
                self.parts.push((address, size));
                match level {
                    0 => write_words(p, address, size, words.by_ref().take(per_page as usize))?,
                    _ => write_words(p, address, size, directory.by_ref().take(per_page as usize))?,
                }
                here.push(address);
            }
            below = here;
            entries = count;
        }
        // A level that holds the pages ends in one table page.
        Ok(below.first().copied().unwrap_or(0))
    }

    /// What a command says of it.
    pub fn fields(&self) -> TableFields {
        self.fields
    }

    /// Pages that it holds.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// Its memory: address and bytes of each part.
    pub fn parts(&self) -> &[(u64, u64)] {
        &self.parts
    }

    /// Gives its memory back.
    pub fn free(self, p: &mut (impl DmaMemory + ?Sized)) {
        for (address, bytes) in self.parts {
            p.free(address, bytes);
        }
    }
}

/// Writes words to memory, and zeros behind them.
fn write_words(
    p: &mut (impl DmaMemory + ?Sized),
    address: u64,
    bytes: u64,
    mut words: impl Iterator<Item = u64>,
) -> Result<(), Error> {
    const PIECE: u64 = 4096;
    let mut at = 0;
    let mut piece = Vec::new();
    while at < bytes {
        let end = (at + PIECE).min(bytes);
        piece.clear();
        for _ in 0..(end - at) / ENTRY {
            piece.extend_from_slice(&words.next().unwrap_or(0).to_le_bytes());
        }
        p.write(address + at, &piece)?;
        at = end;
    }
    Ok(())
}

/// Addresses of the pages of runs.
#[derive(Clone)]
struct Addresses<'a> {
    runs: std::slice::Iter<'a, Run>,
    log_page: u8,
    next: u64,
    left: u64,
    at: u64,
}

impl<'a> Addresses<'a> {
    fn new(runs: &'a [Run], iova: u64, log_page: u8) -> Self {
        Self {
            runs: runs.iter(),
            log_page,
            next: 0,
            left: 0,
            at: iova,
        }
    }
}

impl Iterator for Addresses<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let page = 1u64 << self.log_page;
        while self.left == 0 {
            let run = self.runs.next()?;
            self.next = run.address & !(page - 1);
            self.left = page_count(self.at, run.bytes, self.log_page);
            self.at = self.at.wrapping_add(run.bytes);
        }
        let address = self.next;
        self.next = self.next.wrapping_add(page);
        self.left -= 1;
        Some(address)
    }
}
