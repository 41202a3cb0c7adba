//! Extracts the links of a page: canonicalises them, drops links that are out of scope, and separates links to other
//! sites.

use aranha_frontier::{Hop, Pending};
use aranha_page::{Link, LinkKind, Page};
use aranha_url::{CanonUrl, PageKey, Scope, SiteKey};

use super::bases::Bases;
use super::link_cache::LinkIds;
use super::rejected_links::RejectedLinks;
use super::{PageLinks, link_depth, outside_link};
use crate::node::Context;
use crate::scope::judge_hop;

/// Maximum number of host names on one page that are looked up in advance, before their sites are visited. A page can
/// name thousands of hosts.
const MAX_PREFETCHES: u32 = 16;
/// A sitemap index may list other sites. Up to this number of its entries may list these sites too.
const MAX_INDEX_ENTRIES: u32 = 1000;

/// Extracts the links of `page`. `from` is the entry of the page in the queue, and `url` is its URL. `lease` is the
/// lease of the visit, or `None` if the page is read from the archive.
pub(crate) fn extract(
    context: &Context,
    lease: Option<u64>,
    page: &Page,
    from: &Pending,
    url: &CanonUrl,
) -> PageLinks {
    let site: SiteKey = url.site_key();
    let bases = Bases::new(context, page, from, url);
    let scope = context.scope.read();
    let follow_nofollow = context.config().crawl.follow_nofollow;
    let requisites_only = is_outside_requisite(&scope, url, from);
    let mut links = PageLinks::default();
    let mut dates = page.link_dates.iter().peekable();
    let mut buffer = String::new();
    let mut ids = LinkIds::new(&bases.own, lease.unwrap_or_default());
    links.inside.reserve_repeated(page.links.len());
    let mut sitemap = SitemapLinks::of(context, page, url);
    let mut prefetches = 0;
    let mut rejected = RejectedLinks::default();
    let icon = implied_icon(&scope, page, from, url);
    for (index, link) in page.links.iter().chain(&icon).enumerate() {
        let modified = dates
            .next_if(|(dated, _)| *dated == index)
            .map(|(_, date)| *date);
        if link.nofollow && !follow_nofollow {
            rejected.nofollow += 1;
            continue;
        }
        let mut hop = hop_of(link.kind);
        if scope.is_beyond(&link.href) && !(scope.takes_requisites() && hop == Hop::EMBED) {
            rejected.out_of_scope += 1;
            continue;
        }
        if requisites_only {
            match from.hop.next_embed() {
                Some(next) if hop == Hop::EMBED => hop = next,
                _ => {
                    rejected.out_of_scope += 1;
                    continue;
                }
            }
        }
        // A link with a date of change is not looked up in the link cache, because the visit needs the date even if it
        // knows the page. The cache is also not used for a link with another base than the page, and for a requisite
        // with a query, because their targets depend on more than the id of a link.
        let is_requisite = hop.embeds() > 0 && scope.takes_requisites();
        let is_plain = bases.is_own(link) && !(is_requisite && link.href.contains('?'));
        let id = match (modified, lease) {
            (None, Some(_)) if is_plain => ids.of(&link.href),
            _ => None,
        };
        if let Some(key) = id.and_then(|id| context.watchers.link_cache.find(id)) {
            links.inside.push_repeated(key);
            continue;
        }
        let Some(base) = bases.of(link) else {
            continue;
        };
        let policy = &context.policy;
        let canon = if is_requisite {
            &policy.requisites
        } else {
            &policy.canon
        };
        let target = match canon.join_into(base, &link.href, &mut buffer) {
            Ok(target) => target,
            Err(reason) => {
                rejected.add_rejected(&reason);
                continue;
            }
        };
        let key = target.key();
        let depth = link_depth(from, hop);
        let judgement = judge_hop(&scope, &target, key, depth, hop);
        if judgement.inside {
            if key.site == site {
                if let Some(sitemap) = &mut sitemap {
                    sitemap.add_entry(context, key);
                }
                links
                    .inside
                    .push(target.path(), key.path, hop, modified, id);
            } else if sitemap
                .as_ref()
                .is_none_or(|sitemap| sitemap.may_list(key.site))
            {
                // In a crawl of several nodes, another node will probably visit the site, and would ask again.
                if lease.is_some()
                    && !context.storage.is_node
                    && prefetches < MAX_PREFETCHES
                    && context.network.web.prefetch_dns(&target)
                {
                    prefetches += 1;
                }
                links.outside.push(outside_link(&target, from, hop, url));
            } else {
                rejected.out_of_scope += 1;
            }
        } else {
            rejected.add_outside(&judgement.rule);
        }
        buffer = target.into_string();
    }
    rejected.add_to(context.counters());
    links
}

/// The rules for the links of a sitemap. An entry of another site is followed only if the robots.txt of that site names
/// the sitemap or an index that lists the sitemap.
struct SitemapLinks {
    /// The other sites that the sitemap may list.
    granted: Vec<SiteKey>,
    /// Number of entries of the sitemap's own site.
    entries: u32,
}

impl SitemapLinks {
    /// `None` if the page is not a sitemap.
    fn of(context: &Context, page: &Page, url: &CanonUrl) -> Option<SitemapLinks> {
        let is_entry = |kind| kind == LinkKind::Sitemap;
        let is_sitemap =
            !page.media_type.is_html() && page.links.iter().any(|link| is_entry(link.kind));
        is_sitemap.then(|| SitemapLinks {
            granted: context.watchers.sitemap_grants.of(url.key()),
            entries: 0,
        })
    }

    fn may_list(&self, site: SiteKey) -> bool {
        self.granted.contains(&site)
    }

    /// Counts an entry of the sitemap's own site. The entry may itself be a sitemap, so it gets the same grants.
    fn add_entry(&mut self, context: &Context, entry: PageKey) {
        self.entries += 1;
        if !self.granted.is_empty() && self.entries <= MAX_INDEX_ENTRIES {
            context.watchers.sitemap_grants.add(entry, &self.granted);
        }
    }
}

/// Whether this page was fetched only because a page in scope loads it. Then the files that it loads are fetched, but
/// its links are not followed.
fn is_outside_requisite(scope: &Scope, url: &CanonUrl, from: &Pending) -> bool {
    scope.takes_requisites() && from.hop.embeds() > 0 && !scope.judge(url, from.depth).inside
}

/// The icon that browsers load if a page names no icon (WHATWG HTML, 4.6.7.8). Framed pages have no icon.
fn implied_icon(scope: &Scope, page: &Page, from: &Pending, url: &CanonUrl) -> Option<Link> {
    let is_shown = page.media_type.is_html() && from.hop.embeds() == 0;
    (scope.takes_requisites() && is_shown && !page.has_icon).then(|| Link {
        href: format!("{}/favicon.ico", url.origin()),
        kind: LinkKind::Asset,
        nofollow: false,
    })
}

/// The hop of a page that is reached by a link of this kind.
fn hop_of(kind: LinkKind) -> Hop {
    match kind {
        LinkKind::Anchor
        | LinkKind::Area
        | LinkKind::Canonical
        | LinkKind::Alternate
        | LinkKind::Feed
        | LinkKind::Link => Hop::Link,
        LinkKind::Frame | LinkKind::Asset | LinkKind::ScriptFile => Hop::EMBED,
        LinkKind::Refresh => Hop::Redirect,
        LinkKind::Form => Hop::Form,
        LinkKind::Script => Hop::Script,
        LinkKind::Sitemap => Hop::Sitemap,
    }
}
