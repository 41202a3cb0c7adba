//! Fetch: from a canonical URL to the server's bytes. The only crate that opens sockets to the web.
//!
//! ```text
//! Web::resolve ─► guard ─► Web::fetch ─► connect (guard again) ─► exchange ─► decode ─► Fetched
//!   dns               request head, cookies    tcp, tls            head, body
//! ```
//!
//! A [`Web`] is shared by all visits: options, DNS cache, TLS sessions, address guard. A [`Session`] belongs to
//! one visit and holds its kept-alive connection. [`Web::fetch`] never fails: what the web does is data, and every
//! fetch ends within [`Options::total_timeout`] in a [`Fetched`] whose result is an [`Answer`] or one [`Failure`]
//! out of a closed list.
//!
//! What always holds:
//! - **No socket is opened to an address that the guard has not passed**, whatever name led to it: the check sits
//!   inside the one function that connects (`connect.rs`). A proxy that the user has named is the one exception.
//! - **The bytes kept are the server's**, chunk borders and odd spellings included; what was understood of them
//!   stands beside them.
//! - **Redirects are not followed here**: the caller reads `Location` as a link.
//!
//! Time and the network are parameters: [`Web::simulated`] puts a [`Simulation`] in the place of name servers and sockets.
//!
//! Read first: `web.rs` (the order of things), then `exchange.rs` (one request, one answer).

mod answer;
mod chunks;
mod clock;
mod connect;
mod cookies;
#[cfg(test)]
#[expect(unreachable_pub, reason = "shared by the tests of all crates")]
#[path = "../../../tests/cost.rs"]
mod cost;
mod date;
mod decode;
mod dns;
mod exchange;
mod failure;
mod framing;
mod guard;
mod head;
mod headers;
mod memory;
mod network;
mod options;
mod pace;
mod range;
mod request;
mod session;
mod sockets;
mod tls;
mod web;

pub use answer::{Answer, Fetched, Remark, Timings, Truncated};
pub use cookies::Cookies;
pub use failure::{Failure, FetchSetupError};
pub use headers::Headers;
pub use network::{Reply, Simulation};
pub use options::Options;
pub use request::Request;
pub use session::Session;
pub use web::{Resolved, Web};
