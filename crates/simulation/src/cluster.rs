//! A crawl by many nodes in one process: the production engine of each node, on one simulated web and one frontier in
//! memory ([`MemoryFrontier`]), which follows the same rules as the PostgreSQL engine.
//!
//! Nodes join one after the other. Each then lives for a while and ends in one of these ways ([`Fate`]), drawn from the seed of
//! the web: it is killed, is asked to stop, is drained, or loses its link to the database until others have its sites.
//! After a pause a new process takes its place, in the same folder or in a new one. The database is away for all nodes in
//! the [`ClusterScenario::outages`].
//!
//! All nodes share one runtime with a paused clock, and one thread. So the same scenario gives the same requests.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aranha_engine::{
    Clock, Collection, Config, EngineError, Node, Reason, Role, Stop, Summary, World,
};
use aranha_frontier::{
    ErrorClass, Frontier as _, FrontierStatus, MemoryFrontier, MemoryNode, NodeLink, NodeSettings,
    Seed, SiteState,
};
use aranha_lab::Chance;
use aranha_url::{Canonicaliser, Reach};
use tokio::runtime::Runtime;
use tokio::task::{JoinSet, LocalSet};
use tokio::time::Instant;

use crate::audited_frontier::lock;
use crate::node_network::NodeNetwork;
use crate::scenario::ScenarioError;
use crate::{AuditedFrontier, SimulatedSite, SimulatedWeb, WaitAudit, WebPlan};

/// Time from the start of one node to the start of the next, at the beginning.
const JOIN_INTERVAL: Duration = Duration::from_secs(2);
/// Time from the end of a process to the start of the next one in its place, at least and at most.
const DOWNTIME_SECS: (u64, u64) = (10, 600);

/// How the life of a node process ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    /// It is killed, and a new process uses its folder.
    Killed,
    /// It is killed with its disk.
    Lost,
    /// It is asked to stop, as by Ctrl-C.
    Stopped,
    /// It is asked to finish its visits.
    Drained,
    /// It loses the link to the database for so long that others visit its sites, and then goes on until it is killed.
    Cut,
}

/// What happened to the nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClusterEvents {
    /// Node processes that were started.
    pub starts: u64,
    /// Processes that were killed. Half of the folders are lost with them.
    pub kills: u64,
    /// Processes that ended in order.
    pub leaves: u64,
    /// Links to the database that were cut.
    pub cuts: u64,
    /// Outages of the database.
    pub outages: u64,
}

/// A crawl by many nodes in simulated time.
#[derive(Debug)]
pub struct ClusterScenario {
    /// Configuration of every node.
    pub config: Config,
    /// Number of nodes that work at the same time.
    pub nodes: u32,
    /// Mean life of a node process. Zero: all live until the end.
    pub mean_life: Duration,
    /// Outages of the database: time of the beginning, and duration.
    pub outages: Vec<(Duration, Duration)>,
    /// Simulated time after which all nodes are asked to stop.
    pub duration: Duration,
    /// Whether nodes stop sending requests at their deadline. Only a test switches this off.
    pub has_fence: bool,
    /// Number of seeds: the home pages of the first sites.
    pub seeds: u32,
    /// Simulated time that the archive takes to make a group of records durable.
    pub sync: Duration,
    /// The simulated web, with the audit of its requests.
    pub network: Arc<SimulatedWeb>,
    waits: Arc<Mutex<WaitAudit>>,
}

/// The result of a crawl by many nodes.
#[derive(Clone, Debug)]
pub struct ClusterResult {
    /// Totals of the frontier.
    pub status: FrontierStatus,
    /// What happened to the nodes.
    pub events: ClusterEvents,
    /// Simulated duration.
    pub took: Duration,
    /// The longest time for which a site was due at the end.
    pub longest_overdue: Duration,
    /// Waits from due time to check-out.
    pub waits: WaitAudit,
}

impl ClusterScenario {
    /// A crawl of the whole web by nodes with `visits` visits at a time each.
    pub fn new(plan: WebPlan, nodes: u32, visits: usize, pause: Duration) -> ClusterScenario {
        let mut config = Config::default();
        config.crawl.scope = Reach::Any;
        config.crawl.pause = pause;
        config.crawl.max_pause = config.crawl.max_pause.max(2 * pause);
        config.crawl.sites = visits;
        config.crawl.idle_wait = Duration::from_hours(24 * 365);
        config.crawl.check_in_interval = Duration::from_secs(30).max(4 * pause);
        config.frontier.recent_links = 1 << 14;
        "https://example.org/".clone_into(&mut config.crawl.contact);
        config.log.crawl = false;
        let network = SimulatedWeb::new(plan, pause, config.crawl.max_pause);
        ClusterScenario {
            nodes,
            mean_life: Duration::from_mins(40),
            outages: Vec::new(),
            duration: Duration::from_hours(6),
            has_fence: true,
            seeds: 4 * nodes,
            sync: Duration::from_millis(200),
            network: Arc::new(network),
            waits: Arc::new(Mutex::new(WaitAudit::new(visits, Duration::ZERO))),
            config,
        }
    }

    /// The longest time for which a visit keeps others waiting: as on one machine, and the time until the sites of a dead
    /// node are given back, and all outages.
    fn max_visit(&self) -> Duration {
        let crawl = &self.config.crawl;
        let address_queue = 2 * self.network.plan().sites_per_shared_address * crawl.pause;
        let outages: Duration = self.outages.iter().map(|(_, duration)| *duration).sum();
        let death = 2 * self.config.frontier.node_timeout + crawl.max_pause;
        crawl.quantum + address_queue + death + outages + Duration::from_mins(2)
    }

    /// Runs the crawl. `folder` gets the folders of the nodes. `runtime` is a current-thread runtime with a paused clock.
    /// The audit of the requests is in [`SimulatedWeb::audit`].
    pub fn run(&self, folder: &Path, runtime: &Runtime) -> Result<ClusterResult, ScenarioError> {
        let slots = self.config.crawl.sites * self.nodes as usize;
        *lock(&self.waits) = WaitAudit::new(slots, self.max_visit());
        let tasks = LocalSet::new();
        let crawl = async {
            let clock = Clock::at(self.network.plan().start);
            let cluster = Arc::new(RunningCluster {
                scenario: self.parts(),
                frontier: MemoryFrontier::new(),
                folder: folder.to_owned(),
                clock,
                start: Instant::now(),
                events: Mutex::default(),
                alive: Mutex::default(),
            });
            cluster.run().await?;
            let now = clock.now();
            let view = cluster.frontier.view()?;
            let mut longest_overdue = 0;
            view.sites(|site| {
                if site.state == SiteState::Waiting {
                    longest_overdue = site.due.map_or(0, |due| now - due).max(longest_overdue);
                }
                true
            })?;
            let events = *guard(&cluster.events);
            Ok(ClusterResult {
                status: view.status(now)?,
                events,
                took: cluster.start.elapsed(),
                longest_overdue: Duration::from_millis(longest_overdue as u64),
                waits: lock(&self.waits).clone(),
            })
        };
        runtime.block_on(tasks.run_until(crawl))
    }

    fn parts(&self) -> ScenarioParts {
        ScenarioParts {
            config: self.config.clone(),
            nodes: self.nodes,
            mean_life: self.mean_life,
            outages: self.outages.clone(),
            duration: self.duration,
            has_fence: self.has_fence,
            seeds: self.seeds,
            sync: self.sync,
            network: Arc::clone(&self.network),
            waits: Arc::clone(&self.waits),
        }
    }
}

/// The parts of a scenario that its tasks share.
struct ScenarioParts {
    config: Config,
    nodes: u32,
    mean_life: Duration,
    outages: Vec<(Duration, Duration)>,
    duration: Duration,
    has_fence: bool,
    seeds: u32,
    sync: Duration,
    network: Arc<SimulatedWeb>,
    waits: Arc<Mutex<WaitAudit>>,
}

/// A crawl under way.
struct RunningCluster {
    scenario: ScenarioParts,
    frontier: MemoryFrontier,
    folder: std::path::PathBuf,
    clock: Clock,
    start: Instant,
    events: Mutex<ClusterEvents>,
    /// The processes that are alive.
    alive: Mutex<BTreeSet<u32>>,
}

fn guard<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// A process that is alive until this is dropped.
struct Alive<'a>(&'a RunningCluster, u32);

impl Drop for Alive<'_> {
    fn drop(&mut self) {
        guard(&self.0.alive).remove(&self.1);
    }
}

/// Why a process ended.
enum Ended {
    /// There is nothing left to do, or the time of the scenario is over.
    ForGood,
    /// Another process takes its place.
    Replaced { keeps_folder: bool },
}

type RunningNode = Pin<Box<dyn Future<Output = Result<Summary, EngineError>>>>;

impl RunningCluster {
    async fn run(self: &Arc<Self>) -> Result<(), ScenarioError> {
        let mut slots = JoinSet::new();
        for slot in 0..self.scenario.nodes {
            let cluster = Arc::clone(self);
            slots.spawn_local(async move { cluster.run_slot(slot).await });
        }
        let outages = tokio::task::spawn_local(Arc::clone(self).make_outages());
        while let Some(ended) = slots.join_next().await {
            ended.map_err(io::Error::other)??;
        }
        outages.abort();
        Ok(())
    }

    fn end(&self) -> Instant {
        self.start + self.scenario.duration
    }

    /// Lets the database be away, one outage after the other.
    async fn make_outages(self: Arc<Self>) {
        for (from, duration) in &self.scenario.outages {
            tokio::time::sleep_until(self.start + *from).await;
            guard(&self.events).outages += 1;
            let audit = || self.scenario.network.audit();
            for process in &*guard(&self.alive) {
                audit().on_contact_lost(self.clock.now(), *process);
            }
            self.frontier.set_away(true);
            tokio::time::sleep(*duration).await;
            self.frontier.set_away(false);
            // Those that live have kept their check-ins.
            for process in &*guard(&self.alive) {
                audit().on_contact(self.clock.now(), *process, true);
            }
        }
    }

    /// Whether the database is away.
    fn is_away(&self) -> bool {
        let elapsed = self.start.elapsed();
        let outages = self.scenario.outages.iter();
        let mut current =
            outages.filter(|(from, duration)| (*from..*from + *duration).contains(&elapsed));
        current.next().is_some()
    }

    /// Runs one process after the other.
    async fn run_slot(&self, slot: u32) -> Result<(), ScenarioError> {
        tokio::time::sleep(JOIN_INTERVAL * slot).await;
        let plan = self.scenario.network.plan();
        let mut chance = Chance::of(plan.seed, &[9, u64::from(slot)]);
        let (mut life, mut folder) = (0, 0);
        loop {
            while self.is_away() && Instant::now() < self.end() {
                tokio::time::sleep(Duration::from_secs(5)).await;
            }
            if Instant::now() >= self.end() {
                return Ok(());
            }
            let place = self.folder.join(format!("node{slot}-{folder}"));
            let ended = self.run_process(&place, slot == 0 && life == 0, &mut chance);
            match Box::pin(ended).await? {
                Ended::ForGood => return Ok(()),
                Ended::Replaced { keeps_folder } => folder += u32::from(!keeps_folder),
            }
            life += 1;
            let (least, most) = DOWNTIME_SECS;
            let downtime = 1000 * least + chance.below(1000 * (most - least) as usize) as u64;
            tokio::time::sleep(Duration::from_millis(downtime)).await;
        }
    }

    /// Starts a process in a folder, and runs it until it ends.
    async fn run_process(
        &self,
        folder: &Path,
        leads: bool,
        chance: &mut Chance,
    ) -> Result<Ended, ScenarioError> {
        let scenario = &self.scenario;
        let process = {
            let mut events = guard(&self.events);
            events.starts += 1;
            events.starts as u32
        };
        let stop = Stop::new();
        let now = self.clock.now();
        let settings = NodeSettings {
            node: format!("process{process}"),
            ttl: scenario.config.frontier.node_timeout,
            pause: scenario
                .config
                .crawl
                .pause
                .max(scenario.config.crawl.max_pause),
            ..NodeSettings::default()
        };
        let options = scenario.config.frontier.clone();
        let frontier = self.frontier.open_node(now, options, settings);
        let mut frontier = match frontier {
            Ok(frontier) => frontier,
            Err(error) if error.class() == ErrorClass::MayPass => {
                return Ok(Ended::Replaced { keeps_folder: true });
            }
            Err(error) => return Err(error.into()),
        };
        if leads {
            frontier.seed(now, &self.seed_list()?)?;
        }
        let (mut link, number) = (frontier.link(), frontier.number());
        if !scenario.has_fence {
            link.ignore_deadline();
        }
        let resumed = folder.exists();
        let node = self.open(folder, frontier, resumed, process, &stop)?;
        let Some(mut node) = node else {
            link.kill();
            return Ok(Ended::Replaced { keeps_folder: true });
        };
        guard(&self.alive).insert(process);
        let _alive = Alive(self, process);
        let mut heartbeat = JoinSet::new();
        heartbeat.spawn(beat(link.clone(), self.clock));
        let role = if leads {
            Role::Crawl
        } else {
            Role::Node {
                ends_when_idle: true,
            }
        };
        node.set_role(role);
        let mut run: RunningNode = Box::pin(node.run());
        let life = self.life(chance);
        let fate = random_fate(chance);
        let until = self.end().min(Instant::now() + life);
        tokio::select! {
            biased;
            ended = &mut run => return self.ended(&link, process, ended),
            () = tokio::time::sleep_until(until) => {}
        }
        if Instant::now() >= self.end() {
            stop.ask(Reason::Interrupted);
            let ended = run.await;
            return self.ended(&link, process, ended).map(|_| Ended::ForGood);
        }
        match fate {
            Fate::Stopped | Fate::Drained => {
                if fate == Fate::Drained {
                    self.frontier.drain(number);
                } else {
                    stop.ask(Reason::Interrupted);
                }
                // A process that was declared dead meanwhile does not see that it is to be drained.
                let patience = tokio::time::sleep(Duration::from_mins(20));
                tokio::select! {
                    biased;
                    ended = &mut run => return self.ended(&link, process, ended),
                    () = patience => {}
                }
            }
            Fate::Cut => {
                guard(&self.events).cuts += 1;
                scenario
                    .network
                    .audit()
                    .on_contact_lost(self.clock.now(), process);
                link.set_cut(true);
                // Others get its sites meanwhile.
                let config = &scenario.config;
                let others = config.frontier.node_timeout + config.crawl.max_pause;
                let cut = tokio::time::sleep(2 * others);
                tokio::select! {
                    biased;
                    ended = &mut run => return self.ended(&link, process, ended),
                    () = cut => {}
                }
                link.set_cut(false);
                let now = self.clock.now();
                scenario.network.audit().on_contact(now, process, false);
                let rest = tokio::time::sleep(self.life(chance));
                tokio::select! {
                    biased;
                    ended = &mut run => return self.ended(&link, process, ended),
                    () = rest => {}
                }
            }
            Fate::Killed | Fate::Lost => {}
        }
        // Killed: the process has no further effect.
        guard(&self.events).kills += 1;
        scenario
            .network
            .audit()
            .on_contact_lost(self.clock.now(), process);
        link.kill();
        drop(run);
        Ok(Ended::Replaced {
            keeps_folder: fate != Fate::Lost,
        })
    }

    /// Opens a node. `None` if the database is away.
    fn open(
        &self,
        folder: &Path,
        frontier: MemoryNode,
        resumed: bool,
        process: u32,
        stop: &Stop,
    ) -> Result<Option<Node>, ScenarioError> {
        let scenario = &self.scenario;
        let collection = Collection::at(folder);
        collection.create()?;
        let web = Arc::new(NodeNetwork::new(Arc::clone(&scenario.network), process));
        let world = World::simulated(self.clock.now(), web, scenario.sync);
        let frontier = AuditedFrontier::new(Box::new(frontier), Arc::clone(&scenario.waits));
        let node = Node::open_in(
            &world,
            &collection,
            scenario.config.clone(),
            Box::new(frontier),
            resumed,
            stop.clone(),
        );
        match node {
            Ok(node) => Ok(Some(node)),
            Err(error) if may_pass(&error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// A process has ended by itself.
    fn ended(
        &self,
        link: &NodeLink,
        process: u32,
        ended: Result<Summary, EngineError>,
    ) -> Result<Ended, ScenarioError> {
        let reason = match ended {
            Ok(summary) => summary.reason,
            Err(error) if may_pass(&error) => Reason::Failed(error.to_string()),
            Err(error) => return Err(error.into()),
        };
        match reason {
            Reason::Finished => Ok(Ended::ForGood),
            Reason::Interrupted | Reason::Drained => {
                guard(&self.events).leaves += 1;
                Ok(Ended::Replaced { keeps_folder: true })
            }
            // A process that is to end waits a minute for the database. What it could not store is in its folder.
            Reason::Failed(problem) if problem.contains("is away") => {
                let now = self.clock.now();
                self.scenario.network.audit().on_contact_lost(now, process);
                link.kill();
                Ok(Ended::Replaced { keeps_folder: true })
            }
            other => Err(ScenarioError::Failed(other)),
        }
    }

    fn life(&self, chance: &mut Chance) -> Duration {
        let mean = self.scenario.mean_life;
        if mean.is_zero() {
            return self.scenario.duration;
        }
        mean.mul_f64(0.2 + chance.below(1600) as f64 / 1000.0)
    }

    fn seed_list(&self) -> Result<Vec<Seed>, ScenarioError> {
        let canon = Canonicaliser::new(self.scenario.config.url.clone());
        let mut seeds = Vec::new();
        for number in 0..self.scenario.seeds.min(self.scenario.network.plan().sites) {
            let url = canon.canon(&format!("http://{}/", SimulatedSite::host(number)))?;
            seeds.push(Seed::of(&url));
        }
        Ok(seeds)
    }
}

fn random_fate(chance: &mut Chance) -> Fate {
    let fates = [
        Fate::Killed,
        Fate::Killed,
        Fate::Lost,
        Fate::Lost,
        Fate::Stopped,
        Fate::Drained,
        Fate::Cut,
        Fate::Cut,
    ];
    fates[chance.below(fates.len())]
}

fn may_pass(error: &EngineError) -> bool {
    matches!(error, EngineError::Frontier(error) if error.class() == ErrorClass::MayPass)
}

/// Keeps a node alive.
async fn beat(link: NodeLink, clock: Clock) {
    let mut ticks = tokio::time::interval(link.interval());
    loop {
        ticks.tick().await;
        link.beat(clock.now());
    }
}
