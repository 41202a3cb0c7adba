//! A host name whose name servers fail. They answer REFUSED to every fourth query and SERVFAIL to the others.
//!
//! N4, F11; Castillo A.2.2: the name server often fails together with the web server. The crawler must not treat the
//! name as nonexistent.

pub(super) use super::request::ordinary as serve;
use super::{DnsResponse, Lookup};
use crate::packet::{REFUSED, SERVER_FAILURE};

pub(super) fn resolve(lookup: &Lookup<'_>) -> DnsResponse {
    let refuses = lookup.count_query() % 4 == 3;
    DnsResponse::Code(if refuses { REFUSED } else { SERVER_FAILURE })
}
