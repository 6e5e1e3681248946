// SPDX-License-Identifier: Apache-2.0
//! The registers: `tpt_csr` on its own with every part built, walked by the table that is made from
//! `rtl/tpt_csr.rdl`, and in the unit with what counts, logs and interrupts there.

use std::collections::{BTreeMap, VecDeque};

use tpt_bench::rig::{Mr, Rig, Spec};
use tpt_bench::rng::Rng;
use tpt_bench::{BenchError, BenchOptions, UnitConfig};
use tpt_golden::regs::csr::components::tpt_csr as types;
use tpt_golden::regs::{self, with_value, Access, Register, REGISTERS};
use tpt_golden::types::{Op, Request, Syndrome};
use tpt_verilated::{DutOptions, FlatDut};

const OKAY: u32 = 0;
const SLVERR: u32 = 2;
const ALL: u8 = 15;
const MPT_BASE: u64 = 0x12_3456_7000;
const MPT_SIZE: u32 = 1000;

/// `tpt_csr` with its AXI4-Lite port driven.
struct Csr {
    dut: FlatDut,
}

impl Csr {
    fn new() -> Self {
        let dut = FlatDut::new("tb_csr", &DutOptions::default()).expect("tb_csr is built");
        let mut csr = Self { dut };
        csr.set("rst_ni", 0);
        csr.run(3);
        csr.set("rst_ni", 1);
        csr.set("idle_i", 1);
        csr.run(1);
        csr
    }

    fn set(&mut self, port: &str, value: u64) {
        let port = self.dut.port(port);
        self.dut.set_u64(port, value);
    }

    fn get(&self, port: &str) -> u64 {
        self.dut.get_u64(self.dut.port(port))
    }

    /// A port of any width, as words.
    fn words(&self, port: &str) -> Vec<u32> {
        self.dut.get(self.dut.port(port)).to_vec()
    }

    fn run(&mut self, clocks: u32) {
        for _ in 0..clocks {
            self.dut.tick().expect("no assertion fails");
        }
    }

    /// One clock with these inputs at 1.
    fn pulse(&mut self, ports: &[&str]) {
        ports.iter().for_each(|port| self.set(port, 1));
        self.run(1);
        ports.iter().for_each(|port| self.set(port, 0));
    }

    /// A write: its response, after how many clocks from the later of AW and W. `each` is called
    /// before every clock with its number.
    fn write_with(
        &mut self,
        address: u16,
        data: u32,
        strobes: u8,
        mut each: impl FnMut(&mut Self, u32),
    ) -> (u32, u32) {
        self.set("awaddr_i", address.into());
        self.set("wdata_i", data.into());
        self.set("wstrb_i", strobes.into());
        self.set("awvalid_i", 1);
        self.set("wvalid_i", 1);
        self.set("bready_i", 1);
        for clock in 0..20 {
            each(self, clock);
            self.run(1);
            if self.get("awready_o") != 0 {
                self.set("awvalid_i", 0);
            }
            if self.get("wready_o") != 0 {
                self.set("wvalid_i", 0);
            }
            if self.get("bvalid_o") != 0 {
                self.set("bready_i", 0);
                return (self.get("bresp_o") as u32, clock);
            }
        }
        panic!("no answer to the write of {address:#x}");
    }

    fn write_strobed(&mut self, address: u16, data: u32, strobes: u8) -> u32 {
        self.write_with(address, data, strobes, |_, _| ()).0
    }

    /// A write that must be taken.
    #[track_caller]
    fn write(&mut self, address: u16, data: u32) {
        let response = self.write_strobed(address, data, ALL);
        assert_eq!(response, OKAY, "write of {data:#x} to {address:#x}");
    }

    /// A write that must be refused and change nothing.
    #[track_caller]
    fn refuses(&mut self, address: u16, data: u32, strobes: u8) {
        let before = self.snapshot();
        let response = self.write_strobed(address, data, strobes);
        assert_eq!(response, SLVERR, "write of {data:#x} to {address:#x}");
        assert_eq!(
            self.snapshot(),
            before,
            "write of {data:#x} to {address:#x}"
        );
    }

    /// A read: response and data, after how many clocks.
    fn read_any(&mut self, address: u16) -> (u32, u32, u32) {
        self.set("araddr_i", address.into());
        self.set("arvalid_i", 1);
        self.set("rready_i", 1);
        for clock in 0..20 {
            self.run(1);
            if self.get("arready_o") != 0 {
                self.set("arvalid_i", 0);
            }
            if self.get("rvalid_o") != 0 {
                self.set("rready_i", 0);
                return (
                    self.get("rresp_o") as u32,
                    self.get("rdata_o") as u32,
                    clock,
                );
            }
        }
        panic!("no answer to the read of {address:#x}");
    }

    #[track_caller]
    fn read(&mut self, address: u16) -> u32 {
        let (response, data, _) = self.read_any(address);
        assert_eq!(response, OKAY, "read of {address:#x}");
        data
    }

    /// All registers, and what of them goes to the hardware.
    fn snapshot(&mut self) -> Vec<u32> {
        let mut all: Vec<u32> = offsets().map(|(_, address)| self.read(address)).collect();
        for port in [
            "perm_secret_o",
            "tag_secret_o",
            "mpt_base_o",
            "fence_time_o",
        ] {
            all.extend(self.words(port));
        }
        all
    }

    /// Good settings, and enabled.
    fn enable(&mut self) {
        self.write(regs::MPT_BASE_LO, MPT_BASE as u32);
        self.write(regs::MPT_BASE_HI, (MPT_BASE >> 32) as u32);
        self.write(regs::MPT_SIZE, MPT_SIZE);
        self.write(regs::CTRL, regs::ctrl::ENABLE);
        assert_eq!(self.get("enable_o"), 1);
    }

    /// Good settings of the queues, and enabled.
    fn enable_queues(&mut self, log_commands: u32, log_completions: u32) {
        self.write(regs::CMDQ_LOG_SIZE, log_commands);
        self.write(regs::CPLQ_LOG_SIZE, log_completions);
        self.write(regs::QUEUE_CTRL, regs::queue_ctrl::ENABLE);
        assert_eq!(self.get("queue_enable_o"), 1);
    }
}

/// Every single register with its offset.
fn offsets() -> impl Iterator<Item = (&'static Register, u16)> {
    REGISTERS
        .iter()
        .flat_map(|register| register.offsets().map(move |offset| (register, offset)))
}

/// Bytes of a word that the strobes let through.
fn strobe_mask(strobes: u8) -> u32 {
    (0..4).fold(0, |mask, byte| {
        mask | (u32::from(strobes >> byte & 1) * (0xff << (8 * byte)))
    })
}

/// A register that reads what was written to it, as long as nothing is enabled: value 0 is legal.
fn is_plain(register: &Register) -> bool {
    !matches!(register.name, "CMDQ_TAIL" | "CPLQ_HEAD") && register.bits(Access::Rw) != 0
}

/// Bits that are not written with 1 in the walk, because enabling has rules of its own.
fn kept_out(register: &Register) -> u32 {
    match register.name {
        "CTRL" => regs::ctrl::ENABLE,
        "QUEUE_CTRL" => regs::queue_ctrl::ENABLE,
        _ => 0,
    }
}

#[test]
fn offsets_are_words_of_their_own() {
    let mut seen = BTreeMap::new();
    for (register, offset) in offsets() {
        assert_eq!(offset % 4, 0, "{}", register.name);
        assert_eq!(seen.insert(offset, register.name), None, "{offset:#x}");
        let overlap = register.fields.iter().fold(0u32, |bits, field| {
            assert_eq!(bits & field.mask, 0, "{}.{}", register.name, field.name);
            bits | field.mask
        });
        assert_eq!(register.reset & !overlap, 0, "{}", register.name);
    }
}

#[test]
fn every_register_reads_its_reset_value() {
    let mut csr = Csr::new();
    for (register, offset) in offsets() {
        let value = csr.read(offset);
        assert_eq!(
            value & !register.live(),
            register.reset,
            "{}",
            register.name
        );
        let fields = register
            .fields
            .iter()
            .fold(0, |bits, field| bits | field.mask);
        assert_eq!(
            value & !fields,
            0,
            "{}: bits without a field",
            register.name
        );
        let told = ["CAP", "CAP2", "STATUS"].contains(&register.name);
        assert!(told || value & register.live() == 0, "{}", register.name);
    }
    assert_eq!(csr.read(regs::ID), u32::from_be_bytes(*b"TPT0"));
    assert_eq!(csr.read(regs::VERSION), regs::VERSION_VALUE);
    assert_eq!(csr.read(regs::STATUS), regs::status::IDLE);
    let cap2: types::cap2::Cap2 = with_value(csr.read(regs::CAP2));
    assert!(cap2.queues() && cap2.frmr());
    assert_eq!((cap2.windows(), cap2.syndromes()), (4, 20));
    assert!(cap2.alarm() && cap2.refusal_time());
    assert_eq!((cap2.log_parts(), cap2.log_alarm_pds()), (2, 7));
    assert_eq!((cap2.log_entries(), cap2.fault_slots()), (4, 8));
    // the fence limit is there before any driver has come
    assert_eq!(csr.get("fence_time_o"), 0x10_0000);
}

#[test]
fn what_is_not_there_and_what_is_read_only_refuses() {
    let mut csr = Csr::new();
    let known: BTreeMap<u16, &Register> = offsets().map(|(r, offset)| (offset, r)).collect();
    for address in (0..0x1000).step_by(4) {
        match known.get(&address) {
            None => {
                assert_eq!(csr.read_any(address).0, SLVERR, "{address:#x}");
                assert_eq!(csr.read_any(address).1, 0, "{address:#x}");
                assert_eq!(csr.write_strobed(address, !0, ALL), SLVERR, "{address:#x}");
            }
            Some(register) if !register.writable() => {
                for strobes in [0, 1, 8, ALL] {
                    csr.refuses(address, !0, strobes);
                    csr.refuses(address, 0, strobes);
                }
            }
            Some(_) => {}
        }
    }
}

#[test]
fn what_is_written_is_read_byte_by_byte() {
    let mut csr = Csr::new();
    let mut rng = Rng::new(1);
    for (register, offset) in offsets().filter(|(register, _)| is_plain(register)) {
        let bits = register.bits(Access::Rw) & !kept_out(register);
        let mut expected = register.reset;
        for turn in 0..40 {
            let data = match turn {
                0 => !0,
                1 => 0,
                _ => rng.next_u64() as u32,
            };
            let strobes = if turn < 2 { ALL } else { rng.below(16) as u8 };
            let mask = strobe_mask(strobes) & bits;
            // what has another access is not touched: 0 does nothing there
            let written = data & bits;
            // bits 1:0 of the address do not matter
            let low = rng.below(4) as u16;
            let response = csr.write_strobed(offset + low, written, strobes);
            assert_eq!(response, OKAY, "{}", register.name);
            expected = expected & !mask | data & mask;
            assert_eq!(csr.read(offset + 3 - low), expected, "{}", register.name);
        }
        csr.write(offset, register.reset);
    }
    let reset = Csr::new().snapshot();
    assert_eq!(csr.snapshot(), reset, "no register touches another one");
}

#[test]
fn secrets_are_taken_and_never_shown() {
    let mut csr = Csr::new();
    let mut rng = Rng::new(2);
    for (name, base, port) in [
        ("PERM_SECRET", regs::PERM_SECRET, "perm_secret_o"),
        ("TAG_SECRET", regs::TAG_SECRET, "tag_secret_o"),
    ] {
        let mut expected = [0u32; 4];
        for _ in 0..100 {
            let (word, data) = (rng.below(4) as usize, rng.next_u64() as u32);
            let strobes = rng.below(16) as u8;
            let mask = strobe_mask(strobes);
            let address = base + 4 * word as u16;
            assert_eq!(csr.write_strobed(address, data, strobes), OKAY, "{name}");
            expected[word] = expected[word] & !mask | data & mask;
            assert_eq!(csr.words(port), expected, "{name}");
            assert_eq!(csr.read(address), 0, "{name}");
        }
    }
    let shown = REGISTERS.iter().filter(|r| r.bits(Access::Wo) != 0).count();
    assert_eq!(shown, 2, "all write-only registers are tried here");
}

/// The locks of the table: while one is closed, exactly its registers refuse.
#[test]
fn locked_registers_refuse() {
    for lock in ["locked", "queue_locked", "window_locked"] {
        let mut csr = Csr::new();
        match lock {
            "queue_locked" => csr.enable_queues(4, 4),
            _ => csr.enable(),
        }
        // the windows are closed together with the rest
        let closed = |register: &Register| match (lock, register.lock) {
            ("queue_locked", closes) => closes == Some("queue_locked"),
            (_, closes) => {
                matches!(closes, Some("locked" | "window_locked" | "no_refusal_time"))
            }
        };
        let mut tried = 0;
        for (register, offset) in offsets().filter(|(register, _)| is_plain(register)) {
            let value = csr.read(offset);
            if closed(register) {
                for strobes in [0, 1, 4, ALL] {
                    csr.refuses(offset, !value, strobes);
                    csr.refuses(offset, value, strobes);
                }
                tried += 1;
            } else if kept_out(register) == 0 {
                csr.write(offset, value ^ register.bits(Access::Rw));
                csr.write(offset, value);
            }
        }
        assert!(tried >= 3, "{lock} closes {tried} registers");
        if lock != "queue_locked" {
            for (_, offset) in offsets().filter(|(r, _)| r.bits(Access::Wo) != 0 && closed(r)) {
                csr.refuses(offset, !0, ALL);
            }
        }
    }
}

/// Disabled is not unlocked: that comes when the unit is idle and nothing is in work.
#[test]
fn locked_until_idle() {
    for busy in ["idle_i", "fence_busy_i"] {
        let mut csr = Csr::new();
        csr.enable();
        csr.set(busy, u64::from(busy != "idle_i"));
        csr.run(5);
        csr.write(regs::CTRL, 0);
        assert_eq!(csr.get("enable_o"), 0);
        csr.run(20);
        assert_ne!(csr.read(regs::STATUS) & regs::status::LOCKED, 0, "{busy}");
        csr.refuses(regs::MPT_SIZE, 5, ALL);
        csr.refuses(regs::TAG_SECRET, 5, ALL);
        csr.refuses(regs::HOSTWIN_ENABLE, 1, ALL);
        csr.set(busy, u64::from(busy == "idle_i"));
        csr.run(2);
        assert_eq!(csr.read(regs::STATUS) & regs::status::LOCKED, 0, "{busy}");
        csr.write(regs::MPT_SIZE, 5);
        // busy again: without having been enabled, nothing locks
        csr.set(busy, u64::from(busy != "idle_i"));
        csr.run(5);
        csr.write(regs::MPT_SIZE, 6);
    }
}

#[test]
fn enabling_with_bad_settings_is_refused() {
    let mut csr = Csr::new();
    let top = 0xffff_ffff_ffff_f000_u64;
    for (base, size, good) in [
        (0, 0, false),
        (0, 1, true),
        (0x1000, 1 << 23, true),
        (0x1000, (1 << 23) + 1, false),
        (0, 0x8000_0000, false),
        (0x800, 1, false),
        (1, 1, false),
        (top, 64, true),
        (top, 65, false),
        (top - 0x1000, 65, true),
        (top - 0x1000, 128, true),
        (top - 0x1000, 129, false),
        (0xffff_ffff_e000_0000, 1 << 23, true),
        (0xffff_ffff_e000_1000, 1 << 23, false),
        (0xffff_ffff_f000_0000, (1 << 22) + 1, false),
    ] {
        csr.write(regs::MPT_BASE_LO, base as u32);
        csr.write(regs::MPT_BASE_HI, (base >> 32) as u32);
        csr.write(regs::MPT_SIZE, size);
        if good {
            csr.write(regs::CTRL, regs::ctrl::ENABLE);
            assert_eq!(csr.get("enable_o"), 1, "{base:#x}, {size}");
            assert_eq!(csr.get("mpt_base_o"), base);
            assert_eq!(csr.get("mpt_size_o"), size.into());
        } else {
            csr.refuses(regs::CTRL, regs::ctrl::ENABLE, ALL);
            assert_eq!(csr.get("enable_o"), 0, "{base:#x}, {size}");
            // without the byte of the bit, nothing is asked for
            assert_eq!(csr.write_strobed(regs::CTRL, !0, 0b1110), OKAY);
        }
        csr.write(regs::CTRL, 0);
        csr.run(2);
    }
}

/// More partitions than there are.
#[test]
fn enabling_with_too_many_partitions_is_refused() {
    let mut csr = Csr::new();
    csr.write(regs::MPT_SIZE, 1);
    csr.write(regs::ISOLATION, 3);
    csr.refuses(regs::CTRL, regs::ctrl::ENABLE, ALL);
    for log_parts in 0..3 {
        csr.write(regs::ISOLATION, log_parts);
        csr.write(regs::CTRL, regs::ctrl::ENABLE);
        assert_eq!(csr.get("enable_o"), 1);
        csr.write(regs::CTRL, 0);
        csr.run(2);
    }
}

#[test]
fn tenants_and_alarm_go_to_the_hardware() {
    let mut csr = Csr::new();
    csr.write(regs::ISOLATION, 13 << 8 | 2);
    csr.write(regs::PART_MAP, 0x1234_5678);
    csr.write(regs::REFUSAL_TIME, 0xabc);
    csr.write(regs::ALARM, 1 << 16 | 0x21 << 8 | 0x43);
    csr.write(regs::ALARM_SELECT, 0xb9 << 8 | 2 << 6 | 37);
    assert_eq!(csr.get("isolation_o"), 0x1234_5678 << 7 | 13 << 2 | 2);
    assert_eq!(csr.get("refusal_clocks_o"), 0xabc);
    let set = 0x43 << 28 | 0x21 << 20 | 1 << 19 | 2 << 17 | 37 << 11 | 0xb9 << 3;
    assert_eq!(csr.get("alarm_set_o"), set);
    // clearing lasts for one clock
    for (bit, pulse) in [(1, 4), (2, 2), (4, 1)] {
        let mut pulses = 0;
        let mut look = |csr: &mut Csr| {
            let now = csr.get("alarm_set_o") ^ set;
            assert!(now == 0 || now == pulse, "{bit}: {now:#x}");
            pulses += u32::from(now != 0);
        };
        let answer = csr.write_with(regs::ALARM_CLEAR, bit, ALL, |csr, _| look(csr));
        assert_eq!(answer.0, OKAY);
        for _ in 0..5 {
            look(&mut csr);
            csr.run(1);
        }
        assert_eq!(pulses, 1, "{bit}");
        assert_eq!(csr.read(regs::ALARM_CLEAR), 0);
    }
    // a count of 0x65 and blocked; of the slot 0x87, PD 0xcba987
    csr.set(
        "alarm_show_i",
        0x65 << 33 | 1 << 32 | 0x87 << 24 | 0xcb_a987,
    );
    csr.run(2);
    assert_eq!(csr.read(regs::ALARM_STREAM), 1 << 31 | 0x65);
    assert_eq!(csr.read(regs::ALARM_PD), 0xcb_a987 << 8 | 0x87);
    // 16 streams of each client, 64 places for them
    csr.set("blocked_i", 0x8004_4002_2001_1000);
    csr.run(2);
    let shown: Vec<u32> = (0..8)
        .map(|n| csr.read(regs::ALARM_BLOCKED + 4 * n))
        .collect();
    assert_eq!(shown, [0x1000, 0, 0x2001, 0, 0x4002, 0, 0x8004, 0]);
}

#[test]
fn settings_of_ctrl_are_locked() {
    use regs::ctrl::{ENABLE, MERGE, PHYS, PLAIN};
    let ports = [(PLAIN, "plain_o"), (MERGE, "merge_o"), (PHYS, "phys_o")];
    for settings in (0..16).step_by(2) {
        let mut csr = Csr::new();
        csr.enable();
        csr.write(regs::CTRL, 0);
        csr.run(2);
        csr.write(regs::CTRL, settings | ENABLE);
        csr.set("idle_i", 0);
        csr.run(2);
        for (bit, port) in ports {
            assert_eq!(csr.get(port) != 0, settings & bit != 0, "{port}");
            csr.refuses(regs::CTRL, settings ^ bit | ENABLE, ALL);
        }
        csr.write(regs::CTRL, settings | ENABLE);
        // disabling never fails, and leaves them as they are until the lock opens
        csr.write(regs::CTRL, !settings & !ENABLE);
        assert_eq!(csr.read(regs::CTRL), settings);
        csr.refuses(regs::CTRL, !settings | ENABLE, ALL);
        csr.write(regs::CTRL, settings | ENABLE);
        csr.write(regs::CTRL, 0);
        csr.set("idle_i", 1);
        csr.run(2);
        csr.write(regs::CTRL, !settings & 14);
        assert_eq!(csr.read(regs::CTRL), !settings & 14);
    }
}

/// Sets one bit of a sticky register in clock `when` of the write that clears it.
fn survives(address: u16, port: &str, value: u64, when: u32) -> (bool, u32) {
    let mut csr = Csr::new();
    csr.set(port, value);
    csr.run(1);
    csr.set(port, 0);
    csr.run(5);
    let bit = csr.read(address);
    assert_eq!(bit.count_ones(), 1, "{port}");
    let (response, end) = csr.write_with(address, bit, ALL, |csr, clock| {
        csr.set(port, if clock == when { value } else { 0 });
    });
    assert_eq!(response, OKAY);
    csr.set(port, 0);
    csr.run(5);
    (csr.read(address) != 0, end)
}

/// A bit that is set in the very clock in which it is cleared stays: no event is lost.
#[test]
fn setting_wins_over_clearing() {
    for (address, port, value, lag) in [
        (regs::ERROR, "err_set_i", 1, 0),
        (regs::ERROR, "err_set_i", 1 << 4, 0),
        (regs::INT_STATUS, "fault_event_i", 1, 1),
        (regs::INT_STATUS, "queue_event_i", 1, 1),
    ] {
        for when in 0..=3 {
            let (stays, end) = survives(address, port, value, when);
            // the write happens in the clock before its answer
            assert_eq!(
                stays,
                when + lag >= end - 1,
                "{port}, clock {when} of {end}"
            );
        }
    }
}

#[test]
fn errors_are_sticky_and_cleared_one_by_one() {
    let mut csr = Csr::new();
    let all = (1 << 6) - 1;
    for bit in 0..6 {
        csr.set("err_set_i", 1 << bit);
        csr.run(1);
        csr.set("err_set_i", 0);
        csr.run(3);
        assert_eq!(csr.read(regs::ERROR), (2 << bit) - 1);
    }
    csr.write(regs::ERROR, 0);
    assert_eq!(csr.write_strobed(regs::ERROR, !0, 0b1110), OKAY);
    assert_eq!(
        csr.read(regs::ERROR),
        all,
        "only ones in bytes with a strobe clear"
    );
    for bit in 0..6 {
        csr.write(regs::ERROR, 1 << bit);
        assert_eq!(csr.read(regs::ERROR), all & !((2 << bit) - 1));
    }
}

#[test]
fn client_resets_start_by_one_and_end_alone() {
    let mut csr = Csr::new();
    csr.write(regs::CLIENT_RESET, 0b0101);
    assert_eq!(csr.get("client_reset_o"), 0b0101);
    csr.write(regs::CLIENT_RESET, 0b0010);
    assert_eq!(csr.write_strobed(regs::CLIENT_RESET, !0, 0b1110), OKAY);
    assert_eq!(csr.read(regs::CLIENT_RESET), 0b0111);
    csr.set("client_reset_done_i", 0b0001);
    csr.run(1);
    csr.set("client_reset_done_i", 0);
    csr.run(1);
    assert_eq!(csr.get("client_reset_o"), 0b0110);
    // a reset that ends in the clock in which others are asked for is not forgotten
    for when in 0..4 {
        csr.write(regs::CLIENT_RESET, 0b0100);
        let (response, _) = csr.write_with(regs::CLIENT_RESET, 0b1000, ALL, |csr, clock| {
            csr.set(
                "client_reset_done_i",
                if clock == when { 0b0100 } else { 0 },
            );
        });
        assert_eq!(response, OKAY);
        assert_eq!(csr.read(regs::CLIENT_RESET), 0b1010, "done in clock {when}");
        csr.set("client_reset_done_i", 0b1000);
        csr.run(1);
        csr.set("client_reset_done_i", 0);
    }
}

#[test]
fn counters_count_what_comes() {
    let mut csr = Csr::new();
    let mut rng = Rng::new(3);
    let mut expected = [0u32; regs::counter::COUNT];
    for _ in 0..500 {
        let word = rng.next_u64() & ((1 << (4 * expected.len())) - 1);
        csr.set("cnt_inc_i", word);
        for (n, count) in expected.iter_mut().enumerate() {
            *count += (word >> (4 * n)) as u32 & 15;
        }
        csr.run(1);
    }
    csr.set("cnt_inc_i", 0);
    csr.run(3);
    for (n, count) in expected.into_iter().enumerate() {
        let address = regs::COUNTERS + 4 * n as u16;
        assert_eq!(csr.read(address), count, "{}", regs::counter::NAMES[n]);
    }
}

/// A refusal of the model.
#[derive(Clone, Copy)]
struct Refusal {
    client: u32,
    tag: u32,
    stream: u32,
    syndrome: u32,
}

/// Random refusals of four clients, several in one clock.
fn refusals(csr: &mut Csr, rng: &mut Rng, clocks: u32, log: &mut Vec<Refusal>) {
    let port = csr.dut.port("refusal_i");
    for _ in 0..clocks {
        let valid = rng.below(16) as u32 & rng.below(16) as u32;
        let mut packed = 0u128;
        for client in 0..4 {
            let refusal = Refusal {
                client,
                tag: rng.below(1024) as u32,
                stream: rng.below(64) as u32,
                syndrome: 1 + rng.below(19) as u32,
            };
            let word = refusal.syndrome | refusal.stream << 5 | refusal.tag << 11;
            packed |= u128::from(word) << (21 * client);
            if valid >> client & 1 != 0 {
                log.push(refusal);
            }
        }
        let words: Vec<u32> = (0..3).map(|n| (packed >> (32 * n)) as u32).collect();
        csr.dut.set(port, &words);
        csr.set("refused_i", valid.into());
        csr.run(1);
    }
    csr.set("refused_i", 0);
    csr.run(4);
}

fn check_log(csr: &mut Csr, log: &[Refusal]) {
    assert_eq!(csr.read(regs::LOG_COUNT), log.len() as u32);
    for n in 0..4 {
        let value = csr.read(regs::LOG + 4 * n as u16);
        let entry: types::log::Log = with_value(value);
        let Some(number) = log.len().checked_sub(n + 1) else {
            assert_eq!(value, 0, "entry {n} is empty");
            continue;
        };
        let refusal = log[number];
        assert_eq!(u32::from(entry.syndrome()), refusal.syndrome, "entry {n}");
        assert_eq!(u32::from(entry.client()), refusal.client, "entry {n}");
        assert_eq!(u32::from(entry.stream()), refusal.stream, "entry {n}");
        assert_eq!(u32::from(entry.tag()), refusal.tag, "entry {n}");
        assert_eq!(entry.refusal(), number as u8, "entry {n}");
    }
}

#[test]
fn refusals_are_counted_by_syndrome_and_logged_newest_first() {
    let mut csr = Csr::new();
    let mut rng = Rng::new(4);
    let mut log = Vec::new();
    check_log(&mut csr, &log);
    // first a few, to see the log fill; then many, so that the numbers wrap
    for clocks in [1, 1, 1, 1, 2, 3, 40, 400] {
        refusals(&mut csr, &mut rng, clocks, &mut log);
        check_log(&mut csr, &log);
    }
    assert!(log.len() > 256);
    for syndrome in 1..=19 {
        let count = log.iter().filter(|r| r.syndrome == syndrome).count() as u32;
        assert_ne!(count, 0);
        let address = regs::SYN_COUNT + 4 * (syndrome as u16 - 1);
        assert_eq!(csr.read(address), count, "syndrome {syndrome}");
    }
}

/// Each cause: a pulse sets its bit of INT_STATUS, and only its bit of INT_ENABLE lets it out.
#[test]
fn interrupts_go_up_and_down() {
    use regs::int_status::{ALARM, CLEAR_DONE, COMPLETION, ERROR, PAGE_FAULT, REFUSED};
    for (bit, port) in [
        (ALARM, "alarm_i"),
        (ERROR, "err_set_i"),
        (REFUSED, "refused_i"),
        (COMPLETION, "queue_event_i"),
        (PAGE_FAULT, "fault_event_i"),
        (CLEAR_DONE, "ready_i"),
        (CLEAR_DONE, "clear_error_i"),
    ] {
        let mut csr = Csr::new();
        let word = csr.dut.port("refusal_i");
        csr.dut.set(word, &[1, 0, 0]);
        csr.write(regs::INT_ENABLE, !bit);
        csr.pulse(&[port]);
        csr.run(6);
        assert_eq!(csr.read(regs::INT_STATUS), bit, "{port}");
        assert_eq!(csr.get("irq_o"), 0, "{port}: not enabled");
        csr.write(regs::INT_ENABLE, bit);
        csr.run(3);
        assert_eq!(csr.get("irq_o"), 1, "{port}");
        csr.run(50);
        assert_eq!(csr.get("irq_o"), 1, "{port}: a level");
        csr.write(regs::INT_STATUS, !bit);
        csr.run(3);
        assert_eq!(csr.get("irq_o"), 1, "{port}: other bits were cleared");
        csr.write(regs::INT_STATUS, bit);
        csr.run(3);
        assert_eq!(csr.get("irq_o"), 0, "{port}: cleared");
        csr.pulse(&[port]);
        csr.run(6);
        assert_eq!(csr.get("irq_o"), 1, "{port}: again");
        csr.write(regs::INT_ENABLE, 0);
        csr.run(3);
        assert_eq!(csr.get("irq_o"), 0, "{port}: disabled");
        assert_eq!(csr.read(regs::INT_STATUS), bit, "{port}: and still known");
    }
}

/// STATUS.ready and STATUS.clear_error interrupt when they rise, not while they are 1.
#[test]
fn the_end_of_clearing_interrupts_once() {
    for port in ["ready_i", "clear_error_i"] {
        let mut csr = Csr::new();
        csr.write(regs::INT_ENABLE, regs::int_enable::CLEAR_DONE);
        csr.set(port, 1);
        csr.run(6);
        assert_eq!(csr.get("irq_o"), 1, "{port}");
        csr.write(regs::INT_STATUS, regs::int_status::CLEAR_DONE);
        csr.run(20);
        assert_eq!(csr.get("irq_o"), 0, "{port}");
        csr.set(port, 0);
        csr.run(20);
        assert_eq!(csr.get("irq_o"), 0, "{port}");
        csr.set(port, 1);
        csr.run(6);
        assert_eq!(csr.get("irq_o"), 1, "{port}");
    }
}

#[test]
fn queues_are_enabled_with_good_settings_only() {
    use regs::queue_ctrl::ENABLE;
    let mut csr = Csr::new();
    let top = 0xffff_ffff_ffff_f000_u64;
    for (base, log_size, good) in [
        (0, 0, false),
        (0, 2, true),
        (0x5000, 16, true),
        (0x5000, 17, false),
        (0x5000, 31, false),
        (top, 5, true),
        (top, 6, false),
        (top - 0x1000, 6, true),
        (top - 0x1000, 7, false),
        (0xffff_ffff_ff80_0000, 16, true),
        (0xffff_ffff_ff80_1000, 16, false),
    ] {
        for (lo, hi, log, port) in [
            (
                regs::CMDQ_BASE_LO,
                regs::CMDQ_BASE_HI,
                regs::CMDQ_LOG_SIZE,
                "cmdq",
            ),
            (
                regs::CPLQ_BASE_LO,
                regs::CPLQ_BASE_HI,
                regs::CPLQ_LOG_SIZE,
                "cplq",
            ),
        ] {
            csr.write(regs::CMDQ_BASE_LO, 0);
            csr.write(regs::CMDQ_BASE_HI, 0);
            csr.write(regs::CMDQ_LOG_SIZE, 3);
            csr.write(regs::CPLQ_BASE_LO, 0);
            csr.write(regs::CPLQ_BASE_HI, 0);
            csr.write(regs::CPLQ_LOG_SIZE, 3);
            csr.write(lo, base as u32 | 0xfff);
            csr.write(hi, (base >> 32) as u32);
            csr.write(log, log_size);
            assert_eq!(csr.read(lo), base as u32, "bits 11:0 are not kept");
            assert_eq!(csr.get(&format!("{port}_base_o")), base);
            assert_eq!(csr.get(&format!("{port}_log_size_o")), log_size.into());
            if good {
                csr.write(regs::QUEUE_CTRL, ENABLE);
                assert_eq!(csr.get("queue_enable_o"), 1);
                csr.write(regs::QUEUE_CTRL, 0);
                csr.run(3);
            } else {
                csr.refuses(regs::QUEUE_CTRL, ENABLE, ALL);
                assert_eq!(csr.write_strobed(regs::QUEUE_CTRL, !0, 0b1110), OKAY);
            }
            assert_eq!(csr.get("queue_enable_o"), 0);
        }
    }
    // two slots are enough for commands, not for two completions of one command
    csr.write(regs::CMDQ_LOG_SIZE, 1);
    csr.write(regs::CPLQ_LOG_SIZE, 1);
    csr.refuses(regs::QUEUE_CTRL, ENABLE, ALL);
    csr.enable_queues(1, 2);
}

/// While the queues stop, their settings stay closed and they cannot be enabled again.
#[test]
fn queues_stop_before_they_start_again() {
    for port in ["queue_enabled_i", "queue_busy_i"] {
        let mut csr = Csr::new();
        csr.enable_queues(4, 5);
        csr.set(port, 1);
        csr.write(regs::QUEUE_CTRL, regs::queue_ctrl::ENABLE);
        csr.write(regs::QUEUE_CTRL, 0);
        csr.run(5);
        csr.refuses(regs::CMDQ_LOG_SIZE, 6, ALL);
        csr.refuses(regs::QUEUE_CTRL, regs::queue_ctrl::ENABLE, ALL);
        csr.set(port, 0);
        csr.run(2);
        csr.write(regs::CMDQ_LOG_SIZE, 6);
        csr.enable_queues(6, 5);
    }
    let mut csr = Csr::new();
    for (port, bit) in [
        ("queue_enabled_i", regs::queue_status::ENABLED),
        ("queue_busy_i", regs::queue_status::BUSY),
        ("queue_error_i", regs::queue_status::ERROR),
        ("queue_full_i", regs::queue_status::FULL),
    ] {
        csr.set(port, 1);
        assert_eq!(csr.read(regs::QUEUE_STATUS), bit);
        csr.set(port, 0);
    }
    csr.set("cmdq_head_i", 0xabcd);
    csr.set("cplq_tail_i", 0x1234);
    assert_eq!(csr.read(regs::CMDQ_HEAD), 0xabcd);
    assert_eq!(csr.read(regs::CPLQ_TAIL), 0x1234);
}

#[test]
fn doorbells_ring_with_slots_that_exist() {
    for (address, port, other) in [
        (regs::CMDQ_TAIL, "cmdq_tail_o", "cplq_doorbell_o"),
        (regs::CPLQ_HEAD, "cplq_head_o", "cmdq_doorbell_o"),
    ] {
        let bell = if port == "cmdq_tail_o" {
            "cmdq_doorbell_o"
        } else {
            "cplq_doorbell_o"
        };
        let bad = |csr: &mut Csr, data: u32| {
            let before = csr.get(port);
            let mut rings = 0;
            let (response, _) = csr.write_with(address, data, ALL, |csr, _| {
                rings += csr.get(bell);
            });
            csr.run(1);
            assert_eq!((response, rings + csr.get(bell)), (SLVERR, 0), "{data:#x}");
            assert_eq!(csr.get(port), before, "{data:#x}");
            csr.run(3);
            assert_eq!(csr.read(regs::ERROR), regs::error::DOORBELL, "{data:#x}");
            csr.write(regs::ERROR, !0);
            assert_eq!(csr.read(regs::INT_STATUS), regs::int_status::ERROR);
            csr.write(regs::INT_STATUS, !0);
        };
        let mut csr = Csr::new();
        bad(&mut csr, 0);
        let (log_command, log_completion) = if port == "cmdq_tail_o" {
            (4, 9)
        } else {
            (9, 4)
        };
        csr.enable_queues(log_command, log_completion);
        for slot in [1, 15, 7, 0, 3] {
            let mut rung = Vec::new();
            let (response, _) = csr.write_with(address, slot, ALL, |csr, _| {
                if csr.get(bell) != 0 {
                    rung.push(csr.get(port));
                }
            });
            assert_eq!(response, OKAY);
            for _ in 0..4 {
                if csr.get(bell) != 0 {
                    rung.push(csr.get(port));
                }
                assert_eq!(csr.get(other), 0);
                csr.run(1);
            }
            assert_eq!(rung, [u64::from(slot)], "one ring, with the new slot");
            assert_eq!(csr.read(address), slot);
        }
        for slot in [16, 17, 0x100, 0x8000, 0xffff, 0x1_0000, 0x8000_0003] {
            bad(&mut csr, slot);
        }
        // what the queues call bad
        let judge = if port == "cmdq_tail_o" {
            "cmdq_tail_bad_i"
        } else {
            "cplq_head_bad_i"
        };
        csr.set(judge, 1);
        bad(&mut csr, 9);
        csr.set(judge, 0);
        // strobes: the slot is what comes out, not what is on the bus
        assert_eq!(csr.write_strobed(address, 0xffff_ff05, 0b0001), OKAY);
        assert_eq!(csr.read(address), 5);
        csr.write(regs::QUEUE_CTRL, 0);
        csr.run(2);
        assert_eq!(csr.get(port), 0, "both start at slot 0");
        bad(&mut csr, 1);
    }
    // the largest queue has every number of 16 bits
    let mut csr = Csr::new();
    csr.enable_queues(16, 2);
    csr.write(regs::CMDQ_TAIL, 0xffff);
    csr.write(regs::CPLQ_HEAD, 3);
    assert_eq!(csr.write_strobed(regs::CPLQ_HEAD, 4, ALL), SLVERR);
    assert_eq!(csr.write_strobed(regs::CMDQ_TAIL, 0x1_0000, ALL), SLVERR);
}

#[test]
fn a_queue_event_disarms() {
    use regs::queue_ctrl::{ARM, ENABLE};
    let mut csr = Csr::new();
    csr.enable_queues(4, 4);
    csr.write(regs::QUEUE_CTRL, ENABLE | ARM);
    assert_eq!(csr.get("queue_arm_o"), 1);
    csr.write(regs::QUEUE_CTRL, ENABLE);
    assert_eq!(
        csr.read(regs::QUEUE_CTRL),
        ENABLE | ARM,
        "0 does not disarm"
    );
    csr.pulse(&["queue_event_i"]);
    csr.run(3);
    assert_eq!(csr.read(regs::QUEUE_CTRL), ENABLE);
    assert_eq!(csr.read(regs::INT_STATUS), regs::int_status::COMPLETION);
}

#[test]
fn host_windows_go_to_the_hardware() {
    let mut csr = Csr::new();
    let mut rng = Rng::new(5);
    let (mut bases, mut limits) = (0u128, 0u128);
    let (mut bases_hi, mut limits_hi) = (0u128, 0u128);
    for window in 0..4u16 {
        let (base, limit) = (rng.next_u64(), rng.next_u64());
        let at = 16 * window;
        csr.write(regs::HOSTWIN_BASE_LO + at, base as u32);
        csr.write(regs::HOSTWIN_BASE_HI + at, (base >> 32) as u32);
        csr.write(regs::HOSTWIN_LIMIT_LO + at, limit as u32);
        csr.write(regs::HOSTWIN_LIMIT_HI + at, (limit >> 32) as u32);
        let pages = |address: u64| u128::from(address >> 12);
        if window < 2 {
            bases |= pages(base) << (52 * window);
            limits |= pages(limit) << (52 * window);
        } else {
            bases_hi |= pages(base) << (52 * (window - 2));
            limits_hi |= pages(limit) << (52 * (window - 2));
        }
    }
    csr.write(regs::HOSTWIN_ENABLE, 0b1010);
    csr.run(1);
    assert_eq!(csr.get("window_enable_o"), 0b1010);
    for (port, low, high) in [
        ("window_base_o", bases, bases_hi),
        ("window_limit_o", limits, limits_hi),
    ] {
        let bit = |n: usize| {
            if n < 104 {
                low >> n & 1
            } else {
                high >> (n - 104) & 1
            }
        };
        let words = csr.words(port);
        for n in 0..208 {
            assert_eq!(
                u128::from(words[n / 32] >> (n % 32) & 1),
                bit(n),
                "{port}, bit {n}"
            );
        }
    }
}

#[test]
fn page_faults_are_shown_and_taken() {
    let mut csr = Csr::new();
    csr.set("fault_count_i", 5);
    csr.set("fault_valid_i", 1);
    csr.set("fault_index_i", 0x65_4321);
    csr.set("fault_page_i", 0x98_7654_3210);
    csr.set("fault_held_i", 1);
    csr.set("fault_client_i", 2);
    csr.set("fault_tag_i", 0x2a5);
    csr.set("fault_write_i", 1);
    csr.set("fault_slot_i", 0x55);
    assert_eq!(csr.read(regs::FAULT_COUNT), 5);
    let info: types::fault_info::FaultInfo = with_value(csr.read(regs::FAULT_INFO));
    assert_eq!((info.index(), info.slot()), (0x65_4321, 0x55));
    assert!(info.valid() && info.write());
    assert_eq!(csr.read(regs::FAULT_PAGE_LO), 0x7654_3210);
    let page: types::fault_page_hi::FaultPageHi = with_value(csr.read(regs::FAULT_PAGE_HI));
    assert_eq!((page.page(), page.tag()), (0x98, 0x2a5));
    assert!(page.held() && page.client() == 2);
    for (data, strobes, expected) in [(1, ALL, 1), (0, ALL, 0), (1, 0b1110, 0), (!0, 1, 1)] {
        let mut pulses = 0;
        let (response, _) = csr.write_with(regs::FAULT_POP, data, strobes, |csr, _| {
            pulses += csr.get("fault_pop_o");
        });
        assert_eq!(response, OKAY);
        for _ in 0..4 {
            pulses += csr.get("fault_pop_o");
            csr.run(1);
        }
        assert_eq!(pulses, expected, "{data:#x}");
        assert_eq!(csr.read(regs::FAULT_POP), 0);
    }
}

/// The latency that the module states; a read and a write at once take no longer than it says.
#[test]
fn latency_is_as_stated() {
    let mut csr = Csr::new();
    let (_, clocks) = csr.write_with(regs::FENCE_TIME, 1, ALL, |_, _| ());
    assert_eq!(clocks, 3);
    assert_eq!(csr.read_any(regs::FENCE_TIME).2, 3);
    let (_, clocks) = csr.write_with(regs::FENCE_TIME, 1, ALL, |csr, clock| {
        csr.set("araddr_i", regs::ID.into());
        csr.set("arvalid_i", u64::from(clock == 0));
    });
    assert!((3..=5).contains(&clocks), "{clocks}");
}

/// Reads and writes at random and at once, with skew between the channels and answers that wait:
/// everything that was answered can be read afterwards, and every read is of a value that the
/// register had while the read was in work.
#[test]
fn channels_do_not_disturb_each_other() {
    let addresses = [
        regs::MPT_BASE_LO,
        regs::MPT_SIZE,
        regs::FENCE_TIME,
        regs::INT_ENABLE,
        regs::HOSTWIN_LIMIT_HI + 48,
        regs::ID, // refuses writes
        0x06c,    // not there
    ];
    let mut csr = Csr::new();
    let mut rng = Rng::new(6);
    let mask = |address: u16| match address {
        regs::INT_ENABLE => 63,
        regs::ID | 0x06c => 0,
        _ => !0,
    };
    let mut value: BTreeMap<u16, u32> = addresses.iter().map(|a| (*a, 0)).collect();
    value.insert(regs::FENCE_TIME, 0x10_0000);
    value.insert(regs::ID, regs::ID_VALUE);
    let mut writes: VecDeque<(u16, u32, u8)> = VecDeque::new();
    let (mut aw, mut w) = (None, None);
    let mut reads: VecDeque<(u16, Vec<u32>)> = VecDeque::new();
    let mut ar: Option<u16> = None;
    let (mut written, mut read) = (0, 0);
    for _ in 0..20_000 {
        if aw.is_none() && w.is_none() && writes.len() < 2 && rng.chance(1, 2) {
            let address = addresses[rng.below(addresses.len() as u64) as usize];
            let (data, strobes) = (rng.next_u64() as u32, rng.below(16) as u8);
            writes.push_back((address, data, strobes));
            aw = Some((address, rng.below(4)));
            w = Some((data, strobes, rng.below(4)));
        }
        if ar.is_none() && reads.len() < 2 && rng.chance(1, 2) {
            ar = Some(addresses[rng.below(addresses.len() as u64) as usize]);
        }
        let (mut aw_valid, mut w_valid) = (false, false);
        if let Some((address, wait)) = &mut aw {
            aw_valid = *wait == 0;
            csr.set("awaddr_i", (*address).into());
            *wait = wait.saturating_sub(1);
        }
        if let Some((data, strobes, wait)) = &mut w {
            w_valid = *wait == 0;
            csr.set("wdata_i", (*data).into());
            csr.set("wstrb_i", (*strobes).into());
            *wait = wait.saturating_sub(1);
        }
        csr.set("awvalid_i", aw_valid.into());
        csr.set("wvalid_i", w_valid.into());
        csr.set("araddr_i", ar.unwrap_or_default().into());
        csr.set("arvalid_i", ar.is_some().into());
        let (b_ready, r_ready) = (rng.chance(2, 3), rng.chance(2, 3));
        csr.set("bready_i", b_ready.into());
        csr.set("rready_i", r_ready.into());
        csr.run(1);
        if aw_valid && csr.get("awready_o") != 0 {
            aw = None;
        }
        if w_valid && csr.get("wready_o") != 0 {
            w = None;
        }
        if let (Some(address), true) = (ar, csr.get("arready_o") != 0) {
            reads.push_back((address, vec![value[&address]]));
            ar = None;
        }
        if b_ready && csr.get("bvalid_o") != 0 {
            let (address, data, strobes) = writes.pop_front().expect("a write was sent");
            let refused = matches!(address, regs::ID | 0x06c);
            let expected = if refused { SLVERR } else { OKAY };
            assert_eq!(csr.get("bresp_o") as u32, expected, "{address:#x}");
            let bits = strobe_mask(strobes) & mask(address);
            let new = value[&address] & !bits | data & bits;
            value.insert(address, new);
            written += 1;
        }
        // a write shows as soon as it is done, which is before its answer is taken
        for (address, possible) in &mut reads {
            possible.push(value[address]);
            for (to, data, strobes) in &writes {
                if to == address {
                    let bits = strobe_mask(*strobes) & mask(*to);
                    possible.push(value[address] & !bits | data & bits);
                }
            }
        }
        if r_ready && csr.get("rvalid_o") != 0 {
            let (address, possible) = reads.pop_front().expect("a read was sent");
            let expected = if address == 0x06c { SLVERR } else { OKAY };
            assert_eq!(csr.get("rresp_o") as u32, expected, "{address:#x}");
            let data = csr.get("rdata_o") as u32;
            assert!(
                possible.contains(&data),
                "{address:#x}: {data:#x} of {possible:x?}"
            );
            read += 1;
        }
    }
    assert!(
        written > 1000 && read > 1000,
        "{written} writes, {read} reads"
    );
}

// -------------------------------------------------------------------------------------------------
// In the unit
// -------------------------------------------------------------------------------------------------

type Result<T = ()> = std::result::Result<T, BenchError>;

const START: u64 = 0x1000_0000;

fn unit_read(rig: &mut Rig, address: u16) -> Result<u32> {
    rig.bench.read_register(&mut rig.host.mem, address)
}

fn unit_write(rig: &mut Rig, address: u16, value: u32) -> Result {
    rig.bench.write_register(&mut rig.host.mem, address, value)
}

fn region(rig: &mut Rig) -> Result<Mr> {
    rig.register(Spec::new(START, 0x4000, 12, 0x40_0000_0000))
}

/// The syndrome counters, by syndrome; the first one is of none.
fn syndromes(rig: &mut Rig) -> Result<Vec<u32>> {
    let mut all = vec![0];
    for n in 0..19 {
        all.push(unit_read(rig, regs::SYN_COUNT + 4 * n)?);
    }
    Ok(all)
}

/// Requests that end with syndromes of many kinds.
fn bad_requests(mr: &Mr) -> Vec<(Request, Syndrome)> {
    let good = mr.request(Op::LocalRead, START, 8);
    let with = |change: &dyn Fn(&mut Request)| {
        let mut request = good;
        change(&mut request);
        request
    };
    vec![
        (with(&|r| r.len = 0x8000_0001), Syndrome::Length),
        (with(&|r| r.key.0 ^= 1), Syndrome::KeyTag),
        (with(&|r| r.pd ^= 1), Syndrome::Pd),
        (with(&|r| r.va = 0xffff_ffff_ffff_fffc), Syndrome::Wrap),
        (with(&|r| r.va = START - 1), Syndrome::Bounds),
        (mr.request(Op::RemoteAtomic, START + 1, 8), Syndrome::Align),
    ]
}

#[test]
fn the_unit_counts_refusals_by_syndrome() -> Result {
    let mut rig = Rig::small()?;
    let mr = region(&mut rig)?;
    let mut expected = vec![0; 20];
    for (turn, (request, syndrome)) in bad_requests(&mr).into_iter().enumerate() {
        for n in 0..=turn {
            rig.expect(n % 2, request, syndrome)?;
            rig.expect(0, mr.request(Op::LocalRead, START, 1), Syndrome::Ok)?;
            expected[usize::from(syndrome.code())] += 1;
        }
        rig.run(20)?;
        assert_eq!(syndromes(&mut rig)?, expected, "{syndrome:?}");
    }
    // a unit that is disabled
    rig.bench.disable(&mut rig.host.mem)?;
    rig.run(100)?;
    rig.expect(0, mr.request(Op::LocalRead, START, 1), Syndrome::Disabled)?;
    expected[usize::from(Syndrome::Disabled.code())] += 1;
    rig.run(20)?;
    assert_eq!(syndromes(&mut rig)?, expected);
    let sum: u32 = expected.iter().sum();
    assert_eq!(rig.counter(regs::counter::REFUSED)?, sum);
    assert_eq!(unit_read(&mut rig, regs::LOG_COUNT)?, sum);
    Ok(())
}

#[test]
fn the_unit_logs_refusals() -> Result {
    let mut rig = Rig::small()?;
    let mr = region(&mut rig)?;
    let mut log = Vec::new();
    for (number, (mut request, syndrome)) in bad_requests(&mr).into_iter().enumerate() {
        request.stream = number as u8 + 3;
        let client = number % 2;
        let outcome = rig.expect(client, request, syndrome)?;
        log.push((client, outcome.request, syndrome));
        rig.run(20)?;
        assert_eq!(unit_read(&mut rig, regs::LOG_COUNT)?, log.len() as u32);
        for n in 0..4 {
            let value = unit_read(&mut rig, regs::LOG + 4 * n as u16)?;
            let Some(entry) = log.len().checked_sub(n + 1) else {
                assert_eq!(value, 0, "entry {n}");
                continue;
            };
            let (client, request, syndrome) = log[entry];
            let word: types::log::Log = with_value(value);
            assert_eq!(word.syndrome(), syndrome.code(), "entry {n}");
            assert_eq!(usize::from(word.client()), client, "entry {n}");
            assert_eq!(word.tag(), request.tag, "entry {n}");
            assert_eq!(word.stream(), request.stream, "entry {n}");
            assert_eq!(usize::from(word.refusal()), entry, "entry {n}");
        }
    }
    Ok(())
}

#[test]
fn the_unit_interrupts() -> Result {
    use regs::int_status::{CLEAR_DONE, ERROR, REFUSED};
    let mut rig = Rig::disabled(BenchOptions::default())?;
    unit_write(&mut rig, regs::INT_ENABLE, CLEAR_DONE | ERROR | REFUSED)?;
    assert!(!rig.bench.irq());
    rig.bench
        .enable(&mut rig.host.mem, &UnitConfig::default())?;
    rig.run(10)?;
    assert!(rig.bench.irq(), "clearing has ended");
    assert_eq!(unit_read(&mut rig, regs::INT_STATUS)?, CLEAR_DONE);
    unit_write(&mut rig, regs::INT_STATUS, CLEAR_DONE)?;
    rig.run(10)?;
    assert!(!rig.bench.irq());

    let mr = region(&mut rig)?;
    rig.expect(0, mr.request(Op::LocalRead, START, 1), Syndrome::Ok)?;
    rig.run(50)?;
    assert!(!rig.bench.irq(), "nothing has happened");
    rig.expect(0, mr.request(Op::LocalRead, START - 1, 1), Syndrome::Bounds)?;
    rig.run(10)?;
    assert!(rig.bench.irq(), "a request was refused");
    assert_eq!(unit_read(&mut rig, regs::INT_STATUS)?, REFUSED);
    unit_write(&mut rig, regs::INT_STATUS, REFUSED)?;
    rig.run(10)?;
    assert!(!rig.bench.irq());

    rig.bench.forge_done(0, 77);
    rig.run(50)?;
    assert!(rig.bench.irq(), "a done without a request");
    assert_eq!(unit_read(&mut rig, regs::INT_STATUS)?, ERROR);
    assert_eq!(unit_read(&mut rig, regs::ERROR)?, regs::error::BAD_DONE);
    unit_write(&mut rig, regs::INT_STATUS, ERROR)?;
    rig.run(10)?;
    assert!(
        !rig.bench.irq(),
        "the sticky error alone does not keep it up"
    );
    Ok(())
}

/// What is not built into the unit says so, and takes nothing.
#[test]
fn parts_that_are_not_built_refuse() -> Result {
    let mut rig = Rig::disabled(BenchOptions::default())?;
    let cap2: types::cap2::Cap2 = with_value(unit_read(&mut rig, regs::CAP2)?);
    for (built, lock) in [
        (cap2.queues(), "queue_locked"),
        (cap2.windows() != 0, "window_locked"),
        (cap2.alarm(), "no_alarm"),
        (cap2.refusal_time(), "no_refusal_time"),
    ] {
        for (register, address) in offsets().filter(|(r, _)| r.lock == Some(lock)) {
            let taken = unit_write(&mut rig, address, 1 << 12 | 1).is_ok();
            assert_eq!(taken, built, "{}", register.name);
            let read = unit_read(&mut rig, address)?;
            assert_eq!(read != 0, built, "{}", register.name);
        }
    }
    if !cap2.queues() {
        let refused = unit_write(&mut rig, regs::QUEUE_CTRL, regs::queue_ctrl::ENABLE);
        assert!(refused.is_err(), "QUEUE_CTRL.enable");
        assert!(
            unit_write(&mut rig, regs::CMDQ_TAIL, 0).is_err(),
            "CMDQ_TAIL"
        );
    }
    Ok(())
}
