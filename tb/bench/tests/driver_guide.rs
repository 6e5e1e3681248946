// SPDX-License-Identifier: Apache-2.0
//! The sequences of docs/driver.md, and the figures of its picture, are recorded from the driver on
//! the Verilated unit and compared with the page. `TPT_RECORD=1` writes them instead.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use tpt_bench::axi::AxiConfig;
use tpt_bench::driver::{BenchPlatform, Heap, RtlUnit};
use tpt_bench::{Bench, BenchOptions, Clocks, CommandExtra, DonePolicy};
use tpt_driver::mtt::{Layout, Run};
use tpt_driver::trace::{Step, Traced};
use tpt_driver::verbs::{Bind, Memory, Progress, RegMr, WindowType};
use tpt_driver::{access, registers, Config, Device, Encoding, Error, Limit, Op, Platform, Status};
use tpt_golden::frames::{FrameList, Page, PagedList};
use tpt_golden::mem::PhysMem;
use tpt_golden::regs;
use tpt_golden::types::{Key, Op as Access, Request, Syndrome};

const LIMIT: Limit = Limit::Polls(10_000);
const PD: u32 = 7;
const QPN: u32 = 0x77;
const START: u64 = 0x7f00_0000_1000;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What a sequence shows, and its events for the picture: clock, lane, text.
#[derive(Default)]
struct Recorded {
    text: String,
    events: Vec<(u64, &'static str, String)>,
}

struct Recorder {
    unit: RtlUnit,
    mem: PhysMem,
    device: Option<Device>,
    /// Names of memory: first byte, bytes, bytes of a part, name.
    places: Vec<(u64, u64, u64, &'static str)>,
    pages: BTreeMap<&'static str, Recorded>,
    name: &'static str,
    begin: u64,
}

impl Recorder {
    fn new() -> Self {
        let mut mem = PhysMem::new();
        let latency = Clocks::fixed(20);
        let options = BenchOptions {
            axi: AxiConfig {
                read_latency: latency,
                write_latency: latency,
                ..AxiConfig::default()
            },
            ..BenchOptions::default()
        };
        let bench = Bench::new(&mut mem, options).expect("a model");
        Self {
            unit: RtlUnit::new(bench, Heap::default()),
            mem,
            device: None,
            places: Vec::new(),
            pages: BTreeMap::new(),
            name: "",
            begin: 0,
        }
    }

    /// A sequence begins.
    fn begin(&mut self, name: &'static str) {
        self.name = name;
        self.begin = self.unit.bench.clock();
        self.unit.bench.axi.start_log();
    }

    fn line(&mut self, clock: u64, text: &str) {
        let since = clock - self.begin;
        let page = self.pages.entry(self.name).or_default();
        writeln!(page.text, "{since:>6}  {text}").expect("a string");
    }

    fn event(&mut self, clock: u64, lane: &'static str, text: String) {
        let since = clock - self.begin;
        let page = self.pages.entry(self.name).or_default();
        page.events.push((since, lane, text));
    }

    /// Something that is no access of the host.
    fn note(&mut self, text: &str) {
        let clock = self.unit.bench.clock();
        self.line(clock, &format!("({text})"));
    }

    fn place(&self, address: u64) -> Option<(&'static str, u64, u64)> {
        let within =
            |place: &&(u64, u64, u64, &str)| (place.0..place.0 + place.1).contains(&address);
        let place = self.places.iter().find(within)?;
        let offset = address - place.0;
        Some((place.3, offset / place.2, offset % place.2))
    }

    /// A call of the driver, recorded.
    fn call<R>(
        &mut self,
        call: impl FnOnce(&mut Option<Device>, &mut &mut dyn Platform) -> R,
    ) -> R {
        let mut device = self.device.take();
        let platform = BenchPlatform {
            unit: &mut self.unit,
            mem: &mut self.mem,
        };
        let mut traced = Traced::new(platform);
        let result = {
            let mut platform: &mut dyn Platform = &mut traced;
            call(&mut device, &mut platform)
        };
        let steps = traced.take();
        self.device = device;
        self.write(&steps);
        result
    }

    /// Writes steps down, with names for addresses, and repeated looks as one line.
    fn write(&mut self, steps: &[(Option<u64>, Step)]) {
        let mut lines: Vec<(u64, String, u32)> = Vec::new();
        for (clock, step) in steps {
            let clock = clock.expect("the bench has a clock");
            let Some(text) = self.describe(step) else {
                continue;
            };
            if let Some((_, _, times)) = lines.last_mut().filter(|(_, last, _)| *last == text) {
                *times += 1;
                continue;
            }
            if let Some((lane, what)) = self.shown(step) {
                self.event(clock, lane, what);
            }
            lines.push((clock, text, 1));
        }
        for (clock, text, times) in lines {
            let many = match times {
                1 => String::new(),
                n => format!("  ({n} times)"),
            };
            self.line(clock, &format!("{text}{many}"));
        }
    }

    fn describe(&mut self, step: &Step) -> Option<String> {
        Some(match step {
            Step::Idle => return None,
            Step::Write { offset, .. } if registers::name(*offset).ends_with("_SECRET") => {
                format!("write {} = (random)", registers::name(*offset))
            }
            Step::Allocate { address, bytes } => {
                let what = match self.places.len() {
                    0 => ("MPT entry", 64),
                    1 => ("command slot", 128),
                    2 => ("completion slot", 128),
                    _ => ("table entry", 8),
                };
                self.places.retain(|place| place.0 != *address);
                self.places.push((*address, *bytes, what.1, what.0));
                format!("take  {bytes:#x} bytes: {}", whole(what.0))
            }
            Step::Free { address, bytes } => {
                let (name, ..) = self.place(*address)?;
                format!("free  {bytes:#x} bytes: {}", whole(name))
            }
            Step::Store { address, data } => match self.place(*address)? {
                ("command slot", n, _) => {
                    let op = Op::from_code(data[2]).expect("a command").name();
                    let id = u16::from_le_bytes([data[0], data[1]]);
                    format!("store command slot {n}: {op}, id {id}")
                }
                ("completion slot", ..) => "store zeros to a completion slot".into(),
                (name, n, _) => format!("store {:#x} bytes from {name} {n} on", data.len()),
            },
            Step::Load { address, data } => match self.place(*address)? {
                ("completion slot", n, 63) => {
                    format!("load  phase of completion slot {n} = {}", data[0])
                }
                ("completion slot", n, 0) => format!("load  completion slot {n}: {}", answer(data)),
                ("completion slot", n, _) => format!("load  second half of completion slot {n}"),
                (name, n, _) => format!("load  {name} {n}"),
            },
            other => other.to_string(),
        })
    }

    /// How a step looks in the picture.
    fn shown(&self, step: &Step) -> Option<(&'static str, String)> {
        match step {
            Step::Store { address, data } => match self.place(*address)? {
                ("command slot", ..) => {
                    let op = Op::from_code(data[2]).expect("a command").name();
                    Some(("memory", format!("store {op}")))
                }
                ("table entry", ..) => Some(("memory", "store table".into())),
                _ => None,
            },
            Step::Load { address, data } => match self.place(*address)? {
                ("completion slot", _, 0) => {
                    let status = Status::from_code(data[3]).expect("a status");
                    Some(("memory", format!("load {}", status.name())))
                }
                _ => None,
            },
            Step::Write { offset, .. } => Some(("registers", registers::name(*offset).into())),
            _ => None,
        }
    }

    /// What the unit has read meanwhile.
    fn reads(&mut self) {
        for (clock, address) in self.unit.bench.axi.take_log() {
            let Some((name, n, _)) = self.place(address) else {
                continue;
            };
            self.event(clock, "unit", format!("read {name} {n}"));
        }
    }

    /// A request that may have to wait.
    fn issue(&mut self, key: u32, va: u64) {
        self.note(&format!("remote read of 8 bytes from {va:#x}"));
        self.event(self.unit.bench.clock(), "unit", "request".into());
        self.unit.bench.issue(0, read(key, va));
    }

    /// Its answer.
    fn answered(&mut self) -> Syndrome {
        let mut found = None;
        for _ in 0..1000 {
            found = self.unit.bench.poll_client(0);
            if found.is_some() {
                break;
            }
            self.unit.bench.run(&mut self.mem, 1).expect("clocks");
        }
        let syndrome = found.expect("an answer").syndrome;
        let words = match syndrome {
            Syndrome::Ok => "granted".to_owned(),
            syndrome => format!("refused, {syndrome}"),
        };
        self.event(self.unit.bench.clock(), "unit", words.clone());
        self.note(&format!("the read is {words}"));
        syndrome
    }

    fn until_irq(&mut self) {
        let unit = &mut self.unit.bench;
        unit.run_until(&mut self.mem, "the interrupt", 1000, |bench| bench.irq())
            .expect("an interrupt");
        self.event(self.unit.bench.clock(), "unit", "irq_o".into());
        self.note("irq_o rises");
    }

    fn request(&mut self, key: u32, va: u64, client: usize) -> Syndrome {
        let request = read(key, va);
        let outcome = self
            .unit
            .bench
            .access(&mut self.mem, client, request)
            .expect("the bench agrees");
        let words = match outcome.syndrome {
            Syndrome::Ok => "granted".to_owned(),
            syndrome => format!("refused, {syndrome}"),
        };
        self.note(&format!("remote read of 8 bytes from {va:#x}: {words}"));
        outcome.syndrome
    }
}

fn read(key: u32, va: u64) -> Request {
    Request {
        op: Access::RemoteRead.code(),
        key: Key(key),
        va,
        len: 8,
        pd: PD,
        qpn: QPN,
        ..Request::default()
    }
}

/// What is made of such parts.
fn whole(part: &str) -> &'static str {
    match part {
        "MPT entry" => "MPT",
        "command slot" => "command queue",
        "completion slot" => "completion queue",
        _ => "table",
    }
}

fn answer(half: &[u8]) -> String {
    let word = |at: usize| u32::from_le_bytes([half[at], half[at + 1], half[at + 2], half[at + 3]]);
    let op = Op::from_code(half[2]).expect("a command").name();
    let status = Status::from_code(half[3]).expect("a status").name();
    let id = u16::from_le_bytes([half[0], half[1]]);
    let keys = match (word(4), word(8)) {
        (0, 0) => String::new(),
        (0, _) => ", R_Key".into(),
        (_, 0) => ", L_Key".into(),
        _ => ", L_Key and R_Key".into(),
    };
    format!("{op}, id {id}, {status}{keys}")
}

fn record() -> BTreeMap<&'static str, Recorded> {
    let mut r = Recorder::new();
    r.begin("start");
    let config = Config {
        mpt_entries: 64,
        perm_secret: [1, 2, 3, 4],
        tag_secret: [5, 6, 7, 8],
        fence_time: 300,
        log_commands: 3,
        log_completions: 3,
        ..Config::default()
    };
    r.call(|device, p| *device = Some(Device::start(p, &config, LIMIT).expect("a start")));

    // Six pages that do not follow each other: a table of one level.
    let addresses = [
        0x40_5000u64,
        0x40_1000,
        0x40_9000,
        0x40_3000,
        0x40_d000,
        0x40_b000,
    ];
    let runs = addresses.map(|address| Run {
        address,
        bytes: 0x1000,
    });
    let args = RegMr {
        pd: PD,
        start: START,
        length: 0x6000,
        access: access::LOCAL_WRITE | access::REMOTE_READ | access::MW_BIND,
        memory: Memory::Runs(&runs, Layout::default()),
    };
    r.begin("registration");
    let list = FrameList::from_addresses(12, addresses);
    r.unit.bench.expect_extra(CommandExtra {
        pages: Some(std::sync::Arc::new(list)),
        release: Vec::new(),
    });
    let mut region = r.call(|device, p| {
        let device = device.as_mut().expect("started");
        device.reg_mr(p, &args, LIMIT).expect("REG_MR")
    });
    r.reads();

    r.begin("window");
    let mut window = r.call(|device, p| {
        let device = device.as_mut().expect("started");
        device
            .alloc_mw(p, PD, WindowType::TwoB, LIMIT)
            .expect("ALLOC_MW")
    });
    let bind = Bind {
        mkey: region.lkey(),
        start: START + 0x1000,
        length: 0x800,
        access: access::REMOTE_READ,
        qpn: QPN,
        tag: 1,
    };
    let bound = r.call(|device, p| {
        let device = device.as_mut().expect("started");
        device.bind_mw(p, &mut window, &bind, LIMIT)
    });
    assert_eq!(bound, Ok(Progress::Done));
    assert_eq!(r.request(window.rkey(), START + 0x17f8, 0), Syndrome::Ok);
    let unbound = r.call(|device, p| {
        let device = device.as_mut().expect("started");
        device.unbind_mw(p, &mut window, LIMIT)
    });
    assert_eq!(unbound, Ok(Progress::Done));
    let key = window.rkey();
    assert_eq!(r.request(key, START + 0x1000, 0), Syndrome::KeyState);
    let freed = r.call(|device, p| {
        let device = device.as_mut().expect("started");
        device.dealloc_mw(p, &mut window, LIMIT)
    });
    assert_eq!(freed, Ok(Progress::Done));

    r.begin("refusal");
    let refused = r.call(|device, p| {
        let device = device.as_mut().expect("started");
        device.query(p, region.lkey(), PD + 1, LIMIT)
    });
    let (op, status) = (Op::Query, Status::KeyPd);
    assert_eq!(refused, Err(Error::Refused { op, status }));
    assert_eq!(
        r.request(region.rkey(), START + 0x6000, 0),
        Syndrome::Bounds
    );
    let (_, log) = r.call(|device, p| {
        let device = device.as_mut().expect("started");
        device.refusals(p).expect("LOG")
    });
    assert_eq!(log[0].syndrome(), Some(tpt_driver::Syndrome::Bounds));

    r.begin("interrupt");
    let id = r.call(|device, p| {
        let device = device.as_mut().expect("started");
        device
            .enable_interrupts(p, regs::int_enable::COMPLETION)
            .expect("INT_ENABLE");
        device.arm(p).expect("armed");
        assert_eq!(device.poll(p), Ok(None));
        device
            .submit(p, &tpt_driver::Command::new(Op::Query, region.lkey(), PD))
            .expect("sent")
    });
    r.until_irq();
    r.call(|device, p| {
        let device = device.as_mut().expect("started");
        let bits = device.take_interrupts(p).expect("INT_STATUS");
        assert_ne!(bits & regs::int_status::COMPLETION, 0);
        let done = device.wait(p, id, LIMIT).expect("a completion");
        assert_eq!(done.status, Status::Ok);
    });
    assert!(!r.unit.bench.irq());

    r.begin("pending");
    r.unit.bench.set_done_policy(1, DonePolicy::Withheld);
    assert_eq!(r.request(region.rkey(), START, 1), Syndrome::Ok);
    r.note("its client keeps the segment");
    let ended = r.call(|device, p| {
        let device = device.as_mut().expect("started");
        device.dereg_mr(p, &mut region, LIMIT)
    });
    assert_eq!(ended, Ok(Progress::Pending));
    assert_eq!(r.request(region.rkey(), START, 0), Syndrome::KeyState);
    r.unit.bench.set_done_policy(1, DonePolicy::IMMEDIATE);
    r.unit.bench.release_dones(1);
    let clock = r.unit.bench.clock();
    r.event(clock, "unit", "client gives done".into());
    r.note("the client gives done");
    let ended = r.call(|device, p| {
        let device = device.as_mut().expect("started");
        device.resume(p, &mut region, LIMIT)
    });
    assert_eq!(ended, Ok(Progress::Done));
    r.reads();

    r.begin("demand");
    let pages = std::sync::Arc::new(PagedList::new(12));
    r.unit.bench.expect_extra(CommandExtra {
        pages: Some(pages.clone()),
        release: Vec::new(),
    });
    let layout = Layout {
        encoding: Encoding::Checked,
        ..Layout::default()
    };
    let args = RegMr {
        pd: PD,
        start: START,
        length: 0x6000,
        access: access::REMOTE_READ,
        memory: Memory::OnDemand(layout),
    };
    let mut region = r.call(|device, p| {
        let device = device.as_mut().expect("started");
        device
            .enable_interrupts(p, regs::int_enable::PAGE_FAULT)
            .expect("INT_ENABLE");
        device.reg_mr(p, &args, LIMIT).expect("REG_MR")
    });

    r.begin("fault");
    r.issue(region.rkey(), START + 0x3010);
    r.until_irq();
    let mut fault = r.call(|device, p| {
        let device = device.as_mut().expect("started");
        let bits = device.take_interrupts(p).expect("INT_STATUS");
        assert_ne!(bits & regs::int_status::PAGE_FAULT, 0);
        let fault = device.take_fault(p).expect("FAULT").expect("a fault");
        assert_eq!(device.take_fault(p), Ok(None));
        fault
    });
    assert_eq!((fault.page(), fault.held()), (3, true));
    r.note("the host brings the page");
    let pa = 0x40_7000;
    pages.set(3, Page::at(pa), r.unit.bench.clock());
    r.call(|device, p| {
        let device = device.as_mut().expect("started");
        device
            .map_page(p, &region, fault.page(), pa, true)
            .expect("an entry");
        device.page_ready(p, &mut fault, LIMIT).expect("PAGE_READY");
    });
    assert_eq!(r.answered(), Syndrome::Ok);

    r.begin("unmap");
    pages.set(3, Page::Absent, r.unit.bench.clock());
    let done = r.call(|device, p| {
        let device = device.as_mut().expect("started");
        device.unmap_pages(p, &mut region, 3, 1, LIMIT)
    });
    assert_eq!(done, Ok(Progress::Done));
    r.note("the frame is the host's again");
    r.issue(region.rkey(), START + 0x3010);
    r.until_irq();
    r.call(|device, p| {
        let device = device.as_mut().expect("started");
        device.take_interrupts(p).expect("INT_STATUS");
        let mut fault = device.take_fault(p).expect("FAULT").expect("a fault");
        device.refuse(p, &mut fault, LIMIT).expect("PAGE_READY");
    });
    assert_eq!(r.answered(), Syndrome::MttAbsent);
    let ended = r.call(|device, p| {
        let device = device.as_mut().expect("started");
        device.dereg_mr(p, &mut region, LIMIT)
    });
    assert_eq!(ended, Ok(Progress::Done));

    r.begin("stop");
    r.call(|device, p| {
        let device = device.as_mut().expect("started");
        device.stop(p, LIMIT).expect("a stop");
    });
    assert_eq!(r.unit.heap.taken(), 0);
    r.pages
}

/// The page with its sequences replaced.
fn page(text: &str, recorded: &BTreeMap<&'static str, Recorded>) -> String {
    let mut out = text.to_owned();
    for (name, sequence) in recorded {
        let mark = format!("<!-- recorded: {name} -->\n");
        let begin = out.find(&mark).map(|at| at + mark.len());
        let begin = begin.unwrap_or_else(|| panic!("docs/driver.md: no place for {name}"));
        let end = out[begin..].find("<!-- end -->").map(|at| begin + at);
        let end = end.unwrap_or_else(|| panic!("docs/driver.md: no end of {name}"));
        let block = format!("```text\n clock  access\n{}```\n", sequence.text);
        out.replace_range(begin..end, &block);
    }
    out
}

/// The events of the picture.
fn data(recorded: &BTreeMap<&'static str, Recorded>) -> String {
    let mut out = String::from("{\n");
    let shown = ["registration", "pending", "fault"];
    for (n, name) in shown.iter().enumerate() {
        let mut events = recorded[name].events.clone();
        events.sort();
        let rows: Vec<String> = events
            .iter()
            .map(|(clock, lane, text)| format!("    [{clock}, \"{lane}\", \"{text}\"]"))
            .collect();
        let comma = if n + 1 < shown.len() { "," } else { "" };
        writeln!(out, "  \"{name}\": [\n{}\n  ]{comma}", rows.join(",\n")).expect("a string");
    }
    out + "}\n"
}

#[test]
fn the_sequences_of_the_guide_are_those_of_the_driver() {
    let recorded = record();
    let again = record();
    for (name, sequence) in &recorded {
        assert_eq!(
            sequence.text, again[name].text,
            "{name}: the same each time"
        );
    }
    let guide = root().join("docs/driver.md");
    let events = root().join("docs/data/driver.json");
    let old = std::fs::read_to_string(&guide).expect("docs/driver.md");
    let wanted = [(guide, page(&old, &recorded)), (events, data(&recorded))];
    for (path, text) in wanted {
        let there = std::fs::read_to_string(&path).unwrap_or_default();
        if std::env::var_os("TPT_RECORD").is_some() {
            std::fs::write(&path, &text).expect("the file can be written");
            continue;
        }
        for (line, (old, new)) in there.lines().zip(text.lines()).enumerate() {
            assert_eq!(
                old,
                new,
                "{}:{}: not as recorded; TPT_RECORD=1 renews it",
                path.display(),
                line + 1
            );
        }
        assert!(
            there == text,
            "{}: not as recorded; TPT_RECORD=1 renews it",
            path.display()
        );
    }
}
