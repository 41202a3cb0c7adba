//! Tests that the lab finds courtesy violations in its log. Simple clients send the requests.

#![expect(clippy::unwrap_used, reason = "an error fails the test")]

mod client;

use std::time::{Duration, Instant};

use aranha_lab::{CourtesyScope, Lab, Latency, Plan};
use client::Client;
use tokio::time::{sleep, timeout};

const PAUSE: Duration = Duration::from_millis(60);

fn seed_host(lab: &Lab, seed: usize) -> String {
    lab.seeds()[seed]
        .split(['/', ':'])
        .nth(3)
        .unwrap()
        .to_owned()
}

async fn get(lab: &Lab, host: &str) {
    Client::to(lab, host).await.get(host, "/logo.png", "").await;
}

#[tokio::test]
async fn requests_that_keep_the_pause_are_not_violations() {
    let lab = Lab::start(Plan::small(1)).await.unwrap();
    let host = seed_host(&lab, 0);
    for _ in 0..3 {
        get(&lab, &host).await;
        sleep(PAUSE).await; // the pause under test
    }
    assert_eq!(lab.count(), 3);
    assert_eq!(lab.violations(PAUSE), []);
    assert_eq!(
        lab.violations(PAUSE * 20).len(),
        4,
        "two pairs of requests, each found by site and by address"
    );
}

#[tokio::test]
async fn violations_are_found_by_site_and_by_address() {
    let lab = Lab::start(Plan {
        addresses: 2,
        ..Plan::small(1)
    })
    .await
    .unwrap();
    let hosts: Vec<String> = (0..3).map(|n| seed_host(&lab, n)).collect();
    let at = |host: &String| lab.web().address(host).unwrap();
    let (one, other) = hosts
        .iter()
        .flat_map(|a| hosts.iter().map(move |b| (a, b)))
        .find(|(a, b)| a != b && at(a) == at(b))
        .expect("two of three sites share one of two addresses");
    get(&lab, one).await;
    get(&lab, other).await;
    let found = lab.violations(PAUSE);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].scope, CourtesyScope::Address(at(one).into()));
    assert_eq!((&found[0].first.host, &found[0].second.host), (one, other));
    assert!(found[0].gap < PAUSE);
    lab.clear();
    assert_eq!((lab.count(), lab.log().len()), (0, 0));
    get(&lab, one).await;
    get(&lab, one).await;
    let scopes: Vec<_> = lab.violations(PAUSE).into_iter().map(|v| v.scope).collect();
    let site = one.strip_prefix("www.").unwrap_or(one).to_owned();
    assert_eq!(
        scopes,
        [
            CourtesyScope::Site(site),
            CourtesyScope::Address(at(one).into())
        ]
    );
}

#[tokio::test]
async fn twins_are_one_site() {
    let lab = Lab::start(Plan {
        addresses: 12,
        ..Plan::small(1)
    })
    .await
    .unwrap();
    let bare = (0..12)
        .map(|n| format!("site{n:03}.lab"))
        .find(|bare| {
            let address = |name: &str| lab.web().address(name);
            address(bare).is_some() && address(&format!("www.{bare}")).is_some()
        })
        .unwrap();
    get(&lab, &bare).await;
    get(&lab, &format!("www.{bare}")).await;
    let scopes: Vec<_> = lab.violations(PAUSE).into_iter().map(|v| v.scope).collect();
    assert!(scopes.contains(&CourtesyScope::Site(bare)), "{scopes:?}");
}

#[tokio::test]
async fn latency_starts_at_the_request_and_the_pause_at_the_response() {
    let least = Duration::from_millis(80);
    let latency = Latency { least, most: least };
    let lab = Lab::start(Plan {
        latency,
        ..Plan::small(1)
    })
    .await
    .unwrap();
    let host = seed_host(&lab, 0);
    let before = Instant::now();
    get(&lab, &host).await;
    get(&lab, &host).await;
    let log = lab.log_since(before);
    assert_eq!(log.len(), 2);
    assert!(log[0].ended - log[0].started >= latency.least);
    assert_eq!(log[0].agent, "labtest/1");
    assert_eq!(
        (log[0].path.as_str(), log[0].status, log[0].complete),
        ("/logo.png", 200, true)
    );
    let gap = lab.violations(latency.least)[0].gap;
    assert!(
        gap < latency.least,
        "{gap:?} from the response, not from the request"
    );
    assert!(lab.log_since(Instant::now()).is_empty());
}

#[tokio::test]
async fn concurrent_requests_overlap() {
    let latency = Duration::from_millis(150);
    let latency = Latency {
        least: latency,
        most: latency,
    };
    let lab = Lab::start(Plan {
        latency,
        ..Plan::small(1)
    })
    .await
    .unwrap();
    let host = seed_host(&lab, 0);
    tokio::join!(get(&lab, &host), get(&lab, &host));
    let found = lab.violations(Duration::from_millis(1));
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].gap, Duration::ZERO);
}

#[tokio::test]
async fn a_disconnected_client_is_logged_without_a_response() {
    let latency = Duration::from_secs(100);
    let latency = Latency {
        least: latency,
        most: latency,
    };
    let lab = Lab::start(Plan {
        latency,
        ..Plan::small(1)
    })
    .await
    .unwrap();
    let host = seed_host(&lab, 0);
    let mut client = Client::to(&lab, &host).await;
    client.ask(&host, "/", "").await;
    drop(client);
    timeout(Duration::from_secs(5), lab.wait_for_requests(1))
        .await
        .expect("the server should notice the disconnected client");
    let log = lab.log();
    assert_eq!(
        (log[0].status, log[0].bytes, log[0].complete),
        (0, 0, false)
    );
    assert_eq!(log[0].started, log[0].ended);
}

#[tokio::test]
async fn wait_for_requests_returns_at_the_number_of_requests() {
    let lab = Lab::start(Plan::small(1)).await.unwrap();
    let host = seed_host(&lab, 0);
    let wait = timeout(Duration::from_secs(5), lab.wait_for_requests(2));
    let ask = async {
        get(&lab, &host).await;
        get(&lab, &host).await;
    };
    let (waited, ()) = tokio::join!(wait, ask);
    waited.expect("two requests should be answered");
    assert!(
        timeout(Duration::from_millis(10), lab.wait_for_requests(3))
            .await
            .is_err()
    );
}
