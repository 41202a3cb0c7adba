//! Host names to addresses: `resolver.rs` first.

mod aliases;
mod breaker;
mod cache;
mod in_flight;
mod lookup;
mod name_servers;
mod resolver;

pub(crate) use resolver::{Names, Resolver, literal};
