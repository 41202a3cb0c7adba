//! A catalogue with filters that combine in any order: twelve articles under millions of URLs.
//!
//! Faceted navigation, common in shops (D5, Chakrabarti 2.3.6). Each selected filter removes one of the twelve
//! articles.

use std::fmt::Write as _;
use std::io;

use super::Visit;

const FACETS: [&str; 8] = [
    "colour", "size", "brand", "price", "sort", "view", "stock", "year",
];
const ARTICLES: usize = 12;

pub(super) async fn serve(visit: &mut Visit<'_>) -> io::Result<()> {
    let query = visit
        .target()
        .split_once('?')
        .map_or("", |(_, query)| query);
    let chosen = query.split('&').filter(|part| !part.is_empty()).count();
    if visit.path().starts_with("/article/") {
        let body = Visit::prose(&mut visit.chance_at(visit.path()), 3);
        return visit.page(&body).await;
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
    visit.page(&body).await
}
