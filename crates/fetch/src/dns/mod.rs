//! DNS: finds the addresses of host names.
//!
//! `resolver.rs` is the entry point. `cache.rs` keeps answers, `circuit_breaker.rs` stops look-ups while no name server
//! answers, `in_flight.rs` merges concurrent look-ups of one name, `name_servers.rs` sends the queries, `aliases.rs`
//! follows CNAME records, `lenient_udp.rs` and `lenient_tcp.rs` ignore malformed records, `lookup_result.rs` combines
//! IPv4 and IPv6 results.

pub(crate) mod aliases;
mod cache;
pub(crate) mod circuit_breaker;
mod in_flight;
mod lenient_tcp;
pub(crate) mod lenient_udp;
mod lookup_result;
mod name_servers;
mod resolver;

pub(crate) use name_servers::is_valid_name;
pub(crate) use resolver::{NameSource, Resolver, ip_literal};
