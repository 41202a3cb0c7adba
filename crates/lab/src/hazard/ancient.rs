//! Responses without a header section, and status lines of unknown protocols.
//!
//! The variants are HTTP/0.9 (Castillo A.3.3; N10 treats it as a protocol error), the `ICY 200 OK` of radio stations
//! (D8), `HTTP/2.0` in an HTTP/1 status line, and invalid status codes.

use std::io;

use super::HazardRequest;

const BODY: &str = "<title>Ancient</title><p>From before there were heads.</p>\n";
const VARIANTS: [(&str, &str); 9] = [
    ("/bare", ""),
    (
        "/icy",
        "ICY 200 OK\r\nicy-name: Radio\r\nContent-Type: audio/mpeg\r\n\r\n",
    ),
    ("/two", "HTTP/2.0 200 OK\r\nContent-Type: text/html\r\n\r\n"),
    ("/newlines", "HTTP/1.0 200 OK\nContent-Type: text/html\n\n"),
    (
        "/lower",
        "http/1.1 200 ok\r\ncontent-type: text/html\r\n\r\n",
    ),
    (
        "/status",
        "HTTP/1.1 99999 Beyond\r\nContent-Type: text/html\r\n\r\n",
    ),
    (
        "/zero",
        "HTTP/1.1 000 None\r\nContent-Type: text/html\r\n\r\n",
    ),
    ("/word", "HTTP/1.1 OK\r\nContent-Type: text/html\r\n\r\n"),
    (
        "/blank",
        "\r\n\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n",
    ),
];

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let target = request.target().to_owned();
    if let Some((_, head)) = VARIANTS.iter().find(|(path, _)| *path == target) {
        return request.raw(0, format!("{head}{BODY}")).await;
    }
    let links: Vec<&str> = VARIANTS.iter().map(|(path, _)| *path).collect();
    request.index("Ancient", &links).await
}
