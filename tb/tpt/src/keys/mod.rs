// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! `tpt keys`: how hard keys are to guess, measured.
//!
//! Keys of the unit, plain and hidden, beside recorded ones ([`entropy`]); the permutation behind
//! the hidden index fields by number of rounds ([`perm`], [`trails`]); tags and their reuse
//! ([`tags`]); guessed keys through the simulated unit ([`guess`]). Everything follows from the
//! seed. What must be so is a claim, and a claim that fails makes the exit code 1.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{anyhow, bail, Result};
use serde_json::json;
use tpt_bench::rng::Rng;
use tpt_golden::keys::PERM_ROUNDS;
use tpt_verilated::Config;

pub mod entropy;
pub mod guess;
pub mod perm;
pub mod report;
pub mod sequence;
pub mod stats;
pub mod tags;
pub mod trails;

use crate::cli::{put, Exit, Output};
use perm::{Avalanche, Fields, MOST_ROUNDS};
use report::{Cell, Claim, Report, Table};
use sequence::{Maker, Plant};
use trails::{Hull, Kind, Trails};

/// A test fails if what it sees has less than this chance.
pub const SIGNIFICANCE: f64 = 1e-6;
/// Of intervals and bounds.
pub const CONFIDENCE: f64 = 0.9999;
/// A trail must have more weight than the permutation has bits.
const LIMIT: u8 = 24;
/// And all trails from one difference or mask to another, log2; a random permutation has -24. What
/// is between is less than shows in the whole code book.
const SUM: f64 = -23.5;
/// Round keys at the end of which no full avalanche is expected: there are too few rounds behind
/// them.
const LAST_ROUND_KEYS: usize = 3;

/// What to do.
#[derive(Clone, Debug)]
pub struct Options {
    /// Configuration of the simulated unit.
    pub config: Config,
    /// Start of all random choices.
    pub seed: u64,
    /// Fewer samples.
    pub quick: bool,
    /// Only the trails, with more rounds and the sums over them.
    pub trails: bool,
    /// Tables for a page of the documentation.
    pub markdown: bool,
    /// Folder of the recorded verdicts.
    pub recordings: PathBuf,
    /// Report for machines.
    pub json: Option<PathBuf>,
    /// For tests of this command: keys with this weakness are measured instead of hidden ones.
    /// Nothing goes to the simulated unit.
    pub plant: Option<Plant>,
}

impl Options {
    fn pick<T>(&self, quick: T, full: T) -> T {
        if self.quick {
            quick
        } else {
            full
        }
    }

    /// A source of random numbers for one part, so that parts do not depend on each other.
    fn rng(&self, part: u64) -> Rng {
        let mut rng = Rng::new(self.seed ^ part.wrapping_mul(0xd134_2543_de82_ef95));
        Rng::new(rng.next_u64())
    }
}

/// Recorded sequences of both drivers.
fn recordings(folder: &Path) -> Result<Vec<sequence::Sequence>> {
    let mut all = Vec::new();
    for (file, name) in [
        ("rxe.jsonl.gz", "soft-RoCE"),
        ("siw.jsonl.gz", "soft-iWARP"),
    ] {
        let (regions, windows) = sequence::recorded(&folder.join(file), name)?;
        all.push(regions);
        if !windows.runs.is_empty() {
            all.push(windows);
        }
    }
    Ok(all)
}

/// Avalanche and chi-square of index fields, by number of rounds.
fn rounds(options: &Options) -> Report {
    let mut rng = options.rng(1);
    let (secrets, per_secret) = options.pick((16, 256), (64, 1024));
    let maps = options.pick(8, 32);
    let wanted = Maker::rounds(options.plant);
    let mut table = Table::new(
        "The permutation, by number of rounds",
        &format!(
            "Avalanche of the 24 input bits, {secrets} secrets, {} trials of each bit: output bits \
             that flip (12 are right), least and largest chance of a pair of bits, p-value of all \
             together. Chi-square of the fields of {} consecutive indices, {maps} secrets: \
             smallest p-value times their number, of the bytes of the fields, of the XOR of \
             neighbours and of the XOR over 4096 indices.",
            secrets * per_secret,
            perm::COUNTED
        ),
        &[
            "rounds",
            "flips",
            "least",
            "most",
            "p",
            "fields",
            "neighbours",
            "over 4096",
        ],
    );
    let mut claims = Vec::new();
    let first = wanted.min(1);
    for rounds in first..=PERM_ROUNDS as usize {
        let avalanche = Avalanche::of_input(rounds, secrets, per_secret, &mut rng);
        let fields = Fields::of_rounds(rounds, maps, &mut rng);
        let (least, most) = avalanche.extremes();
        table.rows.push(vec![
            rounds.into(),
            Cell::real(avalanche.mean(), 2),
            Cell::real(least, 3),
            Cell::real(most, 3),
            Cell::chance(avalanche.p_value()),
            Cell::chance(fields.bytes.least()),
            Cell::chance(fields.steps.least()),
            Cell::chance(fields.strides.least()),
        ]);
        if rounds == wanted {
            claims.push(Claim::new(
                format!("{rounds} rounds: each input bit flips each output bit with one half"),
                format!("{least:.3} to {most:.3}, p {:.1e}", avalanche.p_value()),
                avalanche.p_value() >= SIGNIFICANCE,
            ));
        }
    }
    // What the unit makes, not only the permutation with random round keys.
    let mut fields = Fields::default();
    for _ in 0..maps {
        let maker = Maker::random(false, options.plant, &mut rng);
        fields.count(|index| maker.field(tpt_golden::types::Role::Remote, index));
    }
    for (what, values) in [
        ("fields", &fields.bytes),
        ("XOR of neighbours", &fields.steps),
        ("XOR over 4096 indices", &fields.strides),
    ] {
        claims.push(Claim::new(
            format!("chi-square of index fields, {what}: no p-value is below {SIGNIFICANCE:.0e}"),
            format!("least {:.1e}, even {:.1e}", values.least(), values.even()),
            values.is_good(SIGNIFICANCE),
        ));
    }
    let differs = perm::differs_from_reference(&mut rng, options.pick(64, 256));
    claims.push(Claim::new(
        "the permutation that is measured is that of the reference",
        differs.map_or("no difference".into(), |trial| {
            format!("differs in trial {trial}")
        }),
        differs.is_none(),
    ));
    Report {
        tables: vec![table],
        claims,
    }
}

/// Avalanche of the secret.
fn secret_bits(options: &Options) -> Report {
    let mut rng = options.rng(2);
    let (secrets, per_secret) = options.pick((8, 128), (32, 512));
    let rounds = match Maker::rounds(options.plant) {
        0 => PERM_ROUNDS as usize,
        rounds => rounds,
    };
    let mut table = Table::new(
        "Bits of the secret, by round key",
        &format!(
            "{secrets} secrets, {} trials of each bit. The last round keys cannot reach every \
             output bit, as there is nothing behind them.",
            secrets * per_secret
        ),
        &["round key", "flips", "least", "most", "p"],
    );
    let all = Avalanche::of_secret(rounds, secrets, per_secret, &mut rng);
    let mut good = rounds > LAST_ROUND_KEYS;
    for round in 0..rounds {
        let one = all.of_round(round);
        let (least, most) = one.extremes();
        table.rows.push(vec![
            round.into(),
            Cell::real(one.mean(), 2),
            Cell::real(least, 3),
            Cell::real(most, 3),
            Cell::chance(one.p_value()),
        ]);
        if round + LAST_ROUND_KEYS < rounds {
            good &= one.p_value() >= SIGNIFICANCE;
        }
    }
    let claims = vec![Claim::new(
        format!(
            "each bit of all but the last {LAST_ROUND_KEYS} round keys flips each output bit with \
             one half"
        ),
        format!("{} round keys", rounds.saturating_sub(LAST_ROUND_KEYS)),
        good,
    )];
    Report {
        tables: vec![table],
        claims,
    }
}

/// Trails, and sums over blocks of indices.
fn structure(options: &Options, rounds: usize) -> Report {
    let mut rng = options.rng(3);
    let kinds = [Kind::Differential, Kind::Linear].map(|kind| Trails::search(kind, rounds));
    let blocks: Vec<(u32, [u32; MOST_ROUNDS])> = options
        .pick(&[12, 16, 18][..], &[12, 16, 20, 23][..])
        .iter()
        .map(|&log| {
            // So many that no sum is 0 with all of them by chance.
            let secrets = match log {
                ..=12 => 64,
                13..=16 => 32,
                _ => 24,
            };
            (log, perm::balanced_bits(log, secrets, &mut rng))
        })
        .collect();
    let mut table = Table::new(
        "Best trails and sums over blocks, by number of rounds",
        "Smallest weight of a trail, of all trails there are: -log2 of its chance (differential) \
         or of its squared correlation (linear). Balanced: output bits whose sum over a block of \
         consecutive indices is always 0.",
        options.pick(
            &[
                "rounds",
                "differential",
                "linear",
                "balanced 2^12",
                "balanced 2^16",
                "balanced 2^18",
            ][..],
            &[
                "rounds",
                "differential",
                "linear",
                "balanced 2^12",
                "balanced 2^16",
                "balanced 2^20",
                "balanced 2^23",
            ][..],
        ),
    );
    for n in 0..rounds.min(MOST_ROUNDS) {
        let mut row = vec![Cell::from(n + 1)];
        row.extend(
            kinds
                .iter()
                .map(|trails| u64::from(trails.weights[n]).into()),
        );
        row.extend(blocks.iter().map(|(_, bits)| u64::from(bits[n]).into()));
        table.rows.push(row);
    }
    let last = PERM_ROUNDS as usize - 1;
    let mut claims: Vec<Claim> = kinds.iter().map(trail_claim).collect();
    claims.push(Claim::new(
        "no sum over a block of indices is balanced after 8 rounds",
        match blocks
            .iter()
            .map(|(_, bits)| bits.iter().rposition(|n| *n > 0))
            .max()
        {
            Some(Some(last)) => format!("the last one is after {} rounds", last + 1),
            _ => "there is none".into(),
        },
        blocks
            .iter()
            .all(|(_, bits)| bits[7..=last].iter().all(|n| *n == 0)),
    ));
    Report {
        tables: vec![table],
        claims,
    }
}

fn trail_claim(trails: &Trails) -> Claim {
    let rounds = PERM_ROUNDS as usize;
    let weight = trails.weights.get(rounds - 1).copied().unwrap_or_default();
    let from = trails.rounds_beyond(LIMIT);
    Claim::new(
        format!(
            "{rounds} rounds: no {} trail is better than 2^-{LIMIT}",
            trails.kind.name()
        ),
        format!(
            "the best is 2^-{weight}{}",
            from.map_or(String::new(), |n| format!("; from {n} rounds on none is"))
        ),
        weight > LIMIT,
    )
}

/// Sums over trails: largest of all starts, by rounds.
fn sums(hulls: &[Hull], rounds: usize) -> f64 {
    let of = |hull: &Hull| hull.log2.get(rounds - 1).copied();
    hulls
        .iter()
        .filter_map(of)
        .fold(f64::NEG_INFINITY, f64::max)
}

/// `tpt keys --trails`.
fn all_trails(options: &Options) -> Result<Report> {
    let rounds = options.pick(MOST_ROUNDS, 16);
    let wanted = PERM_ROUNDS as usize;
    let work = |kind: Kind| {
        let trails = Trails::search(kind, rounds);
        // From where the best trails of 8, 9 and 10 rounds begin.
        let mut ends: Vec<u32> = trails.ends[wanted - 3..wanted].concat();
        ends.sort_unstable();
        ends.dedup();
        ends.truncate(options.pick(1, ends.len()));
        let hulls: Vec<Hull> = ends
            .iter()
            .map(|end| Hull::from_end(kind, *end, MOST_ROUNDS))
            .collect();
        (trails, hulls)
    };
    let found = std::thread::scope(|scope| {
        let threads =
            [Kind::Differential, Kind::Linear].map(|kind| scope.spawn(move || work(kind)));
        let joined = threads.map(|thread| thread.join());
        joined.into_iter().collect::<Result<Vec<_>, _>>()
    });
    let found = found.map_err(|_| anyhow!("the search of trails has panicked"))?;
    let starts: Vec<String> = found
        .iter()
        .map(|(trails, hulls)| format!("{} {}", hulls.len(), trails.kind.name()))
        .collect();
    let mut table = Table::new(
        "Best trails, by number of rounds",
        &format!(
            "Smallest weight of a trail, of all trails there are: -log2 of its chance \
             (differential) or of its squared correlation (linear). Sums: log2 of the chance, or \
             squared correlation, of the likeliest end, all trails together, on average over all \
             secrets; from {} starts of best trails. -24 is that of a random permutation.",
            starts.join(" and ")
        ),
        &[
            "rounds",
            "differential",
            "linear",
            "differential sum",
            "linear sum",
        ],
    );
    for n in 1..=rounds {
        let mut row = vec![Cell::from(n)];
        row.extend(
            found
                .iter()
                .map(|(trails, _)| u64::from(trails.weights[n - 1]).into()),
        );
        row.extend(found.iter().map(|(_, hulls)| match n <= MOST_ROUNDS {
            true => Cell::real(sums(hulls, n), 2),
            false => Cell::none(),
        }));
        table.rows.push(row);
    }
    let mut claims: Vec<Claim> = found
        .iter()
        .map(|(trails, _)| trail_claim(trails))
        .collect();
    for (trails, hulls) in &found {
        let best = sums(hulls, wanted);
        claims.push(Claim::new(
            format!(
                "{wanted} rounds: the {} trails of those starts have less than 2^{SUM} together",
                trails.kind.name()
            ),
            format!("2^{best:.2}"),
            best < SUM,
        ));
    }
    Ok(Report {
        tables: vec![table],
        claims,
    })
}

/// All parts but the long search of trails.
fn measure(options: &Options) -> Result<Report> {
    let recorded = recordings(&options.recordings)?;
    let start = Instant::now();
    let say = |what: &str| {
        let seconds = start.elapsed().as_secs_f64();
        // If nobody can read it, nothing is lost.
        let _ = writeln!(std::io::stderr(), "keys: {what} ({seconds:.1} s)");
    };
    std::thread::scope(|scope| {
        let structure = scope.spawn(|| {
            let begin = Instant::now();
            let report = structure(options, options.pick(PERM_ROUNDS as usize, MOST_ROUNDS));
            (report, begin.elapsed().as_secs_f64())
        });
        say("entropy");
        let sizes = entropy::Sizes {
            keys: options.pick(1 << 19, 1 << 22),
            predicted: options.pick(1 << 13, 1 << 15),
        };
        let mut report = entropy::measure(sizes, &recorded, options.plant, &mut options.rng(0));
        say("permutation");
        report.add(rounds(options));
        report.add(secret_bits(options));
        say("tags");
        let (secrets, indices) = options.pick((8, 1 << 15), (32, 1 << 17));
        let spread = tags::spread(secrets, indices, options.plant, &mut options.rng(4));
        let next = tags::next_tags(
            6,
            options.pick(16, 100),
            options.pick(1 << 14, 1 << 20),
            &mut options.rng(5),
        );
        let sizes = tags::ReuseSizes {
            secrets: options.pick(4, 16),
            indices: options.pick(512, 8192),
            zero_fields: options.pick(2, 16),
        };
        let reuse = tags::reuse(sizes, options.plant, &mut options.rng(6));
        let guesses = match options.plant {
            Some(_) => Report::default(),
            None => {
                say("guesses");
                let trials = guess::trials(options.quick);
                guess::measure(options.config, &trials, &mut options.rng(7))?
            }
        };
        let (structure, seconds) = structure
            .join()
            .map_err(|_| anyhow!("the search of trails has panicked"))?;
        say(&format!(
            "done; trails and blocks took {seconds:.1} s beside it"
        ));
        report.add(structure);
        report.add(spread);
        report.add(next);
        report.add(reuse);
        report.add(guesses);
        Ok(report)
    })
}

/// `tpt keys`.
pub fn keys(options: &Options) -> Result<Exit> {
    let config = options.config.name();
    if !options.trails && options.plant.is_none() && !options.config.sizes().built {
        bail!("the configuration {config} is not part of this build");
    }
    let file = match &options.json {
        Some(path) => Some(Output::open("--json", path, &[])?),
        None => None,
    };
    let start = Instant::now();
    let report = match options.trails {
        true => {
            let report = all_trails(options)?;
            let seconds = start.elapsed().as_secs_f64();
            let _ = writeln!(std::io::stderr(), "keys: trails took {seconds:.1} s");
            report
        }
        false => measure(options)?,
    };
    let head = format!(
        "configuration {config}, seed {}{}{}\n\n",
        options.seed,
        options.pick(", quick", ""),
        options
            .plant
            .map_or(String::new(), |plant| format!(", planted: {plant:?}"))
    );
    let body = match options.markdown {
        true => report.markdown(),
        false => report.text(),
    };
    put(std::io::stdout().lock(), "standard output", &(head + &body))?;
    if let Some(file) = file {
        let mut machine = report.json();
        machine["config"] = json!(config);
        machine["seed"] = json!(options.seed);
        machine["quick"] = json!(options.quick);
        file.write(&format!("{}\n", serde_json::to_string_pretty(&machine)?))?;
    }
    Ok(match report.is_good() {
        true => Exit::Good,
        false => Exit::Mismatch,
    })
}
