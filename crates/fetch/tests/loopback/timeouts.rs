//! Every phase ends in its time (N5), under a paused clock: the durations are exact and cost nothing.

use std::time::Duration;

use crate::scripted_server::{Act, Server, canon, get, options, send, web};
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

/// How the fetch ended, and after how many seconds.
async fn run(options: Options, acts: Vec<Act>) -> (String, u64) {
    let server = Server::start(vec![acts]).await;
    let begun = Instant::now();
    let fetched = get(&web(options), &mut FetchSession::new(), &server, "/").await;
    let outcome = match fetched.result {
        Ok(answer) => answer
            .truncated
            .map_or("whole", Truncated::as_str)
            .to_owned(),
        Err(failure) => failure.code().to_owned(),
    };
    (outcome, begun.elapsed().as_secs())
}

async fn check(options: Options, acts: Vec<Act>, outcome: &str, after: u64) {
    let shown = format!("{acts:?}").chars().take(200).collect::<String>();
    assert_eq!(
        run(options, acts).await,
        (outcome.to_owned(), after),
        "{shown}"
    );
}

/// `bytes` every `pause` seconds, `times` over.
fn trickle(bytes: usize, pause: u64, times: usize) -> Vec<Act> {
    let piece = [Act::Wait(seconds(pause)), Act::Send(vec![b'x'; bytes])];
    std::iter::repeat_n(piece, times).flatten().collect()
}

#[tokio::test(start_paused = true)]
async fn phases_of_an_answer() {
    check(limits(), vec![Act::Ask, Act::Hold], "timeout", 30).await;
    check(
        limits(),
        vec![Act::Ask, Act::Wait(seconds(29)), send(HEAD), Act::Hold],
        "time",
        29 + 15,
    )
    .await;
    let patient = Options {
        min_speed: 0,
        ..limits()
    };
    check(
        patient.clone(),
        vec![Act::Ask, Act::Wait(seconds(29)), send(HEAD), Act::Hold],
        "time",
        49,
    )
    .await;
    check(
        patient.clone(),
        vec![Act::Ask, send("HTTP/1.1 200"), Act::Hold],
        "stalled",
        20,
    )
    .await;
    let slow_head = [
        vec![Act::Ask, send("HTTP/1.1 200 OK\r\nA: ")],
        trickle(1, 10, 50),
    ]
    .concat();
    check(patient.clone(), slow_head, "stalled", 100).await;
    let slow_body = [vec![Act::Ask, send(HEAD)], trickle(1, 10, 50)].concat();
    check(patient, slow_body, "time", 100).await;
}

#[tokio::test(start_paused = true)]
async fn the_lowest_speed() {
    let fast = [
        vec![Act::Ask, send(HEAD)],
        trickle(1000, 4, 8),
        vec![Act::Hold],
    ]
    .concat();
    check(limits(), fast, "time", 45).await;
    let slow = [
        vec![Act::Ask, send(HEAD)],
        trickle(50, 1, 90),
        vec![Act::Hold],
    ]
    .concat();
    check(limits(), slow, "time", 15).await;
    let head_only = [
        vec![Act::Ask, send("HTTP/1.1 200 OK\r\nA: ")],
        trickle(1, 1, 90),
        vec![Act::Hold],
    ]
    .concat();
    check(limits(), head_only, "stalled", 15).await;
}

#[tokio::test(start_paused = true)]
async fn a_slow_answer_that_is_done_is_whole() {
    let acts = vec![
        Act::Ask,
        send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"),
        Act::Wait(seconds(14)),
        send("h"),
        Act::Wait(seconds(1)),
        send("i"),
        Act::Hold,
    ];
    let quick = Options {
        min_speed_window: seconds(16),
        ..limits()
    };
    check(quick, acts, "whole", 15).await;
}

#[tokio::test(start_paused = true)]
async fn the_tls_handshake() {
    let server = Server::start(vec![vec![Act::Hold]]).await;
    let url = canon(&format!("https://{}/", server.address));
    let begun = Instant::now();
    let fetched = web(limits())
        .fetch(
            &mut FetchSession::new(),
            FetchRequest::new(&url, server.address.ip()),
        )
        .await;
    assert_eq!(fetched.result.unwrap_err().code(), "tls-failed");
    assert_eq!(begun.elapsed().as_secs(), 4);
}

/// A listener whose queue is full answers no more connections.
#[tokio::test(start_paused = true)]
async fn the_connection() {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(0).unwrap();
    let address = listener.local_addr().unwrap();
    let _first = std::net::TcpStream::connect(address).unwrap();
    let url = canon(&format!("http://{address}/"));
    let begun = Instant::now();
    let fetched = web(limits())
        .fetch(
            &mut FetchSession::new(),
            FetchRequest::new(&url, address.ip()),
        )
        .await;
    assert_eq!(fetched.result.unwrap_err().code(), "connect-timeout");
    assert_eq!(begun.elapsed().as_secs(), 3);
}
