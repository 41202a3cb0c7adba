//! Crawls one hazard with three honest sites, and collects the result: what the lab's servers received and what was
//! stored.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use aranha_lab::{BLACK_LIST, Hazard, Lab, LoggedRequest, Plan};
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::Semaphore;

use crate::rows::{ALLOW_LOOPBACK, SHORT_TIMEOUTS};
use crate::support::{self, answered, crawl, expected, pages};

const PAUSE: Duration = Duration::from_millis(10);
/// Limits the number of concurrent crawls, over all tests of this test binary: two for each processor. With more, the
/// time-outs measure the load of the machine.
static CRAWLS: LazyLock<Semaphore> = LazyLock::new(|| {
    Semaphore::new(2 * std::thread::available_parallelism().map_or(1, NonZero::get))
});
/// Time limit of a crawl. A crawl that takes longer is killed.
const MAX_CRAWL_TIME: Duration = Duration::from_secs(40);
/// Maximum size of a body. It applies to the body as received and to the decompressed body.
pub(crate) const MAX_BODY: u64 = 2 << 20;
pub(crate) const MAX_DECODED: u64 = 4 << 20;
/// Maximum duration of an exchange: the `total_timeout` of [`SHORT_TIMEOUTS`], and one second more for a busy machine.
const MAX_EXCHANGE_TIME: Duration = Duration::from_secs(3);
/// Number of honest pages that a crawl with [`SHORT_TIMEOUTS`] may miss, because on a busy machine honest sites can
/// exceed these time-outs.
const MAX_LATE_PAGES: usize = 3;

/// Settings of all crawls. The time-outs are long enough for honest sites on a busy machine. Rows with sites that never
/// answer use [`SHORT_TIMEOUTS`] instead.
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

/// The result of a check. `Err` says what is wrong.
pub(crate) type Check = Result<(), String>;

/// The result of a crawl: what the lab's servers received, and what the collection holds.
pub(crate) struct CrawlResult {
    /// Requests to the hostile site, its subdomains, and unknown hosts.
    pub(crate) requests: Vec<LoggedRequest>,
    /// Requests to honest sites.
    pub(crate) honest: Vec<LoggedRequest>,
    /// The refused addresses to which there were connections.
    pub(crate) trespasses: Vec<IpAddr>,
    pub(crate) violations: usize,
    /// DNS queries for the hostile site.
    pub(crate) queries: usize,
    /// URL of the hostile site's home page.
    pub(crate) home: String,
    /// Pages of the hostile site by path.
    pub(crate) pages: BTreeMap<String, Value>,
    /// Lines of `crawl.log` about the hostile site.
    pub(crate) log: Vec<String>,
    /// All output of the crawl and of commands that read the hostile site.
    pub(crate) printed: Vec<u8>,
    /// Honest pages that were not fetched.
    pub(crate) missed: Vec<String>,
    pub(crate) output: Output,
    pub(crate) duration: Duration,
    pub(crate) collection: PathBuf,
    _folder: TempDir,
}

pub(crate) fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { Err(otherwise()) }
}

impl CrawlResult {
    pub(crate) fn at_most(&self, requests: usize) -> Check {
        let found = self.requests.len();
        ensure(found <= requests, || format!("{found} requests"))
    }

    /// Checks that all these pages have this outcome.
    pub(crate) fn pages(&self, paths: &[&str], outcome: &str) -> Check {
        for path in paths {
            let found = self.pages.get(*path).map(|page| &page["outcome"]);
            ensure(found.and_then(Value::as_str) == Some(outcome), || {
                format!("{path}: {found:?} instead of {outcome}")
            })?;
        }
        Ok(())
    }

    /// The output of `aranha text --json` for a page of the hostile site.
    pub(crate) fn text(&self, path: &str) -> Result<Value, String> {
        let url = [self.home.trim_end_matches('/'), path].concat();
        let output = stdout_of(&["text", "--json", &url], &self.collection);
        serde_json::from_slice(&output).map_err(|error| format!("{path} has no text: {error}"))
    }

    /// Checks that these pages are stored up to the size limit and marked truncated.
    pub(crate) fn truncated(&self, paths: &[&str]) -> Check {
        for path in paths {
            let page = self.pages.get(*path).ok_or(format!("{path} is missing"))?;
            let (size, truncated) = (&page["size"], &page["truncated"]);
            ensure(
                *truncated == true && size.as_u64().is_some_and(|size| size <= MAX_BODY),
                || format!("{path}: {size} bytes, truncated: {truncated}"),
            )?;
        }
        Ok(())
    }

    /// Checks that the outcome is logged this many times.
    pub(crate) fn logged(&self, outcome: &str, times: usize) -> Check {
        let words = outcome.replace(' ', "_");
        let found = self.log.iter().filter(|line| line.contains(&words)).count();
        ensure(found == times, || {
            format!("{outcome}: {found} times in {:#?}", self.log)
        })
    }

    /// Checks that no exchange took longer than [`MAX_EXCHANGE_TIME`].
    pub(crate) fn ended_in_time(&self) -> Check {
        let held = self.requests.iter().map(|r| r.closed - r.started).max();
        ensure(held.is_none_or(|held| held <= MAX_EXCHANGE_TIME), || {
            format!("held for {held:?}")
        })
    }

    pub(crate) fn bytes_at_most(&self, most: u64) -> Check {
        let found: u64 = self.requests.iter().map(|request| request.bytes).sum();
        ensure(found <= most, || format!("{found} bytes"))
    }

    pub(crate) fn no_trespass(&self) -> Check {
        let found = &self.trespasses;
        ensure(found.is_empty(), || {
            format!("connections to refused addresses: {found:?}")
        })
    }

    pub(crate) fn queries_at_most(&self, most: usize) -> Check {
        let found = self.queries;
        ensure(found <= most, || format!("{found} DNS queries"))
    }

    pub(crate) fn polite(&self) -> Check {
        let found = self.violations;
        ensure(found == 0, || format!("{found} requests too early"))
    }

    /// Checks that all pages were fetched, for a hostile site whose hazard is not in its pages.
    pub(crate) fn ordinary(&self) -> Check {
        self.pages(&["/", "/one.html", "/two.html"], "200")
    }

    /// Checks that no control character is printed.
    pub(crate) fn has_no_control_characters(&self) -> Check {
        let control = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
        let printed = String::from_utf8_lossy(&self.printed);
        let found = printed.lines().find(|line| line.contains(control));
        ensure(found.is_none(), || {
            format!("a control character is printed: {found:?}")
        })
    }

    /// Checks the conditions that hold for every hazard.
    pub(crate) fn common(&self) -> Check {
        ensure(self.output.status.success(), || {
            let errors = String::from_utf8_lossy(&self.output.stderr);
            format!("{}: {errors}", self.output.status)
        })?;
        ensure(self.duration < MAX_CRAWL_TIME, || {
            "the crawl did not end".to_owned()
        })?;
        ensure(self.missed.is_empty(), || {
            format!("honest pages are missing: {:?}", self.missed)
        })?;
        self.has_no_control_characters()?;
        self.no_trespass()
    }
}

/// Adds configuration lines to a configuration.
fn merge(settings: &mut toml::Table, lines: &str) {
    let lines: toml::Table = lines.parse().expect("the lines of a row are TOML");
    for (section, keys) in lines {
        let keys = keys.as_table().expect("the value is a section").clone();
        let section = settings
            .entry(section)
            .or_insert_with(|| toml::Table::new().into());
        section
            .as_table_mut()
            .expect("the value is a section")
            .extend(keys);
    }
}

fn settings(lines: &[&str]) -> String {
    let mut settings: toml::Table = SETTINGS.parse().expect("the settings are TOML");
    let list = |from: usize| format!("[crawl]\nblacklist = {:?}", &BLACK_LIST[from..]);
    merge(&mut settings, &list(0));
    for lines in lines {
        if lines.contains(ALLOW_LOOPBACK) {
            merge(&mut settings, &lines.replace(ALLOW_LOOPBACK, &list(3)));
        } else {
            merge(&mut settings, lines);
        }
    }
    settings.to_string()
}

/// Crawls the hazard and three honest sites.
pub(crate) async fn run(
    hazard: Hazard,
    lines: &[&str],
    flags: &'static [&'static str],
) -> CrawlResult {
    let _permit = CRAWLS.acquire().await.expect("the semaphore is open");
    let lab = Lab::start(Plan {
        sites: 3,
        addresses: 3,
        seeds: 2,
        hazards: vec![hazard],
        ..Plan::small(7)
    })
    .await
    .expect("the lab starts");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let collection = folder.path().join("crawl");
    let mut command = crawl(&lab, &collection, "10ms");
    std::fs::write(collection.with_extension("settings.toml"), settings(lines))
        .expect("the file is written");
    command.args(flags);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let start = Instant::now();
    let child = command.spawn().expect("the binary runs");
    let process = child.id();
    let waiting = tokio::task::spawn_blocking(move || child.wait_with_output());
    tokio::pin!(waiting);
    let in_time = tokio::time::timeout(MAX_CRAWL_TIME, &mut waiting).await;
    let output = if let Ok(output) = in_time {
        output
    } else {
        let process = rustix::process::Pid::from_raw(process.cast_signed());
        let process = process.expect("a process has a number");
        let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
        waiting.await
    };
    let output = output
        .expect("waiting does not panic")
        .expect("the binary runs");
    let duration = start.elapsed();
    // A slow server notices only at its next write that the client has closed the connection.
    tokio::time::sleep(Duration::from_millis(600)).await;
    let short_timeouts = lines.contains(&SHORT_TIMEOUTS);
    crawl_result(
        hazard,
        short_timeouts,
        &lab,
        output,
        duration,
        folder,
        collection,
    )
}

fn crawl_result(
    hazard: Hazard,
    short_timeouts: bool,
    lab: &Lab,
    output: Output,
    duration: Duration,
    folder: TempDir,
    collection: PathBuf,
) -> CrawlResult {
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
    if short_timeouts && missed.len() <= MAX_LATE_PAGES {
        missed.retain(|url: &String| !given_up.contains(url.as_str()));
    }
    let mut printed = [&output.stdout, &output.stderr, log.as_bytes()].concat();
    printed.extend(stdout_of(&["pages"], &collection));
    for command in ["why", "text", "links"] {
        printed.extend(stdout_of(&[command, &home], &collection));
    }
    CrawlResult {
        requests,
        honest,
        trespasses: lab.trespasses().iter().map(|to| to.address).collect(),
        // Exchanges that the client aborted are not counted, because the server may learn of their end late or never.
        violations: lab
            .violations(PAUSE)
            .iter()
            .filter(|violation| violation.first.complete && !is_given_up(&violation.first))
            .count(),
        queries: lab
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
        printed,
        home,
        missed,
        output,
        duration,
        collection,
        _folder: folder,
    }
}

/// The stdout of a command that reads a collection.
fn stdout_of(command: &[&str], collection: &Path) -> Vec<u8> {
    let mut aranha = support::aranha();
    aranha.args(command).arg("-c").arg(collection);
    aranha.output().expect("the binary runs").stdout
}
