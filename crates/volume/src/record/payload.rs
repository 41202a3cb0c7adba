//! What an exchange's payload is called, and whether it takes part in the search for duplicates.

use crate::Exchange;
use crate::index::entry::PayloadForm;
use crate::record::digest::{self, Digest};
use crate::record::http::{self, TransferCoding};

/// The digests of an exchange.
#[derive(Debug, Clone)]
pub(crate) struct PayloadDigests {
    /// Of the payload without transfer coding: what duplicates are judged on.
    pub(crate) key: Digest,
    /// Of the body as stored, chunks included: `WARC-Payload-Digest`, which `warcio check` verifies. None when
    /// readers would see the head end elsewhere than the fetcher did, so that no digest could agree.
    pub(crate) stored: Option<Digest>,
    /// Of the whole response, where it was taken along.
    pub(crate) block: Option<Digest>,
    /// How it is stored, when it may be a duplicate or be referred to by one.
    pub(crate) form: Option<PayloadForm>,
}

impl PayloadDigests {
    /// Hashes, and applies the rule. Truncated payloads, payloads shorter than `minimum`, and bodies that are not
    /// exactly the payload or its chunks (a tail beyond Content-Length, trailers, faulty chunks) stay out of it.
    pub(crate) fn of(exchange: &Exchange, minimum: usize) -> Self {
        let (head, body) = exchange.split();
        // Nearly always the very same bytes, which need not be compared.
        let same = std::ptr::eq(body, exchange.payload.as_ref()) || body == exchange.payload;
        let regular = !head.is_empty() && http::head_end(&exchange.response) == head.len();
        let [stored, block] = if regular {
            digest::sha1_pair([body, &exchange.response]).map(Some)
        } else {
            [None; 2]
        };
        let key = match stored {
            Some(digest) if same => digest,
            _ => digest::sha1(&exchange.payload),
        };
        let wanted =
            regular && exchange.truncated.is_none() && exchange.payload.len() >= minimum.max(1);
        let form = match http::transfer(head) {
            TransferCoding::Plain if wanted && same => Some(PayloadForm::Plain),
            TransferCoding::Chunked
                if wanted && http::is_chunked_form_of(body, &exchange.payload) =>
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

/// Whether a payload in this form, seen again, may be replaced by a reference to one that is stored in `original`
/// form. Replay joins the new head with the stored body, so the head must be able to describe that body: chunks need a
/// head that says so, while readers pass over `chunked` in a head when the body does not look like it.
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
    fn who_takes_part() {
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
    fn chunk_borders_do_not_matter_but_the_stored_digest_has_them() {
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
        // A second head that ends elsewhere for other readers: no digest that they could verify.
        let odd = PayloadDigests::of(
            &exchange("HTTP/1.1 200 OK\r\n \r\nA: b\r\n\r\n", "abc", "abc"),
            1,
        );
        assert_eq!(odd.stored, None);
    }
}
