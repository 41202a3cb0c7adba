//! Tests of seeds that cannot be fetched. The crawl says why, and scripts can see it in the exit status.

use std::path::Path;
use std::process::{Command, Output};

use crate::scripted_site::{ScriptedSite, page, status};
use crate::support::{aranha, assert_status};
use crate::{closed_port, resolver_to_loopback};

/// The command that crawls `seeds` with its messages on stderr.
fn crawl(folder: &Path, seeds: &[&str]) -> Command {
    let mut command = aranha();
    command
        .arg("crawl")
        .args(seeds)
        .args(["--pause", "0", "-c"])
        .arg(folder.join("c"));
    command
}

fn run(command: &mut Command, status: i32) -> (Output, String) {
    let output = command.output().unwrap();
    assert_status(&output, status);
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    (output, text)
}

/// The crawl prints one error with the flag that helps, and writes nothing. It does not ask for the contact that a
/// crawl of the public web needs.
#[test]
fn a_private_seed_names_the_flag_at_once() {
    let folder = tempfile::tempdir().unwrap();
    for seed in [
        "http://localhost:8000",
        "localhost:8000/a",
        "http://127.0.0.1:8000/",
        "http://192.168.1.7/",
        "http://[::1]:8000/",
        "http://wiki.localhost/",
    ] {
        let (_, text) = run(&mut crawl(folder.path(), &[seed]), 2);
        assert!(text.contains("hint: add --allow-private"), "{seed}: {text}");
        assert!(!folder.path().join("c").exists());
    }
}

/// Only the look-up shows that this name has a private address.
#[test]
fn a_name_with_a_private_address_names_the_flag_and_the_status_is_4() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = crawl(folder.path(), &["http://wiki.example:8000/"]);
    command.args(["--contact", "test@localhost", "--resolver"]);
    let (_, text) = run(command.arg(resolver_to_loopback()), 4);
    let expected = "http://wiki.example:8000/ failed: the address 127.0.0.1 is refused: loopback, 127.0.0.0/8 \
                    (--allow-private allows it)";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_crawl_without_any_seed_says_why_and_ends_with_status_4() {
    let folder = tempfile::tempdir().unwrap();
    let closed = format!("http://127.0.0.1:{}/", closed_port());
    let site = ScriptedSite::start(|path, _, _| {
        match path {
        "/robots.txt" => "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 25\r\n\r\nUser-agent: *\nDisallow: /".to_owned(),
        _ => page("secret"),
    }
    });
    let private = site.url("/private");
    let mut command = crawl(folder.path(), &[&closed, &private]);
    let (_, text) = run(command.arg("--allow-private"), 4);
    for expected in [
        format!("seed {closed} failed: connection failed: connection refused"),
        format!("seed {private} failed: robots.txt disallows it"),
        "error: no seed could be fetched; the first: http://127.0.0.1:".to_owned(),
    ] {
        assert!(text.contains(&expected), "no `{expected}` in {text}");
    }
    // The next crawl does not fetch the seeds either. It says so again, even with `--quiet`.
    let (_, text) = run(command.arg("--quiet"), 4);
    assert!(text.starts_with("error: "), "{text}");
    assert_eq!(text.lines().count(), 2, "{text}");
    // With `--json` a failure is printed as a notice. There is no notice for the page that robots.txt disallows,
    // because it waits for its next round.
    let (output, _) = run(command.arg("--json"), 4);
    let events = String::from_utf8(output.stdout).unwrap();
    let failed = |line: &&str| line.contains("\"notice\":\"seed_failed\"");
    assert_eq!(events.lines().filter(failed).count(), 1, "{events}");
}

/// The crawl succeeds if one seed gets a response. A response with an HTTP error is enough, but it is reported.
#[test]
fn a_seed_with_an_http_error_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let site = ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        _ => status("410 Gone"),
    });
    let mut command = crawl(folder.path(), &[&site.url("/old")]);
    let (_, text) = run(command.arg("--allow-private"), 0);
    let expected = "/old failed: the server answered with status 410";
    assert!(text.contains(expected), "{text}");
}

/// The first seed redirects twice, the last time to a server that refuses connections. The second seed redirects to a
/// page that does not exist.
#[test]
fn a_seed_that_redirects_to_a_dead_page_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let moved = |target: &str| status(&format!("301 Moved Permanently\r\nLocation: {target}"));
    let dead = format!("http://127.0.0.1:{}/", closed_port());
    let target = dead.clone();
    let site = ScriptedSite::start(move |path, _, _| match path {
        "/robots.txt" => String::new(),
        "/first" => moved("/second"),
        "/second" => moved(&target),
        "/old" => moved("/gone"),
        _ => status("404 Not Found"),
    });
    let start = |name: &str, seeds: &[&str]| {
        let seeds: Vec<_> = seeds.iter().map(|path| site.url(path)).collect();
        let seeds: Vec<_> = seeds.iter().map(String::as_str).collect();
        let mut command = crawl(&folder.path().join(name), &seeds);
        command.arg("--allow-private");
        command
    };
    std::fs::create_dir(folder.path().join("dead")).unwrap();
    let (_, text) = run(&mut start("dead", &["/first"]), 4);
    for expected in [
        format!("seed {dead} failed: connection failed: connection refused"),
        format!("error: the seed could not be fetched: {dead}"),
    ] {
        assert!(text.contains(&expected), "no `{expected}` in {text}");
    }
    std::fs::create_dir(folder.path().join("old")).unwrap();
    let (_, text) = run(&mut start("old", &["/old", "/first"]), 0);
    let expected = format!(
        "seed {} failed: the server answered with status 404 ({} redirects to it)",
        site.url("/gone"),
        site.url("/old")
    );
    assert!(text.contains(&expected), "{text}");
}
