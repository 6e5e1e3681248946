// SPDX-License-Identifier: Apache-2.0
//! The shim: an erdma command becomes a command of this unit, or is refused.

use super::build::page_count;
use super::words::{DeregMr, MrKind, RegMr, Rights};
use super::words::{OPCODE_DEREG_MR, OPCODE_REG_MR, SUBMODULE_RDMA};
use super::{COUNT_BITS, ENTRY_BYTES, INLINE_ENTRIES, LOG_PAGE, LOG_TPAGE, SIZE_BITS};
use crate::driver::Errno;
use crate::mem::PhysMem;
use crate::types::{CmdOp, Command, Completion, Encoding, Key, Role, Status, Syndrome};
use crate::types::{LEVEL_FLAT, LEVEL_INLINE};
use std::collections::HashMap;
use thiserror::Error;

/// Something that the command does not say right, and that the shim has put right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// The length did not fit into 32 bits.
    Length {
        /// As sent, in bytes.
        sent: u32,
        /// As it is, in bytes.
        length: u64,
    },
    /// The number of entries did not fit into 20 bits.
    Count {
        /// As sent.
        sent: u64,
        /// As it is.
        pages: u64,
    },
    /// What lay in address fields that the command does not use was dropped.
    Unused {
        /// Number of such fields with something in them.
        fields: u8,
    },
}

/// Why a command cannot be turned into one of this unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ShimError {
    /// Another command.
    #[error("submodule {submodule}, opcode {opcode} is not the command expected")]
    Operation {
        /// Submodule.
        submodule: u8,
        /// Opcode.
        opcode: u8,
    },
    /// A kind of region that this unit does not have: its address, length and table fields were never
    /// written and must not be looked at.
    #[error("regions of kind {0:?} are not supported")]
    Kind(MrKind),
    /// The region is not to be used yet.
    #[error("the command is not valid: there is no later step that would make it so")]
    NotValid,
    /// A version that no command of this level has. Without version 1 the size of the table pages of a
    /// tree is not known.
    #[error("version {version} with level {level}")]
    Version {
        /// Version.
        version: u8,
        /// Level.
        level: u8,
    },
    /// The driver asks for a key byte; this unit makes its keys itself.
    #[error("key byte {0:#04x} asked for")]
    KeyByte(u8),
    /// Without local read: this unit always grants it.
    #[error("a region without local read cannot be had")]
    NoLocalRead,
    /// Remote write or atomic without local write.
    #[error("remote write or atomic without local write")]
    NoLocalWrite,
    /// Page size outside 4 KiB to 1 GiB.
    #[error("pages of 2^{0} bytes are not supported")]
    PageSize(u8),
    /// Table page size outside 4 KiB to 64 KiB.
    #[error("table pages of 2^{0} bytes are not supported")]
    TablePage(u8),
    /// More levels than the unit walks.
    #[error("level {level}, the unit walks {max}")]
    Level {
        /// Level of the table.
        level: u8,
        /// Deepest that the unit walks.
        max: u8,
    },
    /// A region of no bytes.
    #[error("length is 0")]
    ZeroLength,
    /// Longer than the device says it can do.
    #[error("{length:#x} bytes, at most {max:#x}")]
    TooLong {
        /// Length in bytes.
        length: u64,
        /// Longest in bytes.
        max: u64,
    },
    /// The region passes 2^64.
    #[error("{start:#x} + {length:#x} passes 2^64")]
    Wrap {
        /// First address.
        start: u64,
        /// Length in bytes.
        length: u64,
    },
    /// The length sent is not that of the region, not even in the bits that were sent.
    #[error("length sent {sent:#x}, the region has {length:#x} bytes")]
    LengthDiffers {
        /// As sent, in bytes.
        sent: u64,
        /// As the caller says, in bytes.
        length: u64,
    },
    /// The number of entries sent is not that of the region, not even in the bits that were sent.
    #[error("{sent} entries sent, the region needs {pages}")]
    CountDiffers {
        /// As sent.
        sent: u64,
        /// Pages of the region.
        pages: u64,
    },
    /// The command alone does not say the length, and there is more than one that fits.
    #[error("length sent {sent:#x}: it may be {first:#x} or {second:#x}")]
    Ambiguous {
        /// As sent, in bytes.
        sent: u32,
        /// Shortest length that fits, in bytes.
        first: u64,
        /// Next one, in bytes.
        second: u64,
    },
    /// The command alone does not say the length, and there is none that fits.
    #[error("no length fits the size {size:#x} and the {count} entries sent")]
    NoLength {
        /// Length as sent, in bytes.
        size: u32,
        /// Entries as sent.
        count: u64,
    },
    /// More pages than fit into the command.
    #[error("{pages} pages inside the command")]
    InlinePages {
        /// Pages of the region.
        pages: u64,
    },
    /// A tree that is not deep enough: the driver stopped early, because table pages were merged.
    #[error("{pages} pages, a tree of {level} levels holds {capacity}: table pages were merged")]
    Shallow {
        /// Level of the table.
        level: u8,
        /// Pages of the region.
        pages: u64,
        /// Most pages of such a tree.
        capacity: u64,
    },
    /// An upper level has fewer entries than there are table pages below: pages were merged into
    /// segments, with one entry each. Entries behind the first merge name the wrong pages.
    #[error("level {level} has {found} entries for {expected} table pages: they were merged")]
    Merged {
        /// The level with the entries, 2 or 3.
        level: u8,
        /// Table pages below it.
        expected: u64,
        /// Entries that are not 0, from the first on.
        found: u64,
    },
    /// An address that is not aligned as it must be.
    #[error("address {address:#x} is not aligned to 2^{log}")]
    Misaligned {
        /// The address.
        address: u64,
        /// log2 of the alignment.
        log: u8,
    },
    /// A page at address 0, which an entry cannot tell from an absent one.
    #[error("page {0} is at address 0, which means absent")]
    PageAtZero(u64),
    /// The unit refused.
    #[error("refused by the hardware: {0}")]
    Refused(Status),
    /// The index is registered already.
    #[error("index {0:#x} is in use")]
    IndexInUse(u32),
    /// Nothing is registered under this index.
    #[error("index {0:#x} is not registered")]
    UnknownIndex(u32),
}

impl ShimError {
    /// What a driver would return.
    pub fn errno(&self) -> Errno {
        match self {
            ShimError::Kind(_) | ShimError::Level { .. } | ShimError::TablePage(_) => {
                Errno::Eopnotsupp
            }
            ShimError::Merged { .. } | ShimError::Shallow { .. } => Errno::Eio,
            ShimError::Refused(Status::NoIndex) => Errno::Enomem,
            ShimError::Refused(Status::Busy) => Errno::Eagain,
            ShimError::Refused(Status::Bus | Status::MptBad | Status::Disabled) => Errno::Eio,
            ShimError::IndexInUse(_) => Errno::Ebusy,
            _ => Errno::Einval,
        }
    }
}

/// A command of this unit, and what had to be put right for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Translated {
    /// REG_MR of this unit; its `id` is the cookie of the queue.
    pub command: Command,
    /// Pages of the region.
    pub pages: u64,
    /// Repairs.
    pub repairs: Vec<Repair>,
}

/// Turns erdma commands into those of this unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shim {
    /// Depth of the unit's walk.
    pub max_levels: u8,
    /// Longest region in bytes, as the device tells the driver.
    pub max_mr_size: u64,
    /// Look at the entry of every page, too. Costs one read for each page; the entries of upper levels
    /// are looked at in any case.
    pub check_pages: bool,
}

impl Default for Shim {
    /// Three levels, any length, upper levels only.
    fn default() -> Self {
        Self {
            max_levels: 3,
            max_mr_size: u64::MAX,
            check_pages: false,
        }
    }
}

impl Shim {
    /// The REG_MR command of this unit for one of erdma.
    ///
    /// `length` is the true length in bytes, where the caller knows it: in a driver it is an argument
    /// of the registration. Without it (in firmware, which sees the words only) the length is worked
    /// out from size and number of entries, or refused if more than one fits.
    ///
    /// `mem` is looked at, never written: the table stays as the driver has built it.
    pub fn reg_mr(
        &self,
        mem: &PhysMem,
        words: &RegMr,
        length: Option<u64>,
    ) -> Result<Translated, ShimError> {
        let (submodule, opcode) = (words.submodule(), words.opcode());
        if (submodule, opcode) != (SUBMODULE_RDMA, OPCODE_REG_MR) {
            return Err(ShimError::Operation { submodule, opcode });
        }
        // First of all: of the other kinds most fields were never written.
        if words.kind() != MrKind::Normal {
            return Err(ShimError::Kind(words.kind()));
        }
        if !words.valid() {
            return Err(ShimError::NotValid);
        }
        let (version, level) = (words.version(), words.level());
        if version != u8::from(level > 1) {
            return Err(ShimError::Version { version, level });
        }
        if words.key() != 0 {
            return Err(ShimError::KeyByte(words.key()));
        }
        check_rights(words.rights())?;
        if !LOG_PAGE.contains(&words.log_page()) {
            return Err(ShimError::PageSize(words.log_page()));
        }
        let mut repairs = Vec::new();
        let (length, pages) = self.extent(words, length, &mut repairs)?;
        let unused = unused_fields(words, pages);
        if unused > 0 {
            repairs.push(Repair::Unused { fields: unused });
        }

        let (level, log_tpage, frame) = match level {
            0 => (LEVEL_INLINE, 0, inline_pages(words, pages)?),
            // One array, whether it was built flat or is the only page of a tree, and whatever its
            // length. The size of a table page, which is not sent here, does not matter for it.
            1 => {
                aligned(words.phy_addr[0], ENTRY_BYTES.trailing_zeros() as u8)?;
                (LEVEL_FLAT, 0, [words.phy_addr[0], 0, 0, 0])
            }
            _ => {
                self.check_tree(mem, words, pages)?;
                (level, words.log_tpage(), [words.phy_addr[0], 0, 0, 0])
            }
        };
        if self.check_pages && level != LEVEL_INLINE {
            check_pages(mem, words, pages)?;
        }
        Ok(Translated {
            command: Command {
                id: words.cookie(),
                op: CmdOp::RegMr.code(),
                pd: words.pd(),
                access: words.rights().to_access().0,
                start: words.start_va,
                length,
                log_page: words.log_page(),
                level,
                log_tpage,
                encoding: Encoding::Raw.code(),
                frame,
                ..Command::default()
            },
            pages,
            repairs,
        })
    }

    /// Length in bytes and number of pages.
    fn extent(
        &self,
        words: &RegMr,
        known: Option<u64>,
        repairs: &mut Vec<Repair>,
    ) -> Result<(u64, u64), ShimError> {
        let (sent, start) = (words.length(), words.start_va);
        let length = match known {
            Some(length) => {
                let cut = match words.version() {
                    1 => length,
                    _ => length & ((1 << SIZE_BITS) - 1),
                };
                if cut != sent {
                    return Err(ShimError::LengthDiffers { sent, length });
                }
                length
            }
            None if words.version() == 1 => sent,
            None => self.work_out_length(words)?,
        };
        if length == 0 {
            return Err(ShimError::ZeroLength);
        }
        let max = self.max_mr_size;
        if length > max {
            return Err(ShimError::TooLong { length, max });
        }
        if u128::from(start) + u128::from(length) > 1 << 64 {
            return Err(ShimError::Wrap { start, length });
        }
        let pages = page_count(start, length, words.log_page());
        let sent = words.count();
        let cut = match words.version() {
            1 => pages,
            _ => pages & ((1 << COUNT_BITS) - 1),
        };
        if cut != sent {
            return Err(ShimError::CountDiffers { sent, pages });
        }
        if words.length() != length {
            let sent = words.size;
            repairs.push(Repair::Length { sent, length });
        }
        if sent != pages {
            repairs.push(Repair::Count { sent, pages });
        }
        Ok((length, pages))
    }

    /// The length of a region whose command says it modulo 2^32 and its number of entries modulo 2^20.
    ///
    /// `n` entries of P bytes hold between `(n - 1) * P + 1` and `n * P` bytes, less the offset of the
    /// start in its page; these are at most 2^30 lengths, so at most one of them ends in the 32 bits that
    /// were sent. With 2^20 entries more the region is P * 2^20 bytes longer, which is a multiple of
    /// 2^32: then that length fits just as well. So there is exactly one if the next is too long for the
    /// device.
    fn work_out_length(&self, words: &RegMr) -> Result<u64, ShimError> {
        let (size, count) = (words.size, words.count());
        let page = 1u128 << words.log_page();
        let offset = u128::from(words.start_va) % page;
        // Up to four entries are sent inline, never in a table: that few there are the rest of more.
        let entries = match words.level() {
            0 => u128::from(count),
            _ if count <= INLINE_ENTRIES => u128::from(count) + (1 << COUNT_BITS),
            _ => u128::from(count),
        };
        let high = (entries * page).saturating_sub(offset);
        let low = (entries.saturating_sub(1) * page).saturating_sub(offset) + 1;
        // The largest number up to `high` that ends in `size`.
        let wrap = 1u128 << SIZE_BITS;
        let fits = high
            .checked_sub(u128::from(size))
            .map(|room| room / wrap * wrap + u128::from(size))
            .filter(|&length| length >= low)
            .and_then(|length| u64::try_from(length).ok());
        let first = fits.ok_or(ShimError::NoLength { size, count })?;
        let second = u128::from(first) + (page << COUNT_BITS);
        let room = (1u128 << 64) - u128::from(words.start_va);
        match u64::try_from(second) {
            Ok(second)
                if words.level() != 0
                    && second <= self.max_mr_size
                    && u128::from(second) <= room =>
            {
                let sent = size;
                Err(ShimError::Ambiguous {
                    sent,
                    first,
                    second,
                })
            }
            _ => Ok(first),
        }
    }

    /// The upper levels of a tree: one entry for each table page below, in order.
    fn check_tree(&self, mem: &PhysMem, words: &RegMr, pages: u64) -> Result<(), ShimError> {
        let (level, log_tpage) = (words.level(), words.log_tpage());
        if !LOG_TPAGE.contains(&log_tpage) {
            return Err(ShimError::TablePage(log_tpage));
        }
        if level > self.max_levels {
            let max = self.max_levels;
            return Err(ShimError::Level { level, max });
        }
        let log_entries = u32::from(log_tpage) - ENTRY_BYTES.trailing_zeros();
        let capacity = 1u64 << (log_entries * u32::from(level));
        if pages > capacity {
            return Err(ShimError::Shallow {
                level,
                pages,
                capacity,
            });
        }
        aligned(words.phy_addr[0], log_tpage)?;
        let mut tables = vec![words.phy_addr[0]];
        for level in (2..=level).rev() {
            let expected = pages.div_ceil(1 << (log_entries * (u32::from(level) - 1)));
            // Grows with the entries that are there, not with what the command claims.
            let mut below = Vec::new();
            for number in 0..expected {
                let table = tables[(number >> log_entries) as usize];
                let slot = number & ((1 << log_entries) - 1);
                match mem.read_u64(table.wrapping_add(slot * ENTRY_BYTES)) {
                    0 => {
                        return Err(ShimError::Merged {
                            level,
                            expected,
                            found: number,
                        })
                    }
                    address => below.push(aligned(address, log_tpage)?),
                }
            }
            tables = below;
        }
        Ok(())
    }
}

fn aligned(address: u64, log: u8) -> Result<u64, ShimError> {
    match address.trailing_zeros() >= log.into() {
        true => Ok(address),
        false => Err(ShimError::Misaligned { address, log }),
    }
}

fn check_rights(rights: Rights) -> Result<(), ShimError> {
    let changes = rights.contains(Rights::REMOTE_WRITE) || rights.contains(Rights::REMOTE_ATOMIC);
    if !rights.contains(Rights::LOCAL_READ) {
        Err(ShimError::NoLocalRead)
    } else if changes && !rights.contains(Rights::LOCAL_WRITE) {
        Err(ShimError::NoLocalWrite)
    } else {
        Ok(())
    }
}

/// Address fields with something in them that the command does not use.
fn unused_fields(words: &RegMr, pages: u64) -> u8 {
    let used = match (words.level(), words.version()) {
        (0, _) => pages.min(INLINE_ENTRIES) as usize,
        (_, 1) => 2,
        _ => 1,
    };
    words.phy_addr[used..]
        .iter()
        .filter(|&&word| word != 0)
        .count() as u8
}

/// The pages inside the command, without what lies behind them.
fn inline_pages(words: &RegMr, pages: u64) -> Result<[u64; 4], ShimError> {
    if pages > INLINE_ENTRIES {
        return Err(ShimError::InlinePages { pages });
    }
    let mut frame = [0; 4];
    let used = frame.iter_mut().zip(words.phy_addr).take(pages as usize);
    for (number, (place, address)) in (0..).zip(used) {
        if address == 0 {
            return Err(ShimError::PageAtZero(number));
        }
        *place = aligned(address, words.log_page())?;
    }
    Ok(frame)
}

/// The entry of every page of a table whose upper levels are right.
fn check_pages(mem: &PhysMem, words: &RegMr, pages: u64) -> Result<(), ShimError> {
    let first = words.start_va & !((1 << words.log_page()) - 1);
    for number in 0..pages {
        let va = first.wrapping_add(number << words.log_page());
        match super::device_lookup(mem, words, va) {
            None => return Err(ShimError::PageAtZero(number)),
            Some(address) => aligned(address, words.log_page())?,
        };
    }
    Ok(())
}

/// The index that an erdma driver has chosen, and the region of this unit behind it.
///
/// An erdma STag is `index << 8`, chosen by the driver, and is L_Key and R_Key at once. This unit
/// chooses index and keys itself, and the two keys differ: what goes back to the program are its keys,
/// and the driver's index is only the name under which DEREG_MR finds them.
#[derive(Clone, Debug, Default)]
pub struct StagMap {
    regions: HashMap<u32, Registered>,
}

#[derive(Clone, Copy, Debug)]
struct Registered {
    lkey: Key,
    pd: u32,
}

impl StagMap {
    /// Remembers a region once the unit has registered it; gives L_Key and R_Key for the program
    /// (R_Key 0 if nothing is granted to the peer).
    pub fn insert(
        &mut self,
        words: &RegMr,
        completion: &Completion,
    ) -> Result<(Key, Key), ShimError> {
        if completion.status != Status::Ok {
            return Err(ShimError::Refused(completion.status));
        }
        let index = words.index();
        if self.regions.contains_key(&index) {
            return Err(ShimError::IndexInUse(index));
        }
        let (lkey, pd) = (completion.lkey, words.pd());
        self.regions.insert(index, Registered { lkey, pd });
        Ok((completion.lkey, completion.rkey))
    }

    /// The DEREG_MR command of this unit for one of erdma. The index stays taken until
    /// [`StagMap::remove`].
    pub fn dereg_mr(&self, words: &DeregMr) -> Result<Command, ShimError> {
        let (submodule, opcode) = words.operation();
        if (submodule, opcode) != (SUBMODULE_RDMA, OPCODE_DEREG_MR) {
            return Err(ShimError::Operation { submodule, opcode });
        }
        if words.key() != 0 {
            return Err(ShimError::KeyByte(words.key()));
        }
        let index = words.index();
        let Registered { lkey, pd } = *self
            .regions
            .get(&index)
            .ok_or(ShimError::UnknownIndex(index))?;
        Ok(Command {
            id: words.cookie(),
            op: CmdOp::DeregMr.code(),
            key: lkey,
            pd,
            ..Command::default()
        })
    }

    /// Forgets the region of a DEREG_MR command, by the **final** completion: until then (PENDING) the
    /// device may still use table and pages, and the index must not be used again. True if it is gone.
    pub fn remove(&mut self, words: &DeregMr, completion: &Completion) -> Result<bool, ShimError> {
        match completion.status {
            Status::Ok => match self.regions.remove(&words.index()) {
                Some(_) => Ok(true),
                None => Err(ShimError::UnknownIndex(words.index())),
            },
            Status::Pending => Ok(false),
            status => Err(ShimError::Refused(status)),
        }
    }
}

/// The status that an erdma completion entry has for a refused access: 3 to 7 at the receiving side
/// (STag, address, right, protection domain, wrap), 10 to 14 at the sending side in the same order;
/// 2 and 8 for an access that is malformed. `None` if erdma has none for it: errors of the unit's own
/// memory, which are no fault of the request, and accepted ones.
pub fn cqe_status(syndrome: Syndrome, role: Role) -> Option<u8> {
    let (receiving, sending) = match syndrome {
        Syndrome::Length | Syndrome::Align => (2, 8),
        Syndrome::KeyIndex | Syndrome::KeyState | Syndrome::KeyTag => (3, 10),
        Syndrome::Bounds | Syndrome::MttAbsent | Syndrome::MttBad | Syndrome::HostWin => (4, 11),
        Syndrome::Rights => (5, 12),
        Syndrome::Pd => (6, 13),
        Syndrome::Wrap => (7, 14),
        // Windows are not registered through erdma commands.
        Syndrome::Qp | Syndrome::Parent => return None,
        Syndrome::Ok | Syndrome::Bus | Syndrome::MptBad => return None,
        Syndrome::Disabled | Syndrome::TagBusy => return None,
        // Neither are on-demand regions.
        Syndrome::Retry => return None,
        // Nor is a stream blocked by it.
        Syndrome::Blocked => return None,
    };
    Some(match role {
        Role::Remote => receiving,
        Role::Local => sending,
    })
}
