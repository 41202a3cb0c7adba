//! Fetch: from a canonical URL to the server's bytes. The only crate that opens sockets to the web.
//!
//! ```text
//! Fetcher::resolve ─► guard ─► Fetcher::fetch ─► connect (guard again) ─► exchange ─► decode ─► Fetched
//!   dns               request head, cookies    tcp, tls            head, body
//! ```
//!
//! A [`Fetcher`] is shared by all visits: options, DNS cache, TLS sessions, address guard. A [`FetchSession`] belongs to
//! one visit and holds its kept-alive connection. [`Fetcher::fetch`] never fails: what the web does is data, and every
//! fetch ends within [`Options::total_timeout`] in a [`Fetched`] whose result is an [`FetchResponse`] or one [`Failure`]
//! out of a closed list.
//!
//! What always holds:
//! - **No socket is opened to an address that the guard has not passed**, whatever name led to it: the check sits
//!   inside the one function that connects (`connect.rs`). A proxy that the user has named is the one exception.
//! - **The bytes kept are the server's**, chunk borders and odd spellings included; what was understood of them
//!   stands beside them.
//! - **Redirects are not followed here**: the caller reads `Location` as a link.
//!
//! Time and the network are parameters: [`Fetcher::simulated`] puts a [`Simulation`] in the place of name servers and sockets.
//!
//! Read first: `web.rs` (the order of things), then `exchange.rs` (one request, one answer).

mod clock;
mod connection;
mod cookies;
mod dns;
mod failure;
mod fetcher;
mod http;
mod limits;
#[cfg(test)]
#[expect(unreachable_pub, reason = "shared by the tests of all crates")]
#[path = "../../../tests/linear_time.rs"]
mod linear_time;
mod options;
mod transport;

pub use connection::FetchSession;
pub use cookies::CookieJar;
pub use failure::{Failure, FetchSetupError};
pub use fetcher::{Fetcher, Resolved};
pub use http::{FetchRequest, FetchResponse, Fetched, Headers, ResponseRemark, Timings, Truncated};
pub use options::Options;
pub use transport::{SimulatedResponse, Simulation};
