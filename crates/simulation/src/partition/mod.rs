//! A model of the ways to partition the web and to assign partitions to nodes (Viuva Negra 3.3, Tables 1 and 8).
//!
//! The model crawls every page of a [`WebPlan`] once, and counts what Table 1 compares: DNS questions, connections, the load on
//! servers, files of a site that are read again, and what nodes must tell each other. It has no failures of servers, and the
//! pages that exist are known from the beginning. The strategies of other crawlers exist only here. The row of aranha is
//! checked against
//! the engine (`bench/partition`).
//!
//! Every node keeps what it learns about a name and a site (DNS answer, robots.txt) until the end, which favours the
//! strategies that scatter the pages of a site.

mod ownership;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashSet, VecDeque};

use aranha_lab::Chance;

use crate::{SimulatedSite, WebPlan};

/// Time of a DNS look-up and of a connection in `network.rs`, in milliseconds.
const LOOK_UP_MS: i64 = 25;
const CONNECT_MS: i64 = 30;
/// Number of URLs in a partition by page.
const PAGES_PER_PARTITION: usize = 100;
/// Points of a node on the ring of consistent hashing.
const RING_POINTS: u64 = 200;
/// A pushing coordinator looks at the load of the nodes at this interval, and lets each have pages for this number of requests
/// per worker in its queue.
const PUSH_INTERVAL_MS: i64 = 10_000;
const PUSHED_PAGES: usize = 20;
/// In aranha a visit ends after this time if other sites wait (`crawl.quantum`).
const QUANTUM_MS: i64 = 300_000;
/// A gate that was not used for this number of pauses changes its owner.
const IDLE_PAUSES: i64 = 8;

/// What a partition consists of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Partition {
    /// A fixed number of URLs, chosen by hash.
    Page,
    /// All URLs of a site.
    Site,
    /// All URLs of a site. An address belongs to one node at a time, as in aranha.
    GatedSite,
    /// All URLs of all sites at an IP address.
    Address,
}

/// How partitions are assigned to nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Assignment {
    /// A node takes the next partition when it has room.
    Pull,
    /// A coordinator sends partitions to the node with the least load, as it was reported last.
    Push,
    /// By a hash, modulo the number of nodes.
    Hash,
    /// By consistent hashing: a partition belongs to the next node on a ring.
    Ring,
}

/// A strategy and the size of the cluster.
#[derive(Clone, Copy, Debug)]
pub struct Strategy {
    /// What a partition consists of.
    pub partition: Partition,
    /// How partitions are assigned.
    pub assignment: Assignment,
    /// Number of nodes.
    pub nodes: u32,
    /// Partitions that a node works on at a time.
    pub workers: u32,
    /// Courtesy pause in milliseconds.
    pub pause_ms: i64,
}

/// What a crawl by a strategy cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct PartitionCost {
    /// Pages fetched.
    pub pages: u64,
    /// Requests for robots.txt.
    pub robots: u64,
    /// DNS questions for requests.
    pub dns: u64,
    /// DNS questions that were needed only to know to which partition a link belongs.
    pub dns_for_links: u64,
    /// Connections.
    pub connections: u64,
    /// Shortest time from the end of a response to the next request to the same address, in milliseconds; 0 if requests
    /// overlap.
    pub closest_ms: i64,
    /// Requests that came to an address earlier than a pause after the last response.
    pub too_close: u64,
    /// Links that a node sends to another node, because it owns the page.
    pub links_to_nodes: u64,
    /// Links that a node sends to the common frontier.
    pub links_to_frontier: u64,
    /// Duration in milliseconds.
    pub took_ms: i64,
    /// Pages of the busiest node, as a multiple of the mean.
    pub busiest: f64,
    /// Share of all URLs that get another node if one node dies in the middle of the crawl.
    pub reassigned: f64,
}

impl PartitionCost {
    /// All requests.
    pub fn requests(&self) -> u64 {
        self.pages + self.robots
    }
}

/// A page: number of the site, number of the page.
type Url = (u32, u32);

/// A partition that is being worked on.
#[derive(Debug, Default)]
struct Work {
    unit: u32,
    began: i64,
    urls: VecDeque<Url>,
}

/// Something that asks for the time: a worker that can go on, or the coordinator.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    Worker(u32),
    Coordinator,
}

/// A worker of a node.
#[derive(Debug, Default)]
struct Worker {
    work: Option<Work>,
    /// The address and the site of the open connection.
    connection: Option<(usize, u32)>,
}

/// What happens at an address.
#[derive(Clone, Debug, Default)]
struct AddressState {
    last_end: Option<i64>,
    /// With gates: the node that owns the address, its visits, the earliest next request, and the sites in line.
    owner: Option<u32>,
    visits: u32,
    free: i64,
    line: VecDeque<u32>,
}

/// A crawl of the web by a strategy.
struct Model<'a> {
    plan: &'a WebPlan,
    strategy: Strategy,
    sites: Vec<SimulatedSite>,
    /// Address of each site.
    addresses: Vec<usize>,
    states: Vec<AddressState>,
    /// Partitions that no node has, in order, and those of each node.
    units: Vec<VecDeque<Url>>,
    queue: VecDeque<u32>,
    node_queues: Vec<VecDeque<u32>>,
    /// Gates with a line, by owner.
    lines: BTreeMap<u32, BTreeSet<usize>>,
    workers: Vec<Worker>,
    known_names: HashSet<(u32, u32)>,
    known_robots: HashSet<(u32, u32)>,
    /// Sites whose name was resolved before the site was handed over with the answer.
    handed_over: HashSet<u32>,
    node_pages: Vec<u64>,
    events: BinaryHeap<Reverse<(i64, Event)>>,
    cost: PartitionCost,
}

/// Crawls the web of a plan by a strategy.
pub fn crawl_by(plan: &WebPlan, strategy: Strategy) -> PartitionCost {
    let mut model = Model::new(plan, strategy);
    model.assign();
    model.run();
    model.count_links();
    model.cost
}

fn hash(seed: u64, key: u64) -> u64 {
    Chance::of(seed, &[11, key]).next()
}

impl<'a> Model<'a> {
    fn new(plan: &'a WebPlan, strategy: Strategy) -> Model<'a> {
        let sites: Vec<SimulatedSite> = (0..plan.sites)
            .map(|number| SimulatedSite::of(plan, number))
            .collect();
        let addresses: Vec<usize> = sites
            .iter()
            .map(|site| SimulatedSite::address_index(plan, site.address))
            .collect();
        let urls_of = |site: &SimulatedSite| {
            let number = site.number;
            (0..site.pages).map(move |page| (number, page))
        };
        let units: Vec<VecDeque<Url>> = match strategy.partition {
            Partition::Site | Partition::GatedSite => {
                sites.iter().map(|site| urls_of(site).collect()).collect()
            }
            Partition::Address => {
                let mut units: BTreeMap<usize, VecDeque<Url>> = BTreeMap::new();
                for site in &sites {
                    let unit = units.entry(addresses[site.number as usize]).or_default();
                    unit.extend(urls_of(site));
                }
                units.into_values().collect()
            }
            Partition::Page => {
                let mut urls: Vec<Url> = sites.iter().flat_map(urls_of).collect();
                urls.sort_by_cached_key(|url| hash(plan.seed, url_key(*url)));
                urls.chunks(PAGES_PER_PARTITION)
                    .map(|urls| urls.iter().copied().collect())
                    .collect()
            }
        };
        let nodes = strategy.nodes as usize;
        let workers = (0..strategy.nodes * strategy.workers).map(|_| Worker::default());
        Model {
            plan,
            strategy,
            states: vec![AddressState::default(); SimulatedSite::address_count(plan)],
            sites,
            addresses,
            queue: (0..units.len() as u32).collect(),
            units,
            node_queues: vec![VecDeque::new(); nodes],
            lines: BTreeMap::new(),
            workers: workers.collect(),
            known_names: HashSet::new(),
            known_robots: HashSet::new(),
            handed_over: HashSet::new(),
            node_pages: vec![0; nodes],
            events: BinaryHeap::new(),
            cost: PartitionCost {
                closest_ms: i64::MAX,
                ..PartitionCost::default()
            },
        }
    }

    /// Assigns all partitions, if that is done before the crawl.
    fn assign(&mut self) {
        if !self.is_static() {
            return;
        }
        if self.strategy.partition == Partition::Page {
            // Each URL belongs to a node.
            let urls: Vec<Url> = self.units.drain(..).flatten().collect();
            let owners = self.owners(urls.iter().map(|url| self.unit_key(*url)));
            let mut of_nodes: Vec<Vec<Url>> = vec![Vec::new(); self.strategy.nodes as usize];
            for (url, owner) in urls.into_iter().zip(owners) {
                of_nodes[owner as usize].push(url);
            }
            for (node, urls) in of_nodes.into_iter().enumerate() {
                for urls in urls.chunks(PAGES_PER_PARTITION) {
                    self.node_queues[node].push_back(self.units.len() as u32);
                    self.units.push(urls.iter().copied().collect());
                }
            }
        } else {
            let keys = self.units.iter().map(|urls| self.unit_key(urls[0]));
            let owners = self.owners(keys);
            for (unit, owner) in owners.into_iter().enumerate() {
                self.node_queues[owner as usize].push_back(unit as u32);
            }
        }
        self.queue.clear();
    }

    fn run(&mut self) {
        for worker in 0..self.workers.len() as u32 {
            self.events.push(Reverse((0, Event::Worker(worker))));
        }
        if self.strategy.assignment == Assignment::Push {
            self.push_work();
            self.events
                .push(Reverse((PUSH_INTERVAL_MS, Event::Coordinator)));
        }
        let total: u64 = self.units.iter().map(|urls| urls.len() as u64).sum();
        let mut idle: Vec<u32> = Vec::new();
        let mut is_half = false;
        while let Some(Reverse((now, event))) = self.events.pop() {
            match event {
                Event::Coordinator => {
                    if self.cost.pages < total {
                        self.push_work();
                        let next = now + PUSH_INTERVAL_MS;
                        self.events.push(Reverse((next, Event::Coordinator)));
                    }
                    let wake = idle
                        .drain(..)
                        .map(|worker| Reverse((now, Event::Worker(worker))));
                    self.events.extend(wake);
                }
                Event::Worker(worker) => match self.step(worker, now) {
                    Some(next) => self.events.push(Reverse((next, Event::Worker(worker)))),
                    // A site may come back from a line.
                    None if self.cost.pages < total && self.waits() => {
                        let next = now + self.strategy.pause_ms;
                        self.events.push(Reverse((next, Event::Worker(worker))));
                    }
                    None => idle.push(worker),
                },
            }
            if !is_half && self.cost.pages * 2 >= total {
                is_half = true;
                self.cost.reassigned = self.reassigned(total);
            }
        }
        let mean = total as f64 / f64::from(self.strategy.nodes);
        let most = self.node_pages.iter().copied().max().unwrap_or(0);
        self.cost.busiest = most as f64 / mean;
    }

    /// Whether a worker without work may get some later without the coordinator.
    fn waits(&self) -> bool {
        self.strategy.partition == Partition::GatedSite
            && self.strategy.assignment != Assignment::Push
    }

    fn node_of(&self, worker: u32) -> u32 {
        worker / self.strategy.workers
    }

    /// The coordinator gives partitions to the node that has the fewest pages to fetch.
    fn push_work(&mut self) {
        let wanted = PUSHED_PAGES * self.strategy.workers as usize;
        let pages = |queue: &VecDeque<u32>| -> usize {
            queue
                .iter()
                .map(|unit| self.units[*unit as usize].len())
                .sum()
        };
        let mut loads: Vec<usize> = self.node_queues.iter().map(pages).collect();
        while let Some((node, load)) = loads.iter().enumerate().min_by_key(|(_, load)| **load) {
            if *load >= wanted {
                return;
            }
            let Some(unit) = self.queue.pop_front() else {
                return;
            };
            loads[node] += self.units[unit as usize].len().max(1);
            self.node_queues[node].push_back(unit);
        }
    }

    /// The next partition for a worker.
    fn next_unit(&mut self, node: u32, now: i64) -> Option<u32> {
        let lines = self.lines.entry(node).or_default();
        if let Some(address) = lines.first().copied() {
            let state = &mut self.states[address];
            let unit = state.line.pop_front();
            if state.line.is_empty() {
                lines.remove(&address);
            }
            if unit.is_some() {
                state.visits += 1;
                return unit;
            }
        }
        loop {
            let queue = if self.strategy.assignment == Assignment::Pull {
                &mut self.queue
            } else {
                &mut self.node_queues[node as usize]
            };
            let unit = queue.pop_front()?;
            if self.strategy.partition != Partition::GatedSite {
                return Some(unit);
            }
            let address = self.addresses[unit as usize];
            let idle_after = IDLE_PAUSES * self.strategy.pause_ms;
            let state = &mut self.states[address];
            let is_idle = state.visits == 0
                && state.line.is_empty()
                && state.last_end.is_none_or(|end| now - end > idle_after);
            if state.owner.is_none() || state.owner == Some(node) || is_idle {
                state.owner = Some(node);
                state.visits += 1;
                return Some(unit);
            }
            // Only a look-up finds out that the address belongs to another node. The answer goes with the site.
            self.cost.dns += 1;
            self.handed_over.insert(unit);
            if let Some(owner) = state.owner {
                state.line.push_back(unit);
                self.lines.entry(owner).or_default().insert(address);
            }
        }
    }

    /// Ends the visit of a worker if it has lasted for a quantum and other sites wait. The site waits behind them.
    fn end_quantum(&mut self, worker: u32, now: i64) {
        if self.strategy.partition != Partition::GatedSite || self.queue.is_empty() {
            return;
        }
        let worker = &mut self.workers[worker as usize];
        if let Some(work) = worker.work.take_if(|work| now - work.began >= QUANTUM_MS) {
            worker.connection = None;
            let state = &mut self.states[self.addresses[work.unit as usize]];
            state.visits = state.visits.saturating_sub(1);
            self.queue.push_back(work.unit);
            self.units[work.unit as usize] = work.urls;
        }
    }

    /// A worker sends its next request. Returns when it goes on; `None` if there is no work for it.
    fn step(&mut self, worker: u32, now: i64) -> Option<i64> {
        let node = self.node_of(worker);
        self.end_quantum(worker, now);
        let mut work = if let Some(work) = self.workers[worker as usize].work.take() {
            work
        } else {
            let unit = self.next_unit(node, now)?;
            Work {
                unit,
                began: now,
                urls: std::mem::take(&mut self.units[unit as usize]),
            }
        };
        let url = *work.urls.front()?;
        let (number, _) = url;
        let (address, gated) = (
            self.addresses[number as usize],
            self.strategy.partition == Partition::GatedSite,
        );
        let mut start = now;
        if gated {
            start = start.max(self.states[address].free);
        }
        if self.known_names.insert((node, number)) && !self.handed_over.contains(&number) {
            self.cost.dns += 1;
            start += LOOK_UP_MS;
        }
        let is_robots = self.known_robots.insert((node, number));
        let site = &self.sites[number as usize];
        let latency = i64::from(site.latency_ms);
        let connection = (address, number);
        let open = self.workers[worker as usize].connection;
        let is_open = match self.strategy.partition {
            Partition::Address => open.is_some_and(|(other, _)| other == address),
            _ => open == Some(connection),
        };
        if !is_open {
            self.cost.connections += 1;
            start += CONNECT_MS;
        }
        let keeps_alive = site.keeps_alive;
        self.workers[worker as usize].connection = keeps_alive.then_some(connection);
        let end = start + latency;
        self.arrive(address, start);
        let state = &mut self.states[address];
        state.last_end = Some(end.max(state.last_end.unwrap_or(end)));
        state.free = end + self.strategy.pause_ms;
        self.cost.took_ms = self.cost.took_ms.max(end);
        if is_robots {
            self.cost.robots += 1;
        } else {
            self.cost.pages += 1;
            self.node_pages[node as usize] += 1;
            work.urls.pop_front();
        }
        let next = match self.strategy.partition {
            Partition::Page if !is_robots => end,
            _ => end + self.strategy.pause_ms,
        };
        if work.urls.is_empty() {
            self.states[address].visits = self.states[address].visits.saturating_sub(1);
        } else {
            self.workers[worker as usize].work = Some(work);
        }
        Some(next)
    }

    /// A request arrives at an address.
    fn arrive(&mut self, address: usize, start: i64) {
        let Some(last) = self.states[address].last_end else {
            return;
        };
        let gap = (start - last).max(0);
        self.cost.closest_ms = self.cost.closest_ms.min(gap);
        self.cost.too_close += u64::from(gap < self.strategy.pause_ms);
    }
}

fn url_key((site, page): Url) -> u64 {
    u64::from(site) << 32 | u64::from(page)
}
