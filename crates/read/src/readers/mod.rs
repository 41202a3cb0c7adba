//! The readers, one module per family of formats, and the function that chooses between them.

mod epub;
mod odf;
mod office;
mod package;
mod pdf;
mod postscript;
mod rtf;
mod spreadsheet;
mod xml;

use crate::document::Fault;
use crate::{Document, Kind, Limits, Reading};

/// Maximum length of a link. Longer ones are dropped.
const MAX_LINK: usize = 8 << 10;
/// Maximum length of a title, in characters.
const MAX_TITLE: usize = 1000;

/// Reads a document in this process. The reader may panic, overflow its stack or not return.
pub fn read(kind: Kind, body: &[u8], limits: &Limits) -> Reading {
    let result = match kind {
        Kind::Pdf => pdf::read(body, limits),
        Kind::Doc | Kind::Xls | Kind::Ppt | Kind::Docx | Kind::Pptx => {
            office::read(kind, body, limits)
        }
        Kind::Xlsx => spreadsheet::read(body, limits),
        Kind::Odt | Kind::Ods | Kind::Odp => odf::read(body, limits),
        Kind::Rtf => Ok(rtf::read(body, limits)),
        Kind::Epub => epub::read(body, limits),
        Kind::Ps => postscript::read(body, limits),
    };
    Reading::of(result.map(|document| within_limits(document, limits)))
}

/// Cuts what exceeds the limits.
fn within_limits(mut document: Document, limits: &Limits) -> Document {
    if document.text.len() > limits.max_text {
        let end = document.text.floor_char_boundary(limits.max_text);
        document.text.truncate(end);
        document.remarks.push("the text is cut".to_owned());
    }
    document.links.retain(|link| link.len() <= MAX_LINK);
    document.links.truncate(limits.max_links);
    document.title = document.title.and_then(|title| {
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        (!title.is_empty()).then(|| title.chars().take(MAX_TITLE).collect())
    });
    document
}

/// Whether a link leads out of the document to the web.
fn is_web_link(link: &str) -> bool {
    let scheme = |name: &str| {
        link.get(..name.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(name))
    };
    scheme("http://") || scheme("https://")
}

fn damaged(reason: &str) -> Fault {
    Fault::Damaged(reason.to_owned())
}
