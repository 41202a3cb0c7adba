//! The digests of an exchange, and the rule that says which payloads take part in duplicate detection.

use crate::Exchange;
use crate::index::entry::PayloadForm;
use crate::record::digest::{self, Digest};
use crate::record::http::{self, TransferCoding};

/// The digests of an exchange.
#[derive(Debug, Clone)]
pub(crate) struct PayloadDigests {
    /// Digest of the payload without transfer coding. The duplicate index uses it as key.
    pub(crate) key: Digest,
    /// Digest of the body as stored, with transfer coding. It is written as `WARC-Payload-Digest`, which `warcio check`
    /// verifies. `None` if other readers find the end of the head at another place than the fetcher did, because they
    /// would compute another digest.
    pub(crate) stored: Option<Digest>,
    /// Digest of the whole response. `None` if `stored` is `None`, because both are computed together.
    pub(crate) block: Option<Digest>,
    /// Form in which the payload is stored. `None` if the payload is excluded from duplicate detection.
    pub(crate) form: Option<PayloadForm>,
}

impl PayloadDigests {
    /// Hashes the exchange. A payload is excluded from duplicate detection in each of these cases:
    /// - It is truncated, empty, or shorter than `dedupe_minimum`.
    /// - Other readers find the end of the head at another place.
    /// - The body is neither exactly the payload nor exactly the payload in chunks. Reasons are another transfer
    ///   coding, bytes beyond `Content-Length`, trailers, and malformed chunks.
    pub(crate) fn of(exchange: &Exchange, dedupe_minimum: usize) -> Self {
        let (head, body) = exchange.split();
        // Usually body and payload are the same slice of memory, so their bytes need not be compared.
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

/// Whether a response may become a revisit record of an original. `form` is the form of the payload in the response,
/// and `original` that in the original. Replay combines the new head with the stored body. A chunked body needs a head
/// with `Transfer-Encoding: chunked`. A plain body works with such a head too if the body does not begin like a chunk,
/// because readers then ignore that header.
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
        // Other readers end this head at the line that has only a space, so they would compute another digest.
        let odd = PayloadDigests::of(
            &exchange("HTTP/1.1 200 OK\r\n \r\nA: b\r\n\r\n", "abc", "abc"),
            1,
        );
        assert_eq!(odd.stored, None);
    }
}
