// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! What a unit has when nothing is in use: indices, contexts, places for fences, slots for page faults.
//! After a fault it must have as many as before.

use tpt_bench::axi::AxiConfig;
use tpt_bench::paging::Pager;
use tpt_bench::{CommandExtra, DonePolicy, Pattern};
use tpt_golden::regs::{self, counter, status};
use tpt_golden::types::{CmdOp, Key, Op, Request, Role, State, Status};

use super::class::Class;
use super::world::{Stop, World, MPT_SIZE};

type Result<T = ()> = std::result::Result<T, Stop>;

/// Regions that wait for the fence when their places are counted: more than there are.
const FENCED: usize = 20;
/// Requests of each client that wait for memory when contexts are counted: more than there are, in
/// a configuration of 16 contexts; in others the most that are tried.
const WAITING: usize = 40;

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

impl Capacities {
    /// Of a unit that was just enabled.
    pub fn of_new_unit(config: tpt_verilated::Config, seed: u64) -> Result<Self> {
        let mut world = World::empty(config, seed, Class::Done)?;
        let capacities = world.capacities()?;
        match world.rig.bench.mismatches().first() {
            Some(error) => Err(Stop::Bench(error.clone())),
            None => Ok(capacities),
        }
    }

    /// What is missing in `now`, of which `retired` indices are known to be lost.
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
        for key in keys.iter().rev().take(FENCED) {
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
        for n in 0..WAITING {
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
        let wanted = self.rig.bench.golden.fault_slots();
        let Some(mr) = self.enroll_paged(&Pager::default(), 1, 64)? else {
            return Ok(0);
        };
        for n in 0..wanted {
            let request = Request {
                stream: n as u8,
                ..mr.at(Op::LocalRead, 8 * n as u64, 8)
            };
            self.issue(0, request);
        }
        self.rig.run(200)?;
        let mut held = Vec::new();
        for _ in 0..wanted {
            if let Some(fault) = self.rig.bench.take_fault(&mut self.rig.host.mem)? {
                held.extend(fault.held.then_some(fault.slot));
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
    /// an error of memory, or regions that keep the count of a window that is retired.
    pub fn retired(&self) -> usize {
        (1..MPT_SIZE)
            .filter(|index| self.rig.bench.golden.slot(*index).0 != State::Free)
            .count()
    }
}
