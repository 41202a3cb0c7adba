//! Depth and intervals that the user sets for a seed: the server's log shows which pages were requested on each day.

use std::path::Path;
use std::time::SystemTime;

use serde_json::Value;

use crate::daily::{DAY, crawl_seeds};
use crate::scripted_site::{ScriptedSite, links, page};
use crate::support::{aranha, assert_status};

/// A chain of pages that never change: `/`, `/1`, `/1/2`, `/1/2/3`.
fn chain() -> ScriptedSite {
    ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        "/" => links(&["/1"]),
        "/1" => links(&["/1/2"]),
        "/1/2" => links(&["/1/2/3"]),
        path => page(path),
    })
}

/// Runs aranha on the collection, and returns what it prints.
fn run(folder: &Path, arguments: &[&str]) -> String {
    let mut command = aranha();
    let collection = folder.join("c");
    let output = command.args(arguments).arg("-c").arg(collection).output();
    let output = output.unwrap();
    assert_status(&output, 0);
    String::from_utf8(output.stdout).unwrap()
}

/// The settings of each seed, as `seed list --json` prints them.
fn listed(folder: &Path) -> Vec<Value> {
    let text = run(folder, &["seed", "list", "--json"]);
    let seeds = text.lines().map(|line| serde_json::from_str(line).unwrap());
    seeds
        .map(|mut seed: Value| seed["settings"].take())
        .collect()
}

/// Noon of a day, unix milliseconds. Day 0 is tomorrow, because commands add seeds at the real time.
fn noon(day: i64) -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let today = now.unwrap().as_millis() as i64 / DAY;
    (today + 1 + day) * DAY + DAY / 2
}

/// Crawls on one day without adding seeds, and returns the paths that `site` was asked for.
fn crawl(day: i64, folder: &Path, site: &ScriptedSite, revisit: &str) -> Vec<String> {
    let before = site.requests().len();
    let revisit = format!("spread = 0\n{revisit}\n");
    crawl_seeds(noon(day), folder, &[], &revisit);
    site.requests().split_off(before)
}

#[test]
fn a_seed_has_a_depth_of_its_own() {
    let (shallow, other) = (chain(), chain());
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let seed = shallow.url("/");
    run(folder, &["seed", "add", &seed, "--depth", "1"]);
    run(folder, &["seed", "add", &other.url("/")]);
    assert_eq!(crawl(0, folder, &shallow, "every = \"1d\""), ["/", "/1"]);
    assert_eq!(other.requests(), ["/", "/1", "/1/2", "/1/2/3"]);
    let why = run(folder, &["why", &shallow.url("/1/2")]);
    assert!(why.contains("set for its seeds: depth=1"), "{why}");
    let json = run(folder, &["why", &shallow.url("/1/2"), "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["settings"]["depth"], 1);

    // A repeated seed keeps its depth. A higher depth applies to links of pages that were read before.
    run(folder, &["seed", "add", &seed]);
    let depths = |folder: &Path| -> Vec<Value> {
        listed(folder)
            .iter()
            .map(|settings| settings["depth"].clone())
            .collect()
    };
    assert_eq!(depths(folder), [Value::from(1), Value::Null]);
    run(folder, &["seed", "add", &seed, "--depth", "2"]);
    let revisit = "policy = \"never\"";
    assert_eq!(crawl(0, folder, &shallow, revisit), ["/1/2"]);
    // The page at the old limit was not read again for a smaller depth, and the other site was left alone.
    run(folder, &["seed", "add", &seed, "--depth", "none"]);
    assert_eq!(depths(folder), [Value::from("none"), Value::Null]);
    assert_eq!(crawl(0, folder, &shallow, revisit), ["/1/2/3"]);
    run(folder, &["seed", "add", &seed, "--depth", "default"]);
    assert_eq!(depths(folder), [Value::Null, Value::Null]);
    assert_eq!(other.requests().len(), 4);
}

#[test]
fn a_seed_has_intervals_of_its_own() {
    let (slow, daily, other) = (chain(), chain(), chain());
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let lines = format!(
        "{} every=3d\n{} max_every=1d depth=1\n{}\n",
        slow.url("/"),
        daily.url("/"),
        other.url("/")
    );
    let file = folder.join("seeds.txt");
    std::fs::write(&file, lines).unwrap();
    let file = file.to_str().unwrap();
    run(folder, &["seed", "import", file]);
    let settings = listed(folder);
    assert_eq!(settings[0]["every"], "3d");
    assert_eq!(
        (&settings[1]["max_every"], &settings[1]["depth"]),
        (&"1d".into(), &1.into())
    );
    assert!(
        settings[2]
            .as_object()
            .unwrap()
            .values()
            .all(Value::is_null)
    );

    // Days on which the home page of each site was requested.
    let mut days = [const { Vec::new() }; 3];
    for day in 0..9 {
        let sites = [&slow, &daily, &other];
        let before = sites.map(|site| site.requests().len());
        crawl(day, folder, &other, "policy = \"frequency\"");
        for ((site, before), days) in sites.into_iter().zip(before).zip(&mut days) {
            if site.requests()[before..].contains(&"/".to_owned()) {
                days.push(day);
            }
        }
    }
    // The pages never change, so `frequency` lengthens the intervals, except where the user has set the longest.
    assert_eq!(days[0], [0, 3, 5, 7]);
    assert_eq!(days[1], [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(days[2], [0, 1, 2, 4, 7]);
}

#[test]
fn wrong_settings_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("seeds.txt");
    std::fs::write(&file, "http://a.example/ depth=x\n").unwrap();
    let file = file.to_str().unwrap();
    for arguments in [
        ["seed", "import", file].as_slice(),
        &["crawl", "--allow-private", "-i", file],
        &["seed", "add", "a.example", "--every", "0"],
        &["seed", "add", "a.example", "--depth", "deep"],
    ] {
        let mut command = aranha();
        let output = command
            .args(arguments)
            .arg("-c")
            .arg(folder.path().join("c"));
        let output = output.output().unwrap();
        assert_status(&output, 2);
        assert!(!folder.path().join("c").exists(), "{arguments:?}");
    }
    let mut command = aranha();
    command.args(["seed", "add", "a.example", "--every", "1h", "-c"]);
    let output = command.arg(folder.path().join("c")).output().unwrap();
    assert_status(&output, 0);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("shorter than a round"), "{text}");
    assert!(text.contains("settings changed for 1 site"), "{text}");
}
