//! The end of a volume's writing: index, duplicates, final name, in this order, so that a crash in between leaves the
//! file `.open`, and the next start does all of it again. A thread of its own does it, beside the writing of the next.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use crate::duplicates::DuplicateIndex;
use crate::files::disk::{self, Disk, OutputFile};
use crate::index::entry::{self, IndexEntry};
use crate::write::state::WriteState;
use crate::{VolumeError, VolumeId};

/// A volume that is written and durable.
#[derive(Debug)]
pub(crate) struct WrittenVolume {
    pub(crate) id: VolumeId,
    /// Its final name.
    pub(crate) name: String,
    /// Where it is now.
    pub(crate) path: PathBuf,
    pub(crate) entries: Vec<IndexEntry>,
}

/// What finishing needs.
#[derive(Debug, Clone)]
pub(crate) struct Finisher {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) indexes: PathBuf,
    pub(crate) duplicates: Arc<DuplicateIndex>,
}

impl Finisher {
    /// Runs until the writer is gone.
    pub(crate) fn run(&self, shared: &WriteState, volumes: &Receiver<WrittenVolume>) {
        for volume in volumes {
            if let Err(error) = self.finish(&volume) {
                // `Archive::close` returns the error, so the log does not repeat it at a higher level.
                tracing::info!(volume = %volume.name, %error, "volume could not be finished");
                shared.fail(error);
            }
        }
    }

    /// Writes index and duplicates, gives the final name; its path.
    pub(crate) fn finish(&self, volume: &WrittenVolume) -> Result<PathBuf, VolumeError> {
        let path = self.indexes.join(entry::file_name(&volume.name));
        disk::replace(&*self.disk, &path, |output| write_index(output, volume))?;
        self.duplicates
            .finish(&*self.disk, volume.id, &volume.entries)?;
        let last = volume
            .path
            .parent()
            .unwrap_or(Path::new("."))
            .join(&volume.name);
        self.disk
            .rename(&volume.path, &last)
            .map_err(|source| VolumeError::from_io(&last, source))?;
        tracing::info!(volume = %volume.name, records = volume.entries.len(), "volume finished");
        Ok(last)
    }
}

fn write_index(output: &dyn OutputFile, volume: &WrittenVolume) -> io::Result<()> {
    const BLOCK: usize = 1 << 20;
    let mut block = Vec::with_capacity(BLOCK + 4096);
    for line in entry::lines(&volume.entries, &volume.name) {
        block.extend_from_slice(line.as_bytes());
        if block.len() >= BLOCK {
            output.append(&block)?;
            block.clear();
        }
    }
    output.append(&block)
}
