//! Outages: the server of a site cannot be reached at all.
//!
//! A single failed request is enough to detect an outage. The site is then released, and all its pages stay pending.

use aranha_frontier::Outcome;

use super::{SiteView, after_retries};
use crate::node::CrawlPolicy;
use crate::visit::Ending;

/// The consequence of an outage for the visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SiteOutage {
    /// The site is released until this time, in unix milliseconds. Its pages stay pending.
    Wait { until: i64 },
    /// The visit is already ending, because of a back-off after an earlier fetch or because the site is blocked. The
    /// pages of the site stay pending.
    Ending,
    /// The server is not tried again. All pages in the queue are recorded as failed.
    GiveUp,
}

/// Whether this outcome means that the whole site cannot be reached.
pub(crate) fn is_outage(outcome: Outcome) -> bool {
    matches!(
        outcome,
        Outcome::DnsNotFound
            | Outcome::DnsFailed
            | Outcome::ConnectFailed
            | Outcome::ConnectTimeout
            | Outcome::AddressRefused
    )
}

/// Decides about a site that could not be reached. `outages`: how many of the latest visits, in a row, ended in an
/// outage. `ending`: how the visit will end, if this is already decided.
pub(crate) fn decide_outage(
    site: &SiteView<'_>,
    cause: Outcome,
    outages: u32,
    ending: Option<Ending>,
    policy: &CrawlPolicy,
) -> SiteOutage {
    if matches!(ending, Some(Ending::ReleaseUntil(_) | Ending::Block)) {
        return SiteOutage::Ending;
    }
    let tries = outages.saturating_add(1).min(255) as u8;
    let due = policy.config.retry.next(cause, tries, site.now);
    match due.or_else(|| after_retries(site, cause, policy)) {
        Some(until) => SiteOutage::Wait { until },
        None => SiteOutage::GiveUp,
    }
}
