//! Servers that fail: retries, Retry-After, and truncated responses.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::scripted_site::{
    ScriptedSite, crawl, links, page, run, run_with_failures, run_without_answer, status,
};
use crate::support::{aranha, pages};
use crate::{outcomes, settings};

/// robots.txt fails in the first rounds; in the next rounds the page fails.
#[test]
fn a_page_whose_server_failed_is_tried_again_every_round() {
    let site = ScriptedSite::start(|path, _, before| match (path, before) {
        ("/robots.txt" | "/", 0 | 1) => status("503 Service Unavailable"),
        ("/robots.txt", _) => String::new(),
        ("/", _) => links(&["/nowhere"]),
        _ => status("404 Not Found"),
    });
    let folder = tempfile::tempdir().unwrap();
    let file = settings(
        folder.path(),
        "[crawl]\nidle_wait = \"100ms\"\npause = \"0s\"\n[fetch]\nallow_private = true\n[retry]\nserver_error = [\"1ms\"]\nrobots_unreachable = [\"1ms\"]\n\
         [revisit]\npolicy = \"fixed\"\nevery = \"1s\"\nspread = 0\n",
    );
    let collection = folder.path().join("c");
    run_with_failures(crawl(&collection, &site.url("/")).arg("--config").arg(file));
    let start = Instant::now();
    while outcomes(&collection)
        .get("/")
        .is_none_or(|found| found != "200")
    {
        assert!(start.elapsed() < Duration::from_secs(30));
        run_with_failures(aranha().args(["crawl", "--quiet", "-c"]).arg(&collection));
    }
    assert_eq!(site.requests()[..3], ["/", "/", "/"]);
    // A 404 response is not a failure, so the page is not retried.
    let requests = site.requests();
    assert_eq!(
        requests.iter().filter(|path| *path == "/nowhere").count(),
        1
    );
}

/// All pages of the site wait for the next round together. The site must not get one request for each window of pages.
#[test]
fn an_unreachable_site_gets_one_request_for_all_its_pages() {
    let requests = Arc::new(Mutex::new(0));
    let counter = Arc::clone(&requests);
    let site = ScriptedSite::start(move |_, _, _| {
        *counter.lock().unwrap() += 1;
        status("503 Service Unavailable")
    });
    let folder = tempfile::tempdir().unwrap();
    let file = settings(
        folder.path(),
        "[crawl]\nidle_wait = \"100ms\"\n[retry]\nrobots_unreachable = [\"1ms\"]\n[revisit]\nevery = \"7d\"\n",
    );
    let seeds: Vec<_> = (0..600).map(|n| site.url(&format!("/{n}"))).collect();
    let list = folder.path().join("seeds.txt");
    std::fs::write(&list, seeds.join("\n")).unwrap();
    let collection = folder.path().join("c");
    let mut command = aranha();
    command.args(["crawl", "--allow-private", "--pause", "0", "--quiet"]);
    run_without_answer(
        command
            .arg("-i")
            .arg(list)
            .arg("--config")
            .arg(file)
            .arg("-c")
            .arg(&collection),
    );
    assert_eq!(*requests.lock().unwrap(), 2, "one request and one retry");
    run(aranha()
        .args(["crawl", "--quiet", "--allow-private", "-c"])
        .arg(&collection));
    assert_eq!(*requests.lock().unwrap(), 2);
    let found = outcomes(&collection);
    assert!(found.keys().all(|path| path == "/robots.txt"), "{found:?}");
}

#[test]
fn a_failing_page_does_not_stop_its_site() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/" => links(&["/a", "/broken", "/b", "/c"]),
        "/broken" => status("503 Service Unavailable"),
        "/robots.txt" => String::new(),
        _ => page(path),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    run(&mut crawl(&collection, &site.url("/")));
    assert_eq!(site.requests(), ["/", "/a", "/broken", "/b", "/c"]);
    let page = &pages(&collection)[&site.url("/broken")];
    assert!(page["next"].is_string(), "a retry is scheduled: {page}");
    // If a seed is given again, all pages of its site that wait for a retry become due immediately.
    run(&mut crawl(&collection, &site.url("/")));
    assert_eq!(site.requests().last().unwrap(), "/broken");
}

/// `--again` includes pages without a next visit (404, policy `never`) and pages that wait for a retry. A second
/// `--again` requests each of them once.
#[test]
fn the_again_flag_requests_failed_pages_too() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/" => links(&["/absent", "/broken", "/fine", "/private"]),
        "/absent" => status("404 Not Found"),
        "/broken" => status("503 Service Unavailable"),
        "/robots.txt" => page("User-agent: *\nDisallow: /private"),
        _ => page(path),
    });
    for policy in ["fixed", "never"] {
        let folder = tempfile::tempdir().unwrap();
        let collection = folder.path().join("c");
        for number in 0..3 {
            let before = site.requests().len();
            let mut command = aranha();
            command.args(["crawl", "--allow-private", "--pause", "0", "--quiet"]);
            command.args(["--revisit", policy, "-c"]).arg(&collection);
            match number {
                0 => run(command.arg(site.url("/"))),
                _ => run(command.arg("--again")),
            }
            let mut requests = site.requests().split_off(before);
            requests.sort();
            assert_eq!(
                requests,
                ["/", "/absent", "/broken", "/fine"],
                "{policy}, crawl {number}"
            );
        }
    }
}

/// A site that could not be reached waits for hours. `--again` does not wait.
#[test]
fn the_again_flag_requests_sites_that_wait_for_a_retry() {
    let site = ScriptedSite::start(|path, _, before| match (path, before) {
        ("/robots.txt", 0) => status("503 Service Unavailable"),
        ("/robots.txt", _) => String::new(),
        _ => page(path),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    run_without_answer(&mut crawl(&collection, &site.url("/")));
    assert_eq!(site.requests(), Vec::<String>::new());
    let again = |flag: &str| {
        run(aranha()
            .args(["crawl", "--allow-private", "--pause", "0", flag, "-c"])
            .arg(&collection));
        site.requests()
    };
    assert_eq!(again("--quiet"), Vec::<String>::new(), "the site waits");
    assert_eq!(again("--again"), ["/"]);
}

#[test]
fn a_truncated_response_is_used_and_retried() {
    let site = ScriptedSite::start(|path, _, before| {
        match (path, before) {
        ("/", 0) => "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5000\r\n\r\n<a href=/early>early</a>".to_owned(),
        ("/", _) => links(&["/early", "/late"]),
        ("/robots.txt", _) => String::new(),
        _ => page(path),
    }
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    let file = settings(folder.path(), "[retry]\nreset = [\"1ms\"]\n");
    run(crawl(&collection, &site.url("/")).arg("--config").arg(file));
    let outcomes = outcomes(&collection);
    assert_eq!(outcomes.get("/early").map(String::as_str), Some("200"));
    assert_eq!(outcomes.get("/late").map(String::as_str), Some("200"));
}

#[test]
fn retry_after_is_obeyed_and_the_crawl_continues() {
    let site = ScriptedSite::start(|path, _, before| {
        match (path, before) {
        ("/", _) => links(&["/busy", "/other"]),
        ("/busy", 0) => {
            "HTTP/1.1 429 Too Many\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_owned()
        }
        ("/robots.txt", _) => String::new(),
        _ => page(path),
    }
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    let file = settings(folder.path(), "[retry]\nslow_down = [\"1ms\"]\n");
    run(crawl(&collection, &site.url("/")).arg("--config").arg(file));
    let requests = site.requests();
    assert_eq!(
        requests.iter().filter(|path| *path == "/busy").count(),
        2,
        "{requests:?}"
    );
    assert_eq!(outcomes(&collection)["/busy"], "200");
    assert_eq!(outcomes(&collection)["/other"], "200");
}

/// The server refuses one request with `Retry-After: 1`. The next request to it must come a second later or more, and
/// all pages must be fetched in the end.
#[track_caller]
fn check_retry_after(retry: &str, is_refused: fn(&str, usize) -> bool) {
    let log = Arc::new(Mutex::new(Vec::new()));
    let server_log = Arc::clone(&log);
    let site = ScriptedSite::start(move |path, _, before| {
        let refused = is_refused(path, before);
        server_log.lock().unwrap().push((Instant::now(), refused));
        let others: Vec<_> = (0..20).map(|number| format!("/{number}")).collect();
        let others: Vec<_> = others.iter().map(String::as_str).collect();
        match path {
            _ if refused => status("503 Service Unavailable\r\nRetry-After: 1"),
            "/robots.txt" => String::new(),
            "/" => links(&others),
            path if others.contains(&path) => page(path),
            _ => status("404 Not Found"),
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    let file = settings(folder.path(), &format!("[retry]\n{retry}\n"));
    let mut command = crawl(&collection, &site.url("/"));
    run(command.args(["--connections", "1", "--config"]).arg(file));
    let log = log.lock().unwrap();
    let refused = log.iter().position(|(_, refused)| *refused);
    let refused = refused.expect("the page was requested");
    let [(refusal, _), (next, _), ..] = log[refused..] else {
        panic!("there was no later request");
    };
    let gap = next - refusal;
    assert!(gap >= Duration::from_secs(1), "{gap:?}");
    let outcomes = outcomes(&collection);
    let found = outcomes.values().filter(|outcome| *outcome == "200");
    assert!(found.count() >= 20, "{outcomes:?}");
}

#[test]
fn retry_after_of_robots_txt_is_obeyed() {
    check_retry_after("robots_unreachable = [\"1ms\"]", |path, before| {
        path == "/robots.txt" && before == 0
    });
}

#[test]
fn retry_after_of_the_soft_404_probe_is_obeyed() {
    check_retry_after("", |path, _| path.starts_with("/aranha-"));
}

/// Retry-After is stored. A crawl that continues must obey it, even with `--again`.
#[test]
fn retry_after_is_obeyed_by_the_next_crawl() {
    for refused in ["/robots.txt", "/"] {
        let site = ScriptedSite::start(move |path, _, _| match path {
            path if path == refused => status("429 Too Many Requests\r\nRetry-After: 3600"),
            "/robots.txt" => String::new(),
            _ => links(&["/other"]),
        });
        let folder = tempfile::tempdir().unwrap();
        let collection = folder.path().join("c");
        let file = settings(folder.path(), "[crawl]\nidle_wait = \"100ms\"\n");
        run_with_failures(crawl(&collection, &site.url("/")).arg("--config").arg(file));
        let requests = site.all_requests();
        assert_eq!(requests.last().map(String::as_str), Some(refused));
        for flag in ["--quiet", "--again"] {
            run(aranha()
                .args(["crawl", &site.url("/"), flag, "--allow-private", "-c"])
                .arg(&collection));
            assert_eq!(site.all_requests(), requests, "{flag}");
        }
    }
}

#[test]
fn retry_after_of_the_last_try_is_obeyed() {
    check_retry_after("server_error = []", |path, _| path == "/7");
}
