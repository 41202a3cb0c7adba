//! Events about the places of volumes that the operator should know about during a crawl.

use std::path::PathBuf;

/// An event of an archive that is open for writing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArchiveEvent {
    /// A folder is full or fails. New volumes go to the other folders.
    FolderLeft {
        /// The folder.
        folder: PathBuf,
        /// The error.
        problem: String,
    },
    /// An object store does not accept volumes. The volumes wait, or go to another store.
    StoreDown {
        /// Address of the store.
        store: String,
        /// The error.
        problem: String,
    },
    /// An object store accepts volumes again.
    StoreUp {
        /// Address of the store.
        store: String,
        /// Duration of the outage in seconds.
        seconds: u64,
    },
    /// A volume cannot be uploaded because of a local error.
    UploadsFailed {
        /// The error.
        problem: String,
    },
}
