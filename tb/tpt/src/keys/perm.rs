// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! The 24-bit permutation with any number of rounds, and what is measured of it: avalanche,
//! chi-square, sums over whole blocks of indices.
//!
//! The round function is a table here, because the measures need many millions of rounds. That it
//! is the permutation of the golden reference is a claim of the report, see
//! [`differs_from_reference`].

use tpt_bench::rng::Rng;
use tpt_golden::keys::{KeyMaker, PERM_ROUNDS};
use tpt_golden::types::Role;

use super::stats::{chi_square, chi_square_p, evenness};

/// Values of a half.
pub const HALF: usize = 1 << 12;
/// Bits of the permutation.
pub const BITS: usize = 24;
/// Most rounds that are measured.
pub const MOST_ROUNDS: usize = 12;
/// The {role, index} of an R_Key: bit 23 is the role.
const REMOTE: u32 = 1 << 23;
/// Indices whose fields are counted, per secret: as many as a large table has.
pub const COUNTED: u32 = 1 << 16;

/// The S-box of PRESENT.
pub const SBOX: [u8; 16] = [12, 5, 6, 11, 9, 0, 10, 13, 3, 14, 15, 8, 4, 7, 1, 2];

/// The linear layer on 12 bits: a bit goes to its own place, and 5 and 8 places up, around the end.
pub const fn linear(bits: u16) -> u16 {
    let wide = bits as u32 | (bits as u32) << 12;
    (bits ^ (wide >> 7) as u16 ^ (wide >> 4) as u16) & 0xfff
}

/// The transpose of [`linear`]: places down.
pub const fn linear_transposed(bits: u16) -> u16 {
    let wide = bits as u32 | (bits as u32) << 12;
    (bits ^ (wide >> 5) as u16 ^ (wide >> 8) as u16) & 0xfff
}

const fn table() -> [u16; HALF] {
    let mut table = [0; HALF];
    let mut x = 0;
    while x < HALF {
        let y =
            SBOX[x & 15] as u16 | (SBOX[x >> 4 & 15] as u16) << 4 | (SBOX[x >> 8 & 15] as u16) << 8;
        table[x] = linear(y);
        x += 1;
    }
    table
}

/// The round function without its key.
static ROUND: [u16; HALF] = table();

/// The permutation with the round keys of a secret, as many as there are rounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permutation {
    round_keys: Vec<u16>,
}

impl Permutation {
    /// With these round keys, 12 bits each.
    pub fn new(round_keys: Vec<u16>) -> Self {
        Self { round_keys }
    }

    /// With random round keys.
    pub fn random(rounds: usize, rng: &mut Rng) -> Self {
        Self::new((0..rounds).map(|_| rng.below(HALF as u64) as u16).collect())
    }

    /// The round keys that the unit takes from a secret.
    pub fn of_secret(secret: [u32; 4], rounds: usize) -> Self {
        let bit = |n: usize| u16::from(secret[n / 32] >> (n % 32) & 1 == 1);
        let key = |r: usize| (0..12).fold(0, |key, b| key | bit(12 * r + b) << b);
        Self::new((0..rounds).map(key).collect())
    }

    /// One value through all rounds.
    #[inline]
    pub fn apply(&self, value: u32) -> u32 {
        let (mut left, mut right) = ((value >> 12) as u16, value as u16 & 0xfff);
        for key in &self.round_keys {
            let next = left ^ ROUND[usize::from((right ^ key) & 0xfff)];
            (left, right) = (right, next);
        }
        u32::from(left) << 12 | u32::from(right)
    }
}

/// Two words of 128 bits, the secrets of a unit.
pub fn secrets(rng: &mut Rng) -> ([u32; 4], [u32; 4]) {
    let mut word = || rng.next_u64() as u32;
    let first = std::array::from_fn(|_| word());
    (first, std::array::from_fn(|_| word()))
}

/// Compares this permutation with the golden reference at random places; the first place at which
/// they differ.
pub fn differs_from_reference(rng: &mut Rng, trials: u32) -> Option<u32> {
    (0..trials).find_map(|trial| {
        let (perm, tag) = secrets(rng);
        let maker = KeyMaker::new(perm, tag, false);
        let ours = Permutation::of_secret(perm, PERM_ROUNDS as usize);
        (0..256).find_map(|_| {
            let value = rng.below(1 << BITS) as u32;
            let role = if value & REMOTE == 0 {
                Role::Local
            } else {
                Role::Remote
            };
            let theirs = maker.field(role, value % REMOTE);
            (ours.apply(value) != theirs).then_some(trial)
        })
    })
}

/// How often each output bit flips when one bit of what goes in does.
#[derive(Clone, Debug, PartialEq)]
pub struct Avalanche {
    /// Trials of each input bit.
    pub trials: u64,
    /// Flips, by input bit and output bit.
    pub flips: Vec<[u64; BITS]>,
}

impl Avalanche {
    /// Of the bits of {role, index}, over `secrets` random secrets.
    pub fn of_input(rounds: usize, secrets: u32, per_secret: u32, rng: &mut Rng) -> Self {
        let mut flips = vec![[0; BITS]; BITS];
        for _ in 0..secrets {
            let permutation = Permutation::random(rounds, rng);
            for (bit, row) in flips.iter_mut().enumerate() {
                for _ in 0..per_secret {
                    let value = rng.below(1 << BITS) as u32;
                    let other = permutation.apply(value ^ 1 << bit);
                    count(row, permutation.apply(value) ^ other);
                }
            }
        }
        Self {
            trials: u64::from(secrets) * u64::from(per_secret),
            flips,
        }
    }

    /// Of the bits of the secret: 12 of each round key.
    pub fn of_secret(rounds: usize, secrets: u32, per_secret: u32, rng: &mut Rng) -> Self {
        let mut flips = vec![[0; BITS]; 12 * rounds];
        for _ in 0..secrets {
            let permutation = Permutation::random(rounds, rng);
            for (bit, row) in flips.iter_mut().enumerate() {
                let mut other = permutation.clone();
                other.round_keys[bit / 12] ^= 1 << (bit % 12);
                for _ in 0..per_secret {
                    let value = rng.below(1 << BITS) as u32;
                    count(row, permutation.apply(value) ^ other.apply(value));
                }
            }
        }
        Self {
            trials: u64::from(secrets) * u64::from(per_secret),
            flips,
        }
    }

    /// Those of one round key, out of [`Avalanche::of_secret`].
    pub fn of_round(&self, round: usize) -> Self {
        Self {
            trials: self.trials,
            flips: self.flips[12 * round..12 * round + 12].to_vec(),
        }
    }

    /// Output bits that flip, on average; half of them would be right.
    pub fn mean(&self) -> f64 {
        let all: u64 = self.flips.iter().flatten().sum();
        all as f64 / (self.trials * self.flips.len() as u64) as f64
    }

    /// Least and largest chance of a flip, of all pairs of bits.
    pub fn extremes(&self) -> (f64, f64) {
        let chance = |&n: &u64| n as f64 / self.trials as f64;
        let all = self.flips.iter().flatten().map(chance);
        all.fold((1.0, 0.0), |(least, most): (f64, f64), p| {
            (least.min(p), most.max(p))
        })
    }

    /// Chance of so large a distance from one half in all pairs together, if each is one half.
    pub fn p_value(&self) -> f64 {
        let n = self.trials as f64;
        let of = |&flips: &u64| (2.0 * flips as f64 - n).powi(2) / n;
        let x2 = self.flips.iter().flatten().map(of).sum();
        chi_square_p(x2, (self.flips.len() * BITS) as f64)
    }
}

fn count(row: &mut [u64; BITS], flipped: u32) {
    for (bit, flips) in row.iter_mut().enumerate() {
        *flips += u64::from(flipped >> bit & 1);
    }
}

/// p-values of one test over several secrets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PValues(pub Vec<f64>);

impl PValues {
    /// The smallest, times how many there are: the chance that one of them is so small.
    pub fn least(&self) -> f64 {
        let least = self.0.iter().copied().fold(1.0, f64::min);
        (least * self.0.len() as f64).min(1.0)
    }

    /// Whether they are spread evenly, see [`evenness`].
    pub fn even(&self) -> f64 {
        evenness(&self.0).unwrap_or(1.0)
    }

    /// Neither is smaller than `significance`.
    pub fn is_good(&self, significance: f64) -> bool {
        self.least() >= significance && self.even() >= significance
    }
}

/// Chi-square of `N` bins from values that are all different ones out of 2^24: as they are drawn
/// without putting back, the counts vary less.
fn p_without_return(counts: &[u64]) -> f64 {
    let (all, drawn) = ((1u64 << BITS) as f64, counts.iter().sum::<u64>() as f64);
    let x2 = chi_square(counts) * (all - 1.0) / (all - drawn);
    chi_square_p(x2, counts.len() as f64 - 1.0)
}

/// What the fields of consecutive indices look like: p-values of chi-square tests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields {
    /// Each of the three bytes of the fields.
    pub bytes: PValues,
    /// Each byte of the XOR of two fields that follow each other.
    pub steps: PValues,
    /// Each byte of the XOR of two fields whose indices are 4096 apart.
    pub strides: PValues,
}

impl Fields {
    /// Counts the fields of the indices 1 to [`COUNTED`] of R_Keys.
    pub fn count(&mut self, field: impl Fn(u32) -> u32) {
        let fields: Vec<u32> = (1..=COUNTED).map(field).collect();
        let mut bins = vec![[0u64; 256]; 9];
        for (n, &value) in fields.iter().enumerate() {
            for byte in 0..3 {
                let of = |value: u32| (value >> (8 * byte) & 0xff) as usize;
                bins[byte][of(value)] += 1;
                if let Some(next) = fields.get(n + 1) {
                    bins[3 + byte][of(value ^ next)] += 1;
                }
                if let Some(next) = fields.get(n + HALF) {
                    bins[6 + byte][of(value ^ next)] += 1;
                }
            }
        }
        for byte in 0..3 {
            self.bytes.0.push(p_without_return(&bins[byte]));
            let steps = [(3, &mut self.steps), (6, &mut self.strides)];
            for (first, values) in steps {
                let counts = &bins[first + byte];
                values.0.push(chi_square_p(chi_square(counts), 255.0));
            }
        }
    }

    /// Of random permutations of so many rounds.
    pub fn of_rounds(rounds: usize, secrets: u32, rng: &mut Rng) -> Self {
        let mut all = Self::default();
        for _ in 0..secrets {
            let permutation = Permutation::random(rounds, rng);
            all.count(|index| permutation.apply(REMOTE | index));
        }
        all
    }

    /// None of the tests is below `significance`.
    pub fn is_good(&self, significance: f64) -> bool {
        let all = [&self.bytes, &self.steps, &self.strides];
        all.iter().all(|values| values.is_good(significance))
    }
}

/// By rounds: output bits whose sum over a whole block of 2^`log` consecutive indices, which begins
/// at a multiple of its length, was 0 with every secret. A tenant that has such a block can tell
/// the permutation from a random one as long as there are any.
pub fn balanced_bits(log: u32, secrets: u32, rng: &mut Rng) -> [u32; MOST_ROUNDS] {
    let mut seen = [0u32; MOST_ROUNDS];
    for _ in 0..secrets {
        let permutation = Permutation::random(MOST_ROUNDS, rng);
        let first = REMOTE | (rng.below(u64::from(REMOTE)) as u32 >> log << log);
        let mut sums = [(0u16, 0u16); MOST_ROUNDS];
        for offset in 0..1u32 << log {
            let value = first | offset;
            let (mut left, mut right) = ((value >> 12) as u16, value as u16 & 0xfff);
            for (sum, key) in sums.iter_mut().zip(&permutation.round_keys) {
                let next = left ^ ROUND[usize::from((right ^ key) & 0xfff)];
                (left, right) = (right, next);
                (sum.0, sum.1) = (sum.0 ^ left, sum.1 ^ right);
            }
        }
        for (seen, sum) in seen.iter_mut().zip(sums) {
            *seen |= u32::from(sum.0) << 12 | u32::from(sum.1);
        }
    }
    seen.map(|bits| BITS as u32 - bits.count_ones())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_permutation_of_the_reference() {
        assert_eq!(differs_from_reference(&mut Rng::new(3), 32), None);
    }

    #[test]
    fn the_transpose_of_the_linear_layer() {
        for a in 0..12 {
            for b in 0..12 {
                let there = linear(1 << a) >> b & 1;
                assert_eq!(there, linear_transposed(1 << b) >> a & 1, "{a} {b}");
            }
        }
    }

    #[test]
    fn ten_rounds_pass_and_two_do_not() {
        let rng = &mut Rng::new(5);
        let ten = Avalanche::of_input(10, 8, 256, rng);
        assert!((ten.mean() - 12.0).abs() < 0.1, "{}", ten.mean());
        assert!(ten.p_value() > 1e-6, "{}", ten.p_value());
        let two = Avalanche::of_input(2, 8, 256, rng);
        assert!(two.p_value() < 1e-9);
        assert_eq!(two.extremes(), (0.0, 1.0));
        assert!(Fields::of_rounds(10, 4, rng).is_good(1e-6));
        assert!(!Fields::of_rounds(2, 4, rng).is_good(1e-6));
    }

    /// Planted lie: fields in the order of their indices.
    #[test]
    fn sequential_fields_are_told() {
        let mut fields = Fields::default();
        fields.count(|index| REMOTE | index);
        assert!(!fields.is_good(1e-6));
    }

    /// The last round key has no round behind it, so half of the output cannot flip.
    #[test]
    fn the_last_round_key_flips_one_half() {
        let all = Avalanche::of_secret(10, 4, 64, &mut Rng::new(7));
        assert_eq!(all.of_round(9).extremes().0, 0.0);
        assert!(all.of_round(0).extremes().0 > 0.2);
        assert!(all.of_round(9).mean() < 12.0);
    }

    /// What is added to all even round keys, and to all odd ones, can as well be added to the
    /// halves before the first round and behind the last one: 24 bits of the secret are no more
    /// than that.
    #[test]
    fn some_of_the_secret_is_outside() {
        let mut rng = Rng::new(11);
        let inside = Permutation::random(10, &mut rng);
        let (even, odd) = (0x5a3, 0x0f1);
        let mut changed = inside.clone();
        for (round, key) in changed.round_keys.iter_mut().enumerate() {
            *key ^= if round % 2 == 0 { even } else { odd };
        }
        let mask = u32::from(odd) << 12 | u32::from(even);
        for _ in 0..100 {
            let value = rng.below(1 << BITS) as u32;
            assert_eq!(changed.apply(value ^ mask), inside.apply(value) ^ mask);
        }
    }

    /// Of 16 consecutive indices one S-box sees every value once.
    #[test]
    fn sums_over_blocks() {
        let bits = balanced_bits(4, 16, &mut Rng::new(9));
        assert_eq!(bits[..3], [24, 24, 12]);
        assert_eq!(bits[9], 0);
    }
}
