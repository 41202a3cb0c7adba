//! Access to the codecs of this crate for the fuzz targets (`fuzz/`). Not part of the interface.

#![allow(
    clippy::missing_panics_doc,
    reason = "a fuzz target finds a fault by a panic"
)]

use crate::codec::{BlockBuffer, Packer};

pub use crate::sites::block_fuzzing::{journal_entry, page_records, queue_block, waiting_pages};

/// Opens a sealed block: its text and its fixed part. `None` if it is damaged.
pub fn open(sealed: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let packer = Packer::new().expect("there is memory");
    let (text, fixed) = packer.open(sealed)?;
    Some((text, fixed.to_vec()))
}

/// Checks that a block is the same after it was sealed and opened.
pub fn reseal(text: &[u8], fixed: &[u8]) {
    let packer = Packer::new().expect("there is memory");
    let block = BlockBuffer {
        text: text.to_vec(),
        fixed: fixed.to_vec(),
    };
    for sealed in [packer.seal(&block), packer.seal_fast(&block)] {
        let (opened, rest) = packer.open(&sealed).expect("a sealed block can be opened");
        assert_eq!((&*opened, rest), (text, fixed));
    }
}
