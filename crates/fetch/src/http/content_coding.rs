//! Decodes content codings (RFC 9110, 8.4): gzip, deflate, br and zstd, in up to three layers.
//!
//! The archive stores the encoded bytes; the page parser gets the decoded copy. The output size is limited because of
//! compression bombs, and decoding stops early if the compression ratio is that of a bomb. If a body is truncated or
//! corrupt, the data before the fault are returned. Deflate is accepted with and without the zlib header, because
//! servers send both. If a body is not encoded in spite of its header, it is returned unchanged.

use std::{
    cell::{Cell, RefCell},
    io::{self, BufRead, Read},
};

use bytes::Bytes;

use crate::{Headers, ResponseRemark};

/// Maximum number of coding layers that are decoded.
const MAX_LAYERS: usize = 3;

/// Maximum number of members in a gzip body. The limit is needed because a member can be as short as 20 bytes, and each
/// member needs a new decoder.
const MAX_MEMBERS: usize = 10_000;

/// Initial capacity of the output buffer.
const INITIAL_CAPACITY: usize = 16 << 10;

/// Size of the output up to which any compression ratio is accepted.
const MIN_BOMB_SIZE: usize = 8 << 20;

/// Maximum compression ratio of an output larger than [`MIN_BOMB_SIZE`]. The ratio of a text is 3 to 30, that of a bomb
/// 1000 or more.
const MAX_RATIO: usize = 100;

/// Base-2 logarithm of the maximum zstd window: 8 MiB, the limit for content codings (RFC 9659).
const MAX_ZSTD_WINDOW_LOG: u32 = 23;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContentCoding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

impl ContentCoding {
    fn from_name(name: &str) -> Option<ContentCoding> {
        Some(match name {
            "gzip" | "x-gzip" => ContentCoding::Gzip,
            "deflate" => ContentCoding::Deflate,
            "br" => ContentCoding::Brotli,
            "zstd" => ContentCoding::Zstd,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            ContentCoding::Gzip => "gzip",
            ContentCoding::Deflate => "deflate",
            ContentCoding::Brotli => "br",
            ContentCoding::Zstd => "zstd",
        }
    }
}

/// The codings of a body in the order in which they were applied: first the content codings, then the transfer codings
/// other than chunked, which are rare. Empty if a coding is unknown or there are too many.
pub(crate) fn codings(headers: &Headers, remarks: &mut Vec<ResponseRemark>) -> Vec<ContentCoding> {
    let mut codings = Vec::new();
    let transfer = headers.all("transfer-encoding");
    for value in headers.all("content-encoding").chain(transfer) {
        let text = String::from_utf8_lossy(value).to_ascii_lowercase();
        let names = text.split(',').map(str::trim);
        for name in names.filter(|name| !matches!(*name, "" | "identity" | "none" | "chunked")) {
            let Some(coding) = ContentCoding::from_name(name) else {
                remarks.push(ResponseRemark::UnknownCoding(
                    name.chars().take(40).collect(),
                ));
                return Vec::new();
            };
            codings.push(coding);
        }
    }
    if codings.len() > MAX_LAYERS {
        remarks.push(ResponseRemark::TooManyCodings(codings.len()));
        codings.clear();
    }
    codings
}

/// Decodes all layers, beginning with the coding that was applied last. The output of each layer has at most `max_size`
/// bytes.
pub(crate) fn decode(
    codings: &[ContentCoding],
    payload: &Bytes,
    max_size: u64,
) -> (Bytes, Vec<ResponseRemark>) {
    let mut body = payload.clone();
    let mut remarks = Vec::new();
    for coding in codings.iter().rev() {
        if body.is_empty() {
            break;
        }
        let mut layer = LayerDecoder {
            output: Vec::new(),
            max_size,
            stop: None,
            consumed: &Cell::new(0),
        };
        layer.decode(*coding, &body);
        match layer.stop {
            None => {}
            Some(DecodeStop::MaxSize) => {
                let size = layer.output.len() as u64;
                remarks.push(ResponseRemark::DecodedTruncated(size));
            }
            Some(DecodeStop::Broken(reason)) => {
                remarks.push(ResponseRemark::DecodeError {
                    coding: coding.name().to_owned(),
                    reason,
                });
            }
            Some(DecodeStop::NotCoded) => {
                remarks.push(ResponseRemark::NotCoded(coding.name().to_owned()));
                continue;
            }
        }
        body = layer.output.into();
    }
    (body, remarks)
}

/// Why decoding ended before the end of the input.
enum DecodeStop {
    /// The output reached the maximum size, or its compression ratio is that of a bomb.
    MaxSize,
    /// The input is corrupt or truncated.
    Broken(String),
    /// The input is not encoded.
    NotCoded,
}

/// Decodes one layer.
struct LayerDecoder<'a> {
    output: Vec<u8>,
    max_size: u64,
    stop: Option<DecodeStop>,
    /// Number of input bytes that the decoder has read.
    consumed: &'a Cell<usize>,
}

/// Input that counts the bytes that are read.
struct CountedInput<'a> {
    rest: &'a [u8],
    consumed: &'a Cell<usize>,
}

impl Read for CountedInput<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.rest.read(buffer)?;
        self.consumed.set(self.consumed.get() + count);
        Ok(count)
    }
}

impl BufRead for CountedInput<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        Ok(self.rest)
    }

    fn consume(&mut self, count: usize) {
        self.rest = &self.rest[count..];
        self.consumed.set(self.consumed.get() + count);
    }
}

/// Decodes deflate data. If the data are corrupt, returns everything before the fault and then the error. The readers
/// of flate2 are not used, because they lose the data that they decode in the same call that finds the fault.
struct Inflater<'a> {
    input: CountedInput<'a>,
    state: flate2::Decompress,
    /// Whether the end of the data or a fault in them was reached.
    ended: bool,
    /// The error that the next read returns.
    error: Option<io::Error>,
}

impl<'a> Inflater<'a> {
    fn new(input: CountedInput<'a>, state: flate2::Decompress) -> Self {
        Self {
            input,
            state,
            ended: false,
            error: None,
        }
    }
}

impl Read for Inflater<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.ended {
            return self.error.take().map_or(Ok(0), Err);
        }
        let before = (self.state.total_in(), self.state.total_out());
        let status = self
            .state
            .decompress(self.input.rest, buffer, flate2::FlushDecompress::None);
        let read = (self.state.total_in() - before.0) as usize;
        let written = (self.state.total_out() - before.1) as usize;
        self.input.consume(read);
        self.error = match status {
            Ok(flate2::Status::StreamEnd) => None,
            Ok(_) if written > 0 || buffer.is_empty() => return Ok(written),
            Ok(_) => Some(io::ErrorKind::UnexpectedEof.into()),
            Err(error) => Some(error.into()),
        };
        self.ended = true;
        match self.error.take_if(|_| written == 0) {
            Some(error) => Err(error),
            None => Ok(written),
        }
    }
}

impl<'a> LayerDecoder<'a> {
    fn counted<'b>(&self, input: &'b [u8]) -> CountedInput<'b>
    where
        'a: 'b,
    {
        CountedInput {
            rest: input,
            consumed: self.consumed,
        }
    }

    /// Whether an input of `input` bytes that decodes to `output` bytes is a compression bomb.
    fn is_bomb(output: usize, input: usize) -> bool {
        output >= MIN_BOMB_SIZE && output / MAX_RATIO > input
    }

    fn decode(&mut self, coding: ContentCoding, input: &[u8]) {
        match coding {
            ContentCoding::Gzip if !input.starts_with(&[0x1f, 0x8b]) => {
                self.stop = Some(DecodeStop::NotCoded);
            }
            ContentCoding::Gzip => self.gzip(input),
            ContentCoding::Deflate => self.deflate(input),
            ContentCoding::Brotli => {
                self.read_all(brotli_decompressor::Decompressor::new(
                    self.counted(input),
                    4 << 10,
                ));
                self.detect_not_coded();
            }
            ContentCoding::Zstd
                if !input.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) && !is_skippable(input) =>
            {
                self.stop = Some(DecodeStop::NotCoded);
            }
            ContentCoding::Zstd => self.zstd(input),
        }
    }

    /// Tries to decode a gzip body in one call. If that fails, decodes the body as a stream, member by member.
    fn gzip(&mut self, input: &[u8]) {
        if self.gzip_one_call(input) {
            return;
        }
        let mut rest = input;
        let mut members = 0;
        while rest.starts_with(&[0x1f, 0x8b]) && self.stop.is_none() {
            if members == MAX_MEMBERS {
                self.stop = Some(DecodeStop::Broken("too many members".to_owned()));
                return;
            }
            members += 1;
            let mut member = Inflater::new(self.counted(rest), flate2::Decompress::new_gzip(15));
            self.read_all(&mut member);
            rest = member.input.rest;
        }
    }

    /// Decodes a gzip body in one call, which is twice as fast as a stream. The gzip trailer tells the size of the
    /// output. Returns false, without output, if the output would be too large or does not match the trailer. It does
    /// not match if the body is truncated, has several members, or has other bytes at its end.
    fn gzip_one_call(&mut self, input: &[u8]) -> bool {
        /// The maximum compression ratio of deflate.
        const MAX_DEFLATE_RATIO: u64 = 1032;
        thread_local! {
            static DECOMPRESSOR: RefCell<libdeflater::Decompressor> = RefCell::new(libdeflater::Decompressor::new());
        }
        let Some((_, &[c0, c1, c2, c3, s0, s1, s2, s3])) = input.split_last_chunk() else {
            return false;
        };
        // A body with several members is decoded as a stream. One call would decode only the first member. If the first
        // and the last member have equal trailers, the result would seem correct.
        if memchr::memmem::find(&input[1..], &[0x1f, 0x8b, 8]).is_some() {
            return false;
        }
        let size = u64::from(u32::from_le_bytes([s0, s1, s2, s3]));
        if size == 0 || size > self.max_size || size > input.len() as u64 * MAX_DEFLATE_RATIO {
            return false;
        }
        if Self::is_bomb(size as usize, input.len()) {
            return false;
        }
        self.output.resize(size as usize, 0);
        let done = DECOMPRESSOR
            .with_borrow_mut(|decompressor| decompressor.gzip_decompress(input, &mut self.output));
        let mut crc = libdeflater::Crc::new();
        crc.update(&self.output);
        let matches =
            done == Ok(self.output.len()) && crc.sum() == u32::from_le_bytes([c0, c1, c2, c3]);
        if !matches {
            self.output.clear();
        }
        matches
    }

    fn deflate(&mut self, input: &[u8]) {
        let is_zlib = matches!(input, [a, b, ..] if a & 0x0f == 8 && u16::from_be_bytes([*a, *b]).is_multiple_of(31));
        self.inflate(input, is_zlib);
        if is_zlib && matches!(self.stop, Some(DecodeStop::Broken(_))) {
            // Data without a zlib header can begin with bytes that look like such a header.
            let (output, stop) = (std::mem::take(&mut self.output), self.stop.take());
            self.inflate(input, false);
            if self.stop.is_some() && !output.is_empty() {
                (self.output, self.stop) = (output, stop);
            }
        }
        self.detect_not_coded();
    }

    fn inflate(&mut self, input: &[u8], has_header: bool) {
        self.consumed.set(0);
        let state = flate2::Decompress::new(has_header);
        self.read_all(Inflater::new(self.counted(input), state));
    }

    /// Detects input that is not encoded, for codings without a magic number. If decoding failed before it produced any
    /// output, the input is taken as not encoded.
    fn detect_not_coded(&mut self) {
        if self.output.is_empty() && matches!(self.stop, Some(DecodeStop::Broken(_))) {
            self.stop = Some(DecodeStop::NotCoded);
        }
    }

    fn zstd(&mut self, input: &[u8]) {
        let decoder = zstd::stream::read::Decoder::with_buffer(self.counted(input)).and_then(
            |mut decoder| {
                decoder.window_log_max(MAX_ZSTD_WINDOW_LOG)?;
                Ok(decoder)
            },
        );
        match decoder {
            Ok(decoder) => self.read_all(decoder),
            Err(error) => self.stop = Some(DecodeStop::Broken(error.to_string())),
        }
    }

    /// Reads from a decoder until it ends or fails, or until the output is one byte longer than the maximum size.
    /// Output before an error is kept. When the output buffer is full, stops if the input is a compression bomb, and
    /// otherwise doubles the buffer. Its capacity never exceeds the maximum size by more than one byte.
    fn read_all(&mut self, mut decoder: impl Read) {
        let end = usize::try_from(self.max_size.saturating_add(1)).unwrap_or(usize::MAX);
        let mut result = Ok(0);
        while result.is_ok() && self.output.len() < end {
            if self.output.len() == self.output.capacity() {
                if Self::is_bomb(self.output.len(), self.consumed.get()) {
                    self.stop = Some(DecodeStop::MaxSize);
                    return;
                }
                let larger = (2 * self.output.len()).max(INITIAL_CAPACITY).min(end);
                self.output.reserve_exact(larger - self.output.len());
            }
            let room = self.output.capacity() - self.output.len();
            let room = room.min(end - self.output.len());
            result = decoder
                .by_ref()
                .take(room as u64)
                .read_to_end(&mut self.output);
            if matches!(result, Ok(read) if read < room) {
                break;
            }
        }
        if self.output.len() as u64 > self.max_size {
            self.output.truncate(self.max_size as usize);
            self.stop = Some(DecodeStop::MaxSize);
        } else if let Err(error) = result {
            self.stop = Some(DecodeStop::Broken(error.to_string()));
        }
    }
}

/// Whether the input begins with a skippable zstd frame (RFC 8878, 3.1.2).
fn is_skippable(input: &[u8]) -> bool {
    matches!(input, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

#[cfg(test)]
mod tests;
