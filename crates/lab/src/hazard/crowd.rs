//! A page with 100,000 links. Each link leads to a page that exists.
//!
//! Imitates link farms and generated site maps. D5 (limit of URLs per site), F14 (the queue is on disk). The page has
//! four megabytes, so the crawler may truncate it (N6).

use std::io;

use super::HazardRequest;

const LINKS: usize = 100_000;

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    if let Some(number) = request.number() {
        let body = format!("<title>{number}</title><p>One of many: {number}.</p>");
        return request.page(&body).await;
    }
    request.start(200, "").await?;
    request.send(b"<title>Crowd</title>\n").await?;
    for hundred in 0..LINKS / 100 {
        let each =
            (0..100).map(|n| format!("<a href=\"/of/the/crowd/{}\">x</a>\n", hundred * 100 + n));
        request.send(each.collect::<String>().as_bytes()).await?;
    }
    request.exchange.complete();
    Ok(())
}
