//! Creates the folder of a collection, or requires that it exists.

use std::io::ErrorKind;
use std::path::Path;

use aranha_engine::Collection as Folder;

use crate::error::{CommandError, FREE_DISK_SPACE};
use crate::session;

/// Creates the folder and its subfolders where they are missing.
pub(crate) fn create(path: &Path) -> Result<Folder, CommandError> {
    let folder = Folder::at(path);
    let name = path.display();
    folder.create().map_err(|error| match error.kind() {
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => CommandError::failed(format!(
            "cannot create the collection `{name}`: a file with that name exists"
        ))
        .hint("choose another folder with -c, or move the file"),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => CommandError::stopped(format!(
            "cannot create the collection `{name}`: the disk is full"
        ))
        .hint(FREE_DISK_SPACE),
        _ => CommandError::failed(format!("cannot create the collection `{name}`: {error}"))
            .hint("with -c, choose a folder that you are allowed to write to"),
    })?;
    Ok(folder)
}

/// Returns the folder of a collection, or an error if the folder is not a collection.
pub(crate) fn existing(path: &Path) -> Result<Folder, CommandError> {
    session::check_frontier(path)?;
    let folder = Folder::at(path);
    if folder.exists() {
        return Ok(folder);
    }
    Err(
        CommandError::usage(format!("`{}` is not a collection", path.display()))
            .hint("name a collection with -c"),
    )
}

/// Whether the folder contains files or folders that are not parts of a collection.
pub(crate) fn has_other_files(path: &Path) -> bool {
    /// Names that are allowed: files that a user may create before the first crawl, and the other parts of a collection
    /// without a frontier.
    const PARTS: &[&str] = &[
        "aranha.toml",
        "blacklist.txt",
        "signals.jsonl",
        "indexnow-keys.txt",
        "logs",
        "archive",
        "indexes",
        "link-rules.toml",
        "node.toml",
        "lock",
    ];
    std::fs::read_dir(path).is_ok_and(|entries| {
        entries.flatten().any(|entry| {
            let name = entry.file_name();
            !PARTS.iter().any(|part| name == *part)
        })
    })
}
