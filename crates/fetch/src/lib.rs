//! Fetches one URL: takes a canonical URL and returns the server's bytes. No other crate opens sockets to the web.
//!
//! # One fetch, step by step
//!
//! 1. [`Fetcher::route`] chooses the proxy, if there is one (`proxy/routes.rs`), looks the host up (`dns/`), and
//!    returns only addresses that the address guard allows.
//! 2. [`Fetcher::fetch`] writes the request head (`http/request.rs`) and checks the address again.
//! 3. It takes the kept-alive connection of the [`FetchSession`]. If there is none, it opens one: TCP, then the
//!    handshake of the proxy (`proxy/`), then TLS (`connection/`).
//! 4. It sends the request and reads the response head and body (`http/exchange.rs`), within the limits on time
//!    (`limits/timeouts.rs`) and memory (`limits/memory_budget.rs`).
//! 5. It decodes the body (`http/content_coding.rs`) and returns a [`Fetched`]: a [`FetchResponse`] or one [`Failure`].
//!
//! A [`Fetcher`] is shared by all visits. It holds the options, the DNS cache, TLS sessions and the address guard.
//! A [`FetchSession`] belongs to one visit and holds its kept-alive connections.
//!
//! ```
//! use aranha_fetch::{FetchRequest, FetchSession, Fetcher, Options};
//! use aranha_url::{Blacklist, Canonicaliser, UrlRules};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let options = Options { resolvers: vec!["127.0.0.1:53".parse()?], ..Options::default() };
//! let fetcher = Fetcher::new(options, Blacklist::default())?;
//! let url = Canonicaliser::new(UrlRules::default()).canon("http://127.0.0.1/").expect("the URL is valid");
//! let request = FetchRequest::new(&url, "127.0.0.1".parse()?);
//! let fetched = fetcher.fetch(&mut FetchSession::new(), request).await;
//! let failure = fetched.result.unwrap_err();
//! assert_eq!(failure.code(), "address-refused");
//! # Ok(())
//! # }
//! ```
//!
//! # Invariants
//!
//! - **No socket is opened to an address that the address guard has not allowed**, whichever name led to it. The check
//!   is inside the only function that connects (`connection/connect.rs`). The address of a proxy is not checked,
//!   because the user configured it. `proxy/routes.rs` describes what is known of the servers behind a proxy.
//! - **The returned bytes are the server's bytes**, including chunk framing and malformed headers. The parsed values
//!   are returned beside them.
//! - **Redirects are not followed here.** The caller treats `Location` as a link.
//! - **Every fetch ends** within [`Options::total_timeout`], with a response or one failure of a closed list.
//!
//! # Where an extension goes
//!
//! - *Fetching by a browser*: a folder `browser/` beside `http/`, with a function from [`FetchRequest`] to [`Fetched`].
//!   [`Fetcher::fetch`] would choose between the two.
//! - *Another proxy protocol*: a module in `proxy/` with its handshake, which `connection/connect.rs` calls.
//! - *Another network below HTTP*: `transport/`, which today has the real network and a [`Simulation`] of it.
//!
//! # Logs
//!
//! The span `fetch` and all events have the target `aranha_fetch`. At level `debug` they show each step of a fetch. At
//! the levels `warn` and `info` they report when the DNS circuit breaker opens or closes, and when a name server stops
//! answering or answers again.
//!
//! Read first: `fetcher.rs`, then `http/exchange.rs`.

mod clock;
mod connection;
mod cookies;
mod credentials;
mod dns;
mod failure;
mod fetcher;
#[doc(hidden)]
pub mod fuzzing;
mod http;
mod limits;
#[cfg(test)]
#[expect(unreachable_pub, reason = "the tests of all crates include this file")]
#[path = "../../../tests/linear_time.rs"]
mod linear_time;
mod options;
mod proxy;
mod transport;

pub use connection::FetchSession;
pub use cookies::CookieJar;
pub use credentials::{Credentials, HIDDEN, Secrets};
pub use failure::{Failure, FetchSetupError};
pub use fetcher::{Fetcher, Resolved, is_private_host};
pub use http::request::check_header;
pub use http::{
    FetchRequest, FetchResponse, Fetched, Headers, ResponseRemark, SpooledBody, Timings, Truncated,
};
pub use options::Options;
pub use proxy::{ProxyLookups, ProxySetting, ProxyUrl, Route, check_proxies, is_bypass_entry};
pub use transport::{SimulatedResponse, Simulation};
