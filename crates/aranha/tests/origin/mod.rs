//! Real servers with real files: nginx and Apache on loopback, whose own logs are the judges, and pywb, which replays
//! what was kept of them.

#![allow(dead_code, reason = "every test file uses its own part of this")]
#![allow(
    unreachable_pub,
    reason = "a module of test binaries, not of a library"
)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

#[path = "../daemon/mod.rs"]
mod daemon;

use self::daemon::Daemon;
use crate::support::tool;

/// Nothing here takes longer, however busy the machine.
const LONGEST: Duration = Duration::from_secs(40);

/// Which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Nginx,
    Apache,
}

/// A request as the server logged it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Unix milliseconds.
    pub at: i64,
    pub status: u16,
    /// Bytes of the body that were sent.
    pub bytes: u64,
    pub path: String,
}

/// A server whose files are in `tree`.
pub struct Origin {
    daemon: Daemon,
    folder: PathBuf,
    log: PathBuf,
}

impl Origin {
    /// The site has three parts: `/plain/` is sent as it is, `/zipped/` packed, `/bare/` without anything to ask again with.
    pub fn start(kind: Kind, folder: &Path) -> Self {
        // Apache gives up root for www-data, which must be able to read.
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir_all(folder.join("tree")).unwrap();
        let (daemon, log) = match kind {
            Kind::Nginx => (nginx(folder), "nginx.log"),
            Kind::Apache => (apache(folder), "apache.log"),
        };
        Self {
            daemon,
            folder: folder.to_owned(),
            log: folder.join(log),
        }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}:{}{path}", self.daemon.address, self.daemon.port)
    }

    /// Writes a file of the site, whole at any instant, as if it had been changed at this time.
    pub fn write(&self, path: &str, text: &str, changed: SystemTime) {
        let place = self.place(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        let draft = self.folder.join("draft");
        fs::write(&draft, text).unwrap();
        File::options()
            .write(true)
            .open(&draft)
            .unwrap()
            .set_modified(changed)
            .unwrap();
        fs::rename(draft, place).unwrap();
    }

    pub fn place(&self, path: &str) -> PathBuf {
        self.folder.join("tree").join(path.trim_start_matches('/'))
    }

    fn logged(&self) -> Vec<Asked> {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        // A line that is just being written has no end yet.
        let whole = log.rfind('\n').map_or("", |end| &log[..end]);
        whole
            .lines()
            .map(|line| {
                let fields: Vec<_> = line.split('\t').collect();
                Asked {
                    at: fields[0].replace('.', "").parse().unwrap(),
                    status: fields[1].parse().unwrap(),
                    bytes: fields[2].parse().unwrap(),
                    path: fields[3].to_owned(),
                }
            })
            .collect()
    }

    /// How many requests there were; the log from there on is what comes later.
    pub fn mark(&self) -> usize {
        self.logged().len()
    }

    /// What was asked since the mark, complete: a request of the test's own comes after it, and is left out.
    pub fn asked_since(&self, mark: usize) -> Vec<Asked> {
        static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let own = format!("/own-{number}");
        let mut stream = TcpStream::connect((self.daemon.address, self.daemon.port)).unwrap();
        write!(stream, "GET {own} HTTP/1.0\r\n\r\n").unwrap();
        stream.read_to_end(&mut Vec::new()).unwrap();
        self.wait_for(0, |asked| asked.path == own);
        self.since(mark)
    }

    /// What was asked since the mark, so far; not the page that never was, by which the crawl knows such pages.
    pub fn since(&self, mark: usize) -> Vec<Asked> {
        let mut asked = self.logged().split_off(mark);
        asked.retain(|asked| {
            let own = ["/own-", "/aranha-"];
            !own.iter().any(|own| asked.path.starts_with(own))
        });
        asked
    }

    /// Waits for such a request since the mark.
    #[track_caller]
    pub fn wait_for(&self, mark: usize, wanted: impl Fn(&Asked) -> bool) -> Asked {
        self.wait_until(mark, |asked| {
            asked.iter().find(|asked| wanted(asked)).cloned()
        })
    }

    /// Waits until the requests since the mark give what is wanted of them.
    #[track_caller]
    pub fn wait_until<T>(&self, mark: usize, wanted: impl Fn(&[Asked]) -> Option<T>) -> T {
        let began = Instant::now();
        loop {
            let asked = self.logged().split_off(mark);
            if let Some(found) = wanted(&asked) {
                return found;
            }
            assert!(began.elapsed() < LONGEST, "it does not come: {asked:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn nginx(folder: &Path) -> Daemon {
    daemon::nginx(
        folder,
        "$msec\\t$status\\t$body_bytes_sent\\t$uri",
        "location /zipped/ { gzip on; gzip_min_length 0; }\n\
         location /bare/ { etag off; if_modified_since off; add_header Last-Modified \"\"; }",
    )
}

fn apache(folder: &Path) -> Daemon {
    daemon::apache(
        folder,
        &["mime", "headers", "filter", "deflate"],
        "%{msec}t\\t%>s\\t%B\\t%U",
        "TypesConfig /dev/null\nAddType text/html .html\nAddType text/plain .txt\nAddType text/xml .xml\n\
         <Location /zipped/>\nSetOutputFilter DEFLATE\n</Location>\n\
         <Location /bare/>\nFileETag None\nHeader unset Last-Modified\n</Location>\n",
    )
}

/// A pywb that serves a collection's own folders, ended with the test.
pub struct Pywb {
    daemon: Daemon,
    _home: tempfile::TempDir,
}

impl Pywb {
    pub fn start(collection: &Path) -> Self {
        let home = tempfile::tempdir().unwrap();
        let config = format!(
            "collections:\n  c:\n    index_paths: {0}/indexes\n    archive_paths: {0}/archive/\n",
            collection.display()
        );
        fs::write(home.path().join("config.yaml"), config).unwrap();
        let address = "127.0.0.1";
        let port = daemon::free_port(address);
        let mut command = Command::new(tool("pywb"));
        command
            .args(["-b", address, "-p", &port.to_string()])
            .current_dir(home.path());
        let daemon = Daemon::wait(&mut command, address, port, &home.path().join("said"));
        Self {
            daemon,
            _home: home,
        }
    }

    /// A page as it was at a time (`20261101100000`), unpacked; head and body of the answer.
    pub fn get(&self, stamp: &str, url: &str) -> (String, String) {
        let port = self.daemon.port;
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        write!(
            stream,
            "GET /c/{stamp}id_/{url} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n\r\n"
        )
        .unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
        let body = answer.split_off(end.expect("a head") + 4);
        (
            String::from_utf8_lossy(&answer).into_owned(),
            String::from_utf8_lossy(&body).into_owned(),
        )
    }
}
