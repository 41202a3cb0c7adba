//! The verdict: the consequences of a response for its page and its site.
//!
//! [`decide`] is called once for every page that was fetched, after the response was read and before anything is
//! recorded. The visit applies the [`Verdict`] (`visit/apply.rs`); the page's record is built from the response and the
//! verdict (`commit/page_record.rs`). [`decide_unfetched`] judges pages that are not fetched, and [`decide_cache_miss`]
//! judges pages that the proxy's cache no longer has. [`decide_outage`] judges a site that cannot be reached.
//!
//! **Nothing here has side effects.** The functions do not change the site or the queue, and they do not read a clock.
//! The only exception is the revisit policy `optimal`, which counts the pages that it plans (see `aranha_revisit`).
//!
//! The rules, in the order in which they apply:
//!
//! 1. The server could not be reached: the page stays in the queue while its site waits (`outage.rs`).
//! 2. The failure is temporary and the retry table has a delay left: the page is retried. A truncated response counts
//!    as a temporary failure.
//! 3. The server sent `Retry-After` or 429, or the page is retried and [`DOWN_AFTER_FAILURES`] fetches in a row have
//!    failed: the visit ends, and the site waits (`courtesy/retry_after.rs`).
//! 4. The response is the site's "not found" page: the page counts as gone (`traps/soft_404.rs`).
//! 5. The response redirects to the page itself, for example to its twin, or to the same URL after setting a cookie:
//!    the page is fetched again, at most [`MAX_SELF_REDIRECTS`] times. Such a fetch replaces a retry by rule 2. Any
//!    other redirect is a link.
//! 6. The page has a version, from this response or an earlier one: unless rule 2 has planned a retry, the revisit
//!    policy plans the next visit (`revisit.rs`).
//! 7. The page has no version: after a temporary failure it is fetched again in the next round. After any other failure
//!    it is never fetched again.
//!
//! The decision whether the site is a trap comes later, when the links of the page have been admitted (`trap.rs`).

mod outage;
mod revisit;
#[cfg(test)]
mod tests;
mod trap;

use aranha_fetch::Truncated;
use aranha_frontier::{Absent, Outcome, Past, Pending};
use aranha_revisit::{Pace, PageState, Policy, SiteHistory, SiteUpdate};
use aranha_url::SiteKey;

use crate::collect::PageResponse;
use crate::courtesy::BackOff;
use crate::links::RedirectTarget;
use crate::node::CrawlPolicy;
use crate::traps::soft_404;

pub(crate) use self::outage::{SiteOutage, decide_outage, is_outage};
pub(crate) use self::revisit::decide_pass_over;
pub(crate) use self::trap::{
    TrapObservation, TrapReason, duplicate_threshold, link_threshold, observe, page_threshold,
};

/// Maximum number of times that a page is fetched again because it redirects to itself. A redirect to the same page
/// with another scheme, or on the twin host (`www.`), counts too.
const MAX_SELF_REDIRECTS: u8 = 3;
/// Number of failed fetches in a row after which the server counts as down.
const DOWN_AFTER_FAILURES: u32 = 5;

/// The part of a site's state on which a verdict depends.
#[derive(Clone, Debug)]
pub(crate) struct SiteView<'a> {
    pub(crate) key: SiteKey,
    /// The time of the decision, in unix milliseconds.
    pub(crate) now: i64,
    /// The response to the soft 404 probe, if the probe was sent.
    pub(crate) absent: Option<&'a Absent>,
    /// The changes of the site's pages by round. The revisit policy `selective` uses this history.
    pub(crate) rounds: &'a SiteHistory,
    /// The intervals that the user has set for the site.
    pub(crate) pace: Pace,
    /// Number of fetches in a row that failed or got 429 or 5xx. It includes this fetch.
    pub(crate) failures: u32,
    /// The decision about the outage, if this fetch could not reach the server.
    pub(crate) outage: Option<SiteOutage>,
}

/// The decision about one page.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Verdict {
    pub(crate) next: NextVisit,
    /// Number of fetches of this page in a row that ended in a temporary failure. 0 if no retry is planned. It is
    /// stored in the page's record.
    pub(crate) tries: u8,
    /// How the page compares with its last version. `None` if the two were not compared, for example because the page
    /// is fetched again in this visit.
    pub(crate) state: Option<PageState>,
    pub(crate) kept: KeptVersion,
    pub(crate) soft_404: bool,
    pub(crate) redirect: Option<RedirectAction>,
    /// If set, the visit ends, and the site is not visited before the given time.
    pub(crate) back_off: Option<BackOff>,
    /// Whether the change signal that brought this visit forward was right.
    pub(crate) signal: Option<SignalCheck>,
    /// The update of [`SiteView::rounds`] after this fetch. `None` unless the policy is `selective`, or `fixed` or
    /// `frequency` with quick rounds.
    pub(crate) rounds: Option<SiteUpdate>,
}

/// When a page is fetched again.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NextVisit {
    /// The page goes back to the front of the visit's queue. `path`: the path to request, if it is not the path of the
    /// page.
    Queued { path: Option<String>, tries: u8 },
    /// The retry table plans the next fetch at `due` (unix milliseconds).
    Retry { due: i64 },
    /// The revisit policy plans the next fetch at `due`. `history`: the page's history for the next plan.
    Revisit { due: i64, history: Vec<u8> },
    /// The page is fetched again in the next round, at `due`, because the retry table is used up and the page has no
    /// version.
    NextRound { due: i64 },
    /// The page is not fetched again.
    Done,
}

/// The version of a page that is remembered until its next visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeptVersion {
    /// The page has no version.
    None,
    /// The version of an earlier visit.
    Earlier,
    /// The version of this response.
    ThisResponse,
}

/// How a redirect is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RedirectAction {
    /// The redirect leads to the page itself. The page is fetched again with the origin and path of the redirect.
    Repeat,
    /// The redirect leads to the page itself, but the page was already fetched again [`MAX_SELF_REDIRECTS`] times.
    GiveUp,
    /// The redirect is admitted like a link.
    Link,
}

/// The result of a visit that a change signal brought forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SignalCheck {
    pub(crate) source: u8,
    /// Whether the page had changed.
    pub(crate) changed: bool,
}

impl NextVisit {
    /// The time from which the frontier gives the page to a visit again. `None` if the page is in the visit's queue or
    /// is done.
    pub(crate) fn due(&self) -> Option<i64> {
        match self {
            Self::Retry { due } | Self::Revisit { due, .. } | Self::NextRound { due } => Some(*due),
            Self::Queued { .. } | Self::Done => None,
        }
    }
}

impl Verdict {
    /// A verdict that only records the page.
    pub(crate) fn done(tries: u8) -> Self {
        Self {
            next: NextVisit::Done,
            tries,
            state: None,
            kept: KeptVersion::None,
            soft_404: false,
            redirect: None,
            back_off: None,
            signal: None,
            rounds: None,
        }
    }

    fn queued(self, path: Option<String>, tries: u8) -> Self {
        Self {
            next: NextVisit::Queued { path, tries },
            ..self
        }
    }
}

/// The verdict about a page that was fetched.
pub(crate) fn decide(
    site: &SiteView<'_>,
    response: &PageResponse,
    page: &Pending,
    policy: &CrawlPolicy,
) -> Verdict {
    let mut verdict = Verdict::done(page.tries.saturating_add(1));
    match site.outage {
        Some(SiteOutage::GiveUp) => {}
        Some(SiteOutage::Wait { .. } | SiteOutage::Ending) => {
            return verdict.queued(None, page.tries);
        }
        None => retry(&mut verdict, site, response, policy),
    }
    verdict.soft_404 = soft_404::is_soft_404(site.absent, page, response);
    if let Some(redirect) = &response.redirect {
        let action = redirect_action(site, page, redirect);
        verdict.redirect = Some(action);
        if action == RedirectAction::Repeat {
            return verdict.queued(Some(redirect.literal_path.clone()), page.tries + 1);
        }
    }
    let state = revisit::page_state(page, response, verdict.soft_404);
    verdict.state = Some(state);
    let kept = match (&response.version, &page.past) {
        (Some(version), _) if state != PageState::Gone => {
            verdict.kept = KeptVersion::ThisResponse;
            Some((&version.past, version.expires))
        }
        (version, Some(past)) => {
            verdict.kept = KeptVersion::Earlier;
            let expires = version.as_ref().and_then(|version| version.expires);
            Some((&**past, expires))
        }
        (_, None) => None,
    };
    if verdict.next == NextVisit::Done {
        match kept {
            Some((past, expires)) => {
                revisit::plan(&mut verdict, site, page, past, state, expires, policy);
            }
            None => verdict.next = next_round(site, response.outcome, policy),
        }
    }
    verdict
}

/// Rules 2 and 3 of the module header: plans a retry, and a back-off of the whole site if one is needed.
fn retry(
    verdict: &mut Verdict,
    site: &SiteView<'_>,
    response: &PageResponse,
    policy: &CrawlPolicy,
) {
    // A truncated response is stored. But the page is retried as if no response had arrived.
    let cause = match response.truncated {
        Some(Truncated::Disconnect) => Outcome::Reset,
        Some(Truncated::Time) => Outcome::Timeout,
        _ => response.outcome,
    };
    let (retry_after, now) = (response.retry_after, site.now);
    if let Some(due) = policy.config.retry.next(cause, verdict.tries, now) {
        let back_off = BackOff::with_retry(cause, retry_after, due, now);
        let due = back_off.map_or(due, |back_off| back_off.until);
        let is_down = site.failures >= DOWN_AFTER_FAILURES;
        verdict.back_off = back_off.or_else(|| is_down.then(|| BackOff::server_down(due)));
        verdict.next = NextVisit::Retry { due };
    } else {
        verdict.tries = 0;
        verdict.back_off = BackOff::requested(cause, retry_after, now);
    }
}

/// Rule 5: decides how a redirect is treated.
fn redirect_action(
    site: &SiteView<'_>,
    page: &Pending,
    redirect: &RedirectTarget,
) -> RedirectAction {
    let target = &redirect.target;
    if target.site_key() != site.key || target.path_key() != page.key {
        RedirectAction::Link
    } else if page.tries < MAX_SELF_REDIRECTS {
        // Redirects to the page itself count as tries. Tries are kept between visits, so that two twins that redirect
        // to each other are not fetched forever.
        RedirectAction::Repeat
    } else {
        RedirectAction::GiveUp
    }
}

/// The verdict about a page that is not fetched, because robots.txt or the scope refuses it, because its site is given
/// up, or because the collector panicked.
pub(crate) fn decide_unfetched(
    site: &SiteView<'_>,
    outcome: Outcome,
    page: &Pending,
    policy: &CrawlPolicy,
) -> Verdict {
    let mut verdict = Verdict::done(page.tries);
    match &page.past {
        _ if matches!(outcome, Outcome::Blocked | Outcome::OutOfScope) => {}
        Some(past) => keep_version(&mut verdict, site, page, past, policy),
        // The page is tried again, because the rules in robots.txt may change.
        None if outcome == Outcome::RobotsRefused => {
            if policy.config.revisit.policy != Policy::Never {
                let due = policy.schedule.in_next_round(site.key.0, site.now);
                verdict.next = NextVisit::NextRound { due };
            }
        }
        None => verdict.next = next_round(site, outcome, policy),
    }
    verdict
}

/// The verdict about a page that the proxy's cache no longer has. The revisit policy plans the next visit of a known
/// page. A new page ([`NextVisit::Queued`]) is fetched from its own server.
pub(crate) fn decide_cache_miss(
    site: &SiteView<'_>,
    page: &Pending,
    policy: &CrawlPolicy,
) -> Verdict {
    let mut verdict = Verdict::done(page.tries);
    match &page.past {
        Some(past) => keep_version(&mut verdict, site, page, past, policy),
        None => return verdict.queued(None, page.tries),
    }
    verdict
}

/// Plans the next visit of a known page that was not fetched.
fn keep_version(
    verdict: &mut Verdict,
    site: &SiteView<'_>,
    page: &Pending,
    past: &Past,
    policy: &CrawlPolicy,
) {
    verdict.kept = KeptVersion::Earlier;
    revisit::plan(verdict, site, page, past, PageState::Failed, None, policy);
}

fn next_round(site: &SiteView<'_>, cause: Outcome, policy: &CrawlPolicy) -> NextVisit {
    match after_retries(site, cause, policy) {
        Some(due) => NextVisit::NextRound { due },
        None => NextVisit::Done,
    }
}

/// The time of the next try when the retry table is used up. It is in the next round, but not before the last delay of
/// the table is over. `None` for failures that are not temporary.
fn after_retries(site: &SiteView<'_>, cause: Outcome, policy: &CrawlPolicy) -> Option<i64> {
    let config = &policy.config;
    let last = config.retry.delays(cause)?.last()?;
    let round = policy.schedule.in_next_round(site.key.0, site.now);
    let last = site.now.saturating_add(last.as_millis() as i64);
    (config.revisit.policy != Policy::Never).then(|| round.max(last))
}
