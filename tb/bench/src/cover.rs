// SPDX-License-Identifier: Apache-2.0
//! Functional coverage: which cases the bench has seen and judged, for `make coverage`.
//!
//! With `TPT_COVERAGE_DIR` set, each [`Bench`](crate::Bench) appends its points to
//! `<process>.points` there when it is dropped: a line is the point, a blank and its count. Points
//! are
//!
//! * `answer SYNDROME OP LEVEL PAGE PLACE`: a request was answered. LEVEL is `inline`, `flat`, `l1`
//!   to `l4`, `phys` or `none` (the key names nothing); PAGE is the class of the page size; PLACE is
//!   where the request lies in the region, and whether it crosses a page boundary;
//! * `command OP STATUS`: a command was completed.

use std::collections::BTreeMap;
use std::env;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::process;
use std::sync::OnceLock;

use tpt_golden::types::{Command, Completion, Kind, Request, Syndrome, LEVEL_FLAT, LEVEL_INLINE};
use tpt_golden::unit::Region;

/// Where the points go.
fn file() -> Option<&'static PathBuf> {
    static FILE: OnceLock<Option<PathBuf>> = OnceLock::new();
    FILE.get_or_init(|| {
        let dir = env::var_os("TPT_COVERAGE_DIR").filter(|dir| !dir.is_empty())?;
        Some(PathBuf::from(dir).join(format!("{}.points", process::id())))
    })
    .as_ref()
}

/// The points of one bench.
#[derive(Default)]
pub(crate) struct Cover {
    points: BTreeMap<String, u64>,
}

impl Cover {
    /// None if nobody asks for points.
    pub fn new() -> Option<Self> {
        file().map(|_| Self::default())
    }

    fn add(&mut self, point: String) {
        *self.points.entry(point).or_insert(0) += 1;
    }

    /// A request was answered. `named` is what its key names, `reached` the region whose pages it is
    /// about, if that is another.
    pub fn answer(
        &mut self,
        request: &Request,
        syndrome: Syndrome,
        named: Option<&Region>,
        reached: Option<&Region>,
    ) {
        let op = match request.operation() {
            Some(op) => format!("{op:?}"),
            None => "Reserved".to_owned(),
        };
        let point = match named {
            Some(region) => {
                let table = reached.unwrap_or(region);
                format!(
                    "answer {syndrome:?} {op} {} {} {}",
                    level(table),
                    page_class(table.log_page),
                    place(region, table.log_page, request)
                )
            }
            None => format!("answer {syndrome:?} {op} none - -"),
        };
        self.add(point);
    }

    /// A command was completed.
    pub fn command(&mut self, command: &Command, completion: &Completion) {
        let op = match command.operation() {
            Some(op) => format!("{op:?}"),
            None => "Reserved".to_owned(),
        };
        self.add(format!("command {} {:?}", op, completion.status));
    }
}

impl Drop for Cover {
    fn drop(&mut self) {
        let Some(path) = file() else { return };
        let text: String = self
            .points
            .iter()
            .map(|(key, n)| format!("{key} {n}\n"))
            .collect();
        let opened = OpenOptions::new().create(true).append(true).open(path);
        // In one write, so that lines of several threads stay whole.
        if let Err(error) = opened.and_then(|mut file| file.write_all(text.as_bytes())) {
            eprintln!("{}: {error}", path.display());
        }
    }
}

fn level(region: &Region) -> String {
    match region.level {
        _ if region.kind == Kind::Phys => "phys".to_owned(),
        LEVEL_INLINE => "inline".to_owned(),
        LEVEL_FLAT => "flat".to_owned(),
        levels => format!("l{levels}"),
    }
}

fn page_class(log_page: u8) -> &'static str {
    match log_page {
        0..=12 => "4K",
        13..=16 => "to64K",
        17..=20 => "to1M",
        21..=29 => "to512M",
        _ => "from1G",
    }
}

/// Where the request lies: before, at the start of, inside, at the end of, all of, past the end of,
/// behind the region, around the end of the address space; in one page or more.
fn place(region: &Region, log_page: u8, request: &Request) -> String {
    let (first, length) = (u128::from(request.va), u128::from(request.len));
    let start = u128::from(region.base());
    let end = start + u128::from(region.length);
    let last = first + length;
    let place = if length == 0 {
        "empty"
    } else if last > 1 << 64 {
        "wrap"
    } else if first < start {
        "before"
    } else if first >= end {
        "behind"
    } else if last > end {
        "past"
    } else if first == start && last == end {
        "whole"
    } else if first == start {
        "start"
    } else if last == end {
        "end"
    } else {
        "inside"
    };
    let from = u128::from(region.first_offset()) + first.saturating_sub(start);
    let pages = ((from + length.max(1) - 1) >> log_page) - (from >> log_page);
    format!("{place} {}", if pages == 0 { "one-page" } else { "pages" })
}
