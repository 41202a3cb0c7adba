//! Crawls in simulated time at full size; `bench/simulate` runs them all.
//!
//! ```text
//! simulate month  --sites 1000000     a month with restarts, courtesy judged by the servers
//! simulate crawl  --sites 100000      a whole web: waits, memory, cost of a request
//! simulate steady --sites 200000      hours of the same work: memory must stay flat
//! simulate plot                       the pictures, from what the others left in --results
//! ```
//!
//! Figures are added to files in `--results`, tab-separated, one line a run or a sample.

use std::error::Error;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use aranha_simulation::{Axis, Course, End, Life, Line, Plan, Plot, Sample, memory, processor};
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
    Steady,
    Plot,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    std::fs::create_dir_all(&arguments.results)?;
    match arguments.what {
        What::Month => month(&arguments),
        What::Crawl => crawl(&arguments),
        What::Steady => steady(&arguments),
        What::Plot => plot(&arguments.results, &arguments.plots),
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
    course.config.crawl.check_in = Duration::from_secs(30).max(4 * pause);
    course
}

/// Runs a course and tells what came of it; false when courtesy was violated.
fn run(
    course: &Course,
    arguments: &Arguments,
    samples: &mut Vec<Sample>,
) -> Result<bool, Box<dyn Error>> {
    let folder = tempfile::tempdir_in(&arguments.folder)?;
    let (begun, used) = (Instant::now(), processor());
    let mut told = Instant::now();
    let status = course.run(folder.path(), paused, |sample| {
        if told.elapsed() > Duration::from_secs(20) {
            told = Instant::now();
            eprintln!(
                "{:.2} days, {} requests, {} MB",
                sample.time.as_secs_f64() / 86_400.0,
                sample.requests,
                sample.memory >> 20
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
        "simulated {:.2} days in {:.1} s, {:.1} s of processor, {:.1} us a request, {} MB, {} MB of disk",
        simulated.as_secs_f64() / 86_400.0,
        took.as_secs_f64(),
        used.as_secs_f64(),
        used.as_secs_f64() * 1e6 / ledger.requests.max(1) as f64,
        memory() >> 20,
        status.disk >> 20
    );
    let waits = course.waited();
    println!(
        "waits {}: half {:?}, 99 % {:?}, longest {} s, out of turn {}",
        waits.count,
        waits.quantile(0.5),
        waits.quantile(0.99),
        waits.longest / 1000,
        waits.unfair
    );
    println!("violations {:?}", ledger.broken);
    for violation in &ledger.violations {
        println!("  {violation}");
    }
    Ok(ledger.broken.is_empty())
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
    let mut samples = Vec::new();
    if !run(&course, arguments, &mut samples)? {
        return Err("courtesy was violated".into());
    }
    Ok(())
}

/// A whole web, once.
fn crawl(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let life = Life {
        length: days(arguments.days),
        end: End::Stopped,
        rest: Duration::ZERO,
    };
    let course = course(arguments, vec![life]);
    let mut samples = Vec::new();
    run(&course, arguments, &mut samples)?;
    let waits = course.waited();
    let name = format!("waits-{}.tsv", arguments.sites);
    let mut file = std::fs::File::create(arguments.results.join(name))?;
    for (seconds, share) in waits.curve() {
        writeln!(file, "{seconds}\t{share}")?;
    }
    save(
        &arguments
            .results
            .join(format!("crawl-{}.tsv", arguments.sites)),
        &samples,
    )
}

/// The same work for hours: memory must stay within five percent of its mean, the first third left out.
fn steady(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let life = Life {
        length: days(arguments.days),
        end: End::Stopped,
        rest: Duration::ZERO,
    };
    let course = course(arguments, vec![life]);
    let mut samples = Vec::new();
    run(&course, arguments, &mut samples)?;
    save(&arguments.results.join("steady.tsv"), &samples)?;
    let warm = &samples[samples.len() / 3..];
    let memory = || warm.iter().map(|sample| sample.memory as f64 / 1e6);
    let mean = memory().sum::<f64>() / warm.len() as f64;
    let (least, most) = memory().fold((f64::MAX, 0.0_f64), |(least, most), here| {
        (least.min(here), most.max(here))
    });
    let (least_visits, hours) = (
        warm.iter().map(|sample| sample.visits).min().unwrap_or(0),
        warm[warm.len() - 1]
            .time
            .saturating_sub(warm[0].time)
            .as_secs_f64()
            / 3600.0,
    );
    println!(
        "after warm-up, {hours:.1} hours: {least:.0} to {most:.0} MB, mean {mean:.0}; at least {least_visits} visits"
    );
    if least < 0.95 * mean || most > 1.05 * mean {
        return Err("memory is not flat".into());
    }
    Ok(())
}

fn save(path: &Path, samples: &[Sample]) -> Result<(), Box<dyn Error>> {
    let mut file = OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(true)
        .open(path)?;
    // A thousand points are enough for a picture.
    for sample in samples.iter().step_by((samples.len() / 1000).max(1)) {
        let Sample {
            time,
            requests,
            pages,
            visits,
            memory,
            processor,
        } = sample;
        let (time, processor) = (time.as_secs_f64(), processor.as_secs_f64());
        writeln!(
            file,
            "{time}\t{requests}\t{pages}\t{visits}\t{memory}\t{processor}"
        )?;
    }
    Ok(())
}

/// The pictures: waits, memory and cost of whole crawls, memory in steady state.
fn plot(results: &Path, plots: &Path) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(plots)?;
    let mut waits = Vec::new();
    let (mut memory, mut cost) = (Vec::new(), Vec::new());
    for sites in [10_000, 100_000, 1_000_000] {
        let name = format!("{sites} sites");
        let line = |points| Line {
            name: name.clone(),
            points,
        };
        let curve = table(&results.join(format!("waits-{sites}.tsv")))?;
        let samples = table(&results.join(format!("crawl-{sites}.tsv")))?;
        if samples.is_empty() {
            continue;
        }
        waits.push(line(
            curve.iter().map(|row| (row[0].max(0.01), row[1])).collect(),
        ));
        memory.push(line(
            samples
                .iter()
                .filter(|row| row[1] >= 1000.0)
                .map(|row| (row[1], row[4] / 1e6))
                .collect(),
        ));
        cost.push(line(costs(&samples)));
    }
    let draw = |name: &str, title: &str, x: Axis, y: Axis, lines: Vec<Line>| {
        let title = title.to_owned();
        let plot = Plot { title, x, y, lines };
        std::fs::write(plots.join(name), plot.svg())
    };
    draw(
        "simulated-waits.svg",
        "From a site's being due to its visit",
        Axis::log("seconds"),
        Axis::linear("share of the visits that waited no longer"),
        waits,
    )?;
    draw(
        "simulated-memory.svg",
        "Memory as the crawl grows",
        Axis::log("requests"),
        Axis::linear("MB resident"),
        memory,
    )?;
    draw(
        "simulated-cost.svg",
        "Cost of a request as the crawl grows",
        Axis::log("requests"),
        Axis::linear("microseconds of processor"),
        cost,
    )?;
    let steady = table(&results.join("steady.tsv"))?;
    let points = steady.iter().map(|row| (row[0] / 60.0, row[4] / 1e6));
    let line = Line {
        name: String::new(),
        points: points.collect(),
    };
    draw(
        "simulated-steady.svg",
        "Memory at steady work",
        Axis::linear("minutes of simulated time"),
        Axis::linear("MB resident"),
        vec![line],
    )?;
    Ok(())
}

/// Processor time a request between samples that lie a twentieth of the crawl apart.
fn costs(samples: &[Vec<f64>]) -> Vec<(f64, f64)> {
    let step = samples.last().map_or(1.0, |row| row[1] / 20.0).max(1000.0);
    let mut points = Vec::new();
    let mut last = &samples[0];
    for row in samples {
        let requests = row[1] - last[1];
        if requests >= step {
            points.push((row[1], (row[5] - last[5]) * 1e6 / requests));
            last = row;
        }
    }
    points
}

/// The rows of a file; none when there is no such file.
fn table(path: &Path) -> Result<Vec<Vec<f64>>, Box<dyn Error>> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let row = |line: &str| line.split('\t').map(str::parse::<f64>).collect();
    let rows: Result<_, _> = text.lines().map(row).collect();
    Ok(rows?)
}
