//! A host name whose name servers fail: SERVFAIL, and REFUSED to every fourth query.
//!
//! N4, F11; Castillo A.2.2: the name server fails together with the web server. This is not the same as a name that
//! does not exist.

pub(super) use super::visit::ordinary as serve;
use super::{Lookup, Said};
use crate::packet::{REFUSED, SERVER_FAILURE};

pub(super) fn resolve(lookup: &Lookup<'_>) -> Said {
    let refuses = lookup.times() % 4 == 3;
    Said::Code(if refuses { REFUSED } else { SERVER_FAILURE })
}
