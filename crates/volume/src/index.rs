//! CDXJ: a sorted line for each response and revisit of a volume (but for answers 304), in the form that pywb reads:
//! `SURT YYYYMMDDhhmmss {"url": …, "mime": …, "status": …, "digest": …, "length": …, "offset": …, "filename": …}`.
//!
//! [`Entry`] is what a line is made of. It is gathered while a volume is written, and can be had again by reading the
//! volume ([`Entry::of`]): repair and `check` do that, so both ways must give the same line.

use std::fmt::Write as _;
use std::sync::Arc;

use jiff::Timestamp;

use crate::digest::{self, Digest};
use crate::http::{self, Transfer};
use crate::{Location, Record, escape, name};

/// What the index keeps of one record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// As in `WARC-Target-URI`.
    pub(crate) url: Arc<str>,
    pub(crate) time_ms: i64,
    pub(crate) media_type: Box<str>,
    pub(crate) status: Option<u16>,
    /// `WARC-Payload-Digest`.
    pub(crate) digest: Option<Digest>,
    pub(crate) revisit: bool,
    pub(crate) offset: u64,
    pub(crate) length: u32,
    /// Under which digest, and in which form, later duplicates may refer to this record.
    pub(crate) original: Option<(Digest, Form)>,
}

/// How a payload that others may refer to is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// As it is.
    Plain,
    /// In chunks.
    Chunked,
}

impl Entry {
    /// The entry of a record that was read; none for kinds that are not indexed.
    pub(crate) fn of(record: &Record, offset: u64, length: u64) -> Option<Self> {
        let revisit = match record.kind() {
            "response" => false,
            "revisit" => true,
            _ => return None,
        };
        let head = record.http_head();
        let identified = record
            .header("WARC-Identified-Payload-Type")
            .unwrap_or_default();
        let digest = record.header("WARC-Payload-Digest").and_then(digest::parse);
        let original = digest
            .filter(|_| !revisit)
            .and_then(|digest| original(record, digest));
        Some(Self {
            url: record.url().unwrap_or_default().into(),
            time_ms: record.time_ms().unwrap_or_default(),
            media_type: media_type(identified, &head),
            status: http::status(&head),
            digest,
            revisit,
            offset,
            length: u32::try_from(length).ok()?,
            original,
        })
    }

    /// Whether it has a line in the index. An answer 304 has none: replay tools would give it to a reader who never had
    /// the page (pywb does); without it they find the version that it stands for.
    pub(crate) fn is_listed(&self) -> bool {
        !(self.revisit && self.status == Some(304))
    }

    pub(crate) fn location(&self, volume: u32) -> Location {
        Location {
            volume,
            offset: self.offset,
            length: self.length,
        }
    }

    /// The line, with its end.
    pub(crate) fn line(&self, file: &str) -> String {
        let mut line = key(&self.url);
        line.push(' ');
        line.push_str(&stamp(self.time_ms));
        line.push_str(" {\"url\": ");
        line.push_str(&quoted(&self.url));
        let media_type = if self.revisit {
            "warc/revisit"
        } else {
            &self.media_type
        };
        line.push_str(", \"mime\": ");
        line.push_str(&quoted(media_type));
        if let Some(status) = self.status {
            let _ = write!(line, ", \"status\": \"{status}\"");
        }
        if let Some(digest) = &self.digest {
            let _ = write!(line, ", \"digest\": \"{}\"", digest::letters(digest));
        }
        let (length, offset) = (self.length, self.offset);
        let _ = write!(
            line,
            ", \"length\": \"{length}\", \"offset\": \"{offset}\", \"filename\": "
        );
        line.push_str(&quoted(file));
        line.push_str("}\n");
        line
    }
}

/// Whether, and how, later duplicates may refer to a response that was read. The writer's rule is in
/// [`crate::payload`]; where this one is stricter a payload is stored once more, and nothing else.
fn original(record: &Record, digest: Digest) -> Option<(Digest, Form)> {
    if record.header("WARC-Truncated").is_some() {
        return None;
    }
    match http::transfer(&record.http_head()) {
        Transfer::Plain => Some((digest, Form::Plain)),
        Transfer::Chunked => {
            let (payload, whole) = http::dechunk(&record.http_body(), usize::MAX);
            whole.then(|| (digest::sha1(&payload), Form::Chunked))
        }
        Transfer::Other => None,
    }
}

/// The media type of an entry: as identified, else as the server said, else `unk`, CDX's word for it.
pub(crate) fn media_type(identified: &str, head: &[u8]) -> Box<str> {
    let declared = || {
        let value = http::header(head, "content-type")?;
        let value = value.split(|&byte| byte == b';').next()?.trim_ascii();
        let plain = !value.is_empty() && value.iter().all(u8::is_ascii_graphic);
        plain.then(|| String::from_utf8_lossy(value).to_ascii_lowercase())
    };
    match identified {
        "" => declared().unwrap_or_else(|| "unk".to_owned()).into(),
        identified => identified.into(),
    }
}

/// The sort key of a URL: its SURT, which must hold no space, because a space ends it in the line.
pub(crate) fn key(url: &str) -> String {
    let surt = aranha_url::surt(url);
    if surt.bytes().all(|byte| byte > b' ' && byte != 0x7f) {
        return surt;
    }
    let mut out = Vec::with_capacity(surt.len() + 16);
    escape::uri(&surt, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// Fourteen digits.
pub(crate) fn stamp(time_ms: i64) -> String {
    timestamp(time_ms).strftime("%Y%m%d%H%M%S").to_string()
}

/// A point in time, whatever number comes in.
pub(crate) fn timestamp(time_ms: i64) -> Timestamp {
    Timestamp::from_millisecond(time_ms).unwrap_or(Timestamp::UNIX_EPOCH)
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a string is always JSON")
}

/// The whole index of a volume: its lines in the order of their bytes.
pub(crate) fn lines(entries: &[Entry], file: &str) -> Vec<String> {
    let listed = entries.iter().filter(|entry| entry.is_listed());
    let mut lines: Vec<String> = listed.map(|entry| entry.line(file)).collect();
    lines.sort_unstable();
    lines
}

/// The name of a volume's index.
pub(crate) fn file_name(volume: &str) -> String {
    let stem = name::stem(volume).unwrap_or(volume);
    format!("{stem}.cdxj")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_as_pywb_reads_it() {
        let mut entry = Entry {
            url: "http://example.org/a?b=\"c\"".into(),
            time_ms: 1_794_764_880_123,
            media_type: "text/html".into(),
            status: Some(200),
            digest: Some(digest::sha1(b"")),
            revisit: false,
            offset: 77,
            length: 1234,
            original: None,
        };
        let line = entry.line("x.warc.gz");
        let (rest, json) = line.split_once(" {").unwrap();
        assert!(rest.ends_with(" 20261115174800"), "{rest}");
        assert_eq!(
            json,
            "\"url\": \"http://example.org/a?b=\\\"c\\\"\", \"mime\": \"text/html\", \"status\": \"200\", \
             \"digest\": \"3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ\", \"length\": \"1234\", \"offset\": \"77\", \
             \"filename\": \"x.warc.gz\"}\n"
        );
        entry.revisit = true;
        entry.status = None;
        entry.digest = None;
        assert!(
            entry
                .line("x")
                .contains("\"mime\": \"warc/revisit\", \"length\"")
        );
    }

    #[test]
    fn media_types() {
        let check = |identified, head: &str, expected| {
            assert_eq!(&*media_type(identified, head.as_bytes()), expected);
        };
        check(
            "text/plain",
            "HTTP/1.1 200\r\nContent-Type: text/html\r\n\r\n",
            "text/plain",
        );
        check(
            "",
            "HTTP/1.1 200\r\nContent-Type: Text/HTML; charset=x\r\n\r\n",
            "text/html",
        );
        check("", "HTTP/1.1 200\r\nContent-Type: a b\r\n\r\n", "unk");
        check("", "HTTP/1.1 200\r\n\r\n", "unk");
    }
}
