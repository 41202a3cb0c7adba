//! Tests the totals of the log. A client first fetches all expected URLs and then violates the rules.

#![expect(clippy::unwrap_used, reason = "an error fails the test")]

mod client;

use std::time::Duration;

use aranha_lab::{Crawler, Group, Hazard, Lab, Plan};
use client::Client;
use tokio::net::TcpStream;

#[tokio::test]
async fn missing_pages_and_violations_are_counted() {
    let plan = Plan {
        hazards: vec![Hazard::Calendar, Hazard::Insider],
        ..Plan::small(1)
    };
    let lab = Lab::start(plan).await.unwrap();
    let truth = lab.truth(&Crawler::default());
    let mut others: Vec<&String> = truth.keys().collect();
    let last = others.pop().unwrap();
    for url in others {
        ask(&lab, url).await;
    }
    let tally = lab.tally(&Crawler::default(), Duration::ZERO);
    assert_eq!(tally.expected, truth.len());
    assert_eq!(&tally.missed, std::slice::from_ref(last));
    assert_eq!(tally.arrived, truth.len() - 1);
    assert_eq!((tally.hostile(), tally.trespasses), (0, 0));
    ask(&lab, last).await;
    let host = Hazard::Calendar.host();
    for target in ["/", "/month/1"] {
        Client::to(&lab, host).await.get(host, target, "").await;
    }
    let mut client = Client::to(&lab, host).await;
    assert_eq!(client.get("nobody.lab", "/", "").await.status, 404);
    let _ = TcpStream::connect(("127.166.0.2", lab.port())).await;
    while lab.trespasses().is_empty() {
        tokio::task::yield_now().await;
    }
    let tally = lab.tally(&Crawler::default(), Duration::from_hours(1));
    assert_eq!((tally.arrived, tally.missed.len()), (truth.len(), 0));
    assert_eq!((tally.group(Group::Trap), tally.hostile()), (2, 2));
    assert_eq!(tally.hazards[&Hazard::Calendar].requests, 2);
    assert!(tally.hazards[&Hazard::Calendar].bytes > 2000);
    assert_eq!((tally.trespasses, tally.unknown), (1, 1));
    assert_eq!(tally.honest + 3, tally.requests);
    assert!(tally.honest_time <= tally.time && tally.honest_time > Duration::ZERO);
    assert!(
        !tally.violations.is_empty(),
        "the pause of an hour was violated"
    );
}

/// Fetches a folded URL under both names of its site.
async fn ask(lab: &Lab, url: &str) {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, _) = rest.split_once(':').unwrap();
    let target = &rest[rest.find('/').unwrap()..];
    let twin = format!("www.{host}");
    for name in [host, &twin] {
        if lab.web().address(name).is_some() {
            Client::to(lab, name).await.get(name, target, "").await;
        }
    }
}
