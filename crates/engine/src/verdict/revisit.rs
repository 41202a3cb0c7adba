//! Revisits: whether a page has changed, and when to fetch it again (I1 to I4, F12).
//!
//! A page has changed if its text has changed. Changes of the markup do not count. The policies are in
//! `crates/revisit`. This file converts a page's [`Past`] and its site's rounds to the input of
//! [`Schedule::plan`](aranha_revisit::Schedule::plan). The policy `selective` distinguishes the entry pages of a site
//! (`site_depth` 0) from all other pages, which are its inner pages. It groups inner pages by the page on which they
//! were found ([`Pending::via`]).

use aranha_frontier::{Past, Pending};
use aranha_revisit::{
    History, PagePlace, PageState, PageVisit, Policy, SelectiveGroups, SiteUpdate,
};
use aranha_url::PathKey;

use super::{NextVisit, SignalCheck, SiteView, Verdict};
use crate::collect::PageResponse;
use crate::node::CrawlPolicy;

/// How the page compares with the version of its last visit.
pub(super) fn page_state(page: &Pending, response: &PageResponse, soft_404: bool) -> PageState {
    match (&response.version, &page.past, response.outcome.status()) {
        _ if soft_404 => PageState::Gone,
        (_, Some(_), Some(304)) => PageState::Same,
        (_, _, Some(404 | 410)) => PageState::Gone,
        (Some(version), Some(past), _) if version.past.fingerprint == past.fingerprint => {
            PageState::Same
        }
        (Some(_), Some(_), _) => PageState::Changed,
        (Some(_), None, _) => PageState::New,
        (None, ..) => PageState::Failed,
    }
}

/// Plans the next visit of a page that has a version. Also sets `signal` and `rounds` of the verdict.
pub(super) fn plan(
    verdict: &mut Verdict,
    site: &SiteView<'_>,
    page: &Pending,
    past: &Past,
    state: PageState,
    expires: Option<i64>,
    policy: &CrawlPolicy,
) {
    let (schedule, revisit, now) = (&policy.schedule, policy.config.revisit.policy, site.now);
    if revisit == Policy::Never {
        return;
    }
    verdict.signal = page
        .past
        .as_ref()
        .and_then(|past| check_signal(past.claim, state));
    let mut has_rounds = true;
    let update = if revisit == Policy::Selective {
        schedule.observe(site.rounds, place(page, policy), state, now)
    } else {
        let mut update = SiteUpdate::default();
        update.inner.clone_from(&site.rounds.inner);
        has_rounds = schedule.count_visit(&mut update.inner, state, now);
        update
    };
    let visit = PageVisit {
        at: now,
        seen: state,
        modified: past.modified,
        expires,
        importance: 1.0 / (1.0 + f32::from(page.depth)),
        // Policies that plan in rounds use one key for all pages of a site, so that these pages are visited together.
        key: match revisit {
            Policy::Poisson | Policy::Optimal => page.key.0 ^ site.key.0,
            _ => site.key.0,
        },
        pace: site.pace,
        inner: update.share(),
        quick: schedule.quick(&update.inner),
    };
    let mut history: History = postcard::from_bytes(&past.history).unwrap_or_default();
    if let Some(due) = schedule.plan(&mut history, &visit) {
        let history = postcard::to_stdvec(&history).unwrap_or_default();
        verdict.next = NextVisit::Revisit { due, history };
    }
    if has_rounds {
        verdict.rounds = Some(update);
    }
}

/// The place of a page in its site, for the policy `selective`. With `entry_pages`, all inner pages of a site have the
/// same head.
fn place(page: &Pending, policy: &CrawlPolicy) -> PagePlace {
    let head = match policy.config.revisit.selective {
        SelectiveGroups::EntryPages => 0,
        SelectiveGroups::AllPages | SelectiveGroups::Descend => PathKey::of(path_of(&page.via)).0,
    };
    PagePlace {
        key: page.key.0,
        head: (page.site_depth > 0).then_some(head),
    }
}

/// The path and query of a canonical URL.
fn path_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.find('/').map_or("", |start| &rest[start..])
}

fn check_signal(source: u8, state: PageState) -> Option<SignalCheck> {
    let changed = match state {
        _ if source == 0 => return None,
        PageState::Same => false,
        PageState::Changed | PageState::Gone => true,
        PageState::New | PageState::Failed => return None,
    };
    Some(SignalCheck { source, changed })
}

/// The decision of the policy `selective` about a page that is due.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PassOver {
    /// When the page is due again, if it is passed over. `None` if it is fetched now.
    pub(crate) until: Option<i64>,
    /// The update of [`SiteView::rounds`], if there is one.
    pub(crate) rounds: Option<SiteUpdate>,
}

/// With the policy `selective`, decides whether a page that is due is fetched or passed over in this round. Entry
/// pages, new pages, retries and pages with a change signal are always fetched.
pub(crate) fn decide_pass_over(
    site: &SiteView<'_>,
    page: &Pending,
    policy: &CrawlPolicy,
) -> PassOver {
    let Some(past) = &page.past else {
        return PassOver::default();
    };
    if past.claim != 0
        || page.site_depth == 0
        || page.tries > 0
        || policy.config.revisit.policy != Policy::Selective
    {
        return PassOver::default();
    }
    let schedule = &policy.schedule;
    let history: History = postcard::from_bytes(&past.history).unwrap_or_default();
    let place = place(page, policy);
    let (visited, update) = schedule.judge(site.rounds, place, &history, site.pace, site.now);
    PassOver {
        until: (!visited).then(|| schedule.in_next_round(site.key.0, site.now)),
        rounds: Some(update),
    }
}
