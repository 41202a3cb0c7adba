//! A node is the process that runs a crawl. It keeps up to `crawl.sites` visits active, one task per site (F2).
//!
//! A crawl ends when no site is due within `crawl.idle_wait`, when a limit is reached, when the user interrupts it, or
//! when the disk or the frontier fails ([`Reason`]). **Before the crawl ends, every visit makes its last check-in**,
//! unless nothing can be recorded any more. Afterwards the open volume is closed and indexed.
//!
//! `opening.rs` opens everything that a crawl needs. `context.rs` is the state that all visits share. Read
//! [`Node::run`] first.

mod context;
mod error;
mod monitor;
pub(crate) mod opening;
mod problem_sites;
mod sharing;
pub(crate) mod stop;
mod uploads;
mod visits;
mod watchdog;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use aranha_frontier::{ErrorClass, Frontier, FrontierError};
use aranha_volume::Repairs;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::Instrument as _;

use self::context::reason_of;
use self::monitor::Monitor;
use self::problem_sites::SecondVisits;
use self::sharing::Sharing;
use self::stop::{CrawlLimit, Reason, Stop};
use self::uploads::Uploads;
use self::visits::Visits;
use self::watchdog::Watchdog;
use crate::collection::Collection;
use crate::collection::{census, dns_cache};
use crate::commit::SharedFrontier;
use crate::config::Config;
use crate::reread::{Reread, SavedRules};
use crate::status::collection_status::Status;
use crate::status::event::Event;
use crate::status::notice::Notice;
use crate::status::seed_failures::SeedFailure;
use crate::status::tally::{LiveCounters, Tally};
use crate::world::World;

pub(crate) use self::context::{Context, CrawlPolicy};
pub use self::error::EngineError;
pub use self::sharing::Role;

/// Minimum time from one check-out to the next, so that the frontier is not asked for sites too often.
const MIN_POLL: Duration = Duration::from_millis(20);
/// Maximum number of leases in one check-out. A lease takes more memory than the visit that is created from it.
const MAX_LEASES: usize = 256;

/// The result of a crawl.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Why the crawl ended.
    pub reason: Reason,
    /// Counters of this crawl.
    pub tally: Tally,
    /// Totals of the collection.
    pub status: Status,
    /// The first seed that could not be fetched.
    pub failed_seed: Option<SeedFailure>,
    /// Number of redirects that seeds, or the targets of their redirects, returned. They count as pages in the tally.
    pub seed_redirects: u64,
    /// Duration of the crawl.
    pub took: Duration,
    /// The user's own hosts, if robots.txt was ignored there.
    pub robots_ignored_on: Vec<String>,
}

/// One process that crawls a collection.
pub struct Node {
    pub(crate) context: Arc<Context>,
    pub(crate) frontier: SharedFrontier,
    committer: tokio::task::JoinHandle<()>,
    sites_due: Arc<Notify>,
    visits_ended: Arc<Notify>,
    pub(crate) signals: PathBuf,
    census: PathBuf,
    /// The file with the addresses of all names; `None` in a simulation.
    dns_cache: Option<PathBuf>,
    /// `logs/progress.json`; `None` in a simulation.
    progress: Option<PathBuf>,
    /// The folder whose volumes are uploaded; `None` in a simulation.
    uploads: Option<PathBuf>,
    /// `None` in a simulation, whose archive stores nothing.
    reread: Option<Reread>,
    /// Time between two reads of the black list and the signals. It is also the maximum time between two check-outs.
    reload_interval: Duration,
    /// `None` if the frontier is not shared with other nodes.
    sharing: Option<Sharing>,
    role: Role,
    repairs: Repairs,
    notices: Option<mpsc::Receiver<Notice>>,
    /// Background tasks. They are aborted when the node is dropped.
    _watchers: JoinSet<()>,
}

impl Node {
    /// Opens everything that a crawl needs, and repairs the archive after a crash. The open `frontier` holds the lock
    /// on the collection. `resumed`: whether an earlier crawl worked on the collection. Must be called within a tokio
    /// runtime.
    pub fn open(
        collection: &Collection,
        config: Config,
        frontier: Box<dyn Frontier>,
        resumed: bool,
        stop: Stop,
    ) -> Result<Self, EngineError> {
        Self::open_in(&World::real(), collection, config, frontier, resumed, stop)
    }

    /// The repairs that [`Node::open`] made to the archive after a crash.
    pub fn repairs(&self) -> &Repairs {
        &self.repairs
    }

    /// Sets what this process does in a crawl of several nodes.
    pub fn set_role(&mut self, role: Role) {
        self.role = role;
    }

    /// The channel on which the notices of the crawl arrive. Only the first call returns it; later calls return a
    /// closed channel.
    pub fn notices(&mut self) -> mpsc::Receiver<Notice> {
        let (_, closed) = mpsc::channel(1);
        self.notices.take().unwrap_or(closed)
    }

    /// The counters of the crawl, which change while it runs.
    pub fn counters(&self) -> Arc<LiveCounters> {
        Arc::clone(&self.context.reports.counters)
    }

    /// Returns a function that reads the current totals of the collection. It can be called while [`Node::run`] is
    /// active.
    pub fn status(&self) -> impl AsyncFn() -> Result<Status, FrontierError> + use<> {
        let (frontier, clock) = (self.frontier.clone(), self.context.control.clock);
        async move || {
            let now = clock.now();
            let status = frontier.call(move |frontier| frontier.status(now)).await?;
            Ok(status.into())
        }
    }

    /// Runs the crawl. Returns when every visit has ended and the volume is closed.
    pub fn run(self) -> impl Future<Output = Result<Summary, EngineError>> {
        self.crawl().instrument(tracing::info_span!("crawl"))
    }

    async fn crawl(mut self) -> Result<Summary, EngineError> {
        tracing::info!(sites = self.context.config().crawl.sites, "crawl started");
        let began = Instant::now();
        let mut visits = Visits::default();
        let mut watchdog = Watchdog::new(self.context.config(), began);
        let mut monitor = Monitor::start(self.progress.clone(), &self.context);
        let mut link_rules = None;
        let outcome = match self.read_pages_again().await {
            Ok(saved) => {
                link_rules = saved;
                self.start_visits(&mut visits, &mut watchdog, began, &mut monitor)
                    .await
            }
            Err(error) => Err(error),
        };
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
        if let Err(error) = self.end_visits(&mut visits, &mut watchdog).await {
            self.context
                .control
                .stop
                .ask(Reason::Failed(error.to_string()));
        }
        drop(visits);
        let Self {
            context,
            frontier,
            committer,
            visits_ended,
            census,
            dns_cache,
            uploads,
            ..
        } = self;
        let uploads = uploads.map(|folder| Uploads::new(folder, &context));
        let (archive, clock, stop, counters, events) = (
            context.storage.archive.clone(),
            context.control.clock,
            context.control.stop.clone(),
            Arc::clone(&context.reports.counters),
            context.reports.notices.log(),
        );
        let seed_failures = Arc::clone(&context.reports.seed_failures);
        let robots_ignored_on = context.config().crawl.robots_ignored_on();
        // The census is only an estimate, so an error while saving it is ignored.
        let _ = census::save(&context.policy.schedule, context.config(), &census);
        // An error while saving the DNS cache is ignored too, because the file only avoids queries.
        if let Some(path) = dns_cache {
            let _ = dns_cache::save(&context.network.web, &path);
        }
        drop(context);
        visits_ended.notify_one();
        if let Err(error) = committer.await {
            stop.ask(Reason::Failed(format!("the committer failed: {error}")));
        }
        if let Err(error) = archive.close().await {
            stop.ask(reason_of(&error));
        }
        if let Some(uploads) = uploads {
            uploads.finish(&archive, &stop).await;
        }
        let now = clock.now();
        let reason = stop.reason().unwrap_or(Reason::Finished);
        let is_finished = reason == Reason::Finished;
        let status = frontier
            .persist(move |frontier| {
                frontier.flush(now)?;
                if is_finished {
                    frontier.end_order()?;
                }
                frontier.status(now)
            })
            .await?;
        if let Some(rules) = link_rules {
            rules.save_with_seeds(status.seeds);
        }
        let summary = Summary {
            reason,
            tally: counters.tally(),
            status: status.into(),
            failed_seed: seed_failures.first(),
            seed_redirects: seed_failures.redirects(),
            took: began.elapsed(),
            robots_ignored_on,
        };
        if let Reason::DiskFull(problem) = &summary.reason {
            let problem = problem.clone();
            events.append(&Event::notice(now, Notice::DiskFull { problem }));
        }
        events.append(&Event::end(now, &summary));
        monitor.end(now, &summary);
        tracing::info!(reason = %summary.reason, pages = summary.tally.pages, "crawl ended");
        Ok(summary)
    }

    /// Reads the links of stored pages again if the rules are wider than those of the last crawl.
    async fn read_pages_again(&mut self) -> Result<Option<SavedRules>, FrontierError> {
        match self.reread.take() {
            Some(reread) => reread.run(&self.context, &self.frontier).await,
            None => Ok(None),
        }
    }

    /// Checks out sites and starts their visits until the crawl ends.
    async fn start_visits(
        &self,
        visits: &mut Visits,
        watchdog: &mut Watchdog,
        began: Instant,
        monitor: &mut Monitor,
    ) -> Result<(), FrontierError> {
        let context = &self.context;
        let slots = context.config().crawl.sites.max(1);
        let deadline = context.config().crawl.time.map(|time| began + time);
        let mut reloaded = began;
        let mut second_visits = SecondVisits::default();
        self.take_in_signals().await?;
        let continuous = context.config().crawl.continuous;
        let leads = self.role == Role::Crawl;
        if self.sharing.is_some() && leads && continuous {
            self.set_common_horizon(i64::MAX).await?;
        }
        if leads && !continuous {
            // Revisits that become due during this crawl wait for the next crawl. Otherwise this crawl might never end.
            let now = context.now();
            if self.sharing.is_some() {
                self.set_common_horizon(now).await?;
            } else {
                self.frontier
                    .call(move |frontier| frontier.revisit_until(now))
                    .await;
            }
            // Revisits that are due within the next hours are made in this crawl, because the next crawl may be a whole
            // round away.
            if let Some(early) = context.policy.schedule.early_visits(now) {
                let (until, visited_by) = (early.due_by, early.visited_by);
                self.frontier
                    .persist(move |frontier| {
                        frontier.bring_revisits_forward(now, until, visited_by)
                    })
                    .await?;
            }
        }
        loop {
            visits.remove_ended();
            self.record_failed(visits).await?;
            self.watch(watchdog, visits).await?;
            self.check_deadline(deadline);
            if reloaded.elapsed() >= self.reload_interval {
                reloaded = Instant::now();
                self.reload().await?;
                context.network.gates.give_idle_back().await;
                monitor.update(context);
            }
            if context.control.stop.asked() {
                return Ok(());
            }
            let draining = self.sharing.as_ref().is_some_and(Sharing::is_draining);
            let room = if draining {
                0
            } else {
                slots.saturating_sub(visits.len())
            };
            let now = context.now();
            let (leases, next, leased) = self
                .frontier
                .persist(move |frontier| {
                    let leases = match room {
                        0 => Vec::new(),
                        room => frontier.check_out(now, room.min(MAX_LEASES))?,
                    };
                    let (next, leased) = match frontier.status(now) {
                        Ok(status) => (status.next_due, status.sites.leased),
                        // Do not return an error here, because the leases from the check-out would be lost.
                        Err(error) if error.class() == ErrorClass::MayPass => (Some(now), 0),
                        Err(error) => return Err(error),
                    };
                    Ok((leases, next, leased))
                })
                .await?;
            for lease in leases {
                visits.start(context, lease);
            }
            context
                .counters()
                .active_visits
                .store(visits.len() as u64, Relaxed);
            let full = visits.len() >= slots;
            let others_wait = draining || full && next.is_some_and(|due| due <= now);
            context.control.others_wait.store(others_wait, Relaxed);
            let is_idle = visits.is_empty() && visits.failed.is_empty();
            if draining && is_idle {
                context.control.stop.ask(Reason::Drained);
                return Ok(());
            }
            if is_idle
                && self.is_over(next, leased)
                && !self.visit_problem_sites(&mut second_visits).await?
            {
                return Ok(());
            }
            self.wait(visits, others_wait, next, deadline).await;
        }
    }

    fn check_deadline(&self, deadline: Option<Instant>) {
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            self.context
                .control
                .stop
                .ask(Reason::Limit(CrawlLimit::Time));
        }
    }

    /// Reads what other nodes and commands have changed, the black list and the signals. Saves the census.
    async fn reload(&self) -> Result<(), FrontierError> {
        self.take_in_news().await?;
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

    /// Whether the crawl is over. Called when this node has no active visits. `next`: the time at which the next site
    /// is due. `leased`: the number of sites that other nodes are visiting.
    fn is_over(&self, next: Option<i64>, leased: u64) -> bool {
        let crawl = &self.context.config().crawl;
        let waits = match self.role {
            Role::Crawl => crawl.continuous,
            Role::Node { ends_when_idle } => !ends_when_idle,
        };
        if waits || self.sharing.is_some() && leased > 0 {
            return false;
        }
        let idle_wait = crawl.idle_wait.as_millis() as i64;
        next.is_none_or(|due| due - self.context.now() > idle_wait)
    }

    /// Waits for the next check-out: until a visit has ended, a commit has made sites due, the time `next` has come
    /// (when the next site is due), or `reload_interval` has passed. Waits at least [`MIN_POLL`] unless the crawl
    /// stops. `others_wait`: due sites already wait for a slot, so sites that become due do not end the wait.
    async fn wait(
        &self,
        visits: &mut Visits,
        others_wait: bool,
        next: Option<i64>,
        deadline: Option<Instant>,
    ) {
        let context = &self.context;
        let soon = Instant::now() + MIN_POLL;
        let latest = soon + self.reload_interval;
        let due = next.filter(|_| !others_wait).map_or(latest, |due| {
            context.control.clock.instant(due).clamp(soon, latest)
        });
        tokio::select! {
            biased;
            Some(()) = visits.join_next() => {}
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

    /// Waits until all visits have ended, after the crawl was asked to stop.
    async fn end_visits(
        &self,
        visits: &mut Visits,
        watchdog: &mut Watchdog,
    ) -> Result<(), FrontierError> {
        watchdog.stopping();
        while !visits.is_empty() {
            tokio::select! {
                biased;
                _ = visits.join_next() => {}
                () = tokio::time::sleep(watchdog.interval()) => self.watch(watchdog, visits).await?,
            }
        }
        self.record_failed(visits).await
    }
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
