//! Tests of a simulated network under tokio's paused clock: DNS look-ups, connections, responses and their times.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aranha_fetch::{
    Failure, FetchRequest, FetchSession, Fetcher, Options, SimulatedResponse, Simulation,
};
use aranha_url::{Blacklist, Canonicaliser, UrlRules};

const START: i64 = 1_700_000_000_000;

/// A simulation whose responses depend on the path. It logs each event with its time.
#[derive(Default)]
struct ScriptedWeb {
    log: Mutex<Vec<String>>,
}

impl ScriptedWeb {
    fn record(&self, now: i64, what: &str) {
        let line = format!("{} {what}", now - START);
        self.log.lock().expect("no other thread panics").push(line);
    }
}

impl Simulation for ScriptedWeb {
    fn look_up(&self, now: i64, name: &str) -> (Duration, Result<Vec<IpAddr>, Failure>) {
        self.record(now, name);
        let found = match name {
            "public.example" => Ok(vec![[198, 41, 0, 4].into()]),
            "private.example" => Ok(vec![[127, 0, 0, 1].into()]),
            _ => Err(Failure::DnsNotFound),
        };
        (Duration::from_millis(30), found)
    }

    fn connect(&self, now: i64, _: SocketAddr) -> (Duration, Result<(), Failure>) {
        self.record(now, "connect");
        (Duration::from_millis(20), Ok(()))
    }

    fn respond(&self, now: i64, _: SocketAddr, request: &[u8]) -> SimulatedResponse {
        let head = String::from_utf8_lossy(request);
        let path = head
            .split(' ')
            .nth(1)
            .expect("the request has a path")
            .to_owned();
        self.record(now, &path);
        let (seconds, bytes) = match path.as_str() {
            "/silent" => (0, ""),
            "/never" => (1_000_000, "HTTP/1.1 200 OK\r\n\r\n"),
            _ => (
                3,
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello",
            ),
        };
        SimulatedResponse {
            id: 7,
            delay: Duration::from_secs(seconds),
            bytes: bytes.into(),
        }
    }

    fn exchange_ended(&self, now: i64, _: SocketAddr, id: u64) {
        self.record(now, &format!("ended {id}"));
    }
}

fn fetcher(script: &Arc<ScriptedWeb>) -> Fetcher {
    let options = Options::default();
    Fetcher::simulated(options, Blacklist::default(), START, script.clone())
        .expect("the options are valid")
}

#[tokio::test(start_paused = true)]
async fn delays_are_those_of_the_simulation() {
    let script = Arc::new(ScriptedWeb::default());
    let fetcher = fetcher(&script);
    let canon = Canonicaliser::new(UrlRules::default());
    let mut session = FetchSession::new();
    let mut results = Vec::new();
    for path in ["a", "b", "silent", "never"] {
        let url = canon.canon(&format!("http://public.example/{path}"));
        let url = url.expect("the URL is valid");
        let resolved = fetcher
            .resolve(url.host())
            .await
            .expect("the address is valid");
        let request = FetchRequest::new(&url, resolved.addresses[0]);
        let fetched = fetcher.fetch(&mut session, request).await;
        results.push(match fetched.result {
            Ok(response) => format!("{} {:?}", fetched.started_ms - START, response.body),
            Err(failure) => failure.code().to_owned(),
        });
    }
    assert_eq!(
        results,
        ["30 b\"hello\"", "3050 b\"hello\"", "reset", "timeout"]
    );
    let log = script.log.lock().expect("no other thread panics").clone();
    let expected = "0 public.example|30 connect|50 /a|3050 ended 7|3050 /b|6050 ended 7\
        |6050 /silent|6050 ended 7|6050 connect|6070 /silent|6070 ended 7\
        |6070 connect|6090 /never|36090 ended 7";
    assert_eq!(log.join("|"), expected);
}

#[tokio::test(start_paused = true)]
async fn the_guard_checks_simulated_addresses() {
    let script = Arc::new(ScriptedWeb::default());
    let fetcher = fetcher(&script);
    let refused = fetcher.resolve("private.example").await;
    assert!(matches!(refused, Err(Failure::AddressRefused { .. })));
    let url = Canonicaliser::new(UrlRules::default()).canon("http://private.example/");
    let url = url.expect("the URL is valid");
    let request = FetchRequest::new(&url, [127, 0, 0, 1].into());
    let fetched = fetcher.fetch(&mut FetchSession::new(), request).await;
    assert!(matches!(
        fetched.result,
        Err(Failure::AddressRefused { .. })
    ));
    assert_eq!(
        *script.log.lock().expect("no other thread panics"),
        ["0 private.example"]
    );
}
