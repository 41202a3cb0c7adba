//! A linked host name that does not exist (NXDOMAIN).
//!
//! F11; Castillo A.2.2 recommends a retry after a week. RFC 2308 defines how long a negative response may be cached.

pub(super) use super::request::ordinary as serve;
use super::{DnsResponse, Lookup};
use crate::packet::NO_SUCH_NAME;

pub(super) fn resolve(_: &Lookup<'_>) -> DnsResponse {
    DnsResponse::Code(NO_SUCH_NAME)
}
