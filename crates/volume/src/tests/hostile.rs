//! Volumes and indexes made to hurt: reading, checking and repairing end, say what is wrong, and cost what the length
//! is worth.

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
use crate::repair::holds_a_record;
use crate::tests::sample::{folder, page, small_options, write_all};
use crate::{Archive, ArchiveReader, check};

/// The program's. The system's takes fresh memory for each copy above 32 MB, which on a slow machine was what these tests measured.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[path = "../../../../tests/linear_time.rs"]
#[expect(unreachable_pub, reason = "shared by the tests of all crates")]
mod linear_time;

use linear_time::assert_linear;

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn repeat(piece: &str, size: usize) -> String {
    piece.repeat(size / piece.len() + 1)
}

/// A record with these fields and this block.
fn record(fields: &str, block: &str) -> Vec<u8> {
    let length = block.len();
    format!("WARC/1.1\r\n{fields}Content-Length: {length}\r\n\r\n{block}\r\n\r\n").into_bytes()
}

fn read_all(bytes: &[u8]) -> usize {
    let mut members = MemberReader::new(bytes, 0);
    let mut records = 0;
    while let Ok(Some(member)) = members.next() {
        records += usize::from(WarcRecord::parse(member.bytes).is_ok());
    }
    records
}

#[test]
fn records() {
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
fn members() {
    let tiny = packed(&record("", ""));
    let long = |size| packed(&record("", &repeat("ab1 ", size)));
    let torn = |size| {
        let mut bytes = long(size);
        bytes.truncate(bytes.len() - 9);
        bytes
    };
    assert_linear(
        "tiny members",
        |size| tiny.repeat(size / tiny.len()),
        |bytes| assert!(read_all(bytes) > 100),
    );
    assert_linear("a torn member", torn, |bytes| {
        assert_eq!(read_all(bytes), 0);
        let _ = holds_a_record(bytes);
    });
    assert_linear(
        "empty members",
        |size| packed(b"").repeat(size / 20),
        |bytes| assert_eq!(read_all(bytes), 0),
    );
}

/// What may lie behind the damage in a file: above all the beginnings of members that lead nowhere.
#[test]
fn tails() {
    let whole = packed(&record("", "x"));
    let begun = |bytes: &[u8]| packed(bytes)[..12].to_vec();
    // Stored, not compressed: what a page holds stands in the file as it is.
    let nested = |size: usize| {
        let mut inner = Vec::new();
        while inner.len() < size {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::none());
            encoder.write_all(b"WARC/1.1\r\nA: ").unwrap();
            encoder.write_all(&[b'a'; 64]).unwrap();
            // Without an end, so that the next one is read as part of it.
            encoder.flush().unwrap();
            inner.extend_from_slice(encoder.get_ref());
        }
        inner
    };
    for (name, piece) in [
        ("marks", vec![0x1f, 0x8b, 8]),
        ("heads", begun(b"")),
        ("begun members", begun(&record("", "x"))),
        ("other members", packed(b"not a record")),
        ("zeros", vec![0; 8]),
    ] {
        assert_linear(
            name,
            |size| piece.repeat(size / piece.len()),
            |bytes| assert!(!holds_a_record(bytes)),
        );
    }
    assert_linear("members that go on and on", nested, |bytes| {
        let _ = holds_a_record(bytes);
    });
    let mut tail = vec![0x1f, 0x8b, 8, 0];
    tail.extend_from_slice(&whole);
    tail.extend_from_slice(b"garbage");
    assert!(holds_a_record(&tail));
}

#[test]
fn index_lines() {
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

/// The files of a small collection.
fn collection() -> (tempfile::TempDir, Vec<std::path::PathBuf>) {
    let place = folder();
    write_all(place.path(), small_options(), (0..6).map(|n| page(n % 4)));
    let mut files = Vec::new();
    for part in ["archive", "indexes"] {
        for entry in fs::read_dir(place.path().join(part)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                files.push(path);
            }
        }
    }
    files.sort();
    (place, files)
}

/// Everything that reads.
fn use_all(place: &Path) {
    let _ = check(place, |_| {});
    let reader = ArchiveReader::open(place).unwrap();
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

fn changed(bytes: &[u8], changes: &[(prop::sample::Index, u8, u8)]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for (place, byte, kind) in changes {
        let at = place.index(bytes.len());
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
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read_all(&bytes);
        let _ = read_all(&packed(&bytes));
        let _ = WarcRecord::parse([b"WARC/1.1\r\n".as_slice(), &bytes, b"\r\n\r\n"].concat());
        let _ = holds_a_record(&bytes);
        let _ = lookup::parse(&[&bytes, b"\n".as_slice()].concat());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(40) })]

    /// Files gone bad are read, checked and, left open, repaired; after that everything is sound or set aside.
    #[test]
    fn files_gone_bad(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..5u8), 1..6),
    ) {
        let (place, files) = collection();
        let path = &files[which.index(files.len())];
        let bytes = changed(&fs::read(path).unwrap(), &changes);
        fs::write(path, &bytes).unwrap();
        use_all(place.path());
        if path.extension().is_some_and(|end| end == "gz") {
            fs::rename(path, format!("{}.open", path.display())).unwrap();
            fs::remove_dir_all(place.path().join("indexes")).unwrap();
            let (archive, repairs) = Archive::open(place.path(), small_options()).unwrap();
            drop(archive);
            prop_assert_eq!(repairs.repaired.is_empty(), path.metadata().is_err());
            use_all(place.path());
        }
    }
}
