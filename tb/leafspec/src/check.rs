// SPDX-License-Identifier: Apache-2.0
//! The whole check, `docs/rules.md`, rules 0 to 11.

use rust_hdl_core::prelude::*;

/// Request and entry in, verdict and what is handed on out.
#[derive(LogicBlock, Default)]
pub struct Check {
    pub op: Signal<In, Bits<3>>,
    pub tag: Signal<In, Bits<8>>,
    pub va: Signal<In, Bits<64>>,
    pub len: Signal<In, Bits<32>>,
    pub pd: Signal<In, Bits<24>>,
    pub qpn: Signal<In, Bits<24>>,
    pub req_tag: Signal<In, Bits<10>>,
    pub disabled: Signal<In, Bit>,
    pub tag_busy: Signal<In, Bit>,
    pub role: Signal<In, Bit>,
    pub index: Signal<In, Bits<23>>,
    pub index_ok: Signal<In, Bit>,
    pub looked_up: Signal<In, Bit>,
    pub bus: Signal<In, Bit>,
    pub crc_bad: Signal<In, Bit>,
    /// The entry is that of a window's parent; `tag` is the generation that was bound.
    pub parent: Signal<In, Bit>,
    pub cap_checked: Signal<In, Bit>,
    pub state: Signal<In, Bits<2>>,
    pub kind: Signal<In, Bits<3>>,
    pub access: Signal<In, Bits<11>>,
    pub log_page: Signal<In, Bits<6>>,
    pub level: Signal<In, Bits<3>>,
    pub log_tpage: Signal<In, Bits<3>>,
    pub encoding: Signal<In, Bits<2>>,
    pub lkey_tag: Signal<In, Bits<8>>,
    pub rkey_tag: Signal<In, Bits<8>>,
    pub gen: Signal<In, Bits<8>>,
    pub e_pd: Signal<In, Bits<24>>,
    pub e_qpn: Signal<In, Bits<24>>,
    pub start: Signal<In, Bits<64>>,
    pub length: Signal<In, Bits<64>>,
    pub frame0: Signal<In, Bits<52>>,
    pub frame1: Signal<In, Bits<52>>,
    pub frame2: Signal<In, Bits<52>>,
    pub frame3: Signal<In, Bits<52>>,

    pub syndrome: Signal<Out, Bits<5>>,
    pub empty: Signal<Out, Bit>,
    pub again: Signal<Out, Bit>,
    /// A VALID entry was read for a good length: `mask` is whole.
    pub live: Signal<Out, Bit>,
    pub mask: Signal<Out, Bits<18>>,
    /// `start + length` does not pass 2^64.
    pub range_fits: Signal<Out, Bit>,
    pub o_frame0: Signal<Out, Bits<52>>,
    pub o_frame1: Signal<Out, Bits<52>>,
    pub o_frame2: Signal<Out, Bits<52>>,
    pub o_frame3: Signal<Out, Bits<52>>,
    pub o_encoding: Signal<Out, Bits<2>>,
    pub o_index: Signal<Out, Bits<23>>,
    pub o_gen: Signal<Out, Bits<8>>,
    pub o_level: Signal<Out, Bits<3>>,
    pub o_log_page: Signal<Out, Bits<6>>,
    pub o_log_tpage: Signal<Out, Bits<3>>,
    pub o_tag: Signal<Out, Bits<10>>,
    pub o_rem: Signal<Out, Bits<32>>,
    pub o_write: Signal<Out, Bit>,
    pub o_ondemand: Signal<Out, Bit>,
    pub o_relaxed: Signal<Out, Bit>,
    pub o_idx: Signal<Out, Bits<40>>,
    pub o_np: Signal<Out, Bits<20>>,
    pub o_off: Signal<Out, Bits<43>>,

    atomic: Signal<Local, Bit>,
    local_op: Signal<Local, Bit>,
    window: Signal<Local, Bit>,
    type2: Signal<Local, Bit>,
    phys: Signal<Local, Bit>,
    zero_based: Signal<Local, Bit>,
    remote_right: Signal<Local, Bit>,
    legal: Signal<Local, Bit>,
    valid: Signal<Local, Bit>,
    good: Signal<Local, Bit>,
    granted: Signal<Local, Bit>,
    // Rules: true if one fails.
    atomic_len: Signal<Local, Bit>,
    length_fails: Signal<Local, Bit>,
    key_fails: Signal<Local, Bit>,
    pd_fails: Signal<Local, Bit>,
    qp_fails: Signal<Local, Bit>,
    right_fails: Signal<Local, Bit>,
    wrap_fails: Signal<Local, Bit>,
    bounds_fail: Signal<Local, Bit>,
    addr_fails: Signal<Local, Bit>,
    parent_fails: Signal<Local, Bit>,
    verdict: Signal<Local, Bits<5>>,
    none: Signal<Local, Bit>,
    ask: Signal<Local, Bit>,
    // Arithmetic.
    one32: Signal<Local, Bits<32>>,
    longest: Signal<Local, Bits<32>>,
    base: Signal<Local, Bits<64>>,
    offset: Signal<Local, Bits<64>>,
    room: Signal<Local, Bits<64>>,
    len64: Signal<Local, Bits<64>>,
    va65: Signal<Local, Bits<65>>,
    len65: Signal<Local, Bits<65>>,
    end65: Signal<Local, Bits<65>>,
    end_low: Signal<Local, Bits<64>>,
    start65: Signal<Local, Bits<65>>,
    length65: Signal<Local, Bits<65>>,
    top65: Signal<Local, Bits<65>>,
    top_low: Signal<Local, Bits<64>>,
    one: Signal<Local, Bits<66>>,
    size: Signal<Local, Bits<66>>,
    ones: Signal<Local, Bits<66>>,
    start66: Signal<Local, Bits<66>>,
    offset66: Signal<Local, Bits<66>>,
    from_page: Signal<Local, Bits<66>>,
    in_page: Signal<Local, Bits<66>>,
    number: Signal<Local, Bits<66>>,
    number40: Signal<Local, Bits<40>>,
    slot: Signal<Local, Bits<40>>,
    len66: Signal<Local, Bits<66>>,
    past: Signal<Local, Bits<66>>,
    last_page: Signal<Local, Bits<66>>,
    pages: Signal<Local, Bits<66>>,
    phys_page: Signal<Local, Bits<21>>,
    phys_next: Signal<Local, Bits<21>>,
    phys_wide: Signal<Local, Bits<52>>,
    next_wide: Signal<Local, Bits<52>>,
    m_disabled: Signal<Local, Bits<18>>,
    m_busy: Signal<Local, Bits<18>>,
    m_tag: Signal<Local, Bits<18>>,
    m_pd: Signal<Local, Bits<18>>,
    m_qp: Signal<Local, Bits<18>>,
    m_rights: Signal<Local, Bits<18>>,
    m_wrap: Signal<Local, Bits<18>>,
    m_bounds: Signal<Local, Bits<18>>,
    m_align: Signal<Local, Bits<18>>,
    m_parent: Signal<Local, Bits<18>>,
}

impl Logic for Check {
    #[hdl_gen]
    fn update(&mut self) {
        // What is asked, and what the entry is.
        self.atomic.next = self.op.val() == 4;
        self.local_op.next = (self.op.val() == 0) | (self.op.val() == 1);
        self.type2.next = (self.kind.val() == 3) | (self.kind.val() == 5);
        self.window.next = (self.kind.val() == 2) | (self.kind.val() == 3) | (self.kind.val() == 5);
        self.phys.next = self.kind.val() == 4;
        self.zero_based.next = self.access.val().get_bit(5);
        self.remote_right.next = self.access.val().get_bit(1)
            | self.access.val().get_bit(2)
            | self.access.val().get_bit(3)
            | self.access.val().get_bit(8)
            | self.access.val().get_bit(9);
        self.valid.next = self.state.val() == 1;
        self.legal.next = (self.kind.val() <= 5)
            & (self.log_page.val() >= 12)
            & (self.log_page.val() <= 43)
            & (self.level.val() <= 5)
            & (self.log_tpage.val() <= 4)
            & ((self.encoding.val() <= 1) | ((self.encoding.val() == 2) & self.cap_checked.val()));
        if self.phys.val() & ((self.level.val() != 0) | (self.log_page.val() != 43)) {
            self.legal.next = false;
        }

        // Rules 0 and 1.
        self.atomic_len.next = self.atomic.val() & (self.len.val() != 8);
        self.one32.next = 1.into();
        self.longest.next = self.one32.val() << 31;
        self.length_fails.next = self.len.val() > self.longest.val();
        // Rule 4: role of the operation, role exists, tag.
        self.key_fails.next = false;
        if self.role.val() {
            if self.local_op.val() {
                self.key_fails.next = true;
            }
            if !self.window.val() & !self.remote_right.val() {
                self.key_fails.next = true;
            }
            if self.tag.val() != self.rkey_tag.val() {
                self.key_fails.next = true;
            }
        } else {
            if !self.local_op.val() {
                self.key_fails.next = true;
            }
            if self.window.val() {
                self.key_fails.next = true;
            }
            if self.tag.val() != self.lkey_tag.val() {
                self.key_fails.next = true;
            }
        }
        // Rules 5 and 6.
        self.pd_fails.next = (self.kind.val() != 5) & (self.pd.val() != self.e_pd.val());
        self.qp_fails.next = self.type2.val() & (self.qpn.val() != self.e_qpn.val());
        // Rule 7.
        self.right_fails.next = false;
        match self.op.val().index() {
            0 => self.right_fails.next = false,
            1 => self.right_fails.next = !self.access.val().get_bit(0),
            2 => self.right_fails.next = !self.access.val().get_bit(2),
            3 => self.right_fails.next = !self.access.val().get_bit(1),
            4 => self.right_fails.next = !self.access.val().get_bit(3),
            5 => self.right_fails.next = !self.access.val().get_bit(8),
            6 => self.right_fails.next = !self.access.val().get_bit(9),
            _ => {
                self.right_fails.next =
                    !self.access.val().get_bit(8) | !self.access.val().get_bit(9)
            }
        }
        // Rule 8: va + len may be 2^64, not more.
        self.va65.next = bit_cast::<65, 64>(self.va.val());
        self.len65.next = bit_cast::<65, 32>(self.len.val());
        self.end65.next = self.va65.val() + self.len65.val();
        self.end_low.next = self.end65.val().get_bits::<64>(0);
        self.wrap_fails.next = self.end65.val().get_bit(64) & (self.end_low.val() != 0);
        // Rule 9.
        self.base.next = self.start.val();
        if self.zero_based.val() {
            self.base.next = 0.into();
        }
        self.offset.next = self.va.val() - self.base.val();
        self.room.next = self.length.val() - self.offset.val();
        self.len64.next = bit_cast::<64, 32>(self.len.val());
        self.bounds_fail.next = (self.va.val() < self.base.val())
            | (self.offset.val() > self.length.val())
            | (self.len64.val() > self.room.val());
        // Rule 10.
        self.addr_fails.next = self.atomic.val() & (self.va.val().get_bits::<3>(0) != 0);
        // Rule 11.
        self.parent_fails.next = self.role.val()
            | (self.kind.val() > 1)
            | self.zero_based.val()
            | (self.gen.val() != self.tag.val())
            | self.bounds_fail.val();

        // The first rule that fails.
        self.none.next = false;
        self.ask.next = false;
        self.good.next = false;
        self.verdict.next = 0.into();
        if self.disabled.val() {
            self.verdict.next = 16.into();
        } else if self.tag_busy.val() {
            self.verdict.next = 17.into();
        } else if self.atomic_len.val() {
            self.verdict.next = 10.into();
        } else if self.len.val() == 0 {
            self.none.next = true;
        } else if self.length_fails.val() {
            self.verdict.next = 1.into();
        } else if !self.index_ok.val() {
            if self.parent.val() {
                self.verdict.next = 11.into();
            } else {
                self.verdict.next = 2.into();
            }
        } else if self.bus.val() {
            self.verdict.next = 14.into();
        } else if self.crc_bad.val() | (self.valid.val() & !self.legal.val()) {
            self.verdict.next = 15.into();
        } else if self.parent.val() {
            if !self.valid.val() | self.parent_fails.val() {
                self.verdict.next = 11.into();
            } else {
                self.good.next = true;
            }
        } else if !self.valid.val() {
            self.verdict.next = 3.into();
        } else if self.key_fails.val() {
            self.verdict.next = 4.into();
        } else if self.pd_fails.val() {
            self.verdict.next = 5.into();
        } else if self.qp_fails.val() {
            self.verdict.next = 6.into();
        } else if self.right_fails.val() {
            self.verdict.next = 7.into();
        } else if self.wrap_fails.val() {
            self.verdict.next = 8.into();
        } else if self.bounds_fail.val() {
            self.verdict.next = 9.into();
        } else if self.addr_fails.val() {
            self.verdict.next = 10.into();
        } else if self.window.val() {
            self.verdict.next = 11.into();
            self.ask.next = true;
        } else {
            self.good.next = true;
        }
        self.syndrome.next = self.verdict.val();
        self.empty.next = self.none.val();
        self.again.next = self.ask.val();
        self.granted.next = self.good.val();

        // All rules that fail, of a VALID entry that was read.
        self.live.next = self.looked_up.val()
            & self.index_ok.val()
            & !self.bus.val()
            & !self.crc_bad.val()
            & self.valid.val()
            & self.legal.val()
            & !self.atomic_len.val()
            & (self.len.val() != 0)
            & !self.length_fails.val();
        self.m_disabled.next = 0.into();
        self.m_busy.next = 0.into();
        self.m_tag.next = 0.into();
        self.m_pd.next = 0.into();
        self.m_qp.next = 0.into();
        self.m_rights.next = 0.into();
        self.m_wrap.next = 0.into();
        self.m_bounds.next = 0.into();
        self.m_align.next = 0.into();
        self.m_parent.next = 0.into();
        if self.disabled.val() {
            self.m_disabled.next = 0x1_0000.into();
        }
        if self.tag_busy.val() {
            self.m_busy.next = 0x2_0000.into();
        }
        if self.parent.val() {
            if self.parent_fails.val() {
                self.m_parent.next = 0x800.into();
            }
        } else {
            if self.key_fails.val() {
                self.m_tag.next = 0x10.into();
            }
            if self.pd_fails.val() {
                self.m_pd.next = 0x20.into();
            }
            if self.qp_fails.val() {
                self.m_qp.next = 0x40.into();
            }
            if self.right_fails.val() {
                self.m_rights.next = 0x80.into();
            }
            if self.wrap_fails.val() {
                self.m_wrap.next = 0x100.into();
            }
            if self.bounds_fail.val() {
                self.m_bounds.next = 0x200.into();
            }
            if self.addr_fails.val() {
                self.m_align.next = 0x400.into();
            }
        }
        self.mask.next = self.m_disabled.val()
            | self.m_busy.val()
            | self.m_tag.val()
            | self.m_pd.val()
            | self.m_qp.val()
            | self.m_rights.val()
            | self.m_wrap.val()
            | self.m_bounds.val()
            | self.m_align.val()
            | self.m_parent.val();
        self.start65.next = bit_cast::<65, 64>(self.start.val());
        self.length65.next = bit_cast::<65, 64>(self.length.val());
        self.top65.next = self.start65.val() + self.length65.val();
        self.top_low.next = self.top65.val().get_bits::<64>(0);
        self.range_fits.next = !self.top65.val().get_bit(64) | (self.top_low.val() == 0);

        // Where the request begins: (va - base) + (start mod 2^P) bytes after its region's first page.
        self.one.next = 1.into();
        self.size.next = self.one.val() << self.log_page.val();
        self.ones.next = self.size.val() - 1;
        self.start66.next = bit_cast::<66, 64>(self.start.val());
        self.offset66.next = bit_cast::<66, 64>(self.offset.val());
        self.from_page.next = self.offset66.val() + (self.start66.val() & self.ones.val());
        self.in_page.next = self.from_page.val() & self.ones.val();
        self.number.next = self.from_page.val() >> self.log_page.val();
        self.slot.next = 0.into();
        if self.level.val() == 5 {
            self.slot.next = bit_cast::<40, 9>(self.frame1.val().get_bits::<9>(0));
        }
        self.number40.next = self.number.val().get_bits::<40>(0);
        self.len66.next = bit_cast::<66, 32>(self.len.val());
        self.past.next = (self.in_page.val() + self.len66.val()) - 1;
        self.last_page.next = self.past.val() >> self.log_page.val();
        self.pages.next = self.last_page.val() + 1;
        self.phys_page.next = self.va.val().get_bits::<21>(43);
        self.phys_next.next = self.phys_page.val() + 1;
        self.phys_wide.next = bit_cast::<52, 21>(self.phys_page.val());
        self.next_wide.next = bit_cast::<52, 21>(self.phys_next.val());

        self.o_frame0.next = 0.into();
        self.o_frame1.next = 0.into();
        self.o_frame2.next = 0.into();
        self.o_frame3.next = 0.into();
        self.o_encoding.next = 0.into();
        self.o_index.next = 0.into();
        self.o_gen.next = 0.into();
        self.o_level.next = 0.into();
        self.o_log_page.next = 0.into();
        self.o_log_tpage.next = 0.into();
        self.o_tag.next = 0.into();
        self.o_rem.next = 0.into();
        self.o_write.next = false;
        self.o_ondemand.next = false;
        self.o_relaxed.next = false;
        self.o_idx.next = 0.into();
        self.o_np.next = 0.into();
        self.o_off.next = 0.into();
        if self.granted.val() {
            if self.phys.val() {
                // Pages of 8 TiB made from the address, which are not judged.
                self.o_frame0.next = self.phys_wide.val() << 31;
                self.o_frame1.next = self.next_wide.val() << 31;
                self.o_encoding.next = 3.into();
            } else {
                self.o_frame0.next = self.frame0.val();
                self.o_frame1.next = self.frame1.val();
                self.o_frame2.next = self.frame2.val();
                self.o_frame3.next = self.frame3.val();
                self.o_encoding.next = self.encoding.val();
                self.o_idx.next = self.number40.val() + self.slot.val();
            }
            self.o_index.next = self.index.val();
            self.o_gen.next = self.gen.val();
            self.o_level.next = self.level.val();
            self.o_log_page.next = self.log_page.val();
            self.o_log_tpage.next = self.log_tpage.val();
            self.o_tag.next = self.req_tag.val();
            self.o_rem.next = self.len.val();
            self.o_write.next = (self.op.val() == 1) | (self.op.val() == 3) | (self.op.val() == 4);
            self.o_ondemand.next = self.access.val().get_bit(6);
            self.o_relaxed.next = self.access.val().get_bit(10) & !self.atomic.val();
            self.o_np.next = self.pages.val().get_bits::<20>(0);
            self.o_off.next = self.in_page.val().get_bits::<43>(0);
        }
    }
}
