//! Tests of archives with several folders for volumes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::files::disk::faulty::FaultyDisk;
use crate::tests::sample::{folder, noise, page, runtime, small_options};
use crate::{Archive, ArchiveEvent, ArchiveReader, Options, Stored, VolumeError, check};

/// Options with these folders.
fn options(folders: &[PathBuf]) -> Options {
    Options {
        stores: folders
            .iter()
            .map(|folder| folder.display().to_string())
            .collect(),
        ..small_options()
    }
}

fn volumes_in(folder: &Path) -> usize {
    let names = std::fs::read_dir(folder).unwrap().flatten();
    let is_volume = |name: &str| name.ends_with(".warc.gz");
    names
        .filter(|entry| is_volume(&entry.file_name().to_string_lossy()))
        .count()
}

/// Checks that the archive is sound and that every stored page can be read.
fn check_pages(collection: &Path, stored: &[Stored]) {
    let report = check(collection, |_| {}).unwrap();
    assert!(report.is_sound(), "{:?}", report.faults);
    let reader = ArchiveReader::open(collection).unwrap();
    for (n, page) in stored.iter().enumerate() {
        let record = reader.read_resolved(page.location).unwrap();
        assert!(!record.is_revisit() || record.original().is_some(), "{n}");
    }
}

#[test]
fn a_folder_that_is_full_is_left_and_the_next_takes_over() {
    runtime().block_on(async {
        for fits in (0..6000).step_by(499) {
            let (collection, disks) = (folder(), folder());
            let folders = [disks.path().join("1"), disks.path().join("2")];
            let disk = FaultyDisk::with_free_bytes(1 << 30);
            disk.failing_folders
                .lock()
                .unwrap()
                .push((folders[0].clone(), fits));
            let (archive, _) =
                Archive::open_on(collection.path(), options(&folders), Arc::new(disk)).unwrap();
            let mut events = archive.events();
            let mut stored = Vec::new();
            for n in 0..12 {
                let receipt = archive.append(page(n % 7)).await.unwrap();
                stored.push(receipt.await.unwrap());
            }
            archive.close().await.unwrap();
            drop(archive);
            if fits > 0 {
                let event = events.recv().await.unwrap();
                let ArchiveEvent::FolderLeft { folder, problem } = event else {
                    panic!("{event:?}");
                };
                assert_eq!(folder, folders[0]);
                assert!(problem.contains("no space left"), "{problem}");
            }
            assert!(events.recv().await.is_none());
            assert!(volumes_in(&folders[1]) > 0, "{fits}");
            assert_eq!(volumes_in(&collection.path().join("archive")), 0);
            check_pages(collection.path(), &stored);
            let report = check(collection.path(), |_| {}).unwrap();
            assert_eq!(report.responses + report.revisits, 12, "{fits}");
        }
    });
}

/// The response record of a large body is copied from a file. After a failure it is copied again.
#[test]
fn a_large_response_moves_to_the_next_folder() {
    runtime().block_on(async {
        for fits in [0, 5_000, 2_000_000] {
            let (collection, disks) = (folder(), folder());
            let folders = [disks.path().join("1"), disks.path().join("2")];
            let disk = FaultyDisk::with_free_bytes(1 << 30);
            let (archive, _) =
                Archive::open_on(collection.path(), options(&folders), Arc::new(disk.clone()))
                    .unwrap();
            let mut stored = vec![archive.append(page(1)).await.unwrap().await.unwrap()];
            let failing = folders.iter().position(|folder| {
                std::fs::read_dir(folder).unwrap().flatten().count() > 1 // the marker and a volume
            });
            disk.failing_folders
                .lock()
                .unwrap()
                .push((folders[failing.unwrap()].clone(), fits));
            let receipt = archive.append(noise(page(2), 3_000_000)).await.unwrap();
            stored.push(receipt.await.unwrap());
            stored.push(archive.append(page(3)).await.unwrap().await.unwrap());
            archive.close().await.unwrap();
            drop(archive);
            assert_eq!((volumes_in(&folders[0]), volumes_in(&folders[1])), (1, 1));
            check_pages(collection.path(), &stored);
        }
    });
}

#[test]
fn the_archive_fails_when_all_folders_are_full() {
    runtime().block_on(async {
        let (collection, disks) = (folder(), folder());
        let folders = [disks.path().join("1"), disks.path().join("2")];
        let disk = FaultyDisk::with_free_bytes(1 << 30);
        *disk.failing_folders.lock().unwrap() =
            vec![(folders[0].clone(), 3000), (folders[1].clone(), 2000)];
        let (archive, _) =
            Archive::open_on(collection.path(), options(&folders), Arc::new(disk.clone())).unwrap();
        let mut stored = Vec::new();
        let error = loop {
            let receipt = match archive.append(page(stored.len() as u32)).await {
                Ok(receipt) => receipt.await,
                Err(error) => Err(error),
            };
            match receipt {
                Ok(page) => stored.push(page),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, VolumeError::DiskFull { .. }), "{error}");
        archive.sync().await.unwrap();
        assert!(archive.close().await.is_err());
        drop(archive);
        assert!(stored.len() > 2);
        check_pages(collection.path(), &stored);
        // When there is space again, the next start continues.
        disk.free.store(1 << 30, Ordering::SeqCst);
        let (archive, _) = Archive::open(collection.path(), options(&folders)).unwrap();
        stored.push(archive.append(page(50)).await.unwrap().await.unwrap());
        archive.close().await.unwrap();
        drop(archive);
        check_pages(collection.path(), &stored);
    });
}

/// The folder of a disk that is not mounted is empty. Nothing may be written to it, and the number of a volume that it
/// held must not be used again.
#[test]
fn a_disk_that_is_not_mounted_is_not_written_to() {
    runtime().block_on(async {
        let (collection, disks) = (folder(), folder());
        let folders = [disks.path().join("1"), disks.path().join("2")];
        let open = |folders: &[PathBuf]| Archive::open(collection.path(), options(folders));
        let (archive, _) = open(&folders[..1]).unwrap();
        let first = archive.append(page(1)).await.unwrap().await.unwrap();
        archive.sync().await.unwrap();
        archive.close().await.unwrap();
        drop(archive);
        let away = disks.path().join("away");
        std::fs::rename(&folders[0], &away).unwrap();
        std::fs::create_dir(&folders[0]).unwrap();
        // Without this, the index would reveal the number.
        std::fs::remove_dir_all(collection.path().join("indexes")).unwrap();
        let error = open(&folders[..1]).unwrap_err().to_string();
        assert!(error.contains("may not be mounted"), "{error}");
        let (archive, _) = open(&folders).unwrap();
        let event = archive.events().recv().await.unwrap();
        assert!(matches!(event, ArchiveEvent::FolderLeft { .. }));
        let second = archive.append(page(2)).await.unwrap().await.unwrap();
        archive.close().await.unwrap();
        drop(archive);
        assert_eq!(volumes_in(&folders[0]), 0);
        assert!(second.location.volume > first.location.volume);
        let reader = ArchiveReader::open(collection.path()).unwrap();
        assert!(reader.read(first.location).is_err());
        std::fs::remove_dir(&folders[0]).unwrap();
        std::fs::rename(&away, &folders[0]).unwrap();
        for page in [first, second] {
            reader.read(page.location).unwrap();
        }
    });
}
