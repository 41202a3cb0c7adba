//! Compares ways to partition the web and to assign partitions to nodes: Table 1 of Viuva Negra as figures.
//! `bench/partition` runs it.
//!
//! The strategies are modelled (`aranha_simulation::crawl_by`). The engine crawls the same web with as many nodes, and the
//! program fails if the model of its strategy differs from the engine by more than [`MAX_DIFFERENCE`].

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use aranha_frontier::External;
use aranha_simulation::{
    Assignment, Axis, ClusterScenario, Partition, PartitionCost, Plot, Series, Strategy, WebPlan,
    crawl_by,
};
use clap::Parser;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Maximum relative difference between the model and the engine.
const MAX_DIFFERENCE: f64 = 0.05;
/// Numbers of nodes in the plots.
const NODES: [u32; 5] = [2, 4, 8, 16, 32];
/// The strategies of the table. The crawlers that use them are those of Table 8.
const STRATEGIES: [(&str, Partition, Assignment); 9] = [
    ("page, pull", Partition::Page, Assignment::Pull),
    ("page, hashing (Kspider)", Partition::Page, Assignment::Hash),
    (
        "site, hashing (Mercator)",
        Partition::Site,
        Assignment::Hash,
    ),
    (
        "site, consistent hashing (UbiCrawler)",
        Partition::Site,
        Assignment::Ring,
    ),
    ("site, push (Webase)", Partition::Site, Assignment::Push),
    (
        "site, pull (Viuva Negra)",
        Partition::Site,
        Assignment::Pull,
    ),
    (
        "site with gates, pull (aranha)",
        Partition::GatedSite,
        Assignment::Pull,
    ),
    (
        "address, hashing (Webgather)",
        Partition::Address,
        Assignment::Hash,
    ),
    ("address, pull", Partition::Address, Assignment::Pull),
];

#[derive(Parser)]
struct Arguments {
    /// Sites of the web.
    #[arg(long, default_value_t = 20_000)]
    sites: u32,
    /// Maximum number of pages of a site.
    #[arg(long, default_value_t = 100)]
    max_pages: u32,
    /// Nodes of the table.
    #[arg(long, default_value_t = 8)]
    nodes: u32,
    /// Partitions that a node works on at a time.
    #[arg(long, default_value_t = 25)]
    workers: u32,
    /// Seed of the generated web.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Folder for the plots.
    #[arg(long, default_value = "bench/plots")]
    plots: PathBuf,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let plan = plan(&arguments);
    println!(
        "| partition, assignment | DNS questions | for links | connections | pages/connection | robots.txt read | \
         too close | closest | links to nodes | links to frontier | busiest node | duration | moved by a death |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    let mut own = None;
    for (name, partition, assignment) in STRATEGIES {
        let cost = crawl_by(
            &plan,
            strategy(&arguments, partition, assignment, arguments.nodes),
        );
        print_row(name, &cost);
        if partition == Partition::GatedSite {
            own = Some(cost);
        }
    }
    draw(&arguments, &plan)?;
    match own {
        Some(own) => compare(&arguments, plan, &own),
        None => Ok(()),
    }
}

/// A web without faults of servers, because the model has none.
fn plan(arguments: &Arguments) -> WebPlan {
    WebPlan {
        max_pages: arguments.max_pages,
        crawl_delay_percent: 0,
        outage_percent: 0,
        retry_after_percent: 0,
        missing_percent: 0,
        ..WebPlan::new(arguments.seed, arguments.sites)
    }
}

fn strategy(
    arguments: &Arguments,
    partition: Partition,
    assignment: Assignment,
    nodes: u32,
) -> Strategy {
    Strategy {
        partition,
        assignment,
        nodes,
        workers: arguments.workers,
        pause_ms: 2000,
    }
}

fn print_row(name: &str, cost: &PartitionCost) {
    let requests = cost.requests();
    println!(
        "| {name} | {} | {} | {} | {:.2} | {} | {} ({:.1}%) | {} ms | {} | {} | {:.2} | {:.0} s | {:.3}% |",
        cost.dns,
        cost.dns_for_links,
        cost.connections,
        requests as f64 / cost.connections.max(1) as f64,
        cost.robots,
        cost.too_close,
        100.0 * cost.too_close as f64 / requests.max(1) as f64,
        cost.closest_ms,
        cost.links_to_nodes,
        cost.links_to_frontier,
        cost.busiest,
        cost.took_ms as f64 / 1000.0,
        100.0 * cost.reassigned,
    );
}

/// A figure of a crawl, for a plot.
type Figure = fn(&PartitionCost) -> f64;

/// Draws how the costs depend on the number of nodes.
fn draw(arguments: &Arguments, plan: &WebPlan) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(&arguments.plots)?;
    let figures: [(&str, &str, &str, Figure); 4] = [
        ("dns", "DNS questions", "questions per request", |cost| {
            (cost.dns + cost.dns_for_links) as f64 / cost.requests() as f64
        }),
        (
            "load",
            "Requests to an address before the courtesy pause is over",
            "% of all requests",
            |cost| 100.0 * cost.too_close as f64 / cost.requests() as f64,
        ),
        (
            "links",
            "Links sent from node to node",
            "links per page",
            |cost| cost.links_to_nodes as f64 / cost.pages as f64,
        ),
        (
            "death",
            "URLs that get another node when one node dies",
            "% of all URLs",
            |cost| 100.0 * cost.reassigned,
        ),
    ];
    let shown = [
        STRATEGIES[1],
        STRATEGIES[2],
        STRATEGIES[3],
        STRATEGIES[5],
        STRATEGIES[6],
        STRATEGIES[7],
    ];
    let costs = shown.map(|(name, partition, assignment)| {
        let of = |nodes| crawl_by(plan, strategy(arguments, partition, assignment, nodes));
        (name, NODES.map(of))
    });
    for (file, title, label, figure) in figures {
        let series = costs.iter().map(|(name, costs)| {
            let points = NODES.iter().zip(costs);
            let points = points.map(|(nodes, cost)| (f64::from(*nodes), figure(cost)));
            Series {
                name: (*name).to_owned(),
                points: points.collect(),
            }
        });
        let plot = Plot {
            title: title.to_owned(),
            x: Axis::linear("nodes"),
            y: Axis::linear(label),
            series: series.collect(),
        };
        let path = arguments.plots.join(format!("partition-{file}.svg"));
        std::fs::write(path, plot.svg())?;
    }
    Ok(())
}

/// Crawls the same web with the engine. Fails if the model differs from it.
fn compare(
    arguments: &Arguments,
    plan: WebPlan,
    model: &PartitionCost,
) -> Result<(), Box<dyn Error>> {
    let shared = plan.sites / 100 * plan.shared_address_percent / plan.sites_per_shared_address;
    let pause = Duration::from_secs(2);
    let visits = arguments.workers as usize;
    let mut scenario = ClusterScenario::new(plan, arguments.nodes, visits, pause);
    scenario.mean_life = Duration::ZERO;
    scenario.seeds = arguments.sites;
    scenario.duration =
        Duration::from_millis(model.took_ms as u64).mul_f64(1.5) + Duration::from_hours(1);
    // Requests that the model does not have: probes, and pages that other sites link to although they do not exist.
    scenario.config.crawl.soft_404 = false;
    scenario.config.frontier.external_links = External::HomePage;
    // The model asks for a name once.
    scenario.config.fetch.dns_ttl_min = Duration::from_hours(24);
    scenario.config.crawl.idle_wait = Duration::from_mins(2);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()?;
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())?;
    let result = scenario.run(folder.path(), &runtime)?;
    let audit = scenario.network.audit();
    println!(
        "\nengine: {} requests, {} of them for robots.txt, {} DNS questions, {} connections, {:.2} requests per connection, \
         violations {:?}, {:.0} s; {} sites changed their node, {} times the node at one of {shared} shared addresses changed",
        audit.requests,
        audit.robots_requests,
        audit.look_ups,
        audit.connections,
        audit.requests as f64 / audit.connections.max(1) as f64,
        audit.violation_counts,
        result.took.as_secs_f64(),
        audit.changes_of_sender,
        audit.changes_at_address,
    );
    println!(
        "requests by outcome: {:?}; waits {}, longest {} s",
        result.status.outcomes,
        result.waits.count,
        result.waits.longest_ms / 1000
    );
    let mut differs = false;
    for (name, model, engine) in [
        ("requests", model.requests(), audit.requests),
        ("robots.txt", model.robots, audit.robots_requests),
        ("DNS questions", model.dns, audit.look_ups),
        ("connections", model.connections, audit.connections),
    ] {
        let difference = engine as f64 / model as f64 - 1.0;
        println!(
            "{name}: model {model}, engine {engine} ({:+.1}%)",
            100.0 * difference
        );
        differs |= difference.abs() > MAX_DIFFERENCE;
    }
    if differs || !audit.violation_counts.is_empty() {
        return Err("the model differs from the engine".into());
    }
    Ok(())
}
