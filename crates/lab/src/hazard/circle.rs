//! Redirect loops of five and of sixty URLs, a redirect to itself at `/self`, and an endless chain at `/on/N`.
//!
//! Imitates servers that redirect until the client returns a cookie. N10; N11 and Viuva Negra 3.4 (a redirect is a
//! link, so a loop is followed once). The chain never repeats a URL: a limit on its length or on the site must end it.

use std::io;

use super::Visit;

const ROUND: usize = 5;
const LONG_ROUND: usize = 60;

pub(super) async fn serve(visit: &mut Visit<'_>) -> io::Result<()> {
    let Some(step) = visit.number() else {
        if visit.target() == "/" {
            let links = ["/step/0", "/long/0", "/self", "/on/0"];
            return visit.index("Circles", &links).await;
        }
        let location = format!("{}{}", visit.origin(), visit.target());
        return visit.redirect(302, &location).await;
    };
    let next = match visit.target() {
        target if target.starts_with("/on/") => format!("/on/{}", step.wrapping_add(1)),
        target if target.starts_with("/long/") => format!("/long/{}", (step + 1) % LONG_ROUND),
        _ => format!("/step/{}", (step + 1) % ROUND),
    };
    let location = format!("{}{next}", visit.origin());
    visit.redirect(302, &location).await
}
