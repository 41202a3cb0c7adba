//! Encodes an exchange as WARC records (WARC 1.1, sections 4 to 6) and compresses each record into its own gzip member
//! or zstd frame. Every worker thread has one [`Encoder`], which reuses its buffers.

use std::borrow::Cow;
use std::sync::Arc;

use aranha_units::calendar;

use crate::compress::{MAX_KEPT_BUFFER, RecordCompressor, buffer_size};
use crate::index::entry::{self, IndexEntry};
use crate::record::digest::{self, Digest};
use crate::record::escape;
use crate::record::header::{HeaderValue, WarcDate, put_field};
use crate::record::http;
use crate::record::id::{RecordId, RecordIds};
use crate::record::payload::PayloadDigests;
use crate::record::revisit::Revisit;
use crate::write::pack::PackedResponse;
use crate::{Exchange, Options, WarcFields};

/// The bytes after the block of every record.
const RECORD_END: &[u8] = b"\r\n\r\n";
/// Maximum length of the last part of a header, from `WARC-Block-Digest` on, in bytes.
const MAX_HEADER_END: usize = 192;
const HTTP_RESPONSE: &str = "application/http;msgtype=response";
const HTTP_REQUEST: &str = "application/http;msgtype=request";
const WARC_FIELDS: &str = "application/warc-fields";

/// The records of one exchange, ready to be written.
#[derive(Debug)]
pub(crate) struct EncodedExchange {
    /// The response record, if it was compressed into a file of its own (`pack.rs`). It is written before `bytes`.
    pub(crate) packed: Option<Box<PackedResponse>>,
    /// The other records, compressed. If `packed` is `None`, the response or revisit record is the first.
    pub(crate) bytes: Vec<u8>,
    /// The index entry. Its offset is 0 until the writer sets it.
    pub(crate) entry: IndexEntry,
    /// Digest of the payload without transfer coding.
    pub(crate) key: Digest,
}

/// An exchange before encoding: the values that its records share, and the decision whether it becomes a revisit
/// record.
#[derive(Debug)]
pub(crate) struct Draft<'exchange> {
    pub(crate) exchange: &'exchange Exchange,
    pub(crate) payload: PayloadDigests,
    /// Identifier of the response or revisit record.
    pub(crate) id: RecordId,
    /// The URL as in `WARC-Target-URI`.
    pub(crate) url: Arc<str>,
    /// Set if the exchange becomes a revisit record.
    pub(crate) revisit: Option<Revisit>,
}

impl<'exchange> Draft<'exchange> {
    /// Hashes the payload. The caller then sets `revisit`.
    pub(crate) fn new(exchange: &'exchange Exchange, id: RecordId, dedupe_minimum: usize) -> Self {
        Self {
            exchange,
            payload: PayloadDigests::of(exchange, dedupe_minimum),
            id,
            url: escaped(&exchange.url, escape::is_plain_uri, escape::uri)
                .as_ref()
                .into(),
            revisit: None,
        }
    }

    /// The draft of a response whose body is in a file and was hashed before.
    pub(crate) fn of_large(
        exchange: &'exchange Exchange,
        id: RecordId,
        payload: PayloadDigests,
    ) -> Self {
        Self {
            exchange,
            payload,
            id,
            url: escaped(&exchange.url, escape::is_plain_uri, escape::uri)
                .as_ref()
                .into(),
            revisit: None,
        }
    }

    /// The digest of the body that is stored under this draft, or of the body that it refers to.
    fn stored_digest(&self) -> Option<Digest> {
        match &self.revisit {
            Some(revisit) => Some(revisit.original.digest),
            None => self.payload.stored,
        }
    }
}

/// The optional records that accompany a response.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Companions {
    pub(crate) request: bool,
    pub(crate) metadata: bool,
}

/// Builds and compresses records.
pub(crate) struct Encoder {
    compressor: RecordCompressor,
    /// The record being built, uncompressed.
    record: Vec<u8>,
}

impl Encoder {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            compressor: RecordCompressor::new(options.compression, options.level),
            record: Vec::new(),
        }
    }

    /// The warcinfo record, which is the first record of every volume.
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
        self.finish(WARC_FIELDS, block.as_bytes(), None, &mut out);
        out
    }

    /// The header of the response record of a large body.
    pub(crate) fn large_header(&mut self, draft: &Draft<'_>, body_length: u64) -> Vec<u8> {
        self.begin_response(draft);
        let (head, _) = draft.exchange.split();
        let digest = draft.payload.block.unwrap_or_default();
        self.put_block_fields(HTTP_RESPONSE, head.len() as u64 + body_length, digest);
        self.record.extend_from_slice(b"\r\n");
        std::mem::take(&mut self.record)
    }

    /// All records of an exchange. If the response record was packed before (`packed`), the draft must describe the
    /// same record. The packed record is dropped if the exchange becomes a revisit record.
    pub(crate) fn exchange(
        &mut self,
        draft: &Draft<'_>,
        companions: Companions,
        ids: &RecordIds,
        packed: Option<Box<PackedResponse>>,
    ) -> EncodedExchange {
        let packed = packed.filter(|_| draft.revisit.is_none());
        // Text compresses to a third or less. The other records take a few hundred bytes each.
        let response = match packed {
            Some(_) => 0,
            None => draft.exchange.response.len() / 3,
        };
        let mut bytes = Vec::with_capacity(response + 1536);
        let length = match &packed {
            Some(packed) => packed.length,
            None => self.response(draft, &mut bytes) as u64,
        };
        let entry = index_entry(draft, length);
        let (request, metadata) = (&draft.exchange.request, draft.exchange.metadata.as_bytes());
        let (with_request, with_metadata) = (
            companions.request && !request.is_empty(),
            companions.metadata && !metadata.is_empty(),
        );
        // Hashing request and metadata at the same time is faster than one after the other.
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
            self.finish(
                WARC_FIELDS,
                metadata,
                both.map(|[_, digest]| digest),
                &mut bytes,
            );
        }
        EncodedExchange {
            packed,
            bytes,
            entry,
            key: match draft.exchange.not_modified {
                Some(earlier) => earlier.digest,
                None => draft.payload.key,
            },
        }
    }

    /// The fields of the response record, or of the revisit record if `draft.revisit` is set.
    fn begin_response(&mut self, draft: &Draft<'_>) {
        let exchange = draft.exchange;
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
        if let Some(digest) = &draft.stored_digest() {
            self.field("WARC-Payload-Digest", digest);
        }
        if !media_type.is_empty() {
            self.field("WARC-Identified-Payload-Type", &*media_type);
        }
        if !exchange.language.is_empty() {
            let language = field_value(&exchange.language);
            self.field("WARC-Identified-Content-Language", &*language);
        }
        if let Some(reason) = exchange.truncated {
            self.field("WARC-Truncated", &*field_value(reason));
        }
        if let Some(revisit) = &draft.revisit {
            revisit.put_fields(&mut self.record);
        }
    }

    /// Appends the compressed response record, or the revisit record if `draft.revisit` is set. Returns its length.
    fn response(&mut self, draft: &Draft<'_>, out: &mut Vec<u8>) -> usize {
        let exchange = draft.exchange;
        self.begin_response(draft);
        match (&draft.revisit, &exchange.with_record_end) {
            (Some(_), _) => self.finish(HTTP_RESPONSE, Revisit::block(exchange), None, out),
            (None, Some(ended))
                if self
                    .compressor
                    .can_compress_split(self.record.len() + MAX_HEADER_END) =>
            {
                self.finish_uncopied(&exchange.response, ended, draft.payload.block, out)
            }
            (None, _) => {
                let digest = draft.payload.block;
                self.finish(HTTP_RESPONSE, &exchange.response, digest, out)
            }
        }
    }

    fn address(&mut self, exchange: &Exchange) {
        if let Some(address) = &exchange.address {
            self.field("WARC-IP-Address", address);
        }
    }

    /// Starts a record with the fields that every record has.
    fn begin(&mut self, kind: &str, id: RecordId, time_ms: i64) {
        self.record.clear();
        self.record.extend_from_slice(b"WARC/1.1\r\n");
        self.field("WARC-Type", kind);
        self.field("WARC-Record-ID", &id);
        self.field("WARC-Date", &WarcDate(time_ms));
    }

    fn field(&mut self, name: &str, value: &(impl HeaderValue + ?Sized)) {
        put_field(&mut self.record, name, value);
    }

    /// Appends the fields that describe the block. These fields and the empty line after them have at most
    /// [`MAX_HEADER_END`] bytes.
    fn put_block_fields(&mut self, content_type: &str, length: u64, digest: Digest) {
        self.field("WARC-Block-Digest", &digest);
        self.field("Content-Type", content_type);
        self.field("Content-Length", &length);
    }

    /// Like [`Encoder::finish`], for a response that is followed by [`RECORD_END`] in memory. The response is
    /// compressed without being copied into the buffer with the header.
    fn finish_uncopied(
        &mut self,
        response: &[u8],
        with_record_end: &[u8],
        digest: Option<Digest>,
        out: &mut Vec<u8>,
    ) -> usize {
        debug_assert_eq!(with_record_end.strip_suffix(RECORD_END), Some(response));
        let digest = digest.unwrap_or_else(|| digest::sha1(response));
        self.put_block_fields(HTTP_RESPONSE, response.len() as u64, digest);
        self.record.extend_from_slice(b"\r\n");
        self.compressor
            .compress_split(&self.record, with_record_end, out)
    }

    /// Completes the header, appends the block and compresses the record. Returns its compressed length.
    fn finish(
        &mut self,
        content_type: &str,
        block: &[u8],
        digest: Option<Digest>,
        out: &mut Vec<u8>,
    ) -> usize {
        let digest = digest.unwrap_or_else(|| digest::sha1(block));
        self.put_block_fields(content_type, block.len() as u64, digest);
        let length = self.record.len() + block.len() + 6;
        if length > self.record.capacity() {
            // A new buffer is allocated, and only the header is copied into it. Growing the old buffer might copy its
            // whole capacity.
            let mut larger = Vec::with_capacity(buffer_size(length));
            larger.extend_from_slice(&self.record);
            self.record = larger;
        }
        for part in [b"\r\n", block, RECORD_END] {
            self.record.extend_from_slice(part);
        }
        let length = self.compressor.compress(&self.record, out);
        if self.record.capacity() > MAX_KEPT_BUFFER {
            self.record = Vec::new(); // frees the memory of a very large record
        }
        length
    }
}

/// The index entry of a response or revisit record of this compressed length.
fn index_entry(draft: &Draft<'_>, length: u64) -> IndexEntry {
    let exchange = draft.exchange;
    let (head, _) = exchange.split();
    IndexEntry {
        url: draft.url.clone(),
        time_ms: calendar::in_range(exchange.time_ms),
        media_type: entry::media_type(&field_value(&exchange.media_type), head),
        languages: field_value(&exchange.language).into(),
        status: http::status(head).or_else(|| (exchange.status != 0).then_some(exchange.status)),
        digest: draft.stored_digest(),
        revisit: draft.revisit.is_some(),
        offset: 0,
        length: u32::try_from(length).expect("the packer refuses records of 4 GiB and more"),
        original: match draft.revisit {
            Some(_) => None,
            None => draft.payload.form.map(|form| (draft.payload.key, form)),
        },
    }
}

fn field_value(text: &str) -> Cow<'_, str> {
    escaped(text, escape::is_plain_value, escape::value)
}

/// The text with its special characters escaped. Most texts have none and are returned unchanged.
fn escaped(text: &str, is_plain: fn(&str) -> bool, escape: fn(&str, &mut Vec<u8>)) -> Cow<'_, str> {
    if is_plain(text) {
        return text.into();
    }
    let mut out = Vec::with_capacity(text.len() + 16);
    escape(text, &mut out);
    String::from_utf8_lossy(&out).into_owned().into()
}
