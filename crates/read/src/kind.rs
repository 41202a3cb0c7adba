//! Decides which reader a document needs: from its first bytes, its declared media type and its name (T3).
//!
//! Servers declare documents as `application/octet-stream`, as each other, or not at all. So the bytes decide, as far as
//! they can. Zip archives and OLE files hold documents of several kinds. They are told apart by the names of their
//! parts, which are compared where they stand: nothing is decompressed.

use std::fmt;
use std::str::FromStr;

use aranha_page::media_type;
use memchr::memmem;

/// A format that has a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// Portable Document Format.
    Pdf,
    /// Word 97 to 2003, and older.
    Doc,
    /// Excel 97 to 2003, and older.
    Xls,
    /// `PowerPoint` 97 to 2003.
    Ppt,
    /// Word since 2007 (Office Open XML).
    Docx,
    /// Excel since 2007 (Office Open XML).
    Xlsx,
    /// `PowerPoint` since 2007 (Office Open XML).
    Pptx,
    /// `OpenDocument` text.
    Odt,
    /// `OpenDocument` spreadsheet.
    Ods,
    /// `OpenDocument` presentation or drawing.
    Odp,
    /// Rich Text Format.
    Rtf,
    /// Electronic book.
    Epub,
    /// `PostScript`.
    Ps,
}

/// First bytes of an OLE file (compound file binary format).
pub(crate) const OLE_MAGIC: &[u8] = b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1";
/// First bytes of a part of a zip archive.
const ZIP_MAGIC: &[u8] = b"PK\x03\x04";
/// Readers of PDF files tolerate other bytes before the header (PDF 1.7, implementation note 13).
const PDF_HEADER_WITHIN: usize = 1024;
const MAX_PARTS: usize = 10_000;

/// Media type, file extension and kind. The first row of a kind is its usual type.
#[rustfmt::skip]
const TYPES: &[(&str, &str, Kind)] = &[
    ("application/pdf", "pdf", Kind::Pdf),
    ("application/x-pdf", "", Kind::Pdf),
    ("application/msword", "doc", Kind::Doc),
    ("application/vnd.ms-word", "dot", Kind::Doc),
    ("application/vnd.ms-excel", "xls", Kind::Xls),
    ("application/msexcel", "xlt", Kind::Xls),
    ("application/x-msexcel", "", Kind::Xls),
    ("application/vnd.ms-powerpoint", "ppt", Kind::Ppt),
    ("application/mspowerpoint", "pps", Kind::Ppt),
    ("application/powerpoint", "pot", Kind::Ppt),
    ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx", Kind::Docx),
    ("application/vnd.openxmlformats-officedocument.wordprocessingml.template", "dotx", Kind::Docx),
    ("application/vnd.ms-word.document.macroenabled.12", "docm", Kind::Docx),
    ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx", Kind::Xlsx),
    ("application/vnd.openxmlformats-officedocument.spreadsheetml.template", "xltx", Kind::Xlsx),
    ("application/vnd.ms-excel.sheet.macroenabled.12", "xlsm", Kind::Xlsx),
    ("application/vnd.ms-excel.sheet.binary.macroenabled.12", "xlsb", Kind::Xlsx),
    ("application/vnd.openxmlformats-officedocument.presentationml.presentation", "pptx", Kind::Pptx),
    ("application/vnd.openxmlformats-officedocument.presentationml.slideshow", "ppsx", Kind::Pptx),
    ("application/vnd.openxmlformats-officedocument.presentationml.template", "potx", Kind::Pptx),
    ("application/vnd.ms-powerpoint.presentation.macroenabled.12", "pptm", Kind::Pptx),
    ("application/vnd.oasis.opendocument.text", "odt", Kind::Odt),
    ("application/vnd.oasis.opendocument.text-template", "ott", Kind::Odt),
    ("application/vnd.oasis.opendocument.text-master", "odm", Kind::Odt),
    ("application/vnd.sun.xml.writer", "sxw", Kind::Odt),
    ("application/vnd.oasis.opendocument.spreadsheet", "ods", Kind::Ods),
    ("application/vnd.oasis.opendocument.spreadsheet-template", "ots", Kind::Ods),
    ("application/vnd.sun.xml.calc", "sxc", Kind::Ods),
    ("application/vnd.oasis.opendocument.presentation", "odp", Kind::Odp),
    ("application/vnd.oasis.opendocument.presentation-template", "otp", Kind::Odp),
    ("application/vnd.oasis.opendocument.graphics", "odg", Kind::Odp),
    ("application/vnd.sun.xml.impress", "sxi", Kind::Odp),
    ("application/rtf", "rtf", Kind::Rtf),
    ("text/rtf", "", Kind::Rtf),
    ("application/epub+zip", "epub", Kind::Epub),
    ("application/postscript", "ps", Kind::Ps),
    ("application/ps", "eps", Kind::Ps),
];

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 13] = [
        Kind::Pdf,
        Kind::Doc,
        Kind::Xls,
        Kind::Ppt,
        Kind::Docx,
        Kind::Xlsx,
        Kind::Pptx,
        Kind::Odt,
        Kind::Ods,
        Kind::Odp,
        Kind::Rtf,
        Kind::Epub,
        Kind::Ps,
    ];

    /// The name: the usual file extension.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// The usual media type.
    pub fn media_type(self) -> &'static str {
        self.row().0
    }

    fn row(self) -> (&'static str, &'static str) {
        let row = TYPES.iter().find(|(_, _, kind)| *kind == self);
        row.map(|(media_type, extension, _)| (*media_type, *extension))
            .expect("the table has every kind")
    }

    pub(crate) fn number(self) -> u8 {
        self as u8
    }

    pub(crate) fn from_number(number: u8) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.number() == number)
    }

    /// The kind with this media type, which must be in lower case and without parameters.
    pub fn from_media_type(name: &str) -> Option<Kind> {
        let row = TYPES.iter().find(|(media_type, _, _)| *media_type == name);
        row.map(|(_, _, kind)| *kind)
    }

    /// The kind with this file extension.
    pub fn from_extension(extension: &str) -> Option<Kind> {
        let row = TYPES
            .iter()
            .find(|row| !extension.is_empty() && row.1.eq_ignore_ascii_case(extension));
        row.map(|(_, _, kind)| *kind)
    }

    /// The kind of a document. `content_type` is the header that declares it, or empty; `name` is its URL or file name.
    /// `None` if there is no reader for it.
    pub fn of(content_type: &str, name: &str, body: &[u8]) -> Option<Kind> {
        let essence = content_type.split(';').next().unwrap_or_default();
        let declared = Kind::from_media_type(&essence.trim().to_ascii_lowercase());
        let path = name.split(['?', '#']).next().unwrap_or_default();
        let named = path
            .rsplit_once('.')
            .and_then(|(_, extension)| Kind::from_extension(extension));
        let expected = declared.or(named);
        if body.starts_with(OLE_MAGIC) {
            return of_ole(body, expected);
        }
        if body.starts_with(ZIP_MAGIC) {
            return of_zip(body, expected);
        }
        if body.starts_with(b"{\\rtf") {
            return Some(Kind::Rtf);
        }
        if is_postscript(body) {
            return Some(Kind::Ps);
        }
        let head = &body[..body.len().min(PDF_HEADER_WITHIN)];
        let is_pdf = body.starts_with(b"%PDF-")
            || expected == Some(Kind::Pdf) && memmem::find(head, b"%PDF-").is_some();
        if is_pdf {
            return Some(Kind::Pdf);
        }
        // A document whose first bytes are damaged is binary. A text or an HTML page is no document, whatever its server
        // declares.
        let found = media_type(Some(content_type), name, body);
        let is_document = Kind::from_media_type(found.as_str()).is_some();
        expected.filter(|kind| is_document && !(kind.is_binary() && looks_like_text(body)))
    }

    /// Whether intact documents of this kind have bytes that no text has.
    fn is_binary(self) -> bool {
        !matches!(self, Kind::Rtf | Kind::Ps | Kind::Pdf)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(name: &str) -> Result<Kind, String> {
        let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name);
        kind.ok_or_else(|| {
            let names = Kind::ALL.map(Kind::name).join(", ");
            format!("unknown type of document `{name}`; the types are {names}")
        })
    }
}

fn looks_like_text(body: &[u8]) -> bool {
    let head = &body[..body.len().min(PDF_HEADER_WITHIN)];
    !head.iter().any(|byte| matches!(byte, 0..=8 | 0x0E..=0x1A))
}

/// `PostScript`, also after a control character, and with the header of an EPS file that contains a preview.
fn is_postscript(body: &[u8]) -> bool {
    let body = body.strip_prefix(b"\x04").unwrap_or(body);
    let is_named = |body: &[u8]| matches!(body, [b'%', b'!', b'P' | b'\r' | b'\n' | b' ', ..]);
    is_named(body) || body.starts_with(b"\xC5\xD0\xD3\xC6")
}

/// The kind of an OLE file, by the names of its streams. `expected` decides if it holds several documents.
fn of_ole(body: &[u8], expected: Option<Kind>) -> Option<Kind> {
    const STREAMS: &[(&str, &[Kind])] = &[
        ("WordDocument", &[Kind::Doc]),
        ("Workbook", &[Kind::Xls]),
        ("Book", &[Kind::Xls]),
        ("PowerPoint Document", &[Kind::Ppt]),
        ("PP97_DUALSTORAGE", &[Kind::Ppt]),
        // An Office Open XML document with a password.
        ("EncryptedPackage", &[Kind::Docx, Kind::Xlsx, Kind::Pptx]),
    ];
    // Entries of the directory have 128 bytes and begin with their name in UTF-16, at a multiple of 128 bytes.
    let mut found = Vec::new();
    for entry in body.chunks_exact(128).skip(4) {
        // Length of the name in bytes, and type of the entry: 2 is a stream.
        let (length, entry_type) = (entry[64], entry[66]);
        if entry_type != 2 || entry[65] != 0 || length > 64 {
            continue;
        }
        for (name, kinds) in STREAMS {
            let is_name = usize::from(length) == 2 * (name.len() + 1)
                && name
                    .bytes()
                    .zip(entry.chunks_exact(2))
                    .all(|(a, b)| b == [a, 0]);
            if is_name && !found.contains(kinds) {
                found.push(*kinds);
            }
        }
    }
    let fits = |kinds: &&&[Kind]| expected.is_some_and(|kind| kinds.contains(&kind));
    if found.iter().any(|kinds| fits(&kinds)) {
        return expected;
    }
    match found.first() {
        Some(kinds) => kinds.first().copied(),
        // The directory may be cut off.
        None => expected.filter(|kind| matches!(kind, Kind::Doc | Kind::Xls | Kind::Ppt)),
    }
}

/// The kind of a zip archive, by the names of its parts.
fn of_zip(body: &[u8], expected: Option<Kind>) -> Option<Kind> {
    for start in memmem::find_iter(body, ZIP_MAGIC).take(MAX_PARTS) {
        let Some((name, content)) = zip_part(&body[start..]) else {
            continue;
        };
        match name {
            // The first part of OpenDocument files and of EPUB holds their media type, without compression.
            b"mimetype" => {
                let end = memmem::find(content, b"PK").unwrap_or(content.len());
                let name = std::str::from_utf8(&content[..end.min(100)]).unwrap_or_default();
                if let Some(kind) = Kind::from_media_type(name.trim()) {
                    return Some(kind);
                }
            }
            _ if name.starts_with(b"word/") => return Some(Kind::Docx),
            _ if name.starts_with(b"xl/") => return Some(Kind::Xlsx),
            _ if name.starts_with(b"ppt/") => return Some(Kind::Pptx),
            b"META-INF/container.xml" => return Some(Kind::Epub),
            b"content.xml" => {
                let is_odf = |kind: &Kind| matches!(kind, Kind::Odt | Kind::Ods | Kind::Odp);
                return Some(expected.filter(is_odf).unwrap_or(Kind::Odt));
            }
            _ => {}
        }
    }
    // The document may be cut before the first of these parts.
    let is_zip = |kind: Kind| kind.is_binary() && kind > Kind::Ppt;
    expected.filter(|kind| is_zip(*kind) && is_cut(body))
}

/// Whether an archive ends before its directory.
fn is_cut(body: &[u8]) -> bool {
    memmem::find(body, b"PK\x01\x02").is_none()
}

/// Name and content of the part whose header `bytes` begins with. The content is followed by the rest of the archive.
fn zip_part(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = |at: usize| {
        let bytes = bytes.get(at..at + 2)?;
        Some(usize::from(u16::from_le_bytes([bytes[0], bytes[1]])))
    };
    let (name, extra) = (length(26)?, length(28)?);
    let content = bytes.get(30 + name + extra..).unwrap_or_default();
    Some((bytes.get(30..30 + name)?, content))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(content_type: &str, name: &str, body: &[u8], expected: Option<Kind>) {
        assert_eq!(Kind::of(content_type, name, body), expected);
    }

    fn zip(names: &[(&str, &str)]) -> Vec<u8> {
        let mut body = Vec::new();
        for (name, content) in names {
            body.extend_from_slice(ZIP_MAGIC);
            body.extend_from_slice(&[0; 22]);
            body.extend_from_slice(&(name.len() as u16).to_le_bytes());
            body.extend_from_slice(&[0; 2]);
            body.extend_from_slice(name.as_bytes());
            body.extend_from_slice(content.as_bytes());
        }
        body
    }

    fn ole(streams: &[&str]) -> Vec<u8> {
        let mut body = OLE_MAGIC.to_vec();
        body.resize(512, 0);
        for stream in streams {
            let mut entry: Vec<u8> = stream.encode_utf16().flat_map(u16::to_le_bytes).collect();
            let length = entry.len() as u8 + 2;
            entry.resize(128, 0);
            (entry[64], entry[66]) = (length, 2);
            body.extend_from_slice(&entry);
        }
        body
    }

    #[test]
    fn the_bytes_decide() {
        check("text/html", "http://a/", b"%PDF-1.4\n", Some(Kind::Pdf));
        check(
            "application/pdf",
            "http://a/x",
            b"\r\n\xEF\xBB\xBF%PDF-1.4\n",
            Some(Kind::Pdf),
        );
        check("text/plain", "http://a/x", b"see %PDF-1.4", None);
        check(
            "application/msword",
            "http://a/x.doc",
            b"{\\rtf1 a}",
            Some(Kind::Rtf),
        );
        check("", "x", b"%!PS-Adobe-3.0\n", Some(Kind::Ps));
        check("", "x", b"\x04%!PS\n", Some(Kind::Ps));
        let docx = zip(&[("[Content_Types].xml", ""), ("word/document.xml", "")]);
        check("application/msword", "x.doc", &docx, Some(Kind::Docx));
        let odt = zip(&[
            ("mimetype", "application/vnd.oasis.opendocument.text"),
            ("content.xml", ""),
        ]);
        check("application/zip", "x", &odt, Some(Kind::Odt));
        check(
            "application/java-archive",
            "x.jar",
            &zip(&[("A.class", "")]),
            None,
        );
        check(
            "",
            "x",
            &zip(&[("mimetype", "application/epub+zip"), ("a", "")]),
            Some(Kind::Epub),
        );
        check(
            "application/msword",
            "x",
            &ole(&["Workbook"]),
            Some(Kind::Xls),
        );
        check("", "x", &ole(&["PowerPoint Document"]), Some(Kind::Ppt));
    }

    #[test]
    fn the_declaration_decides_where_the_bytes_do_not() {
        let both = ole(&["Workbook", "WordDocument"]);
        check("application/msword", "x", &both, Some(Kind::Doc));
        check("", "x", &both, Some(Kind::Xls));
        let encrypted = ole(&["EncryptionInfo", "EncryptedPackage"]);
        check("", "x.xlsx", &encrypted, Some(Kind::Xlsx));
        check("", "x", &encrypted, Some(Kind::Docx));
        check("application/msword", "x", &ole(&["Other"]), Some(Kind::Doc));
        check("", "x.msi", &ole(&["Other"]), None);
        check("application/pdf", "x", b"\0\x01cut", Some(Kind::Pdf));
        let cut = zip(&[("[Content_Types].xml", "")]);
        check("", "x.xlsx", &cut, Some(Kind::Xlsx));
        check("", "x.rtf", &cut, None);
    }

    #[test]
    fn an_error_page_is_no_document() {
        check(
            "application/pdf",
            "http://a/x.pdf",
            b"<!DOCTYPE html><title>404",
            None,
        );
        check("application/msword", "http://a/x.doc", b"Not found", None);
        check("", "http://a/x.doc", b"", None);
    }

    #[test]
    fn names_and_numbers() {
        for kind in Kind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
            assert_eq!(Kind::from_number(kind.number()), Some(kind));
            assert_eq!(Kind::from_media_type(kind.media_type()), Some(kind));
        }
        let error = "docs".parse::<Kind>().unwrap_err();
        assert!(error.starts_with("unknown type of document `docs`; the types are pdf, doc,"));
    }
}
