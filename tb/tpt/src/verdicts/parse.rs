// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Parser of recorded verdicts: one case a line.

use crate::input::{BadInput, Object, Place};
use crate::verbs::{Element, Verb};

/// State of a listed region at the moment of the operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MrState {
    /// In use.
    Valid,
    /// Gone; the case is about its stale keys.
    Gone,
}

/// A region that is listed in a case.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Mr {
    /// Name inside the recording.
    pub name: String,
    /// Protection domain.
    pub pd: u32,
    /// Address on the wire (iova).
    pub va: u64,
    /// Where the bytes are in the process.
    pub host_addr: u64,
    /// Bytes.
    pub length: u64,
    /// `IBV_ACCESS_*`.
    pub access: u32,
    /// Recorded L_Key.
    pub lkey: u32,
    /// Recorded R_Key; 0 if none was given.
    pub rkey: u32,
    /// State at the moment of the operation.
    pub state: MrState,
}

/// Memory under a registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mapping {
    /// Can be read and written.
    Writable,
    /// Can be pinned for reading only.
    ReadOnly,
    /// Cannot be pinned: not (or not wholly) mapped, or not the process's.
    Unmapped,
}

impl Mapping {
    /// From the recording's name: `rw...` is writable; `ro...`, `rx...` and `none` (a pin does not
    /// need the process's own right to read) are read-only; the others name holes, addresses of
    /// the kernel and the like.
    pub fn from_name(name: &str) -> Self {
        match name {
            "none" => Self::ReadOnly,
            n if n.starts_with("rw") => Self::Writable,
            n if n.starts_with("ro") || n.starts_with("rx") => Self::ReadOnly,
            _ => Self::Unmapped,
        }
    }
}

/// Arguments of a registration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// Protection domain.
    pub pd: u32,
    /// Address in the process.
    pub addr: u64,
    /// Address on the wire.
    pub iova: u64,
    /// Bytes.
    pub length: u64,
    /// `IBV_ACCESS_*`.
    pub access: u32,
    /// Mapping under the address.
    pub mapping: Mapping,
}

/// A work request that moves data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    /// Operation.
    pub verb: Verb,
    /// The requester's elements.
    pub elements: Vec<Element>,
    /// Remote address and R_Key.
    pub remote: Option<(u64, u32)>,
    /// The receive that was posted beforehand.
    pub receive: Option<Vec<Element>>,
    /// PD of the requester's queue pair.
    pub req_pd: u32,
    /// PD of the responder's queue pair.
    pub resp_pd: u32,
    /// Access flags of the responder's queue pair.
    pub resp_access: u32,
    /// Number of the requester's queue pair.
    pub req_qpn: u32,
    /// Number of the responder's queue pair.
    pub resp_qpn: u32,
}

/// What a case does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// A registration with the arguments under test.
    Register(Registration),
    /// One of a sequence of registrations whose keys are recorded.
    KeySequence(Registration),
    /// A work request.
    Transfer(Transfer),
    /// A re-registration.
    Reregister,
    /// Something that needs windows or invalidation; the name of the operation.
    Window(String),
    /// The line says itself that it was not run.
    NotRun(String),
}

/// What was observed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Accepted.
    pub accepted: bool,
    /// Errno of the post.
    pub post_errno: i64,
    /// Completion status at the requester; empty if none is recorded.
    pub wc_status: String,
    /// The bytes were right (or untouched); `None` if that could not be computed.
    pub data_ok: Option<bool>,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// Line number.
    pub line: u64,
    /// Identity, stable between recordings.
    pub id: String,
    /// Family letter.
    pub family: char,
    /// Group inside the family.
    pub sub: String,
    /// Variant.
    pub note: String,
    /// Driver that gave the verdict.
    pub driver: String,
    /// Regions.
    pub mrs: Vec<Mr>,
    /// Windows are listed.
    pub windows: bool,
    /// Operation.
    pub action: Action,
    /// Observation.
    pub outcome: Outcome,
    /// The kernel departs from the rules here.
    pub differs: bool,
    /// The driver cannot do it.
    pub unsupported: bool,
    /// It was not run, and why.
    pub not_run: Option<String>,
}

impl Case {
    /// May this line be judged differently?
    pub fn flagged(&self) -> bool {
        self.differs || self.unsupported || self.not_run.is_some()
    }
}

/// Families of the recording.
pub const FAMILIES: &[&str] = &["A", "B", "C", "D", "E", "F", "G", "H", "X"];

const OPS: &[&str] = &[
    "write",
    "write_imm",
    "read",
    "faa",
    "cas",
    "send",
    "send_inv",
    "local_inv",
    "bind_mw",
    "reg_mr",
    "dereg_mr",
    "rereg_mr",
    "alloc_mw",
];

/// Parses a line.
pub fn parse(p: &Place, line: &Object) -> Result<Case, BadInput> {
    let family = line.one_of(p, "family", FAMILIES)?;
    let outcome = line.object(p, "outcome")?;
    let not_run = outcome.opt_str(p, "not_run")?.map(str::to_owned);
    let unsupported = line.flag(p, "unsupported")? || outcome.flag(p, "unsupported")?;
    let op = line.object(p, "op")?;
    let name = op.one_of(p, "op", OPS)?;
    let windows = line.has("mws") && !line.objects(p, "mws")?.is_empty();

    let mut mrs = Vec::new();
    if line.has("mrs") {
        for mr in line.objects(p, "mrs")? {
            mrs.push(parse_mr(p, &mr)?);
        }
    }

    // Lines that say themselves that nothing was observed carry only a part of the fields.
    let nothing = not_run.is_some() || unsupported;
    let action = match name {
        "send_inv" | "local_inv" | "bind_mw" | "alloc_mw" | "dereg_mr" => {
            Action::Window(name.to_owned())
        }
        _ if nothing => Action::NotRun(name.to_owned()),
        "rereg_mr" => Action::Reregister,
        "reg_mr" => parse_registration(p, &op)?,
        _ => Action::Transfer(parse_transfer(p, &op, name)?),
    };
    let accepted = match action {
        Action::Window(_) | Action::NotRun(_) => outcome.flag(p, "accepted")?,
        _ => outcome.bool(p, "accepted")?,
    };
    Ok(Case {
        line: p.line,
        id: line.str(p, "id")?.to_owned(),
        family: family.chars().next().unwrap_or('?'),
        sub: line.opt_str(p, "sub")?.unwrap_or_default().to_owned(),
        note: line.opt_str(p, "note")?.unwrap_or_default().to_owned(),
        driver: line.str(p, "driver")?.to_owned(),
        mrs,
        windows,
        action,
        outcome: Outcome {
            accepted,
            post_errno: outcome.opt_i64(p, "post_errno")?.unwrap_or(0),
            wc_status: outcome
                .opt_str(p, "wc_status")?
                .unwrap_or_default()
                .to_owned(),
            data_ok: if outcome.has("data_ok") {
                Some(outcome.bool(p, "data_ok")?)
            } else {
                None
            },
        },
        differs: line.flag(p, "differs_from_ib")?,
        unsupported,
        not_run,
    })
}

fn parse_mr(p: &Place, mr: &Object) -> Result<Mr, BadInput> {
    let state = mr.one_of(p, "state", &["valid", "deregistered", "invalidated"])?;
    let va = mr.u64(p, "va")?;
    Ok(Mr {
        name: mr.str(p, "name")?.to_owned(),
        pd: mr.bits(p, "pd", 16)? as u32,
        va,
        host_addr: if mr.has("host_addr") {
            mr.u64(p, "host_addr")?
        } else {
            va
        },
        length: mr.u64(p, "length")?,
        access: mr.u32(p, "access")?,
        lkey: mr.u32(p, "lkey")?,
        rkey: mr.u32(p, "rkey")?,
        state: if state == "valid" {
            MrState::Valid
        } else {
            MrState::Gone
        },
    })
}

fn parse_registration(p: &Place, op: &Object) -> Result<Action, BadInput> {
    let addr = op.u64(p, "addr")?;
    let sequence = op.has("seq");
    let registration = Registration {
        pd: op.bits(p, "qp_pd", 16)? as u32,
        addr,
        iova: if op.has("iova") {
            op.u64(p, "iova")?
        } else {
            addr
        },
        length: op.u64(p, "length")?,
        access: op.u32(p, "access")?,
        mapping: if sequence && !op.has("mapping") {
            Mapping::Writable
        } else {
            Mapping::from_name(op.str(p, "mapping")?)
        },
    };
    Ok(if sequence {
        Action::KeySequence(registration)
    } else {
        Action::Register(registration)
    })
}

fn parse_elements(p: &Place, op: &Object, name: &str) -> Result<Vec<Element>, BadInput> {
    op.objects(p, name)?
        .iter()
        .map(|e| {
            Ok(Element {
                addr: e.u64(p, "addr")?,
                length: e.bits(p, "length", 32)?,
                lkey: e.u32(p, "lkey")?,
            })
        })
        .collect()
}

fn parse_transfer(p: &Place, op: &Object, name: &str) -> Result<Transfer, BadInput> {
    let Some(verb) = Verb::from_name(name) else {
        return Err(p.bad(
            format!("\"op.op\" is {name:?}"),
            format!("one of {}", OPS.join(", ")),
        ));
    };
    let remote = if verb.remote_op().is_some() {
        Some((op.u64(p, "remote_addr")?, op.u32(p, "rkey")?))
    } else {
        None
    };
    Ok(Transfer {
        verb,
        elements: parse_elements(p, op, "sges")?,
        remote,
        receive: if op.has("recv_sges") {
            Some(parse_elements(p, op, "recv_sges")?)
        } else {
            None
        },
        req_pd: op.bits(p, "req_pd", 16)? as u32,
        resp_pd: op.bits(p, "resp_pd", 16)? as u32,
        resp_access: op.u32(p, "resp_qp_access")?,
        req_qpn: op.bits(p, "req_qpn", 24)? as u32,
        resp_qpn: op.bits(p, "resp_qpn", 24)? as u32,
    })
}
