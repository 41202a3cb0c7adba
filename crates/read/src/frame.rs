//! The frames that a pool and its worker exchange through pipes.
//!
//! ```text
//! kind    1 byte
//! length  4 bytes, little endian
//! bytes   `length` bytes
//! ```
//!
//! | from | kind | bytes |
//! |---|---|---|
//! | pool | [`LIMITS`] | [`Limits`](crate::Limits) in postcard; the first frame |
//! | worker | [`READY`] | the protections that the kernel lacks, in postcard; the answer to the first frame |
//! | pool | number of a [`Kind`](crate::Kind) | a document |
//! | worker | [`ANSWER`] | a [`Reading`](crate::Reading) in postcard |

use std::io::{self, Read, Write};

/// Kind of the first frame of a pool.
pub(crate) const LIMITS: u8 = 200;
/// Kind of the first frame of a worker.
pub(crate) const READY: u8 = 201;
/// Kind of the frame that answers a document.
pub(crate) const ANSWER: u8 = 202;
/// Bytes before the content of a frame.
pub(crate) const HEADER_BYTES: usize = 5;
/// Bytes that are allocated for the content of a frame before any of them has arrived.
const FIRST_ALLOCATION: usize = 1 << 20;

/// The bytes before the content. `None` if the content is too long for a frame.
pub(crate) fn header(kind: u8, length: usize) -> Option<[u8; HEADER_BYTES]> {
    let [a, b, c, d] = u32::try_from(length).ok()?.to_le_bytes();
    Some([kind, a, b, c, d])
}

/// The kind of a frame and the length of its content.
pub(crate) fn parse_header([kind, length @ ..]: [u8; HEADER_BYTES]) -> (u8, usize) {
    (kind, u32::from_le_bytes(length) as usize)
}

/// Writes a frame.
pub(crate) fn write(mut output: impl Write, kind: u8, content: &[u8]) -> io::Result<()> {
    let header = header(kind, content.len())
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the frame is too long"))?;
    output.write_all(&header)?;
    output.write_all(content)?;
    output.flush()
}

/// Reads a frame. `None` at the end of the input.
pub(crate) fn read(mut input: impl Read) -> io::Result<Option<(u8, Vec<u8>)>> {
    let mut header = [0; HEADER_BYTES];
    if input.read(&mut header[..1])? == 0 {
        return Ok(None);
    }
    input.read_exact(&mut header[1..])?;
    let (kind, length) = parse_header(header);
    let mut content = Vec::with_capacity(length.min(FIRST_ALLOCATION));
    if input.take(length as u64).read_to_end(&mut content)? < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some((kind, content)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_as_written() {
        let mut stream = Vec::new();
        for content in [vec![], b"abc".to_vec(), vec![7; 70_000]] {
            write(&mut stream, 3, &content).unwrap();
        }
        let mut input = stream.as_slice();
        for length in [0, 3, 70_000] {
            let (kind, content) = read(&mut input).unwrap().unwrap();
            assert_eq!((kind, content.len()), (3, length));
        }
        assert_eq!(read(&mut input).unwrap(), None);
        let mut cut = &stream[..stream.len() - 1];
        assert!(read(&mut cut).is_ok() && read(&mut cut).is_ok() && read(&mut cut).is_err());
    }
}
