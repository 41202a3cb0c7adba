//! Determines the character set of a body and decodes the body to UTF-8.
//!
//! The sources are tried in the order of WHATWG HTML, 13.2.3:
//!
//! 1. the byte-order mark;
//! 2. the `Content-Type` header;
//! 3. a declaration in the first 1024 bytes: XML declaration or `meta`, or `@charset` in a style sheet (`prescan`);
//! 4. for HTML, a later `meta` in the head (`prescan`);
//! 5. detection, with the top-level domain as a hint.
//!
//! Two rules differ from those of browsers. A body without a declaration is read as UTF-8 if it is valid UTF-8. If UTF-8 is
//! declared, but the body has more invalid than valid sequences, the detector decides.
//!
//! **Invariants.** A body that already is UTF-8 is borrowed, not copied. If a size limit has cut the last character of
//! such a body, that character is dropped without a remark.

mod prescan;

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8};

use crate::{MediaType, PageRemark};

/// Maximum bytes given to the detector. More bytes rarely change its result.
const DETECTOR_BYTES: usize = 256 << 10;
/// Maximum bytes of an unknown label in a remark.
const MAX_LABEL: usize = 40;

/// The body as text, and the name of its character set.
pub(crate) struct Decoded<'a> {
    pub(crate) text: Cow<'a, str>,
    pub(crate) charset: &'static str,
}

/// Decodes `body`. A declaration inside the body counts only if `media_type` is HTML, XML or CSS.
pub(crate) fn decode<'a>(
    body: &'a [u8],
    content_type: Option<&str>,
    url: &str,
    media_type: &MediaType,
    remarks: &mut Vec<PageRemark>,
) -> Decoded<'a> {
    let (declared, body) = if let Some((encoding, length)) = Encoding::for_bom(body) {
        (Some(encoding), &body[length..])
    } else {
        let header = content_type.and_then(charset_parameter);
        let declared = header
            .and_then(|label| encoding_for(label.as_bytes(), remarks))
            .or_else(|| {
                let (html, xml) = (media_type.is_html(), media_type.is_xml());
                let label = if html || xml {
                    prescan::label(body, !xml)
                } else if media_type.as_str() == "text/css" {
                    prescan::charset_rule(body).map(<[u8]>::to_vec)
                } else {
                    None
                };
                encoding_for(&label?, remarks).map(prescan::as_ascii_superset)
            });
        (declared, body)
    };
    if declared.is_none_or(|encoding| encoding == UTF_8)
        && let Some(text) = as_utf8(body)
    {
        return Decoded {
            text: Cow::Borrowed(text),
            charset: UTF_8.name(),
        };
    }
    let encoding = match declared {
        Some(encoding) if encoding != UTF_8 || is_mostly_utf8(body) => encoding,
        Some(encoding) => {
            let found = detect(body, url);
            if found != encoding {
                let (declared, found) = (encoding.name(), found.name());
                remarks.push(PageRemark::CharsetMismatch { declared, found });
            }
            found
        }
        None => detect(body, url),
    };
    let (text, malformed) = encoding.decode_without_bom_handling(body);
    if malformed {
        remarks.push(PageRemark::MalformedCharacters);
    }
    Decoded {
        text,
        charset: encoding.name(),
    }
}

/// Borrows the body if it is UTF-8. An incomplete last character is left out.
fn as_utf8(body: &[u8]) -> Option<&str> {
    match str::from_utf8(body) {
        Ok(text) => Some(text),
        Err(error) if error.error_len().is_none() => {
            str::from_utf8(&body[..error.valid_up_to()]).ok()
        }
        Err(_) => None,
    }
}

/// Whether at least half of the sequences outside ASCII are valid UTF-8.
fn is_mostly_utf8(body: &[u8]) -> bool {
    let (mut valid, mut invalid) = (0_usize, 0_usize);
    for chunk in body.utf8_chunks() {
        valid += chunk.valid().bytes().filter(|byte| *byte >= 0xC0).count();
        invalid += usize::from(!chunk.invalid().is_empty());
    }
    valid >= invalid
}

fn detect(body: &[u8], url: &str) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    // ASCII bytes say nothing about the character set, so the sample begins shortly before the first byte outside
    // ASCII.
    let start = Encoding::ascii_valid_up_to(body).saturating_sub(DETECTOR_BYTES / 4);
    let sample = &body[start..body.len().min(start + DETECTOR_BYTES)];
    detector.feed(sample, start + sample.len() == body.len());
    detector.guess(top_level_domain(url), Utf8Detection::Deny)
}

/// The encoding that a label names in the Encoding Standard. An unknown label gives a remark.
fn encoding_for(label: &[u8], remarks: &mut Vec<PageRemark>) -> Option<&'static Encoding> {
    let found = Encoding::for_label(label);
    if found.is_none() && !label.trim_ascii().is_empty() {
        let label = &label[..label.len().min(MAX_LABEL)];
        remarks.push(PageRemark::CharsetUnknown {
            label: String::from_utf8_lossy(label).into_owned(),
        });
    }
    found
}

/// The `charset` parameter of a `Content-Type` header, quoted or not.
fn charset_parameter(header: &str) -> Option<&str> {
    header.split(';').skip(1).find_map(|part| {
        let (name, value) = part.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']).trim();
        (name.trim().eq_ignore_ascii_case("charset") && !value.is_empty()).then_some(value)
    })
}

/// The top-level domain of the host, which the detector requires in lower-case ASCII. `None` for an IP address.
pub(crate) fn top_level_domain(url: &str) -> Option<&[u8]> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let host = authority.rsplit('@').next()?.split(':').next()?;
    let label = host.trim_end_matches('.').rsplit('.').next()?.as_bytes();
    let is_ascii_lower = label
        .iter()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-');
    let has_letter = label.iter().any(u8::is_ascii_lowercase);
    (is_ascii_lower && has_letter).then_some(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(
        body: &[u8],
        header: Option<&str>,
        url: &str,
        charset: &str,
        text: &str,
    ) -> Vec<PageRemark> {
        let mut remarks = Vec::new();
        let decoded = decode(body, header, url, &MediaType::HTML, &mut remarks);
        assert_eq!((decoded.charset, &*decoded.text), (charset, text));
        remarks
    }

    #[test]
    fn precedence_is_byte_order_mark_header_meta_detection() {
        check(
            b"\xEF\xBB\xBFol\xC3\xA1",
            Some("text/html; charset=latin1"),
            "",
            "UTF-8",
            "olá",
        );
        check(b"\xFF\xFEo\0l\0\xE1\0", None, "", "UTF-16LE", "olá");
        check(
            b"ol\xE1",
            Some("text/html; Charset=\"ISO-8859-1\""),
            "",
            "windows-1252",
            "olá",
        );
        let meta = b"<meta charset=iso-8859-2>\xB1";
        check(meta, None, "", "ISO-8859-2", "<meta charset=iso-8859-2>ą");
        check(
            meta,
            Some("text/html;charset=windows-1252"),
            "",
            "windows-1252",
            "<meta charset=iso-8859-2>±",
        );
        check("olá".as_bytes(), None, "", "UTF-8", "olá");
        check(b"plain", None, "", "UTF-8", "plain");
    }

    /// The detector never returns macintosh, so the character set must come from the declaration.
    #[test]
    fn declarations_in_the_page_are_read() {
        for declaration in [
            "<meta charset=macintosh>",
            "<META CHARSET='x-mac-roman'>",
            "<meta http-equiv=Content-Type content=\"text/html; charset=macintosh\">",
            "<meta content='text/html;charset=macintosh' http-equiv='content-type'>",
            "<?xml version=\"1.0\" encoding=\"macintosh\"?>",
        ] {
            let body = [declaration.as_bytes(), b"S\x8Bo Jo\x8Bo, cora\x8D\x8Bo"].concat();
            let text = format!("{declaration}São João, coração");
            check(&body, None, "http://a.pt/", "macintosh", &text);
        }
    }

    /// ISO-2022-JP consists of ASCII bytes. Without the declaration, the body would be read as UTF-8.
    #[test]
    fn a_declaration_after_1024_bytes_is_read() {
        let script = format!("<head><script>{}</script>", "x<y; ".repeat(1000));
        let meta = "<meta charset=iso-2022-jp>";
        let body = format!("{script}{meta}<title>\u{1b}$BF|K\\\u{1b}(B</title>");
        let text = format!("{script}{meta}<title>日本</title>");
        check(body.as_bytes(), None, "", "ISO-2022-JP", &text);
    }

    #[test]
    fn top_level_domain_is_a_hint_for_detection() {
        let russian = b"\xCF\xF0\xE8\xE2\xE5\xF2, \xEC\xE8\xF0";
        check(
            russian,
            None,
            "http://example.ru/",
            "windows-1251",
            "Привет, мир",
        );
        for url in [
            "http://1.2.3.4/",
            "http://[::1]/",
            "http://exa\u{e9}.\u{e9}/",
            "http:///",
            "x",
            "http://A.RU",
        ] {
            let mut remarks = Vec::new();
            decode(russian, None, url, &MediaType::HTML, &mut remarks);
        }
    }

    #[test]
    fn unknown_wrong_and_malformed_charsets_are_remarked() {
        assert_eq!(
            check(b"x", Some("text/html; charset=klingon"), "", "UTF-8", "x"),
            [PageRemark::CharsetUnknown {
                label: "klingon".into()
            }]
        );
        assert_eq!(
            check(
                &"cortado é".as_bytes()[.."cortado é".len() - 1],
                None,
                "",
                "UTF-8",
                "cortado "
            ),
            []
        );
        let replaced = "é é é é \u{FFFD}";
        assert_eq!(
            check(
                b"\xC3\xA9 \xC3\xA9 \xC3\xA9 \xC3\xA9 \xFF",
                Some("a/b;charset=utf-8"),
                "",
                "UTF-8",
                replaced
            ),
            [PageRemark::MalformedCharacters]
        );
        assert_eq!(
            check(
                b"S\xE3o Jo\xE3o n\xE3o \xE9 a\xED",
                Some("a/b; charset=utf-8"),
                "http://a.pt/",
                "windows-1252",
                "São João não é aí"
            ),
            [PageRemark::CharsetMismatch {
                declared: "UTF-8",
                found: "windows-1252"
            }]
        );
    }
}
