//! `archive/stores.jsonl`: the places of volumes outside `archive/`.
//!
//! Volumes are in `archive/`, in other local folders, or in object stores. This file names the places, one JSON object
//! per line. Lines are only appended, and each line is durable before anything relies on the fact that it records. A
//! collection whose volumes are all in `archive/` has no such file.
//!
//! ```text
//! {"event":"collection","id":"5f0c…"}                         the identity of the collection, in its marker files too
//! {"event":"folder","path":"/disk1/warc"}                     volumes are written to this folder
//! {"event":"created","volume":"NAME"}                         a volume was begun in such a folder
//! {"event":"begun","volume":"NAME","store":URL,"upload":ID,"part_size":N}      a multipart upload was begun
//! {"event":"stored","volume":"NAME","store":URL,"size":N,"time_ms":T}          the store has confirmed the volume
//! {"event":"changed","volume":"NAME"}                         the local volume was changed; the stored copy is old
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::VolumeError;

/// Name of the file in `archive/`.
const FILE_NAME: &str = "stores.jsonl";
/// Name of the file that marks a folder outside the collection. Its content is the identity of the collection.
const MARKER: &str = "aranha-collection";

/// One line of the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum JournalLine {
    Collection {
        id: String,
    },
    Folder {
        path: PathBuf,
    },
    Created {
        volume: String,
    },
    Begun {
        volume: String,
        store: String,
        upload: String,
        part_size: u64,
    },
    Stored {
        volume: String,
        store: String,
        size: u64,
        time_ms: i64,
    },
    Changed {
        volume: String,
    },
}

/// A confirmed copy in an object store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredCopy {
    /// URL of the store.
    pub(crate) store: String,
    pub(crate) size: u64,
}

/// A multipart upload that was begun and not confirmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BegunUpload {
    pub(crate) store: String,
    pub(crate) upload: String,
    pub(crate) part_size: u64,
}

/// The content of the file.
#[derive(Debug, Default)]
pub(crate) struct StoreJournal {
    path: PathBuf,
    id: Option<String>,
    /// Folders outside the collection, in order of their first use.
    pub(crate) folders: Vec<PathBuf>,
    /// The volumes that were begun in such a folder.
    pub(crate) created: BTreeSet<String>,
    /// The newest unfinished upload of each volume.
    pub(crate) begun: BTreeMap<String, BegunUpload>,
    /// The copies in object stores, by name of the volume.
    pub(crate) stored: BTreeMap<String, StoredCopy>,
    /// Volumes in `stored` whose local file is newer than the copy.
    pub(crate) changed: BTreeSet<String>,
}

impl StoreJournal {
    /// Reads the file in this `archive/` folder. It is empty if it does not exist.
    pub(crate) fn read(archive: &Path) -> Result<Self, VolumeError> {
        let path = archive.join(FILE_NAME);
        let mut journal = Self {
            path: path.clone(),
            ..Self::default()
        };
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(journal),
            Err(source) => return Err(VolumeError::from_io(&path, source)),
        };
        // A line that a crash has cut off is not JSON. Nothing relied on it yet.
        for line in text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
        {
            journal.apply(line);
        }
        Ok(journal)
    }

    fn apply(&mut self, line: JournalLine) {
        match line {
            JournalLine::Collection { id } => self.id = Some(id),
            JournalLine::Folder { path } if self.folders.contains(&path) => {}
            JournalLine::Folder { path } => self.folders.push(path),
            JournalLine::Created { volume } => drop(self.created.insert(volume)),
            JournalLine::Begun {
                volume,
                store,
                upload,
                part_size,
            } => {
                let begun = BegunUpload {
                    store,
                    upload,
                    part_size,
                };
                self.begun.insert(volume, begun);
            }
            JournalLine::Stored {
                volume,
                store,
                size,
                ..
            } => {
                self.begun.remove(&volume);
                self.changed.remove(&volume);
                self.stored.insert(volume, StoredCopy { store, size });
            }
            JournalLine::Changed { volume } => {
                self.begun.remove(&volume);
                self.changed.insert(volume);
            }
        }
    }

    /// Appends a line and makes it durable.
    pub(crate) fn append(&mut self, line: JournalLine) -> Result<(), VolumeError> {
        let fault = |source| VolumeError::from_io(&self.path, source);
        let is_new = !self.path.exists();
        let mut text = serde_json::to_string(&line).expect("a line is valid JSON");
        text.push('\n');
        let mut file = File::options()
            .append(true)
            .create(true)
            .open(&self.path)
            .map_err(fault)?;
        // If a crash has cut off the last line, a line end is written first. Empty lines are ignored.
        let torn = std::fs::read(&self.path).map_err(fault)?.last() != Some(&b'\n');
        if torn && !is_new {
            text.insert(0, '\n');
        }
        file.write_all(text.as_bytes())
            .and_then(|()| file.sync_data())
            .map_err(fault)?;
        if is_new && let Some(folder) = self.path.parent() {
            File::open(folder)
                .and_then(|folder| folder.sync_all())
                .map_err(fault)?;
        }
        self.apply(line);
        Ok(())
    }

    /// Whether a store has confirmed the current content of this volume.
    pub(crate) fn is_stored(&self, volume: &str) -> bool {
        self.stored.contains_key(volume) && !self.changed.contains(volume)
    }

    /// All names of volumes in the file.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let names = self.created.iter().chain(self.stored.keys());
        names.map(String::as_str)
    }

    fn identity(&mut self) -> Result<String, VolumeError> {
        if let Some(id) = &self.id {
            return Ok(id.clone());
        }
        // Each `RandomState` has new random keys.
        let random = || RandomState::new().hash_one(&self.path);
        let id = format!("{:016x}{:016x}", random(), random());
        self.append(JournalLine::Collection { id: id.clone() })?;
        Ok(id)
    }

    /// Prepares a folder outside the collection for new volumes. At its first use a marker file is written, so that two
    /// collections do not mix their volumes, and so that nothing is written to the mount point of a disk that is not
    /// mounted. The error describes the problem.
    pub(crate) fn claim_folder(&mut self, folder: &Path) -> Result<(), String> {
        let text = |error: VolumeError| error.to_string();
        let id = self.identity().map_err(text)?;
        let marker = folder.join(MARKER);
        match std::fs::read_to_string(&marker) {
            Ok(found) if found.trim() == id => {}
            Ok(_) => return Err("it belongs to another collection".to_owned()),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if self.folders.iter().any(|known| known == folder) {
                    let name = marker.display();
                    return Err(format!("{name} is missing; the disk may not be mounted"));
                }
                std::fs::create_dir_all(folder)
                    .and_then(|()| std::fs::write(&marker, format!("{id}\n")))
                    .and_then(|()| File::open(&marker)?.sync_all())
                    .and_then(|()| File::open(folder)?.sync_all())
                    .map_err(|error| error.to_string())?;
            }
            Err(error) => return Err(error.to_string()),
        }
        if !self.folders.iter().any(|known| known == folder) {
            let path = folder.to_path_buf();
            self.append(JournalLine::Folder { path }).map_err(text)?;
        }
        Ok(())
    }
}

/// The lock of the process that uploads volumes or changes them. It is a lock on the folder `indexes/`.
#[derive(Debug)]
pub(crate) struct UploadLock(File);

impl UploadLock {
    /// Takes the lock; `None` if another process holds it.
    pub(crate) fn acquire(indexes: &Path) -> Result<Option<Self>, VolumeError> {
        let fault = |source| VolumeError::from_io(indexes, source);
        let folder = File::open(indexes).map_err(fault)?;
        match folder.try_lock() {
            Ok(()) => Ok(Some(Self(folder))),
            Err(std::fs::TryLockError::WouldBlock) => Ok(None),
            Err(std::fs::TryLockError::Error(source)) => Err(fault(source)),
        }
    }
}

impl Drop for UploadLock {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_back_and_a_line_that_was_cut_off_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = StoreJournal::read(folder.path()).unwrap();
        let stored = |volume: &str| JournalLine::Stored {
            volume: volume.to_owned(),
            store: "s3://b".to_owned(),
            size: 7,
            time_ms: 1,
        };
        journal
            .append(JournalLine::Begun {
                volume: "a".to_owned(),
                store: "s3://b".to_owned(),
                upload: "id".to_owned(),
                part_size: 5,
            })
            .unwrap();
        assert_eq!(journal.begun["a"].upload, "id");
        journal.append(stored("a")).unwrap();
        let path = folder.path().join(FILE_NAME);
        let mut file = File::options().append(true).open(&path).unwrap();
        file.write_all(b"{\"event\":\"stored\",\"volu").unwrap();
        journal.append(stored("c")).unwrap();
        journal
            .append(JournalLine::Changed {
                volume: "c".to_owned(),
            })
            .unwrap();
        for journal in [journal, StoreJournal::read(folder.path()).unwrap()] {
            assert_eq!(journal.names().collect::<Vec<_>>(), ["a", "c"]);
            assert!(journal.begun.is_empty());
            assert!(journal.is_stored("a") && !journal.is_stored("c"));
        }
    }

    #[test]
    fn a_folder_belongs_to_one_collection_and_must_keep_its_marker() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let disk = tempfile::tempdir().unwrap();
        let folder = disk.path().join("warc");
        let claim = |archive: &Path| {
            let mut journal = StoreJournal::read(archive).unwrap();
            journal.claim_folder(&folder)
        };
        claim(one.path()).unwrap();
        claim(one.path()).unwrap();
        assert_eq!(StoreJournal::read(one.path()).unwrap().folders, [&*folder]);
        let problem = claim(other.path()).unwrap_err();
        assert!(problem.contains("another collection"), "{problem}");
        std::fs::remove_file(folder.join(MARKER)).unwrap();
        let problem = claim(one.path()).unwrap_err();
        assert!(problem.contains("may not be mounted"), "{problem}");
    }
}
