//! Paths that grow. Every page has two links: a relative link without its leading slash, and a link that contains the
//! current URL.
//!
//! Imitates missing root slashes (`a/b/c/c/c/c`: U6, Castillo A.6.2, Chakrabarti 2.3.6), and advertisements whose URLs
//! contain the URLs of the earlier pages (Viuva Negra 4.1, growing URLs). The page is the same at every depth.

use std::fmt::Write as _;
use std::io;

use super::HazardRequest;

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let history = request.target().replace('?', "%3F").replace('&', "%26");
    let mut body = HazardRequest::prose(&mut request.chance_at("growth"), 2);
    body.push_str("<a href=\"catalogue/articles/\">articles</a>\n");
    let _ = writeln!(body, "<a href=\"/go?via={history}\">offers</a>");
    request.page(&body).await
}
