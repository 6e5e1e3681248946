// SPDX-License-Identifier: Apache-2.0
//! Translation tables: page size, level, and the words in memory (docs/formats.md).

use crate::error::Error;
use crate::gen::{
    Encoding, LEVEL_FLAT, LEVEL_INLINE, MAX_LOG_PAGE, MAX_LOG_TPAGE, MAX_MPT_SIZE, MIN_LOG_PAGE,
    MIN_LOG_TPAGE, PAGE_IDX_W,
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
    /// An entry of encoding CHECKED cannot hold the address.
    #[error("address {address:#x} does not fit into an entry of encoding CHECKED: expected one from 1 to 2^52 - 1")]
    CheckedAddress {
        /// The address, of a page or of a table page.
        address: u64,
    },
    /// An entry of encoding CHECKED is not made for such a place.
    #[error("{what} {value:#x} of a place of encoding CHECKED has more than {bits} bits")]
    Place {
        /// Index, number or level.
        what: &'static str,
        /// What it was.
        value: u64,
        /// Bits that there are.
        bits: u32,
    },
    /// The region has no such pages.
    #[error("pages {first} to {last} are not in the region, which has {pages}")]
    NoPage {
        /// Number of the first page.
        first: u64,
        /// Number of the last page.
        last: u64,
        /// Pages of the region.
        pages: u64,
    },
    /// The address of a page is not a multiple of the page size.
    #[error("address {address:#x} of a page is not a multiple of its size, 2^{log_page}")]
    Unaligned {
        /// The address.
        address: u64,
        /// log2 of the page size.
        log_page: u8,
    },
    /// The index of the region is not known yet.
    #[error("entries of encoding CHECKED need the MPT index of their region: `set_index` first")]
    NoIndex,
    /// Entries of this encoding cannot forbid a write.
    #[error("a page that may not be written needs encoding FLAGGED or CHECKED")]
    Writable,
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
    /// FLAGGED and CHECKED: the pages may be written.
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

/// Where an entry of encoding CHECKED lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// MPT index of the region: 23 bits.
    pub index: u32,
    /// Number of the entry among those of its level, 40 bits; in a flat array bits 11:3 of the root
    /// are added.
    pub number: u64,
    /// Level of the table page, 3 bits; 1 for leaves and flat arrays.
    pub level: u8,
}

impl Place {
    /// What is wider than its field of the check is refused.
    fn check(self) -> Result<(), MttError> {
        for (what, value, bits) in [
            ("index", self.index.into(), INDEX_BITS),
            ("number", self.number, PAGE_IDX_W),
            ("level", self.level.into(), LEVEL_BITS),
        ] {
            if value >> bits != 0 {
                return Err(MttError::Place { what, value, bits });
            }
        }
        Ok(())
    }
}

/// Bits of an MPT index.
const INDEX_BITS: u32 = MAX_MPT_SIZE.ilog2();
/// Bits of a level.
const LEVEL_BITS: u32 = 3;

/// Address bits of an entry of encoding CHECKED.
const CHECKED_ADDRESS: u64 = 0x000f_ffff_ffff_f000;
/// Bits of its check.
const CHECK_BITS: u32 = 21;

/// Remainder modulo x^21 + x^2 + 1: what stands above x^21 counts as x^2 + 1 times it.
fn remainder(mut value: u128) -> u128 {
    while value >> CHECK_BITS != 0 {
        let high = value >> CHECK_BITS;
        value = (value & ((1 << CHECK_BITS) - 1)) ^ high ^ high << 2;
    }
    value
}

/// The check bits of an entry with this address and these flags (bits 1:0).
fn check_bits(address: u64, flags: u64, place: Place) -> u64 {
    let index = u128::from(place.index);
    let mut message = index >> 8;
    for (value, bits) in [
        (u128::from(place.number), 40),
        (index & 0xff, 8),
        (place.level.into(), 3),
        ((address & CHECKED_ADDRESS).into(), 52),
    ] {
        message = message << bits ^ value;
    }
    // The address ends with its bit 12: 12 bits of it are no part, but bits 1 and 0 are.
    message = message >> 12 << 2 | u128::from(flags & 3);
    remainder(remainder(message) << CHECK_BITS) as u64
}

/// An entry of encoding CHECKED: present, with check and parity. `address` is that of a page or of a
/// table page.
pub fn checked_entry(address: u64, writable: bool, place: Place) -> Result<u64, MttError> {
    checked_address(address)?;
    place.check()?;
    let flags = 1 | u64::from(writable) << 1;
    let check = check_bits(address, flags, place);
    let word = address | flags | (check & 0x3ff) << 2 | check >> 10 << 52;
    Ok(word | u64::from(word.count_ones() % 2 == 0) << 63)
}

fn checked_address(address: u64) -> Result<(), MttError> {
    match address != 0 && address & !CHECKED_ADDRESS == 0 {
        true => Ok(()),
        false => Err(MttError::CheckedAddress { address }),
    }
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
fn shape(pages: u64, layout: &Layout, max_levels: u8, demand: bool) -> Result<(u8, u8), MttError> {
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
    let protects = layout.encoding != Encoding::Raw && !layout.writable;
    match layout.level {
        // Pages that come and go need entries.
        Some(level @ LEVEL_INLINE) if demand => {
            range("level of an on-demand region", level, 1, LEVEL_FLAT)?;
            Err(too_many(level))
        }
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
        None if pages <= INLINE_PAGES && !protects && !demand => Ok((LEVEL_INLINE, MIN_LOG_TPAGE)),
        None => sizes
            .into_iter()
            .flat_map(|log| (1..=max_levels).map(move |level| (level, log)))
            .find(|(level, log)| pages <= capacity(*level, *log))
            .ok_or(too_many(max_levels)),
    }
}

/// A table in memory of the device. It must be given back with [`Table::free`], once the unit does
/// not use it any more.
///
/// Entries of encoding CHECKED are made with the index of the region. Until [`Table::set_index`] has
/// told it they are zeros, which means absent.
#[derive(Debug, Default, PartialEq, Eq)]
#[must_use = "its memory stays taken until `Table::free`"]
pub struct Table {
    fields: TableFields,
    pages: u64,
    index: Option<u32>,
    /// Address and bytes of what was allocated, from the leaves up.
    parts: Vec<(u64, u64)>,
}

/// The page size that a layout asks for.
fn wanted_page(layout: &Layout) -> Result<Option<u8>, MttError> {
    match layout.log_page {
        Some(value) if !(MIN_LOG_PAGE..=MAX_LOG_PAGE).contains(&value) => Err(MttError::Shape {
            what: "log2 of the page size",
            value,
            least: MIN_LOG_PAGE,
            most: MAX_LOG_PAGE,
        }),
        wanted => Ok(wanted),
    }
}

impl Table {
    fn new((log_page, level, log_tpage): (u8, u8, u8), encoding: Encoding, pages: u64) -> Self {
        let encoding = encoding.code();
        Self {
            fields: TableFields {
                log_page,
                level,
                log_tpage,
                encoding,
                frame: [0; 4],
            },
            pages,
            index: None,
            parts: Vec::new(),
        }
    }

    /// Builds the table of a region. If it fails, no memory stays taken. A table of encoding CHECKED
    /// is finished by [`Table::set_index`] and [`Table::enter`], when the region is registered.
    pub fn build(
        p: &mut (impl DmaMemory + ?Sized),
        runs: &[Run],
        iova: u64,
        length: u64,
        layout: &Layout,
        max_levels: u8,
    ) -> Result<Table, Error> {
        let log_page = match wanted_page(layout)? {
            None => largest_page(runs, iova, length)?,
            Some(log_page) => {
                check(runs, iova, length)?;
                match misfit(runs, iova, log_page) {
                    Some(error) => return Err(error.into()),
                    None => log_page,
                }
            }
        };
        let pages = page_count(iova, length, log_page);
        let (level, log_tpage) = shape(pages, layout, max_levels, false)?;
        let mut table = Table::new((log_page, level, log_tpage), layout.encoding, pages);
        let addresses = Addresses::new(runs, iova, log_page);
        table.check_addresses(addresses.clone())?;
        if level == LEVEL_INLINE {
            for (frame, address) in table.fields.frame.iter_mut().zip(addresses) {
                *frame = address;
            }
            return Ok(table);
        }
        let built = table.take(p).and_then(|()| {
            table.write_directories(p)?;
            table.write_leaves(p, addresses, layout.writable)
        });
        table.or_free(p, built)
    }

    /// The table of an on-demand region: all pages absent, but a place for each of them.
    pub fn absent(
        p: &mut (impl DmaMemory + ?Sized),
        start: u64,
        length: u64,
        layout: &Layout,
        max_levels: u8,
    ) -> Result<Table, Error> {
        let log_page = wanted_page(layout)?.unwrap_or(MIN_LOG_PAGE);
        let no_range = start.checked_add(length.wrapping_sub(1)).is_none();
        if length == 0 || no_range {
            let bytes = length;
            return Err(MttError::Range { start, bytes }.into());
        }
        let pages = page_count(start, length, log_page);
        let (level, log_tpage) = shape(pages, layout, max_levels, true)?;
        Self::empty(p, (log_page, level, log_tpage), layout.encoding, pages)
    }

    /// A flat table for `pages` pages, all absent: the page list of a fast-registration region. The
    /// page size must be one that exists.
    pub fn reserve(
        p: &mut (impl DmaMemory + ?Sized),
        pages: u64,
        log_page: u8,
        encoding: Encoding,
    ) -> Result<Table, Error> {
        let layout = Layout {
            log_page: Some(log_page),
            level: Some(LEVEL_FLAT),
            encoding,
            ..Layout::default()
        };
        wanted_page(&layout)?;
        if pages == 0 {
            return Err(MttError::Range { start: 0, bytes: 0 }.into());
        }
        // (A flat table has no levels.)
        let (level, log_tpage) = shape(pages, &layout, 1, true)?;
        Self::empty(p, (log_page, level, log_tpage), encoding, pages)
    }

    fn empty(
        p: &mut (impl DmaMemory + ?Sized),
        shape: (u8, u8, u8),
        encoding: Encoding,
        pages: u64,
    ) -> Result<Table, Error> {
        let mut table = Table::new(shape, encoding, pages);
        let built = table.take(p).and_then(|()| {
            table.write_directories(p)?;
            table.write_leaves(p, std::iter::empty(), true)
        });
        table.or_free(p, built)
    }

    fn or_free(
        self,
        p: &mut (impl DmaMemory + ?Sized),
        built: Result<(), Error>,
    ) -> Result<Table, Error> {
        match built {
            Ok(()) => Ok(self),
            Err(error) => {
                self.free(p);
                Err(error)
            }
        }
    }

    /// The region has this MPT index. Directories of encoding CHECKED are written now, and its
    /// entries can be.
    pub fn set_index(
        &mut self,
        p: &mut (impl DmaMemory + ?Sized),
        index: u32,
    ) -> Result<(), Error> {
        if self.is_checked() {
            let place = Place {
                index,
                ..Place::default()
            };
            place.check()?;
        }
        self.index = Some(index);
        match self.is_checked() {
            true => self.write_directories(p),
            false => Ok(()),
        }
    }

    /// Writes the entries of a table of encoding CHECKED, whose index is known: the same runs as for
    /// [`Table::build`]. Other tables have theirs already.
    pub fn enter(
        &self,
        p: &mut (impl DmaMemory + ?Sized),
        runs: &[Run],
        iova: u64,
        writable: bool,
    ) -> Result<(), Error> {
        if !self.is_checked() || self.fields.level == LEVEL_INLINE {
            return Ok(());
        }
        self.check_index()?;
        let addresses = Addresses::new(runs, iova, self.fields.log_page);
        self.write_leaves(p, addresses, writable)
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
        self.check_index()?;
        check(runs, iova, length)?;
        if let Some(error) = misfit(runs, iova, log_page) {
            return Err(error.into());
        }
        let pages = page_count(iova, length, log_page);
        if pages > self.pages {
            let level = LEVEL_FLAT;
            return Err(MttError::TooManyPages { pages, level }.into());
        }
        let addresses = Addresses::new(runs, iova, log_page);
        self.check_addresses(addresses.clone())?;
        self.write_leaves(p, addresses, writable)
    }

    /// Writes the entry of one page. The unit may be using the table: the entry is there or not.
    pub fn set(
        &self,
        p: &mut (impl DmaMemory + ?Sized),
        page: u64,
        address: u64,
        writable: bool,
    ) -> Result<(), Error> {
        let log_page = self.fields.log_page;
        self.check_index()?;
        self.check_pages(page, 1)?;
        if address & ((1 << log_page) - 1) != 0 {
            return Err(MttError::Unaligned { address, log_page }.into());
        }
        if !writable && self.is_raw() {
            return Err(MttError::Writable.into());
        }
        self.check_addresses([address].into_iter())?;
        let word = self.word(address, writable, page + self.before(), 1)?;
        p.write(self.leaf(page), &word.to_le_bytes())?;
        Ok(())
    }

    /// Makes pages absent.
    pub fn clear(
        &self,
        p: &mut (impl DmaMemory + ?Sized),
        first: u64,
        count: u64,
    ) -> Result<(), Error> {
        self.check_pages(first, count)?;
        (first..first + count)
            .try_for_each(|page| p.write(self.leaf(page), &[0; ENTRY as usize]))?;
        Ok(())
    }

    fn check_index(&self) -> Result<(), MttError> {
        match self.is_checked() && self.index.is_none() {
            true => Err(MttError::NoIndex),
            false => Ok(()),
        }
    }

    fn check_pages(&self, first: u64, count: u64) -> Result<(), MttError> {
        if self.fields.level == LEVEL_INLINE {
            return Err(MttError::Shape {
                what: "level of a table with entries",
                value: LEVEL_INLINE,
                least: 1,
                most: LEVEL_FLAT,
            });
        }
        let pages = self.pages;
        match count != 0 && first < pages && count <= pages - first {
            true => Ok(()),
            false => Err(MttError::NoPage {
                first,
                last: first.saturating_add(count.saturating_sub(1)),
                pages,
            }),
        }
    }

    fn is_raw(&self) -> bool {
        self.fields.encoding == Encoding::Raw.code()
    }

    fn is_checked(&self) -> bool {
        self.fields.encoding == Encoding::Checked.code()
    }

    /// Addresses that the encoding cannot hold.
    fn check_addresses(&self, mut addresses: impl Iterator<Item = u64>) -> Result<(), MttError> {
        if self.is_checked() {
            addresses.try_for_each(checked_address)?;
        } else if self.fields.level == LEVEL_INLINE || self.is_raw() {
            if let Some(page) = addresses.position(|address| address == 0) {
                return Err(MttError::PageZero { page: page as u64 });
            }
        }
        Ok(())
    }

    /// Numbers of a flat array count from the 4 KiB boundary before it.
    fn before(&self) -> u64 {
        match self.fields.level {
            LEVEL_FLAT => self.fields.frame[0] / ENTRY % 512,
            _ => 0,
        }
    }

    /// Where the entry of a page is.
    fn leaf(&self, page: u64) -> u64 {
        let per_part = self.parts.first().map_or(1, |(_, bytes)| bytes / ENTRY);
        let (part, n) = (page / per_part, page % per_part);
        self.parts[part as usize].0 + ENTRY * n
    }

    /// An entry: its address was looked at before.
    fn word(&self, address: u64, writable: bool, number: u64, level: u8) -> Result<u64, MttError> {
        let flags = 1 | u64::from(writable) << 1;
        match (self.is_raw(), self.is_checked(), self.index) {
            (true, ..) => Ok(address),
            (_, false, _) => Ok(address | flags),
            (_, true, Some(index)) => {
                let place = Place {
                    index,
                    number,
                    level,
                };
                checked_entry(address, writable, place)
            }
            (_, true, None) => Ok(0),
        }
    }

    /// Table pages of each level, from the leaves up.
    fn counts(&self) -> Vec<u64> {
        match self.fields.level {
            LEVEL_INLINE => Vec::new(),
            LEVEL_FLAT => vec![1],
            level => {
                let bits = self.fields.log_tpage - 3;
                let pages = |n: u8| self.pages.div_ceil(1 << (u32::from(bits) * u32::from(n)));
                (1..=level).map(pages).collect()
            }
        }
    }

    /// Takes the memory. A level that holds the pages ends in one table page, the root.
    fn take(&mut self, p: &mut (impl DmaMemory + ?Sized)) -> Result<(), Error> {
        let (bytes, align) = match self.fields.level {
            LEVEL_FLAT => (self.pages * ENTRY, 4096),
            _ => (1 << self.fields.log_tpage, 1 << self.fields.log_tpage),
        };
        for _ in 0..self.counts().iter().sum() {
            let address = p.allocate(bytes, align)?;
            self.parts.push((address, bytes));
            if self.is_checked() && self.fields.level != LEVEL_FLAT {
                checked_address(address)?;
            }
        }
        self.fields.frame[0] = self.parts.last().map_or(0, |(address, _)| *address);
        Ok(())
    }

    /// Writes the leaves: these pages, and absent ones behind them.
    fn write_leaves(
        &self,
        p: &mut (impl DmaMemory + ?Sized),
        addresses: impl Iterator<Item = u64>,
        writable: bool,
    ) -> Result<(), Error> {
        let numbers = self.before()..;
        let mut words = addresses
            .zip(numbers)
            .map(|(address, number)| self.word(address, writable, number, 1));
        let leaves = self.counts().first().map_or(0, |count| *count as usize);
        for (address, bytes) in self.parts.iter().take(leaves) {
            let here = (bytes / ENTRY) as usize;
            write_words(p, *address, *bytes, words.by_ref().take(here))?;
        }
        Ok(())
    }

    /// Writes the levels above the leaves.
    fn write_directories(&self, p: &mut (impl DmaMemory + ?Sized)) -> Result<(), Error> {
        let mut parts = self.parts.iter();
        let mut below: Vec<u64> = Vec::new();
        for (level, count) in (1..).zip(self.counts()) {
            let here: Vec<(u64, u64)> = parts.by_ref().take(count as usize).copied().collect();
            if level > 1 {
                let mut words = below
                    .iter()
                    .zip(0..)
                    .map(|(address, number)| self.word(*address, false, number, level));
                for (address, bytes) in &here {
                    let per_page = (bytes / ENTRY) as usize;
                    write_words(p, *address, *bytes, words.by_ref().take(per_page))?;
                }
            }
            below = here.into_iter().map(|(address, _)| address).collect();
        }
        Ok(())
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
    mut words: impl Iterator<Item = Result<u64, MttError>>,
) -> Result<(), Error> {
    const PIECE: u64 = 4096;
    let mut at = 0;
    let mut piece = Vec::new();
    while at < bytes {
        let end = (at + PIECE).min(bytes);
        piece.clear();
        for _ in 0..(end - at) / ENTRY {
            let word = words.next().unwrap_or(Ok(0))?;
            piece.extend_from_slice(&word.to_le_bytes());
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
