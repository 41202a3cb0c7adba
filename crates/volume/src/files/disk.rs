//! The few things that the writing side asks of the file system, behind a trait, so that tests can make the disk
//! fill up or fail at any byte. The real one is [`LocalDisk`].

use std::fmt::Debug;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use crate::VolumeError;

/// Where volumes and indexes are created.
pub(crate) trait Disk: Debug + Send + Sync {
    /// Creates a file that must not exist.
    fn create(&self, path: &Path) -> io::Result<Arc<dyn OutputFile>>;
    /// Renames within a directory, replacing what has the new name, and makes that durable.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Makes the directory's entries durable.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;
}

/// A file that grows at its end.
pub(crate) trait OutputFile: Debug + Send + Sync {
    /// Appends all of it; on failure a part may have been written.
    fn append(&self, bytes: &[u8]) -> io::Result<()>;
    /// Cuts the file to this length; the next append goes there.
    fn cut(&self, length: u64) -> io::Result<()>;
    /// Returns when all that was appended is on the disk.
    fn sync(&self) -> io::Result<()>;
}

/// The local file system.
#[derive(Debug)]
pub(crate) struct LocalDisk;

impl Disk for LocalDisk {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn OutputFile>> {
        // In append mode the position needs no care after a cut.
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
}

impl OutputFile for File {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let mut file = self;
        file.write_all(bytes)
    }

    fn cut(&self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}

/// Writes a whole file so that after a crash there is either the old one or the new one.
pub(crate) fn replace(
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
        // Nothing torn stays behind on a disk that is full; failing here changes nothing.
        let _ = std::fs::remove_file(partial);
    }
    result.map_err(fault)
}

#[cfg(test)]
pub(crate) mod faulty {
    //! A disk that is full after a number of bytes, or fails to keep some, for tests.

    use std::sync::atomic::{AtomicU64, Ordering};

    use super::{Arc, Disk, LocalDisk, OutputFile, Path, io};

    #[derive(Debug, Clone)]
    pub(crate) struct FaultyDisk {
        /// Bytes that can still be written.
        pub(crate) room: Arc<AtomicU64>,
        /// Syncs of files that will fail; each is told once, like Linux does.
        pub(crate) lost: Arc<AtomicU64>,
    }

    impl FaultyDisk {
        pub(crate) fn with_room(room: u64) -> Self {
            Self {
                room: Arc::new(AtomicU64::new(room)),
                lost: Arc::default(),
            }
        }
    }

    impl Disk for FaultyDisk {
        fn create(&self, path: &Path) -> io::Result<Arc<dyn OutputFile>> {
            let inner = LocalDisk.create(path)?;
            Ok(Arc::new(FaultyFile {
                inner,
                disk: self.clone(),
            }))
        }

        fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
            LocalDisk.rename(from, to)
        }

        fn sync_directory(&self, path: &Path) -> io::Result<()> {
            LocalDisk.sync_directory(path)
        }
    }

    #[derive(Debug)]
    struct FaultyFile {
        inner: Arc<dyn OutputFile>,
        disk: FaultyDisk,
    }

    impl OutputFile for FaultyFile {
        /// Like a real disk: writes what fits, then says ENOSPC.
        fn append(&self, bytes: &[u8]) -> io::Result<()> {
            let room = self.disk.room.load(Ordering::SeqCst);
            let fits = bytes.len().min(room as usize);
            self.disk.room.store(room - fits as u64, Ordering::SeqCst);
            self.inner.append(&bytes[..fits])?;
            if fits < bytes.len() {
                Err(io::ErrorKind::StorageFull.into())
            } else {
                Ok(())
            }
        }

        fn cut(&self, length: u64) -> io::Result<()> {
            self.inner.cut(length)
        }

        fn sync(&self) -> io::Result<()> {
            let lost = &self.disk.lost;
            let less = |count: u64| count.checked_sub(1);
            match lost.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less) {
                Ok(_) => Err(io::Error::from_raw_os_error(5)), // EIO
                Err(_) => self.inner.sync(),
            }
        }
    }
}
