//! Redirect loops of five URLs (`/step/N`) and of sixty (`/long/N`), a URL that redirects to itself (`/self`), and an
//! endless chain (`/on/N`).
//!
//! Imitates servers that redirect until the client returns a cookie. N10; N11 and Viuva Negra 3.4 (a redirect is
//! treated as a link, so each URL of a loop is fetched once). The chain never repeats a URL. So it ends only if its
//! length, or the number of URLs of the site, is limited.

use std::io;

use super::HazardRequest;

const ROUND: usize = 5;
const LONG_ROUND: usize = 60;

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let Some(step) = request.number() else {
        if request.target() == "/" {
            let links = ["/step/0", "/long/0", "/self", "/on/0"];
            return request.index("Circles", &links).await;
        }
        let location = format!("{}{}", request.origin(), request.target());
        return request.redirect(302, &location).await;
    };
    let next = match request.target() {
        target if target.starts_with("/on/") => format!("/on/{}", step.wrapping_add(1)),
        target if target.starts_with("/long/") => format!("/long/{}", (step + 1) % LONG_ROUND),
        _ => format!("/step/{}", (step + 1) % ROUND),
    };
    let location = format!("{}{next}", request.origin());
    request.redirect(302, &location).await
}
