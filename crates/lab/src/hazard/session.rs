//! Session identifiers in path and query that change with every request.
//!
//! U4, Viuva Negra 4.1 and 5.4 (27% of the URLs had identifiers in a crawl without cookies, 3.5% in one with cookies),
//! Castillo A.6.1. As in PHP, links to `/shop/` have no identifier if the client returns the cookie. Links to `/forum/`
//! always have an identifier. The shop and the forum have nine articles each, whose text does not depend on the
//! identifier.

use std::fmt::Write as _;
use std::io;

use super::HazardRequest;
use crate::layout::last_number;

const ARTICLES: usize = 9;

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let path = request.path().to_owned();
    let session = format!(
        "{:016x}",
        request
            .exchange
            .connection()
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
    );
    let known = request.head.cookie.contains("PHPSESSID=");
    let shown = match request.target().split_once("?id=") {
        Some((_, rest)) => rest.split('&').next().unwrap_or_default(),
        None => &path,
    };
    let article = last_number(shown).unwrap_or(0) % (ARTICLES + 1);
    let place = if path.contains("/forum/") {
        "forum"
    } else {
        "shop"
    };
    let mut body = HazardRequest::prose(&mut request.chance_at(&format!("{place}{article}")), 3);
    for next in 1..=ARTICLES {
        let shop = if known {
            format!("/shop/show.php?id={next}")
        } else {
            format!("/shop/show.php?id={next}&amp;PHPSESSID={session}")
        };
        let forum = match next % 4 {
            0 => format!("/forum/{next};jsessionid={session}"),
            1 => format!("/forum/{next}?sid={session}"),
            2 => format!("/forum/{next}?CFID=7&amp;CFTOKEN={session}"),
            // ASP.NET identifiers have 24 letters and digits.
            _ => format!("/(S({session}55vlm25s))/forum/{next}"),
        };
        let _ = writeln!(
            body,
            "<a href=\"{shop}\">{next}</a> <a href=\"{forum}\">{next}</a>"
        );
    }
    let cookie = format!("Set-Cookie: PHPSESSID={session}; Path=/\r\n");
    request.answer(200, &cookie, body).await
}
