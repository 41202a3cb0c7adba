//! The process of a node: this test binary, started again with its orders in the environment.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aranha_engine::{Collection, Config, Node, Stop, World};
use aranha_frontier::{NodeSettings, Postgres};
use aranha_url::Reach;

use crate::{PAUSE, TTL};

const ORDERS: &str = "ARANHA_TEST_NODE";

/// What a node process needs.
#[derive(Clone, Debug)]
pub(crate) struct Orders {
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    pub(crate) database: String,
    pub(crate) resolver: SocketAddr,
    /// Hours by which the clock of the node is wrong.
    pub(crate) skew: i64,
    pub(crate) faults: &'static str,
}

impl Orders {
    /// The command that starts the process. Its messages go to a file.
    pub(crate) fn command(&self) -> Command {
        let log = std::fs::File::options()
            .create(true)
            .append(true)
            .open(self.folder.with_extension("log"))
            .expect("the file opens");
        let mut command = Command::new(std::env::current_exe().expect("a path"));
        let orders = [
            self.name.clone(),
            self.folder.display().to_string(),
            self.database.clone(),
            self.resolver.to_string(),
            self.skew.to_string(),
        ];
        command
            .args(["--exact", "node_process", "--nocapture"])
            .env(ORDERS, orders.join("\n"))
            .env("ARANHA_INJECT_FAULTS", self.faults)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("the file is shared"))
            .stderr(log);
        command
    }

    fn parse(text: &str) -> Orders {
        let mut lines = text.lines();
        let mut next = || lines.next().expect("a line for each order").to_owned();
        Orders {
            name: next(),
            folder: next().into(),
            database: next(),
            resolver: next().parse().expect("an address"),
            skew: next().parse().expect("a number"),
            faults: "",
        }
    }
}

/// Crawls until nothing is left to do, if this process is a node.
pub(crate) fn run_if_asked() {
    let Ok(text) = std::env::var(ORDERS) else {
        return;
    };
    let orders = Orders::parse(&text);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(crawl(&orders));
}

fn config(resolver: SocketAddr) -> Config {
    let mut config = Config::default();
    config.crawl.scope = Reach::Any;
    config.crawl.pause = PAUSE;
    config.crawl.pause_factor = 0.0;
    config.crawl.max_pause = PAUSE;
    config.crawl.check_in_interval = Duration::from_millis(200);
    config.crawl.idle_wait = Duration::from_secs(20);
    config.crawl.sites = 16;
    "test@localhost".clone_into(&mut config.crawl.contact);
    config.crawl.refuse_tld_wildcards = false;
    config.fetch.resolvers = vec![resolver];
    config.fetch.allow_private = true;
    config
}

async fn crawl(orders: &Orders) {
    let collection = Collection::at(&orders.folder);
    let resumed = Path::new(&orders.folder).exists();
    collection.create().expect("the folder is created");
    let config = config(orders.resolver);
    let settings = NodeSettings {
        node: orders.name.clone(),
        ttl: TTL,
        pause: 3 * PAUSE,
        ..NodeSettings::default()
    };
    let frontier = Postgres::open(&orders.database, config.frontier.clone(), settings);
    let frontier = Box::new(frontier.expect("the frontier opens"));
    let system = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = system.expect("after 1970").as_millis() as i64 + orders.skew * 3_600_000;
    let world = World::real_at(now);
    let node = Node::open_in(&world, &collection, config, frontier, resumed, Stop::new());
    let summary = node.expect("the node opens").run().await;
    println!("ended: {:?}", summary.map(|summary| summary.reason));
}
