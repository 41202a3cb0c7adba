//! What becomes of a page that somebody asked the proxy for: the filters, then a line in `signals.jsonl`.
//!
//! Privacy: **nothing is written down, not even a count by name, of what the collection does not want**. A page is taken if
//! it is in scope and not on a black list, its host is allowed (`proxy_cache.hosts`), it has no query string
//! (`proxy_cache.queries`), and it was not told of within `proxy_cache.min_interval`. Who asked is not looked at. A collection that is
//! away or cannot be read wants nothing.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use aranha_engine::{Collection as Folder, Signal, Source, signal};

use super::recently_noted::RecentlyNoted;
use crate::display::grouped;
use crate::live_scope::{LiveScope, ScopeSnapshot};
use crate::output::message;
use crate::shared_args::CollectionArg;
use crate::terminal_escape::Escaped;

/// Signals are gathered for this long, or until there are so many.
const GATHER: Duration = Duration::from_millis(200);
const BATCH: usize = 1000;

/// The same trouble is told this often.
const REMIND: Duration = Duration::from_hours(1);

/// Somebody asked for a page.
pub(super) struct ProxyRequest {
    pub(super) url: String,
    /// Unix milliseconds.
    pub(super) at: i64,
}

/// What became of the requests.
#[derive(Debug, Default)]
pub(super) struct Tally {
    requests: AtomicU64,
    told: AtomicU64,
    again: AtomicU64,
    dropped: AtomicU64,
}

impl Tally {
    pub(super) fn requests(&self) {
        self.requests.fetch_add(1, Relaxed);
    }

    pub(super) fn dropped(&self) {
        self.dropped.fetch_add(1, Relaxed);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [requests, told, again, dropped] =
            [&self.requests, &self.told, &self.again, &self.dropped]
                .map(|count| count.load(Relaxed));
        let rest = requests.saturating_sub(told + again + dropped);
        write!(
            f,
            "{} requests: {} told to the crawl, {} told before, {} not wanted, {} dropped",
            grouped(requests),
            grouped(told),
            grouped(again),
            grouped(rest),
            grouped(dropped)
        )
    }
}

/// The thread that writes.
pub(super) struct SignalWriter {
    collection: CollectionArg,
    signals: PathBuf,
    tally: Arc<Tally>,
    recent: RecentlyNoted,
    /// What hinders, and when that was told.
    trouble: Option<(String, Instant)>,
}

impl SignalWriter {
    pub(super) fn new(collection: &CollectionArg, tally: Arc<Tally>) -> Self {
        Self {
            collection: collection.clone(),
            signals: Folder::at(&collection.folder).signals(),
            tally,
            recent: RecentlyNoted::default(),
            trouble: None,
        }
    }

    /// Works until nobody can tell anything any more.
    pub(super) fn work(mut self, queue: &Receiver<ProxyRequest>) {
        let mut wanted = LiveScope::new(&self.collection);
        let mut open = true;
        while open {
            let mut batch = Vec::new();
            let mut until = None;
            while batch.len() < BATCH {
                let heard = match until {
                    None => queue.recv().map_err(|_| RecvTimeoutError::Disconnected),
                    Some(until) => queue
                        .recv_timeout(Instant::saturating_duration_since(&until, Instant::now())),
                };
                match heard {
                    Ok(heard) => batch.push(heard),
                    Err(RecvTimeoutError::Timeout) => break,
                    Err(RecvTimeoutError::Disconnected) => {
                        open = false;
                        break;
                    }
                }
                until.get_or_insert_with(|| Instant::now() + GATHER);
            }
            self.file(&mut wanted, &batch);
        }
    }

    fn file(&mut self, wanted: &mut LiveScope, batch: &[ProxyRequest]) {
        if batch.is_empty() {
            return;
        }
        let snapshot = match wanted.current() {
            Ok(snapshot) => snapshot,
            Err(reason) => return self.complain(&format!("no pages are taken: {reason}")),
        };
        let signals: Vec<Signal> = batch
            .iter()
            .filter_map(|heard| self.take(snapshot, heard))
            .collect();
        if signals.is_empty() {
            return;
        }
        match signal(&self.signals, &signals) {
            Ok(()) => {
                self.tally.told.fetch_add(signals.len() as u64, Relaxed);
                self.trouble = None;
            }
            Err(error) => {
                // Nobody was told.
                self.recent = RecentlyNoted::default();
                let count = signals.len() as u64;
                self.tally.dropped.fetch_add(count, Relaxed);
                let path = self.signals.display();
                self.complain(&format!("pages are dropped: {path}: {error}"));
            }
        }
    }

    fn take(&mut self, snapshot: &ScopeSnapshot, heard: &ProxyRequest) -> Option<Signal> {
        let url = snapshot.canon.canon(&heard.url).ok()?;
        let proxy_cache = &snapshot.config.proxy_cache;
        let taken = (proxy_cache.queries || url.query().is_none())
            && proxy_cache.allows(url.host())
            && snapshot.accepts(&url);
        if !taken {
            return None;
        }
        if !self
            .recent
            .is_news(url.key(), heard.at, proxy_cache.min_interval)
        {
            self.tally.again.fetch_add(1, Relaxed);
            return None;
        }
        Some(Signal {
            url: url.as_str().to_owned(),
            source: Source::Proxy,
            at: heard.at,
        })
    }

    /// Tells what is wrong, once and then rarely: Squid's cache.log is where it ends.
    fn complain(&mut self, sentence: &str) {
        if let Some((told, at)) = &self.trouble
            && told == sentence
            && at.elapsed() < REMIND
        {
            return;
        }
        message(format_args!("aranha squid: {}", Escaped(sentence)));
        self.trouble = Some((sentence.to_owned(), Instant::now()));
    }
}
