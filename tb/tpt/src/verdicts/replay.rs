// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Runs recorded cases through a target.

use std::collections::{BTreeMap, HashSet, VecDeque};

use tpt_golden::frames::FrameList;
use tpt_golden::mtt::Shape;
use tpt_golden::types::{Access, CmdOp, Command, Key, Op, Request, Status, Syndrome};

use super::judge::{self, Traits, IWARP};
use super::keys::{self, Pair};
use super::memory;
use super::parse::{Action, Case, Mapping, Mr, MrState, Registration, Transfer, WindowState};
use super::pinning;
use super::windows::{LiveWindow, WindowIdentity};
use crate::addresses;
use crate::tally::{Judgement, Tally};
use crate::target::{self, Access1, Refused, Region, Target, TargetError, REQUESTER, RESPONDER};
use crate::verbs::{self, QueueRules, Refusal, Side, Step};

/// Accesses that are sent together.
const BATCH: usize = 2048;
/// Stale keys that are remembered.
const STALE: usize = 1 << 16;
/// Regions of a key sequence that are kept registered at a time.
const SEQUENCE: usize = 256;
/// Number of the unit's protection domain for the recorded domain 0.
const PD_BASE: u32 = 0x00_1000;

/// Rules that hold before the unit.
pub(super) const WRAP: &str = "address + length past 2^64";
pub(super) const OFFSET: &str = "page offset of iova and address differ";
pub(super) const UNMAPPED: &str = "memory that is not mapped";
pub(super) const READ_ONLY: &str = "LOCAL_WRITE or MW_BIND on memory that is not writable";

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Identity {
    pd: u32,
    va: u64,
    host_addr: u64,
    length: u64,
    access: u32,
    lkey: u32,
    rkey: u32,
}

impl Identity {
    pub(super) fn of(mr: &Mr) -> Self {
        Self {
            pd: mr.pd,
            va: mr.va,
            host_addr: mr.host_addr,
            length: mr.length,
            access: mr.access,
            lkey: mr.lkey,
            rkey: mr.rkey,
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Live {
    pub(super) region: Region,
    frames: FrameList,
}

/// One access of a waiting case.
#[derive(Debug, Clone)]
struct Sent {
    side: Side,
    /// Region that the recorded key names (that of the window, if it names one), for the check of
    /// addresses.
    region: Option<Identity>,
    /// First byte inside the region.
    at: u64,
    len: u32,
}

#[derive(Debug)]
struct Waiting {
    case: Case,
    before: Vec<Refusal>,
    first: usize,
    sent: Vec<Sent>,
    traits: Traits,
}

/// Replays the cases of one or more files.
#[derive(Debug, Default)]
pub struct Replayer {
    // Ordered, so that a run does not depend on the process.
    pub(super) live: BTreeMap<Identity, Live>,
    pub(super) live_keys: HashSet<u32>,
    pub(super) windows: BTreeMap<WindowIdentity, LiveWindow>,
    pub(super) stale_windows: BTreeMap<WindowIdentity, Key>,
    stale: BTreeMap<Identity, (Key, Key)>,
    refused: BTreeMap<Identity, Status>,
    sequence: VecDeque<Region>,
    waiting: Vec<Waiting>,
    batch: Vec<Access1>,
    /// Local elements of ZERO_BASED regions that were given as offsets.
    pub rebased: u64,
    /// Accesses that were sent.
    pub accesses: u64,
    /// Registrations that were made.
    pub registrations: u64,
}

/// Group name in the tally: driver and family.
fn group(case: &Case) -> String {
    format!("{} {}", case.driver, case.family)
}

fn record(tally: &mut Tally, file: &str, case: &Case, j: Judgement) {
    tally.count(
        &group(case),
        &case.driver,
        || format!("{file}:{}", case.line),
        || case.id.clone(),
        j,
    );
}

/// Stream of a queue pair: order is kept per queue pair.
pub fn stream(qpn: u32) -> u8 {
    (qpn.wrapping_mul(0x9e37_79b1) >> 26) as u8
}

pub(super) fn pd(recorded: u32) -> u32 {
    PD_BASE + recorded
}

impl Replayer {
    /// A replayer with nothing registered.
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs one case. Its judgement may come later, at the latest with [`Replayer::finish`].
    pub fn run(
        &mut self,
        t: &mut dyn Target,
        file: &str,
        case: Case,
        tally: &mut Tally,
    ) -> Result<(), TargetError> {
        let j = match &case.action {
            Action::NotRun(op) => match case.nothing_to_compare() {
                Some(why) => Judgement::Known(format!("{why} ({op})")),
                None => Judgement::Disagreed("not run, and not flagged".into()),
            },
            Action::Reregister => {
                Judgement::Disagreed("a re-registration without the flag \"unsupported\"".into())
            }
            Action::Register(r) => self.register_case(t, &case, r)?,
            Action::KeySequence(r) => self.key_case(t, &case, r)?,
            Action::Deregister(name) => {
                // What waits may use the region.
                self.flush(t, file, tally)?;
                self.deregister_case(t, file, &case, name, tally)?
            }
            Action::Bind(bind) => self.bind_case(t, file, &case, bind, tally)?,
            Action::LocalInvalidate(key, qp_pd) => {
                self.local_case(t, file, &case, (*key, *qp_pd), tally)?
            }
            Action::SendInvalidate(tr, key) => self.send_case(t, file, &case, (tr, *key), tally)?,
            Action::AllocateWindow(type2, pd) => self.allocate_case(t, &case, *type2, *pd)?,
            Action::Transfer(_) => return self.transfer_case(t, file, case, tally),
        };
        record(tally, file, &case, j);
        Ok(())
    }

    /// Judges what is still waiting and deregisters everything.
    pub fn finish(
        &mut self,
        t: &mut dyn Target,
        file: &str,
        tally: &mut Tally,
    ) -> Result<(), TargetError> {
        self.flush(t, file, tally)?;
        while let Some(region) = self.sequence.pop_front() {
            self.drop_region(t, region)?;
        }
        let windows: Vec<_> = self.windows.keys().cloned().collect();
        self.drop_windows(t, &windows)?;
        let left: Vec<_> = self.live.keys().cloned().collect();
        for identity in left {
            self.retire(t, &identity)?;
        }
        self.stale.clear();
        self.stale_windows.clear();
        self.refused.clear();
        Ok(())
    }

    fn drop_region(&mut self, t: &mut dyn Target, region: Region) -> Result<(), TargetError> {
        let status = t.deregister(region.id)?;
        if status != Status::Ok {
            return Err(TargetError::Mismatch {
                clock: t.clock(),
                text: format!("deregistering L_Key {} ended with {status}", region.lkey),
            });
        }
        self.live_keys.remove(&region.lkey.0);
        self.live_keys.remove(&region.rkey.0);
        Ok(())
    }

    fn retire(&mut self, t: &mut dyn Target, identity: &Identity) -> Result<(), TargetError> {
        if let Some(live) = self.live.remove(identity) {
            self.drop_region(t, live.region)?;
            if self.stale.len() >= STALE {
                self.stale.clear();
            }
            self.stale
                .insert(identity.clone(), (live.region.lkey, live.region.rkey));
        }
        Ok(())
    }

    /// Registers with the driver; keeps the key book.
    fn register(
        &mut self,
        t: &mut dyn Target,
        pd: u32,
        host_addr: u64,
        start: u64,
        length: u64,
        access: u32,
    ) -> Result<Result<Live, Refused>, TargetError> {
        let frames = memory::frames(host_addr, length);
        let made = t.register(&target::Registration {
            pd,
            start,
            length,
            access: Access(access),
            frames: frames.clone(),
            shape: Shape {
                lazy: memory::pages(start, length) > memory::LAZY,
                ..Shape::default()
            },
        })?;
        self.registrations += 1;
        Ok(made.map(|region| {
            self.live_keys.insert(region.lkey.0);
            if region.rkey != Key::NONE {
                self.live_keys.insert(region.rkey.0);
            }
            Live { region, frames }
        }))
    }

    /// Makes the registered set, and the set of windows, that of the case. Returns the key pairs of
    /// what is listed.
    pub(super) fn prepare(
        &mut self,
        t: &mut dyn Target,
        file: &str,
        case: &Case,
        tally: &mut Tally,
    ) -> Result<Result<Vec<Pair>, String>, TargetError> {
        let wanted: HashSet<Identity> = case
            .mrs
            .iter()
            .filter(|m| m.state == MrState::Valid)
            .map(Identity::of)
            .collect();
        let unwanted: Vec<_> = self
            .live
            .keys()
            .filter(|k| !wanted.contains(k))
            .cloned()
            .collect();
        let listed: HashSet<WindowIdentity> = case
            .windows
            .iter()
            .map(|w| WindowIdentity::of(case, w))
            .collect();
        let unlisted: Vec<_> = self
            .windows
            .keys()
            .filter(|k| !listed.contains(k))
            .cloned()
            .collect();
        let new_windows = listed
            .iter()
            .any(|k| !self.windows.contains_key(k) && !self.stale_windows.contains_key(k));
        let change = !unwanted.is_empty()
            || !unlisted.is_empty()
            || new_windows
            || !self.sequence.is_empty()
            || case.mrs.iter().any(|m| {
                let id = Identity::of(m);
                match m.state {
                    MrState::Valid => {
                        !self.live.contains_key(&id) && !self.refused.contains_key(&id)
                    }
                    MrState::Gone => !self.stale.contains_key(&id),
                }
            });
        if change {
            self.flush(t, file, tally)?;
            while let Some(region) = self.sequence.pop_front() {
                self.drop_region(t, region)?;
            }
            self.drop_windows(t, &unlisted)?;
            for identity in &unwanted {
                self.retire(t, identity)?;
            }
        }
        let mut pairs = Vec::with_capacity(case.mrs.len());
        for mr in &case.mrs {
            let id = Identity::of(mr);
            let known = match mr.state {
                MrState::Valid => self.live.contains_key(&id),
                MrState::Gone => self.stale.contains_key(&id),
            };
            if !known && !self.refused.contains_key(&id) {
                if let Some(expected) = verbs::refused_range(mr.va, mr.length) {
                    let got = t.refused_command(&verbs::bare_registration(
                        pd(mr.pd),
                        mr.va,
                        mr.length,
                        mr.access,
                    ))?;
                    if got.status != expected {
                        return Ok(Err(format!(
                            "registering {} gives {}, not {expected}",
                            mr.name, got.status
                        )));
                    }
                    self.refused.insert(id.clone(), expected);
                } else {
                    match self.register(t, pd(mr.pd), mr.host_addr, mr.va, mr.length, mr.access)? {
                        Err(status) => {
                            return Ok(Err(format!(
                                "the listed region {} is refused ({status})",
                                mr.name
                            )))
                        }
                        Ok(live) => {
                            self.live.insert(id.clone(), live);
                            if mr.state == MrState::Gone {
                                self.retire(t, &id)?;
                            }
                        }
                    }
                }
            }
            let ours = self
                .live
                .get(&id)
                .map(|l| (l.region.lkey, l.region.rkey))
                .or_else(|| self.stale.get(&id).copied());
            if let Some((our_lkey, our_rkey)) = ours {
                let pair = Pair {
                    lkey: mr.lkey,
                    rkey: mr.rkey,
                    our_lkey,
                    our_rkey,
                };
                pairs.push((mr.state == MrState::Gone, pair));
            }
        }
        match self.make_windows(t, case)? {
            Ok(windows) => pairs.extend(windows),
            Err(what) => return Ok(Err(what)),
        }
        // A key that was issued again belongs to the region that is alive.
        pairs.sort_by_key(|(gone, _)| *gone);
        Ok(Ok(pairs.into_iter().map(|(_, pair)| pair).collect()))
    }

    fn transfer_case(
        &mut self,
        t: &mut dyn Target,
        file: &str,
        case: Case,
        tally: &mut Tally,
    ) -> Result<(), TargetError> {
        let pairs = match self.prepare(t, file, &case, tally)? {
            Ok(pairs) => pairs,
            Err(what) => {
                record(tally, file, &case, Judgement::Disagreed(what));
                return Ok(());
            }
        };
        let Action::Transfer(tr) = &case.action else {
            return Ok(());
        };
        let iwarp = case.driver == IWARP;
        let rules = QueueRules {
            // Connections of the iWARP recording were made by the connection manager: their flags
            // are nominal.
            responder_access: (!iwarp).then_some(tr.resp_access),
            iwarp,
        };
        let plan = verbs::plan(
            tr.verb,
            &tr.elements,
            false,
            tr.remote,
            tr.receive.as_deref(),
            rules,
        );
        let traits = self.traits(&case, tr);
        let first = self.batch.len();
        let mut sent = Vec::with_capacity(plan.steps.len());
        for step in &plan.steps {
            let window = self.window_of(&case, step.key);
            let window = window.filter(|_| step.side == Side::Remote);
            let listed = match window {
                Some((w, _)) => case.mrs.iter().find(|mr| mr.name == w.mr),
                None => listed(&case.mrs, step),
            };
            let mut va = step.va;
            let mut at = va;
            if let Some(mr) = listed {
                // Both drivers ignore ZERO_BASED, and programs give them addresses. The unit's
                // driver would hand the offset to the unit.
                if step.side != Side::Remote && Access(mr.access).contains(Access::ZERO_BASED) {
                    va = va.wrapping_sub(mr.va);
                    self.rebased += 1;
                }
                let zero_based = |access| Access(access).contains(Access::ZERO_BASED);
                at = match window {
                    Some((w, _)) if zero_based(w.access) => va.wrapping_add(w.va),
                    _ => va,
                };
                if !zero_based(mr.access) {
                    at = at.wrapping_sub(mr.va);
                }
            }
            let key = keys::replace(step.key, step.op.role(), &pairs, &self.live_keys);
            let (client, pd_of, qpn) = match step.side {
                Side::Local => (REQUESTER, tr.req_pd, tr.req_qpn),
                Side::Remote | Side::Receive => (RESPONDER, tr.resp_pd, tr.resp_qpn),
            };
            self.batch.push(Access1 {
                client,
                request: Request {
                    tag: 0,
                    stream: stream(qpn),
                    op: step.op.code(),
                    key,
                    va,
                    len: step.len,
                    pd: pd(pd_of),
                    qpn,
                },
            });
            sent.push(Sent {
                side: step.side,
                region: listed.map(Identity::of),
                at,
                len: step.len,
            });
        }
        self.waiting.push(Waiting {
            case,
            before: plan.before,
            first,
            sent,
            traits,
        });
        if self.batch.len() >= BATCH {
            self.flush(t, file, tally)?;
        }
        Ok(())
    }

    pub(super) fn flush(
        &mut self,
        t: &mut dyn Target,
        file: &str,
        tally: &mut Tally,
    ) -> Result<(), TargetError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let answers = target::answers(t, &self.batch)?;
        self.accesses += self.batch.len() as u64;
        self.batch.clear();
        for w in std::mem::take(&mut self.waiting) {
            let mut refusals = w.before;
            let mut wrong = None;
            for (sent, answer) in w.sent.iter().zip(&answers[w.first..]) {
                if let Some(r) = verbs::refusal(sent.side, answer.syndrome) {
                    refusals.push(r);
                } else if let Some((id, live)) = sent
                    .region
                    .as_ref()
                    .and_then(|id| self.live.get(id).map(|l| (id, l)))
                {
                    let checked = addresses::check(
                        &live.frames,
                        id.host_addr & 0xfff,
                        sent.at,
                        sent.len,
                        &answer.segments,
                    );
                    if let Err(what) = checked {
                        wrong = Some(format!("{}: {what}", sent.side));
                    }
                } else if sent.len > 0 {
                    wrong = Some(format!("{}: accepted with an unknown key", sent.side));
                }
            }
            let j = match wrong {
                Some(what) => Judgement::Disagreed(what),
                None => match &w.case.action {
                    Action::Transfer(tr) => judge::transfer(&w.case, tr, &refusals, w.traits),
                    _ => Judgement::Disagreed("not a transfer".into()),
                },
            };
            record(tally, file, &w.case, j);
        }
        Ok(())
    }

    /// A deregistration: the region goes, and its keys with it.
    fn deregister_case(
        &mut self,
        t: &mut dyn Target,
        file: &str,
        case: &Case,
        name: &str,
        tally: &mut Tally,
    ) -> Result<Judgement, TargetError> {
        if let Err(what) = self.prepare(t, file, case, tally)? {
            return Ok(Judgement::Disagreed(what));
        }
        let Some(mr) = case.mrs.iter().find(|m| m.name == name) else {
            return Ok(Judgement::Disagreed(format!("no region named {name}")));
        };
        let id = Identity::of(mr);
        let Some(live) = self.live.get(&id).cloned() else {
            return Ok(verdict(case, Some("a region that does not exist"), None));
        };
        let bound = case
            .windows
            .iter()
            .any(|w| w.mr == name && self.window_of(case, w.rkey).is_some_and(|(_, b)| b));
        if bound {
            let status = t.deregister(live.region.id)?;
            if status != Status::Bound {
                // It may be gone: nothing is known of it any more.
                return Err(TargetError::Mismatch {
                    clock: t.clock(),
                    text: format!("a region with windows: deregistering it ends with {status}"),
                });
            }
            return Ok(match self.bound_region(t, case, live.region.id)? {
                Some(what) => Judgement::Disagreed(what),
                None => verdict(case, Some("windows are bound"), None),
            });
        }
        self.retire(t, &id)?;
        let mut stale = vec![probe(
            live.region.lkey,
            Op::LocalRead,
            mr.pd,
            first(mr.va, mr.access),
        )];
        if Access(mr.access).contains(Access::REMOTE_READ) {
            stale.push(probe(
                live.region.rkey,
                Op::RemoteRead,
                mr.pd,
                first(mr.va, mr.access),
            ));
        }
        let answers = target::answers(t, &stale)?;
        self.accesses += answers.len() as u64;
        if answers.iter().any(|a| a.syndrome == Syndrome::Ok) {
            return Ok(Judgement::Disagreed("a stale key works".into()));
        }
        Ok(verdict(case, None, None))
    }

    /// Registers, or says which rule refuses it.
    fn attempt(
        &mut self,
        t: &mut dyn Target,
        case: &Case,
        r: &Registration,
    ) -> Result<Attempt, TargetError> {
        let writes = Access(r.access).intersects(Access::LOCAL_WRITE | Access::MW_BIND);
        // Rules of the unit itself first: it must refuse these whatever the driver does.
        let by_unit = verbs::refused_arguments(r.iova, r.length, r.access);
        let refused = if let Some(expected) = by_unit {
            let got = t.refused_command(&verbs::bare_registration(
                pd(r.pd),
                r.iova,
                r.length,
                r.access,
            ))?;
            if got.status != expected {
                return Ok(Attempt::Wrong(format!(
                    "the unit answers {}, the rules say {expected}",
                    got.status
                )));
            }
            match expected {
                Status::BadLength => "length 0",
                Status::BadWrap => "start + length past 2^64",
                Status::BadFlags => "unknown access flags",
                _ => "REMOTE_WRITE or REMOTE_ATOMIC without LOCAL_WRITE",
            }
        } else if Access(r.access).contains(Access::ON_DEMAND) {
            return self.on_demand(t, r);
        } else if over_limit(case, r) {
            "more memory than the process may lock"
        } else {
            let rule = if verbs::refused_range(r.addr, r.length).is_some() {
                Some(WRAP)
            } else if (r.addr ^ r.iova) & 0xfff != 0 {
                Some(OFFSET)
            } else if r.mapping == Mapping::Unmapped {
                Some(UNMAPPED)
            } else if r.mapping == Mapping::ReadOnly && writes {
                Some(READ_ONLY)
            } else {
                None
            };
            // The driver must come to the same by itself.
            match (rule, pinning::driver_says(r, pd(r.pd))) {
                (None, Ok(())) => {}
                (Some(rule), Err(e)) if pinning::same_reason(rule, &e) => {
                    return Ok(Attempt::Refused(rule))
                }
                (rule, said) => {
                    return Ok(Attempt::Wrong(format!(
                        "the driver says {}, the rules say {}",
                        said.err().map_or("accepted".into(), |e| e.to_string()),
                        rule.unwrap_or("accepted")
                    )))
                }
            }
            return Ok(
                match self.register(t, pd(r.pd), r.addr, r.iova, r.length, r.access)? {
                    Ok(live) => Attempt::Made(live),
                    Err(status) => {
                        Attempt::Wrong(format!("the unit refuses ({status}) what the rules allow"))
                    }
                },
            );
        };
        Ok(Attempt::Refused(refused))
    }

    /// An on-demand registration: nothing is pinned, and its table is all absent.
    fn on_demand(&mut self, t: &mut dyn Target, r: &Registration) -> Result<Attempt, TargetError> {
        let made = t.refused_command(&verbs::bare_registration(
            pd(r.pd),
            r.iova,
            r.length,
            r.access,
        ))?;
        if made.status != Status::Ok {
            return Ok(Attempt::Wrong(format!(
                "the unit answers {}, the rules allow the region",
                made.status
            )));
        }
        let gone = t.refused_command(&Command {
            op: CmdOp::DeregMr.code(),
            key: made.lkey,
            pd: pd(r.pd),
            ..Command::default()
        })?;
        Ok(match gone.status {
            Status::Ok => Attempt::OnDemand,
            status => Attempt::Wrong(format!("deregistering it ends with {status}")),
        })
    }

    /// Family A: the arguments of a registration.
    fn register_case(
        &mut self,
        t: &mut dyn Target,
        case: &Case,
        r: &Registration,
    ) -> Result<Judgement, TargetError> {
        Ok(match self.attempt(t, case, r)? {
            Attempt::Wrong(what) => Judgement::Disagreed(what),
            Attempt::Refused(why) => verdict(case, Some(why), Some(r.mapping)),
            Attempt::OnDemand => verdict(case, None, Some(r.mapping)),
            Attempt::Made(live) => {
                let keys = self.check_keys(&live.region, r.access);
                self.drop_region(t, live.region)?;
                match keys {
                    Err(what) => Judgement::Disagreed(what),
                    Ok(()) => verdict(case, None, Some(r.mapping)),
                }
            }
        })
    }

    fn check_keys(&self, region: &Region, access: u32) -> Result<(), String> {
        let remote = Access(access).intersects(Access::ANY_REMOTE);
        if region.lkey == Key::NONE {
            return Err("the L_Key is 0".into());
        }
        if region.lkey == region.rkey {
            return Err("L_Key and R_Key are equal".into());
        }
        if remote != (region.rkey != Key::NONE) {
            return Err(format!("R_Key {} with access {access:#x}", region.rkey));
        }
        Ok(())
    }

    /// Family H: one registration of a sequence. The recorded keys are another device's; what is
    /// checked is that ours follow our rules.
    fn key_case(
        &mut self,
        t: &mut dyn Target,
        case: &Case,
        r: &Registration,
    ) -> Result<Judgement, TargetError> {
        let before = self.live_keys.clone();
        let region = match self.attempt(t, case, r)? {
            Attempt::Wrong(what) => return Ok(Judgement::Disagreed(what)),
            Attempt::Refused(why) => return Ok(verdict(case, Some(why), Some(r.mapping))),
            Attempt::OnDemand => return Ok(verdict(case, None, Some(r.mapping))),
            Attempt::Made(live) => live.region,
        };
        let wrong = match self.check_keys(&region, r.access) {
            Ok(()) if before.contains(&region.lkey.0) || before.contains(&region.rkey.0) => {
                Some("a key was issued twice".to_owned())
            }
            Ok(()) => self.try_keys(t, &region, r)?,
            Err(what) => Some(what),
        };
        if let Some(what) = wrong {
            self.drop_region(t, region)?;
            return Ok(Judgement::Disagreed(what));
        }
        if case.sub == "reg_then_dereg" {
            self.drop_region(t, region)?;
            let after = t.access(&probes(&region, r))?;
            self.accesses += after.len() as u64;
            if after.iter().any(|a| a.syndrome == Syndrome::Ok) {
                return Ok(Judgement::Disagreed("a stale key works".into()));
            }
        } else {
            self.sequence.push_back(region);
            if self.sequence.len() > SEQUENCE {
                if let Some(old) = self.sequence.pop_front() {
                    self.drop_region(t, old)?;
                }
            }
        }
        Ok(verdict(case, None, Some(r.mapping)))
    }

    /// New keys must work in their role and in no other; what is wrong.
    fn try_keys(
        &mut self,
        t: &mut dyn Target,
        region: &Region,
        r: &Registration,
    ) -> Result<Option<String>, TargetError> {
        let crossed = [
            probe(region.lkey, Op::RemoteRead, r.pd, first(r.iova, r.access)),
            probe(region.rkey, Op::LocalRead, r.pd, first(r.iova, r.access)),
        ];
        let good = t.access(&probes(region, r))?;
        let bad = t.access(&crossed)?;
        self.accesses += (good.len() + bad.len()) as u64;
        if let Some(a) = good.iter().find(|a| a.syndrome != Syndrome::Ok) {
            return Ok(Some(format!("a new key is refused ({})", a.syndrome)));
        }
        if bad.iter().any(|a| a.syndrome == Syndrome::Ok) {
            return Ok(Some("a key works in the other role".into()));
        }
        Ok(None)
    }
}

/// How a registration ended.
enum Attempt {
    /// It was made.
    Made(Live),
    /// An on-demand one was made, and is gone again.
    OnDemand,
    /// A rule refuses it.
    Refused(&'static str),
    /// The unit does something else than the rules say.
    Wrong(String),
}

/// First address of a region, as its keys take it.
fn first(start: u64, access: u32) -> u64 {
    if Access(access).contains(Access::ZERO_BASED) {
        0
    } else {
        start
    }
}

/// One byte at the start of a region.
fn probe(key: Key, op: Op, recorded_pd: u32, va: u64) -> Access1 {
    Access1 {
        client: if op == Op::LocalRead {
            REQUESTER
        } else {
            RESPONDER
        },
        request: Request {
            tag: 0,
            stream: 0,
            op: op.code(),
            key,
            va,
            len: 1,
            pd: pd(recorded_pd),
            qpn: 0,
        },
    }
}

/// Accesses that a new region allows.
fn probes(region: &Region, r: &Registration) -> Vec<Access1> {
    let mut out = vec![probe(
        region.lkey,
        Op::LocalRead,
        r.pd,
        first(r.iova, r.access),
    )];
    if Access(r.access).contains(Access::REMOTE_READ) {
        out.push(probe(
            region.rkey,
            Op::RemoteRead,
            r.pd,
            first(r.iova, r.access),
        ));
    }
    out
}

/// Judges a registration or a deregistration; `refused` is the rule that refuses it.
fn verdict(case: &Case, refused: Option<&'static str>, mapping: Option<Mapping>) -> Judgement {
    let accepted = refused.is_none();
    let o = &case.outcome;
    if case.flagged() {
        if let Some(why) = case.nothing_to_compare() {
            return Judgement::Known(format!("{why} ({})", case.op));
        }
        return Judgement::Known(match (refused, accepted == o.accepted) {
            (_, true) => "same verdict".into(),
            (Some(why), _) => format!("registration refused: {why}"),
            (None, _) if mapping == Some(Mapping::ReadOnly) => {
                "registration accepted: read-only memory without write access".into()
            }
            (None, _) => "registration accepted: the rules allow it".into(),
        });
    }
    if o.accepted != (o.errno == 0) {
        return Judgement::Disagreed(format!(
            "the recording contradicts itself: {} with errno {}",
            if o.accepted { "accepted" } else { "refused" },
            o.errno
        ));
    }
    if accepted == o.accepted {
        Judgement::Agreed
    } else if accepted && asks_for(case, FLUSH) && o.errno == EINVAL {
        // Not flagged: to that kernel the rights of FLUSH are unknown flags.
        Judgement::Known("registration accepted: rights of FLUSH exist".into())
    } else if accepted && asks_for(case, Access::ON_DEMAND) && o.errno == EINVAL {
        // Nor can it page on demand.
        Judgement::Known("registration accepted: on-demand regions exist".into())
    } else {
        Judgement::Disagreed(match refused {
            Some(why) => format!("refused ({why}), but the recording says accepted"),
            None => format!("accepted, but the recording says errno {}", o.errno),
        })
    }
}

/// Errno of an invalid argument.
const EINVAL: i64 = 22;

/// Rights of FLUSH.
const FLUSH: Access = Access(Access::FLUSH_GLOBAL.0 | Access::FLUSH_PERSISTENT.0);

/// A registration with a right that the recorded kernel does not know.
fn asks_for(case: &Case, rights: Access) -> bool {
    match &case.action {
        Action::Register(r) | Action::KeySequence(r) => Access(r.access).intersects(rights),
        _ => false,
    }
}

/// A case about the limit of locked memory: the note gives the limit and says whether the process
/// holds the capability that lifts it. The iWARP driver applies the limit all the same.
fn over_limit(case: &Case, r: &Registration) -> bool {
    let Some((_, rest)) = case.note.split_once("RLIMIT_MEMLOCK ") else {
        return false;
    };
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next();
    let Some(limit) = digits.and_then(|d| d.parse::<u64>().ok()) else {
        return false;
    };
    let lifted = case.note.contains("CAP_IPC_LOCK held") && case.driver != IWARP;
    !lifted && memory::pages(r.addr, r.length) > limit >> memory::LOG_FRAME
}

/// The listed region that a step's recorded key belongs to, in its role.
fn listed<'a>(mrs: &'a [Mr], step: &Step) -> Option<&'a Mr> {
    mrs.iter()
        .filter(|m| match step.side {
            Side::Remote => m.rkey != 0 && m.rkey == step.key,
            Side::Local | Side::Receive => m.lkey == step.key,
        })
        .min_by_key(|m| m.state == MrState::Gone)
}

impl Replayer {
    fn traits(&self, case: &Case, tr: &Transfer) -> Traits {
        let window = tr.remote.and_then(|(_, rkey)| self.window_of(case, rkey));
        match window {
            Some((w, bound)) => Traits {
                zero_based: Access(w.access).contains(Access::ZERO_BASED),
                window: true,
                refused_window: w.state == WindowState::Bound && !bound,
                ..Traits::default()
            },
            None => region_traits(case, tr),
        }
    }
}

fn region_traits(case: &Case, tr: &Transfer) -> Traits {
    let Some((_, rkey)) = tr.remote else {
        return Traits::default();
    };
    let Some(mr) = case.mrs.iter().find(|m| m.rkey != 0 && m.rkey == rkey) else {
        return Traits::default();
    };
    Traits {
        zero_based: Access(mr.access).contains(Access::ZERO_BASED),
        iova: mr.va != mr.host_addr,
        no_remote_right: !Access(mr.access).intersects(Access::ANY_REMOTE),
        refused_region: verbs::refused_range(mr.va, mr.length) == Some(Status::BadWrap),
        ..Traits::default()
    }
}
