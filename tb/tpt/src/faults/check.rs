// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! What a unit has when nothing is in use: indices, contexts, places for fences, slots for page faults.
//! After a fault it must have as many as before.

use tpt_bench::axi::AxiConfig;
use tpt_bench::paging::Pager;
use tpt_bench::{CommandExtra, DonePolicy, Pattern};
use tpt_golden::regs::{self, counter, status};
use tpt_golden::types::{CmdOp, Key, Op, Request, Role, State, Status};
use tpt_verilated::Config;

use super::class::Class;
use super::world::{Stop, World, MPT_SIZE};

type Result<T = ()> = std::result::Result<T, Stop>;

/// More than there are is tried, by this many: nothing may be there that should not be.
const MORE: usize = 4;
/// Requests of a client that are taken in and wait for a context (the two places of its input).
const INPUT: usize = 2;

/// What a unit at rest has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capacities {
    /// Indices that can be registered.
    pub indices: usize,
    /// Requests of each client that can be inside.
    pub contexts: Vec<usize>,
    /// Commands that can wait for a fence.
    pub fences: usize,
    /// Page faults that can be held.
    pub slots: usize,
}

/// Requests of one client that can be inside: contexts are shared out among the clients.
fn inside(config: Config) -> usize {
    let sizes = config.sizes();
    (sizes.contexts / sizes.clients.next_power_of_two()) as usize + INPUT
}

impl Capacities {
    /// What a unit of this configuration must have.
    pub fn of(config: Config) -> Self {
        let sizes = config.sizes();
        Self {
            // Index 0 is never given.
            indices: MPT_SIZE as usize - 1,
            contexts: vec![inside(config); sizes.clients as usize],
            fences: sizes.fences as usize,
            slots: sizes.fault_slots as usize,
        }
    }

    /// Looks whether a unit that was just enabled has all of it.
    pub fn of_new_unit(config: Config, seed: u64) -> Result<Self> {
        let capacities = Self::of(config);
        let mut world = World::empty(config, seed, Class::Done)?;
        let counted = world.capacities()?;
        match (
            world.rig.bench.mismatches().first(),
            capacities.missing(&counted, 0),
        ) {
            (Some(error), _) => Err(Stop::Bench(error.clone())),
            (None, Some(text)) => Err(Stop::Unexpected(format!("a new unit: {text}"))),
            (None, None) => Ok(capacities),
        }
    }

    /// What is not as it must be in `now`, if `retired` indices are known to be lost.
    pub fn missing(&self, now: &Capacities, retired: usize) -> Option<String> {
        let expected = Capacities {
            indices: self.indices.saturating_sub(retired),
            ..self.clone()
        };
        (expected != *now).then(|| format!("expected {expected:?}, counted {now:?}"))
    }
}

impl World {
    /// Counts what there is. Nothing may be registered; afterwards nothing is.
    pub fn capacities(&mut self) -> Result<Capacities> {
        let axi = self.rig.bench.axi.config().clone();
        self.rig.bench.axi.configure(AxiConfig::default());
        let (indices, keys) = self.fill()?;
        let fences = self.count_fences(&keys)?;
        self.dismantle()?;
        let contexts = self.count_contexts()?;
        let slots = self.count_slots()?;
        self.rig.bench.axi.configure(axi);
        Ok(Capacities {
            indices,
            contexts,
            fences,
            slots,
        })
    }

    /// Registers until no index is left.
    fn fill(&mut self) -> Result<(usize, Vec<Key>)> {
        for n in 0..u64::from(MPT_SIZE) {
            let command = self.one_page(n);
            self.rig.bench.post(command, CommandExtra::default());
        }
        self.rig.wait_idle()?;
        let mut keys = Vec::new();
        while let Some(finished) = self.rig.bench.poll_completion() {
            if finished.completion.status == Status::Ok {
                keys.push(finished.completion.lkey);
            }
        }
        self.collect();
        Ok((keys.len(), keys))
    }

    /// Ends regions while a request is not done: how many commands can wait.
    fn count_fences(&mut self, keys: &[Key]) -> Result<usize> {
        let Some(first) = keys.first() else {
            return Ok(0);
        };
        self.rig.bench.set_fence_time(&mut self.rig.host.mem, 40)?;
        self.rig.bench.set_done_policy(0, DonePolicy::Withheld);
        let request = Request {
            op: Op::LocalRead.code(),
            key: *first,
            va: 0x1000,
            len: 8,
            pd: 1,
            ..Request::default()
        };
        self.issue(0, request);
        self.rig.bench.wait_client(&mut self.rig.host.mem, 0)?;
        let mut ids = Vec::new();
        let most = self.rig.bench.config().sizes().fences as usize + MORE;
        for key in keys.iter().rev().take(most) {
            let command = self.plain(CmdOp::DeregMr, *key, 1);
            ids.push(command.id);
            self.rig.bench.post(command, CommandExtra::default());
        }
        let mut waiting = 0;
        for id in ids {
            let mem = &mut self.rig.host.mem;
            let completion = self.rig.bench.wait_completion(mem, id)?;
            waiting += usize::from(completion.status == Status::Pending);
        }
        self.rig.bench.set_done_policy(0, DonePolicy::IMMEDIATE);
        self.rig.bench.release_dones(0);
        self.rig.wait_idle()?;
        while self.rig.bench.poll_completion().is_some() {}
        self.rig.bench.set_fence_time(&mut self.rig.host.mem, 0)?;
        self.collect();
        Ok(waiting)
    }

    /// Requests that memory does not answer: how many can be inside.
    fn count_contexts(&mut self) -> Result<Vec<usize>> {
        self.rig.bench.axi.configure(AxiConfig {
            r_valid: Pattern::Never,
            ..AxiConfig::default()
        });
        let clients = self.rig.bench.clients();
        let most = inside(self.rig.bench.config()) + MORE;
        for n in 0..most {
            // Entries of free indices are not kept in the cache.
            let index = 1 + n as u32 % (MPT_SIZE - 1);
            let field = self.rig.bench.golden.keys().field(Role::Local, index);
            for client in 0..clients {
                let request = Request {
                    op: Op::LocalRead.code(),
                    key: Key::new(field, 1),
                    len: 8,
                    stream: n as u8 % 16,
                    ..Request::default()
                };
                self.issue(client, request);
            }
        }
        self.rig.run(200)?;
        let inside = |client| self.rig.bench.requests_inside(client);
        let counted = (0..clients).map(inside).collect();
        self.rig.bench.axi.configure(AxiConfig::default());
        self.rig.wait_idle()?;
        // Syndromes of free entries are no reports of a fault.
        self.collect();
        Ok(counted)
    }

    /// Requests to absent pages of an on-demand region: how many are held.
    fn count_slots(&mut self) -> Result<usize> {
        let slots = self.rig.bench.golden.fault_slots();
        let Some(mr) = self.enroll_paged(&Pager::default(), 1, 64)? else {
            return Ok(0);
        };
        let mut held = Vec::new();
        // Those behind are answered RETRY, once the host knows of the others.
        for numbers in [0..slots, slots..slots + MORE] {
            for n in numbers {
                let request = Request {
                    stream: n as u8,
                    ..mr.at(Op::LocalRead, 8 * n as u64, 8)
                };
                self.issue(0, request);
            }
            self.rig.run(200)?;
            for _ in 0..slots + MORE {
                if let Some(fault) = self.rig.bench.take_fault(&mut self.rig.host.mem)? {
                    held.extend(fault.held.then_some(fault.slot));
                }
            }
        }
        for slot in &held {
            self.rig.bench.answer_open(*slot, true);
        }
        self.rig.wait_idle()?;
        let command = self.plain(CmdOp::DeregMr, mr.lkey, 1);
        self.rig.command(command, CommandExtra::default())?;
        // Its table is none of those of the experiment.
        self.rig.bench.axi.take_log();
        self.collect();
        Ok(held.len())
    }

    /// Is the unit at rest, and did it count right? What is not as it must be.
    pub fn unrest(&mut self) -> Result<Option<String>> {
        self.rig.run(20)?;
        let (bench, mem) = (&mut self.rig.bench, &mut self.rig.host.mem);
        let state = bench.read_register(mem, regs::STATUS)?;
        if state & status::IDLE == 0 {
            return Ok(Some(format!(
                "STATUS {state:#x}: requests inside or a done is owed"
            )));
        }
        if state & status::FENCE_BUSY != 0 {
            return Ok(Some(format!(
                "STATUS {state:#x}: a command or its fence is not finished"
            )));
        }
        let (now, since) = (&bench.stats, &self.since);
        let refused = |stats: &tpt_bench::Stats| stats.by_syndrome[1..].iter().sum::<u64>();
        let expected = [
            (counter::REQUESTS, now.requests - since.requests),
            (counter::SEGMENTS, now.segments - since.segments),
            (counter::REFUSED, refused(now) - refused(since)),
            (counter::BAD_DONE, now.bad_dones - since.bad_dones),
        ];
        // A client reset drops what it finds, counted or not.
        let count = if self.dropped { 0 } else { expected.len() };
        for (n, value) in expected.into_iter().take(count) {
            let counted = bench.read_register(mem, regs::COUNTERS + 4 * n as u16)?;
            if u64::from(counted) != value {
                return Ok(Some(format!(
                    "counter {} is {counted}, expected {value}",
                    counter::NAMES[n]
                )));
            }
        }
        Ok(None)
    }

    /// Indices that the reference knows to be lost until the unit is enabled again: retired after
    /// an error of memory, and regions that keep the count of a window that is retired. Says what is
    /// in use beside them.
    pub fn retired(&self) -> std::result::Result<usize, String> {
        let golden = &self.rig.bench.golden;
        let retired: Vec<u32> = (1..MPT_SIZE)
            .filter(|index| golden.is_retired(*index))
            .collect();
        let counted = |index: &u32| {
            let bound = golden.current(*index).is_some_and(|held| held.bound > 0);
            let mut windows = retired.iter();
            bound && windows.any(|window| golden.parents(*window).contains(index))
        };
        let used = (1..MPT_SIZE).filter(|index| golden.slot(*index).0 != State::Free);
        let (known, other): (Vec<u32>, Vec<u32>) =
            used.partition(|index| retired.contains(index) || counted(index));
        lost(self.class, &known, &other)
    }
}

/// How many indices may be lost, if the reference knows `known` to be lost and `other` to be in use.
fn lost(class: Class, known: &[u32], other: &[u32]) -> std::result::Result<usize, String> {
    if !other.is_empty() {
        return Err(format!(
            "indices {other:?} are in use, and nothing says why"
        ));
    }
    let errors = matches!(class, Class::ReadError(_) | Class::WriteError(_));
    if !errors && !known.is_empty() {
        return Err(format!(
            "indices {known:?} are lost without an error of memory"
        ));
    }
    Ok(known.len())
}

#[cfg(test)]
mod tests {
    use super::super::class::ReadOf;
    use super::*;

    #[test]
    fn what_a_unit_must_have_is_said_by_its_configuration() {
        let small = Capacities::of(Config::Small);
        assert_eq!(small.indices, 31);
        assert_eq!(small.contexts, [10, 10]);
        assert_eq!((small.fences, small.slots), (16, 4));
        assert_eq!(small.missing(&small.clone(), 0), None);
    }

    /// Planted lies: a unit that has lost, or found, one of anything.
    #[test]
    fn one_of_anything_that_is_missing_is_seen() {
        let right = Capacities::of(Config::Small);
        let change = |change: fn(&mut Capacities)| {
            let mut lie = right.clone();
            change(&mut lie);
            lie
        };
        for lie in [
            change(|lie| lie.indices -= 1),
            change(|lie| lie.contexts[1] -= 1),
            change(|lie| lie.contexts[0] += 1),
            change(|lie| lie.fences -= 1),
            change(|lie| lie.slots -= 1),
            change(|lie| lie.slots += 1),
        ] {
            assert!(right.missing(&lie, 0).is_some(), "{lie:?}");
        }
        let one_less = change(|lie| lie.indices -= 1);
        assert_eq!(right.missing(&one_less, 1), None);
        assert!(right.missing(&right.clone(), 1).is_some());
    }

    #[test]
    fn indices_are_lost_by_errors_of_memory_only() {
        let error = Class::ReadError(ReadOf::Engine);
        assert_eq!(lost(error, &[3], &[]), Ok(1));
        assert_eq!(lost(Class::WriteError(1), &[3, 4], &[]), Ok(2));
        assert_eq!(lost(Class::Reset, &[], &[]), Ok(0));
        for class in [Class::Reset, Class::Done, Class::Late] {
            assert!(lost(class, &[3], &[]).is_err());
        }
        assert!(lost(error, &[3], &[5]).is_err());
    }
}
