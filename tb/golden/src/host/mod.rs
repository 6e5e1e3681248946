// SPDX-License-Identifier: Apache-2.0
//! The host: physical frames, processes, page tables, and pinning.
//!
//! An RDMA device reads and writes memory by physical address, long after the driver has written
//! these addresses into a table. Between the two the operating system is free to swap a page out or
//! to move it, and to give its frame to somebody else, unless the page is *pinned*. This model does
//! all of that, so that it can be shown what happens when a driver forgets to pin.
//!
//! Everything that is long is kept as runs: a contiguous 64 GiB mapping costs a few map nodes, and a
//! frame that was never written costs no memory.
//!
//! ```
//! use tpt_golden::host::{Host, HostConfig, PageSize, Prot};
//!
//! let mut host = Host::new(HostConfig::default());
//! let pid = host.spawn();
//! let va = host.mmap(pid, None, 64 << 30, Prot::ReadWrite, PageSize::Size4K)?;
//! host.write(pid, va, b"hello")?; // demand fault of one page
//! let pinned = host.pin(pid, va, 64 << 30, true)?; // faults in the rest
//! assert_eq!(host.stats().pinned_frames, 16_777_216);
//! assert!(host.migrate(pid, va).is_err(), "a pinned page does not move");
//! host.unpin(pinned);
//! assert!(host.migrate(pid, va).is_ok());
//! # Ok::<(), tpt_golden::host::HostError>(())
//! ```

mod frames;
mod range_map;

pub use frames::{AllocMode, FrameRun, Owner, PhysRange, FRAME, LOG_FRAME};

use crate::mem::PhysMem;
use frames::Frames;
use range_map::{Extent, RangeMap};
use std::collections::{BTreeMap, HashMap};
use thiserror::Error;

/// Number of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pid(pub u32);

/// Why the host refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum HostError {
    /// No such process.
    #[error("no process {0:?}")]
    NoProcess(Pid),
    /// Nothing is mapped at the address.
    #[error("address {va:#x} is not mapped")]
    Unmapped {
        /// First address that is not mapped.
        va: u64,
    },
    /// The mapping does not allow the access.
    #[error("mapping at {va:#x} does not allow the access")]
    Protection {
        /// First address of the mapping that refuses.
        va: u64,
    },
    /// The page is pinned and must stay where it is.
    #[error("frame {pfn:#x} is pinned {pins} times")]
    Pinned {
        /// The pinned frame.
        pfn: u64,
        /// How often it is pinned.
        pins: u32,
    },
    /// The frame is mapped by more than one page table.
    #[error("frame {pfn:#x} is shared")]
    Shared {
        /// The shared frame.
        pfn: u64,
    },
    /// The frame holds a table of the device.
    #[error("frame {pfn:#x} is in use by the device")]
    FrameInUse {
        /// The frame.
        pfn: u64,
    },
    /// A use count of the frame is at its end.
    #[error("frame {pfn:#x} has too many users")]
    TooManyUsers {
        /// The frame.
        pfn: u64,
    },
    /// No memory of the wanted size and alignment is left.
    #[error("out of physical memory")]
    OutOfMemory,
    /// Address or length does not fit the page size, or passes 2^64, or a number of frames is wrong.
    #[error("bad address range {va:#x} + {len:#x}")]
    BadRange {
        /// First address.
        va: u64,
        /// Bytes.
        len: u64,
    },
    /// Something is mapped there already.
    #[error("address {va:#x} is already mapped")]
    Overlap {
        /// First address that is taken.
        va: u64,
    },
    /// The page is not in the state for the operation (swap-in of a page that is not swapped out).
    #[error("page at {va:#x} is not swapped out")]
    NotSwapped {
        /// The address.
        va: u64,
    },
}

/// What a process may do with a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Prot {
    /// Nothing: a guard.
    None,
    /// Read.
    ReadOnly,
    /// Read and write.
    ReadWrite,
}

/// Page size of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PageSize {
    /// 4 KiB.
    Size4K,
    /// 2 MiB.
    Size2M,
    /// 1 GiB.
    Size1G,
}

impl PageSize {
    /// log2 of the bytes.
    pub fn log2(self) -> u32 {
        match self {
            PageSize::Size4K => 12,
            PageSize::Size2M => 21,
            PageSize::Size1G => 30,
        }
    }

    /// Bytes.
    pub fn bytes(self) -> u64 {
        1 << self.log2()
    }

    /// Frames of 4 KiB.
    fn frames(self) -> u64 {
        1 << (self.log2() - LOG_FRAME)
    }
}

/// How a host is built.
#[derive(Clone, Debug)]
pub struct HostConfig {
    /// Ranges of RAM, whole frames.
    pub ram: Vec<PhysRange>,
    /// Where frames for processes and tables are taken from.
    pub mode: AllocMode,
    /// Seed of the random places.
    pub seed: u64,
}

impl Default for HostConfig {
    /// 128 GiB as a PC has it: 2 GiB from 1 MiB on, the rest above 4 GiB; contiguous.
    fn default() -> Self {
        let ram = |pa: u64, end: u64| PhysRange { pa, len: end - pa };
        Self {
            ram: vec![ram(1 << 20, 2 << 30), ram(4 << 30, 130 << 30)],
            mode: AllocMode::Contiguous,
            seed: 1,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Vma {
    prot: Prot,
    page: PageSize,
}

impl Extent for Vma {
    fn advance(&self, _n: u64) -> Self {
        *self
    }
}

/// One 4 KiB piece of a page table entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pte {
    Present(u64),
    Swapped(u64),
}

impl Extent for Pte {
    fn advance(&self, n: u64) -> Self {
        match self {
            Pte::Present(pfn) => Pte::Present(pfn + n),
            Pte::Swapped(slot) => Pte::Swapped(slot + n),
        }
    }
}

/// Keys of both maps are virtual page numbers (va / 4096): below 2^52, so no sum can wrap.
#[derive(Clone, Debug, Default)]
struct Process {
    vmas: RangeMap<Vma>,
    pages: RangeMap<Pte>,
    next_va: u64,
}

/// Pages that are held in place, as the frames they had when they were pinned.
///
/// Hand it back with [`Host::unpin`]; dropping it leaves the pages pinned.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "the pages stay pinned until they are handed to `Host::unpin`"]
pub struct Pinned {
    frames: Vec<FrameRun>,
    offset: u64,
    len: u64,
    writable: bool,
}

impl Pinned {
    /// The pinned bytes in address order, neighbours joined.
    pub fn ranges(&self) -> Vec<PhysRange> {
        let mut skip = self.offset;
        let mut left = self.len;
        let mut out = Vec::with_capacity(self.frames.len());
        for r in &self.frames {
            let skipped = r.count.min(skip >> LOG_FRAME);
            skip -= skipped << LOG_FRAME;
            let r = FrameRun {
                pfn: r.pfn + skipped,
                count: r.count - skipped,
            };
            if r.count == 0 || left == 0 {
                continue;
            }
            let bytes = (u128::from(r.count) << LOG_FRAME) - u128::from(skip);
            let len = u128::from(left).min(bytes) as u64;
            let pa = (r.pfn << LOG_FRAME) + skip;
            out.push(PhysRange { pa, len });
            left -= len;
            skip = 0;
        }
        out
    }

    /// The pinned frames.
    pub fn frames(&self) -> &[FrameRun] {
        &self.frames
    }

    /// Whether the pages were pinned for writing.
    pub fn writable(&self) -> bool {
        self.writable
    }
}

/// Counts of frames (4 KiB each).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct HostStats {
    /// Free frames.
    pub free_frames: u64,
    /// Frames that belong to processes.
    pub process_frames: u64,
    /// Frames that hold translation tables.
    pub table_frames: u64,
    /// Frames that are pinned at least once.
    pub pinned_frames: u64,
    /// Sum of all pin counts.
    pub pins: u64,
    /// Frames in swap space.
    pub swapped_frames: u64,
}

/// Physical memory, its frames, and the processes that use it.
#[derive(Debug)]
pub struct Host {
    /// Physical memory.
    pub mem: PhysMem,
    frames: Frames,
    processes: BTreeMap<Pid, Process>,
    mode: AllocMode,
    next_pid: u32,
    next_slot: u64,
    /// Swap space by slot; a slot that is not there holds zeros.
    swap: HashMap<u64, Box<[u8; FRAME as usize]>>,
}

impl Default for Host {
    fn default() -> Self {
        Self::new(HostConfig::default())
    }
}

impl Host {
    /// A host with all of its RAM free.
    pub fn new(config: HostConfig) -> Self {
        Self {
            mem: PhysMem::new(),
            frames: Frames::new(&config.ram, config.seed),
            processes: BTreeMap::new(),
            mode: config.mode,
            next_pid: 1,
            next_slot: 0,
            swap: HashMap::new(),
        }
    }

    // ---------------------------------------------------------------------------------------------
    // Processes and mappings
    // ---------------------------------------------------------------------------------------------

    /// A new process without any mapping.
    pub fn spawn(&mut self) -> Pid {
        let pid = Pid(self.next_pid);
        self.next_pid += 1;
        let process = Process {
            next_va: 0x1000_0000_0000,
            ..Process::default()
        };
        self.processes.insert(pid, process);
        pid
    }

    /// Ends a process: everything is unmapped. Its pinned frames stay out of circulation until they
    /// are unpinned.
    pub fn exit(&mut self, pid: Pid) -> Result<(), HostError> {
        let process = self
            .processes
            .remove(&pid)
            .ok_or(HostError::NoProcess(pid))?;
        for p in process.pages.iter() {
            self.drop_pte(p.len, p.value);
        }
        Ok(())
    }

    /// Maps `len` bytes of zeros at `va`, or at a free place if `va` is `None`; pages come with the
    /// first access. `len` is rounded up to whole pages. Returns the address.
    pub fn mmap(
        &mut self,
        pid: Pid,
        va: Option<u64>,
        len: u64,
        prot: Prot,
        page: PageSize,
    ) -> Result<u64, HostError> {
        let (va, vpn, n) = self.place(pid, va, len, page)?;
        self.process_mut(pid)?
            .vmas
            .insert(vpn, n, Vma { prot, page });
        Ok(va)
    }

    /// Maps given frames, in this order, as 4 KiB pages: memory whose physical addresses are known
    /// from elsewhere. A frame may be given to several mappings and need not be RAM of this host.
    pub fn mmap_frames(
        &mut self,
        pid: Pid,
        va: Option<u64>,
        prot: Prot,
        frames: &[FrameRun],
    ) -> Result<u64, HostError> {
        let mut count = 0u64;
        for r in frames {
            let fits = r.pfn < 1 << 52 && r.count <= (1 << 52) - r.pfn;
            count = count
                .checked_add(r.count)
                .filter(|&c| fits && c < 1 << 52)
                .ok_or(HostError::BadRange {
                    va: va.unwrap_or(0),
                    len: u64::MAX,
                })?;
        }
        let page = PageSize::Size4K;
        let (va, vpn, n) = self.place(pid, va, count << LOG_FRAME, page)?;
        let owner = Owner::Process(pid);
        for (i, r) in frames.iter().enumerate() {
            if let Err(e) = self.frames.map_given(*r, owner) {
                self.frames.unmap_all(&frames[..i]);
                return Err(e);
            }
        }
        let process = self.process_mut(pid)?;
        process.vmas.insert(vpn, n, Vma { prot, page });
        let mut at = vpn;
        for r in frames {
            process.pages.insert(at, r.count, Pte::Present(r.pfn));
            at += r.count;
        }
        Ok(va)
    }

    /// Checks that a new mapping fits; returns address, first page number and number of pages.
    fn place(
        &mut self,
        pid: Pid,
        va: Option<u64>,
        len: u64,
        page: PageSize,
    ) -> Result<(u64, u64, u64), HostError> {
        let process = self.process_mut(pid)?;
        let mask = page.bytes() - 1;
        let bad = HostError::BadRange {
            va: va.unwrap_or(0),
            len,
        };
        let n = (len >> LOG_FRAME) + u64::from(len & (FRAME - 1) != 0);
        let n = n.next_multiple_of(page.frames());
        let va = match va {
            Some(va) => va,
            None => {
                // A guard of at least a page stays between two mappings.
                let va = process.next_va.next_multiple_of(page.bytes());
                let end = va.checked_add(n << LOG_FRAME).ok_or(bad)?;
                process.next_va = end.checked_add(1 << 21).ok_or(bad)?;
                va
            }
        };
        let vpn = va >> LOG_FRAME;
        if len == 0 || va & mask != 0 || n > (1 << 52) - vpn {
            return Err(bad);
        }
        let taken = process.vmas.within(vpn, n).next();
        match taken {
            Some(p) => Err(HostError::Overlap {
                va: p.start << LOG_FRAME,
            }),
            None => Ok((va, vpn, n)),
        }
    }

    /// Unmaps `[va, va + len)`, whole pages. Frames that are pinned stay in use.
    pub fn munmap(&mut self, pid: Pid, va: u64, len: u64) -> Result<(), HostError> {
        let bad = HostError::BadRange { va, len };
        let (vpn, n) = pages_of(va, len).ok_or(bad)?;
        let process = self.process_mut(pid)?;
        for v in process.vmas.within(vpn, n) {
            let mask = v.value.page.frames() - 1;
            if v.start & mask != 0 || v.len & mask != 0 || va & (FRAME - 1) != 0 {
                return Err(bad);
            }
        }
        process.vmas.take(vpn, n);
        for p in process.pages.take(vpn, n) {
            self.drop_pte(p.len, p.value);
        }
        Ok(())
    }

    fn drop_pte(&mut self, count: u64, pte: Pte) {
        match pte {
            Pte::Present(pfn) => self.frames.unmap(FrameRun { pfn, count }),
            Pte::Swapped(slot) => {
                for s in slot..slot + count {
                    self.swap.remove(&s);
                }
            }
        }
    }

    fn process(&self, pid: Pid) -> Result<&Process, HostError> {
        self.processes.get(&pid).ok_or(HostError::NoProcess(pid))
    }

    fn process_mut(&mut self, pid: Pid) -> Result<&mut Process, HostError> {
        self.processes
            .get_mut(&pid)
            .ok_or(HostError::NoProcess(pid))
    }

    // ---------------------------------------------------------------------------------------------
    // Access through the page table
    // ---------------------------------------------------------------------------------------------

    /// Faults every page of `[va, va + len)` in, as an access would.
    ///
    /// Pages that were faulted in before an error stay: they are the process's memory.
    pub fn touch(&mut self, pid: Pid, va: u64, len: u64, write: bool) -> Result<(), HostError> {
        let (vpn, n) = pages_of(va, len).ok_or(HostError::BadRange { va, len })?;
        let process = self.process(pid)?;
        if let Some((hole, _)) = process.vmas.gaps(vpn, n).first() {
            return Err(HostError::Unmapped {
                va: (hole << LOG_FRAME).max(va),
            });
        }
        let vmas: Vec<_> = process.vmas.within(vpn, n).collect();
        for v in &vmas {
            let allowed = match v.value.prot {
                Prot::None => false,
                Prot::ReadOnly => !write,
                Prot::ReadWrite => true,
            };
            if !allowed {
                return Err(HostError::Protection {
                    va: (v.start << LOG_FRAME).max(va),
                });
            }
        }
        for v in vmas {
            let unit = v.value.page.frames();
            let first = v.start / unit * unit;
            let count = v.end().next_multiple_of(unit) - first;
            self.fault_in(pid, first, count, unit)?;
        }
        Ok(())
    }

    /// Makes the pages of one mapping present.
    fn fault_in(&mut self, pid: Pid, vpn: u64, n: u64, unit: u64) -> Result<(), HostError> {
        let process = self.process(pid)?;
        let swapped: Vec<_> = process
            .pages
            .within(vpn, n)
            .filter(|p| matches!(p.value, Pte::Swapped(_)))
            .collect();
        for (first, count) in process.pages.gaps(vpn, n) {
            let runs = self
                .frames
                .alloc(Owner::Process(pid), count / unit, unit, self.mode)?;
            self.map_new(pid, first, &runs)?;
        }
        for p in swapped {
            let Pte::Swapped(slot) = p.value else {
                continue;
            };
            let runs = self
                .frames
                .alloc(Owner::Process(pid), p.len / unit, unit, self.mode)?;
            self.map_new(pid, p.start, &runs)?;
            let mut slot = slot;
            for r in &runs {
                for pfn in r.pfn..r.pfn + r.count {
                    if let Some(data) = self.swap.remove(&slot) {
                        self.mem.write(pfn << LOG_FRAME, &data[..]);
                    }
                    slot += 1;
                }
            }
        }
        Ok(())
    }

    /// Enters new frames of zeros into a page table.
    fn map_new(&mut self, pid: Pid, vpn: u64, runs: &[FrameRun]) -> Result<(), HostError> {
        let mut at = vpn;
        for r in runs {
            self.wipe(*r);
            let process = self.process_mut(pid)?;
            process.pages.insert(at, r.count, Pte::Present(r.pfn));
            at += r.count;
        }
        Ok(())
    }

    fn wipe(&mut self, run: FrameRun) {
        let range = run.range();
        self.mem
            .discard(range.pa..range.pa.saturating_add(range.len));
    }

    /// Physical address of `va`, if its page is present. Causes no fault.
    pub fn translate(&self, pid: Pid, va: u64) -> Option<u64> {
        let process = self.processes.get(&pid)?;
        match process.pages.get(va >> LOG_FRAME)? {
            Pte::Present(pfn) => Some((pfn << LOG_FRAME) | (va & (FRAME - 1))),
            Pte::Swapped(_) => None,
        }
    }

    /// The frames of `[va, va + len)` as the page table has them now, without pinning anything.
    /// Only a driver that wants trouble uses this instead of [`pin`](Self::pin).
    pub fn frames_unpinned(
        &mut self,
        pid: Pid,
        va: u64,
        len: u64,
    ) -> Result<Vec<FrameRun>, HostError> {
        self.touch(pid, va, len, false)?;
        let (vpn, n) = pages_of(va, len).ok_or(HostError::BadRange { va, len })?;
        let process = self.process(pid)?;
        Ok(process
            .pages
            .within(vpn, n)
            .filter_map(|p| match p.value {
                Pte::Present(pfn) => Some(FrameRun { pfn, count: p.len }),
                Pte::Swapped(_) => None,
            })
            .collect())
    }

    /// Reads the memory of a process.
    pub fn read(&mut self, pid: Pid, va: u64, buf: &mut [u8]) -> Result<(), HostError> {
        let len = buf.len() as u64;
        let mut done = 0;
        for range in self.present(pid, va, len, false)? {
            let part = range.len as usize;
            self.mem.read(range.pa, &mut buf[done..done + part]);
            done += part;
        }
        Ok(())
    }

    /// Writes the memory of a process.
    pub fn write(&mut self, pid: Pid, va: u64, data: &[u8]) -> Result<(), HostError> {
        let len = data.len() as u64;
        let mut done = 0;
        for range in self.present(pid, va, len, true)? {
            let part = range.len as usize;
            self.mem.write(range.pa, &data[done..done + part]);
            done += part;
        }
        Ok(())
    }

    fn present(
        &mut self,
        pid: Pid,
        va: u64,
        len: u64,
        write: bool,
    ) -> Result<Vec<PhysRange>, HostError> {
        if len == 0 {
            return Ok(Vec::new());
        }
        self.touch(pid, va, len, write)?;
        let frames = self.frames_unpinned(pid, va, len)?;
        let view = Pinned {
            frames,
            offset: va & (FRAME - 1),
            len,
            writable: write,
        };
        Ok(view.ranges())
    }

    // ---------------------------------------------------------------------------------------------
    // What the operating system does behind the application's back
    // ---------------------------------------------------------------------------------------------

    /// The page of `va`: first page number, frames, first frame. It must be present, not pinned and
    /// not shared, or it cannot leave its frame.
    fn movable(&self, pid: Pid, va: u64) -> Result<(u64, FrameRun), HostError> {
        let process = self.process(pid)?;
        let vpn = va >> LOG_FRAME;
        let vma = process.vmas.get(vpn).ok_or(HostError::Unmapped { va })?;
        let unit = vma.page.frames();
        let first = vpn / unit * unit;
        let Some(Pte::Present(pfn)) = process.pages.get(first) else {
            return Err(HostError::Unmapped { va });
        };
        let run = FrameRun { pfn, count: unit };
        match self.frames.busy(run) {
            Some((pfn, used)) if used.pins > 0 => Err(HostError::Pinned {
                pfn,
                pins: used.pins,
            }),
            Some((pfn, _)) => Err(HostError::Shared { pfn }),
            None => Ok((first, run)),
        }
    }

    /// Swaps the page of `va` out; its frame becomes free and keeps its bytes until it is used again.
    pub fn swap_out(&mut self, pid: Pid, va: u64) -> Result<(), HostError> {
        let (vpn, run) = self.movable(pid, va)?;
        let slot = self.next_slot;
        self.next_slot += run.count;
        for i in 0..run.count {
            let mut data = Box::new([0; FRAME as usize]);
            self.mem.read((run.pfn + i) << LOG_FRAME, &mut data[..]);
            if data.iter().any(|&b| b != 0) {
                self.swap.insert(slot + i, data);
            }
        }
        let process = self.process_mut(pid)?;
        process.pages.insert(vpn, run.count, Pte::Swapped(slot));
        self.frames.unmap(run);
        Ok(())
    }

    /// Swaps the page of `va` in, to whatever frame is free now.
    pub fn swap_in(&mut self, pid: Pid, va: u64) -> Result<(), HostError> {
        let process = self.process(pid)?;
        let vpn = va >> LOG_FRAME;
        let vma = process.vmas.get(vpn).ok_or(HostError::Unmapped { va })?;
        if !matches!(process.pages.get(vpn), Some(Pte::Swapped(_))) {
            return Err(HostError::NotSwapped { va });
        }
        let unit = vma.page.frames();
        self.fault_in(pid, vpn / unit * unit, unit, unit)
    }

    /// Moves the page of `va` to another frame, as compaction or NUMA balancing does. Returns the
    /// new physical address of `va`.
    pub fn migrate(&mut self, pid: Pid, va: u64) -> Result<u64, HostError> {
        let (vpn, old) = self.movable(pid, va)?;
        let new = self
            .frames
            .alloc_one_run(Owner::Process(pid), old.count, old.count)?;
        self.wipe(new);
        let mut data = [0; FRAME as usize];
        for i in 0..old.count {
            self.mem.read((old.pfn + i) << LOG_FRAME, &mut data);
            if data.iter().any(|&b| b != 0) {
                self.mem.write((new.pfn + i) << LOG_FRAME, &data);
            }
        }
        let process = self.process_mut(pid)?;
        process.pages.insert(vpn, new.count, Pte::Present(new.pfn));
        self.frames.unmap(old);
        Ok(((new.pfn + (va >> LOG_FRAME) - vpn) << LOG_FRAME) | (va & (FRAME - 1)))
    }

    // ---------------------------------------------------------------------------------------------
    // Pinning
    // ---------------------------------------------------------------------------------------------

    /// Faults every page of `[va, va + len)` in and holds it in its frame; all pages or none.
    pub fn pin(&mut self, pid: Pid, va: u64, len: u64, write: bool) -> Result<Pinned, HostError> {
        self.touch(pid, va, len, write)?;
        let frames = self.frames_unpinned(pid, va, len)?;
        self.pin_runs(&frames, Owner::Process(pid))?;
        Ok(Pinned {
            frames,
            offset: va & (FRAME - 1),
            len,
            writable: write,
        })
    }

    /// Holds given frames. The bytes meant are the `len` ones from byte `offset` on; frames before
    /// and after them are held too. For memory that no process of this host maps.
    pub fn pin_frames(
        &mut self,
        frames: &[FrameRun],
        offset: u64,
        len: u64,
    ) -> Result<Pinned, HostError> {
        for r in frames {
            if r.pfn >= 1 << 52 || r.count > (1 << 52) - r.pfn {
                return Err(HostError::BadRange {
                    va: offset,
                    len: r.count,
                });
            }
        }
        let mut joined: Vec<FrameRun> = Vec::with_capacity(frames.len());
        for r in frames {
            match joined.last_mut() {
                Some(last) if last.pfn + last.count == r.pfn => last.count += r.count,
                _ => joined.push(*r),
            }
        }
        self.pin_runs(&joined, Owner::External)?;
        Ok(Pinned {
            frames: joined,
            offset,
            len,
            writable: true,
        })
    }

    fn pin_runs(&mut self, frames: &[FrameRun], owner: Owner) -> Result<(), HostError> {
        for (i, r) in frames.iter().enumerate() {
            if let Err(e) = self.frames.pin_given(*r, owner) {
                for r in &frames[..i] {
                    self.frames.unpin(*r);
                }
                return Err(e);
            }
        }
        Ok(())
    }

    /// Lets pinned pages go. Frames that nobody maps any more become free.
    pub fn unpin(&mut self, pinned: Pinned) {
        for r in pinned.frames {
            self.frames.unpin(r);
        }
    }

    // ---------------------------------------------------------------------------------------------
    // Memory for the device
    // ---------------------------------------------------------------------------------------------

    /// Takes `count` blocks of `bytes` (a power of two, at least a frame), each aligned to its size,
    /// filled with zeros. In as few runs as the allocation mode gives.
    pub fn alloc_blocks(
        &mut self,
        owner: Owner,
        count: u64,
        bytes: u64,
    ) -> Result<Vec<PhysRange>, HostError> {
        if !bytes.is_power_of_two() || bytes < FRAME {
            return Err(HostError::BadRange { va: 0, len: bytes });
        }
        let runs = self
            .frames
            .alloc(owner, count, bytes >> LOG_FRAME, self.mode)?;
        for r in &runs {
            self.wipe(*r);
        }
        Ok(runs.iter().map(FrameRun::range).collect())
    }

    /// Takes one contiguous run of at least `bytes`, aligned to `align` bytes, filled with zeros.
    pub fn alloc_contiguous(
        &mut self,
        owner: Owner,
        bytes: u64,
        align: u64,
    ) -> Result<PhysRange, HostError> {
        if bytes == 0 || !align.is_power_of_two() {
            return Err(HostError::BadRange { va: 0, len: bytes });
        }
        let align = align.max(FRAME) >> LOG_FRAME;
        let run = self
            .frames
            .alloc_one_run(owner, bytes.div_ceil(FRAME), align)?;
        self.wipe(run);
        Ok(run.range())
    }

    /// Gives memory of the device back.
    pub fn free(&mut self, ranges: &[PhysRange]) {
        for r in ranges {
            self.frames.unmap(FrameRun {
                pfn: r.pa >> LOG_FRAME,
                count: r.len >> LOG_FRAME,
            });
        }
    }

    // ---------------------------------------------------------------------------------------------
    // Questions and injected failures
    // ---------------------------------------------------------------------------------------------

    /// Who owns the frame at this physical address; `None` if it is free (or no RAM).
    ///
    /// The device may read frames of [`Owner::Table`] and [`Owner::Device`] only; a read anywhere
    /// else is a stale table.
    pub fn owner_at(&self, pa: u64) -> Option<Owner> {
        self.frames.get(pa >> LOG_FRAME).map(|u| u.owner)
    }

    /// How often the frame at this physical address is pinned.
    pub fn pins_at(&self, pa: u64) -> u32 {
        self.frames.get(pa >> LOG_FRAME).map_or(0, |u| u.pins)
    }

    /// Counts of frames.
    pub fn stats(&self) -> HostStats {
        let f = &self.frames;
        let of = |want: fn(&Owner) -> bool| f.count(|u| u64::from(want(&u.owner)));
        HostStats {
            free_frames: f.free_count(),
            process_frames: of(|o| matches!(o, Owner::Process(_))),
            table_frames: of(|o| matches!(o, Owner::Table)),
            pinned_frames: f.count(|u| u64::from(u.pins > 0)),
            pins: f.count(|u| u64::from(u.pins)),
            swapped_frames: self
                .processes
                .values()
                .flat_map(|p| p.pages.iter())
                .filter(|p| matches!(p.value, Pte::Swapped(_)))
                .map(|p| p.len)
                .sum(),
        }
    }

    /// Lets the allocation of frames number `n` from now on (0: the next) fail once.
    /// `None` takes the order back. A contiguous allocation is one step if it fits in one run; a
    /// fragmented one is a step per run.
    pub fn inject_alloc_failure(&mut self, n: Option<u64>) {
        self.frames.fail_after(n);
    }

    /// Steps of frame allocation so far.
    pub fn alloc_steps(&self) -> u64 {
        self.frames.steps()
    }

    /// Changes the allocation mode for what is allocated from now on.
    pub fn set_alloc_mode(&mut self, mode: AllocMode) {
        self.mode = mode;
    }
}

/// First page number and number of pages of a byte range; `None` if it is empty or passes 2^64.
fn pages_of(va: u64, len: u64) -> Option<(u64, u64)> {
    if len == 0 || len - 1 > u64::MAX - va {
        return None;
    }
    let first = va >> LOG_FRAME;
    let last = (va + (len - 1)) >> LOG_FRAME;
    Some((first, last - first + 1))
}
