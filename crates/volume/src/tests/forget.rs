//! Tests of forgetting.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::forget::{plan, redo};
use crate::tests::s3_server::S3Server;
use crate::tests::sample::{folder, page, small_options, write_all};
use crate::{
    Archive, ArchiveReader, Compression, ForgetRequest, Forgotten, Options, Stored, check, forget,
    ship, waiting_uploads,
};

const FIRST: &str = "http://example.org/1";

/// Page 1 is stored twice, and a copy of the page is stored under another URL.
fn write(collection: &Path, options: Options) -> Vec<Stored> {
    let mut copy = page(1);
    copy.url = "http://copy.example/".to_owned();
    let mut first = page(1);
    first.metadata.put("title", "O título");
    let pages = [first, page(2), page(1), copy, page(3), page(4)];
    write_all(collection, options, pages)
}

fn request(url: &str) -> ForgetRequest<'_> {
    ForgetRequest {
        locations: BTreeSet::new(),
        is_target: &|url| url == FIRST,
        known_copies: BTreeMap::new(),
        copies: false,
        reason: url,
        time_ms: 1_795_064_400_000,
        dry_run: false,
    }
}

/// The decompressed bytes of all volumes.
fn unpacked(collection: &Path) -> String {
    let reader = ArchiveReader::open(collection).unwrap();
    let mut text = String::new();
    for volume in reader.volumes().unwrap() {
        for record in reader.records(&volume).unwrap() {
            let (_, record) = record.unwrap();
            for (name, value) in record.headers() {
                text.extend([name, ": ", value, "\n"]);
            }
            text.push_str(&String::from_utf8_lossy(record.block()));
        }
    }
    text
}

fn assert_sound(collection: &Path) {
    let report = check(collection, |_| {}).unwrap();
    assert!(report.is_sound(), "{:?}", report.faults);
}

#[test]
fn the_content_is_overwritten_in_place() {
    for compression in Compression::ALL {
        let collection = folder();
        let options = Options {
            compression,
            ..small_options()
        };
        let stored = write(collection.path(), options.clone());
        let path = |reader: &ArchiveReader| reader.volumes().unwrap()[0].path.clone();
        let reader = ArchiveReader::open(collection.path()).unwrap();
        let before = std::fs::read(path(&reader)).unwrap();
        let text = unpacked(collection.path());
        assert!(text.contains("Página 1<") && text.contains("O título"));
        let dry = ForgetRequest {
            dry_run: true,
            ..request("by request")
        };
        let planned = forget(collection.path(), &dry).unwrap();
        assert_eq!(std::fs::read(path(&reader)).unwrap(), before);
        let found = forget(collection.path(), &request("by request")).unwrap();
        assert_eq!(planned, found);
        assert_eq!((found.records, found.already), (2, 0));
        assert_eq!(found.copies, ["http://copy.example/".to_owned()].into());
        let after = std::fs::read(path(&reader)).unwrap();
        assert_eq!(before.len(), after.len());
        assert_sound(collection.path());
        let text = unpacked(collection.path());
        assert!(!text.contains("Página 1<") && !text.contains("O título"));
        assert!(text.contains("Página 2<") && text.contains("by request"));
        for (n, page) in stored.iter().enumerate() {
            let record = reader.read_resolved(page.location).unwrap();
            // The copy refers to the forgotten response.
            assert_eq!(record.forgotten().is_some(), [0, 2, 3].contains(&n), "{n}");
        }
        // A second time changes nothing.
        let again = forget(collection.path(), &request("again")).unwrap();
        assert_eq!((again.records, again.already), (0, 2));
        assert_eq!(std::fs::read(path(&reader)).unwrap(), after);
        // When the payload is received again, it is stored again, because it is no longer found as a duplicate.
        let [new] = write_all(collection.path(), options, [page(1)])[..] else {
            panic!("one page");
        };
        assert!(!new.revisit);
        assert_sound(collection.path());
    }
}

#[test]
fn copies_are_forgotten_on_request() {
    let collection = folder();
    let stored = write(collection.path(), small_options());
    let request = ForgetRequest {
        copies: true,
        ..request("")
    };
    let found = forget(collection.path(), &request).unwrap();
    assert_eq!((found.records, found.copies.len()), (3, 1));
    assert_sound(collection.path());
    let reader = ArchiveReader::open(collection.path()).unwrap();
    let copy = reader.read(stored[3].location).unwrap();
    assert!(copy.forgotten().is_some());
    assert_eq!(copy.url(), Some("http://copy.example/"));
}

/// A crash after the changes were planned can leave any part of them undone. The next opening makes all of them.
#[test]
fn a_crash_leaves_the_old_or_the_new_content() {
    let sample = folder();
    write(sample.path(), small_options());
    let reader = ArchiveReader::open(sample.path()).unwrap();
    let volume = reader.volumes().unwrap().remove(0);
    let old = std::fs::read(&volume.path).unwrap();
    let index = sample.path().join("indexes").join(volume.name());
    let index = index.with_extension("").with_extension("cdxj");
    let old_index = std::fs::read(&index).unwrap();
    let changes = plan(sample.path(), &request("x")).unwrap().changes;
    assert_eq!(std::fs::read(&volume.path).unwrap(), old);
    forget(sample.path(), &request("x")).unwrap();
    let new = std::fs::read(&volume.path).unwrap();
    let new_index = std::fs::read(&index).unwrap();
    assert_ne!(old_index, new_index);
    for changed in (0..=new.len()).step_by(37) {
        for index_is_new in [false, true] {
            redo::write(&sample.path().join("archive"), &changes).unwrap();
            let torn = [&new[..changed], &old[changed..]].concat();
            std::fs::write(&volume.path, torn).unwrap();
            let lines = if index_is_new { &new_index } else { &old_index };
            std::fs::write(&index, lines).unwrap();
            drop(Archive::open(sample.path(), small_options()).unwrap());
            assert!(std::fs::read(&volume.path).unwrap() == new, "{changed}");
            assert!(std::fs::read(&index).unwrap() == new_index, "{changed}");
            assert_eq!(redo::read(&sample.path().join("archive")).unwrap(), None);
        }
    }
    assert_sound(sample.path());
}

#[test]
fn volumes_in_a_store_are_changed_there() {
    let server = S3Server::start(0);
    let collection = folder();
    let options = Options {
        stores: vec![server.store("forget")],
        keep_local: false,
        ..small_options()
    };
    write(collection.path(), small_options());
    ship(collection.path(), &options, |_| {}).unwrap();
    let object = || {
        let name = server.objects("forget/");
        let name = name.iter().find(|name| name.ends_with(".warc.gz")).unwrap();
        server.request("GET", &format!("/archive/{name}")).1
    };
    let before = object();
    let Forgotten {
        records,
        remote,
        downloaded,
        ..
    } = forget(collection.path(), &request("x")).unwrap();
    assert_eq!((records, remote.len()), (2, 1));
    assert_eq!(downloaded, before.len() as u64);
    let waiting = waiting_uploads(collection.path(), &options)
        .unwrap()
        .unwrap();
    assert_eq!(waiting.volumes, 1);
    assert_sound(collection.path());
    ship(collection.path(), &options, |_| {}).unwrap();
    let after = object();
    assert_eq!(before.len(), after.len());
    assert_ne!(before, after);
    let reader = ArchiveReader::open(collection.path()).unwrap();
    assert!(reader.volumes().unwrap()[0].is_remote());
    assert_sound(collection.path());
    assert!(!unpacked(collection.path()).contains("Página 1<"));
}
