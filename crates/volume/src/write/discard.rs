//! An archive for simulations. It returns the same receipts as a real one, but discards the bytes. It has no threads
//! and no files. A sync waits for a fixed time on tokio's clock.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::record::digest::sha1;
use crate::{Exchange, Location, Stored, VolumeId};

/// Discards exchanges and returns an invented location for each.
#[derive(Debug)]
pub(crate) struct DiscardingArchive {
    /// Duration of a sync.
    sync: Duration,
    /// Number of bytes discarded so far. It is the offset of the next exchange.
    discarded: AtomicU64,
}

impl DiscardingArchive {
    pub(crate) fn new(sync: Duration) -> Self {
        Self {
            sync,
            discarded: AtomicU64::new(0),
        }
    }

    pub(crate) fn discard(&self, exchange: &Exchange) -> Stored {
        let length = exchange.response.len() as u64; // bodies are never in files in a simulation
        Stored {
            location: Location {
                volume: VolumeId::new(0, 1),
                offset: self.discarded.fetch_add(length, Relaxed),
                length: u32::try_from(length).unwrap_or(u32::MAX),
            },
            digest: sha1(&exchange.payload),
            revisit: false,
            written: length,
        }
    }

    pub(crate) async fn sync(&self) {
        tokio::time::sleep(self.sync).await;
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;
    use crate::Archive;

    #[tokio::test(start_paused = true)]
    async fn receipts_resolve_immediately_and_sync_takes_the_given_time() {
        let archive = Archive::discarding(Duration::from_millis(40));
        let start = Instant::now();
        let exchange = |body: &'static [u8]| Exchange {
            response: body.into(),
            payload: body.into(),
            ..Exchange::default()
        };
        let first = archive.append(exchange(b"one")).await.unwrap();
        let second = archive.append(exchange(b"two!")).await.unwrap();
        let (first, second) = (first.await.unwrap(), second.await.unwrap());
        assert_eq!((first.location.offset, second.location.offset), (0, 3));
        assert_eq!(second.digest, sha1(b"two!"));
        archive.sync().await.unwrap();
        archive.close().await.unwrap();
        assert_eq!(start.elapsed(), Duration::from_millis(40));
    }
}
