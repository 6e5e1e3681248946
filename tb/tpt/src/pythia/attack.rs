// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Prime and probe: the attacker fills a set of a cache, lets the victim run, and measures its own
//! accesses again.
//!
//! The attacker knows the published RTL, its own keys and addresses, and how long its own requests
//! take; of the victim it knows no more than a peer does. The unit works with hidden keys. Which of
//! its accesses meet in one set of a cache, the attacker gets from the hash of the RTL; which of those
//! sets is the victim's, from the field of the victim's R_Key (of entries: a peer has it), or from
//! timing (of table lines, whose set depends on an index that is hidden).

use anyhow::Result;
use tpt_bench::rig::Mr;
use tpt_bench::rng::Rng;
use tpt_golden::types::{Key, Request, LEVEL_FLAT, LEVEL_INLINE};

use super::rule::{Rule, Score, Trial};
use super::stage::{read, Setup, Stage, Tenant, MEMORY};
use super::{Plan, PythiaError};

/// Trials of a set when the victim's is looked for: half of them with an access.
const LOOK: usize = 4;
/// The best of them are tried more thoroughly: so many sets,
const BEST: usize = 3;
/// in so many trials each.
const TRY: u64 = 48;
/// Times that a set is filled at most, until everything in it is the attacker's.
const PRIMES: usize = 8;
/// An access that takes so much longer than the fastest one has waited for memory.
const SLOWER: u32 = MEMORY / 2;
/// log2 of the entries of a table page of 4 KiB.
const LOG_TABLE: u32 = 9;

/// Accesses that all use the same line of a cache, one after the other.
pub struct Line {
    make: Box<dyn Fn(u64) -> Request>,
    at: u64,
}

impl Line {
    /// The n-th access is `make(n)`.
    pub fn new(make: impl Fn(u64) -> Request + 'static) -> Self {
        let make = Box::new(make);
        Self { make, at: 0 }
    }

    /// Always the same access.
    fn of(request: Request) -> Self {
        Self::new(move |_| request)
    }

    /// The next access.
    pub fn step(&mut self) -> Request {
        self.at += 1;
        (self.make)(self.at - 1)
    }
}

/// The attacker's lines of one set.
pub struct Group {
    /// As many as the set has ways.
    pub lines: Vec<Line>,
    /// One more, which throws one of them out: which one, tells how the cache chooses.
    pub more: Option<Line>,
}

impl Group {
    /// Fills the set. `fastest` is the latency of a hit, as far as it is known.
    pub fn prime(&mut self, stage: &mut Stage, fastest: &mut u32) -> Result<()> {
        // A line that can be used only once is not worth a second look.
        let times = if self.more.is_some() { PRIMES } else { 1 };
        for _ in 0..times {
            let mut slow = false;
            for line in &mut self.lines {
                let latency = stage.latency(line.step())?;
                *fastest = latency.min(*fastest);
                slow |= latency > *fastest + SLOWER;
            }
            if !slow {
                break;
            }
        }
        Ok(())
    }

    /// Measures the lines, the last one first; then throws one out, and measures them again.
    pub fn probe(&mut self, stage: &mut Stage, seen: &mut Vec<u32>) -> Result<()> {
        for line in self.lines.iter_mut().rev() {
            seen.push(stage.latency(line.step())?);
        }
        if let Some(more) = &mut self.more {
            seen.push(stage.latency(more.step())?);
            for line in &mut self.lines {
                seen.push(stage.latency(line.step())?);
            }
        }
        Ok(())
    }
}

/// An attack that is set up.
pub struct Attack {
    stage: Stage,
    /// Sets from which the victim's is to be found.
    groups: Vec<Group>,
    chosen: usize,
    /// What the victim may do.
    victim: Line,
    /// The attacker measures this request instead of its lines.
    reload: Option<Request>,
    /// Clocks that it has for it.
    slot: u64,
    fastest: u32,
    how: String,
}

/// What an attack has come to.
#[derive(Clone, Debug)]
pub struct Found {
    /// How often the attacker was right.
    pub score: Score,
    /// How it has found the victim's set.
    pub how: String,
    /// Clocks of all trials.
    pub clocks: u64,
}

impl Attack {
    /// Looks for the victim's set, learns, and attacks.
    pub fn run(mut self, plan: &Plan) -> Result<Found> {
        let mut secrets = Rng::new(plan.seed ^ 0x7079_7468_6961);
        if self.groups.len() > 1 {
            self.look(&mut secrets)?;
        }
        let known = self.trials(plan.training, &mut secrets)?;
        let rule = Rule::learn(&known);
        let score = rule.score(&self.trials(plan.trials, &mut secrets)?);
        Ok(Found {
            score,
            how: self.how,
            clocks: self.stage.rig.bench.clock(),
        })
    }

    fn trials(&mut self, count: u64, secrets: &mut Rng) -> Result<Vec<Trial>> {
        (0..count)
            .map(|_| self.trial(secrets.chance(1, 2)))
            .collect()
    }

    fn trial(&mut self, secret: bool) -> Result<Trial> {
        let group = &mut self.groups[self.chosen];
        group.prime(&mut self.stage, &mut self.fastest)?;
        let end = self.stage.rig.bench.clock() + self.slot;
        if secret {
            self.stage.latency(self.victim.step())?;
        }
        self.stage.wait_until(end, self.slot)?;
        let mut seen = Vec::new();
        match self.reload {
            Some(request) => seen.push(self.stage.latency(request)?),
            None => group.probe(&mut self.stage, &mut seen)?,
        }
        Ok(Trial { secret, seen })
    }

    /// Learns by timing which set is the victim's: the one where its access makes a difference.
    fn look(&mut self, secrets: &mut Rng) -> Result<()> {
        let groups = self.groups.len();
        let mut by_difference = Vec::new();
        for group in 0..groups {
            self.chosen = group;
            let mut sums = [0u64; 2];
            for n in 0..LOOK {
                let trial = self.trial(n % 2 == 0)?;
                let sum: u64 = trial.seen.iter().map(|latency| u64::from(*latency)).sum();
                sums[usize::from(trial.secret)] += sum;
            }
            by_difference.push((sums[0].abs_diff(sums[1]), group));
        }
        // The first of equals, so that the choice is the same every time.
        by_difference.sort_by_key(|(difference, group)| (u64::MAX - difference, *group));
        let mut best = (0, 0);
        for (_, group) in by_difference.into_iter().take(BEST) {
            self.chosen = group;
            let known = self.trials(TRY, secrets)?;
            let (half, rest) = known.split_at(known.len() / 2);
            let right = Rule::learn(half).score(rest).right;
            if right > best.0 {
                best = (right, group);
            }
        }
        self.chosen = best.1;
        self.how = format!("{}, {} of {groups}", self.how, self.chosen);
        Ok(())
    }
}

/// The set of an entry in the cache of entries, from the field of its key: as `set_of` of
/// `tpt_mpt_lookup`.
pub fn entry_set(key: Key, sets: u32) -> u32 {
    let field = key.field();
    (field ^ (field >> 23 & 1)) & (sets - 1)
}

/// Registers regions of one page until `count` of them have an R_Key in this set.
pub fn colliding(stage: &mut Stage, tenant: Tenant, set: u32, count: usize) -> Result<Vec<Mr>> {
    let sets = stage.sizes().mpt_sets;
    let mut found = Vec::new();
    // The fields are as good as random: one in `sets` collides.
    let most = 16 * sets as usize * count.max(4);
    for _ in 0..most {
        if found.len() == count {
            return Ok(found);
        }
        let mr = stage.register(tenant, 1, LEVEL_INLINE)?;
        if entry_set(mr.rkey, sets) == set {
            found.push(mr);
        }
    }
    Err(PythiaError::Keys { count, set }.into())
}

/// A group of lines of entries.
pub fn entry_group(keys: &[Mr], ways: usize) -> Group {
    let mut lines: Vec<Line> = keys
        .iter()
        .map(|mr| Line::of(read(Tenant::A, mr, 0)))
        .collect();
    let more = lines.split_off(ways.min(lines.len())).pop();
    Group { lines, more }
}

/// A stage with the attacker's lines in the victim's set, and regions of the victim in that set.
fn entries(setup: Setup) -> Result<(Stage, Vec<Group>, Vec<Mr>)> {
    let sizes = setup.config.sizes();
    let ways = sizes.mpt_ways as usize;
    let mut stage = Stage::new(&Setup {
        // More than it takes to find as many keys as are wanted here.
        table: (8 * sizes.mpt_sets * (sizes.mpt_ways + 2)).next_power_of_two(),
        ..setup
    })?;
    let first = stage.register(Tenant::B, 1, LEVEL_INLINE)?;
    let set = entry_set(first.rkey, sizes.mpt_sets);
    let mine = colliding(&mut stage, Tenant::A, set, ways + 1)?;
    let mut regions = vec![first];
    regions.extend(colliding(&mut stage, Tenant::B, set, 2 * ways)?);
    Ok((stage, vec![entry_group(&mine, ways)], regions))
}

/// Entries of regions: does the victim use a region?
pub fn mpt(setup: Setup, plan: &Plan) -> Result<Found> {
    let (stage, groups, regions) = entries(setup)?;
    // The victim uses a region that it has not used lately: its entry has to be read each time.
    let reads: Vec<Request> = regions.iter().map(|mr| read(Tenant::B, mr, 0)).collect();
    let attack = Attack {
        stage,
        groups,
        chosen: 0,
        victim: Line::new(move |n| reads[n as usize % reads.len()]),
        reload: None,
        slot: 160,
        fastest: u32::MAX,
        how: "set from the field of the victim's R_Key".into(),
    };
    attack.run(plan)
}

/// The same without a look at its own lines: the attacker sends a request with the victim's R_Key,
/// which is refused, and sooner if the victim has used it.
pub fn reload(setup: Setup, plan: &Plan) -> Result<Found> {
    let (stage, groups, regions) = entries(setup)?;
    let theirs = read(Tenant::B, &regions[0], 0);
    let attack = Attack {
        stage,
        groups,
        chosen: 0,
        victim: Line::of(theirs),
        reload: Some(Request {
            pd: Tenant::A.pd(),
            stream: Tenant::A.stream(),
            ..theirs
        }),
        slot: 160,
        fastest: u32::MAX,
        how: "a request of the attacker with the victim's R_Key, which is refused".into(),
    };
    attack.run(plan)
}

/// Lines of tables: does the victim use a page?
pub fn mtt(setup: Setup, plan: &Plan) -> Result<Found> {
    let mut stage = Stage::new(&Setup { table: 64, ..setup })?;
    let sizes = stage.sizes();
    let (sets, ways) = (u64::from(sizes.mtt_sets), u64::from(sizes.mtt_ways));
    let log_line = stage.log_line();
    // As `sub_set` of `tpt_mtt_walker`: lines h * sets + (c ^ h) of a flat table are in one set for
    // each c, whatever the index of the region.
    let page = move |c: u64, h: u64| (h * sets + (c ^ (h % sets))) << log_line;
    let mine = stage.register(Tenant::A, ((ways + 1) * sets) << log_line, LEVEL_FLAT)?;
    let groups = (0..sets).map(|c| {
        let line = |h| Line::of(read(Tenant::A, &mine, page(c, h)));
        Group {
            lines: (0..ways).map(line).collect(),
            more: Some(line(ways)),
        }
    });
    let groups = groups.collect();
    // The victim goes through pages of one set, so that it has to read each.
    let pages = 4 * ways;
    let theirs = stage.register(Tenant::B, (pages * sets) << log_line, LEVEL_FLAT)?;
    let victim = Line::new(move |n| read(Tenant::B, &theirs, page(0, n % pages)));
    let attack = Attack {
        stage,
        groups,
        chosen: 0,
        victim,
        reload: None,
        slot: 160,
        fastest: u32::MAX,
        how: "lines of one set by the hash of the RTL, which of the sets by timing".into(),
    };
    attack.run(plan)
}

/// Pages below the directory lines of a region of three levels.
#[derive(Clone, Copy, Debug)]
pub struct Tree {
    /// log2 of the pages below a directory line.
    log_below: u32,
    log_line: u32,
    /// Directory lines that are used one after the other, so that a leaf line that is used again has
    /// left the cache.
    turns: u64,
    dir_sets: u64,
}

impl Tree {
    /// For this unit.
    pub fn new(stage: &Stage) -> Self {
        let sizes = stage.sizes();
        let lines = 2 * u64::from(sizes.mtt_ways) * u64::from(sizes.mtt_sets);
        Self {
            log_below: LOG_TABLE + stage.log_line(),
            log_line: stage.log_line(),
            turns: lines.div_ceil(1 << LOG_TABLE).max(1),
            dir_sets: u64::from(sizes.dir_sets),
        }
    }

    /// Pages that a region needs for the first `sets` sets of the directory.
    pub fn pages(&self, sets: u64) -> u64 {
        (((self.turns - 1) * self.dir_sets) + sets) << self.log_below
    }

    /// The n-th page that is found by a directory line of set `c` (as far as the index of the region
    /// is known), each with a leaf line of its own.
    pub fn page(&self, c: u64, n: u64) -> u64 {
        let (leaf, turn) = (n % (1 << LOG_TABLE), (n >> LOG_TABLE) % self.turns);
        ((c + turn * self.dir_sets) << self.log_below) + (leaf << self.log_line)
    }

    /// The attacker's line of set `c`. Each access needs the directory, and puts its line there.
    pub fn line(self, request: Request, c: u64) -> Line {
        let start = request.va;
        Line::new(move |n| Request {
            va: start + self.page(c, n) * super::stage::PAGE,
            ..request
        })
    }
}

/// The directory: does the victim use pages below a directory line?
pub fn dir(setup: Setup, plan: &Plan) -> Result<Found> {
    let mut stage = Stage::new(&Setup { table: 64, ..setup })?;
    let tree = Tree::new(&stage);
    let mine = stage.register(Tenant::A, tree.pages(tree.dir_sets), 3)?;
    let start = read(Tenant::A, &mine, 0);
    // It is direct mapped, so a set has one line.
    let groups = (0..tree.dir_sets).map(|c| Group {
        lines: vec![tree.line(start, c)],
        more: None,
    });
    let groups = groups.collect();
    // The victim changes between directory lines of one set, and has to read each.
    let turns = tree.turns.max(4);
    let theirs = Tree { turns, ..tree };
    let region = stage.register(Tenant::B, theirs.pages(1), 3)?;
    let victim = Line::new(move |n| {
        let (turn, leaf) = (n % turns, n / turns % (1 << LOG_TABLE));
        read(Tenant::B, &region, theirs.page(0, turn << LOG_TABLE | leaf))
    });
    let attack = Attack {
        stage,
        groups,
        chosen: 0,
        victim,
        reload: None,
        slot: 320,
        fastest: u32::MAX,
        how: "directory lines by the hash of the RTL, which of them by timing".into(),
    };
    attack.run(plan)
}
