//! Why a crawl could not begin or go on.

use aranha_fetch::FetchSetupError;
use aranha_frontier::FrontierError;
use aranha_volume::VolumeError;

use crate::blocking::blacklist_watch::BlacklistWatchError;
use crate::config::ConfigError;

/// Why a crawl could not begin or go on: aranha's own trouble, not the web's.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The frontier could not be opened or used.
    #[error(transparent)]
    Frontier(#[from] FrontierError),
    /// The archive could not be opened or closed.
    #[error(transparent)]
    Volume(#[from] VolumeError),
    /// The network side could not be set up.
    #[error(transparent)]
    Fetch(#[from] FetchSetupError),
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The collection's own black list cannot be used.
    #[error(transparent)]
    Blacklist(#[from] BlacklistWatchError),
    /// A file of the collection could not be written.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: String,
        /// What the system says.
        source: std::io::Error,
    },
}
