//! The first visit to a host is on the account of a site that links to this host (`traps/source_accounts.rs`).

use aranha_frontier::{Lease, Outside};
use aranha_url::{Canonicaliser, SiteKey};

use super::{Ending, Visit};

/// Maximum number of waiting pages from which the sources of a host are determined.
const MAX_PAGES: usize = 16;

/// The sites that link to a host that was never visited. Empty if the host was visited, if it is the host of a seed, or
/// if one of its waiting pages was not found on another site.
pub(super) fn sources(lease: &Lease, canon: &Canonicaliser) -> Vec<SiteKey> {
    if lease.seed || lease.facts.robots.is_some() {
        return Vec::new();
    }
    let mut sources = Vec::new();
    for page in lease.pending.iter().take(MAX_PAGES) {
        match canon.canon(&page.via).map(|via| via.site_key()) {
            Ok(site) if site != lease.site_key => sources.push(site),
            _ => return Vec::new(),
        }
    }
    sources.sort_unstable();
    sources.dedup();
    sources
}

impl Visit {
    /// Begins the first visit to a host. Ends the visit if the accounts of all sites that link to the host are used up.
    pub(super) fn begin_first_visit(&mut self) {
        let sources = std::mem::take(&mut self.sources);
        let Some(max_dead) = self.context.config().thresholds.dead_hosts else {
            return;
        };
        if sources.is_empty() {
            return;
        }
        let accounts = &self.context.watchers.source_accounts;
        match accounts.begin(&sources, max_dead, self.context.now()) {
            Ok(first_visit) => self.on_account = Some(first_visit),
            Err(next) => self.ending = Some(Ending::ReleaseUntil(next)),
        }
    }

    /// If this is the first visit to a host, ends it. `is_live`: whether the host answered.
    pub(super) fn end_first_visit(&mut self, is_live: bool) {
        if let Some(first_visit) = self.on_account.take() {
            first_visit.end(is_live);
        }
    }

    /// Removes links to further sites if this site has linked to too many.
    pub(super) fn remove_unaffordable(&mut self, links: &mut Vec<Outside>) {
        let Some(max_dead) = self.context.config().thresholds.dead_hosts else {
            return;
        };
        if links.is_empty() {
            return;
        }
        let accounts = &self.context.watchers.source_accounts;
        let max = accounts.max_linked_sites(self.site.key, max_dead);
        let linked = &mut self.site.linked_sites;
        links.retain(|link| {
            let key = link.site_key.0;
            linked.contains(&key) || (linked.len() < max && linked.insert(key))
        });
    }
}
