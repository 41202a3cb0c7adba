//! Tests of the public interface against servers on loopback that misbehave on purpose.

#![expect(clippy::unwrap_used, reason = "an error fails the test")]

mod connections;
mod dns;
mod proxies;
mod proxy_cache;
mod proxy_faults;
mod proxy_names;
mod responses;
mod scripted_server;
mod timeouts;
mod tls;
