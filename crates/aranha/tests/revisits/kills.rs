//! Crawls that are killed during a round and between two rounds.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::origin::{Kind, Origin, Request};
use crate::process::BackgroundProcess;
use crate::{Crawl, build, day, page, wait_for_the_round};

/// The recorded visits of every page, by path.
fn recorded(crawl: &Crawl, origin: &Origin, pages: &[String]) -> BTreeMap<String, Vec<Value>> {
    let visits = |path: &String| {
        let history = crawl.history(&origin.url(path));
        history["history"].as_array().unwrap().clone()
    };
    pages
        .iter()
        .map(|path| (path.clone(), visits(path)))
        .collect()
}

#[test]
fn kills_during_and_between_rounds_lose_no_history() {
    const KILLS: usize = 8;
    let temporary = tempfile::tempdir().unwrap();
    let origin = Origin::start(Kind::Nginx, temporary.path());
    let pages = build(&origin);
    let policy = "policy = \"fixed\"\nevery = \"1s\"\nspread = 0";
    let crawl = Crawl::new(temporary.path(), &origin, policy);
    crawl.run(&[]);
    let mut before = recorded(&crawl, &origin, &pages);
    let version = |number: usize| page(&format!("version {number} of a page"), &["list.html"]);
    for kill in 1..=KILLS {
        for path in ["/plain/one.html", "/zipped/one.html", "/bare/one.html"] {
            origin.write(path, &version(kill), day(kill as u32 + 1));
        }
        let mark = origin.mark();
        let arguments = ["--continuous", "--quiet", "--pause", "10ms"];
        let mut crawling = BackgroundProcess::start(crawl.command(&arguments));
        if kill % 2 == 0 {
            // Kill between two rounds: all pages were requested and recorded.
            let all = |requests: &[Request]| (requests.len() >= pages.len()).then_some(());
            origin.wait_until(mark, all);
            crawl.wait_until_recorded(pages.len());
        } else {
            // Kill during a round, after a different number of requests each time.
            origin.wait_until(mark, |requests| (requests.len() > kill).then_some(()));
        }
        crawling.0.kill().unwrap();
        crawling.0.wait().unwrap();
        let now = recorded(&crawl, &origin, &pages);
        for (path, visits) in &now {
            assert!(visits.starts_with(&before[path]), "{path}: {visits:?}");
        }
        // Every page is still scheduled.
        let status = crawl.json(&["status"]);
        let count = |name: &str| status["pages"][name].as_u64().unwrap();
        let waiting = count("revisit") + count("queued") + count("retry");
        assert_eq!(waiting, pages.len() as u64, "{status}");
        before = now;
    }
    wait_for_the_round(&crawl);
    crawl.run(&[]);
    crawl.assert_sound();
    for (path, visits) in recorded(&crawl, &origin, &pages) {
        assert!(visits.starts_with(&before[&path]), "{path}: {visits:?}");
        let served = origin.logged_since(0);
        let served = served.iter().filter(|request| request.path == path).count();
        assert!(
            visits.len() <= served,
            "{path}: {} of {served}",
            visits.len()
        );
        let url = origin.url(&path);
        let mut seen = 0;
        for visit in visits.iter().filter(|visit| visit["status"] == 200).skip(1) {
            let kept = crawl.read(&["cat", &url, "--at", visit["time"].as_str().unwrap()]);
            let number = (0..=KILLS).find(|number| version(*number) == kept);
            if path.ends_with("/one.html") {
                assert!(number >= Some(seen), "{path}: {kept}");
                seen = number.unwrap();
            } else {
                assert_eq!(kept, fs::read_to_string(origin.file(&path)).unwrap());
            }
        }
        assert!(seen == KILLS || !path.ends_with("/one.html"), "{path}");
    }
}
