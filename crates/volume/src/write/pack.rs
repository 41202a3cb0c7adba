//! Packs large responses: compresses the response record into a temporary file, before the exchange is queued.
//!
//! A response whose body is in a file ([`LargeBody`]) takes seconds to compress. In a worker or in the writer, this
//! would delay all other exchanges. So the response is compressed before the exchange gets its place in the order of
//! writing. The body is read from its file block by block, once to hash it and once to compress it. The writer later
//! copies the temporary file to the volume. The temporary files have no names, so that none is left after a crash.

use std::fs::File;
use std::io::{self, BufWriter, Seek as _, Write};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use sha1::{Digest as _, Sha1};

use crate::exchange::LargeBody;
use crate::index::entry::PayloadForm;
use crate::record::digest::Digest;
use crate::record::http::{self, TransferCoding};
use crate::record::id::{RecordId, RecordIds};
use crate::record::payload::PayloadDigests;
use crate::write::encoder::{Draft, Encoder};
use crate::{Compression, Exchange, Options, VolumeError};

/// Files are read in blocks of this size.
pub(crate) const BLOCK_SIZE: usize = 1 << 20;

/// Maximum number of chunks that are examined. A body with more chunks is excluded from duplicate detection.
const MAX_CHUNKS: u64 = 4 << 20;

/// Makes [`PackedResponse`]s.
#[derive(Debug)]
pub(crate) struct Packer {
    pub(crate) options: Options,
    pub(crate) ids: Arc<RecordIds>,
    /// The folder of the temporary files.
    pub(crate) folder: PathBuf,
}

/// A compressed response record in a temporary file.
#[derive(Debug)]
pub(crate) struct PackedResponse {
    pub(crate) file: File,
    /// Compressed length of the record.
    pub(crate) length: u64,
    pub(crate) id: RecordId,
    pub(crate) payload: PayloadDigests,
}

impl Packer {
    /// Packs the response of an exchange whose body is in a file.
    pub(crate) fn pack(
        &self,
        exchange: &Exchange,
        large: &LargeBody,
    ) -> Result<PackedResponse, VolumeError> {
        self.compress(exchange, large)
            .map_err(|source| VolumeError::from_io(&self.folder, source))
    }

    fn compress(&self, exchange: &Exchange, large: &LargeBody) -> io::Result<PackedResponse> {
        let payload = self.digests(exchange, large)?;
        let id = self.ids.next();
        let draft = Draft::of_large(exchange, id, payload.clone());
        let file = tempfile::tempfile_in(&self.folder)?;
        let header = Encoder::new(&self.options).large_header(&draft, large.length);
        let (head, _) = exchange.split();
        let write = |out: &mut dyn Write| {
            out.write_all(&header)?;
            out.write_all(head)?;
            read_blocks(&large.file, large.length, |block| out.write_all(block))?;
            out.write_all(b"\r\n\r\n")
        };
        let out = BufWriter::with_capacity(BLOCK_SIZE, file);
        let mut file = match self.options.compression {
            Compression::Gzip => {
                let level = self.options.level.clamp(1, 9).unsigned_abs();
                let mut gzip = flate2::write::GzEncoder::new(out, flate2::Compression::new(level));
                write(&mut gzip)?;
                gzip.finish()?
            }
            Compression::Zstd => {
                let mut zstd =
                    zstd::stream::write::Encoder::new(out, self.options.level.clamp(1, 22))?;
                zstd.include_checksum(true)?;
                write(&mut zstd)?;
                zstd.finish()?
            }
        }
        .into_inner()
        .map_err(io::IntoInnerError::into_error)?;
        let length = file.stream_position()?;
        if u32::try_from(length).is_err() {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                "a compressed record is larger than 4 GiB",
            ));
        }
        Ok(PackedResponse {
            file,
            length,
            id,
            payload,
        })
    }

    /// The digests of the exchange, by the rules of [`PayloadDigests::of`].
    fn digests(&self, exchange: &Exchange, large: &LargeBody) -> io::Result<PayloadDigests> {
        let (head, _) = exchange.split();
        let head_agrees = !head.is_empty() && http::head_end(&exchange.response) == head.len();
        let (mut body, mut block) = (Sha1::new(), Sha1::new_with_prefix(head));
        read_blocks(&large.file, large.length, |bytes| {
            body.update(bytes);
            block.update(bytes);
            Ok(())
        })?;
        let (body, block): (Digest, Digest) = (body.finalize().into(), block.finalize().into());
        let eligible = head_agrees
            && exchange.truncated.is_none()
            && large.payload_length >= self.options.dedupe_minimum.max(1) as u64;
        let form = match http::transfer_coding(head) {
            TransferCoding::Plain if eligible && body == large.payload_digest => {
                Some(PayloadForm::Plain)
            }
            TransferCoding::Chunked if eligible && has_regular_chunks(large)? => {
                Some(PayloadForm::Chunked)
            }
            _ => None,
        };
        Ok(PayloadDigests {
            key: large.payload_digest,
            stored: head_agrees.then_some(body),
            block: Some(block),
            form,
        })
    }
}

/// Calls `each` with all bytes of a file of this length, block by block.
pub(crate) fn read_blocks(
    file: &File,
    length: u64,
    mut each: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut block = vec![0; BLOCK_SIZE];
    let mut position = 0;
    while position < length {
        let size = (length - position).min(BLOCK_SIZE as u64) as usize;
        file.read_exact_at(&mut block[..size], position)?;
        each(&block[..size])?;
        position += size as u64;
    }
    Ok(())
}

/// Whether the body consists of well-formed chunks whose data is the payload. Reads only the size lines.
fn has_regular_chunks(large: &LargeBody) -> io::Result<bool> {
    const LINE_END: &[u8] = b"\r\n";
    let mut buffer = [0; 260];
    let (mut position, mut payload) = (0, 0);
    for number in 0..MAX_CHUNKS {
        let size = (large.length - position).min(buffer.len() as u64) as usize;
        large.file.read_exact_at(&mut buffer[..size], position)?;
        let mut rest = &buffer[..size];
        if number > 0 {
            let Some(after) = rest.strip_prefix(LINE_END) else {
                return Ok(false);
            };
            rest = after;
            position += 2;
        }
        let Some((size, start)) = http::chunk_size(rest) else {
            return Ok(false);
        };
        let (size, start) = (size as u64, start as u64);
        if size == 0 {
            let is_end = position + start + 2 == large.length && rest.ends_with(LINE_END);
            return Ok(is_end && payload == large.payload_length);
        }
        let left = large.length - position;
        if size > left || start + size + 2 > left {
            return Ok(false);
        }
        payload += size;
        position += start + size;
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_regular(body: &[u8], payload_length: u64) -> bool {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(body).unwrap();
        let large = LargeBody {
            file: Arc::new(file),
            length: body.len() as u64,
            payload_length,
            payload_digest: [0; 20],
        };
        has_regular_chunks(&large).unwrap()
    }

    #[test]
    fn chunks_are_checked_like_those_in_memory() {
        let payload = vec![b'x'; 1000];
        let long = [&b"3e8\r\n"[..], &payload, b"\r\n3;a=b\r\nabc\r\n0\r\n\r\n"].concat();
        for (body, length, expected) in [
            (&long[..], 1003, true),
            (&long[..], 1002, false),
            (&long[..long.len() - 2], 1003, false),
            (b"3\r\nabc\r\n0\r\n\r\n", 3, true),
            (b"3\r\nabc\r\n0\r\nT: u\r\n\r\n", 3, false),
            (b"3\r\nabc0\r\n\r\n", 3, false),
            (b"3\r\nabc\r\n", 3, false),
            (b"ffffffffffffffff\r\nabc\r\n", 3, false),
            (b"abc", 3, false),
        ] {
            let text = String::from_utf8_lossy(&body[..body.len().min(40)]);
            assert_eq!(is_regular(body, length), expected, "{text:?} {length}");
        }
    }
}
