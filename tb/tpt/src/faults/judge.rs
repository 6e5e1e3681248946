// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! What an answer under a fault is worth.

use std::ops::Range;

use tpt_golden::types::{Beat, Syndrome};

use super::class::Class;

/// How bad an outcome is, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The same answers as without the fault.
    Harmless,
    /// A syndrome or an error status, and no address that is not right.
    Reported,
    /// An address that is not the true one, inside memory that the host has given to the unit.
    SilentInside,
    /// An address outside of it.
    SilentOutside,
    /// What the rules forbid even under the fault.
    Wrong,
}

/// An answer and what it is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// How bad.
    pub severity: Severity,
    /// What is not right.
    pub why: Option<&'static str>,
}

impl Judged {
    const fn good(severity: Severity) -> Self {
        Self {
            severity,
            why: None,
        }
    }

    const fn wrong(why: &'static str) -> Self {
        Self {
            severity: Severity::Wrong,
            why: Some(why),
        }
    }
}

/// Which memory translated addresses may name: what the registers HOSTWIN say, and what the host
/// would write into them. Tables and the MPT are not in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostMemory {
    /// The windows.
    pub windows: Vec<Range<u64>>,
    /// The unit checks addresses against them: then none outside may come.
    pub checked: bool,
}

impl HostMemory {
    /// Do all bytes lie in one of the windows?
    pub fn contains(&self, pa: u64, len: u32) -> bool {
        let last = u64::from(len).saturating_sub(1);
        let Some(last) = pa.checked_add(last) else {
            return false;
        };
        self.windows
            .iter()
            .any(|window| window.contains(&pa) && window.contains(&last))
    }
}

/// What may have become of the answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Circumstances<'m> {
    /// Class of the fault.
    pub class: Class,
    /// The entry that decides about the request, or that of the window's region, is the one that
    /// was corrupted.
    pub entry_hit: bool,
    /// Memory of the host.
    pub memory: &'m HostMemory,
}

/// Judges the beats of a request. `expected` are the right answers, not merged: one, or several
/// where commands were under way at the same time. The best of them counts.
pub fn judge(actual: &[Beat], expected: &[Vec<Beat>], around: &Circumstances<'_>) -> Judged {
    if let Some(why) = broken(actual) {
        return Judged::wrong(why);
    }
    expected
        .iter()
        .map(|right| judge_one(actual, right, around))
        .min_by_key(|judged| judged.severity)
        .unwrap_or(Judged::wrong("an answer to nothing"))
}

/// Rules that no fault of memory excuses.
fn broken(actual: &[Beat]) -> Option<&'static str> {
    let lasts = actual.iter().filter(|beat| beat.last).count();
    if lasts != 1 || !actual.last().is_some_and(|beat| beat.last) {
        return Some("not exactly one last beat, at the end");
    }
    let refused_with_address = |beat: &Beat| {
        beat.syndrome != Syndrome::Ok && ((beat.pa, beat.len) != (0, 0) || !beat.last)
    };
    if actual.iter().any(refused_with_address) {
        return Some("a syndrome together with an address, or before the last beat");
    }
    None
}

fn judge_one(actual: &[Beat], right: &[Beat], around: &Circumstances<'_>) -> Judged {
    let end = |beats: &[Beat]| beats.last().map_or(Syndrome::Ok, |beat| beat.syndrome);
    let given = |beats: &[Beat]| beats.iter().map(|beat| u64::from(beat.len)).sum::<u64>();
    let mut worst: Option<Severity> = None;
    let mut at = 0;
    for beat in actual.iter().filter(|beat| beat.len > 0) {
        if !is_true(beat, at, right) {
            let inside = around.memory.contains(beat.pa, beat.len);
            let severity = match inside {
                true => Severity::SilentInside,
                false => Severity::SilentOutside,
            };
            worst = worst.max(Some(severity));
        }
        at += u64::from(beat.len);
    }
    let Some(severity) = worst else {
        // Every address is true. More of them than are right were found above.
        let same = given(actual) == given(right) && end(actual) == end(right);
        return match (same, end(actual)) {
            (true, _) => Judged::good(Severity::Harmless),
            // An OK that is one of no bytes, where there should be a refusal or more bytes.
            (false, Syndrome::Ok) => Judged::wrong("OK without all of its addresses"),
            (false, _) => Judged::good(Severity::Reported),
        };
    };
    let refused_by_rule = matches!(right, [only] if only.len == 0 && !from_walk(only.syndrome));
    match around.class {
        Class::Mpt(_) if around.entry_hit => {}
        Class::Mpt(_) => return Judged::wrong("a wrong address, and the entry was not corrupted"),
        Class::Mtt { .. } if refused_by_rule => {
            return Judged::wrong("an address for a request that a rule refuses")
        }
        Class::Mtt { .. } => {}
        _ => return Judged::wrong("a wrong address, and nothing was corrupted"),
    }
    if severity == Severity::SilentOutside && around.memory.checked {
        return Judged::wrong("an address outside of the host's windows");
    }
    Judged {
        severity,
        why: Some("not the true address"),
    }
}

/// Syndromes that say what the walk has met: what a corrupted table can take away.
fn from_walk(syndrome: Syndrome) -> bool {
    matches!(
        syndrome,
        Syndrome::MttAbsent | Syndrome::MttBad | Syndrome::Bus
    )
}

/// Do the bytes of a beat, which begin `at` bytes after the start of the request, lie where they
/// must? The beat may go over several pages that are neighbours.
fn is_true(beat: &Beat, at: u64, right: &[Beat]) -> bool {
    let (mut from, mut pa, mut left) = (at, beat.pa, u64::from(beat.len));
    let mut start = 0;
    for page in right.iter().filter(|page| page.len > 0) {
        let end = start + u64::from(page.len);
        if left > 0 && (start..end).contains(&from) {
            if page.pa.wrapping_add(from - start) != pa || page.relaxed != beat.relaxed {
                return false;
            }
            let part = left.min(end - from);
            (from, pa, left) = (from + part, pa.wrapping_add(part), left - part);
        }
        start = end;
    }
    left == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::class::{MptFault, MttFault};
    use tpt_golden::types::Encoding;

    const MTT: Class = Class::Mtt {
        encoding: Encoding::Raw,
        directory: false,
        fault: MttFault::OneBit,
    };

    fn ok(pa: u64, len: u32, first: bool, last: bool) -> Beat {
        Beat {
            tag: 1,
            stream: 2,
            syndrome: Syndrome::Ok,
            pa,
            len,
            relaxed: false,
            first,
            last,
        }
    }

    fn refused(syndrome: Syndrome, first: bool) -> Beat {
        Beat {
            syndrome,
            ..ok(0, 0, first, true)
        }
    }

    fn right() -> Vec<Vec<Beat>> {
        vec![vec![
            ok(0x1800, 0x800, true, false),
            ok(0x2000, 0x1000, false, false),
            ok(0x7000, 0x10, false, true),
        ]]
    }

    fn memory(checked: bool) -> HostMemory {
        HostMemory {
            windows: vec![0x1000..0x1_0000, 0x8_0000..0x9_0000],
            checked,
        }
    }

    fn of(actual: &[Beat], expected: &[Vec<Beat>], class: Class) -> Severity {
        let memory = memory(false);
        let around = Circumstances {
            class,
            entry_hit: true,
            memory: &memory,
        };
        judge(actual, expected, &around).severity
    }

    #[test]
    fn the_same_answer_is_harmless_merged_or_not() {
        assert_eq!(of(&right()[0], &right(), MTT), Severity::Harmless);
        let merged = [
            ok(0x1800, 0x1800, true, false),
            ok(0x7000, 0x10, false, true),
        ];
        assert_eq!(of(&merged, &right(), MTT), Severity::Harmless);
        let refusal = vec![refused(Syndrome::Rights, true)];
        assert_eq!(
            of(&refusal, std::slice::from_ref(&refusal), MTT),
            Severity::Harmless
        );
    }

    #[test]
    fn a_syndrome_behind_true_addresses_is_a_report() {
        for syndrome in [Syndrome::MttAbsent, Syndrome::MttBad, Syndrome::Bus] {
            let actual = [ok(0x1800, 0x800, true, false), refused(syndrome, false)];
            assert_eq!(of(&actual, &right(), MTT), Severity::Reported);
        }
        let other = [refused(Syndrome::MptBad, true)];
        let expected = vec![vec![refused(Syndrome::Rights, true)]];
        let mpt = Class::Mpt(MptFault::OneBit);
        assert_eq!(of(&other, &expected, mpt), Severity::Reported);
    }

    #[test]
    fn a_wrong_address_is_never_a_report() {
        // Planted lies: the wrong address is the first, the last, a part of a merged beat, or stands
        // before a syndrome.
        let lies = [
            vec![
                ok(0x3800, 0x800, true, false),
                refused(Syndrome::MttBad, false),
            ],
            vec![
                ok(0x1800, 0x1800, true, false),
                ok(0x8_0000, 0x10, false, true),
            ],
            vec![ok(0x1800, 0x1810, true, true)],
        ];
        for lie in &lies {
            assert_eq!(of(lie, &right(), MTT), Severity::SilentInside, "{lie:?}");
        }
        let outside = vec![
            ok(0x7_0000, 0x800, true, false),
            refused(Syndrome::Bus, false),
        ];
        assert_eq!(of(&outside, &right(), MTT), Severity::SilentOutside);
        // Half in, half out.
        let edge = vec![ok(0xf800, 0x1810, true, true)];
        assert_eq!(of(&edge, &right(), MTT), Severity::SilentOutside);
        let wraps = vec![ok(!0, 0x1810, true, true)];
        assert_eq!(of(&wraps, &right(), MTT), Severity::SilentOutside);
    }

    #[test]
    fn a_right_address_with_another_attribute_is_not_harmless() {
        let mut actual = right()[0].clone();
        actual[1].relaxed = true;
        assert_eq!(of(&actual, &right(), MTT), Severity::SilentInside);
    }

    #[test]
    fn what_no_fault_excuses() {
        let address = vec![ok(0x1800, 8, true, true)];
        let by_rule = vec![vec![refused(Syndrome::Bounds, true)]];
        let by_walk = vec![vec![refused(Syndrome::MttAbsent, true)]];
        assert_eq!(of(&address, &by_rule, MTT), Severity::Wrong);
        assert_eq!(of(&address, &by_walk, MTT), Severity::SilentInside);
        // Nothing in memory was changed, or not this entry.
        for class in [Class::Late, Class::Reset, Class::Request] {
            assert_eq!(of(&address, &by_walk, class), Severity::Wrong);
        }
        let memory = memory(false);
        let around = Circumstances {
            class: Class::Mpt(MptFault::Words),
            entry_hit: false,
            memory: &memory,
        };
        assert_eq!(judge(&address, &by_rule, &around).severity, Severity::Wrong);
        // Two last beats, none, or a syndrome with an address.
        let mut twice = right()[0].clone();
        twice[1].last = true;
        assert_eq!(of(&twice, &right(), MTT), Severity::Wrong);
        assert_eq!(of(&right()[0][..2], &right(), MTT), Severity::Wrong);
        assert_eq!(of(&[], &right(), MTT), Severity::Wrong);
        let mut both = right()[0].clone();
        both[2].syndrome = Syndrome::MttBad;
        assert_eq!(of(&both, &right(), MTT), Severity::Wrong);
        // OK, but bytes are missing.
        let short = vec![ok(0x1800, 0x800, true, true)];
        assert_eq!(of(&short, &right(), MTT), Severity::Wrong);
        // An answer that belongs to nothing.
        assert_eq!(of(&address, &[], MTT), Severity::Wrong);
    }

    #[test]
    fn with_windows_in_force_nothing_comes_from_outside() {
        let actual = vec![ok(0x7_0000, 0x1810, true, true)];
        for (checked, severity) in [(false, Severity::SilentOutside), (true, Severity::Wrong)] {
            let memory = memory(checked);
            let around = Circumstances {
                class: MTT,
                entry_hit: true,
                memory: &memory,
            };
            assert_eq!(judge(&actual, &right(), &around).severity, severity);
        }
    }

    #[test]
    fn in_a_race_the_best_of_the_right_answers_counts() {
        let both = vec![vec![refused(Syndrome::KeyState, true)], right()[0].clone()];
        assert_eq!(of(&right()[0], &both, MTT), Severity::Harmless);
        let refusal = [refused(Syndrome::KeyState, true)];
        assert_eq!(of(&refusal, &both, MTT), Severity::Harmless);
    }
}
