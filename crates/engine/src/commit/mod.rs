//! Group commit: the check-ins of many visits are recorded with one sync of the volume and one transaction of the
//! frontier.
//!
//! **Invariant 4** is the order of [`Committer::commit`]: wait until the bytes of every page are written, make them
//! durable, then record the pages. A crash in between leaves bytes without a record, and the page is fetched again.
//!
//! While one group is written, the next check-ins wait in the channel. They form the next group and share one sync.

pub(crate) mod page_record;
pub(crate) mod shared_frontier;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use aranha_frontier::{CheckIn, CheckedIn, ErrorClass, FrontierError, Seed, Then};
use aranha_volume::{Archive, VolumeError};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::coop::unconstrained;

use crate::clock::Clock;
use crate::node::stop::{Reason, Stop};
use crate::status::crawl_log::{CrawlLog, Line};
use crate::status::tally::{LiveCounters, add};
use crate::visit::page_queue::{PageQueue, QueueReport};

pub(crate) use self::page_record::CompletedFetch;
pub(crate) use self::shared_frontier::SharedFrontier;

/// Time between two steps of writing and merging the frontier's link runs while there is nothing to commit.
const HOUSEKEEPING_INTERVAL: Duration = Duration::from_millis(20);
/// Maximum number of check-ins in the channel. While it is full, visits wait before they send.
const MAX_WAITING: usize = 4096;

/// A check-in that a visit sends to the committer. The visit leaves `done`, `window` and `overflow` of `check_in`
/// empty. Before the committer writes the check-in, it fills them from the fields of `Submission` with the same names:
/// it waits until the bytes of the fetches in `done` are written, and unpacks the pages of `window` and `overflow`.
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
    /// `None`: the lease was lost, and the visit must end.
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
    /// Notified after each commit that may have made sites due: it sent links to other sites, or released a site.
    pub(crate) sites_due: Arc<Notify>,
    /// Notified when all visits have ended. The commits then end too. They do not wait until all senders are dropped, because
    /// page readers that were abandoned may hold senders forever.
    pub(crate) visits_ended: Arc<Notify>,
    /// Whether a commit is under way.
    pub(crate) committing: Arc<AtomicBool>,
}

#[derive(Debug, thiserror::Error)]
enum CommitError {
    #[error(transparent)]
    Volume(#[from] VolumeError),
    #[error(transparent)]
    Frontier(#[from] FrontierError),
    #[error("cannot write the crawl log: {0}")]
    Log(#[from] std::io::Error),
}

impl CommitError {
    fn reason(&self) -> Reason {
        let full = match self {
            Self::Volume(error) => matches!(error, VolumeError::DiskFull { .. }),
            Self::Frontier(error) => matches!(error, FrontierError::Full { .. }),
            Self::Log(error) => error.kind() == std::io::ErrorKind::StorageFull,
        };
        if full {
            Reason::DiskFull(self.to_string())
        } else {
            Reason::Failed(self.to_string())
        }
    }
}

/// Unpacks the pages of a check-in. A group may have thousands of check-ins, so only one is unpacked at a time.
fn unpack((mut check_in, window, overflow): (CheckIn, QueueReport, PageQueue)) -> CheckIn {
    check_in.window = window.into();
    check_in.overflow = overflow.collect();
    check_in
}

impl Committer {
    /// Runs until all visits have ended and their check-ins are committed. After an error it drops all submissions, so that visits learn at
    /// once that nothing can be recorded any more.
    pub(crate) async fn run(mut self, mut submissions: mpsc::Receiver<Submission>) {
        let mut untidy = false;
        loop {
            let mut group = Vec::new();
            tokio::select! {
                biased;
                count = submissions.recv_many(&mut group, MAX_WAITING) => if count == 0 { break },
                () = self.visits_ended.notified() => {
                    submissions.close();
                    continue;
                }
                () = tokio::time::sleep(HOUSEKEEPING_INTERVAL), if untidy => {}
            }
            // Thousands of receipts are ready at once. With tokio's cooperative budget this task would yield to
            // thousands of visits after every hundred receipts, and a commit would take many seconds.
            self.committing.store(true, Relaxed);
            let committed = unconstrained(self.commit(group)).await;
            self.committing.store(false, Relaxed);
            match committed {
                Ok(more) => untidy = more,
                Err(error) => {
                    self.stop.ask(error.reason());
                    submissions.close();
                    while submissions.recv().await.is_some() {}
                    break;
                }
            }
        }
    }

    /// Commits one group; an empty group only tidies the frontier. Returns true if there is more to tidy.
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
        let now = self.clock.now();
        let (results, untidy) = self
            .frontier
            .persist(move |frontier| {
                if !new_seeds.is_empty() {
                    frontier.seed(now, &new_seeds)?;
                }
                // The check-ins are kept for another try only if there may be one.
                let results = if frontier.may_be_away() {
                    frontier.check_in_each(now, &mut check_ins.iter().cloned().map(unpack))?
                } else {
                    frontier.check_in_each(now, &mut check_ins.drain(..).map(unpack))?
                };
                match frontier.tidy(now, budget) {
                    Ok(untidy) => Ok((results, untidy)),
                    // The check-ins are stored. They must not be sent again.
                    Err(error) if error.class() == ErrorClass::MayPass => Ok((results, true)),
                    Err(error) => Err(error),
                }
            })
            .await?;
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
        if sites_due {
            self.sites_due.notify_one();
        }
        Ok(untidy)
    }

    /// Waits until the bytes of a fetch are written, and adds its record to the log and to its check-in.
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
