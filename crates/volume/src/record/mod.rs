//! The parts of a WARC record.
//!
//! For writing: header fields ([`header`], [`escape`], [`id`]), digests ([`digest`], [`payload`]), warc-fields blocks
//! ([`fields`]), revisit records ([`revisit`]). For reading: the record ([`parsed`]), the HTTP message in its block
//! ([`http`]), the content coding of that message ([`content_coding`]).

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
