//! Encoding of blocks: variable-length integers, strings, and the envelope around a block.
//!
//! A block has two parts. `text` holds paths, types and small numbers, which compress well. `fixed` holds keys and
//! digests, which are random bytes and do not compress. The envelope:
//!
//! ```text
//! packing: u8       0 = uncompressed text, 1 = text as one zstd frame, 2 = text as one LZ4 block
//! text length       varint, before compression
//! packed length     varint, only if compressed
//! text, fixed       fixed extends to the end of the block
//! ```
//!
//! Permanent blocks are compressed with zstd. Blocks that are soon read and rewritten (link runs, queues) are
//! compressed with LZ4, which is several times faster but compresses a little less (figures in
//! docs/decisions/0007-runs.md).
//!
//! A varint is LEB128: seven bits per byte, lowest first. Signed numbers are zigzag-encoded. A string is its length as
//! a varint and its UTF-8 bytes. Decoding never panics; a damaged block gives `None`.

use std::cell::RefCell;
use std::fmt;

use lz4_flex::block::{CompressTable, compress_into_with_table, get_maximum_output_size};
use zstd::bulk::{Compressor, Decompressor};

use crate::Location;

/// Minimum length of a text that is compressed, in bytes. For a shorter text, the set-up of the compressor takes more
/// time than the saved bytes are worth.
const MIN_PACKED_TEXT: usize = 512;
/// Maximum length of a block's text in bytes. An envelope that states a larger length is damaged.
const MAX_TEXT: usize = 1 << 30;
/// Compression level. A higher level is slower and saves only 5% of the bytes (docs/decisions/0002-frontier-layout.md).
const ZSTD_LEVEL: i32 = 1;

/// The two parts of a block that is being written.
#[derive(Default, Debug)]
pub(crate) struct BlockBuffer {
    /// The part that compresses.
    pub(crate) text: Vec<u8>,
    /// The part that does not compress.
    pub(crate) fixed: Vec<u8>,
}

impl BlockBuffer {
    /// Empties both parts and keeps their memory.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.fixed.clear();
    }
}

/// Append an unsigned integer.
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Append a signed integer.
pub(crate) fn put_signed(out: &mut Vec<u8>, value: i64) {
    put_varint(out, ((value << 1) ^ (value >> 63)) as u64);
}

/// Append a string.
pub fn put_str(out: &mut Vec<u8>, text: &str) {
    put_varint(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Decodes what [`put_varint`], `put_signed` and [`put_str`] have written.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes }
    }

    /// The bytes that have not been read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Whether all bytes have been read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Reads one byte.
    pub fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    /// Reads `count` bytes.
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(head)
    }

    /// Reads an unsigned integer.
    pub fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// Reads an unsigned integer; `None` if it does not fit into `T`.
    pub fn number<T: TryFrom<u64>>(&mut self) -> Option<T> {
        T::try_from(self.varint()?).ok()
    }

    /// Reads the location of a WARC record.
    pub fn location(&mut self) -> Option<Location> {
        Some(Location {
            volume: self.varint()?.into(),
            offset: self.varint()?,
            length: self.number()?,
        })
    }

    /// Reads a signed integer.
    pub fn signed(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Reads a 64-bit integer, little-endian.
    pub fn word(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    /// Reads a string.
    pub fn text(&mut self) -> Option<&'a str> {
        let length = self.number()?;
        std::str::from_utf8(self.take(length)?).ok()
    }
}

/// Compression of the text. The discriminants are the values of `packing` in the envelope.
#[derive(Clone, Copy, Debug)]
enum Packing {
    None = 0,
    Zstd = 1,
    Lz4 = 2,
}

/// Writes (seals) and reads (opens) envelopes, and reuses the memory of the compressors.
pub(crate) struct Packer {
    compressor: RefCell<Compressor<'static>>,
    decompressor: RefCell<Decompressor<'static>>,
    table: RefCell<CompressTable>,
    /// Reused buffer for the compressed text, which is copied into the envelope when its length is known.
    packed: RefCell<Vec<u8>>,
}

impl fmt::Debug for Packer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Packer")
    }
}

impl Packer {
    /// Fails only if no memory is available for the compressor.
    pub(crate) fn new() -> std::io::Result<Packer> {
        Ok(Packer {
            compressor: RefCell::new(Compressor::new(ZSTD_LEVEL)?),
            decompressor: RefCell::new(Decompressor::new()?),
            table: RefCell::default(),
            packed: RefCell::default(),
        })
    }

    /// The envelope of a permanent block. The text part of the block is
    /// compressed if that makes it at least an eighth shorter.
    pub(crate) fn seal(&self, block: &BlockBuffer) -> Vec<u8> {
        let mut out = Vec::with_capacity(block.text.len() + block.fixed.len() + 16);
        self.seal_as(Packing::Zstd, block, &mut out);
        out
    }

    /// The envelope of a block that is soon rewritten.
    pub(crate) fn seal_fast(&self, block: &BlockBuffer) -> Vec<u8> {
        let mut out = Vec::with_capacity(block.text.len() + block.fixed.len() + 16);
        self.seal_fast_into(block, &mut out);
        out
    }

    /// Like [`Packer::seal_fast`], appended to `out`.
    pub(crate) fn seal_fast_into(&self, block: &BlockBuffer, out: &mut Vec<u8>) {
        self.seal_as(Packing::Lz4, block, out);
    }

    fn seal_as(&self, packing: Packing, block: &BlockBuffer, out: &mut Vec<u8>) {
        let text = &block.text;
        let mut packed = self.packed.borrow_mut();
        let saving = |length: &usize| length + text.len() / 8 <= text.len();
        if text.len() >= MIN_PACKED_TEXT
            && let Some(length) = self.pack(packing, text, &mut packed).filter(saving)
        {
            out.push(packing as u8);
            put_varint(out, text.len() as u64);
            put_varint(out, length as u64);
            out.extend_from_slice(&packed[..length]);
        } else {
            out.push(Packing::None as u8);
            put_varint(out, text.len() as u64);
            out.extend_from_slice(text);
        }
        out.extend_from_slice(&block.fixed);
    }

    /// Compresses a text into the start of `packed`. Returns the compressed length.
    fn pack(&self, packing: Packing, text: &[u8], packed: &mut Vec<u8>) -> Option<usize> {
        match packing {
            Packing::None => None,
            Packing::Zstd => {
                packed.clear();
                packed.reserve(zstd::zstd_safe::compress_bound(text.len()));
                let mut compressor = self.compressor.borrow_mut();
                compressor.compress_to_buffer(text, packed).ok()
            }
            Packing::Lz4 => {
                packed.resize(packed.len().max(get_maximum_output_size(text.len())), 0);
                compress_into_with_table(text, packed, &mut self.table.borrow_mut()).ok()
            }
        }
    }

    /// The text and the fixed part of a sealed block; `None` if it is damaged.
    pub(crate) fn open<'a>(&self, sealed: &'a [u8]) -> Option<(Vec<u8>, &'a [u8])> {
        let mut text = Vec::new();
        let fixed = self.open_into(sealed, &mut text)?;
        Some((text, fixed))
    }

    /// Like [`Packer::open`], with the text in a reused buffer.
    pub(crate) fn open_into<'a>(&self, sealed: &'a [u8], text: &mut Vec<u8>) -> Option<&'a [u8]> {
        let mut reader = Reader::new(sealed);
        let packing = reader.byte()?;
        let length: usize = reader.number()?;
        text.clear();
        match packing {
            0 => text.extend_from_slice(reader.take(length)?),
            1 | 2 if length <= MAX_TEXT => {
                let packed = reader.number()?;
                let packed = reader.take(packed)?;
                let unpacked = if packing == 1 {
                    text.reserve(length);
                    let mut decompressor = self.decompressor.borrow_mut();
                    decompressor.decompress_to_buffer(packed, text).ok()?
                } else {
                    // LZ4 data expands to at most 255 times its length. If the envelope states a larger length, the
                    // block is damaged, and no memory is allocated for it.
                    if length / 255 > packed.len() {
                        return None;
                    }
                    text.resize(length, 0);
                    lz4_flex::block::decompress_into(packed, text).ok()?
                };
                if unpacked != length {
                    return None;
                }
            }
            _ => return None,
        }
        Some(reader.rest())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn numbers_and_strings_are_decoded(a: u64, b: i64, c in ".*", d: u16) {
            let mut out = Vec::new();
            put_varint(&mut out, a);
            put_signed(&mut out, b);
            put_str(&mut out, &c);
            put_varint(&mut out, u64::from(d));
            let mut reader = Reader::new(&out);
            prop_assert_eq!(reader.varint(), Some(a));
            prop_assert_eq!(reader.signed(), Some(b));
            prop_assert_eq!(reader.text(), Some(c.as_str()));
            prop_assert_eq!(reader.number::<u16>(), Some(d));
            prop_assert!(reader.is_empty());
        }

        #[test]
        fn blocks_are_decoded(text in "(/path/[a-z]{1,3}){0,100}", fixed: Vec<u8>) {
            let packer = Packer::new().expect("memory");
            let block = BlockBuffer { text: text.into_bytes(), fixed };
            for sealed in [packer.seal(&block), packer.seal_fast(&block)] {
                let (text, fixed) = packer.open(&sealed).expect("opens");
                prop_assert_eq!(&text, &block.text);
                prop_assert_eq!(fixed, block.fixed.as_slice());
            }
        }

        #[test]
        fn damaged_blocks_do_not_panic(mut bytes: Vec<u8>, packing in 0..3u8) {
            let packer = Packer::new().expect("memory");
            let _ = packer.open(&bytes);
            bytes.insert(0, packing);
            let _ = packer.open(&bytes);
            let mut reader = Reader::new(&bytes);
            let _ = (reader.varint(), reader.text(), reader.word());
        }
    }

    #[test]
    fn a_number_out_of_range_is_damage() {
        assert_eq!(Reader::new(&[0xff; 12]).varint(), None);
        assert_eq!(Reader::new(&[0x80, 0x80, 0x04]).number::<u16>(), None);
    }
}
