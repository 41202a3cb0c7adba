//! Decodes blocks of the frontier from any bytes, for the fuzz targets (`fuzz/`). A block that can be decoded is
//! encoded and decoded again, and the result must be the same. Each function returns whether the block could be
//! decoded.

#![allow(
    clippy::missing_panics_doc,
    reason = "a fuzz target finds a fault by a panic"
)]

use super::later;
use super::page_block::{put_page, read_page, skip_page};
use super::pages;
use crate::codec::{BlockBuffer, Reader, put_signed};
use crate::links::gather::Gather;

/// A block of the queue or the window.
pub fn queue_block(text: &[u8], fixed: &[u8]) -> bool {
    let (mut texts, mut fixeds) = (Reader::new(text), Reader::new(fixed));
    while !texts.is_empty() {
        let (mut skipped, mut skipped_fixed) =
            (Reader::new(texts.rest()), Reader::new(fixeds.rest()));
        let Some(page) = read_page(&mut texts, &mut fixeds) else {
            return false;
        };
        skip_page(&mut skipped, &mut skipped_fixed)
            .expect("a page that can be read can be skipped");
        assert_eq!(skipped.rest().len(), texts.rest().len());
        assert_eq!(skipped_fixed.rest().len(), fixeds.rest().len());
        let mut block = BlockBuffer::default();
        put_page(&mut block, &page);
        let (mut again, mut again_fixed) = (Reader::new(&block.text), Reader::new(&block.fixed));
        let read = read_page(&mut again, &mut again_fixed);
        assert_eq!(read.as_ref(), Some(&page));
        assert!(again.is_empty() && again_fixed.is_empty());
    }
    fixeds.is_empty()
}

/// A block of pages that wait until their due time.
pub fn waiting_pages(text: &[u8], fixed: &[u8]) -> bool {
    let Some(waiting) = later::read_later(text, fixed) else {
        return false;
    };
    let mut block = BlockBuffer::default();
    for (due, page) in &waiting {
        put_signed(&mut block.text, *due);
        put_page(&mut block, page);
    }
    let again = later::read_later(&block.text, &block.fixed);
    assert_eq!(again.as_ref(), Some(&waiting));
    true
}

/// A block of page records.
pub fn page_records(text: &[u8], fixed: &[u8]) -> bool {
    let Some(records) = pages::read_block(text, fixed) else {
        return false;
    };
    let mut block = BlockBuffer::default();
    let mut time = 0;
    for record in &records {
        pages::put_record(&mut block, record, time);
        time = record.time;
    }
    let again = pages::read_block(&block.text, &block.fixed);
    assert_eq!(again.as_ref(), Some(&records));
    true
}

/// A journal entry: links to other sites.
pub fn journal_entry(text: &[u8], keys: &[u8]) -> bool {
    let mut gather = Gather::default();
    let start = gather.position();
    if gather.extend(text, keys).is_none() {
        return false;
    }
    for entry in &gather.links {
        let link = gather
            .read(entry)
            .expect("a link that was indexed can be read");
        let _ = (link.origin(), link.link(1, entry.key).fields());
    }
    let mut block = BlockBuffer::default();
    if gather.encode_since(start, &mut block) {
        assert_eq!((&*block.text, &*block.fixed), (text, keys));
    }
    true
}
