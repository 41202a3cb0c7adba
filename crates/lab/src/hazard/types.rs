//! Media types that are wrong, missing or invalid.
//!
//! T3, N8, Viuva Negra 4.2 (wrong media type), Castillo A.3.1 (large binaries served as HTML).

use std::io;

use super::HazardRequest;

const PAGE: &[u8] =
    b"<!DOCTYPE html><html><title>Types</title><p>A page.</p><a href=/page.bin>page</a></html>";
const ZIP: &[u8] = b"PK\x03\x04\x14\0\0\0\x08\0binary \xff\xfe\x01\x02 <a href=/not-a-link>";
const PDF: &[u8] =
    b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n";
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR <a href=/not-a-link>";

/// The path, the Content-Type line and the body of each variant.
const VARIANTS: [(&str, &str, &[u8]); 11] = [
    ("/archive.html", "Content-Type: text/html\r\n", ZIP),
    (
        "/page.bin",
        "Content-Type: application/octet-stream\r\n",
        PAGE,
    ),
    ("/paper", "", PDF),
    (
        "/picture.html",
        "Content-Type: text/html; charset=utf-8\r\n",
        PNG,
    ),
    ("/plain", "Content-Type: text/plain\r\n", PAGE),
    ("/page.gif", "Content-Type: image/gif\r\n", PAGE),
    ("/empty", "Content-Type:\r\n", PAGE),
    ("/word", "Content-Type: html\r\n", PAGE),
    (
        "/doubled",
        "Content-Type: text/html; charset=utf-8; charset=koi8-r, text/plain\r\n",
        PAGE,
    ),
    ("/document.pdf", "Content-Type: text/html\r\n", PDF),
    ("/missing", "", PAGE),
];

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let target = request.target().to_owned();
    if let Some((_, header, body)) = VARIANTS.iter().find(|(path, _, _)| *path == target) {
        let head = format!(
            "HTTP/1.1 200 OK\r\n{header}Content-Length: {}\r\n\r\n",
            body.len()
        );
        return request.raw(200, [head.as_bytes(), body].concat()).await;
    }
    let links: Vec<&str> = VARIANTS.iter().map(|(path, _, _)| *path).collect();
    request.index("Types", &links).await
}
