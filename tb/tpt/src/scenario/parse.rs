// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Parser of scenario files. `docs/scenarios.md` describes the format.

use std::ops::RangeInclusive;
use std::path::Path;

use tpt_golden::types::{Access, Encoding, Op, Status};

use crate::input::{BadInput, Lines, Place};
use crate::target::MwType;
use tpt_golden::unit::MAX_CAP;

/// Chooses by weight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weighted<T> {
    /// Choices and their weights; at least one weight is not 0.
    pub choices: Vec<(T, u32)>,
}

impl<T> Weighted<T> {
    fn one(value: T) -> Self {
        Self {
            choices: vec![(value, 1)],
        }
    }

    /// Sum of the weights.
    pub fn total(&self) -> u64 {
        self.choices.iter().map(|(_, w)| u64::from(*w)).sum()
    }

    /// The choice at a point below [`Weighted::total`].
    pub fn at(&self, mut point: u64) -> Option<&T> {
        for (value, weight) in &self.choices {
            let weight = u64::from(*weight);
            if point < weight {
                return Some(value);
            }
            point -= weight;
        }
        None
    }
}

/// Behaviour of the memory behind the unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    /// Clocks from the acceptance of a read to its answer.
    pub latency: RangeInclusive<u32>,
    /// Answers of different reads may overtake each other.
    pub reorder: bool,
    /// Percentage of clocks in which each memory channel stalls.
    pub stalls: u32,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            latency: 20..=20,
            reorder: false,
            stalls: 0,
        }
    }
}

/// Settings of the whole run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// Named configuration of the RTL.
    pub config: Option<String>,
    /// Entries of the table of regions.
    pub table: u32,
    /// Limit of a fence in clocks; 0 for none.
    pub fence_time: u32,
    /// Start of all random choices.
    pub seed: u64,
    /// How often the steps run.
    pub repeat: u32,
}

impl Default for Unit {
    fn default() -> Self {
        Self {
            config: None,
            table: 4096,
            fence_time: 0,
            seed: 1,
            repeat: 1,
        }
    }
}

/// How physical frames lie under a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// In one piece.
    Contiguous,
    /// Pages of the region's page size, in random order.
    Scattered,
}

/// A group of regions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegionGroup {
    /// Name.
    pub name: String,
    /// Number of regions.
    pub count: u32,
    /// Bytes.
    pub size: RangeInclusive<u64>,
    /// log2 of the page size; `None` lets the driver choose.
    pub log_page: Option<u8>,
    /// Table level: 0 to 3, or 5 for flat; `None` lets the driver choose.
    pub level: Option<u8>,
    /// log2 of the table page.
    pub log_tpage: u8,
    /// Encoding.
    pub encoding: Encoding,
    /// Rights.
    pub access: Access,
    /// Protection domain.
    pub pd: u32,
    /// Offset of the first byte in its page.
    pub offset: u64,
    /// Frames.
    pub layout: Layout,
    /// Fast-registration regions instead of plain ones.
    pub fast: bool,
    /// Fast-registration regions: the peer may invalidate them.
    pub remote_inv: bool,
}

/// A group of windows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowGroup {
    /// Name.
    pub name: String,
    /// Groups of regions to which they are bound, one after the other.
    pub of: Vec<String>,
    /// Number of windows.
    pub count: u32,
    /// Type.
    pub kind: MwType,
    /// Bytes, cut at the size of the region.
    pub size: RangeInclusive<u64>,
    /// Bytes from the start of the region to that of the window; `None`: at random.
    pub offset: Option<u64>,
    /// Rights.
    pub access: Access,
    /// The bind must be refused with this status.
    pub refused: Option<Status>,
}

/// Ends of fast registrations and of bindings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalidate {
    /// Name.
    pub name: String,
    /// Groups of regions and windows.
    pub regions: Vec<String>,
    /// By the peer instead of the owner.
    pub by_peer: bool,
    /// Register or bind again afterwards, with the next key.
    pub again: bool,
    /// It must be refused with this status.
    pub refused: Option<Status>,
}

/// Kinds of bad requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Bad {
    /// Longer than 2^31.
    Length,
    /// Index not below the table size.
    KeyIndex,
    /// An entry that is not in use, or no longer.
    KeyState,
    /// Wrong low byte.
    KeyTag,
    /// The key of the other role.
    Role,
    /// Another protection domain.
    Pd,
    /// Another queue pair than that of a type-2 window.
    Qp,
    /// A right that the region does not give.
    Rights,
    /// Past 2^64.
    Wrap,
    /// Outside the region.
    Bounds,
    /// Atomic of another length or alignment.
    Align,
    /// A page without table entry.
    MttAbsent,
    /// A page with an illegal table entry.
    MttBad,
    /// Memory answers with an error.
    Bus,
    /// The entry of the region is damaged.
    MptBad,
    /// The unit is not enabled.
    Disabled,
    /// A tag that is still in use.
    TagBusy,
}

impl Bad {
    /// All kinds.
    pub const ALL: [(&'static str, Bad); 17] = [
        ("length", Bad::Length),
        ("key-index", Bad::KeyIndex),
        ("key-state", Bad::KeyState),
        ("key-tag", Bad::KeyTag),
        ("role", Bad::Role),
        ("pd", Bad::Pd),
        ("qp", Bad::Qp),
        ("rights", Bad::Rights),
        ("wrap", Bad::Wrap),
        ("bounds", Bad::Bounds),
        ("align", Bad::Align),
        ("mtt-absent", Bad::MttAbsent),
        ("mtt-bad", Bad::MttBad),
        ("bus", Bad::Bus),
        ("mpt-bad", Bad::MptBad),
        ("disabled", Bad::Disabled),
        ("tag-busy", Bad::TagBusy),
    ];

    /// Name in scenario files.
    pub fn name(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(_, b)| *b == self)
            .map_or("?", |(n, _)| n)
    }
}

/// Random requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traffic {
    /// Name.
    pub name: String,
    /// Number of requests.
    pub requests: u64,
    /// Groups of regions that are accessed.
    pub regions: Vec<String>,
    /// Operations.
    pub ops: Weighted<Op>,
    /// Bytes.
    pub sizes: Weighted<RangeInclusive<u64>>,
    /// Streams per client.
    pub streams: u32,
    /// Kinds of bad requests.
    pub bad: Option<Weighted<Bad>>,
    /// Percentage of bad requests.
    pub bad_share: u32,
}

/// Deregistrations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deregister {
    /// Name.
    pub name: String,
    /// Groups of regions.
    pub regions: Vec<String>,
    /// Requests that are in flight around it: name of a traffic section.
    pub under: Option<String>,
    /// Register new regions of the same kind afterwards.
    pub again: bool,
    /// It must be refused with this status.
    pub refused: Option<Status>,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Registers a group.
    Register(RegionGroup),
    /// Sends traffic.
    Traffic(Traffic),
    /// Deregisters groups of regions, frees groups of windows.
    Deregister(Deregister),
    /// Allocates and binds a group of windows.
    Bind(WindowGroup),
    /// Ends registrations and bindings.
    Invalidate(Invalidate),
}

/// A scenario.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scenario {
    /// Settings.
    pub unit: Unit,
    /// Memory.
    pub memory: Memory,
    /// Steps in order.
    pub steps: Vec<Step>,
}

struct Entry {
    place: Place,
    key: String,
    value: String,
}

struct Section {
    place: Place,
    kind: String,
    name: String,
    entries: Vec<Entry>,
}

const KINDS: &str = "[unit], [memory], [region NAME], [window NAME], [traffic NAME], \
                     [invalidate NAME] or [deregister NAME]";

/// Reads a scenario file.
pub fn open(path: &Path) -> Result<Scenario, BadInput> {
    read(Lines::open(path)?)
}

/// Reads a scenario from lines.
pub fn read(mut lines: Lines) -> Result<Scenario, BadInput> {
    let mut sections: Vec<Section> = Vec::new();
    let mut last = Place {
        file: lines.file().to_owned(),
        line: 1,
    };
    while let Some((place, text)) = lines.next_line()? {
        let text = text.split('#').next().unwrap_or_default().trim();
        if text.is_empty() {
            continue;
        }
        last = place.clone();
        if let Some(head) = text.strip_prefix('[') {
            let Some(head) = head.strip_suffix(']') else {
                return Err(place.bad(format!("{text:?} has no closing bracket"), KINDS));
            };
            let (kind, name) = head
                .trim()
                .split_once(char::is_whitespace)
                .unwrap_or((head.trim(), ""));
            sections.push(Section {
                place,
                kind: kind.to_owned(),
                name: name.trim().to_owned(),
                entries: Vec::new(),
            });
            continue;
        }
        let Some((key, value)) = text.split_once('=') else {
            return Err(place.bad(
                format!("{text:?} is neither a section nor a setting"),
                "\"[section]\" or \"setting = value\"",
            ));
        };
        let Some(section) = sections.last_mut() else {
            return Err(place.bad("a setting before the first section", KINDS));
        };
        let key = key.trim().to_owned();
        if section.entries.iter().any(|e| e.key == key) {
            return Err(place.bad(
                format!("\"{key}\" is given twice in this section"),
                "one value",
            ));
        }
        section.entries.push(Entry {
            place,
            key,
            value: value.trim().to_owned(),
        });
    }
    let mut scenario = Scenario::default();
    for section in &sections {
        build(&mut scenario, section)?;
    }
    if scenario.steps.is_empty() {
        return Err(last.bad(
            "the scenario does nothing",
            "a [region NAME] section and a [traffic NAME] section",
        ));
    }
    Ok(scenario)
}

fn build(s: &mut Scenario, section: &Section) -> Result<(), BadInput> {
    let named = |wanted: bool| {
        if wanted == section.name.is_empty() {
            let (what, expected) = if wanted {
                ("has no name", format!("[{} NAME]", section.kind))
            } else {
                ("has a name", format!("[{}]", section.kind))
            };
            return Err(section
                .place
                .bad(format!("[{}] {what}", section.kind), expected));
        }
        Ok(())
    };
    match section.kind.as_str() {
        "unit" => {
            named(false)?;
            for e in &section.entries {
                match e.key.as_str() {
                    "config" => {
                        s.unit.config = Some(one_of(e, &["small", "default", "large"])?.to_owned());
                    }
                    "table" => s.unit.table = in_range(e, 16, 1 << 23)? as u32,
                    "fence-time" => s.unit.fence_time = in_range(e, 0, u64::from(u32::MAX))? as u32,
                    "seed" => s.unit.seed = in_range(e, 0, u64::MAX)?,
                    "repeat" => s.unit.repeat = in_range(e, 1, 1_000_000)? as u32,
                    _ => return Err(unknown(e, "config, table, fence-time, seed, repeat")),
                }
            }
        }
        "memory" => {
            named(false)?;
            for e in &section.entries {
                match e.key.as_str() {
                    "latency" => s.memory.latency = latency(&e.value).map_err(|x| bad(e, x))?,
                    "order" => s.memory.reorder = one_of(e, &["kept", "random"])? == "random",
                    "stalls" => s.memory.stalls = percent(e)?,
                    _ => return Err(unknown(e, "latency, order, stalls")),
                }
            }
        }
        "region" => {
            named(true)?;
            let group = region(section)?;
            once(s, section)?;
            s.steps.push(Step::Register(group));
        }
        "window" => {
            named(true)?;
            let group = window(s, section)?;
            once(s, section)?;
            s.steps.push(Step::Bind(group));
        }
        "invalidate" => {
            named(true)?;
            let step = invalidate(s, section)?;
            s.steps.push(Step::Invalidate(step));
        }
        "traffic" => {
            named(true)?;
            let traffic = traffic(s, section)?;
            s.steps.push(Step::Traffic(traffic));
        }
        "deregister" => {
            named(true)?;
            let step = deregister(s, section)?;
            s.steps.push(Step::Deregister(step));
        }
        other => {
            return Err(section.place.bad(format!("[{other}] is no section"), KINDS));
        }
    }
    Ok(())
}

/// Regions and windows have different names.
fn once(s: &Scenario, section: &Section) -> Result<(), BadInput> {
    if groups(s).contains(&section.name) {
        return Err(section.place.bad(
            format!("[{} {}] is there twice", section.kind, section.name),
            "another name",
        ));
    }
    Ok(())
}

fn window(s: &Scenario, section: &Section) -> Result<WindowGroup, BadInput> {
    let mut g = WindowGroup {
        name: section.name.clone(),
        of: Vec::new(),
        count: 1,
        kind: MwType::One,
        size: 4096..=4096,
        offset: None,
        access: Access::REMOTE_READ | Access::REMOTE_WRITE | Access::REMOTE_ATOMIC,
        refused: None,
    };
    let mut sized = false;
    for e in &section.entries {
        match e.key.as_str() {
            "of" => {
                g.of = known_groups(s, e)?;
                if let Some(name) = g.of.iter().find(|name| windows(s).contains(name)) {
                    return Err(e.place.bad(
                        format!("{name:?} is a group of windows"),
                        "the names of regions",
                    ));
                }
            }
            "count" => g.count = in_range(e, 1, 1 << 16)? as u32,
            "type" => {
                g.kind = match one_of(e, &["1", "2a", "2b"])? {
                    "1" => MwType::One,
                    "2a" => MwType::TwoA,
                    _ => MwType::TwoB,
                }
            }
            "size" => {
                g.size = sizes(&e.value).map_err(|x| bad(e, x))?;
                sized = true;
                if *g.size.start() == 0 || *g.size.end() > 1 << 44 {
                    return Err(bad(e, "a size from 1 byte to 16 TiB"));
                }
            }
            "offset" => {
                g.offset = Some(
                    size(&e.value)
                        .filter(|n| *n <= 1 << 44)
                        .ok_or_else(|| bad(e, "a size up to 16 TiB such as 40 or 2 KiB"))?,
                );
            }
            "access" => {
                let known = "remote-write remote-read remote-atomic zero-based";
                g.access = rights(e, &known.split(' ').collect::<Vec<_>>())?;
            }
            "refused" => g.refused = Some(refused(e)?),
            _ => return Err(unknown(e, "of, count, type, size, offset, access, refused")),
        }
    }
    let missing = |what: &str, expected: &str| {
        let found = format!("[window {}] {what}", g.name);
        Err(section.place.bad(found, expected))
    };
    if g.of.is_empty() {
        return missing("names no regions", "\"of = NAME\"");
    }
    if !sized {
        return missing("has no size", "\"size = 64 B\" or \"size = 64 B..4 KiB\"");
    }
    Ok(g)
}

fn invalidate(s: &Scenario, section: &Section) -> Result<Invalidate, BadInput> {
    let mut i = Invalidate {
        name: section.name.clone(),
        regions: Vec::new(),
        by_peer: false,
        again: false,
        refused: None,
    };
    for e in &section.entries {
        match e.key.as_str() {
            "regions" => {
                i.regions = known_groups(s, e)?;
                let plain = |name: &&String| {
                    s.steps
                        .iter()
                        .any(|x| matches!(x, Step::Register(g) if g.name == **name && !g.fast))
                };
                if let Some(name) = i.regions.iter().find(plain) {
                    return Err(e.place.bad(
                        format!("{name:?} is registered for good"),
                        "windows, and regions with \"fast = yes\"",
                    ));
                }
            }
            "by" => i.by_peer = one_of(e, &["owner", "peer"])? == "peer",
            "again" => i.again = one_of(e, &["yes", "no"])? == "yes",
            "refused" => i.refused = Some(refused(e)?),
            _ => return Err(unknown(e, "regions, by, again, refused")),
        }
    }
    if i.regions.is_empty() {
        return Err(section.place.bad(
            format!("[invalidate {}] names no regions", i.name),
            "\"regions = NAME\"",
        ));
    }
    Ok(i)
}

/// The status that a command must be refused with, such as `mr-bounds`.
fn refused(e: &Entry) -> Result<Status, BadInput> {
    let mut names = Vec::new();
    for status in Status::ALL {
        let name = status.name().chars().fold(String::new(), |mut out, c| {
            if c.is_ascii_uppercase() && !out.is_empty() {
                out.push('-');
            }
            out.push(c.to_ascii_lowercase());
            out
        });
        match status {
            Status::Ok | Status::Pending => {}
            _ if name == e.value => return Ok(*status),
            _ => names.push(name),
        }
    }
    Err(bad(e, format!("one of {}", names.join(", "))))
}

fn region(section: &Section) -> Result<RegionGroup, BadInput> {
    let mut g = RegionGroup {
        name: section.name.clone(),
        count: 1,
        size: 4096..=4096,
        log_page: None,
        level: None,
        log_tpage: 12,
        encoding: Encoding::Raw,
        access: Access(0xf),
        pd: 1,
        offset: 0,
        layout: Layout::Scattered,
        fast: false,
        remote_inv: false,
    };
    let mut sized = false;
    for e in &section.entries {
        match e.key.as_str() {
            "count" => g.count = in_range(e, 1, 1 << 20)? as u32,
            "size" => {
                g.size = sizes(&e.value).map_err(|x| bad(e, x))?;
                sized = true;
                if *g.size.start() == 0 || *g.size.end() > 1 << 44 {
                    return Err(bad(e, "a size from 1 byte to 16 TiB"));
                }
            }
            "page" if e.value == "auto" => g.log_page = None,
            "page" => g.log_page = Some(power(e, 12, 43)?),
            "level" => {
                g.level = match one_of(e, &["auto", "inline", "1", "2", "3", "flat"])? {
                    "auto" => None,
                    "inline" => Some(0),
                    "flat" => Some(5),
                    n => n.parse().ok(),
                }
            }
            "table-page" => g.log_tpage = power(e, 12, 16)?,
            "encoding" => {
                g.encoding = if one_of(e, &["raw", "flagged"])? == "raw" {
                    Encoding::Raw
                } else {
                    Encoding::Flagged
                }
            }
            "access" => g.access = access(e)?,
            "pd" => g.pd = in_range(e, 0, 0xff_ffff)? as u32,
            "offset" => {
                g.offset = size(&e.value)
                    .filter(|n| *n < 1 << 35)
                    .ok_or_else(|| bad(e, "a size below 32 GiB such as 40 or 2 KiB"))?;
            }
            "frames" => {
                g.layout = if one_of(e, &["contiguous", "scattered"])? == "contiguous" {
                    Layout::Contiguous
                } else {
                    Layout::Scattered
                }
            }
            "fast" => g.fast = one_of(e, &["yes", "no"])? == "yes",
            "remote-invalidate" => g.remote_inv = one_of(e, &["yes", "no"])? == "yes",
            _ => {
                return Err(unknown(
                    e,
                    "count, size, page, level, table-page, encoding, access, pd, offset, frames, \
                     fast, remote-invalidate",
                ))
            }
        }
    }
    if !sized {
        return Err(section.place.bad(
            format!("[region {}] has no size", g.name),
            "\"size = 64 KiB\" or \"size = 4 KiB..1 MiB\"",
        ));
    }
    let page = 1u64 << g.log_page.unwrap_or(12);
    if g.fast && (g.level.is_some() || g.size.end().div_ceil(page) >= u64::from(MAX_CAP)) {
        return Err(section.place.bad(
            format!("[region {}] is a fast one of this level or size", g.name),
            "no level (it is a flat list of pages), and fewer than 2^20 - 1 pages",
        ));
    }
    if g.remote_inv && !g.fast {
        return Err(section.place.bad(
            format!("[region {}] is to be invalidated", g.name),
            "\"fast = yes\" as well",
        ));
    }
    Ok(g)
}

/// Most bytes of one random request: longer ones are only made on purpose (`bad = length`).
const LONGEST: u64 = 1 << 31;

fn traffic(s: &Scenario, section: &Section) -> Result<Traffic, BadInput> {
    let mut t = Traffic {
        name: section.name.clone(),
        requests: 1000,
        regions: groups(s),
        ops: Weighted {
            choices: vec![
                (Op::LocalRead, 1),
                (Op::LocalWrite, 1),
                (Op::RemoteRead, 1),
                (Op::RemoteWrite, 1),
                (Op::RemoteAtomic, 1),
            ],
        },
        sizes: Weighted::one(8..=4096),
        streams: 16,
        bad: None,
        bad_share: 0,
    };
    for e in &section.entries {
        match e.key.as_str() {
            "requests" => t.requests = in_range(e, 1, 1 << 32)?,
            "regions" => t.regions = known_groups(s, e)?,
            "ops" => {
                t.ops = weighted(e, |name| {
                    Some(match name {
                        "local-read" => Op::LocalRead,
                        "local-write" => Op::LocalWrite,
                        "remote-read" => Op::RemoteRead,
                        "remote-write" => Op::RemoteWrite,
                        "atomic" => Op::RemoteAtomic,
                        "flush-global" => Op::FlushGlobal,
                        "flush-persistent" => Op::FlushPersist,
                        "flush-both" => Op::FlushBoth,
                        _ => return None,
                    })
                }, "operations such as \"remote-write:4 atomic:1\" out of local-read, local-write, remote-read, remote-write, atomic, flush-global, flush-persistent, flush-both")?;
            }
            "sizes" => {
                t.sizes = weighted(
                    e,
                    |text| sizes(text).ok().filter(|r| *r.end() <= LONGEST),
                    "sizes up to 2 GiB such as \"8..4KiB:3 64KiB:1\" (no blanks inside a size)",
                )?;
            }
            "streams" => t.streams = in_range(e, 1, 64)? as u32,
            "bad" if e.value == "all" => {
                t.bad = Some(Weighted {
                    choices: Bad::ALL.iter().map(|(_, b)| (*b, 1)).collect(),
                });
            }
            "bad" => {
                let names: Vec<_> = Bad::ALL.iter().map(|(n, _)| *n).collect();
                t.bad = Some(weighted(
                    e,
                    |name| Bad::ALL.iter().find(|(n, _)| *n == name).map(|(_, b)| *b),
                    &format!(
                        "\"all\", or kinds such as \"pd:2 bounds:1\" out of {}",
                        names.join(", ")
                    ),
                )?);
            }
            "bad-share" => t.bad_share = percent(e)?,
            _ => {
                return Err(unknown(
                    e,
                    "requests, regions, ops, sizes, streams, bad, bad-share",
                ))
            }
        }
    }
    if t.regions.is_empty() {
        return Err(section.place.bad(
            format!("[traffic {}] comes before any region", t.name),
            "a [region NAME] section above it",
        ));
    }
    if t.bad.is_some() && t.bad_share == 0 {
        t.bad_share = 100;
    }
    if t.bad_share > 0 && t.bad.is_none() {
        return Err(section.place.bad(
            format!("[traffic {}] has a bad-share but no kinds", t.name),
            "\"bad = all\" or a list of kinds",
        ));
    }
    Ok(t)
}

fn deregister(s: &Scenario, section: &Section) -> Result<Deregister, BadInput> {
    let mut d = Deregister {
        name: section.name.clone(),
        regions: Vec::new(),
        under: None,
        again: false,
        refused: None,
    };
    for e in &section.entries {
        match e.key.as_str() {
            "regions" => d.regions = known_groups(s, e)?,
            "under" => {
                let known = |n: &str| {
                    s.steps
                        .iter()
                        .any(|x| matches!(x, Step::Traffic(t) if t.name == n))
                };
                if !known(&e.value) {
                    return Err(e.place.bad(
                        format!("\"under\" is {:?}", e.value),
                        "the name of a [traffic NAME] section above",
                    ));
                }
                d.under = Some(e.value.clone());
            }
            "again" => d.again = one_of(e, &["yes", "no"])? == "yes",
            "refused" => d.refused = Some(refused(e)?),
            _ => return Err(unknown(e, "regions, under, again, refused")),
        }
    }
    let windows = windows(s);
    if d.under.is_some()
        && (d.refused.is_some() || d.regions.iter().any(|name| windows.contains(name)))
    {
        return Err(section.place.bad(
            format!("[deregister {}] has traffic around it", d.name),
            "no windows and no \"refused\" with \"under\"",
        ));
    }
    if d.regions.is_empty() {
        return Err(section.place.bad(
            format!("[deregister {}] names no regions", d.name),
            "\"regions = NAME\"",
        ));
    }
    Ok(d)
}

fn groups(s: &Scenario) -> Vec<String> {
    s.steps
        .iter()
        .filter_map(|x| match x {
            Step::Register(g) => Some(g.name.clone()),
            Step::Bind(g) if g.refused.is_none() => Some(g.name.clone()),
            _ => None,
        })
        .collect()
}

fn windows(s: &Scenario) -> Vec<String> {
    let name = |step: &Step| match step {
        Step::Bind(g) => Some(g.name.clone()),
        _ => None,
    };
    s.steps.iter().filter_map(name).collect()
}

fn known_groups(s: &Scenario, e: &Entry) -> Result<Vec<String>, BadInput> {
    let all = groups(s);
    let wanted: Vec<String> = e.value.split_whitespace().map(str::to_owned).collect();
    match wanted.iter().find(|w| !all.contains(w)) {
        Some(w) => Err(e.place.bad(
            format!("{w:?} is no region"),
            if all.is_empty() {
                "a [region NAME] section above".to_owned()
            } else {
                format!("one of {}", all.join(", "))
            },
        )),
        None if wanted.is_empty() => Err(bad(e, "the names of regions")),
        None => Ok(wanted),
    }
}

fn bad(e: &Entry, expected: impl Into<String>) -> BadInput {
    e.place
        .bad(format!("\"{}\" is {:?}", e.key, e.value), expected)
}

fn unknown(e: &Entry, known: &str) -> BadInput {
    e.place.bad(
        format!("\"{}\" is no setting of this section", e.key),
        format!("one of {known}"),
    )
}

fn one_of<'a>(e: &'a Entry, known: &[&str]) -> Result<&'a str, BadInput> {
    if known.contains(&e.value.as_str()) {
        Ok(&e.value)
    } else {
        Err(bad(e, format!("one of {}", known.join(", "))))
    }
}

fn plain(text: &str) -> Option<u64> {
    let text = text.replace('_', "");
    match text.strip_prefix("0x") {
        Some(hex) if !hex.starts_with('+') => u64::from_str_radix(hex, 16).ok(),
        Some(_) => None,
        None if !text.starts_with('+') => text.parse().ok(),
        None => None,
    }
}

fn in_range(e: &Entry, min: u64, max: u64) -> Result<u64, BadInput> {
    plain(&e.value)
        .filter(|n| (min..=max).contains(n))
        .ok_or_else(|| bad(e, format!("a whole number from {min} to {max}")))
}

fn percent(e: &Entry) -> Result<u32, BadInput> {
    let text = e.value.strip_suffix('%').unwrap_or(&e.value).trim();
    plain(text)
        .filter(|n| *n <= 100)
        .map(|n| n as u32)
        .ok_or_else(|| bad(e, "a percentage from 0 % to 100 %"))
}

/// A size: a number with B, KiB, MiB, GiB or TiB.
fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text
        .find(|c: char| !(c.is_ascii_hexdigit() || c == 'x' || c == '_'))
        .unwrap_or(text.len());
    let (number, unit) = match text.find(['K', 'M', 'G', 'T', 'B', ' ']) {
        Some(at) if !text.starts_with("0x") => text.split_at(at),
        _ => text.split_at(digits),
    };
    let shift = match unit.trim() {
        "" | "B" => 0,
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        "TiB" => 40,
        _ => return None,
    };
    let n = plain(number.trim())?;
    n.checked_mul(1 << shift)
}

/// A size or a range of sizes.
fn sizes(text: &str) -> Result<RangeInclusive<u64>, &'static str> {
    const EXPECTED: &str = "a size such as 64 KiB or a range such as 4 KiB..1 MiB";
    let (a, b) = match text.split_once("..") {
        Some((a, b)) => (size(a), size(b)),
        None => (size(text), size(text)),
    };
    match (a, b) {
        (Some(a), Some(b)) if a <= b => Ok(a..=b),
        _ => Err(EXPECTED),
    }
}

/// A latency: clocks, or a range of clocks.
pub fn latency(text: &str) -> Result<RangeInclusive<u32>, &'static str> {
    const EXPECTED: &str = "clocks such as 100 or a range such as 20..200, at most 100000";
    let (a, b) = text.split_once("..").unwrap_or((text, text));
    match (plain(a.trim()), plain(b.trim())) {
        (Some(a), Some(b)) if a <= b && b <= 100_000 => Ok(a as u32..=b as u32),
        _ => Err(EXPECTED),
    }
}

fn power(e: &Entry, min: u8, max: u8) -> Result<u8, BadInput> {
    size(&e.value)
        .filter(|n| n.is_power_of_two())
        .map(|n| n.trailing_zeros() as u8)
        .filter(|n| (min..=max).contains(n))
        .ok_or_else(|| {
            let name = |log: u8| match log {
                0..=19 => format!("{} KiB", 1u64 << (log - 10)),
                20..=29 => format!("{} MiB", 1u64 << (log - 20)),
                30..=39 => format!("{} GiB", 1u64 << (log - 30)),
                _ => format!("{} TiB", 1u64 << (log - 40)),
            };
            bad(
                e,
                format!("a power of two from {} to {}", name(min), name(max)),
            )
        })
}

fn access(e: &Entry) -> Result<Access, BadInput> {
    let access = rights(e, &[])?;
    if access.intersects(Access::REMOTE_WRITE | Access::REMOTE_ATOMIC)
        && !access.contains(Access::LOCAL_WRITE)
    {
        return Err(bad(
            e,
            "local-write as well, where remote-write or remote-atomic is given",
        ));
    }
    Ok(access)
}

/// Rights by name, out of all or some of them.
fn rights(e: &Entry, some: &[&str]) -> Result<Access, BadInput> {
    const NAMES: [(&str, Access); 11] = [
        ("local-read", Access::NONE),
        ("local-write", Access::LOCAL_WRITE),
        ("remote-write", Access::REMOTE_WRITE),
        ("remote-read", Access::REMOTE_READ),
        ("remote-atomic", Access::REMOTE_ATOMIC),
        ("mw-bind", Access::MW_BIND),
        ("zero-based", Access::ZERO_BASED),
        ("hugetlb", Access::HUGETLB),
        ("relaxed-ordering", Access::RELAXED_ORDERING),
        ("flush-global", Access::FLUSH_GLOBAL),
        ("flush-persistent", Access::FLUSH_PERSISTENT),
    ];
    let names = NAMES
        .iter()
        .filter(|(name, _)| some.is_empty() || some.contains(name));
    let mut access = Access::NONE;
    for word in e.value.split_whitespace() {
        match names.clone().find(|(n, _)| *n == word) {
            Some((_, bit)) => access |= *bit,
            None => {
                return Err(e.place.bad(
                    format!("{word:?} is no access right"),
                    format!(
                        "names out of {}",
                        names.map(|(n, _)| *n).collect::<Vec<_>>().join(", ")
                    ),
                ))
            }
        }
    }
    Ok(access)
}

fn weighted<T>(
    e: &Entry,
    mut parse: impl FnMut(&str) -> Option<T>,
    expected: &str,
) -> Result<Weighted<T>, BadInput> {
    let mut choices = Vec::new();
    for word in e.value.split_whitespace() {
        let (name, weight) = word.rsplit_once(':').unwrap_or((word, "1"));
        let weight = plain(weight).and_then(|w| u32::try_from(w).ok());
        match (parse(name), weight) {
            (Some(value), Some(weight)) => choices.push((value, weight)),
            _ => return Err(e.place.bad(format!("{word:?} in \"{}\"", e.key), expected)),
        }
    }
    let w = Weighted { choices };
    if w.total() == 0 {
        return Err(bad(e, expected));
    }
    Ok(w)
}
