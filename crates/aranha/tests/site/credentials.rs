//! Tests which servers receive the headers, credentials and cookies of the user, and that no file of the collection
//! contains a secret.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::scripted_site::{crawl, page};
use crate::support::{aranha, archive_text, assert_status};

/// A server that records the request heads and links to another URL.
struct Recorder {
    port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Recorder {
    fn start(link: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&heads);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let lines = BufReader::new(&stream).lines();
                let lines = lines
                    .map_while(Result::ok)
                    .take_while(|line| !line.is_empty());
                let head: String = lines.map(|line| line + "\n").collect();
                let body = format!("<a href='{link}'>next</a>");
                log.lock().unwrap().push(head);
                let _ = stream.write_all(page(&body).as_bytes());
            }
        });
        Self { port, heads }
    }

    /// The values of a header in all requests for pages.
    fn values(&self, name: &str) -> Vec<String> {
        let heads = self.heads.lock().unwrap();
        let start = format!("{name}: ");
        let of_head = |head: &String| {
            let line = head.lines().find_map(|line| line.strip_prefix(&start));
            line.unwrap_or("-").to_owned()
        };
        heads.iter().map(of_head).collect()
    }
}

/// Checks that no file below `folder` contains one of the texts.
fn assert_absent(folder: &Path, texts: &[&str]) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assert_absent(&path, texts);
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        for text in texts {
            let found = bytes
                .windows(text.len())
                .any(|window| window == text.as_bytes());
            assert!(!found, "{} contains {text}", path.display());
        }
    }
}

const SECRETS: &[&str] = &["s3cret", "YW5uYTpzM2NyZXQ=", "t0ken", "k3ks"];

#[test]
fn secrets_go_to_their_origin_only_and_are_stored_nowhere() {
    let other = Recorder::start("/".to_owned());
    let site = Recorder::start(format!("http://localhost:{}/", other.port));
    let folder = tempfile::tempdir().unwrap();
    let (collection, cookies) = (folder.path().join("c"), folder.path().join("cookies.txt"));
    std::fs::write(&cookies, "127.0.0.1\tFALSE\t/\tFALSE\t0\tsession\tk3ks\n").unwrap();
    let origin = format!("http://127.0.0.1:{}", site.port);
    let mut command = aranha();
    command.args([
        "crawl",
        &format!("{origin}/"),
        "--allow-private",
        "--pause",
        "0",
    ]);
    command
        .args(["--scope", "any", "--json", "--log", "trace", "-c"])
        .arg(&collection);
    command
        .args(["--auth", &format!("{origin}=basic anna:s3cret")])
        .arg("--cookies")
        .arg(&cookies);
    let output = command
        .args(["--header", "X-Project: one"])
        .output()
        .unwrap();
    assert_status(&output, 0);

    let is_all = |values: Vec<String>, expected: &str| {
        assert!(
            !values.is_empty() && values.iter().all(|value| value == expected),
            "{values:?}"
        );
    };
    is_all(site.values("Authorization"), "Basic YW5uYTpzM2NyZXQ=");
    is_all(site.values("Cookie"), "session=k3ks");
    is_all(site.values("X-Project"), "one");
    is_all(other.values("Authorization"), "-");
    is_all(other.values("Cookie"), "-");
    is_all(other.values("X-Project"), "one");

    for stream in [&output.stdout, &output.stderr] {
        let text = String::from_utf8_lossy(stream);
        assert!(
            !SECRETS.iter().any(|secret| text.contains(secret)),
            "{text}"
        );
    }
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(
        messages.contains("is not stored in aranha.toml"),
        "{messages}"
    );
    assert_absent(&collection, SECRETS);
    let archive = archive_text(&collection);
    assert!(archive.contains("Authorization: (hidden)\r\nCookie: (hidden)\r\n"));
    assert!(archive.contains("X-Project: one\r\n"));
    assert!(!SECRETS.iter().any(|secret| archive.contains(secret)));
}

/// A reference to a file or to a variable is stored, so that later crawls use the credentials again.
#[test]
fn references_to_secrets_are_stored_and_read_again() {
    let site = Recorder::start("/b".to_owned());
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    std::fs::write(folder.path().join("token.txt"), "t0ken\n").unwrap();
    let origin = format!("http://127.0.0.1:{}", site.port);
    let mut command = crawl(&collection, &origin);
    command.current_dir(folder.path()).args(["--pages", "1"]);
    let output = command
        .args(["--auth", &format!("{origin}=bearer @token.txt")])
        .output()
        .unwrap();
    assert_status(&output, 0);
    assert_absent(&collection, SECRETS);
    let mut later = aranha();
    let output = later
        .args(["crawl", "--quiet", "-c"])
        .arg(&collection)
        .output()
        .unwrap();
    assert_status(&output, 0);
    let values = site.values("Authorization");
    assert!(
        values.len() >= 3 && values.iter().all(|value| value == "Bearer t0ken"),
        "{values:?}"
    );
    let shown = aranha()
        .args(["config", "show", "-c"])
        .arg(&collection)
        .output()
        .unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("bearer @/"), "{shown}");
    assert!(!shown.contains("t0ken"), "{shown}");
}

#[test]
fn messages_do_not_quote_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let check = |arguments: &[&str], status: i32, expected: &str| {
        let mut command = aranha();
        command
            .args(arguments)
            .arg("-c")
            .arg(folder.path().join("c"));
        let output = command.output().unwrap();
        assert_status(&output, status);
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(text.contains(expected), "{text}");
        assert!(
            !SECRETS.iter().any(|secret| text.contains(secret)),
            "{text}"
        );
    };
    let config_show = ["config", "show", "--auth"];
    let with = |text: &'static str| [&config_show[..], &[text]].concat();
    check(
        &with("https://example.org=basic a:s3cret"),
        0,
        "\"basic (hidden)\"",
    );
    check(
        &with("https://example.org=s3cret"),
        2,
        "expected `basic USER:PASSWORD`",
    );
    check(
        &["config", "show", "--header", "Authorization: s3cret"],
        2,
        "use fetch.auth (--auth)",
    );
    let set = [
        "config",
        "show",
        "--set",
        "fetch.auth.\"https://example.org\"=s3cret",
    ];
    check(&set, 2, "expected `basic USER:PASSWORD`");
    let crawl = ["crawl", "http://127.0.0.1:9/", "--allow-private", "--auth"];
    let missing = [
        &crawl[..],
        &["http://127.0.0.1:9=bearer $ARANHA_NO_SUCH_VARIABLE"],
    ]
    .concat();
    check(
        &missing,
        2,
        "the environment variable ARANHA_NO_SUCH_VARIABLE is not set",
    );
    let path = [&crawl[..], &["http://127.0.0.1:9/a=bearer s3cret"]].concat();
    check(&path, 2, "is not an origin such as https://example.org");
    let seed = ["url", "canon", "http://anna:s3cret@example.org/"];
    let output = aranha().args(seed).output().unwrap();
    assert_eq!(output.stdout, b"http://example.org/\n");
    let add = ["seed", "add", "https://anna:s3cret@example.org/"];
    check(&add, 0, "user name and password in the URL are not used");
    check(
        &["seed", "add", "https://anna:s3cret@exa mple.org/"],
        2,
        "cannot be crawled",
    );
    assert_absent(&folder.path().join("c"), SECRETS);
}

#[test]
fn connections_come_from_the_bound_address() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let peers = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&peers);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            log.lock()
                .unwrap()
                .push(stream.peer_addr().unwrap().ip().to_string());
            let lines = BufReader::new(&stream).lines().map_while(Result::ok);
            let _ = lines.take_while(|line| !line.is_empty()).count();
            let _ = stream.write_all(page("here").as_bytes());
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let mut command = crawl(&folder.path().join("c"), &url);
    command.args(["--bind-address", "127.0.0.2"]);
    let output = command.output().unwrap();
    assert_status(&output, 0);
    let peers = peers.lock().unwrap();
    assert!(
        !peers.is_empty() && peers.iter().all(|peer| peer == "127.0.0.2"),
        "{peers:?}"
    );
    let mut command = crawl(&folder.path().join("d"), &url);
    let output = command
        .args(["--bind-address", "192.0.2.1"])
        .output()
        .unwrap();
    assert_status(&output, 2);
    assert!(!folder.path().join("d").exists());
}
