// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! One experiment: a scene, one fault, traffic over what it can affect, repair, and a look whether
//! anything is left of it.

use std::ops::Range;

use tpt_bench::axi::{AxiConfig, AxiError, Fault, FaultOn};
use tpt_bench::paging::Pager;
use tpt_bench::rig::{PagedMr, Spec, PAGED_RIGHTS};
use tpt_bench::rng::Rng;
use tpt_bench::{BenchError, Clocks, CommandExtra, DonePolicy, Pattern};
use tpt_golden::codec::{cmd, req, MptEntry, MPT_BYTES};
use tpt_golden::frames::Page;
use tpt_golden::mtt::Table;
use tpt_golden::regs::{self, status};
use tpt_golden::types::{
    flag, rereg, CmdOp, Command, Encoding, Key, Op, Request, Role, Status, LEVEL_FLAT, LEVEL_INLINE,
};
use tpt_verilated::{Config, DutError};

use super::check::Capacities;
use super::class::{Class, HostileCommand, MptFault, MttFault, ReadOf};
use super::judge::Severity;
use super::world::{Stop, What, World, COMMON_START, MPT_SIZE, QPN};

type Result<T = ()> = std::result::Result<T, Stop>;

/// What became of an experiment.
#[derive(Clone, Debug)]
pub struct Report {
    /// Number in the campaign.
    pub number: u64,
    /// Class of the fault.
    pub class: Class,
    /// The worst answer.
    pub severity: Severity,
    /// What it was.
    pub why: Option<String>,
    /// A wait came to its end.
    pub hang: Option<String>,
    /// Something was lost.
    pub leak: Option<String>,
    /// An assertion of the RTL failed in a way that `known` lists.
    pub known: Option<&'static str>,
    /// Redundancy says that what was corrupted is bad.
    pub found: bool,
    /// Reads outside of MPT and tables.
    pub stray_reads: u64,
    /// Clocks.
    pub clocks: u64,
}

impl Report {
    /// Nothing hangs, nothing is lost, nothing is wrong, and what must be found was found.
    pub fn is_good(&self) -> bool {
        let silent = matches!(
            self.severity,
            Severity::SilentInside | Severity::SilentOutside
        );
        self.hang.is_none()
            && self.leak.is_none()
            && self.severity != Severity::Wrong
            && !(silent && self.must_be_found())
    }

    /// Redundancy must find the fault: by its class, or because the CRC is wrong.
    pub fn must_be_found(&self) -> bool {
        self.class.must_be_found() || self.found
    }
}

/// The seed of experiment `number` of a campaign.
pub fn seed_of(campaign: u64, number: u64) -> u64 {
    let mut rng = Rng::new(campaign ^ number.wrapping_mul(0xd134_2543_de82_ef95));
    rng.next_u64()
}

/// Runs one experiment. `capacities` are those of a new unit. An error says that there is no model.
pub fn run(
    config: Config,
    campaign: u64,
    number: u64,
    capacities: &Capacities,
) -> std::result::Result<Report, DutError> {
    let class = Class::of(number);
    let mut report = Report {
        number,
        class,
        severity: Severity::Harmless,
        why: None,
        hang: None,
        leak: None,
        known: None,
        found: false,
        stray_reads: 0,
        clocks: 0,
    };
    let mut world = match World::new(config, seed_of(campaign, number), class) {
        Ok(world) => world,
        Err(stop) => {
            stopped(&mut report, stop, false)?;
            return Ok(report);
        }
    };
    let ended = world.conduct(capacities);
    (report.severity, report.why) = (world.severity, world.why.take());
    report.stray_reads = world.stray_reads;
    report.found = world.found;
    report.clocks = world.rig.bench.clock();
    match ended {
        Ok(leak) => report.leak = leak,
        Err(stop) => stopped(&mut report, stop, world.ends_ghost)?,
    }
    if let Some(error) = world.rig.bench.mismatches().first() {
        report.severity = Severity::Wrong;
        report.why = Some(error.to_string());
    }
    Ok(report)
}

fn stopped(report: &mut Report, stop: Stop, ends_ghost: bool) -> std::result::Result<(), DutError> {
    match stop {
        Stop::Bench(BenchError::Dut(error @ (DutError::NoModel(_) | DutError::Waves(_)))) => {
            return Err(error)
        }
        Stop::Bench(error @ BenchError::Timeout { .. }) => report.hang = Some(error.to_string()),
        Stop::Bench(error @ BenchError::Dut(_)) => {
            let text = error.to_string();
            report.known = known(report.class, ends_ghost, &text);
            if report.known.is_none() {
                report.severity = Severity::Wrong;
            }
            report.why = Some(text);
        }
        other => (report.severity, report.why) = (Severity::Wrong, Some(other.to_string())),
    }
    Ok(())
}

/// The finding that is known, and open: a failed assertion of this text, in this class, after a
/// DEREG_MR or DEALLOC_MW of a ghost, that is, of a key whose index the reference holds for free,
/// and before the unit is enabled again. It is counted
/// and printed by its name; without this function the campaign fails on it. See docs/faults.md.
pub(super) fn known(class: Class, ends_ghost: bool, text: &str) -> Option<&'static str> {
    let stale = class == Class::Mpt(MptFault::Stale);
    (stale && ends_ghost && text.contains("FreedOnce_A"))
        .then_some("a stale entry of a free index is freed a second time (assertion FreedOnce_A)")
}

impl World {
    /// The fault and all that follows. Returns what was lost.
    fn conduct(&mut self, capacities: &Capacities) -> Result<Option<String>> {
        // Nothing is said about the first place before the fault: it is in no cache.
        self.traffic(12, |place| place > 0);
        self.settle()?;
        self.nothing_yet()?;
        let hard = match self.class {
            Class::Mpt(fault) => self.corrupt_mpt(fault)?,
            Class::Mtt {
                directory, fault, ..
            } => self.corrupt_mtt(directory, fault)?,
            Class::ReadError(of) => self.read_error(of)?,
            Class::WriteError(nth) => self.write_error(nth)?,
            Class::Late => self.late()?,
            Class::Reset => self.reset()?,
            Class::ClientReset => self.client_reset()?,
            Class::Disable => self.disable()?,
            Class::Command(hostile) => self.hostile(hostile)?,
            Class::Request => self.random_requests()?,
            Class::Done => self.forged_dones()?,
            Class::Paging => self.paging()?,
        };
        self.repair(hard)?;
        // What comes now must be as if nothing had been.
        let severity = std::mem::replace(&mut self.severity, Severity::Harmless);
        let why = self.why.take();
        self.as_new()?;
        let retired = self.retired();
        let now = self.capacities()?;
        let missing = |retired| capacities.missing(&now, retired);
        let leak = match retired.map(missing) {
            Err(text) | Ok(Some(text)) => Some(text),
            Ok(None) => self.unrest()?,
        };
        if self.severity > Severity::Harmless {
            let text = self.why.take().unwrap_or_default();
            (self.severity, self.why) =
                (Severity::Wrong, Some(format!("after the repair: {text}")));
        } else {
            (self.severity, self.why) = (severity, why);
        }
        Ok(leak)
    }

    fn is_cached_class(&self) -> bool {
        matches!(
            self.class,
            Class::Mpt(MptFault::Cached)
                | Class::Mtt {
                    fault: MttFault::Cached,
                    ..
                }
        )
    }

    /// Before the fault every answer is the right one.
    fn nothing_yet(&mut self) -> Result {
        match (self.severity, self.why.take()) {
            (Severity::Harmless, _) => Ok(()),
            (severity, why) => Err(Stop::Unexpected(format!(
                "before the fault: {severity:?}, {}",
                why.unwrap_or_default()
            ))),
        }
    }

    /// Traffic that is under way when the fault comes, on everything but the first place; in the
    /// classes of cached lines on that one before. Where memory will be corrupted answers are judged
    /// here, and not by the bench, from now on.
    fn begin_traffic(&mut self) -> Result {
        if self.is_cached_class() {
            self.traffic(24, |place| place == 0);
        }
        self.settle()?;
        self.nothing_yet()?;
        match self.class {
            Class::Mpt(_) => self.rig.bench.stop_judging(true),
            Class::Mtt { .. } => self.rig.bench.stop_judging(false),
            _ => {}
        }
        self.traffic(20, |place| place > 0);
        let clocks = self.rng.below(80);
        self.run(clocks)?;
        self.nothing_yet()
    }

    // ---------------------------------------------------------------------------------------------
    // Corruption
    // ---------------------------------------------------------------------------------------------

    /// Corrupts an entry of the MPT. Like all faults, returns whether the host has to enable the unit
    /// again.
    fn corrupt_mpt(&mut self, fault: MptFault) -> Result<bool> {
        if fault == MptFault::Free {
            return self.corrupt_free();
        }
        let mut index = self.places[0].aim.index;
        let mut good = self.entry(index);
        if fault == MptFault::Stale {
            good = self.make_stale()?;
            index = self.places[0].aim.index;
        }
        self.begin_traffic()?;
        let now = self.entry(index);
        let bad = match fault {
            MptFault::Stale => good,
            MptFault::Misplaced => {
                let mut others: Vec<u32> = match self.rng.chance(1, 8) {
                    true => (0..MPT_SIZE).collect(),
                    false => self.places.iter().map(|place| place.aim.index).collect(),
                };
                others.retain(|other| self.entry(*other) != now);
                let place = self.rng.below(others.len() as u64) as usize;
                others.get(place).map_or(now, |other| self.entry(*other))
            }
            _ => corrupted(&mut self.rng, &now, fault),
        };
        self.corrupt_entry(index, &now, &bad)?;
        self.probe(40);
        self.traffic(12, |_| true);
        self.settle()?;
        let aim = self.places[0].aim.clone();
        let key = match aim.lkey {
            Key::NONE => aim.rkey,
            lkey => lkey,
        };
        let query = self.plain(CmdOp::Query, key, aim.pd);
        self.command(query, CommandExtra::default())?;
        let stale_end = fault == MptFault::Stale && self.rig.bench.golden.held(index).is_none();
        if stale_end || self.rng.chance(1, 2) {
            // The host finds out by a command, and enables the unit again.
            let rereg = Command {
                rereg: rereg::PD,
                new_pd: 1,
                ..self.plain(CmdOp::ReregMr, key, aim.pd)
            };
            let (end, extra) = self.end_command(0);
            let command = if self.rng.chance(1, 2) { rereg } else { end };
            // Whether the table is read any more after an OK to a forged entry is not the question.
            let extra = match self.is_replayed() {
                true => CommandExtra::default(),
                false => extra,
            };
            let freed = self.rig.bench.golden.held(index).is_none();
            let frees = [Some(CmdOp::DeregMr), Some(CmdOp::DeallocMw)];
            // Until the unit is enabled again: the list is written behind the completion.
            self.ends_ghost = freed && frees.contains(&command.operation());
            self.command(command, extra)?;
            return Ok(true);
        }
        // The host puts the entry right.
        let address = self.rig.bench.entry_address(index);
        self.rig.host.mem.write(address, &now);
        Ok(false)
    }

    /// Writes a corrupted entry of the MPT.
    fn corrupt_entry(
        &mut self,
        index: u32,
        now: &[u8; MPT_BYTES],
        bad: &[u8; MPT_BYTES],
    ) -> Result {
        changes(now, bad)?;
        self.found = MptEntry::decode(bad, index).is_err();
        self.hit.push(index);
        let address = self.rig.bench.entry_address(index);
        self.rig.host.mem.write(address, bad);
        Ok(())
    }

    /// The entry of the first place becomes a newer one. Returns the old one.
    fn make_stale(&mut self) -> Result<[u8; MPT_BYTES]> {
        // A region with windows on it stays as it is.
        for window in 0..self.places.len() {
            if matches!(self.places[window].what, What::Window { on: 0, .. }) {
                let (command, _) = self.end_command(window);
                self.command(command, CommandExtra::default())?;
            }
        }
        let place = self.places[0].aim.clone();
        let old = self.entry(place.index);
        self.ghosts.push(place.clone());
        match self.places[0].what {
            What::Region if self.rng.chance(1, 2) => {
                let command = self.rereg_command(0);
                let made = self.command(command, CommandExtra::default())?;
                if made.status == Status::Ok {
                    let aim = &mut self.places[0].aim;
                    (aim.lkey, aim.rkey) = (made.lkey, made.rkey);
                }
            }
            What::Fast => {
                let command = self.plain(CmdOp::Invalidate, place.lkey, place.pd);
                self.command(command, CommandExtra::default())?;
                let pages = self.fast_pages()?;
                // The host may choose the same tag again.
                self.places[0].spec = Some(pages);
                if let Some((command, extra)) = self.fast_command(0, place.lkey) {
                    let made = self.command(command, extra)?;
                    let (spec, _) = match &self.places[0].spec {
                        Some(spec) => spec,
                        None => return Ok(old),
                    };
                    let zero = spec.access.contains(tpt_golden::types::Access::ZERO_BASED);
                    let base = if zero { 0 } else { spec.start };
                    let length = spec.length;
                    let aim = &mut self.places[0].aim;
                    (aim.lkey, aim.rkey) = (made.lkey, made.rkey);
                    (aim.base, aim.length) = (base, length);
                }
            }
            _ => {
                let (command, _) = self.end_command(0);
                self.command(command, CommandExtra::default())?;
                if self.rng.chance(1, 4) {
                    // The index is not the last one of the free list any more.
                    let command = self.one_page(0);
                    let made = self.command(command, CommandExtra::default())?;
                    let command = self.plain(CmdOp::DeregMr, made.lkey, 1);
                    self.command(command, CommandExtra::default())?;
                }
            }
        }
        self.nothing_yet()?;
        Ok(old)
    }

    /// Corrupts an entry of the free list and registers.
    fn corrupt_free(&mut self) -> Result<bool> {
        let (_, free) = self.exhaust()?;
        self.begin_traffic()?;
        let index = match free.get(self.rng.below(free.len() as u64) as usize) {
            Some(index) => *index,
            None => return Ok(true),
        };
        let kind = match self.rng.below(3) {
            0 => MptFault::OneBit,
            1 => MptFault::TwoBits,
            _ => MptFault::Words,
        };
        let now = self.entry(index);
        let bad = corrupted(&mut self.rng, &now, kind);
        self.corrupt_entry(index, &now, &bad)?;
        let lkey = Key::new(self.rig.bench.golden.keys().field(Role::Local, index), 7);
        for client in 0..self.rig.bench.clients() {
            let request = Request {
                op: 0,
                key: lkey,
                va: 0x1000,
                len: 8,
                pd: 1,
                ..Request::default()
            };
            self.issue(client, request);
        }
        for _ in 0..6 {
            let command = self.one_page(0);
            let made = self.command(command, CommandExtra::default())?;
            if made.status != Status::Ok {
                break;
            }
        }
        self.probe(10);
        self.settle()?;
        Ok(true)
    }

    /// REG_MR of a region of one page, page `n` of the memory of the host.
    pub fn one_page(&mut self, n: u64) -> Command {
        let start = self.memory.windows.first().map_or(0, |window| window.start);
        Command {
            id: self.rig.id(),
            op: CmdOp::RegMr.code(),
            pd: 1,
            access: 0xf,
            start: 0x1000,
            length: 0x1000,
            log_page: 12,
            frame: [start + (n << 12), 0, 0, 0],
            ..Command::default()
        }
    }

    /// Registers until there is no index, and frees some: the next ones come from the free list.
    /// Returns the keys of the regions that are left, and the free indices.
    fn exhaust(&mut self) -> Result<(Vec<Key>, Vec<u32>)> {
        let mut keys = Vec::new();
        for _ in 0..MPT_SIZE {
            let command = self.one_page(0);
            let made = self.command(command, CommandExtra::default())?;
            if made.status != Status::Ok {
                break;
            }
            keys.push(made.lkey);
        }
        let mut free = Vec::new();
        for _ in 0..5 {
            if let Some(key) = keys.pop() {
                let command = self.plain(CmdOp::DeregMr, key, 1);
                self.command(command, CommandExtra::default())?;
                free.push(self.rig.bench.golden.keys().decode(key).1);
            }
        }
        Ok((keys, free))
    }

    /// Corrupts an entry of the table of the first place.
    fn corrupt_mtt(&mut self, directory: bool, fault: MttFault) -> Result<bool> {
        let Some((spec, table)) = self.places[0].spec.as_ref() else {
            return Err(Stop::Unexpected("the target has no table".into()));
        };
        let entries = entries_of(table, directory);
        let page = 1u64 << spec.list.log_page();
        let encoding = table.encoding();
        let skew = spec.start % page;
        let kind = match fault {
            MttFault::Cached => {
                let kinds = [MttFault::OneBit, MttFault::TwoBits, MttFault::Random];
                kinds[self.rng.below(3) as usize]
            }
            fault => fault,
        };
        let Some((victim, other)) = self.choose_entries(&entries, kind) else {
            return Err(Stop::Unexpected(format!("no entry for {}", self.class)));
        };
        let now = self.rig.host.mem.read_u64(victim.address);
        let foreign = match kind {
            MttFault::Foreign => self.foreign(directory, encoding, &victim),
            _ => None,
        };
        let bytes = |entry: &TableEntry| {
            let at = |n: u64| (n * page).saturating_sub(skew);
            at(entry.pages.start)..at(entry.pages.end)
        };
        self.focus = Some(bytes(&victim));
        let named = match kind {
            MttFault::Swapped => other.as_ref(),
            _ => foreign.as_ref().map(|(_, entry)| entry),
        };
        let targets = [Some(&victim), named].into_iter().flatten();
        let targets: Vec<Range<u64>> = targets.filter_map(|e| e.target.clone()).collect();
        let checked = encoding == Encoding::Checked && self.class.must_be_found();
        if checked && directory {
            // Nobody else reads what the corrupted entry names, so that it is seen if the unit does.
            self.avoided = foreign.as_ref().map(|(place, _)| *place);
        }
        self.begin_traffic()?;
        if checked && directory {
            self.unfollowed = targets;
        }
        let bad = match kind {
            MttFault::OneBit | MttFault::Cached => now ^ 1 << self.rng.below(64),
            MttFault::TwoBits => {
                let first = self.rng.below(64);
                let second = (first + self.rng.range(1, 63)) % 64;
                now ^ (1 << first | 1 << second)
            }
            MttFault::Random => match self.rng.next_u64() {
                same if same == now => !now,
                bad => bad,
            },
            MttFault::Zero => 0,
            MttFault::Swapped | MttFault::Foreign => {
                named.map_or(now, |entry| self.rig.host.mem.read_u64(entry.address))
            }
        };
        changes(&now, &bad)?;
        self.hit_bytes = vec![bytes(&victim)];
        self.rig.host.mem.write_u64(victim.address, bad);
        let swapped = other.filter(|_| kind == MttFault::Swapped);
        if let Some(other) = &swapped {
            self.rig.host.mem.write_u64(other.address, now);
            self.hit_bytes.push(bytes(other));
        }
        self.probe(40);
        self.traffic(12, |_| true);
        self.settle()?;
        (self.unfollowed, self.avoided) = (Vec::new(), None);
        // The host ends the region, or disables the unit, before it puts the table right.
        let hard = self.rng.chance(1, 3);
        if hard {
            self.stop()?;
        } else {
            self.dismantle()?;
        }
        self.rig.host.mem.write_u64(victim.address, now);
        if let Some(other) = &swapped {
            self.rig.host.mem.write_u64(other.address, bad);
        }
        if hard {
            self.enable()?;
        }
        Ok(false)
    }

    /// An entry that a fault of this kind changes, and one of its level that is another.
    fn choose_entries(
        &mut self,
        entries: &[TableEntry],
        kind: MttFault,
    ) -> Option<(TableEntry, Option<TableEntry>)> {
        let mem = &self.rig.host.mem;
        let value = |entry: &TableEntry| mem.read_u64(entry.address);
        let partners = |victim: &TableEntry| -> Vec<TableEntry> {
            let others = entries.iter().filter(|e| e.level == victim.level);
            others
                .filter(|e| value(e) != value(victim))
                .cloned()
                .collect()
        };
        let fits = |entry: &&TableEntry| match kind {
            MttFault::Zero => value(entry) != 0,
            MttFault::Swapped => !partners(entry).is_empty(),
            _ => true,
        };
        let fitting: Vec<&TableEntry> = entries.iter().filter(fits).collect();
        let place = self.rng.below(fitting.len() as u64) as usize;
        let victim = (*fitting.get(place)?).clone();
        let others = partners(&victim);
        let other = others.get(self.rng.below(others.len() as u64) as usize);
        Some((victim, other.cloned()))
    }

    /// An entry of the table of another region, and its place: of the same encoding and level if there
    /// is one, else of the same encoding. It is not what the victim is.
    fn foreign(
        &mut self,
        directory: bool,
        encoding: Encoding,
        victim: &TableEntry,
    ) -> Option<(usize, TableEntry)> {
        let now = self.rig.host.mem.read_u64(victim.address);
        let mut all: Vec<(bool, usize, TableEntry)> = Vec::new();
        for (place, of) in self.places.iter().enumerate().skip(1) {
            let Some((_, table)) = &of.spec else {
                continue;
            };
            let same = table.encoding() == encoding;
            let entries = entries_of(table, directory).into_iter();
            let entries = entries.filter(|e| self.rig.host.mem.read_u64(e.address) != now);
            all.extend(entries.map(|entry| (same, place, entry)));
        }
        let likeness = |(same, _, entry): &(bool, usize, TableEntry)| {
            u32::from(*same) * 2 + u32::from(entry.level == victim.level)
        };
        let most = all.iter().map(likeness).max()?;
        all.retain(|found| likeness(found) == most);
        let chosen = all.get(self.rng.below(all.len() as u64) as usize);
        chosen.map(|(_, place, entry)| (*place, entry.clone()))
    }

    // ---------------------------------------------------------------------------------------------
    // Errors of the memory port
    // ---------------------------------------------------------------------------------------------

    fn error(&mut self, range: Range<u64>, on: FaultOn) -> Fault {
        Fault {
            error: match self.rng.chance(1, 2) {
                true => AxiError::SlvErr,
                false => AxiError::DecErr,
            },
            times: match self.rng.below(4) {
                0 => None,
                n => Some(n as u32),
            },
            ..Fault::always(range, on)
        }
    }

    fn read_error(&mut self, of: ReadOf) -> Result<bool> {
        // Reads of the free list, or of what commands are about.
        let free_list = of == ReadOf::Engine && self.rng.chance(1, 3);
        if free_list {
            self.exhaust()?;
        }
        let entry = self.rig.bench.entry_address(self.places[0].aim.index);
        let entry = entry..entry + MPT_BYTES as u64;
        let table = self.places[0].spec.as_ref();
        let line = |directory| table.map_or(Vec::new(), |(_, table)| entries_of(table, directory));
        let range = match of {
            ReadOf::Mpt => entry,
            ReadOf::Engine if !free_list => entry,
            ReadOf::Engine => self.unit.mpt_range(),
            ReadOf::Leaf | ReadOf::Directory => {
                let entries = line(of == ReadOf::Directory);
                let place = self.rng.below(entries.len() as u64) as usize;
                match entries.get(place) {
                    Some(entry) => {
                        let page = 1u64 << self.places[0].aim.log_page;
                        self.focus = Some(entry.pages.start * page..entry.pages.end * page);
                        entry.address..entry.address + 8
                    }
                    None => entry,
                }
            }
        };
        self.begin_traffic()?;
        let fault = self.error(range, FaultOn::Read);
        self.rig.bench.axi.inject(fault);
        if of == ReadOf::Engine {
            for _ in 0..4 {
                let (command, extra) = match free_list {
                    true => (self.one_page(0), CommandExtra::default()),
                    false => self.some_command(0),
                };
                self.command(command, extra)?;
            }
        } else {
            self.traffic(40, |place| place == 0);
            self.probe(10);
        }
        self.settle()?;
        self.rig.bench.axi.clear_faults();
        self.probe(10);
        self.settle()?;
        Ok(self.rng.chance(1, 3))
    }

    /// A command on a place that succeeds, by all that is known.
    fn some_command(&mut self, place: usize) -> (Command, CommandExtra) {
        let aim = self.places[place].aim.clone();
        let none = CommandExtra::default();
        match (self.places[place].what.clone(), self.rng.below(4)) {
            (What::Window { flags, on }, n) => {
                let parent = self.places[on].aim.clone();
                match n {
                    0 => self.end_command(place),
                    1 if flags != 0 => {
                        let command = self.plain(CmdOp::Invalidate, aim.rkey, aim.pd);
                        (command, none)
                    }
                    1 | 2 => (self.bind_command(aim.rkey, &parent, flags), none),
                    _ => (self.plain(CmdOp::Query, aim.rkey, aim.pd), none),
                }
            }
            (What::Fast, 0) => (self.plain(CmdOp::Invalidate, aim.lkey, aim.pd), none),
            (What::Region, 0 | 1) => (self.rereg_command(place), none),
            (_, 0 | 1) => self.end_command(place),
            (_, 2) => {
                let command = Command {
                    length: 16,
                    log_page: 12,
                    ..self.plain(CmdOp::AllocMr, Key::NONE, 1)
                };
                (command, none)
            }
            _ => (self.plain(CmdOp::Query, aim.lkey, aim.pd), none),
        }
    }

    /// A command on a place that ends it, makes it again, or does something else with it.
    fn any_command(&mut self, place: usize) -> (Command, CommandExtra) {
        match self.rng.below(3) {
            0 => self.end_command(place),
            1 => match self.reg_command(place) {
                Some(found) => found,
                None => self.some_command(place),
            },
            _ => self.some_command(place),
        }
    }

    /// Write `nth` of the next commands is answered with an error, and perhaps the one that undoes it.
    fn write_error(&mut self, nth: u8) -> Result<bool> {
        if self.rng.chance(1, 4) {
            self.exhaust()?;
        }
        self.begin_traffic()?;
        let twice = self.rng.chance(1, 3);
        let fault = Fault {
            after: u32::from(nth),
            times: Some(if twice { 2 } else { 1 }),
            ..self.error(self.unit.mpt_range(), FaultOn::Write)
        };
        let before = self.rig.bench.axi.counters.write_errors;
        self.rig.bench.axi.inject(fault);
        for round in 0..8 {
            let (command, extra) = self.writing_command(nth, round);
            let errors = self.rig.bench.axi.counters.write_errors;
            let makes = matches!(
                command.operation(),
                Some(CmdOp::RegMr | CmdOp::AllocMr | CmdOp::AllocMw | CmdOp::RegPhys)
            );
            let completion = self.command(command, extra)?;
            let lost = self.rig.bench.axi.counters.write_errors - errors >= 2;
            if makes && lost && completion.status == Status::Bus {
                // The unit could not undo its write, and hands the index out no more.
                let clock = self.rig.bench.clock();
                if let Some(index) = self.rig.bench.golden.next_index() {
                    self.rig.bench.golden.retire(index, clock);
                }
            }
            if self.rig.bench.axi.counters.write_errors > before {
                break;
            }
        }
        self.rig.bench.axi.clear_faults();
        self.probe(10);
        self.settle()?;
        Ok(self.rng.chance(1, 3))
    }

    /// A command with more than `nth` writes, if there is one at hand.
    fn writing_command(&mut self, nth: u8, round: u64) -> (Command, CommandExtra) {
        let none = CommandExtra::default();
        let find = |world: &World, wanted: fn(&What) -> bool| {
            world.places.iter().position(|place| wanted(&place.what))
        };
        let window = find(
            self,
            |what| matches!(what, What::Window { flags, .. } if *flags != 0),
        );
        let old_window = find(self, |what| matches!(what, What::Window { flags: 0, .. }));
        let fast = find(self, |what| *what == What::Fast);
        let choice = self.rng.below(8) + if nth == 0 { 0 } else { 4 };
        match choice {
            0 => {
                let (command, extra) = match self.reg_command(0) {
                    Some(found) => found,
                    None => return self.end_command(0),
                };
                (command, extra)
            }
            1 => {
                let command = Command {
                    length: 16,
                    log_page: 12,
                    ..self.plain(CmdOp::AllocMr, Key::NONE, 1)
                };
                (command, none)
            }
            2 => {
                let command = Command {
                    flags: flag::MW2,
                    ..self.plain(CmdOp::AllocMw, Key::NONE, 1)
                };
                (command, none)
            }
            3 => {
                let command = Command {
                    start: self.memory.windows[0].start,
                    length: 0x1000,
                    access: 1,
                    ..self.plain(CmdOp::RegPhys, Key::NONE, 1)
                };
                (command, none)
            }
            4 => match window {
                Some(place) => {
                    let aim = self.places[place].aim.clone();
                    (self.plain(CmdOp::Invalidate, aim.rkey, aim.pd), none)
                }
                None => self.end_command(0),
            },
            5 | 6 => match old_window {
                Some(place) => {
                    let aim = self.places[place].aim.clone();
                    let on = match self.places[place].what {
                        What::Window { on, .. } => on,
                        _ => 0,
                    };
                    let parent = self.places[on].aim.clone();
                    (self.bind_command(aim.rkey, &parent, 0), none)
                }
                None => self.end_command(0),
            },
            7 => match window {
                Some(place) => self.end_command(place),
                None => self.end_command(0),
            },
            8 => match fast {
                Some(place) => {
                    let aim = self.places[place].aim.clone();
                    (self.plain(CmdOp::Invalidate, aim.lkey, aim.pd), none)
                }
                None => self.end_command(0),
            },
            9 | 10 => (self.rereg_command((round % 3) as usize), none),
            _ => self.end_command((round % 3) as usize),
        }
    }

    fn late(&mut self) -> Result<bool> {
        let before = self.rig.bench.axi.config().clone();
        self.begin_traffic()?;
        self.rig.bench.axi.configure(AxiConfig {
            read_latency: Clocks::fixed(10_000),
            write_latency: Clocks::fixed(10_000),
            reorder: self.rng.chance(1, 2),
            ..before.clone()
        });
        self.traffic(20, |_| true);
        let (command, extra) = self.end_command(0);
        self.rig.bench.post(command, extra);
        let clocks = self.rng.range(1, 200);
        self.run(clocks)?;
        self.rig.bench.axi.configure(before);
        self.traffic(40, |_| true);
        self.settle()?;
        Ok(self.rng.chance(1, 3))
    }

    // ---------------------------------------------------------------------------------------------
    // In flight
    // ---------------------------------------------------------------------------------------------

    /// Requests, commands and fences under way, with a slow memory and slow clients.
    fn storm(&mut self) -> Result {
        let slow = self.rng.range(20, 300) as u32;
        let reorder = self.rng.chance(1, 2);
        self.rig.bench.axi.configure(AxiConfig {
            read_latency: Clocks::range(1, slow),
            write_latency: Clocks::range(1, slow),
            reorder,
            interleave: reorder,
            ..AxiConfig::default()
        });
        for client in 0..self.rig.bench.clients() {
            let (bench, rng) = (&mut self.rig.bench, &mut self.rng);
            if rng.chance(1, 2) {
                bench.set_response_ready(client, Pattern::Random { percent: 30 });
            }
            if rng.chance(1, 3) {
                bench.set_done_policy(client, DonePolicy::Withheld);
            } else {
                bench.set_done_policy(client, DonePolicy::After(Clocks::range(0, 60)));
            }
        }
        self.traffic(60, |_| true);
        let clocks = self.rng.below(200);
        self.run(clocks)?;
        for _ in 0..self.rng.range(1, 5) {
            let place = self.rng.below(self.places.len() as u64) as usize;
            let (command, extra) = self.any_command(place);
            self.rig.bench.post(command, extra);
            self.traffic(6, |_| true);
        }
        let clocks = self.rng.below(400);
        self.run(clocks)
    }

    fn reset(&mut self) -> Result<bool> {
        self.storm()?;
        self.rig.bench.drop_queued();
        self.rig.bench.reset(&mut self.rig.host.mem)?;
        self.rig.bench.drop_queued();
        self.collect();
        self.since = self.rig.bench.stats.clone();
        self.release();
        // Answers to reads from before arrive while the unit clears its table, and after.
        self.enable()?;
        self.rig.bench.axi.configure(AxiConfig::default());
        self.enroll_all()?;
        self.probe(20);
        self.settle()?;
        Ok(false)
    }

    fn client_reset(&mut self) -> Result<bool> {
        self.storm()?;
        self.dropped = true;
        let client = self.rng.below(self.rig.bench.clients() as u64) as usize;
        self.rig
            .bench
            .reset_client(&mut self.rig.host.mem, client)?;
        self.collect();
        self.probe(10);
        let clocks = self.rng.below(100);
        self.run(clocks)?;
        self.release();
        self.settle()?;
        self.rig.bench.axi.configure(AxiConfig::default());
        Ok(self.rng.chance(1, 3))
    }

    fn disable(&mut self) -> Result<bool> {
        self.rig.bench.judge_answers = false;
        self.storm()?;
        self.rig.bench.disable(&mut self.rig.host.mem)?;
        let clocks = self.rng.below(100);
        self.run(clocks)?;
        if self.rng.chance(1, 3) {
            // Enabled again before the unit is idle: it waits.
            self.traffic(10, |_| true);
            let clocks = self.rng.below(50);
            self.run(clocks)?;
        }
        self.release();
        self.settle()?;
        self.unlock()?;
        self.rig.bench.axi.configure(AxiConfig::default());
        self.rig.bench.judge_answers = true;
        self.enable()?;
        self.enroll_all()?;
        self.probe(10);
        self.settle()?;
        Ok(false)
    }

    // ---------------------------------------------------------------------------------------------
    // Hostile hosts and clients
    // ---------------------------------------------------------------------------------------------

    fn hostile(&mut self, hostile: HostileCommand) -> Result<bool> {
        self.begin_traffic()?;
        match hostile {
            HostileCommand::Random => {
                for _ in 0..24 {
                    let words = std::array::from_fn(|_| self.rng.next_u64() as u32);
                    let id = self.rig.id();
                    let mut command = Command::unpack(&words);
                    if self.rng.chance(1, 2) {
                        command.op = self.rng.range(1, CmdOp::ALL.len() as u64) as u8;
                    }
                    let command = Command { id, ..command };
                    self.rig.bench.post(command, CommandExtra::default());
                }
            }
            HostileCommand::Flipped => {
                for _ in 0..16 {
                    let place = self.rng.below(self.places.len() as u64) as usize;
                    let (command, extra) = self.any_command(place);
                    let mut words = command.pack();
                    for _ in 0..self.rng.range(1, 3) {
                        let bit = self.rng.below(cmd::ID.lsb as u64) as usize;
                        words[bit / 32] ^= 1 << (bit % 32);
                    }
                    let command = Command::unpack(&words);
                    self.rig.bench.post(command, extra);
                }
            }
            HostileCommand::Keys => {
                for _ in 0..24 {
                    let op = CmdOp::ALL[self.rng.below(CmdOp::ALL.len() as u64) as usize];
                    let command = Command {
                        mkey: Key(self.rng.next_u64() as u32),
                        flags: self.rng.below(16) as u8,
                        rereg: self.rng.below(8) as u8,
                        ..self.plain(op, Key::NONE, 1)
                    };
                    let command = match self.rng.chance(1, 2) {
                        true => Command {
                            key: Key(self.rng.next_u64() as u32),
                            ..command
                        },
                        false => {
                            // An index of the table, in a role, and a guess of the tag.
                            let index = self.rng.below(u64::from(MPT_SIZE)) as u32;
                            let role = if self.rng.chance(1, 2) {
                                Role::Local
                            } else {
                                Role::Remote
                            };
                            let field = self.rig.bench.golden.keys().field(role, index);
                            let tag = self.rng.below(256) as u8;
                            Command {
                                key: Key::new(field, tag),
                                ..command
                            }
                        }
                    };
                    self.rig.bench.post(command, CommandExtra::default());
                }
            }
            HostileCommand::Ids => {
                let id = self.rig.id();
                for n in 0..6 {
                    let place = self.rng.below(self.places.len() as u64) as usize;
                    let aim = self.places[place].aim.clone();
                    let op = [CmdOp::Query, CmdOp::AllocMw, CmdOp::AllocMr][n % 3];
                    let key = match aim.lkey {
                        Key::NONE => aim.rkey,
                        lkey => lkey,
                    };
                    let command = Command {
                        id,
                        length: 8,
                        log_page: 12,
                        ..self.plain(op, key, aim.pd)
                    };
                    self.rig.bench.post(command, CommandExtra::default());
                    if n == 2 {
                        let (end, extra) = self.end_command(place);
                        self.rig.bench.post(Command { id, ..end }, extra);
                    }
                }
            }
            HostileCommand::Flood => self.flood()?,
            HostileCommand::Dead => {
                self.rig.bench.set_done_policy(0, DonePolicy::Withheld);
                self.traffic(10, |_| true);
                let clocks = self.rng.below(60);
                self.run(clocks)?;
                let place = self.rng.below(self.places.len() as u64) as usize;
                let (end, extra) = self.end_command(place);
                self.rig.bench.post(end, extra);
                for _ in 0..8 {
                    let (command, extra) = match self.rng.below(3) {
                        0 => self.end_command(place),
                        1 => {
                            // An index that nobody has.
                            let index = self.rng.range(20, 31) as u32;
                            let field = self.rig.bench.golden.keys().field(Role::Local, index);
                            let key = Key::new(field, self.rng.below(256) as u8);
                            let op = CmdOp::ALL[self.rng.below(CmdOp::ALL.len() as u64) as usize];
                            (self.plain(op, key, 1), CommandExtra::default())
                        }
                        _ => self.some_command(place),
                    };
                    self.rig.bench.post(command, extra);
                }
                self.traffic(20, |_| true);
                let clocks = self.rng.below(400);
                self.run(clocks)?;
                self.release();
            }
        }
        self.traffic(20, |_| true);
        self.settle()?;
        self.probe(10);
        self.settle()?;
        Ok(self.rng.chance(1, 3))
    }

    /// More commands that wait for a fence than there is room for.
    fn flood(&mut self) -> Result {
        let limit = match self.rng.chance(1, 2) {
            true => self.rng.range(1, 200) as u32,
            false => 0,
        };
        self.rig
            .bench
            .set_fence_time(&mut self.rig.host.mem, limit)?;
        self.rig.bench.set_done_policy(0, DonePolicy::Withheld);
        self.traffic(10, |_| true);
        let clocks = self.rng.below(60);
        self.run(clocks)?;
        let mut keys = Vec::new();
        for _ in 0..MPT_SIZE {
            let command = self.one_page(0);
            let made = self.command(command, CommandExtra::default())?;
            if made.status == Status::Ok {
                keys.push(made.lkey);
            }
        }
        for key in keys {
            let command = self.plain(CmdOp::DeregMr, key, 1);
            self.rig.bench.post(command, CommandExtra::default());
        }
        for place in 0..self.places.len() {
            let (command, extra) = self.end_command(place);
            self.rig.bench.post(command, extra);
        }
        let clocks = self.rng.below(2000);
        self.run(clocks)?;
        self.release();
        self.settle()?;
        self.rig.bench.set_fence_time(&mut self.rig.host.mem, 0)?;
        Ok(())
    }

    fn random_requests(&mut self) -> Result<bool> {
        self.begin_traffic()?;
        let clients = self.rig.bench.clients();
        for n in 0..60 {
            let request = match self.rng.chance(1, 2) {
                true => {
                    let words = std::array::from_fn(|_| self.rng.next_u64() as u32);
                    Request::unpack(&words)
                }
                false => {
                    let place = self.rng.below(self.places.len() as u64) as usize;
                    let aim = self.places[place].aim.clone();
                    let mut words = self.request(&aim, true).pack();
                    for _ in 0..self.rng.range(1, 4) {
                        let bit = self.rng.below(req::TAG.lsb as u64) as usize;
                        words[bit / 32] ^= 1 << (bit % 32);
                    }
                    Request::unpack(&words)
                }
            };
            self.issue(n % clients, request);
        }
        self.traffic(20, |_| true);
        self.settle()?;
        Ok(self.rng.chance(1, 3))
    }

    fn forged_dones(&mut self) -> Result<bool> {
        self.begin_traffic()?;
        // Of tags that nobody has.
        for _ in 0..12 {
            let client = self.rng.below(self.rig.bench.clients() as u64) as usize;
            let tag = self.rng.range(600, 1023) as u16;
            self.rig.bench.forge_done(client, tag);
        }
        self.traffic(12, |_| true);
        self.settle()?;
        // A second one for tags that were in use just now.
        for tag in 0..8 {
            for client in 0..self.rig.bench.clients() {
                if self.rig.bench.is_tag_free(client, tag) {
                    self.rig.bench.forge_done(client, tag);
                }
            }
        }
        self.settle()?;
        // Too early: memory has not answered yet.
        let config = self.rig.bench.axi.config().clone();
        self.rig.bench.axi.configure(AxiConfig {
            r_valid: Pattern::Never,
            ..AxiConfig::default()
        });
        for client in 0..self.rig.bench.clients() {
            let index = self.rng.range(25, 31) as u32;
            let field = self.rig.bench.golden.keys().field(Role::Remote, index);
            let request = Request {
                op: 2,
                key: Key::new(field, 9),
                len: 64,
                pd: 1,
                qpn: QPN,
                ..Request::default()
            };
            self.issue(client, request);
        }
        self.run(60)?;
        for client in 0..self.rig.bench.clients() {
            for tag in 0..1024 {
                if !self.rig.bench.is_tag_free(client, tag) {
                    self.rig.bench.forge_done(client, tag);
                }
            }
        }
        self.run(60)?;
        self.rig.bench.axi.configure(config);
        self.traffic(20, |_| true);
        self.settle()?;
        Ok(self.rng.chance(1, 3))
    }

    // ---------------------------------------------------------------------------------------------
    // Page faults
    // ---------------------------------------------------------------------------------------------

    /// A host that answers page faults of slots that have none, twice, without making the page
    /// present, or never, and takes pages back meanwhile.
    fn paging(&mut self) -> Result<bool> {
        self.begin_traffic()?;
        let pager = Pager::default();
        let mut regions = Vec::new();
        for _ in 0..2 {
            let level = [1, 2, 3, LEVEL_FLAT][self.rng.below(4) as usize];
            let pages = self.rng.range(5, 60);
            regions.extend(self.enroll_paged(&pager, level, pages)?);
        }
        let page = self.next_data();
        for _ in 0..self.rng.range(6, 16) {
            self.paged_traffic(&regions);
            self.traffic(4, |_| true);
            let clocks = self.rng.below(300);
            self.run(clocks)?;
            for _ in 0..self.rng.below(3) {
                let (slot, refuse) = (self.rng.below(6) as u8, self.rng.chance(1, 3));
                let id = self.rig.id();
                let command = self.rig.bench.page_ready(id, slot, refuse);
                self.rig.bench.post(command, CommandExtra::default());
            }
            for _ in 0..self.rng.below(4) {
                self.answer_wrongly(&pager, page)?;
            }
            if self.rng.chance(1, 6) {
                self.take_back(&pager, &regions);
            }
        }
        let end = self.rng.below(3);
        if end == 0 {
            // The host disables the unit with faults open, and never answers them.
            self.wait_commands()?;
            self.stop()?;
            self.settle()?;
            self.enable()?;
            self.enroll_all()?;
            return Ok(false);
        }
        if end == 1 {
            // Nor now: the fence of the regions' end does not wait for it.
            for mr in &regions {
                let command = self.plain(CmdOp::DeregMr, mr.lkey, 1);
                self.rig.bench.post(command, CommandExtra::default());
            }
            self.settle()?;
        }
        self.refuse_faults()?;
        self.probe(10);
        self.settle()?;
        Ok(self.rng.chance(1, 3))
    }

    /// Registers an on-demand region, all absent; `None` if the unit says no.
    pub(super) fn enroll_paged(
        &mut self,
        pager: &Pager,
        level: u8,
        pages: u64,
    ) -> Result<Option<PagedMr>> {
        let mut spec = Spec::new(COMMON_START, pages << 12, 12, 0)
            .access(PAGED_RIGHTS)
            .level(level);
        let encoding = self.rng.below(Encoding::ALL.len() as u64) as usize;
        spec.shape.encoding = Encoding::ALL[encoding];
        let table = self.rig.build_paged(&spec);
        let command = self.rig.reg_command(&spec, table.table());
        let pages = table.pages();
        let extra = CommandExtra {
            pages: Some(pages.clone()),
            ..CommandExtra::default()
        };
        let made = self.rig.command(command, extra)?;
        if made.status != Status::Ok {
            table.free(&mut self.rig.host);
            return Ok(None);
        }
        self.rig.give_to_pager(pager, made.index, table);
        Ok(Some(PagedMr {
            lkey: made.lkey,
            rkey: made.rkey,
            index: made.index,
            spec,
            pages,
        }))
    }

    fn paged_traffic(&mut self, regions: &[PagedMr]) {
        for _ in 0..self.rng.below(8) {
            let Some(mr) = regions.get(self.rng.below(regions.len().max(1) as u64) as usize) else {
                return;
            };
            let ops = [
                Op::LocalRead,
                Op::LocalWrite,
                Op::RemoteRead,
                Op::RemoteWrite,
            ];
            let op = ops[self.rng.below(4) as usize];
            let offset = self.rng.below(mr.spec.length);
            let most = (mr.spec.length - offset).min(0x3000);
            let len = self.rng.range(1, most) as u32;
            let request = Request {
                stream: self.rng.below(64) as u8,
                ..mr.request(op, mr.spec.start + offset, len)
            };
            let client = self.rng.below(self.rig.bench.clients() as u64) as usize;
            self.issue(client, request);
        }
    }

    /// Takes a fault, if one waits. Pages that the host makes present are in `frames`.
    fn answer_wrongly(&mut self, pager: &Pager, frames: u64) -> Result {
        // The bench knows of a fault when FAULT_POP is answered: no PAGE_READY may come between.
        self.wait_commands()?;
        let (bench, mem) = (&mut self.rig.bench, &mut self.rig.host.mem);
        let Some(fault) = bench.take_fault(mem)? else {
            return Ok(());
        };
        match self.rng.below(5) {
            0 => {}
            1 => bench.answer_open(fault.slot, false),
            2 => {
                bench.answer_open(fault.slot, false);
                bench.answer_open(fault.slot, self.rng.chance(1, 2));
            }
            3 => bench.answer_open(fault.slot, true),
            _ => {
                let pa = frames + (u64::from(fault.index) << 20) + (fault.page << 12);
                let page = Page::Present {
                    pa,
                    writable: fault.write,
                };
                let now = bench.clock();
                let set = pager.with(fault.index, |table| table.set(mem, fault.page, page, now));
                if let Some(Err(error)) = set {
                    return Err(Stop::Unexpected(format!("{fault:?}: {error}")));
                }
                bench.answer_open(fault.slot, false);
            }
        }
        Ok(())
    }

    /// Clears entries, and INVALIDATE_RANGE.
    fn take_back(&mut self, pager: &Pager, regions: &[PagedMr]) {
        let Some(mr) = regions.get(self.rng.below(regions.len().max(1) as u64) as usize) else {
            return;
        };
        let pages = mr.spec.list.pages();
        let first = self.rng.below(pages);
        let range = first..self.rng.range(first + 1, pages);
        let now = self.rig.bench.clock();
        pager.clear(&mut self.rig.host.mem, mr.index, range.clone(), now);
        let command = self.rig.invalidate_command(mr, range);
        self.rig.bench.post(command, CommandExtra::default());
    }

    /// Runs until every command is finished. Requests may be held: no command waits for them.
    fn wait_commands(&mut self) -> Result {
        for _ in 0..2000 {
            if self.rig.bench.commands_pending() == 0 {
                return Ok(());
            }
            self.run(20)?;
        }
        self.gave_up("the commands beside requests that are held")
    }

    /// Refuses every fault until no request is inside, and none is told any more.
    fn refuse_faults(&mut self) -> Result {
        for _ in 0..2000 {
            self.wait_commands()?;
            let (bench, mem) = (&mut self.rig.bench, &mut self.rig.host.mem);
            let none = bench.take_fault(mem)?.is_none();
            for fault in bench.unanswered_faults() {
                bench.answer_open(fault.slot, true);
            }
            let inside = (0..bench.clients()).any(|client| bench.requests_pending(client) > 0);
            let quiet = !inside && bench.commands_pending() == 0 && bench.open_faults().is_empty();
            if none && quiet {
                return self.settle();
            }
            self.run(20)?;
        }
        self.gave_up("the end of all page faults")
    }

    fn gave_up(&self, what: &str) -> Result {
        Err(Stop::Bench(BenchError::Timeout {
            clock: self.rig.bench.clock(),
            what: what.into(),
            outstanding: self.rig.bench.describe(),
        }))
    }

    // ---------------------------------------------------------------------------------------------
    // Repair
    // ---------------------------------------------------------------------------------------------

    /// As a host does: enables the unit again, or ends everything that is registered.
    fn repair(&mut self, hard: bool) -> Result {
        self.release();
        self.settle()?;
        if hard {
            self.stop()?;
            self.enable()?;
        }
        self.rig.bench.judge_answers = true;
        self.rig.bench.expect_mpt_bad = false;
        self.ghosts.clear();
        self.focus = None;
        self.dismantle()
    }

    /// Disables the unit and waits until nothing is inside.
    fn stop(&mut self) -> Result {
        self.rig.bench.disable(&mut self.rig.host.mem)?;
        self.unlock()
    }

    fn unlock(&mut self) -> Result {
        for _ in 0..2000 {
            let mem = &mut self.rig.host.mem;
            if self.rig.bench.read_register(mem, regs::STATUS)? & status::LOCKED == 0 {
                return Ok(());
            }
            self.run(10)?;
        }
        self.gave_up("the unit to be unlocked")
    }

    /// The first places are made again, and every answer is right.
    fn as_new(&mut self) -> Result {
        for place in 0..2.min(self.places.len()) {
            if matches!(self.places[place].what, What::Window { .. }) {
                continue;
            }
            self.enroll(place)?;
            let aim = self.places[place].aim.clone();
            for n in 0..12 {
                let request = self.request(&aim, n % 6 != 5);
                self.issue(n % self.rig.bench.clients(), request);
            }
        }
        self.settle()?;
        self.dismantle()
    }
}

/// An entry of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TableEntry {
    /// 1: a leaf, which names a page; else it names a table page of the level below.
    level: u8,
    /// Where it is.
    address: u64,
    /// Pages of the region that it is about.
    pages: Range<u64>,
    /// The table page that it names.
    target: Option<Range<u64>>,
}

/// Entries of a table in use: leaves, or those of all levels above.
fn entries_of(table: &Table, directory: bool) -> Vec<TableEntry> {
    let pages = table.entries();
    if !directory {
        let leaf = |page| {
            Some(TableEntry {
                level: 1,
                address: table.entry_pa(page)?,
                pages: page..page + 1,
                target: None,
            })
        };
        return (0..pages).filter_map(leaf).collect();
    }
    if matches!(table.level(), LEVEL_INLINE | LEVEL_FLAT) {
        return Vec::new();
    }
    let size = 1u64 << table.log_tpage();
    let per_page = size / 8;
    let mut entries = Vec::new();
    let mut span = 1;
    for level in 2..=table.level() {
        span *= per_page;
        let count = table.entries_of(level).unwrap_or(0);
        entries.extend((0..count).filter_map(|n| {
            let named = table.entry_at(level - 1, n * per_page)?;
            Some(TableEntry {
                level,
                address: table.entry_at(level, n)?,
                pages: n * span..((n + 1) * span).min(pages),
                target: Some(named..named + size),
            })
        }));
    }
    entries
}

/// A fault that changes nothing is none.
fn changes<T: PartialEq>(now: &T, bad: &T) -> Result {
    match now == bad {
        false => Ok(()),
        true => Err(Stop::Unexpected("the fault changes nothing".into())),
    }
}

/// Changes an entry of the MPT, for sure.
fn corrupted(rng: &mut Rng, now: &[u8; MPT_BYTES], fault: MptFault) -> [u8; MPT_BYTES] {
    let bits = 8 * MPT_BYTES as u64;
    // Bit n in the order in which the CRC takes them: the highest of a byte first.
    let flip = |bytes: &mut [u8; MPT_BYTES], n: u64| bytes[(n / 8) as usize] ^= 0x80 >> (n % 8);
    let mut bad = *now;
    match fault {
        MptFault::OneBit => flip(&mut bad, rng.below(bits)),
        MptFault::TwoBits => {
            let first = rng.below(bits);
            flip(&mut bad, first);
            flip(&mut bad, (first + rng.range(1, bits - 1)) % bits);
        }
        MptFault::Burst => {
            let length = rng.range(3, 16);
            let first = burst_start(rng, length);
            for n in 0..length {
                if n == 0 || n == length - 1 || rng.chance(1, 2) {
                    flip(&mut bad, first + n);
                }
            }
        }
        MptFault::Zero => bad = [0; MPT_BYTES],
        MptFault::Cached | MptFault::Free => {
            let kinds = [MptFault::OneBit, MptFault::TwoBits, MptFault::Words];
            let kind = kinds[rng.below(3) as usize];
            return corrupted(rng, now, kind);
        }
        MptFault::Words | MptFault::Misplaced | MptFault::Stale => {
            for _ in 0..rng.range(1, 16) {
                let word = 4 * rng.below(16) as usize;
                bad[word..word + 4].copy_from_slice(&(rng.next_u64() as u32).to_le_bytes());
            }
            if bad == *now {
                bad[0] ^= 1;
            }
        }
    }
    bad
}

/// Where a burst of this length begins: it lies in front of the CRC, in it, or behind it.
fn burst_start(rng: &mut Rng, length: u64) -> u64 {
    const CRC: Range<u64> = 112..128;
    const BITS: u64 = 8 * MPT_BYTES as u64;
    match rng.below(8) {
        0 => rng.range(CRC.start, CRC.end - length),
        1 | 2 => rng.range(0, CRC.start - length),
        _ => rng.range(CRC.end, BITS - length),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tpt_bench::rig::scatter;
    use tpt_golden::codec::{mpt_crc, seal};
    use tpt_golden::host::{Host, HostConfig};
    use tpt_golden::mtt::Shape;

    /// Which bursts of up to 16 bits the CRC finds, by all patterns at all places. Prints the figures
    /// that docs/faults.md has.
    #[test]
    fn what_the_crc_finds() {
        let remainder = |n: usize| {
            let mut bytes = [0; MPT_BYTES];
            bytes[n / 8] |= 0x80 >> (n % 8);
            // Bits of the field itself count as they are.
            match (112..128).contains(&n) {
                true => u16::from_le_bytes([bytes[14], bytes[15]]),
                false => mpt_crc(&bytes, 0),
            }
        };
        let crc_order: Vec<u16> = (0..512).map(remainder).collect();
        let memory_order: Vec<u16> = (0..512).map(|n| remainder(n / 8 * 8 + 7 - n % 8)).collect();
        let beside =
            |first: usize, end: usize| end <= 112 || first >= 128 || (first >= 112 && end <= 128);
        // Bursts beside the edges of the field or over one: all, missed, bits of the shortest missed.
        let bursts = |order: &[u16], over: bool| {
            let (mut all, mut missed, mut shortest) = (0u64, 0u64, None);
            for length in 1..=16usize {
                for first in 0..=512 - length {
                    if beside(first, first + length) == over {
                        continue;
                    }
                    let inner = length.saturating_sub(2);
                    for pattern in 0..1u32 << inner {
                        let mut sum = order[first];
                        if length > 1 {
                            sum ^= order[first + length - 1];
                        }
                        for n in 0..inner {
                            if pattern >> n & 1 == 1 {
                                sum ^= order[first + 1 + n];
                            }
                        }
                        all += 1;
                        if sum == 0 {
                            missed += 1;
                            shortest.get_or_insert(length);
                        }
                    }
                }
            }
            (all, missed, shortest)
        };
        let (inside, over) = (bursts(&crc_order, false), bursts(&crc_order, true));
        println!(
            "bursts of up to 16 bits beside the edges of the CRC's field: {} of {} missed\n\
             over an edge: {} of {} missed, the shortest of {} bits",
            inside.1,
            inside.0,
            over.1,
            over.0,
            over.2.unwrap_or_default()
        );
        assert_eq!(inside, (15_400_957, 0, None));
        assert_eq!(over, (917_506, 27, Some(11)));
        assert_eq!(bursts(&memory_order, false).1, 0);
        assert_eq!(bursts(&memory_order, true).1, 18);
        // Every two bits differ: no fault of two bits is missed.
        let mut all = crc_order.clone();
        all.sort_unstable();
        all.dedup();
        assert_eq!((all.len(), all.contains(&0)), (512, false));
    }

    /// Swapped entries are of one level, and what an entry of a directory names is where the entries
    /// below it are.
    #[test]
    fn entries_of_a_directory_know_their_level_and_what_they_name() {
        let mut host = Host::new(HostConfig::default());
        let list = Arc::new(scatter(12, 0x10_0000_0000, 1100));
        let shape = Shape {
            log_page: Some(12),
            level: Some(3),
            encoding: Encoding::Checked,
            ..Shape::default()
        };
        let table = Table::build(&mut host, &list, &shape, 3).expect("a table");
        let leaves = entries_of(&table, false);
        assert_eq!(leaves.len(), 1100);
        assert!(leaves.iter().all(|e| e.level == 1 && e.target.is_none()));
        let directory = entries_of(&table, true);
        let of = |level: u8| -> Vec<&TableEntry> {
            directory.iter().filter(|e| e.level == level).collect()
        };
        assert_eq!((of(2).len(), of(3).len(), directory.len()), (3, 1, 4));
        for entry in of(2) {
            let target = entry.target.clone().expect("a table page");
            for page in entry.pages.clone() {
                assert!(target.contains(&leaves[page as usize].address));
            }
        }
        let top = of(3)[0];
        assert_eq!(top.pages, 0..1100);
        let target = top.target.clone().expect("a table page");
        assert!(of(2).iter().all(|entry| target.contains(&entry.address)));
    }

    #[test]
    fn a_fault_that_changes_nothing_is_refused() {
        assert!(changes(&5u64, &5).is_err());
        assert_eq!(changes(&5u64, &4), Ok(()));
    }

    #[test]
    fn a_corrupted_entry_differs_and_its_crc_is_wrong() {
        let mut rng = Rng::new(5);
        let mut good = [0x5a; MPT_BYTES];
        seal(&mut good, 0);
        for fault in [MptFault::OneBit, MptFault::TwoBits, MptFault::Burst] {
            for _ in 0..2000 {
                let bad = corrupted(&mut rng, &good, fault);
                assert_ne!(bad, good);
                assert_ne!(mpt_crc(&bad, 0), u16::from_le_bytes([bad[14], bad[15]]));
            }
        }
    }
}
