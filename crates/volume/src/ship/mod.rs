//! Uploads closed volumes to object stores, beside the crawl or for `aranha ship`.
//!
//! A closed volume waits for its upload while its file is local and `archive/stores.jsonl` does not say that a store
//! has confirmed it. So nothing else has to be remembered between two starts. The index of a volume is uploaded before
//! the volume, under the same prefix. If a store fails, the volume goes to the next store of the list. If all stores
//! fail, they are tried again later. **A local file is removed only after the store has confirmed the copy**, and only
//! if the user wants that.

pub(crate) mod thread;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use jiff::Timestamp;

use crate::files::store_journal::{JournalLine, StoreJournal, UploadLock};
use crate::files::volumes::{self, Volume};
use crate::index::entry;
use crate::s3::client::{S3Store, StoreError};
use crate::s3::upload::{Resumed, UploadControl, UploadError};
use crate::{Options, VolumeError};

/// What waits for upload.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WaitingUploads {
    /// Closed volumes.
    pub volumes: u64,
    /// Their size in bytes.
    pub bytes: u64,
}

/// Progress of [`ship`].
#[derive(Debug, Clone)]
pub struct ShipProgress {
    /// Name of the volume.
    pub volume: String,
    /// Bytes of this volume that were sent.
    pub sent: u64,
    /// Size of the volume.
    pub size: u64,
}

/// The volumes that wait for upload. `None` if no object store is configured or was ever used.
pub fn waiting_uploads(
    dir: &Path,
    options: &Options,
) -> Result<Option<WaitingUploads>, VolumeError> {
    let archive = dir.join("archive");
    if !archive.exists() {
        return Ok(None);
    }
    let journal = StoreJournal::read(&archive)?;
    if options.places()?.stores.is_empty() && journal.stored.is_empty() {
        return Ok(None);
    }
    let waiting = waiting(&archive, &journal)?;
    Ok(Some(WaitingUploads {
        volumes: waiting.len() as u64,
        bytes: waiting.iter().map(Volume::size).sum(),
    }))
}

/// The closed local volumes that no store has confirmed, in order of identifier.
fn waiting(archive: &Path, journal: &StoreJournal) -> Result<Vec<Volume>, VolumeError> {
    let volumes = volumes::list(archive)?.into_values();
    let waits =
        |volume: &Volume| !volume.open && !volume.is_remote() && !journal.is_stored(&volume.name());
    Ok(volumes.filter(waits).collect())
}

/// Uploads all volumes that wait, and returns their number and size. Fails at the first volume that no store takes.
/// `progress` is called after each file.
pub fn ship(
    dir: &Path,
    options: &Options,
    mut progress: impl FnMut(&ShipProgress),
) -> Result<WaitingUploads, VolumeError> {
    let archive = dir.join("archive");
    let Some(_lock) = UploadLock::acquire(&dir.join("indexes"))? else {
        return Err(VolumeError::InUse { path: archive });
    };
    let shipper = Shipper::new(dir, options)?;
    let mut done = WaitingUploads::default();
    loop {
        let journal = StoreJournal::read(&archive)?;
        let Some(volume) = waiting(&archive, &journal)?.into_iter().next() else {
            shipper
                .drop_local_copies()
                .map_err(ShipError::into_volume_error)?;
            return Ok(done);
        };
        let mut failed = None;
        let size = volume.size();
        for store in &shipper.stores {
            match shipper.upload(&volume, store) {
                Ok(()) => {
                    failed = None;
                    break;
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        if let Some(error) = failed {
            return Err(error.into_volume_error());
        }
        done.volumes += 1;
        done.bytes += size;
        progress(&ShipProgress {
            volume: volume.name(),
            sent: size,
            size,
        });
    }
}

/// Why a volume was not uploaded.
#[derive(Debug)]
pub(crate) enum ShipError {
    /// The store did not take it.
    Store(StoreError),
    /// A local file could not be read or written.
    Local(VolumeError),
    Stopped,
}

impl ShipError {
    pub(crate) fn into_volume_error(self) -> VolumeError {
        match self {
            Self::Store(StoreError { store, problem, .. }) => VolumeError::Store { store, problem },
            Self::Local(error) => error,
            Self::Stopped => VolumeError::Closed,
        }
    }
}

impl From<VolumeError> for ShipError {
    fn from(error: VolumeError) -> Self {
        Self::Local(error)
    }
}

/// Uploads the volumes of one collection.
#[derive(Debug)]
pub(crate) struct Shipper {
    archive: PathBuf,
    pub(crate) indexes: PathBuf,
    pub(crate) stores: Vec<String>,
    keep_local: bool,
    pub(crate) stop: Arc<AtomicBool>,
    /// Bytes sent, of all volumes.
    sent: AtomicU64,
}

impl Shipper {
    pub(crate) fn new(dir: &Path, options: &Options) -> Result<Self, VolumeError> {
        Ok(Self {
            archive: dir.join("archive"),
            indexes: dir.join("indexes"),
            stores: options.places()?.stores,
            keep_local: options.keep_local,
            stop: Arc::default(),
            sent: AtomicU64::new(0),
        })
    }

    /// Uploads a volume and its index, records the confirmation, and removes the local file if it is not to be kept.
    pub(crate) fn upload(&self, volume: &Volume, store: &str) -> Result<(), ShipError> {
        let opened = S3Store::open(store).map_err(ShipError::Store)?;
        let address = opened.address().to_string();
        let name = volume.name();
        let mut journal = StoreJournal::read(&self.archive)?;
        let index_name = entry::file_name(&name);
        let index = self.indexes.join(&index_name);
        match File::open(&index) {
            Ok(file) => {
                let mut control = UploadControl {
                    stop: &self.stop,
                    sent: &self.sent,
                    begun: &mut |_, _| Ok(()),
                };
                let put = opened.put(&index_name, &file, None, &mut control);
                put.map_err(|error| ship_error(error, &index))?;
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(source) => return Err(VolumeError::from_io(&index, source).into()),
        }
        let file = File::open(&volume.path)
            .map_err(|source| VolumeError::from_io(&volume.path, source))?;
        let begun = journal.begun.get(&name).cloned();
        let begun = begun.filter(|begun| begun.store == address);
        let resumed = begun.as_ref().map(|begun| Resumed {
            upload: &begun.upload,
            part_size: begun.part_size,
        });
        let mut record = |upload: &str, part_size: u64| {
            let line = JournalLine::Begun {
                volume: name.clone(),
                store: address.clone(),
                upload: upload.to_owned(),
                part_size,
            };
            journal.append(line).map_err(io::Error::other)
        };
        let mut control = UploadControl {
            stop: &self.stop,
            sent: &self.sent,
            begun: &mut record,
        };
        let size = opened
            .put(&name, &file, resumed, &mut control)
            .map_err(|error| ship_error(error, &volume.path))?;
        journal.append(JournalLine::Stored {
            volume: name.clone(),
            store: address,
            size,
            time_ms: Timestamp::now().as_millisecond(),
        })?;
        tracing::info!(volume = %name, %store, size, "volume uploaded");
        if !self.keep_local {
            remove(&volume.path)?;
        }
        Ok(())
    }

    /// If local files are not to be kept, removes those of volumes that a store has already confirmed. There are such
    /// files if `keep_local` was true when their volumes were uploaded. Before each removal, asks the store for the
    /// length of its copy.
    pub(crate) fn drop_local_copies(&self) -> Result<(), ShipError> {
        if self.keep_local {
            return Ok(());
        }
        let journal = StoreJournal::read(&self.archive)?;
        let locals: BTreeMap<String, Volume> = volumes::list(&self.archive)?
            .into_values()
            .filter(|volume| !volume.open && !volume.is_remote())
            .map(|volume| (volume.name(), volume))
            .collect();
        for (name, volume) in locals {
            let Some(copy) = journal.stored.get(&name) else {
                continue;
            };
            if !journal.is_stored(&name) || self.stop.load(Relaxed) {
                continue;
            }
            let store = S3Store::open(&copy.store).map_err(ShipError::Store)?;
            let length = store.length(&name).map_err(ShipError::Store)?;
            if length == Some(volume.size()) {
                remove(&volume.path)?;
            } else {
                let problem =
                    format!("{name} is not there with the right length; the local file is kept");
                return Err(ShipError::Store(store.error(problem, Some(404))));
            }
        }
        Ok(())
    }
}

fn remove(path: &Path) -> Result<(), VolumeError> {
    std::fs::remove_file(path).map_err(|source| VolumeError::from_io(path, source))
}

fn ship_error(error: UploadError, path: &Path) -> ShipError {
    match error {
        UploadError::File(source) => ShipError::Local(VolumeError::from_io(path, source)),
        UploadError::Store(error) => ShipError::Store(error),
        UploadError::Stopped => ShipError::Stopped,
    }
}
