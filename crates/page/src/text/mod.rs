//! The readable text of a page (`builder`), its digest, and its sketch for near duplicates (`near_duplicate`).

pub(crate) mod builder;
pub(crate) mod near_duplicate;

use crate::{Page, PageRemark};

/// Stores a complete text in `page`, with its digest, word count and sketch.
pub(crate) fn store(text: &mut builder::TextBuilder, page: &mut Page) {
    let (text, truncated) = text.finish();
    page.text_digest = builder::digest(&text);
    (page.words, page.sketch) = near_duplicate::words_and_sketch(&text);
    page.text = text;
    if truncated {
        page.remarks.push(PageRemark::TextTruncated);
    }
}
