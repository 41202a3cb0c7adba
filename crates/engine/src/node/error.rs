//! Errors that prevent or end a crawl.

use aranha_fetch::FetchSetupError;
use aranha_frontier::FrontierError;
use aranha_volume::VolumeError;

use crate::blocking::blacklist_watch::BlacklistWatchError;
use crate::config::ConfigError;

/// An error that prevents or ends a crawl. Failures of web servers are outcomes of pages, not errors.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The frontier could not be opened or used.
    #[error(transparent)]
    Frontier(#[from] FrontierError),
    /// The archive could not be opened or closed.
    #[error(transparent)]
    Volume(#[from] VolumeError),
    /// The fetcher could not be set up.
    #[error(transparent)]
    Fetch(#[from] FetchSetupError),
    /// The configuration is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The black list of the collection is invalid or cannot be read.
    #[error(transparent)]
    Blacklist(#[from] BlacklistWatchError),
    /// A file of the collection could not be written.
    #[error("{path}: {source}")]
    File {
        /// Path of the file.
        path: String,
        /// Error of the operating system.
        source: std::io::Error,
    },
}
