//! The thread that finishes full volumes. It writes the index of a volume, adds the digests to the duplicate index, and
//! gives the volume its final name. Meanwhile the writer thread writes the next volume.
//!
//! Renaming is the last step. If a crash happens before the renaming, the volume still has the suffix `.open`, and
//! [`crate::repair`] repeats all steps.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use crate::duplicates::DuplicateIndex;
use crate::files::disk::{self, Disk, OutputFile};
use crate::index::entry::{self, IndexEntry};
use crate::ship::thread::ShipSignal;
use crate::write::state::WriteState;
use crate::{VolumeError, VolumeId};

/// A volume that is complete and durable, but still has the suffix `.open`.
#[derive(Debug)]
pub(crate) struct WrittenVolume {
    pub(crate) id: VolumeId,
    /// Final name.
    pub(crate) name: String,
    /// Current path.
    pub(crate) path: PathBuf,
    pub(crate) entries: Vec<IndexEntry>,
}

/// Finishes volumes.
#[derive(Debug, Clone)]
pub(crate) struct Finisher {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) indexes: PathBuf,
    pub(crate) duplicates: Arc<DuplicateIndex>,
}

impl Finisher {
    /// Runs until the writer thread has ended.
    pub(crate) fn run(
        &self,
        state: &WriteState,
        volumes: &Receiver<WrittenVolume>,
        signal: &ShipSignal,
    ) {
        for volume in volumes {
            if let Err(error) = self.finish(&volume) {
                // This is logged only at level info, because `Archive::close` returns the error.
                tracing::info!(volume = %volume.name, %error, "volume could not be finished");
                state.fail(error);
            }
            signal.volume_finished();
        }
    }

    /// Writes the index and the digest segment, then renames the volume. Returns its final path.
    pub(crate) fn finish(&self, volume: &WrittenVolume) -> Result<PathBuf, VolumeError> {
        self.write_index(volume)?;
        self.add_digests(volume)?;
        let final_path = volume
            .path
            .parent()
            .unwrap_or(Path::new("."))
            .join(&volume.name);
        self.disk
            .rename(&volume.path, &final_path)
            .map_err(|source| VolumeError::from_io(&final_path, source))?;
        tracing::info!(volume = %volume.name, records = volume.entries.len(), "volume finished");
        Ok(final_path)
    }
}

impl Finisher {
    /// Writes the index of a volume.
    pub(crate) fn write_index(&self, volume: &WrittenVolume) -> Result<(), VolumeError> {
        let path = self.indexes.join(entry::file_name(&volume.name));
        disk::write_atomically(&*self.disk, &path, |output| write_index(output, volume))
    }

    /// Writes the digest segment of a volume.
    pub(crate) fn add_digests(&self, volume: &WrittenVolume) -> Result<(), VolumeError> {
        self.duplicates
            .add_volume(&*self.disk, volume.id, &volume.entries)
    }
}

fn write_index(output: &dyn OutputFile, volume: &WrittenVolume) -> io::Result<()> {
    const BLOCK_SIZE: usize = 1 << 20;
    let mut block = Vec::with_capacity(BLOCK_SIZE + 4096);
    for line in entry::lines(&volume.entries, &volume.name) {
        block.extend_from_slice(line.as_bytes());
        if block.len() >= BLOCK_SIZE {
            output.append(&block)?;
            block.clear();
        }
    }
    output.append(&block)
}
