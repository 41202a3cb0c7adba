//! Tests of the timeouts of each phase of a fetch (N5). The clock is paused, so durations are exact and take no real
//! time.

use std::time::Duration;

use crate::scripted_server::{Server, ServerAction, canon, fetcher, get, options, send};
use aranha_fetch::{FetchRequest, FetchSession, Options, Truncated};
use tokio::time::Instant;

const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n";

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn limits() -> Options {
    Options {
        connect_timeout: seconds(3),
        tls_timeout: seconds(4),
        first_byte_timeout: seconds(30),
        idle_timeout: seconds(20),
        total_timeout: seconds(100),
        min_speed: 100,
        min_speed_window: seconds(15),
        ..options()
    }
}

/// The outcome of a fetch, and after how many seconds it ended.
async fn run(options: Options, actions: Vec<ServerAction>) -> (String, u64) {
    let server = Server::start(vec![actions]).await;
    let begun = Instant::now();
    let fetched = get(&fetcher(options), &mut FetchSession::new(), &server, "/").await;
    let outcome = match fetched.result {
        Ok(response) => response
            .truncated
            .map_or("complete", Truncated::as_str)
            .to_owned(),
        Err(failure) => failure.code().to_owned(),
    };
    (outcome, begun.elapsed().as_secs())
}

async fn check(options: Options, actions: Vec<ServerAction>, outcome: &str, after: u64) {
    let description = format!("{actions:?}").chars().take(200).collect::<String>();
    assert_eq!(
        run(options, actions).await,
        (outcome.to_owned(), after),
        "{description}"
    );
}

/// Sends `bytes` bytes every `pause` seconds, `times` times.
fn trickle(bytes: usize, pause: u64, times: usize) -> Vec<ServerAction> {
    let piece = [
        ServerAction::Wait(seconds(pause)),
        ServerAction::Send(vec![b'x'; bytes]),
    ];
    std::iter::repeat_n(piece, times).flatten().collect()
}

#[tokio::test(start_paused = true)]
async fn timeouts_of_the_phases_of_a_response() {
    check(
        limits(),
        vec![ServerAction::ReadRequest, ServerAction::Hold],
        "timeout",
        30,
    )
    .await;
    check(
        limits(),
        vec![
            ServerAction::ReadRequest,
            ServerAction::Wait(seconds(29)),
            send(HEAD),
            ServerAction::Hold,
        ],
        "time",
        29 + 15,
    )
    .await;
    let no_min_speed = Options {
        min_speed: 0,
        ..limits()
    };
    check(
        no_min_speed.clone(),
        vec![
            ServerAction::ReadRequest,
            ServerAction::Wait(seconds(29)),
            send(HEAD),
            ServerAction::Hold,
        ],
        "time",
        49,
    )
    .await;
    check(
        no_min_speed.clone(),
        vec![
            ServerAction::ReadRequest,
            send("HTTP/1.1 200"),
            ServerAction::Hold,
        ],
        "stalled",
        20,
    )
    .await;
    let slow_head = [
        vec![ServerAction::ReadRequest, send("HTTP/1.1 200 OK\r\nA: ")],
        trickle(1, 10, 50),
    ]
    .concat();
    check(no_min_speed.clone(), slow_head, "stalled", 100).await;
    let slow_body = [
        vec![ServerAction::ReadRequest, send(HEAD)],
        trickle(1, 10, 50),
    ]
    .concat();
    check(no_min_speed, slow_body, "time", 100).await;
}

#[tokio::test(start_paused = true)]
async fn a_response_below_the_minimum_speed_is_truncated() {
    let fast = [
        vec![ServerAction::ReadRequest, send(HEAD)],
        trickle(1000, 4, 8),
        vec![ServerAction::Hold],
    ]
    .concat();
    check(limits(), fast, "time", 45).await;
    let slow = [
        vec![ServerAction::ReadRequest, send(HEAD)],
        trickle(50, 1, 90),
        vec![ServerAction::Hold],
    ]
    .concat();
    check(limits(), slow, "time", 15).await;
    let head_only = [
        vec![ServerAction::ReadRequest, send("HTTP/1.1 200 OK\r\nA: ")],
        trickle(1, 1, 90),
        vec![ServerAction::Hold],
    ]
    .concat();
    check(limits(), head_only, "stalled", 15).await;
}

#[tokio::test(start_paused = true)]
async fn a_slow_response_that_completes_within_the_window_is_complete() {
    let actions = vec![
        ServerAction::ReadRequest,
        send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"),
        ServerAction::Wait(seconds(14)),
        send("h"),
        ServerAction::Wait(seconds(1)),
        send("i"),
        ServerAction::Hold,
    ];
    let wider_window = Options {
        min_speed_window: seconds(16),
        ..limits()
    };
    check(wider_window, actions, "complete", 15).await;
}

#[tokio::test(start_paused = true)]
async fn the_tls_handshake_times_out() {
    let server = Server::start(vec![vec![ServerAction::Hold]]).await;
    let url = canon(&format!("https://{}/", server.address));
    let begun = Instant::now();
    let fetched = fetcher(limits())
        .fetch(
            &mut FetchSession::new(),
            FetchRequest::new(&url, server.address.ip()),
        )
        .await;
    assert_eq!(fetched.result.unwrap_err().code(), "tls-failed");
    assert_eq!(begun.elapsed().as_secs(), 4);
}

/// The kernel drops connection attempts to a listener whose backlog is full.
#[tokio::test(start_paused = true)]
async fn the_connection_times_out() {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(0).unwrap();
    let address = listener.local_addr().unwrap();
    let _first = std::net::TcpStream::connect(address).unwrap();
    let url = canon(&format!("http://{address}/"));
    let begun = Instant::now();
    let fetched = fetcher(limits())
        .fetch(
            &mut FetchSession::new(),
            FetchRequest::new(&url, address.ip()),
        )
        .await;
    assert_eq!(fetched.result.unwrap_err().code(), "connect-timeout");
    assert_eq!(begun.elapsed().as_secs(), 3);
}
