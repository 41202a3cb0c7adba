//! A connection that is reset (`/reset/N`) or closed (`/close/N`) after N bytes of the response.
//!
//! N5; Castillo A.1.3: the crawler may stop receiving data at any point. `/reset/0` resets before the first byte. The
//! largest N is the length of the whole response. The home page links to every `/reset/N` and to two `/close/N`.

use std::io;

use super::HazardRequest;

const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 44\r\n\r\n\
    <title>Reset</title><p>as far as it came</p>";

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let Some(at) = request.number() else {
        let each = (0..=ANSWER.len()).map(|n| format!("/reset/{n}"));
        let links: Vec<String> = each
            .chain(["/close/0".into(), "/close/60".into()])
            .collect();
        let links: Vec<&str> = links.iter().map(String::as_str).collect();
        return request.index("Reset", &links).await;
    };
    if at > 0 {
        request.exchange.status(200);
    }
    request
        .send(&ANSWER.as_bytes()[..at.min(ANSWER.len())])
        .await?;
    if request.target().starts_with("/reset/") {
        request.exchange.reset()?;
    }
    Ok(())
}
