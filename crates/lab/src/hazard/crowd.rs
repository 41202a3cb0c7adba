//! A page of 100,000 links, each to a page that exists.
//!
//! Link farms and generated site maps: D5 (URLs per site), F14 (the queue is on disk). The page has four megabytes and
//! may be truncated (N6).

use std::io;

use super::Visit;

const LINKS: usize = 100_000;

pub(super) async fn serve(visit: &mut Visit<'_>) -> io::Result<()> {
    if let Some(number) = visit.number() {
        let body = format!("<title>{number}</title><p>One of many: {number}.</p>");
        return visit.page(&body).await;
    }
    visit.start(200, "").await?;
    visit.send(b"<title>Crowd</title>\n").await?;
    for hundred in 0..LINKS / 100 {
        let each =
            (0..100).map(|n| format!("<a href=\"/of/the/crowd/{}\">x</a>\n", hundred * 100 + n));
        visit.send(each.collect::<String>().as_bytes()).await?;
    }
    visit.exchange.complete();
    Ok(())
}
