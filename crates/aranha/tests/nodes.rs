//! Crawls of several nodes that share a frontier in PostgreSQL. Each test has a schema of its own on a private server. The
//! file is long because it is a list of whole crawls.

#[path = "process/mod.rs"]
mod process;
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use aranha_lab::{CourtesyScope, Lab, Plan};
use aranha_test_database::{ROLE_WITH_PASSWORD, address_for, new_address, sql};
use process::{BackgroundProcess, assert_error, run};
use serde_json::Value;
use support::{answered, aranha, assert_status, assert_valid, crawl, expected, finish};

const PAUSE: Duration = Duration::from_millis(40);

/// A lab, a schema, and a folder for the folders of nodes.
struct Cluster {
    lab: Lab,
    address: String,
    folders: tempfile::TempDir,
}

impl Cluster {
    async fn start() -> Self {
        Self {
            lab: Lab::start(Plan::small(7)).await.expect("the lab starts"),
            address: new_address(),
            folders: tempfile::tempdir().expect("a folder"),
        }
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.folders.path().join(name)
    }

    /// The command that begins the crawl of the whole lab.
    fn crawl(&self, name: &str, pause: &str) -> Command {
        let mut command = crawl(&self.lab, &self.folder(name), pause);
        let settings = "[crawl]\ncheck_in_interval = \"100ms\"\npause_factor = 0\nmax_pause = \"100ms\"\n\
                        [frontier]\nnode_timeout = \"3s\"\n";
        let file = self.folder(name).with_extension("settings.toml");
        std::fs::write(file, settings).expect("writes");
        command.args(["--frontier", &self.address]);
        command.args(["--set", &format!("frontier.node={name}")]);
        command
    }

    /// Fetches one page, so that nodes find a crawl with settings and seeds.
    async fn begin(&self, pause: &str) {
        let mut command = self.crawl("lead", pause);
        command.args(["--pages", "1"]);
        assert_status(&finish(command).await, 0);
    }

    fn node(&self, name: &str) -> Command {
        let mut command = aranha();
        command.args(["node", "--quiet", "--frontier", &self.address, "-c"]);
        command.arg(self.folder(name));
        command.args(["--set", &format!("frontier.node={name}")]);
        command
    }

    fn start_node(&self, name: &str, arguments: &[&str]) -> BackgroundProcess {
        let mut command = self.node(name);
        command.args(arguments);
        BackgroundProcess::start(command)
    }

    /// The output of a command without a folder.
    fn read(&self, arguments: &[&str]) -> Output {
        let mut command = aranha();
        command.args(arguments).args(["--frontier", &self.address]);
        command.args(["-c", "/nonexistent"]);
        run(&mut command)
    }

    fn read_json(&self, arguments: &[&str]) -> Vec<Value> {
        let output = self.read(&[arguments, &["--json"]].concat());
        assert_status(&output, 0);
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        text.lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect()
    }

    /// The state of each node by name.
    fn states(&self) -> BTreeMap<String, String> {
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let nodes = self.read_json(&["nodes"]).into_iter();
        nodes
            .map(|node| (text(&node["name"]), text(&node["state"])))
            .collect()
    }

    /// The HTTP status of every fetched page, by URL in the lab's canonical form.
    fn answered(&self) -> BTreeMap<String, u64> {
        let pages = self.read_json(&["pages"]).into_iter();
        pages
            .filter_map(|page| {
                let url = self.lab.fold(page["url"].as_str()?);
                Some((url, page["status"].as_u64()?))
            })
            .collect()
    }

    /// Waits until the condition holds.
    async fn until(&self, what: &str, condition: impl Fn(&Self) -> bool) {
        let start = Instant::now();
        while !condition(self) {
            assert!(
                start.elapsed() < Duration::from_mins(2),
                "not in time: {what}"
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Pages that were requested more than once, on the same host.
    fn fetched_twice(&self) -> Vec<(String, usize)> {
        let mut counts = BTreeMap::new();
        for request in self.lab.log() {
            if request.path != "/robots.txt" {
                *counts
                    .entry(format!("{}{}", request.host, request.path))
                    .or_default() += 1;
            }
        }
        counts.into_iter().filter(|(_, times)| *times > 1).collect()
    }

    /// Violations of the pause per site. Those per address are not looked at here.
    fn site_violations(&self) -> Vec<String> {
        let violations = self.lab.violations(PAUSE).into_iter();
        violations
            .filter(|violation| matches!(violation.scope, CourtesyScope::Site(_)))
            .map(|violation| format!("{violation:?}"))
            .collect()
    }
}

async fn end_all(nodes: impl IntoIterator<Item = BackgroundProcess>, status: i32) {
    for mut node in nodes {
        assert_status(&node.wait().await, status);
    }
}

/// What a command prints, without times, sizes and process state.
fn printed(output: &Output) -> String {
    assert_status(output, 0);
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

#[tokio::test(flavor = "multi_thread")]
async fn one_node_finds_what_the_embedded_engine_finds() {
    let cluster = Cluster::start().await;
    let alone = cluster.folder("alone");
    assert_status(&finish(crawl(&cluster.lab, &alone, "5ms")).await, 0);
    assert_status(&finish(cluster.crawl("lead", "5ms")).await, 0);
    let lead = cluster.folder("lead");
    assert!(!lead.join("frontier.db").exists());
    assert_eq!(
        answered(&cluster.lab, &lead),
        answered(&cluster.lab, &alone)
    );
    assert_eq!(cluster.answered(), expected(&cluster.lab));
    assert_valid(&lead);
    // The folder remembers its frontier, and the commands print the same.
    let of = |folder: &Path, arguments: &[&str]| {
        let mut command = aranha();
        let text = printed(&run(command.args(arguments).arg("-c").arg(folder)));
        // Which of two twins is linked first decides under which name the pages of a site are stored.
        text.replace("//www.", "//")
    };
    let sorted = |text: String| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
    let seeds = cluster.lab.seeds();
    for arguments in [
        vec!["links", &seeds[0]],
        vec!["text", &seeds[0]],
        vec!["cat", &seeds[0]],
        vec!["export", "links"],
    ] {
        assert_eq!(
            sorted(of(&lead, &arguments)),
            sorted(of(&alone, &arguments)),
            "{arguments:?}"
        );
    }
    // Numbers of fetches and bytes are not compared. They depend on which of two twins is linked first, because one of them
    // redirects to the other.
    for (arguments, fields) in [
        (
            vec!["sites", "--json"],
            vec!["site", "state", "known", "done", "queued"],
        ),
        (
            vec!["seed", "list", "--json"],
            vec!["url", "status", "outcome", "redirect"],
        ),
        (vec!["status", "--json"], vec!["sites", "pages", "seeds"]),
        (vec!["why", &seeds[0], "--json"], vec!["url", "known"]),
        (
            vec!["history", &seeds[0], "--json"],
            vec!["status", "digest"],
        ),
        (vec!["changes", "--json"], vec!["url", "change"]),
    ] {
        let chosen = |folder: &Path| {
            let text = of(folder, &arguments);
            let lines = text.lines().map(|line| {
                let value: Value = serde_json::from_str(line).unwrap();
                fields
                    .iter()
                    .map(|field| value[*field].to_string())
                    .collect()
            });
            lines.collect::<BTreeSet<Vec<String>>>()
        };
        assert_eq!(chosen(&lead), chosen(&alone), "{arguments:?}");
    }
    let check = of(&lead, &["check"]);
    assert_eq!(check, "");
    // `ship` finds the crawl of the folder.
    let refused = run(aranha().args(["ship", "-c"]).arg(&lead));
    assert_error(&refused, 2, "no object store is configured");
    // A second crawl sends no request, because no page is due.
    cluster.lab.clear();
    let mut again = aranha();
    again.args(["crawl", "--quiet", "-c"]).arg(&lead);
    again.args(["--resolver", &cluster.lab.resolver().to_string()]);
    assert_status(&finish(again).await, 0);
    assert_eq!(cluster.lab.count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn four_nodes_fetch_every_page_once() {
    let cluster = Cluster::start().await;
    cluster.begin("40ms").await;
    let names = ["n1", "n2", "n3", "n4"];
    let nodes = names.map(|name| cluster.start_node(name, &["--idle-exit", "--sites", "3"]));
    end_all(nodes, 0).await;
    assert_eq!(cluster.answered(), expected(&cluster.lab));
    assert_eq!(cluster.fetched_twice(), []);
    assert_eq!(cluster.site_violations(), Vec::<String>::new());
    assert!(
        cluster.states().values().all(|state| state == "left"),
        "{:?}",
        cluster.states()
    );
    // Each node stores its own pages, under a name that no other node uses.
    let pages = cluster.read_json(&["pages"]);
    let volumes: BTreeSet<_> = pages
        .iter()
        .filter_map(|page| page["archive"]["volume_id"].as_str())
        .collect();
    let folders: BTreeSet<_> = volumes
        .iter()
        .filter_map(|id| id.split('.').next())
        .collect();
    assert!(folders.len() >= 3, "most nodes fetched pages: {volumes:?}");
    let (mut own, mut totals) = (0, BTreeSet::new());
    for name in ["lead", "n1", "n2", "n3", "n4"] {
        let mut check = aranha();
        check
            .args(["check", "--json", "-c"])
            .arg(cluster.folder(name));
        let report: Value = serde_json::from_str(&printed(&run(&mut check))).unwrap();
        assert_eq!(report["faults"], Value::Array(Vec::new()), "{name}");
        let pages = report["pages"].as_u64().unwrap();
        own += pages;
        totals.insert(pages + report["pages_elsewhere"].as_u64().unwrap());
    }
    // Each stored response is in exactly one folder.
    assert_eq!(totals.into_iter().collect::<Vec<_>>(), [own]);
    // A page of another node is not missing.
    let page = pages.iter().find(|page| {
        let is_full = page["status"] == 200 && page["type"] == "text/html";
        is_full && page["archive"]["volume_id"].is_string()
    });
    let page = page.expect("pages were fetched");
    let (number, _) = page["archive"]["volume_id"]
        .as_str()
        .unwrap()
        .split_once('.')
        .unwrap();
    let is_owner = |name: &&str| {
        let file = std::fs::read_to_string(cluster.folder(name).join("node.toml")).unwrap();
        file.contains(&format!("folder = {}\n", &number[1..]))
    };
    for name in ["lead", "n1", "n2", "n3", "n4"] {
        let mut cat = aranha();
        cat.args(["cat", page["url"].as_str().unwrap(), "-c"])
            .arg(cluster.folder(name));
        let output = run(&mut cat);
        if is_owner(&name) {
            assert_status(&output, 0);
        } else {
            assert_error(&output, 1, &format!("in volume {number}.0000"));
        }
    }
}

/// `check` called the revisit records of a node faulty if another node has the originals, and `check --repair` fetched the
/// pages again.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_has_not_changed_since_another_node_stored_it_is_no_fault() {
    let cluster = Cluster::start().await;
    assert_status(&finish(cluster.crawl("lead", "5ms")).await, 0);
    for _ in 0..2 {
        let mut again = cluster.crawl("other", "5ms");
        again.arg("--again");
        assert_status(&finish(again).await, 0);
    }
    let check = |flags: &[&str]| -> Value {
        let mut check = aranha();
        check.args(["check", "--json"]).args(flags);
        check.arg("-c").arg(cluster.folder("other"));
        serde_json::from_str(&printed(&run(&mut check))).unwrap()
    };
    let report = check(&[]);
    assert_eq!(report["faults"], Value::Array(Vec::new()));
    let elsewhere = report["originals_elsewhere"].as_u64().unwrap();
    assert!(elsewhere > 100, "{elsewhere} revisit records");
    assert_eq!(check(&["--repair"])["repaired"]["lost_pages"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pages_of_a_killed_node_are_fetched_by_others() {
    let cluster = Cluster::start().await;
    cluster.begin("40ms").await;
    let mut victim = cluster.start_node("victim", &[]);
    cluster
        .until("the node holds sites", |cluster| {
            let nodes = cluster.read_json(&["nodes"]);
            let is_busy =
                |node: &Value| node["name"] == "victim" && node["sites"].as_u64() > Some(0);
            nodes.iter().any(is_busy) && cluster.lab.count() > 20
        })
        .await;
    victim.signal("KILL");
    victim.wait().await;
    // Without another node, nobody gives its sites back until somebody asks.
    cluster
        .until("the node counts as dead", |cluster| {
            cluster.states()["victim"] == "dead"
        })
        .await;
    let given_back = cluster.read_json(&["unlock", "victim"]);
    assert!(given_back[0]["sites"].as_u64() > Some(0), "{given_back:?}");
    assert_eq!(cluster.read_json(&["status"])[0]["sites"]["leased"], 0);
    let other = cluster.start_node("other", &[]);
    let mut lead = aranha();
    lead.args(["crawl", "--quiet", "-c"])
        .arg(cluster.folder("lead"));
    // One site at a time, so that it often has nothing to do while the other node visits sites.
    lead.args(["--sites", "1", "--set", "crawl.idle_wait=10ms"]);
    assert_status(&finish(lead).await, 0);
    assert_eq!(
        cluster.answered(),
        expected(&cluster.lab),
        "the whole crawl is over"
    );
    other.signal("INT");
    end_all([other], 130).await;
    assert_eq!(cluster.states()["victim"], "dead");
    assert_eq!(cluster.site_violations(), Vec::<String>::new());
    // What the victim had written and not checked in is listed, and the pages are known.
    let mut clean = aranha();
    clean
        .args(["clean", "--json", "-c"])
        .arg(cluster.folder("victim"));
    let found: Value = serde_json::from_str(&printed(&run(&mut clean))).unwrap();
    assert_eq!(found["adopted"], 0);
    assert!(found["orphans"].is_array(), "{found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_drains_and_another_leaves_on_ctrl_c() {
    let cluster = Cluster::start().await;
    cluster.begin("200ms").await;
    let mut drained = cluster.start_node("drained", &["--sites", "3", "--set", "crawl.quantum=1s"]);
    let mut stopped = cluster.start_node("stopped", &["--sites", "3"]);
    cluster
        .until("both nodes are at work", |cluster| {
            let nodes = cluster.read_json(&["nodes"]);
            nodes
                .iter()
                .filter(|node| node["sites"].as_u64() > Some(0))
                .count()
                == 2
        })
        .await;
    assert_error(
        &cluster.read(&["unlock", "drained"]),
        1,
        "gave a sign of life",
    );
    assert_error(&cluster.read(&["drain", "nobody"]), 1, "no node `nobody`");
    assert_status(&cluster.read(&["drain", "drained"]), 0);
    assert_status(&drained.wait().await, 0);
    stopped.signal("INT");
    assert_status(&stopped.wait().await, 130);
    let states = cluster.states();
    assert_eq!(
        (states["drained"].as_str(), states["stopped"].as_str()),
        ("left", "left")
    );
    let status = &cluster.read_json(&["status"])[0];
    assert_eq!(status["sites"]["leased"], 0, "all sites were given back");
    assert_eq!(cluster.fetched_twice(), []);
    // The rest is fetched, each page once.
    let mut rest = aranha();
    rest.args(["crawl", "--quiet", "--pause", "5ms", "-c"])
        .arg(cluster.folder("lead"));
    assert_status(&finish(rest).await, 0);
    assert_eq!(cluster.answered(), expected(&cluster.lab));
    assert_eq!(cluster.fetched_twice(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blocked_site_is_blocked_on_all_nodes() {
    let cluster = Cluster::start().await;
    cluster.begin("300ms").await;
    let nodes = ["n1", "n2"].map(|name| cluster.start_node(name, &["--sites", "3"]));
    cluster
        .until("both nodes are at work", |cluster| {
            let nodes = cluster.read_json(&["nodes"]);
            nodes
                .iter()
                .filter(|node| node["sites"].as_u64() > Some(0))
                .count()
                == 2
        })
        .await;
    assert_status(
        &cluster.read(&["block", "*.lab", "lab", "--reason", "a test"]),
        0,
    );
    cluster
        .until("all nodes have the entry", |cluster| {
            ["n1", "n2"].iter().all(|name| {
                let list = std::fs::read_to_string(cluster.folder(name).join("blacklist.txt"));
                list.is_ok_and(|list| list.contains("*.lab  # a test"))
            })
        })
        .await;
    cluster
        .until("no site is visited", |cluster| {
            cluster.read_json(&["status"])[0]["sites"]["leased"] == 0
        })
        .await;
    let count = cluster.lab.count();
    let blocked = cluster.read_json(&["status", "--blocked"]);
    assert!(!blocked.is_empty());
    assert_status(&cluster.read(&["unblock", "*.lab", "lab"]), 0);
    cluster
        .until("the nodes visit sites again", |cluster| {
            cluster.lab.count() > count
        })
        .await;
    for node in &nodes {
        node.signal("TERM");
    }
    end_all(nodes, 130).await;
}

/// The URLs of orphans whose lease was lost.
fn lost_leases(found: &Value) -> Vec<&Value> {
    let orphans = found["orphans"].as_array().expect("a list").iter();
    let lost = orphans.filter(|orphan| orphan["lost_lease"] == true);
    lost.map(|orphan| &orphan["url"]).collect()
}

/// The archive of one collection beside the frontier of another one: the second does not know the pages.
#[tokio::test(flavor = "multi_thread")]
async fn stored_responses_without_a_record_are_adopted_once() {
    let lab = Lab::start(Plan::small(7)).await.unwrap();
    let folders = tempfile::tempdir().unwrap();
    let (old, new) = (folders.path().join("old"), folders.path().join("new"));
    assert_status(&finish(crawl(&lab, &old, "1ms")).await, 0);
    let seed = &lab.seeds()[0];
    let mut add = aranha();
    add.args(["seed", "add", seed, "-c"]).arg(&new);
    assert_status(&run(&mut add), 0);
    for part in ["archive", "indexes"] {
        std::fs::rename(old.join(part), new.join(part)).unwrap();
    }
    let clean = |arguments: &[&str]| -> Value {
        let mut command = aranha();
        command.args(["clean", "--json", "-c"]).arg(&new);
        serde_json::from_str(&printed(&run(command.args(arguments)))).unwrap()
    };
    let mut found = clean(&[]);
    assert_eq!(lost_leases(&found), Vec::<&Value>::new());
    // As if the lease of one of them had been lost. The second line was cut by a crash.
    let lost = found["orphans"][3].clone();
    let line = format!(
        "{{\"lease\":7,\"path\":\"/\",\"time\":1,\"volume\":{},\"offset\":{},\"length\":9}}\n{{\"lea",
        lost["volume_id"], lost["offset"]
    );
    std::fs::write(new.join("unrecorded.jsonl"), line).unwrap();
    found = clean(&[]);
    assert_eq!(lost_leases(&found), [&lost["url"]]);
    let orphans = found["orphans"].as_array().unwrap();
    let known: Vec<_> = orphans
        .iter()
        .filter(|orphan| orphan["known"] == true)
        .collect();
    assert_eq!(known.len(), 1, "only the seed is known");
    assert_eq!(lab.fold(known[0]["url"].as_str().unwrap()), lab.fold(seed));
    assert_eq!(
        (&found["adopted"], &found["dead_nodes"]),
        (&Value::from(0), &Value::Null)
    );
    let adopted = clean(&["--adopt"])["adopted"].as_u64().unwrap();
    assert!(adopted > 50, "{adopted} pages");
    let again = clean(&["--adopt"]);
    assert_eq!(
        (
            &again["adopted"],
            again["orphans"].as_array().unwrap().len()
        ),
        (&Value::from(0), 1)
    );
    let mut check = aranha();
    check.arg("check").arg("-c").arg(&new);
    assert_eq!(printed(&run(&mut check)), "");
    // The next crawl requests the adopted pages once more, and then knows their links.
    assert_status(&finish(crawl(&lab, &new, "1ms")).await, 0);
    let (found, expected) = (answered(&lab, &new), expected(&lab));
    let differences: Vec<_> = expected
        .iter()
        .filter(|(url, status)| found.get(*url) != Some(status))
        .collect();
    assert_eq!(differences, []);
    let extra: Vec<_> = found
        .iter()
        .filter(|(url, _)| !expected.contains_key(*url))
        .collect();
    assert_eq!(extra, []);
}

/// A seed that a command adds is in the scope of nodes that run already.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_seed_reaches_a_node_that_waits() {
    let cluster = Cluster::start().await;
    let seeds = cluster.lab.seeds();
    let mut command =
        support::crawl_from(&seeds[..1], &cluster.lab, &cluster.folder("lead"), "1ms");
    command.args(["--set", "crawl.scope=page", "--frontier", &cluster.address]);
    assert_status(&finish(command).await, 0);
    let mut node = cluster.start_node("n1", &[]);
    cluster
        .until("the node has joined", |cluster| {
            cluster.states().contains_key("n1")
        })
        .await;
    assert_status(&cluster.read(&["seed", "add", &seeds[1]]), 0);
    let url = cluster.lab.fold(&seeds[1]);
    cluster
        .until("the seed is fetched", |cluster| {
            cluster.answered().contains_key(&url)
        })
        .await;
    node.signal("INT");
    assert_status(&node.wait().await, 130);
}

#[test]
fn what_is_wrong_with_a_frontier_is_said_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let status = |address: &str, folder: &Path, variables: &[(&str, &str)]| {
        let mut command = aranha();
        command.args([
            "crawl",
            "https://example.org",
            "--contact",
            "me@example.org",
        ]);
        command
            .args(["--quiet", "--frontier", address, "-c"])
            .arg(folder);
        command.env_remove("PGPASSWORD").env("HOME", "/nonexistent");
        command.envs(variables.iter().copied());
        run(&mut command)
    };
    let new = folder.path().join("new");
    let check = |address: &str, variables: &[(&str, &str)], code: i32, sentence: &str| {
        let output = status(address, &new, variables);
        assert_error(&output, code, sentence);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!stderr.contains("s3cret"), "{stderr}");
        stderr
    };
    check(
        "postgres://crawl:s3cret@127.0.0.1:1/none",
        &[],
        1,
        "is away",
    );
    check(
        "mysql://crawl:s3cret@h/n",
        &[],
        2,
        "not the address of a frontier",
    );
    sql(&format!(
        "CREATE ROLE {ROLE_WITH_PASSWORD} LOGIN PASSWORD 'right'"
    ));
    let address = address_for(ROLE_WITH_PASSWORD, "own");
    let stderr = check(
        &address,
        &[("PGPASSWORD", "s3cret")],
        1,
        "password authentication failed",
    );
    assert!(stderr.contains("PGPASSWORD"), "{stderr}");
    check(&address, &[], 1, "no password was found");
    let stderr = check(&address, &[("PGPASSWORD", "right")], 1, "permission denied");
    let statement = format!("CREATE SCHEMA own AUTHORIZATION {ROLE_WITH_PASSWORD} ");
    assert!(stderr.contains(&statement), "{stderr}");
    sql(
        "CREATE SCHEMA newer; CREATE TABLE newer.layout (version int8); INSERT INTO newer.layout VALUES (99)",
    );
    check(&address_for("aranha", "newer"), &[], 1, "has layout 99");
    check(
        &address.replace("/postgres?", "/absent?"),
        &[("PGPASSWORD", "right")],
        1,
        "does not exist",
    );
    assert!(!new.join("archive").exists());

    // A folder has one frontier.
    let mut seed = aranha();
    seed.args(["seed", "add", "https://example.org", "-c"])
        .arg(folder.path().join("own"));
    assert_status(&run(&mut seed), 0);
    let output = status(&new_address(), &folder.path().join("own"), &[]);
    assert_error(&output, 2, "has a frontier of its own");
    // A node needs a crawl.
    let mut node = aranha();
    node.args(["node", "--frontier", &new_address(), "-c"])
        .arg(&new);
    assert_error(&run(&mut node), 2, "there is no crawl at");
    let mut nodes = aranha();
    nodes.args(["nodes", "-c"]).arg(folder.path().join("own"));
    assert_error(&run(&mut nodes), 2, "no nodes");
}
