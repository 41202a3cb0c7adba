//! Directives of a page for robots, such as `nofollow`: the robots meta tag and the header `X-Robots-Tag`.

use aranha_fetch::FetchResponse;
use aranha_page::Page;
use aranha_robots::Directives;

/// The directives in the page and in its headers that apply to the crawler `product`.
pub(super) fn robots_directives(
    page: &Page,
    response: &FetchResponse,
    product: &str,
) -> Directives {
    let mut all = Directives::default();
    for (name, content) in &page.robots {
        all |= Directives::meta(name, content, product);
    }
    for value in response.headers.texts("x-robots-tag") {
        all |= Directives::header(value, product);
    }
    all
}
