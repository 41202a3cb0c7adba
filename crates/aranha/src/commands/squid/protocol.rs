//! The request lines of a Squid `url_rewrite_program`: `[ID] URL client/fqdn ident method [key=value…]`.
//!
//! The channel ID is present if Squid is configured with `concurrency=N`. Parsing never fails: an invalid line has no URL.

/// Maximum number of bytes of a line that are kept. URLs in Squid have at most 8 KiB.
const MAX_LINE: usize = 16 << 10;

/// Maximum number of bytes of a URL; longer URLs are ignored. Canonical URLs have at most 2,000 bytes by default.
const MAX_URL: usize = 4 << 10;

/// A parsed line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RequestLine<'a> {
    /// The channel ID; empty if there is none.
    pub(super) channel: &'a [u8],
    /// The URL, if it was requested with GET over plain HTTP.
    pub(super) url: Option<&'a str>,
}

pub(super) fn parse(line: &[u8]) -> RequestLine<'_> {
    let mut words = line
        .split(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
        .filter(|word| !word.is_empty());
    let first = words.next().unwrap_or_default();
    let numbered = !first.is_empty() && first.len() < 20 && first.iter().all(u8::is_ascii_digit);
    let (channel, url) = if numbered {
        (first, words.next().unwrap_or_default())
    } else {
        (&b""[..], first)
    };
    let plain = line.len() < MAX_LINE
        && url.len() <= MAX_URL
        && url
            .get(..7)
            .is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"http://"));
    let method = words.nth(2);
    RequestLine {
        channel,
        url: str::from_utf8(url)
            .ok()
            .filter(|_| plain && method == Some(b"GET")),
    }
}

/// Splits a byte stream into lines.
#[derive(Debug, Default)]
pub(super) struct LineSplitter {
    /// The beginning of an incomplete line, at most [`MAX_LINE`] bytes.
    partial: Vec<u8>,
}

impl LineSplitter {
    /// Takes the next bytes of the stream. Calls `visit` for every line that is now complete. The line is passed
    /// without its line end.
    pub(super) fn push(&mut self, bytes: &[u8], mut visit: impl FnMut(&[u8])) {
        let mut parts = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(part) = parts.next() {
            let ends = parts.peek().is_some();
            if ends && self.partial.is_empty() {
                visit(&part[..part.len().min(MAX_LINE)]);
                continue;
            }
            let room = MAX_LINE - self.partial.len();
            self.partial
                .extend_from_slice(&part[..part.len().min(room)]);
            if ends {
                visit(&self.partial);
                self.partial.clear();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, channel: &str, url: Option<&str>) {
        let channel = channel.as_bytes();
        assert_eq!(
            parse(line.as_bytes()),
            RequestLine { channel, url },
            "{line}"
        );
    }

    #[test]
    fn request_lines_are_parsed() {
        check(
            "0 http://a.example/ 127.0.0.1/localhost - GET myip=127.0.0.1 myport=3128",
            "0",
            Some("http://a.example/"),
        );
        check(
            "17 HTTP://a.example/ ::1/- user GET",
            "17",
            Some("HTTP://a.example/"),
        );
        check("http://a.example/ - - GET\r", "", Some("http://a.example/"));
        check("0 http://a.example/ 127.0.0.1/- - HEAD", "0", None);
        check("0 http://a.example/ 127.0.0.1/- -", "0", None);
        check("0 https://a.example/ 127.0.0.1/- - GET", "0", None);
        check("0 a.example:443 127.0.0.1/- - CONNECT", "0", None);
        check("0 ftp://a.example/ 127.0.0.1/- - GET", "0", None);
        check("0", "0", None);
        check("", "", None);
        check(
            "123456789012345678901234567890 http://a.example/ - - GET",
            "",
            None,
        );
        let long = format!("3 http://a.example/{} - - GET", "x".repeat(5000));
        check(&long, "3", None);
    }

    #[test]
    fn lines_may_arrive_in_pieces() {
        let text = b"one\ntwo three\n\nfour\nrest";
        for size in 1..=text.len() {
            let mut lines = LineSplitter::default();
            let mut seen = Vec::new();
            for piece in text.chunks(size) {
                lines.push(piece, |line| {
                    seen.push(String::from_utf8_lossy(line).into_owned());
                });
            }
            assert_eq!(seen, ["one", "two three", "", "four"], "pieces of {size}");
        }
    }
}
