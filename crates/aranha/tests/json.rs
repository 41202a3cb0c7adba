//! Compares docs/json.md with the output of the program: every field that any `--json` prints is documented with its
//! type, and every documented field that is not optional is printed.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod json_doc;
mod support;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use json_doc::JsonDoc;
use serde_json::Value;
use support::{aranha, assert_status};

/// A command of aranha in the background. Dropping it kills the process.
struct Server {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdout }
    }

    fn object(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Interrupts the command and returns the rest of its output.
    fn interrupt(&mut self) -> Vec<Value> {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args(["-s", "INT", &pid]).status();
        assert!(status.unwrap().success());
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        objects(&rest)
    }
}

fn objects(text: &str) -> Vec<Value> {
    let parse = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    text.lines().map(parse).collect()
}

/// The objects that a command prints. There must be at least one.
#[track_caller]
fn output(command: &mut Command, status: i32) -> Vec<Value> {
    let output = command.output().unwrap();
    assert_status(&output, status);
    let objects = objects(&String::from_utf8(output.stdout).unwrap());
    assert!(!objects.is_empty(), "{command:?} prints nothing");
    objects
}

/// Runs a command that reads the collection, with `--json`. Returns the objects that it prints.
#[track_caller]
fn read(collection: &Path, arguments: &[&str]) -> Vec<Value> {
    let mut command = aranha();
    command.args(arguments).arg("--json");
    output(command.arg("-c").arg(collection), 0)
}

fn of_event(objects: &[Value], event: &str) -> Vec<Value> {
    let found = objects.iter().filter(|object| object["event"] == event);
    found.cloned().collect()
}

/// Crawls a lab with a trap, long enough for progress events and revisits. Then runs every command that reads the
/// collection.
#[test]
fn every_field_is_documented() {
    let folder = tempfile::tempdir().unwrap();
    let collection = folder.path().join("collection");
    let doc = JsonDoc::read();
    let lab_folder = folder.path().join("lab");
    let mut lab = Server::start(
        aranha()
            .args([
                "lab",
                "--honest",
                "4",
                "--pages",
                "5..10",
                "--only",
                "calendar,inward",
                "--json",
            ])
            .args(["--pause", "10ms", "--folder"])
            .arg(&lab_folder),
    );
    let serving = lab.object();
    let text = |field: &str| serving[field].as_str().unwrap().to_owned();

    let settings = folder.path().join("settings.toml");
    std::fs::write(
        &settings,
        "[crawl]\npause = \"10ms\"\npause_factor = 0\ncheck_in_interval = \"100ms\"\nscope = \"any\"\ncontact = \"test@localhost\"\n\
         [fetch]\nallow_private = true\n[thresholds]\nurls = 60\nblock = true\n[revisit]\npolicy = \"fixed\"\nevery = \"1s\"\n",
    )
    .unwrap();
    let seed = serving["seeds"][0].as_str().unwrap().to_owned();
    let honest = seed.split('/').nth(2).unwrap().to_owned();
    // The site of a seed is blocked as a trap. Another trap is only postponed at first.
    let port = honest.rsplit(':').next().unwrap();
    let mut crawl = Server::start(
        aranha()
            .args(["crawl", "--json", "--continuous", "--time", "9s"])
            .arg(format!("http://calendar.lab:{port}/"))
            .arg("-i")
            .arg(text("seeds_file"))
            .args(["--resolver", &text("resolver"), "--config"])
            .arg(&settings)
            .arg("-c")
            .arg(&collection),
    );
    // While the crawl runs, send it a signal from the user, and change the black list.
    let mut events = vec![crawl.object()];
    let signalled = read(&collection, &["seed", "add", "--now", &seed]);
    let blocked = aranha()
        .args(["block", &honest, "--reason", "a test", "-c"])
        .arg(&collection)
        .output()
        .unwrap();
    assert_status(&blocked, 0);
    let mut rest = String::new();
    crawl.stdout.read_to_string(&mut rest).unwrap();
    events.extend(objects(&rest));
    let log = std::fs::read_to_string(collection.join("logs/events.jsonl")).unwrap();
    let log = objects(&log);
    for event in ["progress", "notice", "end"] {
        doc.check(&format!("Event `{event}`"), &of_event(&events, event));
    }
    for event in ["notice", "end"] {
        doc.check(&format!("Event `{event}`"), &of_event(&log, event));
    }
    let kinds = |events: &[Value]| -> BTreeSet<String> {
        of_event(events, "notice")
            .iter()
            .map(|notice| notice["notice"].as_str().unwrap().to_owned())
            .collect()
    };
    assert!(kinds(&events).contains("trap"), "{events:?}");
    // A notice just before the end of the crawl may be in the log only.
    assert!(kinds(&events).is_subset(&kinds(&log)), "{log:?}");
    for kind in kinds(&log) {
        assert!(
            doc.mentions(&format!("| {kind} |")),
            "the notice `{kind}` is not documented"
        );
    }

    let mut status = read(&collection, &["status"]);
    let crawl = status[0].as_object_mut().unwrap().remove("crawl");
    let uploads = status[0].as_object_mut().unwrap().remove("waiting_uploads");
    doc.check(
        "Waiting uploads",
        &[serde_json::json!({ "waiting_uploads": uploads })],
    );
    doc.check("Status", &status);
    doc.check(
        "Running or last crawl",
        &[serde_json::json!({ "crawl": crawl })],
    );
    doc.check(
        "`aranha status --blocked --json`",
        &read(&collection, &["status", "--blocked"]),
    );
    for command in [&["sites"][..], &["changes"], &["seed", "list"]] {
        let section = format!("`aranha {} --json`", command.join(" "));
        doc.check(&section, &read(&collection, command));
    }
    doc.check(
        "`aranha pages --queued --json`",
        &read(&collection, &["pages", "--queued"]),
    );
    let pages = read(&collection, &["pages", "--history"]);
    doc.check("Fetch", &pages);
    let volume = pages
        .iter()
        .find_map(|page| page["archive"]["volume"].as_str())
        .unwrap();
    assert!(
        collection.join("archive").join(volume).is_file(),
        "{volume}"
    );
    doc.check("Fetch", &read(&collection, &["pages"]));
    // The shortest URL of an honest site is a home page, which the crawl never takes for a soft 404.
    let is_stored = |page: &&Value| page["status"] == 200 && !page["archive"].is_null();
    let urls = pages
        .iter()
        .filter(is_stored)
        .map(|page| page["url"].as_str().unwrap());
    let honest_urls = urls.filter(|url| url.contains("site"));
    let page = honest_urls.min_by_key(|url| url.len()).unwrap();
    for url in [page, "http://unknown.example/"] {
        doc.check("`aranha why --json`", &read(&collection, &["why", url]));
    }
    doc.check(
        "`aranha history --json`",
        &read(&collection, &["history", page]),
    );
    doc.check(
        "`aranha links --json`",
        &read(&collection, &["links", "--assets", page]),
    );
    doc.check("`aranha text --json`", &read(&collection, &["text", page]));
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/read/sample.rtf");
    let mut read_file = aranha();
    read_file.args(["read", "--json"]).arg(file);
    let read_file = read_file.output().unwrap();
    assert_status(&read_file, 0);
    let read_file = objects(&String::from_utf8(read_file.stdout).unwrap());
    doc.check("`aranha read --json`", &read_file);
    doc.check("`aranha diff --json`", &read(&collection, &["diff", page]));
    doc.check("`aranha check --json`", &read(&collection, &["check"]));
    doc.check(
        "`aranha check --repair --json`",
        &read(&collection, &["check", "--repair"]),
    );
    let mirror = folder.path().join("mirror");
    doc.check(
        "`aranha export mirror --json`",
        &read(&collection, &["export", "mirror", mirror.to_str().unwrap()]),
    );
    doc.check(
        "`aranha export links --json`",
        &read(&collection, &["export", "links"]),
    );
    doc.check(
        "`aranha export links --references --json`",
        &read(&collection, &["export", "links", "--references"]),
    );
    doc.check(
        "`aranha unblock --json`",
        &read(&collection, &["unblock", &honest]),
    );
    doc.check("`aranha seed add --json`", &signalled);
    doc.check(
        "`aranha seed add --json`",
        &read(&collection, &["seed", "add", &seed]),
    );
    doc.check(
        "`aranha seed import --json`",
        &read(&collection, &["seed", "import", &text("seeds_file")]),
    );
    doc.check(
        "`aranha config show --json`",
        &read(&collection, &["config", "show"]),
    );

    doc.check("Lab event `serving`", &[serving]);
    doc.check("Lab event `ended`", &lab.interrupt());
    doc.check(
        "Lab list",
        &output(aranha().args(["lab", "--list", "--json"]), 0),
    );
}

#[test]
fn every_field_of_commands_without_a_crawl_is_documented() {
    let folder = tempfile::tempdir().unwrap();
    let doc = JsonDoc::read();
    let canon = [
        "url",
        "canon",
        "--json",
        "https://example.org/a",
        "mailto:me@example.org",
    ];
    doc.check(
        "`aranha url canon --json`",
        &output(aranha().args(canon), 1),
    );
    let robots = folder.path().join("robots.txt");
    std::fs::write(&robots, "User-agent: *\nDisallow: /private/\n").unwrap();
    let allowed = [
        "robots",
        "allowed",
        "--agent",
        "aranha",
        "--json",
        "/private/",
        "/",
        "mailto:x",
        "--file",
    ];
    doc.check(
        "`aranha robots allowed --json`",
        &output(aranha().args(allowed).arg(&robots), 1),
    );

    let collection = folder.path().join("collection");
    read(&collection, &["seed", "add", "https://example.org/"]);
    let mut listen = aranha();
    listen
        .args(["listen", "--port", "0", "--json", "-c"])
        .arg(&collection);
    let mut listen = Server::start(listen.stderr(Stdio::piped()));
    let mut line = String::new();
    BufReader::new(listen.child.stderr.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let (_, address) = line.split_once("http://").unwrap();
    let address = address.split('/').next().unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    stream
        .write_all(b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n")
        .unwrap();
    stream.read_to_end(&mut Vec::new()).unwrap();
    doc.check("`aranha listen --json`", &[listen.object()]);
}

/// Searches the help texts for every command that has `--json`.
#[test]
fn every_command_with_json_is_documented() {
    fn visit(path: &[String], found: &mut Vec<String>) {
        let help = aranha().args(path).arg("--help").output().unwrap();
        let help = String::from_utf8(help.stdout).unwrap();
        let flags = help.split("Examples:").next().unwrap();
        if flags
            .lines()
            .any(|line| line.trim_start().starts_with("--json"))
        {
            found.push(path.join(" "));
        }
        let Some((_, commands)) = help.split_once("Commands:\n") else {
            return;
        };
        for line in commands.lines().take_while(|line| !line.is_empty()) {
            let name = line.split_whitespace().next().unwrap();
            if line.starts_with("  ") && !line.starts_with("   ") && name != "help" {
                visit(&[path, &[name.to_owned()]].concat(), found);
            }
        }
    }
    let mut found = Vec::new();
    visit(&[], &mut found);
    assert!(found.len() > 15, "{found:?}");
    let doc = JsonDoc::read();
    for command in found {
        assert!(
            doc.mentions(&format!("`aranha {command} --json`")),
            "docs/json.md has no `aranha {command} --json`"
        );
    }
}
