//! Bytes of the blocks: integers of variable length, strings, and the envelope around a block.
//!
//! A block has two parts: `text` (paths, types, small numbers: compresses well) and `fixed` (keys and digests: random
//! bytes that would only slow the compressor down). The envelope:
//!
//! ```text
//! packing: u8       0 = text as it is, 1 = text as one zstd frame
//! text length       varint, before packing
//! packed length     varint, only with packing 1
//! text, fixed       fixed ends with the block
//! ```
//!
//! A varint is LEB128: seven bits a byte, lowest first. Signed numbers are zigzag first. A string is its length and
//! its UTF-8 bytes. Reading never panics: a damaged block gives `None`.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;

use zstd::bulk::{Compressor, Decompressor};

/// Below this the tables of the compressor cost more time than the bytes are worth.
const WORTH_PACKING: usize = 512;
/// A block never grows beyond this; a length above it is damage.
const LARGEST: usize = 1 << 30;
/// Faster than a level that saves 5% more; measured in docs/decisions/0002-frontier-layout.md.
const LEVEL: i32 = 1;

/// The two parts of a block that is being written.
#[derive(Default, Debug)]
pub struct Block {
    /// What compresses.
    pub text: Vec<u8>,
    /// What does not.
    pub fixed: Vec<u8>,
}

impl Block {
    /// Empty again, with its memory.
    pub fn clear(&mut self) {
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
pub fn put_signed(out: &mut Vec<u8>, value: i64) {
    put_varint(out, ((value << 1) ^ (value >> 63)) as u64);
}

/// Append a string.
pub fn put_str(out: &mut Vec<u8>, text: &str) {
    put_varint(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Reads what the functions above wrote, from the front.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// At the first of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes }
    }

    /// What was not read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Whether all was read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// One byte.
    pub fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    /// `count` bytes.
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(head)
    }

    /// An unsigned integer.
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

    /// An unsigned integer that fits `T`.
    pub fn number<T: TryFrom<u64>>(&mut self) -> Option<T> {
        T::try_from(self.varint()?).ok()
    }

    /// A signed integer.
    pub fn signed(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Eight bytes, lowest first.
    pub fn word(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    /// A string.
    pub fn text(&mut self) -> Option<&'a str> {
        let length = self.number()?;
        std::str::from_utf8(self.take(length)?).ok()
    }

    /// A character, written as its number.
    pub fn letter(&mut self) -> Option<char> {
        char::from_u32(self.number()?)
    }
}

/// Seals and opens envelopes; keeps the compressor's memory.
pub struct Packer {
    compressor: RefCell<Compressor<'static>>,
    decompressor: RefCell<Decompressor<'static>>,
    /// Where a frame is made before its length is known.
    frame: RefCell<Vec<u8>>,
}

impl fmt::Debug for Packer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Packer")
    }
}

impl Packer {
    /// Fails only when there is no memory for the compressor.
    pub fn new() -> std::io::Result<Packer> {
        Ok(Packer {
            compressor: RefCell::new(Compressor::new(LEVEL)?),
            decompressor: RefCell::new(Decompressor::new()?),
            frame: RefCell::default(),
        })
    }

    /// The block as it goes to disk: packed when that saves an eighth or more of the text.
    pub fn seal(&self, block: &Block) -> Vec<u8> {
        let mut out = Vec::with_capacity(block.text.len() + block.fixed.len() + 16);
        self.seal_into(block, &mut out);
        out
    }

    /// The same, behind what is in `out` already.
    pub fn seal_into(&self, block: &Block, out: &mut Vec<u8>) {
        if !self.seal_packed(block, out) {
            out.push(0);
            put_varint(out, block.text.len() as u64);
            out.extend_from_slice(&block.text);
        }
        out.extend_from_slice(&block.fixed);
    }

    fn seal_packed(&self, block: &Block, out: &mut Vec<u8>) -> bool {
        if block.text.len() < WORTH_PACKING {
            return false;
        }
        let mut packed = self.frame.borrow_mut();
        packed.clear();
        packed.reserve(zstd::zstd_safe::compress_bound(block.text.len()));
        let mut compressor = self.compressor.borrow_mut();
        if compressor
            .compress_to_buffer(&block.text, &mut *packed)
            .is_err()
        {
            return false;
        }
        if packed.len() + block.text.len() / 8 > block.text.len() {
            return false;
        }
        out.push(1);
        put_varint(out, block.text.len() as u64);
        put_varint(out, packed.len() as u64);
        out.extend_from_slice(&packed);
        true
    }

    /// The two parts of a sealed block; `None` when it is damaged.
    pub fn open<'a>(&self, sealed: &'a [u8]) -> Option<(Cow<'a, [u8]>, &'a [u8])> {
        let mut reader = Reader::new(sealed);
        let packing = reader.byte()?;
        let length: usize = reader.number()?;
        match packing {
            0 => {
                let text = reader.take(length)?;
                Some((Cow::Borrowed(text), reader.rest()))
            }
            1 if length <= LARGEST => {
                let packed_length = reader.number()?;
                let packed = reader.take(packed_length)?;
                let text = self
                    .decompressor
                    .borrow_mut()
                    .decompress(packed, length)
                    .ok()?;
                (text.len() == length).then_some((Cow::Owned(text), reader.rest()))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn numbers_and_strings_come_back(a: u64, b: i64, c in ".*", d: u16) {
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
        fn blocks_come_back(text in "(/path/[a-z]{1,3}){0,100}", fixed: Vec<u8>) {
            let packer = Packer::new().expect("memory");
            let block = Block { text: text.into_bytes(), fixed };
            let sealed = packer.seal(&block);
            let (text, fixed) = packer.open(&sealed).expect("opens");
            prop_assert_eq!(text.as_ref(), block.text.as_slice());
            prop_assert_eq!(fixed, block.fixed.as_slice());
        }

        #[test]
        fn damage_is_no_panic(bytes: Vec<u8>) {
            let packer = Packer::new().expect("memory");
            let _ = packer.open(&bytes);
            let mut reader = Reader::new(&bytes);
            let _ = (reader.varint(), reader.text(), reader.letter(), reader.word());
        }
    }

    #[test]
    fn a_number_too_large_is_damage() {
        assert_eq!(Reader::new(&[0xff; 12]).varint(), None);
        assert_eq!(Reader::new(&[0x80, 0x80, 0x04]).number::<u16>(), None);
    }
}
