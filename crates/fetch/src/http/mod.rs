//! HTTP/1.1: one request and its response.

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
