//! HTTP/1.1: one GET request and its response.
//!
//! `request.rs` writes the request head, with `range.rs` for its `Range` header. `exchange.rs` sends it and receives
//! the response. `head.rs`, `headers.rs`, `framing.rs` and `chunks.rs` parse the response, `content_coding.rs`
//! decompresses its body, `date.rs` parses dates in its headers, and `response.rs` has the result. `spool.rs` writes
//! very large bodies to files.

pub(crate) mod chunks;
pub(crate) mod content_coding;
pub(crate) mod date;
pub(crate) mod exchange;
mod framing;
pub(crate) mod head;
mod headers;
pub(crate) mod range;
pub(crate) mod request;
mod response;
mod spool;

pub(crate) use response::LargeParts;

pub use headers::Headers;
pub use request::FetchRequest;
pub use response::{FetchResponse, Fetched, ResponseRemark, Timings, Truncated};
pub use spool::SpooledBody;
