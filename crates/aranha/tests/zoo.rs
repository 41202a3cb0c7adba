//! As bad as the web: the lab's honest sites among hostile ones of every kind. The honest pages all arrive, politely;
//! no refused address is ever connected to; traps cost little; the crawl ends. `bench/zoo` is the same at full size.

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

/// Every honest page, with the status that it should have.
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
            // As many pages as there are links, all of them real: only a limit ends it.
            _ if *hazard == Hazard::Crowd => 520,
            // Hosts by the dozen, each with its robots.txt.
            _ if *hazard == Hazard::Wildcard => 200,
            Group::Trap => 150,
            _ => 400,
        };
        let requests = cost.requests;
        println!("{requests:>5} requests to {}", hazard.name());
        assert!(requests <= most, "{requests} requests to {}", hazard.name());
    }
    let said = [output.stdout, output.stderr].concat();
    assert!(
        said.iter().all(|byte| *byte >= b' ' || *byte == b'\n'),
        "a control byte reached the terminal"
    );
}

/// A resolver in front of the lab's that can be struck dumb.
async fn fragile_resolver(
    target: SocketAddr,
    dumb: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
) -> SocketAddr {
    let front = Arc::new(UdpSocket::bind("127.0.0.1:0").await.expect("binds"));
    let address = front.local_addr().expect("is bound");
    tokio::spawn(async move {
        let mut packet = [0; 2048];
        loop {
            let Ok((length, from)) = front.recv_from(&mut packet).await else {
                continue;
            };
            asked.fetch_add(1, Relaxed);
            if dumb.load(Relaxed) {
                continue;
            }
            let (front, question) = (Arc::clone(&front), packet[..length].to_vec());
            tokio::spawn(async move {
                let back = UdpSocket::bind("127.0.0.1:0").await.expect("binds");
                back.send_to(&question, target).await.expect("sends");
                let mut answer = [0; 2048];
                let length = back.recv(&mut answer).await.expect("is answered");
                front.send_to(&answer[..length], from).await.expect("sends");
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
    let dumb = Arc::new(AtomicBool::new(true));
    let asked = Arc::new(AtomicUsize::new(0));
    let resolver = fragile_resolver(lab.resolver(), Arc::clone(&dumb), Arc::clone(&asked)).await;
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
    // Nobody answers until the crawl has noticed: questions come one at a time then, ever more rarely.
    let quiet = async {
        loop {
            let before = asked.load(Relaxed);
            tokio::time::sleep(Duration::from_millis(1500)).await;
            if before >= 20 && asked.load(Relaxed) - before <= 4 {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(40), quiet)
        .await
        .expect("the crawl notices that names do not resolve");
    assert!(lab.log().is_empty(), "nothing can have been asked for yet");
    dumb.store(false, Relaxed);
    let output = crawling.await.unwrap();
    assert_status(&output, 0);
    assert_complete(&lab, &collection);
    let said = String::from_utf8(output.stdout).unwrap();
    let notice = |what: &str| said.contains(&format!("\"notice\":\"{what}\""));
    assert!(notice("names_down") && notice("names_up"), "{said}");
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
    // Without a trap limit only the block ends this calendar.
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
    let aside = run(&["status", "--blocked"]).await;
    let said = String::from_utf8(aside.stdout).unwrap();
    assert_eq!(said, "calendar.lab  1 site  blocked by the black list\n");
    let home = lab.hazard_seeds().remove(0);
    let why = run(&["why", &home]).await;
    let said = String::from_utf8(why.stdout).unwrap();
    assert!(said.contains("black list"), "{said}");

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
