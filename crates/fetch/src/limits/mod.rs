//! Limits of a fetch: memory for large responses, timeouts and minimum speed, open sockets.
//!
//! The limit on bytes per second over all sites (`--limit-rate`) is in the engine: `crates/engine/src/limits/rate_limit.rs`.

pub(crate) mod memory_budget;
pub(crate) mod open_sockets;
pub(crate) mod timeouts;
