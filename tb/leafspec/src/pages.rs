// SPDX-License-Identifier: Apache-2.0
//! Pages: host windows, the split of a request, the walk, entries of the table.

use rust_hdl_core::prelude::*;

/// One host window: does a segment lie in it, whole? Addresses are pages of 4 KiB.
#[derive(LogicBlock, Default)]
pub struct Window {
    pub enable: Signal<In, Bit>,
    pub base: Signal<In, Bits<52>>,
    pub limit: Signal<In, Bits<52>>,
    pub first: Signal<In, Bits<52>>,
    pub last: Signal<In, Bits<52>>,
    pub holds: Signal<Out, Bit>,
}

impl Logic for Window {
    #[hdl_gen]
    fn update(&mut self) {
        self.holds.next = false;
        if self.enable.val() {
            self.holds.next =
                !((self.first.val() < self.base.val()) | (self.last.val() > self.limit.val()));
        }
    }
}

/// The segment of page number `page` of a request, counted from the page where `rem` bytes begin at
/// offset `off`.
#[derive(LogicBlock, Default)]
pub struct Split {
    /// Bits 63:12 of the page's physical address.
    pub frame: Signal<In, Bits<52>>,
    pub page: Signal<In, Bits<4>>,
    pub log_page: Signal<In, Bits<6>>,
    pub off: Signal<In, Bits<43>>,
    pub rem: Signal<In, Bits<32>>,
    /// First byte, bytes, and the page of 4 KiB of the last byte.
    pub pa: Signal<Out, Bits<64>>,
    pub len: Signal<Out, Bits<32>>,
    pub last: Signal<Out, Bits<52>>,
    /// The page of 4 KiB behind the page, with the carry.
    pub behind: Signal<Out, Bits<53>>,
    /// The page is one of the request, and the frame is one of its size.
    pub sound: Signal<Out, Bit>,
    frame53: Signal<Local, Bits<53>>,
    pages53: Signal<Local, Bits<53>>,
    one53: Signal<Local, Bits<53>>,
    log_pages: Signal<Local, Bits<6>>,
    one: Signal<Local, Bits<64>>,
    size: Signal<Local, Bits<64>>,
    ones: Signal<Local, Bits<64>>,
    address: Signal<Local, Bits<64>>,
    from_byte: Signal<Local, Bits<64>>,
    skip: Signal<Local, Bits<64>>,
    number: Signal<Local, Bits<64>>,
    past: Signal<Local, Bits<64>>,
    left: Signal<Local, Bits<64>>,
    room: Signal<Local, Bits<64>>,
    bytes: Signal<Local, Bits<64>>,
    first_byte: Signal<Local, Bits<64>>,
    last_byte: Signal<Local, Bits<64>>,
    wide: Signal<Local, Bits<64>>,
    off64: Signal<Local, Bits<64>>,
    rem64: Signal<Local, Bits<64>>,
}

impl Logic for Split {
    #[hdl_gen]
    fn update(&mut self) {
        self.one.next = 1.into();
        self.size.next = self.one.val() << self.log_page.val();
        self.ones.next = self.size.val() - 1;
        self.wide.next = bit_cast::<64, 52>(self.frame.val());
        self.address.next = self.wide.val() << 12;
        self.off64.next = bit_cast::<64, 43>(self.off.val());
        self.rem64.next = bit_cast::<64, 32>(self.rem.val());
        self.number.next = bit_cast::<64, 4>(self.page.val());
        self.skip.next = self.number.val() << self.log_page.val();
        // The request is bytes off to off + rem - 1, counted from the start of page 0.
        self.past.next = self.off64.val() + self.rem64.val();
        self.from_byte.next = self.skip.val();
        if self.page.val() == 0 {
            self.from_byte.next = self.off64.val();
        }
        self.left.next = self.past.val() - self.from_byte.val();
        self.room.next = (self.skip.val() + self.size.val()) - self.from_byte.val();
        self.bytes.next = self.left.val();
        if self.room.val() < self.left.val() {
            self.bytes.next = self.room.val();
        }
        self.first_byte.next = self.address.val() + (self.from_byte.val() - self.skip.val());
        self.last_byte.next = (self.first_byte.val() + self.bytes.val()) - 1;
        self.pa.next = self.first_byte.val();
        self.len.next = self.bytes.val().get_bits::<32>(0);
        self.last.next = self.last_byte.val().get_bits::<52>(12);
        self.frame53.next = bit_cast::<53, 52>(self.frame.val());
        self.one53.next = 1.into();
        self.log_pages.next = self.log_page.val() - 12;
        self.pages53.next = self.one53.val() << self.log_pages.val();
        self.behind.next = self.frame53.val() + self.pages53.val();
        self.sound.next = ((self.address.val() & self.ones.val()) == 0)
            & (self.off64.val() < self.size.val())
            & (self.rem64.val() > 0)
            & (self.from_byte.val() < self.past.val())
            & (self.log_page.val() >= 12)
            & (self.log_page.val() <= 43);
    }
}

/// A step of the walk: which entry of a level, where it is, how many pages its line has for the
/// request, and what is behind them.
#[derive(LogicBlock, Default)]
pub struct Walk {
    /// Number of the page in the region (flat: and bits 11:3 of the root).
    pub page: Signal<In, Bits<40>>,
    /// Level of the table page, 1 is the leaf, and of the root.
    pub lvl: Signal<In, Bits<3>>,
    pub top: Signal<In, Bits<3>>,
    /// log2(table page) - 12.
    pub log_tpage: Signal<In, Bits<3>>,
    /// Bits 63:12 of the table page's address.
    pub base: Signal<In, Bits<52>>,
    pub log_page: Signal<In, Bits<6>>,
    /// Pages and bytes of the request from here on, offset in the first page.
    pub np: Signal<In, Bits<20>>,
    pub off: Signal<In, Bits<43>>,
    pub rem: Signal<In, Bits<32>>,
    /// log2 of the entries of a line.
    pub line_log: Signal<In, Bits<3>>,
    pub entry: Signal<Out, Bits<40>>,
    /// Of the line, and of the line inside its table page.
    pub address: Signal<Out, Bits<64>>,
    pub in_table: Signal<Out, Bits<64>>,
    pub num: Signal<Out, Bits<20>>,
    pub ends: Signal<Out, Bit>,
    pub next_page: Signal<Out, Bits<40>>,
    pub next_np: Signal<Out, Bits<20>>,
    pub next_rem: Signal<Out, Bits<32>>,
    one: Signal<Local, Bits<64>>,
    entries: Signal<Local, Bits<64>>,
    t: Signal<Local, Bits<6>>,
    span: Signal<Local, Bits<6>>,
    number: Signal<Local, Bits<40>>,
    number64: Signal<Local, Bits<64>>,
    place: Signal<Local, Bits<64>>,
    table_pa: Signal<Local, Bits<64>>,
    wide: Signal<Local, Bits<64>>,
    line: Signal<Local, Bits<64>>,
    line_ones: Signal<Local, Bits<64>>,
    byte_ones: Signal<Local, Bits<64>>,
    bytes_in: Signal<Local, Bits<64>>,
    sum: Signal<Local, Bits<64>>,
    ahead: Signal<Local, Bits<64>>,
    here: Signal<Local, Bits<64>>,
    here20: Signal<Local, Bits<20>>,
    here40: Signal<Local, Bits<40>>,
    np64: Signal<Local, Bits<64>>,
    past: Signal<Local, Bits<64>>,
    off64: Signal<Local, Bits<64>>,
    handed: Signal<Local, Bits<64>>,
    handed32: Signal<Local, Bits<32>>,
}

impl Logic for Walk {
    #[hdl_gen]
    fn update(&mut self) {
        self.one.next = 1.into();
        // T = log2 of the entries of a table page: 9 for 4 KiB.
        self.t.next = bit_cast::<6, 3>(self.log_tpage.val()) + 9;
        self.span.next = 0.into();
        if self.lvl.val() == 2 {
            self.span.next = self.t.val();
        }
        if self.lvl.val() == 3 {
            self.span.next = self.t.val() + self.t.val();
        }
        if self.lvl.val() == 4 {
            self.span.next = self.t.val() + self.t.val() + self.t.val();
        }
        self.number.next = self.page.val() >> self.span.val();
        self.entry.next = self.number.val();
        self.number64.next = bit_cast::<64, 40>(self.number.val());
        self.entries.next = self.one.val() << self.t.val();
        // A table page has 2^T entries; the root has as many as the region needs.
        self.place.next = self.number64.val() & (self.entries.val() - 1);
        self.line.next = self.one.val() << self.line_log.val();
        self.line_ones.next = self.line.val() - 1;
        self.byte_ones.next = (self.line.val() << 3) - 1;
        self.in_table.next = (self.place.val() << 3) & !self.byte_ones.val();
        self.bytes_in.next = self.place.val() << 3;
        if self.lvl.val() == self.top.val() {
            self.bytes_in.next = self.number64.val() << 3;
        }
        self.wide.next = bit_cast::<64, 52>(self.base.val());
        self.table_pa.next = self.wide.val() << 12;
        self.sum.next = self.table_pa.val() + self.bytes_in.val();
        self.address.next = self.sum.val() & !self.byte_ones.val();

        // Pages that the line of the leaf has from this one on.
        self.ahead.next = self.number64.val() & self.line_ones.val();
        self.here.next = self.line.val() - self.ahead.val();
        self.np64.next = bit_cast::<64, 20>(self.np.val());
        self.ends.next = self.np64.val() <= self.here.val();
        self.here20.next = bit_cast::<20, 64>(self.here.val());
        self.here40.next = bit_cast::<40, 64>(self.here.val());
        self.num.next = self.here20.val();
        if self.np64.val() <= self.here.val() {
            self.num.next = self.np.val();
        }
        if self.lvl.val() != 1 {
            self.num.next = 1.into();
        }
        self.next_page.next = self.page.val() + self.here40.val();
        self.next_np.next = self.np.val() - self.here20.val();
        self.past.next = self.here.val() << self.log_page.val();
        self.off64.next = bit_cast::<64, 43>(self.off.val());
        self.handed.next = self.past.val() - self.off64.val();
        self.handed32.next = bit_cast::<32, 64>(self.handed.val());
        self.next_rem.next = self.rem.val() - self.handed32.val();
    }
}

/// One step of the division by x^21 + x^2 + 1.
#[derive(LogicBlock, Default)]
pub struct Divide {
    pub rest: Signal<In, Bits<21>>,
    pub bit_in: Signal<In, Bit>,
    pub out: Signal<Out, Bits<21>>,
    moved: Signal<Local, Bits<21>>,
}

impl Logic for Divide {
    #[hdl_gen]
    fn update(&mut self) {
        self.moved.next = self.rest.val() << 1;
        self.out.next = self.moved.val();
        if self.rest.val().get_bit(20) ^ self.bit_in.val() {
            self.out.next = self.moved.val() ^ 5;
        }
    }
}

/// Four of them, the highest bit first.
#[derive(LogicBlock, Default)]
pub struct Divide4 {
    pub rest: Signal<In, Bits<21>>,
    pub bits_in: Signal<In, Bits<4>>,
    pub out: Signal<Out, Bits<21>>,
    step: [Divide; 4],
}

impl Logic for Divide4 {
    #[hdl_gen]
    fn update(&mut self) {
        self.step[0].rest.next = self.rest.val();
        for i in 1..4 {
            self.step[i].rest.next = self.step[i - 1].out.val();
        }
        for i in 0..4 {
            self.step[i].bit_in.next = self.bits_in.val().get_bit(3 - i);
        }
        self.out.next = self.step[3].out.val();
    }
}

/// Judgement of an entry of the table, `docs/formats.md`, "MTT entry".
#[derive(LogicBlock, Default)]
pub struct Entry {
    pub entry: Signal<In, Bits<64>>,
    /// log2 of what the entry names: page, or table page above the leaves.
    pub log: Signal<In, Bits<6>>,
    pub encoding: Signal<In, Bits<2>>,
    /// The access writes, and it is a leaf.
    pub write: Signal<In, Bit>,
    pub ondemand: Signal<In, Bit>,
    /// Place.
    pub index: Signal<In, Bits<23>>,
    pub number: Signal<In, Bits<40>>,
    pub lvl: Signal<In, Bits<3>>,
    pub absent: Signal<Out, Bit>,
    pub bad: Signal<Out, Bit>,
    step: [Divide4; 27],
    message: Signal<Local, Bits<108>>,
    high: Signal<Local, Bits<108>>,
    middle: Signal<Local, Bits<108>>,
    low: Signal<Local, Bits<108>>,
    level: Signal<Local, Bits<108>>,
    address: Signal<Local, Bits<108>>,
    flags: Signal<Local, Bits<108>>,
    found_high: Signal<Local, Bits<21>>,
    found_low: Signal<Local, Bits<21>>,
    found: Signal<Local, Bits<21>>,
    one: Signal<Local, Bits<64>>,
    size: Signal<Local, Bits<64>>,
    ones: Signal<Local, Bits<64>>,
    below: Signal<Local, Bits<64>>,
    above_flags: Signal<Local, Bits<64>>,
    above_check: Signal<Local, Bits<64>>,
    page_bits: Signal<Local, Bits<40>>,
    nothing: Signal<Local, Bit>,
    read_only: Signal<Local, Bit>,
    wrong: Signal<Local, Bit>,
}

impl Logic for Entry {
    #[hdl_gen]
    fn update(&mut self) {
        self.one.next = 1.into();
        self.size.next = self.one.val() << self.log.val();
        self.ones.next = self.size.val() - 1;
        self.below.next = self.entry.val() & self.ones.val();
        self.above_flags.next = self.below.val() >> 2;
        self.above_check.next = self.below.val() >> 12;
        self.page_bits.next = self.entry.val().get_bits::<40>(12);
        self.nothing.next = self.entry.val() == 0;
        self.read_only.next = self.write.val() & !self.entry.val().get_bit(1);

        // MPT index 22:8 | entry number | MPT index 7:0 | level | bits 51:12 | bit 1 | bit 0
        self.high.next = bit_cast::<108, 15>(self.index.val().get_bits::<15>(8));
        self.middle.next = bit_cast::<108, 40>(self.number.val());
        self.low.next = bit_cast::<108, 8>(self.index.val().get_bits::<8>(0));
        self.level.next = bit_cast::<108, 3>(self.lvl.val());
        self.address.next = bit_cast::<108, 40>(self.page_bits.val());
        self.flags.next = bit_cast::<108, 2>(self.entry.val().get_bits::<2>(0));
        self.message.next = (self.high.val() << 93)
            | (self.middle.val() << 53)
            | (self.low.val() << 45)
            | (self.level.val() << 42)
            | (self.address.val() << 2)
            | self.flags.val();
        self.step[0].rest.next = 0.into();
        for i in 1..27 {
            self.step[i].rest.next = self.step[i - 1].out.val();
        }
        for i in 0..27 {
            self.step[i].bits_in.next = self.message.val().get_bits::<4>(104 - 4 * i);
        }
        self.found_high.next = bit_cast::<21, 11>(self.entry.val().get_bits::<11>(52));
        self.found_low.next = bit_cast::<21, 10>(self.entry.val().get_bits::<10>(2));
        self.found.next = (self.found_high.val() << 10) | self.found_low.val();
        self.wrong.next = (self.step[26].out.val() != self.found.val())
            | !self.entry.val().xor()
            | !self.entry.val().get_bit(0)
            | (self.page_bits.val() == 0);

        self.absent.next = false;
        self.bad.next = false;
        if self.encoding.val() == 0 {
            self.absent.next = self.nothing.val();
            self.bad.next = self.below.val() != 0;
        }
        if self.encoding.val() == 1 {
            self.absent.next = !self.entry.val().get_bit(0);
            self.bad.next = self.above_flags.val() != 0;
        }
        if self.encoding.val() == 2 {
            self.absent.next = self.nothing.val();
            self.bad.next = self.wrong.val() | (self.above_check.val() != 0);
        }
        // Good but for bit 1: absent in an on-demand region, bad in others.
        if (self.encoding.val() != 0) & self.read_only.val() {
            if self.ondemand.val() {
                if (self.encoding.val() == 1) & (self.above_flags.val() == 0) {
                    self.absent.next = true;
                }
                if (self.encoding.val() == 2) & (self.above_check.val() == 0) & !self.wrong.val() {
                    self.absent.next = true;
                }
            } else {
                self.bad.next = true;
            }
        }
    }
}
