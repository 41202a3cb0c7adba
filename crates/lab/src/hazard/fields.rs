//! Header fields that are missing, repeated, folded or malformed.
//!
//! N10, Castillo A.3.3 and A.4.1 (unterminated strings in headers); RFC 9112, 5.1 (space before the colon), 5.2
//! (folding), 6.3 (two different lengths); RFC 9110, 5.5. The body is a valid page that should be kept.

use std::io;

use super::HazardRequest;

const BODY: &str = "<title>Fields</title><p>A page behind a strange head.</p>\n";
/// The path and the header lines of each variant. The body has 58 bytes.
const VARIANTS: [(&str, &[u8]); 13] = [
    ("/none", b""),
    ("/lengths", b"Content-Length: 58\r\nContent-Length: 20\r\n"),
    ("/same", b"Content-Length: 58\r\nContent-Length: 58\r\n"),
    ("/list", b"Content-Length: 58, 58\r\n"),
    (
        "/types",
        b"Content-Type: text/html\r\nContent-Type: image/png\r\n",
    ),
    (
        "/folded",
        b"Content-Type: text/html;\r\n  charset=utf-8\r\nX-Folded: a\r\n\tb\r\n",
    ),
    (
        "/space",
        b"Content-Type : text/html\r\nContent-Length : 58\r\n",
    ),
    ("/colon", b"Content-Type text/html\r\nno colon here\r\n"),
    ("/nameless", b": text/html\r\n:\r\n"),
    (
        "/control",
        b"Content-Type: text/html\r\nX-Control: a\0b\x01c\x7f\r\n",
    ),
    (
        "/latin",
        b"Content-Type: text/html\r\nX-Latin: caf\xe9 \xff\r\n",
    ),
    (
        "/quote",
        b"Content-Type: text/html; charset=\"utf-8\r\nX: \"open\r\n",
    ),
    ("/return", b"Content-Type: text/html\rX-Bare: return\r\n"),
];

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let target = request.target().to_owned();
    if let Some((_, header)) = VARIANTS.iter().find(|(path, _)| *path == target) {
        let bytes = [b"HTTP/1.1 200 OK\r\n", *header, b"\r\n", BODY.as_bytes()].concat();
        return request.raw(200, bytes).await;
    }
    if target == "/many" {
        let lines = (0..5000).map(|n| format!("X-Line-{n}: {n}\r\n"));
        let text = format!("HTTP/1.1 200 OK\r\n{}\r\n{BODY}", lines.collect::<String>());
        return request.raw(200, text).await;
    }
    let mut links: Vec<&str> = VARIANTS.iter().map(|(path, _)| *path).collect();
    links.push("/many");
    request.index("Fields", &links).await
}
