// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Recorded cases about windows and invalidation.
//!
//! Every line lists what exists before it: windows are made as they are listed, the line's own
//! command is executed, and what it has changed is taken down again.

use tpt_golden::types::{flag, Access, CmdOp, Command, Key, Op, Request, Role, Status, Syndrome};

use super::judge::{self, IWARP};
use super::keys::{self, Pair};
use super::parse::{self, BindOp, Case, Transfer, WindowState};
use super::replay::{pd, stream, Identity, Replayer};
use crate::tally::{Judgement, Tally};
use crate::target::{
    self, Access1, Bind, Invalidator, MwType, Refused, RegionId, Target, TargetError, Window,
    REQUESTER, RESPONDER,
};
use crate::verbs::{self, QueueRules, Side, Verb};

/// What makes a listed window the same in two lines.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct WindowIdentity {
    type2: bool,
    pd: u32,
    mr: Option<Identity>,
    va: u64,
    length: u64,
    access: u32,
    rkey: u32,
    qpn: u32,
    state: WindowState,
}

impl WindowIdentity {
    /// Of a listed window; the region by what it is, not by its name.
    pub(super) fn of(case: &Case, w: &parse::Window) -> Self {
        let mr = case.mrs.iter().find(|mr| mr.name == w.mr);
        Self {
            type2: w.type2,
            pd: w.pd,
            mr: mr.map(Identity::of),
            va: w.va,
            length: w.length,
            access: w.access,
            rkey: w.rkey,
            qpn: w.qpn,
            state: w.state,
        }
    }

    fn kind(&self) -> MwType {
        match self.type2 {
            true => MwType::TwoB,
            false => MwType::One,
        }
    }
}

/// A window that was made.
#[derive(Debug, Clone, Copy)]
pub(super) struct LiveWindow {
    window: Window,
    /// It is bound: `false` too for one that is listed as bound but that the rules refuse to bind.
    bound: bool,
}

/// How a command ended.
enum Ended {
    /// It was executed.
    Done,
    /// It was refused.
    Refused(Status),
    /// The unit does something else than the rules say.
    Wrong(String),
}

fn bare(op: CmdOp, key: Key, recorded_pd: u32) -> Command {
    Command {
        op: op.code(),
        key,
        pd: pd(recorded_pd),
        ..Command::default()
    }
}

/// An access through a window. An atomic has 8 bytes, the others one.
fn probe(key: Key, op: Op, recorded_pd: u32, qpn: u32, va: u64) -> Access1 {
    Access1 {
        client: RESPONDER,
        request: Request {
            tag: 0,
            stream: stream(qpn),
            op: op.code(),
            key,
            va,
            len: if op == Op::RemoteAtomic { 8 } else { 1 },
            pd: pd(recorded_pd),
            qpn,
        },
    }
}

/// The operations that rights allow.
fn operations(access: u32) -> impl Iterator<Item = Op> {
    [Op::RemoteRead, Op::RemoteWrite]
        .into_iter()
        .filter(move |op| Access(access).contains(op.needed_right()))
}

impl Replayer {
    /// Frees the windows that a case does not list. Regions can go only after them.
    pub(super) fn drop_windows(
        &mut self,
        t: &mut dyn Target,
        unwanted: &[WindowIdentity],
    ) -> Result<(), TargetError> {
        for identity in unwanted {
            if let Some(live) = self.windows.remove(identity) {
                self.free_window(t, live.window)?;
            }
        }
        Ok(())
    }

    fn free_window(&mut self, t: &mut dyn Target, window: Window) -> Result<(), TargetError> {
        let status = t.free_window(window.id)?;
        if status != Status::Ok {
            return Err(TargetError::Mismatch {
                clock: t.clock(),
                text: format!("freeing the window {} ended with {status}", window.rkey),
            });
        }
        self.live_keys.remove(&window.rkey.0);
        Ok(())
    }

    /// Makes the windows of a case. Returns their key pairs, those of windows that are gone first.
    pub(super) fn make_windows(
        &mut self,
        t: &mut dyn Target,
        case: &Case,
    ) -> Result<Result<Vec<(bool, Pair)>, String>, TargetError> {
        let mut pairs = Vec::with_capacity(case.windows.len());
        for w in &case.windows {
            let identity = WindowIdentity::of(case, w);
            let gone = w.state == WindowState::Gone;
            let known = match gone {
                true => self.stale_windows.contains_key(&identity),
                false => self.windows.contains_key(&identity),
            };
            if !known {
                match self.make_window(t, &identity)? {
                    Err(what) => return Ok(Err(format!("window {}: {what}", w.name))),
                    Ok(live) if gone => {
                        self.free_window(t, live.window)?;
                        self.stale_windows
                            .insert(identity.clone(), live.window.rkey);
                    }
                    Ok(live) => {
                        self.windows.insert(identity.clone(), live);
                    }
                }
            }
            let ours = match gone {
                true => self.stale_windows.get(&identity).copied(),
                false => self.windows.get(&identity).map(|live| live.window.rkey),
            };
            let pair = Pair {
                lkey: 0,
                rkey: w.rkey,
                our_lkey: Key::NONE,
                our_rkey: ours.unwrap_or(Key::NONE),
            };
            pairs.push((gone, pair));
        }
        Ok(Ok(pairs))
    }

    /// Allocates and binds a window as it is listed.
    fn make_window(
        &mut self,
        t: &mut dyn Target,
        w: &WindowIdentity,
    ) -> Result<Result<LiveWindow, String>, TargetError> {
        let mut window = match t.allocate_window(pd(w.pd), w.kind())? {
            Ok(window) => window,
            Err(refused) => return Ok(Err(format!("no window ({refused})"))),
        };
        let region = w.mr.as_ref().and_then(|mr| self.live.get(mr));
        let wanted = w.state != WindowState::Unbound;
        let mut bound = false;
        if let Some(region) = region.map(|live| live.region.id).filter(|_| wanted) {
            let bind = Bind {
                region: Some(region),
                start: w.va,
                length: w.length,
                access: Access(w.access),
                qpn: w.qpn,
                tag: w.rkey as u8,
            };
            // A listed window that the rules refuse to bind stays unbound.
            if let Ok(made) = t.bind_window(window.id, &bind)? {
                (window, bound) = (made, true);
            }
        }
        self.live_keys.insert(window.rkey.0);
        Ok(Ok(LiveWindow { window, bound }))
    }

    /// The listed window that a recorded R_Key belongs to, and whether it is bound here.
    pub(super) fn window_of<'a>(
        &self,
        case: &'a Case,
        rkey: u32,
    ) -> Option<(&'a parse::Window, bool)> {
        let w = case.windows.iter().find(|w| w.rkey == rkey)?;
        let live = self.windows.get(&WindowIdentity::of(case, w));
        Some((w, live.is_some_and(|live| live.bound)))
    }

    /// A window is not what was listed any more: it goes.
    fn forget_window(
        &mut self,
        t: &mut dyn Target,
        identity: &WindowIdentity,
    ) -> Result<(), TargetError> {
        match self.windows.remove(identity) {
            Some(live) => self.free_window(t, live.window),
            None => Ok(()),
        }
    }

    fn answers(
        &mut self,
        t: &mut dyn Target,
        batch: &[Access1],
    ) -> Result<Vec<Syndrome>, TargetError> {
        self.accesses += batch.len() as u64;
        let answers = target::answers(t, batch)?;
        Ok(answers.into_iter().map(|a| a.syndrome).collect())
    }

    /// A bind.
    pub(super) fn bind_case(
        &mut self,
        t: &mut dyn Target,
        file: &str,
        case: &Case,
        b: &BindOp,
        tally: &mut Tally,
    ) -> Result<Judgement, TargetError> {
        let pairs = match self.prepare(t, file, case, tally)? {
            Ok(pairs) => pairs,
            Err(what) => return Ok(Judgement::Disagreed(what)),
        };
        self.flush(t, file, tally)?;
        Ok(match self.bind(t, case, b, &pairs)? {
            Ended::Done => judge::command(case, None),
            Ended::Refused(status) => judge::command(case, Some(status)),
            Ended::Wrong(what) => Judgement::Disagreed(what),
        })
    }

    fn bind(
        &mut self,
        t: &mut dyn Target,
        case: &Case,
        b: &BindOp,
        pairs: &[Pair],
    ) -> Result<Ended, TargetError> {
        let (Some(w), Some(mr)) = (
            case.windows.iter().find(|w| w.name == b.window),
            case.mrs.iter().find(|mr| mr.name == b.mr),
        ) else {
            return Ok(Ended::Wrong("no such window or region".into()));
        };
        let identity = WindowIdentity::of(case, w);
        let key = keys::replace(b.mw_rkey, Role::Remote, pairs, &self.live_keys);
        let mkey = keys::replace(b.mr_lkey, Role::Local, pairs, &self.live_keys);
        let command = Command {
            mkey,
            access: b.access,
            start: b.addr,
            length: b.length,
            qpn: b.qpn,
            tag: b.new_rkey as u8,
            ..bare(CmdOp::BindMw, key, b.qp_pd)
        };
        // With the keys of what is listed, on a queue pair of the window's domain, it goes through
        // the driver; else it is a command that the unit must refuse.
        let region = self.live.get(&Identity::of(mr)).map(|live| live.region.id);
        let straight = b.mw_rkey == w.rkey && b.mr_lkey == mr.lkey && b.qp_pd == w.pd;
        let live = self.windows.get(&identity).copied();
        let (Some(live), Some(region), true) = (live, region, straight) else {
            let got = t.refused_command(&command)?.status;
            return Ok(match got {
                Status::Ok => Ended::Wrong("a bind with other keys is accepted".into()),
                status => Ended::Refused(status),
            });
        };
        let bind = Bind {
            region: Some(region),
            start: b.addr,
            length: b.length,
            access: Access(b.access),
            qpn: b.qpn,
            tag: b.new_rkey as u8,
        };
        let old = live.window.rkey;
        match t.bind_window(live.window.id, &bind)? {
            Ok(window) => {
                self.live_keys.remove(&old.0);
                self.live_keys.insert(window.rkey.0);
                let known = LiveWindow { window, ..live };
                self.windows.insert(identity.clone(), known);
                let wrong = self.try_bound(t, w, b, old, window.rkey, mr.va..mr.va + mr.length)?;
                self.forget_window(t, &identity)?;
                Ok(wrong.map_or(Ended::Done, Ended::Wrong))
            }
            Err(Refused::Unit(status)) => {
                let wrong = self.still_bound(t, w, live)?;
                Ok(wrong.map_or(Ended::Refused(status), Ended::Wrong))
            }
            // What the driver refuses the unit must refuse too.
            Err(Refused::Driver(why)) => Ok(match t.refused_command(&command)?.status {
                Status::Ok => Ended::Wrong(format!("the unit takes what is wrong: {why}")),
                status => Ended::Refused(status),
            }),
        }
    }

    /// A window after a bind that was executed; what is wrong.
    fn try_bound(
        &mut self,
        t: &mut dyn Target,
        w: &parse::Window,
        b: &BindOp,
        old: Key,
        new: Key,
        region: std::ops::Range<u64>,
    ) -> Result<Option<String>, TargetError> {
        let tag_fits = !w.type2 || new.tag() == b.new_rkey as u8;
        if new.field() != old.field() || !tag_fits {
            return Ok(Some(format!("the new key is {new}, the old one was {old}")));
        }
        if !w.type2 && new == old {
            return Ok(Some("the key is the old one".into()));
        }
        let zero = Access(b.access).contains(Access::ZERO_BASED);
        let first = if zero { 0 } else { b.addr };
        let at = |key, op, va| probe(key, op, w.pd, b.qpn, va);
        for op in operations(b.access) {
            let inside = [at(new, op, first), at(new, op, first + b.length.max(1) - 1)];
            let answers = self.answers(t, &inside)?;
            let expected = match b.length {
                0 => Syndrome::KeyState,
                _ => Syndrome::Ok,
            };
            if let Some(got) = answers.iter().find(|got| **got != expected) {
                return Ok(Some(format!("{op} inside: {got}, not {expected}")));
            }
            if b.length == 0 {
                continue;
            }
            let behind = at(new, op, first + b.length);
            let before = at(new, op, first.wrapping_sub(1));
            for (name, outside) in [("behind", behind), ("before", before)] {
                let got = self.answers(t, &[outside])?[0];
                // Inside the region or not: the window ends here.
                if got != Syndrome::Bounds {
                    let where_ = match region.contains(&(b.addr + b.length)) {
                        true => "still inside the region",
                        false => "outside the region too",
                    };
                    return Ok(Some(format!("{op} {name} the window ({where_}): {got}")));
                }
            }
        }
        if new != old {
            let stale: Vec<_> = operations(0xe).map(|op| at(old, op, first)).collect();
            if self.answers(t, &stale)?.contains(&Syndrome::Ok) {
                return Ok(Some("the old key works".into()));
            }
        }
        Ok(None)
    }

    /// A window after a command that was refused; what has changed.
    fn still_bound(
        &mut self,
        t: &mut dyn Target,
        w: &parse::Window,
        live: LiveWindow,
    ) -> Result<Option<String>, TargetError> {
        let zero = Access(w.access).contains(Access::ZERO_BASED);
        let va = if zero { 0 } else { w.va };
        let reads = operations(w.access).map(|op| probe(live.window.rkey, op, w.pd, w.qpn, va));
        let answers = self.answers(t, &reads.collect::<Vec<_>>())?;
        let expected = match live.bound {
            true => Syndrome::Ok,
            false => Syndrome::KeyState,
        };
        let wrong = answers.into_iter().find(|got| *got != expected);
        Ok(wrong.map(|got| format!("after a refusal: {got}, not {expected}")))
    }

    /// LOCAL_INV, or the half of a SEND with invalidate that follows the message.
    fn invalidate(
        &mut self,
        t: &mut dyn Target,
        case: &Case,
        inv_key: u32,
        qp_pd: u32,
        by: Invalidator,
        pairs: &[Pair],
    ) -> Result<Ended, TargetError> {
        let named = case.windows.iter().find(|w| w.rkey == inv_key);
        let live = named.and_then(|w| {
            let identity = WindowIdentity::of(case, w);
            let live = self.windows.get(&identity).copied()?;
            (live.bound && w.pd == qp_pd).then_some((w, identity, live))
        });
        let Some((w, identity, live)) = live else {
            let key = keys::replace(inv_key, Role::Remote, pairs, &self.live_keys);
            let (flags, qpn) = match by {
                Invalidator::Local => (0, 0),
                Invalidator::Peer { qpn } => (flag::REMOTE_INV, qpn),
            };
            let command = Command {
                flags,
                qpn,
                ..bare(CmdOp::Invalidate, key, qp_pd)
            };
            return Ok(match t.refused_command(&command)?.status {
                Status::Ok => Ended::Wrong("an invalidation of nothing is executed".into()),
                status => Ended::Refused(status),
            });
        };
        match t.invalidate_window(live.window.id, by)? {
            Ok(()) => {
                let ended = LiveWindow {
                    bound: false,
                    ..live
                };
                self.windows.insert(identity.clone(), ended);
                let wrong = self.still_bound(t, w, ended)?;
                self.forget_window(t, &identity)?;
                Ok(wrong.map_or(Ended::Done, Ended::Wrong))
            }
            Err(Refused::Unit(status)) => {
                let wrong = self.still_bound(t, w, live)?;
                Ok(wrong.map_or(Ended::Refused(status), Ended::Wrong))
            }
            Err(Refused::Driver(why)) => Ok(Ended::Wrong(why)),
        }
    }

    /// An invalidation by the owner.
    pub(super) fn local_case(
        &mut self,
        t: &mut dyn Target,
        file: &str,
        case: &Case,
        (key, qp_pd): (u32, u32),
        tally: &mut Tally,
    ) -> Result<Judgement, TargetError> {
        let pairs = match self.prepare(t, file, case, tally)? {
            Ok(pairs) => pairs,
            Err(what) => return Ok(Judgement::Disagreed(what)),
        };
        self.flush(t, file, tally)?;
        let ended = self.invalidate(t, case, key, qp_pd, Invalidator::Local, &pairs)?;
        Ok(match ended {
            Ended::Done => judge::command(case, None),
            Ended::Refused(status) => judge::command(case, Some(status)),
            Ended::Wrong(what) => Judgement::Disagreed(what),
        })
    }

    /// A send that invalidates: first the message, then the key.
    pub(super) fn send_case(
        &mut self,
        t: &mut dyn Target,
        file: &str,
        case: &Case,
        (tr, key): (&Transfer, u32),
        tally: &mut Tally,
    ) -> Result<Judgement, TargetError> {
        let pairs = match self.prepare(t, file, case, tally)? {
            Ok(pairs) => pairs,
            Err(what) => return Ok(Judgement::Disagreed(what)),
        };
        self.flush(t, file, tally)?;
        let rules = QueueRules {
            responder_access: Some(tr.resp_access),
            iwarp: case.driver == IWARP,
        };
        let receive = tr.receive.as_deref();
        let plan = verbs::plan(Verb::Send, &tr.elements, false, None, receive, rules);
        let mut refusals = plan.before;
        for step in &plan.steps {
            let (client, of, qpn) = match step.side {
                Side::Local => (REQUESTER, tr.req_pd, tr.req_qpn),
                Side::Remote | Side::Receive => (RESPONDER, tr.resp_pd, tr.resp_qpn),
            };
            let request = Request {
                tag: 0,
                stream: stream(qpn),
                op: step.op.code(),
                key: keys::replace(step.key, step.op.role(), &pairs, &self.live_keys),
                va: step.va,
                len: step.len,
                pd: pd(of),
                qpn,
            };
            let answer = self.answers(t, &[Access1 { client, request }])?[0];
            refusals.extend(verbs::refusal(step.side, answer));
        }
        if !refusals.is_empty() {
            let traits = judge::Traits::default();
            return Ok(judge::transfer(case, tr, &refusals, traits));
        }
        let by = Invalidator::Peer { qpn: tr.resp_qpn };
        Ok(
            match self.invalidate(t, case, key, tr.resp_pd, by, &pairs)? {
                Ended::Done => judge::command(case, None),
                Ended::Refused(status) => judge::command(case, Some(status)),
                Ended::Wrong(what) => Judgement::Disagreed(what),
            },
        )
    }

    /// Family H: one allocation of a sequence.
    pub(super) fn allocate_case(
        &mut self,
        t: &mut dyn Target,
        case: &Case,
        type2: bool,
        recorded_pd: u32,
    ) -> Result<Judgement, TargetError> {
        let kind = if type2 { MwType::TwoB } else { MwType::One };
        let window = match t.allocate_window(pd(recorded_pd), kind)? {
            Ok(window) => window,
            Err(refused) => {
                return Ok(Judgement::Disagreed(format!("no window: {refused}")));
            }
        };
        let twice = !self.live_keys.insert(window.rkey.0);
        let reads = |op| probe(window.rkey, op, recorded_pd, 0, 0);
        let probes: Vec<_> = operations(0xe).map(reads).collect();
        let before = self.answers(t, &probes)?;
        self.free_window(t, window)?;
        let after = self.answers(t, &probes)?;
        Ok(match () {
            () if window.rkey == Key::NONE => Judgement::Disagreed("the R_Key is 0".into()),
            () if twice => Judgement::Disagreed("a key was issued twice".into()),
            () if before.contains(&Syndrome::Ok) => {
                Judgement::Disagreed("the key of a window that is not bound works".into())
            }
            () if after.contains(&Syndrome::Ok) => Judgement::Disagreed("a stale key works".into()),
            () => judge::command(case, None),
        })
    }

    /// A deregistration that the rules refuse, because windows are bound: they go on working.
    pub(super) fn bound_region(
        &mut self,
        t: &mut dyn Target,
        case: &Case,
        id: RegionId,
    ) -> Result<Option<String>, TargetError> {
        for w in &case.windows {
            let Some(live) = self.windows.get(&WindowIdentity::of(case, w)).copied() else {
                continue;
            };
            if let Some(wrong) = self.still_bound(t, w, live)? {
                return Ok(Some(format!("region {}: {wrong}", id.0)));
            }
        }
        Ok(None)
    }
}
