//! SHA-1 in base 32, the form in which WARC files carry digests. Not a defence against forgers: it names payloads.

use data_encoding::BASE32;
use sha1::{Digest as _, Sha1};

/// A SHA-1 digest.
pub(crate) type Digest = [u8; 20];

/// The digest of these bytes.
pub(crate) fn sha1(bytes: &[u8]) -> Digest {
    Sha1::digest(bytes).into()
}

/// The SHA-1 digests of two texts, in less time than one after the other where the processor has instructions for it.
pub fn sha1_pair(texts: [&[u8]; 2]) -> [Digest; 2] {
    #[cfg(target_arch = "x86_64")]
    if let Some(digests) = crate::record::sha1_pair::sha1_pair(texts) {
        return digests;
    }
    texts.map(sha1)
}

/// Before the letters, in headers.
pub(crate) const ALGORITHM: &str = "sha1:";

/// As written in headers: `sha1:` and 32 letters.
pub(crate) fn label(digest: &Digest) -> String {
    format!("{ALGORITHM}{}", BASE32.encode(digest))
}

/// As written in CDXJ lines: 32 letters, eight for each five bytes.
pub(crate) fn letters(digest: &Digest) -> [u8; 32] {
    const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let mut letters = [0; 32];
    let eights = letters.as_chunks_mut::<8>().0;
    for (eight, five) in eights.iter_mut().zip(digest.as_chunks::<5>().0) {
        let together = |bits, byte: &u8| bits << 8 | usize::from(*byte);
        let mut bits = five.iter().fold(0, together);
        for letter in eight.iter_mut().rev() {
            *letter = ALPHABET[bits % 32];
            bits /= 32;
        }
    }
    letters
}

/// Reads what [`label`] wrote; none for another algorithm or form.
pub(crate) fn parse(label: &str) -> Option<Digest> {
    let letters = label.strip_prefix(ALGORITHM)?;
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

    #[test]
    fn letters_are_those_of_the_label() {
        for number in 0..1000_u32 {
            let digest = sha1(&number.to_le_bytes());
            assert_eq!(letters(&digest)[..], label(&digest).as_bytes()[5..]);
        }
    }

    #[test]
    fn two_at_once_are_the_same() {
        let text: Vec<u8> = (0..1000_u32)
            .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect();
        // Every length of the last block, and texts that end blocks before each other.
        for length in (0..200).chain([447, 448, 511, 512, 1000]) {
            for other in [0, 1, 55, 56, 63, 64, 65, 120, 250, 999] {
                let texts = [&text[other.min(length)..length], &text[..length]];
                assert_eq!(sha1_pair(texts), texts.map(sha1), "{other} to {length}");
                let turned = [texts[1], texts[0]];
                assert_eq!(sha1_pair(turned), turned.map(sha1), "{other} to {length}");
            }
        }
    }
}
