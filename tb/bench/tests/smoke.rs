// SPDX-License-Identifier: Apache-2.0
//! The way from reset to a first translated byte.

use tpt_bench::rig::{Rig, Spec};
use tpt_golden::regs;
use tpt_golden::types::{Op, Syndrome};

type Result = std::result::Result<(), tpt_bench::BenchError>;

#[test]
fn identification_reads() -> Result {
    let mut rig = Rig::small()?;
    let id = rig.bench.read_register(&mut rig.host.mem, regs::ID)?;
    assert_eq!(id, regs::ID_VALUE);
    Ok(())
}

#[test]
fn register_access_deregister() -> Result {
    let mut rig = Rig::small()?;
    let mr = rig.register(Spec::new(0x1234_5678, 0x9_0000, 12, 0x40_0000_0000))?;
    let read = mr.request(Op::RemoteRead, 0x1234_5678, 0x9_0000);
    let outcome = rig.expect(0, read, Syndrome::Ok)?;
    assert_eq!((outcome.segments, outcome.bytes), (0x91, 0x9_0000));
    let write = mr.request(Op::LocalWrite, 0x1234_5fff, 2);
    let outcome = rig.expect(1, write, Syndrome::Ok)?;
    assert_eq!(outcome.segments, 2);
    let (lkey, pd) = (mr.lkey, mr.spec.pd);
    rig.deregister(mr)?;
    let outcome = rig.access(
        1,
        tpt_golden::types::Request {
            key: lkey,
            pd,
            ..write
        },
    )?;
    assert_eq!(outcome.syndrome, Syndrome::KeyState);
    rig.wait_idle()
}

/// Waves of the last clocks only: the recording starts in the middle of a run.
#[cfg(feature = "trace")]
#[test]
fn waves_can_start_later() -> Result {
    use tpt_bench::{BenchOptions, UnitConfig};
    let path =
        |name: &str| std::env::temp_dir().join(format!("tpt-{}-{name}.fst", std::process::id()));
    let size = |path: &std::path::Path| std::fs::metadata(path).map_or(0, |data| data.len());
    let (whole, late) = (path("whole"), path("late"));
    for (file, from) in [(&whole, 0), (&late, 3000)] {
        let options = BenchOptions {
            waves: Some(file.clone()),
            waves_from: from,
            ..BenchOptions::default()
        };
        let mut rig = Rig::new(options, &UnitConfig::default())?;
        rig.register(Spec::new(0x1000, 0x1000, 12, 0x40_0000_0000))?;
        rig.run(4000)?;
    }
    let sizes = (size(&whole), size(&late));
    for file in [&whole, &late] {
        std::fs::remove_file(file).ok();
    }
    assert!(sizes.1 > 1000 && sizes.1 < sizes.0, "{sizes:?}");
    Ok(())
}
