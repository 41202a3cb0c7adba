//! The readable text of a page and the values derived from it.

pub(crate) mod builder;
pub(crate) mod near_duplicate;

use crate::{Page, PageRemark};

/// Stores a complete text in `page`, with its digest, word count and sketch.
pub(crate) fn store(text: &mut builder::TextBuilder, page: &mut Page) {
    let (text, cut) = text.finish();
    page.text_digest = builder::digest(&text);
    (page.words, page.sketch) = near_duplicate::of(&text);
    page.text = text;
    if cut {
        page.remarks.push(PageRemark::TextTruncated);
    }
}
