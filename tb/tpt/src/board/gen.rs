// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Constants of the link, made by tools/gen_link.py from fpga/rtl/tpt_link_pkg.sv.
#![allow(missing_docs)]

pub const VERSION: u8 = 1;
pub const FLAG: u8 = 126;
pub const ESCAPE: u8 = 125;
pub const ESCAPE_XOR: u8 = 32;
pub const MAX_FRAME: usize = 1000;
pub const CRC_BYTES: usize = 4;
pub const CRC_POLY: u32 = 0xedb8_8320;
pub const CRC_START: u32 = 0xffff_ffff;
pub const CRC_GOOD: u32 = 0xdebb_20e3;
pub const LINE: usize = 16;
pub const REQ_BYTES: usize = 25;
pub const RSP_BYTES: usize = 15;
pub const COUNTERS: usize = 5;
pub const IDENT_BYTES: usize = 24;
pub const MAGIC: u32 = 0x4254_5054;
pub const FLAG_IRQ: u8 = 0;
pub const FLAG_ENABLED: u8 = 1;
pub const FLAG_RAM_ERR: u8 = 2;

/// `link_op_e`.
pub mod op {
    /// Nonce 4: a new session; answer: nonce 4, identity.
    pub const HELLO: u8 = 1;
    /// Offset 3, bytes 1; answer: the bytes.
    pub const READ_MEM: u8 = 2;
    /// Offset 3, bytes 1, the bytes.
    pub const WRITE_MEM: u8 = 3;
    /// Offset 3, lines 2, byte 1: whole lines of LinkLine bytes.
    pub const FILL: u8 = 4;
    /// Offset 2; answer: value 4.
    pub const READ_CSR: u8 = 5;
    /// Offset 2, value 4.
    pub const WRITE_CSR: u8 = 6;
    /// Client 1, request 25 (req_t).
    pub const REQUEST: u8 = 7;
    /// Client 1, beats 1; answer: {1, beat 15 (rsp_t)} for each beat, 0.
    pub const RESPONSES: u8 = 8;
    /// Client 1, tag 2.
    pub const DONE: u8 = 9;
    /// Resets the unit, not the memory.
    pub const RESET: u8 = 10;
    /// Answer: flags 1, counters 5 times 2.
    pub const STATUS: u8 = 11;
    /// On 1, offset 3: reads of this line are answered with an error.
    pub const POISON: u8 = 12;
}

/// `link_status_e`.
pub mod status {
    pub const OK: u8 = 0;
    /// The unit does not take it now; nothing was done.
    pub const BUSY: u8 = 1;
    /// There is no such operation.
    pub const BAD_OP: u8 = 2;
    /// The frame ends inside the operation.
    pub const SHORT: u8 = 3;
    /// No such client, or outside of the memory.
    pub const RANGE: u8 = 4;
    /// The answer may not fit into the reply any more; nothing was done.
    pub const ROOM: u8 = 5;
    /// The register answered with an error.
    pub const BUS: u8 = 6;
    /// The unit did not answer.
    pub const TIMEOUT: u8 = 7;
    /// In place of all answers: not the next number; begin with LinkHello.
    pub const SEQUENCE: u8 = 8;

    /// Names and meanings, in order of their numbers.
    pub const NAMES: [(&str, &str); 9] = [
        ("OK", "done"),
        ("BUSY", "the unit does not take it now; nothing was done"),
        ("BAD_OP", "there is no such operation"),
        ("SHORT", "the frame ends inside the operation"),
        ("RANGE", "no such client, or outside of the memory"),
        ("ROOM", "the answer may not fit into the reply any more; nothing was done"),
        ("BUS", "the register answered with an error"),
        ("TIMEOUT", "the unit did not answer"),
        ("SEQUENCE", "in place of all answers: not the next number; begin with LinkHello"),
    ];
}

/// Places of the fields of the identity: first byte, bytes.
pub mod ident {
    pub const MAGIC: (usize, usize) = (0, 4);
    pub const VERSION: (usize, usize) = (4, 1);
    pub const CLIENTS: (usize, usize) = (5, 1);
    pub const RAM_PAGE: (usize, usize) = (6, 5);
    pub const RAM_BYTES: (usize, usize) = (11, 4);
    pub const CLOCK_HZ: (usize, usize) = (15, 4);
    pub const BAUD: (usize, usize) = (19, 4);
    pub const RESERVED: (usize, usize) = (23, 1);
}

/// Bytes of operands of an operation, those of variable length not counted.
pub const fn operands(code: u8) -> usize {
    match code {
        op::HELLO => 4,
        op::READ_MEM => 4,
        op::WRITE_MEM => 4,
        op::FILL => 6,
        op::READ_CSR => 2,
        op::WRITE_CSR => 6,
        op::REQUEST => 26,
        op::RESPONSES => 2,
        op::DONE => 3,
        op::POISON => 4,
        _ => 0,
    }
}

/// Bytes of data in the answer to an operation, those of variable length not counted.
pub const fn answer(code: u8) -> usize {
    match code {
        op::HELLO => 28,
        op::READ_CSR => 4,
        op::RESPONSES => 1,
        op::STATUS => 11,
        _ => 0,
    }
}
