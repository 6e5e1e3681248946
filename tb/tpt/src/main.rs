// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0
//! The command line.
use tpt::machine::GoldenTarget;
use tpt::input::{kind_of, Kind, Lines};
use tpt::tally::Tally;
use tpt::trace;
use tpt::verdicts::{parse, replay::Replayer};
fn main() -> anyhow::Result<()> {
    let mut tally = Tally::default();
    let mut t = GoldenTarget::golden(1, 4096); tpt::target::Target::enable(&mut t)?;
    println!("{}", trace::replay::TraceReport::head());
    for f in std::env::args().skip(1) {
        let mut lines = Lines::open(f.as_ref())?;
        let mut r = Replayer::new();
        let mut kind = None;
        let mut events = vec![];
        let mut names = Default::default();
        while let Some((p, o)) = lines.next_object()? {
            if kind.is_none() {
                kind = Some(kind_of(&p, &o)?);
            }
            if kind == Some(Kind::Verdicts) {
            r.run(&mut t, &f, parse::parse(&p, &o)?, &mut tally)?;
            } else {
                events.push(trace::parse::parse(&p, &o, &mut names)?);
            }
        }
        if kind == Some(Kind::Verdicts) {
        r.finish(&mut t, &f, &mut tally)?;
        println!("rebased {} accesses {} regs {}", r.rebased, r.accesses, r.registrations);
        } else {
            let rep = trace::replay::run(&mut t, &f, &events, &mut tally, &mut |_| {})?;
            println!("{}", rep.row());
            if rep.not_judged+rep.failed_posts>0 { println!("{rep:?}"); }
        }
    }
    print!("{}", tally.text());
    println!("{}", tally.summary());
    Ok(())
}
