//! The volumes of a collection, in `archive/`, in other folders and in object stores: listing them, opening one by its
//! identifier, finding the next free counter.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use crate::duplicates::segment::DigestSegment;
use crate::files::name::{self, OPEN};
use crate::files::store_journal::{StoreJournal, StoredCopy};
use crate::s3::client::S3Store;
use crate::s3::range::VolumeFile;
use crate::{VolumeError, VolumeId};

/// A volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Volume {
    /// The identifier in the file name.
    pub id: VolumeId,
    /// The current path, or the URL in an object store. A volume that is being written is renamed when it is closed.
    pub path: PathBuf,
    /// Whether the volume is still being written, or was being written when its process ended abnormally.
    pub open: bool,
    /// The copy in an object store, if there is no local file.
    pub(crate) stored: Option<StoredCopy>,
}

impl Volume {
    /// Whether the volume is in an object store only.
    pub fn is_remote(&self) -> bool {
        self.stored.is_some()
    }

    /// The size in bytes.
    pub fn size(&self) -> u64 {
        match &self.stored {
            Some(copy) => copy.size,
            None => std::fs::metadata(&self.path).map_or(0, |file| file.len()),
        }
    }

    fn local(path: PathBuf, id: VolumeId, open: bool) -> Self {
        Self {
            id,
            path,
            open,
            stored: None,
        }
    }

    /// The volume of this name in a store. `None` if it is not the name of a closed volume.
    fn remote(name: &str, copy: StoredCopy) -> Option<Self> {
        name::stem(name)?;
        let address = copy.store.split('?').next().unwrap_or_default();
        Some(Self {
            id: name::id(name)?,
            path: Path::new(address).join(name),
            open: false,
            stored: Some(copy),
        })
    }

    /// The file name of the volume without the suffix `.open`.
    pub fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        name.strip_suffix(OPEN).unwrap_or(&name).to_owned()
    }
}

/// The highest counter that this node has ever used, according to the names of the files. Closed volumes may have been
/// moved away. Their indexes and digest segments stay under `indexes/`, and the names of these files contain the
/// identifiers too.
pub(crate) fn last_counter(archive: &Path, indexes: &Path, node: u32) -> Result<u32, VolumeError> {
    let duplicates = indexes.join("duplicates");
    let in_archive = names(archive)?
        .into_iter()
        .filter_map(|name| name::id(&name));
    let indexed = |name: String| name.strip_suffix(".cdxj").and_then(name::id_in_stem);
    let in_indexes = names(indexes)?.into_iter().filter_map(indexed);
    let in_segments = if duplicates.exists() {
        names(&duplicates)?
    } else {
        Vec::new()
    };
    let last = |name: String| DigestSegment::range_of(&name).map(|(_, last)| last);
    let in_segments = in_segments.into_iter().filter_map(last);
    let journal = StoreJournal::read(archive)?;
    let elsewhere = journal.names().filter_map(name::id);
    let ids = in_archive
        .chain(in_indexes)
        .chain(in_segments)
        .chain(elsewhere);
    let counters = ids.filter(|id| id.node() == node).map(VolumeId::counter);
    Ok(counters.max().unwrap_or(0))
}

/// The names of the files in a folder.
fn names(folder: &Path) -> Result<Vec<String>, VolumeError> {
    let fault = |source| VolumeError::from_io(folder, source);
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        Ok(entry?.file_name().to_string_lossy().into_owned())
    };
    let entries = std::fs::read_dir(folder).map_err(fault)?;
    entries.map(name).collect::<Result<_, _>>().map_err(fault)
}

/// All volumes, closed or open, by identifier. Folders outside the collection are left out if they cannot be read now.
pub(crate) fn list(archive: &Path) -> Result<BTreeMap<VolumeId, Volume>, VolumeError> {
    list_with(archive, &StoreJournal::read(archive)?)
}

fn list_with(
    archive: &Path,
    journal: &StoreJournal,
) -> Result<BTreeMap<VolumeId, Volume>, VolumeError> {
    let mut volumes = BTreeMap::new();
    for (name, copy) in &journal.stored {
        if let Some(volume) = Volume::remote(name, copy.clone()) {
            volumes.insert(volume.id, volume);
        }
    }
    // A local file has precedence over the copy in a store.
    for folder in &journal.folders {
        if folder.is_dir() {
            add_local(folder, &mut volumes)?;
        }
    }
    add_local(archive, &mut volumes)?;
    Ok(volumes)
}

fn add_local(folder: &Path, volumes: &mut BTreeMap<VolumeId, Volume>) -> Result<(), VolumeError> {
    let fault = |source| VolumeError::from_io(folder, source);
    for entry in std::fs::read_dir(folder).map_err(fault)? {
        let path = entry.map_err(fault)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let Some(id) = name::id(&name) else {
            continue;
        };
        let open = name.ends_with(OPEN);
        if open || name::stem(&name).is_some() {
            volumes.insert(id, Volume::local(path, id, open));
        }
    }
    Ok(())
}

/// Opens volumes by identifier. If a volume is no longer at its known path, the places are listed again. A volume is
/// renamed when it is closed, and its local file can be removed after the upload to a store.
#[derive(Debug)]
pub(crate) struct VolumeFolder {
    archive: PathBuf,
    known: Mutex<BTreeMap<VolumeId, Volume>>,
}

impl VolumeFolder {
    pub(crate) fn new(archive: &Path) -> Self {
        Self {
            archive: archive.to_path_buf(),
            known: Mutex::default(),
        }
    }

    /// Opens a volume for reading.
    pub(crate) fn open(&self, id: VolumeId) -> Result<(VolumeFile, PathBuf), VolumeError> {
        let known = self.known().get(&id).cloned();
        if let Some(volume) = known
            && let Ok(file) = VolumeFile::open(&volume)
        {
            return Ok((file, volume.path));
        }
        // A second attempt is needed if the volume is renamed between the listing and the opening.
        for _ in 0..2 {
            let journal = StoreJournal::read(&self.archive)?;
            let mut volumes = list_with(&self.archive, &journal)?;
            if !volumes.contains_key(&id) {
                add_listed(&journal, &mut volumes);
            }
            let volume = volumes.get(&id).cloned();
            *self.known() = volumes;
            let volume = volume.ok_or(VolumeError::NoVolume { volume: id })?;
            match VolumeFile::open(&volume) {
                Ok(file) => return Ok((file, volume.path)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(VolumeError::from_io(&volume.path, error)),
            }
        }
        Err(VolumeError::NoVolume { volume: id })
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<VolumeId, Volume>> {
        self.known.lock().expect("lock is not poisoned")
    }
}

/// Adds the volumes that the known stores list and the journal does not name: other nodes of the crawl have uploaded
/// them. A store that does not answer adds nothing.
fn add_listed(journal: &StoreJournal, volumes: &mut BTreeMap<VolumeId, Volume>) {
    let stores: BTreeSet<&str> = journal
        .stored
        .values()
        .map(|copy| copy.store.as_str())
        .collect();
    for store in stores {
        let Ok(objects) = S3Store::open(store).and_then(|store| store.list()) else {
            continue;
        };
        for (name, size) in objects {
            let store = store.to_owned();
            if let Some(volume) = Volume::remote(&name, StoredCopy { store, size }) {
                volumes.entry(volume.id).or_insert(volume);
            }
        }
    }
}
