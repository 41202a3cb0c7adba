//! Large bodies in temporary files: a body that does not fit into its share of memory continues in a file.
//!
//! The first part of the body stays in memory, because the page is read from it. The file has the whole body as
//! received. It has no name (`O_TMPFILE`), so the kernel removes it when its last user drops it, also after a crash.
//!
//! Writing and hashing happen on tokio's blocking threads, one block at a time.

use std::{
    fs::File,
    io::{self, Write as _},
    path::Path,
    sync::Arc,
};

use bytes::Bytes;
use sha1::{Digest as _, Sha1};

/// A body in a temporary file, as received, with its transfer coding.
#[derive(Clone, Debug)]
pub struct SpooledBody {
    /// The file. It has the bytes of the body and nothing else.
    pub file: Arc<File>,
    /// The length of the body as received.
    pub length: u64,
    /// The length of the body without transfer coding.
    pub payload_length: u64,
    /// The SHA-1 digest of the body without transfer coding.
    pub payload_digest: [u8; 20],
}

/// A body that is being written.
#[derive(Debug)]
pub(crate) struct Spool {
    /// `None` after a failed write.
    state: Option<SpoolState>,
    length: u64,
}

#[derive(Debug)]
struct SpoolState {
    file: File,
    digest: Sha1,
    payload_length: u64,
}

/// Bytes of a body to append.
#[derive(Debug)]
pub(crate) struct SpoolBlock {
    /// The bytes as received.
    pub(crate) wire: Bytes,
    /// The same bytes without transfer coding; `None` if there is no transfer coding.
    pub(crate) payload: Option<Bytes>,
}

impl Spool {
    pub(crate) async fn create(folder: &Path) -> io::Result<Spool> {
        let folder = folder.to_owned();
        let file = blocking(move || tempfile::tempfile_in(folder)).await?;
        Ok(Spool {
            state: Some(SpoolState {
                file,
                digest: Sha1::new(),
                payload_length: 0,
            }),
            length: 0,
        })
    }

    pub(crate) async fn append(&mut self, block: SpoolBlock) -> io::Result<()> {
        let mut state = self.state.take().ok_or(io::ErrorKind::BrokenPipe)?;
        self.length += block.wire.len() as u64;
        let written = blocking(move || {
            state.file.write_all(&block.wire)?;
            let payload = block.payload.as_ref().unwrap_or(&block.wire);
            state.digest.update(payload);
            state.payload_length += payload.len() as u64;
            Ok(state)
        });
        self.state = Some(written.await?);
        Ok(())
    }

    /// The number of bytes written.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// The written body; `None` after a failed write.
    pub(crate) fn finish(self) -> Option<SpooledBody> {
        let state = self.state?;
        Some(SpooledBody {
            file: Arc::new(state.file),
            length: self.length,
            payload_length: state.payload_length,
            payload_digest: state.digest.finalize().into(),
        })
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(io::Error::other)?
}
