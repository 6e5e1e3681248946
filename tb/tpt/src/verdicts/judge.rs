// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Compares the verdict by the rules with the recorded one.

use crate::tally::Judgement;
use crate::verbs::{class_of_status, total, Class, Refusal, Side, Verb, Why, WC_STATUSES};

use super::parse::{Action, Case, Outcome, Transfer, NO_COMPLETION};
use tpt_golden::types::{Status, Syndrome};

/// Driver name of the iWARP recordings. It reports a refused remote access as a torn connection.
pub const IWARP: &str = "siw";

/// What is special about the regions of a case; picks the words of the table of differences.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traits {
    /// The remote region is ZERO_BASED.
    pub zero_based: bool,
    /// The remote region answers at an address that is not the process's.
    pub iova: bool,
    /// The remote region gives no right to a peer, and so has no R_Key.
    pub no_remote_right: bool,
    /// The remote region is one that the rules would have refused to register.
    pub refused_region: bool,
    /// The remote key is that of a window.
    pub window: bool,
    /// The remote key is that of a window that the rules refuse to bind as it is listed.
    pub refused_window: bool,
}

/// Judges a data transfer.
pub fn transfer(case: &Case, tr: &Transfer, refusals: &[Refusal], t: Traits) -> Judgement {
    let accepted = refusals.is_empty();
    if case.flagged() {
        return Judgement::Known(rule_followed(case, refusals, t));
    }
    if let Some(what) = contradiction(&case.outcome) {
        return Judgement::Disagreed(what);
    }
    match (accepted, case.outcome.accepted) {
        (true, true) => Judgement::Agreed,
        (true, false) => {
            Judgement::Disagreed(format!("accepted, but the recording says {}", status(case)))
        }
        (false, true) => Judgement::Disagreed(format!(
            "refused ({}), but the recording says accepted",
            list(refusals)
        )),
        (false, false) => match class_differs(case, tr, refusals) {
            None => Judgement::Agreed,
            Some(what) => Judgement::Disagreed(what),
        },
    }
}

/// Judges a bind, an invalidation or an allocation; `refused` is the status of the command.
pub fn command(case: &Case, refused: Option<Status>) -> Judgement {
    let o = &case.outcome;
    let same = refused.is_none() == o.accepted;
    if case.flagged() {
        return Judgement::Known(match (case.nothing_to_compare(), refused) {
            (Some(why), _) => format!("{why} ({})", case.op),
            _ if same => "same verdict".into(),
            (_, Some(status)) => format!("{} refused: {}", case.op, command_rule(status)),
            (_, None) => format!("{} accepted: the rules allow it", case.op),
        });
    }
    let contradicts = match case.action {
        Action::AllocateWindow(..) => (o.accepted != (o.errno == 0))
            .then(|| format!("the recording contradicts itself: errno {}", o.errno)),
        _ => contradiction(o),
    };
    if let Some(what) = contradicts {
        return Judgement::Disagreed(what);
    }
    match refused {
        None if same => Judgement::Agreed,
        None => Judgement::Disagreed(format!("executed, but the recording says {}", status(case))),
        Some(why) if !same => {
            Judgement::Disagreed(format!("refused ({why}), but the recording says executed"))
        }
        Some(why) if fits_command(case, why) => Judgement::Agreed,
        Some(why) => Judgement::Disagreed(format!(
            "refused ({why}), but the recording says {}",
            status(case)
        )),
    }
}

/// Statuses of a refused command. What the library sees by itself it may refuse at the post:
/// protection domains, flags and lengths; that of iWARP knows neither windows nor LOCAL_INV.
fn fits_command(case: &Case, why: Status) -> bool {
    let o = &case.outcome;
    let at_post = o.post_errno != 0;
    match case.action {
        Action::Bind(_) if at_post => matches!(
            why,
            Status::KeyPd | Status::MrPd | Status::BadFlags | Status::BadLength
        ),
        Action::Bind(_) => o.wc_status == "MW_BIND_ERR",
        Action::LocalInvalidate(..) if at_post => case.driver == IWARP,
        Action::LocalInvalidate(..) => class_of_status(&o.wc_status) == Some(Class::Local),
        // The message has arrived, and the receive tells.
        Action::SendInvalidate(..) => {
            !at_post && o.wc_status == "SUCCESS" && o.resp_wc.iter().any(|s| s == "REM_INV_REQ_ERR")
        }
        _ => true,
    }
}

/// The rule behind a status, in words.
fn command_rule(status: Status) -> String {
    match status {
        Status::BadFlags => "a bind grants remote rights only".into(),
        Status::BadWrap => "address + length past 2^64".into(),
        Status::MrBounds => "a window lies inside its region".into(),
        Status::MrPd | Status::KeyPd => {
            "window, region and queue pair are of one protection domain".into()
        }
        Status::KeyKind => "only what is fast-registered or a type-2 window is invalidated".into(),
        Status::KeyIndex | Status::KeyState | Status::KeyTag => {
            "the key is not one that can be invalidated or bound".into()
        }
        other => other.to_string(),
    }
}

/// Does the outcome of a work request contradict itself? `accepted` means: posted, SUCCESS at the
/// requester, at every receive and at the probe, and the right bytes.
pub fn contradiction(o: &Outcome) -> Option<String> {
    let number = match WC_STATUSES.iter().position(|s| *s == o.wc_status) {
        Some(n) => n as i64,
        None => -1,
    };
    if o.wc_num.is_some_and(|n| n != number) {
        return Some(format!(
            "the recording contradicts itself: status {} has number {number}, not {}",
            o.wc_status,
            o.wc_num.unwrap_or_default()
        ));
    }
    let failed = |s: &String| s != "SUCCESS";
    let trouble = if o.post_errno != 0 {
        Some(format!("the post failed with errno {}", o.post_errno))
    } else if o.post_recv_errno != 0 {
        Some(format!(
            "the post of the receive failed with errno {}",
            o.post_recv_errno
        ))
    } else if failed(&o.wc_status) {
        Some(format!("the completion is {}", o.wc_status))
    } else {
        let receive = o.resp_wc.iter().find(|s| failed(s));
        let probe = o.probe_wc.as_ref().filter(|s| failed(s));
        receive
            .map(|s| format!("the receive ended with {s}"))
            .or_else(|| probe.map(|s| format!("the probe ended with {s}")))
    };
    match (o.accepted, trouble) {
        (true, Some(what)) => Some(format!(
            "the recording contradicts itself: accepted, but {what}"
        )),
        (true, None) if o.data_ok == Some(false) => {
            Some("the recording says accepted, but the bytes are wrong".into())
        }
        (false, None) => {
            Some("the recording contradicts itself: refused, but everything is SUCCESS".into())
        }
        (false, Some(_)) if o.post_errno != 0 && o.wc_status != NO_COMPLETION => Some(format!(
            "the recording contradicts itself: the post failed, but the completion is {}",
            o.wc_status
        )),
        (false, Some(_)) if o.outside_target > 0 => Some(format!(
            "refused, but {} bytes outside the destination changed",
            o.outside_target
        )),
        _ => None,
    }
}

fn status(case: &Case) -> String {
    if case.outcome.post_errno != 0 {
        format!("the post failed with errno {}", case.outcome.post_errno)
    } else {
        format!("refused ({})", case.outcome.wc_status)
    }
}

fn list(refusals: &[Refusal]) -> String {
    refusals
        .iter()
        .map(Refusal::to_string)
        .collect::<Vec<_>>()
        .join("; ")
}

/// May the library or the driver have refused this when it was posted? They see what the
/// requester alone knows: operations that the transport does not have, results that are too short,
/// misaligned atomics. Keys and ranges are not looked at.
fn refused_at_post(tr: &Transfer, refusals: &[Refusal]) -> bool {
    let misaligned = tr.verb.is_atomic() && tr.remote.is_some_and(|(va, _)| va % 8 != 0);
    misaligned
        || refusals
            .iter()
            .any(|r| r.side == Side::Local && matches!(r.why, Why::Before(_)))
}

/// Both sides refuse: do they mean the same?
fn class_differs(case: &Case, tr: &Transfer, refusals: &[Refusal]) -> Option<String> {
    let o = &case.outcome;
    let fits = if o.post_errno != 0 {
        refused_at_post(tr, refusals)
    } else if case.driver == IWARP {
        fits_iwarp(o, tr, refusals)
    } else {
        fits_class(o, tr, refusals)
    };
    (!fits).then(|| {
        format!(
            "refused as {}, but the recording says {}",
            list(refusals),
            status(case)
        )
    })
}

/// Statuses of a refusal by the rules of InfiniBand. Which local code is reported is not compared,
/// nor which side's refusal when both sides refuse.
fn fits_class(o: &Outcome, tr: &Transfer, refusals: &[Refusal]) -> bool {
    let on = |side| refusals.iter().filter(move |r| r.side == side);
    // The queue pair's own rule is looked at before the key.
    let remote = on(Side::Remote)
        .find(|r| matches!(r.why, Why::Before(_)))
        .or_else(|| on(Side::Remote).next());
    let too_short = tr
        .receive
        .as_deref()
        .is_some_and(|r| tr.verb == Verb::Send && total(r) < total(&tr.elements));
    match class_of_status(&o.wc_status) {
        Some(Class::RemoteInvalid) if too_short => true,
        Some(c @ (Class::RemoteAccess | Class::RemoteInvalid)) => {
            remote.is_some_and(|r| r.class == c)
        }
        Some(Class::RemoteOperation) => refusals.iter().any(|r| r.class == Class::RemoteOperation),
        Some(Class::Local) => on(Side::Local).next().is_some(),
        // LOC_LEN_ERR: a message or a result whose length does not fit.
        None => o.wc_status == "LOC_LEN_ERR" && on(Side::Local).next().is_some(),
    }
}

/// Statuses of a refusal by the iWARP driver, which has no classes: a refused remote access tears
/// the connection down. The requester of a write or a send sees SUCCESS (the probe or the receive
/// tells), or its own failure if the connection was lost while it was sending.
fn fits_iwarp(o: &Outcome, tr: &Transfer, refusals: &[Refusal]) -> bool {
    let local = refusals.iter().any(|r| r.side == Side::Local);
    let far = refusals.iter().any(|r| r.side != Side::Local);
    match o.wc_status.as_str() {
        "SUCCESS" => far && tr.verb != Verb::Read,
        "WR_FLUSH_ERR" => far || local,
        "LOC_QP_OP_ERR" => local || (far && tr.verb != Verb::Read),
        "LOC_PROT_ERR" | "GENERAL_ERR" => local,
        _ => false,
    }
}

/// The rule that is followed on a flagged line.
fn rule_followed(case: &Case, refusals: &[Refusal], t: Traits) -> String {
    if let Some(why) = case.nothing_to_compare() {
        return format!("{why} ({})", case.op);
    }
    if refusals.is_empty() == case.outcome.accepted {
        return if case.outcome.data_ok == Some(false) {
            "same verdict, but the driver moved other bytes than asked".into()
        } else {
            "same verdict".into()
        };
    }
    if t.window && !refusals.is_empty() {
        let refused = refusals.iter().find(|r| r.side == Side::Remote);
        return match refused.map(|r| r.why) {
            _ if t.refused_window => {
                "refused: a window that the rules refuse to bind does not exist".into()
            }
            Some(Why::Unit(Syndrome::Bounds | Syndrome::Wrap)) if t.zero_based => {
                "refused: addresses of a ZERO_BASED window are offsets inside it".into()
            }
            Some(Why::Unit(Syndrome::Bounds | Syndrome::Wrap)) => {
                "refused: a window has its own range".into()
            }
            _ => format!("refused through a window: {}", list(refusals)),
        };
    }
    let Some(first) = refusals.first() else {
        return if t.zero_based {
            "accepted: addresses of a ZERO_BASED region are offsets".into()
        } else if t.iova {
            "accepted: a region answers at its iova".into()
        } else {
            "accepted: the rules allow it".into()
        };
    };
    let side = match first.side {
        Side::Remote => "remote",
        Side::Local => "local",
        Side::Receive => "receive",
    };
    match first.why {
        Why::Unit(Syndrome::Bounds) if t.zero_based && first.side == Side::Remote => {
            "refused: addresses of a ZERO_BASED region are offsets".into()
        }
        Why::Unit(_) if t.refused_region && first.side == Side::Remote => {
            "refused: a region past 2^64 does not exist".into()
        }
        Why::Unit(Syndrome::Bounds | Syndrome::Wrap) if t.iova && first.side == Side::Remote => {
            "refused: a region answers at its iova".into()
        }
        Why::Unit(_) if t.no_remote_right && first.side == Side::Remote => {
            "refused: a region without remote rights has no R_Key".into()
        }
        Why::Unit(Syndrome::Rights) => {
            format!("refused ({side}): every needed right must be there (RIGHTS)")
        }
        why => format!("refused ({side}): {why}"),
    }
}
