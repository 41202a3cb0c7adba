//! The resolver against a script instead of servers, under a paused clock: outages of days take no time.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicUsize, Ordering},
};

use aranha_url::Blacklist;
use proptest::prelude::*;
use tokio::time::advance;

use super::*;

/// What a name has, and for how long; no entry: it does not exist.
#[derive(Clone, Debug)]
enum Said {
    Addresses(Vec<IpAddr>),
    ServFail,
    Silence,
}

/// Servers that say what they are told to, after a while.
#[derive(Default)]
struct Script {
    names: Mutex<HashMap<String, Said>>,
    /// No server answers anything.
    away: Mutex<bool>,
    heard: Mutex<Vec<String>>,
    under_way: AtomicUsize,
    most: AtomicUsize,
}

const LATENCY: Duration = Duration::from_millis(20);
const TTL: Duration = Duration::from_mins(10);
const STALE: Duration = Duration::from_hours(1);

impl Script {
    fn say(&self, name: &str, said: Option<Said>) {
        let mut names = lock(&self.names);
        match said {
            Some(said) => names.insert(name.to_owned(), said),
            None => names.remove(name),
        };
    }

    fn set_away(&self, away: bool) {
        *lock(&self.away) = away;
    }

    fn take_heard(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.heard))
    }
}

impl Ask for Script {
    async fn ask(&self, name: &str) -> Found {
        struct Leave<'a>(&'a AtomicUsize);
        impl Drop for Leave<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        let under_way = self.under_way.fetch_add(1, Ordering::Relaxed) + 1;
        let _leave = Leave(&self.under_way);
        self.most.fetch_max(under_way, Ordering::Relaxed);
        lock(&self.heard).push(name.to_owned());
        sleep(LATENCY).await;
        let away = *lock(&self.away);
        let said = lock(&self.names).get(name).cloned();
        let outcome = match said {
            _ if away => Err(Failure::DnsFailed("unreachable".to_owned())),
            None => Err(Failure::DnsNotFound),
            Some(Said::ServFail) => Err(Failure::DnsFailed("Server Failure".to_owned())),
            Some(Said::Silence) => std::future::pending().await,
            Some(Said::Addresses(addresses)) => Ok(addresses),
        };
        Found { outcome, ttl: TTL }
    }
}

fn resolver(change: impl FnOnce(&mut Options)) -> Arc<Resolver<Script>> {
    let mut options = Options {
        dns_ttl_min: Duration::from_mins(5),
        dns_stale: STALE,
        ..Options::default()
    };
    change(&mut options);
    let guard = Guard::new(options.allow_private, Blacklist::default());
    Arc::new(Resolver::new(
        Script::default(),
        &options,
        Arc::new(guard),
        Clock::new(),
    ))
}

fn address(last: u8) -> IpAddr {
    [93, 184, 216, last].into()
}

#[expect(clippy::unnecessary_wraps, reason = "what a script takes")]
fn public(last: u8) -> Option<Said> {
    Some(Said::Addresses(vec![address(last)]))
}

/// The one address, or the failure's code. A paused clock never stands still: what waits for ever must fail.
async fn ask(resolver: &Arc<Resolver<Script>>, name: &str) -> String {
    let asked = timeout(Duration::from_hours(1), resolver.resolve(name)).await;
    match asked.expect("an end") {
        Ok(resolved) => resolved.addresses[0].to_string(),
        Err(failure) => failure.code().to_owned(),
    }
}

/// Lets everything happen that happens within this time.
async fn pass(seconds: u64) {
    sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn a_stale_answer_is_served_at_once_and_refreshed_beside() {
    let resolver = resolver(|_| {});
    resolver.servers.say("a.example", public(1));
    assert_eq!(ask(&resolver, "a.example").await, "93.184.216.1");
    resolver.servers.say("a.example", public(2));
    advance(TTL).await;
    resolver.servers.take_heard();
    let begun = Instant::now();
    for _ in 0..5 {
        assert_eq!(ask(&resolver, "a.example").await, "93.184.216.1");
    }
    assert_eq!(begun.elapsed(), Duration::ZERO, "nobody waited");
    pass(1).await;
    assert_eq!(resolver.servers.take_heard(), ["a.example"], "one refresh");
    assert_eq!(ask(&resolver, "a.example").await, "93.184.216.2");
    advance(TTL + STALE).await;
    resolver.servers.say("a.example", public(3));
    assert_eq!(
        ask(&resolver, "a.example").await,
        "93.184.216.3",
        "too old to be of use: waited for"
    );
}

#[tokio::test(start_paused = true)]
async fn a_refresh_that_fails_keeps_the_answer_and_one_that_finds_no_name_removes_it() {
    let resolver = resolver(|options| options.dns_stale = Duration::from_hours(24));
    resolver.servers.say("a.example", public(1));
    ask(&resolver, "a.example").await;
    resolver.servers.say("a.example", Some(Said::ServFail));
    advance(TTL).await;
    resolver.servers.take_heard();
    for _ in 0..3600 {
        assert_eq!(ask(&resolver, "a.example").await, "93.184.216.1");
        pass(1).await;
    }
    let refreshes = resolver.servers.take_heard().len();
    assert!(
        (7..=8).contains(&refreshes),
        "{refreshes} in an hour: 30 s, 1 min, 2 min and so on"
    );
    resolver.servers.say("a.example", None);
    pass(3600).await;
    assert_eq!(ask(&resolver, "a.example").await, "93.184.216.1");
    pass(1).await;
    assert_eq!(ask(&resolver, "a.example").await, "dns-not-found");
}

/// Rebinding: whatever way an address comes in, the guard stands at the way out.
#[tokio::test(start_paused = true)]
async fn the_guard_judges_each_answer_given_out() {
    let resolver = resolver(|_| {});
    resolver.servers.say("a.example", public(1));
    ask(&resolver, "a.example").await;
    let inside = Some(Said::Addresses(vec![[127, 0, 0, 1].into()]));
    resolver.servers.say("a.example", inside);
    advance(TTL).await;
    assert_eq!(ask(&resolver, "a.example").await, "93.184.216.1");
    pass(1).await;
    assert_eq!(ask(&resolver, "a.example").await, "address-refused");
    let mixed = Resolved {
        addresses: vec![
            [169, 254, 169, 254].into(),
            address(4),
            [10, 0, 0, 1].into(),
        ],
        expires_ms: resolver.clock.now_ms() - 1,
    };
    resolver.restore("b.example", &mixed);
    let given = resolver.resolve("b.example").await.expect("one passes");
    assert_eq!(given.addresses, [address(4)]);
}

#[tokio::test(start_paused = true)]
async fn memories_past_their_time_are_stale() {
    let resolver = resolver(|_| {});
    let kept = |age: Duration| Resolved {
        addresses: vec![address(1)],
        expires_ms: resolver.clock.now_ms() - millis(age),
    };
    resolver.servers.say("a.example", public(2));
    resolver.servers.say("b.example", public(2));
    resolver.restore("a.example", &kept(Duration::from_mins(59)));
    resolver.restore("b.example", &kept(STALE));
    assert_eq!(ask(&resolver, "a.example").await, "93.184.216.1");
    assert_eq!(ask(&resolver, "b.example").await, "93.184.216.2");
    pass(1).await;
    assert_eq!(ask(&resolver, "a.example").await, "93.184.216.2");
}

#[tokio::test(start_paused = true)]
async fn prefetched_names_are_there_and_take_half_the_slots() {
    let resolver = resolver(|options| options.dns_concurrency = 10);
    for n in 0..50 {
        let name = format!("{n}.example");
        resolver.servers.say(&name, public(1));
        resolver.prefetch(&name);
        resolver.prefetch(&name);
        resolver.prefetch(&format!("{name}."));
    }
    for nothing in ["", "[::1]", "127.0.0.1", "-..-", &"x".repeat(300)] {
        resolver.prefetch(nothing);
    }
    let begun = Instant::now();
    assert_eq!(ask(&resolver, "40.example").await, "93.184.216.1");
    assert_eq!(begun.elapsed(), LATENCY, "the other half is free");
    let mut heard = resolver.servers.take_heard();
    heard.sort();
    assert_eq!(
        heard,
        [
            "0.example",
            "1.example",
            "2.example",
            "3.example",
            "4.example",
            "40.example"
        ]
    );
    assert_eq!(ask(&resolver, "3.example").await, "93.184.216.1");
    resolver.prefetch("3.example");
    resolver.prefetch("7.example");
    assert_eq!(ask(&resolver, "7.example").await, "93.184.216.1");
    assert_eq!(
        resolver.servers.take_heard(),
        ["7.example"],
        "joined, not repeated"
    );
    pass(1).await;
    assert_eq!(resolver.slots.available_permits(), 10);
}

/// The price for a link to a name that is known: far below a microsecond when optimised.
#[tokio::test]
async fn prefetching_a_known_name_is_cheap() {
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
    let best = best.expect("five runs");
    eprintln!("{best:?} for a known name");
    assert!(best < Duration::from_micros(10), "{best:?}");
    assert!(resolver.servers.take_heard().is_empty());
}

/// Asks names until they are down.
async fn bring_down(resolver: &Arc<Resolver<Script>>) {
    resolver.servers.set_away(true);
    for n in 0..breaker::LEAST {
        assert_eq!(resolver.down(), None);
        let name = format!("{n}.down.example");
        let asked = timeout(LATENCY * 2, ask(resolver, &name)).await;
        // The one that brings them down waits with the others.
        assert_eq!(asked.is_err(), resolver.down().is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn when_names_are_down_questions_wait_and_go_on_by_themselves() {
    let resolver = resolver(|options| options.dns_concurrency = 8);
    for n in 0..100 {
        resolver.servers.say(&format!("{n}.example"), public(1));
    }
    let known = Resolved {
        addresses: vec![address(1)],
        expires_ms: resolver.clock.now_ms() + 1000,
    };
    resolver.restore("0.example", &known);
    let mut watch = resolver.watch_down();
    let begun = Instant::now();
    bring_down(&resolver).await;
    let since = resolver.down().expect("down");
    assert!(since > begun);
    assert_eq!(*watch.borrow_and_update(), Some(since));
    resolver.servers.take_heard();
    assert_eq!(
        ask(&resolver, "0.example").await,
        "93.184.216.1",
        "what is cached is served, stale or not"
    );
    let askers: Vec<_> = (0..100)
        .map(|n| {
            let resolver = resolver.clone();
            tokio::spawn(async move { ask(&resolver, &format!("{n}.example")).await })
        })
        .collect();
    resolver.prefetch("99.example");
    pass(70).await;
    let heard = resolver.servers.take_heard();
    assert_eq!(
        heard.len(),
        6,
        "probes after 1, 3, 7, 15, 31, 61 s: {heard:?}"
    );
    assert_eq!(
        resolver.slots.available_permits(),
        8,
        "who waits holds no slot"
    );
    assert!(askers[1..].iter().all(|asker| !asker.is_finished()));
    for asker in &askers[90..] {
        asker.abort();
    }
    resolver.servers.set_away(false);
    let back = tokio::time::timeout(Duration::from_secs(31), watch.changed());
    back.await
        .expect("a probe in time")
        .expect("the sender lives");
    assert_eq!((resolver.down(), *watch.borrow_and_update()), (None, None));
    for asker in askers.into_iter().take(90) {
        assert_eq!(asker.await.expect("not cancelled"), "93.184.216.1");
    }
    assert!(resolver.servers.most.load(Ordering::Relaxed) <= 8);
    let mut heard = resolver.servers.take_heard();
    heard.sort();
    heard.dedup();
    assert_eq!(heard.len(), 89, "each once, the cancelled ones not at all");
    assert!(!resolver.questions.contains("95.example"));
}

/// A failure that outlived the outage's beginning in the cache would be told again and again while names are down, and
/// the site be given up. Two questions end at once here: the last one before the outage, and the one that begins it.
#[test]
fn no_failure_is_kept_from_before_the_outage() {
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_time().build().expect("starts")
    };
    for round in 0..20 {
        let resolver = resolver(|_| {});
        resolver.servers.set_away(true);
        let name = |n: usize| format!("{n}.down.example");
        let ask = &async |n: usize| resolver.resolve(&name(n)).await;
        let before = (2..breaker::LEAST).map(ask);
        runtime().block_on(futures_util::future::join_all(before));
        let enough = &tokio::sync::Semaphore::new(0);
        std::thread::scope(|threads| {
            let last = [0, 1].map(|n| {
                threads.spawn(move || {
                    runtime().block_on(async {
                        tokio::select! {
                            _ = ask(n) => {}
                            _ = enough.acquire() => {}
                        }
                    });
                })
            });
            while resolver.servers.under_way.load(Ordering::Relaxed) < 2 {
                std::thread::yield_now();
            }
            let held = lock(&resolver.cache);
            while resolver.down().is_none() {
                std::thread::yield_now();
            }
            drop(held);
            let told = || last.iter().filter(|asked| asked.is_finished()).count();
            while told() + resolver.breaker.waiting() < 2 {
                std::thread::yield_now();
            }
            enough.close();
        });
        let now_ms = resolver.clock.now_ms();
        let kept = |n: &usize| lock(&resolver.cache).knows(&name(*n), now_ms);
        let kept: Vec<_> = (0..breaker::LEAST).filter(kept).collect();
        assert!(kept.is_empty(), "round {round}: {kept:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_outage_ends_though_nobody_waits() {
    let resolver = resolver(|_| {});
    bring_down(&resolver).await;
    assert!(resolver.down().is_some());
    pass(1000).await;
    assert!(resolver.down().is_some());
    resolver.servers.set_away(false);
    pass(31).await;
    assert_eq!(resolver.down(), None);
    let held = Arc::downgrade(&resolver);
    drop(resolver);
    pass(60).await;
    assert!(held.upgrade().is_none(), "no task holds on to it");
}

/// Names under domains whose own servers are dead do not hold up the others for longer than a probe.
#[tokio::test(start_paused = true)]
async fn one_dead_domain_is_found_out_by_the_first_probe() {
    let resolver = resolver(|options| options.dns_concurrency = 100);
    for n in 0..60 {
        resolver
            .servers
            .say(&format!("{n}.dead.example"), Some(Said::Silence));
        resolver.prefetch(&format!("{n}.dead.example"));
    }
    sleep(Duration::from_millis(10_100)).await;
    assert!(resolver.down().is_some());
    resolver.servers.say("good.example", public(1));
    let begun = Instant::now();
    assert_eq!(ask(&resolver, "good.example").await, "93.184.216.1");
    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "{:?}",
        begun.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn the_breaker_can_be_off_and_missing_names_are_answers() {
    for share in [0.0, 0.9] {
        let resolver = resolver(|options| options.dns_breaker = share);
        for n in 0..200 {
            assert_eq!(
                ask(&resolver, &format!("{n}.example")).await,
                "dns-not-found"
            );
        }
        assert_eq!(resolver.down(), None);
    }
    let resolver = resolver(|options| options.dns_breaker = 0.0);
    resolver.servers.set_away(true);
    for n in 0..200 {
        assert_eq!(ask(&resolver, &format!("{n}.example")).await, "dns-failed");
    }
    assert_eq!(resolver.down(), None);
}

#[derive(Clone, Debug)]
enum Act {
    Say(u8, Option<Said>),
    Resolve(u8),
    Prefetch(u8),
    Restore(u8, Vec<IpAddr>, i64),
    Pass(u64),
    Away(bool),
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

fn act() -> impl Strategy<Value = Act> {
    let said = prop_oneof![
        4 => addresses().prop_map(|addresses| Some(Said::Addresses(addresses))),
        1 => Just(Some(Said::ServFail)),
        1 => Just(Some(Said::Silence)),
        1 => Just(None),
    ];
    prop_oneof![
        4 => (0_u8..12, said).prop_map(|(name, said)| Act::Say(name, said)),
        6 => (0_u8..12).prop_map(Act::Resolve),
        2 => (0_u8..12).prop_map(Act::Prefetch),
        2 => (0_u8..12, addresses(), -4_000_000..600_000_i64)
            .prop_map(|(name, list, life)| Act::Restore(name, list, life)),
        3 => (0_u64..2500).prop_map(Act::Pass),
        1 => any::<bool>().prop_map(Act::Away),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    /// Whatever servers, memories and time do: no refused address, none that was not said within the time of its life
    /// and its second life, and every question that is not waiting for an outage to end ends in time.
    #[test]
    fn any_history(acts in prop::collection::vec(act(), 0..80)) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let resolver = resolver(|options| options.dns_cache = 8);
            // By name: when each address was last true.
            let mut truth: HashMap<(String, IpAddr), i64> = HashMap::new();
            let believe = |truth: &mut HashMap<(String, IpAddr), i64>, now: i64| {
                for (name, said) in &*lock(&resolver.servers.names) {
                    if let Said::Addresses(list) = said {
                        truth.extend(list.iter().map(|address| ((name.clone(), *address), now)));
                    }
                }
            };
            for act in acts {
                believe(&mut truth, resolver.clock.now_ms());
                let name = |n: u8| format!("n{n}.example{}", n % 3);
                match act {
                    Act::Say(n, said) => resolver.servers.say(&name(n), said),
                    Act::Prefetch(n) => resolver.prefetch(&name(n)),
                    Act::Away(away) => resolver.servers.set_away(away),
                    Act::Pass(seconds) => pass(seconds).await,
                    Act::Restore(n, addresses, life) => {
                        let expires_ms = resolver.clock.now_ms() + life;
                        let said_ms = expires_ms - millis(TTL);
                        for address in &addresses {
                            let known = truth.entry((name(n), *address)).or_insert(said_ms);
                            *known = said_ms.max(*known);
                        }
                        resolver.restore(&name(n), &Resolved { addresses, expires_ms });
                    }
                    Act::Resolve(n) => {
                        let name = name(n);
                        let asked = timeout(Duration::from_secs(11), resolver.resolve(&name));
                        let Ok(outcome) = asked.await else {
                            assert!(resolver.down().is_some(), "only an outage lets it wait");
                            continue;
                        };
                        believe(&mut truth, resolver.clock.now_ms());
                        let Ok(resolved) = outcome else { continue };
                        assert!(!resolved.addresses.is_empty());
                        for address in resolved.addresses {
                            assert!(Guard::is_public(address), "{address}");
                            let said_ms = truth[&(name.clone(), address)];
                            let age = resolver.clock.now_ms() - said_ms;
                            assert!(age <= millis(TTL + STALE), "{address} is {age} ms old");
                        }
                    }
                }
            }
        });
    }
}
