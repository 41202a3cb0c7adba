//! Admits links to pages of the visit's own site. If the URL-seen test finds that a page is new, the page is added to
//! the queue.

use aranha_frontier::{Claim, Hop, Pending};
use aranha_url::{CanonUrl, PathKey};

use super::Visit;
use crate::config::DuplicateLinks;
use crate::links::{RedirectTarget, SiteLinks, linked_page, outside_link};
use crate::signals::{self, Source};
use crate::traps::copied_links::counterpart;
use crate::traps::dedup::SeenHashes;

/// Numbers of links from a page to pages of its own site. Several links to the same page count as one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LinkCounts {
    pub(super) all: u32,
    /// Links to pages that were unknown.
    pub(super) new: u32,
    /// Links that are not followed, because an earlier page with the same text also has them (or because of
    /// `crawl.duplicate_links`).
    pub(super) skipped: u32,
}

impl Visit {
    /// Admits the links from a page to pages of its own site. `original`: an earlier page with the same text.
    pub(super) fn admit_links(
        &mut self,
        links: &SiteLinks,
        from: &Pending,
        via: &str,
        original: Option<&str>,
    ) -> LinkCounts {
        let mut seen = SeenHashes::new(links.count());
        let all = links.keys().filter(|key| seen.insert(key.0 as u32)).count();
        let (mut new, mut skipped) = (0, 0);
        for (path, link) in links.iter() {
            if let Some(original) = original
                && link.hop == Hop::Link
                && self.is_copied_link(original, &from.path, path, link.key)
            {
                skipped += 1;
                continue;
            }
            if self.admit(path, link.key, from, link.hop, via) {
                new += 1;
            } else if let Some(date) = link.modified {
                self.claim_change(link.key, date, from);
            }
            if let Some(id) = link.id
                && !self.site.is_blocked()
            {
                self.context.watchers.link_cache.insert(id, link.key);
            }
        }
        LinkCounts {
            all: all as u32,
            new,
            skipped,
        }
    }

    /// Whether the link to `path` on the page `copy` is skipped. `original` is an earlier page with the same text. By
    /// default, the link is skipped if `original` also has it.
    fn is_copied_link(&self, original: &str, copy: &str, path: &str, key: PathKey) -> bool {
        if self.site.knows_page(key) {
            return false;
        }
        match self.context.config().crawl.duplicate_links {
            DuplicateLinks::Follow => false,
            DuplicateLinks::SkipAll => true,
            DuplicateLinks::SkipCopies => counterpart(original, copy, path)
                .is_some_and(|path| self.site.knows_page(PathKey::of(&path))),
        }
    }

    /// Admits a page of this site unless it is known or the site is blocked. Returns true if it was admitted.
    pub(super) fn admit(
        &mut self,
        path: &str,
        key: PathKey,
        from: &Pending,
        hop: Hop,
        via: &str,
    ) -> bool {
        if self.site.is_blocked()
            || (!self.site.knows_page(key) && self.stops_links())
            || !self.site.add_page(key)
        {
            return false;
        }
        self.batch.keys.push(key);
        let page = linked_page(path, key, from, hop, via);
        let is_full = self.queue.len() >= self.window();
        if self.more_on_disk || !self.batch.overflow.is_empty() || is_full {
            self.batch.overflow.push_back(page);
        } else {
            self.queue.push_back(page);
        }
        true
    }

    /// Admits the target of a redirect, which may be on this site or on another.
    pub(super) fn admit_redirect(
        &mut self,
        redirect: &RedirectTarget,
        from: &Pending,
        url: &CanonUrl,
    ) {
        let target = &redirect.target;
        let (hop, new_seed) = self
            .context
            .scope
            .wants_redirect(target, from, self.is_seed(from));
        self.batch.new_seeds.extend(new_seed);
        let Some(hop) = hop else {
            return;
        };
        if target.site_key() == self.site.key {
            let (path, key) = (target.path(), target.path_key());
            self.admit(path, key, from, hop, url.as_str());
        } else {
            let link = outside_link(target, from, hop, url);
            self.batch.outside.push(link);
        }
    }

    /// Adds a claim for a known page. According to the sitemap or feed `list`, the page has last changed at `at`.
    fn claim_change(&mut self, key: PathKey, at: i64, list: &Pending) {
        let source = match list.hop {
            Hop::Sitemap => Source::Sitemap,
            _ => Source::Feed,
        };
        let weight = signals::weigh(self.site.facts(), source as u8);
        if at <= self.context.now() && weight > 0.0 {
            self.batch.claims.push(Claim {
                key,
                at,
                source: source as u8,
                weight,
                gap: 0,
            });
        }
    }
}
