// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Registrations as the driver of the golden host decides them: the mapping is built in a process
//! and the driver pins it by its own rules.

use tpt_golden::driver::{Caps, Driver, DriverError, RegArgs};
use tpt_golden::host::{AllocMode, FrameRun, Host, HostConfig, HostError, PhysRange, Prot};
use tpt_golden::mtt::Shape;
use tpt_golden::types::Access;

use super::memory;
use super::parse::{Mapping, Registration};

/// Memory for tables.
const RAM: PhysRange = PhysRange {
    pa: 1 << 40,
    len: 1 << 38,
};
/// First frame of the process.
const FIRST: u64 = 1 << 30;
/// More pages than this cannot be mapped.
const MOST: u64 = 1 << 50;

/// What the driver says to a registration; nothing is left behind. Of memory that is not wholly
/// mapped only the first page is there.
pub fn driver_says(r: &Registration, pd: u32) -> Result<(), DriverError> {
    let mut host = Host::new(HostConfig {
        ram: vec![RAM],
        mode: AllocMode::Contiguous,
        seed: 1,
    });
    let mut driver = Driver::new(Caps::default());
    let pid = host.spawn();
    let pages = memory::pages(r.addr, r.length);
    let (prot, count) = match r.mapping {
        Mapping::Writable => (Prot::ReadWrite, pages),
        Mapping::ReadOnly => (Prot::ReadOnly, pages),
        Mapping::Unmapped => (Prot::ReadWrite, u64::from(pages > 1)),
    };
    if (1..=MOST).contains(&count) {
        let run = FrameRun { pfn: FIRST, count };
        // What does not fit into the addresses of a process is not mapped.
        let _ = host.mmap_frames(pid, Some(r.addr & !0xfff), prot, &[run]);
    }
    let args = RegArgs::process(pid, pd, r.addr, r.length, Access(r.access))
        .at(r.iova)
        .with_shape(Shape {
            lazy: pages > memory::LAZY,
            ..Shape::default()
        });
    let (_, handle) = driver.prepare_reg(&mut host, &args)?;
    driver.abort_reg(&mut host, handle);
    Ok(())
}

/// Is this the driver's way to say what a rule says?
pub fn same_reason(rule: &str, error: &DriverError) -> bool {
    match error {
        DriverError::Wrap { .. } => rule == super::replay::WRAP,
        DriverError::PageOffset { .. } => rule == super::replay::OFFSET,
        DriverError::Host(HostError::Unmapped { .. }) => rule == super::replay::UNMAPPED,
        DriverError::Host(HostError::Protection { .. }) => rule == super::replay::READ_ONLY,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_driver_decides_by_the_mapping() {
        let good = Registration {
            pd: 0,
            addr: 0x2000_0000_0010,
            iova: 0x2000_0000_0010,
            length: 8192,
            access: 7,
            mapping: Mapping::Writable,
        };
        assert_eq!(driver_says(&good, 5), Ok(()));
        let huge = Registration {
            length: 1 << 45,
            ..good.clone()
        };
        assert_eq!(driver_says(&huge, 5), Ok(()));
        let read_only = Registration {
            mapping: Mapping::ReadOnly,
            ..good.clone()
        };
        let error = driver_says(&read_only, 5);
        assert!(error.is_err_and(|e| same_reason(super::super::replay::READ_ONLY, &e)));
        let read = Registration {
            access: 4,
            ..read_only
        };
        assert_eq!(driver_says(&read, 5), Ok(()));
        for length in [1, 8192] {
            let hole = Registration {
                mapping: Mapping::Unmapped,
                length,
                ..good.clone()
            };
            let error = driver_says(&hole, 5);
            assert!(error.is_err_and(|e| same_reason(super::super::replay::UNMAPPED, &e)));
        }
        let moved = Registration {
            iova: 0x2000_0000_0018,
            ..good
        };
        let error = driver_says(&moved, 5);
        assert!(error.is_err_and(|e| same_reason(super::super::replay::OFFSET, &e)));
    }
}
