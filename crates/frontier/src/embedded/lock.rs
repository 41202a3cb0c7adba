//! Ensures that a collection has only one writer: an advisory lock on the file `lock`, which contains the process id of
//! the writer.
//!
//! The kernel releases the lock when the process ends, so a lock file that remains after a crash does not keep the
//! collection locked.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use crate::FrontierError;

/// A reader that tests the lock holds it for an instant ([`Lock::holder`]). So a writer tries again a few times.
const MAX_TRIES: u32 = 10;
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// The lock, released on drop.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

impl Lock {
    /// Take the lock, or fail with the process id of its holder.
    pub(crate) fn take(folder: &Path) -> Result<Lock, FrontierError> {
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
        let mut tries = 1;
        while flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            if tries == MAX_TRIES {
                return Err(FrontierError::Locked {
                    path: folder.to_owned(),
                    pid: read_pid(&mut file),
                });
            }
            tries += 1;
            std::thread::sleep(RETRY_INTERVAL);
        }
        file.set_len(0).map_err(failed)?;
        file.rewind().map_err(failed)?;
        writeln!(file, "{}", std::process::id()).map_err(failed)?;
        Ok(Lock { file })
    }

    /// The process that holds the lock, 0 if its id is unknown. `None` if no process holds it.
    pub(crate) fn holder(folder: &Path) -> Option<u32> {
        let mut file = File::open(folder.join("lock")).ok()?;
        if flock(&file, FlockOperation::NonBlockingLockShared).is_ok() {
            let _ = flock(&file, FlockOperation::Unlock);
            return None;
        }
        Some(read_pid(&mut file))
    }
}

fn read_pid(file: &mut File) -> u32 {
    let mut text = String::new();
    let _ = file.read_to_string(&mut text);
    text.trim().parse().unwrap_or(0)
}

impl Drop for Lock {
    /// Releases the lock explicitly. Closing the file would not be enough while another thread starts a process. The
    /// new process has a copy of the open file until its `exec`, and the copy would keep the lock.
    fn drop(&mut self) {
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}
