// SPDX-License-Identifier: Apache-2.0
//! `tpt_mtt_walker` on its own: random regions of every level and encoding, random positions, many
//! contexts at once, a memory that answers late, in any order and with errors. Every chunk is
//! compared with the list of pages that the table was built from.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use tpt_bench::rig::scatter;
use tpt_bench::rng::Rng;
use tpt_golden::codec::{Mtt, Place as Place21};
use tpt_golden::frames::{FrameList, Page, PageSource};
use tpt_golden::host::Host;
use tpt_golden::mtt::{Shape, Table};
use tpt_golden::types::{Encoding, Syndrome, LEVEL_FLAT, LEVEL_INLINE};
use tpt_golden::unit::Region;
use tpt_verilated::{DutOptions, FlatDut, PortRef};

const CONTEXTS: usize = 16;
const LINE: u64 = 2;

/// Puts `width` bits at `lsb`.
fn put(words: &mut [u32], lsb: usize, width: usize, value: u64) {
    for bit in 0..width {
        let at = lsb + bit;
        let mask = 1 << (at % 32);
        words[at / 32] = words[at / 32] & !mask | ((value >> bit & 1) as u32) << (at % 32);
    }
}

struct Place {
    region: Region,
    table: Table,
    /// Lines of the table that the memory refuses.
    broken: HashSet<u64>,
    in_flight: u32,
}

#[derive(Clone, Copy)]
struct Walk {
    place: usize,
    /// Page of the region at which the chunk starts.
    page: u64,
    /// Pages and bytes that are left, this chunk included.
    pages: u64,
    bytes: u64,
    offset: u64,
    write: bool,
    first: bool,
    /// A fault has ended the request before this chunk, or nobody wants what comes behind.
    dropped: bool,
}

impl Walk {
    /// Pages in the chunk.
    fn room(&self, flat: u64) -> u64 {
        (LINE - (self.page + flat) % LINE).min(self.pages)
    }
}

struct Bench {
    dut: FlatDut,
    ports: HashMap<&'static str, PortRef>,
    host: Host,
    rng: Rng,
    places: Vec<Place>,
    serial: u64,
    walks: [Option<Walk>; CONTEXTS],
    /// The chunk's result is here; the context may be used again when it is committed.
    shown: [bool; CONTEXTS],
    /// Contexts whose walk has begun and goes on: what comes behind.
    more: HashMap<usize, Walk>,
    /// Contexts that must wait until what they were the source of has been read.
    reads: Vec<(u64, usize, u64)>,
    clock: u64,
    chunks: u64,
    /// A next chunk is asked for and not yet taken.
    asking: bool,
    seen: HashMap<&'static str, u64>,
}

const PORTS: [&str; 34] = [
    "rst_ni",
    "ready_o",
    "in_valid_i",
    "in_ctx_i",
    "in_desc_i",
    "in_pos_i",
    "adv_valid_i",
    "adv_ready_o",
    "adv_ctx_i",
    "adv_src_i",
    "sub_valid_o",
    "sub_ctx_o",
    "sub_more_o",
    "out_valid_o",
    "out_ctx_o",
    "out_frame0_o",
    "out_frame1_o",
    "out_sel_o",
    "out_good_o",
    "out_fault_o",
    "out_syndrome_o",
    "out_first_o",
    "out_final_o",
    "out_off_o",
    "out_rem_o",
    "commit_valid_o",
    "commit_ctx_o",
    "ar_valid_o",
    "ar_ready_i",
    "ar_ctx_o",
    "ar_addr_o",
    "r_valid_i",
    "r_ctx_i",
    "sweep_done_o",
];

impl Bench {
    fn new(seed: u64) -> Self {
        let dut = FlatDut::new("tb_mtt_walker", &DutOptions::default()).expect("built");
        let mut ports: HashMap<_, _> = PORTS.iter().map(|name| (*name, dut.port(name))).collect();
        for name in [
            "r_data_i",
            "r_err_i",
            "sweep_valid_i",
            "sweep_all_i",
            "sweep_index_i",
            "out_log_page_o",
        ] {
            ports.insert(name, dut.port(name));
        }
        let mut bench = Self {
            dut,
            ports,
            host: Host::default(),
            rng: Rng::new(seed),
            places: Vec::new(),
            serial: 0,
            walks: [None; CONTEXTS],
            shown: [false; CONTEXTS],
            more: HashMap::new(),
            reads: Vec::new(),
            clock: 0,
            chunks: 0,
            asking: false,
            seen: HashMap::new(),
        };
        for _ in 0..4 {
            bench.tick();
        }
        bench.set("rst_ni", 1);
        while bench.get("ready_o") == 0 {
            bench.tick();
            assert!(
                bench.clock < 1000,
                "the cache is empty after its sets were written"
            );
        }
        for n in 0..10 {
            let place = bench.place(n + 1, 0);
            bench.places.push(place);
        }
        bench
    }

    fn set(&mut self, name: &str, value: u64) {
        self.dut.set_u64(self.ports[name], value);
    }

    fn get(&self, name: &str) -> u64 {
        self.dut.get_u64(self.ports[name])
    }

    fn tick(&mut self) {
        self.dut.tick().unwrap_or_else(|error| panic!("{error}"));
        self.clock += 1;
    }

    fn count(&mut self, what: &'static str) {
        *self.seen.entry(what).or_default() += 1;
    }

    /// A region with a table in memory.
    fn place(&mut self, index: u32, gen: u8) -> Place {
        let rng = &mut self.rng;
        self.serial += 1;
        let level = [LEVEL_INLINE, 1, 1, 2, 3, LEVEL_FLAT][rng.below(6) as usize];
        let log_page = [12u8, 12, 13, 16, 21, 30, 43][rng.below(7) as usize];
        let log_tpage = [12u8, 12, 13, 16][rng.below(4) as usize];
        let pages = match level {
            LEVEL_INLINE => 1 + rng.below(4),
            1 => 1 + rng.below(512),
            2 => 1 + rng.below(5000),
            3 => 1 + rng.below(300_000),
            _ => 1 + rng.below(3000),
        };
        let encoding = Encoding::ALL[rng.below(3) as usize];
        let checked = encoding == Encoding::Checked && level != LEVEL_INLINE;
        // Entries of encoding CHECKED hold addresses below 2^52.
        let (log_page, above) = match checked {
            true => (log_page.min(30), (1 << 50) + ((self.serial & 0x7f) << 43)),
            false => (log_page, (1 << 62) + ((self.serial & 0xff) << 52)),
        };
        let mut list = scatter(log_page, above, pages);
        if level != LEVEL_INLINE {
            for _ in 0..rng.below(6 + pages.min(1000) / 30) {
                let page = rng.below(pages);
                let fault = match rng.below(3) {
                    0 => Page::Absent,
                    1 => Page::Bad,
                    _ => match list.page(page) {
                        Page::Present { pa, .. } => Page::Present {
                            pa,
                            writable: false,
                        },
                        other => other,
                    },
                };
                list.set(page..page + 1, fault);
            }
        }
        let shape = Shape {
            log_page: Some(log_page),
            level: Some(level),
            log_tpage: Some(log_tpage),
            encoding,
            flat_offset: 8 * rng.below(512),
            lazy: pages > 20_000,
        };
        let written = Arc::new(list.clone());
        let mut table = Table::build(&mut self.host, &written, &shape, 3)
            .unwrap_or_else(|error| panic!("{shape:?} {pages}: {error}"));
        table.complete(&mut self.host, &written, index);
        if checked && !shape.lazy {
            for _ in 0..self.rng.below(4) {
                let page = self.rng.below(pages);
                if let Some(what) = self.damage(&table, &mut list, page) {
                    self.count(what);
                }
            }
        }
        let list: Arc<FrameList> = Arc::new(list);
        let mut broken = HashSet::new();
        for _ in 0..self.rng.below(3) {
            if let Some(entry) = table.entry_pa(self.rng.below(pages)) {
                broken.insert(entry & !15);
            }
        }
        let region = Region {
            index,
            gen,
            length: 1,
            log_page,
            level,
            log_tpage: table.log_tpage().max(12),
            encoding,
            frame: table.frame(),
            pages: list,
            ..Region::default()
        };
        Place {
            region,
            table,
            broken,
            in_flight: 0,
        }
    }

    /// Changes the entry of a page as memory might: up to three bits, or the entry of another page of
    /// the same region or of another region. The page is bad then.
    fn damage(&mut self, table: &Table, list: &mut FrameList, page: u64) -> Option<&'static str> {
        let entry = table.entry_pa(page)?;
        let right = self.host.mem.read_u64(entry);
        if !matches!(list.page(page), Page::Present { .. }) {
            return None;
        }
        let (wrong, what) = match self.rng.below(3) {
            0 => {
                let bits = 1 + self.rng.below(3);
                let mut changed = 0u64;
                while u64::from(changed.count_ones()) < bits {
                    changed |= 1 << self.rng.below(64);
                }
                (right ^ changed, "changed bits")
            }
            1 => {
                let other = page ^ 1 << self.rng.below(10);
                let taken = table.entry_pa(other)?;
                if !matches!(list.page(other), Page::Present { .. }) {
                    return None;
                }
                (self.host.mem.read_u64(taken), "entries of other pages")
            }
            _ => {
                let other = Mtt::at(1 << 40);
                let place = Place21 {
                    index: self.rng.below(1 << 8) as u32 | 1 << 8,
                    number: page,
                    level: 1,
                };
                let word = other.encode(Encoding::Checked, place);
                (word, "entries of other regions")
            }
        };
        // Another entry may have come from a damaged one.
        if wrong == right {
            return None;
        }
        self.host.mem.write_u64(entry, wrong);
        list.set(page..page + 1, Page::Bad);
        Some(what)
    }

    fn flat(&self, place: usize) -> u64 {
        let region = &self.places[place].region;
        if region.level == LEVEL_FLAT {
            region.frame[0] >> 3 & 0x1ff
        } else {
            0
        }
    }

    /// Drives a new request into a free context.
    fn start(&mut self, context: usize) {
        let place = self.rng.below(self.places.len() as u64) as usize;
        let flat = self.flat(place);
        let region = &self.places[place].region;
        let pages = self.places[place].table.entries();
        let size = 1u64 << region.log_page;
        let page = self.rng.below(pages);
        let offset = self.rng.below(size);
        let most = ((pages - page) as u128 * u128::from(size) - u128::from(offset)).min(1 << 31);
        let wanted = 1 + self
            .rng
            .below([1, 8, 4096, 40 << 12, 1 << 31][(page % 5) as usize]);
        let bytes = wanted.min(most as u64);
        let count = (offset + bytes).div_ceil(size);
        // Long requests are cut: 40 pages say enough.
        let (bytes, count) = if count > 40 {
            (40 * size - offset, 40)
        } else {
            (bytes, count)
        };
        let write = self.rng.chance(1, 2);
        let entry = region.entry(tpt_golden::types::State::Valid);
        let mut desc = vec![0; 9];
        for (k, frame) in entry.frame.iter().enumerate() {
            put(&mut desc, 52 * k, 52, *frame);
        }
        put(&mut desc, 208, 1, write.into());
        put(&mut desc, 209, 2, entry.encoding.into());
        put(&mut desc, 211, 3, entry.log_tpage.into());
        put(&mut desc, 214, 6, entry.log_page.into());
        put(&mut desc, 220, 3, entry.level.into());
        put(&mut desc, 223, 8, entry.gen.into());
        put(&mut desc, 231, 23, region.index.into());
        let mut pos = vec![0; 5];
        put(&mut pos, 0, 32, bytes);
        put(&mut pos, 32, 43, offset);
        put(&mut pos, 75, 20, count);
        put(&mut pos, 95, 40, page + flat);
        self.set("in_valid_i", 1);
        self.set("in_ctx_i", context as u64);
        let (desc_port, pos_port) = (self.ports["in_desc_i"], self.ports["in_pos_i"]);
        self.dut.set(desc_port, &desc);
        self.dut.set(pos_port, &pos);
        self.begin(
            context,
            Walk {
                place,
                page,
                pages: count,
                bytes,
                offset,
                write,
                first: true,
                dropped: false,
            },
        );
    }

    fn begin(&mut self, context: usize, walk: Walk) {
        self.places[walk.place].in_flight += 1;
        self.walks[context] = Some(walk);
        self.shown[context] = false;
    }

    /// One clock with random traffic; `quiet`: no new requests.
    fn step(&mut self, quiet: bool) {
        let now = self.clock;
        self.set("in_valid_i", 0);
        self.set("adv_valid_i", self.asking.into());
        self.set("r_valid_i", 0);
        self.set("sweep_valid_i", 0);
        let ready = self.rng.chance(2, 3);
        self.set("ar_ready_i", ready.into());
        let free: Vec<usize> = (0..CONTEXTS)
            .filter(|context| self.walks[*context].is_none() && !self.more.contains_key(context))
            .collect();
        // What comes behind a chunk, in the same context once that is free or in another one.
        let sources: Vec<usize> = self.more.keys().copied().collect();
        let mut used = None;
        if !self.asking && !sources.is_empty() && self.rng.chance(1, 2) {
            let source = sources[self.rng.below(sources.len() as u64) as usize];
            let target = if self.walks[source].is_none() {
                Some(source)
            } else if !free.is_empty() && self.rng.chance(1, 2) {
                Some(free[self.rng.below(free.len() as u64) as usize])
            } else {
                None
            };
            if let (Some(target), Some(walk)) = (target, self.more.remove(&source)) {
                if walk.dropped && self.walks[source].is_none() {
                    // Nobody asks for more of a request that has ended.
                } else {
                    self.asking = true;
                    self.set("adv_valid_i", 1);
                    self.set("adv_ctx_i", target as u64);
                    self.set("adv_src_i", source as u64);
                    self.begin(target, walk);
                    used = Some(target);
                    self.count("next chunks");
                    if target != source {
                        self.count("next chunks in another context");
                    }
                }
            }
        }
        if !quiet && self.rng.chance(1, 3) {
            let choice = free.iter().copied().find(|context| Some(*context) != used);
            if let Some(context) = choice {
                self.start(context);
            }
        }
        // One answer of the memory, any that is due.
        let due: Vec<usize> = (0..self.reads.len())
            .filter(|n| self.reads[*n].0 <= now)
            .collect();
        if !due.is_empty() && self.rng.chance(3, 4) {
            let (_, context, address) = self
                .reads
                .swap_remove(due[self.rng.below(due.len() as u64) as usize]);
            let bad = self
                .places
                .iter()
                .any(|place| place.broken.contains(&address));
            let mut bytes = [0; 16];
            self.host.mem.read(address, &mut bytes);
            let words: Vec<u32> = bytes
                .chunks(4)
                .map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]))
                .collect();
            self.set("r_valid_i", 1);
            self.set("r_ctx_i", context as u64);
            self.set("r_err_i", bad.into());
            let port = self.ports["r_data_i"];
            self.dut.set(port, &words);
        }
        self.tick();
        if self.asking && self.get("adv_ready_o") != 0 {
            self.asking = false;
        }
        if ready && self.get("ar_valid_o") != 0 {
            let latency = 1 + self.rng.below(if now % 2000 < 1000 { 8 } else { 150 });
            let context = self.get("ar_ctx_o") as usize;
            let address = self.get("ar_addr_o");
            assert_eq!(address % 16, 0, "reads are aligned to the line");
            assert!(
                self.reads.iter().all(|(_, other, _)| *other != context),
                "one read per context"
            );
            self.reads.push((now + latency, context, address));
            self.count("reads");
        }
        if self.get("sub_valid_o") != 0 {
            self.begun();
        }
        if self.get("out_valid_o") != 0 {
            self.chunk();
        }
        if self.get("commit_valid_o") != 0 {
            let context = self.get("commit_ctx_o") as usize;
            assert!(self.shown[context], "commit before the result");
            if let Some(walk) = self.walks[context].take() {
                self.places[walk.place].in_flight -= 1;
            }
        }
    }

    /// The walk of a chunk has begun.
    fn begun(&mut self) {
        let context = self.get("sub_ctx_o") as usize;
        let walk = self.walks[context].expect("a walk that was asked for");
        let room = walk.room(self.flat(walk.place));
        let more = room < walk.pages;
        assert_eq!(self.get("sub_more_o") != 0, more);
        if more {
            let size = 1u64 << self.places[walk.place].region.log_page;
            let next = Walk {
                page: walk.page + room,
                pages: walk.pages - room,
                bytes: walk.bytes - (room * size - walk.offset),
                offset: 0,
                first: false,
                ..walk
            };
            self.more.insert(context, next);
        }
    }

    /// Compares a chunk.
    fn chunk(&mut self) {
        let context = self.get("out_ctx_o") as usize;
        let walk = self.walks[context].expect("a walk under way");
        assert!(!self.shown[context], "one result per chunk");
        self.shown[context] = true;
        self.chunks += 1;
        let flat = self.flat(walk.place);
        let room = walk.room(flat);
        let place = &self.places[walk.place];
        let region = &place.region;
        let line = place.table.entry_pa(walk.page).map(|entry| entry & !15);
        let frames = [self.get("out_frame0_o"), self.get("out_frame1_o")];
        let select = ((walk.page + flat) % LINE) as usize;
        let context_text = || {
            format!(
                "index {} level {} {:?}, page {} of {}, {} left",
                region.index,
                region.level,
                region.encoding,
                walk.page,
                place.table.entries(),
                walk.pages
            )
        };
        let mut fault = None;
        let mut good = 0;
        if line.is_some_and(|line| place.broken.contains(&line)) {
            fault = Some(Syndrome::Bus);
        }
        while fault.is_none() && good < room {
            match region.page(walk.page + good, walk.write) {
                Ok(pa) => {
                    let frame = frames[select + good as usize];
                    assert_eq!(frame << 12, pa, "{}", context_text());
                    good += 1;
                }
                Err(syndrome) => fault = Some(syndrome),
            }
        }
        assert_eq!(self.get("out_good_o"), good, "{}", context_text());
        assert_eq!(
            self.get("out_fault_o") != 0,
            fault.is_some(),
            "{}",
            context_text()
        );
        let syndrome = fault.unwrap_or(Syndrome::Ok).code();
        assert_eq!(
            self.get("out_syndrome_o") as u8,
            syndrome,
            "{}",
            context_text()
        );
        assert_eq!(
            self.get("out_first_o") != 0,
            walk.first,
            "{}",
            context_text()
        );
        let last = fault.is_some() || room == walk.pages;
        assert_eq!(self.get("out_final_o") != 0, last, "{}", context_text());
        assert_eq!(self.get("out_sel_o") as usize, select, "{}", context_text());
        assert_eq!(self.get("out_log_page_o") as u8, region.log_page);
        assert_eq!(self.get("out_off_o"), walk.offset, "{}", context_text());
        assert_eq!(self.get("out_rem_o"), walk.bytes, "{}", context_text());
        let what = match fault {
            None => "good chunks",
            Some(Syndrome::MttAbsent) => "absent",
            Some(Syndrome::MttBad) => "bad",
            Some(_) => "bus",
        };
        self.count(what);
        if fault.is_some() {
            if let Some(next) = self.more.get_mut(&context) {
                next.dropped = true;
            }
        }
    }

    /// Runs out what is inside.
    fn drain(&mut self) {
        let start = self.clock;
        while self.walks.iter().any(Option::is_some) || !self.more.is_empty() {
            self.step(true);
            assert!(self.clock < start + 200_000, "the walker stands still");
        }
    }

    /// A place gets another region: same index, next generation, other pages and table.
    fn replace(&mut self) {
        self.drain();
        let n = self.rng.below(self.places.len() as u64) as usize;
        let (index, gen) = (self.places[n].region.index, self.places[n].region.gen);
        // When the generation comes again the owner sweeps the index; sometimes at other times.
        if gen == 255 || self.rng.chance(1, 8) {
            self.sweep(index);
        }
        let new = self.place(index, gen.wrapping_add(1));
        let old = std::mem::replace(&mut self.places[n], new);
        old.table.free(&mut self.host);
    }

    fn sweep(&mut self, index: u32) {
        let all = self.rng.chance(1, 4);
        self.set("sweep_all_i", all.into());
        self.set("sweep_index_i", index.into());
        self.set("sweep_valid_i", 1);
        let start = self.clock;
        loop {
            self.tick();
            if self.get("sweep_done_o") != 0 {
                break;
            }
            assert!(self.clock < start + 5000, "a sweep ends");
        }
        self.set("sweep_valid_i", 0);
        self.count("sweeps");
    }
}

fn run(seed: u64, rounds: u32, clocks: u32) {
    let mut bench = Bench::new(seed);
    for _ in 0..rounds {
        for _ in 0..clocks {
            bench.step(false);
        }
        bench.replace();
    }
    bench.drain();
    assert!(bench.reads.is_empty());
    let queue: VecDeque<_> = bench.seen.iter().collect();
    for what in [
        "good chunks",
        "absent",
        "bad",
        "bus",
        "next chunks",
        "reads",
    ] {
        assert!(
            bench.seen.get(what).copied().unwrap_or(0) > 20,
            "{what} too seldom: {queue:?}"
        );
    }
    for what in [
        "changed bits",
        "entries of other pages",
        "entries of other regions",
    ] {
        let count = bench.seen.get(what).copied().unwrap_or(0);
        assert!(count > 0, "{what} never: {queue:?}");
    }
    assert!(bench.chunks > 1000);
}

#[test]
fn random_walks() {
    run(1, 60, 1500);
}

#[test]
fn random_walks_with_many_registrations() {
    run(2, 400, 120);
}

#[test]
fn random_walks_with_another_seed() {
    run(0xbeef, 60, 1500);
}
