//! A headless Chromium, driven by Playwright (`driver.py`, one JSON object per line). It loads pages, records every request,
//! and takes screenshots.
//!
//! The browser never reaches the network outside this machine: see [`Network`].

#![allow(dead_code, reason = "every test file uses a part of this module")]
#![allow(
    unreachable_pub,
    reason = "a module of test binaries, not of a library"
)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::support::tool;

/// What the browser can reach.
#[derive(Debug, Clone)]
pub enum Network {
    /// Servers whose address begins with `127.0.0`. Names are not resolved.
    Loopback,
    /// Only this HTTP proxy, such as `http://127.0.0.1:8080`. Requests to loopback addresses go to the proxy, too.
    Proxy(String),
    /// Nothing: only files can be opened.
    Cut,
}

/// The size of the window in CSS pixels, and the number of device pixels per CSS pixel.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    pub width: u32,
    pub height: u32,
    pub scale: u32,
}

/// A request of a page, its frames and its workers.
#[derive(Debug, Clone)]
pub struct BrowserRequest {
    pub url: String,
    /// The kind of the resource, such as `image`.
    pub kind: String,
    /// The status of the response. 200 for a file that was opened from disk.
    pub status: Option<u64>,
    /// Why the request failed, in the words of the browser.
    pub failure: Option<String>,
}

impl BrowserRequest {
    /// Whether the page did not get what it requested.
    pub fn is_miss(&self) -> bool {
        self.failure.is_some() || self.status.is_none_or(|status| status >= 400)
    }
}

/// A page that was opened.
#[derive(Debug)]
pub struct LoadedPage {
    pub requests: Vec<BrowserRequest>,
    /// Messages of the console and uncaught exceptions.
    pub console: Vec<String>,
}

/// A browser process. It is ended when the value is dropped.
pub struct Browser {
    driver: Child,
    commands: Option<ChildStdin>,
    results: BufReader<ChildStdout>,
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The driver ends the browser at the end of its input.
        self.commands = None;
        let _ = self.driver.wait();
    }
}

impl Browser {
    pub fn start(network: &Network, flags: &[&str]) -> Self {
        assert!(
            Path::new("/usr/bin/chromium").exists(),
            "chromium is missing: run ./test once to install the tools of the tests"
        );
        let rules = match network {
            Network::Loopback | Network::Proxy(_) => "MAP * ~NOTFOUND, EXCLUDE 127.0.0.*",
            Network::Cut => "MAP * ~NOTFOUND",
        };
        let rules = format!("--host-resolver-rules={rules}");
        let flags: Vec<_> = flags.iter().copied().chain([rules.as_str()]).collect();
        let proxy = match network {
            Network::Proxy(proxy) => Some(proxy),
            _ => None,
        };
        let mut driver = Command::new(tool("python"))
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/driver.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut commands = driver.stdin.take().unwrap();
        writeln!(commands, "{}", json!({"proxy": proxy, "flags": flags})).unwrap();
        Self {
            results: BufReader::new(driver.stdout.take().unwrap()),
            commands: Some(commands),
            driver,
        }
    }

    /// Opens a page in a new tab, scrolls through it, and saves a screenshot of the whole page as PNG.
    #[track_caller]
    pub fn open(&mut self, url: &str, window: Window, screenshot: Option<&Path>) -> LoadedPage {
        let Window {
            width,
            height,
            scale,
        } = window;
        let result = self.command(&json!({
            "open": url, "width": width, "height": height, "scale": scale, "screenshot": screenshot,
        }));
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let requests = result["requests"].as_array().unwrap().iter();
        let console = result["console"].as_array().unwrap().iter();
        LoadedPage {
            requests: requests
                .map(|request| BrowserRequest {
                    url: text(&request["url"]).unwrap(),
                    kind: text(&request["kind"]).unwrap(),
                    status: request["status"].as_u64(),
                    failure: text(&request["failure"]),
                })
                .collect(),
            console: console.filter_map(text).collect(),
        }
    }

    /// The value of a JavaScript expression in the page that was opened last.
    #[track_caller]
    pub fn evaluate(&mut self, expression: &str) -> Value {
        self.command(&json!({"evaluate": expression}))["value"].take()
    }

    #[track_caller]
    fn command(&mut self, command: &Value) -> Value {
        writeln!(self.commands.as_mut().unwrap(), "{command}").unwrap();
        let mut line = String::new();
        self.results.read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "the driver ended at {command}");
        let result: Value = serde_json::from_str(&line).unwrap();
        assert!(result["error"].is_null(), "{command}: {}", result["error"]);
        result
    }
}
