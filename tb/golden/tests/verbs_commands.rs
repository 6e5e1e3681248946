// SPDX-License-Identifier: Apache-2.0
//! Commands of fast registration, windows, invalidation and physical regions: every status, in the
//! order of the checks.

mod verbs_common;

use tpt_golden::codec::MptEntry;
use tpt_golden::types::*;
use tpt_golden::unit::*;
use verbs_common::*;

#[test]
fn alloc_mr_refusals() {
    let unit = unit();
    in_order(
        &unit,
        alloc_mr(8),
        &[
            (Status::BadLength, |c| c.length = 0),
            (Status::BadFlags, |c| c.access = 1),
            (Status::BadPageSize, |c| c.log_page = 11),
            (Status::BadEncoding, |c| c.encoding = 2),
        ],
    );
    for (pages, expected) in [
        (1, Status::Ok),
        ((1 << 20) - 1, Status::Ok),
        (1 << 20, Status::BadLength),
        (1 << 32 | 5, Status::BadLength),
        (u64::MAX, Status::BadLength),
    ] {
        let got = status(&mut unit.clone(), alloc_mr(pages));
        assert_eq!(got, expected, "{pages} pages");
    }
    for (log_page, expected) in [(43, Status::Ok), (44, Status::BadPageSize)] {
        let command = Command {
            log_page,
            ..alloc_mr(1)
        };
        assert_eq!(status(&mut unit.clone(), command), expected);
    }
}

/// It has both keys, grants nothing, and is what QUERY says.
#[test]
fn allocated_regions() {
    let mut unit = unit();
    let done = good(
        &mut unit,
        Command {
            encoding: 1,
            log_page: 21,
            ..alloc_mr(77)
        },
    );
    let index = unit.keys().decode(done.lkey).1;
    let made = |role| {
        Key::new(
            unit.keys().field(role, index),
            unit.keys().tag(role, index, 1),
        )
    };
    assert_eq!(
        (done.lkey, done.rkey),
        (made(Role::Local), made(Role::Remote))
    );
    assert_eq!(state(&unit, done.lkey), State::Alloc);
    for (op, key) in [(Op::LocalRead, done.lkey), (Op::RemoteRead, done.rkey)] {
        assert_eq!(verdict(&unit, &access(op, key)), Syndrome::KeyState);
    }
    let entry = query(&mut unit, done.lkey);
    assert_eq!((entry.state, entry.kind), (3, Kind::Frmr.code()));
    assert_eq!((entry.cap, entry.log_page, entry.encoding), (77, 21, 1));
    assert_eq!((entry.access, entry.gen, entry.bound), (0, 1, 0));
    assert!(entry.rinv_en);
    let plain = Command {
        flags: 0,
        ..alloc_mr(1)
    };
    let other = good(&mut unit, plain);
    assert!(!query(&mut unit, other.lkey).rinv_en);
    assert_eq!(unit.regions().count(), 0, "nothing is valid");
    assert_eq!(status(&mut unit, dereg(other.lkey)), Status::Ok);
    assert_eq!(state(&unit, other.lkey), State::Free);
}

#[test]
fn no_index_and_disabled() {
    let mut small = Golden::enabled(keys(), 2, 3);
    small.allow_phys(true);
    let all = [
        reg(),
        alloc_mr(4),
        alloc_mw(Kind::Mw1),
        alloc_mw(Kind::Mw2a),
        reg_phys(0, 1),
    ];
    for first in all {
        let mut unit = small.clone();
        good(&mut unit, first);
        for second in all {
            assert_eq!(status(&mut unit, second), Status::NoIndex);
        }
    }
    let mut off = Golden::new(keys(), 64, 3);
    off.allow_phys(true);
    for op in CmdOp::ALL {
        let command = Command {
            op: op.code(),
            ..Command::default()
        };
        assert_eq!(status(&mut off, command), Status::Disabled, "{op}");
    }
}

#[test]
fn fast_reg_refusals() {
    let mut unit = unit();
    let mr = good(&mut unit, alloc_mr(3));
    let key_checks: &[Breaker] = &[
        (Status::KeyIndex, |c| {
            c.key = Key::new(keys().field(Role::Local, 64), c.key.tag())
        }),
        (Status::KeyState, |c| {
            c.key = Key::new(keys().field(Role::Local, 9), c.key.tag())
        }),
        (Status::KeyTag, |c| c.key.0 ^= 1),
        (Status::KeyPd, |c| c.pd = 6),
    ];
    let arguments: &[Breaker] = &[
        (Status::BadLength, |c| c.length = 0),
        (Status::BadWrap, |c| c.start = u64::MAX - 5),
        (Status::BadFlags, |c| c.access |= 0x40),
        (Status::BadAccess, |c| c.access = c.access & 0x40 | 2),
        (Status::BadLevel, |c| c.level = 6),
        (Status::TableSmall, |c| {
            c.length = (c.length << 10).max(c.length)
        }),
        (Status::TableAlign, |c| c.frame[0] = 4),
    ];
    let all: Vec<Breaker> = key_checks.iter().chain(arguments).copied().collect();
    let right = fast_reg(mr.lkey, 9);
    in_order(&unit, right, &all);
    // Page size and encoding of the command are not looked at.
    let odd = Command {
        log_page: 1,
        encoding: 3,
        ..right
    };
    assert_eq!(status(&mut unit.clone(), odd), Status::Ok);
    // The role of the key, and what it names.
    assert_eq!(
        status(&mut unit.clone(), fast_reg(mr.rkey, 9)),
        Status::KeyTag
    );
    let plain = region(&mut unit).lkey;
    let phys = good(&mut unit, reg_phys(0, 1)).lkey;
    for key in [plain, phys] {
        assert_eq!(status(&mut unit, fast_reg(key, 9)), Status::KeyKind);
    }
    let window = good(&mut unit, alloc_mw(Kind::Mw2)).rkey;
    assert_eq!(status(&mut unit, fast_reg(window, 9)), Status::KeyTag);
    // Registered already: named by the new key, whatever is wrong with the arguments.
    let done = good(&mut unit, right);
    assert_eq!(status(&mut unit, right), Status::KeyTag, "the old key");
    for (_, breaker) in arguments {
        let mut again = fast_reg(done.lkey, 10);
        breaker(&mut again);
        assert_eq!(status(&mut unit, again), Status::KeyState);
    }
    let other_pd = Command {
        pd: 6,
        ..fast_reg(done.lkey, 10)
    };
    assert_eq!(status(&mut unit, other_pd), Status::KeyPd);
}

/// Pages: what ALLOC_MR allowed, what the table holds.
#[test]
fn fast_reg_page_bound() {
    let mut unit = unit();
    let flat = |key, start, length| Command {
        start,
        length,
        level: LEVEL_FLAT,
        frame: [0x9008, 0, 0, 0],
        ..fast_reg(key, 9)
    };
    let mr = good(&mut unit, alloc_mr(6)).lkey;
    for (start, length, expected) in [
        (0, 6 << 12, Status::Ok),
        (0, (6 << 12) + 1, Status::TableSmall),
        (1, 6 << 12, Status::TableSmall),
        (0xfff, (5 << 12) + 1, Status::Ok),
    ] {
        let got = status(&mut unit.clone(), flat(mr, start, length));
        assert_eq!(got, expected, "{length:#x} bytes from {start:#x}");
    }
    // More pages than fit into the entry, fewer than allowed.
    let inline = Command {
        start: 0,
        length: 5 << 12,
        ..fast_reg(mr, 9)
    };
    assert_eq!(status(&mut unit, inline), Status::TableSmall);
    let one = good(&mut unit, alloc_mr(1)).lkey;
    assert_eq!(status(&mut unit, fast_reg(one, 9)), Status::TableSmall);
}

/// Only the tags of the keys change, and the generation goes up.
#[test]
fn fast_registration() {
    let mut unit = unit();
    let mr = good(&mut unit, alloc_mr(3));
    let done = good(&mut unit, fast_reg(mr.lkey, 0xab));
    assert_eq!(done.lkey, Key::new(mr.lkey.field(), 0xab));
    assert_eq!(done.rkey, Key::new(mr.rkey.field(), 0xab));
    let entry = query(&mut unit, done.lkey);
    assert_eq!((entry.state, entry.gen), (1, 2));
    assert_eq!((entry.start, entry.length), (START, LENGTH));
    assert_eq!((entry.lkey_tag, entry.rkey_tag, entry.cap), (0xab, 0xab, 3));
    let read = access(Op::RemoteRead, done.rkey);
    assert_eq!(segments(&unit, &read), [(0x1_0c00, 8)]);
    let whole = Request {
        va: START,
        len: LENGTH as u32,
        ..access(Op::LocalWrite, done.lkey)
    };
    assert_eq!(
        segments(&unit, &whole),
        [(0x1_0800, 0x800), (0x5_0000, 0x1000), (0x3_0000, 0x800)]
    );
    for key in [mr.rkey, Key(done.rkey.0 ^ 0x80)] {
        assert_eq!(
            verdict(&unit, &access(Op::RemoteRead, key)),
            Syndrome::KeyTag
        );
    }
    // Without a remote right there is no R_Key.
    good(&mut unit, invalidate(done.lkey));
    let local = Command {
        access: 1,
        ..fast_reg(done.lkey, 0xac)
    };
    let done = good(&mut unit, local);
    assert_eq!(done.rkey, Key::NONE);
    let guessed = Key::new(mr.rkey.field(), 0xac);
    assert_eq!(
        verdict(&unit, &access(Op::RemoteRead, guessed)),
        Syndrome::KeyTag
    );
    assert_eq!(
        verdict(&unit, &access(Op::LocalWrite, done.lkey)),
        Syndrome::Ok
    );
    // FLUSH alone gives one.
    good(&mut unit, invalidate(done.lkey));
    let flush = Command {
        access: 0x100,
        ..fast_reg(done.lkey, 0xad)
    };
    let done = good(&mut unit, flush);
    assert_eq!(done.rkey, Key::new(mr.rkey.field(), 0xad));
    assert_eq!(
        verdict(&unit, &access(Op::FlushGlobal, done.rkey)),
        Syndrome::Ok
    );
}

/// The life of a region: registered, ended, registered again; old keys stay dead.
#[test]
fn life_of_a_fast_registration() {
    let mut unit = unit();
    let mr = good(&mut unit, alloc_mr(3));
    let mut lkey = mr.lkey;
    let mut old = Vec::new();
    for tag in [5u8, 6, 7, 5] {
        let done = good(&mut unit, fast_reg(lkey, tag));
        lkey = done.lkey;
        old.retain(|key| *key != done.rkey);
        for key in &old {
            let read = access(Op::RemoteRead, *key);
            assert_eq!(verdict(&unit, &read), Syndrome::KeyTag);
        }
        let read = access(Op::RemoteRead, done.rkey);
        assert_eq!(verdict(&unit, &read), Syndrome::Ok);
        good(&mut unit, invalidate(done.rkey));
        assert_eq!(verdict(&unit, &read), Syndrome::KeyState);
        assert_eq!(state(&unit, lkey), State::Alloc);
        old.push(done.rkey);
    }
    assert_eq!(status(&mut unit, invalidate(lkey)), Status::KeyState);
    assert_eq!(status(&mut unit, dereg(lkey)), Status::Ok);
    assert_eq!(state(&unit, lkey), State::Free);
    assert_eq!(status(&mut unit, fast_reg(lkey, 8)), Status::KeyState);
}

/// 256 registrations of one region bring the generation round. The tag is the consumer's: a key
/// that is used again is alive again, which is why a consumer counts it up.
#[test]
fn generations_of_fast_registrations_wrap() {
    let mut unit = unit();
    let mr = good(&mut unit, alloc_mr(3));
    let mut lkey = mr.lkey;
    let mut first = None;
    for n in 0..=256u32 {
        let done = good(&mut unit, fast_reg(lkey, n as u8));
        lkey = done.lkey;
        let index = unit.keys().decode(lkey).1;
        assert_eq!(unit.slot(index), (State::Valid, (n + 2) as u8));
        match first {
            None => first = Some(done.rkey),
            Some(key) => {
                let expected = if n == 256 {
                    Syndrome::Ok
                } else {
                    Syndrome::KeyTag
                };
                assert_eq!(
                    verdict(&unit, &access(Op::RemoteRead, key)),
                    expected,
                    "{n}"
                );
            }
        }
        good(&mut unit, invalidate(lkey));
    }
}

/// Key 0 is never issued: the index whose field is 0, in whichever role, is left out, and comes
/// neither when the table is full nor when it has been.
#[test]
fn the_index_of_field_0_is_never_handed_out() {
    // In this unit it is a small one of the role that is wanted.
    for role in [Role::Local, Role::Remote] {
        let maker = (0..)
            .map(|seed: u32| KeyMakerOf(seed).maker())
            .find(|maker| {
                let (owner, index) = maker.decode(Key::NONE);
                owner == role && (1..1 << 12).contains(&index)
            });
        let maker = maker.expect("a secret");
        let left_out = maker.decode(Key::NONE).1;
        let mut unit = Golden::enabled(maker, 1 << 12, 3);
        let mut windows: Vec<Key> = Vec::new();
        for round in 0..2 {
            for index in (1..1 << 12).filter(|index| *index != left_out) {
                let window = good(&mut unit, alloc_mw(Kind::Mw2));
                assert_eq!(window.index, index, "{round}");
                assert_ne!(window.rkey, Key::NONE);
                windows.push(window.rkey);
            }
            assert_eq!(status(&mut unit, alloc_mw(Kind::Mw2)), Status::NoIndex);
            for window in windows.drain(..) {
                good(&mut unit, named(CmdOp::DeallocMw, window));
            }
        }
        // Each tag may be brought to any window.
        let region_key = good(&mut unit, reg()).lkey;
        let window = good(&mut unit, alloc_mw(Kind::Mw2)).rkey;
        let zero = Command {
            tag: 0,
            ..bind(window, region_key)
        };
        assert_eq!(status(&mut unit, zero), Status::Ok, "{role}");
    }
}

struct KeyMakerOf(u32);

impl KeyMakerOf {
    fn maker(&self) -> tpt_golden::keys::KeyMaker {
        tpt_golden::keys::KeyMaker::new([self.0, !self.0, 77, 3], [5, 6, 7, 8], false)
    }
}

#[test]
fn invalidate_refusals_of_regions() {
    let mut unit = unit();
    let mr = good(&mut unit, alloc_mr(3));
    // Never registered: no remote right, so no R_Key.
    assert_eq!(status(&mut unit, invalidate(mr.rkey)), Status::KeyTag);
    assert_eq!(status(&mut unit, invalidate(mr.lkey)), Status::KeyState);
    let done = good(&mut unit, fast_reg(mr.lkey, 9));
    let breakers: &[Breaker] = &[
        (Status::KeyIndex, |c| {
            c.key = Key::new(keys().field(Role::Local, 64), c.key.tag())
        }),
        (Status::KeyState, |c| {
            c.key = Key::new(keys().field(Role::Local, 9), c.key.tag())
        }),
        (Status::KeyTag, |c| c.key.0 ^= 1),
        (Status::KeyPd, |c| c.pd = 6),
    ];
    in_order(&unit, invalidate(done.lkey), breakers);
    in_order(&unit, remote(invalidate(done.rkey)), &breakers[2..]);
    // A remote one names the R_Key.
    assert_eq!(
        status(&mut unit, remote(invalidate(done.lkey))),
        Status::KeyTag
    );
    // The queue pair of a region is nobody's business.
    let other = Command {
        qpn: 0,
        ..remote(invalidate(done.rkey))
    };
    assert_eq!(status(&mut unit.clone(), other), Status::Ok);
    // Windows are bound: after all else.
    let window = bound(&mut unit, Kind::Mw2, done.lkey);
    for key in [done.lkey, done.rkey] {
        assert_eq!(status(&mut unit, invalidate(key)), Status::Bound);
    }
    good(&mut unit, invalidate(window));
    good(&mut unit, remote(invalidate(done.rkey)));
    assert_eq!(status(&mut unit, invalidate(done.lkey)), Status::KeyState);
    // The right to do it from far.
    let plain = Command {
        flags: 0,
        ..alloc_mr(3)
    };
    let mr = good(&mut unit, plain);
    let done = good(&mut unit, fast_reg(mr.lkey, 9));
    let far = remote(invalidate(done.rkey));
    assert_eq!(status(&mut unit, far), Status::RemoteInv);
    assert_eq!(status(&mut unit, Command { pd: 6, ..far }), Status::KeyPd);
    good(&mut unit, invalidate(done.rkey));
    // What is not registered has no remote right, and so no R_Key.
    assert_eq!(status(&mut unit, far), Status::KeyTag);
    // Without a remote right the R_Key does not exist.
    let local = Command {
        access: 1,
        ..fast_reg(done.lkey, 10)
    };
    let done = good(&mut unit, local);
    let guessed = Key::new(mr.rkey.field(), 10);
    assert_eq!(status(&mut unit, invalidate(guessed)), Status::KeyTag);
    good(&mut unit, invalidate(done.lkey));
}

#[test]
fn invalidate_needs_the_right_kind() {
    let mut unit = unit();
    let mr = region(&mut unit);
    assert_eq!(status(&mut unit, invalidate(mr.rkey)), Status::KeyKind);
    assert_eq!(status(&mut unit, invalidate(mr.lkey)), Status::KeyTag);
    let phys = good(&mut unit, reg_phys(0, 1));
    assert_eq!(status(&mut unit, invalidate(phys.rkey)), Status::KeyKind);
    let window = good(&mut unit, alloc_mw(Kind::Mw1)).rkey;
    assert_eq!(status(&mut unit, invalidate(window)), Status::KeyKind);
    let window = good(&mut unit, bind(window, mr.lkey)).rkey;
    for command in [invalidate(window), remote(invalidate(window))] {
        assert_eq!(status(&mut unit, command), Status::KeyKind);
    }
}

#[test]
fn invalidate_refusals_of_windows() {
    for kind in [Kind::Mw2, Kind::Mw2a] {
        let mut unit = unit();
        let lkey = region(&mut unit).lkey;
        let window = good(&mut unit, alloc_mw(kind)).rkey;
        assert_eq!(status(&mut unit, invalidate(window)), Status::KeyState);
        let window = good(&mut unit, bind(window, lkey)).rkey;
        in_order(
            &unit,
            remote(invalidate(window)),
            &[
                (Status::KeyTag, |c| c.key.0 ^= 1),
                (Status::KeyPd, |c| c.pd = 6),
                (Status::KeyQp, |c| c.qpn ^= 1),
            ],
        );
        // A local one is good on every queue pair of the domain.
        let anywhere = Command {
            qpn: 1,
            ..invalidate(window)
        };
        assert_eq!(status(&mut unit.clone(), anywhere), Status::Ok);
        good(&mut unit, remote(invalidate(window)));
        assert_eq!(
            status(&mut unit, remote(invalidate(window))),
            Status::KeyState
        );
        assert_eq!(state(&unit, window), State::Alloc);
        assert_eq!(windows_of(&unit, lkey), 0);
    }
}

#[test]
fn alloc_mw_refusals() {
    let mut unit = unit();
    in_order(
        &unit,
        alloc_mw(Kind::Mw2),
        &[(Status::BadFlags, |c| c.access = 4)],
    );
    let half = Command {
        flags: flag::MW2A,
        ..alloc_mw(Kind::Mw1)
    };
    assert_eq!(status(&mut unit, half), Status::BadFlags);
    for kind in WINDOWS {
        let done = good(&mut unit, alloc_mw(kind));
        assert_eq!(done.lkey, Key::NONE);
        let (role, index) = unit.keys().decode(done.rkey);
        assert_eq!(role, Role::Remote);
        assert_eq!(done.rkey.tag(), unit.keys().tag(Role::Remote, index, 1));
        let entry = query(&mut unit, done.rkey);
        assert_eq!((entry.state, entry.kind), (3, kind.code()));
        let read = access(Op::RemoteRead, done.rkey);
        assert_eq!(verdict(&unit, &read), Syndrome::KeyState);
    }
}

/// Windows, by their R_Key.
#[test]
fn bind_refusals_of_the_key() {
    for kind in WINDOWS {
        let mut unit = unit();
        let mr = region(&mut unit);
        let window = good(&mut unit, alloc_mw(kind)).rkey;
        let right = bind(window, mr.lkey);
        let breakers: &[Breaker] = &[
            (Status::KeyIndex, |c| {
                c.key = Key::new(keys().field(Role::Remote, 64), c.key.tag())
            }),
            (Status::KeyState, |c| {
                c.key = Key::new(keys().field(Role::Remote, 9), c.key.tag())
            }),
            (Status::KeyTag, |c| c.key.0 ^= 1),
            (Status::KeyPd, |c| c.pd = 6),
            (Status::BadFlags, |c| c.access |= 1),
            (Status::BadWrap, |c| (c.start, c.length) = (u64::MAX, 2)),
            (Status::MrKey, |c| c.mkey.0 ^= 1),
        ];
        in_order(&unit, right, breakers);
        assert_eq!(
            status(&mut unit.clone(), bind(mr.lkey, mr.lkey)),
            Status::KeyTag
        );
        assert_eq!(
            status(&mut unit.clone(), bind(mr.rkey, mr.lkey)),
            Status::KeyKind
        );
        let local_role = Key::new(keys().field(Role::Local, unit.keys().decode(window).1), 0);
        assert_eq!(
            status(&mut unit.clone(), bind(local_role, mr.lkey)),
            Status::KeyTag
        );
        let local_only = Command { access: 1, ..reg() };
        let other = good(&mut unit, local_only);
        let guessed = Key::new(
            keys().field(Role::Remote, unit.keys().decode(other.lkey).1),
            0,
        );
        assert_eq!(status(&mut unit, bind(guessed, mr.lkey)), Status::KeyTag);
    }
}

/// Rights that a bind takes: ZERO_BASED for type 2 only, and nothing of a region.
#[test]
fn bind_flags() {
    for kind in WINDOWS {
        for bit in 0..32 {
            let mut unit = unit();
            let lkey = region(&mut unit).lkey;
            let window = good(&mut unit, alloc_mw(kind)).rkey;
            let command = Command {
                access: 1 << bit,
                ..bind(window, lkey)
            };
            let expected = match bit {
                1..=3 => Status::Ok,
                5 if kind != Kind::Mw1 => Status::Ok,
                _ => Status::BadFlags,
            };
            assert_eq!(status(&mut unit, command), expected, "{kind}, bit {bit}");
        }
    }
}

/// What type 2 adds: not bound already, not empty, the rest in between.
#[test]
fn bind_refusals_of_type_2() {
    for kind in [Kind::Mw2, Kind::Mw2a] {
        let mut unit = unit();
        let lkey = region(&mut unit).lkey;
        let window = good(&mut unit, alloc_mw(kind)).rkey;
        in_order(
            &unit,
            bind(window, lkey),
            &[
                (Status::BadFlags, |c| c.access |= 0x100),
                (Status::BadLength, |c| c.length = 0),
                (Status::MrKey, |c| c.mkey = Key::NONE),
            ],
        );
        let done = good(&mut unit, bind(window, lkey));
        assert_eq!(
            done.rkey,
            Key::new(window.field(), 0x3c),
            "the asked-for tag"
        );
        assert_eq!(done.lkey, Key::NONE);
        let worse = Command {
            access: 1,
            tag: 0,
            ..bind(done.rkey, lkey)
        };
        for again in [bind(done.rkey, lkey), worse] {
            assert_eq!(status(&mut unit, again), Status::KeyState);
        }
        assert_eq!(windows_of(&unit, lkey), 1);
        // The same tag may come again.
        good(&mut unit, invalidate(done.rkey));
        let again = good(&mut unit, bind(done.rkey, lkey));
        assert_eq!(again.rkey, done.rkey);
    }
}

/// The region: its key, domain, rights and range, in this order.
#[test]
fn bind_refusals_of_the_region() {
    for kind in WINDOWS {
        let mut unit = unit();
        let mr = region(&mut unit);
        let window = good(&mut unit, alloc_mw(kind)).rkey;
        let right = bind(window, mr.lkey);
        in_order(
            &unit,
            right,
            &[
                (Status::MrKey, |c| c.mkey.0 ^= 0x10),
                (Status::MrBounds, |c| c.length = LENGTH),
            ],
        );
        let mut refused = |mkey: Key, expected: Status, what: &str| {
            let command = Command { mkey, ..right };
            assert_eq!(status(&mut unit, command), expected, "{kind}: {what}");
        };
        refused(mr.rkey, Status::MrKey, "R_Key");
        refused(Key::NONE, Status::MrKey, "key 0");
        refused(
            Key::new(keys().field(Role::Local, 0), 0),
            Status::MrKey,
            "index 0",
        );
        refused(
            Key::new(keys().field(Role::Local, 64), 0),
            Status::MrKey,
            "no index",
        );
        refused(
            Key::new(keys().field(Role::Local, 9), 0),
            Status::MrKey,
            "free",
        );
        refused(window, Status::MrKey, "the window itself");
        let phys = good(&mut unit, reg_phys(0, 1 << 40)).lkey;
        let alloc = good(&mut unit, alloc_mr(3)).lkey;
        let mut change = |access: u32, pd: u32| {
            let command = Command {
                access,
                pd,
                ..reg()
            };
            good(&mut unit, command).lkey
        };
        let (lw, bind_right) = (Access::LOCAL_WRITE.0, Access::MW_BIND.0);
        let other_pd = change(lw | bind_right, 6);
        let unbindable = change(lw, 5);
        let read_only = change(bind_right, 5);
        let zero_based = change(lw | bind_right | Access::ZERO_BASED.0, 5);
        let bad_pd_and_rights = change(0, 6);
        let mut refused = |mkey: Key, expected: Status, what: &str| {
            let command = Command { mkey, ..right };
            assert_eq!(status(&mut unit, command), expected, "{kind}: {what}");
        };
        refused(phys, Status::MrKey, "physical");
        refused(alloc, Status::MrKey, "not registered");
        refused(other_pd, Status::MrPd, "domain");
        refused(bad_pd_and_rights, Status::MrPd, "domain before rights");
        refused(unbindable, Status::MrRights, "no MW_BIND");
        refused(read_only, Status::MrRights, "no LOCAL_WRITE");
        refused(zero_based, Status::MrRights, "zero-based");
        // Writes need a writable region; reads do not, and need no remote right of it.
        for access in [Access::REMOTE_WRITE, Access::REMOTE_ATOMIC] {
            let command = Command {
                mkey: read_only,
                access: access.0,
                length: LENGTH,
                ..right
            };
            let got = status(&mut unit.clone(), command);
            assert_eq!(got, Status::MrRights, "{access:?}, before the range");
        }
        let reader = Command {
            mkey: read_only,
            access: Access::REMOTE_READ.0,
            ..right
        };
        let done = good(&mut unit, reader);
        assert_eq!(
            verdict(&unit, &access(Op::RemoteRead, done.rkey)),
            Syndrome::Ok
        );
    }
}

/// The range of a window, by subtraction: no sum that wraps helps.
#[test]
fn bind_ranges() {
    for kind in WINDOWS {
        for (start, length, expected) in [
            (START, LENGTH, Status::Ok),
            (START, LENGTH + 1, Status::MrBounds),
            (START - 1, 2, Status::MrBounds),
            (START + 1, LENGTH, Status::MrBounds),
            (START + LENGTH - 1, 1, Status::Ok),
            (START + LENGTH, 1, Status::MrBounds),
            (0, u64::MAX, Status::MrBounds),
            (START, u64::MAX - START, Status::MrBounds),
            (START, u64::MAX - START + 1, Status::MrBounds),
            (START, u64::MAX - START + 2, Status::BadWrap),
            (START + 16, u64::MAX - 15, Status::BadWrap),
            (u64::MAX - 7, 8, Status::MrBounds),
            (u64::MAX - 7, 9, Status::BadWrap),
        ] {
            let mut unit = unit();
            let lkey = region(&mut unit).lkey;
            let window = good(&mut unit, alloc_mw(kind)).rkey;
            let command = Command {
                start,
                length,
                ..bind(window, lkey)
            };
            let got = status(&mut unit, command);
            assert_eq!(got, expected, "{kind}: {length:#x} bytes from {start:#x}");
        }
    }
}

/// What a bind writes.
#[test]
fn bound_windows() {
    for kind in WINDOWS {
        let mut unit = unit();
        let lkey = region(&mut unit).lkey;
        let window = good(&mut unit, alloc_mw(kind)).rkey;
        let done = good(&mut unit, bind(window, lkey));
        let entry = query(&mut unit, done.rkey);
        let (_, parent) = unit.keys().decode(lkey);
        assert_eq!((entry.state, entry.kind), (1, kind.code()));
        assert_eq!((entry.start, entry.length), (START + 0x400, 0x1000));
        assert_eq!((entry.gen, entry.bound), (2, parent));
        assert_eq!(entry.frame[0], 1 << 24 | u64::from(lkey.field()));
        let expected = if kind == Kind::Mw1 { 0 } else { QPN };
        assert_eq!(entry.qpn, expected);
        assert_eq!(entry.access, WINDOW_RIGHTS.to_stored());
        assert_eq!(query(&mut unit, lkey).bound, 1);
        if kind == Kind::Mw1 {
            let (_, index) = unit.keys().decode(window);
            let tag = unit.keys().tag(Role::Remote, index, 2);
            assert_eq!(done.rkey, Key::new(window.field(), tag), "the unit's tag");
            assert_ne!(done.rkey, window);
        }
    }
}

/// Type 1 may be bound again, to another region too, and is unbound by a length of 0.
#[test]
fn rebinding_type_1() {
    let mut unit = unit();
    let first = region(&mut unit).lkey;
    let second = region(&mut unit).lkey;
    let one = bound(&mut unit, Kind::Mw1, first);
    assert_eq!(
        (windows_of(&unit, first), windows_of(&unit, second)),
        (1, 0)
    );
    let two = good(&mut unit, bind(one, second)).rkey;
    assert_eq!(
        (windows_of(&unit, first), windows_of(&unit, second)),
        (0, 1)
    );
    assert_eq!(
        verdict(&unit, &access(Op::RemoteRead, one)),
        Syndrome::KeyTag
    );
    assert_eq!(verdict(&unit, &access(Op::RemoteRead, two)), Syndrome::Ok);
    // To the same region: it is counted once.
    let three = good(&mut unit, bind(two, second)).rkey;
    assert_eq!(windows_of(&unit, second), 1);
    // A failure changes nothing.
    let bad = Command {
        mkey: Key(first.0 ^ 1),
        ..bind(three, first)
    };
    assert_eq!(status(&mut unit, bad), Status::MrKey);
    assert_eq!(verdict(&unit, &access(Op::RemoteRead, three)), Syndrome::Ok);
    // Unbinding does not look at the region, but at the flags.
    let unbind = Command {
        length: 0,
        mkey: Key(0xdead_beef),
        start: 7,
        ..bind(three, first)
    };
    let flags = Command {
        access: 1,
        ..unbind
    };
    assert_eq!(status(&mut unit, flags), Status::BadFlags);
    let four = good(&mut unit, unbind).rkey;
    assert_eq!(state(&unit, four), State::Alloc);
    assert_eq!(
        (windows_of(&unit, first), windows_of(&unit, second)),
        (0, 0)
    );
    assert_eq!(
        verdict(&unit, &access(Op::RemoteRead, three)),
        Syndrome::KeyState
    );
    assert_eq!(
        verdict(&unit, &access(Op::RemoteRead, four)),
        Syndrome::KeyState
    );
    assert_eq!(
        status(&mut unit, unbind),
        Status::KeyTag,
        "it has a new key"
    );
    let five = good(
        &mut unit,
        Command {
            key: four,
            ..unbind
        },
    )
    .rkey;
    let six = good(&mut unit, bind(five, first)).rkey;
    assert_eq!(verdict(&unit, &access(Op::RemoteRead, six)), Syndrome::Ok);
    let (_, index) = unit.keys().decode(six);
    assert_eq!(unit.slot(index), (State::Valid, 7));
}

/// A region with windows cannot end or change; each kind of unbinding lets it.
#[test]
fn parents_stay_while_windows_are_bound() {
    for kind in WINDOWS {
        let mut unit = unit();
        let lkey = region(&mut unit).lkey;
        let one = bound(&mut unit, kind, lkey);
        let two = bound(&mut unit, kind, lkey);
        let rereg = Command {
            rereg: rereg::ACCESS,
            access: 0xffff_ffff,
            ..named(CmdOp::ReregMr, lkey)
        };
        let refused = |unit: &mut Golden| {
            assert_eq!(status(unit, dereg(lkey)), Status::Bound);
            assert_eq!(status(unit, rereg), Status::Bound, "before the arguments");
            assert_eq!(status(unit, Command { pd: 6, ..rereg }), Status::KeyPd);
        };
        refused(&mut unit);
        match kind {
            Kind::Mw1 => {
                let unbind = Command {
                    length: 0,
                    ..bind(one, lkey)
                };
                good(&mut unit, unbind);
            }
            _ => {
                good(&mut unit, invalidate(one));
            }
        }
        refused(&mut unit);
        good(&mut unit, dealloc(two));
        assert_eq!(windows_of(&unit, lkey), 0);
        assert_eq!(status(&mut unit, rereg), Status::BadFlags);
        good(&mut unit, dereg(lkey));
        assert_eq!(state(&unit, lkey), State::Free);
    }
}

#[test]
fn dealloc_mw_refusals() {
    for kind in WINDOWS {
        for is_bound in [false, true] {
            let mut unit = unit();
            let mr = region(&mut unit);
            let window = match is_bound {
                true => bound(&mut unit, kind, mr.lkey),
                false => good(&mut unit, alloc_mw(kind)).rkey,
            };
            in_order(
                &unit,
                dealloc(window),
                &[
                    (Status::KeyIndex, |c| {
                        c.key = Key::new(keys().field(Role::Remote, 64), c.key.tag())
                    }),
                    (Status::KeyState, |c| {
                        c.key = Key::new(keys().field(Role::Remote, 9), c.key.tag())
                    }),
                    (Status::KeyTag, |c| c.key.0 ^= 1),
                    (Status::KeyPd, |c| c.pd = 6),
                ],
            );
            assert_eq!(status(&mut unit, dealloc(mr.lkey)), Status::KeyTag);
            assert_eq!(status(&mut unit, dealloc(mr.rkey)), Status::KeyKind);
            assert_eq!(status(&mut unit, dereg(window)), Status::KeyTag);
            let done = good(&mut unit, dealloc(window));
            assert_eq!(done, Completion::plain(done.id, done.op, Status::Ok));
            assert_eq!(state(&unit, window), State::Free);
            assert_eq!(windows_of(&unit, mr.lkey), 0);
            let read = access(Op::RemoteRead, window);
            assert_eq!(verdict(&unit, &read), Syndrome::KeyState);
            assert_eq!(status(&mut unit, dealloc(window)), Status::KeyState);
        }
    }
}

#[test]
fn reg_phys_refusals() {
    let mut unit = unit();
    in_order(
        &unit,
        reg_phys(0x1000, 0x1000),
        &[
            (Status::BadLength, |c| c.length = 0),
            (Status::BadWrap, |c| {
                (c.start, c.length) = (u64::MAX, c.length)
            }),
            (Status::BadFlags, |c| c.access |= 0x10),
            (Status::BadAccess, |c| c.access = c.access & 0x10 | 8),
        ],
    );
    for bit in 0..32 {
        let command = Command {
            access: 1 | 1 << bit,
            ..reg_phys(0, 1)
        };
        let expected = match bit {
            0..=3 | 7..=9 | 20..=29 => Status::Ok,
            _ => Status::BadFlags,
        };
        assert_eq!(status(&mut unit.clone(), command), expected, "bit {bit}");
    }
    unit.allow_phys(false);
    let empty = reg_phys(0, 0);
    assert_eq!(
        status(&mut unit, empty),
        Status::Privilege,
        "before the rest"
    );
    unit.allow_phys(true);
    let made = good(&mut unit, reg_phys(0x1234, 0x5678));
    unit.allow_phys(false);
    assert_eq!(
        verdict(
            &unit,
            &Request {
                va: 0x1234,
                ..access(Op::RemoteWrite, made.rkey)
            }
        ),
        Syndrome::Ok,
        "what is there stays"
    );
    let entry = query(&mut unit, made.lkey);
    assert_eq!((entry.state, entry.kind, entry.gen), (1, 4, 1));
    assert_eq!(
        (entry.start, entry.length, entry.log_page),
        (0x1234, 0x5678, 43)
    );
    let rereg = Command {
        rereg: rereg::ACCESS,
        ..named(CmdOp::ReregMr, made.lkey)
    };
    assert_eq!(status(&mut unit, rereg), Status::KeyKind);
    good(&mut unit, dereg(made.lkey));
    unit.allow_phys(true);
    let local = Command {
        access: 1,
        ..reg_phys(0, 1)
    };
    assert_eq!(good(&mut unit, local).rkey, Key::NONE);
    let flush = Command {
        access: 0x200,
        ..local
    };
    assert_ne!(
        good(&mut unit, flush).rkey,
        Key::NONE,
        "FLUSH is a remote right"
    );
    unit.reset();
    unit.enable(1000);
    unit.ready(1001);
    assert_eq!(status(&mut unit, local), Status::Privilege, "after a reset");
}

/// QUERY names a region by its L_Key and a window by its R_Key, in every state.
#[test]
fn query_of_every_kind() {
    let mut unit = unit();
    let mr = region(&mut unit);
    let fast = good(&mut unit, alloc_mr(4));
    let phys = good(&mut unit, reg_phys(0, 1));
    let window = good(&mut unit, alloc_mw(Kind::Mw2)).rkey;
    for (key, wrong) in [
        (mr.lkey, mr.rkey),
        (fast.lkey, fast.rkey),
        (phys.lkey, phys.rkey),
        (window, Key::new(keys().field(Role::Local, 4), 0)),
    ] {
        query(&mut unit, key);
        assert_eq!(
            status(&mut unit, named(CmdOp::Query, wrong)),
            Status::KeyTag
        );
        let other_pd = Command {
            pd: 6,
            ..named(CmdOp::Query, key)
        };
        assert_eq!(status(&mut unit, other_pd), Status::KeyPd);
    }
    let registered = good(&mut unit, fast_reg(fast.lkey, 3));
    assert_eq!(query(&mut unit, registered.lkey).state, 1);
    assert_eq!(
        status(&mut unit, named(CmdOp::Query, registered.rkey)),
        Status::KeyTag
    );
    let window = good(&mut unit, bind(window, registered.lkey)).rkey;
    assert_eq!(query(&mut unit, window).state, 1);
    assert_eq!(query(&mut unit, registered.lkey).bound, 1);
}

/// REREG_MR is for plain regions.
#[test]
fn rereg_needs_a_plain_region() {
    let mut unit = unit();
    let fast = good(&mut unit, alloc_mr(3)).lkey;
    let rereg = |key| Command {
        rereg: rereg::PD,
        ..named(CmdOp::ReregMr, key)
    };
    assert_eq!(status(&mut unit, rereg(fast)), Status::KeyKind);
    let fast = good(&mut unit, fast_reg(fast, 3)).lkey;
    assert_eq!(status(&mut unit, rereg(fast)), Status::KeyKind);
    let window = bound(&mut unit, Kind::Mw1, fast);
    assert_eq!(status(&mut unit, rereg(window)), Status::KeyTag);
}

/// What an entry must hold, and what may be in it.
#[test]
fn only_what_means_something_is_compared() {
    let mut unit = unit();
    let mr = region(&mut unit);
    let window = bound(&mut unit, Kind::Mw2, mr.lkey);
    let (_, index) = unit.keys().decode(window);
    let entry = query(&mut unit, window);
    let check = |unit: &Golden, entry: MptEntry| unit.check_entry(index, &entry.encode()).is_ok();
    let mut other = entry;
    (other.level, other.log_page, other.encoding) = (3, 30, 1);
    (other.frame[1], other.lkey_tag, other.cap) = (5, 9, 7 << 8);
    assert!(check(&unit, other), "a window has no table");
    let changes: [fn(&mut MptEntry); 13] = [
        |e| e.gen ^= 1,
        |e| e.cap ^= 1,
        |e| e.qpn ^= 1,
        |e| e.bound ^= 1,
        |e| e.frame[0] ^= 1 << 24,
        |e| e.frame[0] ^= 1,
        |e| e.length ^= 1,
        |e| e.start ^= 1,
        |e| e.access ^= 2,
        |e| e.rkey_tag ^= 1,
        |e| e.kind = Kind::Mw2a.code(),
        |e| e.state = State::Alloc.code(),
        |e| e.pd ^= 1,
    ];
    for change in changes {
        let mut other = entry;
        change(&mut other);
        assert!(!check(&unit, other), "{other:?}");
    }
    good(&mut unit, invalidate(window));
    let entry = query(&mut unit, window);
    let mut other = entry;
    (other.start, other.length, other.access) = (0, 0, 0);
    (other.bound, other.qpn, other.frame) = (0, 0, [0; 4]);
    assert!(check(&unit, other), "an unbound window has no range");
    let changes: [fn(&mut MptEntry); 5] = [
        |e| e.gen ^= 1,
        |e| e.cap ^= 1 << 7,
        |e| e.state = State::Valid.code(),
        |e| e.state = State::Free.code(),
        |e| e.rkey_tag ^= 1,
    ];
    for change in changes {
        let mut other = entry;
        other.log_page = 12;
        change(&mut other);
        assert!(!check(&unit, other), "{other:?}");
    }
}
