//! Tests of archives whose volumes are in an object store, with moto's S3 server.

use std::io::Read as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::files::store_journal::StoreJournal;
use crate::s3::client::S3Store;
use crate::s3::upload::{Resumed, UploadControl, UploadError};
use crate::tests::proxy::{self, Fault};
use crate::tests::s3_server::S3Server;
use crate::tests::sample::{folder, noise, page, runtime, small_options};
use crate::{
    Archive, ArchiveEvent, ArchiveReader, MissingFiles, Options, Stored, VolumeError, check,
    missing_files, ship, waiting_uploads,
};

/// Options with these stores, for volumes of a few pages.
fn options(stores: &[&str], keep_local: bool) -> Options {
    Options {
        stores: stores.iter().map(|store| (*store).to_owned()).collect(),
        keep_local,
        roll_size: 3000,
        ..small_options()
    }
}

/// Writes pages as a crawl does: some of them twice, and one that is large.
fn write(collection: &Path, options: Options) -> (Vec<Stored>, Vec<ArchiveEvent>) {
    runtime().block_on(async {
        let (archive, _) = Archive::open(collection, options).unwrap();
        let mut events = archive.events();
        let mut stored = Vec::new();
        for n in 0..20 {
            let exchange = match n {
                9 => noise(page(9), 200_000),
                n => page(n % 15),
            };
            stored.push(archive.append(exchange).await.unwrap().await.unwrap());
        }
        archive.close().await.unwrap();
        archive.finish_uploads().await.unwrap();
        let mut seen = Vec::new();
        while let Ok(event) = events.try_recv() {
            seen.push(event);
        }
        (stored, seen)
    })
}

/// Names of the volumes in a folder.
fn local(collection: &Path) -> Vec<String> {
    let files = std::fs::read_dir(collection.join("archive")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.contains(".warc.gz")).collect()
}

/// The bodies of all pages.
fn bodies(collection: &Path, stored: &[Stored]) -> Vec<Vec<u8>> {
    let reader = ArchiveReader::open(collection).unwrap();
    let body = |page: &Stored| {
        let record = reader.read_resolved(page.location).unwrap();
        assert!(!record.is_revisit() || record.original().is_some());
        let mut body = Vec::new();
        reader
            .copy_body(&record, false, &mut body)
            .unwrap()
            .unwrap();
        body
    };
    stored.iter().map(body).collect()
}

#[test]
fn volumes_are_uploaded_and_read_from_the_store() {
    let server = S3Server::start(0);
    let (kept, moved) = (folder(), folder());
    let (stored, events) = write(kept.path(), options(&[&server.store("kept")], true));
    assert_eq!(events, []);
    let volumes = local(kept.path());
    assert!(volumes.len() > 3, "{volumes:?}");
    let (remote, _) = write(moved.path(), options(&[&server.store("moved")], false));
    assert_eq!(local(moved.path()), Vec::<String>::new());
    // Each volume is there with its index.
    assert_eq!(server.objects("moved/").len(), 2 * volumes.len());
    for name in &volumes {
        let (status, bytes) = server.request("GET", &format!("/archive/kept/{name}"));
        let path = kept.path().join("archive").join(name);
        assert_eq!((status, bytes), (200, std::fs::read(path).unwrap()));
    }
    assert_eq!(bodies(moved.path(), &remote), bodies(kept.path(), &stored));
    for collection in [kept.path(), moved.path()] {
        let report = check(collection, |_| {}).unwrap();
        assert!(report.is_sound(), "{:?}", report.faults);
        assert_eq!(report.responses + report.revisits, 20);
        assert_eq!(missing_files(collection).unwrap(), MissingFiles::default());
        let waiting = waiting_uploads(collection, &small_options()).unwrap();
        assert_eq!(waiting.unwrap().volumes, 0);
    }
    // The next crawl continues the numbers, and finds payloads that are in the store only.
    let (again, _) = write(moved.path(), options(&[&server.store("moved")], false));
    assert!(again[0].location.volume > remote[19].location.volume);
    assert!(again.iter().all(|page| page.revisit));
    assert_eq!(bodies(moved.path(), &again), bodies(kept.path(), &stored));
    assert!(check(moved.path(), |_| {}).unwrap().is_sound());
}

#[test]
fn volumes_wait_while_the_store_is_away() {
    let server = S3Server::start(0);
    let (port, store) = (server.port, server.store("away"));
    server.stop();
    let collection = folder();
    let options = options(&[&store], false);
    let (stored, events) = write(collection.path(), options.clone());
    assert!(
        matches!(&events[..], [ArchiveEvent::StoreDown { .. }]),
        "{events:?}"
    );
    let volumes = local(collection.path()).len() as u64;
    let waiting = || {
        waiting_uploads(collection.path(), &options)
            .unwrap()
            .unwrap()
    };
    assert_eq!(waiting().volumes, volumes);
    let error = ship(collection.path(), &options, |_| {}).unwrap_err();
    assert!(matches!(error, VolumeError::Store { .. }), "{error}");
    let _server = S3Server::start(port);
    let shipped = ship(collection.path(), &options, |_| {}).unwrap();
    assert_eq!(shipped.volumes, volumes);
    assert_eq!(waiting().volumes, 0);
    assert_eq!(local(collection.path()).len(), 0);
    assert_eq!(bodies(collection.path(), &stored).len(), 20);
}

#[test]
fn a_second_store_takes_over() {
    let server = S3Server::start(0);
    let missing = format!(
        "s3://no-such-bucket/x?endpoint=http://127.0.0.1:{}",
        server.port
    );
    let collection = folder();
    let options = options(&[&missing, &server.store("second")], false);
    let (stored, events) = write(collection.path(), options);
    let [ArchiveEvent::StoreDown { store, problem }] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(store, "s3://no-such-bucket/x");
    assert!(problem.contains("NoSuchBucket"), "{problem}");
    assert_eq!(local(collection.path()).len(), 0);
    assert_eq!(bodies(collection.path(), &stored).len(), 20);
}

/// A file of 80 MiB is sent in ten parts, four at a time. The upload stops after the first parts, as in a crash, and is
/// resumed.
#[test]
fn an_upload_is_resumed_with_the_missing_parts() {
    let server = S3Server::start(0);
    let store = S3Store::open(&server.store("parts")).unwrap();
    let mut file = tempfile::tempfile().unwrap();
    let bytes: Vec<u8> = (0..80_u32 << 20).map(|n| (n >> 12) as u8).collect();
    std::io::Write::write_all(&mut file, &bytes).unwrap();
    let put = |resumed: Option<Resumed<'_>>, stop: &AtomicBool| {
        let (sent, mut begun) = (AtomicU64::new(0), None);
        let mut control = UploadControl {
            stop,
            sent: &sent,
            begun: &mut |upload, part_size| {
                begun = Some((upload.to_owned(), part_size));
                Ok(())
            },
        };
        let result = std::thread::scope(|scope| {
            let stopper = scope.spawn(|| {
                while !stop.load(Ordering::SeqCst) && sent.load(Ordering::SeqCst) == 0 {
                    std::thread::yield_now();
                }
                stop.store(true, Ordering::SeqCst);
            });
            let result = store.put("x.warc.gz", &file, resumed, &mut control);
            let _ = stopper.join();
            result
        });
        (result, begun)
    };
    let (result, begun) = put(None, &AtomicBool::new(false));
    assert!(matches!(result, Err(UploadError::Stopped)), "{result:?}");
    let (upload, part_size) = begun.unwrap();
    let parts = || server.requests(&["PUT", "partNumber="]);
    let first = parts();
    assert!((1..10).contains(&first), "{first}");
    assert_eq!(server.request("GET", "/archive/parts/x.warc.gz").0, 404);
    let resumed = Resumed {
        upload: &upload,
        part_size,
    };
    let (sent, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let mut control = UploadControl {
        stop: &stop,
        sent: &sent,
        begun: &mut |_, _| panic!("no new upload is begun"),
    };
    let length = store.put("x.warc.gz", &file, Some(resumed), &mut control);
    assert_eq!(length.unwrap(), bytes.len() as u64);
    assert_eq!(parts(), 10, "no part is sent twice");
    let (_, stored) = server.request("GET", "/archive/parts/x.warc.gz");
    assert!(stored == bytes);
}

#[test]
fn bytes_that_are_changed_on_the_way_are_not_confirmed() {
    let server = S3Server::start(0);
    let port = proxy::start(server.port, Fault::ChangeRequest(3000));
    let store = format!("s3://archive/changed?endpoint=http://127.0.0.1:{port}");
    let collection = folder();
    let options = Options {
        roll_size: 1 << 20,
        ..options(&[&store], false)
    };
    let (_, events) = write(collection.path(), options);
    let [ArchiveEvent::StoreDown { problem, .. }] = &events[..] else {
        panic!("{events:?}");
    };
    assert!(
        problem.contains("other bytes") || problem.contains("Digest"),
        "{problem}"
    );
    assert_eq!(local(collection.path()).len(), 1);
    let journal = StoreJournal::read(&collection.path().join("archive")).unwrap();
    assert!(journal.stored.is_empty());
}

#[test]
fn a_stream_that_breaks_off_is_continued() {
    let server = S3Server::start(0);
    let collection = folder();
    let options = Options {
        roll_size: 1 << 30,
        ..options(&[&server.store("cut")], false)
    };
    write(collection.path(), options);
    let objects = server.objects("cut/");
    let is_volume = |name: &&String| name.ends_with(".warc.gz");
    let name = objects.iter().find(is_volume).unwrap();
    let (_, whole) = server.request("GET", &format!("/archive/{name}"));
    assert!(whole.len() > 200_000, "{}", whole.len());
    let port = proxy::start(server.port, Fault::CutAnswer(60_000));
    let store = format!("s3://archive/cut?endpoint=http://127.0.0.1:{port}");
    let path = collection.path().join("archive/stores.jsonl");
    let journal = std::fs::read_to_string(&path).unwrap();
    let moved = journal.replace(&format!("%3A{}", server.port), &format!("%3A{port}"));
    assert_ne!(journal, moved);
    std::fs::write(&path, moved).unwrap();
    let reader = ArchiveReader::open(collection.path()).unwrap();
    let volume = &reader.volumes().unwrap()[0];
    assert!(volume.is_remote());
    let mut file = crate::s3::range::VolumeFile::open(volume).unwrap();
    let mut read = Vec::new();
    file.read_to_end(&mut read).unwrap();
    assert!(read == whole, "{} bytes of {store}", read.len());
    let report = check(collection.path(), |_| {}).unwrap();
    assert!(report.is_sound(), "{:?}", report.faults);
    // A store that is away is an error, not damage.
    server.stop();
    let error = check(collection.path(), |_| {}).unwrap_err();
    assert!(error.to_string().contains("s3://archive/cut"), "{error}");
}
