//! SOCKS5 (RFC 1928) with the login by user and password (RFC 1929).
//!
//! [`greet`] logs in at the proxy, and [`connect`] asks it to connect to a server. Neither has a time limit of its own.

use std::net::IpAddr;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::{ProxyError, url::Login};
use crate::Failure;

const VERSION: u8 = 5;
const NO_LOGIN: u8 = 0;
const USER_AND_PASSWORD: u8 = 2;
const NO_METHOD: u8 = 0xff;
const LOGIN_VERSION: u8 = 1;
const CONNECT: u8 = 1;
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;

/// The problem of a SOCKS5 proxy that was configured as an HTTP proxy.
pub(super) const WRONG_SCHEME: &str = "it is a SOCKS5 proxy; write socks5:// or socks5h://";

/// Whether these bytes are the beginning of a SOCKS5 proxy's answer.
pub(super) fn is_answer(bytes: &[u8]) -> bool {
    bytes.first() == Some(&VERSION)
}

/// The server to which the proxy connects.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target<'a> {
    Address(IpAddr),
    /// A name of at most 255 bytes.
    Name(&'a str),
}

/// Agrees on a login method with the proxy, and logs in.
pub(super) async fn greet<S>(stream: &mut S, login: Option<&Login>) -> Result<(), ProxyError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let greeting: &[u8] = match login {
        None => &[VERSION, 1, NO_LOGIN],
        Some(_) => &[VERSION, 2, NO_LOGIN, USER_AND_PASSWORD],
    };
    let broken = |_| ProxyError::Down("it closed the connection at the SOCKS greeting".to_owned());
    stream.write_all(greeting).await.map_err(broken)?;
    let version = stream.read_u8().await.map_err(broken)?;
    if version != VERSION {
        return Err(ProxyError::Protocol(if version.is_ascii_alphabetic() {
            "it is no SOCKS5 proxy; if it is an HTTP proxy, write http://".to_owned()
        } else {
            "it is no SOCKS5 proxy".to_owned()
        }));
    }
    match (stream.read_u8().await.map_err(broken)?, login) {
        (NO_LOGIN, _) => Ok(()),
        (USER_AND_PASSWORD, Some(login)) => log_in(stream, login).await,
        (NO_METHOD, None) => Err(ProxyError::Login(
            "it wants a login, or does not serve this machine".to_owned(),
        )),
        (NO_METHOD, Some(_)) => Err(ProxyError::Login(
            "it does not accept logins by user and password".to_owned(),
        )),
        (method, _) => Err(ProxyError::Protocol(format!(
            "it chose the login method {method}, which was not offered"
        ))),
    }
}

async fn log_in<S>(stream: &mut S, login: &Login) -> Result<(), ProxyError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let Login { user, password } = login;
    let mut message = vec![LOGIN_VERSION];
    for text in [user, password] {
        // `Login::parse` has checked the lengths.
        message.push(text.len() as u8);
        message.extend_from_slice(text.as_bytes());
    }
    let rejected = || ProxyError::Login("it rejects the user or the password".to_owned());
    stream.write_all(&message).await.map_err(|_| rejected())?;
    let mut answer = [0; 2];
    // Some proxies close the connection instead of answering.
    stream
        .read_exact(&mut answer)
        .await
        .map_err(|_| rejected())?;
    if answer[1] == 0 {
        Ok(())
    } else {
        Err(rejected())
    }
}

/// Asks the proxy to connect to a server. Afterwards the stream leads to the server.
pub(crate) async fn connect<S>(stream: &mut S, target: Target<'_>, port: u16) -> Result<(), Failure>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut request = vec![VERSION, CONNECT, 0];
    match target {
        Target::Address(IpAddr::V4(address)) => {
            request.push(IPV4);
            request.extend_from_slice(&address.octets());
        }
        Target::Address(IpAddr::V6(address)) => {
            request.push(IPV6);
            request.extend_from_slice(&address.octets());
        }
        Target::Name(name) => {
            let length = u8::try_from(name.len());
            let length = length.map_err(|_| Failure::DnsNotFound)?;
            request.extend_from_slice(&[NAME, length]);
            request.extend_from_slice(name.as_bytes());
        }
    }
    request.extend_from_slice(&port.to_be_bytes());
    let failed = |problem: &str| Failure::ConnectFailed(problem.to_owned());
    let closed = |_| failed("the proxy closed the connection without an answer");
    stream.write_all(&request).await.map_err(closed)?;
    let mut answer = [0; 4];
    stream.read_exact(&mut answer[..2]).await.map_err(closed)?;
    if answer[0] != VERSION {
        return Err(failed(
            "the proxy's answer does not follow the SOCKS5 protocol",
        ));
    }
    if answer[1] != 0 {
        return Err(failed(&explain(answer[1])));
    }
    stream.read_exact(&mut answer[2..]).await.map_err(closed)?;
    // The address from which the proxy has connected. It is not the address of the server.
    let length = match answer[3] {
        IPV4 => 4,
        IPV6 => 16,
        NAME => stream.read_u8().await.map_err(closed)?,
        _ => {
            return Err(failed(
                "the proxy's answer does not follow the SOCKS5 protocol",
            ));
        }
    };
    let mut place = [0; 255 + 2];
    let place = &mut place[..usize::from(length) + 2];
    stream.read_exact(place).await.map_err(closed)?;
    Ok(())
}

/// Describes a code of RFC 1928, 6, as a part of a sentence.
fn explain(code: u8) -> String {
    let clause = match code {
        1 => "the proxy could not connect to the server",
        2 => "the rules of the proxy do not allow a connection to this server",
        3 => "the network of the server cannot be reached from the proxy",
        4 => "the server cannot be reached from the proxy, or its name does not exist there",
        5 => "the server refused the connection of the proxy",
        6 => "the connection of the proxy to the server timed out",
        7 => "the proxy does not support the SOCKS command CONNECT",
        8 => "the proxy does not support this kind of address",
        _ => "the proxy could not connect to the server, for an unknown reason",
    };
    format!("{clause} (SOCKS5 code {code})")
}

#[cfg(test)]
mod tests {
    use tokio::io::duplex;

    use super::*;

    /// Lets the proxy send `answer` and close the connection. Returns the result, and what the proxy received.
    async fn run(
        login: Option<(&str, &str)>,
        target: Target<'_>,
        answer: &[u8],
    ) -> (Result<(), String>, Vec<u8>) {
        let (mut client, mut proxy) = duplex(4096);
        proxy.write_all(answer).await.expect("it fits");
        proxy.shutdown().await.expect("it can be shut down");
        let login = login.map(|(user, password)| Login {
            user: user.to_owned(),
            password: password.to_owned(),
        });
        let asked = async {
            let greeted = greet(&mut client, login.as_ref()).await;
            greeted.map_err(|error| format!("{error:?}"))?;
            let connected = connect(&mut client, target, 8080).await;
            connected.map_err(|failure| failure.to_string())
        };
        let result = asked.await;
        drop(client);
        let mut received = Vec::new();
        proxy.read_to_end(&mut received).await.expect("it ends");
        (result, received)
    }

    const V4: Target<'_> = Target::Address(IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 7)));
    const BOUND: [u8; 10] = [5, 0, 0, 1, 10, 0, 0, 1, 0x12, 0x34];

    #[tokio::test]
    async fn messages_are_those_of_the_standard() {
        let (result, sent) = run(None, V4, &[&[5, 0][..], &BOUND].concat()).await;
        assert_eq!(result, Ok(()));
        assert_eq!(sent, [5, 1, 0, 5, 1, 0, 1, 192, 0, 2, 7, 0x1f, 0x90]);

        let v6 = Target::Address("2001:db8::1".parse().expect("an address"));
        let bound_v6 = [&[5, 0, 5, 0, 0, 4][..], &[0; 18]].concat();
        let (result, sent) = run(None, v6, &bound_v6).await;
        assert_eq!(result, Ok(()));
        let mut expected = vec![5, 1, 0, 5, 1, 0, 4, 0x20, 1, 0xd, 0xb8];
        expected.extend([0; 11]);
        expected.extend([1, 0x1f, 0x90]);
        assert_eq!(sent, expected);

        let bound_name = [&[5, 2, 1, 0, 5, 0, 0, 3, 3][..], b"abc", &[0, 80]].concat();
        let (result, sent) = run(Some(("anna", "x")), Target::Name("a.example"), &bound_name).await;
        assert_eq!(result, Ok(()));
        let login = [&[5, 2, 0, 2, 1, 4][..], b"anna", &[1], b"x"].concat();
        let request = [&[5, 1, 0, 3, 9][..], b"a.example", &[0x1f, 0x90]].concat();
        assert_eq!(sent, [login, request].concat());
    }

    #[tokio::test]
    async fn the_login_is_sent_only_if_the_proxy_wants_it() {
        let (result, sent) = run(
            Some(("anna", "s3cret")),
            V4,
            &[&[5, 0][..], &BOUND].concat(),
        )
        .await;
        assert_eq!(result, Ok(()));
        assert!(!sent.windows(6).any(|bytes| bytes == b"s3cret"));
    }

    #[tokio::test]
    async fn errors_of_the_proxy() {
        let with = Some(("anna", "s3cret"));
        for (login, answer, expected) in [
            (
                None,
                &[5, 0xff][..],
                r#"Login("it wants a login, or does not serve this machine")"#,
            ),
            (
                with,
                &[5, 0xff],
                r#"Login("it does not accept logins by user and password")"#,
            ),
            (
                with,
                &[5, 2, 1, 1],
                r#"Login("it rejects the user or the password")"#,
            ),
            (
                with,
                &[5, 2],
                r#"Login("it rejects the user or the password")"#,
            ),
            (
                None,
                &[5, 2],
                r#"Protocol("it chose the login method 2, which was not offered")"#,
            ),
            (
                None,
                b"HTTP/1.1 400 Bad Request",
                r#"Protocol("it is no SOCKS5 proxy; if it is an HTTP proxy, write http://")"#,
            ),
            (None, &[4, 90], r#"Protocol("it is no SOCKS5 proxy")"#),
            (
                None,
                &[],
                r#"Down("it closed the connection at the SOCKS greeting")"#,
            ),
        ] {
            assert_eq!(run(login, V4, answer).await.0, Err(expected.to_owned()));
        }
        for (code, words) in [
            (1, "could not connect to the server (SOCKS5 code 1)"),
            (2, "rules of the proxy do not allow"),
            (3, "network of the server cannot be reached"),
            (4, "server cannot be reached from the proxy"),
            (5, "refused the connection"),
            (6, "timed out"),
            (7, "does not support the SOCKS command"),
            (8, "does not support this kind of address"),
            (0xf0, "unknown reason (SOCKS5 code 240)"),
        ] {
            let answer = [5, 0, 5, code, 0, 1, 0, 0, 0, 0, 0, 0];
            let error = run(None, V4, &answer).await.0.expect_err("an error");
            assert!(
                error.starts_with("connection failed: the ") && error.contains(words),
                "{error}"
            );
        }
        let unknown = run(None, V4, &[5, 0, 5, 0, 0, 9, 0, 0])
            .await
            .0
            .expect_err("an error");
        assert!(
            unknown.contains("does not follow the SOCKS5 protocol"),
            "{unknown}"
        );
    }

    #[tokio::test]
    async fn an_end_at_every_byte_is_an_error() {
        let whole = [&[5, 2, 1, 0][..], &BOUND].concat();
        for length in 0..whole.len() {
            let login = Some(("anna", "s3cret"));
            let (result, _) = run(login, V4, &whole[..length]).await;
            result.expect_err("the answer is incomplete");
        }
    }
}
