// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! The classes of faults, and what must find them.

use std::fmt;

use tpt_golden::types::Encoding;

/// What is done to an entry of the MPT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MptFault {
    /// One bit.
    OneBit,
    /// Two bits, anywhere.
    TwoBits,
    /// 3 to 16 neighbouring bits, in the order in which the CRC takes them.
    Burst,
    /// 1 to 16 random words of 32 bits.
    Words,
    /// All bits 0: a free entry with a right CRC.
    Zero,
    /// The entry of another index, copied over.
    Misplaced,
    /// An older version of the entry.
    Stale,
    /// Bits or words of an entry that was in use just before, and so is in the cache.
    Cached,
    /// Bits or words of an entry of the free list.
    Free,
}

/// What is done to an entry of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MttFault {
    /// One bit.
    OneBit,
    /// Two bits.
    TwoBits,
    /// All bits random.
    Random,
    /// All bits 0.
    Zero,
    /// Changes places with another entry of the same level of the same table.
    Swapped,
    /// The entry of the table of another region.
    Foreign,
    /// One of the first three, while the line is in the cache.
    Cached,
}

/// What a read that memory refuses is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReadOf {
    /// A request's entry of the MPT.
    Mpt,
    /// A line of leaf entries.
    Leaf,
    /// A line of directory entries.
    Directory,
    /// An entry that a command is about, or the free list.
    Engine,
}

/// Commands that nobody should send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HostileCommand {
    /// Every bit random.
    Random,
    /// A good command with a few bits changed.
    Flipped,
    /// Random keys.
    Keys,
    /// Ids that are in use.
    Ids,
    /// More commands that wait for a fence than there is room for.
    Flood,
    /// Commands on free and dying entries.
    Dead,
}

/// A class of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Corruption of the MPT.
    Mpt(MptFault),
    /// Corruption of a table.
    Mtt {
        /// Encoding of the table.
        encoding: Encoding,
        /// An entry that names a table page, not one that names a page.
        directory: bool,
        /// What is done to it.
        fault: MttFault,
    },
    /// A read is answered SLVERR or DECERR.
    ReadError(ReadOf),
    /// A write of a command (0: its first) is answered SLVERR or DECERR.
    WriteError(u8),
    /// Reads and writes are answered after 10,000 clocks.
    Late,
    /// Reset with everything in flight.
    Reset,
    /// Reset of a client with everything in flight.
    ClientReset,
    /// Disabled and enabled again with everything in flight.
    Disable,
    /// Hostile commands.
    Command(HostileCommand),
    /// Requests of random bits.
    Request,
    /// `done` for tags that nobody holds, too early, or twice.
    Done,
    /// Page faults of on-demand regions that the host answers wrongly, twice, or never.
    Paging,
}

const MPT: [(MptFault, u32); 9] = [
    (MptFault::OneBit, 8),
    (MptFault::TwoBits, 8),
    (MptFault::Burst, 6),
    (MptFault::Words, 4),
    (MptFault::Zero, 1),
    (MptFault::Misplaced, 8),
    (MptFault::Stale, 4),
    (MptFault::Cached, 4),
    (MptFault::Free, 2),
];

const MTT: [(MttFault, u32); 7] = [
    (MttFault::OneBit, 4),
    (MttFault::TwoBits, 3),
    (MttFault::Random, 2),
    (MttFault::Zero, 1),
    (MttFault::Swapped, 2),
    (MttFault::Foreign, 2),
    (MttFault::Cached, 2),
];

const OTHERS: [(Class, u32); 20] = [
    (Class::ReadError(ReadOf::Mpt), 4),
    (Class::ReadError(ReadOf::Leaf), 4),
    (Class::ReadError(ReadOf::Directory), 4),
    (Class::ReadError(ReadOf::Engine), 4),
    (Class::WriteError(0), 5),
    (Class::WriteError(1), 5),
    (Class::WriteError(2), 5),
    (Class::Late, 1),
    (Class::Reset, 5),
    (Class::ClientReset, 4),
    (Class::Disable, 4),
    (Class::Command(HostileCommand::Random), 2),
    (Class::Command(HostileCommand::Flipped), 4),
    (Class::Command(HostileCommand::Keys), 2),
    (Class::Command(HostileCommand::Ids), 2),
    (Class::Command(HostileCommand::Flood), 1),
    (Class::Command(HostileCommand::Dead), 2),
    (Class::Request, 3),
    (Class::Done, 3),
    (Class::Paging, 4),
];

impl Class {
    /// Every class, in the order of the table, and its share of a campaign. Encodings are those that
    /// the golden reference knows: a new one makes its own rows.
    pub fn all() -> Vec<(Class, u32)> {
        let mut all: Vec<_> = MPT.map(|(fault, n)| (Class::Mpt(fault), n)).to_vec();
        for encoding in Encoding::ALL.iter().copied() {
            for directory in [false, true] {
                all.extend(MTT.map(|(fault, n)| {
                    let class = Class::Mtt {
                        encoding,
                        directory,
                        fault,
                    };
                    (class, n)
                }));
            }
        }
        all.extend(OTHERS);
        all
    }

    /// The class of experiment `number`: every stretch of a campaign has its share of each.
    pub fn of(number: u64) -> Class {
        let all = Class::all();
        let total: u64 = all.iter().map(|(_, n)| u64::from(*n)).sum();
        // A step that has no divisor in common with the number of places visits them all.
        let step = (total * 5 / 8..).find(|step| coprime(*step, total));
        let mut place = (number % total) * step.unwrap_or(1) % total;
        for (class, n) in &all {
            match place.checked_sub(u64::from(*n)) {
                Some(rest) => place = rest,
                None => return *class,
            }
        }
        all[0].0
    }

    /// Whether redundancy must find every fault of the class: then there is a syndrome, and never
    /// an address.
    pub const fn must_be_found(self) -> bool {
        match self {
            Class::Mpt(fault) => matches!(
                fault,
                MptFault::OneBit
                    | MptFault::TwoBits
                    | MptFault::Burst
                    | MptFault::Zero
                    | MptFault::Misplaced
            ),
            Class::Mtt {
                encoding, fault, ..
            } => match encoding {
                // No redundancy.
                Encoding::Raw | Encoding::Flagged => matches!(fault, MttFault::Zero),
                Encoding::Checked => matches!(
                    fault,
                    MttFault::OneBit
                        | MttFault::TwoBits
                        | MttFault::Zero
                        | MttFault::Swapped
                        | MttFault::Foreign
                ),
            },
            // No memory is changed: every answer is that of the golden reference, or a syndrome.
            _ => true,
        }
    }

    /// Encoding, or what protects the entry.
    pub const fn encoding(self) -> &'static str {
        match self {
            Class::Mpt(_) => "CRC",
            Class::Mtt { encoding, .. } => match encoding {
                Encoding::Raw => "RAW",
                Encoding::Flagged => "FLAGGED",
                Encoding::Checked => "CHECKED",
            },
            _ => "-",
        }
    }
}

fn coprime(mut a: u64, mut b: u64) -> bool {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a == 1
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Class::Mpt(fault) => match fault {
                MptFault::OneBit => "MPT 1 bit",
                MptFault::TwoBits => "MPT 2 bits",
                MptFault::Burst => "MPT burst to 16 bits",
                MptFault::Words => "MPT random words",
                MptFault::Zero => "MPT zero",
                MptFault::Misplaced => "MPT misplaced",
                MptFault::Stale => "MPT stale",
                MptFault::Cached => "MPT while cached",
                MptFault::Free => "MPT free entry",
            },
            Class::Mtt {
                directory, fault, ..
            } => {
                let level = if *directory { "directory" } else { "leaf" };
                let fault = match fault {
                    MttFault::OneBit => "1 bit",
                    MttFault::TwoBits => "2 bits",
                    MttFault::Random => "random",
                    MttFault::Zero => "zero",
                    MttFault::Swapped => "swapped",
                    MttFault::Foreign => "of another region",
                    MttFault::Cached => "while cached",
                };
                return f.pad(&format!("MTT {level} {fault}"));
            }
            Class::ReadError(ReadOf::Mpt) => "AXI error, MPT read",
            Class::ReadError(ReadOf::Leaf) => "AXI error, leaf read",
            Class::ReadError(ReadOf::Directory) => "AXI error, directory read",
            Class::ReadError(ReadOf::Engine) => "AXI error, command's read",
            Class::WriteError(0) => "AXI error, first write",
            Class::WriteError(1) => "AXI error, second write",
            Class::WriteError(_) => "AXI error, third write",
            Class::Late => "answers 10,000 clocks late",
            Class::Reset => "reset in flight",
            Class::ClientReset => "client reset in flight",
            Class::Disable => "disable in flight",
            Class::Command(hostile) => match hostile {
                HostileCommand::Random => "commands of random bits",
                HostileCommand::Flipped => "commands with changed bits",
                HostileCommand::Keys => "commands with random keys",
                HostileCommand::Ids => "commands with ids in use",
                HostileCommand::Flood => "flood of commands",
                HostileCommand::Dead => "commands on dead entries",
            },
            Class::Request => "requests of random bits",
            Class::Done => "forged and doubled done",
            Class::Paging => "page faults answered wrongly",
        };
        f.pad(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn every_class_has_its_share() {
        let all = Class::all();
        let total: u64 = all.iter().map(|(_, n)| u64::from(*n)).sum();
        let mut seen: HashMap<Class, u32> = HashMap::new();
        for number in 0..total {
            *seen.entry(Class::of(number)).or_default() += 1;
        }
        for (class, n) in all {
            assert_eq!(seen.get(&class), Some(&n), "{class}");
        }
    }

    #[test]
    fn a_short_campaign_is_a_mixture() {
        let mut kinds: HashMap<std::mem::Discriminant<Class>, u32> = HashMap::new();
        for number in 0..60 {
            let kind = std::mem::discriminant(&Class::of(number));
            *kinds.entry(kind).or_default() += 1;
        }
        assert!(kinds.len() >= 8, "{}", kinds.len());
    }
}
