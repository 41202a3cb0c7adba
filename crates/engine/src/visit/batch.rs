//! What a visit has gathered since its last check-in.

use aranha_frontier::{CheckIn, Claim, Outside, Pending, Seed, SiteFacts, Then, WindowUpdate};
use aranha_url::PathKey;
use tokio::sync::oneshot;

use crate::commit::{Committed, Done, Submission};
use crate::visit::page_queue::{Pages, Report};

/// Pages done, or links by the dozen, after which a check-in is made before its time; for each request at once.
const LARGE: usize = 512;

/// The contents of the next check-in.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) done: Vec<Done>,
    pub(super) keys: Vec<PathKey>,
    /// Pages put off.
    pub(super) later: Vec<(i64, Pending)>,
    /// Pages that the site itself says have changed.
    pub(super) claims: Vec<Claim>,
    pub(super) overflow: Pages,
    pub(super) outside: Vec<Outside>,
    /// Where seeds redirected to: seeds in their turn.
    pub(super) adopted: Vec<Seed>,
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
        self.done.len() + self.later.len() >= LARGE * requests
            || self.outside.len() + self.overflow.len() >= 64 * LARGE
    }

    /// Empties the batch into a submission.
    pub(super) fn take(
        &mut self,
        lease: u64,
        held: Report,
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
            held,
            overflow: batch.overflow,
            adopted: batch.adopted,
            reply,
        }
    }
}
