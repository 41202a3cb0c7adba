//! 100,000 nested tags, with a link at the bottom.
//!
//! T1. A parser that calls itself for each nested element overflows its stack. Misnested formatting elements (`/fonts`)
//! make the adoption agency algorithm of HTML quadratic. At `/tables` a parser must move text out of each table.

use std::io;

use super::HazardRequest;

const DEPTH: usize = 100_000;

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let tag: &[u8] = match request.target() {
        "/blocks" => b"<div>",
        "/fonts" => b"<b><font color=red><p>",
        "/tables" => b"<table><tr><td>x",
        "/lists" => b"<ul><li>",
        "/closed" => b"</div></b></p>",
        _ => {
            let links = ["/blocks", "/fonts", "/tables", "/lists", "/closed"];
            return request.index("Nested", &links).await;
        }
    };
    request.start(200, "").await?;
    request.send(b"<title>Nested</title>").await?;
    request.repeat(tag, DEPTH).await?;
    request.send(b"<a href=\"/bottom.html\">bottom</a>").await?;
    request.exchange.complete();
    Ok(())
}
