//! The volumes in a folder: listing them, opening one by its identifier, finding the next free counter.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::duplicates::segment::DigestSegment;
use crate::files::name::{self, OPEN};
use crate::{VolumeError, VolumeId};

/// A volume on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Volume {
    /// The identifier in the file name.
    pub id: VolumeId,
    /// The current path. A volume that is being written is renamed when it is closed.
    pub path: PathBuf,
    /// Whether the volume is still being written, or was being written when its process ended abnormally.
    pub open: bool,
}

impl Volume {
    /// The file name of the volume without the suffix `.open`.
    pub fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        name.strip_suffix(OPEN).unwrap_or(&name).to_owned()
    }
}

/// The highest counter that this node has ever used, according to the names of the files. Closed volumes may have been
/// moved away, but the names of their index and of their digest segment, which stay under `indexes/`, contain the
/// identifier too.
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
    let ids = in_archive.chain(in_indexes).chain(in_segments);
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

/// All volumes under `archive/`, closed or open, by identifier.
pub(crate) fn list(archive: &Path) -> Result<BTreeMap<VolumeId, Volume>, VolumeError> {
    let fault = |source| VolumeError::from_io(archive, source);
    let mut volumes = BTreeMap::new();
    for entry in std::fs::read_dir(archive).map_err(fault)? {
        let path = entry.map_err(fault)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let Some(id) = name::id(&name) else {
            continue;
        };
        let open = name.ends_with(OPEN);
        if open || name::stem(&name).is_some() {
            volumes.insert(id, Volume { id, path, open });
        }
    }
    Ok(volumes)
}

/// Opens volumes by identifier. If a volume is no longer at its known path, the folder is listed again, because a
/// volume is renamed when it is closed.
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
    pub(crate) fn open(&self, id: VolumeId) -> Result<(std::fs::File, PathBuf), VolumeError> {
        let known = self
            .known
            .lock()
            .expect("lock is not poisoned")
            .get(&id)
            .cloned();
        if let Some(volume) = known
            && let Ok(file) = std::fs::File::open(&volume.path)
        {
            return Ok((file, volume.path));
        }
        // A second attempt is needed if the volume is renamed between the listing and the opening.
        for _ in 0..2 {
            let volumes = list(&self.archive)?;
            let volume = volumes.get(&id).cloned();
            *self.known.lock().expect("lock is not poisoned") = volumes;
            let volume = volume.ok_or(VolumeError::NoVolume { volume: id })?;
            match std::fs::File::open(&volume.path) {
                Ok(file) => return Ok((file, volume.path)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(VolumeError::from_io(&volume.path, error)),
            }
        }
        Err(VolumeError::NoVolume { volume: id })
    }
}
