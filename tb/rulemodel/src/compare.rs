// SPDX-License-Identifier: Apache-2.0
//! The table computed beside the golden rules.
//!
//! Of each case the verdict is compared with [`Golden::check_with`], and what is handed on of a
//! granted request with the beats of the golden reference and the pages that they ask for.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{bail, ensure, Result};
use tpt_golden::keys::KeyMaker;
use tpt_golden::types::{Access, Kind, Op, Request, State, Syndrome, LEVEL_FLAT};
use tpt_golden::unit::{Beats, Golden, HostWindows, Region, Verdict};

use crate::cases::{Case, Draw, TABLE_SIZE};
use crate::model::Model;

/// Beats that are looked at of one request; of longer ones, pages are counted by their bytes.
const MAX_BEATS: u128 = 40;

/// How often each syndrome was the verdict, and how often a request was granted.
#[derive(Debug, Default)]
pub struct Seen {
    /// By the number of the syndrome; granted ones are those of 0 that are not empty.
    pub syndromes: BTreeMap<u8, u64>,
    /// Granted requests: what is handed on was compared too.
    pub granted: u64,
    /// Windows that sent a request to their parent.
    pub again: u64,
    /// Requests that came with their parent's entry.
    pub second: u64,
}

impl Case {
    fn inputs(&self) -> BTreeMap<String, u128> {
        let entry = self.entry();
        let Request {
            op,
            key,
            va,
            len,
            pd,
            qpn,
            tag,
            ..
        } = self.request;
        let looked_up = self.looked_up();
        let mut inputs: BTreeMap<String, u128> = [
            ("op", u128::from(op)),
            ("tag", key.tag().into()),
            ("va", va.into()),
            ("len", len.into()),
            ("pd", pd.into()),
            ("qpn", qpn.into()),
            ("req_tag", tag.into()),
            ("disabled", self.disabled.into()),
            ("tag_busy", self.tag_busy.into()),
            ("role", self.remote.into()),
            ("index", self.index.into()),
            ("index_ok", (self.index < TABLE_SIZE).into()),
            ("looked_up", looked_up.into()),
            ("bus", (looked_up && self.bus).into()),
            ("crc_bad", (looked_up && self.crc_bad).into()),
            ("parent", self.window.is_some().into()),
            ("cap_checked", 1),
            ("state", self.state.into()),
            ("kind", entry.kind.into()),
            ("access", entry.access.into()),
            ("log_page", entry.log_page.into()),
            ("level", entry.level.into()),
            ("log_tpage", entry.log_tpage.into()),
            ("encoding", entry.encoding.into()),
            ("lkey_tag", entry.lkey_tag.into()),
            ("rkey_tag", entry.rkey_tag.into()),
            ("gen", entry.gen.into()),
            ("e_pd", entry.pd.into()),
            ("e_qpn", entry.qpn.into()),
            ("start", entry.start.into()),
            ("length", entry.length.into()),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
        for (k, frame) in entry.frame.iter().enumerate() {
            inputs.insert(format!("frame{k}"), (*frame).into());
        }
        inputs
    }

    /// What is handed on must give the beats of the golden reference.
    fn compare_granted(&self, out: &BTreeMap<String, u128>) -> Result<()> {
        let region = Arc::new(self.region.clone());
        let (first, second) = match &self.window {
            Some((window, _)) => (Arc::new(window.clone()), Some(region.clone())),
            None => (region.clone(), None),
        };
        let request = match &self.window {
            Some((_, sent)) => sent,
            None => &self.request,
        };
        let verdict = Verdict {
            syndrome: Syndrome::Ok,
            mask: 0,
            region: Some(first),
            parent: second,
            windows: HostWindows::default(),
        };
        let beats: Beats<Arc<Region>> = verdict.beats(request);
        let size = 1u128 << region.log_page;
        let beats: Vec<_> = beats.take(MAX_BEATS as usize).collect();
        ensure!(!beats.is_empty(), "no beat");
        let pages = out["o_np"];
        let told = beats.len() as u128;
        if beats.iter().any(|beat| beat.last) {
            ensure!(pages == told, "{pages} pages, golden gives {told} beats");
        } else {
            let bytes = (out["o_off"] + u128::from(request.len)).div_ceil(size);
            ensure!(pages == bytes, "{pages} pages, {bytes} by the bytes");
        }
        for beat in &beats {
            ensure!(beat.syndrome == Syndrome::Ok, "golden: {:?}", beat.syndrome);
            ensure!(u128::from(beat.relaxed) == out["o_relaxed"], "relaxed");
        }
        let off = u128::from(beats[0].pa) % size;
        ensure!(
            off == out["o_off"],
            "offset {:#x}, golden {off:#x}",
            out["o_off"]
        );
        let entry = region.entry(State::Valid);
        if region.kind == Kind::Phys {
            for (beat, name) in beats.iter().zip(["o_frame0", "o_frame1"]) {
                let page = u128::from(beat.pa) >> 12 & !((1 << 31) - 1);
                ensure!(
                    out[name] == page,
                    "{name} {:#x}, golden {page:#x}",
                    out[name]
                );
            }
            ensure!(
                out["o_idx"] == 0 && out["o_encoding"] == 3,
                "physical region"
            );
        } else {
            let slot = match region.level {
                LEVEL_FLAT => region.frame[0] >> 3 & 0x1ff,
                _ => 0,
            };
            let page = (out["o_idx"] + (1 << 40) - u128::from(slot)) % (1 << 40);
            let Some(first) = self.recorder.first() else {
                bail!("golden asked for no page")
            };
            let first = u128::from(first) % (1 << 40);
            ensure!(page == first, "page {page:#x}, golden asks for {first:#x}");
            for k in 0..4 {
                let frame = u128::from(entry.frame[k]);
                ensure!(out[&format!("o_frame{k}")] == frame, "frame {k}");
            }
            ensure!(out["o_encoding"] == u128::from(entry.encoding), "encoding");
        }
        let writes = request.operation().is_some_and(Op::writes);
        let on_demand = region.access.contains(Access::ON_DEMAND);
        for (name, value) in [
            ("o_write", u128::from(writes)),
            ("o_ondemand", u128::from(on_demand)),
            ("o_index", u128::from(self.index)),
            ("o_gen", u128::from(entry.gen)),
            ("o_level", u128::from(entry.level)),
            ("o_log_page", u128::from(entry.log_page)),
            ("o_log_tpage", u128::from(entry.log_tpage)),
            ("o_tag", u128::from(request.tag)),
            ("o_rem", u128::from(request.len)),
        ] {
            ensure!(
                out[name] == value,
                "{name} {:#x}, golden {value:#x}",
                out[name]
            );
        }
        Ok(())
    }

    fn compare(&self, model: &Model, golden: &Golden, seen: &mut Seen) -> Result<()> {
        let out = model.eval(&self.inputs());
        let (want, mask, again) = self.golden(golden);
        let got = out["syndrome"];
        ensure!(
            got == u128::from(want.code()),
            "syndrome {got}, golden {want:?}"
        );
        ensure!(out["again"] == u128::from(again), "again");
        let accepted = want == Syndrome::Ok;
        let empty = accepted && self.request.len == 0;
        ensure!(out["empty"] == u128::from(empty), "empty");
        // When that is so, is not left to the table.
        ensure!(out["live"] == u128::from(self.whole()), "live");
        let end = u128::from(self.region.start) + u128::from(self.region.length);
        ensure!(
            out["range_fits"] == u128::from(end <= 1 << 64),
            "range_fits"
        );
        if self.whole() {
            ensure!(
                out["mask"] == u128::from(mask),
                "mask {:#x}, golden {mask:#x}",
                out["mask"]
            );
        }
        *seen.syndromes.entry(want.code()).or_default() += 1;
        seen.again += u64::from(again);
        seen.second += u64::from(self.window.is_some());
        if accepted && !empty {
            seen.granted += 1;
            return self.compare_granted(&out);
        }
        for (name, value) in &out {
            let refused = !name.starts_with("o_") || *value == 0;
            ensure!(refused, "{name} = {value:#x} of a refused request");
        }
        Ok(())
    }
}

/// Compares the model with the golden rules on `count` cases.
///
/// # Errors
/// The first case that differs.
pub fn run(model: &Model, seed: u64, count: u64) -> Result<Seen> {
    let golden = Golden::enabled(KeyMaker::new([0; 4], [0; 4], true), TABLE_SIZE, 3);
    let mut seen = Seen::default();
    let mut draw = Draw::new(seed);
    for number in 0..count {
        let case = Case::draw(&mut draw);
        if let Err(error) = case.compare(model, &golden, &mut seen) {
            let Case {
                request,
                region,
                state,
                fields,
                ..
            } = &case;
            bail!(
                "case {number} of seed {seed}: {error}\n{request:?}\n{region:?}\n\
                 state {state}, kind, log_page, level, log_tpage, encoding {fields:?}, \
                 disabled {}, bus {}, crc_bad {}, second {}",
                case.disabled,
                case.bus,
                case.crc_bad,
                case.window.is_some()
            );
        }
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::check;

    #[test]
    fn the_table_gives_the_golden_verdicts() {
        let seen = run(&check().0, 1, 100_000).unwrap_or_else(|error| panic!("{error}"));
        for code in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 14, 15, 16, 17] {
            let count = seen.syndromes.get(&code).copied().unwrap_or(0);
            assert!(count > 50, "syndrome {code}: {count} times");
        }
        assert!(
            seen.granted > 5000 && seen.again > 100 && seen.second > 20_000,
            "{seen:?}"
        );
    }
    /// Whatever output is always 0, it is told.
    #[test]
    fn every_output_is_compared() {
        let mut draw = Draw::new(1);
        let outputs = check().0.eval(&Case::draw(&mut draw).inputs());
        assert!(outputs.len() > 20);
        for name in outputs.keys() {
            let mut model = check().0;
            let zero = model.number(0, 1);
            model.output(name, zero);
            assert!(run(&model, 1, 20_000).is_err(), "{name}");
        }
    }
}
