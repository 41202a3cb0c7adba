//! robots.txt at the beginning of a visit. The stored file is used while it is fresh. Otherwise the file is fetched.

use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;

use aranha_fetch::{FetchSession, Route};
use aranha_frontier::{Outcome, RobotsFile, Then};
use aranha_robots::{Robots, RobotsRules};

use super::Visit;
use super::check_in::reply;
use super::seed_report::robots_txt_error;
use crate::courtesy::BackOff;
use crate::node::Context;
use crate::robots_txt::{self, RobotsFetch};
use crate::status::tally::add;
use crate::verdict::is_outage;

impl Visit {
    /// Returns the robots.txt rules of the site, or `None` if the site cannot be visited now.
    pub(super) async fn prepare(&mut self) -> Option<RobotsRules> {
        let context = Arc::clone(&self.context);
        if let Some(file) = &self.site.facts().robots
            && robots_txt::is_fresh(file, context.now())
            && let Some(rules) = self.rules(file)
        {
            return Some(rules);
        }
        self.test_for_tld_wildcard().await;
        let mut fetch = self.fetch_robots().await?;
        if let Some(twin) = self.twin_to_try(&fetch).await {
            // Try the other name, because many hosts exist only with `www.` or only without it (U3).
            let origin = self.site.facts().origin.clone();
            self.batch.done.append(&mut fetch.done);
            self.site.use_origin(twin);
            fetch = self.fetch_robots().await?;
            if is_outage(fetch.outcome) {
                self.site.use_origin(origin);
            }
        }
        let (outcome, retry_after) = (fetch.outcome, fetch.retry_after);
        self.end_first_visit(!is_outage(outcome));
        self.batch.done.extend(fetch.done);
        let rules = self.rules(&fetch.file);
        if rules.is_none() {
            self.report_queued_seeds(&robots_txt_error(&fetch.file));
        }
        self.site.store_robots(fetch.file);
        if rules.is_some() {
            self.site.end_outage();
        } else {
            add(&context.counters().failed, 1);
            let cause = match outcome {
                Outcome::Answer(_) => Outcome::RobotsUnreachable,
                failure => failure,
            };
            self.apply_outage(cause);
        }
        if let Some(back_off) = BackOff::requested(outcome, retry_after, context.now()) {
            self.apply_back_off(back_off);
        }
        rules
    }

    /// The rules of the site for this crawler. If robots.txt is ignored on the host and the server responded,
    /// everything is allowed. `None` if no page of the site may be fetched.
    fn rules(&self, file: &RobotsFile) -> Option<RobotsRules> {
        let crawl = &self.context.config().crawl;
        let url = self.context.policy.canon.canon(&self.site.facts().origin);
        if file.status != 0 && url.is_ok_and(|url| crawl.ignores_robots(url.host())) {
            return Some(Robots::allow_all().agent(&crawl.product));
        }
        robots_txt::rules(file, &crawl.product)
    }

    /// Fetches robots.txt from the site's preferred origin. Returns `None` if the lease was lost or the crawl stops.
    async fn fetch_robots(&mut self) -> Option<RobotsFetch> {
        let context = Arc::clone(&self.context);
        let url = context.url_of(&self.site.facts().origin, "/robots.txt")?;
        let mut session = FetchSession::new();
        let activity = Arc::clone(&self.activity);
        let mut allowed_at = self.requests.allowed_at;
        let fetch = {
            let mut fetching = pin!(robots_txt::request(
                &context,
                &activity,
                &mut session,
                url.clone(),
                &mut allowed_at
            ));
            loop {
                let renewal = self.renewal();
                tokio::select! {
                    biased;
                    fetch = &mut fetching => break fetch,
                    // If many sites share one address, the wait for the address gate may be longer than the lease.
                    () = tokio::time::sleep_until(renewal), if self.check_ins.submitted.is_none() => {
                        self.check_in(Then::Keep { want: 0 }).await;
                    }
                    reply = reply(&mut self.check_ins.submitted) => {
                        self.on_reply(reply);
                        if self.ending.is_some() {
                            return None;
                        }
                    }
                    () = context.control.stop.wait() => return None,
                }
            }
        };
        self.requests.allowed_at = allowed_at;
        self.requests.keep_session(session);
        fetch.unwrap_or_else(|unsent| {
            self.on_unsent(&url, unsent);
            None
        })
    }

    /// The origin under the site's other name, if robots.txt should be fetched from there. This is the case if the
    /// first name has no address. It is also the case if the server of the first name cannot be reached, and the other
    /// name has other addresses.
    async fn twin_to_try(&mut self, fetch: &RobotsFetch) -> Option<String> {
        let is_dead = match fetch.outcome {
            Outcome::DnsNotFound => false,
            Outcome::ConnectFailed | Outcome::ConnectTimeout => true,
            _ => return None,
        };
        let twin = self.twin(fetch.no_such_name)?;
        if is_dead {
            let context = Arc::clone(&self.context);
            let origin = self.site.facts().origin.clone();
            let own = addresses(&context, &origin).await?;
            let others = addresses(&context, &twin).await?;
            // Behind a proxy, the addresses may be unknown. Then the other name is also tried.
            if let (Some(own), Some(others)) = (own, others)
                && others.iter().all(|address| own.contains(address))
            {
                return None;
            }
        }
        Some(twin)
    }

    /// The origin under the site's other name, with or without `www.`. `no_such_name`: whether the name server answered
    /// that the first name does not exist. Then no name below it exists either (RFC 8020), so `www.` is not tried.
    fn twin(&self, no_such_name: bool) -> Option<String> {
        let (scheme, authority) = self.site.facts().origin.split_once("://")?;
        let twin = match authority.strip_prefix("www.") {
            Some(bare) => format!("{scheme}://{bare}"),
            None if no_such_name => return None,
            None => format!("{scheme}://www.{authority}"),
        };
        let url = self.context.policy.canon.canon(&format!("{twin}/")).ok()?;
        (url.site_key() == self.site.key).then(|| url.origin().to_owned())
    }

    /// Stores the Crawl-delay. If it is longer than the pause, the next request is postponed by the difference, because
    /// the delay also applies to the pause after robots.txt.
    pub(super) fn set_crawl_delay(&mut self, rules: &RobotsRules) {
        let crawl = &self.context.config().crawl;
        let delay = rules.crawl_delay().unwrap_or_default().min(crawl.max_pause);
        let longer = delay.saturating_sub(crawl.pause);
        self.site.set_crawl_delay(delay);
        if self.requests.have_begun() || self.context.control.resumed.is_some() {
            self.requests.allowed_at += longer;
        }
    }
}

/// The addresses of the host of an origin. `Some(None)` if only a proxy knows them. `None` if no request can be sent to
/// the host.
async fn addresses(context: &Context, origin: &str) -> Option<Option<Vec<IpAddr>>> {
    let url = context.url_of(origin, "/")?;
    let known = match context.network.web.route(&url).await.ok()? {
        Route::Addresses(resolved) => Some(resolved),
        Route::Name { known } => known,
    };
    Some(known.map(|resolved| resolved.addresses))
}
