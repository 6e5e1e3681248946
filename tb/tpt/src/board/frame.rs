// Copyright OpenTPT contributors.
// SPDX-License-Identifier: Apache-2.0

//! Frames of the link: byte stuffing and CRC.

use super::gen;

/// CRC-32 of bytes, as it is sent.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(gen::CRC_START, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ if crc & 1 == 1 { gen::CRC_POLY } else { 0 }
        })
    })
}

/// The bytes on the line for sequence number and payload.
pub fn encode(content: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(content.len() + content.len() / 8 + 16);
    out.push(gen::FLAG);
    for &byte in content.iter().chain(&crc(content).to_le_bytes()) {
        if byte == gen::FLAG || byte == gen::ESCAPE {
            out.extend([gen::ESCAPE, byte ^ gen::ESCAPE_XOR]);
        } else {
            out.push(byte);
        }
    }
    out.push(gen::FLAG);
    out
}

/// Finds frames in what comes from the line.
#[derive(Debug, Default)]
pub struct Decoder {
    frame: Vec<u8>,
    /// A flag was seen.
    inside: bool,
    escape: bool,
    /// Frames that were dropped: damaged, or too long.
    pub bad: u64,
}

impl Decoder {
    /// Forgets a frame that has begun.
    pub fn restart(&mut self) {
        self.frame.clear();
        self.inside = false;
        self.escape = false;
    }

    /// Takes a byte. A good frame is returned at its end: sequence number and payload.
    pub fn push(&mut self, byte: u8) -> Option<Vec<u8>> {
        if byte == gen::FLAG {
            let whole = std::mem::take(&mut self.frame);
            let inside = std::mem::replace(&mut self.inside, true);
            let escape = std::mem::take(&mut self.escape);
            if !inside || whole.is_empty() {
                return None;
            }
            let length = whole.len().checked_sub(gen::CRC_BYTES).filter(|n| *n > 0);
            let good = length.filter(|n| !escape && crc(&whole[..*n]).to_le_bytes() == whole[*n..]);
            if good.is_none() {
                self.bad += 1;
            }
            return good.map(|n| whole[..n].to_vec());
        }
        if !self.inside {
            return None;
        }
        if byte == gen::ESCAPE {
            self.escape = true;
            return None;
        }
        let flip = if std::mem::take(&mut self.escape) {
            gen::ESCAPE_XOR
        } else {
            0
        };
        self.frame.push(byte ^ flip);
        if self.frame.len() > gen::MAX_FRAME + gen::CRC_BYTES {
            self.bad += 1;
            self.restart();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crc_is_that_of_ethernet() {
        assert_eq!(crc(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn frames_come_back_and_damaged_ones_do_not() {
        let content: Vec<u8> = (0..=255).collect();
        let line = encode(&content);
        let mut decoder = Decoder::default();
        let mut got = Vec::new();
        for byte in line.iter().chain(&line) {
            got.extend(decoder.push(*byte));
        }
        assert_eq!(got, [content.clone(), content]);
        assert_eq!(decoder.bad, 0);
        for bit in 8..8 * (line.len() - 1) {
            let mut damaged = line.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let mut decoder = Decoder::default();
            let found = damaged.iter().find_map(|byte| decoder.push(*byte));
            assert_eq!(found, None, "bit {bit}");
        }
    }
}
