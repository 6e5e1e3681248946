// SPDX-License-Identifier: Apache-2.0
//! Table entries of encoding CHECKED: what is in them, and that they find what they promise to find.

mod host_common;

use host_common::check21;
use proptest::prelude::*;
use tpt_golden::codec::{Mtt, MttFault, Place};
use tpt_golden::types::Encoding;

const PRESENT: u64 = 1;
const WRITABLE: u64 = 2;

fn word(place: Place, pa: u64, writable: bool) -> u64 {
    Mtt { pa, writable }.encode(Encoding::Checked, place)
}

fn decode(word: u64, place: Place) -> Result<Mtt, MttFault> {
    Mtt::decode(word, Encoding::Checked, place, 12, false)
}

fn place(index: u32, number: u64, level: u8) -> Place {
    Place {
        index,
        number,
        level,
    }
}

/// Entries from the definition alone, by division of whole polynomials as large integers.
#[test]
fn known_entries() {
    for (place, pa, writable, check, entry) in [
        (place(1, 0, 1), 0x1000, true, 0x2e6, 0x1b9b),
        (
            place(0x12_3456, 0x89_abcd_ef01, 1),
            0xf_edcb_a987_6000,
            false,
            0x1a_aba2,
            0x6aaf_edcb_a987_6e89,
        ),
        (
            place(5, 7, 1),
            0x123_4567_8000,
            true,
            0x19_481e,
            0xe520_0123_4567_807b,
        ),
        (
            place(5, 7, 2),
            0x123_4567_8000,
            true,
            0x19_48e1,
            0xe520_0123_4567_8387,
        ),
        (
            place(0x7f_ffff, 0xff_ffff_ffff, 4),
            0xf_ffff_ffff_f000,
            true,
            0x7884,
            0x81ef_ffff_ffff_f213,
        ),
        (
            place(1, 1, 1),
            0x8_0000_0000_0000,
            false,
            0x12_aad0,
            0x4aa8_0000_0000_0b41,
        ),
    ] {
        let flags = PRESENT | if writable { WRITABLE } else { 0 };
        assert_eq!(place.check(pa, flags), check, "{place:?}");
        assert_eq!(word(place, pa, writable), entry, "{place:?}");
        assert_eq!(decode(entry, place), Ok(Mtt { pa, writable }));
    }
}

prop_compose! {
    fn any_place()(index in 0u32..1 << 23, number in 0u64..1 << 40, level in 1u8..5) -> Place {
        Place { index, number, level }
    }
}

prop_compose! {
    fn any_address()(page in 1u64..1 << 40) -> u64 {
        page << 12
    }
}

/// Sums of the check over sets of bits are those of each bit: the exhaustive tests below go over
/// differences only.
fn unit_check(bit: u32) -> u64 {
    // bits 0 to 1 flags, 2 to 41 address, 42 to 44 level, 45 to 52 index, 53 to 92 number, then index
    let at = |lsb: u32, width: u32| {
        let inside = (lsb..lsb + width).contains(&bit);
        if inside {
            1u64 << (bit - lsb)
        } else {
            0
        }
    };
    let index = at(45, 8) | at(93, 15) << 8;
    place(index as u32, at(53, 40), at(42, 3) as u8).check(at(2, 40) << 12, at(0, 2))
}

/// Every nonzero set of the bits from `lsb` on, `width` of them, changes the check.
fn all_found(lsb: u32, width: u32) {
    let units: Vec<u64> = (lsb..lsb + width).map(unit_check).collect();
    let mut check = 0;
    for n in 1u64..1 << width {
        // Gray code: one bit more changes in each step.
        check ^= units[n.trailing_zeros() as usize];
        assert_ne!(check, 0, "bits {lsb} to {}, step {n}", lsb + width - 1);
    }
}

/// Any two of 1,024 neighbouring pages of 256 neighbouring regions, at any two levels: all 2^21
/// differences.
#[test]
fn neighbours_are_told_apart() {
    // level, index 7:0, number 9:0
    all_found(42, 21);
}

/// Numbers that differ only in 21 bits in a row, for each of the 20 places where these can be.
#[test]
fn numbers_are_told_apart() {
    for lsb in 53..=53 + 40 - 21 {
        all_found(lsb, 21);
    }
}

/// Bursts of up to 21 bits in the address, with the check untouched.
#[test]
fn bursts_are_found() {
    for lsb in 2..=2 + 40 - 21 {
        all_found(lsb, 21);
    }
}

/// The promise about bits: all sets of one, two and three changed bits of an entry, as differences
/// to a right one, and of one and two changed bits of an absent entry.
#[test]
fn changed_bits_are_found() {
    let entries = [
        (place(1, 0, 1), 0x1000, true),
        (
            place(0x55_aaaa, 0x12_3456_789a, 1),
            0xf_0f0f_0f0f_0000,
            false,
        ),
        (
            place(0x7f_ffff, 0xff_ffff_ffff, 3),
            0xf_ffff_ffff_f000,
            true,
        ),
    ];
    for (place, pa, writable) in entries {
        let right = word(place, pa, writable);
        assert_eq!(decode(right, place), Ok(Mtt { pa, writable }));
        let found = |changed: u64, before: u64| {
            let fault = decode(before ^ changed, place);
            assert_eq!(fault, Err(MttFault::Bad), "{changed:#x} in {before:#x}");
        };
        for a in 0..64u32 {
            found(1 << a, right);
            found(1 << a, 0);
            for b in 0..a {
                found(1 << a | 1 << b, right);
                found(1 << a | 1 << b, 0);
                for c in 0..b {
                    found(1 << a | 1 << b | 1 << c, right);
                }
            }
        }
        assert_eq!(decode(0, place), Err(MttFault::Absent));
    }
}

proptest! {
    /// A second implementation, four bits at a time.
    #[test]
    fn two_implementations(place in any_place(), pa in any_address(), flags in 0u64..4) {
        let other = check21(place.index, place.number, place.level, pa | flags);
        prop_assert_eq!(place.check(pa, flags), other);
    }

    /// The check is linear: what the tests of differences stand on.
    #[test]
    fn the_check_is_linear(
        a in any_place(), b in any_place(), x in any_address(), y in any_address(),
        f in 0u64..4, g in 0u64..4,
    ) {
        let sum = place(a.index ^ b.index, a.number ^ b.number, a.level ^ b.level);
        prop_assert_eq!(a.check(x, f) ^ b.check(y, g), sum.check(x ^ y, f ^ g));
    }

    #[test]
    fn entries_come_back(place in any_place(), pa in any_address(), writable: bool, write: bool) {
        let word = word(place, pa, writable);
        prop_assert_eq!(word.count_ones() % 2, 1);
        prop_assert_eq!(word & 3, PRESENT | if writable { WRITABLE } else { 0 });
        prop_assert_eq!(word >> 12 & ((1 << 40) - 1), pa >> 12);
        let log_page = pa.trailing_zeros().min(43) as u8;
        let read = |log, write| Mtt::decode(word, Encoding::Checked, place, log, write);
        let entry = Mtt { pa, writable };
        let refused = write && !writable;
        prop_assert_eq!(read(log_page, write), if refused { Err(MttFault::Bad) } else { Ok(entry) });
        if log_page < 43 {
            prop_assert_eq!(read(log_page + 1, false), Err(MttFault::Bad), "misaligned");
        }
        let directory = Mtt::decode_directory(word, Encoding::Checked, place, 12);
        prop_assert_eq!(directory, Ok(pa));
        let paged = Mtt::decode_on_demand(word, Encoding::Checked, place, log_page, write);
        prop_assert_eq!(paged, if refused { Err(MttFault::Absent) } else { Ok(entry) });
        let paged = Mtt::decode_on_demand(word ^ 4, Encoding::Checked, place, log_page, write);
        prop_assert_eq!(paged, Err(MttFault::Bad), "bad stays bad");
    }
}
