//! A crawl by several node processes while everything dies: nodes are killed and stopped, the database is killed, the ways
//! to the database and to the object store are cut, the store is full, and the clocks of the nodes are minutes apart.
//!
//! Demanded in the end (`judge.rs`): the pages are those of an undisturbed crawl, with the same bytes. Every archive record is
//! valid, and every page record leads to its bytes. No two requests to a site or an address were closer than the courtesy
//! pause (invariant 2). No page was requested again after it was recorded (invariant 5). The same judges find faults if
//! a safeguard is switched off.
//!
//! `bench/cluster` runs this for ten minutes: `ARANHA_CLUSTER` has other numbers for [`Trial`]. With `ARANHA_CLUSTER_KEEP` the
//! folders of the nodes are kept.

mod breaking_proxy;
mod judge;
mod nodes;
#[path = "../process/mod.rs"]
mod process;
#[path = "../../../volume/tests/s3_server/mod.rs"]
mod s3_server;
#[path = "../support/mod.rs"]
mod support;
mod trial;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use aranha_frontier::{FrontierError, Outcome, PageFilter, View};
use aranha_lab::{CourtesyScope, Lab, LoggedRequest, Violation};
use aranha_test_database::Cluster;
use breaking_proxy::{BreakingProxy, Fault, Server};
use judge::{ArchiveReport, Recorded};
use nodes::{Nodes, Orders};
use process::run;
use s3_server::S3Server;
use serde_json::Value;
use support::{aranha, assert_status, crawl, expected, finish};
use trial::{Disturbance, Trial};

/// Minutes by which the clocks of the nodes are wrong.
const CLOCKS: [i64; 4] = [0, 7, -4, -180];
/// Prefix of the objects in the bucket.
const PREFIX: &str = "trial/";

/// A web, a database, a store, and the nodes.
struct Court {
    trial: Trial,
    lab: Lab,
    database: Cluster,
    address: String,
    store: S3Server,
    store_link: BreakingProxy,
    links: Vec<BreakingProxy>,
    folders: tempfile::TempDir,
    nodes: Nodes,
    recorded: Recorded,
    crashes: u32,
    cuts: u32,
    store_faults: u32,
}

/// Status and digest of each page, by URL in the lab's canonical form.
type Pages = BTreeMap<String, (u64, String)>;

fn pages_of(lab: &Lab, output: &Output) -> Pages {
    assert_status(output, 0);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let pages = text.lines().filter_map(|line| {
        let page: Value = serde_json::from_str(line).expect("JSON");
        let url = lab.fold(page["url"].as_str()?);
        let digest = page["digest"].as_str().unwrap_or_default().to_owned();
        Some((url, (page["status"].as_u64()?, digest)))
    });
    pages.collect()
}

/// The environment of commands that use the store.
fn store_environment(port: u16) -> Vec<(&'static str, String)> {
    vec![
        ("AWS_ACCESS_KEY_ID", "test".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
        ("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{port}")),
    ]
}

/// Writes the settings that are not flags, beside the folder.
fn write_settings(folder: &Path, trial: Trial) {
    let retry = [
        "timeout",
        "reset",
        "server_down",
        "dns_failed",
        "robots_unreachable",
    ];
    let retry = retry.map(|kind| format!("{kind} = [\"1s\", \"2s\", \"2s\", \"4s\", \"8s\"]\n"));
    let settings = format!(
        "[crawl]\ncheck_in_interval = \"200ms\"\npause_factor = 0\nmax_pause = \"{}ms\"\nsites = {}\n\
         [frontier]\nnode_timeout = \"{}ms\"\n[revisit]\npolicy = \"never\"\n\
         [volume]\nkeep_local = false\nroll_size = \"{}KB\"\n[retry]\n{}",
        trial.pause,
        trial.slots,
        trial.ttl,
        trial.volume,
        retry.concat()
    );
    std::fs::write(folder.with_extension("settings.toml"), settings).expect("writes");
}

impl Court {
    /// Starts the crawl. `faults`: faults that are injected into the nodes. `prepare`: SQL statements that are run before
    /// the nodes start.
    async fn open(trial: Trial, lab: Lab, faults: &str, prepare: &str) -> Court {
        let database = Cluster::start().expect("PostgreSQL starts");
        let address = database.address_of("crawl");
        let store = S3Server::start(0);
        let store_link = BreakingProxy::start(Server::Port(store.port)).await;
        let mut folders = tempfile::tempdir().expect("a folder");
        folders.disable_cleanup(std::env::var_os("ARANHA_CLUSTER_KEEP").is_some());

        // One page is fetched, so that the nodes find a crawl with settings and seeds.
        let lead = folders.path().join("lead");
        let mut command = crawl(&lab, &lead, &format!("{}ms", trial.pause));
        write_settings(&lead, trial);
        command.args(["--frontier", &address, "--pages", "1"]);
        command.args(["--volumes", "s3://archive/trial"]);
        command.envs(store_environment(store_link.port));
        assert_status(&finish(command).await, 0);
        if !prepare.is_empty() {
            database.sql(&format!("SET search_path = crawl; {prepare}"));
        }

        let (mut links, mut orders) = (Vec::new(), Vec::new());
        for number in 0..trial.nodes {
            let link = BreakingProxy::start(Server::Socket(database.socket())).await;
            let clock = CLOCKS[number % CLOCKS.len()];
            let mut environment = store_environment(store_link.port);
            let faults = format!("clock=shift:{clock},{faults}");
            environment.push(("ARANHA_INJECT_FAULTS", faults));
            let url = format!(
                "postgres://aranha@127.0.0.1:{}/postgres?schema=crawl",
                link.port
            );
            let arguments = [
                "--frontier",
                &url,
                "--volumes",
                "s3://archive/trial",
                "--set",
                &format!("frontier.node=node{number}"),
            ];
            orders.push(Orders {
                folder: folders.path().join(format!("node{number}")),
                arguments: arguments.map(str::to_owned).to_vec(),
                environment,
            });
            links.push(link);
        }
        Court {
            trial,
            lab,
            database,
            address,
            store,
            store_link,
            links,
            folders,
            nodes: Nodes::start(orders),
            recorded: Recorded::new(),
            crashes: 0,
            cuts: 0,
            store_faults: 0,
        }
    }

    fn violations(&self) -> Vec<Violation> {
        self.lab.violations(self.trial.pause())
    }

    fn url(&self, request: &LoggedRequest) -> String {
        let (host, port, path) = (&request.host, self.lab.port(), &request.path);
        self.lab.fold(&format!("http://{host}:{port}{path}"))
    }

    /// Disturbs everything as planned, and mends it in the end.
    async fn disturb(&mut self) {
        let begun = Instant::now();
        for (time, disturbance) in self.trial.disturbances() {
            self.wait_until(begun + time).await;
            self.apply(disturbance);
        }
    }

    fn apply(&mut self, disturbance: Disturbance) {
        match disturbance {
            Disturbance::Kill(node) => self.nodes.kill(node),
            Disturbance::Stop(node) => self.nodes.stop(node),
            Disturbance::GoOn(node) => self.nodes.go_on(node),
            Disturbance::Link(node, fault) => {
                self.cuts += u32::from(fault != Fault::None);
                self.links[node].set(fault);
            }
            Disturbance::Store(fault) => {
                self.store_faults += u32::from(fault != Fault::None);
                self.store_link.set(fault);
            }
            Disturbance::Crash => {
                self.database.crash();
                self.crashes += 1;
            }
            Disturbance::Restart => self.database.restart().expect("PostgreSQL starts again"),
        }
    }

    /// Lets the nodes work, starts those again that have ended, and notes which pages are recorded.
    async fn wait_until(&mut self, until: Instant) {
        while Instant::now() < until {
            self.nodes.look();
            self.note_recorded();
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Notes the pages that are recorded now, unless this was done a moment ago or the database is away.
    fn note_recorded(&mut self) {
        let newest = self.recorded.values().max();
        if newest.is_some_and(|newest| newest.elapsed() < self.trial.ttl() / 2) {
            return;
        }
        let Ok(pages) = self.read_recorded() else {
            return;
        };
        let now = Instant::now();
        for url in pages {
            self.recorded.entry(url).or_insert(now);
        }
    }

    /// The pages that the frontier has records of. It is asked directly, without a proxy. A page that redirects to the same
    /// page of its twin is left out, because it is requested a second time there.
    fn read_recorded(&self) -> Result<BTreeSet<String>, FrontierError> {
        let view = View::connect(&self.address, None)?;
        let mut pages = BTreeSet::new();
        view.pages(&PageFilter::default(), |page| {
            let url = self.lab.fold(&page.url());
            let target = page.record.redirect.as_deref();
            let is_twin = target.is_some_and(|target| self.lab.fold(target) == url);
            if matches!(page.record.outcome, Outcome::Answer(_)) && !is_twin {
                pages.insert(url);
            }
            true
        })?;
        Ok(pages)
    }

    /// Waits until every page is recorded.
    async fn finish(&mut self) {
        let expected: BTreeSet<String> = expected(&self.lab).into_keys().collect();
        let begun = Instant::now();
        loop {
            let recorded = self.read_recorded().expect("pages are listed");
            let missing: Vec<_> = expected.difference(&recorded).collect();
            if missing.is_empty() {
                return;
            }
            assert!(
                begun.elapsed() < Duration::from_secs(self.trial.limit),
                "{} of {} pages are missing, such as {:?}; {}",
                missing.len(),
                expected.len(),
                &missing[..missing.len().min(5)],
                self.report(),
            );
            self.wait_until(Instant::now() + Duration::from_millis(500))
                .await;
        }
    }

    fn folders(&self) -> Vec<PathBuf> {
        let lead = self.folders.path().join("lead");
        let nodes = self.nodes.folders().into_iter().map(Path::to_path_buf);
        nodes.chain([lead]).collect()
    }

    /// The output of `aranha pages --json`.
    fn pages(&self, more: &[&str]) -> Output {
        let mut command = aranha();
        command.args(["pages", "--json", "--frontier", &self.address]);
        run(command.args(["-c", "/nonexistent"]).args(more))
    }

    /// All page records, also earlier ones of the same page.
    fn history(&self) -> Vec<Value> {
        let output = self.pages(&["--history"]);
        assert_status(&output, 0);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let records = text.lines();
        records
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect()
    }

    /// A command that reads or changes the folder of a node.
    fn command(&self, arguments: &[&str], folder: &Path) -> Command {
        let mut command = aranha();
        command.args(arguments).arg("-c").arg(folder);
        command.envs(store_environment(self.store_link.port));
        command
    }

    /// Uploads the volumes that the nodes have left, and judges all archives.
    fn judge_archive(&self) -> ArchiveReport {
        let folders = self.folders();
        for folder in &folders {
            assert_status(&run(&mut self.command(&["ship"], folder)), 0);
        }
        let folders: Vec<&Path> = folders.iter().map(PathBuf::as_path).collect();
        judge::judge_archive(&folders, |arguments, folder| {
            self.command(arguments, folder)
        })
    }

    /// Pages that were requested again after they had been recorded.
    fn repeats_of_recorded(&self) -> Vec<String> {
        judge::repeats_of_recorded(&self.recorded, &self.lab.log(), |request| self.url(request))
    }

    fn report(&self) -> String {
        let log = self.lab.log();
        let mut messages: BTreeMap<String, usize> = BTreeMap::new();
        for message in self.nodes.messages() {
            *messages.entry(message).or_default() += 1;
        }
        let messages = messages
            .iter()
            .map(|(text, count)| format!("  {count} times: {text}\n"));
        format!(
            "{} requests, {} of them for pages that were lost before they were recorded; the database was killed {} times, and {} ways to it were cut; the store failed {} \
             times; {:?}\nmessages of the nodes:\n{}",
            log.len(),
            judge::repeats(&log),
            self.crashes,
            self.cuts,
            self.store_faults,
            self.nodes.counts,
            messages.collect::<String>(),
        )
    }
}

/// What one machine finds if nothing is disturbed.
async fn undisturbed(lab: &Lab) -> Pages {
    let folders = tempfile::tempdir().expect("a folder");
    let folder = folders.path().join("alone");
    assert_status(&finish(crawl(lab, &folder, "1ms")).await, 0);
    lab.clear();
    let mut pages = aranha();
    pages.args(["pages", "--json", "-c"]).arg(&folder);
    pages_of(lab, &run(&mut pages))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disturbed_crawl_is_polite_and_complete() {
    let trial = Trial::new();
    let lab = Lab::start(trial.plan()).await.expect("the lab starts");
    let undisturbed = undisturbed(&lab).await;
    let mut court = Court::open(trial, lab, "", "").await;
    court.disturb().await;
    court.finish().await;
    court.nodes.leave().await;
    println!("{}", court.report());
    assert_eq!(court.violations(), [], "{}", court.report());
    assert_eq!(court.repeats_of_recorded(), Vec::<String>::new());
    let history = court.history();
    let twice = judge::recorded_twice(&court.lab, &history);
    assert_eq!(twice, Vec::<String>::new());

    let pages = pages_of(&court.lab, &court.pages(&[]));
    let difference: Vec<_> = undisturbed
        .iter()
        .filter(|(url, page)| pages.get(*url) != Some(page))
        .collect();
    assert_eq!(difference, []);
    assert_eq!(pages.len(), undisturbed.len());
    assert_eq!(pages.len(), expected(&court.lab).len());

    let archive = court.judge_archive();
    let stored = history
        .iter()
        .filter(|record| record["archive"]["volume_id"].is_string())
        .count();
    println!(
        "{} pages in the end, as in the undisturbed crawl; {stored} page records with a stored response, {} of them verified in {} \
         volumes; {} stored responses without a record, {} of them listed as lost leases",
        pages.len(),
        archive.pages,
        archive.volumes,
        archive.orphans,
        archive.unrecorded
    );
    assert_eq!(archive.problems, Vec::<String>::new());
    assert_eq!(archive.pages, stored as u64);
    // The store alone has everything.
    let copy = court.folders.path().join("copy");
    let volumes = judge::copy_store(&court.store, PREFIX, &copy);
    assert_eq!(volumes as u64, archive.volumes, "all volumes are uploaded");
    let view = View::connect(&court.address, None).expect("the frontier opens");
    let (read, wrong) = judge::judge_records(&view, &copy);
    assert_eq!((read, wrong), (stored, Vec::new()));

    // The judges find a volume that is lost.
    let lost = history
        .iter()
        .find_map(|record| record["archive"]["volume_id"].as_str());
    let lost = format!("{}-", lost.expect("a volume"));
    let objects = court.store.objects(PREFIX).into_iter();
    for object in objects.filter(|object| object.contains(&lost)) {
        court.store.request("DELETE", &format!("/archive/{object}"));
        let _ = std::fs::remove_file(copy.join("archive").join(&object[PREFIX.len()..]));
    }
    let (_, wrong) = judge::judge_records(&view, &copy);
    assert_ne!(wrong, Vec::<String>::new());
    let archive = court.judge_archive();
    assert_ne!(archive.problems, Vec::<String>::new());
}

/// A node goes on while the database is away, and is killed before the database is back. The pages that it fetched meanwhile
/// are recorded by the next process, so few of them are fetched again.
#[tokio::test(flavor = "multi_thread")]
async fn pages_of_an_outage_survive_a_kill() {
    let trial = Trial {
        nodes: 1,
        sites: 15,
        smallest: 35,
        ..Trial::new()
    };
    let lab = Lab::start(trial.plan()).await.expect("the lab starts");
    let mut court = Court::open(trial, lab, "", "").await;
    court.lab.wait_for_requests(60).await;
    court.database.crash();
    let crashed = Instant::now();
    // The node sends requests until its deadline. Then nothing happens any more.
    court
        .wait_until(crashed + trial.ttl() + Duration::from_secs(1))
        .await;
    let fetched = court.lab.log_since(crashed);
    court.nodes.kill(0);
    court.database.restart().expect("PostgreSQL starts again");
    court.finish().await;
    assert_eq!(court.violations(), [], "{}", court.report());
    let pages: BTreeSet<_> = fetched
        .iter()
        .filter(|request| request.path != "/robots.txt")
        .map(|request| (&request.host, &request.path))
        .collect();
    let later = court.lab.log();
    let again = later.iter().filter(|request| {
        request.started > crashed && pages.contains(&(&request.host, &request.path))
    });
    let again = again.count() - pages.len();
    println!("{} pages in the outage, {again} again", pages.len());
    assert!(pages.len() > 40, "{} pages", pages.len());
    assert!(again * 3 < pages.len(), "{again} of {} again", pages.len());
}

/// The judge finds violations if the nodes have no fence.
#[tokio::test(flavor = "multi_thread")]
async fn nodes_without_a_fence_break_the_pause() {
    // Sites that are still visited when a stopped node continues.
    let trial = Trial {
        smallest: 200,
        ttl: 2000,
        ..Trial::new()
    };
    let lab = Lab::start(trial.plan()).await.expect("the lab starts");
    let mut court = Court::open(trial, lab, "fence=off:", "").await;
    let begun = Instant::now();
    while court.violations().is_empty() && begun.elapsed() < Duration::from_mins(1) {
        // One node remains, and gets the sites of the others.
        court.wait_until(Instant::now() + trial.ttl()).await;
        (1..trial.nodes).for_each(|node| court.nodes.stop(node));
        let until = Instant::now() + trial.long_stop();
        court.wait_until(until).await;
        (1..trial.nodes).for_each(|node| court.nodes.go_on(node));
    }
    println!("{}", court.report());
    assert!(!court.violations().is_empty(), "{}", court.report());
}

/// The judge finds violations if every node may claim the gate of an address.
#[tokio::test(flavor = "multi_thread")]
async fn nodes_without_gates_break_the_pause_of_an_address() {
    const NO_OWNER: &str = "CREATE FUNCTION no_owner() RETURNS trigger LANGUAGE plpgsql AS \
        $$ BEGIN NEW.node := NULL; NEW.free := 0; RETURN NEW; END $$; \
        CREATE TRIGGER no_owner BEFORE INSERT OR UPDATE ON gates FOR EACH ROW EXECUTE FUNCTION no_owner()";
    let trial = Trial::new();
    let lab = Lab::start(trial.plan()).await.expect("the lab starts");
    let mut court = Court::open(trial, lab, "", NO_OWNER).await;
    let begun = Instant::now();
    while court.violations().is_empty() && begun.elapsed() < Duration::from_mins(1) {
        let until = Instant::now() + Duration::from_millis(200);
        court.wait_until(until).await;
    }
    let violations = court.violations();
    let is_address = |violation: &Violation| matches!(violation.scope, CourtesyScope::Address(_));
    assert!(!violations.is_empty(), "{}", court.report());
    assert!(violations.iter().all(is_address), "{violations:?}");
}
