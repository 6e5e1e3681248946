// SPDX-License-Identifier: Apache-2.0
//! The configuration `large`: 256 contexts, tables of up to 4 levels.

use tpt_bench::rig::{Rig, Spec};
use tpt_bench::{BenchError, BenchOptions, UnitConfig};
use tpt_golden::mtt::Shape;
use tpt_golden::types::{Encoding, Op, Syndrome};
use tpt_verilated::Config;

#[test]
fn trees_of_four_levels() -> Result<(), BenchError> {
    let options = BenchOptions {
        config: Config::Large,
        ..BenchOptions::default()
    };
    let mut rig = Rig::new(options, &UnitConfig::default())?;
    for encoding in [Encoding::Raw, Encoding::Flagged] {
        for (level, log_tpage, pages) in [
            (4u8, 12u8, 1u64),
            (4, 12, 513),
            (4, 13, 3000),
            (3, 16, 9000),
        ] {
            let mut spec = Spec::new(0x4321_0321, (pages << 12) - 0x321 - 5, 12, 0x77_0000_0000);
            spec.shape = Shape {
                encoding,
                level: Some(level),
                log_tpage: Some(log_tpage),
                ..spec.shape
            };
            let mr = rig.register(spec)?;
            let base = mr.spec.start & !0xfff;
            let last = mr.spec.start + mr.spec.length - 1;
            for page in [0, 1, 7, 8, 511, 512, 1023, 1024, 2999, 8191, 8192, 8999] {
                let va = (base + (page << 12)).max(mr.spec.start);
                if va > last {
                    continue;
                }
                let len = 0x3008.min(last - va + 1) as u32;
                rig.expect(0, mr.request(Op::LocalWrite, va, len), Syndrome::Ok)?;
                rig.expect(1, mr.request(Op::RemoteRead, va, 1), Syndrome::Ok)?;
            }
            rig.expect(0, mr.request(Op::LocalRead, last, 2), Syndrome::Bounds)?;
            let whole = mr.spec.length as u32;
            rig.expect(
                1,
                mr.request(Op::RemoteRead, mr.spec.start, whole),
                Syndrome::Ok,
            )?;
            rig.deregister(mr)?;
        }
    }
    Ok(())
}

#[test]
fn the_fourth_level_is_a_parameter() -> Result<(), BenchError> {
    for (config, levels) in [(Config::Small, 3), (Config::Default, 3), (Config::Large, 4)] {
        assert_eq!(config.sizes().max_levels, levels);
        let mut bench_memory = tpt_golden::mem::PhysMem::new();
        let options = BenchOptions {
            config,
            ..BenchOptions::default()
        };
        let mut bench = tpt_bench::Bench::new(&mut bench_memory, options)?;
        let cap = bench.read_register(&mut bench_memory, tpt_golden::regs::CAP)?;
        assert_eq!(
            tpt_golden::regs::Capabilities::from_register(cap).max_levels,
            u32::from(levels)
        );
    }
    Ok(())
}
