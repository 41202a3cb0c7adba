//! A single tag, word, comment, script or entity of ten megabytes.
//!
//! T1, Castillo A.4.1 (unterminated or long strings); T5 (very long strings are not words). A link to `/after.html`
//! follows the ten megabytes. The crawler may truncate the page (N6) before this link, but it must not fail.

use std::io;

use super::HazardRequest;

const SIZE: usize = 10 << 20;

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let (start, piece, end): (&str, &[u8], &str) = match request.target() {
        "/tag" => ("<a title=\"", b"very long ", "\" href=/in.html>in</a>"),
        "/attributes" => ("<a ", b"a0000=1 b=\"2\" ", " href=/in.html>in</a>"),
        "/name" => ("<", b"tagname", " href=/in.html>"),
        "/word" => ("<p>", b"word", "</p>"),
        "/comment" => ("<!--", b"- ", "-->"),
        "/script" => ("<script>", b"f(\"/x\");", "</script>"),
        "/entity" => ("<p>&", b"amp", ";</p>"),
        _ => {
            let links = [
                "/tag",
                "/attributes",
                "/name",
                "/word",
                "/comment",
                "/script",
                "/entity",
            ];
            return request.index("Giants", &links).await;
        }
    };
    request.start(200, "").await?;
    request
        .send(format!("<title>Giant</title>{start}").as_bytes())
        .await?;
    request.repeat(piece, SIZE / piece.len()).await?;
    request
        .send(format!("{end}<a href=/after.html>after</a>").as_bytes())
        .await?;
    request.exchange.complete();
    Ok(())
}
