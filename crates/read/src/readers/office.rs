//! Documents of Microsoft Office, by the crate `office_oxide`. Spreadsheets are read by `spreadsheet`.
//!
//! Links and titles are read here, because `office_oxide` would convert the whole document for them: those of the newer formats
//! are in parts of their own, and those of the older formats are found by their first characters.

use std::io::Cursor;

use memchr::memmem;
use office_oxide::{Document as OfficeDocument, DocumentFormat, OfficeError};

use super::is_web_link;
use super::package::Package;
use super::xml::{self, Item};
use crate::document::Fault;
use crate::kind::OLE_MAGIC;
use crate::{Document, Kind, Limits};

/// Reads a document.
pub(super) fn read(kind: Kind, body: &[u8], limits: &Limits) -> Result<Document, Fault> {
    let format = match kind {
        Kind::Doc => DocumentFormat::Doc,
        Kind::Xls => DocumentFormat::Xls,
        Kind::Ppt => DocumentFormat::Ppt,
        Kind::Docx => DocumentFormat::Docx,
        Kind::Xlsx => DocumentFormat::Xlsx,
        _ => DocumentFormat::Pptx,
    };
    office_oxide::limits::set_max_part_bytes(limits.max_part());
    office_oxide::limits::set_max_package_bytes(limits.memory / 2);
    office_oxide::limits::set_max_text_chars(limits.max_text);
    let reader = Cursor::new(body.to_vec());
    let office = OfficeDocument::from_reader(reader, format).map_err(fault)?;
    let mut text = office.plain_text();
    if matches!(kind, Kind::Ppt | Kind::Pptx) {
        text = without_separators(&text);
    }
    let mut document = Document {
        text,
        ..Document::default()
    };
    drop(office);
    add_title_and_links(body, limits, &mut document);
    Ok(document)
}

/// Removes the lines that `office_oxide` writes between slides.
fn without_separators(text: &str) -> String {
    let lines = text.lines().filter(|line| *line != "---");
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// Adds what is not part of the text.
pub(super) fn add_title_and_links(body: &[u8], limits: &Limits, document: &mut Document) {
    if body.starts_with(OLE_MAGIC) {
        document.links = ole_links(body, limits.max_links);
    } else if let Some(package) = Package::open(body, limits) {
        if let Ok(Some(properties)) = package.part("docProps/core.xml") {
            document.title = xml::text_of(&properties, "title");
        }
        document.links = package_links(&package, limits.max_links);
    }
}

fn fault(error: OfficeError) -> Fault {
    use office_oxide::{core, doc::DocError, ppt::PptError, xls::XlsError};
    let message = error.to_string();
    match error {
        OfficeError::Doc(DocError::Encrypted)
        | OfficeError::Xls(XlsError::Encrypted | XlsError::EncryptionNotSupported(_))
        | OfficeError::Ppt(PptError::Encrypted) => Fault::Encrypted,
        OfficeError::Core(
            core::Error::DecompressionLimit { .. } | core::Error::PackageLimit(_),
        ) => Fault::TooLarge(message),
        OfficeError::Panic(message) => Fault::Panicked(format!("the reader panicked: {message}")),
        // `office_oxide` has no variant for this.
        _ if message.contains("password-protected") => Fault::Encrypted,
        _ => Fault::Damaged(message),
    }
}

/// The links of an Office Open XML document: relationships to targets outside of the package (ECMA-376, part 2).
fn package_links(package: &Package<'_>, max: usize) -> Vec<String> {
    let mut links = Vec::new();
    let relationships = package.names().filter(|name| {
        // Masters and layouts have links to the home page of their maker.
        name.contains("/_rels/") && !name.contains("Master") && !name.contains("Layout")
    });
    for name in relationships {
        let Ok(Some(part)) = package.part(name) else {
            continue;
        };
        xml::visit(&part, |item| {
            if let Item::Start { element, .. } = item
                && element.name() == "Relationship"
                && element
                    .attribute("Type")
                    .is_some_and(|kind| kind.ends_with("/hyperlink"))
            {
                let target = element.attribute("Target");
                links.extend(target.filter(|target| is_web_link(target)));
            }
            links.len() < max
        });
    }
    links
}

/// The URLs in an OLE file. Word stores links as the text of fields, with one or two bytes per character; Excel and
/// `PowerPoint` store them in UTF-16 (MS-OSHARED, 2.3.7).
fn ole_links(body: &[u8], max: usize) -> Vec<String> {
    let mut links = Vec::new();
    for start in memmem::find_iter(body, b"h") {
        let rest = &body[start..];
        let link: String = if rest.starts_with(b"http://") || rest.starts_with(b"https://") {
            let bytes = rest.iter().copied();
            bytes
                .take_while(|byte| is_url_byte(*byte))
                .map(char::from)
                .collect()
        } else if rest.starts_with(b"h\0t\0t\0p\0") {
            let units = rest.chunks_exact(2);
            let bytes = units.map(|unit| if unit[1] == 0 { unit[0] } else { 0 });
            bytes
                .take_while(|byte| is_url_byte(*byte))
                .map(char::from)
                .collect()
        } else {
            continue;
        };
        // Names of XML namespaces in embedded parts are no links.
        let is_link = is_web_link(&link)
            && !link.contains("://schemas.")
            && !link.contains("://ns.adobe.com/")
            && !link.contains("://www.w3.org/")
            && !link.contains("://purl.org/");
        if is_link && !links.contains(&link) {
            links.push(link);
        }
        if links.len() >= max.min(MAX_OLE_LINKS) {
            break;
        }
    }
    links
}

/// Maximum number of links of an OLE file. Each is compared with those before it.
const MAX_OLE_LINKS: usize = 2000;

fn is_url_byte(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"\"<>{}|\\^`".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_ole_files() {
        let mut body = OLE_MAGIC.to_vec();
        body.extend_from_slice(b"\x13HYPERLINK \"http://example.org/a?b=1\" \x14a\x15");
        body.extend(
            "https://example.org/\u{0}x"
                .encode_utf16()
                .flat_map(u16::to_le_bytes),
        );
        body.extend_from_slice(b" http://www.w3.org/1999/xlink http://example.org/a?b=1 ");
        let expected = ["http://example.org/a?b=1", "https://example.org/"];
        assert_eq!(ole_links(&body, 10), expected);
        assert_eq!(ole_links(&body, 1), expected[..1]);
    }
}
