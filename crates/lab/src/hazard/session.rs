//! Session identifiers in path and query that change on every visit.
//!
//! U4, Viuva Negra 4.1 and 5.4 (27% of URLs without cookies, 3.5% with them), Castillo A.6.1. The shop omits them for
//! clients that return its cookie, as PHP does; the forum always writes them. Each has nine articles, which do not
//! depend on the identifier.

use std::fmt::Write as _;
use std::io;

use super::Visit;
use crate::layout::last_number;

const ARTICLES: usize = 9;

pub(super) async fn serve(visit: &mut Visit<'_>) -> io::Result<()> {
    let path = visit.path().to_owned();
    let session = format!(
        "{:016x}",
        visit
            .exchange
            .connection()
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
    );
    let known = visit.head.cookie.contains("PHPSESSID=");
    let shown = match visit.target().split_once("?id=") {
        Some((_, rest)) => rest.split('&').next().unwrap_or_default(),
        None => &path,
    };
    let article = last_number(shown).unwrap_or(0) % (ARTICLES + 1);
    let place = if path.contains("/forum/") {
        "forum"
    } else {
        "shop"
    };
    let mut body = Visit::prose(&mut visit.chance_at(&format!("{place}{article}")), 3);
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
    visit.answer(200, &cookie, body).await
}
