//! Files below one folder, written whole or not at all, and never through a symbolic link.
//!
//! Every folder below the first is opened by its name in the one above it, without following links (`openat`), so that
//! nothing that lies there, or is put there meanwhile, leads out. A file is written under a temporary name and renamed.
//! The folder is locked: one export at a time.

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::complaint::Complaint;

/// Where a file is until it is whole. No page has this name.
const PART: &str = ".aranha.part";

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// A folder that files are written to.
#[derive(Debug)]
pub(crate) struct Tree {
    path: PathBuf,
    root: File,
}

impl Tree {
    /// Opens the folder `name` in `parent`; makes both as needed. `parent` is what the user typed, and may be a link.
    pub(crate) fn open(parent: &Path, name: &str) -> Result<Self, Complaint> {
        let path = parent.join(name);
        std::fs::create_dir_all(parent).map_err(|error| refused(parent, &error))?;
        let flags = FOLDER.difference(OFlags::NOFOLLOW);
        let above = rustix::fs::openat(CWD, parent, flags, Mode::empty())
            .map_err(|error| refused(parent, &error.into()))?;
        let root = enter(&above, name).map_err(|error| refused(&path, &error.into()))?;
        let root = File::from(root);
        match root.try_lock() {
            Ok(()) => Ok(Self { path, root }),
            Err(TryLockError::WouldBlock) => Err(Complaint::failed(format!(
                "another export is writing to {}",
                path.display()
            ))
            .hint("wait for its end, or name another folder")),
            Err(TryLockError::Error(error)) => Err(refused(&path, &error)),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file; `name` is made of components separated by `/`. False when it was there already, byte for byte.
    pub(crate) fn write(&self, name: &str, bytes: &[u8], time_ms: i64) -> Result<bool, Complaint> {
        self.put(name, bytes, time_ms)
            .map_err(|error| refused(&self.path.join(name), &error))
    }

    fn put(&self, name: &str, bytes: &[u8], time_ms: i64) -> io::Result<bool> {
        let (folders, file) = name.rsplit_once('/').unwrap_or(("", name));
        let mut folder = None;
        for part in folders.split('/').filter(|part| !part.is_empty()) {
            folder = Some(match &folder {
                None => enter(&self.root, part)?,
                Some(above) => enter(above, part)?,
            });
        }
        let root = self.root.try_clone()?;
        let folder = folder.unwrap_or_else(|| root.into());
        if holds(&folder, file, bytes) {
            return Ok(false);
        }
        // What a killed export left, or somebody else put there.
        match rustix::fs::unlinkat(&self.root, PART, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o666);
        let mut part = File::from(rustix::fs::openat(&self.root, PART, flags, mode)?);
        part.write_all(bytes)?;
        let time = Duration::from_millis(time_ms.try_into().unwrap_or_default());
        part.set_modified(SystemTime::UNIX_EPOCH + time)?;
        rustix::fs::renameat(&self.root, PART, &folder, file)?;
        Ok(true)
    }
}

/// Opens a folder in another one; makes it when it is not there.
fn enter(above: impl std::os::fd::AsFd + Copy, name: &str) -> Result<OwnedFd, Errno> {
    match rustix::fs::openat(above, name, FOLDER, Mode::empty()) {
        Err(Errno::NOENT) => {}
        // The page of an earlier export, which has another name now that there are pages below it.
        Err(Errno::NOTDIR) if is_file(above, name)? => {
            rustix::fs::unlinkat(above, name, AtFlags::empty())?;
        }
        other => return other,
    }
    match rustix::fs::mkdirat(above, name, Mode::from_raw_mode(0o777)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error),
    }
    rustix::fs::openat(above, name, FOLDER, Mode::empty())
}

fn is_file(folder: impl std::os::fd::AsFd, name: &str) -> Result<bool, Errno> {
    let found = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(FileType::from_raw_mode(found.st_mode) == FileType::RegularFile)
}

/// Whether the file is there and holds just this.
fn holds(folder: &OwnedFd, name: &str, bytes: &[u8]) -> bool {
    // Not blocking: a pipe in the place of the file would wait for a writer.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let Ok(file) = rustix::fs::openat(folder, name, flags, Mode::empty()) else {
        return false;
    };
    let mut file = File::from(file);
    let Ok(about) = file.metadata() else {
        return false;
    };
    if !about.is_file() || about.len() != bytes.len() as u64 {
        return false;
    }
    let (mut rest, mut buffer) = (bytes, vec![0; 1 << 16]);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return rest.is_empty(),
            Ok(length) if rest.starts_with(&buffer[..length]) => rest = &rest[length..],
            _ => return false,
        }
    }
}

fn refused(path: &Path, error: &io::Error) -> Complaint {
    let name = path.display();
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            Complaint::stopped(format!("cannot write {name}: the disk is full"))
                .hint("make room, then run the same command again")
        }
        kind if matches!(
            kind,
            ErrorKind::NotADirectory
                | ErrorKind::IsADirectory
                | ErrorKind::AlreadyExists
                | ErrorKind::DirectoryNotEmpty
        ) || Errno::from_io_error(error) == Some(Errno::LOOP) =>
        {
            Complaint::failed(format!(
                "cannot write {name}: a link, a file or a folder that is not the mirror's is in the way"
            ))
            .hint("symbolic links are not followed: move it away, or name an empty folder")
        }
        _ => Complaint::failed(format!("cannot write {name}: {error}"))
            .hint("choose a folder that you may write to"),
    }
}
