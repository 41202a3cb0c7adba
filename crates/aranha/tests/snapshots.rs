//! Snapshots of the command line: exit status, stdout and stderr of every `--help`, of common errors, and of commands
//! that read a small collection with fixed times.
//!
//! A snapshot is a text file under `tests/snapshots/`. To accept new output, run
//! `UPDATE_SNAPSHOTS=1 cargo test -p aranha --test snapshots` and review the difference with git.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod help;
mod versions;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use aranha_frontier::{Embedded, Options};
use versions::Fetch;

const PAGE: &str = "http://example.org/page";

/// Commands with wrong usage or wrong input, by name. The file `errors/NAME.txt` holds the snapshot of each.
#[rustfmt::skip]
const ERRORS: &[(&str, &[&str])] = &[
    ("command-missing", &[]),
    ("command-unknown", &["crwal"]),
    ("subcommand-missing", &["url"]),
    ("flag-unknown", &["crawl", "--puase", "2s"]),
    ("flag-without-value", &["crawl", "--pause"]),
    ("flag-required", &["robots", "allowed"]),
    ("argument-missing", &["why"]),
    ("value-not-in-list", &["crawl", "--scope", "world"]),
    ("value-not-a-duration", &["crawl", "--pause", "soon"]),
    ("value-negative", &["crawl", "--pause", "-1"]),
    ("value-not-a-number", &["crawl", "--pages", "many"]),
    ("value-not-a-size", &["crawl", "--size", "big"]),
    ("value-not-a-round", &["crawl", "--every", "0"]),
    ("value-not-an-address", &["crawl", "--resolver", "nonsense"]),
    ("value-zero", &["config", "show", "--sites", "0"]),
    ("value-zero-pages", &["crawl", "http://127.0.0.1:9/", "--allow-private", "--pages", "0", "--time", "2s", "-c", "new"]),
    ("value-not-a-time", &["cat", PAGE, "-c", "example", "--at", "soon"]),
    ("log-filter-invalid", &["status", "--log", "loud=very"]),
    ("log-level-invalid", &["crawl", "http://127.0.0.1:9/", "--allow-private", "--config", "log.toml", "-c", "new"]),
    ("contact-missing", &["crawl", "https://example.org/", "-c", "new"]),
    ("seeds-missing", &["crawl", "--contact", "test@localhost", "-c", "new"]),
    ("url-invalid", &["crawl", "http://[::1", "-c", "new"]),
    ("url-scheme", &["crawl", "mailto:me@example.org", "-c", "new"]),
    ("seed-file-missing", &["crawl", "-i", "missing.txt", "-c", "new"]),
    ("seed-file-line", &["seed", "import", "seeds.txt", "-c", "new"]),
    ("seed-file-empty", &["seed", "import", "empty.txt", "-c", "new"]),
    ("filter-invalid", &["crawl", "https://example.org/", "--reject", "ext zip", "-c", "new"]),
    ("filter-unknown-field", &["crawl", "https://example.org/", "--accept", "colour:red", "-c", "new"]),
    ("filter-path", &["crawl", "https://example.org/", "--reject", "/docs/", "-c", "new"]),
    ("flag-of-wget", &["crawl", "https://example.org/", "--wait", "2", "-c", "new"]),
    ("flag-of-wget-short", &["crawl", "-p", "https://example.org/", "-c", "new"]),
    ("flag-of-wget-group", &["crawl", "https://example.org/", "-np", "-c", "new"]),
    ("flag-of-browsertrix", &["crawl", "https://example.org/", "--exclude", "docs", "-c", "new"]),
    ("flag-unknown-without-guess", &["crawl", "https://example.org/", "--zzz", "-c", "new"]),
    ("config-key-unknown", &["config", "check", "unknown-key.toml"]),
    ("config-value-type", &["config", "check", "wrong-type.toml"]),
    ("config-value-duration", &["config", "check", "wrong-duration.toml"]),
    ("config-syntax", &["config", "check", "syntax.toml"]),
    ("config-file-missing", &["config", "check", "missing.toml"]),
    ("profile-unknown", &["config", "profiles", "vn2007"]),
    ("collection-missing", &["status", "-c", "new"]),
    ("collection-is-a-file", &["seed", "add", "https://example.org/", "-c", "file"]),
    ("collection-locked", &["seed", "add", "https://example.org/", "-c", "locked"]),
    ("collection-locked-crawl", &["crawl", "--contact", "test@localhost", "-c", "locked"]),
    ("page-unknown", &["cat", "http://example.org/never", "-c", "example"]),
    ("version-too-early", &["cat", PAGE, "-c", "example", "--at", "2026-10-31"]),
    ("diff-times-reversed", &["diff", PAGE, "-c", "example", "--from", "2026-11-02", "--to", "2026-11-01"]),
    ("diff-without-text", &["diff", "http://example.org/image", "-c", "example"]),
    ("export-nothing", &["export", "mirror", "copy", "-c", "example", "--at", "2026-10-01"]),
    ("export-into-a-file", &["export", "mirror", "file", "-c", "example"]),
    ("block-entry-invalid", &["block", "not a host", "-c", "example"]),
    ("unblock-entry-unknown", &["unblock", "example.com", "-c", "example"]),
    ("url-canon-rejected", &["url", "canon", "https://example.org/", "mailto:me@example.org"]),
    ("robots-file-missing", &["robots", "allowed", "--agent", "aranha", "--file", "missing.txt", "/"]),
    ("lab-kind-unknown", &["lab", "--only", "unicorn"]),
    ("listen-key-invalid", &["listen", "--port", "0", "--key", "example.org", "-c", "example"]),
    ("listen-collection-missing", &["listen", "--port", "0", "-c", "new"]),
    ("completions-shell-unknown", &["completions", "tcsh"]),
    ("man-into-a-file", &["man", "file"]),
];

/// Commands that succeed, by name. The file `output/NAME.txt` holds the snapshot of each.
#[rustfmt::skip]
const OUTPUT: &[(&str, &[&str])] = &[
    ("status", &["status", "-c", "example"]),
    ("status-blocked", &["status", "--blocked", "-c", "example"]),
    ("status-old-flag", &["status", "--aside", "-c", "example"]),
    ("config-old-key", &["config", "check", "old-key.toml"]),
    ("config-valid", &["config", "check", "valid.toml"]),
    ("config-profiles", &["config", "profiles"]),
    ("why", &["why", PAGE, "-c", "example"]),
    ("why-unknown", &["why", "http://example.com/", "-c", "example"]),
    ("pages", &["pages", "-c", "example"]),
    ("pages-history", &["pages", "--history", "--status", "200", "-c", "example"]),
    ("links", &["links", PAGE, "-c", "example"]),
    ("text", &["text", PAGE, "-c", "example"]),
    ("cat-head", &["cat", "--head", PAGE, "-c", "example"]),
    ("history", &["history", PAGE, "-c", "example"]),
    ("diff", &["diff", PAGE, "-c", "example"]),
    ("export-mirror", &["export", "mirror", "copy", "-c", "example", "--at", "2026-11-05"]),
    ("url-canon", &["url", "canon", "HTTP://Example.ORG:80/a/../b#c"]),
    ("robots-allowed", &["robots", "allowed", "--agent", "aranha", "--file", "robots.txt", "/private/x", "/public"]),
    ("seed-add", &["seed", "add", "https://example.org/", "https://example.com/", "-c", "seeded"]),
    ("seed-add-again", &["seed", "add", "https://example.org/", "-c", "seeded"]),
    ("seed-add-now-during-a-crawl", &["seed", "add", "--now", "https://example.org/", "-c", "locked"]),
    ("seed-import-lenient", &["seed", "import", "--lenient", "seeds.txt", "-c", "seeded"]),
    ("block", &["block", "example.org", "192.0.2.0/24", "-c", "seeded", "--reason", "test"]),
    ("unblock", &["unblock", "example.org", "-c", "seeded"]),
    ("status-seeds-only", &["status", "-c", "seeded"]),
];

/// Files in the working folder of the commands.
const FILES: &[(&str, &str)] = &[
    ("file", "not a folder"),
    ("unknown-key.toml", "[crawl]\npuase = \"1s\"\n"),
    ("wrong-type.toml", "[crawl]\nsites = \"all\"\n"),
    ("wrong-duration.toml", "[crawl]\npause = \"soon\"\n"),
    ("syntax.toml", "[crawl\n"),
    ("old-key.toml", "[crawl]\ncheck_in = \"1s\"\n"),
    ("valid.toml", "[crawl]\npause = \"1s\"\n"),
    ("log.toml", "[log]\nlevel = \"loud=very\"\n"),
    (
        "seeds.txt",
        "https://example.org/\n# comment\nhttp://[bad\n",
    ),
    ("empty.txt", "# comment\n\n"),
    (
        "robots.txt",
        "User-agent: *\nDisallow: /private/\nAllow: /private/open\n",
    ),
];

#[test]
fn output_matches_the_snapshots() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (name, text) in FILES {
        fs::write(folder.join(name), text).unwrap();
    }
    write_example(&folder.join("example"));
    fs::create_dir(folder.join("locked")).unwrap();
    let _lock = Embedded::open(&folder.join("locked"), Options::default()).unwrap();

    let mut snapshots = BTreeMap::new();
    for command in help::commands() {
        let name = command.name().replace(' ', "-");
        let mut arguments = command.path;
        arguments.push("--help".to_owned());
        snapshots.insert(format!("help/{name}.txt"), run(folder, &arguments));
    }
    for (kind, cases) in [("errors", ERRORS), ("output", OUTPUT)] {
        for (name, arguments) in cases {
            let previous = snapshots.insert(format!("{kind}/{name}.txt"), run(folder, arguments));
            assert!(previous.is_none(), "two snapshots are named {kind}/{name}");
        }
    }
    compare(&snapshots);
}

/// A collection with several versions of a page, an image, and a page that no longer exists.
fn write_example(folder: &Path) {
    let old = "<title>Spiders</title><p>The spider sits on the wall. <a href=/one>one</a>";
    let new = "<title>Spiders</title><p>The spider sits in the web. <a href=/two>two</a>";
    let image = |time, byte: u8| {
        let body = [b"\x89PNG\r\n\x1a\n", &[byte][..]].concat();
        Fetch::of("http://example.org/image", time, "image/png", &body)
    };
    let fetches = [
        Fetch::html(PAGE, "2026-11-01 10:00:00", old),
        Fetch::status(PAGE, "2026-11-02 10:00:00", 304),
        Fetch::html(PAGE, "2026-11-05 12:30:00", new),
        Fetch::status(PAGE, "2026-11-06 10:00:00", 503),
        image("2026-11-01 10:00:10", 1),
        image("2026-11-02 10:00:10", 2),
        Fetch::status("http://example.org/gone", "2026-11-01 10:00:20", 404),
    ];
    versions::write(folder, &fetches);
}

/// The snapshot of one command.
fn run(folder: &Path, arguments: &[impl AsRef<str>]) -> String {
    let arguments: Vec<_> = arguments.iter().map(AsRef::as_ref).collect();
    let output = Command::new(env!("CARGO_BIN_EXE_aranha"))
        .args(&arguments)
        .current_dir(folder)
        .env_remove("COLUMNS")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let own = format!("process {}", std::process::id());
    let text = |bytes| {
        let text = String::from_utf8(bytes).unwrap();
        let text = text.replace('\r', "").replace(&own, "process [PID]");
        // If the text has no line end, a note with a line end is added, because the next heading must begin on a new
        // line.
        if text.is_empty() || text.ends_with('\n') {
            text
        } else {
            text + "\n[no line end]\n"
        }
    };
    format!(
        "$ aranha{}\nexit status: {}\n--- stdout\n{}--- stderr\n{}",
        arguments
            .iter()
            .map(|word| quoted(word))
            .collect::<String>(),
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr)
    )
}

fn quoted(word: &str) -> String {
    if word.contains(' ') {
        format!(" '{word}'")
    } else {
        format!(" {word}")
    }
}

/// Compares the snapshots with the stored files, or writes the files if `UPDATE_SNAPSHOTS` is set.
fn compare(snapshots: &BTreeMap<String, String>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
    let update = std::env::var_os("UPDATE_SNAPSHOTS").is_some();
    let mut differences = Vec::new();
    for (name, actual) in snapshots {
        let path = root.join(name);
        let expected = fs::read_to_string(&path).unwrap_or_default();
        if expected == *actual {
            continue;
        }
        if update {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, actual).unwrap();
        } else {
            differences.push(difference(name, &expected, actual));
        }
    }
    for path in files(&root) {
        let name = path.strip_prefix(&root).unwrap().to_str().unwrap();
        if snapshots.contains_key(name) {
            continue;
        }
        if update {
            fs::remove_file(&path).unwrap();
        } else {
            differences.push(format!("{name}: no command has this snapshot"));
        }
    }
    assert!(
        differences.is_empty(),
        "{} snapshots differ:\n\n{}\n\n\
         If the new output is intended, run `UPDATE_SNAPSHOTS=1 cargo test -p aranha --test snapshots`.",
        differences.len(),
        differences.join("\n\n")
    );
}

/// The lines that differ, `-` expected and `+` actual.
fn difference(name: &str, expected: &str, actual: &str) -> String {
    let old: Vec<_> = expected.lines().collect();
    let new: Vec<_> = actual.lines().collect();
    let mut lines = vec![format!("{name}:")];
    for step in similar::capture_diff_slices(similar::Algorithm::Myers, &old, &new) {
        if matches!(step, similar::DiffOp::Equal { .. }) {
            continue;
        }
        lines.extend(old[step.old_range()].iter().map(|line| format!("-{line}")));
        lines.extend(new[step.new_range()].iter().map(|line| format!("+{line}")));
    }
    lines.join("\n")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}
