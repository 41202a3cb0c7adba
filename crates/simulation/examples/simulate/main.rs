//! Crawls large webs in simulated time. `bench/simulate` runs all experiments.
//!
//! ```text
//! simulate month  --sites 1000000     a month with restarts
//! simulate crawl  --sites 100000      one crawl of a whole web; measures waits, memory and the cost of a request
//! simulate growth                     compares the results of `crawl` for several sizes
//! simulate steady --sites 200000      hours of constant load: memory must stay constant
//! simulate cluster --sites 1000000    many nodes that join, leave, die and lose the database
//! simulate plot                       draws the plots
//! ```
//!
//! Every simulation fails if a request came too early or a site starved. It writes its samples to a tab-separated file
//! in `--results`. `growth` and `plot` read these files.

mod cluster;
mod growth;
mod plots;
mod steady;

use std::error::Error;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use aranha_simulation::{
    CrawlEnd, Sample, Scenario, SimulatedCrawl, WaitAudit, WebPlan, cpu_time, resident_bytes,
};
use clap::{Parser, ValueEnum};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
struct Arguments {
    experiment: Experiment,
    /// Sites of the web.
    #[arg(long, default_value_t = 10_000)]
    sites: u32,
    /// Seed of the generated web.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Maximum number of pages of a site.
    #[arg(long, alias = "largest", default_value_t = 20)]
    max_pages: u32,
    /// Nodes that work at the same time (`cluster`).
    #[arg(long, default_value_t = 50)]
    nodes: u32,
    /// Sites visited at the same time, by all nodes together.
    #[arg(long, default_value_t = 128)]
    visits: usize,
    /// Courtesy pause in seconds.
    #[arg(long, default_value_t = 2)]
    pause: u64,
    /// Maximum simulated time, in days.
    #[arg(long, default_value_t = 30.0)]
    days: f64,
    /// Simulated time that the disk takes to make a group of records durable, in milliseconds.
    #[arg(long, default_value_t = 200)]
    sync: u64,
    /// Number of crawls, one after the other, in the simulated time (`--days`).
    #[arg(long, alias = "lives", default_value_t = 20)]
    crawls: u32,
    /// Simulated time between two samples, in seconds.
    #[arg(long, default_value_t = 60)]
    every: u64,
    /// Folder for the temporary collection.
    #[arg(long, default_value = "/dev/shm")]
    folder: PathBuf,
    /// Folder for the samples.
    #[arg(long, default_value = "target/simulate")]
    results: PathBuf,
    /// Folder for the plots.
    #[arg(long, default_value = "bench/plots")]
    plots: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum Experiment {
    Month,
    Crawl,
    Growth,
    Steady,
    Cluster,
    Plot,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    std::fs::create_dir_all(&arguments.results)?;
    match arguments.experiment {
        Experiment::Month => month(&arguments),
        Experiment::Crawl => crawl(&arguments),
        Experiment::Growth => growth::check(&arguments.results),
        Experiment::Steady => steady(&arguments),
        Experiment::Cluster => cluster::run(&arguments),
        Experiment::Plot => plots::draw_all(&arguments.results, &arguments.plots),
    }
}

fn paused_runtime() -> std::io::Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_time().start_paused(true).build()
}

fn days(days: f64) -> Duration {
    Duration::from_secs_f64(86_400.0 * days)
}

fn scenario(arguments: &Arguments, crawls: Vec<SimulatedCrawl>) -> Scenario {
    let mut plan = WebPlan::new(arguments.seed, arguments.sites);
    plan.max_pages = arguments.max_pages;
    let pause = Duration::from_secs(arguments.pause);
    let mut scenario = Scenario::new(plan, pause, arguments.visits, crawls);
    scenario.sample_interval = Duration::from_secs(arguments.every);
    scenario.sync = Duration::from_millis(arguments.sync);
    scenario.config.crawl.check_in_interval = Duration::from_secs(30).max(4 * pause);
    scenario
}

/// Runs a scenario and prints its results. Fails if the courtesy rules were violated or a site starved.
fn run(scenario: &Scenario, arguments: &Arguments) -> Result<Vec<Sample>, Box<dyn Error>> {
    let folder = tempfile::tempdir_in(&arguments.folder)?;
    let (start, used) = (Instant::now(), cpu_time());
    let mut last_progress = Instant::now();
    let mut samples = Vec::with_capacity(1 << 16);
    let status = scenario.run(folder.path(), paused_runtime, |sample| {
        if last_progress.elapsed() > Duration::from_secs(20) {
            last_progress = Instant::now();
            eprintln!(
                "{:.2} days, {} requests, {} MB",
                sample.time.as_secs_f64() / 86_400.0,
                sample.requests,
                sample.resident_bytes / 1_000_000
            );
        }
        samples.push(*sample);
    })?;
    let (took, used) = (start.elapsed(), cpu_time().saturating_sub(used));
    let audit = scenario.network.audit();
    let simulated = samples.last().map_or(Duration::ZERO, |sample| sample.time);
    println!(
        "sites {} of {} visited",
        audit.requested_sites(),
        arguments.sites
    );
    println!(
        "pages known {}, done {}",
        status.pages.known, status.pages.done
    );
    println!("outcomes {:?}", status.outcomes);
    println!(
        "requests {}, connections {}, request hash {:016x}",
        audit.requests, audit.connections, audit.request_hash
    );
    println!(
        "simulated {:.2} days in {:.1} s, {:.1} s of processor, {:.1} us per request, peak {} MB, {} MB of disk",
        simulated.as_secs_f64() / 86_400.0,
        took.as_secs_f64(),
        used.as_secs_f64(),
        used.as_secs_f64() * 1e6 / audit.requests.max(1) as f64,
        samples
            .iter()
            .map(|sample| sample.resident_bytes)
            .max()
            .unwrap_or_else(resident_bytes)
            / 1_000_000,
        status.disk / 1_000_000
    );
    println!("violations {:?}", audit.violation_counts);
    for violation in &audit.violations {
        println!("  {violation}");
    }
    let is_courteous = audit.violation_counts.is_empty();
    drop(audit);
    let waits = scenario.waits();
    check_waits(&waits, waits.is_fair())?;
    if !is_courteous {
        return Err("the courtesy rules were violated".into());
    }
    Ok(samples)
}

/// Prints the waits. Fails if a site starved.
fn check_waits(waits: &WaitAudit, is_fair: bool) -> Result<(), Box<dyn Error>> {
    println!(
        "waits {}: median {:.0?}, 99% {:.0?}, longest {} s, at most {:.2} of the bound",
        waits.count,
        waits.quantile(0.5),
        waits.quantile(0.99),
        waits.longest_ms / 1000,
        waits.max_bound_ratio
    );
    println!(
        "overtaken {}, left out {}, starved {}",
        waits.overtaken, waits.left_out, waits.starved
    );
    if is_fair {
        Ok(())
    } else {
        Err("a site starved".into())
    }
}

fn one_crawl(arguments: &Arguments) -> Vec<SimulatedCrawl> {
    vec![SimulatedCrawl {
        duration: days(arguments.days),
        end: CrawlEnd::Stopped,
        downtime: Duration::ZERO,
    }]
}

/// A month of crawls with different durations. Every second crawl is killed.
fn month(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let mean = days(arguments.days) / arguments.crawls.max(1);
    let crawls = (0..arguments.crawls).map(|number| SimulatedCrawl {
        duration: mean * [8, 2, 14, 10, 16][number as usize % 5] / 10,
        end: if number % 2 == 0 {
            CrawlEnd::Killed
        } else {
            CrawlEnd::Stopped
        },
        downtime: Duration::from_secs(u64::from(number % 3) * 20),
    });
    let mut scenario = scenario(arguments, crawls.collect());
    scenario.config.crawl.continuous = true;
    let samples = run(&scenario, arguments)?;
    save(&arguments.results.join("month.tsv"), &samples)
}

/// One crawl of a whole web.
fn crawl(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let scenario = scenario(arguments, one_crawl(arguments));
    let samples = run(&scenario, arguments)?;
    let name = format!("waits-{}.tsv", arguments.sites);
    let mut file = File::create(arguments.results.join(name))?;
    for (seconds, share) in scenario.waits().distribution() {
        writeln!(file, "{seconds}\t{share}")?;
    }
    let name = format!("crawl-{}.tsv", arguments.sites);
    save(&arguments.results.join(name), &samples)
}

fn steady(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let samples = run(&scenario(arguments, one_crawl(arguments)), arguments)?;
    save(&arguments.results.join("steady.tsv"), &samples)?;
    steady::check(&samples)
}

/// Writes about two thousand lines, which are enough for a plot. The samples are divided into groups, one for each
/// line. A line has the last sample of its group, but with the highest memory use in the group.
fn save(path: &Path, samples: &[Sample]) -> Result<(), Box<dyn Error>> {
    let mut file = File::create(path)?;
    for samples in samples.chunks((samples.len() / 2000).max(1)) {
        let peak = samples
            .iter()
            .map(|sample| sample.resident_bytes)
            .max()
            .unwrap_or(0);
        let Some(Sample {
            time,
            requests,
            pages,
            visits,
            cpu_time,
            ..
        }) = samples.last()
        else {
            continue;
        };
        let (time, cpu_seconds) = (time.as_secs_f64(), cpu_time.as_secs_f64());
        writeln!(
            file,
            "{time}\t{requests}\t{pages}\t{visits}\t{peak}\t{cpu_seconds}"
        )?;
    }
    Ok(())
}

/// A line of a file of samples.
#[derive(Clone, Copy)]
struct SampleRow {
    /// Seconds of simulated time.
    time: f64,
    requests: f64,
    resident_bytes: f64,
    cpu_seconds: f64,
}

/// The lines of a file of samples. Empty if the file does not exist.
fn sample_rows(path: &Path) -> Result<Vec<SampleRow>, Box<dyn Error>> {
    let row = |columns: &[f64]| match *columns {
        [time, requests, _, _, resident_bytes, cpu_seconds] => Ok(SampleRow {
            time,
            requests,
            resident_bytes,
            cpu_seconds,
        }),
        _ => Err(format!("{}: expected six columns", path.display())),
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
