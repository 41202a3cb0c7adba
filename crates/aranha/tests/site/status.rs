//! `aranha status` during a crawl, after its end, and after it was killed.

use std::path::Path;
use std::process::Stdio;
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use aranha_engine::Progress;
use serde_json::Value;

use crate::scripted_site::{ScriptedSite, crawl, links, page, run};
use crate::support::{aranha, assert_status};

fn status(collection: &Path, flags: &[&str]) -> String {
    let mut command = aranha();
    let output = command.arg("status").args(flags).arg("-c").arg(collection);
    let output = output.output().unwrap();
    assert_status(&output, 0);
    String::from_utf8(output.stdout).unwrap()
}

fn json(collection: &Path) -> Value {
    serde_json::from_str(&status(collection, &["--json"])).unwrap()
}

/// A site without end. The receiver gets a message for each request.
fn endless_site() -> (ScriptedSite, mpsc::Receiver<()>) {
    let (sender, requested) = mpsc::channel();
    let sender = Mutex::new(sender);
    let site = ScriptedSite::start(move |path, _, _| {
        if path == "/robots.txt" {
            return String::new();
        }
        let _ = sender.lock().unwrap().send(());
        let number: u32 = path[1..].parse().unwrap_or_default();
        links(&[&format!("/{}", number + 1)])
    });
    (site, requested)
}

#[test]
fn status_says_whether_a_crawl_is_running_and_how_it_ended() {
    let (site, requested) = endless_site();
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    let mut command = aranha();
    command.args([
        "crawl",
        &site.url("/"),
        "--allow-private",
        "--pause",
        "150ms",
        "-c",
    ]);
    command.arg(&collection);
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    for _ in 0..5 {
        requested.recv_timeout(Duration::from_secs(30)).unwrap();
    }
    // The state is written once per second.
    let start = Instant::now();
    let running = loop {
        let found = json(&collection);
        if found["crawl"]["pages"]
            .as_u64()
            .is_some_and(|pages| pages > 0)
        {
            break found;
        }
        assert!(start.elapsed() < Duration::from_secs(30), "{found}");
    };
    assert_eq!(running["crawl"]["running"], true, "{running}");
    assert_eq!(running["crawl"]["process"], child.id());
    assert!(running["crawl"]["pages_per_second"].as_f64().unwrap() > 0.0);
    let line = status(&collection, &[]);
    let expected = format!("(process {}): ", child.id());
    assert!(line.starts_with("crawl     running for "), "{line}");
    assert!(line.contains(&expected), "{line}");
    assert!(line.contains("visits 1 site"), "{line}");

    child.kill().unwrap();
    child.wait().unwrap();
    let killed = json(&collection);
    assert_eq!(killed["crawl"]["killed"], true, "{killed}");
    assert_eq!(killed["sites"]["leased"], 0, "{killed}");
    assert_eq!(killed["sites"]["waiting"], 1, "{killed}");
    let line = status(&collection, &[]);
    assert!(line.contains("was killed or crashed at "), "{line}");
    assert!(line.contains("0 being visited"), "{line}");
    assert!(line.ends_with("next due  now\n"), "{line}");
    let mut why = aranha();
    why.args(["why", &site.url("/"), "-c"]).arg(&collection);
    let why = String::from_utf8(why.output().unwrap().stdout).unwrap();
    assert!(why.contains(" waits for a visit; "), "{why}");

    run(crawl(&collection, &site.url("/")).args(["--pages", "3"]));
    let line = status(&collection, &[]);
    let expected = "crawl     not running; the last one ended ";
    assert!(line.starts_with(expected), "{line}");
    assert!(line.contains(": the limit of pages was reached"), "{line}");
}

/// The last crawl ended two hours in the future, because the clock was set back since then.
#[test]
fn a_clock_that_was_set_back_is_noticed() {
    let site = ScriptedSite::start(|path, _, _| match path {
        "/robots.txt" => String::new(),
        _ => page(path),
    });
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    run(&mut crawl(&collection, &site.url("/")));
    let file = collection.join("logs/progress.json");
    let mut progress = Progress::read(&file).unwrap();
    progress.latest += 2 * 3600 * 1000 + 5000;
    std::fs::write(&file, serde_json::to_vec(&progress).unwrap()).unwrap();
    for _ in 0..2 {
        let mut command = aranha();
        command.args(["crawl", "--allow-private", "-c"]);
        let output = command.arg(&collection).output().unwrap();
        assert_status(&output, 0);
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains("the system clock is 2h"), "{text}");
    }
}
