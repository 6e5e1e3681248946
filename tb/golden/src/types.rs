// SPDX-License-Identifier: Apache-2.0
//! The words of the unit: operations, syndromes, statuses, access rights, keys and the payloads
//! of its channels.
//!
//! Everything here is plain data. How it looks as bits is the business of [`crate::codec`].
//! The numbers are those of `rtl/tpt_pkg.sv`; `tests/layout.rs` compares both texts.

use std::fmt;

/// Defines an enumeration with fixed codes, the list of all its values, and the way back.
macro_rules! coded_enum {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $code:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $name { $($(#[$vmeta])* $variant = $code,)+ }

        impl $name {
            /// Every value, in ascending order of its code.
            pub const ALL: &'static [$name] = &[$($name::$variant,)+];

            /// The value with this code, if there is one.
            pub const fn from_code(code: u8) -> Option<$name> {
                match code { $($code => Some($name::$variant),)+ _ => None }
            }

            /// The code on the wire.
            pub const fn code(self) -> u8 { self as u8 }

            /// The name of the value, as written in the source text.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => stringify!($variant),)+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.pad(self.name()) }
        }

        impl TryFrom<u8> for $name {
            type Error = UnknownCode;
            fn try_from(code: u8) -> Result<Self, UnknownCode> {
                Self::from_code(code).ok_or(UnknownCode { what: stringify!($name), code })
            }
        }
    };
}

/// A code that no value of an enumeration has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code} is no {what}")]
pub struct UnknownCode {
    /// The enumeration.
    pub what: &'static str,
    /// The code that was met.
    pub code: u8,
}

coded_enum! {
    /// What a request wants to do with memory.
    Op {
        /// Gather of a send or write: the unit's host memory is read with an L_Key.
        LocalRead = 0,
        /// Receive, or the answer of a read: host memory is written with an L_Key.
        LocalWrite = 1,
        /// An RDMA read of the peer, with an R_Key.
        RemoteRead = 2,
        /// An RDMA write of the peer, with an R_Key.
        RemoteWrite = 3,
        /// A compare-and-swap or fetch-and-add of the peer: 8 bytes, aligned to 8.
        RemoteAtomic = 4,
        /// A FLUSH of the peer to global visibility, with an R_Key.
        FlushGlobal = 5,
        /// A FLUSH of the peer to persistence, with an R_Key.
        FlushPersist = 6,
        /// A FLUSH of the peer to both, with an R_Key.
        FlushBoth = 7,
    }
}

impl Op {
    /// The role that the key of this operation must have.
    pub const fn role(self) -> Role {
        match self {
            Op::LocalRead | Op::LocalWrite => Role::Local,
            Op::RemoteRead | Op::RemoteWrite | Op::RemoteAtomic => Role::Remote,
            Op::FlushGlobal | Op::FlushPersist | Op::FlushBoth => Role::Remote,
        }
    }

    /// True if the page that is reached must be writable.
    pub const fn writes(self) -> bool {
        matches!(self, Op::LocalWrite | Op::RemoteWrite | Op::RemoteAtomic)
    }

    /// The rights that the region must grant, all of them. Local read is always granted.
    pub const fn needed_right(self) -> Access {
        match self {
            Op::LocalRead => Access::NONE,
            Op::LocalWrite => Access::LOCAL_WRITE,
            Op::RemoteRead => Access::REMOTE_READ,
            Op::RemoteWrite => Access::REMOTE_WRITE,
            Op::RemoteAtomic => Access::REMOTE_ATOMIC,
            Op::FlushGlobal => Access::FLUSH_GLOBAL,
            Op::FlushPersist => Access::FLUSH_PERSISTENT,
            Op::FlushBoth => Access(Access::FLUSH_GLOBAL.0 | Access::FLUSH_PERSISTENT.0),
        }
    }
}

coded_enum! {
    /// Why a request was refused; `Ok` if it was not.
    Syndrome {
        /// Accepted.
        Ok = 0,
        /// Longer than 2^31 bytes.
        Length = 1,
        /// The key's index is not below the table size.
        KeyIndex = 2,
        /// The entry is free or invalid.
        KeyState = 3,
        /// The role does not exist, the key is of the other role, or its tag is wrong.
        KeyTag = 4,
        /// Another protection domain.
        Pd = 5,
        /// A type-2 window of another queue pair.
        Qp = 6,
        /// A needed right is missing.
        Rights = 7,
        /// `va + len` passes 2^64.
        Wrap = 8,
        /// Outside the region.
        Bounds = 9,
        /// Atomic that is not 8 bytes long or not aligned to 8.
        Align = 10,
        /// The parent region of a window is gone, or does not hold the range.
        Parent = 11,
        /// Walk: the table entry is not present.
        MttAbsent = 12,
        /// Walk: the table entry is misaligned or does not allow the access.
        MttBad = 13,
        /// The memory answered with an error.
        Bus = 14,
        /// The MPT entry is corrupted: checksum or illegal fields.
        MptBad = 15,
        /// The unit is not enabled, or the table is not cleared yet.
        Disabled = 16,
        /// The request's tag is still used by an earlier request.
        TagBusy = 17,
        /// A page fault that is not held: the same request may pass later.
        Retry = 18,
        /// A segment is not inside one of the host windows.
        HostWin = 19,
        /// The stream is blocked after bad keys.
        Blocked = 20,
    }
}

/// How a refusal looks to verbs: what the peer's (or the own) completion says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// NAK "remote access error".
    RemoteAccess,
    /// NAK "remote invalid request".
    RemoteInvalidRequest,
    /// NAK "remote operational error".
    RemoteOperation,
    /// Work completion "local protection error".
    LocalProtection,
    /// Work completion "local length error".
    LocalLength,
    /// Work completion "local QP operation error": the host's unit itself is at fault.
    LocalOperation,
}

impl Syndrome {
    /// The class of a refused access by its role; `None` for `Ok` and for the interface errors
    /// (`Disabled`, `TagBusy`) that have no name on the wire.
    pub const fn class(self, role: Role) -> Option<ErrorClass> {
        use ErrorClass::*;
        Some(match (self, role) {
            (Syndrome::Ok | Syndrome::Disabled | Syndrome::TagBusy, _) => return None,
            (Syndrome::Length | Syndrome::Align, Role::Remote) => RemoteInvalidRequest,
            (Syndrome::Bus | Syndrome::MptBad, Role::Remote) => RemoteOperation,
            (_, Role::Remote) => RemoteAccess,
            (Syndrome::Length, Role::Local) => LocalLength,
            (Syndrome::Bus | Syndrome::MptBad, Role::Local) => LocalOperation,
            (_, Role::Local) => LocalProtection,
        })
    }

    /// This syndrome's bit in a mask of failed rules: bit n is syndrome n.
    pub const fn bit(self) -> u32 {
        1 << self as u8
    }
}

coded_enum! {
    /// Status of a command's completion.
    Status {
        /// Done.
        Ok = 0,
        /// The fence ran out of time: keys are dead, index and pins are kept, more will come.
        Pending = 1,
        /// Unknown command.
        BadOp = 2,
        /// Length 0.
        BadLength = 3,
        /// `start + length` passes 2^64.
        BadWrap = 4,
        /// Unknown access flags.
        BadFlags = 5,
        /// Remote write or atomic without local write.
        BadAccess = 6,
        /// `log_page` outside 12 to 43.
        BadPageSize = 7,
        /// Unknown encoding of table entries.
        BadEncoding = 8,
        /// Unknown level, deeper than the unit walks, or table page size outside 12 to 16.
        BadLevel = 9,
        /// The table cannot hold the pages of the region.
        TableSmall = 10,
        /// Table root or inline page not aligned.
        TableAlign = 11,
        /// The table of regions is full.
        NoIndex = 12,
        /// The key's index is not below the table size.
        KeyIndex = 13,
        /// The entry is free or invalid, or not in the state that the command needs.
        KeyState = 14,
        /// Not a key of the role that the command needs, or its tag is wrong.
        KeyTag = 15,
        /// The command does not exist for what the key names.
        KeyKind = 16,
        /// Another protection domain.
        KeyPd = 17,
        /// Windows are bound to the region.
        Bound = 18,
        /// The memory answered with an error.
        Bus = 19,
        /// The MPT entry is corrupted.
        MptBad = 20,
        /// The unit is not enabled.
        Disabled = 21,
        /// No or unknown REREG flags.
        BadRereg = 22,
        /// The fence queue is full of pending commands; nothing was changed.
        Busy = 23,
        /// Bind: the region's key does not name a valid region of kind MR or FRMR.
        MrKey = 24,
        /// Bind: the region is of another protection domain.
        MrPd = 25,
        /// Bind: the region does not allow windows, or not with these rights, or is zero-based.
        MrRights = 26,
        /// Bind: the range is not inside the region.
        MrBounds = 27,
        /// Physical regions are not allowed.
        Privilege = 28,
        /// The region does not allow remote invalidation.
        RemoteInv = 29,
        /// The window is bound to another queue pair.
        KeyQp = 30,
        /// Command queue: unknown version, or a bit of the slot that must be 0 is not.
        BadSlot = 31,
    }
}

coded_enum! {
    /// Commands of the control path.
    CmdOp {
        /// Register a memory region.
        RegMr = 1,
        /// Deregister a memory region.
        DeregMr = 2,
        /// Change translation, protection domain or rights of a region.
        ReregMr = 3,
        /// Read the entry of a region or window.
        Query = 4,
        /// Allocate a fast-registration region.
        AllocMr = 5,
        /// Register a fast-registration region: only the tags of its keys change.
        FastRegMr = 6,
        /// End a fast registration or the binding of a type-2 window.
        Invalidate = 7,
        /// Allocate a window.
        AllocMw = 8,
        /// Bind a window to a part of a region; type 1: or unbind it.
        BindMw = 9,
        /// Free a window, bound or not.
        DeallocMw = 10,
        /// Register a physical region.
        RegPhys = 11,
        /// The answer to a page fault: the page is there, or will not come.
        PageReady = 12,
        /// End the use of old table entries of an on-demand region; the keys stay.
        InvalidateRange = 13,
    }
}

coded_enum! {
    /// State of an MPT entry.
    State {
        /// Not in use; memory of zeros is a free entry.
        Free = 0,
        /// In use.
        Valid = 1,
        /// In use but refused: on its way out, or being changed.
        Invalid = 2,
        /// In use, without a registration (FRMR) or binding (window): refused.
        Alloc = 3,
    }
}

coded_enum! {
    /// Kind of an MPT entry.
    Kind {
        /// Memory region.
        Mr = 0,
        /// Region of fast registration.
        Frmr = 1,
        /// Memory window of type 1.
        Mw1 = 2,
        /// Memory window of type 2B: of one queue pair and protection domain.
        Mw2 = 3,
        /// Physical memory without a table.
        Phys = 4,
        /// Memory window of type 2A: of one queue pair.
        Mw2a = 5,
    }
}

impl Kind {
    /// True for memory windows, which have no L_Key.
    pub const fn is_window(self) -> bool {
        matches!(self, Kind::Mw1) || self.is_type2()
    }

    /// True for windows of type 2, which belong to a queue pair.
    pub const fn is_type2(self) -> bool {
        matches!(self, Kind::Mw2 | Kind::Mw2a)
    }
}

coded_enum! {
    /// Encoding of MTT entries.
    Encoding {
        /// The address alone; all zero is "not present".
        Raw = 0,
        /// Bit 0 present and readable, bit 1 writable.
        Flagged = 1,
        /// As `Flagged`, with a check of the entry and its place.
        Checked = 2,
    }
}

coded_enum! {
    /// The two keys of a region: each works in its own role only. A window has an R_Key only.
    Role {
        /// L_Key: used by the owner's own work requests.
        Local = 0,
        /// R_Key: used by the peer.
        Remote = 1,
    }
}

/// Table level of pages that sit inside the MPT entry.
pub const LEVEL_INLINE: u8 = 0;
/// Table level of one flat array of any length.
pub const LEVEL_FLAT: u8 = 5;

/// Access rights and options of a region, as a verbs access word (`IBV_ACCESS_*`).
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Access(pub u32);

impl Access {
    /// No right beyond local read, which every region grants.
    pub const NONE: Access = Access(0);
    /// The owner may write.
    pub const LOCAL_WRITE: Access = Access(1 << 0);
    /// The peer may write. Needs `LOCAL_WRITE`.
    pub const REMOTE_WRITE: Access = Access(1 << 1);
    /// The peer may read.
    pub const REMOTE_READ: Access = Access(1 << 2);
    /// The peer may do atomics. Needs `LOCAL_WRITE`.
    pub const REMOTE_ATOMIC: Access = Access(1 << 3);
    /// Windows may be bound to the region.
    pub const MW_BIND: Access = Access(1 << 4);
    /// Addresses are offsets from the start of the region.
    pub const ZERO_BASED: Access = Access(1 << 5);
    /// Pages may be absent: page faults. Only in units that hold page faults.
    pub const ON_DEMAND: Access = Access(1 << 6);
    /// Hint: huge pages.
    pub const HUGETLB: Access = Access(1 << 7);
    /// The peer may flush to global visibility.
    pub const FLUSH_GLOBAL: Access = Access(1 << 8);
    /// The peer may flush to persistence.
    pub const FLUSH_PERSISTENT: Access = Access(1 << 9);
    /// Accesses may pass each other: an attribute of the beats, but not of those of atomics.
    pub const RELAXED_ORDERING: Access = Access(1 << 20);
    /// Every flag that registration takes: bits 0 to 5, 7 to 9 and the optional ones, 20 to 29.
    /// Units with page faults take ON_DEMAND as well.
    pub const KNOWN: Access = Access(0x3ff0_03bf);
    /// Every flag that a bind takes; ZERO_BASED only for type 2.
    pub const KNOWN_WINDOW: Access = Access(0x0000_002e);
    /// Every flag that a physical region takes: [`Access::KNOWN`] without MW_BIND and ZERO_BASED.
    pub const KNOWN_PHYS: Access = Access(0x3ff0_038f);
    /// The rights that give a region an R_Key.
    pub const ANY_REMOTE: Access = Access(
        Self::REMOTE_WRITE.0
            | Self::REMOTE_READ.0
            | Self::REMOTE_ATOMIC.0
            | Self::FLUSH_GLOBAL.0
            | Self::FLUSH_PERSISTENT.0,
    );

    /// Where each stored flag sits in the 11-bit field of an MPT entry: (flag, bit, name).
    pub(crate) const STORED: [(Access, u32, &'static str); 11] = [
        (Self::LOCAL_WRITE, 0, "LOCAL_WRITE"),
        (Self::REMOTE_WRITE, 1, "REMOTE_WRITE"),
        (Self::REMOTE_READ, 2, "REMOTE_READ"),
        (Self::REMOTE_ATOMIC, 3, "REMOTE_ATOMIC"),
        (Self::MW_BIND, 4, "MW_BIND"),
        (Self::ZERO_BASED, 5, "ZERO_BASED"),
        (Self::ON_DEMAND, 6, "ON_DEMAND"),
        (Self::HUGETLB, 7, "HUGETLB"),
        (Self::FLUSH_GLOBAL, 8, "FLUSH_GLOBAL"),
        (Self::FLUSH_PERSISTENT, 9, "FLUSH_PERSISTENT"),
        (Self::RELAXED_ORDERING, 10, "RELAXED_ORDERING"),
    ];

    /// True if every flag of `other` is set.
    pub const fn contains(self, other: Access) -> bool {
        self.0 & other.0 == other.0
    }

    /// True if at least one flag of `other` is set.
    pub const fn intersects(self, other: Access) -> bool {
        self.0 & other.0 != 0
    }

    /// The 11-bit field of an MPT entry. Optional flags that the unit does not store are dropped.
    pub fn to_stored(self) -> u16 {
        Self::STORED
            .iter()
            .filter(|(flag, _, _)| self.contains(*flag))
            .fold(0, |field, (_, bit, _)| field | 1 << bit)
    }

    /// The verbs word of the 11-bit field of an MPT entry.
    pub fn from_stored(field: u16) -> Access {
        Self::STORED
            .iter()
            .filter(|(_, bit, _)| field >> bit & 1 == 1)
            .fold(Access::NONE, |all, (flag, _, _)| all | *flag)
    }
}

impl std::ops::BitOr for Access {
    type Output = Access;
    fn bitor(self, other: Access) -> Access {
        Access(self.0 | other.0)
    }
}

impl std::ops::BitOrAssign for Access {
    fn bitor_assign(&mut self, other: Access) {
        self.0 |= other.0;
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        let mut names = Vec::new();
        for (flag, _, name) in Self::STORED {
            if self.contains(flag) {
                names.push(name.to_string());
                rest &= !flag.0;
            }
        }
        if rest != 0 || names.is_empty() {
            names.push(format!("{rest:#x}"));
        }
        f.write_str(&names.join("|"))
    }
}

/// An L_Key or R_Key: bits 31:8 the permuted {role, index}, bits 7:0 the tag.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(pub u32);

impl Key {
    /// The key that is never issued.
    pub const NONE: Key = Key(0);

    /// Puts a key together from its 24-bit index field and its tag.
    pub const fn new(field: u32, tag: u8) -> Key {
        Key(field << 8 | tag as u32)
    }

    /// The 24-bit index field (permuted {role, index}).
    pub const fn field(self) -> u32 {
        self.0 >> 8
    }

    /// The tag, the low byte.
    pub const fn tag(self) -> u8 {
        self.0 as u8
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#010x}", self.0)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// One access that carries a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Request {
    /// Names the request until its `done`: 10 bits, one space per client.
    pub tag: u16,
    /// Order is kept inside one stream: 6 bits.
    pub stream: u8,
    /// [`Op`] code, 3 bits.
    pub op: u8,
    /// L_Key or R_Key.
    pub key: Key,
    /// First address, in the address space of the region.
    pub va: u64,
    /// Bytes.
    pub len: u32,
    /// Protection domain of the queue pair, 24 bits.
    pub pd: u32,
    /// Number of the queue pair, 24 bits.
    pub qpn: u32,
}

impl Request {
    /// The operation, if the code is one.
    pub const fn operation(&self) -> Option<Op> {
        Op::from_code(self.op)
    }

    /// The role of the access. What is no operation counts as remote.
    pub const fn role(&self) -> Role {
        match self.operation() {
            Some(op) => op.role(),
            None => Role::Remote,
        }
    }
}

/// One beat of the answer: a physical segment, or the syndrome that ends the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Beat {
    /// Tag of the request.
    pub tag: u16,
    /// Stream of the request.
    pub stream: u8,
    /// `Ok` for a segment.
    pub syndrome: Syndrome,
    /// Physical address; 0 if there is none.
    pub pa: u64,
    /// Bytes; 0 if there is no address.
    pub len: u32,
    /// Relaxed ordering is allowed; false if there is no address.
    pub relaxed: bool,
    /// First beat of the request.
    pub first: bool,
    /// Last beat of the request.
    pub last: bool,
}

/// The consumer has finished with the segments of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Done {
    /// Tag of the request.
    pub tag: u16,
}

/// Bits of [`Command::rereg`] (`IBV_REREG_MR_*`).
pub mod rereg {
    /// Take start, length and the table from the command.
    pub const TRANSLATION: u8 = 1 << 0;
    /// Take the protection domain from `new_pd`.
    pub const PD: u8 = 1 << 1;
    /// Take the access rights from the command.
    pub const ACCESS: u8 = 1 << 2;
    /// Every known bit.
    pub const ALL: u8 = TRANSLATION | PD | ACCESS;
}

/// Bits of [`Command::flags`].
pub mod flag {
    /// ALLOC_MR: the peer may invalidate. INVALIDATE: it is the peer who does.
    pub const REMOTE_INV: u8 = 1 << 0;
    /// ALLOC_MW: type 2 (2B) instead of type 1.
    pub const MW2: u8 = 1 << 1;
    /// ALLOC_MW: type 2A, together with [`MW2`].
    pub const MW2A: u8 = 1 << 2;
    /// PAGE_READY: the page will not come.
    pub const REFUSE: u8 = 1 << 0;
}

/// A command of the control path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Command {
    /// Returned in the completion.
    pub id: u16,
    /// [`CmdOp`] code, 4 bits.
    pub op: u8,
    /// See [`flag`], 4 bits.
    pub flags: u8,
    /// FAST_REG_MR and BIND_MW of a type-2 window: the new low byte of the keys.
    pub tag: u8,
    /// BIND_MW of a type-2 window, remote INVALIDATE: number of the queue pair, 24 bits.
    pub qpn: u32,
    /// BIND_MW: L_Key of the region.
    pub mkey: Key,
    /// Key of what the command is about: L_Key of a region, R_Key of a window. PAGE_READY: the slot.
    pub key: Key,
    /// Protection domain of the region or window, 24 bits.
    pub pd: u32,
    /// Verbs access word.
    pub access: u32,
    /// Start address (iova).
    pub start: u64,
    /// Bytes. ALLOC_MR: pages that a registration may have.
    pub length: u64,
    /// log2 of the page size, 12 to 43.
    pub log_page: u8,
    /// 0 inline, 1 to `MaxLevels` tree, 5 flat.
    pub level: u8,
    /// log2 of the table page size, 12 to 16.
    pub log_tpage: u8,
    /// [`Encoding`] code.
    pub encoding: u8,
    /// REREG_MR: what to change, see [`rereg`].
    pub rereg: u8,
    /// REREG_MR with the PD bit: the new protection domain, 24 bits.
    pub new_pd: u32,
    /// Level 0: page addresses. Otherwise `frame[0]` is the root of the table.
    pub frame: [u64; 4],
}

impl Command {
    /// The command, if the code is one.
    pub const fn operation(&self) -> Option<CmdOp> {
        CmdOp::from_code(self.op)
    }
}

/// The answer to a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// `id` of the command.
    pub id: u16,
    /// `op` of the command.
    pub op: u8,
    /// What became of it.
    pub status: Status,
    /// L_Key, of commands that make one; otherwise 0.
    pub lkey: Key,
    /// R_Key, of commands that make one; 0 if the region grants nothing to the peer.
    pub rkey: Key,
    /// MPT index, of commands that make a key; otherwise 0.
    pub index: u32,
    /// The entry as it is in memory (QUERY), otherwise zeros.
    pub entry: [u8; 64],
}

impl Completion {
    /// A completion that carries nothing but its status.
    pub const fn plain(id: u16, op: u8, status: Status) -> Completion {
        Completion {
            id,
            op,
            status,
            lkey: Key::NONE,
            rkey: Key::NONE,
            index: 0,
            entry: [0; 64],
        }
    }
}

impl fmt::Display for Completion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Completion {
            op,
            status,
            lkey,
            rkey,
            ..
        } = self;
        match CmdOp::from_code(*op) {
            Some(op) => write!(f, "{op}")?,
            None => write!(f, "command code {op}")?,
        }
        write!(f, " {status}, keys {lkey} {rkey}")?;
        if self.index != 0 {
            write!(f, ", index {}", self.index)?;
        }
        if self.entry != [0; 64] {
            f.write_str(", entry ")?;
            self.entry
                .iter()
                .rev()
                .try_for_each(|byte| write!(f, "{byte:02x}"))?;
        }
        Ok(())
    }
}
