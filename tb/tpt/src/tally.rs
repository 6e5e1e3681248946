// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Counting what a replay found.

use std::collections::BTreeMap;

use serde_json::{json, Value};

/// Disagreements that are kept with their text.
const KEPT: usize = 50;

/// What became of one replayed item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// The unit and the recording agree.
    Agreed,
    /// They differ where the recording itself says that it departs from the rules; the rule that
    /// the unit follows.
    Known(String),
    /// They differ; how.
    Disagreed(String),
    /// The item needs windows and is left out.
    NeedsWindows,
    /// The recording does not say how the item ended: the unit was compared with the reference
    /// only.
    ReferenceOnly,
    /// The recording says nothing that the unit could be compared with; why.
    NotJudged(&'static str),
}

/// Counts of one group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Items that ran.
    pub replayed: u64,
    /// Items that agree.
    pub agreed: u64,
    /// Items that differ in a known way.
    pub known: u64,
    /// Items that differ.
    pub disagreed: u64,
    /// Items left out because they need windows.
    pub needs_windows: u64,
    /// Items without an end in the recording.
    pub reference_only: u64,
    /// Items with an end that says nothing.
    pub not_judged: u64,
}

impl Counts {
    /// Adds other counts.
    pub fn add(&mut self, o: Counts) {
        self.replayed += o.replayed;
        self.agreed += o.agreed;
        self.known += o.known;
        self.disagreed += o.disagreed;
        self.needs_windows += o.needs_windows;
        self.reference_only += o.reference_only;
        self.not_judged += o.not_judged;
    }
}

/// One disagreement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disagreement {
    /// File and line.
    pub place: String,
    /// Identity of the item.
    pub id: String,
    /// What differs.
    pub what: String,
}

/// All counts of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Sum over everything.
    pub total: Counts,
    /// Per group (driver and family, or trace).
    pub groups: BTreeMap<String, Counts>,
    /// Known differences: (group of recordings, rule that is followed) to number of items.
    pub known: BTreeMap<(String, String), u64>,
    /// Items that are not judged, by the reason.
    pub not_judged: BTreeMap<&'static str, u64>,
    /// Pages of regions whose frames are not recorded, and so are invented.
    pub invented_pages: u64,
    /// The first disagreements.
    pub disagreements: Vec<Disagreement>,
}

impl Tally {
    /// Counts one item of `group`. `source` names the recorder in the table of known differences.
    /// `place` and `id` are asked for only when there is something to tell.
    pub fn count(
        &mut self,
        group: &str,
        source: &str,
        place: impl FnOnce() -> String,
        id: impl FnOnce() -> String,
        j: Judgement,
    ) {
        let mut c = Counts::default();
        match j {
            Judgement::Agreed => c.agreed = 1,
            Judgement::Known(rule) => {
                c.known = 1;
                *self.known.entry((source.to_owned(), rule)).or_default() += 1;
            }
            Judgement::Disagreed(what) => {
                c.disagreed = 1;
                if self.disagreements.len() < KEPT {
                    self.disagreements.push(Disagreement {
                        place: place(),
                        id: id(),
                        what,
                    });
                }
            }
            Judgement::NeedsWindows => c.needs_windows = 1,
            Judgement::ReferenceOnly => c.reference_only = 1,
            Judgement::NotJudged(why) => {
                c.not_judged = 1;
                *self.not_judged.entry(why).or_default() += 1;
            }
        }
        c.replayed = c.agreed + c.known + c.disagreed;
        self.total.add(c);
        match self.groups.get_mut(group) {
            Some(g) => g.add(c),
            None => {
                self.groups.insert(group.to_owned(), c);
            }
        }
    }

    /// The last line of a replay.
    pub fn summary(&self) -> String {
        format!(
            "replayed: {}, agreed: {}, known differences: {}, disagreed: {}",
            self.total.replayed, self.total.agreed, self.total.known, self.total.disagreed
        )
    }

    /// Tables in words.
    pub fn text(&self) -> String {
        let mut out = String::new();
        if !self.groups.is_empty() {
            let width = self
                .groups
                .keys()
                .map(|k| k.chars().count())
                .max()
                .unwrap_or(0);
            let width = width.max(5);
            out += &format!(
                "{:width$}  {:>9} {:>9} {:>9} {:>9} {:>13} {:>9} {:>9}\n",
                "group",
                "replayed",
                "agreed",
                "known",
                "disagreed",
                "needs windows",
                "reference",
                "unjudged"
            );
            for (name, c) in &self.groups {
                out += &format!(
                    "{name:width$}  {:>9} {:>9} {:>9} {:>9} {:>13} {:>9} {:>9}\n",
                    c.replayed,
                    c.agreed,
                    c.known,
                    c.disagreed,
                    c.needs_windows,
                    c.reference_only,
                    c.not_judged
                );
            }
        }
        if !self.known.is_empty() {
            out +=
                "\nknown differences (the recorder departs from the rules), by the rule followed\n";
            for ((source, rule), n) in &self.known {
                out += &format!("{n:>7}  {source:<6} {rule}\n");
            }
        }
        if !self.disagreements.is_empty() {
            out += "\ndisagreements\n";
            for d in &self.disagreements {
                out += &format!("  {} {}: {}\n", d.place, d.id, d.what);
            }
            let more = self.total.disagreed - self.disagreements.len() as u64;
            if more > 0 {
                out += &format!("  and {more} more\n");
            }
        }
        if self.total.needs_windows > 0 {
            out += &format!(
                "\nleft out because they need windows or invalidation: {}\n",
                self.total.needs_windows
            );
        }
        if self.total.reference_only > 0 {
            out += &format!(
                "\nchecked against the reference only, no end in the recording: {}\n",
                self.total.reference_only
            );
        }
        if self.total.not_judged > 0 {
            out += &format!("\nnot judged: {}\n", self.total.not_judged);
            for (why, n) in &self.not_judged {
                out += &format!("{n:>7}  {why}\n");
            }
        }
        if self.invented_pages > 0 {
            out += &format!(
                "\npages whose frames are not recorded, invented: {}\n",
                self.invented_pages
            );
        }
        out
    }

    /// For machines.
    pub fn json(&self) -> Value {
        let counts = |c: &Counts| {
            json!({
                "replayed": c.replayed,
                "agreed": c.agreed,
                "known_differences": c.known,
                "disagreed": c.disagreed,
                "needs_windows": c.needs_windows,
                "reference_only": c.reference_only,
                "not_judged": c.not_judged,
            })
        };
        json!({
            "total": counts(&self.total),
            "groups": self.groups.iter().map(|(k, c)| (k.clone(), counts(c)))
                .collect::<serde_json::Map<_, _>>(),
            "known_differences": self.known.iter().map(|((source, rule), n)| {
                json!({"source": source, "rule": rule, "items": n})
            }).collect::<Vec<_>>(),
            "not_judged": self.not_judged,
            "invented_pages": self.invented_pages,
            "disagreements": self.disagreements.iter().map(|d| {
                json!({"place": d.place, "id": d.id, "what": d.what})
            }).collect::<Vec<_>>(),
        })
    }
}
