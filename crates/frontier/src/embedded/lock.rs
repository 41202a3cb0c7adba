//! Ensures that a collection has only one writer: an advisory lock on the file `lock`, which contains the process id of
//! the writer.
//!
//! The kernel releases the lock when the process ends, so a lock file that remains after a crash does not keep the
//! collection locked.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

use crate::FrontierError;

/// The lock, released on drop.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Lock {
    /// Take the lock, or fail with the process id of its holder.
    pub(super) fn take(folder: &Path) -> Result<Lock, FrontierError> {
        let path = folder.join("lock");
        let failed = |source| FrontierError::File {
            path: path.clone(),
            source,
        };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(failed)?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            let mut text = String::new();
            let _ = file.read_to_string(&mut text);
            return Err(FrontierError::Locked {
                path: folder.to_owned(),
                pid: text.trim().parse().unwrap_or(0),
            });
        }
        file.set_len(0).map_err(failed)?;
        file.rewind().map_err(failed)?;
        writeln!(file, "{}", std::process::id()).map_err(failed)?;
        Ok(Lock { file })
    }
}

impl Drop for Lock {
    /// Closing the file would release the lock later if another thread is starting a process: until its `exec`, the new
    /// process has a copy of the open file.
    fn drop(&mut self) {
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}
