//! The part of HTTP/1 that is needed for stored messages: end of the head, status, single headers, chunks.
//!
//! A line that has only white space ends the head. The common WARC readers use the same rule, and verify the payload
//! digest of the bytes after it. If the fetcher found the end of the head at another place, no payload digest is
//! written.

use memchr::memchr;

/// Length of the head, including its empty line. If there is no empty line, the length of `message`.
pub(crate) fn head_end(message: &[u8]) -> usize {
    let mut position = 0;
    while let Some(length) = memchr(b'\n', &message[position..]) {
        let line = &message[position..=position + length];
        position += length + 1;
        if !line[0].is_ascii_graphic() && is_blank(line) {
            return position;
        }
    }
    message.len()
}

/// The status code of a response head; `None` when the first line is not a status line.
pub(crate) fn status(head: &[u8]) -> Option<u16> {
    let line = &head[..memchr(b'\n', head).unwrap_or(head.len())];
    let line = line.trim_ascii();
    if line.len() < 5 || !line[..5].eq_ignore_ascii_case(b"HTTP/") {
        return None;
    }
    let code = line
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
        .nth(1)?;
    std::str::from_utf8(code).ok()?.parse().ok()
}

/// The first value of a header, without surrounding white space. Names are case-insensitive.
pub(crate) fn header<'head>(head: &'head [u8], name: &str) -> Option<&'head [u8]> {
    headers(head, name).next()
}

/// Every value of a header, like [`header`].
pub(crate) fn headers<'head>(head: &'head [u8], name: &str) -> impl Iterator<Item = &'head [u8]> {
    let mut rest = head;
    std::iter::from_fn(move || {
        while let Some(end) = memchr(b'\n', rest) {
            rest = &rest[end + 1..];
            // Most lines do not begin with the name, and are skipped without searching for the colon.
            let begin = rest.get(..name.len());
            if begin.is_none_or(|begin| !begin.eq_ignore_ascii_case(name.as_bytes())) {
                continue;
            }
            let line = &rest[..memchr(b'\n', rest).unwrap_or(rest.len())];
            if let Some(colon) = memchr(b':', line)
                && line[..colon]
                    .trim_ascii_end()
                    .eq_ignore_ascii_case(name.as_bytes())
            {
                return Some(line[colon + 1..].trim_ascii());
            }
        }
        None
    })
}

/// The head with `Content-Length: length` in place of its own `Content-Length` fields, which are renamed to
/// `X-Archive-Orig-Content-Length`. All other lines are unchanged.
pub(crate) fn with_content_length(head: &[u8], length: u64) -> Vec<u8> {
    const NAME: &[u8] = b"content-length";
    let mut out = Vec::with_capacity(head.len() + 64);
    let mut written = false;
    for line in head.split_inclusive(|&byte| byte == b'\n') {
        let name = memchr(b':', line).map_or(line, |colon| &line[..colon]);
        if name.trim_ascii_end().eq_ignore_ascii_case(NAME) {
            if !written {
                out.extend_from_slice(format!("Content-Length: {length}\r\n").as_bytes());
                written = true;
            }
            out.extend_from_slice(b"X-Archive-Orig-");
        }
        out.extend_from_slice(line);
    }
    out
}

/// The transfer coding that a head announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransferCoding {
    /// No transfer coding: the body is the payload.
    Plain,
    /// Chunked transfer coding.
    Chunked,
    /// Any other coding. Such responses are excluded from duplicate detection.
    Other,
}

/// The transfer coding in the `Transfer-Encoding` header.
pub(crate) fn transfer_coding(head: &[u8]) -> TransferCoding {
    match header(head, "transfer-encoding") {
        None => TransferCoding::Plain,
        Some(value) if value.eq_ignore_ascii_case(b"chunked") => TransferCoding::Chunked,
        Some(value) if value.eq_ignore_ascii_case(b"identity") => TransferCoding::Plain,
        Some(_) => TransferCoding::Other,
    }
}

/// Iterator over the data of the chunks of a body.
#[derive(Debug)]
pub(crate) struct StoredChunks<'body> {
    rest: &'body [u8],
    /// Whether every reader can parse all chunks so far.
    is_strict: bool,
    /// Whether the last chunk was reached, nothing follows it, and every reader can parse all chunks.
    pub(crate) complete: bool,
}

impl<'body> StoredChunks<'body> {
    pub(crate) fn new(body: &'body [u8]) -> Self {
        Self {
            rest: body,
            is_strict: true,
            complete: false,
        }
    }
}

impl<'body> Iterator for StoredChunks<'body> {
    type Item = &'body [u8];

    /// The data of the next chunk. Returns `None` at the last chunk or the first error. If the body ends inside a
    /// chunk, the existing part of the chunk is returned. Tolerates the same faults of
    /// the chunked coding as `aranha-fetch`, which received the body.
    fn next(&mut self) -> Option<&'body [u8]> {
        let strict = chunk_size(self.rest);
        self.is_strict &= strict.is_some();
        let (size, start) = strict.or_else(|| lenient_chunk_size(self.rest))?;
        let body = &self.rest[start..];
        if size == 0 {
            self.complete = self.is_strict && body == b"\r\n";
            self.rest = &[];
            return None;
        }
        if body.len() < size {
            self.rest = &[];
            return Some(body);
        }
        let (data, rest) = body.split_at(size);
        self.rest = if let Some(rest) = rest.strip_prefix(b"\r\n") {
            rest
        } else {
            self.is_strict = false;
            rest.strip_prefix(b"\n").unwrap_or(&[])
        };
        Some(data)
    }
}

/// Whether a reader would parse the beginning of these bytes as a chunk.
pub(crate) fn begins_like_a_chunk(bytes: &[u8]) -> bool {
    chunk_size(bytes).is_some()
}

/// Size of the chunk at the beginning of `bytes`, and offset of its data.
pub(crate) fn chunk_size(bytes: &[u8]) -> Option<(usize, usize)> {
    let end = memchr(b'\n', &bytes[..bytes.len().min(256)])?;
    let line = bytes[..end].strip_suffix(b"\r")?;
    let digits = line.split(|&byte| byte == b';').next()?.trim_ascii();
    if digits.is_empty() || digits[0] == b'+' {
        return None;
    }
    let size = usize::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    Some((size, end + 1))
}

/// Like [`chunk_size`], but the line may be longer and may end with a line feed alone. Some servers send such lines,
/// and the fetch accepts them.
fn lenient_chunk_size(bytes: &[u8]) -> Option<(usize, usize)> {
    const MAX_LINE: usize = 8 << 10;
    let end = memchr(b'\n', &bytes[..bytes.len().min(MAX_LINE + 1)])?;
    let line = bytes[..end].trim_ascii();
    let count = line
        .iter()
        .take_while(|byte| byte.is_ascii_hexdigit())
        .count();
    let (digits, rest) = line.split_at(count);
    let rest = rest.trim_ascii_start();
    if !(1..=15).contains(&count) || !(rest.is_empty() || rest.starts_with(b";")) {
        return None;
    }
    let size = usize::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    Some((size, end + 1))
}

/// Whether the fetcher took the beginning of this body for a chunk when it received the body.
pub(crate) fn was_chunked(body: &[u8]) -> bool {
    begins_like_a_chunk(body) || lenient_chunk_size(body).is_some()
}

/// Whether `body` consists of well-formed chunks whose data is `payload`.
pub(crate) fn is_chunked_form_of(body: &[u8], payload: &[u8]) -> bool {
    let mut chunks = StoredChunks::new(body);
    let mut rest = payload;
    for data in chunks.by_ref() {
        match rest.strip_prefix(data) {
            Some(remaining) => rest = remaining,
            None => return false,
        }
    }
    chunks.complete && rest.is_empty()
}

/// Removes the chunked coding. Returns at most `cap` bytes of data, and whether the coding is complete and valid, so that
/// every reader of WARC files can decode it.
pub(crate) fn dechunk(body: &[u8], cap: usize) -> (Vec<u8>, bool) {
    let mut chunks = StoredChunks::new(body);
    let mut payload = Vec::with_capacity(body.len().min(cap));
    for data in chunks.by_ref() {
        let remaining = cap - payload.len();
        payload.extend_from_slice(&data[..data.len().min(remaining)]);
    }
    (payload, chunks.complete)
}

/// Whether a line has only white space, as the common readers define it. They decode the line as UTF-8, or as ISO
/// 8859-1 if it is not valid UTF-8, and test for white space of Unicode.
fn is_blank(line: &[u8]) -> bool {
    let is_space = |c: char| c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}');
    match std::str::from_utf8(line) {
        Ok(line) => line.chars().all(is_space),
        Err(_) => line.iter().all(|&byte| is_space(char::from(byte))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_head(message: &[u8], expected: usize) {
        assert_eq!(
            head_end(message),
            expected,
            "{:?}",
            String::from_utf8_lossy(message)
        );
    }

    #[test]
    fn the_head_ends_at_an_empty_line() {
        check_head(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody", 25);
        check_head(b"HTTP/1.1 200 OK\nA: b\n\nbody", 22);
        check_head(b"HTTP/1.1 200 OK\r\n \t\r\nbody", 21);
        check_head(b"HTTP/1.1 200 OK\r\n\x0b\xa0\r\nbody", 21);
        check_head(b"HTTP/1.1 200 OK\r\nA: b\r\n", 23);
        check_head(b"no line end", 11);
        check_head(b"", 0);
    }

    #[test]
    fn status_and_headers_are_found() {
        let head = b"HTTP/1.1  404 Not\r\nTransfer-Encoding : Chunked \r\nA:b\r\n\r\n";
        assert_eq!(status(head), Some(404));
        assert_eq!(header(head, "a"), Some(&b"b"[..]));
        assert_eq!(transfer_coding(head), TransferCoding::Chunked);
        let head = b"a: 0\r\nab: 1\r\na\nA;: 2\n A: 3\nA\t : 4\r\na: 5";
        assert_eq!(header(head, "a"), Some(&b"4"[..]));
        let repeated = b"HTTP/1.1 200 OK\r\nLink: <a>\r\nLinked: no\r\nlink : <b>\r\n\r\n";
        let links: Vec<_> = headers(repeated, "link").collect();
        assert_eq!(links, [&b"<a>"[..], b"<b>"]);
        assert_eq!(header(head, "ab"), Some(&b"1"[..]));
        assert_eq!(header(head, "b"), None);
        assert_eq!(status(b"ICY 200 OK\r\n\r\n"), None);
        assert_eq!(
            transfer_coding(b"HTTP/1.1 200\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"),
            TransferCoding::Other
        );
    }

    #[test]
    fn the_content_length_is_replaced_and_kept_under_another_name() {
        let head =
            b"HTTP/1.1 200 OK\r\nA: content-length: 1\r\ncontent-length : 500\r\nB: c\r\n\r\n";
        let new = with_content_length(head, 7);
        assert_eq!(
            String::from_utf8(new).unwrap(),
            "HTTP/1.1 200 OK\r\nA: content-length: 1\r\nContent-Length: 7\r\n\
             X-Archive-Orig-content-length : 500\r\nB: c\r\n\r\n"
        );
    }

    #[test]
    fn chunks_are_compared_and_removed() {
        assert!(is_chunked_form_of(
            b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n",
            b"abcde"
        ));
        assert!(is_chunked_form_of(b"5\r\nabcde\r\n0\r\n\r\n", b"abcde"));
        assert!(!is_chunked_form_of(b"5\r\nabcde\r\n0\r\n", b"abcde"));
        assert!(!is_chunked_form_of(
            b"5\r\nabcde\r\n0\r\nTrailer: x\r\n\r\n",
            b"abcde"
        ));
        assert!(!is_chunked_form_of(b"3\r\nabc\r\n0\r\n\r\n", b"abcde"));
        // Some servers end lines with a line feed alone. Other readers do not understand such chunks, so the body
        // cannot be an original for duplicates.
        let line_feeds = b"3\nabc\n2;x=y\nde\n0\n\n";
        assert_eq!(dechunk(line_feeds, 100), (b"abcde".to_vec(), false));
        assert!(!is_chunked_form_of(line_feeds, b"abcde"));
        assert!(was_chunked(b"0\n\n") && !begins_like_a_chunk(b"0\n\n"));
        let long = [b"3;", &[b'x'; 1000][..], b"\r\nabc\r\n0\r\n\r\n"].concat();
        assert_eq!(dechunk(&long, 100), (b"abc".to_vec(), false));
        assert_eq!(
            dechunk(b"3\r\nabc\r\n9\r\nde", 100),
            (b"abcde".to_vec(), false)
        );
        assert_eq!(
            dechunk(b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", 4),
            (b"abcd".to_vec(), true)
        );
        assert_eq!(
            dechunk(b"ffffffffffffffff\r\nabc", 100),
            (b"abc".to_vec(), false)
        );
    }
}
