//! The writing side's handle.

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::sync::oneshot;

use crate::{Exchange, Options, Repairs, Stored, VolumeError};

/// The archive of one collection, open for writing. A handle: clones write to the same files.
#[derive(Debug, Clone)]
pub struct Archive {}

impl Archive {
    /// Opens `archive/` and `indexes/` under `dir`, creating them as needed.
    ///
    /// Files left `.open` by a crash are repaired first: cut to the last whole record, indexed, closed.
    pub fn open(dir: &Path, options: Options) -> Result<(Self, Repairs), VolumeError> {
        let _ = (dir, options);
        Err(VolumeError::Closed)
    }

    /// Queues an exchange; waits only while the queue is full. The receipt resolves when the records are written,
    /// which is not yet durable: see [`Archive::sync`].
    pub async fn append(&self, exchange: Exchange) -> Result<Receipt, VolumeError> {
        let _ = exchange;
        Err(VolumeError::Closed)
    }

    /// Everything whose receipt had resolved before this call is on the disk when it returns.
    pub async fn sync(&self) -> Result<(), VolumeError> {
        Err(VolumeError::Closed)
    }

    /// Writes what is queued, closes the file, indexes it. Later appends fail with [`VolumeError::Closed`].
    pub async fn close(&self) -> Result<(), VolumeError> {
        Err(VolumeError::Closed)
    }
}

/// Resolves when the exchange has been written. May be dropped: the exchange is written all the same.
#[derive(Debug)]
#[must_use = "the exchange is known to be written only when the receipt has resolved"]
pub struct Receipt(oneshot::Receiver<Result<Stored, VolumeError>>);

impl Future for Receipt {
    type Output = Result<Stored, VolumeError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map(|answer| answer.unwrap_or(Err(VolumeError::Closed)))
    }
}
