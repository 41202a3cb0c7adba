//! Server errors of every status code at forty URLs; under `/once/` only for the first request.
//!
//! F11, Viuva Negra 4.1 (unavailable services). The error page is always the same and is not content.

use std::io;

use super::Visit;

const STATUSES: [u16; 7] = [500, 501, 502, 503, 504, 520, 599];

pub(super) async fn serve(visit: &mut Visit<'_>) -> io::Result<()> {
    let Some(number) = visit.number() else {
        let links: Vec<String> = (0..40)
            .map(|n| format!("/{}/{n}", if n % 4 == 3 { "once" } else { "always" }))
            .collect();
        let links: Vec<&str> = links.iter().map(String::as_str).collect();
        return visit.index("Storm", &links).await;
    };
    if visit.target().starts_with("/once/") && visit.times() > 0 {
        let body = Visit::prose(&mut visit.chance(), 2);
        return visit.page(&body).await;
    }
    let status = STATUSES[number % STATUSES.len()];
    let body = "<title>Error</title><p>Could not connect to database server.</p>";
    visit.answer(status, "", body).await
}
