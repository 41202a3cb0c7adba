//! Limits of a fetch: memory for large responses, timeouts and minimum speed, open sockets, bytes per second.

pub(crate) mod memory_budget;
pub(crate) mod open_sockets;
pub(crate) mod rate_limit;
pub(crate) mod timeouts;
