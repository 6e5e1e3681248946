// SPDX-License-Identifier: Apache-2.0
//! Expressions on bit vectors: built once, then computed by [`Model::eval`] or written as Verilog by
//! [`Model::verilog`].
//!
//! Every node has a width of its own and the operands of an operation must have the same one, so
//! nothing is left to Verilog's rules for widths. Values have at most 128 bits.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A node of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct E {
    id: usize,
    width: u32,
}

impl E {
    /// Bits.
    pub fn width(self) -> u32 {
        self.width
    }
}

#[derive(Clone, Debug)]
enum Op {
    Input(String),
    Const(u128),
    Not(usize),
    And(usize, usize),
    Or(usize, usize),
    Add(usize, usize),
    Sub(usize, usize),
    Shl(usize, usize),
    Shr(usize, usize),
    Eq(usize, usize),
    Less(usize, usize),
    Mux(usize, usize, usize),
    Slice(usize, u32),
    Concat(usize, usize),
}

/// Named inputs, named outputs, and what is between them.
#[derive(Clone, Debug, Default)]
pub struct Model {
    nodes: Vec<(Op, u32)>,
    outputs: Vec<(String, E)>,
}

fn ones(width: u32) -> u128 {
    match width {
        128 => u128::MAX,
        _ => (1 << width) - 1,
    }
}

impl Model {
    fn node(&mut self, op: Op, width: u32) -> E {
        assert!(
            (1..=128).contains(&width),
            "width {width}, must be 1 to 128"
        );
        self.nodes.push((op, width));
        let id = self.nodes.len() - 1;
        E { id, width }
    }

    fn same(a: E, b: E) -> u32 {
        assert_eq!(a.width, b.width, "operands must have the same width");
        a.width
    }

    /// An input.
    pub fn input(&mut self, name: &str, width: u32) -> E {
        self.node(Op::Input(name.to_owned()), width)
    }

    /// Names a result.
    pub fn output(&mut self, name: &str, value: E) {
        self.outputs.push((name.to_owned(), value));
    }

    /// A number.
    pub fn number(&mut self, value: u128, width: u32) -> E {
        assert!(value <= ones(width), "{value} does not fit {width} bits");
        self.node(Op::Const(value), width)
    }

    /// Each bit the other way.
    pub fn not(&mut self, a: E) -> E {
        self.node(Op::Not(a.id), a.width)
    }

    /// Bitwise and.
    pub fn and(&mut self, a: E, b: E) -> E {
        let width = Self::same(a, b);
        self.node(Op::And(a.id, b.id), width)
    }

    /// Bitwise or.
    pub fn or(&mut self, a: E, b: E) -> E {
        let width = Self::same(a, b);
        self.node(Op::Or(a.id, b.id), width)
    }

    /// Sum modulo 2^width.
    pub fn add(&mut self, a: E, b: E) -> E {
        let width = Self::same(a, b);
        self.node(Op::Add(a.id, b.id), width)
    }

    /// Difference modulo 2^width.
    pub fn sub(&mut self, a: E, b: E) -> E {
        let width = Self::same(a, b);
        self.node(Op::Sub(a.id, b.id), width)
    }

    /// `a` times 2^`by`, without what is shifted out.
    pub fn shl(&mut self, a: E, by: E) -> E {
        self.node(Op::Shl(a.id, by.id), a.width)
    }

    /// `a` divided by 2^`by`, rounded down.
    pub fn shr(&mut self, a: E, by: E) -> E {
        self.node(Op::Shr(a.id, by.id), a.width)
    }

    /// Are they the same?
    pub fn eq(&mut self, a: E, b: E) -> E {
        Self::same(a, b);
        self.node(Op::Eq(a.id, b.id), 1)
    }

    /// Is it this number?
    pub fn is(&mut self, a: E, value: u128) -> E {
        let value = self.number(value, a.width);
        self.eq(a, value)
    }

    /// `a < b`, without sign.
    pub fn less(&mut self, a: E, b: E) -> E {
        Self::same(a, b);
        self.node(Op::Less(a.id, b.id), 1)
    }

    /// `low <= a <= high`.
    pub fn within(&mut self, a: E, low: u128, high: u128) -> E {
        let (low, high) = (self.number(low, a.width), self.number(high, a.width));
        let (below, above) = (self.less(a, low), self.less(high, a));
        let outside = self.or(below, above);
        self.not(outside)
    }

    /// `then` if `condition`, else `otherwise`.
    pub fn mux(&mut self, condition: E, then: E, otherwise: E) -> E {
        assert_eq!(condition.width, 1, "a condition has one bit");
        let width = Self::same(then, otherwise);
        self.node(Op::Mux(condition.id, then.id, otherwise.id), width)
    }

    /// Bits `low` to `low + width - 1`.
    pub fn slice(&mut self, a: E, low: u32, width: u32) -> E {
        assert!(
            low + width <= a.width,
            "no bits {low}+{width} in {} bits",
            a.width
        );
        self.node(Op::Slice(a.id, low), width)
    }

    /// One bit.
    pub fn bit(&mut self, a: E, n: u32) -> E {
        self.slice(a, n, 1)
    }

    /// `high` above `low`.
    pub fn concat(&mut self, high: E, low: E) -> E {
        self.node(Op::Concat(high.id, low.id), high.width + low.width)
    }

    /// The same number in more bits.
    pub fn widen(&mut self, a: E, width: u32) -> E {
        if width == a.width {
            return a;
        }
        let zeros = self.number(0, width - a.width);
        self.concat(zeros, a)
    }

    /// Is one of them 1?
    pub fn any(&mut self, of: &[E]) -> E {
        let none = self.number(0, 1);
        of.iter().fold(none, |so_far, &one| self.or(so_far, one))
    }

    /// Are all of them 1?
    pub fn all(&mut self, of: &[E]) -> E {
        let yes = self.number(1, 1);
        of.iter().fold(yes, |so_far, &one| self.and(so_far, one))
    }

    /// Is `a` one of these numbers?
    pub fn is_one_of(&mut self, a: E, values: &[u128]) -> E {
        let hits: Vec<E> = values.iter().map(|&value| self.is(a, value)).collect();
        self.any(&hits)
    }

    /// The outputs for these inputs.
    ///
    /// # Panics
    /// If an input is missing, or does not fit.
    pub fn eval(&self, inputs: &BTreeMap<String, u128>) -> BTreeMap<String, u128> {
        let mut values: Vec<u128> = Vec::with_capacity(self.nodes.len());
        for (op, width) in &self.nodes {
            let v = |id: &usize| values[*id];
            let by = |id: &usize| u32::try_from(values[*id]).unwrap_or(128);
            let value = match op {
                Op::Input(name) => {
                    let value = *inputs
                        .get(name)
                        .unwrap_or_else(|| panic!("no input {name}"));
                    assert!(value <= ones(*width), "{name} = {value:#x}: {width} bits");
                    value
                }
                Op::Const(value) => *value,
                Op::Not(a) => !v(a),
                Op::And(a, b) => v(a) & v(b),
                Op::Or(a, b) => v(a) | v(b),
                Op::Add(a, b) => v(a).wrapping_add(v(b)),
                Op::Sub(a, b) => v(a).wrapping_sub(v(b)),
                Op::Shl(a, b) => v(a).checked_shl(by(b)).unwrap_or(0),
                Op::Shr(a, b) => v(a).checked_shr(by(b)).unwrap_or(0),
                Op::Eq(a, b) => u128::from(v(a) == v(b)),
                Op::Less(a, b) => u128::from(v(a) < v(b)),
                Op::Mux(c, a, b) => v(if v(c) == 1 { a } else { b }),
                Op::Slice(a, low) => v(a) >> low,
                Op::Concat(high, low) => v(high) << self.nodes[*low].1 | v(low),
            };
            values.push(value & ones(*width));
        }
        let outputs = self.outputs.iter();
        outputs
            .map(|(name, e)| (name.clone(), values[e.id]))
            .collect()
    }

    /// The model as a Verilog module: one wire per node.
    pub fn verilog(&self, module: &str) -> String {
        let mut ports = Vec::new();
        for (op, width) in &self.nodes {
            if let Op::Input(name) = op {
                ports.push(format!("  input  wire [{}:0] {name}", width - 1));
            }
        }
        for (name, e) in &self.outputs {
            ports.push(format!("  output wire [{}:0] {name}", e.width - 1));
        }
        let mut text = format!("module {module} (\n{}\n);\n", ports.join(",\n"));
        for (id, (op, width)) in self.nodes.iter().enumerate() {
            let what = match op {
                Op::Input(name) => name.clone(),
                Op::Const(value) => format!("{width}'h{value:x}"),
                Op::Not(a) => format!("~n{a}"),
                Op::And(a, b) => format!("n{a} & n{b}"),
                Op::Or(a, b) => format!("n{a} | n{b}"),
                Op::Add(a, b) => format!("n{a} + n{b}"),
                Op::Sub(a, b) => format!("n{a} - n{b}"),
                Op::Shl(a, b) => format!("n{a} << n{b}"),
                Op::Shr(a, b) => format!("n{a} >> n{b}"),
                Op::Eq(a, b) => format!("n{a} == n{b}"),
                Op::Less(a, b) => format!("n{a} < n{b}"),
                Op::Mux(c, a, b) => format!("n{c} ? n{a} : n{b}"),
                Op::Slice(a, low) => format!("n{a}[{}:{low}]", low + width - 1),
                Op::Concat(high, low) => format!("{{n{high}, n{low}}}"),
            };
            let _ = writeln!(text, "  wire [{}:0] n{id} = {what};", width - 1);
        }
        for (name, e) in &self.outputs {
            let _ = writeln!(text, "  assign {name} = n{};", e.id);
        }
        text.push_str("endmodule\n");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_kept_in_their_width() {
        let mut m = Model::default();
        let (a, b) = (m.input("a", 4), m.input("b", 4));
        let (sum, less) = (m.add(a, b), m.less(a, b));
        let (high, all) = (m.slice(a, 2, 2), m.not(a));
        let (left, right) = (m.shl(a, b), m.shr(a, b));
        for (name, e) in [("sum", sum), ("less", less), ("high", high), ("all", all)] {
            m.output(name, e);
        }
        m.output("left", left);
        m.output("right", right);
        let inputs = [("a".to_owned(), 13), ("b".to_owned(), 5)].into();
        let got = m.eval(&inputs);
        let want = [
            ("sum", 2),
            ("less", 0),
            ("high", 3),
            ("all", 2),
            ("left", 0),
            ("right", 0),
        ];
        for (name, value) in want {
            assert_eq!(got[name], value, "{name}");
        }
    }

    #[test]
    fn verilog_has_a_wire_of_the_right_width_per_node() {
        let mut m = Model::default();
        let a = m.input("a", 8);
        let low = m.slice(a, 1, 3);
        m.output("o", low);
        let text = m.verilog("leaf");
        assert!(text.contains("wire [2:0] n1 = n0[3:1];"), "{text}");
        assert!(text.contains("output wire [2:0] o"), "{text}");
    }

    #[test]
    #[should_panic(expected = "same width")]
    fn widths_must_fit() {
        let mut m = Model::default();
        let (a, b) = (m.input("a", 8), m.input("b", 9));
        m.add(a, b);
    }
}
