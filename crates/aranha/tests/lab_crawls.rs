//! Whole crawls of the lab's web, checked against the requests that its servers received.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use aranha_lab::{Lab, LoggedRequest, Plan, Sizes};
use support::{
    answered, aranha, assert_status, assert_valid, crawl, expected, finish, pages, wait,
};

const PAUSE: Duration = Duration::from_millis(40);

fn url(lab: &Lab, request: &LoggedRequest) -> String {
    lab.fold(&format!(
        "http://{}:{}{}",
        request.host,
        lab.port(),
        request.path
    ))
}

/// The host to which a request was sent, and the canonical URL of the page. A page has the same canonical URL with and
/// without `www.`, so only the host distinguishes the request that is redirected from the request for the page.
type HostAndUrl = (String, String);

/// Number of requests for each page.
fn request_counts(lab: &Lab) -> BTreeMap<HostAndUrl, usize> {
    let mut counts = BTreeMap::new();
    for request in lab.log() {
        if request.path != "/robots.txt" {
            *counts.entry(host_and_url(lab, &request)).or_default() += 1;
        }
    }
    counts
}

fn host_and_url(lab: &Lab, request: &LoggedRequest) -> HostAndUrl {
    (request.host.clone(), url(lab, request))
}

/// The recorded pages. A page counts as recorded under both hosts. A redirect from one host to the other counts only
/// under the host that redirects.
fn recorded(lab: &Lab, collection: &Path) -> BTreeSet<HostAndUrl> {
    let host = |url: &str| url.split(['/', ':']).nth(3).unwrap_or_default().to_owned();
    let mut recorded = BTreeSet::new();
    for (url, page) in pages(collection) {
        let folded = lab.fold(&url);
        let other = page["redirect"]
            .as_str()
            .filter(|target| lab.fold(target) == folded)
            .map(host);
        let bare = host(&url).trim_start_matches("www.").to_owned();
        for name in [format!("www.{bare}"), bare] {
            if other.as_ref() != Some(&name) {
                recorded.insert((name, folded.clone()));
            }
        }
    }
    recorded
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_is_fetched_once_with_courtesy() {
    let lab = Lab::start(Plan::small(7)).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("crawl");
    assert_status(&finish(crawl(&lab, &collection, "40ms")).await, 0);
    assert_eq!(answered(&lab, &collection), expected(&lab));
    assert_eq!(lab.violations(PAUSE), []);
    let twice: Vec<_> = request_counts(&lab)
        .into_iter()
        .filter(|(_, times)| *times > 1)
        .collect();
    assert_eq!(twice, []);
    assert_valid(&collection);
    // The first request to every host is for robots.txt.
    let first: BTreeMap<String, String> = lab
        .log()
        .into_iter()
        .rev()
        .map(|request| (request.site().to_owned(), request.path))
        .collect();
    assert!(
        first.values().all(|path| path == "/robots.txt"),
        "{first:?}"
    );
    // A second crawl sends no request, because no page is due.
    lab.clear();
    assert_status(&finish(crawl(&lab, &collection, "40ms")).await, 0);
    assert_eq!(lab.count(), 0);
}

/// In each seed, the host is replaced by its twin (U3): `www.` is added or removed. All pages are found, even if the
/// twin does not resolve.
#[tokio::test(flavor = "multi_thread")]
async fn a_site_is_found_under_its_other_name() {
    let lab = Lab::start(Plan::small(7)).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("crawl");
    let other = |seed: &String| match seed.strip_prefix("http://www.") {
        Some(bare) => format!("http://{bare}"),
        None => seed.replacen("http://", "http://www.", 1),
    };
    let seeds: Vec<_> = lab.seeds().iter().map(other).collect();
    let command = support::crawl_from(&seeds, &lab, &collection, "10ms");
    assert_status(&finish(command).await, 0);
    let absent = |name: &str| {
        seeds
            .iter()
            .any(|seed| seed.contains(&format!("//{name}:")))
    };
    assert!(
        lab.questions()
            .iter()
            .any(|question| question.code == 3 && absent(&question.name)),
        "every host resolves: use a lab with another random seed"
    );
    assert_eq!(answered(&lab, &collection), expected(&lab));
    assert_eq!(lab.violations(Duration::from_millis(10)), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_crawl_continues_where_it_stopped() {
    let lab = Lab::start(Plan::small(8)).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("crawl");
    let child = crawl(&lab, &collection, "40ms")
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    lab.wait_for_requests(30).await;
    let signal = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(signal.success());
    assert_eq!(wait(child).await.code(), Some(130));
    assert_valid(&collection);
    assert!(answered(&lab, &collection).len() < expected(&lab).len());
    assert_status(&finish(crawl(&lab, &collection, "40ms")).await, 0);
    assert_eq!(answered(&lab, &collection), expected(&lab));
    assert_eq!(lab.violations(PAUSE), []);
    let twice: Vec<_> = request_counts(&lab)
        .into_iter()
        .filter(|(_, times)| *times > 1)
        .collect();
    assert_eq!(twice, [], "no page is fetched twice");
}

/// Kills crawls with `kill -9` at twenty random times. No page is lost, recorded pages are not fetched again, courtesy
/// holds across the kills, and every volume is valid.
#[tokio::test(flavor = "multi_thread")]
async fn twenty_kills_lose_no_recorded_page() {
    const KILLS: usize = 20;
    let plan = Plan {
        pages: Sizes {
            smallest: 8,
            largest: 150,
        },
        ..Plan::small(9)
    };
    let lab = Lab::start(plan).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("crawl");
    let mut random = std::process::id();
    let mut crawls = Vec::new();
    // Each crawl has its own User-Agent, because a busy lab may log a request only after the kill, during the next
    // crawl.
    let agent = |crawl: usize| format!("aranha crawl {crawl}.");
    while crawls.len() < KILLS {
        let seen = lab.count();
        let mut child = crawl(&lab, &collection, "40ms")
            .args(["--user-agent", &agent(crawls.len())])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Kill at a random time after the first request.
        tokio::time::timeout(Duration::from_mins(1), lab.wait_for_requests(seen + 1))
            .await
            .expect("the crawl sends a request");
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        tokio::time::sleep(Duration::from_millis(u64::from(random >> 16) % 250)).await;
        let finished = child.try_wait().unwrap().is_some();
        child.kill().unwrap();
        wait(child).await;
        assert!(
            !finished,
            "finished after {} kills: the lab is too small for this test",
            crawls.len()
        );
        crawls.push(recorded(&lab, &collection));
    }
    let mut last = crawl(&lab, &collection, "40ms");
    last.args(["--user-agent", &agent(KILLS)]);
    assert_status(&finish(last).await, 0);
    assert_eq!(answered(&lab, &collection), expected(&lab));
    assert_eq!(lab.violations(PAUSE), []);
    assert_valid(&collection);
    // Only pages that were fetched but not recorded before a kill may be fetched again.
    let log = lab.log();
    let mut unrecorded: BTreeMap<HostAndUrl, usize> = BTreeMap::new();
    for (crawl, recorded) in crawls.iter().enumerate() {
        let fetched: BTreeSet<HostAndUrl> = log
            .iter()
            .filter(|request| request.agent == agent(crawl))
            .map(|request| host_and_url(&lab, request))
            .collect();
        for page in fetched.difference(recorded) {
            *unrecorded.entry(page.clone()).or_default() += 1;
        }
    }
    let mut repeats = 0;
    for (page, times) in request_counts(&lab) {
        let allowed = unrecorded.get(&page).copied().unwrap_or(0);
        assert!(
            times <= 1 + allowed,
            "{page:?} was fetched {times} times, {allowed} of them unrecorded at a kill: {:#?}",
            log.iter()
                .filter(|request| url(&lab, request) == page.1)
                .collect::<Vec<_>>()
        );
        repeats += times - 1;
    }
    println!(
        "{KILLS} kills, {} pages, {repeats} fetches repeated",
        expected(&lab).len()
    );
    // Upper bound per kill: the requests of one second, which are 25 to each of 6 addresses with a pause of 40 ms.
    // Check-ins are 100 ms apart, but writing one takes time too, so a kill can lose more than the last 100 ms.
    assert!(repeats <= KILLS * 6 * 25, "{repeats}");
}

/// The visits to two sites panic, and the reader of one page never returns. The crawl ends in order with all other
/// pages, and lists the problem sites.
#[tokio::test(flavor = "multi_thread")]
async fn faults_cost_only_the_pages_and_sites_that_they_hit() {
    const PROBLEM_SITES: [&str; 2] = ["site017.lab", "site123.lab"];
    let plan = Plan {
        sites: 200,
        seeds: 200,
        addresses: 40,
        ..Plan::small(10)
    };
    let lab = Lab::start(plan).await.unwrap();
    let all = expected(&lab);
    let of_site = |url: &str, site: &str| url.contains(&format!("//{site}:"));
    // The last page of a site, which leads to no other page.
    let unread = all.keys().filter(|url| of_site(url, "site005.lab"));
    let unread = unread.max_by_key(|url| (url.len(), url.as_str())).unwrap();
    let faults = format!(
        "visit=panic:{},visit=panic:{},read=hang:{}",
        PROBLEM_SITES[0],
        PROBLEM_SITES[1],
        &unread[unread.find("site005.lab").unwrap()..]
    );
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("crawl");
    let mut command = crawl(&lab, &collection, "0");
    std::fs::write(
        collection.with_extension("settings.toml"),
        "[crawl]\nmax_pause = \"100ms\"\nidle_wait = \"1s\"\n[fetch]\ntotal_timeout = \"10s\"\n",
    )
    .unwrap();
    command.env("ARANHA_INJECT_FAULTS", faults);
    assert_status(&finish(command).await, 0);
    let is_other = |url: &String| {
        let is_problem = PROBLEM_SITES.iter().any(|site| of_site(url, site));
        !is_problem && url != unread
    };
    let fetched = answered(&lab, &collection);
    for (url, status) in all.iter().filter(|(url, _)| is_other(url)) {
        assert_eq!(fetched.get(url), Some(status), "{url}");
    }
    assert_eq!(fetched.get(unread), None);
    let listed = aranha()
        .args(["status", "--problems", "-c"])
        .arg(&collection)
        .output()
        .unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert_eq!(listed.lines().count(), PROBLEM_SITES.len(), "{listed}");
    for site in PROBLEM_SITES {
        assert!(listed.contains(&format!("{site}:")), "{listed}");
    }
    assert_valid(&collection);
}
