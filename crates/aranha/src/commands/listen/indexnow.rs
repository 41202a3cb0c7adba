//! IndexNow: a site announces new, changed and deleted pages (<https://www.indexnow.org/documentation>).
//!
//! The protocol authenticates a notification by a key that the site publishes on its own server. This program does not
//! fetch the published key, because then any client could make it send requests. Instead the user configures the keys
//! with `--key` or in `indexnow-keys.txt`.
//!
//! | status | meaning |
//! |---|---|
//! | 200 | accepted; URLs in scope are passed to the crawl |
//! | 400 | invalid notification |
//! | 403 | the key is not configured for the host |
//! | 422 | the key has an invalid form, or a URL is of another host or not below the folder of `keyLocation` |
//! | 429 | too many URLs of one host within an hour |

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use aranha_engine::{Signal, Source};
use aranha_url::CanonUrl;
use serde_json::Value;

use super::request::Request;
use super::{Response, in_scope};
use crate::error::CommandError;
use crate::live_scope::ScopeSnapshot;

/// Maximum number of URLs that the protocol allows in one notification.
const MAX_URLS: usize = 10_000;

/// Maximum number of URLs of one host per hour.
const MAX_URLS_PER_HOUR: usize = 100_000;
const HOUR: Duration = Duration::from_hours(1);

/// Accepted keys, and the number of URLs by host in the current hour.
pub(super) struct Keys {
    /// Hosts and keys given with `--key`.
    flags: HashSet<(String, String)>,
    file: PathBuf,
    url_counts: HashMap<String, (Instant, usize)>,
}

/// A parsed notification.
struct Notification {
    host: String,
    key: String,
    key_location: Option<String>,
    urls: Vec<String>,
}

impl Keys {
    pub(super) fn new(flags: &[String], file: PathBuf) -> Result<Self, CommandError> {
        let pair = |text: &String| {
            pair(text).ok_or_else(|| {
                CommandError::usage(format!("`{text}` does not have the form HOST=KEY")).hint(
                    "write HOST=KEY, such as example.org=5f0c7e1a9b3d4c26; a key has 8 to 128 letters, digits or dashes",
                )
            })
        };
        Ok(Self {
            flags: flags.iter().map(pair).collect::<Result<_, _>>()?,
            file,
            url_counts: HashMap::new(),
        })
    }

    pub(super) fn respond(
        &mut self,
        request: &Request,
        snapshot: &ScopeSnapshot,
        now: i64,
    ) -> Response {
        let notification = match request.method.as_str() {
            "GET" => from_query(request),
            _ => from_body(&request.body),
        };
        let Some(notification) = notification else {
            return Response::new(400, "invalid notification");
        };
        if !is_key(&notification.key) {
            return Response::new(422, "the key has an invalid form");
        }
        let host = notification.host.as_str();
        if !self.accepts(host, &notification.key) {
            return Response::new(403, format!("the key is not configured for {host}"));
        }
        let Some(pages) = pages(&notification, snapshot) else {
            return Response::new(422, format!("some URLs do not belong to {host}"));
        };
        if !self.within_rate(host, pages.len()) {
            return Response::new(429, format!("too many URLs of {host}"));
        }
        let signal = |url| Signal {
            url,
            source: Source::IndexNow,
            at: now,
        };
        let inside = pages.iter().filter_map(|url| in_scope(snapshot, url));
        Response {
            signals: inside.map(signal).collect(),
            ..Response::new(200, "")
        }
    }

    /// Whether this key is configured for this host. The file is read at every call, so that added keys work at once.
    fn accepts(&self, host: &str, key: &str) -> bool {
        let wanted = (host.to_ascii_lowercase(), key.to_owned());
        self.flags.contains(&wanted)
            || fs::read_to_string(&self.file)
                .is_ok_and(|text| text.lines().filter_map(pair).any(|pair| pair == wanted))
    }

    /// Counts `count` more URLs of the host, if this does not exceed its hourly limit. Returns false if it would.
    fn within_rate(&mut self, host: &str, count: usize) -> bool {
        let fresh = (Instant::now(), 0);
        let urls = self
            .url_counts
            .entry(host.to_ascii_lowercase())
            .or_insert(fresh);
        if urls.0.elapsed() >= HOUR {
            *urls = fresh;
        }
        if urls.1 + count > MAX_URLS_PER_HOUR {
            return false;
        }
        urls.1 += count;
        true
    }
}

/// Parses `HOST=KEY`.
fn pair(text: impl AsRef<str>) -> Option<(String, String)> {
    let (host, key) = text.as_ref().trim().split_once('=')?;
    let (host, key) = (host.trim(), key.trim());
    (!host.is_empty() && !host.starts_with('#') && is_key(key))
        .then(|| (host.to_ascii_lowercase(), key.to_owned()))
}

fn is_key(text: &str) -> bool {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (8..=128).contains(&text.len()) && text.bytes().all(good)
}

fn from_query(request: &Request) -> Option<Notification> {
    let url = request.parameter("url")?;
    let rest = url.split_once("://")?.1;
    let host = rest.split(['/', '?', '#']).next()?;
    Some(Notification {
        host: host.to_owned(),
        key: request.parameter("key")?,
        key_location: request.parameter("keyLocation"),
        urls: vec![url],
    })
}

fn from_body(body: &[u8]) -> Option<Notification> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let text = |name: &str| body[name].as_str().map(str::to_owned);
    let urls = body["urlList"].as_array()?;
    let urls: Option<Vec<_>> = urls
        .iter()
        .map(|url| url.as_str().map(str::to_owned))
        .collect();
    Some(Notification {
        host: text("host")?,
        key: text("key")?,
        key_location: text("keyLocation"),
        urls: urls.filter(|urls| (1..=MAX_URLS).contains(&urls.len()))?,
    })
}

/// The announced pages; `None` if a page does not belong to the host or is not below the folder of `keyLocation`. URLs
/// that the rules of the collection reject are skipped.
fn pages(notification: &Notification, snapshot: &ScopeSnapshot) -> Option<Vec<CanonUrl>> {
    let own = |url: &CanonUrl| {
        let host = notification.host.as_str();
        url.authority().eq_ignore_ascii_case(host) || url.host().eq_ignore_ascii_case(host)
    };
    let folder = match &notification.key_location {
        None => "/".to_owned(),
        Some(url) => {
            let url = snapshot.canon.canon(url).ok().filter(&own)?;
            let path = url.path_only();
            path[..=path.rfind('/')?].to_owned()
        }
    };
    let mut pages = Vec::with_capacity(notification.urls.len());
    for url in &notification.urls {
        match snapshot.canon.canon(url) {
            Ok(url) if own(&url) && url.path().starts_with(&folder) => pages.push(url),
            Ok(_) => return None,
            Err(_) => {}
        }
    }
    Some(pages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_parsed() {
        let good = |text: &str| pair(text).is_some();
        assert!(good("Example.org=5f0c7e1a-9b3d"));
        assert!(good(" example.org = 12345678 "));
        for text in [
            "example.org",
            "=12345678",
            "example.org=short",
            "# a=12345678",
            "a=12 345678",
        ] {
            assert!(!good(text), "{text}");
        }
    }

    #[test]
    fn urls_of_a_host_are_limited_per_hour() {
        let mut keys = Keys::new(&[], PathBuf::new()).expect("an empty list is valid");
        assert!(keys.within_rate("a.example", MAX_URLS_PER_HOUR));
        assert!(!keys.within_rate("a.example", 1));
        assert!(keys.within_rate("b.example", 1));
    }
}
