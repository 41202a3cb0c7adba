//! SHA-1 in base 32, the form in which WARC files carry digests. Not a defence against forgers: it names payloads.

use data_encoding::BASE32;
use sha1::{Digest as _, Sha1};

/// A SHA-1 digest.
pub(crate) type Digest = [u8; 20];

/// The digest of these bytes.
pub(crate) fn sha1(bytes: &[u8]) -> Digest {
    Sha1::digest(bytes).into()
}

/// As written in headers: `sha1:` and 32 letters.
pub(crate) fn label(digest: &Digest) -> String {
    format!("sha1:{}", BASE32.encode(digest))
}

/// As written in CDXJ lines: 32 letters.
pub(crate) fn letters(digest: &Digest) -> String {
    BASE32.encode(digest)
}

/// Reads what [`label`] wrote; none for another algorithm or form.
pub(crate) fn parse(label: &str) -> Option<Digest> {
    let letters = label.strip_prefix("sha1:")?;
    BASE32.decode(letters.as_bytes()).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_empty_payload_has_its_known_name() {
        let label = label(&sha1(b""));
        assert_eq!(label, "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
        assert_eq!(parse(&label), Some(sha1(b"")));
        assert_eq!(parse("md5:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"), None);
        assert_eq!(parse("sha1:short"), None);
    }
}
