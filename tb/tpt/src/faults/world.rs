// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! The scene of one experiment: a unit with regions of every kind, its traffic, and how its answers
//! are collected and judged.

use std::ops::Range;
use std::sync::Arc;

use tpt_bench::axi::AxiConfig;
use tpt_bench::rig::{scatter, Rig, Spec, ALL_RIGHTS};
use tpt_bench::rng::Rng;
use tpt_bench::{
    BenchError, BenchOptions, Clocks, CommandExtra, DonePolicy, Doubt, Issue, Outcome, Pattern,
    Stats, UnitConfig,
};
use tpt_golden::codec::MPT_BYTES;
use tpt_golden::frames::{FrameList, Page, PageSource};
use tpt_golden::mtt::{Shape, Table};
use tpt_golden::types::{
    flag, Access, CmdOp, Command, Completion, Encoding, Key, Op, Request, State, Status, Syndrome,
    LEVEL_FLAT, LEVEL_INLINE,
};
use tpt_verilated::Config;

use super::class::{Class, MptFault};
use super::judge::{followed, judge, judge_command, Circumstances, Hit, HostMemory, Severity};

/// Entries of the table of regions.
pub const MPT_SIZE: u32 = 32;
/// Clocks without any progress after which something hangs.
const PATIENCE: u64 = 40_000;
/// Memory that the host has given to the unit.
const DATA: [Range<u64>; 2] = [
    0x10_0000_0000..0x20_0000_0000,
    0x4000_0000_0000..0x4010_0000_0000,
];
/// Where half of the regions begin, as those of different processes would.
pub const COMMON_START: u64 = 0x7000_0000_0000;
/// What windows are bound with.
const WINDOW_RIGHTS: Access = Access(Access::REMOTE_READ.0 | Access::REMOTE_WRITE.0);

/// Why an experiment ends before its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// The bench gave up, or an assertion of the unit failed.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// A good command was refused, or the host has no memory for a table.
    #[error("{0}")]
    Unexpected(String),
}

type Result<T = ()> = std::result::Result<T, Stop>;

/// What requests need to know of a region or window.
#[derive(Clone, Debug, Default)]
pub struct Aim {
    /// L_Key; 0 for a window.
    pub lkey: Key,
    /// R_Key.
    pub rkey: Key,
    /// Index in the MPT.
    pub index: u32,
    /// Index of the region under a window.
    pub parent: Option<u32>,
    /// Bytes between the start of that region and that of the window.
    pub within: u64,
    /// Protection domain.
    pub pd: u32,
    /// Lowest address.
    pub base: u64,
    /// Bytes.
    pub length: u64,
    /// log2 of the page size.
    pub log_page: u8,
}

/// What a place is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A memory region.
    Region,
    /// A fast-registration region that is registered.
    Fast,
    /// A window, of these flags, on the region of another place.
    Window {
        /// Flags of ALLOC_MW.
        flags: u8,
        /// Place of its region.
        on: usize,
    },
    /// A physical region.
    Physical,
}

/// Something that requests are sent to.
#[derive(Debug)]
pub struct Place {
    /// What it is.
    pub what: What,
    /// What requests need to know.
    pub aim: Aim,
    /// Its pages, and its table.
    pub spec: Option<(Spec, Table)>,
    /// Tag of the keys of a fast registration.
    pub tag: u8,
}

/// Level, encoding, log2 of the page size, least and most pages.
type Template = (u8, Encoding, u8, u64, u64);

const TEMPLATES: [Template; 14] = [
    (LEVEL_INLINE, Encoding::Raw, 12, 1, 4),
    (1, Encoding::Raw, 12, 5, 60),
    (1, Encoding::Flagged, 12, 5, 60),
    (2, Encoding::Raw, 12, 600, 1300),
    (2, Encoding::Flagged, 12, 600, 1300),
    (3, Encoding::Raw, 12, 600, 1300),
    (3, Encoding::Flagged, 12, 600, 1300),
    (LEVEL_FLAT, Encoding::Raw, 12, 5, 60),
    (LEVEL_FLAT, Encoding::Flagged, 12, 5, 60),
    (1, Encoding::Raw, 21, 5, 12),
    (1, Encoding::Checked, 12, 5, 60),
    (2, Encoding::Checked, 12, 600, 1300),
    (3, Encoding::Checked, 12, 600, 1300),
    (LEVEL_FLAT, Encoding::Checked, 12, 5, 60),
];

/// The unit and everything around it.
pub struct World {
    /// Bench and host.
    pub rig: Rig,
    /// Registers.
    pub unit: UnitConfig,
    /// Random choices.
    pub rng: Rng,
    /// Everything that is registered. The first place is the one that faults are for.
    pub places: Vec<Place>,
    /// Keys of the past that must not open anything.
    pub ghosts: Vec<Aim>,
    /// Where the host's memory is.
    pub memory: HostMemory,
    /// Class of the fault.
    pub class: Class,
    /// Indices of the entries that were corrupted.
    pub hit: Vec<u32>,
    /// The CRC of the corrupted entry, or its place, says that it is bad.
    pub found: bool,
    /// Bytes of the first place that corrupted entries of its table are about.
    pub hit_bytes: Vec<Range<u64>>,
    /// Table pages that only a corrupted directory entry would have the unit read.
    pub unfollowed: Vec<Range<u64>>,
    /// A place that gets no requests.
    pub avoided: Option<usize>,
    /// A DEREG_MR or DEALLOC_MW named a ghost, whose index is free, since the unit was enabled.
    pub ends_ghost: bool,
    /// What the reference does not agree with, of commands that are not answered yet.
    doubts: Vec<Doubt>,
    /// Bytes of the first place that requests should go to more often than to others.
    pub focus: Option<Range<u64>>,
    /// The worst so far.
    pub severity: Severity,
    /// What the worst was.
    pub why: Option<String>,
    /// Reads of the unit outside of the MPT and of all tables.
    pub stray_reads: u64,
    /// Numbers of the bench when the counters of the unit began.
    pub since: Stats,
    /// Requests may have been dropped: some counters cannot be compared.
    pub dropped: bool,
    built: u64,
}

impl World {
    /// A scene for an experiment: the unit is enabled, everything is registered.
    pub fn new(config: Config, seed: u64, class: Class) -> Result<Self> {
        let mut world = Self::empty(config, seed, class)?;
        for template in world.cast() {
            world.build_region(template)?;
        }
        let parent = world.build_region(TEMPLATES[1])?;
        for flags in [0, flag::MW2] {
            world.build_window(parent, flags);
        }
        world.build_fast()?;
        if world.rng.chance(1, 2) {
            world.build_physical();
        }
        // The first place is the target.
        if matches!(class, Class::Mpt(_)) {
            let places = world.places.len() as u64;
            let chosen = world.rng.below(places) as usize;
            world.bring_forward(chosen);
        }
        world.enroll_all()?;
        Ok(world)
    }

    /// An enabled unit without regions.
    pub fn empty(config: Config, seed: u64, class: Class) -> Result<Self> {
        let mut rng = Rng::new(seed);
        let options = BenchOptions {
            config,
            seed: rng.next_u64(),
            axi: memory_of(&mut rng),
            patience: PATIENCE,
            stop_at_mismatch: false,
            ..BenchOptions::default()
        };
        let unit = UnitConfig {
            mpt_size: MPT_SIZE,
            plain: rng.chance(1, 4),
            merge: rng.chance(1, 3),
            phys: true,
            perm_secret: std::array::from_fn(|_| rng.next_u64() as u32),
            tag_secret: std::array::from_fn(|_| rng.next_u64() as u32),
            ..UnitConfig::default()
        };
        let mut world = Self {
            rig: Rig::disabled(options)?,
            unit,
            rng,
            places: Vec::new(),
            ghosts: Vec::new(),
            memory: HostMemory::default(),
            class,
            hit: Vec::new(),
            found: false,
            hit_bytes: Vec::new(),
            unfollowed: Vec::new(),
            avoided: None,
            ends_ghost: false,
            doubts: Vec::new(),
            focus: None,
            severity: Severity::Harmless,
            why: None,
            stray_reads: 0,
            since: Stats::default(),
            dropped: false,
            built: 0,
        };
        world.enable()?;
        world.rig.bench.axi.start_log();
        Ok(world)
    }

    /// Gives the unit its memory and enables it.
    pub fn enable(&mut self) -> Result {
        self.give_memory();
        let unit = self.unit.clone();
        self.rig.bench.enable(&mut self.rig.host.mem, &unit)?;
        self.ends_ghost = false;
        Ok(())
    }

    /// What the host gives to the unit. Where the unit compares addresses with host windows, these are
    /// put in force, and from then on an address outside of them is an error of the unit.
    fn give_memory(&mut self) {
        let built = self.rig.bench.config().sizes().host_windows;
        let checked = built as usize >= DATA.len();
        if checked {
            let inclusive = |window: &Range<u64>| window.start..=window.end - 1;
            self.unit.host_windows = DATA.iter().map(inclusive).collect();
        }
        self.memory = HostMemory {
            windows: DATA.to_vec(),
            checked,
        };
    }

    /// Which regions there are: the target first, then one of its kind, then others.
    fn cast(&mut self) -> Vec<Template> {
        let fits = |template: &Template| match self.class {
            Class::Mtt {
                encoding,
                directory,
                ..
            } => match directory {
                true => template.1 == encoding && (2..=3).contains(&template.0),
                false => template.1 == encoding && template.0 != LEVEL_INLINE,
            },
            Class::ReadError(super::class::ReadOf::Leaf) => template.0 != LEVEL_INLINE,
            Class::ReadError(super::class::ReadOf::Directory) => (2..=3).contains(&template.0),
            _ => true,
        };
        let fitting: Vec<Template> = TEMPLATES.into_iter().filter(fits).collect();
        let mut cast = Vec::new();
        for _ in 0..2 {
            let n = self.rng.below(fitting.len() as u64) as usize;
            cast.extend(fitting.get(n));
        }
        for _ in 0..3 {
            cast.push(TEMPLATES[self.rng.below(TEMPLATES.len() as u64) as usize]);
        }
        cast
    }

    fn bring_forward(&mut self, chosen: usize) {
        // Places of windows are named by number: they move along.
        self.places.swap(0, chosen);
        for place in &mut self.places {
            if let What::Window { on, .. } = &mut place.what {
                *on = match *on {
                    on if on == chosen => 0,
                    0 => chosen,
                    on => on,
                };
            }
        }
    }

    /// Memory that nobody has had before.
    pub fn next_data(&mut self) -> u64 {
        self.built += 1;
        let window = &DATA[(self.built % 2) as usize];
        window.start + (self.built << 28)
    }

    /// Pages and table of a region of this template.
    fn region(&mut self, template: Template) -> Result<(Spec, Table)> {
        let (level, encoding, log_page, least, most) = template;
        let pages = self.rng.range(least, most);
        let pa = self.next_data();
        let page = 1u64 << log_page;
        let start = match self.rng.chance(1, 2) {
            true => COMMON_START,
            false => COMMON_START + (self.built << 36),
        };
        let skew = match self.rng.chance(1, 3) {
            true => self.rng.below(page / 8) * 8,
            false => 0,
        };
        let room = pages * page - skew;
        // The last page is not whole, but it is there.
        let last = page - if pages == 1 { skew } else { 0 };
        let length = room - self.rng.below(last / 2);
        let mut access = ALL_RIGHTS;
        if self.rng.chance(1, 4) {
            access |= Access::RELAXED_ORDERING;
        }
        if self.rng.chance(1, 8) {
            access |= Access::ZERO_BASED;
        }
        let mut list: FrameList = scatter(log_page, pa, pages);
        if encoding != Encoding::Raw {
            // Some pages are not there, and some must not be written.
            for _ in 0..2 {
                let page = self.rng.below(pages);
                let changed = match (list.page(page), self.rng.chance(1, 2)) {
                    (Page::Present { pa, .. }, true) => Page::Present {
                        pa,
                        writable: false,
                    },
                    (other, true) => other,
                    (_, false) => Page::Absent,
                };
                list.set(page..page + 1, changed);
            }
        }
        let spec = Spec {
            pd: 1,
            start: start + skew,
            length,
            access,
            list,
            shape: Shape {
                log_page: Some(log_page),
                level: Some(level),
                encoding,
                ..Shape::default()
            },
        };
        let table = self.build_table(&spec)?;
        Ok((spec, table))
    }

    fn build_table(&mut self, spec: &Spec) -> Result<Table> {
        let list = Arc::new(spec.list.clone());
        let levels = self.rig.bench.config().sizes().max_levels;
        Table::build(&mut self.rig.host, &list, &spec.shape, levels)
            .map_err(|error| Stop::Unexpected(format!("no table: {error}")))
    }

    fn build_region(&mut self, template: Template) -> Result<usize> {
        let spec = self.region(template)?;
        self.add(What::Region, Some(spec));
        Ok(self.places.len() - 1)
    }

    /// Pages for one more registration of a fast-registration region.
    pub fn fast_pages(&mut self) -> Result<(Spec, Table)> {
        self.region((LEVEL_FLAT, Encoding::Flagged, 12, 5, 40))
    }

    fn build_fast(&mut self) -> Result {
        let spec = self.fast_pages()?;
        self.add(What::Fast, Some(spec));
        Ok(())
    }

    fn build_window(&mut self, on: usize, flags: u8) {
        self.add(What::Window { flags, on }, None);
    }

    fn build_physical(&mut self) {
        self.add(What::Physical, None);
    }

    fn add(&mut self, what: What, spec: Option<(Spec, Table)>) {
        self.places.push(Place {
            what,
            aim: Aim::default(),
            spec,
            tag: 0,
        });
    }

    // ---------------------------------------------------------------------------------------------
    // Commands
    // ---------------------------------------------------------------------------------------------

    /// A command that names a key and a PD.
    pub fn plain(&mut self, op: CmdOp, key: Key, pd: u32) -> Command {
        Command {
            id: self.rig.id(),
            op: op.code(),
            key,
            pd,
            ..Command::default()
        }
    }

    /// Sends a command, waits, and notes how it ended.
    pub fn command(&mut self, command: Command, extra: CommandExtra) -> Result<Completion> {
        let completion = self.rig.command(command, extra)?;
        self.note(&completion, Some(&command));
        Ok(completion)
    }

    fn good(&mut self, command: Command, extra: CommandExtra) -> Result<Completion> {
        let completion = self.command(command, extra)?;
        match completion.status {
            Status::Ok => Ok(completion),
            status => Err(Stop::Unexpected(format!(
                "{:?} was answered {status}: {command:?}",
                command.operation()
            ))),
        }
    }

    /// The command that registers a place, and what goes with it.
    pub fn reg_command(&mut self, place: usize) -> Option<(Command, CommandExtra)> {
        let (spec, table) = self.places.get(place)?.spec.as_ref()?;
        Some((self.rig.reg_command(spec, table), Rig::pages(spec)))
    }

    /// Makes everything, regions before the windows on them.
    pub fn enroll_all(&mut self) -> Result {
        for windows in [false, true] {
            for place in 0..self.places.len() {
                if windows == matches!(self.places[place].what, What::Window { .. }) {
                    self.enroll(place)?;
                }
            }
        }
        Ok(())
    }

    /// Registers, allocates and binds what a place is.
    pub fn enroll(&mut self, place: usize) -> Result {
        for range in self.table_ranges(place) {
            self.rig.bench.axi.allow(range);
        }
        let mut aim = Aim {
            pd: 1,
            log_page: 12,
            ..Aim::default()
        };
        if let Some((spec, _)) = &self.places[place].spec {
            let zero = spec.access.contains(Access::ZERO_BASED);
            aim.base = if zero { 0 } else { spec.start };
            aim.length = spec.length;
            aim.log_page = spec.list.log_page();
        }
        match self.places[place].what.clone() {
            What::Region => {
                self.clear_checked(place);
                if let Some((command, extra)) = self.reg_command(place) {
                    let made = self.good(command, extra)?;
                    (aim.lkey, aim.rkey) = (made.lkey, made.rkey);
                    self.fill_checked(place, made.index);
                }
            }
            What::Fast => {
                let command = Command {
                    length: 64,
                    log_page: 12,
                    encoding: Encoding::Flagged.code(),
                    ..self.plain(CmdOp::AllocMr, Key::NONE, 1)
                };
                let made = self.good(command, CommandExtra::default())?;
                self.places[place].tag = self.rng.range(1, 255) as u8;
                if let Some((command, extra)) = self.fast_command(place, made.lkey) {
                    let made = self.good(command, extra)?;
                    (aim.lkey, aim.rkey) = (made.lkey, made.rkey);
                }
            }
            What::Window { flags, on } => {
                let parent = self.places[on].aim.clone();
                let alloc = Command {
                    flags,
                    ..self.plain(CmdOp::AllocMw, Key::NONE, 1)
                };
                let made = self.good(alloc, CommandExtra::default())?;
                let command = self.bind_command(made.rkey, &parent, flags);
                (aim.base, aim.length) = (command.start, command.length);
                if flags != 0 && Access(command.access).contains(Access::ZERO_BASED) {
                    aim.base = 0;
                }
                // A region that is zero-based takes no window: then it stays unbound.
                let bound = self.command(command, CommandExtra::default())?;
                aim.rkey = match bound.status {
                    Status::Ok => bound.rkey,
                    _ => made.rkey,
                };
                aim.parent = Some(parent.index);
                aim.within = command.start.wrapping_sub(parent.base);
            }
            What::Physical => {
                let start = DATA[0].start + (1 << 34);
                let command = Command {
                    start,
                    length: 0x10_0000,
                    access: 0xf,
                    ..self.plain(CmdOp::RegPhys, Key::NONE, 1)
                };
                let made = self.good(command, CommandExtra::default())?;
                (aim.lkey, aim.rkey) = (made.lkey, made.rkey);
                (aim.base, aim.length) = (start, command.length);
            }
        }
        let key = if aim.lkey == Key::NONE {
            aim.rkey
        } else {
            aim.lkey
        };
        aim.index = self.rig.bench.golden.keys().decode(key).1;
        self.places[place].aim = aim;
        Ok(())
    }

    /// A table of encoding CHECKED is all zeros when its region is registered: the index is not known
    /// before.
    fn clear_checked(&mut self, place: usize) {
        let spec = self.places[place].spec.as_ref();
        if !spec.is_some_and(|(_, table)| table.encoding() == Encoding::Checked) {
            return;
        }
        for range in self.table_ranges(place) {
            let zeros = vec![0; (range.end - range.start) as usize];
            self.rig.host.mem.write(range.start, &zeros);
        }
    }

    /// And is filled then.
    fn fill_checked(&mut self, place: usize, index: u32) {
        if let Some((spec, table)) = &mut self.places[place].spec {
            self.rig.complete(table, &spec.list, index);
        }
    }

    /// FAST_REG_MR of a place.
    pub fn fast_command(&mut self, place: usize, lkey: Key) -> Option<(Command, CommandExtra)> {
        let tag = self.places[place].tag;
        let (command, extra) = self.reg_command(place)?;
        let command = Command {
            op: CmdOp::FastRegMr.code(),
            key: lkey,
            tag,
            ..command
        };
        Some((command, extra))
    }

    /// BIND_MW of a window to a part of a region.
    pub fn bind_command(&mut self, window: Key, parent: &Aim, flags: u8) -> Command {
        let first = self.rng.below(parent.length / 2);
        let length = self.rng.range(1, parent.length - first);
        let zero = flags != 0 && self.rng.chance(1, 4);
        let access = match zero {
            true => WINDOW_RIGHTS | Access::ZERO_BASED,
            false => WINDOW_RIGHTS,
        };
        Command {
            mkey: parent.lkey,
            access: access.0,
            start: parent.base.wrapping_add(first),
            length,
            tag: self.rng.range(1, 255) as u8,
            qpn: QPN,
            ..self.plain(CmdOp::BindMw, window, 1)
        }
    }

    /// DEREG_MR or DEALLOC_MW of a place. Its table must not be read after it.
    pub fn end_command(&mut self, place: usize) -> (Command, CommandExtra) {
        let release = self.table_ranges(place);
        let aim = self.places[place].aim.clone();
        let command = match self.places[place].what {
            What::Window { .. } => self.plain(CmdOp::DeallocMw, aim.rkey, aim.pd),
            _ => self.plain(CmdOp::DeregMr, aim.lkey, aim.pd),
        };
        let extra = CommandExtra {
            release,
            ..CommandExtra::default()
        };
        (command, extra)
    }

    /// REREG_MR that changes nothing but the keys.
    pub fn rereg_command(&mut self, place: usize) -> Command {
        let aim = self.places[place].aim.clone();
        Command {
            rereg: tpt_golden::types::rereg::PD,
            new_pd: aim.pd,
            ..self.plain(CmdOp::ReregMr, aim.lkey, aim.pd)
        }
    }

    /// Memory of the table of a place.
    pub fn table_ranges(&self, place: usize) -> Vec<Range<u64>> {
        let table = self.places.get(place).and_then(|place| place.spec.as_ref());
        table.map_or(Vec::new(), |(_, table)| {
            table.ranges().map(|r| r.pa..r.pa + r.len).collect()
        })
    }

    /// Ends everything that the reference knows to be in use.
    pub fn dismantle(&mut self) -> Result {
        for windows in [true, false] {
            for index in 1..MPT_SIZE {
                let held = self.rig.bench.golden.held(index);
                let Some((state, region)) = held.map(|(state, region)| (state, region.clone()))
                else {
                    continue;
                };
                if state == State::Invalid || region.kind.is_window() != windows {
                    continue;
                }
                let command = match windows {
                    true => self.plain(CmdOp::DeallocMw, region.rkey, region.pd),
                    false => self.plain(CmdOp::DeregMr, region.lkey, region.pd),
                };
                self.rig.bench.post(command, CommandExtra::default());
            }
            self.settle()?;
        }
        Ok(())
    }

    // ---------------------------------------------------------------------------------------------
    // Requests
    // ---------------------------------------------------------------------------------------------

    /// A good request to an aim, or one that a rule refuses.
    pub fn request(&mut self, aim: &Aim, good: bool) -> Request {
        let op = match aim.lkey == Key::NONE {
            true => [Op::RemoteRead, Op::RemoteWrite][self.rng.below(2) as usize],
            false => [
                Op::LocalRead,
                Op::LocalWrite,
                Op::RemoteRead,
                Op::RemoteWrite,
                Op::RemoteAtomic,
            ][self.rng.below(5) as usize],
        };
        let local = matches!(op, Op::LocalRead | Op::LocalWrite);
        let page = 1u64 << aim.log_page;
        let most = match self.rng.below(10) {
            0 => 1,
            1..=6 => page,
            _ => page * 6,
        };
        let mut range = 0..aim.length.max(1);
        let first = self.places.first();
        if let Some(focus) = self.focus.clone() {
            let here = first.is_some_and(|place| place.aim.index == aim.index);
            if here && self.rng.chance(3, 4) {
                range = focus.start.min(aim.length.saturating_sub(1))..focus.end.min(aim.length);
            }
        }
        let mut offset = self.rng.range(range.start, range.end.max(1) - 1);
        let mut len = self.rng.range(1, most.min(aim.length - offset).max(1)) as u32;
        if op == Op::RemoteAtomic {
            len = 8;
            let va = (aim.base.wrapping_add(offset) + 7) & !7;
            offset = va.wrapping_sub(aim.base);
            if offset.saturating_add(8) > aim.length {
                offset = (8 - aim.base % 8) % 8;
            }
        }
        let mut request = Request {
            op: op.code(),
            stream: self.rng.below(64) as u8,
            key: if local { aim.lkey } else { aim.rkey },
            va: aim.base.wrapping_add(offset),
            len,
            pd: aim.pd,
            qpn: QPN,
            ..Request::default()
        };
        if !good {
            match self.rng.below(6) {
                0 => request.key = Key(request.key.0 ^ 1 << self.rng.below(8)),
                1 => request.pd ^= 1 << self.rng.below(24),
                2 => request.va = request.va.wrapping_sub(aim.length),
                3 => request.len |= 1 << self.rng.range(24, 31),
                4 => request.va = aim.base.wrapping_add(aim.length).wrapping_sub(1),
                _ => request.key = Key(self.rng.next_u64() as u32),
            }
        }
        request
    }

    /// Queues a request.
    pub fn issue(&mut self, client: usize, request: Request) {
        let issue = Issue {
            keep_beats: true,
            ..Issue::default()
        };
        self.rig.bench.issue_with(client, request, issue);
    }

    /// Is it the place that gets no requests, or a window on it?
    fn is_avoided(&self, place: usize) -> bool {
        let on = match self.places[place].what {
            What::Window { on, .. } => on,
            _ => place,
        };
        self.avoided == Some(on)
    }

    /// Queues requests of both clients to places that `wanted` says.
    pub fn traffic(&mut self, count: u64, wanted: impl Fn(usize) -> bool) {
        let places: Vec<Aim> = (0..self.places.len())
            .filter(|place| wanted(*place) && !self.is_avoided(*place))
            .map(|place| self.places[place].aim.clone())
            .collect();
        if places.is_empty() {
            return;
        }
        let clients = self.rig.bench.clients() as u64;
        for n in 0..count {
            let which = self.rng.below(places.len() as u64) as usize;
            let good = self.rng.chance(7, 8);
            let request = self.request(&places[which], good);
            self.issue((n % clients) as usize, request);
        }
    }

    /// Queues requests to everything that can be affected: with both keys, from both clients, and with
    /// the keys of the past.
    pub fn probe(&mut self, to_target: u64) {
        let clients = self.rig.bench.clients();
        let target = self.places.first().map(|place| place.aim.clone());
        let mut aims: Vec<Aim> = (0..self.places.len())
            .filter(|place| !self.is_avoided(*place))
            .map(|place| self.places[place].aim.clone())
            .collect();
        aims.extend(self.ghosts.clone());
        aims.extend(self.ghosts.clone());
        for client in 0..clients {
            for aim in &aims {
                let request = self.request(aim, true);
                self.issue(client, request);
            }
        }
        for n in 0..to_target {
            if let Some(aim) = &target {
                let good = n % 8 != 7;
                let request = self.request(aim, good);
                self.issue((n % clients as u64) as usize, request);
            }
        }
    }

    // ---------------------------------------------------------------------------------------------
    // Answers
    // ---------------------------------------------------------------------------------------------

    /// Clocks, and what they have brought.
    pub fn run(&mut self, clocks: u64) -> Result {
        self.rig.run(clocks)?;
        self.collect();
        Ok(())
    }

    /// Waits until everything is answered.
    pub fn settle(&mut self) -> Result {
        self.rig.wait_idle()?;
        self.collect();
        Ok(())
    }

    /// Clients and host take everything at once from here on; what was withheld is given.
    pub fn release(&mut self) {
        let bench = &mut self.rig.bench;
        bench.axi.clear_faults();
        bench.set_completion_ready(Pattern::Always);
        for client in 0..bench.clients() {
            bench.set_response_ready(client, Pattern::Always);
            bench.set_request_valid(client, Pattern::Always);
            bench.set_done_policy(client, DonePolicy::IMMEDIATE);
            bench.release_dones(client);
        }
    }

    /// Notes something; the worst stays.
    pub fn worst(&mut self, severity: Severity, why: impl FnOnce() -> String) {
        if severity > self.severity {
            self.severity = severity;
            self.why = Some(why());
        }
    }

    /// Judges everything that was answered since the last call.
    pub fn collect(&mut self) {
        while let Some(outcome) = self.rig.bench.poll() {
            self.judge_outcome(&outcome);
        }
        while let Some(finished) = self.rig.bench.poll_completion() {
            self.note(&finished.completion, finished.command.as_ref());
        }
        if let Some(doubt) = self.doubts.pop() {
            self.worst(Severity::Wrong, || {
                format!("of no completion: {}", doubt.text)
            });
            self.doubts.clear();
        }
        self.count_reads();
    }

    fn judge_outcome(&mut self, outcome: &Outcome) {
        if self.rig.bench.judge_answers {
            // The bench has compared every beat.
            if matches!(outcome.syndrome, Syndrome::Bus | Syndrome::MptBad) {
                self.worst(Severity::Reported, || format!("{}", outcome.syndrome));
            }
            return;
        }
        let index = self.rig.bench.golden.keys().decode(outcome.request.key).1;
        let bytes = self.bytes_of(index, outcome.request.va);
        let hit = match self.class {
            Class::Mtt { .. } if !bytes.is_empty() => Hit::Bytes(&bytes),
            Class::Mpt(_) if self.is_hit(index) => Hit::Entry { found: self.found },
            _ => Hit::Nothing,
        };
        let circumstances = Circumstances {
            class: self.class,
            hit,
            memory: &self.memory,
        };
        let judged = judge(&outcome.beats, &outcome.expected, &circumstances);
        self.worst(judged.severity, || {
            format!(
                "{} {:?}: {:?}, right would be {:?}",
                judged.why.unwrap_or("reported:"),
                outcome.request,
                outcome.beats,
                outcome.expected
            )
        });
    }

    /// Is it the corrupted entry, or that of a window on its region?
    fn is_hit(&self, index: u32) -> bool {
        let aims = self.places.iter().map(|place| &place.aim);
        let mut around = aims
            .chain(&self.ghosts)
            .filter(|aim| aim.index == index)
            .filter_map(|aim| aim.parent)
            .chain([index]);
        around.any(|index| self.hit.contains(&index))
    }

    /// Which bytes of a request, by the key of this index and from this address on, corrupted entries
    /// of the first place's table are about.
    fn bytes_of(&self, index: u32, va: u64) -> Vec<Range<u64>> {
        let Some(first) = self.places.first().map(|place| place.aim.index) else {
            return Vec::new();
        };
        let on_first = |aim: &&Aim| {
            let region = aim.parent.unwrap_or(aim.index);
            aim.index == index && region == first
        };
        let aim = self.places.iter().map(|place| &place.aim).find(on_first);
        aim.map_or(Vec::new(), |aim| {
            let start = va.wrapping_sub(aim.base).wrapping_add(aim.within);
            let hit = self.hit_bytes.iter();
            hit.filter(|hit| hit.end > start)
                .map(|hit| hit.start.saturating_sub(start)..hit.end - start)
                .collect()
        })
    }

    /// What of the entries that a command reads was corrupted.
    fn hit_of(&self, command: &Command) -> Hit<'static> {
        let golden = &self.rig.bench.golden;
        let entry = Hit::Entry { found: self.found };
        let Some(op) = command.operation() else {
            return Hit::Nothing;
        };
        let takes = matches!(
            op,
            CmdOp::RegMr | CmdOp::AllocMr | CmdOp::AllocMw | CmdOp::RegPhys
        );
        if takes {
            // Of the free list.
            return match self.class {
                Class::Mpt(MptFault::Free) => entry,
                _ => Hit::Nothing,
            };
        }
        let named = golden.keys().decode(command.key).1;
        let region = match op {
            CmdOp::BindMw => Some(golden.keys().decode(command.mkey).1),
            _ => None,
        };
        let mut around = golden.parents(named);
        around.extend(region);
        match self.is_hit(named) || around.iter().any(|index| self.hit.contains(index)) {
            true => entry,
            false => Hit::Nothing,
        }
    }

    /// Notes how a command has ended.
    fn note(&mut self, completion: &Completion, command: Option<&Command>) {
        let mut doubts = std::mem::take(&mut self.doubts);
        doubts.extend(self.rig.bench.take_doubts());
        if self.class == Class::Disable {
            // What is in memory of a unit that is disabled says nothing: it is cleared.
            doubts.retain(|doubt| !doubt.of_entry);
        }
        let (mine, others): (Vec<Doubt>, Vec<Doubt>) = doubts
            .into_iter()
            .partition(|doubt| doubt.id == completion.id);
        self.doubts = others;
        let circumstances = Circumstances {
            class: self.class,
            hit: command.map_or(Hit::Nothing, |command| self.hit_of(command)),
            memory: &self.memory,
        };
        let judged = judge_command(completion.status, !mine.is_empty(), &circumstances);
        self.worst(judged.severity, || {
            let text: Vec<&str> = mine.iter().map(|doubt| doubt.text.as_str()).collect();
            let why = judged.why.unwrap_or("reported:");
            format!("{why} {completion} {}", text.join("; "))
        });
    }

    /// Counts reads that are neither of the MPT nor of a table.
    fn count_reads(&mut self) {
        let log = self.rig.bench.axi.take_log();
        if !matches!(self.class, Class::Mtt { .. } | Class::Mpt(_)) || self.places.is_empty() {
            return;
        }
        let beat = u64::from(self.rig.bench.config().sizes().axi_bytes);
        let mut known = vec![self.unit.mpt_range()];
        known.extend((0..self.places.len()).flat_map(|place| self.table_ranges(place)));
        let stray = |address: u64| {
            let touches =
                |r: &Range<u64>| address < r.end && r.start < address.saturating_add(beat);
            !known.iter().any(touches)
        };
        let count = log.iter().filter(|(_, address)| stray(*address)).count() as u64;
        self.stray_reads += count;
        let count_followed = followed(&log, beat, &self.unfollowed);
        if count_followed > 0 {
            self.worst(Severity::Wrong, || {
                format!("{count_followed} reads of what a corrupted directory entry names")
            });
        }
        // A fault that is found is not followed.
        let checked = matches!(
            self.class,
            Class::Mtt {
                encoding: Encoding::Checked,
                ..
            }
        );
        if count > 0 && checked && self.class.must_be_found() {
            self.worst(Severity::Wrong, || {
                format!("{count} reads outside of the MPT and of all tables")
            });
        }
    }

    /// The bytes of an entry of the MPT.
    pub fn entry(&self, index: u32) -> [u8; MPT_BYTES] {
        let mut bytes = [0; MPT_BYTES];
        let address = self.rig.bench.entry_address(index);
        self.rig.host.mem.read(address, &mut bytes);
        bytes
    }

    /// Is it a scene in which the MPT is corrupted so that its CRC is right?
    pub fn is_replayed(&self) -> bool {
        matches!(self.class, Class::Mpt(MptFault::Stale | MptFault::Zero))
    }
}

/// Queue pair of every request.
pub const QPN: u32 = 0x77;

/// How memory behaves in an experiment.
fn memory_of(rng: &mut Rng) -> AxiConfig {
    match rng.below(4) {
        0 => AxiConfig::hostile(30),
        1 => AxiConfig {
            read_latency: Clocks::range(1, 40),
            reorder: true,
            interleave: true,
            ..AxiConfig::default()
        },
        _ => AxiConfig {
            read_latency: Clocks::range(1, 12),
            ..AxiConfig::default()
        },
    }
}
