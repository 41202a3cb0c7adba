//! The load on PostgreSQL: several nodes in one process, each with a thread and its connections.
//!
//! Unlike the SQLite form, time is real, so that links are sorted in threads, as in a crawl. The program prints a line for
//! every ten million links of all nodes together, or for every million links if MILLIONS is at most ten:
//!
//! - `links/s`: links per second of wall-clock time. It depends on the load of the machine;
//! - `pg us`: microseconds of processor time of the processes of PostgreSQL, per link (only if the server is on this
//!   machine); `cpu us`: the same for this process, which includes the generation of the links;
//! - `WAL/link`: bytes of write-ahead log per link;
//! - memory of this process, bytes on disk, bytes on disk per URL, number of link runs, links that are not sorted yet, and
//!   the longest call of any node.
//!
//! At the end, the program prints the mean rate, and the rate of the last fifth of the lines divided by that of the first two
//! fifths. With `--check` the exit status is 1 if the mean rate is below 150,000 links/s or the ratio is below 0.8.

use std::error::Error;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use aranha_frontier::{Frontier as _, FrontierError, NodeSettings, Options, Postgres};
use tokio_postgres::NoTls;

use super::{Load, MIN_RATE_RATIO, memory};

/// Minimum mean rate in links per second.
const MIN_RATE: f64 = 150_000.0;

/// What the clients have done.
struct Progress {
    links: AtomicU64,
    /// The longest call since the last line.
    longest: Mutex<(Duration, &'static str)>,
}

/// Runs the clients. Returns whether the rate is high enough and did not fall.
pub(crate) fn run(
    address: &str,
    target: u64,
    sites: u64,
    group: usize,
    clients: u64,
) -> Result<bool, Box<dyn Error>> {
    let step = if target > 10 { 10 } else { 1 } * 1_000_000;
    let observer = Postgres::open(address, Options::default(), NodeSettings::default())?;
    let mut server = Server::connect(address)?;
    let progress = Progress {
        links: AtomicU64::new(0),
        longest: Mutex::default(),
    };
    let mut rates = Vec::new();
    let begun = Instant::now();
    println!(
        "links M  pages M  sites M  links/s  pg us  cpu us  WAL/link  MB mem  GB disk  B/URL  runs  unsorted M  longest ms"
    );
    std::thread::scope(|scope| {
        let (passed, steps) = channel();
        for client in 0..clients {
            let (progress, passed) = (&progress, passed.clone());
            let target = target * 1_000_000;
            scope.spawn(move || {
                let work = Client {
                    progress,
                    passed,
                    step,
                };
                if let Err(error) = work.run(address, target, sites, group, client) {
                    eprintln!("{error}");
                }
            });
        }
        drop(passed);
        let mut before = (0, begun, server.times()?, own_time());
        for at in steps {
            let links = progress.links.load(Relaxed);
            let status = observer.status(0)?;
            let now = (links, at, server.times()?, own_time());
            let count = (links - before.0) as f64;
            rates.push(count / (at - before.1).as_secs_f64());
            let longest = progress
                .longest
                .lock()
                .map(|mut longest| std::mem::take(&mut *longest));
            let (longest, call) = longest.unwrap_or_default();
            let urls = (status.links_sent + status.pages.known) as f64;
            println!(
                "{:7.1}  {:7.1}  {:7.2}  {:7.0}  {:5.2}  {:6.2}  {:8.0}  {:6.0}  {:7.2}  {:5.0}  {:4}  {:10.2}  {:.0} {call}",
                links as f64 / 1e6,
                status.pages.known as f64 / 1e6,
                status.sites.known as f64 / 1e6,
                rates[rates.len() - 1],
                (now.2.processor - before.2.processor) * 1e6 / count,
                (now.3 - before.3) * 1e6 / count,
                (now.2.log - before.2.log) / count,
                memory() as f64 / 1e6,
                status.disk as f64 / 1e9,
                status.disk as f64 / urls,
                status.runs,
                status.links_gathered as f64 / 1e6,
                longest.as_secs_f64() * 1e3,
            );
            before = now;
        }
        Ok::<_, Box<dyn Error>>(())
    })?;
    let mean = |rates: &[f64]| {
        // Each line has the same number of links, so the mean is harmonic.
        rates.len() as f64 / rates.iter().map(|rate| 1.0 / rate).sum::<f64>()
    };
    let fifth = (rates.len() / 5).max(1);
    let ratio = mean(&rates[rates.len().saturating_sub(fifth)..])
        / mean(&rates[..(2 * fifth).min(rates.len())]);
    let rate = mean(&rates);
    println!(
        "{clients} clients: {rate:.0} links/s on average; the last fifth of the lines {ratio:.2} times the first two; maximum memory {:.0} MB",
        peak_memory() as f64 / 1e6
    );
    Ok(rate >= MIN_RATE && ratio >= MIN_RATE_RATIO)
}

/// A node that makes a share of the load.
struct Client<'a> {
    progress: &'a Progress,
    /// Gets the time whenever the clients together have made another `step` links.
    passed: Sender<Instant>,
    step: u64,
}

impl Client<'_> {
    fn run(
        self,
        address: &str,
        target: u64,
        sites: u64,
        group: usize,
        client: u64,
    ) -> Result<(), FrontierError> {
        let settings = NodeSettings {
            node: format!("client {client}"),
            ..NodeSettings::default()
        };
        let mut frontier = Postgres::open(address, Options::default(), settings)?;
        let mut load = Load::begin(&mut frontier, sites, group, client)?;
        loop {
            let now = load.clock.begun.elapsed().as_millis() as i64;
            let links = load.step(&mut frontier, now)?;
            if let Ok(mut longest) = self.progress.longest.lock() {
                *longest = (*longest).max((load.clock.longest, load.clock.longest_call));
            }
            load.clock.longest = Duration::ZERO;
            let before = self.progress.links.fetch_add(links, Relaxed);
            if (before + links) / self.step > before / self.step {
                // The receiver is gone only after an error.
                let _ = self.passed.send(Instant::now());
            }
            if before + links >= target {
                return Ok(());
            }
        }
    }
}

/// The counters of the server.
#[derive(Clone, Copy)]
struct ServerTimes {
    /// Processor time of its processes in seconds; 0 if they are on another machine.
    processor: f64,
    /// Bytes of write-ahead log.
    log: f64,
}

/// A connection that reads the counters.
struct Server {
    runtime: tokio::runtime::Runtime,
    client: tokio_postgres::Client,
    /// The first process of the server.
    postmaster: Option<u32>,
}

impl Server {
    fn connect(address: &str) -> Result<Server, Box<dyn Error>> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        // The driver knows no `schema`.
        let (address, _) = address.split_once('?').unwrap_or((address, ""));
        let (client, connection) = runtime.block_on(tokio_postgres::connect(address, NoTls))?;
        runtime.spawn(connection);
        let backend: i32 = runtime
            .block_on(client.query_one("SELECT pg_backend_pid()", &[]))?
            .get(0);
        let is_postgres = std::fs::read_to_string(format!("/proc/{backend}/comm"));
        let is_here = is_postgres.is_ok_and(|name| name.starts_with("postgres"));
        let postmaster = is_here.then(|| process(backend as u32)).flatten();
        Ok(Server {
            runtime,
            client,
            postmaster: postmaster.map(|process| process.parent),
        })
    }

    fn times(&mut self) -> Result<ServerTimes, Box<dyn Error>> {
        let sql = "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8";
        let log = self
            .runtime
            .block_on(self.client.query_one(sql, &[]))?
            .get(0);
        let mut processor = 0.0;
        if let Some(postmaster) = self.postmaster {
            for entry in std::fs::read_dir("/proc")? {
                let number = entry?
                    .file_name()
                    .to_str()
                    .and_then(|name| name.parse().ok());
                let Some(process) = number.and_then(process) else {
                    continue;
                };
                if number == Some(postmaster) {
                    processor += process.own + process.ended;
                } else if process.parent == postmaster {
                    processor += process.own;
                }
            }
        }
        Ok(ServerTimes { processor, log })
    }
}

/// A process: its parent, its processor time, and that of its children that have ended, in seconds.
struct Process {
    parent: u32,
    own: f64,
    ended: f64,
}

fn process(number: u32) -> Option<Process> {
    let text = std::fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    // The fields are counted from the end of the name, because the name may contain spaces. Times are in hundredths of
    // a second.
    let fields: Vec<u64> = text
        .rsplit(')')
        .next()?
        .split_whitespace()
        .skip(1)
        .map_while(|field| field.parse::<i64>().ok())
        .map(|number| number as u64)
        .collect();
    let seconds = |from: usize| Some((fields.get(from)? + fields.get(from + 1)?) as f64 / 100.0);
    Some(Process {
        parent: *fields.first()? as u32,
        own: seconds(10)?,
        ended: seconds(12)?,
    })
}

/// Processor time of this process in seconds.
fn own_time() -> f64 {
    process(std::process::id()).map_or(0.0, |process| process.own)
}

/// The highest resident memory of this process so far, in bytes.
fn peak_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    1024 * kilobytes.unwrap_or(0)
}
