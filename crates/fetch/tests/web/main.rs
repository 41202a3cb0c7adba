//! The crate from outside, against servers on loopback that misbehave on purpose.

#![expect(clippy::unwrap_used, reason = "tests")]

mod answers;
mod connections;
mod names;
mod proxy;
mod secure;
mod server;
mod time;
