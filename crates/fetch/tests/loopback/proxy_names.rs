//! Tests of names that a proxy resolves: what is looked up here, and what the address guard learns from it.

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use aranha_fetch::{Failure, FetchRequest, Fetcher, Options, ProxyLookups, ProxySetting, Route};
use tokio::{net::UdpSocket, time::Instant};

use crate::dns;
use crate::scripted_server::{canon, fetcher, options};

fn behind(proxy: &str, lookups: ProxyLookups, server: SocketAddr) -> Options {
    Options {
        proxy: ProxySetting::parse(proxy).unwrap(),
        proxy_lookups: lookups,
        resolvers: vec![server],
        dns_timeout: Duration::from_millis(900),
        ..options()
    }
}

const HTTP: &str = "http://127.0.0.1:9";
const SOCKS: &str = "socks5://127.0.0.1:9";
const SOCKS_NAMES: &str = "socks5h://127.0.0.1:9";

/// The route to a host as a text: `to ADDRESSES`, `by name`, `by name, ADDRESSES`, or the code of the failure.
async fn route(fetcher: &Fetcher, host: &str) -> String {
    let list = |addresses: &[IpAddr]| {
        let shown: Vec<_> = addresses.iter().map(ToString::to_string).collect();
        shown.join(" ")
    };
    match fetcher.route(&canon(&format!("http://{host}/"))).await {
        Ok(Route::Addresses(resolved)) => format!("to {}", list(&resolved.addresses)),
        Ok(Route::Name { known: None }) => "by name".to_owned(),
        Ok(Route::Name { known: Some(known) }) => format!("by name, {}", list(&known.addresses)),
        Err(failure) => failure.code().to_owned(),
    }
}

#[tokio::test]
async fn names_are_looked_up_as_the_proxy_and_the_option_say() {
    use ProxyLookups::{Auto, Never, Require};
    for (proxy, lookups, found, missing, queried) in [
        (
            "none",
            Auto,
            "to 127.0.0.1 127.0.0.2",
            "dns-not-found",
            true,
        ),
        (SOCKS, Auto, "to 127.0.0.1 127.0.0.2", "dns-not-found", true),
        (
            SOCKS,
            Require,
            "to 127.0.0.1 127.0.0.2",
            "dns-not-found",
            true,
        ),
        (HTTP, Auto, "by name, 127.0.0.1 127.0.0.2", "by name", true),
        (
            HTTP,
            Require,
            "by name, 127.0.0.1 127.0.0.2",
            "dns-not-found",
            true,
        ),
        (HTTP, Never, "by name", "by name", false),
        (SOCKS_NAMES, Auto, "by name", "by name", false),
        (
            SOCKS_NAMES,
            Require,
            "by name, 127.0.0.1 127.0.0.2",
            "dns-not-found",
            true,
        ),
        (SOCKS_NAMES, Never, "by name", "by name", false),
    ] {
        let (server, queries) = dns::start().await;
        let fetcher = fetcher(behind(proxy, lookups, server));
        assert_eq!(
            route(&fetcher, "four.example").await,
            found,
            "{proxy} {lookups:?}"
        );
        assert_eq!(
            route(&fetcher, "missing.example").await,
            missing,
            "{proxy} {lookups:?}"
        );
        fetcher.prefetch_dns(&canon("http://six.example/"));
        fetcher.refresh_stale_dns();
        let like = fetcher
            .resolve_like(&canon("http://a.example/"), "both.example")
            .await;
        assert_eq!(like.is_some(), queried);
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(
            !queries.lock().unwrap().is_empty(),
            queried,
            "{proxy} {lookups:?}"
        );
    }
}

/// The proxy may choose any address of a name. So the name is refused if one of its addresses is refused.
#[tokio::test]
async fn a_name_with_a_refused_address_is_refused() {
    let (server, _) = dns::start().await;
    let strict = |proxy| Options {
        allow_private: false,
        ..behind(proxy, ProxyLookups::Auto, server)
    };
    for host in ["meta.example", "both.example", "127.0.0.1"] {
        assert_eq!(
            route(&fetcher(strict(HTTP)), host).await,
            "address-refused",
            "{host}"
        );
    }
    assert_eq!(
        route(&fetcher(strict(HTTP)), "missing.example").await,
        "by name"
    );
    assert_eq!(
        route(&fetcher(strict(HTTP)), "intranet").await,
        "name-refused"
    );
    // The look-up of this name would find a refused address, but with this proxy no name server is queried.
    assert_eq!(
        route(&fetcher(strict(SOCKS_NAMES)), "meta.example").await,
        "by name"
    );
}

/// In this network, only the proxy reaches name servers. Three look-ups time out; then the circuit breaker opens, and
/// no request waits any more.
#[tokio::test(start_paused = true)]
async fn without_an_answer_from_name_servers_the_proxy_alone_resolves_names() {
    let silent = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let options = Options {
        dns_timeout: Duration::from_secs(10),
        ..behind(HTTP, ProxyLookups::Auto, silent.local_addr().unwrap())
    };
    let fetcher = fetcher(options.clone());
    assert!(!fetcher.waits_for_dns());
    let begun = Instant::now();
    for number in 0..100 {
        assert_eq!(
            route(&fetcher, &format!("{number}.example")).await,
            "by name"
        );
    }
    assert_eq!(begun.elapsed().as_secs(), 30, "three look-ups wait");
    assert!(fetcher.watch_dns_outage().borrow().is_some());
    // Names that are invented to detect wildcard domains do not wait, either.
    let invented = fetcher
        .resolve_like(&canon("http://a.example/"), "zzz.example")
        .await;
    assert_eq!(invented, None);
    // A proxy that takes addresses needs look-ups, so they are not skipped.
    let direct = crate::scripted_server::fetcher(Options {
        proxy: ProxySetting::parse(SOCKS).unwrap(),
        ..options
    });
    assert!(direct.waits_for_dns());
    assert_eq!(route(&direct, "a.example").await, "dns-timeout");
}

/// When the name servers answer again, aranha looks up names again and the guard checks their addresses.
#[tokio::test]
async fn addresses_are_used_again_after_an_outage_of_the_name_servers() {
    let silent = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let server = silent.local_addr().unwrap();
    let options = Options {
        dns_timeout: Duration::from_millis(100),
        ..behind(HTTP, ProxyLookups::Auto, server)
    };
    let fetcher = fetcher(options);
    for number in 0..3 {
        assert_eq!(
            route(&fetcher, &format!("{number}.example")).await,
            "by name"
        );
    }
    let mut outage = fetcher.watch_dns_outage();
    assert!(outage.borrow().is_some());
    assert_eq!(route(&fetcher, "four.example").await, "by name");
    drop(silent);
    let _name_server = dns::start_at(server).await;
    outage.wait_for(Option::is_none).await.unwrap();
    let found = async {
        while route(&fetcher, "four.example").await != "by name, 127.0.0.1 127.0.0.2" {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(40), found)
        .await
        .expect("the name is looked up again");
}

#[tokio::test]
async fn a_name_that_is_known_here_is_checked_when_connecting() {
    let (server, _) = dns::start().await;
    let strict = Options {
        allow_private: false,
        ..behind(HTTP, ProxyLookups::Auto, server)
    };
    let fetcher = fetcher(strict);
    fetcher.extend_blacklist("93.184.216.0/24").unwrap();
    let url = canon("http://example.org/");
    let mut request = FetchRequest::by_name(&url);
    request.address = Some([93, 184, 216, 34].into());
    let fetched = fetcher
        .fetch(&mut aranha_fetch::FetchSession::new(), request)
        .await;
    assert!(matches!(
        fetched.result,
        Err(Failure::AddressRefused { .. })
    ));
}
