// SPDX-License-Identifier: Apache-2.0
//! The key: `docs/formats.md`, "Key".

use rust_hdl_core::prelude::*;

/// The S-box of PRESENT.
#[derive(LogicBlock, Default)]
pub struct Sbox {
    pub x: Signal<In, Bits<4>>,
    pub y: Signal<Out, Bits<4>>,
}

impl Logic for Sbox {
    #[hdl_gen]
    fn update(&mut self) {
        match self.x.val().index() {
            0 => self.y.next = 0xc.into(),
            1 => self.y.next = 0x5.into(),
            2 => self.y.next = 0x6.into(),
            3 => self.y.next = 0xb.into(),
            4 => self.y.next = 0x9.into(),
            5 => self.y.next = 0x0.into(),
            6 => self.y.next = 0xa.into(),
            7 => self.y.next = 0xd.into(),
            8 => self.y.next = 0x3.into(),
            9 => self.y.next = 0xe.into(),
            10 => self.y.next = 0xf.into(),
            11 => self.y.next = 0x8.into(),
            12 => self.y.next = 0x4.into(),
            13 => self.y.next = 0x7.into(),
            14 => self.y.next = 0x1.into(),
            _ => self.y.next = 0x2.into(),
        }
    }
}

/// Takes one round back: `(L, R) := (R, L ^ F(R ^ rk))` the other way round, with
/// `F(x) = y ^ rotl(y, 5) ^ rotl(y, 8)` and `y` three S-boxes on `x`.
#[derive(LogicBlock, Default)]
pub struct Undo {
    pub left: Signal<In, Bits<12>>,
    pub right: Signal<In, Bits<12>>,
    pub round_key: Signal<In, Bits<12>>,
    pub left_before: Signal<Out, Bits<12>>,
    pub right_before: Signal<Out, Bits<12>>,
    s0: Sbox,
    s1: Sbox,
    s2: Sbox,
    x: Signal<Local, Bits<12>>,
    y0: Signal<Local, Bits<12>>,
    y1: Signal<Local, Bits<12>>,
    y2: Signal<Local, Bits<12>>,
    y: Signal<Local, Bits<12>>,
    up5: Signal<Local, Bits<12>>,
    down7: Signal<Local, Bits<12>>,
    up8: Signal<Local, Bits<12>>,
    down4: Signal<Local, Bits<12>>,
}

impl Logic for Undo {
    #[hdl_gen]
    fn update(&mut self) {
        self.x.next = self.left.val() ^ self.round_key.val();
        self.s0.x.next = self.x.val().get_bits::<4>(0);
        self.s1.x.next = self.x.val().get_bits::<4>(4);
        self.s2.x.next = self.x.val().get_bits::<4>(8);
        self.y0.next = bit_cast::<12, 4>(self.s0.y.val());
        self.y1.next = bit_cast::<12, 4>(self.s1.y.val());
        self.y2.next = bit_cast::<12, 4>(self.s2.y.val());
        self.y.next = self.y0.val() | (self.y1.val() << 4) | (self.y2.val() << 8);
        self.up5.next = self.y.val() << 5;
        self.down7.next = self.y.val() >> 7;
        self.up8.next = self.y.val() << 8;
        self.down4.next = self.y.val() >> 4;
        self.right_before.next = self.left.val();
        self.left_before.next = self.right.val()
            ^ self.y.val()
            ^ (self.up5.val() | self.down7.val())
            ^ (self.up8.val() | self.down4.val());
    }
}

/// The index field of a key back to {role, index}: ten rounds, the last one first.
#[derive(LogicBlock, Default)]
pub struct KeyDec {
    pub field: Signal<In, Bits<24>>,
    pub secret: Signal<In, Bits<128>>,
    pub plain: Signal<In, Bit>,
    pub role: Signal<Out, Bit>,
    pub index: Signal<Out, Bits<23>>,
    round: [Undo; 10],
    left: Signal<Local, Bits<24>>,
    right: Signal<Local, Bits<24>>,
    joined: Signal<Local, Bits<24>>,
}

impl Logic for KeyDec {
    #[hdl_gen]
    fn update(&mut self) {
        self.round[0].left.next = self.field.val().get_bits::<12>(12);
        self.round[0].right.next = self.field.val().get_bits::<12>(0);
        for i in 1..10 {
            self.round[i].left.next = self.round[i - 1].left_before.val();
            self.round[i].right.next = self.round[i - 1].right_before.val();
        }
        // Round r uses bits 12 r + 11 to 12 r; round 9 is taken back first.
        self.round[0].round_key.next = self.secret.val().get_bits::<12>(108);
        self.round[1].round_key.next = self.secret.val().get_bits::<12>(96);
        self.round[2].round_key.next = self.secret.val().get_bits::<12>(84);
        self.round[3].round_key.next = self.secret.val().get_bits::<12>(72);
        self.round[4].round_key.next = self.secret.val().get_bits::<12>(60);
        self.round[5].round_key.next = self.secret.val().get_bits::<12>(48);
        self.round[6].round_key.next = self.secret.val().get_bits::<12>(36);
        self.round[7].round_key.next = self.secret.val().get_bits::<12>(24);
        self.round[8].round_key.next = self.secret.val().get_bits::<12>(12);
        self.round[9].round_key.next = self.secret.val().get_bits::<12>(0);
        self.left.next = bit_cast::<24, 12>(self.round[9].left_before.val());
        self.right.next = bit_cast::<24, 12>(self.round[9].right_before.val());
        self.joined.next = (self.left.val() << 12) | self.right.val();
        if self.plain.val() {
            self.joined.next = self.field.val();
        }
        self.role.next = self.joined.val().get_bit(23);
        self.index.next = self.joined.val().get_bits::<23>(0);
    }
}
