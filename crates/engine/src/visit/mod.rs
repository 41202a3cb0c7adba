//! A visit: one leased site, from check-out to release.
//!
//! It holds the site's Local Frontier: a queue of pages, breadth first (F3), and the keys of every
//! page the site is known to have, so that the URL-seen test for a link inside the site is a look in
//! memory (F4). robots.txt comes first. Between requests it keeps the site's pause, the longest of the
//! configured pause, Crawl-delay and a multiple of the last answer's time (R3).
//!
//! Here is the loop; `verdict` decides what an answer means for the page and for the site, `handover`
//! keeps the check-ins going. What is reported is always the whole of the queue, pages in flight
//! included, or what has changed of it since the last report (`pages`), so a crash at any instant loses
//! no page; at most the fetches since the last check-in are repeated (invariant 5).

mod batch;
mod content;
mod handover;
pub(crate) mod page_queue;
mod reschedule;
mod verdict;

use std::pin::{Pin, pin};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use aranha_fetch::{CookieJar, FetchSession, Resolved};
use aranha_frontier::{Hop, Lease, Outcome, Pending, Seen, SiteFacts, Then};
use aranha_robots::RobotsRules;
use aranha_url::{CanonUrl, ScopeRule, SiteKey};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep};

use self::batch::Batch;
use self::handover::reply;
use crate::collect::{Assignment, Collected, blank, collect};
use crate::commit::{Committed, Done};
use crate::node::Context;
use crate::robots_txt;
use crate::status::tally::add;
use crate::traps::novelty::Novelty;
use crate::visit::page_queue::Pages;

/// Visits the site of a lease until its pages are done, its time is up, or the crawl stops.
///
/// Tens of thousands wait at once: what is needed only to begin and to end is boxed, and gone while the visit waits.
pub(crate) fn visit(context: Arc<Context>, lease: Lease) -> impl Future<Output = ()> + Send {
    add(&context.counters.visits_started, 1);
    let mut visit = Visit::new(context, lease);
    async move {
        visit.enter();
        let how = match visit.leave {
            Some(leave) => leave,
            None => match Box::pin(visit.prepare()).await {
                Some(rules) => visit.work(&rules).await,
                None => Leave::Now,
            },
        };
        Box::pin(visit.leave(how)).await;
    }
}

/// How a visit ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leave {
    /// Nothing left to do, the slot is wanted, or the crawl stops.
    Now,
    /// The site asks for patience, or does not answer: not before this time.
    Until(i64),
    /// The site is blocked: its pages wait until it is unblocked.
    Block,
    /// The lease was lost, or nothing can be recorded any more: end without a word.
    Silent,
}

/// Within the last `interval`, another moment for each site: visits that begin together do not all check in together.
fn some_time_ago(interval: Duration, site: SiteKey) -> Instant {
    let share = (site.0 >> 32) as f64 / f64::from(u32::MAX);
    let now = Instant::now();
    now.checked_sub(interval.mul_f64(share)).unwrap_or(now)
}

struct Visit {
    context: Arc<Context>,
    lease: u64,
    site_key: SiteKey,
    facts: SiteFacts,
    /// Something in the facts changed that the next check-in must keep. Counters alone wait for the
    /// release: the facts hold robots.txt and are too large for every check-in.
    facts_changed: bool,
    cookies: CookieJar,
    queue: Pages,
    /// Further pages of this site wait on disk.
    rest: bool,
    known: Seen,
    /// What its pages bring (D5).
    novelty: Novelty,
    /// The black list as of when the site was last held against it.
    generation: u64,
    batch: Batch,
    /// Pages being fetched: still pending until their answer is in a batch.
    flying: Vec<(tokio::task::Id, Pending)>,
    collectors: JoinSet<Box<Collected>>,
    sessions: Vec<FetchSession>,
    /// The check-in on its way to the disk.
    submitted: Option<oneshot::Receiver<Committed>>,
    /// No request to this site before this.
    allowed: Instant,
    /// Ends the wait for a pause or a check-in. It may ring before its time, and is set anew then: to move it for every page
    /// would cost more.
    alarm: Pin<Box<Sleep>>,
    /// Fetches in a row that brought no answer, or one that means trouble.
    failing: u32,
    /// The page limit left nothing to take: wait until somebody gives back.
    starved: bool,
    began: Instant,
    last_check_in: Instant,
    leave: Option<Leave>,
    /// Ends when the crawl is asked to stop: waited for from the beginning, not anew for every page.
    stopped: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Visit {
    fn new(context: Arc<Context>, lease: Lease) -> Self {
        let cookies = postcard::from_bytes(&lease.facts.cookies).unwrap_or_default();
        let pause = context.config.crawl.pause;
        // Nobody wrote down when an earlier process, perhaps killed, asked this site last.
        let allowed = match context.resumed {
            Some(start) => start + pause,
            None => Instant::now(),
        };
        if let Some(addresses) = &lease.facts.addresses {
            let resolved = Resolved {
                addresses: addresses.list.clone(),
                expires_ms: addresses.expires,
            };
            context.web.restore_dns(&addresses.host, &resolved);
        }
        let mut queue = Pages::default();
        queue.receive(lease.pending);
        Self {
            lease: lease.id,
            site_key: lease.site_key,
            novelty: Novelty::resume(lease.facts.novelty),
            facts: lease.facts,
            facts_changed: false,
            cookies,
            queue,
            rest: lease.has_more,
            known: lease.known.iter().map(|key| key.0).collect(),
            generation: context.blacklist.generation(),
            batch: Batch::default(),
            flying: Vec::new(),
            collectors: JoinSet::new(),
            sessions: Vec::with_capacity(1),
            submitted: None,
            allowed,
            alarm: Box::pin(tokio::time::sleep(context.config.frontier.lease)),
            failing: 0,
            starved: false,
            began: Instant::now(),
            last_check_in: some_time_ago(context.config.crawl.check_in_interval, lease.site_key),
            leave: None,
            stopped: {
                let stop = context.stop.clone();
                Box::pin(async move { stop.wait().await })
            },
            context,
        }
    }

    /// robots.txt, from the facts or the site. `None`: the site cannot be visited now.
    async fn prepare(&mut self) -> Option<RobotsRules> {
        let context = Arc::clone(&self.context);
        if let Some(file) = &self.facts.robots
            && robots_txt::is_fresh(file, context.clock.now())
            && let Some(rules) = robots_txt::rules(file, &context.product)
        {
            return Some(rules);
        }
        let mut asked = self.ask_for_rules().await?;
        if asked.outcome == Outcome::DnsNotFound
            && let Some(twin) = self.twin()
        {
            // Either name can answer (U3).
            self.batch.done.append(&mut asked.done);
            self.facts.origin = twin;
            asked = self.ask_for_rules().await?;
        }
        self.facts_changed = true;
        let (outcome, patience) = (asked.outcome, asked.retry_after);
        self.batch.done.extend(asked.done);
        let rules = robots_txt::rules(&asked.file, &context.product);
        self.facts.robots = Some(asked.file);
        if rules.is_some() {
            self.facts.counters.outages = 0;
        } else {
            add(&context.counters.failed, 1);
            let cause = match asked.outcome {
                Outcome::Answer(_) => Outcome::RobotsUnreachable,
                failure => failure,
            };
            self.site_failed(cause);
        }
        self.be_patient(outcome, patience, context.clock.now());
        rules
    }

    /// Asks for robots.txt under the site's preferred name. `None`: the lease is lost, or the crawl stops.
    async fn ask_for_rules(&mut self) -> Option<robots_txt::RobotsFetch> {
        let context = Arc::clone(&self.context);
        let start = context
            .canon
            .rebuild(&self.facts.origin, "/robots.txt")
            .ok()?;
        let mut session = FetchSession::new();
        let mut allowed = self.allowed;
        let asked = {
            let mut asking = pin!(robots_txt::request(
                &context,
                &mut session,
                start,
                &mut allowed
            ));
            loop {
                let renewal = self.renewal();
                tokio::select! {
                    biased;
                    asked = &mut asking => break asked,
                    // Many sites at one address: the wait may outlast the lease.
                    () = tokio::time::sleep_until(renewal), if self.submitted.is_none() => {
                        self.submit(Then::Keep { want: 0 }).await;
                    }
                    reply = reply(&mut self.submitted) => {
                        self.hear(reply);
                        if self.leave.is_some() {
                            return None;
                        }
                    }
                    () = context.stop.wait() => return None,
                }
            }
        };
        self.allowed = allowed;
        self.sessions.push(session);
        Some(asked)
    }

    /// The site's other name, with or without `www.`.
    fn twin(&self) -> Option<String> {
        let (scheme, authority) = self.facts.origin.split_once("://")?;
        let twin = match authority.strip_prefix("www.") {
            Some(bare) => format!("{scheme}://{bare}"),
            None => format!("{scheme}://www.{authority}"),
        };
        let url = self.context.canon.canon(&format!("{twin}/")).ok()?;
        (url.site_key() == self.site_key).then(|| url.origin().to_owned())
    }

    /// Records a page that is not fetched, and why.
    fn give_up(&mut self, page: &Pending, outcome: Outcome, now: i64) {
        let mut record = blank(page, now);
        record.outcome = outcome;
        record.tries = page.tries;
        let url = format!("{}{}", self.facts.origin, page.path);
        let mut done = Done {
            is_page: true,
            record,
            url,
            receipt: None,
            notes: String::new(),
        };
        if !matches!(outcome, Outcome::Blocked | Outcome::OutOfScope) {
            self.come_back_unseen(page, &mut done, now);
        }
        self.batch.done.push(done);
    }

    async fn work(&mut self, rules: &RobotsRules) -> Leave {
        self.set_crawl_delay(rules);
        self.entry_pages_first();
        self.admit_sitemaps();
        loop {
            self.take_reply();
            self.obey_black_list();
            if let Some(leave) = self.leave {
                return leave;
            }
            if self.context.stop.asked() {
                return Leave::Now;
            }
            if self.time_is_up() {
                if self.flying.is_empty() {
                    return Leave::Now;
                }
            } else {
                self.launch(rules);
            }
            if self.is_idle() {
                return Leave::Now;
            }
            if self.wants_check_in() {
                let want = self.room();
                self.submit(Then::Keep { want }).await;
            }
            self.wait().await;
        }
    }

    /// When the lease must be renewed by a check-in, whether there is something to tell or not.
    fn renewal(&self) -> Instant {
        self.last_check_in + self.context.config.frontier.lease / 3
    }

    /// Waits for whatever comes first: an answer, a reply, the end of a pause, the stop.
    async fn wait(&mut self) {
        let context = Arc::clone(&self.context);
        let next_check_in = if self.batch.is_empty() {
            self.renewal()
        } else {
            self.renewal()
                .min(self.last_check_in + context.config.crawl.check_in_interval)
        };
        let quiet = self.submitted.is_none();
        let may_launch =
            !self.queue.is_empty() && self.has_room() && !self.time_is_up() && !self.starved;
        let ends = [
            may_launch.then_some(self.allowed),
            quiet.then_some(next_check_in),
        ];
        let end = ends.into_iter().flatten().min();
        if let Some(end) = end
            && (self.alarm.is_elapsed() || end < self.alarm.deadline())
        {
            self.alarm.as_mut().reset(end);
        }
        // In this order, so that a simulation has one course only.
        tokio::select! {
            biased;
            Some(joined) = self.collectors.join_next_with_id() => self.land(joined),
            reply = reply(&mut self.submitted) => self.hear(reply),
            () = &mut self.alarm, if end.is_some() => {
                // A page that was given back to somebody who left is found at the latest now.
                self.starved &= !quiet || Instant::now() < next_check_in;
            }
            () = context.budget.freed(), if self.starved => self.starved = false,
            () = &mut self.stopped => {}
        }
    }

    /// How many requests at once: one, unless the user allows more and no pause is kept.
    fn parallel(&self) -> usize {
        if self.facts.pause_ms > 0 || !self.context.config.crawl.pause.is_zero() {
            1
        } else {
            self.context.config.crawl.connections.max(1)
        }
    }

    /// Another fetch may begin: a connection is free, and the disk keeps up.
    fn has_room(&self) -> bool {
        self.collectors.len() < self.parallel() && !(self.submitted.is_some() && self.has_much())
    }

    fn is_idle(&self) -> bool {
        self.queue.is_empty()
            && self.flying.is_empty()
            && !self.rest
            && self.batch.overflow.is_empty()
            && self.submitted.is_none()
    }

    /// Others wait for the slot, or robots.txt must be read again: what is under way is the last.
    fn time_is_up(&self) -> bool {
        let context = &self.context;
        let quantum_is_over =
            context.others_wait() && self.began.elapsed() >= context.config.crawl.quantum;
        let file = self.facts.robots.as_ref();
        quantum_is_over || file.is_none_or(|file| !robots_txt::is_fresh(file, context.clock.now()))
    }

    fn room(&self) -> usize {
        let more_on_disk = self.rest || !self.batch.overflow.is_empty();
        if more_on_disk {
            self.window().saturating_sub(self.queue.len())
        } else {
            0
        }
    }

    /// Pages in hand, at most. With many requests at once they are used up in a moment: for each there is a window.
    fn window(&self) -> usize {
        self.context.config.frontier.window.max(1) * self.parallel()
    }

    /// A check-in is due before its time.
    fn has_much(&self) -> bool {
        self.batch.is_large(self.parallel())
    }

    /// Time is up, or the queue runs dry while pages wait on disk.
    fn wants_check_in(&self) -> bool {
        if self.submitted.is_some() {
            return false;
        }
        let runs_dry = self.queue.len() < (self.window() / 4).max(1)
            && (self.rest || !self.batch.overflow.is_empty());
        runs_dry
            || Instant::now() >= self.renewal()
            || (!self.batch.is_empty()
                && (self.last_check_in.elapsed() >= self.context.config.crawl.check_in_interval
                    || self.has_much()))
    }

    /// Starts as many fetches as the site may have now.
    fn launch(&mut self, rules: &RobotsRules) {
        while self.has_room() && Instant::now() >= self.allowed && !self.starved {
            let Some(page) = self.probe().or_else(|| self.queue.pop_front()) else {
                return;
            };
            let now = self.context.clock.now();
            if let Some(due) = self.pass_over(&page, now) {
                self.batch.later.push((due, page));
                continue;
            }
            match self.judge(&page, rules) {
                // A probe that is not allowed is not missed.
                Err(_) if page.hop == Hop::SoftNotFoundProbe => {}
                Err(refused) => {
                    // The list may have grown since this turn began. A site that it names is set aside with its pages.
                    self.obey_black_list();
                    if self.leave.is_some() {
                        self.queue.push_front(page);
                        return;
                    }
                    self.give_up(&page, refused, now);
                }
                Ok(url) if self.context.budget.take() => self.send(page, url, now),
                Ok(_) => {
                    if page.hop == Hop::SoftNotFoundProbe {
                        self.facts.absent = None;
                    } else {
                        self.queue.push_front(page);
                    }
                    self.starved = true;
                }
            }
        }
    }

    /// The last questions before a page is asked for: the rules may be others than when its link was found.
    fn judge(&self, page: &Pending, rules: &RobotsRules) -> Result<CanonUrl, Outcome> {
        if !rules.judge(&page.path).allowed {
            add(&self.context.counters.disallowed, 1);
            return Err(Outcome::RobotsRefused);
        }
        let url = self
            .context
            .canon
            .rebuild(&self.facts.origin, &page.path)
            .map_err(|_| Outcome::OutOfScope)?;
        let scope = self
            .context
            .scope
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        let judgement = scope.judge(&url, page.depth);
        match judgement.rule {
            _ if judgement.inside => Ok(url),
            ScopeRule::Blacklist(_) => Err(Outcome::Blocked),
            _ => Err(Outcome::OutOfScope),
        }
    }

    /// A Crawl-delay longer than the pause counts from the last answer too, which may be robots.txt's.
    fn set_crawl_delay(&mut self, rules: &RobotsRules) {
        let crawl = &self.context.config.crawl;
        let delay = rules.crawl_delay().unwrap_or_default().min(crawl.max_pause);
        self.facts.pause_ms = delay.as_millis() as u32;
        let longer = delay.saturating_sub(crawl.pause);
        if !self.sessions.is_empty() || self.context.resumed.is_some() {
            self.allowed += longer;
        }
    }

    fn send(&mut self, page: Pending, url: CanonUrl, now: i64) {
        let cookie = self.cookies.header(&url, now);
        let below = self.context.config.thresholds.depth;
        let follow =
            self.facts.blocked.is_none() && below.is_none_or(|depth| page.site_depth < depth);
        let wary = self.wants_words(&page);
        let flying = page.clone();
        let session = self.sessions.pop().unwrap_or_default();
        let context = Arc::clone(&self.context);
        let assignment = Assignment {
            lease: self.lease,
            url,
            pending: page,
            cookie,
            follow,
            wary,
            delay: self.delay(),
        };
        // Some kilobytes: boxed at once, they are not copied again on their way to the runtime.
        let work = Box::pin(async move { collect(&context, session, assignment).await });
        let task = self.collectors.spawn(work);
        self.flying.push((task.id(), flying));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size_of_future<A, B, F: Future>(_: impl Fn(A, B) -> F) -> usize {
        size_of::<F>()
    }

    /// Tens of thousands are in memory at once: whoever makes a visit larger should know. What it holds on the heap, its queue
    /// above all, comes on top.
    #[test]
    fn a_visit_that_waits_is_small() {
        let bytes = size_of_future(visit);
        let visit = size_of::<Visit>();
        assert!(bytes <= 2304, "{bytes}, of which Visit {visit}");
    }

    /// And so do those that wait for an answer.
    #[test]
    fn a_page_under_way_is_small() {
        let bytes = size_of_future(|context: &'static Context, (session, assignment)| {
            collect(context, session, assignment)
        });
        let collected = size_of::<Collected>();
        assert!(bytes <= 5760, "{bytes}, of which Collected {collected}");
    }
}
