//! Server errors (5xx) at forty URLs. URLs under `/once/` fail at the first request only.
//!
//! F11, Viuva Negra 4.1 (unavailable services). All error pages have the same text. The crawler must not treat it as
//! the content of a page.

use std::io;

use super::HazardRequest;

const STATUSES: [u16; 7] = [500, 501, 502, 503, 504, 520, 599];

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let Some(number) = request.number() else {
        let links: Vec<String> = (0..40)
            .map(|n| format!("/{}/{n}", if n % 4 == 3 { "once" } else { "always" }))
            .collect();
        let links: Vec<&str> = links.iter().map(String::as_str).collect();
        return request.index("Storm", &links).await;
    };
    if request.target().starts_with("/once/") && request.count_request() > 0 {
        let body = HazardRequest::prose(&mut request.chance(), 2);
        return request.page(&body).await;
    }
    let status = STATUSES[number % STATUSES.len()];
    let body = "<title>Error</title><p>Could not connect to database server.</p>";
    request.answer(status, "", body).await
}
