//! Redirects in a circle of five, in one of sixty, to itself at `/self`, and onward for ever at `/on/N`.
//!
//! Imitates servers that redirect to set a cookie, for ever, for those who take none: N10, Viuva Negra 3.4 (redirects are
//! links, N11: a crawler that treats them so goes round once). The way onward never repeats a URL: only a limit on
//! the length of chains or on the site ends it.

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
