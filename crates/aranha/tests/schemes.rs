//! Tests of honest sites over HTTP and HTTPS, with redirects between the schemes and between twins. Every page of the
//! lab is fetched once, whatever scheme its links have.

mod support;

use std::collections::BTreeSet;
use std::time::Duration;

use aranha_lab::{Crawler, Lab, Plan};
use support::{answered, assert_status, assert_valid, crawl, expected, finish};

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_fetched_once_over_http_or_https() {
    let plan = Plan {
        secure: 70,
        ..Plan::small(7)
    };
    let lab = Lab::start(plan).await.expect("the lab starts");
    let folder = tempfile::tempdir().expect("a folder");
    let collection = folder.path().join("crawl");
    let output = finish(crawl(&lab, &collection, "10ms")).await;
    assert_status(&output, 0);
    let found = answered(&lab, &collection);
    let missed: BTreeSet<_> = expected(&lab)
        .into_iter()
        .filter(|(url, status)| found.get(url) != Some(status))
        .collect();
    assert_eq!(missed, BTreeSet::new());
    let tally = lab.tally(&Crawler::default(), Duration::from_millis(10));
    assert_eq!(tally.missed, [""; 0]);
    assert_eq!(tally.violations, []);
    assert_valid(&collection);
}
