//! A collection with several versions of its pages, written through the frontier and the archive as a crawl writes it.

#![allow(dead_code, reason = "every test file uses a part of this module")]
#![allow(
    unreachable_pub,
    reason = "a module of test binaries, not of a library"
)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::path::Path;

use aranha_frontier::{
    CheckIn, Embedded, Flags, Frontier, Hop, Outcome, PageRecord, Seed, Then, WindowUpdate,
};
use aranha_page::Input;
use aranha_url::Canonicaliser;
use aranha_volume::{Archive, EarlierVersion, Exchange};

/// One fetch of a page: its time, and the response of the server.
#[derive(Clone, Debug)]
pub struct Fetch {
    pub url: String,
    /// The time of the fetch in UTC: `2026-11-01 10:00`.
    pub time: &'static str,
    pub status: u16,
    pub content_type: &'static str,
    pub body: Vec<u8>,
    pub location: Option<String>,
}

impl Fetch {
    pub fn html(url: &str, time: &'static str, body: &str) -> Self {
        Self::of(url, time, "text/html; charset=utf-8", body.as_bytes())
    }

    pub fn of(url: &str, time: &'static str, content_type: &'static str, body: &[u8]) -> Self {
        Self {
            url: url.into(),
            time,
            status: 200,
            content_type,
            body: body.to_vec(),
            location: None,
        }
    }

    /// A response without content, for a status such as 304, 404 or 500.
    pub fn status(url: &str, time: &'static str, status: u16) -> Self {
        Self {
            status,
            ..Self::of(url, time, "", b"")
        }
    }

    pub fn redirect(url: &str, time: &'static str, target: &str) -> Self {
        Self {
            location: Some(target.into()),
            ..Self::status(url, time, 301)
        }
    }

    /// The exchange that a crawl would store. `before` is the record with the content that a 304 confirms.
    fn exchange(&self, before: Option<&PageRecord>) -> Exchange {
        let mut head = format!("HTTP/1.1 {} X\r\n", self.status);
        if !self.content_type.is_empty() {
            head = format!("{head}Content-Type: {}\r\n", self.content_type);
        }
        head = format!("{head}Content-Length: {}\r\n\r\n", self.body.len());
        Exchange {
            url: self.url.clone(),
            time_ms: milliseconds(self.time),
            request: b"GET / HTTP/1.1\r\n\r\n".to_vec().into(),
            head_length: head.len(),
            response: [head.as_bytes(), &self.body].concat().into(),
            payload: self.body.clone().into(),
            status: self.status,
            not_modified: before
                .filter(|_| self.status == 304)
                .map(|before| EarlierVersion {
                    time_ms: before.time,
                    digest: before.digest.unwrap(),
                    location: None,
                }),
            ..Exchange::default()
        }
    }
}

pub fn milliseconds(time: &str) -> i64 {
    let civil: jiff::civil::DateTime = time.parse().unwrap();
    let zoned = civil.to_zoned(jiff::tz::TimeZone::UTC).unwrap();
    zoned.timestamp().as_millisecond()
}

/// Writes a collection. The caller must pass the fetches of each page in order of time. A 304 response confirms the
/// content of the previous fetch of the same page.
pub fn write(folder: &Path, fetches: &[Fetch]) {
    std::fs::create_dir_all(folder).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (archive, _) = Archive::open(folder, aranha_volume::Options::default()).unwrap();
    let mut frontier = Embedded::open(folder, aranha_frontier::Options::default()).unwrap();
    let mut last: BTreeMap<String, PageRecord> = BTreeMap::new();
    let mut sites: BTreeMap<String, Vec<PageRecord>> = BTreeMap::new();
    let mut seeds = Vec::new();
    for fetch in fetches {
        let url = Canonicaliser::default().canon(&fetch.url).unwrap();
        let exchange = fetch.exchange(last.get(url.as_str()));
        let stored = runtime
            .block_on(async { archive.append(exchange).await.unwrap().await })
            .unwrap();
        let page = aranha_page::read(
            &Input {
                url: url.as_str(),
                content_type: Some(fetch.content_type),
                body: &fetch.body,
                content_language: None,
            },
            &aranha_page::Options::default(),
        );
        let mut record = PageRecord {
            path: url.path().to_owned(),
            key: url.path_key(),
            depth: 0,
            site_depth: 0,
            time: milliseconds(fetch.time),
            outcome: Outcome::Answer(fetch.status),
            media_type: page.media_type.as_str().to_owned(),
            size: fetch.body.len() as u64,
            digest: Some(stored.digest),
            text_digest: page.text_digest,
            language: None,
            location: Some(stored.location),
            revisit: stored.revisit,
            duration_ms: 5,
            tries: 0,
            hop: Hop::Seed,
            via: String::new(),
            redirect: fetch.location.clone(),
            flags: Flags::default(),
            next: None,
            past: None,
        };
        if fetch.status == 304 {
            let before = &last[url.as_str()];
            record = PageRecord {
                media_type: before.media_type.clone(),
                size: before.size,
                digest: before.digest,
                text_digest: before.text_digest,
                revisit: true,
                ..record
            };
        }
        last.insert(url.as_str().to_owned(), record.clone());
        sites.entry(url.site().to_owned()).or_default().push(record);
        seeds.push(Seed::of(&url));
    }
    runtime.block_on(archive.close()).unwrap();
    let now = milliseconds("2026-10-01 00:00");
    frontier.seed(now, &seeds).unwrap();
    let leases = frontier.check_out(now, seeds.len()).unwrap();
    let batch = leases.iter().map(|lease| CheckIn {
        lease: lease.id,
        done: sites[&lease.site].clone(),
        window: WindowUpdate::default(),
        later: Vec::new(),
        claims: Vec::new(),
        overflow: Vec::new(),
        keys: Vec::new(),
        outside: Vec::new(),
        facts: None,
        then: Then::Release { due: now },
    });
    let checked_in = frontier.check_in(now, batch.collect()).unwrap();
    assert_eq!(checked_in.len(), sites.len());
    assert!(checked_in.iter().all(Result::is_ok));
}
