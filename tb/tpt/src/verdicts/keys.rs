// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Replaces recorded keys by those of the unit, consistently.
//!
//! A recorded key that belongs to a listed region becomes the region's key of the unit. One that
//! differs from a listed key in its low byte or its index becomes the unit's key changed the same
//! way. Any other key stays as it is, unless the unit happens to have issued that very number.

use std::collections::HashSet;

use tpt_golden::types::{Key, Role};

/// The keys of a region: recorded, and the unit's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// Recorded L_Key.
    pub lkey: u32,
    /// Recorded R_Key; 0 if none was given.
    pub rkey: u32,
    /// The unit's L_Key.
    pub our_lkey: Key,
    /// The unit's R_Key; 0 if none was given.
    pub our_rkey: Key,
}

/// The unit's key for a recorded key used in a role. `live` holds every key that the unit would
/// accept now.
pub fn replace(recorded: u32, role: Role, pairs: &[Pair], live: &HashSet<u32>) -> Key {
    let of = |p: &Pair, role| match role {
        Role::Local => (p.lkey, p.our_lkey),
        Role::Remote => (p.rkey, p.our_rkey),
    };
    let other = match role {
        Role::Local => Role::Remote,
        Role::Remote => Role::Local,
    };
    // A key of this role, then a key of the other role (which the unit must refuse).
    for role in [role, other] {
        for pair in pairs {
            let (theirs, ours) = of(pair, role);
            if theirs == recorded && theirs != 0 {
                return ours;
            }
        }
    }
    // The same index with another low byte: the same difference on ours.
    for role in [role, other] {
        for pair in pairs {
            let (theirs, ours) = of(pair, role);
            if theirs != 0 && ours != Key::NONE && theirs >> 8 == recorded >> 8 {
                let low = (ours.tag()).wrapping_add((recorded as u8).wrapping_sub(theirs as u8));
                return dead(Key::new(ours.field(), low), live);
            }
        }
    }
    // Another index with the same low byte: one index or one bit away.
    for pair in pairs {
        let (theirs, ours) = of(pair, role);
        if theirs == 0 || ours == Key::NONE || theirs as u8 != recorded as u8 {
            continue;
        }
        let (a, b) = (theirs >> 8, recorded >> 8);
        let field = if b == (a + 1) & 0xff_ffff {
            ours.field().wrapping_add(1)
        } else if a == (b + 1) & 0xff_ffff {
            ours.field().wrapping_sub(1)
        } else if (a ^ b).is_power_of_two() {
            ours.field() ^ a ^ b
        } else {
            continue;
        };
        return dead(Key::new(field & 0xff_ffff, ours.tag()), live);
    }
    dead(Key(recorded), live)
}

/// The key itself, or the next number that the unit has not issued.
fn dead(key: Key, live: &HashSet<u32>) -> Key {
    let mut number = key.0;
    while live.contains(&number) {
        number = number.wrapping_add(0x0001_0001);
    }
    Key(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIR: Pair = Pair {
        lkey: 0x1234,
        rkey: 0x1234,
        our_lkey: Key(0xaabb_cc01),
        our_rkey: Key(0x1122_3302),
    };
    const LOCAL_ONLY: Pair = Pair {
        lkey: 0x5678,
        rkey: 0,
        our_lkey: Key(0x0102_0304),
        our_rkey: Key(0),
    };

    fn run(recorded: u32, role: Role) -> u32 {
        let live = HashSet::from([0xaabb_cc01, 0x1122_3302, 0x0102_0304]);
        replace(recorded, role, &[PAIR, LOCAL_ONLY], &live).0
    }

    #[test]
    fn each_role_gets_its_own_key() {
        assert_eq!(run(0x1234, Role::Local), 0xaabb_cc01);
        assert_eq!(run(0x1234, Role::Remote), 0x1122_3302);
        // The L_Key of a region without remote rights, used remotely.
        assert_eq!(run(0x5678, Role::Remote), 0x0102_0304);
    }

    #[test]
    fn changes_are_carried_over() {
        assert_eq!(run(0x1235, Role::Remote), 0x1122_3303);
        assert_eq!(run(0x1334, Role::Remote), 0x1122_3402);
        assert_eq!(run(0x1134, Role::Remote), 0x1122_3202);
        assert_eq!(run(0x1200, Role::Local), 0xaabb_cccd);
    }

    #[test]
    fn unknown_keys_stay_unknown() {
        assert_eq!(run(0, Role::Remote), 0);
        assert_eq!(run(0xffff_ffff, Role::Remote), 0xffff_ffff);
        assert_eq!(run(0x0102_0304, Role::Local), 0x0103_0305);
    }
}
