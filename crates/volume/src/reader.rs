//! The reading side: records by location, whole files, revisits followed to their originals.

use std::path::Path;

use bytes::Bytes;

use crate::{Location, VolumeError};

/// Reads the archive of a collection; works while a crawl writes it.
#[derive(Debug)]
pub struct Reader {}

impl Reader {
    /// Opens the collection's `archive/` and `indexes/` for reading.
    pub fn open(dir: &Path) -> Result<Self, VolumeError> {
        let _ = dir;
        Err(VolumeError::Closed)
    }

    /// The record at this place, as written.
    pub fn read(&self, location: Location) -> Result<Record, VolumeError> {
        let _ = location;
        Err(VolumeError::Closed)
    }

    /// The record at this place; when it is a revisit, with the body of its original.
    pub fn read_resolved(&self, location: Location) -> Result<Record, VolumeError> {
        let _ = location;
        Err(VolumeError::Closed)
    }
}

/// One WARC record.
#[derive(Debug, Clone)]
pub struct Record {}

impl Record {
    /// The value of a WARC header, by name without regard to case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let _ = name;
        None
    }

    /// `WARC-Target-URI`.
    pub fn url(&self) -> Option<&str> {
        self.header("WARC-Target-URI")
    }

    /// The HTTP head, up to and including its empty line; empty when the record holds none.
    pub fn http_head(&self) -> Bytes {
        Bytes::new()
    }

    /// The HTTP body as stored: chunks and content coding kept.
    pub fn http_body(&self) -> Bytes {
        Bytes::new()
    }

    /// The body without transfer and content coding, at most `cap` bytes. What cannot be decoded ends it.
    pub fn body_decoded(&self, cap: usize) -> Bytes {
        let _ = cap;
        Bytes::new()
    }
}
