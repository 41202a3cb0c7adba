//! What the crawl has done since this process began: counters that anybody may read at any time.
//!
//! Only for people to look at. What decides anything is in the frontier.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Live counters. Written by visits, read by the progress display.
#[derive(Debug, Default)]
pub struct Tally {
    /// Pages answered, whatever the status.
    pub pages: AtomicU64,
    /// Pages whose content was already in the archive.
    pub duplicates: AtomicU64,
    /// Fetches that ended in no answer.
    pub failures: AtomicU64,
    /// Answers of 400 and above.
    pub refusals: AtomicU64,
    /// Pages not asked for because robots.txt says so.
    pub excluded: AtomicU64,
    /// Bytes that came over the wire.
    pub received: AtomicU64,
    /// Compressed bytes written to volumes.
    pub written: AtomicU64,
    /// Links found in pages, before any test.
    pub links: AtomicU64,
    /// Sites being visited now.
    pub visits: AtomicU64,
    /// Sites visited in all (a site that is visited twice counts twice).
    pub visited: AtomicU64,
    /// Group commits made.
    pub commits: AtomicU64,
    /// Requests that the load manager allows at once; 0 when nothing is capped.
    pub allowed: AtomicU64,
    /// Sites set aside as traps, and domains shut out.
    pub traps: AtomicU64,
    /// Pages that say what the site says of pages that do not exist (T8).
    pub soft: AtomicU64,
    /// Pages that turn visitors away because of their browser (T9).
    pub cloaked: AtomicU64,
    /// Pages visited again that were as before, answers 304 included.
    pub unchanged: AtomicU64,
    /// Pages visited again whose text was another.
    pub changed: AtomicU64,
    /// Pages visited again that were not there any more.
    pub gone: AtomicU64,
    /// Signals from outside that concern pages in scope.
    pub signals: AtomicU64,
    /// Visits that were brought forward by them.
    pub sooner: AtomicU64,
    /// Pages that nobody knew before them.
    pub announced: AtomicU64,
    /// Pages taken from the proxy's cache.
    pub cached: AtomicU64,
    /// Pages that the proxy had no longer when they were asked for.
    pub uncached: AtomicU64,
}

/// The counters at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[expect(missing_docs, reason = "the fields of Tally, which says what they are")]
pub struct Snapshot {
    pub pages: u64,
    pub duplicates: u64,
    pub failures: u64,
    pub refusals: u64,
    pub excluded: u64,
    pub received: u64,
    pub written: u64,
    pub links: u64,
    pub visits: u64,
    pub visited: u64,
    pub commits: u64,
    pub allowed: u64,
    pub traps: u64,
    pub soft: u64,
    pub cloaked: u64,
    pub unchanged: u64,
    pub changed: u64,
    pub gone: u64,
    pub signals: u64,
    pub sooner: u64,
    pub announced: u64,
    pub cached: u64,
    pub uncached: u64,
}

impl Tally {
    /// The counters now, each read once.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            pages: self.pages.load(Relaxed),
            duplicates: self.duplicates.load(Relaxed),
            failures: self.failures.load(Relaxed),
            refusals: self.refusals.load(Relaxed),
            excluded: self.excluded.load(Relaxed),
            received: self.received.load(Relaxed),
            written: self.written.load(Relaxed),
            links: self.links.load(Relaxed),
            visits: self.visits.load(Relaxed),
            visited: self.visited.load(Relaxed),
            commits: self.commits.load(Relaxed),
            allowed: self.allowed.load(Relaxed),
            traps: self.traps.load(Relaxed),
            soft: self.soft.load(Relaxed),
            cloaked: self.cloaked.load(Relaxed),
            unchanged: self.unchanged.load(Relaxed),
            changed: self.changed.load(Relaxed),
            gone: self.gone.load(Relaxed),
            signals: self.signals.load(Relaxed),
            sooner: self.sooner.load(Relaxed),
            announced: self.announced.load(Relaxed),
            cached: self.cached.load(Relaxed),
            uncached: self.uncached.load(Relaxed),
        }
    }
}

/// Adds to a counter that nothing waits for.
pub(crate) fn add(counter: &AtomicU64, amount: u64) {
    counter.fetch_add(amount, Relaxed);
}
