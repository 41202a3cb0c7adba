//! A visit: one leased site, from check-out to release.
//!
//! It holds the site's Local Frontier: a queue of pages, breadth first (F3), and the keys of every
//! page the site is known to have, so that the URL-seen test for a link inside the site is a look in
//! memory (F4). robots.txt comes first. Between requests it keeps the site's pause, the longest of the
//! configured pause, Crawl-delay and a multiple of the last answer's time (R3).
//!
//! It checks in every few seconds and goes on working while that is on its way to the disk. What it
//! reports is always the whole of its queue, pages in flight included, so a crash at any instant
//! loses no page; at most the fetches since the last check-in are repeated (invariant 5).
//!
//! A server that does not answer, or asks for patience (429, 503), is left alone: the site is released
//! with the time at which it may be tried again (F11).

mod batch;
mod known;

use std::collections::{HashMap, VecDeque};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use aranha_fetch::{Cookies, Resolved, Session};
use aranha_frontier::{Addresses, Lease, Outcome, Pending, SiteFacts, Then};
use aranha_robots::Rules;
use aranha_url::{CanonUrl, PathKey, SiteKey};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::Instant;

use self::batch::Batch;
use self::known::Known;
use crate::collect::{self, Assignment, Collected, blank, collect};
use crate::commit::{Committed, Done, Submission};
use crate::node::Context;
use crate::permission;
use crate::stop::Reason;
use crate::tally::add;

/// Fetches in a row without an answer after which the server counts as down.
const DOWN_AFTER: u32 = 5;
/// How long an orderly stop waits for answers on the way.
const GRACE: Duration = Duration::from_secs(5);
/// `Retry-After` is believed up to this.
const LONGEST_PATIENCE: Duration = Duration::from_hours(7 * 24);
/// How often one page may send us from one twin (www, https) to the other.
const TWIN_HOPS: u8 = 3;

/// Visits the site of a lease until its pages are done, its time is up, or the crawl stops.
pub(crate) async fn visit(context: Arc<Context>, lease: Lease) {
    add(&context.tally.visited, 1);
    let mut visit = Visit::new(Arc::clone(&context), lease);
    let due = match visit.prepare().await {
        Some(rules) => visit.work(&rules).await,
        None => Leave::Now,
    };
    visit.leave(due).await;
}

/// How a visit ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leave {
    /// Nothing left to do, the slot is wanted, or the crawl stops.
    Now,
    /// The site asks for patience, or does not answer: not before this time.
    Until(i64),
    /// The lease was lost, or nothing can be recorded any more: end without a word.
    Silent,
}

struct Visit {
    context: Arc<Context>,
    lease: u64,
    site_key: SiteKey,
    facts: SiteFacts,
    /// Something in the facts changed that the next check-in must keep. Counters alone wait for the
    /// release: the facts hold robots.txt and are too large for every check-in.
    facts_changed: bool,
    cookies: Cookies,
    queue: VecDeque<Pending>,
    /// Further pages of this site wait on disk.
    rest: bool,
    known: Known,
    batch: Batch,
    /// Pages being fetched: still pending until their answer is in a batch.
    flying: HashMap<PathKey, Pending>,
    collectors: JoinSet<Collected>,
    sessions: Vec<Session>,
    /// The check-in on its way to the disk.
    submitted: Option<oneshot::Receiver<Committed>>,
    /// No request to this site before this.
    allowed: Instant,
    twin_hops: HashMap<PathKey, u8>,
    began: Instant,
    last_check_in: Instant,
    leave: Option<Leave>,
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
            context.web.remember(&addresses.host, &resolved);
        }
        Self {
            lease: lease.id,
            site_key: lease.site_key,
            facts: lease.facts,
            facts_changed: false,
            cookies,
            queue: lease.pending.into(),
            rest: lease.more,
            known: Known::new(&lease.known),
            batch: Batch::default(),
            flying: HashMap::new(),
            collectors: JoinSet::new(),
            sessions: Vec::new(),
            submitted: None,
            allowed,
            twin_hops: HashMap::new(),
            began: Instant::now(),
            last_check_in: Instant::now(),
            leave: None,
            context,
        }
    }

    /// robots.txt, from the facts or the site. `None`: the site cannot be visited now.
    async fn prepare(&mut self) -> Option<Rules> {
        let context = Arc::clone(&self.context);
        if let Some(file) = &self.facts.robots
            && permission::is_fresh(file, context.clock.now())
            && let Some(rules) = permission::rules(file, &context.product)
        {
            return Some(rules);
        }
        let start = context
            .canon
            .rebuild(&self.facts.origin, "/robots.txt")
            .ok()?;
        let mut session = Session::new();
        let mut allowed = self.allowed;
        let asked = {
            let mut asking = pin!(permission::request(
                &context,
                &mut session,
                start,
                &mut allowed
            ));
            loop {
                let renewal = self.renewal();
                tokio::select! {
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
        self.facts_changed = true;
        self.batch.done.extend(asked.done);
        if let Some(origin) = asked.origin {
            self.facts.origin = origin;
        }
        let rules = permission::rules(&asked.file, &context.product);
        self.facts.robots = Some(asked.file);
        if rules.is_none() {
            add(&context.tally.failures, 1);
            self.facts.counters.consecutive_errors += 1;
            let cause = match asked.outcome {
                Outcome::Answer(_) => Outcome::RobotsUnreachable,
                failure => failure,
            };
            self.postpone_site(cause, Outcome::RobotsUnreachable);
        }
        rules
    }

    /// The site as a whole cannot be had. It is tried again by the retry table, its pages stay pending;
    /// when the table is exhausted the pages in hand are given up with `recorded`.
    fn postpone_site(&mut self, cause: Outcome, recorded: Outcome) {
        let now = self.context.clock.now();
        let tries = self.facts.counters.consecutive_errors.clamp(1, 255) as u8;
        if let Some(due) = self.context.config.retry.next(cause, tries, now) {
            self.leave = Some(Leave::Until(due));
        } else {
            while let Some(page) = self.queue.pop_front() {
                self.give_up(&page, recorded, now);
            }
            self.leave = Some(Leave::Now);
        }
    }

    fn give_up(&mut self, page: &Pending, outcome: Outcome, now: i64) {
        let mut record = blank(page, now);
        record.outcome = outcome;
        record.tries = page.tries;
        let url = format!("{}{}", self.facts.origin, page.path);
        self.batch.done.push(Done {
            is_page: true,
            record,
            url,
            receipt: None,
            notes: String::new(),
        });
    }

    async fn work(&mut self, rules: &Rules) -> Leave {
        self.set_crawl_delay(rules);
        loop {
            self.take_reply();
            if let Some(leave) = self.leave {
                return leave;
            }
            if self.context.stop.asked() || self.quantum_is_over() {
                return Leave::Now;
            }
            self.launch(rules);
            if self.context.stop.asked() {
                return Leave::Now;
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
                .min(self.last_check_in + context.config.crawl.check_in)
        };
        let may_launch = !self.queue.is_empty() && self.collectors.len() < self.parallel();
        let quiet = self.submitted.is_none();
        tokio::select! {
            Some(joined) = self.collectors.join_next() => match joined {
                Ok(collected) => self.absorb(collected),
                Err(error) => context.stop.ask(Reason::Failed(format!("a collector ended abnormally: {error}"))),
            },
            reply = reply(&mut self.submitted) => self.hear(reply),
            () = tokio::time::sleep_until(self.allowed), if may_launch => {}
            () = tokio::time::sleep_until(next_check_in), if quiet => {}
            () = context.stop.wait() => {}
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

    fn is_idle(&self) -> bool {
        self.queue.is_empty()
            && self.flying.is_empty()
            && !self.rest
            && self.batch.overflow.is_empty()
            && self.submitted.is_none()
    }

    fn quantum_is_over(&self) -> bool {
        self.began.elapsed() >= self.context.config.crawl.quantum && self.context.others_wait()
    }

    fn room(&self) -> usize {
        let more_on_disk = self.rest || !self.batch.overflow.is_empty();
        if more_on_disk {
            self.window().saturating_sub(self.queue.len())
        } else {
            0
        }
    }

    fn window(&self) -> usize {
        self.context.config.frontier.window.max(1)
    }

    /// Time is up, or the queue runs dry while pages wait on disk.
    fn wants_check_in(&self) -> bool {
        if self.submitted.is_some() {
            return false;
        }
        let runs_dry =
            self.queue.len() < self.window() / 4 && (self.rest || !self.batch.overflow.is_empty());
        runs_dry
            || Instant::now() >= self.renewal()
            || (!self.batch.is_empty()
                && (self.last_check_in.elapsed() >= self.context.config.crawl.check_in
                    || self.batch.is_large()))
    }

    /// Starts as many fetches as the site may have now.
    fn launch(&mut self, rules: &Rules) {
        while self.collectors.len() < self.parallel()
            && Instant::now() >= self.allowed
            && self.leave.is_none()
        {
            let Some(page) = self.queue.pop_front() else {
                return;
            };
            let now = self.context.clock.now();
            if !rules.judge(&page.path).allowed {
                add(&self.context.tally.excluded, 1);
                self.give_up(&page, Outcome::RobotsRefused, now);
                continue;
            }
            let Ok(url) = self.context.canon.rebuild(&self.facts.origin, &page.path) else {
                self.give_up(&page, Outcome::OutOfScope, now);
                continue;
            };
            if let Err(limit) = self.context.budget.take() {
                self.queue.push_front(page);
                self.context.stop.ask(Reason::Limit(limit));
                return;
            }
            self.send(page, url, now);
        }
    }

    /// A Crawl-delay longer than the pause counts from the last answer too, which may be robots.txt's.
    fn set_crawl_delay(&mut self, rules: &Rules) {
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
            self.facts.closed.is_none() && below.is_none_or(|depth| page.site_depth < depth);
        self.flying.insert(page.key, page.clone());
        let session = self.sessions.pop().unwrap_or_default();
        let context = Arc::clone(&self.context);
        let assignment = Assignment {
            url,
            pending: page,
            cookie,
            follow,
        };
        self.collectors
            .spawn(async move { collect(&context, session, assignment).await });
    }

    /// Takes in a page: its links, its record, and what it says about the site.
    fn absorb(&mut self, collected: Collected) {
        let Collected {
            session,
            pending,
            url,
            mut done,
            inside,
            outside,
            redirect,
            headers,
            retry_after,
            resolved,
            took,
            ended,
            lost,
        } = collected;
        self.flying.remove(&pending.key);
        self.sessions.push(session);
        self.allowed = self.allowed.max(ended + self.pause_after(took));
        if lost {
            self.queue.push_front(pending);
            return;
        }
        if let Some(resolved) = resolved {
            self.remember(&url, resolved);
        }
        let now = self.context.clock.now();
        if let Some(headers) = &headers
            && self.cookies.store(&url, headers, now)
        {
            self.facts.cookies = postcard::to_stdvec(&self.cookies).unwrap_or_default();
            self.facts_changed = true;
        }
        self.count(done.record.outcome, done.record.size);
        if self.try_later(&pending, &mut done, retry_after, now) {
            self.batch.done.push(done);
            return;
        }
        let redirected_to_twin = redirect
            .as_ref()
            .is_some_and(|target| target.key() == url.key() && target.origin() != url.origin());
        if let Some(target) = redirect {
            if redirected_to_twin {
                self.follow_twin(&target, pending.clone());
            } else {
                self.follow_redirect(&target, &pending, &url);
            }
        }
        for link in &inside {
            self.admit(&link.url, &pending, link.hop, url.as_str());
        }
        self.batch.outside.extend(outside);
        self.batch.done.push(done);
    }

    /// Counts what the site did; a server that does not answer at all is left alone for now.
    fn count(&mut self, outcome: Outcome, size: u64) {
        let tally = Arc::clone(&self.context.tally);
        let counters = &mut self.facts.counters;
        if let Outcome::Answer(status) | Outcome::Unwanted(status) = outcome {
            counters.fetched += 1;
            counters.bytes += size;
            counters.consecutive_errors = 0;
            add(&tally.pages, 1);
            if status >= 400 {
                add(&tally.refusals, 1);
            }
        } else if outcome == Outcome::NoTarget {
            counters.fetched += 1;
            counters.consecutive_errors = 0;
            add(&tally.pages, 1);
        } else {
            counters.errors += 1;
            counters.consecutive_errors += 1;
            add(&tally.failures, 1);
            self.context.budget.give_back();
        }
        if let Some(urls) = self.context.config.thresholds.urls
            && self.facts.counters.fetched >= urls
        {
            self.close(format!("{urls} pages fetched from this site"));
        }
    }

    /// A threshold is reached (D5): the site's links are no longer followed, its contents are kept.
    fn close(&mut self, reason: String) {
        if self.facts.closed.is_none() {
            self.facts.closed = Some(reason);
            self.facts_changed = true;
        }
    }

    /// Plans the next try where the table gives one. True when the page is not done for now.
    fn try_later(
        &mut self,
        page: &Pending,
        done: &mut Done,
        patience: Option<Duration>,
        now: i64,
    ) -> bool {
        let outcome = done.record.outcome;
        if matches!(
            outcome,
            Outcome::DnsNotFound
                | Outcome::DnsFailed
                | Outcome::ConnectFailed
                | Outcome::ConnectTimeout
                | Outcome::AddressRefused
        ) {
            // Not this page's fault: it stays pending, and shares the fate of the site.
            self.queue.push_front(page.clone());
            self.postpone_site(outcome, outcome);
            return true;
        }
        let Some(mut due) = self
            .context
            .config
            .retry
            .next(outcome, done.record.tries, now)
        else {
            done.record.tries = 0;
            return false;
        };
        if let Some(patience) = patience {
            due = due.max(now + patience.min(LONGEST_PATIENCE).as_millis() as i64);
        }
        done.record.next = Some(due);
        let asks_for_patience = matches!(outcome, Outcome::Answer(429 | 503));
        if asks_for_patience || self.facts.counters.consecutive_errors >= DOWN_AFTER {
            self.leave = Some(Leave::Until(due));
        }
        true
    }

    /// The other name or scheme of this very page: the site prefers it, and the page is asked for there (U3).
    fn follow_twin(&mut self, target: &CanonUrl, page: Pending) {
        let hops = self.twin_hops.entry(page.key).or_default();
        *hops += 1;
        if *hops <= TWIN_HOPS {
            target.origin().clone_into(&mut self.facts.origin);
            self.facts_changed = true;
            self.queue.push_front(Pending {
                path: target.path().to_owned(),
                hop: 'R',
                ..page
            });
        }
    }

    fn follow_redirect(&mut self, target: &CanonUrl, page: &Pending, url: &CanonUrl) {
        let seed = page.hop == '-';
        if !self.context.wants_redirect(target, page, seed) {
            return;
        }
        if target.site_key() == self.site_key {
            self.admit(target, page, 'R', url.as_str());
        } else {
            self.batch
                .outside
                .push(collect::outside(target, page, 'R', url));
        }
    }

    /// The URL-seen test for this site's own links, and the queue behind it.
    fn admit(&mut self, url: &CanonUrl, from: &Pending, hop: char, via: &str) {
        let key = url.path_key();
        if self.facts.closed.is_some() || !self.known.insert(key) {
            return;
        }
        self.batch.keys.push(key);
        let page = Pending {
            path: url.path().to_owned(),
            key,
            depth: collect::deeper(from, hop),
            site_depth: from.site_depth.saturating_add(u16::from(hop != 'R')),
            tries: 0,
            hop,
            via: via.to_owned(),
        };
        if self.rest || !self.batch.overflow.is_empty() || self.queue.len() >= self.window() {
            self.batch.overflow.push(page);
        } else {
            self.queue.push_back(page);
        }
    }

    fn remember(&mut self, url: &CanonUrl, resolved: Resolved) {
        let current = Addresses {
            host: url.host().to_owned(),
            list: resolved.addresses,
            expires: resolved.expires_ms,
        };
        if self.facts.addresses.as_ref() != Some(&current) {
            self.facts.addresses = Some(current);
            self.facts_changed = true;
        }
    }

    /// The pause after an answer that took this long.
    fn pause_after(&self, took: Duration) -> Duration {
        let crawl = &self.context.config.crawl;
        let delay = Duration::from_millis(u64::from(self.facts.pause_ms));
        if crawl.pause.is_zero() {
            return delay;
        }
        let slow = took
            .mul_f64(crawl.pause_factor.max(0.0))
            .min(crawl.max_pause);
        crawl.pause.max(delay).max(slow)
    }

    /// Hands the batch over. At most one check-in of a visit is under way.
    async fn submit(&mut self, then: Then) {
        let (reply, receiver) = oneshot::channel();
        let held = self.flying.values().chain(&self.queue).cloned().collect();
        let facts = std::mem::take(&mut self.facts_changed).then(|| self.facts.clone());
        let overflowed = !self.batch.overflow.is_empty();
        let (check_in, done) = self.batch.take(self.lease, held, facts, then);
        self.rest |= overflowed;
        self.last_check_in = Instant::now();
        let submission = Submission {
            check_in,
            done,
            visit: self.lease,
            reply,
        };
        if self.context.submissions.send(submission).await.is_err() {
            self.leave = Some(Leave::Silent);
        } else {
            self.submitted = Some(receiver);
        }
    }

    fn take_reply(&mut self) {
        if let Some(receiver) = &mut self.submitted {
            match receiver.try_recv() {
                Ok(committed) => self.hear(Ok(committed)),
                Err(oneshot::error::TryRecvError::Empty) => {}
                Err(oneshot::error::TryRecvError::Closed) => self.hear(Err(())),
            }
        }
    }

    fn hear(&mut self, reply: Result<Committed, ()>) {
        self.submitted = None;
        let Ok(committed) = reply else {
            self.leave = Some(Leave::Silent);
            return;
        };
        let Some(checked_in) = committed.checked_in.filter(|answer| !answer.released) else {
            self.leave = Some(Leave::Silent);
            return;
        };
        self.rest = checked_in.rest;
        self.queue.extend(checked_in.more);
        if committed.duplicates > 0 {
            self.facts.counters.duplicates += committed.duplicates;
            if let Some(limit) = self.context.config.thresholds.duplicates
                && self.facts.counters.duplicates >= limit
            {
                self.close(format!("{limit} pages with content already seen"));
            }
        }
    }

    /// The last check-in: everything back, the site released.
    async fn leave(mut self, how: Leave) {
        let how = self.leave.unwrap_or(how);
        if how == Leave::Silent {
            return;
        }
        let deadline = Instant::now() + GRACE;
        while !self.collectors.is_empty() {
            match tokio::time::timeout_at(deadline, self.collectors.join_next()).await {
                Ok(Some(Ok(collected))) => self.absorb(collected),
                Ok(_) => {}
                // Late answers are dropped: their pages stay pending.
                Err(_) => self.collectors.shutdown().await,
            }
        }
        if self.submitted.is_some() {
            let answer = reply(&mut self.submitted).await;
            self.hear(answer);
        }
        let how = self
            .leave
            .filter(|leave| *leave != Leave::Now)
            .unwrap_or(how);
        let rest = self.allowed.saturating_duration_since(Instant::now());
        let ready = self.context.clock.now() + rest.as_millis() as i64 + 1;
        let due = match how {
            Leave::Now => ready,
            Leave::Until(time) => time.max(ready),
            Leave::Silent => return,
        };
        self.facts.last_answer = self.context.clock.now();
        self.facts_changed = true;
        self.submit(Then::Release { due }).await;
        let _ = reply(&mut self.submitted).await;
    }
}

/// The reply to the check-in under way; waits for ever when there is none.
async fn reply(submitted: &mut Option<oneshot::Receiver<Committed>>) -> Result<Committed, ()> {
    match submitted {
        Some(receiver) => receiver.await.map_err(|_| ()),
        None => std::future::pending().await,
    }
}
