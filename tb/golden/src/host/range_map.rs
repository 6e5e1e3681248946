// SPDX-License-Identifier: Apache-2.0
//! A map from numbers to values that stores runs instead of single entries.
//!
//! Page tables, pin counts and the free list all describe long runs of neighbours. Stored as runs, a
//! 64 GiB mapping is a handful of nodes instead of 16,777,216.

use std::collections::BTreeMap;

/// A value that is stored for a run of keys.
///
/// The stored value belongs to the first key of the run; [`advance`](Extent::advance) says what the
/// value of the key `n` places further is. A constant returns itself, a frame number adds `n`.
pub(crate) trait Extent: Clone + PartialEq {
    /// The value `n` keys after this one.
    fn advance(&self, n: u64) -> Self;
}

impl Extent for () {
    fn advance(&self, _n: u64) -> Self {}
}

/// A run of `len` keys from `start` on; `value` is that of `start`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece<V> {
    pub start: u64,
    pub len: u64,
    pub value: V,
}

impl<V> Piece<V> {
    /// First key after the run.
    pub fn end(&self) -> u64 {
        self.start + self.len
    }
}

/// Map from keys below 2^63 to values, stored as maximal runs.
#[derive(Clone, Debug)]
pub(crate) struct RangeMap<V> {
    runs: BTreeMap<u64, (u64, V)>,
}

impl<V> Default for RangeMap<V> {
    fn default() -> Self {
        Self {
            runs: BTreeMap::new(),
        }
    }
}

impl<V: Extent> RangeMap<V> {
    /// The value of `key`.
    pub fn get(&self, key: u64) -> Option<V> {
        self.run_at(key).map(|p| p.value.advance(key - p.start))
    }

    /// The whole run that holds `key`.
    pub fn run_at(&self, key: u64) -> Option<Piece<V>> {
        let (&start, (len, value)) = self.runs.range(..=key).next_back()?;
        (key - start < *len).then(|| Piece {
            start,
            len: *len,
            value: value.clone(),
        })
    }

    /// The first run that ends after `key`.
    pub fn run_from(&self, key: u64) -> Option<Piece<V>> {
        self.run_at(key).or_else(|| {
            let (&start, (len, value)) = self.runs.range(key..).next()?;
            Some(Piece {
                start,
                len: *len,
                value: value.clone(),
            })
        })
    }

    /// All runs in order.
    pub fn iter(&self) -> impl Iterator<Item = Piece<V>> + '_ {
        self.runs.iter().map(|(&start, (len, value))| Piece {
            start,
            len: *len,
            value: value.clone(),
        })
    }

    /// The runs inside `[start, start + len)`, clipped to it.
    pub fn within(&self, start: u64, len: u64) -> impl Iterator<Item = Piece<V>> + '_ {
        let end = start + len;
        let first = match self.runs.range(..=start).next_back() {
            Some((&s, (l, _))) if start - s < *l => s,
            _ => start,
        };
        self.runs.range(first..end).map(move |(&s, (l, value))| {
            let from = s.max(start);
            Piece {
                start: from,
                len: (s + l).min(end) - from,
                value: value.advance(from - s),
            }
        })
    }

    /// The parts of `[start, start + len)` that have no value, as (first key, count).
    pub fn gaps(&self, start: u64, len: u64) -> Vec<(u64, u64)> {
        let mut gaps = Vec::new();
        let mut next = start;
        for p in self.within(start, len) {
            if p.start > next {
                gaps.push((next, p.start - next));
            }
            next = p.end();
        }
        if next < start + len {
            gaps.push((next, start + len - next));
        }
        gaps
    }

    /// Removes `[start, start + len)` and returns what was there.
    pub fn take(&mut self, start: u64, len: u64) -> Vec<Piece<V>> {
        if len == 0 {
            return Vec::new();
        }
        self.split(start);
        self.split(start + len);
        let keys: Vec<u64> = self
            .runs
            .range(start..start + len)
            .map(|(&s, _)| s)
            .collect();
        keys.into_iter()
            .filter_map(|s| {
                let (len, value) = self.runs.remove(&s)?;
                Some(Piece {
                    start: s,
                    len,
                    value,
                })
            })
            .collect()
    }

    /// Sets `len` keys from `start` on; neighbours that continue the run are joined to it.
    pub fn insert(&mut self, start: u64, len: u64, value: V) {
        if len == 0 {
            return;
        }
        self.take(start, len);
        let (mut start, mut len, mut value) = (start, len, value);
        if let Some((&s, (l, v))) = self.runs.range(..start).next_back() {
            if s + l == start && v.advance(*l) == value {
                (start, len, value) = (s, l + len, v.clone());
                self.runs.remove(&s);
            }
        }
        if let Some((l, v)) = self.runs.get(&(start + len)) {
            if *v == value.advance(len) {
                let l = *l;
                self.runs.remove(&(start + len));
                len += l;
            }
        }
        self.runs.insert(start, (len, value));
    }

    /// Number of keys that have a value.
    pub fn keys(&self) -> u64 {
        self.runs.values().map(|(len, _)| *len).sum()
    }

    fn split(&mut self, at: u64) {
        let Some((&s, (len, value))) = self.runs.range_mut(..at).next_back() else {
            return;
        };
        if at - s < *len {
            let tail = (*len - (at - s), value.advance(at - s));
            *len = at - s;
            self.runs.insert(at, tail);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Frame(u64);
    impl Extent for Frame {
        fn advance(&self, n: u64) -> Self {
            Frame(self.0 + n)
        }
    }

    #[test]
    fn neighbours_join_only_if_they_continue() {
        let mut m = RangeMap::default();
        m.insert(10, 5, Frame(100));
        m.insert(20, 5, Frame(110));
        m.insert(15, 5, Frame(105));
        assert_eq!(m.iter().count(), 1);
        assert_eq!(m.get(24), Some(Frame(114)));
        m.insert(25, 1, Frame(116));
        assert_eq!(m.iter().count(), 2);
        assert_eq!(m.gaps(5, 30), vec![(5, 5), (26, 9)]);
    }

    proptest! {
        /// Against a plain map of single keys.
        #[test]
        fn equals_plain_map(ops in prop::collection::vec(
            (0u64..64, 1u64..20, 0u64..4, any::<bool>()), 1..60)) {
            let mut m = RangeMap::default();
            let mut plain: HashMap<u64, u64> = HashMap::new();
            for (start, len, base, insert) in ops {
                if insert {
                    m.insert(start, len, Frame(base * 100 + start));
                    for k in start..start + len {
                        plain.insert(k, base * 100 + k);
                    }
                } else {
                    let got: u64 = m.take(start, len).iter().map(|p| p.len).sum();
                    let want = (start..start + len).filter(|k| plain.remove(k).is_some()).count();
                    prop_assert_eq!(got, want as u64);
                }
                for k in 0..90 {
                    prop_assert_eq!(m.get(k).map(|f| f.0), plain.get(&k).copied());
                }
                prop_assert_eq!(m.keys(), plain.len() as u64);
                let seen: u64 = m.within(10, 30).map(|p| p.len).sum();
                let gap: u64 = m.gaps(10, 30).iter().map(|g| g.1).sum();
                prop_assert_eq!(seen + gap, 30);
                let runs: Vec<_> = m.iter().collect();
                for w in runs.windows(2) {
                    let joined = w[0].end() == w[1].start
                        && w[0].value.advance(w[0].len) == w[1].value;
                    prop_assert!(!joined, "two runs that should be one");
                }
            }
        }
    }
}
