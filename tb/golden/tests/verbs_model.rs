// SPDX-License-Identifier: Apache-2.0
//! Random sequences of all commands, one after another or overlapping, against a model of the table
//! so simple that it is right at a glance: a map of what exists, a list of what was begun and
//! finished, and the whole world computed anew from that list whenever something is taken back.
//!
//! A failure is shrunk to a short list of steps, and its seed is printed and kept.

mod verbs_common;

use std::collections::{BTreeMap, VecDeque};

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use proptest::test_runner::RngSeed;
use tpt_golden::keys::KeyMaker;
use tpt_golden::types::*;
use tpt_golden::unit::*;
use verbs_common::keys;

const TABLE: u32 = 6;
/// Ranges and rights are small numbers, so that they meet.
const BASE: u64 = 0x1_0000;

/// What an entry holds.
#[derive(Clone, Debug)]
struct Thing {
    kind: Kind,
    state: State,
    pd: u32,
    lkey: Key,
    rkey: Key,
    access: u32,
    start: u64,
    length: u64,
    qpn: u32,
    cap: u64,
    far: bool,
    /// Regions in whose count it is.
    holds: Vec<u32>,
    /// The region it is bound to.
    parent: Option<u32>,
}

/// Everything at a moment.
#[derive(Clone, Debug)]
struct World {
    things: BTreeMap<u32, Thing>,
    gens: BTreeMap<u32, u8>,
    fresh: u32,
    free: VecDeque<u32>,
    phys: bool,
}

/// What happens when a fence is over.
#[derive(Clone, Debug)]
struct Ending {
    index: u32,
    then: Option<Thing>,
}

/// What a command answers, and what is left to do.
type Answer = (Status, Key, Key, Option<Ending>);

impl World {
    fn new(phys: bool) -> World {
        World {
            things: BTreeMap::new(),
            gens: BTreeMap::new(),
            fresh: 1,
            free: VecDeque::new(),
            phys,
        }
    }

    fn count(&self, region: u32) -> usize {
        let held = self.things.values().flat_map(|t| &t.holds);
        held.filter(|held| **held == region).count()
    }

    fn take(&mut self) -> Option<(u32, u8)> {
        let index = if self.fresh < TABLE {
            self.fresh += 1;
            self.fresh - 1
        } else {
            self.free.pop_front()?
        };
        Some((index, self.next_gen(index)))
    }

    fn next_gen(&mut self, index: u32) -> u8 {
        let gen = self.gens.entry(index).or_insert(0);
        *gen = gen.wrapping_add(1);
        *gen
    }

    fn finish(&mut self, ending: &Ending) {
        match &ending.then {
            Some(thing) => {
                self.things.insert(ending.index, thing.clone());
            }
            None => {
                self.things.remove(&ending.index);
                self.free.push_back(ending.index);
            }
        }
    }

    /// A command is executed now, up to its fence.
    fn begin(&mut self, c: &Command, maker: &KeyMaker) -> Answer {
        match self.execute(c, maker) {
            Ok((lkey, rkey, ending)) => (Status::Ok, lkey, rkey, ending),
            Err(status) => (status, Key::NONE, Key::NONE, None),
        }
    }

    fn named(&self, c: &Command, maker: &KeyMaker) -> Result<u32, Status> {
        let (role, index) = maker.decode(c.key);
        if index >= TABLE {
            return Err(Status::KeyIndex);
        }
        let t = match self.things.get(&index) {
            Some(t) if t.state != State::Invalid => t,
            _ => return Err(Status::KeyState),
        };
        let window = [Kind::Mw1, Kind::Mw2, Kind::Mw2a].contains(&t.kind);
        let remote_right = window || t.access & 0x30e != 0;
        let key_fits = match role {
            Role::Local => !window && t.lkey == c.key,
            Role::Remote => remote_right && t.rkey == c.key,
        };
        use CmdOp::*;
        let op = CmdOp::from_code(c.op).ok_or(Status::BadOp)?;
        let role_fits = match (op, role) {
            (DeregMr | ReregMr | FastRegMr, Role::Local) => true,
            (Query, Role::Local) => !window,
            (Query, Role::Remote) => window,
            (Invalidate, Role::Local) => t.kind == Kind::Frmr && c.flags & 1 == 0,
            (Invalidate | BindMw | DeallocMw, Role::Remote) => true,
            _ => false,
        };
        if !key_fits || !role_fits {
            return Err(Status::KeyTag);
        }
        let kinds: &[Kind] = match op {
            DeregMr => &[Kind::Mr, Kind::Frmr, Kind::Phys],
            ReregMr => &[Kind::Mr],
            FastRegMr => &[Kind::Frmr],
            Invalidate => &[Kind::Frmr, Kind::Mw2, Kind::Mw2a],
            BindMw | DeallocMw => &[Kind::Mw1, Kind::Mw2, Kind::Mw2a],
            _ => Kind::ALL,
        };
        match () {
            () if !kinds.contains(&t.kind) => Err(Status::KeyKind),
            () if t.pd != c.pd => Err(Status::KeyPd),
            () => Ok(index),
        }
    }

    fn arguments(c: &Command, pages: u64) -> Result<(), Status> {
        if c.length == 0 {
            return Err(Status::BadLength);
        }
        if c.start as u128 + c.length as u128 > 1 << 64 {
            return Err(Status::BadWrap);
        }
        if c.access & !0x3ff0_03bf != 0 {
            return Err(Status::BadFlags);
        }
        if c.access & 0xa != 0 && c.access & 1 == 0 {
            return Err(Status::BadAccess);
        }
        // One page size, inline pages only.
        let first = c.start >> 12;
        let last = (c.start as u128 + c.length as u128 - 1) >> 12;
        if last - first as u128 + 1 > pages.into() {
            return Err(Status::TableSmall);
        }
        Ok(())
    }

    fn execute(
        &mut self,
        c: &Command,
        maker: &KeyMaker,
    ) -> Result<(Key, Key, Option<Ending>), Status> {
        use CmdOp::*;
        let key = |role, index, tag| Key::new(maker.field(role, index), tag);
        let made = |role, index, gen| key(role, index, maker.tag(role, index, gen));
        let blank = Thing {
            kind: Kind::Mr,
            state: State::Valid,
            pd: c.pd,
            lkey: Key::NONE,
            rkey: Key::NONE,
            access: 0,
            start: 0,
            length: 0,
            qpn: 0,
            cap: 0,
            far: false,
            holds: Vec::new(),
            parent: None,
        };
        let ranged = |t: Thing| Thing {
            access: c.access & 0x0010_03ff,
            start: c.start,
            length: c.length,
            ..t
        };
        match CmdOp::from_code(c.op).ok_or(Status::BadOp)? {
            // a unit without slots for page faults
            CmdOp::PageReady | CmdOp::InvalidateRange => Err(Status::BadOp),
            op @ (RegMr | RegPhys) => {
                if op == RegMr {
                    Self::arguments(c, 4)?;
                } else if !self.phys {
                    return Err(Status::Privilege);
                } else {
                    match Self::arguments(c, u64::MAX) {
                        Ok(()) | Err(Status::BadAccess) if c.access & 0x30 != 0 => {
                            return Err(Status::BadFlags)
                        }
                        other => other?,
                    }
                }
                let (index, gen) = self.take().ok_or(Status::NoIndex)?;
                let lkey = made(Role::Local, index, gen);
                let rkey = match c.access & 0x30e {
                    0 => Key::NONE,
                    _ => made(Role::Remote, index, gen),
                };
                let kind = if op == RegMr { Kind::Mr } else { Kind::Phys };
                let thing = Thing {
                    kind,
                    lkey,
                    rkey,
                    ..ranged(blank)
                };
                self.things.insert(index, thing);
                Ok((lkey, rkey, None))
            }
            op @ (AllocMr | AllocMw) => {
                let bad_length = op == AllocMr && !(1..1 << 20).contains(&c.length);
                let half = op == AllocMw && c.flags & 6 == 4;
                if bad_length {
                    return Err(Status::BadLength);
                }
                if c.access != 0 || half {
                    return Err(Status::BadFlags);
                }
                let (index, gen) = self.take().ok_or(Status::NoIndex)?;
                let (lkey, kind) = match (op, c.flags & 6) {
                    (AllocMr, _) => (made(Role::Local, index, gen), Kind::Frmr),
                    (_, 0) => (Key::NONE, Kind::Mw1),
                    (_, 2) => (Key::NONE, Kind::Mw2),
                    _ => (Key::NONE, Kind::Mw2a),
                };
                let rkey = made(Role::Remote, index, gen);
                let thing = Thing {
                    kind,
                    state: State::Alloc,
                    lkey,
                    rkey,
                    cap: c.length,
                    far: c.flags & 1 != 0,
                    ..blank
                };
                self.things.insert(index, thing);
                Ok((lkey, rkey, None))
            }
            Query => self.named(c, maker).map(|_| (Key::NONE, Key::NONE, None)),
            DeregMr | DeallocMw => {
                let index = self.named(c, maker)?;
                if self.count(index) > 0 {
                    return Err(Status::Bound);
                }
                self.dying(index);
                let then = None;
                Ok((Key::NONE, Key::NONE, Some(Ending { index, then })))
            }
            ReregMr => {
                if c.rereg == 0 {
                    return Err(Status::BadRereg);
                }
                let index = self.named(c, maker)?;
                if self.count(index) > 0 {
                    return Err(Status::Bound);
                }
                let old = self.things[&index].clone();
                let mut as_it_would_be = *c;
                if c.rereg & 1 == 0 {
                    (as_it_would_be.start, as_it_would_be.length) = (old.start, old.length);
                }
                if c.rereg & 4 == 0 {
                    as_it_would_be.access = old.access;
                }
                Self::arguments(&as_it_would_be, 4)?;
                let gen = self.next_gen(index);
                let lkey = made(Role::Local, index, gen);
                let rkey = match as_it_would_be.access & 0x30e {
                    0 => Key::NONE,
                    _ => made(Role::Remote, index, gen),
                };
                let then = Thing {
                    pd: if c.rereg & 2 != 0 { c.new_pd } else { old.pd },
                    access: as_it_would_be.access & 0x0010_03ff,
                    start: as_it_would_be.start,
                    length: as_it_would_be.length,
                    lkey,
                    rkey,
                    ..old
                };
                self.dying(index);
                let then = Some(then);
                Ok((lkey, rkey, Some(Ending { index, then })))
            }
            FastRegMr => {
                let index = self.named(c, maker)?;
                let old = self.things[&index].clone();
                if old.state != State::Alloc {
                    return Err(Status::KeyState);
                }
                Self::arguments(c, old.cap.min(4))?;
                self.next_gen(index);
                let lkey = key(Role::Local, index, c.tag);
                let rkey = match c.access & 0x30e {
                    0 => Key::NONE,
                    _ => key(Role::Remote, index, c.tag),
                };
                let thing = Thing {
                    state: State::Valid,
                    lkey,
                    rkey,
                    ..ranged(old)
                };
                self.things.insert(index, thing);
                Ok((lkey, rkey, None))
            }
            Invalidate => {
                let index = self.named(c, maker)?;
                let old = self.things[&index].clone();
                if c.flags & 1 != 0 {
                    if old.kind == Kind::Frmr && !old.far {
                        return Err(Status::RemoteInv);
                    }
                    let bound = old.state == State::Valid;
                    if old.kind != Kind::Frmr && bound && old.qpn != c.qpn {
                        return Err(Status::KeyQp);
                    }
                }
                if old.state != State::Valid {
                    return Err(Status::KeyState);
                }
                if self.count(index) > 0 {
                    return Err(Status::Bound);
                }
                self.dying(index);
                let then = Some(Thing {
                    state: State::Alloc,
                    holds: Vec::new(),
                    parent: None,
                    access: 0,
                    start: 0,
                    length: 0,
                    ..old
                });
                Ok((Key::NONE, Key::NONE, Some(Ending { index, then })))
            }
            BindMw => {
                let index = self.named(c, maker)?;
                let old = self.things[&index].clone();
                let one = old.kind == Kind::Mw1;
                if !one && old.state != State::Alloc {
                    return Err(Status::KeyState);
                }
                if c.access & !(if one { 0xe } else { 0x2e }) != 0 {
                    return Err(Status::BadFlags);
                }
                if !one && c.length == 0 {
                    return Err(Status::BadLength);
                }
                if c.start as u128 + c.length as u128 > 1 << 64 {
                    return Err(Status::BadWrap);
                }
                let parent = match c.length {
                    0 => None,
                    _ => Some(self.parent(c, maker)?),
                };
                let gen = self.next_gen(index);
                let rkey = match one {
                    true => made(Role::Remote, index, gen),
                    false => key(Role::Remote, index, c.tag),
                };
                let then = Thing {
                    state: match parent {
                        Some(_) => State::Valid,
                        None => State::Alloc,
                    },
                    rkey,
                    qpn: if one { 0 } else { c.qpn },
                    holds: parent.into_iter().collect(),
                    parent,
                    ..ranged(old.clone())
                };
                if old.state == State::Alloc {
                    self.things.insert(index, then);
                    return Ok((Key::NONE, rkey, None));
                }
                self.dying(index);
                if let Some(dying) = self.things.get_mut(&index) {
                    dying.holds.extend(parent);
                }
                let then = Some(then);
                Ok((Key::NONE, rkey, Some(Ending { index, then })))
            }
        }
    }

    fn parent(&self, c: &Command, maker: &KeyMaker) -> Result<u32, Status> {
        let (role, index) = maker.decode(c.mkey);
        let r = self.things.get(&index).ok_or(Status::MrKey)?;
        let fits = role == Role::Local
            && r.state == State::Valid
            && r.lkey == c.mkey
            && [Kind::Mr, Kind::Frmr].contains(&r.kind);
        let end = |start: u64, length: u64| start as u128 + length as u128;
        match () {
            () if !fits => Err(Status::MrKey),
            () if r.pd != c.pd => Err(Status::MrPd),
            () if r.access & 0x10 == 0 || r.access & 0x20 != 0 => Err(Status::MrRights),
            () if c.access & 0xa != 0 && r.access & 1 == 0 => Err(Status::MrRights),
            () if c.start < r.start || end(c.start, c.length) > end(r.start, r.length) => {
                Err(Status::MrBounds)
            }
            () => Ok(index),
        }
    }

    fn dying(&mut self, index: u32) {
        if let Some(thing) = self.things.get_mut(&index) {
            thing.state = State::Invalid;
        }
    }

    /// The rules, for 8 bytes.
    fn verdict(&self, r: &Request, maker: &KeyMaker) -> Syndrome {
        let (role, index) = maker.decode(r.key);
        if index >= TABLE {
            return Syndrome::KeyIndex;
        }
        let t = match self.things.get(&index) {
            Some(t) if t.state == State::Valid => t,
            _ => return Syndrome::KeyState,
        };
        let wants = if r.op < 2 { Role::Local } else { Role::Remote };
        let right = match role {
            Role::Local => t.lkey,
            Role::Remote => t.rkey,
        };
        if role != wants || right != r.key || r.key == Key::NONE {
            return Syndrome::KeyTag;
        }
        if t.kind != Kind::Mw2a && t.pd != r.pd {
            return Syndrome::Pd;
        }
        if [Kind::Mw2, Kind::Mw2a].contains(&t.kind) && t.qpn != r.qpn {
            return Syndrome::Qp;
        }
        let needs = [0, 1, 4, 2, 8, 0x100, 0x200, 0x300][usize::from(r.op)];
        if t.access & needs != needs {
            return Syndrome::Rights;
        }
        let base = if t.access & 0x20 != 0 { 0 } else { t.start };
        let end = r.va as u128 + 8;
        if end > 1 << 64 {
            return Syndrome::Wrap;
        }
        if r.va < base || end > base as u128 + t.length as u128 {
            return Syndrome::Bounds;
        }
        if r.op == 4 && r.va % 8 != 0 {
            return Syndrome::Align;
        }
        Syndrome::Ok
    }
}

/// How a command stands.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stand {
    Begun,
    Pending,
    Done,
    /// Taken back: it never was.
    Void,
}

/// One thing that has happened.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    Begin(usize),
    Finish(usize),
}

/// The model: what has happened, and the world that follows.
struct Model {
    maker: KeyMaker,
    phys: bool,
    commands: Vec<(Command, Stand)>,
    log: Vec<Event>,
    answers: Vec<Answer>,
    /// What was to be answered at any time since a command was begun: it may have been executed
    /// then.
    ever: Vec<Vec<Status>>,
}

impl Model {
    fn world(&self) -> World {
        self.replay(&self.log).0
    }

    fn replay(&self, log: &[Event]) -> (World, Vec<Answer>) {
        let mut world = World::new(self.phys);
        let none = (Status::Busy, Key::NONE, Key::NONE, None);
        let mut answers = vec![none; self.commands.len()];
        for event in log {
            match *event {
                Event::Begin(n) => answers[n] = world.begin(&self.commands[n].0, &self.maker),
                Event::Finish(n) => {
                    if let Some(ending) = &answers[n].3 {
                        world.finish(ending);
                    }
                }
            }
        }
        (world, answers)
    }

    fn in_flight(&self) -> Vec<usize> {
        let waits = |n: &usize| [Stand::Begun, Stand::Pending].contains(&self.commands[*n].1);
        (0..self.commands.len()).filter(waits).collect()
    }

    fn needs_fence(&self, n: usize) -> bool {
        self.answers[n].3.is_some()
    }

    /// Completions keep the order of the commands, but for those that wait for a fence.
    fn may_complete(&self, n: usize) -> bool {
        let before = self.in_flight().into_iter().filter(|m| *m < n);
        before.into_iter().all(|m| self.needs_fence(m))
    }

    /// Commands behind `n`, and `n` itself, as if executed only now.
    fn later(&self, n: usize) -> Vec<Event> {
        let moved = |event: &Event| matches!(event, Event::Begin(m) if *m >= n && self.commands[*m].1 == Stand::Begun);
        let kept = self.log.iter().filter(|event| !moved(event));
        kept.chain(self.log.iter().filter(|event| moved(event)))
            .copied()
            .collect()
    }

    /// Notes what commands behind `n` answer if `n` is executed only now.
    fn note_late(&mut self, n: usize) {
        let late = self.later(n);
        let (_, answers) = self.replay(&late);
        for (m, answer) in answers.into_iter().enumerate().skip(n + 1) {
            if self.commands[m].1 == Stand::Begun {
                self.ever[m].push(answer.0);
            }
        }
    }

    fn set(&mut self, log: Vec<Event>) {
        let (_, answers) = self.replay(&log);
        // What is finished has had its answer.
        for (n, answer) in answers.into_iter().enumerate() {
            if self.commands[n].1 == Stand::Begun {
                self.ever[n].push(answer.0);
                self.answers[n] = answer;
            }
        }
        self.log = log;
    }
}

/// One step of a test.
#[derive(Clone, Debug)]
enum Step {
    /// Begins a command: which, about what, with what mistake, and numbers to draw from.
    Begin {
        op: u8,
        about: u8,
        other: u8,
        mistake: u8,
        numbers: [u8; 6],
    },
    /// Completes one that is in flight.
    Complete { which: u8, how: u8 },
    /// Asks for accesses.
    Access { about: u8, op: u8, numbers: [u8; 4] },
}

fn step() -> impl Strategy<Value = Step> {
    let begin = (
        1u8..12,
        any::<u8>(),
        any::<u8>(),
        any::<u8>(),
        any::<[u8; 6]>(),
    );
    prop_oneof![
        4 => begin.prop_map(|(op, about, other, mistake, numbers)| Step::Begin {
            op, about, other, mistake, numbers,
        }),
        3 => any::<(u8, u8)>().prop_map(|(which, how)| Step::Complete { which, how }),
        3 => (any::<u8>(), 0u8..8, any::<[u8; 4]>()).prop_map(|(about, op, numbers)| {
            Step::Access { about, op, numbers }
        }),
    ]
}

/// One of all keys that there are or were.
fn pick<T: Copy + Default>(list: &[T], n: u8) -> T {
    match list.len() {
        0 => T::default(),
        len => list[usize::from(n) % len],
    }
}

struct Run {
    unit: Golden,
    model: Model,
    known: Vec<Key>,
    clock: u64,
}

impl Run {
    fn command(&self, op: u8, about: u8, other: u8, mistake: u8, numbers: [u8; 6]) -> Command {
        let world = self.model.world();
        let things: Vec<&Thing> = world.things.values().collect();
        let fitting = |t: &&&Thing| match CmdOp::from_code(op) {
            Some(CmdOp::FastRegMr) => t.kind == Kind::Frmr,
            Some(CmdOp::ReregMr) => t.kind == Kind::Mr,
            Some(CmdOp::DeregMr) => !t.kind.is_window(),
            Some(CmdOp::BindMw | CmdOp::DeallocMw) => t.kind.is_window(),
            Some(CmdOp::Invalidate) => t.kind == Kind::Frmr || t.kind.is_type2(),
            _ => true,
        };
        let named: Vec<&Thing> = things.iter().filter(fitting).copied().collect();
        let mut command = Command {
            id: self.model.commands.len() as u16,
            op,
            access: [0x1f, 0x11, 0x10, 0x17, 0x3f, 0x301, 4, 0x10_0013]
                [usize::from(numbers[0] % 8)],
            start: BASE + u64::from(numbers[1] % 8) * 0x200,
            length: u64::from(numbers[2] % 16) * 0x400,
            log_page: 12,
            frame: [0x1_0000, 0x2_0000, 0x3_0000, 0x4_0000],
            tag: numbers[3] % 4 + 1,
            qpn: u32::from(numbers[4] % 2),
            pd: u32::from(numbers[5] % 2),
            flags: numbers[4] >> 4 & 7,
            rereg: numbers[5] >> 4 & 7,
            new_pd: u32::from(numbers[4] >> 3 & 1),
            ..Command::default()
        };
        match CmdOp::from_code(op) {
            Some(CmdOp::AllocMr) => {
                command.length = u64::from(numbers[2] % 6);
                command.access = 0;
            }
            Some(CmdOp::AllocMw) => command.access = 0,
            Some(CmdOp::BindMw) => {
                command.access = [0xe, 4, 2, 0x24, 0x26, 8][usize::from(numbers[0] % 6)];
                let regions = things.iter().filter(|t| !t.kind.is_window());
                let regions: Vec<&&Thing> = regions.collect();
                if !regions.is_empty() {
                    let region = regions[usize::from(other) % regions.len()];
                    command.mkey = region.lkey;
                    if numbers[3] & 0xc0 != 0 {
                        (command.start, command.length) =
                            (region.start + 8, region.length.saturating_sub(8));
                    }
                }
            }
            _ => {}
        }
        if !named.is_empty() {
            let thing = named[usize::from(about) % named.len()];
            command.pd = thing.pd;
            command.key = match (thing.kind.is_window(), op) {
                (true, _) => thing.rkey,
                (false, 7) if numbers[4] & 0x10 != 0 => thing.rkey,
                _ => thing.lkey,
            };
            if thing.kind.is_type2() && op == 7 {
                command.qpn = thing.qpn ^ u32::from(numbers[4] & 7 == 7);
            }
        }
        match mistake {
            0..=9 => command.pd ^= 1,
            10..=19 => command.key.0 ^= 1,
            20..=29 => command.key = pick(&self.known, other),
            30..=39 => command.mkey = pick(&self.known, about),
            40..=44 => command.access |= 0x400,
            45..=49 => command.start = u64::MAX - 0x1ff,
            50..=54 => command.length = u64::MAX,
            55..=69 if !things.is_empty() => {
                let thing = things[usize::from(other) % things.len()];
                let remote = matches!(op, 7 | 9 | 10);
                command.key = if remote { thing.rkey } else { thing.lkey };
                command.pd = thing.pd;
            }
            _ => {}
        }
        command
    }

    fn begin(&mut self, command: Command) {
        let n = self.model.commands.len();
        self.clock += 1;
        self.unit.begin(&command, None, self.clock);
        self.model.commands.push((command, Stand::Begun));
        let none = (Status::Busy, Key::NONE, Key::NONE, None);
        self.model.answers.push(none);
        self.model.ever.push(Vec::new());
        let mut log = self.model.log.clone();
        log.push(Event::Begin(n));
        self.model.set(log);
    }

    fn completion(&self, n: usize) -> Completion {
        let (command, answer) = (&self.model.commands[n].0, &self.model.answers[n]);
        let mut done = Completion::plain(command.id, command.op, answer.0);
        (done.lkey, done.rkey) = (answer.1, answer.2);
        // The index goes with the keys: a window has only the R_Key.
        let made = [answer.1, answer.2]
            .into_iter()
            .find(|key| *key != Key::NONE);
        done.index = made.map_or(0, |key| self.model.maker.decode(key).1);
        if command.op == CmdOp::Query.code() && answer.0 == Status::Ok {
            // The entry itself is judged elsewhere: the unit says what it expects, at first as of the
            // beginning of the command, then as of now.
            let wrong = Completion::plain(command.id, command.op, Status::BadOp);
            let mut unit = self.unit.clone();
            for _ in 0..2 {
                if let Err(CompletionError::Wrong { expected, .. }) =
                    unit.complete(&wrong, self.clock)
                {
                    if done.entry == [0; 64] {
                        done.entry = expected.entry;
                    }
                }
            }
        }
        done
    }

    fn complete(&mut self, which: u8, how: u8) -> Result<(), TestCaseError> {
        let waiting: Vec<usize> = self
            .model
            .in_flight()
            .into_iter()
            .filter(|n| self.model.may_complete(*n))
            .collect();
        if waiting.is_empty() {
            return Ok(());
        }
        let n = waiting[usize::from(which) % waiting.len()];
        let query = self.model.commands[n].0.op == CmdOp::Query.code();
        self.clock += 1;
        let pending = self.model.commands[n].1 == Stand::Pending;
        if !pending && !query && how & 0x80 != 0 {
            // Executed not at once, but only after those before it had finished.
            let late = self.model.later(n);
            let (_, answers) = self.model.replay(&late);
            if answers[n].0 != self.model.answers[n].0 {
                self.model.set(late);
            }
        }
        let fence = self.model.needs_fence(n);
        let plain = |status| {
            let command = &self.model.commands[n].0;
            Completion::plain(command.id, command.op, status)
        };
        if fence && !pending && how % 8 == 0 {
            let outcome = self.unit.complete(&plain(Status::Pending), self.clock);
            prop_assert_eq!(outcome, Ok(Outcome::Pending));
            self.model.commands[n].1 = Stand::Pending;
            return Ok(());
        }
        let refused = match how % 8 {
            1 if fence && !pending => Some(Status::Busy),
            2 if !pending && !query => Some(Status::Bus),
            _ => None,
        };
        if let Some(status) = refused {
            let outcome = self.unit.complete(&plain(status), self.clock);
            prop_assert_eq!(outcome, Ok(Outcome::Refused(status)));
            // It may have been executed only now, and those behind it before it was taken back.
            self.model.note_late(n);
            self.model.commands[n].1 = Stand::Void;
            // What is behind a command that is taken back is begun again.
            let mut log = match self.model.answers[n].0 {
                Status::Ok => self.model.later(n),
                _ => self.model.log.clone(),
            };
            log.retain(|event| *event != Event::Begin(n));
            self.model.set(log);
            return Ok(());
        }
        if !pending {
            let late = self.model.later(n);
            let (_, answers) = self.model.replay(&late);
            let early = self.model.answers[n].0;
            let others: Vec<Status> = Status::ALL
                .iter()
                .copied()
                .filter(|s| !self.model.ever[n].contains(s) && *s != answers[n].0)
                .filter(|s| {
                    ![Status::Bus, Status::MptBad, Status::Busy, Status::Pending].contains(s)
                })
                .collect();
            let wrong = plain(others[usize::from(which) % others.len()]);
            let outcome = self.unit.clone().complete(&wrong, self.clock);
            prop_assert!(outcome.is_err(), "{:?} for {:?}", wrong, early);
        }
        let done = self.completion(n);
        let outcome = self.unit.complete(&done, self.clock);
        prop_assert_eq!(
            outcome,
            Ok(Outcome::Finished),
            "{:?}",
            self.model.commands[n]
        );
        self.known.extend([done.lkey, done.rkey]);
        self.model.commands[n].1 = Stand::Done;
        let mut log = self.model.log.clone();
        match done.status {
            Status::Ok => log.push(Event::Finish(n)),
            // Refused for good: it has no part in what follows.
            _ => log.retain(|event| *event != Event::Begin(n)),
        }
        self.model.set(log);
        Ok(())
    }

    fn access(&mut self, about: u8, op: u8, numbers: [u8; 4]) -> Result<(), TestCaseError> {
        let world = self.model.world();
        let things: Vec<&Thing> = world.things.values().collect();
        let mut request = Request {
            op,
            key: pick(&self.known, about),
            va: BASE + u64::from(numbers[1]) * 0x20,
            len: 8,
            pd: u32::from(numbers[2] % 2),
            qpn: u32::from(numbers[3] % 2),
            ..Request::default()
        };
        if numbers[0] % 4 != 0 && !things.is_empty() {
            let thing = things[usize::from(about) % things.len()];
            request.key = if op < 2 { thing.lkey } else { thing.rkey };
            (request.pd, request.qpn) = (thing.pd, thing.qpn);
            let base = if thing.access & 0x20 != 0 {
                0
            } else {
                thing.start
            };
            request.va = base + u64::from(numbers[1] % 4) * ((thing.length / 3) & !7);
            request.va -= u64::from(numbers[1] >> 6 & u8::from(base > 0));
            request.pd ^= u32::from(numbers[2] % 16 == 15);
            request.qpn ^= u32::from(numbers[3] % 16 == 15);
        }
        let expected = world.verdict(&request, &self.model.maker);
        let clock = self.clock + 1;
        let allowed = self
            .unit
            .allowed(&Conditions::default(), &request, clock, clock);
        let syndromes: Vec<_> = allowed.iter().map(|v| v.syndrome).collect();
        prop_assert!(
            syndromes.contains(&expected),
            "{:?}: {} is not among {:?}",
            request,
            expected,
            syndromes
        );
        if self.model.in_flight().is_empty() {
            prop_assert_eq!(&syndromes, &[expected], "{:?}", request);
            prop_assert_eq!(self.unit.judge(&request).syndrome, expected);
            if expected == Syndrome::Ok {
                self.right_address(&world, &request)?;
            }
        }
        Ok(())
    }

    /// An access that passes reaches the pages of the region.
    fn right_address(&self, world: &World, request: &Request) -> Result<(), TestCaseError> {
        let index = self.model.maker.decode(request.key).1;
        let t = &world.things[&index];
        let zero = t.access & 0x20 != 0;
        let va = request.va + if zero { t.start } else { 0 };
        let region = t.parent.map_or(t, |parent| &world.things[&parent]);
        let relaxed = region.access >> 20 & 1 == 1 && request.op != 4;
        let beats: Vec<Beat> = self.unit.judge(request).beats(request).collect();
        let mut at = va;
        for beat in &beats {
            let expected = match region.kind {
                Kind::Phys => at,
                _ => {
                    let page = (at >> 12) - (region.start >> 12);
                    0x1_0000 * (page + 1) + at % 0x1000
                }
            };
            prop_assert_eq!(beat.syndrome, Syndrome::Ok);
            prop_assert_eq!((beat.pa, beat.relaxed), (expected, relaxed));
            at += u64::from(beat.len);
        }
        prop_assert_eq!(at, va + 8);
        Ok(())
    }

    /// With nothing in flight, the tables are equal.
    fn compare(&self) -> Result<(), TestCaseError> {
        let world = self.model.world();
        for index in 0..TABLE {
            let held = self.unit.held(index);
            let (state, gen) = self.unit.slot(index);
            let expected = world.things.get(&index);
            prop_assert_eq!(expected.map(|t| t.state), held.map(|(state, _)| state));
            prop_assert_eq!(gen, world.gens.get(&index).copied().unwrap_or(0));
            prop_assert_eq!(state == State::Free, expected.is_none());
            if let (Some((_, region)), Some(thing)) = (held, expected) {
                prop_assert_eq!(region.kind, thing.kind);
                prop_assert_eq!((region.lkey, region.rkey), (thing.lkey, thing.rkey));
                prop_assert_eq!(region.pd, thing.pd);
                prop_assert_eq!(region.bound as usize, world.count(index));
                if state == State::Valid {
                    prop_assert_eq!(region.start, thing.start);
                    prop_assert_eq!(region.length, thing.length);
                    prop_assert_eq!(region.parent.map(|p| p.index), thing.parent);
                }
                let entry = region.entry(state).encode();
                prop_assert_eq!(self.unit.check_entry(index, &entry), Ok(()));
            }
        }
        prop_assert_eq!(self.unit.commands_in_flight(), 0);
        Ok(())
    }
}

fn run(phys: bool, steps: Vec<Step>, overlap: bool) -> Result<(), TestCaseError> {
    let mut unit = Golden::enabled(keys(), TABLE, 3);
    unit.allow_phys(phys);
    let model = Model {
        maker: keys(),
        phys,
        commands: Vec::new(),
        log: Vec::new(),
        answers: Vec::new(),
        ever: Vec::new(),
    };
    let mut run = Run {
        unit,
        model,
        known: Vec::new(),
        clock: 0,
    };
    for step in steps {
        match step {
            Step::Begin {
                op,
                about,
                other,
                mistake,
                numbers,
            } => {
                let command = run.command(op, about, other, mistake, numbers);
                run.begin(command);
                if !overlap {
                    run.complete(0, 7)?;
                }
            }
            Step::Complete { which, how } => run.complete(which, how)?,
            Step::Access { about, op, numbers } => run.access(about, op, numbers)?,
        }
        if run.model.in_flight().is_empty() {
            run.compare()?;
        }
    }
    // Everything comes to its end.
    while !run.model.in_flight().is_empty() {
        run.complete(0, 7)?;
    }
    run.compare()
}

/// The same cases every time; others with `TPT_SEED=n`, new ones with `TPT_SEED=time`.
fn seed() -> RngSeed {
    match std::env::var("TPT_SEED").as_deref() {
        Ok("time") => RngSeed::Random,
        Ok(text) => RngSeed::Fixed(text.parse().unwrap_or(1)),
        Err(_) => RngSeed::Fixed(1),
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1500,
        rng_seed: seed(),
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
            concat!(env!("CARGO_MANIFEST_DIR"), "/tests/verbs_model.seeds"),
        ))),
        ..ProptestConfig::default()
    })]

    /// One command after another.
    #[test]
    fn in_sequence(phys: bool, steps in prop::collection::vec(step(), 1..120)) {
        run(phys, steps, false)?;
    }

    /// Commands that overlap, with PENDING, BUSY and bus errors.
    #[test]
    fn overlapping(phys: bool, steps in prop::collection::vec(step(), 1..100)) {
        run(phys, steps, true)?;
    }
}

/// The steps do reach what they are meant to: every command with success, every status of the keys.
#[test]
fn the_steps_reach_everything() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::{Config, TestRunner};
    let mut runner = TestRunner::new_with_rng(
        Config::default(),
        proptest::test_runner::TestRng::deterministic_rng(
            proptest::test_runner::RngAlgorithm::ChaCha,
        ),
    );
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..1500 {
        let steps = prop::collection::vec(step(), 100..101)
            .new_tree(&mut runner)
            .expect("steps")
            .current();
        let mut unit = Golden::enabled(keys(), TABLE, 3);
        unit.allow_phys(true);
        let model = Model {
            maker: keys(),
            phys: true,
            commands: Vec::new(),
            log: Vec::new(),
            answers: Vec::new(),
            ever: Vec::new(),
        };
        let mut run = Run {
            unit,
            model,
            known: Vec::new(),
            clock: 0,
        };
        for step in steps {
            if let Step::Begin {
                op,
                about,
                other,
                mistake,
                numbers,
            } = step
            {
                let command = run.command(op, about, other, mistake, numbers);
                run.begin(command);
                let n = run.model.commands.len() - 1;
                let kind = run.unit.held(run.model.maker.decode(command.key).1);
                let kind = kind.map(|(_, region)| region.kind);
                let kind = kind.filter(|_| op != 1 && op != 5 && op != 8 && op != 11);
                let status = run.model.answers[n].0;
                if status == Status::Ok {
                    seen.insert(format!("{:?} {kind:?}", CmdOp::from_code(op)));
                } else {
                    seen.insert(format!("{:?} {status}", CmdOp::from_code(op)));
                }
                run.complete(0, 7).expect("as predicted");
            }
        }
    }
    for (op, wanted) in [
        (
            CmdOp::RegMr,
            "None BadLength BadWrap BadFlags TableSmall NoIndex",
        ),
        (CmdOp::RegPhys, "None BadLength BadWrap BadFlags NoIndex"),
        (CmdOp::AllocMr, "None BadLength BadFlags NoIndex"),
        (CmdOp::AllocMw, "None BadFlags NoIndex"),
        (
            CmdOp::DeregMr,
            "Some(Mr) Some(Frmr) Some(Phys) Bound KeyTag KeyPd KeyState",
        ),
        (
            CmdOp::DeallocMw,
            "Some(Mw1) Some(Mw2) Some(Mw2a) KeyTag KeyPd KeyKind",
        ),
        (
            CmdOp::ReregMr,
            "Some(Mr) Bound BadRereg KeyKind TableSmall KeyPd",
        ),
        (
            CmdOp::FastRegMr,
            "Some(Frmr) KeyState KeyKind KeyTag BadLength TableSmall KeyPd",
        ),
        (
            CmdOp::Invalidate,
            "Some(Frmr) Some(Mw2) Some(Mw2a) Bound KeyKind RemoteInv KeyQp KeyState KeyPd",
        ),
        (
            CmdOp::BindMw,
            "Some(Mw1) Some(Mw2) Some(Mw2a) KeyState BadFlags BadLength BadWrap MrKey MrPd \
             MrRights MrBounds KeyPd",
        ),
        (
            CmdOp::Query,
            "Some(Mr) Some(Frmr) Some(Mw1) Some(Mw2) Some(Mw2a) Some(Phys)",
        ),
    ] {
        for what in wanted.split_whitespace() {
            let name = format!("{:?} {what}", Some(op));
            assert!(seen.contains(&name), "{name} is never reached: {seen:#?}");
        }
    }
}
