//! The trap check of each new page (D5 to D8). If the pages of a site bring no new text, or hardly ever link back to
//! known pages, the visits of the site are postponed, and finally the site is blocked. Its stored pages and its queue
//! are kept.
//!
//! `verdict/trap.rs` classifies the page. `traps/novelty.rs` decides whether the site is a trap or is doubted. This
//! file blocks or postpones the site.

use aranha_frontier::{Blocked, Outside, Pending};
use aranha_url::CanonUrl;

use super::admit::LinkCounts;
use super::{Ending, Visit};
use crate::collect::PageResponse;
use crate::status::notice::Notice;
use crate::status::tally::add;
use crate::traps::allowance::Credit;
use crate::traps::novelty::{MIN_LINKED_PAGES, Reading, Trap};
use crate::traps::wildcard_domains;
use crate::verdict::{TrapObservation, TrapReason, duplicate_threshold, link_threshold, observe};

/// The soft 404 probe is sent when this number of pages of a site was fetched.
pub(super) const FEW_PAGES: u64 = 8;
/// The words of this number of first pages of a site are not read, unless its domain is a wildcard.
const UNREAD_PAGES: u64 = 1;

impl Visit {
    /// Blocks the site as a trap.
    pub(super) fn block_as_trap(&mut self, reason: TrapReason) {
        if self.site.is_blocked() {
            return;
        }
        let (site, reason) = (self.site.name().to_owned(), reason.to_string());
        tracing::debug!(site, reason, "trap");
        add(&self.context.counters().traps, 1);
        self.context.reports.notices.send(Notice::Trap {
            site,
            reason: reason.clone(),
        });
        self.site.block(Blocked::as_trap(reason));
        self.ending.get_or_insert(Ending::Block);
    }

    /// Whether the site has reached a threshold, so that its links are not followed. Sends one notice per visit.
    pub(super) fn stops_links(&mut self) -> bool {
        let thresholds = &self.context.config().thresholds;
        if thresholds.urls.is_none() && thresholds.duplicates.is_none() {
            return false;
        }
        let counters = &self.site.facts().counters;
        let Some(reason) = link_threshold(self.site.known_pages(), counters, thresholds) else {
            return false;
        };
        if !std::mem::replace(&mut self.links_stopped, true) {
            let (site, reason) = (self.site.name().to_owned(), reason.to_string());
            let notice = Notice::LinksStopped { site, reason };
            self.context.reports.notices.send(notice);
        }
        true
    }

    /// Postpones the next visit of the site by `wait` milliseconds, because its allowance is used up.
    fn postpone(&mut self, doubt: Trap, wait: i64) {
        let until = self.context.now().saturating_add(wait);
        self.ending.get_or_insert(Ending::ReleaseUntil(until));
        self.context.reports.notices.send(Notice::SitePostponed {
            site: self.site.name().to_owned(),
            seconds: (wait / 1000).unsigned_abs(),
            reason: doubt.to_string(),
        });
    }

    /// Whether the trap check is enabled and applies to the site: at least [`UNREAD_PAGES`] of its pages were fetched,
    /// or it is a host of a wildcard domain.
    fn is_checked(&self) -> bool {
        self.context.config().thresholds.trap_pages.is_some()
            && (self.site.facts().counters.fetched >= UNREAD_PAGES || self.is_below_wildcard())
    }

    fn is_below_wildcard(&self) -> bool {
        let domains = &self.context.watchers.wildcard_domains;
        domains.is_below_wildcard(host_of(self.site.name()))
    }

    /// Whether the words of a page are read. The words of the first [`UNREAD_PAGES`] pages of a site are not read. On
    /// sites that have brought much new text, only the words of sampled pages are read. These two rules do not apply to
    /// hosts of a wildcard domain.
    pub(super) fn reads_words(&self, page: &Pending) -> bool {
        let random = page.key.0 ^ self.lease.rotate_left(32);
        match self.context.config().thresholds.trap_pages {
            Some(limit) if !self.is_below_wildcard() => {
                self.is_checked() && self.site.novelty.reads_words(limit, random)
            }
            _ => self.is_checked(),
        }
    }

    /// Checks a page that was fetched for the first time. Returns true if its record must have the flag `BLOCKED`.
    pub(super) fn check_trap(
        &mut self,
        page: &Pending,
        url: &CanonUrl,
        response: &PageResponse,
        soft_404: bool,
        links: LinkCounts,
        outside: &[Outside],
    ) -> bool {
        match observe(page, response, (links.all, links.new)) {
            TrapObservation::Text(reading) => {
                self.check_text(reading, url, soft_404, links, outside);
                let has_check = self.context.config().thresholds.trap_pages.is_some();
                return has_check && self.site.is_blocked();
            }
            TrapObservation::EndOfPath => {
                if self.context.config().thresholds.trap_pages.is_some() {
                    self.site.novelty.shorten_stretch(1);
                }
            }
            TrapObservation::Chain { new_pages } => {
                if let Some(limit) = self.context.config().thresholds.trap_pages {
                    self.site.novelty.add_page_without_text(new_pages);
                    self.check_novelty(limit);
                }
            }
            TrapObservation::Nothing => {}
        }
        false
    }

    fn check_text(
        &mut self,
        reading: &Reading,
        url: &CanonUrl,
        soft_404: bool,
        links: LinkCounts,
        outside: &[Outside],
    ) {
        let is_repeated = self.site.novelty.is_repeated(reading.text);
        if is_repeated {
            self.site.count_duplicate();
            let thresholds = &self.context.config().thresholds;
            if let Some(reason) = duplicate_threshold(&self.site.facts().counters, thresholds)
                && thresholds.block
            {
                self.block_as_trap(reason);
            }
        }
        let Some(limit) = self.context.config().thresholds.trap_pages else {
            return;
        };
        if self.is_checked() {
            let brings_nothing = is_repeated || soft_404;
            let novelty = &mut self.site.novelty;
            novelty.add_page(reading, brings_nothing, links.all, links.new);
            self.check_novelty(limit);
        }
        if self
            .context
            .watchers
            .wildcard_domains
            .is_below_wildcard(url.host())
        {
            self.check_domain(reading, url, outside, limit);
        }
    }

    /// Blocks the site if it is a trap. Postpones its next visit if its allowance is used up.
    fn check_novelty(&mut self, limit: u32) {
        let novelty = &self.site.novelty;
        if let Some(trap) = novelty.trap(limit, MIN_LINKED_PAGES) {
            self.block_as_trap(TrapReason::Endless(trap));
        } else if let Some((doubt, wait)) = novelty.doubt(limit, self.credit(), self.queue.len()) {
            self.postpone(doubt, wait);
        }
    }

    /// The facts that increase the allowance of the site, except its pages with new text.
    fn credit(&self) -> Credit {
        Credit {
            is_seed: self.is_seed,
            sources: self.site.facts().sources.count_ones(),
            fruitful: 0,
        }
    }

    /// Adds a page to the check of its wildcard domain. Blocks the domain if it is a trap.
    fn check_domain(&self, reading: &Reading, url: &CanonUrl, outside: &[Outside], limit: u32) {
        let domain = wildcard_domains::parent_domain(url.host());
        let mut hosts: Vec<_> = outside
            .iter()
            .filter(|link| wildcard_domains::parent_domain(host_of(&link.site)) == domain)
            .map(|link| link.site_key)
            .collect();
        hosts.sort_unstable();
        hosts.dedup();
        let domains = &self.context.watchers.wildcard_domains;
        if let Some(trap) = domains.add_page(url.host(), reading, &hosts, limit) {
            let reason = format!("every host name below it has an address, and {trap}");
            self.context.block_domain(url.host(), &reason);
        }
    }
}

/// The host in a site's name, without the port.
pub(super) fn host_of(site: &str) -> &str {
    site.rsplit_once(':').map_or(site, |(host, _)| host)
}
