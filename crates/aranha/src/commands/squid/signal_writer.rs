//! Filters the pages that users request from the proxy, and writes the accepted pages to `signals.jsonl`.
//!
//! A page is accepted if it meets four conditions: it is in scope and not on a black list; its host is allowed
//! (`proxy_cache.hosts`); it has no query string, or `proxy_cache.queries` is set; and it was not written during the
//! last `proxy_cache.min_interval`.
//!
//! **Always holds** (privacy): for all other pages, only the number of requests is kept, and nothing about the user
//! is read. If the collection cannot be read, no page is written.

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

/// A batch ends after this time, counted from its first request, or when it has [`MAX_BATCH`] requests.
const BATCH_TIME: Duration = Duration::from_millis(200);
const MAX_BATCH: usize = 1000;

/// Interval between two messages about the same problem.
const REPEAT_INTERVAL: Duration = Duration::from_hours(1);

/// A request of a user to the proxy.
pub(super) struct ProxyRequest {
    pub(super) url: String,
    /// Time of the request in Unix milliseconds.
    pub(super) at: i64,
}

/// Counts of requests.
#[derive(Debug, Default)]
pub(super) struct Tally {
    requests: AtomicU64,
    written: AtomicU64,
    /// Requests for pages that were written less than `proxy_cache.min_interval` before the request.
    repeated: AtomicU64,
    /// Requests that were lost because the queue was full or the file could not be written.
    dropped: AtomicU64,
}

impl Tally {
    pub(super) fn count_request(&self) {
        self.requests.fetch_add(1, Relaxed);
    }

    pub(super) fn count_dropped(&self) {
        self.dropped.fetch_add(1, Relaxed);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [requests, written, repeated, dropped] =
            [&self.requests, &self.written, &self.repeated, &self.dropped]
                .map(|count| count.load(Relaxed));
        let excluded = requests.saturating_sub(written + repeated + dropped);
        write!(
            f,
            "{} requests: {} passed to the crawl, {} repeated, {} excluded, {} dropped",
            grouped(requests),
            grouped(written),
            grouped(repeated),
            grouped(excluded),
            grouped(dropped)
        )
    }
}

/// Writes signals, in a thread of its own.
pub(super) struct SignalWriter {
    collection: CollectionArg,
    signals: PathBuf,
    tally: Arc<Tally>,
    recent: RecentlyNoted,
    /// The last problem, and when it was reported.
    problem: Option<(String, Instant)>,
}

impl SignalWriter {
    pub(super) fn new(collection: &CollectionArg, tally: Arc<Tally>) -> Self {
        Self {
            collection: collection.clone(),
            signals: Folder::at(&collection.folder).signals(),
            tally,
            recent: RecentlyNoted::default(),
            problem: None,
        }
    }

    /// Writes batches until the queue is closed.
    pub(super) fn run(mut self, queue: &Receiver<ProxyRequest>) {
        let mut scope = LiveScope::new(&self.collection);
        let mut open = true;
        while open {
            let mut batch = Vec::new();
            let mut until = None;
            while batch.len() < MAX_BATCH {
                let received = match until {
                    None => queue.recv().map_err(|_| RecvTimeoutError::Disconnected),
                    Some(until) => queue
                        .recv_timeout(Instant::saturating_duration_since(&until, Instant::now())),
                };
                match received {
                    Ok(request) => batch.push(request),
                    Err(RecvTimeoutError::Timeout) => break,
                    Err(RecvTimeoutError::Disconnected) => {
                        open = false;
                        break;
                    }
                }
                until.get_or_insert_with(|| Instant::now() + BATCH_TIME);
            }
            self.write(&mut scope, &batch);
        }
    }

    fn write(&mut self, scope: &mut LiveScope, batch: &[ProxyRequest]) {
        if batch.is_empty() {
            return;
        }
        let snapshot = match scope.current() {
            Ok(snapshot) => snapshot,
            Err(reason) => {
                return self.report(&format!("no pages are passed to the crawl: {reason}"));
            }
        };
        let signals: Vec<Signal> = batch
            .iter()
            .filter_map(|request| self.filter(snapshot, request))
            .collect();
        if signals.is_empty() {
            return;
        }
        match signal(&self.signals, &signals) {
            Ok(()) => {
                self.tally.written.fetch_add(signals.len() as u64, Relaxed);
                self.problem = None;
            }
            Err(error) => {
                // Forget all pages. The pages of this batch were not written, so later requests for them must be
                // accepted again.
                self.recent = RecentlyNoted::default();
                let count = signals.len() as u64;
                self.tally.dropped.fetch_add(count, Relaxed);
                let path = self.signals.display();
                self.report(&format!("pages are dropped: cannot write {path}: {error}"));
            }
        }
    }

    fn filter(&mut self, snapshot: &ScopeSnapshot, request: &ProxyRequest) -> Option<Signal> {
        let url = snapshot.canon.canon(&request.url).ok()?;
        let proxy_cache = &snapshot.config.proxy_cache;
        let selected = (proxy_cache.queries || url.query().is_none())
            && proxy_cache.allows(url.host())
            && snapshot.accepts(&url);
        if !selected {
            return None;
        }
        if !self
            .recent
            .insert(url.key(), request.at, proxy_cache.min_interval)
        {
            self.tally.repeated.fetch_add(1, Relaxed);
            return None;
        }
        Some(Signal {
            url: url.as_str().to_owned(),
            source: Source::Proxy,
            at: request.at,
        })
    }

    /// Prints a problem to stderr, which Squid writes to its cache.log. The same problem is printed at most once per
    /// hour.
    fn report(&mut self, sentence: &str) {
        if let Some((last, at)) = &self.problem
            && last == sentence
            && at.elapsed() < REPEAT_INTERVAL
        {
            return;
        }
        message(format_args!("aranha squid: {}", Escaped(sentence)));
        self.problem = Some((sentence.to_owned(), Instant::now()));
    }
}
