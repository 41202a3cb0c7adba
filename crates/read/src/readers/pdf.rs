//! PDF files, by the crate `pdf_oxide`.
//!
//! Pages are read one after another until the text is long enough or most of the time is over, so that a long document
//! gives at least its beginning.

use std::collections::HashSet;
use std::time::Instant;

use pdf_oxide::PdfDocument;
use pdf_oxide::annotations::LinkAction;
use pdf_oxide::error::Error;
use pdf_oxide::object::Object;

use super::is_web_link;
use crate::document::Fault;
use crate::{Document, Limits};

/// Reads a PDF file.
pub(super) fn read(body: &[u8], limits: &Limits) -> Result<Document, Fault> {
    let started = Instant::now();
    let pdf = PdfDocument::from_bytes(body.to_vec()).map_err(fault)?;
    if !pdf.is_authenticated() {
        return Err(Fault::Encrypted);
    }
    let pages = pdf.page_count().map_err(fault)?;
    let mut document = Document {
        title: title(&pdf),
        ..Document::default()
    };
    let mut unread = 0;
    let mut first_error = None;
    let mut seen = HashSet::new();
    for page in 0..pages {
        if started.elapsed() > limits.time * 3 / 4 {
            if document.text.trim().is_empty() {
                return Err(Fault::TooSlow);
            }
            let remark = format!("only {page} of {pages} pages were read in time");
            document.remarks.push(remark);
            break;
        }
        match pdf.extract_text(page) {
            Ok(text) => document.text.push_str(&text),
            Err(Error::EncryptedPdf) => return Err(Fault::Encrypted),
            Err(error) => {
                unread += 1;
                first_error.get_or_insert(error);
            }
        }
        document.text.push('\n');
        if document.links.len() < limits.max_links {
            let links = pdf.get_annotations(page).unwrap_or_default();
            for link in links {
                if let Some(LinkAction::Uri(url)) = link.action
                    && is_web_link(&url)
                    && seen.insert(url.clone())
                {
                    document.links.push(url);
                }
            }
        }
        if document.text.len() > limits.max_text {
            break;
        }
    }
    if let Some(error) = first_error {
        if unread == pages {
            return Err(fault(error));
        }
        let remark = format!("{unread} of {pages} pages could not be read: {error}");
        document.remarks.push(remark);
    }
    Ok(document)
}

fn fault(error: Error) -> Fault {
    match error {
        Error::EncryptedPdf => Fault::Encrypted,
        error => Fault::Damaged(error.to_string()),
    }
}

/// The title in the document information dictionary (PDF 1.7, 14.3.3).
fn title(pdf: &PdfDocument) -> Option<String> {
    let info = pdf
        .resolve_object(pdf.trailer().as_dict()?.get("Info")?)
        .ok()?;
    let title = pdf.resolve_object(info.as_dict()?.get("Title")?).ok()?;
    let Object::String(bytes) = title else {
        return None;
    };
    Some(text_string(&bytes))
}

/// Decodes a text string: UTF-16 with a byte-order mark, UTF-8 with one, or otherwise `PDFDocEncoding`, of which the
/// part that it shares with windows-1252 is used (PDF 1.7, 7.9.2.2).
fn text_string(bytes: &[u8]) -> String {
    let encoding = match bytes {
        [0xFE, 0xFF, ..] => encoding_rs::UTF_16BE,
        [0xFF, 0xFE, ..] => encoding_rs::UTF_16LE,
        [0xEF, 0xBB, 0xBF, ..] => encoding_rs::UTF_8,
        _ => encoding_rs::WINDOWS_1252,
    };
    encoding.decode(bytes).0.into_owned()
}
