// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! What an answer under a fault is worth.

use std::ops::Range;

use tpt_golden::types::{Beat, Status, Syndrome};

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

/// What of that which a request or a command needs was corrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hit<'m> {
    /// Nothing: the answer must be the right one.
    Nothing,
    /// The entry that decides about it, or that of its window's region.
    Entry {
        /// The CRC of the entry, or its place, says so.
        found: bool,
    },
    /// Entries of the table, which are about these bytes of the request.
    Bytes(&'m [Range<u64>]),
}

impl Hit<'_> {
    /// May what is said about these bytes of the request be false?
    fn excuses(&self, bytes: Range<u64>) -> bool {
        match self {
            Hit::Nothing => false,
            Hit::Entry { .. } => true,
            Hit::Bytes(hit) => {
                (hit.iter()).any(|hit| hit.start <= bytes.start && bytes.end <= hit.end)
            }
        }
    }
}

/// What may have become of the answer to a request or a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Circumstances<'m> {
    /// Class of the fault.
    pub class: Class,
    /// What of all that the request needs was corrupted.
    pub hit: Hit<'m>,
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
    let refused_by_rule = matches!(right, [only] if only.len == 0 && !from_walk(only.syndrome));
    let mut worst: Option<Severity> = None;
    let mut at = 0;
    for beat in actual.iter().filter(|beat| beat.len > 0) {
        for bytes in falsehoods(beat, at, right) {
            let of_table = matches!(around.class, Class::Mtt { .. });
            if of_table && refused_by_rule {
                return Judged::wrong("an address for a request that a rule refuses");
            }
            if !matches!(around.class, Class::Mpt(_) | Class::Mtt { .. }) {
                return Judged::wrong("a wrong address, and nothing was corrupted");
            }
            if !around.hit.excuses(bytes) {
                return Judged::wrong("a wrong address by an entry that was not corrupted");
            }
            let inside = around.memory.contains(beat.pa, beat.len);
            let severity = match inside {
                true => Severity::SilentInside,
                false => Severity::SilentOutside,
            };
            worst = worst.max(Some(severity));
        }
        let differs = |page: &&Beat| page.len > 0 && page.relaxed != beat.relaxed;
        if right.iter().any(|page| differs(&page)) {
            // The attribute is one of the region: no table has it.
            match (around.class, around.hit) {
                (Class::Mpt(_), Hit::Entry { .. }) => {
                    worst = worst.max(Some(Severity::SilentInside));
                }
                _ => return Judged::wrong("an attribute that the region does not have"),
            }
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
            (false, syndrome) => judge_refusal(syndrome, at, refused_by_rule, around),
        };
    };
    if severity == Severity::SilentOutside && around.memory.checked {
        return Judged::wrong("an address outside of the host's windows");
    }
    Judged {
        severity,
        why: Some("not the true address"),
    }
}

/// A syndrome that is not the right one, behind `at` bytes with their true addresses.
fn judge_refusal(
    syndrome: Syndrome,
    at: u64,
    refused_by_rule: bool,
    around: &Circumstances<'_>,
) -> Judged {
    let reported = Judged::good(Severity::Reported);
    match (around.class, around.hit) {
        // What is in flight when the unit is disabled.
        (Class::Disable, _) if syndrome == Syndrome::Disabled => reported,
        (Class::Disable, _) => Judged::wrong("of a unit that is disabled, but not DISABLED"),
        (_, Hit::Nothing) => Judged::wrong("refused, and nothing that it needs was corrupted"),
        (_, _) if syndrome == Syndrome::Bus => Judged::wrong("BUS without an error of memory"),
        // An entry that is found out gives no address at all, and no other syndrome.
        (Class::Mpt(_), Hit::Entry { found: true }) => match (syndrome, at) {
            (Syndrome::MptBad, 0) => reported,
            (Syndrome::MptBad, _) => Judged::wrong("MPT_BAD behind an address"),
            _ => Judged::wrong("an entry whose CRC is wrong, but not MPT_BAD"),
        },
        (Class::Mpt(_), Hit::Entry { found: false }) => reported,
        (Class::Mtt { .. }, Hit::Bytes(_)) => {
            if refused_by_rule {
                Judged::wrong("a syndrome of the table for a request that a rule refuses")
            } else if !of_table(syndrome, around) {
                Judged::wrong("a table that is corrupted, but no syndrome of tables")
            } else if !around.hit.excuses(at..at + 1) {
                Judged::wrong("refused for an entry of the table that was not corrupted")
            } else {
                reported
            }
        }
        _ => Judged::wrong("refused, and nothing that it needs was corrupted"),
    }
}

/// May a corrupted table lead to this syndrome? What must be found gives no address to compare with
/// the windows.
fn of_table(syndrome: Syndrome, around: &Circumstances<'_>) -> bool {
    match syndrome {
        Syndrome::MttAbsent | Syndrome::MttBad => true,
        Syndrome::HostWin => around.memory.checked && !around.class.must_be_found(),
        _ => false,
    }
}

/// Judges how a command ended. `doubted`: the reference does not agree with it.
pub fn judge_command(status: Status, doubted: bool, around: &Circumstances<'_>) -> Judged {
    let hit = match (around.class, around.hit) {
        (Class::Mpt(_), Hit::Entry { found }) => Some(found),
        _ => None,
    };
    let errors = matches!(around.class, Class::ReadError(_) | Class::WriteError(_));
    match (status, doubted) {
        (Status::Bus, _) if !errors => Judged::wrong("BUS without an error of memory"),
        // Errors may leave a window that its region does not count: that is what it then answers.
        (Status::MptBad, _) if hit.is_none() && !errors => {
            Judged::wrong("MPT_BAD of an entry that was not corrupted")
        }
        (Status::MptBad, _) if hit == Some(true) => Judged::good(Severity::Reported),
        (Status::Bus | Status::MptBad | Status::Busy, false) => Judged::good(Severity::Reported),
        (_, false) => Judged::good(Severity::Harmless),
        (_, true) => match (hit, status) {
            // For the reference everything is gone as soon as the host disables the unit; a command
            // that the unit has taken before still looks at the table. A refusal gives nothing.
            (None, Status::KeyState | Status::KeyTag) if around.class == Class::Disable => {
                Judged::good(Severity::Reported)
            }
            (None, _) => Judged::wrong("a command on an entry that was not corrupted"),
            (Some(_), Status::Ok) => Judged {
                severity: Severity::SilentInside,
                why: Some("OK to a corrupted entry"),
            },
            (Some(true), _) => Judged::wrong("an entry whose CRC is wrong, but not MPT_BAD"),
            (Some(false), _) => Judged::good(Severity::Reported),
        },
    }
}

/// The reads that touch memory which a fault would have them read, and which nothing else may.
pub fn followed(reads: &[(u64, u64)], beat: u64, forbidden: &[Range<u64>]) -> usize {
    let touches = |address: u64| {
        let end = address.saturating_add(beat);
        (forbidden.iter()).any(|range| address < range.end && range.start < end)
    };
    reads.iter().filter(|(_, read)| touches(*read)).count()
}

/// Syndromes that say what the walk has met: what a corrupted table can take away.
fn from_walk(syndrome: Syndrome) -> bool {
    matches!(
        syndrome,
        Syndrome::MttAbsent | Syndrome::MttBad | Syndrome::Bus
    )
}

/// Which bytes of the request a beat, which begins `at` bytes after its start, gives an address
/// for that is not theirs. The beat may go over several pages that are neighbours. Of bytes that
/// should get none only the first one counts: what comes behind a page that is absent is not known.
fn falsehoods(beat: &Beat, at: u64, right: &[Beat]) -> Vec<Range<u64>> {
    let end = at + u64::from(beat.len);
    let mut bad = Vec::new();
    let mut start = 0;
    for page in right.iter().filter(|page| page.len > 0) {
        let next = start + u64::from(page.len);
        let (from, to) = (at.max(start), end.min(next));
        let gives = beat.pa.wrapping_add(from.wrapping_sub(at));
        if from < to && page.pa.wrapping_add(from - start) != gives {
            bad.push(from..to);
        }
        start = next;
    }
    if start < end {
        bad.push(start..start + 1);
    }
    bad
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

    /// With all that the request needs corrupted.
    fn of(actual: &[Beat], expected: &[Vec<Beat>], class: Class) -> Severity {
        let all = [Range {
            start: 0,
            end: u64::MAX,
        }];
        let hit = match class {
            Class::Mpt(_) => Hit::Entry { found: false },
            Class::Mtt { .. } => Hit::Bytes(&all),
            _ => Hit::Nothing,
        };
        under(actual, expected, class, hit)
    }

    fn under(actual: &[Beat], expected: &[Vec<Beat>], class: Class, hit: Hit<'_>) -> Severity {
        let memory = memory(false);
        let around = Circumstances {
            class,
            hit,
            memory: &memory,
        };
        judge(actual, expected, &around).severity
    }

    fn command(status: Status, doubted: bool, class: Class, hit: Hit<'_>) -> Severity {
        let memory = memory(false);
        let around = Circumstances {
            class,
            hit,
            memory: &memory,
        };
        judge_command(status, doubted, &around).severity
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
        for syndrome in [Syndrome::MttAbsent, Syndrome::MttBad] {
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
            vec![
                ok(0x1800, 0x1810, true, false),
                refused(Syndrome::MttAbsent, false),
            ],
        ];
        for lie in &lies {
            assert_eq!(of(lie, &right(), MTT), Severity::SilentInside, "{lie:?}");
        }
        let outside = vec![
            ok(0x7_0000, 0x800, true, false),
            refused(Syndrome::MttBad, false),
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
        let mpt = Class::Mpt(MptFault::Stale);
        assert_eq!(of(&actual, &right(), mpt), Severity::SilentInside);
        // No table has it.
        assert_eq!(of(&actual, &right(), MTT), Severity::Wrong);
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
        for class in [Class::Mpt(MptFault::Words), MTT, Class::Disable] {
            for right in [&by_rule, &by_walk, &right()] {
                let severity = under(&address, right, class, Hit::Nothing);
                assert_eq!(severity, Severity::Wrong, "{class}");
            }
        }
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
                hit: Hit::Bytes(std::slice::from_ref(&(0..0x1810))),
                memory: &memory,
            };
            assert_eq!(judge(&actual, &right(), &around).severity, severity);
        }
    }

    /// Planted lies: a neighbour of what was corrupted is refused, or gets an address.
    #[test]
    fn a_neighbour_of_the_fault_must_be_answered_rightly() {
        let mpt = Class::Mpt(MptFault::OneBit);
        let lies = [
            Syndrome::Bus,
            Syndrome::KeyState,
            Syndrome::MptBad,
            Syndrome::MttBad,
            Syndrome::MttAbsent,
            Syndrome::Disabled,
        ];
        for class in [mpt, MTT, Class::Late, Class::Reset, Class::Request] {
            for syndrome in lies {
                let lie = [refused(syndrome, true)];
                assert_eq!(
                    under(&lie, &right(), class, Hit::Nothing),
                    Severity::Wrong,
                    "{class}, {syndrome}"
                );
            }
            let true_answer = under(&right()[0], &right(), class, Hit::Nothing);
            assert_eq!(true_answer, Severity::Harmless);
        }
    }

    /// Planted lies: the second of three pages is corrupted, and another one is refused or wrong.
    #[test]
    fn a_corrupted_entry_of_a_table_excuses_its_own_page_only() {
        let second = std::slice::from_ref(&(0x800..0x1800));
        let under = |actual: &[Beat]| under(actual, &right(), MTT, Hit::Bytes(second));
        let first = ok(0x1800, 0x800, true, false);
        let refusal = refused(Syndrome::MttBad, false);
        assert_eq!(under(&[first, refusal]), Severity::Reported);
        assert_eq!(under(&[refused(Syndrome::MttBad, true)]), Severity::Wrong);
        let both = [first, ok(0x2000, 0x1000, false, false), refusal];
        assert_eq!(under(&both), Severity::Wrong);
        let mut actual = right()[0].clone();
        actual[1].pa = 0x3000;
        assert_eq!(under(&actual), Severity::SilentInside);
        for page in [0, 2] {
            let mut actual = right()[0].clone();
            actual[page].pa = 0x3000;
            assert_eq!(under(&actual), Severity::Wrong);
        }
        // No error of memory was injected, no windows are in force, and a table has no other syndromes.
        for syndrome in [
            Syndrome::Bus,
            Syndrome::KeyState,
            Syndrome::MptBad,
            Syndrome::HostWin,
        ] {
            assert_eq!(under(&[first, refused(syndrome, false)]), Severity::Wrong);
        }
    }

    /// A planted lie: an entry of CHECKED that must be found has given an address to the windows.
    #[test]
    fn an_address_outside_of_the_windows_is_told_of_what_nothing_can_find() {
        let checked = Class::Mtt {
            encoding: Encoding::Checked,
            directory: false,
            fault: MttFault::OneBit,
        };
        let memory = memory(true);
        let second = std::slice::from_ref(&(0x800..0x1800));
        let actual = [
            ok(0x1800, 0x800, true, false),
            refused(Syndrome::HostWin, false),
        ];
        for (class, severity) in [(MTT, Severity::Reported), (checked, Severity::Wrong)] {
            let around = Circumstances {
                class,
                hit: Hit::Bytes(second),
                memory: &memory,
            };
            assert_eq!(judge(&actual, &right(), &around).severity, severity);
        }
    }

    /// Behind a page that should be absent nothing is known: its own bytes are judged.
    #[test]
    fn what_comes_behind_a_page_that_is_there_by_the_fault_is_its_consequence() {
        let absent = vec![vec![
            ok(0x1800, 0x800, true, false),
            refused(Syndrome::MttAbsent, false),
        ]];
        let hit = |bytes: Range<u64>| under(&right()[0], &absent, MTT, Hit::Bytes(&[bytes]));
        assert_eq!(hit(0x800..0x1800), Severity::SilentInside);
        assert_eq!(hit(0x1800..0x2800), Severity::Wrong);
    }

    /// Planted lies of an entry whose CRC is wrong: another syndrome, or MPT_BAD behind an address.
    #[test]
    fn an_entry_that_is_found_gives_mpt_bad_and_nothing_else() {
        let class = Class::Mpt(MptFault::TwoBits);
        let hit = Hit::Entry { found: true };
        let first = ok(0x1800, 0x800, true, false);
        let judged = |actual: &[Beat]| under(actual, &right(), class, hit);
        assert_eq!(
            judged(&[refused(Syndrome::MptBad, true)]),
            Severity::Reported
        );
        assert_eq!(
            judged(&[first, refused(Syndrome::MptBad, false)]),
            Severity::Wrong
        );
        for syndrome in [Syndrome::KeyState, Syndrome::Bus, Syndrome::MttAbsent] {
            assert_eq!(judged(&[refused(syndrome, true)]), Severity::Wrong);
        }
        // Nor BUS of one that is not found.
        let lie = [refused(Syndrome::Bus, true)];
        let found = Hit::Entry { found: false };
        assert_eq!(under(&lie, &right(), class, found), Severity::Wrong);
    }

    #[test]
    fn a_unit_that_is_disabled_says_disabled_or_answers_rightly() {
        for (syndrome, severity) in [
            (Syndrome::Disabled, Severity::Reported),
            (Syndrome::KeyState, Severity::Wrong),
            (Syndrome::MptBad, Severity::Wrong),
            (Syndrome::Bus, Severity::Wrong),
        ] {
            let actual = [refused(syndrome, true)];
            let judged = under(&actual, &right(), Class::Disable, Hit::Nothing);
            assert_eq!(judged, severity, "{syndrome}");
        }
    }

    /// Planted lies of commands: doubts of the reference where nothing was corrupted, MPT_BAD of
    /// others than the corrupted entry, BUS without an error.
    #[test]
    fn commands_are_doubted_only_on_what_was_corrupted() {
        let mpt = Class::Mpt(MptFault::OneBit);
        let stale = Class::Mpt(MptFault::Stale);
        let (found, not_found) = (Hit::Entry { found: true }, Hit::Entry { found: false });
        let bytes = Hit::Bytes(std::slice::from_ref(&(0..8)));
        for (class, hit) in [
            (mpt, Hit::Nothing),
            (MTT, bytes),
            (Class::Disable, Hit::Nothing),
        ] {
            for status in [Status::Ok, Status::MptBad, Status::Bus] {
                assert_eq!(command(status, true, class, hit), Severity::Wrong);
            }
            let refused = match class {
                Class::Disable => Severity::Reported,
                _ => Severity::Wrong,
            };
            assert_eq!(command(Status::KeyState, true, class, hit), refused);
            for status in [Status::MptBad, Status::Bus] {
                assert_eq!(command(status, false, class, hit), Severity::Wrong);
            }
            assert_eq!(command(Status::Ok, false, class, hit), Severity::Harmless);
        }
        assert_eq!(
            command(Status::MptBad, false, mpt, found),
            Severity::Reported
        );
        assert_eq!(
            command(Status::Ok, true, mpt, found),
            Severity::SilentInside
        );
        assert_eq!(command(Status::KeyState, true, mpt, found), Severity::Wrong);
        assert_eq!(
            command(Status::KeyState, true, stale, not_found),
            Severity::Reported
        );
        assert_eq!(
            command(Status::Bus, true, stale, not_found),
            Severity::Wrong
        );
        assert_eq!(
            command(Status::Bus, false, Class::WriteError(1), Hit::Nothing),
            Severity::Reported
        );
        assert_eq!(
            command(Status::Bus, true, Class::WriteError(1), Hit::Nothing),
            Severity::Wrong
        );
        assert_eq!(
            command(Status::MptBad, false, Class::Reset, Hit::Nothing),
            Severity::Wrong
        );
    }

    #[test]
    fn a_read_of_what_a_fault_names_is_seen() {
        let forbidden = [0x4000..0x5000, 0x9000..0xa000];
        let reads = [0x3ff0, 0x4000, 0x4ff0, 0x5000, 0x9ff8, 0xa000].map(|read| (1, read));
        assert_eq!(followed(&reads, 16, &forbidden), 3);
        assert_eq!(followed(&reads, 16, &[]), 0);
        assert_eq!(followed(&reads[..1], 16, &forbidden), 0);
    }

    #[test]
    fn in_a_race_the_best_of_the_right_answers_counts() {
        let both = vec![vec![refused(Syndrome::KeyState, true)], right()[0].clone()];
        assert_eq!(of(&right()[0], &both, MTT), Severity::Harmless);
        let refusal = [refused(Syndrome::KeyState, true)];
        assert_eq!(of(&refusal, &both, MTT), Severity::Harmless);
    }
}
