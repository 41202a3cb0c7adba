//! Crawls of honest sites among hostile sites of every kind. All honest pages are fetched with courtesy, no refused
//! address is contacted, traps cost few requests, and the crawl ends. `bench/zoo` does the same with many more sites.

mod support;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use aranha_lab::{BLACK_LIST, Crawler, Group, Hazard, Lab, Plan};
use support::{answered, aranha, assert_status, assert_valid, crawl, expected, finish, zoo_crawl};
use tokio::net::UdpSocket;

const PAUSE: Duration = Duration::from_millis(10);

/// Requires that every honest page was fetched with its expected status.
#[track_caller]
fn assert_complete(lab: &Lab, collection: &Path) {
    let found = answered(lab, collection);
    let missed: BTreeSet<_> = expected(lab)
        .into_iter()
        .filter(|(url, status)| found.get(url) != Some(status))
        .collect();
    let some: Vec<_> = missed.iter().take(5).collect();
    assert!(missed.is_empty(), "{} missed: {some:?} …", missed.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn honest_pages_are_fetched_among_hostile_sites() {
    let lab = Lab::start(Plan::zoo(40, Hazard::ALL.len())).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("crawl");
    let output = finish(zoo_crawl(&lab, &collection, BLACK_LIST)).await;
    assert_status(&output, 0);
    assert_complete(&lab, &collection);
    assert_eq!(lab.trespasses(), []);
    assert_eq!(lab.violations(PAUSE), []);
    assert_valid(&collection);
    let tally = lab.tally(&Crawler::default(), PAUSE);
    for (hazard, cost) in &tally.hazards {
        let most = match hazard.group() {
            // All pages are real and distinct, so the visits end only at the limit on the pages of a site.
            _ if *hazard == Hazard::Crowd => 520,
            // The site has dozens of hosts, and robots.txt is requested from each.
            _ if *hazard == Hazard::Wildcard => 200,
            Group::Trap => 150,
            _ => 400,
        };
        let requests = cost.requests;
        println!("{requests:>5} requests to {}", hazard.name());
        assert!(requests <= most, "{requests} requests to {}", hazard.name());
    }
    let text = [output.stdout, output.stderr].concat();
    assert!(
        text.iter().all(|byte| *byte >= b' ' || *byte == b'\n'),
        "a control byte was printed"
    );
}

/// The mazes of the lab: sites and domains of which a crawler could request pages without end, or without profit.
const MAZES: [Hazard; 12] = [
    Hazard::Calendar,
    Hazard::Growth,
    Hazard::Symlink,
    Hazard::Session,
    Hazard::Wildcard,
    Hazard::Maze,
    Hazard::Tarpit,
    Hazard::Counter,
    Hazard::Facets,
    Hazard::Hollow,
    Hazard::Babble,
    Hazard::Sorry,
];
/// Maximum number of requests per maze, on average over all kinds.
const MAX_MEAN: u64 = 20;

#[tokio::test(flavor = "multi_thread")]
async fn mazes_cost_few_requests() {
    let plan = Plan {
        hazards: MAZES.to_vec(),
        ..Plan::zoo(20, 0)
    };
    let lab = Lab::start(plan).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("crawl");
    let output = finish(zoo_crawl(&lab, &collection, BLACK_LIST)).await;
    assert_status(&output, 0);
    assert_complete(&lab, &collection);
    let tally = lab.tally(&Crawler::default(), PAUSE);
    let costs: Vec<(&str, u64)> = MAZES
        .iter()
        .map(|maze| {
            (
                maze.name(),
                tally.hazards.get(maze).map_or(0, |cost| cost.requests),
            )
        })
        .collect();
    assert!(costs.iter().all(|(_, requests)| *requests > 0), "{costs:?}");
    let total: u64 = costs.iter().map(|(_, requests)| requests).sum();
    println!("{total} requests to {} mazes: {costs:?}", MAZES.len());
    assert!(total <= MAX_MEAN * MAZES.len() as u64, "{total}: {costs:?}");
    let log = std::fs::read_to_string(collection.join("logs/events.jsonl")).unwrap();
    assert!(log.contains("\"site_postponed\""), "{log}");
}

/// Starts a DNS server that counts queries and forwards them to `target`, unless `silent` is set.
async fn resolver_with_outage(
    target: SocketAddr,
    silent: Arc<AtomicBool>,
    queries: Arc<AtomicUsize>,
) -> SocketAddr {
    let front = Arc::new(UdpSocket::bind("127.0.0.1:0").await.expect("a free port"));
    let address = front.local_addr().expect("the socket is bound");
    tokio::spawn(async move {
        let mut packet = [0; 2048];
        loop {
            let Ok((length, from)) = front.recv_from(&mut packet).await else {
                continue;
            };
            queries.fetch_add(1, Relaxed);
            if silent.load(Relaxed) {
                continue;
            }
            let (front, question) = (Arc::clone(&front), packet[..length].to_vec());
            tokio::spawn(async move {
                let back = UdpSocket::bind("127.0.0.1:0").await.expect("a free port");
                back.send_to(&question, target)
                    .await
                    .expect("the packet is sent");
                let mut answer = [0; 2048];
                let length = back.recv(&mut answer).await.expect("the lab answers");
                front
                    .send_to(&answer[..length], from)
                    .await
                    .expect("the packet is sent");
            });
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crawl_waits_during_a_dns_outage() {
    let lab = Lab::start(Plan {
        seeds: 60,
        ..Plan::zoo(60, 0)
    })
    .await
    .unwrap();
    let silent = Arc::new(AtomicBool::new(true));
    let queries = Arc::new(AtomicUsize::new(0));
    let resolver =
        resolver_with_outage(lab.resolver(), Arc::clone(&silent), Arc::clone(&queries)).await;
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("crawl");
    let mut command = aranha();
    command
        .arg("crawl")
        .args(lab.seeds())
        .arg("-c")
        .arg(&collection);
    let settings = folder.path().join("settings.toml");
    std::fs::write(
        &settings,
        "[crawl]\nidle_wait = \"5s\"\npause = \"10ms\"\npause_factor = 0\n[fetch]\ndns_timeout = \"3s\"\n\
         [retry]\ndns_failed = [\"2s\", \"2s\", \"2s\"]\n",
    )
    .unwrap();
    command.arg("--config").arg(settings);
    command.args([
        "--scope",
        "any",
        "--allow-private",
        "--time",
        "60s",
        "--json",
    ]);
    command.args(["--resolver", &resolver.to_string()]);
    let crawling = tokio::spawn(finish(command));
    // The outage lasts until the crawl has noticed it. The crawl then sends only single queries, at growing intervals.
    let quiet = async {
        loop {
            let before = queries.load(Relaxed);
            tokio::time::sleep(Duration::from_millis(1500)).await;
            if before >= 20 && queries.load(Relaxed) - before <= 4 {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(40), quiet)
        .await
        .expect("the crawl notices the outage");
    assert!(
        lab.log().is_empty(),
        "no page was requested during the outage"
    );
    silent.store(false, Relaxed);
    let output = crawling.await.unwrap();
    assert_status(&output, 0);
    assert_complete(&lab, &collection);
    let text = String::from_utf8(output.stdout).unwrap();
    let notice = |kind: &str| text.contains(&format!("\"notice\":\"{kind}\""));
    assert!(notice("dns_down") && notice("dns_up"), "{text}");
    let log = std::fs::read_to_string(collection.join("logs/events.jsonl")).unwrap();
    assert!(
        log.contains("\"dns_down\"") && log.contains("\"dns_up\""),
        "{log}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn block_and_unblock_work_during_a_crawl() {
    let lab = Lab::start(Plan {
        hazards: vec![Hazard::Calendar],
        ..Plan::small(3)
    })
    .await
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("crawl");
    let mut command = crawl(&lab, &collection, "50ms");
    // Trap detection is off, so only the block ends the visits to this endless calendar.
    let settings = "[crawl]\ncheck_in_interval = \"100ms\"\npause_factor = 0\nidle_wait = \"1s\"\n[thresholds]\ntrap_pages = \"none\"\n";
    std::fs::write(collection.with_extension("settings.toml"), settings).unwrap();
    command.args(["--time", "60s"]);
    let crawling = tokio::spawn(finish(command));
    let seen = || {
        let log = lab.log();
        log.iter()
            .filter(|request| request.host.starts_with("calendar"))
            .count()
    };
    while seen() < 20 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let run = |arguments: &[&str]| {
        let mut command = aranha();
        command.args(arguments).arg("-c").arg(&collection);
        finish(command)
    };
    let blocked = run(&["block", "calendar.lab", "--reason", "a test"]).await;
    assert_status(&blocked, 0);
    let ended = crawling.await.unwrap();
    assert_status(&ended, 0);
    assert_complete(&lab, &collection);
    let requests = seen();
    assert!(requests < 120, "{requests} requests to a blocked site");
    let blocked = run(&["status", "--blocked"]).await;
    let text = String::from_utf8(blocked.stdout).unwrap();
    assert_eq!(text, "calendar.lab  1 site  blocked by the black list\n");
    let home = lab.hazard_seeds().remove(0);
    let why = run(&["why", &home]).await;
    let text = String::from_utf8(why.stdout).unwrap();
    assert!(text.contains("black list"), "{text}");

    let unblocked = run(&["unblock", "calendar.lab", "--json"]).await;
    assert_eq!(unblocked.stdout, b"{\"entries\":1,\"sites\":1}\n");
    let mut again = crawl(&lab, &collection, "50ms");
    std::fs::write(collection.with_extension("settings.toml"), settings).unwrap();
    again.args(["--pages", "10"]);
    let again = finish(again).await;
    assert_status(&again, 0);
    let why = run(&["why", &home]).await;
    assert!(
        seen() > requests,
        "the site is not blocked any more: {again:?} {}",
        String::from_utf8_lossy(&why.stdout)
    );
}
