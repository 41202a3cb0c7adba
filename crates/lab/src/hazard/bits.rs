//! Compressed streams of zeros, made without compressing all the zeros. The decoded size is a multiple of 16 MiB.
//!
//! This module is not a hazard. Other hazards, such as `bomb`, use it. A deflate stream repeats one compressed
//! megabyte, which ends at a byte boundary. A Zstandard stream consists of run-length blocks (RFC 8878, 3.1.1.2). A
//! Brotli stream has one command per meta-block (RFC 7932, 9 and 10).

use flate2::{Compress, Compression, Crc, FlushCompress};

const MEGABYTE: u64 = 1 << 20;
/// The end of a deflate stream: an empty last block with fixed codes.
const END: [u8; 2] = [0x03, 0x00];

/// A raw deflate stream (RFC 1951).
pub(super) fn deflate(size: u64) -> Vec<u8> {
    let mut piece = Vec::with_capacity(4096);
    let zeros = vec![0; MEGABYTE as usize];
    let mut compress = Compress::new(Compression::best(), false);
    compress
        .compress_vec(&zeros, &mut piece, FlushCompress::Full)
        .expect("compression cannot fail");
    let mut out = piece.repeat((size / MEGABYTE) as usize);
    out.extend(END);
    out
}

/// A gzip stream (RFC 1952).
pub(super) fn gzip(size: u64) -> Vec<u8> {
    let mut crc = Crc::new();
    let mut one = Crc::new();
    one.update(&vec![0; MEGABYTE as usize]);
    for _ in 0..size / MEGABYTE {
        crc.combine(&one);
    }
    let mut out = vec![0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 2, 3];
    out.extend(deflate(size));
    out.extend(crc.sum().to_le_bytes());
    out.extend((size as u32).to_le_bytes());
    out
}

/// A zlib stream (RFC 1950). The Adler-32 checksum of zeros depends on their number only.
pub(super) fn zlib(size: u64) -> Vec<u8> {
    let mut out = vec![0x78, 0xDA];
    out.extend(deflate(size));
    let adler = ((size % 65_521) as u32) << 16 | 1;
    out.extend(adler.to_be_bytes());
    out
}

/// A Zstandard stream (RFC 8878) with four bytes for every 128 KB of zeros.
pub(super) fn zstd(size: u64) -> Vec<u8> {
    const BLOCK: u64 = 128 << 10;
    let mut out = vec![0x28, 0xB5, 0x2F, 0xFD, 0, 0x38]; // magic, no options, a window of 128 KB
    let count = size / BLOCK;
    for block in 1..=count {
        let header = (BLOCK as u32) << 3 | 1 << 1 | u32::from(block == count);
        out.extend(&header.to_le_bytes()[..3]);
        out.push(0);
    }
    out
}

/// A Brotli stream (RFC 7932) with thirteen bytes for every 16 MB of zeros.
pub(super) fn brotli(size: u64) -> Vec<u8> {
    let mut bits = Bits::default();
    bits.push(0, 1); // window of 64 KB
    for _ in 0..size / (16 * MEGABYTE) {
        bits.push(0, 1); // not the last meta-block
        bits.push(2, 2); // length in six nibbles
        bits.push(0xFF_FFFF, 24);
        bits.push(0, 1); // compressed
        bits.push(0, 3); // one block type per category
        bits.push(0, 6); // distances without postfix or direct codes
        bits.push(0, 2); // context mode: unused
        bits.push(0, 2); // one prefix tree for literals, one for distances
        for (symbol, width) in [(0, 8), (COMMAND, 10), (DISTANCE, 6)] {
            bits.push(1, 2); // a simple prefix code
            bits.push(0, 2); // with one symbol, which takes no bits
            bits.push(symbol, width);
        }
        bits.push((1 << 24) - 1 - 2118, 24); // copy length minus 2118
        bits.push(0, 1); // distance 1
    }
    bits.push(3, 2); // last and empty
    bits.bytes
}

/// The Brotli command that inserts one literal and copies at least 2118 bytes.
const COMMAND: u32 = 384 + (1 << 3) + 7;
/// The Brotli code for the distances 1 and 2.
const DISTANCE: u32 = 16;

/// Writes bits, lowest bit first.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    used: u32,
}

impl Bits {
    fn push(&mut self, value: u32, width: u32) {
        for bit in 0..width {
            if self.used.is_multiple_of(8) {
                self.bytes.push(0);
            }
            let last = self.bytes.len() - 1;
            self.bytes[last] |= ((value >> bit & 1) as u8) << (self.used % 8);
            self.used += 1;
        }
    }
}
