//! State shared by the handle, the workers, the writer and the finisher: the first failure, and the open volume that
//! `sync` makes durable.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use crate::VolumeError;
use crate::files::disk::OutputFile;

/// State of an archive that is open for writing.
#[derive(Debug, Default)]
pub(crate) struct WriteState {
    /// The first error of any thread. After it, nothing more is appended.
    failure: OnceLock<VolumeError>,
    /// The error of the first failed sync. After that error no sync may report success, because the kernel may have
    /// dropped the bytes and reports the loss only once. The lock is held during a sync, so that no other thread syncs
    /// before the error is recorded.
    sync_failure: Mutex<Option<VolumeError>>,
    /// The open volume. All volumes before it are durable.
    current: Mutex<Option<(PathBuf, Arc<dyn OutputFile>)>>,
}

impl WriteState {
    /// Fails with the first recorded failure, if there is one.
    pub(crate) fn ensure_not_failed(&self) -> Result<(), VolumeError> {
        self.failure
            .get()
            .map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Records a failure, unless there is one already. Returns the recorded failure.
    pub(crate) fn fail(&self, error: VolumeError) -> VolumeError {
        let first = || {
            tracing::info!(%error, "archive failed; nothing more is appended");
            error
        };
        self.failure.get_or_init(first).clone()
    }

    pub(crate) fn set_current(&self, current: Option<(PathBuf, Arc<dyn OutputFile>)>) {
        *self.current.lock().expect("lock is not poisoned") = current;
    }

    /// Makes the open volume durable. This also works when the disk is full, because the volume is then truncated after
    /// the last complete exchange.
    pub(crate) fn sync(&self) -> Result<(), VolumeError> {
        let current = self.current.lock().expect("lock is not poisoned").clone();
        match current {
            Some((path, output)) => self.sync_output(&path, &*output),
            None => self.sync_failure().clone().map_or(Ok(()), Err),
        }
    }

    /// Makes a volume durable. After a failed sync it returns that error without syncing again, because the kernel
    /// would report success.
    pub(crate) fn sync_output(
        &self,
        path: &Path,
        output: &dyn OutputFile,
    ) -> Result<(), VolumeError> {
        let mut failure = self.sync_failure();
        if let Some(error) = &*failure {
            return Err(error.clone());
        }
        output.sync().map_err(|source| {
            let error = VolumeError::from_io(path, source);
            self.fail(error.clone());
            failure.insert(error).clone()
        })
    }

    fn sync_failure(&self) -> MutexGuard<'_, Option<VolumeError>> {
        self.sync_failure.lock().expect("lock is not poisoned")
    }
}
