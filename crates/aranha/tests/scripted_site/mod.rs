//! A server of a few lines that tells a script, and the crawl that listens to it.

#![allow(dead_code, reason = "every test file uses its own part of this")]
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

/// What a request is answered with, head and body: `(path, cookie, how often it was asked before)`.
type Script = dyn Fn(&str, Option<&str>, usize) -> String + Send + Sync;

/// A server that tells a script. Ends with the test's process; every connection serves one request.
pub struct ScriptedSite {
    pub port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl ScriptedSite {
    pub fn start(
        script: impl Fn(&str, Option<&str>, usize) -> String + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (script, log): (Arc<Script>, _) = (Arc::new(script), Arc::clone(&asked));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (script, log) = (Arc::clone(&script), Arc::clone(&log));
                std::thread::spawn(move || serve(&stream.unwrap(), &*script, &log));
            }
        });
        Self { port, asked }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Everything that was asked for.
    pub fn all(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// Paths asked for, robots.txt left out.
    pub fn asked(&self) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        asked
            .iter()
            .filter(|path| *path != "/robots.txt")
            .cloned()
            .collect()
    }
}

fn serve(mut stream: &TcpStream, script: &Script, log: &Mutex<Vec<String>>) {
    let mut lines = BufReader::new(stream).lines();
    let Some(Ok(first)) = lines.next() else {
        return;
    };
    let path = first.split(' ').nth(1).unwrap().to_owned();
    let mut cookie = None;
    for line in lines
        .map_while(Result::ok)
        .take_while(|line| !line.is_empty())
    {
        if let Some(value) = line.strip_prefix("Cookie: ") {
            cookie = Some(value.to_owned());
        }
    }
    let before = {
        let mut log = log.lock().unwrap();
        let before = log.iter().filter(|asked| **asked == path).count();
        log.push(path.clone());
        before
    };
    let answer = match path.as_str() {
        // A script that says nothing about it has no robots.txt.
        "/robots.txt" => match script(&path, None, before) {
            answer if answer.is_empty() => status("404 Not Found"),
            answer => answer,
        },
        path => script(path, cookie.as_deref(), before),
    };
    let _ = stream.write_all(answer.as_bytes());
}

pub fn page(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

pub fn status(line: &str) -> String {
    format!("HTTP/1.1 {line}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
}

pub fn links(paths: &[&str]) -> String {
    let links: Vec<_> = paths
        .iter()
        .map(|path| format!("<a href='{path}'>{path}</a>"))
        .collect();
    page(&links.join("\n"))
}

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

pub fn run(command: &mut Command) {
    assert_status(&command.output().unwrap(), 0);
}
