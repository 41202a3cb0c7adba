//! An exchange becomes records, each packed by itself (WARC 1.1 sections 4 to 6). Runs on the worker threads;
//! one [`Encoder`] each, whose buffers are used again for every record.

use std::borrow::Cow;
use std::sync::Arc;

use aranha_units::calendar;

use crate::compress::{KEEP, RecordCompressor, roomy};
use crate::index::entry::{self, IndexEntry};
use crate::record::digest::{self, Digest};
use crate::record::escape;
use crate::record::header::{HeaderValue, WarcDate, put_field};
use crate::record::http;
use crate::record::id::{RecordId, RecordIds};
use crate::record::payload::PayloadDigests;
use crate::record::revisit::Revisit;
use crate::{Exchange, Options, WarcFields};

/// What stands behind a block.
const RECORD_END: &[u8] = b"\r\n\r\n";
/// Bytes that the end of a header takes at most, from the block's digest on.
const HEAD_END: usize = 192;
const HTTP_RESPONSE: &str = "application/http;msgtype=response";
const HTTP_REQUEST: &str = "application/http;msgtype=request";
const FIELDS: &str = "application/warc-fields";

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
    /// Set when the payload is not stored again.
    pub(crate) revisit: Option<Revisit>,
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
            revisit: None,
        }
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
            if draft.revisit.is_some() {
                "revisit"
            } else {
                "response"
            },
            draft.id,
            exchange.time_ms,
        );
        self.field("WARC-Target-URI", &*draft.url);
        self.address(exchange);
        let stored = match &draft.revisit {
            Some(revisit) => Some(revisit.original.digest),
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
        if let Some(revisit) = &draft.revisit {
            revisit.put_fields(&mut self.plain);
        }
        let length = match (&draft.revisit, &exchange.with_record_end) {
            (Some(_), _) => self.finish(HTTP_RESPONSE, Revisit::block(exchange), None, out),
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
            revisit: draft.revisit.is_some(),
            offset: 0,
            length: u32::try_from(length).expect("fetches are limited far below 4 GiB"),
            original: match draft.revisit {
                Some(_) => None,
                None => draft.payload.form.map(|form| (draft.payload.key, form)),
            },
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
        put_field(&mut self.plain, name, value);
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
