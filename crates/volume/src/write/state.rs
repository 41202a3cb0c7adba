//! What the handle, the workers, the writer and the finisher have in common: the first failure, and the file that
//! `sync` must reach.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use crate::VolumeError;
use crate::files::disk::OutputFile;

/// The state of an archive that is being written.
#[derive(Debug, Default)]
pub(crate) struct WriteState {
    /// The first failure. Nothing is appended after it.
    failure: OnceLock<VolumeError>,
    /// The first failure to make bytes durable. After it no `sync` can succeed: the kernel may have dropped them, and tells
    /// so only once. Held while the disk is waited for, so that nobody asks it in between.
    lost: Mutex<Option<VolumeError>>,
    /// The file being written. Those before it are durable.
    current: Mutex<Option<(PathBuf, Arc<dyn OutputFile>)>>,
}

impl WriteState {
    /// An error when appending has failed before.
    pub(crate) fn alive(&self) -> Result<(), VolumeError> {
        self.failure
            .get()
            .map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Keeps the first failure and returns it.
    pub(crate) fn fail(&self, error: VolumeError) -> VolumeError {
        let first = || {
            tracing::info!(%error, "archive failed; nothing more is appended");
            error
        };
        self.failure.get_or_init(first).clone()
    }

    pub(crate) fn set_current(&self, current: Option<(PathBuf, Arc<dyn OutputFile>)>) {
        *self.current.lock().expect("no panic while held") = current;
    }

    /// Makes durable what was written to the current file. Works after the disk has filled up, too: what was
    /// written before then is whole.
    pub(crate) fn sync(&self) -> Result<(), VolumeError> {
        let current = self.current.lock().expect("no panic while held").clone();
        match current {
            Some((path, output)) => self.sync_output(&path, &*output),
            None => self.lost().clone().map_or(Ok(()), Err),
        }
    }

    /// Makes durable what was written to this file, unless that failed once: the second answer would be a lie.
    pub(crate) fn sync_output(
        &self,
        path: &Path,
        output: &dyn OutputFile,
    ) -> Result<(), VolumeError> {
        let mut lost = self.lost();
        if let Some(error) = &*lost {
            return Err(error.clone());
        }
        output.sync().map_err(|source| {
            let error = VolumeError::from_io(path, source);
            self.fail(error.clone());
            lost.insert(error).clone()
        })
    }

    fn lost(&self) -> MutexGuard<'_, Option<VolumeError>> {
        self.lost.lock().expect("no panic while held")
    }
}
