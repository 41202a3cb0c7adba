//! Tests of the public interface against servers on loopback that misbehave on purpose.

#![expect(clippy::unwrap_used, reason = "an error fails the test")]

mod connections;
mod dns;
mod proxy;
mod responses;
mod scripted_server;
mod timeouts;
mod tls;
