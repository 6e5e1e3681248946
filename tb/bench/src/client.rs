// SPDX-License-Identifier: Apache-2.0
//! Driver of one client: requests out, beats in, `done` out.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use tpt_golden::codec::REQ_WORDS;
use tpt_golden::types::{Beat, Request, Syndrome};
use tpt_golden::unit::{Conditions, Region};

use crate::rng::{Clocks, Gate, Pattern, Rng};

/// Tags of one client.
pub const TAGS: usize = 1024;

/// Names a request that was issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// When a client gives `done` for a request after its last beat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DonePolicy {
    /// After this many clocks (0: in the next one).
    After(Clocks),
    /// Only when [`crate::Bench::release_dones`] is called.
    Withheld,
}

impl DonePolicy {
    /// At once.
    pub const IMMEDIATE: Self = Self::After(Clocks::fixed(0));
}

/// How a request is issued.
#[derive(Clone, Debug, Default)]
pub struct Issue {
    /// Use this tag, free or not. `None`: a free one is chosen when the request is driven.
    pub tag: Option<u16>,
    /// What the golden reference cannot know: planted errors in the MPT.
    pub conditions: Conditions,
    /// Judge by this region, whose entry a test has written into the MPT itself.
    pub region: Option<Arc<Region>>,
    /// The parent of that one, if it is a window.
    pub parent: Option<Arc<Region>>,
    /// Keep all beats in the outcome.
    pub keep_beats: bool,
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The ticket of [`crate::Bench::issue`].
    pub ticket: Ticket,
    /// Client.
    pub client: usize,
    /// The request, with its tag.
    pub request: Request,
    /// Of the last beat.
    pub syndrome: Syndrome,
    /// OK beats with an address.
    pub segments: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Clock in which the request was accepted.
    pub accepted: u64,
    /// Clock of the first beat.
    pub first_beat: u64,
    /// Clock of the last beat.
    pub finished: u64,
    /// All beats, if they were to be kept.
    pub beats: Vec<Beat>,
    /// The right answers, none of them merged, while [`crate::Bench::judge_answers`] is off.
    pub expected: Vec<Vec<Beat>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    Free,
    /// Accepted, last beat not here.
    Busy,
    /// Last beat handed over, `done` not given; the region it holds, if any.
    Owed(Option<(u32, u8)>),
}

#[derive(Clone, Debug)]
pub(crate) struct Queued {
    pub ticket: Ticket,
    pub request: Request,
    pub issue: Issue,
}

pub(crate) struct Client {
    pub queue: VecDeque<Queued>,
    pub driving: Option<Queued>,
    /// No new request is driven.
    pub hold: bool,
    pub request_gate: Gate,
    pub response_gate: Gate,
    pub done_policy: DonePolicy,
    pub tags: Vec<Tag>,
    free: Vec<u16>,
    dones: BinaryHeap<Reverse<(u64, u64, u16)>>,
    sequence: u64,
    pub withheld: VecDeque<u16>,
    /// Done on the port; the second value is false for a done that a test forged.
    pub done_driving: Option<(u16, bool)>,
    forged: VecDeque<u16>,
    /// Tags of requests inside that found them in use.
    pub doubled: Vec<u16>,
    pub outcomes: VecDeque<Outcome>,
    /// Response that the unit holds while it is stalled.
    pub held: Option<[u32; 4]>,
    pub request_words: [u32; REQ_WORDS],
}

impl Client {
    pub fn new() -> Self {
        Self {
            queue: VecDeque::new(),
            driving: None,
            hold: false,
            request_gate: Gate::default(),
            response_gate: Gate::default(),
            done_policy: DonePolicy::IMMEDIATE,
            tags: vec![Tag::Free; TAGS],
            free: (0..TAGS as u16).rev().collect(),
            dones: BinaryHeap::new(),
            sequence: 0,
            withheld: VecDeque::new(),
            done_driving: None,
            forged: VecDeque::new(),
            doubled: Vec::new(),
            outcomes: VecDeque::new(),
            held: None,
            request_words: [0; REQ_WORDS],
        }
    }

    /// After a reset of the unit or of this client: its tags are free, nothing is under way. A
    /// request that was being offered is offered again.
    pub fn restart(&mut self) {
        if let Some(queued) = self.driving.take() {
            self.queue.push_front(queued);
        }
        self.tags.fill(Tag::Free);
        self.free = (0..TAGS as u16).rev().collect();
        self.dones.clear();
        self.withheld.clear();
        self.done_driving = None;
        self.forged.clear();
        self.doubled.clear();
        self.held = None;
    }

    /// Chooses what is on the request and done channels. True if the request words are new.
    pub fn drive(&mut self, now: u64, rng: &mut Rng) -> bool {
        let mut fresh = false;
        if self.driving.is_none()
            && !self.hold
            && !self.queue.is_empty()
            && self.request_gate.next(rng)
        {
            fresh = self.next_request();
        }
        if self.done_driving.is_none() {
            self.done_driving = match self.forged.pop_front() {
                Some(tag) => Some((tag, false)),
                None => match self.dones.peek() {
                    Some(Reverse((due, _, tag))) if *due <= now => {
                        let tag = *tag;
                        self.dones.pop();
                        let offered = self.driving.as_ref().map(|queued| queued.request.tag);
                        if offered == Some(tag) || self.doubled.contains(&tag) {
                            // Which of the two comes first would be a race.
                            self.give_done(tag, now + 50);
                            None
                        } else {
                            Some((tag, true))
                        }
                    }
                    _ => None,
                },
            };
        }
        fresh
    }

    fn next_request(&mut self) -> bool {
        let forced = self.queue.front().and_then(|queued| queued.issue.tag);
        let tag = match forced {
            Some(tag) => {
                // A done of this tag on its way would make the answer a race.
                if self.done_driving.is_some_and(|(other, _)| other == tag) {
                    return false;
                }
                tag
            }
            None => {
                // Tags that a test has forced are skipped.
                while self
                    .free
                    .last()
                    .is_some_and(|tag| self.tags[usize::from(*tag)] != Tag::Free)
                {
                    self.free.pop();
                }
                match self.free.pop() {
                    Some(tag) => tag,
                    None => return false,
                }
            }
        };
        let Some(mut queued) = self.queue.pop_front() else {
            return false;
        };
        queued.request.tag = tag;
        self.request_words = queued.request.pack();
        self.driving = Some(queued);
        true
    }

    /// The last beat of `tag` was handed over at clock `now`.
    pub fn finished(&mut self, tag: u16, holds: Option<(u32, u8)>, now: u64, rng: &mut Rng) {
        self.tags[usize::from(tag)] = Tag::Owed(holds);
        match self.done_policy {
            DonePolicy::After(clocks) => {
                let due = now + 1 + clocks.draw(rng);
                self.give_done(tag, due);
            }
            DonePolicy::Withheld => self.withheld.push_back(tag),
        }
    }

    pub fn give_done(&mut self, tag: u16, due: u64) {
        self.sequence += 1;
        self.dones.push(Reverse((due, self.sequence, tag)));
    }

    /// A done that nobody owes.
    pub fn forge_done(&mut self, tag: u16) {
        self.forged.push_back(tag);
    }

    /// The done of `tag` was taken: what it held.
    pub fn released(&mut self, tag: u16) -> Option<(u32, u8)> {
        let state = std::mem::replace(&mut self.tags[usize::from(tag)], Tag::Free);
        self.free.push(tag);
        match state {
            Tag::Owed(holds) => holds,
            Tag::Free | Tag::Busy => None,
        }
    }

    /// Dones that will be given by themselves.
    pub fn dones_pending(&self) -> usize {
        self.dones.len() + usize::from(self.done_driving.is_some()) + self.forged.len()
    }

    /// It neither takes responses nor will ever by itself.
    pub fn is_stalled(&self) -> bool {
        self.response_gate.pattern() == Pattern::Never
    }
}
