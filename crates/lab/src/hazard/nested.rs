//! 100,000 nested tags, with a link at the bottom.
//!
//! T1. A parser that recurses per element overflows its stack. Misnested formatting elements (`/fonts`) make the
//! adoption agency algorithm quadratic; `/tables` moves text out of each table.

use std::io;

use super::Visit;

const DEPTH: usize = 100_000;

pub(super) async fn serve(visit: &mut Visit<'_>) -> io::Result<()> {
    let tag: &[u8] = match visit.target() {
        "/blocks" => b"<div>",
        "/fonts" => b"<b><font color=red><p>",
        "/tables" => b"<table><tr><td>x",
        "/lists" => b"<ul><li>",
        "/closed" => b"</div></b></p>",
        _ => {
            let links = ["/blocks", "/fonts", "/tables", "/lists", "/closed"];
            return visit.index("Nested", &links).await;
        }
    };
    visit.start(200, "").await?;
    visit.send(b"<title>Nested</title>").await?;
    visit.repeat(tag, DEPTH).await?;
    visit.send(b"<a href=\"/bottom.html\">bottom</a>").await?;
    visit.exchange.complete();
    Ok(())
}
