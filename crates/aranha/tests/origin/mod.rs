//! Origin servers for tests: nginx and Apache on loopback with their access logs, and pywb, which replays a collection.

#![allow(dead_code, reason = "every test file uses a part of this module")]
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
pub mod daemon;

use self::daemon::Daemon;
use crate::support::tool;

/// Time limit of every wait, generous for a busy machine.
const MAX_WAIT: Duration = Duration::from_secs(40);

/// Server software.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Nginx,
    Apache,
}

/// A request as the server logged it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Unix milliseconds.
    pub at: i64,
    pub status: u16,
    /// Bytes of the body that were sent.
    pub bytes: u64,
    pub path: String,
}

/// A server for the files in the folder `tree`.
pub struct Origin {
    daemon: Daemon,
    folder: PathBuf,
    log: PathBuf,
}

impl Origin {
    /// Starts the server. It sends files in `/plain/` unchanged, files in `/zipped/` compressed, and files in `/bare/`
    /// without `ETag` and Last-Modified.
    pub fn start(kind: Kind, folder: &Path) -> Self {
        // If root starts Apache, it runs as the user `www-data`, who must be able to read the files.
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

    /// Writes a file of the site atomically and sets its modification time.
    pub fn write(&self, path: &str, text: &str, changed: SystemTime) {
        let place = self.file(path);
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

    /// The file of a URL path.
    pub fn file(&self, path: &str) -> PathBuf {
        self.folder.join("tree").join(path.trim_start_matches('/'))
    }

    fn logged(&self) -> Vec<Request> {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        // The last line may be incomplete, because the server is still writing it.
        let whole = log.rfind('\n').map_or("", |end| &log[..end]);
        whole
            .lines()
            .map(|line| {
                let fields: Vec<_> = line.split('\t').collect();
                Request {
                    at: fields[0].replace('.', "").parse().unwrap(),
                    status: fields[1].parse().unwrap(),
                    bytes: fields[2].parse().unwrap(),
                    path: fields[3].to_owned(),
                }
            })
            .collect()
    }

    /// A mark in the log for the methods below: the number of requests so far.
    pub fn mark(&self) -> usize {
        self.logged().len()
    }

    /// All requests since the mark. The test sends a last request and waits until it is logged; this one is left out.
    pub fn requests_since(&self, mark: usize) -> Vec<Request> {
        static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let own = format!("/own-{number}");
        let mut stream = TcpStream::connect((self.daemon.address, self.daemon.port)).unwrap();
        write!(stream, "GET {own} HTTP/1.0\r\n\r\n").unwrap();
        stream.read_to_end(&mut Vec::new()).unwrap();
        self.wait_for(0, |request| request.path == own);
        self.logged_since(mark)
    }

    /// The requests since the mark that are logged so far, without the soft-404 probe of the crawl.
    pub fn logged_since(&self, mark: usize) -> Vec<Request> {
        let mut requests = self.logged().split_off(mark);
        requests.retain(|request| {
            let own = ["/own-", "/aranha-"];
            !own.iter().any(|own| request.path.starts_with(own))
        });
        requests
    }

    /// Waits for a request since the mark for which `wanted` is true, and returns it.
    #[track_caller]
    pub fn wait_for(&self, mark: usize, wanted: impl Fn(&Request) -> bool) -> Request {
        self.wait_until(mark, |requests| {
            requests.iter().find(|request| wanted(request)).cloned()
        })
    }

    /// Waits until `wanted` returns a value for the requests since the mark.
    #[track_caller]
    pub fn wait_until<T>(&self, mark: usize, wanted: impl Fn(&[Request]) -> Option<T>) -> T {
        let start = Instant::now();
        loop {
            let requests = self.logged().split_off(mark);
            if let Some(found) = wanted(&requests) {
                return found;
            }
            assert!(
                start.elapsed() < MAX_WAIT,
                "not within {MAX_WAIT:?}: {requests:?}"
            );
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

/// A pywb that replays a collection directly from the folders `indexes` and `archive` of the collection. As an HTTP proxy, it
/// sends the stored responses unchanged.
pub struct Pywb {
    daemon: Daemon,
    _home: tempfile::TempDir,
}

impl Pywb {
    pub fn start(collection: &Path) -> Self {
        let home = tempfile::tempdir().unwrap();
        let config = format!(
            "collections:\n  c:\n    index_paths: {0}/indexes\n    archive_paths: {0}/archive/\n\
             proxy:\n  coll: c\n  enable_banner: false\n  enable_content_rewrite: false\n  enable_wombat: false\n",
            collection.display()
        );
        fs::write(home.path().join("config.yaml"), config).unwrap();
        let address = "127.0.0.1";
        let port = daemon::free_port(address);
        let mut command = Command::new(tool("pywb"));
        command
            .args(["-b", address, "-p", &port.to_string()])
            .current_dir(home.path());
        let daemon = Daemon::wait(&mut command, address, port, &home.path().join("pywb.log"));
        Self {
            daemon,
            _home: home,
        }
    }

    /// `http://HOST:PORT` of pywb itself.
    pub fn url(&self) -> String {
        format!("http://{}:{}", self.daemon.address, self.daemon.port)
    }

    /// Replays the page as it was at a time (`20261101100000`). Returns head and decoded body.
    pub fn get(&self, stamp: &str, url: &str) -> (String, String) {
        let port = self.daemon.port;
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        write!(
            stream,
            "GET /c/{stamp}id_/{url} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n\r\n"
        )
        .unwrap();
        let mut response = Vec::new();
        stream.read_to_end(&mut response).unwrap();
        let end = response.windows(4).position(|four| four == b"\r\n\r\n");
        let body = response.split_off(end.expect("the response has a head") + 4);
        (
            String::from_utf8_lossy(&response).into_owned(),
            String::from_utf8_lossy(&body).into_owned(),
        )
    }
}
