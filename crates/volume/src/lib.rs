//! Volumes: what was fetched, kept as WARC 1.1 files that other people's tools read.
//!
//! Last step of the flow: a visit hands an [`Exchange`] to [`Archive::append`] and gets a [`Receipt`];
//! when [`Archive::sync`] has returned, the bytes are durable and the page may be recorded in the frontier
//! (invariant 4 of DESIGN.md: a record without bytes never exists). Everything that reads a collection
//! (`aranha cat`, `text`, `check`, replay) comes in through [`Reader`] and [`check`].
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

mod archive;
mod brief;
mod coding;
mod compression;
mod date;
mod digest;
mod disk;
mod duplicates;
mod encode;
mod error;
mod escape;
mod exchange;
mod fields;
mod filter;
mod finish;
#[cfg(test)]
mod hostile;
mod http;
mod index;
mod lookup;
mod member;
mod name;
mod options;
mod payload;
mod reader;
mod record;
mod repair;
mod run;
#[cfg(test)]
mod sample;
mod shared;
mod sink;
mod value;
mod verify;
mod worker;
mod writer;

pub use archive::{Archive, Receipt};
pub use compression::Compression;
pub use digest::digests;
pub use error::VolumeError;
pub use exchange::{Earlier, Exchange, Location, Stored};
pub use fields::Fields;
pub use name::Volume;
pub use options::Options;
pub use reader::{Reader, Records};
pub use record::Record;
pub use repair::{Mended, Repairs};
pub use verify::{CheckReport, Fault, Progress, check};
