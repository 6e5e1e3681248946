// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Tags: how evenly they are spread, what the tags of one index say about its next one, and when a
//! pair of index and tag comes again.

use std::collections::HashMap;

use tpt_bench::rng::Rng;
use tpt_golden::types::{Access, CmdOp, Command, Completion, Key, Role, Status};
use tpt_golden::unit::Golden;

use super::perm::{PValues, SBOX};
use super::report::{Cell, Claim, Report, Table};
use super::sequence::{Maker, Plant};
use super::stats::{chi_square, chi_square_p};
use super::SIGNIFICANCE;

/// Generations of an index.
const GENERATIONS: usize = 256;
const ROLES: [Role; 2] = [Role::Local, Role::Remote];

// -------------------------------------------------------------------------------------------------
// Chi-square
// -------------------------------------------------------------------------------------------------

/// p-values of chi-square tests of tags.
#[derive(Clone, Debug, Default, PartialEq)]
struct Spread {
    /// Tags of one generation, over consecutive indices.
    over_indices: PValues,
    /// XOR of the tags of neighbouring indices.
    neighbours: PValues,
    /// XOR of the tags of L_Key and R_Key.
    roles: PValues,
}

impl Spread {
    fn count(&mut self, maker: &Maker, indices: u32, rng: &mut Rng) {
        let generation = rng.below(GENERATIONS as u64) as u8;
        let mut bins = vec![[0u64; 256]; 3];
        let mut last = 0;
        for index in 1..=indices {
            let remote = maker.tag(Role::Remote, index, generation);
            let local = maker.tag(Role::Local, index, generation);
            bins[0][usize::from(remote)] += 1;
            bins[1][usize::from(remote ^ last)] += 1;
            bins[2][usize::from(remote ^ local)] += 1;
            last = remote;
        }
        let p = |counts: &[u64]| chi_square_p(chi_square(counts), counts.len() as f64 - 1.0);
        self.over_indices.0.push(p(&bins[0]));
        self.neighbours.0.push(p(&bins[1]));
        self.roles.0.push(p(&bins[2]));
    }
}

/// Chi-square of the tags of consecutive indices, over several secrets.
pub fn spread(secrets: u32, indices: u32, plant: Option<Plant>, rng: &mut Rng) -> Report {
    let mut all = Spread::default();
    for _ in 0..secrets {
        all.count(&Maker::random(false, plant, rng), indices, rng);
    }
    let mut table = Table::new(
        &format!("Chi-square of tags, {secrets} secrets, {indices} consecutive indices each"),
        "least: the smallest p-value, times their number; even: p-value of their own distribution.",
        &["test", "p-values", "least", "even"],
    );
    let mut claims = Vec::new();
    for (what, values) in [
        ("tags over indices", &all.over_indices),
        ("XOR of neighbouring indices", &all.neighbours),
        ("XOR of L_Key and R_Key", &all.roles),
    ] {
        table.rows.push(vec![
            what.into(),
            values.0.len().into(),
            Cell::chance(values.least()),
            Cell::chance(values.even()),
        ]);
        claims.push(Claim::new(
            format!("chi-square of tags, {what}: no p-value is below {SIGNIFICANCE:.0e}"),
            format!("least {:.1e}, even {:.1e}", values.least(), values.even()),
            values.is_good(SIGNIFICANCE),
        ));
    }
    Report {
        tables: vec![table],
        claims,
    }
}

// -------------------------------------------------------------------------------------------------
// The next tag of the same index
// -------------------------------------------------------------------------------------------------

/// Four of the eight rounds of the tag function, with 16 bits of the sub key.
fn half(generation: u8, key: u16) -> u8 {
    let (mut left, mut right) = (generation >> 4, generation & 15);
    for round in 0..4 {
        let nibble = (key >> (4 * round)) as u8 & 15;
        (left, right) = (right, left ^ SBOX[usize::from(right ^ nibble)]);
    }
    left << 4 | right
}

/// The same backwards.
fn half_back(tag: u8, key: u16) -> u8 {
    let (mut left, mut right) = (tag >> 4, tag & 15);
    for round in (0..4).rev() {
        let nibble = (key >> (4 * round)) as u8 & 15;
        (left, right) = (right ^ SBOX[usize::from(left ^ nibble)], left);
    }
    left << 4 | right
}

/// The chance of the likeliest next tag, if one tag is known: exactly, on average over all sub
/// keys, and of the generation at which it is highest. As the eight nibbles of a sub key are
/// independent, it is the sum over all differential trails of the tag function.
pub fn best_after_one() -> f64 {
    let of_sbox = |from: usize, to: usize| {
        let hits = |x: &usize| SBOX[*x] ^ SBOX[x ^ from] == to as u8;
        (0..16).filter(hits).count() as f64 / 16.0
    };
    let best = |start: usize| {
        let mut chances = [0.0; 256];
        chances[start] = 1.0;
        for _ in 0..8 {
            let mut next = [0.0; 256];
            for (difference, chance) in chances.iter().enumerate() {
                let (left, right) = (difference >> 4, difference & 15);
                for change in 0..16 {
                    next[right << 4 | left ^ change] += chance * of_sbox(right, change);
                }
            }
            chances = next;
        }
        chances.iter().copied().fold(0.0, f64::max)
    };
    // What one generation and the next differ in.
    (1..=8)
        .map(|bits| best((1 << bits) - 1))
        .fold(0.0, f64::max)
}

/// How many of the 2^32 sub keys of an index make each tag the next one, out of those that make the
/// tags which are known, from `first` on. Meet in the middle: 2^16 halves from each side.
fn votes(first: u8, known: &[u8]) -> Vec<u64> {
    let generation = |n: usize| first.wrapping_add(n as u8);
    let word = |values: &mut dyn Iterator<Item = u8>| {
        values.fold(0u64, |word, value| word << 8 | u64::from(value))
    };
    let mut middle: Vec<(u64, u16)> = (0..=u16::MAX)
        .map(|key| {
            let mut values = (0..known.len()).map(|n| half(generation(n), key));
            (word(&mut values), key)
        })
        .collect();
    middle.sort_unstable();
    let mut votes = vec![0; 256];
    for key in 0..=u16::MAX {
        let met = word(&mut known.iter().map(|tag| half_back(*tag, key)));
        let from = middle.partition_point(|(values, _)| *values < met);
        let agree = middle[from..]
            .iter()
            .take_while(|(values, _)| *values == met);
        for (_, first_half) in agree {
            let value = half(generation(known.len()), *first_half);
            votes[usize::from(half(value, key))] += 1;
        }
    }
    votes
}

/// What an attacker that knows the algorithm, but not the secret, makes of tags of one index.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NextTag {
    /// Successive tags that were known.
    pub known: usize,
    /// Trials.
    pub trials: u32,
    /// Times that the likeliest next tag was right (of several that are equally likely, a share).
    pub right: f64,
    /// Sub keys that were left, log2 of the mean.
    pub sub_keys: f64,
}

/// Measures it for 2 to `most` known tags.
pub fn next_tag(most: usize, trials: u32, rng: &mut Rng) -> Vec<NextTag> {
    (2..=most)
        .map(|known| {
            let (mut right, mut left) = (0.0, 0.0);
            for _ in 0..trials {
                let maker = Maker::random(false, None, rng);
                let index = 1 + rng.below((1 << 23) - 1) as u32;
                let first = rng.below(256) as u8;
                let tag = |n: usize| maker.tag(Role::Remote, index, first.wrapping_add(n as u8));
                let tags: Vec<u8> = (0..known).map(tag).collect();
                let votes = votes(first, &tags);
                let best = votes.iter().copied().max().unwrap_or(0);
                let equal = votes.iter().filter(|vote| **vote == best).count();
                if best > 0 && votes[usize::from(tag(known))] == best {
                    right += 1.0 / equal as f64;
                }
                left += votes.iter().sum::<u64>() as f64;
            }
            NextTag {
                known,
                trials,
                right: right / f64::from(trials),
                sub_keys: (left / f64::from(trials)).log2(),
            }
        })
        .collect()
}

/// [`best_after_one`] and [`next_tag`].
pub fn next_tags(most: usize, trials: u32, rng: &mut Rng) -> Report {
    let mut table = Table::new(
        "The next tag of the same index, by calculation",
        "An attacker has seen the R_Key of one index in so many successive generations and tries \
         all sub keys of that index, 32 bits, meeting in the middle. Of one tag: exact, over all \
         sub keys.",
        &[
            "tags known",
            "trials",
            "sub keys left, log2",
            "next tag right",
        ],
    );
    let one = best_after_one();
    table.rows.push(vec![
        1u64.into(),
        "all".into(),
        Cell::real(24.0, 1),
        Cell::chance(one),
    ]);
    for row in next_tag(most, trials, rng) {
        table.rows.push(vec![
            row.known.into(),
            u64::from(row.trials).into(),
            Cell::real(row.sub_keys, 1),
            Cell::real(row.right, 3),
        ]);
    }
    let claim = Claim::new(
        "of one tag known, the likeliest next one of the index has less than twice 1 / 255",
        format!("{one:.5}"),
        one < 2.0 / 255.0,
    );
    Report {
        tables: vec![table],
        claims: vec![claim],
    }
}

// -------------------------------------------------------------------------------------------------
// Reuse
// -------------------------------------------------------------------------------------------------

/// Pairs of index and tag over all 256 generations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reuse {
    /// Indices and roles that were gone through.
    pub gone_through: u64,
    /// Of them, those that have a tag twice.
    pub repeat: Vec<Repeat>,
}

/// A pair of index and tag that comes again within 256 generations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// Role of the key.
    pub role: Role,
    /// Its index.
    pub index: u32,
    /// Its index field.
    pub field: u32,
    /// The tag.
    pub tag: u8,
    /// Registrations from one to the other, the shorter way round.
    pub distance: u8,
}

impl Reuse {
    /// Goes through all generations of an index, in both roles.
    pub fn index(&mut self, maker: &Maker, index: u32) {
        for role in ROLES {
            self.gone_through += 1;
            let mut first_at = [None; GENERATIONS];
            for generation in 0..=u8::MAX {
                let tag = maker.tag(role, index, generation);
                if let Some(first) = first_at[usize::from(tag)].replace(generation) {
                    let up = generation.wrapping_sub(first);
                    self.repeat.push(Repeat {
                        role,
                        index,
                        field: maker.field(role, index),
                        tag,
                        distance: up.min(up.wrapping_neg()),
                    });
                }
            }
        }
    }
}

/// What the golden unit does with indices and generations.
struct Unit {
    golden: Golden,
}

impl Unit {
    fn new(maker: &Maker, table: u32) -> Self {
        let mut golden = Golden::new(maker.reference().clone(), table, 3);
        golden.build_with(false, 16);
        golden.enable(0);
        golden.ready(0);
        Self { golden }
    }

    fn command(&mut self, op: CmdOp, key: Key) -> Completion {
        let access = Access::LOCAL_WRITE | Access::REMOTE_READ | Access::ON_DEMAND;
        let made = op == CmdOp::RegMr;
        let command = Command {
            op: op.code(),
            key,
            pd: 1,
            access: if made { access.0 } else { 0 },
            length: 4096,
            log_page: if made { 12 } else { 0 },
            log_tpage: if made { 12 } else { 0 },
            level: u8::from(made),
            frame: if made { [0x10_0000, 0, 0, 0] } else { [0; 4] },
            ..Command::default()
        };
        self.golden.command(&command, None)
    }

    fn register(&mut self) -> Option<Completion> {
        let completion = self.command(CmdOp::RegMr, Key::NONE);
        (completion.status == Status::Ok).then_some(completion)
    }

    fn end(&mut self, lkey: Key) -> Option<()> {
        let completion = self.command(CmdOp::DeregMr, lkey);
        (completion.status == Status::Ok).then_some(())
    }
}

/// Registrations until the R_Key of the first one comes again, if each region ends before the next
/// one begins and there is one index; `ranges` INVALIDATE_RANGE commands in each life.
fn until_again(maker: &Maker, ranges: u32) -> Option<u32> {
    let mut unit = Unit::new(maker, 2);
    let mut first = None;
    for registrations in 0..=600 {
        let made = unit.register()?;
        let first = *first.get_or_insert(made.rkey);
        if registrations > 0 && made.rkey == first {
            return Some(registrations);
        }
        for _ in 0..ranges {
            let renewed = unit.command(CmdOp::InvalidateRange, made.lkey);
            if renewed.status != Status::Ok {
                return None;
            }
        }
        unit.end(made.lkey)?;
    }
    None
}

/// Whether the first R_Key is the same when the unit was disabled and enabled again with its
/// secrets.
fn same_after_enable(maker: &Maker) -> Option<bool> {
    let mut unit = Unit::new(maker, 2);
    let before = unit.register()?.rkey;
    let now = 1 << 20;
    unit.golden.disabled(now);
    unit.golden.enable(now + 1);
    unit.golden.ready(now + 2);
    Some(unit.register()?.rkey == before)
}

/// Registrations between two uses of an index, in a table of `table` entries of which `live` stay.
fn until_index_again(maker: &Maker, table: u32, live: u32) -> Option<(u32, u32)> {
    let mut unit = Unit::new(maker, table);
    for _ in 0..live {
        unit.register()?;
    }
    let mut last_use: HashMap<u32, u32> = HashMap::new();
    let (mut least, mut most) = (u32::MAX, 0);
    for registration in 0..4 * table {
        let made = unit.register()?;
        if let Some(before) = last_use.insert(made.index, registration) {
            let distance = registration - before;
            (least, most) = (least.min(distance), most.max(distance));
        }
        unit.end(made.lkey)?;
    }
    Some((least, most))
}

/// Sizes of the measurement.
#[derive(Clone, Copy, Debug)]
pub struct ReuseSizes {
    /// Secrets.
    pub secrets: u32,
    /// Indices of each.
    pub indices: u32,
    /// Secrets of which the one index with field 0 is looked at.
    pub zero_fields: u32,
}

/// Measures reuse.
pub fn reuse(sizes: ReuseSizes, plant: Option<Plant>, rng: &mut Rng) -> Report {
    let mut consecutive = Reuse::default();
    for _ in 0..sizes.secrets {
        let maker = Maker::random(false, plant, rng);
        let first = 1 + rng.below(u64::from((1 << 23) - sizes.indices)) as u32;
        for index in first..first + sizes.indices {
            consecutive.index(&maker, index);
        }
    }
    // The one {role, index} whose field is 0, of every secret.
    let mut zero = Reuse::default();
    for _ in 0..sizes.zero_fields {
        let maker = Maker::random(false, None, rng);
        let (_, index) = maker.reference().decode(Key::NONE);
        zero.index(&maker, index);
    }
    let maker = Maker::random(false, None, rng);
    let plain = Maker::random(true, None, rng);

    let mut table = Table::new(
        "Reuse of {index, tag}",
        "Every tag of all 256 generations; and what the unit does with indices and generations.",
        &["what", "figure"],
    );
    let other: Vec<&Repeat> = consecutive
        .repeat
        .iter()
        .filter(|repeat| repeat.field != 0)
        .collect();
    let only_ones = zero.repeat.iter().all(|r| (r.field, r.tag) == (0, 1));
    let near = zero.repeat.iter().map(|repeat| repeat.distance).min();
    let mut row = |what: &str, figure: Cell| table.rows.push(vec![what.into(), figure]);
    row(
        "{role, index} gone through",
        consecutive.gone_through.into(),
    );
    row(
        "of them with a tag twice in 256 generations",
        consecutive.repeat.len().into(),
    );
    row(
        "secrets whose {role, index} of field 0 was looked at",
        u64::from(sizes.zero_fields).into(),
    );
    row(
        "of them with a tag twice (always tag 1)",
        zero.repeat.len().into(),
    );
    row(
        "shortest distance of the two, registrations",
        near.map_or_else(Cell::none, |near| u64::from(near).into()),
    );
    let number = |n: Option<u32>| n.map_or_else(Cell::none, |n| u64::from(n).into());
    let alone = until_again(&maker, 0);
    row(
        "one index: registrations until the first R_Key comes again",
        number(alone),
    );
    let plain_alone = until_again(&plain, 0);
    row("the same in plain mode", number(plain_alone));
    let renewed = until_again(&maker, 255);
    row(
        "the same, with 255 INVALIDATE_RANGE in each life",
        number(renewed),
    );
    let again = match same_after_enable(&maker) {
        Some(true) => "the same",
        Some(false) => "another",
        None => "none",
    };
    row(
        "the first R_Key after enabling again with the same secrets",
        again.into(),
    );
    let mut distances = Vec::new();
    for (entries, live) in [(64, 0), (64, 32), (64, 61)] {
        let found = until_index_again(&maker, entries, live);
        distances.push(found == Some((entries - 1 - live, entries - 1 - live)));
        row(
            &format!(
                "{entries} entries, {live} regions stay: registrations between uses of an index"
            ),
            number(found.map(|(least, _)| least)),
        );
    }
    let claims = vec![
        Claim::new(
            "no {index, tag} comes twice in 256 generations, unless its field is 0",
            format!("{} of {}", other.len(), consecutive.gone_through),
            other.is_empty(),
        ),
        Claim::new(
            "where the field is 0 only tag 1 comes twice, in one role of one index",
            format!("{} of {} secrets", zero.repeat.len(), sizes.zero_fields),
            only_ones && zero.repeat.len() == sizes.zero_fields as usize,
        ),
        Claim::new(
            "an R_Key comes again after 256 registrations of its index, and no sooner",
            format!(
                "after {}, plain after {}",
                alone.unwrap_or_default(),
                plain_alone.unwrap_or_default()
            ),
            (alone, plain_alone) == (Some(256), Some(256)),
        ),
        Claim::new(
            "an index comes again when all other free ones have been used",
            format!(
                "{} of {} tables",
                distances.iter().filter(|d| **d).count(),
                distances.len()
            ),
            distances.iter().all(|as_said| *as_said),
        ),
    ];
    Report {
        tables: vec![table],
        claims,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The two halves are the tag function, for some sub key: the votes of the right one are there.
    #[test]
    fn the_right_sub_key_is_among_those_left() {
        let mut rng = Rng::new(1);
        for _ in 0..4 {
            let maker = Maker::random(false, None, &mut rng);
            let index = 1 + rng.below(1000) as u32;
            let tag = |n: u8| maker.tag(Role::Remote, index, n);
            let known: Vec<u8> = (7..13).map(tag).collect();
            let votes = votes(7, &known);
            assert!(votes[usize::from(tag(13))] > 0, "{votes:?}");
        }
        for key in [0, 0x1234, 0xffff] {
            for value in [0, 1, 0x5a, 0xff] {
                assert_eq!(half_back(half(value, key), key), value);
            }
        }
    }

    #[test]
    fn one_tag_says_little_and_six_say_all() {
        let rows = next_tag(6, 6, &mut Rng::new(2));
        assert!(rows[0].right < 0.5, "{rows:?}");
        assert!(rows[4].right > 0.9, "{rows:?}");
    }

    /// The exact chance against counted ones, over many sub keys.
    #[test]
    fn the_best_guess_after_one_tag() {
        let best = best_after_one();
        assert!((1.0 / 255.0..2.0 / 255.0).contains(&best), "{best}");
        let maker = Maker::random(false, None, &mut Rng::new(5));
        let mut most: f64 = 0.0;
        for bits in 1..=8 {
            let generation = (1u16 << (bits - 1)) as u8 - 1;
            let mut counts = [0u32; 256];
            let indices = 1 << 16;
            for index in 1..=indices {
                let tag = |generation| maker.tag(Role::Remote, index, generation);
                counts[usize::from(tag(generation) ^ tag(generation + 1))] += 1;
            }
            let highest = counts.iter().copied().max().unwrap_or(0);
            most = most.max(f64::from(highest) / f64::from(indices));
        }
        // Counted, the highest of 255 is a little too high.
        let deviation = (best / 65536.0).sqrt();
        assert!(
            (best - 2.0 * deviation..best + 6.0 * deviation).contains(&most),
            "{most} {best}"
        );
    }

    #[test]
    fn the_unit_passes() {
        let mut rng = Rng::new(3);
        let sizes = ReuseSizes {
            secrets: 1,
            indices: 64,
            zero_fields: 32,
        };
        let report = reuse(sizes, None, &mut rng);
        assert!(report.is_good(), "{}", report.text());
        let report = spread(8, 4096, None, &mut rng);
        assert!(report.is_good(), "{}", report.text());
    }

    /// Planted lies.
    #[test]
    fn weak_tags_fail() {
        let mut rng = Rng::new(4);
        for plant in [Plant::Lfsr, Plant::Sequential] {
            assert!(
                !spread(4, 4096, Some(plant), &mut rng).is_good(),
                "{plant:?}"
            );
        }
        let sizes = ReuseSizes {
            secrets: 1,
            indices: 64,
            zero_fields: 1,
        };
        assert!(!reuse(sizes, Some(Plant::Lfsr), &mut rng).is_good());
    }
}
