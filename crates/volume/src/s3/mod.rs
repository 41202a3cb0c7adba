//! Object stores with the S3 protocol: uploads of whole volumes, and reads of byte ranges.
//!
//! [`address`] parses the URL of a store and finds its endpoint. [`credentials`] reads the keys as AWS's own tools do.
//! [`client`] makes the requests, [`upload`] puts a file, and [`range`] reads a volume. The crate rusty-s3 signs the
//! requests, and ureq sends them. ureq blocks, so nothing here runs on a thread of the asynchronous crawl
//! (docs/decisions/0015-volumes-anywhere.md).

pub(crate) mod address;
pub(crate) mod client;
mod credentials;
pub(crate) mod range;
pub(crate) mod upload;
