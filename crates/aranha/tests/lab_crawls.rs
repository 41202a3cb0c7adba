//! Whole crawls of the lab web by the real binary, judged by what the lab's servers saw (issue: "It must show").

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use aranha_lab::{Lab, Plan, Request, Sizes};
use support::{answered, assert_status, assert_valid, crawl, expected, finish, pages, wait};

const PAUSE: Duration = Duration::from_millis(40);

fn url(lab: &Lab, request: &Request) -> String {
    lab.fold(&format!(
        "http://{}:{}{}",
        request.host,
        lab.port(),
        request.path
    ))
}

/// A page under one of its site's two names: a redirect from one name to the other is not the page itself.
type Name = (String, String);

/// How often each page was asked for.
fn asked(lab: &Lab) -> BTreeMap<Name, usize> {
    let mut asked = BTreeMap::new();
    for request in lab.log() {
        if request.path != "/robots.txt" {
            *asked.entry(name(lab, &request)).or_default() += 1;
        }
    }
    asked
}

fn name(lab: &Lab, request: &Request) -> Name {
    (request.host.clone(), url(lab, request))
}

/// What the collection has an answer to, under both names; a redirect to the other name is none of that one's.
fn recorded(lab: &Lab, collection: &Path) -> BTreeSet<Name> {
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
    let twice: Vec<_> = asked(&lab)
        .into_iter()
        .filter(|(_, times)| *times > 1)
        .collect();
    assert_eq!(twice, []);
    assert_valid(&collection);
    // robots.txt was asked for before anything else, once per site and name.
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
    // Again: everything is known, nothing is asked for.
    lab.clear();
    assert_status(&finish(crawl(&lab, &collection, "40ms")).await, 0);
    assert_eq!(lab.count(), 0);
}

/// Either name of a site can answer (U3): seeds under the other name, which may not even resolve, find the same pages.
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
        "none of the other names is absent: another lab is needed"
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
    let twice: Vec<_> = asked(&lab)
        .into_iter()
        .filter(|(_, times)| *times > 1)
        .collect();
    assert_eq!(twice, [], "an orderly stop repeats nothing");
}

/// Kill -9 at twenty random instants: nothing is lost, what was recorded is not fetched again, courtesy holds across
/// the kills, every volume is valid.
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
    let mut chance = std::process::id();
    let mut runs = Vec::new();
    // Each run has a name of its own: a busy lab may read a request after the kill, even after the next run began.
    let agent = |run: usize| format!("aranha run {run}.");
    while runs.len() < KILLS {
        let seen = lab.count();
        let mut child = crawl(&lab, &collection, "40ms")
            .args(["--user-agent", &agent(runs.len())])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Once this run has asked for something, any instant will do.
        tokio::time::timeout(Duration::from_mins(1), lab.wait_for_requests(seen + 1))
            .await
            .expect("the crawl asks for something");
        chance = chance.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        tokio::time::sleep(Duration::from_millis(u64::from(chance >> 16) % 250)).await;
        let ended_by_itself = child.try_wait().unwrap().is_some();
        child.kill().unwrap();
        wait(child).await;
        assert!(
            !ended_by_itself,
            "over after {} kills: the lab is too small for this test",
            runs.len()
        );
        runs.push(recorded(&lab, &collection));
    }
    let mut last = crawl(&lab, &collection, "40ms");
    last.args(["--user-agent", &agent(KILLS)]);
    assert_status(&finish(last).await, 0);
    assert_eq!(answered(&lab, &collection), expected(&lab));
    assert_eq!(lab.violations(PAUSE), []);
    assert_valid(&collection);
    // Only what was fetched in a run and not recorded at its end may be fetched again.
    let log = lab.log();
    let mut excused: BTreeMap<Name, usize> = BTreeMap::new();
    for (run, recorded) in runs.iter().enumerate() {
        let fetched: BTreeSet<Name> = log
            .iter()
            .filter(|request| request.agent == agent(run))
            .map(|request| name(&lab, request))
            .collect();
        for page in fetched.difference(recorded) {
            *excused.entry(page.clone()).or_default() += 1;
        }
    }
    let mut repeats = 0;
    for (page, times) in asked(&lab) {
        let excuse = excused.get(&page).copied().unwrap_or(0);
        assert!(
            times <= 1 + excuse,
            "{page:?} was fetched {times} times, {excuse} of them unrecorded at a kill: {:#?}",
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
    // Six addresses, a pause of 40 ms, a check-in every 100 ms and the time until it is on disk.
    assert!(repeats <= KILLS * 6 * 25, "{repeats}");
}
