//! A connection that is reset, or closed, at byte N of the response, for every N.
//!
//! N5; Castillo A.1.3: the crawler may stop receiving data at any point. `/reset/0` resets before the first byte, the
//! last N after the whole response. The home page links to all of them.

use std::io;

use super::Visit;

const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 44\r\n\r\n\
    <title>Reset</title><p>as far as it came</p>";

pub(super) async fn serve(visit: &mut Visit<'_>) -> io::Result<()> {
    let Some(at) = visit.number() else {
        let each = (0..=ANSWER.len()).map(|n| format!("/reset/{n}"));
        let links: Vec<String> = each
            .chain(["/close/0".into(), "/close/60".into()])
            .collect();
        let links: Vec<&str> = links.iter().map(String::as_str).collect();
        return visit.index("Reset", &links).await;
    };
    if at > 0 {
        visit.exchange.status(200);
    }
    visit
        .send(&ANSWER.as_bytes()[..at.min(ANSWER.len())])
        .await?;
    if visit.target().starts_with("/reset/") {
        visit.exchange.reset()?;
    }
    Ok(())
}
