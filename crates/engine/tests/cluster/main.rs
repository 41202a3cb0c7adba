//! A crawl by several node processes on one PostgreSQL server, while nodes are killed and stopped and the server is
//! killed. The log of the web's servers is the judge: no two requests to a site or an address may be closer than the
//! courtesy pause (invariant 2), and every page is recorded in the end (invariant 5).
//!
//! The clocks of the nodes are hours apart. A fifth of the sites is on one address. The same judge finds violations if the
//! fence of the nodes is switched off.
//!
//! `bench/cluster` runs this for longer: `ARANHA_CLUSTER` has other numbers for [`Trial`].

mod nodes;
mod process;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use aranha_frontier::{
    Frontier as _, NodeSettings, Options, Outcome, PageFilter, Postgres, Seed, View,
};
use aranha_lab::{Chance, Crawler, Lab, Plan, Sizes, Violation};
use aranha_url::Canonicaliser;

use crate::nodes::Nodes;
use aranha_test_database::Cluster;

/// The courtesy pause of the crawl.
const PAUSE: Duration = Duration::from_millis(100);
/// Time without renewal after which a node is declared dead.
const TTL: Duration = Duration::from_secs(3);
/// Time for which a node is stopped, so that others have its sites when it continues.
const LONG_STOP: Duration = Duration::from_secs(6);

/// The size of a trial.
#[derive(Clone, Copy, Debug)]
struct Trial {
    nodes: usize,
    sites: usize,
    /// Number of pages of the smallest and of the largest site.
    smallest: usize,
    largest: usize,
    /// Seconds in which nodes and server are disturbed.
    seconds: u64,
    /// Seconds after which the crawl must have ended.
    limit: u64,
    seed: u64,
}

impl Trial {
    fn new() -> Trial {
        let mut trial = Trial {
            nodes: 4,
            sites: 40,
            smallest: 8,
            largest: 50,
            seconds: 16,
            limit: 170,
            seed: 1,
        };
        let text = std::env::var("ARANHA_CLUSTER").unwrap_or_default();
        for entry in text.split(',').filter(|entry| !entry.is_empty()) {
            let (name, value) = entry.split_once('=').expect("NAME=NUMBER");
            let number: usize = value.parse().expect("a number");
            match name {
                "nodes" => trial.nodes = number,
                "sites" => trial.sites = number,
                "smallest" => trial.smallest = number,
                "largest" => trial.largest = number,
                "seconds" => trial.seconds = number as u64,
                "limit" => trial.limit = number as u64,
                "seed" => trial.seed = number as u64,
                _ => panic!("unknown number {name}"),
            }
        }
        trial
    }

    fn plan(self) -> Plan {
        Plan {
            sites: self.sites,
            pages: Sizes {
                smallest: self.smallest,
                largest: self.largest.max(self.smallest),
            },
            addresses: self.sites,
            crowded: 20,
            seeds: self.sites / 2,
            // Redirects to HTTPS would only take time.
            secure: 0,
            ..Plan::small(self.seed)
        }
    }
}

/// A web, a database with its seeds, and the nodes.
struct Court {
    trial: Trial,
    lab: Lab,
    database: Cluster,
    address: String,
    nodes: Nodes,
    /// Number of kills of the database.
    crashes: u32,
}

impl Court {
    /// Starts the crawl. `faults`: faults that are injected into the nodes.
    async fn open(trial: Trial, faults: &'static str) -> Court {
        let lab = Lab::start(trial.plan()).await.expect("the lab starts");
        let database = Cluster::start().expect("PostgreSQL starts");
        let address = database.address_of("crawl");
        let seeds: Vec<Seed> = lab
            .seeds()
            .iter()
            .map(|url| Seed::of(&Canonicaliser::default().canon(url).expect("a URL")))
            .collect();
        let frontier = Postgres::open(&address, Options::default(), NodeSettings::default());
        let mut frontier = frontier.expect("opens");
        frontier.seed(0, &seeds).expect("seeds");
        drop(frontier);
        let nodes = Nodes::start(trial.nodes, &address, lab.resolver(), faults);
        Court {
            trial,
            lab,
            database,
            address,
            nodes,
            crashes: 0,
        }
    }

    fn violations(&self) -> Vec<Violation> {
        self.lab.violations(PAUSE)
    }

    /// Kills and stops nodes, and kills the server, for a while.
    async fn disturb(&mut self) {
        let begun = Instant::now();
        let mut turn = 0;
        while begun.elapsed() < Duration::from_secs(self.trial.seconds) {
            turn += 1;
            let seed = self.trial.seed;
            let chance = |key: u64, below: usize| Chance::of(seed, &[turn, key]).below(below);
            let node = chance(1, self.trial.nodes);
            match chance(2, 6) {
                0 => self.nodes.kill(node),
                1..=3 => self.nodes.stop(node, LONG_STOP),
                4 => self.nodes.stop(node, TTL / 4),
                _ => {
                    self.database.crash();
                    self.crashes += 1;
                    let away = [TTL / 10, TTL][chance(3, 2)];
                    self.wait(away).await;
                    self.database.restart().expect("PostgreSQL starts again");
                }
            }
            self.wait(Duration::from_millis(300 + 100 * chance(4, 8) as u64))
                .await;
        }
        self.nodes.go_on();
    }

    /// Stops nodes for so long that others have their sites when they continue, until there is a violation.
    async fn stop_nodes(&mut self) {
        let begun = Instant::now();
        let mut node = 0;
        while begun.elapsed() < 2 * Duration::from_secs(self.trial.seconds)
            && self.violations().is_empty()
        {
            self.nodes.stop(node, LONG_STOP);
            node = (node + 1) % self.trial.nodes;
            self.wait(LONG_STOP / 2).await;
        }
        self.nodes.go_on();
    }

    /// Lets the nodes work, and starts those again that have ended.
    async fn wait(&mut self, time: Duration) {
        let until = Instant::now() + time;
        while Instant::now() < until {
            self.nodes.look();
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// The pages that a complete crawl records.
    fn expected(&self) -> BTreeSet<String> {
        self.lab.truth(&Crawler::default()).into_keys().collect()
    }

    /// The pages that the frontier has records of.
    fn recorded(&self) -> BTreeSet<String> {
        let view = View::connect(&self.address, None).expect("the frontier opens");
        let mut pages = BTreeSet::new();
        let filter = PageFilter::default();
        let listed = view.pages(&filter, |page| {
            if matches!(page.record.outcome, Outcome::Answer(_)) {
                let url = format!("{}{}", page.origin, page.record.path);
                pages.insert(self.lab.fold(&url));
            }
            true
        });
        listed.expect("pages are listed");
        pages
    }

    /// Waits until every page is recorded.
    async fn finish(&mut self) {
        let begun = Instant::now();
        loop {
            self.wait(Duration::from_secs(1)).await;
            let (expected, recorded) = (self.expected(), self.recorded());
            let missing: Vec<_> = expected.difference(&recorded).collect();
            if missing.is_empty() {
                return;
            }
            assert!(
                begun.elapsed() < Duration::from_secs(self.trial.limit),
                "{} of {} pages are missing, such as {:?}; {}",
                missing.len(),
                expected.len(),
                &missing[..missing.len().min(5)],
                self.nodes.report(),
            );
        }
    }

    fn report(&self) -> String {
        let requests = self.lab.count();
        let crashes = self.crashes;
        let nodes = self.nodes.report();
        format!("{requests} requests; the database was killed {crashes} times; {nodes}")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_and_stopped_nodes_keep_every_pause_and_lose_no_page() {
    let mut court = Court::open(Trial::new(), "").await;
    court.disturb().await;
    court.finish().await;
    println!("{}", court.report());
    assert_eq!(court.violations(), [], "{}", court.report());
}

/// A node goes on while the database is away, and is killed before the database is back. The pages that it fetched meanwhile
/// are recorded by the next process, so few of them are fetched again.
#[tokio::test(flavor = "multi_thread")]
async fn pages_of_an_outage_survive_a_kill() {
    let trial = Trial {
        nodes: 1,
        sites: 15,
        smallest: 35,
        ..Trial::new()
    };
    let mut court = Court::open(trial, "").await;
    court.lab.wait_for_requests(60).await;
    court.database.crash();
    let crashed = Instant::now();
    // The node sends requests until its deadline. Then nothing happens any more.
    court.wait(TTL + Duration::from_secs(1)).await;
    let fetched = court.lab.log_since(crashed);
    court.nodes.kill(0);
    court.database.restart().expect("PostgreSQL starts again");
    court.finish().await;
    assert_eq!(court.violations(), [], "{}", court.report());

    let pages = fetched
        .iter()
        .filter(|request| request.path != "/robots.txt");
    let pages: BTreeSet<_> = pages
        .map(|request| (&request.host, &request.path))
        .collect();
    let later = court.lab.log();
    let again = later.iter().filter(|request| {
        request.started > crashed && pages.contains(&(&request.host, &request.path))
    });
    let again = again.count() - pages.len();
    println!("{} pages in the outage, {again} again", pages.len());
    assert!(pages.len() > 40, "{} pages", pages.len());
    assert!(again * 3 < pages.len(), "{again} of {} again", pages.len());
}

/// The judge is able to find violations: without the fence there are some.
#[tokio::test(flavor = "multi_thread")]
async fn nodes_without_a_fence_break_the_pause() {
    // Sites that are still visited when a stopped node continues.
    let trial = Trial {
        smallest: 200,
        ..Trial::new()
    };
    let mut court = Court::open(trial, "fence=off:").await;
    court.stop_nodes().await;
    println!("{}", court.report());
    assert!(!court.violations().is_empty(), "{}", court.report());
}

/// Not a test by itself: the process of a node.
#[test]
fn node_process() {
    process::run_if_asked();
}
