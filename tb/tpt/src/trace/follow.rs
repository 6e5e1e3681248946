// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Finds which completion belongs to which request, which message used which receive, and what no
//! device can have said.
//!
//! Send queues complete in order, and a completion says the same of every request before it that
//! asked for none. Receives of a queue pair complete in order too; of a shared receive queue the
//! request is found by the program's name for it. The completion of an error does not say whether
//! it is of a send or a receive; the name decides.
//!
//! Datagrams and messages of unreliable connections may be lost or overtake each other: a receive
//! must have the length of one that was sent. On a reliable connection every message arrives, in order: the n-th receive that completes holds
//! the n-th message of the peer.

use std::collections::{HashMap, HashSet, VecDeque};

use super::parse::{Completion, Context, Event, Send, SendKind, What};
use crate::verbs::{self, Verb};

/// How a request ended, as far as the program saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// A completion: status, and the number of its event.
    Completed {
        /// `SUCCESS` or the error.
        status: String,
        /// Event of the completion.
        at: usize,
    },
    /// No completion of its own, but a later request of the queue succeeded or failed by itself.
    Implied,
    /// No completion.
    Unknown,
}

/// How a receive ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// Status.
    pub end: End,
    /// Bytes that were placed in its elements; `None` if it failed or was never used.
    pub placed: Option<u64>,
    /// Queue pair that it completed on.
    pub qpn: Option<u32>,
    /// Entry of the peer's send queue whose message it holds, if that can be named.
    pub message: Option<usize>,
}

/// Ends of all requests, by the number of their event.
#[derive(Debug, Clone, Default)]
pub struct Ends {
    /// Entries of send queues.
    pub sends: HashMap<usize, End>,
    /// Receives.
    pub receives: HashMap<usize, Received>,
    /// For a failed send: the receive that it used up, if one can be named.
    pub used: HashMap<usize, usize>,
    /// Requests whose completion no device can have given; why.
    pub odd: HashMap<usize, String>,
    /// Completions of no request.
    pub stray: HashSet<usize>,
    /// By process: the event after which requests are missing.
    pub capped: HashMap<u32, usize>,
}

impl Ends {
    /// Requests of the process are missing before this event.
    pub fn incomplete(&self, proc: u32, now: usize) -> bool {
        self.capped.get(&proc).is_some_and(|&since| since < now)
    }
}

#[derive(Debug, Default)]
struct Queue {
    /// Event, name, and whether it asks for a completion (a receive always has one).
    waiting: VecDeque<(usize, u64, bool)>,
    /// Names of requests that asked for a completion.
    asked: HashSet<u64>,
}

impl Queue {
    /// The request of a completion. Programs give one name to many requests: a success is of the
    /// first one that asked for a completion, or (where none of this name ever did: the queue pair
    /// gives one to all) the first.
    fn find(&self, wr_id: u64, success: bool) -> Option<usize> {
        let named = |asked: bool| {
            self.waiting
                .iter()
                .position(|(_, id, signaled)| *id == wr_id && (*signaled || !asked))
        };
        if success && self.asked.contains(&wr_id) {
            named(true)
        } else {
            named(false)
        }
    }
}

type ReceiveQueue = (Context, Result<u32, u32>);

#[derive(Debug, Default)]
struct Qp {
    at: Option<Context>,
    srq: Option<u32>,
    peer: Option<u32>,
    connected: bool,
    /// Set to the error state by the program.
    stopped: bool,
    /// An error on the send queue, on the receive queue: nothing after it succeeds.
    send_failed: bool,
    receive_failed: bool,
    /// Messages on their way to the peer.
    out: VecDeque<usize>,
    /// Unreliable messages on their way to this queue pair: their lengths as received, and how many.
    inbound: HashMap<u64, u64>,
}

/// Whether the operation of a successful completion fits the request.
fn fits(s: &Send, opcode: &str) -> bool {
    match s.kind {
        SendKind::Data(Verb::Write | Verb::WriteImm) => opcode == "write",
        SendKind::Data(Verb::Send) | SendKind::Window("send_inv") => opcode == "send",
        SendKind::Data(verb) => opcode == verb.name(),
        SendKind::Window(name) => opcode == name,
    }
}

/// Whether the message of a request uses up a receive.
fn uses_a_receive(s: &Send) -> bool {
    matches!(
        s.kind,
        SendKind::Data(Verb::Send | Verb::WriteImm) | SendKind::Window("send_inv")
    )
}

struct Follower<'a> {
    events: &'a [Event],
    ends: Ends,
    qps: HashMap<u32, Qp>,
    sends: HashMap<u32, Queue>,
    receives: HashMap<ReceiveQueue, Queue>,
    /// Receives that failed, while no failed send was found for them.
    failed: HashMap<ReceiveQueue, usize>,
    /// Queue pairs on which something failed by itself.
    errors: HashSet<u32>,
    /// Flushed requests: their queue pair and its peer.
    flushed: Vec<(usize, u32, Option<u32>)>,
}

/// Bytes in front of a received datagram.
const GRH: u64 = 40;

/// Receive queues of a queue pair are named without the context: its number is enough.
const ANYWHERE: Context = Context { proc: 0, ctx: 0 };

impl Follower<'_> {
    fn receive_queue(&self, qpn: u32) -> ReceiveQueue {
        match self.qps.get(&qpn) {
            Some(Qp {
                at: Some(at),
                srq: Some(srq),
                ..
            }) => (*at, Err(*srq)),
            _ => (ANYWHERE, Ok(qpn)),
        }
    }

    fn odd(&mut self, request: usize, why: String) {
        self.ends.odd.entry(request).or_insert(why);
    }

    fn flush(&mut self, request: usize, qpn: u32) {
        let (stopped, peer) = self
            .qps
            .get(&qpn)
            .map_or((false, None), |q| (q.stopped, q.peer));
        if !stopped {
            self.flushed.push((request, qpn, peer));
        }
    }

    fn send_completed(&mut self, n: usize, c: &Completion, position: usize) {
        let success = c.status == "SUCCESS";
        let flushed = c.status == "WR_FLUSH_ERR";
        let Some(queue) = self.sends.get_mut(&c.qpn) else {
            return;
        };
        for (earlier, ..) in queue.waiting.drain(..position) {
            if !flushed {
                self.ends.sends.insert(earlier, End::Implied);
            }
        }
        let Some((this, ..)) = queue.waiting.pop_front() else {
            return;
        };
        self.ends.sends.insert(
            this,
            End::Completed {
                status: c.status.clone(),
                at: n,
            },
        );
        let What::Send(s) = &self.events[this].what else {
            return;
        };
        // Told once for every error.
        let after_error = success
            && self
                .qps
                .get_mut(&c.qpn)
                .is_some_and(|q| std::mem::take(&mut q.send_failed));
        if success {
            if after_error {
                self.odd(this, "SUCCESS after an error on the same send queue".into());
            } else if !fits(s, &c.opcode) {
                self.odd(
                    this,
                    format!("completed as \"{}\", which it is not", c.opcode),
                );
            } else if c.opcode == "read" {
                let asked = verbs::total(&s.elements);
                if let Some(got) = c.byte_len.filter(|&got| got != asked) {
                    self.odd(
                        this,
                        format!("read {got} bytes, but {asked} were asked for"),
                    );
                }
            }
            return;
        }
        if let Some(q) = self.qps.get_mut(&c.qpn) {
            q.send_failed = true;
        }
        if flushed {
            self.flush(this, c.qpn);
            return;
        }
        self.errors.insert(c.qpn);
        if matches!(c.status.as_str(), "REM_OP_ERR" | "REM_INV_REQ_ERR") && uses_a_receive(s) {
            let peer = s
                .dest_qpn
                .or_else(|| self.qps.get(&c.qpn).and_then(|q| q.peer));
            // The one that failed, or (if that has not been seen) the oldest one.
            let used = peer.map(|p| self.receive_queue(p)).and_then(|queue| {
                self.failed.remove(&queue).or_else(|| {
                    self.receives
                        .get(&queue)
                        .and_then(|q| q.waiting.front())
                        .map(|(receive, ..)| *receive)
                })
            });
            if let Some(receive) = used {
                self.ends.used.insert(this, receive);
            }
        }
    }

    fn message_sent(&mut self, n: usize, s: &Send) {
        let Some(own) = self.qps.get_mut(&s.qpn) else {
            return;
        };
        if own.connected {
            own.out.push_back(n);
            return;
        }
        let header = if s.dest_qpn.is_some() { GRH } else { 0 };
        let peer = s.dest_qpn.or(own.peer);
        if let Some(peer) = peer.and_then(|p| self.qps.get_mut(&p)) {
            let length = verbs::total(&s.elements).saturating_add(header);
            *peer.inbound.entry(length).or_default() += 1;
        }
    }

    /// Whether an unreliable message of this length can have arrived, as far as its sender is known.
    fn unreliable_message(&mut self, qpn: u32, bytes: u64) -> bool {
        let Some(q) = self.qps.get_mut(&qpn).filter(|q| !q.connected) else {
            return true;
        };
        if q.inbound.is_empty() {
            return true;
        }
        match q.inbound.get_mut(&bytes) {
            Some(n) if *n > 0 => {
                *n -= 1;
                true
            }
            _ => false,
        }
    }

    /// The message that the next receive of a queue pair holds; `Err` if there is none.
    fn message(&mut self, now: usize, qpn: u32) -> Result<Option<usize>, ()> {
        let Some((true, Some(peer))) = self.qps.get(&qpn).map(|q| (q.connected, q.peer)) else {
            return Ok(None);
        };
        match self.qps.get_mut(&peer) {
            Some(q) if q.connected && q.peer == Some(qpn) => match q.out.pop_front() {
                Some(send) => Ok(Some(send)),
                None => match q.at {
                    Some(at) if !self.ends.incomplete(at.proc, now) => Err(()),
                    _ => Ok(None),
                },
            },
            _ => Ok(None),
        }
    }

    fn receive_completed(&mut self, n: usize, c: &Completion) {
        let success = c.status == "SUCCESS";
        let flushed = c.status == "WR_FLUSH_ERR";
        let message = if flushed {
            Ok(None)
        } else {
            self.message(n, c.qpn)
        };
        let name = self.receive_queue(c.qpn);
        let this = self.receives.get_mut(&name).and_then(|queue| {
            let position = queue.find(c.wr_id, success)?;
            if name.1.is_err() {
                queue.waiting.remove(position)
            } else {
                queue.waiting.drain(..=position).next_back()
            }
        });
        let Some((this, ..)) = this else {
            self.ends.stray.insert(n);
            return;
        };
        let after_error = success
            && self
                .qps
                .get_mut(&c.qpn)
                .is_some_and(|q| std::mem::take(&mut q.receive_failed));
        if after_error {
            self.odd(
                this,
                "SUCCESS after an error on the same receive queue".into(),
            );
        }
        if !success {
            if let Some(q) = self.qps.get_mut(&c.qpn) {
                q.receive_failed = true;
            }
            if flushed {
                self.flush(this, c.qpn);
            } else {
                self.errors.insert(c.qpn);
                self.failed.insert(name, this);
            }
        }
        let bytes = c.byte_len.unwrap_or(0);
        if let What::Recv(r) = &self.events[this].what {
            let posted = verbs::total(&r.elements);
            if success && c.opcode == "recv" && bytes > posted {
                self.odd(this, format!("received {bytes} bytes in {posted}"));
            }
        }
        if success && self.ends.capped.is_empty() && !self.unreliable_message(c.qpn, bytes) {
            self.odd(
                this,
                format!("received {bytes} bytes, but no message of this length was sent"),
            );
        }
        match message {
            Err(()) if success => self.odd(this, "received, but no message was sent".into()),
            Ok(Some(send)) if success => {
                if let What::Send(s) = &self.events[send].what {
                    let sent = verbs::total(&s.elements);
                    let immediate = s.kind == SendKind::Data(Verb::WriteImm);
                    if immediate != (c.opcode == "recv_write_imm") {
                        self.odd(
                            this,
                            format!("received as \"{}\", but sent as another", c.opcode),
                        );
                    } else if sent != bytes {
                        self.odd(
                            this,
                            format!("received {bytes} bytes, but {sent} were sent"),
                        );
                    }
                }
            }
            _ => {}
        }
        let placed = if !success {
            None
        } else if c.opcode == "recv" {
            Some(bytes)
        } else {
            // The data of a write with immediate is not in the receive.
            Some(0)
        };
        self.ends.receives.insert(
            this,
            Received {
                end: End::Completed {
                    status: c.status.clone(),
                    at: n,
                },
                placed,
                qpn: Some(c.qpn),
                message: message.unwrap_or(None),
            },
        );
    }

    fn event(&mut self, n: usize, event: &Event) {
        match &event.what {
            What::Qp {
                qpn,
                srq,
                connected,
                ..
            } => {
                self.sends.remove(qpn);
                self.receives.remove(&(ANYWHERE, Ok(*qpn)));
                self.qps.insert(
                    *qpn,
                    Qp {
                        at: Some(event.at),
                        srq: *srq,
                        connected: *connected,
                        ..Qp::default()
                    },
                );
            }
            What::ModifyQp {
                qpn,
                state,
                dest_qpn,
                ..
            } => {
                let q = self.qps.entry(*qpn).or_default();
                match state.as_deref() {
                    Some("ERR") => q.stopped = true,
                    Some("RESET") => {
                        q.stopped = false;
                        q.send_failed = false;
                        q.receive_failed = false;
                        q.out.clear();
                        self.sends.remove(qpn);
                        self.receives.remove(&(ANYWHERE, Ok(*qpn)));
                    }
                    // Out of the error of a send queue that is not connected.
                    Some("RTS") => q.send_failed = false,
                    _ => {}
                }
                if let Some(peer) = dest_qpn {
                    if q.peer != Some(*peer) {
                        q.out.clear();
                    }
                    q.peer = Some(*peer);
                }
            }
            What::Srq(handle, _) => {
                self.receives.remove(&(event.at, Err(*handle)));
            }
            What::Send(s) if s.errno == 0 => {
                self.ends.sends.insert(n, End::Unknown);
                let queue = self.sends.entry(s.qpn).or_default();
                queue.waiting.push_back((n, s.wr_id, s.signaled));
                if s.signaled {
                    queue.asked.insert(s.wr_id);
                }
                if uses_a_receive(s) {
                    self.message_sent(n, s);
                }
            }
            What::Recv(r) if r.errno == 0 => {
                self.ends.receives.insert(
                    n,
                    Received {
                        end: End::Unknown,
                        placed: None,
                        qpn: None,
                        message: None,
                    },
                );
                let queue = match r.queue {
                    Ok(qpn) => (ANYWHERE, Ok(qpn)),
                    Err(srq) => (event.at, Err(srq)),
                };
                self.receives
                    .entry(queue)
                    .or_default()
                    .waiting
                    .push_back((n, r.wr_id, true));
            }
            What::Completion(c) => {
                let success = c.status == "SUCCESS";
                let in_send = self
                    .sends
                    .get(&c.qpn)
                    .and_then(|q| q.find(c.wr_id, success));
                match in_send {
                    _ if success && c.opcode.starts_with("recv") => self.receive_completed(n, c),
                    Some(position) => self.send_completed(n, c, position),
                    None if success => {
                        self.ends.stray.insert(n);
                    }
                    None => self.receive_completed(n, c),
                }
            }
            _ => {}
        }
    }
}

/// Follows the events of a trace.
pub fn follow(events: &[Event]) -> Ends {
    let mut f = Follower {
        events,
        ends: Ends {
            capped: events
                .iter()
                .enumerate()
                .rev()
                .filter(|(_, e)| e.what == What::Capped)
                .map(|(n, e)| (e.at.proc, n))
                .collect(),
            ..Ends::default()
        },
        qps: HashMap::new(),
        sends: HashMap::new(),
        receives: HashMap::new(),
        failed: HashMap::new(),
        errors: HashSet::new(),
        flushed: Vec::new(),
    };
    for (n, event) in events.iter().enumerate() {
        f.event(n, event);
    }
    // The error behind a flush may be polled later, from another completion queue.
    for (request, qpn, peer) in std::mem::take(&mut f.flushed) {
        let error = |q: u32| f.errors.contains(&q);
        if !error(qpn) && !peer.is_some_and(error) && f.ends.capped.is_empty() {
            f.odd(request, "flushed, but nothing failed before".into());
        }
    }
    // A receive that failed was used up by the message that it holds.
    let failed: Vec<(usize, usize)> = f
        .ends
        .receives
        .iter()
        .filter(|(_, r)| r.placed.is_none())
        .filter_map(|(receive, r)| r.message.map(|send| (send, *receive)))
        .collect();
    f.ends.used.extend(failed);
    f.ends
}
