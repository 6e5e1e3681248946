// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Runs a trace through a target.
//!
//! * Protection domains, registrations and deregistrations happen in the order of the trace. A
//!   region lies on the recorded frames; frames that were not recorded are invented.
//! * A request is sent when it was posted: its own elements by client 0, the remote access by
//!   client 1, with the domain of the responder's queue pair.
//! * The elements of a receive are written when its completion was seen (or before, if its region
//!   goes away after the message was sent), as far as the message reached. They must be registered
//!   when it is posted. A receive without a successful completion is checked when it was posted.
//! * Only what the recording says is judged: a request without a completion of its own or a later
//!   one that implies it is checked against the reference only, and not counted as agreed.
//! * One stream per queue pair (its number hashed).
//! * Both the drivers that record ignore ZERO_BASED: programs give addresses. The replay hands
//!   offsets to the unit, as its driver would.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::{json, Value};
use tpt_golden::frames::{FrameList, Page};
use tpt_golden::mtt::Shape;
use tpt_golden::types::{Access, Key, Op, Request, Role, Status};

use super::follow::{self, End, Ends};
use super::parse::{Context, Event, Reg, Send, SendKind, What};
use crate::addresses;
use crate::report::{rate, ratio};
use crate::tally::{Judgement, Tally};
use crate::target::{self, Access1, Counters, Region, Target, TargetError, REQUESTER, RESPONDER};
use crate::verbs::{self, class_of_status, Class, QueueRules, Refusal, Side, Step, Verb, Why};
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
    /// Requests whose end says nothing that the unit could be compared with.
    pub not_judged: u64,
    /// Requests without an end: checked against the reference only.
    pub reference_only: u64,
    /// Pages whose frame is not recorded, and so is invented.
    pub invented_pages: u64,
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
            "reference_only": self.reference_only,
            "invented_pages": self.invented_pages,
            "unused_receives": self.unused_receives,
            "disagreed": self.disagreed,
            "unit": self.work.map(|w| crate::report::counters(&w)),
        })
    }
}

#[derive(Debug, Clone)]
struct Registered {
    region: Region,
    /// As registered: first address, bytes, rights.
    start: u64,
    length: u64,
    access: u32,
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
    gone: bool,
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
    /// Receive that failed: status, and the message that it holds.
    ReceiveFailed(String, Option<Message>),
    /// Receive without a use.
    Unused,
}

/// What is known of the message of a receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Message {
    /// Longer than the receive.
    too_long: bool,
    /// A write with immediate data.
    write: bool,
}

/// What cannot be judged of a request whose own elements can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Half {
    /// It needs windows.
    Windows,
    /// The responder is not in the trace.
    NoResponder,
}

#[derive(Debug)]
struct Waiting {
    line: u64,
    what: &'static str,
    before: Vec<Refusal>,
    first: usize,
    sent: Vec<Sent>,
    expect: Expect,
    /// Only the own elements are judged.
    half: Option<Half>,
    /// What no device can have said, whatever the unit says.
    odd: Option<String>,
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
    /// By L_Key: receives whose completion is still to come.
    open: HashMap<u32, BTreeSet<usize>>,
    /// Receives that were checked before their completion.
    done: HashSet<usize>,
    /// Receives over memory that was not registered when they were posted.
    unregistered: HashSet<usize>,
    batch: Vec<Access1>,
    waiting: Vec<Waiting>,
    invented: u64,
    report: TraceReport,
}

/// The frames of a registration: recorded ones, and invented ones where none are.
fn frames(
    reg: &Reg,
    parts: &[&super::parse::Pages],
    invented: &mut u64,
    pages: &mut u64,
) -> FrameList {
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
        *pages = pages.saturating_add(n);
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
            open: HashMap::new(),
            done: HashSet::new(),
            unregistered: HashSet::new(),
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
        match j {
            Judgement::Disagreed(_) => self.report.disagreed += 1,
            Judgement::NotJudged(_) => self.report.not_judged += 1,
            Judgement::ReferenceOnly => self.report.reference_only += 1,
            _ => {}
        }
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
            self.judge(tally, event.line, "reg_mr", j);
            return Ok(());
        }
        let frames = frames(
            reg,
            parts,
            &mut self.invented,
            &mut self.report.invented_pages,
        );
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
                let j = self.registered(reg, region, frames, None);
                self.judge(tally, event.line, "reg_mr", j);
            }
        }
        Ok(())
    }

    /// Keys and frames of a region that the target has made or changed.
    fn registered(
        &mut self,
        reg: &Reg,
        region: Region,
        frames: FrameList,
        slot: Option<usize>,
    ) -> Judgement {
        self.report.bytes = self.report.bytes.saturating_add(reg.length);
        self.report.entries += region.entries;
        self.report.table_bytes += region.table_bytes;
        let pair = Pair {
            lkey: reg.lkey,
            rkey: reg.rkey,
            our_lkey: region.lkey,
            our_rkey: region.rkey,
        };
        self.live.insert(region.lkey.0);
        let index = slot.unwrap_or(self.regions.len());
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
        // Indices of windows that are gone without a word.
        self.window_keys.remove(&(reg.lkey >> 8));
        self.window_keys.remove(&(reg.rkey >> 8));
        let registered = Some(Registered {
            region,
            start: reg.iova,
            length: reg.length,
            access: reg.access,
            iova: if zero_based { 0 } else { reg.iova },
            offset: reg.addr % PAGE,
            frames,
        });
        if index < self.regions.len() {
            self.regions[index] = registered;
        } else {
            self.regions.push(registered);
        }
        let remote = Access(reg.access).intersects(Access::ANY_REMOTE);
        let writes = Access(reg.access).intersects(
            Access::LOCAL_WRITE | Access::REMOTE_WRITE | Access::REMOTE_ATOMIC | Access::MW_BIND,
        );
        let mapped = reg.map.as_bytes();
        if remote != (region.rkey != Key::NONE) {
            Judgement::Disagreed("R_Key without a remote right, or the other way".into())
        } else if !mapped.is_empty()
            && (mapped[0] != b'r' || (writes && mapped.get(1) != Some(&b'w')))
        {
            Judgement::Disagreed(format!(
                "accepted over a mapping with the permissions {}",
                reg.map
            ))
        } else {
            Judgement::Agreed
        }
    }

    fn reregister(
        &mut self,
        t: &mut dyn Target,
        event: &Event,
        (old_lkey, flags, reg): (u32, u32, &Reg),
        parts: &[&super::parse::Pages],
        tally: &mut Tally,
    ) -> Result<(), TargetError> {
        let slot = self.local.get(&old_lkey).and_then(|k| k.live);
        let old = slot.and_then(|i| self.regions[i].clone());
        let (Some(slot), Some(old), 0) = (slot, old, reg.errno) else {
            self.judge(
                tally,
                event.line,
                "rereg_mr",
                Judgement::NotJudged("re-registration that failed, or of a refused region"),
            );
            return Ok(());
        };
        let pd = self.pd(event.at, reg.pd);
        let mut frames_now = old.frames.clone();
        let mut change = target::Change::default();
        if flags & 1 != 0 {
            frames_now = frames(
                reg,
                parts,
                &mut self.invented,
                &mut self.report.invented_pages,
            );
            let shape = Shape {
                lazy: frames_now.pages() > LAZY,
                ..Shape::default()
            };
            change.translation = Some((frames_now.clone(), reg.iova, reg.length, shape));
        }
        if flags & 2 != 0 {
            change.pd = Some(pd);
        }
        if flags & 4 != 0 {
            change.access = Some(Access(reg.access));
        }
        let made = t.reregister(old.region.id, &change)?;
        let j = match made {
            Err(why) => Judgement::Disagreed(format!("refused ({why}), but the program got keys")),
            Ok(region) => {
                self.kill(old_lkey, slot);
                self.live.remove(&old.region.lkey.0);
                self.live.remove(&old.region.rkey.0);
                // What is not changed stays as it was.
                let mut now = reg.clone();
                if flags & 1 == 0 {
                    now.iova = old.start;
                    now.length = old.length;
                    now.addr = old.offset;
                }
                if flags & 4 == 0 {
                    now.access = old.access;
                }
                self.registered(&now, region, frames_now, Some(slot))
            }
        };
        self.judge(tally, event.line, "rereg_mr", j);
        Ok(())
    }

    /// The recorded keys of a region are dead.
    fn kill(&mut self, lkey: u32, slot: usize) {
        let Some(known) = self.local.get_mut(&lkey) else {
            return;
        };
        known.live = None;
        let rkey = known.pair.rkey;
        if let Some(remote) = self.remote.get_mut(&rkey) {
            if remote.live == Some(slot) {
                remote.live = None;
            }
        }
    }

    /// A registration that the recorder refused: the rules must refuse it too.
    fn refused_registration(
        &mut self,
        t: &mut dyn Target,
        pd: u32,
        reg: &Reg,
    ) -> Result<Judgement, TargetError> {
        let access = Access(reg.access);
        let on_demand = access.contains(Access::ON_DEMAND);
        let expected = verbs::refused_arguments(reg.iova, reg.length, reg.access);
        if let Some(expected) = expected {
            let done = t.refused_command(&verbs::bare_registration(
                pd, reg.iova, reg.length, reg.access,
            ))?;
            return Ok(if done.status == expected {
                Judgement::Agreed
            } else {
                Judgement::Disagreed(format!(
                    "the unit answers {}, the rules say {expected}",
                    done.status
                ))
            });
        }
        let writes = access.intersects(Access::LOCAL_WRITE | Access::MW_BIND);
        let pinned = reg.map.is_empty() || (writes && reg.map.as_bytes().get(1) != Some(&b'w'));
        // A page of an on-demand region is looked for when it is used.
        let by_driver = (reg.addr ^ reg.iova) % PAGE != 0 || (pinned && !on_demand);
        // Anything else (limits of the recorder, a kernel that cannot page on demand) says nothing
        // about protection.
        Ok(if by_driver {
            Judgement::Agreed
        } else {
            Judgement::NotJudged("registration refused for another reason than protection")
        })
    }

    fn deregister(
        &mut self,
        t: &mut dyn Target,
        lkey: u32,
        tally: &mut Tally,
    ) -> Result<(), TargetError> {
        self.flush(t, tally)?;
        let Some(index) = self.local.get(&lkey).and_then(|k| k.live) else {
            return Ok(());
        };
        self.kill(lkey, index);
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
        let end = ends.sends.get(&number).cloned().unwrap_or(End::Unknown);
        let odd = ends.odd.get(&number).cloned();
        let (verb, what) = match s.kind {
            SendKind::Data(verb) => (verb, verb.name()),
            // A send, and it needs invalidation.
            SendKind::Window("send_inv") => (Verb::Send, "send_inv"),
            SendKind::Window(what) => {
                if let Some((_, rkey)) = s.remote {
                    self.window_keys.insert(rkey >> 8);
                }
                let j = odd.map_or(Judgement::NeedsWindows, Judgement::Disagreed);
                self.judge(tally, event.line, what, j);
                return;
            }
        };
        let own = self.qps.get(&s.qpn).copied().unwrap_or_default();
        let peer = s.dest_qpn.or(own.peer);
        let peer_qp = peer.and_then(|q| self.qps.get(&q).copied());
        let windows = what == "send_inv"
            || s.remote
                .is_some_and(|(_, rkey)| self.window_keys.contains(&(rkey >> 8)));
        let failed_there = matches!(&end, End::Completed { status, .. } if matches!(
            class_of_status(status),
            Some(Class::RemoteAccess | Class::RemoteInvalid | Class::RemoteOperation)
        ));
        let half = if windows {
            Some(Half::Windows)
        } else if peer_qp.is_none() && (verb.remote_op().is_some() || failed_there) {
            // Nothing is known of the responder's memory.
            Some(Half::NoResponder)
        } else {
            None
        };
        let rules = QueueRules {
            responder_access: peer_qp.and_then(|q| q.access),
            iwarp: false,
        };
        // The receive of a send is judged by its own completion; here only if it is to blame.
        let used = ends.used.get(&number).and_then(|&n| match &events[n].what {
            What::Recv(r) => Some(r.elements.as_slice()),
            _ => None,
        });
        // Results of reads and atomics cannot be in the request.
        let inline = s.inline && verb.local_op() == Op::LocalRead;
        let mut plan = verbs::plan(verb, &s.elements, inline, s.remote, used, rules);
        if half.is_some() {
            plan.steps.retain(|step| step.side == Side::Local);
            plan.before.retain(|r| r.side == Side::Local);
        }
        let succeeded = match &end {
            End::Completed { status, .. } => status == "SUCCESS",
            End::Implied => true,
            End::Unknown => false,
        };
        let gone = succeeded && own.reliable && peer_qp.is_some_and(|q| q.gone);
        let odd = odd.or_else(|| {
            gone.then(|| "succeeded after the responder's queue pair was destroyed".to_owned())
        });
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
        self.waiting.push(Waiting {
            line: event.line,
            what,
            before: plan.before,
            first,
            sent,
            expect: Expect::Send(end, own.reliable),
            half,
            odd,
        });
    }

    fn receive(
        &mut self,
        posted: &Event,
        number: usize,
        bytes: Option<u64>,
        expect: Expect,
        ends: &Ends,
    ) {
        let What::Recv(r) = &posted.what else {
            return;
        };
        let qpn = ends
            .receives
            .get(&number)
            .and_then(|e| e.qpn)
            .unwrap_or_else(|| r.queue.unwrap_or_else(|srq| srq));
        let pd = match r.queue {
            Ok(qpn) => self.qps.get(&qpn).copied().unwrap_or_default().pd,
            Err(srq) => self.srqs.get(&(posted.at, srq)).copied().unwrap_or(0),
        };
        let bytes = bytes.unwrap_or_else(|| verbs::total(&r.elements));
        let steps: Vec<Step> = verbs::receive_steps(&r.elements, bytes).collect();
        let first = self.batch.len();
        let sent = steps.iter().map(|s| self.add(s, pd, qpn)).collect();
        let odd = ends.odd.get(&number).cloned();
        let early = self.unregistered.remove(&number);
        self.waiting.push(Waiting {
            line: posted.line,
            what: "recv",
            before: Vec::new(),
            first,
            sent,
            expect,
            half: None,
            odd: odd.or_else(|| {
                early.then(|| "its memory is not registered when it is posted".to_owned())
            }),
        });
    }

    /// A receive is posted: it is checked now, or waits for its message.
    fn posted(&mut self, number: usize, event: &Event, events: &[Event], ends: &Ends) {
        let What::Recv(r) = &event.what else {
            return;
        };
        self.report.posted += 1;
        if r.errno != 0 {
            self.report.failed_posts += 1;
            return;
        }
        let Some(received) = ends.receives.get(&number) else {
            self.receive(event, number, None, Expect::Unused, ends);
            return;
        };
        let message = received.message.and_then(|n| match &events[n].what {
            What::Send(s) => Some(s),
            _ => None,
        });
        match (&received.end, received.placed) {
            (End::Completed { .. }, Some(bytes)) => {
                let elements: Vec<_> = verbs::reach(&r.elements, bytes).collect();
                for e in elements.iter().filter(|e| e.length > 0) {
                    self.open.entry(e.lkey).or_default().insert(number);
                    if self.local.get(&e.lkey).map_or(true, |k| k.live.is_none()) {
                        self.unregistered.insert(number);
                    }
                }
            }
            (End::Completed { status, .. }, None) if status != "WR_FLUSH_ERR" => {
                let posted = verbs::total(&r.elements);
                let known = message.map(|s| Message {
                    too_long: verbs::total(&s.elements) > posted,
                    write: s.kind == SendKind::Data(Verb::WriteImm),
                });
                let bytes = message
                    .filter(|_| known.is_some_and(|m| !m.write))
                    .map(|s| verbs::total(&s.elements));
                let expect = Expect::ReceiveFailed(status.clone(), known);
                self.receive(event, number, bytes, expect, ends);
            }
            _ => self.receive(event, number, None, Expect::Unused, ends),
        }
    }

    /// A receive has its message.
    fn completed(&mut self, number: usize, events: &[Event], ends: &Ends) {
        let Some(received) = ends.receives.get(&number) else {
            return;
        };
        if let What::Recv(r) = &events[number].what {
            for e in &r.elements {
                if let Some(open) = self.open.get_mut(&e.lkey) {
                    open.remove(&number);
                }
            }
        }
        self.receive(
            &events[number],
            number,
            received.placed,
            Expect::Received,
            ends,
        );
    }

    /// A region goes away: the messages that were sent before may have arrived before.
    fn arrive(&mut self, now: usize, lkey: u32, events: &[Event], ends: &Ends) {
        let Some(open) = self.open.get(&lkey) else {
            return;
        };
        let arrived: Vec<usize> = open
            .iter()
            .copied()
            .filter(|n| {
                ends.receives
                    .get(n)
                    .is_some_and(|r| r.message.map_or(true, |sent| sent < now))
            })
            .collect();
        for number in arrived {
            self.completed(number, events, ends);
            self.done.insert(number);
        }
    }

    fn flush(&mut self, t: &mut dyn Target, tally: &mut Tally) -> Result<(), TargetError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let before = t.counters()?;
        let answers = target::answers(t, &self.batch)?;
        if let (Some(before), Some(after)) = (before, t.counters()?) {
            let d = after - before;
            let w = self.report.work.get_or_insert_with(Counters::default);
            *w = *w + d;
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
            let j = match wrong.or(w.odd) {
                Some(what) => Judgement::Disagreed(what),
                None => judgement(&w.expect, &refusals),
            };
            let j = match (j, w.half) {
                (j @ Judgement::Disagreed(_), _) if w.half.is_none() || !remote_end(&w.expect) => j,
                (_, Some(Half::Windows)) => Judgement::NeedsWindows,
                (_, Some(Half::NoResponder)) => {
                    Judgement::NotJudged("the responder's queue pair is not in the trace")
                }
                (j, None) => j,
            };
            if matches!(w.expect, Expect::Unused) {
                self.report.unused_receives += 1;
            }
            self.judge(tally, w.line, w.what, j);
        }
        Ok(())
    }
}

/// The end of a send that the responder is to blame for.
fn remote_end(expect: &Expect) -> bool {
    matches!(expect, Expect::Send(End::Completed { status, .. }, _) if matches!(
        class_of_status(status),
        Some(Class::RemoteAccess | Class::RemoteInvalid | Class::RemoteOperation)
    ))
}

/// Compares what the unit said with what the program saw.
fn judgement(expect: &Expect, refusals: &[Refusal]) -> Judgement {
    let list = |refusals: &[&Refusal]| {
        refusals
            .iter()
            .map(|r| r.to_string())
            .collect::<Vec<_>>()
            .join("; ")
    };
    let must_pass = |saw: &str, reliable: bool| {
        let against: Vec<_> = refusals
            .iter()
            .filter(|r| reliable || r.side == Side::Local)
            .collect();
        if !against.is_empty() {
            Judgement::Disagreed(format!(
                "refused ({}), but the program saw {saw}",
                list(&against)
            ))
        } else if refusals.is_empty() {
            Judgement::Agreed
        } else {
            Judgement::NotJudged("refused by a responder that does not tell (UC, UD)")
        }
    };
    let must_fail = |status: &str, fits: &dyn Fn(&Refusal) -> bool| {
        if refusals.iter().any(fits) {
            Judgement::Agreed
        } else if refusals.is_empty() {
            Judgement::Disagreed(format!("accepted, but the program saw {status}"))
        } else {
            Judgement::Disagreed(format!(
                "refused as {}, but the program saw {status}",
                list(&refusals.iter().collect::<Vec<_>>())
            ))
        }
    };
    let unknown = || {
        if refusals.is_empty() {
            Judgement::ReferenceOnly
        } else {
            Judgement::NotJudged("refused, but no end is in the recording")
        }
    };
    match expect {
        Expect::Send(End::Completed { status, .. }, reliable) if status == "SUCCESS" => {
            must_pass("SUCCESS", *reliable)
        }
        Expect::Send(End::Completed { status, .. }, _) => match class_of_status(status) {
            None if status == "WR_FLUSH_ERR" => unknown(),
            None => Judgement::NotJudged("ended with a status that says nothing of protection"),
            Some(Class::RemoteInvalid) => must_fail(status, &|r| {
                (r.side == Side::Remote && r.class == Class::RemoteInvalid)
                    || (r.side == Side::Receive && matches!(r.why, Why::Before(_)))
            }),
            Some(Class::RemoteAccess) => must_fail(status, &|r| {
                r.side == Side::Remote && r.class == Class::RemoteAccess
            }),
            Some(Class::RemoteOperation) => {
                must_fail(status, &|r| r.class == Class::RemoteOperation)
            }
            Some(Class::Local) => must_fail(status, &|r| r.side == Side::Local),
        },
        Expect::Send(End::Implied, reliable) => must_pass("later requests succeed", *reliable),
        Expect::Send(End::Unknown, _) | Expect::Unused => unknown(),
        Expect::Received => must_pass("SUCCESS", true),
        Expect::ReceiveFailed(status, message) => receive_failed(status, *message, refusals),
    }
}

/// A receive that failed must have a cause: a bad element, or a message that is too long.
fn receive_failed(status: &str, message: Option<Message>, refusals: &[Refusal]) -> Judgement {
    let bad = !refusals.is_empty();
    let too_long = message.map(|m| m.too_long && !m.write);
    let written = message.map(|m| m.write);
    let silent = Judgement::NotJudged("a failed receive whose message is not in the trace");
    let good = match status {
        "LOC_PROT_ERR" | "LOC_ACCESS_ERR" => Some(bad),
        "LOC_QP_OP_ERR" if bad => Some(true),
        "LOC_QP_OP_ERR" | "LOC_LEN_ERR" => too_long,
        // Of a write with immediate data the sender tells.
        "REM_INV_REQ_ERR" if written != Some(true) => too_long,
        "REM_ACCESS_ERR" if written == Some(false) => Some(false),
        "REM_INV_REQ_ERR" | "REM_ACCESS_ERR" => None,
        "GENERAL_ERR" | "FATAL_ERR" | "TM_ERR" | "TM_RNDV_INCOMPLETE" => {
            return Judgement::NotJudged("ended with a status that says nothing of protection");
        }
        _ => Some(false),
    };
    match good {
        Some(true) => Judgement::Agreed,
        Some(false) => Judgement::Disagreed(format!(
            "nothing is wrong that ends a receive with {status}"
        )),
        None => silent,
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
        let pages = |lkey: u32| -> Vec<&super::parse::Pages> {
            events[number + 1..]
                .iter()
                .filter(|e| e.at.proc == event.at.proc)
                .take_while(|e| {
                    !matches!(
                        e.what,
                        What::Reg(_) | What::Dereg(_) | What::Rereg { .. } | What::Close
                    )
                })
                .filter_map(|e| match &e.what {
                    What::Pages(p) if p.lkey == lkey => Some(p),
                    _ => None,
                })
                .collect()
        };
        match &event.what {
            What::Pd(handle) => {
                r.new_pd(event.at, *handle);
            }
            What::Reg(reg) => {
                r.flush(t, tally)?;
                r.register(t, event, reg, &pages(reg.lkey), tally)?;
            }
            What::Dereg(lkey) => {
                r.arrive(number, *lkey, events, &ends);
                r.deregister(t, *lkey, tally)?;
            }
            What::Rereg {
                old_lkey,
                flags,
                reg,
            } => {
                r.arrive(number, *old_lkey, events, &ends);
                r.flush(t, tally)?;
                let what = (*old_lkey, *flags, reg);
                r.reregister(t, event, what, &pages(reg.lkey), tally)?;
            }
            What::Qp {
                qpn,
                pd,
                srq,
                reliable,
                ..
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
                ..
            } => {
                let q = r.qps.entry(*qpn).or_default();
                q.access = access.or(q.access);
                q.peer = dest_qpn.or(q.peer);
            }
            What::DestroyQp(qpn) => {
                if let Some(q) = r.qps.get_mut(qpn) {
                    q.gone = true;
                }
            }
            What::Srq(handle, pd) => {
                let pd = r.pd(event.at, *pd);
                r.srqs.insert((event.at, *handle), pd);
            }
            What::Send(s) => r.send(event, number, s, events, &ends, tally),
            What::Recv(_) => r.posted(number, event, events, &ends),
            What::Completion(c) => {
                if let Some(&receive) = used_by.get(&number) {
                    if !r.done.contains(&receive) {
                        r.completed(receive, events, &ends);
                    }
                } else if ends.stray.contains(&number) {
                    let j = if ends.incomplete(event.at.proc, number) {
                        Judgement::NotJudged("a completion whose request is not in the trace")
                    } else {
                        Judgement::Disagreed(format!(
                            "{} of {:#x}, which was not posted or has ended",
                            c.status, c.wr_id
                        ))
                    };
                    r.judge(tally, event.line, "wc", j);
                }
            }
            What::WindowKey(key) => {
                r.window_keys.insert(key >> 8);
            }
            What::WindowGone(key) => {
                r.window_keys.remove(&(key >> 8));
            }
            What::Meta(_) | What::Pages(_) | What::Close | What::Capped | What::Other => {}
        }
        if r.batch.len() >= BATCH {
            r.flush(t, tally)?;
        }
    }
    r.flush(t, tally)?;
    for index in 0..r.regions.len() {
        r.release(t, index)?;
    }
    tally.invented_pages = tally.invented_pages.saturating_add(r.report.invented_pages);
    Ok(r.report)
}
