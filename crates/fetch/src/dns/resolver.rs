//! The resolver (N3, N4; Chakrabarti 2.3.1): a stub resolver that uses several name servers and its own cache.
//!
//! ```text
//! resolve ─► cache: fresh ──────────────────────────────► address guard ─► addresses
//!              │    stale ── refreshed in background ────►
//!              └─ missing ─► in-flight look-up ─► circuit breaker ─► slot ─► name servers
//! ```
//!
//! A look-up queries A and AAAA records at the same time. The result has IPv4 addresses first. Failures are cached as
//! well, so that a name without addresses is not looked up again for every link.
//!
//! Invariants:
//! - The address guard checks every answer each time it is returned, cached or not.
//! - A look-up occupies one of `dns_concurrency` slots while it queries the servers. Prefetching occupies at most half
//!   of the slots.
//! - A call that the cache can answer does not wait. Every call is cancel-safe.
//!
//! The resolver stores nothing on disk. The caller stores a [`Resolved`] with its site and passes it to
//! [`Resolver::restore`] after a restart. All times come from tokio's clock.

#[cfg(test)]
mod tests;

use std::{
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use aranha_url::registrable;
use tokio::{
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    time::{Instant, sleep, timeout},
};
use tracing::debug;

use super::{
    cache::{CachedAnswer, DnsCache},
    circuit_breaker::{self, CircuitBreaker, OutageNumber},
    in_flight::{InFlightLookup, InFlightLookups},
    lookup_result::LookupResult,
    name_servers::{self, NameServers},
};
use crate::{
    Failure, FetchSetupError, Options, Resolved,
    clock::{CalendarClock, millis},
    connection::address_guard::AddressGuard,
    transport::SimulatedTransport,
};

/// How long the failure of an unanswered look-up is cached. Without this, other links to the same name would repeat the
/// look-up at once.
const UNANSWERED_TTL: Duration = Duration::from_secs(30);

/// Maximum number of addresses that are kept for one name.
const MAX_ADDRESSES: usize = 16;

pub(super) type ResolveResult = Result<Resolved, Failure>;

/// A source of addresses: name servers, a simulation, or a test script.
pub(crate) trait AddressLookup: Send + Sync + 'static {
    /// Looks up the addresses of a name. The caller cancels the future after `dns_timeout`.
    fn look_up(&self, name: &str) -> impl Future<Output = LookupResult> + Send;
}

/// The resolver of a crawl.
pub(crate) struct Resolver<S = NameSource> {
    servers: S,
    guard: Arc<AddressGuard>,
    clock: CalendarClock,
    cache: Mutex<DnsCache>,
    in_flight: Arc<InFlightLookups>,
    slots: Arc<Semaphore>,
    /// Number of slots that prefetching must leave free.
    reserved_slots: usize,
    breaker: CircuitBreaker,
    timeout: Duration,
    ttl_min: Duration,
    ttl_max: Duration,
}

/// The name servers, or the simulation that replaces them.
pub(crate) enum NameSource {
    Servers(NameServers),
    /// This machine has no name servers, and a proxy resolves the names.
    Nothing,
    Simulated(SimulatedTransport),
}

impl NameSource {
    /// `optional`: whether the crawl can work without name servers.
    pub(crate) fn servers(
        options: &Options,
        optional: bool,
    ) -> Result<NameSource, FetchSetupError> {
        match NameServers::new(options) {
            Err(FetchSetupError::SystemResolver(_)) if optional => Ok(NameSource::Nothing),
            servers => Ok(NameSource::Servers(servers?)),
        }
    }
}

impl AddressLookup for NameSource {
    async fn look_up(&self, name: &str) -> LookupResult {
        match self {
            NameSource::Servers(servers) => servers.look_up(name).await,
            NameSource::Nothing => {
                let problem = "this machine has no name server".to_owned();
                LookupResult::failed(Failure::DnsFailed(problem))
            }
            NameSource::Simulated(simulated) => {
                LookupResult::new(simulated.look_up(name).await, Duration::ZERO)
            }
        }
    }
}

impl<S: AddressLookup> Resolver<S> {
    pub(crate) fn new(
        servers: S,
        options: &Options,
        guard: Arc<AddressGuard>,
        clock: CalendarClock,
        min_queries: usize,
    ) -> Resolver<S> {
        let slots = options.dns_concurrency.clamp(1, Semaphore::MAX_PERMITS);
        Resolver {
            servers,
            guard,
            clock,
            cache: Mutex::new(DnsCache::new(options.dns_cache, millis(options.dns_stale))),
            in_flight: Arc::default(),
            slots: Arc::new(Semaphore::new(slots)),
            reserved_slots: slots / 2,
            breaker: CircuitBreaker::new(options.dns_breaker, min_queries),
            timeout: options.dns_timeout,
            ttl_min: options.dns_ttl_min,
            ttl_max: options.dns_ttl_max.max(options.dns_ttl_min),
        }
    }

    pub(crate) async fn resolve(self: &Arc<Self>, host: &str) -> ResolveResult {
        let result = self.resolve_unchecked(host).await;
        self.check_addresses(result)
    }

    /// Like [`Resolver::resolve`], but fails if the guard refuses any of the addresses.
    pub(crate) async fn resolve_all(self: &Arc<Self>, host: &str) -> ResolveResult {
        let resolved = self.resolve_unchecked(host).await?;
        for address in &resolved.addresses {
            self.guard.check(*address)?;
        }
        Ok(resolved)
    }

    /// Like [`Resolver::resolve_all`], for a name that a proxy resolves. `None` if the look-up finds no address. Does
    /// not wait while the circuit breaker is open.
    pub(crate) async fn resolve_if_possible(
        self: &Arc<Self>,
        host: &str,
    ) -> Result<Option<Resolved>, Failure> {
        let mut outage = self.breaker.watch();
        let result = tokio::select! {
            biased;
            result = self.resolve_all(host) => result,
            _ = outage.wait_for(Option::is_some) => return Ok(None),
        };
        match result {
            Ok(resolved) => Ok(Some(resolved)),
            Err(refused @ Failure::AddressRefused { .. }) => Err(refused),
            Err(_) => Ok(None),
        }
    }

    async fn resolve_unchecked(self: &Arc<Self>, host: &str) -> ResolveResult {
        if let Some(address) = ip_literal(host) {
            return Ok(Resolved {
                addresses: vec![address],
                expires_ms: i64::MAX,
            });
        }
        let name = host.trim_end_matches('.');
        if let Some(result) = self.cached(name) {
            return result;
        }
        if !name_servers::is_valid_name(name) {
            return Err(Failure::DnsNotFound);
        }
        let lookup = InFlightLookup::join(&self.in_flight, name);
        // Boxed, because the future is large and most calls need only the cache.
        let pending = Box::pin(lookup.cell.get_or_init(|| self.look_up(name, None)));
        pending.await.clone()
    }

    pub(crate) fn restore(&self, host: &str, resolved: &Resolved) {
        let name = host.trim_end_matches('.');
        if ip_literal(host).is_some() || resolved.addresses.is_empty() {
            return;
        }
        let now_ms = self.clock.now_ms();
        let mut resolved = resolved.clone();
        resolved.addresses.truncate(MAX_ADDRESSES);
        let latest = now_ms.saturating_add(millis(self.ttl_max));
        resolved.expires_ms = resolved.expires_ms.min(latest);
        lock(&self.cache).restore(name, resolved, now_ms);
    }

    /// Starts a look-up in the background if a slot is free. For a name that is cached or in flight, which is the
    /// common case, it only searches two maps. Returns true if a look-up was started.
    pub(crate) fn prefetch(self: &Arc<Self>, host: &str) -> bool {
        let name = host.trim_end_matches('.');
        if lock(&self.cache).contains(name, self.clock.now_ms())
            || self.in_flight.contains(name)
            || self.slots.available_permits() <= self.reserved_slots
            || self.breaker.open_since().is_some()
            || ip_literal(host).is_some()
            || !name_servers::is_valid_name(name)
        {
            return false;
        }
        let slot = self.slots.clone().try_acquire_owned();
        slot.is_ok_and(|slot| self.look_up_in_background(name, slot))
    }

    /// All cached names with their addresses.
    pub(crate) fn answers(&self) -> Vec<(String, Resolved)> {
        lock(&self.cache).answers()
    }

    /// Refreshes stale answers in the background, as long as half of the slots are free.
    pub(crate) fn refresh_stale(self: &Arc<Self>) {
        let free = self.slots.available_permits();
        let max = free.saturating_sub(self.reserved_slots);
        if max == 0 || self.breaker.open_since().is_some() {
            return;
        }
        let names = lock(&self.cache).stale_names(self.clock.now_ms(), max);
        for name in names {
            // Reading a stale answer starts its refresh.
            let _ = self.cached(&name);
        }
    }

    /// When the circuit breaker opened; `None` if it is closed.
    #[cfg(test)]
    pub(crate) fn outage_since(&self) -> Option<Instant> {
        self.breaker.open_since()
    }

    pub(crate) fn watch_outage(&self) -> watch::Receiver<Option<Instant>> {
        self.breaker.watch()
    }

    /// The cached result. Also starts a refresh in the background if the result is stale and due for a refresh, the
    /// circuit breaker is closed, and a slot is free.
    fn cached(self: &Arc<Self>, name: &str) -> Option<ResolveResult> {
        let now_ms = self.clock.now_ms();
        let mut cache = lock(&self.cache);
        let cached = cache.get(name, now_ms)?;
        if matches!(cached, CachedAnswer::Stale { due: true, .. })
            && self.breaker.open_since().is_none()
            && let Ok(slot) = self.slots.clone().try_acquire_owned()
        {
            cache.begin_refresh(name, now_ms);
            drop(cache);
            self.look_up_in_background(name, slot);
        }
        match &cached {
            CachedAnswer::Fresh(_) => debug!(name, "DNS answer from the cache"),
            CachedAnswer::Stale { .. } => debug!(name, "stale DNS answer from the cache"),
        }
        Some(cached.into_result())
    }

    /// Looks up a name in a separate task. Does nothing and returns false if the name is already in flight.
    fn look_up_in_background(self: &Arc<Self>, name: &str, slot: OwnedSemaphorePermit) -> bool {
        let Ok(runtime) = Handle::try_current() else {
            return false;
        };
        let Some(lookup) = InFlightLookup::begin(&self.in_flight, name) else {
            return false;
        };
        let resolver = self.clone();
        runtime.spawn(async move {
            let result = || resolver.look_up(lookup.name(), Some(slot));
            lookup.cell.get_or_init(result).await;
        });
        true
    }

    /// Queries the servers and caches the result. While the circuit breaker is open, waits without occupying a slot. If
    /// the breaker opens during the query and the query gets no answer, waits and queries again.
    async fn look_up(
        self: &Arc<Self>,
        name: &str,
        mut slot: Option<OwnedSemaphorePermit>,
    ) -> ResolveResult {
        loop {
            if self.breaker.open_since().is_some() {
                slot = None;
                self.breaker.wait(name).await;
                // A probe may have queried this name and cached the answer.
                if let Some(cached) = lock(&self.cache).get(name, self.clock.now_ms()) {
                    return cached.into_result();
                }
            }
            let held_slot = match slot.take() {
                Some(slot) => slot,
                None => self.acquire_slot().await,
            };
            if self.breaker.open_since().is_some() {
                continue;
            }
            let found = self.query(name).await;
            drop(held_slot);
            let unanswered = is_unanswered(&found.outcome);
            if let Some(outage) = self.breaker.record(name, !unanswered) {
                lock(&self.cache).remove_unanswered();
                tokio::spawn(probe(Arc::downgrade(self), outage));
            }
            // The cache is locked before the breaker is checked. Otherwise the breaker could open between the check and
            // the store, and `remove_unanswered` would miss this failure.
            let mut cache = lock(&self.cache);
            if unanswered && self.breaker.open_since().is_some() {
                continue;
            }
            return self.store(&mut cache, name, found);
        }
    }

    async fn acquire_slot(&self) -> OwnedSemaphorePermit {
        let slot = self.slots.clone().acquire_owned().await;
        slot.expect("the semaphore is never closed")
    }

    async fn query(&self, name: &str) -> LookupResult {
        debug!(name, "DNS query");
        let found = timeout(self.timeout, self.servers.look_up(name)).await;
        let found = found.unwrap_or_else(|_| LookupResult::failed(Failure::DnsTimeout));
        match &found.outcome {
            Ok(addresses) => {
                debug!(name, ?addresses, ttl_s = found.ttl.as_secs(), "DNS answer");
            }
            Err(failure) => debug!(name, code = failure.code(), %failure, "DNS failure"),
        }
        found
    }

    fn store(&self, cache: &mut DnsCache, name: &str, found: LookupResult) -> ResolveResult {
        let ttl = if is_unanswered(&found.outcome) {
            UNANSWERED_TTL.min(self.ttl_min)
        } else {
            found.ttl.clamp(self.ttl_min, self.ttl_max)
        };
        let now_ms = self.clock.now_ms();
        let expires_ms = now_ms.saturating_add(millis(ttl));
        if let Some(domain) = missing_domain(name, found.zone.as_deref())
            && !cache.contains(domain, now_ms)
        {
            let _ = cache.store(domain, Err(Failure::DnsNotFound), expires_ms, now_ms);
        }
        let result = found.outcome.map(|mut addresses| {
            addresses.truncate(MAX_ADDRESSES);
            Resolved {
                addresses,
                expires_ms,
            }
        });
        cache.store(name, result, expires_ms, now_ms)
    }

    /// Removes the addresses that the guard refuses. If none remains, returns the guard's refusal.
    fn check_addresses(&self, result: ResolveResult) -> ResolveResult {
        let mut resolved = result?;
        let mut refusal = Failure::DnsNoAddress;
        resolved
            .addresses
            .retain(|address| match self.guard.check(*address) {
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

/// The registrable domain of a name that does not exist, if that domain does not exist either. `zone` is the zone that
/// should contain the name, as the name server reports it. If this zone is the public suffix, the domain is not
/// delegated.
fn missing_domain<'a>(name: &'a str, zone: Option<&str>) -> Option<&'a str> {
    let domain = registrable(name).filter(|domain| domain.len() < name.len())?;
    let (_, suffix) = domain.split_once('.')?;
    zone?.eq_ignore_ascii_case(suffix).then_some(domain)
}

/// Sends probes until the outage is over.
async fn probe<S: AddressLookup>(resolver: Weak<Resolver<S>>, outage: OutageNumber) {
    let mut pause = circuit_breaker::FIRST_PROBE_PAUSE;
    loop {
        sleep(pause).await;
        let Some(resolver) = resolver.upgrade() else {
            return;
        };
        let Some(name) = resolver.breaker.probe_name(outage) else {
            return;
        };
        let found = resolver.query(&name).await;
        let answered = !is_unanswered(&found.outcome);
        if answered {
            // The answer is stored before the breaker closes, so that a waiting look-up of the same name finds it in
            // the cache.
            let _ = resolver.store(&mut lock(&resolver.cache), &name, found);
        }
        resolver.breaker.record(&name, answered);
        pause = (pause * 2).min(circuit_breaker::MAX_PROBE_PAUSE);
    }
}

/// Whether no server gave an answer. "No such name" and "no address" are answers.
pub(super) fn is_unanswered<T>(outcome: &Result<T, Failure>) -> bool {
    matches!(outcome, Err(Failure::DnsFailed(_) | Failure::DnsTimeout))
}

/// The IP address, if the host is an IP literal. IPv6 literals may have brackets.
pub(crate) fn ip_literal(host: &str) -> Option<IpAddr> {
    let bare = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(host);
    bare.parse().ok()
}

/// Locks a mutex and ignores poisoning. Every change of the protected data is a single call, so a panic cannot leave
/// the data inconsistent.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
