// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Runs a trace through a target.
//!
//! * Protection domains, registrations and deregistrations happen in the order of the trace. A
//!   region lies on the recorded frames; frames that were not recorded are invented.
//! * A request is sent when it was posted: its own elements by client 0, the remote access by
//!   client 1, with the domain of the responder's queue pair.
//! * The elements of a receive are written when its completion was seen, as far as the message
//!   reached. A receive without a successful completion is checked whole when it was posted.
//! * One stream per queue pair (its number hashed).
//! * Both the drivers that record ignore ZERO_BASED: programs give addresses. The replay hands
//!   offsets to the unit, as its driver would.

use std::collections::{HashMap, HashSet};

use serde_json::{json, Value};
use tpt_golden::frames::{FrameList, Page};
use tpt_golden::mtt::Shape;
use tpt_golden::types::{Access, CmdOp, Command, Encoding, Key, Request, Role, Status, LEVEL_FLAT};

use super::follow::{self, End, Ends};
use super::parse::{Context, Event, Recv, Reg, Send, SendKind, What};
use crate::addresses;
use crate::report::{rate, ratio};
use crate::tally::{Judgement, Tally};
use crate::target::{self, Access1, Counters, Region, Target, TargetError, REQUESTER, RESPONDER};
use crate::verbs::{self, class_of_status, Class, QueueRules, Refusal, Side, Step};
use crate::verdicts::keys::{self, Pair};
use crate::verdicts::memory::LAZY;
use crate::verdicts::replay::stream;

const BATCH: usize = 4096;
const PAGE: u64 = 4096;
/// Invented frames lie here, far above any recorded one.
const INVENTED: u64 = 1 << 56;
/// Most pages of a region that any unit takes.
const MAX_PAGES: u64 = 1 << 40;
/// First number of protection domains.
const FIRST_PD: u32 = 0x00_2000;

/// Figures of one trace.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TraceReport {
    /// Name.
    pub name: String,
    /// Registrations made.
    pub registrations: u64,
    /// Bytes registered.
    pub bytes: u64,
    /// Bytes of tables built.
    pub table_bytes: u64,
    /// Pages of all regions, in pages of the size that the driver chose.
    pub entries: u64,
    /// Posted requests.
    pub posted: u64,
    /// Accesses sent to the unit.
    pub accesses: u64,
    /// Accepted accesses.
    pub accepted: u64,
    /// Refused accesses.
    pub refused: u64,
    /// Segments with an address.
    pub beats: u64,
    /// Posts that failed and so did nothing.
    pub failed_posts: u64,
    /// Requests that were flushed, or refused without a completion to compare.
    pub not_judged: u64,
    /// Items that disagree.
    pub disagreed: u64,
    /// Receives that no message used: checked when posted.
    pub unused_receives: u64,
    /// Work of the unit for the accesses; `None` without hardware.
    pub work: Option<Counters>,
}

impl TraceReport {
    /// Head of the table.
    pub fn head() -> String {
        format!(
            "{:<36} {:>5} {:>8} {:>9} {:>9} {:>8} {:>9} {:>9} {:>9} {:>8} {:>6}",
            "trace",
            "regs",
            "posted",
            "accesses",
            "beats",
            "refused",
            "clocks/ac",
            "MPT hits",
            "MTT hits",
            "reads/ac",
            "wrong"
        )
    }

    /// One line of the table.
    pub fn row(&self) -> String {
        let (clocks, mpt, mtt, reads) = match &self.work {
            None => ("-".into(), "-".into(), "-".into(), "-".into()),
            Some(w) => (
                ratio(w.clocks, self.accesses),
                rate(w.mpt_hits, w.mpt_misses),
                rate(w.mtt_hits, w.mtt_misses),
                ratio(w.mpt_reads + w.mtt_reads, self.accesses),
            ),
        };
        format!(
            "{:<36} {:>5} {:>8} {:>9} {:>9} {:>8} {:>9} {:>9} {:>9} {:>8} {:>6}",
            self.name,
            self.registrations,
            self.posted,
            self.accesses,
            self.beats,
            self.refused,
            clocks,
            mpt,
            mtt,
            reads,
            self.disagreed
        )
    }

    /// For machines.
    pub fn json(&self) -> Value {
        json!({
            "name": self.name,
            "registrations": self.registrations,
            "bytes": self.bytes,
            "table_bytes": self.table_bytes,
            "entries": self.entries,
            "posted": self.posted,
            "accesses": self.accesses,
            "accepted": self.accepted,
            "refused": self.refused,
            "beats": self.beats,
            "failed_posts": self.failed_posts,
            "not_judged": self.not_judged,
            "unused_receives": self.unused_receives,
            "disagreed": self.disagreed,
            "unit": self.work.map(|w| crate::report::counters(&w)),
        })
    }
}

#[derive(Debug, Clone)]
struct Registered {
    region: Region,
    iova: u64,
    offset: u64,
    frames: FrameList,
}

#[derive(Debug, Clone, Copy, Default)]
struct Qp {
    pd: u32,
    access: Option<u32>,
    peer: Option<u32>,
    srq_pd: Option<u32>,
    reliable: bool,
}

/// A recorded key: ours, and the region while it lives.
#[derive(Debug, Clone)]
struct Known {
    pair: Pair,
    live: Option<usize>,
    /// Subtracted from addresses (ZERO_BASED).
    base: u64,
}

/// Access of a waiting request.
#[derive(Debug, Clone)]
struct Sent {
    side: Side,
    region: Option<usize>,
    at: u64,
    len: u32,
}

#[derive(Debug)]
enum Expect {
    /// Entry of a send queue, and whether remote errors come back to it.
    Send(End, bool),
    /// Receive that a message used.
    Received,
    /// Receive that failed.
    ReceiveFailed,
    /// Receive without a use.
    Unused,
}

#[derive(Debug)]
struct Waiting {
    line: u64,
    what: &'static str,
    before: Vec<Refusal>,
    first: usize,
    sent: Vec<Sent>,
    expect: Expect,
}

/// Replays one trace.
#[derive(Debug)]
pub struct Replayer<'a> {
    file: &'a str,
    pds: HashMap<(Context, u32), u32>,
    next_pd: u32,
    qps: HashMap<u32, Qp>,
    srqs: HashMap<(Context, u32), u32>,
    local: HashMap<u32, Known>,
    remote: HashMap<u32, Known>,
    regions: Vec<Option<Registered>>,
    live: HashSet<u32>,
    window_keys: HashSet<u32>,
    batch: Vec<Access1>,
    waiting: Vec<Waiting>,
    invented: u64,
    report: TraceReport,
}

/// The frames of a registration: recorded ones, and invented ones where none are.
fn frames(reg: &Reg, parts: &[&super::parse::Pages], invented: &mut u64) -> FrameList {
    let offset = reg.addr % PAGE;
    let total = ((u128::from(reg.length) + u128::from(offset)).div_ceil(u128::from(PAGE))) as u64;
    let mut list = FrameList::new(12);
    if total > MAX_PAGES {
        // Refused anyway, whatever is below.
        list.push(total, Page::at(INVENTED));
        return list;
    }
    let mut parts: Vec<_> = parts.to_vec();
    parts.sort_by_key(|p| p.first);
    let mut invent = |list: &mut FrameList, n: u64| {
        if n == 0 {
            return;
        }
        // In one piece, and aligned as the addresses are: as huge pages would be.
        let page = (reg.addr / PAGE + list.pages()) % 512;
        if *invented > MAX_PAGES {
            *invented = 0;
        }
        *invented = invented.next_multiple_of(512) + page;
        list.push(n, Page::at(INVENTED + *invented * PAGE));
        *invented += n;
    };
    for part in parts {
        if part.first > list.pages() {
            let gap = part.first.min(total) - list.pages();
            invent(&mut list, gap);
        }
        let mut page = part.first;
        for &[frame, count] in &part.runs {
            let end = page.saturating_add(count);
            let from = page.max(list.pages());
            let to = end.min(total);
            if from < to {
                if frame == 0 {
                    invent(&mut list, to - from);
                } else {
                    list.push(to - from, Page::at((frame + (from - page)) * PAGE));
                }
            }
            page = end;
        }
    }
    let rest = total - list.pages();
    invent(&mut list, rest);
    list
}

impl<'a> Replayer<'a> {
    fn new(file: &'a str, name: String) -> Self {
        Self {
            file,
            pds: HashMap::new(),
            next_pd: FIRST_PD,
            qps: HashMap::new(),
            srqs: HashMap::new(),
            local: HashMap::new(),
            remote: HashMap::new(),
            regions: Vec::new(),
            live: HashSet::new(),
            window_keys: HashSet::new(),
            batch: Vec::new(),
            waiting: Vec::new(),
            invented: 0,
            report: TraceReport {
                name,
                ..TraceReport::default()
            },
        }
    }

    fn pd(&mut self, at: Context, handle: u32) -> u32 {
        if let Some(&pd) = self.pds.get(&(at, handle)) {
            return pd;
        }
        self.new_pd(at, handle)
    }

    fn new_pd(&mut self, at: Context, handle: u32) -> u32 {
        let pd = self.next_pd & 0xff_ffff;
        self.next_pd += 1;
        self.pds.insert((at, handle), pd);
        pd
    }

    fn judge(&mut self, tally: &mut Tally, line: u64, what: &str, j: Judgement) {
        self.report.disagreed += u64::from(matches!(j, Judgement::Disagreed(_)));
        tally.count(
            &self.report.name,
            "trace",
            || format!("{}:{line}", self.file),
            || what.to_owned(),
            j,
        );
    }

    fn register(
        &mut self,
        t: &mut dyn Target,
        event: &Event,
        reg: &Reg,
        parts: &[&super::parse::Pages],
        tally: &mut Tally,
    ) -> Result<(), TargetError> {
        let pd = self.pd(event.at, reg.pd);
        if reg.errno != 0 {
            let j = self.refused_registration(t, pd, reg)?;
            if let Some(j) = j {
                self.judge(tally, event.line, "reg_mr", j);
            } else {
                self.report.not_judged += 1;
            }
            return Ok(());
        }
        let frames = frames(reg, parts, &mut self.invented);
        let made = t.register(&target::Registration {
            pd,
            start: reg.iova,
            length: reg.length,
            access: Access(reg.access),
            frames: frames.clone(),
            shape: Shape {
                lazy: frames.pages() > LAZY,
                ..Shape::default()
            },
        })?;
        match made {
            Err(why) => self.judge(
                tally,
                event.line,
                "reg_mr",
                Judgement::Disagreed(format!("refused ({why}), but the program got keys")),
            ),
            Ok(region) => {
                self.report.registrations += 1;
                self.report.bytes += reg.length;
                self.report.entries += region.entries;
                self.report.table_bytes += region.table_bytes;
                let pair = Pair {
                    lkey: reg.lkey,
                    rkey: reg.rkey,
                    our_lkey: region.lkey,
                    our_rkey: region.rkey,
                };
                self.live.insert(region.lkey.0);
                let index = self.regions.len();
                let zero_based = Access(reg.access).contains(Access::ZERO_BASED);
                let known = Known {
                    pair,
                    live: Some(index),
                    base: if zero_based { reg.iova } else { 0 },
                };
                self.local.insert(reg.lkey, known.clone());
                if reg.rkey != 0 {
                    self.remote.insert(reg.rkey, known);
                }
                if region.rkey != Key::NONE {
                    self.live.insert(region.rkey.0);
                }
                self.regions.push(Some(Registered {
                    region,
                    iova: if zero_based { 0 } else { reg.iova },
                    offset: reg.addr % PAGE,
                    frames,
                }));
                let remote = Access(reg.access).intersects(Access::ANY_REMOTE);
                let j = if remote != (region.rkey != Key::NONE) {
                    Judgement::Disagreed("R_Key without a remote right, or the other way".into())
                } else {
                    Judgement::Agreed
                };
                self.judge(tally, event.line, "reg_mr", j);
            }
        }
        Ok(())
    }

    /// A registration that the recorder refused: the rules must refuse it too.
    fn refused_registration(
        &mut self,
        t: &mut dyn Target,
        pd: u32,
        reg: &Reg,
    ) -> Result<Option<Judgement>, TargetError> {
        let access = Access(reg.access);
        let by_unit = reg.length == 0
            || u128::from(reg.iova) + u128::from(reg.length) > 1 << 64
            || reg.access & !Access::KNOWN.0 != 0
            || (access.intersects(Access::REMOTE_WRITE | Access::REMOTE_ATOMIC)
                && !access.contains(Access::LOCAL_WRITE));
        if by_unit {
            let done = t.refused_command(&Command {
                op: CmdOp::RegMr.code(),
                pd,
                access: reg.access,
                start: reg.iova,
                length: reg.length,
                log_page: 12,
                level: LEVEL_FLAT,
                encoding: Encoding::Raw.code(),
                frame: [0x1000, 0, 0, 0],
                ..Command::default()
            })?;
            return Ok(Some(if done.status == Status::Ok {
                Judgement::Disagreed("accepted, but the program got an error".into())
            } else {
                Judgement::Agreed
            }));
        }
        let writes = access.intersects(Access::LOCAL_WRITE | Access::MW_BIND);
        let by_driver = (reg.addr ^ reg.iova) % PAGE != 0
            || reg.map.is_empty()
            || (writes && reg.map.as_bytes().get(1) != Some(&b'w'));
        // Anything else (limits of the recorder) says nothing about protection.
        Ok(by_driver.then_some(Judgement::Agreed))
    }

    fn deregister(
        &mut self,
        t: &mut dyn Target,
        lkey: u32,
        tally: &mut Tally,
    ) -> Result<(), TargetError> {
        self.flush(t, tally)?;
        let Some(known) = self.local.get_mut(&lkey) else {
            return Ok(());
        };
        let Some(index) = known.live.take() else {
            return Ok(());
        };
        let rkey = known.pair.rkey;
        if let Some(remote) = self.remote.get_mut(&rkey) {
            if remote.live == Some(index) {
                remote.live = None;
            }
        }
        self.release(t, index)
    }

    fn release(&mut self, t: &mut dyn Target, index: usize) -> Result<(), TargetError> {
        let Some(registered) = self.regions[index].take() else {
            return Ok(());
        };
        let status = t.deregister(registered.region.id)?;
        if status != Status::Ok {
            return Err(TargetError::Mismatch {
                clock: t.clock(),
                text: format!(
                    "deregistering L_Key {} ended with {status}",
                    registered.region.lkey
                ),
            });
        }
        self.live.remove(&registered.region.lkey.0);
        self.live.remove(&registered.region.rkey.0);
        Ok(())
    }

    /// Our key for a recorded one, its live region, and what is subtracted from addresses.
    fn key(&self, recorded: u32, role: Role) -> (Key, Option<usize>, u64) {
        let book = match role {
            Role::Local => &self.local,
            Role::Remote => &self.remote,
        };
        if let Some(known) = book.get(&recorded) {
            let key = match role {
                Role::Local => known.pair.our_lkey,
                Role::Remote => known.pair.our_rkey,
            };
            return (key, known.live, known.base);
        }
        let mut pairs: Vec<Pair> = self.local.values().map(|k| k.pair).collect();
        pairs.sort_by_key(|p| p.our_lkey);
        (keys::replace(recorded, role, &pairs, &self.live), None, 0)
    }

    fn add(&mut self, step: &Step, pd: u32, qpn: u32) -> Sent {
        let (key, region, base) = self.key(step.key, step.op.role());
        let va = step.va.wrapping_sub(base);
        self.batch.push(Access1 {
            client: match step.side {
                Side::Local => REQUESTER,
                Side::Remote | Side::Receive => RESPONDER,
            },
            request: Request {
                tag: 0,
                stream: stream(qpn),
                op: step.op.code(),
                key,
                va,
                len: step.len,
                pd,
                qpn,
            },
        });
        let start = region
            .and_then(|i| self.regions[i].as_ref())
            .map_or(0, |r| r.iova);
        Sent {
            side: step.side,
            region,
            at: va.wrapping_sub(start),
            len: step.len,
        }
    }

    fn send(
        &mut self,
        event: &Event,
        number: usize,
        s: &Send,
        events: &[Event],
        ends: &Ends,
        tally: &mut Tally,
    ) {
        self.report.posted += 1;
        if s.errno != 0 {
            self.report.failed_posts += 1;
            return;
        }
        let window_key = |key: u32, keys: &HashSet<u32>| keys.contains(&(key >> 8));
        let verb = match s.kind {
            SendKind::Data(verb) => verb,
            SendKind::Window(what) => {
                if let Some((_, rkey)) = s.remote {
                    self.window_keys.insert(rkey >> 8);
                }
                self.judge(tally, event.line, what, Judgement::NeedsWindows);
                return;
            }
        };
        if s.remote
            .is_some_and(|(_, rkey)| window_key(rkey, &self.window_keys))
        {
            self.judge(tally, event.line, verb.name(), Judgement::NeedsWindows);
            return;
        }
        let own = self.qps.get(&s.qpn).copied().unwrap_or_default();
        let peer = s.dest_qpn.or(own.peer);
        let peer_qp = peer.and_then(|q| self.qps.get(&q).copied());
        let rules = QueueRules {
            responder_access: peer_qp.and_then(|q| q.access),
            iwarp: false,
        };
        // The receive of a send is judged by its own completion; here only if it is to blame.
        let used = ends.used.get(&number).and_then(|&n| match &events[n].what {
            What::Recv(r) => Some(r.elements.as_slice()),
            _ => None,
        });
        let mut plan = verbs::plan(verb, &s.elements, s.inline, s.remote, used, rules);
        if peer_qp.is_none() {
            // The responder is not in the trace: nothing is known of its memory.
            plan.steps.retain(|step| step.side == Side::Local);
        }
        let first = self.batch.len();
        let mut sent = Vec::with_capacity(plan.steps.len());
        for step in &plan.steps {
            let (pd, qpn) = match step.side {
                Side::Local => (own.pd, s.qpn),
                Side::Remote => (peer_qp.unwrap_or_default().pd, peer.unwrap_or(0)),
                Side::Receive => {
                    let q = peer_qp.unwrap_or_default();
                    (q.srq_pd.unwrap_or(q.pd), peer.unwrap_or(0))
                }
            };
            sent.push(self.add(step, pd, qpn));
        }
        let end = ends.sends.get(&number).cloned().unwrap_or(End::Unknown);
        self.waiting.push(Waiting {
            line: event.line,
            what: verb.name(),
            before: plan.before,
            first,
            sent,
            expect: Expect::Send(end, own.reliable),
        });
    }

    fn receive(
        &mut self,
        event: &Event,
        line: u64,
        r: &Recv,
        qpn: u32,
        reached: Option<u64>,
        expect: Expect,
    ) {
        let pd = match r.queue {
            Ok(qpn) => self.qps.get(&qpn).copied().unwrap_or_default().pd,
            Err(srq) => self.srqs.get(&(event.at, srq)).copied().unwrap_or(0),
        };
        let bytes = reached.unwrap_or_else(|| verbs::total(&r.elements));
        let steps: Vec<Step> = verbs::receive_steps(&r.elements, bytes).collect();
        let first = self.batch.len();
        let sent = steps.iter().map(|s| self.add(s, pd, qpn)).collect();
        self.waiting.push(Waiting {
            line,
            what: "recv",
            before: Vec::new(),
            first,
            sent,
            expect,
        });
    }

    fn flush(&mut self, t: &mut dyn Target, tally: &mut Tally) -> Result<(), TargetError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let before = t.counters()?;
        let answers = t.access(&self.batch)?;
        if let (Some(before), Some(after)) = (before, t.counters()?) {
            let d = after - before;
            let w = self.report.work.get_or_insert_with(Counters::default);
            *w = *w + d;
        }
        if answers.len() != self.batch.len() {
            return Err(TargetError::Failed(format!(
                "{} answers to {} accesses",
                answers.len(),
                self.batch.len()
            )));
        }
        self.batch.clear();
        self.report.accesses += answers.len() as u64;
        for w in std::mem::take(&mut self.waiting) {
            let mut refusals = w.before;
            let mut wrong = None;
            for (sent, answer) in w.sent.iter().zip(&answers[w.first..]) {
                self.report.beats += answer.segments.len() as u64;
                if let Some(r) = verbs::refusal(sent.side, answer.syndrome) {
                    self.report.refused += 1;
                    refusals.push(r);
                    continue;
                }
                self.report.accepted += 1;
                let registered = sent.region.and_then(|i| self.regions[i].as_ref());
                match registered {
                    Some(r) => {
                        let ok = addresses::check(
                            &r.frames,
                            r.offset,
                            sent.at,
                            sent.len,
                            &answer.segments,
                        );
                        if let Err(what) = ok {
                            wrong = Some(format!("{}: {what}", sent.side));
                        }
                    }
                    None if sent.len == 0 => {}
                    None => wrong = Some(format!("{}: accepted with an unknown key", sent.side)),
                }
            }
            let j = match wrong {
                Some(what) => Some(Judgement::Disagreed(what)),
                None => judgement(&w.expect, &refusals),
            };
            if matches!(w.expect, Expect::Unused) {
                self.report.unused_receives += 1;
            }
            match j {
                Some(j) => self.judge(tally, w.line, w.what, j),
                None => self.report.not_judged += 1,
            }
        }
        Ok(())
    }
}

/// Compares what the unit said with what the program saw; `None` if there is nothing to compare.
fn judgement(expect: &Expect, refusals: &[Refusal]) -> Option<Judgement> {
    let list = |refusals: &[&Refusal]| {
        refusals
            .iter()
            .map(|r| r.to_string())
            .collect::<Vec<_>>()
            .join("; ")
    };
    let must_pass = |saw: &str, counts: &dyn Fn(&Refusal) -> bool| {
        let against: Vec<_> = refusals.iter().filter(|r| counts(r)).collect();
        Some(if against.is_empty() {
            Judgement::Agreed
        } else {
            Judgement::Disagreed(format!(
                "refused ({}), but the program saw {saw}",
                list(&against)
            ))
        })
    };
    let must_fail = |status: &str, fits: &dyn Fn(&Refusal) -> bool| {
        Some(if refusals.iter().any(fits) {
            Judgement::Agreed
        } else if refusals.is_empty() {
            Judgement::Disagreed(format!("accepted, but the program saw {status}"))
        } else {
            Judgement::Disagreed(format!(
                "refused as {}, but the program saw {status}",
                list(&refusals.iter().collect::<Vec<_>>())
            ))
        })
    };
    match expect {
        Expect::Send(End::Completed { status, .. }, reliable) if status == "SUCCESS" => {
            must_pass("SUCCESS", &|r| *reliable || r.side == Side::Local)
        }
        Expect::Send(End::Completed { status, .. }, _) => match class_of_status(status) {
            None => None,
            Some(class @ (Class::RemoteAccess | Class::RemoteInvalid)) => {
                must_fail(status, &|r| r.side == Side::Remote && r.class == class)
            }
            Some(Class::RemoteOperation) => {
                must_fail(status, &|r| r.class == Class::RemoteOperation)
            }
            Some(Class::Local) => must_fail(status, &|r| r.side == Side::Local),
        },
        Expect::Send(End::Implied, reliable) => must_pass("later requests succeed", &|r| {
            *reliable || r.side == Side::Local
        }),
        Expect::Send(End::Unknown, _) | Expect::Unused => {
            refusals.is_empty().then_some(Judgement::Agreed)
        }
        Expect::Received => must_pass("SUCCESS", &|_| true),
        // A receive can also fail because the message was too long for it: the send tells.
        Expect::ReceiveFailed => (!refusals.is_empty()).then_some(Judgement::Agreed),
    }
}

/// Replays a trace.
pub fn run(
    t: &mut dyn Target,
    file: &str,
    events: &[Event],
    tally: &mut Tally,
    progress: &mut dyn FnMut(u64),
) -> Result<TraceReport, TargetError> {
    let name = events
        .iter()
        .find_map(|e| match &e.what {
            What::Meta(name) => Some(name.clone()),
            _ => None,
        })
        .unwrap_or_else(|| file.to_owned());
    let ends = follow::follow(events);
    // Receive that a successful completion used up, by the event of the completion.
    let mut used_by: HashMap<usize, usize> = HashMap::new();
    for (&receive, received) in &ends.receives {
        if let (End::Completed { at, .. }, Some(_)) = (&received.end, received.placed) {
            used_by.insert(*at, receive);
        }
    }
    let mut r = Replayer::new(file, name);
    for (number, event) in events.iter().enumerate() {
        progress(1);
        match &event.what {
            What::Pd(handle) => {
                r.new_pd(event.at, *handle);
            }
            What::Reg(reg) => {
                r.flush(t, tally)?;
                let parts: Vec<_> = events[number + 1..]
                    .iter()
                    .filter(|e| e.at.proc == event.at.proc)
                    .take_while(|e| !matches!(e.what, What::Reg(_) | What::Dereg(_)))
                    .filter_map(|e| match &e.what {
                        What::Pages(p) if p.lkey == reg.lkey => Some(p),
                        _ => None,
                    })
                    .take(64)
                    .collect();
                r.register(t, event, reg, &parts, tally)?;
            }
            What::Dereg(lkey) => r.deregister(t, *lkey, tally)?,
            What::Qp {
                qpn,
                pd,
                srq,
                reliable,
            } => {
                let pd = r.pd(event.at, *pd);
                let srq_pd = srq.and_then(|s| r.srqs.get(&(event.at, s)).copied());
                r.qps.insert(
                    *qpn,
                    Qp {
                        pd,
                        srq_pd,
                        reliable: *reliable,
                        ..Qp::default()
                    },
                );
            }
            What::ModifyQp {
                qpn,
                access,
                dest_qpn,
            } => {
                let q = r.qps.entry(*qpn).or_default();
                q.access = access.or(q.access);
                q.peer = dest_qpn.or(q.peer);
            }
            What::Srq(handle, pd) => {
                let pd = r.pd(event.at, *pd);
                r.srqs.insert((event.at, *handle), pd);
            }
            What::Send(s) => r.send(event, number, s, events, &ends, tally),
            What::Recv(recv) => {
                r.report.posted += 1;
                if recv.errno != 0 {
                    r.report.failed_posts += 1;
                    continue;
                }
                let qpn = recv.queue.unwrap_or_else(|srq| srq);
                match ends.receives.get(&number).map(|e| (&e.end, e.placed)) {
                    Some((End::Completed { .. }, Some(_))) => {}
                    Some((End::Completed { status, .. }, None))
                        if class_of_status(status).is_some() =>
                    {
                        r.receive(event, event.line, recv, qpn, None, Expect::ReceiveFailed);
                    }
                    _ => r.receive(event, event.line, recv, qpn, None, Expect::Unused),
                }
            }
            What::Completion(c) => {
                if let Some(&receive) = used_by.get(&number) {
                    let posted = &events[receive];
                    if let (What::Recv(recv), Some(received)) =
                        (&posted.what, ends.receives.get(&receive))
                    {
                        let bytes = received.placed;
                        r.receive(posted, posted.line, recv, c.qpn, bytes, Expect::Received);
                    }
                }
            }
            What::WindowKey(key) => {
                r.window_keys.insert(key >> 8);
            }
            What::Rereg => r.report.not_judged += 1,
            What::Meta(_) | What::Pages(_) | What::DestroyQp(_) | What::Capped | What::Other => {}
        }
        if r.batch.len() >= BATCH {
            r.flush(t, tally)?;
        }
    }
    r.flush(t, tally)?;
    for index in 0..r.regions.len() {
        r.release(t, index)?;
    }
    Ok(r.report)
}
