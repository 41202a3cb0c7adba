//! A crawl that is killed again and again, always after a short time.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::resolver_to_loopback;
use crate::scripted_site::{ScriptedSite, crawl, links};
use crate::support::pages;

const SITES: usize = 10;
const PAGES_PER_SITE: usize = 200;
/// Time that each crawl runs after its first request.
const LIFETIME: Duration = Duration::from_secs(1);

/// With the default `check_in_interval` of 5 s, a crawl that lives for one second records most of its fetches, because
/// its first check-ins come early.
#[test]
fn a_crawl_that_is_killed_every_second_makes_progress() {
    let paths: Vec<String> = (0..PAGES_PER_SITE).map(|n| format!("/{n}")).collect();
    let site = ScriptedSite::start(move |path, _, _| {
        if path == "/robots.txt" {
            return String::new();
        }
        sleep(Duration::from_millis(30));
        links(&paths.iter().map(String::as_str).collect::<Vec<_>>())
    });
    let resolver = resolver_to_loopback();
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    let seed = |n: usize| format!("http://site{n}.example:{}/", site.port);
    let count = || site.requests().len();
    for kill in 1..=3 {
        let before = site.all_requests().len();
        let mut command = crawl(&collection, &seed(0));
        command.args((1..SITES).map(seed));
        command.args(["--resolver", &resolver, "--contact", "test@localhost"]);
        let mut child = command.spawn().unwrap();
        let start = Instant::now();
        while site.all_requests().len() == before {
            assert!(start.elapsed() < Duration::from_mins(1), "no request");
            sleep(Duration::from_millis(5));
        }
        sleep(LIFETIME);
        child.kill().unwrap();
        child.wait().unwrap();
        let recorded = pages(&collection);
        let recorded = recorded.keys().filter(|url| !url.ends_with("/robots.txt"));
        let (recorded, requested) = (recorded.count(), count());
        println!("kill {kill}: {recorded} pages of {requested} requests");
        assert!(
            2 * recorded >= requested,
            "kill {kill}: {recorded} pages of {requested} requests"
        );
    }
}
