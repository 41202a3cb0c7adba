//! A real Squid from Debian with `aranha squid` as its helper (I5): what its users ask for becomes signals, and whatever
//! happens to the collection or to the helper, they are served.

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

/// The longest that anything here takes.
const PATIENCE: Duration = Duration::from_secs(30);

#[track_caller]
fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}: not within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// An origin server that counts: every path is a page that a cache may keep for an hour.
struct Origin {
    address: SocketAddr,
    version: Arc<AtomicUsize>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Origin {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let origin = Self {
            address: listener.local_addr().unwrap(),
            version: Arc::new(AtomicUsize::new(1)),
            asked: Arc::default(),
        };
        let (version, asked) = (origin.version.clone(), origin.asked.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (version, asked) = (version.clone(), asked.clone());
                std::thread::spawn(move || serve(stream, &version, &asked));
            }
        });
        origin
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// How often a path was asked for.
    fn count(&self, path: &str) -> usize {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|asked| *asked == path).count()
    }
}

fn serve(stream: TcpStream, version: &AtomicUsize, asked: &Mutex<Vec<String>>) {
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
        asked.lock().unwrap().push(path);
        let date = jiff::Timestamp::now().strftime("%a, %d %b %Y %H:%M:%S GMT");
        let answer = format!(
            "HTTP/1.1 {status}\r\nDate: {date}\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\
             Cache-Control: max-age=3600\r\n\r\n{body}",
            body.len()
        );
        if stream.write_all(answer.as_bytes()).is_err() {
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
    /// The helper works for the collection `collection` in Squid's folder; none without `helped`.
    fn start(helped: bool) -> Self {
        assert!(
            Path::new(SQUID).exists(),
            "{SQUID} is missing: run ./test once, it installs what the tests need"
        );
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        // Squid started by root works as another user, who needs a way to the helper and to the collection.
        fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
        let helper = path.join("aranha");
        let binary = env!("CARGO_BIN_EXE_aranha");
        fs::hard_link(binary, &helper)
            .or_else(|_| fs::copy(binary, &helper).map(drop))
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
        if helped {
            let helper = format!(
                "url_rewrite_program {} squid -c {}/collection\n\
                 url_rewrite_children 2 startup=1 idle=1 concurrency=1000\nurl_rewrite_bypass on\n\
                 acl aranha browser ^aranha/\nurl_rewrite_access deny aranha\n",
                helper.display(),
                path.display()
            );
            configuration.push_str(&helper);
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
        until("Squid listens", || {
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

    /// Makes the collection, with the origin as its seed.
    fn collect(&self, origin: &Origin, settings: &str) {
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
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Client {
            reader: BufReader::new(stream.try_clone().unwrap()),
            stream,
        }
    }

    /// A page through the proxy, over a connection of its own.
    fn get(&self, url: &str) -> (u16, String) {
        self.client().get(url)
    }

    /// Process numbers of the helpers.
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

    /// URLs in the collection's file of signals.
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

/// A browser: one connection to the proxy.
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
    squid.collect(&origin, "[proxy_cache]\nhosts = [\"127.0.0.1\"]\n");
    // The helper was started before there was a collection: it looks again.
    until("the first signal", || {
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
    until("the last signal", || {
        squid.signals().contains(&origin.url("/last")).then_some(())
    });
    let signals = squid.signals();
    let expected = ["/first", "/page", "/last"].map(|path| origin.url(path));
    assert_eq!(signals, expected);
    assert_eq!(origin.count("/page"), 1, "the proxy kept it");
}

#[test]
fn the_proxy_works_whatever_happens_to_the_collection() {
    let (origin, squid) = (Origin::start(), Squid::start(true));
    squid.collect(&origin, "[proxy_cache]\nmin_interval = \"0s\"\n");
    until("a signal", || {
        assert_eq!(squid.get(&origin.url("/")).0, 200);
        squid.signals().pop()
    });

    fs::remove_dir_all(squid.collection()).unwrap();
    for number in 0..20 {
        assert_eq!(squid.get(&origin.url(&format!("/gone/{number}"))).0, 200);
    }
    assert!(!squid.collection().exists(), "it is not made again");

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
    until("Squid starts another helper", || {
        let now = squid.helpers();
        (!now.is_empty() && now.is_disjoint(&before)).then_some(())
    });

    squid.collect(&origin, "[proxy_cache]\nmin_interval = \"24h\"\n");
    until("a signal of the new helper", || {
        assert_eq!(squid.get(&origin.url("/again")).0, 200);
        squid
            .signals()
            .contains(&origin.url("/again"))
            .then_some(())
    });
    many(&squid, &origin, 10_000);
    until("a signal of every page", || {
        let told: BTreeSet<_> = squid.signals().into_iter().collect();
        (0..100)
            .all(|number| told.contains(&origin.url(&format!("/{number}"))))
            .then_some(())
    });
}

/// A crawl that stays, in the collection of a Squid; ends with the test.
struct Crawl(Child);

impl Drop for Crawl {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A client asks through the proxy, the new version appears in the collection, and the origin server sees no request more
/// than the proxy's own.
#[test]
fn pages_are_fetched_from_the_cache_of_the_proxy() {
    let (origin, squid) = (Origin::start(), Squid::start(true));
    let settings = format!(
        "[crawl]\npause = \"10ms\"\ncheck_in_interval = \"100ms\"\ncontinuous = true\ncontact = \"test@localhost\"\n\
         [fetch]\nallow_private = true\n[proxy_cache]\nproxy = \"127.0.0.1:{}\"\ndelay = \"1s\"\nmin_interval = \"0s\"\n",
        squid.port
    );
    squid.collect(&origin, &settings);
    until("the helper has seen the collection", || {
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
    until("the first version", || holds("/", "version 1"));
    assert_eq!(origin.count("/"), 1);

    origin.version.store(2, Ordering::SeqCst);
    assert!(squid.get(&origin.url("/")).1.contains("version 2"));
    assert!(squid.get(&origin.url("/new")).1.contains("version 2"));
    until("the new version", || holds("/", "version 2"));
    until("the new page", || holds("/new", "version 2"));
    assert_eq!(origin.count("/"), 2, "the crawl and the proxy, once each");
    assert_eq!(origin.count("/new"), 1, "the proxy alone");
}

/// So many requests for a hundred pages over sixteen connections at once. Gives the median and the 99th percentile.
fn many(squid: &Squid, origin: &Origin, requests: usize) -> (Duration, Duration) {
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
                    let begun = Instant::now();
                    assert_eq!(client.get(&url).0, 200);
                    own.push(begun.elapsed());
                }
                times.lock().unwrap().extend(own);
            });
        }
    });
    let mut times = times.into_inner().unwrap();
    times.sort_unstable();
    (times[times.len() / 2], times[times.len() * 99 / 100])
}

/// With the helper and without it everybody is served. The figures of docs/squid.md come of more requests:
/// `ARANHA_MEASURE=1 cargo test --release -p aranha --test squid latency -- --nocapture`.
#[test]
fn proxy_latency_with_and_without_the_helper() {
    let measure = std::env::var_os("ARANHA_MEASURE").is_some();
    let (rounds, requests) = if measure { (3, 30_000) } else { (1, 500) };
    let origin = Origin::start();
    for round in 0..rounds {
        for helped in [false, true] {
            let squid = Squid::start(helped);
            if helped {
                squid.collect(&origin, "[proxy_cache]\nmin_interval = \"0s\"\n");
            }
            many(&squid, &origin, requests / 30);
            let begun = Instant::now();
            let (median, late) = many(&squid, &origin, requests);
            let rate = requests as f64 / begun.elapsed().as_secs_f64();
            println!(
                "round {round}, helper {helped}: median {median:?}, 99% {late:?}, {rate:.0} requests/s, {} signals",
                squid.signals().len()
            );
        }
    }
}
