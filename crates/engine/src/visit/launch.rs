//! Starts as many fetches as the courtesy pause and the number of connections allow. Each page is checked again before
//! its fetch.

use std::sync::Arc;

use aranha_frontier::{Hop, Outcome, Pending};
use aranha_robots::RobotsRules;
use aranha_url::CanonUrl;
use tokio::time::Instant;

use super::Visit;
use crate::collect::FetchTask;
use crate::status::tally::add;
use crate::verdict::decide_pass_over;

/// If a site has reached its quota (`crawl.pages_per_site`), its new pages wait at least this time, in milliseconds:
/// one day. By then the user may have raised the quota.
const QUOTA_WAIT_MS: i64 = 24 * 3600 * 1000;

impl Visit {
    /// Whether another fetch may begin. This requires that fewer than the maximum number of requests are active and
    /// that the committer is fast enough.
    pub(super) fn may_fetch_more(&self) -> bool {
        let disk_is_behind = self.check_ins.submitted.is_some() && self.is_batch_large();
        self.requests.count() < self.max_requests() && !disk_is_behind
    }

    pub(super) fn launch(&mut self, rules: &RobotsRules) {
        while self.may_fetch_more()
            && Instant::now() >= self.requests.allowed_at
            && !self.requests.page_limit_reached
        {
            let Some(page) = self.probe().or_else(|| self.queue.pop_front()) else {
                return;
            };
            let now = self.context.now();
            if let Some(due) = self.pass_over(&page, now) {
                self.batch.later.push((due, page));
                continue;
            }
            let is_probe = page.hop == Hop::SoftNotFoundProbe;
            if !is_probe && self.is_beyond_quota(&page) {
                let round = self
                    .context
                    .policy
                    .schedule
                    .in_next_round(self.site.key.0, now);
                self.batch
                    .later
                    .push((round.max(now + QUOTA_WAIT_MS), page));
                continue;
            }
            match self.check_page(&page, rules) {
                Err(_) if is_probe => {}
                Err(refused) => {
                    // The black list may have grown since the last check. If it names the whole site, the site is
                    // blocked.
                    self.check_blacklist();
                    if self.ending.is_some() {
                        self.queue.push_front(page);
                        return;
                    }
                    self.report_seed(&page, refused, "");
                    self.record_unfetched(page, refused, now);
                }
                Ok(url) if self.context.control.pages.take() => self.fetch(page, url, now),
                Ok(_) => {
                    if is_probe {
                        self.site.postpone_probe();
                    } else {
                        self.queue.push_front(page);
                    }
                    self.requests.page_limit_reached = true;
                }
            }
        }
    }

    /// Whether the page is new and its site has reached `crawl.pages_per_site`. New pages in flight count too.
    fn is_beyond_quota(&self, page: &Pending) -> bool {
        let Some(quota) = self.context.config().crawl.pages_per_site else {
            return false;
        };
        let is_new = |page: &&Pending| page.past.is_none() && page.hop != Hop::SoftNotFoundProbe;
        let in_flight = self.requests.in_flight().filter(is_new).count() as u64;
        page.past.is_none() && self.site.facts().counters.fetched + in_flight >= quota
    }

    /// If the policy `selective` passes over the page in this round, returns the time at which it is due again.
    fn pass_over(&mut self, page: &Pending, now: i64) -> Option<i64> {
        let site = self.site.view(now, self.requests.failures, None);
        let decision = decide_pass_over(&site, page, &self.context.policy);
        if let Some(rounds) = decision.rounds {
            self.site.update_rounds(rounds);
        }
        decision.until
    }

    /// Checks robots.txt and the scope again, because both may have changed since the link was found.
    fn check_page(&self, page: &Pending, rules: &RobotsRules) -> Result<CanonUrl, Outcome> {
        if !rules.judge(&page.path).allowed {
            add(&self.context.counters().disallowed, 1);
            return Err(Outcome::RobotsRefused);
        }
        let url = self
            .context
            .url_of(&self.site.facts().origin, &page.path)
            .ok_or(Outcome::OutOfScope)?;
        self.context.scope.check_page(&url, page)?;
        Ok(url)
    }

    fn fetch(&mut self, page: Pending, url: CanonUrl, now: i64) {
        let max_depth = self.context.config().thresholds.depth;
        let task = FetchTask {
            lease: self.lease,
            cookie: self.site.cookie_header(&url, now),
            follow_links: !self.site.is_blocked()
                && max_depth.is_none_or(|depth| page.site_depth < depth),
            read_words: self.reads_words(&page),
            crawl_delay: self.site.crawl_delay(),
            activity: Arc::clone(&self.activity),
            url,
            page,
        };
        self.requests.start(Arc::clone(&self.context), task);
    }
}
