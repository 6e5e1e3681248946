// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Sequences of keys: recorded ones, those of the unit, and models of weak ones.

use std::path::Path;

use tpt_bench::rng::Rng;
use tpt_golden::keys::{KeyMaker, PERM_ROUNDS};
use tpt_golden::types::{Access, CmdOp, Command, Key, Role, Status};
use tpt_golden::unit::Golden;

use super::perm::{secrets, Permutation};
use crate::input::{BadInput, Lines};

/// Keys in the order in which they were given out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sequence {
    /// Whose keys they are.
    pub name: String,
    /// Runs of keys. Nothing is said about what lies between two runs.
    pub runs: Vec<Vec<u32>>,
}

impl Sequence {
    /// A sequence of one run.
    pub fn of(name: &str, keys: Vec<u32>) -> Self {
        Self {
            name: name.to_owned(),
            runs: vec![keys],
        }
    }

    /// Keys in all runs.
    pub fn keys(&self) -> usize {
        self.runs.iter().map(Vec::len).sum()
    }
}

/// The groups of recorded registrations whose keys follow each other (family H), and those of
/// windows.
const GROUPS: [(&str, bool); 5] = [
    ("reg_then_dereg", false),
    ("reg_keep_live", false),
    ("reg_into_gaps", false),
    ("mw1_alloc_then_dealloc", true),
    ("mw2_alloc_then_dealloc", true),
];

/// The key sequences of recorded verdicts: regions, then windows (without runs if there are none).
///
/// Both recorded drivers have one number per region. It is read from the L_Key, because the R_Key
/// of a region without a remote right is 0.
pub fn recorded(path: &Path, name: &str) -> Result<(Sequence, Sequence), BadInput> {
    let mut lines = Lines::open(path)?;
    let mut groups: Vec<Vec<u32>> = vec![Vec::new(); GROUPS.len()];
    while let Some((place, object)) = lines.next_object()? {
        if object.str(&place, "family")? != "H" {
            continue;
        }
        let group = object.opt_str(&place, "sub")?.unwrap_or_default();
        let Some(at) = GROUPS.iter().position(|(name, _)| *name == group) else {
            continue;
        };
        let outcome = object.object(&place, "outcome")?;
        if !outcome.bool(&place, "accepted")? {
            continue;
        }
        let field = if GROUPS[at].1 { "rkey" } else { "lkey" };
        groups[at].push(outcome.u32(&place, field)?);
    }
    let of = |windows: bool| {
        let all = groups.iter().zip(GROUPS);
        let mine = all.filter(|(keys, group)| group.1 == windows && !keys.is_empty());
        mine.map(|(keys, _)| keys.clone()).collect::<Vec<_>>()
    };
    let sequence = |what: &str, windows| Sequence {
        name: format!("{name}, {what}"),
        runs: of(windows),
    };
    let regions = sequence("regions", false);
    if regions.runs.is_empty() {
        return Err(BadInput {
            file: path.display().to_string(),
            line: 0,
            what: "no sequence of keys is recorded".into(),
            expected: "recorded verdicts with accepted registrations of family H".into(),
        });
    }
    Ok((regions, sequence("windows", true)))
}

/// A weakness that is planted, so that the measures can show that they see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plant {
    /// Index fields in the order of the indices, and the generation as tag.
    Sequential,
    /// Tags out of a shift register with feedback.
    Lfsr,
    /// Two rounds of the permutation.
    TwoRounds,
}

impl Plant {
    /// All, with their names.
    pub const ALL: [(&'static str, Self); 3] = [
        ("sequential", Self::Sequential),
        ("lfsr", Self::Lfsr),
        ("two-rounds", Self::TwoRounds),
    ];
}

/// What makes the keys that are measured: the reference, or a planted weakness.
#[derive(Clone, Debug)]
pub struct Maker {
    keys: KeyMaker,
    plant: Option<(Plant, Permutation)>,
    /// State of the shift register at every index, modulo its period.
    tags: Vec<u8>,
}

impl Maker {
    /// With random secrets.
    pub fn random(plain: bool, plant: Option<Plant>, rng: &mut Rng) -> Self {
        let (perm, tag) = secrets(rng);
        let mut tags = vec![1];
        while tags.len() < 15 {
            tags.push(lfsr(tags[tags.len() - 1]));
        }
        Self {
            keys: KeyMaker::new(perm, tag, plain),
            plant: plant.map(|plant| (plant, Permutation::of_secret(perm, 2))),
            tags,
        }
    }

    /// The reference inside.
    pub fn reference(&self) -> &KeyMaker {
        &self.keys
    }

    /// Rounds of its permutation.
    pub fn rounds(plant: Option<Plant>) -> usize {
        match plant {
            Some(Plant::Sequential) => 0,
            Some(Plant::TwoRounds) => 2,
            Some(Plant::Lfsr) | None => PERM_ROUNDS as usize,
        }
    }

    /// The index field.
    pub fn field(&self, role: Role, index: u32) -> u32 {
        let plain = u32::from(role.code()) << 23 | index;
        match &self.plant {
            Some((Plant::Sequential, _)) => plain,
            Some((Plant::TwoRounds, permutation)) => permutation.apply(plain),
            Some((Plant::Lfsr, _)) | None => self.keys.field(role, index),
        }
    }

    /// The tag.
    pub fn tag(&self, role: Role, index: u32, generation: u8) -> u8 {
        match self.plant {
            Some((Plant::Sequential, _)) => generation,
            Some((Plant::Lfsr, _)) => {
                let at = index as usize + usize::from(generation);
                self.tags[at % self.tags.len()]
            }
            Some((Plant::TwoRounds, _)) | None => self.keys.tag(role, index, generation),
        }
    }

    /// The R_Key of the first registration of an index.
    pub fn first_rkey(&self, index: u32) -> u32 {
        let tag = self.tag(Role::Remote, index, 1);
        Key::new(self.field(Role::Remote, index), tag).0
    }

    /// R_Keys of first registrations, in the order of their indices, from 1 on.
    pub fn sequence(&self, name: &str, keys: u32) -> Sequence {
        Sequence::of(
            name,
            (1..=keys).map(|index| self.first_rkey(index)).collect(),
        )
    }
}

/// The next state of an 8-bit shift register with feedback from bits 3, 5, 6 and 7: what soft-RoCE
/// took tags from before it took random ones. From 1 on it has 15 states.
fn lfsr(state: u8) -> u8 {
    let feedback = (state >> 7 ^ state >> 6 ^ state >> 5 ^ state >> 3) & 1;
    state << 1 | feedback
}

/// Models of what is published of other devices, and random numbers: they show what the measures
/// say of them.
pub fn models(keys: u32, rng: &mut Rng) -> Vec<Sequence> {
    let constant = (1..=keys).map(|n| n << 8).collect();
    let mut state = 1;
    let mut next = || {
        state = lfsr(state);
        state
    };
    let register = (1..=keys).map(|n| n << 8 | u32::from(next())).collect();
    let random = (0..keys).map(|_| rng.next_u64() as u32).collect();
    vec![
        Sequence::of("model: step 0x100", constant),
        Sequence::of("model: step 0x100, tag of 15 states", register),
        Sequence::of("random 32-bit numbers", random),
    ]
}

/// R_Keys that the golden unit gives when regions are registered and stay, and when each ends
/// before the next begins: in a table of so many entries.
pub fn registered(maker: &Maker, table: u32, keep: bool, keys: usize) -> Option<Vec<u32>> {
    let mut golden = Golden::enabled(maker.reference().clone(), table, 3);
    let mut rkeys = Vec::with_capacity(keys);
    for _ in 0..keys {
        let reg_mr = Command {
            op: CmdOp::RegMr.code(),
            pd: 1,
            access: (Access::LOCAL_WRITE | Access::REMOTE_READ).0,
            length: 4096,
            log_page: 12,
            log_tpage: 12,
            frame: [0x10_0000, 0, 0, 0],
            ..Command::default()
        };
        let completion = golden.command(&reg_mr, None);
        if completion.status != Status::Ok {
            return None;
        }
        rkeys.push(completion.rkey.0);
        if !keep {
            let dereg_mr = Command {
                op: CmdOp::DeregMr.code(),
                pd: 1,
                key: completion.lkey,
                ..Command::default()
            };
            if golden.command(&dereg_mr, None).status != Status::Ok {
                return None;
            }
        }
    }
    Some(rkeys)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sequences that are measured are those that registrations give.
    #[test]
    fn registrations_give_the_sequence() {
        let mut rng = Rng::new(1);
        for plain in [false, true] {
            let maker = Maker::random(plain, None, &mut rng);
            let sequence = maker.sequence("", 300);
            for keep in [false, true] {
                assert_eq!(
                    registered(&maker, 512, keep, 300).as_ref(),
                    Some(&sequence.runs[0])
                );
            }
        }
    }

    #[test]
    fn the_register_has_fifteen_states() {
        let states: Vec<u8> = (0..15)
            .scan(1, |state, _| {
                *state = lfsr(*state);
                Some(*state)
            })
            .collect();
        assert_eq!(states[..6], [0x02, 0x04, 0x08, 0x11, 0x22, 0x45]);
        assert_eq!(states[14], 1);
    }

    #[test]
    fn plants_differ_from_the_reference() {
        let plain = |plant| Maker::random(false, plant, &mut Rng::new(2));
        let good = plain(None);
        for (name, plant) in Plant::ALL {
            let weak = plain(Some(plant));
            let differs = (1..50).any(|i| weak.first_rkey(i) != good.first_rkey(i));
            assert!(differs, "{name}");
        }
    }
}
