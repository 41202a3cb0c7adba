//! The error type [`VolumeError`]. It is `Clone`, because after a failed write every pending receipt returns the error.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::VolumeId;

/// An operation on the archive failed. If writing fails with [`VolumeError::DiskFull`] or [`VolumeError::Io`], every
/// later append fails with the same error, so that the sequence of stored exchanges has no gap.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum VolumeError {
    /// No space left (`ENOSPC`, `EDQUOT`). The volume was truncated to its last complete exchange.
    #[error("no space left on the disk that holds {}", path.display())]
    DiskFull {
        /// The file that could not grow.
        path: PathBuf,
    },
    /// Any other error of the file system.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory on which the operation failed.
        path: PathBuf,
        /// The error of the operating system.
        source: Arc<io::Error>,
    },
    /// Another process has the archive open for writing.
    #[error("{} is being written by another process", path.display())]
    InUse {
        /// The archive's directory.
        path: PathBuf,
    },
    /// A folder for volumes cannot be used.
    #[error("the folder {} cannot be used for volumes: {problem}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Description of the problem.
        problem: String,
    },
    /// An object store could not be used.
    #[error("{store}: {problem}")]
    Store {
        /// Address of the store.
        store: String,
        /// Description of the problem.
        problem: String,
    },
    /// The archive was closed, or one of its threads panicked.
    #[error("the archive is closed")]
    Closed,
    /// The archive has no volume with this identifier.
    #[error("no volume {volume} in the archive")]
    NoVolume {
        /// The requested identifier.
        volume: VolumeId,
    },
    /// There is no complete, valid record at this offset.
    #[error("{}, offset {offset}: {fault}", path.display())]
    Damaged {
        /// The volume.
        path: PathBuf,
        /// Offset in the volume.
        offset: u64,
        /// The problem found there.
        fault: String,
    },
}

impl VolumeError {
    /// Classifies an error of the file system as a full disk or as any other error.
    pub fn from_io(path: &Path, source: io::Error) -> Self {
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
