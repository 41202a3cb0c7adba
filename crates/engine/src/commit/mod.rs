//! Group commit: many visits' check-ins, one sync of the volume, one transaction of the frontier.
//!
//! **Invariant 4** is this order: wait until every page's bytes are written, make them durable,
//! only then record the pages. A crash between the two leaves bytes without a record; the page is
//! fetched again. While one group is on its way to the disk the next one gathers by itself, so the
//! cost of a sync is shared by all who came meanwhile and no timer is needed.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aranha_frontier::{CheckIn, CheckedIn, Frontier, FrontierError, PageRecord, Seed};
use aranha_volume::{Archive, Receipt, VolumeError};
use tokio::sync::{mpsc, oneshot};
use tokio::task::coop::unconstrained;

use crate::clock::Clock;
use crate::node::stop::{Reason, Stop};
use crate::status::crawl_log::{CrawlLog, Line};
use crate::status::tally::{LiveCounters, add};
use crate::visit::page_queue::{Pages, Report};

/// With housekeeping left and nothing to commit, it goes on after this.
const BREATH: Duration = Duration::from_millis(20);
/// How many check-ins may wait for the disk before visits have to.
const QUEUE: usize = 4096;

/// The frontier, shared. Its calls block, so they run on the blocking threads.
#[derive(Clone)]
pub(crate) struct Shared {
    frontier: Arc<Mutex<Box<dyn Frontier>>>,
    /// In a simulation: whoever calls does the work, so that there is one order of things.
    in_place: bool,
}

impl Shared {
    pub(crate) fn new(frontier: Box<dyn Frontier>) -> Self {
        Self {
            frontier: Arc::new(Mutex::new(frontier)),
            in_place: false,
        }
    }

    pub(crate) fn in_place(frontier: Box<dyn Frontier>) -> Self {
        Self {
            in_place: true,
            ..Self::new(frontier)
        }
    }

    pub(crate) async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn Frontier) -> T + Send + 'static,
    ) -> T {
        let shared = Arc::clone(&self.frontier);
        let work = move || {
            work(
                shared
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .as_mut(),
            )
        };
        if self.in_place {
            return work();
        }
        tokio::task::spawn_blocking(work)
            .await
            .expect("the frontier does not panic, and blocking tasks are not cancelled")
    }
}

/// A page done: what is known about it, and the promise of its bytes.
pub(crate) struct Done {
    /// Recorded in the frontier; a robots.txt file is archived and logged but is no page.
    pub(crate) is_page: bool,
    pub(crate) record: PageRecord,
    pub(crate) url: String,
    pub(crate) receipt: Option<Receipt>,
    pub(crate) notes: String,
}

/// One visit's check-in on its way. Its pages are beside it, packed, and those that are done until their bytes are durable:
/// `check_in` is filled in when it is written.
pub(crate) struct Submission {
    pub(crate) check_in: CheckIn,
    pub(crate) done: Vec<Done>,
    pub(crate) held: Report,
    pub(crate) overflow: Pages,
    /// Seeds that a seed's redirect led to; durable before the redirect is recorded.
    pub(crate) adopted: Vec<Seed>,
    pub(crate) reply: oneshot::Sender<Committed>,
}

/// What a visit hears back. No answer at all means that the crawl is stopping with an error.
#[derive(Debug)]
pub(crate) struct Committed {
    /// `None` when the lease was lost: the visit must end.
    pub(crate) checked_in: Option<CheckedIn>,
}

/// The sending side, for visits.
pub(crate) type Submissions = mpsc::Sender<Submission>;

pub(crate) fn channel() -> (Submissions, mpsc::Receiver<Submission>) {
    mpsc::channel(QUEUE)
}

/// What makes the pages durable.
pub(crate) struct Committer {
    pub(crate) frontier: Shared,
    pub(crate) archive: Archive,
    pub(crate) log: Option<CrawlLog>,
    pub(crate) clock: Clock,
    /// Longest that the frontier's housekeeping may keep a commit waiting.
    pub(crate) tidy_budget: Duration,
    pub(crate) counters: Arc<LiveCounters>,
    pub(crate) stop: Stop,
    /// Told after each commit that sent links to other sites: there may be new sites to visit.
    pub(crate) news: Arc<tokio::sync::Notify>,
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

/// A check-in with its pages as the frontier takes them: one at a time, because a group may be thousands.
fn unpack((mut check_in, held, overflow): (CheckIn, Report, Pages)) -> CheckIn {
    check_in.window = held.into();
    check_in.overflow = overflow.collect();
    check_in
}

impl Committer {
    /// Runs until every visit has dropped its sender. After an error it drops what it is sent,
    /// so that visits hear at once that nothing can be recorded any more.
    pub(crate) async fn run(mut self, mut submissions: mpsc::Receiver<Submission>) {
        let mut untidy = false;
        loop {
            let mut group = Vec::new();
            tokio::select! {
                biased;
                count = submissions.recv_many(&mut group, QUEUE) => if count == 0 { break },
                () = tokio::time::sleep(BREATH), if untidy => {}
            }
            // Thousands of receipts are ready: to stand at the end of a long queue of visits after every hundred of them
            // made a commit take many seconds.
            match unconstrained(self.commit(group)).await {
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

    /// Commits one group; says whether housekeeping is left.
    async fn commit(&mut self, group: Vec<Submission>) -> Result<bool, CommitError> {
        let budget = self.tidy_budget;
        if group.is_empty() {
            let now = self.clock.now();
            return Ok(self
                .frontier
                .call(move |frontier| frontier.tidy(now, budget))
                .await?);
        }
        let mut check_ins = Vec::with_capacity(group.len());
        let mut replies = Vec::with_capacity(group.len());
        let mut adopted: Vec<Seed> = Vec::new();
        let mut appended = false;
        let mut news = false;
        for submission in group {
            let Submission {
                mut check_in,
                done,
                held,
                overflow,
                adopted: seeds,
                reply,
            } = submission;
            adopted.extend(seeds);
            check_in.done.reserve_exact(done.len());
            for mut page in done {
                if let Some(receipt) = page.receipt.take() {
                    let stored = receipt.await?;
                    appended = true;
                    page.record.digest = Some(stored.digest);
                    page.record.revisit = stored.revisit;
                    page.record.location = Some(stored.location);
                    if let Some(past) = page.record.past.as_mut()
                        && past.time == page.record.time
                    {
                        (past.digest, past.location) = (stored.digest, Some(stored.location));
                    }
                    if stored.revisit && page.is_page && page.record.outcome.status() != Some(304) {
                        add(&self.counters.duplicates, 1);
                    }
                    add(&self.counters.bytes_written, stored.written);
                }
                if let Some(log) = &mut self.log {
                    log.prepare(&Line {
                        url: &page.url,
                        record: &page.record,
                        visit: check_in.lease,
                        notes: &page.notes,
                    });
                }
                if page.is_page {
                    check_in.done.push(page.record);
                }
            }
            news |= !check_in.outside.is_empty()
                || matches!(check_in.then, aranha_frontier::Then::Release { .. });
            check_ins.push((check_in, held, overflow));
            replies.push(reply);
        }
        if appended {
            self.archive.sync().await?;
        }
        let now = self.clock.now();
        let (answers, untidy) = self
            .frontier
            .call(move |frontier| {
                if !adopted.is_empty() {
                    frontier.seed(now, &adopted)?;
                }
                let mut check_ins = check_ins.into_iter().map(unpack);
                let answers = frontier.check_in_each(now, &mut check_ins)?;
                Ok::<_, FrontierError>((answers, frontier.tidy(now, budget)?))
            })
            .await?;
        if let Some(log) = &mut self.log {
            log.write()?;
        }
        add(&self.counters.commits, 1);
        for (reply, answer) in replies.into_iter().zip(answers) {
            // A visit that no longer listens has nothing left to learn.
            let _ = reply.send(Committed {
                checked_in: answer.ok(),
            });
        }
        if news {
            self.news.notify_one();
        }
        Ok(untidy)
    }
}
