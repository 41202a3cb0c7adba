//! Redirects: to the same page, in chains, between twins, and from a seed to another site.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use crate::scripted_site::{ScriptedSite, crawl, links, page, run, run_without_answer, status};
use crate::support::assert_status;
use crate::{outcomes, resolver_to_loopback, settings};

#[test]
fn a_redirect_to_itself_that_sets_a_cookie_is_followed() {
    let site = ScriptedSite::start(|path, cookie, _| {
        match (path, cookie) {
        ("/", None) => "HTTP/1.1 302 Found\r\nLocation: /\r\nSet-Cookie: seen=1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_owned(),
        ("/", Some("seen=1")) => links(&["/inside"]),
        ("/inside", Some("seen=1")) => page("in"),
        ("/robots.txt", _) => String::new(),
        _ => status("404 Not Found"),
    }
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    run(&mut crawl(&collection, &site.url("/")));
    assert_eq!(site.requests(), ["/", "/", "/inside"]);
    assert_eq!(outcomes(&collection)["/"], "200");
}

/// The page is fetched twice in one visit, but only one revisit is scheduled.
#[test]
fn a_page_behind_a_redirect_to_itself_is_scheduled_once() {
    let site = ScriptedSite::start(|path, cookie, _| {
        match (path, cookie) {
        ("/", None) => "HTTP/1.1 302 Found\r\nLocation: /\r\nSet-Cookie: seen=1; Max-Age=600\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_owned(),
        ("/", Some(_)) => page("in"),
        ("/robots.txt", _) => String::new(),
        _ => status("404 Not Found"),
    }
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    run(&mut crawl(&collection, &site.url("/")));
    assert_eq!(site.requests(), ["/", "/"]);
    for requests in [3, 4] {
        run(crawl(&collection, &site.url("/")).arg("--again"));
        assert_eq!(site.requests().len(), requests);
    }
}

#[test]
fn endless_redirects_to_itself_are_given_up() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        _ => "HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            .to_owned(),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    for round in 1..4 {
        let mut again = crawl(&collection, &site.url("/"));
        if round > 1 {
            again.arg("--again");
        }
        let output = again.output().unwrap();
        assert_status(&output, 4);
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains("it redirects to itself"), "{text}");
        assert_eq!(site.requests().len(), 4 * round);
    }
}

/// The redirect and the truncation are both reasons for another request. Only one request may be scheduled.
#[test]
fn a_truncated_redirect_to_itself_is_scheduled_once() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        _ => {
            "HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 9\r\nConnection: close\r\n\r\ncut"
                .to_owned()
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let file = settings(folder.path(), "[retry]\nreset = [\"1ms\"]\n");
    let collection = folder.path().join("c");
    run_without_answer(crawl(&collection, &site.url("/")).arg("--config").arg(file));
    assert_eq!(site.requests().len(), 4);
}

#[test]
fn every_redirect_adds_one_to_the_depth() {
    let site = ScriptedSite::start(|path, _, _| {
        let number: u32 = path.trim_start_matches("/r").parse().unwrap_or(0);
        match path {
            "/robots.txt" => String::new(),
            _ => format!(
                "HTTP/1.1 301 Moved\r\nLocation: /r{}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                number + 1
            ),
        }
    });
    let folder = tempfile::tempdir().unwrap();
    run(crawl(&folder.path().join("c"), &site.url("/")).args(["--depth", "5"]));
    assert_eq!(site.requests().len(), 7);
}

/// `www.flip.test` and `flip.test` redirect to each other.
#[test]
fn twins_that_redirect_to_each_other_do_not_loop() {
    let resolver = resolver_to_loopback();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let requests = Arc::new(Mutex::new(0));
    let count = Arc::clone(&requests);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut host = String::new();
            let mut robots = false;
            for line in BufReader::new(&stream).lines().map_while(Result::ok) {
                robots |= line.contains("/robots.txt");
                if let Some(name) = line.strip_prefix("Host: ") {
                    name.clone_into(&mut host);
                }
                if line.is_empty() {
                    break;
                }
            }
            *count.lock().unwrap() += 1;
            let other = match host.strip_prefix("www.") {
                Some(bare) => bare.to_owned(),
                None => format!("www.{host}"),
            };
            let answer = if robots {
                status("404 Not Found")
            } else {
                format!(
                    "HTTP/1.1 301 Moved\r\nLocation: http://{other}/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                )
            };
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let mut command = crawl(
        &folder.path().join("c"),
        &format!("http://flip.test:{port}/"),
    );
    run_without_answer(command.args(["--resolver", &resolver]));
    let requests = *requests.lock().unwrap();
    assert!((4..=12).contains(&requests), "{requests} requests");
}

#[test]
fn the_target_of_a_redirected_seed_is_crawled() {
    let new = ScriptedSite::start(|path, _, _| match path {
        "/" => links(&["/inside"]),
        "/robots.txt" => String::new(),
        _ => page(path),
    });
    let target = new.url("/");
    let old = ScriptedSite::start(move |path, _, _| match path {
        "/robots.txt" => String::new(),
        _ => format!(
            "HTTP/1.1 301 Moved\r\nLocation: {target}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        ),
    });
    let folder = tempfile::tempdir().unwrap();
    run(&mut crawl(&folder.path().join("c"), &old.url("/")));
    assert_eq!(new.requests(), ["/", "/inside"]);
}
