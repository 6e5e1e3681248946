// SPDX-License-Identifier: Apache-2.0
//! The unit's leaf logic a second time, in rust-hdl, written from `docs/rules.md` and
//! `docs/formats.md`; `make equiv` proves the RTL equal to it.
//!
//! Of rust-hdl it is known that a cast of an arithmetic expression is wider in Verilog than in Rust
//! (`bit_cast::<65, 64>(a - b)` keeps a borrow), and that Verilog's `==` binds stronger than `&`,
//! Rust's weaker. So every sum, difference and shift has a signal of its own before it is cast, and
//! every comparison stands in parentheses. Nothing rests on that: what is proved is the Verilog.

mod check;
mod keys;
mod pages;

use std::path::Path;

use anyhow::{ensure, Context, Result};
use rust_hdl_core::prelude::*;

/// Verilog of a block, its modules named after it.
fn verilog<B: Block>(mut block: B, name: &str) -> Result<String> {
    block.connect_all();
    let text = generate_verilog(&block);
    ensure!(
        text.contains("module top("),
        "{name}: rust-hdl has named its top otherwise"
    );
    let text = text.replace("module top(", &format!("module {name}("));
    Ok(text.replace("top$", &format!("{name}$")))
}

fn main() -> Result<()> {
    let dir = std::env::args()
        .nth(1)
        .context("usage: tpt-leafspec DIRECTORY")?;
    let blocks = [
        ("hdl_check", verilog(check::Check::default(), "hdl_check")?),
        (
            "hdl_key_dec",
            verilog(keys::KeyDec::default(), "hdl_key_dec")?,
        ),
        (
            "hdl_window",
            verilog(pages::Window::default(), "hdl_window")?,
        ),
        ("hdl_split", verilog(pages::Split::default(), "hdl_split")?),
        ("hdl_walk", verilog(pages::Walk::default(), "hdl_walk")?),
        ("hdl_entry", verilog(pages::Entry::default(), "hdl_entry")?),
    ];
    for (name, text) in &blocks {
        let path = Path::new(&dir).join(format!("{name}.v"));
        let text =
            format!("// SPDX-License-Identifier: Apache-2.0\n// Made by tpt-leafspec.\n{text}");
        std::fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    }
    println!("leafspec: {} blocks, to {dir}", blocks.len());
    Ok(())
}
