//! A small HTTP server whose responses are a function of the request, and the command that crawls it.

#![allow(dead_code, reason = "every test file uses a part of this module")]
#![allow(
    unreachable_pub,
    reason = "a module of test binaries, not of a library"
)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use crate::support::{aranha, assert_status};

/// Returns the response (head and body) for a path, a cookie, and the number of earlier requests for the path.
type Script = dyn Fn(&str, Option<&str>, usize) -> String + Send + Sync;

/// The server. It runs until the test process ends. Each connection serves one request.
pub struct ScriptedSite {
    pub port: u16,
    requests: Arc<Mutex<Vec<Request>>>,
}

struct Request {
    path: String,
    is_conditional: bool,
}

impl ScriptedSite {
    pub fn start(
        script: impl Fn(&str, Option<&str>, usize) -> String + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (script, log): (Arc<Script>, _) = (Arc::new(script), Arc::clone(&requests));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (script, log) = (Arc::clone(&script), Arc::clone(&log));
                std::thread::spawn(move || serve(&stream.unwrap(), &*script, &log));
            }
        });
        Self { port, requests }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Paths of all requests in order, including `/robots.txt`.
    pub fn all_requests(&self) -> Vec<String> {
        let requests = self.requests.lock().unwrap();
        requests
            .iter()
            .map(|request| request.path.clone())
            .collect()
    }

    /// Paths of the requests in order, without `/robots.txt`.
    pub fn requests(&self) -> Vec<String> {
        let mut requests = self.all_requests();
        requests.retain(|path| path != "/robots.txt");
        requests
    }

    /// Paths of the requests with `If-None-Match` or `If-Modified-Since`.
    pub fn conditional_requests(&self) -> Vec<String> {
        let requests = self.requests.lock().unwrap();
        let conditional = requests.iter().filter(|request| request.is_conditional);
        conditional.map(|request| request.path.clone()).collect()
    }
}

fn serve(mut stream: &TcpStream, script: &Script, log: &Mutex<Vec<Request>>) {
    let mut lines = BufReader::new(stream).lines();
    let Some(Ok(first)) = lines.next() else {
        return;
    };
    let path = first.split(' ').nth(1).unwrap().to_owned();
    let (mut cookie, mut is_conditional) = (None, false);
    for line in lines
        .map_while(Result::ok)
        .take_while(|line| !line.is_empty())
    {
        if let Some(value) = line.strip_prefix("Cookie: ") {
            cookie = Some(value.to_owned());
        }
        is_conditional |= line.starts_with("If-");
    }
    let before = {
        let mut log = log.lock().unwrap();
        let before = log.iter().filter(|earlier| earlier.path == path).count();
        log.push(Request {
            path: path.clone(),
            is_conditional,
        });
        before
    };
    let response = match path.as_str() {
        // A script returns an empty string if the site has no robots.txt.
        "/robots.txt" => match script(&path, None, before) {
            response if response.is_empty() => status("404 Not Found"),
            response => response,
        },
        path => script(path, cookie.as_deref(), before),
    };
    let _ = stream.write_all(response.as_bytes());
}

/// A response with an HTML page.
pub fn page(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A response without a body, for a status such as `404 Not Found`.
pub fn status(line: &str) -> String {
    format!("HTTP/1.1 {line}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
}

/// A response with a page of links.
pub fn links(paths: &[&str]) -> String {
    let links: Vec<_> = paths
        .iter()
        .map(|path| format!("<a href='{path}'>{path}</a>"))
        .collect();
    page(&links.join("\n"))
}

/// The command that crawls a site without a courtesy pause.
pub fn crawl(folder: &Path, seed: &str) -> Command {
    let mut command = aranha();
    command
        .args([
            "crawl",
            seed,
            "--allow-private",
            "--pause",
            "0",
            "--quiet",
            "-c",
        ])
        .arg(folder);
    command
}

/// Runs a command that must succeed.
pub fn run(command: &mut Command) {
    assert_status(&command.output().unwrap(), 0);
}

/// Runs a crawl in which no seed can be fetched.
pub fn run_without_answer(command: &mut Command) {
    assert_status(&command.output().unwrap(), 4);
}

/// Runs a crawl in which seeds may fail.
pub fn run_with_failures(command: &mut Command) {
    let output = command.output().unwrap();
    if output.status.code() != Some(4) {
        assert_status(&output, 0);
    }
}
