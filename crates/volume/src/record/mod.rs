//! The parts of a WARC record: header fields, digests, the HTTP message in its block.

pub(crate) mod content_coding;
pub(crate) mod digest;
pub(crate) mod escape;
pub(crate) mod fields;
pub(crate) mod header;
pub(crate) mod http;
pub(crate) mod id;
pub(crate) mod parsed;
pub(crate) mod payload;
pub(crate) mod revisit;
#[cfg(target_arch = "x86_64")]
mod sha1_pair;
