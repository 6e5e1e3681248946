// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Best differential and linear trails of the 24-bit permutation, for every number of rounds.
//!
//! The search is exact, and needs no bounds to cut it short: a state of a trail is a difference (or
//! a mask) of 24 bits, so the best trail to every one of the 2^24 states is known after each round.
//! What a round does to a half is the sum of what it does to three nibbles and a linear map, so a
//! round costs three small steps per state and not one per pair of states.
//!
//! Round keys are independent here as in the unit, and so the chance of a differential, on average
//! over all secrets, is exactly the sum over its trails: [`Hull`].

use super::perm::{linear, linear_transposed, HALF, SBOX};

const STATES: usize = HALF * HALF;
/// No trail leads there.
const NEVER: u8 = u8::MAX;

/// A linear map of a half.
type OfHalf = fn(u16) -> u16;

/// What is followed through the rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Differences; the weight is -log2 of the chance.
    Differential,
    /// Masks; the weight is -log2 of the squared correlation.
    Linear,
}

impl Kind {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Differential => "differential",
            Self::Linear => "linear",
        }
    }

    /// Of the S-box: 16 times the chance, or 16 times the squared correlation, that `active` on its
    /// one side goes with `other` on the other. Differences go in with `active`; masks of the
    /// output are `active`, because masks are followed against the direction of the sum.
    fn sixteenths(self, active: usize, other: usize) -> u8 {
        let sbox = |x: usize| usize::from(SBOX[x]);
        match self {
            Self::Differential => {
                let hits = |x: &usize| sbox(*x) ^ sbox(x ^ active) == other;
                (0..16).filter(hits).count() as u8
            }
            Self::Linear => {
                let even = |x: &usize| (sbox(*x) & active ^ x & other).count_ones() % 2 == 0;
                let bias = (0..16).filter(even).count() as i32 - 8;
                (bias * bias / 4) as u8
            }
        }
    }

    /// What a half sees of the linear layer before the S-boxes and behind them. A difference goes
    /// through it after the S-boxes; a mask meets its transpose first.
    fn maps(self) -> (OfHalf, OfHalf) {
        const fn same(bits: u16) -> u16 {
            bits
        }
        match self {
            Self::Differential => (same, linear),
            Self::Linear => (linear_transposed, same),
        }
    }
}

/// A number along trails: the smallest weight, or the sum of chances.
trait Along: Copy + Default + Send + Sync + 'static {
    /// Nothing.
    const NONE: Self;
    /// What an S-box adds that has so many sixteenths.
    fn factor(sixteenths: u8) -> Self;
    /// A trail more.
    fn join(self, trail: Self, factor: Self) -> Self;
}

impl Along for u8 {
    const NONE: Self = NEVER;

    fn factor(sixteenths: u8) -> Self {
        // All are powers of two.
        match sixteenths {
            0 => NEVER,
            n => 4 - n.ilog2() as u8,
        }
    }

    #[inline]
    fn join(self, trail: Self, factor: Self) -> Self {
        self.min(trail.saturating_add(factor))
    }
}

impl Along for f32 {
    const NONE: Self = 0.0;

    fn factor(sixteenths: u8) -> Self {
        f32::from(sixteenths) / 16.0
    }

    #[inline]
    fn join(self, trail: Self, factor: Self) -> Self {
        self + trail * factor
    }
}

/// A value for each state; the state {passive half, active half} is at `active * HALF + passive`.
struct Layer<T> {
    kind: Kind,
    /// Of each nibble: what it can become, and the factor of that.
    factors: [Vec<(usize, T)>; 16],
    now: Vec<T>,
    next: Vec<T>,
}

impl<T: Along> Layer<T> {
    fn new(kind: Kind) -> Self {
        let row = |active: usize| {
            let all = (0..16).map(|other| (other, kind.sixteenths(active, other)));
            let can_be = all.filter(|(_, sixteenths)| *sixteenths > 0);
            can_be.map(|(other, n)| (other, T::factor(n))).collect()
        };
        Self {
            kind,
            factors: std::array::from_fn(row),
            now: vec![T::NONE; STATES],
            next: vec![T::NONE; STATES],
        }
    }

    /// One round: what the active half becomes in the S-boxes is added to the passive one, and they
    /// change places.
    fn round(&mut self) {
        let (before, after) = self.kind.maps();
        // The passive half is kept as it looks before the linear layer behind the S-boxes: there
        // the three nibbles are independent.
        let behind: Vec<usize> = (0..HALF as u16).map(|x| usize::from(after(x))).collect();
        let (mut row, mut turned) = (vec![T::NONE; HALF], vec![T::NONE; HALF]);
        let mut sums = [T::NONE; HALF];
        for active in 0..HALF {
            let old = &self.now[active * HALF..][..HALF];
            for (to, from) in row.iter_mut().zip(&behind) {
                *to = old[*from];
            }
            let at_sbox = usize::from(before(active as u16));
            // Three times the highest nibble, turning the word each time.
            for nibble in (0..3).rev() {
                let factors = &self.factors[at_sbox >> (4 * nibble) & 15];
                sums.fill(T::NONE);
                for (to, sum) in sums.chunks_exact_mut(256).enumerate() {
                    for (other, factor) in factors {
                        let from = &row[(to ^ other) * 256..][..256];
                        for (sum, trail) in sum.iter_mut().zip(from) {
                            *sum = sum.join(*trail, *factor);
                        }
                    }
                }
                for (to, sum) in sums.chunks_exact(256).enumerate() {
                    for (rest, value) in sum.iter().enumerate() {
                        turned[rest * 16 + to] = *value;
                    }
                }
                std::mem::swap(&mut row, &mut turned);
            }
            let new = &mut self.next[active * HALF..][..HALF];
            for (value, to) in row.iter().zip(&behind) {
                new[*to] = *value;
            }
        }
        // The sum is the active half of the next round: transpose, in squares that fit a cache.
        const SQUARE: usize = 64;
        for top in (0..HALF).step_by(SQUARE) {
            for side in (0..HALF).step_by(SQUARE) {
                for a in top..top + SQUARE {
                    for b in side..side + SQUARE {
                        self.now[b * HALF + a] = self.next[a * HALF + b];
                    }
                }
            }
        }
    }
}

/// The best trails of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trails {
    /// Kind.
    pub kind: Kind,
    /// Smallest weight after 1, 2, ... rounds.
    pub weights: Vec<u8>,
    /// The states in which the best trails of [`Trails::weights`] end, by rounds, at most
    /// [`ENDS`] of each.
    pub ends: Vec<Vec<u32>>,
}

/// Ends of best trails that are kept.
pub const ENDS: usize = 4;

impl Trails {
    /// Searches all trails of up to so many rounds.
    pub fn search(kind: Kind, rounds: usize) -> Self {
        let mut layer = Layer::<u8>::new(kind);
        layer.now.fill(0);
        let (mut weights, mut ends) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            // Without a difference there is nothing to follow.
            layer.now[0] = NEVER;
            layer.round();
            layer.now[0] = NEVER;
            let best = layer.now.iter().copied().min().unwrap_or(NEVER);
            weights.push(best);
            let at_best = layer.now.iter().enumerate().filter(|(_, w)| **w == best);
            ends.push(at_best.take(ENDS).map(|(at, _)| at as u32).collect());
        }
        Self {
            kind,
            weights,
            ends,
        }
    }

    /// The number of rounds from which on every trail has more weight than `limit`.
    pub fn rounds_beyond(&self, limit: u8) -> Option<usize> {
        let within = |weight: &u8| *weight <= limit;
        match self.weights.iter().rposition(within) {
            None => Some(1),
            Some(last) if last + 1 < self.weights.len() => Some(last + 2),
            Some(_) => None,
        }
    }
}

/// The strongest differential, or linear hull, from one difference or mask on: the sums over all
/// trails.
#[derive(Clone, Debug, PartialEq)]
pub struct Hull {
    /// The difference from which it starts, left half first; or the mask of the output.
    pub start: u32,
    /// log2 of the chance, or of the squared correlation, of the best end after 1, 2, ... rounds,
    /// on average over all secrets.
    pub log2: Vec<f64>,
}

impl Hull {
    /// The best hull from the start of a trail that ends in `end`. A trail backwards is a trail of
    /// the same weight with its halves changed, because round keys do not matter; so the best
    /// trails start where, halves changed, the best ones end.
    pub fn from_end(kind: Kind, end: u32, rounds: usize) -> Self {
        let mut layer = Layer::<f32>::new(kind);
        let (active, passive) = (end as usize / HALF, end as usize % HALF);
        layer.now[passive * HALF + active] = 1.0;
        let log2 = (0..rounds).map(|_| {
            layer.round();
            let best = layer.now.iter().copied().fold(0.0, f32::max);
            f64::from(best).log2()
        });
        Self {
            log2: log2.collect(),
            // Its left half is the passive one.
            start: end,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::perm::Permutation;
    use super::*;
    use tpt_bench::rng::Rng;

    /// Against trials with random round keys: three rounds, from a difference on.
    #[test]
    fn sums_of_trails_are_the_chances() {
        let mut layer = Layer::<f32>::new(Kind::Differential);
        let (left, right) = (0x010usize, 0x000usize);
        layer.now[right * HALF + left] = 1.0;
        for _ in 0..3 {
            layer.round();
        }
        let total: f32 = layer.now.iter().sum();
        assert!((total - 1.0).abs() < 1e-3, "{total}");
        let best = (0..STATES)
            .max_by(|a, b| layer.now[*a].total_cmp(&layer.now[*b]))
            .unwrap_or(0);
        let expected = layer.now[best];
        let end = (best % HALF * HALF + best / HALF) as u32;
        let mut rng = Rng::new(1);
        let trials = 200_000;
        let hits = (0..trials)
            .filter(|_| {
                let permutation = Permutation::random(3, &mut rng);
                let value = rng.below(1 << 24) as u32;
                let change = (left as u32) << 12 | right as u32;
                permutation.apply(value) ^ permutation.apply(value ^ change) == end
            })
            .count();
        let chance = hits as f32 / trials as f32;
        let deviation = (expected / trials as f32).sqrt();
        assert!(
            (chance - expected).abs() < 5.0 * deviation,
            "{chance} {expected}"
        );
    }

    /// The weights of one S-box, and what the first rounds must give: one round without a price,
    /// then one active S-box of weight 2 per round until the difference spreads.
    #[test]
    fn the_first_rounds() {
        for kind in [Kind::Differential, Kind::Linear] {
            let trails = Trails::search(kind, 4);
            assert_eq!(trails.weights, [0, 2, 4, 8], "{kind:?}");
            assert_eq!(trails.rounds_beyond(4), Some(4));
            assert_eq!(trails.rounds_beyond(8), None);
        }
    }

    #[test]
    fn all_chances_of_the_sbox_are_powers_of_two() {
        for kind in [Kind::Differential, Kind::Linear] {
            for active in 0..16 {
                let all: u32 = (0..16)
                    .map(|other| {
                        let n = kind.sixteenths(active, other);
                        assert!(n == 0 || n.is_power_of_two(), "{kind:?} {active} {other}");
                        u32::from(n)
                    })
                    .sum();
                assert_eq!(all, 16, "{kind:?} {active}");
            }
        }
    }
}
