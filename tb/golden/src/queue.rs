// SPDX-License-Identifier: Apache-2.0
//! Slots of the command queue and of the completion queue in host memory (docs/queues.md).
//!
//! Both have 128 bytes, little-endian. [`CMD_FIELDS`] and [`CPL_FIELDS`] are the layouts, compared
//! with the package by a test; the codecs work from them.

use crate::codec::MPT_BYTES;
use crate::types::{CmdOp, Command, Completion, Key, Status};

/// Bytes of a slot of either queue.
pub const SLOT_BYTES: usize = 128;
/// Version of a command slot.
pub const VERSION: u8 = 1;
/// log2 of the slots that a command queue may have.
pub const CMDQ_LOG_RANGE: std::ops::RangeInclusive<u8> = 1..=16;
/// log2 of the slots that a completion queue may have.
pub const CPLQ_LOG_RANGE: std::ops::RangeInclusive<u8> = 2..=16;

/// A field of a slot: whole bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name.
    pub name: &'static str,
    /// First byte.
    pub at: usize,
    /// Bytes of an element.
    pub bytes: usize,
    /// Elements; 1 if the field is no array.
    pub count: usize,
    /// Bits of an element that may be other than 0.
    pub bits: usize,
}

const fn field(name: &'static str, at: usize, bytes: usize, bits: usize) -> Field {
    array(name, at, bytes, 1, bits)
}

const fn array(name: &'static str, at: usize, bytes: usize, count: usize, bits: usize) -> Field {
    Field {
        name,
        at,
        bytes,
        count,
        bits,
    }
}

/// Fields of a command slot, in order.
pub const CMD_FIELDS: &[Field] = &[
    field("id", 0, 2, 16),
    field("op", 2, 1, 8),
    field("version", 3, 1, 8),
    field("flags", 4, 1, 4),
    field("tag", 5, 1, 8),
    field("rereg", 6, 1, 3),
    field("encoding", 7, 1, 2),
    field("key", 8, 4, 32),
    field("mkey", 12, 4, 32),
    field("pd", 16, 4, 24),
    field("new_pd", 20, 4, 24),
    field("qpn", 24, 4, 24),
    field("access", 28, 4, 32),
    field("start", 32, 8, 64),
    field("length", 40, 8, 64),
    field("log_page", 48, 1, 6),
    field("level", 49, 1, 3),
    field("log_tpage", 50, 1, 5),
    array("rsvd0", 51, 1, 13, 0),
    array("frame", 64, 8, 4, 64),
    array("rsvd1", 96, 1, 32, 0),
];

/// Fields of a completion slot, in order.
pub const CPL_FIELDS: &[Field] = &[
    field("id", 0, 2, 16),
    field("op", 2, 1, 8),
    field("status", 3, 1, 8),
    field("lkey", 4, 4, 32),
    field("rkey", 8, 4, 32),
    field("cmdq_head", 12, 2, 16),
    field("rsvd0", 14, 2, 0),
    field("index", 16, 4, 23),
    array("rsvd1", 20, 1, 43, 0),
    field("phase", 63, 1, 1),
    array("entry", 64, 1, 64, 8),
];

/// A slot as it is in memory.
pub type Slot = [u8; SLOT_BYTES];

fn find(fields: &[Field], name: &str) -> Field {
    match fields.iter().find(|field| field.name == name) {
        Some(field) => *field,
        None => panic!("no slot has a field {name}"),
    }
}

/// Reads element `k` of a field.
pub fn get(fields: &[Field], slot: &Slot, name: &str, k: usize) -> u64 {
    let field = find(fields, name);
    let at = field.at + k * field.bytes;
    let mut bytes = [0; 8];
    bytes[..field.bytes].copy_from_slice(&slot[at..at + field.bytes]);
    u64::from_le_bytes(bytes)
}

/// Writes element `k` of a field, cut to its bytes.
pub fn put(fields: &[Field], slot: &mut Slot, name: &str, k: usize, value: u64) {
    let field = find(fields, name);
    let at = field.at + k * field.bytes;
    slot[at..at + field.bytes].copy_from_slice(&value.to_le_bytes()[..field.bytes]);
}

/// The slot of a command.
pub fn encode(command: &Command) -> Slot {
    let mut slot = [0; SLOT_BYTES];
    let mut set = |name, value| put(CMD_FIELDS, &mut slot, name, 0, value);
    set("id", command.id.into());
    set("op", command.op.into());
    set("version", VERSION.into());
    set("flags", command.flags.into());
    set("tag", command.tag.into());
    set("rereg", command.rereg.into());
    set("encoding", command.encoding.into());
    set("key", command.key.0.into());
    set("mkey", command.mkey.0.into());
    set("pd", command.pd.into());
    set("new_pd", command.new_pd.into());
    set("qpn", command.qpn.into());
    set("access", command.access.into());
    set("start", command.start);
    set("length", command.length);
    set("log_page", command.log_page.into());
    set("level", command.level.into());
    set("log_tpage", command.log_tpage.into());
    for (k, frame) in command.frame.iter().enumerate() {
        put(CMD_FIELDS, &mut slot, "frame", k, *frame);
    }
    slot
}

/// What the unit makes of a slot: a command, or the status with which it refuses the slot.
pub fn decode(slot: &Slot) -> Result<Command, Status> {
    let fits = CMD_FIELDS.iter().all(|field| {
        let over = |value: u64| field.bits == 64 || value >> field.bits == 0;
        (0..field.count).all(|k| over(get(CMD_FIELDS, slot, field.name, k)))
    });
    let read = |name| get(CMD_FIELDS, slot, name, 0);
    if !fits || read("version") != VERSION.into() {
        return Err(Status::BadSlot);
    }
    if read("op") > 15 {
        return Err(Status::BadOp);
    }
    Ok(Command {
        id: read("id") as u16,
        op: read("op") as u8,
        flags: read("flags") as u8,
        tag: read("tag") as u8,
        qpn: read("qpn") as u32,
        mkey: Key(read("mkey") as u32),
        key: Key(read("key") as u32),
        pd: read("pd") as u32,
        access: read("access") as u32,
        start: read("start"),
        length: read("length"),
        log_page: read("log_page") as u8,
        level: read("level") as u8,
        log_tpage: read("log_tpage") as u8,
        encoding: read("encoding") as u8,
        rereg: read("rereg") as u8,
        new_pd: read("new_pd") as u32,
        frame: std::array::from_fn(|k| get(CMD_FIELDS, slot, "frame", k)),
    })
}

/// A completion slot, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompletionSlot {
    /// The completion. Its entry is 0 if the slot's second half does not belong to it.
    pub completion: Completion,
    /// The whole operation code: that of a refused slot may be any.
    pub op: u8,
    /// Slot of the next command that the unit takes.
    pub cmdq_head: u16,
}

/// True if the slot holds a completion of the round with this phase.
pub fn is_ready(slot: &Slot, phase: bool) -> bool {
    slot[find(CPL_FIELDS, "phase").at] & 1 == u8::from(phase)
}

/// Takes a completion slot apart. `Err`: what is wrong with it.
pub fn decode_completion(slot: &Slot) -> Result<CompletionSlot, String> {
    let read = |name| get(CPL_FIELDS, slot, name, 0);
    let reserved = slot[14..16].iter().chain(&slot[20..63]);
    if reserved.into_iter().any(|byte| *byte != 0) || read("phase") > 1 {
        return Err(format!("reserved bytes of {slot:02x?} are not 0"));
    }
    let code = read("status") as u8;
    let Some(status) = Status::from_code(code) else {
        return Err(format!("unknown status {code}"));
    };
    let op = read("op") as u8;
    let mut entry = [0; MPT_BYTES];
    if op == CmdOp::Query.code() && status == Status::Ok {
        entry.copy_from_slice(&slot[64..]);
    }
    Ok(CompletionSlot {
        completion: Completion {
            id: read("id") as u16,
            op,
            status,
            lkey: Key(read("lkey") as u32),
            rkey: Key(read("rkey") as u32),
            index: read("index") as u32,
            entry,
        },
        op,
        cmdq_head: read("cmdq_head") as u16,
    })
}

/// True if the command may be answered PENDING before it is finished: two completions.
pub fn may_pend(op: u8) -> bool {
    matches!(
        CmdOp::from_code(op),
        Some(
            CmdOp::DeregMr
                | CmdOp::ReregMr
                | CmdOp::Invalidate
                | CmdOp::BindMw
                | CmdOp::DeallocMw
                | CmdOp::InvalidateRange
        )
    )
}
