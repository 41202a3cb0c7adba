//! Load on the real check-out/check-in path: a web of skewed sites, without fetching.
//!
//! ```text
//! cargo run --release -p aranha-frontier --example load -- [--check] FOLDER [MILLIONS [SITES [GROUP]]]
//! cargo run --release -p aranha-frontier --example load -- --site FOLDER [MILLIONS]
//! ```
//!
//! Each check-in brings about 30 page records and 60 links to other sites; GROUP check-ins are one group commit, then the
//! frontier may tidy for a moment, as the engine lets it. A line for every ten million links (every million up to ten):
//!
//! - `links/s`, `records/s`: by the clock, of the time spent in calls; what others did to the machine is in it;
//! - `own/s`: links by the same time less the time that this thread was ready to run and others had the processor
//!   (`schedstat`); waiting for the disk is in it. Flatness is judged by this;
//! - `cpu us`, `disk us`: processor time a link, in calls, and the rest of the time in calls, which is waiting for the disk;
//! - `beside us`: processor time a link of the threads beside this one, which merge;
//! - memory, bytes on disk, bytes written a link or page (what the system sent to the disk), runs, the longest call.
//!
//! At the end our own rate over the last tenth, by that of the first line, and by the better of the first two, because the first
//! pays for sites that are new. With `--check` the exit status is 1 when the latter is below 0.8, or memory was above 1 GiB.
//!
//! With `--site`: one site with so many millions of URLs, and what its check-outs cost.

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

const PAGES: usize = 30;
const LINKS: usize = 60;
/// Visits at once.
const VISITS: usize = 512;
/// Check-ins a visit makes before it gives the site back.
const QUANTUM: u32 = 4;

/// xorshift64*: the same web on every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Below `limit`, small numbers far more often than large ones.
    fn skewed(&mut self, limit: u64) -> u64 {
        let unit = (self.roll() >> 11) as f64 / (1u64 << 53) as f64;
        (unit.powi(3) * limit as f64) as u64
    }
}

struct Visit {
    lease: Lease,
    queue: VecDeque<Pending>,
    /// How many of its first pages the frontier knows to be there.
    told: usize,
    made: u32,
    next_page: u64,
}

/// The least that the last line's rate may be of the better of the first two.
const FLAT: f64 = 0.8;
const MOST_MEMORY: u64 = 1 << 30;

/// What this thread has used so far.
#[derive(Clone, Copy, Default)]
struct Times {
    wall: Duration,
    processor: Duration,
    /// Ready to run while others had the processor.
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

    /// Without what others took.
    fn own(&self) -> f64 {
        self.wall.saturating_sub(self.queued).as_secs_f64()
    }
}

/// Time spent in the frontier.
struct Clock {
    begun: Instant,
    spent: Times,
    longest: Duration,
    longest_call: &'static str,
}

impl Clock {
    fn time<T>(&mut self, name: &'static str, call: impl FnOnce() -> T) -> T {
        let before = Times::now(self.begun);
        let answer = call();
        let after = Times::now(self.begun);
        self.spent.add(before, after);
        let took = after.wall.saturating_sub(before.wall);
        if took > self.longest {
            self.longest = took;
            self.longest_call = name;
        }
        answer
    }
}

/// Bytes that this process had the system send to the disk.
fn sent_to_disk() -> u64 {
    let text = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    text.lines()
        .find_map(|line| line.strip_prefix("write_bytes: ")?.parse().ok())
        .unwrap_or(0)
}

/// Processor time of all other threads so far.
fn beside() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the name, which may hold anything: the twelfth and thirteenth field, in hundredths of a second.
    let rest = text.rsplit(')').next().unwrap_or_default();
    let ticks = rest.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    let whole = Duration::from_millis(10 * ticks);
    whole.saturating_sub(Times::now(Instant::now()).processor)
}

fn site_name(number: u64) -> String {
    format!("site-{number}.{}.example", number % 97)
}

fn outside(dice: &mut Dice, sites: u64, via: &str) -> Outside {
    let number = dice.skewed(sites);
    let site = site_name(number);
    let path = format!(
        "/articles/{}/item-{}.html",
        dice.roll() % 20,
        dice.skewed(4000)
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

fn inside(visit: &mut Visit, dice: &mut Dice) -> Pending {
    visit.next_page += 1;
    let path = format!(
        "/section/{}/page-{}.html",
        dice.roll() % 10,
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

fn record(page: &Pending, now: i64, dice: &mut Dice) -> PageRecord {
    let mut digest = [0; 20];
    for part in digest.chunks_mut(8) {
        part.copy_from_slice(&dice.roll().to_le_bytes()[..part.len()]);
    }
    PageRecord {
        path: page.path.clone(),
        key: page.key,
        depth: page.depth,
        site_depth: page.site_depth,
        time: now,
        outcome: Outcome::Answer(if dice.roll().is_multiple_of(20) {
            404
        } else {
            200
        }),
        media_type: "text/html".into(),
        size: dice.roll() % 60_000,
        digest: Some(digest),
        text_digest: dice.roll(),
        location: Some(Location {
            volume: 12.into(),
            offset: dice.roll() % (1 << 30),
            length: (dice.roll() % 20_000) as u32,
        }),
        revisit: false,
        duration_ms: (dice.roll() % 900) as u32,
        tries: 0,
        hop: page.hop,
        via: page.via.clone(),
        redirect: None,
        flags: Flags::default(),
        next: None,
        past: None,
    }
}

/// What a visit brings: thirty pages, some of them found on the way, ten more for the queue, sixty links outside.
fn check_in(visit: &mut Visit, now: i64, sites: u64, window: usize, dice: &mut Dice) -> CheckIn {
    let mut keys = Vec::new();
    let mut done = Vec::with_capacity(PAGES);
    for _ in 0..PAGES {
        let page = visit.queue.pop_front().unwrap_or_else(|| {
            let page = inside(visit, dice);
            keys.push(page.key);
            page
        });
        visit.told = visit.told.saturating_sub(1);
        done.push(record(&page, now, dice));
    }
    let mut overflow = Vec::new();
    for _ in 0..10 {
        let page = inside(visit, dice);
        keys.push(page.key);
        if visit.queue.len() < window {
            visit.queue.push_back(page);
        } else {
            overflow.push(page);
        }
    }
    let via = format!("{}{}", visit.lease.facts.origin, done[0].path);
    let outside = (0..LINKS).map(|_| outside(dice, sites, &via)).collect();
    visit.made += 1;
    let update = WindowUpdate::Tail {
        keep_last: visit.told,
        append: visit.queue.range(visit.told..).cloned().collect(),
    };
    visit.told = visit.queue.len();
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
        then: if visit.made >= QUANTUM {
            Then::Release { due: now + 2000 }
        } else {
            Then::Keep {
                want: window.saturating_sub(visit.queue.len()),
            }
        },
    }
}

fn begin(lease: Lease) -> Visit {
    Visit {
        queue: lease.pending.iter().cloned().collect(),
        told: lease.pending.len(),
        next_page: lease.known.len() as u64 * 1000,
        made: 0,
        lease,
    }
}

fn memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = text
        .split_whitespace()
        .nth(1)
        .and_then(|number| number.parse().ok())
        .unwrap_or(0);
    pages * 4096
}

/// One line of the table.
struct Line {
    links: f64,
    /// Seconds of the processor, and of waiting for the disk.
    processor: f64,
    waited: f64,
    memory: u64,
}

impl Line {
    /// Links by second of our own.
    fn own(&self) -> f64 {
        self.links / (self.processor + self.waited)
    }
}

fn run(folder: &Path, target: u64, sites: u64, group: usize) -> Result<Vec<Line>, FrontierError> {
    let options = Options::default();
    let window = options.window;
    let mut frontier = Embedded::open(folder, options)?;
    let mut dice = Dice(0x5eed);
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
    let mut visits: VecDeque<Visit> = VecDeque::new();
    let (mut now, mut links, mut shown) = (0i64, 0u64, 0u64);
    let mut clock = Clock {
        begun: Instant::now(),
        spent: Times::default(),
        longest: Duration::ZERO,
        longest_call: "",
    };
    let step = if target > 10 { 10 } else { 1 };
    let mut lines = Vec::new();
    let mut before = (frontier.status(0)?, sent_to_disk(), beside());
    println!(
        "links M  pages M  records M  sites M  links/s  records/s   own/s  cpu us  beside us  disk us  MB mem  GB disk  B/URL  \
         written  runs  longest ms"
    );
    while links < target * 1_000_000 {
        now += 20;
        if visits.len() < VISITS {
            let room = VISITS - visits.len();
            let leases = clock.time("check_out", || frontier.check_out(now, "load", room))?;
            visits.extend(leases.into_iter().map(begin));
        }
        let mut taken: Vec<Visit> = visits.drain(..group.min(visits.len())).collect();
        let batch: Vec<CheckIn> = taken
            .iter_mut()
            .map(|visit| check_in(visit, now, sites, window, &mut dice))
            .collect();
        links += (batch.len() * LINKS) as u64;
        let answers = clock.time("check_in", || frontier.check_in(now, batch))?;
        for (mut visit, answer) in taken.into_iter().zip(answers) {
            let answer = answer.expect("nobody else takes leases");
            if !answer.released {
                visit.queue.extend(answer.more);
                visit.told = visit.queue.len();
                visits.push_back(visit);
            }
        }
        clock.time("tidy", || frontier.tidy(now, Duration::from_millis(20)))?;
        if links / (step * 1_000_000) > shown {
            shown = links / (step * 1_000_000);
            let status = frontier.status(now)?;
            let spent = std::mem::take(&mut clock.spent);
            let count = (status.links - before.0.links) as f64;
            let records = (status.records - before.0.records) as f64;
            let urls = |status: &FrontierStatus| (status.links_sent + status.pages.known) as f64;
            let (sent, others) = (sent_to_disk(), beside());
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
                clock.longest.as_secs_f64() * 1e3,
                clock.longest_call,
            );
            before = (status, sent, others);
            clock.longest = Duration::ZERO;
        }
    }
    Ok(lines)
}

/// What the table shows; false when the cost grew, or memory.
fn judge(lines: &[Line]) -> bool {
    let tenth = (lines.len() / 10).max(1);
    let last = lines.iter().rev().take(tenth).map(Line::own).sum::<f64>() / tenth as f64;
    let first = lines.first().map_or(f64::INFINITY, Line::own);
    let better = lines.iter().take(2).map(Line::own).fold(0.0, f64::max);
    let memory = lines.iter().map(|line| line.memory).max().unwrap_or(0);
    println!(
        "at the end {last:.0} links/s, {:.2} of the first line's, {:.2} of the better of the first two; {:.0} MB of memory at most",
        last / first,
        last / better,
        memory as f64 / 1e6
    );
    last / better >= FLAT && memory <= MOST_MEMORY
}

/// One site of `count` URLs: handed out with all its links in the inbox, with its pages in the queue, and with a few
/// links more.
fn one_site(folder: &Path, count: u64) -> Result<(), FrontierError> {
    let mut frontier = Embedded::open(folder, Options::default())?;
    let mut dice = Dice(0x5eed);
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
        ("ten links more", 10),
    ] {
        while sent < links {
            now += 60_000;
            let leases = frontier.check_out(now, "load", 1)?;
            let mut visit = begin(leases.into_iter().next().expect("the seed is due"));
            let mut entry = check_in(&mut visit, now, 1_000_000, 256, &mut dice);
            entry.then = Then::Release { due: now };
            for _ in 0..10_000.min(links - sent) {
                sent += 1;
                let mut link = outside(&mut dice, 1_000_000, "https://www.example.org/");
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
            let lease = frontier.check_out(now, "load", 1)?.pop();
            let took = begun.elapsed();
            let lease = lease.expect("a site is due");
            let is_large = lease.site == "large.example";
            if is_large {
                show(name, took, &lease);
            }
            // The others wait for ever.
            let due = if is_large { now } else { i64::MAX };
            let mut visit = begin(lease);
            let mut entry = check_in(&mut visit, now, 1_000_000, 256, &mut dice);
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
    let (check, site) = (flag("--check"), flag("--site"));
    let number = |place: usize, usual: u64| {
        arguments
            .get(place)
            .and_then(|text| text.parse().ok())
            .unwrap_or(usual)
    };
    let Some(folder) = arguments.first() else {
        eprintln!("usage: load [--check|--site] FOLDER [MILLIONS OF LINKS [SITES [GROUP]]]");
        std::process::exit(2);
    };
    if let Err(error) = std::fs::create_dir_all(folder) {
        eprintln!("error: cannot make {folder}: {error}");
        std::process::exit(1);
    }
    if site {
        if let Err(error) = one_site(Path::new(folder), number(1, 1) * 1_000_000) {
            eprintln!("{error}");
            std::process::exit(1);
        }
        return;
    }
    let result = run(
        Path::new(folder),
        number(1, 10),
        number(2, 1_000_000),
        number(3, 64) as usize,
    );
    match result {
        Ok(lines) => {
            if !judge(&lines) && check {
                std::process::exit(1);
            }
        }
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    }
}
