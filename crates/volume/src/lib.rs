//! Volumes: what was fetched, kept as WARC 1.1 files that other people's tools read.
//!
//! Last step of the flow: a visit hands an [`Exchange`] to [`Archive::append`] and gets a [`Receipt`];
//! when [`Archive::sync`] has returned, the bytes are durable and the page may be recorded in the frontier
//! (invariant 4 of DESIGN.md: a record without bytes never exists). Everything that reads a collection
//! (`aranha cat`, `text`, `check`, replay) comes in through [`ArchiveReader`] and [`check`].
//!
//! What always holds:
//! - A file under `archive/` without the suffix `.open` is whole, and never written again.
//! - A record is one gzip member or one zstd frame; the records of one exchange lie side by side, response or revisit first.
//! - A revisit record refers to a response that lies before it in the same file or in a file that was durable
//!   before this one was begun, so that no crash leaves a revisit without its original.
//! - Memory is bounded by [`Options`] and by the size at which files are rolled.
//!
//! Read first: [`Archive`], then `record` (what a record looks like), `writer` (how it reaches the disk),
//! `duplicates` (docs/decisions/0004), `repair`. Formats: ISO 28500:2017 (WARC 1.1), RFC 1952 (gzip members), RFC 8878 (zstd frames).

mod compress;
mod duplicates;
mod error;
mod exchange;
mod files;
mod index;
mod location;
mod options;
mod read;
mod record;
mod repair;
#[cfg(test)]
mod tests;
mod verify;
mod write;

pub use compress::Compression;
pub use error::VolumeError;
pub use exchange::{EarlierVersion, Exchange, Stored};
pub use files::volumes::Volume;
pub use location::{Location, VolumeId};
pub use options::Options;
pub use read::reader::{ArchiveReader, VolumeRecords};
pub use record::digest::sha1_pair;
pub use record::fields::WarcFields;
pub use record::parsed::WarcRecord;
pub use repair::{RepairedVolume, Repairs};
pub use verify::{CheckFault, CheckProgress, CheckReport, check};
pub use write::archive::{Archive, Receipt};
