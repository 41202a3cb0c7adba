//! Tests of hostile robots.txt files and sitemaps.

use aranha_lab::Hazard;

use super::{get, raw, text, with};

#[tokio::test]
async fn the_flood_starts_with_the_rule_and_goes_on() {
    let lab = with(Hazard::Flood).await;
    let seen = text(&raw(&lab, "/robots.txt", 5_000_000).await);
    assert!(seen.len() >= 5_000_000);
    assert!(seen.contains("Disallow: /private/\n"));
    assert_eq!(get(&lab, "/").await.status, 200);
}

#[tokio::test]
async fn the_ribbon_is_one_line() {
    let lab = with(Hazard::Ribbon).await;
    let seen = raw(&lab, "/robots.txt", 5_000_000).await;
    assert!(seen.len() >= 5_000_000);
    assert!(!super::body(&seen).contains(&b'\n'));
}

#[tokio::test]
async fn patterns_nearly_match_the_linked_urls() {
    let lab = with(Hazard::Patterns).await;
    let robots = get(&lab, "/robots.txt").await.text();
    assert!(robots.lines().count() > 3000);
    assert!(robots.contains("*a*a*a*a*a*a*a*a*a*a"));
    let links = super::links(&lab, "/").await;
    assert!(
        links
            .iter()
            .any(|link| link.len() > 1900 && link.ends_with("ac"))
    );
}

#[tokio::test]
async fn gate_answers_503_and_carousel_redirects() {
    let lab = with(Hazard::Gate).await;
    assert_eq!(get(&lab, "/robots.txt").await.status, 503);
    assert_eq!(get(&lab, "/").await.status, 200);
    let lab = with(Hazard::Carousel).await;
    let got = get(&lab, "/7/robots.txt").await;
    assert_eq!(got.status, 301);
    assert!(got.header("location").unwrap().ends_with("/8/robots.txt"));
    assert!(
        get(&lab, "/robots.txt")
            .await
            .header("location")
            .unwrap()
            .ends_with("/1/robots.txt")
    );
}

#[tokio::test]
async fn robots_txt_names_eight_faulty_sitemaps() {
    let lab = with(Hazard::Sitemaps).await;
    let robots = get(&lab, "/robots.txt").await.text();
    assert_eq!(robots.matches("Sitemap: http://sitemaps.lab:").count(), 8);
    let laughs = get(&lab, "/laughs.xml").await.text();
    assert!(laughs.len() < 2000 && laughs.contains("<!ENTITY l9 \"&l8;&l8;"));
    assert!(
        get(&lab, "/external.xml")
            .await
            .text()
            .contains("SYSTEM \"file:///etc/passwd\"")
    );
    assert!(
        get(&lab, "/self.xml")
            .await
            .text()
            .contains("/self.xml</loc>")
    );
    assert!(
        get(&lab, "/left.xml")
            .await
            .text()
            .contains("/right.xml</loc>")
    );
    assert!(
        get(&lab, "/right.xml")
            .await
            .text()
            .contains("/left.xml</loc>")
    );
    assert!(
        get(&lab, "/deep-41.xml")
            .await
            .text()
            .contains("/deep-42.xml</loc>")
    );
    assert!(raw(&lab, "/endless.xml", 500_000).await.len() >= 500_000);
    assert!(
        get(&lab, "/bomb.xml.gz")
            .await
            .body
            .starts_with(&[0x1F, 0x8B])
    );
}

#[tokio::test]
async fn the_doorman_sends_robots_txt_without_end() {
    let lab = with(Hazard::Doorman).await;
    let host = Hazard::Doorman.host();
    let mut client = super::Client::to(&lab, host).await;
    client.ask(host, "/robots.txt", "").await;
    let limit = std::time::Duration::from_millis(300);
    while tokio::time::timeout(limit, client.more()).await.is_ok() {}
    let early = client.pending();
    assert!(client.more().await);
    assert_eq!(client.pending(), early + 1);
    assert_eq!(get(&lab, "/").await.status, 200);
}
