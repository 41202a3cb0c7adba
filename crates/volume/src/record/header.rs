//! Writes header fields directly into the record. The records of a page have about two dozen fields. Formatting each
//! field as a `String` would allocate memory that is freed at once.

use std::io::Write as _;
use std::net::IpAddr;

use aranha_units::calendar;

use crate::record::digest::{self, Digest};

/// Appends one header field, with its line end.
pub(crate) fn put_field(out: &mut Vec<u8>, name: &str, value: &(impl HeaderValue + ?Sized)) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    value.put(out);
    out.extend_from_slice(b"\r\n");
}

/// The value of a header field.
pub(crate) trait HeaderValue {
    /// Appends the value as written in a header.
    fn put(&self, out: &mut Vec<u8>);
}

/// Text without line ends. Text from the web must be escaped first ([`crate::record::escape`]).
impl HeaderValue for str {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.as_bytes());
    }
}

/// `sha1:` and the digest in base 32.
impl HeaderValue for Digest {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(digest::SHA1_PREFIX.as_bytes());
        out.extend_from_slice(&digest::base32(self));
    }
}

/// The number in decimal.
impl HeaderValue for u64 {
    fn put(&self, out: &mut Vec<u8>) {
        let mut digits = [0; 20];
        let (mut rest, mut start) = (*self, digits.len());
        loop {
            start -= 1;
            digits[start] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        out.extend_from_slice(&digits[start..]);
    }
}

impl HeaderValue for IpAddr {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            IpAddr::V4(address) => {
                let [first, others @ ..] = address.octets().map(u64::from);
                first.put(out);
                for octet in others {
                    out.push(b'.');
                    octet.put(out);
                }
            }
            IpAddr::V6(address) => {
                let _ = write!(out, "{address}"); // a write to a vector cannot fail
            }
        }
    }
}

/// A `WARC-Date`: Unix time in milliseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WarcDate(pub(crate) i64);

impl HeaderValue for WarcDate {
    fn put(&self, out: &mut Vec<u8>) {
        calendar::put_rfc3339(self.0, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &(impl HeaderValue + ?Sized), expected: &str) {
        let mut out = b"before ".to_vec();
        value.put(&mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            format!("before {expected}")
        );
    }

    #[test]
    fn values_are_formatted_like_the_standard_library() {
        for number in [0, 7, 10, 99, 100, 255, 123_456_789, u64::MAX - 1, u64::MAX] {
            check(&number, &number.to_string());
        }
        for address in [
            "0.0.0.0",
            "127.0.0.1",
            "192.0.2.10",
            "255.255.255.255",
            "::1",
            "2001:db8::7",
        ] {
            check(&address.parse::<IpAddr>().unwrap(), address);
        }
        let digest = digest::sha1(b"");
        check(&digest, &digest::label(&digest));
        check(&WarcDate(1_794_764_880_123), "2026-11-15T17:48:00.123Z");
        check("text", "text");
    }
}
