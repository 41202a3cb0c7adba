//! Courtesy towards servers: the pause between requests to a site and to an address, and `Retry-After`.

pub(crate) mod address_gate;
mod pause;
pub(crate) mod request_fence;
mod retry_after;

pub(crate) use self::pause::pause_after;
pub(crate) use self::retry_after::{BackOff, retry_after};
