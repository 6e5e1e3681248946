// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! The few distributions that the measures are judged by, in double precision.

/// Natural logarithm of the gamma function, for x > 0 (Lanczos).
pub fn ln_gamma(x: f64) -> f64 {
    const G: f64 = 7.0;
    const C: [f64; 9] = [
        0.999_999_999_999_809_9,
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    let x = x - 1.0;
    let sum = (1..9).fold(C[0], |sum, n| sum + C[n] / (x + n as f64));
    let t = x + G + 0.5;
    0.5 * std::f64::consts::TAU.ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

/// Upper regularised incomplete gamma function Q(a, x).
pub fn gamma_q(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    let front = (a * x.ln() - x - ln_gamma(a)).exp();
    if x < a + 1.0 {
        // Series of P.
        let (mut term, mut sum, mut n) = (1.0 / a, 1.0 / a, a);
        for _ in 0..100_000 {
            n += 1.0;
            term *= x / n;
            sum += term;
            if term < sum * 1e-16 {
                break;
            }
        }
        return (1.0 - front * sum).clamp(0.0, 1.0);
    }
    // Continued fraction of Q (Lentz).
    const TINY: f64 = 1e-300;
    let mut b = x + 1.0 - a;
    let mut c = 1.0 / TINY;
    let mut d = 1.0 / b;
    let mut h = d;
    for n in 1..100_000 {
        let an = -f64::from(n) * (f64::from(n) - a);
        b += 2.0;
        d = an * d + b;
        d = if d.abs() < TINY { TINY } else { d };
        c = b + an / c;
        c = if c.abs() < TINY { TINY } else { c };
        d = 1.0 / d;
        h *= d * c;
        if (d * c - 1.0).abs() < 1e-15 {
            break;
        }
    }
    (front * h).clamp(0.0, 1.0)
}

/// Chance that a chi-square of so many degrees of freedom is at least `x2`.
pub fn chi_square_p(x2: f64, degrees: f64) -> f64 {
    gamma_q(degrees / 2.0, x2 / 2.0)
}

/// Chi-square of counts against equal chances of all of them.
pub fn chi_square(counts: &[u64]) -> f64 {
    let total: u64 = counts.iter().sum();
    let expected = total as f64 / counts.len() as f64;
    let of = |&count: &u64| (count as f64 - expected).powi(2) / expected;
    counts.iter().map(of).sum()
}

/// Chance of a distance as large as that of these p-values from even ones (Kolmogorov and Smirnov,
/// with Stephens' correction for few values). `None` without values.
pub fn evenness(p_values: &[f64]) -> Option<f64> {
    if p_values.is_empty() {
        return None;
    }
    let mut sorted = p_values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let distance = sorted.iter().enumerate().fold(0.0, |most: f64, (i, p)| {
        let i = i as f64;
        most.max((i + 1.0) / n - p).max(p - i / n)
    });
    let t = distance * (n.sqrt() + 0.12 + 0.11 / n.sqrt());
    if t < 0.2 {
        return Some(1.0);
    }
    let term = |k: i32| {
        let sign = if k % 2 == 1 { 1.0 } else { -1.0 };
        sign * (-2.0 * f64::from(k * k) * t * t).exp()
    };
    Some((2.0 * (1..100).map(term).sum::<f64>()).clamp(0.0, 1.0))
}

/// The chance `p` of each of `trials` trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Binomial {
    /// Trials.
    pub trials: u64,
    /// Chance of each.
    pub p: f64,
}

impl Binomial {
    /// The hits that are to be expected.
    pub fn mean(self) -> f64 {
        self.trials as f64 * self.p
    }

    fn ln_pmf(self, hits: u64) -> f64 {
        let (n, k) = (self.trials as f64, hits as f64);
        ln_gamma(n + 1.0) - ln_gamma(k + 1.0) - ln_gamma(n - k + 1.0)
            + k * self.p.ln()
            + (n - k) * (-self.p).ln_1p()
    }

    /// The hits from least to most outside of which are, on each side, at most `(1 - confidence) /
    /// 2` of all outcomes.
    pub fn interval(self, confidence: f64) -> (u64, u64) {
        if self.p <= 0.0 || self.trials == 0 {
            return (0, 0);
        }
        if self.p >= 1.0 {
            return (self.trials, self.trials);
        }
        let tail = (1.0 - confidence) / 2.0;
        let deviation = (self.mean() * (1.0 - self.p)).sqrt();
        // Beyond this there is less than rounding shows.
        let far = 12.0 * deviation + 60.0;
        let first = (self.mean() - far).max(0.0) as u64;
        let last = ((self.mean() + far) as u64).min(self.trials);
        let mut below = 0.0;
        let mut least = first;
        for hits in first..=last {
            below += self.ln_pmf(hits).exp();
            if below > tail {
                least = hits;
                break;
            }
        }
        let mut above = 0.0;
        let mut most = last;
        for hits in (first..=last).rev() {
            above += self.ln_pmf(hits).exp();
            if above > tail {
                most = hits;
                break;
            }
        }
        (least, most)
    }
}

/// The largest chance that makes so few hits in so many trials no rarer than `1 - confidence`
/// (Clopper and Pearson, one side).
pub fn chance_at_most(hits: u64, trials: u64, confidence: f64) -> f64 {
    if hits >= trials {
        return 1.0;
    }
    let tail = 1.0 - confidence;
    // P(at most `hits`) falls as the chance grows.
    let (mut low, mut high) = (hits as f64 / trials as f64, 1.0);
    for _ in 0..200 {
        let p = (low + high) / 2.0;
        let binomial = Binomial { trials, p };
        let sum: f64 = (0..=hits).map(|k| binomial.ln_pmf(k).exp()).sum();
        if sum > tail {
            low = p;
        } else {
            high = p;
        }
        if high - low < high * 1e-9 {
            break;
        }
    }
    high
}

/// The largest mean of a Poisson distribution that makes so few events no rarer than
/// `1 - confidence`.
pub fn events_at_most(events: u64, confidence: f64) -> f64 {
    let tail = 1.0 - confidence;
    let (mut low, mut high) = (events as f64, 2.0 * events as f64 + 60.0);
    for _ in 0..200 {
        let mean = (low + high) / 2.0;
        // P(at most k of mean m) = Q(k + 1, m).
        if gamma_q(events as f64 + 1.0, mean) > tail {
            low = mean;
        } else {
            high = mean;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() <= tolerance, "{a} is not {b}");
    }

    #[test]
    fn known_values_of_gamma() {
        near(ln_gamma(1.0), 0.0, 1e-12);
        near(ln_gamma(0.5), std::f64::consts::PI.sqrt().ln(), 1e-12);
        near(ln_gamma(11.0), 3_628_800f64.ln(), 1e-10);
        // Q(1, x) = exp(-x), on both sides of the switch between series and fraction.
        for x in [0.1, 1.0, 1.9, 2.1, 10.0, 50.0] {
            near(gamma_q(1.0, x), (-x).exp(), 1e-13);
        }
    }

    /// Values of tables of the chi-square distribution.
    #[test]
    fn known_values_of_chi_square() {
        near(chi_square_p(3.841, 1.0), 0.05, 1e-4);
        near(chi_square_p(18.307, 10.0), 0.05, 1e-4);
        near(chi_square_p(310.457, 255.0), 0.01, 1e-4);
        assert_eq!(chi_square(&[10, 10, 10]), 0.0);
        near(chi_square(&[20, 10, 0]), 20.0, 1e-12);
    }

    #[test]
    fn even_and_uneven_p_values() {
        let even: Vec<f64> = (0..50).map(|n| (f64::from(n) + 0.5) / 50.0).collect();
        assert!(evenness(&even) > Some(0.999));
        let uneven: Vec<f64> = even.iter().map(|p| p * p * p).collect();
        assert!(evenness(&uneven) < Some(1e-6));
        assert_eq!(evenness(&[]), None);
    }

    /// The exact binomial of a small case, and the mean of a large one.
    #[test]
    fn intervals_hold_what_they_say() {
        // Of 10 throws of a coin, 0 and 10 have 1/1024 each, 1 and 9 have 10/1024.
        let coin = Binomial { trials: 10, p: 0.5 };
        assert_eq!(coin.interval(1.0 - 2.0 * 0.0009), (0, 10));
        assert_eq!(coin.interval(1.0 - 2.0 * 0.0010), (1, 9));
        assert_eq!(coin.interval(1.0 - 2.0 * 0.0110), (2, 8));
        let many = Binomial {
            trials: 1 << 22,
            p: 1.0 / 256.0,
        };
        let (least, most) = many.interval(0.9999);
        let deviation = (many.mean() * (1.0 - many.p)).sqrt();
        near(least as f64, many.mean() - 3.89 * deviation, 3.0);
        near(most as f64, many.mean() + 3.89 * deviation, 3.0);
        assert_eq!(Binomial { trials: 9, p: 0.0 }.interval(0.9999), (0, 0));
    }

    #[test]
    fn bounds_from_few_hits() {
        // The rule of three.
        near(chance_at_most(0, 1000, 0.95), 0.003, 1e-4);
        near(events_at_most(0, 0.95), 2.9957, 1e-3);
        near(events_at_most(10, 0.95), 16.96, 1e-2);
        assert_eq!(chance_at_most(5, 5, 0.95), 1.0);
    }
}
