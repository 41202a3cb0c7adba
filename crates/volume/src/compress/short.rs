//! Packs short texts as gzip members (RFC 1951, 1952): the request and metadata records that go with every page.
//!
//! A library made for long texts clears a table of 128 kB and builds two Huffman codes for each of them, which takes a quarter
//! as long as packing the page itself (docs/decisions/0009-where-the-processor-goes.md). Here the table has two kilobytes and the
//! code is the format's fixed one, at the price of some bytes. What comes out is gzip like any other.
//!
//! The header of a large response is packed in the same way, as a block of its own in the member: so the response itself need
//! not be copied behind it first.

use libdeflater::Compressor;

/// Texts up to this many bytes are brief. Positions must fit the table.
pub(crate) const MOST: usize = 2048;

/// Bytes that they take at most, with the room that is written ahead: nine bits for every byte.
const ROOM: usize = MOST / 8 * 9 + 16;
/// Bits of an index into the match table.
const BITS: u32 = 10;
/// Shortest repetition that is looked for.
const SHORTEST: usize = 4;
/// Longest repetition that the format has a code for.
const LONGEST: usize = 258;
/// Magic, deflate, no flags, no time, fastest, system unknown.
const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255];
/// A code word as it goes to the bits, and its length.
type Codeword = (u32, u32);

/// The fixed code of RFC 1951, 3.2.6, turned around: Huffman codes go highest bit first, all else lowest first.
const CODE: [Codeword; 288] = {
    let mut code = [(0, 0); 288];
    let mut symbol = 0;
    while symbol < 288 {
        let (word, length) = match symbol {
            0..144 => (0x30 + symbol, 8),
            144..256 => (0x190 + symbol - 144, 9),
            256..280 => (symbol - 256, 7),
            _ => (0xc0 + symbol - 280, 8),
        };
        code[symbol as usize] = ((word as u32).reverse_bits() >> (32 - length), length);
        symbol += 1;
    }
    code
};

/// For every length of a repetition its code word with the bits behind it (3.2.5).
const LENGTHS: [Codeword; LONGEST + 1] = {
    let mut lengths = [(0, 0); LONGEST + 1];
    let mut length = 3;
    while length <= LONGEST {
        let above = (length - 3) as u32;
        let (symbol, extra) = match above {
            0..8 => (257 + above, 0),
            255 => (285, 0),
            _ => {
                let extra = above.ilog2() - 2;
                (261 + 4 * extra + (above >> extra & 3), extra)
            }
        };
        let (word, bits) = CODE[symbol as usize];
        let rest = above & ((1 << extra) - 1);
        lengths[length] = (word | rest << bits, bits + extra);
        length += 1;
    }
    lengths
};

/// Packs one brief text after the other, in the same memory, of which only the table is cleared in between.
pub(crate) struct ShortDeflater {
    text: ShortText,
    out: [u8; ROOM],
}

impl ShortDeflater {
    pub(crate) fn new() -> Self {
        Self {
            text: ShortText {
                bytes: [0; MOST + 8],
                end: 0,
                places: [0; 1 << BITS],
            },
            out: [0; ROOM],
        }
    }

    /// Appends the member that holds the text. The text must be brief.
    pub(crate) fn pack(&mut self, plain: &[u8], packed: &mut Vec<u8>) {
        packed.extend_from_slice(&HEAD);
        self.block(plain, true, packed);
        let mut checksum = libdeflater::Crc::new();
        checksum.update(plain);
        end(&checksum, plain.len(), packed);
    }

    /// Appends the member that holds a brief text and then another, of any length, that the compressor packs where it lies, by
    /// way of `room`, which has as many bytes as it asks for.
    pub(crate) fn pack_before(
        &mut self,
        plain: &[u8],
        rest: &[u8],
        compressor: &mut Compressor,
        room: &mut [u8],
        packed: &mut Vec<u8>,
    ) {
        packed.extend_from_slice(&HEAD);
        self.block(plain, false, packed);
        let length = compressor
            .deflate_compress(rest, room)
            .expect("the room is as large as the compressor asked for");
        packed.extend_from_slice(&room[..length]);
        let mut checksum = libdeflater::Crc::new();
        checksum.update(plain);
        checksum.update(rest);
        end(&checksum, plain.len() + rest.len(), packed);
    }

    /// Appends the text as one block in the fixed code. If it is not the last, an empty block behind it fills its last byte:
    /// others follow in whole bytes.
    fn block(&mut self, plain: &[u8], is_last: bool, packed: &mut Vec<u8>) {
        self.text.set(plain);
        let mut bits = BitWriter::new(&mut self.out);
        bits.put(0b010 | u64::from(is_last), 3);
        deflate(&mut self.text, &mut bits);
        bits.put_word(CODE[256]);
        if !is_last {
            bits.put(0b000, 3);
        }
        packed.extend_from_slice(bits.finish());
        if !is_last {
            packed.extend_from_slice(&[0, 0, 0xff, 0xff]); // its length, and that turned around
        }
    }
}

/// What ends a member.
fn end(checksum: &libdeflater::Crc, length: usize, packed: &mut Vec<u8>) {
    packed.extend_from_slice(&checksum.sum().to_le_bytes());
    packed.extend_from_slice(&(length as u32).to_le_bytes());
}

/// Takes the first repetition that the table knows, and every byte as it is otherwise.
fn deflate(text: &mut ShortText, bits: &mut BitWriter<'_>) {
    let mut written = 0;
    loop {
        let found = text.repetition(written);
        bits.put_bytes(text, written, found.map_or(text.end, |found| found.at));
        let Some(Repetition { at, before, length }) = found else {
            return;
        };
        let (word, bits_of_length) = LENGTHS[length];
        let (back, bits_of_distance) = distance((at - before) as u32);
        let both = word | back << bits_of_length;
        bits.put_word((both, bits_of_length + bits_of_distance));
        written = at + length;
    }
}

/// A text and where things are in it.
struct ShortText {
    /// With room to read eight bytes anywhere. Behind the end are texts that were here before.
    bytes: [u8; MOST + 8],
    end: usize,
    /// Where four bytes were last seen, by their hash. Those that were seen nowhere lead to the beginning, and differ from it.
    places: [u16; 1 << BITS],
}

/// Bytes that are the same as others before them.
#[derive(Clone, Copy)]
struct Repetition {
    at: usize,
    before: usize,
    length: usize,
}

impl ShortText {
    fn set(&mut self, plain: &[u8]) {
        self.bytes[..plain.len()].copy_from_slice(plain);
        self.end = plain.len();
        self.places.fill(0);
    }

    /// The eight bytes at a place, the first in the lowest. Places are below [`MOST`]: said so, no bounds are checked.
    fn eight(&self, at: usize) -> u64 {
        let eight = self.bytes[at % MOST..].first_chunk();
        u64::from_le_bytes(*eight.expect("eight bytes more than there are places"))
    }

    /// The next repetition from here on. Of eight bytes read at once five places are looked at; those that reach beyond the end
    /// repeat nothing, whatever is there.
    fn repetition(&mut self, from: usize) -> Option<Repetition> {
        const FOURS: usize = 8 - SHORTEST + 1;
        let mut start = from.max(1); // nothing is before the beginning
        while start + SHORTEST <= self.end {
            let window = self.eight(start);
            for step in 0..FOURS {
                let (at, four) = (start + step, (window >> (8 * step)) as u32);
                let place = &mut self.places[slot(four)];
                let before = usize::from(std::mem::replace(place, at as u16));
                if self.eight(before) as u32 == four {
                    let length = self.common(before, at);
                    if length >= SHORTEST {
                        return Some(Repetition { at, before, length });
                    }
                }
            }
            start += FOURS;
        }
        None
    }

    /// How many bytes are the same from these places on, and no more than the format has a code for.
    fn common(&self, before: usize, at: usize) -> usize {
        let most = LONGEST.min(self.end.saturating_sub(at));
        let mut same = 0;
        while same < most {
            let differing = self.eight(before + same) ^ self.eight(at + same);
            if differing != 0 {
                return most.min(same + differing.trailing_zeros() as usize / 8);
            }
            same += 8;
        }
        most
    }
}

fn slot(four: u32) -> usize {
    (four.wrapping_mul(0x9e37_79b1) >> (32 - BITS)) as usize
}

/// The code word of a distance with the bits behind it: five bits, and one more for every doubling from 4 on.
fn distance(back: u32) -> Codeword {
    let above = back - 1;
    let (symbol, extra) = if above < 4 {
        (above, 0)
    } else {
        let extra = above.ilog2() - 1;
        (2 * extra + (above >> extra), extra)
    };
    let rest = above & ((1 << extra) - 1);
    (symbol.reverse_bits() >> 27 | rest << 5, 5 + extra)
}

/// Writes bits, lowest first. It borrows the output so that its own counters stay in registers.
struct BitWriter<'out> {
    out: &'out mut [u8; ROOM],
    length: usize,
    held: u64,
    /// Bits not yet written: fewer than eight between two calls.
    count: u32,
}

impl<'out> BitWriter<'out> {
    fn new(out: &'out mut [u8; ROOM]) -> Self {
        Self {
            out,
            length: 0,
            held: 0,
            count: 0,
        }
    }

    /// At most 56 bits. Eight bytes are written each time, of which those count that are full.
    #[inline]
    fn put(&mut self, word: u64, length: u32) {
        self.held |= word << self.count;
        self.count += length;
        let place = self.out[self.length..].first_chunk_mut();
        *place.expect("nine bits for every byte, and more") = self.held.to_le_bytes();
        let full = self.count / 8;
        self.length += full as usize;
        self.held >>= 8 * full;
        self.count %= 8;
    }

    #[inline]
    fn put_word(&mut self, (word, length): Codeword) {
        self.put(u64::from(word), length);
    }

    /// Bytes as they are, seven by seven.
    #[inline]
    fn put_bytes(&mut self, text: &ShortText, mut from: usize, to: usize) {
        while to - from >= 7 {
            self.put_together(text.eight(from), 7);
            from += 7;
        }
        if from < to {
            self.put_together(text.eight(from), to - from);
        }
    }

    /// The first so many of these bytes, seven at most. The code of an ASCII character is itself and 0x30, in eight bits.
    #[inline]
    fn put_together(&mut self, bytes: u64, count: usize) {
        let mask = (1 << (8 * count)) - 1;
        let bytes = bytes & mask;
        if bytes & 0x8080_8080_8080_8080 == 0 {
            let words = bytes + (0x3030_3030_3030_3030 & mask);
            self.put(words.reverse_bits().swap_bytes(), 8 * count as u32);
        } else {
            for byte in &bytes.to_le_bytes()[..count] {
                self.put_word(CODE[usize::from(*byte)]);
            }
        }
    }

    fn finish(&self) -> &[u8] {
        &self.out[..self.length + usize::from(self.count > 0)]
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::io::Read as _;

    use flate2::bufread::GzDecoder;
    use proptest::prelude::*;

    use super::*;

    thread_local! {
        /// One for all texts of a test: what is left of those before must not show.
        static BRIEF: RefCell<ShortDeflater> = RefCell::new(ShortDeflater::new());
    }

    #[track_caller]
    fn check(plain: &[u8]) -> usize {
        let mut packed = b"before".to_vec();
        BRIEF.with_borrow_mut(|brief| brief.pack(plain, &mut packed));
        let (before, member) = packed.split_at(6);
        assert_eq!(before, b"before");
        let mut back = Vec::new();
        GzDecoder::new(member).read_to_end(&mut back).unwrap();
        assert_eq!(back, plain);
        member.len()
    }

    #[test]
    fn every_byte_and_every_length_and_distance() {
        check(b"");
        check(&(0..=255).collect::<Vec<u8>>());
        for length in 0..=2 * LONGEST {
            check(&vec![b'a'; length]);
        }
        // Eight bytes, then others that repeat nothing, then the eight bytes again.
        for distance in 8..MOST - 8 {
            let between = (0..distance as u32 - 8)
                .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8 | 0x80);
            let text: Vec<u8> = b"teia:ara".iter().copied().chain(between).collect();
            let text = [&text[..], b"teia:ara"].concat();
            check(&text);
        }
    }

    #[test]
    fn a_brief_text_goes_before_one_of_any_length() {
        let mut compressor = Compressor::new(libdeflater::CompressionLvl::fastest());
        // Short texts that end at every bit of a byte.
        for brief in 0..40 {
            for length in [0, 1, 4, 300, 70_000, 700_000] {
                let plain = b"WARC/1.1 \xe9".repeat(brief);
                let rest: Vec<u8> = (0..length).map(|n: u64| ((n * n) >> 9) as u8).collect();
                let mut room = vec![0; compressor.deflate_compress_bound(rest.len())];
                let mut packed = Vec::new();
                BRIEF.with_borrow_mut(|brief| {
                    brief.pack_before(&plain, &rest, &mut compressor, &mut room, &mut packed);
                });
                let mut back = Vec::new();
                GzDecoder::new(&packed[..]).read_to_end(&mut back).unwrap();
                assert_eq!(back, [plain, rest].concat());
            }
        }
    }

    #[test]
    fn a_record_becomes_smaller() {
        let record = b"WARC/1.1\r\nWARC-Type: request\r\n\
            WARC-Record-ID: <urn:uuid:c3e4149f-d61e-47f1-a63e-1847592e2338>\r\n\
            WARC-Date: 2026-11-16T06:28:05.647Z\r\n\
            WARC-Target-URI: http://www.example.org/reference/index.html\r\n\
            WARC-Concurrent-To: <urn:uuid:9fda5d60-b164-4e20-8419-3039b21f3748>\r\n\
            WARC-IP-Address: 192.0.2.1\r\n\
            WARC-Block-Digest: sha1:7YCBFE76ZUORDLSV3F4SVYNPPKODQYLO\r\n\
            Content-Type: application/http;msgtype=request\r\nContent-Length: 171\r\n\r\n\
            GET /reference/index.html HTTP/1.1\r\nHost: www.example.org\r\nUser-Agent: aranha/0.1.0\r\n\
            Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\nAccept-Encoding: gzip, br, zstd\r\n\r\n\r\n\r\n";
        let packed = check(record);
        assert!(
            packed * 100 < record.len() * 85,
            "{packed} of {}",
            record.len()
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn what_goes_in_comes_out(pieces in proptest::collection::vec("[a-c]{1,6}|.{0,9}", 0..60)) {
            let text = pieces.concat();
            let text = &text.as_bytes()[..text.len().min(MOST)];
            check(text);
        }
    }
}
