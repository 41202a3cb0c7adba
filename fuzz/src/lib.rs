//! What several fuzz targets need.

use aranha_url::{CanonUrl, Canonicaliser};

/// Splits an input: its last bytes choose the parameters of a target, and the rest is the text to parse. So a file of
/// the corpus is a useful input as it is.
pub fn with_parameters<const COUNT: usize>(data: &[u8]) -> (&[u8], [u8; COUNT]) {
    match data.split_last_chunk() {
        Some((text, parameters)) => (text, *parameters),
        None => (data, [0; COUNT]),
    }
}

/// Sizes of reads, from 1 to 256 bytes.
pub fn pieces(parameters: [u8; 3]) -> [usize; 3] {
    parameters.map(|byte| usize::from(byte) + 1)
}

/// A valid URL.
pub fn url(text: &str) -> CanonUrl {
    Canonicaliser::default()
        .canon(text)
        .expect("the URL is valid")
}
