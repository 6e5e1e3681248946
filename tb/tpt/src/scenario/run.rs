// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Runs scenarios.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{json, Value};
use tpt_golden::frames::{FrameList, Page};
use tpt_golden::keys::KeyMaker;
use tpt_golden::mtt::Shape;
use tpt_golden::types::{Access, Key, Op, Request, Role, Status, Syndrome};

use super::parse::{
    Bad, Deregister, Invalidate, Layout, RegionGroup, Scenario, Step, Traffic, WindowGroup,
};
use crate::addresses;
use crate::machine::key_maker;
use crate::report::{Counted, Operations};
use crate::target::{
    Access1, Answer, Bind, Damage, FastRegion, FastRegistration, Invalidator, MwType, Refused,
    Region, RegionId, Registration, Target, TargetError, WindowId, REQUESTER, RESPONDER,
};

/// Requests that are sent together.
const BATCH: usize = 2048;
/// Pages handed out in one batch at most: bounds the memory that answers need.
const PAGES_PER_BATCH: u64 = 1 << 20;
/// Start addresses of regions: apart by this much, or by their size.
const APART: u64 = 1 << 36;
/// Frames of regions lie from here on.
const FRAMES: u64 = 1 << 52;
/// First address of regions.
const ADDRESSES: u64 = 0x0000_1000_0000_0000;
/// From this number of pages on a table is computed when it is read instead of written.
const LAZY: u64 = 1 << 25;
/// A scattered region has at most so many pieces; longer ones repeat the pattern in larger pieces.
const PIECES: u64 = 4096;

/// SplitMix64.
#[derive(Debug, Clone)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    fn within(&mut self, low: u64, high: u64) -> u64 {
        low + self.below((high - low).saturating_add(1))
    }

    fn percent(&mut self, percent: u32) -> bool {
        self.below(100) < u64::from(percent)
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len() as u64) as usize)
    }
}

/// What a run found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunReport {
    /// Figures.
    pub operations: Operations,
    /// What was found wrong: the first ones, in words.
    pub mismatches: Vec<String>,
    /// Number of mismatches.
    pub mismatch_count: u64,
}

impl RunReport {
    /// In words. The last line is `mismatches: N`.
    pub fn text(&self) -> String {
        let mut out = self.operations.text();
        for m in &self.mismatches {
            out += &format!("MISMATCH {m}\n");
        }
        out + &format!("mismatches: {}\n", self.mismatch_count)
    }

    /// For machines.
    pub fn json(&self) -> Value {
        let mut map = self.operations.json();
        map.insert("mismatches".into(), json!(self.mismatch_count));
        map.insert("mismatch_texts".into(), json!(self.mismatches));
        Value::Object(map)
    }
}

#[derive(Debug, Clone)]
struct Live {
    region: Region,
    group: usize,
    pd: u32,
    start: u64,
    length: u64,
    access: Access,
    frames: Arc<FrameList>,
    /// Bytes from the first frame to the first byte.
    skip: u64,
    /// What only windows have.
    window: Option<LiveWindow>,
}

/// A window among the regions; `region.rkey` of its entry is its key.
#[derive(Debug, Clone, Copy)]
struct LiveWindow {
    id: WindowId,
    kind: MwType,
    qpn: u32,
    /// Place of the region it is bound to.
    parent: usize,
}

/// A named group.
#[derive(Debug, Clone)]
enum Group {
    Regions(RegionGroup),
    Windows(WindowGroup),
}

impl Group {
    fn name(&self) -> &str {
        match self {
            Group::Regions(g) => &g.name,
            Group::Windows(g) => &g.name,
        }
    }
}

impl Live {
    /// First address that requests may name.
    fn base(&self) -> u64 {
        if self.access.contains(Access::ZERO_BASED) {
            0
        } else {
            self.start
        }
    }

    fn allows(&self, op: Op) -> bool {
        let role = self.window.is_none() || op.role() == Role::Remote;
        role && self.access.contains(op.needed_right())
    }

    /// A key that names its index.
    fn any_key(&self) -> Key {
        match self.window {
            Some(_) => self.region.rkey,
            None => self.region.lkey,
        }
    }
}

/// What a sent request must end with.
#[derive(Debug, Clone, Copy)]
enum Expect {
    /// The answer of the region with this place in the list, for this byte of it.
    Good { region: usize, at: u64 },
    /// One of these syndromes.
    Refused(Syndrome),
    /// Anything: its region is deregistered meanwhile.
    Race,
}

struct Runner<'a> {
    target: &'a mut dyn Target,
    groups: Vec<Group>,
    live: Vec<Option<Live>>,
    stale: Vec<(Key, Key, u32)>,
    keys: KeyMaker,
    table: u32,
    random: Random,
    next_address: u64,
    next_frame: u64,
    report: RunReport,
}

/// Runs a scenario on a target that is not enabled yet.
pub fn run(
    target: &mut dyn Target,
    scenario: &Scenario,
    seed: u64,
    progress: &mut dyn FnMut(u64),
) -> Result<RunReport, (Box<RunReport>, TargetError)> {
    let mut counted = Counted::new(target);
    let mut r = Runner {
        target: &mut counted,
        groups: Vec::new(),
        live: Vec::new(),
        stale: Vec::new(),
        keys: key_maker(seed),
        table: scenario.unit.table,
        random: Random(seed),
        next_address: ADDRESSES,
        next_frame: FRAMES,
        report: RunReport::default(),
    };
    let mut result = r.all(scenario, progress);
    let mut report = r.report;
    report.operations = counted.operations.clone();
    if result.is_ok() {
        match counted.finish() {
            Ok(operations) => report.operations = operations,
            Err(e) => result = Err(e),
        }
    }
    match result {
        Ok(()) => Ok(report),
        Err(e) => {
            if let TargetError::Mismatch { text, .. } = &e {
                report.mismatch(text.clone());
            }
            Err((Box::new(report), e))
        }
    }
}

/// Requests that a scenario sends, for progress bars.
pub fn length(scenario: &Scenario) -> u64 {
    let of = |name: &str| {
        scenario.steps.iter().find_map(|s| match s {
            Step::Traffic(t) if t.name == name => Some(t.requests),
            _ => None,
        })
    };
    let once: u64 = scenario
        .steps
        .iter()
        .map(|s| match s {
            Step::Traffic(t) => t.requests,
            Step::Deregister(d) => d.under.as_deref().and_then(of).unwrap_or(0),
            Step::Register(_) | Step::Bind(_) | Step::Invalidate(_) => 0,
        })
        .sum();
    once.saturating_mul(u64::from(scenario.unit.repeat))
}

impl RunReport {
    fn mismatch(&mut self, text: String) {
        self.mismatch_count += 1;
        if self.mismatches.len() < 50 {
            self.mismatches.push(text);
        }
    }
}

fn client(op: Op) -> u8 {
    match op.role() {
        Role::Local => REQUESTER,
        Role::Remote => RESPONDER,
    }
}

impl Runner<'_> {
    fn all(
        &mut self,
        scenario: &Scenario,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), TargetError> {
        let wants_disabled = scenario.steps.iter().any(|s| match s {
            Step::Traffic(t) => t
                .bad
                .as_ref()
                .is_some_and(|b| b.choices.iter().any(|(k, w)| *k == Bad::Disabled && *w > 0)),
            _ => false,
        });
        if wants_disabled {
            // Only possible before the unit is enabled: whatever key is given.
            for op in [Op::LocalRead, Op::RemoteWrite] {
                let access = Access1 {
                    client: client(op),
                    request: Request {
                        op: op.code(),
                        key: Key(self.random.next() as u32),
                        len: 64,
                        ..Request::default()
                    },
                };
                let answer = self.target.access_disabled(&access)?;
                self.judge(&access, &answer, Expect::Refused(Syndrome::Disabled));
            }
        }
        self.target.enable()?;
        for _ in 0..scenario.unit.repeat {
            for step in &scenario.steps {
                match step {
                    Step::Register(g) => self.register_group(g)?,
                    Step::Traffic(t) => self.traffic(t, progress)?,
                    Step::Deregister(d) => self.deregister(scenario, d, progress)?,
                    Step::Bind(g) => self.bind_group(g)?,
                    Step::Invalidate(i) => self.invalidate(i)?,
                }
            }
            // Windows come after their regions, and must go before them.
            for place in (0..self.live.len()).rev() {
                self.release(place)?;
            }
            self.live.clear();
            self.groups.clear();
        }
        Ok(())
    }

    // -- Regions ----------------------------------------------------------------------------------

    fn register_group(&mut self, g: &RegionGroup) -> Result<(), TargetError> {
        let group = self.groups.len();
        self.groups.push(Group::Regions(g.clone()));
        for _ in 0..g.count {
            let place = self.live.len();
            self.live.push(None);
            self.register(place, group)?;
        }
        Ok(())
    }

    fn register(&mut self, place: usize, group: usize) -> Result<(), TargetError> {
        let Group::Regions(g) = self.groups[group].clone() else {
            return Ok(());
        };
        let length = self.random.within(*g.size.start(), *g.size.end());
        if self.next_address > 1 << 62 {
            self.next_address = ADDRESSES;
        }
        if self.next_frame > 1 << 62 {
            self.next_frame = FRAMES;
        }
        let start = self.next_address + g.offset;
        self.next_address += APART.max((length + g.offset).next_multiple_of(APART));
        let frames = self.frames(&g, start, length);
        if g.fast {
            return self.register_fast(place, group, &g, (start, length), frames);
        }
        let made = self.target.register(&Registration {
            pd: g.pd,
            start,
            length,
            access: g.access,
            frames: frames.clone(),
            shape: Shape {
                log_page: g.log_page,
                level: g.level,
                log_tpage: (g.log_tpage != 12).then_some(g.log_tpage),
                encoding: g.encoding,
                lazy: frames.pages() > LAZY && g.log_page == Some(12),
                ..Shape::default()
            },
        })?;
        match made {
            Err(why) => Err(TargetError::Failed(format!(
                "region {} of {length} bytes cannot be registered ({why})",
                g.name
            ))),
            Ok(region) => {
                self.live[place] = Some(Live {
                    region,
                    group,
                    pd: g.pd,
                    start,
                    length,
                    access: g.access,
                    frames: Arc::new(frames),
                    skip: start & 0xfff,
                    window: None,
                });
                Ok(())
            }
        }
    }

    /// Makes a fast-registration region, if the place has none, and registers memory in it.
    fn register_fast(
        &mut self,
        place: usize,
        group: usize,
        g: &RegionGroup,
        (start, length): (u64, u64),
        frames: FrameList,
    ) -> Result<(), TargetError> {
        let log_page = g.log_page.unwrap_or(12);
        let failed = |what: &str, why: Refused| {
            Err(TargetError::Failed(format!("{}: {what} ({why})", g.name)))
        };
        let idle = self.live[place].take().map(|live| live.region);
        let region = match idle {
            Some(region) => region,
            None => {
                let pages = (g.size.end() + g.offset).div_ceil(1 << log_page) + 1;
                let made = self.target.allocate_region(&FastRegion {
                    pd: g.pd,
                    pages: pages as u32,
                    log_page,
                    encoding: g.encoding,
                    remote_inv: g.remote_inv,
                })?;
                match made {
                    Ok(region) => region,
                    Err(why) => return failed("no region", why),
                }
            }
        };
        let made = self.target.fast_register(
            region.id,
            &FastRegistration {
                start,
                length,
                access: g.access,
                frames: frames.clone(),
                // Another one than before.
                tag: region.lkey.tag().wrapping_add(1).max(1),
            },
        )?;
        let region = match made {
            Ok(region) => region,
            Err(why) => return failed("no registration", why),
        };
        self.live[place] = Some(Live {
            region,
            group,
            pd: g.pd,
            start,
            length,
            access: g.access,
            frames: Arc::new(frames),
            skip: start & 0xfff,
            window: None,
        });
        Ok(())
    }

    // -- Windows ----------------------------------------------------------------------------------

    fn bind_group(&mut self, g: &WindowGroup) -> Result<(), TargetError> {
        let group = self.groups.len();
        self.groups.push(Group::Windows(g.clone()));
        let parents = self.places(&g.of);
        for n in 0..g.count as usize {
            let Some(&parent) = parents.get(n % parents.len().max(1)) else {
                return Err(TargetError::Failed(format!(
                    "{}: no region is left",
                    g.name
                )));
            };
            let Some(pd) = self.live[parent].as_ref().map(|live| live.pd) else {
                continue;
            };
            let window = match self.target.allocate_window(pd, g.kind)? {
                Ok(window) => window,
                Err(why) => {
                    return Err(TargetError::Failed(format!(
                        "{}: no window ({why})",
                        g.name
                    )))
                }
            };
            let place = self.live.len();
            self.live.push(None);
            self.bind(place, group, parent, (window.id, window.rkey))?;
            if self.live[place].is_none() {
                self.live.pop();
                self.target.free_window(window.id)?;
            }
        }
        Ok(())
    }

    /// Binds a window to a part of a region. If that is to be refused, the place stays empty.
    fn bind(
        &mut self,
        place: usize,
        group: usize,
        parent: usize,
        (id, old): (WindowId, Key),
    ) -> Result<(), TargetError> {
        let (Group::Windows(g), Some(region)) =
            (self.groups[group].clone(), self.live[parent].clone())
        else {
            return Ok(());
        };
        let mut length = self.random.within(*g.size.start(), *g.size.end());
        if g.refused.is_none() {
            length = length.min(region.length);
        }
        let room = region.length.saturating_sub(length);
        let offset = g.offset.unwrap_or_else(|| self.random.below(room + 1));
        let qpn = self.random.below(1 << 24) as u32;
        let start = region.start.wrapping_add(offset);
        let bind = Bind {
            region: Some(region.region.id),
            start,
            length,
            access: g.access,
            qpn,
            tag: old.tag().wrapping_add(1).max(1),
        };
        let made = self.target.bind_window(id, &bind)?;
        let made = match (made, g.refused) {
            (Err(Refused::Unit(status)), Some(due)) if status == due => return Ok(()),
            (Ok(window), None) => window,
            (made, due) => {
                let due = due.map_or("OK".into(), |due| due.to_string());
                let got = made.map_or_else(|why| why.to_string(), |_| "OK".into());
                self.report
                    .mismatch(format!("window {}: {got} ({due} was due)", g.name));
                return Ok(());
            }
        };
        self.live[place] = Some(Live {
            region: Region {
                id: region.region.id,
                lkey: Key::NONE,
                rkey: made.rkey,
                ..region.region
            },
            group,
            pd: region.pd,
            start,
            length,
            access: g.access,
            frames: region.frames,
            skip: region.skip + offset,
            window: Some(LiveWindow {
                id,
                kind: g.kind,
                qpn,
                parent,
            }),
        });
        Ok(())
    }

    /// Ends the registrations and bindings of groups. Their keys are tried, and must be refused.
    fn invalidate(&mut self, i: &Invalidate) -> Result<(), TargetError> {
        for place in self.places(&i.regions) {
            let Some(live) = self.live[place].clone() else {
                continue;
            };
            let qpn = live.window.map_or(0, |w| w.qpn);
            let by = match i.by_peer {
                true => Invalidator::Peer { qpn },
                false => Invalidator::Local,
            };
            let mut new_key = live.any_key();
            let ended = match live.window {
                // Type 1 knows no invalidation: its owner binds it to nothing.
                Some(w) if w.kind == MwType::One && !i.by_peer && i.refused.is_none() => {
                    let nothing = Bind {
                        region: None,
                        start: 0,
                        length: 0,
                        access: Access::NONE,
                        qpn: 0,
                        tag: 0,
                    };
                    let made = self.target.bind_window(w.id, &nothing)?;
                    made.map(|window| new_key = window.rkey)
                }
                Some(w) => self.target.invalidate_window(w.id, by)?,
                None => self.target.invalidate_region(live.region.id, by)?,
            };
            let right = match (&ended, i.refused) {
                (Ok(()), None) => true,
                (Err(Refused::Unit(status)), Some(due)) => *status == due,
                _ => false,
            };
            if !right {
                let got = ended
                    .as_ref()
                    .map_or_else(Refused::to_string, |()| "OK".into());
                let due = i.refused.map_or("OK".into(), |due| due.to_string());
                self.report
                    .mismatch(format!("invalidate {}: {got} ({due} was due)", i.name));
            }
            self.try_keys(place, ended.is_err())?;
            if ended.is_err() {
                continue;
            }
            match (live.window, i.again) {
                (None, true) => {
                    self.register(place, live.group)?;
                    self.retry(&live, Syndrome::KeyTag)?;
                }
                (Some(w), true) => {
                    self.live[place] = None;
                    self.bind(place, live.group, w.parent, (w.id, new_key))?;
                    self.retry(&live, Syndrome::KeyTag)?;
                }
                (None, false) => {
                    let status = self.target.deregister(live.region.id)?;
                    self.ended("deregistration", status)?;
                    self.live[place] = None;
                    self.remember(&live);
                }
                (Some(w), false) => {
                    let status = self.target.free_window(w.id)?;
                    self.ended("end of a window", status)?;
                    self.live[place] = None;
                    self.remember(&live);
                }
            }
        }
        Ok(())
    }

    /// Tries the keys of a place: they must work as before, or be refused.
    fn try_keys(&mut self, place: usize, alive: bool) -> Result<(), TargetError> {
        let Some(live) = self.live[place].clone() else {
            return Ok(());
        };
        for op in [Op::LocalRead, Op::RemoteRead, Op::RemoteWrite] {
            if !live.allows(op) {
                continue;
            }
            let a = self.request(&live, op, live.base(), 1, 1);
            let answers = self.target.access(&[a])?;
            let expect = match alive {
                true => Expect::Good {
                    region: place,
                    at: 0,
                },
                false => Expect::Refused(Syndrome::KeyState),
            };
            for answer in &answers {
                self.judge(&a, answer, expect);
            }
        }
        Ok(())
    }

    /// Tries old keys: they must be refused.
    fn retry(&mut self, old: &Live, due: Syndrome) -> Result<(), TargetError> {
        for op in [Op::LocalRead, Op::RemoteRead] {
            if !old.allows(op) {
                continue;
            }
            let a = self.request(old, op, old.base(), 1, 1);
            let answers = self.target.access(&[a])?;
            for answer in &answers {
                self.judge(&a, answer, Expect::Refused(due));
            }
        }
        Ok(())
    }

    fn ended(&self, what: &str, status: Status) -> Result<(), TargetError> {
        match status {
            Status::Ok => Ok(()),
            status => Err(TargetError::Mismatch {
                clock: self.target.clock(),
                text: format!("a {what} ended with {status}"),
            }),
        }
    }

    /// Frames of 4 KiB for a region, aligned so that the wanted page size is possible.
    fn frames(&mut self, g: &RegionGroup, start: u64, length: u64) -> FrameList {
        let log_page = u32::from(g.log_page.unwrap_or(12)).max(12);
        let page = 1u64 << log_page;
        let first = start & !(page - 1);
        let pages = (start - first + length).div_ceil(page);
        let small = 1u64 << (log_page - 12);
        // Skip what lies before the 4 KiB page that holds the first byte.
        let skip = (start - first) >> 12;
        let end = (start - first + length).div_ceil(4096);
        let mut list = FrameList::new(12);
        let mut add = |from_page: u64, count: u64, pa: u64| {
            let from = (from_page * small).max(skip);
            let to = ((from_page + count) * small).min(end);
            if from < to {
                list.push(to - from, Page::at(pa + ((from - from_page * small) << 12)));
            }
        };
        // Addresses and frames agree below 2 MiB at least, as with transparent huge pages.
        let unit = page.max(1 << 21);
        let base = self.next_frame.next_multiple_of(unit) + (first & (unit - 1));
        match g.layout {
            Layout::Contiguous => {
                add(0, pages, base);
                self.next_frame = base + pages * page + unit;
            }
            Layout::Scattered => {
                // Pieces in an order that never puts two neighbours together.
                let piece = pages.div_ceil(PIECES);
                let pieces = pages.div_ceil(piece);
                let places = (2 * pieces).next_power_of_two();
                let turn = self.random.next() | 1;
                for n in 0..pieces {
                    let at = n.wrapping_mul(turn).wrapping_mul(5) & (places - 1);
                    let count = piece.min(pages - n * piece);
                    add(n * piece, count, base + at * (piece + 1) * page);
                }
                self.next_frame = base + places * (piece + 1) * page + unit;
            }
        }
        list
    }

    fn release(&mut self, place: usize) -> Result<(), TargetError> {
        let Some(live) = self.live[place].take() else {
            return Ok(());
        };
        self.remember(&live);
        let (what, status) = match live.window {
            Some(w) => ("end of a window", self.target.free_window(w.id)?),
            None => ("deregistration", self.target.deregister(live.region.id)?),
        };
        self.ended(what, status)
    }

    fn remember(&mut self, live: &Live) {
        if self.stale.len() >= 64 {
            self.stale.remove(0);
        }
        self.stale
            .push((live.region.lkey, live.region.rkey, live.pd));
    }

    fn places(&self, names: &[String]) -> Vec<usize> {
        (0..self.live.len())
            .filter(|&i| {
                self.live[i]
                    .as_ref()
                    .is_some_and(|l| names.iter().any(|n| n == self.groups[l.group].name()))
            })
            .collect()
    }

    // -- Requests ---------------------------------------------------------------------------------

    fn request(&mut self, live: &Live, op: Op, va: u64, len: u32, streams: u32) -> Access1 {
        let key = match op.role() {
            Role::Local => live.region.lkey,
            Role::Remote => live.region.rkey,
        };
        Access1 {
            client: client(op),
            request: Request {
                tag: 0,
                stream: self.random.below(u64::from(streams)) as u8,
                op: op.code(),
                key,
                va,
                len,
                pd: live.pd,
                qpn: match live.window {
                    Some(w) => w.qpn,
                    None => self.random.below(1 << 24) as u32,
                },
            },
        }
    }

    fn good(&mut self, t: &Traffic, places: &[usize]) -> Option<(Access1, Expect, u64)> {
        let point = self.random.below(t.ops.total());
        let wanted = *t.ops.at(point)?;
        let place = *self.random.pick(places)?;
        let live = self.live[place].clone()?;
        let op = if live.allows(wanted) {
            wanted
        } else if live.window.is_none() {
            Op::LocalRead
        } else {
            let ops: Vec<Op> = Op::ALL
                .iter()
                .copied()
                .filter(|op| live.allows(*op))
                .collect();
            *self.random.pick(&ops)?
        };
        let point = self.random.below(t.sizes.total());
        let range = t.sizes.at(point)?.clone();
        let mut len = self.random.within(*range.start(), *range.end());
        len = len.min(live.length);
        let base = live.base();
        let mut at = self.random.below(live.length - len + 1);
        if op == Op::RemoteAtomic {
            len = 8;
            // An aligned place that fits, if there is one.
            let first = base.wrapping_neg() & 7;
            if first + 8 > live.length {
                return None;
            }
            let slots = (live.length - first) / 8;
            at = first + 8 * self.random.below(slots);
        }
        let a = self.request(&live, op, base + at, len as u32, t.streams);
        let pages = (len >> live.region.log_page) + 2;
        Some((a, Expect::Good { region: place, at }, pages))
    }

    fn bad(&mut self, kind: Bad, t: &Traffic, places: &[usize]) -> Option<(Access1, Expect)> {
        let place = *self.random.pick(places)?;
        let live = self.live[place].clone()?;
        let ops: Vec<Op> = Op::ALL
            .iter()
            .copied()
            .filter(|op| live.allows(*op) && *op != Op::RemoteAtomic)
            .collect();
        let op = *self.random.pick(&ops)?;
        let len = self.random.within(1, live.length.min(4096)) as u32;
        let at = self.random.below(live.length - u64::from(len) + 1);
        let mut a = self.request(&live, op, live.base() + at, len, t.streams);
        let key = a.request.key;
        let expect = match kind {
            Bad::Length => {
                a.request.len = self.random.within((1 << 31) + 1, u64::from(u32::MAX)) as u32;
                Syndrome::Length
            }
            Bad::KeyIndex => {
                if self.table >= 1 << 23 {
                    return None;
                }
                // Every other one is the first index behind the table.
                let first = u64::from(self.table);
                let last = match self.random.within(0, 1) {
                    0 => first,
                    _ => (1 << 23) - 1,
                };
                let index = self.random.within(first, last) as u32;
                let field = self.keys.field(op.role(), index);
                a.request.key = Key::new(field, self.random.next() as u8);
                Syndrome::KeyIndex
            }
            Bad::KeyState => {
                let stale = self.random.pick(&self.stale.clone()).copied();
                a.request.key = match stale {
                    // A key of a region that is gone; its index is not in use again yet.
                    Some((lkey, rkey, _)) if self.unused(lkey, rkey) => {
                        if lkey == Key::NONE {
                            // Of a window.
                            a.request.op = Op::RemoteRead.code();
                            a.client = RESPONDER;
                            rkey
                        } else if op.role() == Role::Remote && rkey != Key::NONE {
                            rkey
                        } else {
                            a.request.op = Op::LocalRead.code();
                            a.client = REQUESTER;
                            lkey
                        }
                    }
                    _ => {
                        let index = self.table - 1;
                        if self
                            .live
                            .iter()
                            .flatten()
                            .any(|l| self.keys.decode(l.any_key()).1 == index)
                        {
                            return None;
                        }
                        Key::new(self.keys.field(op.role(), index), self.random.next() as u8)
                    }
                };
                Syndrome::KeyState
            }
            Bad::KeyTag => {
                let wrong = self.random.within(1, 255) as u8;
                a.request.key = Key::new(key.field(), key.tag() ^ wrong);
                Syndrome::KeyTag
            }
            Bad::Role => {
                // A local key from a peer, or a remote key in an own element.
                if live.window.is_some() {
                    a.request.op = Op::LocalRead.code();
                    a.client = REQUESTER;
                } else if op.role() == Role::Local && live.region.rkey != Key::NONE {
                    a.request.key = live.region.rkey;
                } else {
                    a.request.key = live.region.lkey;
                    a.request.op = Op::RemoteRead.code();
                    a.client = RESPONDER;
                }
                Syndrome::KeyTag
            }
            Bad::Pd => {
                if live.window.is_some_and(|w| w.kind == MwType::TwoA) {
                    return None;
                }
                a.request.pd = live.pd ^ (1 + self.random.below(0xff_ffff) as u32);
                Syndrome::Pd
            }
            Bad::Qp => {
                if live.window.map_or(true, |w| w.kind == MwType::One) {
                    return None;
                }
                a.request.qpn ^= 1 + self.random.below(0xff_ffff) as u32;
                Syndrome::Qp
            }
            Bad::Rights => {
                let remote = live.region.rkey != Key::NONE;
                let missing: Vec<Op> = Op::ALL
                    .iter()
                    .copied()
                    .filter(|op| !live.allows(*op))
                    .filter(|op| match op.role() {
                        Role::Local => live.window.is_none(),
                        Role::Remote => remote,
                    })
                    .collect();
                match self.random.pick(&missing) {
                    Some(&op) => {
                        let len = if op == Op::RemoteAtomic { 8 } else { len };
                        a = self.request(&live, op, a.request.va, len, t.streams);
                    }
                    // Every right is there.
                    None => return None,
                }
                Syndrome::Rights
            }
            Bad::Wrap => {
                let len = len.max(2);
                a.request.len = len;
                a.request.va = u64::MAX - self.random.below(u64::from(len) - 1);
                Syndrome::Wrap
            }
            Bad::Bounds => {
                let base = live.base();
                let end = u128::from(base) + u128::from(live.length);
                let (va, len) = match self.random.below(4) {
                    // The last byte is outside.
                    0 => (end - u128::from(len) + 1, len),
                    // Just behind the end.
                    1 => (end, len),
                    // One byte before the start.
                    2 if base > 0 => (u128::from(base) - 1, len),
                    // Everything and one byte more.
                    _ if live.length < 1 << 31 => (u128::from(base), live.length as u32 + 1),
                    _ => (end - 1, 2),
                };
                a.request.va = va as u64;
                a.request.len = len;
                Syndrome::Bounds
            }
            Bad::Align => {
                if !live.allows(Op::RemoteAtomic) || live.length < 16 {
                    return None;
                }
                let aligned = (live.base() + 7) & !7;
                let wrong_length = self.random.below(2) == 0;
                let (va, len) = if wrong_length {
                    let len = *self.random.pick(&[0u32, 1, 4, 7, 9, 16, u32::MAX])?;
                    (aligned, len)
                } else {
                    (live.base() + 1 + self.random.below(7), 8)
                };
                if va % 8 == 0 && len == 8 || va + 8 > live.base() + live.length {
                    return None;
                }
                a = self.request(&live, Op::RemoteAtomic, va, len, t.streams);
                Syndrome::Align
            }
            Bad::MttAbsent
            | Bad::MttBad
            | Bad::Bus
            | Bad::MptBad
            | Bad::Disabled
            | Bad::TagBusy => return None,
        };
        Some((a, Expect::Refused(expect)))
    }

    /// No live region or window has the index of these keys.
    fn unused(&self, lkey: Key, rkey: Key) -> bool {
        let key = if lkey == Key::NONE { rkey } else { lkey };
        let index = self.keys.decode(key).1;
        !self
            .live
            .iter()
            .flatten()
            .any(|l| self.keys.decode(l.any_key()).1 == index)
    }

    fn traffic(&mut self, t: &Traffic, progress: &mut dyn FnMut(u64)) -> Result<(), TargetError> {
        let places = self.places(&t.regions);
        let mut left = t.requests;
        let mut batch = Vec::new();
        let mut pages = 0;
        let mut special: BTreeMap<Bad, u64> = BTreeMap::new();
        while left > 0 {
            let (access, cost) = self.next(t, &places, &mut special);
            left -= 1;
            if let Some(x) = access {
                batch.push(x);
                pages += cost;
            }
            if batch.len() >= BATCH || pages >= PAGES_PER_BATCH || left == 0 {
                let n = batch.len() as u64;
                self.send(&batch, &[])?;
                progress(n);
                batch.clear();
                pages = 0;
            }
        }
        for (kind, n) in special {
            for _ in 0..n.min(64) {
                self.special(kind, t)?;
            }
            progress(n);
        }
        Ok(())
    }

    /// The next random request. Kinds that need a damaged region or a special handling are only
    /// counted.
    fn next(
        &mut self,
        t: &Traffic,
        places: &[usize],
        special: &mut BTreeMap<Bad, u64>,
    ) -> (Option<(Access1, Expect)>, u64) {
        if let Some(kinds) = &t.bad {
            if self.random.percent(t.bad_share) {
                let point = self.random.below(kinds.total());
                let Some(&kind) = kinds.at(point) else {
                    return (None, 0);
                };
                match kind {
                    Bad::MttAbsent
                    | Bad::MttBad
                    | Bad::Bus
                    | Bad::MptBad
                    | Bad::TagBusy
                    | Bad::Disabled => {
                        *special.entry(kind).or_default() += 1;
                        return (None, 0);
                    }
                    _ => {}
                }
                // Not every region can be used badly in every way.
                for _ in 0..64 {
                    if let Some((a, e)) = self.bad(kind, t, places) {
                        return (Some((a, e)), 1);
                    }
                }
                return (None, 0);
            }
        }
        for _ in 0..64 {
            if let Some((a, e, cost)) = self.good(t, places) {
                return (Some((a, e)), cost);
            }
        }
        (None, 0)
    }

    /// Bad requests that need more than a request.
    fn special(&mut self, kind: Bad, t: &Traffic) -> Result<(), TargetError> {
        let groups: Vec<RegionGroup> = self
            .groups
            .iter()
            .filter_map(|group| match group {
                Group::Regions(g) if t.regions.contains(&g.name) => Some(g.clone()),
                _ => None,
            })
            .collect();
        let Some(g) = self.random.pick(&groups).cloned() else {
            return Ok(());
        };
        if kind == Bad::Disabled {
            // Sent before the unit was enabled.
            return Ok(());
        }
        if kind == Bad::TagBusy {
            let places = self.places(&t.regions);
            for _ in 0..64 {
                if let Some((a, _, _)) = self.good(t, &places) {
                    let answer = self.target.access_tag_busy(&a)?;
                    self.judge(&a, &answer, Expect::Refused(Syndrome::TagBusy));
                    break;
                }
            }
            return Ok(());
        }
        // A region of its own, damaged before the unit has seen it: 64 pages with a table.
        let group = RegionGroup {
            name: format!("damaged {}", g.name),
            count: 1,
            size: 64 * 4096..=64 * 4096,
            log_page: Some(12),
            level: match g.level {
                Some(level @ (2 | 3 | 5)) => Some(level),
                _ => Some(1),
            },
            layout: Layout::Scattered,
            offset: 0,
            fast: false,
            ..g.clone()
        };
        self.groups.push(Group::Regions(group));
        let number = self.groups.len() - 1;
        let place = self.live.len();
        self.live.push(None);
        self.register(place, number)?;
        let page = self.random.within(1, 62);
        let damage = match kind {
            Bad::MttAbsent => Damage::Absent(page),
            Bad::MttBad => Damage::Misaligned(page),
            Bad::Bus => Damage::Bus(page),
            _ => Damage::Entry,
        };
        if let Some(live) = self.live[place].clone() {
            self.target.damage(live.region.id, damage, true)?;
            let expect = match kind {
                Bad::MttAbsent => Syndrome::MttAbsent,
                Bad::MttBad => Syndrome::MttBad,
                Bad::Bus => Syndrome::Bus,
                _ => Syndrome::MptBad,
            };
            // The page alone, then the whole region: pages before the damage come out good, the
            // last beat carries the syndrome. Twice: nothing bad may stay in a cache.
            for _ in 0..2 {
                for (at, len) in [(page * 4096 + 5, 64u32), (0, 64 * 4096)] {
                    let a = self.request(&live, Op::LocalRead, live.base() + at, len, t.streams);
                    let answer = self.target.access(&[a])?;
                    for answer in &answer {
                        self.judge(&a, answer, Expect::Refused(expect));
                    }
                }
            }
            self.target.damage(live.region.id, damage, false)?;
        }
        self.release(place)?;
        self.live.pop();
        self.groups.pop();
        Ok(())
    }

    fn send(
        &mut self,
        batch: &[(Access1, Expect)],
        deregister: &[(usize, RegionId)],
    ) -> Result<(), TargetError> {
        if batch.is_empty() && deregister.is_empty() {
            return Ok(());
        }
        let accesses: Vec<Access1> = batch.iter().map(|(a, _)| *a).collect();
        let answers = if deregister.is_empty() {
            self.target.access(&accesses)?
        } else {
            self.target.access_while(&accesses, deregister)?
        };
        for ((a, expect), answer) in batch.iter().zip(&answers) {
            self.judge(a, answer, *expect);
        }
        Ok(())
    }

    fn judge(&mut self, a: &Access1, answer: &Answer, expect: Expect) {
        let wrong = match expect {
            Expect::Race => None,
            Expect::Refused(s) if s == answer.syndrome => None,
            Expect::Refused(s) => Some(format!("{s} was due")),
            Expect::Good { .. } if answer.syndrome != Syndrome::Ok => Some("OK was due".into()),
            Expect::Good { region, at } => match &self.live[region] {
                Some(live) => {
                    addresses::check(&live.frames, live.skip, at, a.request.len, &answer.segments)
                        .err()
                }
                None => None,
            },
        };
        if let Some(wrong) = wrong {
            self.report.mismatch(format!(
                "{:?} of client {}: {} ({wrong})",
                a.request, a.client, answer.syndrome
            ));
        }
    }

    /// Deregisters the regions of groups, with traffic around it if there is some.
    fn deregister(
        &mut self,
        scenario: &Scenario,
        d: &Deregister,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), TargetError> {
        let doomed = self.places(&d.regions);
        if let Some(due) = d.refused {
            return self.refused_deregistrations(d, &doomed, due);
        }
        let under = scenario.steps.iter().find_map(|s| match s {
            Step::Traffic(t) if Some(&t.name) == d.under.as_ref() => Some(t),
            _ => None,
        });
        let mut again = Vec::new();
        if let Some(t) = under {
            let places = self.places(&t.regions);
            let requests = t.requests.min(1 << 16);
            let mut batch = Vec::new();
            let mut pages = 0;
            for _ in 0..requests {
                let (x, cost) = self.next(t, &places, &mut BTreeMap::new());
                pages += cost;
                if let Some((a, e)) = x {
                    let e = match e {
                        Expect::Good { region, .. } if doomed.contains(&region) => Expect::Race,
                        e => self.racing(&a, e, &doomed),
                    };
                    batch.push((a, e));
                }
                if pages > PAGES_PER_BATCH {
                    break;
                }
            }
            let mut events = Vec::new();
            for (n, &place) in doomed.iter().enumerate() {
                if let Some(live) = &self.live[place] {
                    let after = batch.len() * (n + 1) / (doomed.len() + 1);
                    events.push((after, live.region.id));
                }
            }
            self.send(&batch, &events)?;
            progress(batch.len() as u64);
            for &place in &doomed {
                if let Some(live) = self.live[place].take() {
                    again.push((place, live.group));
                    self.remember(&live);
                    // The keys are dead now.
                    for op in [Op::LocalRead, Op::RemoteRead] {
                        if op == Op::RemoteRead && live.region.rkey == Key::NONE {
                            continue;
                        }
                        let a = self.request(&live, op, live.base(), 1, 1);
                        let answer = self.target.access(&[a])?;
                        for answer in &answer {
                            self.judge(&a, answer, Expect::Refused(Syndrome::KeyState));
                        }
                    }
                }
            }
        } else {
            for &place in &doomed {
                if let Some(live) = &self.live[place] {
                    again.push((place, live.group));
                }
                self.release(place)?;
            }
        }
        if d.again {
            for (place, group) in again {
                self.register(place, group)?;
            }
        }
        Ok(())
    }

    /// Deregistrations that the unit must refuse, with this status: all works as before.
    fn refused_deregistrations(
        &mut self,
        d: &Deregister,
        places: &[usize],
        due: Status,
    ) -> Result<(), TargetError> {
        for &place in places {
            let Some(live) = self.live[place].clone() else {
                continue;
            };
            let status = match live.window {
                Some(w) => self.target.free_window(w.id)?,
                None => self.target.deregister(live.region.id)?,
            };
            if status != due {
                let text = format!("deregister {}: {status} ({due} was due)", d.name);
                self.report.mismatch(text);
            }
            if status == Status::Ok {
                self.live[place] = None;
            }
            self.try_keys(place, true)?;
        }
        Ok(())
    }

    /// A bad request to a region that goes away meanwhile may also be refused for that.
    fn racing(&self, a: &Access1, e: Expect, doomed: &[usize]) -> Expect {
        let index = self.keys.decode(a.request.key).1;
        let hit = doomed.iter().any(|&place| {
            self.live[place]
                .as_ref()
                .is_some_and(|l| self.keys.decode(l.any_key()).1 == index)
        });
        match e {
            Expect::Refused(Syndrome::Length | Syndrome::KeyIndex) => e,
            _ if hit => Expect::Race,
            e => e,
        }
    }
}
