//! An index of 100,000 pages that have nearly no text and no links.
//!
//! Imitates link farms and generated catalogues whose articles do not exist (Chakrabarti 2.3.6; D5). Unlike in `crowd`,
//! the index is spread over a thousand pages, so no single page has many links. The listed pages lead to no further
//! pages. So only the lack of text shows that the site is useless. A perfect crawler reads the first index, and leaves
//! the site after a few samples.

use std::fmt::Write as _;
use std::io;

use super::HazardRequest;

const INDEXES: usize = 1000;
const PER_INDEX: usize = 100;

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let number = request.number().unwrap_or(0);
    let path = request.path();
    if path.starts_with("/item/") {
        let body = format!("<title>Item {number}</title><p>Item {number}.</p>");
        return request.page(&body).await;
    }
    let index = number.min(INDEXES - 1);
    let mut body = format!("<title>Catalogue {index}</title><h1>Catalogue</h1>\n");
    for item in index * PER_INDEX..(index + 1) * PER_INDEX {
        let _ = writeln!(body, "<a href=\"/item/{item}\">{item}</a>");
    }
    if index + 1 < INDEXES {
        let _ = write!(body, "<a href=\"/index/{}\">more</a>", index + 1);
    }
    request.page(&body).await
}
