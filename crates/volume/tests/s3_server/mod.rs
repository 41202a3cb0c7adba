//! moto's S3 server, which `./test` installs: a process of its own with a real HTTP port. Tests of several crates share
//! this module.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test binary uses only some of the items"
)]

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

/// A running server with an empty bucket `archive`.
#[derive(Debug)]
pub struct S3Server {
    child: Child,
    pub port: u16,
    log: Arc<Mutex<Vec<String>>>,
}

impl S3Server {
    /// Starts a server on this port; 0 takes a free one.
    pub fn start(port: u16) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let program = root.join(".venv/bin/moto_server");
        assert!(
            program.exists(),
            "moto_server is not installed\nhint: run ./test in the repository's root once"
        );
        let mut child = Command::new(program)
            .args(["-H", "127.0.0.1", "-p", &port.to_string()])
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("the server starts");
        // The server logs its address when it listens.
        let mut log = BufReader::new(child.stderr.take().expect("stderr is a pipe"));
        let mut line = String::new();
        let port = loop {
            line.clear();
            let count = log.read_line(&mut line).expect("the log is UTF-8");
            assert!(count > 0, "the server ended at its start");
            if let Some((_, port)) = line.trim().rsplit_once("http://127.0.0.1:") {
                break port.parse().expect("a port");
            }
        };
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let lines = requests.clone();
        std::thread::spawn(move || {
            for line in log.lines().map_while(Result::ok) {
                lines.lock().expect("lock is not poisoned").push(line);
            }
        });
        let server = Self {
            child,
            port,
            log: requests,
        };
        server.request("PUT", "/archive");
        server
    }

    /// The address of a store in the bucket.
    pub fn store(&self, prefix: &str) -> String {
        format!(
            "s3://archive/{prefix}?endpoint=http://127.0.0.1:{}",
            self.port
        )
    }

    /// Sends a request with a signature that moto does not verify. Returns status and body.
    pub fn request(&self, method: &str, path: &str) -> (u16, Vec<u8>) {
        use std::io::{Read as _, Write as _};
        let mut socket =
            std::net::TcpStream::connect(("127.0.0.1", self.port)).expect("the server listens");
        let request = format!(
            "{method} {path} HTTP/1.0\r\nHost: 127.0.0.1:{}\r\nContent-Length: 0\r\n\
             Authorization: AWS4-HMAC-SHA256 Credential=test/20261119/us-east-1/s3/aws4_request, \
             SignedHeaders=host, Signature=0\r\n\r\n",
            self.port
        );
        socket
            .write_all(request.as_bytes())
            .expect("the request is sent");
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).expect("the answer is read");
        let head = answer.windows(4).position(|four| four == b"\r\n\r\n");
        let head = head.expect("the answer has a head");
        let status = String::from_utf8_lossy(&answer[9..12]).parse();
        (status.expect("a status"), answer.split_off(head + 4))
    }

    /// Number of requests so far whose line in the log contains all these texts.
    pub fn requests(&self, texts: &[&str]) -> usize {
        let log = self.log.lock().expect("lock is not poisoned");
        let fits = |line: &&String| texts.iter().all(|text| line.contains(text));
        log.iter().filter(fits).count()
    }

    /// Names of the objects whose keys begin with this prefix.
    pub fn objects(&self, prefix: &str) -> Vec<String> {
        let (_, list) = self.request("GET", &format!("/archive?list-type=2&prefix={prefix}"));
        let list = String::from_utf8(list).expect("XML is UTF-8");
        let keys = list.split("<Key>").skip(1);
        let key = |text: &str| text.split('<').next().unwrap_or_default().to_owned();
        keys.map(key).collect()
    }

    /// Ends the server. Its objects are lost.
    pub fn stop(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
