//! Functions shared by tests that crawl the lab: commands, readers of collections, and external validators such as
//! warcio.

#![allow(dead_code, reason = "every test file uses a part of this module")]
#![allow(
    unreachable_pub,
    reason = "a module of test binaries, not of a library"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use aranha_lab::Lab;
use serde_json::Value;

/// The program under test.
pub fn aranha() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aranha"));
    command.stdin(Stdio::null());
    for name in PROXY_VARIABLES {
        command.env_remove(name);
    }
    command
}

/// Environment variables that would send the requests of a test through a proxy.
const PROXY_VARIABLES: [&str; 7] = [
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
];

/// The command that crawls the whole lab into `folder`. It checks in ten times a second, so that few fetches are
/// repeated after a kill.
pub fn crawl(lab: &Lab, folder: &Path, pause: &str) -> Command {
    crawl_from(&lab.seeds(), lab, folder, pause)
}

/// Like [`crawl`], with other seeds.
pub fn crawl_from(seeds: &[String], lab: &Lab, folder: &Path, pause: &str) -> Command {
    let settings = folder.with_extension("settings.toml");
    std::fs::write(
        &settings,
        "[crawl]\ncheck_in_interval = \"100ms\"\npause_factor = 0\n",
    )
    .expect("the file is written");
    let mut command = aranha();
    command
        .arg("crawl")
        .args(seeds)
        .arg("-c")
        .arg(folder)
        .arg("--config")
        .arg(settings)
        .args([
            "--scope",
            "any",
            "--allow-private",
            "--contact",
            "test@localhost",
            "--quiet",
        ])
        .args(["--pause", pause])
        .args(["--resolver", &lab.resolver().to_string()]);
    command
}

/// Like [`crawl`], with settings for hostile sites: no retries, and time-outs that are short but long enough for honest
/// sites on a busy machine.
pub fn zoo_crawl(lab: &Lab, folder: &Path, black_list: &[&str]) -> Command {
    let mut command = crawl(lab, folder, "10ms");
    let settings = format!(
        "[crawl]\ncheck_in_interval = \"500ms\"\npause_factor = 0\nidle_wait = \"1s\"\nmax_pause = \"100ms\"\nblacklist = {black_list:?}\n\
         [thresholds]\nurls = 500\nblock = true\n[fetch]\nconnect_timeout = \"3s\"\ntls_timeout = \"3s\"\nfirst_byte_timeout = \"3s\"\nidle_timeout = \"3s\"\n\
         total_timeout = \"4s\"\ndns_timeout = \"3s\"\nmax_body = \"2MiB\"\nmax_decoded = \"4MiB\"\n"
    );
    std::fs::write(folder.with_extension("settings.toml"), settings).expect("the file is written");
    command.args(["--time", "120s"]);
    command
}

/// Runs a command to its end without blocking the lab, which runs in this process.
pub async fn finish(mut command: Command) -> Output {
    tokio::task::spawn_blocking(move || command.output().expect("the binary runs"))
        .await
        .expect("waiting does not panic")
}

/// Waits for a child without blocking the lab.
pub async fn wait(mut child: Child) -> std::process::ExitStatus {
    tokio::task::spawn_blocking(move || child.wait().expect("the child can be waited for"))
        .await
        .expect("waiting does not panic")
}

#[track_caller]
pub fn assert_status(output: &Output, status: i32) {
    assert_eq!(
        output.status.code(),
        Some(status),
        "stdout: {}\nstderr: {}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// The output of `aranha pages --json`, by URL.
pub fn pages(folder: &Path) -> BTreeMap<String, Value> {
    let output = aranha()
        .args(["pages", "--json", "-c"])
        .arg(folder)
        .output()
        .expect("the binary runs");
    assert_status(&output, 0);
    let text = String::from_utf8(output.stdout).expect("JSON is UTF-8");
    text.lines()
        .map(|line| {
            let page: Value = serde_json::from_str(line).expect("a line is an object");
            (
                page["url"].as_str().expect("a page has a URL").to_owned(),
                page,
            )
        })
        .collect()
}

/// The HTTP status of every fetched page, by URL in the lab's canonical form.
pub fn answered(lab: &Lab, folder: &Path) -> BTreeMap<String, u64> {
    pages(folder)
        .into_iter()
        .filter_map(|(url, page)| Some((lab.fold(&url), page["status"].as_u64()?)))
        .collect()
}

/// The pages that a complete crawl finds, with their status by URL.
pub fn expected(lab: &Lab) -> BTreeMap<String, u64> {
    lab.truth(&aranha_lab::Crawler::default())
        .into_iter()
        .map(|(url, expected)| (url, u64::from(expected.status)))
        .collect()
}

/// Every WARC file of a collection.
pub fn volumes(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(folder.join("archive"))
        .expect("the archive exists")
        .map(|entry| entry.expect("the folder is readable").path())
        .collect();
    files.sort();
    assert!(!files.is_empty(), "an archive holds at least one volume");
    files
}

/// The path of a Python tool that `./test` installs.
pub fn tool(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../.venv/bin")
        .join(name);
    assert!(
        path.exists(),
        "{name} is missing: run ./test once to install the tools of the tests"
    );
    path
}

/// Lets warcio read every record and verify every digest.
#[track_caller]
pub fn assert_valid(folder: &Path) {
    let files = volumes(folder);
    for file in &files {
        assert!(
            file.to_string_lossy().ends_with(".warc.gz"),
            "{} is not closed",
            file.display()
        );
    }
    let output = Command::new(tool("warcio"))
        .arg("check")
        .args(&files)
        .output()
        .expect("warcio runs");
    assert_status(&output, 0);
}

/// The uncompressed text of all volumes of a collection.
pub fn archive_text(folder: &Path) -> String {
    let mut bytes = Vec::new();
    for volume in volumes(folder) {
        let compressed = std::fs::File::open(volume).expect("the volume can be opened");
        let mut records = flate2::read::MultiGzDecoder::new(compressed);
        std::io::Read::read_to_end(&mut records, &mut bytes).expect("the volume is gzip");
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
