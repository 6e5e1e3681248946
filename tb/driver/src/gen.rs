// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_pkg.sv by tools/gen_queue.py: change that file, not this one.

//! Numbers of commands, completions and their slots (docs/queues.md).

/// Bytes of a slot of either queue.
pub const QUEUE_SLOT_BYTES: usize = 128;

/// Version of a command slot.
pub const CMDQ_VERSION: u8 = 1;

/// log2 of the smallest command queue.
pub const MIN_LOG_CMD_QUEUE: u8 = 1;

/// log2 of the smallest completion queue.
pub const MIN_LOG_CPL_QUEUE: u8 = 2;

/// log2 of the largest queue.
pub const MAX_LOG_QUEUE: u8 = 16;

/// Bytes of an MPT entry.
pub const MPT_BYTES: u64 = 64;

/// Most entries of the MPT.
pub const MAX_MPT_SIZE: u32 = 8388608;

/// Bits of a protection domain.
pub const PD_W: u32 = 24;

/// Bits of the number of a queue pair.
pub const QPN_W: u32 = 24;

/// Bits of the number of pages that a fast registration may have.
pub const CAP_W: u32 = 20;

/// Bits of the number of a page in a region.
pub const PAGE_IDX_W: u32 = 40;

/// log2 of the smallest page.
pub const MIN_LOG_PAGE: u8 = 12;

/// log2 of the largest page.
pub const MAX_LOG_PAGE: u8 = 43;

/// log2 of the smallest table page.
pub const MIN_LOG_TPAGE: u8 = 12;

/// log2 of the largest table page.
pub const MAX_LOG_TPAGE: u8 = 16;

/// `level` of pages inside the command.
pub const LEVEL_INLINE: u8 = 0;

/// `level` of a flat table.
pub const LEVEL_FLAT: u8 = 5;

/// Access bits that a region takes.
pub const KNOWN_ACCESS: u32 = 0x3ff003bf;

/// Access bits that a bind takes.
pub const KNOWN_MW_ACCESS: u32 = 0x2e;

/// Access bits that a physical region takes.
pub const KNOWN_PHYS_ACCESS: u32 = 0x3ff0038f;

/// Commands: values of `op`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Op {
    /// Register a memory region.
    RegMr = 1,
    /// Deregister it.
    DeregMr = 2,
    /// Change translation, PD or access; new keys.
    ReregMr = 3,
    /// Read the entry.
    Query = 4,
    /// Allocate a fast-registration region.
    AllocMr = 5,
    /// Register it: from ALLOC to VALID, only the tags of its keys change.
    FastRegMr = 6,
    /// End the registration or binding: back to ALLOC.
    Invalidate = 7,
    /// Allocate a window.
    AllocMw = 8,
    /// Bind it to a part of a region; type 1: or unbind it.
    BindMw = 9,
    /// Free it, bound or not.
    DeallocMw = 10,
    /// Register a physical region, if CTRL.phys allows it.
    RegPhys = 11,
    /// Answer to a page fault: walk on, or refuse.
    PageReady = 12,
    /// End the use of old entries of an on-demand region.
    InvalidateRange = 13,
}

impl Op {
    /// Every value.
    pub const ALL: [Op; 13] = [
        Op::RegMr,
        Op::DeregMr,
        Op::ReregMr,
        Op::Query,
        Op::AllocMr,
        Op::FastRegMr,
        Op::Invalidate,
        Op::AllocMw,
        Op::BindMw,
        Op::DeallocMw,
        Op::RegPhys,
        Op::PageReady,
        Op::InvalidateRange,
    ];

    /// The value with this code.
    pub const fn from_code(code: u8) -> Option<Op> {
        match code {
            1 => Some(Op::RegMr),
            2 => Some(Op::DeregMr),
            3 => Some(Op::ReregMr),
            4 => Some(Op::Query),
            5 => Some(Op::AllocMr),
            6 => Some(Op::FastRegMr),
            7 => Some(Op::Invalidate),
            8 => Some(Op::AllocMw),
            9 => Some(Op::BindMw),
            10 => Some(Op::DeallocMw),
            11 => Some(Op::RegPhys),
            12 => Some(Op::PageReady),
            13 => Some(Op::InvalidateRange),
            _ => None,
        }
    }

    /// The code.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The name, as the documentation writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Op::RegMr => "REG_MR",
            Op::DeregMr => "DEREG_MR",
            Op::ReregMr => "REREG_MR",
            Op::Query => "QUERY",
            Op::AllocMr => "ALLOC_MR",
            Op::FastRegMr => "FAST_REG_MR",
            Op::Invalidate => "INVALIDATE",
            Op::AllocMw => "ALLOC_MW",
            Op::BindMw => "BIND_MW",
            Op::DeallocMw => "DEALLOC_MW",
            Op::RegPhys => "REG_PHYS",
            Op::PageReady => "PAGE_READY",
            Op::InvalidateRange => "INVALIDATE_RANGE",
        }
    }

    /// What it means.
    pub const fn meaning(self) -> &'static str {
        match self {
            Op::RegMr => "register a memory region",
            Op::DeregMr => "deregister it",
            Op::ReregMr => "change translation, PD or access; new keys",
            Op::Query => "read the entry",
            Op::AllocMr => "allocate a fast-registration region",
            Op::FastRegMr => "register it: from ALLOC to VALID, only the tags of its keys change",
            Op::Invalidate => "end the registration or binding: back to ALLOC",
            Op::AllocMw => "allocate a window",
            Op::BindMw => "bind it to a part of a region; type 1: or unbind it",
            Op::DeallocMw => "free it, bound or not",
            Op::RegPhys => "register a physical region, if CTRL.phys allows it",
            Op::PageReady => "answer to a page fault: walk on, or refuse",
            Op::InvalidateRange => "end the use of old entries of an on-demand region",
        }
    }
}

/// How a command ended: values of `status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Status {
    /// Done.
    Ok = 0,
    /// Fence time ran out: keep index and pins, more to come.
    Pending = 1,
    /// Unknown command.
    BadOp = 2,
    /// Length 0.
    BadLength = 3,
    /// Start + length passes 2^64.
    BadWrap = 4,
    /// Unknown access flags.
    BadFlags = 5,
    /// REMOTE_WRITE or REMOTE_ATOMIC without LOCAL_WRITE.
    BadAccess = 6,
    /// Log_page outside 12..43.
    BadPageSize = 7,
    /// Unknown MTT encoding.
    BadEncoding = 8,
    /// Unknown level, or deeper than MaxLevels, or table page size.
    BadLevel = 9,
    /// The table cannot hold the pages of the length.
    TableSmall = 10,
    /// Table root or inline page not aligned.
    TableAlign = 11,
    /// MPT full.
    NoIndex = 12,
    /// Index not below the table size.
    KeyIndex = 13,
    /// Entry FREE or INVALID.
    KeyState = 14,
    /// No L_Key, or wrong tag.
    KeyTag = 15,
    /// Not a memory region.
    KeyKind = 16,
    /// Another protection domain.
    KeyPd = 17,
    /// Windows are bound.
    Bound = 18,
    /// Memory answered with an error.
    Bus = 19,
    /// MPT entry corrupted.
    MptBad = 20,
    /// Unit not enabled.
    Disabled = 21,
    /// No or unknown REREG flags.
    BadRereg = 22,
    /// Fence queue full of PENDING commands; nothing was changed.
    Busy = 23,
    /// Bind: `mkey` does not name a valid region of kind MR or FRMR.
    MrKey = 24,
    /// Bind: the region is of another protection domain.
    MrPd = 25,
    /// Bind: region without MW_BIND, or LOCAL_WRITE missing, or zero-based.
    MrRights = 26,
    /// Bind: the range is not inside the region.
    MrBounds = 27,
    /// Physical regions are not allowed (CTRL.phys).
    Privilege = 28,
    /// The region does not allow remote invalidation.
    RemoteInv = 29,
    /// The window is bound to another queue pair.
    KeyQp = 30,
    /// Command queue: unknown version, or a bit that must be 0 is not.
    BadSlot = 31,
}

impl Status {
    /// Every value.
    pub const ALL: [Status; 32] = [
        Status::Ok,
        Status::Pending,
        Status::BadOp,
        Status::BadLength,
        Status::BadWrap,
        Status::BadFlags,
        Status::BadAccess,
        Status::BadPageSize,
        Status::BadEncoding,
        Status::BadLevel,
        Status::TableSmall,
        Status::TableAlign,
        Status::NoIndex,
        Status::KeyIndex,
        Status::KeyState,
        Status::KeyTag,
        Status::KeyKind,
        Status::KeyPd,
        Status::Bound,
        Status::Bus,
        Status::MptBad,
        Status::Disabled,
        Status::BadRereg,
        Status::Busy,
        Status::MrKey,
        Status::MrPd,
        Status::MrRights,
        Status::MrBounds,
        Status::Privilege,
        Status::RemoteInv,
        Status::KeyQp,
        Status::BadSlot,
    ];

    /// The value with this code.
    pub const fn from_code(code: u8) -> Option<Status> {
        match code {
            0 => Some(Status::Ok),
            1 => Some(Status::Pending),
            2 => Some(Status::BadOp),
            3 => Some(Status::BadLength),
            4 => Some(Status::BadWrap),
            5 => Some(Status::BadFlags),
            6 => Some(Status::BadAccess),
            7 => Some(Status::BadPageSize),
            8 => Some(Status::BadEncoding),
            9 => Some(Status::BadLevel),
            10 => Some(Status::TableSmall),
            11 => Some(Status::TableAlign),
            12 => Some(Status::NoIndex),
            13 => Some(Status::KeyIndex),
            14 => Some(Status::KeyState),
            15 => Some(Status::KeyTag),
            16 => Some(Status::KeyKind),
            17 => Some(Status::KeyPd),
            18 => Some(Status::Bound),
            19 => Some(Status::Bus),
            20 => Some(Status::MptBad),
            21 => Some(Status::Disabled),
            22 => Some(Status::BadRereg),
            23 => Some(Status::Busy),
            24 => Some(Status::MrKey),
            25 => Some(Status::MrPd),
            26 => Some(Status::MrRights),
            27 => Some(Status::MrBounds),
            28 => Some(Status::Privilege),
            29 => Some(Status::RemoteInv),
            30 => Some(Status::KeyQp),
            31 => Some(Status::BadSlot),
            _ => None,
        }
    }

    /// The code.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The name, as the documentation writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Status::Ok => "OK",
            Status::Pending => "PENDING",
            Status::BadOp => "BAD_OP",
            Status::BadLength => "BAD_LENGTH",
            Status::BadWrap => "BAD_WRAP",
            Status::BadFlags => "BAD_FLAGS",
            Status::BadAccess => "BAD_ACCESS",
            Status::BadPageSize => "BAD_PAGE_SIZE",
            Status::BadEncoding => "BAD_ENCODING",
            Status::BadLevel => "BAD_LEVEL",
            Status::TableSmall => "TABLE_SMALL",
            Status::TableAlign => "TABLE_ALIGN",
            Status::NoIndex => "NO_INDEX",
            Status::KeyIndex => "KEY_INDEX",
            Status::KeyState => "KEY_STATE",
            Status::KeyTag => "KEY_TAG",
            Status::KeyKind => "KEY_KIND",
            Status::KeyPd => "KEY_PD",
            Status::Bound => "BOUND",
            Status::Bus => "BUS",
            Status::MptBad => "MPT_BAD",
            Status::Disabled => "DISABLED",
            Status::BadRereg => "BAD_REREG",
            Status::Busy => "BUSY",
            Status::MrKey => "MR_KEY",
            Status::MrPd => "MR_PD",
            Status::MrRights => "MR_RIGHTS",
            Status::MrBounds => "MR_BOUNDS",
            Status::Privilege => "PRIVILEGE",
            Status::RemoteInv => "REMOTE_INV",
            Status::KeyQp => "KEY_QP",
            Status::BadSlot => "BAD_SLOT",
        }
    }

    /// What it means.
    pub const fn meaning(self) -> &'static str {
        match self {
            Status::Ok => "done",
            Status::Pending => "fence time ran out: keep index and pins, more to come",
            Status::BadOp => "unknown command",
            Status::BadLength => "length 0",
            Status::BadWrap => "start + length passes 2^64",
            Status::BadFlags => "unknown access flags",
            Status::BadAccess => "REMOTE_WRITE or REMOTE_ATOMIC without LOCAL_WRITE",
            Status::BadPageSize => "log_page outside 12..43",
            Status::BadEncoding => "unknown MTT encoding",
            Status::BadLevel => "unknown level, or deeper than MaxLevels, or table page size",
            Status::TableSmall => "the table cannot hold the pages of the length",
            Status::TableAlign => "table root or inline page not aligned",
            Status::NoIndex => "MPT full",
            Status::KeyIndex => "index not below the table size",
            Status::KeyState => "entry FREE or INVALID",
            Status::KeyTag => "no L_Key, or wrong tag",
            Status::KeyKind => "not a memory region",
            Status::KeyPd => "another protection domain",
            Status::Bound => "windows are bound",
            Status::Bus => "memory answered with an error",
            Status::MptBad => "MPT entry corrupted",
            Status::Disabled => "unit not enabled",
            Status::BadRereg => "no or unknown REREG flags",
            Status::Busy => "fence queue full of PENDING commands; nothing was changed",
            Status::MrKey => "bind: `mkey` does not name a valid region of kind MR or FRMR",
            Status::MrPd => "bind: the region is of another protection domain",
            Status::MrRights => {
                "bind: region without MW_BIND, or LOCAL_WRITE missing, or zero-based"
            }
            Status::MrBounds => "bind: the range is not inside the region",
            Status::Privilege => "physical regions are not allowed (CTRL.phys)",
            Status::RemoteInv => "the region does not allow remote invalidation",
            Status::KeyQp => "the window is bound to another queue pair",
            Status::BadSlot => "command queue: unknown version, or a bit that must be 0 is not",
        }
    }
}

/// Encodings of table entries: values of `encoding`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Encoding {
    /// Address only, all zero is 'not present'.
    Raw = 0,
    /// Bit 0 present and readable, bit 1 writable.
    Flagged = 1,
    /// As FLAGGED, with check bits over address and place.
    Checked = 2,
}

impl Encoding {
    /// Every value.
    pub const ALL: [Encoding; 3] = [Encoding::Raw, Encoding::Flagged, Encoding::Checked];

    /// The value with this code.
    pub const fn from_code(code: u8) -> Option<Encoding> {
        match code {
            0 => Some(Encoding::Raw),
            1 => Some(Encoding::Flagged),
            2 => Some(Encoding::Checked),
            _ => None,
        }
    }

    /// The code.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The name, as the documentation writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Encoding::Raw => "RAW",
            Encoding::Flagged => "FLAGGED",
            Encoding::Checked => "CHECKED",
        }
    }

    /// What it means.
    pub const fn meaning(self) -> &'static str {
        match self {
            Encoding::Raw => "address only, all zero is 'not present'",
            Encoding::Flagged => "bit 0 present and readable, bit 1 writable",
            Encoding::Checked => "as FLAGGED, with check bits over address and place",
        }
    }
}

/// Why a request was refused: numbers of the log and of the counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Syndrome {
    /// Accepted.
    Ok = 0,
    /// Len > 2^31.
    Length = 1,
    /// Index not below the table size.
    KeyIndex = 2,
    /// Entry FREE or INVALID.
    KeyState = 3,
    /// Role does not exist, key of the other role, or wrong tag.
    KeyTag = 4,
    /// Protection domain differs.
    Pd = 5,
    /// Type-2 window of another queue pair.
    Qp = 6,
    /// A needed right is missing.
    Rights = 7,
    /// Va + len passes 2^64.
    Wrap = 8,
    /// Outside the region.
    Bounds = 9,
    /// Atomic not 8 bytes long or not aligned to 8.
    Align = 10,
    /// Parent region of a window is gone.
    Parent = 11,
    /// Table entry not present.
    MttAbsent = 12,
    /// Table entry misaligned or does not allow the access.
    MttBad = 13,
    /// Memory answered with an error.
    Bus = 14,
    /// MPT entry corrupted (CRC or illegal fields).
    MptBad = 15,
    /// Unit not enabled, or MPT not cleared yet.
    Disabled = 16,
    /// The request's tag is still in use by an earlier request.
    TagBusy = 17,
    /// Page fault that is not held: the same request may pass later.
    Retry = 18,
    /// Physical address outside the host windows.
    HostWin = 19,
    /// The stream is blocked after bad keys.
    Blocked = 20,
}

impl Syndrome {
    /// Every value.
    pub const ALL: [Syndrome; 21] = [
        Syndrome::Ok,
        Syndrome::Length,
        Syndrome::KeyIndex,
        Syndrome::KeyState,
        Syndrome::KeyTag,
        Syndrome::Pd,
        Syndrome::Qp,
        Syndrome::Rights,
        Syndrome::Wrap,
        Syndrome::Bounds,
        Syndrome::Align,
        Syndrome::Parent,
        Syndrome::MttAbsent,
        Syndrome::MttBad,
        Syndrome::Bus,
        Syndrome::MptBad,
        Syndrome::Disabled,
        Syndrome::TagBusy,
        Syndrome::Retry,
        Syndrome::HostWin,
        Syndrome::Blocked,
    ];

    /// The value with this code.
    pub const fn from_code(code: u8) -> Option<Syndrome> {
        match code {
            0 => Some(Syndrome::Ok),
            1 => Some(Syndrome::Length),
            2 => Some(Syndrome::KeyIndex),
            3 => Some(Syndrome::KeyState),
            4 => Some(Syndrome::KeyTag),
            5 => Some(Syndrome::Pd),
            6 => Some(Syndrome::Qp),
            7 => Some(Syndrome::Rights),
            8 => Some(Syndrome::Wrap),
            9 => Some(Syndrome::Bounds),
            10 => Some(Syndrome::Align),
            11 => Some(Syndrome::Parent),
            12 => Some(Syndrome::MttAbsent),
            13 => Some(Syndrome::MttBad),
            14 => Some(Syndrome::Bus),
            15 => Some(Syndrome::MptBad),
            16 => Some(Syndrome::Disabled),
            17 => Some(Syndrome::TagBusy),
            18 => Some(Syndrome::Retry),
            19 => Some(Syndrome::HostWin),
            20 => Some(Syndrome::Blocked),
            _ => None,
        }
    }

    /// The code.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The name, as the documentation writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Syndrome::Ok => "OK",
            Syndrome::Length => "LENGTH",
            Syndrome::KeyIndex => "KEY_INDEX",
            Syndrome::KeyState => "KEY_STATE",
            Syndrome::KeyTag => "KEY_TAG",
            Syndrome::Pd => "PD",
            Syndrome::Qp => "QP",
            Syndrome::Rights => "RIGHTS",
            Syndrome::Wrap => "WRAP",
            Syndrome::Bounds => "BOUNDS",
            Syndrome::Align => "ALIGN",
            Syndrome::Parent => "PARENT",
            Syndrome::MttAbsent => "MTT_ABSENT",
            Syndrome::MttBad => "MTT_BAD",
            Syndrome::Bus => "BUS",
            Syndrome::MptBad => "MPT_BAD",
            Syndrome::Disabled => "DISABLED",
            Syndrome::TagBusy => "TAG_BUSY",
            Syndrome::Retry => "RETRY",
            Syndrome::HostWin => "HOST_WIN",
            Syndrome::Blocked => "BLOCKED",
        }
    }

    /// What it means.
    pub const fn meaning(self) -> &'static str {
        match self {
            Syndrome::Ok => "accepted",
            Syndrome::Length => "len > 2^31",
            Syndrome::KeyIndex => "index not below the table size",
            Syndrome::KeyState => "entry FREE or INVALID",
            Syndrome::KeyTag => "role does not exist, key of the other role, or wrong tag",
            Syndrome::Pd => "protection domain differs",
            Syndrome::Qp => "type-2 window of another queue pair",
            Syndrome::Rights => "a needed right is missing",
            Syndrome::Wrap => "va + len passes 2^64",
            Syndrome::Bounds => "outside the region",
            Syndrome::Align => "atomic not 8 bytes long or not aligned to 8",
            Syndrome::Parent => "parent region of a window is gone",
            Syndrome::MttAbsent => "table entry not present",
            Syndrome::MttBad => "table entry misaligned or does not allow the access",
            Syndrome::Bus => "memory answered with an error",
            Syndrome::MptBad => "MPT entry corrupted (CRC or illegal fields)",
            Syndrome::Disabled => "unit not enabled, or MPT not cleared yet",
            Syndrome::TagBusy => "the request's tag is still in use by an earlier request",
            Syndrome::Retry => "page fault that is not held: the same request may pass later",
            Syndrome::HostWin => "physical address outside the host windows",
            Syndrome::Blocked => "the stream is blocked after bad keys",
        }
    }
}

/// Bits of `flags`.
pub mod flag {
    /// ALLOC_MR: allowed; INVALIDATE: it is a remote one.
    pub const REMOTE_INV: u8 = 1 << 0;
    /// ALLOC_MW: type 2 (2B) instead of type 1.
    pub const MW2: u8 = 1 << 1;
    /// ALLOC_MW: type 2A, with FlagMw2.
    pub const MW2A: u8 = 1 << 2;
    /// PAGE_READY: the page will not come.
    pub const REFUSE: u8 = 1 << 0;
}

/// Bits of `rereg`.
pub mod rereg {
    /// start, length, page size and table.
    pub const TRANSLATION: u8 = 1 << 0;
    /// PD := new_pd.
    pub const PD: u8 = 1 << 1;
    /// access from the command.
    pub const ACCESS: u8 = 1 << 2;
}

/// Access bits of a command, as verbs number them (`IBV_ACCESS_*`).
pub mod access {
    /// local write (LW).
    pub const LOCAL_WRITE: u32 = 1 << 0;
    /// remote write (RW).
    pub const REMOTE_WRITE: u32 = 1 << 1;
    /// remote read (RR).
    pub const REMOTE_READ: u32 = 1 << 2;
    /// remote atomic (RA).
    pub const REMOTE_ATOMIC: u32 = 1 << 3;
    /// windows may be bound.
    pub const MW_BIND: u32 = 1 << 4;
    /// addresses are offsets from the start.
    pub const ZERO_BASED: u32 = 1 << 5;
    /// pages may be absent: page faults.
    pub const ON_DEMAND: u32 = 1 << 6;
    /// kept, not used.
    pub const HUGE_TLB: u32 = 1 << 7;
    /// FLUSH to global visibility.
    pub const FLUSH_GLOBAL: u32 = 1 << 8;
    /// FLUSH to persistence.
    pub const FLUSH_PERSISTENT: u32 = 1 << 9;
    /// attribute of response beats.
    pub const RELAXED_ORDERING: u32 = 1 << 20;
}

/// Bytes of a slot of the command queue where its fields begin.
pub mod cmdq_slot {
    /// returned in the completion.
    pub const ID: usize = 0;
    /// cmd_op_e.
    pub const OP: usize = 2;
    /// CmdqVersion.
    pub const VERSION: usize = 3;
    /// bits Flag*.
    pub const FLAGS: usize = 4;
    /// FAST_REG, BIND of type 2: new tag of the keys.
    pub const TAG: usize = 5;
    /// IBV_REREG_MR_* bits.
    pub const REREG: usize = 6;
    /// enc_e.
    pub const ENCODING: usize = 7;
    /// what it is about: L_Key; window: R_Key; PAGE_READY: slot.
    pub const KEY: usize = 8;
    /// BIND: L_Key of the region.
    pub const MKEY: usize = 12;
    /// PD of the region or window; must match one that exists.
    pub const PD: usize = 16;
    /// REREG with the PD bit.
    pub const NEW_PD: usize = 20;
    /// BIND of type 2, remote INVALIDATE: queue pair.
    pub const QPN: usize = 24;
    /// verbs access word, IBV_ACCESS_*.
    pub const ACCESS: usize = 28;
    /// start VA (iova).
    pub const START: usize = 32;
    /// bytes; ALLOC_MR: pages that a registration may have.
    pub const LENGTH: usize = 40;
    /// log2 of the page size, 12..43.
    pub const LOG_PAGE: usize = 48;
    /// 0, 1..MaxLevels, 5 (flat).
    pub const LEVEL: usize = 49;
    /// log2 of the table page size, 12..16.
    pub const LOG_TPAGE: usize = 50;
    /// level 0: page addresses; otherwise \[0\] is the table root.
    pub const FRAME: usize = 64;
}

/// Bytes of a slot of the completion queue where its fields begin.
pub mod cplq_slot {
    /// of the command.
    pub const ID: usize = 0;
    /// of the command.
    pub const OP: usize = 2;
    /// status_e.
    pub const STATUS: usize = 3;
    /// REG, REREG with status OK.
    pub const LKEY: usize = 4;
    /// 0 if the region has no remote right.
    pub const RKEY: usize = 8;
    /// slot of the next command that the unit takes.
    pub const CMDQ_HEAD: usize = 12;
    /// MPT index, with the keys.
    pub const INDEX: usize = 16;
    /// bit 0: the phase, 1 in the first round of the queue.
    pub const PHASE: usize = 63;
    /// QUERY with status OK: MPT entry as it is in memory.
    pub const ENTRY: usize = 64;
}
