//! Each hazard of the lab with what must happen, the defence, and how the defence is taken out (`docs/hazards.md`).
//!
//! A row ([`rows`]) is run against the real binary: the lab serves that one kind of hostile site beside a few honest
//! ones, and its log and the collection are the judge. An expectation that holds with and without its defence tests
//! nothing, so each defence is taken out, too. Where a line of configuration does it, the row is run once more with it,
//! and the same expectation must fail. Where no line does, changes of code do ([`mutations`]): they are made in a
//! [`copy`] of the tree, one at a time, and the tests that they name must fail there.
//!
//! ```text
//! ARANHA_WRITE=1 cargo test -p aranha --test hazards the_document    writes the table of the document anew
//! ARANHA_HAZARD=calendar,maze cargo test -p aranha --test hazards    only these rows
//! ARANHA_MUTATE=1 cargo test -p aranha --test hazards -- --nocapture mutations   makes the mutations, too (half an hour)
//! ```

mod copy;
mod mutations;
mod rows;
#[path = "../support/mod.rs"]
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use aranha_lab::{BLACK_LIST, Group, Hazard, Lab, LoggedRequest, Plan};
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use copy::Copy;
use mutations::{Edit, Test, mutations};
use rows::{HURRIED, OPEN, Row, rows};
use support::{answered, assert_status, crawl, expected, pages, tool, volumes};

const PAUSE: Duration = Duration::from_millis(10);
/// Crawls under way at once, over all tests of this file.
static ROOM: Semaphore = Semaphore::const_new(8);
/// A crawl that has not ended by itself after this long is ended.
const PATIENCE: Duration = Duration::from_secs(40);
/// The largest answer, and what it may unpack to.
const MAX_BODY: u64 = 2 << 20;
const MAX_DECODED: u64 = 4 << 20;
/// The longest that an exchange may be held: the limits of [`HURRIED`] and some time for a busy machine.
const HELD: Duration = Duration::from_secs(3);
/// With short limits honest sites on a busy machine may be late, too; but not many of their pages.
const LATE: usize = 3;

/// A busy machine is patient with honest sites: who waits in vain for a hostile one has [`HURRIED`].
const SETTINGS: &str = r#"
[crawl]
check_in_interval = "500ms"
pause_factor = 0
idle_wait = "1s"
max_pause = "100ms"
[fetch]
connect_timeout = "10s"
tls_timeout = "10s"
first_byte_timeout = "10s"
idle_timeout = "10s"
total_timeout = "15s"
dns_timeout = "10s"
max_body = "2MiB"
max_decoded = "4MiB"
"#;

type Judged = Result<(), String>;

/// What a crawl left behind.
struct Seen {
    /// Requests to the hostile site, to its subdomains, and to nobody known.
    requests: Vec<LoggedRequest>,
    /// Requests to honest sites.
    honest: Vec<LoggedRequest>,
    trespasses: usize,
    violations: usize,
    /// DNS questions about the hostile site.
    questions: usize,
    /// The hostile site's first page.
    home: String,
    /// Pages of the hostile site by path.
    pages: BTreeMap<String, Value>,
    /// Lines of `crawl.log` that are about it.
    log: Vec<String>,
    /// Everything that a person or a program is shown of it.
    shown: Vec<u8>,
    missed: Vec<String>,
    output: Output,
    took: Duration,
    collection: PathBuf,
    _folder: TempDir,
}

fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Judged {
    if holds { Ok(()) } else { Err(otherwise()) }
}

impl Seen {
    fn at_most(&self, requests: usize) -> Judged {
        let found = self.requests.len();
        ensure(found <= requests, || format!("{found} requests"))
    }

    /// Every page with this outcome.
    fn pages(&self, paths: &[&str], outcome: &str) -> Judged {
        for path in paths {
            let found = self.pages.get(*path).map(|page| &page["outcome"]);
            ensure(found.and_then(Value::as_str) == Some(outcome), || {
                format!("{path}: {found:?} instead of {outcome}")
            })?;
        }
        Ok(())
    }

    /// What `aranha text --json` tells of a page of the hostile site.
    fn text(&self, path: &str) -> Result<Value, String> {
        let url = [self.home.trim_end_matches('/'), path].concat();
        let output = told(&["text", "--json", &url], &self.collection);
        serde_json::from_slice(&output).map_err(|error| format!("{path} has no text: {error}"))
    }

    /// Kept up to the limit and marked.
    fn cut(&self, paths: &[&str]) -> Judged {
        for path in paths {
            let page = self.pages.get(*path).ok_or(format!("{path} is missing"))?;
            let (size, cut) = (&page["size"], &page["truncated"]);
            ensure(
                *cut == true && size.as_u64().is_some_and(|size| size <= MAX_BODY),
                || format!("{path}: {size} bytes, cut: {cut}"),
            )?;
        }
        Ok(())
    }

    /// What could not even be asked for robots.txt: the outcome, told so many times.
    fn told(&self, outcome: &str, times: usize) -> Judged {
        let words = outcome.replace(' ', "_");
        let found = self.log.iter().filter(|line| line.contains(&words)).count();
        ensure(found == times, || {
            format!("{outcome}: {found} times in {:#?}", self.log)
        })
    }

    /// No exchange was held for long.
    fn released(&self) -> Judged {
        let held = self.requests.iter().map(|r| r.closed - r.started).max();
        ensure(held.is_none_or(|held| held <= HELD), || {
            format!("held for {held:?}")
        })
    }

    fn bytes_at_most(&self, most: u64) -> Judged {
        let found: u64 = self.requests.iter().map(|request| request.bytes).sum();
        ensure(found <= most, || format!("{found} bytes"))
    }

    fn no_trespass(&self) -> Judged {
        let found = self.trespasses;
        ensure(found == 0, || format!("{found} refused connections made"))
    }

    fn questions_at_most(&self, most: usize) -> Judged {
        let found = self.questions;
        ensure(found <= most, || format!("{found} questions"))
    }

    fn polite(&self) -> Judged {
        let found = self.violations;
        ensure(found == 0, || format!("{found} requests too early"))
    }

    /// A small correct site behind a hazard that is not in its pages.
    fn ordinary(&self) -> Judged {
        self.pages(&["/", "/one.html", "/two.html"], "200")
    }

    /// Nothing shown or logged moves a cursor.
    fn clean(&self) -> Judged {
        let control = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
        let shown = String::from_utf8_lossy(&self.shown);
        let found = shown.lines().find(|line| line.contains(control));
        ensure(found.is_none(), || {
            format!("a control character is shown: {found:?}")
        })
    }

    /// What must hold of every crawl, whomever it met.
    fn honest(&self) -> Judged {
        ensure(self.output.status.success(), || {
            let said = String::from_utf8_lossy(&self.output.stderr);
            format!("{}: {said}", self.output.status)
        })?;
        ensure(self.took < PATIENCE, || {
            "it did not end by itself".to_owned()
        })?;
        ensure(self.missed.is_empty(), || {
            format!("honest pages are missing: {:?}", self.missed)
        })?;
        self.clean()?;
        self.no_trespass()
    }
}

/// Sections of the second over those of the first.
fn merge(settings: &mut toml::Table, lines: &str) {
    let lines: toml::Table = lines.parse().expect("lines of a row are TOML");
    for (section, keys) in lines {
        let keys = keys.as_table().expect("a section").clone();
        let section = settings
            .entry(section)
            .or_insert_with(|| toml::Table::new().into());
        section.as_table_mut().expect("a section").extend(keys);
    }
}

fn settings(lines: &[&str]) -> String {
    let mut settings: toml::Table = SETTINGS.parse().expect("the settings are TOML");
    let list = |from: usize| format!("[crawl]\nblacklist = {:?}", &BLACK_LIST[from..]);
    merge(&mut settings, &list(0));
    for lines in lines {
        if lines.contains(OPEN) {
            merge(&mut settings, &lines.replace(OPEN, &list(3)));
        } else {
            merge(&mut settings, lines);
        }
    }
    settings.to_string()
}

/// Crawls the hazard and three honest sites.
async fn run(hazard: Hazard, lines: &[&str], flags: &'static [&'static str]) -> Seen {
    let _room = ROOM.acquire().await.expect("it is never closed");
    let lab = Lab::start(Plan {
        sites: 3,
        addresses: 3,
        seeds: 2,
        hazards: vec![hazard],
        ..Plan::small(7)
    })
    .await
    .expect("the lab starts");
    let folder = tempfile::tempdir().expect("a folder");
    let collection = folder.path().join("crawl");
    let mut command = crawl(&lab, &collection, "10ms");
    std::fs::write(collection.with_extension("settings.toml"), settings(lines)).expect("writes");
    command.args(flags);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let began = Instant::now();
    let child = command.spawn().expect("the binary runs");
    let process = child.id();
    let waiting = tokio::task::spawn_blocking(move || child.wait_with_output());
    tokio::pin!(waiting);
    let in_time = tokio::time::timeout(PATIENCE, &mut waiting).await;
    let output = if let Ok(output) = in_time {
        output
    } else {
        let process = rustix::process::Pid::from_raw(process.cast_signed());
        let process = process.expect("a process has a number");
        let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
        waiting.await
    };
    let output = output.expect("waiting does not panic").expect("it ran");
    let took = began.elapsed();
    // A server that writes now and then notices only now that the client has left.
    tokio::time::sleep(Duration::from_millis(600)).await;
    let hurried = lines.contains(&HURRIED);
    seen(hazard, hurried, &lab, output, took, folder, collection)
}

fn seen(
    hazard: Hazard,
    hurried: bool,
    lab: &Lab,
    output: Output,
    took: Duration,
    folder: TempDir,
    collection: PathBuf,
) -> Seen {
    let is_honest = |host: &str| {
        let name = host.strip_prefix("www.").unwrap_or(host);
        name.starts_with("site0")
    };
    let (honest, requests) = lab
        .log()
        .into_iter()
        .partition(|request| is_honest(&request.host));
    let home = lab.hazard_seeds().remove(0);
    let origin = home.trim_end_matches('/');
    let log = std::fs::read_to_string(collection.join("logs/crawl.log")).unwrap_or_default();
    let found = if output.status.success() {
        pages(&collection)
    } else {
        BTreeMap::new()
    };
    let given_up: BTreeSet<&str> = log
        .lines()
        .filter(|line| line.contains("time-out"))
        .filter_map(|line| line.split_whitespace().nth(3))
        .collect();
    let is_given_up = |request: &LoggedRequest| {
        let mut urls = given_up.iter();
        urls.any(|url| url.contains(&request.host) && url.ends_with(&request.path))
    };
    let mut missed = if output.status.success() {
        let found = answered(lab, &collection);
        let expected = expected(lab).into_iter();
        let missed = expected.filter(|(url, status)| found.get(url) != Some(status));
        missed.map(|(url, _)| url).collect()
    } else {
        Vec::new()
    };
    if hurried && missed.len() <= LATE {
        missed.retain(|url: &String| !given_up.contains(url.as_str()));
    }
    let mut shown = [&output.stdout, &output.stderr, log.as_bytes()].concat();
    shown.extend(told(&["pages"], &collection));
    for command in ["why", "text", "links"] {
        shown.extend(told(&[command, &home], &collection));
    }
    Seen {
        requests,
        honest,
        trespasses: lab.trespasses().len(),
        // Of an exchange that the client gave up, the server learns late, or never, when it answers all the same.
        violations: lab
            .violations(PAUSE)
            .iter()
            .filter(|violation| violation.first.complete && !is_given_up(&violation.first))
            .count(),
        questions: lab
            .questions()
            .iter()
            .filter(|question| question.name.ends_with(hazard.host()))
            .count(),
        pages: found
            .into_iter()
            .filter_map(|(url, page)| Some((url.strip_prefix(origin)?.to_owned(), page)))
            .collect(),
        log: log
            .lines()
            .filter(|line| line.contains(origin))
            .map(str::to_owned)
            .collect(),
        shown,
        home,
        missed,
        output,
        took,
        collection,
        _folder: folder,
    }
}

/// What a command says about a collection.
fn told(command: &[&str], collection: &Path) -> Vec<u8> {
    let mut aranha = support::aranha();
    aranha.args(command).arg("-c").arg(collection);
    aranha.output().expect("the binary runs").stdout
}

/// Runs a row with its defence and without it: what is wrong, and the collection that the defended run left.
async fn judge(row: Row) -> (Vec<String>, Seen) {
    let name = row.hazard.name();
    let mut faults = Vec::new();
    let defended = run(row.hazard, &[row.with], &["--time", "60s"]).await;
    let judged = [defended.honest(), defended.polite(), (row.holds)(&defended)];
    for judged in judged {
        if let Err(fault) = judged {
            faults.push(format!("{name}: {fault}"));
        }
    }
    if let Some(switch) = row.switch {
        let open = run(row.hazard, &[row.with, switch.lines], switch.flags).await;
        if (row.holds)(&open).is_ok() {
            faults.push(format!(
                "{name}: without its defence the same holds ({} requests, {:?}, exit {:?}: {})",
                open.requests.len(),
                open.took,
                open.output.status.code(),
                String::from_utf8_lossy(&open.output.stderr),
            ));
        }
    }
    println!("{name}: {:?}", defended.took);
    (faults, defended)
}

/// Whether the hazard is one of those named in `ARANHA_HAZARD`; all are, where it is not set.
fn is_chosen(hazard: Hazard) -> bool {
    std::env::var("ARANHA_HAZARD").map_or(true, |names| {
        names.split(',').any(|name| name == hazard.name())
    })
}

/// All rows of a group, some at once.
async fn judge_group(group: Group) {
    let mut runs = JoinSet::new();
    let in_group = |row: &Row| row.hazard.group() == group && is_chosen(row.hazard);
    for row in rows().into_iter().filter(in_group) {
        runs.spawn(judge(row));
    }
    let mut faults = Vec::new();
    let mut ended = Vec::new();
    while let Some(judged) = runs.join_next().await {
        let (wrong, seen) = judged.expect("a judge does not panic");
        faults.extend(wrong);
        ended.push(seen);
    }
    assert!(faults.is_empty(), "{faults:#?}");
    tokio::task::spawn_blocking(move || assert_archives(&ended))
        .await
        .expect("every archive is valid");
}

/// warcio reads every record of all crawls, in one go: it takes longer to start than to read.
fn assert_archives(ended: &[Seen]) {
    if ended.is_empty() {
        return;
    }
    let files = ended.iter().flat_map(|seen| volumes(&seen.collection));
    let output = Command::new(tool("warcio"))
        .arg("check")
        .args(files)
        .output()
        .expect("warcio runs");
    assert_status(&output, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn traps() {
    judge_group(Group::Trap).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn servers() {
    judge_group(Group::Server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn contents() {
    judge_group(Group::Content).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attacks() {
    judge_group(Group::Attack).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names() {
    judge_group(Group::Name).await;
}

#[test]
fn every_hazard_has_a_row() {
    let rows = rows().into_iter().map(|row| row.hazard);
    assert_eq!(rows.collect::<Vec<_>>(), Hazard::ALL);
}

/// No row may be without a proof.
#[test]
fn every_row_has_a_switch_or_a_mutation() {
    for row in rows() {
        let name = row.hazard.name();
        assert!(root().join(row.file).exists(), "{name}: {}", row.file);
        let changed = mutations().iter().any(|m| m.hazard == row.hazard);
        assert!(row.switch.is_some() || changed, "{name}: no proof");
    }
}

/// The code that mutations change is still there, and so are the tests that they name. With `ARANHA_MUTATE`: they
/// are made, and these tests fail.
#[test]
fn mutations_can_still_be_made() {
    for mutation in mutations() {
        let name = mutation.hazard.name();
        for Edit(file, from, _) in &mutation.edits {
            let text = std::fs::read_to_string(root().join(file)).unwrap_or_default();
            let times = text.matches(from).count();
            assert_eq!(times, 1, "{name}: in {file}: {from}");
        }
        for test in &mutation.tests {
            if let Test::Named(file, test) = test {
                let text = std::fs::read_to_string(root().join(file)).unwrap_or_default();
                let found = text.contains(&format!("fn {test}("));
                assert!(found, "{name}: no test {test} in {file}");
            }
        }
    }
    if std::env::var_os("ARANHA_MUTATE").is_some() {
        take_out_defences();
    }
}

/// Takes each defence out and sees the tests fail that are said to notice.
fn take_out_defences() {
    let copy = Copy::of(&root());
    let mut unnoticed = Vec::new();
    for mutation in mutations().iter().filter(|m| is_chosen(m.hazard)) {
        unnoticed.extend(copy.try_out(mutation));
    }
    assert!(unnoticed.is_empty(), "{unnoticed:#?}");
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The table for people, between the marks of the document.
#[test]
fn the_document_is_the_table() {
    let path = root().join("docs/hazards.md");
    let text = std::fs::read_to_string(&path).expect("the document is there");
    let (before, rest) = text.split_once(START).expect("the table has a start");
    let (_, after) = rest.split_once(END).expect("the table has an end");
    let now = format!("{before}{START}{}{END}{after}", table());
    if std::env::var_os("ARANHA_WRITE").is_some() {
        std::fs::write(&path, &now).expect("writes");
    } else {
        assert!(
            text == now,
            "docs/hazards.md is old: see the head of this file"
        );
    }
}

const START: &str = "<!-- table -->\n";
const END: &str = "<!-- end of table -->\n";

fn table() -> String {
    let mut out = String::from(
        "| hazard | what it does | what must happen | defence | taken out by | test that fails then |\n\
         |---|---|---|---|---|---|\n",
    );
    for row in rows() {
        let (hazard, line) = (row.hazard.name(), row.hazard.description());
        let (taken_out, test) = proof(row);
        let (must, defence, file) = (row.must, row.defence, row.file);
        let _ = writeln!(
            out,
            "| {hazard} | {line} | {must} | {defence} (`{file}`) | {taken_out} | {test} |"
        );
    }
    out
}

/// What takes the defence out, and the tests that fail then.
fn proof(row: Row) -> (String, String) {
    let mut ways: Vec<String> = row.switch.iter().map(|s| switches(s.lines)).collect();
    let mut tests: BTreeSet<String> = row.switch.iter().map(|_| Test::Row.to_string()).collect();
    let changes: Vec<_> = mutations()
        .into_iter()
        .filter(|m| m.hazard == row.hazard)
        .collect();
    if !changes.is_empty() {
        let words: Vec<_> = changes.iter().map(ToString::to_string).collect();
        ways.push(format!("**mutation**: {}", words.join("; ")));
        tests.extend(
            changes
                .iter()
                .flat_map(|m| &m.tests)
                .map(ToString::to_string),
        );
    }
    let tests: Vec<String> = tests.into_iter().collect();
    (ways.join("; "), tests.join(", "))
}

/// `[fetch] range_requests = true` as `fetch.range_requests = true`.
fn switches(lines: &str) -> String {
    let mut section = "";
    let mut out = Vec::new();
    for line in lines.lines() {
        match line.strip_prefix('[') {
            Some(name) => section = name.trim_end_matches(']'),
            None => out.push(format!("`{section}.{line}`")),
        }
    }
    format!("**switch**: {}", out.join(", "))
}
