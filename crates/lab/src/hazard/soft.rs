//! Missing pages that answer 200 with an apology, or under `/shop/` redirect to one.
//!
//! T8: soft 404 (Bar-Yossef et al. 2004; Castillo A.3.4: 29% of dead links). The crawler requests a URL that cannot
//! exist and compares.

use std::io;

use super::Visit;

const LINKS: [&str; 6] = [
    "/real.html",
    "/old-news.html",
    "/gone/1.html",
    "/gone/2.html",
    "/shop/article-7",
    "/shop/article-8",
];

pub(super) async fn serve(visit: &mut Visit<'_>) -> io::Result<()> {
    match visit.path() {
        "/" => visit.index("Soft", &LINKS).await,
        "/real.html" => {
            let body = Visit::prose(&mut visit.chance(), 5);
            visit.page(&body).await
        }
        path if path.starts_with("/shop/") => {
            let location = format!("{}/error.html?from={path}", visit.origin());
            visit.redirect(302, &location).await
        }
        path => {
            let body = format!(
                "<title>Oops</title><h1>Page not found</h1><p>We are sorry: {path} could not be found on this \
                server. It may have been moved. Please start again from our <a href=/>home page</a>.</p>"
            );
            visit.page(&body).await
        }
    }
}
