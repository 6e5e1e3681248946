// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! What lies before the unit: how a work request becomes accesses, what the queue pairs refuse by
//! themselves, and how the unit's answers become the verdict that a program sees.
//!
//! Rules (InfiniBand, as the recordings show them):
//! * Every scatter/gather element of the requester is one local access: a read for sends and
//!   writes, a write for reads and atomic results.
//! * A send, or the receive that a message consumes, writes the responder's elements only as far
//!   as the message reaches; elements behind its end are not looked at.
//! * The queue pair of the responder must allow the operation, even for a length of 0.
//! * A message longer than its receive is refused, an atomic result shorter than 8 bytes too; of
//!   a longer result list only the first 8 bytes are used.
//! * If both sides refuse, either side's error may be the one that is reported: that depends on
//!   how far the packets got. The refusal of each side stands for itself.

use std::fmt;

use tpt_golden::types::{
    Access, CmdOp, Command, Encoding, ErrorClass, Op, Role, Status, Syndrome, LEVEL_FLAT,
};

/// Statuses of work completions: the names of `IBV_WC_*` in the order of their numbers
/// (`enum ibv_wc_status`).
pub const WC_STATUSES: &[&str] = &[
    "SUCCESS",
    "LOC_LEN_ERR",
    "LOC_QP_OP_ERR",
    "LOC_EEC_OP_ERR",
    "LOC_PROT_ERR",
    "WR_FLUSH_ERR",
    "MW_BIND_ERR",
    "BAD_RESP_ERR",
    "LOC_ACCESS_ERR",
    "REM_INV_REQ_ERR",
    "REM_ACCESS_ERR",
    "REM_OP_ERR",
    "RETRY_EXC_ERR",
    "RNR_RETRY_EXC_ERR",
    "LOC_RDD_VIOL_ERR",
    "REM_INV_RD_REQ_ERR",
    "REM_ABORT_ERR",
    "INV_EECN_ERR",
    "INV_EEC_STATE_ERR",
    "FATAL_ERR",
    "RESP_TIMEOUT_ERR",
    "GENERAL_ERR",
    "TM_ERR",
    "TM_RNDV_INCOMPLETE",
];

/// A scatter/gather element as recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element {
    /// First address.
    pub addr: u64,
    /// Bytes.
    pub length: u64,
    /// Recorded L_Key.
    pub lkey: u32,
}

/// Operations of work requests that move data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verb {
    /// RDMA write.
    Write,
    /// RDMA write that consumes a receive.
    WriteImm,
    /// RDMA read.
    Read,
    /// Send.
    Send,
    /// Fetch and add.
    FetchAdd,
    /// Compare and swap.
    CompareSwap,
}

impl Verb {
    /// The operation with this name in the recordings.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "write" => Self::Write,
            "write_imm" => Self::WriteImm,
            "read" => Self::Read,
            "send" | "send_imm" => Self::Send,
            "faa" => Self::FetchAdd,
            "cas" => Self::CompareSwap,
            _ => return None,
        })
    }

    /// Name, as in the recordings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::WriteImm => "write_imm",
            Self::Read => "read",
            Self::Send => "send",
            Self::FetchAdd => "faa",
            Self::CompareSwap => "cas",
        }
    }

    /// Fetch-and-add or compare-and-swap.
    pub fn is_atomic(self) -> bool {
        matches!(self, Self::FetchAdd | Self::CompareSwap)
    }

    /// Access of the requester's own elements.
    pub fn local_op(self) -> Op {
        match self {
            Self::Write | Self::WriteImm | Self::Send => Op::LocalRead,
            Self::Read | Self::FetchAdd | Self::CompareSwap => Op::LocalWrite,
        }
    }

    /// Access of the responder's memory by R_Key, if there is one.
    pub fn remote_op(self) -> Option<Op> {
        match self {
            Self::Write | Self::WriteImm => Some(Op::RemoteWrite),
            Self::Read => Some(Op::RemoteRead),
            Self::FetchAdd | Self::CompareSwap => Some(Op::RemoteAtomic),
            Self::Send => None,
        }
    }
}

/// Where an access takes place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// The requester's own elements.
    Local,
    /// The responder's memory, by R_Key.
    Remote,
    /// The responder's receive elements.
    Receive,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Local => "local element",
            Self::Remote => "remote access",
            Self::Receive => "receive element",
        })
    }
}

/// One access that goes to the unit. Keys are still the recorded ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Where.
    pub side: Side,
    /// What.
    pub op: Op,
    /// Recorded key.
    pub key: u32,
    /// First address.
    pub va: u64,
    /// Bytes.
    pub len: u32,
}

/// The classes of errors that recordings tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// Local protection (the kernel's codes vary: one class).
    Local,
    /// Remote access error.
    RemoteAccess,
    /// Remote invalid request.
    RemoteInvalid,
    /// Remote operation error: the responder's receive or its own unit is at fault.
    RemoteOperation,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Local => "local protection",
            Self::RemoteAccess => "remote access error",
            Self::RemoteInvalid => "remote invalid request",
            Self::RemoteOperation => "remote operation error",
        })
    }
}

/// Why something was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Why {
    /// The unit's syndrome.
    Unit(Syndrome),
    /// A rule that holds before the unit.
    Before(&'static str),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unit(s) => write!(f, "{}", syndrome_name(*s)),
            Self::Before(rule) => f.write_str(rule),
        }
    }
}

/// A refusal: where, how it is reported, why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// Where.
    pub side: Side,
    /// How the program sees it.
    pub class: Class,
    /// Why.
    pub why: Why,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.side, self.class, self.why)
    }
}

/// Queue pair rules that hold before the unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueRules {
    /// Access flags of the responder's queue pair; `None` where they are not known.
    pub responder_access: Option<u32>,
    /// The transport is iWARP: no atomics, no write with immediate data, no receive without an
    /// element.
    pub iwarp: bool,
}

/// What a work request asks of the unit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// Accesses in order.
    pub steps: Vec<Step>,
    /// Refusals that need no unit.
    pub before: Vec<Refusal>,
}

/// The elements that the first `total` bytes of a message reach.
pub fn reach(elements: &[Element], total: u64) -> impl Iterator<Item = Element> + '_ {
    let mut left = total;
    elements.iter().map_while(move |e| {
        if left == 0 {
            return None;
        }
        let length = e.length.min(left);
        left -= length;
        Some(Element { length, ..*e })
    })
}

/// Sum of the lengths.
pub fn total(elements: &[Element]) -> u64 {
    elements
        .iter()
        .fold(0, |sum, e| sum.saturating_add(e.length))
}

/// Bytes of an atomic operation.
const ATOMIC: u64 = 8;

/// Plans a work request.
///
/// `remote` is the remote address and R_Key. `receive` is the list of the receive that the message
/// consumes, if one is known. `inline` says that the data is in the request itself.
pub fn plan(
    verb: Verb,
    elements: &[Element],
    inline: bool,
    remote: Option<(u64, u32)>,
    receive: Option<&[Element]>,
    rules: QueueRules,
) -> Plan {
    let mut plan = Plan::default();
    let message = total(elements);
    let mut refuse = |side, class, rule| {
        plan.before.push(Refusal {
            side,
            class,
            why: Why::Before(rule),
        });
    };
    if rules.iwarp && (verb.is_atomic() || verb == Verb::WriteImm) {
        refuse(Side::Local, Class::Local, "operation unknown to iWARP");
    }
    if verb.is_atomic() && message < ATOMIC {
        refuse(Side::Local, Class::Local, "atomic result under 8 bytes");
    }
    if let (Some(op), Some(access)) = (verb.remote_op(), rules.responder_access) {
        if !Access(access).contains(op.needed_right()) {
            refuse(
                Side::Remote,
                Class::RemoteInvalid,
                "queue pair does not allow the operation",
            );
        }
    }
    if verb == Verb::Send {
        if let Some(receive) = receive {
            if rules.iwarp && receive.is_empty() {
                refuse(
                    Side::Receive,
                    Class::RemoteOperation,
                    "iWARP receive without an element",
                );
            } else if total(receive) < message {
                refuse(
                    Side::Receive,
                    Class::RemoteOperation,
                    "receive shorter than the message",
                );
            }
        }
    }

    if !inline {
        let used = if verb.is_atomic() { ATOMIC } else { u64::MAX };
        for e in reach(elements, used) {
            plan.steps.push(Step {
                side: Side::Local,
                op: verb.local_op(),
                key: e.lkey,
                va: e.addr,
                len: clamp(e.length),
            });
        }
    }
    if let (Some(op), Some((va, key))) = (verb.remote_op(), remote) {
        let len = if verb.is_atomic() { ATOMIC } else { message };
        plan.steps.push(Step {
            side: Side::Remote,
            op,
            key,
            va,
            len: clamp(len),
        });
    }
    if let (Verb::Send, Some(receive)) = (verb, receive) {
        plan.steps.extend(receive_steps(receive, message));
    }
    plan
}

/// The accesses of a receive that a message of `message` bytes reaches.
pub fn receive_steps(receive: &[Element], message: u64) -> impl Iterator<Item = Step> + '_ {
    reach(receive, message).map(|e| Step {
        side: Side::Receive,
        op: Op::LocalWrite,
        key: e.lkey,
        va: e.addr,
        len: clamp(e.length),
    })
}

/// A length on the request channel: 32 bits. Longer ones are refused by the same rule (LENGTH).
fn clamp(length: u64) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// The status of a registration whose range the rules refuse: length 0, or past 2^64.
pub fn refused_range(start: u64, length: u64) -> Option<Status> {
    if length == 0 {
        Some(Status::BadLength)
    } else if u128::from(start) + u128::from(length) > 1 << 64 {
        Some(Status::BadWrap)
    } else {
        None
    }
}

/// The status of a registration that the rules of the unit refuse for its range or its access
/// flags, whatever the driver does.
pub fn refused_arguments(start: u64, length: u64, access: u32) -> Option<Status> {
    refused_range(start, length).or_else(|| {
        let rights = Access(access);
        let windows = rights.contains(Access::ON_DEMAND) && rights.contains(Access::MW_BIND);
        let writes = Access::REMOTE_WRITE | Access::REMOTE_ATOMIC;
        if windows || access & !(Access::KNOWN | Access::ON_DEMAND).0 != 0 {
            Some(Status::BadFlags)
        } else if rights.intersects(writes) && !rights.contains(Access::LOCAL_WRITE) {
            Some(Status::BadAccess)
        } else {
            None
        }
    })
}

/// A bare registration command, for arguments that no driver would pass on.
pub fn bare_registration(pd: u32, start: u64, length: u64, access: u32) -> Command {
    Command {
        op: CmdOp::RegMr.code(),
        pd,
        access,
        start,
        length,
        log_page: 12,
        level: LEVEL_FLAT,
        encoding: Encoding::Raw.code(),
        frame: [0x1000, 0, 0, 0],
        ..Command::default()
    }
}

/// The refusal that a syndrome means on a side; `None` if it was accepted.
pub fn refusal(side: Side, syndrome: Syndrome) -> Option<Refusal> {
    if syndrome == Syndrome::Ok {
        return None;
    }
    let class = match side {
        Side::Local => Class::Local,
        Side::Receive => Class::RemoteOperation,
        Side::Remote => match syndrome.class(Role::Remote) {
            Some(ErrorClass::RemoteInvalidRequest) => Class::RemoteInvalid,
            Some(ErrorClass::RemoteOperation) => Class::RemoteOperation,
            _ => Class::RemoteAccess,
        },
    };
    Some(Refusal {
        side,
        class,
        why: Why::Unit(syndrome),
    })
}

/// The class that a completion status of the requester reports; `None` for success, flushes and
/// statuses that say nothing about protection.
pub fn class_of_status(status: &str) -> Option<Class> {
    match status {
        "REM_ACCESS_ERR" => Some(Class::RemoteAccess),
        "REM_INV_REQ_ERR" => Some(Class::RemoteInvalid),
        "REM_OP_ERR" => Some(Class::RemoteOperation),
        "LOC_PROT_ERR" | "LOC_QP_OP_ERR" | "LOC_ACCESS_ERR" => Some(Class::Local),
        _ => None,
    }
}

/// Name of a syndrome as the documents write it: `KeyState` is KEY_STATE.
pub fn syndrome_name(s: Syndrome) -> String {
    let mut name = String::new();
    for (n, letter) in s.name().chars().enumerate() {
        if n > 0 && letter.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    name
}
