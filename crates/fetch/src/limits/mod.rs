//! Limits on memory, time and open sockets.

pub(crate) mod memory_budget;
pub(crate) mod open_sockets;
pub(crate) mod timeouts;
