// SPDX-License-Identifier: Apache-2.0
//! The words of the erdma commands REG_MR and DEREG_MR, and what the device computes from them.

use super::{COUNT_BITS, ENTRY_BYTES, INLINE_ENTRIES, SIZE_BITS};
use crate::mem::PhysMem;
use crate::types::Access;

/// Submodule of the RDMA commands.
pub(super) const SUBMODULE_RDMA: u8 = 0;
/// Opcode of REG_MR.
pub(super) const OPCODE_REG_MR: u8 = 8;
/// Opcode of DEREG_MR.
pub(super) const OPCODE_DEREG_MR: u8 = 9;

/// Bits `high` to `low` of a word.
const fn bits(word: u64, high: u32, low: u32) -> u64 {
    word >> low & (u64::MAX >> (63 - (high - low)))
}

/// `value`, cut to the width of the field, at bits `high` to `low`: what a bit field macro does with
/// a value that is too large.
pub(super) const fn put(value: u64, high: u32, low: u32) -> u64 {
    bits(value, high - low, 0) << low
}

/// The command header: cookie 47:32, submodule 25:24, opcode 23:16. The rest belongs to the queue.
pub(super) const fn header(cookie: u16, opcode: u8) -> u64 {
    put(cookie as u64, 47, 32) | put(SUBMODULE_RDMA as u64, 25, 24) | put(opcode as u64, 23, 16)
}

/// What a REG_MR command registers: cfg1 7:6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MrKind {
    /// Memory of a process: code 0.
    Normal,
    /// For fast registration, filled in later by a work request: code 1.
    Frmr,
    /// All of memory, without a table: code 2.
    Dma,
    /// Code 3.
    Unknown,
}

impl MrKind {
    /// The kind of a 2-bit code.
    pub const fn from_code(code: u8) -> MrKind {
        match code & 3 {
            0 => MrKind::Normal,
            1 => MrKind::Frmr,
            2 => MrKind::Dma,
            _ => MrKind::Unknown,
        }
    }

    /// The 2-bit code.
    pub const fn code(self) -> u8 {
        match self {
            MrKind::Normal => 0,
            MrKind::Frmr => 1,
            MrKind::Dma => 2,
            MrKind::Unknown => 3,
        }
    }
}

/// The five access bits of cfg1 5:1. There is none for windows, zero-based regions or relaxed order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rights(pub u8);

impl Rights {
    /// The peer may do atomics.
    pub const REMOTE_ATOMIC: Rights = Rights(1 << 0);
    /// The owner may read; the driver always sets it.
    pub const LOCAL_READ: Rights = Rights(1 << 1);
    /// The owner may write.
    pub const LOCAL_WRITE: Rights = Rights(1 << 2);
    /// The peer may read.
    pub const REMOTE_READ: Rights = Rights(1 << 3);
    /// The peer may write.
    pub const REMOTE_WRITE: Rights = Rights(1 << 4);

    /// Each bit that verbs know, beside its flag there.
    pub(super) const VERBS: [(Rights, Access); 4] = [
        (Self::REMOTE_ATOMIC, Access::REMOTE_ATOMIC),
        (Self::LOCAL_WRITE, Access::LOCAL_WRITE),
        (Self::REMOTE_READ, Access::REMOTE_READ),
        (Self::REMOTE_WRITE, Access::REMOTE_WRITE),
    ];

    /// The bits of a verbs access word: local read always; flags without a bit are dropped.
    pub fn from_access(access: Access) -> Rights {
        Self::VERBS
            .iter()
            .filter(|(_, flag)| access.contains(*flag))
            .fold(Self::LOCAL_READ, |all, (bit, _)| Rights(all.0 | bit.0))
    }

    /// The verbs access word. Local read has no flag there.
    pub fn to_access(self) -> Access {
        Self::VERBS
            .iter()
            .filter(|(bit, _)| self.contains(*bit))
            .fold(Access::NONE, |all, (_, flag)| all | *flag)
    }

    /// True if every bit of `other` is set.
    pub const fn contains(self, other: Rights) -> bool {
        self.0 & other.0 == other.0
    }
}

/// The REG_MR command, 64 bytes from the header on, little-endian.
///
/// | bytes | word | bits |
/// |---|---|---|
/// | 0x00 | `hdr` | cookie 47:32, submodule 25:24, opcode 23:16 |
/// | 0x08 | `cfg0` | valid 31, version 30:28, key 27:20, index 19:0 |
/// | 0x0c | `cfg1` | protection domain 31:12, kind 7:6, rights 5:1 |
/// | 0x10 | `start_va` | first address |
/// | 0x18 | `size` | bytes, low 32 bits |
/// | 0x1c | `cfg2` | log2 of the page size 31:27, log2(table page) - 12 26:24, level 21:20, entries 19:0 |
/// | 0x20 | `phy_addr` | up to four page addresses, or the table in `[0]` |
/// | 0x28 | | version 1: length 63:32 and entries above bit 20, instead of `phy_addr[1]` |
///
/// Fields that a command does not use hold whatever was on the stack of the driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RegMr {
    /// Header.
    pub hdr: u64,
    /// Index, key, version.
    pub cfg0: u32,
    /// Protection domain, kind, rights.
    pub cfg1: u32,
    /// First address (iova).
    pub start_va: u64,
    /// Length in bytes, modulo 2^32.
    pub size: u32,
    /// Page size, table page size, level, number of entries.
    pub cfg2: u32,
    /// Page addresses, or the table.
    pub phy_addr: [u64; 4],
}

impl RegMr {
    /// Bytes of the command.
    pub const BYTES: usize = 64;

    /// As it lies in the command queue.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let low_high = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
        let words = [
            self.hdr,
            low_high(self.cfg0, self.cfg1),
            self.start_va,
            low_high(self.size, self.cfg2),
        ];
        for (place, word) in bytes
            .chunks_exact_mut(8)
            .zip(words.iter().chain(&self.phy_addr))
        {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// From the command queue.
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> RegMr {
        let mut words = [0u64; Self::BYTES / 8];
        for (word, place) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            let mut eight = [0; 8];
            eight.copy_from_slice(place);
            *word = u64::from_le_bytes(eight);
        }
        let (low, high) = (|word: u64| word as u32, |word: u64| (word >> 32) as u32);
        RegMr {
            hdr: words[0],
            cfg0: low(words[1]),
            cfg1: high(words[1]),
            start_va: words[2],
            size: low(words[3]),
            cfg2: high(words[3]),
            phy_addr: [words[4], words[5], words[6], words[7]],
        }
    }

    /// Cookie of the queue, returned with the completion: hdr 47:32.
    pub const fn cookie(&self) -> u16 {
        bits(self.hdr, 47, 32) as u16
    }

    /// Submodule of the command: hdr 25:24.
    pub const fn submodule(&self) -> u8 {
        bits(self.hdr, 25, 24) as u8
    }

    /// Opcode of the command: hdr 23:16.
    pub const fn opcode(&self) -> u8 {
        bits(self.hdr, 23, 16) as u8
    }

    /// The region may be used at once: cfg0 31.
    pub const fn valid(&self) -> bool {
        bits(self.cfg0 as u64, 31, 31) == 1
    }

    /// Version of the layout: cfg0 30:28.
    pub const fn version(&self) -> u8 {
        bits(self.cfg0 as u64, 30, 28) as u8
    }

    /// Low byte of the STag: cfg0 27:20.
    pub const fn key(&self) -> u8 {
        bits(self.cfg0 as u64, 27, 20) as u8
    }

    /// Index of the region, chosen by the driver: cfg0 19:0.
    pub const fn index(&self) -> u32 {
        bits(self.cfg0 as u64, 19, 0) as u32
    }

    /// The STag, which is L_Key and R_Key.
    pub const fn stag(&self) -> u32 {
        self.index() << 8 | self.key() as u32
    }

    /// Protection domain: cfg1 31:12.
    pub const fn pd(&self) -> u32 {
        bits(self.cfg1 as u64, 31, 12) as u32
    }

    /// Kind of the region: cfg1 7:6.
    pub const fn kind(&self) -> MrKind {
        MrKind::from_code(bits(self.cfg1 as u64, 7, 6) as u8)
    }

    /// Rights: cfg1 5:1.
    pub const fn rights(&self) -> Rights {
        Rights(bits(self.cfg1 as u64, 5, 1) as u8)
    }

    /// log2 of the page size in bytes: cfg2 31:27.
    pub const fn log_page(&self) -> u8 {
        bits(self.cfg2 as u64, 31, 27) as u8
    }

    /// log2 of the table page size in bytes: cfg2 26:24 plus 12. Written in version 1 only; 12
    /// otherwise, whatever the host has.
    pub const fn log_tpage(&self) -> u8 {
        12 + bits(self.cfg2 as u64, 26, 24) as u8
    }

    /// Level: cfg2 21:20. 0 inline, 1 one array, 2 and 3 trees.
    pub const fn level(&self) -> u8 {
        bits(self.cfg2 as u64, 21, 20) as u8
    }

    /// Number of entries as far as the command says it: 20 bits, in version 1 with those above.
    pub const fn count(&self) -> u64 {
        let low = bits(self.cfg2 as u64, 19, 0);
        match self.version() {
            1 => low | bits(self.phy_addr[1], 63, 32) << COUNT_BITS,
            _ => low,
        }
    }

    /// Length as far as the command says it, in bytes: 32 bits, in version 1 with those above.
    pub const fn length(&self) -> u64 {
        match self.version() {
            1 => self.size as u64 | bits(self.phy_addr[1], 31, 0) << SIZE_BITS,
            _ => self.size as u64,
        }
    }
}

/// The DEREG_MR command: the index and, so that the device can compare it, the key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DeregMr {
    /// Header.
    pub hdr: u64,
    /// Key 27:20, index 19:0.
    pub cfg: u32,
}

impl DeregMr {
    /// The command that ends the region of this STag.
    pub const fn new(stag: u32, cookie: u16) -> DeregMr {
        DeregMr {
            hdr: header(cookie, OPCODE_DEREG_MR),
            cfg: (put(stag as u64, 27, 20) | put(stag as u64 >> 8, 19, 0)) as u32,
        }
    }

    /// Index of the region.
    pub const fn index(&self) -> u32 {
        bits(self.cfg as u64, 19, 0) as u32
    }

    /// Low byte of the STag.
    pub const fn key(&self) -> u8 {
        bits(self.cfg as u64, 27, 20) as u8
    }

    /// Cookie of the queue: hdr 47:32.
    pub const fn cookie(&self) -> u16 {
        bits(self.hdr, 47, 32) as u16
    }

    /// Submodule and opcode: hdr 25:24 and 23:16.
    pub(super) const fn operation(&self) -> (u8, u8) {
        (bits(self.hdr, 25, 24) as u8, bits(self.hdr, 23, 16) as u8)
    }
}

/// Where an erdma device finds the byte at `va` of the region that the command describes.
///
/// With page size P the number of the entry is `va / P - start_va / P`, and the byte is at the entry
/// plus `va mod P`. A tree is entered at `phy_addr[0]`; with E entries in a table page the steps are
/// entry number divided by E^2, by E, by 1, each modulo E. There is no present bit: 0 is what
/// follows the last entry, and `None` here.
pub fn device_lookup(mem: &PhysMem, words: &RegMr, va: u64) -> Option<u64> {
    let log_page = words.log_page();
    let number = (va >> log_page).checked_sub(words.start_va >> log_page)?;
    let entry = match words.level() {
        0 if number < INLINE_ENTRIES => words.phy_addr[number as usize],
        0 => 0,
        1 => mem.read_u64(words.phy_addr[0].wrapping_add(number.wrapping_mul(ENTRY_BYTES))),
        levels => {
            let bits_per_level = u32::from(words.log_tpage()) - ENTRY_BYTES.trailing_zeros();
            let mut table = words.phy_addr[0];
            for level in (0..u32::from(levels)).rev() {
                let slot = bits(number >> (level * bits_per_level), bits_per_level - 1, 0);
                table = mem.read_u64(table.wrapping_add(slot * ENTRY_BYTES));
                if table == 0 {
                    break;
                }
            }
            table
        }
    };
    (entry != 0).then(|| entry.wrapping_add(va & ((1 << log_page) - 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every field at the place that the table of [`RegMr`] names, one at a time.
    #[test]
    fn fields_are_where_they_belong() {
        let all = RegMr {
            hdr: u64::MAX,
            cfg0: u32::MAX,
            cfg1: u32::MAX,
            start_va: u64::MAX,
            size: u32::MAX,
            cfg2: u32::MAX,
            phy_addr: [u64::MAX; 4],
        };
        assert_eq!(
            (all.cookie(), all.submodule(), all.opcode()),
            (0xffff, 3, 0xff)
        );
        assert_eq!((all.version(), all.key(), all.index()), (7, 0xff, 0xf_ffff));
        assert_eq!(
            (all.pd(), all.kind(), all.rights()),
            (0xf_ffff, MrKind::Unknown, Rights(31))
        );
        assert_eq!((all.log_page(), all.log_tpage(), all.level()), (31, 19, 3));
        let words = RegMr {
            hdr: 0xabcd_0108_0000,
            cfg0: 0x9235_4321,
            cfg1: 0x7654_3094,
            cfg2: 0x6431_2345,
            phy_addr: [0, 0x0000_0007_0000_0003, 0, 0],
            size: 0x1000,
            ..RegMr::default()
        };
        assert_eq!(
            (words.cookie(), words.submodule(), words.opcode()),
            (0xabcd, 1, 8)
        );
        assert_eq!(
            (words.valid(), words.version(), words.key()),
            (true, 1, 0x23)
        );
        assert_eq!((words.index(), words.stag()), (0x5_4321, 0x0543_2123));
        assert_eq!(
            (words.pd(), words.kind(), words.rights()),
            (0x7_6543, MrKind::Dma, Rights(10))
        );
        assert_eq!(
            (words.log_page(), words.log_tpage(), words.level()),
            (12, 16, 3)
        );
        assert_eq!((words.count(), words.length()), (0x71_2345, 0x3_0000_1000));
        let old = RegMr {
            cfg0: words.cfg0 & !(7 << 28),
            ..words
        };
        assert_eq!(
            (old.version(), old.count(), old.length()),
            (0, 0x1_2345, 0x1000)
        );
        let bytes = words.to_bytes();
        assert_eq!(bytes[0x0b..0x0d], [0x92, 0x94]);
        assert_eq!(bytes[0x1c..0x20], [0x45, 0x23, 0x31, 0x64]);
        assert_eq!((bytes[0x28], bytes[0x2c]), (3, 7));
        assert_eq!(RegMr::from_bytes(&bytes), words);
    }

    #[test]
    fn dereg_carries_index_and_key() {
        let words = DeregMr::new(0x0543_2123, 5);
        assert_eq!(words.cfg, 0x0235_4321);
        assert_eq!(
            (words.index(), words.key(), words.cookie()),
            (0x5_4321, 0x23, 5)
        );
        assert_eq!(words.operation(), (0, 9));
    }

    #[test]
    fn rights_keep_their_places() {
        let all = Access(0x1f | Access::RELAXED_ORDERING.0 | Access::ZERO_BASED.0);
        assert_eq!(Rights::from_access(all), Rights(0x1f));
        assert_eq!(Rights::from_access(Access::NONE), Rights::LOCAL_READ);
        assert_eq!(Rights(0x1f).to_access(), Access(0xf));
        assert_eq!(
            Rights::from_access(Access::REMOTE_READ | Access::LOCAL_WRITE),
            Rights(0b01110)
        );
    }
}
