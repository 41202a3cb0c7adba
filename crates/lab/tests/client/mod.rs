//! A simple HTTP client and link reader for the tests of the lab.
//!
//! It shares no code with the lab, so that a fault of the lab is not repeated in the client. Only addresses
//! come from the lab.

#![expect(dead_code, reason = "each test file uses only some of the functions")]

use std::io::Read as _;
use std::net::{IpAddr, SocketAddr};

use aranha_lab::Lab;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A response whose transfer and content codings have been removed.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) close: bool,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The body as text, decoded with the encoding in the header.
    pub(crate) fn text(&self) -> String {
        let kind = self.header("content-type").unwrap_or_default();
        if kind.contains("8859-1") {
            self.body.iter().map(|b| char::from(*b)).collect()
        } else {
            String::from_utf8(self.body.clone()).expect("the page is UTF-8")
        }
    }
}

/// A persistent connection.
pub(crate) struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    pub(crate) async fn to(lab: &Lab, host: &str) -> Client {
        let address = lab.web().address(host).expect("the name exists");
        Client::at(SocketAddr::new(IpAddr::V4(address), lab.port())).await
    }

    pub(crate) async fn at(address: SocketAddr) -> Client {
        Client {
            stream: TcpStream::connect(address).await.unwrap(),
            buffer: Vec::new(),
        }
    }

    pub(crate) async fn get(&mut self, host: &str, target: &str, headers: &str) -> Response {
        self.ask(host, target, headers).await;
        self.answer().await
    }

    pub(crate) async fn ask(&mut self, host: &str, target: &str, headers: &str) {
        let text = format!(
            "GET {target} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: labtest/1\r\n{headers}\r\n"
        );
        self.stream.write_all(text.as_bytes()).await.unwrap();
    }

    /// Sends raw bytes.
    pub(crate) async fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).await.unwrap();
    }

    /// The announced and the actual length of a response that has arrived completely.
    pub(crate) fn announced_and_sent(&self) -> (usize, usize) {
        let end = find(&self.buffer, b"\r\n\r\n").unwrap() + 4;
        let head = String::from_utf8(self.buffer[..end].to_vec()).unwrap();
        let (_, length) = head.split_once("Content-Length: ").unwrap();
        let length = length.lines().next().unwrap().parse().unwrap();
        (length, self.buffer.len() - end)
    }

    pub(crate) async fn answer(&mut self) -> Response {
        let end = loop {
            if let Some(at) = find(&self.buffer, b"\r\n\r\n") {
                break at + 4;
            }
            assert!(
                self.more().await,
                "the connection closed inside the headers"
            );
        };
        let head: Vec<u8> = self.buffer.drain(..end).collect();
        let head = String::from_utf8(head).unwrap();
        let mut lines = head.trim_end().split("\r\n");
        let status = lines.next().unwrap()[9..12].parse().unwrap();
        let headers: Vec<(String, String)> = lines
            .map(|line| line.split_once(": ").expect("the line is a header field"))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let mut got = Response {
            status,
            headers,
            body: Vec::new(),
            close: false,
        };
        got.close = got.header("connection") == Some("close");
        let raw = self.body(&got).await;
        got.body = match got.header("content-encoding") {
            Some("gzip") => {
                let mut body = Vec::new();
                flate2::read::GzDecoder::new(&raw[..])
                    .read_to_end(&mut body)
                    .unwrap();
                body
            }
            None => raw,
            other => panic!("unknown coding {other:?}"),
        };
        got
    }

    async fn body(&mut self, got: &Response) -> Vec<u8> {
        if got.status == 304 {
            return Vec::new();
        }
        if let Some(length) = got.header("content-length") {
            let length = length.parse().unwrap();
            return self.take(length).await;
        }
        if got.header("transfer-encoding") != Some("chunked") {
            assert!(
                got.close,
                "the response has neither a length nor Connection: close"
            );
            while self.more().await {}
            return std::mem::take(&mut self.buffer);
        }
        let mut body = Vec::new();
        loop {
            while find(&self.buffer, b"\r\n").is_none() {
                assert!(self.more().await, "the connection closed inside a chunk");
            }
            let end = find(&self.buffer, b"\r\n").unwrap();
            let line = String::from_utf8(self.take(end + 2).await).unwrap();
            let size = line.trim_end().split(';').next().unwrap();
            let size = usize::from_str_radix(size, 16).expect("the line is a chunk size");
            body.extend(self.take(size).await);
            assert_eq!(self.take(2).await, b"\r\n");
            if size == 0 {
                return body;
            }
        }
    }

    async fn take(&mut self, length: usize) -> Vec<u8> {
        while self.buffer.len() < length {
            assert!(self.more().await, "the connection closed inside the body");
        }
        self.buffer.drain(..length).collect()
    }

    pub(crate) async fn more(&mut self) -> bool {
        self.stream.read_buf(&mut self.buffer).await.unwrap() > 0
    }

    pub(crate) fn pending(&self) -> usize {
        self.buffer.len()
    }
}

fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    bytes.windows(needle.len()).position(|w| w == needle)
}

/// The parts of a page that concern links: base, robots meta tag, links.
#[derive(Debug, Default)]
pub(crate) struct PageLinks {
    pub(crate) base: Option<String>,
    pub(crate) nofollow: bool,
    pub(crate) links: Vec<String>,
}

/// Reads a page tag by tag. Comments and scripts are skipped.
pub(crate) fn read(html: &str) -> PageLinks {
    let mut seen = PageLinks::default();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        rest = &rest[at..];
        if rest.starts_with("<!--") {
            rest = &rest[rest.find("-->").expect("the comment has an end")..];
            continue;
        }
        let end = rest.find('>').expect("the tag has an end");
        tag(&rest[1..end], &mut seen);
        rest = &rest[end..];
    }
    seen
}

fn tag(text: &str, seen: &mut PageLinks) {
    let (name, mut rest) = text.split_once(' ').unwrap_or((text, ""));
    let mut attributes = Vec::new();
    while let Some((key, value)) = rest.split_once('=') {
        let quote = value.chars().next().unwrap_or(' ');
        let (value, tail) = if quote == '"' || quote == '\'' {
            value[1..].split_once(quote).expect("the quote has an end")
        } else {
            value.split_once(' ').unwrap_or((value, ""))
        };
        let value = value
            .replace("&#39;", "'")
            .replace("&quot;", "\"")
            .replace("&amp;", "&");
        attributes.push((key.trim().to_ascii_lowercase(), value));
        rest = tail;
    }
    let get = |key: &str| {
        attributes
            .iter()
            .find(|(k, _)| k == key)
            .map(|(_, v)| v.clone())
    };
    let refused = get("rel").is_some_and(|rel| rel == "nofollow");
    match name.to_ascii_lowercase().as_str() {
        "a" | "area" if !refused => seen.links.extend(get("href")),
        "frame" | "iframe" => seen.links.extend(get("src")),
        "base" => seen.base = get("href"),
        "meta" if get("name").is_some_and(|n| n.eq_ignore_ascii_case("robots")) => {
            seen.nofollow = get("content")
                .unwrap()
                .to_ascii_lowercase()
                .contains("nofollow");
        }
        "meta" if get("http-equiv").is_some() => {
            let content = get("content").unwrap();
            seen.links
                .push(content.split_once("URL=").unwrap().1.to_owned());
        }
        _ => {}
    }
}
