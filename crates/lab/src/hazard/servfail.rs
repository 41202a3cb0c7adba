//! A name whose servers fail: SERVFAIL, or REFUSED to every fourth question.
//!
//! Castillo A.2.2: the name server went down with the web server and nobody noticed for a week; N4, F11. Not the same as
//! a name that does not exist.

pub(super) use super::visit::ordinary as serve;
use super::{Lookup, Said};
use crate::packet::{REFUSED, SERVER_FAILURE};

pub(super) fn resolve(lookup: &Lookup<'_>) -> Said {
    let refuses = lookup.times() % 4 == 3;
    Said::Code(if refuses { REFUSED } else { SERVER_FAILURE })
}
