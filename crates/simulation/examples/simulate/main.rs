//! Crawls in simulated time at full size; `bench/simulate` runs them all.
//!
//! ```text
//! simulate month  --sites 1000000     a month with restarts
//! simulate crawl  --sites 100000      a whole web: waits, memory, cost of a request
//! simulate growth                     what the crawls of several sizes took, held against each other
//! simulate steady --sites 200000      hours of the same work: memory must stay flat
//! simulate plot                       the pictures
//! ```
//!
//! Every one fails when a server was asked too soon or a site starved. Samples are left in files in `--results`,
//! tab-separated, one line a sample; `growth` and `plot` read them.

mod growth;
mod picture;
mod steady;

use std::error::Error;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use aranha_simulation::{Course, End, Life, Plan, Sample, Waits, memory, processor};
use clap::{Parser, ValueEnum};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
struct Arguments {
    what: What,
    #[arg(long, default_value_t = 10_000)]
    sites: u32,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Pages of the largest sites.
    #[arg(long, default_value_t = 20)]
    largest: u32,
    /// Sites visited at once.
    #[arg(long, default_value_t = 128)]
    visits: usize,
    /// Courtesy pause in seconds.
    #[arg(long, default_value_t = 2)]
    pause: u64,
    /// Days of simulated time, at most.
    #[arg(long, default_value_t = 30.0)]
    days: f64,
    /// What the simulated disk takes to make a group of pages durable, milliseconds.
    #[arg(long, default_value_t = 200)]
    sync: u64,
    /// Nodes that work one after the other in a month.
    #[arg(long, default_value_t = 20)]
    lives: u32,
    /// Simulated seconds between two samples.
    #[arg(long, default_value_t = 60)]
    every: u64,
    /// The collection; in memory, because nothing of it is kept.
    #[arg(long, default_value = "/dev/shm")]
    folder: PathBuf,
    #[arg(long, default_value = "target/simulate")]
    results: PathBuf,
    #[arg(long, default_value = "bench/plots")]
    plots: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum What {
    Month,
    Crawl,
    Growth,
    Steady,
    Plot,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    std::fs::create_dir_all(&arguments.results)?;
    match arguments.what {
        What::Month => month(&arguments),
        What::Crawl => crawl(&arguments),
        What::Growth => growth::judge(&arguments.results),
        What::Steady => steady(&arguments),
        What::Plot => picture::draw_all(&arguments.results, &arguments.plots),
    }
}

fn paused() -> std::io::Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_time().start_paused(true).build()
}

fn days(days: f64) -> Duration {
    Duration::from_secs_f64(86_400.0 * days)
}

fn course(arguments: &Arguments, lives: Vec<Life>) -> Course {
    let mut plan = Plan::new(arguments.seed, arguments.sites);
    plan.largest = arguments.largest;
    let pause = Duration::from_secs(arguments.pause);
    let mut course = Course::new(plan, pause, arguments.visits, lives);
    course.every = Duration::from_secs(arguments.every);
    course.sync = Duration::from_millis(arguments.sync);
    course.config.crawl.check_in_interval = Duration::from_secs(30).max(4 * pause);
    course
}

/// Runs a course and tells what came of it. Fails when courtesy was violated or somebody starved.
fn run(course: &Course, arguments: &Arguments) -> Result<Vec<Sample>, Box<dyn Error>> {
    let folder = tempfile::tempdir_in(&arguments.folder)?;
    let (begun, used) = (Instant::now(), processor());
    let mut told = Instant::now();
    let mut samples = Vec::with_capacity(1 << 16);
    let status = course.run(folder.path(), paused, |sample| {
        if told.elapsed() > Duration::from_secs(20) {
            told = Instant::now();
            eprintln!(
                "{:.2} days, {} requests, {} MB",
                sample.time.as_secs_f64() / 86_400.0,
                sample.requests,
                sample.memory / 1_000_000
            );
        }
        samples.push(*sample);
    })?;
    let (took, used) = (begun.elapsed(), processor().saturating_sub(used));
    let ledger = course.network.ledger();
    let simulated = samples.last().map_or(Duration::ZERO, |sample| sample.time);
    println!("sites {} of {} visited", ledger.visited(), arguments.sites);
    println!(
        "pages known {}, done {}",
        status.pages.known, status.pages.done
    );
    println!("outcomes {:?}", status.outcomes);
    println!(
        "requests {}, connections {}, course {:016x}",
        ledger.requests, ledger.connections, ledger.course
    );
    println!(
        "simulated {:.2} days in {:.1} s, {:.1} s of processor, {:.1} us a request, at most {} MB, {} MB of disk",
        simulated.as_secs_f64() / 86_400.0,
        took.as_secs_f64(),
        used.as_secs_f64(),
        used.as_secs_f64() * 1e6 / ledger.requests.max(1) as f64,
        samples
            .iter()
            .map(|sample| sample.memory)
            .max()
            .unwrap_or_else(memory)
            / 1_000_000,
        status.disk / 1_000_000
    );
    println!("violations {:?}", ledger.broken);
    for violation in &ledger.violations {
        println!("  {violation}");
    }
    let is_courteous = ledger.broken.is_empty();
    drop(ledger);
    tell(&course.waited())?;
    if !is_courteous {
        return Err("courtesy was violated".into());
    }
    Ok(samples)
}

fn tell(waits: &Waits) -> Result<(), Box<dyn Error>> {
    println!(
        "waits {}: half {:.0?}, 99 % {:.0?}, longest {} s, at most {:.2} of what the turns of others explain",
        waits.count,
        waits.quantile(0.5),
        waits.quantile(0.99),
        waits.longest / 1000,
        waits.tightest
    );
    println!(
        "passed over {}, left out {}, starved {}",
        waits.passed_over, waits.left_out, waits.starved
    );
    if waits.is_fair() {
        Ok(())
    } else {
        Err("a site starved".into())
    }
}

fn once(arguments: &Arguments) -> Vec<Life> {
    vec![Life {
        length: days(arguments.days),
        end: End::Stopped,
        rest: Duration::ZERO,
    }]
}

/// A month in many lives, long and short; every second one is killed.
fn month(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let mean = days(arguments.days) / arguments.lives.max(1);
    let lives = (0..arguments.lives).map(|number| Life {
        length: mean * [8, 2, 14, 10, 16][number as usize % 5] / 10,
        end: if number % 2 == 0 {
            End::Killed
        } else {
            End::Stopped
        },
        rest: Duration::from_secs(u64::from(number % 3) * 20),
    });
    let mut course = course(arguments, lives.collect());
    course.config.crawl.continuous = true;
    let samples = run(&course, arguments)?;
    save(&arguments.results.join("month.tsv"), &samples)
}

/// A whole web, once.
fn crawl(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let course = course(arguments, once(arguments));
    let samples = run(&course, arguments)?;
    let name = format!("waits-{}.tsv", arguments.sites);
    let mut file = File::create(arguments.results.join(name))?;
    for (seconds, share) in course.waited().curve() {
        writeln!(file, "{seconds}\t{share}")?;
    }
    let name = format!("crawl-{}.tsv", arguments.sites);
    save(&arguments.results.join(name), &samples)
}

fn steady(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let samples = run(&course(arguments, once(arguments)), arguments)?;
    save(&arguments.results.join("steady.tsv"), &samples)?;
    steady::judge(&samples)
}

/// Two thousand lines are enough for a picture: each is the last of some samples, with the most memory of them.
fn save(path: &Path, samples: &[Sample]) -> Result<(), Box<dyn Error>> {
    let mut file = File::create(path)?;
    for samples in samples.chunks((samples.len() / 2000).max(1)) {
        let memory = samples
            .iter()
            .map(|sample| sample.memory)
            .max()
            .unwrap_or(0);
        let Some(Sample {
            time,
            requests,
            pages,
            visits,
            processor,
            ..
        }) = samples.last()
        else {
            continue;
        };
        let (time, processor) = (time.as_secs_f64(), processor.as_secs_f64());
        writeln!(
            file,
            "{time}\t{requests}\t{pages}\t{visits}\t{memory}\t{processor}"
        )?;
    }
    Ok(())
}

/// A line of such a file.
#[derive(Clone, Copy)]
struct Row {
    /// Seconds of simulated time.
    time: f64,
    requests: f64,
    /// Bytes.
    memory: f64,
    /// Seconds.
    processor: f64,
}

/// The lines of a file; none when there is no such file.
fn rows(path: &Path) -> Result<Vec<Row>, Box<dyn Error>> {
    let row = |columns: &[f64]| match *columns {
        [time, requests, _, _, memory, processor] => Ok(Row {
            time,
            requests,
            memory,
            processor,
        }),
        _ => Err(format!("{}: not six columns", path.display())),
    };
    Ok(table(path)?
        .iter()
        .map(|columns| row(columns))
        .collect::<Result<_, _>>()?)
}

fn table(path: &Path) -> Result<Vec<Vec<f64>>, Box<dyn Error>> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let row = |line: &str| line.split('\t').map(str::parse::<f64>).collect();
    let rows: Result<_, _> = text.lines().map(row).collect();
    Ok(rows?)
}
