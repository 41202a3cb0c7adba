//! IndexNow: a site says which of its pages are new, changed or gone (<https://www.indexnow.org/documentation>).
//!
//! A site proves that a push is its own by a key that it publishes. We do not go and look, which would be a request that a
//! stranger makes us send: the keys that are believed are known beforehand, from `--key` and `indexnow-keys.txt`.
//!
//! | status | means |
//! |---|---|
//! | 200 | received; what is in scope is noted |
//! | 400 | cannot be read |
//! | 403 | the key is not known for that host |
//! | 422 | the key is none, or a URL is not the host's or not below the key's place |
//! | 429 | too many URLs of one host within an hour |

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use aranha_engine::{Signal, Source};
use aranha_url::CanonUrl;
use serde_json::Value;

use super::request::Request;
use super::{Answer, wanted};
use crate::error::CommandError;
use crate::live_scope::ScopeSnapshot;

/// URLs in one push, by the protocol.
const MOST: usize = 10_000;

/// URLs of one host in an hour.
const RATE: usize = 100_000;
const HOUR: Duration = Duration::from_hours(1);

/// Keys that are believed, and how much their hosts have pushed.
pub(super) struct Keys {
    given: HashSet<(String, String)>,
    file: PathBuf,
    pushed: HashMap<String, (Instant, usize)>,
}

/// What a push says.
struct Push {
    host: String,
    key: String,
    place: Option<String>,
    urls: Vec<String>,
}

impl Keys {
    pub(super) fn new(given: &[String], file: PathBuf) -> Result<Self, CommandError> {
        let pair = |text: &String| {
            pair(text).ok_or_else(|| {
                CommandError::usage(format!("`{text}` is no host with its key")).hint(
                    "for example example.org=5f0c7e1a9b3d4c26: 8 to 128 letters, digits or dashes",
                )
            })
        };
        Ok(Self {
            given: given.iter().map(pair).collect::<Result<_, _>>()?,
            file,
            pushed: HashMap::new(),
        })
    }

    pub(super) fn answer(
        &mut self,
        request: &Request,
        snapshot: &ScopeSnapshot,
        now: i64,
    ) -> Answer {
        let push = match request.method.as_str() {
            "GET" => of_query(request),
            _ => of_body(&request.body),
        };
        let Some(push) = push else {
            return Answer::new(400, "no push that can be read");
        };
        if !is_key(&push.key) {
            return Answer::new(422, "no key by the protocol");
        }
        if !self.knows(&push.host, &push.key) {
            return Answer::new(403, format!("the key is not known for {}", push.host));
        }
        let Some(pages) = pages(&push, snapshot) else {
            return Answer::new(422, format!("not all URLs are those of {}", push.host));
        };
        if !self.may(&push.host, pages.len()) {
            return Answer::new(429, format!("too many URLs of {}", push.host));
        }
        let signal = |url| Signal {
            url,
            source: Source::IndexNow,
            at: now,
        };
        let inside = pages.iter().filter_map(|url| wanted(snapshot, url));
        Answer {
            signals: inside.map(signal).collect(),
            ..Answer::new(200, "")
        }
    }

    /// The file is read each time: it is small, and people add to it.
    fn knows(&self, host: &str, key: &str) -> bool {
        let wanted = (host.to_ascii_lowercase(), key.to_owned());
        self.given.contains(&wanted)
            || fs::read_to_string(&self.file)
                .is_ok_and(|text| text.lines().filter_map(pair).any(|pair| pair == wanted))
    }

    fn may(&mut self, host: &str, count: usize) -> bool {
        let fresh = (Instant::now(), 0);
        let pushed = self
            .pushed
            .entry(host.to_ascii_lowercase())
            .or_insert(fresh);
        if pushed.0.elapsed() >= HOUR {
            *pushed = fresh;
        }
        if pushed.1 + count > RATE {
            return false;
        }
        pushed.1 += count;
        true
    }
}

/// `HOST=KEY`.
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

fn of_query(request: &Request) -> Option<Push> {
    let url = request.parameter("url")?;
    let rest = url.split_once("://")?.1;
    let host = rest.split(['/', '?', '#']).next()?;
    Some(Push {
        host: host.to_owned(),
        key: request.parameter("key")?,
        place: request.parameter("keyLocation"),
        urls: vec![url],
    })
}

fn of_body(body: &[u8]) -> Option<Push> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let text = |name: &str| body[name].as_str().map(str::to_owned);
    let urls = body["urlList"].as_array()?;
    let urls: Option<Vec<_>> = urls
        .iter()
        .map(|url| url.as_str().map(str::to_owned))
        .collect();
    Some(Push {
        host: text("host")?,
        key: text("key")?,
        place: text("keyLocation"),
        urls: urls.filter(|urls| (1..=MOST).contains(&urls.len()))?,
    })
}

/// The pages, if all are the host's and lie below the place of its key. URLs that the collection's rules refuse are left
/// out.
fn pages(push: &Push, snapshot: &ScopeSnapshot) -> Option<Vec<CanonUrl>> {
    let own = |url: &CanonUrl| {
        let host = push.host.as_str();
        url.authority().eq_ignore_ascii_case(host) || url.host().eq_ignore_ascii_case(host)
    };
    let below = match &push.place {
        None => "/".to_owned(),
        Some(place) => {
            let place = snapshot.canon.canon(place).ok().filter(&own)?;
            let path = place.path_only();
            path[..=path.rfind('/')?].to_owned()
        }
    };
    let mut pages = Vec::with_capacity(push.urls.len());
    for url in &push.urls {
        match snapshot.canon.canon(url) {
            Ok(url) if own(&url) && url.path().starts_with(&below) => pages.push(url),
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
    fn keys_are_read() {
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
    fn a_host_may_push_so_many() {
        let mut keys = Keys::new(&[], PathBuf::new()).expect("no keys");
        assert!(keys.may("a.example", RATE));
        assert!(!keys.may("a.example", 1));
        assert!(keys.may("b.example", 1));
    }
}
