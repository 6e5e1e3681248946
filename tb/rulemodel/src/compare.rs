// SPDX-License-Identifier: Apache-2.0
//! The table computed beside the golden rules.
//!
//! Entries and requests are random, at boundaries and beside them: see [`Draw::near`]. Of each case
//! the verdict is compared with [`Golden::check_with`], and what is handed on of a granted request
//! with the beats of the golden reference and the pages that they ask for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{bail, ensure, Result};
use tpt_golden::codec::LOG_PAGE_RANGE;
use tpt_golden::frames::{Page, PageSource};
use tpt_golden::keys::KeyMaker;
use tpt_golden::types::{
    Access, Encoding, Key, Kind, Op, Request, State, Syndrome, LEVEL_FLAT, LEVEL_INLINE,
};
use tpt_golden::unit::{Beats, Conditions, Golden, HostWindows, Parent, Region, Verdict};

use crate::model::Model;

const TABLE_SIZE: u32 = 1000;
/// Beats that are looked at of one request; of longer ones, pages are counted by their bytes.
const MAX_BEATS: u128 = 40;

/// How often each syndrome was the verdict, and how often a request was granted.
#[derive(Debug, Default)]
pub struct Seen {
    /// By the number of the syndrome; granted ones are those of 0 that are not empty.
    pub syndromes: BTreeMap<u8, u64>,
    /// Granted requests: what is handed on was compared too.
    pub granted: u64,
    /// Windows that sent a request to their parent.
    pub again: u64,
    /// Requests that came with their parent's entry.
    pub second: u64,
}

/// Random numbers: SplitMix64.
pub struct Draw(u64);

impl Draw {
    /// The same seed gives the same numbers.
    pub fn new(seed: u64) -> Draw {
        Draw(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.bits() % bound
    }

    /// True once in `of` times.
    pub fn once_in(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }

    /// As many low bits as chance will have.
    pub fn any(&mut self) -> u64 {
        self.bits() >> self.below(64)
    }

    /// One of the values, or one beside it.
    pub fn near(&mut self, values: &[u64]) -> u64 {
        let value = values[self.below(values.len() as u64) as usize];
        match self.below(6) {
            0 => value.wrapping_sub(1),
            1 => value.wrapping_add(1),
            2 => value.wrapping_add(self.any() & 0xffff),
            _ => value,
        }
    }
}

/// Notes which pages are asked for; each is there, and says which one it is as far as it can.
#[derive(Debug, Default)]
struct Recorder {
    log_page: u8,
    asked: Mutex<Vec<u64>>,
}

impl PageSource for Recorder {
    fn page(&self, index: u64) -> Page {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.push(index);
        let pa = index.wrapping_add(1) << self.log_page;
        Page::at(if pa == 0 { 1 << self.log_page } else { pa })
    }
}

/// A case: a request, the entry that its key names, and what else is known.
struct Case {
    region: Region,
    /// The pages of the region.
    recorder: Arc<Recorder>,
    /// State as stored, and the fields, legal or not.
    state: u8,
    fields: [u8; 5],
    request: Request,
    remote: bool,
    index: u32,
    /// Of the request as it was sent, if it comes again: the window, and its key.
    window: Option<(Region, Request)>,
    disabled: bool,
    tag_busy: bool,
    bus: bool,
    crc_bad: bool,
}

impl Case {
    fn draw(d: &mut Draw) -> Case {
        let kind = match d.below(3) {
            0 => Kind::from_code(d.below(6) as u8).unwrap_or(Kind::Mr),
            _ => Kind::Mr,
        };
        let log_page = match kind {
            Kind::Phys => 43,
            _ => 12 + d.below(32) as u8,
        };
        let size = 1u64 << log_page;
        let top = 0u64.wrapping_sub(size);
        let low = d.any();
        let start = d.near(&[0, size, low, top, low & top, u64::MAX]);
        let room = u64::MAX - start;
        let some = d.any();
        let length = d.near(&[0, 1, 8, size, 1 << 31, some, room]);
        let length = length.min(room.saturating_add(1));
        let mut access = d.bits() as u16 & 0x7ff;
        if !d.once_in(4) {
            access |= 0x30f;
        }
        let access = Access::from_stored(access);
        let level = match kind {
            Kind::Phys => LEVEL_INLINE,
            _ => d.below(6) as u8,
        };
        let mut frame = [0; 4].map(|_: u64| d.bits() & !0xfff);
        if level == LEVEL_FLAT {
            frame[0] |= d.bits() & 0xff8;
        }
        let mut region = Region {
            index: d.below(1 << 23) as u32,
            gen: d.bits() as u8,
            kind,
            pd: d.below(1 << 24) as u32,
            qpn: d.below(1 << 24) as u32,
            access,
            start,
            length,
            log_page,
            level,
            log_tpage: 12 + d.below(5) as u8,
            encoding: Encoding::ALL[d.below(3) as usize],
            frame,
            lkey: Key(d.bits() as u32),
            rkey: Key(d.bits() as u32),
            ..Region::default()
        };
        let state = if d.once_in(8) {
            d.below(4) as u8
        } else {
            State::Valid.code()
        };
        // Now and then a field is anything; the region follows if it can.
        let odd = d.once_in(16).then(|| {
            let limits = [8, 64, 8, 8, 4];
            let which = d.below(5) as usize;
            (which, d.below(limits[which]) as u8)
        });
        match odd {
            Some((0, code)) => region.kind = Kind::from_code(code).unwrap_or(region.kind),
            Some((1, log)) if LOG_PAGE_RANGE.contains(&log) => region.log_page = log,
            Some((2, level @ 0..=LEVEL_FLAT)) => region.level = level,
            Some((3, log @ 0..=4)) => region.log_tpage = 12 + log,
            Some((4, code)) => {
                region.encoding = Encoding::from_code(code).unwrap_or(region.encoding);
            }
            _ => {}
        }
        if region.kind == Kind::Phys {
            region.access = Access(region.access.0 & !Access::ZERO_BASED.0);
        }
        region.parent = region.kind.is_window().then(|| Parent {
            index: d.below(1 << 23) as u32,
            gen: d.bits() as u8,
            field: d.below(1 << 24) as u32,
        });
        let recorder = Arc::new(Recorder {
            log_page: region.log_page,
            ..Recorder::default()
        });
        region.pages = recorder.clone();
        let entry = region.entry(State::Valid);
        let mut fields = [
            entry.kind,
            entry.log_page,
            entry.level,
            entry.log_tpage,
            entry.encoding,
        ];
        if let Some((which, value)) = odd {
            fields[which] = value;
        }
        let mut case = Case {
            state,
            fields,
            request: Request::default(),
            remote: false,
            index: 0,
            window: None,
            disabled: d.once_in(40),
            tag_busy: d.once_in(40),
            bus: d.once_in(40),
            crc_bad: d.once_in(40),
            region,
            recorder,
        };
        case.draw_request(d);
        if d.once_in(4) {
            case.come_again(d);
        }
        case
    }

    fn draw_request(&mut self, d: &mut Draw) {
        let op = d.below(8) as u8;
        let region = &self.region;
        let atomic = op == Op::RemoteAtomic.code();
        let some = d.any();
        let len = match atomic && !d.once_in(8) {
            true => 8,
            false => d.near(&[0, 1, 8, 1 << 31, region.length, some, 1 << region.log_page]) as u32,
        };
        let base = region.base();
        let end = base.wrapping_add(region.length);
        let last = end.wrapping_sub(len.into());
        let inside = base.wrapping_add(d.any() % region.length.max(1));
        let ceiling = 0u64.wrapping_sub(len.into());
        let va = d.near(&[
            base,
            last,
            last,
            end,
            0,
            u64::MAX,
            inside,
            base & !7,
            ceiling,
        ]);
        let va = if atomic && !d.once_in(8) { va & !7 } else { va };
        self.remote = (op >= 2) != d.once_in(16);
        self.index = match d.once_in(16) {
            false => region.index % TABLE_SIZE,
            true => d.near(&[u64::from(TABLE_SIZE), 0, (1 << 23) - 1]) as u32 & 0x7f_ffff,
        };
        let key = if self.remote {
            region.rkey
        } else {
            region.lkey
        };
        let other = |d: &mut Draw, of, width| u32::from(d.once_in(of)) << d.below(width);
        let tag = key.tag() ^ other(d, 12, 8) as u8;
        self.request = Request {
            tag: d.below(1024) as u16,
            stream: 0,
            op,
            key: Key::new(u32::from(self.remote) << 23 | self.index, tag),
            va,
            len,
            pd: region.pd ^ other(d, 12, 24),
            qpn: region.qpn ^ other(d, 4, 24),
        };
    }

    /// Makes it the request of a window that allows it, with the entry of its parent: what the
    /// window decides is decided.
    fn come_again(&mut self, d: &mut Draw) {
        self.tag_busy = false;
        self.remote = d.once_in(10);
        let gen = match d.once_in(6) {
            true => self.region.gen ^ 1 << d.below(8),
            false => self.region.gen,
        };
        let request = &mut self.request;
        if request.op < 2 {
            request.op += 2;
        }
        if request.op == Op::RemoteAtomic.code() {
            (request.len, request.va) = (8, request.va & !7);
        }
        request.len = request.len.clamp(1, 1 << 31);
        request.va = request.va.min(0u64.wrapping_sub(request.len.into()));
        request.key = Key::new(d.below(1 << 24) as u32, gen);
        let flush = Access::FLUSH_GLOBAL.0 | Access::FLUSH_PERSISTENT.0;
        let window = Region {
            kind: Kind::Mw1,
            access: Access(Access::ANY_REMOTE.0 | flush),
            start: request.va,
            length: request.len.into(),
            rkey: Key::new(1 << 23 | 5, 9),
            parent: Some(Parent {
                index: 0,
                gen,
                field: request.key.field(),
            }),
            ..Region::default()
        };
        let sent = Request {
            key: window.rkey,
            pd: window.pd,
            ..*request
        };
        self.window = Some((window, sent));
    }

    /// Rules 0 and 1 let it pass to its key.
    fn needs_key(&self) -> bool {
        match self.request.operation() {
            Some(Op::RemoteAtomic) => self.request.len == 8,
            _ => self.request.len != 0 && self.request.len <= 1 << 31,
        }
    }

    /// The entry is read.
    fn looked_up(&self) -> bool {
        let stopped = self.disabled || self.tag_busy;
        self.needs_key() && self.index < TABLE_SIZE && !stopped
    }

    fn valid(&self) -> bool {
        self.state == State::Valid.code()
    }

    /// As the golden codec reads the entry.
    fn illegal(&self) -> bool {
        let [kind, log_page, level, log_tpage, encoding] = self.fields;
        let mut entry = self.region.entry(State::Valid);
        (entry.state, entry.kind, entry.log_page) = (self.state, kind, log_page);
        (entry.level, entry.log_tpage, entry.encoding) = (level, log_tpage, encoding);
        entry.legal().is_err()
    }

    fn inputs(&self) -> BTreeMap<String, u128> {
        let entry = self.region.entry(State::Valid);
        let Request {
            op,
            key,
            va,
            len,
            pd,
            qpn,
            tag,
            ..
        } = self.request;
        let [kind, log_page, level, log_tpage, encoding] = self.fields;
        let looked_up = self.looked_up();
        let mut inputs: BTreeMap<String, u128> = [
            ("op", u128::from(op)),
            ("tag", key.tag().into()),
            ("va", va.into()),
            ("len", len.into()),
            ("pd", pd.into()),
            ("qpn", qpn.into()),
            ("req_tag", tag.into()),
            ("disabled", self.disabled.into()),
            ("tag_busy", self.tag_busy.into()),
            ("role", self.remote.into()),
            ("index", self.index.into()),
            ("index_ok", (self.index < TABLE_SIZE).into()),
            ("looked_up", looked_up.into()),
            ("bus", (looked_up && self.bus).into()),
            ("crc_bad", (looked_up && self.crc_bad).into()),
            ("parent", self.window.is_some().into()),
            ("cap_checked", 1),
            ("state", self.state.into()),
            ("kind", kind.into()),
            ("access", entry.access.into()),
            ("log_page", log_page.into()),
            ("level", level.into()),
            ("log_tpage", log_tpage.into()),
            ("encoding", encoding.into()),
            ("lkey_tag", entry.lkey_tag.into()),
            ("rkey_tag", entry.rkey_tag.into()),
            ("gen", entry.gen.into()),
            ("e_pd", entry.pd.into()),
            ("e_qpn", entry.qpn.into()),
            ("start", entry.start.into()),
            ("length", entry.length.into()),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
        for (k, frame) in entry.frame.iter().enumerate() {
            inputs.insert(format!("frame{k}"), (*frame).into());
        }
        inputs
    }

    /// Verdict and mask of the golden rules; true if a window sends the request to its parent.
    fn golden(&self, golden: &Golden) -> (Syndrome, u32, bool) {
        let looked_up = self.looked_up();
        let mpt_bad = looked_up && (self.crc_bad || self.illegal());
        let bus = looked_up && self.bus;
        match &self.window {
            Some((window, sent)) => {
                let conditions = Conditions {
                    disabled: self.disabled,
                    parent_bus: bus,
                    parent_bad: mpt_bad,
                    parent_gone: self.remote || self.index >= TABLE_SIZE,
                    ..Conditions::default()
                };
                let parent = (looked_up && self.valid()).then_some(&self.region);
                let (syndrome, mask) = golden.check_with(&conditions, Some(window), parent, sent);
                (syndrome, mask, false)
            }
            None => {
                let free = self.state == State::Free.code();
                let conditions = Conditions {
                    disabled: self.disabled,
                    tag_busy: self.tag_busy,
                    bus,
                    mpt_bad,
                    invalid: looked_up && !free && !self.valid(),
                    ..Conditions::default()
                };
                // A parent that allows everything: the window's own rules are in question.
                let parent = self.region.parent.map(|parent| Region {
                    gen: parent.gen,
                    start: self.region.in_parent(self.request.va),
                    length: self.request.len.into(),
                    ..Region::default()
                });
                let region = (looked_up && !free).then_some(&self.region);
                let parent = parent.as_ref();
                let (syndrome, mask) =
                    golden.check_with(&conditions, region, parent, &self.request);
                let ok = syndrome == Syndrome::Ok && looked_up;
                (syndrome, mask, ok && self.region.kind.is_window())
            }
        }
    }

    /// What is handed on must give the beats of the golden reference.
    fn compare_granted(&self, out: &BTreeMap<String, u128>) -> Result<()> {
        let region = Arc::new(self.region.clone());
        let (first, second) = match &self.window {
            Some((window, _)) => (Arc::new(window.clone()), Some(region.clone())),
            None => (region.clone(), None),
        };
        let request = match &self.window {
            Some((_, sent)) => sent,
            None => &self.request,
        };
        let verdict = Verdict {
            syndrome: Syndrome::Ok,
            mask: 0,
            region: Some(first),
            parent: second,
            windows: HostWindows::default(),
        };
        let beats: Beats<Arc<Region>> = verdict.beats(request);
        let size = 1u128 << region.log_page;
        let beats: Vec<_> = beats.take(MAX_BEATS as usize).collect();
        ensure!(!beats.is_empty(), "no beat");
        let pages = out["o_np"];
        let told = beats.len() as u128;
        if beats.iter().any(|beat| beat.last) {
            ensure!(pages == told, "{pages} pages, golden gives {told} beats");
        } else {
            let bytes = (out["o_off"] + u128::from(request.len)).div_ceil(size);
            ensure!(pages == bytes, "{pages} pages, {bytes} by the bytes");
        }
        for beat in &beats {
            ensure!(beat.syndrome == Syndrome::Ok, "golden: {:?}", beat.syndrome);
            ensure!(u128::from(beat.relaxed) == out["o_relaxed"], "relaxed");
        }
        let off = u128::from(beats[0].pa) % size;
        ensure!(
            off == out["o_off"],
            "offset {:#x}, golden {off:#x}",
            out["o_off"]
        );
        let entry = region.entry(State::Valid);
        if region.kind == Kind::Phys {
            for (beat, name) in beats.iter().zip(["o_frame0", "o_frame1"]) {
                let page = u128::from(beat.pa) >> 12 & !((1 << 31) - 1);
                ensure!(
                    out[name] == page,
                    "{name} {:#x}, golden {page:#x}",
                    out[name]
                );
            }
            ensure!(
                out["o_idx"] == 0 && out["o_encoding"] == 3,
                "physical region"
            );
        } else {
            let slot = match region.level {
                LEVEL_FLAT => region.frame[0] >> 3 & 0x1ff,
                _ => 0,
            };
            let page = (out["o_idx"] + (1 << 40) - u128::from(slot)) % (1 << 40);
            let asked = self
                .recorder
                .asked
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let Some(&first) = asked.first() else {
                bail!("golden asked for no page")
            };
            let first = u128::from(first) % (1 << 40);
            ensure!(page == first, "page {page:#x}, golden asks for {first:#x}");
            for k in 0..4 {
                let frame = u128::from(entry.frame[k]);
                ensure!(out[&format!("o_frame{k}")] == frame, "frame {k}");
            }
            ensure!(out["o_encoding"] == u128::from(entry.encoding), "encoding");
        }
        let writes = request.operation().is_some_and(Op::writes);
        let on_demand = region.access.contains(Access::ON_DEMAND);
        for (name, value) in [
            ("o_write", u128::from(writes)),
            ("o_ondemand", u128::from(on_demand)),
            ("o_index", u128::from(self.index)),
            ("o_gen", u128::from(entry.gen)),
            ("o_level", u128::from(entry.level)),
            ("o_log_page", u128::from(entry.log_page)),
            ("o_log_tpage", u128::from(entry.log_tpage)),
            ("o_tag", u128::from(request.tag)),
            ("o_rem", u128::from(request.len)),
        ] {
            ensure!(
                out[name] == value,
                "{name} {:#x}, golden {value:#x}",
                out[name]
            );
        }
        Ok(())
    }

    fn compare(&self, model: &Model, golden: &Golden, seen: &mut Seen) -> Result<()> {
        let out = model.eval(&self.inputs());
        let (syndrome, mask, again) = self.golden(golden);
        let want = if again { Syndrome::Parent } else { syndrome };
        let got = out["syndrome"];
        ensure!(
            got == u128::from(want.code()),
            "syndrome {got}, golden {want:?}"
        );
        ensure!(out["again"] == u128::from(again), "again");
        let accepted = want == Syndrome::Ok;
        let empty = accepted && self.request.len == 0;
        ensure!(out["empty"] == u128::from(empty), "empty");
        if out["live"] == 1 {
            ensure!(
                out["mask"] == u128::from(mask),
                "mask {:#x}, golden {mask:#x}",
                out["mask"]
            );
        }
        *seen.syndromes.entry(want.code()).or_default() += 1;
        seen.again += u64::from(again);
        seen.second += u64::from(self.window.is_some());
        if accepted && !empty {
            seen.granted += 1;
            return self.compare_granted(&out);
        }
        for (name, value) in &out {
            let refused = !name.starts_with("o_") || *value == 0;
            ensure!(refused, "{name} = {value:#x} of a refused request");
        }
        Ok(())
    }
}

/// Compares the model with the golden rules on `count` cases.
///
/// # Errors
/// The first case that differs.
pub fn run(model: &Model, seed: u64, count: u64) -> Result<Seen> {
    let golden = Golden::enabled(KeyMaker::new([0; 4], [0; 4], true), TABLE_SIZE, 3);
    let mut seen = Seen::default();
    let mut draw = Draw::new(seed);
    for number in 0..count {
        let case = Case::draw(&mut draw);
        if let Err(error) = case.compare(model, &golden, &mut seen) {
            let Case {
                request,
                region,
                state,
                fields,
                ..
            } = &case;
            bail!(
                "case {number} of seed {seed}: {error}\n{request:?}\n{region:?}\n\
                 state {state}, kind, log_page, level, log_tpage, encoding {fields:?}, \
                 disabled {}, bus {}, crc_bad {}, second {}",
                case.disabled,
                case.bus,
                case.crc_bad,
                case.window.is_some()
            );
        }
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::check;

    #[test]
    fn the_table_gives_the_golden_verdicts() {
        let seen = run(&check().0, 1, 100_000).unwrap_or_else(|error| panic!("{error}"));
        for code in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 14, 15, 16, 17] {
            let count = seen.syndromes.get(&code).copied().unwrap_or(0);
            assert!(count > 50, "syndrome {code}: {count} times");
        }
        assert!(
            seen.granted > 5000 && seen.again > 100 && seen.second > 20_000,
            "{seen:?}"
        );
    }
}
