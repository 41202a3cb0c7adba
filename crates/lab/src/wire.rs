//! Encodes a response as bytes: status line, headers, content coding (RFC 9110, 8.4), framing (RFC 9112).
//!
//! The properties of the site (`site.rs`) determine coding and framing. But gzip is used only if `Accept-Encoding`
//! allows it, and chunks are used only with HTTP/1.1.

use std::fmt::Write as _;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::answer::Answer;
use crate::chance::Chance;
use crate::request::RequestHead;
use crate::site::{Site, SiteFraming};

/// An encoded response.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) bytes: Vec<u8>,
    pub(crate) status: u16,
    /// Whether the server closes the connection after this response.
    pub(crate) close: bool,
}

/// Coding and framing of one response.
#[derive(Clone, Copy, Debug)]
struct ResponseFormat {
    gzip: bool,
    framing: SiteFraming,
    lowercase_names: bool,
    seed: u64,
}

/// Encodes the response of a site. `site` is `None` for an unknown host. `last`: whether the connection is closed after
/// this response.
pub(crate) fn reply(site: Option<&Site>, head: &RequestHead, answer: Answer, last: bool) -> Reply {
    let format = response_format(site, head, &answer);
    let answer = check_condition(head, answer);
    let close = last || !head.keep_alive || format.framing == SiteFraming::Close;
    let bodiless = answer.status == 304;
    let body = if format.gzip && !bodiless {
        gzip(&answer.body)
    } else {
        answer.body
    };
    let mut text = format!("HTTP/1.1 {} {}\r\n", answer.status, reason(answer.status));
    let mut header = |name: &str, value: &str| {
        let name = if format.lowercase_names {
            name.to_ascii_lowercase()
        } else {
            name.to_owned()
        };
        let _ = write!(text, "{name}: {value}\r\n");
    };
    for (name, value) in &answer.headers {
        header(name, value);
    }
    if format.gzip && !bodiless {
        header("Content-Encoding", "gzip");
        header("Vary", "Accept-Encoding");
    }
    match format.framing {
        _ if bodiless => {}
        SiteFraming::Length => header("Content-Length", &body.len().to_string()),
        SiteFraming::Chunked => header("Transfer-Encoding", "chunked"),
        SiteFraming::Close => {}
    }
    header("Connection", if close { "close" } else { "keep-alive" });
    text.push_str("\r\n");
    let mut bytes = text.into_bytes();
    if !bodiless && head.method != "HEAD" {
        match format.framing {
            SiteFraming::Chunked => put_chunks(&mut bytes, &body, format.seed),
            SiteFraming::Length | SiteFraming::Close => bytes.extend(body),
        }
    }
    Reply {
        bytes,
        status: answer.status,
        close,
    }
}

fn response_format(site: Option<&Site>, head: &RequestHead, answer: &Answer) -> ResponseFormat {
    let Some(site) = site else {
        return ResponseFormat {
            gzip: false,
            framing: SiteFraming::Length,
            lowercase_names: false,
            seed: 0,
        };
    };
    let text = answer
        .header("Content-Type")
        .is_some_and(|t| t.starts_with("text/"));
    let known_length = !text || answer.status != 200;
    ResponseFormat {
        gzip: site.gzip && text && head.gzip && answer.status == 200,
        framing: match site.framing {
            _ if known_length => SiteFraming::Length,
            SiteFraming::Chunked if head.http_1_0 => SiteFraming::Close,
            framing => framing,
        },
        lowercase_names: site.number % 5 == 3,
        seed: site.seed ^ site.number as u64,
    }
}

/// Replaces the response by a 304 if the conditional headers of the request match. `If-None-Match` has precedence (RFC
/// 9110, 13.2.2).
fn check_condition(head: &RequestHead, answer: Answer) -> Answer {
    let unchanged = match (&head.if_none_match, &head.if_modified_since) {
        _ if answer.status != 200 => false,
        (Some(tag), _) => answer.header("ETag") == Some(tag),
        (None, Some(date)) => answer.header("Last-Modified") == Some(date),
        (None, None) => false,
    };
    if unchanged {
        answer.not_modified()
    } else {
        answer
    }
}

pub(crate) fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 2), Compression::fast());
    encoder
        .write_all(body)
        .expect("a write to memory cannot fail");
    encoder.finish().expect("a write to memory cannot fail")
}

/// Appends the body in chunks of random length. One chunk in ten has a chunk extension.
fn put_chunks(out: &mut Vec<u8>, body: &[u8], seed: u64) {
    let mut chance = Chance::of(seed, &[body.len() as u64]);
    let mut rest = body;
    while !rest.is_empty() {
        let (piece, tail) = rest.split_at(rest.len().min(1 + chance.below(4000)));
        let extension = if chance.percent(10) { ";lab=1" } else { "" };
        out.extend(format!("{:x}{extension}\r\n", piece.len()).bytes());
        out.extend(piece);
        out.extend(b"\r\n");
        rest = tail;
    }
    out.extend(b"0\r\n\r\n");
}

pub(crate) fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        404 => "Not Found",
        410 => "Gone",
        _ => "",
    }
}
