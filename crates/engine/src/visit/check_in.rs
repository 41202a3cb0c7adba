//! The check-ins of a visit: the committer writes the batch to disk while the visit continues.
//!
//! **At most one check-in of a visit is under way.** Every check-in renews the lease, except the last one, which
//! releases the site.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use aranha_frontier::{Hop, Then};
use aranha_url::SiteKey;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::{Ending, Visit, spread_over};
use crate::commit::Committed;
use crate::node::Context;
use crate::node::stop::{CrawlLimit, Reason};

/// After the crawl was asked to stop, a visit waits at most this time for responses.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);
/// The maximum wait if the crawl stops because of its time limit (`crawl.time`).
const TIME_LIMIT_GRACE: Duration = Duration::from_secs(1);
/// Time between check-ins of a visit directly after the start of the crawl.
const FIRST_INTERVAL: Duration = Duration::from_millis(200);

/// The check-ins of one visit.
pub(super) struct CheckIns {
    /// The reply to the check-in that is under way.
    pub(super) submitted: Option<oneshot::Receiver<Committed>>,
    /// Time of the last check-in.
    pub(super) last: Instant,
    /// Time from the last check-in to the next one.
    pub(super) interval: Duration,
}

impl CheckIns {
    /// `interval`: the current time between check-ins ([`Context::check_in_interval`]). The first check-in of a visit
    /// is earlier by a part of the interval. This part differs by site.
    pub(super) fn new(interval: Duration, site: SiteKey) -> Self {
        Self {
            submitted: None,
            last: spread_over(interval, site),
            interval,
        }
    }
}

impl Context {
    /// The current time between check-ins of a visit.
    pub(super) fn check_in_interval(&self) -> Duration {
        let configured = self.config().crawl.check_in_interval;
        interval_after(self.control.started.elapsed(), configured)
    }
}

/// The time between check-ins when the crawl has run for `elapsed`. It is half of `elapsed`, but at least
/// [`FIRST_INTERVAL`] and at most `configured`. So if a crawl is killed soon after its start, most of its fetches are
/// recorded. Even a crawl that is killed again and again makes progress.
fn interval_after(elapsed: Duration, configured: Duration) -> Duration {
    (elapsed / 2).max(FIRST_INTERVAL).min(configured)
}

impl Visit {
    /// The time at which a check-in must renew the lease, even if the batch is empty.
    pub(super) fn renewal(&self) -> Instant {
        self.check_ins.last + self.context.config().frontier.lease / 3
    }

    /// Whether a check-in is due. The reasons are: the interval is over, the lease must be renewed, the batch is large,
    /// or the queue is short while pages wait on disk.
    pub(super) fn needs_check_in(&self) -> bool {
        if self.check_ins.submitted.is_some() {
            return false;
        }
        let interval = self.check_ins.interval;
        let is_short = self.has_more_on_disk() && self.queue.len() < (self.window() / 4).max(1);
        is_short
            || Instant::now() >= self.renewal()
            || (!self.batch.is_empty()
                && (self.check_ins.last.elapsed() >= interval || self.is_batch_large()))
    }

    pub(super) fn is_batch_large(&self) -> bool {
        self.batch.is_large(self.max_requests())
    }

    fn has_more_on_disk(&self) -> bool {
        self.more_on_disk || !self.batch.overflow.is_empty()
    }

    /// Number of pages to request from the frontier: the free places in the queue, or 0 if no pages wait on disk.
    pub(super) fn free_slots(&self) -> usize {
        if self.has_more_on_disk() {
            self.window().saturating_sub(self.queue.len())
        } else {
            0
        }
    }

    /// Sends the batch to the committer.
    pub(super) async fn check_in(&mut self, then: Then) {
        let submissions = self.context.storage.submissions.clone();
        // The queue is copied only when the channel has room. So visits that wait for room do not hold copies.
        let Ok(slot) = submissions.reserve().await else {
            self.ending = Some(Ending::Abandon);
            return;
        };
        let (reply, receiver) = oneshot::channel();
        let in_flight = self.requests.in_flight();
        let window = self
            .queue
            .report(in_flight.filter(|page| page.hop != Hop::SoftNotFoundProbe));
        let facts = self.site.take_changes();
        let has_overflow = !self.batch.overflow.is_empty();
        slot.send(self.batch.take(self.lease, window, facts, then, reply));
        self.more_on_disk |= has_overflow;
        self.check_ins.last = Instant::now();
        self.check_ins.interval = self.context.check_in_interval();
        self.check_ins.submitted = Some(receiver);
    }

    /// Takes the reply to a check-in if it has arrived.
    pub(super) fn poll_reply(&mut self) {
        if let Some(receiver) = &mut self.check_ins.submitted {
            match receiver.try_recv() {
                Ok(committed) => self.on_reply(Ok(committed)),
                Err(oneshot::error::TryRecvError::Empty) => {}
                Err(oneshot::error::TryRecvError::Closed) => self.on_reply(Err(())),
            }
        }
    }

    pub(super) fn on_reply(&mut self, reply: Result<Committed, ()>) {
        self.check_ins.submitted = None;
        let checked_in = reply.ok().and_then(|committed| committed.checked_in);
        match checked_in.filter(|checked_in| !checked_in.released) {
            Some(checked_in) => {
                self.more_on_disk = checked_in.has_more;
                self.queue.receive(checked_in.more);
            }
            None => self.ending = Some(Ending::Abandon),
        }
    }

    /// Waits for the responses to all requests, and renews the lease in the meantime. If the crawl stops, waits at most
    /// [`SHUTDOWN_GRACE`] or [`TIME_LIMIT_GRACE`], and then cancels the requests. Their pages stay pending, and the
    /// courtesy pause starts at the cancellation.
    async fn drain(&mut self) {
        let context = Arc::clone(&self.context);
        let too_late = async {
            context.control.stop.wait().await;
            let grace = match context.control.stop.reason() {
                Some(Reason::Limit(CrawlLimit::Time)) => TIME_LIMIT_GRACE,
                _ => SHUTDOWN_GRACE,
            };
            tokio::time::sleep(grace).await;
        };
        let mut too_late = pin!(too_late);
        while self.requests.count() > 0 && self.ending != Some(Ending::Abandon) {
            let renewal = self.renewal();
            tokio::select! {
                biased;
                Some(joined) = self.requests.join_next() => self.on_collected(joined),
                reply = reply(&mut self.check_ins.submitted) => self.on_reply(reply),
                () = tokio::time::sleep_until(renewal), if self.check_ins.submitted.is_none() => {
                    self.check_in(Then::Keep { want: 0 }).await;
                }
                () = &mut too_late => {
                    self.requests.cancel().await;
                    let pause = self.pause_after(SHUTDOWN_GRACE);
                    let allowed_at = &mut self.requests.allowed_at;
                    *allowed_at = (*allowed_at).max(Instant::now() + pause);
                }
            }
        }
    }

    /// Makes the last check-in, which returns all pages and releases the site.
    pub(super) async fn finish(&mut self, ending: Ending) {
        let ending = self.ending.unwrap_or(ending);
        if ending != Ending::Abandon {
            self.drain().await;
            if self.check_ins.submitted.is_some() {
                let reply = reply(&mut self.check_ins.submitted).await;
                self.on_reply(reply);
            }
        }
        let ending = self
            .ending
            .filter(|ending| *ending != Ending::Release)
            .unwrap_or(ending);
        tracing::debug!(?ending, "visit ends");
        let pause = self
            .requests
            .allowed_at
            .saturating_duration_since(Instant::now());
        let ready = self.context.now() + pause.as_millis() as i64 + 1;
        let then = match ending {
            Ending::Release => Then::Release { due: ready },
            Ending::ReleaseUntil(time) => Then::Release {
                due: time.max(ready),
            },
            Ending::Block => Then::Block,
            // The pages in flight are not recorded, so a later visit will fetch them.
            Ending::Abandon => {
                if self.context.network.fence.is_some() && !self.batch.done.is_empty() {
                    // The frontier refuses this check-in. The committer then lists the archive records of its pages in
                    // `unrecorded.jsonl`.
                    self.check_in(Then::Release { due: ready }).await;
                }
                return;
            }
        };
        self.site.finish();
        self.check_in(then).await;
        // If the committer has already ended, nothing was submitted, and no reply will arrive.
        if self.check_ins.submitted.is_some() {
            let _ = reply(&mut self.check_ins.submitted).await;
        }
    }
}

/// Waits for the reply to the check-in that is under way. Waits forever if there is no such check-in.
pub(super) async fn reply(
    submitted: &mut Option<oneshot::Receiver<Committed>>,
) -> Result<Committed, ()> {
    match submitted {
        Some(receiver) => receiver.await.map_err(|_| ()),
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_grows_to_the_configured_one() {
        let configured = Duration::from_secs(5);
        let check = |elapsed_ms: u64, expected_ms: u64| {
            let interval = interval_after(Duration::from_millis(elapsed_ms), configured);
            assert_eq!(interval, Duration::from_millis(expected_ms), "{elapsed_ms}");
        };
        check(0, 200);
        check(400, 200);
        check(1000, 500);
        check(9000, 4500);
        check(10_000, 5000);
        check(3_600_000, 5000);
        let short = Duration::from_millis(100);
        assert_eq!(interval_after(Duration::ZERO, short), short);
    }
}
