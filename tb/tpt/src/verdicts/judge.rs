// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Compares the verdict by the rules with the recorded one.

use crate::tally::Judgement;
use crate::verbs::{class_of_status, Class, Refusal, Side, Why};

use super::parse::Case;
use tpt_golden::types::Syndrome;

/// Driver name of the iWARP recordings. It reports a refused remote access as a torn connection,
/// so classes say nothing there.
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
}

/// Judges a data transfer.
pub fn transfer(case: &Case, refusals: &[Refusal], t: Traits) -> Judgement {
    let accepted = refusals.is_empty();
    if case.flagged() {
        return Judgement::Known(rule_followed(case, refusals, t));
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
        (false, false) => match class_differs(case, refusals) {
            None => Judgement::Agreed,
            Some(what) => Judgement::Disagreed(what),
        },
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

/// Both sides refuse: do they mean the same?
fn class_differs(case: &Case, refusals: &[Refusal]) -> Option<String> {
    if case.outcome.post_errno != 0 || case.sub == "recv_short" {
        return None;
    }
    let recorded = class_of_status(&case.outcome.wc_status)?;
    let fits = |r: &Refusal| match recorded {
        Class::RemoteAccess | Class::RemoteInvalid => r.side == Side::Remote && r.class == recorded,
        Class::RemoteOperation => r.class == Class::RemoteOperation,
        Class::Local => r.side == Side::Local,
    };
    if recorded == Class::Local && case.driver == IWARP {
        return None;
    }
    if refusals.iter().any(fits) {
        None
    } else {
        Some(format!(
            "refused as {}, but the recording says {}",
            list(refusals),
            case.outcome.wc_status
        ))
    }
}

/// The rule that is followed on a flagged line.
fn rule_followed(case: &Case, refusals: &[Refusal], t: Traits) -> String {
    if refusals.is_empty() == case.outcome.accepted {
        return if case.outcome.data_ok == Some(false) {
            "same verdict, but the driver moved other bytes than asked".into()
        } else {
            "same verdict".into()
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
