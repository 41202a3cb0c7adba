//! Writes files below one folder. A file is written completely or not at all, and never through a symbolic link.
//!
//! Each subfolder is opened relative to its parent without following symbolic links (`openat`, `O_NOFOLLOW`). So no
//! link leads outside the folder, even if it is created during the export. A file is written under a temporary name and
//! then renamed. The folder is locked, so that only one export writes to it.

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::error::{CommandError, FREE_DISK_SPACE};

/// Temporary name of a file that is being written. No page gets this name.
const PART: &str = ".aranha.part";

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// The output folder.
#[derive(Debug)]
pub(crate) struct OutputTree {
    path: PathBuf,
    root: File,
}

impl OutputTree {
    /// Opens the folder `name` in `parent`. Creates both if they are missing. The user has typed `parent`, so it may be
    /// a symbolic link.
    pub(crate) fn open(parent: &Path, name: &str) -> Result<Self, CommandError> {
        let path = parent.join(name);
        std::fs::create_dir_all(parent).map_err(|error| write_error(parent, &error))?;
        let flags = FOLDER.difference(OFlags::NOFOLLOW);
        let above = rustix::fs::openat(CWD, parent, flags, Mode::empty())
            .map_err(|error| write_error(parent, &error.into()))?;
        let root = enter(&above, name).map_err(|error| write_error(&path, &error.into()))?;
        let root = File::from(root);
        match root.try_lock() {
            Ok(()) => Ok(Self { path, root }),
            Err(TryLockError::WouldBlock) => Err(CommandError::failed(format!(
                "another export is writing to {}",
                path.display()
            ))
            .hint("wait until it has finished, or name another folder")),
            Err(TryLockError::Error(error)) => Err(write_error(&path, &error)),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file. The components of `name` are separated by `/`. Returns false if the file already had this
    /// content.
    pub(crate) fn write(
        &self,
        name: &str,
        bytes: &[u8],
        time_ms: i64,
    ) -> Result<bool, CommandError> {
        let is_same = |folder: &OwnedFd, file: &str| has_content(folder, file, bytes);
        self.put(name, time_ms, is_same, |part| part.write_all(bytes))
            .map_err(|error| write_error(&self.path.join(name), &error))
    }

    /// Writes a file whose content is too large for memory: `fill` writes the content. Replaces an existing file.
    pub(crate) fn write_large(
        &self,
        name: &str,
        time_ms: i64,
        fill: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<(), CommandError> {
        self.put(name, time_ms, |_, _| false, fill)
            .map_err(|error| write_error(&self.path.join(name), &error))?;
        Ok(())
    }

    fn put(
        &self,
        name: &str,
        time_ms: i64,
        is_same: impl FnOnce(&OwnedFd, &str) -> bool,
        fill: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<bool> {
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
        if is_same(&folder, file) {
            return Ok(false);
        }
        // Remove the temporary file of a killed export.
        match rustix::fs::unlinkat(&self.root, PART, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o666);
        let mut part = File::from(rustix::fs::openat(&self.root, PART, flags, mode)?);
        fill(&mut part)?;
        let time = Duration::from_millis(time_ms.try_into().unwrap_or_default());
        part.set_modified(SystemTime::UNIX_EPOCH + time)?;
        rustix::fs::renameat(&self.root, PART, &folder, file)?;
        Ok(true)
    }
}

/// Opens a subfolder. Creates it if it is missing.
fn enter(above: impl std::os::fd::AsFd + Copy, name: &str) -> Result<OwnedFd, Errno> {
    match rustix::fs::openat(above, name, FOLDER, Mode::empty()) {
        Err(Errno::NOENT) => {}
        // An earlier export wrote a page to this file. This export needs the name for a folder, so the file is removed.
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

/// Whether the file exists with exactly this content.
fn has_content(folder: &OwnedFd, name: &str, bytes: &[u8]) -> bool {
    // `NONBLOCK`, because otherwise the opening of a named pipe would wait for a writer.
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

fn write_error(path: &Path, error: &io::Error) -> CommandError {
    let name = path.display();
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            CommandError::stopped(format!("cannot write {name}: the disk is full"))
                .hint(FREE_DISK_SPACE)
        }
        kind if matches!(
            kind,
            ErrorKind::NotADirectory
                | ErrorKind::IsADirectory
                | ErrorKind::AlreadyExists
                | ErrorKind::DirectoryNotEmpty
        ) || Errno::from_io_error(error) == Some(Errno::LOOP) =>
        {
            let problem = match kind {
                ErrorKind::IsADirectory => "it is a folder",
                ErrorKind::DirectoryNotEmpty => "the folder is not empty",
                ErrorKind::AlreadyExists => "it exists and is not a folder",
                _ => "a file or a symbolic link is in the place of a folder",
            };
            CommandError::failed(format!("cannot write to `{name}`: {problem}"))
                .hint("name a new folder, or the folder of an earlier export; symbolic links inside it are not followed")
        }
        _ => CommandError::failed(format!("cannot write {name}: {error}"))
            .hint("choose a folder that you are allowed to write to"),
    }
}
