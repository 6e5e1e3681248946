// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_csr.rdl by `make csr`: change that file, not this one.

//! Offsets, bits and properties of the registers.

use crate::{Access, Field, Register};

/// Identification. "TPT0".
pub const ID: u16 = 0x000;
/// What [`ID`] reads.
pub const ID_VALUE: u32 = 0x54505430;
/// Version. Version of the hardware.
pub const VERSION: u16 = 0x004;
/// What [`VERSION`] reads.
pub const VERSION_VALUE: u32 = 0x00000200;
/// Capabilities. Sizes of this instance.
pub const CAP: u16 = 0x008;
/// Capabilities 2. What is built into this instance.
pub const CAP2: u16 = 0x00c;
/// Control. Enabling is refused with bad settings, and with other values of the locked bits.
pub const CTRL: u16 = 0x010;
/// Status. State of the unit.
pub const STATUS: u16 = 0x014;
/// MPT base, low. Physical address of the MPT, bits 31:0; bits 11:0 must be 0. Locked while enabled.
pub const MPT_BASE_LO: u16 = 0x018;
/// MPT base, high. Physical address of the MPT, bits 63:32. Locked while enabled.
pub const MPT_BASE_HI: u16 = 0x01c;
/// MPT size. Entries of the MPT, 1 to 2^23. Locked while enabled.
pub const MPT_SIZE: u16 = 0x020;
/// Permutation secret. Secret of the permutation of key index fields, word 0 in bits 31:0. Reads as 0. Locked while enabled.
pub const PERM_SECRET: u16 = 0x030;
/// Tag secret. Secret of the tags of keys, word 0 in bits 31:0. Reads as 0. Locked while enabled.
pub const TAG_SECRET: u16 = 0x040;
/// Client reset. Write 1 to start, reads 1 until finished.
pub const CLIENT_RESET: u16 = 0x050;
/// Fence time. Time limit of fences in clocks; 0: none. A driver that forgets it still has a limit.
pub const FENCE_TIME: u16 = 0x054;
/// Errors. Sticky; write 1 to clear.
pub const ERROR: u16 = 0x058;
/// Interrupt status. What has happened; write 1 to clear. Bits that INT_ENABLE lets through raise irq_o.
pub const INT_STATUS: u16 = 0x060;
/// Interrupt enable. Which bits of INT_STATUS make an interrupt.
pub const INT_ENABLE: u16 = 0x064;
/// CNT_REQUESTS. Requests accepted.
pub const CNT_REQUESTS: u16 = 0x080;
/// CNT_MPT_HIT. MPT look-ups found at once.
pub const CNT_MPT_HIT: u16 = 0x084;
/// CNT_MPT_MISS. MPT look-ups that asked for a read.
pub const CNT_MPT_MISS: u16 = 0x088;
/// CNT_MPT_READ. MPT entries read from memory.
pub const CNT_MPT_READ: u16 = 0x08c;
/// CNT_MTT_HIT. MTT look-ups, one per level, found at once.
pub const CNT_MTT_HIT: u16 = 0x090;
/// CNT_MTT_MISS. MTT look-ups that asked for a read.
pub const CNT_MTT_MISS: u16 = 0x094;
/// CNT_MTT_READ. MTT lines read from memory.
pub const CNT_MTT_READ: u16 = 0x098;
/// CNT_SEGMENTS. Segments (OK beats with an address).
pub const CNT_SEGMENTS: u16 = 0x09c;
/// CNT_REFUSED. Requests that ended with a syndrome.
pub const CNT_REFUSED: u16 = 0x0a0;
/// CNT_BAD_DONE. Done messages that were ignored.
pub const CNT_BAD_DONE: u16 = 0x0a4;
/// CNT_FENCES. Grace periods that began.
pub const CNT_FENCES: u16 = 0x0a8;
/// CNT_EVICT. Stored cache lines replaced by others.
pub const CNT_EVICT: u16 = 0x0ac;
/// CNT_LATE. Refusals that were known too late for REFUSAL_TIME.
pub const CNT_LATE: u16 = 0x0b0;
/// Refusals by syndrome. Requests that ended with syndrome n, at 0x100 + 4 n, n from 1 on.
pub const SYN_COUNT: u16 = 0x104;
/// Refusals logged. Refused requests logged since reset, modulo 2^32.
pub const LOG_COUNT: u16 = 0x180;
/// Log of refusals. The last four refused requests, the newest first; 0 if there were fewer.
pub const LOG: u16 = 0x190;
/// Page faults waiting. Page faults that nobody has taken yet.
pub const FAULT_COUNT: u16 = 0x1c0;
/// Oldest page fault. All 0 if none waits.
pub const FAULT_INFO: u16 = 0x1c4;
/// Page of the oldest page fault, low. Number of the page in its region, bits 31:0.
pub const FAULT_PAGE_LO: u16 = 0x1c8;
/// Page of the oldest page fault, high. Rest of the number, and the request.
pub const FAULT_PAGE_HI: u16 = 0x1cc;
/// Take page fault. Takes the oldest page fault out of the queue. Reads as 0.
pub const FAULT_POP: u16 = 0x1d0;
/// Queue control. Enabling is refused with bad settings, and if the unit has no queues (CAP2.queues).
pub const QUEUE_CTRL: u16 = 0x200;
/// Queue status. State of the queues.
pub const QUEUE_STATUS: u16 = 0x204;
/// Command queue base, low. Physical address of the command queue, bits 31:0. Locked while the queues are enabled.
pub const CMDQ_BASE_LO: u16 = 0x210;
/// Command queue base, high. Physical address of the command queue, bits 63:32. Locked while the queues are enabled.
pub const CMDQ_BASE_HI: u16 = 0x214;
/// Command queue size. Size of the command queue. Locked while the queues are enabled.
pub const CMDQ_LOG_SIZE: u16 = 0x218;
/// Command queue doorbell. The slot behind the last command that the host has written. Moves forward only.
pub const CMDQ_TAIL: u16 = 0x21c;
/// Command queue head. The slot of the next command that the unit takes.
pub const CMDQ_HEAD: u16 = 0x220;
/// Completion queue base, low. Physical address of the completion queue, bits 31:0. Locked while the queues are enabled.
pub const CPLQ_BASE_LO: u16 = 0x230;
/// Completion queue base, high. Physical address of the completion queue, bits 63:32. Locked while the queues are enabled.
pub const CPLQ_BASE_HI: u16 = 0x234;
/// Completion queue size. Size of the completion queue. Locked while the queues are enabled.
pub const CPLQ_LOG_SIZE: u16 = 0x238;
/// Completion queue doorbell. The slot of the next completion that the host takes. Not beyond CPLQ_TAIL.
pub const CPLQ_HEAD: u16 = 0x23c;
/// Completion queue tail. The slot behind the last completion that the unit has written.
pub const CPLQ_TAIL: u16 = 0x240;
/// Host windows. Which windows are in force. If none is, every address is allowed. Locked while enabled.
pub const HOSTWIN_ENABLE: u16 = 0x280;
/// First page, low. Physical address of the first page, bits 31:0. Locked while enabled.
pub const HOSTWIN_BASE_LO: u16 = 0x2c0;
/// First page, high. Physical address of the first page, bits 63:32. Locked while enabled.
pub const HOSTWIN_BASE_HI: u16 = 0x2c4;
/// Last page, low. Physical address of the last page, bits 31:0. Locked while enabled.
pub const HOSTWIN_LIMIT_LO: u16 = 0x2c8;
/// Last page, high. Physical address of the last page, bits 63:32. Locked while enabled.
pub const HOSTWIN_LIMIT_HI: u16 = 0x2cc;
/// Alarm of bad keys. Bad keys: requests refused with KEY_INDEX, KEY_STATE, KEY_TAG, PD or QP. Locked without an alarm.
pub const ALARM: u16 = 0x300;
/// What is shown and cleared. Chooses for ALARM_STREAM, ALARM_PD and ALARM_CLEAR. Locked without an alarm.
pub const ALARM_SELECT: u16 = 0x304;
/// Bad keys of a stream. Of the stream that ALARM_SELECT names; 0 if there is none.
pub const ALARM_STREAM: u16 = 0x308;
/// Bad keys of a slot of PDs. Of the slot that ALARM_SELECT names.
pub const ALARM_PD: u16 = 0x30c;
/// Clear counts of bad keys. What is cleared. Reads as 0.
pub const ALARM_CLEAR: u16 = 0x310;
/// Blocked streams. Streams 32 n to 32 n + 31, counted over the clients: 64 to each.
pub const ALARM_BLOCKED: u16 = 0x320;
/// Partitions. How caches, contexts and slots for page faults are divided among tenants. Locked while enabled.
pub const ISOLATION: u16 = 0x340;
/// Partition of each group. Bits 2 g + 1 to 2 g: partition of group g, modulo the number of partitions. Locked while enabled.
pub const PART_MAP: u16 = 0x344;
/// Time of a refusal. When the refusal of a peer's request leaves. Locked while enabled.
pub const REFUSAL_TIME: u16 = 0x348;

/// Bits of [`VERSION`].
pub mod version {
    /// Patch number.
    pub const PATCH: u32 = 0xff;
    /// Minor number.
    pub const MINOR: u32 = 0xff00;
    /// Major number.
    pub const MAJOR: u32 = 0xff0000;
}

/// Bits of [`CAP`].
pub mod cap {
    /// Number of clients.
    pub const CLIENTS: u32 = 0xf;
    /// Deepest tree of tables.
    pub const MAX_LEVELS: u32 = 0x70;
    /// log2 of the streams of a client.
    pub const LOG_STREAMS: u32 = 0x380;
    /// log2 of the contexts.
    pub const LOG_CTX: u32 = 0x3c00;
    /// log2(AXI data width in bits / 128).
    pub const LOG_AXI_DATA: u32 = 0xc000;
    /// log2 of the sets of the MPT cache.
    pub const LOG_MPT_SETS: u32 = 0xf0000;
    /// log2 of the ways of the MPT cache.
    pub const LOG_MPT_WAYS: u32 = 0x300000;
    /// log2 of the sets of the MTT cache.
    pub const LOG_MTT_SETS: u32 = 0x3c00000;
    /// log2 of the ways of the MTT cache.
    pub const LOG_MTT_WAYS: u32 = 0xc000000;
    /// log2 of the lanes.
    pub const LOG_LANES: u32 = 0x30000000;
    /// Segments can be merged.
    pub const MERGE: u32 = 0x40000000;
}

/// Bits of [`CAP2`].
pub mod cap2 {
    /// Command and completion queue in memory.
    pub const QUEUES: u32 = 0x1;
    /// Fast registration, windows, invalidation and physical regions.
    pub const FRMR: u32 = 0x2;
    /// Bad keys are counted, and their streams can be blocked.
    pub const ALARM: u32 = 0x4;
    /// Refusals of peers can wait for a fixed time (REFUSAL_TIME).
    pub const REFUSAL_TIME: u32 = 0x8;
    /// Number of host windows.
    pub const WINDOWS: u32 = 0x70;
    /// Table entries may be CHECKED.
    pub const CHECKED: u32 = 0x80;
    /// Number of SYN_COUNT counters, one for each syndrome from 1 on.
    pub const SYNDROMES: u32 = 0x1f00;
    /// log2 of the most partitions of caches, contexts and slots for page faults.
    pub const LOG_PARTS: u32 = 0x6000;
    /// Number of entries of the log of refusals.
    pub const LOG_ENTRIES: u32 = 0x70000;
    /// log2 of the slots of PDs that count bad keys; 0 without an alarm.
    pub const LOG_ALARM_PDS: u32 = 0x780000;
    /// Slots for page faults; 0: no on-demand regions.
    pub const FAULT_SLOTS: u32 = 0xff000000;
}

/// Bits of [`CTRL`].
pub mod ctrl {
    /// Serve requests and commands.
    pub const ENABLE: u32 = 0x1;
    /// Key index fields are not permuted.
    pub const PLAIN: u32 = 0x2;
    /// Neighbouring pages of a request are one segment.
    pub const MERGE: u32 = 0x4;
    /// Physical regions may be registered.
    pub const PHYS: u32 = 0x8;
}

/// Bits of [`STATUS`].
pub mod status {
    /// Enabled and MPT cleared: requests are served.
    pub const READY: u32 = 0x1;
    /// Enabled, MPT being cleared.
    pub const CLEARING: u32 = 0x2;
    /// Clearing met a bus error; disable to leave.
    pub const CLEAR_ERROR: u32 = 0x4;
    /// A command or its fence is not finished.
    pub const FENCE_BUSY: u32 = 0x8;
    /// No request inside, no done owed.
    pub const IDLE: u32 = 0x10;
    /// Locked registers refuse writes.
    pub const LOCKED: u32 = 0x20;
}

/// Bits of [`CLIENT_RESET`].
pub mod client_reset {
    /// Reset of client 0.
    pub const CLIENT0: u32 = 0x1;
    /// Reset of client 1.
    pub const CLIENT1: u32 = 0x2;
    /// Reset of client 2.
    pub const CLIENT2: u32 = 0x4;
    /// Reset of client 3.
    pub const CLIENT3: u32 = 0x8;
}

/// Bits of [`ERROR`].
pub mod error {
    /// Unknown, early or second done.
    pub const BAD_DONE: u32 = 0x1;
    /// Request with a tag still in use.
    pub const TAG_BUSY: u32 = 0x2;
    /// An AXI error response.
    pub const BUS: u32 = 0x4;
    /// MPT entry with a wrong CRC.
    pub const MPT_BAD: u32 = 0x8;
    /// A fence ran into its time limit.
    pub const FENCE_TIME: u32 = 0x10;
    /// A doorbell was refused: slot number out of range, or queues not enabled.
    pub const DOORBELL: u32 = 0x20;
    /// A refusal was known too late for REFUSAL_TIME, and left when it was.
    pub const LATE: u32 = 0x40;
}

/// Bits of [`INT_STATUS`].
pub mod int_status {
    /// A bit of ERROR was set (again).
    pub const ERROR: u32 = 0x1;
    /// A request was refused.
    pub const REFUSED: u32 = 0x2;
    /// A completion was written while QUEUE_CTRL.arm was set.
    pub const COMPLETION: u32 = 0x4;
    /// A page fault began to wait.
    pub const PAGE_FAULT: u32 = 0x8;
    /// Clearing has ended: STATUS.ready or STATUS.clear_error has become 1.
    pub const CLEAR_DONE: u32 = 0x10;
    /// A count of bad keys has reached its threshold (ALARM).
    pub const ALARM: u32 = 0x20;
}

/// Bits of [`INT_ENABLE`].
pub mod int_enable {
    /// Of INT_STATUS.error.
    pub const ERROR: u32 = 0x1;
    /// Of INT_STATUS.refused.
    pub const REFUSED: u32 = 0x2;
    /// Of INT_STATUS.completion.
    pub const COMPLETION: u32 = 0x4;
    /// Of INT_STATUS.page_fault.
    pub const PAGE_FAULT: u32 = 0x8;
    /// Of INT_STATUS.clear_done.
    pub const CLEAR_DONE: u32 = 0x10;
    /// Of INT_STATUS.alarm.
    pub const ALARM: u32 = 0x20;
}

/// Bits of [`LOG`].
pub mod log {
    /// Tag of the request.
    pub const TAG: u32 = 0x3ff;
    /// Stream of the request.
    pub const STREAM: u32 = 0xfc00;
    /// Why it was refused; 0: the entry is empty.
    pub const SYNDROME: u32 = 0x1f0000;
    /// Client that asked.
    pub const CLIENT: u32 = 0x600000;
    /// Bits 7:0 of the number of the refusal; the first one after reset is 0.
    pub const REFUSAL: u32 = 0xff000000;
}

/// Bits of [`FAULT_COUNT`].
pub mod fault_count {
    /// Their number; the oldest is described by FAULT_INFO and FAULT_PAGE.
    pub const WAITING: u32 = 0xff;
}

/// Bits of [`FAULT_INFO`].
pub mod fault_info {
    /// MPT index of the region.
    pub const INDEX: u32 = 0x7fffff;
    /// The access needs a writable page.
    pub const WRITE: u32 = 0x800000;
    /// Names the fault until PAGE_READY.
    pub const SLOT: u32 = 0x7f000000;
    /// A fault waits.
    pub const VALID: u32 = 0x80000000;
}

/// Bits of [`FAULT_PAGE_HI`].
pub mod fault_page_hi {
    /// Number of the page, bits 39:32.
    pub const PAGE: u32 = 0xff;
    /// Tag of the request.
    pub const TAG: u32 = 0x3ff00;
    /// Client that asked.
    pub const CLIENT: u32 = 0x300000;
    /// The request waits for PAGE_READY; 0: it was answered RETRY.
    pub const HELD: u32 = 0x80000000;
}

/// Bits of [`FAULT_POP`].
pub mod fault_pop {
    /// Write 1: the next fault moves up.
    pub const POP: u32 = 0x1;
}

/// Bits of [`QUEUE_CTRL`].
pub mod queue_ctrl {
    /// Use the queues. Both indices start at slot 0.
    pub const ENABLE: u32 = 0x1;
    /// Write 1: the next completion sets INT_STATUS.completion; reads 1 until then.
    pub const ARM: u32 = 0x2;
}

/// Bits of [`QUEUE_STATUS`].
pub mod queue_status {
    /// The queues are in use.
    pub const ENABLED: u32 = 0x1;
    /// A slot is being read or written, or a command has no completion yet.
    pub const BUSY: u32 = 0x2;
    /// Memory refused an access to a slot; disable to leave.
    pub const ERROR: u32 = 0x4;
    /// A command waits until the completion queue has room for its completions.
    pub const FULL: u32 = 0x8;
}

/// Bits of [`CMDQ_BASE_LO`].
pub mod cmdq_base_lo {
    /// Bits 31:12 of the address; bits 11:0 are not kept and read as 0.
    pub const PAGE: u32 = 0xfffff000;
}

/// Bits of [`CMDQ_LOG_SIZE`].
pub mod cmdq_log_size {
    /// log2 of the number of slots, 1 to 16.
    pub const VALUE: u32 = 0x1f;
}

/// Bits of [`CMDQ_TAIL`].
pub mod cmdq_tail {
    /// Number of a slot, below the number of slots.
    pub const SLOT: u32 = 0xffff;
}

/// Bits of [`CMDQ_HEAD`].
pub mod cmdq_head {
    /// Number of a slot.
    pub const SLOT: u32 = 0xffff;
}

/// Bits of [`CPLQ_BASE_LO`].
pub mod cplq_base_lo {
    /// Bits 31:12 of the address; bits 11:0 are not kept and read as 0.
    pub const PAGE: u32 = 0xfffff000;
}

/// Bits of [`CPLQ_LOG_SIZE`].
pub mod cplq_log_size {
    /// log2 of the number of slots, 2 to 16.
    pub const VALUE: u32 = 0x1f;
}

/// Bits of [`CPLQ_HEAD`].
pub mod cplq_head {
    /// Number of a slot, below the number of slots.
    pub const SLOT: u32 = 0xffff;
}

/// Bits of [`CPLQ_TAIL`].
pub mod cplq_tail {
    /// Number of a slot.
    pub const SLOT: u32 = 0xffff;
}

/// Bits of [`HOSTWIN_ENABLE`].
pub mod hostwin_enable {
    /// Bit n: a translated address may lie in HOSTWIN[n].
    pub const ENABLE: u32 = 0xf;
}

/// Bits of [`HOSTWIN_BASE_LO`].
pub mod hostwin_base_lo {
    /// Bits 31:12 of the address; bits 11:0 are not kept and read as 0.
    pub const PAGE: u32 = 0xfffff000;
}

/// Bits of [`HOSTWIN_LIMIT_LO`].
pub mod hostwin_limit_lo {
    /// Bits 31:12 of the address; bits 11:0 are not kept and read as 0.
    pub const PAGE: u32 = 0xfffff000;
}

/// Bits of [`ALARM`].
pub mod alarm {
    /// A stream with so many of them raises the alarm; 0: none does.
    pub const STREAM_THRESHOLD: u32 = 0xff;
    /// A slot of PDs with so many of them raises the alarm; 0: none does.
    pub const PD_THRESHOLD: u32 = 0xff00;
    /// A stream that reaches its threshold is blocked until ALARM_CLEAR.
    pub const BLOCK: u32 = 0x10000;
}

/// Bits of [`ALARM_SELECT`].
pub mod alarm_select {
    /// Stream.
    pub const STREAM: u32 = 0x3f;
    /// Its client.
    pub const CLIENT: u32 = 0xc0;
    /// Slot of PDs, modulo the number of slots (CAP2.log_alarm_pds).
    pub const SLOT: u32 = 0xff00;
}

/// Bits of [`ALARM_STREAM`].
pub mod alarm_stream {
    /// Bad keys since it was cleared; stays at 255.
    pub const COUNT: u32 = 0xff;
    /// Its requests are refused with BLOCKED.
    pub const BLOCKED: u32 = 0x80000000;
}

/// Bits of [`ALARM_PD`].
pub mod alarm_pd {
    /// Bad keys since it was cleared; stays at 255.
    pub const COUNT: u32 = 0xff;
    /// PD of the last one.
    pub const PD: u32 = 0xffffff00;
}

/// Bits of [`ALARM_CLEAR`].
pub mod alarm_clear {
    /// Write 1: the stream that ALARM_SELECT names; it is not blocked any more.
    pub const STREAM: u32 = 0x1;
    /// Write 1: the slot of PDs that ALARM_SELECT names.
    pub const PD: u32 = 0x2;
    /// Write 1: all counts; no stream is blocked any more.
    pub const EVERY: u32 = 0x4;
}

/// Bits of [`ISOLATION`].
pub mod isolation {
    /// log2 of the partitions, at most CAP2.log_parts.
    pub const LOG_PARTS: u32 = 0x3;
    /// A PD belongs to group (PD >> pd_shift) modulo 16.
    pub const PD_SHIFT: u32 = 0x1f00;
}

/// Bits of [`REFUSAL_TIME`].
pub mod refusal_time {
    /// Clocks after it was accepted, if it is known by then; 0: at once.
    pub const CLOCKS: u32 = 0xfff;
}

/// Numbers of the counters, 32 bits each, wrapping.
pub mod counter {
    /// Number of counters.
    pub const COUNT: usize = 13;
    /// Requests accepted.
    pub const REQUESTS: usize = 0;
    /// MPT look-ups found at once.
    pub const MPT_HIT: usize = 1;
    /// MPT look-ups that asked for a read.
    pub const MPT_MISS: usize = 2;
    /// MPT entries read from memory.
    pub const MPT_READ: usize = 3;
    /// MTT look-ups, one per level, found at once.
    pub const MTT_HIT: usize = 4;
    /// MTT look-ups that asked for a read.
    pub const MTT_MISS: usize = 5;
    /// MTT lines read from memory.
    pub const MTT_READ: usize = 6;
    /// Segments (OK beats with an address).
    pub const SEGMENTS: usize = 7;
    /// Requests that ended with a syndrome.
    pub const REFUSED: usize = 8;
    /// Done messages that were ignored.
    pub const BAD_DONE: usize = 9;
    /// Grace periods that began.
    pub const FENCES: usize = 10;
    /// Stored cache lines replaced by others.
    pub const EVICT: usize = 11;
    /// Refusals that were known too late for REFUSAL_TIME.
    pub const LATE: usize = 12;
    /// Names, in order.
    pub const NAMES: [&str; COUNT] = [
        "Requests", "MptHit", "MptMiss", "MptRead", "MttHit", "MttMiss", "MttRead", "Segments",
        "Refused", "BadDone", "Fences", "Evict", "Late",
    ];
}

/// All registers, in the order of their offsets.
pub const REGISTERS: &[Register] = &[
    Register {
        name: "ID",
        offset: ID,
        count: 1,
        stride: 4,
        reset: 0x54505430,
        lock: None,
        fields: &[Field {
            name: "value",
            mask: 0xffffffff,
            access: Access::Ro,
            live: false,
            lock: None,
        }],
    },
    Register {
        name: "VERSION",
        offset: VERSION,
        count: 1,
        stride: 4,
        reset: 0x200,
        lock: None,
        fields: &[
            Field {
                name: "patch",
                mask: 0xff,
                access: Access::Ro,
                live: false,
                lock: None,
            },
            Field {
                name: "minor",
                mask: 0xff00,
                access: Access::Ro,
                live: false,
                lock: None,
            },
            Field {
                name: "major",
                mask: 0xff0000,
                access: Access::Ro,
                live: false,
                lock: None,
            },
        ],
    },
    Register {
        name: "CAP",
        offset: CAP,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[
            Field {
                name: "clients",
                mask: 0xf,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "max_levels",
                mask: 0x70,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "log_streams",
                mask: 0x380,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "log_ctx",
                mask: 0x3c00,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "log_axi_data",
                mask: 0xc000,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "log_mpt_sets",
                mask: 0xf0000,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "log_mpt_ways",
                mask: 0x300000,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "log_mtt_sets",
                mask: 0x3c00000,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "log_mtt_ways",
                mask: 0xc000000,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "log_lanes",
                mask: 0x30000000,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "merge",
                mask: 0x40000000,
                access: Access::Ro,
                live: true,
                lock: None,
            },
        ],
    },
    Register {
        name: "CAP2",
        offset: CAP2,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[
            Field {
                name: "queues",
                mask: 0x1,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "frmr",
                mask: 0x2,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "alarm",
                mask: 0x4,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "refusal_time",
                mask: 0x8,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "windows",
                mask: 0x70,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "checked",
                mask: 0x80,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "syndromes",
                mask: 0x1f00,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "log_parts",
                mask: 0x6000,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "log_entries",
                mask: 0x70000,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "log_alarm_pds",
                mask: 0x780000,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "fault_slots",
                mask: 0xff000000,
                access: Access::Ro,
                live: true,
                lock: None,
            },
        ],
    },
    Register {
        name: "CTRL",
        offset: CTRL,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[
            Field {
                name: "enable",
                mask: 0x1,
                access: Access::Rw,
                live: false,
                lock: None,
            },
            Field {
                name: "plain",
                mask: 0x2,
                access: Access::Rw,
                live: false,
                lock: Some("locked"),
            },
            Field {
                name: "merge",
                mask: 0x4,
                access: Access::Rw,
                live: false,
                lock: Some("locked"),
            },
            Field {
                name: "phys",
                mask: 0x8,
                access: Access::Rw,
                live: false,
                lock: Some("locked"),
            },
        ],
    },
    Register {
        name: "STATUS",
        offset: STATUS,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[
            Field {
                name: "ready",
                mask: 0x1,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "clearing",
                mask: 0x2,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "clear_error",
                mask: 0x4,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "fence_busy",
                mask: 0x8,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "idle",
                mask: 0x10,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "locked",
                mask: 0x20,
                access: Access::Ro,
                live: true,
                lock: None,
            },
        ],
    },
    Register {
        name: "MPT_BASE_LO",
        offset: MPT_BASE_LO,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: Some("locked"),
        fields: &[Field {
            name: "value",
            mask: 0xffffffff,
            access: Access::Rw,
            live: false,
            lock: Some("locked"),
        }],
    },
    Register {
        name: "MPT_BASE_HI",
        offset: MPT_BASE_HI,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: Some("locked"),
        fields: &[Field {
            name: "value",
            mask: 0xffffffff,
            access: Access::Rw,
            live: false,
            lock: Some("locked"),
        }],
    },
    Register {
        name: "MPT_SIZE",
        offset: MPT_SIZE,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: Some("locked"),
        fields: &[Field {
            name: "value",
            mask: 0xffffffff,
            access: Access::Rw,
            live: false,
            lock: Some("locked"),
        }],
    },
    Register {
        name: "PERM_SECRET",
        offset: PERM_SECRET,
        count: 4,
        stride: 4,
        reset: 0x0,
        lock: Some("locked"),
        fields: &[Field {
            name: "value",
            mask: 0xffffffff,
            access: Access::Wo,
            live: false,
            lock: Some("locked"),
        }],
    },
    Register {
        name: "TAG_SECRET",
        offset: TAG_SECRET,
        count: 4,
        stride: 4,
        reset: 0x0,
        lock: Some("locked"),
        fields: &[Field {
            name: "value",
            mask: 0xffffffff,
            access: Access::Wo,
            live: false,
            lock: Some("locked"),
        }],
    },
    Register {
        name: "CLIENT_RESET",
        offset: CLIENT_RESET,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[
            Field {
                name: "client0",
                mask: 0x1,
                access: Access::W1s,
                live: false,
                lock: None,
            },
            Field {
                name: "client1",
                mask: 0x2,
                access: Access::W1s,
                live: false,
                lock: None,
            },
            Field {
                name: "client2",
                mask: 0x4,
                access: Access::W1s,
                live: false,
                lock: None,
            },
            Field {
                name: "client3",
                mask: 0x8,
                access: Access::W1s,
                live: false,
                lock: None,
            },
        ],
    },
    Register {
        name: "FENCE_TIME",
        offset: FENCE_TIME,
        count: 1,
        stride: 4,
        reset: 0x100000,
        lock: None,
        fields: &[Field {
            name: "value",
            mask: 0xffffffff,
            access: Access::Rw,
            live: false,
            lock: None,
        }],
    },
    Register {
        name: "ERROR",
        offset: ERROR,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[
            Field {
                name: "bad_done",
                mask: 0x1,
                access: Access::W1c,
                live: false,
                lock: None,
            },
            Field {
                name: "tag_busy",
                mask: 0x2,
                access: Access::W1c,
                live: false,
                lock: None,
            },
            Field {
                name: "bus",
                mask: 0x4,
                access: Access::W1c,
                live: false,
                lock: None,
            },
            Field {
                name: "mpt_bad",
                mask: 0x8,
                access: Access::W1c,
                live: false,
                lock: None,
            },
            Field {
                name: "fence_time",
                mask: 0x10,
                access: Access::W1c,
                live: false,
                lock: None,
            },
            Field {
                name: "doorbell",
                mask: 0x20,
                access: Access::W1c,
                live: false,
                lock: None,
            },
            Field {
                name: "late",
                mask: 0x40,
                access: Access::W1c,
                live: false,
                lock: None,
            },
        ],
    },
    Register {
        name: "INT_STATUS",
        offset: INT_STATUS,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[
            Field {
                name: "error",
                mask: 0x1,
                access: Access::W1c,
                live: false,
                lock: None,
            },
            Field {
                name: "refused",
                mask: 0x2,
                access: Access::W1c,
                live: false,
                lock: None,
            },
            Field {
                name: "completion",
                mask: 0x4,
                access: Access::W1c,
                live: false,
                lock: None,
            },
            Field {
                name: "page_fault",
                mask: 0x8,
                access: Access::W1c,
                live: false,
                lock: None,
            },
            Field {
                name: "clear_done",
                mask: 0x10,
                access: Access::W1c,
                live: false,
                lock: None,
            },
            Field {
                name: "alarm",
                mask: 0x20,
                access: Access::W1c,
                live: false,
                lock: None,
            },
        ],
    },
    Register {
        name: "INT_ENABLE",
        offset: INT_ENABLE,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[
            Field {
                name: "error",
                mask: 0x1,
                access: Access::Rw,
                live: false,
                lock: None,
            },
            Field {
                name: "refused",
                mask: 0x2,
                access: Access::Rw,
                live: false,
                lock: None,
            },
            Field {
                name: "completion",
                mask: 0x4,
                access: Access::Rw,
                live: false,
                lock: None,
            },
            Field {
                name: "page_fault",
                mask: 0x8,
                access: Access::Rw,
                live: false,
                lock: None,
            },
            Field {
                name: "clear_done",
                mask: 0x10,
                access: Access::Rw,
                live: false,
                lock: None,
            },
            Field {
                name: "alarm",
                mask: 0x20,
                access: Access::Rw,
                live: false,
                lock: None,
            },
        ],
    },
    Register {
        name: "CNT_REQUESTS",
        offset: CNT_REQUESTS,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[Field {
            name: "value",
            mask: 0xffffffff,
            access: Access::Ro,
            live: false,
            lock: None,
        }],
    },
    Register {
        name: "CNT_MPT_HIT",
        offset: CNT_MPT_HIT,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[Field {
            name: "value",
            mask: 0xffffffff,
            access: Access::Ro,
            live: false,
            lock: None,
        }],
    },
    Register {
        name: "CNT_MPT_MISS",
        offset: CNT_MPT_MISS,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[Field {
            name: "value",
            mask: 0xffffffff,
            access: Access::Ro,
            live: false,
            lock: None,
        }],
    },
    Register {
        name: "CNT_MPT_READ",
        offset: CNT_MPT_READ,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[Field {
            name: "value",
            mask: 0xffffffff,
            access: Access::Ro,
            live: false,
            lock: None,
        }],
    },
    Register {
        name: "CNT_MTT_HIT",
        offset: CNT_MTT_HIT,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[Field {
            name: "value",
            mask: 0xffffffff,
            access: Access::Ro,
            live: false,
            lock: None,
        }],
    },
    Register {
        name: "CNT_MTT_MISS",
        offset: CNT_MTT_MISS,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[Field {
            name: "value",
            mask: 0xffffffff,
            access: Access::Ro,
            live: false,
            lock: None,
        }],
    },
    Register {
        name: "CNT_MTT_READ",
        offset: CNT_MTT_READ,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[Field {
            name: "value",
            mask: 0xffffffff,
            access: Access::Ro,
            live: false,
            lock: None,
        }],
    },
    Register {
        name: "CNT_SEGMENTS",
        offset: CNT_SEGMENTS,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[Field {
            name: "value",
            mask: 0xffffffff,
            access: Access::Ro,
            live: false,
            lock: None,
        }],
    },
    Register {
        name: "CNT_REFUSED",
        offset: CNT_REFUSED,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[Field {
            name: "value",
            mask: 0xffffffff,
            access: Access::Ro,
            live: false,
            lock: None,
        }],
    },
    Register {
        name: "CNT_BAD_DONE",
        offset: CNT_BAD_DONE,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[Field {
            name: "value",
            mask: 0xffffffff,
            access: Access::Ro,
            live: false,
            lock: None,
        }],
    },
    Register {
        name: "CNT_FENCES",
        offset: CNT_FENCES,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[Field {
            name: "value",
            mask: 0xffffffff,
            access: Access::Ro,
            live: false,
            lock: None,
        }],
    },
    Register {
        name: "CNT_EVICT",
        offset: CNT_EVICT,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[Field {
            name: "value",
            mask: 0xffffffff,
            access: Access::Ro,
            live: false,
            lock: None,
        }],
    },
    Register {
        name: "CNT_LATE",
        offset: CNT_LATE,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[Field {
            name: "value",
            mask: 0xffffffff,
            access: Access::Ro,
            live: false,
            lock: None,
        }],
    },
    Register {
        name: "SYN_COUNT",
        offset: SYN_COUNT,
        count: 20,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[Field {
            name: "value",
            mask: 0xffffffff,
            access: Access::Ro,
            live: false,
            lock: None,
        }],
    },
    Register {
        name: "LOG_COUNT",
        offset: LOG_COUNT,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[Field {
            name: "value",
            mask: 0xffffffff,
            access: Access::Ro,
            live: true,
            lock: None,
        }],
    },
    Register {
        name: "LOG",
        offset: LOG,
        count: 4,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[
            Field {
                name: "tag",
                mask: 0x3ff,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "stream",
                mask: 0xfc00,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "syndrome",
                mask: 0x1f0000,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "client",
                mask: 0x600000,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "refusal",
                mask: 0xff000000,
                access: Access::Ro,
                live: true,
                lock: None,
            },
        ],
    },
    Register {
        name: "FAULT_COUNT",
        offset: FAULT_COUNT,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[Field {
            name: "waiting",
            mask: 0xff,
            access: Access::Ro,
            live: true,
            lock: None,
        }],
    },
    Register {
        name: "FAULT_INFO",
        offset: FAULT_INFO,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[
            Field {
                name: "index",
                mask: 0x7fffff,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "write",
                mask: 0x800000,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "slot",
                mask: 0x7f000000,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "valid",
                mask: 0x80000000,
                access: Access::Ro,
                live: true,
                lock: None,
            },
        ],
    },
    Register {
        name: "FAULT_PAGE_LO",
        offset: FAULT_PAGE_LO,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[Field {
            name: "value",
            mask: 0xffffffff,
            access: Access::Ro,
            live: true,
            lock: None,
        }],
    },
    Register {
        name: "FAULT_PAGE_HI",
        offset: FAULT_PAGE_HI,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[
            Field {
                name: "page",
                mask: 0xff,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "tag",
                mask: 0x3ff00,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "client",
                mask: 0x300000,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "held",
                mask: 0x80000000,
                access: Access::Ro,
                live: true,
                lock: None,
            },
        ],
    },
    Register {
        name: "FAULT_POP",
        offset: FAULT_POP,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[Field {
            name: "pop",
            mask: 0x1,
            access: Access::W1p,
            live: false,
            lock: None,
        }],
    },
    Register {
        name: "QUEUE_CTRL",
        offset: QUEUE_CTRL,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[
            Field {
                name: "enable",
                mask: 0x1,
                access: Access::Rw,
                live: false,
                lock: None,
            },
            Field {
                name: "arm",
                mask: 0x2,
                access: Access::W1s,
                live: false,
                lock: None,
            },
        ],
    },
    Register {
        name: "QUEUE_STATUS",
        offset: QUEUE_STATUS,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[
            Field {
                name: "enabled",
                mask: 0x1,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "busy",
                mask: 0x2,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "error",
                mask: 0x4,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "full",
                mask: 0x8,
                access: Access::Ro,
                live: true,
                lock: None,
            },
        ],
    },
    Register {
        name: "CMDQ_BASE_LO",
        offset: CMDQ_BASE_LO,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: Some("queue_locked"),
        fields: &[Field {
            name: "page",
            mask: 0xfffff000,
            access: Access::Rw,
            live: false,
            lock: Some("queue_locked"),
        }],
    },
    Register {
        name: "CMDQ_BASE_HI",
        offset: CMDQ_BASE_HI,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: Some("queue_locked"),
        fields: &[Field {
            name: "value",
            mask: 0xffffffff,
            access: Access::Rw,
            live: false,
            lock: Some("queue_locked"),
        }],
    },
    Register {
        name: "CMDQ_LOG_SIZE",
        offset: CMDQ_LOG_SIZE,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: Some("queue_locked"),
        fields: &[Field {
            name: "value",
            mask: 0x1f,
            access: Access::Rw,
            live: false,
            lock: Some("queue_locked"),
        }],
    },
    Register {
        name: "CMDQ_TAIL",
        offset: CMDQ_TAIL,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[Field {
            name: "slot",
            mask: 0xffff,
            access: Access::Rw,
            live: false,
            lock: None,
        }],
    },
    Register {
        name: "CMDQ_HEAD",
        offset: CMDQ_HEAD,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[Field {
            name: "slot",
            mask: 0xffff,
            access: Access::Ro,
            live: true,
            lock: None,
        }],
    },
    Register {
        name: "CPLQ_BASE_LO",
        offset: CPLQ_BASE_LO,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: Some("queue_locked"),
        fields: &[Field {
            name: "page",
            mask: 0xfffff000,
            access: Access::Rw,
            live: false,
            lock: Some("queue_locked"),
        }],
    },
    Register {
        name: "CPLQ_BASE_HI",
        offset: CPLQ_BASE_HI,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: Some("queue_locked"),
        fields: &[Field {
            name: "value",
            mask: 0xffffffff,
            access: Access::Rw,
            live: false,
            lock: Some("queue_locked"),
        }],
    },
    Register {
        name: "CPLQ_LOG_SIZE",
        offset: CPLQ_LOG_SIZE,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: Some("queue_locked"),
        fields: &[Field {
            name: "value",
            mask: 0x1f,
            access: Access::Rw,
            live: false,
            lock: Some("queue_locked"),
        }],
    },
    Register {
        name: "CPLQ_HEAD",
        offset: CPLQ_HEAD,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[Field {
            name: "slot",
            mask: 0xffff,
            access: Access::Rw,
            live: false,
            lock: None,
        }],
    },
    Register {
        name: "CPLQ_TAIL",
        offset: CPLQ_TAIL,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[Field {
            name: "slot",
            mask: 0xffff,
            access: Access::Ro,
            live: true,
            lock: None,
        }],
    },
    Register {
        name: "HOSTWIN_ENABLE",
        offset: HOSTWIN_ENABLE,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: Some("window_locked"),
        fields: &[Field {
            name: "enable",
            mask: 0xf,
            access: Access::Rw,
            live: false,
            lock: Some("window_locked"),
        }],
    },
    Register {
        name: "HOSTWIN_BASE_LO",
        offset: HOSTWIN_BASE_LO,
        count: 4,
        stride: 16,
        reset: 0x0,
        lock: Some("window_locked"),
        fields: &[Field {
            name: "page",
            mask: 0xfffff000,
            access: Access::Rw,
            live: false,
            lock: Some("window_locked"),
        }],
    },
    Register {
        name: "HOSTWIN_BASE_HI",
        offset: HOSTWIN_BASE_HI,
        count: 4,
        stride: 16,
        reset: 0x0,
        lock: Some("window_locked"),
        fields: &[Field {
            name: "value",
            mask: 0xffffffff,
            access: Access::Rw,
            live: false,
            lock: Some("window_locked"),
        }],
    },
    Register {
        name: "HOSTWIN_LIMIT_LO",
        offset: HOSTWIN_LIMIT_LO,
        count: 4,
        stride: 16,
        reset: 0x0,
        lock: Some("window_locked"),
        fields: &[Field {
            name: "page",
            mask: 0xfffff000,
            access: Access::Rw,
            live: false,
            lock: Some("window_locked"),
        }],
    },
    Register {
        name: "HOSTWIN_LIMIT_HI",
        offset: HOSTWIN_LIMIT_HI,
        count: 4,
        stride: 16,
        reset: 0x0,
        lock: Some("window_locked"),
        fields: &[Field {
            name: "value",
            mask: 0xffffffff,
            access: Access::Rw,
            live: false,
            lock: Some("window_locked"),
        }],
    },
    Register {
        name: "ALARM",
        offset: ALARM,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: Some("no_alarm"),
        fields: &[
            Field {
                name: "stream_threshold",
                mask: 0xff,
                access: Access::Rw,
                live: false,
                lock: Some("no_alarm"),
            },
            Field {
                name: "pd_threshold",
                mask: 0xff00,
                access: Access::Rw,
                live: false,
                lock: Some("no_alarm"),
            },
            Field {
                name: "block",
                mask: 0x10000,
                access: Access::Rw,
                live: false,
                lock: Some("no_alarm"),
            },
        ],
    },
    Register {
        name: "ALARM_SELECT",
        offset: ALARM_SELECT,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: Some("no_alarm"),
        fields: &[
            Field {
                name: "stream",
                mask: 0x3f,
                access: Access::Rw,
                live: false,
                lock: Some("no_alarm"),
            },
            Field {
                name: "client",
                mask: 0xc0,
                access: Access::Rw,
                live: false,
                lock: Some("no_alarm"),
            },
            Field {
                name: "slot",
                mask: 0xff00,
                access: Access::Rw,
                live: false,
                lock: Some("no_alarm"),
            },
        ],
    },
    Register {
        name: "ALARM_STREAM",
        offset: ALARM_STREAM,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[
            Field {
                name: "count",
                mask: 0xff,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "blocked",
                mask: 0x80000000,
                access: Access::Ro,
                live: true,
                lock: None,
            },
        ],
    },
    Register {
        name: "ALARM_PD",
        offset: ALARM_PD,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[
            Field {
                name: "count",
                mask: 0xff,
                access: Access::Ro,
                live: true,
                lock: None,
            },
            Field {
                name: "pd",
                mask: 0xffffff00,
                access: Access::Ro,
                live: true,
                lock: None,
            },
        ],
    },
    Register {
        name: "ALARM_CLEAR",
        offset: ALARM_CLEAR,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[
            Field {
                name: "stream",
                mask: 0x1,
                access: Access::W1p,
                live: false,
                lock: None,
            },
            Field {
                name: "pd",
                mask: 0x2,
                access: Access::W1p,
                live: false,
                lock: None,
            },
            Field {
                name: "every",
                mask: 0x4,
                access: Access::W1p,
                live: false,
                lock: None,
            },
        ],
    },
    Register {
        name: "ALARM_BLOCKED",
        offset: ALARM_BLOCKED,
        count: 8,
        stride: 4,
        reset: 0x0,
        lock: None,
        fields: &[Field {
            name: "streams",
            mask: 0xffffffff,
            access: Access::Ro,
            live: true,
            lock: None,
        }],
    },
    Register {
        name: "ISOLATION",
        offset: ISOLATION,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: Some("locked"),
        fields: &[
            Field {
                name: "log_parts",
                mask: 0x3,
                access: Access::Rw,
                live: false,
                lock: Some("locked"),
            },
            Field {
                name: "pd_shift",
                mask: 0x1f00,
                access: Access::Rw,
                live: false,
                lock: Some("locked"),
            },
        ],
    },
    Register {
        name: "PART_MAP",
        offset: PART_MAP,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: Some("locked"),
        fields: &[Field {
            name: "value",
            mask: 0xffffffff,
            access: Access::Rw,
            live: false,
            lock: Some("locked"),
        }],
    },
    Register {
        name: "REFUSAL_TIME",
        offset: REFUSAL_TIME,
        count: 1,
        stride: 4,
        reset: 0x0,
        lock: Some("no_refusal_time"),
        fields: &[Field {
            name: "clocks",
            mask: 0xfff,
            access: Access::Rw,
            live: false,
            lock: Some("no_refusal_time"),
        }],
    },
];
