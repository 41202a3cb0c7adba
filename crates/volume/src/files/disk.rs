//! The file system operations for writing volumes and indexes, as a trait. [`LocalDisk`] implements it in production;
//! `FaultyDisk` implements it in tests of a full disk or a failed sync.

use std::fmt::Debug;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use crate::VolumeError;

/// The file system on which volumes and indexes are created.
pub(crate) trait Disk: Debug + Send + Sync {
    /// Creates a file. Fails if it exists.
    fn create(&self, path: &Path) -> io::Result<Arc<dyn OutputFile>>;
    /// Renames a file within its directory, replaces an existing file of the new name, and makes the rename durable.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Makes the entries of a directory durable.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;
    /// Free space of the disk that holds a directory, in bytes.
    fn free_space(&self, path: &Path) -> io::Result<u64>;
}

/// A file that is appended to.
pub(crate) trait OutputFile: Debug + Send + Sync {
    /// Appends all bytes. After an error, some of them may have been written.
    fn append(&self, bytes: &[u8]) -> io::Result<()>;
    /// Truncates the file to this length. The next append continues there.
    fn truncate(&self, length: u64) -> io::Result<()>;
    /// Returns when all appended bytes are durable.
    fn sync(&self) -> io::Result<()>;
}

/// The local file system.
#[derive(Debug)]
pub(crate) struct LocalDisk;

impl Disk for LocalDisk {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn OutputFile>> {
        // The file is opened in append mode, so that after a truncation the next write goes to the new end.
        let file = File::options().append(true).create_new(true).open(path)?;
        Ok(Arc::new(file))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)?;
        self.sync_directory(to.parent().unwrap_or(Path::new(".")))
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    fn free_space(&self, path: &Path) -> io::Result<u64> {
        let space = rustix::fs::statvfs(path)?;
        Ok(space.f_bavail.saturating_mul(space.f_frsize))
    }
}

impl OutputFile for File {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let mut file = self;
        file.write_all(bytes)
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}

/// Writes a file atomically: after a crash there is either the old file or the complete new one.
pub(crate) fn write_atomically(
    disk: &dyn Disk,
    path: &Path,
    write: impl FnOnce(&dyn OutputFile) -> io::Result<()>,
) -> Result<(), VolumeError> {
    let fault = |source| VolumeError::from_io(path, source);
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let partial = Path::new(&partial);
    match std::fs::remove_file(partial) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(fault(error)),
        _ => {}
    }
    let result = disk.create(partial).and_then(|output| {
        write(&*output)?;
        output.sync()?;
        disk.rename(partial, path)
    });
    if result.is_err() {
        // The partial file is removed, to free its space if the disk is full. If the removal fails too, only the first
        // error is reported.
        let _ = std::fs::remove_file(partial);
    }
    result.map_err(fault)
}

#[cfg(test)]
pub(crate) mod faulty {
    //! A disk for tests that is full after a number of bytes, or whose syncs fail.

    use std::path::PathBuf;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::{Arc, Disk, LocalDisk, OutputFile, Path, io};

    #[derive(Debug, Clone)]
    pub(crate) struct FaultyDisk {
        /// Number of bytes that can still be written.
        pub(crate) free: Arc<AtomicU64>,
        /// Number of file syncs that will fail. As on Linux, a failed sync is reported once, and the next sync
        /// succeeds.
        pub(crate) failing_syncs: Arc<AtomicU64>,
        /// Folders below which appends fail, each after this number of bytes.
        pub(crate) failing_folders: Arc<Mutex<Vec<(PathBuf, u64)>>>,
    }

    impl FaultyDisk {
        pub(crate) fn with_free_bytes(free: u64) -> Self {
            Self {
                free: Arc::new(AtomicU64::new(free)),
                failing_syncs: Arc::default(),
                failing_folders: Arc::default(),
            }
        }

        /// Whether nothing more can be appended below this folder.
        fn is_failing(&self, folder: &Path) -> bool {
            let failing = self.failing_folders.lock().unwrap();
            failing
                .iter()
                .any(|(path, left)| path == folder && *left == 0)
        }

        /// How many bytes of a write of `length` bytes to a file in `folder` still fit. Counts them as used.
        fn take(&self, folder: &Path, length: usize) -> usize {
            let free = self.free.load(Ordering::SeqCst);
            let mut fits = length.min(free as usize);
            let mut failing = self.failing_folders.lock().unwrap();
            if let Some((_, left)) = failing.iter_mut().find(|(path, _)| path == folder) {
                fits = fits.min(*left as usize);
                *left -= fits as u64;
            }
            self.free.store(free - fits as u64, Ordering::SeqCst);
            fits
        }
    }

    impl Disk for FaultyDisk {
        fn create(&self, path: &Path) -> io::Result<Arc<dyn OutputFile>> {
            let inner = LocalDisk.create(path)?;
            Ok(Arc::new(FaultyFile {
                inner,
                disk: self.clone(),
                folder: path.parent().unwrap_or(path).to_path_buf(),
            }))
        }

        fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
            LocalDisk.rename(from, to)
        }

        fn sync_directory(&self, path: &Path) -> io::Result<()> {
            LocalDisk.sync_directory(path)
        }

        fn free_space(&self, path: &Path) -> io::Result<u64> {
            Ok(u64::from(!self.is_failing(path)))
        }
    }

    #[derive(Debug)]
    struct FaultyFile {
        inner: Arc<dyn OutputFile>,
        disk: FaultyDisk,
        folder: PathBuf,
    }

    impl OutputFile for FaultyFile {
        /// Writes as many bytes as fit, then fails with `ENOSPC`, like a real disk.
        fn append(&self, bytes: &[u8]) -> io::Result<()> {
            let fits = self.disk.take(&self.folder, bytes.len());
            self.inner.append(&bytes[..fits])?;
            if fits < bytes.len() {
                Err(io::ErrorKind::StorageFull.into())
            } else {
                Ok(())
            }
        }

        fn truncate(&self, length: u64) -> io::Result<()> {
            self.inner.truncate(length)
        }

        fn sync(&self) -> io::Result<()> {
            let failing = &self.disk.failing_syncs;
            let decrement = |count: u64| count.checked_sub(1);
            match failing.fetch_update(Ordering::SeqCst, Ordering::SeqCst, decrement) {
                Ok(_) => Err(io::Error::from_raw_os_error(5)), // EIO
                Err(_) => self.inner.sync(),
            }
        }
    }
}
