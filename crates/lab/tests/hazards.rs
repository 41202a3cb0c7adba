//! Tests of the hazard table and of six hazards; `zoo/` tests the others.

#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

mod client;

use std::collections::BTreeSet;
use std::time::Duration;

use aranha_lab::{Crawler, Group, Hazard, Lab, Plan, Web};
use client::{Client, read};
use tokio::time::timeout;

async fn zoo() -> Lab {
    let plan = Plan {
        hazards: Hazard::ALL.to_vec(),
        ..Plan::small(1)
    };
    Lab::start(plan).await.unwrap()
}

async fn get(lab: &Lab, hazard: Hazard, target: &str) -> client::Response {
    let host = hazard.host();
    Client::to(lab, host).await.get(host, target, "").await
}

#[tokio::test]
async fn hazards_are_linked_and_have_their_own_addresses() {
    let lab = zoo().await;
    let mut links = Vec::new();
    for seed in lab.seeds() {
        let host = seed.split(['/', ':']).nth(3).unwrap();
        let home = Client::to(&lab, host).await.get(host, "/", "").await;
        links.extend(read(&home.text()).links);
    }
    let honest = Lab::start(Plan::small(1)).await.unwrap().web().addresses();
    for &hazard in Hazard::ALL {
        let address = lab.web().address(hazard.host()).unwrap();
        assert!(!honest.contains(&address), "{hazard:?}");
    }
    for home in lab.hazard_seeds() {
        assert!(links.contains(&home), "{home}");
    }
    assert_eq!(get(&lab, Hazard::Calendar, "/robots.txt").await.status, 404);
}

#[test]
fn the_expected_contents_exclude_hazards() {
    let plain = Web::new(Plan::large(40), 80);
    let zoo = Web::new(Plan::zoo(40, 150), 80);
    assert_eq!(zoo.plan().hazards.len(), 150);
    let crawler = Crawler::default();
    assert!(plain.truth(&crawler) == zoo.truth(&crawler));
    let names: BTreeSet<String> = zoo.hazard_seeds().into_iter().collect();
    assert_eq!(names.len(), 150, "each hazard has its own host name");
    assert!(names.contains("http://calendar2.lab:80/"));
    assert_eq!(zoo.address("calendar9.lab"), None);
}

#[test]
fn every_hazard_has_a_description_and_a_host() {
    let names: BTreeSet<&str> = Hazard::ALL.iter().map(|h| h.name()).collect();
    assert_eq!(names.len(), Hazard::ALL.len());
    for hazard in Hazard::ALL {
        assert!(hazard.description().ends_with('.'), "{hazard:?}");
        assert_eq!(hazard.host(), format!("{}.lab", hazard.name()));
    }
    let groups: BTreeSet<Group> = Hazard::ALL.iter().map(|h| h.group()).collect();
    assert_eq!(groups.len(), 5);
}

#[tokio::test]
async fn a_lab_without_hazards_has_no_hazard_hosts() {
    let lab = Lab::start(Plan::small(1)).await.unwrap();
    assert!(
        Hazard::ALL
            .iter()
            .all(|h| lab.web().address(h.host()).is_none())
    );
}

#[tokio::test]
async fn every_month_links_to_the_next() {
    let lab = zoo().await;
    let mut target = "/".to_owned();
    for _ in 0..10 {
        let got = get(&lab, Hazard::Calendar, &target).await;
        let next = read(&got.text()).links.pop().unwrap();
        assert_ne!(next, target);
        target = next;
    }
    assert_eq!(target, "/month/10");
}

#[tokio::test]
async fn redirect_loops_close() {
    let lab = zoo().await;
    let mut target = "/step/0".to_owned();
    for _ in 0..5 {
        let got = get(&lab, Hazard::Circle, &target).await;
        assert_eq!(got.status, 302);
        let location = got.header("location").unwrap();
        target = location[location.find("/step").unwrap()..].to_owned();
    }
    assert_eq!(target, "/step/0");
    let itself = get(&lab, Hazard::Circle, "/self").await;
    assert!(itself.header("location").unwrap().ends_with("/self"));
}

#[tokio::test]
async fn silence_sends_nothing_until_the_client_disconnects() {
    let lab = zoo().await;
    let mut client = Client::to(&lab, Hazard::Silence.host()).await;
    client.ask(Hazard::Silence.host(), "/", "").await;
    assert!(
        timeout(Duration::from_millis(50), client.more())
            .await
            .is_err()
    );
    drop(client);
    timeout(Duration::from_secs(5), lab.wait_for_requests(1))
        .await
        .expect("the log has the request");
    assert_eq!(lab.log()[0].bytes, 0);
}

#[tokio::test]
async fn drip_sends_single_bytes() {
    let lab = zoo().await;
    let mut client = Client::to(&lab, Hazard::Drip.host()).await;
    client.ask(Hazard::Drip.host(), "/", "").await;
    while timeout(Duration::from_millis(200), client.more())
        .await
        .is_ok()
    {}
    let early = client.pending();
    assert!(client.more().await);
    assert_eq!(client.pending(), early + 1);
}

#[tokio::test]
async fn endless_bodies_do_not_end() {
    let lab = zoo().await;
    for target in ["/", "/stream"] {
        let mut client = Client::to(&lab, Hazard::Endless.host()).await;
        client.ask(Hazard::Endless.host(), target, "").await;
        while client.pending() < 300_000 {
            assert!(client.more().await);
        }
        drop(client);
    }
    timeout(Duration::from_secs(5), lab.wait_for_requests(2))
        .await
        .expect("both connections ended");
    assert!(lab.log().iter().all(|r| !r.complete && r.bytes >= 300_000));
}

#[tokio::test]
async fn content_length_is_too_large_or_too_small() {
    let lab = zoo().await;
    for (target, more) in [("/more", true), ("/less", false)] {
        let host = Hazard::Length.host();
        let mut client = Client::to(&lab, host).await;
        client.ask(host, target, "").await;
        while client.more().await {}
        let (announced, sent) = client.announced_and_sent();
        assert_eq!(announced > sent, more, "{target}: {announced}, {sent}");
        assert_ne!(announced, sent);
    }
}
