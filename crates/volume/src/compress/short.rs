//! A deflate compressor for short records (RFC 1951, RFC 1952): the request and metadata records of every page.
//!
//! libdeflate is made for long inputs. For each record it clears a table of 128 kB and builds two Huffman codes. This
//! compressor has a table of 2 kB and uses the fixed Huffman code. It compresses the short records of a page in 6 µs,
//! libdeflate in 19 µs (docs/decisions/0009-where-the-processor-goes.md). Its output is ordinary gzip, 60 to 75 bytes
//! longer per record.
//!
//! For a large response, this compressor writes the WARC header as the first block of the member, and libdeflate writes
//! the response as the following blocks. So the header and the response need not be copied into one buffer.

use libdeflater::Compressor;

/// Maximum length of an input. Positions must fit into the 16 bits of a table entry.
pub(crate) const MAX_SHORT: usize = 2048;

/// Size of the output buffer in bytes. An input byte takes at most nine bits. The extra 16 bytes are for the end of the
/// stream and for bits that are written eight bytes at a time.
const OUTPUT_SIZE: usize = MAX_SHORT / 8 * 9 + 16;
/// Number of bits of an index into the match table.
const HASH_BITS: u32 = 10;
/// Length of the shortest match that is searched for.
const MIN_MATCH: usize = 4;
/// Length of the longest match that deflate can encode.
const MAX_MATCH: usize = 258;
/// Gzip header: magic, deflate, no flags, no time, fastest, unknown system.
const GZIP_HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255];
/// The bits of a code word in the order in which they are written, the first bit lowest, and the number of these bits.
type Codeword = (u32, u32);

/// The fixed literal and length codes (RFC 1951, 3.2.6). Their bits are reversed, because deflate writes the highest
/// bit of a Huffman code first, and the lowest bit of everything else first.
const SYMBOL_CODES: [Codeword; 288] = {
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

/// The code word of every match length, followed by the extra bits (RFC 1951, 3.2.5).
const LENGTH_CODES: [Codeword; MAX_MATCH + 1] = {
    let mut lengths = [(0, 0); MAX_MATCH + 1];
    let mut length = 3;
    while length <= MAX_MATCH {
        let above = (length - 3) as u32;
        let (symbol, extra) = match above {
            0..8 => (257 + above, 0),
            255 => (285, 0),
            _ => {
                let extra = above.ilog2() - 2;
                (261 + 4 * extra + (above >> extra & 3), extra)
            }
        };
        let (word, bits) = SYMBOL_CODES[symbol as usize];
        let rest = above & ((1 << extra) - 1);
        lengths[length] = (word | rest << bits, bits + extra);
        length += 1;
    }
    lengths
};

/// Compresses short inputs one after the other and reuses its memory. Between two inputs only the match table is
/// cleared.
pub(crate) struct ShortDeflater {
    input: ShortInput,
    out: [u8; OUTPUT_SIZE],
}

impl ShortDeflater {
    pub(crate) fn new() -> Self {
        Self {
            input: ShortInput {
                bytes: [0; MAX_SHORT + 8],
                length: 0,
                last_seen: [0; 1 << HASH_BITS],
            },
            out: [0; OUTPUT_SIZE],
        }
    }

    /// Appends the input as a gzip member. The input must have at most [`MAX_SHORT`] bytes.
    pub(crate) fn compress(&mut self, input: &[u8], packed: &mut Vec<u8>) {
        packed.extend_from_slice(&GZIP_HEADER);
        self.put_block(input, true, packed);
        let mut checksum = libdeflater::Crc::new();
        checksum.update(input);
        put_trailer(&checksum, input.len(), packed);
    }

    /// Appends one gzip member with the content of `first`, followed by that of `rest`. `self` compresses `first`,
    /// which has at most [`MAX_SHORT`] bytes. `compressor` compresses `rest`, which may have any length. `buffer` must
    /// have the size that `compressor` requires for `rest`.
    pub(crate) fn compress_split(
        &mut self,
        first: &[u8],
        rest: &[u8],
        compressor: &mut Compressor,
        buffer: &mut [u8],
        packed: &mut Vec<u8>,
    ) {
        packed.extend_from_slice(&GZIP_HEADER);
        self.put_block(first, false, packed);
        let length = compressor
            .deflate_compress(rest, buffer)
            .expect("the buffer has the size that the compressor requires");
        packed.extend_from_slice(&buffer[..length]);
        let mut checksum = libdeflater::Crc::new();
        checksum.update(first);
        checksum.update(rest);
        put_trailer(&checksum, first.len() + rest.len(), packed);
    }

    /// Appends the input as one deflate block with the fixed code. Unless it is the last block, an empty stored block
    /// follows, which ends at a byte boundary.
    fn put_block(&mut self, input: &[u8], is_last: bool, packed: &mut Vec<u8>) {
        self.input.set(input);
        let mut bits = BitWriter::new(&mut self.out);
        bits.put(0b010 | u64::from(is_last), 3);
        deflate(&mut self.input, &mut bits);
        bits.put_word(SYMBOL_CODES[256]);
        if !is_last {
            bits.put(0b000, 3);
        }
        packed.extend_from_slice(bits.finish());
        if !is_last {
            packed.extend_from_slice(&[0, 0, 0xff, 0xff]); // length 0 and its complement
        }
    }
}

/// Appends the trailer of a gzip member.
fn put_trailer(checksum: &libdeflater::Crc, length: usize, packed: &mut Vec<u8>) {
    packed.extend_from_slice(&checksum.sum().to_le_bytes());
    packed.extend_from_slice(&(length as u32).to_le_bytes());
}

/// Greedy LZ77: encodes each match that is found, and the bytes between matches as literals.
fn deflate(input: &mut ShortInput, bits: &mut BitWriter<'_>) {
    let mut written = 0;
    loop {
        let found = input.next_match(written);
        bits.put_literals(input, written, found.map_or(input.length, |found| found.at));
        let Some(Match {
            at,
            earlier,
            length,
        }) = found
        else {
            return;
        };
        let (word, length_bits) = LENGTH_CODES[length];
        let (distance, distance_bits) = distance_code((at - earlier) as u32);
        let both = word | distance << length_bits;
        bits.put_word((both, length_bits + distance_bits));
        written = at + length;
    }
}

/// The input, and the table in which matches are found.
struct ShortInput {
    /// The input, followed by bytes of earlier inputs. The array is eight bytes longer than the longest input, so that
    /// eight bytes can be read at every position.
    bytes: [u8; MAX_SHORT + 8],
    length: usize,
    /// For each hash of four bytes, the last position of four bytes with that hash; 0 if there was none. The bytes at
    /// the position are always compared, so a hash collision does not give a match.
    last_seen: [u16; 1 << HASH_BITS],
}

/// A match: `length` bytes at `at` that are equal to the bytes at `earlier`.
#[derive(Clone, Copy)]
struct Match {
    at: usize,
    earlier: usize,
    length: usize,
}

impl ShortInput {
    fn set(&mut self, input: &[u8]) {
        self.bytes[..input.len()].copy_from_slice(input);
        self.length = input.len();
        self.last_seen.fill(0);
    }

    /// The eight bytes at a position, little endian. Positions are below [`MAX_SHORT`], so `% MAX_SHORT` does not
    /// change them. It is there to let the compiler remove the bounds check.
    fn eight_bytes(&self, at: usize) -> u64 {
        let eight = self.bytes[at % MAX_SHORT..].first_chunk();
        u64::from_le_bytes(*eight.expect("the array is eight bytes longer than the input"))
    }

    /// The next match at or after `from`. One read of eight bytes gives the groups of four bytes at five positions. A
    /// group that extends beyond the end of the input gives no match, because [`ShortInput::match_length`] stops at the
    /// end.
    fn next_match(&mut self, from: usize) -> Option<Match> {
        const POSITIONS: usize = 8 - MIN_MATCH + 1;
        let mut start = from.max(1); // position 0 has no earlier bytes to match
        while start + MIN_MATCH <= self.length {
            let window = self.eight_bytes(start);
            for step in 0..POSITIONS {
                let (at, four) = (start + step, (window >> (8 * step)) as u32);
                let last_seen = &mut self.last_seen[hash(four)];
                let earlier = usize::from(std::mem::replace(last_seen, at as u16));
                if self.eight_bytes(earlier) as u32 == four {
                    let length = self.match_length(earlier, at);
                    if length >= MIN_MATCH {
                        return Some(Match {
                            at,
                            earlier,
                            length,
                        });
                    }
                }
            }
            start += POSITIONS;
        }
        None
    }

    /// Number of equal bytes at these positions, at most [`MAX_MATCH`].
    fn match_length(&self, earlier: usize, at: usize) -> usize {
        let limit = MAX_MATCH.min(self.length.saturating_sub(at));
        let mut equal = 0;
        while equal < limit {
            let difference = self.eight_bytes(earlier + equal) ^ self.eight_bytes(at + equal);
            if difference != 0 {
                return limit.min(equal + difference.trailing_zeros() as usize / 8);
            }
            equal += 8;
        }
        limit
    }
}

/// Index of four bytes in the match table.
fn hash(four: u32) -> usize {
    (four.wrapping_mul(0x9e37_79b1) >> (32 - HASH_BITS)) as usize
}

/// The code word of a distance, followed by the extra bits (RFC 1951, 3.2.5).
fn distance_code(distance: u32) -> Codeword {
    let above = distance - 1;
    let (symbol, extra) = if above < 4 {
        (above, 0)
    } else {
        let extra = above.ilog2() - 1;
        (2 * extra + (above >> extra), extra)
    };
    let rest = above & ((1 << extra) - 1);
    (symbol.reverse_bits() >> 27 | rest << 5, 5 + extra)
}

/// Writes bits, lowest first. It borrows the output buffer instead of owning it, so that the compiler keeps the
/// counters in registers.
struct BitWriter<'out> {
    out: &'out mut [u8; OUTPUT_SIZE],
    /// Number of complete bytes written.
    length: usize,
    /// Bits that do not fill a byte yet.
    pending: u64,
    /// Number of pending bits; fewer than eight between two calls.
    count: u32,
}

impl<'out> BitWriter<'out> {
    fn new(out: &'out mut [u8; OUTPUT_SIZE]) -> Self {
        Self {
            out,
            length: 0,
            pending: 0,
            count: 0,
        }
    }

    /// Appends at most 56 bits. Each call stores eight bytes, but `length` advances only by the number of complete
    /// bytes.
    #[inline]
    fn put(&mut self, word: u64, length: u32) {
        self.pending |= word << self.count;
        self.count += length;
        let target = self.out[self.length..].first_chunk_mut();
        *target.expect("the output has nine bits per byte and eight bytes more") =
            self.pending.to_le_bytes();
        let complete = self.count / 8;
        self.length += complete as usize;
        self.pending >>= 8 * complete;
        self.count %= 8;
    }

    #[inline]
    fn put_word(&mut self, (word, length): Codeword) {
        self.put(u64::from(word), length);
    }

    /// Appends the bytes `from..to` as literals, seven at a time.
    #[inline]
    fn put_literals(&mut self, input: &ShortInput, mut from: usize, to: usize) {
        while to - from >= 7 {
            self.put_up_to_seven(input.eight_bytes(from), 7);
            from += 7;
        }
        if from < to {
            self.put_up_to_seven(input.eight_bytes(from), to - from);
        }
    }

    /// Appends the lowest `count` bytes, at most seven, as literals. The code of an ASCII character is its value plus
    /// 0x30, in eight bits.
    #[inline]
    fn put_up_to_seven(&mut self, bytes: u64, count: usize) {
        let mask = (1 << (8 * count)) - 1;
        let bytes = bytes & mask;
        if bytes & 0x8080_8080_8080_8080 == 0 {
            let words = bytes + (0x3030_3030_3030_3030 & mask);
            self.put(words.reverse_bits().swap_bytes(), 8 * count as u32);
        } else {
            for byte in &bytes.to_le_bytes()[..count] {
                self.put_word(SYMBOL_CODES[usize::from(*byte)]);
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
        /// All inputs of a test share one deflater. Bytes of earlier inputs stay in its buffer, and must have no
        /// effect.
        static DEFLATER: RefCell<ShortDeflater> = RefCell::new(ShortDeflater::new());
    }

    #[track_caller]
    fn check(input: &[u8]) -> usize {
        let mut packed = b"before".to_vec();
        DEFLATER.with_borrow_mut(|deflater| deflater.compress(input, &mut packed));
        let (before, member) = packed.split_at(6);
        assert_eq!(before, b"before");
        let mut content = Vec::new();
        GzDecoder::new(member).read_to_end(&mut content).unwrap();
        assert_eq!(content, input);
        member.len()
    }

    #[test]
    fn every_byte_match_length_and_distance_is_restored() {
        check(b"");
        check(&(0..=255).collect::<Vec<u8>>());
        for length in 0..=2 * MAX_MATCH {
            check(&vec![b'a'; length]);
        }
        // Eight bytes, then bytes without a match, then the eight bytes again.
        for distance in 8..MAX_SHORT - 8 {
            let between = (0..distance as u32 - 8)
                .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8 | 0x80);
            let text: Vec<u8> = b"teia:ara".iter().copied().chain(between).collect();
            let text = [&text[..], b"teia:ara"].concat();
            check(&text);
        }
    }

    #[test]
    fn a_short_part_is_followed_by_a_part_of_any_length() {
        let mut compressor = Compressor::new(libdeflater::CompressionLvl::fastest());
        // There are enough repeats for the compressed first part to end at every bit position of a byte.
        for repeats in 0..40 {
            for length in [0, 1, 4, 300, 70_000, 700_000] {
                let first = b"WARC/1.1 \xe9".repeat(repeats);
                let rest: Vec<u8> = (0..length).map(|n: u64| ((n * n) >> 9) as u8).collect();
                let mut buffer = vec![0; compressor.deflate_compress_bound(rest.len())];
                let mut packed = Vec::new();
                DEFLATER.with_borrow_mut(|deflater| {
                    deflater.compress_split(
                        &first,
                        &rest,
                        &mut compressor,
                        &mut buffer,
                        &mut packed,
                    );
                });
                let mut content = Vec::new();
                GzDecoder::new(&packed[..])
                    .read_to_end(&mut content)
                    .unwrap();
                assert_eq!(content, [first, rest].concat());
            }
        }
    }

    #[test]
    fn a_request_record_shrinks_by_at_least_15_percent() {
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
        fn every_input_is_restored(pieces in proptest::collection::vec("[a-c]{1,6}|.{0,9}", 0..60)) {
            let text = pieces.concat();
            let text = &text.as_bytes()[..text.len().min(MAX_SHORT)];
            check(text);
        }
    }
}
