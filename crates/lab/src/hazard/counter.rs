//! A page that links to itself with the next number, in the query, in the path and in a fragment.
//!
//! D8, Bouras 4, Chakrabarti 2.3.6. Pages differ only in the number: near-duplicate detection (D3) or a threshold ends
//! it.

use std::io;

use super::Visit;

pub(super) async fn serve(visit: &mut Visit<'_>) -> io::Result<()> {
    let next = visit.number().unwrap_or(0).wrapping_add(1);
    let body = format!(
        "<title>Guest book</title><h1>Guest book</h1><p>Thank you for your visit, guest {next}. \
        Nobody has written anything yet; be the first to leave a word for those who come after you.</p>\
        <a href=\"/?n={next}\">reload</a> <a href=\"/guest/{next}.html\">reload</a> <a href=\"#{next}\">top</a>"
    );
    visit.page(&body).await
}
