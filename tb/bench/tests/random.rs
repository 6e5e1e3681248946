// SPDX-License-Identifier: Apache-2.0
//! Random sequences of everything ([`tpt_bench::random`]), in each configuration.
//!
//! `TPT_CASES` is the number of sequences per test, `TPT_SEED` the seed (a number, or `time`),
//! `TPT_SHRINK` the number of attempts to shrink.

use tpt_bench::random::{Episode, Mix, Run};
use tpt_golden::types::{CmdOp, Status, Syndrome};
use tpt_verilated::Config;

fn number(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) if text == "time" => std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(default, |time| time.as_nanos() as u64),
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name}: `{text}` is no number")),
        Err(_) => default,
    }
}

fn run(config: Config, cases: u64, length: usize, salt: u64) {
    run_steps(config, cases, length, salt, false, Mix::All);
}

fn run_with(config: Config, cases: u64, length: usize, salt: u64, through_queue: bool) {
    run_steps(config, cases, length, salt, through_queue, Mix::All);
}

fn run_steps(config: Config, cases: u64, length: usize, salt: u64, through_queue: bool, mix: Mix) {
    let cases = number("TPT_CASES", cases);
    let run = Run {
        config,
        mix,
        through_queue,
        cases: cases as u32,
        length,
        seed: number("TPT_SEED", 1),
        salt,
        shrink: number("TPT_SHRINK", 600) as u32,
        plant: false,
    };
    let tally = run.run().unwrap_or_else(|failure| panic!("TPT_{failure}"));
    let retries = tally.syndrome(Syndrome::Retry);
    let (faults, resumed) = (tally.faults, tally.resumed);
    println!("{faults} page faults, {resumed} requests held and resumed, {retries} answered RETRY");
    for (op, ends) in &tally.by_end {
        for (status, count) in ends {
            let (op, status) = (CmdOp::from_code(*op), Status::from_code(*status));
            println!("{op:?} {status:?}: {count}");
        }
    }
    // A run that is long enough meets some of all that can happen to a page fault.
    let short = length < 100 || (length as u64) * cases < 900;
    if !short {
        assert!(faults >= 10, "{faults} page faults");
        assert!(retries >= 1, "no RETRY");
        assert!(resumed >= 1, "no request was resumed");
    }
    // And a good one of each.
    for op in (1..14).filter_map(CmdOp::from_code) {
        assert!(
            tally.ended(op, Status::Ok) > 0 || short,
            "{op:?} was never done"
        );
    }
}

/// An episode is the same each time, and the same as its record.
#[test]
fn episodes_follow_from_their_number() {
    for number in [1, 77] {
        let run = Episode::new(number, &[Config::Small]).run;
        let first = run.run().expect("an episode that is good");
        assert!(first.clocks > 100 && first.cases == 1);
        assert_eq!(first, run.run().expect("the same"));
        assert_eq!(first, run.record(None).expect("the same"));
    }
    let of = |number| Episode::new(number, &[Config::Small, Config::Default]).run;
    let kinds: std::collections::BTreeSet<_> = (0..64)
        .map(|n| {
            let run = of(n);
            (
                run.config.name(),
                run.mix == Mix::All,
                run.through_queue,
                run.length,
            )
        })
        .collect();
    assert!(kinds.len() > 16, "{kinds:?}");
}

#[test]
fn small_short() {
    run(Config::Small, 60, 30, 1);
}

#[test]
fn small_long() {
    run(Config::Small, 12, 300, 2);
}

#[test]
fn small_paging() {
    run_steps(Config::Small, 30, 120, 8, false, Mix::Paging);
    run_steps(Config::Small, 20, 120, 9, true, Mix::Paging);
}

#[test]
fn small_through_the_queue() {
    run_with(Config::Small, 30, 60, 7, true);
    // the sequences of small_long
    run_with(Config::Small, 12, 300, 2, true);
}

#[test]
fn default_configuration() {
    run(Config::Default, 12, 150, 3);
}

#[test]
fn large_configuration() {
    run(Config::Large, 4, 150, 4);
}

#[test]
fn two_lanes() {
    run(Config::Lanes2, 8, 120, 5);
}

#[test]
fn four_lanes() {
    run(Config::Lanes4, 8, 150, 6);
}
