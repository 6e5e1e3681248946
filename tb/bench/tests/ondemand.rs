// SPDX-License-Identifier: Apache-2.0
//! Page faults, pages that are taken back, and the encoding CHECKED, on the whole unit.
//!
//! What each beat and each fault must be is checked by the bench; here is what has to happen.

use tpt_bench::axi::{Fault, FaultOn};
use tpt_bench::paging::{PageFault, Pager, PagerPolicy};
use tpt_bench::rig::{PagedMr, Rig, Spec, PAGED_RIGHTS};
use tpt_bench::{BenchError, BenchOptions, Clocks, CommandExtra, DonePolicy, Pattern};
use tpt_bench::{QueueConfig, UnitConfig};
use tpt_golden::codec::{Place, CHECKED_ADDRESS};
use tpt_golden::frames::Page;
use tpt_golden::regs;
use tpt_golden::types::{
    rereg, Access, CmdOp, Command, Encoding, Key, Op, State, Status, Syndrome, LEVEL_FLAT,
};
use tpt_verilated::Config;

type Result<T = ()> = std::result::Result<T, BenchError>;

const START: u64 = 0x7f00_0000_0000;
const PA: u64 = 1 << 33;

/// An on-demand region of `pages` pages of 4 KiB.
fn spec(pages: u64, level: u8) -> Spec {
    Spec::new(START, pages << 12, 12, PA)
        .access(PAGED_RIGHTS)
        .level(level)
}

/// A unit whose faults a test answers itself.
fn rig() -> Result<(Rig, Pager)> {
    Ok((Rig::small()?, Pager::default()))
}

/// A unit whose faults are answered.
fn served() -> Result<(Rig, Pager)> {
    let (mut rig, pager) = rig()?;
    rig.bench.set_fault_handler(Some(Box::new(pager.clone())));
    Ok((rig, pager))
}

fn take(rig: &mut Rig) -> Result<PageFault> {
    rig.bench.wait_fault(&mut rig.host.mem)
}

fn no_fault(rig: &mut Rig) -> Result {
    let fault = rig.bench.take_fault(&mut rig.host.mem)?;
    assert_eq!(fault, None);
    Ok(())
}

/// Waits for the answers of all requests of a client: their syndromes, in the order of the answers.
fn answers(rig: &mut Rig, client: usize) -> Result<Vec<Syndrome>> {
    rig.bench.wait_client(&mut rig.host.mem, client)?;
    let mut found = Vec::new();
    while let Some(outcome) = rig.bench.poll_client(client) {
        found.push(outcome.syndrome);
    }
    Ok(found)
}

fn page_in_and_answer(rig: &mut Rig, pager: &Pager, mr: &PagedMr, fault: &PageFault) -> Result {
    rig.page_in(pager, mr, fault.page..fault.page + 1);
    let status = rig.page_ready(fault.slot, false)?;
    assert_eq!(status, Status::Ok);
    Ok(())
}

// -------------------------------------------------------------------------------------------------
// One fault
// -------------------------------------------------------------------------------------------------

/// Fault, page in, OK, in every encoding and with every kind of table; absent directories too: one
/// fault at each level that is absent.
#[test]
fn fault_and_page_in() -> Result {
    let (mut rig, pager) = rig()?;
    for encoding in Encoding::ALL.iter().copied() {
        for level in [1, 2, 3, LEVEL_FLAT] {
            let mut spec = spec(300, level);
            spec.shape.encoding = encoding;
            spec.shape.flat_offset = 8 * 77;
            let mr = rig.register_paged(&pager, spec)?;
            let request = mr.at(Op::LocalWrite, 123, 16);
            rig.bench.issue(1, request);
            let fault = take(&mut rig)?;
            assert_eq!(
                (fault.index, fault.page, fault.write),
                (mr.index, 123, true)
            );
            assert_eq!((fault.client, fault.held), (1, true));
            rig.run(500)?;
            no_fault(&mut rig)?;
            assert_eq!(rig.bench.requests_inside(1), 1, "it is held");
            page_in_and_answer(&mut rig, &pager, &mr, &fault)?;
            assert_eq!(
                answers(&mut rig, 1)?,
                [Syndrome::Ok],
                "{encoding} level {level}"
            );
            rig.expect(0, request, Syndrome::Ok)?;
            no_fault(&mut rig)?;
            let gone = rig.plain(CmdOp::DeregMr, mr.lkey, 1)?;
            assert_eq!(gone.status, Status::Ok);
        }
    }
    Ok(())
}

/// A page that is refused ends the request as absent, and the next one is a fault again.
#[test]
fn refused_by_the_host() -> Result {
    let (mut rig, pager) = rig()?;
    let mr = rig.register_paged(&pager, spec(20, 1))?;
    for _ in 0..6 {
        rig.bench.issue(0, mr.at(Op::RemoteRead, 9, 8));
        let fault = take(&mut rig)?;
        assert_eq!(rig.page_ready(fault.slot, true)?, Status::Ok);
        assert_eq!(answers(&mut rig, 0)?, [Syndrome::MttAbsent]);
    }
    Ok(())
}

/// A host that says that a page is there when it is not gets the next fault, and never an address.
#[test]
fn a_host_that_lies() -> Result {
    let (mut rig, pager) = rig()?;
    let mr = rig.register_paged(&pager, spec(20, 2))?;
    rig.bench.issue(0, mr.at(Op::RemoteRead, 9, 8));
    for _ in 0..20 {
        let fault = take(&mut rig)?;
        assert_eq!(rig.page_ready(fault.slot, false)?, Status::Ok);
    }
    let fault = take(&mut rig)?;
    page_in_and_answer(&mut rig, &pager, &mr, &fault)?;
    assert_eq!(answers(&mut rig, 0)?, [Syndrome::Ok]);
    Ok(())
}

/// A directory that the host takes away and gives back.
#[test]
fn directories_come_and_go() -> Result {
    let (mut rig, pager) = served()?;
    let mr = rig.register_paged(&pager, spec(512 * 512 + 40, 3))?;
    let request = mr.at(Op::RemoteWrite, 512 * 512 + 7, 8);
    rig.expect(0, request, Syndrome::Ok)?;
    let faults = pager.handled();
    assert!(faults > 0);
    for level in [2, 3] {
        let now = rig.bench.clock();
        let n = (512 * 512 + 7) >> (9 * (u32::from(level) - 1));
        let mem = &mut rig.host.mem;
        pager.with(mr.index, |table| table.clear_directory(mem, level, n, now));
        let command = rig.invalidate_command(&mr, 512 * 512..512 * 512 + 40);
        let done = rig.command(command, CommandExtra::default())?;
        assert_eq!(done.status, Status::Ok);
        rig.expect(1, request, Syndrome::Ok)?;
    }
    assert_eq!(pager.handled(), faults + 2);
    Ok(())
}

/// Copy on write: a page that is present for reading is a fault for who writes. RAW cannot say no.
#[test]
fn writes_to_read_only_pages() -> Result {
    let (mut rig, pager) = served()?;
    for encoding in Encoding::ALL.iter().copied() {
        let mut spec = spec(64, 2);
        spec.shape.encoding = encoding;
        let mr = rig.register_paged(&pager, spec)?;
        let before = pager.handled();
        for (op, faults) in [
            (Op::LocalRead, 1),
            (Op::RemoteRead, 1),
            (Op::RemoteWrite, 2),
            (Op::LocalWrite, 2),
            (Op::RemoteAtomic, 2),
        ] {
            rig.expect(0, mr.at(op, 33, 8), Syndrome::Ok)?;
            let faults = if encoding == Encoding::Raw { 1 } else { faults };
            assert_eq!(pager.handled() - before, faults, "{encoding} {op}");
        }
    }
    Ok(())
}

/// Bad entries are no faults.
#[test]
fn bad_entries_stay_bad() -> Result {
    let (mut rig, pager) = rig()?;
    for encoding in Encoding::ALL.iter().copied() {
        let mut spec = spec(64, 1);
        spec.shape.encoding = encoding;
        let mr = rig.register_paged(&pager, spec)?;
        let mem = &mut rig.host.mem;
        let now = rig.bench.clock();
        pager.with(mr.index, |table| table.set(mem, 5, Page::Bad, now));
        rig.expect(0, mr.at(Op::LocalRead, 5, 8), Syndrome::MttBad)?;
        no_fault(&mut rig)?;
    }
    Ok(())
}

/// A fault in the middle of a long request: what is before it may have been handed out, the order is
/// kept, and each page has its own fault.
#[test]
fn long_requests() -> Result {
    let (mut rig, pager) = served()?;
    for merge in [false, true] {
        let unit = UnitConfig {
            merge,
            ..UnitConfig::default()
        };
        rig.bench.disable(&mut rig.host.mem)?;
        rig.bench.enable(&mut rig.host.mem, &unit)?;
        let mr = rig.register_paged(&pager, spec(64, 1))?;
        rig.page_in(&pager, &mr, 0..21);
        rig.page_in(&pager, &mr, 23..40);
        rig.page_in(&pager, &mr, 41..64);
        let before = pager.handled();
        let outcome = rig.expect(0, mr.at(Op::RemoteRead, 1, 50 << 12), Syndrome::Ok)?;
        assert_eq!(outcome.bytes, 50 << 12);
        assert_eq!(pager.handled() - before, 3);

        // More faults than slots: it comes through all the same, after some attempts.
        let mr = rig.register_paged(&pager, spec(64, 1))?;
        let (mut attempts, mut done) = (0, 0);
        while done < 50 << 12 {
            let request = mr.at(Op::RemoteRead, 1, 50 << 12);
            let outcome = rig.access(0, request)?;
            let ends = [Syndrome::Ok, Syndrome::Retry];
            assert!(ends.contains(&outcome.syndrome), "{outcome:?}");
            attempts += 1;
            let further = outcome.bytes > done || attempts == 1;
            assert!(further, "it gets further each time: {outcome:?}");
            done = outcome.bytes;
            assert!(attempts <= 50);
        }
        println!("{attempts} attempts");
    }
    Ok(())
}

/// A line that is in the cache with an absent entry, which is present in memory by now: no fault.
#[test]
fn stale_lines_are_read_again() -> Result {
    let (mut rig, pager) = rig()?;
    for encoding in Encoding::ALL.iter().copied() {
        let mut spec = spec(64, 2);
        spec.shape.encoding = encoding;
        let mr = rig.register_paged(&pager, spec)?;
        rig.page_in(&pager, &mr, 8..9);
        rig.expect(0, mr.at(Op::LocalRead, 8, 8), Syndrome::Ok)?;
        // Its neighbour in the line of 16 bytes, and in longer ones.
        rig.page_in(&pager, &mr, 9..10);
        rig.expect(0, mr.at(Op::LocalRead, 9, 8), Syndrome::Ok)?;
        no_fault(&mut rig)?;
        // Read-only in the cache, writable in memory.
        let now = rig.bench.clock();
        pager.page_in(&mut rig.host.mem, mr.index, 20, false, now);
        rig.expect(0, mr.at(Op::LocalRead, 20, 8), Syndrome::Ok)?;
        rig.page_in(&pager, &mr, 20..21);
        rig.expect(0, mr.at(Op::LocalWrite, 20, 8), Syndrome::Ok)?;
        no_fault(&mut rig)?;
    }
    Ok(())
}

// -------------------------------------------------------------------------------------------------
// What goes on meanwhile
// -------------------------------------------------------------------------------------------------

/// Clocks for `count` requests of a client, on streams 1 to 7.
fn traffic(rig: &mut Rig, mr: &PagedMr, client: usize, count: u64) -> Result<u64> {
    let begin = rig.bench.clock();
    for n in 0..count {
        let mut request = mr.at(Op::RemoteRead, n % 8, 64);
        request.stream = 1 + (n % 7) as u8;
        rig.bench.issue(client, request);
    }
    let mut left = count;
    while left > 0 {
        rig.run(1)?;
        while let Some(outcome) = rig.bench.poll_client(client) {
            assert_eq!(outcome.syndrome, Syndrome::Ok);
            left -= 1;
        }
        assert!(
            rig.bench.clock() - begin < 100 * count + 10_000,
            "it stands still"
        );
    }
    Ok(rig.bench.clock() - begin)
}

/// While a stream is held, the others of its client and other clients go on at 0.9 of their rate.
#[test]
fn others_go_on() -> Result {
    let (mut rig, pager) = rig()?;
    let mr = rig.register_paged(&pager, spec(64, 1))?;
    rig.page_in(&pager, &mr, 0..8);
    // One request each 4 clocks: the client never lacks a context.
    for client in 0..2 {
        let pattern = Pattern::Cyclic { on: 1, off: 3 };
        rig.bench.set_request_valid(client, pattern);
    }
    for client in 0..2 {
        traffic(&mut rig, &mr, client, 300)?;
        let free = traffic(&mut rig, &mr, client, 1000)?;
        rig.bench.issue(0, mr.at(Op::RemoteRead, 40, 8));
        let fault = take(&mut rig)?;
        let held = traffic(&mut rig, &mr, client, 1000)?;
        println!("client {client}: {free} clocks, with a held stream {held}");
        assert!(
            held * 9 <= free * 10,
            "{free} clocks, but {held} with a held stream"
        );
        assert_eq!(rig.bench.requests_inside(0), 1, "it is held all the time");
        page_in_and_answer(&mut rig, &pager, &mr, &fault)?;
        assert_eq!(answers(&mut rig, 0)?, [Syndrome::Ok]);
        let now = rig.bench.clock();
        pager.clear(&mut rig.host.mem, mr.index, 40..41, now);
        let command = rig.invalidate_command(&mr, 40..41);
        rig.command(command, CommandExtra::default())?;
    }
    Ok(())
}

/// Requests behind a held one would take all contexts of the client: then the held one is answered
/// RETRY, and the client goes on.
#[test]
fn contexts_run_out() -> Result {
    let (mut rig, pager) = rig()?;
    let mr = rig.register_paged(&pager, spec(64, 1))?;
    rig.page_in(&pager, &mr, 0..8);
    rig.bench.issue(0, mr.at(Op::RemoteRead, 40, 8));
    let fault = take(&mut rig)?;
    // The same stream.
    for n in 0..200 {
        rig.bench.issue(0, mr.at(Op::RemoteRead, n % 8, 8));
    }
    let all = answers(&mut rig, 0)?;
    assert_eq!(all[0], Syndrome::Retry);
    assert!(all[1..].iter().all(|s| *s == Syndrome::Ok));
    // The fault keeps its slot: it is answered once, and not told again.
    assert_eq!(rig.bench.open_faults().len(), 1);
    page_in_and_answer(&mut rig, &pager, &mr, &fault)?;
    rig.expect(0, mr.at(Op::RemoteRead, 40, 8), Syndrome::Ok)?;
    no_fault(&mut rig)?;
    Ok(())
}

/// Other clients are not starved by it, and theirs are not answered RETRY.
#[test]
fn a_client_that_piles_up_is_alone() -> Result {
    let (mut rig, pager) = rig()?;
    let mr = rig.register_paged(&pager, spec(64, 1))?;
    rig.page_in(&pager, &mr, 0..8);
    rig.bench.issue(1, mr.at(Op::RemoteRead, 41, 8));
    let other = take(&mut rig)?;
    rig.bench.issue(0, mr.at(Op::RemoteRead, 40, 8));
    let fault = take(&mut rig)?;
    for n in 0..200 {
        rig.bench.issue(0, mr.at(Op::RemoteRead, n % 8, 8));
    }
    assert_eq!(answers(&mut rig, 0)?[0], Syndrome::Retry);
    assert_eq!(rig.bench.requests_inside(1), 1, "held");
    page_in_and_answer(&mut rig, &pager, &mr, &other)?;
    assert_eq!(answers(&mut rig, 1)?, [Syndrome::Ok]);
    assert_eq!(rig.page_ready(fault.slot, false)?, Status::Ok);
    Ok(())
}

/// No free slot: RETRY, and nothing is told of it.
#[test]
fn slots_run_out() -> Result {
    let (mut rig, pager) = rig()?;
    let mr = rig.register_paged(&pager, spec(64, 1))?;
    let slots = rig.bench.golden.fault_slots() as u64;
    let mut faults = Vec::new();
    for n in 0..slots {
        let mut request = mr.at(Op::RemoteRead, 3 * n, 8);
        request.stream = n as u8;
        rig.bench.issue((n % 2) as usize, request);
        faults.push(take(&mut rig)?);
    }
    let mut one_more = mr.at(Op::RemoteRead, 50, 8);
    one_more.stream = 15;
    rig.expect(0, one_more, Syndrome::Retry)?;
    no_fault(&mut rig)?;
    let mut slots_seen: Vec<u8> = faults.iter().map(|fault| fault.slot).collect();
    slots_seen.sort_unstable();
    assert!(slots_seen.iter().map(|slot| u64::from(*slot)).eq(0..slots));
    page_in_and_answer(&mut rig, &pager, &mr, &faults[1])?;
    rig.bench.issue(0, one_more);
    faults[1] = take(&mut rig)?;
    for fault in &faults {
        page_in_and_answer(&mut rig, &pager, &mr, fault)?;
    }
    rig.wait_idle()?;
    Ok(())
}

/// A lane has slots of its own: a region finds none although those of the other lanes are free.
#[test]
fn four_lanes_have_slots_of_their_own() -> Result {
    let options = BenchOptions {
        config: Config::Lanes4,
        ..BenchOptions::default()
    };
    let mut rig = Rig::new(options, &UnitConfig::default())?;
    let pager = Pager::default();
    let mr = rig.register_paged(&pager, spec(64, 1))?;
    let all = rig.bench.golden.fault_slots() as u64;
    let slots = all / u64::from(Config::Lanes4.sizes().lanes);
    assert!(slots < all);
    let mut faults = Vec::new();
    for n in 0..slots {
        let mut request = mr.at(Op::RemoteRead, 3 * n, 8);
        request.stream = n as u8;
        rig.bench.issue((n % 4) as usize, request);
        faults.push(take(&mut rig)?);
    }
    let mut one_more = mr.at(Op::RemoteRead, 50, 8);
    one_more.stream = 15;
    rig.expect(0, one_more, Syndrome::Retry)?;
    for fault in &faults {
        page_in_and_answer(&mut rig, &pager, &mr, fault)?;
    }
    rig.wait_idle()
}

// -------------------------------------------------------------------------------------------------
// Fences, disabling, resets
// -------------------------------------------------------------------------------------------------

/// A fence does not wait for the host: held requests are answered RETRY, new ones too, and
/// DEREG_MR of any region completes without any answer.
#[test]
fn fences_do_not_wait_for_the_host() -> Result {
    let (mut rig, pager) = rig()?;
    let mr = rig.register_paged(&pager, spec(64, 1))?;
    let other = rig.register(Spec::new(0x1000, 0x4000, 12, PA))?;
    rig.bench.issue(0, mr.at(Op::RemoteRead, 7, 8));
    let fault = take(&mut rig)?;
    rig.deregister(other)?;
    assert_eq!(answers(&mut rig, 0)?, [Syndrome::Retry]);
    // The fault was told: it is answered once, whatever became of the request.
    page_in_and_answer(&mut rig, &pager, &mr, &fault)?;
    rig.expect(0, mr.at(Op::RemoteRead, 7, 8), Syndrome::Ok)?;

    // While a fence waits for a client that is not done, new faults are told and answered RETRY.
    let slow = rig.register(Spec::new(0x1000, 0x4000, 12, PA))?;
    rig.bench.set_done_policy(1, DonePolicy::Withheld);
    rig.expect(1, slow.request(Op::LocalRead, 0x1000, 8), Syndrome::Ok)?;
    let (command, extra) = rig.dereg_command(&slow);
    rig.bench.post(command, extra);
    rig.run(200)?;
    rig.expect(0, mr.at(Op::RemoteRead, 30, 8), Syndrome::Retry)?;
    let fault = take(&mut rig)?;
    assert_eq!((fault.page, fault.held), (30, false));
    rig.bench.release_dones(1);
    rig.bench.set_done_policy(1, DonePolicy::IMMEDIATE);
    let done = rig.bench.wait_completion(&mut rig.host.mem, command.id)?;
    assert_eq!(done.status, Status::Ok);
    page_in_and_answer(&mut rig, &pager, &mr, &fault)?;
    rig.expect(0, mr.at(Op::RemoteRead, 30, 8), Syndrome::Ok)?;

    // The region itself goes, with a request held.
    rig.bench.issue(0, mr.at(Op::RemoteRead, 50, 8));
    let fault = take(&mut rig)?;
    let gone = rig.plain(CmdOp::DeregMr, mr.lkey, 1)?;
    assert_eq!(gone.status, Status::Ok);
    assert_eq!(answers(&mut rig, 0)?, [Syndrome::Retry]);
    assert_eq!(rig.page_ready(fault.slot, true)?, Status::Ok);
    Ok(())
}

/// A disabled unit answers what it holds RETRY; enabled again it has forgotten all faults.
#[test]
fn disabling() -> Result {
    let (mut rig, pager) = rig()?;
    let mr = rig.register_paged(&pager, spec(64, 1))?;
    for (n, page) in [7u64, 9].into_iter().enumerate() {
        let mut request = mr.at(Op::RemoteRead, page, 8);
        request.stream = n as u8;
        rig.bench.issue(n, request);
    }
    let first = take(&mut rig)?;
    rig.bench.disable(&mut rig.host.mem)?;
    assert_eq!(answers(&mut rig, 0)?, [Syndrome::Retry]);
    assert_eq!(answers(&mut rig, 1)?, [Syndrome::Retry]);
    assert_eq!(rig.page_ready(first.slot, false)?, Status::Disabled);
    rig.wait_idle()?;
    let unit = rig.bench.unit().clone();
    rig.bench.enable(&mut rig.host.mem, &unit)?;
    no_fault(&mut rig)?;
    let slots = rig.bench.golden.fault_slots() as u8;
    for slot in 0..slots {
        assert_eq!(rig.page_ready(slot, false)?, Status::KeyState);
    }
    // All slots are free.
    let mr = rig.register_paged(&pager, spec(64, 1))?;
    for n in 0..slots {
        let mut request = mr.at(Op::RemoteRead, 5 * u64::from(n), 8);
        request.stream = n;
        rig.bench.issue(0, request);
        take(&mut rig)?;
    }
    for fault in rig.bench.open_faults().to_vec() {
        page_in_and_answer(&mut rig, &pager, &mr, &fault)?;
    }
    assert!(answers(&mut rig, 0)?.iter().all(|s| *s == Syndrome::Ok));
    Ok(())
}

/// A client that is reset while its request is held; the other one is not disturbed.
#[test]
fn client_resets() -> Result {
    let (mut rig, pager) = rig()?;
    let mr = rig.register_paged(&pager, spec(64, 1))?;
    rig.bench.issue(0, mr.at(Op::RemoteRead, 7, 8));
    let fault = take(&mut rig)?;
    rig.bench.issue(1, mr.at(Op::RemoteRead, 20, 8));
    let other = take(&mut rig)?;
    rig.bench.reset_client(&mut rig.host.mem, 0)?;
    assert_eq!(rig.bench.requests_inside(1), 1, "held");
    // Each fault that was told is answered.
    page_in_and_answer(&mut rig, &pager, &mr, &fault)?;
    page_in_and_answer(&mut rig, &pager, &mr, &other)?;
    assert_eq!(answers(&mut rig, 1)?, [Syndrome::Ok]);
    rig.expect(0, mr.at(Op::RemoteRead, 7, 8), Syndrome::Ok)?;
    no_fault(&mut rig)
}

// -------------------------------------------------------------------------------------------------
// PAGE_READY
// -------------------------------------------------------------------------------------------------

/// Slots that do not exist, that have no fault, and that were answered.
#[test]
fn answers_that_are_refused() -> Result {
    let (mut rig, pager) = rig()?;
    let mr = rig.register_paged(&pager, spec(64, 1))?;
    let slots = rig.bench.golden.fault_slots() as u8;
    for slot in [slots, slots + 1, 127, 255] {
        assert_eq!(rig.page_ready(slot, false)?, Status::KeyIndex);
    }
    let wide = Command {
        key: tpt_golden::types::Key(1 << 31),
        ..rig.bench.page_ready(1, 0, false)
    };
    let done = rig.command(wide, CommandExtra::default())?;
    assert_eq!(done.status, Status::KeyIndex);
    for slot in 0..slots {
        assert_eq!(rig.page_ready(slot, false)?, Status::KeyState);
    }
    rig.bench.issue(0, mr.at(Op::RemoteRead, 7, 8));
    let fault = take(&mut rig)?;
    for slot in (0..slots).filter(|slot| *slot != fault.slot) {
        assert_eq!(rig.page_ready(slot, true)?, Status::KeyState);
    }
    page_in_and_answer(&mut rig, &pager, &mr, &fault)?;
    assert_eq!(answers(&mut rig, 0)?, [Syndrome::Ok]);
    assert_eq!(rig.page_ready(fault.slot, false)?, Status::KeyState, "once");
    Ok(())
}

/// Handlers that answer through the command queue.
#[test]
fn answers_through_the_queue() -> Result {
    let (mut rig, pager) = served()?;
    rig.bench
        .queue_enable(&mut rig.host.mem, QueueConfig::default())?;
    rig.bench.answer_through_queue(true);
    let mr = rig.register_paged(&pager, spec(64, 2))?;
    let before = rig.bench.queue_count();
    for page in 0..10 {
        rig.expect(0, mr.at(Op::RemoteRead, 6 * page, 8), Syndrome::Ok)?;
    }
    rig.bench.queue_finish(&mut rig.host.mem)?;
    assert_eq!(rig.bench.queue_count() - before, 10);
    Ok(())
}

// -------------------------------------------------------------------------------------------------
// INVALIDATE_RANGE
// -------------------------------------------------------------------------------------------------

/// After its completion nobody sees the old page, and who had it is done.
#[test]
fn pages_are_taken_back() -> Result {
    let (mut rig, pager) = served()?;
    for encoding in Encoding::ALL.iter().copied() {
        let mut spec = spec(64, 1);
        spec.shape.encoding = encoding;
        let mr = rig.register_paged(&pager, spec)?;
        let request = mr.at(Op::RemoteRead, 4, 3 << 12);
        let first = rig.expect(0, request, Syndrome::Ok)?;
        let done = rig.reclaim(&pager, &mr, 5..6)?;
        assert_eq!(done.status, Status::Ok);
        let second = rig.expect(0, request, Syndrome::Ok)?;
        assert_eq!(first.beats[0].pa, second.beats[0].pa);
        assert_ne!(first.beats[1].pa, second.beats[1].pa, "another frame");
        assert_eq!(first.beats[2].pa, second.beats[2].pa);
    }
    Ok(())
}

/// It waits for requests in flight, for their `done` too; hits on other pages go on meanwhile.
#[test]
fn invalidation_waits_for_those_inside() -> Result {
    let (mut rig, pager) = served()?;
    let mr = rig.register_paged(&pager, spec(64, 1))?;
    rig.page_in(&pager, &mr, 0..32);
    rig.bench.set_done_policy(1, DonePolicy::Withheld);
    rig.expect(1, mr.at(Op::RemoteRead, 20, 8), Syndrome::Ok)?;
    let now = rig.bench.clock();
    pager.clear(&mut rig.host.mem, mr.index, 20..21, now);
    let command = rig.invalidate_command(&mr, 20..21);
    rig.bench.post(command, CommandExtra::default());
    for page in 0..8 {
        rig.expect(0, mr.at(Op::RemoteRead, page, 8), Syndrome::Ok)?;
    }
    rig.run(2000)?;
    assert!(rig.bench.poll_completion().is_none(), "it waits");
    rig.bench.release_dones(1);
    let done = rig.bench.wait_completion(&mut rig.host.mem, command.id)?;
    assert_eq!(done.status, Status::Ok);
    Ok(())
}

/// PENDING: the old pages are the device's until the second completion.
#[test]
fn pending_invalidation() -> Result {
    let (mut rig, pager) = served()?;
    let mr = rig.register_paged(&pager, spec(64, 1))?;
    rig.bench.set_done_policy(1, DonePolicy::Withheld);
    rig.expect(1, mr.at(Op::RemoteRead, 20, 8), Syndrome::Ok)?;
    rig.bench.set_fence_time(&mut rig.host.mem, 300)?;
    let done = rig.reclaim(&pager, &mr, 20..21)?;
    assert_eq!(done.status, Status::Pending);
    // The keys stay: the page may come again at once.
    rig.expect(0, mr.at(Op::RemoteRead, 7, 8), Syndrome::Retry)?;
    rig.bench.release_dones(1);
    let id = done.id;
    let done = rig.bench.wait_completion(&mut rig.host.mem, id)?;
    assert_eq!(done.status, Status::Ok);
    rig.expect(0, mr.at(Op::RemoteRead, 20, 8), Syndrome::Ok)?;
    Ok(())
}

/// Every refusal, in its order; the golden reference has the same list.
#[test]
fn refusals_of_invalidate_range() -> Result {
    let (mut rig, pager) = rig()?;
    let mr = rig.register_paged(&pager, spec(64, 1))?;
    let plain = rig.register(Spec::new(0x1000, 0x4000, 12, PA))?;
    let good = rig.invalidate_command(&mr, 3..5);
    let end = START + (64 << 12);
    for (change, status) in [
        (
            Command {
                key: mr.rkey,
                ..good
            },
            Status::KeyTag,
        ),
        (
            Command {
                key: plain.lkey,
                ..good
            },
            Status::KeyKind,
        ),
        (Command { pd: 9, ..good }, Status::KeyPd),
        (Command { length: 0, ..good }, Status::BadLength),
        (
            Command {
                start: u64::MAX,
                length: 2,
                ..good
            },
            Status::BadWrap,
        ),
        (
            Command {
                start: START - 1,
                ..good
            },
            Status::MrBounds,
        ),
        (
            Command {
                start: end - 1,
                length: 2,
                ..good
            },
            Status::MrBounds,
        ),
        (
            Command {
                start: end - 1,
                length: 1,
                ..good
            },
            Status::Ok,
        ),
        (
            Command {
                start: START,
                length: 64 << 12,
                ..good
            },
            Status::Ok,
        ),
    ] {
        let id = rig.id();
        let done = rig.command(Command { id, ..change }, CommandExtra::default())?;
        assert_eq!(done.status, status, "{change:?}");
    }
    Ok(())
}

/// Rules of registration and re-registration.
#[test]
fn registration() -> Result {
    let (mut rig, pager) = served()?;
    let spec = spec(4, 1);
    let table = rig.build_paged(&spec);
    let good = rig.reg_command(&spec, table.table());
    for (change, status) in [
        (
            Command {
                access: PAGED_RIGHTS.0 | Access::MW_BIND.0,
                ..good
            },
            Status::BadFlags,
        ),
        (Command { level: 0, ..good }, Status::BadLevel),
        (
            Command {
                access: Access::ON_DEMAND.0 | Access::REMOTE_WRITE.0,
                ..good
            },
            Status::BadAccess,
        ),
        (
            Command {
                op: CmdOp::RegPhys.code(),
                ..good
            },
            Status::Privilege,
        ),
        (
            Command {
                encoding: 3,
                level: 0,
                ..good
            },
            Status::BadEncoding,
        ),
    ] {
        let id = rig.id();
        let done = rig.command(Command { id, ..change }, CommandExtra::default())?;
        assert_eq!(done.status, status, "{change:?}");
    }
    // An ordinary region becomes an on-demand one, and back.
    let mr = rig.register(
        Spec::new(START, 4 << 12, 12, PA)
            .access(Access(0xf))
            .level(1),
    )?;
    let change = |lkey, access: Access| Command {
        op: CmdOp::ReregMr.code(),
        key: lkey,
        pd: 1,
        rereg: rereg::ACCESS,
        access: access.0,
        ..Command::default()
    };
    let windows = Access(PAGED_RIGHTS.0 | Access::MW_BIND.0);
    let done = rig.command(change(mr.lkey, windows), CommandExtra::default())?;
    assert_eq!(done.status, Status::BadFlags);
    let done = rig.command(change(mr.lkey, PAGED_RIGHTS), CommandExtra::default())?;
    assert_eq!(done.status, Status::Ok);
    let request = tpt_golden::types::Request {
        key: done.lkey,
        ..mr.request(Op::LocalWrite, START, 3 << 12)
    };
    rig.expect(0, request, Syndrome::Ok)?;
    let inline = rig.register(
        Spec::new(START, 4 << 12, 12, PA)
            .access(Access(0xf))
            .level(0),
    )?;
    let done = rig.command(change(inline.lkey, PAGED_RIGHTS), CommandExtra::default())?;
    assert_eq!(done.status, Status::BadLevel);
    drop(pager);
    table.free(&mut rig.host);
    Ok(())
}

/// The generation wraps; old lines never come back.
#[test]
fn generations_wrap() -> Result {
    let (mut rig, pager) = served()?;
    let mr = rig.register_paged(&pager, spec(64, 1))?;
    let request = mr.at(Op::RemoteRead, 20, 8);
    for n in 0..260u32 {
        rig.expect(0, request, Syndrome::Ok)?;
        let done = rig.reclaim(&pager, &mr, 20..21)?;
        assert_eq!(done.status, Status::Ok);
        let gen = rig.bench.golden.slot(mr.index).1;
        assert_eq!(u32::from(gen), (n + 2) % 256);
    }
    let entry = rig.plain(CmdOp::Query, mr.lkey, 1)?.entry;
    assert_eq!(u32::from(entry[6]), 261 % 256);
    Ok(())
}

/// Invalidations of ranges count the generation up, but not the tags: no key of an index comes
/// again before 256 registrations and bindings, whatever it is meanwhile.
#[test]
fn keys_do_not_follow_invalidations() -> Result {
    let unit = UnitConfig {
        mpt_size: 2,
        ..UnitConfig::default()
    };
    let mut rig = Rig::new(BenchOptions::default(), &unit)?;
    let pager = Pager::default();
    rig.bench.set_fault_handler(Some(Box::new(pager.clone())));
    let mut keys = Vec::new();
    for round in 0..257u64 {
        let mut mr = rig.register_paged(&pager, spec(64, 1))?;
        keys.push((mr.lkey, mr.rkey));
        let ranges = match round {
            3 => 255,
            60 => 256,
            _ => round % 5,
        };
        for n in 0..ranges {
            // Another order of pages, and so other frames.
            for page in [20 + (round + n) % 4, 20 + (round + n + 1) % 4] {
                rig.expect(0, mr.at(Op::RemoteRead, page, 8), Syndrome::Ok)?;
            }
            let done = rig.reclaim(&pager, &mr, 20..24)?;
            assert_eq!(done.status, Status::Ok);
            if round == 7 && n == 0 {
                // A write that fails is made again: the count as well.
                let entry = rig.bench.entry_address(mr.index);
                rig.bench
                    .axi
                    .inject(Fault::once(entry..entry + 64, FaultOn::Write));
                let command = rig.invalidate_command(&mr, 20..24);
                let done = rig.command(command, CommandExtra::default())?;
                assert_eq!(done.status, Status::Bus);
            }
            if round % 50 == 9 && n == 1 {
                let command = Command {
                    id: rig.id(),
                    op: CmdOp::ReregMr.code(),
                    key: mr.lkey,
                    pd: 1,
                    new_pd: 1,
                    rereg: rereg::PD,
                    ..Command::default()
                };
                let done = rig.command(command, CommandExtra::default())?;
                assert_eq!(done.status, Status::Ok);
                (mr.lkey, mr.rkey) = (done.lkey, done.rkey);
                keys.push((mr.lkey, mr.rkey));
            }
        }
        rig.expect(0, mr.at(Op::RemoteRead, 22, 8), Syndrome::Ok)?;
        let gone = rig.plain(CmdOp::DeregMr, mr.lkey, 1)?;
        assert_eq!(gone.status, Status::Ok);
        // Other kinds at the same index: their keys are judged by the reference.
        if round % 10 == 4 {
            let window = rig.alloc_mw(1, 0)?;
            let gone = rig.plain(CmdOp::DeallocMw, window.rkey, 1)?;
            assert_eq!(gone.status, Status::Ok);
            keys.push((Key::NONE, window.rkey));
            let frmr = rig.alloc_mr(4, 0)?;
            assert_eq!(frmr.status, Status::Ok);
            let gone = rig.plain(CmdOp::DeregMr, frmr.lkey, 1)?;
            assert_eq!(gone.status, Status::Ok);
            keys.push((frmr.lkey, frmr.rkey));
        }
    }
    for distance in 1..256 {
        assert_ne!(keys[0].0, keys[distance].0, "L_Key {distance}");
        assert_ne!(keys[0].1, keys[distance].1, "R_Key {distance}");
    }
    assert_eq!(keys[0], keys[256]);
    Ok(())
}

/// Requests that are on their way while the generation wraps bring lines of the old one into the
/// cache behind its sweep. They must be gone when that generation comes again.
#[test]
fn generations_wrap_under_traffic() -> Result {
    let (mut rig, pager) = served()?;
    let mr = rig.register_paged(&pager, spec(64, 1))?;
    let request = mr.at(Op::RemoteRead, 21, 8);
    let count_up = |rig: &mut Rig, to: u8| -> Result {
        while rig.bench.golden.slot(mr.index).1 != to {
            let command = rig.invalidate_command(&mr, 3..4);
            let done = rig.command(command, CommandExtra::default())?;
            assert_eq!(done.status, Status::Ok);
        }
        Ok(())
    };
    rig.expect(0, request, Syndrome::Ok)?;
    count_up(&mut rig, 255)?;
    for _ in 0..600 {
        rig.bench.issue(0, request);
    }
    count_up(&mut rig, 0)?;
    rig.wait_idle()?;
    // Page 40 gets the frame of page 21.
    let done = rig.reclaim(&pager, &mr, 21..22)?;
    assert_eq!(done.status, Status::Ok);
    rig.expect(0, mr.at(Op::RemoteRead, 40, 8), Syndrome::Ok)?;
    count_up(&mut rig, 255)?;
    rig.expect(0, request, Syndrome::Ok)?;
    Ok(())
}

/// An answer behind a command whose write fails is given once.
#[test]
fn an_answer_behind_a_failed_write() -> Result {
    let (mut rig, pager) = rig()?;
    let mr = rig.register_paged(&pager, spec(64, 1))?;
    rig.bench.issue(0, mr.at(Op::RemoteRead, 20, 8));
    let fault = take(&mut rig)?;
    rig.page_in(&pager, &mr, 20..21);
    let spec = Spec::new(START, 4 << 12, 12, PA).level(1);
    let table = rig.build_table(&spec);
    let reg = rig.reg_command(&spec, &table);
    let entry = rig.bench.entry_address(mr.index + 1);
    rig.bench
        .axi
        .inject(Fault::once(entry..entry + 64, FaultOn::Write));
    rig.bench.post(reg, Rig::pages(&spec));
    assert_eq!(rig.page_ready(fault.slot, false)?, Status::Ok);
    let done = rig.bench.wait_completion(&mut rig.host.mem, reg.id)?;
    assert_eq!(done.status, Status::Bus);
    assert_eq!(answers(&mut rig, 0)?, [Syndrome::Ok]);
    table.free(&mut rig.host);
    Ok(())
}

/// Memory that refuses the first write of the entry: BUS, and the region goes on.
#[test]
fn bus_error_of_the_entry() -> Result {
    let (mut rig, pager) = served()?;
    let mr = rig.register_paged(&pager, spec(64, 1))?;
    rig.expect(0, mr.at(Op::RemoteRead, 20, 8), Syndrome::Ok)?;
    let entry = rig.bench.entry_address(mr.index);
    for on in [FaultOn::Write, FaultOn::Read] {
        rig.bench.axi.inject(Fault::once(entry..entry + 64, on));
        let command = rig.invalidate_command(&mr, 3..4);
        let done = rig.command(command, CommandExtra::default())?;
        assert_eq!(done.status, Status::Bus);
        assert_eq!(rig.bench.golden.slot(mr.index).0, State::Valid);
        rig.expect(0, mr.at(Op::RemoteRead, 20, 8), Syndrome::Ok)?;
        let done = rig.reclaim(&pager, &mr, 20..21)?;
        assert_eq!(done.status, Status::Ok);
        rig.expect(0, mr.at(Op::RemoteRead, 20, 8), Syndrome::Ok)?;
    }
    Ok(())
}

/// Memory errors of the table are no page faults.
#[test]
fn bus_errors_of_the_table() -> Result {
    let (mut rig, pager) = served()?;
    let mr = rig.register_paged(&pager, spec(64, 1))?;
    let entry = pager
        .with(mr.index, |table| table.table().entry_pa(20))
        .flatten();
    let entry = entry.expect("it has an entry") & !63;
    rig.bench
        .axi
        .inject(Fault::once(entry..entry + 64, FaultOn::Read));
    rig.expect(0, mr.at(Op::RemoteRead, 20, 8), Syndrome::Bus)?;
    assert_eq!(pager.handled(), 0);
    rig.expect(0, mr.at(Op::RemoteRead, 20, 8), Syndrome::Ok)?;
    Ok(())
}

// -------------------------------------------------------------------------------------------------
// All at once
// -------------------------------------------------------------------------------------------------

/// Traffic of all clients over more pages than there are slots, while pages are taken back all the
/// time: everything comes through in the end, in any memory.
#[test]
fn traffic_and_reclaim() -> Result {
    for (seed, latency) in [(1u64, 2u32), (2, 40), (3, 200)] {
        let mut options = BenchOptions {
            seed,
            ..BenchOptions::default()
        };
        options.axi.read_latency = Clocks::range(1, latency);
        let mut rig = Rig::new(options, &UnitConfig::default())?;
        let pager = Pager::default();
        rig.bench.set_fault_handler(Some(Box::new(pager.clone())));
        let mut encoded = spec(64, 2);
        encoded.shape.encoding = Encoding::ALL[seed as usize % 3];
        let mr = rig.register_paged(&pager, encoded)?;
        let (mut good, mut again, mut offered) = (0u32, 0u32, 0u32);
        for round in 0..30u64 {
            for n in 0..12u64 {
                let page = (round * 7 + n * 13 + n * n) % 60;
                let op = [Op::RemoteRead, Op::RemoteWrite, Op::LocalRead][(n % 3) as usize];
                let mut request = mr.at(op, page, ((n % 4) << 12) as u32 + 8);
                request.stream = (n % 5) as u8;
                rig.bench.issue((n % 2) as usize, request);
                offered += 1;
            }
            let first = round * 11 % 60;
            if round % 3 == 0 {
                let done = rig.reclaim(&pager, &mr, first..first + 4)?;
                assert_eq!(done.status, Status::Ok);
            }
            // What is answered RETRY comes again, as a client does it.
            for attempt in 0.. {
                rig.wait_idle()?;
                let mut retried = Vec::new();
                for client in 0..2 {
                    while let Some(outcome) = rig.bench.poll_client(client) {
                        match outcome.syndrome {
                            Syndrome::Ok => good += 1,
                            Syndrome::Retry => retried.push((client, outcome.request)),
                            other => panic!("{other} for {:?}", outcome.request),
                        }
                    }
                }
                again += retried.len() as u32;
                if retried.is_empty() {
                    break;
                }
                assert!(
                    attempt < 40,
                    "{} of a round do not come through",
                    retried.len()
                );
                for (client, request) in retried {
                    rig.bench.issue(client, request);
                }
            }
        }
        println!(
            "seed {seed}: {good} good, {again} again, {} faults",
            pager.handled()
        );
        assert_eq!(good, offered);
        pager.set_policy(PagerPolicy::Refuse);
        let gone = rig.plain(CmdOp::DeregMr, mr.lkey, 1)?;
        assert_eq!(gone.status, Status::Ok);
        let waiting = rig
            .bench
            .read_register(&mut rig.host.mem, regs::FAULT_COUNT)?;
        assert_eq!(waiting, 0);
    }
    Ok(())
}

// -------------------------------------------------------------------------------------------------
// Entries that memory has changed
// -------------------------------------------------------------------------------------------------

/// Every set of one or two changed bits of a CHECKED entry, of an absent one too, and entries that
/// are whole but not present, at address 0, or of another place: bad, and never an address.
#[test]
fn changed_entries_of_encoding_checked() -> Result {
    let mut rig = Rig::small()?;
    let mut spec = Spec::new(START, 64 << 12, 12, PA).level(1);
    spec.shape.encoding = Encoding::Checked;
    let mr = rig.register(spec)?;
    let page = 20;
    let request = mr.request(Op::LocalRead, START + (page << 12), 8);
    rig.expect(0, request, Syndrome::Ok)?;
    let entry = mr.table.entry_pa(page).expect("it has an entry");
    let right = rig.host.mem.read_u64(entry);
    let place = Place {
        index: mr.index,
        number: page,
        level: 1,
    };
    let pa = right & CHECKED_ADDRESS;
    // Whole, but for what is in it.
    let whole = |place: Place, pa: u64, flags: u64| {
        let check = place.check(pa, flags);
        let word = pa | flags | (check & 0x3ff) << 2 | (check >> 10) << 52;
        word | ((u64::from(word.count_ones()) + 1) & 1) << 63
    };
    assert_eq!(whole(place, pa, 3), right);
    let mut wrong = vec![
        whole(place, pa, 0),
        whole(place, pa, 2),
        whole(place, 0, 3),
        whole(Place { level: 2, ..place }, pa, 3),
    ];
    for bit in 0..23 {
        let index = place.index ^ 1 << bit;
        wrong.push(whole(Place { index, ..place }, pa, 3));
    }
    for bit in 0..40 {
        let number = place.number ^ 1 << bit;
        wrong.push(whole(Place { number, ..place }, pa, 3));
    }
    for a in 0..64 {
        wrong.extend([right ^ 1 << a, 1 << a]);
        for b in 0..a {
            wrong.extend([right ^ 1 << a ^ 1 << b, 1 << a | 1 << b]);
        }
    }
    let mut list = mr.spec.list.clone();
    list.set(page..page + 1, Page::Bad);
    // The good line leaves the cache with the region's next generation.
    let command = Command {
        id: rig.id(),
        op: CmdOp::ReregMr.code(),
        key: mr.lkey,
        pd: 1,
        rereg: rereg::PD,
        new_pd: 1,
        ..Command::default()
    };
    let done = rig.command(command, CommandExtra::default())?;
    rig.bench
        .golden
        .set_pages(mr.index, std::sync::Arc::new(list));
    let request = tpt_golden::types::Request {
        key: done.lkey,
        ..request
    };
    for word in wrong {
        rig.host.mem.write_u64(entry, word);
        let outcome = rig.access(0, request)?;
        assert_eq!(
            outcome.syndrome,
            Syndrome::MttBad,
            "{word:#x} for {right:#x}"
        );
    }
    Ok(())
}

/// A wrong CHECKED entry is in the cache beside a good one, which has brought their line: what the
/// check said of it is kept there, too.
#[test]
fn a_wrong_entry_of_a_cached_line() -> Result {
    let mut rig = Rig::small()?;
    let mut spec = Spec::new(START, 64 << 12, 12, PA).level(1);
    spec.shape.encoding = Encoding::Checked;
    let mr = rig.register(spec)?;
    let mut list = mr.spec.list.clone();
    for page in [21, 30] {
        let entry = mr.table.entry_pa(page).expect("it has an entry");
        let right = rig.host.mem.read_u64(entry);
        // Another address: the two are in one page of the table.
        rig.host.mem.write_u64(entry, right ^ 1 << 13);
        list.set(page..page + 1, Page::Bad);
    }
    let golden = &mut rig.bench.golden;
    golden.set_pages(mr.index, std::sync::Arc::new(list));
    for (page, syndrome) in [
        (20, Syndrome::Ok),
        (21, Syndrome::MttBad),
        (31, Syndrome::Ok),
        (30, Syndrome::MttBad),
        (20, Syndrome::Ok),
    ] {
        let request = mr.request(Op::LocalRead, START + (page << 12), 8);
        rig.expect(0, request, syndrome)?;
    }
    Ok(())
}
