//! Chunked transfer coding (RFC 9112, 7.1), read in place.
//!
//! The body's wire bytes stay where they are; this remembers only where the chunks' data lie, so that a body of one
//! chunk is a slice and one of many is copied once. Where the chunks are tiny and many, their data are gathered on the
//! way: a body of single bytes costs no more memory than any other. Extensions and trailers are skipped; a bare line feed ends a line.

use std::ops::Range;

use bytes::Bytes;

/// Longest line of a chunk's size with its extensions, and of a trailer field.
const LONGEST_LINE: usize = 8 << 10;

/// Places remembered before what they hold is gathered.
const MOST_PLACES: usize = 1024;

/// How far the reading of a chunked body has come.
#[derive(Debug, Default)]
pub(crate) struct ChunkReader {
    state: ChunkState,
    /// Everything before is read.
    at: usize,
    /// The data of the first chunks, where there are many.
    gathered: Vec<u8>,
    /// Where those of the others lie.
    data: Vec<Range<usize>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ChunkState {
    #[default]
    Size,
    Data(u64),
    DataEnd,
    Trailer,
}

/// What [`ChunkReader::advance`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChunkStep {
    /// More bytes are needed.
    More,
    /// The body ends at this offset.
    Done(usize),
    /// The framing is broken.
    Broken,
}

impl ChunkReader {
    /// Reads on. `body` is everything since the head, the part of earlier calls included.
    pub(crate) fn advance(&mut self, body: &[u8]) -> ChunkStep {
        loop {
            match self.state {
                ChunkState::Data(left) => {
                    let here =
                        (body.len() - self.at).min(usize::try_from(left).unwrap_or(usize::MAX));
                    self.extend(here);
                    if self.data.len() >= MOST_PLACES {
                        self.gather(body);
                    }
                    let left = left - here as u64;
                    if left > 0 {
                        self.state = ChunkState::Data(left);
                        return ChunkStep::More;
                    }
                    self.state = ChunkState::DataEnd;
                }
                ChunkState::DataEnd => match &body[self.at..] {
                    [b'\r', b'\n', ..] => self.pass(2, ChunkState::Size),
                    [b'\n', ..] => self.pass(1, ChunkState::Size),
                    [] | [b'\r'] => return ChunkStep::More,
                    _ => return ChunkStep::Broken,
                },
                ChunkState::Size | ChunkState::Trailer => {
                    let rest = &body[self.at..];
                    let line_end = memchr::memchr(b'\n', rest);
                    let Some(end) = line_end.filter(|end| *end <= LONGEST_LINE) else {
                        let hopeless = self.state == ChunkState::Size && !may_be_size(rest);
                        let broken = hopeless || rest.len() > LONGEST_LINE;
                        return if broken {
                            ChunkStep::Broken
                        } else {
                            ChunkStep::More
                        };
                    };
                    let line = rest[..end].trim_ascii();
                    let next = match self.state {
                        ChunkState::Trailer if line.is_empty() => {
                            return ChunkStep::Done(self.at + end + 1);
                        }
                        ChunkState::Trailer => ChunkState::Trailer,
                        _ => match size(line) {
                            None => return ChunkStep::Broken,
                            Some(0) => ChunkState::Trailer,
                            Some(length) => ChunkState::Data(length),
                        },
                    };
                    self.pass(end + 1, next);
                }
            }
        }
    }

    fn pass(&mut self, bytes: usize, next: ChunkState) {
        self.at += bytes;
        self.state = next;
    }

    fn extend(&mut self, bytes: usize) {
        let end = self.at + bytes;
        match self.data.last_mut() {
            Some(last) if last.end == self.at => last.end = end,
            _ if bytes > 0 => self.data.push(self.at..end),
            _ => {}
        }
        self.at = end;
    }

    /// No chunk was read: the label may be a lie.
    pub(crate) fn is_untouched(&self) -> bool {
        self.at == 0
    }

    /// The last chunk was read and at most the trailer's end is missing, which many servers forget.
    pub(crate) fn is_past_last_chunk(&self) -> bool {
        self.state == ChunkState::Trailer
    }

    fn gather(&mut self, body: &[u8]) {
        self.gathered
            .reserve(self.data.iter().map(ExactSizeIterator::len).sum());
        for range in self.data.drain(..) {
            self.gathered.extend_from_slice(&body[range]);
        }
    }

    /// The chunks' data. `body` is all that was read.
    pub(crate) fn payload(&mut self, body: &Bytes) -> Bytes {
        match &*self.data {
            [one] if self.gathered.is_empty() => body.slice(one.clone()),
            _ => {
                self.gather(body);
                std::mem::take(&mut self.gathered).into()
            }
        }
    }
}

/// Whether the beginning of a line can still become a chunk's size: a body that is not chunked at all shows at once.
fn may_be_size(start: &[u8]) -> bool {
    start
        .trim_ascii_start()
        .first()
        .is_none_or(u8::is_ascii_hexdigit)
}

/// The hexadecimal size at the start of a chunk line; what follows must be an extension.
fn size(line: &[u8]) -> Option<u64> {
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
            String::from_utf8(chunks.payload(&body).to_vec()).expect("text"),
        )
    }

    fn check(wire: &str, step: ChunkStep, payload: &str) {
        for piece in [1, 2, 3, 7, 1000] {
            assert_eq!(
                read(wire, piece),
                (step, payload.to_owned()),
                "{wire:?} by {piece}"
            );
        }
    }

    #[test]
    fn chunks_are_read_however_they_arrive() {
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
    fn broken_framing_keeps_what_came_before() {
        check("<html>\n", ChunkStep::Broken, "");
        check("<html>", ChunkStep::Broken, "");
        check("3\r\nabcd\r\n", ChunkStep::Broken, "abc");
        check("3\r\nabc\r\nxyz\r\n", ChunkStep::Broken, "abc");
        check("-3\r\nabc\r\n", ChunkStep::Broken, "");
        check("ffffffffffffffffff\r\nabc\r\n", ChunkStep::Broken, "");
        check("\r\n", ChunkStep::Broken, "");
    }

    #[test]
    fn a_line_without_end_is_broken() {
        let long = "x".repeat(LONGEST_LINE.min(8 << 10) + 1);
        check(&format!("3\r\nabc\r\n5;{long}"), ChunkStep::Broken, "abc");
        check(
            &format!("3\r\nabc\r\n0\r\nT: {long}"),
            ChunkStep::Broken,
            "abc",
        );
    }

    #[test]
    fn one_chunk_is_a_slice() {
        let body = Bytes::from_static(b"3\r\nabc\r\n0\r\n\r\n");
        let mut chunks = ChunkReader::default();
        chunks.advance(&body);
        assert_eq!(chunks.payload(&body).as_ptr(), body[3..].as_ptr());
    }
}
