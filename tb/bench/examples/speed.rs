// SPDX-License-Identifier: Apache-2.0
//! Clocks per second of the bench: `cargo run --release --example speed -p tpt-bench [CONFIG]`.

use std::time::Instant;

use tpt_bench::rig::{Rig, Spec};
use tpt_bench::{BenchOptions, UnitConfig};
use tpt_golden::types::{Op, Request};
use tpt_verilated::Config;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let name = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "small".to_owned());
    let config: Config = name.parse()?;
    let options = BenchOptions {
        config,
        ..BenchOptions::default()
    };
    let mut rig = Rig::new(options, &UnitConfig::default())?;
    let mut spec = Spec::new(0, 64 << 20, 12, 0x40_0000_0000);
    spec.shape.level = Some(2);
    let mr = rig.register(spec)?;
    let measure = |what: &str, rig: &mut Rig, clocks: u64| -> Result<(), tpt_bench::BenchError> {
        let (start, clock) = (Instant::now(), rig.bench.clock());
        while rig.bench.clock() < clock + clocks {
            rig.run(64)?;
            while rig.bench.poll().is_some() {}
            for client in 0..2 {
                while rig.bench.requests_pending(client) < 64 && what != "idle" {
                    let random = rig.bench.rng().next_u64();
                    let va = (random >> 20) % (60 << 20);
                    let len = if what == "long" {
                        1 << 20
                    } else {
                        1 + (random % 8192) as u32
                    };
                    let stream = (random >> 60) as u8;
                    let request = mr.request(Op::RemoteRead, va, len);
                    rig.bench.issue(client, Request { stream, ..request });
                }
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        println!("{name}, {what}: {:.0} clocks/s", clocks as f64 / seconds);
        Ok(())
    };
    measure("idle", &mut rig, 1_000_000)?;
    measure("short", &mut rig, 500_000)?;
    measure("long", &mut rig, 500_000)?;
    println!(
        "{} requests, {} segments",
        rig.bench.stats.requests, rig.bench.stats.segments
    );
    Ok(())
}
