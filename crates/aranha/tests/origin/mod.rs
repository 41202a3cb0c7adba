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
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use crate::support::tool;

const MODULES: &str = "/usr/lib/apache2/modules";
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

/// A server in the foreground, of one process, which ends with the test. Its files are in `tree`.
pub struct Origin {
    child: Child,
    folder: PathBuf,
    address: &'static str,
    port: u16,
}

impl Drop for Origin {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Origin {
    /// The site has three parts: `/plain/` is sent as it is, `/zipped/` packed, `/bare/` without anything to ask again with.
    pub fn start(kind: Kind, folder: &Path) -> Self {
        // Apache gives up root for www-data, which must be able to read.
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir_all(folder.join("tree")).unwrap();
        let (program, address, arguments): (_, _, &[&str]) = match kind {
            Kind::Nginx => ("/usr/sbin/nginx", "127.0.0.3", &["-e", "stderr", "-c"]),
            Kind::Apache => ("/usr/sbin/apache2", "127.0.0.2", &["-X", "-d", "/", "-f"]),
        };
        assert!(
            Path::new(program).exists(),
            "{program} is missing: run ./test once, it installs what the tests need"
        );
        let free = TcpListener::bind((address, 0)).unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let file = folder.join("server.conf");
        let configuration = match kind {
            Kind::Nginx => nginx(folder, address, port),
            Kind::Apache => apache(folder, address, port),
        };
        fs::write(&file, configuration).unwrap();
        let said = folder.join("server.out");
        let child = Command::new(program)
            .args(arguments)
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&said).unwrap())
            .spawn()
            .unwrap();
        let mut server = Self {
            child,
            folder: folder.to_owned(),
            address,
            port,
        };
        while TcpStream::connect((address, port)).is_err() {
            let ended = server.child.try_wait().unwrap();
            let words = || fs::read_to_string(&said).unwrap_or_default();
            assert!(ended.is_none(), "{program} ended at once: {}", words());
            std::thread::yield_now();
        }
        server
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}:{}{path}", self.address, self.port)
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
        let log = fs::read_to_string(self.folder.join("server.log")).unwrap_or_default();
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
        let mut stream = TcpStream::connect((self.address, self.port)).unwrap();
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

fn nginx(folder: &Path, address: &str, port: u16) -> String {
    let here = folder.display();
    let places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {here}/{kind};\n"))
        .concat();
    format!(
        "daemon off; master_process off; pid {here}/nginx.pid; error_log {here}/nginx.err;\n\
         events {{ worker_connections 256; }}\n\
         http {{\n{places}types {{ text/html html; text/plain txt; text/xml xml; }}\n\
         log_format seen '$msec\\t$status\\t$body_bytes_sent\\t$uri'; access_log {here}/server.log seen;\n\
         server {{ listen {address}:{port}; root {here}/tree;\n\
         location /zipped/ {{ gzip on; gzip_min_length 0; }}\n\
         location /bare/ {{ etag off; if_modified_since off; add_header Last-Modified \"\"; }} }} }}\n"
    )
}

fn apache(folder: &Path, address: &str, port: u16) -> String {
    let here = folder.display();
    let modules = [
        "mpm_event",
        "authz_core",
        "mime",
        "headers",
        "filter",
        "deflate",
    ]
    .map(|name| format!("LoadModule {name}_module {MODULES}/mod_{name}.so\n"))
    .concat();
    format!(
        "ServerName apache.test\nListen {address}:{port}\nPidFile {here}/apache.pid\n\
         DefaultRuntimeDir {here}\nErrorLog {here}/apache.err\n{modules}\
         User www-data\nGroup www-data\nDocumentRoot {here}/tree\n         TypesConfig /dev/null\nAddType text/html .html\nAddType text/plain .txt\nAddType text/xml .xml\n\
         <Directory {here}/tree>\nRequire all granted\n</Directory>\n\
         <Location /zipped/>\nSetOutputFilter DEFLATE\n</Location>\n\
         <Location /bare/>\nFileETag None\nHeader unset Last-Modified\n</Location>\n\
         LogFormat \"%{{msec}}t\\t%>s\\t%B\\t%U\" seen\nCustomLog {here}/server.log seen\n"
    )
}

/// A pywb that serves a collection's own folders, ended with the test.
pub struct Pywb {
    child: Child,
    port: u16,
    _home: tempfile::TempDir,
}

impl Drop for Pywb {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Pywb {
    pub fn start(collection: &Path) -> Self {
        let home = tempfile::tempdir().unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let config = format!(
            "collections:\n  c:\n    index_paths: {0}/indexes\n    archive_paths: {0}/archive/\n",
            collection.display()
        );
        fs::write(home.path().join("config.yaml"), config).unwrap();
        let said = home.path().join("said");
        let child = Command::new(tool("pywb"))
            .args(["-b", "127.0.0.1", "-p", &port.to_string()])
            .current_dir(home.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&said).unwrap())
            .spawn()
            .unwrap();
        let mut pywb = Self {
            child,
            port,
            _home: home,
        };
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let ended = pywb.child.try_wait().unwrap();
            assert!(
                ended.is_none(),
                "pywb ended: {:?}",
                fs::read_to_string(&said)
            );
            std::thread::sleep(Duration::from_millis(25));
        }
        pywb
    }

    /// A page as it was at a time (`20261101100000`), unpacked; head and body of the answer.
    pub fn get(&self, stamp: &str, url: &str) -> (String, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        write!(
            stream,
            "GET /c/{stamp}id_/{url} HTTP/1.0\r\nHost: 127.0.0.1:{}\r\n\r\n",
            self.port
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
