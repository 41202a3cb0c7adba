//! Guesses a media type from the first bytes of a body, or from the file extension of its URL.
//!
//! Signatures are those of WHATWG MIME Sniffing, sections 6 and 7.1, and those of common documents (RTF, PostScript,
//! Office). The decision between this result and the header is made in `media_type/mod.rs`.

/// Number of bytes that are examined (the "resource header" of MIME Sniffing, section 5.2).
pub(crate) const HEADER_BYTES: usize = 1445;

/// The kind of content that the first bytes suggest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SniffResult {
    /// Opens like a complete HTML document: doctype, `<html>`, `<head>`, `<body>`, `<title>`.
    Document,
    /// Opens with another HTML tag or a comment: a fragment, or a page without `<html>`.
    Markup,
    /// XML. The type is that of the root element if it is known, otherwise `text/xml`.
    Xml(&'static str),
    /// A signature that belongs to one type only.
    Signature(&'static str),
    /// A signature shared by many types. `OpenDocument` files, for example, are zip files.
    Container(&'static str),
    /// Nothing was recognised.
    None,
}

/// Examines the first bytes of a body.
pub(crate) fn first_bytes(body: &[u8]) -> SniffResult {
    let head = &body[..body.len().min(HEADER_BYTES)];
    if let Some(found) = signature(head) {
        return found;
    }
    markup(head)
}

/// Whether the first bytes contain no "binary data byte" (MIME Sniffing, section 3).
pub(crate) fn is_text(body: &[u8]) -> bool {
    if matches!(body, [0xFE, 0xFF, ..] | [0xFF, 0xFE, ..]) {
        return true;
    }
    let head = &body[..body.len().min(HEADER_BYTES)];
    !head
        .iter()
        .any(|byte| matches!(byte, 0..=8 | 0x0B | 0x0E..=0x1A | 0x1C..=0x1F))
}

/// Magic numbers at offset 0.
#[rustfmt::skip]
const SIGNATURES: &[(&[u8], SniffResult)] = &[
    (b"%PDF-", SniffResult::Signature("application/pdf")),
    (b"%!PS-Adobe-", SniffResult::Signature("application/postscript")),
    (b"{\\rtf", SniffResult::Signature("application/rtf")),
    (b"GIF87a", SniffResult::Signature("image/gif")),
    (b"GIF89a", SniffResult::Signature("image/gif")),
    (b"\x89PNG\r\n\x1a\n", SniffResult::Signature("image/png")),
    (b"\xFF\xD8\xFF", SniffResult::Signature("image/jpeg")),
    (b"\0\0\x01\0", SniffResult::Signature("image/x-icon")),
    (b"II*\0", SniffResult::Signature("image/tiff")),
    (b"MM\0*", SniffResult::Signature("image/tiff")),
    (b"ID3\x02", SniffResult::Signature("audio/mpeg")),
    (b"ID3\x03", SniffResult::Signature("audio/mpeg")),
    (b"ID3\x04", SniffResult::Signature("audio/mpeg")),
    (b"MThd\0\0\0\x06", SniffResult::Signature("audio/midi")),
    (b"wOFF", SniffResult::Signature("font/woff")),
    (b"wOF2", SniffResult::Signature("font/woff2")),
    (b"Rar!\x1a\x07", SniffResult::Signature("application/x-rar-compressed")),
    (b"7z\xBC\xAF\x27\x1C", SniffResult::Signature("application/x-7z-compressed")),
    (b"OggS\0", SniffResult::Container("application/ogg")),
    (b"\x1A\x45\xDF\xA3", SniffResult::Container("video/webm")),
    (b"PK\x03\x04", SniffResult::Container("application/zip")),
    (b"\x1F\x8B\x08", SniffResult::Container("application/gzip")),
    (b"BZh", SniffResult::Container("application/x-bzip2")),
    (b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", SniffResult::Container("application/x-ole-storage")),
];

fn signature(head: &[u8]) -> Option<SniffResult> {
    if let Some((_, found)) = SIGNATURES.iter().find(|(magic, _)| head.starts_with(magic)) {
        // A text may begin with the letters BZh.
        let may_be_text = head.starts_with(b"BZh") && is_text(head);
        return (!may_be_text).then_some(*found);
    }
    match head {
        [b'R', b'I', b'F', b'F', _, _, _, _, kind @ ..] => match kind {
            [b'W', b'E', b'B', b'P', ..] => Some(SniffResult::Signature("image/webp")),
            [b'W', b'A', b'V', b'E', ..] => Some(SniffResult::Signature("audio/wav")),
            [b'A', b'V', b'I', b' ', ..] => Some(SniffResult::Signature("video/avi")),
            _ => None,
        },
        [_, _, _, _, b'f', b't', b'y', b'p', ..] => Some(SniffResult::Container("video/mp4")),
        // A text may begin with the letters BM, so the reserved bytes of the bitmap header must be zero too.
        [b'B', b'M', _, _, _, _, 0, 0, 0, 0, ..] => Some(SniffResult::Signature("image/bmp")),
        _ => None,
    }
}

/// Tags that only a complete document begins with.
const DOCUMENT_TAGS: &[&[u8]] = &[b"!doctype html", b"html", b"head", b"body", b"title"];
/// Tags that a fragment may begin with.
const MARKUP_TAGS: &[&[u8]] = &[
    b"script",
    b"iframe",
    b"h1",
    b"div",
    b"font",
    b"table",
    b"a",
    b"style",
    b"b",
    b"br",
    b"p",
    b"meta",
    b"link",
    b"frameset",
    b"center",
    b"span",
    b"ul",
    b"img",
];

fn markup(head: &[u8]) -> SniffResult {
    let (rest, comments) = skip_prolog(head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head));
    if let Some(xml) = strip_prefix_ignore_case(rest, b"<?xml") {
        return SniffResult::Xml(xml_type(xml));
    }
    let Some(tag) = rest.strip_prefix(b"<") else {
        return if comments {
            SniffResult::Markup
        } else {
            SniffResult::None
        };
    };
    if DOCUMENT_TAGS.iter().any(|name| is_tag(tag, name)) {
        SniffResult::Document
    } else if let Some(name) = type_by_root(tag) {
        SniffResult::Xml(name)
    } else if comments || MARKUP_TAGS.iter().any(|name| is_tag(tag, name)) {
        SniffResult::Markup
    } else {
        SniffResult::None
    }
}

/// The media type of an XML document. `rest` is the text after `<?xml`.
fn xml_type(mut rest: &[u8]) -> &'static str {
    while let Some(open) = memchr::memchr(b'<', rest) {
        let tag = skip_prolog(&rest[open..]).0;
        let Some(tag) = tag.strip_prefix(b"<") else {
            break;
        };
        if is_tag(tag, b"html") || is_tag(tag, b"!doctype html") {
            return "application/xhtml+xml";
        }
        if let Some(name) = type_by_root(tag) {
            return name;
        }
        if !matches!(tag.first(), Some(b'?' | b'!')) {
            break;
        }
        rest = tag;
    }
    "text/xml"
}

/// The media type of an XML document with this root element or doctype. `None` if the root element is unknown.
fn type_by_root(tag: &[u8]) -> Option<&'static str> {
    const ROOTS: &[(&[u8], &str)] = &[
        (b"rss", "application/rss+xml"),
        (b"rdf:rdf", "application/rss+xml"),
        (b"feed", "application/atom+xml"),
        // Not a registered type. Servers send sitemaps as `application/xml`.
        (b"urlset", "application/sitemap+xml"),
        (b"sitemapindex", "application/sitemap+xml"),
        (b"svg", "image/svg+xml"),
        (b"!doctype svg", "image/svg+xml"),
    ];
    ROOTS
        .iter()
        .find(|(name, _)| is_tag(tag, name))
        .map(|(_, media)| *media)
}

/// Whether `tag`, the bytes after `<`, begins with `name` and a byte that ends a name.
fn is_tag(tag: &[u8], name: &[u8]) -> bool {
    strip_prefix_ignore_case(tag, name).is_some_and(|rest| {
        matches!(
            rest.first(),
            Some(b' ' | b'>' | b'\t' | b'\r' | b'\n' | b'\x0C' | b'/')
        )
    })
}

/// Skips white space and comments. Returns the rest and whether there was a comment.
fn skip_prolog(mut rest: &[u8]) -> (&[u8], bool) {
    let mut comments = false;
    loop {
        rest = rest.trim_ascii_start();
        let Some(comment) = rest.strip_prefix(b"<!--") else {
            return (rest, comments);
        };
        comments = true;
        rest = memchr::memmem::find(comment, b"-->").map_or(&[], |end| &comment[end + 3..]);
    }
}

fn strip_prefix_ignore_case<'a>(bytes: &'a [u8], prefix: &[u8]) -> Option<&'a [u8]> {
    let (start, rest) = bytes.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// The media type that the extension of a URL's last path segment suggests.
pub(crate) fn by_url(url: &str) -> Option<&'static str> {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let path = path.split_once("://").map_or(path, |(_, rest)| rest);
    let (_, name) = path.rsplit_once('/')?;
    let (_, extension) = name.rsplit_once('.')?;
    let mut lower = [0; 5];
    let lower = lower.get_mut(..extension.len())?;
    lower.copy_from_slice(extension.as_bytes());
    lower.make_ascii_lowercase();
    by_extension(lower)
}

#[rustfmt::skip]
fn by_extension(extension: &[u8]) -> Option<&'static str> {
    Some(match extension {
        b"html" | b"htm" | b"shtml" | b"php" | b"asp" | b"aspx" | b"jsp" | b"cfm" => "text/html",
        b"xhtml" | b"xht" => "application/xhtml+xml",
        b"txt" | b"text" | b"md" | b"log" | b"c" | b"h" | b"rs" | b"py" | b"java" | b"diff" => "text/plain",
        b"css" => "text/css",
        b"csv" => "text/csv",
        b"js" | b"mjs" => "text/javascript",
        b"json" => "application/json",
        b"xml" | b"xsl" => "application/xml",
        b"rss" => "application/rss+xml",
        b"atom" => "application/atom+xml",
        b"svg" => "image/svg+xml",
        b"pdf" => "application/pdf",
        b"ps" | b"eps" => "application/postscript",
        b"rtf" => "application/rtf",
        b"doc" => "application/msword",
        b"xls" => "application/vnd.ms-excel",
        b"ppt" => "application/vnd.ms-powerpoint",
        b"docx" => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        b"xlsx" => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        b"pptx" => "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        b"odt" => "application/vnd.oasis.opendocument.text",
        b"ods" => "application/vnd.oasis.opendocument.spreadsheet",
        b"odp" => "application/vnd.oasis.opendocument.presentation",
        b"epub" => "application/epub+zip",
        b"jar" => "application/java-archive",
        b"zip" => "application/zip",
        b"gz" | b"tgz" => "application/gzip",
        b"png" => "image/png",
        b"gif" => "image/gif",
        b"jpg" | b"jpeg" => "image/jpeg",
        b"webp" => "image/webp",
        b"avif" => "image/avif",
        b"ico" => "image/x-icon",
        b"bmp" => "image/bmp",
        b"mp3" => "audio/mpeg",
        b"ogg" | b"oga" => "audio/ogg",
        b"wav" => "audio/wav",
        b"mp4" | b"m4v" => "video/mp4",
        b"webm" => "video/webm",
        b"avi" => "video/avi",
        b"woff" => "font/woff",
        b"woff2" => "font/woff2",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_of_many_types() {
        let check = |bytes: &[u8], expected| {
            assert_eq!(first_bytes(bytes), expected, "{}", bytes.escape_ascii());
        };
        check(b"<!DOCTYPE HTML>", SniffResult::Document);
        check(b"\xEF\xBB\xBF \n<HTML lang=en>", SniffResult::Document);
        check(b"<!-- a --><!-- b --><body>", SniffResult::Document);
        check(b"<!-- never closed", SniffResult::Markup);
        check(b"<bodybuilder>", SniffResult::None);
        check(b"<P>", SniffResult::Markup);
        check(b"a < b", SniffResult::None);
        check(b"<?xml", SniffResult::Xml("text/xml"));
        check(
            b"<?xml?><?xml-stylesheet?><!DOCTYPE rss><rss>",
            SniffResult::Xml("application/rss+xml"),
        );
        check(b"<svg xmlns='x'>", SniffResult::Xml("image/svg+xml"));
        check(b"RIFF1234WEBPVP8 ", SniffResult::Signature("image/webp"));
        check(b"", SniffResult::None);
    }

    #[test]
    fn types_by_file_extension() {
        let check = |url, expected| assert_eq!(by_url(url), expected, "{url}");
        check("http://a.pdf", None);
        check("http://a/b.PDF?x=.html#y.png", Some("application/pdf"));
        check("http://a/b.c/d", None);
        check("http://a/b.verylong", None);
        check("http://a/é.jsé", None);
        check("", None);
    }
}
