//! Reads one HTTP request with size limits (RFC 9112). Keep-alive is not needed, because a notification is one request.

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Maximum size of the head in bytes.
const MAX_HEAD: usize = 16 << 10;
/// Maximum size of the body in bytes: enough for an IndexNow notification, which can hold 10,000 URLs.
const MAX_BODY: usize = 8 << 20;
const MAX_HEADERS: usize = 64;

/// A complete request.
#[derive(Debug, Default)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) query: String,
    /// Name and value of each header. Names are in lower case.
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Request {
    /// The values of a header, in the order of the request.
    pub(super) fn headers<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = self.headers.iter().filter(move |(own, _)| own == name);
        named.map(|(_, value)| value.as_str())
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(own, _)| own == name)?;
        Some(&found.1)
    }

    /// The first value of a parameter in the query.
    pub(super) fn parameter(&self, name: &str) -> Option<String> {
        let mut pairs = form_urlencoded::parse(self.query.as_bytes());
        pairs.find_map(|(key, value)| (key == name).then(|| value.into_owned()))
    }

    /// Method and path for the log. The query is omitted because it can contain a key.
    pub(super) fn line(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

/// Reads a request, or returns the status of the error response.
pub(super) async fn read<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
) -> Result<Request, u16> {
    let mut buffer = Vec::new();
    let (mut request, head) = loop {
        if let Some(found) = parse_head(&buffer)? {
            break found;
        }
        if buffer.len() > MAX_HEAD {
            return Err(431);
        }
        read_more(stream, &mut buffer).await?;
    };
    let rest = buffer.split_off(head);
    let coding = request.header("transfer-encoding").map(str::to_lowercase);
    let length = request.header("content-length").map(str::parse::<usize>);
    if request.header("expect").is_some() && rest.is_empty() {
        let sent = stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await;
        sent.map_err(|_| 400_u16)?;
    }
    request.body = match (coding.as_deref(), length) {
        (Some("chunked"), None) => read_chunked(stream, rest).await?,
        (None, Some(Ok(length))) => read_sized(stream, rest, length).await?,
        (None, None) if request.method == "POST" => return Err(411),
        (None, None) => Vec::new(),
        // If the lengths are contradictory or invalid, the end of the body is unknown.
        _ => return Err(400),
    };
    Ok(request)
}

/// Parses the head and returns it with its length; `None` if it is not complete yet.
fn parse_head(buffer: &[u8]) -> Result<Option<(Request, usize)>, u16> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut head = httparse::Request::new(&mut headers);
    let length = match head.parse(buffer) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(431),
        Err(_) => return Err(400),
    };
    let target = head.path.unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let field = |header: &httparse::Header<'_>| {
        (
            header.name.to_ascii_lowercase(),
            String::from_utf8_lossy(header.value).trim().to_owned(),
        )
    };
    let request = Request {
        method: head.method.unwrap_or_default().to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers: head.headers.iter().map(field).collect(),
        body: Vec::new(),
    };
    if request.headers("content-length").count() > 1 {
        return Err(400);
    }
    Ok(Some((request, length)))
}

async fn read_more<S: AsyncRead + Unpin>(stream: &mut S, buffer: &mut Vec<u8>) -> Result<(), u16> {
    match stream.read_buf(buffer).await {
        Ok(1..) => Ok(()),
        _ => Err(400),
    }
}

async fn read_sized<S: AsyncRead + Unpin>(
    stream: &mut S,
    mut body: Vec<u8>,
    length: usize,
) -> Result<Vec<u8>, u16> {
    if length > MAX_BODY {
        return Err(413);
    }
    while body.len() < length {
        read_more(stream, &mut body).await?;
    }
    body.truncate(length);
    Ok(body)
}

/// Reads a chunked body (RFC 9112, 7.1). Trailers are not read, because the connection is closed after the response.
async fn read_chunked<S: AsyncRead + Unpin>(
    stream: &mut S,
    mut buffer: Vec<u8>,
) -> Result<Vec<u8>, u16> {
    let mut body = Vec::new();
    // Bytes before `position` have been used. They are removed only before the next read, because a removal after each
    // chunk would move the rest of the buffer once per chunk.
    let mut position = 0;
    loop {
        let (start, size) = loop {
            match httparse::parse_chunk_size(&buffer[position..]) {
                Ok(httparse::Status::Complete((start, size))) => break (position + start, size),
                Ok(httparse::Status::Partial) if buffer.len() - position < MAX_HEAD => {
                    buffer.drain(..std::mem::take(&mut position));
                    read_more(stream, &mut buffer).await?;
                }
                _ => return Err(400),
            }
        };
        if size == 0 {
            return Ok(body);
        }
        if size > (MAX_BODY - body.len()) as u64 {
            return Err(413);
        }
        let end = start + size as usize;
        while buffer.len() < end + 2 {
            read_more(stream, &mut buffer).await?;
        }
        if &buffer[end..end + 2] != b"\r\n" {
            return Err(400);
        }
        body.extend_from_slice(&buffer[start..end]);
        position = end + 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a request that arrives in pieces of several sizes, and compares its body or its error status.
    async fn check(bytes: &str, expected: Result<&str, u16>) {
        for size in [1, 3, 7, bytes.len()] {
            let (mut near, mut far) = tokio::io::duplex(64);
            let bytes = bytes.as_bytes().to_vec();
            let writing = tokio::spawn(async move {
                for piece in bytes.chunks(size) {
                    if far.write_all(piece).await.is_err() {
                        break;
                    }
                }
                let _ = far.shutdown().await;
                let mut rest = Vec::new();
                let _ = far.read_to_end(&mut rest).await;
            });
            let read = read(&mut near).await;
            let body =
                read.map(|request| String::from_utf8(request.body).expect("the body is UTF-8"));
            assert_eq!(
                body.as_deref(),
                expected.as_ref().copied(),
                "pieces of {size}"
            );
            drop(near);
            writing.await.expect("the writer does not panic");
        }
    }

    #[tokio::test]
    async fn bodies_are_read() {
        check("GET / HTTP/1.1\r\n\r\n", Ok("")).await;
        check(
            "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello",
            Ok("hello"),
        )
        .await;
        let chunks = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n";
        check(chunks, Ok("hello")).await;
    }

    #[tokio::test]
    async fn invalid_requests_get_an_error_status() {
        check("POST / HTTP/1.1\r\n\r\n", Err(411)).await;
        check(
            "POST / HTTP/1.1\r\nContent-Length: 99\r\n\r\nhello",
            Err(400),
        )
        .await;
        check(
            "POST / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n",
            Err(413),
        )
        .await;
        check("POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n", Err(400)).await;
        let both =
            "POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
        check(both, Err(400)).await;
        check(
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            Err(400),
        )
        .await;
        let large = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n";
        check(large, Err(413)).await;
        check("\u{16}\u{3}\u{1}", Err(400)).await;
        let endless = format!("GET / HTTP/1.1\r\nA: {}", "x".repeat(MAX_HEAD));
        check(&endless, Err(431)).await;
    }
}
