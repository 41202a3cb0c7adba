//! The digests of an exchange, and the rule for which payloads duplicates are detected.

use crate::Exchange;
use crate::index::entry::PayloadForm;
use crate::record::digest::{self, Digest};
use crate::record::http::{self, TransferCoding};

/// The digests of an exchange.
#[derive(Debug, Clone)]
pub(crate) struct PayloadDigests {
    /// Of the payload without transfer coding. Key of the duplicate index.
    pub(crate) key: Digest,
    /// Of the body as stored, with transfer coding: `WARC-Payload-Digest`, which `warcio check` verifies. `None` when other
    /// readers find the end of the head at another place than the fetcher did, because their digest would differ.
    pub(crate) stored: Option<Digest>,
    /// Of the whole response. Computed together with `stored`, otherwise `None`.
    pub(crate) block: Option<Digest>,
    /// Form in which the payload is stored. `None` excludes it from duplicate detection.
    pub(crate) form: Option<PayloadForm>,
}

impl PayloadDigests {
    /// Hashes the exchange. Excluded from duplicate detection are truncated payloads, payloads shorter than
    /// `dedupe_minimum`, and bodies that are not exactly the payload, plain or in chunks (bytes beyond `Content-Length`,
    /// trailers, malformed chunks).
    pub(crate) fn of(exchange: &Exchange, dedupe_minimum: usize) -> Self {
        let (head, body) = exchange.split();
        // Usually a slice of the same memory, which needs no comparison.
        let is_plain = std::ptr::eq(body, exchange.payload.as_ref()) || body == exchange.payload;
        let head_agrees = !head.is_empty() && http::head_end(&exchange.response) == head.len();
        let [stored, block] = if head_agrees {
            digest::sha1_pair([body, &exchange.response]).map(Some)
        } else {
            [None; 2]
        };
        let key = match stored {
            Some(digest) if is_plain => digest,
            _ => digest::sha1(&exchange.payload),
        };
        let eligible = head_agrees
            && exchange.truncated.is_none()
            && exchange.payload.len() >= dedupe_minimum.max(1);
        let form = match http::transfer_coding(head) {
            TransferCoding::Plain if eligible && is_plain => Some(PayloadForm::Plain),
            TransferCoding::Chunked
                if eligible && http::is_chunked_form_of(body, &exchange.payload) =>
            {
                Some(PayloadForm::Chunked)
            }
            _ => None,
        };
        Self {
            key,
            stored,
            block,
            form,
        }
    }
}

/// Whether a response in this form may become a revisit record of an original in the form `original`. Replay combines the
/// new head with the stored body. A chunked body needs a head with `Transfer-Encoding: chunked`. The reverse works, because
/// readers ignore that header if the body does not begin like a chunk.
pub(crate) fn may_refer(form: PayloadForm, original: PayloadForm, payload: &[u8]) -> bool {
    match (form, original) {
        (PayloadForm::Plain, PayloadForm::Plain) | (PayloadForm::Chunked, PayloadForm::Chunked) => {
            true
        }
        (PayloadForm::Plain, PayloadForm::Chunked) => false,
        (PayloadForm::Chunked, PayloadForm::Plain) => !http::begins_like_a_chunk(payload),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn exchange(head: &str, body: &str, payload: &str) -> Exchange {
        Exchange {
            response: Bytes::from(format!("{head}{body}")),
            head_length: head.len(),
            payload: Bytes::from(payload.to_owned()),
            ..Exchange::default()
        }
    }

    const PLAIN: &str = "HTTP/1.1 200 OK\r\n\r\n";
    const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

    #[test]
    fn duplicate_detection_covers_complete_regular_payloads() {
        let check = |exchange: Exchange, expected: Option<PayloadForm>| {
            assert_eq!(
                PayloadDigests::of(&exchange, 3).form,
                expected,
                "{exchange:?}"
            );
        };
        check(exchange(PLAIN, "abc", "abc"), Some(PayloadForm::Plain));
        check(exchange(PLAIN, "ab", "ab"), None);
        check(exchange(PLAIN, "abcTAIL", "abc"), None);
        check(
            exchange(CHUNKED, "3\r\nabc\r\n0\r\n\r\n", "abc"),
            Some(PayloadForm::Chunked),
        );
        check(
            exchange(CHUNKED, "3\r\nabc\r\n0\r\nA: b\r\n\r\n", "abc"),
            None,
        );
        check(exchange(CHUNKED, "abc", "abc"), None);
        check(exchange("", "abc", "abc"), None);
        check(
            exchange("HTTP/1.1 200 OK\r\n \r\nA: b\r\n\r\n", "abc", "abc"),
            None,
        );
        let truncated = Exchange {
            truncated: Some("length"),
            ..exchange(PLAIN, "abc", "abc")
        };
        check(truncated, None);
    }

    #[test]
    fn the_key_ignores_chunk_boundaries_but_the_stored_digest_includes_them() {
        let one = PayloadDigests::of(&exchange(CHUNKED, "3\r\nabc\r\n0\r\n\r\n", "abc"), 1);
        let two = PayloadDigests::of(
            &exchange(CHUNKED, "1\r\na\r\n2\r\nbc\r\n0\r\n\r\n", "abc"),
            1,
        );
        let plain = PayloadDigests::of(&exchange(PLAIN, "abc", "abc"), 1);
        assert_eq!(one.key, two.key);
        assert_eq!(one.key, plain.key);
        assert_ne!(one.stored, two.stored);
        assert_eq!(plain.stored, Some(plain.key));
        // Other readers end this head at the line with a space, so they could not verify a digest.
        let odd = PayloadDigests::of(
            &exchange("HTTP/1.1 200 OK\r\n \r\nA: b\r\n\r\n", "abc", "abc"),
            1,
        );
        assert_eq!(odd.stored, None);
    }
}
