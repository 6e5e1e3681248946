// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Tags: how evenly they are spread, what the tags of one index say about its next one, and when a
//! pair of index and tag comes again.

use std::collections::HashMap;

use tpt_bench::rng::Rng;
use tpt_golden::keys::{mix_tag, TAG_ROUNDS};
use tpt_golden::types::{Access, CmdOp, Command, Completion, Key, Role, Status};
use tpt_golden::unit::Golden;

use super::perm::PValues;
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

/// Rounds of the weak tag function that is broken for comparison.
const WEAK_ROUNDS: usize = 4;

/// What a round of the tag function adds to the other nibble.
fn round_function(nibble: u8, key: u8) -> u8 {
    mix_tag(nibble & 15, key) & 15
}

/// A round of the tag function backwards.
fn unmix(value: u8, key: u8) -> u8 {
    let (left, right) = (value >> 4, value & 15);
    (right ^ round_function(left, key)) << 4 | left
}

/// Two of the rounds of the weak function, with 16 bits of the sub keys.
fn half(generation: u8, key: u16) -> u8 {
    key.to_le_bytes().into_iter().fold(generation, mix_tag)
}

/// The same backwards.
fn half_back(tag: u8, key: u16) -> u8 {
    key.to_be_bytes().into_iter().fold(tag, unmix)
}

/// The chance to guess the next tag, if one tag is known and the likeliest is guessed, by number of
/// rounds: over all sub keys, if those of the rounds are independent of each other, and of the
/// generation at which it is highest. The joint distribution of both tags, round by round.
pub fn best_after_one() -> [f64; TAG_ROUNDS + 1] {
    // Nibbles of both values side by side: what a round makes of two right ones.
    let both = |left: u8, right: u8| usize::from(left << 4 | right);
    let mut made = vec![[0.0; 256]; 256];
    for right in 0..=u8::MAX {
        for key in 0..=u8::MAX {
            let change = both(
                round_function(right >> 4, key),
                round_function(right & 15, key),
            );
            made[usize::from(right)][change] += 1.0 / 256.0;
        }
    }
    let mut best = [0.0; TAG_ROUNDS + 1];
    for bits in 0..8 {
        let first = ((1u16 << bits) - 1) as u8;
        let second = first + 1;
        // chances[right nibbles][left nibbles]
        let mut chances = vec![[0.0; 256]; 256];
        chances[both(first & 15, second & 15)][both(first >> 4, second >> 4)] = 1.0;
        for best in &mut best {
            let mut likeliest = [0.0f64; 256];
            for (right, row) in chances.iter().enumerate() {
                for (left, chance) in row.iter().enumerate() {
                    let known = &mut likeliest[left >> 4 << 4 | right >> 4];
                    *known = known.max(*chance);
                }
            }
            *best = likeliest.iter().sum::<f64>().max(*best);
            let mut next = vec![[0.0; 256]; 256];
            for (right, row) in chances.iter().enumerate() {
                for (left, chance) in row.iter().enumerate().filter(|(_, c)| **c > 0.0) {
                    for (change, share) in made[right].iter().enumerate() {
                        next[left ^ change][right] += chance * share;
                    }
                }
            }
            chances = next;
        }
    }
    best
}

/// How many of the 2^32 sub keys of the weak function make each tag the next one, out of those that
/// make the tags which are known, from `first` on. Meet in the middle: 2^16 halves from each side.
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

/// What an attacker that knows the algorithm, but not the secret, makes of tags of one index, if
/// they are made by four rounds.
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
                let sub_keys = (rng.next_u64() as u32).to_le_bytes();
                let first = rng.below(256) as u8;
                let tag = |n: usize| {
                    let generation = first.wrapping_add(n as u8);
                    sub_keys.into_iter().fold(generation, mix_tag)
                };
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

/// Two tags of an index that follow each other, over many indices: how often their XOR is each
/// number that it can be, against even shares. Smallest p-value over several generations.
fn pairs(indices: u32, rng: &mut Rng) -> PValues {
    let maker = Maker::random(false, None, rng);
    let mut values = PValues::default();
    for bits in 1..=8 {
        let generation = ((1u16 << (bits - 1)) - 1) as u8;
        let mut bins = vec![0u64; 255];
        for index in 1..=indices {
            let tag = |generation| maker.tag(Role::Remote, index, generation);
            let xor = tag(generation) ^ tag(generation.wrapping_add(1));
            if let Some(bin) = usize::from(xor).checked_sub(1) {
                bins[bin] += 1;
            }
        }
        values.0.push(chi_square_p(chi_square(&bins), 254.0));
    }
    values
}

/// [`best_after_one`], tags that follow each other counted, and [`next_tag`].
pub fn next_tags(most: usize, trials: u32, indices: u32, rng: &mut Rng) -> Report {
    let mut one_known = Table::new(
        "The next tag of the same index, one tag known",
        "Chance that the likeliest next tag is the right one, by number of rounds; exact for sub keys \
         that are independent of each other, of the generation at which it is highest. Chance alone: \
         1 / 255.",
        &["rounds", "chance", "times 1 / 255"],
    );
    let by_rounds = best_after_one();
    for rounds in [2, 4, 6, 8, 12, TAG_ROUNDS] {
        let chance = by_rounds[rounds];
        one_known.rows.push(vec![
            rounds.into(),
            Cell::chance(chance),
            Cell::real(chance * 255.0, 4),
        ]);
    }
    let mut table = Table::new(
        &format!("The next tag of the same index, if {WEAK_ROUNDS} rounds made it"),
        "For comparison: an attacker has seen the R_Key of one index in so many successive \
         generations and tries all sub keys of the index, 32 bits, meeting in the middle. With 16 \
         rounds they are 128 bits, and the halves 64.",
        &[
            "tags known",
            "trials",
            "sub keys left, log2",
            "next tag right",
        ],
    );
    for row in next_tag(most, trials, rng) {
        table.rows.push(vec![
            row.known.into(),
            u64::from(row.trials).into(),
            Cell::real(row.sub_keys, 1),
            Cell::real(row.right, 3),
        ]);
    }
    let one = by_rounds[TAG_ROUNDS];
    let even = pairs(indices, rng);
    let claims = vec![
        Claim::new(
            "of one tag known, the likeliest next one of the index is 1.001 times as likely as \
             chance at most",
            format!("{:.6} times", one * 255.0),
            one * 255.0 < 1.001,
        ),
        Claim::new(
            format!(
                "chi-square of two tags of an index that follow each other: no p-value is below \
                 {SIGNIFICANCE:.0e}"
            ),
            format!("least {:.1e}, even {:.1e}", even.least(), even.even()),
            even.is_good(SIGNIFICANCE),
        ),
    ];
    Report {
        tables: vec![one_known, table],
        claims,
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

/// Whether the index is left out by a unit that hands out all others: none of its keys is 0.
fn leaves_out(maker: &Maker, index: u32) -> bool {
    let mut unit = Unit::new(maker, index + 2);
    let made: Option<Vec<Completion>> = (1..=index).map(|_| unit.register()).collect();
    made.is_some_and(|made| {
        unit.register().is_none()
            && made
                .iter()
                .all(|c| c.index != index && c.lkey != Key::NONE && c.rkey != Key::NONE)
    })
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
    /// Secrets that put field 0 at an index of the table.
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
    // The one index with field 0 in one role, of secrets where it lies in the table.
    let table_of_zero = 1 << 14;
    let mut left_out = 0;
    for _ in 0..sizes.zero_fields {
        let found = (0..1 << 20).find_map(|_| {
            let maker = Maker::random(false, None, rng);
            let (_, index) = maker.reference().decode(Key::NONE);
            (1..table_of_zero)
                .contains(&index)
                .then_some((maker, index))
        });
        left_out += u32::from(found.is_some_and(|(maker, index)| leaves_out(&maker, index)));
    }
    let maker = Maker::random(false, None, rng);
    let plain = Maker::random(true, None, rng);

    let mut table = Table::new(
        "Reuse of {index, tag}",
        "Every tag of all 256 generations; and what the unit does with indices and generations.",
        &["what", "figure"],
    );
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
        "secrets that put field 0 into the table",
        u64::from(sizes.zero_fields).into(),
    );
    row(
        "of them whose index is left out",
        u64::from(left_out).into(),
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
            "no {index, tag} comes twice in 256 generations",
            format!(
                "{} of {}",
                consecutive.repeat.len(),
                consecutive.gone_through
            ),
            consecutive.repeat.is_empty(),
        ),
        Claim::new(
            "an index with field 0 is not handed out: no key is 0",
            format!("{left_out} of {} secrets", sizes.zero_fields),
            left_out == sizes.zero_fields,
        ),
        Claim::new(
            "an R_Key comes again after 256 registrations of its index, and no sooner, whatever \
             INVALIDATE_RANGE commands there are",
            format!(
                "after {}, plain after {}, with 255 commands after {}",
                alone.unwrap_or_default(),
                plain_alone.unwrap_or_default(),
                renewed.unwrap_or_default()
            ),
            [alone, plain_alone, renewed] == [Some(256); 3],
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

    /// The halves can be undone, and the vote for the tag that really comes next is there.
    #[test]
    fn the_right_sub_key_is_among_those_left() {
        let mut rng = Rng::new(1);
        for _ in 0..4 {
            let sub_keys = (rng.next_u64() as u32).to_le_bytes();
            let tag = |n: u8| sub_keys.into_iter().fold(n, mix_tag);
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

    /// Two rounds against all 65,536 pairs of sub keys.
    #[test]
    fn the_best_guess_after_one_tag() {
        let best = best_after_one();
        assert!(best[WEAK_ROUNDS] > 1.5 / 255.0, "{}", best[WEAK_ROUNDS]);
        assert!(best[TAG_ROUNDS] < 1.001 / 255.0, "{}", best[TAG_ROUNDS]);
        assert!((0.999..1.001).contains(&best[0]));
        let mut most = 0;
        for bits in 0..8 {
            let generation = ((1u16 << bits) - 1) as u8;
            let mut counts = vec![[0u32; 256]; 256];
            for key in 0..=u16::MAX {
                let (tag, next) = (half(generation, key), half(generation + 1, key));
                counts[usize::from(tag)][usize::from(next)] += 1;
            }
            let right = |row: &[u32; 256]| row.iter().copied().max().unwrap_or(0);
            most = counts.iter().map(right).sum::<u32>().max(most);
        }
        assert!((best[2] - f64::from(most) / 65536.0).abs() < 1e-9, "{most}");
    }

    #[test]
    fn the_unit_passes() {
        let mut rng = Rng::new(3);
        let sizes = ReuseSizes {
            secrets: 1,
            indices: 64,
            zero_fields: 2,
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
