//! Tests of `aranha listen`: requests over loopback, their responses, and the signals that are written.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Stdio};

use ring::hmac;
use serde_json::{Value, json};
use support::{aranha, assert_status};

const KEY: &str = "5f0c7e1a9b3d4c26";
const FEED: &str = "https://example.org/feed.xml";

struct Listener {
    child: Child,
    address: SocketAddr,
    folder: tempfile::TempDir,
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Listener {
    fn start(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let seeded = aranha()
            .args(["seed", "add", "https://example.org/", "-c"])
            .arg(folder.path())
            .output()
            .unwrap();
        assert_status(&seeded, 0);
        let mut child = aranha()
            .args(["listen", "--port", "0", "-c"])
            .arg(folder.path())
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut messages = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        messages.read_line(&mut line).unwrap();
        let address = line.strip_prefix("listening on http://").unwrap();
        let address = address.split('/').next().unwrap().parse().unwrap();
        // The server must work with a closed stderr.
        drop(messages);
        Self {
            child,
            address,
            folder,
        }
    }

    /// Sends these bytes as a request. Returns status and body of the response.
    fn raw(&self, request: &[u8]) -> (u16, String) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        // The server may respond and close before it has read everything.
        let _ = stream.write_all(request);
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        let status = response.split(' ').nth(1).unwrap().parse().unwrap();
        let (_, body) = response.split_once("\r\n\r\n").unwrap();
        (status, body.to_owned())
    }

    fn get(&self, target: &str) -> (u16, String) {
        self.raw(format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes())
    }

    fn post(&self, target: &str, headers: &str, body: &str) -> u16 {
        let length = body.len();
        let request = format!(
            "POST {target} HTTP/1.1\r\nHost: x\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
        );
        self.raw(request.as_bytes()).0
    }

    fn push(&self, body: &Value) -> u16 {
        self.post("/indexnow", "", &body.to_string())
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("signals.jsonl")
    }

    /// Reads and removes the signals. Returns the source and the time of each signal, by URL.
    fn signals(&self) -> BTreeMap<String, (String, i64)> {
        let text = std::fs::read_to_string(self.path()).unwrap_or_default();
        let _ = std::fs::remove_file(self.path());
        let read = |line: &str| {
            let signal: Value = serde_json::from_str(line).unwrap();
            let text = |name: &str| signal[name].as_str().unwrap().to_owned();
            (
                text("url"),
                (text("source"), signal["at"].as_i64().unwrap()),
            )
        };
        text.lines().map(read).collect()
    }

    #[track_caller]
    fn assert_signals(&self, source: &str, urls: &[&str]) {
        let signals = self.signals();
        assert!(signals.values().all(|(own, _)| own == source));
        assert_eq!(signals.into_keys().collect::<Vec<_>>(), urls);
    }
}

#[test]
fn indexnow_notifications_become_signals() {
    let listener = Listener::start(&["--key", &format!("example.org={KEY}")]);
    let push = |urls: &[&str]| json!({"host": "example.org", "key": KEY, "urlList": urls});
    let query = |url: &str, key: &str| listener.get(&format!("/indexnow?url={url}&key={key}")).0;

    assert_eq!(query("https%3A%2F%2Fexample.org%2Fa%3Fb%3Dc", KEY), 200);
    listener.assert_signals("indexnow", &["https://example.org/a?b=c"]);
    assert_eq!(
        listener.push(&push(&["https://example.org/1", "https://example.org/2"])),
        200
    );
    listener.assert_signals(
        "indexnow",
        &["https://example.org/1", "https://example.org/2"],
    );

    // Invalid notifications are rejected, and no signal is written.
    assert_eq!(query("https://example.org/", "0000000000000000"), 403);
    assert_eq!(query("https://example.com/", KEY), 403, "another's key");
    assert_eq!(query("https://example.org/", "short"), 422);
    assert_eq!(listener.get(&format!("/indexnow?key={KEY}")).0, 400);
    assert_eq!(
        listener.push(&push(&["https://example.org/", "https://example.com/"])),
        422
    );
    assert_eq!(listener.push(&push(&[])), 400);
    assert_eq!(listener.push(&json!([1, 2])), 400);
    assert_eq!(listener.post("/indexnow", "", "{"), 400);
    let many: Vec<_> = (0..10_001)
        .map(|n| format!("https://example.org/{n}"))
        .collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    assert_eq!(listener.push(&push(&many)), 400);
    listener.assert_signals("indexnow", &[]);
    assert_eq!(listener.push(&push(&many[..10_000])), 200);
    assert_eq!(listener.signals().len(), 10_000);

    // With `keyLocation`, a key is valid only for the folder in which the key file is.
    let mut below = push(&["https://example.org/news/1"]);
    below["keyLocation"] = json!(format!("https://example.org/news/{KEY}.txt"));
    assert_eq!(listener.push(&below), 200);
    below["urlList"] = json!(["https://example.org/other"]);
    assert_eq!(listener.push(&below), 422);
    below["keyLocation"] = json!(format!("https://example.com/{KEY}.txt"));
    assert_eq!(listener.push(&below), 422);
    listener.assert_signals("indexnow", &["https://example.org/news/1"]);

    // Keys added to the file work at once. A notification about a host out of scope is accepted, but no signal is
    // written.
    let keys = listener.folder.path().join("indexnow-keys.txt");
    std::fs::write(keys, format!("# others\nexample.com={KEY}\n")).unwrap();
    assert_eq!(query("https://example.com/", KEY), 200);
    listener.assert_signals("indexnow", &[]);

    let mut pushed = 10_003;
    while listener.push(&push(&many[..10_000])) == 200 {
        pushed += 10_000;
    }
    assert_eq!(listener.push(&push(&many[..10_000])), 429);
    assert!((90_000..=100_000).contains(&pushed), "{pushed}");
}

#[test]
fn websub_notifications_become_signals() {
    let listener = Listener::start(&["--topic", FEED, "--secret", "s3cret"]);
    let ask = |mode: &str, topic: &str| {
        listener.get(&format!(
            "/websub?hub.mode={mode}&hub.topic={topic}&hub.challenge=abc%20123&hub.lease_seconds=60"
        ))
    };
    assert_eq!(ask("subscribe", FEED), (200, "abc 123".to_owned()));
    assert_eq!(ask("denied", FEED), (200, String::new()));
    assert_eq!(
        ask("unsubscribe", FEED).0,
        404,
        "the user did not unsubscribe"
    );
    assert_eq!(ask("subscribe", "https://example.org/other.xml").0, 404);

    let feed = "<?xml version='1.0'?><feed xmlns='http://www.w3.org/2005/Atom'><title>t</title>\
        <link rel='self' href='https://example.org/feed.xml'/>\
        <entry><link href='/old'/><updated>2024-01-02T03:04:05Z</updated></entry>\
        <entry><link href='https://example.org/new'/></entry>\
        <entry><link href='https://example.com/elsewhere'/></entry></feed>";
    let sign = |secret: &str| {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        let tag = hmac::sign(&key, feed.as_bytes());
        let digest = data_encoding::HEXLOWER.encode(tag.as_ref());
        format!("X-Hub-Signature: sha256={digest}\r\n")
    };
    let own = format!(
        "Content-Type: application/atom+xml\r\nLink: <https://hub.example/>; rel=hub, <{FEED}>; rel=self\r\n"
    );
    let good = format!("{own}{}", sign("s3cret"));
    assert_eq!(listener.post("/websub", &good, feed), 202);
    let signals = listener.signals();
    let urls: Vec<_> = signals.keys().map(String::as_str).collect();
    assert_eq!(
        urls,
        [FEED, "https://example.org/new", "https://example.org/old"]
    );
    assert!(signals.values().all(|(source, _)| source == "websub"));
    assert_eq!(signals["https://example.org/old"].1, 1_704_164_645_000);

    // A request without a valid signature gets the same response as a valid request, but no signal is written.
    for headers in [
        own.clone(),
        format!("{own}{}", sign("other")),
        format!("{own}X-Hub-Signature: sha256=zz\r\n"),
        format!("{own}X-Hub-Signature: md5=00\r\n"),
    ] {
        assert_eq!(listener.post("/websub", &headers, feed), 202);
    }
    let other = format!(
        "Link: <https://example.org/x>; rel=self\r\n{}",
        sign("s3cret")
    );
    assert_eq!(listener.post("/websub", &other, feed), 404);
    listener.assert_signals("websub", &[]);
}

#[test]
fn invalid_requests_get_error_responses() {
    let mut listener = Listener::start(&["--json"]);
    assert_eq!(listener.get("/").0, 404);
    assert_eq!(listener.raw(b"PUT /indexnow HTTP/1.1\r\n\r\n").0, 405);
    assert_eq!(listener.raw(b"\x16\x03\x01\r\n\r\n").0, 400);
    let large = b"POST /indexnow HTTP/1.1\r\nContent-Length: 999999999\r\n\r\n";
    assert_eq!(listener.raw(large).0, 413);
    // The server still responds after more clients than the limit have connected and sent nothing.
    let silent: Vec<_> = (0..40)
        .map(|_| TcpStream::connect(listener.address).unwrap())
        .collect();
    drop(silent);
    assert_eq!(listener.get("/").0, 404);
    // The server responds with 503 while the collection is missing.
    let folder = listener.folder.path();
    let away = folder.with_extension("away");
    std::fs::rename(folder, &away).unwrap();
    let start = std::time::Instant::now();
    while listener.get("/").0 != 503 {
        assert!(start.elapsed().as_secs() < 20);
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    std::fs::rename(&away, folder).unwrap();
    let stopped = std::process::Command::new("kill")
        .args(["-INT", &listener.child.id().to_string()])
        .status();
    assert!(stopped.unwrap().success());
    assert!(listener.child.wait().unwrap().success());
    let mut log = String::new();
    let stdout = listener.child.stdout.as_mut().unwrap();
    stdout.read_to_string(&mut log).unwrap();
    let first: Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    assert_eq!(first["request"], "GET /");
    assert_eq!(first["status"], 404);
}

#[test]
fn invalid_arguments_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [
        &["--port", "0"][..],
        &["--port", "0", "--key", "example.org"],
        &["--port", "0", "--secret", "@/nowhere/secret"],
    ] {
        let output = aranha()
            .args(["listen", "-c"])
            .arg(folder.path())
            .args(arguments)
            .output()
            .unwrap();
        assert_status(&output, 2);
    }
}
