//! Requests for missing pages are answered with status 200 and an apology. Under `/shop/`, they are redirected to such
//! a page.
//!
//! T8: soft 404 (Bar-Yossef et al. 2004; Castillo A.3.4: 29% of dead links). The crawler can request a URL that cannot
//! exist and compare the responses.

use std::io;

use super::HazardRequest;

const LINKS: [&str; 6] = [
    "/real.html",
    "/old-news.html",
    "/gone/1.html",
    "/gone/2.html",
    "/shop/article-7",
    "/shop/article-8",
];

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    match request.path() {
        "/" => request.index("Soft", &LINKS).await,
        "/real.html" => {
            let body = HazardRequest::prose(&mut request.chance(), 5);
            request.page(&body).await
        }
        path if path.starts_with("/shop/") => {
            let location = format!("{}/error.html?from={path}", request.origin());
            request.redirect(302, &location).await
        }
        path => {
            let body = format!(
                "<title>Oops</title><h1>Page not found</h1><p>We are sorry: {path} could not be found on this \
                server. It may have been moved. Please start again from our <a href=/>home page</a>.</p>"
            );
            request.page(&body).await
        }
    }
}
