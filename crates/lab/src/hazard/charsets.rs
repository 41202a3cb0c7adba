//! Character encodings that are wrong, contradictory, unknown, or change within the page.
//!
//! Viuva Negra 4.2 (malformed pages). Browsers use the WHATWG sniffing order: byte order mark, header, meta element,
//! guess. Every path has the same text: "São João, coração, ação".

use std::io;

use super::HazardRequest;

const TEXT: &str = "<p>S\u{e3}o Jo\u{e3}o, cora\u{e7}\u{e3}o, a\u{e7}\u{e3}o</p><a href=\"/cora\u{e7}\u{e3}o.html\">link</a>";

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let latin = |text: &str| -> Vec<u8> { text.chars().map(|c| c as u8).collect() };
    let wide = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    let declared = |declaration: &str| [declaration.as_bytes(), &macintosh(TEXT)].concat();
    let (kind, body) = match request.target() {
        "/declared" => ("", declared("<meta charset=macintosh>")),
        "/declared-pragma" => (
            "",
            declared("<meta http-equiv=content-type content='text/html; charset=macintosh'>"),
        ),
        "/declared-xml" => ("", declared("<?xml version='1.0' encoding='macintosh'?>")),
        "/latin-as-utf" => ("; charset=utf-8", latin(TEXT)),
        "/utf-as-latin" => ("; charset=iso-8859-1", TEXT.into()),
        "/meta-against-header" => (
            "; charset=utf-8",
            format!("<meta charset=koi8-r>{TEXT}").into_bytes(),
        ),
        "/two-metas" => (
            "",
            latin(&format!(
                "<meta charset=windows-1252><meta charset=utf-8>{TEXT}"
            )),
        ),
        "/none" => ("", latin(TEXT)),
        "/unknown" => ("; charset=martian", TEXT.into()),
        "/wide" => (
            "; charset=utf-16",
            [&[0xFF, 0xFE][..], &wide(TEXT)].concat(),
        ),
        "/wide-unmarked" => ("", wide(TEXT)),
        "/mark-against-header" => (
            "; charset=iso-8859-1",
            [b"\xEF\xBB\xBF", TEXT.as_bytes()].concat(),
        ),
        "/mixed" => ("; charset=utf-8", [TEXT.as_bytes(), &latin(TEXT)].concat()),
        "/seven" => (
            "; charset=utf-7",
            b"+ADw-script+AD4- S+AOM-o Jo+AOM-o".to_vec(),
        ),
        "/cut" => (
            "; charset=utf-8",
            [TEXT.as_bytes(), b"\xF0\x9F\xA6"].concat(),
        ),
        "/overlong" => (
            "; charset=utf-8",
            [TEXT.as_bytes(), b"\xC0\xAF\xED\xA0\x80"].concat(),
        ),
        _ => {
            let links = [
                "/declared",
                "/declared-pragma",
                "/declared-xml",
                "/latin-as-utf",
                "/utf-as-latin",
                "/meta-against-header",
                "/two-metas",
                "/none",
                "/unknown",
                "/wide",
                "/wide-unmarked",
                "/mark-against-header",
                "/mixed",
                "/seven",
                "/cut",
                "/overlong",
            ];
            return request.index("Character sets", &links).await;
        }
    };
    let header = format!("Content-Type: text/html{kind}\r\n");
    request.answer(200, &header, body).await
}

/// Text in Mac OS Roman. Detectors never guess this encoding, so only a reader that uses the declared encoding decodes
/// the text correctly.
fn macintosh(text: &str) -> Vec<u8> {
    let byte = |c| match c {
        '\u{e3}' => 0x8B,
        '\u{e7}' => 0x8D,
        c => c as u8,
    };
    text.chars().map(byte).collect()
}
