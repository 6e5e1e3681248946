// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! The numbers of the textbook, and the boundary matrix.
//!
//! 2 GiB of 4 KiB pages need 524,288 entries, which are 4 MiB; 64 GiB need 16,777,216 entries,
//! which are 128 MiB, in three levels; a table page of 4 KiB holds 512 entries. The boundary matrix
//! has a region of every size at which something changes; of each, the first and the last page and
//! those on both sides of a table boundary are translated.

use serde_json::{json, Value};
use tpt_golden::frames::{FrameList, Page, PageSource as _};
use tpt_golden::mtt::{boundary_matrix, Shape};
use tpt_golden::types::{Access, Op, Request, Status, Syndrome};

use crate::target::{Access1, Registration, Target, TargetError, REQUESTER, RESPONDER};

/// From this number of pages on the tables of the matrix are computed when they are read.
const LAZY: u64 = 1 << 18;

/// One region and what is asked of it.
#[derive(Debug, Clone)]
pub struct Case {
    /// Name; empty for the regions of the matrix.
    pub name: &'static str,
    /// Registration.
    pub registration: Registration,
    /// Pages of the region.
    pub pages: u64,
    /// Level that the table must have.
    pub level: u8,
    /// Entries and bytes of the bottom level that the textbook gives.
    pub textbook: Option<(u64, u64)>,
    /// Addresses and where they must go.
    pub probes: Vec<(u64, u64)>,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// Named regions: name, entries, bytes of entries, level, table pages.
    pub named: Vec<(&'static str, u64, u64, u8, u64)>,
    /// Regions of the matrix.
    pub regions: u64,
    /// Addresses translated.
    pub probes: u64,
    /// What is wrong.
    pub mismatches: Vec<String>,
}

impl Report {
    /// In words.
    pub fn text(&self) -> String {
        let mut out = format!(
            "{:<28} {:>12} {:>14} {:>6} {:>12}\n",
            "region", "entries", "entry bytes", "levels", "table pages"
        );
        for (name, entries, bytes, level, pages) in &self.named {
            out += &format!("{name:<28} {entries:>12} {bytes:>14} {level:>6} {pages:>12}\n");
        }
        out += &format!(
            "boundary matrix: {} regions, {} addresses translated\n",
            self.regions, self.probes
        );
        for m in &self.mismatches {
            out += &format!("MISMATCH {m}\n");
        }
        out + &format!("mismatches: {}\n", self.mismatches.len())
    }

    /// For machines.
    pub fn json(&self) -> Value {
        json!({
            "named": self.named.iter().map(|(name, entries, bytes, level, pages)| json!({
                "name": name, "entries": entries, "entry_bytes": bytes, "levels": level,
                "table_pages": pages,
            })).collect::<Vec<_>>(),
            "matrix_regions": self.regions,
            "probes": self.probes,
            "mismatches": self.mismatches,
        })
    }
}

const ALL: Access = Access(0xf);
const PD: u32 = 0x77;

fn named(name: &'static str, size: u64, level: u8, entries: u64, bytes: u64) -> Case {
    let start = 0x7f00_0000_0000u64;
    let pages = size >> 12;
    // Two MiB pieces in falling order: no page follows the one before it across a piece.
    let mut frames = FrameList::new(12);
    let pieces = pages.div_ceil(512);
    for n in 0..pieces {
        let pa = (1 << 50) + ((pieces - n) << 22);
        frames.push(512.min(pages - 512 * n), Page::at(pa));
    }
    let boundaries = [512u64, 512 * 512].into_iter().flat_map(|s| {
        let last = (pages - 1) / s * s;
        [s - 1, s, last.wrapping_sub(1), last]
    });
    let mut wanted: Vec<u64> = [0, pages / 2, pages - 1]
        .into_iter()
        .chain(boundaries)
        .filter(|p| *p < pages)
        .collect();
    wanted.sort_unstable();
    wanted.dedup();
    let probes = wanted
        .iter()
        .filter_map(|&p| match frames.page(p) {
            Page::Present { pa, .. } => Some((start + (p << 12) + 0x123, pa + 0x123)),
            _ => None,
        })
        .collect();
    Case {
        name,
        registration: Registration {
            pd: PD,
            start,
            length: size,
            access: ALL,
            frames,
            shape: Shape::pages_of(12),
        },
        pages,
        level,
        textbook: Some((entries, bytes)),
        probes,
    }
}

/// All regions.
pub fn cases() -> Vec<Case> {
    let mut all = vec![
        named("2 MiB of 4 KiB pages", 2 << 20, 1, 512, 4096),
        named("2 GiB of 4 KiB pages", 2 << 30, 3, 524_288, 4 << 20),
        named("64 GiB of 4 KiB pages", 64 << 30, 3, 16_777_216, 128 << 20),
    ];
    for case in boundary_matrix() {
        let probes = case.probes(12).iter().map(|p| (p.va, p.pa)).collect();
        all.push(Case {
            name: "",
            registration: Registration {
                pd: PD,
                start: case.iova,
                length: case.length,
                access: ALL,
                frames: case.list.clone(),
                shape: Shape {
                    lazy: case.shape.lazy || case.pages >= LAZY,
                    ..case.shape
                },
            },
            pages: case.pages,
            level: case.level,
            textbook: None,
            probes,
        });
    }
    all
}

/// Registers every region and translates its addresses. The error, if any, is in the report too.
pub fn run(
    target: &mut dyn Target,
    cases: &[Case],
    progress: &mut dyn FnMut(u64),
) -> (Report, Option<TargetError>) {
    let mut report = Report::default();
    for case in cases {
        if let Err(error) = one(target, case, &mut report) {
            if let TargetError::Mismatch { text, .. } = &error {
                report.mismatches.push(text.clone());
            }
            return (report, Some(error));
        }
        progress(1);
    }
    (report, None)
}

fn one(target: &mut dyn Target, case: &Case, report: &mut Report) -> Result<(), TargetError> {
    let r = &case.registration;
    let name = if case.name.is_empty() {
        format!(
            "{} pages of 2^{} bytes at {:#x}",
            case.pages,
            r.frames.log_page(),
            r.start
        )
    } else {
        case.name.to_owned()
    };
    let region = match target.register(r)? {
        Ok(region) => region,
        Err(why) => {
            report.mismatches.push(format!("{name}: refused ({why})"));
            return Ok(());
        }
    };
    let mut expect = |what: &str, got: u64, due: u64| {
        if got != due {
            report
                .mismatches
                .push(format!("{name}: {what} {got}, {due} was due"));
        }
    };
    expect("entries", region.entries, case.pages);
    expect("level", u64::from(region.level), u64::from(case.level));
    if let Some((entries, bytes)) = case.textbook {
        expect("entries", region.entries, entries);
        expect("bytes of entries", 8 * region.entries, bytes);
    }
    if case.textbook.is_some() {
        report.named.push((
            case.name,
            region.entries,
            8 * region.entries,
            region.level,
            region.table_bytes >> 12,
        ));
    } else {
        report.regions += 1;
    }
    let batch: Vec<Access1> = case
        .probes
        .iter()
        .enumerate()
        .map(|(n, &(va, _))| {
            let op = if n % 2 == 0 {
                Op::LocalWrite
            } else {
                Op::RemoteRead
            };
            Access1 {
                client: if n % 2 == 0 { REQUESTER } else { RESPONDER },
                request: Request {
                    op: op.code(),
                    key: if n % 2 == 0 { region.lkey } else { region.rkey },
                    va,
                    len: 1,
                    pd: PD,
                    stream: (n % 16) as u8,
                    ..Request::default()
                },
            }
        })
        .collect();
    let answers = target.access(&batch)?;
    for (&(va, pa), answer) in case.probes.iter().zip(&answers) {
        report.probes += 1;
        if answer.syndrome != Syndrome::Ok || answer.segments != [(pa, 1)] {
            report.mismatches.push(format!(
                "{name}: address {va:#x} gives {} {:x?}, {pa:#x} was due",
                answer.syndrome, answer.segments
            ));
        }
    }
    let status = target.deregister(region.id)?;
    if status != Status::Ok {
        report
            .mismatches
            .push(format!("{name}: deregistration ended with {status}"));
    }
    Ok(())
}
