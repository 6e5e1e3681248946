// SPDX-License-Identifier: Apache-2.0
//! The table of `docs/rules.md` and the words of `docs/formats.md` as a [`Model`].

use tpt_golden::types::{
    Access, Encoding, Kind, Op, Role, State, Syndrome, LEVEL_FLAT, LEVEL_INLINE,
};

use crate::model::{Model, E};

/// Largest and smallest page, log2, and the largest table page, log2 less 12.
const LOG_PAGE: (u128, u128) = (12, 43);
const MAX_LOG_TPAGE: u128 = 4;
/// Longest request.
const MAX_REQUEST: u128 = 1 << 31;
/// `encoding` of what is handed on of a physical region: there is nothing to judge.
const NOT_JUDGED: u128 = 3;

/// What a row of the table decides if its condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The request is refused.
    Refuse(Syndrome),
    /// The request is accepted and accesses nothing.
    Empty,
}

/// A row: the condition under which it decides, if no row before it has.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// What it decides.
    pub outcome: Outcome,
    /// When, for a request with the entry that its key names; `None`: never.
    pub first: Option<E>,
    /// When, for a request that comes again with the entry of its window's parent.
    pub second: Option<E>,
}

/// The check: rows in the order of decision, inputs and outputs as `tb/equiv/eq_rules.sv` connects
/// them.
pub fn check() -> (Model, Vec<Row>) {
    let mut m = Model::default();
    let i = Inputs::new(&mut m);
    let rows = rows(&mut m, &i);
    outputs(&mut m, &i, &rows);
    (m, rows)
}

/// The request, its key as decoded, its entry.
struct Inputs {
    op: E,
    tag: E,
    va: E,
    len: E,
    pd: E,
    qpn: E,
    req_tag: E,
    disabled: E,
    tag_busy: E,
    role: E,
    index: E,
    index_ok: E,
    looked_up: E,
    bus: E,
    crc_bad: E,
    parent: E,
    cap_checked: E,
    state: E,
    kind: E,
    access: E,
    log_page: E,
    level: E,
    log_tpage: E,
    encoding: E,
    lkey_tag: E,
    rkey_tag: E,
    gen: E,
    e_pd: E,
    e_qpn: E,
    start: E,
    length: E,
    frame: [E; 4],
}

impl Inputs {
    fn new(m: &mut Model) -> Inputs {
        Inputs {
            op: m.input("op", 3),
            tag: m.input("tag", 8),
            va: m.input("va", 64),
            len: m.input("len", 32),
            pd: m.input("pd", 24),
            qpn: m.input("qpn", 24),
            req_tag: m.input("req_tag", 10),
            disabled: m.input("disabled", 1),
            tag_busy: m.input("tag_busy", 1),
            role: m.input("role", 1),
            index: m.input("index", 23),
            index_ok: m.input("index_ok", 1),
            looked_up: m.input("looked_up", 1),
            bus: m.input("bus", 1),
            crc_bad: m.input("crc_bad", 1),
            parent: m.input("parent", 1),
            cap_checked: m.input("cap_checked", 1),
            state: m.input("state", 2),
            kind: m.input("kind", 3),
            access: m.input("access", 11),
            log_page: m.input("log_page", 6),
            level: m.input("level", 3),
            log_tpage: m.input("log_tpage", 3),
            encoding: m.input("encoding", 2),
            lkey_tag: m.input("lkey_tag", 8),
            rkey_tag: m.input("rkey_tag", 8),
            gen: m.input("gen", 8),
            e_pd: m.input("e_pd", 24),
            e_qpn: m.input("e_qpn", 24),
            start: m.input("start", 64),
            length: m.input("length", 64),
            frame: std::array::from_fn(|k| m.input(&format!("frame{k}"), 52)),
        }
    }

    fn is_op(&self, m: &mut Model, op: Op) -> E {
        m.is(self.op, op.code().into())
    }

    fn is_kind(&self, m: &mut Model, kinds: &[Kind]) -> E {
        let codes: Vec<u128> = kinds.iter().map(|kind| kind.code().into()).collect();
        m.is_one_of(self.kind, &codes)
    }

    /// The entry has this right or option.
    fn has(&self, m: &mut Model, right: Access) -> E {
        let stored = right.to_stored();
        assert_eq!(stored.count_ones(), 1, "one right");
        m.bit(self.access, stored.trailing_zeros())
    }

    fn zero_based(&self, m: &mut Model) -> E {
        self.has(m, Access::ZERO_BASED)
    }

    /// Lowest address that requests may name.
    fn base(&self, m: &mut Model) -> E {
        let (zero_based, zero) = (self.zero_based(m), m.number(0, 64));
        m.mux(zero_based, zero, self.start)
    }

    fn is_window(&self, m: &mut Model) -> E {
        self.is_kind(m, &[Kind::Mw1, Kind::Mw2, Kind::Mw2a])
    }

    /// By subtraction: not `va - base <= length` or not `len <= length - (va - base)`.
    fn outside(&self, m: &mut Model) -> E {
        let base = self.base(m);
        let (below, offset) = (m.less(self.va, base), m.sub(self.va, base));
        let past = m.less(self.length, offset);
        let (room, len) = (m.sub(self.length, offset), m.widen(self.len, 64));
        let longer = m.less(room, len);
        m.any(&[below, past, longer])
    }

    fn legal_fields(&self, m: &mut Model) -> E {
        let kind = m.within(self.kind, 0, Kind::Mw2a.code().into());
        let log_page = m.within(self.log_page, LOG_PAGE.0, LOG_PAGE.1);
        let level = m.within(self.level, 0, LEVEL_FLAT.into());
        let log_tpage = m.within(self.log_tpage, 0, MAX_LOG_TPAGE);
        let plain = [Encoding::Raw, Encoding::Flagged].map(|e| e.code().into());
        let plain = m.is_one_of(self.encoding, &plain);
        let checked = m.is(self.encoding, Encoding::Checked.code().into());
        let checked = m.and(checked, self.cap_checked);
        let encoding = m.or(plain, checked);
        // A physical region has level 0 and pages of the largest size.
        let phys = self.is_kind(m, &[Kind::Phys]);
        let inline = m.is(self.level, LEVEL_INLINE.into());
        let largest = m.is(self.log_page, LOG_PAGE.1);
        let (as_phys, other) = (m.and(inline, largest), m.not(phys));
        let phys = m.or(other, as_phys);
        m.all(&[kind, log_page, level, log_tpage, encoding, phys])
    }

    /// Does the operation need a right that the entry has not?
    fn lacks_right(&self, m: &mut Model) -> E {
        let needs = [
            (Op::LocalWrite, vec![Access::LOCAL_WRITE]),
            (Op::RemoteRead, vec![Access::REMOTE_READ]),
            (Op::RemoteWrite, vec![Access::REMOTE_WRITE]),
            (Op::RemoteAtomic, vec![Access::REMOTE_ATOMIC]),
            (Op::FlushGlobal, vec![Access::FLUSH_GLOBAL]),
            (Op::FlushPersist, vec![Access::FLUSH_PERSISTENT]),
            (
                Op::FlushBoth,
                vec![Access::FLUSH_GLOBAL, Access::FLUSH_PERSISTENT],
            ),
        ];
        let mut lacks = Vec::new();
        for (op, rights) in needs {
            let asked = self.is_op(m, op);
            for right in rights {
                let has = self.has(m, right);
                let not = m.not(has);
                lacks.push(m.and(asked, not));
            }
        }
        m.any(&lacks)
    }

    /// The key is not of the role that the operation needs, that role does not exist, or the tag is
    /// another one.
    fn wrong_key(&self, m: &mut Model) -> E {
        let local_ops = [Op::LocalRead, Op::LocalWrite].map(|op| op.code().into());
        let needs_local = m.is_one_of(self.op, &local_ops);
        let local = m.is(self.role, Role::Local.code().into());
        let right_role = m.eq(needs_local, local);
        let window = self.is_window(m);
        let remote_rights = [
            Access::REMOTE_WRITE,
            Access::REMOTE_READ,
            Access::REMOTE_ATOMIC,
            Access::FLUSH_GLOBAL,
            Access::FLUSH_PERSISTENT,
        ]
        .map(|right| self.has(m, right));
        let remote_right = m.any(&remote_rights);
        let (has_local, has_remote) = (m.not(window), m.or(window, remote_right));
        let exists = m.mux(local, has_local, has_remote);
        let tag = m.mux(local, self.lkey_tag, self.rkey_tag);
        let tag = m.eq(tag, self.tag);
        let right = m.all(&[right_role, exists, tag]);
        m.not(right)
    }

    /// As parent: a region named by its L_Key, of the generation that was bound, not zero-based.
    /// `key` is {index field of the parent's L_Key, that generation}.
    fn wrong_parent(&self, m: &mut Model) -> E {
        let local = m.is(self.role, Role::Local.code().into());
        let region = self.is_kind(m, &[Kind::Mr, Kind::Frmr]);
        let gen = m.eq(self.gen, self.tag);
        let zero_based = self.zero_based(m);
        let based = m.not(zero_based);
        let right = m.all(&[local, region, gen, based]);
        m.not(right)
    }
}

fn rows(m: &mut Model, i: &Inputs) -> Vec<Row> {
    let atomic = i.is_op(m, Op::RemoteAtomic);
    let eight = m.is(i.len, 8);
    let not_eight = m.not(eight);
    let atomic_len = m.and(atomic, not_eight);
    let empty = m.is(i.len, 0);
    let longest = m.number(MAX_REQUEST, 32);
    let too_long = m.less(longest, i.len);
    let no_index = m.not(i.index_ok);
    let valid = m.is(i.state, State::Valid.code().into());
    let not_valid = m.not(valid);
    let legal = i.legal_fields(m);
    let illegal = m.not(legal);
    let illegal = m.and(valid, illegal);
    // An entry that was not read gives no right.
    let unread = m.not(i.looked_up);
    let bad = m.any(&[unread, i.crc_bad, illegal]);
    let bus = m.and(i.looked_up, i.bus);
    let wrong_key = i.wrong_key(m);
    let not_2a = i.is_kind(m, &[Kind::Mw2a]);
    let not_2a = m.not(not_2a);
    let same_pd = m.eq(i.pd, i.e_pd);
    let other_pd = m.not(same_pd);
    let other_pd = m.and(not_2a, other_pd);
    let type2 = i.is_kind(m, &[Kind::Mw2, Kind::Mw2a]);
    let same_qp = m.eq(i.qpn, i.e_qpn);
    let other_qp = m.not(same_qp);
    let other_qp = m.and(type2, other_qp);
    let lacks_right = i.lacks_right(m);
    // va + len > 2^64
    let (va, len) = (m.widen(i.va, 65), m.widen(i.len, 65));
    let (end, top) = (m.add(va, len), m.number(1 << 64, 65));
    let wraps = m.less(top, end);
    let outside = i.outside(m);
    let low = m.slice(i.va, 0, 3);
    let aligned = m.is(low, 0);
    let unaligned = m.not(aligned);
    let unaligned = m.and(atomic, unaligned);
    let wrong_parent = i.wrong_parent(m);
    let no_parent = m.any(&[not_valid, wrong_parent, outside]);

    use Outcome::{Empty, Refuse};
    let both = |outcome, e| Row {
        outcome,
        first: Some(e),
        second: Some(e),
    };
    let first = |syndrome, e| Row {
        outcome: Refuse(syndrome),
        first: Some(e),
        second: None,
    };
    vec![
        both(Refuse(Syndrome::Disabled), i.disabled),
        both(Refuse(Syndrome::TagBusy), i.tag_busy),
        both(Refuse(Syndrome::Align), atomic_len),
        both(Empty, empty),
        both(Refuse(Syndrome::Length), too_long),
        // The index of a parent that is not in the table: it is no parent.
        Row {
            outcome: Refuse(Syndrome::KeyIndex),
            first: Some(no_index),
            second: None,
        },
        Row {
            outcome: Refuse(Syndrome::Parent),
            first: None,
            second: Some(no_index),
        },
        both(Refuse(Syndrome::Bus), bus),
        both(Refuse(Syndrome::MptBad), bad),
        first(Syndrome::KeyState, not_valid),
        first(Syndrome::KeyTag, wrong_key),
        first(Syndrome::Pd, other_pd),
        first(Syndrome::Qp, other_qp),
        first(Syndrome::Rights, lacks_right),
        first(Syndrome::Wrap, wraps),
        first(Syndrome::Bounds, outside),
        first(Syndrome::Align, unaligned),
        Row {
            outcome: Refuse(Syndrome::Parent),
            first: None,
            second: Some(no_parent),
        },
    ]
}

fn outputs(m: &mut Model, i: &Inputs, rows: &[Row]) {
    let never = m.number(0, 1);
    let now = |m: &mut Model, row: &Row| {
        let first = row.first.unwrap_or(never);
        m.mux(i.parent, row.second.unwrap_or(never), first)
    };
    // Verdict: the first row whose condition holds; else OK, or the parent has to be asked.
    let first_pass = m.not(i.parent);
    let window = i.is_window(m);
    let asks = m.and(first_pass, window);
    let parent = m.number(Syndrome::Parent.code().into(), 5);
    let ok = m.number(Syndrome::Ok.code().into(), 5);
    let mut syndrome = m.mux(asks, parent, ok);
    let (mut empty, mut again) = (never, asks);
    let mut granted = m.not(asks);
    for row in rows.iter().rev() {
        let decides = now(m, row);
        let (code, is_empty) = match row.outcome {
            Outcome::Refuse(code) => (code, false),
            Outcome::Empty => (Syndrome::Ok, true),
        };
        let code = m.number(u128::from(code.code()), 5);
        let is_empty = m.number(is_empty.into(), 1);
        syndrome = m.mux(decides, code, syndrome);
        empty = m.mux(decides, is_empty, empty);
        granted = m.mux(decides, never, granted);
        again = m.mux(decides, never, again);
    }
    m.output("syndrome", syndrome);
    m.output("empty", empty);
    m.output("again", again);

    // Mask of all rules that fail; whole where a VALID entry was read for a good length.
    let mut live = m.number(1, 1);
    let mut mask = m.number(0, 18);
    for row in rows {
        let fails = now(m, row);
        match row.outcome {
            Outcome::Refuse(code) => {
                let bit = m.number(code.bit().into(), 18);
                let none = m.number(0, 18);
                let bit = m.mux(fails, bit, none);
                mask = m.or(mask, bit);
            }
            Outcome::Empty => {}
        }
    }
    let atomic = i.is_op(m, Op::RemoteAtomic);
    let eight = m.is(i.len, 8);
    let fits = m.within(i.len, 1, MAX_REQUEST);
    let valid = m.is(i.state, State::Valid.code().into());
    let legal = i.legal_fields(m);
    let length_good = m.mux(atomic, eight, fits);
    let troubles = m.any(&[i.bus, i.crc_bad]);
    let no_trouble = m.not(troubles);
    for part in [
        length_good,
        i.index_ok,
        i.looked_up,
        no_trouble,
        legal,
        valid,
    ] {
        live = m.and(live, part);
    }
    m.output("live", live);
    m.output("mask", mask);

    // What is handed on.
    let hand_on = |m: &mut Model, name: &str, value: E| {
        let nothing = m.number(0, value.width());
        let value = m.mux(granted, value, nothing);
        m.output(name, value);
    };
    let phys = i.is_kind(m, &[Kind::Phys]);
    let page = m.slice(i.va, LOG_PAGE.1 as u32, 64 - LOG_PAGE.1 as u32);
    let one = m.number(1, page.width());
    let next = m.add(page, one);
    let zeros = m.number(0, LOG_PAGE.1 as u32 - 12);
    let made = [page, next].map(|page| m.concat(page, zeros));
    for k in 0..4 {
        let made = match made.get(k) {
            Some(frame) => *frame,
            None => m.number(0, 52),
        };
        let frame = m.mux(phys, made, i.frame[k]);
        hand_on(m, &format!("o_frame{k}"), frame);
    }
    let not_judged = m.number(NOT_JUDGED, 2);
    let encoding = m.mux(phys, not_judged, i.encoding);
    hand_on(m, "o_encoding", encoding);
    for (name, value) in [
        ("o_index", i.index),
        ("o_gen", i.gen),
        ("o_level", i.level),
        ("o_log_page", i.log_page),
        ("o_log_tpage", i.log_tpage),
        ("o_tag", i.req_tag),
        ("o_rem", i.len),
    ] {
        hand_on(m, name, value);
    }
    let writes = [Op::LocalWrite, Op::RemoteWrite, Op::RemoteAtomic].map(|op| op.code().into());
    let writes = m.is_one_of(i.op, &writes);
    hand_on(m, "o_write", writes);
    let demand = i.has(m, Access::ON_DEMAND);
    hand_on(m, "o_ondemand", demand);
    let (relaxed, plain) = (i.has(m, Access::RELAXED_ORDERING), m.not(atomic));
    let relaxed = m.and(relaxed, plain);
    hand_on(m, "o_relaxed", relaxed);

    // Position: from the start of the first page, va - base + start mod 2^P bytes.
    let (base, one) = (i.base(m), m.number(1, 66));
    let log_page = i.log_page;
    let size = m.shl(one, log_page);
    let ones = m.sub(size, one);
    let offset = m.sub(i.va, base);
    let offset = m.widen(offset, 66);
    let start = m.widen(i.start, 66);
    let in_page = m.and(start, ones);
    let from_page = m.add(offset, in_page);
    let number = m.shr(from_page, log_page);
    let number = m.slice(number, 0, 40);
    let slot = m.slice(i.frame[1], 0, 9);
    let slot = m.widen(slot, 40);
    let nothing = m.number(0, 40);
    let flat = m.is(i.level, LEVEL_FLAT.into());
    let slot = m.mux(flat, slot, nothing);
    let number = m.add(number, slot);
    let number = m.mux(phys, nothing, number);
    hand_on(m, "o_idx", number);
    let off = m.and(from_page, ones);
    // Pages: all that the bytes off to off + len - 1 lie in.
    let len = m.widen(i.len, 66);
    let end = m.add(off, len);
    let last = m.sub(end, one);
    let pages = m.shr(last, log_page);
    let pages = m.add(pages, one);
    let pages = m.slice(pages, 0, 20);
    hand_on(m, "o_np", pages);
    let off = m.slice(off, 0, 43);
    hand_on(m, "o_off", off);
    // What registration sees to: a region does not pass 2^64.
    let (start, length) = (m.widen(i.start, 65), m.widen(i.length, 65));
    let (end, top) = (m.add(start, length), m.number(1 << 64, 65));
    let passes = m.less(top, end);
    let fits = m.not(passes);
    m.output("range_fits", fits);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows stand in the order of the table in docs/rules.md.
    #[test]
    fn order_is_that_of_the_document() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/rules.md");
        let text = std::fs::read_to_string(path).expect("docs/rules.md");
        let written: Vec<String> = text
            .lines()
            .filter_map(|line| {
                let cells: Vec<&str> = line.split('|').map(str::trim).collect();
                cells.get(1)?.parse::<u32>().ok()?;
                let place = cells.get(1)?.parse::<u32>().ok()?;
                (cells.len() > 6 && place <= 18).then(|| cells[4].replace(['_', ','], ""))
            })
            .take(18)
            .map(|name| name.split(' ').next().unwrap_or_default().to_lowercase())
            // Blocked requests do not come to the check.
            .filter(|name| name != "blocked")
            .collect();
        let (_, rows) = check();
        // The row for a parent's index has no line of its own.
        let rows = rows.iter().enumerate().filter(|(n, _)| *n != 6);
        let made: Vec<String> = rows
            .map(|(_, row)| match row.outcome {
                Outcome::Refuse(code) => format!("{code:?}").to_lowercase(),
                Outcome::Empty => "ok".to_owned(),
            })
            .collect();
        assert_eq!(made, written);
    }
}
