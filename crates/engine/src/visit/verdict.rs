//! What an answer means: for the page, for its links, and for the site.
//!
//! A page that failed is tried again by the retry table, by itself. A server that cannot be reached at
//! all, that asks for patience (429, Retry-After), or that fails again and again, is left alone as a
//! whole: the site is released with the time at which it may be tried again, its pages stay pending (F11).

use std::sync::Arc;
use std::time::Duration;

use aranha_fetch::{Resolved, Truncated};
use aranha_frontier::{Addresses, Hop, Outcome, Pending};
use aranha_url::{CanonUrl, PathKey};
use tokio::task::{Id, JoinError};

use super::content::Links;
use super::{Leave, Visit};
use crate::collect::{self, Collected, Insides, Redirect};
use crate::commit::Done;
use crate::courtesy;
use crate::status::notice::Notice;
use crate::status::tally::add;
use crate::traps::dedup::Once;

/// Fetches in a row that mean trouble after which the server counts as down.
const DOWN_AFTER: u32 = 5;
/// `Retry-After` is believed up to this.
const LONGEST_PATIENCE: Duration = Duration::from_hours(7 * 24);
/// How often one page may redirect to itself or to its twin (www, https).
const OWN_HOPS: u8 = 3;

impl Visit {
    /// A collector is back, or broke on its page: that page is recorded, the others go on (M6).
    pub(super) fn land(&mut self, joined: Result<(Id, Box<Collected>), JoinError>) {
        match joined {
            Ok((id, collected)) => {
                self.landed(id);
                self.absorb(collected);
            }
            Err(error) => {
                self.context.budget.give_back();
                if let Some(page) = self.landed(error.id()) {
                    self.give_up(&page, Outcome::Protocol, self.context.clock.now());
                    if let Some(done) = self.batch.done.last_mut() {
                        done.notes = format!("aranha itself failed on this page: {error}");
                    }
                }
            }
        }
    }

    /// The page that this collector had; it is under way no more. They are few: one for each request at once.
    fn landed(&mut self, id: Id) -> Option<Pending> {
        let place = self.flying.iter().position(|(other, _)| *other == id)?;
        Some(self.flying.swap_remove(place).1)
    }

    /// Takes in a page: its links, its record, and what it says about the site.
    fn absorb(&mut self, collected: Box<Collected>) {
        let Collected {
            session,
            pending,
            url,
            mut done,
            inside,
            outside,
            redirect,
            reading,
            version,
            headers,
            retry_after,
            truncated,
            resolved,
            took,
            ended,
            lost,
            uncached,
        } = *collected;
        self.sessions.push(session);
        self.allowed = self.allowed.max(ended + self.pause_after(took));
        if lost {
            self.queue.push_front(pending);
            return;
        }
        if uncached {
            self.miss(pending);
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
        if pending.hop == Hop::SoftNotFoundProbe {
            // Nobody asked for this page: it does not count towards the limit.
            self.context.budget.give_back();
            self.be_patient(done.record.outcome, retry_after, now);
            self.learn_absent(&mut done, reading.as_ref(), redirect.as_ref());
            self.batch.done.push(done);
            return;
        }
        self.count(&pending, done.record.outcome, done.record.size);
        let mut queued = self.try_later(&pending, &mut done, truncated, retry_after, now);
        let soft = self.is_soft(&mut done, reading.as_ref(), redirect.as_ref());
        if let Some(redirect) = &redirect {
            queued |= self.follow(redirect, &pending, &url);
        }
        // A page has one place: in the queue, or in the schedule.
        if queued {
            done.record.next = None;
        } else {
            self.come_back(&pending, &mut done, version, soft, now);
        }
        let links = self.admit_all(&inside, &pending, url.as_str());
        let reading = reading.as_ref();
        if pending.past.is_none() {
            // What a page brings is judged once: a second look finds what is known.
            self.judge_content(&mut done, reading, soft, links, &url, &outside);
        }
        self.batch.outside.extend(outside);
        self.batch.done.push(done);
    }

    /// The URL-seen test for all of a page's links into its site.
    fn admit_all(&mut self, inside: &Insides, from: &Pending, via: &str) -> Links {
        let mut once = Once::new(inside.count());
        let all = inside
            .keys()
            .filter(|key| once.is_first(key.0 as u32))
            .count();
        let mut new = 0;
        for (path, link) in inside.iter() {
            if self.admit(path, link.key, from, link.hop, via) {
                new += 1;
            } else if let Some(date) = link.dated {
                self.hear_of(link.key, date, from);
            }
            if let Some(name) = link.name
                && self.facts.blocked.is_none()
            {
                self.context.repeats.note(name, link.key);
            }
        }
        Links {
            all: all as u32,
            new,
        }
    }

    /// Counts what the site did.
    fn count(&mut self, page: &Pending, outcome: Outcome, size: u64) {
        let live = Arc::clone(&self.context.counters);
        let counters = &mut self.facts.counters;
        let status = match outcome {
            Outcome::Answer(status) | Outcome::Unwanted(status) => Some(status),
            Outcome::NoTarget => Some(300),
            _ => None,
        };
        if let Some(status) = status {
            let passes = self.context.config.retry.delays(outcome).is_some();
            if page.past.is_none() && !passes {
                // The thresholds are for what a site has, not for how often it is looked at.
                counters.fetched += 1;
                counters.bytes += size;
            }
            counters.outages = 0;
            add(&live.pages, 1);
            if let Some(percent) = self.context.dominance.note(self.site_key) {
                let site = self.name().to_owned();
                let notice = Notice::SiteShare { site, percent };
                self.context.notices.send(notice);
            }
            if status >= 400 {
                add(&live.http_errors, 1);
            }
            self.context.page_answered();
        } else {
            counters.errors += 1;
            add(&live.failed, 1);
            self.context.budget.give_back();
        }
        let trouble = status.is_none_or(|status| status == 429 || status >= 500);
        self.failing = if trouble { self.failing + 1 } else { 0 };
        if let Some(urls) = self.context.config.thresholds.urls
            && self.facts.counters.fetched >= urls
        {
            self.block_as_trap(format!("{urls} pages fetched from this site"));
        }
    }

    /// Plans the next try where the table gives one. An answer cut off in the middle is kept, and tried
    /// again like one that did not come. True: the page is in the queue again.
    fn try_later(
        &mut self,
        page: &Pending,
        done: &mut Done,
        truncated: Option<Truncated>,
        patience: Option<Duration>,
        now: i64,
    ) -> bool {
        let outcome = match truncated {
            Some(Truncated::Disconnect) => Outcome::Reset,
            Some(Truncated::Time) => Outcome::Timeout,
            _ => done.record.outcome,
        };
        if matches!(
            outcome,
            Outcome::DnsNotFound
                | Outcome::DnsFailed
                | Outcome::ConnectFailed
                | Outcome::ConnectTimeout
                | Outcome::AddressRefused
        ) {
            // Not this page's fault: it stays pending, and shares the fate of the site.
            let again = self.site_failed(outcome);
            if again {
                self.queue.push_front(page.clone());
            }
            return again;
        }
        let tries = done.record.tries;
        let Some(mut due) = self.context.config.retry.next(outcome, tries, now) else {
            done.record.tries = 0;
            self.be_patient(outcome, patience, now);
            return false;
        };
        if let Some(patience) = patience {
            due = due.max(until(patience, now));
        }
        done.record.next = Some(due);
        let asked_for = outcome.status() == Some(429) || patience.is_some();
        if asked_for {
            self.facts.retry_after = due.max(self.facts.retry_after);
        }
        if (asked_for || self.failing >= DOWN_AFTER) && self.leave.is_none() {
            self.leave = Some(Leave::Until(due));
        }
        false
    }

    /// A server that refuses and says for how long is left alone as a whole, whatever it was asked for.
    pub(super) fn be_patient(&mut self, outcome: Outcome, patience: Option<Duration>, now: i64) {
        let Some(patience) = patience.filter(|_| outcome.status() >= Some(400)) else {
            return;
        };
        let until = until(patience, now);
        self.facts.retry_after = until.max(self.facts.retry_after);
        match &mut self.leave {
            None | Some(Leave::Now) => self.leave = Some(Leave::Until(until)),
            Some(Leave::Until(time)) => *time = until.max(*time),
            Some(_) => {}
        }
    }

    /// The site as a whole cannot be had: one outage, however many requests were under way. True when it
    /// is tried again, with its pages pending; false when there is no other chance and they are given up.
    pub(super) fn site_failed(&mut self, cause: Outcome) -> bool {
        // It may be for the black list that it was not asked: then it is set aside with its pages.
        self.obey_black_list();
        if matches!(self.leave, Some(Leave::Until(_) | Leave::Block)) {
            return true;
        }
        let now = self.context.clock.now();
        self.facts.counters.outages += 1;
        let tries = self.facts.counters.outages.min(255) as u8;
        let due = self.context.config.retry.next(cause, tries, now);
        // One request a round, however many pages wait: they need not fail one by one.
        if let Some(due) = due.or_else(|| self.next_chance(cause, now)) {
            self.leave = Some(Leave::Until(due));
            return true;
        }
        while let Some(page) = self.queue.pop_front() {
            self.give_up(&page, cause, now);
        }
        self.leave = Some(Leave::Now);
        false
    }

    /// A redirect is a link (N11), but for one that leads to the page itself: its twin under the other name
    /// or scheme, or the same URL again once a cookie is set. That one is asked for again, a few times; it
    /// must not be dropped as seen (U3). True: the page is in the queue again.
    fn follow(&mut self, redirect: &Redirect, page: &Pending, url: &CanonUrl) -> bool {
        let target = &redirect.target;
        if target.site_key() == self.site_key && target.path_key() == page.key {
            // Counted with the page's tries, which outlive the visit: twins may send us to and fro for ever.
            let again = page.tries < OWN_HOPS;
            if again {
                self.queue.push_front(Pending {
                    path: redirect.literal.clone(),
                    tries: page.tries + 1,
                    ..page.clone()
                });
                self.prefer(target);
            }
            return again;
        }
        let (wanted, adopted) = self.context.wants_redirect(target, page);
        self.batch.adopted.extend(adopted);
        if !wanted {
            return false;
        }
        if target.site_key() == self.site_key {
            self.admit(
                target.path(),
                target.path_key(),
                page,
                Hop::Redirect,
                url.as_str(),
            );
        } else {
            let link = collect::outside(target, page, Hop::Redirect, url);
            self.batch.outside.push(link);
        }
        false
    }

    /// The site's pages are asked for under this name from now on. Another host has another robots.txt.
    fn prefer(&mut self, target: &CanonUrl) {
        if self.facts.origin == target.origin() {
            return;
        }
        target.origin().clone_into(&mut self.facts.origin);
        self.facts_changed = true;
        let same_host = self.facts.robots.as_ref().is_some_and(|file| {
            let asked = self.context.canon.canon(&file.url);
            asked.is_ok_and(|asked| asked.host() == target.host())
        });
        if !same_host {
            self.facts.robots = None;
        }
    }

    /// The URL-seen test for this site's own links, and the queue behind it. True: the page was not known.
    pub(super) fn admit(
        &mut self,
        path: &str,
        key: PathKey,
        from: &Pending,
        hop: Hop,
        via: &str,
    ) -> bool {
        if self.facts.blocked.is_some() || !self.known.insert(key.0) {
            return false;
        }
        self.batch.keys.push(key);
        let page = Pending {
            path: path.to_owned(),
            key,
            depth: collect::deeper(from, hop),
            site_depth: from
                .site_depth
                .saturating_add(u16::from(hop != Hop::Redirect)),
            tries: 0,
            hop,
            via: via.to_owned(),
            past: None,
        };
        if self.rest || !self.batch.overflow.is_empty() || self.queue.len() >= self.window() {
            self.batch.overflow.push_back(page);
        } else {
            self.queue.push_back(page);
        }
        true
    }

    fn remember(&mut self, url: &CanonUrl, resolved: Resolved) {
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
            self.facts_changed = true;
        }
    }

    /// The pause after an answer that took this long.
    pub(super) fn pause_after(&self, took: Duration) -> Duration {
        courtesy::pause_after(&self.context.config.crawl, self.delay(), took)
    }

    /// The pause that the site asks for.
    pub(super) fn delay(&self) -> Duration {
        Duration::from_millis(u64::from(self.facts.pause_ms))
    }
}

/// When a server that asked for patience may be asked again.
fn until(patience: Duration, now: i64) -> i64 {
    now + patience.min(LONGEST_PATIENCE).as_millis() as i64
}
