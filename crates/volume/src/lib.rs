//! Volumes: fetched pages stored as WARC 1.1 files, with a CDXJ index for each file.
//!
//! Writing volumes is the last step of the flow. An [`Exchange`] that is passed to [`Archive::append`] is processed in
//! these steps:
//!
//! 1. A worker thread hashes the payload and asks the duplicate index for an earlier copy (`write/worker.rs`).
//! 2. The encoder builds the response or revisit record (`record/revisit.rs`), then the request and metadata records.
//!    It compresses each into a gzip member or zstd frame (`write/encoder.rs`, `compress/`).
//! 3. The writer thread appends them to the open volume and resolves the [`Receipt`] (`write/writer.rs`).
//! 4. When [`Archive::sync`] returns, the bytes are durable and the frontier may record the page.
//! 5. When a volume is full, its index is written, its digests become a segment of the duplicate index, and it gets its
//!    final name (`write/finish.rs`).
//!
//! [`ArchiveReader`] reads records, also while a crawl writes. [`check`] verifies a whole archive.
//!
//! Invariants:
//! - A volume without the suffix `.open` is complete. Only `aranha forget` changes it.
//! - One record is one gzip member or zstd frame. The records of an exchange are adjacent, and the response or revisit
//!   record is the first of them.
//! - A revisit record refers to a response that comes earlier in the same file, or to a response in another file that
//!   was durable before the file of the revisit record was begun. No crash leaves a revisit record without its
//!   original.
//! - Memory is bounded by [`Options`] and by the size at which volumes are closed.
//!
//! Formats: ISO 28500:2017 (WARC 1.1), RFC 1952 (gzip members), RFC 8878 (zstd frames).
//!
//! ```
//! use aranha_volume::{Archive, ArchiveReader, Exchange, Options};
//!
//! # let folder = tempfile::tempdir()?;
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! let (archive, _repairs) = Archive::open(folder.path(), Options::default())?;
//! let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n";
//! let exchange = Exchange {
//!     url: "http://example.org/".to_owned(),
//!     response: format!("{head}hello").into(),
//!     head_length: head.len(),
//!     payload: "hello".into(),
//!     status: 200,
//!     ..Exchange::default()
//! };
//! let stored = archive.append(exchange).await?.await?;
//! archive.close().await?;
//!
//! let record = ArchiveReader::open(folder.path())?.read(stored.location)?;
//! assert_eq!(record.url(), Some("http://example.org/"));
//! assert_eq!(record.body_decoded(1 << 20), b"hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod compress;
mod duplicates;
mod error;
mod exchange;
mod files;
mod forget;
#[doc(hidden)]
pub mod fuzzing;
mod index;
mod location;
mod options;
mod read;
mod rebuild;
mod record;
mod repair;
mod s3;
mod ship;
#[cfg(test)]
mod tests;
mod verify;
mod write;

pub use compress::Compression;
pub use error::VolumeError;
pub use exchange::{EarlierVersion, Exchange, LargeBody, Stored};
pub use files::volumes::Volume;
pub use forget::{ForgetRequest, Forgotten, forget};
pub use location::{Location, VolumeId};
pub use options::{Options, check_store};
pub use read::reader::{ArchiveReader, VolumeRecords};
pub use rebuild::{MissingFiles, missing_files, rebuild_indexes};
pub use record::digest::sha1_pair;
pub use record::fields::WarcFields;
pub use record::parsed::WarcRecord;
pub use repair::{RepairedVolume, Repairs};
pub use ship::{ShipProgress, WaitingUploads, ship, waiting_uploads};
pub use verify::{CheckFault, CheckProgress, CheckReport, check};
pub use write::archive::{Archive, Receipt};
pub use write::event::ArchiveEvent;
