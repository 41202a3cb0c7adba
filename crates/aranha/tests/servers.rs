//! Crawls directory listings of Apache (fancy indexing) and nginx (autoindex), with DNS from dnsmasq and unbound. The
//! access logs must show that every file is fetched once, and that no listing is fetched in another sort order (U5).

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod daemon;
mod support;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use daemon::Daemon;
use support::{aranha, assert_status, assert_valid};

const DNSMASQ: &str = "/usr/sbin/dnsmasq";
const UNBOUND: &str = "/usr/sbin/unbound";

/// Apache with the modules for directory listings only.
fn apache(folder: &Path) -> Daemon {
    daemon::apache(
        folder,
        &["dir", "autoindex"],
        "%>s\\t%U\\t%q",
        "DirectoryIndex index.html\nOptions Indexes\nIndexOptions FancyIndexing HTMLTable VersionSort\n",
    )
}

fn nginx(folder: &Path) -> Daemon {
    daemon::nginx(folder, "$status\\t$uri\\t$is_args$args", "autoindex on;")
}

fn dnsmasq(folder: &Path) -> Daemon {
    let here = folder.display();
    let owner = fs::metadata(folder).unwrap().uid();
    // If root starts dnsmasq, it runs as the user `nobody` by default, who cannot write the log.
    let user = if owner == 0 { "user=root\n" } else { "" };
    Daemon::start(folder, DNSMASQ, "127.0.0.1", &["-k", "-C"], |port| {
        format!(
            "port={port}\nlisten-address=127.0.0.1\nbind-interfaces\nno-resolv\nno-hosts\nlocal=/test/\n\
             host-record=apache.test,127.0.0.2,600\nhost-record=nginx.test,127.0.0.3,600\n\
             log-queries\nlog-facility={here}/dnsmasq.log\npid-file={here}/dnsmasq.pid\n{user}"
        )
    })
}

/// unbound answers a query for an alias with the CNAME only; the address needs a second query.
fn unbound(folder: &Path) -> Daemon {
    let here = folder.display();
    Daemon::start(folder, UNBOUND, "127.0.0.1", &["-d", "-c"], |port| {
        format!(
            "server:\ninterface: 127.0.0.1@{port}\nport: {port}\nmodule-config: \"iterator\"\nchroot: \"\"\n\
             username: \"\"\ndirectory: \"{here}\"\npidfile: \"{here}/unbound.pid\"\nuse-syslog: no\n\
             logfile: \"{here}/unbound.log\"\nlog-queries: yes\nlocal-zone: \"test.\" static\n\
             local-data: \"apache.test. 600 IN CNAME first.test.\"\nlocal-data: \"first.test. 600 IN A 127.0.0.2\"\n\
             local-data: \"nginx.test. 600 IN CNAME second.test.\"\nlocal-data: \"second.test. 600 IN A 127.0.0.3\"\n\
             remote-control:\ncontrol-enable: no\n"
        )
    })
}

/// Writes folders without index pages, so that only listings lead to the files. Some names need percent-encoding.
fn tree(folder: &Path) -> Vec<String> {
    let mut files = Vec::new();
    for subfolder in ["", "docs/", "docs/old/", "docs/old/1996/", "a b/", "ação/"] {
        fs::create_dir_all(folder.join("tree").join(subfolder)).unwrap();
        for name in ["first.html", "second.html", "note-2.txt", "note-10.txt"] {
            let path = format!("{subfolder}{name}");
            let body = format!("<title>{path}</title><p>The file {path}.</p>");
            fs::write(folder.join("tree").join(&path), body).unwrap();
            files.push(format!("/{path}"));
        }
    }
    files
}

/// The number of 200 responses by decoded path, and the requests with a query string.
fn read_log(log: &Path) -> (BTreeMap<String, usize>, Vec<String>) {
    let text = fs::read_to_string(log).unwrap();
    let mut paths = BTreeMap::new();
    let mut queries = Vec::new();
    for line in text.lines() {
        let fields: Vec<_> = line.split('\t').collect();
        if fields[0] == "200" {
            *paths.entry(decoded(fields[1])).or_default() += 1;
        }
        if !matches!(fields[2], "" | "-") {
            queries.push(line.to_owned());
        }
    }
    (paths, queries)
}

/// Decodes the escapes of non-ASCII bytes in access logs: `\xc3`.
fn decoded(path: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = path;
    while let Some(character) = rest.chars().next() {
        let escaped = rest.strip_prefix("\\x").and_then(|tail| tail.get(..2));
        if let Some(byte) = escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            bytes.push(byte);
            rest = &rest[4..];
        } else {
            bytes.extend(character.encode_utf8(&mut [0; 4]).bytes());
            rest = &rest[character.len_utf8()..];
        }
    }
    String::from_utf8(bytes).unwrap()
}

fn listing(server: &Daemon, host: &str) -> String {
    let url = format!("http://{}:{}/", server.address, server.port);
    let output = Command::new("wget").args(["-q", "-O", "-", &url]).output();
    let output = output.expect("wget is installed by ./test");
    assert!(output.status.success(), "{host} serves no listing");
    String::from_utf8(output.stdout).unwrap()
}

/// Crawls both servers into the collection `name`, with the configuration file `{name}.toml` if it exists.
fn crawl(folder: &Path, [apache, nginx]: [&Daemon; 2], names: &Daemon, name: &str) -> PathBuf {
    let collection = folder.join(name);
    let settings = collection.with_extension("toml");
    let mut command = aranha();
    command
        .arg("crawl")
        .arg(format!("http://apache.test:{}/", apache.port))
        .arg(format!("http://nginx.test:{}/", nginx.port))
        .args(["--pause", "0", "--allow-private", "--quiet", "--resolver"])
        .arg(format!("{}:{}", names.address, names.port))
        .arg("-c")
        .arg(&collection);
    if settings.exists() {
        command.arg("--config").arg(settings);
    }
    assert_status(&command.output().unwrap(), 0);
    collection
}

#[test]
fn directory_listings_and_their_files_are_fetched_once() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path();
    // If root starts Apache, it runs as the user `www-data`, who must be able to read the files.
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    let files = tree(folder);
    let (apache, nginx, dnsmasq) = (apache(folder), nginx(folder), dnsmasq(folder));
    let offered = listing(&apache, "Apache");
    assert!(
        offered.contains("?C=N;O=D") && offered.contains("?C=M;O=A"),
        "Apache offers other orders: {offered}"
    );
    assert!(listing(&nginx, "nginx").contains("docs/"));
    let collection = crawl(folder, [&apache, &nginx], &dnsmasq, "trimmed");
    for (name, own_requests) in [("apache", 1), ("nginx", 1)] {
        let (mut paths, queries) = read_log(&folder.join(name).with_extension("log"));
        assert_eq!(queries, [""; 0], "{name}: a listing in another order");
        *paths.get_mut("/").unwrap() -= own_requests;
        for file in &files {
            assert_eq!(paths.get(file), Some(&1), "{name}: {file} in {paths:?}");
        }
        let again: Vec<_> = paths.iter().filter(|(_, times)| **times != 1).collect();
        assert!(again.is_empty(), "{name}: {again:?}");
        assert_eq!(paths.len(), files.len() + 6, "{name}: files and folders");
    }
    assert_resolved(
        folder,
        "dnsmasq.log",
        "query[A] ",
        ["apache.test", "nginx.test"],
    );
    assert_valid(&collection);
    // Without the rule that trims listings, other sort orders are fetched. This shows that the check above can fail.
    fs::write(folder.join("lost.toml"), "[url]\ntrim_listings = false\n").unwrap();
    let unbound = unbound(folder);
    crawl(folder, [&apache, &nginx], &unbound, "lost");
    let (_, queries) = read_log(&folder.join("apache.log"));
    assert!(queries.len() > 30, "{queries:?}");
    assert_resolved(
        folder,
        "unbound.log",
        " ",
        ["apache.test. A", "first.test. A"],
    );
}

#[track_caller]
fn assert_resolved(folder: &Path, log: &str, before: &str, questions: [&str; 2]) {
    let queries = fs::read_to_string(folder.join(log)).unwrap();
    for question in questions {
        let found = queries.contains(&format!("{before}{question} "));
        assert!(found, "{question} is not in {log}: {queries}");
    }
}
