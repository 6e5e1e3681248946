// SPDX-License-Identifier: Apache-2.0
//! Small fast random numbers and on/off patterns.

/// SplitMix64: every seed is good, one multiplication chain per number.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A generator; the same seed gives the same numbers.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound` (0 if `bound` is 0).
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// A number of an inclusive range.
    #[inline]
    pub fn range(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low).saturating_add(1))
    }

    /// True `n` times out of `of`.
    #[inline]
    pub fn chance(&mut self, n: u64, of: u64) -> bool {
        self.below(of) < n
    }
}

/// When a valid or ready is high.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pattern {
    /// In every clock.
    #[default]
    Always,
    /// Never, until the pattern is changed.
    Never,
    /// With probability `percent` / 100 in every clock.
    Random {
        /// 1 to 100.
        percent: u8,
    },
    /// `on` clocks high, then `off` clocks low, over and over.
    Cyclic {
        /// Clocks high.
        on: u16,
        /// Clocks low.
        off: u16,
    },
}

/// A pattern and where it is.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    pattern: Pattern,
    at: u16,
}

impl Gate {
    /// Starts a pattern.
    pub fn new(pattern: Pattern) -> Self {
        Self { pattern, at: 0 }
    }

    /// The pattern.
    pub fn pattern(&self) -> Pattern {
        self.pattern
    }

    /// Level of this clock.
    #[inline]
    pub fn next(&mut self, rng: &mut Rng) -> bool {
        match self.pattern {
            Pattern::Always => true,
            Pattern::Never => false,
            Pattern::Random { percent } => rng.chance(u64::from(percent), 100),
            Pattern::Cyclic { on, off } => {
                let high = self.at < on;
                self.at += 1;
                if self.at >= on + off {
                    self.at = 0;
                }
                high
            }
        }
    }
}

/// A number of clocks, drawn anew each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clocks {
    /// Least.
    pub min: u32,
    /// Most.
    pub max: u32,
}

impl Clocks {
    /// Always the same.
    pub const fn fixed(clocks: u32) -> Self {
        Self {
            min: clocks,
            max: clocks,
        }
    }

    /// Evenly spread over an inclusive range.
    pub const fn range(min: u32, max: u32) -> Self {
        Self { min, max }
    }

    /// Draws.
    #[inline]
    pub fn draw(self, rng: &mut Rng) -> u64 {
        if self.min >= self.max {
            u64::from(self.min)
        } else {
            rng.range(u64::from(self.min), u64::from(self.max))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_have_their_duty() {
        let mut rng = Rng::new(1);
        let mut count = |pattern| {
            let mut gate = Gate::new(pattern);
            (0..1000).filter(|_| gate.next(&mut rng)).count()
        };
        assert_eq!(count(Pattern::Always), 1000);
        assert_eq!(count(Pattern::Never), 0);
        assert_eq!(count(Pattern::Cyclic { on: 3, off: 1 }), 750);
        let random = count(Pattern::Random { percent: 30 });
        assert!((230..370).contains(&random), "{random}");
    }

    #[test]
    fn ranges_are_inclusive() {
        let mut rng = Rng::new(2);
        let mut seen = [0; 4];
        for _ in 0..400 {
            seen[Clocks::range(0, 3).draw(&mut rng) as usize] += 1;
        }
        assert!(seen.iter().all(|n| *n > 50), "{seen:?}");
        assert_eq!(Clocks::fixed(7).draw(&mut rng), 7);
    }
}
