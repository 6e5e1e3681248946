// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Parser of recorded verdicts: one case a line.

use tpt_golden::types::Access;

use crate::input::{BadInput, Object, Place};
use crate::verbs::{Element, Verb, WC_STATUSES};

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

/// State of a listed window at the moment of the operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WindowState {
    /// Allocated, not bound.
    Unbound,
    /// Bound.
    Bound,
    /// Gone; the case is about its stale key.
    Gone,
}

/// A window that is listed in a case.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Window {
    /// Name inside the recording.
    pub name: String,
    /// Type 2 (2B), not type 1.
    pub type2: bool,
    /// Protection domain.
    pub pd: u32,
    /// Name of the region it is bound to; empty if to none.
    pub mr: String,
    /// First address.
    pub va: u64,
    /// Bytes.
    pub length: u64,
    /// Rights, and ZERO_BASED.
    pub access: u32,
    /// Recorded R_Key.
    pub rkey: u32,
    /// State at the moment of the operation.
    pub state: WindowState,
    /// Queue pair of a type-2 window.
    pub qpn: u32,
}

/// A bind, with the keys as they were sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BindOp {
    /// Name of the window.
    pub window: String,
    /// Name of the region.
    pub mr: String,
    /// First address.
    pub addr: u64,
    /// Bytes.
    pub length: u64,
    /// Rights, and ZERO_BASED.
    pub access: u32,
    /// R_Key that names the window.
    pub mw_rkey: u32,
    /// L_Key that names the region.
    pub mr_lkey: u32,
    /// R_Key that is asked for.
    pub new_rkey: u32,
    /// Number of the queue pair.
    pub qpn: u32,
    /// Its protection domain.
    pub qp_pd: u32,
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
    /// need the process's own right to read) are read-only; the others name holes, addresses of the
    /// kernel and the like. Beside [`MAPPINGS`], other names of the same build are understood:
    /// `rw_`, `ro_` or `rx_` and what it is, or a name with a word of `NO_MEMORY` in it.
    pub fn from_name(name: &str) -> Option<Self> {
        let kind = name.split('_').next().unwrap_or_default();
        match kind {
            "rw" => Some(Self::Writable),
            "ro" | "rx" | "none" => Some(Self::ReadOnly),
            _ if name.split('_').any(|word| NO_MEMORY.contains(&word)) => Some(Self::Unmapped),
            _ => None,
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
    /// A deregistration of the listed region with this name.
    Deregister(String),
    /// A bind of a listed window.
    Bind(BindOp),
    /// An invalidation by the owner: key, protection domain of the queue pair.
    LocalInvalidate(u32, u32),
    /// A send that invalidates a key of the receiver.
    SendInvalidate(Transfer, u32),
    /// One of a sequence of allocations of a window whose keys are recorded: type 2, protection
    /// domain.
    AllocateWindow(bool, u32),
    /// The line says itself that it was not run.
    NotRun(String),
}

/// What was observed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Accepted.
    pub accepted: bool,
    /// Errno of a registration or deregistration; 0 for work requests.
    pub errno: i64,
    /// Errno of the post.
    pub post_errno: i64,
    /// Errno of the post of the receive.
    pub post_recv_errno: i64,
    /// Completion status at the requester; empty if none is recorded.
    pub wc_status: String,
    /// Number of that status, if it is recorded.
    pub wc_num: Option<i64>,
    /// Completion statuses of the responder's receives.
    pub resp_wc: Vec<String>,
    /// Completion status of the read that follows an iWARP write or send.
    pub probe_wc: Option<String>,
    /// The bytes were right (or untouched); `None` if that could not be computed.
    pub data_ok: Option<bool>,
    /// Bytes that changed outside the intended destination.
    pub outside_target: u64,
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
    /// Windows.
    pub windows: Vec<Window>,
    /// Name of the operation.
    pub op: String,
    /// What is to be done.
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

    /// The line says itself that nothing was observed.
    pub fn nothing_to_compare(&self) -> Option<&'static str> {
        if self.not_run.is_some() {
            Some("not run by the recorder: nothing to compare")
        } else if self.unsupported {
            Some("not supported by the driver: nothing to compare")
        } else {
            None
        }
    }
}

/// Families of the recording.
pub const FAMILIES: &[&str] = &["A", "B", "C", "D", "E", "F", "G", "H", "X"];

/// Drivers whose recordings are understood.
pub const DRIVERS: &[&str] = &["rxe", "siw"];

/// Names of the mappings under a registration.
pub const MAPPINGS: &[&str] = &[
    "rw",
    "rw_shared_file",
    "ro_private_anon",
    "ro_private_file",
    "ro_shared_file",
    "rx_private_anon",
    "none",
    "hole",
    "mostly_unmapped",
    "unmapped",
    "beyond_eof",
    "kernel",
    "noncanonical",
];

/// Words in the name of a mapping that say that there is no memory.
const NO_MEMORY: &[&str] = &[
    "hole",
    "unmapped",
    "eof",
    "kernel",
    "noncanonical",
    "null",
    "guard",
    "past",
];

/// Stands for "no completion came".
pub const NO_COMPLETION: &str = "NONE";

/// The largest number of an error of Linux.
const MAX_ERRNO: i64 = 133;

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
    let driver = line.one_of(p, "driver", DRIVERS)?;
    let listed = if line.has("mws") {
        line.objects(p, "mws")?
    } else {
        Vec::new()
    };
    if !listed.is_empty() && family != "G" {
        return Err(p.bad(
            format!("windows are listed in a line of family {family}"),
            "\"mws\" in lines of family G only",
        ));
    }

    let mut mrs = Vec::new();
    if line.has("mrs") {
        for mr in line.objects(p, "mrs")? {
            mrs.push(parse_mr(p, &mr)?);
        }
    }

    let windows = listed
        .iter()
        .map(|w| parse_window(p, w))
        .collect::<Result<Vec<_>, _>>()?;
    for w in windows.iter().filter(|w| w.state == WindowState::Bound) {
        named(p, "mws.mr", &w.mr, mrs.iter().map(|m| m.name.as_str()))?;
    }

    // Lines that say themselves that nothing was observed carry only a part of the fields.
    let nothing = not_run.is_some() || unsupported;
    let action = match name {
        "send_inv" | "local_inv" | "bind_mw" | "alloc_mw" if nothing => {
            Action::NotRun(name.to_owned())
        }
        "send_inv" => {
            Action::SendInvalidate(parse_transfer(p, &op, "send")?, op.u32(p, "inv_key")?)
        }
        "local_inv" => {
            let pd = match op.one_of(p, "on", &["req", "resp"])? {
                "req" => op.bits(p, "req_pd", 16)?,
                _ => op.bits(p, "resp_pd", 16)?,
            };
            Action::LocalInvalidate(op.u32(p, "inv_key")?, pd as u32)
        }
        "bind_mw" => {
            let bind = parse_bind(p, &op)?;
            named(
                p,
                "op.mw",
                &bind.window,
                windows.iter().map(|w| w.name.as_str()),
            )?;
            named(
                p,
                "op.mr",
                &bind.mr,
                mrs.iter().map(|m: &Mr| m.name.as_str()),
            )?;
            Action::Bind(bind)
        }
        "alloc_mw" => {
            let sub = line.opt_str(p, "sub")?.unwrap_or_default();
            let type2 = match sub.get(..4) {
                Some("mw1_") => false,
                Some("mw2_") => true,
                _ => op.bits(p, "mw_type", 2)? == 2,
            };
            Action::AllocateWindow(type2, op.bits(p, "qp_pd", 16)? as u32)
        }
        "rereg_mr" if nothing => Action::NotRun(name.to_owned()),
        "rereg_mr" => Action::Reregister,
        "dereg_mr" if nothing => Action::NotRun(name.to_owned()),
        "dereg_mr" => {
            let mr = op.str(p, "mr")?;
            if !mrs.iter().any(|m: &Mr| m.name == mr) {
                return Err(p.bad(
                    format!("\"op.mr\" is {mr:?}"),
                    "the name of a listed region",
                ));
            }
            Action::Deregister(mr.to_owned())
        }
        "reg_mr" if nothing && !has(&op, &["addr", "length", "access", "qp_pd", "mapping"]) => {
            Action::NotRun(name.to_owned())
        }
        "reg_mr" => parse_registration(p, &op, family == "H")?,
        _ if nothing && !has(&op, TRANSFER) => {
            if has(&op, &["sges", "qp_pd"]) && op.opt_str(p, "check")? == Some("local") {
                Action::Transfer(parse_local_half(p, &op, name)?)
            } else {
                Action::NotRun(name.to_owned())
            }
        }
        _ => Action::Transfer(parse_transfer(p, &op, name)?),
    };
    let free = nothing || matches!(action, Action::NotRun(_));
    let accepted = if free {
        outcome.flag(p, "accepted")?
    } else {
        outcome.bool(p, "accepted")?
    };
    let is_transfer = matches!(
        action,
        Action::Transfer(_)
            | Action::Bind(_)
            | Action::LocalInvalidate(..)
            | Action::SendInvalidate(..)
    );
    if is_transfer && !free && !outcome.has("wc_status") {
        return Err(p.bad(
            "\"outcome.wc_status\" is missing",
            "the completion status, or NONE",
        ));
    }
    if !is_transfer && !free && !outcome.has("errno") {
        return Err(p.bad("\"outcome.errno\" is missing", "0 or an error number"));
    }
    let mut resp_wc = Vec::new();
    if outcome.has("resp_wc") {
        for wc in outcome.objects(p, "resp_wc")? {
            resp_wc.push(status(p, &wc, "status")?);
        }
    }
    let outcome = Outcome {
        accepted,
        errno: errno(p, &outcome, "errno")?,
        post_errno: errno(p, &outcome, "post_errno")?,
        post_recv_errno: errno(p, &outcome, "post_recv_errno")?,
        wc_status: if outcome.has("wc_status") {
            status(p, &outcome, "wc_status")?
        } else {
            String::new()
        },
        wc_num: outcome.opt_i64(p, "wc_num")?,
        resp_wc,
        probe_wc: if outcome.has("probe_wc") {
            Some(status(p, &outcome, "probe_wc")?)
        } else {
            None
        },
        data_ok: if outcome.has("data_ok") {
            Some(outcome.bool(p, "data_ok")?)
        } else {
            None
        },
        outside_target: if outcome.has("changed") {
            let changed = outcome.object(p, "changed")?;
            if changed.has("outside_target") {
                changed.u64(p, "outside_target")?
            } else {
                0
            }
        } else {
            0
        },
    };
    Ok(Case {
        line: p.line,
        id: line.str(p, "id")?.to_owned(),
        family: family.chars().next().unwrap_or('?'),
        sub: line.opt_str(p, "sub")?.unwrap_or_default().to_owned(),
        note: line.opt_str(p, "note")?.unwrap_or_default().to_owned(),
        driver: driver.to_owned(),
        mrs,
        windows,
        op: name.to_owned(),
        action,
        outcome,
        differs: line.flag(p, "differs_from_ib")?,
        unsupported,
        not_run,
    })
}

/// Fields of a whole work request.
const TRANSFER: &[&str] = &[
    "sges",
    "req_pd",
    "resp_pd",
    "resp_qp_access",
    "req_qpn",
    "resp_qpn",
];

fn has(op: &Object, names: &[&str]) -> bool {
    names.iter().all(|n| op.has(n))
}

/// A completion status out of the closed list.
fn status(p: &Place, o: &Object, name: &str) -> Result<String, BadInput> {
    let mut known = WC_STATUSES.to_vec();
    known.push(NO_COMPLETION);
    o.one_of(p, name, &known).map(str::to_owned)
}

/// An error number; 0 if it is absent.
fn errno(p: &Place, o: &Object, name: &str) -> Result<i64, BadInput> {
    let n = o.opt_i64(p, name)?.unwrap_or(0);
    if (0..=MAX_ERRNO).contains(&n) {
        Ok(n)
    } else {
        Err(p.bad(
            format!("\"outcome.{name}\" is {n}"),
            format!("0 or an error number up to {MAX_ERRNO}"),
        ))
    }
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

fn parse_window(p: &Place, w: &Object) -> Result<Window, BadInput> {
    let state = w.one_of(p, "state", &["free", "unbound", "valid", "deallocated"])?;
    let number = w.u64(p, "type")?;
    if number != 1 && number != 2 {
        return Err(p.bad(format!("\"mws.type\" is {number}"), "1 or 2"));
    }
    Ok(Window {
        name: w.str(p, "name")?.to_owned(),
        type2: number == 2,
        pd: w.bits(p, "pd", 16)? as u32,
        mr: w.opt_str(p, "mr")?.unwrap_or_default().to_owned(),
        va: w.u64(p, "va")?,
        length: w.u64(p, "length")?,
        access: w.u32(p, "access")?,
        rkey: w.u32(p, "rkey")?,
        state: match state {
            "valid" => WindowState::Bound,
            "deallocated" => WindowState::Gone,
            _ => WindowState::Unbound,
        },
        qpn: w.bits(p, "qpn", 24)? as u32,
    })
}

fn parse_bind(p: &Place, op: &Object) -> Result<BindOp, BadInput> {
    Ok(BindOp {
        window: op.str(p, "mw")?.to_owned(),
        mr: op.str(p, "mr")?.to_owned(),
        addr: op.u64(p, "addr")?,
        length: op.u64(p, "length")?,
        access: op.u32(p, "access")?,
        mw_rkey: op.u32(p, "mw_rkey")?,
        mr_lkey: op.u32(p, "mr_lkey")?,
        new_rkey: op.u32(p, "new_rkey")?,
        qpn: op.bits(p, "qpn", 24)? as u32,
        qp_pd: op.bits(p, "qp_pd", 16)? as u32,
    })
}

/// The name of something must be one that is listed.
fn named<'a>(
    p: &Place,
    field: &str,
    name: &str,
    mut listed: impl Iterator<Item = &'a str>,
) -> Result<(), BadInput> {
    match listed.any(|known| known == name) {
        true => Ok(()),
        false => Err(p.bad(format!("\"{field}\" is {name:?}"), "a name that is listed")),
    }
}

/// Only lines of family H may be one of a sequence.
fn parse_registration(p: &Place, op: &Object, sequences: bool) -> Result<Action, BadInput> {
    let addr = op.u64(p, "addr")?;
    let sequence = sequences && op.has("seq");
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
            let name = op.str(p, "mapping")?;
            match Mapping::from_name(name) {
                Some(mapping) => mapping,
                None => op
                    .one_of(p, "mapping", MAPPINGS)
                    .map(|_| Mapping::Unmapped)?,
            }
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

fn verb(p: &Place, name: &str) -> Result<Verb, BadInput> {
    Verb::from_name(name).ok_or_else(|| {
        p.bad(
            format!("\"op.op\" is {name:?}"),
            format!("one of {}", OPS.join(", ")),
        )
    })
}

/// The requester's half of a work request that was not run and of which no more is recorded.
fn parse_local_half(p: &Place, op: &Object, name: &str) -> Result<Transfer, BadInput> {
    let pd = op.bits(p, "qp_pd", 16)? as u32;
    Ok(Transfer {
        verb: verb(p, name)?,
        elements: parse_elements(p, op, "sges")?,
        remote: None,
        receive: None,
        req_pd: pd,
        resp_pd: pd,
        resp_access: Access::ANY_REMOTE.0,
        req_qpn: 0,
        resp_qpn: 0,
    })
}

fn parse_transfer(p: &Place, op: &Object, name: &str) -> Result<Transfer, BadInput> {
    let verb = verb(p, name)?;
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
