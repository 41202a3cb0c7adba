//! HTTP/1.1: one GET request and its response.
//!
//! `exchange.rs` sends and receives; `head.rs`, `headers.rs`, `framing.rs` and `chunks.rs` parse what arrives;
//! `content_coding.rs` decompresses the body; `response.rs` is the result.

mod chunks;
pub(crate) mod content_coding;
pub(crate) mod date;
pub(crate) mod exchange;
mod framing;
mod head;
mod headers;
pub(crate) mod range;
pub(crate) mod request;
mod response;

pub use headers::Headers;
pub use request::FetchRequest;
pub use response::{FetchResponse, Fetched, ResponseRemark, Timings, Truncated};
