//! Compares a crawl with `wget -r` on part of Debian's rust-doc, served by nginx. `bench/` compares the whole of it.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use support::{aranha, assert_status, assert_valid};

const DOCUMENTS: &str = "/usr/share/doc/rust-doc/html";
/// Books that are small enough for a test. They link to each other and to pages that are not served.
const BOOKS: [&str; 3] = ["rust-by-example", "nomicon", "embedded-book"];

struct Nginx {
    child: Child,
    folder: tempfile::TempDir,
    port: u16,
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Nginx {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        fs::create_dir(&root).unwrap();
        let mut index = String::from("<title>books</title>");
        for book in BOOKS {
            let from = Path::new(DOCUMENTS).join(book);
            assert!(
                from.is_dir(),
                "{} is missing: run ./test once to install the tools of the tests",
                from.display()
            );
            std::os::unix::fs::symlink(&from, root.join(book)).unwrap();
            writeln!(index, "<a href={book}/index.html>{book}</a>").unwrap();
        }
        fs::write(root.join("index.html"), index).unwrap();
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let configuration = format!(
            "daemon off; master_process off; pid nginx.pid; error_log error.log;
             events {{ worker_connections 512; }}
             http {{
               include /etc/nginx/mime.types;
               log_format seen '$http_user_agent\\t$status\\t$sent_http_content_type\\t$request_uri';
               access_log access.log seen;
               client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5;
               server {{ listen 127.0.0.1:{port}; root root; }}
             }}"
        );
        fs::write(folder.path().join("nginx.conf"), configuration).unwrap();
        let mut child = Command::new("nginx")
            .arg("-p")
            .arg(folder.path())
            .args(["-c", "nginx.conf", "-e", "error.log"])
            .stderr(Stdio::null())
            .spawn()
            .expect("nginx is installed by ./test");
        // As soon as nginx accepts a connection, it serves requests.
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(
                child.try_wait().unwrap().is_none(),
                "nginx ended: see its error log"
            );
            std::thread::yield_now();
        }
        Self {
            child,
            folder,
            port,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The number of 200 responses with HTML to a client, by path.
    fn served(&self, client: &str) -> BTreeMap<String, usize> {
        let log = fs::read_to_string(self.path("access.log")).unwrap();
        let mut pages = BTreeMap::new();
        for line in log.lines() {
            let fields: Vec<_> = line.split('\t').collect();
            if fields[0].starts_with(client)
                && fields[1] == "200"
                && fields[2].starts_with("text/html")
            {
                *pages.entry(fields[3].to_owned()).or_default() += 1;
            }
        }
        pages
    }
}

#[test]
fn every_page_that_wget_finds_is_fetched_once() {
    let nginx = Nginx::start();
    let seed = format!("http://127.0.0.1:{}/", nginx.port);
    let wget = Command::new("wget")
        .args(["-r", "-l", "inf", "-q", "-e", "robots=off", "-P"])
        .arg(nginx.path("wget"))
        .arg(&seed)
        .status()
        .expect("wget is installed by ./test");
    // wget exits with 8 if some links are broken.
    assert!(matches!(wget.code(), Some(0 | 8)), "{wget}");
    let collection = nginx.path("crawl");
    let output = aranha()
        .args([
            "crawl",
            &seed,
            "--profile",
            "mysite",
            "--allow-private",
            "--quiet",
            "-c",
        ])
        .arg(&collection)
        .output()
        .unwrap();
    assert_status(&output, 0);
    let (theirs, ours) = (nginx.served("Wget"), nginx.served("aranha"));
    assert!(
        theirs.len() > 250,
        "{} pages are too few to mean anything",
        theirs.len()
    );
    let missed: Vec<_> = theirs
        .keys()
        .filter(|page| !ours.contains_key(*page))
        .collect();
    assert!(missed.is_empty(), "{missed:?}");
    let twice: Vec<_> = ours.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    println!("wget reached {} pages, aranha {}", theirs.len(), ours.len());
    assert_valid(&collection);
}
