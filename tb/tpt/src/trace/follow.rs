// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Finds which completion belongs to which request.
//!
//! Send queues complete in order, and a completion says the same of every request before it that
//! asked for none. Receives of a queue pair complete in order too; of a shared receive queue the
//! request is found by the program's name for it. The completion of an error does not say whether
//! it is of a send or a receive; the name decides.

use std::collections::{HashMap, VecDeque};

use super::parse::{Context, Event, What};

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
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<(usize, u64)>,
}

type ReceiveQueue = (Context, Result<u32, u32>);

#[derive(Debug, Default)]
struct Qp {
    at: Option<Context>,
    srq: Option<u32>,
    peer: Option<u32>,
}

/// Follows the events of a trace.
pub fn follow(events: &[Event]) -> Ends {
    let mut ends = Ends::default();
    let mut qps: HashMap<u32, Qp> = HashMap::new();
    let mut sends: HashMap<u32, Queue> = HashMap::new();
    let mut receives: HashMap<ReceiveQueue, Queue> = HashMap::new();
    // Receives that failed, while no failed send was found for them.
    let mut failed: HashMap<ReceiveQueue, usize> = HashMap::new();
    // Receive queues of a queue pair are named without the context: its number is enough.
    let anywhere = Context { proc: 0, ctx: 0 };

    for (n, event) in events.iter().enumerate() {
        match &event.what {
            What::Qp { qpn, srq, .. } => {
                sends.remove(qpn);
                receives.remove(&(anywhere, Ok(*qpn)));
                qps.insert(
                    *qpn,
                    Qp {
                        at: Some(event.at),
                        srq: *srq,
                        peer: None,
                    },
                );
            }
            What::ModifyQp {
                qpn,
                dest_qpn: Some(peer),
                ..
            } => qps.entry(*qpn).or_default().peer = Some(*peer),
            What::Srq(handle, _) => {
                receives.remove(&(event.at, Err(*handle)));
            }
            What::Send(s) if s.errno == 0 => {
                ends.sends.insert(n, End::Unknown);
                sends
                    .entry(s.qpn)
                    .or_default()
                    .waiting
                    .push_back((n, s.wr_id));
            }
            What::Recv(r) if r.errno == 0 => {
                ends.receives.insert(
                    n,
                    Received {
                        end: End::Unknown,
                        placed: None,
                    },
                );
                let queue = match r.queue {
                    Ok(qpn) => (anywhere, Ok(qpn)),
                    Err(srq) => (event.at, Err(srq)),
                };
                receives
                    .entry(queue)
                    .or_default()
                    .waiting
                    .push_back((n, r.wr_id));
            }
            What::Completion(c) => {
                let receive_queue = |qpn: u32| match qps.get(&qpn) {
                    Some(Qp {
                        at: Some(at),
                        srq: Some(srq),
                        ..
                    }) => (*at, Err(*srq)),
                    _ => (anywhere, Ok(qpn)),
                };
                let success = c.status == "SUCCESS";
                let named_receive = c.opcode.starts_with("recv");
                let in_send = sends
                    .get(&c.qpn)
                    .and_then(|q| q.waiting.iter().position(|(_, id)| *id == c.wr_id));
                let is_send = if success {
                    !named_receive
                } else {
                    in_send.is_some()
                };
                if is_send {
                    let Some(position) = in_send else { continue };
                    let Some(queue) = sends.get_mut(&c.qpn) else {
                        continue;
                    };
                    let flushed = c.status == "WR_FLUSH_ERR";
                    for (earlier, _) in queue.waiting.drain(..position) {
                        if !flushed {
                            ends.sends.insert(earlier, End::Implied);
                        }
                    }
                    if let Some((this, _)) = queue.waiting.pop_front() {
                        ends.sends.insert(
                            this,
                            End::Completed {
                                status: c.status.clone(),
                                at: n,
                            },
                        );
                        if c.status == "REM_OP_ERR" {
                            let peer = match &events[this].what {
                                What::Send(s) => s.dest_qpn,
                                _ => None,
                            };
                            let peer = peer.or_else(|| qps.get(&c.qpn).and_then(|q| q.peer));
                            // The one that failed, or (if that has not been seen) the oldest one.
                            let used = peer.map(receive_queue).and_then(|queue| {
                                failed.remove(&queue).or_else(|| {
                                    receives
                                        .get(&queue)
                                        .and_then(|q| q.waiting.front())
                                        .map(|(receive, _)| *receive)
                                })
                            });
                            if let Some(receive) = used {
                                ends.used.insert(this, receive);
                            }
                        }
                    }
                } else {
                    let name = receive_queue(c.qpn);
                    let shared = name.1.is_err();
                    let Some(queue) = receives.get_mut(&name) else {
                        continue;
                    };
                    let position = queue.waiting.iter().position(|(_, id)| *id == c.wr_id);
                    let Some(position) = position else { continue };
                    let this = if shared {
                        queue.waiting.remove(position)
                    } else {
                        queue.waiting.drain(..=position).next_back()
                    };
                    if let Some((this, _)) = this {
                        if !success && c.status != "WR_FLUSH_ERR" {
                            failed.insert(name, this);
                        }
                        let placed = if !success {
                            None
                        } else if c.opcode == "recv" || c.opcode.is_empty() {
                            Some(c.byte_len.unwrap_or(0))
                        } else {
                            // The data of a write with immediate is not in the receive.
                            Some(0)
                        };
                        ends.receives.insert(
                            this,
                            Received {
                                end: End::Completed {
                                    status: c.status.clone(),
                                    at: n,
                                },
                                placed,
                            },
                        );
                    }
                }
            }
            _ => {}
        }
    }
    ends
}
