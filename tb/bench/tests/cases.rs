// SPDX-License-Identifier: Apache-2.0
//! Every operation on every kind of table and class of page sizes, at every place in and around a
//! region: the cross that `make coverage` asks for. Each answer is what the reference says, and of
//! the kind that is meant here.

use tpt_bench::rig::{Mr, Rig, Spec, ALL_RIGHTS};
use tpt_bench::{BenchError, BenchOptions, Clocks, UnitConfig};
use tpt_golden::types::{Access, Key, Op, Request, Syndrome, LEVEL_FLAT, LEVEL_INLINE};

type Result<T = ()> = std::result::Result<T, BenchError>;

/// A multiple of every page size.
const BOUNDARY: u64 = 1 << 44;
/// Where the large region starts: below a boundary of pages, a multiple of 8.
const START: u64 = BOUNDARY - 0x1000 + 0x238;
/// It ends behind that boundary, at no multiple of 8: an atomic can lie across the end.
const LENGTH: u64 = 0x2004;
const PA: u64 = 1 << 45;
/// One of each class of page sizes.
const LOG_PAGES: [u8; 5] = [12, 14, 18, 21, 30];
const LEVELS: [u8; 5] = [LEVEL_INLINE, 1, 2, 3, LEVEL_FLAT];

fn rig() -> Result<Rig> {
    let mut options = BenchOptions::default();
    options.axi.read_latency = Clocks::range(1, 8);
    Rig::new(options, &UnitConfig::default())
}

fn rights() -> Access {
    ALL_RIGHTS | Access::FLUSH_GLOBAL | Access::FLUSH_PERSISTENT
}

/// Addresses and lengths of accesses to the large region, and what each is to be answered.
fn places(op: Op) -> Vec<(u64, u64, Syndrome)> {
    let end = START + LENGTH;
    let mut places = vec![
        (START, 8, Syndrome::Ok),
        (START + 0x100, 8, Syndrome::Ok),
        (START - 8, 8, Syndrome::Bounds),
        (end - 4, 8, Syndrome::Bounds),
        (end + 4, 8, Syndrome::Bounds),
        (0, 8, Syndrome::Bounds),
        (!0 - 3, 8, Syndrome::Wrap),
    ];
    if op != Op::RemoteAtomic {
        places.extend([
            (START, 0x1000, Syndrome::Ok),
            (BOUNDARY - 32, 64, Syndrome::Ok),
            (end - 64, 64, Syndrome::Ok),
            (end - 0x1400, 0x1400, Syndrome::Ok),
            (START, LENGTH, Syndrome::Ok),
            (START - 1, LENGTH, Syndrome::Bounds),
            (START + 1, LENGTH, Syndrome::Bounds),
            (START, LENGTH + 1, Syndrome::Bounds),
            (!0 - 0x1000, 0x2000, Syndrome::Wrap),
        ]);
    }
    places
}

fn expect(rig: &mut Rig, mr: &Mr, op: Op, place: (u64, u64, Syndrome)) -> Result {
    let (va, length, syndrome) = place;
    // An atomic across the end is not aligned either, but the bounds come first.
    let request = mr.request(op, va, length as u32);
    rig.expect(0, request, syndrome).map(|_| ())
}

#[test]
fn every_operation_everywhere() -> Result {
    let mut rig = rig()?;
    for level in LEVELS {
        for log_page in LOG_PAGES {
            let spec = |start, length| {
                let spec = Spec::new(start, length, log_page, PA).access(rights());
                spec.level(level)
            };
            let large = rig.register(spec(START, LENGTH))?;
            let pair = rig.register(spec(BOUNDARY + 0x238, 16))?;
            let word = rig.register(spec(BOUNDARY + 0x238, 8))?;
            for op in Op::ALL.iter().copied() {
                for place in places(op) {
                    expect(&mut rig, &large, op, place)?;
                }
                let (first, second) = (BOUNDARY + 0x238, BOUNDARY + 0x240);
                expect(&mut rig, &pair, op, (first, 8, Syndrome::Ok))?;
                expect(&mut rig, &pair, op, (second, 8, Syndrome::Ok))?;
                expect(&mut rig, &word, op, (first, 8, Syndrome::Ok))?;
            }
            for mr in [large, pair, word] {
                rig.deregister(mr)?;
            }
        }
    }
    Ok(())
}

#[test]
fn every_operation_refused() -> Result {
    let mut rig = rig()?;
    let good = rig.register(Spec::new(START, LENGTH, 12, PA).access(rights()))?;
    let bare = rig.register(Spec::new(START, LENGTH, 12, PA).access(Access::NONE))?;
    let gone = rig.register(Spec::new(START, LENGTH, 12, PA).access(rights()))?;
    let old = &good;
    let dead = |op| gone.request(op, START, 8);
    let dead: Vec<Request> = Op::ALL.iter().map(|op| dead(*op)).collect();
    rig.deregister(gone)?;
    for (op, dead) in Op::ALL.iter().copied().zip(dead) {
        let request = old.request(op, START, 8);
        let key = request.key.0;
        let other = if op == Op::LocalRead || op == Op::LocalWrite {
            old.rkey
        } else {
            old.lkey
        };
        let cases = [
            (
                Request {
                    key: other,
                    ..request
                },
                Syndrome::KeyTag,
            ),
            (
                Request {
                    key: Key(key ^ 1),
                    ..request
                },
                Syndrome::KeyTag,
            ),
            (Request { pd: 2, ..request }, Syndrome::Pd),
            (dead, Syndrome::KeyState),
        ];
        for (request, syndrome) in cases {
            rig.expect(0, request, syndrome)?;
        }
        // An atomic is 8 bytes long: that comes first.
        let long = Request {
            len: (1 << 31) + 8,
            ..request
        };
        let syndrome = match op {
            Op::RemoteAtomic => Syndrome::Align,
            _ => Syndrome::Length,
        };
        rig.expect(0, long, syndrome)?;
        // What is never granted without a right. (A key of the peer is there with a right only.)
        if op == Op::LocalWrite {
            let request = bare.request(op, START, 8);
            rig.expect(0, request, Syndrome::Rights)?;
        }
        if op == Op::RemoteAtomic {
            rig.expect(0, old.request(op, START + 4, 8), Syndrome::Align)?;
            rig.expect(0, old.request(op, START, 16), Syndrome::Align)?;
        }
    }
    Ok(())
}
