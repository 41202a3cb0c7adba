//! Which collection a command works on.

use std::path::PathBuf;

use clap::Args;

/// `-c/--collection`, the same for every command that has one.
#[derive(Args, Clone, Debug)]
pub(crate) struct Collection {
    /// The collection's folder; made when it does not exist
    #[arg(
        short = 'c',
        long = "collection",
        value_name = "DIR",
        default_value = "collection"
    )]
    pub(crate) folder: PathBuf,
}

impl Collection {
    /// The configuration that lies in the collection, if there is one.
    pub(crate) fn configuration(&self) -> Option<PathBuf> {
        Some(self.folder.join("aranha.toml")).filter(|path| path.exists())
    }
}
