//! Tests of writing and reading through the public interface: records are read as they were written, duplicates are
//! stored once, volumes are closed at their maximum size, and a killed writer loses nothing that was synced.

#![expect(clippy::unwrap_used, reason = "an error fails the test")]

mod sample;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use aranha_volume::{
    Archive, ArchiveReader, Compression, Exchange, Location, Options, VolumeError, VolumeId, check,
};
use bytes::Bytes;
use proptest::prelude::*;
use sample::{TIME_MS, chunked, exchange, gzip, plain, runtime, text, write};

/// Checks the archive, and fails if a fault is found.
fn assert_sound(folder: &Path) -> aranha_volume::CheckReport {
    let report = check(folder, |_| {}).unwrap();
    assert!(report.is_sound(), "{:#?}", report.faults);
    report
}

fn files(folder: &Path, end: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.retain(|path| path.to_string_lossy().ends_with(end));
    files.sort();
    files
}

#[test]
fn records_are_read_as_they_were_written() {
    let folder = tempfile::tempdir().unwrap();
    let page = chunked("/a?b=c", &text("aranha"), 100);
    let stored = write(folder.path(), Options::default(), vec![page.clone()]);
    let reader = ArchiveReader::open(folder.path()).unwrap();
    let record = reader.read(stored[0].location).unwrap();
    assert_eq!(record.kind(), "response");
    assert_eq!(record.url(), Some("http://www.example.org/a?b=c"));
    assert_eq!(record.time_ms(), Some(TIME_MS));
    assert_eq!(record.header("warc-ip-address"), Some("192.0.2.7"));
    assert_eq!(
        record.header("WARC-Identified-Payload-Type"),
        Some("text/html")
    );
    assert_eq!(record.block(), &page.response);
    assert_eq!(record.http_head(), page.response.slice(..page.head_length));
    assert_eq!(record.http_body(), page.response.slice(page.head_length..));
    assert_eq!(record.http_status(), Some(200));
    assert_eq!(record.http_header("server").as_deref(), Some("lab"));
    assert_eq!(record.body_decoded(usize::MAX), text("aranha"));
    assert_eq!(record.body_decoded(5), &text("aranha")[..5]);

    let volume = &reader.volumes().unwrap()[0];
    let records: Vec<_> = reader
        .records(volume)
        .unwrap()
        .map(|record| record.unwrap().1)
        .collect();
    let kinds: Vec<&str> = records
        .iter()
        .map(aranha_volume::WarcRecord::kind)
        .collect();
    assert_eq!(kinds, ["warcinfo", "response", "request", "metadata"]);
    assert_eq!(
        records[0].header("WARC-Filename"),
        Some(volume.name().as_str())
    );
    assert_eq!(records[2].block(), &page.request);
    for companion in &records[2..] {
        assert_eq!(
            companion.header("WARC-Concurrent-To"),
            records[1].header("WARC-Record-ID")
        );
    }
    let metadata = "via: http://www.example.org/\r\ntitle: uma%0D%0Alinha\r\n";
    assert_eq!(records[3].block(), metadata.as_bytes());
    assert_eq!(
        reader.captures("http://www.example.org/a?b=c").unwrap(),
        [stored[0].location]
    );
    assert_eq!(assert_sound(folder.path()).records, 4);
}

#[test]
fn a_repeated_payload_is_a_revisit_with_any_chunk_sizes() {
    let folder = tempfile::tempdir().unwrap();
    let body = text("aranha");
    let mut other_head = chunked("/d", &body, 64);
    other_head.truncated = Some("time");
    let stored = write(
        folder.path(),
        Options::default(),
        vec![
            plain("/a", &body),
            chunked("/b", &body, 50),
            chunked("/c", &body, 7),
            other_head,
            plain("/e", &text("mosca")),
            plain("/f", b"tiny"),
            plain("/g", b"tiny"),
            plain("/h", b""),
            plain("/a", &body),
        ],
    );
    let revisits: Vec<bool> = stored.iter().map(|stored| stored.revisit).collect();
    assert_eq!(
        revisits,
        [false, true, true, false, false, false, false, false, true]
    );
    assert_eq!(stored[0].digest, stored[2].digest);
    let reader = ArchiveReader::open(folder.path()).unwrap();
    let original = reader.read(stored[0].location).unwrap();
    let revisit = reader.read_resolved(stored[2].location).unwrap();
    for (name, of) in [
        ("WARC-Refers-To", "WARC-Record-ID"),
        ("WARC-Refers-To-Target-URI", "WARC-Target-URI"),
        ("WARC-Refers-To-Date", "WARC-Date"),
        ("WARC-Payload-Digest", "WARC-Payload-Digest"),
    ] {
        assert_eq!(revisit.header(name), original.header(of));
    }
    assert_eq!(
        revisit.header("WARC-Refers-To-Date"),
        Some("2026-11-15T17:48:00.123Z")
    );
    let head = chunked("/c", &body, 7);
    assert_eq!(revisit.block(), &head.response.slice(..head.head_length));
    assert_eq!(
        revisit.original().unwrap().url(),
        Some("http://www.example.org/a")
    );
    assert_eq!(revisit.body_decoded(usize::MAX), body);
    let truncated = reader.read(stored[3].location).unwrap();
    assert_eq!(truncated.header("WARC-Truncated"), Some("time"));
    let report = assert_sound(folder.path());
    assert_eq!((report.responses, report.revisits, report.lines), (6, 3, 9));
}

#[test]
fn duplicates_are_found_across_volumes_and_restarts() {
    let folder = tempfile::tempdir().unwrap();
    let options = || Options {
        roll_size: 3000,
        ..Options::default()
    };
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
    let pages = |folder: &str| {
        names
            .iter()
            .map(|name| plain(&format!("/{folder}/{name}"), &text(name)))
            .collect()
    };
    let first = write(folder.path(), options(), pages("one"));
    assert!(first.iter().all(|stored| !stored.revisit));
    assert!(first.last().unwrap().location.volume.counter() > 1);
    let second = write(folder.path(), options(), pages("two"));
    assert!(second.iter().all(|stored| stored.revisit));
    // The originals are also found through the indexes, not only by the location in the revisit record.
    let reader = ArchiveReader::open(folder.path()).unwrap();
    for (stored, name) in second.iter().zip(names) {
        assert_eq!(
            reader
                .read_resolved(stored.location)
                .unwrap()
                .body_decoded(9999),
            text(name)
        );
        let url = format!("http://www.example.org/one/{name}");
        assert_eq!(reader.captures(&url).unwrap().len(), 1);
    }
    let volumes = files(&folder.path().join("archive"), ".warc.gz");
    assert_eq!(
        files(&folder.path().join("indexes"), ".cdxj").len(),
        volumes.len()
    );
    assert_eq!(reader.volumes().unwrap().len(), volumes.len());
    assert_sound(folder.path());

    // A payload whose original was in a deleted volume is stored again.
    fs::remove_file(&volumes[0]).unwrap();
    let third = write(folder.path(), options(), pages("three"));
    assert!(!third[0].revisit);
    assert!(third.last().unwrap().revisit);
}

/// Finished volumes may be moved elsewhere, but stored locations still refer to them. So their counters must not be
/// reused.
#[test]
fn counters_of_moved_volumes_are_not_reused() {
    for deleted in [None, Some("cdxj"), Some("duplicates")] {
        let folder = tempfile::tempdir().unwrap();
        let (archive, indexes) = (folder.path().join("archive"), folder.path().join("indexes"));
        let page = || vec![plain("/a", &text("teia"))];
        write(folder.path(), Options::default(), page());
        for path in files(&archive, ".warc.gz") {
            fs::remove_file(path).unwrap();
        }
        match deleted {
            Some("duplicates") => fs::remove_dir_all(indexes.join("duplicates")).unwrap(),
            Some(_) => fs::remove_file(&files(&indexes, ".cdxj")[0]).unwrap(),
            None => {}
        }
        let stored = write(folder.path(), Options::default(), page());
        assert_eq!(
            stored[0].location.volume,
            VolumeId::new(0, 2),
            "without {deleted:?}"
        );
        assert!(!stored[0].revisit);
    }
}

/// Two nodes write one after the other to the same folder, and each continues its own counter.
#[test]
fn nodes_have_counters_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let options = |node| Options {
        node,
        ..Options::default()
    };
    let page = |path: &str| vec![plain(path, &text("teia"))];
    let locations: Vec<Location> = [(0, "/a"), (7, "/b"), (7, "/c"), (0, "/d")]
        .into_iter()
        .map(|(node, path)| write(folder.path(), options(node), page(path))[0].location)
        .collect();
    let ids: Vec<VolumeId> = locations.iter().map(|location| location.volume).collect();
    let expected = [(0, 1), (7, 1), (7, 2), (0, 2)].map(|(node, n)| VolumeId::new(node, n));
    assert_eq!(ids, expected);
    let names = files(&folder.path().join("archive"), ".warc.gz");
    assert_eq!(names.len(), 4);
    for part in ["-00001-", "-00002-", "-n7.00001-", "-n7.00002-"] {
        let has = |path: &&PathBuf| path.to_string_lossy().contains(part);
        assert_eq!(names.iter().filter(has).count(), 1, "{part}");
    }
    // The reader finds the volume of each node by its identifier, also if the identifier comes from a revisit record.
    let reader = ArchiveReader::open(folder.path()).unwrap();
    for (location, revisit) in locations.into_iter().zip([false, true, true, true]) {
        let record = reader.read_resolved(location).unwrap();
        assert_eq!(record.is_revisit(), revisit);
        assert_eq!(record.body_decoded(9999), text("teia"));
    }
    assert_sound(folder.path());
}

/// Writes a collection with volumes of both formats and with duplicates across them, then truncates a zstd volume.
#[test]
fn zstd_volumes_are_written_read_referred_to_and_repaired() {
    let folder = tempfile::tempdir().unwrap();
    let with = |compression| Options {
        compression,
        ..Options::default()
    };
    let pages = |round: &str| {
        let names = ["Ana", "Rita", "Zé"];
        let page = |name: &&str| plain(&format!("/{round}/{name}"), &text(name));
        names.iter().map(page).collect::<Vec<_>>()
    };
    let first = write(folder.path(), with(Compression::Zstd), pages("one"));
    let second = write(folder.path(), with(Compression::Gzip), pages("two"));
    assert!(first.iter().all(|stored| !stored.revisit));
    assert!(second.iter().all(|stored| stored.revisit));
    let archive = folder.path().join("archive");
    let zstd_volume = files(&archive, ".warc.zst").remove(0);
    assert_eq!(files(&archive, ".warc.gz").len(), 1);
    assert_eq!(assert_sound(folder.path()).responses, 3);
    let reader = ArchiveReader::open(folder.path()).unwrap();
    for (stored, name) in second.iter().zip(["Ana", "Rita", "Zé"]) {
        let record = reader.read_resolved(stored.location).unwrap();
        assert_eq!(record.body_decoded(9999), text(name));
    }
    let crashed = tempfile::tempdir().unwrap();
    fs::create_dir(crashed.path().join("archive")).unwrap();
    let bytes = fs::read(&zstd_volume).unwrap();
    let name = zstd_volume.file_name().unwrap().to_string_lossy();
    let path = crashed.path().join("archive").join(format!("{name}.open"));
    fs::write(path, &bytes[..bytes.len() - 5]).unwrap();
    let (archive, repairs) = Archive::open(crashed.path(), with(Compression::Zstd)).unwrap();
    drop(archive);
    assert_eq!((repairs.repaired.len(), repairs.damaged.len()), (1, 0));
    assert_eq!(
        assert_sound(crashed.path()).responses,
        3,
        "only the last metadata record was truncated"
    );
}

#[test]
fn concurrent_appends_are_stored_once_and_readable_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        roll_size: 20_000,
        queue_size: 30_000,
        threads: 3,
        ..Options::default()
    };
    runtime().block_on(async {
        let (archive, _) = Archive::open(folder.path(), options).unwrap();
        let reader = ArchiveReader::open(folder.path()).unwrap();
        let mut receipts = Vec::new();
        for n in 0..300 {
            let page = plain(&format!("/{n}"), &text(&format!("aranha {}", n % 200)));
            receipts.push((n, archive.append(page).await.unwrap()));
        }
        for (n, receipt) in receipts {
            let stored = receipt.await.unwrap();
            assert_eq!(stored.revisit, n >= 200, "{n}");
            // The record can be read while its volume is still open.
            let record = reader.read_resolved(stored.location).unwrap();
            assert_eq!(
                record.url(),
                Some(format!("http://www.example.org/{n}").as_str())
            );
            assert_eq!(
                record.body_decoded(9999),
                text(&format!("aranha {}", n % 200))
            );
        }
        archive.sync().await.unwrap();
        let report = check(folder.path(), |_| {}).unwrap();
        assert!(report.is_sound() && report.open <= 3, "{:?}", report.faults);
        archive.close().await.unwrap();
        archive.close().await.unwrap();
        assert!(matches!(
            archive.append(plain("/x", b"")).await,
            Err(VolumeError::Closed)
        ));
        archive.sync().await.unwrap();
    });
    let report = assert_sound(folder.path());
    assert_eq!((report.responses, report.revisits), (200, 100));
    assert!(report.files > 1);
}

#[test]
fn only_one_process_may_write() {
    let folder = tempfile::tempdir().unwrap();
    let (archive, _) = Archive::open(folder.path(), Options::default()).unwrap();
    let second = Archive::open(folder.path(), Options::default());
    assert!(matches!(second, Err(VolumeError::InUse { .. })));
    drop(archive);
    Archive::open(folder.path(), Options::default()).unwrap();
    assert_eq!(
        files(&folder.path().join("archive"), "").len(),
        0,
        "no volume is created before the first append"
    );
}

#[test]
fn malformed_responses_are_stored_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = |response: &'static [u8], head_length| Exchange {
        url: "http://www.example.org/odd\r\nWARC-Type: warcinfo\u{2028}é".to_owned(),
        response: Bytes::from_static(response),
        head_length,
        media_type: "text/html\r\nX: y".to_owned(),
        ..Exchange::default()
    };
    let malformed = vec![
        bytes(b"", 0),
        bytes(b"no head at all, as HTTP/0.9 had it\n\nand a body", 0),
        bytes(b"HTTP/1.1 200 OK\r\nA: b\r\n", 24),
        bytes(b"HTTP/1.1 200 OK\r\n \r\nA: b\r\n\r\nbody", 29),
        bytes(b"\r\nHTTP/1.1 200 OK\r\n\r\nbody", 21),
        bytes(b"\xff\xfe\0\x01", 999),
        exchange("/br", &["Content-Encoding: gzip"], b"not gzip", b"not gzip"),
    ];
    let stored = write(folder.path(), Options::default(), malformed.clone());
    let reader = ArchiveReader::open(folder.path()).unwrap();
    for (exchange, stored) in malformed.iter().zip(&stored) {
        assert_eq!(
            reader.read(stored.location).unwrap().block(),
            &exchange.response
        );
    }
    let record = reader.read(stored[0].location).unwrap();
    let url = "http://www.example.org/odd%0D%0AWARC-Type:%20warcinfo%E2%80%A8%C3%A9";
    assert_eq!(record.url(), Some(url));
    assert_eq!(
        record.header("WARC-Identified-Payload-Type"),
        Some("text/html%0D%0AX: y")
    );
    assert_sound(folder.path());
}

#[test]
fn damage_is_found_and_described() {
    let folder = tempfile::tempdir().unwrap();
    let pages = (0..5).map(|n| plain(&format!("/{n}"), gzip(&text(&n.to_string())).as_slice()));
    let options = Options {
        dedupe_minimum: 1,
        ..Options::default()
    };
    let stored = write(folder.path(), options, pages.collect());
    let volume = files(&folder.path().join("archive"), ".warc.gz").remove(0);
    let index = files(&folder.path().join("indexes"), ".cdxj").remove(0);
    let (bytes, lines) = (
        fs::read(&volume).unwrap(),
        fs::read_to_string(&index).unwrap(),
    );

    let mut damaged = bytes.clone();
    damaged[stored[2].location.offset as usize + 200] ^= 1;
    fs::write(&volume, &damaged).unwrap();
    let report = check(folder.path(), |_| {}).unwrap();
    assert_eq!(report.faults[0].offset, stored[2].location.offset);
    // Reading continues after the damage, so the other four responses are found.
    assert_eq!(report.responses, 4);
    fs::write(&volume, &bytes).unwrap();

    let check_index = |text: String, expected: &str| {
        fs::write(&index, text).unwrap();
        let report = check(folder.path(), |_| {}).unwrap();
        assert!(
            report
                .faults
                .iter()
                .any(|fault| fault.problem.contains(expected)),
            "{expected}"
        );
    };
    let first = lines.lines().next().unwrap();
    check_index(lines.replacen("\"200\"", "\"404\"", 1), "does not match");
    check_index(lines.replacen(first, "", 1), "not a CDXJ line");
    check_index(
        lines[first.len() + 1..].to_owned(),
        "no line for the record",
    );
    check_index(lines.split_inclusive('\n').rev().collect(), "not sorted");
    check_index(
        lines.replacen("\"offset\": \"", "\"offset\": \"9", 1),
        "no record at the offset",
    );
    fs::remove_file(&index).unwrap();
    assert!(!check(folder.path(), |_| {}).unwrap().is_sound());
    fs::write(&index, &lines).unwrap();
    assert_sound(folder.path());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn arbitrary_text_gives_valid_records(
        url in any::<String>(),
        media_type in any::<String>(),
        metadata in proptest::collection::vec((any::<String>(), any::<String>()), 0..4),
        response in proptest::collection::vec(any::<u8>(), 0..300),
        head_length in 0..400usize,
    ) {
        let folder = tempfile::tempdir_in(memory_folder()).unwrap();
        let exchange = Exchange {
            url,
            media_type,
            metadata: metadata.iter().cloned().collect(),
            payload: Bytes::from(response.clone()),
            response: Bytes::from(response),
            head_length,
            ..Exchange::default()
        };
        let stored = write(folder.path(), Options::default(), vec![exchange.clone()]);
        let report = check(folder.path(), |_| {}).unwrap();
        prop_assert!(report.is_sound(), "{:?}", report.faults);
        let reader = ArchiveReader::open(folder.path()).unwrap();
        let record = reader.read(stored[0].location).unwrap();
        prop_assert_eq!(record.block(), &exchange.response);
        prop_assert!(record.headers().len() <= 11);
        let volume = &reader.volumes().unwrap()[0];
        if let Some(Ok((_, record))) = reader.records(volume).unwrap().nth(2) {
            let lines = std::str::from_utf8(record.block()).unwrap();
            prop_assert_eq!(lines.split_terminator("\r\n").count(), metadata.len());
            prop_assert!(lines.lines().all(|line| line.contains(": ")));
        }
    }
}

/// A folder in memory if possible, because every case writes an archive.
fn memory_folder() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() {
        memory
    } else {
        std::env::temp_dir()
    }
}

/// The code of the process that `a_killed_writer_loses_nothing_that_was_synced` starts and kills. It prints the
/// location of every record after the record is durable. It does nothing when it is run as an ordinary test.
#[test]
fn writer_to_be_killed() {
    let Ok(folder) = std::env::var("ARANHA_TEST_KILLED_WRITER") else {
        return;
    };
    runtime().block_on(async {
        let options = Options {
            roll_size: 200_000,
            ..Options::default()
        };
        let (archive, _) = Archive::open(Path::new(&folder), options).unwrap();
        for round in 0.. {
            let mut receipts = Vec::new();
            for n in 0..20 {
                let name = format!("{}-{round}-{n}", std::process::id());
                let body = if n % 4 == 0 {
                    text("the same")
                } else {
                    text(&name)
                };
                receipts.push(
                    archive
                        .append(plain(&format!("/{name}"), &body))
                        .await
                        .unwrap(),
                );
            }
            let mut locations = Vec::new();
            for receipt in receipts {
                locations.push(receipt.await.unwrap().location);
            }
            archive.sync().await.unwrap();
            for location in locations {
                println!(
                    "durable {} {} {}",
                    u64::from(location.volume),
                    location.offset,
                    location.length
                );
            }
        }
    });
}

#[test]
fn a_killed_writer_loses_nothing_that_was_synced() {
    let folder = tempfile::tempdir().unwrap();
    let mut durable = Vec::new();
    for round in 0..4 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "writer_to_be_killed", "--nocapture"])
            .env("ARANHA_TEST_KILLED_WRITER", folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut seen = 0;
        for line in lines.by_ref() {
            let line = line.unwrap();
            let Some((_, location)) = line.split_once("durable ") else {
                continue;
            };
            durable.push(location.to_owned());
            seen += 1;
            if seen > 50 + 131 * round {
                break;
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        durable.extend(
            lines
                .map_while(Result::ok)
                .filter_map(|line| Some(line.strip_prefix("durable ")?.to_owned())),
        );
    }
    let (archive, repairs) = Archive::open(folder.path(), Options::default()).unwrap();
    assert!(repairs.damaged.is_empty(), "{repairs:?}");
    drop(archive);
    let report = assert_sound(folder.path());
    assert!(report.revisits > 0 && report.open == 0);
    let reader = ArchiveReader::open(folder.path()).unwrap();
    for location in &durable {
        let numbers: Vec<u64> = location
            .split(' ')
            .map_while(|number| number.parse().ok())
            .collect();
        let &[volume, offset, length] = numbers.as_slice() else {
            continue;
        };
        let (volume, length) = (VolumeId::from(volume), length as u32);
        let record = reader
            .read_resolved(Location {
                volume,
                offset,
                length,
            })
            .unwrap();
        assert!(!record.body_decoded(9999).is_empty());
    }
    assert!(durable.len() > 200);
}
