//! Applies the result of a fetch to the visit. **A [`Verdict`] takes effect only here.**

use std::time::Duration;

use aranha_frontier::{Flags, Hop, Outcome, Pending};
use aranha_revisit::PageState;
use aranha_url::CanonUrl;
use tokio::task::{Id, JoinError};
use tokio::time::Instant;

use super::trap_check::host_of;
use super::{Ending, Visit};
use crate::collect::{
    Collected, FetchedPage, FinishedTask, MAX_ABANDONED, PageResponse, ReaderFault, Unsent,
    panic_message,
};
use crate::commit::CompletedFetch;
use crate::config::DuplicateLinks;
use crate::courtesy::{self, BackOff};
use crate::fault_injection::{self, FaultPoint};
use crate::node::stop::Reason;
use crate::status::notice::Notice;
use crate::status::tally::add;
use crate::verdict::{
    NextVisit, RedirectAction, SiteOutage, Verdict, decide, decide_cache_miss, decide_outage,
    decide_unfetched, is_outage,
};

impl Visit {
    /// Handles the end of a collector. If the collector or the reader failed, the page is recorded as failed, and the
    /// visit continues (M6).
    pub(super) fn on_collected(&mut self, joined: Result<(Id, Collected), JoinError>) {
        self.activity.step();
        match joined {
            Ok((id, Collected::NotRead { fault, ended })) => {
                if let ReaderFault::TooSlow { abandoned, .. } = fault
                    && abandoned >= MAX_ABANDONED
                {
                    let problem = format!(
                        "{abandoned} pages took too long to read, and their readers are still running"
                    );
                    self.context.control.stop.ask(Reason::Failed(problem));
                }
                self.apply_page_fault(id, &fault.to_string(), ended);
            }
            Ok((id, collected)) => {
                fault_injection::inject(FaultPoint::Visit, self.site.name());
                self.apply_collected(collected);
                // The page is removed last. If this visit panics before, its reservation in the page limit is still
                // returned.
                self.requests.remove(id);
            }
            Err(error) => {
                let id = error.id();
                let problem = match error.try_into_panic() {
                    Ok(panic) => format!("a panic: {}", panic_message(&*panic)),
                    Err(error) => error.to_string(),
                };
                self.apply_page_fault(id, &problem, Instant::now());
            }
        }
    }

    /// Records a page that could not be fetched or read because of a fault of the crawler. `ended`: the end of the
    /// response.
    fn apply_page_fault(&mut self, id: Id, problem: &str, ended: Instant) {
        let allowed_at = ended + self.pause_after(Duration::ZERO);
        self.requests.allowed_at = self.requests.allowed_at.max(allowed_at);
        let Some(page) = self.requests.remove(id) else {
            return;
        };
        self.context.control.pages.give_back();
        add(&self.context.counters().failed, 1);
        let url = format!("{}{}", self.site.facts().origin, page.path);
        let problem = problem.to_owned();
        if page.hop != Hop::SoftNotFoundProbe {
            let now = self.context.now();
            self.record_unfetched(page, Outcome::InternalError, now);
            if let Some(fetch) = self.batch.done.last_mut() {
                fetch.notes.clone_from(&problem);
            }
        }
        let notices = &self.context.reports.notices;
        notices.send(Notice::PageFailed { url, problem });
    }

    pub(super) fn apply_collected(&mut self, collected: Collected) {
        match collected {
            Collected::Fetched(fetched) => self.apply_fetched(*fetched),
            Collected::CacheMiss(task) => {
                let page = self.end_request(*task).0;
                self.apply_cache_miss(page);
            }
            Collected::Unfinished(task) => {
                let page = self.end_request(*task).0;
                self.queue.push_front(page);
            }
            Collected::Unsent(task, unsent) => {
                let (page, url) = self.end_request(*task);
                self.context.control.pages.give_back();
                if page.hop == Hop::SoftNotFoundProbe {
                    self.site.postpone_probe();
                } else {
                    self.queue.push_front(page);
                }
                self.on_unsent(&url, unsent);
            }
            Collected::NotRead { .. } => unreachable!("handled by `on_collected`"),
        }
    }

    /// Handles a request of this visit that was not sent or was broken off.
    pub(super) fn on_unsent(&mut self, url: &CanonUrl, unsent: Unsent) {
        match unsent {
            Unsent::GateTaken(resolved) => {
                // With this address, the frontier gives the site to the node that owns the gate of the address.
                self.site.store_addresses(url, *resolved);
                self.ending = Some(Ending::Release);
            }
            Unsent::LeaseLost => self.ending = Some(Ending::Abandon),
            // The next request waits until the node has renewed its deadline.
            Unsent::BrokenOff => {}
        }
    }

    /// Keeps the connection for the next request, and starts the courtesy pause.
    fn end_request(&mut self, task: FinishedTask) -> (Pending, CanonUrl) {
        self.requests.keep_session(task.session);
        let allowed_at = task.ended + self.pause_after(task.took);
        self.requests.allowed_at = self.requests.allowed_at.max(allowed_at);
        (task.page, task.url)
    }

    /// The courtesy pause after a response that took this long.
    pub(super) fn pause_after(&self, took: Duration) -> Duration {
        let (crawl, now) = (&self.context.config().crawl, self.context.now());
        let delay = self.site.crawl_delay();
        courtesy::pause_after(crawl, host_of(self.site.name()), now, delay, took)
    }

    /// Handles a page that was fetched or whose fetch failed. Makes and applies the verdict, admits the links, and
    /// records the page.
    fn apply_fetched(&mut self, fetched: FetchedPage) {
        let FetchedPage {
            task,
            mut response,
            mut links,
            resolved,
            from_cache: _,
            set_cookies,
            receipt,
            notes,
        } = fetched;
        let (page, url) = self.end_request(task);
        if let Some(resolved) = resolved {
            self.site.store_addresses(&url, resolved);
        }
        let now = self.context.now();
        if let Some(headers) = &set_cookies {
            self.site.store_cookies(&url, headers, now);
        }
        if page.hop == Hop::SoftNotFoundProbe {
            self.apply_probe(page, url.into_string(), response, receipt, notes, now);
            return;
        }
        self.count(&page, response.outcome, response.size);
        self.report_seed(&page, response.outcome, &notes);
        let outage = is_outage(response.outcome).then(|| {
            self.report_queued_seeds(&notes);
            self.apply_outage(response.outcome)
        });
        let site = self.site.view(now, self.requests.failures, outage);
        let verdict = decide(&site, &response, &page, &self.context.policy);
        tracing::debug!(url = url.as_str(), outcome = %response.outcome, next = ?verdict.next, "verdict");
        self.apply(&verdict, &page, &url, &response);
        let original = self.page_with_same_text(&page, &response);
        let counts = self.admit_links(&links.inside, &page, url.as_str(), original.as_deref());
        if counts.skipped > 0 {
            response.flags = response.flags.with(Flags::COPY);
        }
        if original.is_some()
            && self.context.config().crawl.duplicate_links == DuplicateLinks::SkipAll
        {
            links.outside.clear();
        }
        // Revisits are not checked, because they find known text and known links.
        let is_blocked = page.past.is_none()
            && self.check_trap(
                &page,
                &url,
                &response,
                verdict.soft_404,
                counts,
                &links.outside,
            );
        self.remove_unaffordable(&mut links.outside);
        self.batch.outside.extend(links.outside);
        let mut fetch =
            CompletedFetch::page(page, url.into_string(), response, verdict, is_blocked);
        (fetch.receipt, fetch.notes) = (receipt, notes);
        self.batch.done.push(fetch);
    }

    /// The path of the first page in this visit with the same text as this new page. `None` if there is no such page,
    /// if this fetch is a revisit, or if `crawl.duplicate_links` is `follow`. With `skip_all`, short texts are ignored,
    /// because they may be equal by chance.
    fn page_with_same_text(&mut self, page: &Pending, response: &PageResponse) -> Option<String> {
        let mode = self.context.config().crawl.duplicate_links;
        let reading = response.reading.as_ref()?;
        let is_short = reading.sketch == 0;
        let is_ignored = match mode {
            DuplicateLinks::Follow => true,
            DuplicateLinks::SkipCopies => false,
            DuplicateLinks::SkipAll => is_short,
        };
        if is_ignored || page.past.is_some() {
            return None;
        }
        let first = self.site.first_pages.find_or_add(reading.text, &page.path);
        first.map(str::to_owned)
    }

    /// Applies a verdict to the queue, to the site, and to the visit itself. The page's record is built afterwards
    /// (`commit/page_record.rs`).
    pub(super) fn apply(
        &mut self,
        verdict: &Verdict,
        page: &Pending,
        url: &CanonUrl,
        response: &PageResponse,
    ) {
        if let Some(back_off) = verdict.back_off {
            self.apply_back_off(back_off);
        }
        if verdict.soft_404 {
            add(&self.context.counters().soft_404, 1);
        }
        if let NextVisit::Queued { path, tries } = &verdict.next {
            self.queue.push_front(Pending {
                path: path.as_ref().unwrap_or(&page.path).clone(),
                tries: *tries,
                ..page.clone()
            });
        }
        if let Some(redirect) = &response.redirect {
            self.note_seed_redirect(page, &redirect.target);
            match verdict.redirect {
                Some(RedirectAction::Repeat) => {
                    let canon = &self.context.policy.canon;
                    self.site.prefer_origin(&redirect.target, canon);
                }
                Some(RedirectAction::Link) => self.admit_redirect(redirect, page, url),
                Some(RedirectAction::GiveUp) => self.report_endless_redirect(page),
                None => {}
            }
        }
        self.apply_revisit(verdict, page);
    }

    /// Counts a revisit, updates the trust in the source of its change signal, and updates the site's rounds.
    fn apply_revisit(&mut self, verdict: &Verdict, page: &Pending) {
        if page.past.is_some() {
            let counters = self.context.counters();
            match verdict.state {
                Some(PageState::Same) => add(&counters.unchanged, 1),
                Some(PageState::Changed) => add(&counters.changed, 1),
                Some(PageState::Gone) => add(&counters.gone, 1),
                Some(PageState::New | PageState::Failed) | None => {}
            }
        }
        if let Some(check) = verdict.signal {
            self.site.check_signal(check);
        }
        if let Some(rounds) = &verdict.rounds {
            self.site.update_rounds(rounds.clone());
        }
    }

    /// Ends the visit. The site is not visited again before the back-off is over. If the server requested the back-off,
    /// the end of the back-off is stored with the site.
    pub(super) fn apply_back_off(&mut self, back_off: BackOff) {
        let until = back_off.until;
        if back_off.is_requested {
            self.site.extend_retry_after(until);
        }
        match &mut self.ending {
            None => self.ending = Some(Ending::ReleaseUntil(until)),
            Some(_) if !back_off.extends => {}
            Some(ending @ Ending::Release) => *ending = Ending::ReleaseUntil(until),
            Some(Ending::ReleaseUntil(time)) => *time = until.max(*time),
            Some(Ending::Block | Ending::Abandon) => {}
        }
    }

    /// Handles an outage: the site is released until the next try. If there is no next try, all pages in the queue are
    /// recorded as failed.
    pub(super) fn apply_outage(&mut self, cause: Outcome) -> SiteOutage {
        // The request may have failed because the black list now names the site. Then the site is blocked.
        self.check_blacklist();
        let now = self.context.now();
        let outages = self.site.facts().counters.outages;
        let policy = &self.context.policy;
        let site = self.site.view(now, self.requests.failures, None);
        let outage = decide_outage(&site, cause, outages, self.ending, policy);
        tracing::debug!(site = self.site.name(), %cause, ?outage, "outage");
        match outage {
            SiteOutage::Ending => {}
            SiteOutage::Wait { until } => {
                self.site.count_outage();
                self.ending = Some(Ending::ReleaseUntil(until));
            }
            SiteOutage::GiveUp => {
                self.site.count_outage();
                while let Some(page) = self.queue.pop_front() {
                    self.record_unfetched(page, cause, now);
                }
                self.ending = Some(Ending::Release);
            }
        }
        outage
    }

    /// Handles a page that the proxy's cache no longer has. A known page waits for its revisit. A new page is fetched
    /// from its own server.
    fn apply_cache_miss(&mut self, mut page: Pending) {
        add(&self.context.counters().proxy_misses, 1);
        self.context.control.pages.give_back();
        let now = self.context.now();
        let site = self.site.view(now, self.requests.failures, None);
        let verdict = decide_cache_miss(&site, &page, &self.context.policy);
        if let Some(rounds) = &verdict.rounds {
            self.site.update_rounds(rounds.clone());
        }
        match verdict.next {
            NextVisit::Queued { .. } => {
                page.hop = Hop::Signal;
                self.queue.push_front(page);
            }
            NextVisit::Revisit { due, history } => {
                if let Some(past) = &mut page.past {
                    past.claim = 0;
                    past.history = history;
                }
                self.batch.later.push((due, page));
            }
            NextVisit::Retry { .. } | NextVisit::NextRound { .. } | NextVisit::Done => {}
        }
    }

    /// Records a page that is not fetched. `outcome` is the reason.
    pub(super) fn record_unfetched(&mut self, page: Pending, outcome: Outcome, now: i64) {
        let site = self.site.view(now, self.requests.failures, None);
        let verdict = decide_unfetched(&site, outcome, &page, &self.context.policy);
        self.apply_revisit(&verdict, &page);
        let url = format!("{}{}", self.site.facts().origin, page.path);
        let response = PageResponse::without_body(now, outcome);
        let fetch = CompletedFetch::page(page, url, response, verdict, false);
        self.batch.done.push(fetch);
    }
}
