//! Tests of irregular responses over real sockets: each case has the bytes that the server sends and the expected
//! outcome. The clock is paused, so that timeouts take no real time.
//! The file is long because it is one list of responses that share [`summary`].

use crate::scripted_server::{Server, ServerAction, fetcher, get, options, send};
use aranha_fetch::{FetchSession, Fetched, Options};

/// Formats a response as `STATUS "BODY" [truncated by CAUSE] [unwanted] kept|closed[; REMARK …]`, and a failure as
/// `CODE: MESSAGE`.
fn summary(fetched: &Fetched, session: &FetchSession) -> String {
    let response = match &fetched.result {
        Err(failure) => return format!("{}: {failure}", failure.code()),
        Ok(response) => response,
    };
    let body = String::from_utf8_lossy(&response.body);
    let mut words = vec![format!("{} {body:?}", response.status)];
    words.extend(
        response
            .truncated
            .map(|cause| format!("truncated by {}", cause.as_str())),
    );
    words.extend(response.unwanted.then(|| "unwanted".to_owned()));
    words.push(if session.is_open() { "kept" } else { "closed" }.to_owned());
    let mut parts = vec![words.join(" ")];
    parts.extend(response.remarks.iter().map(ToString::to_string));
    parts.join("; ")
}

async fn run(options: &Options, actions: Vec<ServerAction>) -> (Fetched, FetchSession) {
    let server = Server::start(vec![actions]).await;
    let mut session = FetchSession::new();
    let fetched = get(&fetcher(options.clone()), &mut session, &server, "/").await;
    (fetched, session)
}

/// Sends the response in one piece, and in a second fetch byte by byte. The outcome must be the same, and the recorded
/// bytes must be the sent bytes.
async fn check_with(options: &Options, wire: &[u8], end: Option<ServerAction>, expected: &str) {
    let pieces = wire
        .iter()
        .map(|byte| ServerAction::Send(vec![*byte]))
        .collect();
    for sends in [vec![ServerAction::Send(wire.to_vec())], pieces] {
        let parts = sends.len();
        let actions = [ServerAction::ReadRequest]
            .into_iter()
            .chain(sends)
            .chain(end.clone())
            .collect();
        let (fetched, session) = run(options, actions).await;
        let description = String::from_utf8_lossy(wire).into_owned();
        // Bytes after the end of a response are noticed only if they arrive together with it.
        let found = summary(&fetched, &session);
        let same = found == expected
            || (parts > 1
                && found.replace(" kept", " closed")
                    == expected.replace("; bytes after the end of the response", ""));
        assert!(
            same,
            "{description:?} in {parts} parts:\n found    {found}\n expected {expected}"
        );
        let recorded = &fetched.response;
        assert!(
            wire.windows(recorded.len().max(1))
                .any(|window| window == recorded)
                || recorded.is_empty(),
            "{description:?}"
        );
        if let Ok(response) = &fetched.result {
            let head = &recorded[..response.head_length];
            assert!(
                head.ends_with(b"\n\r\n") || head.ends_with(b"\n\n"),
                "{description:?}"
            );
        }
    }
}

/// Checks a response after which the server closes the connection.
async fn check(wire: &str, expected: &str) {
    check_with(&options(), wire.as_bytes(), None, expected).await;
}

/// Checks a response after which the server keeps the connection open.
async fn check_held(wire: &str, expected: &str) {
    check_with(
        &options(),
        wire.as_bytes(),
        Some(ServerAction::Hold),
        expected,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn content_lengths() {
    check_held(
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        r#"200 "hello" kept"#,
    )
    .await;
    check_held(
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        r#"200 "" kept"#,
    )
    .await;
    check_held(
        "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno",
        r#"404 "no" kept"#,
    )
    .await;
    check(
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello",
        r#"200 "hello" truncated by disconnect closed"#,
    )
    .await;
    check_held(
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello",
        r#"200 "hello" truncated by time closed"#,
    )
    .await;
    check_held(
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhello",
        r#"200 "hel" closed; bytes after the end of the response"#,
    )
    .await;
    check_held(
        "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello",
        r#"200 "hello" kept"#,
    )
    .await;
    check_held(
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 3\r\n\r\nhello",
        r#"200 "hello" closed; unusable Content-Length: several different values"#,
    )
    .await;
    check(
        "HTTP/1.1 200 OK\r\nContent-Length: 50\r\nContent-Length: 3\r\n\r\nhello",
        r#"200 "hello" closed; unusable Content-Length: several different values"#,
    )
    .await;
    check(
        "HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\nhello",
        r#"200 "hello" closed; unusable Content-Length: five"#,
    )
    .await;
    check("HTTP/1.1 200 OK\r\n\r\nhello", r#"200 "hello" closed"#).await;
    check("HTTP/1.1 200 OK\r\n\r\n", r#"200 "" closed"#).await;
}

#[tokio::test(start_paused = true)]
async fn responses_without_a_body() {
    check_held("HTTP/1.1 204 No Content\r\n\r\n", r#"204 "" kept"#).await;
    check_held(
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
        r#"304 "" kept"#,
    )
    .await;
    check_held(
        "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n",
        r#"304 "" kept"#,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn chunked_bodies() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n";
    check_held(
        &format!("{head}\r\n5\r\nhello\r\n0\r\n\r\n"),
        r#"200 "hello" kept"#,
    )
    .await;
    check_held(
        &format!("{head}\r\n3;a=b\r\nhel\r\n2 ; c\r\nlo\r\n0\r\nTrailer: x\r\n\r\n"),
        r#"200 "hello" kept"#,
    )
    .await;
    check_held(
        &format!("{head}Content-Length: 2\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
        r#"200 "hello" closed"#,
    )
    .await;
    check(
        &format!("{head}\r\n5\r\nhello\r\n0\r\n"),
        r#"200 "hello" closed"#,
    )
    .await;
    check(
        &format!("{head}\r\n5\r\nhello\r\n"),
        r#"200 "hello" truncated by disconnect closed"#,
    )
    .await;
    check(
        &format!("{head}\r\n9\r\nhello"),
        r#"200 "hello" truncated by disconnect closed"#,
    )
    .await;
    check(
        &format!("{head}\r\n<p>hello"),
        r#"200 "<p>hello" closed; broken chunk framing"#,
    )
    .await;
    check(
        &format!("{head}\r\n<p>hello\n"),
        r#"200 "<p>hello\n" closed; broken chunk framing"#,
    )
    .await;
    check(
        &format!("{head}\r\n2\r\nhello\r\n"),
        r#"200 "he" truncated by unspecified closed; broken chunk framing"#,
    )
    .await;
    check_held(
        "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        r#"200 "hello" closed"#,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn irregular_heads() {
    check_held(
        "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nhi",
        r#"200 "hi" kept"#,
    )
    .await;
    check_held(
        "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi",
        r#"200 "hi" kept"#,
    )
    .await;
    check_held(
        "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nhi",
        r#"200 "hi" kept"#,
    )
    .await;
    check_held(
        "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 2\r\n\r\nhi",
        r#"200 "hi" kept"#,
    )
    .await;
    check_held(
        "\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
        r#"200 "hi" kept"#,
    )
    .await;
    check_held(
        "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi",
        r#"200 "hi" closed"#,
    )
    .await;
    check_held(
        "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi",
        r#"200 "hi" kept"#,
    )
    .await;
    check_held(
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi",
        r#"200 "hi" closed"#,
    )
    .await;
    check_held(
        "HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nhi",
        r#"200 "hi" closed; irregular status line: HTTP/2.0 200 OK"#,
    )
    .await;
    check_held(
        "HTTP/1.1 999 Request denied\r\nContent-Length: 2\r\n\r\nhi",
        r#"999 "hi" kept"#,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn interim_responses_are_skipped() {
    let last = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
    check_held(
        &format!("HTTP/1.1 100 Continue\r\n\r\n{last}"),
        r#"200 "hi" kept"#,
    )
    .await;
    check_held(
        &format!(
            "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n{last}"
        ),
        r#"200 "hi" kept"#,
    )
    .await;
    check(
        "HTTP/1.1 101 Switching Protocols\r\n\r\n",
        "protocol: HTTP protocol error: interim response 101",
    )
    .await;
    check(
        &"HTTP/1.1 100 x\r\n\r\n".repeat(9),
        "protocol: HTTP protocol error: interim response 100",
    )
    .await;
    let (fetched, _) = run(
        &options(),
        vec![
            ServerAction::ReadRequest,
            send("HTTP/1.1 103 x\r\n\r\n"),
            send(last),
            ServerAction::Hold,
        ],
    )
    .await;
    assert_eq!(&fetched.response[..], last.as_bytes());
}

#[tokio::test(start_paused = true)]
async fn non_http_and_incomplete_responses_are_failures() {
    for (wire, end, code) in [
        ("<html>hello</html>", None, "protocol"),
        ("ICY 200 OK\r\n\r\n", Some(ServerAction::Hold), "protocol"),
        ("HTTP/1.1 xyz\r\n\r\n", None, "protocol"),
        ("SSH-2.0-OpenSSH\r\n", Some(ServerAction::Hold), "protocol"),
        ("", None, "reset"),
        ("HTT", None, "reset"),
        ("HTTP/1.1 200 OK\r\nA: b\r\n", None, "reset"),
        ("", Some(ServerAction::Reset), "reset"),
        ("HTTP/1.1 200 OK\r\n", Some(ServerAction::Reset), "reset"),
        ("", Some(ServerAction::Hold), "timeout"),
        (
            "HTTP/1.1 200 OK\r\nA: b\r\n",
            Some(ServerAction::Hold),
            "stalled",
        ),
        (
            "HTTP/1.1 103 x\r\n\r\n",
            Some(ServerAction::Hold),
            "stalled",
        ),
    ] {
        let actions = [ServerAction::ReadRequest, send(wire)]
            .into_iter()
            .chain(end)
            .collect();
        let (fetched, session) = run(&options(), actions).await;
        assert_eq!(
            fetched.result.as_ref().unwrap_err().code(),
            code,
            "{wire:?}: {:?}",
            fetched.result
        );
        assert!(!session.is_open());
        assert!(fetched.address.is_some());
        assert!(!fetched.request.is_empty());
        if !wire.starts_with("HTTP/1.1 103") {
            assert_eq!(fetched.response, wire, "received bytes are kept");
        }
    }
    let endless = "HTTP/1.1 200 OK\r\n".to_owned() + &"X: y\r\n".repeat(20_000);
    let (fetched, _) = run(
        &options(),
        vec![
            ServerAction::ReadRequest,
            send(&endless),
            ServerAction::Hold,
        ],
    )
    .await;
    assert_eq!(fetched.result.unwrap_err().code(), "protocol");
}

/// Invariant 6: if the connection ends after any number of bytes, the fetch has one outcome.
#[tokio::test(start_paused = true)]
async fn an_end_at_every_byte_has_an_outcome() {
    let wire = b"HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nA: b\r\n\r\n5\r\nhello\r\n0\r\nT: x\r\n\r\n";
    let last_chunk = wire.len() - "T: x\r\n\r\n".len();
    for end in [None, Some(ServerAction::Reset), Some(ServerAction::Hold)] {
        for cut in 0..wire.len() {
            let actions = [
                ServerAction::ReadRequest,
                ServerAction::Send(wire[..cut].to_vec()),
            ]
            .into_iter()
            .chain(end.clone())
            .collect();
            let (fetched, session) = run(&options(), actions).await;
            assert!(!session.is_open(), "cut at {cut}");
            if let Ok(response) = fetched.result {
                assert_eq!(response.status, 200);
                assert!(b"hello".starts_with(&response.body[..]));
                let complete = response.truncated.is_none();
                assert!(!complete || cut >= last_chunk, "cut at {cut}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn limits_on_size_and_media_type() {
    let small = Options {
        max_body: 4,
        max_body_by_type: [("text/html".to_owned(), 6)].into(),
        media_types: vec!["text/*".to_owned()],
        ..options()
    };
    for (wire, expected) in [
        ("Content-Length: 4\r\n\r\nhell", r#"200 "hell" kept"#),
        (
            "Content-Length: 5\r\n\r\nhello",
            r#"200 "hell" truncated by length closed"#,
        ),
        (
            "Content-Length: 9000000000\r\n\r\nhello",
            r#"200 "hell" truncated by length closed"#,
        ),
        (
            "Content-Type: text/html; charset=x\r\nContent-Length: 5\r\n\r\nhello",
            r#"200 "hello" kept"#,
        ),
        (
            "Content-Type: TEXT/HTML\r\nContent-Length: 8\r\n\r\nhello wo",
            r#"200 "hello " truncated by length closed"#,
        ),
        ("\r\nhello", r#"200 "hell" truncated by length closed"#),
        (
            "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            r#"200 "h" truncated by length closed"#,
        ),
        (
            "Content-Type: image/png\r\nContent-Length: 900\r\n\r\n",
            r#"200 "" truncated by unspecified unwanted closed"#,
        ),
        (
            "Content-Type: image/png\r\nContent-Length: 0\r\n\r\n",
            r#"200 "" kept"#,
        ),
    ] {
        let wire = format!("HTTP/1.1 200 OK\r\n{wire}");
        check_with(&small, wire.as_bytes(), Some(ServerAction::Hold), expected).await;
    }
    let png = "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 3\r\n\r\nPNG";
    let (fetched, session) = run(
        &small,
        vec![ServerAction::ReadRequest, send(png), ServerAction::Hold],
    )
    .await;
    assert!(
        session.is_open(),
        "a small unwanted body that arrived with the head does not close the connection"
    );
    assert_eq!(
        fetched.response.len(),
        fetched.result.unwrap().head_length,
        "the unwanted body is not kept"
    );
}

#[tokio::test(start_paused = true)]
async fn the_recorded_bytes_keep_their_content_coding() {
    let coded: &[u8] = &[
        31, 139, 8, 0, 0, 0, 0, 0, 2, 255, 203, 72, 205, 201, 201, 7, 0, 134, 166, 16, 54, 5, 0, 0,
        0,
    ];
    let mut wire =
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 25\r\n\r\n".to_vec();
    wire.extend_from_slice(coded);
    check_with(
        &options(),
        &wire,
        Some(ServerAction::Hold),
        r#"200 "hello" kept"#,
    )
    .await;
    let (fetched, _) = run(
        &options(),
        vec![
            ServerAction::ReadRequest,
            ServerAction::Send(wire.clone()),
            ServerAction::Hold,
        ],
    )
    .await;
    assert_eq!(&fetched.response[..], &wire[..]);
    let response = fetched.result.unwrap();
    assert_eq!(&response.payload[..], coded);
    let recorded = fetched.response.as_ptr_range();
    assert!(
        recorded.contains(&response.payload.as_ptr()),
        "the payload is a slice of the wire bytes"
    );
}

#[tokio::test(start_paused = true)]
async fn large_responses_are_followed_by_two_crlfs_in_memory() {
    for length in [5, 60_000, 65_536, 100_000, 300_000, 900_000] {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
        let wire = [head.into_bytes(), vec![b'x'; length]].concat();
        let script = vec![
            ServerAction::ReadRequest,
            ServerAction::Send(wire.clone()),
            ServerAction::Hold,
        ];
        let (fetched, _) = run(&options(), script).await;
        assert_eq!(fetched.response, wire);
        let terminated = fetched.result.unwrap().crlf_terminated().cloned();
        assert_eq!(terminated.is_some(), wire.len() > 65_536, "{length}");
        if let Some(terminated) = terminated {
            assert_eq!(terminated, [&wire[..], b"\r\n\r\n"].concat());
            assert_eq!(terminated.as_ptr(), fetched.response.as_ptr(), "not a copy");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn range_requests() {
    let options = Options {
        range_requests: true,
        max_body: 5,
        ..options()
    };
    let part = "HTTP/1.1 206 Partial Content\r\nContent-Length: 5\r\nContent-Range: bytes";
    let refusal = "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Length: 2\r\n\r\nno";
    let whole = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    for (response, expected) in [
        (whole, r#"200 "hello" kept"#),
        (&format!("{part} 0-4/5\r\n\r\nhello"), r#"206 "hello" kept"#),
        (
            &format!("{part} 0-4/50\r\n\r\nhello"),
            r#"206 "hello" truncated by length kept"#,
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello wor",
            r#"200 "hello" truncated by length closed"#,
        ),
        (refusal, r#"416 "no" kept"#),
    ] {
        let actions = vec![
            ServerAction::ReadRequest,
            send(response),
            ServerAction::Hold,
        ];
        let (fetched, session) = run(&options, actions).await;
        assert_eq!(summary(&fetched, &session), expected);
        let sent = String::from_utf8_lossy(&fetched.request);
        assert!(sent.contains("\r\nRange: bytes=0-4\r\n"), "{sent}");
    }
    let actions = vec![ServerAction::ReadRequest, send(whole), ServerAction::Hold];
    let (fetched, _) = run(&crate::scripted_server::options(), actions).await;
    let sent = String::from_utf8_lossy(&fetched.request);
    assert!(!sent.contains("Range"), "off by default");
}

/// After a 416 response the request is repeated without `Range`, over the same connection.
#[tokio::test(start_paused = true)]
async fn a_request_without_range_after_416() {
    let actions = vec![
        ServerAction::ReadRequest,
        send("HTTP/1.1 416 x\r\nContent-Length: 0\r\n\r\n"),
        ServerAction::ReadRequest,
        send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
        ServerAction::Hold,
    ];
    let server = Server::start(vec![actions]).await;
    let fetcher = fetcher(Options {
        range_requests: true,
        ..options()
    });
    let mut session = FetchSession::new();
    let refused = get(&fetcher, &mut session, &server, "/").await;
    assert_eq!(summary(&refused, &session), r#"416 "" kept"#);
    let url = server.url("/");
    let mut request = aranha_fetch::FetchRequest::new(&url, server.address.ip());
    request.without_range = true;
    let fetched = fetcher.fetch(&mut session, request).await;
    assert_eq!(summary(&fetched, &session), r#"200 "hello" kept"#);
    assert!(fetched.timings.reused);
    let ranges = server
        .requests()
        .into_iter()
        .map(|request| request.contains("Range"));
    assert_eq!(ranges.collect::<Vec<_>>(), [true, false]);
}

/// A 304 response has no body, whatever its headers say.
#[tokio::test(start_paused = true)]
async fn not_modified_keeps_the_connection() {
    for fields in [
        "",
        "Content-Length: 0\r\n",
        "Content-Length: 5000\r\n",
        "Content-Length: 5000\r\nContent-Length: 7\r\n",
        "Content-Length: many\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Transfer-Encoding: gzip\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5000\r\n",
        "Content-Encoding: gzip\r\nContent-Length: 5000\r\n",
        "Content-Type: image/png\r\nContent-Length: 5000\r\n",
        "ETag: \"x\"\r\nLast-Modified: Tue, 14 Nov 2023 22:13:20 GMT\r\nExpires: 0\r\n",
    ] {
        let unchanged = format!("HTTP/1.1 304 Not Modified\r\n{fields}\r\n");
        let actions = vec![
            ServerAction::ReadRequest,
            send(&unchanged),
            ServerAction::ReadRequest,
            send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
            ServerAction::Hold,
        ];
        let server = Server::start(vec![actions]).await;
        let fetcher = fetcher(Options {
            media_types: vec!["text/html".to_owned()],
            range_requests: true,
            ..options()
        });
        let mut session = FetchSession::new();
        let url = server.url("/");
        let mut request = aranha_fetch::FetchRequest::new(&url, server.address.ip());
        request.headers = vec![
            ("If-None-Match", "W/\"x\"".to_owned()),
            (
                "If-Modified-Since",
                "Tue, 14 Nov 2023 22:13:20 GMT".to_owned(),
            ),
        ];
        let fetched = fetcher.fetch(&mut session, request).await;
        assert_eq!(summary(&fetched, &session), r#"304 "" kept"#, "{fields}");
        assert_eq!(fetched.response, unchanged, "{fields}");
        let next = get(&fetcher, &mut session, &server, "/").await;
        assert!(next.timings.reused, "{fields}");
        assert_eq!(summary(&next, &session), r#"200 "hello" kept"#, "{fields}");
        let request = &server.requests()[0];
        assert!(request.contains("\r\nIf-None-Match: W/\"x\"\r\nIf-Modified-Since: Tue, 14 Nov"));
    }
    let body = "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello";
    check_held(
        body,
        r#"304 "" closed; bytes after the end of the response"#,
    )
    .await;
    check_held(
        "HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n",
        r#"304 "" closed"#,
    )
    .await;
    check_held("HTTP/1.0 304 Not Modified\r\n\r\n", r#"304 "" closed"#).await;
}
