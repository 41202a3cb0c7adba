//! A scenario: several crawls of one collection, one after the other. Each crawl is stopped or killed.
//!
//! Every crawl has its own runtime with a paused clock, but the calendar continues from one crawl to the next. A kill
//! drops the runtime: all tasks end at once, no site is checked in, and the frontier's files are not changed any more.
//! Only timers take simulated time. Computation takes none.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aranha_engine::{Collection, Config, EngineError, Node, Reason, Stop, Summary, World};
use aranha_frontier::{Embedded, Frontier, FrontierError, FrontierStatus, Seed};
use aranha_url::{Canonicaliser, Reach, Rejected};
use tokio::runtime::Runtime;
use tokio::time::{Instant, MissedTickBehavior};

use crate::audited_frontier::lock;
use crate::{
    AuditedFrontier, SimulatedSite, SimulatedWeb, WaitAudit, WebPlan, cpu_time, resident_bytes,
};

/// How a simulated crawl ends if it does not finish earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrawlEnd {
    /// The node is asked to stop. It checks in all sites first.
    Stopped,
    /// All tasks of the node are dropped.
    Killed,
}

/// One crawl of a scenario.
#[derive(Clone, Copy, Debug)]
pub struct SimulatedCrawl {
    /// Maximum duration. A crawl that has nothing left to fetch ends earlier.
    pub duration: Duration,
    /// How the crawl ends after `duration`.
    pub end: CrawlEnd,
    /// Time from the end of this crawl to the start of the next.
    pub downtime: Duration,
}

/// A set of measurements, taken during a scenario.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// Simulated time since the start of the scenario.
    pub time: Duration,
    /// Requests since the start of the scenario.
    pub requests: u64,
    /// Responses received for pages in the current crawl.
    pub pages: u64,
    /// Active visits.
    pub visits: u64,
    /// Resident memory of the process.
    pub resident_bytes: u64,
    /// Processor time of the process.
    pub cpu_time: Duration,
}

/// Why a scenario could not be completed.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The frontier failed.
    #[error(transparent)]
    Frontier(#[from] FrontierError),
    /// The folder or the runtime could not be created.
    #[error(transparent)]
    File(#[from] io::Error),
    /// A seed is not a valid URL.
    #[error(transparent)]
    Seed(#[from] Rejected),
    /// A crawl ended with an error.
    #[error("the crawl failed: {0}")]
    Failed(Reason),
}

/// Several crawls of one collection in simulated time.
#[derive(Debug)]
pub struct Scenario {
    /// Configuration of every crawl.
    pub config: Config,
    /// Simulated time that the archive takes to make a group of records durable.
    pub sync: Duration,
    /// Number of seeds: the home pages of the first sites.
    pub seeds: u32,
    /// The crawls, in the order in which they run.
    pub crawls: Vec<SimulatedCrawl>,
    /// Simulated time between two samples.
    pub sample_interval: Duration,
    /// The simulated web, with the audit of its requests.
    pub network: Arc<SimulatedWeb>,
    waits: Arc<Mutex<WaitAudit>>,
}

impl Scenario {
    /// A scenario that crawls the whole web with one node and up to `sites` visits at a time. If no page is due, a
    /// crawl waits up to a year until a page is due.
    pub fn new(
        plan: WebPlan,
        pause: Duration,
        sites: usize,
        crawls: Vec<SimulatedCrawl>,
    ) -> Scenario {
        let mut config = Config::default();
        config.crawl.scope = Reach::Any;
        config.crawl.pause = pause;
        config.crawl.max_pause = config.crawl.max_pause.max(2 * pause);
        config.crawl.sites = sites;
        config.crawl.idle_wait = Duration::from_hours(24 * 365);
        "https://example.org/".clone_into(&mut config.crawl.contact);
        config.log.crawl = false;
        let network = SimulatedWeb::new(plan, pause, config.crawl.max_pause);
        Scenario {
            config,
            sync: Duration::from_millis(200),
            seeds: 4,
            crawls,
            sample_interval: Duration::from_hours(1),
            network: Arc::new(network),
            waits: Arc::new(Mutex::new(WaitAudit::new(sites, Duration::ZERO))),
        }
    }

    /// The longest duration of a visit while other sites wait. It is the sum of the quantum, the response in progress,
    /// and the wait for other sites at the same address.
    fn max_visit(&self) -> Duration {
        let crawl = &self.config.crawl;
        let address_queue = 2 * self.network.plan().sites_per_shared_address * crawl.pause;
        crawl.quantum + address_queue + Duration::from_mins(2)
    }

    /// Runs the crawls in `folder` and returns the frontier's status at the end. `runtime` creates a current-thread
    /// runtime with a paused clock. The audit of the requests is in [`SimulatedWeb::audit`].
    pub fn run(
        &self,
        folder: &Path,
        runtime: impl Fn() -> io::Result<Runtime>,
        mut observe: impl FnMut(&Sample),
    ) -> Result<FrontierStatus, ScenarioError> {
        let collection = Collection::at(folder);
        collection.create()?;
        *lock(&self.waits) = WaitAudit::new(self.config.crawl.sites, self.max_visit());
        let start = self.network.plan().start;
        let mut now = start;
        for (number, crawl) in self.crawls.iter().enumerate() {
            let runtime = runtime()?;
            let result = runtime.block_on(async {
                let crawl_start = Instant::now();
                let sampler = Sampler {
                    before: Duration::from_millis((now - start) as u64),
                    crawl_start,
                    network: &self.network,
                };
                let ended = self.crawl(&collection, now, number > 0, *crawl, sampler, &mut observe);
                let ended = ended.await;
                ended.map(|ended| (ended, crawl_start.elapsed().as_millis() as i64))
            });
            drop(runtime);
            let (ended, elapsed) = result?;
            now += elapsed;
            match ended {
                None => self.network.audit().on_kill(now),
                Some(summary) => match summary.reason {
                    Reason::Finished => break,
                    Reason::Interrupted => {}
                    other => return Err(ScenarioError::Failed(other)),
                },
            }
            now += crawl.downtime.as_millis() as i64;
        }
        let frontier = Embedded::open(folder, self.config.frontier.clone())?;
        Ok(frontier.status(now)?)
    }

    /// Runs one crawl. Returns `None` if the crawl was killed.
    async fn crawl(
        &self,
        collection: &Collection,
        now: i64,
        resumed: bool,
        crawl: SimulatedCrawl,
        sampler: Sampler<'_>,
        observe: &mut impl FnMut(&Sample),
    ) -> Result<Option<Summary>, ScenarioError> {
        let mut frontier = Embedded::open(collection.root(), self.config.frontier.clone())?;
        if !resumed {
            frontier.seed(now, &self.seed_list()?)?;
        }
        let frontier = AuditedFrontier::new(Box::new(frontier), Arc::clone(&self.waits));
        let world = World::simulated(now, self.network.clone(), self.sync);
        let stop = Stop::new();
        let node = Node::open_in(
            &world,
            collection,
            self.config.clone(),
            Box::new(frontier),
            resumed,
            stop.clone(),
        )?;
        let counters = node.counters();
        let mut run = std::pin::pin!(node.run());
        let mut ticks = tokio::time::interval(self.sample_interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let end = tokio::time::sleep(crawl.duration);
        let mut end = std::pin::pin!(end);
        loop {
            tokio::select! {
                biased;
                summary = &mut run => return Ok(Some(summary?)),
                () = &mut end, if !stop.asked() => match crawl.end {
                    CrawlEnd::Killed => return Ok(None),
                    CrawlEnd::Stopped => stop.ask(Reason::Interrupted),
                },
                _ = ticks.tick() => observe(&sampler.sample(&counters)),
            }
        }
    }

    fn seed_list(&self) -> Result<Vec<Seed>, ScenarioError> {
        let canon = Canonicaliser::new(self.config.url.clone());
        let mut seeds = Vec::new();
        for number in 0..self.seeds.min(self.network.plan().sites) {
            let url = canon.canon(&format!("http://{}/", SimulatedSite::host(number)))?;
            seeds.push(Seed::of(&url));
        }
        Ok(seeds)
    }

    /// The waits of the sites so far.
    pub fn waits(&self) -> WaitAudit {
        lock(&self.waits).clone()
    }
}

/// Takes samples during one crawl.
struct Sampler<'a> {
    /// Simulated time from the start of the scenario to the start of the crawl.
    before: Duration,
    crawl_start: Instant,
    network: &'a SimulatedWeb,
}

impl Sampler<'_> {
    fn sample(&self, counters: &aranha_engine::LiveCounters) -> Sample {
        let tally = counters.tally();
        Sample {
            time: self.before + self.crawl_start.elapsed(),
            requests: self.network.audit().requests,
            pages: tally.pages,
            visits: tally.active_visits,
            resident_bytes: resident_bytes(),
            cpu_time: cpu_time(),
        }
    }
}
