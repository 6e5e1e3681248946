// SPDX-License-Identifier: Apache-2.0
//! What may happen: steps of small numbers, so that they shrink well.

use proptest::prelude::*;
use tpt_golden::types::LEVEL_FLAT;

/// A region as a step describes it: small numbers, so that it shrinks well.
#[derive(Clone, Debug)]
pub(super) struct RegionStep {
    pub(super) pages: u64,
    pub(super) log_page: u8,
    /// Which start: 0 aligned and low, 1 inside a page, 2 end of a page, 3 ends at 2^64.
    pub(super) place: u8,
    /// Bytes that the last page lacks.
    pub(super) tail: u64,
    pub(super) level: Option<u8>,
    pub(super) log_tpage: u8,
    pub(super) encoding: u8,
    pub(super) access: u32,
    pub(super) pd: u32,
    /// Page with a fault, and which.
    pub(super) fault: Option<(u64, u8)>,
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    Register(RegionStep),
    /// An on-demand region, whose pages come with the faults.
    RegisterPaged(RegionStep),
    DeregisterPaged(u8),
    /// The host makes pages present that nobody has asked for.
    PageIn {
        which: u8,
        first: u8,
        count: u8,
        writable: bool,
    },
    /// The host takes pages back; `level` 2 and 3: directory entries.
    Reclaim {
        which: u8,
        first: u8,
        count: u8,
        level: u8,
    },
    /// What the host does with faults, and through which channel.
    Faults {
        policy: u8,
        queue: bool,
    },
    Deregister(u8),
    Reregister {
        which: u8,
        flags: u8,
        region: RegionStep,
    },
    Query {
        which: u8,
    },
    AllocMr {
        pd: u32,
        log_page: u8,
        cap: u32,
        flags: u8,
        encoding: u8,
    },
    FastRegister {
        which: u8,
        tag: u8,
        region: RegionStep,
    },
    AllocMw {
        pd: u32,
        flags: u8,
    },
    /// `region` is one of those that are registered; `place` and `access` say which part, and how.
    Bind {
        which: u8,
        region: u8,
        place: u8,
        access: u8,
        tag: u8,
        qpn: u8,
    },
    RegPhys {
        place: u8,
        access: u8,
        pd: u32,
    },
    /// Invalidate it, or free it.
    End {
        which: u8,
        how: u8,
    },
    /// A command whose key or arguments are wrong.
    BadCommand {
        which: u8,
        op: u8,
        wrong: u8,
    },
    Access {
        client: u8,
        which: u8,
        op: u8,
        stream: u8,
        place: u8,
        len: u8,
        wrong: u8,
    },
    /// Many accesses at once.
    Burst {
        count: u8,
        seed: u16,
    },
    /// Very many short accesses, as fast as they are taken.
    Flood {
        count: u16,
        seed: u16,
    },
    Ready {
        client: u8,
        pattern: u8,
    },
    Done {
        client: u8,
        policy: u8,
    },
    ReleaseDones {
        client: u8,
    },
    ForgeDone {
        client: u8,
        tag: u16,
    },
    BusyTag {
        client: u8,
        tag: u16,
        which: u8,
    },
    Memory {
        kind: u8,
        latency: u8,
    },
    BusError {
        which: u8,
        kind: u8,
    },
    ClientReset {
        client: u8,
    },
    FenceTime(u16),
    /// The host lets a stream go on that may have been blocked.
    ClearStream {
        client: u8,
        stream: u8,
    },
    Completions {
        pattern: u8,
    },
    Run(u16),
    Restart {
        reset: bool,
    },
}

fn region_step() -> impl Strategy<Value = RegionStep> {
    (
        prop_oneof![
            4 => 1u64..6,
            4 => 6u64..40,
            1 => prop::sample::select(vec![511, 512, 513, 1023, 1025, 2100]),
        ],
        prop::sample::select(vec![12u8, 12, 12, 12, 13, 16, 21, 30]),
        0u8..4,
        prop_oneof![Just(0u64), 0u64..4096],
        prop::option::of(prop::sample::select(vec![0u8, 1, 2, 3, LEVEL_FLAT])),
        prop::sample::select(vec![12u8, 12, 12, 13, 16]),
        0u8..3,
        // ON_DEMAND over pages that stay, too
        prop_oneof![6 => Just(0x1fu32), 2 => 0u32..0x40, 1 => Just(0x4f), 1 => 0x40u32..0x80],
        prop::sample::select(vec![1u32, 1, 1, 2, 3]),
        prop::option::weighted(0.15, (0u64..40, 0u8..3)),
    )
        .prop_map(
            |(pages, log_page, place, tail, level, log_tpage, encoding, access, pd, fault)| {
                RegionStep {
                    pages,
                    log_page,
                    place,
                    tail,
                    level,
                    log_tpage,
                    encoding,
                    access,
                    pd,
                    fault,
                }
            },
        )
}

/// Everything.
pub(super) fn step() -> impl Strategy<Value = Step> {
    // modulo the clients that there are
    let client = 0u8..4;
    prop_oneof![
        10 => region_step().prop_map(Step::Register),
        4 => region_step().prop_map(Step::RegisterPaged),
        2 => any::<u8>().prop_map(Step::DeregisterPaged),
        3 => (any::<u8>(), any::<u8>(), 1u8..40, any::<bool>())
            .prop_map(|(which, first, count, writable)| Step::PageIn {
                which, first, count, writable,
            }),
        5 => (any::<u8>(), any::<u8>(), 1u8..40, prop::sample::select(vec![1u8, 1, 1, 2, 3]))
            .prop_map(|(which, first, count, level)| Step::Reclaim {
                which, first, count, level,
            }),
        2 => (0u8..8, any::<bool>())
            .prop_map(|(policy, queue)| Step::Faults { policy, queue }),
        7 => any::<u8>().prop_map(Step::Deregister),
        4 => (any::<u8>(), 0u8..8, region_step())
            .prop_map(|(which, flags, region)| Step::Reregister { which, flags, region }),
        2 => any::<u8>().prop_map(|which| Step::Query { which }),
        2 => (any::<u8>(), 0u8..15, 0u8..6)
            .prop_map(|(which, op, wrong)| Step::BadCommand { which, op, wrong }),
        2 => (1u32..3, prop::sample::select(vec![12u8, 12, 13, 16]), 0u32..40, 0u8..4, 0u8..3)
            .prop_map(|(pd, log_page, cap, flags, encoding)| Step::AllocMr {
                pd, log_page, cap, flags, encoding,
            }),
        5 => (any::<u8>(), any::<u8>(), region_step())
            .prop_map(|(which, tag, region)| Step::FastRegister { which, tag, region }),
        4 => (prop::sample::select(vec![1u32, 1, 1, 2]), prop::sample::select(vec![0u8, 2, 2, 6, 6, 4]))
            .prop_map(|(pd, flags)| Step::AllocMw { pd, flags }),
        10 => (any::<u8>(), any::<u8>(), 0u8..12, any::<u8>(), any::<u8>(), 0u8..8).prop_map(
            |(which, region, place, access, tag, qpn)| Step::Bind {
                which, region, place, access, tag, qpn,
            }
        ),
        1 => (0u8..5, any::<u8>(), 1u32..3)
            .prop_map(|(place, access, pd)| Step::RegPhys { place, access, pd }),
        6 => (any::<u8>(), 0u8..16).prop_map(|(which, how)| Step::End { which, how }),
        14 => (client.clone(), any::<u8>(), 0u8..8, 0u8..64, 0u8..12, 0u8..10, 0u8..16).prop_map(
            |(client, which, op, stream, place, len, wrong)| Step::Access {
                client, which, op, stream, place, len, wrong,
            }
        ),
        14 => (1u8..60, any::<u16>()).prop_map(|(count, seed)| Step::Burst { count, seed }),
        3 => (client.clone(), 0u8..5)
            .prop_map(|(client, pattern)| Step::Ready { client, pattern }),
        3 => (client.clone(), 0u8..4).prop_map(|(client, policy)| Step::Done { client, policy }),
        4 => client.clone().prop_map(|client| Step::ReleaseDones { client }),
        1 => (client.clone(), 900u16..1024)
            .prop_map(|(client, tag)| Step::ForgeDone { client, tag }),
        1 => (client.clone(), 800u16..804, any::<u8>())
            .prop_map(|(client, tag, which)| Step::BusyTag { client, tag, which }),
        4 => (0u8..8, any::<u8>()).prop_map(|(kind, latency)| Step::Memory { kind, latency }),
        2 => (any::<u8>(), 0u8..8).prop_map(|(which, kind)| Step::BusError { which, kind }),
        1 => client.clone().prop_map(|client| Step::ClientReset { client }),
        1 => prop_oneof![Just(0u16), 20u16..3000].prop_map(Step::FenceTime),
        1 => (0u8..4).prop_map(|pattern| Step::Completions { pattern }),
        1 => (client, 0u8..16)
            .prop_map(|(client, stream)| Step::ClearStream { client, stream }),
        6 => prop_oneof![1u16..30, 1u16..1500].prop_map(Step::Run),
        1 => any::<bool>().prop_map(|reset| Step::Restart { reset }),
    ]
}

/// Steps with much paging: regions whose pages come and go under traffic.
pub(super) fn paging_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => step(),
        2 => region_step().prop_map(Step::RegisterPaged),
        3 => (any::<u8>(), any::<u8>(), 1u8..40, prop::sample::select(vec![1u8, 1, 1, 2, 3]))
            .prop_map(|(which, first, count, level)| Step::Reclaim {
                which, first, count, level,
            }),
        6 => (1u8..60, any::<u16>()).prop_map(|(count, seed)| Step::Burst { count, seed }),
        3 => (1u16..300).prop_map(Step::Run),
        1 => (0u8..8, any::<bool>())
            .prop_map(|(policy, queue)| Step::Faults { policy, queue }),
    ]
}

/// Steps with much traffic: short accesses without a break, while regions come and go.
pub(super) fn traffic_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => step(),
        3 => region_step().prop_map(Step::Register),
        1 => any::<u8>().prop_map(Step::Deregister),
        1 => (any::<u8>(), 0u8..8, region_step())
            .prop_map(|(which, flags, region)| Step::Reregister { which, flags, region }),
        // The host answers page faults, and clients take what comes: so that traffic flows again.
        1 => (3u8..6, any::<bool>())
            .prop_map(|(policy, queue)| Step::Faults { policy, queue }),
        1 => (0u8..4, 0u8..2).prop_map(|(client, pattern)| Step::Ready { client, pattern }),
        1 => (0u8..4, 0u8..2).prop_map(|(client, policy)| Step::Done { client, policy }),
        10 => (100u16..3000, any::<u16>()).prop_map(|(count, seed)| Step::Flood { count, seed }),
    ]
}

/// A good command of each kind, and time for each to be done.
pub(super) fn prelude() -> Vec<Step> {
    let region = || RegionStep {
        pages: 1,
        log_page: 12,
        place: 0,
        tail: 0,
        level: None,
        log_tpage: 12,
        encoding: 0,
        access: 0x1f,
        pd: 1,
        fault: None,
    };
    let bind = |which| Step::Bind {
        which,
        region: 1,
        place: 0,
        access: 3,
        tag: 9,
        qpn: 1,
    };
    let steps = [
        Step::Register(region()),
        Step::AllocMr {
            pd: 1,
            log_page: 12,
            cap: 4,
            flags: 0,
            encoding: 2,
        },
        Step::AllocMw { pd: 1, flags: 0 },
        Step::AllocMw { pd: 1, flags: 2 },
        Step::FastRegister {
            which: 0,
            tag: 7,
            region: region(),
        },
        bind(0),
        bind(1),
        Step::RegisterPaged(region()),
        Step::Burst { count: 40, seed: 1 },
        Step::Reclaim {
            which: 0,
            first: 0,
            count: 1,
            level: 1,
        },
        Step::End { which: 0, how: 8 },
        Step::End { which: 2, how: 5 },
        Step::End { which: 1, how: 9 },
        Step::End { which: 1, how: 15 },
        Step::RegPhys {
            place: 3,
            access: 1,
            pd: 1,
        },
        Step::Reregister {
            which: 0,
            flags: 4,
            region: region(),
        },
    ];
    let wait = || Step::Run(1500);
    steps.into_iter().flat_map(|step| [step, wait()]).collect()
}
