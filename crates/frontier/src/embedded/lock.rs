//! One writer a collection: an advisory lock on `DIR/lock`, with the holder's process number inside.
//!
//! The kernel drops the lock with the process, however that ends; a file left behind by a crash locks nobody out.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

use crate::FrontierError;

/// Held as long as the engine lives.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Take it, or say who has it.
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
        Ok(Lock { _file: file })
    }
}
