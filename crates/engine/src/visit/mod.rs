//! A visit: one leased site, from check-out to release.
//!
//! ```text
//! enter ─► robots.txt ─► loop: launch ─► collect ─► verdict ─► apply ─► check-in ─► release
//! ```
//!
//! A visit holds the site's Local Frontier. This is a queue of pages in breadth-first order (F3), and the keys of all
//! known pages of the site. So the URL-seen test for a link inside the site is a lookup in memory (F4). robots.txt is
//! read first. Between requests the visit keeps the site's courtesy pause (R3).
//!
//! **A crash loses no page**: each check-in reports the queue with the pages in flight, or how it has changed since the
//! last check-in (`page_queue.rs`). After a crash, at most the fetches since the last check-in are repeated (invariant
//! 5).
//!
//! This file is the loop. These files have the steps, from first to last: `enter.rs`, `first_visit.rs` and
//! `blacklist.rs` check whether the site may be visited. `robots.rs` fetches robots.txt, and `sitemaps.rs` admits the
//! sitemaps that robots.txt names. `launch.rs` starts fetches. For each page, `apply.rs` applies the verdict,
//! `seed_report.rs` reports a failed seed, `admit.rs` admits the links, and `trap_check.rs` looks for traps.
//! `check_in.rs` makes the check-ins. `site.rs` holds the facts of the site.

pub(crate) mod activity;
mod admit;
mod apply;
mod batch;
mod blacklist;
mod check_in;
mod count;
mod enter;
mod first_visit;
mod launch;
pub(crate) mod page_queue;
mod probe;
mod requests;
mod robots;
mod seed_report;
mod site;
mod sitemaps;
#[cfg(test)]
mod tests;
mod trap_check;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use aranha_fetch::Resolved;
use aranha_frontier::{Lease, Then};
use aranha_revisit::Policy;
use aranha_robots::RobotsRules;
use aranha_url::SiteKey;
use tokio::time::{Instant, Sleep};
use tracing::Instrument as _;

use self::activity::Activity;
use self::batch::Batch;
use self::check_in::{CheckIns, reply};
use self::page_queue::PageQueue;
use self::requests::Requests;
use self::site::VisitedSite;
use crate::fault_injection::{self, FaultPoint};
use crate::node::Context;
use crate::robots_txt;
use crate::status::tally::add;
use crate::traps::source_accounts::FirstVisit;

/// Visits the site of a lease. The visit ends when all pages are fetched, when no further fetch may begin
/// (`is_time_up`), or when it must end early (`Ending`).
///
/// Tens of thousands of visits wait at the same time. Futures that are needed only at the beginning or at the end of a
/// visit are boxed, so that a waiting visit takes less memory.
pub(crate) fn visit(
    context: Arc<Context>,
    lease: Lease,
    activity: Arc<Activity>,
) -> impl Future<Output = ()> + Send {
    add(&context.counters().visits_started, 1);
    let span = tracing::debug_span!("visit", site = %lease.site, lease = lease.id);
    let mut visit = Visit::new(context, lease, activity);
    async move {
        visit.enter();
        let ending = match visit.ending {
            Some(ending) => ending,
            None => match Box::pin(visit.prepare()).await {
                Some(rules) => visit.work(&rules).await,
                None => Ending::Release,
            },
        };
        Box::pin(visit.finish(ending)).await;
    }
    .instrument(span)
}

/// How a visit ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The site is released: nothing is left to do, its time is up, or the crawl stops.
    Release,
    /// The server asked for a pause, or cannot be reached. The site is not visited before this time, in unix
    /// milliseconds.
    ReleaseUntil(i64),
    /// The site is blocked. Its pages wait until it is unblocked.
    Block,
    /// The lease was lost, or nothing can be recorded any more. The visit ends without a last check-in.
    Abandon,
}

/// A time at most `interval` ago that differs by site. A new visit uses it as the time of its last check-in. So visits
/// that begin at the same time do not check in at the same time.
fn spread_over(interval: Duration, site: SiteKey) -> Instant {
    let share = (site.0 >> 32) as f64 / f64::from(u32::MAX);
    let now = Instant::now();
    now.checked_sub(interval.mul_f64(share)).unwrap_or(now)
}

struct Visit {
    context: Arc<Context>,
    lease: u64,
    site: VisitedSite,
    /// Whether a seed is on this site.
    is_seed: bool,
    /// The sites that link to this site, if it was never visited.
    sources: Vec<SiteKey>,
    /// The first visit to a site is on the account of a site that links to it (`traps/source_accounts.rs`). `None` in
    /// later visits, and after robots.txt was fetched.
    on_account: Option<FirstVisit>,
    queue: PageQueue,
    /// Whether further pages of this site wait in the frontier.
    more_on_disk: bool,
    requests: Requests,
    /// The steps and waits of the visit, for the watchdog.
    activity: Arc<Activity>,
    /// The contents of the next check-in.
    batch: Batch,
    check_ins: CheckIns,
    began: Instant,
    /// Wakes the visit for the next request or check-in. If it fires too early, it is set again. This costs less than
    /// setting it for every page.
    alarm: Pin<Box<Sleep>>,
    /// Completes when the crawl is asked to stop. Created once, not for every wait.
    stopped: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// Whether this visit has sent the notice that links of the site are no longer followed.
    links_stopped: bool,
    /// How the visit ends; `None` as long as it may continue.
    ending: Option<Ending>,
}

impl Visit {
    fn new(context: Arc<Context>, lease: Lease, activity: Arc<Activity>) -> Self {
        let config = context.config();
        // If an earlier process worked on the collection, the time of its last request is unknown. Then the pause is
        // counted from the start of this process.
        let allowed_at = match context.control.resumed {
            Some(start) => start + config.crawl.pause,
            None => Instant::now(),
        };
        if let Some(addresses) = &lease.facts.addresses {
            let resolved = Resolved {
                addresses: addresses.list.clone(),
                expires_ms: addresses.expires,
            };
            context.network.web.restore_dns(&addresses.host, &resolved);
        }
        if let Some(gate) = lease.gate {
            context.network.gates.claimed(lease.node, gate);
        }
        let sources = first_visit::sources(&lease, &context.policy.canon);
        let mut queue = PageQueue::default();
        queue.receive(lease.pending);
        let generation = context.scope.blacklist.generation();
        let (key, pace) = (lease.site_key, context.policy.pace(lease.site_key));
        Self {
            lease: lease.id,
            site: VisitedSite::new(key, lease.facts, &lease.known, pace, generation),
            is_seed: lease.seed,
            sources,
            on_account: None,
            queue,
            more_on_disk: lease.has_more,
            requests: Requests::new(allowed_at),
            activity,
            batch: Batch::default(),
            check_ins: CheckIns::new(context.check_in_interval(), lease.site_key),
            began: Instant::now(),
            alarm: Box::pin(tokio::time::sleep(config.frontier.lease)),
            stopped: {
                let stop = context.control.stop.clone();
                Box::pin(async move { stop.wait().await })
            },
            links_stopped: false,
            ending: None,
            context,
        }
    }

    async fn work(&mut self, rules: &RobotsRules) -> Ending {
        self.set_crawl_delay(rules);
        self.put_heads_first();
        self.admit_sitemaps();
        loop {
            fault_injection::hang(FaultPoint::Visit, self.site.name()).await;
            self.poll_reply();
            self.check_blacklist();
            if let Some(ending) = self.ending {
                return ending;
            }
            if self.context.control.stop.asked() {
                return Ending::Release;
            }
            if self.is_time_up() {
                if self.requests.are_finished() {
                    return Ending::Release;
                }
            } else {
                self.launch(rules);
            }
            if self.is_idle() {
                return Ending::Release;
            }
            if self.needs_check_in() {
                let want = self.free_slots();
                self.check_in(Then::Keep { want }).await;
            }
            self.wait().await;
        }
    }

    /// Waits until one of these events occurs: a collector ends, the reply to a check-in arrives, a request or a
    /// check-in may begin, the page limit allows a further page, or the crawl stops.
    async fn wait(&mut self) {
        let context = Arc::clone(&self.context);
        let next_check_in = if self.batch.is_empty() {
            self.renewal()
        } else {
            self.renewal()
                .min(self.check_ins.last + self.check_ins.interval)
        };
        let no_check_in = self.check_ins.submitted.is_none();
        let may_launch = !self.queue.is_empty()
            && self.may_fetch_more()
            && !self.is_time_up()
            && !self.requests.page_limit_reached;
        let ends = [
            may_launch.then_some(self.requests.allowed_at),
            no_check_in.then_some(next_check_in),
        ];
        let end = ends.into_iter().flatten().min();
        if let Some(end) = end
            && (self.alarm.is_elapsed() || end < self.alarm.deadline())
        {
            self.alarm.as_mut().reset(end);
        }
        // `biased` keeps simulations deterministic.
        tokio::select! {
            biased;
            Some(joined) = self.requests.join_next() => self.on_collected(joined),
            reply = reply(&mut self.check_ins.submitted) => self.on_reply(reply),
            () = &mut self.alarm, if end.is_some() => {
                // Another visit may have got the notification that the page limit allows a further page, and may have
                // ended since. So the limit is checked again at every check-in interval.
                if self.requests.page_limit_reached {
                    self.activity.step();
                }
                self.requests.page_limit_reached &= !no_check_in || Instant::now() < next_check_in;
            }
            () = context.control.pages.freed(), if self.requests.page_limit_reached => {
                self.requests.page_limit_reached = false;
            }
            () = &mut self.stopped => {}
        }
    }

    /// With the policy `selective`, sorts the known pages of the queue by their distance from an entry page. The reason
    /// is that changes of a page decide whether the pages to which it links are fetched.
    fn put_heads_first(&mut self) {
        if self.context.config().revisit.policy == Policy::Selective {
            let mut pages: Vec<_> = std::mem::take(&mut self.queue).collect();
            pages.sort_by_key(|page| page.past.as_ref().map_or(0, |_| page.site_depth));
            self.queue = pages.into_iter().collect();
        }
    }

    /// Maximum number of parallel requests. It is 1 unless the user allows more and there is no pause.
    fn max_requests(&self) -> usize {
        let crawl = &self.context.config().crawl;
        if self.site.facts().pause_ms > 0 || !crawl.pause.is_zero() {
            1
        } else {
            crawl.connections.max(1)
        }
    }

    /// Whether the visit has nothing left to do.
    fn is_idle(&self) -> bool {
        self.queue.is_empty()
            && self.requests.are_finished()
            && !self.more_on_disk
            && self.batch.overflow.is_empty()
            && self.check_ins.submitted.is_none()
    }

    /// Whether no further fetch may begin, because the quantum is over while other sites wait, or because robots.txt
    /// must be fetched again.
    fn is_time_up(&self) -> bool {
        let context = &self.context;
        let is_quantum_over =
            context.control.others_wait() && self.began.elapsed() >= context.config().crawl.quantum;
        let robots = self.site.facts().robots.as_ref();
        is_quantum_over || robots.is_none_or(|file| !robots_txt::is_fresh(file, context.now()))
    }

    /// Maximum length of the queue: `frontier.window` pages per parallel request.
    fn window(&self) -> usize {
        self.context.config().frontier.window.max(1) * self.max_requests()
    }
}

impl Drop for Visit {
    /// Returns the reservations of the pages in flight to the page limit. There are such pages if the visit panicked,
    /// was ended by the watchdog or lost its lease. A later visit fetches them.
    fn drop(&mut self) {
        for _ in self.requests.in_flight() {
            self.context.control.pages.give_back();
        }
    }
}
