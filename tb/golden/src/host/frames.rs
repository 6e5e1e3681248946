// SPDX-License-Identifier: Apache-2.0
//! Physical frames: who owns each, how often it is mapped and pinned, and which are free.

use super::range_map::{Extent, RangeMap};
use super::{HostError, Pid};

/// log2 of the frame size: the smallest page, 4 KiB.
pub const LOG_FRAME: u32 = 12;
/// Bytes of a frame.
pub const FRAME: u64 = 1 << LOG_FRAME;

/// A run of physical frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FrameRun {
    /// Number of the first frame: its physical address divided by 4096.
    pub pfn: u64,
    /// Number of frames.
    pub count: u64,
}

impl FrameRun {
    /// The bytes of the run.
    pub fn range(&self) -> PhysRange {
        PhysRange {
            pa: self.pfn << LOG_FRAME,
            len: self.count << LOG_FRAME,
        }
    }
}

/// A run of bytes in physical memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PhysRange {
    /// Physical address of the first byte.
    pub pa: u64,
    /// Number of bytes.
    pub len: u64,
}

impl PhysRange {
    /// Whether the byte at `pa` lies inside.
    pub fn contains(&self, pa: u64) -> bool {
        pa >= self.pa && pa - self.pa < self.len
    }
}

/// What a frame is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// Memory of a process.
    Process(Pid),
    /// A translation table that the device may read.
    Table,
    /// Memory that the driver lent to the device for another purpose, such as the MPT.
    Device,
    /// Registered by frame number, no process known.
    External,
}

/// Where the allocator takes frames from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocMode {
    /// Lowest free run that holds the whole request, otherwise as few runs as possible.
    Contiguous,
    /// Random places, in runs of 1 to `max_run` pages that do not touch each other. Memory of a
    /// machine that has been up for long.
    Fragmented {
        /// Longest run, in pages of the size asked for.
        max_run: u64,
    },
}

/// A small pseudo-random generator (SplitMix64): the host must behave the same for the same seed.
#[derive(Clone, Debug)]
pub(crate) struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n` (0 if `n` is 0).
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }
}

/// A frame in use. It goes back to the free list when neither mapped nor pinned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Used {
    pub owner: Owner,
    pub maps: u32,
    pub pins: u32,
}

impl Extent for Used {
    fn advance(&self, _n: u64) -> Self {
        *self
    }
}

/// The physical frames of the machine.
#[derive(Clone, Debug)]
pub(crate) struct Frames {
    ram: RangeMap<()>,
    free: RangeMap<()>,
    used: RangeMap<Used>,
    rng: Rng,
    fail_in: Option<u64>,
    steps: u64,
}

impl Frames {
    pub fn new(ram: &[PhysRange], seed: u64) -> Self {
        let mut all = RangeMap::default();
        for r in ram {
            let first = r.pa.div_ceil(FRAME);
            let end = r.pa.saturating_add(r.len) / FRAME;
            all.insert(first, end.saturating_sub(first), ());
        }
        Self {
            free: all.clone(),
            ram: all,
            used: RangeMap::default(),
            rng: Rng(seed),
            fail_in: None,
            steps: 0,
        }
    }

    /// The allocation step number `n` from now on (0: the next) fails, once.
    pub fn fail_after(&mut self, n: Option<u64>) {
        self.fail_in = n;
    }

    /// Allocation steps so far, failed ones included.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    fn step(&mut self) -> Result<(), HostError> {
        self.steps += 1;
        match self.fail_in {
            Some(0) => {
                self.fail_in = None;
                Err(HostError::OutOfMemory)
            }
            Some(n) => {
                self.fail_in = Some(n - 1);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Takes `units` blocks of `unit` frames, each aligned to its size, mapped once by `owner`.
    /// Either all of them or none.
    pub fn alloc(
        &mut self,
        owner: Owner,
        units: u64,
        unit: u64,
        mode: AllocMode,
    ) -> Result<Vec<FrameRun>, HostError> {
        let mut runs = Vec::new();
        let mut left = units;
        while left > 0 {
            let run = self.step().and_then(|()| match mode {
                AllocMode::Contiguous => self.lowest(left, unit),
                AllocMode::Fragmented { max_run } => {
                    let want = 1 + self.rng.below(max_run.max(1));
                    let after = runs.last().map(|r: &FrameRun| r.pfn + r.count);
                    self.random(want.min(left), unit, after)
                }
            });
            match run {
                Ok(run) => {
                    self.take(run, owner);
                    left -= run.count / unit;
                    runs.push(run);
                }
                Err(e) => {
                    self.unmap_all(&runs);
                    return Err(e);
                }
            }
        }
        Ok(runs)
    }

    /// Takes one run of `count` frames aligned to `align` frames, or fails.
    pub fn alloc_one_run(
        &mut self,
        owner: Owner,
        count: u64,
        align: u64,
    ) -> Result<FrameRun, HostError> {
        self.step()?;
        let pfn = self
            .free
            .iter()
            .find_map(|p| {
                let pfn = p.start.next_multiple_of(align);
                (pfn < p.end() && p.end() - pfn >= count).then_some(pfn)
            })
            .ok_or(HostError::OutOfMemory)?;
        let run = FrameRun { pfn, count };
        self.take(run, owner);
        Ok(run)
    }

    fn take(&mut self, run: FrameRun, owner: Owner) {
        self.free.take(run.pfn, run.count);
        let used = Used {
            owner,
            maps: 1,
            pins: 0,
        };
        self.used.insert(run.pfn, run.count, used);
    }

    fn lowest(&self, units: u64, unit: u64) -> Result<FrameRun, HostError> {
        let mut best = None;
        for p in self.free.iter() {
            let pfn = p.start.next_multiple_of(unit);
            let fit = p.end().saturating_sub(pfn) / unit;
            if fit >= units {
                let count = units * unit;
                return Ok(FrameRun { pfn, count });
            }
            if fit > best.map_or(0, |(_, f)| f) {
                best = Some((pfn, fit));
            }
        }
        let (pfn, fit) = best.ok_or(HostError::OutOfMemory)?;
        let count = fit * unit;
        Ok(FrameRun { pfn, count })
    }

    fn random(&mut self, units: u64, unit: u64, avoid: Option<u64>) -> Result<FrameRun, HostError> {
        let mut nth = self.rng.below(self.ram.keys());
        let mut pfn = 0;
        for p in self.ram.iter() {
            if nth < p.len {
                pfn = p.start + nth;
                break;
            }
            nth -= p.len;
        }
        // Twice round: a neighbour of the run before is taken only if nothing else is left.
        for avoid in [avoid, None] {
            let mut at = pfn;
            for _ in 0..2 {
                while let Some(p) = self.free.run_from(at) {
                    let mut from = at.max(p.start).next_multiple_of(unit);
                    if Some(from) == avoid {
                        from += unit;
                    }
                    let fit = p.end().saturating_sub(from) / unit;
                    if fit > 0 {
                        let count = fit.min(units) * unit;
                        return Ok(FrameRun { pfn: from, count });
                    }
                    at = p.end();
                }
                at = 0;
            }
        }
        Err(HostError::OutOfMemory)
    }

    /// Maps given frames once more; free or foreign ones become `owner`'s.
    pub fn map_given(&mut self, run: FrameRun, owner: Owner) -> Result<(), HostError> {
        self.claim(run, owner)?;
        self.update(run, |u| u.maps += 1);
        Ok(())
    }

    /// Pins given frames once more; free or foreign ones become `owner`'s.
    pub fn pin_given(&mut self, run: FrameRun, owner: Owner) -> Result<(), HostError> {
        self.claim(run, owner)?;
        self.update(run, |u| u.pins += 1);
        Ok(())
    }

    fn claim(&mut self, run: FrameRun, owner: Owner) -> Result<(), HostError> {
        for p in self.used.within(run.pfn, run.count) {
            if matches!(p.value.owner, Owner::Table | Owner::Device) {
                return Err(HostError::FrameInUse { pfn: p.start });
            }
            if p.value.maps == u32::MAX || p.value.pins == u32::MAX {
                return Err(HostError::TooManyUsers { pfn: p.start });
            }
        }
        let used = Used {
            owner,
            maps: 0,
            pins: 0,
        };
        for (pfn, count) in self.used.gaps(run.pfn, run.count) {
            self.free.take(pfn, count);
            self.used.insert(pfn, count, used);
        }
        Ok(())
    }

    fn update(&mut self, run: FrameRun, f: impl Fn(&mut Used)) {
        for mut p in self.used.take(run.pfn, run.count) {
            f(&mut p.value);
            if p.value.maps > 0 || p.value.pins > 0 {
                self.used.insert(p.start, p.len, p.value);
            } else {
                let ram: Vec<_> = self.ram.within(p.start, p.len).collect();
                for r in ram {
                    self.free.insert(r.start, r.len, ());
                }
            }
        }
    }

    /// Drops one mapping of each frame.
    pub fn unmap(&mut self, run: FrameRun) {
        self.update(run, |u| u.maps = u.maps.saturating_sub(1));
    }

    pub fn unmap_all(&mut self, runs: &[FrameRun]) {
        for r in runs {
            self.unmap(*r);
        }
    }

    /// Drops one pin of each frame.
    pub fn unpin(&mut self, run: FrameRun) {
        self.update(run, |u| u.pins = u.pins.saturating_sub(1));
    }

    pub fn get(&self, pfn: u64) -> Option<Used> {
        self.used.get(pfn)
    }

    /// The first frame of the run that is pinned, or mapped more than once.
    pub fn busy(&self, run: FrameRun) -> Option<(u64, Used)> {
        self.used
            .within(run.pfn, run.count)
            .find(|p| p.value.pins > 0 || p.value.maps > 1)
            .map(|p| (p.start, p.value))
    }

    pub fn free_count(&self) -> u64 {
        self.free.keys()
    }

    /// Sum over the frames in use.
    pub fn count(&self, f: impl Fn(&Used) -> u64) -> u64 {
        self.used.iter().map(|p| p.len * f(&p.value)).sum()
    }
}
