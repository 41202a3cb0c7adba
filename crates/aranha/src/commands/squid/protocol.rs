//! Squid's lines for a `url_rewrite_program`: `[ID] URL client/fqdn ident method [key=value…]`.
//!
//! With `concurrency=N` a line begins with the number of its channel, without it with the URL. Nothing here fails: what
//! cannot be read has an answer like everything else, and no URL.

/// Longer lines are not kept, only their beginning, where the channel stands. Squid's own URLs end at 8 KiB.
const LONGEST: usize = 16 << 10;

/// Longer URLs are not taken: canonical ones end at 2,000 bytes by default.
const LONGEST_URL: usize = 4 << 10;

/// What a line says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RequestLine<'a> {
    /// The number, as written; empty without one.
    pub(super) channel: &'a [u8],
    /// Asked for by GET over HTTP.
    pub(super) url: Option<&'a str>,
}

pub(super) fn read(line: &[u8]) -> RequestLine<'_> {
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
    let plain = line.len() < LONGEST
        && url.len() <= LONGEST_URL
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

/// Cuts what comes into lines.
#[derive(Debug, Default)]
pub(super) struct LineSplitter {
    /// The beginning of a line whose end has not come.
    begun: Vec<u8>,
}

impl LineSplitter {
    /// Shows every line that is complete now, without its end.
    pub(super) fn push(&mut self, bytes: &[u8], mut visit: impl FnMut(&[u8])) {
        let mut parts = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(part) = parts.next() {
            let ends = parts.peek().is_some();
            if ends && self.begun.is_empty() {
                visit(&part[..part.len().min(LONGEST)]);
                continue;
            }
            let room = LONGEST - self.begun.len();
            self.begun.extend_from_slice(&part[..part.len().min(room)]);
            if ends {
                visit(&self.begun);
                self.begun.clear();
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
            read(line.as_bytes()),
            RequestLine { channel, url },
            "{line}"
        );
    }

    #[test]
    fn lines() {
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
    fn lines_in_pieces() {
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
