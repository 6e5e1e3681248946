// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! The link to a board: frames that are repeated until they are answered, and operations in them.

use std::time::Duration;

use thiserror::Error;

use super::frame::{encode, Decoder};
use super::gen::{self, ident, op, status};
use super::serial::{Line, LineError};

/// Attempts before a frame is given up.
pub const TRIES: u32 = 12;

/// The link does not work, or the board refuses an operation.
#[derive(Debug, Error)]
pub enum LinkError {
    /// The port.
    #[error(transparent)]
    Line(#[from] LineError),
    /// Nobody answers.
    #[error(
        "no board answers: {tries} attempts, {damaged} damaged and {strange} strange frames came; \
         expected a board with protocol version {} at {baud} baud: is it powered, does it run this \
         bitstream, is it the right port?",
        gen::VERSION
    )]
    NoBoard {
        /// Attempts.
        tries: u32,
        /// Frames with a wrong check sum.
        damaged: u64,
        /// Frames that were no answer.
        strange: u64,
        /// Bits per second.
        baud: u32,
    },
    /// It answered before, but not any more.
    #[error(
        "the board does not answer any more: {tries} attempts at frame {frame}, the last one {ms} ms \
         after the first; {damaged} damaged frames came in all; expected an answer: check cable and \
         power, then run again (a new run starts the unit anew)"
    )]
    Broken {
        /// Number of the frame, from the start of the session on.
        frame: u64,
        /// Attempts.
        tries: u32,
        /// Time from the first attempt to the last.
        ms: u128,
        /// Frames with a wrong check sum.
        damaged: u64,
    },
    /// The board has forgotten the session.
    #[error(
        "the board has lost the session at frame {frame}: it was reset, or another program speaks to \
         it; expected one program and a board that stays on: run again"
    )]
    Session {
        /// Number of the frame.
        frame: u64,
    },
    /// It is something else.
    #[error("the board answers with {what} {found:#x}; expected {expected:#x}: bitstream and program must be of one version")]
    Identity {
        /// What does not fit.
        what: &'static str,
        /// What it says.
        found: u64,
        /// What it should say.
        expected: u64,
    },
    /// An operation was refused.
    #[error("the board refuses operation {op}: {} ({})", name(*.status).0, name(*.status).1)]
    Refused {
        /// Operation code.
        op: u8,
        /// Status.
        status: u8,
    },
    /// A reply that does not fit the operations.
    #[error("a reply that does not fit its request: {what}; expected {expected}")]
    Reply {
        /// What is wrong.
        what: String,
        /// What would be right.
        expected: &'static str,
    },
}

fn name(code: u8) -> (&'static str, &'static str) {
    let unknown = ("unknown status", "none of this version");
    *status::NAMES.get(usize::from(code)).unwrap_or(&unknown)
}

/// What a board is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// Clients of the unit.
    pub clients: u8,
    /// Address of the memory as the unit sees it.
    pub ram_base: u64,
    /// Size of the memory.
    pub ram_bytes: u32,
    /// Clock of the unit.
    pub clock_hz: u32,
    /// Bits per second.
    pub baud: u32,
}

/// What happened on the line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinkStats {
    /// Frames that were answered.
    pub frames: u64,
    /// Attempts that were not answered in time.
    pub repeated: u64,
    /// Damaged frames from the board.
    pub damaged: u64,
    /// Frames from the board that were no answer: late ones.
    pub strange: u64,
    /// Bytes sent, without stuffing.
    pub sent: u64,
    /// Bytes of answers.
    pub received: u64,
}

/// What the board counts since the start of the session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BoardStatus {
    /// Bits `gen::FLAG_*`.
    pub flags: u8,
    /// Frames done or answered again.
    pub good: u16,
    /// Damaged frames.
    pub bad: u16,
    /// Frames that came while another one was being done.
    pub late: u16,
    /// Frames that were answered again.
    pub repeated: u16,
    /// Frames out of order.
    pub strange: u16,
}

/// Operations for one frame.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    ops: Vec<(u8, usize)>,
    answer: usize,
}

/// The answer to an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Done, with these data.
    Done(Vec<u8>),
    /// Response beats.
    Beats(Vec<[u8; gen::RSP_BYTES]>),
    /// Refused with this status; what stands behind it was not done.
    Refused(u8),
}

impl Batch {
    /// Bytes of sequence number and payload.
    pub fn len(&self) -> usize {
        1 + self.bytes.len()
    }

    /// Nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// Is there room for an operation with so many bytes behind its operands, and for its answer?
    pub fn has_room(&self, op: u8, more: usize) -> bool {
        let answer = 1 + self.answer + 1 + gen::answer(op);
        self.len() + 1 + gen::operands(op) + more <= gen::MAX_FRAME && answer <= gen::MAX_FRAME
    }

    /// Adds an operation: its operands, the bytes behind them, and how many bytes its answer has
    /// beside those that it always has.
    fn push(&mut self, op: u8, operands: &[&[u8]], more: &[u8], data: usize) {
        let operands = operands.concat();
        assert_eq!(
            operands.len(),
            gen::operands(op),
            "operands of operation {op}"
        );
        self.bytes.push(op);
        self.bytes.extend(operands);
        self.bytes.extend(more);
        let data = gen::answer(op) + data;
        self.ops.push((op, data));
        self.answer += 1 + data;
    }

    /// Reads `bytes` (1 to 256) of memory.
    pub fn read_mem(&mut self, offset: u32, bytes: usize) {
        let offset = &offset.to_le_bytes()[..3];
        self.push(op::READ_MEM, &[offset, &[bytes as u8]], &[], bytes);
    }

    /// Writes 1 to 256 bytes of memory.
    pub fn write_mem(&mut self, offset: u32, data: &[u8]) {
        let offset = &offset.to_le_bytes()[..3];
        self.push(op::WRITE_MEM, &[offset, &[data.len() as u8]], data, 0);
    }

    /// Fills whole lines of memory.
    pub fn fill(&mut self, offset: u32, lines: u16, byte: u8) {
        let offset = &offset.to_le_bytes()[..3];
        self.push(op::FILL, &[offset, &lines.to_le_bytes(), &[byte]], &[], 0);
    }

    /// Reads a register.
    pub fn read_csr(&mut self, offset: u16) {
        self.push(op::READ_CSR, &[&offset.to_le_bytes()], &[], 0);
    }

    /// Writes a register.
    pub fn write_csr(&mut self, offset: u16, value: u32) {
        let (offset, value) = (offset.to_le_bytes(), value.to_le_bytes());
        self.push(op::WRITE_CSR, &[&offset, &value], &[], 0);
    }

    /// Sends a request as a client.
    pub fn request(&mut self, client: u8, request: &[u8; gen::REQ_BYTES]) {
        self.push(op::REQUEST, &[&[client], request], &[], 0);
    }

    /// Takes up to `beats` response beats of a client.
    pub fn responses(&mut self, client: u8, beats: u8) {
        let most = usize::from(beats) * (gen::RSP_BYTES + 1);
        self.push(op::RESPONSES, &[&[client, beats]], &[], most);
    }

    /// Says as a client that a tag is done.
    pub fn done(&mut self, client: u8, tag: u16) {
        self.push(op::DONE, &[&[client], &tag.to_le_bytes()], &[], 0);
    }

    /// Resets the unit.
    pub fn reset(&mut self) {
        self.push(op::RESET, &[], &[], 0);
    }

    /// Asks for flags and counters.
    pub fn status(&mut self) {
        self.push(op::STATUS, &[], &[], 0);
    }

    /// Poisons a line of memory, or takes it back.
    pub fn poison(&mut self, on: bool, offset: u32) {
        self.push(
            op::POISON,
            &[&[on.into()], &offset.to_le_bytes()[..3]],
            &[],
            0,
        );
    }

    /// Takes the payload of a reply apart.
    fn read(&self, mut reply: &[u8]) -> Result<Vec<Reply>, LinkError> {
        let short = || LinkError::Reply {
            what: "it ends too early".into(),
            expected: "an answer to every operation, or a status that ends them",
        };
        let mut replies = Vec::with_capacity(self.ops.len());
        for &(op, data) in &self.ops {
            let (&code, rest) = reply.split_first().ok_or_else(short)?;
            reply = rest;
            if code != status::OK {
                replies.push(Reply::Refused(code));
                break;
            }
            if op != op::RESPONSES {
                let (mine, rest) = reply.split_at_checked(data).ok_or_else(short)?;
                reply = rest;
                replies.push(Reply::Done(mine.to_vec()));
                continue;
            }
            let mut beats = Vec::new();
            loop {
                let (&more, rest) = reply.split_first().ok_or_else(short)?;
                reply = rest;
                if more == 0 {
                    break;
                }
                let (beat, rest) = reply.split_first_chunk().ok_or_else(short)?;
                beats.push(*beat);
                reply = rest;
            }
            replies.push(Reply::Beats(beats));
        }
        if !reply.is_empty() {
            return Err(LinkError::Reply {
                what: format!("{} bytes too many", reply.len()),
                expected: "an answer to every operation and nothing more",
            });
        }
        Ok(replies)
    }
}

/// A link to a board.
pub struct Link<L> {
    line: L,
    decoder: Decoder,
    sequence: u8,
    identity: Identity,
    baud: u32,
    /// What happened.
    pub stats: LinkStats,
}

impl<L: Line> Link<L> {
    /// Finds the board and begins a session. `nonce` is any number.
    pub fn start(line: L, baud: u32, nonce: u32) -> Result<Self, LinkError> {
        let identity = Identity {
            clients: 0,
            ram_base: 0,
            ram_bytes: 0,
            clock_hz: 0,
            baud,
        };
        let mut link = Self {
            line,
            decoder: Decoder::default(),
            sequence: nonce as u8,
            identity,
            baud,
            stats: LinkStats::default(),
        };
        let mut hello = vec![link.sequence, op::HELLO];
        hello.extend(nonce.to_le_bytes());
        let answer = 1 + gen::answer(op::HELLO);
        let is_it = |reply: &[u8]| {
            reply.len() == 1 + answer && reply[1] == status::OK && reply[2..6] == hello[2..]
        };
        let Some(reply) = link.exchange(&hello, answer, is_it)? else {
            return Err(LinkError::NoBoard {
                tries: TRIES,
                damaged: link.stats.damaged,
                strange: link.stats.strange,
                baud,
            });
        };
        link.identity = identify(&reply[6..])?;
        Ok(link)
    }

    /// What the board is.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Time of the line.
    pub fn now(&self) -> Duration {
        self.line.now()
    }

    /// Does operations. Those behind a refused one are not done and have no reply.
    pub fn run(&mut self, batch: &Batch) -> Result<Vec<Reply>, LinkError> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut content = vec![self.sequence];
        content.extend(&batch.bytes);
        let (first, repeated) = (self.line.now(), self.stats.repeated);
        let number = self.stats.frames + 1;
        let Some(reply) = self.exchange(&content, batch.answer, |_| true)? else {
            return Err(LinkError::Broken {
                frame: number,
                tries: (self.stats.repeated - repeated) as u32,
                ms: self.line.now().saturating_sub(first).as_millis(),
                damaged: self.stats.damaged,
            });
        };
        if reply[1..] == [status::SEQUENCE] {
            return Err(LinkError::Session { frame: number });
        }
        self.stats.frames += 1;
        batch.read(&reply[1..])
    }

    /// Does operations none of which may be refused.
    pub fn all(&mut self, batch: &Batch) -> Result<Vec<Reply>, LinkError> {
        let replies = self.run(batch)?;
        if let Some(Reply::Refused(status)) = replies.last() {
            let (op, status) = (batch.ops[replies.len() - 1].0, *status);
            return Err(LinkError::Refused { op, status });
        }
        Ok(replies)
    }

    /// Asks the board what it has counted.
    pub fn status(&mut self) -> Result<BoardStatus, LinkError> {
        let mut batch = Batch::default();
        batch.status();
        let replies = self.all(&batch)?;
        let Some(Reply::Done(data)) = replies.first() else {
            return Ok(BoardStatus::default());
        };
        let word = |n: usize| u16::from_le_bytes([data[1 + 2 * n], data[2 + 2 * n]]);
        Ok(BoardStatus {
            flags: data[0],
            good: word(0),
            bad: word(1),
            late: word(2),
            repeated: word(3),
            strange: word(4),
        })
    }

    /// Sends a frame until its answer comes. `None`: it does not.
    fn exchange(
        &mut self,
        content: &[u8],
        answer: usize,
        is_it: impl Fn(&[u8]) -> bool,
    ) -> Result<Option<Vec<u8>>, LinkError> {
        let bytes = encode(content);
        // Every byte of the answer may be stuffed; half as much again for other clocks.
        let on_line = 10 * (bytes.len() + 2 * (answer + gen::CRC_BYTES) + 8);
        let patience = self.line.turnaround()
            + Duration::from_secs_f64(1.5 * on_line as f64 / f64::from(self.baud.max(1)));
        for _ in 0..TRIES {
            self.line.send(&bytes)?;
            self.stats.sent += content.len() as u64;
            let deadline = self.line.now() + patience;
            let mut last_look = false;
            loop {
                let mut got = Vec::new();
                self.line.receive(&mut got)?;
                let mut found = None;
                for byte in got {
                    let Some(frame) = self.decoder.push(byte) else {
                        continue;
                    };
                    if frame[0] == content[0] && frame.len() > 1 && is_it(&frame) {
                        found = Some(frame);
                    } else {
                        self.stats.strange += 1;
                    }
                }
                self.stats.damaged = self.decoder.bad;
                if let Some(frame) = found {
                    self.stats.received += frame.len() as u64;
                    return Ok(Some(frame));
                }
                // What has come while the time ran out is still looked at.
                if last_look {
                    break;
                }
                last_look = self.line.now() >= deadline;
            }
            self.stats.repeated += 1;
        }
        Ok(None)
    }
}

fn identify(bytes: &[u8]) -> Result<Identity, LinkError> {
    let field = |(first, count): (usize, usize)| {
        bytes[first..first + count]
            .iter()
            .rev()
            .fold(0u64, |value, byte| value << 8 | u64::from(*byte))
    };
    for (what, found, expected) in [
        ("magic", field(ident::MAGIC), gen::MAGIC.into()),
        ("version", field(ident::VERSION), gen::VERSION.into()),
    ] {
        if found != expected {
            return Err(LinkError::Identity {
                what,
                found,
                expected,
            });
        }
    }
    Ok(Identity {
        clients: field(ident::CLIENTS) as u8,
        ram_base: field(ident::RAM_PAGE) << 12,
        ram_bytes: field(ident::RAM_BYTES) as u32,
        clock_hz: field(ident::CLOCK_HZ) as u32,
        baud: field(ident::BAUD) as u32,
    })
}
