//! Odd answers over real sockets: bytes to send, and what must come of them. Under a paused clock, so that an answer
//! that waits for a time-out costs no time.

use crate::scripted_server::{Act, Server, get, options, send, web};
use aranha_fetch::{FetchSession, Fetched, Options};

/// `status "body" truncation unwanted kept; remarks`, or the failure's code.
fn summary(fetched: &Fetched, session: &FetchSession) -> String {
    let answer = match &fetched.result {
        Err(failure) => return format!("{}: {failure}", failure.code()),
        Ok(answer) => answer,
    };
    let body = String::from_utf8_lossy(&answer.body);
    let mut words = vec![format!("{} {body:?}", answer.status)];
    words.extend(
        answer
            .truncated
            .map(|cause| format!("truncated by {}", cause.as_str())),
    );
    words.extend(answer.unwanted.then(|| "unwanted".to_owned()));
    words.push(if session.is_open() { "kept" } else { "closed" }.to_owned());
    let mut parts = vec![words.join(" ")];
    parts.extend(answer.remarks.iter().map(ToString::to_string));
    parts.join("; ")
}

async fn run(options: &Options, acts: Vec<Act>) -> (Fetched, FetchSession) {
    let server = Server::start(vec![acts]).await;
    let mut session = FetchSession::new();
    let fetched = get(&web(options.clone()), &mut session, &server, "/").await;
    (fetched, session)
}

/// The answer at once, and in single bytes: the outcome is the same, and the wire bytes are those sent.
async fn check_with(options: &Options, wire: &[u8], end: Option<Act>, expected: &str) {
    let pieces = wire.iter().map(|byte| Act::Send(vec![*byte])).collect();
    for sends in [vec![Act::Send(wire.to_vec())], pieces] {
        let parts = sends.len();
        let acts = [Act::Ask]
            .into_iter()
            .chain(sends)
            .chain(end.clone())
            .collect();
        let (fetched, session) = run(options, acts).await;
        let shown = String::from_utf8_lossy(wire).into_owned();
        // What follows the end of an answer is only seen when it has come with it.
        let found = summary(&fetched, &session);
        let same = found == expected
            || (parts > 1
                && found.replace(" kept", " closed")
                    == expected.replace("; bytes after the end of the answer", ""));
        assert!(
            same,
            "{shown:?} in {parts} parts:\n found    {found}\n expected {expected}"
        );
        let response = &fetched.response;
        assert!(
            wire.windows(response.len().max(1))
                .any(|window| window == response)
                || response.is_empty(),
            "{shown:?}"
        );
        if let Ok(answer) = &fetched.result {
            let head = &response[..answer.head_length];
            assert!(
                head.ends_with(b"\n\r\n") || head.ends_with(b"\n\n"),
                "{shown:?}"
            );
        }
    }
}

/// The server closes after the answer.
async fn check(wire: &str, expected: &str) {
    check_with(&options(), wire.as_bytes(), None, expected).await;
}

/// The server keeps the connection open.
async fn check_held(wire: &str, expected: &str) {
    check_with(&options(), wire.as_bytes(), Some(Act::Hold), expected).await;
}

#[tokio::test(start_paused = true)]
async fn lengths() {
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
        r#"200 "hel" closed; bytes after the end of the answer"#,
    )
    .await;
    check_held(
        "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello",
        r#"200 "hello" kept"#,
    )
    .await;
    check_held(
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 3\r\n\r\nhello",
        r#"200 "hello" closed; unusable Content-Length: several that differ"#,
    )
    .await;
    check(
        "HTTP/1.1 200 OK\r\nContent-Length: 50\r\nContent-Length: 3\r\n\r\nhello",
        r#"200 "hello" closed; unusable Content-Length: several that differ"#,
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
async fn answers_without_a_body() {
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
async fn chunks() {
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
async fn odd_heads() {
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
        r#"200 "hi" closed; odd status line: HTTP/2.0 200 OK"#,
    )
    .await;
    check_held(
        "HTTP/1.1 999 Request denied\r\nContent-Length: 2\r\n\r\nhi",
        r#"999 "hi" kept"#,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn interim_answers_are_skipped() {
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
            Act::Ask,
            send("HTTP/1.1 103 x\r\n\r\n"),
            send(last),
            Act::Hold,
        ],
    )
    .await;
    assert_eq!(&fetched.response[..], last.as_bytes());
}

#[tokio::test(start_paused = true)]
async fn what_is_not_http() {
    for (wire, end, code) in [
        ("<html>hello</html>", None, "protocol"),
        ("ICY 200 OK\r\n\r\n", Some(Act::Hold), "protocol"),
        ("HTTP/1.1 xyz\r\n\r\n", None, "protocol"),
        ("SSH-2.0-OpenSSH\r\n", Some(Act::Hold), "protocol"),
        ("", None, "reset"),
        ("HTT", None, "reset"),
        ("HTTP/1.1 200 OK\r\nA: b\r\n", None, "reset"),
        ("", Some(Act::Reset), "reset"),
        ("HTTP/1.1 200 OK\r\n", Some(Act::Reset), "reset"),
        ("", Some(Act::Hold), "timeout"),
        ("HTTP/1.1 200 OK\r\nA: b\r\n", Some(Act::Hold), "stalled"),
        ("HTTP/1.1 103 x\r\n\r\n", Some(Act::Hold), "stalled"),
    ] {
        let acts = [Act::Ask, send(wire)].into_iter().chain(end).collect();
        let (fetched, session) = run(&options(), acts).await;
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
            assert_eq!(fetched.response, wire, "what came is kept");
        }
    }
    let endless = "HTTP/1.1 200 OK\r\n".to_owned() + &"X: y\r\n".repeat(20_000);
    let (fetched, _) = run(&options(), vec![Act::Ask, send(&endless), Act::Hold]).await;
    assert_eq!(fetched.result.unwrap_err().code(), "protocol");
}

/// Invariant 6: wherever the connection ends, the fetch ends in one outcome.
#[tokio::test(start_paused = true)]
async fn an_end_at_every_byte_has_an_outcome() {
    let wire = b"HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nA: b\r\n\r\n5\r\nhello\r\n0\r\nT: x\r\n\r\n";
    let last_chunk = wire.len() - "T: x\r\n\r\n".len();
    for end in [None, Some(Act::Reset), Some(Act::Hold)] {
        for cut in 0..wire.len() {
            let acts = [Act::Ask, Act::Send(wire[..cut].to_vec())]
                .into_iter()
                .chain(end.clone())
                .collect();
            let (fetched, session) = run(&options(), acts).await;
            assert!(!session.is_open(), "cut at {cut}");
            if let Ok(answer) = fetched.result {
                assert_eq!(answer.status, 200);
                assert!(b"hello".starts_with(&answer.body[..]));
                let whole = answer.truncated.is_none();
                assert!(!whole || cut >= last_chunk, "cut at {cut}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn limits_of_size_and_type() {
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
        check_with(&small, wire.as_bytes(), Some(Act::Hold), expected).await;
    }
    let png = "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 3\r\n\r\nPNG";
    let (fetched, session) = run(&small, vec![Act::Ask, send(png), Act::Hold]).await;
    assert!(
        session.is_open(),
        "a small body that came with the head costs no connection"
    );
    assert_eq!(
        fetched.response.len(),
        fetched.result.unwrap().head_length,
        "but it is not kept"
    );
}

#[tokio::test(start_paused = true)]
async fn codings_are_undone_for_reading_only() {
    let coded: &[u8] = &[
        31, 139, 8, 0, 0, 0, 0, 0, 2, 255, 203, 72, 205, 201, 201, 7, 0, 134, 166, 16, 54, 5, 0, 0,
        0,
    ];
    let mut wire =
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 25\r\n\r\n".to_vec();
    wire.extend_from_slice(coded);
    check_with(&options(), &wire, Some(Act::Hold), r#"200 "hello" kept"#).await;
    let (fetched, _) = run(
        &options(),
        vec![Act::Ask, Act::Send(wire.clone()), Act::Hold],
    )
    .await;
    assert_eq!(&fetched.response[..], &wire[..]);
    let answer = fetched.result.unwrap();
    assert_eq!(&answer.payload[..], coded);
    let inside = fetched.response.as_ptr_range();
    assert!(
        inside.contains(&answer.payload.as_ptr()),
        "the payload is a slice of the wire bytes"
    );
}

#[tokio::test(start_paused = true)]
async fn large_answers_lie_before_two_line_ends() {
    for length in [5, 60_000, 65_536, 100_000, 300_000, 900_000] {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
        let wire = [head.into_bytes(), vec![b'x'; length]].concat();
        let script = vec![Act::Ask, Act::Send(wire.clone()), Act::Hold];
        let (fetched, _) = run(&options(), script).await;
        assert_eq!(fetched.response, wire);
        let ended = fetched.result.unwrap().crlf_terminated;
        assert_eq!(ended.is_some(), wire.len() > 65_536, "{length}");
        if let Some(ended) = ended {
            assert_eq!(ended, [&wire[..], b"\r\n\r\n"].concat());
            assert_eq!(ended.as_ptr(), fetched.response.as_ptr(), "not a copy");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn ranges() {
    let options = Options {
        range_requests: true,
        max_body: 5,
        ..options()
    };
    let part = "HTTP/1.1 206 Partial Content\r\nContent-Length: 5\r\nContent-Range: bytes";
    let refusal = "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Length: 2\r\n\r\nno";
    let whole = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    for (answer, expected) in [
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
        let acts = vec![Act::Ask, send(answer), Act::Hold];
        let (fetched, session) = run(&options, acts).await;
        assert_eq!(summary(&fetched, &session), expected);
        let sent = String::from_utf8_lossy(&fetched.request);
        assert!(sent.contains("\r\nRange: bytes=0-4\r\n"), "{sent}");
    }
    let acts = vec![Act::Ask, send(whole), Act::Hold];
    let (fetched, _) = run(&crate::scripted_server::options(), acts).await;
    let sent = String::from_utf8_lossy(&fetched.request);
    assert!(!sent.contains("Range"), "off by default");
}

/// Asked again without the range, over the same connection.
#[tokio::test(start_paused = true)]
async fn the_whole_after_a_refused_range() {
    let acts = vec![
        Act::Ask,
        send("HTTP/1.1 416 x\r\nContent-Length: 0\r\n\r\n"),
        Act::Ask,
        send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
        Act::Hold,
    ];
    let server = Server::start(vec![acts]).await;
    let web = web(Options {
        range_requests: true,
        ..options()
    });
    let mut session = FetchSession::new();
    let refused = get(&web, &mut session, &server, "/").await;
    assert_eq!(summary(&refused, &session), r#"416 "" kept"#);
    let url = server.url("/");
    let mut request = aranha_fetch::FetchRequest::new(&url, server.address.ip());
    request.without_range = true;
    let fetched = web.fetch(&mut session, request).await;
    assert_eq!(summary(&fetched, &session), r#"200 "hello" kept"#);
    assert!(fetched.timings.reused);
    let ranges = server
        .requests()
        .into_iter()
        .map(|heard| heard.contains("Range"));
    assert_eq!(ranges.collect::<Vec<_>>(), [true, false]);
}

/// A conditional request and its 304, whatever its headers say of a body that is not there.
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
        let acts = vec![
            Act::Ask,
            send(&unchanged),
            Act::Ask,
            send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
            Act::Hold,
        ];
        let server = Server::start(vec![acts]).await;
        let web = web(Options {
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
        let fetched = web.fetch(&mut session, request).await;
        assert_eq!(summary(&fetched, &session), r#"304 "" kept"#, "{fields}");
        assert_eq!(fetched.response, unchanged, "{fields}");
        let next = get(&web, &mut session, &server, "/").await;
        assert!(next.timings.reused, "{fields}");
        assert_eq!(summary(&next, &session), r#"200 "hello" kept"#, "{fields}");
        let heard = &server.requests()[0];
        assert!(heard.contains("\r\nIf-None-Match: W/\"x\"\r\nIf-Modified-Since: Tue, 14 Nov"));
    }
    let body = "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello";
    check_held(body, r#"304 "" closed; bytes after the end of the answer"#).await;
    check_held(
        "HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n",
        r#"304 "" closed"#,
    )
    .await;
    check_held("HTTP/1.0 304 Not Modified\r\n\r\n", r#"304 "" closed"#).await;
}
