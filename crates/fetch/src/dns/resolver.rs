//! The resolver (N3, N4): a stub resolver over several name servers, with its own cache.
//!
//! ```text
//! resolve ─► cache: fresh ──────────────────────────────► address guard ─► addresses
//!              │    stale ── refreshed in background ────►
//!              └─ missing ─► in-flight look-up ─► breaker ─► slot ─► name servers
//! ```
//!
//! A look-up asks for A and AAAA records at once; IPv4 addresses come first in the result. Failures are cached too, so
//! that a name without addresses is looked up once, not once per link.
//!
//! Invariants:
//! - The address guard checks every answer each time it is returned, cached or not.
//! - At most `dns_concurrency` questions are in flight; prefetched names take at most half of them.
//! - Only a question to a name server waits, and it may be cancelled.
//!
//! Nothing is kept across restarts: the caller stores [`Resolved`] with its site and restores it. All times are those
//! of tokio's clock.

#[cfg(test)]
mod tests;

use std::{
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use tokio::{
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    time::{Instant, sleep, timeout},
};
use tracing::debug;

use super::{
    breaker::{self, Breaker, Outage},
    cache::{Cache, Held},
    in_flight::{Question, Questions},
    lookup::Found,
    name_servers::{self as servers, Servers},
};
use crate::{
    Failure, FetchSetupError, Options, Resolved,
    clock::{Clock, millis},
    connection::address_guard::Guard,
    transport::Simulated,
};

/// How long a failure of the servers is believed: long enough to spare them, short enough to try again.
const FAILURE_TTL: Duration = Duration::from_secs(30);

/// Addresses kept of one name.
const MOST_ADDRESSES: usize = 16;

pub(super) type Outcome = Result<Resolved, Failure>;

/// Who answers questions.
pub(crate) trait Ask: Send + Sync + 'static {
    /// The addresses of a name. Ends by itself or is cut off after `dns_timeout`.
    fn ask(&self, name: &str) -> impl Future<Output = Found> + Send;
}

/// The resolver of a crawl.
pub(crate) struct Resolver<S = Names> {
    servers: S,
    guard: Arc<Guard>,
    clock: Clock,
    cache: Mutex<Cache>,
    questions: Arc<Questions>,
    slots: Arc<Semaphore>,
    /// Free slots that a prefetched name must leave.
    reserved: usize,
    breaker: Breaker,
    timeout: Duration,
    ttl_min: Duration,
    ttl_max: Duration,
}

/// The name servers, or what stands for them in a simulation.
pub(crate) enum Names {
    Servers(Servers),
    Simulated(Simulated),
}

impl Names {
    pub(crate) fn servers(options: &Options) -> Result<Names, FetchSetupError> {
        Ok(Names::Servers(Servers::new(options)?))
    }
}

impl Ask for Names {
    async fn ask(&self, name: &str) -> Found {
        match self {
            Names::Servers(servers) => servers.ask(name).await,
            Names::Simulated(simulated) => Found {
                outcome: simulated.look_up(name).await,
                ttl: Duration::ZERO,
            },
        }
    }
}

impl<S: Ask> Resolver<S> {
    pub(crate) fn new(
        servers: S,
        options: &Options,
        guard: Arc<Guard>,
        clock: Clock,
    ) -> Resolver<S> {
        let slots = options.dns_concurrency.clamp(1, Semaphore::MAX_PERMITS);
        Resolver {
            servers,
            guard,
            clock,
            cache: Mutex::new(Cache::new(options.dns_cache, millis(options.dns_stale))),
            questions: Arc::default(),
            slots: Arc::new(Semaphore::new(slots)),
            reserved: slots / 2,
            breaker: Breaker::new(options.dns_breaker),
            timeout: options.dns_timeout,
            ttl_min: options.dns_ttl_min,
            ttl_max: options.dns_ttl_max.max(options.dns_ttl_min),
        }
    }

    pub(crate) async fn resolve(self: &Arc<Self>, host: &str) -> Outcome {
        if let Some(address) = literal(host) {
            self.guard.pass(address)?;
            return Ok(Resolved {
                addresses: vec![address],
                expires_ms: i64::MAX,
            });
        }
        let name = host.trim_end_matches('.');
        if let Some(outcome) = self.held(name) {
            return self.judge(outcome);
        }
        if !servers::is_askable(name) {
            return Err(Failure::DnsNotFound);
        }
        let question = Question::join(&self.questions, name);
        // Large, and hardly ever needed.
        let asking = Box::pin(question.cell.get_or_init(|| self.answer(name, None)));
        self.judge(asking.await.clone())
    }

    pub(crate) fn restore(&self, host: &str, resolved: &Resolved) {
        let name = host.trim_end_matches('.');
        if literal(host).is_some() || resolved.addresses.is_empty() {
            return;
        }
        let now_ms = self.clock.now_ms();
        let mut resolved = resolved.clone();
        resolved.addresses.truncate(MOST_ADDRESSES);
        let latest = now_ms.saturating_add(millis(self.ttl_max));
        resolved.expires_ms = resolved.expires_ms.min(latest);
        lock(&self.cache).restore(name, resolved, now_ms);
    }

    /// Sees to it that a name is known soon, if there is room. The common case, a name that is known or under way, is
    /// two looks into maps.
    pub(crate) fn prefetch(self: &Arc<Self>, host: &str) {
        let name = host.trim_end_matches('.');
        if lock(&self.cache).knows(name, self.clock.now_ms())
            || self.questions.contains(name)
            || self.slots.available_permits() <= self.reserved
            || self.breaker.down().is_some()
            || literal(host).is_some()
            || !servers::is_askable(name)
        {
            return;
        }
        if let Ok(slot) = self.slots.clone().try_acquire_owned() {
            self.ask_beside(name, slot);
        }
    }

    /// Since when names are down.
    pub(crate) fn down(&self) -> Option<Instant> {
        self.breaker.down()
    }

    pub(crate) fn watch_down(&self) -> watch::Receiver<Option<Instant>> {
        self.breaker.watch()
    }

    /// From the cache; a stale answer is asked for again beside, if it is time and there is a slot.
    fn held(self: &Arc<Self>, name: &str) -> Option<Outcome> {
        let now_ms = self.clock.now_ms();
        let mut cache = lock(&self.cache);
        let held = cache.get(name, now_ms)?;
        if matches!(held, Held::Stale { due: true, .. })
            && self.breaker.down().is_none()
            && let Ok(slot) = self.slots.clone().try_acquire_owned()
        {
            cache.begin_refresh(name, now_ms);
            drop(cache);
            self.ask_beside(name, slot);
        }
        match &held {
            Held::Fresh(_) => debug!(name, "DNS answer from the cache"),
            Held::Stale { .. } => debug!(name, "stale DNS answer from the cache"),
        }
        Some(held.outcome())
    }

    /// Asks in a task of its own, unless the question is under way.
    fn ask_beside(self: &Arc<Self>, name: &str, slot: OwnedSemaphorePermit) {
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let Some(question) = Question::begin(&self.questions, name) else {
            return;
        };
        let resolver = self.clone();
        runtime.spawn(async move {
            let answer = || resolver.answer(question.name(), Some(slot));
            question.cell.get_or_init(answer).await;
        });
    }

    /// Asks the servers and caches the outcome, whatever it is. While names are down it waits, without a slot; so does
    /// a question that was on the way when they went down.
    async fn answer(
        self: &Arc<Self>,
        name: &str,
        mut slot: Option<OwnedSemaphorePermit>,
    ) -> Outcome {
        loop {
            if self.breaker.down().is_some() {
                slot = None;
                self.breaker.wait(name).await;
                // It may have been the probe.
                if let Some(held) = lock(&self.cache).get(name, self.clock.now_ms()) {
                    return held.outcome();
                }
            }
            let turn = match slot.take() {
                Some(slot) => slot,
                None => self.slot().await,
            };
            if self.breaker.down().is_some() {
                continue;
            }
            let found = self.ask(name).await;
            drop(turn);
            let unanswered = is_unanswered(&found.outcome);
            if let Some(outage) = self.breaker.record(name, !unanswered) {
                lock(&self.cache).forget_unanswered();
                tokio::spawn(probe(Arc::downgrade(self), outage));
            }
            // Under the lock: names that go down between this look and the cache could not forget the failure.
            let mut cache = lock(&self.cache);
            if unanswered && self.breaker.down().is_some() {
                continue;
            }
            return self.learn(&mut cache, name, found);
        }
    }

    async fn slot(&self) -> OwnedSemaphorePermit {
        let slot = self.slots.clone().acquire_owned().await;
        slot.expect("the slots are never closed")
    }

    async fn ask(&self, name: &str) -> Found {
        debug!(name, "DNS question");
        let asked = timeout(self.timeout, self.servers.ask(name)).await;
        let found = asked.unwrap_or_else(|_| Found::failed(Failure::DnsTimeout));
        match &found.outcome {
            Ok(addresses) => {
                debug!(name, ?addresses, ttl_s = found.ttl.as_secs(), "DNS answer");
            }
            Err(failure) => debug!(name, code = failure.code(), %failure, "DNS failure"),
        }
        found
    }

    fn learn(&self, cache: &mut Cache, name: &str, found: Found) -> Outcome {
        let ttl = if is_unanswered(&found.outcome) {
            FAILURE_TTL.min(self.ttl_min)
        } else {
            found.ttl.clamp(self.ttl_min, self.ttl_max)
        };
        let now_ms = self.clock.now_ms();
        let expires_ms = now_ms.saturating_add(millis(ttl));
        let outcome = found.outcome.map(|mut addresses| {
            addresses.truncate(MOST_ADDRESSES);
            Resolved {
                addresses,
                expires_ms,
            }
        });
        cache.learn(name, outcome, expires_ms, now_ms)
    }

    /// Only the addresses that the guard passes; its refusal when there are none.
    fn judge(&self, outcome: Outcome) -> Outcome {
        let mut resolved = outcome?;
        let mut refusal = Failure::DnsNoAddress;
        resolved
            .addresses
            .retain(|address| match self.guard.pass(*address) {
                Ok(()) => true,
                Err(failure) => {
                    refusal = failure;
                    false
                }
            });
        if resolved.addresses.is_empty() {
            Err(refusal)
        } else {
            Ok(resolved)
        }
    }
}

/// Asks one name after the other until the outage is over.
async fn probe<S: Ask>(resolver: Weak<Resolver<S>>, outage: Outage) {
    let mut pause = breaker::FIRST_PAUSE;
    loop {
        sleep(pause).await;
        let Some(resolver) = resolver.upgrade() else {
            return;
        };
        let Some(name) = resolver.breaker.candidate(outage) else {
            return;
        };
        let found = resolver.ask(&name).await;
        let answered = !is_unanswered(&found.outcome);
        if answered {
            // Before the others go on, so that who waits for this name finds it.
            let _ = resolver.learn(&mut lock(&resolver.cache), &name, found);
        }
        resolver.breaker.record(&name, answered);
        pause = (pause * 2).min(breaker::LONGEST_PAUSE);
    }
}

/// Whether no server gave an answer. That there is no such name, or no address, is one.
pub(super) fn is_unanswered<T>(outcome: &Result<T, Failure>) -> bool {
    matches!(outcome, Err(Failure::DnsFailed(_) | Failure::DnsTimeout))
}

/// An IP address written as a host, IPv6 with or without brackets.
pub(crate) fn literal(host: &str) -> Option<IpAddr> {
    let bare = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(host);
    bare.parse().ok()
}

/// A panic elsewhere leaves these maps whole: every change is one call.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
