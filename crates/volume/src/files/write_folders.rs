//! The local folders to which new volumes are written. Each volume goes to the folder with the most free space. A
//! folder that is full or fails is not used again until the archive is next opened. No volume is moved.

use std::path::{Path, PathBuf};

use tokio::sync::mpsc::UnboundedSender;

use crate::VolumeError;
use crate::files::disk::Disk;
use crate::files::store_journal::{JournalLine, StoreJournal};
use crate::write::event::ArchiveEvent;

/// The folders that can be used.
#[derive(Debug)]
pub(crate) struct WriteFolders {
    archive: PathBuf,
    folders: Vec<PathBuf>,
    /// Folders that could not be used from the start.
    unusable: Vec<PathBuf>,
    events: UnboundedSender<ArchiveEvent>,
}

impl WriteFolders {
    /// Prepares the folders. If none is configured, volumes are written to `archive/`. Fails if none of the configured
    /// folders can be used.
    pub(crate) fn open(
        archive: &Path,
        folders: &[PathBuf],
        events: UnboundedSender<ArchiveEvent>,
    ) -> Result<Self, VolumeError> {
        let mut usable = Self {
            archive: archive.to_path_buf(),
            folders: Vec::new(),
            unusable: Vec::new(),
            events,
        };
        if folders.is_empty() {
            usable.folders.push(archive.to_path_buf());
            return Ok(usable);
        }
        let mut journal = StoreJournal::read(archive)?;
        let mut first = None;
        for folder in folders {
            match journal.claim_folder(folder) {
                Ok(()) => usable.folders.push(folder.clone()),
                Err(problem) => {
                    usable.report(folder, &problem);
                    usable.unusable.push(folder.clone());
                    first.get_or_insert((folder, problem));
                }
            }
        }
        match first {
            Some((folder, problem)) if usable.folders.is_empty() => Err(VolumeError::Folder {
                path: folder.clone(),
                problem,
            }),
            _ => Ok(usable),
        }
    }

    /// The folders that could not be used from the start.
    pub(crate) fn unusable(&self) -> &[PathBuf] {
        &self.unusable
    }

    /// The folder for the next volume. There is always one, because the last usable folder is never given up.
    pub(crate) fn next(&self, disk: &dyn Disk) -> PathBuf {
        match &self.folders[..] {
            [only] => only.clone(),
            several => {
                let free = |folder: &&PathBuf| disk.free_space(folder).unwrap_or(0);
                let most = several.iter().rev().max_by_key(free);
                most.expect("there is a folder").clone()
            }
        }
    }

    /// Records that a volume was begun in a folder outside the collection, so that the number of the volume is not used
    /// again, even if that folder cannot be read at the next start.
    pub(crate) fn record(&self, folder: &Path, volume: &str) -> Result<(), VolumeError> {
        if folder == self.archive {
            return Ok(());
        }
        let volume = volume.to_owned();
        StoreJournal::read(&self.archive)?.append(JournalLine::Created { volume })
    }

    /// Gives up a folder after an error. If it is the last usable folder, keeps it and returns false.
    pub(crate) fn leave(&mut self, folder: &Path, error: &VolumeError) -> bool {
        if self.folders.len() < 2 || !self.folders.iter().any(|known| known == folder) {
            return false;
        }
        self.folders.retain(|known| known != folder);
        self.report(folder, &error.to_string());
        true
    }

    fn report(&self, folder: &Path, problem: &str) {
        tracing::info!(folder = %folder.display(), problem, "folder for volumes left");
        let _ = self.events.send(ArchiveEvent::FolderLeft {
            folder: folder.to_path_buf(),
            problem: problem.to_owned(),
        });
    }
}
