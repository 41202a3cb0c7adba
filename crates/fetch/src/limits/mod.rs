//! Limits of a fetch: memory for large responses, time-outs and minimum speed, open sockets.

pub(crate) mod memory_budget;
pub(crate) mod open_sockets;
pub(crate) mod timeouts;
