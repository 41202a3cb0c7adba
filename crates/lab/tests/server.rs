//! Tests of the HTTP servers: framing, coding, keep-alive, conditional requests, virtual hosts.

#![expect(clippy::unwrap_used, reason = "an error fails the test")]

mod client;

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use aranha_lab::{Lab, Plan};
use client::Client;

/// The host names whose home page is answered with 200.
fn hosts(lab: &Lab) -> Vec<String> {
    let names = (0..lab.plan().sites)
        .flat_map(|n| [format!("site{n:03}.lab"), format!("www.site{n:03}.lab")]);
    names
        .filter(|name| lab.web().address(name).is_some())
        .filter(|name| lab.web().answer(name, "/").status == 200)
        .collect()
}

#[tokio::test]
async fn every_framing_and_coding_gives_the_same_page() {
    let lab = Lab::start(Plan::small(3)).await.unwrap();
    let mut formats = BTreeSet::new();
    for host in hosts(&lab) {
        let expected = lab.web().answer(&host, "/").body;
        for accept in ["", "Accept-Encoding: gzip\r\n"] {
            let got = Client::to(&lab, &host).await.get(&host, "/", accept).await;
            assert_eq!(got.body, expected, "{host} {accept}");
            let framing = ["content-length", "transfer-encoding", "connection"]
                .into_iter()
                .find(|name| got.header(name).is_some());
            formats.insert((framing, got.header("content-encoding").is_some()));
        }
    }
    assert_eq!(
        formats.len(),
        6,
        "three framings with and without gzip: {formats:?}"
    );
}

#[tokio::test]
async fn http_1_0_clients_get_no_chunks() {
    let lab = Lab::start(Plan::small(3)).await.unwrap();
    for host in hosts(&lab) {
        let mut client = Client::to(&lab, &host).await;
        client
            .send(&format!("GET / HTTP/1.0\r\nHost: {host}\r\n\r\n"))
            .await;
        let got = client.answer().await;
        assert!(
            got.close && got.header("transfer-encoding").is_none(),
            "{host}"
        );
        assert_eq!(got.body, lab.web().answer(&host, "/").body);
    }
}

#[tokio::test]
async fn connections_are_kept_alive_up_to_the_limit_of_the_site() {
    let lab = Lab::start(Plan::small(4)).await.unwrap();
    let mut lengths = BTreeSet::new();
    for host in hosts(&lab) {
        let mut client = Client::to(&lab, &host).await;
        let mut requests = 1;
        while !client.get(&host, "/style.css", "").await.close && requests < 20 {
            requests += 1;
        }
        lengths.insert(requests);
    }
    assert!(lengths.contains(&20) && lengths.contains(&5), "{lengths:?}");
    let log = lab.log();
    let kept = log
        .iter()
        .filter(|r| r.connection == log[0].connection)
        .count();
    assert!(kept > 1);
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let lab = Lab::start(Plan::small(4)).await.unwrap();
    let host = hosts(&lab).remove(0);
    let mut client = Client::to(&lab, &host).await;
    client.ask(&host, "/logo.png", "").await;
    client
        .ask(&host, "/style.css", "Content-Length: 4\r\n")
        .await;
    client
        .send("bodyGET /missing HTTP/1.1\r\nHost: x\r\n\r\n")
        .await;
    assert_eq!(
        client.answer().await.header("content-type"),
        Some("image/png")
    );
    assert_eq!(
        client.answer().await.header("content-type"),
        Some("text/css")
    );
    assert_eq!(client.answer().await.status, 404);
}

#[tokio::test]
async fn conditional_requests_are_answered_with_304() {
    let lab = Lab::start(Plan::small(1)).await.unwrap();
    for host in hosts(&lab) {
        let first = Client::to(&lab, &host).await.get(&host, "/", "").await;
        let tag = first
            .header("etag")
            .expect("the response should have an ETag");
        let date = first
            .header("last-modified")
            .expect("the response should have Last-Modified");
        for condition in [
            format!("If-None-Match: {tag}\r\n"),
            format!("If-Modified-Since: {date}\r\n"),
        ] {
            let again = Client::to(&lab, &host)
                .await
                .get(&host, "/", &condition)
                .await;
            assert_eq!((again.status, again.body.len()), (304, 0), "{host}");
        }
        let other = Client::to(&lab, &host)
            .await
            .get(&host, "/", "If-None-Match: \"0\"\r\n")
            .await;
        assert_eq!(other.status, 200);
    }
}

#[tokio::test]
async fn some_sites_send_cookies_and_some_latin_1() {
    let lab = Lab::start(Plan::small(1)).await.unwrap();
    let mut cookies = 0;
    let mut latin = 0;
    for host in hosts(&lab) {
        let got = Client::to(&lab, &host).await.get(&host, "/", "").await;
        cookies += usize::from(got.header("set-cookie").is_some());
        if got.header("content-type").unwrap().contains("8859-1") {
            latin += 1;
            assert!(
                String::from_utf8(got.body.clone()).is_err(),
                "{host} is ASCII only"
            );
        }
        assert!(got.text().contains("<title>"));
    }
    assert!(cookies > 0 && latin > 0);
}

#[tokio::test]
async fn the_host_header_selects_the_site() {
    let lab = Lab::start(Plan::small(1)).await.unwrap();
    let address = IpAddr::V4(lab.web().addresses()[0]);
    let mut client = Client::at(SocketAddr::new(address, lab.port())).await;
    for host in hosts(&lab).iter().take(3) {
        let got = client
            .get(
                &format!("{}:{}", host.to_uppercase(), lab.port()),
                "/logo.png",
                "",
            )
            .await;
        assert_eq!(got.body, lab.web().answer(host, "/logo.png").body);
    }
    assert_eq!(client.get("nobody.lab", "/", "").await.status, 404);
    assert_eq!(lab.log().last().unwrap().host, "nobody.lab");
}

#[tokio::test]
async fn many_addresses_share_one_socket() {
    let lab = Lab::start(Plan {
        keep_log: true,
        ..Plan::large(4000)
    })
    .await
    .unwrap();
    let mut addresses = BTreeSet::new();
    for host in [
        "site000.lab",
        "www.site000.lab",
        "site3999.lab",
        "www.site3999.lab",
    ] {
        if lab.web().address(host).is_some() {
            let got = Client::to(&lab, host)
                .await
                .get(host, "/logo.png", "")
                .await;
            assert!(got.status == 200 || got.status == 301);
        }
    }
    for request in lab.log() {
        let expected = lab.web().address(&request.host).unwrap();
        assert_eq!(request.address, IpAddr::V4(expected));
        addresses.insert(expected);
    }
    assert!(addresses.len() > 1 && !addresses.contains(&Ipv4Addr::LOCALHOST));
}

#[tokio::test]
async fn dropping_the_lab_closes_connections_and_frees_the_port() {
    let lab = Lab::start(Plan::small(1)).await.unwrap();
    let host = hosts(&lab).remove(0);
    let mut client = Client::to(&lab, &host).await;
    client.get(&host, "/logo.png", "").await;
    let port = lab.port();
    drop(lab);
    assert!(!client.more().await, "the connection should be closed");
    let again = Lab::start(Plan {
        port,
        ..Plan::small(1)
    })
    .await
    .expect("the port should be free");
    assert_eq!(again.port(), port);
}
