//! Tests of the resolver against scripted name servers, under a paused clock, so that an outage of days takes no real
//! time.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicUsize, Ordering},
};

use aranha_url::Blacklist;
use proptest::prelude::*;
use tokio::time::advance;

use super::*;

/// The answer to queries for a name. Names without a scripted answer get "no such name".
#[derive(Clone, Debug)]
enum ScriptedAnswer {
    Addresses(Vec<IpAddr>),
    ServFail,
    Silence,
}

/// Name servers that give scripted answers after [`LATENCY`].
#[derive(Default)]
struct ScriptedServers {
    answers: Mutex<HashMap<String, ScriptedAnswer>>,
    /// If true, no query is answered.
    unreachable: Mutex<bool>,
    queries: Mutex<Vec<String>>,
    in_flight: AtomicUsize,
    max_in_flight: AtomicUsize,
}

const LATENCY: Duration = Duration::from_millis(20);
const TTL: Duration = Duration::from_mins(10);
const STALE: Duration = Duration::from_hours(1);

impl ScriptedServers {
    fn set_answer(&self, name: &str, answer: Option<ScriptedAnswer>) {
        let mut answers = lock(&self.answers);
        match answer {
            Some(answer) => answers.insert(name.to_owned(), answer),
            None => answers.remove(name),
        };
    }

    fn set_unreachable(&self, unreachable: bool) {
        *lock(&self.unreachable) = unreachable;
    }

    fn take_queries(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.queries))
    }
}

impl AddressLookup for ScriptedServers {
    async fn look_up(&self, name: &str) -> LookupResult {
        struct InFlightCount<'a>(&'a AtomicUsize);
        impl Drop for InFlightCount<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        let in_flight = self.in_flight.fetch_add(1, Ordering::Relaxed) + 1;
        let _count = InFlightCount(&self.in_flight);
        self.max_in_flight.fetch_max(in_flight, Ordering::Relaxed);
        lock(&self.queries).push(name.to_owned());
        sleep(LATENCY).await;
        let unreachable = *lock(&self.unreachable);
        let answer = lock(&self.answers).get(name).cloned();
        let outcome = match answer {
            _ if unreachable => Err(Failure::DnsFailed("unreachable".to_owned())),
            None => Err(Failure::DnsNotFound),
            Some(ScriptedAnswer::ServFail) => Err(Failure::DnsFailed("Server Failure".to_owned())),
            Some(ScriptedAnswer::Silence) => std::future::pending().await,
            Some(ScriptedAnswer::Addresses(addresses)) => Ok(addresses),
        };
        LookupResult::new(outcome, TTL)
    }
}

fn resolver(change: impl FnOnce(&mut Options)) -> Arc<Resolver<ScriptedServers>> {
    let mut options = Options {
        dns_ttl_min: Duration::from_mins(5),
        dns_stale: STALE,
        ..Options::default()
    };
    change(&mut options);
    let guard = AddressGuard::new(options.allow_private, Blacklist::default());
    Arc::new(Resolver::new(
        ScriptedServers::default(),
        &options,
        Arc::new(guard),
        CalendarClock::new(),
        circuit_breaker::MIN_QUERIES,
    ))
}

fn address(last: u8) -> IpAddr {
    [93, 184, 216, last].into()
}

#[expect(clippy::unnecessary_wraps, reason = "the argument type of set_answer")]
fn public_answer(last: u8) -> Option<ScriptedAnswer> {
    Some(ScriptedAnswer::Addresses(vec![address(last)]))
}

/// Resolves a name. Returns its first address, or the code of the failure. Panics if the look-up takes more than an
/// hour on the paused clock.
async fn resolve(resolver: &Arc<Resolver<ScriptedServers>>, name: &str) -> String {
    let result = timeout(Duration::from_hours(1), resolver.resolve(name)).await;
    match result.expect("a result within an hour") {
        Ok(resolved) => resolved.addresses[0].to_string(),
        Err(failure) => failure.code().to_owned(),
    }
}

/// Advances the paused clock. Other tasks run during this time.
async fn advance_seconds(seconds: u64) {
    sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn a_stale_answer_is_returned_at_once_and_refreshed_in_the_background() {
    let resolver = resolver(|_| {});
    resolver.servers.set_answer("a.example", public_answer(1));
    assert_eq!(resolve(&resolver, "a.example").await, "93.184.216.1");
    resolver.servers.set_answer("a.example", public_answer(2));
    advance(TTL).await;
    resolver.servers.take_queries();
    let begun = Instant::now();
    for _ in 0..5 {
        assert_eq!(resolve(&resolver, "a.example").await, "93.184.216.1");
    }
    assert_eq!(begun.elapsed(), Duration::ZERO, "no call waited");
    advance_seconds(1).await;
    assert_eq!(
        resolver.servers.take_queries(),
        ["a.example"],
        "one refresh"
    );
    assert_eq!(resolve(&resolver, "a.example").await, "93.184.216.2");
    advance(TTL + STALE).await;
    resolver.servers.set_answer("a.example", public_answer(3));
    assert_eq!(
        resolve(&resolver, "a.example").await,
        "93.184.216.3",
        "no longer usable, so the call waits for a query"
    );
}

#[tokio::test(start_paused = true)]
async fn a_failed_refresh_keeps_the_stale_answer_and_nxdomain_removes_it() {
    let resolver = resolver(|options| options.dns_stale = Duration::from_hours(24));
    resolver.servers.set_answer("a.example", public_answer(1));
    resolve(&resolver, "a.example").await;
    resolver
        .servers
        .set_answer("a.example", Some(ScriptedAnswer::ServFail));
    advance(TTL).await;
    resolver.servers.take_queries();
    for _ in 0..3600 {
        assert_eq!(resolve(&resolver, "a.example").await, "93.184.216.1");
        advance_seconds(1).await;
    }
    let refreshes = resolver.servers.take_queries().len();
    assert!(
        (7..=8).contains(&refreshes),
        "{refreshes} in an hour: 30 s, 1 min, 2 min and so on"
    );
    resolver.servers.set_answer("a.example", None);
    advance_seconds(3600).await;
    assert_eq!(resolve(&resolver, "a.example").await, "93.184.216.1");
    advance_seconds(1).await;
    assert_eq!(resolve(&resolver, "a.example").await, "dns-not-found");
}

/// Prevents DNS rebinding: the guard checks the addresses each time an answer is returned, even if the answer was
/// restored or refreshed.
#[tokio::test(start_paused = true)]
async fn the_guard_checks_every_returned_answer() {
    let resolver = resolver(|_| {});
    resolver.servers.set_answer("a.example", public_answer(1));
    resolve(&resolver, "a.example").await;
    let loopback = Some(ScriptedAnswer::Addresses(vec![[127, 0, 0, 1].into()]));
    resolver.servers.set_answer("a.example", loopback);
    advance(TTL).await;
    assert_eq!(resolve(&resolver, "a.example").await, "93.184.216.1");
    advance_seconds(1).await;
    assert_eq!(resolve(&resolver, "a.example").await, "address-refused");
    let mixed = Resolved {
        addresses: vec![
            [169, 254, 169, 254].into(),
            address(4),
            [10, 0, 0, 1].into(),
        ],
        expires_ms: resolver.clock.now_ms() - 1,
    };
    resolver.restore("b.example", &mixed);
    let resolved = resolver.resolve("b.example").await;
    let resolved = resolved.expect("one address is allowed");
    assert_eq!(resolved.addresses, [address(4)]);
}

#[tokio::test(start_paused = true)]
async fn a_restored_answer_that_has_expired_is_stale() {
    let resolver = resolver(|_| {});
    let restored = |age: Duration| Resolved {
        addresses: vec![address(1)],
        expires_ms: resolver.clock.now_ms() - millis(age),
    };
    resolver.servers.set_answer("a.example", public_answer(2));
    resolver.servers.set_answer("b.example", public_answer(2));
    resolver.restore("a.example", &restored(Duration::from_mins(59)));
    resolver.restore("b.example", &restored(STALE));
    assert_eq!(resolve(&resolver, "a.example").await, "93.184.216.1");
    assert_eq!(resolve(&resolver, "b.example").await, "93.184.216.2");
    advance_seconds(1).await;
    assert_eq!(resolve(&resolver, "a.example").await, "93.184.216.2");
}

#[tokio::test(start_paused = true)]
async fn prefetching_fills_the_cache_and_takes_at_most_half_of_the_slots() {
    let resolver = resolver(|options| options.dns_concurrency = 10);
    for n in 0..50 {
        let name = format!("{n}.example");
        resolver.servers.set_answer(&name, public_answer(1));
        resolver.prefetch(&name);
        resolver.prefetch(&name);
        resolver.prefetch(&format!("{name}."));
    }
    for not_a_name in ["", "[::1]", "127.0.0.1", "-..-", &"x".repeat(300)] {
        resolver.prefetch(not_a_name);
    }
    let begun = Instant::now();
    assert_eq!(resolve(&resolver, "40.example").await, "93.184.216.1");
    assert_eq!(begun.elapsed(), LATENCY, "the other half is free");
    let mut queries = resolver.servers.take_queries();
    queries.sort();
    assert_eq!(
        queries,
        [
            "0.example",
            "1.example",
            "2.example",
            "3.example",
            "4.example",
            "40.example"
        ]
    );
    assert_eq!(resolve(&resolver, "3.example").await, "93.184.216.1");
    resolver.prefetch("3.example");
    resolver.prefetch("7.example");
    assert_eq!(resolve(&resolver, "7.example").await, "93.184.216.1");
    assert_eq!(
        resolver.servers.take_queries(),
        ["7.example"],
        "the call joined the look-up in flight"
    );
    advance_seconds(1).await;
    assert_eq!(resolver.slots.available_permits(), 10);
}

/// Limits the cost of a link to a cached name. In an optimised build it is far below a microsecond.
#[tokio::test]
async fn prefetching_a_cached_name_is_cheap() {
    let resolver = resolver(|_| {});
    for n in 0..10_000 {
        let resolved = Resolved {
            addresses: vec![address(1)],
            expires_ms: i64::MAX,
        };
        resolver.restore(&format!("www.site-{n}.example"), &resolved);
    }
    let names: Vec<String> = (0..10_000)
        .map(|n| format!("www.site-{n}.example"))
        .collect();
    let best = (0..5)
        .map(|_| {
            let begun = std::time::Instant::now();
            for name in &names {
                resolver.prefetch(name);
            }
            begun.elapsed() / 10_000
        })
        .min();
    let best = best.expect("five measurements");
    eprintln!("{best:?} for a cached name");
    assert!(best < Duration::from_micros(10), "{best:?}");
    assert!(resolver.servers.take_queries().is_empty());
}

/// Makes the servers unreachable and queries names until the circuit breaker opens.
async fn open_breaker(resolver: &Arc<Resolver<ScriptedServers>>) {
    resolver.servers.set_unreachable(true);
    for n in 0..circuit_breaker::MIN_QUERIES {
        assert_eq!(resolver.outage_since(), None);
        let name = format!("{n}.down.example");
        let result = timeout(LATENCY * 2, resolve(resolver, &name)).await;
        // All look-ups end, except the one that opens the breaker, which waits.
        assert_eq!(result.is_err(), resolver.outage_since().is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn lookups_wait_while_the_breaker_is_open_and_then_continue() {
    let resolver = resolver(|options| options.dns_concurrency = 8);
    for n in 0..100 {
        resolver
            .servers
            .set_answer(&format!("{n}.example"), public_answer(1));
    }
    let known = Resolved {
        addresses: vec![address(1)],
        expires_ms: resolver.clock.now_ms() + 1000,
    };
    resolver.restore("0.example", &known);
    let mut watch = resolver.watch_outage();
    let begun = Instant::now();
    open_breaker(&resolver).await;
    let since = resolver.outage_since().expect("the breaker is open");
    assert!(since > begun);
    assert_eq!(*watch.borrow_and_update(), Some(since));
    resolver.servers.take_queries();
    assert_eq!(
        resolve(&resolver, "0.example").await,
        "93.184.216.1",
        "cached answers are returned, fresh or stale"
    );
    let lookups: Vec<_> = (0..100)
        .map(|n| {
            let resolver = resolver.clone();
            tokio::spawn(async move { resolve(&resolver, &format!("{n}.example")).await })
        })
        .collect();
    resolver.prefetch("99.example");
    advance_seconds(70).await;
    let queries = resolver.servers.take_queries();
    assert_eq!(
        queries.len(),
        6,
        "probes after 1, 3, 7, 15, 31, 61 s: {queries:?}"
    );
    assert_eq!(
        resolver.slots.available_permits(),
        8,
        "a waiting look-up holds no slot"
    );
    assert!(lookups[1..].iter().all(|lookup| !lookup.is_finished()));
    for lookup in &lookups[90..] {
        lookup.abort();
    }
    resolver.servers.set_unreachable(false);
    let closed = tokio::time::timeout(Duration::from_secs(31), watch.changed());
    closed
        .await
        .expect("a probe within 31 seconds")
        .expect("the resolver exists");
    assert_eq!(
        (resolver.outage_since(), *watch.borrow_and_update()),
        (None, None)
    );
    for lookup in lookups.into_iter().take(90) {
        assert_eq!(
            lookup.await.expect("the task is not cancelled"),
            "93.184.216.1"
        );
    }
    assert!(resolver.servers.max_in_flight.load(Ordering::Relaxed) <= 8);
    let mut queries = resolver.servers.take_queries();
    queries.sort();
    queries.dedup();
    assert_eq!(queries.len(), 89, "each name once, cancelled ones never");
    assert!(!resolver.in_flight.contains("95.example"));
}

/// A failure from before an outage must not stay in the cache. Otherwise it would be returned during the outage, and
/// the crawl would give up the site. In this test two queries end at the same time: the last one before the outage, and
/// the one that opens the breaker.
#[test]
fn failures_from_before_an_outage_are_removed_from_the_cache() {
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_time().build().expect("the runtime starts")
    };
    for round in 0..20 {
        let resolver = resolver(|_| {});
        resolver.servers.set_unreachable(true);
        let name = |n: usize| format!("{n}.down.example");
        let resolve = &async |n: usize| resolver.resolve(&name(n)).await;
        let before = (2..circuit_breaker::MIN_QUERIES).map(resolve);
        runtime().block_on(futures_util::future::join_all(before));
        // The test closes this semaphore to cancel the look-ups.
        let cancel = &tokio::sync::Semaphore::new(0);
        std::thread::scope(|threads| {
            let last = [0, 1].map(|n| {
                threads.spawn(move || {
                    runtime().block_on(async {
                        tokio::select! {
                            _ = resolve(n) => {}
                            _ = cancel.acquire() => {}
                        }
                    });
                })
            });
            // Wait until both threads have sent their queries. On a busy machine, the first query may have ended by
            // then.
            while lock(&resolver.servers.queries).len() < circuit_breaker::MIN_QUERIES {
                std::thread::yield_now();
            }
            let cache = lock(&resolver.cache);
            while resolver.outage_since().is_none() {
                std::thread::yield_now();
            }
            drop(cache);
            let finished = || last.iter().filter(|lookup| lookup.is_finished()).count();
            while finished() + resolver.breaker.waiting() < 2 {
                std::thread::yield_now();
            }
            cancel.close();
        });
        let now_ms = resolver.clock.now_ms();
        let kept = |n: &usize| lock(&resolver.cache).contains(&name(*n), now_ms);
        let kept: Vec<_> = (0..circuit_breaker::MIN_QUERIES).filter(kept).collect();
        assert!(kept.is_empty(), "round {round}: {kept:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_outage_ends_even_if_no_lookup_waits() {
    let resolver = resolver(|_| {});
    open_breaker(&resolver).await;
    assert!(resolver.outage_since().is_some());
    advance_seconds(1000).await;
    assert!(resolver.outage_since().is_some());
    resolver.servers.set_unreachable(false);
    advance_seconds(31).await;
    assert_eq!(resolver.outage_since(), None);
    let weak = Arc::downgrade(&resolver);
    drop(resolver);
    advance_seconds(60).await;
    assert!(weak.upgrade().is_none(), "no task keeps the resolver alive");
}

/// The names of a domain whose own servers are dead delay other names by one probe at most.
#[tokio::test(start_paused = true)]
async fn a_dead_domain_delays_other_names_by_one_probe() {
    let resolver = resolver(|options| options.dns_concurrency = 100);
    for n in 0..60 {
        resolver
            .servers
            .set_answer(&format!("{n}.dead.example"), Some(ScriptedAnswer::Silence));
        resolver.prefetch(&format!("{n}.dead.example"));
    }
    sleep(Duration::from_millis(10_100)).await;
    assert!(resolver.outage_since().is_some());
    resolver
        .servers
        .set_answer("good.example", public_answer(1));
    let begun = Instant::now();
    assert_eq!(resolve(&resolver, "good.example").await, "93.184.216.1");
    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "{:?}",
        begun.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn the_breaker_can_be_disabled_and_nxdomain_counts_as_an_answer() {
    for share in [0.0, 0.9] {
        let resolver = resolver(|options| options.dns_breaker = share);
        for n in 0..200 {
            assert_eq!(
                resolve(&resolver, &format!("{n}.example")).await,
                "dns-not-found"
            );
        }
        assert_eq!(resolver.outage_since(), None);
    }
    let resolver = resolver(|options| options.dns_breaker = 0.0);
    resolver.servers.set_unreachable(true);
    for n in 0..200 {
        assert_eq!(
            resolve(&resolver, &format!("{n}.example")).await,
            "dns-failed"
        );
    }
    assert_eq!(resolver.outage_since(), None);
}

#[derive(Clone, Debug)]
enum ResolverOperation {
    SetAnswer(u8, Option<ScriptedAnswer>),
    Resolve(u8),
    Prefetch(u8),
    Restore(u8, Vec<IpAddr>, i64),
    Advance(u64),
    SetUnreachable(bool),
}

fn addresses() -> impl Strategy<Value = Vec<IpAddr>> {
    let v4 = prop_oneof![Just([10, 0, 0, 1]), Just([127, 9, 9, 9]), any::<[u8; 4]>()];
    let one = prop_oneof![
        3 => v4.prop_map(IpAddr::from),
        1 => any::<[u8; 16]>().prop_map(IpAddr::from),
        1 => any::<u8>().prop_map(address),
    ];
    prop::collection::vec(one, 1..30)
}

fn operation() -> impl Strategy<Value = ResolverOperation> {
    let answer = prop_oneof![
        4 => addresses().prop_map(|addresses| Some(ScriptedAnswer::Addresses(addresses))),
        1 => Just(Some(ScriptedAnswer::ServFail)),
        1 => Just(Some(ScriptedAnswer::Silence)),
        1 => Just(None),
    ];
    prop_oneof![
        4 => (0_u8..12, answer).prop_map(|(name, answer)| ResolverOperation::SetAnswer(name, answer)),
        6 => (0_u8..12).prop_map(ResolverOperation::Resolve),
        2 => (0_u8..12).prop_map(ResolverOperation::Prefetch),
        2 => (0_u8..12, addresses(), -4_000_000..600_000_i64)
            .prop_map(|(name, list, life)| ResolverOperation::Restore(name, list, life)),
        3 => (0_u64..2500).prop_map(ResolverOperation::Advance),
        1 => any::<bool>().prop_map(ResolverOperation::SetUnreachable),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    /// After any sequence of operations, no refused address is returned. The age of a returned address, which is the
    /// time since the servers' answer last contained it, is at most the TTL plus the stale period. Every look-up ends
    /// in time, unless it waits for the end of an outage.
    #[test]
    fn returned_addresses_are_public_and_recent(operations in prop::collection::vec(operation(), 0..80)) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("the runtime starts");
        runtime.block_on(async {
            let resolver = resolver(|options| options.dns_cache = 8);
            // For each name and address, the last time at which the servers' answer for the name contained the address.
            let mut last_valid: HashMap<(String, IpAddr), i64> = HashMap::new();
            let update = |last_valid: &mut HashMap<(String, IpAddr), i64>, now: i64| {
                for (name, answer) in &*lock(&resolver.servers.answers) {
                    if let ScriptedAnswer::Addresses(list) = answer {
                        last_valid.extend(list.iter().map(|address| ((name.clone(), *address), now)));
                    }
                }
            };
            for operation in operations {
                update(&mut last_valid, resolver.clock.now_ms());
                let name = |n: u8| format!("n{n}.example{}", n % 3);
                match operation {
                    ResolverOperation::SetAnswer(n, answer) => resolver.servers.set_answer(&name(n), answer),
                    ResolverOperation::Prefetch(n) => { let _ = resolver.prefetch(&name(n)); },
                    ResolverOperation::SetUnreachable(unreachable) => resolver.servers.set_unreachable(unreachable),
                    ResolverOperation::Advance(seconds) => advance_seconds(seconds).await,
                    ResolverOperation::Restore(n, addresses, life) => {
                        let expires_ms = resolver.clock.now_ms() + life;
                        let answered_ms = expires_ms - millis(TTL);
                        for address in &addresses {
                            let latest = last_valid.entry((name(n), *address)).or_insert(answered_ms);
                            *latest = answered_ms.max(*latest);
                        }
                        resolver.restore(&name(n), &Resolved { addresses, expires_ms });
                    }
                    ResolverOperation::Resolve(n) => {
                        let name = name(n);
                        let pending = timeout(Duration::from_secs(11), resolver.resolve(&name));
                        let Ok(result) = pending.await else {
                            assert!(resolver.outage_since().is_some(), "only an outage makes it wait");
                            continue;
                        };
                        update(&mut last_valid, resolver.clock.now_ms());
                        let Ok(resolved) = result else { continue };
                        assert!(!resolved.addresses.is_empty());
                        for address in resolved.addresses {
                            assert!(AddressGuard::is_public(address), "{address}");
                            let age = resolver.clock.now_ms() - last_valid[&(name.clone(), address)];
                            assert!(age <= millis(TTL + STALE), "{address} is {age} ms old");
                        }
                    }
                }
            }
        });
    }
}
