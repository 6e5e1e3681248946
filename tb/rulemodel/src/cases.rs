// SPDX-License-Identifier: Apache-2.0
//! Random cases of the check, and what the golden rules say of each.
//!
//! Entries and requests are random, at boundaries and beside them: see [`Draw::near`]. The table of
//! rules is compared with golden on them ([`crate::compare`]), and so is the Verilated block
//! (`tb/bench/tests/check_bench.rs`).

use std::sync::{Arc, Mutex, PoisonError};

use tpt_golden::codec::{MptEntry, LOG_PAGE_RANGE};
use tpt_golden::frames::{Page, PageSource};
use tpt_golden::types::{
    Access, Encoding, Key, Kind, Op, Request, State, Syndrome, LEVEL_FLAT, LEVEL_INLINE,
};
use tpt_golden::unit::{Conditions, Golden, Parent, Region};

/// Entries of the MPT.
pub const TABLE_SIZE: u32 = 1000;

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
pub struct Recorder {
    log_page: u8,
    asked: Mutex<Vec<u64>>,
}

impl Recorder {
    /// The page that was asked for first.
    pub fn first(&self) -> Option<u64> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.first().copied()
    }
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
pub struct Case {
    /// What the entry says, as far as its fields are legal.
    pub region: Region,
    /// The pages of the region.
    pub recorder: Arc<Recorder>,
    /// State as stored, and kind, log_page, level, log_tpage and encoding, legal or not.
    pub state: u8,
    pub fields: [u8; 5],
    pub request: Request,
    /// Role and index that the key decodes to.
    pub remote: bool,
    pub index: u32,
    /// Of the request as it was sent, if it comes again: the window, and its key.
    pub window: Option<(Region, Request)>,
    pub disabled: bool,
    pub tag_busy: bool,
    /// What goes wrong if the entry is read.
    pub bus: bool,
    pub crc_bad: bool,
}

impl Case {
    /// A random one.
    pub fn draw(d: &mut Draw) -> Case {
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
            bound: d.below(1 << 23) as u32,
            cap: d.below(1 << 20) as u32,
            remote_inv: d.once_in(2),
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
            stream: d.below(64) as u8,
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
    pub fn needs_key(&self) -> bool {
        match self.request.operation() {
            Some(Op::RemoteAtomic) => self.request.len == 8,
            _ => self.request.len != 0 && self.request.len <= 1 << 31,
        }
    }

    /// The entry is read.
    pub fn looked_up(&self) -> bool {
        let stopped = self.disabled || self.tag_busy;
        self.needs_key() && self.index < TABLE_SIZE && !stopped
    }

    /// A VALID entry was read for a good length: the mask of the unit is whole.
    pub fn whole(&self) -> bool {
        let trouble = self.bus || self.crc_bad || self.illegal();
        self.looked_up() && self.valid() && !trouble
    }

    /// The entry as it is stored.
    pub fn entry(&self) -> MptEntry {
        let [kind, log_page, level, log_tpage, encoding] = self.fields;
        MptEntry {
            state: self.state,
            kind,
            log_page,
            level,
            log_tpage,
            encoding,
            ..self.region.entry(State::Valid)
        }
    }

    fn valid(&self) -> bool {
        self.state == State::Valid.code()
    }

    /// As the golden codec reads the entry.
    fn illegal(&self) -> bool {
        self.entry().legal().is_err()
    }

    /// Verdict and mask of the golden rules; true if a window sends the request to its parent.
    pub fn golden(&self, golden: &Golden) -> (Syndrome, u32, bool) {
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
                match ok && self.region.kind.is_window() {
                    true => (Syndrome::Parent, mask, true),
                    false => (syndrome, mask, false),
                }
            }
        }
    }
}
