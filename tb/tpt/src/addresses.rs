// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Checks addresses against the frames of a region, with no help from the unit's own model.

use tpt_golden::frames::{FrameList, Page, PageSource};

const PAGE: u64 = 4096;

/// Checks the segments of an accepted access of `len` bytes at byte `at` of a region.
///
/// `offset` is the offset of the region's first byte in its first 4 KiB page; `frames` are its
/// pages of 4 KiB. Returns what is wrong.
pub fn check(
    frames: &FrameList,
    offset: u64,
    at: u64,
    len: u32,
    segments: &[(u64, u32)],
) -> Result<(), String> {
    if len == 0 {
        return if segments.is_empty() {
            Ok(())
        } else {
            Err("an empty access has an address".into())
        };
    }
    let start = offset.wrapping_add(at);
    let mut position = start;
    let end = position.wrapping_add(u64::from(len));
    for &(pa, bytes) in segments {
        if bytes == 0 {
            return Err("an empty segment".into());
        }
        let mut done = 0u64;
        while done < u64::from(bytes) {
            let page = position / PAGE;
            let inside = position % PAGE;
            let Page::Present { pa: frame, .. } = frames.page(page) else {
                return Err(format!("page {page} of the region has no frame"));
            };
            let got = pa.wrapping_add(done);
            if got != frame.wrapping_add(inside) {
                return Err(format!(
                    "byte {} of the region is at {:#x}, the unit said {got:#x}",
                    position.wrapping_sub(offset),
                    frame.wrapping_add(inside)
                ));
            }
            let step = (PAGE - inside).min(u64::from(bytes) - done);
            done += step;
            position = position.wrapping_add(step);
        }
    }
    if position != end {
        return Err(format!(
            "the segments cover {} bytes of {len}",
            position.wrapping_sub(start)
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_wrong_addresses_and_lengths() {
        let frames = FrameList::from_addresses(12, [0x5000, 0x9000]);
        let ok = [(0x5fffu64, 1u32), (0x9000, 7)];
        assert_eq!(check(&frames, 0xff0, 15, 8, &ok), Ok(()));
        assert!(check(&frames, 0xff0, 15, 8, &ok[..1]).is_err());
        assert!(check(&frames, 0xff0, 15, 8, &[(0x5fff, 8)]).is_err());
        assert!(check(&frames, 0xff0, 15, 8, &[(0x5fff, 1), (0xa000, 7)]).is_err());
        assert!(check(&frames, 0xff0, 15, 0, &ok).is_err());
        assert_eq!(check(&frames, 0xff0, 15, 0, &[]), Ok(()));
    }
}
