//! A single tag, word, comment, script or entity of ten megabytes.
//!
//! T1, Castillo A.4.1 (unterminated or long strings); T5 (very long strings are not words). A link to `/after.html`
//! follows. It need not be found if the page is truncated (N6), but nothing may fail.

use std::io;

use super::Visit;

const SIZE: usize = 10 << 20;

pub(super) async fn serve(visit: &mut Visit<'_>) -> io::Result<()> {
    let (start, piece, end): (&str, &[u8], &str) = match visit.target() {
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
            return visit.index("Giants", &links).await;
        }
    };
    visit.start(200, "").await?;
    visit
        .send(format!("<title>Giant</title>{start}").as_bytes())
        .await?;
    visit.repeat(piece, SIZE / piece.len()).await?;
    visit
        .send(format!("{end}<a href=/after.html>after</a>").as_bytes())
        .await?;
    visit.exchange.complete();
    Ok(())
}
