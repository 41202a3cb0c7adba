//! Knows which volumes belong to a folder, and where the volumes of other nodes are.
//!
//! In a crawl on several machines, each folder has a number. This number is part of the name of every volume that is
//! written in the folder. If the volume of a page has the number of another folder, the page is not missing, but is
//! stored there.

use std::collections::HashSet;
use std::path::Path;

use aranha_engine::Collection as Folder;
use aranha_frontier::{FolderEntry, View};
use aranha_volume::{ArchiveReader, VolumeId};

use crate::error::CommandError;

/// The numbers of the volumes that belong to a folder.
pub(crate) struct OwnVolumes {
    numbers: HashSet<u32>,
    folders: Vec<FolderEntry>,
}

/// The current number of the folder.
fn own_number(folder: &Path) -> Option<u32> {
    let text = std::fs::read_to_string(Folder::at(folder).node_file()).ok()?;
    let number = text
        .parse::<toml::Table>()
        .ok()?
        .get("folder")?
        .as_integer()?;
    u32::try_from(number).ok()
}

impl OwnVolumes {
    /// Collects the number of this folder and the numbers of the volumes in it. Volumes of a crawl on one machine have
    /// the number 0, which belongs to every folder.
    pub(crate) fn of(folder: &Path, view: &View) -> Result<Self, CommandError> {
        let volumes = ArchiveReader::open(folder).and_then(|reader| reader.volumes());
        let volumes = volumes.unwrap_or_default();
        let numbers = volumes.iter().map(|volume| volume.id.node());
        Ok(Self {
            numbers: numbers.chain([0]).chain(own_number(folder)).collect(),
            folders: view.folders()?,
        })
    }

    /// The numbers of this folder, without that of a crawl on one machine.
    pub(crate) fn folder_numbers(&self) -> Vec<u32> {
        let numbers = self.numbers.iter().copied();
        let mut numbers: Vec<u32> = numbers.filter(|number| *number > 0).collect();
        numbers.sort_unstable();
        numbers
    }

    /// The folder with this number, if it is known.
    pub(crate) fn folder(&self, number: u32) -> Option<&FolderEntry> {
        let mut folders = self.folders.iter();
        folders.find(|folder| folder.number == number)
    }

    /// Whether the volume should be in this folder.
    pub(crate) fn contains(&self, volume: VolumeId) -> bool {
        self.numbers.contains(&volume.node())
    }

    /// The place of a volume that belongs to another folder; `None` if the volume should be in this folder.
    pub(crate) fn elsewhere(&self, volume: VolumeId) -> Option<String> {
        if self.contains(volume) {
            return None;
        }
        Some(match self.folder(volume.node()) {
            Some(folder) => format!(
                "stored by {} in volume {volume} in {}; not in this folder",
                folder.node, folder.place
            ),
            None => format!("stored in volume {volume} of another node; not in this folder"),
        })
    }
}
