//! A node: keeps as many visits going as it has room for, until nothing is left or it is told to stop.
//!
//! It pulls sites from the Global Frontier when it has room (F2), one task a site. It ends when no site
//! can be handed out and none will be soon; when a limit of the user's is reached; when it is asked to
//! stop; or when the disk or the frontier fails. In each case every visit checks in first, the open
//! volume is closed and indexed, and nothing that was checked in is lost.

mod context;
mod error;
mod opening;
pub(crate) mod stop;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use aranha_frontier::{Frontier, FrontierError};
use aranha_volume::Repairs;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::Instrument as _;

use self::context::reason_of;
use self::stop::{Reason, Stop};
use crate::collection::Collection;
use crate::collection::census;
use crate::commit::SharedFrontier;
use crate::config::Config;
use crate::status::collection_status::Status;
use crate::status::event::Event;
use crate::status::notice::Notice;
use crate::status::tally::{LiveCounters, Tally};
use crate::visit::visit;
use crate::world::World;

pub(crate) use self::context::{Context, CrawlPolicy};
pub use self::error::EngineError;

/// The frontier is asked for sites at most this often.
const BREATH: Duration = Duration::from_millis(20);
/// Leases in one check-out.
const AT_ONCE: usize = 256;

/// How a crawl ended.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Why.
    pub reason: Reason,
    /// What this process did.
    pub tally: Tally,
    /// Where the collection stands.
    pub status: Status,
    /// How long it took.
    pub took: Duration,
}

/// One process at work on a collection.
pub struct Node {
    pub(crate) context: Arc<Context>,
    pub(crate) frontier: SharedFrontier,
    committer: tokio::task::JoinHandle<()>,
    sites_due: Arc<Notify>,
    pub(crate) signals: PathBuf,
    census: PathBuf,
    /// How often the user's wishes are looked at, and the frontier is asked whatever happened.
    glance: Duration,
    repairs: Repairs,
    heard: Option<mpsc::Receiver<Notice>>,
    /// Ended when the node is dropped.
    _watchers: JoinSet<()>,
}

impl Node {
    /// Opens everything a crawl needs; an earlier crash is repaired here. `frontier` is open already,
    /// which is also the lock on the collection. Must be called within a tokio runtime.
    pub fn open(
        collection: &Collection,
        config: Config,
        frontier: Box<dyn Frontier>,
        resumed: bool,
        stop: Stop,
    ) -> Result<Self, EngineError> {
        Self::open_in(&World::real(), collection, config, frontier, resumed, stop)
    }

    /// What an earlier crash made necessary.
    pub fn repairs(&self) -> &Repairs {
        &self.repairs
    }

    /// What is worth hearing while the crawl runs; can be had once.
    pub fn notices(&mut self) -> mpsc::Receiver<Notice> {
        let (_, nothing) = mpsc::channel(1);
        self.heard.take().unwrap_or(nothing)
    }

    /// Live counters.
    pub fn counters(&self) -> Arc<LiveCounters> {
        Arc::clone(&self.context.reports.counters)
    }

    /// A function that asks the frontier where it stands.
    pub fn status(&self) -> impl AsyncFn() -> Result<Status, FrontierError> + use<> {
        let (frontier, clock) = (self.frontier.clone(), self.context.control.clock);
        async move || {
            let now = clock.now();
            let status = frontier.call(move |frontier| frontier.status(now)).await?;
            Ok(status.into())
        }
    }

    /// Crawls. Returns when every visit has checked in and the volume is closed.
    pub fn run(self) -> impl Future<Output = Result<Summary, EngineError>> {
        self.crawl().instrument(tracing::info_span!("crawl"))
    }

    async fn crawl(self) -> Result<Summary, EngineError> {
        tracing::info!(sites = self.context.config().crawl.sites, "crawl started");
        let began = Instant::now();
        let mut visits = JoinSet::new();
        let outcome = self.pull(&mut visits, began).await;
        if let Err(error) = &outcome {
            self.context
                .control
                .stop
                .ask(if matches!(error, FrontierError::Full { .. }) {
                    Reason::DiskFull(error.to_string())
                } else {
                    Reason::Failed(error.to_string())
                });
        }
        self.context.control.stop.ask(Reason::Finished);
        while let Some(ended) = visits.join_next().await {
            self.note(ended);
        }
        let Self {
            context,
            frontier,
            committer,
            census,
            ..
        } = self;
        let (archive, clock, stop, counters, events) = (
            context.storage.archive.clone(),
            context.control.clock,
            context.control.stop.clone(),
            Arc::clone(&context.reports.counters),
            context.reports.notices.log(),
        );
        // Only an estimate: not worth failing for.
        let _ = census::save(&context.policy.schedule, context.config(), &census);
        // The last sender goes with the context, and with it the committer ends.
        drop(context);
        let _ = committer.await;
        if let Err(error) = archive.close().await {
            stop.ask(reason_of(&error));
        }
        let now = clock.now();
        let status = frontier
            .call(move |frontier| {
                frontier.flush(now)?;
                frontier.status(now)
            })
            .await?;
        let summary = Summary {
            reason: stop.reason().unwrap_or(Reason::Finished),
            tally: counters.tally(),
            status: status.into(),
            took: began.elapsed(),
        };
        if let Reason::DiskFull(problem) = &summary.reason {
            let problem = problem.clone();
            events.append(&Event::notice(now, Notice::DiskFull { problem }));
        }
        events.append(&Event::end(now, &summary));
        tracing::info!(reason = %summary.reason, pages = summary.tally.pages, "crawl ended");
        Ok(summary)
    }

    /// Hands out sites until there are none or somebody asks to stop.
    async fn pull(&self, visits: &mut JoinSet<()>, began: Instant) -> Result<(), FrontierError> {
        let context = &self.context;
        let slots = context.config().crawl.sites.max(1);
        let deadline = context.config().crawl.time.map(|time| began + time);
        let mut looked = began;
        self.take_in_signals().await?;
        if !context.config().crawl.continuous {
            // A crawl that is to end must not run after its own revisits.
            let now = context.now();
            self.frontier
                .call(move |frontier| frontier.revisit_until(now))
                .await;
        }
        loop {
            while let Some(ended) = visits.try_join_next() {
                self.note(ended);
            }
            self.check_limits(deadline);
            self.look_around(&mut looked).await?;
            if context.control.stop.asked() {
                return Ok(());
            }
            let room = slots.saturating_sub(visits.len());
            let now = context.now();
            let (leases, next) = self
                .frontier
                .call(move |frontier| {
                    let leases = match room {
                        0 => Vec::new(),
                        // The rest in a moment: leases are large until their visits begin.
                        room => frontier.check_out(now, "local", room.min(AT_ONCE))?,
                    };
                    Ok::<_, FrontierError>((leases, frontier.status(now)?.next_due))
                })
                .await?;
            for lease in leases {
                visits.spawn(visit(Arc::clone(context), lease));
            }
            context
                .counters()
                .active_visits
                .store(visits.len() as u64, Relaxed);
            let full = visits.len() >= slots;
            let others_wait = full && next.is_some_and(|due| due <= now);
            context.control.others_wait.store(others_wait, Relaxed);
            if visits.is_empty() && self.is_over(next) {
                return Ok(());
            }
            self.wait(visits, others_wait, next, deadline).await;
        }
    }

    fn check_limits(&self, deadline: Option<Instant>) {
        let context = &self.context;
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            context.control.stop.ask(Reason::Limit("time"));
        }
        if let Some(size) = context.config().crawl.size
            && context.counters().bytes_written.load(Relaxed) >= size
        {
            context.control.stop.ask(Reason::Limit("size"));
        }
    }

    /// Now and then: has somebody changed the black list? Has anybody something to say?
    async fn look_around(&self, looked: &mut Instant) -> Result<(), FrontierError> {
        if looked.elapsed() < self.glance {
            return Ok(());
        }
        *looked = Instant::now();
        match self
            .context
            .scope
            .reload_blacklist(&self.context.network.web)
        {
            Ok(true) => self.context.reports.notices.send(Notice::BlacklistReloaded),
            Ok(false) => {}
            Err(error) => {
                let problem = error.to_string();
                self.context
                    .reports
                    .notices
                    .send(Notice::BlacklistError { problem });
            }
        }
        let _ = census::save(
            &self.context.policy.schedule,
            self.context.config(),
            &self.census,
        );
        self.take_in_signals().await
    }

    /// With no visit under way: nothing comes due within the time that the user would wait.
    fn is_over(&self, next: Option<i64>) -> bool {
        let crawl = &self.context.config().crawl;
        if crawl.continuous {
            return false;
        }
        let idle_wait = crawl.idle_wait.as_millis() as i64;
        next.is_none_or(|due| due - self.context.now() > idle_wait)
    }

    /// Until something happened that may bring a site, or at least a breath. While others wait, only a visit's end can.
    async fn wait(
        &self,
        visits: &mut JoinSet<()>,
        others_wait: bool,
        next: Option<i64>,
        deadline: Option<Instant>,
    ) {
        let context = &self.context;
        let soon = Instant::now() + BREATH;
        let glance = soon + self.glance;
        let due = next.filter(|_| !others_wait).map_or(glance, |due| {
            context.control.clock.instant(due).clamp(soon, glance)
        });
        tokio::select! {
            biased;
            Some(ended) = visits.join_next() => self.note(ended),
            () = self.sites_due.notified(), if !others_wait => {}
            () = tokio::time::sleep_until(due) => {}
            () = sleep_until(deadline) => {}
            () = context.control.stop.wait() => return,
        }
        tokio::select! {
            biased;
            () = tokio::time::sleep_until(soon) => {}
            () = context.control.stop.wait() => {}
        }
    }

    /// A visit that broke must not be taken for one that is done.
    fn note(&self, ended: Result<(), tokio::task::JoinError>) {
        if let Err(error) = ended {
            let detail = format!("a visit ended abnormally: {error}");
            self.context.control.stop.ask(Reason::Failed(detail));
        }
    }
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
