// SPDX-License-Identifier: Apache-2.0
//! Sparse physical memory.
//!
//! The whole 64-bit space can be read and written. Frames of 4 KiB appear when they are first
//! written; whatever was never written reads as zero and costs nothing. Long tables that follow a
//! rule need no memory either: [`PhysMem::map_generator`] computes them when they are read.

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;
use std::sync::Arc;

/// log2 of the bytes of a frame.
pub const LOG_FRAME: u32 = 12;
/// Bytes of a frame.
pub const FRAME: usize = 1 << LOG_FRAME;

/// A hasher for integers: one multiplication (by 2^64 / golden ratio) and a fold.
#[derive(Clone, Copy, Default)]
pub struct IntHasher(u64);

impl Hasher for IntHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        let product = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ product >> 32;
    }
}

/// A hash map with integer keys.
pub type IntMap<K, V> = HashMap<K, V, BuildHasherDefault<IntHasher>>;

/// Computes the n-th 64-bit word of a generated range.
pub type Generator = Arc<dyn Fn(u64) -> u64 + Send + Sync>;

#[derive(Clone)]
struct Generated {
    range: Range<u64>,
    word: Generator,
}

/// Sparse byte-addressable physical memory of 64-bit addresses.
///
/// Addresses wrap at 2^64, so no access can fail.
///
/// ```
/// use tpt_golden::mem::PhysMem;
///
/// let mut mem = PhysMem::new();
/// mem.write_u64(0xffff_0000_0000_0ffc, 0x1122_3344_5566_7788); // crosses a frame
/// assert_eq!(mem.read_u64(0xffff_0000_0000_0ffc), 0x1122_3344_5566_7788);
/// assert_eq!(mem.read_u64(0x1000), 0);
/// assert_eq!(mem.frame_count(), 2);
/// ```
#[derive(Clone)]
pub struct PhysMem {
    /// Frame number to position in `frames`.
    index: IntMap<u64, u32>,
    frames: Vec<Box<[u8; FRAME]>>,
    /// Positions in `frames` that are not in use.
    spare: Vec<u32>,
    /// The frame that was used last, and its position.
    last: Cell<(u64, u32)>,
    generated: Vec<Generated>,
}

/// No frame has this number: frame numbers have 52 bits.
const NO_FRAME: u64 = u64::MAX;

impl Default for PhysMem {
    fn default() -> Self {
        PhysMem::new()
    }
}

impl fmt::Debug for PhysMem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PhysMem")
            .field("frames", &self.frame_count())
            .field(
                "generated",
                &self.generated.iter().map(|g| &g.range).collect::<Vec<_>>(),
            )
            .finish()
    }
}

impl PhysMem {
    /// Memory of zeros.
    pub fn new() -> PhysMem {
        PhysMem {
            index: IntMap::default(),
            frames: Vec::new(),
            spare: Vec::new(),
            last: Cell::new((NO_FRAME, 0)),
            generated: Vec::new(),
        }
    }

    /// Frames of 4 KiB that hold data.
    pub fn frame_count(&self) -> usize {
        self.index.len()
    }

    /// Fills `buf` with the bytes from `pa` on.
    pub fn read(&self, pa: u64, buf: &mut [u8]) {
        let mut pa = pa;
        let mut rest = buf;
        while !rest.is_empty() {
            let offset = pa as usize % FRAME;
            let (part, tail) = rest.split_at_mut(rest.len().min(FRAME - offset));
            match self.position(pa >> LOG_FRAME) {
                Some(at) => {
                    part.copy_from_slice(&self.frames[at as usize][offset..offset + part.len()]);
                }
                None => self.read_untouched(pa, part),
            }
            pa = pa.wrapping_add(part.len() as u64);
            rest = tail;
        }
    }

    /// Stores the bytes from `pa` on.
    pub fn write(&mut self, pa: u64, data: &[u8]) {
        let mut pa = pa;
        let mut rest = data;
        while !rest.is_empty() {
            let offset = pa as usize % FRAME;
            let (part, tail) = rest.split_at(rest.len().min(FRAME - offset));
            self.frame_mut(pa >> LOG_FRAME)[offset..offset + part.len()].copy_from_slice(part);
            pa = pa.wrapping_add(part.len() as u64);
            rest = tail;
        }
    }

    /// Reads a little-endian 64-bit word.
    pub fn read_u64(&self, pa: u64) -> u64 {
        let mut bytes = [0; 8];
        self.read(pa, &mut bytes);
        u64::from_le_bytes(bytes)
    }

    /// Writes a little-endian 64-bit word.
    pub fn write_u64(&mut self, pa: u64, value: u64) {
        self.write(pa, &value.to_le_bytes());
    }

    /// Forgets what was written into the frames that lie wholly inside `range`: they read as zero
    /// (or as generated) again and cost nothing. Bytes at the ragged ends stay.
    pub fn discard(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let first = range.start.div_ceil(FRAME as u64);
        let end = range.end >> LOG_FRAME;
        if end.saturating_sub(first) > self.index.len() as u64 {
            let all: Vec<u64> = self
                .index
                .keys()
                .copied()
                .filter(|n| (first..end).contains(n))
                .collect();
            all.into_iter()
                .for_each(|number| self.discard_frame(number));
        } else {
            (first..end).for_each(|number| self.discard_frame(number));
        }
    }

    /// Lets `word(n)` be the n-th 64-bit word of `range`, without storing it.
    ///
    /// The range must start and end on a multiple of 8; it is cut inwards otherwise. A write into
    /// the range makes a real frame of the words that are generated at that moment. Where two
    /// ranges overlap, the one that was mapped last counts.
    pub fn map_generator(
        &mut self,
        range: Range<u64>,
        word: impl Fn(u64) -> u64 + Send + Sync + 'static,
    ) {
        let range = range.start.div_ceil(8) * 8..range.end / 8 * 8;
        if !range.is_empty() {
            self.generated.push(Generated {
                range,
                word: Arc::new(word),
            });
        }
    }

    /// Removes the generated ranges that start at `start`.
    pub fn unmap_generator(&mut self, start: u64) {
        self.generated
            .retain(|generated| generated.range.start != start);
    }

    fn position(&self, number: u64) -> Option<u32> {
        let (last, at) = self.last.get();
        if last == number {
            return Some(at);
        }
        let at = *self.index.get(&number)?;
        self.last.set((number, at));
        Some(at)
    }

    /// Reads inside one frame that holds no data.
    fn read_untouched(&self, pa: u64, buf: &mut [u8]) {
        buf.fill(0);
        let end = u128::from(pa) + buf.len() as u128;
        for Generated { range, word } in &self.generated {
            if u128::from(range.start) >= end || range.end <= pa {
                continue;
            }
            let mut cached = (u64::MAX, [0; 8]);
            for (byte, address) in buf.iter_mut().zip(pa..) {
                if range.contains(&address) {
                    let n = (address - range.start) / 8;
                    if cached.0 != n {
                        cached = (n, word(n).to_le_bytes());
                    }
                    *byte = cached.1[(address % 8) as usize];
                }
            }
        }
    }

    fn frame_mut(&mut self, number: u64) -> &mut [u8; FRAME] {
        let at = match self.position(number) {
            Some(at) => at,
            None => {
                let at = match self.spare.pop() {
                    Some(at) => at,
                    None => {
                        self.frames.push(Box::new([0; FRAME]));
                        (self.frames.len() - 1) as u32
                    }
                };
                let mut frame = [0; FRAME];
                self.read_untouched(number << LOG_FRAME, &mut frame);
                *self.frames[at as usize] = frame;
                self.index.insert(number, at);
                self.last.set((number, at));
                at
            }
        };
        &mut self.frames[at as usize]
    }

    fn discard_frame(&mut self, number: u64) {
        if let Some(at) = self.index.remove(&number) {
            self.spare.push(at);
            self.last.set((NO_FRAME, 0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_at_the_top() {
        let mut mem = PhysMem::new();
        mem.write(u64::MAX - 1, &[1, 2, 3, 4]);
        let mut back = [0; 4];
        mem.read(u64::MAX - 1, &mut back);
        assert_eq!(back, [1, 2, 3, 4]);
        assert_eq!(mem.read_u64(0) & 0xffff, 0x0403);
    }

    #[test]
    fn discard_gives_zero_back_and_reuses_frames() {
        let mut mem = PhysMem::new();
        for n in 0..4 {
            mem.write_u64(n << 12, !0);
        }
        mem.discard(0x800..0x3000); // frames 1 and 2; frame 0 only in part
        assert_eq!(mem.frame_count(), 2);
        assert_eq!([0, 1, 2, 3].map(|n| mem.read_u64(n << 12)), [!0, 0, 0, !0]);
        mem.write_u64(0x9000, 5);
        assert_eq!(mem.read_u64(0x9000), 5);
        assert_eq!(mem.read_u64(0x9008), 0, "a reused frame starts as zeros");
        mem.discard(0..u64::MAX);
        assert_eq!(mem.frame_count(), 0);
        assert_eq!(mem.read_u64(0x9000), 0);
    }

    #[test]
    fn generated_words_are_computed_and_can_be_overwritten() {
        let mut mem = PhysMem::new();
        mem.map_generator(0x1_0010..0x1_0000_0000, |n| n * 0x1000);
        assert_eq!(mem.read_u64(0x1_0008), 0);
        assert_eq!(mem.read_u64(0x1_0010), 0);
        assert_eq!(mem.read_u64(0x1_0010 + 8 * 77), 77 << 12);
        let mut odd = [0; 3];
        mem.read(0x1_0010 + 8 * 0x123 + 1, &mut odd);
        assert_eq!(odd, [0x30, 0x12, 0x00]);
        assert_eq!(mem.frame_count(), 0);
        mem.write_u64(0x1_0010 + 8 * 78, 1);
        assert_eq!(mem.read_u64(0x1_0010 + 8 * 77), 77 << 12);
        assert_eq!(mem.read_u64(0x1_0010 + 8 * 78), 1);
        assert_eq!(mem.read_u64(0x1_0010 + 8 * 79), 79 << 12);
        assert_eq!(mem.frame_count(), 1);
        mem.unmap_generator(0x1_0010);
        assert_eq!(mem.read_u64(0x2_0010), 0);
    }
}
