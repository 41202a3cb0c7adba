//! A host name whose address never completes or refuses a connection.
//!
//! N5, F11, Castillo A.1.1 and A.1.3: a machine that is switched off, or a firewall that drops packets. Only a connect
//! timeout ends it. Loopback always answers, so the lab uses a socket with a full accept queue (see `server`): the
//! kernel drops further connections.

pub(super) use super::visit::ordinary as serve;
