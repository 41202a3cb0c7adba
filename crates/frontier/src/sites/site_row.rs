//! The rows of the table `sites`, and the computation of the time at which a site is due.
//!
//! Invariant: `due` is set if and only if the site is neither leased nor blocked and has pages to fetch, now or at a
//! known time. The index on `(class, due)` gives the order of check-out: first seed sites that were never visited (F6),
//! then the sites that have waited longest (KLWF, F7).

use aranha_url::SiteKey;

use super::store::Store;
use super::tables::Tables;
use crate::store_error::StoreError;
use crate::{SiteEntry, SiteState};

/// Class of a seed site that was never visited. The classes of seed sites have even numbers.
pub(crate) const SEED_NEW: i64 = 0;
/// Class of a site that was found by links.
pub(crate) const FOUND: i64 = 1;
/// Class of a seed site that has only revisits to do.
pub(crate) const SEED_REVISIT: i64 = 2;
/// Class of a site that was found by links and has only revisits to do.
pub(crate) const FOUND_REVISIT: i64 = 3;
/// Class of a seed site that was visited and has pages to fetch besides revisits.
pub(crate) const SEED_VISITED: i64 = 4;

/// One row of `sites`. The columns are described in `schema.sql`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SiteRow {
    pub(crate) key: i64,
    pub(crate) name: String,
    pub(crate) origin: String,
    pub(crate) seed: bool,
    pub(crate) due: Option<i64>,
    pub(crate) free: i64,
    pub(crate) lease: Option<i64>,
    pub(crate) blocked: bool,
    pub(crate) inbox: bool,
    pub(crate) consumed: i64,
    pub(crate) held: i64,
    pub(crate) queued: i64,
    pub(crate) later: i64,
    pub(crate) later_due: Option<i64>,
    pub(crate) known: i64,
    pub(crate) records: i64,
    pub(crate) pages: i64,
    pub(crate) keys: i64,
    pub(crate) key_blocks: i64,
    pub(crate) again: i64,
    pub(crate) again_due: Option<i64>,
    pub(crate) window: i64,
    pub(crate) window_blocks: i64,
    pub(crate) window_pages: i64,
}

impl SiteRow {
    /// A new site without pages.
    pub(crate) fn new(key: i64, name: &str, origin: &str, consumed: i64) -> SiteRow {
        SiteRow {
            key,
            name: name.to_owned(),
            origin: origin.to_owned(),
            seed: false,
            due: None,
            free: 0,
            lease: None,
            blocked: false,
            inbox: false,
            consumed,
            held: 0,
            queued: 0,
            later: 0,
            later_due: None,
            known: 0,
            records: 0,
            pages: 0,
            keys: 0,
            key_blocks: 0,
            again: 0,
            again_due: None,
            window: 0,
            window_blocks: 0,
            window_pages: 0,
        }
    }

    pub(crate) fn state(&self) -> SiteState {
        if self.lease.is_some() {
            SiteState::Leased
        } else if self.blocked {
            SiteState::Blocked
        } else if self.due.is_some() {
            SiteState::Waiting
        } else {
            SiteState::Idle
        }
    }

    /// Whether the site has nothing to fetch except revisits.
    fn has_only_revisits(&self) -> bool {
        self.held + self.queued == 0 && !self.inbox && self.later_due.is_none()
    }

    /// The class for the order of check-out. A seed site has precedence only until its first visit. Otherwise many
    /// large seed sites would exclude all other sites. A site in a revisit class is not leased if it is due after the
    /// horizon. If a revisit is due by the horizon but the courtesy pause ends after the horizon, the site gets another
    /// class, so that the revisit is still done in this crawl.
    fn class(&self, horizon: i64) -> i64 {
        let paused = self.free > horizon && self.again_due.is_some_and(|due| due <= horizon);
        match (self.seed, self.has_only_revisits() && !paused) {
            (true, false) if self.records == 0 => SEED_NEW,
            (true, false) => SEED_VISITED,
            (false, false) => FOUND,
            (true, true) => SEED_REVISIT,
            (false, true) => FOUND_REVISIT,
        }
    }

    /// Record that links have arrived in the inbox. If the site had only revisits after the horizon, its wait begins
    /// now. The due time of these revisits must not give the site precedence over sites that have waited longer.
    pub(crate) fn receive_links(&mut self, now: i64, horizon: i64) {
        if self.has_only_revisits() && self.due.is_some_and(|due| due > horizon) {
            self.due = None;
        }
        self.inbox = true;
        self.schedule(now, horizon);
    }

    /// Compute `due` from the pages to fetch. A site with new links in its inbox is due from `now` on. If the site has
    /// retries, revisits after the horizon are ignored. If it has only revisits, `due` is the time of the first
    /// revisit, even if that is after the horizon.
    pub(crate) fn schedule(&mut self, now: i64, horizon: i64) {
        let before = self.due;
        self.due = if self.lease.is_some() || self.blocked {
            None
        } else if self.held + self.queued > 0 {
            Some(self.free)
        } else if self.inbox {
            // A site that waits already keeps its due time.
            let arrived = before.map_or(now, |due| due.min(now));
            Some(arrived.max(self.free))
        } else {
            let again = self.again_due;
            let due = match self.later_due {
                Some(later) => Some(
                    again
                        .filter(|due| *due <= horizon)
                        .map_or(later, |due| due.min(later)),
                ),
                None => again,
            };
            due.map(|due| due.max(self.free))
        };
    }

    pub(crate) fn entry(&self) -> SiteEntry {
        SiteEntry {
            site: self.name.clone(),
            key: SiteKey(self.key as u64),
            seed: self.seed,
            state: self.state(),
            due: self.due,
            known: self.known as u64,
            queued: (self.held + self.queued) as u64,
            retry: self.later as u64,
            revisit: self.again as u64,
            records: self.records as u64,
            inbox: self.inbox,
        }
    }
}

/// The origin without the name of the site, such as `https://www.`. The name is not stored twice, because the row has
/// it in another column. [`full_origin`] is the inverse.
pub(crate) fn short_origin<'a>(origin: &'a str, name: &str) -> &'a str {
    match origin.strip_suffix(name) {
        Some(prefix) if prefix.ends_with(['/', '.']) => prefix,
        _ => origin,
    }
}

pub(crate) fn full_origin(short: &str, name: &str) -> String {
    if short.ends_with(['/', '.']) {
        format!("{short}{name}")
    } else {
        short.to_owned()
    }
}

impl<T: Tables> Store<T> {
    pub(crate) fn site_insert(&self, site: &SiteRow) -> Result<(), StoreError> {
        self.tables.site_insert(site, site.class(self.horizon))
    }

    pub(crate) fn site_update(&self, site: &SiteRow) -> Result<(), StoreError> {
        self.tables.site_update(site, site.class(self.horizon))
    }
}
