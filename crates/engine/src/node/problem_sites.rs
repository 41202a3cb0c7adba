//! Problem sites (M6; Viuva Negra 5.2): if a fault ends a visit, the site waits, and the crawl goes on.
//!
//! The site of a failed visit waits until all other sites are visited. When the crawl has nothing else to do, each
//! problem site gets one more visit, even if the fault occurred in an earlier crawl. The fault may have been temporary,
//! or this version of aranha may have corrected it.

use std::collections::HashSet;

use aranha_frontier::FrontierError;
use aranha_url::SiteKey;

use super::Node;
use super::visits::Visits;
use crate::status::notice::Notice;
use crate::status::tally::add;

/// Time until a problem site is visited again if no crawl visits it earlier, in milliseconds: one day.
const PROBLEM_WAIT_MS: i64 = 24 * 3600 * 1000;

/// Maximum time from the due time of a problem site to its check-out, in milliseconds.
const MAX_CHECK_OUT_DELAY_MS: i64 = 1000;

/// The problem sites that this crawl has visited, or is about to visit, a second time.
#[derive(Debug, Default)]
pub(super) struct SecondVisits {
    sites: HashSet<SiteKey>,
    /// The crawl does not end before this time, because problem sites become due until then.
    until: i64,
}

impl Node {
    /// Records the visits that were ended by a fault.
    pub(super) async fn record_failed(&self, visits: &mut Visits) -> Result<(), FrontierError> {
        for failed in std::mem::take(&mut visits.failed) {
            add(&self.context.counters().failed_visits, 1);
            let (site, problem) = (failed.site, failed.problem.clone());
            let notices = &self.context.reports.notices;
            notices.send(Notice::VisitFailed { site, problem });
            let now = self.context.now();
            let due = now + PROBLEM_WAIT_MS;
            let (lease, problem) = (failed.lease, failed.problem);
            self.frontier
                .persist(move |frontier| frontier.end_failed_visit(now, lease, &problem, due))
                .await?;
        }
        Ok(())
    }

    /// Makes problem sites due, unless this crawl has visited them a second time. They become due when the longest
    /// courtesy pause since their faults is over. Returns false if there are no such sites.
    pub(super) async fn visit_problem_sites(
        &self,
        second: &mut SecondVisits,
    ) -> Result<bool, FrontierError> {
        let now = self.context.now();
        if now < second.until {
            return Ok(true);
        }
        let mut sites = self
            .frontier
            .persist(|frontier| frontier.problem_sites())
            .await?;
        sites.retain(|site| second.sites.insert(site.key));
        let Some(last) = sites.iter().map(|site| site.time).max() else {
            return Ok(false);
        };
        let crawl = &self.context.config().crawl;
        let pause = crawl.pause.max(crawl.max_pause).as_millis() as i64;
        let due = now.max(last + pause);
        let keys: Vec<SiteKey> = sites.iter().map(|site| site.key).collect();
        self.frontier
            .persist(move |frontier| frontier.bring_problem_sites_forward(now, &keys, due))
            .await?;
        second.until = due + MAX_CHECK_OUT_DELAY_MS;
        Ok(true)
    }
}
