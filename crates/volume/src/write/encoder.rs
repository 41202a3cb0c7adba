//! An exchange becomes records, each packed by itself (WARC 1.1 sections 4 to 6). Runs on the worker threads;
//! one [`Encoder`] each, whose buffers are used again for every record.

use std::borrow::Cow;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use aranha_units::calendar;
use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::compress::{KEEP, RecordCompressor, roomy};
use crate::duplicates::{Original, OriginalName};
use crate::index::entry::{self, IndexEntry, PayloadForm};
use crate::record::digest::{self, Digest};
use crate::record::escape;
use crate::record::header::{HeaderValue, WarcDate};
use crate::record::http;
use crate::record::payload::PayloadDigests;
use crate::{EarlierVersion, Exchange, Options, WarcFields};

/// What stands behind a block.
const RECORD_END: &[u8] = b"\r\n\r\n";
/// Bytes that the end of a header takes at most, from the block's digest on.
const HEAD_END: usize = 192;
const HTTP_RESPONSE: &str = "application/http;msgtype=response";
const HTTP_REQUEST: &str = "application/http;msgtype=request";
const FIELDS: &str = "application/warc-fields";
const NOT_MODIFIED: &str = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";
const SAME_PAYLOAD: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";

/// Gives out record identifiers: version 4 UUIDs, unique by the process's random salt and a count.
#[derive(Debug)]
pub(crate) struct RecordIds {
    salt: [u64; 2],
    count: AtomicU64,
}

impl RecordIds {
    pub(crate) fn new() -> Self {
        // RandomState is keyed by the system's random numbers, which are wanted here, and nothing else of it.
        let random = || RandomState::new().hash_one(std::process::id());
        Self {
            salt: [random(), random()],
            count: AtomicU64::new(0),
        }
    }

    /// Another one.
    pub(crate) fn next(&self) -> RecordId {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        let mut bytes =
            xxh3_128_with_seed(&(self.salt[0] ^ count).to_le_bytes(), self.salt[1]).to_be_bytes();
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        RecordId(bytes)
    }
}

/// A record's identifier: the bytes of its UUID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordId([u8; 16]);

/// `<urn:uuid:…>`, as in `WARC-Record-ID`.
impl HeaderValue for RecordId {
    fn put(&self, out: &mut Vec<u8>) {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut hex = [0; 32];
        for (two, byte) in hex.as_chunks_mut().0.iter_mut().zip(self.0) {
            *two = [byte >> 4, byte & 15].map(|digit| DIGITS[usize::from(digit)]);
        }
        let mut text = *b"<urn:uuid:00000000-0000-4000-8000-000000000000>";
        text[10..18].copy_from_slice(&hex[..8]);
        text[19..23].copy_from_slice(&hex[8..12]);
        text[24..28].copy_from_slice(&hex[12..16]);
        text[29..33].copy_from_slice(&hex[16..20]);
        text[34..46].copy_from_slice(&hex[20..]);
        out.extend_from_slice(&text);
    }
}

/// The records of one exchange, ready to be written.
#[derive(Debug)]
pub(crate) struct EncodedExchange {
    /// All members, response or revisit first.
    pub(crate) bytes: Vec<u8>,
    /// Its offset is still zero.
    pub(crate) entry: IndexEntry,
    /// Of the payload without transfer coding.
    pub(crate) key: Digest,
}

/// What the records of an exchange have in common, and what was decided about its payload.
#[derive(Debug)]
pub(crate) struct Draft<'exchange> {
    pub(crate) exchange: &'exchange Exchange,
    pub(crate) payload: PayloadDigests,
    /// Identifier of the response or revisit record.
    pub(crate) id: RecordId,
    /// The URL as written in `WARC-Target-URI`.
    pub(crate) url: Arc<str>,
    /// The record to refer to instead of storing the payload.
    pub(crate) original: Option<Arc<Original>>,
}

impl<'exchange> Draft<'exchange> {
    /// Hashes the payload; the duplicate index is asked afterwards.
    pub(crate) fn new(exchange: &'exchange Exchange, id: RecordId, minimum: usize) -> Self {
        Self {
            exchange,
            payload: PayloadDigests::of(exchange, minimum),
            id,
            url: escaped(&exchange.url, escape::is_plain_uri, escape::uri)
                .as_ref()
                .into(),
            original: None,
        }
    }

    /// What this answer refers to when it is a 304 and the record of the earlier version cannot be read: other tools
    /// find it by URL and date.
    pub(crate) fn unmodified(&self, earlier: &EarlierVersion) -> Arc<Original> {
        Arc::new(Original {
            name: OriginalName::Read {
                id: String::new(),
                date: calendar::rfc3339(earlier.time_ms),
            },
            url: self.url.clone(),
            digest: earlier.digest,
            form: PayloadForm::Plain,
            place: OnceLock::new(),
        })
    }
}

/// Which records go with a response.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Companions {
    pub(crate) request: bool,
    pub(crate) metadata: bool,
}

/// Builds and compresses records.
pub(crate) struct Encoder {
    packer: RecordCompressor,
    plain: Vec<u8>,
}

impl Encoder {
    /// Packs as the options say.
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            packer: RecordCompressor::new(options.compression, options.level),
            plain: Vec::new(),
        }
    }

    /// The warcinfo record that heads a file.
    pub(crate) fn warcinfo(
        &mut self,
        id: RecordId,
        time_ms: i64,
        file: &str,
        fields: &[(String, String)],
    ) -> Vec<u8> {
        let mut block = WarcFields::new();
        if !fields.iter().any(|(name, _)| name == "software") {
            let software = concat!("aranha/", env!("CARGO_PKG_VERSION"));
            block.put("software", software);
        }
        block.put("format", "WARC File Format 1.1");
        block.put(
            "conformsTo",
            "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        );
        for (name, value) in fields {
            block.put(name, value);
        }
        self.begin("warcinfo", id, time_ms);
        self.field("WARC-Filename", file);
        let mut out = Vec::new();
        self.finish(FIELDS, block.as_bytes(), None, &mut out);
        out
    }

    /// All records of an exchange.
    pub(crate) fn exchange(
        &mut self,
        draft: &Draft<'_>,
        companions: Companions,
        ids: &RecordIds,
    ) -> EncodedExchange {
        // Text shrinks to a third and less; its companions take some hundred bytes each.
        let mut bytes = Vec::with_capacity(draft.exchange.response.len() / 3 + 1536);
        let entry = self.response(draft, &mut bytes);
        let (request, metadata) = (&draft.exchange.request, draft.exchange.metadata.as_bytes());
        let (with_request, with_metadata) = (
            companions.request && !request.is_empty(),
            companions.metadata && !metadata.is_empty(),
        );
        // Both at once, where there are both.
        let both =
            (with_request && with_metadata).then(|| digest::sha1_pair([&request[..], metadata]));
        if with_request {
            self.begin("request", ids.next(), draft.exchange.time_ms);
            self.field("WARC-Target-URI", &*draft.url);
            self.field("WARC-Concurrent-To", &draft.id);
            self.address(draft.exchange);
            self.finish(
                HTTP_REQUEST,
                request,
                both.map(|[digest, _]| digest),
                &mut bytes,
            );
        }
        if with_metadata {
            self.begin("metadata", ids.next(), draft.exchange.time_ms);
            self.field("WARC-Target-URI", &*draft.url);
            self.field("WARC-Concurrent-To", &draft.id);
            self.finish(FIELDS, metadata, both.map(|[_, digest]| digest), &mut bytes);
        }
        EncodedExchange {
            bytes,
            entry,
            key: match draft.exchange.not_modified {
                Some(earlier) => earlier.digest,
                None => draft.payload.key,
            },
        }
    }

    /// The response, or the revisit when there is an original to refer to.
    fn response(&mut self, draft: &Draft<'_>, out: &mut Vec<u8>) -> IndexEntry {
        let exchange = draft.exchange;
        let (head, _) = exchange.split();
        let media_type = field_value(&exchange.media_type);
        self.begin(
            if draft.original.is_some() {
                "revisit"
            } else {
                "response"
            },
            draft.id,
            exchange.time_ms,
        );
        self.field("WARC-Target-URI", &*draft.url);
        self.address(exchange);
        let stored = match &draft.original {
            Some(original) => Some(original.digest),
            None => draft.payload.stored,
        };
        if let Some(digest) = &stored {
            self.field("WARC-Payload-Digest", digest);
        }
        if !media_type.is_empty() {
            self.field("WARC-Identified-Payload-Type", &*media_type);
        }
        if let Some(reason) = exchange.truncated {
            self.field("WARC-Truncated", &*field_value(reason));
        }
        if let Some(original) = &draft.original {
            let profile = match exchange.not_modified {
                Some(_) => NOT_MODIFIED,
                None => SAME_PAYLOAD,
            };
            self.reference(original, profile);
        }
        let length = match (&draft.original, &exchange.with_record_end) {
            (Some(_), _) => self.finish(HTTP_RESPONSE, head, None, out),
            (None, Some(ended)) if self.packer.packs_apart(self.plain.len() + HEAD_END) => {
                self.finish_apart(&exchange.response, ended, draft.payload.block, out)
            }
            (None, _) => {
                let digest = draft.payload.block;
                self.finish(HTTP_RESPONSE, &exchange.response, digest, out)
            }
        };
        IndexEntry {
            url: draft.url.clone(),
            time_ms: calendar::in_range(exchange.time_ms),
            media_type: entry::media_type(&media_type, head),
            status: http::status(head)
                .or_else(|| (exchange.status != 0).then_some(exchange.status)),
            digest: stored,
            revisit: draft.original.is_some(),
            offset: 0,
            length: u32::try_from(length).expect("fetches are limited far below 4 GiB"),
            original: match draft.original {
                Some(_) => None,
                None => draft.payload.form.map(|form| (draft.payload.key, form)),
            },
        }
    }

    /// The fields that lead from a revisit to its original, for every kind of reader.
    fn reference(&mut self, original: &Original, profile: &str) {
        self.field("WARC-Profile", profile);
        match &original.name {
            OriginalName::Given { id, .. } => self.field("WARC-Refers-To", id),
            OriginalName::Read { id, .. } if id.is_empty() => {}
            OriginalName::Read { id, .. } => self.field("WARC-Refers-To", id.as_str()),
        }
        self.field("WARC-Refers-To-Target-URI", &*original.url);
        match &original.name {
            OriginalName::Given { time_ms, .. } => {
                self.field("WARC-Refers-To-Date", &WarcDate(*time_ms));
            }
            OriginalName::Read { date, .. } => self.field("WARC-Refers-To-Date", date.as_str()),
        }
        if let Some((volume, offset)) = original.place.get() {
            // Ours: saves the reader a search. Not there when the original was still being compressed.
            let location = format!("{}:{offset}", u64::from(*volume));
            self.field("Aranha-Refers-To-Location", location.as_str());
        }
    }

    fn address(&mut self, exchange: &Exchange) {
        if let Some(address) = &exchange.address {
            self.field("WARC-IP-Address", address);
        }
    }

    fn begin(&mut self, kind: &str, id: RecordId, time_ms: i64) {
        self.plain.clear();
        self.plain.extend_from_slice(b"WARC/1.1\r\n");
        self.field("WARC-Type", kind);
        self.field("WARC-Record-ID", &id);
        self.field("WARC-Date", &WarcDate(time_ms));
    }

    fn field(&mut self, name: &str, value: &(impl HeaderValue + ?Sized)) {
        self.plain.extend_from_slice(name.as_bytes());
        self.plain.extend_from_slice(b": ");
        value.put(&mut self.plain);
        self.plain.extend_from_slice(b"\r\n");
    }

    /// The fields about the block, whose digest may be known. Takes no more than [`HEAD_END`] bytes with the line behind it.
    fn describe(&mut self, content_type: &str, block: &[u8], digest: Option<Digest>) {
        let digest = digest.unwrap_or_else(|| digest::sha1(block));
        self.field("WARC-Block-Digest", &digest);
        self.field("Content-Type", content_type);
        self.field("Content-Length", &(block.len() as u64));
    }

    /// As [`Encoder::finish`] for a response that lies in memory as records end: it stays where it is.
    fn finish_apart(
        &mut self,
        response: &[u8],
        with_record_end: &[u8],
        digest: Option<Digest>,
        out: &mut Vec<u8>,
    ) -> usize {
        debug_assert_eq!(with_record_end.strip_suffix(RECORD_END), Some(response));
        self.describe(HTTP_RESPONSE, response, digest);
        self.plain.extend_from_slice(b"\r\n");
        self.packer.pack_apart(&self.plain, with_record_end, out)
    }

    /// Ends the header, adds the block and compresses; the length of the member.
    fn finish(
        &mut self,
        content_type: &str,
        block: &[u8],
        digest: Option<Digest>,
        out: &mut Vec<u8>,
    ) -> usize {
        self.describe(content_type, block, digest);
        let whole = self.plain.len() + block.len() + 6;
        if whole > self.plain.capacity() {
            // Only the header is worth copying; to grow in place would copy the last record, too.
            let mut larger = Vec::with_capacity(roomy(whole));
            larger.extend_from_slice(&self.plain);
            self.plain = larger;
        }
        for part in [b"\r\n", block, RECORD_END] {
            self.plain.extend_from_slice(part);
        }
        let length = self.packer.pack(&self.plain, out);
        if self.plain.capacity() > KEEP {
            self.plain = Vec::new(); // one huge record must not hold its memory for ever
        }
        length
    }
}

fn field_value(text: &str) -> Cow<'_, str> {
    escaped(text, escape::is_plain_value, escape::value)
}

/// The text as it is when it is plain, which nearly all are.
fn escaped(text: &str, is_plain: fn(&str) -> bool, escape: fn(&str, &mut Vec<u8>)) -> Cow<'_, str> {
    if is_plain(text) {
        return text.into();
    }
    let mut out = Vec::with_capacity(text.len() + 16);
    escape(text, &mut out);
    String::from_utf8_lossy(&out).into_owned().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_uuids_and_differ() {
        let ids = RecordIds::new();
        let text = |id: RecordId| {
            let mut out = Vec::new();
            id.put(&mut out);
            String::from_utf8(out).unwrap()
        };
        let mut seen: Vec<String> = (0..1000).map(|_| text(ids.next())).collect();
        assert_eq!(
            seen[0].len(),
            "<urn:uuid:00000000-0000-4000-8000-000000000000>".len()
        );
        assert!(
            seen.iter()
                .all(|id| &id[24..25] == "4" && "89ab".contains(&id[29..30]))
        );
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 1000);
        let known = *b"\x00\x12\x34\x56\x78\x9a\xbc\xde\xf0\x0f\x1e\x2d\x3c\x4b\x5a\xff";
        assert_eq!(
            text(RecordId(known)),
            "<urn:uuid:00123456-789a-bcde-f00f-1e2d3c4b5aff>"
        );
        assert_ne!(RecordIds::new().next(), RecordIds::new().next());
    }
}
