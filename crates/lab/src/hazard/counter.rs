//! A page that links to itself with a higher number in the query, in the path and in a fragment.
//!
//! D8, Bouras 4, Chakrabarti 2.3.6. The pages differ only in the number. Near-duplicate detection (D3) or a threshold
//! must end the crawl of the site.

use std::io;

use super::HazardRequest;

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let next = request.number().unwrap_or(0).wrapping_add(1);
    let body = format!(
        "<title>Guest book</title><h1>Guest book</h1><p>Thank you for your visit, guest {next}. \
        Nobody has written anything yet; be the first to leave a word for those who come after you.</p>\
        <a href=\"/?n={next}\">reload</a> <a href=\"/guest/{next}.html\">reload</a> <a href=\"#{next}\">top</a>"
    );
    request.page(&body).await
}
