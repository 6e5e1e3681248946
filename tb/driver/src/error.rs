// SPDX-License-Identifier: Apache-2.0
//! Why a call failed.

use crate::gen::{Op, Status};
use crate::mtt::MttError;
use crate::platform::{AccessError, Limit};
use thiserror::Error;

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// A register could not be read or written.
    #[error("{} of register {name} ({offset:#05x}): {source}", if *write { "write" } else { "read" })]
    Register {
        /// Its name.
        name: &'static str,
        /// Its byte offset.
        offset: u16,
        /// It was written.
        write: bool,
        /// Why not.
        source: AccessError,
    },
    /// Memory of the device could not be had, read or written.
    #[error("memory of the device: {0}")]
    Memory(#[from] AccessError),
    /// No unit is there.
    #[error("ID reads {found:#010x}, expected {expected:#010x}: this is no translation unit")]
    Identification {
        /// What the register read.
        found: u32,
        /// What it should have read.
        expected: u32,
    },
    /// The unit is of a version that this driver was not made for.
    #[error("version {}.{} of the unit is not known, expected {}.{}",
        .found >> 16 & 0xff, .found >> 8 & 0xff, .expected >> 16 & 0xff, .expected >> 8 & 0xff)]
    Version {
        /// What the register read.
        found: u32,
        /// What this driver was made for.
        expected: u32,
    },
    /// CAP or CAP2 tells something that cannot be.
    #[error("{register} reads {found:#010x}: {what}")]
    Capability {
        /// The register.
        register: &'static str,
        /// What it read.
        found: u32,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The unit was built without queues.
    #[error("the unit has no queues (CAP2.queues is 0); use its direct command channel")]
    NoQueues,
    /// The unit was built without something.
    #[error("{what}: the unit was built without it ({field} is 0)")]
    NotBuilt {
        /// What.
        what: &'static str,
        /// The field that says so.
        field: &'static str,
    },
    /// A page fault in a slot that does not exist, or whose fault has no answer yet.
    #[error("page fault in slot {slot}, which is not one of {slots} slots or has no answer yet")]
    FaultSlot {
        /// The slot.
        slot: u8,
        /// Slots of the unit.
        slots: u32,
    },
    /// The unit is in use already: enabled, or not at rest yet.
    #[error("the unit is in use: STATUS {status:#x}, QUEUE_STATUS {queues:#x}; stop it first")]
    InUse {
        /// STATUS.
        status: u32,
        /// QUEUE_STATUS.
        queues: u32,
    },
    /// A setting that the unit does not take.
    #[error("{what} is {value}, expected {expected}")]
    Setting {
        /// Which.
        what: &'static str,
        /// What it was.
        value: u64,
        /// What would be right.
        expected: String,
    },
    /// Memory refused a write while the unit cleared its table.
    #[error("clearing the MPT at {base:#x} met a bus error (STATUS.clear_error)")]
    Clear {
        /// Where the table was to be.
        base: u64,
    },
    /// A wait came to its end.
    #[error("gave up waiting for {what} after {limit:?}")]
    Timeout {
        /// What did not happen.
        what: &'static str,
        /// The limit.
        limit: Limit,
    },
    /// A start failed, and so did the stop behind it: the unit may still use the memory that the
    /// start has taken. [`crate::take_over`] stops the unit; then this memory can be given back
    /// with [`crate::DmaMemory::free`].
    #[error("{start}; the stop behind it failed, too, and the unit may use its memory: {stop}")]
    NotStopped {
        /// Why the start failed.
        start: Box<Error>,
        /// Why the stop failed.
        stop: Box<Error>,
        /// Address and bytes of MPT, command queue and completion queue.
        memory: [(u64, u64); 3],
    },
    /// A limit of time, but the platform has no clock.
    #[error("a limit of time needs a clock, and the platform has none")]
    NoClock,
    /// Not started, or stopped.
    #[error("the unit is not started")]
    NotRunning,
    /// No room in the command queue: take completions, then try again.
    #[error("the command queue is full")]
    QueueFull,
    /// Memory refused an access to a slot: the queues have stopped.
    #[error("memory refused an access to a slot; CMDQ_HEAD is {head}, CPLQ_TAIL is {tail}")]
    QueueStopped {
        /// CMDQ_HEAD.
        head: u32,
        /// CPLQ_TAIL.
        tail: u32,
    },
    /// A completion that no command waits for.
    #[error("completion with id {id}, which no command has (operation code {op})")]
    UnknownId {
        /// Its id.
        id: u16,
        /// Its operation code.
        op: u8,
    },
    /// A completion with an operation code that this driver does not know.
    #[error("completion with id {id} and the unknown operation code {op}")]
    UnknownOp {
        /// Its id.
        id: u16,
        /// Its operation code.
        op: u8,
    },
    /// A completion with a status that this driver does not know.
    #[error("completion with id {id} and the unknown status {status}")]
    UnknownStatus {
        /// Its id.
        id: u16,
        /// Its status.
        status: u8,
    },
    /// A completion of another operation than its command.
    #[error("completion with id {id} is of operation code {found}, its command had {expected}")]
    WrongOp {
        /// Its id.
        id: u16,
        /// Its operation code.
        found: u8,
        /// That of the command.
        expected: u8,
    },
    /// PENDING of a command that knows none, or a second PENDING.
    #[error("completion with id {id}: a PENDING that cannot be")]
    UnexpectedPending {
        /// Its id.
        id: u16,
    },
    /// A completion says that the unit took commands that it was not given.
    #[error("a completion says CMDQ_HEAD is {head}, which is not between {from} and {to}")]
    Head {
        /// What it says.
        head: u16,
        /// Oldest slot that the unit may not have taken.
        from: u16,
        /// Slot behind the last command.
        to: u16,
    },
    /// A value does not fit into its field of a command.
    #[error("{field} is {value:#x}, which has more than {bits} bits")]
    Field {
        /// The field.
        field: &'static str,
        /// The value.
        value: u64,
        /// Bits that there are.
        bits: u32,
    },
    /// The unit refused a command.
    #[error("{} was refused: {} ({})", op.name(), status.name(), status.meaning())]
    Refused {
        /// The command.
        op: Op,
        /// Why.
        status: Status,
    },
    /// The region, window or command is not in the state that the call needs.
    #[error("it is {found}, expected {expected}")]
    State {
        /// What it is.
        found: &'static str,
        /// What it must be.
        expected: &'static str,
    },
    /// No table can be built.
    #[error(transparent)]
    Mtt(#[from] MttError),
}

impl Error {
    /// The status, if the unit has refused the command.
    pub fn status(&self) -> Option<Status> {
        match self {
            Error::Refused { status, .. } => Some(*status),
            _ => None,
        }
    }
}
