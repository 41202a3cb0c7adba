//! Reads plain text: words and line breaks, no links.

use crate::text::{self, builder::TextBuilder};
use crate::{Options, Page};

/// Reads plain text into `page`.
pub(super) fn read(document: &str, options: &Options, page: &mut Page) {
    if !options.text {
        return;
    }
    let mut text = TextBuilder::new(options.max_text, options.max_word, true);
    text.push(document.as_bytes());
    text::store(&mut text, page);
}
