//! Load test of check-out and check-in, on a synthetic web of sites with skewed popularity, without fetching.
//!
//! ```text
//! cargo run --release -p aranha-frontier --example load -- [--check] FOLDER [MILLIONS [SITES [GROUP]]]
//! cargo run --release -p aranha-frontier --example load -- --site FOLDER [MILLIONS]
//! cargo run --release -p aranha-frontier --example load -- --postgres [--check] ADDRESS [MILLIONS [SITES [GROUP [CLIENTS]]]]
//! ```
//!
//! Each check-in has 30 page records and 60 links to other sites. A transaction has GROUP check-ins, and is followed by
//! up to 20 ms of tidying, as in the engine. The program prints a line for every ten million links, or for every
//! million links if MILLIONS is at most ten:
//!
//! - `links/s`, `records/s`: links and records per second of wall-clock time spent in calls. They depend on the load of
//!   the machine;
//! - `own/s`: links per second. Time in which this thread waited for a processor (`schedstat`) is not counted; time
//!   in which it waited for the disk is. The check uses this rate;
//! - `cpu us`: microseconds of processor time in calls, per link; `disk us`: microseconds per link in which calls
//!   waited for the disk;
//! - `merge us`: microseconds of processor time in merge threads, per link;
//! - memory, bytes on disk, bytes on disk per URL, bytes that the system sent to the disk per URL, number of link runs,
//!   the longest call. Here a URL is a known page or a link that was sent to an inbox.
//!
//! At the end, the program prints two ratios. The numerator of both is the mean `own/s` of the last tenth of the lines. The
//! first divides it by `own/s` of the first line, the second by the higher `own/s` of the first two lines, because the
//! first line includes the cost of new sites. With `--check` the exit status is 1 if the second ratio is below 0.8 or memory
//! exceeded 1 GiB.
//!
//! With `--postgres`, CLIENTS nodes share the links and the frontier at ADDRESS (`clients.rs`).
//!
//! With `--site`, the program measures check-outs of one site with MILLIONS million URLs.

mod clients;

use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};

use aranha_frontier::{
    CheckIn, Embedded, Flags, Frontier, FrontierError, FrontierStatus, Hop, Lease, Location,
    Options, Outcome, Outside, PageRecord, Pending, Seed, Then, WindowUpdate,
};
use aranha_url::{PathKey, SiteKey};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Page records per check-in.
const PAGES: usize = 30;
/// Links to other sites per check-in.
const LINKS: usize = 60;
/// Concurrent visits.
const VISITS: usize = 512;
/// Number of check-ins of a visit before it releases the site.
const QUANTUM: u32 = 4;

/// Random numbers (xorshift64*). Every execution of the program generates the same numbers.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `limit`; small numbers are much more frequent.
    fn skewed(&mut self, limit: u64) -> u64 {
        let unit = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        (unit.powi(3) * limit as f64) as u64
    }
}

struct LoadVisit {
    lease: Lease,
    queue: VecDeque<Pending>,
    /// Number of pages at the front of the queue that the frontier has stored.
    stored: usize,
    check_ins: u32,
    next_page: u64,
}

/// Minimum ratio of the mean rate of the last lines to the higher rate of the first two lines.
const MIN_RATE_RATIO: f64 = 0.8;
const MAX_MEMORY: u64 = 1 << 30;

/// Processor and waiting times of this thread.
#[derive(Clone, Copy, Default)]
struct Times {
    wall: Duration,
    processor: Duration,
    /// Time in which this thread was ready to run, but other processes had the processor.
    queued: Duration,
}

impl Times {
    fn now(begun: Instant) -> Times {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        let mut numbers = text.split_whitespace().map_while(|text| text.parse().ok());
        Times {
            processor: Duration::from_nanos(numbers.next().unwrap_or(0)),
            queued: Duration::from_nanos(numbers.next().unwrap_or(0)),
            wall: begun.elapsed(),
        }
    }

    fn add(&mut self, from: Times, to: Times) {
        self.wall += to.wall.saturating_sub(from.wall);
        self.processor += to.processor.saturating_sub(from.processor);
        self.queued += to.queued.saturating_sub(from.queued);
    }

    /// Wall-clock time without the time that other processes took, in seconds.
    fn own(&self) -> f64 {
        self.wall.saturating_sub(self.queued).as_secs_f64()
    }
}

/// Measures the time spent in calls of the frontier.
struct Clock {
    begun: Instant,
    spent: Times,
    longest: Duration,
    longest_call: &'static str,
}

impl Clock {
    fn time<T>(&mut self, name: &'static str, call: impl FnOnce() -> T) -> T {
        let before = Times::now(self.begun);
        let result = call();
        let after = Times::now(self.begun);
        self.spent.add(before, after);
        let took = after.wall.saturating_sub(before.wall);
        if took > self.longest {
            self.longest = took;
            self.longest_call = name;
        }
        result
    }
}

/// Bytes that the system has sent to the disk for this process.
fn bytes_written() -> u64 {
    let text = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    text.lines()
        .find_map(|line| line.strip_prefix("write_bytes: ")?.parse().ok())
        .unwrap_or(0)
}

/// Processor time of all threads of this process except the calling one.
fn other_threads() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The fields are counted from the end of the program name, because the name may contain spaces. The 12th and 13th
    // fields are user and system time in hundredths of a second.
    let rest = text.rsplit(')').next().unwrap_or_default();
    let ticks = rest.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    let whole = Duration::from_millis(10 * ticks);
    whole.saturating_sub(Times::now(Instant::now()).processor)
}

fn site_name(number: u64) -> String {
    format!("site-{number}.{}.example", number % 97)
}

fn outside(random: &mut Random, sites: u64, via: &str) -> Outside {
    let number = random.skewed(sites);
    let site = site_name(number);
    let path = format!(
        "/articles/{}/item-{}.html",
        random.next() % 20,
        random.skewed(4000)
    );
    Outside {
        origin: format!("https://www.{site}"),
        site_key: SiteKey::of(&site),
        path_key: PathKey::of(&path),
        site,
        path,
        depth: 3,
        hop: Hop::Link,
        via: via.to_owned(),
    }
}

fn inside(visit: &mut LoadVisit, random: &mut Random) -> Pending {
    visit.next_page += 1;
    let path = format!(
        "/section/{}/page-{}.html",
        random.next() % 10,
        visit.next_page
    );
    Pending {
        key: PathKey::of(&path),
        path,
        depth: 4,
        site_depth: 2,
        tries: 0,
        hop: Hop::Link,
        via: format!("{}/section/", visit.lease.facts.origin),
        past: None,
    }
}

fn record(page: &Pending, now: i64, random: &mut Random) -> PageRecord {
    let mut digest = [0; 20];
    for part in digest.chunks_mut(8) {
        part.copy_from_slice(&random.next().to_le_bytes()[..part.len()]);
    }
    PageRecord {
        path: page.path.clone(),
        key: page.key,
        depth: page.depth,
        site_depth: page.site_depth,
        time: now,
        outcome: Outcome::Answer(if random.next().is_multiple_of(20) {
            404
        } else {
            200
        }),
        media_type: "text/html".into(),
        size: random.next() % 60_000,
        digest: Some(digest),
        text_digest: random.next(),
        language: None,
        location: Some(Location {
            volume: 12.into(),
            offset: random.next() % (1 << 30),
            length: (random.next() % 20_000) as u32,
        }),
        revisit: false,
        duration_ms: (random.next() % 900) as u32,
        tries: 0,
        hop: page.hop,
        via: page.via.clone(),
        redirect: None,
        flags: Flags::default(),
        next: None,
        past: None,
    }
}

/// A check-in of a visit: 30 page records, 10 new pages of the site, 60 links to other sites.
fn check_in(
    visit: &mut LoadVisit,
    now: i64,
    sites: u64,
    window: usize,
    random: &mut Random,
) -> CheckIn {
    let mut keys = Vec::new();
    let mut done = Vec::with_capacity(PAGES);
    for _ in 0..PAGES {
        let page = visit.queue.pop_front().unwrap_or_else(|| {
            let page = inside(visit, random);
            keys.push(page.key);
            page
        });
        visit.stored = visit.stored.saturating_sub(1);
        done.push(record(&page, now, random));
    }
    let mut overflow = Vec::new();
    for _ in 0..10 {
        let page = inside(visit, random);
        keys.push(page.key);
        if visit.queue.len() < window {
            visit.queue.push_back(page);
        } else {
            overflow.push(page);
        }
    }
    let via = format!("{}{}", visit.lease.facts.origin, done[0].path);
    let outside = (0..LINKS).map(|_| outside(random, sites, &via)).collect();
    visit.check_ins += 1;
    let update = WindowUpdate::Tail {
        keep_last: visit.stored,
        append: visit.queue.range(visit.stored..).cloned().collect(),
    };
    visit.stored = visit.queue.len();
    CheckIn {
        lease: visit.lease.id,
        done,
        window: update,
        later: Vec::new(),
        claims: Vec::new(),
        overflow,
        keys,
        outside,
        facts: None,
        then: if visit.check_ins >= QUANTUM {
            Then::Release { due: now + 2000 }
        } else {
            Then::Keep {
                want: window.saturating_sub(visit.queue.len()),
            }
        },
    }
}

fn begin(lease: Lease) -> LoadVisit {
    LoadVisit {
        queue: lease.pending.iter().cloned().collect(),
        stored: lease.pending.len(),
        next_page: lease.known.len() as u64 * 1000,
        check_ins: 0,
        lease,
    }
}

/// Resident memory in bytes.
fn memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = text
        .split_whitespace()
        .nth(1)
        .and_then(|number| number.parse().ok())
        .unwrap_or(0);
    pages * 4096
}

/// Measurements of one line of the output.
struct Line {
    links: f64,
    /// Processor time in seconds.
    processor: f64,
    /// Time spent waiting for the disk, in seconds.
    waited: f64,
    memory: u64,
}

impl Line {
    /// Links per second of the time that the calls took, not counting the time that other processes took.
    fn own(&self) -> f64 {
        self.links / (self.processor + self.waited)
    }
}

/// The visits of one node.
struct Load {
    visits: VecDeque<LoadVisit>,
    random: Random,
    clock: Clock,
    sites: u64,
    /// Check-ins per transaction.
    group: usize,
    window: usize,
}

impl Load {
    /// Sends the seeds. Every client has its own random numbers.
    fn begin(
        frontier: &mut dyn Frontier,
        sites: u64,
        group: usize,
        client: u64,
    ) -> Result<Load, FrontierError> {
        let seeds: Vec<Seed> = (0..2000)
            .map(|number| {
                let site = site_name(number * 31 % sites);
                Seed {
                    origin: format!("https://www.{site}"),
                    site_key: SiteKey::of(&site),
                    path_key: PathKey::of("/"),
                    path: "/".into(),
                    site,
                }
            })
            .collect();
        frontier.seed(0, &seeds)?;
        Ok(Load {
            visits: VecDeque::new(),
            random: Random(0x5eed + client),
            clock: Clock {
                begun: Instant::now(),
                spent: Times::default(),
                longest: Duration::ZERO,
                longest_call: "",
            },
            sites,
            group,
            window: Options::default().window,
        })
    }

    /// Checks out sites, checks in one group, and tidies. Returns the number of links of the group.
    fn step(&mut self, frontier: &mut dyn Frontier, now: i64) -> Result<u64, FrontierError> {
        let (visits, clock) = (&mut self.visits, &mut self.clock);
        if visits.len() < VISITS {
            let room = VISITS - visits.len();
            let leases = clock.time("check_out", || frontier.check_out(now, room))?;
            visits.extend(leases.into_iter().map(begin));
        }
        let mut taken: Vec<LoadVisit> = visits.drain(..self.group.min(visits.len())).collect();
        let batch: Vec<CheckIn> = taken
            .iter_mut()
            .map(|visit| check_in(visit, now, self.sites, self.window, &mut self.random))
            .collect();
        let links = (batch.len() * LINKS) as u64;
        let replies = clock.time("check_in", || frontier.check_in(now, batch))?;
        for (mut visit, reply) in taken.into_iter().zip(replies) {
            let reply = reply.expect("no lease expires");
            if !reply.released {
                visit.queue.extend(reply.more);
                visit.stored = visit.queue.len();
                visits.push_back(visit);
            }
        }
        clock.time("tidy", || frontier.tidy(now, Duration::from_millis(20)))?;
        Ok(links)
    }
}

fn run(
    frontier: &mut dyn Frontier,
    target: u64,
    sites: u64,
    group: usize,
) -> Result<Vec<Line>, FrontierError> {
    let mut load = Load::begin(frontier, sites, group, 0)?;
    let (mut now, mut links, mut shown) = (0i64, 0u64, 0u64);
    let step = if target > 10 { 10 } else { 1 };
    let mut lines = Vec::new();
    let mut before = (frontier.status(0)?, bytes_written(), other_threads());
    println!(
        "links M  pages M  records M  sites M  links/s  records/s   own/s  cpu us   merge us  disk us  MB mem  GB disk  B/URL  \
         written  runs  longest ms"
    );
    while links < target * 1_000_000 {
        now += 20;
        links += load.step(frontier, now)?;
        if links / (step * 1_000_000) > shown {
            shown = links / (step * 1_000_000);
            let status = frontier.status(now)?;
            let spent = std::mem::take(&mut load.clock.spent);
            let count = (status.links - before.0.links) as f64;
            let records = (status.records - before.0.records) as f64;
            let urls = |status: &FrontierStatus| (status.links_sent + status.pages.known) as f64;
            let (sent, others) = (bytes_written(), other_threads());
            let processor = spent.processor.as_secs_f64();
            lines.push(Line {
                links: count,
                processor,
                waited: (spent.own() - processor).max(0.0),
                memory: memory(),
            });
            let line = &lines[lines.len() - 1];
            println!(
                "{:7.1}  {:7.1}  {:9.1}  {:7.2}  {:7.0}  {:9.0}  {:6.0}  {:6.2}  {:9.2}  {:7.2}  {:6.0}  {:7.2}  {:5.0}  {:7.0}  {:4}  {:.0} {}",
                links as f64 / 1e6,
                status.pages.known as f64 / 1e6,
                status.records as f64 / 1e6,
                status.sites.known as f64 / 1e6,
                count / spent.wall.as_secs_f64(),
                records / spent.wall.as_secs_f64(),
                line.own(),
                line.processor * 1e6 / count,
                others.saturating_sub(before.2).as_secs_f64() * 1e6 / count,
                line.waited * 1e6 / count,
                line.memory as f64 / 1e6,
                status.disk as f64 / 1e9,
                status.disk as f64 / urls(&status),
                (sent - before.1) as f64 / (urls(&status) - urls(&before.0)),
                status.runs,
                load.clock.longest.as_secs_f64() * 1e3,
                load.clock.longest_call,
            );
            before = (status, sent, others);
            load.clock.longest = Duration::ZERO;
        }
    }
    Ok(lines)
}

/// Print the summary. Returns false if the rate fell too much or memory grew too much.
fn summarise(lines: &[Line]) -> bool {
    let tenth = (lines.len() / 10).max(1);
    let last = lines.iter().rev().take(tenth).map(Line::own).sum::<f64>() / tenth as f64;
    let first = lines.first().map_or(f64::INFINITY, Line::own);
    let better = lines.iter().take(2).map(Line::own).fold(0.0, f64::max);
    let memory = lines.iter().map(|line| line.memory).max().unwrap_or(0);
    println!(
        "last {last:.0} links/s, {:.2} times the first line, {:.2} times the better of the first two lines; maximum memory {:.0} MB",
        last / first,
        last / better,
        memory as f64 / 1e6
    );
    last / better >= MIN_RATE_RATIO && memory <= MAX_MEMORY
}

/// Measure three check-outs of one site with `count` URLs: with all URLs in the inbox, with all pages in the queue, and
/// with ten more links in the inbox.
fn one_site(folder: &Path, count: u64) -> Result<(), FrontierError> {
    let mut frontier = Embedded::open(folder, Options::default())?;
    let mut random = Random(0x5eed);
    let site = site_name(1);
    let seeds = [Seed {
        origin: format!("https://www.{site}"),
        site_key: SiteKey::of(&site),
        path_key: PathKey::of("/"),
        path: "/".into(),
        site,
    }];
    frontier.seed(0, &seeds)?;
    let mut sent = 0;
    let mut now = 0;
    let show = |name: &str, took: Duration, lease: &Lease| {
        println!(
            "{name}: {:.1} ms, {} keys, {} pages in the window, {:.0} MB of memory",
            took.as_secs_f64() * 1e3,
            lease.known.len(),
            lease.pending.len(),
            memory() as f64 / 1e6
        );
    };
    for (name, links) in [
        ("links in the inbox", count),
        ("pages in the queue", 0),
        ("ten more links", 10),
    ] {
        while sent < links {
            now += 60_000;
            let leases = frontier.check_out(now, 1)?;
            let mut visit = begin(leases.into_iter().next().expect("the seed is due"));
            let mut entry = check_in(&mut visit, now, 1_000_000, 256, &mut random);
            entry.then = Then::Release { due: now };
            for _ in 0..10_000.min(links - sent) {
                sent += 1;
                let mut link = outside(&mut random, 1_000_000, "https://www.example.org/");
                link.site = "large.example".into();
                link.origin = "https://large.example".into();
                link.site_key = SiteKey::of(&link.site);
                link.path = format!("/{links}/{sent}.html");
                link.path_key = PathKey::of(&link.path);
                entry.outside.push(link);
            }
            frontier.check_in(now, vec![entry])?;
        }
        sent = 0;
        frontier.flush(now)?;
        while frontier.tidy(now, Duration::MAX)? {}
        loop {
            now += 60_000;
            let begun = Instant::now();
            let lease = frontier.check_out(now, 1)?.pop();
            let took = begun.elapsed();
            let lease = lease.expect("a site is due");
            let is_large = lease.site == "large.example";
            if is_large {
                show(name, took, &lease);
            }
            // Only the large site becomes due again.
            let due = if is_large { now } else { i64::MAX };
            let mut visit = begin(lease);
            let mut entry = check_in(&mut visit, now, 1_000_000, 256, &mut random);
            entry.outside.clear();
            entry.then = Then::Release { due };
            frontier.check_in(now, vec![entry])?;
            if is_large {
                break;
            }
        }
        frontier.make_due(now, &seeds)?;
    }
    Ok(())
}

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut flag = |name: &str| {
        let all = arguments.len();
        arguments.retain(|argument| argument != name);
        arguments.len() < all
    };
    let (check, site, postgres) = (flag("--check"), flag("--site"), flag("--postgres"));
    let number = |index: usize, default: u64| {
        arguments
            .get(index)
            .and_then(|text| text.parse().ok())
            .unwrap_or(default)
    };
    let Some(folder) = arguments.first() else {
        eprintln!("usage: load [--check|--site] FOLDER [MILLIONS OF LINKS [SITES [GROUP]]]");
        std::process::exit(2);
    };
    if !postgres && let Err(error) = std::fs::create_dir_all(folder) {
        eprintln!("error: cannot create {folder}: {error}");
        std::process::exit(1);
    }
    if site {
        if let Err(error) = one_site(Path::new(folder), number(1, 1) * 1_000_000) {
            eprintln!("{error}");
            std::process::exit(1);
        }
        return;
    }
    let (target, sites, group) = (number(1, 10), number(2, 1_000_000), number(3, 64) as usize);
    if postgres {
        let is_good = clients::run(folder, target, sites, group, number(4, 2));
        if !is_good.unwrap_or_else(|error| {
            eprintln!("{error}");
            std::process::exit(1);
        }) && check
        {
            std::process::exit(1);
        }
        return;
    }
    let result = Embedded::open(Path::new(folder), Options::default())
        .and_then(|mut frontier| run(&mut frontier, target, sites, group));
    match result {
        Ok(lines) => {
            if !summarise(&lines) && check {
                std::process::exit(1);
            }
        }
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    }
}
