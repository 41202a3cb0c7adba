//! A name with an address that does not answer, not even by refusing: connections are never made.
//!
//! A machine that is switched off, or a firewall that drops: Castillo A.1.1 A.1.3, N5, F11. Only a time-out for connecting
//! ends it. On loopback, where something always answers, it is made of a socket whose queue of connections that wait
//! to be accepted is full (see `server`): the kernel drops those that come after.

pub(super) use super::visit::ordinary as serve;
