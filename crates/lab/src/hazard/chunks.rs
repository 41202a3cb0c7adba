//! Chunked bodies that break the syntax, one fault per path.
//!
//! N10, Castillo A.3.3; RFC 9112, 6.1 and 7.1. The crawler must keep the readable bytes, mark the page as damaged, and
//! not allocate as much memory as a chunk announces. A body with both Content-Length and chunks must not be read as two
//! responses (response smuggling).

use std::io;

use super::HazardRequest;

/// The path of each variant, and the bytes that follow the header section.
const VARIANTS: [(&str, &str); 12] = [
    ("/word", "zebra\r\n<p>a size that is no number\r\n0\r\n\r\n"),
    ("/short", "40\r\n<p>closes inside the chunk"),
    ("/last", "14\r\n<p>no last chunk....\r\n"),
    (
        "/huge",
        "7fffffffffffffff\r\n<p>a size larger than all memory",
    ),
    (
        "/overflow",
        "10000000000000000a\r\n<p>a size of more than 64 bits",
    ),
    ("/negative", "-1\r\n<p>less than nothing\r\n0\r\n\r\n"),
    ("/bare", "10\n<p>bare newlines\n0\n\n"),
    ("/space", "a \r\n<p>a space\r\n0 \r\n\r\n"),
    ("/glued", "9\r\n<p>glued!8\r\n<p>more!0\r\n\r\n"),
    ("/empty", "\r\n\r\n\r\n"),
    ("/extension", "9;x=\"\r\n\";y\r\n<p>quoted\r\n0\r\n\r\n"),
    (
        "/plain",
        "<title>Plain</title><p>not chunked at all, whatever the head says",
    ),
];

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let target = request.target().to_owned();
    if let Some((_, body)) = VARIANTS.iter().find(|(path, _)| *path == target) {
        return framed(request, "", body).await;
    }
    match target.as_str() {
        "/both" => {
            let body = "2f\r\n<title>Both</title><p>framed in two ways...</p>\r\n0\r\n\r\n";
            framed(request, "Content-Length: 10\r\n", body).await
        }
        "/twice" => {
            let body = "11\r\n<p>chunked twice.\r\n0\r\n\r\n";
            framed(request, "Transfer-Encoding: chunked\r\n", body).await
        }
        "/trailers" => {
            framed(request, "", "9\r\n<p>words!\r\n0\r\n").await?;
            request.forever(b"X-Trailer: and another\r\n").await
        }
        "/sizes" => {
            framed(request, "", "").await?;
            request.forever(b"0").await // an endless line of zeros as chunk size
        }
        _ => {
            let mut links = vec!["/both", "/twice", "/trailers", "/sizes"];
            links.extend(VARIANTS.iter().map(|(path, _)| *path));
            request.index("Chunks", &links).await
        }
    }
}

async fn framed(request: &mut HazardRequest<'_>, header: &str, body: &str) -> io::Result<()> {
    let text = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n{header}\r\n{body}"
    );
    request.raw(200, text).await
}
