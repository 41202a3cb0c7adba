//! Links of pages, separated into links within the site and links to other sites.
//!
//! `extract.rs` reads the links of a page, and `bases.rs` finds the URLs to which they are relative. `redirect.rs`
//! finds the target of a redirect, which is treated like a link (N11). `rejected_links.rs` counts links that are not
//! followed. `link_cache.rs` recognises links that the visit has seen on an earlier page. `sitemap_grants.rs` knows
//! which sites a sitemap may list.

mod bases;
mod extract;
pub(crate) mod link_cache;
mod redirect;
mod rejected_links;
mod site_links;
pub(crate) mod sitemap_grants;

use aranha_frontier::{Hop, Outside, Pending};
use aranha_url::{CanonUrl, PathKey};

pub(crate) use self::extract::extract;
pub(crate) use self::redirect::{RedirectTarget, redirect_target};
pub(crate) use self::site_links::SiteLinks;

/// The links of one page that are in scope.
#[derive(Default)]
pub(crate) struct PageLinks {
    /// Links to pages of the same site.
    pub(crate) inside: SiteLinks,
    /// Links to other sites.
    pub(crate) outside: Vec<Outside>,
}

/// Depth of a link's target, in links from a seed. The first redirect of a chain does not add to the depth. Each
/// further redirect does.
pub(crate) fn link_depth(from: &Pending, hop: Hop) -> u16 {
    if hop.is_redirect() && !from.hop.is_redirect() {
        from.depth
    } else {
        from.depth.saturating_add(1)
    }
}

/// The page of the same site to which the page `from` links.
pub(crate) fn linked_page(
    path: &str,
    key: PathKey,
    from: &Pending,
    hop: Hop,
    via: &str,
) -> Pending {
    Pending {
        path: path.to_owned(),
        key,
        depth: link_depth(from, hop),
        site_depth: from
            .site_depth
            .saturating_add(u16::from(!hop.is_redirect())),
        tries: 0,
        hop,
        via: via.to_owned(),
        past: None,
    }
}

/// A link to another site, as that site's inbox stores it.
pub(crate) fn outside_link(url: &CanonUrl, from: &Pending, hop: Hop, via: &CanonUrl) -> Outside {
    Outside::of(url, link_depth(from, hop), hop, via.as_str())
}
