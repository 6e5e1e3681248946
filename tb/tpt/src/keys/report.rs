// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! What is printed: tables, and the claims that are held against them.

use std::fmt::Write as _;

use serde_json::{json, Value};

/// One place of a table: as people read it, and as a number if it is one.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    text: String,
    value: Value,
}

impl Cell {
    /// A number with so many digits behind the point.
    pub fn real(x: f64, digits: usize) -> Self {
        // No "-0.0".
        let x = if x == 0.0 { 0.0 } else { x };
        Self {
            text: format!("{x:.digits$}"),
            value: json!(x),
        }
    }

    /// A chance: in decimals, or as a power of ten if it is small.
    pub fn chance(p: f64) -> Self {
        Self {
            text: match p {
                p if p == 0.0 || p >= 1e-4 => format!("{p:.4}"),
                p => format!("{p:.1e}"),
            },
            value: json!(p),
        }
    }

    /// Bits of which only a lower bound is known.
    pub fn at_least(bits: f64) -> Self {
        Self {
            text: format!(">= {bits:.1}"),
            value: json!({ "at_least": bits }),
        }
    }

    /// Nothing to say.
    pub fn none() -> Self {
        Self {
            text: "-".into(),
            value: Value::Null,
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self {
            value: json!(text),
            text,
        }
    }
}

impl From<u64> for Cell {
    fn from(n: u64) -> Self {
        Self {
            text: n.to_string(),
            value: json!(n),
        }
    }
}

impl From<usize> for Cell {
    fn from(n: usize) -> Self {
        (n as u64).into()
    }
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Heading.
    pub title: String,
    /// What its columns are, in sentences.
    pub note: String,
    /// Names of the columns.
    pub columns: Vec<&'static str>,
    /// Rows; the first cell is a name.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// Without rows.
    pub fn new(title: &str, note: &str, columns: &[&'static str]) -> Self {
        Self {
            title: title.into(),
            note: note.into(),
            columns: columns.to_vec(),
            rows: Vec::new(),
        }
    }

    /// For a terminal.
    pub fn text(&self) -> String {
        let width = |at: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(at));
            let widest = cells.map(|cell| cell.text.chars().count()).max();
            widest.unwrap_or(0).max(self.columns[at].chars().count())
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let mut text = format!("{}\n{}\n", self.title, self.note);
        let mut line = |cells: &mut dyn Iterator<Item = &str>| {
            let mut row = String::new();
            for (at, (cell, width)) in cells.zip(&widths).enumerate() {
                let _ = match at {
                    0 => write!(row, "{cell:<width$}"),
                    _ => write!(row, "  {cell:>width$}"),
                };
            }
            text += row.trim_end();
            text.push('\n');
        };
        line(&mut self.columns.iter().copied());
        for row in &self.rows {
            line(&mut row.iter().map(|cell| cell.text.as_str()));
        }
        text
    }

    /// For a page of the documentation.
    pub fn markdown(&self) -> String {
        let mut text = format!("**{}.** {}\n\n", self.title, self.note);
        let _ = writeln!(text, "| {} |", self.columns.join(" | "));
        let rule: Vec<&str> = (0..self.columns.len())
            .map(|at| if at == 0 { "---" } else { "---:" })
            .collect();
        let _ = writeln!(text, "| {} |", rule.join(" | "));
        for row in &self.rows {
            let cells: Vec<&str> = row.iter().map(|cell| cell.text.as_str()).collect();
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        }
        text
    }

    fn json(&self) -> Value {
        let row = |row: &Vec<Cell>| {
            let named = self.columns.iter().zip(row);
            let pair = |(column, cell): (&&str, &Cell)| ((*column).to_owned(), cell.value.clone());
            Value::Object(named.map(pair).collect())
        };
        json!({
            "title": self.title,
            "note": self.note,
            "rows": self.rows.iter().map(row).collect::<Vec<_>>(),
        })
    }
}

/// What must be so, and whether it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// What must be so.
    pub what: String,
    /// What was found.
    pub found: String,
    /// It is so.
    pub holds: bool,
}

impl Claim {
    /// A claim.
    pub fn new(what: impl Into<String>, found: impl Into<String>, holds: bool) -> Self {
        Self {
            what: what.into(),
            found: found.into(),
            holds,
        }
    }
}

/// Tables and claims.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Tables, in the order in which they are printed.
    pub tables: Vec<Table>,
    /// Claims.
    pub claims: Vec<Claim>,
}

impl Report {
    /// Adds what another part has found.
    pub fn add(&mut self, part: Report) {
        self.tables.extend(part.tables);
        self.claims.extend(part.claims);
    }

    /// Every claim holds, and there are some.
    pub fn is_good(&self) -> bool {
        !self.claims.is_empty() && self.claims.iter().all(|claim| claim.holds)
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for table in &self.tables {
            text += &table.text();
            text.push('\n');
        }
        for claim in &self.claims {
            let verdict = if claim.holds { "holds" } else { "FAILS" };
            let _ = writeln!(text, "{verdict}  {}: {}", claim.what, claim.found);
        }
        let failed = self.claims.iter().filter(|claim| !claim.holds).count();
        let _ = writeln!(
            text,
            "\nkeys: {} claims, {failed} failed",
            self.claims.len()
        );
        text
    }

    /// For a page of the documentation: the tables, and the claims as one.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        for table in &self.tables {
            text += &table.markdown();
            text.push('\n');
        }
        text += "| claim | found | verdict |\n| --- | --- | --- |\n";
        for claim in &self.claims {
            let verdict = if claim.holds { "holds" } else { "**fails**" };
            let _ = writeln!(text, "| {} | {} | {verdict} |", claim.what, claim.found);
        }
        text
    }

    /// For machines.
    pub fn json(&self) -> Value {
        let claim = |claim: &Claim| {
            let Claim { what, found, holds } = claim;
            json!({ "what": what, "found": found, "holds": holds })
        };
        json!({
            "tables": self.tables.iter().map(Table::json).collect::<Vec<_>>(),
            "claims": self.claims.iter().map(claim).collect::<Vec<_>>(),
            "good": self.is_good(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(holds: bool) -> Report {
        let mut table = Table::new("A table", "With a note.", &["name", "bits"]);
        table.rows.push(vec!["one".into(), Cell::real(-0.0, 2)]);
        table.rows.push(vec!["eleven".into(), Cell::at_least(7.25)]);
        Report {
            tables: vec![table],
            claims: vec![Claim::new("it is so", "it is", holds)],
        }
    }

    #[test]
    fn one_claim_that_fails_fails_all() {
        assert!(report(true).is_good());
        assert!(!report(false).is_good());
        assert!(!Report::default().is_good(), "nothing was shown");
        let mut both = report(true);
        both.add(report(false));
        assert!(!both.is_good());
        assert!(both.text().ends_with("keys: 2 claims, 1 failed\n"));
        assert_eq!(both.json()["good"], false);
    }

    #[test]
    fn tables_in_three_forms() {
        let report = report(true);
        let text = report.text();
        assert!(
            text.contains("name      bits\none       0.00\neleven  >= 7.2\n"),
            "{text}"
        );
        assert!(report.markdown().contains("| one | 0.00 |\n"));
        assert_eq!(
            report.json()["tables"][0]["rows"][1]["bits"]["at_least"],
            7.25
        );
    }

    #[test]
    fn small_chances_are_powers_of_ten() {
        let text = |p| Cell::chance(p).text;
        assert_eq!(text(0.25), "0.2500");
        assert_eq!(text(0.0), "0.0000");
        assert_eq!(text(2.5e-8), "2.5e-8");
    }
}
