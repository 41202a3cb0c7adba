//! Tests of `aranha lab` (the command that it prints, and its report) and of `aranha demo`.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod process;
mod support;

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};

use process::{assert_error, run};
use serde_json::Value;
use support::{aranha, assert_status};

/// `aranha lab` in the background. Dropping it kills the process.
struct LabProcess {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Drop for LabProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl LabProcess {
    fn start(arguments: &[&str]) -> Self {
        let mut command = aranha();
        command.arg("lab").args(arguments).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdout }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line
    }

    fn interrupt(&mut self) -> String {
        let pid = self.child.id().to_string();
        assert_status(&run(Command::new("kill").args(["-s", "INT", &pid])), 0);
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        assert!(self.child.wait().unwrap().success());
        rest
    }
}

#[test]
fn the_printed_command_crawls_the_lab() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap();
    let common = [
        "--honest",
        "8",
        "--only",
        "inward,escape",
        "--pause",
        "10ms",
        "--folder",
        place,
    ];
    let mut lab = LabProcess::start(&[&common[..], &["--json"]].concat());
    let served: Value = serde_json::from_str(&lab.line()).unwrap();
    assert_eq!(
        (&served["event"], &served["hostile_sites"]),
        (&"serving".into(), &2.into())
    );
    let words: Vec<_> = served["command"].as_str().unwrap().split(' ').collect();
    assert_eq!(words[..2], ["aranha", "crawl"]);
    assert_status(
        &run(aranha()
            .args(&words[1..])
            .args(["--quiet", "--time", "60s"])),
        0,
    );
    let report: Value = serde_json::from_str(&lab.interrupt()).unwrap();
    assert_eq!(report["event"], "ended");
    assert_eq!(report["arrived"], served["expected"], "{report}");
    assert_eq!(
        (&report["trespasses"], &report["violations"]),
        (&0.into(), &0.into()),
        "{report}"
    );
    assert!(
        report["hazards"]["inward"]["requests"].as_u64() > Some(1),
        "{report}"
    );
}

#[test]
fn the_report_is_text_without_the_json_flag() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap();
    let mut lab = LabProcess::start(&["--honest", "3", "--hostile", "0", "--folder", place]);
    assert!(lab.line().starts_with("3 honest sites with "));
    let rest = lab.interrupt();
    for text in [
        "resolver    127.0.0.1:",
        "aranha crawl -i ",
        "requests    0: ",
        "trespasses  0 ",
    ] {
        assert!(rest.contains(text), "no `{text}` in {rest}");
    }
    let list = run(aranha().args(["lab", "--list"]));
    assert_status(&list, 0);
    let list = String::from_utf8(list.stdout).unwrap();
    assert_eq!(list.lines().count(), aranha_lab::Hazard::ALL.len());
    let unknown = run(aranha().args(["lab", "--only", "unicorn"]));
    assert_error(&unknown, 2, "`unicorn` is not a kind of hostile site");
}

/// Ctrl-C stops the demo in order, and the same command continues on the same URLs.
#[test]
fn the_demo_is_interrupted_and_continued() {
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("c");
    let status = || -> Value {
        let mut command = aranha();
        let output = run(command.args(["status", "--json", "-c"]).arg(&collection));
        serde_json::from_slice(&output.stdout).unwrap_or_default()
    };
    let mut command = aranha();
    command
        .args(["demo", "--pause", "300ms", "-c"])
        .arg(&collection);
    command.stderr(Stdio::piped());
    let mut demo = command.spawn().unwrap();
    let start = std::time::Instant::now();
    while status()["fetches"]
        .as_u64()
        .is_none_or(|fetches| fetches < 30)
    {
        assert!(start.elapsed().as_secs() < 60, "the demo fetches nothing");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    run(Command::new("kill").args(["-s", "INT", &demo.id().to_string()]));
    let mut text = String::new();
    demo.stderr
        .take()
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    assert_eq!(demo.wait().unwrap().code(), Some(130), "{text}");
    let hint = format!("`aranha demo -c {}` continues", collection.display());
    assert!(text.contains(&hint), "{text}");
    let interrupted = status();

    let mut command = aranha();
    let output = run(command
        .args(["demo", "--pause", "1ms", "-q", "-c"])
        .arg(&collection));
    assert_status(&output, 0);
    let finished = status();
    assert_eq!(
        finished["seeds"], interrupted["seeds"],
        "the URLs are the same"
    );
    assert_eq!(finished["sites"]["known"], 27, "{finished}");
    assert!(finished["pages"]["done"].as_u64() > interrupted["pages"]["done"].as_u64());
    let refused = finished["outcomes"].get("connection failed");
    assert_eq!(
        refused,
        interrupted["outcomes"].get("connection failed"),
        "{finished}"
    );

    // The demo does not use a collection that it has not created.
    let other = folder.path().join("other");
    run(aranha()
        .args(["seed", "add", "https://example.org/", "-c"])
        .arg(&other));
    let output = run(aranha().args(["demo", "-q", "-c"]).arg(&other));
    assert_error(&output, 2, "is not a collection of the demo");
}
