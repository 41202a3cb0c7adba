//! Load on the real check-out/check-in path: a web of skewed sites, without fetching.
//!
//! ```text
//! cargo run --release -p aranha-frontier --example load -- FOLDER [MILLIONS [SITES [GROUP]]]
//! ```
//!
//! Each check-in brings about 30 page records and 60 links to other sites; GROUP check-ins are one group commit, then the
//! frontier may tidy for a moment, as the engine lets it. Every million links a line: links/s and page records/s (of the
//! time spent in calls), links by second of processor time (making up the web included), memory, bytes on disk, and the
//! longest single call.

use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};

use aranha_frontier::{
    CheckIn, Embedded, Flags, Frontier, FrontierError, Lease, Location, Options, Outcome, Outside,
    PageRecord, Pending, Seed, Then,
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
    made: u32,
    next_page: u64,
}

/// Processor time of this process so far: what the calls cost when others keep the machine busy.
fn processor() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = text.rsplit(')').next().unwrap_or_default();
    let ticks: u64 = fields
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|number| number.parse::<u64>().ok())
        .sum();
    Duration::from_millis(ticks * 10)
}

/// Time spent in the frontier.
#[derive(Default)]
struct Clock {
    spent: Duration,
    longest: Duration,
    longest_call: &'static str,
}

impl Clock {
    fn time<T>(&mut self, name: &'static str, call: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let answer = call();
        let took = begun.elapsed();
        self.spent += took;
        if took > self.longest {
            self.longest = took;
            self.longest_call = name;
        }
        answer
    }
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
        hop: 'L',
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
        hop: 'L',
        via: format!("{}/section/", visit.lease.facts.origin),
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
            volume: 12,
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
    CheckIn {
        lease: visit.lease.id,
        done,
        held: visit.queue.iter().cloned().collect(),
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

fn run(folder: &Path, target: u64, sites: u64, group: usize) -> Result<(), FrontierError> {
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
    let mut clock = Clock::default();
    let mut before = (Duration::ZERO, 0, frontier.status(0)?.records, processor());
    println!(
        "links M  pages M  records M  sites M  links/s  records/s  links/cpu-s  commit/s  MB mem  GB disk  B/URL  runs  longest ms"
    );
    let mut commits = 0;
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
        commits += 1;
        for (mut visit, answer) in taken.into_iter().zip(answers) {
            let answer = answer.expect("nobody else takes leases");
            if !answer.released {
                visit.queue.extend(answer.more);
                visits.push_back(visit);
            }
        }
        clock.time("tidy", || frontier.tidy(now, Duration::from_millis(20)))?;
        if links / 1_000_000 > shown {
            shown = links / 1_000_000;
            let status = frontier.status(now)?;
            let spent = clock.spent.saturating_sub(before.0).as_secs_f64();
            println!(
                "{:7.1}  {:7.1}  {:9.1}  {:7.2}  {:7.0}  {:9.0}  {:11.0}  {:8.1}  {:6.0}  {:7.2}  {:5.0}  {:4}  {:.0} {}",
                links as f64 / 1e6,
                status.pages.known as f64 / 1e6,
                status.records as f64 / 1e6,
                status.sites.known as f64 / 1e6,
                (links - before.1) as f64 / spent,
                (status.records - before.2) as f64 / spent,
                (links - before.1) as f64 / processor().saturating_sub(before.3).as_secs_f64(),
                f64::from(commits) / spent,
                memory() as f64 / 1e6,
                status.disk as f64 / 1e9,
                status.disk as f64 / (status.links_sent + status.pages.known) as f64,
                status.runs,
                clock.longest.as_secs_f64() * 1e3,
                clock.longest_call,
            );
            before = (clock.spent, links, status.records, processor());
            clock.longest = Duration::ZERO;
            commits = 0;
        }
    }
    Ok(())
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |place: usize, usual: u64| {
        arguments
            .get(place)
            .and_then(|text| text.parse().ok())
            .unwrap_or(usual)
    };
    let Some(folder) = arguments.get(1) else {
        eprintln!("usage: load FOLDER [MILLIONS OF LINKS [SITES [GROUP]]]");
        std::process::exit(2);
    };
    let result = run(
        Path::new(folder),
        number(2, 10),
        number(3, 1_000_000),
        number(4, 64) as usize,
    );
    if let Err(error) = result {
        eprintln!("{error}");
        std::process::exit(1);
    }
}
