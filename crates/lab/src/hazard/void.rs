//! A host name whose address neither accepts nor refuses connections.
//!
//! N5, F11, Castillo A.1.1 and A.1.3: a machine that is switched off, or a firewall that drops packets. Only a connect
//! timeout ends the attempt. The kernel always answers on loopback addresses, so the lab uses a socket whose accept
//! queue is full (`full_queue.rs`).

pub(super) use super::request::ordinary as serve;
