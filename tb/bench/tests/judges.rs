// SPDX-License-Identifier: Apache-2.0
//! The judges themselves: whatever is wrong is found. Each test plants one error.

use std::sync::Arc;

use tpt_bench::axi::{AxiConfig, AxiMem, Fault, FaultOn};
use tpt_bench::paging::Pager;
use tpt_bench::rig::{PagedMr, Rig, Spec, PAGED_RIGHTS};
use tpt_bench::{BenchError, BenchOptions, Clocks, CommandExtra, Pattern, UnitConfig};
use tpt_golden::frames::{Page, PagedList};
use tpt_golden::mem::PhysMem;
use tpt_golden::types::{Op, Status, Syndrome};
use tpt_verilated::{AxiIn, AxiOut};

type Result<T = ()> = std::result::Result<T, BenchError>;

const PA: u64 = 0x40_0000_0000;

fn rig() -> Result<Rig> {
    let options = BenchOptions {
        patience: 5000,
        ..BenchOptions::default()
    };
    Rig::new(options, &UnitConfig::default())
}

fn spec() -> Spec {
    Spec::new(0x10_0000, 8 << 12, 12, PA).level(1)
}

#[test]
fn a_wrong_address_is_a_mismatch() -> Result {
    let mut rig = rig()?;
    let mr = rig.register(spec())?;
    let mut list = mr.spec.list.clone();
    list.set(3..4, Page::at(0x7777_7000));
    rig.bench.golden.set_pages(mr.index, Arc::new(list));
    rig.expect(
        0,
        mr.request(Op::LocalRead, 0x10_2000, 0x1000),
        Syndrome::Ok,
    )?;
    let error = rig.access(0, mr.request(Op::LocalRead, 0x10_2000, 0x2000));
    assert!(
        matches!(error, Err(BenchError::Mismatch { .. })),
        "{error:?}"
    );
    Ok(())
}

#[test]
fn mismatches_can_be_counted_instead() -> Result {
    let mut rig = rig()?;
    rig.bench.stop_at_mismatch(false);
    let mr = rig.register(spec())?;
    let mut list = mr.spec.list.clone();
    list.set(0..1, Page::Absent);
    rig.bench.golden.set_pages(mr.index, Arc::new(list));
    for _ in 0..3 {
        rig.access(1, mr.request(Op::LocalRead, 0x10_0000, 1))?;
    }
    assert_eq!(
        (rig.bench.stats.mismatches, rig.bench.mismatches().len()),
        (3, 3)
    );
    Ok(())
}

#[test]
fn a_wrong_completion_is_a_mismatch() -> Result {
    let mut rig = rig()?;
    let spec = spec();
    let table = rig.build_table(&spec);
    let command = rig.reg_command(&spec, &table);
    // The reference is told to make other keys.
    let other = UnitConfig {
        tag_secret: [1, 2, 3, 4],
        ..UnitConfig::default()
    };
    let keys = tpt_golden::keys::KeyMaker::new(other.perm_secret, other.tag_secret, false);
    rig.bench.golden.configure(keys, other.mpt_size);
    let error = rig.command(command, Rig::pages(&spec));
    assert!(
        matches!(error, Err(BenchError::Mismatch { .. })),
        "{error:?}"
    );
    Ok(())
}

#[test]
fn a_wrong_entry_in_memory_is_a_mismatch() -> Result {
    let mut rig = rig()?;
    let mr = rig.register(spec())?;
    rig.deregister(mr)?;
    // The memory takes the next entry and loses it.
    let spec = spec();
    let table = rig.build_table(&spec);
    let command = rig.reg_command(&spec, &table);
    rig.bench.post(command, Rig::pages(&spec));
    rig.bench.set_completion_ready(Pattern::Never);
    rig.run(2000)?;
    let address = rig.bench.entry_address(2);
    rig.host.mem.write(address, &[0; 64]);
    rig.bench.set_completion_ready(Pattern::Always);
    let error = rig.bench.wait_completion(&mut rig.host.mem, command.id);
    assert!(
        matches!(error, Err(BenchError::Mismatch { .. })),
        "{error:?}"
    );
    Ok(())
}

#[test]
fn reads_of_released_memory_are_reported() -> Result {
    let mut rig = rig()?;
    let mr = rig.register(spec())?;
    let range = mr.table_ranges()[0].clone();
    rig.bench.axi.forbid(range);
    let error = rig.access(0, mr.request(Op::LocalRead, 0x10_0000, 1));
    assert!(
        matches!(error, Err(BenchError::Protocol { .. })),
        "{error:?}"
    );
    Ok(())
}

#[test]
fn waits_are_bounded_and_say_what_is_missing() -> Result {
    let mut rig = rig()?;
    let mr = rig.register(spec())?;
    rig.bench.axi.configure(AxiConfig {
        ar_ready: Pattern::Never,
        ..AxiConfig::default()
    });
    let error = rig.access(0, mr.request(Op::LocalRead, 0x10_0000, 77));
    let Err(BenchError::Timeout { outstanding, .. }) = error else {
        panic!("{error:?}");
    };
    assert!(outstanding.contains("len: 77"), "{outstanding}");
    Ok(())
}

#[test]
fn a_bus_error_without_a_cause_is_a_mismatch() -> Result {
    let mut rig = rig()?;
    let mr = rig.register(spec())?;
    let entry = mr.table.entry_pa(0).expect("a table");
    rig.bench
        .axi
        .inject(Fault::once(entry..entry + 8, FaultOn::Read));
    // With a cause in its time it is accepted.
    let outcome = rig.access(0, mr.request(Op::LocalRead, 0x10_0000, 1))?;
    assert_eq!(outcome.syndrome, Syndrome::Bus);
    rig.expect(0, mr.request(Op::LocalRead, 0x10_0000, 1), Syndrome::Ok)?;
    // A refused command needs one as well.
    let range = rig.bench.unit().mpt_range();
    rig.bench.axi.inject(Fault::once(range, FaultOn::Read));
    let (command, _) = rig.dereg_command(&mr);
    let completion = rig.command(command, CommandExtra::default())?;
    assert_eq!(completion.status, Status::Bus);

    // The same without a cause that the bench knows of, or with one elsewhere in the memory.
    for elsewhere in [false, true] {
        let mut rig = self::rig()?;
        let mr = rig.register(spec())?;
        let entry = mr.table.entry_pa(0).expect("a table");
        rig.bench
            .axi
            .inject(Fault::once(entry..entry + 8, FaultOn::Read));
        if elsewhere {
            // Another region meets an error of its own at the same time.
            let other = rig.register(Spec::new(0x80_0000, 8 << 12, 12, PA << 1).level(1))?;
            let line = other.table.entry_pa(0).expect("a table");
            rig.bench
                .axi
                .inject(Fault::once(line..line + 8, FaultOn::Read));
            let request = other.request(Op::LocalRead, 0x80_0000, 1);
            rig.bench.issue(1, request);
        }
        let request = mr.request(Op::LocalRead, 0x10_0000, 1);
        rig.bench.issue(0, request);
        let forged = (0..3000).find_map(|_| {
            let result = rig.bench.step(&mut rig.host.mem);
            rig.bench.axi.forget_errors_at(entry);
            result.err()
        });
        assert!(
            matches!(forged, Some(BenchError::Mismatch { .. })),
            "{forged:?}"
        );
    }
    Ok(())
}

// -------------------------------------------------------------------------------------------------
// The memory on its own
// -------------------------------------------------------------------------------------------------

struct Port {
    axi: AxiMem,
    mem: PhysMem,
    input: AxiIn,
}

impl Port {
    fn new(config: AxiConfig) -> Self {
        Self {
            axi: AxiMem::new(16, config, 9),
            mem: PhysMem::new(),
            input: AxiIn::default(),
        }
    }

    /// One clock; the data beat that was taken in it: ID, first word, last, response.
    fn clock(&mut self, output: &AxiOut) -> Option<(u16, u32, bool, u8)> {
        self.axi.drive(&mut self.mem, &mut self.input);
        self.axi.observe(&mut self.mem, &self.input, output);
        let input = &self.input;
        (input.rvalid && output.rready)
            .then(|| (input.rid, input.rdata[0], input.rlast, input.rresp))
    }
}

fn read(id: u16, address: u64, beats: u8) -> AxiOut {
    AxiOut {
        arvalid: true,
        arid: id,
        araddr: address,
        arlen: beats - 1,
        arsize: 4,
        arburst: 1,
        rready: true,
        ..AxiOut::default()
    }
}

fn idle() -> AxiOut {
    AxiOut {
        rready: true,
        bready: true,
        ..AxiOut::default()
    }
}

#[test]
fn reads_come_after_their_latency_with_their_data() {
    let mut port = Port::new(AxiConfig {
        read_latency: Clocks::fixed(7),
        ..AxiConfig::default()
    });
    port.mem.write_u64(0x1040, 0x1234);
    assert_eq!(port.clock(&read(5, 0x1040, 1)), None);
    for _ in 0..6 {
        assert_eq!(port.clock(&idle()), None);
    }
    assert_eq!(port.clock(&idle()), Some((5, 0x1234, true, 0)));
    assert!(port.axi.is_idle() && !port.axi.is_violated());
}

#[test]
fn ids_overtake_each_other_but_not_themselves() {
    let mut port = Port::new(AxiConfig::hostile(30));
    for n in 0..64u64 {
        port.mem.write_u64(0x1000 + 64 * n, n);
    }
    let (mut next, mut heads, mut order) = (0u64, [0u64; 4], Vec::new());
    for _ in 0..5000 {
        let output = if next < 64 {
            read((next % 4) as u16, 0x1000 + 64 * next, 4)
        } else {
            idle()
        };
        let accepted = port.clock(&output);
        if next < 64 && port.input.arready {
            next += 1;
        }
        if let Some((id, word, last, resp)) = accepted {
            assert_eq!(resp, 0);
            if last {
                heads[usize::from(id)] += 1;
                order.push(id);
            } else if word != 0 {
                // The first beat of a burst carries its number.
                assert_eq!(u64::from(word), heads[usize::from(id)] * 4 + u64::from(id));
            }
        }
    }
    assert_eq!(heads, [16; 4]);
    assert!(
        order.windows(5).any(|w| w[4] != w[0]),
        "some order but that of the requests"
    );
    assert!(!port.axi.is_violated(), "{:?}", port.axi.take_violations());
}

#[test]
fn broken_rules_are_reported() {
    let report = |outputs: &[AxiOut]| {
        let mut port = Port::new(AxiConfig {
            ar_ready: Pattern::Cyclic { on: 0, off: 3 },
            ..AxiConfig::default()
        });
        outputs.iter().for_each(|output| {
            port.clock(output);
        });
        !port.axi.take_violations().is_empty()
    };
    let good = read(1, 0x2000, 4);
    assert!(!report(&[good.clone(), good.clone()]));
    assert!(report(&[good.clone(), idle()]), "withdrawn");
    assert!(report(&[good.clone(), read(2, 0x2000, 4)]), "ID changed");
    assert!(report(&[good, read(1, 0x2040, 4)]), "address changed");
    let accepted = |output: &AxiOut| {
        let mut port = Port::new(AxiConfig::default());
        port.clock(output);
        !port.axi.take_violations().is_empty()
    };
    assert!(!accepted(&read(1, 0x1ff0, 1)));
    assert!(accepted(&read(1, 0x1fe0, 4)), "crosses 4 KiB");
    assert!(accepted(&read(1, 0x1008, 1)), "not aligned");
    assert!(accepted(&read(1, 0x1010, 4)), "entry not aligned");
    assert!(
        accepted(&AxiOut {
            arsize: 3,
            ..read(1, 0x1000, 1)
        }),
        "narrow"
    );
    assert!(
        accepted(&AxiOut {
            arburst: 2,
            ..read(1, 0x1000, 4)
        }),
        "wrapping"
    );
}

#[test]
fn writes_reach_the_memory_by_their_response() {
    let mut port = Port::new(AxiConfig::hostile(20));
    port.axi.set_mpt(0x1000..0x2000);
    for n in 0..16u32 {
        let address = 0x1000 + 64 * u64::from(n);
        let (mut sent_address, mut beats, mut done) = (false, 0, false);
        let early = n % 2 == 0;
        for _ in 0..500 {
            let output = AxiOut {
                // Address first in every second write, data first in the others.
                awvalid: !sent_address && (early || beats == 4),
                awaddr: address,
                awlen: 3,
                awsize: 4,
                awburst: 1,
                wvalid: beats < 4 && (!early || sent_address),
                wdata: [n * 4 + beats; 16],
                wstrb: 0xffff,
                wlast: beats == 3,
                ..idle()
            };
            port.clock(&output);
            sent_address |= output.awvalid && port.input.awready;
            beats += u32::from(output.wvalid && port.input.wready);
            if port.input.bvalid {
                done = true;
                break;
            }
        }
        assert!(
            done && !port.axi.is_violated(),
            "{:?}",
            port.axi.take_violations()
        );
        for beat in 0..4 {
            let word = port.mem.read_u64(address + 16 * beat) as u32;
            assert_eq!(word, n * 4 + beat as u32);
        }
    }
}

fn paged(rig: &mut Rig) -> Result<(Pager, PagedMr)> {
    let pager = Pager::default();
    let spec = spec().access(PAGED_RIGHTS);
    let mr = rig.register_paged(&pager, spec)?;
    rig.page_in(&pager, &mr, 0..8);
    Ok((pager, mr))
}

#[test]
fn an_old_page_after_its_invalidation_is_a_mismatch() -> Result {
    let mut rig = rig()?;
    let (_, mr) = paged(&mut rig)?;
    rig.expect(0, mr.at(Op::RemoteRead, 3, 8), Syndrome::Ok)?;
    // The host has taken it back, it says.
    let now = rig.bench.clock();
    mr.pages.set(3, Page::Absent, now);
    rig.expect(0, mr.at(Op::RemoteRead, 3, 8), Syndrome::Ok)?;
    mr.pages.invalidated(3..4, now, rig.bench.clock());
    rig.run(5)?;
    let error = rig.access(0, mr.at(Op::RemoteRead, 3, 8));
    let wrong = matches!(error, Err(BenchError::Mismatch { .. }));
    assert!(wrong, "{error:?}");
    Ok(())
}

#[test]
fn a_fault_of_a_page_that_is_there_is_a_mismatch() -> Result {
    let mut rig = rig()?;
    let (pager, mr) = paged(&mut rig)?;
    let now = rig.bench.clock();
    pager.clear(&mut rig.host.mem, mr.index, 3..4, now);
    mr.pages.set(3, Page::at(PA), now);
    rig.run(5)?;
    rig.bench.issue(0, mr.at(Op::RemoteRead, 3, 8));
    let error = rig.bench.wait_fault(&mut rig.host.mem);
    let wrong = matches!(error, Err(BenchError::Mismatch { .. }));
    assert!(wrong, "{error:?}");
    Ok(())
}

#[test]
fn a_slot_that_is_told_twice_is_a_mismatch() -> Result {
    let mut rig = rig()?;
    let (pager, mr) = paged(&mut rig)?;
    for slot in 0..rig.bench.golden.fault_slots() {
        assert_eq!(rig.bench.golden.fault_told(slot), Ok(()));
    }
    let now = rig.bench.clock();
    pager.clear(&mut rig.host.mem, mr.index, 3..4, now);
    rig.bench.issue(0, mr.at(Op::RemoteRead, 3, 8));
    let error = rig.bench.wait_fault(&mut rig.host.mem);
    let wrong = matches!(error, Err(BenchError::Mismatch { .. }));
    assert!(wrong, "{error:?}");
    Ok(())
}

/// The unit says RETRY or MTT_ABSENT where the host knows of no absent page.
#[test]
fn a_retry_of_a_page_that_is_there_is_a_mismatch() -> Result {
    for refuse in [false, true] {
        let mut rig = rig()?;
        let (pager, mr) = paged(&mut rig)?;
        let now = rig.bench.clock();
        pager.clear(&mut rig.host.mem, mr.index, 3..4, now);
        rig.bench.issue(0, mr.at(Op::RemoteRead, 3, 8));
        let fault = rig.bench.wait_fault(&mut rig.host.mem)?;
        // It was there all the time, it says now.
        let pages = PagedList::new(12);
        (0..8).for_each(|page| pages.set(page, Page::at(PA), 0));
        pages.invalidated(0..8, 1, 1);
        rig.bench.golden.set_pages(mr.index, Arc::new(pages));
        let error = match refuse {
            true => rig.page_ready(fault.slot, true).err(),
            false => rig.bench.disable(&mut rig.host.mem).err(),
        };
        let error = error.or(rig.bench.wait_client(&mut rig.host.mem, 0).err());
        let wrong = matches!(error, Some(BenchError::Mismatch { .. }));
        assert!(wrong, "{error:?}");
    }
    Ok(())
}
