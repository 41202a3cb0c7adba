//! A catalogue with filters that combine in any order: twelve articles under millions of URLs.
//!
//! Imitates faceted navigation, which is common in shops (D5, Chakrabarti 2.3.6). Each selected filter removes one
//! article from the list.

use std::fmt::Write as _;
use std::io;

use super::HazardRequest;

const FACETS: [&str; 8] = [
    "colour", "size", "brand", "price", "sort", "view", "stock", "year",
];
const ARTICLES: usize = 12;

pub(super) async fn serve(request: &mut HazardRequest<'_>) -> io::Result<()> {
    let query = request
        .target()
        .split_once('?')
        .map_or("", |(_, query)| query);
    let chosen = query.split('&').filter(|part| !part.is_empty()).count();
    if request.path().starts_with("/article/") {
        let body = HazardRequest::prose(&mut request.chance_at(request.path()), 3);
        return request.page(&body).await;
    }
    let mut body = "<title>Catalogue</title><h1>Catalogue</h1>\n".to_owned();
    for facet in FACETS.iter().filter(|facet| !query.contains(*facet)) {
        for value in 1..=4 {
            let joined = if query.is_empty() { "" } else { "&amp;" };
            let before = query.replace('&', "&amp;");
            let _ = writeln!(
                body,
                "<a href=\"/?{before}{joined}{facet}={value}\">{facet} {value}</a>"
            );
        }
    }
    for article in 0..ARTICLES.saturating_sub(chosen) {
        let _ = writeln!(body, "<a href=\"/article/{article}\">article {article}</a>");
    }
    request.page(&body).await
}
