//! What can keep a volume from being written or read. `Clone`, because one failed write fails every receipt.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::VolumeId;

/// Why the archive could not go on. After [`VolumeError::DiskFull`] or [`VolumeError::Io`] on the writing side every
/// later append fails with the same error: nothing is written after a gap.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum VolumeError {
    /// No space left (ENOSPC, EDQUOT). The file was cut back to its last whole record.
    #[error("no space left on the disk that holds {}", path.display())]
    DiskFull {
        /// The file that could not grow.
        path: PathBuf,
    },
    /// Any other failure of the file system.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory concerned.
        path: PathBuf,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// Another process writes here.
    #[error("{} is being written by another process", path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// The archive was closed before.
    #[error("the archive is closed")]
    Closed,
    /// No file with this identifier in the archive.
    #[error("no volume {volume} in the archive")]
    NoVolume {
        /// The identifier asked for.
        volume: VolumeId,
    },
    /// What lies at this place is not a whole record.
    #[error("{} at {offset}: {fault}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where in it.
        offset: u64,
        /// What is wrong there.
        fault: String,
    },
}

impl VolumeError {
    /// Sorts a failure of the file system: a full disk is told apart from everything else.
    pub(crate) fn from_io(path: &Path, source: io::Error) -> Self {
        let path = path.to_path_buf();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull { path },
            _ => Self::Io {
                path,
                source: Arc::new(source),
            },
        }
    }
}
