// SPDX-License-Identifier: Apache-2.0
//! Writes the model of the check as Verilog, and compares it with the golden rules.

use std::path::Path;

use anyhow::{bail, Context, Result};
use tpt_rulemodel::{compare, rules};

const USAGE: &str = "usage: tpt-rulemodel verilog FILE | tpt-rulemodel compare SEED COUNT";

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (model, rows) = rules::check();
    match args[..] {
        ["verilog", path] => {
            let text = model.verilog("rules_check");
            let head = "// SPDX-License-Identifier: Apache-2.0\n// Made by tpt-rulemodel.\n";
            std::fs::write(Path::new(path), format!("{head}{text}"))
                .with_context(|| format!("writing {path}"))?;
            println!("rulemodel: {} rows, to {path}", rows.len());
        }
        ["compare", seed, count] => {
            let number = |text: &str| {
                text.parse::<u64>()
                    .with_context(|| format!("{text}: a number"))
            };
            let (seed, count) = (number(seed)?, number(count)?);
            let seen = compare::run(&model, seed, count)?;
            println!(
                "rulemodel: {count} cases as the golden rules: {} granted, {} to a parent, {} of a \
                 parent; syndromes {:?}",
                seen.granted, seen.again, seen.second, seen.syndromes
            );
        }
        _ => bail!("{USAGE}"),
    }
    Ok(())
}
