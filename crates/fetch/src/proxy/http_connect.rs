//! HTTP proxies: opens tunnels for `https` URLs with CONNECT (RFC 9110, 9.3.6), and recognises responses that the proxy
//! itself made to requests for `http` URLs.
//!
//! The functions here have no time limit. The limits for a tunnel are in `connection/connect.rs`, and those for a
//! response in `http/exchange.rs`.

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::{ProxyError, socks5};
use crate::{Failure, Headers, http::head};

/// Maximum length of the head of an answer to CONNECT.
const MAX_HEAD: usize = 16 << 10;

/// Maximum length of a reason phrase in a message.
const MAX_PHRASE: usize = 80;

const PROXY_AUTHENTICATION_REQUIRED: u16 = 407;

/// Errors of Squid (header `X-Squid-Error`) that mean that the server could not be reached, or that the rules of the
/// proxy forbid the connection. Other errors are stored like a response of the server.
const SQUID_ERRORS: &[(&str, &str)] = &[
    ("ERR_DNS_FAIL", COULD_NOT_CONNECT),
    ("ERR_CONNECT_FAIL", COULD_NOT_CONNECT),
    ("ERR_CANNOT_FORWARD", COULD_NOT_CONNECT),
    ("ERR_ACCESS_DENIED", REFUSES),
    ("ERR_FORWARDING_DENIED", REFUSES),
];

const COULD_NOT_CONNECT: &str = "the proxy could not connect to the server";
const REFUSES: &str = "the rules of the proxy do not allow a connection to this server";

/// Why a proxy did not open a tunnel.
#[derive(Debug, PartialEq)]
pub(crate) enum ConnectError {
    Proxy(ProxyError),
    /// The proxy works, but could not connect to the server, or its rules forbid the connection.
    Server(Failure),
    /// The proxy closed the connection without an answer.
    Closed,
}

/// Asks the proxy for a tunnel to `authority` (`host:port`). Afterwards the stream leads to the server. Only the proxy
/// sees the head of this request.
pub(crate) async fn connect<S>(
    stream: &mut S,
    authority: &str,
    user_agent: &str,
    authorization: Option<&str>,
) -> Result<(), ConnectError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut request = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n");
    for (name, value) in [
        (
            "User-Agent",
            Some(user_agent).filter(|text| !text.is_empty()),
        ),
        ("Proxy-Authorization", authorization),
    ] {
        if let Some(value) = value {
            request.extend([name, ": ", value, "\r\n"]);
        }
    }
    request.push_str("\r\n");
    let closed = |_| ConnectError::Closed;
    stream.write_all(request.as_bytes()).await.map_err(closed)?;
    let (mut received, mut scanned) = (Vec::with_capacity(1024), 0);
    loop {
        head::check_start(&received).map_err(|problem| {
            let problem = if socks5::is_answer(&received) {
                socks5::WRONG_SCHEME.to_owned()
            } else {
                format!("it is no HTTP proxy ({problem})")
            };
            ConnectError::Proxy(ProxyError::Protocol(problem))
        })?;
        let Some(end) = head::find_end(&received, &mut scanned) else {
            if received.len() > MAX_HEAD {
                return Err(server("the proxy's answer to CONNECT is too long"));
            }
            if stream.read_buf(&mut received).await.map_err(closed)? == 0 {
                return Err(ConnectError::Closed);
            }
            continue;
        };
        let answer = head::parse(&received[..end]).map_err(|problem| server(problem.as_str()))?;
        match answer.status {
            100..=199 => {
                received.drain(..end);
                scanned = 0;
            }
            // In TLS the client sends first, so no bytes of the server can follow the answer yet.
            200..=299 if received.len() == end => return Ok(()),
            200..=299 => return Err(server("the proxy sent bytes after its answer to CONNECT")),
            status => return Err(refusal(status, &received, &answer.headers)),
        }
    }
}

fn server(problem: &str) -> ConnectError {
    ConnectError::Server(Failure::ConnectFailed(problem.to_owned()))
}

/// The error for an answer to CONNECT that does not report success.
fn refusal(status: u16, received: &[u8], headers: &Headers) -> ConnectError {
    if status == PROXY_AUTHENTICATION_REQUIRED {
        return ConnectError::Proxy(login_error(headers));
    }
    let clause = if status >= 500 {
        COULD_NOT_CONNECT
    } else {
        REFUSES
    };
    let line = received
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let phrase = line.trim().splitn(3, ' ').nth(2).unwrap_or_default();
    let phrase: String = phrase.chars().take(MAX_PHRASE).collect();
    let detail = squid_error(headers).map_or(String::new(), |name| format!(", {name}"));
    let answer = format!("{status} {phrase}").trim().to_owned();
    server(&format!("{clause} ({answer}{detail})"))
}

/// Recognises a response to a request for an `http` URL that the proxy itself made. Such responses have status 407 and
/// `Proxy-Authenticate`, or a Squid error that means that the proxy did not reach the server. Returns `Ok` if the
/// response is to be treated as a response of the server. A server can send status 407 too. However, proxies remove
/// `Proxy-Authenticate` from the responses of servers (RFC 9110, 11.7.1), so a server cannot stop the crawl.
pub(crate) fn check_response(status: u16, headers: &Headers) -> Result<(), ConnectError> {
    if status == PROXY_AUTHENTICATION_REQUIRED && headers.has("proxy-authenticate") {
        return Err(ConnectError::Proxy(login_error(headers)));
    }
    let name = squid_error(headers).filter(|_| status >= 400);
    let known = name.and_then(|name| SQUID_ERRORS.iter().find(|(known, _)| *known == name));
    match known {
        Some((name, clause)) => Err(server(&format!("{clause} ({status}, {name})"))),
        None => Ok(()),
    }
}

/// The name of an error that Squid reports, such as `ERR_DNS_FAIL`.
fn squid_error(headers: &Headers) -> Option<&str> {
    let name = headers.text("x-squid-error")?.split(' ').next()?;
    let is_name = name
        .bytes()
        .all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    (is_name && !name.is_empty()).then_some(name)
}

/// The error for status 407.
fn login_error(headers: &Headers) -> ProxyError {
    let schemes: Vec<_> = headers
        .texts("proxy-authenticate")
        .filter_map(|value| value.trim().split([' ', ',']).next())
        .collect();
    let basic = schemes
        .iter()
        .any(|scheme| scheme.eq_ignore_ascii_case("basic"));
    ProxyError::Login(if basic || schemes.is_empty() {
        "it wants a login, or rejects the user or the password (407)".to_owned()
    } else {
        let schemes: String = schemes.join(", ").chars().take(MAX_PHRASE).collect();
        format!("it wants a login by {schemes}, and aranha supports Basic only (407)")
    })
}

#[cfg(test)]
mod tests {
    use tokio::io::duplex;

    use super::*;

    async fn run(answer: &[u8]) -> (Result<(), ConnectError>, String) {
        let (mut client, mut proxy) = duplex(64 << 10);
        proxy.write_all(answer).await.expect("it fits");
        proxy.shutdown().await.expect("it can be shut down");
        let login = Some("Basic YTpi");
        let result = connect(&mut client, "example.org:443", "aranha/1", login).await;
        drop(client);
        let mut received = String::new();
        proxy.read_to_string(&mut received).await.expect("it ends");
        (result, received)
    }

    #[tokio::test]
    async fn a_tunnel_is_opened() {
        for answer in [
            "HTTP/1.1 200 Connection established\r\n\r\n",
            "HTTP/1.0 200\n\n",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 x\r\nVia: 1.1 squid\r\n\r\n",
        ] {
            let (result, request) = run(answer.as_bytes()).await;
            assert_eq!(result, Ok(()), "{answer}");
            assert_eq!(
                request,
                "CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\nUser-Agent: aranha/1\r\n\
                 Proxy-Authorization: Basic YTpi\r\n\r\n"
            );
        }
    }

    #[tokio::test]
    async fn refusals_are_explained() {
        let squid = "HTTP/1.1 503 Service Unavailable\r\nX-Squid-Error: ERR_DNS_FAIL 0\r\nContent-Length: 9\r\n\r\n<html>";
        for (answer, expected) in [
            (
                "HTTP/1.1 403 Forbidden\r\n\r\n",
                "the rules of the proxy do not allow a connection to this server (403 Forbidden)",
            ),
            (
                "HTTP/1.1 502 Bad Gateway\r\n\r\n",
                "the proxy could not connect to the server (502 Bad Gateway)",
            ),
            (
                "HTTP/1.1 504\r\n\r\n",
                "the proxy could not connect to the server (504)",
            ),
            (
                squid,
                "the proxy could not connect to the server (503 Service Unavailable, ERR_DNS_FAIL)",
            ),
            (
                "HTTP/1.1 200 OK\r\n\r\nSSH-2.0",
                "the proxy sent bytes after its answer to CONNECT",
            ),
        ] {
            let failure = Failure::ConnectFailed(expected.to_owned());
            assert_eq!(
                run(answer.as_bytes()).await.0,
                Err(ConnectError::Server(failure))
            );
        }
        let long = format!("HTTP/1.1 200 OK\r\nA: {}", "x".repeat(MAX_HEAD));
        let (result, _) = run(long.as_bytes()).await;
        assert!(format!("{result:?}").contains("too long"), "{result:?}");
    }

    #[tokio::test]
    async fn logins_and_other_protocols() {
        let login = |answer: &'static str| async move {
            match run(answer.as_bytes()).await.0 {
                Err(ConnectError::Proxy(ProxyError::Login(text))) => text,
                other => panic!("{other:?}"),
            }
        };
        let basic = "HTTP/1.1 407 x\r\nProxy-Authenticate: Negotiate\r\nProxy-Authenticate: Basic realm=\"a\"\r\n\r\n";
        assert_eq!(
            login(basic).await,
            "it wants a login, or rejects the user or the password (407)"
        );
        let ntlm =
            "HTTP/1.1 407 x\r\nProxy-Authenticate: NTLM\r\nProxy-Authenticate: Negotiate\r\n\r\n";
        assert_eq!(
            login(ntlm).await,
            "it wants a login by NTLM, Negotiate, and aranha supports Basic only (407)"
        );
        let (result, _) = run(b"SSH-2.0-OpenSSH\r\n").await;
        assert!(
            matches!(result, Err(ConnectError::Proxy(ProxyError::Protocol(_)))),
            "{result:?}"
        );
    }

    #[tokio::test]
    async fn an_end_at_every_byte_is_an_error() {
        let whole = b"HTTP/1.1 200 Connection established\r\nVia: squid\r\n\r\n";
        for length in 0..whole.len() {
            assert_eq!(
                run(&whole[..length]).await.0,
                Err(ConnectError::Closed),
                "{length}"
            );
        }
    }

    #[test]
    fn responses_of_the_proxy_itself() {
        let check = |status, fields: &str, expected: Option<&str>| {
            let text = format!("HTTP/1.1 {status} x\r\n{fields}\r\n\r\n");
            let parsed = head::parse(text.as_bytes()).expect("a head");
            let found = check_response(status, &parsed.headers).err();
            let found = found.map(|error| format!("{error:?}"));
            assert_eq!(found.is_some(), expected.is_some(), "{text}");
            if let Some(words) = expected {
                assert!(
                    found.as_ref().is_some_and(|found| found.contains(words)),
                    "{found:?}"
                );
            }
        };
        check(200, "A: b", None);
        check(503, "A: b", None);
        check(407, "Proxy-Authenticate: Basic", Some("wants a login"));
        check(407, "A: b", None);
        check(
            503,
            "X-Squid-Error: ERR_CONNECT_FAIL 111",
            Some("could not connect to the server (503, ERR_CONNECT_FAIL)"),
        );
        check(
            403,
            "X-Squid-Error: ERR_ACCESS_DENIED 0",
            Some("do not allow a connection"),
        );
        // This error of Squid concerns one page: it is too large, or the response broke off. It is stored like a
        // response.
        check(502, "X-Squid-Error: ERR_ZERO_SIZE_OBJECT 0", None);
        // A response with status 200 is stored, whatever error its header names.
        check(200, "X-Squid-Error: ERR_DNS_FAIL 0", None);
    }
}
