//! Tests with hostile and damaged volumes and indexes. Reading, checking and repairing them must end, report the fault,
//! and take time proportional to their length.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

use crate::compress::members::MemberReader;
use crate::index::lookup;
use crate::record::http;
use crate::record::parsed::WarcRecord;
use crate::repair::contains_record;
use crate::tests::sample::{folder, page, small_options, write_all};
use crate::{Archive, ArchiveReader, check};

/// The same allocator as in the binary `aranha`. The system's allocator maps new memory for every allocation above 32
/// MB, which would dominate the measured time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[path = "../../../../tests/linear_time.rs"]
#[expect(unreachable_pub, reason = "shared by the tests of all crates")]
mod linear_time;

use linear_time::assert_linear;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn repeat(piece: &str, size: usize) -> String {
    piece.repeat(size / piece.len() + 1)
}

/// A record with these header fields and this block.
fn record(fields: &str, block: &str) -> Vec<u8> {
    let length = block.len();
    format!("WARC/1.1\r\n{fields}Content-Length: {length}\r\n\r\n{block}\r\n\r\n").into_bytes()
}

fn read_all(bytes: &[u8]) -> usize {
    let mut members = MemberReader::new(bytes, 0);
    let mut records = 0;
    while let Ok(Some(member)) = members.next() {
        records += usize::from(WarcRecord::of_member(member).is_ok());
    }
    records
}

#[test]
fn records_are_parsed_in_linear_time() {
    const HTTP: &str = "WARC-Type: response\r\n";
    for (name, piece) in [
        ("fields", "A: b\r\n"),
        ("empty fields", ":\r\n"),
        ("one long value", "A: b"),
        ("line ends", "\r\n"),
    ] {
        assert_linear(
            name,
            |size| record(&format!("{HTTP}{}\r\n", repeat(piece, size)), ""),
            |bytes| drop(WarcRecord::parse(bytes.clone())),
        );
        assert_linear(
            &format!("{name} of a message"),
            |size| record(HTTP, &format!("HTTP/1.1 200\r\n{}", repeat(piece, size))),
            |bytes| {
                let record = WarcRecord::parse(bytes.clone()).unwrap();
                let _ = (record.http_status(), record.http_header("x"));
                let _ = (record.payload(1 << 30), record.body_decoded(1 << 30));
            },
        );
    }
    for piece in ["1\r\nx\r\n", "1;a\r\nx\r\n"] {
        let head = "HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_linear(
            &format!("chunks of {piece:?}"),
            |size| record(HTTP, &format!("{head}{}", repeat(piece, size))),
            |bytes| {
                let record = WarcRecord::parse(bytes.clone()).unwrap();
                let _ = record.payload(1 << 30);
                let _ = http::begins_like_a_chunk(&record.http_body());
            },
        );
    }
}

#[test]
fn members_are_read_in_linear_time() {
    let tiny = gzip(&record("", ""));
    let long = |size| gzip(&record("", &repeat("ab1 ", size)));
    let truncated = |size| {
        let mut bytes = long(size);
        bytes.truncate(bytes.len() - 9);
        bytes
    };
    assert_linear(
        "tiny members",
        |size| tiny.repeat(size / tiny.len()),
        |bytes| assert!(read_all(bytes) > 100),
    );
    assert_linear("a truncated member", truncated, |bytes| {
        assert_eq!(read_all(bytes), 0);
        let _ = contains_record(bytes);
    });
    assert_linear(
        "empty members",
        |size| gzip(b"").repeat(size / 20),
        |bytes| assert_eq!(read_all(bytes), 0),
    );
}

/// A tail is the part of a volume after the damage. The worst tails have many incomplete members.
#[test]
fn tails_are_searched_in_linear_time() {
    let complete = gzip(&record("", "x"));
    let beginning = |bytes: &[u8]| gzip(bytes)[..12].to_vec();
    // These members have stored (uncompressed) deflate blocks, so that the bytes of a page appear in the file
    // unchanged.
    let nested = |size: usize| {
        let mut inner = Vec::new();
        while inner.len() < size {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::none());
            encoder.write_all(b"WARC/1.1\r\nA: ").unwrap();
            encoder.write_all(&[b'a'; 64]).unwrap();
            // The member is not finished, so that the next member is read as part of it.
            encoder.flush().unwrap();
            inner.extend_from_slice(encoder.get_ref());
        }
        inner
    };
    for (name, piece) in [
        ("magic numbers", vec![0x1f, 0x8b, 8]),
        ("gzip headers", beginning(b"")),
        ("beginnings of members", beginning(&record("", "x"))),
        ("other members", gzip(b"not a record")),
        ("zeros", vec![0; 8]),
    ] {
        assert_linear(
            name,
            |size| piece.repeat(size / piece.len()),
            |bytes| assert!(!contains_record(bytes)),
        );
    }
    assert_linear("nested members without an end", nested, |bytes| {
        let _ = contains_record(bytes);
    });
    let mut tail = vec![0x1f, 0x8b, 8, 0];
    tail.extend_from_slice(&complete);
    tail.extend_from_slice(b"garbage");
    assert!(contains_record(&tail));
}

#[test]
fn index_lines_are_parsed_in_linear_time() {
    for piece in ["{", "[", "\\u", "{\"url\":"] {
        assert_linear(
            &format!("line of {piece}"),
            |size| format!("org,example)/ 2026 {}\n", repeat(piece, size)).into_bytes(),
            |line| assert!(lookup::parse(line).is_none()),
        );
    }
    assert_linear(
        "fields",
        |size| {
            let fields = repeat("\"a\":\"b\",", size);
            let known = r#""url":"u","mime":"m","length":"1","offset":"2","filename":"f""#;
            format!("org,example)/ 2026 {{{fields}{known}}}\n").into_bytes()
        },
        |line| assert!(lookup::parse(line).is_some()),
    );
}

/// Writes a small collection. Returns its folder and its files.
fn collection() -> (tempfile::TempDir, Vec<std::path::PathBuf>) {
    let folder = folder();
    write_all(folder.path(), small_options(), (0..6).map(|n| page(n % 4)));
    let mut files = Vec::new();
    for part in ["archive", "indexes"] {
        for entry in fs::read_dir(folder.path().join(part)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                files.push(path);
            }
        }
    }
    files.sort();
    (folder, files)
}

/// Calls every function that reads a collection.
fn read_everything(folder: &Path) {
    let _ = check(folder, |_| {});
    let reader = ArchiveReader::open(folder).unwrap();
    let _ = reader.captures("http://example.org/1");
    for volume in reader.volumes().unwrap() {
        for entry in reader.records(&volume).unwrap().take(100) {
            let Ok((location, record)) = entry else { break };
            let _ = reader
                .read_resolved(location)
                .map(|record| record.payload(1 << 20));
            let _ = (record.body_decoded(1 << 20), record.time_ms());
        }
    }
}

/// Applies changes to a copy of the bytes: overwrites, inserts, truncates, removes or repeats bytes.
fn changed(bytes: &[u8], changes: &[(prop::sample::Index, u8, u8)]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for (position, byte, kind) in changes {
        let at = position.index(bytes.len());
        match kind {
            0 => bytes[at] = *byte,
            1 => bytes.insert(at, *byte),
            2 => bytes.truncate(at.max(1)),
            3 => drop(bytes.drain(at..(at + 9).min(bytes.len() - 1).max(at))),
            _ => bytes.extend_from_within(at..(at + 40).min(bytes.len())),
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read_all(&bytes);
        let _ = read_all(&gzip(&bytes));
        let _ = WarcRecord::parse([b"WARC/1.1\r\n".as_slice(), &bytes, b"\r\n\r\n"].concat());
        let _ = contains_record(&bytes);
        let _ = lookup::parse(&[&bytes, b"\n".as_slice()].concat());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(40) })]

    /// Damaged files can be read and checked. A damaged volume with the suffix `.open` is repaired, or its suffix is
    /// changed to `.damaged`.
    #[test]
    fn damaged_files_are_read_checked_and_repaired(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..5u8), 1..6),
    ) {
        let (folder, files) = collection();
        let path = &files[which.index(files.len())];
        let bytes = changed(&fs::read(path).unwrap(), &changes);
        fs::write(path, &bytes).unwrap();
        read_everything(folder.path());
        if path.extension().is_some_and(|end| end == "gz") {
            fs::rename(path, format!("{}.open", path.display())).unwrap();
            fs::remove_dir_all(folder.path().join("indexes")).unwrap();
            let (archive, repairs) = Archive::open(folder.path(), small_options()).unwrap();
            drop(archive);
            prop_assert_eq!(repairs.repaired.is_empty(), path.metadata().is_err());
            read_everything(folder.path());
        }
    }
}
