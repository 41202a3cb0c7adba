//! SHA-1 digests. They are written in base 32, as is usual in WARC files. They identify payloads, and do not protect
//! against forgery.

use data_encoding::BASE32;
use sha1::{Digest as _, Sha1};

/// A SHA-1 digest.
pub(crate) type Digest = [u8; 20];

pub(crate) fn sha1(bytes: &[u8]) -> Digest {
    Sha1::digest(bytes).into()
}

/// The SHA-1 digests of two inputs. If the processor has SHA instructions, this is faster than hashing one after the
/// other.
pub fn sha1_pair(inputs: [&[u8]; 2]) -> [Digest; 2] {
    #[cfg(target_arch = "x86_64")]
    if let Some(digests) = crate::record::sha1_pair::sha1_pair(inputs) {
        return digests;
    }
    inputs.map(sha1)
}

/// The label before a digest in WARC headers.
pub(crate) const SHA1_PREFIX: &str = "sha1:";

/// The labelled digest of WARC headers: `sha1:` and 32 base 32 characters.
pub(crate) fn label(digest: &Digest) -> String {
    format!("{SHA1_PREFIX}{}", BASE32.encode(digest))
}

/// The digest in base 32, as in CDXJ lines: eight characters for every five bytes.
pub(crate) fn base32(digest: &Digest) -> [u8; 32] {
    const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let mut text = [0; 32];
    let groups = text.as_chunks_mut::<8>().0;
    for (group, bytes) in groups.iter_mut().zip(digest.as_chunks::<5>().0) {
        let append = |bits, byte: &u8| bits << 8 | usize::from(*byte);
        let mut bits = bytes.iter().fold(0, append);
        for character in group.iter_mut().rev() {
            *character = ALPHABET[bits % 32];
            bits /= 32;
        }
    }
    text
}

/// Parses a labelled digest; `None` for another algorithm or encoding.
pub(crate) fn parse(label: &str) -> Option<Digest> {
    let base32 = label.strip_prefix(SHA1_PREFIX)?;
    BASE32.decode(base32.as_bytes()).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_empty_payload_has_its_known_digest() {
        let label = label(&sha1(b""));
        assert_eq!(label, "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
        assert_eq!(parse(&label), Some(sha1(b"")));
        assert_eq!(parse("md5:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"), None);
        assert_eq!(parse("sha1:short"), None);
    }

    #[test]
    fn base32_agrees_with_the_label() {
        for number in 0..1000_u32 {
            let digest = sha1(&number.to_le_bytes());
            assert_eq!(base32(&digest)[..], label(&digest).as_bytes()[5..]);
        }
    }

    #[test]
    fn a_pair_has_the_same_digests_as_single_inputs() {
        let bytes: Vec<u8> = (0..1000_u32)
            .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect();
        // Every length of the last block, and pairs with different numbers of blocks.
        for length in (0..200).chain([447, 448, 511, 512, 1000]) {
            for other in [0, 1, 55, 56, 63, 64, 65, 120, 250, 999] {
                let inputs = [&bytes[other.min(length)..length], &bytes[..length]];
                assert_eq!(sha1_pair(inputs), inputs.map(sha1), "{other} to {length}");
                let swapped = [inputs[1], inputs[0]];
                assert_eq!(sha1_pair(swapped), swapped.map(sha1), "{other} to {length}");
            }
        }
    }
}
