// SPDX-License-Identifier: Apache-2.0
//! The rules of the check as a table of expressions.
//!
//! * [`model`]: expressions on bit vectors, which can be computed or written as Verilog.
//! * [`rules`]: the table of `docs/rules.md`, row by row, and what a granted request hands on.
//! * [`cases`]: random and boundary cases, and what the golden rules say of them.
//! * [`compare`]: the table computed beside the golden rules, on these.
//!
//! So one text is on both sides: what is compared with the golden reference is what the hardware is
//! proved equal to (`make equiv`).

pub mod cases;
pub mod compare;
pub mod model;
pub mod rules;
