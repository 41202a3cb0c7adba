//! Tests of robots.txt: files that are incomplete, unreachable or redirected, and Crawl-delay. Also tests the pause
//! after slow responses.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::scripted_site::{
    ScriptedSite, crawl, links, page, run, run_with_failures, run_without_answer, status,
};
use crate::support::{aranha, archive_text, assert_status};
use crate::{outcomes, settings};

/// A robots.txt file with a wrong Content-Encoding is still read. A file that ends too early allows no page, because
/// rules may be missing.
#[test]
fn an_incomplete_robots_txt_allows_nothing() {
    let check = |answer: &'static str, expected: &[&str]| {
        let site = ScriptedSite::start(move |path, _, _| match path {
            "/robots.txt" => format!("HTTP/1.1 200 OK\r\nConnection: close\r\n{answer}"),
            "/" => links(&["/open", "/shut"]),
            _ => page("here"),
        });
        let folder = tempfile::tempdir().unwrap();
        let file = settings(folder.path(), "[crawl]\nidle_wait = \"0s\"\n");
        let collection = folder.path().join("c");
        run_with_failures(crawl(&collection, &site.url("/")).arg("--config").arg(file));
        assert_eq!(site.requests(), expected, "{answer}");
    };
    check(
        "Content-Encoding: br\r\n\r\nUser-agent: *\nDisallow: /shut\n",
        &["/", "/open"],
    );
    check(
        "Transfer-Encoding: chunked\r\n\r\nd\r\nUser-agent: *\r\nno size\r\n",
        &[],
    );
}

#[test]
fn robots_txt_is_obeyed_for_the_user_agent_that_is_sent() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => {
            page("User-agent: MyBot\nDisallow: /private\n\nUser-agent: aranha\nDisallow: /open\n")
        }
        "/" => links(&["/private", "/open"]),
        _ => page(path),
    });
    let folder = tempfile::tempdir().unwrap();
    let mut command = crawl(&folder.path().join("c"), &site.url("/"));
    run(command.args(["--user-agent", "MyBot/1.0"]));
    assert_eq!(site.requests(), ["/", "/open"]);

    let file = settings(folder.path(), "[crawl]\nproduct = \"aranha\"\n");
    let mut command = crawl(&folder.path().join("d"), &site.url("/"));
    command.args(["--user-agent", "MyBot/1.0"]).arg("--config");
    let output = command.arg(file).output().unwrap();
    assert_status(&output, 2);
    let message = String::from_utf8_lossy(&output.stderr);
    let expected = "does not contain the product token `aranha`";
    assert!(message.contains(expected), "{message}");
}

/// robots.txt is ignored only on hosts that the user names, and the summary and the archive say so.
#[test]
fn robots_txt_can_be_ignored_on_own_hosts_only() {
    let own = ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => page("User-agent: *\nDisallow: /private\nCrawl-delay: 30\n"),
        "/" => page("<meta name=robots content=nofollow><a href=/private>p</a>"),
        _ => page(path),
    });
    let other = ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => page("User-agent: *\nDisallow: /private\n"),
        _ => page(path),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    let other_seed = format!("http://localhost:{}/private", other.port);
    let mut command = aranha();
    command.args(["crawl", &own.url("/"), &other_seed, "--json", "-c"]);
    command
        .arg(&collection)
        .args(["--allow-private", "--pause", "0"]);
    command.args(["--robots", "ignore", "--own-host", "127.0.0.1"]);
    let output = command
        .args(["--set", "crawl.soft_404=false"])
        .output()
        .unwrap();
    assert_status(&output, 0);
    assert_eq!(own.requests(), ["/", "/private"]);
    assert_eq!(other.requests(), Vec::<String>::new());
    let events = String::from_utf8(output.stdout).unwrap();
    let end: serde_json::Value = serde_json::from_str(events.lines().last().unwrap()).unwrap();
    assert_eq!(end["robots_ignored_on"], serde_json::json!(["127.0.0.1"]));

    let text = archive_text(&collection);
    let expected = "robots: ignore on the operator's own hosts (127.0.0.1), obey elsewhere\r\n";
    assert!(text.contains(expected), "{text}");

    let mut command = aranha();
    command.args(["why", &own.url("/private"), "-c"]);
    let why = command.arg(&collection).output().unwrap();
    let why = String::from_utf8(why.stdout).unwrap();
    assert!(
        why.contains("allowed: crawl.own_hosts names the host"),
        "{why}"
    );
}

#[test]
fn robots_txt_is_not_ignored_without_an_own_host() {
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    let mut command = crawl(&collection, "http://127.0.0.1:9/");
    let output = command.args(["--robots", "ignore"]).output().unwrap();
    assert_status(&output, 2);
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "error: crawl.robots (flag --robots): robots.txt can be ignored on your own hosts only, and crawl.own_hosts is empty\n\
         hint: name each of your hosts with --own-host\n"
    );
    assert!(!collection.exists());
}

#[test]
fn no_page_is_fetched_while_robots_txt_is_unreachable() {
    let site = ScriptedSite::start(|path, _, before| {
        match (path, before) {
        ("/robots.txt", 0) => status("500 Internal Server Error"),
        ("/robots.txt", _) => "HTTP/1.1 200 OK\r\nContent-Length: 33\r\nConnection: close\r\n\r\nUser-agent: *\r\nDisallow: /private".to_owned(),
        ("/", _) => links(&["/private", "/open"]),
        _ => page(path),
    }
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    run_without_answer(&mut crawl(&collection, &site.url("/")));
    assert_eq!(site.requests(), Vec::<String>::new());
    run(&mut crawl(&collection, &site.url("/")));
    assert_eq!(site.requests(), ["/", "/open"]);
    assert_eq!(outcomes(&collection)["/private"], "robots.txt refused");
}

#[test]
fn a_robots_txt_redirect_to_a_blocked_host_is_not_followed() {
    let shut = ScriptedSite::start(|_, _, _| page("never"));
    let target = shut.url("/rules");
    let site = ScriptedSite::start(move |path, _, _| match path {
        "/robots.txt" => format!(
            "HTTP/1.1 302 Found\r\nLocation: {target}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        ),
        _ => page("here"),
    });
    let folder = tempfile::tempdir().unwrap();
    let file = settings(
        folder.path(),
        &format!("[crawl]\nblacklist = [\"{}*\"]\n", shut.url("/")),
    );
    let collection = folder.path().join("c");
    run_without_answer(crawl(&collection, &site.url("/")).arg("--config").arg(file));
    assert_eq!(shut.requests(), Vec::<String>::new());
    assert_eq!(
        site.requests(),
        Vec::<String>::new(),
        "the rules are unknown"
    );
}

#[test]
fn a_crawl_delay_longer_than_the_pause_is_obeyed() {
    let times = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&times);
    let site = ScriptedSite::start(move |path, _, _| {
        log.lock().unwrap().push(Instant::now());
        match path {
            "/robots.txt" => {
                "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nUser-agent: *\nCrawl-delay: 0.3\n"
                    .to_owned()
            }
            "/" => links(&["/a", "/b"]),
            _ => page(path),
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let mut command = crawl(&folder.path().join("c"), &site.url("/"));
    run(command.args(["--connections", "8"]));
    assert_gaps(&times, 4, Duration::from_millis(300));
}

/// The pause after a response is at least `pause_factor` times the time that the response took.
#[test]
fn a_slow_server_gets_requests_less_often() {
    const TOOK: Duration = Duration::from_millis(150);
    let times = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&times);
    let site = ScriptedSite::start(move |path, _, _| {
        if path == "/robots.txt" {
            return String::new();
        }
        log.lock().unwrap().push(Instant::now());
        std::thread::sleep(TOOK);
        match path {
            "/" => links(&["/a", "/b"]),
            _ => page(path),
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let text = "[crawl]\npause = \"10ms\"\npause_factor = 3\nsoft_404 = false\n";
    let mut command = aranha();
    command.args(["crawl", &site.url("/"), "--allow-private", "--quiet"]);
    command.arg("-c").arg(folder.path().join("c"));
    run(command.arg("--config").arg(settings(folder.path(), text)));
    assert_gaps(&times, 3, TOOK + 3 * TOOK);
}

/// Checks the number of requests, and that each began at least `min_gap` after the previous one began.
#[track_caller]
fn assert_gaps(times: &Mutex<Vec<Instant>>, requests: usize, min_gap: Duration) {
    let times = times.lock().unwrap();
    assert_eq!(times.len(), requests);
    for pair in times.windows(2) {
        let gap = pair[1] - pair[0];
        assert!(gap >= min_gap, "{gap:?}");
    }
}
