// SPDX-License-Identifier: Apache-2.0
//! Keys: how an L_Key and an R_Key are made, and how the index is read back from one.
//!
//! A key is 32 bits: a 24-bit field and an 8-bit tag.
//!
//! * The **field** is {role, 23-bit index} sent through a secret permutation of 24 bits: a balanced
//!   Feistel network on two 12-bit halves, 10 rounds. L_Keys and R_Keys are therefore disjoint, and
//!   one key does not tell the next. In plain mode the field is {role, index} itself.
//! * The **tag** depends on index, role and number of the registration through a keyed
//!   pseudo-random function: 16 states of Speck64/128, from the ciphertext of the index on, give one
//!   byte each for each role; these are the sub keys of a small permutation of the number, modulo
//!   256. A permutation, so the tags of one index differ for 256 registrations in a row.
//!
//! ```
//! use tpt_golden::keys::KeyMaker;
//! use tpt_golden::types::{Access, Role};
//!
//! let maker = KeyMaker::new([1, 2, 3, 4], [5, 6, 7, 8], false);
//! let (lkey, rkey) = maker.keys(42, 1, Access::LOCAL_WRITE | Access::REMOTE_READ);
//! assert_eq!(maker.decode(lkey), (Role::Local, 42));
//! assert_eq!(maker.decode(rkey), (Role::Remote, 42));
//! ```

use crate::types::{Access, Key, Role};

/// Rounds of the 24-bit permutation.
pub const PERM_ROUNDS: u32 = 10;
/// Rounds of the permutation that makes tags.
pub const TAG_ROUNDS: usize = 16;
/// Bits of an index.
pub const INDEX_BITS: u32 = 23;

/// The S-box of PRESENT (ISO/IEC 29192-2).
const SBOX: [u8; 16] = [
    0xc, 0x5, 0x6, 0xb, 0x9, 0x0, 0xa, 0xd, 0x3, 0xe, 0xf, 0x8, 0x4, 0x7, 0x1, 0x2,
];

/// High plaintext word of the tag function: "TPT0" in ASCII.
const TAG_LABEL: u32 = u32::from_be_bytes(*b"TPT0");

/// Makes and reads keys, from the two secrets of the unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyMaker {
    /// Round keys of the permutation, 12 bits each; `None` in plain mode.
    rounds: Option<[u16; PERM_ROUNDS as usize]>,
    /// Round keys of the tag function.
    speck: Speck,
}

impl KeyMaker {
    /// From the secrets as they are written to the registers (word 0 is bits 31:0). In `plain`
    /// mode the permutation is off.
    pub fn new(perm_secret: [u32; 4], tag_secret: [u32; 4], plain: bool) -> KeyMaker {
        let secret = perm_secret
            .iter()
            .rev()
            .fold(0u128, |all, &word| all << 32 | u128::from(word));
        let rounds: [u16; PERM_ROUNDS as usize] =
            std::array::from_fn(|r| (secret >> (12 * r)) as u16 & 0xfff);
        KeyMaker {
            rounds: (!plain).then_some(rounds),
            speck: Speck::new(tag_secret),
        }
    }

    /// The 24-bit index field of a key. The index is taken modulo 2^23.
    pub fn field(&self, role: Role, index: u32) -> u32 {
        let plain = (u32::from(role.code()) << INDEX_BITS) | (index % (1 << INDEX_BITS));
        let Some(rounds) = &self.rounds else {
            return plain;
        };
        let (mut left, mut right) = split(plain);
        for round_key in rounds {
            (left, right) = (right, left ^ round(right ^ round_key));
        }
        join(left, right)
    }

    /// The role and the index of a key, whatever its tag.
    pub fn decode(&self, key: Key) -> (Role, u32) {
        let plain = match &self.rounds {
            None => key.field(),
            Some(rounds) => {
                let (mut left, mut right) = split(key.field());
                for round_key in rounds.iter().rev() {
                    (left, right) = (right ^ round(left ^ round_key), left);
                }
                join(left, right)
            }
        };
        let role = if plain >> INDEX_BITS == 0 {
            Role::Local
        } else {
            Role::Remote
        };
        (role, plain % (1 << INDEX_BITS))
    }

    /// The sub keys with which the tags of an index are made.
    pub fn tag_keys(&self, role: Role, index: u32) -> [u8; TAG_ROUNDS] {
        let states = self.speck.states(TAG_LABEL, index % (1 << INDEX_BITS));
        let byte = match role {
            Role::Local => 0,
            Role::Remote => 2,
        };
        std::array::from_fn(|n| states[Speck::ROUNDS + n].0.to_le_bytes()[byte])
    }

    /// The tag that the unit chooses for registration number `reg_num` of the index, modulo 256.
    pub fn tag(&self, role: Role, index: u32, reg_num: u8) -> u8 {
        self.tag_keys(role, index)
            .into_iter()
            .fold(reg_num, mix_tag)
    }

    /// The index field is 0 in one of the roles: such an index is not handed out, as a key could
    /// be 0.
    pub fn has_zero_field(&self, index: u32) -> bool {
        [Role::Local, Role::Remote]
            .into_iter()
            .any(|role| self.field(role, index) == 0)
    }

    /// L_Key and R_Key of a registration. The R_Key is 0 if nothing is granted to the peer.
    pub fn keys(&self, index: u32, reg_num: u8, access: Access) -> (Key, Key) {
        let key = |role| Key::new(self.field(role, index), self.tag(role, index, reg_num));
        let remote = access.intersects(Access::ANY_REMOTE);
        (
            key(Role::Local),
            if remote { key(Role::Remote) } else { Key::NONE },
        )
    }
}

/// Halves of a 24-bit value, left one first.
fn split(value: u32) -> (u16, u16) {
    ((value >> 12) as u16 & 0xfff, value as u16 & 0xfff)
}

fn join(left: u16, right: u16) -> u32 {
    u32::from(left) << 12 | u32::from(right)
}

/// Round function of the permutation: an S-box on each nibble, then y + rotl(y, 5) + rotl(y, 8)
/// over GF(2), on 12 bits.
fn round(x: u16) -> u16 {
    let y = (0..3).fold(0, |y, nibble| {
        y | u16::from(SBOX[usize::from(x >> (4 * nibble) & 0xf)]) << (4 * nibble)
    });
    let rotl = |n: u32| (y << n | y >> (12 - n)) & 0xfff;
    y ^ rotl(5) ^ rotl(8)
}

/// A round of the permutation that makes tags: nibbles L and R of the value become R and L ^
/// S(S(R ^ low nibble of the key) ^ high nibble).
pub fn mix_tag(value: u8, key: u8) -> u8 {
    let s = |nibble: u8| SBOX[usize::from(nibble)];
    let (left, right) = (value >> 4, value & 15);
    right << 4 | left ^ s(s(right ^ key & 15) ^ key >> 4)
}

/// Speck64/128: 64-bit block, 128-bit key, 27 rounds (Beaulieu et al., 2013), which goes on for as
/// many rounds as tags need.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Speck {
    round_keys: [u32; Speck::ALL],
}

impl Speck {
    const ROUNDS: usize = 27;
    const ALL: usize = Speck::ROUNDS + TAG_ROUNDS;

    /// Key words in the order k0, l0, l1, l2.
    fn new([k0, l0, l1, l2]: [u32; 4]) -> Speck {
        let mut round_keys = [0; Speck::ALL];
        let mut k = k0;
        let mut l = [l0, l1, l2];
        for (i, round_key) in round_keys.iter_mut().enumerate() {
            *round_key = k;
            let next = k.wrapping_add(l[i % 3].rotate_right(8)) ^ i as u32;
            l[i % 3] = next;
            k = k.rotate_left(3) ^ next;
        }
        Speck { round_keys }
    }

    /// What is there after 0, 1, 2, ... rounds; the ciphertext after 27.
    fn states(&self, x: u32, y: u32) -> [(u32, u32); Speck::ALL] {
        let mut next = (x, y);
        self.round_keys.map(|k| {
            let now = next;
            let x = now.0.rotate_right(8).wrapping_add(now.1) ^ k;
            next = (x, now.1.rotate_left(3) ^ x);
            now
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test vector of the Speck paper.
    #[test]
    fn speck_test_vector() {
        let speck = Speck::new([0x0302_0100, 0x0b0a_0908, 0x1312_1110, 0x1b1a_1918]);
        assert_eq!(
            speck.states(0x3b72_6574, 0x7475_432d)[27],
            (0x8c6f_a548, 0x454e_028b)
        );
    }
}
