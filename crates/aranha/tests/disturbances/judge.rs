//! What is demanded of a crawl after everything was disturbed. The log of the web's servers and the programs of others are the
//! judges where possible.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use aranha_frontier::{PageFilter, View};
use aranha_lab::{Lab, LoggedRequest};
use aranha_volume::ArchiveReader;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use serde_json::Value;

use crate::process::run;
use crate::s3_server::S3Server;
use crate::support::{assert_status, tool};

/// When each page was first seen to be recorded, by URL in the lab's canonical form.
pub(crate) type Recorded = BTreeMap<String, Instant>;

/// Requests for pages that had been recorded before. Nothing is due again in a trial, so there must be none.
pub(crate) fn repeats_of_recorded(
    recorded: &Recorded,
    requests: &[LoggedRequest],
    url: impl Fn(&LoggedRequest) -> String,
) -> Vec<String> {
    let is_repeat = |request: &&LoggedRequest| {
        let seen = recorded.get(&url(request));
        seen.is_some_and(|seen| request.started > *seen)
    };
    let found = requests.iter().filter(is_repeat);
    found
        .map(|request| format!("{}{}", request.host, request.path))
        .collect()
}

/// Pages with more than one record. The redirect of a page to the same page of its twin is not counted. `history`: the output of
/// `aranha pages --history --json`.
pub(crate) fn recorded_twice(lab: &Lab, history: &[Value]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut twice = Vec::new();
    for record in history {
        let url = lab.fold(record["url"].as_str().expect("a URL"));
        let target = record["redirect"].as_str();
        let is_twin = target.is_some_and(|target| lab.fold(target) == url);
        let is_answer = record["status"].is_number();
        if is_answer && !is_twin && !seen.insert(url.clone()) {
            twice.push(url);
        }
    }
    twice
}

/// Number of requests for pages beyond the first of each.
pub(crate) fn repeats(requests: &[LoggedRequest]) -> usize {
    let pages = requests
        .iter()
        .filter(|request| request.path != "/robots.txt");
    let all: Vec<_> = pages
        .map(|request| (&request.host, &request.path))
        .collect();
    let different: BTreeSet<_> = all.iter().collect();
    all.len() - different.len()
}

/// What the folders of the nodes and the store contain.
#[derive(Debug, Default)]
pub(crate) struct ArchiveReport {
    pub(crate) volumes: u64,
    /// Page records whose bytes were read and verified.
    pub(crate) pages: u64,
    /// Stored responses without a page record, found by `aranha clean`.
    pub(crate) orphans: usize,
    /// Orphans that the nodes had listed, because a lease was lost.
    pub(crate) unrecorded: usize,
    pub(crate) problems: Vec<String>,
}

/// Judges the archive: every record is valid, and every page record leads to its bytes. `aranha` makes a command for a folder.
pub(crate) fn judge_archive(
    folders: &[&Path],
    aranha: impl Fn(&[&str], &Path) -> Command,
) -> ArchiveReport {
    let mut report = ArchiveReport::default();
    let mut totals = BTreeSet::new();
    for folder in folders {
        let mut read = |arguments: &[&str]| -> Value {
            let output = run(&mut aranha(arguments, folder));
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            let value = serde_json::from_slice(&output.stdout);
            value.unwrap_or_else(|error| {
                let problem = format!("{arguments:?} in {}: {error}: {stderr}", folder.display());
                report.problems.push(problem);
                Value::Null
            })
        };
        let check = read(&["check", "--json"]);
        let clean = read(&["clean", "--json"]);
        report.volumes += check["volumes"].as_u64().unwrap_or(0);
        let pages = check["pages"].as_u64().unwrap_or(0);
        report.pages += pages;
        totals.insert(pages + check["pages_elsewhere"].as_u64().unwrap_or(0));
        let faults = check["faults"].as_array().into_iter().flatten();
        report.problems.extend(faults.map(Value::to_string));
        let orphans = clean["orphans"].as_array().cloned().unwrap_or_default();
        report.orphans += orphans.len();
        let place = |value: &Value, volume: &str| {
            let volume = value[volume].as_str().unwrap_or_default().to_owned();
            (volume, value["offset"].as_u64())
        };
        let found: BTreeSet<_> = orphans
            .iter()
            .map(|orphan| place(orphan, "volume_id"))
            .collect();
        let unknown = orphans.iter().filter(|orphan| orphan["known"] != true);
        let unknown = unknown.map(|orphan| format!("unknown page: {orphan}"));
        report.problems.extend(unknown);
        let listed = std::fs::read_to_string(folder.join("unrecorded.jsonl")).unwrap_or_default();
        for line in listed.lines() {
            report.unrecorded += 1;
            let listed: Value = serde_json::from_str(line).expect("JSON");
            if !found.contains(&place(&listed, "volume")) {
                let problem = format!("listed in unrecorded.jsonl, not found: {line}");
                report.problems.push(problem);
            }
        }
    }
    // Each page is in exactly one folder.
    if totals.iter().any(|total| *total != report.pages) {
        let problem = format!("{} pages in the folders, of {totals:?}", report.pages);
        report.problems.push(problem);
    }
    report
}

/// Copies all volumes and indexes of the store to a folder that can be read like that of a node, and lets warcio verify the
/// volumes. Returns their number.
pub(crate) fn copy_store(store: &S3Server, prefix: &str, folder: &Path) -> usize {
    let (archive, indexes) = (folder.join("archive"), folder.join("indexes"));
    for folder in [&archive, &indexes] {
        std::fs::create_dir_all(folder).expect("is created");
    }
    let mut volumes = Vec::new();
    for object in store.objects(prefix) {
        let (status, bytes) = store.request("GET", &format!("/archive/{object}"));
        assert_eq!(status, 200, "{object}");
        let name = &object[prefix.len()..];
        let is_volume = name.ends_with(".warc.gz");
        let file = if is_volume { &archive } else { &indexes }.join(name);
        std::fs::write(&file, bytes).expect("is written");
        if is_volume {
            volumes.push(file);
        }
    }
    for files in volumes.chunks(500) {
        let mut warcio = Command::new(tool("warcio"));
        assert_status(&run(warcio.arg("check").args(files)), 0);
    }
    volumes.len()
}

/// Reads the stored response of every page record in this archive. Returns the number of records, and those whose bytes are not
/// there or have another digest.
pub(crate) fn judge_records(view: &View, archive: &Path) -> (usize, Vec<String>) {
    let reader = ArchiveReader::open(archive).expect("the archive opens");
    let (mut count, mut wrong) = (0, Vec::new());
    let filter = PageFilter {
        all: true,
        ..PageFilter::default()
    };
    let listed = view.pages(&filter, |entry| {
        let Some(location) = entry.record.location else {
            return true;
        };
        count += 1;
        match reader.read_resolved(location) {
            Ok(stored) => {
                let payload = stored.payload(usize::MAX);
                let digest = digest(&SHA1_FOR_LEGACY_USE_ONLY, &payload);
                let is_resolved = stored.is_revisit() == stored.original().is_some();
                let wanted = entry.record.digest.as_ref().map(<[u8; 20]>::as_slice);
                if wanted != Some(digest.as_ref()) || !is_resolved {
                    wrong.push(format!("{}: {:?}", entry.url(), stored.headers()));
                }
            }
            Err(error) => wrong.push(format!("{}: {error}", entry.url())),
        }
        true
    });
    listed.expect("records are listed");
    (count, wrong)
}

/// A judge must not overlook a repeat, and must not see one where there is none.
#[tokio::test]
async fn requests_for_recorded_pages_are_found() {
    let lab = Lab::start(aranha_lab::Plan::small(1))
        .await
        .expect("starts");
    let ask = async |path: &str| {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let address = lab.web().addresses()[0];
        let socket = tokio::net::TcpStream::connect((address, lab.port())).await;
        let mut socket = socket.expect("connects");
        let request = format!("GET {path} HTTP/1.0\r\nHost: site000.lab\r\n\r\n");
        socket.write_all(request.as_bytes()).await.expect("sends");
        socket.read_to_end(&mut Vec::new()).await.expect("reads");
    };
    ask("/a").await;
    ask("/b").await;
    let recorded = Recorded::from([("/a".to_owned(), Instant::now())]);
    ask("/b").await;
    let found = || repeats_of_recorded(&recorded, &lab.log(), |request| request.path.clone());
    assert_eq!(found(), Vec::<String>::new());
    ask("/a").await;
    assert_eq!(found(), ["site000.lab/a"]);
    assert_eq!(repeats(&lab.log()), 2);
}
