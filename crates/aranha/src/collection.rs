//! Which collection a command works on.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use aranha_engine::Collection as Folder;
use clap::Args;

use crate::complaint::Complaint;

/// What `--help` says of the folder where a command makes it ([`clap::Command::mut_arg`]).
pub(crate) const MADE: &str = "The collection's folder; made when it does not exist";

/// `-c/--collection`, the same for every command that has one.
#[derive(Args, Clone, Debug)]
pub(crate) struct Collection {
    /// The collection's folder
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

/// Makes the folder of a collection and what must be in it, or says why that cannot be.
pub(crate) fn create(path: &Path) -> Result<Folder, Complaint> {
    let folder = Folder::at(path);
    let name = path.display();
    folder.create().map_err(|error| match error.kind() {
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => Complaint::failed(format!(
            "cannot make the collection {name}: a file is in the way"
        ))
        .hint("name a folder with -c, or move the file away"),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Complaint::stopped(format!(
            "cannot make the collection {name}: the disk is full"
        ))
        .hint("make room, then run the same command again"),
        _ => Complaint::failed(format!("cannot make the collection {name}: {error}"))
            .hint("choose a folder that you may write to with -c"),
    })?;
    Ok(folder)
}
