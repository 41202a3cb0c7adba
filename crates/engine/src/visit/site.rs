//! The site of a visit: its facts, its cookies, the keys of its pages.
//!
//! **[`SiteFacts`] change only here.** They contain the robots.txt file, and are too large to be sent with every
//! check-in. A check-in sends them only if something has changed that must survive a crash. If only counters have
//! changed, the facts are sent when the site is released.

use std::time::Duration;

use aranha_fetch::{CookieJar, Headers, Resolved};
use aranha_frontier::{Absent, Addresses, Blocked, Pending, RobotsFile, Seen, SiteFacts};
use aranha_revisit::{Pace, SiteHistory, SiteUpdate};
use aranha_url::{CanonUrl, Canonicaliser, PathKey, SiteKey};

use crate::signals;
use crate::traps::copied_links::FirstPages;
use crate::traps::novelty::Novelty;
use crate::verdict::{SignalCheck, SiteOutage, SiteView};

/// A leased site.
pub(super) struct VisitedSite {
    pub(super) key: SiteKey,
    facts: SiteFacts,
    /// Whether the next check-in must send the facts.
    changed: bool,
    /// Whether `rounds` has changed since it was last encoded into `facts`.
    rounds_changed: bool,
    cookies: CookieJar,
    /// The changes of the site's pages by round, for the revisit policy. Decoded from the facts.
    rounds: SiteHistory,
    /// The intervals that the user has set for the site.
    pace: Pace,
    known_pages: Seen,
    /// The texts and links that the visit remembers for the trap check.
    pub(super) novelty: Novelty,
    /// The first page with each text, for `crawl.duplicate_links`.
    pub(super) first_pages: FirstPages,
    /// The other sites to which this visit has found links.
    pub(super) linked_sites: Seen,
    /// Generation of the black list with which the site was last compared.
    pub(super) blacklist_generation: u64,
}

impl VisitedSite {
    pub(super) fn new(
        key: SiteKey,
        facts: SiteFacts,
        known_pages: &[PathKey],
        pace: Pace,
        blacklist_generation: u64,
    ) -> Self {
        Self {
            key,
            changed: false,
            rounds_changed: false,
            cookies: postcard::from_bytes(&facts.cookies).unwrap_or_default(),
            rounds: decode_rounds(&facts.rounds),
            pace,
            known_pages: known_pages.iter().map(|key| key.0).collect(),
            novelty: Novelty::resume(facts.novelty),
            first_pages: FirstPages::default(),
            linked_sites: Seen::default(),
            blacklist_generation,
            facts,
        }
    }

    pub(super) fn facts(&self) -> &SiteFacts {
        &self.facts
    }

    /// The facts, if the next check-in must send them.
    pub(super) fn take_changes(&mut self) -> Option<SiteFacts> {
        if std::mem::take(&mut self.rounds_changed) {
            self.facts.rounds = encode_rounds(&self.rounds);
        }
        std::mem::take(&mut self.changed).then(|| self.facts.clone())
    }

    /// Prepares the facts for the last check-in, which always sends them.
    pub(super) fn finish(&mut self) {
        self.facts.novelty = self.novelty.record();
        self.changed = true;
    }

    /// Host and port. This is the name of the site in reports.
    pub(super) fn name(&self) -> &str {
        let origin = self.facts.origin.as_str();
        origin.split_once("://").map_or(origin, |(_, name)| name)
    }

    pub(super) fn is_blocked(&self) -> bool {
        self.facts.blocked.is_some()
    }

    pub(super) fn block(&mut self, blocked: Blocked) {
        self.facts.blocked = Some(blocked);
    }

    /// The URL-seen test. Adds a page to the known pages, and returns true if it was unknown.
    pub(super) fn add_page(&mut self, key: PathKey) -> bool {
        self.known_pages.insert(key.0)
    }

    /// Number of known pages.
    pub(super) fn known_pages(&self) -> usize {
        self.known_pages.len()
    }

    /// Whether the page is known.
    pub(super) fn knows_page(&self, key: PathKey) -> bool {
        self.known_pages.contains(&key.0)
    }

    /// The part of the state on which a verdict about a page of the site depends.
    pub(super) fn view(&self, now: i64, failures: u32, outage: Option<SiteOutage>) -> SiteView<'_> {
        SiteView {
            key: self.key,
            now,
            absent: self.facts.absent.as_ref(),
            rounds: &self.rounds,
            pace: self.pace,
            failures,
            outage,
        }
    }

    pub(super) fn cookie_header(&self, url: &CanonUrl, now: i64) -> Option<String> {
        self.cookies.header(url, now)
    }

    pub(super) fn store_cookies(&mut self, url: &CanonUrl, headers: &Headers, now: i64) {
        if self.cookies.store(url, headers, now) {
            self.facts.cookies = postcard::to_stdvec(&self.cookies).unwrap_or_default();
            self.changed = true;
        }
    }

    pub(super) fn store_addresses(&mut self, url: &CanonUrl, resolved: Resolved) {
        let is_known = |known: &Addresses| {
            known.host == url.host()
                && known.list == resolved.addresses
                && known.expires == resolved.expires_ms
        };
        if !self.facts.addresses.as_ref().is_some_and(is_known) {
            self.facts.addresses = Some(Addresses {
                host: url.host().to_owned(),
                list: resolved.addresses,
                expires: resolved.expires_ms,
            });
            self.changed = true;
        }
    }

    /// Stores a robots.txt file that was just fetched.
    pub(super) fn store_robots(&mut self, file: RobotsFile) {
        self.facts.robots = Some(file);
        self.changed = true;
    }

    /// Makes `origin` the preferred origin of the site. Its host is one of the site's two names, with or without
    /// `www.`.
    pub(super) fn use_origin(&mut self, origin: String) {
        self.facts.origin = origin;
    }

    /// Makes the origin of `target` the preferred origin of the site. If the stored robots.txt came from another host,
    /// it is dropped, because each host has its own file.
    pub(super) fn prefer_origin(&mut self, target: &CanonUrl, canon: &Canonicaliser) {
        if self.facts.origin == target.origin() {
            return;
        }
        target.origin().clone_into(&mut self.facts.origin);
        self.changed = true;
        let same_host = self.facts.robots.as_ref().is_some_and(|file| {
            let url = canon.canon(&file.url);
            url.is_ok_and(|url| url.host() == target.host())
        });
        if !same_host {
            self.facts.robots = None;
        }
    }

    /// The pause that robots.txt asks for.
    pub(super) fn crawl_delay(&self) -> Duration {
        Duration::from_millis(u64::from(self.facts.pause_ms))
    }

    pub(super) fn set_crawl_delay(&mut self, delay: Duration) {
        self.facts.pause_ms = delay.as_millis() as u32;
    }

    /// Stores the time until which the server requested a pause, unless a later time is already stored.
    pub(super) fn extend_retry_after(&mut self, until: i64) {
        self.facts.retry_after = until.max(self.facts.retry_after);
    }

    /// Resets the number of outages in a row, because the server was reached.
    pub(super) fn end_outage(&mut self) {
        self.facts.counters.outages = 0;
    }

    /// Counts a visit that ends because the server cannot be reached.
    pub(super) fn count_outage(&mut self) {
        self.facts.counters.outages += 1;
    }

    /// Counts a response. Thresholds limit the number of pages, so revisits and temporary failures do not count towards
    /// them.
    pub(super) fn count_response(&mut self, page: &Pending, size: u64, is_temporary: bool) {
        let counters = &mut self.facts.counters;
        if page.past.is_none() && !is_temporary {
            counters.fetched += 1;
            counters.bytes += size;
        }
        counters.outages = 0;
    }

    /// Counts a fetch without a response.
    pub(super) fn count_failure(&mut self) {
        self.facts.counters.errors += 1;
    }

    /// Counts a page with the same text as another page of the site.
    pub(super) fn count_duplicate(&mut self) {
        self.facts.counters.duplicates += 1;
    }

    /// Marks the soft 404 probe as sent. It is not sent again, even if it gets no response.
    pub(super) fn start_probe(&mut self) {
        self.facts.absent = Some(Absent::default());
        self.changed = true;
    }

    /// Marks the soft 404 probe as not sent, so that it is sent later. The page limit was reached, or the request could
    /// not be sent or was broken off.
    pub(super) fn postpone_probe(&mut self) {
        self.facts.absent = None;
    }

    /// Stores the response to the soft 404 probe.
    pub(super) fn store_absent(&mut self, absent: Absent) {
        self.facts.absent = Some(absent);
        self.changed = true;
    }

    /// Applies an update to `rounds`.
    pub(super) fn update_rounds(&mut self, update: SiteUpdate) {
        let changed = self.rounds.apply(update);
        self.rounds_changed |= changed;
        self.changed |= changed;
    }

    /// Updates the trust in a source of change signals.
    pub(super) fn check_signal(&mut self, check: SignalCheck) {
        signals::learn(&mut self.facts, check.source, check.changed);
        self.changed = true;
    }
}

/// Decodes `rounds`: the group of all inner pages, and the groups by head. Earlier releases stored only the group of
/// all inner pages.
fn decode_rounds(stored: &[u8]) -> SiteHistory {
    let (inner, rest) = postcard::take_from_bytes(stored).unwrap_or_default();
    SiteHistory {
        inner,
        heads: postcard::from_bytes(rest).unwrap_or_default(),
    }
}

fn encode_rounds(rounds: &SiteHistory) -> Vec<u8> {
    let bytes = postcard::to_stdvec(&rounds.inner).unwrap_or_default();
    if rounds.heads.is_empty() {
        return bytes;
    }
    postcard::to_extend(&rounds.heads, bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use aranha_revisit::{
        GroupHistory, Options, PagePlace, PageState, Policy, Schedule, SelectiveGroups,
    };

    use super::*;

    const NOW: i64 = 1_700_000_000_000;

    fn visited(facts: SiteFacts) -> VisitedSite {
        VisitedSite::new(SiteKey::of("example.org"), facts, &[], Pace::default(), 0)
    }

    /// With `all_pages`, the groups of pages are stored with the site, and the next visit reads them. Facts from an
    /// earlier release have only the group of all inner pages.
    #[test]
    fn the_groups_of_pages_are_stored_with_the_site() {
        let schedule = Schedule::new(&Options {
            policy: Policy::Selective,
            selective: SelectiveGroups::AllPages,
            ..Options::default()
        });
        let mut site = visited(SiteFacts::default());
        for key in 1..4 {
            let head = Some(9);
            let update = schedule.observe(
                site.view(NOW, 0, None).rounds,
                PagePlace { key, head },
                PageState::Changed,
                NOW,
            );
            site.update_rounds(update);
        }
        let mut facts = site.take_changes().expect("the rounds changed");
        assert_ne!(site.rounds.inner, GroupHistory::default());
        assert_eq!(site.rounds.heads.len(), 1);
        assert_eq!(visited(facts.clone()).rounds, site.rounds);
        let mut same = SiteUpdate::default();
        same.inner.clone_from(&site.rounds.inner);
        site.update_rounds(same);
        assert!(site.take_changes().is_none(), "nothing changed");
        facts.rounds = postcard::to_stdvec(&site.rounds.inner).unwrap();
        let earlier = visited(facts).rounds;
        assert_eq!((earlier.inner, earlier.heads.len()), (site.rounds.inner, 0));
    }
}
