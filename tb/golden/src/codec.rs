// SPDX-License-Identifier: Apache-2.0
//! How the words of [`crate::types`] look as bits.
//!
//! * Channel payloads: little-endian arrays of 32-bit words; bit 0 of the payload is bit 0 of
//!   word 0. A value that is wider than its field is cut to the field.
//! * The MPT entry: 64 bytes with a checksum, [`MptEntry`].
//! * The MTT entry: 8 bytes in one of three encodings, [`Mtt`].
//!
//! Each layout is a table of [`Field`]s. The codecs work from these tables and nothing else.

use crate::types::*;

/// A field of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name.
    pub name: &'static str,
    /// Number of the lowest bit.
    pub lsb: usize,
    /// Bits, 1 to 64. An array of fields has its element's width.
    pub width: usize,
    /// Elements; 1 if the field is no array.
    pub count: usize,
}

impl Field {
    /// Reads element `k`.
    fn get_at(&self, words: &[u32], k: usize) -> u64 {
        let lsb = self.lsb + k * self.width;
        let first = lsb / 32;
        let mut value = 0u128;
        for (n, word) in words[first..].iter().take(3).enumerate() {
            value |= u128::from(*word) << (32 * n);
        }
        (value >> (lsb % 32)) as u64 & self.mask()
    }

    /// Writes element `k`, cut to the width of the field.
    fn put_at(&self, words: &mut [u32], k: usize, value: u64) {
        let lsb = self.lsb + k * self.width;
        let shift = lsb % 32;
        let mask = u128::from(self.mask()) << shift;
        let value = u128::from(value & self.mask()) << shift;
        for (n, word) in words[lsb / 32..].iter_mut().take(3).enumerate() {
            *word = *word & !(mask >> (32 * n)) as u32 | (value >> (32 * n)) as u32;
        }
    }

    fn get(&self, words: &[u32]) -> u64 {
        self.get_at(words, 0)
    }

    fn put(&self, words: &mut [u32], value: u64) {
        self.put_at(words, 0, value);
    }

    const fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.width)
    }
}

/// Declares a layout: a module with a constant per field, and the list of all in `FIELDS`.
macro_rules! layout {
    ($(#[$meta:meta])* $module:ident, $bits:literal,
     { $($constant:ident $name:literal $lsb:literal $width:literal $(x $count:literal)?;)+ }) => {
        $(#[$meta])*
        pub mod $module {
            use super::Field;
            /// Bits of the whole.
            pub const BITS: usize = $bits;
            /// 32-bit words of the whole.
            pub const WORDS: usize = usize::div_ceil($bits, 32);
            $(
                #[doc = concat!("Field `", $name, "`.")]
                pub const $constant: Field = Field {
                    name: $name,
                    lsb: $lsb,
                    width: $width,
                    count: 1 $(* $count)?,
                };
            )+
            /// Every field, highest bits first.
            pub const FIELDS: &[Field] = &[$($constant,)+];
        }
    };
}

layout! {
    /// Request payload.
    req, 195, {
        TAG "tag" 185 10;
        STREAM "stream" 179 6;
        OP "op" 176 3;
        KEY "key" 144 32;
        VA "va" 80 64;
        LEN "len" 48 32;
        PD "pd" 24 24;
        QPN "qpn" 0 24;
    }
}

layout! {
    /// Response beat payload.
    rsp, 120, {
        TAG "tag" 110 10;
        STREAM "stream" 104 6;
        SYNDROME "syndrome" 99 5;
        PA "pa" 35 64;
        LEN "len" 3 32;
        RELAXED "relaxed" 2 1;
        FIRST "first" 1 1;
        LAST "last" 0 1;
    }
}

layout! {
    /// Done payload.
    done, 10, {
        TAG "tag" 0 10;
    }
}

layout! {
    /// Command payload.
    cmd, 603, {
        ID "id" 587 16;
        OP "op" 583 4;
        FLAGS "flags" 579 4;
        TAG "tag" 571 8;
        QPN "qpn" 547 24;
        MKEY "mkey" 515 32;
        KEY "key" 483 32;
        PD "pd" 459 24;
        ACCESS "access" 427 32;
        START "start" 363 64;
        LENGTH "length" 299 64;
        LOG_PAGE "log_page" 293 6;
        LEVEL "level" 290 3;
        LOG_TPAGE "log_tpage" 285 5;
        ENCODING "encoding" 283 2;
        REREG "rereg" 280 3;
        NEW_PD "new_pd" 256 24;
        FRAME "frame" 0 64 x 4;
    }
}

layout! {
    /// Completion payload.
    cpl, 624, {
        ID "id" 608 16;
        OP "op" 604 4;
        STATUS "status" 599 5;
        LKEY "lkey" 567 32;
        RKEY "rkey" 535 32;
        INDEX "index" 512 23;
        ENTRY "entry" 0 64 x 8;
    }
}

layout! {
    /// MPT entry.
    mpt, 512, {
        RSVD2 "rsvd2" 507 5;
        CAP "cap" 487 20;
        BOUND "bound" 464 23;
        FRAME "frame" 256 52 x 4;
        LENGTH "length" 192 64;
        START "start" 128 64;
        CRC "crc" 112 16;
        QPN "qpn" 88 24;
        PD "pd" 64 24;
        RSVD1 "rsvd1" 63 1;
        INDEX_HI "index_hi" 56 7;
        GEN "gen" 48 8;
        RKEY_TAG "rkey_tag" 40 8;
        LKEY_TAG "lkey_tag" 32 8;
        RSVD0 "rsvd0" 31 1;
        RINV_EN "rinv_en" 30 1;
        ENCODING "encoding" 28 2;
        LOG_TPAGE "log_tpage" 25 3;
        LEVEL "level" 22 3;
        LOG_PAGE "log_page" 16 6;
        ACCESS "access" 5 11;
        KIND "kind" 2 3;
        STATE "state" 0 2;
    }
}

/// Words of a request payload.
pub const REQ_WORDS: usize = req::WORDS;
/// Words of a response payload.
pub const RSP_WORDS: usize = rsp::WORDS;
/// Words of a done payload.
pub const DONE_WORDS: usize = done::WORDS;
/// Words of a command payload.
pub const CMD_WORDS: usize = cmd::WORDS;
/// Words of a completion payload.
pub const CPL_WORDS: usize = cpl::WORDS;

impl Request {
    /// To the payload of the request channel.
    pub fn pack(&self) -> [u32; REQ_WORDS] {
        let mut w = [0; REQ_WORDS];
        req::TAG.put(&mut w, self.tag.into());
        req::STREAM.put(&mut w, self.stream.into());
        req::OP.put(&mut w, self.op.into());
        req::KEY.put(&mut w, self.key.0.into());
        req::VA.put(&mut w, self.va);
        req::LEN.put(&mut w, self.len.into());
        req::PD.put(&mut w, self.pd.into());
        req::QPN.put(&mut w, self.qpn.into());
        w
    }

    /// From the payload of the request channel.
    pub fn unpack(w: &[u32; REQ_WORDS]) -> Request {
        Request {
            tag: req::TAG.get(w) as u16,
            stream: req::STREAM.get(w) as u8,
            op: req::OP.get(w) as u8,
            key: Key(req::KEY.get(w) as u32),
            va: req::VA.get(w),
            len: req::LEN.get(w) as u32,
            pd: req::PD.get(w) as u32,
            qpn: req::QPN.get(w) as u32,
        }
    }
}

impl Beat {
    /// To the payload of the response channel.
    pub fn pack(&self) -> [u32; RSP_WORDS] {
        let mut w = [0; RSP_WORDS];
        rsp::TAG.put(&mut w, self.tag.into());
        rsp::STREAM.put(&mut w, self.stream.into());
        rsp::SYNDROME.put(&mut w, self.syndrome.code().into());
        rsp::PA.put(&mut w, self.pa);
        rsp::LEN.put(&mut w, self.len.into());
        rsp::RELAXED.put(&mut w, self.relaxed.into());
        rsp::FIRST.put(&mut w, self.first.into());
        rsp::LAST.put(&mut w, self.last.into());
        w
    }

    /// From the payload of the response channel. Fails on a syndrome that does not exist.
    pub fn unpack(w: &[u32; RSP_WORDS]) -> Result<Beat, UnknownCode> {
        Ok(Beat {
            tag: rsp::TAG.get(w) as u16,
            stream: rsp::STREAM.get(w) as u8,
            syndrome: Syndrome::try_from(rsp::SYNDROME.get(w) as u8)?,
            pa: rsp::PA.get(w),
            len: rsp::LEN.get(w) as u32,
            relaxed: rsp::RELAXED.get(w) == 1,
            first: rsp::FIRST.get(w) == 1,
            last: rsp::LAST.get(w) == 1,
        })
    }
}

impl Done {
    /// To the payload of the done channel.
    pub fn pack(&self) -> [u32; DONE_WORDS] {
        let mut w = [0; DONE_WORDS];
        done::TAG.put(&mut w, self.tag.into());
        w
    }

    /// From the payload of the done channel.
    pub fn unpack(w: &[u32; DONE_WORDS]) -> Done {
        Done {
            tag: done::TAG.get(w) as u16,
        }
    }
}

impl Command {
    /// To the payload of the command channel.
    pub fn pack(&self) -> [u32; CMD_WORDS] {
        let mut w = [0; CMD_WORDS];
        cmd::ID.put(&mut w, self.id.into());
        cmd::OP.put(&mut w, self.op.into());
        cmd::FLAGS.put(&mut w, self.flags.into());
        cmd::TAG.put(&mut w, self.tag.into());
        cmd::QPN.put(&mut w, self.qpn.into());
        cmd::MKEY.put(&mut w, self.mkey.0.into());
        cmd::KEY.put(&mut w, self.key.0.into());
        cmd::PD.put(&mut w, self.pd.into());
        cmd::ACCESS.put(&mut w, self.access.into());
        cmd::START.put(&mut w, self.start);
        cmd::LENGTH.put(&mut w, self.length);
        cmd::LOG_PAGE.put(&mut w, self.log_page.into());
        cmd::LEVEL.put(&mut w, self.level.into());
        cmd::LOG_TPAGE.put(&mut w, self.log_tpage.into());
        cmd::ENCODING.put(&mut w, self.encoding.into());
        cmd::REREG.put(&mut w, self.rereg.into());
        cmd::NEW_PD.put(&mut w, self.new_pd.into());
        for (k, frame) in self.frame.iter().enumerate() {
            cmd::FRAME.put_at(&mut w, k, *frame);
        }
        w
    }

    /// From the payload of the command channel.
    pub fn unpack(w: &[u32; CMD_WORDS]) -> Command {
        Command {
            id: cmd::ID.get(w) as u16,
            op: cmd::OP.get(w) as u8,
            flags: cmd::FLAGS.get(w) as u8,
            tag: cmd::TAG.get(w) as u8,
            qpn: cmd::QPN.get(w) as u32,
            mkey: Key(cmd::MKEY.get(w) as u32),
            key: Key(cmd::KEY.get(w) as u32),
            pd: cmd::PD.get(w) as u32,
            access: cmd::ACCESS.get(w) as u32,
            start: cmd::START.get(w),
            length: cmd::LENGTH.get(w),
            log_page: cmd::LOG_PAGE.get(w) as u8,
            level: cmd::LEVEL.get(w) as u8,
            log_tpage: cmd::LOG_TPAGE.get(w) as u8,
            encoding: cmd::ENCODING.get(w) as u8,
            rereg: cmd::REREG.get(w) as u8,
            new_pd: cmd::NEW_PD.get(w) as u32,
            frame: std::array::from_fn(|k| cmd::FRAME.get_at(w, k)),
        }
    }
}

impl Completion {
    /// To the payload of the completion channel.
    pub fn pack(&self) -> [u32; CPL_WORDS] {
        let mut w = [0; CPL_WORDS];
        cpl::ID.put(&mut w, self.id.into());
        cpl::OP.put(&mut w, self.op.into());
        cpl::STATUS.put(&mut w, self.status.code().into());
        cpl::LKEY.put(&mut w, self.lkey.0.into());
        cpl::RKEY.put(&mut w, self.rkey.0.into());
        cpl::INDEX.put(&mut w, self.index.into());
        w[..16].copy_from_slice(&bytes_to_words(&self.entry));
        w
    }

    /// From the payload of the completion channel. Fails on a status that does not exist.
    pub fn unpack(w: &[u32; CPL_WORDS]) -> Result<Completion, UnknownCode> {
        let mut entry = [0; MPT_BYTES];
        for (bytes, word) in entry.chunks_exact_mut(4).zip(w) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        Ok(Completion {
            id: cpl::ID.get(w) as u16,
            op: cpl::OP.get(w) as u8,
            status: Status::try_from(cpl::STATUS.get(w) as u8)?,
            lkey: Key(cpl::LKEY.get(w) as u32),
            rkey: Key(cpl::RKEY.get(w) as u32),
            index: cpl::INDEX.get(w) as u32,
            entry,
        })
    }
}

fn bytes_to_words(bytes: &[u8; MPT_BYTES]) -> [u32; MPT_BYTES / 4] {
    std::array::from_fn(|n| u32::from_le_bytes(std::array::from_fn(|k| bytes[4 * n + k])))
}

// -------------------------------------------------------------------------------------------------
// MPT entry
// -------------------------------------------------------------------------------------------------

/// Bytes of an MPT entry.
pub const MPT_BYTES: usize = 64;

/// An MPT entry field by field. The numbers are as stored, so that illegal ones can be held too;
/// [`MptEntry::legal`] tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MptEntry {
    /// Where the entry lies. The checksum covers the lower 16 bits of it, a field holds the others;
    /// but a free entry does not know its place.
    pub index: u32,
    /// [`State`] code.
    pub state: u8,
    /// [`Kind`] code.
    pub kind: u8,
    /// Access rights, 11 bits: see [`Access::to_stored`].
    pub access: u16,
    /// log2 of the page size.
    pub log_page: u8,
    /// Table level.
    pub level: u8,
    /// log2 of the table page size, less 12.
    pub log_tpage: u8,
    /// [`Encoding`] code.
    pub encoding: u8,
    /// Remote invalidate is allowed.
    pub rinv_en: bool,
    /// Tag of the L_Key.
    pub lkey_tag: u8,
    /// Tag of the R_Key.
    pub rkey_tag: u8,
    /// Generation.
    pub gen: u8,
    /// Protection domain.
    pub pd: u32,
    /// Queue pair of a type-2 window. Of any other entry bits 7:0 count the invalidations of ranges.
    pub qpn: u32,
    /// Start address.
    pub start: u64,
    /// Bytes.
    pub length: u64,
    /// Bits 63:12 of the page addresses (level 0) or of the table root. In a bound window,
    /// `frame[0]` is the 24-bit index field of the parent's L_Key and, above it, the parent's
    /// generation.
    pub frame: [u64; 4],
    /// Bound windows (region), parent (window) or next entry of the list of free ones.
    pub bound: u32,
    /// Pages that a registration may have, 20 bits (fast-registration region). Of a window bits 7:0
    /// count the invalidations of ranges.
    pub cap: u32,
}

/// Why an MPT entry is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MptError {
    /// The checksum does not fit the rest.
    #[error("checksum is {stored:#06x}, the entry gives {computed:#06x}")]
    Crc {
        /// As stored in the entry.
        stored: u16,
        /// Of the other bytes and the index.
        computed: u16,
    },
    /// It is the entry of another index.
    #[error("bits 22:16 of the index are {stored:#04x}, of index {index} they are others")]
    Place {
        /// As stored in the entry.
        stored: u8,
        /// Where it was found.
        index: u32,
    },
    /// A field holds a value that means nothing.
    #[error("field {field} is {value}")]
    Field {
        /// Name of the field.
        field: &'static str,
        /// Its value.
        value: u8,
    },
}

impl MptEntry {
    /// To memory, with the checksum.
    pub fn encode(&self) -> [u8; MPT_BYTES] {
        let mut w = [0; mpt::WORDS];
        mpt::STATE.put(&mut w, self.state.into());
        mpt::KIND.put(&mut w, self.kind.into());
        mpt::ACCESS.put(&mut w, self.access.into());
        mpt::LOG_PAGE.put(&mut w, self.log_page.into());
        mpt::LEVEL.put(&mut w, self.level.into());
        mpt::LOG_TPAGE.put(&mut w, self.log_tpage.into());
        mpt::ENCODING.put(&mut w, self.encoding.into());
        mpt::RINV_EN.put(&mut w, self.rinv_en.into());
        mpt::LKEY_TAG.put(&mut w, self.lkey_tag.into());
        mpt::RKEY_TAG.put(&mut w, self.rkey_tag.into());
        mpt::GEN.put(&mut w, self.gen.into());
        mpt::PD.put(&mut w, self.pd.into());
        mpt::QPN.put(&mut w, self.qpn.into());
        mpt::START.put(&mut w, self.start);
        mpt::LENGTH.put(&mut w, self.length);
        for (k, frame) in self.frame.iter().enumerate() {
            mpt::FRAME.put_at(&mut w, k, *frame);
        }
        mpt::BOUND.put(&mut w, self.bound.into());
        mpt::CAP.put(&mut w, self.cap.into());
        if self.state != State::Free.code() {
            mpt::INDEX_HI.put(&mut w, u64::from(self.index) / 0x1_0000);
        }
        let mut bytes = [0; MPT_BYTES];
        for (bytes, word) in bytes.chunks_exact_mut(4).zip(w) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        seal(&mut bytes, self.index);
        bytes
    }

    /// From memory at `index`: the checksum must fit, it must be the entry of this index, and every
    /// field must be legal.
    pub fn decode(bytes: &[u8; MPT_BYTES], index: u32) -> Result<MptEntry, MptError> {
        let (stored, computed) = (stored_crc(bytes), mpt_crc(bytes, index));
        if stored != computed {
            return Err(MptError::Crc { stored, computed });
        }
        let entry = MptEntry::parse(bytes, index);
        let stored = mpt::INDEX_HI.get(&bytes_to_words(bytes));
        if entry.state != State::Free.code() && stored != u64::from(index >> 16) {
            let stored = stored as u8;
            return Err(MptError::Place { stored, index });
        }
        entry.legal()?;
        Ok(entry)
    }

    /// From memory at `index`, whatever it holds. Reserved bits and the checksum are dropped.
    pub fn parse(bytes: &[u8; MPT_BYTES], index: u32) -> MptEntry {
        let w = &bytes_to_words(bytes);
        MptEntry {
            index,
            state: mpt::STATE.get(w) as u8,
            kind: mpt::KIND.get(w) as u8,
            access: mpt::ACCESS.get(w) as u16,
            log_page: mpt::LOG_PAGE.get(w) as u8,
            level: mpt::LEVEL.get(w) as u8,
            log_tpage: mpt::LOG_TPAGE.get(w) as u8,
            encoding: mpt::ENCODING.get(w) as u8,
            rinv_en: mpt::RINV_EN.get(w) == 1,
            lkey_tag: mpt::LKEY_TAG.get(w) as u8,
            rkey_tag: mpt::RKEY_TAG.get(w) as u8,
            gen: mpt::GEN.get(w) as u8,
            pd: mpt::PD.get(w) as u32,
            qpn: mpt::QPN.get(w) as u32,
            start: mpt::START.get(w),
            length: mpt::LENGTH.get(w),
            frame: std::array::from_fn(|k| mpt::FRAME.get_at(w, k)),
            bound: mpt::BOUND.get(w) as u32,
            cap: mpt::CAP.get(w) as u32,
        }
    }

    /// Are the fields legal, in a unit that knows encoding CHECKED? All but the state matter only in a
    /// valid entry.
    pub fn legal(&self) -> Result<(), MptError> {
        let check = |field: &'static str, value, good| match good {
            true => Ok(()),
            false => Err(MptError::Field { field, value }),
        };
        let state = State::from_code(self.state);
        check("state", self.state, state.is_some())?;
        if state == Some(State::Valid) {
            check("kind", self.kind, Kind::from_code(self.kind).is_some())?;
            check(
                "log_page",
                self.log_page,
                LOG_PAGE_RANGE.contains(&self.log_page),
            )?;
            check("level", self.level, self.level <= LEVEL_FLAT)?;
            check("log_tpage", self.log_tpage, self.log_tpage <= 4)?;
            check(
                "encoding",
                self.encoding,
                Encoding::from_code(self.encoding).is_some(),
            )?;
            // A physical region has no table, and pages of the largest size.
            let phys = self.kind == Kind::Phys.code();
            let inline = !phys || self.level == LEVEL_INLINE;
            check("level", self.level, inline)?;
            let largest = !phys || self.log_page == *LOG_PAGE_RANGE.end();
            check("log_page", self.log_page, largest)?;
        }
        Ok(())
    }
}

/// Page sizes that a region may have, as log2 of the bytes: 4 KiB to 8 TiB.
pub const LOG_PAGE_RANGE: std::ops::RangeInclusive<u8> = 12..=43;
/// Table page sizes, as log2 of the bytes: 4 KiB to 64 KiB.
pub const LOG_TPAGE_RANGE: std::ops::RangeInclusive<u8> = 12..=16;

/// Position of the checksum in an entry, in bytes.
const CRC_BYTES: std::ops::Range<usize> = 14..16;

/// Writes the right checksum into the entry of an index.
pub fn seal(bytes: &mut [u8; MPT_BYTES], index: u32) {
    let crc = mpt_crc(bytes, index);
    bytes[CRC_BYTES].copy_from_slice(&crc.to_le_bytes());
}

fn stored_crc(bytes: &[u8; MPT_BYTES]) -> u16 {
    u16::from_le_bytes([bytes[CRC_BYTES.start], bytes[CRC_BYTES.start + 1]])
}

/// Checksum of the entry of an index: [`crc16`] of its bytes in memory order, the checksum itself
/// taken as 0; if the entry is not free, exclusive or with the lower 16 bits of the index.
pub fn mpt_crc(bytes: &[u8; MPT_BYTES], index: u32) -> u16 {
    let mut covered = *bytes;
    covered[CRC_BYTES].fill(0);
    let of_bytes = crc16(&covered);
    match bytes[0] % 4 == State::Free.code() {
        true => of_bytes,
        false => of_bytes ^ index as u16,
    }
}

/// CRC-16 with the polynomial x^16 + x^12 + x^5 + 1, start value 0, most significant bit first
/// (CRC-16/XMODEM).
pub fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        crc << 8 ^ CRC_TABLE[usize::from((crc >> 8) as u8 ^ byte)]
    })
}

/// Remainder of byte * x^16 by the polynomial, for every byte.
const CRC_TABLE: [u16; 256] = {
    const POLYNOMIAL: u32 = 1 << 16 | 1 << 12 | 1 << 5 | 1;
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        // Schoolbook division of a polynomial of degree 23.
        let mut rest = (byte as u32) << 16;
        let mut degree = 23;
        while degree >= 16 {
            if rest >> degree & 1 == 1 {
                rest ^= POLYNOMIAL << (degree - 16);
            }
            degree -= 1;
        }
        table[byte] = rest as u16;
        byte += 1;
    }
    table
};

// -------------------------------------------------------------------------------------------------
// MTT entry
// -------------------------------------------------------------------------------------------------

/// A present MTT entry: a page, or a table page below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mtt {
    /// Physical address.
    pub pa: u64,
    /// The page may be written. Encoding RAW cannot say no.
    pub writable: bool,
}

/// Why a walk ends at an MTT entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum MttFault {
    /// Not present.
    #[error("table entry not present")]
    Absent,
    /// Bits below the page size are set, or a write meets an entry that does not allow it.
    #[error("table entry misaligned or write not allowed")]
    Bad,
}

const MTT_PRESENT: u64 = 1 << 0;
const MTT_WRITABLE: u64 = 1 << 1;

/// Where an entry of encoding CHECKED lies. The other encodings do not look at it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Place {
    /// MPT index of the region, 23 bits.
    pub index: u32,
    /// Number of the entry among those of its level, 40 bits; in a flat array counted from the 4 KiB
    /// boundary before its root.
    pub number: u64,
    /// Level of the table page, 1 for leaves and flat arrays, 3 bits.
    pub level: u8,
}

/// Bits of the check of encoding CHECKED.
pub const CHECK_BITS: u32 = 21;
/// x^21 + x^2 + 1.
const CHECK_POLYNOMIAL: u64 = 1 << 21 | 1 << 2 | 1;
/// Addresses that an entry of encoding CHECKED can hold.
pub const CHECKED_ADDRESS: u64 = (1 << 52) - (1 << 12);

impl Place {
    /// The check of an entry with this address (bits 51:12) and these flags (bits 1:0): the remainder
    /// of the message, times x^21.
    pub const fn check(self, address: u64, flags: u64) -> u64 {
        // The message, the highest power first: (value, bits).
        let parts = [
            (self.index as u64 >> 8, 15),
            (self.number, 40),
            (self.index as u64 & 0xff, 8),
            (self.level as u64, 3),
            ((address & CHECKED_ADDRESS) >> 12, 40),
            (flags >> 1, 1),
            (flags, 1),
            // times x^21
            (0, CHECK_BITS),
        ];
        let mut rest = 0;
        let mut part = 0;
        while part < parts.len() {
            let (value, mut bit) = parts[part];
            while bit > 0 {
                bit -= 1;
                rest = rest << 1 | (value >> bit & 1);
                if rest >> CHECK_BITS != 0 {
                    rest ^= CHECK_POLYNOMIAL;
                }
            }
            part += 1;
        }
        rest
    }
}

/// An entry of encoding CHECKED with this address and these flags.
const fn checked_word(address: u64, flags: u64, place: Place) -> u64 {
    let check = place.check(address, flags);
    let word = address & CHECKED_ADDRESS | flags | (check & 0x3ff) << 2 | (check >> 10) << 52;
    // Bit 63 makes the number of ones odd.
    word | ((word.count_ones() as u64 + 1) & 1) << 63
}

impl Mtt {
    /// A writable page (or a table page) at `pa`.
    pub const fn at(pa: u64) -> Mtt {
        Mtt { pa, writable: true }
    }

    /// To the 8 bytes of a table. In encoding RAW `writable` is lost, and address 0 reads back as
    /// absent. Encoding CHECKED keeps bits 51:12 of the address only.
    pub const fn encode(self, encoding: Encoding, place: Place) -> u64 {
        let flags = MTT_PRESENT | if self.writable { MTT_WRITABLE } else { 0 };
        match encoding {
            Encoding::Raw => self.pa,
            Encoding::Flagged => self.pa | flags,
            Encoding::Checked => checked_word(self.pa, flags, place),
        }
    }

    /// From the bottom level of a table of pages of 2^`log_page` bytes; `write`: the access needs
    /// a writable page.
    pub const fn decode(
        word: u64,
        encoding: Encoding,
        place: Place,
        log_page: u8,
        write: bool,
    ) -> Result<Mtt, MttFault> {
        let below = (1u64 << log_page) - 1;
        let flags = MTT_PRESENT | MTT_WRITABLE;
        let writable = word & MTT_WRITABLE != 0;
        let (present, intact, pa, writable) = match encoding {
            Encoding::Raw => (word != 0, true, word, true),
            Encoding::Flagged => (word & MTT_PRESENT != 0, true, word & !flags, writable),
            Encoding::Checked => {
                let pa = word & CHECKED_ADDRESS;
                let intact = word & MTT_PRESENT != 0
                    && pa != 0
                    && word == checked_word(pa, word & flags, place);
                (word != 0, intact, pa, writable)
            }
        };
        if !present {
            Err(MttFault::Absent)
        } else if !intact || pa & below != 0 || write && !writable {
            Err(MttFault::Bad)
        } else {
            Ok(Mtt { pa, writable })
        }
    }

    /// [`Mtt::decode`] in an on-demand region: an entry that is good but not writable is absent for
    /// an access that writes.
    pub const fn decode_on_demand(
        word: u64,
        encoding: Encoding,
        place: Place,
        log_page: u8,
        write: bool,
    ) -> Result<Mtt, MttFault> {
        match Mtt::decode(word, encoding, place, log_page, false) {
            Ok(Mtt {
                writable: false, ..
            }) if write => Err(MttFault::Absent),
            other => other,
        }
    }

    /// From an upper level: the address of a table page of 2^`log_tpage` bytes. Bit 1 of encodings
    /// FLAGGED and CHECKED has no meaning there.
    pub const fn decode_directory(
        word: u64,
        encoding: Encoding,
        place: Place,
        log_tpage: u8,
    ) -> Result<u64, MttFault> {
        match Mtt::decode(word, encoding, place, log_tpage, false) {
            Ok(Mtt { pa, .. }) => Ok(pa),
            Err(fault) => Err(fault),
        }
    }
}
