//! The course of a crawl: one node after the other on the same collection, each ended in order or killed.
//!
//! Every life has a runtime of its own, with its own paused clock; the calendar goes on where the last one ended. To kill a
//! node is to drop its runtime: every task is gone where it stood, nothing is checked in, the frontier's files stay as they
//! are. What the processor does between two events takes no simulated time.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aranha_engine::{Collection, Config, EngineError, Node, Reason, Stop, Summary, World};
use aranha_frontier::{Embedded, Frontier, FrontierError, FrontierStatus, Seed};
use aranha_url::{Canonicaliser, Reach, Rejected};
use tokio::runtime::Runtime;
use tokio::time::{Instant, MissedTickBehavior};

use crate::watched::lock;
use crate::{Network, Plan, Site, Waits, Watched, memory, processor};

/// How a life ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Asked to stop; it checks everything in.
    Stopped,
    /// Gone from one moment to the next.
    Killed,
}

/// One node's time.
#[derive(Clone, Copy, Debug)]
pub struct Life {
    /// How long it runs, if the crawl does not end before.
    pub length: Duration,
    /// How it ends.
    pub end: End,
    /// Until the next one begins.
    pub rest: Duration,
}

/// A look at a crawl under way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// Since the beginning, on the crawl's calendar.
    pub time: Duration,
    /// Requests so far.
    pub requests: u64,
    /// Pages answered by this node.
    pub pages: u64,
    /// Visits under way.
    pub visits: u64,
    /// Bytes resident.
    pub memory: u64,
    /// Processor time of the process.
    pub processor: Duration,
}

/// Why a course could not be run to its end.
#[derive(Debug, thiserror::Error)]
pub enum CourseError {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The frontier failed.
    #[error(transparent)]
    Frontier(#[from] FrontierError),
    /// The folder or the runtime could not be made.
    #[error(transparent)]
    File(#[from] io::Error),
    /// A seed is no URL.
    #[error(transparent)]
    Seed(#[from] Rejected),
    /// A node gave up.
    #[error("the crawl failed: {0}")]
    Failed(Reason),
}

/// A crawl to be simulated.
#[derive(Debug)]
pub struct Course {
    /// The configuration in force.
    pub config: Config,
    /// What the disk takes to make a group of pages durable.
    pub sync: Duration,
    /// So many of the first sites are seeds.
    pub seeds: u32,
    /// The lives, in their order.
    pub lives: Vec<Life>,
    /// How often the observer is called, on the crawl's calendar.
    pub every: Duration,
    /// The web, and the judge in it.
    pub network: Arc<Network>,
    waits: Arc<Mutex<Waits>>,
}

impl Course {
    /// A crawl of the whole of a web by one node, which never runs out of patience.
    pub fn new(plan: Plan, pause: Duration, sites: usize, lives: Vec<Life>) -> Course {
        let mut config = Config::default();
        config.crawl.scope = Reach::Any;
        config.crawl.pause = pause;
        config.crawl.max_pause = config.crawl.max_pause.max(2 * pause);
        config.crawl.sites = sites;
        config.crawl.idle_wait = Duration::from_hours(24 * 365);
        "https://example.org/".clone_into(&mut config.crawl.contact);
        config.log.crawl = false;
        let network = Network::new(plan, pause, config.crawl.max_pause);
        Course {
            config,
            sync: Duration::from_millis(200),
            seeds: 4,
            lives,
            every: Duration::from_hours(1),
            network: Arc::new(network),
            waits: Arc::new(Mutex::new(Waits::new(sites, Duration::ZERO))),
        }
    }

    /// The longest that a visit keeps its slot from others: a quantum, then the answer under way, for which it may have to
    /// stand in line at its address.
    fn turn(&self) -> Duration {
        let crawl = &self.config.crawl;
        let line = 2 * self.network.plan().neighbours * crawl.pause;
        crawl.quantum + line + Duration::from_mins(2)
    }

    /// Runs it in a folder. `runtime` makes a current-thread runtime with a paused clock. Answers where the frontier stands
    /// in the end; what the servers saw is in the network's ledger.
    pub fn run(
        &self,
        folder: &Path,
        runtime: impl Fn() -> io::Result<Runtime>,
        mut observe: impl FnMut(&Sample),
    ) -> Result<FrontierStatus, CourseError> {
        let collection = Collection::at(folder);
        collection.create()?;
        *lock(&self.waits) = Waits::new(self.config.crawl.sites, self.turn());
        let begins = self.network.plan().begins;
        let mut now = begins;
        for (number, life) in self.lives.iter().enumerate() {
            let runtime = runtime()?;
            let lived = runtime.block_on(async {
                let began = Instant::now();
                let watch = Watch {
                    before: Duration::from_millis((now - begins) as u64),
                    began,
                    network: &self.network,
                };
                let ended = self.live(&collection, now, number > 0, *life, watch, &mut observe);
                let ended = ended.await;
                ended.map(|ended| (ended, began.elapsed().as_millis() as i64))
            });
            drop(runtime);
            let (ended, elapsed) = lived?;
            now += elapsed;
            match ended {
                None => self.network.ledger().killed(now),
                Some(summary) => match summary.reason {
                    Reason::Finished => break,
                    Reason::Interrupted => {}
                    other => return Err(CourseError::Failed(other)),
                },
            }
            now += life.rest.as_millis() as i64;
        }
        let frontier = Embedded::open(folder, self.config.frontier.clone())?;
        Ok(frontier.status(now)?)
    }

    /// One life. `None`: it was killed.
    async fn live(
        &self,
        collection: &Collection,
        now: i64,
        resumed: bool,
        life: Life,
        watch: Watch<'_>,
        observe: &mut impl FnMut(&Sample),
    ) -> Result<Option<Summary>, CourseError> {
        let mut frontier = Embedded::open(collection.root(), self.config.frontier.clone())?;
        if !resumed {
            frontier.seed(now, &self.seed_list()?)?;
        }
        let frontier = Watched::new(frontier, Arc::clone(&self.waits));
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
        let mut ticks = tokio::time::interval(self.every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let end = tokio::time::sleep(life.length);
        let mut end = std::pin::pin!(end);
        loop {
            tokio::select! {
                biased;
                summary = &mut run => return Ok(Some(summary?)),
                () = &mut end, if !stop.asked() => match life.end {
                    End::Killed => return Ok(None),
                    End::Stopped => stop.ask(Reason::Interrupted),
                },
                _ = ticks.tick() => observe(&watch.sample(&counters)),
            }
        }
    }

    fn seed_list(&self) -> Result<Vec<Seed>, CourseError> {
        let canon = Canonicaliser::new(self.config.url.clone());
        let mut seeds = Vec::new();
        for number in 0..self.seeds.min(self.network.plan().sites) {
            let url = canon.canon(&format!("http://{}/", Site::host(number)))?;
            seeds.push(Seed::of(&url));
        }
        Ok(seeds)
    }

    /// How long sites waited so far.
    pub fn waited(&self) -> Waits {
        lock(&self.waits).clone()
    }
}

/// What a sample is taken from.
struct Watch<'a> {
    before: Duration,
    began: Instant,
    network: &'a Network,
}

impl Watch<'_> {
    fn sample(&self, counters: &aranha_engine::LiveCounters) -> Sample {
        let tally = counters.tally();
        Sample {
            time: self.before + self.began.elapsed(),
            requests: self.network.ledger().requests,
            pages: tally.pages,
            visits: tally.active_visits,
            memory: memory(),
            processor: processor(),
        }
    }
}
