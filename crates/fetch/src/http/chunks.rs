//! Chunked transfer coding (RFC 9112, 7.1), parsed in place.
//!
//! The received bytes stay in their buffer, and the reader stores only the byte ranges of the chunks' data. So the data
//! of a single chunk are a slice of the buffer, and the data of several chunks are copied one time, at the end. The
//! ranges of many tiny chunks would take more memory than the data. Therefore, at [`MAX_RANGES`] ranges their data are
//! copied immediately and the ranges are deleted. Chunk extensions and trailers are skipped. A line may end with a line
//! feed alone.

use std::ops::Range;

use bytes::Bytes;

/// Maximum length of a chunk-size line with its extensions, and of a trailer line.
const MAX_LINE: usize = 8 << 10;

/// Maximum number of stored byte ranges.
const MAX_RANGES: usize = 1024;

/// Parses a chunked body as it arrives.
#[derive(Debug, Default)]
pub(crate) struct ChunkReader {
    state: ChunkState,
    /// The offset of the next unread byte.
    position: usize,
    /// Data of the first chunks, if there were more than [`MAX_RANGES`] ranges.
    copied: Vec<u8>,
    /// Byte ranges of the data that are not in `copied`.
    ranges: Vec<Range<usize>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ChunkState {
    #[default]
    Size,
    Data(u64),
    DataEnd,
    Trailer,
}

/// The result of [`ChunkReader::advance`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChunkStep {
    /// More bytes are needed.
    More,
    /// The body ends at this offset.
    Done(usize),
    /// The framing is invalid.
    Broken,
}

impl ChunkReader {
    /// Continues to parse. `body` has all bytes after the head, including those of earlier calls.
    pub(crate) fn advance(&mut self, body: &[u8]) -> ChunkStep {
        loop {
            match self.state {
                ChunkState::Data(left) => {
                    let available = body.len() - self.position;
                    let available = available.min(usize::try_from(left).unwrap_or(usize::MAX));
                    self.extend_data(available);
                    if self.ranges.len() >= MAX_RANGES {
                        self.copy_ranges(body);
                    }
                    let left = left - available as u64;
                    if left > 0 {
                        self.state = ChunkState::Data(left);
                        return ChunkStep::More;
                    }
                    self.state = ChunkState::DataEnd;
                }
                ChunkState::DataEnd => match &body[self.position..] {
                    [b'\r', b'\n', ..] => self.skip(2, ChunkState::Size),
                    [b'\n', ..] => self.skip(1, ChunkState::Size),
                    [] | [b'\r'] => return ChunkStep::More,
                    _ => return ChunkStep::Broken,
                },
                ChunkState::Size | ChunkState::Trailer => {
                    let rest = &body[self.position..];
                    let line_end = memchr::memchr(b'\n', rest);
                    let Some(end) = line_end.filter(|end| *end <= MAX_LINE) else {
                        let not_a_size = self.state == ChunkState::Size && !may_be_size(rest);
                        let broken = not_a_size || rest.len() > MAX_LINE;
                        return if broken {
                            ChunkStep::Broken
                        } else {
                            ChunkStep::More
                        };
                    };
                    let line = rest[..end].trim_ascii();
                    let next = match self.state {
                        ChunkState::Trailer if line.is_empty() => {
                            return ChunkStep::Done(self.position + end + 1);
                        }
                        ChunkState::Trailer => ChunkState::Trailer,
                        _ => match chunk_size(line) {
                            None => return ChunkStep::Broken,
                            Some(0) => ChunkState::Trailer,
                            Some(length) => ChunkState::Data(length),
                        },
                    };
                    self.skip(end + 1, next);
                }
            }
        }
    }

    fn skip(&mut self, bytes: usize, next: ChunkState) {
        self.position += bytes;
        self.state = next;
    }

    /// Adds the next `bytes` bytes of the body to the data.
    fn extend_data(&mut self, bytes: usize) {
        let end = self.position + bytes;
        match self.ranges.last_mut() {
            Some(last) if last.end == self.position => last.end = end,
            _ if bytes > 0 => self.ranges.push(self.position..end),
            _ => {}
        }
        self.position = end;
    }

    /// Whether no chunk was found. In this case the body may not be chunked at all, in spite of its header.
    pub(crate) fn is_at_start(&self) -> bool {
        self.position == 0
    }

    /// Whether the last chunk was read. Then only the blank line after the trailer can be missing, which many servers
    /// omit.
    pub(crate) fn is_past_last_chunk(&self) -> bool {
        self.state == ChunkState::Trailer
    }

    fn copy_ranges(&mut self, body: &[u8]) {
        self.copied
            .reserve(self.ranges.iter().map(ExactSizeIterator::len).sum());
        for range in self.ranges.drain(..) {
            self.copied.extend_from_slice(&body[range]);
        }
    }

    /// Forgets the bytes that were parsed, and returns how many they were. The next call of [`advance`](Self::advance)
    /// gets only the bytes after them. Call this only after the data of the parsed bytes was taken.
    pub(crate) fn rebase(&mut self) -> usize {
        self.ranges.clear();
        std::mem::take(&mut self.position)
    }

    /// A copy of the data of all chunks since the last [`rebase`](Self::rebase). `body` has all bytes since then.
    pub(crate) fn take_payload(&mut self, body: &[u8]) -> Vec<u8> {
        self.copy_ranges(body);
        std::mem::take(&mut self.copied)
    }

    /// The data of all chunks. `body` has all bytes that [`advance`](Self::advance) has parsed.
    pub(crate) fn payload(&mut self, body: &Bytes) -> Bytes {
        match &*self.ranges {
            [one] if self.copied.is_empty() => body.slice(one.clone()),
            _ => {
                self.copy_ranges(body);
                std::mem::take(&mut self.copied).into()
            }
        }
    }
}

/// Whether an incomplete line can be the beginning of a chunk-size line. So a body that is not chunked is detected
/// before its first line ends.
fn may_be_size(start: &[u8]) -> bool {
    start
        .trim_ascii_start()
        .first()
        .is_none_or(u8::is_ascii_hexdigit)
}

/// The hexadecimal size at the start of a chunk line; only an extension may follow.
fn chunk_size(line: &[u8]) -> Option<u64> {
    let digits = line
        .iter()
        .take_while(|byte| byte.is_ascii_hexdigit())
        .count();
    let rest = line[digits..].trim_ascii_start();
    if !(1..=15).contains(&digits) || !(rest.is_empty() || rest.starts_with(b";")) {
        return None;
    }
    u64::from_str_radix(str::from_utf8(&line[..digits]).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads `wire` in pieces of this many bytes.
    fn read(wire: &str, piece: usize) -> (ChunkStep, String) {
        let mut chunks = ChunkReader::default();
        let mut step = ChunkStep::More;
        let mut end = 0;
        while end < wire.len() && step == ChunkStep::More {
            end = (end + piece).min(wire.len());
            step = chunks.advance(&wire.as_bytes()[..end]);
        }
        let body = Bytes::copy_from_slice(wire.as_bytes());
        (
            step,
            String::from_utf8(chunks.payload(&body).to_vec()).expect("the bytes are UTF-8"),
        )
    }

    fn check(wire: &str, step: ChunkStep, payload: &str) {
        for piece in [1, 2, 3, 7, 1000] {
            assert_eq!(
                read(wire, piece),
                (step, payload.to_owned()),
                "{wire:?} in pieces of {piece}"
            );
        }
    }

    #[test]
    fn chunks_are_read_in_pieces_of_any_size() {
        check("0\r\n\r\n", ChunkStep::Done(5), "");
        check("3\r\nabc\r\n0\r\n\r\nmore", ChunkStep::Done(13), "abc");
        check(
            "3;x=\"y\"\r\nabc\r\nA  \r\n0123456789\r\n000\r\nT: u\r\nV: w\r\n\r\n",
            ChunkStep::Done(50),
            "abc0123456789",
        );
        check("3\nabc\n0\n\n", ChunkStep::Done(9), "abc");
        check("3\r\nabc\r\n", ChunkStep::More, "abc");
        check("5\r\nabc", ChunkStep::More, "abc");
    }

    #[test]
    fn data_before_broken_framing_are_kept() {
        check("<html>\n", ChunkStep::Broken, "");
        check("<html>", ChunkStep::Broken, "");
        check("3\r\nabcd\r\n", ChunkStep::Broken, "abc");
        check("3\r\nabc\r\nxyz\r\n", ChunkStep::Broken, "abc");
        check("-3\r\nabc\r\n", ChunkStep::Broken, "");
        check("ffffffffffffffffff\r\nabc\r\n", ChunkStep::Broken, "");
        check("\r\n", ChunkStep::Broken, "");
    }

    #[test]
    fn an_endless_line_is_broken_framing() {
        let long = "x".repeat(MAX_LINE.min(8 << 10) + 1);
        check(&format!("3\r\nabc\r\n5;{long}"), ChunkStep::Broken, "abc");
        check(
            &format!("3\r\nabc\r\n0\r\nT: {long}"),
            ChunkStep::Broken,
            "abc",
        );
    }

    #[test]
    fn a_single_chunk_is_not_copied() {
        let body = Bytes::from_static(b"3\r\nabc\r\n0\r\n\r\n");
        let mut chunks = ChunkReader::default();
        chunks.advance(&body);
        assert_eq!(chunks.payload(&body).as_ptr(), body[3..].as_ptr());
    }
}
