//! Finds the end of a response head and parses it (RFC 9112, sections 2 to 5).
//!
//! Accepts known deviations: bare line feeds, folded lines, spaces before the colon, a missing reason phrase,
//! `HTTP/2.0` in HTTP/1 syntax, and lines that are not header fields. A response without a status line is a protocol
//! failure (N10). Never panics.

use crate::{Headers, ResponseRemark};

/// A parsed response head.
#[derive(Debug)]
pub(crate) struct ResponseHead {
    pub(crate) status: u16,
    /// Whether the version and the `Connection` header allow the connection to be kept alive.
    pub(crate) persistent: bool,
    pub(crate) headers: Headers,
    pub(crate) remarks: Vec<ResponseRemark>,
}

/// The length of the head; `None` if its end has not been received. `scanned` is the number of bytes that earlier calls
/// have searched.
pub(crate) fn find_end(bytes: &[u8], scanned: &mut usize) -> Option<usize> {
    for at in memchr::memchr_iter(b'\n', &bytes[*scanned..]) {
        let line_end = *scanned + at;
        match &bytes[line_end + 1..] {
            [b'\n', ..] => return Some(line_end + 2),
            [b'\r', b'\n', ..] => return Some(line_end + 3),
            _ => {}
        }
    }
    // The blank line may be split over two reads, so the last three bytes are searched again.
    *scanned = bytes.len().saturating_sub(3);
    None
}

/// Returns an error if the first bytes cannot be the beginning of a status line.
pub(crate) fn check_start(bytes: &[u8]) -> Result<(), String> {
    const START: &[u8] = b"HTTP/";
    let length = bytes.len().min(START.len());
    if bytes[..length].eq_ignore_ascii_case(&START[..length]) {
        return Ok(());
    }
    if bytes.starts_with(b"ICY") {
        return Err("a radio stream (ICY)".to_owned());
    }
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(24)])
        .escape_debug()
        .to_string();
    Err(format!(
        "no status line; the response begins with \"{start}\""
    ))
}

/// Parses a complete head, including the blank line.
pub(crate) fn parse(head: &[u8]) -> Result<ResponseHead, String> {
    let mut lines = Lines { rest: head };
    let first = lines.next().unwrap_or_default();
    let line = parse_status_line(first)?;
    let mut remarks = Vec::new();
    if line.irregular {
        remarks.push(ResponseRemark::StatusLine(
            String::from_utf8_lossy(&first[..first.len().min(80)]).into_owned(),
        ));
    }
    let (headers, invalid_lines) = parse_fields(lines.rest);
    if invalid_lines > 0 {
        remarks.push(ResponseRemark::UnreadableHeaders(invalid_lines));
    }
    let keep_alive = has_token(&headers, "connection", "keep-alive");
    let close = has_token(&headers, "connection", "close");
    // HTTP/1.0 has no transfer codings. If an HTTP/1.0 response has `Transfer-Encoding`, its framing may be wrong, so
    // the connection is not kept (RFC 9112, 6.1).
    let keep_alive_1_0 = keep_alive && !headers.has("transfer-encoding");
    let persistent = !close && !line.irregular && (line.minor >= 1 || keep_alive_1_0);
    Ok(ResponseHead {
        status: line.status,
        persistent,
        headers,
        remarks,
    })
}

/// Whether a comma-separated header contains a token.
fn has_token(headers: &Headers, name: &str, token: &str) -> bool {
    headers
        .texts(name)
        .flat_map(|value| value.split(','))
        .any(|part| part.trim().eq_ignore_ascii_case(token))
}

struct StatusLine {
    minor: u8,
    status: u16,
    /// Whether the line deviates from RFC 9112.
    irregular: bool,
}

fn parse_status_line(line: &[u8]) -> Result<StatusLine, String> {
    let invalid = || {
        format!(
            "invalid status line \"{}\"",
            String::from_utf8_lossy(&line[..line.len().min(80)]).escape_debug()
        )
    };
    let rest = line.get(5..).ok_or_else(invalid)?;
    let version_length = rest
        .iter()
        .position(u8::is_ascii_whitespace)
        .ok_or_else(invalid)?;
    let (version, rest) = rest.split_at(version_length);
    let after = rest.trim_ascii_start();
    let digits = after
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    if digits != 3 {
        return Err(invalid());
    }
    let status = after[..3]
        .iter()
        .fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0'));
    if status < 100 {
        return Err(invalid());
    }
    let regular = line.starts_with(b"HTTP/")
        && rest.len() - after.len() == 1
        && matches!(after.get(3), None | Some(b' '));
    let minor = match version {
        b"1.1" => Some(1),
        b"1.0" => Some(0),
        _ => None,
    };
    Ok(StatusLine {
        minor: minor.unwrap_or(1),
        status,
        irregular: !regular || minor.is_none(),
    })
}

/// The header fields, and the number of lines that could not be parsed.
fn parse_fields(bytes: &[u8]) -> (Headers, usize) {
    let mut headers = Headers::with_capacity(bytes.len());
    let mut invalid_lines = 0;
    let mut lines = Lines { rest: bytes }.peekable();
    let mut folded = Vec::new();
    while let Some(mut line) = lines.next() {
        folded.clear();
        while let Some(more) =
            lines.next_if(|next| next.starts_with(b" ") || next.starts_with(b"\t"))
        {
            if folded.is_empty() {
                folded.extend_from_slice(line);
            }
            folded.push(b' ');
            folded.extend_from_slice(more.trim_ascii());
        }
        if !folded.is_empty() {
            line = &folded;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let is_field = memchr::memchr(b':', line).is_some_and(|colon| {
            headers.push(line[..colon].trim_ascii(), line[colon + 1..].trim_ascii())
        });
        invalid_lines += usize::from(!is_field);
    }
    (headers, invalid_lines)
}

/// Iterates over lines without their ends, `\n` or `\r\n`.
struct Lines<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let (line, rest) = match memchr::memchr(b'\n', self.rest) {
            Some(at) => (&self.rest[..at], &self.rest[at + 1..]),
            None => (self.rest, &[][..]),
        };
        self.rest = rest;
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(head: &str, expected: &str) {
        let found = match parse(head.as_bytes()) {
            Err(reason) => format!("error: {reason}"),
            Ok(head) => {
                let fields: Vec<String> = head
                    .headers
                    .iter()
                    .map(|(name, value)| [name, value].map(String::from_utf8_lossy).join("="))
                    .collect();
                let remarks: Vec<String> = head.remarks.iter().map(ToString::to_string).collect();
                format!(
                    "{} {} [{}] {}",
                    head.status,
                    head.persistent,
                    fields.join("|"),
                    remarks.join("; ")
                )
            }
        };
        assert_eq!(found.trim_end(), expected, "{head:?}");
    }

    #[test]
    fn valid_heads_are_parsed() {
        check("HTTP/1.1 200 OK\r\nA: b\r\n\r\n", "200 true [a=b]");
        check("HTTP/1.1 200\r\n\r\n", "200 true []");
        check("HTTP/1.1 200 \r\n\r\n", "200 true []");
        check(
            "HTTP/1.1 404 Not  Found é\nA: b\nC:d\n\n",
            "404 true [a=b|c=d]",
        );
        check("HTTP/1.0 200 OK\r\n\r\n", "200 false []");
        check(
            "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n\r\n",
            "200 true [connection=Keep-Alive]",
        );
        check(
            "HTTP/1.1 200 OK\r\nConnection: x, Close\r\n\r\n",
            "200 false [connection=x, Close]",
        );
        check(
            "HTTP/1.1 200 OK\r\nA : b\r\nC\t: d\r\n\r\n",
            "200 true [a=b|c=d]",
        );
        check(
            "HTTP/1.1 200 OK\r\nA: b\r\n  c\r\n\td\r\nE: f\r\n\r\n",
            "200 true [a=b c d|e=f]",
        );
        check("HTTP/1.1 200 OK\r\nA:\r\nA: 2\r\n\r\n", "200 true [a=|a=2]");
        check("HTTP/1.1 200 OK\r\nA: b\x01c\r\n\r\n", "200 true [a=b c]");
    }

    #[test]
    fn irregular_heads_are_parsed_with_a_remark() {
        check(
            "HTTP/2.0 200 OK\r\n\r\n",
            "200 false [] irregular status line: HTTP/2.0 200 OK",
        );
        check(
            "HTTP/1 200 OK\r\n\r\n",
            "200 false [] irregular status line: HTTP/1 200 OK",
        );
        check(
            "HTTP/1.1  200 OK\r\n\r\n",
            "200 false [] irregular status line: HTTP/1.1  200 OK",
        );
        check(
            "http/1.1 200 ok\r\n\r\n",
            "200 false [] irregular status line: http/1.1 200 ok",
        );
        check(
            "HTTP/1.1 200OK\r\n\r\n",
            "200 false [] irregular status line: HTTP/1.1 200OK",
        );
        check(
            "HTTP/1.1 200 OK\r\nno colon\r\nA: b\r\n\r\n",
            "200 true [a=b] 1 invalid header lines",
        );
        check(
            "HTTP/1.1 200 OK\r\nb@d: x\r\n: y\r\n\r\n",
            "200 true [] 2 invalid header lines",
        );
    }

    #[test]
    fn invalid_status_lines_are_errors() {
        check(
            "HTTP/1.1 20 OK\r\n\r\n",
            "error: invalid status line \"HTTP/1.1 20 OK\"",
        );
        check(
            "HTTP/1.1 2000 OK\r\n\r\n",
            "error: invalid status line \"HTTP/1.1 2000 OK\"",
        );
        check(
            "HTTP/1.1 abc\r\n\r\n",
            "error: invalid status line \"HTTP/1.1 abc\"",
        );
        check(
            "HTTP/1.1\r\n\r\n",
            "error: invalid status line \"HTTP/1.1\"",
        );
        check(
            "HTTP/1.1 099 x\r\n\r\n",
            "error: invalid status line \"HTTP/1.1 099 x\"",
        );
        for start in ["ICY 200 OK", "<html>", "\0\0", "HTML/1.0"] {
            assert!(check_start(start.as_bytes()).is_err(), "{start}");
        }
        for start in ["", "H", "http/1", "HTTP/1.1 200"] {
            assert!(check_start(start.as_bytes()).is_ok(), "{start}");
        }
    }

    #[test]
    fn the_end_is_found_wherever_the_bytes_are_split() {
        for (head, body) in [
            ("HTTP/1.1 200 OK\r\nA: b\r\n\r\n", "\n\nx"),
            ("HTTP/1.1 200 OK\nA: b\n\n", "x"),
            ("H\r\n\n", ""),
        ] {
            let whole = format!("{head}{body}");
            for first in 0..=whole.len() {
                let mut scanned = 0;
                let early = find_end(&whole.as_bytes()[..first], &mut scanned);
                let end = early.or_else(|| find_end(whole.as_bytes(), &mut scanned));
                assert_eq!(end, Some(head.len()), "{whole:?} cut at {first}");
            }
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(300))]
        #[test]
        fn any_bytes_are_parsed_without_panic(bytes in proptest::collection::vec(0_u8.., 0..200)) {
            let mut scanned = 0;
            let _ = find_end(&bytes, &mut scanned);
            let mut head = b"HTTP/1.1 200 OK\r\n".to_vec();
            head.extend_from_slice(&bytes);
            proptest::prop_assert!(parse(&head).is_ok());
            let _ = parse(&bytes);
        }
    }
}
