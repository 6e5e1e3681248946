// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0
//! The command line.
use tpt::golden_target::GoldenTarget;
use tpt::input::{kind_of, Lines};
use tpt::tally::Tally;
use tpt::verdicts::{parse, replay::Replayer};
fn main() -> anyhow::Result<()> {
    let mut tally = Tally::default();
    let mut t = GoldenTarget::new(1, 4096, 3);
    for f in std::env::args().skip(1) {
        let mut lines = Lines::open(f.as_ref())?;
        let mut r = Replayer::new();
        let mut first = true;
        while let Some((p, o)) = lines.next_object()? {
            if first {
                kind_of(&p, &o)?;
                first = false;
            }
            r.run(&mut t, &f, parse::parse(&p, &o)?, &mut tally)?;
        }
        r.finish(&mut t, &f, &mut tally)?;
        println!("rebased {} accesses {} regs {}", r.rebased, r.accesses, r.registrations);
    }
    print!("{}", tally.text());
    println!("{}", tally.summary());
    Ok(())
}
