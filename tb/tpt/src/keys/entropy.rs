// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! How well the next key is known from k keys before it.
//!
//! With the keys r(1), r(2), ... and the steps d(i) = r(i) - r(i-1) modulo 2^32:
//!
//! * k = 0: H(r(i)), of the keys themselves;
//! * k = 1: H(d(i)), as the last key and the step give the next key;
//! * k = 2: H(d(i) | d(i-1)), and k = 3: H(d(i) | d(i-1), d(i-2)), as k keys give k - 1 steps.
//!
//! The same with XOR in the place of the difference. H is Shannon's entropy of the counted
//! frequencies (the plug-in estimator), and so it is too small: of n samples it is never more than
//! log2(n), and from k = 2 on it is 0 as soon as every context was seen only once. What it says of
//! random numbers, as many as there are keys, stands beside it. A low figure shows something only
//! where that one is high.
//!
//! Where there are keys enough, pairs of equal steps say more: their share is an unbiased estimate
//! of the chance that two steps are equal, whose -log2 is the collision entropy, and that is never
//! more than Shannon's. So it is a lower bound that can be far above log2(n).

use std::collections::HashMap;

use tpt_bench::rng::Rng;

use super::report::{Cell, Claim, Report, Table};
use super::sequence::{models, Maker, Plant, Sequence};
use super::stats::{chance_at_most, events_at_most, Binomial};
use super::{CONFIDENCE, SIGNIFICANCE};

/// Keys of a run that predictors see before they are asked.
const WARM: usize = 32;

/// Plug-in entropies, in bits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Entropies {
    /// Of the keys.
    pub keys: f64,
    /// Of the steps.
    pub given_1: f64,
    /// Of the likeliest step: -log2 of its frequency.
    pub given_1_min: f64,
    /// Of the steps, if the low byte of the last key is looked at as well.
    pub given_1_tag: f64,
    /// Of the steps, given the one before.
    pub given_2: f64,
    /// Of the steps, given the two before.
    pub given_3: f64,
    /// Of the XOR of two keys that follow each other.
    pub xor_given_1: f64,
    /// Of these, given the one before.
    pub xor_given_2: f64,
}

/// Lengths of the runs of equal values, of a sorted list.
fn repeats<T: PartialEq>(sorted: &[T]) -> impl Iterator<Item = u64> + '_ {
    sorted.chunk_by(|a, b| a == b).map(|run| run.len() as u64)
}

fn sum_of_entropy(repeats: impl Iterator<Item = u64>, all: usize) -> f64 {
    let n = all as f64;
    let of = |count: u64| count as f64 / n * (n / count as f64).log2();
    repeats.map(of).sum()
}

fn entropy(values: impl Iterator<Item = u128>) -> f64 {
    let mut values: Vec<u128> = values.collect();
    values.sort_unstable();
    sum_of_entropy(repeats(&values), values.len())
}

/// H(value | context), of pairs of both.
fn conditional(pairs: impl Iterator<Item = (u128, u32)>) -> f64 {
    let mut pairs: Vec<(u128, u32)> = pairs.collect();
    pairs.sort_unstable();
    let joint = sum_of_entropy(repeats(&pairs), pairs.len());
    let contexts = pairs.chunk_by(|a, b| a.0 == b.0);
    joint - sum_of_entropy(contexts.map(|run| run.len() as u64), pairs.len())
}

/// Steps of each run.
fn steps(sequence: &Sequence, step: fn(u32, u32) -> u32) -> Vec<Vec<u32>> {
    let of = |run: &Vec<u32>| run.windows(2).map(|w| step(w[0], w[1])).collect();
    sequence.runs.iter().map(of).collect()
}

fn difference(last: u32, next: u32) -> u32 {
    next.wrapping_sub(last)
}

fn xor(last: u32, next: u32) -> u32 {
    last ^ next
}

/// H(step | `k` - 1 steps before).
fn given(steps: &[Vec<u32>], k: usize) -> f64 {
    let windows = steps.iter().flat_map(|run| run.windows(k));
    let context = |before: &[u32]| before.iter().fold(0, |all, &d| all << 32 | u128::from(d));
    conditional(windows.map(|w| (context(&w[..k - 1]), w[k - 1])))
}

impl Entropies {
    /// Of a sequence.
    pub fn of(sequence: &Sequence) -> Self {
        let keys = sequence.runs.iter().flatten().map(|&key| u128::from(key));
        let differences = steps(sequence, difference);
        let xors = steps(sequence, xor);
        let mut sorted: Vec<u32> = differences.iter().flatten().copied().collect();
        sorted.sort_unstable();
        let most = repeats(&sorted).max().unwrap_or(1);
        let pairs = sequence.runs.iter().flat_map(|run| run.windows(2));
        Self {
            keys: entropy(keys),
            given_1: given(&differences, 1),
            given_1_min: (sorted.len().max(1) as f64 / most as f64).log2(),
            given_1_tag: conditional(
                pairs.map(|w| (u128::from(w[0] & 0xff), difference(w[0], w[1]))),
            ),
            given_2: given(&differences, 2),
            given_3: given(&differences, 3),
            xor_given_1: given(&xors, 1),
            xor_given_2: given(&xors, 2),
        }
    }

    fn cells(&self) -> [Cell; 8] {
        [
            self.keys,
            self.given_1,
            self.given_1_min,
            self.given_1_tag,
            self.given_2,
            self.given_3,
            self.xor_given_1,
            self.xor_given_2,
        ]
        .map(|bits| Cell::real(bits, 2))
    }
}

/// Pairs of equal steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Collisions {
    /// Pairs of steps (with equal contexts).
    pub pairs: f64,
    /// Those that are equal.
    pub equal: u64,
}

impl Collisions {
    /// Of the steps, given `k` - 1 steps before.
    pub fn of(sequence: &Sequence, k: usize) -> Self {
        let steps = steps(sequence, difference);
        let context = |before: &[u32]| before.iter().fold(0, |all, &d| all << 32 | u128::from(d));
        let windows = steps.iter().flat_map(|run| run.windows(k));
        let mut all: Vec<(u128, u32)> = windows.map(|w| (context(&w[..k - 1]), w[k - 1])).collect();
        all.sort_unstable();
        let pairs_of = |n: u64| n as f64 * (n as f64 - 1.0) / 2.0;
        let contexts = all.chunk_by(|a, b| a.0 == b.0);
        Self {
            pairs: contexts.map(|run| pairs_of(run.len() as u64)).sum(),
            equal: repeats(&all).map(|n| pairs_of(n) as u64).sum(),
        }
    }

    /// The estimate of the collision entropy; `None` if no pair was equal.
    pub fn bits(self) -> Option<f64> {
        (self.equal > 0).then(|| (self.pairs / self.equal as f64).log2())
    }

    /// A lower bound of it, which is wrong in one of ten thousand cases.
    pub fn at_least(self) -> f64 {
        if self.pairs < 1.0 {
            return 0.0;
        }
        let most = match self.equal {
            n if n > 1_000_000 => n as f64 + 4.0 * (n as f64).sqrt(),
            n => events_at_most(n, CONFIDENCE),
        };
        (self.pairs / most).log2().max(0.0)
    }

    fn cell(self) -> Cell {
        Cell::at_least(self.at_least())
    }
}

// -------------------------------------------------------------------------------------------------
// Predictors
// -------------------------------------------------------------------------------------------------

/// What the predictors have seen of a run.
#[derive(Default)]
struct Seen {
    keys: Vec<u32>,
    steps: HashMap<u32, u32>,
    commonest: (u32, u32),
    after_step: HashMap<u32, u32>,
    after_tag: HashMap<u8, u8>,
    field_steps: HashMap<u32, u32>,
    commonest_field: (u32, u32),
}

impl Seen {
    fn learn(&mut self, key: u32) {
        if let [.., last] = self.keys[..] {
            let step = difference(last, key);
            count(&mut self.steps, &mut self.commonest, step);
            let field = (key >> 8).wrapping_sub(last >> 8) & 0xff_ffff;
            count(&mut self.field_steps, &mut self.commonest_field, field);
            self.after_tag.insert(last as u8, key as u8);
            if let [.., before, last] = self.keys[..] {
                self.after_step.insert(difference(before, last), step);
            }
        }
        self.keys.push(key);
    }

    /// The last two keys.
    fn last(&self) -> (u32, u32) {
        match self.keys[..] {
            [.., before, last] => (before, last),
            [last] => (last, last),
            [] => (0, 0),
        }
    }
}

fn count(counts: &mut HashMap<u32, u32>, most: &mut (u32, u32), step: u32) {
    let count = counts.entry(step).or_default();
    *count += 1;
    if *count > most.1 {
        *most = (step, *count);
    }
}

/// A way to guess the next key.
type Predict = fn(&Seen) -> u32;

/// Predictors with their names.
const PREDICTORS: [(&str, Predict); 8] = [
    ("last + 0x100", |seen| seen.last().1.wrapping_add(0x100)),
    ("last + last step", |seen| {
        let (before, last) = seen.last();
        last.wrapping_add(difference(before, last))
    }),
    ("last ^ last XOR", |seen| {
        let (before, last) = seen.last();
        last ^ xor(before, last)
    }),
    ("last + commonest step", |seen| {
        seen.last().1.wrapping_add(seen.commonest.0)
    }),
    ("step that followed the last step", |seen| {
        let (before, last) = seen.last();
        let step = seen.after_step.get(&difference(before, last));
        last.wrapping_add(step.copied().unwrap_or(seen.commonest.0))
    }),
    ("tag that followed the last tag", |seen| {
        let last = seen.last().1;
        let field = (last >> 8).wrapping_add(seen.commonest_field.0);
        let tag = seen.after_tag.get(&(last as u8)).copied();
        field << 8 | u32::from(tag.unwrap_or(last as u8))
    }),
    ("shift register", shift_register),
    ("linear congruence", |seen| {
        let field = congruence(seen, 8, 24);
        field << 8 | congruence(seen, 0, 8)
    }),
];

/// Every bit of the keys is a sequence of its own; the shortest shift register that makes its last
/// 64 elements makes the next one too (Berlekamp and Massey).
fn shift_register(seen: &Seen) -> u32 {
    let from = seen.keys.len().saturating_sub(64);
    let keys = &seen.keys[from..];
    (0..32).fold(0, |next, bit| {
        let bits = keys.iter().map(|key| u128::from(key >> bit & 1));
        next | next_of_register(bits) << bit
    })
}

fn next_of_register(bits: impl Iterator<Item = u128>) -> u32 {
    // Bit n of `past` is the element n before the newest one.
    let (mut taps, mut old_taps, mut past) = (1u128, 1u128, 0u128);
    let (mut length, mut shift) = (0, 1);
    for (n, bit) in bits.enumerate() {
        past = past << 1 | bit;
        if (taps & past).count_ones() % 2 == 0 {
            shift += 1;
            continue;
        }
        let before = taps;
        taps ^= old_taps << shift;
        if 2 * length <= n {
            length = n + 1 - length;
            (old_taps, shift) = (before, 1);
        } else {
            shift += 1;
        }
    }
    (taps >> 1 & past).count_ones() % 2
}

/// The next number, if numbers of so many bits follow x := a x + c.
fn congruence(seen: &Seen, low: u32, bits: u32) -> u32 {
    let mask = (1u32 << bits) - 1;
    let last = |n: usize| match seen.keys.len().checked_sub(n) {
        Some(at) => seen.keys[at] >> low & mask,
        None => 0,
    };
    let (step, before) = (last(1).wrapping_sub(last(2)), last(2).wrapping_sub(last(3)));
    let factor = if before % 2 == 1 {
        // Newton's inverse modulo 2^32.
        let mut inverse = before;
        for _ in 0..5 {
            inverse = inverse.wrapping_mul(2u32.wrapping_sub(before.wrapping_mul(inverse)));
        }
        step.wrapping_mul(inverse)
    } else {
        1
    };
    last(1).wrapping_add(step.wrapping_mul(factor)) & mask
}

/// Hits of a predictor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    /// The whole key.
    pub key: u64,
    /// The index field.
    pub field: u64,
    /// The tag.
    pub tag: u64,
}

/// What all predictors have done on a sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Predicted {
    /// Keys that had to be predicted.
    pub trials: u64,
    /// By predictor; the last one takes field and tag from the ones that have been best so far.
    pub hits: Vec<(&'static str, Hits)>,
}

impl Predicted {
    /// Of a sequence, at most `most` keys of each run.
    pub fn of(sequence: &Sequence, most: usize) -> Self {
        let mut hits: Vec<_> = PREDICTORS
            .iter()
            .map(|(name, _)| (*name, Hits::default()))
            .collect();
        hits.push(("best field, best tag so far", Hits::default()));
        let mut trials = 0;
        for run in &sequence.runs {
            let mut seen = Seen::default();
            for (n, &key) in run.iter().take(most).enumerate() {
                if n >= WARM {
                    trials += 1;
                    let mut guesses: Vec<u32> = PREDICTORS
                        .iter()
                        .map(|(_, predict)| predict(&seen))
                        .collect();
                    let best = |of: fn(&Hits) -> u64| {
                        let all = hits.iter().zip(&guesses);
                        let best = all.rev().max_by_key(|((_, hits), _)| of(hits));
                        best.map_or(0, |(_, guess)| *guess)
                    };
                    let (field, tag) = (best(|hits| hits.field), best(|hits| hits.tag));
                    guesses.push(field & !0xff | tag & 0xff);
                    for ((_, hits), guess) in hits.iter_mut().zip(guesses) {
                        hits.key += u64::from(guess == key);
                        hits.field += u64::from(guess >> 8 == key >> 8);
                        hits.tag += u64::from(guess as u8 == key as u8);
                    }
                }
                seen.learn(key);
            }
        }
        Self { trials, hits }
    }

    /// The predictor with the most hits of a kind, and how many.
    pub fn best(&self, of: fn(&Hits) -> u64) -> (&'static str, u64) {
        let best = self.hits.iter().rev().max_by_key(|(_, hits)| of(hits));
        best.map_or(("", 0), |(name, hits)| (name, of(hits)))
    }

    fn cells(&self) -> Vec<Cell> {
        let mut cells = vec![Cell::from(self.trials)];
        let kinds: [fn(&Hits) -> u64; 3] = [|hits| hits.key, |hits| hits.field, |hits| hits.tag];
        for of in kinds {
            let (name, hits) = self.best(of);
            cells.push(hits.into());
            cells.push(match hits {
                0 => Cell::none(),
                _ => name.into(),
            });
        }
        let (_, hits) = self.best(|hits| hits.key);
        let most = chance_at_most(hits, self.trials.max(1), CONFIDENCE);
        cells.push(Cell::at_least(most.log2().abs()));
        cells
    }
}

// -------------------------------------------------------------------------------------------------
// Tables
// -------------------------------------------------------------------------------------------------

/// Columns of a table of entropies.
const COLUMNS: [&str; 10] = [
    "keys of", "keys", "k=0", "k=1", "k=1 min", "k=1 +tag", "k=2", "k=3", "xor k=1", "xor k=2",
];

fn row(sequence: &Sequence) -> Vec<Cell> {
    let mut row = vec![Cell::from(sequence.name.clone()), sequence.keys().into()];
    row.extend(Entropies::of(sequence).cells());
    row
}

/// How many keys are measured.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Keys of the unit.
    pub keys: u32,
    /// Of them, keys that the predictors see.
    pub predicted: usize,
}

/// Measures the unit, models and recorded sequences.
pub fn measure(sizes: Sizes, recorded: &[Sequence], plant: Option<Plant>, rng: &mut Rng) -> Report {
    let plain = Maker::random(true, None, rng).sequence("unit, plain", sizes.keys);
    let hidden = Maker::random(false, plant, rng).sequence("unit, hidden", sizes.keys);
    let models = models(sizes.keys, rng);
    let mine = [&plain, &hidden].into_iter().chain(&models);

    // Beside recorded sequences: as many keys as the longest of them has.
    let length = recorded.iter().map(Sequence::keys).max().unwrap_or(500);
    let mut beside = Table::new(
        &format!("Entropy of the next key, {length} keys"),
        "Bits, plug-in estimate; log2 of the number of keys is the most that it can say. k keys \
         before are known; min: of the likeliest step; +tag: and the low byte of the last key \
         counts; xor: of XORs instead of differences.",
        &COLUMNS,
    );
    beside.rows.extend(recorded.iter().map(row));
    for sequence in mine.clone() {
        let runs = sequence.runs.iter();
        let short = Sequence {
            name: sequence.name.clone(),
            runs: runs
                .map(|run| run[..length.min(run.len())].to_vec())
                .collect(),
        };
        beside.rows.push(row(&short));
    }

    let mut many = Table::new(
        &format!("Entropy of the next key, {} keys", sizes.keys),
        "As above; and from pairs of equal steps, which have no such limit: the collision entropy \
         of a step, and lower bounds of it (99.99 %) given 1 and 2 keys.",
        &[
            "keys of",
            "k=0",
            "k=1",
            "k=1 min",
            "k=1 +tag",
            "k=2",
            "pairs k=1",
            "bound k=1",
            "bound k=2",
        ],
    );
    let mut predicted = Table::new(
        "The next key, predicted",
        "Hits of the predictor that hit most, and what the hits on whole keys leave of the \
         min-entropy (lower bound, 99.99 %).",
        &[
            "keys of",
            "trials",
            "key",
            "by (key)",
            "field",
            "by (field)",
            "tag",
            "by (tag)",
            "min-entropy",
        ],
    );
    for sequence in recorded {
        let mut row = vec![Cell::from(sequence.name.clone())];
        row.extend(Predicted::of(sequence, usize::MAX).cells());
        predicted.rows.push(row);
    }
    let mut claims = Vec::new();
    for sequence in mine {
        let all = Entropies::of(sequence);
        let (one, two) = (Collisions::of(sequence, 1), Collisions::of(sequence, 2));
        many.rows.push(vec![
            Cell::from(sequence.name.clone()),
            Cell::real(all.keys, 2),
            Cell::real(all.given_1, 2),
            Cell::real(all.given_1_min, 2),
            Cell::real(all.given_1_tag, 2),
            Cell::real(all.given_2, 2),
            one.bits()
                .map_or_else(Cell::none, |bits| Cell::real(bits, 2)),
            one.cell(),
            two.cell(),
        ]);
        let hits = Predicted::of(sequence, sizes.predicted);
        let mut row = vec![Cell::from(sequence.name.clone())];
        row.extend(hits.cells());
        predicted.rows.push(row);
        if std::ptr::eq(sequence, &hidden) {
            claims.extend(claims_of(&hits, one, true));
        } else if std::ptr::eq(sequence, &plain) {
            claims.extend(claims_of(&hits, one, false));
        }
    }
    Report {
        tables: vec![beside, many, predicted],
        claims,
    }
}

/// The least collision entropy of a step in hidden mode; 32 are right.
const HIDDEN_BITS: f64 = 30.5;
/// And in plain mode, of the tag; the difference of two random bytes has 8.
const PLAIN_BITS: f64 = 7.4;

/// What must hold of the unit's keys.
fn claims_of(hits: &Predicted, step: Collisions, hidden: bool) -> Vec<Claim> {
    let (name, bits) = if hidden {
        ("hidden mode", HIDDEN_BITS)
    } else {
        ("plain mode", PLAIN_BITS)
    };
    let mut claims = vec![Claim::new(
        format!("{name}: the next key has at least {bits} bits, given the last one"),
        format!("at least {:.1}", step.at_least()),
        step.at_least() >= bits,
    )];
    let mut chance = |what: &str, p: f64, of: fn(&Hits) -> u64| {
        let by_chance = Binomial {
            trials: hits.trials,
            p,
        };
        let (_, most) = by_chance.interval(1.0 - 2.0 * SIGNIFICANCE);
        let (by, found) = hits.best(of);
        claims.push(Claim::new(
            format!("{name}: no predictor hits more {what} than chance does"),
            format!("{found} of {}, at most {most} (\"{by}\")", hits.trials),
            found <= most,
        ));
    };
    if hidden {
        chance("index fields", 1.0 / f64::from(1u32 << 23), |hits| {
            hits.field
        });
    }
    chance("tags", 1.0 / 256.0, |hits| hits.tag);
    claims
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(keys: &[u32]) -> Entropies {
        Entropies::of(&Sequence::of("", keys.to_vec()))
    }

    #[test]
    fn entropies_of_small_sequences() {
        let constant: Vec<u32> = (0..64).map(|n| n << 8).collect();
        let all = of(&constant);
        assert_eq!((all.keys, all.given_1, all.given_2), (6.0, 0.0, 0.0));
        assert_eq!(all.given_1_min, 0.0);
        // Steps 1, 2, 1, 2, ...: a bit, and none if the last step is known.
        let two: Vec<u32> = (0..65u32).map(|n| n + n / 2).collect();
        let all = of(&two);
        assert!((all.given_1 - 1.0).abs() < 1e-12, "{all:?}");
        assert!((all.given_1_min - 1.0).abs() < 1e-12);
        assert!(all.given_2.abs() < 1e-12);
    }

    #[test]
    fn collisions_see_beyond_the_number_of_keys() {
        let mut rng = Rng::new(4);
        let keys = (0..1 << 12).map(|_| rng.below(1 << 20) as u32).collect();
        let sequence = Sequence::of("", keys);
        let step = Collisions::of(&sequence, 1);
        // Differences of numbers of 20 bits have 1 + log2(3/4) bits more.
        let bits = step.bits().expect("there are some");
        assert!((20.0..21.2).contains(&bits), "{bits}");
        assert!(step.at_least() <= bits);
        assert!(Entropies::of(&sequence).given_1 <= 12.0);
    }

    fn predicted(keys: impl Iterator<Item = u32>) -> Predicted {
        Predicted::of(&Sequence::of("", keys.collect()), usize::MAX)
    }

    #[test]
    fn predictors_find_what_they_look_for() {
        let by = |hits: &Predicted, name: &str| {
            let found = hits.hits.iter().find(|(known, _)| *known == name);
            found.map_or(0, |(_, hits)| hits.key)
        };
        let constant = predicted((0..200).map(|n| 0x1234_5607 + (n << 8)));
        assert_eq!(by(&constant, "last + 0x100"), constant.trials);
        assert_eq!(by(&constant, "last + last step"), constant.trials);
        assert_eq!(by(&constant, "last + commonest step"), constant.trials);
        // A congruence in each part.
        let (mut field, mut tag) = (1u32, 7u32);
        let congruent = predicted((0..200).map(|_| {
            field = field.wrapping_mul(0x4_5ab5).wrapping_add(0x1235) & 0xff_ffff;
            tag = tag.wrapping_mul(13).wrapping_add(5) & 0xff;
            field << 8 | tag
        }));
        assert!(by(&congruent, "linear congruence") > congruent.trials / 3);
        // A shift register of 31 bits, bit by bit: it is known when 62 keys have been seen.
        let mut state = 1u32;
        let register = predicted((0..200).map(|_| {
            state = state << 1 | (state >> 30 ^ state >> 27) & 1;
            state
        }));
        assert!(by(&register, "shift register") >= register.trials - 32);
    }

    #[test]
    fn nothing_is_found_in_random_numbers() {
        let mut rng = Rng::new(6);
        let random = predicted((0..4000).map(|_| rng.next_u64() as u32));
        assert_eq!(random.best(|hits| hits.field).1, 0);
        let step = Collisions {
            pairs: 2f64.powi(38),
            equal: 64,
        };
        for claim in claims_of(&random, step, true) {
            assert!(claim.holds, "{claim:?}");
        }
    }

    /// Planted lies.
    #[test]
    fn weak_keys_fail_the_claims() {
        let sizes = Sizes {
            keys: 1 << 16,
            predicted: 1000,
        };
        for (name, plant, fails) in [
            ("sequential", Some(Plant::Sequential), true),
            ("shift register", Some(Plant::Lfsr), true),
            ("the unit", None, false),
        ] {
            let report = measure(sizes, &[], plant, &mut Rng::new(8));
            let hidden = report
                .claims
                .iter()
                .filter(|c| c.what.starts_with("hidden"));
            let failed: Vec<_> = hidden.filter(|claim| !claim.holds).collect();
            // So few keys do not bound the entropy well.
            let of_hits = failed
                .iter()
                .filter(|c| c.what.contains("predictor"))
                .count();
            assert_eq!(of_hits > 0, fails, "{name}: {failed:?}");
        }
    }
}
