// SPDX-License-Identifier: Apache-2.0
//! Commands and completions, and their slots in memory.

use crate::error::Error;
use crate::gen::{cmdq_slot, cplq_slot, Op, Status, CMDQ_VERSION, PD_W, QPN_W, QUEUE_SLOT_BYTES};

/// A slot of either queue.
pub type Slot = [u8; QUEUE_SLOT_BYTES];

/// A command. What a field means is in docs/queues.md; fields that a command does not use are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// [`Op`] code.
    pub op: u8,
    /// Bits of [`crate::gen::flag`].
    pub flags: u8,
    /// FAST_REG_MR, BIND_MW of type 2: new tag of the keys.
    pub tag: u8,
    /// REREG_MR: bits of [`crate::gen::rereg`].
    pub rereg: u8,
    /// [`crate::Encoding`] code.
    pub encoding: u8,
    /// Key of what the command is about; PAGE_READY: slot of the page fault.
    pub key: u32,
    /// BIND_MW: L_Key of the region.
    pub mkey: u32,
    /// Protection domain.
    pub pd: u32,
    /// REREG_MR with the PD bit.
    pub new_pd: u32,
    /// BIND_MW of type 2, remote INVALIDATE: queue pair.
    pub qpn: u32,
    /// Bits of [`crate::gen::access`].
    pub access: u32,
    /// First address.
    pub start: u64,
    /// Bytes. ALLOC_MR: pages that a registration may have.
    pub length: u64,
    /// log2 of the page size.
    pub log_page: u8,
    /// Level of the table.
    pub level: u8,
    /// log2 of the table page size.
    pub log_tpage: u8,
    /// Level 0: page addresses; otherwise the first one is the root of the table.
    pub frame: [u64; 4],
}

impl Command {
    /// A command that names a key and a protection domain, and nothing else.
    pub fn new(op: Op, key: u32, pd: u32) -> Self {
        Self {
            op: op.code(),
            key,
            pd,
            ..Self::default()
        }
    }

    /// Its slot. Values that do not fit into their field are refused here, not by the unit.
    pub fn encode(&self, id: u16) -> Result<Slot, Error> {
        let narrow = [
            ("pd", self.pd, PD_W),
            ("new_pd", self.new_pd, PD_W),
            ("qpn", self.qpn, QPN_W),
        ];
        for (field, value, bits) in narrow {
            if value >> bits != 0 {
                let value = value.into();
                return Err(Error::Field { field, value, bits });
            }
        }
        let mut slot = [0; QUEUE_SLOT_BYTES];
        let mut put = |at: usize, bytes: &[u8]| slot[at..at + bytes.len()].copy_from_slice(bytes);
        put(cmdq_slot::ID, &id.to_le_bytes());
        put(cmdq_slot::OP, &[self.op]);
        put(cmdq_slot::VERSION, &[CMDQ_VERSION]);
        put(cmdq_slot::FLAGS, &[self.flags]);
        put(cmdq_slot::TAG, &[self.tag]);
        put(cmdq_slot::REREG, &[self.rereg]);
        put(cmdq_slot::ENCODING, &[self.encoding]);
        put(cmdq_slot::KEY, &self.key.to_le_bytes());
        put(cmdq_slot::MKEY, &self.mkey.to_le_bytes());
        put(cmdq_slot::PD, &self.pd.to_le_bytes());
        put(cmdq_slot::NEW_PD, &self.new_pd.to_le_bytes());
        put(cmdq_slot::QPN, &self.qpn.to_le_bytes());
        put(cmdq_slot::ACCESS, &self.access.to_le_bytes());
        put(cmdq_slot::START, &self.start.to_le_bytes());
        put(cmdq_slot::LENGTH, &self.length.to_le_bytes());
        put(cmdq_slot::LOG_PAGE, &[self.log_page]);
        put(cmdq_slot::LEVEL, &[self.level]);
        put(cmdq_slot::LOG_TPAGE, &[self.log_tpage]);
        for (k, frame) in self.frame.iter().enumerate() {
            put(cmdq_slot::FRAME + 8 * k, &frame.to_le_bytes());
        }
        Ok(slot)
    }
}

/// True if a command may be answered PENDING before it is finished.
pub fn may_pend(op: u8) -> bool {
    matches!(
        Op::from_code(op),
        Some(
            Op::DeregMr
                | Op::ReregMr
                | Op::Invalidate
                | Op::BindMw
                | Op::DeallocMw
                | Op::InvalidateRange
        )
    )
}

/// The answer to a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// What [`crate::Device::submit`] has returned for the command.
    pub id: u16,
    /// Operation code of the command.
    pub op: u8,
    /// How it ended; PENDING: there will be a second completion.
    pub status: Status,
    /// L_Key, of commands that make one.
    pub lkey: u32,
    /// R_Key, of commands that make one.
    pub rkey: u32,
    /// MPT index, of commands that make a key.
    pub index: u32,
    /// QUERY with status OK: the MPT entry as it is in memory.
    pub entry: Option<[u8; 64]>,
}

/// The first half of a completion slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RawCompletion {
    pub id: u16,
    pub op: u8,
    pub status: u8,
    pub lkey: u32,
    pub rkey: u32,
    pub index: u32,
    pub cmdq_head: u16,
}

impl RawCompletion {
    pub fn decode(half: &[u8; QUEUE_SLOT_BYTES / 2]) -> Self {
        let u16_at = |at: usize| u16::from_le_bytes([half[at], half[at + 1]]);
        let u32_at = |at: usize| u32::from(u16_at(at)) | u32::from(u16_at(at + 2)) << 16;
        Self {
            id: u16_at(cplq_slot::ID),
            op: half[cplq_slot::OP],
            status: half[cplq_slot::STATUS],
            lkey: u32_at(cplq_slot::LKEY),
            rkey: u32_at(cplq_slot::RKEY),
            index: u32_at(cplq_slot::INDEX),
            cmdq_head: u16_at(cplq_slot::CMDQ_HEAD),
        }
    }
}
