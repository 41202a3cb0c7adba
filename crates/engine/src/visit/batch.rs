//! The contents of the next check-in: all results and links since the last check-in.

use aranha_frontier::{CheckIn, Claim, Outside, Pending, Seed, SiteFacts, Then, WindowUpdate};
use aranha_url::PathKey;
use tokio::sync::oneshot;

use crate::commit::{Committed, CompletedFetch, Submission};
use crate::visit::page_queue::{PageQueue, QueueReport};

/// Maximum length of `done` and `later` together, for each parallel request. When it is reached, a check-in is made
/// before `crawl.check_in_interval` is over.
const LARGE_BATCH: usize = 512;
/// The same for `outside` and `overflow` together, but for all requests.
const MANY_LINKS: usize = 64 * LARGE_BATCH;

#[derive(Default)]
pub(super) struct Batch {
    pub(super) done: Vec<CompletedFetch>,
    /// Keys of pages that were admitted.
    pub(super) keys: Vec<PathKey>,
    /// Pages that were not fetched, and the times at which they are due again.
    pub(super) later: Vec<(i64, Pending)>,
    /// Changes of pages that the site's own sitemaps and feeds announce.
    pub(super) claims: Vec<Claim>,
    /// New pages for which the queue has no room. The frontier stores them on disk.
    pub(super) overflow: PageQueue,
    /// Links to other sites.
    pub(super) outside: Vec<Outside>,
    /// Seeds that were added because an older seed redirects to them.
    pub(super) new_seeds: Vec<Seed>,
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.done.is_empty()
            && self.later.is_empty()
            && self.claims.is_empty()
            && self.keys.is_empty()
            && self.outside.is_empty()
    }

    pub(super) fn is_large(&self, requests: usize) -> bool {
        self.done.len() + self.later.len() >= LARGE_BATCH * requests
            || self.outside.len() + self.overflow.len() >= MANY_LINKS
    }

    /// Moves the contents of the batch to a submission.
    pub(super) fn take(
        &mut self,
        lease: u64,
        window: QueueReport,
        facts: Option<SiteFacts>,
        then: Then,
        reply: oneshot::Sender<Committed>,
    ) -> Submission {
        let batch = std::mem::take(self);
        let check_in = CheckIn {
            lease,
            done: Vec::new(),
            window: WindowUpdate::default(),
            later: batch.later,
            claims: batch.claims,
            overflow: Vec::new(),
            keys: batch.keys,
            outside: batch.outside,
            facts,
            then,
        };
        Submission {
            check_in,
            done: batch.done,
            window,
            overflow: batch.overflow,
            new_seeds: batch.new_seeds,
            reply,
        }
    }
}
