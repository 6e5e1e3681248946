// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! What an attacker makes of what it has seen: a rule that is learnt, and how often it was right.

use std::collections::BTreeMap;

use serde_json::{json, Value};

/// Quantile of the normal distribution for an interval of 95 %.
const Z95: f64 = 1.96;
/// And for one of 99.99 %.
const Z9999: f64 = 3.891;
/// From so many trials on the limits of [`Score::is_coin`] are fixed.
pub const FULL: u64 = 10_000;
/// What those limits leave beside one half.
const BESIDE: f64 = 0.02;
/// An attack that is right less often without isolation proves nothing.
const WORKS: f64 = 0.75;
/// What was seen as a whole counts if it was seen so often in training; else its parts do.
const ENOUGH: u32 = 8;

/// One trial: the secret, and the latencies that the attacker has measured, in clocks, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// The bit.
    pub secret: bool,
    /// The latencies.
    pub seen: Vec<u32>,
}

/// How often something was seen with the secret 0, and 1.
type Counts = [u32; 2];

/// A rule that guesses the secret from the latencies.
///
/// It is learnt from trials whose secret the attacker knows, and from nothing else. It looks at exact
/// latencies, all of a trial together, so that it finds any difference that comes again, whatever its
/// cause; of what it has seldom seen it adds up what each single latency says.
#[derive(Clone, Debug, Default)]
pub struct Rule {
    whole: BTreeMap<Vec<u32>, Counts>,
    places: Vec<BTreeMap<u32, Counts>>,
    all: Counts,
}

impl Rule {
    /// Learns.
    pub fn learn(trials: &[Trial]) -> Self {
        let mut rule = Self::default();
        for trial in trials {
            let bit = usize::from(trial.secret);
            rule.all[bit] += 1;
            rule.whole.entry(trial.seen.clone()).or_default()[bit] += 1;
            if rule.places.len() < trial.seen.len() {
                rule.places.resize_with(trial.seen.len(), BTreeMap::new);
            }
            for (place, latency) in rule.places.iter_mut().zip(&trial.seen) {
                place.entry(*latency).or_default()[bit] += 1;
            }
        }
        rule
    }

    /// Guesses.
    pub fn guess(&self, seen: &[u32]) -> bool {
        if let Some([zeros, ones]) = self.whole.get(seen) {
            if zeros + ones >= ENOUGH && zeros != ones {
                return ones > zeros;
            }
        }
        // One is added to each count: what was never seen with a secret is rare, not impossible.
        let likely = |count: u32, of: u32| (f64::from(count + 1) / f64::from(of + 2)).ln();
        let mut balance = 0.0;
        for (place, latency) in self.places.iter().zip(seen) {
            let [zeros, ones] = place.get(latency).copied().unwrap_or_default();
            balance += likely(ones, self.all[1]) - likely(zeros, self.all[0]);
        }
        balance > 0.0
    }

    /// How often it is right.
    pub fn score(&self, trials: &[Trial]) -> Score {
        let right = |trial: &&Trial| self.guess(&trial.seen) == trial.secret;
        let mut kinds = BTreeMap::new();
        for trial in trials {
            *kinds.entry(&trial.seen).or_insert(0u32) += 1;
        }
        Score {
            trials: trials.len() as u64,
            right: trials.iter().filter(right).count() as u64,
            kinds: kinds.len() as u64,
        }
    }
}

/// How often a rule was right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// Trials.
    pub trials: u64,
    /// Of them guessed right.
    pub right: u64,
    /// Different observations among them. One: there was nothing to see.
    pub kinds: u64,
}

impl Score {
    /// The share that was guessed right.
    pub fn accuracy(&self) -> f64 {
        self.right as f64 / self.trials.max(1) as f64
    }

    /// Where the true share lies with 95 % (Wilson's interval).
    pub fn interval(&self) -> (f64, f64) {
        let n = self.trials.max(1) as f64;
        let z2 = Z95 * Z95;
        let middle = (self.accuracy() + z2 / (2.0 * n)) / (1.0 + z2 / n);
        let p = self.accuracy();
        let half = Z95 / (1.0 + z2 / n) * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
        ((middle - half).max(0.0), (middle + half).min(1.0))
    }

    /// Not better and not worse than a coin: 48 to 52 % from [`FULL`] trials on, of fewer what a coin
    /// reaches in 99.99 % of all cases.
    pub fn is_coin(&self) -> bool {
        let beside = (self.accuracy() - 0.5).abs();
        // 0.52 - 0.5 is a little more than 0.02.
        self.trials > 0 && beside <= Self::beside(self.trials) + 1e-12
    }

    /// What may lie between the share and one half.
    pub fn beside(trials: u64) -> f64 {
        if trials >= FULL {
            return BESIDE;
        }
        Z9999 * 0.5 / (trials.max(1) as f64).sqrt()
    }

    /// The attack works.
    pub fn works(&self) -> bool {
        self.trials > 0 && self.accuracy() >= WORKS
    }

    /// For machines.
    pub fn json(&self) -> Value {
        let (low, high) = self.interval();
        json!({
            "trials": self.trials,
            "right": self.right,
            "accuracy": self.accuracy(),
            "low": low,
            "high": high,
            "kinds": self.kinds,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tpt_bench::rng::Rng;

    fn trials(n: u64, seed: u64, mut see: impl FnMut(bool, &mut Rng) -> Vec<u32>) -> Vec<Trial> {
        let mut rng = Rng::new(seed);
        let mut one = || {
            let secret = rng.chance(1, 2);
            let seen = see(secret, &mut rng);
            Trial { secret, seen }
        };
        (0..n).map(|_| one()).collect()
    }

    fn score(see: impl FnMut(bool, &mut Rng) -> Vec<u32> + Copy) -> Score {
        Rule::learn(&trials(400, 1, see)).score(&trials(10_000, 2, see))
    }

    #[test]
    fn what_depends_on_the_secret_is_found() {
        let slower = score(|secret, _| vec![17, 17 + 40 * u32::from(secret)]);
        assert_eq!((slower.right, slower.kinds), (10_000, 2));
        assert!(slower.works() && !slower.is_coin());
        // A single clock, and one that only both places together tell.
        assert_eq!(
            score(|secret, _| vec![17 + u32::from(secret)]).right,
            10_000
        );
        let both = score(|secret, rng| {
            let mask = rng.chance(1, 2);
            vec![17 + u32::from(mask), 17 + u32::from(mask ^ secret)]
        });
        assert_eq!(both.right, 10_000);
        // In noise, so that no observation comes twice.
        let noisy = score(|secret, rng| {
            let noise = (0..8).map(|_| 100 + rng.below(1000) as u32);
            noise.chain([17 + u32::from(secret)]).collect()
        });
        assert!(noisy.accuracy() > 0.95, "{noisy:?}");
    }

    #[test]
    fn what_does_not_is_a_coin() {
        let silent = score(|_, _| vec![17; 9]);
        assert!(silent.is_coin() && silent.kinds == 1, "{silent:?}");
        let noise = score(|_, rng| vec![rng.below(3) as u32, rng.below(100) as u32]);
        assert!(noise.is_coin() && !noise.works(), "{noise:?}");
    }

    #[test]
    fn limits() {
        let of = |right, trials| Score {
            trials,
            right,
            kinds: 1,
        };
        assert!(of(4800, 10_000).is_coin() && of(5200, 10_000).is_coin());
        assert!(!of(4799, 10_000).is_coin() && !of(5201, 10_000).is_coin());
        assert!(of(69, 100).is_coin() && !of(70, 100).is_coin());
        assert!(of(31, 100).is_coin() && !of(30, 100).is_coin());
        assert!(of(75, 100).works() && !of(74, 100).works());
        assert!(!of(0, 0).is_coin() && !of(0, 0).works());
        let (low, high) = of(5000, 10_000).interval();
        assert!((low - 0.4902).abs() < 1e-4 && (high - 0.5098).abs() < 1e-4);
        let (low, high) = of(100, 100).interval();
        assert!(low > 0.96 && high > 1.0 - 1e-9);
    }
}
