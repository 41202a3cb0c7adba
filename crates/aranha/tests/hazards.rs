//! Each hazard of the lab with what must happen, the defence, and how the defence is taken out (`docs/hazards.md`).
//!
//! A row is run against the real binary: the lab serves that one kind of hostile site beside a few honest ones, and its
//! log and the collection are the judge. Where a line of configuration takes the defence out, the row is run once more
//! with it, and the same expectation must fail: an expectation that holds with and without its defence tests nothing.
//! Where no line does, the row names the test of the owning crate that fails when the code is changed.
//!
//! `ARANHA_WRITE=1 cargo test -p aranha --test hazards the_document` writes the table of the document anew.

mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use aranha_lab::{BLACK_LIST, Group, Hazard, Lab, Plan, Request};
use serde_json::Value;
use support::{answered, assert_status, crawl, expected, pages, tool, volumes};
use tempfile::TempDir;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

const PAUSE: Duration = Duration::from_millis(10);
/// Crawls under way at once, over all tests of this file.
static ROOM: Semaphore = Semaphore::const_new(8);
/// A crawl that has not ended by itself after this long is ended.
const PATIENCE: Duration = Duration::from_secs(40);
/// The largest answer, and what it may unpack to.
const MAX_BODY: u64 = 2 << 20;
const MAX_DECODED: u64 = 4 << 20;
/// The longest that an exchange may be held: the limits of [`SETTINGS`] and some time for a busy machine.
const HELD: Duration = Duration::from_secs(3);

/// Short limits, so that a run takes seconds.
const SETTINGS: &str = r#"
[crawl]
check_in = "500ms"
pause_factor = 0
linger = "1s"
max_pause = "100ms"
[fetch]
connect_timeout = "1s"
tls_timeout = "1s"
first_byte_timeout = "1s"
idle_timeout = "1s"
total_timeout = "2s"
dns_timeout = "2s"
max_body = "2MiB"
max_decoded = "4MiB"
"#;

const BARREN: &str = "[thresholds]\nbarren = \"none\"";
const PATHS: &str = "[thresholds]\nbarren = \"none\"\n[url]\nmax_repeats = 0";
const PATIENT: &str = "[fetch]\nfirst_byte_timeout = \"1h\"\nidle_timeout = \"1h\"\ntotal_timeout = \"1h\"\nmin_speed = 0";
const STRICT: &str = "[fetch]\nverify_tls = true";
/// In place of lines: the black list without what the lab can count, which is loopback all of it.
const OPEN: &str = "[crawl]\nblacklist = []";
const NO_CACHE: &str = "[fetch]\ndns_ttl_min = \"0s\"\ndns_ttl_max = \"0s\"\ndns_stale = \"0s\"";

type Judged = Result<(), String>;

/// How the defence is taken out.
#[derive(Clone, Copy)]
enum Out {
    /// Lines of configuration, and the flags that end the run.
    Switch(&'static str, &'static [&'static str]),
    /// A change of code makes this test fail: file and function.
    Test(&'static str, &'static str),
}

/// One hazard.
#[derive(Clone, Copy)]
struct Row {
    hazard: Hazard,
    must: &'static str,
    holds: fn(&Seen) -> Judged,
    defence: &'static str,
    file: &'static str,
    /// Configuration that both runs need.
    with: &'static str,
    out: Out,
    /// The change of code that was made, once, to see the test fail.
    mutation: &'static str,
    /// The pause is not kept, which is a known limit.
    hasty: bool,
}

fn row(
    hazard: Hazard,
    must: &'static str,
    holds: fn(&Seen) -> Judged,
    defence: &'static str,
    file: &'static str,
) -> Row {
    Row {
        hazard,
        must,
        holds,
        defence,
        file,
        with: "",
        out: Out::Test("", ""),
        mutation: "",
        hasty: false,
    }
}

impl Row {
    fn with(self, with: &'static str) -> Row {
        Row { with, ..self }
    }

    /// Taken out by lines of configuration; the run is long enough to show it.
    fn off(self, lines: &'static str) -> Row {
        let out = Out::Switch(lines, &["--time", "7s"]);
        Row { out, ..self }
    }

    /// The same where a single exchange shows it.
    fn off_for(self, lines: &'static str) -> Row {
        let out = Out::Switch(lines, &["--time", "5s"]);
        Row { out, ..self }
    }

    fn test(self, file: &'static str, name: &'static str) -> Row {
        let out = Out::Test(file, name);
        Row { out, ..self }
    }

    fn hasty(self) -> Row {
        Row {
            hasty: true,
            ..self
        }
    }

    fn mutated(self, mutation: &'static str) -> Row {
        Row { mutation, ..self }
    }
}

/// What a crawl left behind.
struct Seen {
    /// Requests to the hostile site, to its subdomains, and to nobody known.
    requests: Vec<Request>,
    /// Requests to honest sites.
    honest: Vec<Request>,
    trespasses: usize,
    violations: usize,
    /// DNS questions about the hostile site.
    questions: usize,
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
        let control = |byte: &u8| *byte < b' ' && !b"\n\t".contains(byte) || *byte == 0x7f;
        ensure(!self.shown.iter().any(control), || {
            "a control byte is shown".to_owned()
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
    seen(hazard, &lab, output, took, folder, collection)
}

fn seen(
    hazard: Hazard,
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
    let text = std::fs::read_to_string(collection.join("logs/crawl.log")).unwrap_or_default();
    let found = if output.status.success() {
        pages(&collection)
    } else {
        BTreeMap::new()
    };
    let missed = if output.status.success() {
        let found = answered(lab, &collection);
        let expected = expected(lab).into_iter();
        let missed = expected.filter(|(url, status)| found.get(url) != Some(status));
        missed.map(|(url, _)| url).collect()
    } else {
        Vec::new()
    };
    let plain = support::aranha()
        .args(["pages", "-c"])
        .arg(&collection)
        .output()
        .expect("the binary runs");
    let why = support::aranha()
        .args(["why", &home, "-c"])
        .arg(&collection)
        .output()
        .expect("the binary runs");
    let shown = [
        &output.stdout,
        &output.stderr,
        text.as_bytes(),
        &plain.stdout,
        &why.stdout,
    ];
    Seen {
        requests,
        honest,
        trespasses: lab.trespasses().len(),
        // Of an exchange that the client gave up, the server learns late.
        violations: lab
            .violations(PAUSE)
            .iter()
            .filter(|violation| violation.first.complete)
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
        log: text
            .lines()
            .filter(|line| line.contains(origin))
            .map(str::to_owned)
            .collect(),
        shown: shown.concat(),
        missed,
        output,
        took,
        collection,
        _folder: folder,
    }
}

/// Runs a row with its defence and without it: what is wrong, and the collection that the defended run left.
async fn judge(row: Row) -> (Vec<String>, Seen) {
    let name = row.hazard.name();
    let mut faults = Vec::new();
    let defended = run(row.hazard, &[row.with], &["--time", "60s"]).await;
    let polite = if row.hasty { Ok(()) } else { defended.polite() };
    for judged in [defended.honest(), polite, (row.holds)(&defended)] {
        if let Err(fault) = judged {
            faults.push(format!("{name}: {fault}"));
        }
    }
    if let Out::Switch(lines, flags) = row.out {
        let open = run(row.hazard, &[row.with, lines], flags).await;
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

/// All rows of a group, some at once.
async fn judge_group(group: Group) {
    let mut runs = JoinSet::new();
    for row in rows().into_iter().filter(|row| row.hazard.group() == group) {
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
fn no_kind_is_missing() {
    let rows = rows().into_iter().map(|row| row.hazard);
    assert_eq!(rows.collect::<Vec<_>>(), Hazard::ALL);
}

/// The files of defences and the tests that rows name.
#[test]
fn what_rows_name_exists() {
    for row in rows() {
        let name = row.hazard.name();
        assert!(root().join(row.file).exists(), "{name}: {}", row.file);
        if let Out::Test(file, test) = row.out {
            let text = std::fs::read_to_string(root().join(file)).unwrap_or_default();
            let found = text.contains(&format!("fn {test}("));
            assert!(found, "{name}: no test {test} in {file}");
        }
    }
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
        let (hazard, line) = (row.hazard.name(), row.hazard.line());
        let (taken_out, test) = match row.out {
            Out::Switch(lines, _) => (switches(lines), "this row".to_owned()),
            Out::Test(file, test) if row.mutation.is_empty() => (
                "a change of code".to_owned(),
                format!("`{test}` in `{file}`"),
            ),
            Out::Test(file, test) => (
                format!("**mutation**: {}", row.mutation),
                format!("`{test}` in `{file}`"),
            ),
        };
        let (must, defence, file) = (row.must, row.defence, row.file);
        let _ = writeln!(
            out,
            "| {hazard} | {line} | {must} | {defence} (`{file}`) | {taken_out} | {test} |"
        );
    }
    out
}

/// `[fetch] range = true` as `fetch.range = true`.
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

/// The table, in the order of the lab's.
fn rows() -> Vec<Row> {
    [
        trap_rows(),
        server_rows(),
        content_rows(),
        attack_rows(),
        name_rows(),
    ]
    .concat()
}

fn trap_rows() -> Vec<Row> {
    vec![
        row(
            Hazard::Calendar,
            "at most 100 requests",
            |seen| seen.at_most(100),
            "pages with new links and nothing new to read",
            "crates/engine/src/novelty.rs",
        )
        .off(BARREN),
        row(
            Hazard::Growth,
            "at most 100 requests",
            |seen| seen.at_most(100),
            "components in a row; pages that repeat",
            "crates/url/src/growth.rs",
        )
        .off(PATHS),
        row(
            Hazard::Symlink,
            "at most 20 requests",
            |seen| seen.at_most(20),
            "components in a row; pages that repeat",
            "crates/url/src/growth.rs",
        )
        .off(PATHS),
        row(
            Hazard::Session,
            "at most 90 requests",
            |seen| seen.at_most(90),
            "session identifiers are removed; pages that repeat",
            "crates/url/src/session.rs",
        )
        .off("[url]\ndrop_sessions = false\n[thresholds]\nbarren = \"none\""),
        row(
            Hazard::Listing,
            "each listing once, at most 40 requests",
            |seen| seen.at_most(40),
            "links that sort a listing are trimmed",
            "crates/url/src/listing.rs",
        )
        .off("[url]\ntrim_listings = false"),
        row(
            Hazard::Wildcard,
            "at most 200 requests",
            |seen| seen.at_most(200),
            "hosts under one domain that never lead back",
            "crates/engine/src/domains.rs",
        )
        .test(
            "crates/engine/src/domains.rs",
            "hosts_that_never_lead_back_are_a_trap",
        ),
        row(
            Hazard::Tenants,
            "all 24 hosts, one at a time",
            |seen| {
                seen.polite()?;
                let homes = seen
                    .requests
                    .iter()
                    .filter(|r| r.path == "/" && r.status == 200);
                let found = homes.count();
                ensure(found == 25, || format!("{found} home pages"))
            },
            "the pause is kept by address, too",
            "crates/engine/src/courtesy.rs",
        )
        .test(
            "crates/engine/src/courtesy.rs",
            "those_who_wait_are_served_in_order",
        ),
        row(
            Hazard::Maze,
            "at most 100 requests",
            |seen| seen.at_most(100),
            "links that never lead back",
            "crates/engine/src/novelty.rs",
        )
        .off(BARREN),
        row(
            Hazard::Tarpit,
            "each page ends in time, at most 30 requests",
            |seen| {
                seen.released()?;
                seen.at_most(30)
            },
            "a limit on the whole fetch",
            "crates/fetch/src/pace.rs",
        )
        .off_for(PATIENT),
        row(
            Hazard::Counter,
            "at most 100 requests",
            |seen| seen.at_most(100),
            "near duplicates with new links",
            "crates/engine/src/novelty.rs",
        )
        .off(BARREN),
        row(
            Hazard::Facets,
            "at most 130 requests",
            |seen| seen.at_most(130),
            "pages with new links and nothing new to read",
            "crates/engine/src/novelty.rs",
        )
        .off(BARREN),
    ]
}

fn server_rows() -> Vec<Row> {
    vec![
        row(
            Hazard::Silence,
            "a time-out, the connection let go",
            |seen| { seen.released()?; seen.pages(&["/"], "time-out") },
            "a limit on the first byte",
            "crates/fetch/src/pace.rs",
        )
        .off_for(PATIENT),
        row(
            Hazard::Drip,
            "what came is kept and marked",
            |seen| { seen.released()?; seen.cut(&["/"]) },
            "a limit on the whole fetch, a lowest speed",
            "crates/fetch/src/pace.rs",
        )
        .off_for(PATIENT),
        row(
            Hazard::Trickle,
            "stalled, the connection let go",
            |seen| { seen.released()?; seen.pages(&["/"], "stalled") },
            "a limit on the head",
            "crates/fetch/src/pace.rs",
        )
        .off_for(PATIENT),
        row(
            Hazard::Endless,
            "cut at the limit and marked",
            |seen| { seen.bytes_at_most(2 * MAX_BODY)?; seen.cut(&["/"]) },
            "a limit on the body",
            "crates/fetch/src/exchange.rs",
        )
        .off_for("[fetch]\nmax_body = \"1GiB\""),
        row(
            Hazard::Radio,
            "streams cut in time and marked",
            |seen| { seen.released()?; seen.cut(&["/listen.mp3", "/live.html", "/camera"]) },
            "a limit on the whole fetch",
            "crates/fetch/src/pace.rs",
        )
        .off_for(PATIENT),
        row(
            Hazard::Preamble,
            "not HTTP, after 64 KiB",
            |seen| { seen.bytes_at_most(1 << 20)?; seen.pages(&["/lines", "/line", "/status"], "not HTTP") },
            "a limit on the head",
            "crates/fetch/src/head.rs",
        )
        .off_for("[fetch]\nmax_head = \"1GiB\""),
        row(
            Hazard::Interim,
            "not HTTP, after a few",
            |seen| { seen.bytes_at_most(1 << 20)?; seen.pages(&["/continue"], "not HTTP") },
            "a limit on interim answers",
            "crates/fetch/src/exchange.rs",
        )
        .test("crates/fetch/src/exchange/tests.rs", "floods_before_the_answer_end_early").mutated("`MOST_INTERIM` without bound"),
        row(
            Hazard::Length,
            "what came is kept; marked where less came than announced",
            |seen| { seen.cut(&["/more", "/huge"])?; seen.pages(&["/less", "/word", "/negative"], "200") },
            "a length is an upper bound, memory follows what comes",
            "crates/fetch/src/framing.rs",
        )
        .test("crates/fetch/tests/web/answers.rs", "lengths"),
        row(
            Hazard::Chunks,
            "what came before the fault is kept; trailers and sizes without end are left",
            |seen| { seen.bytes_at_most(8 << 20)?; seen.cut(&["/short", "/last"])?; seen.pages(&["/both", "/bare", "/empty"], "200") },
            "strict chunks, a limit on lines",
            "crates/fetch/src/chunks.rs",
        )
        .test("crates/fetch/src/chunks.rs", "broken_framing_keeps_what_came_before"),
        row(
            Hazard::Ancient,
            "no status line, no page; sloppy ones are read",
            |seen| { seen.pages(&["/bare", "/icy", "/status", "/zero", "/word"], "not HTTP")?; seen.pages(&["/two", "/newlines", "/lower", "/blank"], "200") },
            "a status line is wanted",
            "crates/fetch/src/head.rs",
        )
        .test("crates/fetch/tests/web/answers.rs", "what_is_not_http"),
        row(
            Hazard::Fields,
            "pages behind strange fields are kept",
            |seen| seen.pages(&["/none", "/same", "/list", "/folded", "/space", "/colon", "/nameless", "/control", "/quote"], "200"),
            "a reader of heads that forgives",
            "crates/fetch/src/head.rs",
        )
        .test("crates/fetch/tests/web/answers.rs", "odd_heads"),
        row(
            Hazard::Ranges,
            "asked again without the range, and kept; the second request follows at once, without the pause, which is a known limit",
            Seen::ordinary,
            "416 is answered by a second request",
            "crates/fetch/src/range.rs",
        )
        .with("[fetch]\nrange = true").test("crates/fetch/tests/web/answers.rs", "ranges").hasty().mutated("416 not answered by a second request"),
        row(
            Hazard::Aimless,
            "a redirect without target is told as that; at most 30 requests",
            |seen| { seen.at_most(30)?; seen.pages(&["/none", "/broken", "/port"], "redirect without target") },
            "targets are URLs or nothing; few hops to oneself",
            "crates/engine/src/visit/verdict.rs",
        )
        .test("crates/aranha/tests/site.rs", "a_page_that_redirects_to_itself_for_ever_ends"),
        row(
            Hazard::Circle,
            "at most 100 requests",
            |seen| seen.at_most(100),
            "redirects behind redirects bring nothing new",
            "crates/engine/src/novelty.rs",
        )
        .off(BARREN),
        row(
            Hazard::Soft,
            "the site is asked once for a page that cannot exist",
            |seen| { let probes = seen.requests.iter().filter(|r| r.path.starts_with("/aranha-")).count(); ensure(probes == 1, || format!("{probes} probes")) },
            "what the site says of absent pages is learnt",
            "crates/engine/src/visit/content.rs",
        )
        .off("[crawl]\nsoft_404 = false"),
        row(
            Hazard::Storm,
            "left alone after a few errors: at most 10 requests",
            |seen| seen.at_most(10),
            "retries wait; a site that fails is left",
            "crates/frontier/src/retry.rs",
        )
        .off("[crawl]\nlinger = \"3s\"\n[retry]\nserver_error = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]"),
        row(
            Hazard::Busy,
            "left alone at the first 429: at most 4 requests",
            |seen| seen.at_most(4),
            "patience as asked for, and more",
            "crates/frontier/src/retry.rs",
        )
        .off("[crawl]\nlinger = \"4s\"\n[retry]\nslow_down = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]"),
        row(
            Hazard::Reset,
            "left alone after a few resets: at most 10 requests",
            |seen| seen.at_most(10),
            "retries wait; a site that fails is left",
            "crates/frontier/src/retry.rs",
        )
        .off("[crawl]\nlinger = \"3s\"\n[retry]\nreset = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]"),
        row(
            Hazard::Down,
            "tried once",
            |seen| seen.told("connection failed", 1),
            "retries wait",
            "crates/frontier/src/retry.rs",
        )
        .off("[crawl]\nlinger = \"3s\"\n[retry]\nserver_down = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]\nrobots_unreachable = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]"),
        row(
            Hazard::Void,
            "given up in time",
            |seen| seen.told("connection time-out", 1),
            "a limit on connecting",
            "crates/fetch/src/connect.rs",
        )
        .off_for("[fetch]\nconnect_timeout = \"1h\"\ntotal_timeout = \"1h\""),
        row(
            Hazard::Expired,
            "kept, the fault recorded",
            Seen::ordinary,
            "certificates are recorded, not obeyed",
            "crates/fetch/src/tls.rs",
        )
        .off(STRICT),
        row(
            Hazard::SelfSigned,
            "kept, the fault recorded",
            Seen::ordinary,
            "certificates are recorded, not obeyed",
            "crates/fetch/src/tls.rs",
        )
        .off(STRICT),
        row(
            Hazard::OtherName,
            "kept, the fault recorded",
            Seen::ordinary,
            "certificates are recorded, not obeyed",
            "crates/fetch/src/tls.rs",
        )
        .off(STRICT),
        row(
            Hazard::PlainText,
            "tried once",
            |seen| seen.told("TLS failure", 1),
            "retries wait",
            "crates/frontier/src/retry.rs",
        )
        .off("[crawl]\nlinger = \"3s\"\n[retry]\ntls = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]\nrobots_unreachable = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]"),
        row(
            Hazard::Handshake,
            "given up in time",
            |seen| { seen.released()?; seen.told("TLS failure", 1) },
            "a limit on the handshake",
            "crates/fetch/src/tls.rs",
        )
        .off_for("[fetch]\ntls_timeout = \"1h\"\ntotal_timeout = \"1h\""),
    ]
}

fn content_rows() -> Vec<Row> {
    vec![
        row(
            Hazard::Types,
            "the type is what the bytes are",
            |seen| {
                let kind = |path: &str| {
                    seen.pages
                        .get(path)
                        .map_or("", |page| page["type"].as_str().unwrap_or_default())
                };
                for (path, wanted) in [
                    ("/archive.html", "application/zip"),
                    ("/picture.html", "image/png"),
                    ("/document.pdf", "application/pdf"),
                    ("/page.bin", "text/html"),
                    ("/missing", "text/html"),
                ] {
                    ensure(kind(path) == wanted, || format!("{path}: {}", kind(path)))?;
                }
                Ok(())
            },
            "bytes are looked at",
            "crates/page/src/sniff.rs",
        )
        .test("crates/page/src/media.rs", "a_lying_type_is_repaired"),
        row(
            Hazard::Nulls,
            "links before and after are found",
            |seen| {
                seen.at_most(10)?;
                seen.pages(&["/after.html", "/c%00d.html"], "200")
            },
            "nulls are characters like others",
            "crates/page/src/tokenizer.rs",
        )
        .test("crates/page/tests/hostile.rs", "nulls_in_a_url"),
        row(
            Hazard::Lengthy,
            "no request is longer than the limit",
            |seen| {
                let longest = seen.requests.iter().map(|r| r.path.len()).max();
                ensure(longest <= Some(2000), || format!("{longest:?} bytes"))?;
                seen.pages(&["/after.html"], "200")
            },
            "a limit on URLs",
            "crates/url/src/canonicaliser.rs",
        )
        .test("crates/url/src/canonicaliser.rs", "reasons"),
        row(
            Hazard::Unterminated,
            "links before and after each fault are found",
            |seen| {
                seen.pages(
                    &[
                        "/before.html",
                        "/after.html",
                        "/attribute",
                        "/comment",
                        "/script",
                    ],
                    "200",
                )
            },
            "the tokenizer of the standard",
            "crates/page/src/tokenizer.rs",
        )
        .test("crates/page/tests/corpus.rs", "pages"),
        row(
            Hazard::Nested,
            "the link at the bottom is found",
            |seen| seen.pages(&["/bottom.html"], "200"),
            "no tree is built",
            "crates/page/src/html.rs",
        )
        .test("crates/page/tests/hostile.rs", "large_and_deep"),
        row(
            Hazard::Giant,
            "cut at the limit and marked",
            |seen| {
                seen.cut(&[
                    "/tag",
                    "/attributes",
                    "/name",
                    "/word",
                    "/comment",
                    "/script",
                    "/entity",
                ])
            },
            "a limit on the body",
            "crates/fetch/src/exchange.rs",
        )
        .off("[fetch]\nmax_body = \"64MiB\"\nmax_decoded = \"64MiB\""),
        row(
            Hazard::Charsets,
            "the link is found in its true spelling",
            |seen| seen.pages(&["/cora%C3%A7%C3%A3o.html"], "200"),
            "mark, header, meta, guess",
            "crates/page/src/charset.rs",
        )
        .test(
            "crates/page/src/charset.rs",
            "mark_before_header_before_meta_before_detection",
        ),
        row(
            Hazard::Dates,
            "every page is kept",
            |seen| {
                seen.pages(
                    &["/zero", "/beyond", "/impossible", "/words", "/seconds"],
                    "200",
                )
            },
            "dates are repaired or left",
            "crates/fetch/src/date.rs",
        )
        .test("crates/fetch/src/date.rs", "dates_of_change_are_repaired")
        .mutated("no earliest date"),
        row(
            Hazard::Browser,
            "at most 5 requests",
            |seen| seen.at_most(5),
            "walls are recognised",
            "crates/page/src/wall.rs",
        )
        .test("crates/page/src/wall.rs", "walls")
        .mutated("no page is a wall"),
        row(
            Hazard::Crowd,
            "set aside at the limit of the user: 120 pages and a few",
            |seen| seen.at_most(130),
            "a limit on the pages of a site",
            "crates/engine/src/visit/content.rs",
        )
        .with("[thresholds]\nurls = 120")
        .off("[thresholds]\nurls = \"none\""),
    ]
}

fn attack_rows() -> Vec<Row> {
    vec![
        row(
            Hazard::Bomb,
            "unpacked up to the limit",
            |seen| {
                for (path, page) in &seen.pages {
                    let size = page["size"].as_u64().unwrap_or_default();
                    ensure(size <= MAX_DECODED, || format!("{path}: {size} bytes"))?;
                }
                seen.pages(&["/gzip", "/br", "/zstd", "/deflate", "/hundred"], "200")
            },
            "what comes out is counted",
            "crates/fetch/src/decode.rs",
        )
        .off("[fetch]\nmax_decoded = \"16MiB\""),
        row(
            Hazard::Inward,
            "no connection to a refused address",
            Seen::no_trespass,
            "the guard stands before every socket",
            "crates/fetch/src/guard.rs",
        )
        .off(OPEN),
        row(
            Hazard::Metadata,
            "every redirect is recorded, none followed",
            |seen| {
                seen.no_trespass()?;
                seen.pages(&["/to/0", "/to/9", "/to/18"], "307")
            },
            "the guard stands before every socket",
            "crates/fetch/src/guard.rs",
        )
        .test(
            "crates/fetch/tests/web/connections.rs",
            "the_guard_stands_before_every_socket",
        )
        .mutated("the guard lets every address pass"),
        row(
            Hazard::Schemes,
            "told as redirects without target",
            |seen| {
                seen.no_trespass()?;
                seen.pages(
                    &["/to/0", "/to/3", "/to/4", "/to/10", "/to/13"],
                    "redirect without target",
                )
            },
            "http and https, nothing else",
            "crates/url/src/canonicaliser.rs",
        )
        .test("crates/url/src/canonicaliser.rs", "reasons"),
        row(
            Hazard::Insider,
            "no connection to a refused address",
            Seen::no_trespass,
            "the guard judges answers",
            "crates/fetch/src/guard.rs",
        )
        .off(OPEN),
        row(
            Hazard::Rebind,
            "no connection to a refused address",
            Seen::no_trespass,
            "the guard judges each answer",
            "crates/fetch/src/guard.rs",
        )
        .with(NO_CACHE)
        .off(OPEN),
        row(
            Hazard::Mixed,
            "only the good address is connected to",
            |seen| {
                seen.no_trespass()?;
                seen.ordinary()
            },
            "the guard judges each address",
            "crates/fetch/src/guard.rs",
        )
        .off(OPEN),
        row(
            Hazard::Tunnel,
            "no connection to a refused address",
            Seen::no_trespass,
            "the guard reads version six",
            "crates/fetch/src/guard.rs",
        )
        .off(OPEN),
        row(
            Hazard::Cookies,
            "at most 50 cookies; none to an honest site; at most 100 requests",
            |seen| {
                seen.at_most(100)?;
                let most = seen
                    .requests
                    .iter()
                    .map(|r| r.cookie.split(';').count())
                    .max();
                ensure(most <= Some(50), || format!("{most:?} cookies"))?;
                let strangers = seen
                    .honest
                    .iter()
                    .find(|r| r.cookie.contains("super") || r.cookie.contains("flood"));
                ensure(strangers.is_none(), || format!("{strangers:?}"))
            },
            "a small jar, public suffixes",
            "crates/fetch/src/cookies.rs",
        )
        .test("crates/fetch/src/cookies.rs", "the_jar_is_bounded")
        .mutated("`MOST_COOKIES` without bound"),
        row(
            Hazard::Credentials,
            "no credential is sent, no cookie leaves the site",
            |seen| {
                let mut all = seen.requests.iter().chain(&seen.honest);
                let sent = all.find(|r| !r.authorization.is_empty());
                ensure(sent.is_none(), || format!("{sent:?}"))?;
                let leak = seen
                    .honest
                    .iter()
                    .find(|r| r.cookie.contains("credentials"));
                ensure(leak.is_none(), || format!("{leak:?}"))?;
                seen.pages(&["/private"], "401")
            },
            "user information is dropped; cookies stay at home",
            "crates/fetch/src/cookies.rs",
        )
        .test("crates/fetch/src/cookies.rs", "domains"),
        row(
            Hazard::Flood,
            "at most 8 MiB are sent, the site is crawled",
            |seen| {
                seen.bytes_at_most(8 << 20)?;
                seen.ordinary()
            },
            "a limit on robots.txt",
            "crates/engine/src/collect.rs",
        )
        .test("crates/robots/tests/hostile.rs", "beyond_the_limit")
        .mutated("`LONGEST_FILE` of 1 GiB"),
        row(
            Hazard::Ribbon,
            "at most 8 MiB are sent, the site is crawled",
            |seen| {
                seen.bytes_at_most(8 << 20)?;
                seen.ordinary()
            },
            "a limit on robots.txt",
            "crates/engine/src/collect.rs",
        )
        .test("crates/robots/tests/hostile.rs", "beyond_the_limit")
        .mutated("`LONGEST_FILE` of 1 GiB"),
        row(
            Hazard::Patterns,
            "every page, in time",
            |seen| {
                seen.at_most(8)?;
                ensure(seen.pages.len() == 5, || {
                    format!("{} pages", seen.pages.len())
                })
            },
            "patterns are matched without going back",
            "crates/robots/src/pattern.rs",
        )
        .test("crates/robots/src/pattern.rs", "no_pattern_explodes"),
        row(
            Hazard::Gate,
            "asked once for robots.txt, nothing fetched",
            |seen| seen.at_most(1),
            "nothing is asked while robots.txt cannot be read",
            "crates/engine/src/permission.rs",
        )
        .test(
            "crates/aranha/tests/site.rs",
            "without_robots_txt_nothing_is_asked_until_it_can_be_read",
        ),
        row(
            Hazard::Doorman,
            "let go in time",
            |seen| {
                seen.released()?;
                seen.at_most(4)
            },
            "a limit on the whole fetch",
            "crates/fetch/src/pace.rs",
        )
        .off_for(PATIENT),
        row(
            Hazard::Carousel,
            "five redirects are followed, then there is no robots.txt",
            |seen| {
                seen.ordinary()?;
                let asked = seen
                    .requests
                    .iter()
                    .filter(|r| r.path.ends_with("robots.txt"))
                    .count();
                ensure(asked == 6, || format!("{asked} requests for robots.txt"))
            },
            "a limit on redirects",
            "crates/engine/src/permission.rs",
        )
        .test("crates/aranha/tests/hazards.rs", "attacks"),
        row(
            Hazard::Escape,
            "no control byte is shown, logged or sent",
            |seen| {
                let sent = seen.requests.iter().find(|r| {
                    r.path.bytes().any(|byte| byte < b' ') || r.cookie.contains("injected")
                });
                ensure(sent.is_none(), || format!("{sent:?}"))?;
                seen.clean()?;
                seen.pages(&["/redirect"], "302")
            },
            "what is shown is written out",
            "crates/aranha/src/plain.rs",
        )
        .test("crates/aranha/src/plain.rs", "controls_are_written_out"),
        row(
            Hazard::Sitemaps,
            "at most 100 requests, the site is crawled",
            |seen| {
                seen.at_most(100)?;
                seen.ordinary()
            },
            "lists of links that bring nothing to read",
            "crates/engine/src/novelty.rs",
        )
        .off(BARREN),
    ]
}

fn name_rows() -> Vec<Row> {
    vec![
        row(
            Hazard::Absent,
            "told once",
            |seen| seen.told("name not found", 1),
            "retries wait",
            "crates/frontier/src/retry.rs",
        )
        .off("[crawl]\nlinger = \"3s\"\n[retry]\ndns_failed = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]\ndns_not_found = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]\nrobots_unreachable = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]"),
        row(
            Hazard::ServFail,
            "told once",
            |seen| seen.told("DNS failure", 1),
            "retries wait",
            "crates/frontier/src/retry.rs",
        )
        .off("[crawl]\nlinger = \"3s\"\n[retry]\ndns_failed = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]\ndns_not_found = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]\nrobots_unreachable = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]"),
        row(
            Hazard::Mute,
            "told in time",
            |seen| seen.told("DNS failure", 1),
            "a limit on look-ups",
            "crates/fetch/src/dns/servers.rs",
        )
        .off_for("[fetch]\ndns_timeout = \"1h\"\ntotal_timeout = \"1h\""),
        row(
            Hazard::Garbled,
            "told once, nothing is believed",
            |seen| { seen.at_most(0)?; seen.told("DNS failure", 1) },
            "packets are checked; retries wait",
            "crates/frontier/src/retry.rs",
        )
        .off("[crawl]\nlinger = \"3s\"\n[retry]\ndns_failed = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]\ndns_not_found = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]\nrobots_unreachable = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]"),
        row(
            Hazard::Crooked,
            "told once; the address before the fault is not taken, which is a known limit",
            |seen| seen.told("DNS failure", 1),
            "packets are checked; retries wait",
            "crates/frontier/src/retry.rs",
        )
        .off("[crawl]\nlinger = \"3s\"\n[retry]\ndns_failed = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]\ndns_not_found = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]\nrobots_unreachable = [\"50ms\", \"50ms\", \"50ms\", \"50ms\"]"),
        row(
            Hazard::Shifting,
            "crawled, the pause kept by address",
            Seen::ordinary,
            "courtesy goes by the address connected to",
            "crates/engine/src/courtesy.rs",
        )
        .with(NO_CACHE).test("crates/engine/src/courtesy.rs", "the_pause_counts_from_the_end_of_the_answer"),
        row(
            Hazard::Alias,
            "crawled",
            Seen::ordinary,
            "aliases are followed",
            "crates/fetch/src/dns.rs",
        )
        .test("crates/aranha/tests/hazards.rs", "names"),
        row(
            Hazard::Ring,
            "given up after at most 60 questions",
            |seen| { seen.at_most(0)?; seen.questions_at_most(60) },
            "a limit on aliases",
            "crates/fetch/src/dns/servers.rs",
        )
        .test("crates/aranha/tests/hazards.rs", "names"),
        row(
            Hazard::Descent,
            "given up after at most 60 questions",
            |seen| { seen.at_most(0)?; seen.questions_at_most(60) },
            "a limit on aliases",
            "crates/fetch/src/dns/servers.rs",
        )
        .test("crates/aranha/tests/hazards.rs", "names"),
        row(
            Hazard::Fleeting,
            "asked for once",
            |seen| { seen.ordinary()?; seen.questions_at_most(2) },
            "a shortest life of answers",
            "crates/fetch/src/dns/cache.rs",
        )
        .off(NO_CACHE),
        row(
            Hazard::Truncated,
            "crawled, asked again by TCP",
            Seen::ordinary,
            "UDP, then TCP",
            "crates/fetch/src/dns/servers.rs",
        )
        .test("crates/aranha/tests/hazards.rs", "names"),
    ]
}
