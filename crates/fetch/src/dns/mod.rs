//! DNS: host names to addresses.
//!
//! `resolver.rs` is the entry point. `cache.rs` keeps answers, `breaker.rs` stops look-ups while no name server
//! answers, `in_flight.rs` merges concurrent look-ups of one name, `name_servers.rs` sends the questions, `aliases.rs`
//! follows CNAME records.

mod aliases;
mod breaker;
mod cache;
mod in_flight;
mod lookup;
mod name_servers;
mod resolver;

pub(crate) use resolver::{Names, Resolver, literal};
