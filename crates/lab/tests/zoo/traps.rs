//! Tests of the traps: endless or deceptive link structures.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use aranha_lab::Hazard;

use super::{Client, get, links, with};

#[tokio::test]
async fn growing_paths_serve_the_same_page() {
    let lab = with(Hazard::Growth).await;
    let top = links(&lab, "/").await;
    assert_eq!(top[0], "catalogue/articles/");
    let deep = "/catalogue/articles/catalogue/articles/";
    assert_eq!(links(&lab, deep).await[0], top[0]);
    let history = links(&lab, &top[1]).await[1].clone();
    assert!(
        history.len() > top[1].len() && history.contains("%3Fvia="),
        "{history}"
    );
}

#[tokio::test]
async fn the_symlink_serves_the_root_at_every_depth() {
    let lab = with(Hazard::Symlink).await;
    let home = get(&lab, "/").await.body;
    assert_eq!(get(&lab, "/spider/spider/spider/").await.body, home);
    assert_eq!(
        get(&lab, "/spider/about.html").await.body,
        get(&lab, "/about.html").await.body
    );
    assert_eq!(get(&lab, "/spider/spider").await.status, 301);
    assert_eq!(get(&lab, "/spiders/").await.status, 404);
    assert_eq!(links(&lab, "/").await[0], "spider/");
}

#[tokio::test]
async fn session_identifiers_change_and_articles_do_not() {
    let lab = with(Hazard::Session).await;
    let (first, second) = (links(&lab, "/").await, links(&lab, "/").await);
    assert_eq!(first.len(), second.len());
    assert!(
        first.iter().zip(&second).all(|(a, b)| a != b),
        "all links are new"
    );
    for name in ["PHPSESSID=", ";jsessionid=", "sid=", "CFTOKEN=", "/(S("] {
        assert!(first.iter().any(|link| link.contains(name)), "{name}");
    }
    let title = |text: &str| text.split("</h1>").next().unwrap().to_owned();
    let forms = [
        "/forum/4;jsessionid=1",
        "/forum/4",
        "/(S(0f))/forum/4",
        "/forum/4?sid=77",
    ];
    let titles: BTreeSet<String> = [
        get(&lab, forms[0]).await,
        get(&lab, forms[1]).await,
        get(&lab, forms[2]).await,
        get(&lab, forms[3]).await,
    ]
    .iter()
    .map(|got| title(&got.text()))
    .collect();
    assert_eq!(titles.len(), 1, "{titles:?}");
    let shop = get(&lab, "/shop/show.php?id=3&PHPSESSID=9").await;
    assert_eq!(
        title(&shop.text()),
        title(&get(&lab, "/shop/show.php?id=3").await.text())
    );
    let host = Hazard::Session.host();
    let cookie = "Cookie: PHPSESSID=1\r\n";
    let known = Client::to(&lab, host).await.get(host, "/", cookie).await;
    let (with_cookie, rest): (Vec<String>, Vec<String>) = super::client::read(&known.text())
        .links
        .into_iter()
        .partition(|link| link.starts_with("/shop/"));
    assert!(with_cookie.iter().all(|link| !link.contains("SESS")));
    assert_eq!(rest.len(), 9, "the forum ignores the cookie");
}

#[tokio::test]
async fn sorted_listings_have_the_same_files() {
    let lab = with(Hazard::Listing).await;
    let sorted = |links: &[String]| -> BTreeSet<String> {
        links
            .iter()
            .filter(|l| !l.starts_with('?'))
            .cloned()
            .collect()
    };
    let up = links(&lab, "/pub/?C=N;O=A").await;
    let down = links(&lab, "/pub/?C=N;O=D").await;
    assert_ne!(up, down);
    assert_eq!(sorted(&up), sorted(&down));
    assert!(up.contains(&"?C=M;O=D".to_owned()));
    assert!(links(&lab, "/old/").await.contains(&"?M=D".to_owned()));
    assert_eq!(get(&lab, "/pub/file-1.html").await.status, 200);
    assert_eq!(get(&lab, "/nowhere/").await.status, 404);
}

#[tokio::test]
async fn the_wildcard_serves_every_name() {
    let lab = with(Hazard::Wildcard).await;
    let address = lab.web().address("wildcard.lab").unwrap();
    for name in ["absurd-4711.wildcard.lab", "a.b.c.wildcard.lab"] {
        assert_eq!(lab.web().address(name), Some(address), "{name}");
        let got = Client::to(&lab, name).await.get(name, "/", "").await;
        let hosts: BTreeSet<String> = super::client::read(&got.text()).links.into_iter().collect();
        assert_eq!(hosts.len(), 5);
        assert!(
            hosts.iter().all(|link| link.contains(".wildcard.lab:")),
            "{hosts:?}"
        );
    }
    assert_eq!(lab.web().address("wildcard2.lab"), None);
    assert_eq!(lab.web().address("x.calendar.lab"), None);
}

#[tokio::test]
async fn maze_pages_differ_and_each_stays_the_same() {
    let lab = with(Hazard::Maze).await;
    let mut seen = BTreeSet::new();
    let mut target = "/".to_owned();
    for _ in 0..20 {
        let page = get(&lab, &target).await;
        assert_eq!(
            page.body,
            get(&lab, &target).await.body,
            "a path has the same page at every request"
        );
        assert!(
            page.body.len() > 1500 && seen.insert(page.body.clone()),
            "never twice"
        );
        let links = super::client::read(&page.text()).links;
        assert_eq!(links.len(), 10);
        let rooted = links.into_iter().find(|link| link.starts_with('/'));
        target = rooted.unwrap_or_else(|| format!("{target}/on"));
    }
}

#[tokio::test]
async fn the_tarpit_sends_small_pieces_slowly() {
    let lab = with(Hazard::Tarpit).await;
    let mut client = Client::to(&lab, Hazard::Tarpit.host()).await;
    client.ask(Hazard::Tarpit.host(), "/", "").await;
    let started = Instant::now();
    while client.pending() < 400 {
        assert!(client.more().await);
    }
    assert!(started.elapsed() > Duration::from_millis(200));
    assert!(
        client.pending() < 1000,
        "the response arrives in small pieces"
    );
}

#[tokio::test]
async fn counter_pages_link_to_the_next_number() {
    let lab = with(Hazard::Counter).await;
    assert_eq!(links(&lab, "/").await, ["/?n=1", "/guest/1.html", "#1"]);
    assert_eq!(links(&lab, "/guest/41.html").await[0], "/?n=42");
}

#[tokio::test]
async fn filters_combine_in_any_order() {
    let lab = with(Hazard::Facets).await;
    let home = links(&lab, "/").await;
    assert_eq!(home.iter().filter(|link| link.contains('?')).count(), 32);
    let two = links(&lab, "/?size=2&colour=1").await;
    assert!(two.contains(&"/?size=2&colour=1&brand=3".to_owned()));
    assert!(
        !two.iter().any(|link| link.matches("size=").count() > 1),
        "each once"
    );
    assert_eq!(get(&lab, "/article/3").await.status, 200);
}

#[tokio::test]
async fn the_index_of_empty_pages_has_100_000_items() {
    let lab = with(Hazard::Hollow).await;
    let first = links(&lab, "/").await;
    assert_eq!((first.len(), first[100].as_str()), (101, "/index/1"));
    let last = links(&lab, "/index/999").await;
    assert_eq!((last.len(), last[99].as_str()), (100, "/item/99999"));
    let item = get(&lab, "/item/99999").await;
    assert!(item.status == 200 && item.body.len() < 100);
    assert!(links(&lab, "/item/99999").await.is_empty());
}

#[tokio::test]
async fn random_words_stay_the_same_at_every_request() {
    for hazard in [Hazard::Babble, Hazard::Sorry] {
        let lab = with(hazard).await;
        let mut seen = BTreeSet::new();
        let mut target = "/".to_owned();
        for _ in 0..10 {
            let page = get(&lab, &target).await;
            assert_eq!(page.status, 200);
            assert_eq!(page.body, get(&lab, &target).await.body, "{target}");
            assert!(seen.insert(page.body.clone()), "{target}");
            let links = super::client::read(&page.text()).links;
            assert_eq!(links[0], "/", "a link to the home page");
            target = links[2].clone();
        }
    }
}
