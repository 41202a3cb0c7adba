//! Runs Debian's Squid with `aranha squid` as its helper (I5). A page that a user requests through Squid becomes a
//! signal. Squid serves its users even if the collection is removed or the helper is killed.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use support::{aranha, assert_status};

const SQUID: &str = "/usr/sbin/squid";

/// Time limit of every wait.
const MAX_WAIT: Duration = Duration::from_secs(30);

#[track_caller]
fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + MAX_WAIT;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}: not within {MAX_WAIT:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// An origin server with a log. Every path is a page that a cache may store for an hour.
struct Origin {
    address: SocketAddr,
    version: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Origin {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let origin = Self {
            address: listener.local_addr().unwrap(),
            version: Arc::new(AtomicUsize::new(1)),
            requests: Arc::default(),
        };
        let (version, log) = (origin.version.clone(), origin.requests.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (version, log) = (version.clone(), log.clone());
                std::thread::spawn(move || serve(stream, &version, &log));
            }
        });
        origin
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Number of requests for a path.
    fn count(&self, path: &str) -> usize {
        let requests = self.requests.lock().unwrap();
        requests.iter().filter(|request| *request == path).count()
    }
}

fn serve(stream: TcpStream, version: &AtomicUsize, log: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if !matches!(reader.read_line(&mut head), Ok(1..)) {
                return;
            }
        }
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let (status, body) = if path == "/robots.txt" {
            ("404 Not Found", String::new())
        } else {
            let version = version.load(Ordering::SeqCst);
            let text = format!("<title>{path}</title><p>This page is at version {version} now.");
            ("200 OK", text)
        };
        log.lock().unwrap().push(path);
        let date = jiff::Timestamp::now().strftime("%a, %d %b %Y %H:%M:%S GMT");
        let response = format!(
            "HTTP/1.1 {status}\r\nDate: {date}\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\
             Cache-Control: max-age=3600\r\n\r\n{body}",
            body.len()
        );
        if stream.write_all(response.as_bytes()).is_err() {
            return;
        }
    }
}

/// A Squid in the foreground, with a cache in memory.
struct Squid {
    child: Child,
    folder: tempfile::TempDir,
    port: u16,
}

impl Drop for Squid {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Squid {
    /// Starts Squid. With `helper`, it runs `aranha squid` for the collection in the subfolder `collection` of its
    /// folder.
    fn start(helper: bool) -> Self {
        assert!(
            Path::new(SQUID).exists(),
            "{SQUID} is missing: run ./test once to install the tools of the tests"
        );
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        // If root starts Squid, it runs as another user, who needs access to the helper and the collection.
        fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
        let program = path.join("aranha");
        let binary = env!("CARGO_BIN_EXE_aranha");
        fs::hard_link(binary, &program)
            .or_else(|_| fs::copy(binary, &program).map(drop))
            .unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let mut configuration = format!(
            "http_port 127.0.0.1:{port}\nhttp_access allow all\npid_filename none\n\
             cache_log {folder}/cache.log\naccess_log none\nnetdb_filename none\npinger_enable off\n\
             cache_mem 16 MB\ncoredump_dir {folder}\nvisible_hostname squid.example\nshutdown_lifetime 0 seconds\n",
            folder = path.display()
        );
        if helper {
            let lines = format!(
                "url_rewrite_program {} squid -c {}/collection\n\
                 url_rewrite_children 2 startup=1 idle=1 concurrency=1000\nurl_rewrite_bypass on\n\
                 acl aranha browser ^aranha/\nurl_rewrite_access deny aranha\n",
                program.display(),
                path.display()
            );
            configuration.push_str(&lines);
        }
        fs::write(path.join("squid.conf"), configuration).unwrap();
        let mut child = Command::new(SQUID)
            .args(["-N", "-n", &format!("aranha{port}"), "-f"])
            .arg(path.join("squid.conf"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_for("Squid listens", || {
            let ended = child.try_wait().unwrap();
            let log = path.join("cache.log");
            assert!(
                ended.is_none(),
                "Squid ended: {}",
                fs::read_to_string(log).unwrap_or_default()
            );
            TcpStream::connect(("127.0.0.1", port)).ok()
        });
        Self {
            child,
            folder,
            port,
        }
    }

    fn collection(&self) -> PathBuf {
        self.folder.path().join("collection")
    }

    /// Creates the collection with the origin as its seed.
    fn create_collection(&self, origin: &Origin, settings: &str) {
        let folder = self.collection();
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("aranha.toml"), settings).unwrap();
        let output = aranha()
            .args(["seed", "add", &origin.url("/"), "-c"])
            .arg(&folder)
            .output()
            .unwrap();
        assert_status(&output, 0);
        fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
    }

    fn client(&self) -> Client {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(MAX_WAIT)).unwrap();
        Client {
            reader: BufReader::new(stream.try_clone().unwrap()),
            stream,
        }
    }

    /// Fetches a page through the proxy over a new connection.
    fn get(&self, url: &str) -> (u16, String) {
        self.client().get(url)
    }

    /// Process IDs of the helpers.
    fn helpers(&self) -> BTreeSet<u32> {
        let parent = self.child.id().to_string();
        let processes = fs::read_dir("/proc").unwrap().flatten();
        processes
            .filter_map(|process| {
                let stat = fs::read_to_string(process.path().join("stat")).ok()?;
                let (_, rest) = stat.rsplit_once(") ")?;
                let mut fields = rest.split(' ');
                let alive = fields.next() != Some("Z");
                (alive && fields.next() == Some(&parent) && stat.contains("(aranha)"))
                    .then(|| process.file_name().to_str()?.parse().ok())?
            })
            .collect()
    }

    /// URLs in the `signals.jsonl` of the collection.
    fn signals(&self) -> Vec<String> {
        let text = fs::read_to_string(self.collection().join("signals.jsonl")).unwrap_or_default();
        text.lines()
            .map(|line| {
                let signal: serde_json::Value = serde_json::from_str(line).unwrap();
                assert_eq!(signal["source"], "proxy");
                signal["url"].as_str().unwrap().to_owned()
            })
            .collect()
    }
}

/// One connection to the proxy.
struct Client {
    stream: TcpStream,
    reader: BufReader<TcpStream>,
}

impl Client {
    fn get(&mut self, url: &str) -> (u16, String) {
        let request = format!("GET {url} HTTP/1.1\r\nHost: x\r\nUser-Agent: browser\r\n\r\n");
        self.stream.write_all(request.as_bytes()).unwrap();
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(self.reader.read_line(&mut head).unwrap(), 0, "{head}");
        }
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("Content-Length: "))
            .map_or(0, |length| length.trim().parse().unwrap());
        let mut body = vec![0; length];
        self.reader.read_exact(&mut body).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, String::from_utf8(body).unwrap())
    }
}

#[test]
fn requested_pages_in_scope_become_signals() {
    let (origin, other, squid) = (Origin::start(), Origin::start(), Squid::start(true));
    squid.create_collection(&origin, "[proxy_cache]\nhosts = [\"127.0.0.1\"]\n");
    // The helper was started before the collection existed, and checks for it repeatedly.
    wait_for("the first signal", || {
        assert_eq!(squid.get(&origin.url("/first")).0, 200);
        squid.signals().pop()
    });
    for url in [
        origin.url("/page"),
        origin.url("/page?q=secret"),
        other.url("/elsewhere"),
        origin.url("/page"),
        origin.url("/last"),
    ] {
        assert_eq!(squid.get(&url).0, 200, "{url}");
    }
    wait_for("the last signal", || {
        squid.signals().contains(&origin.url("/last")).then_some(())
    });
    let signals = squid.signals();
    let expected = ["/first", "/page", "/last"].map(|path| origin.url(path));
    assert_eq!(signals, expected);
    assert_eq!(
        origin.count("/page"),
        1,
        "the second request is served from the cache"
    );
}

#[test]
fn the_proxy_works_whatever_happens_to_the_collection() {
    let (origin, squid) = (Origin::start(), Squid::start(true));
    squid.create_collection(&origin, "[proxy_cache]\nmin_interval = \"0s\"\n");
    wait_for("a signal", || {
        assert_eq!(squid.get(&origin.url("/")).0, 200);
        squid.signals().pop()
    });

    fs::remove_dir_all(squid.collection()).unwrap();
    for number in 0..20 {
        assert_eq!(squid.get(&origin.url(&format!("/gone/{number}"))).0, 200);
    }
    assert!(
        !squid.collection().exists(),
        "the helper does not create the folder"
    );

    let before = squid.helpers();
    assert_eq!(before.len(), 1);
    for helper in &before {
        let killed = Command::new("kill")
            .args(["-9", &helper.to_string()])
            .status();
        assert!(killed.unwrap().success());
    }
    for number in 0..20 {
        assert_eq!(squid.get(&origin.url(&format!("/killed/{number}"))).0, 200);
    }
    wait_for("Squid starts another helper", || {
        let now = squid.helpers();
        (!now.is_empty() && now.is_disjoint(&before)).then_some(())
    });

    squid.create_collection(&origin, "[proxy_cache]\nmin_interval = \"24h\"\n");
    wait_for("a signal of the new helper", || {
        assert_eq!(squid.get(&origin.url("/again")).0, 200);
        squid
            .signals()
            .contains(&origin.url("/again"))
            .then_some(())
    });
    load(&squid, &origin, 10_000);
    wait_for("a signal of every page", || {
        let signals: BTreeSet<_> = squid.signals().into_iter().collect();
        (0..100)
            .all(|number| signals.contains(&origin.url(&format!("/{number}"))))
            .then_some(())
    });
}

/// A crawl in the background. Dropping it kills the process.
struct Crawl(Child);

impl Drop for Crawl {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// After a user requests a page through the proxy, the crawl fetches it from the cache of the proxy. The origin server
/// gets only the request of the proxy.
#[test]
fn pages_are_fetched_from_the_cache_of_the_proxy() {
    let (origin, squid) = (Origin::start(), Squid::start(true));
    let settings = format!(
        "[crawl]\npause = \"10ms\"\ncheck_in_interval = \"100ms\"\ncontinuous = true\ncontact = \"test@localhost\"\n\
         [fetch]\nallow_private = true\n[proxy_cache]\nproxy = \"127.0.0.1:{}\"\ndelay = \"1s\"\nmin_interval = \"0s\"\n",
        squid.port
    );
    squid.create_collection(&origin, &settings);
    wait_for("the helper has seen the collection", || {
        assert_eq!(squid.get(&origin.url("/before")).0, 200);
        squid.signals().pop()
    });
    let log = fs::File::create(squid.folder.path().join("crawl.out")).unwrap();
    let child = aranha()
        .args(["crawl", "--quiet", "-c"])
        .arg(squid.collection())
        .stderr(log)
        .spawn()
        .unwrap();
    let _crawl = Crawl(child);
    let text = |path: &str| {
        let output = aranha()
            .args(["text", &origin.url(path), "-c"])
            .arg(squid.collection())
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let holds = |path: &str, version: &str| text(path).contains(version).then_some(());
    wait_for("the first version", || holds("/", "version 1"));
    assert_eq!(origin.count("/"), 1);

    origin.version.store(2, Ordering::SeqCst);
    assert!(squid.get(&origin.url("/")).1.contains("version 2"));
    assert!(squid.get(&origin.url("/new")).1.contains("version 2"));
    wait_for("the new version", || holds("/", "version 2"));
    wait_for("the new page", || holds("/new", "version 2"));
    assert_eq!(
        origin.count("/"),
        2,
        "one request of the crawl, one of the proxy"
    );
    assert_eq!(origin.count("/new"), 1, "one request of the proxy");
}

/// Sends requests for 100 pages over 16 connections. Returns the median and the 99th percentile of the response times.
fn load(squid: &Squid, origin: &Origin, requests: usize) -> (Duration, Duration) {
    let next = AtomicUsize::new(0);
    let times = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                let mut client = squid.client();
                let mut own = Vec::new();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= requests {
                        break;
                    }
                    let url = origin.url(&format!("/{}", number % 100));
                    let start = Instant::now();
                    assert_eq!(client.get(&url).0, 200);
                    own.push(start.elapsed());
                }
                times.lock().unwrap().extend(own);
            });
        }
    });
    let mut times = times.into_inner().unwrap();
    times.sort_unstable();
    (times[times.len() / 2], times[times.len() * 99 / 100])
}

/// Every request succeeds with and without the helper. The numbers in docs/squid.md come from
/// `ARANHA_MEASURE=1 cargo test --release -p aranha --test squid latency -- --nocapture`.
#[test]
fn proxy_latency_with_and_without_the_helper() {
    let measure = std::env::var_os("ARANHA_MEASURE").is_some();
    let (rounds, requests) = if measure { (3, 30_000) } else { (1, 500) };
    let origin = Origin::start();
    for round in 0..rounds {
        for helper in [false, true] {
            let squid = Squid::start(helper);
            if helper {
                squid.create_collection(&origin, "[proxy_cache]\nmin_interval = \"0s\"\n");
            }
            load(&squid, &origin, requests / 30);
            let start = Instant::now();
            let (median, late) = load(&squid, &origin, requests);
            let rate = requests as f64 / start.elapsed().as_secs_f64();
            println!(
                "round {round}, helper {helper}: median {median:?}, 99% {late:?}, {rate:.0} requests/s, {} signals",
                squid.signals().len()
            );
        }
    }
}
