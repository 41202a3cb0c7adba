//! Tests of compatibility with other tools: `warcio check` passes, pywb's indexer makes the same index, and pywb
//! replays responses and revisit records byte for byte from the volumes and indexes of aranha.

#![expect(clippy::unwrap_used, reason = "an error fails the test")]

mod sample;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use aranha_volume::{
    ArchiveReader, Compression, EarlierVersion, Exchange, ForgetRequest, LargeBody, Options, check,
    forget,
};
use bytes::Bytes;
use sample::{chunked, chunks, exchange, gzip, plain, text, write};
use sha1::{Digest as _, Sha1};

/// A program of the virtual environment in the repository's root.
fn tool(name: &str) -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join(".venv/bin").join(name);
    assert!(
        path.exists(),
        "{name} is not installed\nhint: run ./test in the repository's root once; it creates .venv with warcio and pywb"
    );
    Command::new(path)
}

/// A large page. Its response is followed by `\r\n\r\n` in memory, like the responses of the fetcher.
fn large(path: &str) -> Exchange {
    let page = plain(path, &text("enorme").repeat(300));
    let ended = Bytes::from([&page.response[..], b"\r\n\r\n"].concat());
    Exchange {
        response: ended.slice(..page.response.len()),
        with_record_end: Some(ended),
        ..page
    }
}

/// Exchanges that give every kind of record, and every combination of chunked and plain responses as original and as
/// duplicate.
fn every_kind() -> Vec<Exchange> {
    let packed = gzip(&text("zipada"));
    let coded = [
        "Content-Type: text/plain",
        "Content-Encoding: gzip",
        "Transfer-Encoding: chunked",
    ];
    let moved = Exchange {
        response: Bytes::from_static(
            b"HTTP/1.1 301 Moved\r\nLocation: /plain\r\nContent-Length: 0\r\n\r\n",
        ),
        head_length: 62,
        status: 301,
        payload: Bytes::new(),
        ..plain("/moved", b"")
    };
    let odd = Exchange {
        response: Bytes::from_static(b"HTTP/1.1 200 OK\n \nX: y\n\nbody"),
        head_length: 24,
        ..plain("/odd", b"body")
    };
    let mut pages = vec![
        plain("/plain", &text("plana")),
        exchange("/zipped", &coded, &chunks(&packed, 11), &packed),
        chunked("/chunked", &text("aos bocados"), 100),
        plain("/plain", &text("plana")),
        plain("/copy-of-plain", &text("plana")),
        chunked("/chunked-copy-of-plain", &text("plana"), 33),
        chunked("/copy-of-chunked", &text("aos bocados"), 7),
        plain("/plain-copy-of-chunked", &text("aos bocados")),
        exchange("/copy-of-zipped", &coded, &chunks(&packed, 400), &packed),
        Exchange {
            truncated: Some("length"),
            ..chunked("/cut", &text("cortada"), 64)
        },
        moved,
        odd,
        plain("/empty", b""),
        large("/large"),
        plain("/http09", b"no head at all\n\nbut a body"),
    ];
    let last = pages.last_mut().unwrap();
    last.response = last.payload.clone();
    last.head_length = 0;
    for (page, second) in pages.iter_mut().zip(0..) {
        page.time_ms += second * 1000;
    }
    pages
}

/// Writes the pages of [`every_kind`] to an archive and checks it. Returns the folder and the volumes.
fn archive() -> (tempfile::TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().unwrap();
    let warcinfo = vec![("operator".to_owned(), "the tests".to_owned())];
    let options = Options {
        roll_size: 2500,
        dedupe_minimum: 40,
        warcinfo,
        ..Options::default()
    };
    let stored = write(folder.path(), options, every_kind());
    let revisits: Vec<bool> = stored.iter().map(|stored| stored.revisit).collect();
    // A plain duplicate of a chunked original is stored again, because its head does not announce chunks, so it could
    // not be replayed with the chunked body.
    let (t, f) = (true, false);
    assert_eq!(revisits, [f, f, f, t, t, t, t, f, t, f, f, f, f, f, f]);
    let report = check(folder.path(), |_| {}).unwrap();
    assert!(report.is_sound() && report.files > 1, "{:?}", report.faults);
    let mut files: Vec<PathBuf> = fs::read_dir(folder.path().join("archive"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    (folder, files)
}

#[test]
fn warcio_check_passes() {
    let (_folder, files) = archive();
    let output = tool("warcio")
        .args(["check", "-v"])
        .args(&files)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        text.contains("digest pass") && !text.contains("failed"),
        "{text}"
    );
}

#[test]
fn the_index_has_the_same_captures_as_that_of_pywb() {
    let (folder, files) = archive();
    let output = tool("cdx-indexer")
        .args(["-j", "-s"])
        .args(&files)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let theirs = String::from_utf8(output.stdout).unwrap();
    let mut ours = String::new();
    for entry in fs::read_dir(folder.path().join("indexes")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            ours += &fs::read_to_string(path).unwrap();
        }
    }
    // The media type and the status are not compared. Responses without a payload digest are skipped (`skip`).
    let captures = |text: &str, skip: &[&str]| -> BTreeSet<String> {
        let capture = |line: &str| {
            let (key, json) = line.split_once(" {").unwrap();
            let json: serde_json::Value = serde_json::from_str(&format!("{{{json}")).unwrap();
            let field = |name: &str| json[name].as_str().unwrap_or("-").to_owned();
            let fields = ["url", "digest", "length", "offset", "filename"].map(field);
            format!("{key} {}", fields.join(" "))
        };
        let wanted = |line: &&str| !skip.iter().any(|name| line.contains(name));
        text.lines().filter(wanted).map(capture).collect()
    };
    let skip = ["/odd", "/http09"];
    assert_eq!(captures(&ours, &skip), captures(&theirs, &skip));
    assert_eq!(captures(&ours, &[]).len(), every_kind().len());
    assert_eq!(
        theirs.matches("warc/revisit").count(),
        ours.matches("warc/revisit").count()
    );
}

/// A pywb process on a free port, killed on drop.
struct Pywb {
    child: Child,
    port: u16,
    _home: tempfile::TempDir,
}

impl Pywb {
    /// Starts pywb so that it serves this collection.
    fn start(collection: &Path) -> Self {
        let home = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let config = format!(
            "collections:\n  c:\n    index_paths: {0}/indexes\n    archive_paths: {0}/archive/\n",
            collection.display()
        );
        fs::write(home.path().join("config.yaml"), config).unwrap();
        let mut child = tool("pywb")
            .args(["-b", "127.0.0.1", "-p", &port.to_string()])
            .current_dir(home.path())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut seen = String::new();
        while !seen.contains("Starting Gevent Server") {
            assert!(log.read_line(&mut seen).unwrap() > 0, "pywb ended:\n{seen}");
        }
        // The log is read to the end, so that pywb does not block on a full pipe.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        Self {
            child,
            port,
            _home: home,
        }
    }

    /// Requests a page without rewriting (`id_`). Returns head and body of the response.
    fn get(&self, stamp: &str, url: &str) -> (String, Vec<u8>) {
        // pywb logs its start before the socket listens.
        let mut stream = (0..200)
            .find_map(|_| {
                let stream = TcpStream::connect(("127.0.0.1", self.port)).ok();
                if stream.is_none() {
                    std::thread::sleep(std::time::Duration::from_millis(25));
                }
                stream
            })
            .expect("pywb should listen within five seconds");
        write!(
            stream,
            "GET /c/{stamp}id_/{url} HTTP/1.0\r\nHost: 127.0.0.1:{}\r\nAccept-Encoding: gzip\r\n\r\n",
            self.port
        )
        .unwrap();
        let mut response = Vec::new();
        stream.read_to_end(&mut response).unwrap();
        let end = response
            .windows(4)
            .position(|bytes| bytes == b"\r\n\r\n")
            .expect("the response should have a head")
            + 4;
        let body = response.split_off(end);
        (String::from_utf8_lossy(&response).into_owned(), body)
    }
}

impl Drop for Pywb {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn pywb_replays_every_page() {
    let (folder, _) = archive();
    let pywb = Pywb::start(folder.path());
    for (page, second) in every_kind().iter().zip(0..) {
        if ["/odd", "/http09", "/moved", "/empty", "/cut"]
            .iter()
            .any(|end| page.url.ends_with(end))
        {
            continue;
        }
        let (head, body) = pywb.get(&format!("{}", 20_261_115_174_800_u64 + second), &page.url);
        assert!(head.contains(" 200 "), "{}: {head}", page.url);
        assert_eq!(body, page.payload, "{}: {head}", page.url);
    }
    let (head, _) = pywb.get("20261115174810", "http://www.example.org/moved");
    assert!(
        head.contains(" 301 ") && head.to_lowercase().contains("location: /plain"),
        "{head}"
    );
}

/// A forgotten page is replayed with status 410, and the pages after it in the volume as before.
#[test]
fn pywb_replays_a_tombstone() {
    let (folder, volumes) = archive();
    let request = ForgetRequest {
        locations: BTreeSet::new(),
        is_target: &|url| url.ends_with("/chunked"),
        known_copies: BTreeMap::new(),
        copies: false,
        reason: "by request",
        time_ms: 1_795_064_400_000,
        dry_run: false,
    };
    let found = forget(folder.path(), &request).unwrap();
    assert_eq!(found.records, 1);
    let copies = ["http://www.example.org/copy-of-chunked".to_owned()];
    assert_eq!(found.copies, copies.into());
    let checked = tool("warcio").arg("check").args(&volumes).output().unwrap();
    assert!(checked.status.success(), "{checked:?}");
    let pywb = Pywb::start(folder.path());
    for (page, second) in every_kind().iter().zip(0..) {
        let stamp = format!("{}", 20_261_115_174_800_u64 + second);
        if page.url.ends_with("/chunked") {
            let (head, body) = pywb.get(&stamp, &page.url);
            let body = String::from_utf8(body).unwrap();
            assert!(head.contains(" 410 "), "{head}");
            assert!(body.contains("was removed from the archive"), "{body}");
        } else if page.url.ends_with("/large") || page.url.ends_with("/copy-of-zipped") {
            let (head, body) = pywb.get(&stamp, &page.url);
            assert!(head.contains(" 200 ") && body == page.payload, "{head}");
        }
    }
}

/// A truncated page is stored with the length of the stored body in its head. With the length that the server
/// announced, a browser would wait for the rest of the body. The test uses images, because pywb replays them as stored;
/// it rewrites texts and gives them a new length.
#[test]
fn pywb_replays_a_truncated_page_without_a_stall() {
    let folder = tempfile::tempdir().unwrap();
    let body = text("cortada");
    let lengths = ["Content-Type: image/png", "Content-Length: 500000"];
    let announced = exchange("/length", &lengths, &body, &body);
    let coding = ["Content-Type: image/png", "Transfer-Encoding: chunked"];
    let wire = chunks(&body, 100);
    let chunked = exchange("/chunked", &coding, &wire[..wire.len() - 9], &body[..]);
    let truncated = |page: Exchange| Exchange {
        truncated: Some("length"),
        media_type: "image/png".to_owned(),
        ..page
    };
    let pages = vec![truncated(announced), truncated(chunked)];
    let stored = write(folder.path(), Options::default(), pages);
    let report = check(folder.path(), |_| {}).unwrap();
    assert!(report.is_sound(), "{:?}", report.faults);
    let files = fs::read_dir(folder.path().join("archive")).unwrap();
    let output = tool("warcio")
        .arg("check")
        .args(files.map(|file| file.unwrap().path()))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let reader = ArchiveReader::open(folder.path()).unwrap();
    let record = reader.read(stored[0].location).unwrap();
    assert_eq!(record.header("WARC-Truncated"), Some("length"));
    let field = |name| record.http_header(name).unwrap();
    assert_eq!(field("content-length"), body.len().to_string());
    assert_eq!(field("x-archive-orig-content-length"), "500000");
    let pywb = Pywb::start(folder.path());
    for path in ["/length", "/chunked"] {
        let url = format!("http://www.example.org{path}");
        let (head, replayed) = pywb.get("20261115174800", &url);
        assert!(head.contains(" 200 "), "{path}: {head}");
        let announced = head
            .lines()
            .find_map(|line| line.strip_prefix("Content-Length: "));
        if let Some(length) = announced {
            assert_eq!(length, replayed.len().to_string(), "{path}: {head}");
        }
        assert!(body.starts_with(&replayed), "{path}");
        assert!(
            replayed.len() + 100 > body.len(),
            "{path}: {}",
            replayed.len()
        );
    }
}

/// An exchange whose body is in a file. Only the first bytes of the response are in memory.
fn in_a_file(page: Exchange) -> Exchange {
    let mut file = tempfile::tempfile().unwrap();
    let body = &page.response[page.head_length..];
    file.write_all(body).unwrap();
    Exchange {
        large: Some(Box::new(LargeBody {
            file: Arc::new(file),
            length: body.len() as u64,
            payload_length: page.payload.len() as u64,
            payload_digest: Sha1::digest(&page.payload).into(),
        })),
        response: page.response.slice(..page.head_length + 100),
        payload: page.payload.slice(..50),
        ..page
    }
}

/// The records of bodies in files are the same as those of bodies in memory: they are checked, replayed, and found as
/// duplicates.
#[test]
fn a_body_in_a_file_is_stored_like_one_in_memory() {
    let body = text("muito grande").repeat(3000);
    let other = text("outra").repeat(3000);
    let packed = gzip(&body);
    let coded = ["Content-Encoding: gzip", "Transfer-Encoding: chunked"];
    let truncated = Exchange {
        truncated: Some("time"),
        ..exchange(
            "/truncated",
            &["Content-Length: 99999999"],
            &other[..9999],
            &other[..9999],
        )
    };
    let pages = [
        plain("/plain", &body),
        chunked("/same", &body, 70_000),
        chunked("/chunked", &other, 70_000),
        plain("/plain-again", &other),
        chunked("/chunked-again", &other, 6_001),
        exchange("/coded", &coded, &chunks(&packed, 999), &packed),
        truncated,
        plain("/after", &text("depois")),
    ];
    for compression in [Compression::Gzip, Compression::Zstd] {
        let folder = tempfile::tempdir().unwrap();
        let options = Options {
            compression,
            ..Options::default()
        };
        let last = pages.len() - 1;
        let exchanges = pages.iter().enumerate().map(|(number, page)| match number {
            _ if number == last => page.clone(),
            _ => in_a_file(page.clone()),
        });
        let stored = write(folder.path(), options, exchanges.collect());
        let revisits: Vec<_> = stored.iter().map(|stored| stored.revisit).collect();
        let (t, f) = (true, false);
        assert_eq!(revisits, [f, t, f, f, t, f, f, f]);
        let report = check(folder.path(), |_| {}).unwrap();
        assert!(report.is_sound(), "{:?}", report.faults);
        let reader = ArchiveReader::open(folder.path()).unwrap();
        for (page, stored) in pages.iter().zip(&stored) {
            let record = reader.read_resolved(stored.location).unwrap();
            assert_eq!(record.payload(usize::MAX), page.payload, "{}", page.url);
            let digest: [u8; 20] = Sha1::digest(&page.payload).into();
            assert_eq!(stored.digest, digest, "{}", page.url);
        }
        if compression == Compression::Zstd {
            continue; // warcio reads gzip only
        }
        let files = fs::read_dir(folder.path().join("archive")).unwrap();
        let files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        let output = tool("warcio").arg("check").args(&files).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let pywb = Pywb::start(folder.path());
        for page in &pages {
            let (head, replayed) = pywb.get("20261115174800", &page.url);
            assert!(head.contains(" 200 "), "{}: {head}", page.url);
            assert!(replayed == page.payload, "{}: {head}", page.url);
        }
    }
}

/// A 304 response to a conditional request. It comes a day after the pages of [`sample`].
fn not_modified(path: &str, earlier: EarlierVersion) -> Exchange {
    let head = "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n";
    Exchange {
        response: Bytes::from_static(head.as_bytes()),
        head_length: head.len(),
        payload: Bytes::new(),
        status: 304,
        time_ms: sample::TIME_MS + 24 * 3600 * 1000,
        not_modified: Some(earlier),
        ..plain(path, b"")
    }
}

#[test]
fn a_304_is_replayed_with_the_body_of_the_earlier_version() {
    let folder = tempfile::tempdir().unwrap();
    let packed = gzip(&text("zipada"));
    let coded = [
        "Content-Type: text/plain",
        "Content-Encoding: gzip",
        "Transfer-Encoding: chunked",
    ];
    let first = vec![
        plain("/plain", &text("plana")),
        exchange("/zipped", &coded, &chunks(&packed, 11), &packed),
        chunked("/chunked", &text("aos bocados"), 100),
        plain("/copy", &text("plana")),
        plain("/short", b"x"),
    ];
    let stored = write(folder.path(), Options::default(), first.clone());
    let again = first.iter().zip(&stored).map(|(page, stored)| {
        let path = page.url.strip_prefix("http://www.example.org").unwrap();
        let earlier = EarlierVersion {
            time_ms: page.time_ms,
            digest: stored.digest,
            location: Some(stored.location),
        };
        not_modified(path, earlier)
    });
    let later = write(folder.path(), Options::default(), again.collect());
    let report = check(folder.path(), |_| {}).unwrap();
    assert!(report.is_sound(), "{:?}", report.faults);
    assert_eq!((report.responses, report.revisits), (4, 6));
    let reader = ArchiveReader::open(folder.path()).unwrap();
    for ((page, before), after) in first.iter().zip(&stored).zip(&later) {
        assert!(after.revisit && after.digest == before.digest);
        let record = reader.read_resolved(after.location).unwrap();
        let profile = record.header("WARC-Profile").unwrap();
        assert!(profile.ends_with("/server-not-modified"), "{profile}");
        assert_eq!(record.http_status(), Some(304));
        assert_eq!(record.payload(1 << 20), page.payload, "{}", page.url);
        assert_eq!(record.http_header("content-type").unwrap(), "text/plain");
        let original = reader.read_resolved(before.location).unwrap();
        assert_eq!(record.body_decoded(1 << 20), original.body_decoded(1 << 20));
    }
    let files = fs::read_dir(folder.path().join("archive")).unwrap();
    let output = tool("warcio")
        .arg("check")
        .args(files.map(|file| file.unwrap().path()))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let pywb = Pywb::start(folder.path());
    for page in &first {
        for stamp in ["20261115174800", "20261116174800"] {
            let (head, body) = pywb.get(stamp, &page.url);
            assert!(head.contains(" 200 "), "{} {stamp}: {head}", page.url);
            assert_eq!(body, page.payload, "{} {stamp}: {head}", page.url);
        }
    }
}

#[test]
fn a_304_refers_to_an_earlier_version_that_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let earlier = EarlierVersion {
        time_ms: sample::TIME_MS,
        digest: [7; 20],
        location: None,
    };
    let stored = write(
        folder.path(),
        Options::default(),
        vec![not_modified("/gone", earlier)],
    );
    let record = ArchiveReader::open(folder.path())
        .unwrap()
        .read_resolved(stored[0].location)
        .unwrap();
    let field = |name| record.header(name).unwrap_or_default().to_owned();
    assert_eq!(field("WARC-Refers-To-Date"), "2026-11-15T17:48:00.123Z");
    assert_eq!(
        field("WARC-Refers-To-Target-URI"),
        "http://www.example.org/gone"
    );
    assert!(record.original().is_none());
}
