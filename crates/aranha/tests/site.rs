//! What the crawl makes of one site that behaves in a particular way: a server of a few lines for each story, the real
//! binary, and the server's own list of what it was asked.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod story;
mod support;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use story::{Site, crawl, links, page, run, status};
use support::{aranha, pages};

/// Path to outcome, newest record.
fn outcomes(folder: &Path) -> BTreeMap<String, String> {
    let path = |url: &str| {
        url.splitn(4, '/')
            .nth(3)
            .map(|rest| format!("/{rest}"))
            .unwrap()
    };
    pages(folder)
        .into_iter()
        .map(|(url, page)| (path(&url), page["outcome"].as_str().unwrap().to_owned()))
        .collect()
}

fn settings(folder: &Path, text: &str) -> std::path::PathBuf {
    let file = folder.join("settings.toml");
    std::fs::write(&file, text).unwrap();
    file
}

#[test]
fn a_redirect_to_itself_behind_a_cookie_is_followed() {
    let site = Site::tell(|path, cookie, _| {
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
    assert_eq!(site.asked(), ["/", "/", "/inside"]);
    assert_eq!(outcomes(&collection)["/"], "200");
}

/// A page that is asked for again at once has one place in the schedule, not one for each answer.
#[test]
fn a_page_behind_its_own_redirect_is_visited_again_once() {
    let site = Site::tell(|path, cookie, _| {
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
    assert_eq!(site.asked(), ["/", "/"]);
    for requests in [3, 4] {
        run(crawl(&collection, &site.url("/")).arg("--again"));
        assert_eq!(site.asked().len(), requests);
    }
}

/// A site that was away in the first rounds, its robots.txt first and then the page, has another chance in each.
#[test]
fn a_page_that_was_never_answered_comes_again_with_the_next_round() {
    let site = Site::tell(|path, _, before| match (path, before) {
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
    run(crawl(&collection, &site.url("/")).arg("--config").arg(file));
    let began = Instant::now();
    while outcomes(&collection)
        .get("/")
        .is_none_or(|found| found != "200")
    {
        assert!(began.elapsed() < Duration::from_secs(30));
        run(aranha().args(["crawl", "--quiet", "-c"]).arg(&collection));
    }
    assert_eq!(site.asked()[..3], ["/", "/", "/"]);
    // What has an answer, and be it that there is nothing, is not asked for in vain.
    let asked = site.asked();
    assert_eq!(asked.iter().filter(|path| *path == "/nowhere").count(), 1);
}

/// Its pages wait for the next round together; they do not fail one by one, a request for every windowful of them.
#[test]
fn a_site_that_is_away_is_asked_once_however_many_pages_wait() {
    let asked = Arc::new(Mutex::new(0));
    let told = Arc::clone(&asked);
    let site = Site::tell(move |_, _, _| {
        *told.lock().unwrap() += 1;
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
    run(command
        .arg("-i")
        .arg(list)
        .arg("--config")
        .arg(file)
        .arg("-c")
        .arg(&collection));
    assert_eq!(*asked.lock().unwrap(), 2, "and by the retry table");
    run(aranha()
        .args(["crawl", "--quiet", "--allow-private", "-c"])
        .arg(&collection));
    assert_eq!(*asked.lock().unwrap(), 2);
    let found = outcomes(&collection);
    assert!(found.keys().all(|path| path == "/robots.txt"), "{found:?}");
}

/// A server that shows its home page whatever it is asked for has a home page.
#[test]
fn the_home_page_is_no_soft_404() {
    let site = Site::tell(|path, _, _| {
        let others: Vec<_> = (0..20).map(|number| format!("/{number}")).collect();
        let others: Vec<_> = others.iter().map(String::as_str).collect();
        match path {
            "/robots.txt" => String::new(),
            _ => links(&others),
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    run(&mut crawl(&collection, &site.url("/")));
    run(crawl(&collection, &site.url("/")).arg("--again"));
    let history = |path: &str| {
        let mut command = aranha();
        command.args(["history", &site.url(path), "--json", "-c"]);
        let told = command.arg(&collection).output().unwrap().stdout;
        let told: serde_json::Value = serde_json::from_slice(&told).unwrap();
        let visits = told["history"].as_array().unwrap().clone();
        let found = visits.iter().map(|visit| visit["found"].to_string());
        found.collect::<Vec<_>>()
    };
    assert_eq!(history("/"), ["\"new\"", "\"same\""]);
    let other = history("/19");
    assert_ne!(
        other.last().map(String::as_str),
        Some("\"same\""),
        "a soft 404: {other:?}"
    );
}

#[test]
fn a_page_that_redirects_to_itself_for_ever_ends() {
    let site = Site::tell(|path, _, _| match path {
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
        run(&mut again);
        assert_eq!(site.asked().len(), 4 * round);
    }
}

/// Cut off as well: it is asked for again for the one reason or for the other, not for both.
#[test]
fn a_redirect_to_itself_that_is_cut_off_has_one_place() {
    let site = Site::tell(|path, _, _| match path {
        "/robots.txt" => String::new(),
        _ => {
            "HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 9\r\nConnection: close\r\n\r\ncut"
                .to_owned()
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let file = settings(folder.path(), "[retry]\nreset = [\"1ms\"]\n");
    let collection = folder.path().join("c");
    run(crawl(&collection, &site.url("/")).arg("--config").arg(file));
    assert_eq!(site.asked().len(), 4);
}

/// Rules that cannot be read whole are not taken for all the rules; a wrong label does not hide them.
#[test]
fn rules_are_read_whole_or_not_at_all() {
    let check = |answer: &'static str, expected: &[&str]| {
        let site = Site::tell(move |path, _, _| match path {
            "/robots.txt" => format!("HTTP/1.1 200 OK\r\nConnection: close\r\n{answer}"),
            "/" => links(&["/open", "/shut"]),
            _ => page("here"),
        });
        let folder = tempfile::tempdir().unwrap();
        let file = settings(folder.path(), "[crawl]\nidle_wait = \"0s\"\n");
        let collection = folder.path().join("c");
        run(crawl(&collection, &site.url("/")).arg("--config").arg(file));
        assert_eq!(site.asked(), expected, "{answer}");
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
fn redirects_in_a_row_lead_deeper() {
    let site = Site::tell(|path, _, _| {
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
    assert_eq!(site.asked().len(), 7);
}

#[test]
fn one_page_in_trouble_does_not_stop_its_site() {
    let site = Site::tell(|path, _, _| match path {
        "/" => links(&["/a", "/broken", "/b", "/c"]),
        "/broken" => status("503 Service Unavailable"),
        "/robots.txt" => String::new(),
        _ => page(path),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    run(&mut crawl(&collection, &site.url("/")));
    assert_eq!(site.asked(), ["/", "/a", "/broken", "/b", "/c"]);
    let page = &pages(&collection)[&site.url("/broken")];
    assert!(page["next"].is_string(), "it is tried again later: {page}");
    // Asking for the site again is asking now.
    run(&mut crawl(&collection, &site.url("/")));
    assert_eq!(site.asked().last().unwrap(), "/broken");
}

#[test]
fn patience_is_kept_and_the_crawl_goes_on() {
    let site = Site::tell(|path, _, before| {
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
    let asked = site.asked();
    assert_eq!(
        asked.iter().filter(|path| *path == "/busy").count(),
        2,
        "{asked:?}"
    );
    assert_eq!(outcomes(&collection)["/busy"], "200");
    assert_eq!(outcomes(&collection)["/other"], "200");
}

/// Refuses this request, for a second: whatever is asked next, it comes later, and all pages come in the end.
#[track_caller]
fn check_patience(retry: &str, is_refused: fn(&str, usize) -> bool) {
    let log = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&log);
    let site = Site::tell(move |path, _, before| {
        let refused = is_refused(path, before);
        told.lock().unwrap().push((Instant::now(), refused));
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
    let refused = refused.expect("it was asked for");
    let [(refusal, _), (next, _), ..] = log[refused..] else {
        panic!("nothing was asked for afterwards");
    };
    let gap = next - refusal;
    assert!(gap >= Duration::from_secs(1), "{gap:?}");
    let outcomes = outcomes(&collection);
    let found = outcomes.values().filter(|outcome| *outcome == "200");
    assert!(found.count() >= 20, "{outcomes:?}");
}

#[test]
fn patience_that_is_asked_for_instead_of_robots_txt_is_kept() {
    check_patience("robots_unreachable = [\"1ms\"]", |path, before| {
        path == "/robots.txt" && before == 0
    });
}

#[test]
fn patience_that_the_page_that_never_was_is_answered_with_is_kept() {
    check_patience("", |path, _| path.starts_with("/aranha-"));
}

/// The same command continues a crawl: it must not begin with what the server asked not to do.
#[test]
fn patience_outlives_the_crawl() {
    for refused in ["/robots.txt", "/"] {
        let site = Site::tell(move |path, _, _| match path {
            path if path == refused => status("429 Too Many Requests\r\nRetry-After: 3600"),
            "/robots.txt" => String::new(),
            _ => links(&["/other"]),
        });
        let folder = tempfile::tempdir().unwrap();
        let collection = folder.path().join("c");
        let file = settings(folder.path(), "[crawl]\nidle_wait = \"100ms\"\n");
        run(crawl(&collection, &site.url("/")).arg("--config").arg(file));
        let asked = site.all();
        assert_eq!(asked.last().map(String::as_str), Some(refused));
        for flag in ["--quiet", "--again"] {
            run(aranha()
                .args(["crawl", &site.url("/"), flag, "--allow-private", "-c"])
                .arg(&collection));
            assert_eq!(site.all(), asked, "{flag}");
        }
    }
}

#[test]
fn patience_that_is_asked_for_at_the_last_try_is_kept() {
    check_patience("server_error = []", |path, _| path == "/7");
}

#[test]
fn an_answer_cut_off_is_used_and_tried_again() {
    let site = Site::tell(|path, _, before| {
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
fn the_page_limit_is_exact() {
    let site = Site::tell(|path, _, _| match path {
        "/" => links(&["/a", "/b", "/c", "/d", "/e"]),
        "/robots.txt" => String::new(),
        _ => page(path),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    run(crawl(&collection, &site.url("/")).args(["--pages", "3", "--connections", "4"]));
    assert_eq!(site.asked().len(), 3);
    run(&mut crawl(&collection, &site.url("/")));
    assert_eq!(
        site.asked().len(),
        6,
        "the limit is not kept for the next run"
    );
}

#[test]
fn time_and_size_limits_end_an_endless_site() {
    let site = Site::tell(|path, _, before| match path {
        "/robots.txt" => String::new(),
        _ => links(&[&format!("{path}{before}"), &format!("{path}x")]),
    });
    let folder = tempfile::tempdir().unwrap();
    run(crawl(&folder.path().join("time"), &site.url("/")).args(["--time", "500ms"]));
    run(crawl(&folder.path().join("size"), &site.url("/")).args(["--size", "20kB"]));
    let archive = std::fs::read_dir(folder.path().join("size/archive")).unwrap();
    let size: u64 = archive
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum();
    assert!((20_000..2_000_000).contains(&size), "{size}");
}

#[test]
fn what_is_queued_is_judged_again() {
    let site = Site::tell(|path, _, _| match path {
        "/" => links(&["/calendar/1", "/calendar/2", "/news"]),
        "/robots.txt" => String::new(),
        _ => page(path),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    run(crawl(&collection, &site.url("/")).args(["--pages", "1"]));
    run(crawl(&collection, &site.url("/")).args(["--reject", "path:/calendar/*"]));
    assert_eq!(site.asked(), ["/", "/news"]);
    assert_eq!(outcomes(&collection)["/calendar/1"], "out of scope");
}

/// Without its frontier a crawl would begin anew in the same folder, and nobody would notice.
#[test]
fn an_archive_without_its_frontier_is_not_a_new_crawl() {
    let site = Site::tell(|path, _, _| match path {
        "/robots.txt" => String::new(),
        _ => page("here"),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    run(&mut crawl(&collection, &site.url("/")));
    for end in [
        |path: &Path| std::fs::write(path, ""),
        |path: &Path| std::fs::remove_file(path),
    ] {
        end(&collection.join("frontier.db")).unwrap();
        assert_headless(&mut crawl(&collection, &site.url("/")));
        assert_headless(&mut again(&collection));
        assert_headless(&mut seed(&collection));
    }
    assert_eq!(site.asked(), ["/"]);
}

/// Links that wait for their sites are in files beside the database: a new one would not name them.
#[test]
fn runs_without_their_frontier_are_not_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    let file = collection.join("frontier.runs/7.run");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "links").unwrap();
    assert_headless(&mut seed(&collection));
    assert_headless(&mut crawl(&collection, "http://127.0.0.1:9/"));
    std::fs::write(collection.join("frontier.db"), "").unwrap();
    assert_headless(&mut seed(&collection));
    assert_headless(&mut again(&collection));
    assert_eq!(std::fs::read_to_string(file).unwrap(), "links");
}

/// `aranha crawl` without a URL.
fn again(collection: &Path) -> Command {
    let mut command = aranha();
    command
        .args(["crawl", "--allow-private", "--quiet", "-c"])
        .arg(collection);
    command
}

fn seed(collection: &Path) -> Command {
    let mut command = aranha();
    command
        .args(["seed", "add", "http://127.0.0.1:9/", "-c"])
        .arg(collection);
    command
}

#[track_caller]
fn assert_headless(command: &mut Command) {
    let output = command.output().unwrap();
    support::assert_status(&output, 1);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("frontier.db is missing or empty"), "{said}");
    assert!(
        said.contains("restore frontier.db and frontier.runs/"),
        "{said}"
    );
}

#[test]
fn a_black_listed_seed_is_not_asked() {
    let site = Site::tell(|_, _, _| page("never"));
    let folder = tempfile::tempdir().unwrap();
    let file = settings(
        folder.path(),
        &format!("[crawl]\nblacklist = [\"{}\"]\n", site.url("/")),
    );
    let collection = folder.path().join("c");
    run(crawl(&collection, &site.url("/")).arg("--config").arg(file));
    assert_eq!(site.asked(), Vec::<String>::new());
    assert_eq!(outcomes(&collection)["/"], "blocked");
}

/// A range shuts out every host that has such an address, by whatever name.
/// A list named beside a configuration file is found again from the collection that keeps the name.
#[test]
fn a_black_list_beside_the_configuration_is_found_again() {
    let site = Site::tell(|path, _, _| match path {
        "/robots.txt" => String::new(),
        "/" => links(&["/open", "/shut"]),
        _ => page("here"),
    });
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("cfg")).unwrap();
    std::fs::write(folder.path().join("cfg/list.txt"), site.url("/shut")).unwrap();
    std::fs::write(
        folder.path().join("cfg/mine.toml"),
        "[crawl]\nblacklist_files = [\"list.txt\"]\n",
    )
    .unwrap();
    let here = |command: &mut Command| run(command.current_dir(folder.path()));
    here(crawl(Path::new("c"), &site.url("/")).args(["--config", "cfg/mine.toml"]));
    here(&mut crawl(Path::new("c"), &site.url("/")));
    here(aranha().args(["why", &site.url("/shut"), "-c", "c"]));
    assert_eq!(site.asked(), ["/", "/open"]);
}

/// One byte that is no UTF-8 must not open everything that the list shuts out.
#[test]
fn a_black_list_that_cannot_be_read_is_not_an_empty_one() {
    let site = Site::tell(|path, _, _| match path {
        "/robots.txt" => String::new(),
        _ => page("here"),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    run(&mut crawl(&collection, &site.url("/")));
    let why = || {
        let mut command = aranha();
        command.args(["why", &site.url("/"), "-c"]).arg(&collection);
        command
    };
    run(&mut why());
    std::fs::write(collection.join("blacklist.txt"), b"127.0.0.1 # caf\xe9\n").unwrap();
    let output = why().output().unwrap();
    support::assert_status(&output, 1);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("blacklist.txt: "), "{said}");
}

#[test]
fn text_can_be_had_though_the_crawl_had_no_use_for_it() {
    let site = Site::tell(|path, _, _| match path {
        "/robots.txt" => String::new(),
        _ => page("<p>the spider sits in the web</p>"),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    let file = settings(folder.path(), "[page]\ntext = false\n");
    run(crawl(&collection, &site.url("/")).arg("--config").arg(file));
    let mut text = aranha();
    text.args(["text", &site.url("/"), "-c"]).arg(&collection);
    let output = text.output().unwrap();
    support::assert_status(&output, 0);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said, "the spider sits in the web\n");
}

#[test]
fn a_range_on_the_black_list_of_a_collection_holds_for_names() {
    let site = Site::tell(|path, _, _| match path {
        "/robots.txt" => String::new(),
        _ => page("here"),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    let seed = format!("http://localhost:{}/", site.port);
    run(&mut crawl(&collection, &seed));
    assert_eq!(site.asked(), ["/"]);
    run(aranha()
        .args(["block", "127.0.0.0/8", "::1", "-c"])
        .arg(&collection));
    run(crawl(&collection, &seed).arg("--again"));
    assert_eq!(site.asked(), ["/"]);
    assert_eq!(outcomes(&collection)["/"], "address refused");
}

/// A site is named without `www.`, and names have no capitals; people write both.
#[test]
fn what_was_shut_out_is_opened_by_the_same_name() {
    let site = Site::tell(|path, _, _| match path {
        "/robots.txt" => String::new(),
        _ => page("here"),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    let resolver = every_name_is_here();
    let home = format!("http://www.foo.example:{}/", site.port);
    let visit = || {
        run(crawl(&collection, &home).args(["--again", "--resolver", &resolver]));
        site.asked().len()
    };
    let told = |arguments: &[&str]| {
        let mut command = aranha();
        let output = command.args(arguments).arg("-c").arg(&collection);
        let output = output.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8(text).unwrap();
        (output.status.code().unwrap(), text)
    };
    assert_eq!(visit(), 1);
    for empty in ["", " ", "#foo"] {
        let (status, said) = told(&["block", empty]);
        assert_eq!(status, 2, "{said}");
        assert!(said.contains("hint: "), "{said}");
    }
    assert_eq!(told(&["block", "WWW.Foo.Example"]).0, 0);
    assert_eq!(visit(), 1);
    let (_, aside) = told(&["status", "--blocked"]);
    assert_eq!(
        aside,
        "WWW.Foo.Example  1 site  blocked by the black list\n"
    );
    let (_, aside) = told(&["status", "--blocked", "--json"]);
    assert!(aside.contains(r#""entry":"WWW.Foo.Example""#), "{aside}");
    let place = format!("-c {}", collection.display());
    let (_, why) = told(&["why", &home]);
    let hint = format!("aranha unblock 'WWW.Foo.Example' {place} opens it again");
    assert!(why.contains(&hint), "{why}");
    let (status, said) = told(&["unblock", "www.foo.EXAMPLE", "typo.example"]);
    assert_eq!(status, 1);
    assert!(
        said.contains("1 line taken off the black list, 1 site opened again"),
        "{said}"
    );
    assert!(said.contains("nothing named `typo.example` is"), "{said}");
    assert!(said.contains(&place), "{said}");
    assert_eq!(visit(), 2);
}

/// A link that is there and not followed is no link that nobody has read.
#[test]
fn why_does_not_deny_links_that_are_not_followed() {
    let site = Site::tell(|path, _, _| match path {
        "/robots.txt" => String::new(),
        "/" => page("<a href='/near'>near</a> <a rel=nofollow href='/marked'>marked</a>"),
        "/near" => links(&["/far"]),
        _ => page("here"),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    run(crawl(&collection, &site.url("/")).args(["--depth", "1"]));
    assert_eq!(site.asked(), ["/", "/near"]);
    for unknown in ["/marked", "/far"] {
        let mut why = aranha();
        why.args(["why", &site.url(unknown), "-c"]).arg(&collection);
        let said = String::from_utf8(why.output().unwrap().stdout).unwrap();
        let page = "not known: no page read so far has a link to it that is followed \
                    (not beyond crawl.depth = 1, not where a page or a link says nofollow)";
        assert!(said.contains(page), "{said}");
    }
}

/// The links that wait are in files beside the database: who copies one without the other is told so.
#[test]
fn lost_runs_are_found_out() {
    let other = Site::tell(|path, _, _| match path {
        "/robots.txt" => String::new(),
        _ => page("there"),
    });
    let link = other.url("/");
    let site = Site::tell(move |path, _, _| match path {
        "/robots.txt" => String::new(),
        _ => links(&[&link]),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    run(crawl(&collection, &site.url("/")).args(["--scope", "any"]));
    assert_eq!(other.asked(), ["/"]);
    let check = || {
        aranha()
            .args(["check", "-c"])
            .arg(&collection)
            .output()
            .unwrap()
    };
    support::assert_status(&check(), 0);
    std::fs::remove_dir_all(collection.join("frontier.runs")).unwrap();
    let output = check();
    support::assert_status(&output, 1);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("frontier.runs/"), "{said}");
    let output = again(&collection).output().unwrap();
    support::assert_status(&output, 1);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("hint: restore frontier.db and frontier.runs/"),
        "{said}"
    );
}

#[test]
fn robots_txt_does_not_lead_to_what_is_shut_out() {
    let shut = Site::tell(|_, _, _| page("never"));
    let target = shut.url("/rules");
    let site = Site::tell(move |path, _, _| match path {
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
    run(crawl(&collection, &site.url("/")).arg("--config").arg(file));
    assert_eq!(shut.asked(), Vec::<String>::new());
    assert_eq!(site.asked(), Vec::<String>::new(), "there may be rules");
}

#[test]
fn an_address_refused_once_can_be_allowed_later() {
    let site = Site::tell(|path, _, _| {
        if path == "/robots.txt" {
            String::new()
        } else {
            page("here")
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    run(aranha()
        .args([
            "crawl",
            &site.url("/"),
            "--contact",
            "me@example.org",
            "--pause",
            "0",
            "--quiet",
            "-c",
        ])
        .arg(&collection));
    assert_eq!(site.asked(), Vec::<String>::new());
    run(&mut crawl(&collection, &site.url("/")));
    assert_eq!(outcomes(&collection)["/"], "200");
}

#[test]
fn without_robots_txt_nothing_is_asked_until_it_can_be_read() {
    let site = Site::tell(|path, _, before| {
        match (path, before) {
        ("/robots.txt", 0) => status("500 Internal Server Error"),
        ("/robots.txt", _) => "HTTP/1.1 200 OK\r\nContent-Length: 33\r\nConnection: close\r\n\r\nUser-agent: *\r\nDisallow: /private".to_owned(),
        ("/", _) => links(&["/private", "/open"]),
        _ => page(path),
    }
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    run(&mut crawl(&collection, &site.url("/")));
    assert_eq!(site.asked(), Vec::<String>::new());
    run(&mut crawl(&collection, &site.url("/")));
    assert_eq!(site.asked(), ["/", "/open"]);
    assert_eq!(outcomes(&collection)["/private"], "robots.txt refused");
}

/// A name server for which every name is on loopback; its address.
fn every_name_is_here() -> String {
    let names = UdpSocket::bind("127.0.0.1:0").unwrap();
    let resolver = names.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let mut query = [0; 512];
        while let Ok((length, from)) = names.recv_from(&mut query) {
            // The question comes back with one answer: its own name, A, IN, 60 s, 127.0.0.1.
            let end = 12
                + query[12..length]
                    .iter()
                    .position(|byte| *byte == 0)
                    .unwrap()
                + 5;
            let address = query[end - 4..end - 2] == [0, 1];
            let mut answer = query[..end].to_vec();
            answer[2..4].copy_from_slice(&[0x81, 0x80]);
            answer[6..12].copy_from_slice(&[0, u8::from(address), 0, 0, 0, 0]);
            if address {
                answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1]);
            }
            let _ = names.send_to(&answer, from);
        }
    });
    resolver
}

/// Twins that redirect to each other, name by name: the crawl gives up instead of going to and fro.
#[test]
fn twins_that_redirect_to_each_other_end() {
    let resolver = every_name_is_here();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Arc::new(Mutex::new(0));
    let count = Arc::clone(&asked);
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
    run(command.args(["--resolver", &resolver]));
    let asked = *asked.lock().unwrap();
    assert!((4..=12).contains(&asked), "{asked} requests");
}

#[test]
fn a_crawl_delay_longer_than_the_pause_is_kept() {
    let times = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&times);
    let site = Site::tell(move |path, _, _| {
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
    let times = times.lock().unwrap();
    assert_eq!(times.len(), 4);
    for pair in times.windows(2) {
        let gap = pair[1] - pair[0];
        assert!(gap >= Duration::from_millis(300), "{gap:?}");
    }
}

#[test]
fn a_seed_that_moved_is_crawled_where_it_went() {
    let new = Site::tell(|path, _, _| match path {
        "/" => links(&["/inside"]),
        "/robots.txt" => String::new(),
        _ => page(path),
    });
    let target = new.url("/");
    let old = Site::tell(move |path, _, _| match path {
        "/robots.txt" => String::new(),
        _ => format!(
            "HTTP/1.1 301 Moved\r\nLocation: {target}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        ),
    });
    let folder = tempfile::tempdir().unwrap();
    run(&mut crawl(&folder.path().join("c"), &old.url("/")));
    assert_eq!(new.asked(), ["/", "/inside"]);
}
