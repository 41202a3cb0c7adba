//! Group commit: records the check-ins of many visits with one sync of the volume and one transaction of the frontier.
//!
//! **Invariant 4** is the order of [`Committer::commit`]: wait until the bytes of every page are written, make them
//! durable, then record the pages. A crash before the last step leaves bytes without a record, and the page is fetched
//! again.
//!
//! A frontier for several nodes may be away (its database cannot be reached). Then groups wait on the disk (`spool.rs`,
//! `waiting_groups.rs`).
//!
//! While one group is written, the next check-ins wait in the channel. They form the next group and share one sync.

pub(crate) mod page_record;
pub(crate) mod shared_frontier;
pub(crate) mod spool;
#[cfg(test)]
mod tests;
pub(crate) mod unrecorded;
pub(crate) mod waiting_groups;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use aranha_frontier::{CheckIn, CheckedIn, Frontier, FrontierError, Seed, Then};
use aranha_volume::{Archive, VolumeError};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::coop::unconstrained;
use tokio::time::Instant;

use crate::clock::Clock;
use crate::node::stop::{Reason, Stop};
use crate::status::crawl_log::{CrawlLog, Line};
use crate::status::tally::{LiveCounters, add};
use crate::visit::page_queue::{PageQueue, QueueReport};

pub(crate) use self::page_record::CompletedFetch;
pub(crate) use self::shared_frontier::SharedFrontier;
use self::waiting_groups::Results;
pub(crate) use self::waiting_groups::WaitingGroups;

/// Time between two steps of writing and merging the frontier's link runs while there is nothing to commit.
const HOUSEKEEPING_INTERVAL: Duration = Duration::from_millis(20);
/// Maximum number of check-ins in the channel. While it is full, visits wait before they send.
const MAX_WAITING: usize = 4096;

/// A check-in that a visit sends to the committer. The visit leaves `done`, `window` and `overflow` of `check_in`
/// empty. The committer fills them from the fields of `Submission` with the same names. To do so, it waits until the
/// bytes of the fetches in `done` are written, and unpacks the pages of `window` and `overflow`.
pub(crate) struct Submission {
    pub(crate) check_in: CheckIn,
    pub(crate) done: Vec<CompletedFetch>,
    pub(crate) window: QueueReport,
    pub(crate) overflow: PageQueue,
    /// Seeds that were added because an older seed redirects to them. They are recorded before the check-in.
    pub(crate) new_seeds: Vec<Seed>,
    pub(crate) reply: oneshot::Sender<Committed>,
}

/// The reply to a check-in. If the channel is closed without a reply, the crawl is stopping with an error.
#[derive(Debug)]
pub(crate) struct Committed {
    /// `None` if the lease was lost. Then the visit must end.
    pub(crate) checked_in: Option<CheckedIn>,
}

/// The channel on which visits send their check-ins to the committer.
pub(crate) type Submissions = mpsc::Sender<Submission>;

pub(crate) fn channel() -> (Submissions, mpsc::Receiver<Submission>) {
    mpsc::channel(MAX_WAITING)
}

/// The task that commits the check-ins of all visits.
pub(crate) struct Committer {
    pub(crate) frontier: SharedFrontier,
    pub(crate) archive: Archive,
    pub(crate) log: Option<CrawlLog>,
    pub(crate) clock: Clock,
    /// Time limit for writing and merging the frontier's link runs after a commit.
    pub(crate) tidy_budget: Duration,
    pub(crate) counters: Arc<LiveCounters>,
    pub(crate) stop: Stop,
    /// Notified after each commit that may have made sites due, because it contained links to other sites or released a
    /// site.
    pub(crate) sites_due: Arc<Notify>,
    /// Notified when all visits have ended. Then the committer ends too. It does not wait until all senders are
    /// dropped, because abandoned page readers may hold senders forever.
    pub(crate) visits_ended: Arc<Notify>,
    /// Whether a commit is under way, or check-ins wait because the frontier is away.
    pub(crate) committing: Arc<AtomicBool>,
    /// `None` if the frontier is not shared with other nodes.
    pub(crate) waiting: Option<WaitingGroups>,
}

/// The visits that wait for the results of a group.
type Replies = Vec<oneshot::Sender<Committed>>;
/// A check-in whose pages are not unpacked yet.
type PackedCheckIn = (CheckIn, QueueReport, PageQueue);

#[derive(Debug, thiserror::Error)]
enum CommitError {
    #[error(transparent)]
    Volume(#[from] VolumeError),
    #[error(transparent)]
    Frontier(#[from] FrontierError),
    #[error("cannot write the crawl log: {0}")]
    Log(#[from] std::io::Error),
    #[error("cannot keep check-ins on the disk: {0}")]
    Spool(std::io::Error),
    #[error("{0}; the last check-ins are on the disk and are sent at the next start")]
    StillAway(String),
}

impl CommitError {
    fn reason(&self) -> Reason {
        let full = match self {
            Self::Volume(error) => matches!(error, VolumeError::DiskFull { .. }),
            Self::Frontier(error) => matches!(error, FrontierError::Full { .. }),
            Self::Log(error) | Self::Spool(error) => {
                error.kind() == std::io::ErrorKind::StorageFull
            }
            Self::StillAway(_) => false,
        };
        if full {
            Reason::DiskFull(self.to_string())
        } else {
            Reason::Failed(self.to_string())
        }
    }
}

/// Unpacks the pages of a check-in. A group may have thousands of check-ins, so only one is unpacked at a time.
fn unpack((mut check_in, window, overflow): PackedCheckIn) -> CheckIn {
    check_in.window = window.into();
    check_in.overflow = overflow.collect();
    check_in
}

async fn sleep_until(time: Option<Instant>) {
    if let Some(time) = time {
        tokio::time::sleep_until(time).await;
    }
}

impl Committer {
    /// Runs until all visits have ended and their check-ins are committed. After an error, drops all submissions, so
    /// that visits learn at once that nothing can be recorded any more.
    pub(crate) async fn run(mut self, mut submissions: mpsc::Receiver<Submission>) {
        let mut untidy = false;
        loop {
            let mut group = Vec::new();
            let retry_at = self.waiting.as_ref().and_then(|waiting| waiting.retry_at);
            tokio::select! {
                biased;
                count = submissions.recv_many(&mut group, MAX_WAITING) => if count == 0 { break },
                () = self.visits_ended.notified() => {
                    submissions.close();
                    continue;
                }
                () = sleep_until(retry_at), if retry_at.is_some() => {}
                () = tokio::time::sleep(HOUSEKEEPING_INTERVAL), if untidy && retry_at.is_none() => {}
            }
            // Thousands of receipts are ready at the same time. With tokio's cooperative budget, this task would yield
            // to thousands of visits after about a hundred receipts, again and again. A commit would then take many
            // seconds.
            self.committing.store(true, Relaxed);
            let committed = if group.is_empty() && retry_at.is_some() {
                self.send_waiting().await
            } else {
                unconstrained(self.commit(group)).await
            };
            self.committing.store(self.has_waiting(), Relaxed);
            match committed {
                Ok(more) => untidy = more,
                Err(error) => {
                    self.stop.ask(error.reason());
                    self.waiting = None;
                    submissions.close();
                    while submissions.recv().await.is_some() {}
                    return;
                }
            }
        }
        if let Err(error) = self.send_all_waiting().await {
            self.stop.ask(error.reason());
        }
    }

    /// Commits one group. If the group is empty, only writes and merges link runs of the frontier. Returns true if more
    /// link runs are to be written or merged.
    async fn commit(&mut self, group: Vec<Submission>) -> Result<bool, CommitError> {
        let budget = self.tidy_budget;
        if group.is_empty() {
            let now = self.clock.now();
            return Ok(self
                .frontier
                .persist(move |frontier| frontier.tidy(now, budget))
                .await?);
        }
        let mut check_ins = Vec::with_capacity(group.len());
        let mut replies = Vec::with_capacity(group.len());
        let mut new_seeds: Vec<Seed> = Vec::new();
        let mut has_bytes = false;
        let mut sites_due = false;
        for submission in group {
            let Submission {
                mut check_in,
                done,
                window,
                overflow,
                new_seeds: seeds,
                reply,
            } = submission;
            new_seeds.extend(seeds);
            check_in.done.reserve_exact(done.len());
            for fetch in done {
                has_bytes |= fetch.receipt.is_some();
                self.complete(fetch, &mut check_in).await?;
            }
            sites_due |=
                !check_in.outside.is_empty() || matches!(check_in.then, Then::Release { .. });
            check_ins.push((check_in, window, overflow));
            replies.push(reply);
        }
        if has_bytes {
            self.archive.sync().await?;
        }
        let untidy = if self.waiting.is_some() {
            Box::pin(self.store_or_keep(new_seeds, check_ins, replies)).await?
        } else {
            let now = self.clock.now();
            let work = move |frontier: &mut dyn Frontier| {
                if !new_seeds.is_empty() {
                    frontier.seed(now, &new_seeds)?;
                }
                let mut check_ins = check_ins.drain(..).map(unpack);
                let results = frontier.check_in_each(now, &mut check_ins)?;
                Ok::<_, FrontierError>((results, frontier.tidy(now, budget)?))
            };
            let (results, untidy) = self.frontier.call(work).await?;
            self.answer(replies, results)?;
            untidy
        };
        if sites_due {
            self.sites_due.notify_one();
        }
        Ok(untidy)
    }

    /// Called when a group is stored. Writes the lines of its pages to the crawl log, and answers its visits.
    fn answer(&mut self, replies: Replies, results: Results) -> Result<(), CommitError> {
        if let Some(log) = &mut self.log {
            log.write()?;
        }
        add(&self.counters.commits, 1);
        for (reply, result) in replies.into_iter().zip(results) {
            // A visit that has ended does not need the reply.
            let _ = reply.send(Committed {
                checked_in: result.ok(),
            });
        }
        Ok(())
    }

    /// Waits until the bytes of a fetch are written. Then adds the record of the fetch to the crawl log and to the
    /// check-in.
    async fn complete(
        &mut self,
        mut fetch: CompletedFetch,
        check_in: &mut CheckIn,
    ) -> Result<(), CommitError> {
        if let Some(receipt) = fetch.receipt.take() {
            let stored = receipt.await?;
            fetch.stored(&stored);
            if stored.revisit && fetch.is_page && fetch.record.outcome.status() != Some(304) {
                add(&self.counters.duplicates, 1);
            }
            add(&self.counters.bytes_written, stored.written);
        }
        if let Some(log) = &mut self.log {
            log.prepare(&Line {
                url: &fetch.url,
                record: &fetch.record,
                visit: check_in.lease,
                notes: &fetch.notes,
            });
        }
        if fetch.is_page {
            check_in.done.push(fetch.record);
        }
        Ok(())
    }
}
