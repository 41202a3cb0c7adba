//! Writes the index of a volume as CDXJ, in the form that pywb reads: sorted, one line for each response or revisit
//! record, except for 304 responses.
//!
//! ```text
//! SURT YYYYMMDDhhmmss {"url": …, "mime": …, "status": …, "digest": …, "length": …, "offset": …, "filename": …, "languages": …}
//! ```
//!
//! An [`IndexEntry`] has the values of a line. The encoder makes the entry while a volume is written. Repair and
//! `check` make it from the stored record ([`IndexEntry::of`]). Both ways must give the same line.

use std::sync::Arc;

use aranha_units::calendar;

use crate::files::name;
use crate::record::digest::{self, Digest};
use crate::record::escape;
use crate::record::header::HeaderValue as _;
use crate::record::http::{self, TransferCoding};
use crate::{Location, VolumeId, WarcRecord};

/// The index entry of one response or revisit record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    /// The URL as in `WARC-Target-URI`.
    pub(crate) url: Arc<str>,
    pub(crate) time_ms: i64,
    pub(crate) media_type: Box<str>,
    /// `WARC-Identified-Content-Language`; empty if there is none.
    pub(crate) languages: Box<str>,
    pub(crate) status: Option<u16>,
    /// `WARC-Payload-Digest`.
    pub(crate) digest: Option<Digest>,
    pub(crate) revisit: bool,
    pub(crate) offset: u64,
    pub(crate) length: u32,
    /// Digest of the payload without transfer coding, and the form in which the payload is stored. Set only if later
    /// duplicates may refer to this record.
    pub(crate) original: Option<(Digest, PayloadForm)>,
}

/// Form in which a payload is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PayloadForm {
    /// Without transfer coding.
    Plain,
    /// In HTTP/1.1 chunks.
    Chunked,
}

impl IndexEntry {
    /// The entry of a stored record; `None` for kinds of records that are not indexed.
    pub(crate) fn of(record: &WarcRecord, offset: u64, length: u64) -> Option<Self> {
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
            languages: record
                .header("WARC-Identified-Content-Language")
                .unwrap_or_default()
                .into(),
            status: http::status(&head),
            digest,
            revisit,
            offset,
            length: u32::try_from(length).ok()?,
            original,
        })
    }

    /// Whether the entry has a line in the index. A 304 response has no line, because pywb would replay it to a browser
    /// that does not have the page. Because the 304 response has no line, replay tools find the earlier version.
    pub(crate) fn is_listed(&self) -> bool {
        !(self.revisit && self.status == Some(304))
    }

    pub(crate) fn location(&self, volume: VolumeId) -> Location {
        Location {
            volume,
            offset: self.offset,
            length: self.length,
        }
    }

    /// The CDXJ line, with its line feed.
    pub(crate) fn line(&self, file: &str) -> String {
        let key = key(&self.url);
        let media_type = if self.revisit {
            "warc/revisit"
        } else {
            &self.media_type
        };
        // The JSON names, the digest and the numbers take less than 200 bytes.
        let strings =
            key.len() + self.url.len() + media_type.len() + file.len() + self.languages.len();
        let mut line = Vec::with_capacity(strings + 200);
        line.extend_from_slice(key.as_bytes());
        line.push(b' ');
        calendar::put_digits14(self.time_ms, &mut line);
        line.extend_from_slice(b" {\"url\": ");
        quote(&self.url, &mut line);
        line.extend_from_slice(b", \"mime\": ");
        quote(media_type, &mut line);
        if let Some(status) = self.status {
            line.extend_from_slice(b", \"status\": \"");
            u64::from(status).put(&mut line);
            line.push(b'"');
        }
        if let Some(digest) = &self.digest {
            line.extend_from_slice(b", \"digest\": \"");
            line.extend_from_slice(&digest::base32(digest));
            line.push(b'"');
        }
        line.extend_from_slice(b", \"length\": \"");
        u64::from(self.length).put(&mut line);
        line.extend_from_slice(b"\", \"offset\": \"");
        self.offset.put(&mut line);
        line.extend_from_slice(b"\", \"filename\": ");
        quote(file, &mut line);
        if !self.languages.is_empty() {
            line.extend_from_slice(b", \"languages\": ");
            quote(&self.languages, &mut line);
        }
        line.extend_from_slice(b"}\n");
        String::from_utf8(line).expect("made of strings and ASCII")
    }
}

/// The payload digest and its form (plain or chunked), with which later duplicates can refer to this response. `None` if
/// they must not refer to it. The rule for new exchanges is in
/// [`crate::record::payload`]. This function may be stricter than the rule for new exchanges. The only effect is that a
/// payload is stored a second time.
fn original(record: &WarcRecord, digest: Digest) -> Option<(Digest, PayloadForm)> {
    if record.header("WARC-Truncated").is_some() {
        return None;
    }
    match http::transfer_coding(&record.http_head()) {
        TransferCoding::Plain => Some((digest, PayloadForm::Plain)),
        // The chunks of a record that is too large for memory are not read.
        TransferCoding::Chunked if record.is_partial() => None,
        TransferCoding::Chunked => {
            let (payload, complete) = http::dechunk(&record.http_body(), usize::MAX);
            complete.then(|| (digest::sha1(&payload), PayloadForm::Chunked))
        }
        TransferCoding::Other => None,
    }
}

/// The media type of an entry: `identified` if it is not empty, otherwise the type in the `Content-Type` header. If
/// there is no such type either, it is `unk`, the CDX word for unknown.
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

/// The sort key of a URL: its SURT. Spaces and control characters are escaped, because a space ends the key.
pub(crate) fn key(url: &str) -> String {
    let surt = aranha_url::surt(url);
    if surt.bytes().all(|byte| byte > b' ' && byte != 0x7f) {
        return surt;
    }
    let mut out = Vec::with_capacity(surt.len() + 16);
    escape::uri(&surt, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// Appends a JSON string. Most strings need no escapes, and are copied.
fn quote(text: &str, out: &mut Vec<u8>) {
    let plain = |plain, byte: u8| plain & !matches!(byte, 0..b' ' | b'"' | b'\\');
    if text.bytes().fold(true, plain) {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else {
        serde_json::to_writer(out, text)
            .expect("a string is valid JSON, and a vector accepts all writes");
    }
}

/// The lines of a volume's index, sorted by their bytes.
pub(crate) fn lines(entries: &[IndexEntry], file: &str) -> Vec<String> {
    let listed = entries.iter().filter(|entry| entry.is_listed());
    let mut lines: Vec<String> = listed.map(|entry| entry.line(file)).collect();
    lines.sort_unstable();
    lines
}

/// File name of a volume's index.
pub(crate) fn file_name(volume: &str) -> String {
    let stem = name::stem(volume).unwrap_or(volume);
    format!("{stem}.cdxj")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_has_the_form_that_pywb_reads() {
        let mut entry = IndexEntry {
            url: "http://example.org/a?b=\"c\"".into(),
            time_ms: 1_794_764_880_123,
            media_type: "text/html".into(),
            languages: "".into(),
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
        entry.languages = "por".into();
        assert!(
            entry
                .line("x")
                .ends_with("\"filename\": \"x\", \"languages\": \"por\"}\n")
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

    proptest! {
        #[test]
        fn strings_are_quoted_like_serde_json(text in any::<String>(), plain in "[ -~]{0,20}", odd in "[a\"\\\\\\x00-\\x20\\x7f-\\xa0]{0,5}") {
            for text in [text, plain, odd] {
                let mut out = Vec::new();
                quote(&text, &mut out);
                prop_assert_eq!(String::from_utf8(out).unwrap(), serde_json::to_string(&text).unwrap());
            }
        }
    }

    #[test]
    fn the_media_type_is_identified_declared_or_unknown() {
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
