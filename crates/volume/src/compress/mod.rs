//! How a record is packed: as a gzip member (WARC 1.1, annex D), which every tool reads, or as a zstd frame (the IIPC's
//! draft "Zstandard Compression for WARC Files 1.0", without a dictionary), which is smaller for the same time.
//!
//! Both are pieces that can be read one by one, and both carry a checksum. Readers tell them apart by their first byte,
//! not by a name: a collection may hold volumes of both kinds.

pub(crate) mod members;
mod short;

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;
use libdeflater::{CompressionLvl, Compressor};
use serde::{Deserialize, Serialize};
use zstd::stream::read::Decoder;

use self::short::ShortDeflater;

/// Buffers that are used again are given up when they have grown beyond this.
pub(crate) const KEEP: usize = 4 << 20;

/// How large a buffer is made that is to hold so many bytes and to be used again: ever larger pages find room in few steps,
/// and none that could be kept is too large for it.
pub(crate) fn roomy(bytes: usize) -> usize {
    bytes.next_power_of_two().min(KEEP.max(bytes))
}

/// The way records are packed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// One gzip member a record: `.warc.gz`.
    #[default]
    Gzip,
    /// One zstd frame a record: `.warc.zst`.
    Zstd,
}

impl Compression {
    pub(crate) const ALL: [Self; 2] = [Self::Gzip, Self::Zstd];

    /// What the names of such files end with.
    pub(crate) fn extension(self) -> &'static str {
        match self {
            Self::Gzip => ".warc.gz",
            Self::Zstd => ".warc.zst",
        }
    }

    /// What every piece begins with.
    pub(crate) fn magic(self) -> &'static [u8] {
        match self {
            Self::Gzip => &[0x1f, 0x8b, 8],
            Self::Zstd => &[0x28, 0xb5, 0x2f, 0xfd],
        }
    }

    fn of(first: u8) -> Self {
        if first == Self::Zstd.magic()[0] {
            Self::Zstd
        } else {
            Self::Gzip
        }
    }
}

/// Packs one record after the other.
pub(crate) struct RecordCompressor {
    method: CompressionMethod,
    /// Used again for every record.
    room: Vec<u8>,
}

enum CompressionMethod {
    /// At the fastest level short texts go their own way.
    Fast(Compressor, Box<ShortDeflater>),
    Gzip(Compressor),
    Zstd(zstd::bulk::Compressor<'static>),
}

impl RecordCompressor {
    /// Levels outside the scale, libdeflate's or zstd's, are taken as its nearest end.
    pub(crate) fn new(compression: Compression, level: i32) -> Self {
        let method = match compression {
            Compression::Gzip => {
                let level = level.clamp(1, 12);
                let gzip = Compressor::new(CompressionLvl::new(level).expect("1 to 12 are levels"));
                if level == 1 {
                    CompressionMethod::Fast(gzip, Box::new(ShortDeflater::new()))
                } else {
                    CompressionMethod::Gzip(gzip)
                }
            }
            Compression::Zstd => {
                let mut compressor = zstd::bulk::Compressor::new(level.clamp(1, 22))
                    .expect("1 to 22 are levels, and there is memory");
                compressor
                    .include_checksum(true)
                    .expect("every compressor can");
                CompressionMethod::Zstd(compressor)
            }
        };
        Self {
            method,
            room: Vec::new(),
        }
    }

    /// Appends the packed piece; its length.
    pub(crate) fn pack(&mut self, plain: &[u8], out: &mut Vec<u8>) -> usize {
        let start = out.len();
        match &mut self.method {
            CompressionMethod::Fast(_, brief) if plain.len() <= short::MOST => {
                brief.pack(plain, out);
            }
            _ => {
                let length = self.pack_long(plain);
                out.extend_from_slice(&self.room[..length]);
                self.release();
            }
        }
        out.len() - start
    }

    /// Whether a text of so many bytes can go before another in one piece without both lying together.
    pub(crate) fn packs_apart(&self, plain: usize) -> bool {
        matches!(self.method, CompressionMethod::Fast(..)) && plain <= short::MOST
    }

    /// Appends the piece that holds both texts, where [`RecordCompressor::packs_apart`]; its length.
    pub(crate) fn pack_apart(&mut self, plain: &[u8], rest: &[u8], out: &mut Vec<u8>) -> usize {
        let start = out.len();
        if let CompressionMethod::Fast(gzip, _) = &mut self.method {
            let bound = gzip.deflate_compress_bound(rest.len());
            self.make_room(bound);
        }
        if let CompressionMethod::Fast(gzip, brief) = &mut self.method {
            brief.pack_before(plain, rest, gzip, &mut self.room, out);
            self.release();
        }
        out.len() - start
    }

    fn make_room(&mut self, bound: usize) {
        if self.room.len() < bound {
            self.room = vec![0; roomy(bound)]; // nothing in it is worth copying
        }
    }

    /// Packs into the room; the length of the piece.
    fn pack_long(&mut self, plain: &[u8]) -> usize {
        let bound = match &mut self.method {
            CompressionMethod::Fast(gzip, _) | CompressionMethod::Gzip(gzip) => {
                gzip.gzip_compress_bound(plain.len())
            }
            CompressionMethod::Zstd(_) => zstd::zstd_safe::compress_bound(plain.len()),
        };
        self.make_room(bound);
        let room = &mut self.room[..];
        let enough = "the buffer has the size that the compressor asked for";
        match &mut self.method {
            CompressionMethod::Fast(gzip, _) | CompressionMethod::Gzip(gzip) => {
                gzip.gzip_compress(plain, room).expect(enough)
            }
            CompressionMethod::Zstd(zstd) => zstd.compress_to_buffer(plain, room).expect(enough),
        }
    }

    /// One huge record must not hold its memory for ever.
    fn release(&mut self) {
        if self.room.len() > KEEP {
            self.room = Vec::new();
        }
    }
}

/// Appends what the next piece holds. Consumes exactly the piece; a torn or damaged one is an error.
pub(crate) fn unpack(source: &mut impl BufRead, plain: &mut Vec<u8>) -> io::Result<()> {
    let first = source.fill_buf()?.first().copied().unwrap_or_default();
    match Compression::of(first) {
        Compression::Gzip => GzDecoder::new(source).read_to_end(plain)?,
        Compression::Zstd => decoder(source)?.read_to_end(plain)?,
    };
    Ok(())
}

/// What the beginning of a piece holds, at most so many bytes, as far as it can be unpacked.
pub(crate) fn beginning(packed: &[u8], most: u64) -> Vec<u8> {
    let mut plain = Vec::new();
    let first = packed.first().copied().unwrap_or_default();
    // The end may be cut off on purpose, so an error is no surprise: what was unpacked counts.
    let _ = match Compression::of(first) {
        Compression::Gzip => GzDecoder::new(packed).take(most).read_to_end(&mut plain),
        Compression::Zstd => {
            decoder(packed).and_then(|decoder| decoder.take(most).read_to_end(&mut plain))
        }
    };
    plain
}

fn decoder<'a, R: BufRead>(source: R) -> io::Result<Decoder<'a, R>> {
    let mut decoder = Decoder::with_buffer(source)?.single_frame();
    // A frame's window is as large as its record.
    decoder.window_log_max(31)?;
    Ok(decoder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(compression: Compression, level: i32, plain: &[u8]) -> Vec<u8> {
        let mut piece = Vec::new();
        let length = RecordCompressor::new(compression, level).pack(plain, &mut piece);
        assert_eq!(length, piece.len());
        piece
    }

    #[test]
    fn pieces_of_both_kinds_follow_each_other() {
        let text: Vec<u8> = (0..50_000u32)
            .flat_map(|n| (n / 7).to_string().into_bytes())
            .collect();
        for level in [-5, 1, 6, 99] {
            let mut file = packed(Compression::Zstd, level, &text);
            file.extend(packed(Compression::Gzip, level, b"second"));
            file.extend(packed(Compression::Zstd, level, b""));
            let mut source = file.as_slice();
            for expected in [text.as_slice(), b"second", b""] {
                let mut plain = Vec::new();
                unpack(&mut source, &mut plain).unwrap();
                assert_eq!(plain, expected);
            }
            assert!(source.is_empty());
        }
    }

    #[test]
    fn a_huge_record_does_not_hold_its_memory() {
        for compression in Compression::ALL {
            let mut packer = RecordCompressor::new(compression, 1);
            for (length, kept) in [
                (5_000, 8 << 10),
                (70_000, 128 << 10),
                (5_000, 128 << 10),
                (KEEP - (1 << 16), KEEP),
                (100_000, KEEP),
                (KEEP + 1, 0),
                (5_000, 8 << 10),
            ] {
                packer.pack(&vec![b'a'; length], &mut Vec::new());
                assert_eq!(packer.room.len(), kept, "after {length}");
            }
        }
        let mut packer = RecordCompressor::new(Compression::Gzip, 1);
        assert!(packer.packs_apart(short::MOST) && !packer.packs_apart(short::MOST + 1));
        for (length, kept) in [(70_000, 128 << 10), (KEEP + 1, 0)] {
            packer.pack_apart(b"WARC/1.1", &vec![b'a'; length], &mut Vec::new());
            assert_eq!(packer.room.len(), kept, "after {length}");
        }
    }

    #[test]
    fn a_torn_or_changed_piece_is_an_error() {
        for compression in Compression::ALL {
            let whole = packed(compression, 3, b"as dez aranhas tecem as dez teias");
            assert!(whole.starts_with(compression.magic()));
            for length in 1..whole.len() {
                let torn = &mut &whole[..length];
                assert!(unpack(torn, &mut Vec::new()).is_err(), "{length}");
            }
            let mut changed = whole.clone();
            let middle = changed.len() / 2;
            changed[middle] ^= 1;
            assert!(unpack(&mut changed.as_slice(), &mut Vec::new()).is_err());
        }
    }

    #[test]
    fn the_beginning_needs_no_end() {
        for compression in Compression::ALL {
            let whole = packed(compression, 1, "teia ".repeat(100_000).as_bytes());
            assert_eq!(beginning(&whole, 12), b"teia teia te");
            assert!(beginning(b"", 12).is_empty());
        }
    }
}
